//! `hm profile`: the commands agents may run, and whether the project's own files say what they mean.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::output::{self, Failure};
use super::{Context, parse_all};
use crate::domain::scope::Scope;
use crate::runner::profile::{BadProfile, Catalog, Known, Origin, Profile, load_file};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// List the profiles, or those that fit some scopes
    #[command(after_help = "Examples:\n  hm profile list\n  hm profile list --scope src/db/pool.rs --json")]
    List(List),
    /// Check profile files; without one, all of .hivemind/profiles
    #[command(after_help = "Example: hm profile check .hivemind/profiles/smoke.toml")]
    Check(Check),
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only what can speak to this path, symbol:, target: or tag:; repeatable
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct Check {
    /// Profile files
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Verb {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let catalog = Catalog::load(&context.workspace.marker_dir());
        match self {
            Self::List(args) => args.run(context, &catalog),
            Self::Check(args) => args.run(context, &catalog),
        }
    }
}

impl List {
    fn run(self, context: &Context, catalog: &Catalog) -> Result<(), Failure> {
        let scopes: Vec<Scope> = parse_all("scope", &self.scopes)?;
        let fits = |known: &&Known| scopes.is_empty() || known.profile.speaks_to(&scopes);
        let listed: Vec<&Known> = catalog.profiles().filter(fits).collect();
        let mut text = String::new();
        for Known { profile, origin } in &listed {
            let own = if *origin == Origin::BuiltIn { "" } else { " (project)" };
            let _ = writeln!(text, "{}{own}: {}", profile.name, profile.description);
            let _ = writeln!(text, "    {}", profile.template().join(" "));
        }
        for bad in catalog.broken() {
            let _ = writeln!(text, "broken: {bad}");
        }
        let json = json!({
            "profiles": listed.iter().map(|known| shown(known)).collect::<Vec<_>>(),
            "broken": catalog.broken().iter().map(broken).collect::<Vec<_>>(),
        });
        output::print(context.global.json, &output::fitted(&text), &json)
    }
}

impl Check {
    fn run(self, context: &Context, catalog: &Catalog) -> Result<(), Failure> {
        let from_files: Vec<(PathBuf, Result<Profile, BadProfile>)> =
            self.files.iter().map(|file| (file.clone(), load_file(file))).collect();
        let mut good: Vec<String> = Vec::new();
        let mut bad: Vec<&BadProfile> = Vec::new();
        for (file, loaded) in &from_files {
            match loaded {
                Ok(_) => good.push(file.display().to_string()),
                Err(problem) => bad.push(problem),
            }
        }
        if self.files.is_empty() {
            good.extend(catalog.profiles().filter_map(|known| match &known.origin {
                Origin::Project(file) => Some(file.display().to_string()),
                Origin::BuiltIn => None,
            }));
            bad.extend(catalog.broken());
        }
        let mut text = String::new();
        for file in &good {
            let _ = writeln!(text, "ok      {file}");
        }
        for problem in &bad {
            let _ = writeln!(text, "broken  {problem}");
        }
        if text.is_empty() {
            text.push_str("no profiles of the project's own\n");
        }
        let json = json!({ "ok": good, "broken": bad.iter().map(|bad| broken(bad)).collect::<Vec<_>>() });
        output::print(context.global.json, &text, &json)?;
        if bad.is_empty() { Ok(()) } else { Err(Failure::Broken) }
    }
}

fn shown(Known { profile, origin }: &Known) -> Value {
    json!({
        "name": profile.name,
        "origin": origin,
        "description": profile.description,
        "argv": profile.template(),
        "scopes": profile.scopes,
        "params": profile.params,
        "expect": profile.expect,
        "timeout_ms": profile.timeout_ms,
        "limits": profile.limits,
        "env_pass": profile.env_pass,
        "pty": profile.pty,
        "cwd": profile.cwd,
        "agent": profile.agent,
    })
}

fn broken(bad: &BadProfile) -> Value {
    json!({ "file": bad.file.display().to_string(), "problem": bad.problem.to_string() })
}
