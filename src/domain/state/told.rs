//! The claims that receipts and hooks have shown to each session, so that each is shown once.

use std::collections::BTreeMap;

use crate::domain::agent::AgentId;
use crate::domain::event::{Guard, GuardFired, Recorded};
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::text::CommandLine;

/// The informed agent, and the text that matched.
type To = (AgentId, CommandLine);

/// The claims shown in each session. Each agent and match has the ledger position of the last warning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Told(BTreeMap<SessionId, BTreeMap<ClaimId, BTreeMap<To, u64>>>);

impl Told {
    /// Folds a warning.
    pub(super) fn evolve(&mut self, recorded: &Recorded, fired: &GuardFired) {
        let (Some(session), Guard::Claim(id)) = (&recorded.session, fired.guard) else { return };
        let of_claim = self.0.entry(session.clone()).or_default().entry(id).or_default();
        of_claim.insert((recorded.agent.clone(), fired.matched.clone()), recorded.seq);
    }

    /// The warnings about a claim that an agent got in a session: the match and the ledger position of each.
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
