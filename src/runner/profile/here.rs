//! What a profile finds where it would run: its program, and files that it is about.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::Profile;
use crate::domain::coverage;
use crate::domain::scope::Scope;
use crate::runner::spawn;

/// Entries that are looked at below the directories a claim is about: a hint must not read a large tree.
const MAX_ENTRIES: usize = 2_000;

/// A workspace, as far as a claim is about it.
#[derive(Debug)]
pub struct Here {
    root: PathBuf,
    /// The PATH of whoever would run it.
    path: Option<String>,
    /// The files below the claim's directories; the claim's other scopes as they are.
    about: Vec<Scope>,
}

impl Here {
    /// Looks at the files that some scopes are about.
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
            // An empty directory, or one that is not there yet.
            if about.is_empty() {
                about.push(scope.clone());
            }
        }
        Self { root: root.to_owned(), path, about }
    }

    /// Whether the program is there, what the profile needs, and files that it is about.
    pub fn can_run(&self, profile: &Profile) -> bool {
        if !profile.needs.iter().all(|file| self.root.join(file).exists()) {
            return false;
        }
        let program = profile.argv.first().map(ToString::to_string).unwrap_or_default();
        coverage::covers_any(&profile.scopes, &self.about)
            && spawn::find(&program, &self.root, self.path.as_deref()).is_ok()
    }
}
