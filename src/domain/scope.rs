//! What a claim is about: a path, a symbol, a target or a tag, in one normal form.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The most scopes one claim may have (spec 02).
pub const MAX_SCOPES: usize = 16;
/// The longest a scope may be; a Linux path component is at most 255 bytes, two of those fit.
pub const MAX_SCOPE_CHARS: usize = 512;

/// A normalised scope: a workspace-relative path with `/`, or `symbol:`, `target:`, `tag:` and a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scope(String);

/// Text that is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadScope {
    /// Nothing left after normalising.
    #[error("a scope is empty: name a path, or symbol:NAME, target:NAME, tag:NAME")]
    Empty,
    /// `..` or an absolute path that leaves the workspace.
    #[error("scope `{0}` leaves the workspace: give a path relative to the workspace root")]
    Outside(String),
    /// Too long or unprintable.
    #[error("scope `{0}` is longer than {MAX_SCOPE_CHARS} characters or holds a control character")]
    Unprintable(String),
}

impl Scope {
    /// Parses and normalises one scope. `root` is the workspace root as the caller would write it,
    /// so that an absolute path inside it becomes relative.
    ///
    /// # Errors
    /// [`BadScope`] with the way to write it instead.
    pub fn parse(text: &str, root: &str) -> Result<Self, BadScope> {
        let text = text.trim();
        if text.chars().count() > MAX_SCOPE_CHARS || text.chars().any(char::is_control) {
            return Err(BadScope::Unprintable(text.chars().take(60).collect()));
        }
        for prefix in ["symbol:", "target:", "tag:"] {
            let Some(name) = strip_prefix_ignoring_case(text, prefix) else {
                continue;
            };
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            if name.is_empty() {
                return Err(BadScope::Empty);
            }
            // Symbols are case-sensitive in most languages; targets and tags are words of the team.
            let name = if prefix == "symbol:" { name } else { name.to_lowercase() };
            return Ok(Self(format!("{prefix}{name}")));
        }
        Self::parse_path(text, root)
    }

    /// The scope of a target by its name, with or without `target:` before it.
    ///
    /// # Errors
    /// [`BadScope`].
    pub fn target(name: &str) -> Result<Self, BadScope> {
        let name = name.trim();
        Self::parse(&format!("target:{}", strip_prefix_ignoring_case(name, "target:").unwrap_or(name)), "")
    }

    fn parse_path(text: &str, root: &str) -> Result<Self, BadScope> {
        let slashed = text.replace('\\', "/");
        let root = root.replace('\\', "/");
        let root = root.trim_end_matches('/');
        let relative = match slashed.strip_prefix(root) {
            Some(rest) if !root.is_empty() && (rest.is_empty() || rest.starts_with('/')) => {
                rest.trim_start_matches('/')
            }
            _ if slashed.starts_with('/') => return Err(BadScope::Outside(text.to_owned())),
            _ => slashed.as_str(),
        };
        let mut parts: Vec<&str> = Vec::new();
        for part in relative.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    if parts.pop().is_none() {
                        return Err(BadScope::Outside(text.to_owned()));
                    }
                }
                name => parts.push(name),
            }
        }
        match (parts.is_empty(), text.is_empty()) {
            (true, true) => Err(BadScope::Empty),
            (true, false) => Ok(Self(".".to_owned())),
            (false, _) => Ok(Self(parts.join("/"))),
        }
    }

    /// The normal form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is a path (the whole workspace is `.`).
    pub fn is_path(&self) -> bool {
        !["symbol:", "target:", "tag:"].iter().any(|prefix| self.0.starts_with(prefix))
    }

    /// What stands after `symbol:`, `target:` or `tag:`; a path as it is.
    pub fn name(&self) -> &str {
        if self.is_path() { &self.0 } else { self.0.split_once(':').map_or("", |(_, name)| name) }
    }

    /// Whether this is a target of decisions.
    pub fn is_target(&self) -> bool {
        self.0.starts_with("target:")
    }

    /// Whether `other` is this scope or a path below it.
    pub fn covers(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        if !self.is_path() || !other.is_path() {
            return false;
        }
        self.0 == "." || other.0.strip_prefix(&self.0).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Whether either covers the other.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.covers(other) || other.covers(self)
    }

    /// This scope and, for a path, every directory above it up to `.`.
    pub fn and_ancestors(&self) -> impl Iterator<Item = &str> {
        let path = self.is_path() && self.0 != ".";
        let parents = self.0.match_indices('/').rev().filter(move |_| path).map(|(at, _)| &self.0[..at]);
        std::iter::once(self.as_str()).chain(parents).chain(path.then_some("."))
    }
}

fn strip_prefix_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

impl TryFrom<String> for Scope {
    type Error = BadScope;

    fn try_from(text: String) -> Result<Self, BadScope> {
        Self::parse(&text, "")
    }
}

impl FromStr for Scope {
    type Err = BadScope;

    fn from_str(text: &str) -> Result<Self, BadScope> {
        Self::parse(text, "")
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.0
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::Scope;

    fn check(inputs: &[&str], expected: Expect) {
        let lines: Vec<String> = inputs
            .iter()
            .map(|input| match Scope::parse(input, "/home/ana/shop") {
                Ok(scope) => {
                    format!("{input} -> {scope} [{}]", scope.and_ancestors().collect::<Vec<_>>().join(" "))
                }
                Err(error) => format!("{input} -> {error}"),
            })
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn scopes_have_one_normal_form() {
        check(
            &[
                "src/db/pool.rs",
                "./src//db/",
                "src\\db\\pool.rs",
                "/home/ana/shop/src/db",
                "/home/ana/shop",
                "/home/ana/shopping/src",
                "src/../../etc/passwd",
                "Target: Primary  Database",
                "symbol:Pool::get",
                "TAG:Auth",
                "tag:",
                "  ",
                "文档/設計.md",
            ],
            expect![[r#"
                src/db/pool.rs -> src/db/pool.rs [src/db/pool.rs src/db src .]
                ./src//db/ -> src/db [src/db src .]
                src\db\pool.rs -> src/db/pool.rs [src/db/pool.rs src/db src .]
                /home/ana/shop/src/db -> src/db [src/db src .]
                /home/ana/shop -> . [.]
                /home/ana/shopping/src -> scope `/home/ana/shopping/src` leaves the workspace: give a path relative to the workspace root
                src/../../etc/passwd -> scope `src/../../etc/passwd` leaves the workspace: give a path relative to the workspace root
                Target: Primary  Database -> target:primary database [target:primary database]
                symbol:Pool::get -> symbol:Pool::get [symbol:Pool::get]
                TAG:Auth -> tag:auth [tag:auth]
                tag: -> a scope is empty: name a path, or symbol:NAME, target:NAME, tag:NAME
                   -> a scope is empty: name a path, or symbol:NAME, target:NAME, tag:NAME
                文档/設計.md -> 文档/設計.md [文档/設計.md 文档 .]"#]],
        );
    }

    #[test]
    fn a_directory_covers_what_is_below_it_and_nothing_beside_it() {
        let scope = |text: &str| Scope::parse(text, "").expect("a valid scope");
        assert!(scope("src/db").covers(&scope("src/db/pool.rs")));
        assert!(!scope("src/db").covers(&scope("src/dbx")));
        assert!(scope(".").covers(&scope("src")));
        assert!(!scope(".").covers(&scope("tag:auth")));
        assert!(scope("src/db/pool.rs").overlaps(&scope("src")));
    }
}
