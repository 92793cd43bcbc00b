//! The file of checkpoints, the key that seals them, and the last sealed one beside the key.
//!
//! The file lies in the workspace, so a process that rewrites the ledger can rewrite the file too. The last
//! sealed checkpoint therefore also lies beside the key, in the user's state directory. There is one for each
//! place of the ledger: a backup or a copy on the same machine has the same key and its own last checkpoint.
//! The place has a ground too: the directory that holds the memory, such as the git directory. A memory that is gone
//! from the same ground was removed; on another ground, as after a new clone to the same path, none was there yet.
//! This copy only moves forward: the line in the file is durable first, so after a crash the file is equal or ahead.
//!
//! hm never seals over evidence. It seals a ledger for the first time only when the ledger has no lines and no
//! checkpoint beside the key. A file that is missing, cut or changed is a fault until the operator accepts it.
//!
//! A crash can leave the last line torn: without its line break, or with sectors of zeros in it. Such a line
//! counts as never written. An earlier line that does not parse is a fault.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};

use crate::ledger::{Checkpoint, Cursor, Hash, Key, LedgerError, Origin, Reader, Sealed, Tree};
use crate::private;

/// Number of hashes read from the ledger at a time.
const CHUNK: usize = 10_000;
/// Number of bytes read from the end of the file when only the last lines matter: some two hundred lines.
const TAIL_BYTES: u64 = 64 * 1024;
/// The file of sealed checkpoints in a memory.
pub(crate) const FILE: &str = "checkpoints";
/// The directory in git for workspaces below the top of a work tree. Each memory in it is named by the percent-encoded path
/// of its workspace.
pub(crate) const BELOW_IN_GIT: &str = "hivemind-below";

/// The paths of a workspace's checkpoints and their keys.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    file: PathBuf,
    /// The user's state directory. The keys are below it, outside every workspace.
    state_home: Option<PathBuf>,
    /// A hash of the memory's path. It tells this workspace from copies of it.
    place: String,
    /// The directory that holds the memory.
    ground: PathBuf,
}

/// The lines of the file of checkpoints, each with its line number.
#[derive(Debug, Clone, Default)]
struct Lines {
    sealed: Vec<(usize, Sealed)>,
    /// Number of bytes up to the end of the last complete line.
    keep: u64,
    /// Whether an incomplete line follows.
    torn: bool,
}

/// Everything that this machine knows about the checkpoints of a ledger at one moment.
#[derive(Debug)]
pub struct Seen {
    key: Result<Option<Key>, String>,
    lines: Result<Lines, String>,
    /// The last checkpoint sealed at this place.
    own: Option<Sealed>,
    /// The newest checkpoint sealed at another place; only when this place has none.
    newest: Option<Sealed>,
    /// The last checkpoint sealed at this place for a ledger with another first event.
    replaced: Option<Sealed>,
}

/// The state of the checkpoints alone, without a comparison with the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seals {
    /// No checkpoint was ever sealed here.
    New,
    /// This machine sealed all lines.
    Hold,
    /// This machine can neither check nor seal; the text is the reason.
    Not(String),
    /// Evidence is missing or changed; the text is the fault.
    Broken(String),
}

/// The checkpoints of a ledger and their key, as they were at one moment.
#[derive(Debug)]
pub struct Loaded {
    origin: Option<Origin>,
    key: Result<Option<Key>, String>,
    lines: Result<Lines, String>,
    seals: Seals,
}

/// The result of comparing the checkpoints with the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Number of checkpoints that agree with the ledger.
    pub holding: u64,
    /// The first fault.
    pub fault: Option<String>,
    /// The part that this machine could not check, and why.
    pub warning: Option<String>,
}

impl Checkpoints {
    /// The checkpoints of the memory in a directory. `state_home` is [`crate::system::Environment::state_home`].
    pub fn of(memory: &Path, state_home: Option<&Path>) -> Self {
        Self {
            file: memory.join(FILE),
            state_home: state_home.map(Path::to_owned),
            place: place_name(memory),
            ground: ground_of(memory).to_owned(),
        }
    }

    fn keys(&self) -> Option<PathBuf> {
        self.state_home.as_ref().map(|home| home.join("hivemind"))
    }

    /// The directory with the key of a ledger and the last checkpoints sealed with it.
    fn dir_of(&self, origin: &Origin) -> Option<PathBuf> {
        Some(self.keys()?.join(origin.as_str()?))
    }

    fn own_path(&self, origin: &Origin) -> Option<PathBuf> {
        Some(self.dir_of(origin)?.join(format!("sealed-{}", self.place)))
    }

    /// The file with the name of the ledger that was last sealed at this place.
    pub(crate) fn place_path(&self) -> Option<PathBuf> {
        Some(self.keys()?.join(format!("place-{}", self.place)))
    }

    /// The file that tells the ground of the ledger that was last sealed at this place.
    fn ground_path(&self) -> Option<PathBuf> {
        Some(self.keys()?.join(format!("ground-{}", self.place)))
    }

    /// Whether the ledger that was last sealed at this place lay on the ground that is there now. False where that is
    /// unknown, as for a ledger that only older versions sealed.
    pub(crate) fn is_same_ground(&self) -> bool {
        let known = self.ground_path().and_then(|path| private::read_to_string(&path).ok());
        known.is_some() && known == ground_name(&self.ground)
    }

    /// Removes the record of the ledger that was last sealed at this place.
    fn clear_place(&self) -> io::Result<()> {
        let files = [self.place_path(), self.ground_path()];
        files.into_iter().flatten().try_for_each(|file| private::gone(std::fs::remove_file(file)))
    }

    /// The key of a ledger; `None` when this machine has none, as after a copy to it.
    fn key(&self, origin: &Origin) -> io::Result<Option<Key>> {
        let Some(path) = self.dir_of(origin).map(|dir| dir.join("key")) else { return Ok(None) };
        match private::read_to_string(&path) {
            Ok(text) => Key::from_text(&text).map(Some).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{} holds no key", path.display()))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads what this machine knows about the checkpoints of a ledger; `origin` is `None` for an empty ledger.
    pub fn seen(&self, origin: Option<&Origin>) -> Seen {
        // The order matters while a writer seals: it writes the line first, so the file, read last, holds the
        // checkpoint that lies beside the key.
        let sealed_here = |origin: &Origin| one(&self.own_path(origin)?);
        let own = origin.and_then(sealed_here);
        let lines = lines(&self.file, TAIL_BYTES);
        // A memory that moved away and came back was sealed elsewhere meanwhile, so its line is further up in the file.
        let is_further_up = |lines: &Lines| {
            let first = lines.sealed.first().map(|(_, first)| first.checkpoint.size);
            own.as_ref().is_some_and(|own| first.is_some_and(|first| own.checkpoint.size < first))
        };
        let lines = match lines {
            Ok(lines) if is_further_up(&lines) => self::lines(&self.file, u64::MAX),
            lines => lines,
        };
        let last = lines.as_ref().ok().and_then(|lines| lines.sealed.last());
        // Only the file can tell which ledger an empty one was.
        let named = origin.cloned().or_else(|| last.map(|(_, last)| last.checkpoint.origin.clone()));
        let own = own.or_else(|| named.as_ref().filter(|_| origin.is_none()).and_then(sealed_here));
        let newest = named.as_ref().filter(|_| own.is_none()).and_then(|origin| self.newest(origin));
        let key = named.as_ref().map_or(Ok(None), |origin| self.key(origin));
        let placed = self.placed().filter(|placed| Some(placed) != named.as_ref());
        // No ledger is missing on a ground that never had one.
        let placed = placed.filter(|_| origin.is_some() || self.is_same_ground());
        let replaced = placed.as_ref().and_then(sealed_here);
        Seen { key: key.map_err(|error| error.to_string()), lines, own, newest, replaced }
    }

    /// Moves the state of checkpoints to this place after the memory moved. Another memory that lies at the old place by
    /// now keeps its own.
    pub(crate) fn move_from(&self, memory: &Path) -> io::Result<()> {
        let Some(keys) = self.keys() else { return Ok(()) };
        let before = Self::of(memory, self.state_home.as_deref());
        let own = last(&self.file).map(|last| last.origin);
        let is_left = |origin: &Origin| memory.exists() && own.as_ref() != Some(origin);
        let (from, to) = (&before.place, &self.place);
        if let Some(origin) = before.placed().filter(|origin| !is_left(origin)) {
            // The directory that holds the memory is another one now.
            self.record_place(&origin)?;
            before.clear_place()?;
        }
        for dir in std::fs::read_dir(keys)?.flatten() {
            let at = |kind: &str, place: &str| dir.path().join(format!("{kind}-{place}"));
            if one(&at("sealed", from)).is_some_and(|sealed| is_left(&sealed.checkpoint.origin)) {
                continue;
            }
            for kind in ["sealed", "spool"].into_iter().filter(|kind| at(kind, from).exists()) {
                std::fs::rename(at(kind, from), at(kind, to))?;
            }
        }
        Ok(())
    }

    /// Permits another ledger at this place. True when a ledger was sealed here before. Its last checkpoint
    /// stays, in case that ledger comes back.
    pub(crate) fn forget_place(&self) -> io::Result<bool> {
        let was_known = self.placed().is_some();
        self.clear_place()?;
        Ok(was_known)
    }

    /// The name of the ledger that was last sealed at this place.
    fn placed(&self) -> Option<Origin> {
        let text = private::read_to_string(&self.place_path()?).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The newest checkpoint of a ledger over all places.
    fn newest(&self, origin: &Origin) -> Option<Sealed> {
        let entries = std::fs::read_dir(self.dir_of(origin)?).ok()?.flatten();
        let sealed = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("sealed-"));
        sealed.filter_map(|entry| one(&entry.path())).max_by_key(|sealed| sealed.checkpoint.size)
    }

    /// Seals a checkpoint unless a newer one is sealed. The line in the file comes first, then the copy beside the key.
    ///
    /// # Errors
    /// The error of the file system, or the reason why this machine does not seal the ledger.
    pub fn seal(&self, checkpoint: Checkpoint, fresh: impl FnOnce() -> [u8; 32]) -> io::Result<()> {
        let seen = self.seen(Some(&checkpoint.origin));
        match seen.seals() {
            Seals::New | Seals::Hold => {}
            Seals::Not(why) | Seals::Broken(why) => return Err(io::Error::other(why)),
        }
        let last = seen.lines.ok().and_then(|mut lines| lines.sealed.pop()).map(|(_, last)| last);
        let is_new = |known: &Sealed| known.checkpoint.size < checkpoint.size;
        let sealed = match last {
            Some(last) if !is_new(&last) => last,
            _ => self.seal_copy(checkpoint.clone(), fresh)?,
        };
        if seen.own.as_ref().is_none_or(|own| own.checkpoint.size < sealed.checkpoint.size) {
            self.advance(&sealed)?;
        }
        Ok(())
    }

    /// Appends a sealed line and makes it durable; the last checkpoint beside the key stays. The first line of
    /// a ledger needs a key, which is made before the line: lines without a key would look like lines of
    /// another machine.
    pub fn seal_copy(&self, checkpoint: Checkpoint, fresh: impl FnOnce() -> [u8; 32]) -> io::Result<Sealed> {
        let key = match self.key(&checkpoint.origin)? {
            Some(key) => key,
            None => self.make_key(&checkpoint.origin, &Key::new(fresh()))?,
        };
        let sealed = checkpoint.seal(&key);
        self.append(&sealed)?;
        Ok(sealed)
    }

    /// Puts a key in place. When another process was first, its key is used.
    fn make_key(&self, origin: &Origin, key: &Key) -> io::Result<Key> {
        let dir = self.dir_of(origin).ok_or_else(|| io::Error::other("no place for a key"))?;
        private::create_dir_all(&dir)?;
        let made = dir.join(format!("key.new-{}", std::process::id()));
        let mut file = private::options().write(true).create(true).truncate(true).open(&made)?;
        file.write_all(key.to_text().as_bytes())?;
        file.sync_all()?;
        let placed = std::fs::hard_link(&made, dir.join("key"));
        std::fs::remove_file(&made)?;
        match placed {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => File::open(&dir)?.sync_all()?,
        }
        self.key(origin)?.ok_or_else(|| io::Error::other("the key that was made is gone"))
    }

    /// Moves the checkpoint beside the key forward to one whose line is durable.
    fn advance(&self, sealed: &Sealed) -> io::Result<()> {
        let origin = &sealed.checkpoint.origin;
        let Some(own) = self.own_path(origin) else { return Ok(()) };
        private::replace(&own, &serde_json::to_vec(sealed)?)?;
        self.record_place(origin)
    }

    /// Records which ledger lies at this place, and the ground of the place.
    fn record_place(&self, origin: &Origin) -> io::Result<()> {
        let (Some(place), Some(ground)) = (self.place_path(), self.ground_path()) else { return Ok(()) };
        if self.placed().as_ref() != Some(origin) {
            private::replace(&place, &serde_json::to_vec(origin)?)?;
        }
        match ground_name(&self.ground) {
            Some(name) if !self.is_same_ground() => private::replace(&ground, name.as_bytes()),
            Some(_) | None => Ok(()),
        }
    }

    /// Writes the checkpoint beside the key into the file again if the file is gone and the ledger holds the events. An
    /// import that brought the events back brings no checkpoints.
    pub(crate) fn put_back(&self, origin: &Origin, holds: impl Fn(Cursor) -> bool) -> io::Result<()> {
        let Seen { key: Ok(Some(key)), lines: Ok(lines), own: Some(own), .. } = self.seen(Some(origin))
        else {
            return Ok(());
        };
        let is_ours = own.holds(&key) && own.checkpoint.cursor().is_some_and(holds);
        if lines.sealed.is_empty() && is_ours { self.append(&own) } else { Ok(()) }
    }

    /// The file beside the key with what waits for the ledger that is missing at this place. It outlives the memory: a
    /// backup may replace the whole directory. `here` is the ledger that is there, if it has events.
    pub(crate) fn spool(&self, here: Option<Origin>) -> Option<PathBuf> {
        let named = || last(&self.file).map(|last| last.origin);
        let missing = self.placed().or(here).or_else(named)?;
        Some(self.dir_of(&missing)?.join(format!("spool-{}", self.place)))
    }

    /// All such files of this place, whatever ledger they wait for.
    pub(crate) fn spools(&self) -> Vec<PathBuf> {
        let name = format!("spool-{}", self.place);
        let dirs = self.keys().and_then(|keys| std::fs::read_dir(keys).ok()).into_iter().flatten().flatten();
        dirs.map(|dir| dir.path().join(&name)).filter(|kept| kept.exists()).collect()
    }

    /// Begins anew after the operator accepted the missing or changed evidence. The file stays under another
    /// name, and this place then counts as never sealed. A second call changes nothing.
    ///
    /// # Errors
    /// The error of the file system; some of the steps may be done.
    pub fn start_anew(&self, origin: Option<&Origin>, accepted_at: u64) -> io::Result<()> {
        let last = lines(&self.file, TAIL_BYTES).ok().and_then(|mut lines| lines.sealed.pop());
        let named = last.map(|(_, last)| last.checkpoint.origin);
        for origin in origin.into_iter().chain(named.as_ref()).chain(self.placed().as_ref()) {
            if let Some(own) = self.own_path(origin) {
                private::gone(std::fs::remove_file(&own))?;
            }
        }
        self.clear_place()?;
        private::gone(std::fs::rename(
            &self.file,
            self.file.with_extension(format!("accepted-{accepted_at}")),
        ))
    }

    /// Removes the key of a ledger that is deleted, such as that of a demo.
    pub fn drop_key(&self, ledger: &Reader) {
        let genesis = ledger.hashes_after(0, 1).unwrap_or_default();
        let dir = genesis.first().and_then(|genesis| self.dir_of(&Origin::of(genesis)));
        let place = self.clear_place();
        if let Err(error) = dir.map_or(Ok(()), |dir| private::gone(std::fs::remove_dir_all(dir))).and(place) {
            tracing::warn!(%error, "cannot remove the key");
        }
    }

    /// Appends a line, after removing a torn one.
    fn append(&self, sealed: &Sealed) -> io::Result<()> {
        let keep = lines(&self.file, TAIL_BYTES).map_err(io::Error::other)?.keep;
        let mut file = private::options().create(true).append(true).open(&self.file)?;
        if file.metadata()?.len() > keep {
            file.set_len(keep)?;
            // The sync keeps a crash from leaving torn bytes behind the next line.
            file.sync_all()?;
        }
        let mut line = serde_json::to_vec(sealed)?;
        line.push(b'\n');
        file.write_all(&line)?;
        file.sync_all()?;
        // Syncs the directory of a new file. If a crash lost the file, the checkpoint beside the key would make
        // it look removed.
        match (keep, self.file.parent()) {
            (0, Some(dir)) => File::open(dir)?.sync_all(),
            _ => Ok(()),
        }
    }

    /// The size of the last checkpoint; 0 when none can be read.
    pub fn last_size(&self) -> u64 {
        last(&self.file).map_or(0, |last| last.size)
    }

    /// Reads key and lines before the caller verifies the ledger. A writer may seal more meanwhile; the check
    /// does not include that.
    pub fn load(&self, ledger: Option<&Reader>) -> Result<Loaded, LedgerError> {
        let genesis = ledger.map(|ledger| ledger.hashes_after(0, 1)).transpose()?.unwrap_or_default();
        let origin = genesis.first().map(Origin::of);
        let lines = lines(&self.file, u64::MAX);
        let seen = self.seen(origin.as_ref());
        Ok(Loaded { seals: seen.seals(), key: seen.key, lines, origin })
    }
}

impl Loaded {
    /// Compares every line with the ledger. The caller has verified its chain up to `head`.
    pub fn check(self, ledger: Option<&Reader>, head: Cursor) -> Result<Checked, LedgerError> {
        let (mut lines, torn) = match &self.lines {
            Ok(lines) => (lines.sealed.clone(), lines.torn),
            Err(fault) => return Ok(Checked::broken(fault.clone())),
        };
        if let Some(fault) = self.misfit(&lines, head) {
            return Ok(Checked::broken(fault));
        }
        if let Ok(Some(key)) = &self.key
            && let Some((at, _)) = lines.iter().find(|(_, sealed)| !sealed.holds(key))
        {
            return Ok(Checked::broken(format!(
                "checkpoint {at} was changed, or sealed on another machine: its hmac differs"
            )));
        }
        if let Some(fault) = ledger.map(|ledger| another_past(ledger, &mut lines)).transpose()?.flatten() {
            return Ok(Checked::broken(fault));
        }
        let warning = match self.seals {
            Seals::Broken(fault) => return Ok(Checked::broken(fault)),
            Seals::Not(why) => Some(why),
            Seals::New | Seals::Hold => torn.then(|| TORN.to_owned()),
        };
        Ok(Checked { holding: lines.len() as u64, fault: None, warning })
    }

    /// The fault of the first line that cannot belong to this ledger: it is beyond the end, or of another ledger.
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

impl Seen {
    /// The state of the checkpoints alone.
    pub fn seals(&self) -> Seals {
        let lines = match &self.lines {
            Ok(lines) => &lines.sealed,
            Err(fault) => return Seals::Broken(fault.clone()),
        };
        if let Some(replaced) = &self.replaced {
            return Seals::Broken(format!(
                "another ledger lay here, and {} of its events were sealed: it was replaced or removed",
                replaced.checkpoint.size
            ));
        }
        let key = match &self.key {
            Ok(Some(key)) => key,
            Ok(None) if lines.is_empty() && self.own.is_none() => return Seals::New,
            Ok(None) => return Seals::Not(NO_KEY.to_owned()),
            Err(error) => {
                return Seals::Not(format!(
                    "unsealed here: the key of the checkpoints cannot be used: {error}"
                ));
            }
        };
        if let Some((_, bad)) = lines.iter().find(|(_, sealed)| !sealed.holds(key)) {
            let size = bad.checkpoint.size;
            return Seals::Broken(format!(
                "the checkpoint of event {size} was changed, or sealed on another machine: its hmac differs"
            ));
        }
        let Some(own) = &self.own else {
            return if lines.is_empty() { Seals::New } else { Seals::Hold };
        };
        let size = own.checkpoint.size;
        if !own.holds(key) {
            return Seals::Broken("the checkpoint beside the key was changed: its hmac differs".to_owned());
        }
        match lines.last() {
            None => Seals::Broken(format!(
                "the checkpoints of this ledger are gone, and the one sealed last, of event {size}, is still \
                 beside its key"
            )),
            Some(_) if lines.iter().any(|(_, sealed)| sealed == own) => Seals::Hold,
            Some((_, last)) => Seals::Broken(format!(
                "the checkpoints end with that of event {}, and that of event {size} was sealed here: lines were \
                 taken away",
                last.checkpoint.size
            )),
        }
    }

    /// The positions that sealed checkpoints prove: from the last line of the file, and from beside the key.
    /// Each has the words that introduce it.
    pub fn marks(&self) -> impl Iterator<Item = (&'static str, Cursor)> {
        let key = self.key.as_ref().ok().and_then(Option::as_ref);
        // A line of another machine proves nothing here; `seals` reports it.
        let ours = |sealed: &&Sealed| key.is_none_or(|key| sealed.holds(key));
        let last = self.lines.as_ref().ok().and_then(|lines| lines.sealed.last()).map(|(_, last)| last);
        let line = last.filter(ours).map(|sealed| ("the last checkpoint has seen", sealed));
        let own = self.own.as_ref().filter(ours).map(|sealed| ("this machine has sealed", sealed));
        line.into_iter().chain(own).filter_map(|(who, sealed)| Some((who, sealed.checkpoint.cursor()?)))
    }

    /// The newest checkpoint of the ledger at another place; only when this place has none.
    pub fn elsewhere(&self) -> Option<Cursor> {
        self.newest.as_ref()?.checkpoint.cursor()
    }

    /// The position that was sealed of the ledger which lay here before the one that is there now.
    pub fn replaced(&self) -> Option<Cursor> {
        self.replaced.as_ref()?.checkpoint.cursor()
    }

    /// Whether the last line is incomplete.
    pub fn is_torn(&self) -> bool {
        self.lines.as_ref().is_ok_and(|lines| lines.torn)
    }
}

/// The warning on a machine without the key.
const NO_KEY: &str = "unsealed here: this machine has no key for the checkpoints, so who wrote them cannot be checked, \
                      and no more are written; after a move to this machine, `hm repair` seals anew";

impl Checked {
    fn broken(fault: String) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }
}

/// The fault of the first checkpoint whose events differ from those in the ledger now.
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

/// Adds event hashes to the tree until it has `size` of them. Returns the last hash added.
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

/// The complete lines within the last `within` bytes of a file of checkpoints.
fn lines(file: &Path, within: u64) -> Result<Lines, String> {
    let read = || -> io::Result<(u64, Vec<u8>)> {
        let mut file = match crate::private::options().read(true).open(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((0, Vec::new())),
            other => other?,
        };
        let start = file.metadata()?.len().saturating_sub(within);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // Skips the rest of a line that began earlier.
        let first =
            if start == 0 { 0 } else { bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1) };
        bytes.drain(..first);
        Ok((start + first as u64, bytes))
    };
    let (start, bytes) = read().map_err(|error| format!("the checkpoints cannot be read: {error}"))?;
    let mut lines = parsed(&bytes)?;
    lines.keep += start;
    Ok(lines)
}

fn parsed(bytes: &[u8]) -> Result<Lines, String> {
    let mut lines = Lines::default();
    let (mut at, mut bad) = (0, None);
    for (piece, number) in bytes.split_inclusive(|byte| *byte == b'\n').zip(1..) {
        if let Some(fault) = bad.take() {
            return Err(fault);
        }
        at += piece.len() as u64;
        // A line without a line break was not written completely.
        let Some(line) = piece.strip_suffix(b"\n") else { break };
        match serde_json::from_slice(line) {
            Ok(sealed) => lines.sealed.push((number, sealed)),
            Err(_) if line.is_empty() => {}
            Err(error) => {
                bad = Some(format!("checkpoint {number} is none: {error}"));
                continue;
            }
        }
        lines.keep = at;
    }
    lines.torn = lines.keep < bytes.len() as u64;
    Ok(lines)
}

/// The warning of `hm verify` about a torn line.
const TORN: &str = "the last line of the checkpoints was not written whole, as after a power cut or on a full disk: \
                    it counts as never written";

/// The last checkpoint in a file, sealed by any machine; `None` when none can be read.
pub fn last(file: &Path) -> Option<Checkpoint> {
    lines(file, TAIL_BYTES).ok()?.sealed.pop().map(|(_, sealed)| sealed.checkpoint)
}

/// A short name for the place of a memory: a hash of its path.
fn place_name(memory: &Path) -> String {
    hex::encode(&Sha256::digest(memory.as_os_str().as_encoded_bytes())[..8])
}

/// The directory that holds a memory. Memories of workspaces below the top of a work tree share one more directory in the
/// git directory.
fn ground_of(memory: &Path) -> &Path {
    let parent = memory.parent().unwrap_or(memory);
    if parent.ends_with(BELOW_IN_GIT) { parent.parent().unwrap_or(parent) } else { parent }
}

/// A name for a directory that no directory made later at the same path has: its inode and the time of its birth. The
/// name stays when the directory moves.
fn ground_name(dir: &Path) -> Option<String> {
    let metadata = std::fs::symlink_metadata(dir).ok()?;
    let born = metadata.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    let (_, inode) = private::name(&metadata);
    Some(format!("{inode}-{}", born.unwrap_or_default().as_nanos()))
}

/// Whether a key below `state`, this user's state directory, sealed the last line of a file of checkpoints.
pub(crate) fn is_sealed_by(file: &Path, state: &Path) -> bool {
    let last = lines(file, TAIL_BYTES).ok().and_then(|mut lines| lines.sealed.pop());
    let Some((_, sealed)) = last else { return false };
    let Some(origin) = sealed.checkpoint.origin.as_str() else { return false };
    let key = crate::private::read_to_string(&state.join(origin).join("key"));
    key.ok().and_then(|text| Key::from_text(&text)).is_some_and(|key| sealed.holds(&key))
}

/// A checkpoint from a file that holds only one.
fn one(path: &Path) -> Option<Sealed> {
    serde_json::from_slice(&private::read(path).ok()?).ok()
}
