//! The record of a line for the shell, by which a repetition is recognised: its commands, with their variables and pipes.

use super::normal::{
    FILTERS, MAX_DEPTH, SHELLS, after_keywords, is_assignment, line_for_shell, name, unwrapped,
};
use super::shell::{self, Joint, Step};

/// Filters that show another part of an output or put it into another order, and select nothing by what it says.
const CUTTING: [&str; 9] = ["cat", "column", "head", "less", "more", "sort", "tail", "tee", "uniq"];

/// The record of a line. `commands` are its commands in normal form, which leave out variables and the filters of a pipe.
pub fn record(line: &str, commands: &str) -> String {
    let (mut variables, mut filters) = (Vec::new(), Vec::new());
    collect(line, MAX_DEPTH, &mut variables, &mut filters);
    let mut record = variables.join(" ");
    if !record.is_empty() {
        record.push(' ');
    }
    record.push_str(commands);
    for filter in filters {
        record.push_str(" | ");
        record.push_str(&filter);
    }
    record
}

fn collect(line: &str, depth: usize, variables: &mut Vec<String>, filters: &mut Vec<String>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for step in shell::read(line).0 {
        let (text, before) = match step {
            Step::Run { text, before, .. } => (text, before),
            Step::Within(_) | Step::Enter | Step::Leave | Step::Write(_) => continue,
        };
        let Ok(words) = shell_words::split(&text) else { return };
        let words = after_keywords(&words);
        let command = unwrapped(words).unwrap_or_default();
        let own = &words[..words.len() - command.len()];
        let exported = if command.first().is_some_and(|word| word == "export") { command } else { &[] };
        let set = own.iter().chain(exported).filter(|word| is_assignment(word));
        let quoted = |word: &String| {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            format!("{name}={}", if value.is_empty() { "".into() } else { shell_words::quote(value) })
        };
        variables.extend(set.map(quoted));
        let [program, arguments @ ..] = command else { continue };
        let program = name(program);
        if SHELLS.contains(&program)
            && let Some(line) = line_for_shell(arguments)
        {
            collect(line, depth, variables, filters);
        } else if before == Joint::Pipe && FILTERS.contains(&program) && !CUTTING.contains(&program) {
            filters.push(shell_words::join(command));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::normalise;
    use super::record;

    #[test]
    fn a_record_has_the_variables_and_the_searches_of_its_line() {
        for (line, expected) in [
            ("cargo test 2>&1 | tail -5", "cargo test"),
            ("cat compose.yml | grep redis", "cat compose.yml | grep redis"),
            ("git ls-files | grep -v x | sort | wc -l", "git ls-files | grep -v x | wc -l"),
            ("STAGE=dev ./smoke.sh", "STAGE=dev smoke.sh"),
            ("env STAGE=prod sudo ./smoke.sh", "STAGE=prod smoke.sh"),
            ("export STAGE=dev && ./smoke.sh", "STAGE=dev smoke.sh"),
            ("bash -lc 'A=1 ls | grep \"a b\"'", "A=1 ls | grep 'a b'"),
            ("if A=1 ls; then echo; fi", "A=1 ls"),
        ] {
            let commands: Vec<String> = normalise(line, "/w", "/w").iter().map(ToString::to_string).collect();
            assert_eq!(record(line, &commands.join(" ; ")), expected, "{line}");
        }
    }
}
