//! `hm trust`: a human confirms that a memory found in a directory is theirs.

use clap::Args;
use serde_json::json;

use super::output::{self, Failure};
use super::{Context, Global, surroundings};
use crate::config::{Config, Endpoint, Source};
use crate::system::{EMBEDDINGS_KEY, Environment};
use crate::workspace::{WaitingRules, Workspace};

pub(super) const HELP: &str = "hm opens a memory that lies in a directory tree only when this user's hm made it: a \
cloned or\nunpacked project may bring one along that was written by strangers. This makes the one here yours. What \
waits\nin its spool and its tokens are set aside, and runs that wait in it are ended.\n\nExamples:\n  hm trust --dir \
../from-my-old-laptop\n  hm trust --vectors\n  hm trust --rules";

/// What to trust.
#[derive(Debug, Args)]
pub(super) struct Trust {
    /// The model that `[search] vectors` names, instead of the memory: searches may ask it from now on
    #[arg(long)]
    vectors: bool,
    /// The rules in [quorum], [trust] and [guards] of config.toml that are looser than those in force: they hold from now on
    #[arg(long, conflicts_with = "vectors")]
    rules: bool,
    /// With --vectors: an endpoint gets the value of OPENAI_API_KEY, too
    #[arg(long, requires = "vectors")]
    key: bool,
}

impl Trust {
    pub(super) fn run(self, global: Global) -> Result<(), Failure> {
        match (self.vectors, self.rules) {
            (true, _) => allow_model(&Context::find(global)?, self.key),
            (false, true) => allow_rules(&Context::find(global)?),
            (false, false) => open(&global),
        }
    }
}

/// Allows the looser rules of the configuration.
fn allow_rules(context: &Context) -> Result<(), Failure> {
    context.human("trust-rules")?;
    // The permission belongs to a memory, which must exist.
    context.workspace.ensure().map_err(Failure::usage)?;
    let Some(WaitingRules { wanted, in_force, .. }) = context.waiting_rules(&mut context.present()) else {
        let text = "config.toml asks for no looser rules than those in force\n";
        return output::print(context.global.json, text, &json!({ "allowed": null }));
    };
    let block = Config::load(&context.workspace.config()).is_ok_and(|config| config.allow_block);
    let with_block = if block { ", and guards that stop tools ([guards] allow_block)" } else { "" };
    let question = format!("in force: {in_force}; config.toml asks for: {wanted}{with_block}. Allow it?");
    if output::agreed(&question)? == Some(false) {
        return output::print(context.global.json, "nothing was changed\n", &json!({ "allowed": null }));
    }
    context.workspace.allow_rules(&wanted, block).map_err(Failure::internal)?;
    let wanted = format!("{wanted}{with_block}");
    output::print(
        context.global.json,
        &format!("allowed from the next write on: {wanted}\n"),
        &json!({ "allowed": wanted }),
    )
}

/// Allows the model of the configuration. A configuration without one ends the permission.
fn allow_model(context: &Context, with_key: bool) -> Result<(), Failure> {
    context.human("trust-vectors")?;
    let model = context.config.model.as_ref();
    if with_key && !matches!(model, Some(Source::Endpoint(_))) {
        let named = model.map_or_else(|| "no model".to_owned(), ToString::to_string);
        return Err(Failure::usage(format!(
            "--key is for an endpoint, and [search] vectors names {named}: leave it out"
        )));
    }
    if let Some(Source::Endpoint(endpoint)) = model
        && output::agreed(&format!("{}. Allow it?", leaving(endpoint, with_key)))? == Some(false)
    {
        return output::print(context.global.json, "nothing was changed\n", &json!({ "allowed": null }));
    }
    context.workspace.allow_model(model, with_key).map_err(Failure::internal)?;
    let text = match model {
        None => "[search] vectors names no model: none is allowed from now on\n".to_owned(),
        Some(Source::Directory(dir)) => {
            format!("searches ask the model in {} from now on; nothing leaves this machine\n", dir.display())
        }
        Some(Source::Endpoint(endpoint)) => {
            format!("allowed from now on: {}\n", leaving(endpoint, with_key))
        }
    };
    let model = model.map(ToString::to_string);
    output::print(context.global.json, &text, &json!({ "allowed": model, "key": with_key }))
}

/// What an endpoint gets.
fn leaving(endpoint: &Endpoint, with_key: bool) -> String {
    let where_to = if endpoint.is_here() { "a server on this machine" } else { "another machine" };
    let key = if with_key { EMBEDDINGS_KEY } else { "no key" };
    format!(
        "{} ({where_to}) gets the statements of all claims, also of those to come, and the words of searches, with {key} and \
         the model name {}; texts that look like a secret, anchors and notes of users stay here",
        endpoint.url, endpoint.model
    )
}

fn open(global: &Global) -> Result<(), Failure> {
    // An override goes on record in the memory, which is not trusted yet. Scripts set `HM_DIR` instead.
    surroundings().human()?;
    let here = super::current_dir()?;
    let workspace = Workspace::trust(global.dir.as_deref(), &here, &Environment::read());
    let workspace = workspace.map_err(Failure::usage)?.settled();
    let memory = workspace.memory().display();
    output::print(
        global.json,
        &format!("{memory} is opened from now on\n"),
        &json!({ "memory": memory.to_string() }),
    )
}
