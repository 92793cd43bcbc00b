//! `hm forget`: erases the words of events from every file of the workspace: of one event, or of all events of a
//! session, a scope, an agent or an age. The ledger records the erasure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::export::section;
use super::output::{self, Failure};
use super::{Context, block_on, parse, parse_moment};
use crate::domain::agent::AgentId;
use crate::domain::command::{self, Command, Submission};
use crate::domain::event::Event;
use crate::domain::forgetting::{self, Choice, Chosen, Wanted, Which, Why};
use crate::domain::ids::{RunId, SessionId};
use crate::domain::receipt::Receipt;
use crate::domain::text::Reason;
use crate::domain::time::{Moment, Timestamp};
use crate::imports::Imports;
use crate::ledger::Reader;
use crate::mirror::{self, Place};
use crate::runner::result::results_of;
use crate::views;

/// Help text below the arguments.
pub(super) const HELP: &str = "\
An event keeps its place, its author and its hash; what it said is deleted from the ledger, the read models, their
logs, the spools and the files of runs (also below artifacts/), and an event.redacted says who had it erased and why.
`hm verify` still holds. It takes as long as `hm rebuild`; writers meanwhile wait, or their commands are queued.
What it did to a claim goes with it: an erased creation takes the claim away, an erased position no longer counts;
a claim that was put out of force stays out of force.

The promoted copies of a message or an anchor go with it, and so does what quotes a text that goes: hand-overs, queries,
intents, observed commands, and other words of its author. Words of other agents that quote it stay and are named;
--with-quotes takes them too.
With filters, all events that pass every one of them go at once, by one redaction. With a claim, a task, a run or a
pattern go the words of others about it; so do events that quote a text that goes. The list is shown first. With
--scope alone, its paths also leave the count of files that change together.

Not touched: backups and exports made before, and copies on other machines; the --out-file of a run; and names that are
no part of what an event says: session, trace and idempotency key. The reason stays on record: do not repeat there
what you erase.

Examples:
  hm forget C47 --reason \"a customer's name\"
  hm forget C47 --with-quotes --dry-run
  hm forget --agent devops --older-than 30d --dry-run
  hm forget --scope customers/acme --reason \"the contract ended\"";

/// Characters of an event's words in the list.
const WORDS_CHARS: usize = 120;

#[derive(Debug, Args)]
pub(super) struct Forget {
    /// Event to erase: 1234, C47 for the event that made the claim, or an id. Without it, filters; `--agent NAME` is
    /// one of them
    #[arg(conflicts_with_all = ["session", "scope", "older_than"])]
    event: Option<String>,
    /// Events of this session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Events about this path, target or tag: claims, tasks, edits, locks
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// Events from before then: an age (90m, 3d), a time, a date, or #57
    #[arg(long, value_name = "TIME")]
    older_than: Option<String>,
    /// With an event: also the words of other agents that quote it
    #[arg(long, requires = "event")]
    with_quotes: bool,
    /// Show the list and erase nothing
    #[arg(long)]
    dry_run: bool,
    /// Erase without asking
    #[arg(long)]
    yes: bool,
    /// Reason, kept on record
    #[arg(long, value_name = "TEXT", required_unless_present = "dry_run")]
    reason: Option<String>,
}

impl Forget {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let reason =
            || -> Result<Reason, Failure> { Ok(parse("reason", self.reason.as_deref().unwrap_or(""))?) };
        match &self.event {
            Some(event) => self.one(context, event, &reason),
            None => self.many(context, &reason),
        }
    }

    /// Erases one event, with what repeats its text.
    fn one(
        &self,
        context: &Context,
        event: &str,
        reason: &dyn Fn() -> Result<Reason, Failure>,
    ) -> Result<(), Failure> {
        let event_id = context.event_named(event)?;
        let with_quotes = self.with_quotes;
        let mut reads = context.present();
        let wanted = Wanted::One { id: event_id, with_quotes };
        let found = reads.ledger()?.map(|ledger| choice(ledger, wanted)).transpose()?;
        let list = List::of(context, found.unwrap_or_default().0);
        drop(reads);
        if self.dry_run {
            return list.print(context, json!({ "dry_run": true }));
        }
        let command = Command::Forget(command::Forget { event_id, reason: reason()?, with_quotes });
        let name = command.name();
        let submission = context.submission(command, None)?;
        // The writer refuses another agent, and says that nothing is left to erase.
        let is_asked = !self.yes
            && !context.global.json
            && !list.chosen.is_empty()
            && submission.agent == AgentId::operator()
            && output::can_ask();
        if is_asked {
            output::print_text(&list.text())?;
            self.is_agreed(list.chosen.len())?;
            // What was written meanwhile may quote it.
            let wanted = Wanted::One { id: event_id, with_quotes };
            let now = context.present().ledger()?.map(|ledger| choice(ledger, wanted)).transpose()?;
            let count = now.map_or(0, |(choice, _)| choice.goes.len());
            if count != list.chosen.len() {
                let why = "nothing was erased: something that quotes it was written meanwhile; look at the list again";
                return Err(Failure::usage(why));
            }
        }
        let receipt = submitted(context, submission)?;
        let mut json = views::receipt_json(&receipt, name);
        let mut text = output::receipt("erased", &receipt);
        if is_asked {
            return output::print_text(&text);
        }
        let List { files, remembered, .. } = list;
        if !files.is_empty() {
            text.push_str(&output::fitted(&format!("{}\n", erased_files(&files))));
            json["files"] = files.into();
        }
        if !remembered.is_empty() {
            text.push_str(&output::fitted(&format!("not reached: {}\n", remembered.join("; "))));
            json["beyond"] = remembered.into();
        }
        output::print(context.global.json, &text, &json)
    }

    fn many(&self, context: &Context, reason: &dyn Fn() -> Result<Reason, Failure>) -> Result<(), Failure> {
        let which = self.which(context)?;
        if which.is_everything() {
            return Err(Failure::usage(
                "name an event, or what to forget: --session, --scope, --agent, --older-than, or several of them",
            ));
        }
        // Here `--agent` names whose words go, not the caller.
        context.operator_named(None, "forget")?;
        let mut reads = context.present();
        let (choice, until) = match reads.ledger()? {
            Some(ledger) => choice(ledger, Wanted::Many(&which))?,
            None => (Choice::default(), 0),
        };
        let list = List::of(context, choice);
        drop(reads);
        if self.dry_run {
            return list.print(context, json!({ "dry_run": true }));
        }
        if list.chosen.is_empty() {
            return list.print(context, json!({ "erased": 0 }));
        }
        if !context.global.json {
            output::print_text(&list.text())?;
        }
        self.is_agreed(list.chosen.len())?;
        let command = Command::ForgetMany(command::ForgetMany { which, until, reason: reason()? });
        let submission = context.submission_of(AgentId::operator(), Some(context.session()), command, None);
        let receipt = submitted(context, submission)?;
        let mut json = views::receipt_json(&receipt, "forget_many");
        if context.global.json {
            json["list"] = list.json();
            return output::print_json(&json);
        }
        output::print_text(&output::receipt(&format!("erased {} events", list.chosen.len()), &receipt))
    }

    /// Asks at the terminal whether to erase the events that were shown.
    fn is_agreed(&self, count: usize) -> Result<(), Failure> {
        if self.yes {
            return Ok(());
        }
        let events = if count == 1 { "this event".to_owned() } else { format!("these {count} events") };
        match output::agreed(&format!("Erase {events} for good?"))? {
            Some(true) => Ok(()),
            Some(false) => Err(Failure::usage("nothing was erased")),
            None => Err(Failure::usage("nothing was erased: without a terminal to ask at, pass --yes")),
        }
    }

    fn which(&self, context: &Context) -> Result<Which, Failure> {
        let session = context.session_named(self.session.as_deref())?;
        let session: Option<SessionId> = session.map(|session| parse("session", &session)).transpose()?;
        let scope = self.scope.as_deref().map(|scope| context.scope("scope", scope)).transpose()?;
        let before = self.older_than.as_deref().map(|typed| before(context, typed)).transpose()?.flatten();
        let agent = context.global.agent.as_deref().map(|name| context.agent("agent", name)).transpose()?;
        let has_others = session.is_some() || scope.is_some() || before.is_some();
        // Beside another filter, the operator is the caller.
        let agent = agent.filter(|agent| !(has_others && *agent == AgentId::operator()));
        Ok(Which { session, scope, agent, before })
    }
}

/// The time before which events are old enough. A ledger position stands for the time of its event.
fn before(context: &Context, typed: &str) -> Result<Option<Timestamp>, Failure> {
    match parse_moment("older-than", Some(typed))? {
        Some(Moment::Time(at)) => Ok(Some(at)),
        Some(Moment::Seq(seq)) => {
            let mut reads = context.present();
            let at = reads.ledger()?.map(|ledger| ledger.at(seq)).transpose()?.flatten();
            let unknown = || Failure::usage(format!("no event has the number {seq}: see hm log"));
            at.map(Some).ok_or_else(unknown)
        }
        None => Ok(None),
    }
}

/// The events of an erasure, and the last event of the ledger.
fn choice(ledger: &Reader, wanted: Wanted<'_>) -> Result<(Choice, u64), Failure> {
    let until = ledger.head()?.seq;
    Ok((ledger.to_forget(wanted, until)?, until))
}

fn submitted(context: &Context, submission: Submission) -> Result<Receipt, Failure> {
    let front = context.front()?;
    block_on(async { Ok(front.submit_unqueued(submission).await?) })
}

const fn ended(event: &Event) -> Option<RunId> {
    if let Event::ExperimentCompleted(ended) = event { Some(ended.run_id) } else { None }
}

/// The files of some runs that exist, relative to the workspace where they lie in it.
fn files_of(context: &Context, runs: &BTreeSet<RunId>) -> Vec<String> {
    let dirs = runs.iter().map(|run| context.workspace.artifacts(*run)).filter(|dir| dir.exists());
    let results: Vec<PathBuf> =
        context.workspace.roots().iter().flat_map(|root| results_of(root, runs)).collect();
    let root = context.workspace.root();
    let shown = |path: PathBuf| path.strip_prefix(root).unwrap_or(&path).display().to_string();
    dirs.chain(results).map(shown).collect()
}

/// The mirrors that may show what is erased, each with the way to write it anew.
fn mirrors(context: &Context) -> Vec<String> {
    let shown = |place: Place| {
        format!("the mirror {place} (hm mirror {} --rewrite) and copies of it", place.option())
    };
    mirror::known(&context.workspace).map_or_else(
        |error| vec![format!("the mirrors, whose list cannot be read ({error})")],
        |places| places.into_iter().map(shown).collect(),
    )
}

/// The sections of files of notes that may show what is erased, each with the way to write it anew.
fn sections(context: &Context) -> Vec<String> {
    let root = context.workspace.root();
    let files = context.workspace.files_with_a_section(&section::NAMES);
    let shown = |file: PathBuf| {
        let file = file.strip_prefix(root).map(PathBuf::from).unwrap_or(file).display().to_string();
        format!(
            "the section in {file} (hm export --to {}) and what git keeps of it",
            shell_words::quote(&file)
        )
    };
    files.into_iter().map(shown).collect()
}

fn erased_files(files: &[String]) -> String {
    format!(
        "files of runs that go: {}; delete the --out-file of a run yourself, and what git keeps of them",
        files.join(", ")
    )
}

/// Events as JSON.
fn listed(events: &[Chosen]) -> Vec<Value> {
    let row = |Chosen { event, why }: &Chosen| {
        json!({
            "seq": event.seq,
            "id": event.id,
            "type": event.event.as_ref().map(Event::kind),
            "agent": event.agent,
            "at": event.at,
            "why": why,
            "words": event.event.as_ref().map(|event| views::listed(&forgetting::words(event), WORDS_CHARS)),
        })
    };
    events.iter().map(row).collect()
}

/// What an erasure takes.
struct List {
    chosen: Vec<Chosen>,
    /// The words of other agents that quote a text that goes, and stay.
    stays: Vec<Chosen>,
    files: Vec<String>,
    /// The places that the erasure cannot reach.
    beyond: Vec<String>,
    /// Those of them that this memory knows by name.
    remembered: Vec<String>,
}

impl List {
    fn of(context: &Context, Choice { goes: chosen, stays }: Choice) -> Self {
        let runs: BTreeSet<RunId> =
            chosen.iter().filter_map(|chosen| ended(chosen.event.event.as_ref()?)).collect();
        let files = files_of(context, &runs);
        let mut beyond = vec![
            "backups (hm backup) and exports (hm export) made before, and copies on other machines"
                .to_owned(),
        ];
        let imports = Imports::load(&context.workspace.imports());
        if chosen.iter().any(|chosen| imports.holds(chosen.event.seq)) {
            beyond.push("the memory or file that some of these events were imported from".to_owned());
        }
        let remembered: Vec<String> = mirrors(context).into_iter().chain(sections(context)).collect();
        beyond.extend(remembered.iter().cloned());
        if !runs.is_empty() {
            beyond.push("the --out-file of a run, and results that git keeps".to_owned());
        }
        Self { chosen, stays, files, beyond, remembered }
    }

    fn counts(&self) -> BTreeMap<&'static str, usize> {
        let kinds = self.chosen.iter().filter_map(|chosen| Some(chosen.event.event.as_ref()?.kind()));
        kinds.fold(BTreeMap::new(), |mut counts, kind| {
            *counts.entry(kind).or_default() += 1;
            counts
        })
    }

    fn json(&self) -> Value {
        json!({
            "events": listed(&self.chosen),
            "stays": listed(&self.stays),
            "counts": self.counts(),
            "files": self.files,
            "beyond": self.beyond,
        })
    }

    fn text(&self) -> String {
        if self.chosen.is_empty() {
            return "no event with words is left that fits\n".to_owned();
        }
        let mut text = String::new();
        for Chosen { event, why } in &self.chosen {
            let Some(body) = &event.event else { continue };
            let why = match why {
                Why::Asked => "",
                Why::Related => " (with it)",
                Why::Quotes => " (quotes it)",
            };
            let words = views::listed(&forgetting::words(body), WORDS_CHARS);
            let _ = writeln!(text, "#{} {} by {}{why}: {words}", event.seq, body.kind(), event.agent);
        }
        for Chosen { event, .. } in &self.stays {
            let Some(body) = &event.event else { continue };
            let words = views::listed(&forgetting::words(body), WORDS_CHARS);
            let way = format!("`hm forget {}`, or add --with-quotes", event.seq);
            let _ = writeln!(
                text,
                "#{} {} by {} quotes it and stays ({way}): {words}",
                event.seq,
                body.kind(),
                event.agent
            );
        }
        let counts: Vec<String> =
            self.counts().into_iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let plural = if self.chosen.len() == 1 { "" } else { "s" };
        let _ = writeln!(text, "{} event{plural}: {}", self.chosen.len(), counts.join(", "));
        if !self.files.is_empty() {
            let _ = writeln!(text, "{}", erased_files(&self.files));
        }
        let _ = writeln!(text, "not reached: {}", self.beyond.join("; "));
        output::fitted(&text)
    }

    fn print(&self, context: &Context, more: Value) -> Result<(), Failure> {
        let mut json = self.json();
        if let (Value::Object(json), Value::Object(more)) = (&mut json, more) {
            json.extend(more);
        }
        output::print(context.global.json, &self.text(), &json)
    }
}
