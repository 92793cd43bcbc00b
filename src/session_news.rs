//! What a session was told and what it opened: kept beside [`crate::session_home`], in the user's own state directory,
//! because reads write nothing to the memory. It holds ids, positions and paths, and no text of the memory.
//!
//! Losing it loses no news: the ledger says up to where the session was told, and the session hears some of it twice.

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

/// A session that opens more than fits is told of some of it again: a line takes some 45 bytes.
const MAX_OPENED_BYTES: u64 = 256 * 1024;

/// A call that lasts longer hangs: two hours. Long builds and test suites take less.
const MAX_CALL_MS: i64 = 2 * 3_600_000;

fn digest(call: &str) -> String {
    hex::encode(&Sha256::digest(call)[..8])
}

/// Where that is kept of one session of a memory.
#[derive(Debug)]
pub struct SessionNews {
    told: PathBuf,
    opened: PathBuf,
    ran: PathBuf,
    doing: PathBuf,
    /// The lock of the hook that tells the session something.
    turn: Option<File>,
}

impl SessionNews {
    /// The place of a session; `state_home` is [`crate::system::Environment::state_home`].
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

    /// Whether this process is the one that tells the session something, until it drops this. Hooks of one session run
    /// at the same time, and two of them would tell the same.
    pub fn take_turn(&mut self) -> bool {
        let _ = private::create_dir_all(self.opened.parent().unwrap_or(&self.opened));
        // Without a lock the session hears some of it twice.
        let Ok(file) = private::options().append(true).create(true).open(&self.opened) else { return true };
        let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        self.turn = Some(file);
        !is_taken
    }

    /// What the session was told; none when nothing is known of that.
    pub fn told(&self) -> Option<Told> {
        serde_json::from_slice(&private::read(&self.told).ok()?).ok()
    }

    /// Says what the session was told.
    ///
    /// # Errors
    /// What the file system said.
    pub fn tell(&self, told: &Told) -> io::Result<()> {
        private::create_dir_all(self.told.parent().unwrap_or(&self.told))?;
        private::swap(&self.told, &serde_json::to_vec(told).map_err(io::Error::other)?)
    }

    /// Says that the session was shown these claims, contradictions or runs as of a ledger position. Only of a session
    /// that is told what is new.
    ///
    /// # Errors
    /// What the file system said.
    pub fn open(&self, ids: &[String], as_of: u64) -> io::Result<()> {
        if ids.is_empty() || !self.told.exists() {
            return Ok(());
        }
        let mut file = private::options().append(true).create(true).open(&self.opened)?;
        if file.metadata()?.len() > MAX_OPENED_BYTES {
            return Ok(());
        }
        // One write, so that the lines of two processes do not mix.
        let now = system::now().ms();
        let lines: String = ids.iter().map(|id| format!("{id} {as_of} {now}\n")).collect();
        file.write_all(lines.as_bytes())
    }

    /// What the session opened, by id, each with the position that it was last shown as of.
    pub fn opened(&self) -> BTreeMap<String, u64> {
        let mut opened = BTreeMap::new();
        let text = private::read(&self.opened).unwrap_or_default();
        for line in String::from_utf8_lossy(&text).lines() {
            let Some((id, as_of)) = line.split_once(' ') else { continue };
            let as_of = as_of.split(' ').next().unwrap_or_default();
            let Ok(as_of) = as_of.parse::<u64>() else { continue };
            let last = opened.entry(id.to_owned()).or_insert(as_of);
            *last = as_of.max(*last);
        }
        opened
    }

    /// When the session was first shown something; none where it was not, or the time is not known.
    pub fn first_opened(&self, id: &str) -> Option<Timestamp> {
        let text = String::from_utf8(private::read(&self.opened).ok()?).ok()?;
        let of_it = text.lines().find_map(|line| line.strip_prefix(id)?.strip_prefix(' '))?;
        Some(Timestamp::from_ms(of_it.split_once(' ')?.1.parse().ok()?))
    }

    /// Keeps what the files that a command names are before it runs: each by its path with when it was changed last.
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

    /// What [`SessionNews::about_to_run`] kept, once.
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

    /// Whether a tool call of the session is open and within its time, or the session waits for its human.
    pub fn is_busy(&self, now: Timestamp) -> bool {
        let text = private::read(&self.doing).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut open: Vec<(&str, i64)> = Vec::new();
        let mut waits = false;
        for line in text.lines() {
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
        waits || open.iter().any(|(_, at)| now.ms() - at <= MAX_CALL_MS)
    }

    /// Forgets a session that is over.
    pub fn leave(&self) {
        for file in [&self.told, &self.opened, &self.ran, &self.doing] {
            // At worst it is forgotten later.
            let _ = std::fs::remove_file(file);
        }
    }
}
