//! The address of the writer's socket, whose path must be short.

use std::io;
use std::path::{Path, PathBuf};

use super::Workspace;
use crate::private;

/// The longest path of a socket that hm uses; `sun_path` holds 108 bytes on Linux and 104 on macOS.
const MAX_SOCKET_PATH_BYTES: usize = 100;

impl Workspace {
    /// The address of the writer's socket: beside the ledger or, when that path is too long for a socket, the
    /// path that the writer wrote into a note in the memory. No environment variable changes it, so processes
    /// with different environments find the same writer.
    ///
    /// # Errors
    /// `NotFound` when the path is too long and no writer wrote a note, `PermissionDenied` when other users can
    /// use the socket's directory.
    pub fn socket(&self) -> io::Result<PathBuf> {
        if let Some(usual) = self.usual_socket() {
            return Ok(usual);
        }
        let note = private::read_to_string(&self.socket_note())?;
        let mut lines = note.lines();
        let path = PathBuf::from(lines.next().unwrap_or_default());
        if lines.next() != Some(&self.name_of_memory()) {
            // The note came with a copy of the memory: it names the writer of the original.
            return Err(io::ErrorKind::NotFound.into());
        }
        private::check_dir(path.parent().ok_or(io::ErrorKind::NotFound)?)?;
        Ok(path)
    }

    fn usual_socket(&self) -> Option<PathBuf> {
        let path = self.memory.join("writer.sock");
        (path.as_os_str().len() <= MAX_SOCKET_PATH_BYTES).then_some(path)
    }

    fn socket_note(&self) -> PathBuf {
        self.memory.join("writer.addr")
    }

    /// Device and inode of the memory's directory. A copy has others.
    fn name_of_memory(&self) -> String {
        private::name_of(&self.memory).map(|(device, inode)| format!("{device} {inode}")).unwrap_or_default()
    }

    /// A free address for the writer to listen at; [`Workspace::socket`] then returns it. It removes the socket
    /// of a killed writer, so only the holder of the writer's lock may call it.
    pub fn free_socket(&self) -> io::Result<PathBuf> {
        if let Ok(left) = self.socket() {
            self.remove_socket(&left);
        }
        if let Some(usual) = self.usual_socket() {
            return Ok(usual);
        }
        let fits = |dir: &Path| dir.join("writer.sock").as_os_str().len() <= MAX_SOCKET_PATH_BYTES;
        for above in [std::env::temp_dir(), PathBuf::from("/tmp")] {
            let dir = tempfile::Builder::new().prefix("hivemind-").tempdir_in(above)?;
            if fits(dir.path()) {
                let path = dir.keep().join("writer.sock");
                private::close_dir(path.parent().ok_or(io::ErrorKind::NotFound)?)?;
                let mut note = path.as_os_str().as_encoded_bytes().to_vec();
                note.extend_from_slice(format!("\n{}\n", self.name_of_memory()).as_bytes());
                private::replace(&self.socket_note(), &note)?;
                return Ok(path);
            }
        }
        Err(io::Error::other("no directory for temporary files has a path short enough for a socket"))
    }

    /// Removes the socket of a writer, and the directory made for it. A killed writer leaves both. Only that
    /// writer or the holder of the writer's lock may call it.
    pub fn remove_socket(&self, socket: &Path) {
        let is_noted = self.socket().is_ok_and(|noted| noted == socket);
        if let Err(error) = std::fs::remove_file(socket)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "cannot remove the socket");
        }
        if !socket.starts_with(&self.memory)
            && let Some(dir) = socket.parent()
        {
            // Fails when the directory holds another file; then it stays.
            let _ = std::fs::remove_dir(dir);
            if is_noted {
                let _ = std::fs::remove_file(self.socket_note());
            }
        }
    }
}
