//! `hm target`: the subjects of decisions, and their names.

use clap::Subcommand;

use super::Context;
use super::output::Failure;
use crate::domain::command::{AliasTarget, Command, PartTarget};
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::views::View;

#[derive(Debug, Subcommand)]
pub(super) enum Target {
    /// Join two names of one target; for the operator only
    #[command(after_help = "Example: hm target alias database db")]
    Alias {
        /// Name that stays
        #[arg(allow_hyphen_values = true)]
        target: String,
        /// Name that becomes an alias
        #[arg(allow_hyphen_values = true)]
        alias: String,
    },
    /// Undo an alias: its own records belong to it again; for the operator only
    #[command(after_help = "Example: hm target part db")]
    Part {
        /// Alias to separate
        #[arg(allow_hyphen_values = true)]
        alias: String,
    },
    /// List every target with its aliases
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

/// Parses the name of a target. A refusal names `argument`.
pub(super) fn scope(argument: &str, name: &str) -> Result<Scope, Rejection> {
    Scope::target(name).map_err(|problem| Rejection::invalid(argument, problem))
}
