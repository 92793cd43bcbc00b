//! `hm pattern`: patterns in the work of the team, such as loops and stalls.

use clap::Subcommand;

use super::Context;
use super::because::Because;
use super::names::Called;
use super::output::Failure;
use crate::domain::command::{Command, DismissPattern};
use crate::domain::ids::PatternId;
use crate::domain::names::Sort;
use crate::views::View;

#[derive(Debug, Subcommand)]
pub(super) enum Pattern {
    /// List the open patterns, oldest first
    #[command(after_help = "Examples:\n  hm pattern list\n  hm pattern list --all")]
    List {
        /// Also those that are over, newest first
        #[arg(long)]
        all: bool,
        /// Cursor from the previous page
        #[arg(long, value_name = "SEQ", requires = "all")]
        cursor: Option<u64>,
    },
    /// Show one pattern, and the events that it rests on
    #[command(after_help = "Example: hm pattern show L1")]
    Show {
        /// The pattern
        id: Called,
    },
    /// Say that a pattern is none; it is not raised again for a day
    #[command(
        override_usage = "hm pattern dismiss [OPTIONS] <ID> <REASON>",
        after_help = "Example: hm pattern dismiss L1 \"it waits for a port\"\n\nFor the agents that it is about, the \
        architect and the operator."
    )]
    Dismiss {
        /// The pattern
        id: Called,
        #[command(flatten)]
        because: Because,
    },
}

impl Pattern {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List { all, cursor } => context.show(&View::Patterns(*all, *cursor)),
            Self::Show { id } => {
                context.show(&View::Pattern(PatternId::from_uuid(context.named(Sort::Pattern, id)?)))
            }
            Self::Dismiss { id, because } => {
                let pattern_id = PatternId::from_uuid(context.named(Sort::Pattern, id)?);
                let dismiss = DismissPattern { pattern_id, reason: because.reason()? };
                context.submit("pattern dismissed", Command::DismissPattern(dismiss), None)
            }
        }
    }
}
