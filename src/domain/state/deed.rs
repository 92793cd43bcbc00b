//! What a hook saw, as far as it can tell what a claim rests on.

use crate::domain::action::only_looks;
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
        /// The line as it was typed.
        line: CommandLine,
        /// The commands of its line in normal form; the line itself where the event has none.
        lines: Vec<CommandLine>,
        /// Whether its line hides how it ended, or its end was not seen.
        of_last: bool,
        /// Whether it failed.
        failed: bool,
        /// What it exited with, where the client said so.
        exit_code: Option<i32>,
    },
}

impl Deed {
    pub(super) fn of(ran: &CommandRan) -> Self {
        let lines = if ran.runs.is_empty() { vec![ran.command.clone()] } else { ran.runs.clone() };
        let CommandRan { command, exit_code, failed, .. } = ran;
        let of_last = ran.of_last || ran.unseen;
        Self::Command { line: command.clone(), lines, of_last, failed: *failed, exit_code: *exit_code }
    }

    /// Whether it is a command that can show something: more than one that reads, lists, or calls our own program.
    pub(super) fn shows_something(&self) -> bool {
        let Self::Command { lines, .. } = self else { return false };
        !lines.iter().all(|line| only_looks(line.as_str()))
    }

    /// Whether it is a command that ended well, as far as its line tells.
    pub(super) const fn tells_its_end(&self) -> bool {
        matches!(self, Self::Command { failed: false, of_last: false, .. })
    }

    /// How a command failed: `failed with exit 2`. None for one that did not, or whose end its line hides.
    pub fn failure(&self) -> Option<String> {
        let Self::Command { failed: true, of_last: false, exit_code, .. } = self else { return None };
        let with = exit_code.map_or_else(String::new, |code| format!(" with exit {code}"));
        Some(format!("failed{with}"))
    }
}
