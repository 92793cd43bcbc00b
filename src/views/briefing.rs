//! What a researcher starts with: the context of the agent it is to be, and who sent it for what.

use super::context::turn0;
use crate::config::Config;
use crate::domain::agent::AgentId;
use crate::domain::experiment::ProfileName;
use crate::domain::ids::{RunId, SessionId};
use crate::domain::rejection::Rejection;
use crate::domain::text::Turn0;
use crate::domain::time::Timestamp;
use crate::reads::Reads;
use crate::runner::profile::Catalog;

/// Characters of a prompt that say why a session was split; the run has all of it.
const MAX_REASON_CHARS: usize = 200;

/// The first thing a researcher gets: what the agent of its profile, else its spawner, should know now, as the
/// session that sends it sees it.
///
/// # Errors
/// What the store said.
pub fn briefing(
    reads: &mut Reads,
    config: &Config,
    (spawner, session): (&AgentId, &SessionId),
    run_id: RunId,
    profile: &ProfileName,
    prompt: &str,
    now: Timestamp,
) -> Result<Turn0, Rejection> {
    let workspace = reads.workspace();
    let catalog = Catalog::load(&workspace.marker_dir(), &workspace.trusted_profiles());
    let named = catalog.find(profile).and_then(|known| known.profile.agent.as_ref()?.name.as_deref());
    // A name that is on no roster is refused by who sends it out.
    let agent = named.and_then(|name| config.roster.resolve(name).ok()).unwrap_or_else(|| spawner.clone());
    let reason: String = format!("research: {prompt}").chars().take(MAX_REASON_CHARS).collect();
    let text =
        turn0(reads, config.stale_after, &agent, (session, &SessionId::of_researcher(run_id)), &reason, now)?;
    text.parse().map_err(|problem| Rejection::invalid("turn0", problem))
}
