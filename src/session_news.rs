//! The record of the news that a session got and of the entries that it opened. It lies beside [`crate::session_home`]
//! in the user's state directory, because reads write nothing to the memory. It contains ids, positions and paths, and
//! no text of the memory.
//!
//! A lost file loses no news: the ledger has the position up to which the session was told, and the session gets some
//! news twice.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::domain::ids::SessionId;
use crate::domain::time::Timestamp;
use crate::pack::Told;
use crate::private;
use crate::system;
use crate::workspace::Workspace;

/// The size limit of the opened entries, in bytes. A line takes some 45 bytes. Above the limit the session gets some
/// news again.
const MAX_OPENED_BYTES: u64 = 256 * 1024;

/// What stands before the id of a claim whose whole text was shown.
const WHOLE: &str = "whole:";
/// What stands before the id of a claim whose text was shown in part.
const PART: &str = "part:";
/// What stands before the digest of a next step that a receipt named.
const STEP: &str = "step:";
/// The line after which the session no longer has the whole texts.
const FORGOTTEN: &str = "forgotten";

/// A call that lasts longer hangs: two hours. Long builds and test suites take less.
const MAX_CALL_MS: i64 = 2 * 3_600_000;

fn digest(call: &str) -> String {
    hex::encode(&Sha256::digest(call)[..8])
}

/// The claims whose texts a session was shown, by id, each with the position that it was last shown as of.
#[derive(Debug, Default)]
pub struct Shown {
    /// Those with their whole texts.
    pub whole: BTreeMap<String, u64>,
    /// Those of which it saw a part.
    pub in_part: BTreeMap<String, u64>,
}

/// The files of one session of a memory.
#[derive(Debug)]
pub struct SessionNews {
    told: PathBuf,
    opened: PathBuf,
    ran: PathBuf,
    doing: PathBuf,
    /// The lock of the hook that tells the session its news.
    turn: Option<File>,
}

impl SessionNews {
    /// The files of a session. `state_home` is [`crate::system::Environment::state_home`].
    pub fn of(state_home: &Path, workspace: &Workspace, session: &SessionId) -> Self {
        let memory = workspace.id().unwrap_or_else(|| workspace.memory().display().to_string());
        let name = hex::encode(&Sha256::digest(format!("{memory}\n{session}"))[..16]);
        let place = state_home.join("hivemind").join("sessions").join(name);
        let file = |extension| place.with_extension(extension);
        Self {
            told: file("told"),
            opened: file("opened"),
            ran: file("ran"),
            doing: file("doing"),
            turn: None,
        }
    }

    /// Whether this process may tell the session its news, until this value is dropped. Hooks of one session run at
    /// the same time, and two of them would tell the same news.
    pub fn take_turn(&mut self) -> bool {
        let _ = private::create_dir_all(self.opened.parent().unwrap_or(&self.opened));
        // Without a lock the session gets some news twice.
        let Ok(file) = private::options().append(true).create(true).open(&self.opened) else { return true };
        let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        self.turn = Some(file);
        !is_taken
    }

    /// The news that the session got. `None` without a record.
    pub fn told(&self) -> Option<Told> {
        serde_json::from_slice(&private::read(&self.told).ok()?).ok()
    }

    /// Records the news that the session got.
    ///
    /// # Errors
    /// What the file system said.
    pub fn tell(&self, told: &Told) -> io::Result<()> {
        private::create_dir_all(self.told.parent().unwrap_or(&self.told))?;
        private::swap(&self.told, &serde_json::to_vec(told).map_err(io::Error::other)?)
    }

    /// Records that the session was shown these claims, contradictions or runs as of a ledger position. Only for a
    /// session that gets news.
    ///
    /// # Errors
    /// What the file system said.
    pub fn open(&self, ids: &[String], as_of: u64) -> io::Result<()> {
        if ids.is_empty() || !self.told.exists() {
            return Ok(());
        }
        self.append(ids, as_of)
    }

    /// Records that the session saw the end of a run as of a ledger position, whether it gets news already or not.
    ///
    /// # Errors
    /// What the file system said.
    pub fn saw_end(&self, run: &str, as_of: u64) -> io::Result<()> {
        private::create_dir_all(self.opened.parent().unwrap_or(&self.opened))?;
        self.append(&[run.to_owned()], as_of)
    }

    fn append(&self, ids: &[String], as_of: u64) -> io::Result<()> {
        let mut file = private::options().append(true).create(true).open(&self.opened)?;
        if file.metadata()?.len() > MAX_OPENED_BYTES {
            return Ok(());
        }
        // One write, so that the lines of two processes do not mix.
        let now = system::now().ms();
        let lines: String = ids.iter().map(|id| format!("{id} {as_of} {now}\n")).collect();
        file.write_all(lines.as_bytes())
    }

    /// The entries that the session opened, by id, each with the ledger position of the last time.
    pub fn opened(&self) -> BTreeMap<String, u64> {
        let mut opened = BTreeMap::new();
        let text = private::read(&self.opened).unwrap_or_default();
        for line in String::from_utf8_lossy(&text).lines() {
            let Some((id, as_of)) = line.split_once(' ') else { continue };
            if id == FORGOTTEN {
                opened.retain(|id: &String, _| ![WHOLE, PART, STEP].iter().any(|mark| id.starts_with(mark)));
                continue;
            }
            let as_of = as_of.split(' ').next().unwrap_or_default();
            let Ok(as_of) = as_of.parse::<u64>() else { continue };
            let last = opened.entry(id.to_owned()).or_insert(as_of);
            *last = as_of.max(*last);
        }
        opened
    }

    /// The name under which [`SessionNews::open`] keeps that the session was shown the whole text of a claim.
    pub fn whole(id: &str) -> String {
        format!("{WHOLE}{id}")
    }

    /// The name under which [`SessionNews::open`] keeps that a receipt told the session this next step.
    pub fn step(step: &str) -> String {
        format!("{STEP}{}", digest(step))
    }

    /// The name under which [`SessionNews::open`] keeps that the session was shown a part of the text of a claim.
    pub fn part(id: &str) -> String {
        format!("{PART}{id}")
    }

    /// The claims whose texts the session was shown. None where nothing is kept of what it was told.
    pub fn shown(&self) -> Option<Shown> {
        if !self.told.exists() {
            return None;
        }
        let mut shown = Shown::default();
        for (id, as_of) in self.opened() {
            if let Some(id) = id.strip_prefix(WHOLE) {
                shown.whole.insert(id.to_owned(), as_of);
            } else if let Some(id) = id.strip_prefix(PART) {
                shown.in_part.insert(id.to_owned(), as_of);
            }
        }
        Some(shown)
    }

    /// Says that the session no longer has the texts that it was shown: its client compacted or cleared its dialogue.
    ///
    /// # Errors
    /// What the file system said.
    pub fn forget_texts(&self) -> io::Result<()> {
        self.open(&[FORGOTTEN.to_owned()], 0)
    }

    /// When the session was first shown each entity, by id. `None` if the first line about an entity has no time.
    pub fn first_opened(&self) -> BTreeMap<String, Option<Timestamp>> {
        let text = private::read(&self.opened).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let mut opened = BTreeMap::new();
        for (id, rest) in text.unwrap_or_default().lines().filter_map(|line| line.split_once(' ')) {
            let at_ms = rest.split_once(' ').and_then(|(_, at_ms)| at_ms.parse().ok());
            opened.entry(id.to_owned()).or_insert(at_ms.map(Timestamp::from_ms));
        }
        opened
    }

    /// Records the files of a command before it runs, each by its path with the time of its last change.
    ///
    /// # Errors
    /// What the file system said.
    pub fn about_to_run(&self, files: &BTreeMap<String, u64>) -> io::Result<()> {
        if !self.told.exists() {
            return Ok(());
        }
        let mut file = private::options().write(true).create(true).truncate(true).open(&self.ran)?;
        file.write_all(&serde_json::to_vec(files).map_err(io::Error::other)?)
    }

    /// The record of [`SessionNews::about_to_run`]. It is removed.
    pub fn ran(&self) -> Option<BTreeMap<String, u64>> {
        let files = serde_json::from_slice(&private::read(&self.ran).ok()?).ok();
        let _ = std::fs::remove_file(&self.ran);
        files
    }

    /// Notes that a turn begins: no tool runs, and the session waits for nothing.
    pub fn begin_turn(&self) {
        // At worst a stall is told late.
        let _ = std::fs::remove_file(&self.doing);
    }

    /// Notes that a tool is about to be called.
    pub fn begin_call(&self, call: &str, now: Timestamp) {
        self.note(&format!("+ {} {}\n", now.ms(), digest(call)));
    }

    /// Notes that the call of a tool ended.
    pub fn end_call(&self, call: &str) {
        self.note(&format!("- 0 {}\n", digest(call)));
    }

    /// Notes that the turn ended, so that the session waits for its human.
    pub fn end_turn(&self) {
        self.note("w 0 0\n");
    }

    fn note(&self, line: &str) {
        let _ = private::create_dir_all(self.doing.parent().unwrap_or(&self.doing));
        if std::fs::metadata(&self.doing).is_ok_and(|file| file.len() > MAX_OPENED_BYTES) {
            let _ = std::fs::remove_file(&self.doing);
        }
        // Without it a session with a long call may be called stalled.
        let _ = private::options()
            .append(true)
            .create(true)
            .open(&self.doing)
            .and_then(|mut file| file.write_all(line.as_bytes()));
    }

    /// When an open call began.
    pub fn began(&self, call: &str) -> Option<Timestamp> {
        let text = private::read(&self.doing).ok()?;
        began(&String::from_utf8_lossy(&text), &digest(call))
    }

    /// Whether a tool call of the session is open and within its time, or the session waits for its human.
    pub fn is_busy(&self, now: Timestamp) -> bool {
        let text = private::read(&self.doing).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let (open, waits) = open_calls(&text);
        waits || open.iter().any(|(_, at)| now.ms() - at <= MAX_CALL_MS)
    }

    /// Removes the files of an ended session.
    pub fn leave(&self) {
        for file in [&self.told, &self.opened, &self.ran, &self.doing] {
            // A file that stays is removed later.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// The calls that a record leaves open, by their digests, each with its begin in epoch ms; and whether the session waits for its
/// human.
fn open_calls(record: &str) -> (Vec<(&str, i64)>, bool) {
    let mut open: Vec<(&str, i64)> = Vec::new();
    let mut waits = false;
    for line in record.lines() {
        let mut words = line.split(' ');
        let (Some(what), Some(at), Some(call)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        waits = what == "w";
        match what {
            "+" => open.push((call, at.parse().unwrap_or(0))),
            "-" => {
                if let Some(at) = open.iter().position(|(other, _)| *other == call) {
                    open.remove(at);
                }
            }
            // Calls of a turn that ended are over.
            _ => open.clear(),
        }
    }
    (open, waits)
}

/// When the first open call with this digest began: the one that ends first.
fn began(record: &str, call: &str) -> Option<Timestamp> {
    let (open, _) = open_calls(record);
    open.into_iter().find(|(other, _)| *other == call).map(|(_, at)| Timestamp::from_ms(at))
}

#[cfg(test)]
mod tests {
    use super::began;
    use crate::domain::time::Timestamp;

    #[test]
    fn a_call_began_where_it_is_open() {
        let at = |record: &str| began(record, "a").map(Timestamp::ms);
        for (record, expected) in [
            ("+ 5 a\n+ 7 b\n", Some(5)),
            ("+ 5 a\n- 0 a\n+ 9 a\n", Some(9)),
            ("+ 5 a\n- 0 a\n", None),
            ("+ 5 a\nw 0 0\n", None),
            ("", None),
        ] {
            assert_eq!(at(record), expected, "{record}");
        }
    }
}
