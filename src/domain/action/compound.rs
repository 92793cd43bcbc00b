//! Lines for the shell that end in a loop, a condition or a function: their exit code need not be that of the check.

use super::normal::{MAX_DEPTH, SHELLS, after_keywords, is_assignment, line_for_shell, name};
use super::pipe::chore::{each_is, is_chore, is_harmless, is_probe, started, untold};
use super::pipe::{gives_last, is_exit_of_failure, is_loud, is_told, says};
use super::shell::{Joint, Step, VALUE, read_with_rest};

/// The words that begin a compound command of the shell.
const BEGIN: [&str; 7] = ["case", "for", "function", "if", "select", "until", "while"];
/// The words that end one: `end` is that of fish.
const END: [&str; 4] = ["done", "end", "esac", "fi"];
/// Words that may stand between the beginning of a command and its program.
const BEFORE: [&str; 6] = ["!", "do", "else", "then", "time", "{"];
/// Commands that leave a loop or a line early, run aside, or change what a loop runs over or whether the line stops at a
/// failure.
const LEAVE: [&str; 7] = ["break", "continue", "coproc", "eval", "exit", "return", "shopt"];
/// Commands that show or keep what a substitution gives.
const SHOW: [&str; 3] = ["echo", "export", "printf"];
/// The number of words of the shortest loop over something: `for a in b`.
const SHORTEST_LOOP: usize = 4;

/// A simple command of a line.
struct Command<'s> {
    /// The text as written.
    written: &'s str,
    /// The text from its program on, or from the word that begins a compound command.
    text: &'s str,
    before: Joint,
    after: Joint,
    /// The lines of its substitutions.
    within: Vec<&'s str>,
}

impl Command<'_> {
    /// The words of the command that it starts.
    fn words(&self) -> Vec<String> {
        let words = shell_words::split(self.text).unwrap_or_default();
        started(after_keywords(&words)).to_vec()
    }

    /// The words as the shell itself reads them, also behind `command` and `builtin`.
    fn own_words(&self) -> Option<Vec<String>> {
        let words = shell_words::split(self.text).ok()?;
        let is_before = |word: &String| is_assignment(word) || word == "builtin" || word == "command";
        Some(words.into_iter().skip_while(is_before).collect())
    }

    /// Whether it ends a compound command or a group.
    fn closes(&self) -> bool {
        self.text.starts_with('}') || END.contains(&first_word(self.text))
    }

    /// Whether it begins a compound command other than a loop over words.
    fn is_other_compound(&self) -> bool {
        begins(self.text).is_some_and(|word| word != "for" || !is_over_words(self.text))
    }
}

/// The simple commands of a line.
fn commands(steps: &[Step]) -> Vec<Command<'_>> {
    let mut found = Vec::new();
    let mut within = Vec::new();
    for step in steps {
        match step {
            Step::Within(line) => within.push(line.as_str()),
            Step::Run { text, before, after } => found.push(Command {
                written: text,
                text: spoken(text),
                before: *before,
                after: *after,
                within: std::mem::take(&mut within),
            }),
            Step::Write(_) | Step::Enter | Step::Leave => {}
        }
    }
    found
}

/// The word that begins the compound command at the end of a line. A loop has the exit code of its last turn, a condition
/// that of the branch which it took, and only a shell can tell that of a function. None for a `for` loop of a line that stops
/// at each failure, and for a loop that waits until a server or a file is there.
pub(super) fn ends_in_compound(line: &str, options: &[String]) -> Option<&'static str> {
    let (steps, rest) = read_with_rest(line);
    let mut commands = commands(&steps);
    commands.retain(|command| !command.text.starts_with('}'));
    let begun = commands.iter().rev().find_map(|command| begins(command.text));
    if let Some(rest) = rest {
        return begins(spoken(&rest)).or_else(|| is_function(&rest).then_some("function")).or(begun);
    }
    if commands.iter().any(|command| first_word(command.text) == "function") {
        return Some("function");
    }
    // The exit code before these is that of the line, or decides it.
    while commands.last().is_some_and(|last| {
        let words = last.words();
        match last.before {
            Joint::Next => is_chore(&words) || gives_last(&words),
            Joint::Then => gives_last(&words),
            Joint::Else => is_exit_of_failure(&words),
            Joint::Pipe | Joint::Aside => false,
        }
    }) {
        commands.pop();
    }
    let is_end = commands.last().is_some_and(|last| END.contains(&first_word(last.text)));
    // The end of a subshell has no joint.
    let is_chain = |before: &[Command<'_>]| {
        !steps.contains(&Step::Enter) && before.iter().all(|command| command.after == Joint::Next)
    };
    let is_wait = only_waits(&commands).is_some_and(|before| {
        let is_set = |text: &str| text.split_whitespace().all(is_assignment);
        let is_quiet = |command: &Command<'_>| {
            let text = command.text;
            !text.contains(VALUE) && (!is_loud(first_word(text)) || is_set(text))
        };
        before.iter().all(is_quiet) || is_chain(before)
    });
    begun.filter(|_| is_end && !is_wait && !stops_at_failure(line, options) && !exits_at_failure(line))
}

/// The commands before a loop at the end that ends once something is there: `until test -e a; do sleep 1; done`. A loop that
/// waits until a check passes never fails.
fn only_waits<'a, 'c>(commands: &'a [Command<'c>]) -> Option<&'a [Command<'c>]> {
    let [before @ .., condition, body, _] = commands else { return None };
    let mut words = condition.text.split_whitespace();
    let ends_by_success = match (words.next(), words.next()) {
        (Some("until"), _) => true,
        (Some("while"), Some(word)) => ["!", ":", "true"].contains(&word),
        _ => false,
    };
    let looks = |command: &[String]| is_probe(command) || is_chore(command);
    let only_looks =
        looks(&condition.words()) && condition.within.iter().all(|line| each_is(line, MAX_DEPTH, &looks));
    (ends_by_success && only_looks && first_word(body.text) == "sleep").then_some(before)
}

/// Whether a line stops at the first command that fails, also in its loops: after `set -e`, with nothing in it of which the
/// shell ignores that it fails. In doubt it does not.
pub(super) fn stops_at_failure(line: &str, options: &[String]) -> bool {
    let (steps, None) = read_with_rest(line) else { return false };
    let mut stops = options.iter().take_while(|word| *word != line).any(|word| is_errexit(word));
    // `set -e` in a subshell ends with it.
    let mut before = steps.iter().take_while(|step| !matches!(step, Step::Run { .. }));
    let is_outside = !before.any(|step| *step == Step::Enter);
    let commands = commands(&steps);
    for (at, command) in commands.iter().enumerate() {
        let Some(words) = command.own_words() else { return false };
        let is_set = words.first().is_some_and(|word| word == "set");
        if at == 0 && is_set && is_outside {
            stops |= words.iter().any(|word| is_errexit(word));
        }
        // `|| exit 1` behind a simple command ends the line, too. In a group before it the shell passes over failures.
        let previous = at.checked_sub(1).map(|at| &commands[at]);
        let is_behind_simple =
            previous.is_some_and(|previous| previous.after == Joint::Else && !previous.closes());
        if command.before == Joint::Else && is_behind_simple && is_exit_of_failure(&words) {
            continue;
        }
        // Where `&&` joins commands, the shell passes over a failure of each but the last.
        let is_ignored = at > 0 && command.before == Joint::Next
            || matches!(command.before, Joint::Else | Joint::Pipe | Joint::Aside)
            || matches!(command.after, Joint::Pipe | Joint::Aside);
        let is_lifted = is_set && words.iter().any(|word| word.contains('+'))
            || command.written.split_whitespace().any(|word| word == "!");
        // At the end nothing is left out.
        let is_end = at + 1 == commands.len() && words.first().is_some_and(|word| word == "exit");
        let is_left = leaves(&words) && !is_end;
        if is_ignored || is_lifted || is_left || command.is_other_compound() || hides(command) {
            return false;
        }
    }
    stops && !line.trim_end().ends_with('&')
}

/// Whether a line ends at the first check that fails, also in its loops over words, because `|| exit 1` stands behind each.
/// In doubt it does not: `|| return 1` ends no line of bash.
pub(super) fn exits_at_failure(line: &str) -> bool {
    let (steps, None) = read_with_rest(line) else { return false };
    // Whether a check waits for its `|| exit`, and whether there is one at all.
    let (mut is_open, mut exits) = (false, false);
    for command in commands(&steps) {
        let Some(words) = command.own_words() else { return false };
        if [command.before, command.after].iter().any(|joint| matches!(joint, Joint::Pipe | Joint::Aside))
            || command.before == Joint::Then && is_open
            || hides(&command)
        {
            return false;
        }
        if command.before == Joint::Else {
            if !is_exit_of_failure(&words) {
                return false;
            }
            (is_open, exits) = (false, true);
        } else if leaves(&words) || command.is_other_compound() {
            return false;
        } else {
            let is_of_loop = |word: &str| ["done", "for", "}"].contains(&word);
            is_open |= !is_of_loop(first_word(command.text)) && !is_chore(&command.words());
        }
    }
    exits && !is_open && !steps.contains(&Step::Enter)
}

/// Whether a command of the shell itself may leave out what stands behind it, or lift that the line stops at a failure.
fn leaves(words: &[String]) -> bool {
    match words {
        [trap, rest @ ..] if trap == "trap" => !is_harmless(rest),
        // Without a command it only redirects.
        [exec, _, ..] if exec == "exec" => true,
        [first, ..] => LEAVE.contains(&first.as_str()),
        [] => false,
    }
}

/// Whether a simple command may succeed though a command within it failed: one of a substitution, of the line for another
/// shell, or of `find`. An assignment has the exit code of the only command in its substitution.
fn hides(command: &Command<'_>) -> bool {
    let words = shell_words::split(command.written).unwrap_or_default();
    let words = after_keywords(&words);
    let started = started(words);
    let is_shell = started.first().is_some_and(|program| SHELLS.contains(&name(program)));
    if is_shell && line_for_shell(&started[1..]).is_some() && !is_told(started) || untold(started).is_some() {
        return true;
    }
    let is_plain = matches!(words, [only] if is_assignment(only) && only.ends_with(VALUE));
    let is_shown = started.first().is_some_and(|program| SHOW.contains(&name(program)));
    match command.within.as_slice() {
        [only] if is_plain => says(only, MAX_DEPTH) && !is_one_command(only),
        // What is only shown is no check, unless a check gives it.
        within if is_shown => !within.iter().all(|line| each_is(line, MAX_DEPTH, &is_chore)),
        within => within.iter().any(|line| says(line, MAX_DEPTH)),
    }
}

/// Whether a line is one simple command that hides nothing.
fn is_one_command(line: &str) -> bool {
    let (steps, rest) = read_with_rest(line);
    let is_alone = matches!(
        steps.as_slice(),
        [writes @ .., Step::Run { after: Joint::Next | Joint::Then, .. }]
            if writes.iter().all(|step| matches!(step, Step::Write(_)))
    );
    rest.is_none() && is_alone && !commands(&steps).iter().any(hides)
}

/// Whether an argument of `set` or of a shell makes it stop at a failure.
pub(super) fn is_errexit(word: &str) -> bool {
    word == "errexit" || word.starts_with('-') && !word.starts_with("--") && word.contains('e')
}

/// Whether a loop has a turn whatever the shell finds: it is over words, and not over a variable or the output of a command.
fn is_over_words(text: &str) -> bool {
    spoken(text).split_whitespace().count() >= SHORTEST_LOOP && !text.contains('$') && !text.contains(VALUE)
}

/// A command without the words of the shell before its program.
fn spoken(text: &str) -> &str {
    let mut text = text.trim();
    while BEFORE.contains(&first_word(text)) {
        text = text[first_word(text).len()..].trim_start();
    }
    text
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// The word that begins a compound command, if this is the beginning of one.
fn begins(text: &str) -> Option<&'static str> {
    BEGIN.into_iter().find(|word| *word == first_word(text))
}

/// By how many compound commands a line is deeper behind this command.
pub(super) fn deeper(text: &str) -> isize {
    let ends = END.contains(&first_word(text));
    isize::from(begins(spoken(text)).is_some()) - isize::from(ends)
}

/// Whether an unread text begins with the definition of a function: `f() { …; }`.
fn is_function(rest: &str) -> bool {
    let Some((name, after)) = rest.split_once('(') else { return false };
    !name.trim().is_empty() && !name.contains('=') && after.trim_start().starts_with(')')
}
