//! `hm backfill`: makes claims and tasks from the events of the history. A second run inserts nothing.

use std::collections::{BTreeMap, BTreeSet};
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
use crate::domain::decide::{Facts, decide};
use crate::domain::event::{Event, Recorded};
use crate::domain::ids::{CommandId, EventId, IdempotencyKey};
use crate::domain::privacy;
use crate::domain::receipt::Acceptance;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::State;
use crate::domain::text::{MessageText, Recipient};
use crate::domain::time::{Moment, Timestamp};
use crate::domain::versions::Versions;
use crate::ledger::Cursor;
use crate::reads::Reads;
use crate::system;
use crate::writer::Front;

/// Events in one read.
const CHUNK: usize = 500;
/// Number of refusals that are shown. The others are counted.
const SHOWN: usize = 10;

/// Help text below the arguments.
pub(super) const HELP: &str = "\
Reported findings become facts, decisions decisions, blockers dead ends; each claim belongs to the agent that reported
it and cites the report. A decision keeps the day it was taken, and is refused where another one is in force on its
target. In messages, lines that begin with DECISION: FINDING: BLOCKER: or TASK: become claims of that kind, or
tasks. What hooks saw (tools, commands, edits, turns) and notes are left alone.
What was made of an event is recognised: a second run inserts nothing. What is claimed already is refused, and counted.

A file of messages has one JSON object a line: {\"from\": \"devops\", \"to\": \"analyst\", \"text\": \"FINDING: …\", \"at\":
\"2026-11-20T22:10:00Z\"}; `to` and `at` may be left out, `at` may be epoch milliseconds. Each line is put on record once.

Examples:
  hm backfill --dry-run
  hm backfill --messages mail.jsonl --agent operator";

#[derive(Debug, Args)]
pub(super) struct Backfill {
    /// Print the result, and make nothing
    #[arg(long)]
    dry_run: bool,
    /// Also record these messages, and make claims and tasks of their tagged lines
    #[arg(long, value_name = "FILE")]
    messages: Option<PathBuf>,
}

/// The results for one kind of command.
#[derive(Debug, Default, Serialize)]
struct Tally {
    /// Number made by this run. In a dry run, the number of commands that pass the rules.
    inserted: u64,
    /// Number made by an earlier run.
    already_there: u64,
    /// Number of commands that wait for a writer.
    queued: u64,
    /// Number of refusals, by code.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    refused: BTreeMap<&'static str, u64>,
}

/// The kind of a command.
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

struct Pass<'c> {
    context: &'c Context,
    front: Front,
    reads: Reads,
    dry_run: bool,
    messages: Tally,
    claims: Tally,
    tasks: Tally,
    /// Number of events that give no claim, task or message.
    skipped: u64,
    refusals: Vec<String>,
    /// The rules for a dry run.
    rehearsal: Option<Rehearsal>,
}

/// The state after the commands of a dry run, and the events that these commands would append.
#[derive(Default)]
struct Rehearsal {
    state: State,
    made: Vec<Recorded>,
    keys: BTreeSet<(AgentId, IdempotencyKey)>,
    seq: u64,
}

impl Rehearsal {
    /// Folds the ledger.
    fn of(reads: &mut Reads) -> Result<Self, Failure> {
        let mut rehearsal = Self::default();
        let mut cursor = Cursor::GENESIS;
        while let Some(ledger) = reads.ledger()? {
            let events = ledger.read_from(cursor, CHUNK)?;
            let Some(last) = events.last() else { break };
            cursor = last.cursor();
            for stored in &events {
                rehearsal.state.evolve(&stored.recorded().map_err(Failure::internal)?);
            }
        }
        rehearsal.seq = cursor.seq;
        Ok(rehearsal)
    }

    /// Decides a command as the writer does and applies its events. Returns false for a repeated key.
    fn take(&mut self, submission: &Submission, context: &Context) -> Result<bool, Rejection> {
        let key = submission.idempotency_key.clone().map(|key| (submission.agent.clone(), key));
        if key.as_ref().is_some_and(|key| self.keys.contains(key)) {
            return Ok(false);
        }
        if let Some(denial) = privacy::deny(submission, &context.secrets()) {
            return Err(denial.into());
        }
        let Submission { agent, command, command_id, .. } = submission;
        let now = system::now();
        let policy = context.workspace.rules_in_force(context.config.policy, &self.state.policy());
        let facts = Facts { checkout: submission.checkout.clone(), ..Facts::default() };
        let decided = decide(&self.state, agent, None, &facts, command, now, &policy)?;
        for (index, event) in decided.events.into_iter().enumerate() {
            self.seq += 1;
            let minted = command.minted().filter(|_| index == 0);
            let recorded = Recorded {
                seq: self.seq,
                id: EventId::from_uuid(minted.unwrap_or_else(system::new_id)),
                agent: agent.clone(),
                session: None,
                causation: *command_id,
                at: now,
                event: Some(event),
                erased: None,
            };
            self.state.evolve(&recorded);
            self.made.push(recorded);
        }
        self.keys.extend(key);
        Ok(true)
    }
}

/// One line of a file of messages.
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
        let mut run = Pass {
            context,
            front: context.front()?,
            reads: context.reads()?,
            dry_run: self.dry_run,
            messages: Tally::default(),
            claims: Tally::default(),
            tasks: Tally::default(),
            skipped: 0,
            refusals: Vec::new(),
            rehearsal: None,
        };
        if self.dry_run {
            run.rehearsal = Some(Rehearsal::of(&mut run.reads)?);
        }
        block_on(async {
            if let Some(file) = &self.messages {
                run.messages_of(file).await?;
            }
            run.history().await
        })?;
        run.say()
    }
}

impl Pass<'_> {
    /// Records the messages of a file, each line once.
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

    /// Makes claims and tasks from the events up to the current head.
    async fn history(&mut self) -> Result<(), Failure> {
        let head = match self.reads.ledger()? {
            Some(ledger) => ledger.head()?.seq,
            None => 0,
        };
        let bar = output::progress("backfilling", head);
        let mut cursor = Cursor::GENESIS;
        while let Some(ledger) = self.reads.ledger()? {
            let events = ledger.read_from(cursor, CHUNK)?;
            let Some(last) = events.last() else { break };
            cursor = last.cursor();
            // Events of this run are not history.
            for stored in events.iter().take_while(|stored| stored.seq <= head) {
                bar.set_position(stored.seq);
                let recorded = stored.recorded().map_err(Failure::internal)?;
                self.seeded(&recorded).await?;
            }
            if cursor.seq >= head {
                break;
            }
        }
        // The messages that a dry run did not record.
        let messages = self.rehearsal.as_mut().map(|rehearsal| std::mem::take(&mut rehearsal.made));
        for recorded in messages.unwrap_or_default() {
            if matches!(recorded.event, Some(Event::MessageSent(_))) {
                self.seeded(&recorded).await?;
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Submits the commands for one event.
    async fn seeded(&mut self, recorded: &Recorded) -> Result<(), Failure> {
        let seeds = backfill::commands(recorded, system::new_id);
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
        Ok(())
    }

    /// Submits one command in the name of the event's agent, and counts a refusal.
    async fn submit(
        &mut self,
        place: &str,
        agent: AgentId,
        key: IdempotencyKey,
        command: Command,
        what: What,
    ) -> Result<(), Failure> {
        // An earlier version may have made something else of this event. Nothing is made a second time.
        if self.knows(&agent, &key)? {
            self.tally(what).already_there += 1;
            return Ok(());
        }
        let submission = Submission {
            command_id: CommandId::from_uuid(system::new_id()),
            agent,
            unpinned: None,
            // A session counts as alive after a write. The event's session may still run, and this command is no sign
            // of life.
            session: None,
            trace_id: None,
            idempotency_key: Some(key),
            checkout: Checkout::default(),
            versions: Versions::new(),
            command,
        };
        if let Some(rehearsal) = &mut self.rehearsal {
            match rehearsal.take(&submission, self.context) {
                Ok(true) => self.tally(what).inserted += 1,
                Ok(false) => self.tally(what).already_there += 1,
                Err(rejection) => self.refused(place, &rejection, what),
            }
            return Ok(());
        }
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
            // The key names the event. An older release made a different command from it, so the claim exists.
            Err(other) if other.code == Code::IdempotencyConflict => self.tally(what).already_there += 1,
            Err(rejection) => self.refused(place, &rejection, what),
        }
        Ok(())
    }

    /// Whether an earlier run used this key.
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
            // The message may quote any input, so secrets are redacted.
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
