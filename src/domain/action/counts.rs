//! The numbers of failures that an output tells.

/// Words behind a number that count what failed or passed.
const COUNTED: [&str; 8] =
    ["failed", "errors", "error", "passed", "failures", "failing", "previous", "problems"];
/// Those by which a run of tests counts its failures.
const OF_TESTS: [&str; 3] = ["failed", "failures", "failing"];
/// The last lines of an output, in which a run of tests sums up.
const LAST_LINES: usize = 5;

/// The numbers of errors and failures in an output, each with its word.
pub fn counts(output: &str) -> Vec<(&'static str, &str)> {
    let words: Vec<&str> = output
        .split(|c: char| c.is_whitespace() || ",;()[]=:".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let counted = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        COUNTED.into_iter().find(|known| known.eq_ignore_ascii_case(word))
    };
    words
        .windows(2)
        .filter(|pair| is_number(pair[0]))
        .filter_map(|pair| Some((counted(pair[1])?, pair[0])))
        .collect()
}

/// The failures that a run of tests counts in its last lines: `2 failed`.
pub fn failures_counted(output: &str) -> Option<String> {
    let last = output.lines().rev().filter(|line| !line.trim().is_empty()).take(LAST_LINES);
    last.flat_map(counts)
        .find(|(word, count)| OF_TESTS.contains(word) && count.bytes().any(|digit| digit != b'0'))
        .map(|(word, count)| format!("{count} {word}"))
}

#[cfg(test)]
mod tests {
    use super::failures_counted;

    #[test]
    fn only_a_run_of_tests_counts_its_failures() {
        for (output, expected) in [
            ("FAILED a.py::b\n2 failed, 46 passed in 18.14s", Some("2 failed")),
            ("test result: FAILED. 3 passed; 1 failed; 0 ignored\n\nerror: test failed", Some("1 failed")),
            ("  10 passing (2s)\n  3 failing\n", Some("3 failing")),
            ("Tests: 2 failed, 5 passed, 7 total", Some("2 failed")),
            ("48 passed, 0 failed in 3s", None),
            ("3 errors, 2 warnings", None),
            ("2 failed\n1\n2\n3\n4\n5 passed", None),
            ("", None),
        ] {
            assert_eq!(failures_counted(output).as_deref(), expected, "{output}");
        }
    }
}
