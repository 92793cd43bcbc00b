//! A command or a tool that a session ran, and what its end and its output say.

use std::collections::BTreeSet;

use super::super::polls::{may_pass_by_itself, searches};
use crate::domain::action::{changes_files, counts, error_in, only_looks, record, restored, steady};
use crate::domain::event::{CommandRan, Recorded};
use crate::domain::text::{CommandLine, ErrorSignature};
use crate::domain::time::Timestamp;

/// Masks for what an agent chooses. Those for temporary files and processes hide what is another one each time.
const MASKS_OF_ARGUMENTS: [&str; 4] = ["{hash}", "{port}", "{time}", "{uuid}"];
/// Lines at the end of two outputs that are compared where the lines cut the output in different ways.
const LAST_LINES: usize = 3;

/// A command that ran.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ran {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    /// The line as it was typed.
    pub(super) line: String,
    /// The record that is compared: its commands in normal form, with their variables and pipes.
    pub(super) command: String,
    /// Its commands in normal form.
    pub(super) base: String,
    /// The record as people read it.
    pub(super) shown: String,
    /// Whether it is a tool of the client and no command of the shell.
    pub(super) is_tool: bool,
    pub(super) exit: Option<i32>,
    pub(super) failed: bool,
    pub(super) of_last: bool,
    pub(super) answer: Option<String>,
    pub(super) tail: Option<String>,
    pub(super) error: Option<ErrorSignature>,
    /// Whether it passed and changed files.
    pub(super) changes: bool,
    /// The times at which the files were saved that its output names, as a hash.
    pub(super) files_sha256: Option<String>,
    /// Whether something else happened before it.
    pub(super) after_other: bool,
}

impl Ran {
    pub(super) fn of(recorded: &Recorded, ran: &CommandRan, after_other: bool) -> Self {
        let runs: Vec<&str> = ran.runs.iter().map(CommandLine::as_str).collect();
        let answer = ran.answer_sha256.as_ref().or(ran.output_sha256.as_ref());
        let line = ran.command.as_str();
        let base = if runs.is_empty() { line.to_owned() } else { runs.join(" ; ") };
        let record = if runs.is_empty() { line.to_owned() } else { record(line, &base) };
        let is_masked = MASKS_OF_ARGUMENTS.iter().any(|mask| record.contains(mask));
        // What the normal form masks may be what two commands differ in. A here-document, which it leaves out, may be another
        // program, or have edited files.
        let command = match (line.contains("<<"), is_masked) {
            (true, _) => line.to_owned(),
            (false, true) => restored(&record, line),
            (false, false) => record,
        };
        Self {
            seq: recorded.seq,
            at: recorded.at,
            line: line.to_owned(),
            shown: command.clone(),
            command,
            base,
            is_tool: false,
            exit: ran.exit_code,
            failed: ran.failed,
            of_last: ran.of_last,
            answer: answer.cloned(),
            tail: ran.tail.as_ref().map(|tail| tail.as_str().to_owned()),
            error: ran.error_signature.clone(),
            changes: !ran.failed && changes_files(line),
            files_sha256: ran.files_sha256.clone(),
            after_other,
        }
    }

    /// Whether the command failed, as far as its end and its output tell. A pipe hides the exit code.
    pub(super) fn fails(&self) -> bool {
        // What a command only shows, such as a file, may speak of any error.
        let is_hidden = (self.of_last || self.exit.is_none()) && !only_looks(&self.line);
        let is_told = self.failed && !self.ends_in_search();
        (is_told || is_hidden && self.says_failure()) && !searches(&self.base)
    }

    /// Whether it failed for a reason that may pass while the agent waits.
    pub(super) fn may_pass_by_itself(&self) -> bool {
        // The end of the output may be help behind the error.
        let error = self.error.as_ref().map(ErrorSignature::as_str).unwrap_or_default();
        let said = format!("{}\n{error}", self.tail.as_deref().unwrap_or_default());
        may_pass_by_itself(&self.line, &self.base, self.exit, &said)
    }

    /// Whether the line pipes its output into a search, whose exit code says only that it found nothing.
    fn ends_in_search(&self) -> bool {
        self.command.rsplit_once(" | ").is_some_and(|(_, last)| searches(last))
    }

    /// Whether the output says that something failed. `0 failed` says that nothing did.
    fn says_failure(&self) -> bool {
        let counts = self.counts();
        let mut failures = counts.iter().filter(|(word, _)| *word != "passed").peekable();
        if failures.peek().is_some() {
            return failures.any(|(_, count)| count.bytes().any(|digit| digit != b'0'));
        }
        counts.is_empty() && self.signature().is_some()
    }

    pub(super) fn signature(&self) -> Option<ErrorSignature> {
        self.error.clone().or_else(|| self.tail.as_deref().and_then(error_in))
    }

    /// Whether two runs of one command answered the same. None if that cannot be told, because the lines show other
    /// parts of the output.
    pub(super) fn answers_like(&self, other: &Self) -> Option<bool> {
        let is_open = self.of_last || other.of_last;
        let ends_differ = !is_open
            && (self.failed != other.failed
                || matches!((self.exit, other.exit), (Some(a), Some(b)) if a != b));
        if ends_differ {
            return Some(false);
        }
        if self.answer == other.answer {
            return Some(true);
        }
        if self.line == other.line {
            return Some(false);
        }
        (self.ending()? == other.ending()?).then_some(true)
    }

    /// Whether a file that both outputs name was saved between the two runs.
    pub(super) fn saw_other_files_than(&self, other: &Self) -> bool {
        self.files_sha256.as_ref().zip(other.files_sha256.as_ref()).is_some_and(|(one, other)| one != other)
    }

    /// The last lines of the output without what varies.
    pub(super) fn ending(&self) -> Option<Vec<String>> {
        let lines = self.tail.as_deref()?.lines().rev().filter(|line| !line.trim().is_empty());
        let mut last: Vec<String> =
            lines.map(steady).filter(|line| !line.is_empty()).take(LAST_LINES).collect();
        // The tail may begin in the middle of a line.
        if last.len() > 1 && last.len() < LAST_LINES {
            last.pop();
        }
        (!last.is_empty()).then_some(last)
    }

    /// The numbers of errors and failures in the output.
    pub(super) fn counts(&self) -> Vec<(&'static str, &str)> {
        counts(self.tail.as_deref().unwrap_or_default())
    }

    /// The files that the command and the end of its output name.
    pub(super) fn files(&self) -> BTreeSet<String> {
        let tail = self.tail.as_deref().unwrap_or_default();
        let around = |c: char| c.is_whitespace() || "\"'`(),;=<>[]{}|".contains(c);
        let words = self.base.split(around).chain(tail.split(around));
        words.filter_map(file).collect()
    }
}

/// The file that a word names, without its place in it. Files of the system and of dependencies are nobody's work.
pub(super) fn file(word: &str) -> Option<String> {
    let path = word.split("::").next().unwrap_or(word);
    let path = path.split(':').next().unwrap_or(path).trim_end_matches('.').trim_start_matches("./");
    let (stem, extension) = path.rsplit_once('.')?;
    let is_file = stem.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        && stem.contains(|c: char| c.is_ascii_alphabetic())
        && (1..=5).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && extension.bytes().any(|byte| byte.is_ascii_lowercase())
        && !path.contains("//");
    let foreign = ["/usr/", "/lib/", "node_modules/", "site-packages/", ".cargo/registry", "/rustc/"];
    let name = path.rsplit('/').next().unwrap_or(path);
    (is_file && !foreign.iter().any(|part| path.contains(part))).then(|| name.to_owned())
}
