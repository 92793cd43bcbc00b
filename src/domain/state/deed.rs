//! Observations of hooks, reduced to the facts that show what a claim rests on.

use crate::domain::action::{failures_counted, only_looks};
use crate::domain::event::CommandRan;
use crate::domain::scope::Scope;
use crate::domain::text::CommandLine;

/// An observation of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// The client used a tool.
    Tool,
    /// The client edited files.
    Files(Vec<Scope>),
    /// The client ran a command.
    Command {
        /// The line as it was typed.
        line: CommandLine,
        /// The commands of the line in normal form. If the event has none, the line itself.
        lines: Vec<CommandLine>,
        /// Whether the line hides its exit code, or the hook did not see the end.
        of_last: bool,
        /// Whether the command failed.
        failed: bool,
        /// The exit code, if the client reported it.
        exit_code: Option<i32>,
        /// The failures that its output counts at the end, if the line hides its exit code: `2 failed`.
        counted: Option<String>,
    },
}

impl Deed {
    pub(super) fn of(ran: &CommandRan) -> Self {
        let lines = if ran.runs.is_empty() { vec![ran.command.clone()] } else { ran.runs.clone() };
        let CommandRan { command, exit_code, failed, .. } = ran;
        let of_last = ran.of_last || ran.unseen;
        let tail = ran.tail.as_ref().filter(|_| of_last);
        let counted = tail.and_then(|tail| failures_counted(tail.as_str()));
        Self::Command {
            line: command.clone(),
            lines,
            of_last,
            failed: *failed,
            exit_code: *exit_code,
            counted,
        }
    }

    /// Whether it is a command that can prove something. Commands that only read or list, and calls of `hm`, cannot.
    pub(super) fn shows_something(&self) -> bool {
        let Self::Command { line, lines, .. } = self else { return false };
        // A program in a here-document is none of the commands.
        let is_whole = line.as_str().chars().count() < CommandLine::MAX_CHARS;
        !lines.iter().all(|line| only_looks(line.as_str())) || is_whole && !only_looks(line.as_str())
    }

    /// Whether it is a command that succeeded and does not hide its exit code.
    pub(super) const fn tells_its_end(&self) -> bool {
        matches!(self, Self::Command { failed: false, of_last: false, .. })
    }

    /// The failure of a command, such as `failed with exit 2`. None if the command succeeded, or hides its exit code and counts
    /// no failure at the end of its output.
    pub fn failure(&self) -> Option<String> {
        if let Self::Command { counted: Some(counted), .. } = self {
            return Some(format!("says `{counted}`"));
        }
        let Self::Command { failed: true, of_last: false, exit_code, .. } = self else { return None };
        let with = exit_code.map_or_else(String::new, |code| format!(" with exit {code}"));
        Some(format!("failed{with}"))
    }
}
