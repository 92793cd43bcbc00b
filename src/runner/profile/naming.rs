//! Whether the tests that a request selects have to do with a claim: a test file settles what it names.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::domain::scope::Scope;

/// The most that is read of a test file, in bytes.
const MAX_TEST_BYTES: u64 = 1 << 20;
/// The most files that are looked at in a directory of tests, or for a pattern.
const MAX_TESTS: usize = 500;
/// Directories without tests: what tools make and fetch.
const NO_TESTS: [&[u8]; 3] = [b"node_modules", b"__pycache__", b"target"];
/// Names of files that stand for the directory they are in.
const OF_DIRECTORY: [&str; 3] = ["__init__", "index", "mod"];

/// Why tests settle nothing about a claim with these scopes: none of them names one of its files. `None` if each file is named,
/// or if the claim names none. Of a pattern one file is named. The name of a symbol stands for the files that have it. A
/// directory needs no name, and a test that is in the scopes is a file of the claim.
pub fn unnamed(root: &Path, tests: &[Scope], scopes: &[Scope]) -> Option<String> {
    let is_of_claim = |test: &Scope| scopes.iter().any(|scope| scope.is_path() && scope.covers(test));
    let first = tests.first().filter(|_| !tests.iter().any(is_of_claim))?;
    let is_dir = |scope: &Scope| root.join(scope.as_str()).is_dir();
    let files = scopes.iter().filter(|scope| scope.is_path() && !is_dir(scope));
    // A test of a directory is one of the files below it.
    let mut files = files.filter(|file| !tests.iter().any(|test| test.covers(file))).peekable();
    files.peek()?;
    let texts: Vec<String> = tests.iter().flat_map(|test| texts(&root.join(test.as_str()))).collect();
    let is_said = |name: &str| texts.iter().any(|text| has_word(text, name));
    let symbols = scopes.iter().filter_map(|scope| last_name(scope.as_str().strip_prefix("symbol:")?));
    let symbols: Vec<&str> = symbols.filter(|symbol| is_said(symbol)).collect();
    let is_named = |file: &Scope| {
        let has_symbol = |text: String| symbols.iter().any(|symbol| has_word(&text, symbol));
        is_said(name_of(file)) || text(&root.join(file.as_str())).is_some_and(has_symbol)
    };
    files.find_map(|file| {
        if !file.is_glob() {
            let name = name_of(file);
            let why = || format!("`{first}` does not name `{name}`, so it says nothing about `{file}`");
            return (!is_named(file)).then(why);
        }
        let matched = matched(root, file);
        let why = || format!("`{first}` does not name a file of `{file}`");
        (!matched.is_empty() && !matched.iter().any(is_named)).then(why)
    })
}

/// Why tests that a text picks by their names settle nothing about a claim with these scopes: no file that has the last name in
/// the text is one of the claim's files or names one. `None` if the text names one itself, if the claim names no file, and if
/// the files are too many to look at. A text that is no path of names picks nothing by one.
pub fn unpicked(root: &Path, picked: &str, scopes: &[Scope]) -> Option<String> {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    if !picked.starts_with(|c: char| c.is_alphabetic() || c == '_') || !picked.chars().all(is_of_name) {
        return None;
    }
    let is_file = |scope: &&Scope| scope.is_path() && !scope.is_glob() && !root.join(scope.as_str()).is_dir();
    let files: Vec<&Scope> = scopes.iter().filter(is_file).collect();
    let last = last_name(picked).unwrap_or(picked);
    let has = |text: &str| text.contains(last);
    let is_named = |file: &Scope| {
        let name = name_of(file);
        // Others name the top of a crate by the crate.
        if ["lib", "main"].contains(&name)
            || has_word(picked, name)
            || text(&root.join(file.as_str())).is_some_and(|text| has(&text))
        {
            return true;
        }
        let ending = Path::new(file.as_str()).extension();
        let others = files_like(root, |path| path.extension() == ending);
        // Nobody knows what the others hold.
        others.len() >= MAX_TESTS
            || others.iter().filter_map(|path| text(path)).any(|text| has(&text) && has_word(&text, name))
    };
    let file = files.into_iter().find(|file| !is_named(file))?;
    Some(format!(
        "no file with `{last}` is or names `{}`, so tests of that name say nothing about `{file}`",
        name_of(file)
    ))
}

/// The first files that a pattern matches.
fn matched(root: &Path, pattern: &Scope) -> Vec<Scope> {
    let paths = files_below(&root.join(pattern.certain().as_str()));
    let scopes = paths.iter().filter_map(|path| path.strip_prefix(root).ok()?.to_str()?.parse().ok());
    scopes.filter(|file: &Scope| pattern.covers(file)).collect()
}

/// The word by which other files name a file: its name without the extension, or that of its directory.
pub(in crate::runner) fn name_of(file: &Scope) -> &str {
    let path = Path::new(file.as_str());
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or(file.as_str());
    let above = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    above.filter(|_| OF_DIRECTORY.contains(&stem)).unwrap_or(stem)
}

/// The last part of the name of a symbol: `get` of `Pool::get`.
fn last_name(symbol: &str) -> Option<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    symbol.split(|c| !is_part(c)).rfind(|part| !part.is_empty())
}

/// Whether a text has a word that nothing of a name goes on from.
fn has_word(text: &str, word: &str) -> bool {
    let goes_on = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut found = text.match_indices(word);
    found.any(|(at, _)| {
        !goes_on(text[..at].chars().next_back()) && !goes_on(text[at + word.len()..].chars().next())
    })
}

/// What a test file holds, or the first files below a directory of tests.
fn texts(test: &Path) -> Vec<String> {
    files_below(test).iter().filter_map(|file| text(file)).collect()
}

/// A file, or the first files below a directory.
fn files_below(top: &Path) -> Vec<PathBuf> {
    files_like(top, |_| true)
}

/// The same of the files that are wanted.
fn files_like(top: &Path, is_wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut waiting = VecDeque::from([top.to_owned()]);
    while let Some(path) = waiting.pop_front().filter(|_| files.len() < MAX_TESTS) {
        if !path.is_dir() {
            files.extend(is_wanted(&path).then_some(path));
            continue;
        }
        let is_shown = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            !name.starts_with(b".") && !NO_TESTS.contains(&name) && !path.is_symlink()
        };
        let below = std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut below: Vec<PathBuf> = below.filter(is_shown).collect();
        below.sort();
        waiting.extend(below);
    }
    files
}

pub(in crate::runner) fn text(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let is_file = file.is_file();
    File::open(file).ok().filter(|_| is_file)?.take(MAX_TEST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{has_word, last_name, name_of, unpicked};

    /// Red before: any test of a crate proved any claim about one of its files.
    #[test]
    fn a_text_picks_tests_of_the_files_of_a_claim() {
        let root = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        };
        write("src/pool.rs", "fn size() {} #[test] fn size_is_20() {}");
        write("src/text.rs", "#[test] fn upper() {}");
        write("tests/both.rs", "use shop::pool; #[test] fn waits() {}");
        for (picked, fits) in [
            ("size_is_20", true),
            ("t::size", true),
            ("pool::t", true),
            ("waits", true),
            ("upper", false),
            ("text::t::upper", false),
        ] {
            let why = unpicked(root.path(), picked, &["src/pool.rs".parse().expect("a scope")]);
            assert_eq!(why.is_none(), fits, "{picked}: {why:?}");
        }
        // Other files do not hide a test, and what is no name picks none.
        (0..600).for_each(|n| write(&format!("docs/d{n}.md"), "one"));
        for picked in ["waits", ".", "waits and not slow"] {
            assert_eq!(
                unpicked(root.path(), picked, &["src/pool.rs".parse().expect("a scope")]),
                None,
                "{picked}"
            );
        }
        for scope in ["src", "tag:pool", "src/*.rs"] {
            assert_eq!(unpicked(root.path(), "upper", &[scope.parse().expect("a scope")]), None, "{scope}");
        }
    }

    #[test]
    fn a_file_is_named_by_its_stem_or_its_directory() {
        for (file, name) in [
            ("src/pool.py", "pool"),
            ("src/net/__init__.py", "net"),
            ("ui/cart/index.ts", "cart"),
            ("src/db/mod.rs", "db"),
            ("index.js", "index"),
            ("src/cart.service.ts", "cart.service"),
        ] {
            assert_eq!(name_of(&file.parse().expect("a path")), name, "{file}");
        }
        assert_eq!(last_name("Pool::limit()"), Some("limit"));
        for (text, is) in
            [("from src.pool import limit", true), ("test_pool", false), ("spools", false), ("(pool)", true)]
        {
            assert_eq!(has_word(text, "pool"), is, "{text}");
        }
    }
}
