//! The events since a session was told, by what they are about.

use std::collections::BTreeMap;

use super::Known;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{ReportKind, Status};
use crate::domain::event::Event;
use crate::domain::ids::{ClaimId, RunId};
use crate::domain::scope::Scope;
use crate::ledger;
use crate::pack::{About, Concern, Waiting};
use crate::views::context::ContextOf;

/// What happened that the session was not told, by what it is about.
pub(super) struct Happened {
    pub(super) waiting: BTreeMap<About, Waiting>,
    /// What the session opened or took a position on, and as of when.
    pub(super) opened: BTreeMap<String, u64>,
    /// Why a claim has its status, where that is among what is looked at now.
    pub(super) reasons: BTreeMap<ClaimId, String>,
}

impl Happened {
    pub(super) fn of(known: &Known) -> Self {
        // Which locks ended is looked at anew each time.
        let waiting = known.told.waiting.iter().filter(|it| !matches!(it.about, About::Unlocked(_)));
        let waiting = waiting.map(|waiting| (waiting.about.clone(), waiting.clone()));
        Self { waiting: waiting.collect(), opened: known.opened.clone(), reasons: BTreeMap::new() }
    }

    pub(super) fn about(&mut self, about: About, seq: u64) -> &mut Waiting {
        let waiting = self.waiting.entry(about.clone()).or_insert_with(|| Waiting::new(about, seq));
        waiting.seq = waiting.seq.max(seq);
        waiting
    }

    pub(super) fn note(&mut self, event: &Event, stored: &ledger::Stored, of: &ContextOf) {
        let seq = stored.seq;
        let session = stored.session.as_ref().map(|session| session.as_str());
        // The end of a run is news to the session that asked for it.
        if let Event::ExperimentCompleted(completed) = event {
            self.about(About::Run(completed.run_id), seq);
            return;
        }
        let is_own = match &of.session {
            Some(own) => session == Some(own.as_str()),
            None => stored.agent == of.agent,
        };
        // An agent knows what it did to a claim, in whichever of its sessions.
        if is_own || stored.agent == of.agent {
            if let Event::PositionTaken(taken) = event {
                self.opened.insert(taken.claim_id.to_string(), seq);
            } else if let Event::StatusChanged(change) = event
                && change.to == Status::Deprecated
            {
                self.opened.insert(change.claim_id.to_string(), seq);
            }
        }
        if is_own {
            return;
        }
        if let Event::ClaimCreated(created) = event {
            let claim = self.about(About::Claim(created.claim_id), seq);
            if created.tells.contains(&of.agent) {
                claim.concern = Concern::Touches;
            }
            if created.asks.contains(&of.agent) {
                self.about(About::Question(created.claim_id), seq);
            }
        } else if let Event::ClaimSuperseded(link) = event {
            if link.asks.contains(&of.agent) {
                self.about(About::Question(link.superseded_by), seq);
            }
        } else if let Event::PositionTaken(taken) = event
            && taken.asks.contains(&of.agent)
        {
            self.about(About::Question(taken.claim_id), seq);
        } else if let Event::StatusChanged(change) = event {
            let about = About::Claim(change.claim_id);
            let is_first = !self.waiting.contains_key(&about);
            self.reasons.insert(change.claim_id, change.reason.to_string());
            let waiting = self.about(about, seq);
            if is_first {
                waiting.was = Some(change.from);
            }
        } else if let Event::EvidenceAdded(added) = event {
            // A run may be tied to a claim after its end. One that was only recorded has the id of that event.
            let recorded = RunId::from_uuid(added.evidence_ref.uuid());
            self.about(About::Run(added.run.as_ref().map_or(recorded, |run| run.run_id)), seq);
        } else if let Event::ContradictionDetected(_) = event {
            self.about(About::Contradiction(stored.id), seq);
        } else if let Event::IntentDeclared(declared) = event {
            if !declared.own {
                self.about(About::Intent, seq);
            }
        } else if let Event::AnchorSaved(saved) = event {
            self.about(About::Anchor(saved.key.clone()), seq);
        } else if let Event::ScopesLocked(locked) = event {
            self.about(About::Locks(locked.session.clone()), seq);
        } else if let Event::SessionStarted(_) = event {
            if stored.agent != of.agent {
                self.about(About::Peer(stored.agent.clone()), seq);
            }
        } else if let Event::FileEdited(edited) = event {
            if let Some(branch) = edited.merged.clone() {
                let (agent, worktree) = (stored.agent.clone(), edited.checkout.worktree.clone());
                let merged = self.about(About::Merged { agent, worktree, branch }, seq);
                merged.paths.extend(edited.paths.iter().cloned());
            } else {
                self.edited(&edited.paths, &edited.checkout, stored);
            }
        } else if let Event::CommitSeen(commit) = event {
            self.about(About::Commit(stored.id), seq).paths.extend(commit.files.iter().cloned());
        } else if let Event::EventReported(reported) = event {
            if reported.kind == ReportKind::FileEdited {
                self.edited(&reported.paths, &reported.checkout, stored);
            }
        } else if let Event::TaskAdded(_) | Event::TaskClaimed(_) | Event::TaskReleased(_) = event {
            self.waiting_task(event, seq);
        } else if let Event::TaskUpdated(updated) = event
            && updated.from != updated.to
        {
            self.waiting_task(event, seq);
        }
    }

    pub(super) fn waiting_task(&mut self, event: &Event, seq: u64) {
        if let Some(task) = event.task_id() {
            self.about(About::Task(task), seq).is_new |= matches!(event, Event::TaskAdded(_));
        }
    }

    pub(super) fn edited(&mut self, paths: &[Scope], checkout: &Checkout, stored: &ledger::Stored) {
        let about = About::Edits { agent: stored.agent.clone(), worktree: checkout.worktree.clone() };
        self.about(about, stored.seq).paths.extend(paths.iter().cloned());
    }
}
