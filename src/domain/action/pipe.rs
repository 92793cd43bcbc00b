//! Finds commands whose result the exit code of a shell line hides. A pipe has the exit code of its last command,
//! and a line continues after a failed command unless `&&` or `set -e` stops it.

pub(super) mod chore;

use std::fmt;

use chore::{each_is, is_chore, is_probe, keeps_exit, started, untold};

use super::compound::{ends_in_compound, is_errexit, stops_at_failure};
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

/// What the last command of a line for a shell hides, because it succeeds whatever was before it or is a chore.
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
    let is_success = last.first().is_some_and(|program| SUCCEED.contains(&name(program)));
    let is_over =
        is_success || matches!(last, [exit, code] if exit == "exit" && code == "0") || ends_aside(line);
    if !is_over && deciding.is_some() || stops_at_failure(line, options) {
        return None;
    }
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
}

impl Line {
    fn pass(&mut self, command: Option<String>) {
        if self.passed.is_none() {
            self.passed = command;
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
    fn meet(&mut self, before: Joint, text: &str) {
        if std::mem::take(&mut self.looks) && matches!(before, Joint::Next | Joint::Else) {
            self.loud = None;
        }
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
    let Way { mut pipefail, errexit, only_checks } = way;
    let mut said = Line { piped: None, passed: None, loud: None, errexit, goes_on: false, looks: false };
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
        let looks = only_checks && is_probe(command);
        // The shell ignores no failure of what stands behind `then`, `else` and `do`.
        let ignored: &[&str] = if only_checks {
            &["!", "elif", "if", "until", "while"]
        } else {
            &["!", "do", "elif", "else", "if", "then", "until", "while"]
        };
        let is_conditional = keywords.iter().any(|word| ignored.contains(&word.as_str()));
        let is_condition = looks && is_conditional && *keywords != ["!"];
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
            said.hear(loud, looks);
        }
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
    let ends_aside = ends_aside(line);
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
mod tests {
    use expect_test::expect;

    use super::{piped, printed};

    #[test]
    fn the_end_of_a_pipe_that_only_prints_is_told_from_one_that_decides() {
        let is_printed = |last: &str| {
            let argv = ["sh", "-c", &format!("pytest -q | {last}")].map(str::to_owned);
            printed(&argv).is_some()
        };
        for last in [
            "tail -1",
            "wc -l",
            "awk 1",
            "tac",
            "fold",
            "fmt",
            "rev",
            "paste",
            "sort -o/tmp/c",
            "sort -k2 --reverse",
        ] {
            assert!(is_printed(last), "{last}");
        }
        for last in ["grep passed", "sort -c", "sort -uC", "sort --check", "awk '/failed/ { exit 1 }'"] {
            assert!(!is_printed(last), "{last}");
        }
    }

    /// Red before: a suite that failed proved a claim.
    #[test]
    fn a_line_that_ends_in_what_always_succeeds_tells_nothing() {
        let is_hidden = |line: &str| printed(&["sh", "-c", line].map(str::to_owned)).is_some();
        for line in [
            "pytest; echo finished",
            "pytest || true",
            "pytest -q || :",
            "pytest\necho finished",
            "pytest & wait",
            "cd a && pytest; date",
            "pytest | cat; echo done",
            "pytest; exit 0",
            "pytest &",
            "(pytest; true)",
            "{ pytest; true; }",
            "{ cd a; { pytest; echo ok; }; }",
            "cd a && bash -c 'pytest; true'",
            "set -e; pytest && ruff check; echo ok",
            // Red before: `set -e` does not see these.
            "set -e; echo \"a: $(pytest)\"; echo ok",
            "set -e; export OUT=$(pytest); echo ok",
            "set -e; out=$(pytest; true); echo ok",
            "set -e; out=$(sh -c 'pytest; true'); echo ok",
            "set -e; sh -c 'pytest | cat'; sh -c 'ruff check; true'; echo ok",
            "set -e; set +e; pytest; echo ok",
            "(set -e; cd a); pytest; echo ok",
            "eval 'pytest; true'",
            // Red before: `exit $?` hid the end, `builtin` was no word of the shell, and `find` tells nothing.
            "pytest; echo ok; exit $?",
            "set -e; builtin set +e; pytest; echo ok",
            "set -e; find . -exec pytest {} \\;; echo ok",
        ] {
            assert!(is_hidden(line), "{line}");
        }
        for words in [
            &["bash", "-o", "pipefail", "-c", "pytest | cat; echo done"][..],
            &["env", "A=1", "bash", "-c", "pytest; true"],
            &["timeout", "9", "sh", "-c", "pytest; echo done"],
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert!(printed(&words).is_some(), "{words:?}");
        }
        for line in [
            "pytest && echo ok",
            "set -e; pytest; echo ok",
            "echo begins; pytest",
            "pytest || exit 1",
            "pytest; code=$?; echo ok; exit $code",
            "make",
            "{ pytest; }",
            "(cd a && pytest)",
            "cd a && pytest -q",
            "cd a && bash -c 'pytest'",
            "set -e; cd a && pytest; echo ok",
            "set -e; out=$(pytest -q 2>&1); echo \"$out\"",
            "set -e; cd \"$(dirname \"$0\")\"; pytest; echo ok",
            "(set -e; cd a; pytest; echo ok)",
            "eval 'pytest -q'",
        ] {
            assert!(!is_hidden(line), "{line}");
        }
    }

    /// Red before: each proved a claim although the check failed.
    #[test]
    fn a_line_that_ends_in_a_chore_tells_nothing_of_the_checks_before_it() {
        let is_hidden = |line: &str| printed(&["bash", "-c", line].map(str::to_owned)).is_some();
        for line in [
            "! grep -q bug src/a.rs; rm -f out",
            "pytest; sleep 1",
            "pytest; git status",
            "pytest; touch x",
            "pytest; cd .",
            "pytest; A=1",
            "pytest; export A=1",
            "pytest; code=$?",
            "pytest; kill $PID",
            "pytest\nrm -rf out\n",
            "pytest; rm -f out; exit",
            "pytest; { rm -f out; }",
            "(cd a; pytest); rm -f out",
            "pytest > log; cat log",
            "pytest; cat log | head",
            "pytest; docker compose down",
            "pytest; find . -name '*.pyc' -delete",
            "pytest || rm -f out",
            "pytest; rm -f out || exit 1",
            "pytest | tail; exit $?",
            "pytest & sleep 9",
            "rm -rf out; pytest; rm -rf out",
            "ls a; test -e b; rm c",
            "[ -n $CI ] && pytest; rm -f out",
            "if pytest; then touch ok; fi; rm -f out",
            "touch $(pytest)",
            "cat <(pytest -q)",
            "sh -c 'pytest; rm -f out'",
            "set -e; ! grep -q bug src/a.rs; rm -f out",
            "set -e; pytest && ruff check; rm -f out",
            "bash -c 'trap \"exit 0\" EXIT; pytest' && rm -f out",
            "sh -c 'pytest' &",
        ] {
            assert!(is_hidden(line), "{line}");
        }
        for line in [
            "rm -rf out; pytest",
            "cd sub; pytest",
            "sleep 1; pytest",
            "cargo build; cargo test",
            "npm ci; npm test && rm -rf tmp",
            "pytest && rm -f out",
            "pytest || exit 1; rm -f out",
            "pytest; code=$?; rm -f out; exit $code",
            "pytest > log; grep passed log",
            "pytest; git diff --exit-code",
            "! grep -q bug src/a.rs",
            "! grep -q bug src/a.rs && rm -f out",
            "cat a > b; mv b c",
            "mkdir -p a; cp b a; ls a",
            "test -e a || touch a",
            "set -e; pytest; rm -rf out",
            "set -e; cd a && pytest; rm -rf out",
            "set -e; [ -d out ] || mkdir out; pytest; rm -rf out",
            "set -e; [ -n $CI ] && echo ci; pytest; rm -rf out",
            "set -e; if [ -f .env ]; then . ./.env; fi; pytest; rm -rf out",
            "set -e; if ! command -v ruff; then pip install ruff; fi; ruff check; rm -rf out",
            "set -e; until nc -z localhost 80; do sleep 1; done; pytest; rm -rf out",
            "set -e; curl -s localhost | tar xz; pytest; rm -rf out",
            "set -e; export N=$(grep -c a b); pytest; rm -rf out",
            "find . -name '*.pyc' -exec rm {} \\;; pytest",
            "find . -exec protoc {} \\;; pytest",
            "|| exit 1",
        ] {
            assert!(!is_hidden(line), "{line}");
        }
        let errexit = ["bash", "-ec", "cd a && pytest; rm -rf out"].map(str::to_owned);
        assert_eq!(printed(&errexit), None);
    }

    /// Red before: each proved a claim although the check failed.
    #[test]
    fn what_sets_the_exit_code_of_a_line_is_named() {
        for (words, told) in [
            (
                &["find", ".", "-exec", "pytest", "{}", ";"][..],
                "of `find`, and may be 0 though a command in it failed",
            ),
            (
                &["sh", "-c", "find . -name '*_t.py' -exec pytest {} \\;"],
                "of `find`, and may be 0 though a command in it failed",
            ),
            (
                &["sh", "-c", "find . -exec pytest {} \\; && echo ok"],
                "of `find`, and may be 0 though a command in it failed",
            ),
            (
                &["sh", "-c", "trap 'exit 0' EXIT; pytest"],
                "of `trap`, and may be 0 though a command in it failed",
            ),
            (
                &["sh", "-c", "set -e; trap 'rm -rf out; exit $?' EXIT; pytest"],
                "of `trap`, and may be 0 though a command in it failed",
            ),
            (
                &["sh", "-c", "until pytest; do sleep 1; done"],
                "of `until`, and may be 0 though a command in it failed",
            ),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(printed(&words).expect("a hidden check").to_string(), told, "{words:?}");
        }
        for words in [
            &["find", ".", "-exec", "pytest", "{}", "+"][..],
            &["find", ".", "-name", "*.pyc", "-exec", "rm", "{}", ";"],
            &["sh", "-c", "trap 'rm -rf out' EXIT; pytest"],
            &["sh", "-c", "trap cleanup EXIT; pytest"],
            &["sh", "-c", "trap 'code=$?; rm -rf out; exit $code' EXIT; pytest"],
            &["sh", "-c", "trap 'exit 1' INT TERM; pytest"],
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(printed(&words), None, "{words:?}");
        }
    }

    /// Red before: a loop of checks proved a claim by the last check alone.
    #[test]
    fn a_line_that_ends_in_a_compound_command_tells_nothing() {
        let is_hidden = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            printed(&words).is_some()
        };
        for line in [
            "for t in a b; do pytest $t; done",
            "cd x && for t in a b; do pytest $t; done",
            "for ((i = 0; i < 3; i++)); do pytest; done",
            "for t in a b\ndo\n  pytest $t\ndone > log",
            "while read t; do pytest $t; done < list",
            "while pytest; do sleep 1; done",
            "until pytest; do ruff check; done",
            "if pytest; then echo ok; else echo bad; fi",
            "if [ -f a ]; then pytest; fi",
            "case $CI in 1) pytest;; esac",
            "case $CI in (1) pytest;; esac",
            "f() { pytest; true; }; f",
            "function f { pytest; true; }; f",
            "{ for t in a b; do pytest $t; done; }",
            "(for t in a b; do pytest $t; done)",
            "bash -c 'for t in a b; do pytest $t; done'",
            "for t in a b; do pytest $t; done; echo ok",
            // `set -e` passes over these.
            "set -e; for t in a b; do pytest $t && ruff $t; done",
            "set -e; for t in a b; do pytest $t || true; done",
            "set -e; for t in a b; do { pytest $t; true; } || exit 1; done",
            "set -e; (pytest; true) || exit 1; for t in a b; do pytest $t; done",
            "set -e; for t in $(git ls-files); do pytest $t; done",
            "set -e; for t in $TESTS; do pytest $t; done",
            "set -e; set +e; for t in a b; do pytest $t; done",
            "set -e; if pytest; then echo ok; fi",
            "set -e; exit 0; for t in a b; do pytest $t; done",
            "set -e; trap \"set +e\" DEBUG; for t in a b; do pytest $t; done",
            "set -e; trap \"exit 0\" EXIT; for t in a b; do pytest $t; done",
            "pytest; set -e; for t in a b; do ruff $t; done",
            // Red before.
            "set -e; for t in a b; do echo \"$t: $(pytest $t)\"; done",
            "set -e; for t in a b; do set +e; pytest $t; done",
            "set -e; for t in a b; do sh -c \"pytest $t; true\"; done",
            "set -e; for t in a b; do bash -c \"pytest $t | cat\"; done",
            "set -e; for t in a b; do eval \"pytest $t || true\"; done",
            "set -e; for t in a b; do diff <(pytest $t) /dev/null; done",
            "set -e; for t in a b; do break; pytest $t; done",
            "set -e; shopt -s nullglob; for t in a/*.py b/*.py; do pytest $t; done",
            "pytest; until nc -z localhost 5432; do sleep 1; done",
            "(pytest); until nc -z localhost 5432; do sleep 1; done",
            "for t in a b; do pytest $t; done; until test -e c; do sleep 1; done",
            "eval \"for t in a b; do pytest \\$t; done\"",
            // Red before: what follows has the exit code of the loop, or leaves it as it is.
            "for t in a b; do pytest $t; done; exit $?",
            "for t in a b; do pytest $t; done || exit 1",
            "set -e; for t in a b; do pytest $t; done && rm -f out",
            // Red before: `set -e` was lifted, or the loop left.
            "set -e; for t in a b; do command set +e; pytest $t; done",
            "set -e; for t in a b; do builtin set +e; pytest $t; done",
            "set -e; for t in a b; do coproc pytest $t; done",
            "set -e; for t in a b; do exec pytest $t; done",
            "set -e; for t in a b; do find $t -exec pytest {} \\;; done",
            // Red before: a loop that waits until a check passes never fails.
            "until pytest; do sleep 1; done",
            "while ! pytest -q; do sleep 1; done",
            "until [ \"$(pytest)\" = ok ]; do sleep 1; done",
            // `return` ends no line of bash, and these are no failures.
            "for t in a b; do pytest $t || return 1; done",
            "for t in a b; do pytest $t || exit 0; done",
            "for t in a b; do pytest $t || exit 256; done",
            "for t in a b; do pytest $t || exit 1; ruff check $t; done",
            "for t in a b; do pytest $t | cat || exit 1; done",
            "for t in a b; do break; pytest $t || exit 1; done",
            "for t in $TESTS; do pytest $t || exit 1; done",
            "for t in a b; do echo \"$(pytest $t)\" || exit 1; done",
            "for t in a b; do { pytest $t; true; } || exit 1; done",
            "for t in a b; do (pytest $t || exit 1); done",
            "for t in a b; do if test -e $t; then pytest $t || exit 1; fi; done",
            "pytest; for t in a b; do ruff check $t || exit 1; done",
        ] {
            assert!(is_hidden(&["sh", "-c", line]), "{line}");
        }
        for line in [
            "set -e; for t in a b; do pytest $t; done",
            "set -eu\nfor t in tests/*.py; do\n  echo $t\n  pytest $t\ndone\necho ok",
            "if [ -f venv/bin/activate ]; then . venv/bin/activate; fi; pytest",
            "until nc -z localhost 5432; do sleep 1; done; pytest",
            "until nc -z localhost 5432; do sleep 1; done",
            "touch a; while ! test -e b; do sleep 1; done",
            "docker compose up -d && until nc -z localhost 5432; do sleep 1; done",
            "set -e; cd \"$(dirname \"$0\")\"; for t in a b; do sh -c \"pytest $t\"; done",
            "pytest -k 'if or for'",
            "cd for && pytest",
            "files=(a b); pytest \"${files[@]}\"",
            "until curl -sf localhost:80; do sleep 1; done && touch up",
            "until [ \"$(docker inspect db)\" = healthy ]; do sleep 1; done",
            "set -e; exec > log; for t in a b; do pytest $t; done",
            "set -e; for t in a b; do pytest $t; done; exit",
            // Red before.
            "set -e; trap \"rm -rf out\" EXIT; for t in a b; do pytest $t; done",
            "set -e; for t in a b; do pytest $t; done; exit 0",
            "set -e; echo \"on $(hostname)\"; for t in a b; do pytest $t; done",
            "set -e; echo \"$(python --version)\"; for t in a b; do pytest $t; done",
            "set -e; pytest; echo \"$(wc -l < src/a.rs) lines\"",
            "set -e; DIR=\"$(cd \"$(dirname \"$0\")\" && pwd)\"; for t in a b; do pytest $t; done",
            "set -e; echo 'a && b'; for t in a b; do pytest $t; done",
            "for t in a b; do pytest $t || exit 1; done",
            "cd x && for t in a b; do echo $t; pytest $t && ruff check $t || exit 2; done",
            "for t in a b\ndo\n  ! grep -q bug $t || exit\ndone",
            "set -e; cd x || exit 1; for t in a b; do pytest $t; done",
            "for a in x y; do for t in a b; do pytest $a/$t || exit $?; done; done",
            "set -e; for t in a b; do pytest $t || exit 1; done",
        ] {
            assert!(!is_hidden(&["sh", "-c", line]), "{line}");
        }
        assert!(!is_hidden(&["bash", "-ec", "for t in a b; do pytest $t; done"]));
        assert!(!is_hidden(&["bash", "-o", "errexit", "-c", "for t in a b; do pytest $t; done"]));
    }

    #[test]
    fn the_exit_code_of_a_pipe_is_said_to_be_that_of_its_last_command() {
        let lines = [
            "pytest tests/test_ttl.py | tail -5",
            "cd /work/x && pytest -q 2>&1 | tee log | tail -5",
            "pytest -q |& tail -5",
            "pytest | tail -5 && echo ok",
            "timeout 60 bash -c 'pytest | tail -5'",
            "bash -lc \"cargo test 2>&1 | grep result\"",
            "out=$(pytest | tail -5)",
            "(cd web && make) | tail -5",
            "if pytest | tail; then echo ok; fi",
            "set -e; pytest | tail",
            "set -o pipefail; set +o pipefail; pytest | tail",
            "git ls-files | wc -l && pytest",
        ];
        let told: Vec<String> = lines
            .iter()
            .map(|line| format!("{line} -> {}", piped(line).expect("a pipe that hides something")))
            .collect();
        expect![[r#"
            pytest tests/test_ttl.py | tail -5 -> of `tail -5`, the last of a pipe: says nothing about `pytest tests/test_ttl.py`
            cd /work/x && pytest -q 2>&1 | tee log | tail -5 -> of `tail -5`, the last of a pipe: says nothing about `pytest -q`
            pytest -q |& tail -5 -> of `tail -5`, the last of a pipe: says nothing about `pytest -q`
            pytest | tail -5 && echo ok -> after a pipe that ends in `tail -5`: says nothing about `pytest`
            timeout 60 bash -c 'pytest | tail -5' -> of `tail -5`, the last of a pipe: says nothing about `pytest`
            bash -lc "cargo test 2>&1 | grep result" -> of `grep result`, the last of a pipe: says nothing about `cargo test`
            out=$(pytest | tail -5) -> of `tail -5`, the last of a pipe: says nothing about `pytest`
            (cd web && make) | tail -5 -> of `tail -5`, the last of a pipe: says nothing about `make`
            if pytest | tail; then echo ok; fi -> after a pipe that ends in `tail`: says nothing about `if pytest`
            set -e; pytest | tail -> of `tail`, the last of a pipe: says nothing about `pytest`
            set -o pipefail; set +o pipefail; pytest | tail -> of `tail`, the last of a pipe: says nothing about `pytest`
            git ls-files | wc -l && pytest -> after a pipe that ends in `wc -l`: says nothing about `git ls-files`"#]]
        .assert_eq(&told.join("\n"));
    }

    /// Operators and substitutions hide results as pipes do.
    #[test]
    fn the_exit_code_of_a_line_is_not_that_of_a_command_which_it_passes_over() {
        let lines = [
            "pytest x.py || true",
            "pytest x.py; true",
            "pytest x.py; exit 0",
            "pytest x.py\nls",
            "! pytest x.py",
            "false && pytest x.py; ls",
            "pytest x.py &",
            "pytest x.py & wait",
            "(pytest x.py) &",
            "(pytest x.py) || true",
            "{ pytest x.py; } || :",
            "echo $(pytest x.py)",
            "echo \"`pytest x.py`\"",
            "cat <(pytest x.py)",
            "bash -c 'pytest x.py || true'",
            "eval 'pytest x.py; true'",
            "if pytest x.py; then :; fi",
            "while pytest x.py; do sleep 1; done",
            "if [ -f x ]; then pytest x.py; fi",
            "true || pytest x.py",
            "out=$(pytest x.py); echo $out",
            "export OUT=$(pytest x.py)",
            "pytest x.py && echo ok; ls",
            "pytest x.py; cat <<EOF",
            "pytest x.py || exit 0",
            "set -e; pytest x.py || true",
        ];
        for line in lines {
            let hidden = piped(line).unwrap_or_else(|| panic!("{line}"));
            assert!(
                hidden.to_string().starts_with("of the whole line: says nothing about"),
                "{line}: {hidden}"
            );
            assert!(hidden.first.contains("pytest x.py") || line.contains("[ -f"), "{line}: {hidden}");
        }
    }

    #[test]
    fn what_is_no_pipe_or_tells_of_its_failures_hides_nothing() {
        for line in [
            "pytest tests/test_ttl.py",
            "pytest -k 'a | b'",
            "grep \"x | y\" src/a.rs",
            "pytest || exit 1",
            "set -o pipefail; pytest | tail -5",
            "set -euo pipefail && cd x && pytest | tail -5",
            "bash -o pipefail -c 'pytest | tail -5'",
            "bash -eo pipefail -c 'pytest | tail -5'",
            "bash -c 'set -o pipefail; pytest | tail -5'",
            "echo '{\"a\":1}' | pytest tests/test_json.py",
            "pytest --seed $(date | md5sum)",
            "pytest > log # | tail",
            "cd web; pytest",
            "set -e; pytest; ruff check",
            "export A=1; pytest && ruff check",
            "pytest &&\n  ruff check",
            "pytest x.py; exit $?",
            "pytest || exit 2; echo ok",
            "out=$(pytest x.py)",
            "bash -c 'cd web && pytest'",
            "ruff check $(git ls-files)",
            "pytest;",
            "{ pytest x.py; }",
            "python - <<EOF",
        ] {
            assert_eq!(piped(line), None, "{line}");
        }
    }
}
