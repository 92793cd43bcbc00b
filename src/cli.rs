//! The command line: what humans and hooks use. Arguments become types, types become a command or a view.

mod backfill;
mod backup;
mod claim;
mod context;
mod contradictions;
mod decision;
mod demo;
mod doctor;
mod experiment;
mod export;
mod forget;
mod guard;
mod help;
mod hook;
mod import;
mod init;
mod lists;
mod lock;
mod log;
mod names;
mod news;
mod output;
mod plan;
mod profile;
mod rebuild;
mod repair;
#[cfg(unix)]
mod runner;
mod search;
mod serve;
mod session;
mod status;
mod target;
mod token;
mod trust;
mod verify;
mod writer;

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::client_session::ClientSession;
use crate::config::{Config, ConfigError};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::command::{Command, RecordOverride, Submission};
use crate::domain::ids::{CommandId, IdempotencyKey, SessionId, TaskId};
use crate::domain::privacy::{Known, Secrets};
use crate::domain::receipt::{Receipt, Warning};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::seat::Unpinned;
use crate::domain::text::Label;
use crate::domain::time::Moment;
use crate::domain::versions::Versions;
use crate::identity::{Caller, Speaker, Surroundings};
use crate::reads::Reads;
use crate::session_news::SessionNews;
use crate::standing::{Damage, Standing};
use crate::store::StoreError;
use crate::system::{self, Environment};
use crate::views::{self, View, ViewError};
use crate::workspace::Workspace;
use crate::writer::Front;

pub use output::Failure;

/// How long a verb that reads waits for read models that the writer makes anew; those of a large ledger take longer.
const MADE_WITHIN: Duration = Duration::from_secs(2);
/// How often it looks.
const MADE_POLL: Duration = Duration::from_millis(10);

/// What the reason of a verb is called besides `--reason`: sibling verbs take their words under these names.
const REASON_TOO: [&str; 2] = ["note", "why"];
/// What the note of a verb is called besides `--note`.
const NOTE_TOO: [&str; 2] = ["reason", "why"];

/// One shared, evidence-backed memory for a team of LLM coding agents.
#[derive(Debug, Parser)]
#[command(name = "hm", version, help_template = help::VERBS)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    verb: Verb,
}

/// The part of [`Cli`] a hook needs.
#[derive(Debug, Parser)]
#[command(name = "hm")]
struct HookAlone {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    verb: HookVerb,
}

#[derive(Debug, Subcommand)]
enum HookVerb {
    Hook(hook::Hook),
}

/// Options every verb takes.
#[derive(Debug, Clone, Default, Args)]
struct Global {
    /// The workspace, instead of the nearest .hivemind at or above this directory (env HM_DIR)
    #[arg(long, global = true, hide = true, value_name = "PATH")]
    dir: Option<PathBuf>,
    /// Who speaks: a name or alias of the roster, or a seat such as claude-2 (env HM_AGENT)
    #[arg(long, global = true, hide = true, value_name = "NAME")]
    agent: Option<String>,
    /// Be the operator without a terminal, and why: for scripts; it goes on record
    #[arg(long, global = true, hide = true, value_name = "REASON")]
    operator_override: Option<String>,
    /// Answer as of then, for verbs that read: a time, a date, how long ago (90m, 3d), or a ledger position (#57)
    #[arg(long, global = true, hide = true, value_name = "TIME")]
    at: Option<String>,
    /// Answer in JSON, for programs
    #[arg(long, global = true, hide = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make this directory a workspace, and write it into the settings of the clients found
    #[command(after_help = "Examples:\n  cd my-project && hm init\n  hm init --clients claude,codex --yes")]
    Init(init::Init),
    /// Take out of the settings of clients what hm init wrote there; the memory stays
    #[command(after_help = "Examples:\n  hm uninit --dry-run\n  hm uninit --clients cursor --yes")]
    Uninit(init::Uninit),
    /// Look for what keeps clients, hooks and writer from working; exit 1 when there is something
    #[command(after_help = "Examples:\n  hm doctor\n  hm doctor --json")]
    Doctor,
    /// Watch four agents share a memory: a story through real processes, in a temporary workspace
    #[command(after_help = "Examples:\n  hm demo\n  hm demo --keep\n  hm demo --json")]
    Demo(demo::Demo),
    /// Serve MCP over stdio, as a client starts it, or over HTTP
    #[command(after_help = "Examples:\n  hm serve --agent devops\n  hm serve --http 127.0.0.1:8787")]
    Serve(serve::Serve),
    /// Give out and take back tokens of the HTTP front
    #[command(subcommand, after_help = "Example: hm token add --agent devops --role agent")]
    Token(token::Token),
    /// Open a memory that came with this directory: a human says that it is theirs
    #[command(after_help = trust::HELP)]
    Trust,
    /// Be the one process that writes; started on demand, seldom by hand
    #[command(after_help = "Example: hm writer")]
    Writer(writer::Writer),
    /// Be the process a run lives in; started for each run, never by hand
    #[cfg(unix)]
    #[command(hide = true, after_help = "Example: hm runner < order.json")]
    Runner,
    /// Say how the workspace is doing
    #[command(after_help = "Example: hm status --agent devops")]
    Status,
    /// Show what an agent should know: what its hooks and its client put before it
    #[command(after_help = "Example: hm context --agent devops")]
    Context(context::Context),
    /// Say what is new for you since you were last told, or wait for it
    #[command(after_help = news::HELP)]
    News(news::News),
    /// List what needs an agent, or anybody, each with the command that settles it
    #[command(after_help = "Example: hm attention --agent devops")]
    Attention(context::Attention),
    /// State claims, read them, and take positions on them
    #[command(
        subcommand,
        alias = "claims",
        after_help = "Example: hm claim create \"the pool holds 20 connections\" --scope src/db"
    )]
    Claim(claim::Claim),
    /// Record decisions and what became of them
    #[command(subcommand, alias = "decisions", after_help = "Example: hm decision list")]
    Decision(decision::Decision),
    /// List what contradicts what, both sides named
    #[command(
        alias = "contradiction",
        after_help = "Examples:\n  hm contradictions\n  hm contradictions --resolved"
    )]
    Contradictions(contradictions::Contradictions),
    /// Name what decisions are about, and join two names of one thing
    #[command(subcommand, alias = "targets", after_help = "Example: hm target alias database db")]
    Target(target::Target),
    /// Say what is wanted now; contexts follow
    #[command(
        after_help = "From the operator or the architect, outside of any session (HM_SESSION, a client's shell), it is \
        said to\nthe whole team: every context follows, until its pane says otherwise. From another agent, or within \
        a\nsession, the contexts of that session follow, and those of panes that never said.\n\n\
        Example: hm intent \"wait, fix the UI first\""
    )]
    Intent(plan::Intent),
    /// Add plans, and see what is planned and who does it
    #[command(subcommand, alias = "plans", after_help = "Example: hm plan show")]
    Plan(plan::Plan),
    /// Add phases to plans
    #[command(subcommand, alias = "phases", after_help = "Example: hm phase add Storage --plan PLAN")]
    Phase(plan::Phase),
    /// Add tasks, take them, and say how they go
    #[command(subcommand, alias = "tasks", after_help = "Example: hm task ready")]
    Task(plan::Task),
    /// Ask the others to leave anything alone for a time: files, a machine, a target
    #[command(after_help = lock::HELP)]
    Lock(lock::Lock),
    /// Keep facts where no compaction loses them
    #[command(subcommand, alias = "anchors", after_help = "Example: hm anchor list")]
    Anchor(plan::Anchor),
    /// See what clients' sessions did and said
    #[command(subcommand, alias = "sessions", after_help = "Example: hm session list")]
    Session(session::Session),
    /// See what agents held to be right and wrong
    #[command(subcommand, alias = "beliefs", after_help = "Example: hm belief show devops")]
    Belief(session::Belief),
    /// Be what a client's hook runs: the payload on stdin, the answer on stdout; never fails
    #[command(after_help = "Example: hm hook claude < payload.json")]
    Hook(hook::Hook),
    /// Settle a claim by running something, and keep what it shows
    #[command(subcommand, alias = "experiments", after_help = "Example: hm experiment list --status failed")]
    Experiment(experiment::Experiment),
    /// See and check the commands agents may run as experiments
    #[command(subcommand, alias = "profiles", after_help = "Example: hm profile list --scope src/db")]
    Profile(profile::Verb),
    /// List the events of the ledger, oldest first
    #[command(after_help = "Example: hm log --type claim.created --follow")]
    Log(log::Log),
    /// Check every byte of the ledger against its hash chain; exit 1 names the first broken place
    #[command(after_help = "Example: hm verify && hm export backup.jsonl")]
    Verify,
    /// Make the read models anew from the ledger
    #[command(after_help = "Example: hm rebuild")]
    Rebuild,
    /// Write the ledger as text: one JSON line per event, then its count and head hash
    #[command(after_help = "Examples:\n  hm export ledger.jsonl\n  hm export | grep claim.created")]
    Export(export::Export),
    /// Append what an export holds: into an empty ledger, or one that shares its past
    #[command(after_help = "Example: hm import ledger.jsonl")]
    Import(import::Import),
    /// Make claims of what history holds: findings, decisions, blockers, tagged messages; for the operator only
    #[command(after_help = backfill::HELP)]
    Backfill(backfill::Backfill),
    /// Erase what one event says, for good; for the operator only
    #[command(after_help = forget::HELP)]
    Forget(forget::Forget),
    /// Accept that events or checkpoints are gone, and go on; for the operator only
    #[command(after_help = repair::HELP)]
    Repair(repair::Repair),
    /// Copy the whole memory while it is written to, and check the copy
    #[command(after_help = "Example: hm backup ../memory-friday && hm verify --dir ../memory-friday")]
    Backup(backup::Backup),
    /// Show the options that every verb takes
    #[command(hide = true, override_help = help::options())]
    Options,
}

/// When what is listed was made.
#[derive(Debug, Args)]
struct Made {
    /// Made then or later: a time, a date, how long ago (90m, 3d), or #57
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Made then or earlier
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

impl Made {
    fn since(&self) -> Result<Option<Moment>, Rejection> {
        parse_moment("since", self.since.as_deref())
    }

    fn until(&self) -> Result<Option<Moment>, Rejection> {
        parse_moment("until", self.until.as_deref())
    }
}

/// Where a verb runs: workspace, settings, caller.
struct Context {
    workspace: Workspace,
    config: Config,
    environment: Environment,
    global: Global,
    /// The directory the verb is typed in.
    here: PathBuf,
    /// Whether the override is on record already.
    overrode: Cell<bool>,
    /// What the front itself has to say on the next receipt.
    told: RefCell<Vec<Warning>>,
    /// The secrets among the variables, once they are asked for: most hooks ask for none.
    known: OnceCell<Known>,
}

impl Context {
    fn find(global: Global) -> Result<Self, Failure> {
        let here = std::env::current_dir().map_err(Failure::internal)?;
        Self::at(global, &here)
    }

    /// [`Context::find`] from another directory than this one.
    fn at(global: Global, here: &Path) -> Result<Self, Failure> {
        let environment = Environment::read();
        let workspace =
            Workspace::find(global.dir.as_deref(), here, &environment).map_err(Failure::usage)?.settled();
        Self::of(workspace, environment, global, here)
    }

    fn of(
        workspace: Workspace,
        environment: Environment,
        global: Global,
        here: &Path,
    ) -> Result<Self, Failure> {
        let config = Config::load(&workspace.config()).map_err(Failure::usage)?;
        Ok(Self::with(config, workspace, environment, global, here))
    }

    fn with(
        config: Config,
        workspace: Workspace,
        environment: Environment,
        global: Global,
        here: &Path,
    ) -> Self {
        names::print_from(&workspace);
        let here = here.to_owned();
        let (overrode, told, known) = (Cell::new(false), RefCell::default(), OnceCell::new());
        Self { workspace, config, environment, global, here, overrode, told, known }
    }

    /// [`Context::find`] also where the settings cannot be used: with the defaults then, and with what is wrong.
    fn examined(global: Global) -> Result<(Self, Option<ConfigError>), Failure> {
        let here = std::env::current_dir().map_err(Failure::internal)?;
        let environment = Environment::read();
        let workspace = Workspace::find(global.dir.as_deref(), &here, &environment);
        let workspace = workspace.map_err(Failure::usage)?.settled();
        let (config, fault) = match Config::load(&workspace.config()) {
            Ok(config) => (config, None),
            Err(fault) => (Config::defaults(), Some(fault)),
        };
        Ok((Self::with(config, workspace, environment, global, &here), fault))
    }

    /// Who speaks: `--agent`, else `HM_AGENT`, else nobody yet.
    fn caller(&self) -> Result<Caller, Failure> {
        self.caller_in(self.session())
    }

    fn caller_in(&self, session: SessionId) -> Result<Caller, Failure> {
        self.caller_named(self.global.agent.as_deref(), session)
    }

    /// The caller that `--agent` names. Where `HM_AGENT` says who the pane is, `--agent` says the same or is refused.
    fn caller_named(&self, named: Option<&str>, session: SessionId) -> Result<Caller, Failure> {
        let caller = |name: Option<&str>| Caller::new(self.config.roster.clone(), name, session.clone());
        let Some(told) = self.environment.agent.as_deref() else { return Ok(caller(named)?) };
        let pane = caller(Some(told))?;
        match (named.map(|name| caller(Some(name))).transpose()?, pane.pinned()) {
            (Some(other), Some(pane)) if other.pinned() != Some(pane) => {
                let other = other.pinned().unwrap_or(pane);
                Err(Rejection::new(
                    Code::AgentMismatch,
                    format!("HM_AGENT says that this is the pane of {pane}, and --agent names {other}"),
                    format!(
                        "drop --agent: you are {pane} here; in a shell of your own, unset HM_AGENT instead"
                    ),
                )
                .into())
            }
            _ => Ok(pane),
        }
    }

    /// The client's session, where one is named.
    fn given_session(&self) -> Option<SessionId> {
        let Environment { own_session, session, .. } = &self.environment;
        own_session.iter().chain(session).find_map(|session| session.parse().ok())
    }

    /// The session of the client whose shell this is: as the shell's variables name it, else, where nothing names an
    /// agent, as one of the processes above left word of it.
    fn client_session(&self) -> Option<SessionId> {
        self.given_session().or_else(|| {
            if self.is_named() {
                return None;
            }
            let word = |process| ClientSession::of(&self.workspace, process).current();
            system::processes_above().find_map(word)
        })
    }

    /// The process under which word is left of the session of a pane: this one, or where it left none, the nearest above
    /// it that did. What the shell of a pane starts is the pane; a client that it starts is a pane of its own.
    fn pane_process(&self, process: u32) -> u32 {
        let has_word = |process| ClientSession::of(&self.workspace, process).last().is_some();
        let mut above = system::processes_above().skip_while(|above| *above != process);
        let mut next = above.next();
        while let Some(at) = next {
            if has_word(at) {
                return at;
            }
            next = if system::client_program(at).is_some() { None } else { above.next() };
        }
        process
    }

    /// The client's session, else that of the shell this was typed in: who takes a task there can end it there.
    fn session(&self) -> SessionId {
        self.client_session().unwrap_or_else(|| {
            let shell = system::name_of_parent().unwrap_or_else(|| system::new_id().to_string());
            format!("hm-{shell}").parse().expect("numbers and a hyphen are a short printable line")
        })
    }

    /// The client's session, else one of this process alone: a server is in no session of what started it.
    fn own_session(&self) -> SessionId {
        self.given_session().unwrap_or_else(|| {
            let fresh = format!("hm-{}", system::new_id());
            fresh.parse().expect("a UUID is a short printable line")
        })
    }

    /// The task that new claims come out of: what `HM_TASK` says.
    fn task(&self) -> Result<Option<TaskId>, Failure> {
        self.task_named(self.environment.task.as_deref())
    }

    /// Who is asking: the pinned agent, the human at a terminal, or in an agent's shell the agent of its session.
    fn who(&self) -> Result<(AgentId, SessionId), Failure> {
        let caller = self.caller()?;
        let sits_there = || {
            let has_both_ends = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
            has_both_ends && system::client_above().is_none()
        };
        let agent = match caller.pinned() {
            Some(agent) => agent.clone(),
            None if self.global.operator_override.is_some() || sits_there() => AgentId::operator(),
            None => self.agent_of_session().ok_or_else(nobody_speaks)?,
        };
        Ok((agent, caller.session()))
    }

    /// The agent of the client's session, as the read models know it.
    fn agent_of_session(&self) -> Option<AgentId> {
        let session = self.client_session()?;
        let mut reads = self.present();
        let known = reads.store().ok()??.session(session.as_str()).ok()??;
        Some(AgentId::recorded(known.agent))
    }

    /// Who reads, where that changes what is shown: the pinned agent, or in an agent's shell the agent of its session.
    fn reader(&self) -> Result<Option<AgentId>, Failure> {
        let pinned = self.caller()?.pinned().cloned();
        Ok(pinned.or_else(|| system::client_above().and_then(|_| self.agent_of_session())))
    }

    /// Whether `--agent` or `HM_AGENT` says who speaks.
    fn is_named(&self) -> bool {
        self.environment.agent.is_some() || self.global.agent.is_some()
    }

    /// A speaker as the writer is told of it: it says itself who a session without a name is by now.
    fn speaks(&self, agent: AgentId) -> Speaker {
        let unpinned = (!self.is_named() && agent != AgentId::operator()).then(Unpinned::default);
        Speaker { agent, unpinned }
    }

    /// Who a write speaks for: as [`Context::who`], and the operator is a human. `verb` is what an override is
    /// recorded for.
    fn speaker(&self, verb: &str) -> Result<(AgentId, SessionId), Failure> {
        let (agent, session) = self.who()?;
        if agent == AgentId::operator() {
            self.human(verb)?;
        } else if self.global.operator_override.is_some() {
            return Err(Failure::usage(format!(
                "--operator-override is for the operator, and you are {agent}: drop one of the two"
            )));
        }
        Ok((agent, session))
    }

    /// Lets only the operator pass: for verbs that no agent has.
    fn operator(&self, verb: &str) -> Result<(), Failure> {
        self.operator_named(self.global.agent.as_deref(), verb)
    }

    /// [`Context::operator`] for a verb whose `--agent` does not name its caller.
    fn operator_named(&self, named: Option<&str>, verb: &str) -> Result<(), Failure> {
        let caller = self.caller_named(named, self.session())?;
        if let Some(agent) = caller.pinned().filter(|agent| **agent != AgentId::operator()) {
            return Err(Rejection::new(
                Code::NotAllowed,
                format!("only the operator may do this, and you are {agent}"),
                "ask the human to type it at a terminal",
            )
            .into());
        }
        self.human(verb)
    }

    /// Lets a human at a terminal pass. An override is put on record first, once for each process.
    fn human(&self, verb: &str) -> Result<(), Failure> {
        let Some(reason) = &self.global.operator_override else {
            return Ok(surroundings().human()?);
        };
        if self.overrode.replace(true) {
            return Ok(());
        }
        // Whoever reads the record should know what stood above.
        let above = system::client_above().map(|client| format!(" ({client})")).unwrap_or_default();
        let reason = parse("operator-override", &format!("{reason}{above}"))?;
        let command = Command::RecordOverride(RecordOverride { verb: Label::of(verb), reason });
        let submission = self.submission_of(AgentId::operator(), Some(self.session()), command, None);
        let front = self.front()?;
        block_on(async { Ok(front.submit(submission).await?) }).map(drop)
    }

    /// An agent named in an argument. The name of a work tree may stand for its agent, which is said.
    fn agent(&self, argument: &str, name: &str) -> Result<AgentId, Rejection> {
        let called = views::agent_called(&mut self.present(), &self.config.roster, name, system::now());
        let (agent, said) = called.map_err(|unknown| Rejection::invalid(argument, unknown))?;
        said.iter().for_each(|said| output::note(said));
        Ok(agent)
    }

    /// Agents that are asked. What is to be said of them goes into the receipt.
    fn asked(&self, argument: &str, names: &[String]) -> Result<Vec<AgentId>, Rejection> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let me = self.who().ok().map(|(agent, _)| agent);
        let asked = (me.as_ref(), names);
        let asked = views::asked(&mut self.present(), &self.config.roster, asked, system::now());
        let (agents, told) = asked.map_err(|unknown| Rejection::invalid(argument, unknown))?;
        self.told.borrow_mut().extend(told);
        Ok(agents)
    }

    /// A scope named in an argument: a path is relative to the directory the verb is typed in.
    fn scope(&self, argument: &str, text: &str) -> Result<Scope, Rejection> {
        self.workspace.scope_in(&self.here, text).map_err(|problem| Rejection::invalid(argument, problem))
    }

    /// A command as its speaker hands it in.
    fn submission(&self, command: Command, key: Option<IdempotencyKey>) -> Result<Submission, Failure> {
        let (agent, session) = self.speaker(command.name())?;
        Ok(self.submission_of(agent, Some(session), command, key))
    }

    fn submission_of(
        &self,
        agent: AgentId,
        session: Option<SessionId>,
        command: Command,
        idempotency_key: Option<IdempotencyKey>,
    ) -> Submission {
        let command_id = CommandId::from_uuid(system::new_id());
        // The way to the writer fills it in.
        let (checkout, versions) = (Checkout::default(), Versions::new());
        let Speaker { agent, unpinned } = self.speaks(agent);
        Submission {
            command_id,
            agent,
            unpinned,
            session,
            trace_id: None,
            idempotency_key,
            checkout,
            versions,
            command,
        }
    }

    /// Submits a command.
    fn submitted(&self, command: Command, key: Option<IdempotencyKey>) -> Result<Receipt, Failure> {
        if self.global.at.is_some() {
            return Err(Failure::usage("the past is not written: leave out --at"));
        }
        let submission = self.submission(command, key)?;
        let front = self.front()?;
        let agent = submission.agent.clone();
        let mut receipt = block_on(async { Ok(front.submit(submission).await?) })?;
        receipt.warnings.extend(self.told.take());
        views::mark_at_now(&mut self.present(), &mut receipt, Some(&agent), system::now());
        if let Some(seq) = receipt.seq {
            if let Some((session, state_home)) =
                self.client_session().zip(self.environment.state_home.as_deref())
            {
                let opened = SessionNews::of(state_home, &self.workspace, &session).opened();
                views::without_known(&mut receipt, &opened);
            }
            self.opened(&receipt.told_of().map(|id| id.to_string()).collect::<Vec<_>>(), seq);
        }
        Ok(receipt)
    }

    /// Submits a command and prints its receipt.
    fn submit(&self, done: &str, command: Command, key: Option<IdempotencyKey>) -> Result<(), Failure> {
        let name = command.name();
        let receipt = self.submitted(command, key)?;
        let json = views::receipt_json(&receipt, name);
        output::print(self.global.json, &output::receipt(done, &receipt), &json)
    }

    /// Prints the answer to a question.
    fn show(&self, view: &View) -> Result<(), Failure> {
        let mut reads = self.models()?;
        let answer = views::answer(&mut reads, &self.config, view, system::now())?;
        let (opened, as_of) = (views::opened(view, &answer), answer.seq);
        // What a program wrote, and XML, mean their line breaks.
        let is_exact = matches!(view, View::Output(..)) || answer.mime_type != "text/markdown";
        let mut text = if matches!(view, View::Output(..)) {
            answer.text
        } else if is_exact {
            names::shortened(&crate::steps::in_shell(&answer.text)).into_owned()
        } else {
            output::fitted(&answer.text)
        };
        if let Some(next) = answer.next {
            text.push_str(&output::more(next.parameter, &next.value));
        }
        output::print(self.global.json, &text, &answer.json)?;
        self.opened(&opened, as_of);
        note_damage(&mut reads);
        Ok(())
    }

    /// What was shown to the client's session is no news to it any more; what it was as of then is another matter.
    fn opened(&self, ids: &[String], as_of: u64) {
        let is_past = self.global.at.is_some();
        let session = if ids.is_empty() || is_past { None } else { self.client_session() };
        if let Some((session, state_home)) = session.zip(self.environment.state_home.as_deref()) {
            // At worst it is told of it once more.
            let _ = SessionNews::of(state_home, &self.workspace, &session).open(ids, as_of);
        }
    }

    fn reads(&self) -> Result<Reads, Failure> {
        let mut present = self.present();
        match parse_moment("at", self.global.at.as_deref())? {
            None => Ok(present),
            Some(moment) => Ok(present.at(moment, system::now()).map_err(ViewError::from)?),
        }
    }

    /// What is there now.
    fn present(&self) -> Reads {
        Reads::of(self.workspace.clone()).knowing(self.environment.state_home.clone())
    }

    /// [`Context::reads`] with read models of this version: the writer makes them where they are of an older one.
    fn models(&self) -> Result<Reads, Failure> {
        let mut reads = self.reads()?;
        if !matches!(reads.store(), Err(StoreError::Unmade)) {
            return Ok(reads);
        }
        output::note("the read models are of an older version of hm: the writer makes them anew");
        let front = self.front()?;
        block_on(async { Ok(front.submit_within(MADE_WITHIN, Vec::new()).await?) })?;
        let deadline = system::instant() + MADE_WITHIN;
        while matches!(reads.store(), Err(StoreError::Unmade)) && system::instant() < deadline {
            std::thread::sleep(MADE_POLL);
        }
        Ok(reads)
    }

    /// What this process keeps to itself.
    fn secrets(&self) -> Secrets {
        let known = self.known.get_or_init(|| Known::from_variables(system::variables()));
        Secrets { own: self.config.own_secrets.clone(), known: known.clone() }
    }

    fn front(&self) -> Result<Front, Failure> {
        let binary = std::env::current_exe().map_err(Failure::internal)?;
        Ok(Front::guarding(self.workspace.clone(), binary, self.secrets()))
    }
}

/// Whether a client runs this as its hook.
fn is_hook() -> bool {
    std::env::args_os().nth(1).is_some_and(|verb| verb == "hook")
}

/// What was asked for. A client waits for its hooks before every tool: of the command line they make their own verb
/// only, which takes an eighth of the time that all do. Help and mistakes are for the whole.
fn parsed() -> Result<Cli, clap::Error> {
    match is_hook().then(HookAlone::try_parse) {
        Some(Ok(HookAlone { global, verb: HookVerb::Hook(hook) })) => {
            Ok(Cli { global, verb: Verb::Hook(hook) })
        }
        _ => help::parsed(listed(std::env::args_os().collect())),
    }
}

/// Verbs that list without a word for it, and the option that asks one of them for its list.
const LISTS: [(&str, Option<&str>); 6] = [
    ("attention", None),
    ("contradiction", None),
    ("contradictions", None),
    ("log", None),
    ("status", None),
    ("lock", Some("--list")),
];

/// The arguments with `hm lock list` and the like as the list that they mean: other nouns have a verb `list`.
fn listed(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let mut at = 1;
    while let Some(argument) = arguments.get(at).and_then(|argument| argument.to_str()) {
        match argument {
            "--dir" | "--agent" | "--operator-override" | "--at" => at += 2,
            option if option.starts_with('-') => at += 1,
            verb => {
                let found = LISTS.iter().find(|(list, _)| *list == verb);
                let is_list = arguments.get(at + 1).is_some_and(|word| word == "list");
                // With what it is for, a lock is on a path of that name.
                let is_path = arguments.iter().any(|word| word == "--why" || word == "--release");
                if let Some((_, option)) = found.filter(|_| is_list && !is_path) {
                    arguments.splice(at + 1..=at + 1, option.map(OsString::from));
                }
                break;
            }
        }
    }
    arguments
}

/// Parses the command line, runs it, and turns the outcome into an exit code: 0 ok (also queued),
/// 1 rejected, 2 usage or invalid, 70 internal, 75 busy.
pub fn main() -> ExitCode {
    let Cli { global, verb } = match parsed() {
        Ok(cli) => cli,
        // A client would take the code of a mistyped hook for a verdict on its tool.
        Err(problem) if is_hook() && problem.use_stderr() => {
            let _ = problem.print();
            return ExitCode::SUCCESS;
        }
        // Help is no error, and quotes nothing.
        Err(problem) => match guard::typed(&Secrets::default()).filter(|_| problem.use_stderr()) {
            Some(denial) => return Failure::usage(Rejection::from(denial)).report(false),
            None => problem.exit(),
        },
    };
    start_logging();
    let json = global.json;
    match run(global, verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}

fn run(global: Global, verb: Verb) -> Result<(), Failure> {
    let reads = matches!(
        verb,
        Verb::Status
            | Verb::Context(_)
            | Verb::Attention(_)
            | Verb::Claim(_)
            | Verb::Decision(_)
            | Verb::Contradictions(_)
            | Verb::Target(_)
            | Verb::Experiment(_)
            | Verb::Plan(_)
            | Verb::Task(_)
            | Verb::Lock(_)
            | Verb::Anchor(_)
            | Verb::Session(_)
            | Verb::Belief(_)
            | Verb::Log(_)
    );
    if global.at.is_some() && !reads {
        return Err(Failure::usage("--at is for verbs that read claims, decisions and events"));
    }
    match verb {
        Verb::Init(args) => args.run(&global),
        Verb::Uninit(args) => args.run(&global),
        Verb::Doctor => {
            let (context, fault) = Context::examined(global)?;
            doctor::run(&context, fault.as_ref())
        }
        Verb::Demo(args) => args.run(&global),
        Verb::Serve(args) => args.run(&Context::find(global)?),
        Verb::Token(verb) => verb.run(&Context::find(global)?),
        Verb::Trust => trust::run(&global),
        Verb::Writer(args) => args.run(global),
        Verb::Status => status::run(&Context::find(global)?),
        Verb::Context(args) => args.run(&Context::find(global)?),
        Verb::News(args) => args.run(&Context::find(global)?),
        Verb::Attention(args) => args.run(&Context::find(global)?),
        Verb::Claim(verb) => {
            let context = Context::find(global)?;
            verb.run(&context).map_err(|failure| context.guarded(failure))
        }
        Verb::Decision(verb) => {
            let context = Context::find(global)?;
            verb.run(&context).map_err(|failure| context.guarded(failure))
        }
        Verb::Hook(args) => args.run(global),
        Verb::Contradictions(args) => args.run(&Context::find(global)?),
        Verb::Experiment(verb) => {
            let context = Context::find(global)?;
            verb.run(&context).map_err(|failure| context.guarded(failure))
        }
        Verb::Target(verb) => {
            let context = Context::find(global)?;
            verb.run(&context).map_err(|failure| context.guarded(failure))
        }
        Verb::Intent(verb) => {
            let context = Context::find(global)?;
            verb.run(&context).map_err(|failure| context.guarded(failure))
        }
        Verb::Plan(verb) => {
            let context = Context::find(global)?;
            verb.run(&context).map_err(|failure| context.guarded(failure))
        }
        Verb::Phase(verb) => {
            let context = Context::find(global)?;
            verb.run(&context).map_err(|failure| context.guarded(failure))
        }
        Verb::Task(verb) => {
            let context = Context::find(global)?;
            verb.run(&context).map_err(|failure| context.guarded(failure))
        }
        Verb::Lock(verb) => {
            let context = Context::find(global)?;
            verb.run(&context).map_err(|failure| context.guarded(failure))
        }
        Verb::Anchor(verb) => {
            let context = Context::find(global)?;
            verb.run(&context).map_err(|failure| context.guarded(failure))
        }
        Verb::Session(verb) => {
            let context = Context::find(global)?;
            verb.run(&context).map_err(|failure| context.guarded(failure))
        }
        Verb::Belief(verb) => {
            let context = Context::find(global)?;
            verb.run(&context).map_err(|failure| context.guarded(failure))
        }
        #[cfg(unix)]
        Verb::Runner => runner::run(),
        Verb::Profile(verb) => verb.run(&Context::find(global)?),
        Verb::Log(args) => args.run(&Context::find(global)?),
        Verb::Verify => verify::run(&Context::find(global)?),
        Verb::Rebuild => rebuild::run(&Context::find(global)?),
        Verb::Export(args) => args.run(&Context::find(global)?),
        Verb::Import(args) => args.run(&Context::find(global)?),
        Verb::Backfill(args) => args.run(&Context::find(global)?),
        Verb::Forget(args) => {
            let context = Context::find(global)?;
            args.run(&context).map_err(|failure| context.guarded(failure))
        }
        Verb::Repair(args) => {
            let context = Context::find(global)?;
            args.run(&context).map_err(|failure| context.guarded(failure))
        }
        Verb::Backup(args) => args.run(&Context::find(global)?),
        Verb::Options => output::print(global.json, &help::options(), &help::options().into()),
    }
}

/// Logs go to stderr: stdout is the protocol. `HM_LOG` sets the level (default: warn; of the protocol
/// library, which warns of every refused request, errors only).
fn start_logging() {
    let wanted = Environment::read().log.unwrap_or_else(|| "warn".to_owned());
    let filter = tracing_subscriber::EnvFilter::builder()
        .parse_lossy(wanted)
        .add_directive(crate::mcp::QUIET_LOG.parse().expect("a target and a level"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
}

/// A runtime on this thread: a front waits for one thing at a time.
fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::internal)?
        .block_on(future)
}

/// An argument as the type it is; bad input is answered with the parser's own text.
fn parse<T>(argument: &str, text: &str) -> Result<T, Rejection>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    text.parse().map_err(|problem| Rejection::invalid(argument, problem))
}

/// [`parse`] for an argument that may be left out.
fn parse_optional<T>(argument: &str, text: Option<&str>) -> Result<Option<T>, Rejection>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    text.map(|text| parse(argument, text)).transpose()
}

/// [`parse`] for a moment that may be left out.
fn parse_moment(argument: &str, text: Option<&str>) -> Result<Option<Moment>, Rejection> {
    let moment = text.map(|text| Moment::parse(text, system::now())).transpose();
    moment.map_err(|problem| Rejection::invalid(argument, problem))
}

/// [`parse`] for an argument that may be repeated.
fn parse_all<T>(argument: &str, texts: &[String]) -> Result<Vec<T>, Rejection>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    texts.iter().map(|text| parse(argument, text)).collect()
}

/// What shows whether a human sits here.
fn surroundings() -> Surroundings {
    Surroundings { has_terminal: has_terminal(), client: system::client_above() }
}

/// Whether one of the standard streams is a terminal: a human may have redirected the others.
fn has_terminal() -> bool {
    std::io::stdin().is_terminal() || std::io::stdout().is_terminal() || std::io::stderr().is_terminal()
}

/// The number that a length of time such as `5m` comes to. Each unit is a letter and what one of it counts; a bare
/// number is of the first unit.
fn length(text: &str, units: &[(char, u64)]) -> Option<u64> {
    let text = text.trim();
    let with_unit = units.iter().find_map(|(letter, unit)| Some((text.strip_suffix(*letter)?, *unit)));
    let (number, unit) = with_unit.or(units.first().map(|(_, unit)| (text, *unit)))?;
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// Says beside an answer that the ledger it came from lost events.
fn note_damage(reads: &mut Reads) {
    if let Ok(Standing { damage: Some(damage), .. }) = reads.standing()
        && damage.stops_writes()
    {
        output::note(&format!("{}; writes wait in the spool: {}", damage.loss.fault, Damage::FIX));
    }
}

/// The refusal of a verb that needs to know who speaks.
fn nobody_speaks() -> Rejection {
    Rejection::new(
        Code::AgentRequired,
        "nobody says who is speaking",
        "pass --agent NAME or set HM_AGENT; without either a human at a terminal is the operator, and in the shell of \
         a client the agent of its session speaks",
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;

    use crate::domain::way;
    use crate::steps::{ADDRESSES, As, VERBS, in_shell};

    /// Each argument of the table is one that its tool takes, and each verb takes it in that way.
    #[test]
    fn the_table_fits_the_tools_and_the_verbs() {
        for (tool, verb, takes) in VERBS {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tool-schemas/{tool}.json"));
            let schema = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{tool}: {error}"));
            let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
            let properties = schema["inputSchema"]["properties"].as_object().expect("arguments");
            let mut arguments = serde_json::Map::new();
            for (name, way) in *takes {
                assert!(properties.contains_key(*name), "{tool} takes no {name}");
                if matches!(way, As::Flag(_)) {
                    arguments.insert((*name).to_owned(), true.into());
                } else {
                    arguments.insert((*name).to_owned(), "7".into());
                }
            }
            let line = in_shell(&way::call(tool, &arguments.into())).into_owned();
            assert!(line.starts_with(&format!("`hm {verb}")), "{line}");
            parses(&line);
        }
        for (pattern, _) in ADDRESSES {
            parses(&in_shell(&format!("`hivemind://{}`", pattern.replace('*', "ID"))));
        }
    }

    fn parses(line: &str) {
        let words = shell_words::split(line.trim_matches('`')).expect("words");
        if let Err(problem) = super::Cli::try_parse_from(&words) {
            // Which arguments exclude each other is no matter of the table.
            assert_eq!(problem.kind(), clap::error::ErrorKind::ArgumentConflict, "{line}: {problem}");
        }
    }
}
