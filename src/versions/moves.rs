//! Whether a directory above a file was moved, and so was perhaps away for a while, between two looks at it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Stamp, stamp, way};
use crate::domain::scope::Scope;

/// The directories from the root of a work tree to some files, from one moment on.
#[derive(Debug)]
pub struct Dirs {
    root: PathBuf,
    dirs: Vec<Dir>,
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

/// Directories that did not stay in their place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moves {
    /// They were moved, or others are in their place.
    pub moved: BTreeSet<Scope>,
    /// They and the directories that hold them changed. The system does not tell whether they were moved.
    pub touched: BTreeSet<Scope>,
}

impl Dirs {
    /// The directories above the files of some scopes, below the canonical root of a work tree.
    pub fn above<'s>(root: &Path, scopes: impl Iterator<Item = &'s Scope>) -> Self {
        let ways = scopes.filter(|scope| scope.is_path()).map(|scope| way(root, scope));
        let dirs: BTreeSet<PathBuf> = ways.flat_map(|way| way.dirs).collect();
        let watch = watch::Watch::of(&dirs);
        let dirs = dirs.into_iter().map(|path| Dir { was: stamps(&path), path });
        Self { root: root.to_owned(), dirs: dirs.collect(), watch }
    }

    /// What happened to them since.
    pub fn moves(&self) -> Moves {
        let seen = self.watch.as_ref().map(watch::Watch::moved).unwrap_or_default();
        let mut moves = Moves::default();
        for Dir { path, was } in &self.dirs {
            let Some(scope) = self.scope(path) else { continue };
            let Some((was, held)) = was else { continue };
            let now = stamps(path);
            let is_watched = self.watch.as_ref().is_some_and(|watch| watch.watches(path));
            if seen.contains(path) || now.is_none_or(|(now, _)| now.file != was.file) {
                moves.moved.insert(scope);
            } else if !is_watched
                && *path != self.root
                && now.is_some_and(|(now, holds)| now != *was && holds != *held)
            {
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

/// The kernel tells which directories are moved, and nothing else: entries and modes may change.
#[cfg(target_os = "linux")]
mod watch {
    use std::collections::{BTreeMap, BTreeSet};
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

    /// Room for some hundred events. One without a name takes 16 bytes.
    const BUFFER_BYTES: usize = 4_096;

    #[derive(Debug)]
    pub(super) struct Watch {
        inotify: OwnedFd,
        dirs: BTreeMap<i32, PathBuf>,
    }

    impl Watch {
        /// `None` where the user has no watch left.
        pub(super) fn of(dirs: &BTreeSet<PathBuf>) -> Option<Self> {
            let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
            let flags = WatchFlags::MOVE_SELF | WatchFlags::ONLYDIR;
            let watched = |dir: &PathBuf| Some((inotify::add_watch(&inotify, dir, flags).ok()?, dir.clone()));
            let dirs = dirs.iter().filter_map(watched).collect();
            Some(Self { inotify, dirs })
        }

        pub(super) fn watches(&self, dir: &Path) -> bool {
            self.dirs.values().any(|watched| watched == dir)
        }

        /// The directories that were moved since the last call.
        pub(super) fn moved(&self) -> BTreeSet<PathBuf> {
            let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
            let mut events = Reader::new(&self.inotify, &mut buffer);
            let mut moved = BTreeSet::new();
            // It ends with an error, because nothing is left to read.
            while let Ok(event) = events.next() {
                if event.events().contains(ReadFlags::MOVE_SELF) {
                    moved.extend(self.dirs.get(&event.wd()).cloned());
                }
            }
            moved
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod watch {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    #[derive(Debug)]
    pub(super) enum Watch {}

    impl Watch {
        pub(super) fn of(_: &BTreeSet<PathBuf>) -> Option<Self> {
            None
        }

        pub(super) fn watches(&self, _: &Path) -> bool {
            match *self {}
        }

        pub(super) fn moved(&self) -> BTreeSet<PathBuf> {
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
        Moves { moved: scopes(moved), touched: scopes(touched) }
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
}
