//! Whether a directory above a file was moved, and so was perhaps away for a while, between two looks at it; and whether a
//! file was there for a while that is at neither.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Stamp, stamp, way};
use crate::domain::scope::Scope;

/// The directories from the root of a work tree to some files, from one moment on.
#[derive(Debug)]
pub struct Dirs {
    root: PathBuf,
    dirs: Vec<Dir>,
    /// What is not there, by the entry of a directory that has to come first.
    missing: BTreeMap<(PathBuf, OsString), Scope>,
    watch: Option<watch::Watch>,
}

#[derive(Debug)]
struct Dir {
    path: PathBuf,
    was: Stamps,
}

/// A directory, and the one that holds it. A move changes both: entries come and go in the latter.
type Stamps = Option<(Stamp, Stamp)>;

fn stamps(dir: &Path) -> Stamps {
    Some((stamp(dir)?, stamp(dir.parent()?)?))
}

/// What did not stay in its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moves {
    /// Files that came, and may be gone again. Only the kernel of Linux tells.
    pub came: BTreeSet<Scope>,
    /// Directories that were moved, or others are in their place.
    pub moved: BTreeSet<Scope>,
    /// Directories that changed, with those that hold them. The system does not tell whether they were moved.
    pub touched: BTreeSet<Scope>,
}

impl Dirs {
    /// The directories above the files of some scopes, below the canonical root of a work tree.
    pub fn above<'s>(root: &Path, scopes: impl Iterator<Item = &'s Scope>) -> Self {
        let mut dirs = BTreeSet::new();
        let mut missing = BTreeMap::new();
        for scope in scopes.filter(|scope| scope.is_path()) {
            let way = way(root, scope);
            dirs.extend(way.dirs);
            missing.extend(way.missing.map(|missing| (missing, scope.clone())));
        }
        let watch = watch::Watch::of(&dirs, missing.keys().map(|(dir, _)| dir.as_path()));
        let dirs = dirs.into_iter().map(|path| Dir { was: stamps(&path), path });
        Self { root: root.to_owned(), dirs: dirs.collect(), missing, watch }
    }

    /// What happened to them since.
    pub fn moves(&self) -> Moves {
        let seen = self.watch.as_ref().map(watch::Watch::seen).unwrap_or_default();
        let came = seen.came.iter().filter_map(|entry| self.missing.get(entry));
        let mut moves = Moves { came: came.cloned().collect(), ..Moves::default() };
        for Dir { path, was } in &self.dirs {
            let (Some(scope), Some((was, held))) = (self.scope(path), was) else { continue };
            let now = stamps(path);
            let is_told = !seen.has_gaps && self.watch.as_ref().is_some_and(|watch| watch.watches(path));
            let changed = now.is_some_and(|(now, holds)| now != *was && holds != *held);
            if seen.moved.contains(path) || now.is_none_or(|(now, _)| now.file != was.file) {
                moves.moved.insert(scope);
            } else if !is_told && changed && *path != self.root {
                moves.touched.insert(scope);
            }
        }
        moves
    }

    fn scope(&self, dir: &Path) -> Option<Scope> {
        let inside = dir.strip_prefix(&self.root).ok()?.to_str()?;
        Scope::as_written(if inside.is_empty() { "." } else { inside }, "").ok()
    }
}

/// What the kernel tells.
#[derive(Debug, Default)]
struct Seen {
    moved: BTreeSet<PathBuf>,
    /// Entries that came into directories.
    came: BTreeSet<(PathBuf, OsString)>,
    /// More happened than the kernel keeps.
    has_gaps: bool,
}

/// The kernel tells which directories are moved, and which entries come where something is missing. Modes, times and other
/// entries may change.
#[cfg(target_os = "linux")]
mod watch {
    use std::collections::{BTreeMap, BTreeSet};
    use std::ffi::OsStr;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

    use super::Seen;

    /// Room for some ten events. One without a name takes 16 bytes, and one with a name up to 272.
    const BUFFER_BYTES: usize = 4_096;

    #[derive(Debug)]
    pub(super) struct Watch {
        inotify: OwnedFd,
        dirs: BTreeMap<i32, PathBuf>,
    }

    impl Watch {
        /// `None` where the user has no watch left.
        pub(super) fn of<'d>(
            dirs: &BTreeSet<PathBuf>,
            with_entries: impl Iterator<Item = &'d Path>,
        ) -> Option<Self> {
            let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
            let moves = dirs.iter().map(|dir| (dir.as_path(), WatchFlags::MOVE_SELF));
            let comes = WatchFlags::CREATE | WatchFlags::MOVED_TO;
            let wanted = moves.chain(with_entries.map(|dir| (dir, comes)));
            let watched = wanted.filter_map(|(dir, what)| {
                let flags = what | WatchFlags::ONLYDIR | WatchFlags::MASK_ADD;
                Some((inotify::add_watch(&inotify, dir, flags).ok()?, dir.to_owned()))
            });
            let dirs = watched.collect();
            Some(Self { inotify, dirs })
        }

        pub(super) fn watches(&self, dir: &Path) -> bool {
            self.dirs.values().any(|watched| watched == dir)
        }

        /// What happened since the last call.
        pub(super) fn seen(&self) -> Seen {
            let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
            let mut events = Reader::new(&self.inotify, &mut buffer);
            let mut seen = Seen::default();
            // It ends with an error, because nothing is left to read.
            while let Ok(event) = events.next() {
                let kind = event.events();
                seen.has_gaps |= kind.contains(ReadFlags::QUEUE_OVERFLOW);
                let Some(dir) = self.dirs.get(&event.wd()) else { continue };
                if kind.contains(ReadFlags::MOVE_SELF) {
                    seen.moved.insert(dir.clone());
                } else if let Some(name) = event.file_name() {
                    seen.came.insert((dir.clone(), OsStr::from_bytes(name.to_bytes()).to_owned()));
                }
            }
            seen
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod watch {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::Seen;

    #[derive(Debug)]
    pub(super) enum Watch {}

    impl Watch {
        pub(super) fn of<'d>(_: &BTreeSet<PathBuf>, _: impl Iterator<Item = &'d Path>) -> Option<Self> {
            None
        }

        pub(super) fn watches(&self, _: &Path) -> bool {
            match *self {}
        }

        pub(super) fn seen(&self) -> Seen {
            match *self {}
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::{Dirs, Moves};
    use crate::domain::scope::Scope;

    /// What happens to the directories above `link/a.rs`, where `link` leads to `src/deep`: with the kernel's word and
    /// without it.
    fn during(happens: impl Fn(&Path)) -> [Moves; 2] {
        [true, false].map(|is_watched| {
            let dir = tempfile::tempdir().expect("a directory");
            let root = dir.path().canonicalize().expect("a root");
            fs::create_dir_all(root.join("src/deep")).expect("a directory");
            fs::write(root.join("src/deep/a.rs"), "fn a() {}\n").expect("a file");
            std::os::unix::fs::symlink("src/deep", root.join("link")).expect("a link");
            let scope: Scope = "link/a.rs".parse().expect("a scope");
            let mut dirs = Dirs::above(&root, [&scope].into_iter());
            dirs.watch = dirs.watch.filter(|_| is_watched);
            // The clock of a file system may stand still for some milliseconds.
            std::thread::sleep(std::time::Duration::from_millis(50));
            happens(&root);
            dirs.moves()
        })
    }

    fn moves(moved: &[&str], touched: &[&str]) -> Moves {
        let scopes = |names: &[&str]| names.iter().map(|name| name.parse().expect("a scope")).collect();
        Moves { came: scopes(&[]), moved: scopes(moved), touched: scopes(touched) }
    }

    fn away_and_back(root: &Path) {
        fs::rename(root.join("src"), root.join("away")).expect("it moves");
        fs::rename(root.join("away"), root.join("src")).expect("it is back");
    }

    #[test]
    fn a_directory_that_was_away_for_a_while_was_moved() {
        let [told, guessed] = during(away_and_back);
        assert_eq!(told, moves(&["src"], &[]));
        assert_eq!(guessed, moves(&[], &["src"]));
    }

    /// Red before: the change of an entry hid the move.
    #[test]
    fn entries_that_change_after_a_move_do_not_hide_it() {
        let [told, guessed] = during(|root| {
            away_and_back(root);
            fs::write(root.join("src/log"), "a run writes\n").expect("a file");
        });
        assert_eq!(told, moves(&["src"], &[]));
        assert_eq!(guessed, moves(&[], &["src"]));
    }

    /// Red before: a mode or a time of the directory was taken for a move of it.
    #[test]
    fn a_mode_is_no_move() {
        let [told, guessed] = during(|root| {
            fs::set_permissions(root.join("src"), fs::Permissions::from_mode(0o700)).expect("a mode");
            fs::write(root.join("src/deep/log"), "a run writes\n").expect("a file");
        });
        assert_eq!(told, Moves::default());
        // Both directories changed, and so they would by a move of `src/deep`.
        assert_eq!(guessed, moves(&[], &["src/deep"]));
    }

    #[test]
    fn new_files_are_no_move() {
        let [told, guessed] = during(|root| {
            fs::write(root.join("log"), "a run writes\n").expect("a file");
            fs::write(root.join("src/deep/log"), "a run writes\n").expect("a file");
        });
        assert_eq!([told, guessed], [Moves::default(), Moves::default()]);
    }

    #[test]
    fn a_directory_in_the_place_of_another_is_a_move() {
        let [told, guessed] = during(|root| {
            fs::rename(root.join("src/deep"), root.join("src/old")).expect("it moves");
            fs::create_dir(root.join("src/deep")).expect("a directory");
        });
        assert_eq!([told, guessed], [moves(&["src/deep"], &[]), moves(&["src/deep"], &[])]);
    }

    /// Red before: what is at neither end had no mark.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_came_and_went_is_known() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a root");
        fs::create_dir(root.join("src")).expect("a directory");
        let scopes: [Scope; 3] =
            ["src/a.rs", "src/gone/b.rs", "src/c.rs"].map(|scope| scope.parse().expect("a scope"));
        let dirs = Dirs::above(&root, scopes.iter());
        fs::write(root.join("src/other"), "beside it").expect("a file");
        assert_eq!(dirs.moves(), Moves::default());
        fs::write(root.join("src/a.rs"), "fine").expect("a file");
        fs::remove_file(root.join("src/a.rs")).expect("a file");
        fs::create_dir(root.join("src/gone")).expect("a directory");
        fs::remove_dir(root.join("src/gone")).expect("a directory");
        assert_eq!(dirs.moves().came, scopes[..2].iter().cloned().collect());
    }
}
