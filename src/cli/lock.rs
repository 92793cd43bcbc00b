//! `hm lock`: asks the other agents to leave something alone for a time.

use clap::Args;

use super::output::Failure;
use super::{Context, parse};
use crate::domain::command::{Command, LockScopes, ReleaseScopes};
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::views::View;

pub(super) const HELP: &str = "\
Examples:
  hm lock tag:cpu --for 20m --why \"benchmarks\"
  hm lock src/db \"docs/*.md\" --why \"I move files\"
  hm lock --release tag:cpu
  hm lock --list

A lock ends by itself, and with its session. Others are warned of it and not kept from writing; they cannot take a lock
that overlaps it.";

#[derive(Debug, Args)]
pub(super) struct Lock {
    /// Scope: a path, a glob, tag:NAME, target:NAME or symbol:NAME
    #[arg(value_name = "SCOPE", required_unless_present_any = ["release", "list"])]
    scopes: Vec<String>,
    /// Duration: 5m, 2h, or a number of minutes; 15m by default, at most 24h
    #[arg(long = "for", value_name = "TIME", conflicts_with_all = ["release", "list"])]
    time: Option<String>,
    /// Reason, shown to other agents
    #[arg(long, aliases = ["reason", "note"], value_name = "TEXT", required_unless_present_any = ["release", "list"],
        conflicts_with_all = ["release", "list"])]
    why: Option<String>,
    /// Release these scopes and all below them; without a scope, all locks of this session
    #[arg(long, conflicts_with = "list")]
    release: bool,
    /// List all locks, also those of tasks
    #[arg(long, conflicts_with = "scopes")]
    list: bool,
}

impl Lock {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        if self.list {
            return context.show(&View::Locks);
        }
        let scopes = self.scopes.iter().map(|text| context.scope("scope", text));
        let scopes = scopes.collect::<Result<Vec<Scope>, _>>()?;
        if self.release {
            return context.submit("lock released", Command::ReleaseScopes(ReleaseScopes { scopes }), None);
        }
        let minutes = self.time.as_deref().map(minutes).transpose()?;
        let why = parse("why", self.why.as_deref().unwrap_or_default())?;
        context.submit("locked", Command::LockScopes(LockScopes { scopes, minutes, why }), None)
    }
}

/// Parses a length of time such as `5m` or `2h` into minutes. A number without a letter is in minutes.
fn minutes(text: &str) -> Result<u32, Rejection> {
    let minutes = super::length(text, &[('m', 1), ('h', 60)]).and_then(|minutes| u32::try_from(minutes).ok());
    minutes.ok_or_else(|| {
        let given: String = text.trim().chars().take(40).collect();
        Rejection::invalid(
            "for",
            format!("`{given}` is no length of time: write 5m, 2h, or a number of minutes"),
        )
    })
}
