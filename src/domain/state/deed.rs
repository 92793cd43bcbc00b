//! What a hook saw, as far as it can tell what a claim rests on.

use crate::domain::event::CommandRan;
use crate::domain::scope::Scope;
use crate::domain::text::CommandLine;

/// What a hook saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// A tool of the client was used.
    Tool,
    /// Files were edited.
    Files(Vec<Scope>),
    /// A command ran.
    Command {
        /// The commands of its line in normal form; the line itself where the event has none.
        lines: Vec<CommandLine>,
        /// Whether its line hides how it ended, or its end was not seen.
        of_last: bool,
    },
}

impl Deed {
    pub(super) fn of(ran: &CommandRan) -> Self {
        let lines = if ran.runs.is_empty() { vec![ran.command.clone()] } else { ran.runs.clone() };
        Self::Command { lines, of_last: ran.of_last || ran.unseen }
    }

    /// Whether it runs nothing but our own program: looking at the memory is no evidence.
    pub(super) fn is_our_own(&self) -> bool {
        let Self::Command { lines, .. } = self else { return false };
        lines.iter().all(|line| {
            let line = line.as_str();
            let command = line
                .strip_prefix("cd ")
                .and_then(|rest| rest.split_once(" && "))
                .map_or(line, |(_, run)| run);
            let program = command.split_whitespace().next().unwrap_or_default();
            program.rsplit('/').next() == Some("hm")
        })
    }
}
