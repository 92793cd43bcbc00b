//! The subject of a claim: a path, a symbol, a target or a tag, in one normal form.

mod glob;
mod map;
mod mentioned;

pub use mentioned::Mentioned;

pub(super) use glob::{WILD, matches};
pub(super) use map::ScopeMap;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::domain::clean;

/// The most scopes of one claim. A claim about more places is too general.
pub const MAX_SCOPES: usize = 16;
/// The length limit of a scope in characters. A Linux path component has at most 255 bytes; two of those fit.
pub const MAX_SCOPE_CHARS: usize = 512;

/// The beginning of a typed path that begins at the root of the workspace, wherever it is typed, as in git.
pub const FROM_ROOT: &str = ":/";

/// The prefixes of scopes that are no paths.
const PREFIXES: [&str; 3] = ["symbol:", "target:", "tag:"];

/// A normalised scope: a workspace-relative path or glob with `/`, or `symbol:`, `target:`, `tag:` and a name. A
/// stored scope is read as it was written ([`Scope::as_written`]), even if today's rules would refuse it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scope(String);

/// A text that is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadScope {
    /// Empty after normalising.
    #[error("a scope is empty: name a path, or symbol:NAME, target:NAME, tag:NAME")]
    Empty,
    /// A path outside of the workspace, through `..` or as an absolute path.
    #[error("scope `{0}` leaves the workspace: give a path relative to the workspace root")]
    Outside(String),
    /// Too long or unprintable.
    #[error("scope `{0}` is longer than {MAX_SCOPE_CHARS} characters or holds a control character")]
    Unprintable(String),
    /// The text still contains a shell variable or the like.
    #[error(
        "scope `{0}` holds a variable, an address or a drive: write the path itself, relative to the workspace root"
    )]
    Unexpanded(String),
    /// A glob that does not parse.
    #[error("`{0}` is no glob: {1}; write src/*.rs, or src/** for all below")]
    Glob(String, String),
}

impl Scope {
    /// Parses and normalises a scope as typed. `root` is the workspace root in the caller's spelling, so that
    /// absolute paths inside it become relative. A line number after a path is dropped.
    ///
    /// # Errors
    /// [`BadScope`] with the correct spelling.
    pub fn parse(text: &str, root: &str) -> Result<Self, BadScope> {
        match typed_path(text)? {
            None => {
                let scope = Self::as_written(text, root)?;
                if scope.is_target() { Self::target(scope.name()) } else { Ok(scope) }
            }
            Some(path) => {
                let scope = Self::as_written(path, root)?;
                scope.check_glob()?;
                Ok(scope)
            }
        }
    }

    /// The scope of a path or name, taken literally: an edited file, or a stored scope.
    ///
    /// # Errors
    /// [`BadScope`] when it is empty, leaves the workspace or cannot be printed.
    pub fn as_written(text: &str, root: &str) -> Result<Self, BadScope> {
        let text = printable(text)?;
        for prefix in PREFIXES {
            let Some(name) = strip_prefix_ignoring_case(text, prefix) else {
                continue;
            };
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            if name.is_empty() {
                return Err(BadScope::Empty);
            }
            // Symbols are case-sensitive in most languages. Targets and tags are words of the team and are not.
            let name = if prefix == "symbol:" { name } else { name.to_lowercase() };
            return Ok(Self(format!("{prefix}{name}")));
        }
        Self::parse_path(text, root)
    }

    /// The scope of a target by name, with or without the prefix `target:`.
    ///
    /// # Errors
    /// [`BadScope`] when the name is empty or cannot be printed.
    pub fn target(name: &str) -> Result<Self, BadScope> {
        let name = name.trim();
        let name = strip_prefix_ignoring_case(name, "target:").unwrap_or(name);
        // Hidden characters, `.` and nothing between slashes, and trailing dots or slashes do not make a different target.
        let seen: String = name.nfkc().filter(|c| !clean::is_hidden(*c)).collect();
        let seen = seen.trim().trim_end_matches(|c: char| c == '.' || c == '/' || c.is_whitespace());
        let parts = seen.split('/').map(str::trim).filter(|part| !part.is_empty() && *part != ".");
        let parts: Vec<&str> = parts.collect();
        let root = if seen.starts_with('/') { "/" } else { "" };
        // Through capitals, because the small letters of `straße` and of `STRASSE` differ.
        let folded: String = parts.join("/").to_uppercase().to_lowercase().nfkc().collect();
        Self::as_written(&format!("target:{root}{folded}"), "")
    }

    /// Whether two names differ only in look-alike letters of other scripts.
    pub fn looks_like(&self, other: &Self) -> bool {
        let seen = |scope: &Self| -> String { scope.name().chars().map(lookalike).collect() };
        self != other && !(self.0.is_ascii() && other.0.is_ascii()) && seen(self) == seen(other)
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

    /// The normal form as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is a path (the whole workspace is `.`).
    pub fn is_path(&self) -> bool {
        !PREFIXES.iter().any(|prefix| self.0.starts_with(prefix))
    }

    /// The text after `symbol:`, `target:` or `tag:`; for a path, the path.
    pub fn name(&self) -> &str {
        if self.is_path() { &self.0 } else { self.0.split_once(':').map_or("", |(_, name)| name) }
    }

    /// Whether this is a path that is written like that of a file: its last part has an extension. A path without one may be
    /// a directory that is made later.
    pub fn looks_like_file(&self) -> bool {
        let name = self.0.rsplit('/').next().unwrap_or_default();
        self.is_path() && !self.is_glob() && name.trim_start_matches('.').contains('.')
    }

    /// Whether this is a target of decisions.
    pub fn is_target(&self) -> bool {
        self.0.starts_with("target:")
    }

    /// Whether this is the whole workspace. It covers everything, so it says nothing about any part.
    pub fn is_whole(&self) -> bool {
        self.0 == "."
    }

    /// This scope and, for a path, every directory above it up to `.`.
    pub fn and_ancestors(&self) -> impl Iterator<Item = &str> {
        let path = self.is_path() && self.0 != ".";
        let parents = self.0.match_indices('/').rev().filter(move |_| path).map(|(at, _)| &self.0[..at]);
        std::iter::once(self.as_str()).chain(parents).chain(path.then_some("."))
    }
}

/// The path in a typed scope, without a line number; `None` for a symbol, a target or a tag.
///
/// # Errors
/// [`BadScope`] for a text that cannot be a path.
pub fn typed_path(text: &str) -> Result<Option<&str>, BadScope> {
    let text = printable(text)?;
    if PREFIXES.iter().any(|prefix| strip_prefix_ignoring_case(text, prefix).is_some()) {
        return Ok(None);
    }
    let path = without_line(text);
    let first = path.split('/').next().unwrap_or_default();
    let is_variable = first.strip_prefix('$').is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    });
    let is_home = first == "~" || first.starts_with('~') && path.contains('/');
    let is_drive = matches!(path.as_bytes(), [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic());
    match path {
        "" => Err(BadScope::Empty),
        path if is_variable
            || is_home
            || path.contains("${")
            || path.contains("$(")
            || path.contains('`')
            || path.contains("://")
            || is_drive =>
        {
            Err(BadScope::Unexpanded(text.to_owned()))
        }
        path => Ok(Some(path)),
    }
}

/// The Latin letter that a small Cyrillic, Greek or Armenian letter looks like.
const fn lookalike(c: char) -> char {
    match c {
        'а' | 'α' => 'a',
        'ԁ' => 'd',
        'е' => 'e',
        'ɡ' | 'ց' => 'g',
        'һ' | 'հ' => 'h',
        'і' | 'ι' | 'ı' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'ӏ' => 'l',
        'п' | 'ո' => 'n',
        'о' | 'ο' | 'օ' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' | 'ω' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        c => c,
    }
}

fn printable(text: &str) -> Result<&str, BadScope> {
    let text = text.trim();
    if text.chars().count() > MAX_SCOPE_CHARS || text.chars().any(char::is_control) {
        return Err(BadScope::Unprintable(text.chars().take(60).collect()));
    }
    Ok(text)
}

/// A path without `:42`, `:42-57`, `:42:7` or `#L42` at its end.
fn without_line(path: &str) -> &str {
    let path = match path.rsplit_once("#L") {
        Some((file, line))
            if !file.is_empty()
                && line.bytes().all(|byte| byte.is_ascii_digit() || b"-L".contains(&byte)) =>
        {
            file
        }
        _ => path,
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_line = |text: &str| {
        is_number(text) || text.split_once('-').is_some_and(|(a, b)| is_number(a) && is_number(b))
    };
    let cut = |path: &'_ str| {
        path.rsplit_once(':')
            .filter(|(path, line)| !path.is_empty() && is_line(line))
            .map(|(path, _)| path.len())
    };
    let mut end = path.len();
    // A line number, or line and column.
    for _ in 0..2 {
        end = cut(&path[..end]).unwrap_or(end);
    }
    &path[..end]
}

fn strip_prefix_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

impl TryFrom<String> for Scope {
    type Error = BadScope;

    fn try_from(text: String) -> Result<Self, BadScope> {
        Self::as_written(&text, "")
    }
}

impl FromStr for Scope {
    type Err = BadScope;

    fn from_str(text: &str) -> Result<Self, BadScope> {
        Self::as_written(text, "")
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
                "src/db.rs:42",
                "src/db.rs:42-57",
                "src/db.rs:42:7",
                "src/*.rs:3",
                "tag:release:42",
                "src/[",
                "$HOME/x",
                "${ROOT}/src",
                "~/x",
                "routes/$id.tsx",
                "app/[id]/page.tsx",
                "a\tb",
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
                文档/設計.md -> 文档/設計.md [文档/設計.md 文档 .]
                src/db.rs:42 -> src/db.rs [src/db.rs src .]
                src/db.rs:42-57 -> src/db.rs [src/db.rs src .]
                src/db.rs:42:7 -> src/db.rs [src/db.rs src .]
                src/*.rs:3 -> src/*.rs [src/*.rs src .]
                tag:release:42 -> tag:release:42 [tag:release:42]
                src/[ -> `src/[` is no glob: unclosed character class; missing ']'; write src/*.rs, or src/** for all below
                $HOME/x -> scope `$HOME/x` holds a variable, an address or a drive: write the path itself, relative to the workspace root
                ${ROOT}/src -> scope `${ROOT}/src` holds a variable, an address or a drive: write the path itself, relative to the workspace root
                ~/x -> scope `~/x` holds a variable, an address or a drive: write the path itself, relative to the workspace root
                routes/$id.tsx -> routes/$id.tsx [routes/$id.tsx routes .]
                app/[id]/page.tsx -> app/[id]/page.tsx [app/[id]/page.tsx app/[id] app .]
                a	b -> scope `a	b` is longer than 512 characters or holds a control character"#]],
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
