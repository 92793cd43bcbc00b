//! Globs as scopes: which paths a glob matches, and whether two scopes can mean the same file.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use globset::{ErrorKind, GlobBuilder, GlobSet};

use super::{BadScope, Scope};

/// The characters that make a path a glob.
pub(in crate::domain) const WILD: [char; 4] = ['*', '?', '[', '{'];

impl Scope {
    /// Whether this is a path with a wildcard.
    pub fn is_glob(&self) -> bool {
        self.is_path() && self.0.contains(WILD)
    }

    /// The fixed directory or file at the start of a path or glob. All matches lie there.
    pub fn certain(&self) -> Self {
        let directory = match self.0.find(WILD).filter(|_| self.is_path()) {
            None => self.as_str(),
            Some(wild) => self.0[..wild].rfind('/').map_or(".", |at| &self.0[..at]),
        };
        Self(directory.to_owned())
    }

    /// Whether `other` is this scope, a path below it, or a path that this glob matches. A glob is also tried as a
    /// literal name, because some directories are called `[id]`.
    pub fn covers(&self, other: &Self) -> bool {
        self.covers_any(std::slice::from_ref(other))
    }

    /// Whether this scope [covers](Self::covers) one of these. The glob is compiled once for all of them.
    pub fn covers_any(&self, others: &[Self]) -> bool {
        let is_path = self.is_path();
        let paths = || others.iter().filter(|other| is_path && other.is_path());
        others.contains(self)
            || paths().any(|other| self.0 == "." || is_below(other.as_str(), &self.0))
            || (self.is_glob() && self.matches_any(paths()))
    }

    /// Whether this glob matches one of these paths. The fixed start of the glob excludes most of them quickly.
    fn matches_any<'a>(&self, paths: impl Iterator<Item = &'a Self>) -> bool {
        let directory = self.certain();
        let lies_there = |path: &&Self| directory.is_whole() || is_below(path.as_str(), directory.as_str());
        let mut paths = paths.filter(|path| !path.is_glob()).filter(lies_there).peekable();
        paths.peek().is_some()
            && matcher(&self.0).is_ok_and(|glob| paths.any(|path| glob.is_match(path.as_str())))
    }

    /// Whether both can mean the same file. Two globs are compared by their fixed directories: a needless match
    /// costs less than a missed one.
    pub fn overlaps(&self, other: &Self) -> bool {
        // A name means only itself.
        if self.is_path() { self.is_at(std::slice::from_ref(other)) } else { self == other }
    }

    /// Whether this scope [overlaps](Self::overlaps) one of these places.
    pub fn is_at(&self, places: &[Self]) -> bool {
        self.covers_any(places) || places.iter().any(|place| place.covers(self) || self.may_share(place))
    }

    /// Whether two scopes can mean the same file, given that neither covers the other.
    fn may_share(&self, other: &Self) -> bool {
        match (self.is_glob(), other.is_glob()) {
            (true, true) => {
                let (one, other) = (self.certain(), other.certain());
                one.covers(&other) || other.covers(&one)
            }
            (true, false) => self.can_match_below(other),
            (false, true) => other.can_match_below(self),
            (false, false) => false,
        }
    }

    /// Whether this glob can match a path below a directory. A path with a file extension counts as a file.
    fn can_match_below(&self, directory: &Self) -> bool {
        let last = directory.0.rsplit('/').next().unwrap_or_default();
        if !directory.is_path() || last.trim_start_matches('.').contains('.') {
            return false;
        }
        let mut parts = self.0.split('/');
        for name in directory.0.split('/') {
            match parts.next() {
                None => return false,
                Some("**") => return true,
                Some(part) if may_hold_a_separator(part) => return true,
                Some(part) => {
                    if part != name && !matcher(part).is_ok_and(|glob| glob.is_match(name)) {
                        return false;
                    }
                }
            }
        }
        parts.next().is_some()
    }

    /// Refuses a path that looks like a glob and does not parse as one: it would silently match nothing.
    ///
    /// # Errors
    /// [`BadScope::Glob`] with the problem of the glob.
    pub fn check_glob(&self) -> Result<(), BadScope> {
        if !self.is_glob() {
            return Ok(());
        }
        matcher(&self.0).map(drop).map_err(|problem| {
            // The parser's problem quotes pages of a regex that the caller never wrote.
            let why = if matches!(problem.kind(), ErrorKind::Regex(_)) {
                "it has too many parts, or too many within each other".to_owned()
            } else {
                problem.kind().to_string()
            };
            BadScope::Glob(self.0.clone(), why)
        })
    }
}

fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a part between two separators can match several parts of a path, or was cut inside a group.
fn may_hold_a_separator(part: &str) -> bool {
    let opened = |open: char, close: char| part.matches(open).count() != part.matches(close).count();
    part.contains('[') && part.contains(['!', '^', '-']) || opened('{', '}') || opened('[', ']')
}

thread_local! {
    /// Cache of compiled globs. A new claim meets the same globs again and again, and compiling one takes as long
    /// as matching a thousand paths.
    static COMPILED: RefCell<HashMap<Box<str>, Rc<GlobSet>>> = RefCell::default();
}

/// The most cached globs. A project has tens; a hostile client may write thousands.
const MAX_COMPILED: usize = 256;

/// Whether a glob matches a path. `*` stays within a directory. An invalid glob matches nothing.
pub(in crate::domain) fn matches(glob: &str, path: &str) -> bool {
    matcher(glob).is_ok_and(|set| set.is_match(path))
}

/// A set with one glob, because a single `Glob` panics if its regex cannot be built.
fn matcher(glob: &str) -> Result<Rc<GlobSet>, globset::Error> {
    COMPILED.with_borrow_mut(|compiled| {
        if let Some(known) = compiled.get(glob) {
            return Ok(Rc::clone(known));
        }
        let made = Rc::new(GlobSet::new([GlobBuilder::new(glob).literal_separator(true).build()?])?);
        if compiled.len() == MAX_COMPILED {
            compiled.clear();
        }
        compiled.insert(glob.into(), Rc::clone(&made));
        Ok(made)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scope(text: &str) -> Scope {
        Scope::parse(text, "").expect("a valid scope")
    }

    #[test]
    fn a_glob_means_the_paths_it_says() {
        let meet = |one: &str, other: &str| scope(one).overlaps(&scope(other));
        for (glob, path) in [
            ("src/**", "src/db/pool.rs"),
            ("src/*.rs", "src/pool.rs"),
            ("src/*.rs", "src"),
            ("src/**/*.rs", "src/db"),
            ("src/{db,ui}/*.rs", "src/ui"),
            ("**/*.rs", "src/db/pool.rs"),
            ("src/*.rs", "."),
            ("app/[id]/page.tsx", "app/[id]"),
            ("src/db/*.rs", "src/**/pool.rs"),
            ("src/*", "src/*"),
        ] {
            assert!(meet(glob, path) && meet(path, glob), "{glob} and {path}");
        }
        for (glob, path) in [
            ("src/*.rs", "src/db/pool.rs"),
            ("src/*.rs", "src/notes.md"),
            ("**/*.rs", "README.md"),
            ("src/db/*.rs", "src/ui"),
            ("src/{db,ui}/*.rs", "src/app"),
            ("src/*.rs", "tag:src"),
            ("src/db/*.rs", "src/ui/*.rs"),
            ("src/*", "srcs/a"),
        ] {
            assert!(!meet(glob, path) && !meet(path, glob), "{glob} and {path}");
        }
        assert!(!scope("src/*.rs").covers(&scope("src")) && scope("src").covers(&scope("src/*.rs")));
    }

    fn part() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => "[ab]{1,2}",
            1 => "[ab]\\.rs",
            1 => Just("*".to_owned()),
            1 => Just("**".to_owned()),
            1 => Just("?".to_owned()),
            1 => Just("*.rs".to_owned()),
            1 => Just("[ab]".to_owned()),
            1 => Just("[!a]b".to_owned()),
            1 => Just("{a,b}b".to_owned()),
            1 => Just("{a,a/b}".to_owned()),
        ]
    }

    fn a_scope() -> impl Strategy<Value = Scope> {
        proptest::collection::vec(part(), 1..4).prop_map(|parts| scope(&parts.join("/")))
    }

    fn a_path() -> impl Strategy<Value = Scope> {
        proptest::collection::vec("[ab]{1,2}", 1..4).prop_map(|parts| scope(&parts.join("/")))
    }

    proptest! {
        #[test]
        fn overlap_is_symmetric_and_holds_for_equals(one in a_scope(), other in a_scope()) {
            prop_assert_eq!(one.overlaps(&other), other.overlaps(&one));
            prop_assert!(one.overlaps(&one));
        }

        #[test]
        fn what_is_covered_overlaps(one in a_scope(), other in a_scope()) {
            prop_assert!(!one.covers(&other) || one.overlaps(&other));
        }

        #[test]
        fn a_glob_overlaps_each_path_it_matches_and_each_directory_above(glob in a_scope(), path in a_path()) {
            if glob.covers(&path) {
                for above in path.and_ancestors() {
                    prop_assert!(glob.overlaps(&scope(above)), "{} and {}", glob, above);
                }
            }
        }
    }
}
