//! `hm statusline` and `hm status --line`: the workspace on one line, or nothing.

use std::io::IsTerminal;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::json;

use super::output::{self, Failure};
use super::{Context, Global, current_dir};
use crate::domain::agent::AgentId;
use crate::system;
use crate::views::{self, Glance};

/// Help text below the arguments.
pub(super) const HELP: &str = "\
It prints nothing outside of a workspace and in case of doubt, and it never fails. Over a damaged ledger it says so. hm
init --statusline sets it up in Claude Code. For tmux and prompts the same line comes from hm status --line.

Example: hm statusline < status.json";

/// The status of a client, as far as it is read.
#[derive(Debug, Default, Deserialize)]
struct Status {
    session_id: Option<String>,
    cwd: Option<PathBuf>,
    #[serde(default)]
    workspace: Place,
}

/// The directories of a client.
#[derive(Debug, Default, Deserialize)]
struct Place {
    /// The directory in which the client was started.
    project_dir: Option<PathBuf>,
    current_dir: Option<PathBuf>,
}

/// The line over a ledger that is damaged, or cannot be read.
const DAMAGED: &str = "hivemind: the ledger is damaged or cannot be read: hm status";

/// What is said.
enum Said {
    Glance(Glance),
    Damaged,
}

/// Prints the line for the status on stdin.
pub(super) fn run(global: Global) -> Result<(), Failure> {
    let said = || {
        let status = if std::io::stdin().is_terminal() { Some(Status::default()) } else { status() };
        let Status { session_id, cwd, workspace } = status?;
        let dir = workspace.project_dir.or(workspace.current_dir).or(cwd);
        let dir = dir.map_or_else(current_dir, Ok).ok()?;
        let context = Context::at(global.clone(), &dir).ok()?;
        glance(&context, session_id)
    };
    print(said(), global.json)
}

/// Prints the line for the shell in which it is typed.
pub(super) fn in_shell(global: Global) -> Result<(), Failure> {
    let said = || {
        let context = Context::find(global.clone()).ok()?;
        let session = context.given_session().map(|session| session.to_string());
        glance(&context, session)
    };
    print(said(), global.json)
}

/// One object. A client may keep the pipe open, so the end of the input is not awaited.
fn status() -> Option<Status> {
    let mut values = serde_json::Deserializer::from_reader(std::io::stdin().lock()).into_iter::<Status>();
    values.next()?.ok()
}

fn glance(context: &Context, session: Option<String>) -> Option<Said> {
    let named = context.environment.agent.as_deref().or(context.global.agent.as_deref());
    let named: Option<AgentId> = named.map(|name| context.config.roster.resolve(name)).transpose().ok()?;
    let mut reads = match context.global.at {
        None => context.present().quick(),
        Some(_) => context.reads().ok()?,
    };
    let is_damaged =
        reads.standing().map_or(true, |standing| standing.damage.is_some_and(|it| it.stops_writes()));
    if is_damaged {
        return Some(Said::Damaged);
    }
    views::glance(&mut reads, (named.as_ref(), session.as_deref()), system::now()).ok()?.map(Said::Glance)
}

fn print(said: Option<Said>, as_json: bool) -> Result<(), Failure> {
    let (line, glance) = match said {
        Some(Said::Damaged) => (DAMAGED.to_owned(), None),
        Some(Said::Glance(glance)) => (glance.line(), Some(glance)),
        None => (String::new(), None),
    };
    if line.is_empty() && !as_json {
        return Ok(());
    }
    output::print(as_json, &format!("{line}\n"), &json!({ "line": line, "glance": glance }))
}
