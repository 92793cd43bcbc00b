//! Which claims silence may still confirm.

use super::State;
use crate::domain::agent::AgentId;
use crate::domain::claim::{Override, Position, Status};
use crate::domain::event::{OverrideProposed, PositionTaken, StatusChanged};
use crate::domain::ids::ClaimId;
use crate::domain::time::Timestamp;

impl State {
    /// Proposed claims whose time for objections is over at `now`, the oldest first.
    pub fn silent(&self, now: Timestamp) -> Vec<ClaimId> {
        let over = self.silences.iter().take_while(|(at, _)| *at <= now).map(|(_, id)| *id);
        over.filter(|id| self.claims.get(id).is_some_and(|claim| claim.status == Status::Proposed)).collect()
    }

    /// An objection of an agent that was asked, or of any agent where none was named, ends the silence for good.
    pub(super) fn hear_of_position(&mut self, agent: &AgentId, taken: &PositionTaken) {
        if taken.position == Position::Challenge && !taken.still {
            let names: Vec<&AgentId> = taken.speaks_for(agent).collect();
            self.object(taken.claim_id, &names);
        }
    }

    /// Where the operator stands by a claim, an objection is a proposal.
    pub(super) fn hear_of_proposal(&mut self, agent: &AgentId, proposed: &OverrideProposed) {
        if proposed.asks == Override::Challenge {
            let names: Vec<&AgentId> = proposed.formerly.iter().chain([agent]).collect();
            self.object(proposed.claim_id, &names);
        }
    }

    /// `names` are what the pane that objects is called now, and was before.
    fn object(&mut self, id: ClaimId, names: &[&AgentId]) {
        let Some(claim) = self.claims.get(&id) else { return };
        if claim.asks.is_empty() || names.iter().any(|name| claim.asks.contains(*name)) {
            self.end_silence(id);
        }
    }

    /// A run or a deprecation decides in the place of silence. So does every move after the time for objections.
    pub(super) fn hear_of_move(&mut self, change: &StatusChanged, at: Timestamp) {
        let Some(claim) = self.claims.get_mut(&change.claim_id) else { return };
        claim.by_silence = change.by_silence || (claim.by_silence && change.to == Status::Confirmed);
        let is_late = claim.silent_at.is_some_and(|until| until <= at);
        if is_late || change.to == Status::Deprecated || change.from == Status::PendingProof {
            self.end_silence(change.claim_id);
        }
    }

    fn end_silence(&mut self, id: ClaimId) {
        if let Some(at) = self.claims.get_mut(&id).and_then(|claim| claim.silent_at.take()) {
            self.silences.remove(&(at, id));
        }
    }
}
