//! Which scopes of claims the globs of a profile cover: pure, and by the form of the names alone.
//!
//! A path whose last part has a dot is taken for a file, any other for a directory.

use globset::{GlobBuilder, GlobMatcher};

use crate::domain::experiment::{Expect, ProfileName};
use crate::domain::scope::{Scope, WILD};

/// One glob as profiles mean it: `*` stays within a directory.
///
/// # Errors
/// Those of a glob that does not parse.
pub fn glob(text: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(text).literal_separator(true).build()?.compile_matcher())
}

/// Why a run of this profile, expectation and globs settles nothing about a claim with these scopes; none where it can.
pub fn cannot_settle(
    (profile, expect, globs): (Option<&ProfileName>, Option<Expect>, &[String]),
    scopes: &[Scope],
) -> Option<String> {
    let Some(profile) = profile else { return Some("it was no run of a profile".to_owned()) };
    if expect.is_none() {
        return Some(format!("profile `{profile}` does not say what its exit code means"));
    }
    if globs.is_empty() {
        return Some(format!("profile `{profile}` names no scopes"));
    }
    (!covers_any(globs, scopes)).then(|| {
        let listed = |all: &mut dyn Iterator<Item = &str>| all.take(4).collect::<Vec<_>>().join(", ");
        let (is, about) =
            (listed(&mut globs.iter().map(String::as_str)), listed(&mut scopes.iter().map(Scope::as_str)));
        format!("profile `{profile}` is about {is} and covers none of the claim's scopes: {about}")
    })
}

/// Whether globs cover one of these scopes. No globs cover nothing.
pub fn covers_any(globs: &[String], scopes: &[Scope]) -> bool {
    scopes.iter().any(|scope| globs.iter().any(|glob| covers(glob, scope)))
}

/// Whether one glob covers a scope: a file where it matches, a directory where it can match something below it. A
/// symbol, target or tag has no path, so only the same name covers it.
fn covers(pattern: &str, scope: &Scope) -> bool {
    if !scope.is_path() {
        return pattern == scope.as_str();
    }
    let path = scope.as_str();
    if pattern.contains(':') {
        return false;
    }
    let last = path.rsplit('/').next().unwrap_or(path);
    let is_glob = scope.is_glob();
    if is_glob && !matches!(last, "*" | "**") {
        // A file that the scope's own glob matches stands for all of them.
        let sample = path.replace("**", "any").replace(['*', '?'], "any");
        return glob(pattern).is_ok_and(|glob| glob.is_match(sample));
    }
    let literal: Vec<&str> = path.split('/').take_while(|part| !part.contains(WILD)).collect();
    let is_directory = is_glob || path == "." || !last.contains('.');
    glob(pattern).is_ok_and(|glob| glob.is_match(path))
        || is_directory && matches_below(pattern, if path == "." { &[] } else { &literal })
}

/// Whether a glob can match something below a directory, and does not only speak of a part of it.
fn matches_below(pattern: &str, directory: &[&str]) -> bool {
    let certain = pattern.split('/').take_while(|part| !part.contains(WILD)).count();
    if certain > directory.len() {
        return false;
    }
    let mut parts = pattern.split('/');
    for name in directory {
        match parts.next() {
            Some("**") => return true,
            Some(part) if glob(part).is_ok_and(|glob| glob.is_match(name)) => {}
            _ => return false,
        }
    }
    parts.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::covers_any;

    #[test]
    fn a_profile_covers_files_it_matches_and_directories_it_reaches_into() {
        let covers = |glob: &str, scope: &str| {
            covers_any(&[glob.to_owned()], &[scope.parse().expect("a valid scope")])
        };
        for (glob, scope) in [
            ("**/*.rs", "src/a.rs"),
            ("**/*.rs", "src/db"),
            ("**/*.rs", "."),
            ("src/*.rs", "src"),
            ("src/{db,api}/**", "src/db"),
            ("**/*.rs", "src/**"),
            ("**/*.rs", "src/*.rs"),
            ("src/a.rs", "src/a.rs"),
            ("tag:auth", "tag:auth"),
        ] {
            assert!(covers(glob, scope), "{glob} covers {scope}");
        }
        for (glob, scope) in [
            ("docs/**", "src/a.rs"),
            ("docs/**", "src"),
            ("src/db/**", "src"),
            ("src/a.rs", "src"),
            ("src/a.rs", "."),
            ("**/*.md", "src/a.rs"),
            ("*.md", "src"),
            ("src/a.rs", "src/a.rs.orig"),
            ("src", "src/db"),
            ("src/{db,api}/**", "src/web"),
            ("**/*.rs", "docs/**/*.md"),
            ("**/*.rs", "tag:rust"),
            ("**", "symbol:Pool::get"),
            ("tag:auth", "src"),
        ] {
            assert!(!covers(glob, scope), "{glob} does not cover {scope}");
        }
        assert!(!covers_any(&[], &["src".parse().expect("a valid scope")]));
    }
}
