//! `hm contradictions`: who says what against whom.

use clap::Args;

use super::Context;
use super::output::Failure;
use crate::store::ContradictionFilter;
use crate::views::{DEFAULT_LIMIT, View};

/// Which contradictions to list.
#[derive(Debug, Args)]
pub(super) struct Contradictions {
    /// Those that are over, with what ended them
    #[arg(long)]
    resolved: bool,
    /// Those the rules are less sure of
    #[arg(long)]
    weak: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
    limit: usize,
    /// Older than this: what the page before calls its cursor
    #[arg(long, value_name = "SEQ")]
    cursor: Option<u64>,
}

impl Contradictions {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        context.show(&View::Contradictions(ContradictionFilter {
            resolved: self.resolved,
            weak: self.weak,
            before: self.cursor,
            limit: self.limit,
        }))
    }
}
