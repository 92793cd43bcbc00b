//! `hm target`: what decisions are about, and the names it goes by.

use clap::Subcommand;

use super::Context;
use super::output::Failure;
use crate::domain::command::{AliasTarget, Command, PartTarget};
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::views::View;

/// What can be done with targets.
#[derive(Debug, Subcommand)]
pub(super) enum Target {
    /// Say that two names mean one target; only the operator may
    #[command(after_help = "Example: hm target alias database db")]
    Alias {
        /// The name that stays
        target: String,
        /// The other name
        alias: String,
    },
    /// Take an alias apart, as the operator: what was recorded under it before is about it again
    #[command(after_help = "Example: hm target part db")]
    Part {
        /// The name that was joined to another
        alias: String,
    },
    /// List every target with its other names
    #[command(after_help = "Example: hm target list")]
    List,
}

impl Target {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Alias { target, alias } => {
                let command = AliasTarget { target: scope("target", target)?, alias: scope("alias", alias)? };
                context.operator("target-alias")?;
                context.submit("joined two names", Command::AliasTarget(command), None)
            }
            Self::Part { alias } => {
                let command = PartTarget { alias: scope("alias", alias)? };
                context.operator("target-part")?;
                context.submit("took an alias apart", Command::PartTarget(command), None)
            }
            Self::List => context.show(&View::Targets),
        }
    }
}

/// A target by its name; `argument` is what a refusal calls it.
pub(super) fn scope(argument: &str, name: &str) -> Result<Scope, Rejection> {
    Scope::target(name).map_err(|problem| Rejection::invalid(argument, problem))
}
