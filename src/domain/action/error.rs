//! The signature of an error: its first line, without the parts that differ between runs.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use crate::domain::text::ErrorSignature;

/// Lines of an output that are searched. A failed command reports its error at the beginning, or in no useful
/// place.
const MAX_LINES: usize = 2_000;
/// Bytes of each line that are searched.
const MAX_LINE_BYTES: usize = 2_000;

/// Patterns for the first line of an error, for the tools that agents run.
static ERROR: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new([
        // Without a place: rustc, git, cargo, docker, gcc, GNU make, npm.
        r"^(?i:error|fatal|panic|failure)(?:\[[A-Z]*\d+\])?:",
        r"^(?:\S+: )?\*\*\* ",
        r"^npm (?i:err!|error) ",
        // With a place first: gcc, clang, tsc, go vet, eslint.
        r"^\S+?[:(]\d+(?:[:,]\d+)?\)?:? +(?i:fatal )?(?i:error)\b",
        // `ld: error: …`, `docker: Error response …`
        r"^[\w./-]+: (?i:fatal )?(?i:error)\b",
        // Python, Java, JavaScript, Ruby: the type of the error, alone or before its message.
        r"^(?:Uncaught |Unhandled |Caused by: |Exception in thread \S+ )?[\w.$:]*(?:Error|Exception|Panic)(?::|$)",
        r"^thread '.*' \(?.*panicked at ",
        r"^panic: ",
        // Tests: pytest, go, jest, cargo, mocha.
        r"^E {2,}\S",
        r"^--- FAIL: ",
        r"^FAIL(?:ED)?[: \t]",
        r"^\s*[✗✖✕×●] ",
        // Shells and the operating system.
        r": (?:command not found|[Nn]o such file or directory|[Pp]ermission denied|not found)\b",
        r"(?:undefined reference to|cannot find -l|[Ss]egmentation fault|[Cc]onnection refused|[Tt]imed out)",
        r"^(?i:error|failed to|could not|cannot|unable to)\b",
    ])
    .expect("patterns of our own, used by the tests below")
});

/// The start of an error line that says nothing about the error itself: a place, a severity, a thread.
static BEGINNING: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?:\s*(?:[✗✖✕×●]|E {2,}|(?:\S+?[:(]\d+(?:[:,]\d+)*\)?:? )|(?i:npm (?:err!|error) )|(?i:(?:uncaught|unhandled|fatal|error|panic|failure|caused by)(?:\[[a-z]*\d+\])?: )|Exception in thread \S+ |thread '[^']*' (?:\(\d+\) )?panicked at (?:\S+:\d+:\d+:? )?))+",
    )
});
static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"(^|[\s(\[=:,])(?:'[^']*'|‘[^’]*’)|"[^"]*"|`[^`]*`|“[^”]*”"#));
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(^|[\s(\[=,:])(?:[a-z]+://[^\s)\],]+|[\w.@~$-]*/[^\s:)\],]*|[A-Z]:\\[^\s:)\],]*)")
});
static HEX: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"\b(?:0x[0-9a-fA-F]+|[0-9a-f]*(?:\d[a-f]|[a-f]\d)[0-9a-f]{5,}(?:-[0-9a-f]+)*)\b")
});
static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex(r"\b\d[\d.,:]*(?:ms|s|m|h|[kKMG]i?B|%)?(?:\b|$)"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of our own, used by the tests below")
}

/// The signature of the first error in the output of a tool, or of an error quoted by an agent. Both use this
/// function, so that they match. Masks numbers, paths, hex and quoted text; drops case and severity. `None` when
/// several lines contain nothing that looks like an error.
pub fn error_signature(text: &str) -> Option<ErrorSignature> {
    let plain = without_colours(text);
    let mut lines = plain.lines().filter(|line| !line.trim().is_empty());
    match (lines.next(), lines.next()) {
        // A single line is a quoted error.
        (Some(line), None) => masked(&clean(line)),
        _ => error_in(text),
    }
}

/// The signature of the first error in the output of a command that may have succeeded: like [`error_signature`], but a
/// single line counts only if it looks like an error.
pub fn error_in(output: &str) -> Option<ErrorSignature> {
    let output = without_colours(output);
    let mut lines = output.lines().take(MAX_LINES).filter(|line| !line.trim().is_empty());
    while let Some(line) = lines.next() {
        let line = clean(head(line));
        if line.starts_with("Traceback (most recent call last)") {
            // The exception stands below the stack frames, which are indented.
            return lines.find(|line| !line.starts_with([' ', '\t'])).and_then(|line| masked(&clean(line)));
        }
        if ERROR.is_match(&line) {
            let says_nothing =
                line.ends_with(':') && (line.contains("panicked at") || masked(&line).is_none());
            let says = if says_nothing { lines.next().map(clean) } else { None };
            return masked(says.as_deref().unwrap_or(&line));
        }
    }
    None
}

/// A line without control characters and without blanks at its end.
fn clean(line: &str) -> String {
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    line.trim_end().to_owned()
}

fn head(line: &str) -> &str {
    &line[..line.floor_char_boundary(MAX_LINE_BYTES)]
}

/// The text without the terminal escapes for colours.
fn without_colours(text: &str) -> String {
    static COLOUR: LazyLock<Regex> = LazyLock::new(|| regex("\u{1b}\\[[0-9;?]*[A-Za-z]"));
    COLOUR.replace_all(text, "").into_owned()
}

/// The most passes of [`masked_once`]. All real lines reach their final form after two.
const MAX_PASSES: usize = 5;

fn masked(line: &str) -> Option<ErrorSignature> {
    let mut line = head(line).to_owned();
    for _ in 0..MAX_PASSES {
        let masked = masked_once(&line);
        if masked == line {
            let says_something = ["{quoted}", "{path}", "{hex}", "{n}"]
                .iter()
                .fold(line.clone(), |line, mask| line.replace(mask, ""))
                .contains(char::is_alphabetic);
            return line.parse().ok().filter(|_| says_something);
        }
        line = masked;
    }
    None
}

fn masked_once(line: &str) -> String {
    let beginning = BEGINNING.find(line).map_or(0, |found| found.end());
    // A line with nothing but a place or a severity keeps it as its message.
    let line = if line[beginning..].trim().is_empty() { line } else { &line[beginning..] };
    let line = QUOTED.replace_all(line, "${1}{quoted}");
    let line = PATH.replace_all(&line, "${1}{path}");
    let line = HEX.replace_all(&line, "{hex}");
    let line = NUMBER.replace_all(&line, "{n}");
    let line = line.to_lowercase();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    line.trim_end_matches(['.', ' ']).chars().take(ErrorSignature::MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::error_signature;

    #[test]
    fn the_first_error_is_found_in_what_tools_write() {
        let outputs = [
            "   Compiling shop v0.1.0\nwarning: unused import\nerror[E0308]: mismatched types\n --> src/a.rs:3:5",
            "error: could not compile `shop` (lib) due to 2 previous errors",
            "\u{1b}[31merror\u{1b}[0m: linking with `cc` failed: exit status: 1",
            "/usr/bin/ld: cannot find -lssl: No such file or directory\ncollect2: error: ld returned 1 exit status",
            "main.c:3:5: error: use of undeclared identifier 'x'\n1 error",
            "src/app.ts(12,7): error TS2304: Cannot find name 'foo'.",
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    f()\nValueError: bad value 17 for 'n'\n",
            "pool.py\nE       AssertionError: assert 3 == 4\nFAILED tests/test_pool.py::test_get",
            "running 3 tests\nthread 'main' panicked at src/a.rs:4:5:\nindex out of bounds: the len is 3 but the index is 7\nnote: run",
            "running\nthread 'pool' panicked at 'oh no', src/a.rs:4:5",
            "panic: runtime error: invalid memory address\n\ngoroutine 1 [running]:",
            "npm warn old\nnpm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree",
            "yarn run\n/home/ana/shop/node_modules/x/index.js:10\n    throw new TypeError('x')\nTypeError: x is not a function\n    at y",
            "ok\nbash: cargoo: command not found",
            "ok\nmake: *** [Makefile:12: test] Error 2",
            "ok\n--- FAIL: TestPool (0.03s)\n    pool_test.go:12: got 3",
            "ok\nfatal: not a git repository (or any of the parent directories): .git",
            "ok\nconnect to 127.0.0.1:5432 failed: Connection refused",
            "Exception in thread \"main\" java.lang.NullPointerException: null at 0x7ffe12\n\tat A.b(A.java:3)",
            "cannot find -lssl",
            "pool timed out after 30s (waiting for 12 of 20)",
            "object 1a2b3c4d5e6f is missing in https://example.org/a/b",
            "all good\nnothing to see\n3 passed",
            "12345",
            "",
        ];
        let told: Vec<String> = outputs
            .iter()
            .map(|output| match error_signature(output) {
                Some(signature) => signature.to_string(),
                None => "-".to_owned(),
            })
            .collect();
        expect![[r#"
            mismatched types
            could not compile {quoted} (lib) due to {n} previous errors
            linking with {quoted} failed: exit status: {n}
            {path}: cannot find -lssl: no such file or directory
            use of undeclared identifier {quoted}
            error ts2304: cannot find name {quoted}
            valueerror: bad value {n} for {quoted}
            assertionerror: assert {n} == {n}
            index out of bounds: the len is {n} but the index is {n}
            -
            runtime error: invalid memory address
            code eresolve
            typeerror: x is not a function
            bash: cargoo: command not found
            make: *** [makefile:{n}: test] error {n}
            --- fail: testpool ({n})
            not a git repository (or any of the parent directories): .git
            connect to {n} failed: connection refused
            java.lang.nullpointerexception: null at {hex}
            cannot find -lssl
            pool timed out after {n} (waiting for {n} of {n})
            object {hex} is missing in {path}
            -
            -
            -"#]]
        .assert_eq(&told.join("\n"));
    }

    #[test]
    fn what_an_agent_quotes_meets_what_the_tool_writes() {
        for (output, quoted) in [
            ("a\nerror[E0308]: mismatched types\n --> src/a.rs:3:5", "mismatched types"),
            ("a\nerror[E0308]: mismatched types\n --> src/a.rs:3:5", "error[E0308]: mismatched types"),
            ("a\nsrc/a.rs:9:1: error: pool timed out after 30s", "pool timed out after 5s"),
            ("a\nTypeError: 'a' is not a function\n  at b", "TypeError: 'other' is not a function"),
            (
                "a\nthread 'x' panicked at src/a.rs:1:2:\nlen is 3 but the index is 7\nnote",
                "thread 'main' panicked at src/b.rs:4:5:\nlen is 5 but the index is 9",
            ),
            ("a\nopen /tmp/x/1.db: permission denied", "open /home/bo/2.db: permission denied"),
        ] {
            let (left, right) = (error_signature(output), error_signature(quoted));
            assert!(left.is_some());
            assert_eq!(left, right, "{quoted}");
        }
        assert_ne!(error_signature("error: mismatched types"), error_signature("error: unknown field"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn a_signature_is_its_own_signature(
            output in prop_oneof![
                "(error|E   |fatal|warning|at|src/a\\.rs:3:5|'x'|`y`|0x1f2e3d4c|12ms|Traceback|panicked|: |:| |\n){0,12}",
                any::<String>(),
            ],
        ) {
            if let Some(signature) = error_signature(&output) {
                prop_assert_eq!(error_signature(signature.as_str()), Some(signature));
            }
        }
    }
}
