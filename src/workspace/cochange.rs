//! The file of what changes together, beside the read models. It holds nothing that git does not tell again, except
//! for the hashes of paths that were forgotten.

use std::collections::BTreeSet;
use std::io;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Workspace;
use super::history::{self, NoHistory, Wanted};
use crate::domain::cochange::{COMMITS, CoChange, MAX_FILES};
use crate::domain::scope::Scope;
use crate::private;
use crate::system::entropy;

/// The most that is read of the file, in bytes: many times what a large repository gives.
const MAX_BYTES: u64 = 8 << 20;

/// What changes together, up to a commit.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    head: String,
    pairs: CoChange,
    /// Paths that the operator had forgotten, as hashes: git tells them again, and they are not counted again.
    #[serde(default, skip_serializing_if = "Forgotten::is_empty")]
    forgotten: Forgotten,
}

/// Salted hashes of paths.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Forgotten {
    salt: String,
    paths: BTreeSet<String>,
}

impl Forgotten {
    fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    fn hash(&self, path: &str) -> String {
        hex::encode(Sha256::digest(format!("{}\n{path}", self.salt)))
    }

    /// Whether a path, or a directory above it, was forgotten.
    fn holds(&self, path: &Scope) -> bool {
        !self.is_empty() && path.and_ancestors().any(|path| self.paths.contains(&self.hash(path)))
    }
}

/// Why the file was not written.
#[derive(Debug, thiserror::Error)]
pub enum Unkept {
    /// The history cannot be read.
    #[error(transparent)]
    History(#[from] NoHistory),
    /// The file cannot be written.
    #[error("cannot write down what changes together: {0}")]
    File(#[from] io::Error),
}

impl Workspace {
    /// The files that change together. Empty before the git job counted them, and where it cannot be read.
    pub fn cochange(&self) -> CoChange {
        self.kept().unwrap_or_default().pairs
    }

    fn kept(&self) -> Option<Kept> {
        let file = self.cochange_file();
        let is_small = std::fs::symlink_metadata(&file).ok()?.len() <= MAX_BYTES;
        is_small.then(|| serde_json::from_slice(&private::read(&file).ok()?).ok()).flatten()
    }

    /// Forgets the paths in a scope: they leave the file, and are not counted again.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn forget_cochange(&self, scope: &Scope) -> io::Result<()> {
        let mut kept = self.kept().unwrap_or_default();
        if kept.forgotten.salt.is_empty() {
            kept.forgotten.salt = hex::encode(entropy());
        }
        let paths = kept.pairs.paths().filter(|path| scope.covers(path)).chain([scope]);
        let hashes: Vec<String> = paths.map(|path| kept.forgotten.hash(path.as_str())).collect();
        kept.forgotten.paths.extend(hashes);
        kept.pairs.retain(|path| !scope.covers(path));
        let text = serde_json::to_vec(&kept).map_err(io::Error::from)?;
        private::replace(&self.cochange_file(), &text)
    }

    /// The text of that file. None without a file.
    pub fn cochange_text(&self) -> Option<Vec<u8>> {
        std::fs::read(self.cochange_file()).ok()
    }

    /// Puts the text back after an erasure that was refused.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn restore_cochange(&self, text: Option<Vec<u8>>) -> io::Result<()> {
        let file = self.cochange_file();
        match text {
            Some(text) => private::replace(&file, &text),
            None if file.exists() => std::fs::remove_file(&file),
            None => Ok(()),
        }
    }

    /// Counts what changes together in the history of this work tree, if it has new commits.
    ///
    /// # Errors
    /// [`Unkept`]; what was written before stays.
    pub fn count_cochange(
        &self,
        is_stopped: impl Fn() -> bool,
        may_be_shown: impl Fn(&Scope) -> bool,
    ) -> Result<(), Unkept> {
        let wanted = Wanted { most: 1, after: &[], merges: false };
        let head = history::log(self.root(), wanted, &is_stopped)?.pop().map(|commit| commit.sha);
        let Some(head) = head.filter(|head| self.kept().is_none_or(|kept| kept.head != *head)) else {
            return Ok(());
        };
        let commits = history::log(self.root(), Wanted { most: COMMITS, ..wanted }, is_stopped)?;
        let small = commits.iter().filter(|commit| commit.files.len() <= MAX_FILES);
        let files = small.map(|commit| -> Vec<Scope> {
            let names = commit.files.iter().filter_map(|name| std::str::from_utf8(name).ok());
            names.filter_map(|name| Scope::as_written(name, "").ok()).collect()
        });
        let mut pairs = CoChange::of(files);
        // An erasure may have happened during the count.
        let forgotten = self.kept().unwrap_or_default().forgotten;
        pairs.retain(|path| may_be_shown(path) && !forgotten.holds(path));
        let text = serde_json::to_vec(&Kept { head, pairs, forgotten }).map_err(io::Error::from)?;
        Ok(private::replace(&self.cochange_file(), &text)?)
    }
}
