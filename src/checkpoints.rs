//! The file of checkpoints and the key that seals them: read, appended, compared with the ledger.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::ledger::{Checkpoint, Cursor, Hash, Key, LedgerError, Origin, Reader, Sealed, Tree};
use crate::workspace::Workspace;

/// Hashes read from the ledger at once.
const CHUNK: usize = 10_000;

/// Where the checkpoints of a workspace and their keys lie.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    file: PathBuf,
    /// The directory of the user's state; the keys are below it, outside every workspace.
    state_home: PathBuf,
}

/// The checkpoints of a ledger and their key, as they lay there at one moment.
#[derive(Debug)]
pub struct Loaded {
    origin: Option<Origin>,
    key: Result<Option<Key>, String>,
    lines: Result<Vec<(usize, Sealed)>, String>,
}

/// What became of the checkpoints when they were held against the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Checkpoints that agree with the ledger.
    pub holding: u64,
    /// The first that does not.
    pub fault: Option<String>,
    /// What could not be checked here.
    pub warning: Option<String>,
}

impl Checkpoints {
    /// Those of a workspace; `state_home` is [`crate::system::Environment::state_home`].
    pub fn of(workspace: &Workspace, state_home: &Path) -> Self {
        Self { file: workspace.checkpoints(), state_home: state_home.to_owned() }
    }

    /// Where the key of a ledger lies.
    fn key_path(&self, origin: &Origin) -> Option<PathBuf> {
        Some(self.state_home.join("hivemind").join(origin.as_str()?).join("key"))
    }

    /// The key of a ledger; `None` where it has none, as on a machine that only got a copy.
    fn key(&self, origin: &Origin) -> io::Result<Option<Key>> {
        let Some(path) = self.key_path(origin) else { return Ok(None) };
        match std::fs::read_to_string(&path) {
            Ok(text) => Key::from_text(&text).map(Some).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{} holds no key", path.display()))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Seals a checkpoint and makes its line durable. The first one makes the key: put in place after the
    /// line, so that whoever sees a key may expect a checkpoint. Lines sealed on another machine are put
    /// aside then, for nobody can check them here.
    ///
    /// # Errors
    /// What the file system said.
    pub fn seal(&self, checkpoint: Checkpoint, mut fresh: impl FnMut() -> [u8; 32]) -> io::Result<()> {
        if let Some(key) = self.key(&checkpoint.origin)? {
            return self.append(&checkpoint.seal(&key));
        }
        let path =
            self.key_path(&checkpoint.origin).ok_or_else(|| io::Error::other("a ledger without a name"))?;
        let key = Key::new(fresh());
        let made = path.with_extension(format!("new-{}", std::process::id()));
        let dir = path.parent().unwrap_or(&self.state_home);
        private_dir(dir)?;
        let mut file = private(OpenOptions::new().write(true).create(true).truncate(true)).open(&made)?;
        file.write_all(key.to_text().as_bytes())?;
        file.sync_all()?;
        if self.file.exists() {
            let aside = self.file.with_extension("elsewhere");
            tracing::warn!(aside = %aside.display(), "no key for these checkpoints: starting anew");
            std::fs::rename(&self.file, aside)?;
        }
        let before = std::fs::metadata(&self.file).map_or(0, |metadata| metadata.len());
        self.append(&checkpoint.clone().seal(&key))?;
        let placed = std::fs::hard_link(&made, &path);
        std::fs::remove_file(&made)?;
        match placed {
            // A backup of this very ledger was faster: its key counts.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                OpenOptions::new().write(true).open(&self.file)?.set_len(before)?;
                return self.seal(checkpoint, fresh);
            }
            other => other?,
        }
        File::open(dir)?.sync_all()
    }

    /// Removes the key of a ledger that goes away itself, as that of a demo does.
    pub fn drop_key(&self, ledger: &Reader) {
        let genesis = ledger.hashes_after(0, 1).unwrap_or_default();
        let path = genesis.first().and_then(|genesis| self.key_path(&Origin::of(genesis)));
        if let Some(dir) = path.as_deref().and_then(Path::parent)
            && let Err(error) = std::fs::remove_dir_all(dir)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, dir = %dir.display(), "cannot remove the key");
        }
    }

    /// Appends a line; half a line that a crash left is dropped first.
    fn append(&self, sealed: &Sealed) -> io::Result<()> {
        let options = &mut OpenOptions::new();
        let mut file = private(options.create(true).read(true).append(true)).open(&self.file)?;
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        file.set_len(complete(&bytes).len() as u64)?;
        let mut line = serde_json::to_vec(sealed)?;
        line.push(b'\n');
        file.write_all(&line)?;
        file.sync_all()?;
        // The file may be new: a key without it would tell of checkpoints that somebody took away.
        match (bytes.is_empty(), self.file.parent()) {
            (true, Some(dir)) => File::open(dir)?.sync_all(),
            _ => Ok(()),
        }
    }

    /// The size of the last checkpoint; 0 where there is none that can be read.
    pub fn last_size(&self) -> u64 {
        last(&self.file).map_or(0, |last| last.size)
    }

    /// Reads key and lines, to be held against a ledger that is walked afterwards: a writer may go on
    /// meanwhile, and what it seals then says nothing of the walk.
    ///
    /// # Errors
    /// [`LedgerError`] when the ledger cannot be read.
    pub fn load(&self, ledger: Option<&Reader>) -> Result<Loaded, LedgerError> {
        let genesis = ledger.map(|ledger| ledger.hashes_after(0, 1)).transpose()?.unwrap_or_default();
        let origin = genesis.first().map(Origin::of);
        let key = origin.as_ref().map_or(Ok(None), |origin| self.key(origin));
        Ok(Loaded { key: key.map_err(|error| error.to_string()), lines: self.lines(), origin })
    }

    fn lines(&self) -> Result<Vec<(usize, Sealed)>, String> {
        lines(&self.file)
    }
}

impl Loaded {
    /// Holds every line against the ledger, whose chain was walked to `head` and stands.
    ///
    /// # Errors
    /// [`LedgerError`] when the ledger cannot be read.
    pub fn check(self, ledger: Option<&Reader>, head: Cursor) -> Result<Checked, LedgerError> {
        let mut lines = match &self.lines {
            Ok(lines) => lines.clone(),
            Err(fault) => return Ok(Checked::broken(fault.clone())),
        };
        if lines.is_empty() {
            let gone = "the checkpoints of this ledger are gone, and the key that sealed them is still there";
            let kept = matches!(self.key, Ok(Some(_)));
            return Ok(if kept { Checked::broken(gone.to_owned()) } else { Checked::default() });
        }
        if let Some(fault) = self.misfit(&lines, head) {
            return Ok(Checked::broken(fault));
        }
        let warning = match &self.key {
            Ok(Some(key)) => match lines.iter().find(|(_, sealed)| !sealed.holds(key)) {
                Some((at, _)) => {
                    return Ok(Checked::broken(format!(
                        "checkpoint {at} was changed, or sealed on another machine: its hmac differs"
                    )));
                }
                None => None,
            },
            Ok(None) => Some(
                "this machine has no key for the checkpoints: they agree with the ledger, but who wrote \
                 them cannot be checked"
                    .to_owned(),
            ),
            Err(error) => Some(format!("the key of the checkpoints cannot be used: {error}")),
        };
        let fault = ledger.map(|ledger| another_past(ledger, &mut lines)).transpose()?.flatten();
        Ok(match fault {
            Some(fault) => Checked::broken(fault),
            None => Checked { holding: lines.len() as u64, fault: None, warning },
        })
    }

    /// A line that this ledger cannot have got, whatever its hashes are.
    fn misfit(&self, lines: &[(usize, Sealed)], head: Cursor) -> Option<String> {
        lines.iter().find_map(|(at, Sealed { checkpoint, .. })| {
            if checkpoint.size > head.seq {
                let (events, seen) = (head.seq, checkpoint.size);
                return Some(format!(
                    "the ledger ends at event {events}, and checkpoint {at} has seen event {seen}"
                ));
            }
            (Some(&checkpoint.origin) != self.origin.as_ref()).then(|| {
                format!("checkpoint {at} is of a ledger with another first event: this one was made anew")
            })
        })
    }
}

impl Checked {
    fn broken(fault: String) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }
}

/// The first checkpoint that saw other events than the ledger holds now.
fn another_past(ledger: &Reader, lines: &mut [(usize, Sealed)]) -> Result<Option<String>, LedgerError> {
    lines.sort_by_key(|(at, sealed)| (sealed.checkpoint.size, *at));
    let mut tree = Tree::default();
    let mut last = Cursor::GENESIS.hash;
    for (at, Sealed { checkpoint, .. }) in lines {
        last = grow(&mut tree, ledger, checkpoint.size)?.unwrap_or(last);
        let same = checkpoint.head_hash == hex::encode(last)
            && checkpoint.merkle_root == hex::encode(tree.root())
            && checkpoint.size == tree.size();
        if !same {
            let size = checkpoint.size;
            return Ok(Some(format!(
                "the first {size} events are not those that checkpoint {at} has seen: the ledger was rewritten"
            )));
        }
    }
    Ok(None)
}

/// Adds events to the tree until it has `size`; the hash of the last one added.
///
/// # Errors
/// [`LedgerError`] when the ledger cannot be read.
pub fn grow(tree: &mut Tree, ledger: &Reader, size: u64) -> Result<Option<Hash>, LedgerError> {
    let mut last = None;
    while tree.size() < size {
        let missing = usize::try_from(size - tree.size()).unwrap_or(CHUNK);
        let hashes = ledger.hashes_after(tree.size(), missing.min(CHUNK))?;
        if hashes.is_empty() {
            break;
        }
        for hash in hashes {
            tree.push(hash);
            last = Some(hash);
        }
    }
    Ok(last)
}

fn lines(file: &Path) -> Result<Vec<(usize, Sealed)>, String> {
    let bytes = match crate::private::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("the checkpoints cannot be read: {error}")),
    };
    complete(&bytes)
        .split(|byte| *byte == b'\n')
        .zip(1..)
        .filter(|(line, _)| !line.is_empty())
        .map(|(line, at)| match serde_json::from_slice(line) {
            Ok(sealed) => Ok((at, sealed)),
            Err(error) => Err(format!("checkpoint {at} is none: {error}")),
        })
        .collect()
}

/// The last line of a file of checkpoints, whoever sealed it; none where there is none that can be read.
pub fn last(file: &Path) -> Option<Checkpoint> {
    lines(file).ok()?.pop().map(|(_, sealed)| sealed.checkpoint)
}

/// Whether the last line of a file of checkpoints was sealed with a key below `state`, this user's state directory.
pub(crate) fn is_sealed_by(file: &Path, state: &Path) -> bool {
    let Some((_, sealed)) = lines(file).ok().and_then(|mut lines| lines.pop()) else { return false };
    let Some(origin) = sealed.checkpoint.origin.as_str() else { return false };
    let key = crate::private::read_to_string(&state.join(origin).join("key"));
    key.ok().and_then(|text| Key::from_text(&text)).is_some_and(|key| sealed.holds(&key))
}

/// Whole lines only: what follows the last line break was never finished.
fn complete(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &bytes[..end]
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)?;
    File::open(dir)?.sync_all()
}
