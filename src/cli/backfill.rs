//! `hm backfill`: claims and tasks from what history holds; run again, it inserts nothing.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::output::{self, Failure};
use super::{Context, block_on};
use crate::domain::agent::AgentId;
use crate::domain::backfill::{self, Becomes};
use crate::domain::checkout::Checkout;
use crate::domain::command::{Command, RecordMessage, Submission};
use crate::domain::ids::{CommandId, EventId, IdempotencyKey};
use crate::domain::privacy;
use crate::domain::receipt::Acceptance;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::text::{MessageText, Recipient};
use crate::domain::time::{Moment, Timestamp};
use crate::ledger::Cursor;
use crate::reads::Reads;
use crate::system;
use crate::writer::Front;

/// Events read at once.
const CHUNK: usize = 500;
/// Refusals that are shown; the rest is counted.
const SHOWN: usize = 10;

/// What the help says besides the arguments.
pub(super) const HELP: &str = "\
Reported findings become facts, decisions decisions, blockers dead ends; each claim belongs to whoever reported it and
cites the report. In messages, lines that begin with DECISION: FINDING: BLOCKER: or TASK: become claims of that kind, or
tasks. What hooks saw (tools, commands, edits, turns) and notes are left alone.
What was made of an event is recognised: a second run inserts nothing. What is claimed already is refused, and counted.

A file of messages has one JSON object a line: {\"from\": \"devops\", \"to\": \"analyst\", \"text\": \"FINDING: …\", \"at\":
\"2026-11-20T22:10:00Z\"}; `to` and `at` may be left out, `at` may be epoch milliseconds. Each line is put on record once.

Examples:
  hm backfill --dry-run
  hm backfill --messages mail.jsonl --agent operator";

/// What to make claims of.
#[derive(Debug, Args)]
pub(super) struct Backfill {
    /// Say what would be made, and make nothing
    #[arg(long)]
    dry_run: bool,
    /// Also put these messages on record, and make claims and tasks of their tagged lines
    #[arg(long, value_name = "FILE")]
    messages: Option<PathBuf>,
}

/// What became of what was tried.
#[derive(Debug, Default, Serialize)]
struct Tally {
    /// Made now; in a dry run, what would be tried.
    inserted: u64,
    /// Made by an earlier run.
    already_there: u64,
    /// Waiting for a writer.
    queued: u64,
    /// Refused, by code.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    refused: BTreeMap<&'static str, u64>,
}

/// What is tried.
#[derive(Clone, Copy)]
enum What {
    Message,
    Claim,
    Task,
}

impl From<Becomes> for What {
    fn from(becomes: Becomes) -> Self {
        match becomes {
            Becomes::Claim(_) => Self::Claim,
            Becomes::Task => Self::Task,
        }
    }
}

/// One run of the verb.
struct Run<'c> {
    context: &'c Context,
    front: Front,
    reads: Reads,
    dry_run: bool,
    messages: Tally,
    claims: Tally,
    tasks: Tally,
    /// Events that seed nothing.
    skipped: u64,
    refusals: Vec<String>,
}

/// A line of a file of messages.
#[derive(Deserialize)]
struct Line {
    from: String,
    #[serde(default)]
    to: Option<Recipient>,
    text: MessageText,
    #[serde(default)]
    at: Option<At>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum At {
    Ms(i64),
    Text(String),
}

impl At {
    fn timestamp(&self) -> Result<Timestamp, Rejection> {
        match self {
            Self::Ms(ms) => Ok(Timestamp::from_ms(*ms)),
            Self::Text(text) => match Moment::parse(text, system::now()) {
                Ok(Moment::Time(time)) => Ok(time),
                _ => {
                    Err(Rejection::invalid("at", "it is no time such as 2026-11-20T22:10:00Z or 2026-11-20"))
                }
            },
        }
    }
}

impl Backfill {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        context.operator("backfill")?;
        let mut run = Run {
            context,
            front: context.front()?,
            reads: context.reads()?,
            dry_run: self.dry_run,
            messages: Tally::default(),
            claims: Tally::default(),
            tasks: Tally::default(),
            skipped: 0,
            refusals: Vec::new(),
        };
        block_on(async {
            if let Some(file) = &self.messages {
                run.messages_of(file).await?;
            }
            run.history().await
        })?;
        run.say()
    }
}

impl Run<'_> {
    /// Puts the messages of a file on record, each line once.
    async fn messages_of(&mut self, file: &Path) -> Result<(), Failure> {
        let unread = |problem| Failure::usage(format!("cannot read {}: {problem}", file.display()));
        let lines = BufReader::new(std::fs::File::open(file).map_err(unread)?).split(b'\n');
        let bar = output::spinner("recording messages");
        for (number, line) in lines.enumerate() {
            let line = line.map_err(unread)?;
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            bar.set_message(format!("recording message {}", number + 1));
            let place = format!("line {}", number + 1);
            let (agent, command) = match self.message(line) {
                Ok(message) => message,
                Err(rejection) => {
                    self.refused(&place, &rejection, What::Message);
                    continue;
                }
            };
            let key = format!("backfill:message:{}", hex::encode(Sha256::digest(line)));
            let key: IdempotencyKey = key.parse().expect("a hash is a short line");
            if self.dry_run && !self.knows(&agent, &key)? {
                // It is not in the history that is looked at next.
                for seed in backfill::tagged(command.text.as_str()) {
                    self.tally(seed.becomes.into()).inserted += 1;
                }
            }
            let command = Command::RecordMessage(command);
            self.submit(&place, agent, key, command, What::Message).await?;
        }
        bar.finish_and_clear();
        Ok(())
    }

    fn message(&self, line: &[u8]) -> Result<(AgentId, RecordMessage), Rejection> {
        let line: Line = serde_json::from_slice(line).map_err(|problem| {
            Rejection::new(
                Code::InvalidArgument,
                format!("it is no message: {problem}"),
                "write {\"from\": NAME, \"text\": TEXT}, and `to` and `at` where they are known",
            )
        })?;
        let agent = self.context.config.roster.resolve(&line.from).map_err(|unknown| {
            let hint = "correct `from`, or add the name or an alias to the roster in config.toml";
            Rejection::new(Code::UnknownAgent, unknown.to_string(), hint)
        })?;
        let sent_at = line.at.as_ref().map(At::timestamp).transpose()?;
        let event_id = EventId::from_uuid(system::new_id());
        Ok((agent, RecordMessage { event_id, to: line.to, text: line.text, sent_at }))
    }

    /// Makes what the events up to now seed.
    async fn history(&mut self) -> Result<(), Failure> {
        let Some(ledger) = self.reads.ledger()? else { return Ok(()) };
        let head = ledger.head()?.seq;
        let bar = output::progress("backfilling", head);
        let mut cursor = Cursor::GENESIS;
        while let Some(ledger) = self.reads.ledger()? {
            let events = ledger.read_from(cursor, CHUNK)?;
            let Some(last) = events.last() else { break };
            cursor = last.cursor();
            // What this run makes is no history.
            for stored in events.iter().take_while(|stored| stored.seq <= head) {
                bar.set_position(stored.seq);
                let recorded = stored.recorded().map_err(Failure::internal)?;
                let seeds = backfill::commands(&recorded, system::new_id);
                self.skipped += u64::from(seeds.is_empty());
                for (key, becomes, command) in seeds {
                    let place = format!("event {}", recorded.id);
                    match command {
                        Ok(command) => {
                            let agent = recorded.agent.clone();
                            self.submit(&place, agent, key, command, becomes.into()).await?;
                        }
                        Err(rejection) => self.refused(&place, &rejection, becomes.into()),
                    }
                }
            }
            if cursor.seq >= head {
                break;
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Tries one command, as the agent whose history it is; a refusal is counted.
    async fn submit(
        &mut self,
        place: &str,
        agent: AgentId,
        key: IdempotencyKey,
        command: Command,
        what: What,
    ) -> Result<(), Failure> {
        if self.dry_run {
            let is_there = self.knows(&agent, &key)?;
            let tally = self.tally(what);
            *if is_there { &mut tally.already_there } else { &mut tally.inserted } += 1;
            return Ok(());
        }
        let submission = Submission {
            command_id: CommandId::from_uuid(system::new_id()),
            agent,
            // The session it was said in may still be under way, and this is no sign of its life.
            session: None,
            trace_id: None,
            idempotency_key: Some(key),
            checkout: Checkout::default(),
            command,
        };
        match self.front.submit(submission).await {
            Ok(receipt) => {
                let tally = self.tally(what);
                *match (receipt.state, receipt.duplicate) {
                    (Acceptance::Queued, _) => &mut tally.queued,
                    (Acceptance::Committed, true) => &mut tally.already_there,
                    (Acceptance::Committed, false) => &mut tally.inserted,
                } += 1;
            }
            Err(failed) if matches!(failed.code, Code::Unavailable | Code::VersionMismatch) => {
                return Err(failed.into());
            }
            // The key names the event: what it seeds is there, in the form that an older release gave it.
            Err(other) if other.code == Code::IdempotencyConflict => self.tally(what).already_there += 1,
            Err(rejection) => self.refused(place, &rejection, what),
        }
        Ok(())
    }

    /// Whether an earlier run has made it.
    fn knows(&mut self, agent: &AgentId, key: &IdempotencyKey) -> Result<bool, Failure> {
        let Some(ledger) = self.reads.ledger()? else { return Ok(false) };
        Ok(!ledger.find_key(agent, key)?.is_empty())
    }

    fn tally(&mut self, what: What) -> &mut Tally {
        match what {
            What::Message => &mut self.messages,
            What::Claim => &mut self.claims,
            What::Task => &mut self.tasks,
        }
    }

    fn refused(&mut self, place: &str, rejection: &Rejection, what: What) {
        *self.tally(what).refused.entry(rejection.code.as_str()).or_default() += 1;
        if self.refusals.len() < SHOWN {
            // It may quote what it refuses, and that may be anything.
            let message = privacy::redacted(&rejection.message, &self.context.secrets());
            self.refusals.push(format!("{place}: {}: {message}", rejection.code.as_str()));
        }
    }

    fn say(&self) -> Result<(), Failure> {
        let made = if self.dry_run { "to make" } else { "inserted" };
        let mut text = String::new();
        for (what, tally) in [("messages", &self.messages), ("claims", &self.claims), ("tasks", &self.tasks)]
        {
            let refused: u64 = tally.refused.values().sum();
            text.push_str(&format!(
                "{what}: {} {made}, {} already there, {refused} refused\n",
                tally.inserted, tally.already_there
            ));
            if tally.queued > 0 {
                text.push_str(&format!("  {} queued: run it again once they are committed\n", tally.queued));
            }
        }
        text.push_str(&format!("{} events say nothing to make a claim of\n", self.skipped));
        for refusal in &self.refusals {
            text.push_str(&format!("refused: {refusal}\n"));
        }
        let json = json!({
            "dry_run": self.dry_run, "messages": self.messages, "claims": self.claims, "tasks": self.tasks,
            "skipped": self.skipped, "refusals": self.refusals,
        });
        output::print(self.context.global.json, &text, &json)
    }
}
