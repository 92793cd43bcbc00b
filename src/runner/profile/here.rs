//! Decides whether a profile can run here: its program and its needed files exist, and so do files that it tests.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::Profile;
use crate::domain::coverage;
use crate::domain::scope::Scope;
use crate::runner::spawn;

/// How many entries are read below the directories of a claim: a hint must not read a large tree.
const MAX_ENTRIES: usize = 2_000;

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
}
