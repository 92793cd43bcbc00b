//! What happened in an event, as one sentence: the message of its commit.

use super::Pages;
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Position, Relation};
use crate::domain::clean;
use crate::domain::event::{Event, PositionTaken};
use crate::domain::ids::ClaimId;

/// Maximum length of a quoted text, in characters.
const QUOTED_CHARS: usize = 100;

impl Pages {
    /// The sentence of an event that was folded.
    #[expect(clippy::wildcard_enum_match_arm, reason = "few events are about a claim")]
    pub(super) fn sentence(&self, agent: &AgentId, event: &Event, claims: &[ClaimId]) -> String {
        let by = clean::one_line(agent.as_str());
        match event {
            Event::ClaimCreated(new) => {
                let what = self.noun(new.claim_id);
                format!("{by} states {what}{}", self.quoted(Some(new.statement.as_str())))
            }
            Event::StatusChanged(of) => {
                let reason = self.quoted(Some(of.reason.as_str()));
                format!("{} is now {} (was {}){reason}", self.noun(of.claim_id), word(of.to), word(of.from))
            }
            Event::ClaimSuperseded(of) => {
                let does = if of.mends { "mends" } else { "supersedes" };
                format!("{} {does} {}", self.noun(of.superseded_by), self.noun(of.claim_id))
            }
            Event::PositionTaken(of) => self.position(&by, of),
            Event::EvidenceAdded(of) => {
                let what = match of.relation {
                    Relation::Supports => "evidence for",
                    Relation::Contradicts => "evidence against",
                    Relation::CausedBy => "the origin of",
                    Relation::Mentions => "a mention of",
                };
                let note = self.quoted(of.note.as_ref().map(|note| note.as_str()));
                format!("{by} adds {what} {}{note}", self.noun(of.claim_id))
            }
            Event::EvidenceRetracted(of) => {
                let reason = self.quoted(Some(of.reason.as_str()));
                format!("{by} retracts evidence of {}{reason}", self.noun(of.claim_id))
            }
            Event::DecisionRecorded(of) => {
                let rationale = self.quoted(Some(of.rationale.as_str()));
                format!("{by} gives the rationale of {}{rationale}", self.noun(of.claim_id))
            }
            Event::OutcomeRecorded(of) => {
                let notes = self.quoted(of.notes.as_ref().map(|notes| notes.as_str()));
                format!("{by} records {} as the outcome of {}{notes}", of.outcome, self.noun(of.claim_id))
            }
            Event::ContradictionDetected(of) => {
                let (left, right) = (self.noun(of.left.claim_id), self.noun(of.right.claim_id));
                format!("{left} and {right} contradict each other ({})", of.kind)
            }
            Event::ContradictionResolved(of) => {
                let (left, right) = (self.noun(of.left.claim_id), self.noun(of.right.claim_id));
                format!("{left} and {right} contradict each other no more ({})", word(of.cause))
            }
            Event::ExperimentCompleted(of) => {
                let (run, ended) = (self.run_name(of.run_id), word(of.outcome.state));
                let claims: Vec<String> = claims.iter().map(|id| self.noun(*id)).collect();
                format!("{run} of {by} {ended}: what is doubted about {} changed", claims.join(", "))
            }
            other => format!("{by}: {}", other.kind()),
        }
    }

    fn position(&self, by: &str, of: &PositionTaken) -> String {
        let does = match (of.still, of.position) {
            (true, Position::Challenge) => "still challenges",
            (true, Position::Support | Position::Abstain) => "still means",
            (false, Position::Support) => "supports",
            (false, Position::Challenge) => "challenges",
            (false, Position::Abstain) => "abstains from",
        };
        let reason = self.quoted(of.reason.as_ref().map(|reason| reason.as_str()));
        format!("{by} {does} {}{reason}", self.noun(of.claim_id))
    }

    /// A claim by its name, and its type where that is not a fact.
    fn noun(&self, id: ClaimId) -> String {
        let name = self.name(id);
        match self.claims.get(&id).map(|page| page.created.claim_type) {
            Some(ClaimType::Decision) => format!("decision {name}"),
            Some(ClaimType::Hypothesis) => format!("hypothesis {name}"),
            Some(ClaimType::Negative) => format!("dead end {name}"),
            Some(ClaimType::Fact) | None => name,
        }
    }

    /// A text after a colon, on one line.
    fn quoted(&self, text: Option<&str>) -> String {
        let text = text.map(|text| clean::cut_words(&self.named(text), QUOTED_CHARS));
        text.map(|text| format!(": {text}")).unwrap_or_default()
    }
}

/// A word of several parts, as people write it.
fn word(word: impl std::fmt::Display) -> String {
    word.to_string().replace('_', " ")
}
