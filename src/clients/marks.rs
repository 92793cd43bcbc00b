//! When hooks last ran: each leaves an empty file of its name, and the time of that file is the answer.

use std::fs::File;
use std::path::PathBuf;

use super::Client;
use crate::domain::time::Timestamp;
use crate::private;
use crate::system;
use crate::workspace::Workspace;

/// The mark that one event of one client leaves: `<client>.<event>`, in the client's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    path: PathBuf,
}

impl Mark {
    /// That of an event.
    pub fn of(workspace: &Workspace, client: &Client, event: &str) -> Self {
        Self { path: workspace.hook_marks().join(format!("{}.{event}", client.name)) }
    }

    /// Leaves the mark of a hook that ran. What is no name of an event leaves none.
    ///
    /// # Errors
    /// What the file system said.
    pub fn leave(workspace: &Workspace, client: &str, event: &str) -> std::io::Result<()> {
        if event.is_empty()
            || event.len() > 40
            || !event.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
        {
            return Ok(());
        }
        private::create_dir_in(&workspace.hook_marks())?;
        // Cutting a file that is empty already changes its time, and nothing else.
        let mark = workspace.hook_marks().join(format!("{client}.{event}"));
        private::options().write(true).create(true).truncate(true).open(mark).map(drop)
    }

    /// When it last fired; none when it never did.
    pub fn at(&self) -> Option<Timestamp> {
        system::modified(&self.path)
    }

    /// Does something that may leave the mark, and leaves it as it was: a rehearsal is no event.
    pub async fn untouched<T>(&self, rehearsal: impl Future<Output = T>) -> T {
        let before = std::fs::metadata(&self.path).and_then(|metadata| metadata.modified()).ok();
        let outcome = rehearsal.await;
        // At worst the mark is newer than the last event.
        let _ = match before {
            Some(time) => {
                File::options().write(true).open(&self.path).and_then(|mark| mark.set_modified(time))
            }
            None => std::fs::remove_file(&self.path),
        };
        outcome
    }
}
