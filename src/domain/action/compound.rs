//! Lines for the shell that end in a loop, a condition or a function: their exit code need not be that of the check.

use super::shell::{Joint, Step, VALUE, read_with_rest};

/// The words that begin a compound command of the shell.
const BEGIN: [&str; 7] = ["case", "for", "function", "if", "select", "until", "while"];
/// The words that end one: `end` is that of fish.
const END: [&str; 4] = ["done", "end", "esac", "fi"];
/// Words that may stand between the beginning of a command and its program.
const BEFORE: [&str; 6] = ["!", "do", "else", "then", "time", "{"];
/// The number of words of the shortest loop over something: `for a in b`.
const SHORTEST_LOOP: usize = 4;

/// The word that begins the compound command at the end of a line. A loop has the exit code of its last turn, a condition
/// that of the branch which it took, and only a shell can tell that of a function. None for a `for` loop of a line that stops
/// at each failure, and for a loop that waits until a check passes.
pub(super) fn ends_in_compound(line: &str, options: &[String]) -> Option<&'static str> {
    let (steps, rest) = read_with_rest(line);
    let texts = steps.iter().filter_map(|step| match step {
        Step::Run { text, .. } => Some(text.as_str()),
        Step::Within(_) | Step::Write(_) | Step::Enter | Step::Leave => None,
    });
    let commands: Vec<&str> = texts.map(spoken).filter(|text| !text.starts_with('}')).collect();
    let begun = commands.iter().rev().find_map(|text| begins(text));
    if let Some(rest) = rest {
        return begins(spoken(&rest)).or_else(|| is_function(&rest).then_some("function")).or(begun);
    }
    if commands.iter().any(|text| first_word(text) == "function") {
        return Some("function");
    }
    let is_end = commands.last().is_some_and(|text| END.contains(&first_word(text)));
    begun.filter(|_| is_end && !only_waits(&commands) && !stops_at_failure(line, options))
}

/// Whether commands end in a loop that ends once a check passes: `until test -e a; do sleep 1; done`.
fn only_waits(commands: &[&str]) -> bool {
    let [.., condition, body, _] = commands else { return false };
    let mut words = condition.split_whitespace();
    let ends_by_success = match (words.next(), words.next()) {
        (Some("until"), _) => true,
        (Some("while"), Some(word)) => ["!", ":", "true"].contains(&word),
        _ => false,
    };
    ends_by_success && first_word(body) == "sleep"
}

/// Whether a line stops at the first command that fails, also in its loops: after `set -e`, with nothing in it of which the
/// shell ignores that it fails.
pub(super) fn stops_at_failure(line: &str, options: &[String]) -> bool {
    let (steps, None) = read_with_rest(line) else { return false };
    let mut stops = options.iter().take_while(|word| *word != line).any(|word| is_errexit(word));
    let mut is_first = true;
    for step in &steps {
        let Step::Run { text, before, after } = step else { continue };
        let is_set = first_word(text) == "set";
        if std::mem::take(&mut is_first) && is_set {
            stops |= text.split_whitespace().any(is_errexit);
        }
        let is_ignored = [before, after].iter().any(|joint| !matches!(joint, Joint::Next | Joint::Then));
        let is_lifted = is_set && text.contains('+') || text.split_whitespace().any(|word| word == "!");
        let is_other = begins(spoken(text)).is_some_and(|word| word != "for" || !is_over_words(text));
        if is_ignored || is_lifted || is_other {
            return false;
        }
    }
    stops && !line.contains("&&") && !line.trim_end().ends_with('&')
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
