//! What sessions were told of claims, by receipts and by hooks: each is told once.

use std::collections::BTreeMap;

use crate::domain::agent::AgentId;
use crate::domain::event::{Guard, GuardFired, Recorded};
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::text::CommandLine;

/// The agent that was told, and what matched.
type To = (AgentId, CommandLine);

/// Each session with the claims that it was told of, and the ledger position of the last time for each agent and match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Told(BTreeMap<SessionId, BTreeMap<ClaimId, BTreeMap<To, u64>>>);

impl Told {
    /// Folds a warning.
    pub(super) fn evolve(&mut self, recorded: &Recorded, fired: &GuardFired) {
        let (Some(session), Guard::Claim(id)) = (&recorded.session, fired.guard) else { return };
        let of_claim = self.0.entry(session.clone()).or_default().entry(id).or_default();
        of_claim.insert((recorded.agent.clone(), fired.matched.clone()), recorded.seq);
    }

    /// What an agent was told of a claim in a session: what matched, and the ledger position.
    pub(super) fn of<'a>(
        &'a self,
        agent: &'a AgentId,
        session: Option<&SessionId>,
        id: ClaimId,
    ) -> impl Iterator<Item = (&'a CommandLine, u64)> {
        let of_claim = session.and_then(|session| self.0.get(session)?.get(&id)).into_iter().flatten();
        of_claim.filter(move |((to, _), _)| to == agent).map(|((_, matched), seq)| (matched, *seq))
    }
}
