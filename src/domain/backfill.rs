//! Backfill: turns reports and tagged messages of the history into claims and tasks, each under a key of its own.

use uuid::Uuid;

use crate::domain::claim::{ClaimType, ReportKind, Share};
use crate::domain::command::{AddTask, Command, CreateClaim, RecordDecision};
use crate::domain::event::{Event, Recorded};
use crate::domain::ids::{ClaimId, EventId, IdempotencyKey, TaskId};
use crate::domain::rejection::Rejection;
use crate::domain::scope::{MAX_SCOPES, Scope};
use crate::domain::time::Timestamp;

/// The entity that a tag at the start of a line creates from the rest of the line.
const TAGS: [(&str, Becomes); 4] = [
    ("DECISION:", Becomes::Claim(ClaimType::Decision)),
    ("FINDING:", Becomes::Claim(ClaimType::Fact)),
    ("BLOCKER:", Becomes::Claim(ClaimType::Negative)),
    ("TASK:", Becomes::Task),
];

/// The entity that a report or message becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Becomes {
    /// A claim of this type.
    Claim(ClaimType),
    /// A task without a phase.
    Task,
}

/// A text of the history, and the entity that it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed<'t> {
    /// The entity to create.
    pub becomes: Becomes,
    /// The text of its statement or title.
    pub text: &'t str,
    /// Its scopes; empty when the event names no path.
    pub scopes: &'t [Scope],
}

/// The seeds in an event, in text order. Observations of hooks, and texts that other events repeat, give none.
pub fn seeds(event: &Event) -> Vec<Seed<'_>> {
    // Only a report and a message are the words of their author about something else than the memory.
    if let Event::EventReported(report) = event {
        let claim_type = match report.kind {
            ReportKind::Finding => ClaimType::Fact,
            ReportKind::Decision => ClaimType::Decision,
            ReportKind::Blocker => ClaimType::Negative,
            ReportKind::FileEdited | ReportKind::CommandRan | ReportKind::Note => return Vec::new(),
        };
        let becomes = Becomes::Claim(claim_type);
        vec![Seed { becomes, text: report.summary.as_str(), scopes: &report.paths }]
    } else if let Event::MessageSent(message) = event {
        tagged(message.text.as_str())
    } else {
        Vec::new()
    }
}

/// The tagged lines of a message that have text after their tag.
pub fn tagged(text: &str) -> Vec<Seed<'_>> {
    let of_line = |line: &'_ str| TAGS.iter().position(|(tag, _)| line.starts_with(tag));
    let found = text.lines().filter_map(|line| {
        let (tag, becomes) = TAGS[of_line(line)?];
        let text = line[tag.len()..].trim();
        (!text.is_empty()).then_some(Seed { becomes, text, scopes: &[] })
    });
    found.collect()
}

/// The event to cite, and its seeds: each with a key that is the same on every call, and its command or the reason
/// why there is none.
pub fn commands(
    recorded: &Recorded,
    mut mint: impl FnMut() -> Uuid,
) -> Vec<(IdempotencyKey, Becomes, Result<Command, Rejection>)> {
    let Some(event) = &recorded.event else { return Vec::new() };
    let seeds = seeds(event).into_iter().enumerate();
    seeds
        .map(|(at, seed)| {
            // The key of the first seed is that of the event alone; a message may hold more seeds.
            let number = if at == 0 { String::new() } else { format!(":{}", at + 1) };
            let key = format!("backfill:{}:{}{number}", event.kind(), recorded.id);
            let key = key.parse().expect("a type, an id and a number are a short line");
            let source =
                Source { kind: event.kind(), id: recorded.id, at: said_at(event).unwrap_or(recorded.at) };
            (key, seed.becomes, seed.command(source, mint()))
        })
        .collect()
}

/// The event behind a seed.
#[derive(Clone, Copy)]
struct Source {
    kind: &'static str,
    id: EventId,
    /// When the text was said.
    at: Timestamp,
}

/// When a message was sent. This is earlier than its record.
fn said_at(event: &Event) -> Option<Timestamp> {
    let Event::MessageSent(message) = event else { return None };
    message.sent_at
}

impl Seed<'_> {
    fn command(&self, source: Source, id: Uuid) -> Result<Command, Rejection> {
        let claim_type = match self.becomes {
            Becomes::Claim(claim_type) => claim_type,
            Becomes::Task => {
                return Ok(Command::AddTask(AddTask {
                    meant_for: None,
                    task_id: TaskId::from_uuid(id),
                    title: self.text.parse().map_err(|problem| Rejection::invalid("title", problem))?,
                    description: None,
                    phase_id: None,
                    parent_task_id: None,
                    depends_on: Vec::new(),
                    scopes: Vec::new(),
                }));
            }
        };
        let mut scopes: Vec<Scope> = self.scopes.iter().take(MAX_SCOPES).cloned().collect();
        if scopes.is_empty() {
            // A scope of the whole repository would match every question.
            let tag =
                TAGS.iter().find(|(_, becomes)| *becomes == self.becomes).map_or("note", |(tag, _)| tag);
            let tag = format!("tag:{}", tag.trim_end_matches(':'));
            scopes.push(tag.parse().expect("a word is a tag"));
        }
        let statement = self.text.parse().map_err(|problem| Rejection::invalid("statement", problem))?;
        if claim_type == ClaimType::Decision {
            let rationale =
                format!("backfilled from {} {}, which gives no rationale", source.kind, source.id);
            return Ok(Command::RecordDecision(RecordDecision {
                claim_id: ClaimId::from_uuid(id),
                statement: Some(statement),
                rationale: rationale.parse().expect("a short rationale"),
                context: None,
                target: None,
                scopes,
                alternatives: Vec::new(),
                supersedes: Vec::new(),
                mends: false,
                asks: Vec::new(),
                unless_objection_minutes: None,
                evidence_refs: vec![source.id],
                decided_at: Some(source.at),
            }));
        }
        Ok(Command::CreateClaim(CreateClaim {
            event_type: None,
            mends: false,
            claim_id: ClaimId::from_uuid(id),
            statement,
            claim_type,
            scopes,
            confidence: Share::default(),
            supersedes: None,
            ttl_hours: None,
            evidence_refs: vec![source.id.into()],
            trigger: None,
            origin_task_id: None,
            asks: Vec::new(),
            tells: Vec::new(),
            unless_objection_minutes: None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{Becomes, tagged};

    #[test]
    fn a_tag_counts_at_the_beginning_of_a_line() {
        let shown = |text: &str| {
            let seeds = tagged(text).into_iter().map(|seed| {
                let becomes = match seed.becomes {
                    Becomes::Claim(claim_type) => claim_type.as_str(),
                    Becomes::Task => "task",
                };
                format!("{becomes}: {}", seed.text)
            });
            format!("{:?} -> {:?}\n", text, seeds.collect::<Vec<_>>())
        };
        let texts = [
            "FINDING: the pool leaks",
            "hello\r\nDECISION: use WAL\r\nso be it\r\nBLOCKER:no musl build\r\nTASK: \tmend it \r\n",
            "FINDING: one\nFINDING: two",
            "> FINDING: quoted\nsee FINDING: inside\n FINDING: indented\nfinding: small\nFINDINGS: many",
            "FINDING:\nFINDING:   \r\nTASK: FINDING: nested",
            "TASK: 端口",
            "",
        ];
        expect![[r#"
            "FINDING: the pool leaks" -> ["fact: the pool leaks"]
            "hello\r\nDECISION: use WAL\r\nso be it\r\nBLOCKER:no musl build\r\nTASK: \tmend it \r\n" -> ["decision: use WAL", "negative: no musl build", "task: mend it"]
            "FINDING: one\nFINDING: two" -> ["fact: one", "fact: two"]
            "> FINDING: quoted\nsee FINDING: inside\n FINDING: indented\nfinding: small\nFINDINGS: many" -> []
            "FINDING:\nFINDING:   \r\nTASK: FINDING: nested" -> ["task: FINDING: nested"]
            "TASK: 端口" -> ["task: 端口"]
            "" -> []
        "#]].assert_eq(&texts.map(shown).concat());
    }
}
