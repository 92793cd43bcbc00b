//! Pipes in a line for the shell: the exit code of a pipe is that of its last command.

use std::fmt;

use super::normal::{KEYWORDS, MAX_DEPTH, SHELLS, is_assignment, line_for_shell, name, unwrapped};
use super::shell::{Joint, Step, VALUE, cut};

/// Commands whose own exit code tells nothing: they only feed the pipe.
const FEEDERS: [&str; 3] = ["echo", "printf", "yes"];

/// A pipe that hides how its first command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piped {
    /// The command whose end is hidden.
    pub first: String,
    /// The last command of the pipe.
    pub last: String,
    /// Whether the line ends with the pipe, so that the exit code of the line is that of `last`.
    pub ends_line: bool,
}

impl fmt::Display for Piped {
    /// What follows an exit code: `of …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last, ends_line } = self;
        if *ends_line {
            write!(f, "of `{last}`, the last of a pipe: says nothing about `{first}`")
        } else {
            write!(f, "after a pipe that ends in `{last}`: says nothing about `{first}`")
        }
    }
}

/// The last pipe of a line whose first command may have failed unseen. A line with `set -o pipefail` has none, nor has
/// one that cannot be read.
pub fn piped(line: &str) -> Option<Piped> {
    read(line, false, MAX_DEPTH)
}

fn read(line: &str, mut pipefail: bool, depth: usize) -> Option<Piped> {
    let depth = depth.checked_sub(1)?;
    let mut found: Option<Piped> = None;
    let mut within = Vec::new();
    // The first command of the pipe that is being read, and whether it only feeds the pipe.
    let mut first = (String::new(), false);
    let mut ends_subshell = false;
    for step in cut(line) {
        let (text, before) = match step {
            Step::Within(line) => {
                within.push(line);
                continue;
            }
            Step::Enter => continue,
            Step::Leave => {
                ends_subshell = true;
                continue;
            }
            Step::Run { text, before, .. } => (text.trim().to_owned(), before),
        };
        let words = shell_words::split(&text).unwrap_or_default();
        let spoken = words.iter().position(|word| !KEYWORDS.contains(&word.as_str())).unwrap_or(0);
        let words = &words[spoken..];
        let command = unwrapped(words).unwrap_or(words);
        let program = command.first().map_or("", |word| name(word));
        let within = std::mem::take(&mut within);
        if before == Joint::Pipe {
            let is_fed = first.1 && !std::mem::take(&mut ends_subshell);
            if !pipefail && !is_fed {
                found = Some(Piped { first: first.0.clone(), last: text, ends_line: true });
            }
            continue;
        }
        ends_subshell = false;
        if let Some(piped) = &mut found {
            piped.ends_line = false;
        }
        first = (text, FEEDERS.contains(&program));
        let says_pipefail = command.iter().any(|word| word == "pipefail");
        if program == "set" && says_pipefail {
            pipefail = !command.iter().any(|word| word.starts_with('+'));
        } else if SHELLS.contains(&program)
            && let Some(line) = line_for_shell(&command[1..])
        {
            found = read(line, says_pipefail && !line.contains("pipefail"), depth).or(found);
        } else if let [only] = words
            && is_assignment(only)
            && only.ends_with(VALUE)
        {
            // The exit code of an assignment is that of the substitution in it.
            found = within.iter().rev().find_map(|line| read(line, pipefail, depth)).or(found);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::piped;

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
        ] {
            assert_eq!(piped(line), None, "{line}");
        }
    }
}
