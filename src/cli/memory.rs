//! `hm memory`: all that is kept, with its readers.

use clap::{Args, Subcommand};

use super::output::Failure;
use super::{Context, parse_moment, parse_optional};
use crate::domain::memory::Owner;
use crate::views::{self, DEFAULT_LIMIT, MAX_LIMIT, MemoryFilter, View};

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
        }
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
