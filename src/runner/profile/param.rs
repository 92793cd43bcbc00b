//! Parameters of a profile: the values that each accepts, and the argument that a value becomes.

use std::path::Path;

use regex::Regex;
use serde::Serialize;

use crate::domain::checkout::MARKER;
use crate::domain::scope::Scope;

/// The longest value, in bytes: the longest path on Linux.
const MAX_VALUE_BYTES: usize = 4_096;

/// A parameter of a profile.
#[derive(Debug, Clone)]
pub struct Param {
    /// Its purpose, for people and agents.
    pub description: Option<String>,
    /// The value when a call leaves it out; `None` makes it required.
    pub default: Option<String>,
    /// The values that it accepts.
    pub kind: Kind,
}

/// The kind of values that a parameter accepts.
#[derive(Debug, Clone)]
pub enum Kind {
    /// An existing file or directory inside the workspace and outside `.hivemind`. With a pattern, text from
    /// the first `::` on may follow and must match it, such as the name of one test.
    Path(Option<Regex>),
    /// One of these words.
    Enum(Vec<String>),
    /// A text that matches as a whole.
    Regex(Regex),
    /// A whole number in a range that includes both ends.
    Int {
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
    /// The prompt of an agent, in one or several lines. The caller limits its length.
    Prompt,
}

/// Why a value becomes no argument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    /// It is empty.
    #[error("it is empty: give a value")]
    Empty,
    /// The program would read it as an option.
    #[error("it starts with `-` and would be read as an option: give a value that does not")]
    Option,
    /// It contains NUL, a line break or another control character.
    #[error("it holds a control character: use printable characters on one line")]
    Control,
    /// It is longer than 4,096 bytes.
    #[error("it is longer than {MAX_VALUE_BYTES} bytes: give a shorter one")]
    TooLong,
    /// It leads out of the workspace, or into `.hivemind`.
    #[error("it leaves the workspace or names {MARKER}: give a path relative to the workspace root")]
    Outside,
    /// No file or directory has this path.
    #[error("no such file or directory in the workspace: correct the path")]
    Missing,
    /// It is none of the words.
    #[error("it is none of {0}: choose one")]
    NotListed(String),
    /// It does not match the pattern.
    #[error("it does not match {0} from beginning to end")]
    NoMatch(String),
    /// It is not a number in the range.
    #[error("it is no whole number from {min} to {max}")]
    NoInt {
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
}

impl Param {
    /// The argument that a value becomes. `root` and `cwd` are canonical. A path below `cwd` becomes relative
    /// to it, another path absolute. A number loses its leading zeros.
    ///
    /// # Errors
    /// [`BadValue`], with the first reason.
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

/// Compiles a pattern that must match the whole of a value.
pub(super) fn whole(pattern: &str) -> Result<Regex, regex::Error> {
    regex::RegexBuilder::new(&format!(r"\A(?:{pattern})\z")).size_limit(1 << 20).build()
}

/// The pattern of [`whole`] as it is in the file.
pub(super) fn bare(regex: &Regex) -> &str {
    let text = regex.as_str();
    text.strip_prefix(r"\A(?:").and_then(|text| text.strip_suffix(r")\z")).unwrap_or(text)
}

/// A path as an argument. Symbolic links are resolved before the path is checked.
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
