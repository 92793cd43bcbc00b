//! What happened, in sentences: the events of the ledger without noise, newest first.

use super::data::plain;
use crate::domain::claim::{ClaimType, Position, Relation};
use crate::domain::clean;
use crate::domain::event::Event;
use crate::domain::rejection::Rejection;
use crate::domain::session::Role;
use crate::ledger::Filter;
use crate::reads::Reads;
use crate::views::{self, ViewError};

/// Events that are read for the feed.
const READ: usize = 150;
/// Maximum length of a sentence, in characters.
const CHARS: usize = 160;

/// The last sentences, newest first, each with its place in the ledger.
pub(super) fn last(reads: &mut Reads) -> Result<Vec<(u64, String)>, Rejection> {
    let until = reads.horizon();
    let Some(ledger) = reads.ledger().map_err(ViewError::from)? else { return Ok(Vec::new()) };
    let newest = Filter { until, limit: READ, newest: true, ..Filter::default() };
    let events = ledger.list(&newest).map_err(ViewError::from)?;
    let told = events.iter().rev().filter(|event| !views::is_noise(event)).map(|stored| {
        let event = stored.recorded().ok().and_then(|recorded| recorded.event);
        let by = stored.agent.as_str();
        let said =
            event.map_or_else(|| format!("{by}: {} (no text)", stored.kind), |event| sentence(by, &event));
        (stored.seq, said)
    });
    let told: Vec<(u64, String)> = told.collect();
    Ok(told
        .into_iter()
        .map(|(seq, said)| (seq, clean::cut_words(&plain(&views::shortened(reads, &said)), CHARS)))
        .collect())
}

/// What happened in an event.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others are named by their type")]
fn sentence(by: &str, event: &Event) -> String {
    match event {
        Event::ClaimCreated(new) => {
            let what = match new.claim_type {
                ClaimType::Fact => "",
                ClaimType::Decision => "decision ",
                ClaimType::Hypothesis => "hypothesis ",
                ClaimType::Negative => "dead end ",
            };
            format!("{by} states {what}{}: {}", new.claim_id, new.statement)
        }
        Event::StatusChanged(of) => {
            format!("{} is now {}: {}", of.claim_id, of.to.to_string().replace('_', " "), of.reason)
        }
        Event::ClaimSuperseded(of) => format!("{} takes the place of {}", of.superseded_by, of.claim_id),
        Event::PositionTaken(of) => {
            let does = match of.position {
                Position::Support => "supports",
                Position::Challenge => "challenges",
                Position::Abstain => "abstains from",
            };
            format!("{by} {does} {}{}", of.claim_id, after(of.reason.as_ref()))
        }
        Event::EvidenceAdded(of) => {
            let what = match of.relation {
                Relation::Supports => "evidence for",
                Relation::Contradicts => "evidence against",
                Relation::CausedBy => "the origin of",
                Relation::Mentions => "a mention of",
            };
            format!("{by} adds {what} {}{}", of.claim_id, after(of.note.as_ref()))
        }
        Event::DecisionRecorded(of) => format!("{by} decides {}: {}", of.claim_id, of.rationale),
        Event::OutcomeRecorded(of) => format!("{by} records {} of {}", of.outcome, of.claim_id),
        Event::ContradictionDetected(of) if of.left.claim_id == of.right.claim_id => {
            format!("{} is disputed", of.left.claim_id)
        }
        Event::ContradictionDetected(of) => {
            format!("{} and {} contradict each other", of.left.claim_id, of.right.claim_id)
        }
        Event::ContradictionResolved(of) if of.left.claim_id == of.right.claim_id => {
            format!("{} is disputed no more", of.left.claim_id)
        }
        Event::ContradictionResolved(of) => {
            format!("{} and {} contradict each other no more", of.left.claim_id, of.right.claim_id)
        }
        Event::ExperimentQueued(of) => {
            let what = of.plan.profile.as_ref().map_or_else(|| of.plan.argv.join(" "), ToString::to_string);
            let about = of.claim_id.map(|claim| format!(" about {claim}")).unwrap_or_default();
            format!("{by} asks for {}, a run of {what}{about}", of.run_id)
        }
        Event::ExperimentCompleted(of) => {
            let exit = of.outcome.exit_code.map(|code| format!(", exit {code}")).unwrap_or_default();
            format!("{} {}{exit}", of.run_id, of.outcome.state)
        }
        _ => work(by, event),
    }
}

/// What happened in an event about work and sessions.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others are named by their type")]
fn work(by: &str, event: &Event) -> String {
    match event {
        Event::TaskAdded(of) => format!("{by} adds {}: {}", of.task_id, of.title),
        Event::TaskClaimed(of) => format!("{by} takes {}", of.task_id),
        Event::TaskReleased(of) => format!("{} is free again", of.task_id),
        Event::TaskUpdated(of) => format!("{by} sets {} to {}{}", of.task_id, of.to, after(of.note.as_ref())),
        Event::ScopesLocked(of) => format!("{by} locks {}: {}", list(&of.scopes), of.why),
        Event::ScopesReleased(of) => format!("{by} unlocks {}", list(&of.scopes)),
        Event::IntentDeclared(of) => format!("{by} wants: {}", of.trajectory.intent),
        Event::SessionStarted(of) => {
            let client = of.client.as_ref().map(|client| format!(" in {client}")).unwrap_or_default();
            format!("{by} starts a session{client}")
        }
        Event::SessionEnded(_) => format!("{by} ends a session"),
        Event::TurnRecorded(of) if of.role == Role::User => format!("{by} is told: {}", of.text),
        Event::TurnRecorded(of) => format!("{by} says: {}", of.text),
        Event::AnchorSaved(of) => format!("{by} keeps {}: {}", of.key, of.value),
        Event::CommandRan(of) => {
            let exit = of.exit_code.filter(|code| *code != 0).map(|code| format!(" (exit {code})"));
            format!("{by} runs {}{}", of.command, exit.unwrap_or_default())
        }
        Event::FileEdited(of) => format!("{by} edits {}", list(&of.paths)),
        Event::EventReported(of) => format!("{by} reports: {}", of.summary),
        Event::MessageSent(of) => format!("{by} writes: {}", of.text),
        other => format!("{by}: {}", other.kind().replace(['.', '_'], " ")),
    }
}

fn after(text: Option<&impl std::fmt::Display>) -> String {
    text.map(|text| format!(": {text}")).unwrap_or_default()
}

fn list(of: &[impl std::fmt::Display]) -> String {
    of.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
