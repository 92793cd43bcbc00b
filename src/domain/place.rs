//! Places in files that are cited as evidence: `path:line` and `path:from-to`, and what became of their lines.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::scope::Scope;
use crate::domain::versions::Content;

/// The most lines of a place: a function, not a file.
pub const MAX_LINES: u32 = 200;
/// The most bytes that are hashed to find lines elsewhere in a file. More takes longer than a list may.
const MAX_HASHED_BYTES: usize = 16 << 20;

/// A place as an agent writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The path as written.
    pub path: String,
    /// The first line, from 1.
    pub from: u32,
    /// The last line.
    pub to: u32,
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (path, lines) = text.trim().rsplit_once(':').ok_or(())?;
        let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
        let line = |text: &str| -> Result<u32, ()> {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_number).ok_or(())
        };
        let (from, to) = (line(from)?, line(to)?);
        // `symbol:x:3` is no file. A path from above is one of its directory.
        let is_file = match path.parse::<Scope>() {
            Ok(path) => path.is_path() && !path.is_whole(),
            Err(_) => path.starts_with('/') || path.starts_with("../"),
        };
        if is_file { Ok(Self { path: path.to_owned(), from, to }) } else { Err(()) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        shown(f, &self.path, (self.from, self.to))
    }
}

fn shown(f: &mut fmt::Formatter<'_>, path: &str, (from, to): (u32, u32)) -> fmt::Result {
    write!(f, "{path}:{from}")?;
    if to == from { Ok(()) } else { write!(f, "-{to}") }
}

/// Lines of a file, and the hash of what they held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The file.
    pub path: Scope,
    /// The first line, from 1.
    pub from: u32,
    /// The last line.
    pub to: u32,
    /// The hash of the lines without white space at their ends.
    pub sha256: Content,
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        shown(f, self.path.as_str(), (self.from, self.to))
    }
}

/// Why lines cannot be cited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Uncitable {
    /// The lines are in the wrong order, or begin at 0.
    #[error("lines are counted from 1, and the last is not before the first")]
    Order,
    /// More lines than a place may have.
    #[error("a place has at most {MAX_LINES} lines")]
    Long,
    /// The file ends before.
    #[error("the file has {0} lines")]
    Short(usize),
    /// Nothing but white space.
    #[error("these lines are empty")]
    Blank,
}

/// The text of the lines of a file, without white space at their ends.
pub fn lines_of(text: &[u8], from: u32, to: u32) -> Result<Vec<u8>, Uncitable> {
    if from == 0 || to < from {
        return Err(Uncitable::Order);
    }
    if to - from >= MAX_LINES {
        return Err(Uncitable::Long);
    }
    let lines = lines(text);
    let cited = lines.get(from as usize - 1..to as usize).ok_or(Uncitable::Short(lines.len()))?;
    let cited = cited.join(&b'\n');
    if cited.iter().all(u8::is_ascii_whitespace) { Err(Uncitable::Blank) } else { Ok(cited) }
}

/// The hash of lines.
pub fn hash(lines: &[u8]) -> Content {
    Content::Sha256(Sha256::digest(lines).into())
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).collect()
}

/// What became of cited lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Fate {
    /// They are where they were.
    Fresh,
    /// They are elsewhere in the file.
    Moved {
        /// Their first line now.
        now_at: u32,
    },
    /// The file is there, and no longer holds them.
    Drifted,
    /// The file is gone.
    Orphaned,
}

impl Fate {
    /// Whether the file still holds the lines.
    pub const fn is_found(self) -> bool {
        matches!(self, Self::Fresh | Self::Moved { .. })
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fresh => f.write_str("fresh"),
            Self::Moved { now_at } => write!(f, "moved to line {now_at}"),
            Self::Drifted => f.write_str("drifted"),
            Self::Orphaned => f.write_str("orphaned"),
        }
    }
}

/// What became of lines in a file that is there. Of several places with the same lines, the nearest counts.
pub fn fate(text: &[u8], span: &Span) -> Fate {
    let lines = lines(text);
    let count = (span.to - span.from) as usize + 1;
    let first = span.from as usize - 1;
    if count > lines.len() {
        return Fate::Drifted;
    }
    let is_at = |at: usize| hash(&lines[at..at + count].join(&b'\n')) == span.sha256;
    let last = lines.len() - count;
    let mut hashed = 0;
    let mut others: Vec<usize> = (0..=last).collect();
    others.sort_by_key(|at| at.abs_diff(first));
    for at in others {
        if is_at(at) {
            let now_at = u32::try_from(at + 1).unwrap_or(u32::MAX);
            return if at == first { Fate::Fresh } else { Fate::Moved { now_at } };
        }
        hashed += lines[at..at + count].iter().map(|line| line.len() + 1).sum::<usize>();
        if hashed > MAX_HASHED_BYTES {
            break;
        }
    }
    Fate::Drifted
}

#[cfg(test)]
mod tests {
    use super::{Fate, Place, Span, Uncitable, fate, hash, lines_of};

    #[test]
    fn a_place_is_a_path_with_a_line_or_a_range() {
        let place =
            |text: &str| text.parse::<Place>().map(|place| (place.path.clone(), place.from, place.to));
        assert_eq!(place("src/a.rs:7"), Ok(("src/a.rs".to_owned(), 7, 7)));
        assert_eq!(place(" /w/src/a.rs:7-12 "), Ok(("/w/src/a.rs".to_owned(), 7, 12)));
        assert_eq!(
            place("src/a.rs:7-12").map(|_| "src/a.rs:7-12".parse::<Place>().expect("a place").to_string()),
            Ok("src/a.rs:7-12".to_owned())
        );
        for none in
            ["", "src/a.rs", "src/a.rs:", "src/a.rs:x", "src/a.rs:1-", "src/a.rs:+1", "tag:x:3", ":3", "C12"]
        {
            assert_eq!(place(none), Err(()), "{none}");
        }
    }

    #[test]
    fn lines_are_fresh_moved_or_drifted() {
        let text = b"a\nb\r\n  c \nd\n";
        let cited = |from, to| {
            lines_of(text, from, to).map(|lines| Span {
                path: "f".parse().expect("a path"),
                from,
                to,
                sha256: hash(&lines),
            })
        };
        let span = cited(2, 3).expect("lines");
        for (now, what) in [
            ("a\nb\n  c\nd\n", Fate::Fresh),
            ("x\na\nb\n  c\nd\n", Fate::Moved { now_at: 3 }),
            ("b\n  c", Fate::Moved { now_at: 1 }),
            ("b\n  c\n\n\n\nb\n  c", Fate::Moved { now_at: 1 }),
            ("a\nb\nx\n  c\n", Fate::Drifted),
            ("a\nb\nc\n", Fate::Drifted),
            ("", Fate::Drifted),
        ] {
            assert_eq!(fate(now.as_bytes(), &span), what, "{now:?}");
        }
        assert_eq!(cited(0, 1), Err(Uncitable::Order));
        assert_eq!(cited(3, 2), Err(Uncitable::Order));
        assert_eq!(cited(4, 5), Err(Uncitable::Short(4)));
        assert_eq!(cited(1, 201), Err(Uncitable::Long));
        assert_eq!(lines_of(b"a\n \n", 2, 2), Err(Uncitable::Blank));
    }
}
