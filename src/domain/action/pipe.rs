//! Finds commands whose result the exit code of a shell line hides. A pipe has the exit code of its last command,
//! and a line continues after a failed command unless `&&` or `set -e` stops it.

pub(super) mod chore;

use std::fmt;

use chore::{each_is, for_all, is_chore, is_probe, keeps_exit, started, untold};

use super::compound::{deeper, ends_in_compound, exits_at_failure, is_errexit, stops_at_failure};
use super::normal::{
    MAX_DEPTH, SETUP, SHELLS, after_keywords, is_assignment, line_for_shell, name, unwrapped,
};
use super::shell::{self, Joint, Step, VALUE};

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
    /// The line ends in a loop, a condition, a function or a `find` that begins with this word, or a `trap` sets how it ends.
    Compound(&'static str),
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
        }
    }
}

/// The last pipe of a line that may hide a failure of its first command, else the first command whose result the
/// line ignores. `set -o pipefail` makes pipes safe, `set -e` makes `;` safe.
pub fn piped(line: &str) -> Option<Piped> {
    read(line, Way::default(), MAX_DEPTH)
}

/// Commands that print what they get, and succeed whatever it is.
const PRINTERS: [&str; 20] = [
    "awk", "cat", "column", "cut", "fmt", "fold", "head", "less", "more", "nl", "paste", "rev", "sed",
    "sort", "tac", "tail", "tee", "tr", "uniq", "wc",
];

/// Whether a word of such a command makes its exit code tell something: `sort -c` compares, and a program of `awk` may
/// exit with a code of its own.
fn decides(program: &str, word: &str) -> bool {
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

/// Commands that succeed whatever was before them.
const SUCCEED: [&str; 6] = [":", "date", "echo", "printf", "true", "wait"];

/// The end of a command whose exit code is that of a command which only prints or succeeds, or of a compound command, as in
/// `sh -c 'make | tail'`, `sh -c 'make; rm -f a'` and `sh -c 'for t in a b; do make $t; done'`.
pub fn printed(argv: &[String]) -> Option<Piped> {
    let command = started(argv);
    if let Some(inner) = untold(command) {
        return Some(Piped { first: inner.join(" "), by: Hides::Compound("find") });
    }
    if let Some(piped) = for_all(command).find_map(printed) {
        return Some(piped);
    }
    if let Some((program, rest)) = command.split_first()
        && SHELLS.contains(&name(program))
        && let Some(line) = line_for_shell(rest)
    {
        if let Some(word) = ends_in_compound(line, rest) {
            return Some(Piped { first: line.to_owned(), by: Hides::Compound(word) });
        }
        if let Some(piped) = set_by_trap(line).or_else(|| shown(line)).or_else(|| succeeds(line, rest)) {
            return Some(piped);
        }
    }
    // Most commands have no pipe.
    if !argv.iter().any(|word| word.contains('|')) {
        return None;
    }
    let only_prints = |piped: &Piped| {
        let Hides::Pipe { last, ends_line: true } = &piped.by else { return false };
        let words = shell_words::split(last).unwrap_or_default();
        let Some([program, options @ ..]) = unwrapped(&words) else { return false };
        PRINTERS.contains(&name(program)) && !options.iter().any(|word| decides(name(program), word))
    };
    piped(&shell_words::join(argv)).filter(only_prints)
}

/// Whether the exit code of a command tells of all that it runs: `bash -c 'pytest -q'`.
pub(super) fn is_told(command: &[String]) -> bool {
    printed(command).is_none() && piped(&shell_words::join(command)).is_none()
}

/// What a chore only shows of a command whose output it reads as a file: `cat <(pytest)`.
fn shown(line: &str) -> Option<Piped> {
    let words = shell_words::split(line).ok()?;
    let at = words.iter().position(|word| word.starts_with("<(") || word.starts_with(">("))?;
    is_chore(started(&words)).then(|| Piped { first: words[at..].join(" "), by: Hides::Line })
}

/// A trap of a line that sets its exit code.
fn set_by_trap(line: &str) -> Option<Piped> {
    let texts = shell::cut(line).into_iter().filter_map(|step| match step {
        Step::Run { text, .. } => Some(text.trim().to_owned()),
        Step::Within(_) | Step::Enter | Step::Leave | Step::Write(_) => None,
    });
    let sets_exit = |text: &String| {
        let words = shell_words::split(text).unwrap_or_default();
        matches!(started(after_keywords(&words)), [trap, rest @ ..] if trap == "trap" && !keeps_exit(rest))
    };
    let first = { texts }.find(sets_exit)?;
    Some(Piped { first, by: Hides::Compound("trap") })
}

/// A check of a line for a shell whose failure does not reach the exit code of the line.
fn succeeds(line: &str, options: &[String]) -> Option<Piped> {
    let (steps, true) = shell::read(line) else { return None };
    let words_of = |text: &str| shell_words::split(text).unwrap_or_default();
    let mut runs: Vec<(Vec<String>, Joint)> = steps
        .iter()
        .filter_map(|step| match step {
            // A group has the exit code of its last command.
            Step::Run { text, before, .. } if text.trim() != "}" => {
                Some((after_keywords(&words_of(text)).to_vec(), *before))
            }
            Step::Run { .. } | Step::Within(_) | Step::Enter | Step::Leave | Step::Write(_) => None,
        })
        .collect();
    // These have the exit code of the command before them.
    while matches!(runs.as_slice(), [_, .., (words, before)] if match before {
        Joint::Next | Joint::Then => gives_last(words),
        Joint::Else => is_exit_of_failure(words),
        Joint::Pipe | Joint::Aside => false,
    }) {
        runs.pop();
    }
    let last = started(&runs.last()?.0);
    if let [eval, line @ ..] = last
        && eval == "eval"
    {
        return printed(&["sh".to_owned(), "-c".to_owned(), line.join(" ")]);
    }
    // The exit code of the line is that of the last check which `&&` or a pipe joins to its end.
    let joined =
        runs.iter().rposition(|(_, before)| !matches!(before, Joint::Next | Joint::Pipe)).unwrap_or(0);
    let deciding = runs[joined..].iter().map(|(words, _)| started(words)).rfind(|command| !is_chore(command));
    if let Some(piped) = deciding.and_then(printed) {
        return Some(piped);
    }
    if stops_at_failure(line, options) || exits_at_failure(line) {
        return None;
    }
    let is_success = last.first().is_some_and(|program| SUCCEED.contains(&name(program)));
    let is_over =
        is_success || matches!(last, [exit, code] if exit == "exit" && code == "0") || ends_aside(line);
    let options = options.iter().take_while(|word| *word != line);
    let way = Way {
        pipefail: options.clone().any(|word| word == "pipefail"),
        errexit: options.clone().any(|word| is_errexit(word)),
        only_checks: !is_over,
    };
    read(line, way, MAX_DEPTH).filter(|piped| !matches!(piped.by, Hides::Pipe { ends_line: true, .. }))
}

/// Whether a command ends a line with the exit code of the command before it.
pub(super) fn gives_last(words: &[String]) -> bool {
    matches!(words, [exit, code @ ..] if exit == "exit" && (code.is_empty() || code == ["$?"]))
}

/// Whether the last command of a line runs in the background: the line does not wait for it.
fn ends_aside(line: &str) -> bool {
    line.trim_end().strip_suffix('&').is_some_and(|rest| !rest.ends_with('&'))
}

/// Whether a command behind `||` ends the line with a failure.
pub(super) fn is_exit_of_failure(words: &[String]) -> bool {
    let fails = |code: &String| code == "$?" || code.parse::<u8>().is_ok_and(|code| code != 0);
    match words {
        [exit] => exit == "exit",
        [exit, code] => exit == "exit" && fails(code),
        _ => false,
    }
}

/// The options of the shell that reads a line, and what counts in it.
#[derive(Debug, Clone, Copy, Default)]
struct Way {
    pipefail: bool,
    errexit: bool,
    /// Whether chores and conditions that only look do not count.
    only_checks: bool,
}

/// State while a line is read.
#[derive(Default)]
struct Line {
    piped: Option<Piped>,
    /// The first command whose result the line ignores.
    passed: Option<String>,
    /// The first command with a meaningful result since the line last ignored one.
    loud: Option<String>,
    errexit: bool,
    /// Whether `&&` follows `loud`: `set -e` does not stop where that fails.
    goes_on: bool,
    /// Whether `loud` only looks whether something is there: a condition of what `&&` or `||` joins to it.
    looks: bool,
    /// The variable that keeps the exit code of a command, and the command.
    kept: Option<(String, String)>,
    /// Whether the line may be over before its next command: it has an `exit` or `exec`.
    left: bool,
}

impl Line {
    fn pass(&mut self, command: Option<String>) {
        if self.passed.is_none() {
            self.passed = command;
        }
    }

    /// `NAME=$?` keeps the result of the command before it, for an `exit $NAME` at the end.
    fn keep(&mut self, variable: &str) {
        self.lose();
        self.kept = self.loud.take().map(|command| (variable.to_owned(), command));
        self.goes_on = false;
    }

    /// The line ignores what it kept.
    fn lose(&mut self) {
        if let Some((_, command)) = self.kept.take() {
            self.pass(Some(command));
        }
    }

    /// Keeps the first command with a meaningful result of a list or a pipe, and one that checks before one that looks.
    fn hear(&mut self, command: Option<String>, looks: bool) {
        if command.is_some() && (self.loud.is_none() || self.looks && !looks) {
            self.loud = command;
            self.looks = looks;
        }
    }

    /// An operator before a command makes the line ignore the commands before it, unless the command reports their
    /// result.
    fn meet(&mut self, before: Joint, is_reported: bool) {
        if std::mem::take(&mut self.looks) && matches!(before, Joint::Next | Joint::Else) {
            self.loud = None;
        }
        let told = match before {
            Joint::Next => {
                self.goes_on = self.loud.is_some();
                return;
            }
            Joint::Pipe => return,
            Joint::Else => is_reported,
            Joint::Then => is_reported || self.errexit && !self.goes_on,
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
    let Way { mut pipefail, errexit, only_checks } = way;
    let mut said = Line { errexit, ..Line::default() };
    let mut within = Vec::new();
    // What is set in a subshell ends with it.
    let mut outside = Vec::new();
    // The first command of the current pipe, and whether it only feeds the pipe.
    let mut first = (String::new(), false);
    let mut ends_subshell = false;
    let mut last_after = Joint::Next;
    let (steps, is_whole) = shell::read(line);
    // The compound commands around a command. What one keeps is of its last turn, or of none.
    let mut depth_here = 0;
    for (at, step) in steps.iter().enumerate() {
        let (text, before) = match step {
            Step::Within(line) => {
                within.push(line.clone());
                continue;
            }
            Step::Write(_) => continue,
            Step::Enter => {
                outside.push((said.errexit, said.left));
                continue;
            }
            Step::Leave => {
                (said.errexit, said.left) = outside.pop().unwrap_or_default();
                said.lose();
                ends_subshell = true;
                continue;
            }
            Step::Run { text, before, after } => {
                last_after = *after;
                (text.trim().to_owned(), *before)
            }
        };
        depth_here += deeper(&text);
        let words = shell_words::split(&text).unwrap_or_default();
        let spoken = after_keywords(&words);
        let keywords = &words[..words.len() - spoken.len()];
        let words = spoken;
        let command = started(words);
        let looks = only_checks && is_probe(command);
        // The shell ignores no failure of what stands behind `then`, `else` and `do`.
        let ignored: &[&str] = if only_checks {
            &["!", "elif", "if", "until", "while"]
        } else {
            &["!", "do", "elif", "else", "if", "then", "until", "while"]
        };
        let is_conditional = keywords.iter().any(|word| ignored.contains(&word.as_str()));
        let is_negated = *keywords == ["!"];
        let is_condition = looks && is_conditional && !is_negated;
        let program = command.first().map_or("", |word| name(word));
        let within = std::mem::take(&mut within);
        let assigned = matches!(words, [only] if is_assignment(only) && only.ends_with(VALUE));
        let is_said = |line: &&String| match only_checks {
            true => !each_is(line, depth, &|command| is_chore(command) || is_probe(command)),
            false => says(line, depth),
        };
        let substituted = || within.iter().find(is_said).map(|line| line.trim().to_owned());
        let counts = is_loud(program) && !(only_checks && is_chore(command));
        let loud = if assigned { substituted() } else { counts.then(|| text.clone()) };
        let loud = loud.filter(|_| !is_condition);
        if before == Joint::Pipe {
            let is_fed = first.1 && !std::mem::take(&mut ends_subshell);
            if !pipefail && !is_fed {
                let by = Hides::Pipe { last: text.clone(), ends_line: true };
                said.piped = Some(Piped { first: first.0.clone(), by });
            }
            said.hear(loud, looks);
            continue;
        }
        ends_subshell = false;
        if let Some(Piped { by: Hides::Pipe { ends_line, .. }, .. }) = &mut said.piped {
            *ends_line &= gives_last(words);
        }
        let is_reported = match before {
            Joint::Else => fails(&text) || is_group_that_fails(&steps[at..]),
            _ => text == "exit $?",
        };
        // Where the other side of `||` only looks, it is a condition.
        let is_chosen = before == Joint::Else && said.looks;
        if let Some((variable, _)) = &said.kept
            && !is_shown_or_returned(words, variable)
        {
            said.lose();
        }
        match keeps(words) {
            Some(variable) if depth_here == 0 && before == Joint::Then && last_after != Joint::Pipe => {
                said.keep(variable);
            }
            // A group has the exit code of its last command.
            _ if text == "}" => {}
            _ => said.meet(before, is_reported),
        }
        if !assigned {
            said.pass(substituted());
        }
        if said.left && counts
            || is_conditional && !(is_negated && looks)
            || before == Joint::Else && !is_reported && !is_chosen
        {
            said.pass(loud);
        } else {
            said.hear(loud, looks && !is_negated);
            // `set -e` does not stop at what `!` turns round.
            said.goes_on |= is_negated;
        }
        said.left |= may_leave(words, before);
        if let Some(inner) = untold(command) {
            said.pass(Some(inner.join(" ")));
        }
        first = (text, FEEDERS.contains(&program) || looks || only_checks && is_chore(command));
        let says_pipefail = command.iter().any(|word| word == "pipefail");
        let inner = |pipefail| Way { pipefail, errexit: false, only_checks };
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
            Some(Piped { first, by: Hides::Line | Hides::Compound(_) }) => said.pass(Some(first)),
            inner => said.piped = inner.or(said.piped),
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
    let last = steps.iter().rev().find_map(|step| match step {
        Step::Run { text, before: Joint::Then | Joint::Next, .. } => shell_words::split(text).ok(),
        _ => None,
    });
    if let Some((variable, _)) = &said.kept
        && !last.is_some_and(|words| returns(&words, variable))
    {
        said.lose();
    }
    let ends_aside = ends_aside(line);
    // Unreadable text after this point may do anything.
    let goes_on = !is_whole && matches!(last_after, Joint::Then | Joint::Else | Joint::Aside);
    // A redirection alone succeeds.
    let writes = steps.iter().rposition(|step| !matches!(step, Step::Write(_))).map(|at| &steps[at..]);
    let only_writes = matches!(writes, Some([Step::Run { after: Joint::Then, .. }, _, ..]));
    if ends_aside || goes_on || only_writes {
        let loud = said.loud.take();
        said.pass(loud);
    }
    let passed = said.passed.map(|first| Piped { first, by: Hides::Line });
    match said.piped {
        // Among the commands before the pipe at the end, what the line passes over is the graver one.
        Some(Piped { by: Hides::Pipe { ends_line: true, .. }, .. }) if only_checks && passed.is_some() => {
            passed
        }
        piped => piped.or(passed),
    }
}

/// The variable that keeps the exit code of the command before this one: `NAME=$?`.
fn keeps(words: &[String]) -> Option<&str> {
    let [only] = words else { return None };
    only.strip_suffix("=$?").filter(|_| is_assignment(only))
}

/// Whether a command ends a line with the exit code that a variable keeps.
fn returns(words: &[String], variable: &str) -> bool {
    matches!(words, [exit, code] if exit == "exit" && code.strip_prefix('$') == Some(variable))
}

/// Whether a command changes nothing about a variable: it does not name it, only prints it, or returns it.
fn is_shown_or_returned(words: &[String], variable: &str) -> bool {
    let shows = words.first().is_some_and(|program| FEEDERS.contains(&program.as_str()));
    shows || returns(words, variable) || !words.iter().any(|word| word.contains(variable))
}

/// Whether a line may end at a command with an exit code other than that of a failure.
fn may_leave(words: &[String], before: Joint) -> bool {
    match words {
        [exit, code @ ..] if exit == "exit" || exit == "return" => {
            !(is_exit_of_failure(words) && (before == Joint::Else || !code.is_empty() && code != ["$?"]))
        }
        // Without a command it only redirects.
        [exec, _, ..] => exec == "exec",
        _ => false,
    }
}

/// Whether steps begin with a group of chores that ends the line with a failure: `{ cat log; exit 1; }`.
fn is_group_that_fails(steps: &[Step]) -> bool {
    let mut runs = steps.iter().filter_map(|step| match step {
        Step::Run { text, before, .. } => Some((text.trim(), *before)),
        Step::Within(_) | Step::Enter | Step::Leave | Step::Write(_) => None,
    });
    let Some((first, _)) = runs.next().filter(|(text, _)| text.starts_with("{ ")) else { return false };
    let rest = runs.take_while(|(text, _)| *text != "}");
    let group = std::iter::once((first, Joint::Then)).chain(rest);
    let mut is_over = false;
    for (text, before) in group {
        let words = shell_words::split(text).unwrap_or_default();
        let words = after_keywords(&words);
        is_over = is_exit_of_failure(words);
        if before != Joint::Then || !is_over && !is_chore(started(words)) {
            return false;
        }
    }
    is_over
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
