//! What a run leaves: its streams, what is known of it, and the result, in a directory of its own.

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
/// Everything known of the run, with the hashes of the files beside it.
pub const META: &str = "meta.json";
/// What a file is called until it is whole.
const PART: &str = ".part";

/// Something wrong with the files of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Broken {
    /// It is gone, or cannot be read.
    #[error("{file} cannot be read: {problem}")]
    Unreadable {
        /// Which file.
        file: String,
        /// What the system said.
        problem: String,
    },
    /// It is not what was stored.
    #[error("{file} has the hash {found}, recorded is {recorded}")]
    Changed {
        /// Which file.
        file: String,
        /// What stands in the record, hex.
        recorded: String,
        /// What it is now, hex.
        found: String,
    },
    /// `meta.json` does not parse.
    #[error("{META} does not parse: {0}")]
    Malformed(String),
}

/// Makes the directory of a run, for its owner only.
///
/// # Errors
/// Those of the file system; a directory that is there already holds another run.
pub(super) fn create_dir(dir: &Path) -> io::Result<()> {
    private::create_dir_in(dir.parent().unwrap_or(dir))?;
    private::create_dir(dir)
}

/// A new file, for its owner only.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    private::options().write(true).create_new(true).open(path)
}

/// What a file is called until it is whole.
pub(super) fn part(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}{PART}"))
}

/// Gives a file its name; it was synced before.
pub(super) fn complete(dir: &Path, name: &str) -> io::Result<()> {
    fs::rename(part(dir, name), dir.join(name))
}

/// Writes a whole file: under another name, synced, renamed. Its SHA-256, hex.
pub(super) fn write(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<String> {
    let mut file = create_private(&part(dir, name))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    complete(dir, name)?;
    Ok(hex::encode(Sha256::digest(bytes)))
}

/// Makes the names last.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// The SHA-256 of a file, hex, in bounded memory.
///
/// # Errors
/// Those of the file system.
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

/// Reads what is known of a run.
///
/// # Errors
/// [`Broken`].
pub fn read_meta(dir: &Path) -> Result<Meta, Broken> {
    let bytes = fs::read(dir.join(META)).map_err(|error| unreadable(META, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| Broken::Malformed(error.to_string()))
}

/// Holds the files of a run against the hash of `meta.json` that stands in the ledger, and against what
/// `meta.json` says of the others. What is wrong, in the order of the files; nothing if all is as it was.
pub fn verify(dir: &Path, meta_sha256: &str) -> Vec<Broken> {
    let mut broken: Vec<Broken> = check(dir, META, meta_sha256).into_iter().collect();
    let files = match read_meta(dir) {
        Ok(meta) => meta.files,
        Err(problem) => {
            // One finding for one file.
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
