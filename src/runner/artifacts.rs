//! The artifacts of a run: its streams, its metadata and its result, in a directory of its own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::private;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::report::Meta;

/// The standard output of a run, cleaned and redacted.
pub const STDOUT: &str = "stdout.log";
/// The standard error of a run, cleaned and redacted.
pub const STDERR: &str = "stderr.log";
/// The run as an [`super::result::ExperimentResult`].
pub const RESULT: &str = "result.json";
/// The metadata of the run, with the hashes of the files beside it.
pub const META: &str = "meta.json";
/// Suffix of a file that is not complete yet.
const PART: &str = ".part";

/// A fault of the files of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Broken {
    /// A file is missing or cannot be read.
    #[error("{file} cannot be read: {problem}")]
    Unreadable {
        /// Name of the file.
        file: String,
        /// The error of the system.
        problem: String,
    },
    /// A file differs from what was stored.
    #[error("{file} has the hash {found}, recorded is {recorded}")]
    Changed {
        /// Name of the file.
        file: String,
        /// The recorded hash, in hex.
        recorded: String,
        /// The hash of the file now, in hex.
        found: String,
    },
    /// `meta.json` does not parse.
    #[error("{META} does not parse: {0}")]
    Malformed(String),
}

/// Makes the directory of a run, for its owner only.
///
/// # Errors
/// The error of the file system. `AlreadyExists` means that the directory belongs to another run.
pub(super) fn create_dir(dir: &Path) -> io::Result<()> {
    private::create_dir_in(dir.parent().unwrap_or(dir))?;
    private::create_dir(dir)
}

/// A new file, for its owner only.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    private::options().write(true).create_new(true).open(path)
}

/// The path of a file while it is not complete.
pub(super) fn part(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}{PART}"))
}

/// Gives a synced file its final name.
pub(super) fn complete(dir: &Path, name: &str) -> io::Result<()> {
    fs::rename(part(dir, name), dir.join(name))
}

/// Writes a whole file under a temporary name, syncs and renames it. Returns its SHA-256, in hex.
pub(super) fn write(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<String> {
    let mut file = create_private(&part(dir, name))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    complete(dir, name)?;
    Ok(hex::encode(Sha256::digest(bytes)))
}

/// Syncs a directory, so that the names in it survive a power cut.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// The SHA-256 of a file, in hex. Reads it in pieces.
pub fn hash_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}

/// Reads the metadata of a run.
pub fn read_meta(dir: &Path) -> Result<Meta, Broken> {
    let bytes = fs::read(dir.join(META)).map_err(|error| unreadable(META, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| Broken::Malformed(error.to_string()))
}

/// Compares the files of a run with their hashes: `meta.json` with the hash from the ledger, the other files
/// with the hashes in `meta.json`. Returns the faults in the order of the files.
pub fn verify(dir: &Path, meta_sha256: &str) -> Vec<Broken> {
    let mut broken: Vec<Broken> = check(dir, META, meta_sha256).into_iter().collect();
    let files = match read_meta(dir) {
        Ok(meta) => meta.files,
        Err(problem) => {
            // One fault for each file.
            if broken.is_empty() {
                broken.push(problem);
            }
            BTreeMap::new()
        }
    };
    broken.extend([STDOUT, STDERR, RESULT].iter().filter_map(|name| check(dir, name, files.get(*name)?)));
    broken
}

fn check(dir: &Path, name: &str, recorded: &str) -> Option<Broken> {
    match hash_file(&dir.join(name)) {
        Ok(found) if found == recorded => None,
        Ok(found) => Some(Broken::Changed { file: name.to_owned(), recorded: recorded.to_owned(), found }),
        Err(error) => Some(unreadable(name, &error)),
    }
}

fn unreadable(file: &str, error: &io::Error) -> Broken {
    Broken::Unreadable { file: file.to_owned(), problem: error.to_string() }
}
