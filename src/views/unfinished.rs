//! The open ends of a session: tasks, leases, claims without evidence. Also the other agents around it.

use std::path::Path;

use super::context::{ContextOf, pack_peer};
use super::{DEFAULT_LIMIT, ViewError};
use crate::domain::claim::{ClaimType, Status};
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::pack::{self, Gate, Presence};
use crate::reads::Reads;
use crate::store::{ClaimFilter, ClaimSummary, Peer, Reader, StoreError};

/// Claims in force without evidence that the agent made in its session, the newest first. A hypothesis needs none.
fn without_evidence(store: &Reader, of: &ContextOf) -> Result<Vec<ClaimSummary>, StoreError> {
    let own = ClaimFilter {
        session: of.session.clone(),
        owner: Some(of.agent.to_string()),
        in_force: true,
        limit: DEFAULT_LIMIT,
        ..ClaimFilter::default()
    };
    let mut own = store.claims(&own)?.claims;
    own.retain(|claim| {
        claim.evidence == 0
            && claim.supports == 0
            && !matches!(claim.claim_type, ClaimType::Hypothesis | ClaimType::Decision)
            && !names_what_shows_it(&claim.statement)
            && !is_plan(&claim.statement)
    });
    Ok(own)
}

/// Whether a statement names a run, a claim or an event: `R11`, `C4`, `#57`.
fn names_what_shows_it(statement: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '#';
    statement.split(|c| !is_part(c)).any(|word| {
        let number = word.strip_prefix(['R', 'C', '#']).unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether a statement says what is to be done, so that nothing can show it: it begins with "plan", or it says "please".
fn is_plan(statement: &str) -> bool {
    let mut words = statement.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let is_first = words.next().is_some_and(|word| word.eq_ignore_ascii_case("plan"));
    is_first || words.any(|word| word.eq_ignore_ascii_case("please"))
}

/// Names of the claims without evidence that the agent made in its session after ledger position `since` and up to
/// `until`, the oldest first. A question to agents does not count, nor does a claim about files that do not exist
/// below `root`, which is a plan: evidence for either is impossible yet.
///
/// # Errors
/// [`StoreError`].
pub fn unproven(
    store: &Reader,
    of: &ContextOf,
    root: &Path,
    (since, until): (u64, u64),
) -> Result<Vec<String>, StoreError> {
    let mut names = Vec::new();
    for claim in without_evidence(store, of)?.iter().rev() {
        if !(since + 1..=until).contains(&claim.created_seq) || !is_written(claim, root) {
            continue;
        }
        let whole = store.claim(claim.id)?;
        if whole.is_some_and(|claim| claim.asks.is_empty()) {
            names.push(store.name_of(claim.id)?);
        }
    }
    Ok(names)
}

/// Whether a claim has no file among its scopes, or one that exists.
fn is_written(claim: &ClaimSummary, root: &Path) -> bool {
    let scopes = claim.scopes.iter().filter_map(|scope| scope.parse::<Scope>().ok());
    let mut paths = scopes.filter(Scope::is_path).peekable();
    paths.peek().is_none()
        || paths.any(|path| path.as_str().contains('*') || root.join(path.as_str()).exists())
}

/// The open ends of a session.
///
/// # Errors
/// [`StoreError`].
pub fn gate(store: &Reader, of: &ContextOf) -> Result<Gate, StoreError> {
    let Some(session) = of.session.as_deref() else { return Ok(Gate::default()) };
    let held = store.held_by(session)?.into_iter();
    let (active, leased): (Vec<_>, Vec<_>) =
        held.partition(|task| task.status == crate::domain::plan::TaskStatus::Active);
    let limit = DEFAULT_LIMIT;
    let pending = ClaimFilter { status: vec![Status::PendingProof], limit, ..ClaimFilter::default() };
    let pending = store.claims(&pending)?.claims.into_iter();
    Ok(Gate {
        active_tasks: active.into_iter().map(|task| task.name).collect(),
        leases: leased.into_iter().map(|task| task.name).collect(),
        without_evidence: without_evidence(store, of)?
            .into_iter()
            .map(|claim| claim.id.to_string())
            .collect(),
        pending_proofs: pending
            .filter(|claim| claim.owner == of.agent.as_str())
            .map(|claim| claim.id.to_string())
            .collect(),
    })
}

/// The other agents with a running session, and what each does now.
///
/// # Errors
/// [`ViewError`].
pub fn peers(reads: &mut Reads, agent: &str, now: Timestamp) -> Result<Vec<String>, ViewError> {
    let (peers, _) = reads.ask(now, |store| store.peers(agent))?;
    let ledger = reads.readable_ledger();
    let edited_at = |peer: &Peer| ledger.and_then(|ledger| ledger.at(peer.last_edit_seq?).ok().flatten());
    let doing = |peer: &Peer| pack::Peer { edited_at: edited_at(peer), ..pack_peer(peer) }.doing(now);
    Ok(peers.unwrap_or_default().iter().map(doing).collect())
}

/// A line about the absence of all other agents. `None` while one of them is here.
///
/// # Errors
/// [`ViewError`].
pub fn alone(reads: &mut Reads, agent: &str, now: Timestamp) -> Result<Option<String>, ViewError> {
    let (alone, _) =
        reads.ask(now, |store| super::asked::alone(store, (agent, &store.live_agents()?), now))?;
    Ok(alone.flatten())
}

/// The other agents, and the open work.
///
/// # Errors
/// [`StoreError`].
pub fn presence(store: &Reader, agent: &str, now: Timestamp) -> Result<Presence, StoreError> {
    let live = store.live_agents()?;
    Ok(Presence {
        agent: agent.to_owned(),
        alone: super::asked::alone(store, (agent, &live), now)?,
        peers: live.into_iter().filter(|peer| peer != agent).collect(),
        contradictions: store.open_contradictions()?,
        ready: store.ready_tasks(super::MAX_LIMIT)?.len() as u64,
        proposals: super::attention::waiting(store, agent)?,
        to_review: super::attention::review::count(store, agent, now)?,
        ..Presence::default()
    })
}
