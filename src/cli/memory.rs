//! `hm memory`: all that is kept, with its readers.

use clap::{Args, Subcommand};

use super::output::Failure;
use super::{Context, REASON_TOO, parse, parse_moment, parse_optional};
use crate::domain::command::{Command, PromoteItem, StartPhase};
use crate::domain::memory::{Owner, Space};
use crate::views::{self, DEFAULT_LIMIT, MAX_LIMIT, MemoryFilter, PhaseDiff, View};

#[derive(Debug, Subcommand)]
pub(super) enum Memory {
    /// List what is kept, newest first, with who sees it in a context
    #[command(after_help = "Examples:\n  hm memory list --kind profile\n  hm memory list --session S9\n  \
        hm memory list --scope src/db --never-used --older-than 30d")]
    List(List),
    /// Show one item, a field on each line
    #[command(after_help = "Examples:\n  hm memory show C7\n  hm memory show session:S9:short_term:3")]
    Show {
        /// The id of the item, or a claim
        #[arg(value_name = "ITEM")]
        id: String,
    },
    /// Copy an item into another space; it is shown there, and no more where it was
    #[command(
        after_help = "Examples:\n  hm memory promote session:S9:short_term:3 --to user --key EDITOR --reason \"said for good\"\n  \
        hm memory promote user:ann:profile:4 --to project --reason \"the team needs it\""
    )]
    Promote(Promote),
    /// Begin a phase of a space
    #[command(
        subcommand,
        after_help = "Example: hm memory phase start \"second try\" --reason \"the first design failed\""
    )]
    Phase(Phase),
    /// Show what changed from one phase to another
    #[command(
        after_help = "Examples:\n  hm memory diff --from phase-1 --to phase-2\n  hm memory diff --space session"
    )]
    Diff(Diff),
}

/// An item and where it goes.
#[derive(Debug, Args)]
pub(super) struct Promote {
    /// The id of the item, as hm memory list shows it
    #[arg(value_name = "ITEM")]
    id: String,
    /// user or project
    #[arg(long, value_name = "SPACE")]
    to: String,
    /// The key of the copy; an anchor keeps its own without one
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// What it reports, such as decision; the operator's to say
    #[arg(long = "as", value_name = "EVENT_TYPE")]
    event_type: Option<String>,
    /// Reason, kept on record
    #[arg(long, value_name = "REASON", aliases = REASON_TOO)]
    reason: String,
}

#[derive(Debug, Subcommand)]
pub(super) enum Phase {
    /// Begin a phase: contexts show no older messages of the session; anchors and claims stay
    #[command(
        after_help = "Example: hm memory phase start \"second try\" --reason \"the first design failed\""
    )]
    Start {
        /// Label of the phase
        name: String,
        /// project, session (yours) or user
        #[arg(long, value_name = "SPACE", default_value = "project")]
        space: String,
        /// Reason, kept on record
        #[arg(long, value_name = "REASON", aliases = REASON_TOO)]
        reason: String,
    },
}

/// Which phases to compare.
#[derive(Debug, Args)]
pub(super) struct Diff {
    /// project, session or user
    #[arg(long, value_name = "SPACE", default_value = "project")]
    space: String,
    /// The owner of the space; default: this project, your session, you
    #[arg(long, value_name = "OWNER")]
    owner: Option<String>,
    /// The phase to begin at; default: the one before the last
    #[arg(long, value_name = "PHASE")]
    from: Option<String>,
    /// The phase to end at; default: the current one
    #[arg(long, value_name = "PHASE")]
    to: Option<String>,
}

/// Which items to list.
#[derive(Debug, Args)]
pub(super) struct List {
    /// short_term (messages and their summary), semantic (claims) or profile (anchors)
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// session, user, project or system
    #[arg(long, value_name = "SPACE")]
    space: Option<String>,
    /// The owner of the space: a session, a user, the digits of a project
    #[arg(long, value_name = "OWNER")]
    owner: Option<String>,
    /// The agent that made it; --agent NAME says the same
    #[arg(long, value_name = "NAME")]
    agent_is: Option<String>,
    /// Made in this session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Claims about this, anything below it, or anything above it
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// Made then or earlier: a time, a date, an age (90m, 30d), or #57
    #[arg(long, value_name = "TIME")]
    older_than: Option<String>,
    /// Claims that no other agent answered or cited, and that no warning or receipt showed
    #[arg(long)]
    never_used: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT as u64,
        value_parser = clap::value_parser!(u64).range(1..=MAX_LIMIT as u64))]
    limit: u64,
    /// Where the page before ended, as it says
    #[arg(long, value_name = "SEQ")]
    cursor: Option<u64>,
}

impl Memory {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List(list) => context.show(&View::Memory(list.filter(context)?)),
            Self::Show { id } => {
                let id = views::memory_id(&mut context.models()?, id)?;
                context.show(&View::MemoryItem(id))
            }
            Self::Promote(promote) => promote.run(context),
            Self::Phase(Phase::Start { name, space, reason }) => {
                let command = StartPhase {
                    space: parse("space", space)?,
                    name: parse("name", name)?,
                    reason: parse("reason", reason)?,
                    user: context.user(),
                };
                context.submit("phase started", Command::StartPhase(command), None)
            }
            Self::Diff(diff) => diff.run(context),
        }
    }
}

impl Promote {
    fn run(&self, context: &Context) -> Result<(), Failure> {
        let command = PromoteItem {
            item: views::memory_id(&mut context.models()?, &self.id)?,
            to: parse("to", &self.to)?,
            key: parse_optional("key", self.key.as_deref())?,
            event_type: parse_optional("as", self.event_type.as_deref())?,
            reason: parse("reason", &self.reason)?,
            user: context.user(),
        };
        context.submit("promoted", Command::PromoteItem(command), None)
    }
}

impl Diff {
    fn run(&self, context: &Context) -> Result<(), Failure> {
        let space: Space = parse("space", &self.space)?;
        let own = || (space == Space::Session).then(|| context.session().to_string());
        context.show(&View::PhaseDiff(PhaseDiff {
            space,
            owner: self.owner.clone().or_else(own).map(Owner::called),
            from: parse_optional("from", self.from.as_deref())?,
            to: parse_optional("to", self.to.as_deref())?,
        }))
    }
}

impl List {
    fn filter(&self, context: &Context) -> Result<MemoryFilter, Failure> {
        // This list needs no speaker, so the option of every verb names the author.
        let author = self.agent_is.as_deref().or(context.global.agent.as_deref());
        let author = author.map(|name| context.agent("agent", name)).transpose()?;
        Ok(MemoryFilter {
            kind: parse_optional("kind", self.kind.as_deref())?,
            space: parse_optional("space", self.space.as_deref())?,
            owner: self.owner.clone().map(Owner::called),
            agent: author,
            session: self.session.clone(),
            scope: self.scope.as_deref().map(|scope| context.scope("scope", scope)).transpose()?,
            older_than: parse_moment("older-than", self.older_than.as_deref())?,
            never_used: self.never_used,
            before: self.cursor,
            limit: usize::try_from(self.limit).unwrap_or(MAX_LIMIT),
        })
    }
}
