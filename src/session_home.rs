//! Which workspace a client's session began in: its hooks stay there, wherever its agent goes.
//!
//! A client tells its hooks the directory its agent is in at that moment. That may be a repository which the agent
//! has just cloned: what happens there belongs to the session's own workspace, and nothing of the clone is opened.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::domain::ids::SessionId;
use crate::private;
use crate::system;
use crate::workspace::Workspace;

/// Sessions that were not heard of for so long are forgotten: a client that was killed ends none.
const FORGOTTEN_AFTER_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// Where word is left of one session, in the user's own state directory.
#[derive(Debug)]
pub struct SessionHome(PathBuf);

impl SessionHome {
    /// The place of a session of a client.
    pub fn of(state_home: &Path, client: &str, session: &SessionId) -> Self {
        let name = hex::encode(&Sha256::digest(format!("{client}\n{session}"))[..16]);
        Self(state_home.join("hivemind").join("sessions").join(name))
    }

    /// The root of the workspace the session began in, and its memory; none of one nothing is known of.
    pub fn get(&self) -> Option<(PathBuf, PathBuf)> {
        let text = private::read(&self.0).ok()?;
        let mut paths = text.split(|byte| *byte == 0).map(private::path_of);
        Some((paths.next()??, paths.next()??))
    }

    /// Says that the session began in this workspace.
    ///
    /// # Errors
    /// What the file system said.
    pub fn enter(&self, workspace: &Workspace) -> io::Result<()> {
        private::create_dir_all(self.0.parent().unwrap_or(&self.0))?;
        let paths = [workspace.root(), workspace.memory()].map(|path| path.as_os_str().as_encoded_bytes());
        private::swap(&self.0, &paths.join(&0))
    }

    /// Says that the session is over, and forgets those that ended without a word.
    pub fn leave(&self) {
        // At worst they are forgotten later.
        let _ = std::fs::remove_file(&self.0);
        let _ = self.0.parent().map(forget_the_old);
    }
}

fn forget_the_old(dir: &Path) -> io::Result<()> {
    let now = system::now();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if system::modified(&path).is_some_and(|at| now.ms() - at.ms() > FORGOTTEN_AFTER_MS) {
            // Another hook may have been faster.
            let _ = std::fs::remove_file(path);
        }
    }
    Ok(())
}
