//! `hm session`, `hm belief`: the sessions of clients, their dialogues and their beliefs.

use clap::Subcommand;

use super::names::Called;
use super::output::Failure;
use super::{Context, parse, parse_optional};
use crate::domain::command::{
    Command, EndSession, RecordTurn, SnapshotBeliefs, SpawnResearcher, SplitSession, StartSession,
};
use crate::domain::ids::{RunId, TaskId};
use crate::system;
use crate::views::{self, DEFAULT_LIMIT, View};

/// `HM_SESSION` names the speaking session.
#[derive(Debug, Subcommand)]
pub(super) enum Session {
    /// Start this session; hooks do it where the client has them
    #[command(after_help = "Example: HM_SESSION=night-run hm session start --agent devops")]
    Start {
        /// startup, resume, clear, compact or fork
        #[arg(long, value_name = "SOURCE", default_value = "startup")]
        source: String,
        /// Session it continues
        #[arg(long, value_name = "SESSION")]
        parent: Option<String>,
    },
    /// End this session: its leases end, its beliefs are kept
    #[command(after_help = "Example: HM_SESSION=night-run hm session end --agent devops")]
    End,
    /// Keep a message of this session's dialogue
    #[command(
        after_help = "Example: HM_SESSION=night-run hm session turn user \"fix the pool\" --agent devops"
    )]
    Turn {
        /// user or assistant
        role: String,
        /// Text
        text: String,
    },
    /// Hand over to a new session: it gets the context, the last messages, and all tasks and locks
    #[command(
        after_help = "Example: HM_SESSION=night-run hm session split \"the window is full\" --agent devops"
    )]
    Split {
        /// Why
        reason: String,
        /// Tokens used, as the client shows them
        #[arg(long, value_name = "TOKENS")]
        used: Option<u64>,
        /// Window size, in tokens
        #[arg(long, value_name = "TOKENS")]
        window: Option<u64>,
    },
    /// Start a headless agent on one question, in a session of its own
    #[command(
        after_help = "Example: hm session spawn researcher-claude \"which calls hold a pool connection?\" --agent architect"
    )]
    Spawn {
        /// An agent's profile: one with [agent] (hm profile list)
        profile: String,
        /// Question
        prompt: String,
        /// Parent task
        #[arg(long, value_name = "TASK")]
        task: Option<String>,
        /// Your key for this request: a retry with the same key runs once
        #[arg(long, value_name = "IDEMPOTENCY_KEY")]
        key: Option<String>,
    },
    /// List sessions, newest first
    #[command(after_help = "Example: hm session list")]
    List {
        /// Maximum count
        #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
        limit: usize,
        /// Cursor from the previous page
        #[arg(long, value_name = "SEQ")]
        cursor: Option<u64>,
    },
    /// Show one session: its dialogue, its tasks and locks, its files
    #[command(after_help = "Example: hm session show night-run")]
    Show {
        /// Session
        id: Called,
    },
    /// Show the hand-over that a session got at its start
    ///
    /// Show the hand-over that a session got at its start, from the one it goes on from. What a hook gives any other
    /// session is not kept as a text: hm trace list --type memory_recall --session S9 lists what it named.
    #[command(after_help = "Example: hm session turn0 S9")]
    Turn0 {
        /// Session
        id: Called,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum Belief {
    /// Record the agent's current beliefs
    #[command(after_help = "Example: hm belief snapshot --agent devops")]
    Snapshot,
    /// Show the last recorded beliefs of an agent
    #[command(after_help = "Example: hm belief show devops")]
    Show {
        /// Agent, a name or alias of the roster
        agent: String,
        /// At the end of this session
        #[arg(long, value_name = "SESSION")]
        session: Option<String>,
    },
}

impl Session {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Start { source, parent } => {
                let command = StartSession {
                    source: parse("source", source)?,
                    client: Some(parse("client", "hm")?),
                    parent_session: parse_optional(
                        "parent",
                        context.session_named(parent.as_deref())?.as_deref(),
                    )?,
                };
                context.submit("session started", Command::StartSession(command), None)
            }
            Self::End => context.submit("session ended", Command::EndSession(EndSession {}), None),
            Self::Turn { role, text } => {
                let command =
                    RecordTurn { role: parse("role", role)?, text: parse("text", text)?, told: None };
                context.submit("turn recorded", Command::RecordTurn(command), None)
            }
            Self::Split { reason, used, window } => {
                let (agent, session) = context.speaker("split_session")?;
                let mut reads = context.models()?;
                let child = parse("child", &system::new_id().to_string())?;
                let turn0 = views::turn0(
                    &mut reads,
                    context.config.stale_after,
                    &agent,
                    (&session, &child),
                    reason,
                    system::now(),
                )?;
                let command = SplitSession {
                    child,
                    reason: parse("reason", reason)?,
                    used_tokens: *used,
                    window_tokens: *window,
                    turn0: parse("turn0", &turn0)?,
                };
                context.submit("session split", Command::SplitSession(command), None)
            }
            Self::Spawn { profile, prompt, task, key } => {
                let profile = parse("profile", profile)?;
                let (agent, session) = context.speaker("spawn_researcher")?;
                let mut reads = context.models()?;
                let run_id = RunId::from_uuid(system::new_id());
                let turn0 = views::briefing(
                    &mut reads,
                    &context.config,
                    (&agent, &session),
                    run_id,
                    &profile,
                    prompt,
                    system::now(),
                )?;
                let command = SpawnResearcher {
                    run_id,
                    task_id: TaskId::from_uuid(system::new_id()),
                    prompt: parse("prompt", prompt)?,
                    turn0,
                    profile,
                    parent_task_id: context.task_named(task.as_deref())?,
                };
                let key = parse_optional("key", key.as_deref())?;
                context.submit("researcher queued as run", Command::SpawnResearcher(command), key)
            }
            Self::List { limit, cursor } => context.show(&View::Sessions(*cursor, *limit)),
            Self::Show { id } => context.show(&View::Session(id.to_string())),
            Self::Turn0 { id } => context.show(&View::Turn0(id.to_string())),
        }
    }
}

impl Belief {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Snapshot => {
                context.submit("beliefs kept", Command::SnapshotBeliefs(SnapshotBeliefs {}), None)
            }
            Self::Show { agent, session } => {
                let agent = context.agent("agent", agent)?;
                context.show(&View::Beliefs(agent, session.clone()))
            }
        }
    }
}
