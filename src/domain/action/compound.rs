//! Lines for the shell that end in a loop, a condition or a function: their exit code need not be that of the check.

use super::normal::{MAX_DEPTH, SHELLS, after_keywords, is_assignment, line_for_shell, name, unwrapped};
use super::pipe::{is_loud, is_told, says};
use super::shell::{Joint, Step, VALUE, read_with_rest};

/// The words that begin a compound command of the shell.
const BEGIN: [&str; 7] = ["case", "for", "function", "if", "select", "until", "while"];
/// The words that end one: `end` is that of fish.
const END: [&str; 4] = ["done", "end", "esac", "fi"];
/// Words that may stand between the beginning of a command and its program.
const BEFORE: [&str; 6] = ["!", "do", "else", "then", "time", "{"];
/// Commands that leave a loop or a line early, or change what a loop runs over or whether the line stops at a failure.
const LEAVE: [&str; 7] = ["break", "continue", "eval", "exit", "return", "shopt", "trap"];
/// The number of words of the shortest loop over something: `for a in b`.
const SHORTEST_LOOP: usize = 4;

/// The word that begins the compound command at the end of a line. A loop has the exit code of its last turn, a condition
/// that of the branch which it took, and only a shell can tell that of a function. None for a `for` loop of a line that stops
/// at each failure, and for a loop that waits until a check passes.
pub(super) fn ends_in_compound(line: &str, options: &[String]) -> Option<&'static str> {
    let (steps, rest) = read_with_rest(line);
    let texts = steps.iter().filter_map(|step| match step {
        Step::Run { text, after, .. } => Some((spoken(text), *after)),
        Step::Within(_) | Step::Write(_) | Step::Enter | Step::Leave => None,
    });
    let (commands, joints): (Vec<&str>, Vec<Joint>) =
        texts.filter(|(text, _)| !text.starts_with('}')).unzip();
    let begun = commands.iter().rev().find_map(|text| begins(text));
    if let Some(rest) = rest {
        return begins(spoken(&rest)).or_else(|| is_function(&rest).then_some("function")).or(begun);
    }
    if commands.iter().any(|text| first_word(text) == "function") {
        return Some("function");
    }
    let is_end = commands.last().is_some_and(|text| END.contains(&first_word(text)));
    // The end of a subshell has no joint.
    let is_chain =
        |joints: &[Joint]| !steps.contains(&Step::Enter) && joints.iter().all(|joint| *joint == Joint::Next);
    let is_wait = only_waits(&commands).is_some_and(|before| {
        let is_set = |text: &str| text.split_whitespace().all(is_assignment);
        let is_quiet = |text: &&str| !text.contains(VALUE) && (!is_loud(first_word(text)) || is_set(text));
        before.iter().all(is_quiet) || is_chain(&joints[..before.len()])
    });
    begun.filter(|_| is_end && !is_wait && !stops_at_failure(line, options))
}

/// The commands before a loop at the end that ends once a check passes: `until test -e a; do sleep 1; done`.
fn only_waits<'a, 'c>(commands: &'a [&'c str]) -> Option<&'a [&'c str]> {
    let [before @ .., condition, body, _] = commands else { return None };
    let mut words = condition.split_whitespace();
    let ends_by_success = match (words.next(), words.next()) {
        (Some("until"), _) => true,
        (Some("while"), Some(word)) => ["!", ":", "true"].contains(&word),
        _ => false,
    };
    (ends_by_success && first_word(body) == "sleep").then_some(before)
}

/// Whether a line stops at the first command that fails, also in its loops: after `set -e`, with nothing in it of which the
/// shell ignores that it fails. In doubt it does not.
pub(super) fn stops_at_failure(line: &str, options: &[String]) -> bool {
    let (steps, None) = read_with_rest(line) else { return false };
    let mut stops = options.iter().take_while(|word| *word != line).any(|word| is_errexit(word));
    let mut is_first = true;
    let mut within = Vec::new();
    for step in &steps {
        let (text, before, after) = match step {
            Step::Run { text, before, after } => (text, before, after),
            Step::Within(line) => {
                within.push(line.as_str());
                continue;
            }
            // `set -e` in a subshell ends with it.
            Step::Enter => {
                is_first = false;
                continue;
            }
            Step::Leave | Step::Write(_) => continue,
        };
        let spoken = spoken(text);
        let is_set = first_word(spoken) == "set";
        if std::mem::take(&mut is_first) && is_set {
            stops |= text.split_whitespace().any(is_errexit);
        }
        let is_ignored = [before, after].iter().any(|joint| !matches!(joint, Joint::Next | Joint::Then));
        let is_lifted = is_set && text.contains('+') || text.split_whitespace().any(|word| word == "!");
        let is_other = begins(spoken).is_some_and(|word| word != "for" || !is_over_words(text));
        let is_left = LEAVE.contains(&first_word(spoken));
        if is_ignored || is_lifted || is_other || is_left || hides(text, &std::mem::take(&mut within)) {
            return false;
        }
    }
    stops && !line.contains("&&") && !line.trim_end().ends_with('&')
}

/// Whether a simple command may succeed though a command within it failed: one of a substitution, or of the line for another
/// shell. An assignment has the exit code of the only command in its substitution.
fn hides(text: &str, within: &[&str]) -> bool {
    let words = shell_words::split(text).unwrap_or_default();
    let words = after_keywords(&words);
    let command = unwrapped(words).unwrap_or_default();
    let is_shell = command.first().is_some_and(|program| SHELLS.contains(&name(program)));
    if is_shell && line_for_shell(&command[1..]).is_some() && !is_told(command) {
        return true;
    }
    let is_plain = matches!(words, [only] if is_assignment(only) && only.ends_with(VALUE));
    match within {
        [only] if is_plain => !is_one_command(only),
        within => within.iter().any(|line| says(line, MAX_DEPTH)),
    }
}

/// Whether a line is one simple command that hides nothing.
fn is_one_command(line: &str) -> bool {
    let (steps, rest) = read_with_rest(line);
    let is_one = matches!(
        steps.as_slice(),
        [writes @ .., Step::Run { text, after: Joint::Next | Joint::Then, .. }]
            if writes.iter().all(|step| matches!(step, Step::Write(_))) && !hides(text, &[])
    );
    rest.is_none() && is_one
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

/// Whether an unread text begins with the definition of a function: `f() { …; }`.
fn is_function(rest: &str) -> bool {
    let Some((name, after)) = rest.split_once('(') else { return false };
    !name.trim().is_empty() && !name.contains('=') && after.trim_start().starts_with(')')
}
