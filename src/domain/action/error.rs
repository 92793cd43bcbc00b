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
pub(super) static ERROR: LazyLock<RegexSet> = LazyLock::new(|| {
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
pub(super) static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"(^|[\s(\[=:,])(?:'[^']*'|‘[^’]*’)|"[^"]*"|`[^`]*`|“[^”]*”"#));
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(^|[\s(\[=,:])(?:[a-z]+://[^\s)\],]+|[\w.@~$-]*/[^\s:)\],]*|[A-Z]:\\[^\s:)\],]*)")
});
pub(super) static HEX: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"\b(?:0x[0-9a-fA-F]+|[0-9a-f]*(?:\d[a-f]|[a-f]\d)[0-9a-f]{5,}(?:-[0-9a-f]+)*)\b")
});
static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex(r"\b\d[\d.,:]*(?:ms|s|m|h|[kKMG]i?B|%)?(?:\b|$)"));

pub(super) fn regex(pattern: &str) -> Regex {
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

/// The most lines of an output that are compared with the errors of triggers.
const MAX_ERROR_LINES: usize = 8;

/// The lines of an output that tell of errors, as printed. A single line is one whatever it says.
pub(super) fn lines(output: &str) -> Vec<String> {
    let plain = without_colours(output);
    let mut all = plain.lines().take(MAX_LINES).filter(|line| !line.trim().is_empty());
    let mut found: Vec<String> = Vec::new();
    let mut first: Option<String> = None;
    let (mut in_frames, mut follows) = (false, false);
    let mut count = 0;
    while let Some(line) = all.next().filter(|_| found.len() < MAX_ERROR_LINES) {
        count += 1;
        let line = clean(head(line));
        first.get_or_insert_with(|| line.clone());
        let ends_frames = in_frames && !line.starts_with([' ', '\t']);
        in_frames = (in_frames && !ends_frames) || line.starts_with("Traceback (most recent call last)");
        if ends_frames || follows || ERROR.is_match(&line) {
            follows = line.ends_with(':') && !follows;
            found.push(line);
        }
    }
    match first {
        Some(only) if count == 1 && found.is_empty() => vec![only],
        _ => found,
    }
}

/// A text that errors are searched for, masked once for all of them.
#[derive(Debug)]
pub struct Phrase {
    /// The text in the forms in which a line may have it. Empty for a text that tells no errors apart.
    masked: Vec<String>,
    /// What it names in quotes, as a path, a host or a port, in lower case.
    names: Vec<String>,
    /// The signature of a text that tells no errors apart: a guard of an older release may have one.
    alone: Option<ErrorSignature>,
}

/// A line of an error, masked once for all phrases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorLine {
    line: String,
    masked: [String; 2],
}

impl Phrase {
    /// The text of a trigger.
    pub fn of(text: &str) -> Self {
        let text = clean(head(text));
        if !tells_errors_apart(&text) {
            return Self { masked: Vec::new(), names: Vec::new(), alone: masked(&text) };
        }
        let masked =
            [masked_whole(&text), masked_once(&text)].into_iter().filter(|masked| !masked.is_empty());
        let names = names(&text).iter().map(|name| name.to_lowercase()).collect();
        Self { masked: masked.collect(), names, alone: None }
    }

    /// Like [`Phrase::of`], without what the text names: for signatures, which name nothing.
    pub fn without_names(text: &str) -> Self {
        Self::of(&masked_whole(&clean(head(text))))
    }

    /// Whether a line says the text, at the boundaries of words. Numbers, paths and quoted texts may differ where the text
    /// has a mask; what it names in quotes, a path, a host or a port must stand in the line.
    pub fn is_said_by(&self, said: &ErrorLine) -> bool {
        if self.alone.is_some() {
            return self.alone == masked(&said.line);
        }
        self.masked.iter().any(|want| said.masked.iter().any(|have| has_words(have, want)))
            && (self.names.is_empty() || {
                let line = said.line.to_lowercase();
                self.names.iter().all(|name| has_name(&line, name))
            })
    }
}

impl ErrorLine {
    /// A line as it was printed, or the signature of an error.
    pub fn of(line: &str) -> Self {
        let line = clean(head(line));
        Self { masked: [masked_whole(&line), masked_once(&line)], line }
    }

    /// The line without control characters.
    pub fn as_str(&self) -> &str {
        &self.line
    }
}

/// Whether a text stands in a line, and begins and ends no inner part of a word.
pub(super) fn has_words(line: &str, text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (first, last) = (text.chars().next().is_some_and(is_word), text.chars().last().is_some_and(is_word));
    line.match_indices(text).any(|(at, _)| {
        let before = line[..at].chars().last().is_some_and(is_word);
        let after = line[at + text.len()..].chars().next().is_some_and(is_word);
        !(first && before || last && after)
    })
}

/// Whether a text that stood in quotes stands in a line, and as no part of a dotted name: `yaml` is not `ruamel.yaml`.
fn has_name(line: &str, name: &str) -> bool {
    let goes_on = |mut around: std::str::Chars<'_>| {
        around.next() == Some('.') && around.next().is_some_and(char::is_alphanumeric)
    };
    let is_whole = |at: usize| {
        let before: String = line[..at].chars().rev().take(2).collect();
        !goes_on(before.chars()) && !goes_on(line[at + name.len()..].chars())
    };
    has_words(line, name) && line.match_indices(name).any(|(at, _)| is_whole(at))
}

/// A path without its beginning: another checkout of the same project begins elsewhere. Other texts as they are.
pub(super) fn from_checkout(path: &str) -> String {
    let parts: Vec<&str> = path.rsplit('/').take(2).collect();
    let is_placed = path.starts_with(['/', '~']) || path.starts_with("./");
    match parts.as_slice() {
        [file, "."] => (*file).to_owned(),
        [file, dir] if is_placed && !dir.is_empty() && !path.contains("tmp/") => format!("{dir}/{file}"),
        _ => path.to_owned(),
    }
}

/// A text with the paths below a root as paths from there: `./pool.toml` is the same file in each work tree.
pub fn from_root(text: &str, root: &str) -> String {
    let below = format!("{}/", root.trim_end_matches('/'));
    if below.len() < 2 || !text.contains(&below) {
        return text.to_owned();
    }
    let is_part = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    let mut relative = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(&below) {
        let (before, found) = rest.split_at(at);
        let before_file = before.strip_suffix("file://").unwrap_or(before);
        let is_whole = !before_file.ends_with(is_part);
        relative.push_str(if is_whole { before_file } else { before });
        relative.push_str(if is_whole { "./" } else { &below });
        rest = &found[below.len()..];
    }
    relative.push_str(rest);
    relative
}

/// What a text names: in quotes, as a path, a host or a port. Masks and temporary paths name nothing.
pub(super) fn names(text: &str) -> Vec<String> {
    static HOST: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:\d{1,3}(?:\.\d{1,3}){3}|localhost)(?::\d+)?\b|\b(?i:port) \d+\b|(?:^|[\s(@/])([a-z][\w.-]*:\d{3,5})\b",
        )
    });
    let text = &text[BEGINNING.find(text).map_or(0, |found| found.end())..];
    let quoted = QUOTED.find_iter(text).map(|found| {
        let quoted = found.as_str().trim_matches(|c: char| c.is_whitespace() || "\"'`‘’“”([=:,".contains(c));
        from_checkout(quoted)
    });
    let unquoted = QUOTED.replace_all(text, "${1} ");
    // `/a/b.rs:12` is where the error shows, and moves with every edit.
    let is_place =
        |after: &str| after.strip_prefix(':').is_some_and(|line| line.starts_with(char::is_numeric));
    let paths = PATH.find_iter(&unquoted).filter(|found| !is_place(&unquoted[found.end()..])).map(|found| {
        let path = found.as_str().trim_start_matches(|c: char| c.is_whitespace() || "([=,:".contains(c));
        from_checkout(path)
    });
    let hosts = HOST.captures_iter(&unquoted).filter_map(|found| {
        let host = found.get(1).or_else(|| found.get(0))?.as_str();
        // `app.js:120` is a place in a file.
        let name = host.split(':').next().unwrap_or(host);
        let is_file = found.get(1).is_some()
            && name.rsplit_once('.').is_some_and(|(_, end)| end.len() <= 3 && end != "com" && end != "org");
        (!is_file).then(|| host.to_owned())
    });
    let all = quoted.chain(paths).chain(hosts);
    let is_of_one_run = |name: &str| ["{", "tmp/", "_logs/"].iter().any(|part| name.contains(part));
    all.filter(|name| !name.is_empty() && !is_of_one_run(name)).collect()
}

/// The words that stand for what differs between runs.
const MASKS: [&str; 4] = ["{quoted}", "{path}", "{hex}", "{n}"];

/// A signature without its masks, and without what was only between them.
pub fn without_masks(signature: &str) -> String {
    if !MASKS.iter().any(|mask| signature.contains(mask)) {
        return signature.to_owned();
    }
    let text = MASKS.iter().fold(signature.to_owned(), |text, mask| text.replace(mask, " "));
    let words = text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric));
    words.map(|word| word.trim_start_matches(|c: char| !c.is_alphanumeric())).collect::<Vec<_>>().join(" ")
}

/// A signature as people read it: what a mask stands for is left open.
pub fn for_people(signature: &str) -> String {
    MASKS.iter().fold(signature.to_owned(), |text, mask| text.replace(mask, "…"))
}

/// The line of an output whose signature this is, as it was printed.
pub fn printed_error(output: &str, signature: &str) -> Option<String> {
    let is_it = |line: &&str| error_signature(line).is_some_and(|error| error.as_str() == signature);
    output.lines().find(is_it).map(|line| line.trim().to_owned())
}

/// The words of a text in lower case, without masks.
fn words(text: &str) -> Vec<String> {
    let text = MASKS.iter().fold(masked_whole(&clean(head(text))), |text, mask| text.replace(mask, " "));
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// The words of some lines, once each.
pub(super) fn words_of<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    let all: std::collections::BTreeSet<String> = lines.flat_map(words).collect();
    all.into_iter().collect()
}

/// The word under which the text of a trigger is stored: the longest one.
pub(super) fn rarest_word(text: &str) -> Option<String> {
    words(text).into_iter().max_by_key(|word| (word.len(), word.clone()))
}

/// Whether a text is enough to tell an error from others: two words, or one word that is long, in capitals, or has a digit.
pub fn tells_errors_apart(text: &str) -> bool {
    let words = words(text);
    let words: Vec<&String> = words.iter().filter(|word| word.contains(char::is_alphabetic)).collect();
    if words.iter().all(|word| OF_TOOLS.contains(&word.as_str())) {
        return false;
    }
    match words.as_slice() {
        [] => false,
        [only] => {
            let is_code = |word: &str| {
                word.to_lowercase() == **only
                    && (word.chars().all(|c| !c.is_lowercase())
                        || word.contains(|c: char| c.is_ascii_digit()))
            };
            only.chars().count() >= LONG_WORD_CHARS
                || text.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_code)
        }
        _ => true,
    }
}

/// Letters of a word that says enough alone.
const LONG_WORD_CHARS: usize = 8;
/// Words that tools print around any failure.
const OF_TOOLS: [&str; 47] = [
    "a",
    "aborted",
    "aborting",
    "an",
    "assert",
    "assertion",
    "assertionerror",
    "build",
    "code",
    "command",
    "compile",
    "could",
    "due",
    "elifecycle",
    "emitted",
    "err",
    "error",
    "errors",
    "exit",
    "exited",
    "fail",
    "failed",
    "failure",
    "failures",
    "in",
    "lib",
    "make",
    "non",
    "not",
    "npm",
    "of",
    "pass",
    "previous",
    "process",
    "recipe",
    "rerun",
    "returned",
    "script",
    "status",
    "target",
    "test",
    "tests",
    "to",
    "warning",
    "warnings",
    "with",
    "zero",
];

/// Whether a signature has only words that tools print around any failure, such as `exit code {n}`.
pub fn says_little(signature: &str) -> bool {
    words(signature).iter().all(|word| OF_TOOLS.contains(&word.as_str()))
}

/// A line without control characters and without blanks at its end.
pub(super) fn clean(line: &str) -> String {
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
            let says_something = without_masks(&line).contains(char::is_alphabetic);
            return line.parse().ok().filter(|_| says_something);
        }
        line = masked;
    }
    None
}

fn masked_once(line: &str) -> String {
    let beginning = BEGINNING.find(line).map_or(0, |found| found.end());
    // A line with nothing but a place or a severity keeps it as its message.
    masked_whole(if line[beginning..].trim().is_empty() { line } else { &line[beginning..] })
}

/// A line with its place and severity, and without what differs between runs.
fn masked_whole(line: &str) -> String {
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

    use super::{ErrorLine, Phrase, error_signature, tells_errors_apart};

    fn says(line: &str, text: &str) -> bool {
        Phrase::of(text).is_said_by(&ErrorLine::of(line))
    }

    /// Red before: an error about `ruamel.yaml` met a dead end about `yaml`.
    #[test]
    fn a_name_in_quotes_is_no_part_of_a_dotted_one() {
        let of_yaml = "No module named 'yaml'";
        for line in ["ModuleNotFoundError: No module named 'yaml'", "no module named 'yaml'."] {
            assert!(says(line, of_yaml), "{line}");
        }
        for line in ["No module named 'ruamel.yaml'", "No module named 'yaml.constructor'"] {
            assert!(!says(line, of_yaml), "{line}");
        }
    }

    #[test]
    fn words_that_tools_print_around_any_failure_tell_no_error_apart() {
        for text in ["error: aborting", "an error: aborted"] {
            assert!(!tells_errors_apart(text), "{text}");
            assert!(!says("error: aborting due to 3 previous errors in shop", text), "{text}");
        }
        assert!(tells_errors_apart("aborting: lock held"));
    }

    #[test]
    fn a_quoted_path_is_the_same_file_in_another_checkout() {
        let text = "cannot open '/home/ana/shop/conf/pool.toml'";
        assert!(says("error: cannot open '/srv/bo/shop-2/conf/pool.toml'", text));
        assert!(!says("error: cannot open '/srv/bo/shop-2/conf/cart.toml'", text));
    }

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
