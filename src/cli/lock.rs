//! `hm lock`: asks the other agents to leave something alone for a time.

use clap::Args;

use super::output::{self, Failure};
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
    /// Duration: 5m, 2h, 90s (in whole minutes), or a number of minutes; 15m by default, at most 24h
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
            let command = Command::ReleaseScopes(ReleaseScopes { scopes });
            return context.submit("lock released", command, None).map_err(with_list);
        }
        let minutes = self.time.as_deref().map(minutes).transpose()?;
        let why = parse("why", self.why.as_deref().unwrap_or_default())?;
        let command = Command::LockScopes(LockScopes { scopes, minutes, why });
        context.submit("locked", command, None).map_err(with_list)
    }
}

/// A refusal that names the list of this verb, in which locks stand alone, instead of the whole plan.
fn with_list(failure: Failure) -> Failure {
    if let Failure::Rejected(mut refused) = failure {
        refused.hint = refused.hint.replace("`hivemind://plan`", "`hm lock --list`");
        return Failure::Rejected(refused);
    }
    failure
}

/// Parses a length of time such as `5m` or `90s` into minutes, rounded up. A number without a letter is in minutes.
fn minutes(text: &str) -> Result<u32, Rejection> {
    let seconds = super::length(text, &[('m', 60), ('s', 1), ('h', 3_600)]);
    let minutes = seconds.and_then(|seconds| u32::try_from(seconds.div_ceil(60)).ok());
    let given: String = text.trim().chars().take(40).collect();
    let Some(minutes) = minutes else {
        let problem = format!("`{given}` is no length of time: write 90s, 5m, 2h, or a number of minutes");
        return Err(Rejection::invalid("for", problem));
    };
    if seconds.is_some_and(|seconds| seconds % 60 != 0) {
        output::note(&format!("a lock lasts whole minutes: {given} is {minutes}m"));
    }
    Ok(minutes)
}
