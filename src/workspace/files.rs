//! The files of a memory, and where each lies.

use std::collections::BTreeSet;
use std::fs::{DirEntry, Metadata};
use std::path::{Path, PathBuf};

use super::{LEDGER, LEDGER_LOG, SET_ASIDE, WRITER_LOCK, Workspace, ownership};
use crate::checkpoints;
use crate::domain::ids::RunId;
use crate::trusted::TrustedProfiles;

/// Files of notes above this size are not looked at.
const MAX_NOTES_BYTES: u64 = 1 << 20;

impl Workspace {
    /// The profiles that a human trusted for this workspace. Trust for one workspace does not apply to another.
    pub fn trusted_profiles(&self) -> TrustedProfiles {
        self.own_state().map_or_else(TrustedProfiles::nowhere, |dir| TrustedProfiles::of(&dir))
    }

    /// The ledger's database.
    pub fn ledger(&self) -> PathBuf {
        self.memory.join(LEDGER)
    }

    /// The write-ahead log of the ledger: commits that are not yet copied into the database.
    pub(crate) fn ledger_log(&self) -> PathBuf {
        self.memory.join(LEDGER_LOG)
    }

    /// The shared-memory index of the log.
    pub(crate) fn ledger_index(&self) -> PathBuf {
        self.memory.join("ledger.sqlite-shm")
    }

    /// The file that records which log belongs to which ledger.
    pub(crate) fn ledger_pair(&self) -> PathBuf {
        self.memory.join("ledger.pair")
    }

    /// A free name beside a file of the memory, under which hm keeps the file without using it.
    pub(crate) fn aside(&self, file: &Path) -> PathBuf {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        self.memory.join(format!("{name}{SET_ASIDE}{}", ownership::short_id()))
    }

    /// The database of the read models.
    pub fn team_memory(&self) -> PathBuf {
        self.memory.join("team-memory.sqlite")
    }

    /// The files of all work trees with the section that `hm export --to` writes. `names` are patterns of their names.
    pub fn files_with_a_section(&self, names: &[&str]) -> Vec<PathBuf> {
        let in_root = |root: &PathBuf| -> Vec<PathBuf> {
            let files = super::git::containing(root, crate::domain::notes::BEGIN, names).into_iter();
            files.map(|file| root.join(file)).chain(notes_beside(root, names)).collect()
        };
        self.roots().iter().flat_map(in_root).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The file of what changes together in the history, with hashes of the paths that were forgotten. Without it the next
    /// count includes those paths again.
    pub fn cochange_file(&self) -> PathBuf {
        self.memory.join("cochange.json")
    }

    /// The file of sealed checkpoints.
    pub fn checkpoints(&self) -> PathBuf {
        self.memory.join(checkpoints::FILE)
    }

    /// The queue of commands that fronts accepted while no writer was there.
    pub fn spool(&self) -> PathBuf {
        self.memory.join("spool.jsonl")
    }

    /// Queued commands that the writer rejected.
    pub fn rejected_spool(&self) -> PathBuf {
        self.memory.join("spool.rejected.jsonl")
    }

    /// Queued commands that only a newer version of hm knows.
    pub fn later_spool(&self) -> PathBuf {
        self.memory.join("spool.later.jsonl")
    }

    /// The directory that records the session of each client process, one file each.
    pub fn client_sessions(&self) -> PathBuf {
        self.memory.join("clients")
    }

    /// Tokens for HTTP, as hashes.
    pub fn tokens(&self) -> PathBuf {
        self.memory.join("tokens.json")
    }

    /// The ranges of events that imports appended.
    pub fn imports(&self) -> PathBuf {
        self.memory.join("imports.json")
    }

    /// The Git mirrors of this memory.
    pub fn mirrors(&self) -> PathBuf {
        self.memory.join("mirrors.json")
    }

    /// The lock of a run of `hm mirror`.
    pub(crate) fn mirror_lock(&self) -> PathBuf {
        self.memory.join("mirror.lock")
    }

    /// The last run of each background job of the writer.
    pub fn schedule(&self) -> PathBuf {
        self.memory.join("schedule.json")
    }

    /// Findings of the integrity scans, one JSON line each.
    pub fn integrity_log(&self) -> PathBuf {
        self.memory.join("integrity.log")
    }

    /// Empty files `<client>.<event>`. The time of each is the last run of that hook.
    pub fn hook_marks(&self) -> PathBuf {
        self.memory.join("hooks")
    }

    /// The directory with the artifacts of all experiment runs.
    pub fn experiments(&self) -> PathBuf {
        self.memory.join("experiments")
    }

    /// The directory with the artifacts of one run.
    pub fn artifacts(&self, run: RunId) -> PathBuf {
        self.experiments().join(run.to_string())
    }

    /// The secret key of hashes over raw output. Without it, a hash does not help to guess the output.
    pub fn stream_key(&self) -> PathBuf {
        self.memory.join("experiments.key")
    }

    /// The lock that the one writer holds.
    pub fn writer_lock(&self) -> PathBuf {
        self.memory.join(WRITER_LOCK)
    }

    /// The log file of a detached writer.
    pub fn writer_log(&self) -> PathBuf {
        self.memory.join("writer.log")
    }
}

/// The files of notes in a directory itself that have the section, those that git ignores included.
fn notes_beside(root: &Path, names: &[&str]) -> Vec<PathBuf> {
    let is_note = |file: &DirEntry| {
        let name = file.file_name();
        let name = name.to_string_lossy();
        let is_small = |metadata: Metadata| metadata.is_file() && metadata.len() <= MAX_NOTES_BYTES;
        names.iter().any(|pattern| name.ends_with(pattern.trim_start_matches('*')))
            && file.metadata().is_ok_and(is_small)
            && std::fs::read(file.path())
                .is_ok_and(|content| String::from_utf8_lossy(&content).contains(crate::domain::notes::BEGIN))
    };
    let files = std::fs::read_dir(root).into_iter().flatten().flatten();
    files.filter(is_note).map(|file| file.path()).collect()
}
