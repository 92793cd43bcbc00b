//! A receipt as people and programs see it, the same over MCP and on the command line.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::to_json;
use crate::domain::agent::AgentId;
use crate::domain::claim::Grade;
use crate::domain::ids::{ClaimId, RunId, SessionId};
use crate::domain::receipt::{Acceptance, AtClaim, Cited, Receipt, WarningCode};
use crate::domain::time::Timestamp;
use crate::reads::Reads;
use crate::session_news::SessionNews;

/// Maximum length of what a receipt says of its evidence, in characters: a quoted line, and a way that is never cut.
const EVIDENCE_CHARS: usize = 800;
/// What a receipt says of who is at a claim is cut here.
const MAX_AT_NOW_CHARS: usize = 240;

/// The receipt for programs; what the command made or changed also stands under its own name.
pub fn receipt_json(receipt: &Receipt, command: &str) -> Value {
    let mut value = to_json(receipt);
    if let Some(id) = receipt.entity_id {
        let name = match command {
            "report_event" | "record_message" | "observe" | "forget" => "event_id",
            "split_session" => "child_session",
            "add_plan" | "abandon_plan" | "rename_plan" => "plan_id",
            "add_phase" => "phase_id",
            "add_task" | "claim_task" | "update_task" => "task_id",
            "run_experiment" | "cancel_experiment" | "record_experiment" | "spawn_researcher" => "run_id",
            _ => "claim_id",
        };
        value[name] = json!(id);
        if command == "spawn_researcher" {
            value["session"] = json!(SessionId::of_researcher(RunId::from_uuid(id)));
        }
    }
    value
}

/// Says on a receipt who is at the claims it tells of: those that contradict, warn of a dead end or say much the same. A
/// front that cannot read says nothing of it.
pub fn mark_at_now(reads: &mut Reads, receipt: &mut Receipt, reader: Option<&AgentId>, now: Timestamp) {
    let ids: BTreeSet<ClaimId> = receipt.told_of().collect();
    if ids.is_empty() {
        return;
    }
    let ids: Vec<ClaimId> = ids.into_iter().collect();
    let found = reads
        .ask(now, |store| store.at_claims(&ids, reader.map(AgentId::as_str)))
        .ok()
        .and_then(|(found, _)| found);
    let at_now = found
        .into_iter()
        .flatten()
        .map(|(claim_id, by_now)| AtClaim { claim_id, by_now: super::inline(&by_now, MAX_AT_NOW_CHARS) });
    receipt.at_now = at_now.collect();
}

/// Leaves out of a receipt what it names only as recent and what its session was shown already.
pub fn without_known(receipt: &mut Receipt, opened: &BTreeMap<String, u64>) {
    let is_known = |id: ClaimId| {
        let id = id.to_string();
        opened.contains_key(&SessionNews::part(&id)) || opened.contains_key(&id)
    };
    receipt.warnings.retain(|warning| {
        warning.code != WarningCode::RecentClaim || !warning.claim_id.is_some_and(is_known)
    });
}

/// What a session knows from its receipt: the claims that it names, by id. A claim whose statement is cut there is known
/// in part.
pub fn told_by(receipt: &Receipt) -> Vec<String> {
    let is_cut = |id: ClaimId| {
        let mut of_it = receipt.warnings.iter().filter(|warning| warning.claim_id == Some(id));
        of_it.any(|warning| warning.message.contains('…'))
    };
    let name = |id: ClaimId| if is_cut(id) { SessionNews::part(&id.to_string()) } else { id.to_string() };
    receipt.told_of().map(name).collect()
}

/// Leaves out of the receipt of a task the next step that its session was told for another task. Returns the name under
/// which the session knows the step.
pub fn without_known_hint(
    receipt: &mut Receipt,
    command: &str,
    opened: &BTreeMap<String, u64>,
) -> Option<String> {
    let next =
        receipt.next.as_ref().filter(|_| ["add_task", "claim_task", "update_task"].contains(&command))?;
    // The steps for two tasks differ in their names alone.
    let step: String = next.chars().filter(|c| !c.is_ascii_digit()).collect();
    let known = SessionNews::step(&step);
    if opened.contains_key(&known) {
        receipt.next = None;
    }
    Some(known)
}

/// What was done to what, and whether it stands: `support 0190…: committed at seq 12`. What was not done is not the
/// beginning of its line.
pub fn receipt_line(receipt: &Receipt, done: &str) -> String {
    let id = receipt.name.clone().or_else(|| receipt.entity_id.map(|id| id.to_string()));
    let id = id.map_or_else(String::new, |id| format!(" {id}"));
    let line = match (receipt.state, receipt.seq) {
        (Acceptance::Committed, Some(seq)) if receipt.proposed => {
            format!("proposed to the operator and not done, at seq {seq}:{id} stays as it is until then")
        }
        (Acceptance::Committed, Some(seq)) => format!("{done}{id}: committed at seq {seq}"),
        (Acceptance::Committed, None) => format!("{done}{id}: committed"),
        (Acceptance::Queued, _) => format!("queued, not yet committed: {done}{id}"),
    };
    let failed = receipt.cited.iter().find_map(|cited| cited.failed.as_ref());
    let failed = failed
        .map_or_else(String::new, |failed| format!("; its evidence {failed}: it does not support the claim"));
    let line = line + &failed;
    let again = if receipt.duplicate { " (the same request as before)" } else { "" };
    format!("{line}{again}")
}

/// The events that a command cites, by their whole ids, with what they are worth and why.
pub fn cited_lines(receipt: &Receipt) -> Vec<String> {
    let line = |cited: &Cited| {
        let Cited { evidence_ref, grade, why, .. } = cited;
        // An asserted one says so itself.
        let grade = grade.filter(|grade| *grade != Grade::Asserted).map(|grade| format!("{grade}, "));
        let worth = format!("{}{why}", grade.unwrap_or_default());
        let worth =
            if worth.is_empty() { worth } else { format!(": {}", super::inline(&worth, EVIDENCE_CHARS)) };
        format!("evidence {evidence_ref}{worth}")
    };
    receipt.cited.iter().map(line).collect()
}
