//! Turns a request for a profile into a plan: the arguments, the directory, and the limits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::param::BadValue;
use super::{
    Element, Environment, Kind, Limits, OUTPUT_CAP_BYTES, Piece, Plan, Profile, ProfileName, TIMEOUT_MS,
};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::runner::spawn;
use crate::system;

/// A request of an agent. It can only narrow what the profile allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Values of parameters, by name.
    pub args: BTreeMap<String, String>,
    /// The directory to run in, relative to the root; `None` for that of the profile.
    pub cwd: Option<String>,
    /// The variables to pass on, a subset of the profile's; `None` for all of them.
    pub env_pass: Option<BTreeSet<String>>,
    /// A shorter timeout, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// A smaller cap of each stored stream, in bytes.
    pub output_cap_bytes: Option<u64>,
}

/// Why a profile refuses a request. Nothing has run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// A value becomes no argument.
    #[error("parameter `{name}`: {problem}")]
    Value {
        /// Name of the parameter.
        name: String,
        /// The reason.
        problem: BadValue,
    },
    /// A value names an unknown parameter.
    #[error("profile `{profile}` has no parameter `{name}`; it takes {takes}")]
    Unknown {
        /// Name of the profile.
        profile: ProfileName,
        /// The given name, cut to 60 characters.
        name: String,
        /// The names of its parameters, as a list.
        takes: String,
    },
    /// A parameter has neither a value nor a default.
    #[error("profile `{profile}` needs a value for `{name}`")]
    Missing {
        /// Name of the profile.
        profile: ProfileName,
        /// Name of the parameter.
        name: String,
    },
    /// The directory does not exist, or lies outside the workspace.
    #[error("cwd `{0}` is no directory inside the workspace: give one relative to its root")]
    Cwd(String),
    /// The request is wider than the profile.
    #[error("`{key}` can only narrow what the profile allows: {allowed}")]
    Wider {
        /// The key of the request.
        key: &'static str,
        /// The permitted values, as text.
        allowed: String,
    },
    /// The command has no program.
    #[error("there is no command: write it after --, the program first")]
    NoCommand,
    /// This system has no sessions, signals and limits for a run.
    #[error("experiments run on Linux and macOS only")]
    NotHere,
}

impl From<BadRequest> for Rejection {
    fn from(problem: BadRequest) -> Self {
        if matches!(problem, BadRequest::NotHere) {
            let way =
                "run the command yourself; the operator records what it gave with `hm experiment record`";
            return Self::new(Code::InvalidArgument, problem.to_string(), way);
        }
        let argument = match &problem {
            BadRequest::Value { name, .. }
            | BadRequest::Unknown { name, .. }
            | BadRequest::Missing { name, .. } => {
                format!("args.{}", name.chars().take(60).collect::<String>())
            }
            BadRequest::Cwd(_) => "cwd".to_owned(),
            BadRequest::Wider { key, .. } => (*key).to_owned(),
            BadRequest::NoCommand | BadRequest::NotHere => "argv".to_owned(),
        };
        Self::invalid(&argument, problem)
    }
}

impl Profile {
    /// The plan of a request. `root` is the canonical root of the workspace.
    ///
    /// # Errors
    /// [`BadRequest`]. No part of a refused request reaches a command line.
    pub fn plan(&self, request: &Request, root: &Path) -> Result<Plan, BadRequest> {
        if cfg!(not(unix)) {
            return Err(BadRequest::NotHere);
        }
        if let Some(name) = request.args.keys().find(|name| !self.params.contains_key(*name)) {
            let takes: Vec<&str> = self.params.keys().map(String::as_str).collect();
            return Err(BadRequest::Unknown {
                profile: self.name.clone(),
                name: name.chars().take(60).collect(),
                takes: if takes.is_empty() { "none".to_owned() } else { takes.join(", ") },
            });
        }
        let own = || directory(self.cwd.as_deref().unwrap_or("."), root);
        let (cwd, elsewhere) = match &request.cwd {
            Some(asked) => {
                let asked = directory(asked, root)?;
                let elsewhere = own().ok().as_ref() != Some(&asked);
                (asked, elsewhere)
            }
            None => (own()?, false),
        };
        let argument = |name: &str| self.argument(name, request, root, &cwd);
        let argv: Vec<String> =
            self.argv.iter().map(|element| element.rendered(argument)).collect::<Result<_, _>>()?;
        let same_as = Some(without_links(&argv, &cwd)).filter(|same| *same != argv);
        let timeout_ms = narrowed("timeout_ms", request.timeout_ms, self.timeout_ms, *TIMEOUT_MS.start())?;
        let cap = self.limits.output_cap_bytes;
        let output_cap_bytes =
            narrowed("output_cap_bytes", request.output_cap_bytes, cap, *OUTPUT_CAP_BYTES.start())?;
        let passed = request.env_pass.as_ref().unwrap_or(&self.env_pass);
        if !passed.is_subset(&self.env_pass) {
            let allowed = self.env_pass.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(BadRequest::Wider { key: "env_pass", allowed });
        }
        Ok(Plan {
            profile: Some(self.name.clone()),
            profile_sha256: None,
            argv,
            same_as,
            cwd,
            elsewhere,
            without: self.env_pass.difference(passed).cloned().collect(),
            env: Environment::Only(passed.clone()),
            variables: self.env_set.clone(),
            timeout_ms,
            limits: Limits { output_cap_bytes, ..self.limits },
            uncapped: false,
            pty: self.pty,
            expect: self.expect.clone(),
            scopes: self.scopes.clone(),
            version: self.version.clone(),
            tests: self.tests(request, root),
        })
    }

    /// The paths that a request gives. They select the tests of a profile with an expectation.
    fn tests(&self, request: &Request, root: &Path) -> Vec<Scope> {
        let paths = self.params.iter().filter(|(_, param)| matches!(param.kind, Kind::Path(_)));
        let paths = paths.filter(|_| self.expect.is_some()).filter_map(|(name, param)| {
            let value = request.args.get(name).or(param.default.as_ref())?;
            let (path, _) = value.split_at(value.find("::").unwrap_or(value.len()));
            Scope::as_written(path, &root.to_string_lossy()).ok()
        });
        paths.filter(|path| path.is_path() && !path.is_whole()).collect()
    }

    /// The texts of a request that pick what is checked, such as a part of the names of tests. A profile without an expectation
    /// checks nothing, and the default of a parameter is what its profile checks.
    pub fn picked<'a>(&'a self, args: &'a BTreeMap<String, String>) -> impl Iterator<Item = &'a str> {
        let texts = self.params.iter().filter(|(_, param)| matches!(param.kind, Kind::Regex(_)));
        let given = texts.filter(|_| self.expect.is_some()).filter_map(|(name, param)| {
            let value = args.get(name)?;
            (param.default.as_ref() != Some(value)).then_some(value)
        });
        given.map(String::as_str)
    }

    fn argument(&self, name: &str, request: &Request, root: &Path, cwd: &Path) -> Result<String, BadRequest> {
        let missing = || BadRequest::Missing { profile: self.name.clone(), name: name.to_owned() };
        let param = self.params.get(name).ok_or_else(missing)?;
        let value = request.args.get(name).or(param.default.as_ref()).ok_or_else(missing)?;
        param
            .argument(value, root, cwd)
            .map_err(|problem| BadRequest::Value { name: name.to_owned(), problem })
    }
}

impl Plan {
    /// The plan of a command that a person typed at a terminal: any command, in any directory, with the
    /// person's environment.
    ///
    /// # Errors
    /// [`BadRequest::NoCommand`]; [`BadRequest::NotHere`].
    pub fn typed(argv: Vec<String>, cwd: PathBuf, timeout_ms: u64) -> Result<Self, BadRequest> {
        if cfg!(not(unix)) {
            return Err(BadRequest::NotHere);
        }
        if argv.first().is_none_or(String::is_empty) || argv.iter().any(|text| text.contains('\0')) {
            return Err(BadRequest::NoCommand);
        }
        Ok(Self {
            profile: None,
            profile_sha256: None,
            argv,
            same_as: None,
            cwd,
            elsewhere: false,
            without: Vec::new(),
            env: Environment::Inherited,
            variables: BTreeMap::new(),
            timeout_ms,
            limits: Limits::default(),
            uncapped: false,
            pty: false,
            expect: None,
            scopes: Vec::new(),
            version: Vec::new(),
            tests: Vec::new(),
        })
    }
}

/// The command with the bare name of a program that the search path has, and with the files to which symbolic links lead.
fn without_links(argv: &[String], cwd: &Path) -> Vec<String> {
    let search = system::variables().find(|(name, _)| name == "PATH").map(|(_, path)| path);
    let is_found = |name: &str, program: &str| {
        let found = spawn::find(name, cwd, search.as_deref()).ok().and_then(|path| path.canonicalize().ok());
        found.is_some() && found == cwd.join(program).canonicalize().ok()
    };
    let mut same: Vec<String> = argv.iter().map(|argument| target(argument, cwd)).collect();
    if let Some(program) = argv.first().filter(|program| program.contains('/'))
        && let Some(name) = Path::new(program).file_name().and_then(|name| name.to_str())
        && is_found(name, program)
    {
        name.clone_into(&mut same[0]);
    }
    same
}

/// An argument with the file to which its path leads, if a symbolic link is on the way. The path may follow `--option=`,
/// and the name of a test may follow the path after `::`.
fn target(argument: &str, cwd: &Path) -> String {
    let (option, rest) = match argument.split_once('=') {
        Some((option, _)) if !option.contains('/') => argument.split_at(option.len() + 1),
        _ => ("", argument),
    };
    let (path, test) = rest.split_at(rest.find("::").unwrap_or(rest.len()));
    let mut plain = PathBuf::new();
    for part in cwd.join(path).components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    match cwd.join(path).canonicalize().ok().filter(|found| !path.is_empty() && *found != plain) {
        Some(found) => format!("{option}{}{test}", found.display()),
        None => argument.to_owned(),
    }
}

impl Element {
    /// One argument, whatever the values contain.
    fn rendered(&self, argument: impl Fn(&str) -> Result<String, BadRequest>) -> Result<String, BadRequest> {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => Ok(text.clone()),
            Piece::Param(name) => argument(name),
        });
        pieces.collect()
    }
}

fn directory(text: &str, root: &Path) -> Result<PathBuf, BadRequest> {
    let outside = || BadRequest::Cwd(text.chars().take(200).collect());
    let inside = Scope::as_written(text, &root.to_string_lossy()).map_err(|_| outside())?;
    let full = root.join(inside.as_str()).canonicalize().map_err(|_| outside())?;
    let fits = inside.is_path() && full.is_dir() && full.starts_with(root);
    if fits { Ok(full) } else { Err(outside()) }
}

fn narrowed(key: &'static str, asked: Option<u64>, most: u64, least: u64) -> Result<u64, BadRequest> {
    match asked {
        None => Ok(most),
        Some(value) if (least..=most).contains(&value) => Ok(value),
        Some(_) => Err(BadRequest::Wider { key, allowed: format!("{least} to {most}") }),
    }
}
