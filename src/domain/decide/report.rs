//! What agents, hooks, fronts and the mail of the team report.

use super::{Accepted, check_list, cite, fresh_id};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::ReportKind;
use crate::domain::command::{CitePlace, DenyRecord, RecordMessage, RecordOverride, ReportEvent};
use crate::domain::event::{EventReported, MemoryDenied, MessageSent, OperatorOverridden, PlaceCited};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::State;
use crate::domain::versions::Versions;

pub(super) fn report_event(state: &State, report: &ReportEvent) -> Result<Accepted, Rejection> {
    fresh_id(state, "event_id", report.event_id)?;
    check_list("paths", report.paths.len())?;
    match report.kind {
        ReportKind::FileEdited if report.paths.is_empty() => {
            return Err(Rejection::invalid("paths", "a file_edited report names the files"));
        }
        ReportKind::CommandRan if report.command.is_none() => {
            return Err(Rejection::invalid("command", "a command_ran report names the command"));
        }
        ReportKind::Finding
        | ReportKind::Blocker
        | ReportKind::Decision
        | ReportKind::FileEdited
        | ReportKind::CommandRan
        | ReportKind::Note => {}
    }
    Ok(Accepted {
        events: vec![
            EventReported {
                kind: report.kind,
                summary: report.summary.clone(),
                paths: report.paths.clone(),
                command: report.command.clone(),
                exit_code: report.exit_code,
                error_signature: report.error_signature.clone(),
                versions: Versions::new(),
                checkout: Checkout::default(),
            }
            .into(),
        ],
        next: Some(format!("to cite it as evidence: {}", cite(report.event_id))),
        ..Accepted::default()
    })
}

/// Lines that are cited as evidence.
pub(super) fn cite_place(state: &State, cite: &CitePlace) -> Result<Accepted, Rejection> {
    fresh_id(state, "event_id", cite.event_id)?;
    let (span, checkout) = (cite.span.clone(), Checkout::default());
    Ok(Accepted { events: vec![PlaceCited { span, checkout }.into()], ..Accepted::default() })
}

pub(super) fn record_message(state: &State, message: &RecordMessage) -> Result<Accepted, Rejection> {
    fresh_id(state, "event_id", message.event_id)?;
    let RecordMessage { to, text, sent_at, .. } = message.clone();
    Ok(Accepted { events: vec![MessageSent { to, text, sent_at }.into()], ..Accepted::default() })
}

pub(super) fn record_override(agent: &AgentId, record: &RecordOverride) -> Result<Accepted, Rejection> {
    if *agent != AgentId::operator() {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("{agent} is not the operator and has nothing to override"),
            "leave out --operator-override",
        ));
    }
    let RecordOverride { verb, reason } = record.clone();
    Ok(Accepted { events: vec![OperatorOverridden { verb, reason }.into()], ..Accepted::default() })
}

pub(super) fn deny_record(deny: &DenyRecord) -> Accepted {
    let DenyRecord { rule, field, command } = deny.clone();
    let denied = MemoryDenied { rule, field, command, reason: None, policy: None, attempted: None };
    Accepted { events: vec![denied.into()], ..Accepted::default() }
}
