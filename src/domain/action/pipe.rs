//! Finds commands whose result the exit code of a shell line hides. A pipe has the exit code of its last command,
//! and a line continues after a failed command unless `&&` or `set -e` stops it.

pub(super) mod chore;

use std::borrow::Cow;
use std::fmt;

use chore::started;

use super::normal::{
    MAX_DEPTH, SETUP, SHELLS, after_keywords, below_program, is_assignment, line_for_shell, name, unwrapped,
};
use super::shell::{self, Joint, Step, VALUE};
use super::told::{self, is_errexit};

/// Commands whose own exit code is of no interest: they only feed the pipe.
const FEEDERS: [&str; 3] = ["echo", "printf", "yes"];
/// Words that the shell handles itself, and commands that tell nothing about the files of a workspace, besides
/// those in [`SETUP`].
const QUIET: [&str; 17] = [
    "basename",
    "cd",
    "date",
    "dirname",
    "done",
    "esac",
    "fi",
    "for",
    "md5sum",
    "mkdir",
    "nproc",
    "popd",
    "pushd",
    "sha256sum",
    "touch",
    "which",
    "}",
];

/// A command whose result is hidden by its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piped {
    /// The command whose result is hidden.
    pub first: String,
    /// The construct that hides it.
    pub by: Hides,
}

/// The ways in which a line hides the result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hides {
    /// A pipe, whose exit code is that of its last command.
    Pipe {
        /// The last command of the pipe.
        last: String,
        /// Whether the pipe ends the line, so that the line has the exit code of `last`.
        ends_line: bool,
    },
    /// `||`, `;`, `&`, `!`, a condition or a substitution: the line continues whatever the command returned.
    Line,
    /// A loop, a `case`, a function or a `find` that begins with this word, or a `trap` that sets how the line ends.
    Compound(&'static str),
    /// A condition, which may leave out every check.
    Choice,
    /// The line is of a form that is not followed here.
    Unread,
}

impl fmt::Display for Piped {
    /// Prints the text after an exit code: `of …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, by } = self;
        match by {
            Hides::Pipe { last, ends_line: true } => {
                write!(f, "of `{last}`, the last of a pipe: says nothing about `{first}`")
            }
            Hides::Pipe { last, ends_line: false } => {
                write!(f, "after a pipe that ends in `{last}`: says nothing about `{first}`")
            }
            Hides::Line => write!(f, "of the whole line: says nothing about `{first}`"),
            Hides::Compound(word) => write!(f, "of `{word}`, and may be 0 though a command in it failed"),
            Hides::Choice => write!(f, "of the whole line, and may be 0 without a run of `{first}`"),
            Hides::Unread => write!(f, "of a line whose parts are not told apart here, `{first}`"),
        }
    }
}

/// The last pipe of a line that may hide a failure of its first command, else the first command whose result the
/// line ignores. `set -o pipefail` makes pipes safe, `set -e` makes `;` safe.
pub fn piped(line: &str) -> Option<Piped> {
    let mut line = Cow::Borrowed(line);
    for _ in 0..MAX_DEPTH {
        let Some(below) = below_program(&line) else { return read(&line, Way::default(), MAX_DEPTH) };
        // What stands before the program does not end the line.
        let before = shell::read(&line).0.into_iter().find_map(|step| match step {
            Step::Run { text, .. } => {
                let words = shell_words::split(&text).unwrap_or_default();
                let program = started(after_keywords(&words)).first().map_or("", |word| name(word));
                is_loud(program).then(|| text.trim().to_owned())
            }
            Step::Within(_) | Step::Write(_) | Step::Enter | Step::Leave => None,
        });
        if let Some(first) = before {
            return Some(Piped { first, by: Hides::Line });
        }
        line = Cow::Owned(below);
    }
    // What follows so many programs is not read.
    Some(Piped { first: line.lines().next().unwrap_or_default().to_owned(), by: Hides::Line })
}

/// Commands that print what they get, and succeed whatever it is.
pub(super) const PRINTERS: [&str; 20] = [
    "awk", "cat", "column", "cut", "fmt", "fold", "head", "less", "more", "nl", "paste", "rev", "sed",
    "sort", "tac", "tail", "tee", "tr", "uniq", "wc",
];

/// Whether a word of such a command makes its exit code tell something: `sort -c` compares, and a program of `awk` may
/// exit with a code of its own.
pub(super) fn decides(program: &str, word: &str) -> bool {
    match program {
        "awk" => word.contains("exit"),
        // The rest of the word belongs to an option with a value, such as the file of `-o/tmp/c`.
        "sort" => {
            word == "--check"
                || short_flags(word)
                    .split(['k', 'o', 'S', 't', 'T'])
                    .next()
                    .is_some_and(|flags| flags.contains(['c', 'C']))
        }
        _ => false,
    }
}

/// The letters after a single dash.
fn short_flags(word: &str) -> &str {
    word.strip_prefix('-').filter(|flags| !flags.starts_with('-')).unwrap_or_default()
}

/// The first check of a command whose failure its exit code may not tell, as in `sh -c 'make | tail'`, `sh -c 'make a; make b'`
/// and `sh -c 'for t in a b; do make $t; done'`.
pub fn printed(argv: &[String]) -> Option<Piped> {
    told::untold(argv, MAX_DEPTH)
}

/// Whether a command for a shell may fail before a check of it ran.
pub fn fails_alone(argv: &[String]) -> bool {
    told::fails_alone(argv, MAX_DEPTH)
}

/// The words before a command of which the shell passes over a failure, or which leave it to a condition.
const CONDITIONAL: [&str; 8] = ["!", "do", "elif", "else", "if", "then", "until", "while"];

/// The options of the shell that reads a line.
#[derive(Debug, Clone, Copy, Default)]
struct Way {
    pipefail: bool,
    errexit: bool,
}

/// State while a line is read.
struct Line {
    piped: Option<Piped>,
    /// The first command whose result the line ignores.
    passed: Option<String>,
    /// The first command with a meaningful result since the line last ignored one.
    loud: Option<String>,
    errexit: bool,
    /// Whether `&&` follows `loud`: `set -e` does not stop where that fails.
    goes_on: bool,
}

impl Line {
    fn pass(&mut self, command: Option<String>) {
        if self.passed.is_none() {
            self.passed = command;
        }
    }

    /// Keeps the first command with a meaningful result of a list or a pipe.
    fn hear(&mut self, command: Option<String>) {
        self.loud = self.loud.take().or(command);
    }

    /// An operator before a command makes the line ignore the commands before it, unless the command reports their
    /// result.
    fn meet(&mut self, before: Joint, text: &str) {
        let told = match before {
            Joint::Next => {
                self.goes_on = self.loud.is_some();
                return;
            }
            Joint::Pipe => return,
            Joint::Else => fails(text),
            Joint::Then => self.errexit && !self.goes_on || text == "exit $?",
            Joint::Aside => false,
        };
        let command = self.loud.take();
        self.goes_on = false;
        if !told {
            self.pass(command);
        }
    }
}

fn read(line: &str, way: Way, depth: usize) -> Option<Piped> {
    let depth = depth.checked_sub(1)?;
    let Way { mut pipefail, errexit } = way;
    let mut said = Line { piped: None, passed: None, loud: None, errexit, goes_on: false };
    let mut within = Vec::new();
    // What is set in a subshell ends with it.
    let mut outside = Vec::new();
    // The first command of the current pipe, and whether it only feeds the pipe.
    let mut first = (String::new(), false);
    let mut ends_subshell = false;
    let mut last_after = Joint::Next;
    let (steps, is_whole) = shell::read(line);
    for step in steps {
        let (text, before) = match step {
            Step::Within(line) => {
                within.push(line);
                continue;
            }
            Step::Write(_) => continue,
            Step::Enter => {
                outside.push(said.errexit);
                continue;
            }
            Step::Leave => {
                said.errexit = outside.pop().unwrap_or_default();
                ends_subshell = true;
                continue;
            }
            Step::Run { text, before, after } => {
                last_after = after;
                (text.trim().to_owned(), before)
            }
        };
        let words = shell_words::split(&text).unwrap_or_default();
        let spoken = after_keywords(&words);
        let keywords = &words[..words.len() - spoken.len()];
        let words = spoken;
        let command = started(words);
        let is_conditional = keywords.iter().any(|word| CONDITIONAL.contains(&word.as_str()));
        let program = command.first().map_or("", |word| name(word));
        let within = std::mem::take(&mut within);
        let assigned = matches!(words, [only] if is_assignment(only) && only.ends_with(VALUE));
        let substituted = || within.iter().find(|line| says(line, depth)).map(|line| line.trim().to_owned());
        let loud = if assigned { substituted() } else { is_loud(program).then(|| text.clone()) };
        if before == Joint::Pipe {
            let is_fed = first.1 && !std::mem::take(&mut ends_subshell);
            if !pipefail && !is_fed {
                let by = Hides::Pipe { last: text.clone(), ends_line: true };
                said.piped = Some(Piped { first: first.0.clone(), by });
            }
            said.hear(loud);
            continue;
        }
        ends_subshell = false;
        if let Some(Piped { by: Hides::Pipe { ends_line, .. }, .. }) = &mut said.piped {
            *ends_line &=
                matches!(words, [exit, code @ ..] if exit == "exit" && (code.is_empty() || code == ["$?"]));
        }
        // A group has the exit code of its last command.
        if text != "}" {
            said.meet(before, &text);
        }
        if !assigned {
            said.pass(substituted());
        }
        if is_conditional || before == Joint::Else && !fails(&text) {
            said.pass(loud);
        } else {
            said.hear(loud);
        }
        first = (text, FEEDERS.contains(&program));
        let says_pipefail = command.iter().any(|word| word == "pipefail");
        let inner = |pipefail| Way { pipefail, errexit: false };
        let inner = if SHELLS.contains(&program) {
            line_for_shell(&command[1..])
                .and_then(|line| read(line, inner(says_pipefail && !line.contains("pipefail")), depth))
        } else if program == "eval" {
            read(&command[1..].join(" "), inner(pipefail), depth)
        } else if assigned {
            // An assignment has the exit code of the substitution in it.
            within.iter().rev().find_map(|line| read(line, inner(pipefail), depth))
        } else {
            None
        };
        match inner {
            Some(piped) if matches!(piped.by, Hides::Pipe { .. }) => said.piped = Some(piped),
            inner => inner.into_iter().for_each(|Piped { first, .. }| said.pass(Some(first))),
        }
        if program == "set" {
            let lifts = command.iter().any(|word| word.starts_with('+'));
            if command.iter().any(|word| is_errexit(&word.replacen('+', "-", 1))) {
                said.errexit = !lifts;
            }
            if says_pipefail {
                pipefail = !lifts;
            }
        }
    }
    let ends_aside = line.trim_end().strip_suffix('&').is_some_and(|rest| !rest.ends_with('&'));
    // Unreadable text after this point may do anything.
    let goes_on = !is_whole && matches!(last_after, Joint::Then | Joint::Else | Joint::Aside);
    if ends_aside || goes_on {
        let loud = said.loud.take();
        said.pass(loud);
    }
    said.piped.or_else(|| said.passed.map(|first| Piped { first, by: Hides::Line }))
}

/// Whether a command may tell something about the files of a workspace.
pub(super) fn is_loud(program: &str) -> bool {
    !program.is_empty() && !QUIET.contains(&program) && !SETUP.contains(&program)
}

/// Whether a substituted line runs a command whose output matters. The output of `git` about its own files is only
/// a name.
pub(super) fn says(line: &str, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    let (steps, is_whole) = shell::read(line);
    !is_whole
        || steps.iter().any(|step| match step {
            Step::Run { text, .. } => {
                let words = shell_words::split(text).unwrap_or_default();
                let command = unwrapped(&words).unwrap_or(&words);
                let program = command.first().map_or("", |word| name(word));
                is_loud(program) && program != "git"
            }
            Step::Within(line) => says(line, depth),
            Step::Enter | Step::Leave | Step::Write(_) => false,
        })
}

/// Whether a command only reports that the command before it failed.
fn fails(text: &str) -> bool {
    match text.split_once(' ').map_or((text, ""), |(program, code)| (program, code.trim())) {
        ("false", "") => true,
        ("exit" | "return", code) => code != "0",
        _ => false,
    }
}

#[cfg(test)]
mod tests;
