//! The workspace in which a client's session began. Its hooks stay in that workspace, whatever directory its
//! agent enters.
//!
//! A client tells its hooks the current directory of its agent. That may be a repository that the agent has
//! just cloned. Its events belong to the session's own workspace, and hooks open no file of the clone.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::domain::ids::SessionId;
use crate::private;
use crate::system;
use crate::workspace::Workspace;

/// Age after which the record of a silent session is removed: a killed client does not end its session.
const FORGOTTEN_AFTER_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// The record of one session, in the user's state directory.
#[derive(Debug)]
pub struct SessionHome(PathBuf);

impl SessionHome {
    /// The record of a session of a client.
    pub fn of(state_home: &Path, client: &str, session: &SessionId) -> Self {
        let name = hex::encode(&Sha256::digest(format!("{client}\n{session}"))[..16]);
        Self(state_home.join("hivemind").join("sessions").join(name))
    }

    /// The root of the workspace in which the session began, and its memory; `None` for an unknown session.
    pub fn get(&self) -> Option<(PathBuf, PathBuf)> {
        let text = private::read(&self.0).ok()?;
        let mut paths = text.split(|byte| *byte == 0).map(private::path_of);
        Some((paths.next()??, paths.next()??))
    }

    /// Records that the session began in this workspace.
    pub fn enter(&self, workspace: &Workspace) -> io::Result<()> {
        private::create_dir_all(self.0.parent().unwrap_or(&self.0))?;
        let paths = [workspace.root(), workspace.memory()].map(|path| path.as_os_str().as_encoded_bytes());
        private::swap(&self.0, &paths.join(&0))
    }

    /// Removes the record of a session that ended, and the records of old silent ones.
    pub fn leave(&self) {
        // On a failure the record stays until it is old.
        let _ = std::fs::remove_file(&self.0);
        let _ = self.0.parent().map(forget_the_old);
    }
}

fn forget_the_old(dir: &Path) -> io::Result<()> {
    let now = system::now();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if system::modified(&path).is_some_and(|at| now.ms() - at.ms() > FORGOTTEN_AFTER_MS) {
            // Another hook may have removed the file first.
            let _ = std::fs::remove_file(path);
        }
    }
    Ok(())
}
