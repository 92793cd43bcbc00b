//! The fold: one arm for each type of event.

use super::{Deed, State};
use crate::domain::action::makes_commits;
use crate::domain::agent::AgentId;
use crate::domain::claim::Share;
use crate::domain::decide::Policy;
use crate::domain::event::{CommandRan, ErrorCounted, Event, PolicyChanged, Recorded};
use crate::domain::names::Named;
use crate::domain::reflection::Cause;

/// Number of commands of a session among which evidence is found by a word.
const MAX_COMMANDS: usize = 40;

impl State {
    /// Folds one event. An erased event has no payload: its id becomes known, and nothing else changes.
    pub fn evolve(&mut self, recorded: &Recorded) {
        self.fold(recorded);
        self.touch(recorded);
        let mut patterns = std::mem::take(&mut self.patterns);
        patterns.evolve(self, recorded);
        self.patterns = patterns;
    }

    fn fold(&mut self, recorded: &Recorded) {
        self.events.insert(recorded.id, recorded.seq);
        self.last_seen.insert(recorded.agent.clone(), recorded.at);
        self.work.evolve(recorded);
        self.edits.evolve(recorded);
        self.seats.evolve(recorded);
        self.guards.evolve(recorded);
        self.spaces.evolve(recorded);
        self.claims_made += u64::from(Named::of(recorded) == Some(Named::Claim));
        self.hear(recorded);
        let Some(event) = &recorded.event else { return };
        self.mined.evolve(recorded, event);
        match event {
            Event::ClaimCreated(created) => self.add_claim(recorded, created),
            Event::StatusChanged(change) => self.move_claim(recorded, change),
            Event::ClaimSuperseded(link) => self.supersede(link),
            Event::PositionTaken(taken) => self.take_position(recorded, taken),
            Event::EvidenceAdded(added) => self.tie(recorded, added),
            Event::EvidenceRetracted(retracted) => self.untie(retracted),
            Event::DecisionRecorded(decision) => self.decide(decision),
            Event::OutcomeRecorded(recorded) => {
                if let Some(decision) = self.decisions.get_mut(&recorded.claim_id) {
                    decision.outcome = Some(recorded.outcome);
                }
            }
            Event::ContradictionDetected(detected) => self.detect(recorded, detected),
            Event::ContradictionResolved(resolved) => self.resolve(resolved),
            Event::TargetAliased(joined) => self.join(joined),
            Event::TargetParted(parted) => self.part(parted),
            Event::OverrideProposed(proposed) => self.propose(recorded, proposed),
            Event::OverrideDismissed(dismissed) => {
                self.proposals.remove(&dismissed.claim_id);
            }
            Event::ExperimentQueued(queued) => self.queue(recorded, queued),
            Event::ExperimentStarted(started) => self.start(recorded, started),
            Event::ExperimentCancelRequested(cancel) => {
                self.to_cancel.insert(cancel.run_id);
            }
            Event::ExperimentCompleted(completed) => self.complete(recorded, completed),
            Event::ResearcherSpawned(spawned) => self.send_researcher(spawned),
            Event::EventRedacted(redaction) => {
                self.redacted.insert(redaction.event_id, recorded.seq);
            }
            Event::EventsRedacted(redaction) => {
                let erased = self.events.iter().filter(|(_, seq)| redaction.holds(**seq));
                self.redacted.extend(erased.map(|(id, _)| (*id, recorded.seq)));
            }
            Event::ToolUsed(_) => {
                self.observed.insert(recorded.id, Deed::Tool);
            }
            Event::FileEdited(edited) => {
                self.observed.insert(recorded.id, Deed::Files(edited.paths.clone()));
            }
            Event::CommandRan(ran) => self.observe(recorded, ran),
            Event::ErrorCounted(counted) => self.weigh_hypotheses(counted),
            // `work` or `mined` has folded these events.
            Event::LossAccepted(_)
            | Event::PlanAdded(_)
            | Event::PhaseAdded(_)
            | Event::TaskAdded(_)
            | Event::TaskClaimed(_)
            | Event::TaskReleased(_)
            | Event::ScopesLocked(_)
            | Event::ScopesReleased(_)
            | Event::TaskUpdated(_)
            | Event::IntentDeclared(_)
            | Event::SessionStarted(_)
            | Event::SessionEnded(_)
            | Event::AgentSeated(_)
            | Event::SessionSplit(_)
            | Event::Turn0Continued(_)
            | Event::AnchorSaved(_)
            | Event::AnchorRetired(_)
            | Event::PlanAbandoned(_)
            | Event::PlanRenamed(_)
            | Event::PlaybookProposed(_)
            | Event::PlaybookAccepted(_)
            | Event::PlaybookDismissed(_)
            | Event::PlaybookFollowed(_)
            | Event::ErrorReflected(_)
            | Event::MergeProposed(_)
            | Event::MergeAccepted(_)
            | Event::MergeDeclined(_) => {}
            Event::PolicyChanged(changed) => self.change_policy(recorded, changed),
            Event::CommandRejected(rejected) => {
                self.notices.insert(rejected.command_id.uuid(), recorded.agent.clone());
            }
            Event::AttentionSeen(seen) => {
                self.notices.remove(&seen.id);
            }
            Event::GuardFired(fired) => self.told.evolve(recorded, fired),
            // `spaces` has folded these events.
            Event::MemoryPromoted(_) | Event::PhaseStarted(_) => {}
            // `guards` has folded these events.
            Event::GuardAccepted(_) | Event::GuardMuted(_) => {}
            // `edits` has folded it.
            Event::CommitSeen(_)
            | Event::PlaceCited(_)
            | Event::EventReported(_)
            | Event::SpoolFlushed(_)
            | Event::MemoryDenied(_)
            | Event::BorderChecked(_)
            | Event::PromotionDenied(_)
            // The change of status that follows it ends the claim.
            | Event::MemoryForgotten(_)
            | Event::MemoryRecalled(_)
            | Event::TurnRecorded(_)
            | Event::BeliefsSnapshotted(_)
            | Event::MessageSent(_)
            | Event::OperatorOverridden(_)
            // `patterns` folds these events.
            | Event::PatternOpened(_)
            | Event::PatternClosed(_)
            | Event::PatternDismissed(_) => {}
        }
    }

    /// A hook saw a command run.
    fn observe(&mut self, recorded: &Recorded, ran: &CommandRan) {
        let deed = Deed::of(ran);
        if makes_commits(ran.command.as_str()) {
            self.committed_seq = recorded.seq;
        }
        if let Some(session) = recorded.session.as_ref().filter(|_| deed.shows_something()) {
            self.last_done.insert(session.clone(), (recorded.seq, recorded.id));
            let done = self.commands.entry(session.clone()).or_default();
            done.push_back(recorded.id);
            if done.len() > MAX_COMMANDS {
                done.pop_front();
            }
        }
        self.observed.insert(recorded.id, deed);
    }

    /// Later events changed the confidence in both hypotheses about an error.
    fn weigh_hypotheses(&mut self, counted: &ErrorCounted) {
        let Some(known) = self.mined.reflection(counted.error.as_str()) else { return };
        let ids = [Cause::Structural, Cause::Environmental].map(|cause| (cause, known.of(cause)));
        for (cause, id) in ids {
            if let (Some(claim), Ok(share)) =
                (self.claims.get_mut(&id), Share::try_from(counted.counts.confidence(cause)))
            {
                claim.confidence = share;
            }
        }
    }

    /// The rules of the team changed.
    fn change_policy(&mut self, recorded: &Recorded, changed: &PolicyChanged) {
        let agents_may_override_operator = changed.agents_may_override_operator;
        self.policy = Policy { quorum: changed.quorum, agents_may_override_operator, ..Policy::default() };
        if changed.memory.is_some() {
            self.memory_rules.clone_from(&changed.memory);
        }
        self.notices.insert(recorded.id.uuid(), AgentId::operator());
    }
}
