//! Which session the client of a pane is in: its hooks leave word under the client's process id, its server looks.
//!
//! A client tells every hook its session, but not every server: Gemini CLI tells none, and what Claude Code
//! tells is another one after `--continue` and an old one after `/clear` (`tests/clients.sh` shows both).

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::domain::ids::SessionId;
use crate::private;
use crate::system;
use crate::workspace::Workspace;

/// The end of the name of a file that is being written.
const NEW: &str = ".new";
/// The end of the name of a file whose client is gone.
const GONE: &str = ".gone";
/// The end of the name of a file whose client left the session, and may come to another one.
const LEFT: &str = ".left";
/// For so long it is known that a client is gone.
const FORGOTTEN_AFTER_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// Where word is left of the session of one client process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSession {
    dir: PathBuf,
    client: u32,
}

impl ClientSession {
    /// The place of the client that runs as process `client`: the parent of its server and of its hooks, but for
    /// Claude Code, which runs hooks below a shell and tells them its process as `CLAUDE_PID`.
    pub fn of(workspace: &Workspace, client: u32) -> Self {
        Self { dir: workspace.client_sessions(), client }
    }

    /// Every session that a client of this machine left word of, and whether one of those clients runs.
    pub fn all(workspace: &Workspace) -> BTreeMap<SessionId, bool> {
        let mut all = BTreeMap::new();
        for entry in fs::read_dir(workspace.client_sessions()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.ends_with(NEW)) else { continue };
            let Some(session) =
                private::read_to_string(&entry.path()).ok().and_then(|text| text.parse().ok())
            else {
                continue;
            };
            *all.entry(session).or_default() |= name.parse().is_ok_and(is_running);
        }
        all
    }

    /// The session the client is in, if a hook of it said so.
    pub fn current(&self) -> Option<SessionId> {
        private::read_to_string(&self.file()).ok()?.parse().ok()
    }

    /// The session the client is in, or was in last.
    pub fn last(&self) -> Option<SessionId> {
        self.current().or_else(|| private::read_to_string(&self.left()).ok()?.parse().ok())
    }

    /// Whether another client that runs is in a session.
    pub fn is_elsewhere(&self, session: &SessionId) -> bool {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let clients = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut others = clients.filter(|client| *client != self.client && is_running(*client));
        others.any(|client| Self { dir: self.dir.clone(), client }.current().as_ref() == Some(session))
    }

    /// Says that the client is in this session now, and forgets clients that run no more.
    ///
    /// # Errors
    /// What the file system said.
    pub fn enter(&self, session: &SessionId) -> io::Result<()> {
        // A memory that is not there is not made by leaving word in it.
        private::create_dir_in(&self.dir)?;
        self.forget_the_dead()?;
        let beside = self.dir.join(format!("{}{NEW}", self.client));
        let mut file = private::options().write(true).create(true).truncate(true).open(&beside)?;
        file.write_all(session.as_str().as_bytes())?;
        fs::rename(&beside, self.file())
    }

    /// Says that the client is in this session no more; when it is in another one by now, that stands.
    ///
    /// # Errors
    /// What the file system said.
    pub fn leave(&self, session: &SessionId) -> io::Result<()> {
        if self.current().is_some_and(|current| current != *session) {
            return Ok(());
        }
        match fs::rename(self.file(), self.left()) {
            Err(problem) if problem.kind() != io::ErrorKind::NotFound => Err(problem),
            _ => Ok(()),
        }
    }

    fn file(&self) -> PathBuf {
        self.dir.join(self.client.to_string())
    }

    fn left(&self) -> PathBuf {
        self.dir.join(format!("{}{LEFT}", self.client))
    }

    /// A client that was killed left no word of it, and its process id will be another's. That the client of its
    /// session is gone is known for a while.
    fn forget_the_dead(&self) -> io::Result<()> {
        let now = system::now();
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // Another hook may have been faster.
            if name.ends_with(GONE) {
                if system::modified(&path).is_some_and(|at| now.ms() - at.ms() > FORGOTTEN_AFTER_MS) {
                    let _ = fs::remove_file(path);
                }
                continue;
            }
            // Only names that this file gives: a number, or a number and `.new` or `.left`.
            let is_whole = !name.ends_with(NEW) && !name.ends_with(LEFT);
            let number = name.strip_suffix(NEW).or_else(|| name.strip_suffix(LEFT)).unwrap_or(name);
            let client = number.parse().ok();
            if client.is_some_and(|client| client != self.client && !is_running(client)) {
                let _ = match !is_whole {
                    true => fs::remove_file(path),
                    false => fs::rename(&path, self.dir.join(format!("{name}{GONE}"))),
                };
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn is_running(process: u32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    // One that may not be asked is there.
    process.is_some_and(|process| test_kill_process(process) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_running(_: u32) -> bool {
    true
}
