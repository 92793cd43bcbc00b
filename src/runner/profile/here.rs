//! Decides whether a profile can run here: its program and its needed files exist, and so do files that it tests.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::Profile;
use crate::domain::coverage;
use crate::domain::scope::Scope;
use crate::runner::spawn;

/// How many entries are read below the directories of a claim: a hint must not read a large tree.
const MAX_ENTRIES: usize = 2_000;

/// The files in which a project names its test files for pytest.
const PYTEST_SETTINGS: [&str; 6] =
    ["pytest.ini", ".pytest.ini", "pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg"];
/// The directories in which pytest looks for no tests.
const PYTEST_PASSES: [&str; 7] = ["build", "dist", "node_modules", "venv", "CVS", "_darcs", "target"];

/// A workspace, limited to the files of a claim.
#[derive(Debug)]
pub struct Here {
    root: PathBuf,
    /// The PATH of the process that would run the profile.
    path: Option<String>,
    /// The files below the claim's directories, and the claim's other scopes unchanged.
    about: Vec<Scope>,
}

impl Here {
    /// Lists the files of some scopes.
    pub fn of(root: &Path, path: Option<String>, scopes: &[Scope]) -> Self {
        let mut about = Vec::new();
        let mut entries = 0;
        for scope in scopes {
            let full = root.join(scope.as_str());
            if !scope.is_path() || !full.is_dir() {
                about.push(scope.clone());
                continue;
            }
            let mut waiting = VecDeque::from([full]);
            while let Some(dir) = waiting.pop_front() {
                for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
                    entries += 1;
                    if entries > MAX_ENTRIES {
                        break;
                    }
                    let name = entry.file_name();
                    let is_generated = ["node_modules", "target"].iter().any(|other| name == *other);
                    match entry.file_type() {
                        Ok(kind) if kind.is_dir() => {
                            if !is_generated && !name.as_encoded_bytes().starts_with(b".") {
                                waiting.push_back(entry.path());
                            }
                        }
                        _ => {
                            let below = entry.path();
                            let below = below.strip_prefix(root).ok().and_then(Path::to_str);
                            about.extend(below.and_then(|below| below.parse().ok()));
                        }
                    }
                }
            }
            // The directory is empty or does not exist yet.
            if about.is_empty() {
                about.push(scope.clone());
            }
        }
        Self { root: root.to_owned(), path, about }
    }

    /// Whether the program, the needed files, and files that the profile tests exist.
    pub fn can_run(&self, profile: &Profile) -> bool {
        if !profile.needs.iter().all(|file| self.root.join(file).exists()) {
            return false;
        }
        let program = profile.argv.first().map(ToString::to_string).unwrap_or_default();
        coverage::covers_any(&profile.scopes, &self.about)
            && spawn::find(&program, &self.root, self.path.as_deref()).is_ok()
    }

    /// Whether the tree has a test for a built-in profile that finds its tests by their names.
    pub fn has_tests(&self, profile: &Profile) -> bool {
        !profile.argv.iter().any(|word| word.to_string() == "pytest") || has_test_of_pytest(&self.root)
    }
}

/// Whether the tree has a file that pytest takes for one of tests. True where that is unknown: the project names its test
/// files itself, or has more entries than are read.
fn has_test_of_pytest(root: &Path) -> bool {
    let names_its_own = |file: &str| {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        ["python_files", "doctest"].iter().any(|setting| text.contains(setting))
    };
    if PYTEST_SETTINGS.iter().any(|file| names_its_own(file)) {
        return true;
    }
    let (mut entries, mut waiting) = (0, VecDeque::from([root.to_owned()]));
    while let Some(dir) = waiting.pop_front() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            entries += 1;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|_| entries <= MAX_ENTRIES) else { return true };
            let is_test = name
                .strip_suffix(".py")
                .is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"));
            if is_test {
                return true;
            }
            let is_looked_at = !name.starts_with('.') && !PYTEST_PASSES.contains(&name);
            if is_looked_at && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push_back(entry.path());
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::has_test_of_pytest;

    #[test]
    fn pytest_has_a_test_where_a_file_is_named_like_one_or_the_project_names_its_own() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let write = |file: &str, text: &str| {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        };
        for file in
            ["src/pool.py", "src/contest.py", ".venv/test_a.py", "node_modules/test_b.py", "test_notes.md"]
        {
            write(file, "");
        }
        write("pyproject.toml", "[tool.pytest.ini_options]\ntestpaths = [\"src\"]\n");
        assert!(!has_test_of_pytest(dir.path()));
        write("src/pool_test.py", "");
        assert!(has_test_of_pytest(dir.path()));
        std::fs::remove_file(dir.path().join("src/pool_test.py")).expect("a file");
        write("tox.ini", "[pytest]\npython_files = check_*.py\n");
        assert!(has_test_of_pytest(dir.path()));
    }
}
