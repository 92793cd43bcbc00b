//! `hm trust`: a human says that a memory which came with a directory is theirs.

use serde_json::json;

use super::output::{self, Failure};
use super::{Global, surroundings};
use crate::system::Environment;
use crate::workspace::Workspace;

pub(super) const HELP: &str = "hm opens a memory that lies in a directory tree only when this user's hm made it: a \
cloned or\nunpacked project may bring one along that was written by strangers. This makes the one here yours. What \
waits\nin its spool and its tokens are set aside, and runs that wait in it are ended.\n\nExample: hm trust --dir \
../from-my-old-laptop";

pub(super) fn run(global: &Global) -> Result<(), Failure> {
    // An override would go on record in the very memory that is not trusted yet; HM_DIR is the way of scripts.
    surroundings().human()?;
    let here = std::env::current_dir().map_err(Failure::internal)?;
    let workspace = Workspace::trust(global.dir.as_deref(), &here, &Environment::read());
    let workspace = workspace.map_err(Failure::usage)?.settled();
    let memory = workspace.memory().display();
    output::print(
        global.json,
        &format!("{memory} is opened from now on\n"),
        &json!({ "memory": memory.to_string() }),
    )
}
