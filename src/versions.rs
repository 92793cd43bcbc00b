//! What the files of scopes hold now, read safely: inside the work tree, regular, and small enough. The version of a path
//! that leads through links includes where they lead.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::domain::scope::{MAX_SCOPES, Scope};
use crate::domain::versions::{Content, MAX_FILE_BYTES, Versions};
use crate::private;

pub use moves::{Dirs, Moves};
pub use places::{fate_of, text_of};

mod moves;
mod places;

/// Files up to this size are read at once: SHA-256 of them takes some 50 microseconds, and so does a change of threads.
const SMALL_FILE_BYTES: u64 = 64 << 10;
/// Larger files are not read for a list, and those of one claim have versions up to [`MAX_FILE_BYTES`] together.
const LARGE_FILE_BYTES: u64 = 1 << 20;
/// The most scopes that are looked at at once.
const FEW_SCOPES: usize = 4;
/// The most links that lead to one file, as Linux has it.
const MAX_LINKS: usize = 40;

/// Why a scope has no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unversioned {
    /// It is a symbol, a target or a tag.
    Name,
    /// It is a directory.
    Directory,
    /// It is a pattern for any number of files.
    Glob,
    /// A link leads out of the work tree.
    Elsewhere,
    /// A link leads to nothing in the work tree.
    Dangling,
    /// It is a pipe, a device or a socket.
    Special,
    /// It has this many bytes, more than [`MAX_FILE_BYTES`], or more than the files before it leave of them.
    TooLarge(u64),
    /// The system does not let this user read it.
    Unreadable,
}

impl fmt::Display for Unversioned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::TooLarge(bytes) = self {
            return write!(f, "has {} MB", bytes.div_ceil(1_000_000));
        }
        f.write_str(match self {
            Self::TooLarge(_) => "is too large",
            Self::Name => "is no file",
            Self::Directory => "is a directory",
            Self::Glob => "is a pattern for files",
            Self::Elsewhere => "leads out of the work tree",
            Self::Dangling => "is a link to a file that is not there",
            Self::Special => "is no regular file",
            Self::Unreadable => "cannot be read",
        })
    }
}

impl Unversioned {
    /// How it is found out whether it changed; none for a name, of which each reader knows that it is no file.
    pub const fn is_told(self) -> Option<&'static str> {
        match self {
            Self::Name => None,
            Self::Directory | Self::Glob => Some("only a reported edit tells that something there changed"),
            Self::Elsewhere | Self::Dangling | Self::Special | Self::TooLarge(_) | Self::Unreadable => {
                Some("no run can tell whether it changed")
            }
        }
    }
}

/// What the files of scopes hold, and the scopes without a version.
pub type Seen = (Versions, Vec<(Scope, Unversioned)>);

/// What the files among some scopes hold, below the canonical root of a work tree.
pub fn seen(root: &Path, scopes: &[Scope]) -> Seen {
    seen_up_to(MAX_FILE_BYTES, root, scopes).unwrap_or_default()
}

/// What [`seen`] tells, where it takes less time than asking another thread does; `None` where it may take more.
pub fn seen_at_once(root: &Path, scopes: &[Scope]) -> Option<Seen> {
    (scopes.len() <= FEW_SCOPES).then(|| seen_up_to(SMALL_FILE_BYTES, root, scopes)).flatten()
}

/// `None` if a file that has a version is larger than `most` bytes.
fn seen_up_to(most: u64, root: &Path, scopes: &[Scope]) -> Option<Seen> {
    let mut versions = Versions::new();
    let mut unversioned = Vec::new();
    let mut left = MAX_FILE_BYTES;
    for scope in scopes.iter().take(MAX_SCOPES) {
        let mut found = open(root, scope);
        if let Ok(Found::File(_, size)) = found {
            if size > most {
                return None;
            }
            if size > LARGE_FILE_BYTES && size > left {
                found = Err(Unversioned::TooLarge(size));
            } else if size > LARGE_FILE_BYTES {
                left -= size;
            }
        }
        match version(root, scope, found) {
            Ok(content) => {
                versions.insert(scope.clone(), content);
            }
            Err(why) => unversioned.push((scope.clone(), why)),
        }
    }
    Some((versions, unversioned))
}

/// Which file is at each scope, and when it was last written, as its file system says. What is no file has none.
pub type Marks = BTreeMap<Scope, Mark>;

/// A file and its last change, and the same of the links that lead to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    file: Stamp,
    written: Written,
    links: Vec<Stamp>,
}

/// The size of a file, and when it was written as its file system says, in nanoseconds. Any process can set the time.
type Written = (u64, Option<i128>);

/// What is at a path, and when it changed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    /// Device and number.
    file: (u64, u64),
    /// When anything of it changed, in nanoseconds; no process can set it. None where the system does not tell.
    changed_ns: Option<i128>,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let changed_ns = {
            use std::os::unix::fs::MetadataExt;
            Some(i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let changed_ns = None;
        Self { file: private::name(metadata), changed_ns }
    }
}

#[cfg(unix)]
fn modified_ns(metadata: &Metadata) -> Option<i128> {
    use std::os::unix::fs::MetadataExt;
    Some(i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()))
}

/// Where the system does not say, a change may be any.
#[cfg(not(unix))]
const fn modified_ns(_: &Metadata) -> Option<i128> {
    None
}

/// The stamp of a path itself, where it is a link.
fn stamp(path: &Path) -> Option<Stamp> {
    Some(Stamp::of(&path.symlink_metadata().ok()?))
}

/// What lies between a root and what a path leads to.
#[derive(Debug, Default)]
struct Way {
    /// The links that are followed.
    links: Vec<PathBuf>,
    /// The directories without links, the root included.
    dirs: BTreeSet<PathBuf>,
    /// The last of these directories and the entry that is not there, where the path leads to nothing.
    missing: Option<(PathBuf, OsString)>,
}

/// The way from the canonical root of a work tree to what a scope leads to.
fn way(root: &Path, scope: &Scope) -> Way {
    let mut way = Way::default();
    let mut path = root.join(scope.as_str());
    while way.links.len() < MAX_LINKS {
        let mut parts: Vec<&Path> = path.ancestors().filter(|part| !root.starts_with(part)).collect();
        parts.reverse();
        let link = parts.into_iter().find(|part| part.is_symlink());
        let dirs = link.unwrap_or(&path).ancestors().skip(1).filter_map(|dir| dir.canonicalize().ok());
        way.dirs.extend(dirs.filter(|dir| dir.starts_with(root)));
        let Some((link, above)) = link.and_then(|link| Some((link, link.parent()?))) else { break };
        let Ok(target) = link.read_link() else { break };
        let rest = path.strip_prefix(link).ok().filter(|rest| !rest.as_os_str().is_empty());
        let next = rest.map_or_else(|| above.join(&target), |rest| above.join(&target).join(rest));
        way.links.push(link.to_owned());
        path = next;
    }
    let missing = path.ancestors().take_while(|part| part.symlink_metadata().is_err()).last();
    way.missing = missing.and_then(|part| {
        let dir = part.parent()?.canonicalize().ok()?;
        Some((dir, part.file_name()?.to_owned()))
    });
    way
}

/// The marks of the files among some scopes, below the canonical root of a work tree.
pub fn marks<'s>(root: &Path, scopes: impl Iterator<Item = &'s Scope>) -> Marks {
    let mark = |scope: &Scope| {
        let Ok(Found::File(file, size)) = open(root, scope) else { return None };
        let links = way(root, scope).links.iter().filter_map(|link| stamp(link)).collect();
        let metadata = file.metadata().ok()?;
        Some(Mark { file: Stamp::of(&metadata), written: (size, modified_ns(&metadata)), links })
    };
    scopes.filter_map(|scope| Some((scope.clone(), mark(scope)?))).collect()
}

/// The same of many files, by their entries alone: a link on the way to one is not looked at, only the file itself is where
/// it is one.
pub fn quick_marks<'s>(root: &Path, files: impl Iterator<Item = &'s Scope>) -> Marks {
    let mark = |scope: &Scope| {
        let path = root.join(scope.as_str());
        let entry = path.symlink_metadata().ok()?;
        let (metadata, links) = match entry.is_symlink() {
            true => (path.metadata().ok()?, vec![Stamp::of(&entry)]),
            false => (entry, Vec::new()),
        };
        let is_file = metadata.is_file();
        is_file.then(|| Mark {
            file: Stamp::of(&metadata),
            written: (metadata.len(), modified_ns(&metadata)),
            links,
        })
    };
    files.filter_map(|scope| Some((scope.clone(), mark(scope)?))).collect()
}

/// The files that are others now, or were written since they had these marks.
pub fn written(before: &Marks, now: &Marks) -> BTreeSet<Scope> {
    let differs = |(scope, mark): &(&Scope, &Mark)| {
        now.get(*scope).is_none_or(|now| *mark != now && !is_only_touched(mark, now))
    };
    before.iter().filter(differs).map(|(scope, _)| scope.clone()).collect()
}

/// The files of which something changed since they had these marks: the mode, the number of links, or what they hold, with
/// the time put back.
pub fn touched(before: &Marks, now: &Marks) -> BTreeSet<Scope> {
    let touched = |(scope, mark): &(&Scope, &Mark)| {
        now.get(*scope).is_some_and(|now| *mark != now && is_only_touched(mark, now))
    };
    before.iter().filter(touched).map(|(scope, _)| scope.clone()).collect()
}

fn is_only_touched(before: &Mark, now: &Mark) -> bool {
    (before.file.file, before.written, &before.links) == (now.file.file, now.written, &now.links)
}

/// What the file of one scope holds, if it may have changed since a time, epoch ms. A small file is always read: another
/// work tree, and a directory that was moved here, have older files with other content. A larger one is not read if the
/// system says that it and the directories above it last changed before.
pub fn look_since(root: &Path, scope: &Scope, since_ms: i64) -> Option<Result<Content, Unversioned>> {
    // Reading a large file takes too long for a list; the page of its claim compares it.
    let path = root.join(scope.as_str());
    let is_before = |metadata: Metadata| changed_at_ms(&metadata) < since_ms;
    let is_above = |part: &&Path| part.starts_with(root) && *part != root;
    let are_dirs_before = || {
        let mut dirs = path.ancestors().skip(1).take_while(is_above);
        dirs.all(|dir| dir.symlink_metadata().is_ok_and(is_before))
    };
    let is_as_before = |metadata: Metadata| {
        let size = metadata.len();
        metadata.is_file()
            && size > SMALL_FILE_BYTES
            && (size > LARGE_FILE_BYTES || is_before(metadata) && are_dirs_before())
    };
    let unread =
        scope.is_path() && path.symlink_metadata().is_ok_and(is_as_before) && !is_linked(root, scope);
    (!unread).then(|| look(root, scope))
}

/// When a file last changed: its content, or, as a move and a restored time do, only its entry.
#[cfg(unix)]
fn changed_at_ms(metadata: &Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt;
    metadata.mtime().max(metadata.ctime()).saturating_add(1).saturating_mul(1_000)
}

/// Where the system does not say when, any file may have changed.
#[cfg(not(unix))]
const fn changed_at_ms(_: &Metadata) -> i64 {
    i64::MAX
}

/// What is at a scope.
enum Found {
    Absent,
    /// A file, and its size in bytes when it was opened.
    File(File, u64),
}

impl Found {
    fn read(self) -> Result<Content, Unversioned> {
        let Self::File(mut file, size) = self else { return Ok(Content::Absent) };
        let mut hash = Sha256::new();
        let mut buffer = vec![0; usize::try_from(size.clamp(1, SMALL_FILE_BYTES)).unwrap_or(1)];
        let mut total = 0;
        loop {
            let read = file.read(&mut buffer).map_err(|_| Unversioned::Unreadable)?;
            if read == 0 {
                return Ok(Content::Sha256(hash.finalize().into()));
            }
            hash.update(&buffer[..read]);
            // It may grow while it is read.
            total += read as u64;
            if total > MAX_FILE_BYTES {
                return Err(Unversioned::TooLarge(total));
            }
        }
    }
}

/// What the file of one scope holds, below the canonical root of a work tree.
///
/// # Errors
/// Why it has no version.
pub fn look(root: &Path, scope: &Scope) -> Result<Content, Unversioned> {
    version(root, scope, open(root, scope))
}

/// What a file holds that is small enough for a list; none for any other scope.
pub fn look_small(root: &Path, scope: &Scope) -> Option<Content> {
    let found = open(root, scope);
    let is_small = !matches!(found, Ok(Found::File(_, size)) if size > LARGE_FILE_BYTES);
    is_small.then(|| version(root, scope, found).ok()).flatten()
}

/// The version of what was found at a scope. Links on the way there are part of it. For a directory and a pattern they are
/// all of it.
fn version(root: &Path, scope: &Scope, found: Result<Found, Unversioned>) -> Result<Content, Unversioned> {
    let content = found.and_then(Found::read);
    let can_have_links = matches!(content, Ok(_) | Err(Unversioned::Directory | Unversioned::Glob));
    if !can_have_links || !is_linked(root, scope) {
        return content;
    }
    let mut hash = Sha256::new();
    for link in way(root, scope).links {
        let target = link.read_link().map_err(|_| Unversioned::Unreadable)?;
        hash.update([b"link ", target.as_os_str().as_encoded_bytes(), b"\0"].concat());
    }
    let content = content.map_or_else(|_| "without content".to_owned(), String::from);
    hash.update(content);
    Ok(Content::Sha256(hash.finalize().into()))
}

/// Whether a link lies on the way from the canonical root to what a scope leads to.
fn is_linked(root: &Path, scope: &Scope) -> bool {
    links_on(root, &root.join(scope.as_str())).any(|link| link.exists())
}

/// The links on the way from the canonical root to a path in normal form below it, the path itself included.
fn links_on<'p>(root: &'p Path, path: &'p Path) -> impl Iterator<Item = &'p Path> {
    let is_inside = move |part: &&Path| part.starts_with(root) && *part != root;
    path.ancestors().take_while(is_inside).filter(|part| part.is_symlink())
}

fn open(root: &Path, scope: &Scope) -> Result<Found, Unversioned> {
    if !scope.is_path() {
        return Err(Unversioned::Name);
    }
    let path = match inside(root, &root.join(scope.as_str())) {
        Ok(path) => path,
        Err(Outside::Missing) if scope.is_glob() => return Err(Unversioned::Glob),
        Err(Outside::Missing) => return Ok(Found::Absent),
        Err(Outside::Not(Unversioned::Elsewhere)) if is_dangling(root, scope) => {
            return Err(Unversioned::Dangling);
        }
        Err(Outside::Not(why)) => return Err(why),
    };
    // Links are resolved: one that takes the place of the file now is not followed.
    let file = match private::options().read(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Absent),
        Err(_) => return Err(Unversioned::Unreadable),
    };
    let metadata = file.metadata().map_err(|_| Unversioned::Unreadable)?;
    if metadata.is_dir() {
        return Err(Unversioned::Directory);
    }
    if !metadata.is_file() {
        return Err(Unversioned::Special);
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(Unversioned::TooLarge(metadata.len()));
    }
    Ok(Found::File(file, metadata.len()))
}

/// Whether a scope leads through links to a place in the work tree where nothing is.
fn is_dangling(root: &Path, scope: &Scope) -> bool {
    let way = way(root, scope);
    !way.links.is_empty() && way.missing.is_some_and(|(dir, _)| dir.starts_with(root))
}

/// Why a path leads to no file of the work tree.
enum Outside {
    /// It would lie inside, and is not there.
    Missing,
    Not(Unversioned),
}

/// The path without links; links that lead out of the work tree are not followed.
fn inside(root: &Path, path: &Path) -> Result<PathBuf, Outside> {
    let is_missing =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    if path.starts_with(root) && links_on(root, path).next().is_none() {
        // Most paths have no link, so they lead to themselves.
        return match path.symlink_metadata() {
            Ok(_) => Ok(path.to_owned()),
            Err(error) if is_missing(&error) => Err(Outside::Missing),
            Err(_) => Err(Outside::Not(Unversioned::Unreadable)),
        };
    }
    match path.canonicalize() {
        Ok(real) if real.starts_with(root) => Ok(real),
        Ok(_) => Err(Outside::Not(Unversioned::Elsewhere)),
        Err(error) if is_missing(&error) => {
            // Whether a file outside is there stays unknown: a link in its way leads to no absence.
            let there = path.ancestors().skip(1).find_map(|above| above.canonicalize().ok());
            let is_link = std::fs::symlink_metadata(path).is_ok();
            if is_link || there.is_none_or(|above| !above.starts_with(root)) {
                Err(Outside::Not(Unversioned::Elsewhere))
            } else {
                Err(Outside::Missing)
            }
        }
        Err(_) => Err(Outside::Not(Unversioned::Unreadable)),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::{Unversioned, look, marks, seen, seen_at_once, written};
    use crate::domain::scope::Scope;
    use crate::domain::versions::{Content, MAX_FILE_BYTES};

    /// Red before: where a link led was looked up at both ends, and nothing was known of the time between.
    #[test]
    fn a_link_that_led_elsewhere_for_a_while_makes_its_file_written() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a root");
        for name in ["one", "two"] {
            fs::create_dir_all(root.join(name)).expect("a directory");
            fs::write(root.join(name).join("a.rs"), name).expect("a file");
        }
        let link = |to: &str, name: &str| {
            let _ = fs::remove_file(root.join(name));
            std::os::unix::fs::symlink(to, root.join(name)).expect("a link");
        };
        link("one", "dir");
        link("dir/a.rs", "file");
        let scopes: [Scope; 2] = ["file", "dir/a.rs"].map(|scope| scope.parse().expect("a scope"));
        let now = || marks(&root, scopes.iter());
        // The clock of a file system may stand still for some milliseconds.
        let pause = || std::thread::sleep(std::time::Duration::from_millis(50));
        let before = now();
        pause();
        fs::write(root.join("one/b.rs"), "beside it").expect("a file");
        assert!(written(&before, &now()).is_empty(), "files beside it");
        link("two", "dir");
        link("one", "dir");
        assert_eq!(written(&before, &now()).len(), 2, "a link above it");
        let before = now();
        pause();
        link("two/a.rs", "file");
        link("dir/a.rs", "file");
        assert_eq!(written(&before, &now()), [scopes[0].clone()].into(), "the link itself");
    }

    #[test]
    fn what_is_no_small_file_of_the_tree_has_no_version() {
        let dir = tempfile::tempdir().expect("a directory");
        let outside = dir.path().join("outside");
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("src")).expect("a directory");
        fs::create_dir_all(&outside).expect("a directory");
        fs::write(outside.join("secret"), "s").expect("a file");
        let root = root.canonicalize().expect("a root");
        let largest = usize::try_from(MAX_FILE_BYTES).expect("a small number");
        fs::write(root.join("src/a.rs"), "fn a() {}\n").expect("a file");
        // Files of zeros take no room.
        let zeros = |name: &str, size: usize| {
            let file = fs::File::create(root.join(name)).expect("a file");
            file.set_len(size as u64).expect("a size");
        };
        zeros("largest", largest);
        zeros("too-large", largest + 1);
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, root.join(name)).expect("a link");
        link("src/a.rs", "link");
        link("/etc/passwd", "passwd");
        link("../outside", "out");
        link("/nowhere/at/all", "dangling");
        let made = std::process::Command::new("mkfifo").arg(root.join("pipe")).status();
        assert!(made.expect("mkfifo runs").success());
        let looked = |text: &str| look(&root, &text.parse::<Scope>().expect("a scope"));

        let Ok(Content::Sha256(hash)) = looked("src/a.rs") else { panic!("a file has a version") };
        assert_eq!(hex::encode(hash), "509a0a5b5ce4e59f5039e30a39324342d7a161296bb8eba761983faaeebf6efd");
        // Red before: the version said nothing of the link.
        let was = looked("link");
        assert!(matches!(was, Ok(Content::Sha256(_))) && was != looked("src/a.rs"));
        fs::copy(root.join("src/a.rs"), root.join("src/c.rs")).expect("a file");
        fs::remove_file(root.join("link")).expect("the link");
        link("src/c.rs", "link");
        let now = looked("link");
        assert!(matches!(now, Ok(Content::Sha256(_))) && now != was, "the same bytes, and another link");
        fs::write(root.join("src/c.rs"), "fn c() {}\n").expect("a file");
        assert_ne!(looked("link"), now, "it is followed at each look");
        // A directory has no version, and a link to it has one.
        link("src", "dir");
        let was = [looked("dir"), looked("dir/a.rs"), looked("dir/none")];
        assert!(was.iter().all(|version| matches!(version, Ok(Content::Sha256(_)))), "{was:?}");
        fs::create_dir(root.join("src2")).expect("a directory");
        fs::copy(root.join("src/a.rs"), root.join("src2/a.rs")).expect("a file");
        fs::remove_file(root.join("dir")).expect("the link");
        link("src2", "dir");
        let now = [looked("dir"), looked("dir/a.rs"), looked("dir/none")];
        assert!(was.iter().zip(&now).all(|(was, now)| was != now), "{now:?}");
        fs::create_dir(root.join("[id]")).expect("a directory");
        fs::write(root.join("[id]/page"), "fn a() {}\n").expect("a file");
        assert_eq!(looked("[id]/page"), looked("src/a.rs"), "a name that looks like a pattern");
        assert!(matches!(looked("largest"), Ok(Content::Sha256(_))));
        let scopes = |texts: &[&str]| -> Vec<Scope> {
            texts.iter().map(|text| text.parse().expect("a scope")).collect()
        };
        let few = scopes(&["src/a.rs", "too-large", "src/b.rs", "src"]);
        assert_eq!(seen_at_once(&root, &few), Some(seen(&root, &few)));
        let (versions, unversioned) = seen(&root, &few);
        assert_eq!((versions.len(), unversioned.len()), (2, 2));
        assert_eq!(seen_at_once(&root, &scopes(&["src/a.rs", "largest"])), None, "it takes time");
        for gone in ["src/b.rs", "no/such/directory", "src/a.rs/below"] {
            assert_eq!(looked(gone), Ok(Content::Absent), "{gone}");
        }
        for (text, why) in [
            (".", Unversioned::Directory),
            ("src", Unversioned::Directory),
            ("src/a*", Unversioned::Glob),
            ("src/{b,c}.rs", Unversioned::Glob),
            ("tag:x", Unversioned::Name),
            ("symbol:a", Unversioned::Name),
            ("passwd", Unversioned::Elsewhere),
            ("out/secret", Unversioned::Elsewhere),
            ("out/nothing", Unversioned::Elsewhere),
            ("dangling", Unversioned::Elsewhere),
            ("pipe", Unversioned::Special),
            ("too-large", Unversioned::TooLarge(MAX_FILE_BYTES + 1)),
        ] {
            assert_eq!(looked(text), Err(why), "{text}");
        }
    }
}
