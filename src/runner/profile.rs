//! Profiles: the commands agents may run, by name, each parameter exactly one argument.

mod catalog;
mod file;
mod here;
mod param;
mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::coverage::{self, Check};
use crate::domain::experiment::Prediction;
use crate::domain::scope::Scope;

pub use crate::domain::experiment::{BadName, Environment, Expect, Limits, Plan, ProfileName};
pub use catalog::{BadProfile, Catalog, Known, LoadProblem, Loaded, Origin, PROFILE_DIR, Problem, load_file};
pub use here::Here;
pub use param::{BadValue, Kind, Param};
pub use plan::{BadRequest, Request};

/// The shortest and longest a run may take, in milliseconds: a day, so that a slip of three zeros is found.
const TIMEOUT_MS: std::ops::RangeInclusive<u64> = 100..=86_400_000;
/// What is stored of each stream: at least one screen; at most what the tail may take of memory, twice.
const OUTPUT_CAP_BYTES: std::ops::RangeInclusive<u64> = 4_096..=8 << 20;
/// The parameter of an agent's profile that nobody declares.
pub const PROMPT: &str = "prompt";
/// The most elements of a command.
const MAX_ARGV: usize = 64;

/// A command under a name, checked.
#[derive(Debug, Clone)]
pub struct Profile {
    /// What it is called.
    pub name: ProfileName,
    /// What it shows, for people and agents who choose.
    pub description: String,
    /// Globs of paths, or scopes such as `tag:auth`, that it can speak to; none: everything, and it settles nothing.
    pub scopes: Vec<String>,
    /// How long it may run, in milliseconds.
    pub timeout_ms: u64,
    /// What its exit code means, where that is declared.
    pub expect: Option<Expect>,
    /// What a call fills in.
    pub params: BTreeMap<String, Param>,
    /// What it may use.
    pub limits: Limits,
    /// Variables it gets besides [`Environment::BASE`].
    pub env_pass: BTreeSet<String>,
    /// Whether stdin and stdout are a terminal.
    pub pty: bool,
    /// Where it runs, below the root of the workspace.
    pub cwd: Option<String>,
    /// What makes it an agent's: such a one is sent out, and any other is run as an experiment.
    pub agent: Option<AgentProfile>,
    /// Files without which it cannot run, below the root, such as `Cargo.toml`.
    pub needs: Vec<String>,
    /// The command that says the version of its tool; empty where it names none.
    pub version: Vec<String>,
    argv: Vec<Element>,
}

/// That a profile is an agent's: its `{prompt}` is what the agent is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentProfile {
    /// Whom it speaks as, a name or alias of the roster; none for whoever sends it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// One element of a command: text and parameters in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Element(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Param(String),
}

impl Element {
    /// Splits at `{name}`; other braces are text.
    fn parse(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (before, from) = rest.split_at(open);
            plain.push_str(before);
            match from[1..].split_once('}').filter(|(name, _)| is_param_name(name)) {
                Some((name, after)) => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Param(name.to_owned()));
                    rest = after;
                }
                None => {
                    plain.push('{');
                    rest = &from[1..];
                }
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Self(pieces)
    }

    /// The element as if it did not name a parameter.
    fn without(&self, param: &str) -> Self {
        Self(self.0.iter().filter(|piece| **piece != Piece::Param(param.to_owned())).cloned().collect())
    }

    fn params(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Param(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Param(name) => write!(f, "{{{name}}}")?,
            }
        }
        Ok(())
    }
}

fn is_param_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

impl Profile {
    /// The command as it is written in the file, with `{name}` where a parameter goes.
    pub fn template(&self) -> Vec<String> {
        self.argv.iter().map(Element::to_string).collect()
    }

    /// Whether a run of it can say something about any of these scopes, which no agent's can. Symbols, targets and tags
    /// count where the profile names them.
    pub fn speaks_to(&self, scopes: &[Scope]) -> bool {
        self.agent.is_none() && (self.scopes.is_empty() || coverage::covers_any(&self.scopes, scopes))
    }

    /// Why a run of it settles nothing about a claim with these scopes and this prediction; none where it can.
    pub fn cannot_settle(&self, scopes: &[Scope], prediction: Prediction) -> Option<String> {
        let (profile, expect, globs) = (Some(&self.name), self.expect.as_ref(), &self.scopes);
        coverage::cannot_settle(
            Check { profile, expect, globs, elsewhere: false, without: &[] },
            scopes,
            prediction,
        )
    }
}
