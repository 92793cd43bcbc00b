//! Decides which scopes of claims the globs of a profile cover, from the names alone.

use globset::{GlobBuilder, GlobMatcher};

use crate::domain::action::{self, Hides};
use crate::domain::experiment::{Expect, Prediction, ProfileName};
use crate::domain::scope::{Scope, WILD, matches};

/// The most globs without braces that one glob may stand for.
const MAX_ALTERNATIVES: usize = 256;

/// Compiles one glob of a profile: `*` stays within a directory.
///
/// # Errors
/// The error of the parser when the glob is invalid.
pub fn glob(text: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(text).literal_separator(true).build()?.compile_matcher())
}

/// The parts of a profile, or of its run, that decide what it can settle.
#[derive(Debug, Clone, Copy)]
pub struct Check<'c> {
    /// The profile's name; `None` for a command that a human typed.
    pub profile: Option<&'c ProfileName>,
    /// The meaning of its exit code.
    pub expect: Option<&'c Expect>,
    /// The scopes of claims that it can settle.
    pub globs: &'c [String],
    /// Whether it runs outside its own directory.
    pub elsewhere: bool,
    /// The variables that the profile passes and it runs without.
    pub without: &'c [String],
    /// The command.
    pub argv: &'c [String],
}

/// Why an exit code says nothing about the check of a command, and what mends that: the command ends in one that
/// only prints or succeeds, or in a loop, a condition or a function, and no rule about the output tells a failure.
pub fn hidden(argv: &[String], expect: Option<&Expect>) -> Option<String> {
    // That the check ran tells nothing of how it ended.
    if expect.is_some_and(|expect| expect.failed.is_some()) {
        return None;
    }
    let printed = action::printed(argv)?;
    let instead = match printed.by {
        Hides::Pipe { .. } => "write it as [\"bash\", \"-o\", \"pipefail\", \"-c\", …]",
        Hides::Line if printed.first.starts_with("! ") => "leave out the `!` and say `--prediction fails`",
        Hides::Line => "join its commands with && or begin the line with `set -e;`",
        Hides::Choice => "let no condition leave it out",
        Hides::Unread => "put the steps into a script whose exit code tells",
        Hides::Compound("for") => {
            "begin the line with `set -e;` or put `|| exit 1` behind each check, and let nothing pass over a failure, or put \
             the steps into a script whose exit code tells"
        }
        Hides::Compound("find") => "let xargs without -r run the check",
        Hides::Compound("trap") => "leave the exit code out of the trap",
        Hides::Compound(_) => "let the check be its last command, with && before it",
    };
    Some(format!("its exit code is {printed}; {instead}, or add to [expect] `failed`, what a failure prints"))
}

/// Why a run of this check settles nothing about a claim with these scopes and this prediction; `None` if it can.
pub fn cannot_settle(check: Check<'_>, scopes: &[Scope], prediction: Prediction) -> Option<String> {
    let Check { profile, expect, globs, elsewhere, without, argv } = check;
    let Some(profile) = profile else { return Some("it was no run of a profile".to_owned()) };
    let Some(expect) = expect else {
        return Some(format!("profile `{profile}` does not say what its exit code means"));
    };
    if let Some(why) = hidden(argv, Some(expect)) {
        return Some(format!("of profile `{profile}`, {why}"));
    }
    if elsewhere {
        return Some(format!(
            "it runs in another directory than profile `{profile}` names: leave out cwd, or ask a human for a profile with that cwd"
        ));
    }
    if !without.is_empty() {
        return Some(format!(
            "it runs without {}, which profile `{profile}` passes: leave out env_pass",
            without.join(", ")
        ));
    }
    if prediction == Prediction::Fails && !expect.tells_failures() {
        return Some(format!(
            "profile `{profile}` does not tell a check that failed from a tool that is missing: its [expect] needs `fails` or `ran`"
        ));
    }
    if prediction == Prediction::Fails && expect.failed.is_none() && action::fails_alone(argv) {
        return Some(format!(
            "the line of profile `{profile}` may fail though its check did not, so a failure shows nothing: add to its [expect] \
             `failed`, what a check prints that failed"
        ));
    }
    if globs.is_empty() {
        return Some(format!("profile `{profile}` names no scopes"));
    }
    let open = uncovered(globs, scopes);
    (!open.is_empty()).then(|| {
        let listed = |all: &mut dyn Iterator<Item = &str>| all.take(4).collect::<Vec<_>>().join(", ");
        let is = listed(&mut globs.iter().map(String::as_str));
        let open = listed(&mut open.iter().map(|scope| scope.as_str()));
        format!("profile `{profile}` is about {is} and does not cover {open}")
    })
}

/// The scopes of a claim that prevent these globs from settling it: each path that they do not cover. For a claim
/// without paths, one scope covered by name is enough.
fn uncovered<'s>(globs: &[String], scopes: &'s [Scope]) -> Vec<&'s Scope> {
    let covered = |scope: &Scope| globs.iter().any(|glob| covers(glob, scope));
    if !scopes.iter().any(Scope::is_path) {
        let any = scopes.iter().any(covered);
        return scopes.iter().filter(|_| !any).collect();
    }
    scopes.iter().filter(|scope| scope.is_path() && !covered(scope)).collect()
}

/// Whether globs cover at least one of these scopes.
pub fn covers_any(globs: &[String], scopes: &[Scope]) -> bool {
    scopes.iter().any(|scope| globs.iter().any(|glob| covers(glob, scope)))
}

/// Whether one glob covers a scope: it matches the path, everything below the path, or everything that the scope's
/// own glob matches. A symbol, target or tag has no path, so only the same name covers it.
fn covers(pattern: &str, scope: &Scope) -> bool {
    if !scope.is_path() {
        return pattern == scope.as_str();
    }
    let path = scope.as_str();
    if pattern.contains(':') {
        return false;
    }
    let is_name = !scope.is_glob() && path != ".";
    if pattern == path || is_name && matches(pattern, path) {
        return true;
    }
    let (Some(ours), Some(theirs)) = (alternatives(pattern), alternatives(path)) else { return false };
    theirs.iter().all(|path| ours.iter().any(|pattern| holds_all(pattern, path)))
}

/// The globs without braces that a glob stands for; `None` when a brace is not closed or there are too many.
fn alternatives(text: &str) -> Option<Vec<String>> {
    let mut whole = vec![text.to_owned()];
    let mut plain = Vec::new();
    while let Some(text) = whole.pop() {
        let Some(open) = text.find('{') else {
            plain.push(text);
            continue;
        };
        // Inside a character class a brace is literal, and a backslash removes its meaning.
        let close = open + text[open..].find('}')?;
        let inner = &text[open + 1..close];
        if inner.contains('{') || text.contains(['[', '\\']) || whole.len() + plain.len() > MAX_ALTERNATIVES {
            return None;
        }
        let (before, after) = (&text[..open], &text[close + 1..]);
        whole.extend(inner.split(',').map(|part| format!("{before}{part}{after}")));
    }
    Some(plain)
}

/// Whether a glob matches everything that another one matches. Neither has braces.
fn holds_all(pattern: &str, path: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        text.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect()
    };
    let mut ours = parts(pattern);
    if ours.ends_with(&["**".to_owned(), "*".to_owned()]) {
        ours.pop();
    }
    let many = |part: &String| part == "**";
    matches_all((&ours, &parts(path)), &many, &|ours, theirs| part_holds_all(ours, theirs))
}

/// Whether one part of a path glob matches everything that another part matches.
fn part_holds_all(ours: &str, theirs: &str) -> bool {
    if ours == theirs || ours == "*" {
        return true;
    }
    if !theirs.contains(WILD) {
        return matches(ours, theirs);
    }
    if ours.contains(['[', '\\']) || theirs.contains('\\') {
        return false;
    }
    // `[id].py` is the file of that name, or one whose name has one of these characters.
    if theirs.contains('[') {
        let Some(one_of_each) = without_classes(theirs) else { return false };
        return matches(ours, theirs) && part_holds_all(ours, &one_of_each);
    }
    let (ours, theirs): (Vec<char>, Vec<char>) = (ours.chars().collect(), theirs.chars().collect());
    matches_all((&ours, &theirs), &|c| *c == '*', &|ours, theirs| *ours == '?' || ours == theirs)
}

/// A part of a path glob with `?` in place of each class of characters. `None` when a class is not closed.
fn without_classes(part: &str) -> Option<String> {
    let mut pieces = part.split('[');
    let mut plain = pieces.next()?.to_owned();
    for piece in pieces {
        // The first character of a class may be `]`.
        let close = 1 + piece.get(1..)?.find(']')?;
        plain.push('?');
        plain.push_str(&piece[close + 1..]);
    }
    Some(plain)
}

/// Whether one sequence matches everything that the other one matches. `many` marks elements that stand for any
/// number of others; `one` compares two elements that stand for one each.
fn matches_all<T>(
    (ours, theirs): (&[T], &[T]),
    many: &dyn Fn(&T) -> bool,
    one: &dyn Fn(&T, &T) -> bool,
) -> bool {
    // Whether `ours` from each position on matches the whole rest of `theirs`.
    let mut holds = vec![false; ours.len() + 1];
    for left in (0..=theirs.len()).rev() {
        let before = holds.clone();
        for at in (0..=ours.len()).rev() {
            holds[at] = match (ours.get(at), theirs.get(left)) {
                (None, None) => true,
                (None, Some(_)) => false,
                (Some(our), None) => many(our) && holds[at + 1],
                (Some(our), Some(_)) if many(our) => holds[at + 1] || before[at],
                (Some(our), Some(their)) => !many(their) && one(our, their) && before[at + 1],
            };
        }
    }
    holds[0]
}

#[cfg(test)]
mod tests {
    use super::{covers_any, uncovered};
    use crate::domain::scope::Scope;

    /// A glob that matches one file below a directory does not cover the directory.
    #[test]
    fn a_profile_covers_what_its_globs_match_as_a_whole() {
        let covers = |glob: &str, scope: &str| {
            covers_any(&[glob.to_owned()], &[scope.parse().expect("a valid scope")])
        };
        for (glob, scope) in [
            ("**/*.rs", "src/a.rs"),
            ("**", "src/db"),
            ("**", "."),
            ("**/*", "."),
            ("src/**", "src"),
            ("src/**", "src/db/**"),
            ("src/*", "src/db"),
            ("src/{db,api}/**", "src/db"),
            ("src/{db,api}/**", "src/{api,db}/*.rs"),
            ("**/*.{js,ts}", "ui/*.ts"),
            ("**/*.rs", "src/*.rs"),
            ("**/*.rs", "src/**/*.rs"),
            ("**/*.rs", "src/e4*.rs"),
            ("**/*.py", "app/[id].py"),
            ("app/*.py", "app/[...slug].py"),
            ("app/*/page.tsx", "app/[id]/page.tsx"),
            ("app/[id].py", "app/[id].py"),
            ("src/*_test.rs", "src/a_*_test.rs"),
            ("app/**", "app/[id]/page.tsx"),
            ("**/*.tsx", "app/[id]/page.tsx"),
            ("src/[!p]*.rs", "src/a.rs"),
            ("src/[!p]*.rs", "src/[!p]*.rs"),
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
            ("src/{db,api}/**", "src/*/a.rs"),
            ("**/*.rs", "docs/**/*.md"),
            ("**/*.py", "Makefile"),
            ("**/*.py", "docs/readme"),
            ("**/*.rs", "src/db"),
            ("**/*.rs", "."),
            ("**/*.rs", "src/**"),
            ("src/*.rs", "src"),
            ("src/*.rs", "src/**"),
            ("src/*.rs", "src/**/*.rs"),
            ("src/*.rs", "src/*"),
            ("app/i.py", "app/[id].py"),
            ("app/i*.py", "app/[id].py"),
            ("src/db/[!p]*.rs", "src/db/*"),
            ("src/db/[!p]*.rs", "src/db/*.rs"),
            ("src/?.rs", "src/*.rs"),
            ("src/a*.rs", "src/*.rs"),
            ("*", "."),
            ("**/*.rs", "tag:rust"),
            ("**", "symbol:Pool::get"),
            ("tag:auth", "src"),
        ] {
            assert!(!covers(glob, scope), "{glob} does not cover {scope}");
        }
        assert!(!covers_any(&[], &["src".parse().expect("a valid scope")]));
    }

    /// One covered path is not enough: the author of the claim chooses its scopes.
    #[test]
    fn a_profile_settles_a_claim_when_it_covers_each_of_its_paths() {
        let left = |globs: &[&str], scopes: &[&str]| -> Vec<String> {
            let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
            let scopes: Vec<Scope> = scopes.iter().map(|scope| scope.parse().expect("a scope")).collect();
            uncovered(&globs, &scopes).into_iter().map(ToString::to_string).collect()
        };
        assert_eq!(left(&["src/*.txt"], &["src/g.rs", "src/decoy.txt"]), ["src/g.rs"]);
        assert_eq!(left(&["src/*.txt", "src/*.rs"], &["src/g.rs", "src/decoy.txt", "tag:x"]), [""; 0]);
        assert_eq!(left(&["tag:auth"], &["src/g.rs", "tag:auth"]), ["src/g.rs"]);
        assert_eq!(left(&["tag:auth"], &["tag:auth", "tag:login"]), [""; 0]);
        assert_eq!(left(&["src/**"], &["tag:auth"]), ["tag:auth"]);
    }
}
