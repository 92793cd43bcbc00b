//! Records when hooks last ran: each touches an empty file of its name, and the time of the file is the record.

use std::fs::File;
use std::path::PathBuf;

use super::Client;
use crate::domain::time::Timestamp;
use crate::private;
use crate::system;
use crate::workspace::Workspace;

/// The mark of one event of one client: the file `<client>.<event>`, with the client's name of the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    path: PathBuf,
}

impl Mark {
    /// The mark of an event.
    pub fn of(workspace: &Workspace, client: &Client, event: &str) -> Self {
        Self { path: workspace.hook_marks().join(format!("{}.{event}", client.name)) }
    }

    /// Leaves the mark of a hook that ran. A text that is not the name of an event leaves none.
    pub fn leave(workspace: &Workspace, client: &str, event: &str) -> std::io::Result<()> {
        if event.is_empty()
            || event.len() > 40
            || !event.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
        {
            return Ok(());
        }
        private::create_dir_in(&workspace.hook_marks())?;
        // Truncating an empty file only changes its time.
        let mark = workspace.hook_marks().join(format!("{client}.{event}"));
        private::options().write(true).create(true).truncate(true).open(mark).map(drop)
    }

    /// The time of the last run; `None` when the hook never ran.
    pub fn at(&self) -> Option<Timestamp> {
        system::modified(&self.path)
    }

    /// Runs a rehearsal of a hook and restores the mark afterwards.
    pub async fn untouched<T>(&self, rehearsal: impl Future<Output = T>) -> T {
        let before = std::fs::metadata(&self.path).and_then(|metadata| metadata.modified()).ok();
        let outcome = rehearsal.await;
        // At worst the mark is newer than the last real run.
        let _ = match before {
            Some(time) => {
                File::options().write(true).open(&self.path).and_then(|mark| mark.set_modified(time))
            }
            None => std::fs::remove_file(&self.path),
        };
        outcome
    }
}
