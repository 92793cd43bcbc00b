//! Where a check failed: the files that its output names at a failure, and the files that these name.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::profile::{has_word, name_of, text};
use super::provenance;
use crate::domain::scope::Scope;

/// The most files that an event lists. A check that failed in more of them failed as a whole.
const MAX_FILES: usize = 64;

/// A file name in a line of output, and what follows it.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"([\w@./\\-]*\w\.\w+)(:\d|::|", line \d|\(\d)?"#).expect("the pattern is valid")
});
/// A line that reports a failure.
static FAILURE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\bFAIL|\bERROR\b|\bpanicked\b|\bnot ok\b|[✕✗✘×●]").expect("the pattern is valid")
});

/// The files of a work tree in which a check failed by its output, and then those whose names stand in them. Empty if the output
/// names none, or too many. A warning of a compiler is no failure.
pub(super) fn failed_in(
    (root, cwd): (&Path, &Path),
    environment: &BTreeMap<String, String>,
    globs: &[String],
    output: &str,
) -> Vec<Scope> {
    let [known, unknown] = provenance::covered(root, environment, globs);
    let files: BTreeSet<Scope> = known.into_iter().chain(unknown).collect();
    let places = places(output, &files, (root, cwd));
    let texts: Vec<String> = places.iter().filter_map(|file| text(&root.join(file.as_str()))).collect();
    let words: HashSet<&str> = texts.iter().flat_map(|text| text.split(|c| !is_part(c))).collect();
    let is_said = |name: &str| {
        words.contains(name) || !name.chars().all(is_part) && texts.iter().any(|text| has_word(text, name))
    };
    let named = files.iter().filter(|file| !places.contains(file) && is_said(name_of(file)));
    let all: Vec<Scope> = places.iter().chain(named).take(MAX_FILES + 1).cloned().collect();
    if places.is_empty() || all.len() > MAX_FILES { Vec::new() } else { all }
}

/// The files that the output names at a failure, in the order of the output.
fn places(output: &str, files: &BTreeSet<Scope>, (root, cwd): (&Path, &Path)) -> Vec<Scope> {
    let dir = cwd.strip_prefix(root).unwrap_or(Path::new(""));
    let mut places: Vec<Scope> = Vec::new();
    for line in output.lines().filter(|line| !line.trim_start().starts_with("-->")) {
        let is_failure = FAILURE.is_match(line);
        for found in NAMED.captures_iter(line).filter(|found| is_failure || found.get(2).is_some()) {
            let name = Path::new(found[1].trim_start_matches("./"));
            let name = name.strip_prefix(root).unwrap_or(name);
            let is_it = |file: &&Scope| {
                let path = Path::new(file.as_str());
                path == name || path.strip_prefix(dir).is_ok_and(|path| path == name)
            };
            // Some tools name a file without its directory.
            let is_bare = name.components().count() == 1;
            let mut at: Vec<&Scope> = files.iter().filter(is_it).collect();
            if at.is_empty() && is_bare {
                at = files
                    .iter()
                    .filter(|file| Path::new(file.as_str()).file_name() == Some(name.as_os_str()))
                    .collect();
            }
            for file in at {
                if !places.contains(file) {
                    places.push(file.clone());
                }
            }
        }
    }
    places
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::places;

    /// Lines as pytest, unittest, cargo, Jest and Go print them.
    #[test]
    fn the_files_of_a_failure_are_found_in_what_tools_print() {
        let files = [
            "src/pool.rs",
            "src/other.rs",
            "tests/test_pool.py",
            "tests/test_other.py",
            "ui/cart.test.js",
            "go/pool_test.go",
        ];
        let files = files.iter().map(|file| file.parse().expect("a path")).collect();
        for (output, dir, expected) in [
            ("FAILED tests/test_pool.py::test_a - assert 1 == 2", "", "tests/test_pool.py"),
            ("tests/test_other.py:12: AssertionError", "", "tests/test_other.py"),
            ("test_other.py:12: AssertionError", "tests", "tests/test_other.py"),
            ("  File \"/w/tests/test_pool.py\", line 12, in test_a", "", "tests/test_pool.py"),
            ("thread 'a' (7) panicked at src/pool.rs:3:5:", "", "src/pool.rs"),
            ("     Running unittests src/other.rs (target/debug/deps/a-1)", "", ""),
            ("  --> src/other.rs:3:5", "", ""),
            ("tests/test_other.py ..   [ 50%]", "", ""),
            ("FAIL ./ui/cart.test.js", "", "ui/cart.test.js"),
            ("      at Object.<anonymous> (ui/cart.test.js:5:20)", "", "ui/cart.test.js"),
            ("    pool_test.go:12: want 3", "go", "go/pool_test.go"),
            ("    pool_test.go:12: want 3", "", "go/pool_test.go"),
            ("FAILED elsewhere/test_pool.rs::a", "", ""),
        ] {
            let root = Path::new("/w");
            let found: Vec<String> =
                places(output, &files, (root, &root.join(dir))).iter().map(ToString::to_string).collect();
            assert_eq!(found.join(" "), expected, "{output}");
        }
    }
}
