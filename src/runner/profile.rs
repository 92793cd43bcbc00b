//! Profiles: the commands that agents may run, by name. Each element of a command becomes exactly one argument.

mod catalog;
mod file;
mod fitting;
mod here;
mod naming;
mod param;
mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::coverage::{self, Check};
use crate::domain::experiment::Prediction;
use crate::domain::scope::Scope;

pub use crate::domain::experiment::{BadName, Environment, Expect, Limits, Plan, ProfileName};
pub use catalog::{
    BadProfile, Catalog, Known, LoadProblem, Loaded, Origin, PROFILE_DIR, Problem, load_below, load_file,
};
pub use fitting::{Fitting, Settling};
pub use here::Here;
pub(super) use naming::{name_of, text};
pub use naming::{unnamed, unpicked};
pub use param::{BadValue, Kind, Param};
pub use plan::{BadRequest, Request};

/// Range of a run's timeout, in milliseconds. The maximum is a day, so that three zeros too many are refused.
const TIMEOUT_MS: std::ops::RangeInclusive<u64> = 100..=86_400_000;
/// Range of the cap of a stored stream, in bytes: at least one screen, at most twice what its end may take in memory.
const OUTPUT_CAP_BYTES: std::ops::RangeInclusive<u64> = 4_096..=8 << 20;
/// The parameter that every agent's profile has without declaring it.
pub const PROMPT: &str = "prompt";
/// The most elements of a command.
const MAX_ARGV: usize = 64;

/// A named command that passed the checks.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The name under which agents run it.
    pub name: ProfileName,
    /// What a run shows, for people and agents who choose a profile.
    pub description: String,
    /// Globs of paths, or scopes such as `tag:auth`, that a run can test. When empty, a run may be linked to
    /// any claim and settles none.
    pub scopes: Vec<String>,
    /// The timeout of a run, in milliseconds.
    pub timeout_ms: u64,
    /// The meaning of its exit code; `None` when it is not declared.
    pub expect: Option<Expect>,
    /// The parameters that a call fills in, by name.
    pub params: BTreeMap<String, Param>,
    /// The limits of a run.
    pub limits: Limits,
    /// The variables that it gets in addition to [`Environment::BASE`].
    pub env_pass: BTreeSet<String>,
    /// The variables that it gets with these values.
    pub env_set: BTreeMap<String, String>,
    /// Whether stdin and stdout are a terminal.
    pub pty: bool,
    /// The directory of a run, relative to the root of the workspace.
    pub cwd: Option<String>,
    /// Present on the profile of an agent, which runs as a researcher. Another profile runs as an experiment.
    pub agent: Option<AgentProfile>,
    /// Files that it needs, relative to the root, such as `Cargo.toml`.
    pub needs: Vec<String>,
    /// The command that prints the version of its tool; empty when it names none.
    pub version: Vec<String>,
    argv: Vec<Element>,
}

/// Marks the profile of an agent: `{prompt}` is the task that the agent gets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentProfile {
    /// The name or alias in the roster under which the agent acts; `None` for the agent that starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// One element of a command: a sequence of texts and parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Element(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Param(String),
}

impl Element {
    /// Splits a text at `{name}`; other braces are text, also those of `${name}`, a variable of a shell.
    fn parse(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (before, from) = rest.split_at(open);
            plain.push_str(before);
            match from[1..].split_once('}').filter(|(name, _)| is_param_name(name) && !plain.ends_with('$')) {
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

    /// The element without one parameter.
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
    /// The command as the file has it, with `{name}` for each parameter.
    pub fn template(&self) -> Vec<String> {
        self.argv.iter().map(Element::to_string).collect()
    }

    /// Whether a parameter is the path of what is tested.
    pub fn selects_tests(&self) -> bool {
        self.expect.is_some() && self.params.values().any(|param| matches!(param.kind, Kind::Path(_)))
    }

    /// Whether a run can test any of these scopes. The run of an agent cannot. Symbols, targets and tags count
    /// where the profile names them.
    pub fn speaks_to(&self, scopes: &[Scope]) -> bool {
        self.agent.is_none() && (self.scopes.is_empty() || coverage::covers_any(&self.scopes, scopes))
    }

    /// Why a run settles nothing about a claim with these scopes and this prediction; `None` when it can.
    pub fn cannot_settle(&self, scopes: &[Scope], prediction: Prediction) -> Option<String> {
        let (profile, expect, globs) = (Some(&self.name), self.expect.as_ref(), &self.scopes);
        let argv = &self.template();
        let check = Check { profile, expect, globs, elsewhere: false, without: &[], argv };
        coverage::cannot_settle(check, scopes, prediction)
    }

    /// Why its exit code says nothing about its check, and what mends that; `None` where it does. An agent's shows nothing.
    pub fn hidden(&self) -> Option<String> {
        let why = || coverage::hidden(&self.template(), self.expect.as_ref());
        self.agent.is_none().then(why).flatten()
    }
}
