//! Decisions in force, open contradictions, and proposals against claims of the operator.

use super::{DecisionInForce, Proposal, State};
use crate::domain::claim::{ContradictionKind, Override, Resolution};
use crate::domain::event::{
    ContradictionDetected, ContradictionResolved, DecisionRecorded, OverrideProposed, Recorded,
};

impl State {
    /// A claim was recorded as a decision. Without its claim, a decision could never be replaced. So it is not in force.
    pub(super) fn decide(&mut self, decision: &DecisionRecorded) {
        if !self.claims.contains_key(&decision.claim_id) {
            return;
        }
        // It is decided: nobody needs to decide it any more.
        if let Some(open) = self.proposals.get_mut(&decision.claim_id) {
            open.retain(|open| open.asks != Override::Decide);
        }
        if let Some(target) = &decision.target {
            self.targets.entry(target.clone()).or_insert_with(|| target.clone());
            self.by_target.entry(target.clone()).or_default().insert(decision.claim_id);
        }
        let (target, named) = (decision.target.clone(), decision.target.clone());
        self.decisions.insert(decision.claim_id, DecisionInForce { target, outcome: None, named });
    }

    /// Two sides contradict each other. Without the claim of a side, a contradiction could never end. So it is not opened.
    pub(super) fn detect(&mut self, recorded: &Recorded, detected: &ContradictionDetected) {
        if [&detected.left, &detected.right].iter().any(|side| !self.claims.contains_key(&side.claim_id)) {
            return;
        }
        for side in [&detected.left, &detected.right] {
            self.open_of.entry(side.claim_id).or_default().insert(recorded.seq);
        }
        let ContradictionDetected { kind, left, right, .. } = detected.clone();
        self.reported.insert((kind, left, right), recorded.seq);
        self.open.insert(recorded.seq, detected.clone());
    }

    /// A contradiction is no more.
    pub(super) fn resolve(&mut self, resolved: &ContradictionResolved) {
        let key = (resolved.kind, resolved.left.clone(), resolved.right.clone());
        let Some(seq) = self.reported.get(&key).copied() else { return };
        let seq = &seq;
        // After these resolutions the same contradiction may open again: when the targets are joined again, the
        // claims are linked again, or the agent challenges again.
        if matches!(resolved.cause, Resolution::Parted | Resolution::Retracted)
            || resolved.kind == ContradictionKind::Position
        {
            self.reported.remove(&key);
        }
        self.open.remove(seq);
        for side in [&resolved.left, &resolved.right] {
            if let Some(open) = self.open_of.get_mut(&side.claim_id) {
                open.remove(seq);
                if open.is_empty() {
                    self.open_of.remove(&side.claim_id);
                }
            }
        }
    }

    /// An agent proposed something against a claim of the operator.
    pub(super) fn propose(&mut self, recorded: &Recorded, proposed: &OverrideProposed) {
        if self.claims.contains_key(&proposed.claim_id) {
            self.hear_of_proposal(&recorded.agent, proposed);
            let proposal = Proposal::of(&recorded.agent, proposed);
            self.proposals.entry(proposed.claim_id).or_default().insert(proposal);
        }
    }
}
