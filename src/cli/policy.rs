//! `hm policy`: the policy of the memory, and the check of its file.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::output::{self, Failure};
use super::{Context, Global};
use crate::config::{Config, ConfigError, Silence};
use crate::domain::policy::MemoryPolicy;
use crate::views;

#[derive(Debug, Subcommand)]
pub(super) enum Policy {
    /// Show the policy in force, and where each value comes from
    #[command(after_help = "Example: hm policy show --json")]
    Show,
    /// Check a configuration; exit 1 names the line and the reason
    #[command(after_help = "Examples:\n  hm policy check\n  hm policy check proposed.toml")]
    Check(Check),
}

#[derive(Debug, Args)]
pub(super) struct Check {
    /// File to check; default: the workspace's config.toml
    file: Option<PathBuf>,
}

impl Policy {
    pub(super) fn run(self, global: Global) -> Result<(), Failure> {
        match self {
            Self::Show => {
                let (context, fault) = Context::examined(global)?;
                match fault {
                    None => show(&context),
                    Some(fault) => told(context.global.json, &context.workspace.config(), Err(fault), None),
                }
            }
            Self::Check(Check { file: Some(file) }) => {
                if !file.is_file() {
                    return Err(Failure::usage(format!("{} is no file", file.display())));
                }
                told(global.json, &file, Config::load(&file).map(|_| ()), None)
            }
            Self::Check(Check { file: None }) => {
                let (context, fault) = Context::examined(global)?;
                match context.config.silence.filter(|_| fault.is_none()) {
                    Some(silence) => silent(&context, silence),
                    None => {
                        let checked = fault.map_or(Ok(()), Err);
                        told(context.global.json, &context.workspace.config(), checked, idle(&context))
                    }
                }
            }
        }
    }
}

/// The verdict on the file of the workspace while it says nothing.
fn silent(context: &Context, silence: Silence) -> Result<(), Failure> {
    let file = context.workspace.config().display().to_string();
    let on_record = is_on_record(context)?;
    let text = if on_record { kept(silence) } else { format!("The file is {silence}: the defaults hold.") };
    let text = output::wrapped("", "", &format!("{file}: {text}"));
    let value =
        json!({ "file": file, "fault": null, "silence": silence.to_string(), "on_record": on_record });
    output::print(context.global.json, &text, &value)
}

/// The sentence about the file of a linked work tree whose policy has no effect.
fn idle(context: &Context) -> Option<String> {
    let file = context.workspace.idle_config(&context.config.memory)?;
    // A bare repository has no main work tree.
    let which = if context.workspace.in_work_tree(None).is_ok() { "main" } else { "first" };
    let sentence = format!(
        "The policy of {} has no effect: that of the {which} work tree is in force, {}.",
        file.display(),
        context.workspace.ruling_config().display()
    );
    Some(output::wrapped("", "", &sentence))
}

/// What a file without content leaves in force, and the way out.
fn kept(silence: Silence) -> String {
    format!(
        "The file is {silence}, so the last policy that was read stays in force, and so do the own secret patterns; {}.",
        Silence::WAY_OUT
    )
}

/// Whether something else than the file says what is in force.
fn is_on_record(context: &Context) -> Result<bool, Failure> {
    let is_silent = context.config.silence.is_some();
    Ok(is_silent
        && (!context.config.secret_patterns.is_empty()
            || views::policy_on_record(&mut context.present())?.is_some()))
}

/// The verdict on a file.
fn told(
    as_json: bool,
    file: &std::path::Path,
    checked: Result<(), ConfigError>,
    idle: Option<String>,
) -> Result<(), Failure> {
    let file = file.display().to_string();
    match checked {
        Ok(()) => {
            let text = idle.iter().fold(format!("{file} is valid\n"), |text, idle| text + idle);
            let mut value = json!({ "file": file, "fault": null });
            if let Some(idle) = idle {
                value["idle"] = idle.trim_end().into();
            }
            output::print(as_json, &text, &value)
        }
        Err(fault) => {
            let fault = fault.to_string();
            let text = format!("{}\n", fault.trim_end());
            output::print(as_json, &text, &json!({ "file": file, "fault": fault.trim_end() }))?;
            Err(Failure::Broken)
        }
    }
}

fn show(context: &Context) -> Result<(), Failure> {
    let file = context.workspace.ruling_config();
    let lines = Config::policy_lines(&file).map_err(Failure::usage)?;
    let on_record = is_on_record(context)?;
    let policy = &context.config.memory;
    let keys = policy.rules();
    let width = keys.iter().map(|(key, _)| key.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (key, value) in &keys {
        let shown = MemoryPolicy::in_words(value);
        let other = if on_record { "on record" } else { "default" };
        let from = lines.get(key).map_or_else(|| other.to_owned(), |line| format!("line {line}"));
        text += &output::wrapped(
            &format!("{key:width$}  "),
            &" ".repeat(width + 2),
            &format!("{shown} ({from})"),
        );
    }
    let own = context.config.secret_patterns.len();
    let about = format!(
        "secrets are refused before all this: the built-in rules and {own} of your own ([privacy]). The lines are those of {}. \
         The policy has the hash {}.",
        file.display(),
        policy.hash()
    );
    text += &output::wrapped("", "", &about);
    if let Some(silence) = context.config.silence.filter(|_| on_record) {
        text += &output::wrapped("", "", &kept(silence));
    }
    let idle = idle(context);
    text += idle.as_deref().unwrap_or_default();
    let rows: Vec<Value> = keys
        .iter()
        .map(|(key, value)| json!({ "key": key, "value": value, "line": lines.get(key) }))
        .collect();
    let mut value = json!({ "on_record": on_record, "file": file.display().to_string(), "hash": policy.hash(), "keys": rows, "own_secret_patterns": own });
    if let Some(idle) = idle {
        value["idle"] = idle.trim_end().into();
    }
    output::print(context.global.json, &text, &value)
}
