//! `hm trust`: a human confirms that a memory found in a directory is theirs.

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
