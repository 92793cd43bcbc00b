//! Parses and checks the file of a profile.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde::Deserialize;

use super::Limits;
use super::param::{Kind, Param, whole};
use super::{
    AgentProfile, Element, Expect, MAX_ARGV, OUTPUT_CAP_BYTES, PROMPT, Profile, ProfileName, TIMEOUT_MS,
};
use crate::domain::coverage::glob;
use crate::domain::privacy::{Secrets, redacted};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    description: String,
    argv: Vec<String>,
    #[serde(default)]
    scopes: Vec<String>,
    timeout_ms: u64,
    cwd: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    version: Vec<String>,
    #[serde(default)]
    params: BTreeMap<String, ParamFile>,
    expect: Option<Expect>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    env: Env,
    #[serde(default)]
    terminal: Terminal,
    agent: Option<AgentProfile>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Env {
    #[serde(default)]
    pass: BTreeSet<String>,
    #[serde(default)]
    set: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Terminal {
    pty: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParamFile {
    kind: Word,
    description: Option<String>,
    default: Option<String>,
    values: Option<Vec<String>>,
    pattern: Option<String>,
    min: Option<u64>,
    max: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Path,
    Enum,
    Regex,
    Int,
}

/// A fault of a profile.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file is not TOML, lacks a key, or has an unknown one.
    #[error("{0}")]
    Syntax(String),
    /// The name has characters that a profile's name may not have.
    #[error(transparent)]
    Name(#[from] super::BadName),
    /// The command is empty or too long.
    #[error("argv has 1 to {MAX_ARGV} elements: write the program and its arguments, each its own string")]
    Argv,
    /// A parameter would choose the program.
    #[error("argv[0] is `{0}`: a parameter never chooses the program")]
    ProgramIsParam(String),
    /// The value of this key is empty or contains NUL.
    #[error("`{0}` holds NUL or is empty where it may not be")]
    Unprintable(&'static str),
    /// The command uses a parameter that is not declared.
    #[error("argv names {{{0}}}: add [params.{0}] with its kind")]
    Undeclared(String),
    /// A parameter is declared and not used.
    #[error("[params.{0}] is not in argv: add {{{0}}} to an element, or remove it")]
    Unused(String),
    /// The command of an agent has no place for the prompt.
    #[error("[agent]: argv has no {{prompt}}: add it where the agent's command takes the prompt")]
    NoPrompt,
    /// The profile of an agent has a parameter without a default.
    #[error(
        "[agent]: no call gives a value for [params.{0}]: add a default, or remove it; {{prompt}} needs no entry"
    )]
    AgentParam(String),
    /// The profile of an agent declares an expectation.
    #[error("[agent]: an agent's exit code shows nothing about a claim: remove [expect]")]
    AgentExpects,
    /// No run can meet the expectation, or every run does.
    #[error("[expect]: {0}")]
    Expect(String),
    /// The keys of a parameter do not fit its kind.
    #[error("[params.{name}]: {problem}")]
    Param {
        /// Name of the parameter.
        name: String,
        /// The problem, and what to write.
        problem: String,
    },
    /// A number is out of range.
    #[error("`{key}` is {given}: write {least} to {most}")]
    Bounds {
        /// Name of the key.
        key: &'static str,
        /// The value in the file.
        given: u64,
        /// The smallest permitted value.
        least: u64,
        /// The largest permitted value.
        most: u64,
    },
    /// A glob of `scopes` does not parse.
    #[error("scopes: {0}")]
    Glob(#[from] globset::Error),
    /// The directory lies outside the workspace.
    #[error("cwd `{0}` leaves the workspace: give a directory relative to its root")]
    Cwd(String),
    /// The variable may not be passed on.
    #[error("[env] pass: `{0}` is no name of a variable, or one that loads code into every program")]
    Variable(String),
}

impl Profile {
    /// Parses a profile from its text.
    ///
    /// # Errors
    /// [`Problem`], the first one found.
    pub fn parse(name: ProfileName, text: &str) -> Result<Self, Problem> {
        let file: File = toml::from_str(text).map_err(|error: toml::de::Error| {
            // The error quotes a line of the file.
            Problem::Syntax(redacted(error.to_string().trim_end(), &Secrets::default()))
        })?;
        if file.description.trim().is_empty() {
            return Err(Problem::Unprintable("description"));
        }
        let argv = argv(&file.argv)?;
        let params = match &file.agent {
            Some(_) => agent_params(file.params, &argv, file.expect.is_some())?,
            None => params(file.params, &argv)?,
        };
        bounds("timeout_ms", file.timeout_ms, TIMEOUT_MS)?;
        bounds("limits.output_cap_bytes", file.limits.output_cap_bytes, OUTPUT_CAP_BYTES)?;
        bounds("limits.open_files", file.limits.open_files, 16..=1 << 20)?;
        bounds("limits.file_bytes", file.limits.file_bytes, 0..=1 << 40)?;
        file.expect.as_ref().map(checked).transpose()?;
        if let Some(cwd) = &file.cwd {
            let inside = crate::domain::scope::Scope::as_written(cwd, "").is_ok_and(|scope| scope.is_path());
            if !inside {
                return Err(Problem::Cwd(cwd.clone()));
            }
        }
        // A scope such as `tag:name` is not a glob.
        for text in file.scopes.iter().filter(|scope| !scope.contains(':')) {
            glob(text)?;
        }
        if file.version.len() > MAX_ARGV
            || file.version.iter().any(|text| text.is_empty() || text.contains('\0'))
        {
            return Err(Problem::Unprintable("version"));
        }
        if let Some(name) = file.env.pass.iter().chain(file.env.set.keys()).find(|name| !may_pass(name)) {
            return Err(Problem::Variable(name.clone()));
        }
        if file.env.set.values().any(|value| value.contains('\0')) {
            return Err(Problem::Unprintable("env.set"));
        }
        Ok(Self {
            name,
            description: file.description,
            scopes: file.scopes,
            needs: file.needs,
            version: file.version,
            timeout_ms: file.timeout_ms,
            expect: file.expect,
            params,
            limits: file.limits,
            env_pass: file.env.pass,
            env_set: file.env.set,
            pty: file.terminal.pty,
            cwd: file.cwd,
            agent: file.agent,
            argv,
        })
    }
}

/// Refuses an expectation that no run can meet, or that every run meets.
fn checked(Expect { exit, fails, ran, failed }: &Expect) -> Result<(), Problem> {
    let wrong = |problem: &str| Problem::Expect(problem.to_owned());
    if fails.contains(exit) {
        return Err(wrong("`fails` holds the code of `exit`: remove it"));
    }
    if Expect::NOT_RUN.iter().any(|code| code == exit || fails.contains(code)) {
        return Err(wrong("126 and 127 say that a program did not run: name other codes"));
    }
    for (key, pattern) in [("ran", ran), ("failed", failed)] {
        let Some(pattern) = pattern else { continue };
        let pattern =
            Regex::new(pattern).map_err(|problem| wrong(&format!("`{key}`: {}", last_line(&problem))))?;
        if pattern.is_match("") {
            return Err(wrong(&format!(
                "`{key}` matches no output at all: write what only a check that {key} prints"
            )));
        }
    }
    Ok(())
}

fn argv(texts: &[String]) -> Result<Vec<Element>, Problem> {
    let elements: Vec<Element> = texts.iter().map(|text| Element::parse(text)).collect();
    let [program, ..] = &elements[..] else { return Err(Problem::Argv) };
    if elements.len() > MAX_ARGV {
        return Err(Problem::Argv);
    }
    if program.params().next().is_some() {
        return Err(Problem::ProgramIsParam(program.to_string()));
    }
    if texts[0].trim().is_empty() || texts.iter().any(|text| text.contains('\0')) {
        return Err(Problem::Unprintable("argv"));
    }
    Ok(elements)
}

fn params(files: BTreeMap<String, ParamFile>, argv: &[Element]) -> Result<BTreeMap<String, Param>, Problem> {
    let used: BTreeSet<&str> = argv.iter().flat_map(Element::params).collect();
    if let Some(name) = used.iter().find(|name| !files.contains_key(**name)) {
        return Err(Problem::Undeclared((*name).to_owned()));
    }
    let named = files.into_iter().map(|(name, file)| {
        if !used.contains(name.as_str()) {
            return Err(Problem::Unused(name));
        }
        let param = file.checked().map_err(|problem| Problem::Param { name: name.clone(), problem })?;
        Ok((name, param))
    });
    named.collect()
}

/// Like [`params`], for the profile of an agent: a call fills in the prompt only.
fn agent_params(
    files: BTreeMap<String, ParamFile>,
    argv: &[Element],
    expects: bool,
) -> Result<BTreeMap<String, Param>, Problem> {
    if expects {
        return Err(Problem::AgentExpects);
    }
    if !argv.iter().flat_map(Element::params).any(|name| name == PROMPT) {
        return Err(Problem::NoPrompt);
    }
    let unfilled = |(name, file): &(&String, &ParamFile)| file.default.is_none() || *name == PROMPT;
    if let Some((name, _)) = files.iter().find(unfilled) {
        return Err(Problem::AgentParam(name.clone()));
    }
    let asked = |element: &Element| element.without(PROMPT);
    let mut params = params(files, &argv.iter().map(asked).collect::<Vec<_>>())?;
    let description = Some("the task for the agent".to_owned());
    params.insert(PROMPT.to_owned(), Param { description, default: None, kind: Kind::Prompt });
    Ok(params)
}

impl ParamFile {
    fn checked(self) -> Result<Param, String> {
        let Self { kind, description, default, values, pattern, min, max } = self;
        let kind = match (kind, values, pattern, min, max) {
            (Word::Path, None, None, None, None) => Kind::Path(None),
            (Word::Path, None, Some(pattern), None, None) => Kind::Path(Some(compiled(&pattern)?)),
            (Word::Enum, Some(words), None, None, None) => {
                let fits = |word: &String| {
                    !word.is_empty() && !word.starts_with('-') && !word.chars().any(char::is_control)
                };
                if words.is_empty() || !words.iter().all(fits) {
                    return Err("values are printable, not empty, and never start with `-`".to_owned());
                }
                Kind::Enum(words)
            }
            (Word::Regex, None, Some(pattern), None, None) => Kind::Regex(compiled(&pattern)?),
            (Word::Int, None, None, min, max) => {
                let (min, max) = (min.unwrap_or(0), max.unwrap_or(i64::MAX.unsigned_abs()));
                if min > max {
                    return Err(format!("min {min} is more than max {max}"));
                }
                Kind::Int { min, max }
            }
            (Word::Path | Word::Enum | Word::Regex | Word::Int, ..) => {
                return Err("enum takes `values`, regex takes `pattern`, int takes `min` and `max` (0 or more), path at most `pattern`".to_owned());
            }
        };
        Ok(Param { description, default, kind })
    }
}

fn compiled(pattern: &str) -> Result<Regex, String> {
    whole(pattern).map_err(|problem| last_line(&problem))
}

/// The message about a regular expression, without the lines that draw it.
fn last_line(problem: &regex::Error) -> String {
    let text = problem.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

fn bounds(key: &'static str, given: u64, range: std::ops::RangeInclusive<u64>) -> Result<(), Problem> {
    let (least, most) = range.into_inner();
    if (least..=most).contains(&given) { Ok(()) } else { Err(Problem::Bounds { key, given, least, most }) }
}

/// Whether a variable may be passed on: its name has letters, digits and `_`, and no dynamic loader reads it.
fn may_pass(name: &str) -> bool {
    let word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    word && starts && !["LD_", "DYLD_", "HM_"].iter().any(|prefix| name.starts_with(prefix))
}
