//! The claims that silence may still confirm.

use std::collections::BTreeSet;

use super::{Claim, State};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Override, Position, ReportKind, Status};
use crate::domain::event::{
    ClaimCreated, Event, EventReported, FileEdited, OverrideProposed, PositionTaken, Recorded, StatusChanged,
};
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::names::{Name, Named, names_it};
use crate::domain::scope::Scope;
use crate::domain::seat::FREE_AFTER;
use crate::domain::time::Timestamp;
use crate::domain::versions::{Versions, differ};

/// The facts since a claim set a time for objections.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::domain) struct Heard {
    until: Timestamp,
    /// The other agents with an open session or an event before the end of that time.
    there: BTreeSet<AgentId>,
    /// Versions of the claim's files when it was made, or when its owner last confirmed that it is still meant.
    versions: Versions,
    /// The scope whose files changed since, and the agent that changed them or saw the change.
    changed: Option<(Scope, AgentId)>,
    /// The claim's short name.
    name: Name,
    /// The last claim with which an agent that may object answered, and that agent.
    answered: Option<(ClaimId, AgentId)>,
}

impl Heard {
    /// Whether the agent could have objected.
    pub(in crate::domain) fn was_there(&self, agent: &AgentId) -> bool {
        self.there.contains(agent)
    }

    /// Whether no other agent could have objected. A command of the operator shows a human at a terminal, or a script that
    /// says so, and no agent that reads.
    pub(in crate::domain) fn was_alone(&self) -> bool {
        self.there.iter().all(AgentId::is_reserved)
    }

    /// Whether a statement is an answer: that of an agent who was asked names the claim, and any other says so.
    fn is_answered(&self, claim: &Claim, agent: &AgentId, statement: &str) -> bool {
        let is_asked = claim.asks.contains(agent) && names_it(statement, self.name);
        is_asked || claim.asks.is_empty() && statement.contains(&format!("(answers {})", self.name))
    }

    /// The claim with which an agent answered, and that agent.
    pub(in crate::domain) const fn answered(&self) -> Option<&(ClaimId, AgentId)> {
        self.answered.as_ref()
    }

    /// The scope whose files changed, and the agent that reports the change.
    pub(in crate::domain) const fn changed(&self) -> Option<&(Scope, AgentId)> {
        self.changed.as_ref()
    }
}

impl State {
    /// The facts since a claim set a time for objections. None after the end of its silence.
    pub(in crate::domain) fn heard_of(&self, id: ClaimId) -> Option<&Heard> {
        self.heard.get(&id)
    }

    /// The claims that wait for objections of this speaker and are named in a statement, with their names.
    pub(in crate::domain) fn answers<'s>(
        &'s self,
        statement: &'s str,
        speaker: (&'s AgentId, Option<&'s SessionId>),
    ) -> impl Iterator<Item = Name> + 's {
        let waiting = self.heard.iter().filter(move |(id, heard)| {
            let Some(claim) = self.claims.get(*id).filter(|claim| claim.status == Status::Proposed) else {
                return false;
            };
            self.is_another((&claim.owner, claim.session.as_ref()), speaker)
                && heard.is_answered(claim, speaker.0, statement)
        });
        waiting.map(|(_, heard)| heard.name)
    }

    /// Starts the time for objections to a claim.
    pub(super) fn ask_for_objections(&mut self, recorded: &Recorded, created: &ClaimCreated) {
        let Some(until) = created.objection_until else { return };
        let asker = (&recorded.agent, recorded.session.as_ref());
        let is_open = |at: Timestamp| at.is_within(FREE_AFTER, recorded.at);
        let panes = self.seats.panes().filter(|(_, pane)| !pane.open.is_empty() && is_open(pane.last_seen));
        let there = panes.filter(|(first, pane)| self.is_another(asker, (&pane.agent, Some(first))));
        let there = there.map(|(_, pane)| pane.agent.clone()).collect();
        let name = Name { of: Named::Claim, number: self.claims_made };
        let versions = created.versions.clone();
        let heard = Heard { until, there, versions, changed: None, name, answered: None };
        self.heard.insert(created.claim_id, heard);
    }

    /// Whether a speaker is another agent than the asker, in another pane.
    fn is_another(
        &self,
        (asker, asked_in): (&AgentId, Option<&SessionId>),
        (agent, session): (&AgentId, Option<&SessionId>),
    ) -> bool {
        agent != asker
            && *agent != AgentId::system()
            && !self.seats.are_one_party((asker, asked_in), (agent, session))
    }

    /// Records the agents that are present while a claim waits for objections, and the changes of its files.
    pub(super) fn hear(&mut self, recorded: &Recorded) {
        if self.heard.is_empty() || recorded.agent == AgentId::system() {
            return;
        }
        let edited: &[Scope] = match &recorded.event {
            Some(Event::FileEdited(FileEdited { paths, .. })) => paths,
            Some(Event::EventReported(EventReported { kind: ReportKind::FileEdited, paths, .. })) => paths,
            _ => &[],
        };
        let mut all = std::mem::take(&mut self.heard);
        for (id, heard) in &mut all {
            let Some(claim) = self.claims.get(id) else { continue };
            let asker = (&claim.owner, claim.session.as_ref());
            let is_another = self.is_another(asker, (&recorded.agent, recorded.session.as_ref()));
            // The writer acts for agents without a session, for example at the end of a run. Such an event shows no
            // presence.
            if is_another && recorded.session.is_some() && recorded.at <= heard.until {
                heard.there.insert(recorded.agent.clone());
            }
            if let Some(Event::ClaimCreated(created)) = &recorded.event
                && is_another
                && heard.is_answered(claim, &recorded.agent, created.statement.as_str())
            {
                heard.answered = Some((created.claim_id, recorded.agent.clone()));
            }
            // The owner of a decision edits the files to carry it out.
            let is_its_doing = claim.claim_type == ClaimType::Decision && !is_another;
            let is_edited = |scope: &&Scope| edited.iter().any(|path| path.is_path() && scope.covers(path));
            let scope = claim.scopes.iter().filter(|scope| scope.is_path()).find(is_edited);
            if let Some(scope) = scope.filter(|_| !is_its_doing) {
                heard.changed = Some((scope.clone(), recorded.agent.clone()));
            }
            if let Some(Event::PositionTaken(taken)) = &recorded.event
                && taken.claim_id == *id
            {
                // A position says more than the answer before it.
                heard.answered.take_if(|(_, by)| *by == recorded.agent && !taken.still);
                if taken.still {
                    heard.versions.clone_from(&taken.versions);
                    heard.changed = None;
                } else if differ(&heard.versions, &taken.versions) {
                    let other = |scope: &&Scope| taken.versions.get(*scope) != heard.versions.get(*scope);
                    let scope = taken.versions.keys().find(other);
                    heard.changed = scope.map(|scope| (scope.clone(), recorded.agent.clone()));
                }
            }
        }
        self.heard = all;
    }

    /// Proposed claims whose time for objections is over at `now`, the oldest first.
    pub fn silent(&self, now: Timestamp) -> Vec<ClaimId> {
        let over = self.silences.iter().take_while(|(at, _)| *at <= now).map(|(_, id)| *id);
        over.filter(|id| self.claims.get(id).is_some_and(|claim| claim.status == Status::Proposed)).collect()
    }

    /// An objection ends the silence for good. If the claim asked named agents, only their objections count.
    pub(super) fn hear_of_position(&mut self, agent: &AgentId, taken: &PositionTaken) {
        if taken.position == Position::Challenge && !taken.still {
            let names: Vec<&AgentId> = taken.speaks_for(agent).collect();
            self.object(taken.claim_id, &names);
        }
    }

    /// An objection to a claim of the operator is a proposal.
    pub(super) fn hear_of_proposal(&mut self, agent: &AgentId, proposed: &OverrideProposed) {
        if proposed.asks == Override::Challenge {
            let names: Vec<&AgentId> = proposed.formerly.iter().chain([agent]).collect();
            self.object(proposed.claim_id, &names);
        }
    }

    /// `names` are the current and former names of the objecting pane.
    fn object(&mut self, id: ClaimId, names: &[&AgentId]) {
        let Some(claim) = self.claims.get(&id) else { return };
        if claim.asks.is_empty() || names.iter().any(|name| claim.asks.contains(*name)) {
            self.end_silence(id);
        }
    }

    /// A run or a deprecation decides instead of silence. So does every change of status after the time for objections.
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
        self.heard.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::State;
    use crate::domain::agent::AgentId;
    use crate::domain::event::{Event, Recorded};
    use crate::domain::ids::{ClaimId, CommandId, EventId};
    use crate::domain::time::Timestamp;

    fn at(seq: u64, (agent, session): (&str, Option<&str>), kind: &str, payload: &Value) -> Recorded {
        Recorded {
            seq,
            id: EventId::from_uuid(Uuid::from_u128(u128::from(seq))),
            agent: AgentId::recorded(agent),
            session: session.map(|session| session.parse().expect("a session")),
            causation: CommandId::from_uuid(Uuid::from_u128(u128::from(seq))),
            at: Timestamp::from_ms(seq as i64 * 1_000),
            event: Some(Event::decode(kind, &payload.to_string()).expect("an event")),
            erased: None,
        }
    }

    /// Red before: only an edit of the scope itself counted, and a directory itself is never edited.
    #[test]
    fn an_edit_below_a_directory_of_the_claim_is_heard() {
        for (path, is_heard) in [("src/a.rs", true), ("tests/a.rs", false)] {
            let made = json!({
                "claim_id": Uuid::from_u128(1).to_string(), "statement": "I build it with a heap",
                "claim_type": "fact", "scopes": ["src"], "confidence": 1.0, "objection_until": 60_000,
            });
            let edit = json!({ "kind": "file_edited", "summary": "tried it", "paths": [path] });
            let mut state = State::default();
            state.evolve(&at(1, ("devops", Some("s-1")), "claim.created", &made));
            state.evolve(&at(2, ("reviewer", Some("s-2")), "event.reported", &edit));
            let heard = state.heard_of(ClaimId::from_uuid(Uuid::from_u128(1))).expect("it waits");
            assert_eq!(heard.changed().is_some(), is_heard, "{path}");
        }
    }

    /// Red before: the writer records the end of a run under the agent that requested it. This counted as presence.
    #[test]
    fn what_the_writer_does_for_an_agent_does_not_show_that_it_is_there() {
        let id = |number: u128| Uuid::from_u128(number).to_string();
        let made = json!({
            "claim_id": id(1), "statement": "I build it with a heap", "claim_type": "fact", "scopes": ["src"],
            "confidence": 1.0, "objection_until": 60_000,
        });
        let ended = json!({ "run_id": id(9), "command": "true", "state": "succeeded" });
        let note = json!({ "kind": "note", "summary": "I am here", "paths": [] });
        let claim = ClaimId::from_uuid(Uuid::from_u128(1));
        let mut state = State::default();
        state.evolve(&at(1, ("devops", Some("s-1")), "claim.created", &made));
        state.evolve(&at(2, ("reviewer", None), "experiment.completed", &ended));
        assert!(state.heard_of(claim).expect("it waits").was_alone());
        state.evolve(&at(3, ("reviewer", Some("s-2")), "event.reported", &note));
        assert!(state.heard_of(claim).expect("it waits").was_there(&AgentId::recorded("reviewer")));
    }
}
