//! The fault of a failed command. Two failures are the same if their faults are equal.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::error::{
    ERROR, HEX, QUOTED, clean, error_signature, from_checkout, lines, names, regex, says_little,
};
use super::steady::{steady, steady_line};
use crate::domain::text::OutputTail;

/// The key of an error by which two failures are the same: its signature, and what the tail of the output says about it
/// (the words of its error lines, what the lines around them quote, their files, tests and codes). Line numbers, times,
/// hashes, ids of processes and temporary files say nothing.
pub fn fault(signature: &str, tail: Option<&str>) -> String {
    let tail = tail.unwrap_or_default();
    // The beginning of a full tail is cut somewhere in a line.
    let is_cut = tail.chars().count() >= OutputTail::MAX_CHARS;
    let whole = tail.split_once('\n').filter(|_| is_cut).map_or(tail, |(_, whole)| whole);
    let errors = lines(whole);
    let is_there =
        errors.iter().any(|line| error_signature(line).is_some_and(|own| own.as_str() == signature));
    // Where the line of the error is not in the tail, only the same tail says the same.
    if is_cut && !is_there {
        return format!("{signature}\n{}", steady(whole));
    }
    let mut said: BTreeSet<String> =
        errors.iter().flat_map(|line| names_of(line).chain(named_besides(line))).collect();
    said.extend(named_around(whole));
    let names_nothing = said.is_empty();
    let errors: Vec<String> = errors.iter().map(|line| steady_line(line)).collect();
    if is_there {
        let words = errors.iter().filter_map(|line| error_signature(line)).map(String::from);
        said.extend(words.filter(|line| !says_little(line)));
    }
    said.extend(errors.iter().flat_map(|line| numbers(line, names_nothing)));
    std::iter::once(signature.to_owned()).chain(said).collect::<Vec<_>>().join("\n")
}

/// What a line of an error [`names`], without the ids in it: a container has another one in the next run.
fn names_of(line: &str) -> impl Iterator<Item = String> {
    names(line).into_iter().map(|name| HEX.replace_all(&name, "{hex}").into_owned())
}

/// A text in quotes without what surrounds it.
fn unquoted(quoted: &str) -> &str {
    quoted.trim_matches(|c: char| c.is_whitespace() || "\"'`‘’“”([=:,".contains(c))
}

/// The files of a line that stand there with a line number.
fn places(line: &str) -> impl Iterator<Item = &str> {
    static PLACE: LazyLock<Regex> = LazyLock::new(|| regex(r"([\w.@~$/-]+\.[A-Za-z]{1,5})[:(]\d"));
    PLACE.captures_iter(line).filter_map(|found| Some(found.get(1)?.as_str()))
}

/// The names that are the same in the next run and in another checkout.
fn lasting<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let names = names.map(|name| steady_line(&from_checkout(name)));
    let is_of_one_run = |name: &str| ["{", "tmp/", "_logs/"].iter().any(|part| name.contains(part));
    names.filter(|name| name.contains(char::is_alphabetic) && !is_of_one_run(name)).collect()
}

/// What a line of an error names besides [`names`]: the texts in quotes and the files at its beginning, the files with
/// their lines, and the tests.
fn named_besides(line: &str) -> Vec<String> {
    static TEST: LazyLock<Regex> =
        LazyLock::new(|| regex(r"[\w.\[\]-]+(?:::[\w\[\]-]+)+|\bFAIL: (\w\S*)|^FAIL(?:ED)?:? +(\S+)"));
    let quoted = QUOTED.find_iter(line).map(|found| unquoted(found.as_str()));
    let tests = TEST.captures_iter(line).filter_map(|found| {
        let test = found.get(1).or_else(|| found.get(2)).or_else(|| found.get(0))?;
        Some(test.as_str())
    });
    lasting(quoted.chain(tests).chain(places(line)))
}

/// What the lines around an error quote, and their files: those of its paragraph, and stack frames below it, which are
/// indented. Paragraphs of warnings are about something else.
fn named_around(text: &str) -> Vec<String> {
    let lines: Vec<String> = text.lines().map(|line| clean(&line.replace('\t', " "))).collect();
    let paragraphs = lines.split(|line| line.trim().is_empty());
    let is_warning =
        |lines: &[String]| lines.first().is_some_and(|line| line.trim_start().starts_with("warning"));
    let mut named = Vec::new();
    for paragraph in paragraphs.filter(|lines| !is_warning(lines)) {
        let has_error = paragraph.iter().any(|line| ERROR.is_match(line));
        for line in paragraph.iter().filter(|line| has_error || line.starts_with(' ')) {
            let quoted = QUOTED.find_iter(line).map(|found| unquoted(found.as_str()));
            named.extend(lasting(quoted.chain(places(line))));
        }
    }
    named
}

/// The numbers of a line by which errors differ: codes and versions. `of_any` asks for all numbers.
fn numbers(line: &str, of_any: bool) -> Vec<String> {
    static CODE: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"(?i-u:\b(?:status|code|exit|exited|errno|error|signal|http(?:/[0-9.]+)?)\b[ -/:<-~]{0,12}([0-9]{1,5})\b)",
            r"|(?-u:\b[A-Z]{2,}-([0-9]+)\b)",
            r"|(?i-u:\b(?:version|python|node|java|v) ?|\w(?:==|>=|<=|~=|@))([0-9]+(?:\.[0-9]+)*)",
            // `failed (401)`, `requires rustc 1.88`
            r"|\(([45][0-9]{2})\)(?:[.,:;]|$)",
            r"|(?i-u:\b(?:requires?|needs?|wants?)(?: [a-z@/+_-]+){1,3} v?)([0-9]+(?:\.[0-9]+)+)",
        ))
    });
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex(r"(?-u:\b[0-9]+(?:\.[0-9]+)*\b)"));
    // Node and others write a port behind the colons of an address for all.
    static PORT: LazyLock<Regex> = LazyLock::new(|| regex(r"::([0-9]{2,5})(?-u:\b)"));
    let ports: Vec<String> = PORT.captures_iter(line).map(|found| found[1].to_owned()).collect();
    // A place in a file moves with each edit, and the next run has other ids, tries and sizes.
    static LINE: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"(?::|(?-u:\b)\()[0-9]+(?:[:,][0-9]+)*\)?",
            r"|(?i-u:\b(?:line|column|col|pid|process|thread) [0-9]+)",
            r"|(?i-u:\b(?:attempt|try|retry) [0-9]+(?: of [0-9]+|/[0-9]+)?)",
            r"|(?-u:\b[0-9]{4,} bytes\b)",
        ))
    });
    let line = LINE.replace_all(line, " ");
    if of_any {
        let numbers = NUMBER.find_iter(&line).map(|found| found.as_str().to_owned());
        return numbers.chain(ports).collect();
    }
    let codes = CODE.captures_iter(&line).filter_map(|found| found.iter().skip(1).flatten().next());
    codes.map(|code| code.as_str().to_owned()).chain(ports).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{error_signature, from_root};
    use super::{fault, unquoted};

    fn of(output: &str) -> String {
        let signature = error_signature(output).unwrap_or_else(|| panic!("no error in {output}"));
        let end = output.char_indices().rev().nth(399).map_or(0, |(at, _)| at);
        fault(signature.as_str(), Some(&output[end..]))
    }

    fn linked(library: &str, hash: &str) -> String {
        format!(
            "error: linking with `cc` failed: exit status: 1\n  |\n  = note:  \"cc\" \"-m64\" \"/tmp/rustc{hash}/symbols.o\"\n  \
             = note: /usr/bin/ld: cannot find -l{library}: No such file or directory\n          collect2: error: ld \
             returned 1 exit status\n\nerror: could not compile `pool` (bin \"pool\") due to 1 previous error\n"
        )
    }

    fn rustc(code: &str, message: &str, at: &str, detail: &str, end: &str) -> String {
        let line = at.split(':').nth(1).unwrap_or_default();
        format!(
            "error[{code}]: {message}\n --> {at}\n   |\n{line} |     foo\n   |     ^^^ {detail}\n\n\
             error: could not compile `pool` (lib) due to {end}\n"
        )
    }

    fn traced(file: &str, line: u32, error: &str) -> String {
        format!(
            "Traceback (most recent call last):\n  File \"{file}\", line {line}, in <module>\n    foo()\n{error}\n"
        )
    }

    fn panicked(function: &str, file: &str, goroutine: u32, at: &str) -> String {
        format!(
            "panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV]\n\n\
             goroutine {goroutine} [running]:\nmain.{function}(...)\n\t/r/{file}:{at}\n"
        )
    }

    /// Red before: the signature hid by what these errors differ, and the fix of one was told about the other.
    #[test]
    fn errors_that_differ_in_what_a_signature_masks_are_no_same_fault() {
        let mismatch = "mismatched types";
        let end = "1 previous error";
        for (one, other) in [
            (linked("pq", "a1"), linked("ssl", "a1")),
            (
                rustc("E0308", mismatch, "src/net.rs:10:5", "expected `u32`, found `u64`", end),
                rustc("E0308", mismatch, "src/net.rs:10:5", "expected `String`, found `&str`", end),
            ),
            (
                rustc("E0106", "missing lifetime specifier", "src/net.rs:10:5", "expected lifetime", end),
                rustc("E0106", "missing lifetime specifier", "src/http.rs:10:5", "expected lifetime", end),
            ),
            (
                "  File \"m.py\", line 3\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n".to_owned(),
                "  File \"lib/o.py\", line 8\n    def f(:\n          ^\nSyntaxError: invalid syntax\n"
                    .to_owned(),
            ),
            (
                traced("z.py", 3, "ZeroDivisionError: division by zero"),
                traced("stats.py", 9, "ZeroDivisionError: division by zero"),
            ),
            (
                traced("a.py", 1, "ModuleNotFoundError: No module named 'yaml'"),
                traced("a.py", 1, "ModuleNotFoundError: No module named 'requests'"),
            ),
            (
                "Error: request failed with status code 401\n".to_owned(),
                "Error: request failed with status code 404\n".to_owned(),
            ),
            (
                "Error: container exited with code 137\n".to_owned(),
                "Error: container exited with code 2\n".to_owned(),
            ),
            (
                "Error: listen EADDRINUSE: address already in use :::3000\n".to_owned(),
                "Error: listen EADDRINUSE: address already in use :::5000\n".to_owned(),
            ),
            ("error: `api` answered HTTP 503\n".to_owned(), "error: `api` answered HTTP 401\n".to_owned()),
            (
                "error: a takes 2 arguments, 1 given\n".to_owned(),
                "error: a takes 3 arguments, 1 given\n".to_owned(),
            ),
            ("error: `pool` needs python>=3.11\n".to_owned(), "error: `pool` needs python>=3.9\n".to_owned()),
            (panicked("load", "load.go", 1, "9"), panicked("save", "save.go", 1, "9")),
            // Red before: a number in brackets was a place, and a version counted behind few words.
            (
                "Error: login to registry failed (401)\n".to_owned(),
                "Error: login to registry failed (503)\n".to_owned(),
            ),
            (
                "Error: upload of `pool` failed (401)\n".to_owned(),
                "Error: upload of `pool` failed (503)\n".to_owned(),
            ),
            (
                "error: package `a v1.0.2` cannot be built because it requires rustc 1.88 or newer\n"
                    .to_owned(),
                "error: package `a v1.0.2` cannot be built because it requires rustc 1.95 or newer\n"
                    .to_owned(),
            ),
            (
                "error: key of pool must have 16 bytes\n".to_owned(),
                "error: key of pool must have 32 bytes\n".to_owned(),
            ),
        ] {
            assert_ne!(of(&one), of(&other), "{one} | {other}");
        }
    }

    #[test]
    fn the_same_error_in_another_run_is_the_same_fault() {
        let detail = "expected `u32`, found `u64`";
        let warned = format!(
            "warning: unused variable: `a`\n --> src/x.rs:1:1\n\n{}",
            rustc(
                "E0308",
                "mismatched types",
                "src/net.rs:14:5",
                detail,
                "1 previous error; 1 warning emitted"
            )
        );
        for (one, other) in [
            (linked("pq", "a1B2c3"), linked("pq", "Zz9Yy8")),
            (rustc("E0308", "mismatched types", "src/net.rs:10:5", detail, "1 previous error"), warned),
            (traced("z.py", 3, "ZeroDivisionError: division by zero"), traced("z.py", 30, "ZeroDivisionError: division by zero")),
            (panicked("load", "load.go", 1, "9 +0x1d"), panicked("load", "load.go", 34, "12 +0x2f")),
            (
                "error: pool timed out after 30s, request 4711 at 10:12:13".to_owned(),
                "error: pool timed out after 31s, request 4822 at 11:14:00".to_owned(),
            ),
            // Red before: ids in quotes, tries and sizes of memory counted.
            (
                format!("Error: container \"{}\" holds the name of shop\n", "4f5a8b1c9d2e"),
                format!("Error: container \"{}\" holds the name of shop\n", "aa5a8b1c9d2e"),
            ),
            (
                format!("Error: container \"{}\" holds the name of shop\n", "4f".repeat(32)),
                format!("Error: container \"{}\" holds the name of shop\n", "a1".repeat(32)),
            ),
            (
                format!("fatal: bad object '{}' of shop\n", "4f5a".repeat(10)),
                format!("fatal: bad object '{}' of shop\n", "a1b2".repeat(10)),
            ),
            (
                "Error: migration transom failed (attempt 3 of 5)\n".to_owned(),
                "Error: migration transom failed (attempt 5 of 5)\n".to_owned(),
            ),
            (
                "Error: out of memory while packing 1048576 bytes\n".to_owned(),
                "Error: out of memory while packing 2097152 bytes\n".to_owned(),
            ),
            (
                "error: process 4711 holds the lock at 0x7ffe1200".to_owned(),
                "error: process 812 holds the lock at 0x7ffe5566".to_owned(),
            ),
            (
                "thread 'main' panicked at src/net.rs:10:5:\ncalled `Option::unwrap()` on a `None` value\n".to_owned(),
                "thread 'main' (812) panicked at src/net.rs:12:5:\ncalled `Option::unwrap()` on a `None` value\n".to_owned(),
            ),
        ] {
            assert_eq!(of(&one), of(&other));
        }
    }

    #[test]
    fn a_text_is_taken_out_of_its_quotes() {
        for (quoted, text) in
            [("`pool`", "pool"), (" 'a b' ", "a b"), ("(\"x\"", "x"), ("=\u{2018}y\u{2019}", "y")]
        {
            assert_eq!(unquoted(quoted), text);
        }
    }

    /// Red before: errors with the same signature were the same, whatever they named.
    #[test]
    fn two_errors_are_the_same_fault_if_they_name_the_same() {
        let test = |name: &str, line: u32, what: &str| {
            format!(
                "E       AssertionError: assert {what}\n\ntests/test_{name}.py:{line}: AssertionError\n\
                 FAILED tests/test_{name}.py::test_{name} - AssertionError: assert {what}\n1 failed in 0.0{line}s"
            )
        };
        for (one, other, is_same) in [
            (test("pool", 3, "2 == 1"), test("pool", 5, "7 == 1"), true),
            (test("pool", 3, "2 == 1"), test("auth", 3, "401 == 200"), false),
            ("E   KeyError: 'user'".to_owned(), "E   KeyError: 'price'".to_owned(), false),
            (
                "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.".to_owned(),
                "src/a.ts(9,1): error TS2322: Type 'string' is not assignable to type 'number'.".to_owned(),
                true,
            ),
            (
                "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.".to_owned(),
                "src/b.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.".to_owned(),
                false,
            ),
            (
                "/home/ana/shop/src/a.c:3:5: error: expected ';'".to_owned(),
                "/srv/bo/shop-2/src/a.c:9:1: error: expected ';'".to_owned(),
                true,
            ),
            ("--- FAIL: TestPool (0.01s)".to_owned(), "--- FAIL: TestCart (0.02s)".to_owned(), false),
            (
                "cannot open '/tmp/x1/a.db': timed out".to_owned(),
                "cannot open '/tmp/y2/b.db': timed out".to_owned(),
                true,
            ),
        ] {
            assert_eq!(of(&one) == of(&other), is_same, "{one} | {other}");
        }
        assert_eq!(fault("exit {n}", None), fault("exit {n}", Some("ok")));
    }

    /// Red before: a file in the root of a work tree was named by the directory of the work tree.
    #[test]
    fn a_file_is_the_same_in_each_work_tree() {
        let of = |output: &str, root: &str| {
            fault(error_signature(output).expect("an error").as_str(), Some(&from_root(output, root)))
        };
        for (one, other, is_same) in [
            ("cannot open '/home/ana/shop/pool.toml'", "cannot open '/srv/shop-2/pool.toml'", true),
            ("cannot open '/home/ana/shop/pool.toml'", "cannot open '/srv/shop-2/cart.toml'", false),
            ("/home/ana/shop/a.c:3:5: error: expected ';'", "/srv/shop-2/a.c:9:1: error: expected ';'", true),
            (
                "/home/ana/shop/a.c:3:5: error: expected ';'",
                "/srv/shop-2/b.c:9:1: error: expected ';'",
                false,
            ),
            ("cannot open '/home/ana/shop/conf/a.db'", "cannot open '/srv/shop-2/conf/a.db'", true),
            ("cannot open '/home/ana/shop/conf/a.db'", "cannot open '/srv/shop-2/a.db'", false),
        ] {
            assert_eq!(of(one, "/home/ana/shop") == of(other, "/srv/shop-2"), is_same, "{one} | {other}");
        }
        for (text, relative) in [
            ("at file:///srv/shop-2/a.js:3 and /srv/shop-2/b.js", "at ./a.js:3 and ./b.js"),
            ("/mnt/srv/shop-2/a.js", "/mnt/srv/shop-2/a.js"),
            ("/srv/shop-22/a.js", "/srv/shop-22/a.js"),
        ] {
            assert_eq!(from_root(text, "/srv/shop-2/"), relative);
        }
        assert_eq!(from_root("/a.js", "/"), "/a.js");
    }
}
