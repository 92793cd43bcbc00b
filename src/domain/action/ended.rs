//! What the end of a line for the shell shows about one of its commands.

use super::normal::{SETUP, SHELLS, after_keywords, below_program, line_for_shell, name, unwrapped};
use super::own::BETWEEN;
use super::shell::{self, Joint, Step};

/// The end of a command of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It ran, and the line does not show how it ended.
    Ran,
    /// The line does not show whether it ran.
    Unclear,
}

/// Words before a command that runs only where a condition holds.
const ON_CONDITION: [&str; 4] = ["case", "elif", "else", "then"];
/// What shells print where they cannot enter a directory.
const NO_DIRECTORY: [&str; 4] = ["cd: ", "can't cd to", "cannot cd to", "pushd: "];

/// The end of the first command of a line that `is_it` accepts. `failed` is the end of the line, and `is_hidden` tells whether
/// the line hides that of a command. `tail` is the end of the output.
pub fn end_of(
    line: &str,
    tail: Option<&str>,
    is_it: &dyn Fn(&str) -> bool,
    (failed, is_hidden): (bool, bool),
) -> End {
    if !failed && !is_hidden {
        return End::Passed;
    }
    let below = below_program(line);
    let runs: Vec<(String, Joint)> = shell::read(line)
        .0
        .into_iter()
        .filter_map(|step| match step {
            Step::Run { text, before, .. } => Some((text, before)),
            Step::Within(_) | Step::Write(_) | Step::Enter | Step::Leave => None,
        })
        .collect();
    // A command may have another directory than the line around it.
    let is_only = |text: &str| {
        runs.iter().filter(|(other, _)| !only_prepares(other)).count() == 1 && !only_prepares(text)
    };
    let found = runs.iter().position(|(text, _)| is_it(text));
    if let Some(below) = below {
        // What stands before the program does not end the line.
        return if found.is_some() { End::Unclear } else { end_of(&below, tail, is_it, (failed, is_hidden)) };
    }
    let Some(at) = found.or_else(|| runs.iter().position(|(text, _)| is_only(text))) else {
        return if failed { End::Unclear } else { End::Ran };
    };
    let is_sure = is_sure_to_run(&runs[..=at], tail);
    if let Some(inner) = line_within(&runs[at].0) {
        let is_end = at + 1 == runs.len();
        let end = end_of(&inner, tail, is_it, (failed, is_hidden || !is_end));
        return if is_sure { end } else { End::Unclear };
    }
    // Behind `||` stands what runs where it failed.
    let decides = runs.get(at + 1).is_none_or(|(_, before)| *before == Joint::Else);
    match (is_sure, failed && !is_hidden && decides) {
        (false, _) => End::Unclear,
        (true, true) => End::Failed,
        (true, false) => End::Ran,
    }
}

/// Whether the last of these commands runs for sure, whatever those before it end with.
fn is_sure_to_run(runs: &[(String, Joint)], tail: Option<&str>) -> bool {
    let first = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
    if runs.iter().any(|(text, _)| ON_CONDITION.contains(&first(text).as_str())) {
        return false;
    }
    let stops = runs.iter().any(|(text, _)| {
        text.trim()
            .strip_prefix("set -")
            .is_some_and(|flags| flags.split(' ').next().is_some_and(|flags| flags.contains('e')))
    });
    let lost = tail.is_some_and(|tail| NO_DIRECTORY.iter().any(|said| tail.contains(said)));
    let goes_on = |text: &str| {
        only_prepares(text) && !(lost && ["cd", "pushd", "popd"].contains(&first(text).as_str()))
    };
    let mut is_sure = true;
    for (pair, (_, before)) in runs.windows(2).zip(runs.iter().skip(1)) {
        match before {
            Joint::Then if stops => is_sure &= goes_on(&pair[0].0),
            Joint::Then | Joint::Aside => is_sure = true,
            Joint::Next => is_sure &= goes_on(&pair[0].0),
            Joint::Else => is_sure = false,
            Joint::Pipe => {}
        }
    }
    is_sure
}

/// Whether a command only prepares the next one, and hardly fails.
fn only_prepares(text: &str) -> bool {
    let Ok(words) = shell_words::split(text) else { return false };
    let Some([program, ..]) = unwrapped(after_keywords(&words)) else { return true };
    let fails = [".", "exit", "false", "return", "source", "wait"].contains(&program.as_str());
    !fails && (SETUP.contains(&name(program)) || BETWEEN.contains(&program.as_str()) || program == "mkdir")
}

/// The line that a shell gets as an argument.
fn line_within(text: &str) -> Option<String> {
    let words = shell_words::split(text).ok()?;
    let [program, arguments @ ..] = unwrapped(after_keywords(&words))? else { return None };
    SHELLS.contains(&name(program)).then(|| line_for_shell(arguments).map(str::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use super::{End, end_of};
    use crate::domain::action::piped;

    #[test]
    fn the_end_of_a_line_is_that_of_a_command_or_is_not() {
        let nowhere = "bash: cd: nowhere: No such file or directory";
        for (line, failed, tail, expected) in [
            ("make migrate", false, "", End::Passed),
            ("make migrate", true, "", End::Failed),
            ("cd db && make migrate", true, "make: *** [migrate] Error 1", End::Failed),
            ("cd nowhere && make migrate", true, nowhere, End::Unclear),
            ("make lint && make migrate", true, "", End::Unclear),
            ("make lint && make migrate", false, "", End::Passed),
            ("make migrate && pytest", true, "1 failed", End::Ran),
            ("make migrate && pytest", false, "", End::Passed),
            ("make lint; make migrate", true, "", End::Ran),
            ("set -e; make lint; make migrate", true, "", End::Unclear),
            ("make migrate | tail -3", false, "", End::Ran),
            ("make migrate || true", false, "", End::Ran),
            ("make migrate || exit 1", true, "", End::Failed),
            ("make lint || make migrate", false, "", End::Unclear),
            ("if [ -e x ]; then make migrate; fi", false, "", End::Unclear),
            ("while ! make migrate; do sleep 1; done", false, "", End::Ran),
            ("bash -c 'make migrate'", true, "", End::Failed),
            ("bash -c 'make lint && make migrate'", true, "", End::Unclear),
            ("bash -c 'make migrate' && pytest", true, "", End::Ran),
            ("A=1 make migrate", true, "", End::Failed),
            ("echo start; make migrate; echo done", false, "", End::Ran),
        ] {
            let is_it = |text: &str| text.contains("make migrate") || text.contains("bash -c");
            let end = end_of(line, Some(tail), &is_it, (failed, piped(line).is_some()));
            assert_eq!(end, expected, "{line}");
        }
    }

    /// A trigger that names a command by its directory does not know the command of a line that enters it.
    #[test]
    fn the_only_command_of_a_line_is_meant_where_none_is_recognised() {
        for (line, expected) in [
            ("cd web && npm ci", End::Failed),
            ("npm ci && npm test", End::Unclear),
            ("cd web", End::Unclear),
        ] {
            assert_eq!(end_of(line, None, &|_| false, (true, false)), expected, "{line}");
        }
    }
}
