//! Where the tests of pytest failed, and what these tests have to do with: the failure of one test says nothing about a file
//! that it never reaches. Only pytest lists every test that failed with its file, so the failure of any other check counts as
//! a whole.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::profile::{Plan, name_of, text};
use super::provenance;
use crate::domain::experiment::Reach;
use crate::domain::scope::Scope;

/// The most files that an event lists. Tests that reach more say something about everything.
const MAX_FILES: usize = 64;

/// The last line of pytest: `2 failed, 3 passed, 1 error in 0.12s`.
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^.*\b\d+ (?:failed|error|errors)\b.* in [\d.]+s.*$").expect("a pattern")
});
/// A number of that line.
static COUNT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(\d+) (failed|errors?)\b").expect("a pattern"));
/// A line of its list: `FAILED tests/test_a.py::test_b - assert 1 == 2`.
static LISTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^(FAILED|ERROR) ([^:\n]+?\.py)(?:::| - |$)").expect("a pattern"));

/// The files whose tests failed, the first one first, and then every covered file that these reach by the names in them, one by
/// the other. Empty where that is not known for certain: for another program than pytest, if the list of the output and its
/// counts differ, or if they reach too many.
pub(super) fn failed_in(
    root: &Path,
    plan: &Plan,
    environment: &BTreeMap<String, String>,
    said: &[String; 2],
) -> Vec<Scope> {
    let dir = plan.cwd.strip_prefix(root).ok().and_then(Path::to_str).unwrap_or_default();
    if !Reach::of(&plan.words(), dir).is_some_and(|reach| reach.is_pytest()) {
        return Vec::new();
    }
    let [known, unknown] = provenance::covered(root, environment, &plan.scopes);
    let files: BTreeSet<Scope> = known.into_iter().chain(unknown).collect();
    let places = places(&said.join("\n"), &files, dir).unwrap_or_default();
    reached(root, places, &files)
}

/// The files of the tests that failed, if the output lists all of them.
fn places(output: &str, files: &BTreeSet<Scope>, dir: &str) -> Option<Vec<Scope>> {
    let summary = SUMMARY.find_iter(output).last()?;
    let mut counts = [0_usize; 2];
    for count in COUNT.captures_iter(summary.as_str()) {
        counts[usize::from(&count[2] != "failed")] += count[1].parse::<usize>().ok()?;
    }
    let mut listed = [0; 2];
    let mut places: Vec<Scope> = Vec::new();
    for line in LISTED.captures_iter(output) {
        listed[usize::from(&line[1] == "ERROR")] += 1;
        // Its paths begin at the directory of its settings.
        let paths = [Path::new(dir).join(&line[2]), PathBuf::from(&line[2])];
        let file = paths.iter().find_map(|path| files.get(&path.to_str()?.parse::<Scope>().ok()?))?;
        if !places.contains(file) {
            places.push(file.clone());
        }
    }
    (listed == counts).then_some(places)
}

/// The files and all that these reach: whatever they name, the packages above them, what pytest loads beside them, and what is
/// no module. Empty beyond [`MAX_FILES`].
fn reached(root: &Path, places: Vec<Scope>, files: &BTreeSet<Scope>) -> Vec<Scope> {
    let is_module = |file: &Scope| file.as_str().ends_with(".py");
    let mut open: VecDeque<Scope> = places.iter().cloned().collect();
    let mut all = places;
    while let Some(file) = open.pop_front() {
        let Some(text) = text(&root.join(file.as_str())) else { continue };
        let words: HashSet<String> = words(&text).chain(words(file.as_str())).collect();
        let above: Vec<&str> = file.and_ancestors().collect();
        for other in files {
            let name =
                Path::new(other.as_str()).file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let parent = other.as_str().rsplit_once('/').map_or(".", |(parent, _)| parent);
            let is_beside =
                matches!(name, "conftest.py" | "__init__.py") && (parent == "." || above.contains(&parent));
            let is_named = || words.contains(&name_of(other).to_lowercase());
            if all.contains(other) || !(is_beside || !is_module(other) || is_named()) {
                continue;
            }
            if all.len() == MAX_FILES {
                return Vec::new();
            }
            all.push(other.clone());
            if is_module(other) {
                open.push_back(other.clone());
            }
        }
    }
    all
}

/// The names in a text and their parts, in lower case: `test_pool` has `test_pool`, `test` and `pool`.
fn words(text: &str) -> impl Iterator<Item = String> {
    let names = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|name| !name.is_empty());
    names.flat_map(|name| std::iter::once(name).chain(name.split('_'))).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{MAX_FILES, places, reached};
    use crate::domain::scope::Scope;

    fn files(names: &[&str]) -> BTreeSet<Scope> {
        names.iter().map(|file| file.parse().expect("a path")).collect()
    }

    /// Red before: a warning, or a test that passed, named a file as the place of the failure.
    #[test]
    fn the_places_of_failures_are_known_only_if_all_are_listed() {
        let files = files(&["tests/test_pool.py", "tests/test_cart.py", "src/pool.py"]);
        let cart = "FAILED tests/test_cart.py::test_total - assert 0 == 1\n";
        for (output, dir, expected) in [
            (format!("{cart}1 failed, 1 passed in 0.01s"), "", Some("tests/test_cart.py")),
            (
                format!("{cart}FAILED tests/test_pool.py::test_a\n=== 2 failed in 0.01s ==="),
                "",
                Some("tests/test_cart.py tests/test_pool.py"),
            ),
            (
                format!("src/pool.py:3: DeprecationWarning: old\n{cart}1 failed, 1 warning in 0.01s"),
                "",
                Some("tests/test_cart.py"),
            ),
            (
                format!("tests/test_pool.py::test_a PASSED\n{cart}1 failed in 0.01s"),
                "",
                Some("tests/test_cart.py"),
            ),
            (
                "ERROR tests/test_pool.py - ImportError\n1 error in 0.01s".to_owned(),
                "",
                Some("tests/test_pool.py"),
            ),
            (
                "FAILED test_cart.py::test_total\n1 failed in 0.01s".to_owned(),
                "tests",
                Some("tests/test_cart.py"),
            ),
            (format!("{cart}1 failed in 0.01s"), "tests", Some("tests/test_cart.py")),
            // What is not listed may be anywhere.
            (format!("{cart}2 failed in 0.01s"), "", None),
            (format!("{cart}1 failed, 1 error in 0.01s"), "", None),
            (format!("{cart}{cart}1 failed in 0.01s"), "", None),
            ("FAILED elsewhere/test_cart.py::test_total\n1 failed in 0.01s".to_owned(), "", None),
            (cart.to_owned(), "", None),
            ("1 failed in 0.01s".to_owned(), "", None),
        ] {
            let found = places(&output, &files, dir);
            let found =
                found.map(|found| found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
            assert_eq!(found.as_deref(), expected, "{output}");
        }
    }

    #[test]
    fn a_test_reaches_what_it_names_and_what_that_names() {
        let dir = tempfile::tempdir().expect("a directory");
        let known = [
            ("tests/test_limit.py", "import shop\n"),
            ("tests/test_cart.py", "from shop.cart import total\n"),
            ("tests/conftest.py", "import helpers\n"),
            ("shop/__init__.py", "from .core import limit\n"),
            ("shop/core.py", "def limit(): return 5\n"),
            ("shop/cart.py", "def total(): return 4\n"),
            ("helpers.py", ""),
            ("lone.py", ""),
            ("pyproject.toml", ""),
        ];
        for (file, text) in known {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        }
        let all = files(&known.map(|(file, _)| file));
        let of = |test: &str| {
            let found = reached(dir.path(), vec![test.parse().expect("a path")], &all);
            found.iter().map(ToString::to_string).collect::<BTreeSet<_>>()
        };
        let limit = of("tests/test_limit.py");
        for (file, is) in [
            ("shop/core.py", true),
            ("helpers.py", true),
            ("pyproject.toml", true),
            ("shop/cart.py", false),
            ("lone.py", false),
        ] {
            assert_eq!(limit.contains(file), is, "{file}: {limit:?}");
        }
        let cart = of("tests/test_cart.py");
        assert!(
            cart.contains("shop/cart.py") && cart.contains("shop/core.py") && !cart.contains("lone.py"),
            "{cart:?}"
        );
        let many: Vec<String> = (0..=MAX_FILES).map(|number| format!("a{number}.toml")).collect();
        let many = files(&many.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(reached(dir.path(), vec!["tests/test_limit.py".parse().expect("a path")], &many).is_empty());
    }
}
