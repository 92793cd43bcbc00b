//! What a session is handed at its start: the one place where that text is made.

use super::{View, ViewError, answer};
use crate::config::Config;
use crate::domain::agent::AgentId;
use crate::domain::experiment::ProfileName;
use crate::domain::rejection::Rejection;
use crate::domain::text::Turn0;
use crate::pack::DEFAULT_BUDGET_CHARS;
use crate::reads::Reads;
use crate::runner::profile::Catalog;
use crate::system;

/// What a researcher starts with: the context of the agent it is to be, else of `spawner`, as of now.
///
/// # Errors
/// What the store said.
pub fn turn0(
    reads: &mut Reads,
    config: &Config,
    spawner: &AgentId,
    profile: &ProfileName,
) -> Result<Turn0, Rejection> {
    let catalog = Catalog::load(&reads.workspace().marker_dir());
    let named = catalog.find(profile).and_then(|known| known.profile.agent.as_ref()?.name.as_deref());
    // A name that is on no roster is refused by who sends it out.
    let agent = named.and_then(|name| config.roster.resolve(name).ok()).unwrap_or_else(|| spawner.clone());
    let view = View::Context(agent, DEFAULT_BUDGET_CHARS);
    let packed =
        answer(reads, config, &view, system::now()).map_err(|error: ViewError| Rejection::from(error))?;
    packed.text.parse().map_err(|problem| Rejection::invalid("turn0", problem))
}
