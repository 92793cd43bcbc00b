//! The guards in force, their silences, and the ones that spoke in the turn of each session.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::domain::action::Kind;
use crate::domain::event::{Event, ExperimentQueued, Guard, Recorded};
use crate::domain::experiment::ProfileName;
use crate::domain::guard::{Mute, Rule, Subject};
use crate::domain::ids::{GuardId, IdempotencyKey, RunId, SessionId};
use crate::domain::session::Role;
use crate::domain::time::Timestamp;

/// The accepted guards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guards {
    rules: BTreeMap<GuardId, Rule>,
    mutes: BTreeMap<Uuid, Vec<Mute>>,
    /// The guards that spoke in the current turn of a session.
    spoke: BTreeMap<SessionId, BTreeSet<GuardId>>,
    /// The runs that guards asked for.
    runs: BTreeMap<IdempotencyKey, RunId>,
}

impl Guards {
    pub(super) fn evolve(&mut self, recorded: &Recorded) {
        let Some(event) = &recorded.event else { return };
        if let Event::GuardAccepted(accepted) = event {
            let rule = Rule {
                id: accepted.guard_id,
                condition: accepted.condition.clone(),
                effect: accepted.action,
                text: accepted.text.clone(),
                claim_id: accepted.source_claim,
                until: accepted.until,
                profile: accepted.profile.clone(),
            };
            self.rules.insert(rule.id, rule);
        } else if let Event::ExperimentQueued(ExperimentQueued { run_id, guard_key: Some(key), .. }) = event {
            self.runs.insert(key.clone(), *run_id);
        } else if let Event::GuardMuted(muted) = event {
            let mute = Mute { scope: muted.scope.clone(), until: muted.until };
            self.mutes.entry(muted.guard.uuid()).or_default().push(mute);
        } else if let (Event::GuardFired(fired), Some(session)) = (event, &recorded.session) {
            if let Guard::Rule(id) = fired.guard {
                self.spoke.entry(session.clone()).or_default().insert(id);
            }
        } else if let Some(session) = &recorded.session {
            let is_prompt = matches!(event, Event::TurnRecorded(turn) if turn.role == Role::User);
            if is_prompt || matches!(event, Event::SessionEnded(_)) {
                self.spoke.remove(session);
            }
        }
    }

    /// The guard with this id, in force or not.
    pub fn rule(&self, id: GuardId) -> Option<&Rule> {
        self.rules.get(&id)
    }

    /// The profiles that guards name, those of guards that are over too.
    pub fn profiles(&self) -> BTreeSet<&ProfileName> {
        self.rules.values().filter_map(|rule| rule.profile.as_ref()).collect()
    }

    /// The run that a guard asked for under this key.
    pub fn run_of(&self, key: &IdempotencyKey) -> Option<RunId> {
        self.runs.get(key).copied()
    }

    /// The number of guards that spoke in the current turn of a session.
    pub fn spoken(&self, session: Option<&SessionId>) -> usize {
        session.and_then(|session| self.spoke.get(session)).map_or(0, BTreeSet::len)
    }

    /// Whether a guard spoke in the current turn of a session.
    pub fn has_spoken(&self, session: Option<&SessionId>, guard: GuardId) -> bool {
        session.and_then(|session| self.spoke.get(session)).is_some_and(|spoke| spoke.contains(&guard))
    }

    /// The guards that a write meets, oldest first.
    pub fn met<'a>(
        &'a self,
        subject: &'a Subject,
        now: Timestamp,
    ) -> impl Iterator<Item = (&'a Rule, String)> {
        self.rules.values().filter_map(move |rule| {
            let is_over = rule.until.is_some_and(|until| until <= now);
            if is_over {
                return None;
            }
            let (kind, met) = rule.condition.met(subject).ok()?;
            (!self.is_muted(rule.id.uuid(), kind, subject, now)).then_some((rule, met))
        })
    }

    fn is_muted(&self, guard: Uuid, kind: Kind, subject: &Subject, now: Timestamp) -> bool {
        self.mutes.get(&guard).is_some_and(|mutes| mutes.iter().any(|mute| mute.silences(kind, subject, now)))
    }
}
