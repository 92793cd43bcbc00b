//! `hm contradictions`: the claims that contradict each other.

use clap::{Args, Subcommand};

use super::Context;
use super::names::Called;
use super::output::Failure;
use crate::domain::ids::EventId;
use crate::domain::names::Sort;
use crate::store::ContradictionFilter;
use crate::views::{DEFAULT_LIMIT, View};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Contradictions {
    #[command(subcommand)]
    one: Option<One>,
    /// Ended contradictions, with the reason
    #[arg(long)]
    resolved: bool,
    /// Contradictions of low certainty
    #[arg(long)]
    weak: bool,
    /// Maximum count
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
    limit: usize,
    /// Cursor from the previous page
    #[arg(long, value_name = "SEQ")]
    cursor: Option<u64>,
}

#[derive(Debug, Subcommand)]
enum One {
    /// Show one contradiction: its sides, whose move it is, and both claims
    #[command(after_help = "Example: hm contradictions show X3")]
    Show {
        /// The contradiction
        id: Called,
    },
}

impl Contradictions {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        if let Some(One::Show { id }) = &self.one {
            let id = EventId::from_uuid(context.named(Sort::Contradiction, id)?);
            return context.show(&View::Contradiction(id));
        }
        context.show(&View::Contradictions(ContradictionFilter {
            resolved: self.resolved,
            weak: self.weak,
            before: self.cursor,
            limit: self.limit,
        }))
    }
}
