//! `hm init`: make a directory a workspace.

use serde_json::json;

use super::Global;
use super::output::{self, Failure};
use crate::system::Environment;
use crate::workspace::Workspace;

pub(super) fn run(global: &Global) -> Result<(), Failure> {
    let environment = Environment::read();
    let here = std::env::current_dir().map_err(Failure::internal)?;
    let root = global.dir.clone().or_else(|| environment.dir.map(Into::into)).unwrap_or(here);
    let workspace = Workspace::init(&root, environment.runtime_dir.as_deref()).map_err(Failure::usage)?;
    let root = workspace.root().display().to_string();
    let text = format!(
        "{root} is a workspace now: .hivemind/config.toml holds its settings (commit it).\n\
         Give each pane: hm serve --agent NAME\n"
    );
    output::print(global.json, &text, &json!({ "workspace": root }))
}
