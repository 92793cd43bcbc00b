//! Parameters of a profile: what a value may be, and the one argument it becomes.

use std::path::Path;

use regex::Regex;
use serde::Serialize;

use crate::domain::scope::Scope;
use crate::workspace::MARKER;

/// The longest a value may be, in bytes: a path as long as Linux takes one.
const MAX_VALUE_BYTES: usize = 4_096;

/// A parameter.
#[derive(Debug, Clone)]
pub struct Param {
    /// What it is for.
    pub description: Option<String>,
    /// What stands in its place when a call leaves it out.
    pub default: Option<String>,
    /// What it may be.
    pub kind: Kind,
}

/// What a value may be.
#[derive(Debug, Clone)]
pub enum Kind {
    /// A file or directory that is there, inside the workspace and outside `.hivemind`; with a pattern, what may
    /// follow it from the first `::` on, such as the name of one test.
    Path(Option<Regex>),
    /// One of these words.
    Enum(Vec<String>),
    /// Text that matches from its beginning to its end.
    Regex(Regex),
    /// A whole number, both ends included.
    Int {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// What an agent is asked, in several lines if need be; bounded where it is asked.
    Prompt,
}

/// A value that becomes no argument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    /// It is empty.
    #[error("it is empty: give a value")]
    Empty,
    /// It would be read as an option.
    #[error("it starts with `-` and would be read as an option: give a value that does not")]
    Option,
    /// It holds NUL, a line break or another control character.
    #[error("it holds a control character: use printable characters on one line")]
    Control,
    /// It is too long.
    #[error("it is longer than {MAX_VALUE_BYTES} bytes: give a shorter one")]
    TooLong,
    /// It leads out of the workspace, or into its own files.
    #[error("it leaves the workspace or names {MARKER}: give a path relative to the workspace root")]
    Outside,
    /// Nothing is there.
    #[error("no such file or directory in the workspace: correct the path")]
    Missing,
    /// It is none of the words.
    #[error("it is none of {0}: choose one")]
    NotListed(String),
    /// It does not match.
    #[error("it does not match {0} from beginning to end")]
    NoMatch(String),
    /// It is no number in the range.
    #[error("it is no whole number from {min} to {max}")]
    NoInt {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
}

impl Param {
    /// The argument a value becomes. `root` and `cwd` are canonical; a path is written relative to `cwd` where
    /// it lies below it, else in full; a number without leading zeros.
    ///
    /// # Errors
    /// [`BadValue`].
    pub(super) fn argument(&self, value: &str, root: &Path, cwd: &Path) -> Result<String, BadValue> {
        if value.is_empty() {
            return Err(BadValue::Empty);
        }
        let is_prompt = matches!(self.kind, Kind::Prompt);
        if value.len() > MAX_VALUE_BYTES && !is_prompt {
            return Err(BadValue::TooLong);
        }
        if value.chars().any(|c| c.is_control() && !(is_prompt && matches!(c, '\n' | '\t'))) {
            return Err(BadValue::Control);
        }
        let argument = match &self.kind {
            Kind::Path(None) => path(value, root, cwd)?,
            Kind::Path(Some(suffix)) => {
                let (file, rest) = value.split_at(value.find("::").unwrap_or(value.len()));
                if !rest.is_empty() && !suffix.is_match(rest) {
                    return Err(BadValue::NoMatch(bare(suffix).to_owned()));
                }
                path(file, root, cwd)? + rest
            }
            Kind::Prompt => value.to_owned(),
            Kind::Enum(words) if words.iter().any(|word| word == value) => value.to_owned(),
            Kind::Enum(words) => return Err(BadValue::NotListed(words.join(", "))),
            Kind::Regex(regex) if regex.is_match(value) => value.to_owned(),
            Kind::Regex(regex) => return Err(BadValue::NoMatch(bare(regex).to_owned())),
            Kind::Int { min, max } => {
                let plain = value.bytes().all(|byte| byte.is_ascii_digit());
                let number = value.parse().ok().filter(|number| plain && (*min..=*max).contains(number));
                number.ok_or(BadValue::NoInt { min: *min, max: *max })?.to_string()
            }
        };
        if argument.starts_with('-') { Err(BadValue::Option) } else { Ok(argument) }
    }
}

/// A pattern that must match the whole of a value.
pub(super) fn whole(pattern: &str) -> Result<Regex, regex::Error> {
    regex::RegexBuilder::new(&format!(r"\A(?:{pattern})\z")).size_limit(1 << 20).build()
}

/// The pattern as it was written.
pub(super) fn bare(regex: &Regex) -> &str {
    let text = regex.as_str();
    text.strip_prefix(r"\A(?:").and_then(|text| text.strip_suffix(r")\z")).unwrap_or(text)
}

/// A path as an argument; symbolic links are followed before it is judged.
fn path(value: &str, root: &Path, cwd: &Path) -> Result<String, BadValue> {
    let inside = Scope::as_written(value, &root.to_string_lossy()).map_err(|_| BadValue::Outside)?;
    if !inside.is_path() {
        return Err(BadValue::Missing);
    }
    let full = root.join(inside.as_str()).canonicalize().map_err(|_| BadValue::Missing)?;
    let below = full.strip_prefix(root).map_err(|_| BadValue::Outside)?;
    if below.starts_with(MARKER) {
        return Err(BadValue::Outside);
    }
    let shown = full.strip_prefix(cwd).unwrap_or(&full);
    let shown = if shown.as_os_str().is_empty() { Path::new(".") } else { shown };
    shown.to_str().map(str::to_owned).ok_or(BadValue::Control)
}

impl Serialize for Param {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = to.serialize_map(None)?;
        match &self.kind {
            Kind::Path(suffix) => {
                map.serialize_entry("kind", "path")?;
                if let Some(suffix) = suffix {
                    map.serialize_entry("pattern", bare(suffix))?;
                }
            }
            Kind::Prompt => map.serialize_entry("kind", "prompt")?,
            Kind::Enum(words) => {
                map.serialize_entry("kind", "enum")?;
                map.serialize_entry("values", words)?;
            }
            Kind::Regex(regex) => {
                map.serialize_entry("kind", "regex")?;
                map.serialize_entry("pattern", bare(regex))?;
            }
            Kind::Int { min, max } => {
                map.serialize_entry("kind", "int")?;
                map.serialize_entry("min", min)?;
                map.serialize_entry("max", max)?;
            }
        }
        if let Some(default) = &self.default {
            map.serialize_entry("default", default)?;
        }
        if let Some(description) = &self.description {
            map.serialize_entry("description", description)?;
        }
        map.end()
    }
}
