//! The panes: the sessions of each pane, and its agent.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::agent::AgentId;
use crate::domain::event::{AgentSeated, Event, Recorded};
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::session::EndCause;
use crate::domain::time::Timestamp;

/// A pane: a session, and the sessions that continue it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane {
    /// The agent of the pane.
    pub agent: AgentId,
    /// Its sessions that have not ended.
    pub open: BTreeSet<SessionId>,
    /// The time of the last event in one of its sessions.
    pub last_seen: Timestamp,
    /// Whether the pane took a seat. The front named the agent of any other pane.
    pub is_seated: bool,
    /// All seats that the pane has taken.
    pub names: BTreeSet<AgentId>,
    /// Challenges of former panes that came with a seat: name, claim, and the session of the challenge.
    took_over: BTreeSet<(AgentId, ClaimId, SessionId)>,
}

/// All panes, by their first session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seats {
    panes: BTreeMap<SessionId, Pane>,
    /// The first session of the pane, for each session that continues another one.
    first_of: BTreeMap<SessionId, SessionId>,
    /// The last pane that took each seat.
    holders: BTreeMap<AgentId, SessionId>,
    /// Seats that their pane has left. No event has been recorded under these names since.
    left: BTreeSet<AgentId>,
    /// Sessions with an event.
    heard: BTreeSet<SessionId>,
    /// The first session of another pane, for each pane whose client was in a session of that other one.
    joined: BTreeMap<SessionId, SessionId>,
    /// The sessions of researchers that an agent's session started. They count as one agent with it.
    researchers: BTreeSet<SessionId>,
    /// The agents with which a session counts as one by their name alone: a front named the agent that started this
    /// researcher, or that spoke in the same client. Such an agent may speak in any session.
    named: BTreeMap<SessionId, BTreeSet<AgentId>>,
}

impl Seats {
    /// The first session of the pane to which a session belongs.
    pub fn first<'a>(&'a self, session: &'a SessionId) -> &'a SessionId {
        self.first_of.get(session).unwrap_or(session)
    }

    /// The same for all sessions of one pane, and of panes that count as one agent.
    fn root<'a>(&'a self, session: &'a SessionId) -> &'a SessionId {
        let mut root = self.first(session);
        while let Some(next) = self.joined.get(root) {
            root = next;
        }
        root
    }

    /// The pane to which a session belongs.
    pub fn pane(&self, session: &SessionId) -> Option<&Pane> {
        self.panes.get(self.first(session))
    }

    /// Whether a session has an event.
    pub fn knows(&self, session: &SessionId) -> bool {
        self.heard.contains(session) || self.pane(session).is_some()
    }

    /// All panes with their first sessions.
    pub fn panes(&self) -> impl Iterator<Item = (&SessionId, &Pane)> {
        self.panes.iter()
    }

    /// Whether the pane of this session was the last one to take its seat.
    pub fn still_holds(&self, session: &SessionId) -> bool {
        let first = self.first(session);
        self.panes.get(first).is_some_and(|pane| self.holders.get(&pane.agent) == Some(first))
    }

    /// Whether the pane of this session, or a pane that counts as one agent with it, was the last one to take the seat
    /// `agent`.
    pub fn sits_as(&self, session: &SessionId, agent: &AgentId) -> bool {
        self.holders.get(agent).is_some_and(|holder| self.root(holder) == self.root(session))
    }

    /// Whether the pane of a seat has left it: the pane has another agent now, or all of its sessions ended. No other
    /// pane has the name, and no event has been recorded under it since. A name that is not a seat is never empty.
    pub fn is_empty(&self, agent: &AgentId) -> bool {
        let is_there = |pane: &Pane| pane.agent == *agent && !pane.open.is_empty();
        self.left.contains(agent) && !self.panes.values().any(is_there)
    }

    /// All seats that the pane of a session has taken. None if the front named the pane's agent.
    pub fn names(&self, session: Option<&SessionId>) -> impl Iterator<Item = &AgentId> {
        session.and_then(|session| self.pane(session)).into_iter().flat_map(|pane| &pane.names)
    }

    /// Whether two sessions belong to one pane. If the front always named the agent of a session, the session is a pane
    /// of its own, and only the name identifies the speaker.
    pub fn are_one_pane(&self, one: Option<&SessionId>, other: Option<&SessionId>) -> bool {
        let (Some(one), Some(other)) = (one, other) else { return false };
        self.first(one) == self.first(other) && self.pane(one).is_some_and(|pane| pane.is_seated)
    }

    /// Whether two sessions count as one agent: they belong to one pane, one client was in sessions of both panes, or one
    /// started the other's client or started the other as a researcher.
    pub fn are_one_agent(&self, one: Option<&SessionId>, other: Option<&SessionId>) -> bool {
        let (Some(one), Some(other)) = (one, other) else { return false };
        // Panes with one root were joined, even if a front names the agent of one of them.
        let is_joined = self.first(one) != self.first(other);
        let is_known = |session| self.is_seated(Some(session)) || self.is_researcher(session);
        self.root(one) == self.root(other) && (is_joined || is_known(one) || self.is_researcher(other))
    }

    /// Whether two speakers count as one agent: by their sessions, or by the name of an agent without a seat that started a
    /// researcher, or spoke in the same client.
    pub fn are_one_party(
        &self,
        (agent, session): (&AgentId, Option<&SessionId>),
        (other, there): (&AgentId, Option<&SessionId>),
    ) -> bool {
        let (named, named_there) = (self.named(session), self.named(there));
        self.are_one_agent(session, there)
            || named.is_some_and(|names| names.contains(other))
            || named_there.is_some_and(|names| names.contains(agent))
            || named.zip(named_there).is_some_and(|(names, others)| !names.is_disjoint(others))
    }

    fn named(&self, session: Option<&SessionId>) -> Option<&BTreeSet<AgentId>> {
        if self.named.is_empty() { None } else { self.named.get(self.first(session?)) }
    }

    /// A session counts as one agent with `agent`, which speaks in session `other`, and with those that this one counts with.
    fn add_named(&mut self, session: &SessionId, (agent, other): (&AgentId, &SessionId)) {
        let has_seat = self.pane(other).is_some_and(|pane| pane.is_seated && pane.names.contains(agent));
        let is_named = !has_seat && !agent.is_reserved() && !self.is_researcher(other);
        let mut names = self.named(Some(other)).cloned().unwrap_or_default();
        names.extend(is_named.then(|| agent.clone()));
        if !names.is_empty() {
            self.named.entry(self.first(session).clone()).or_default().extend(names);
        }
    }

    /// Whether an agent's session started the agent of this session as a researcher.
    pub fn is_researcher(&self, session: &SessionId) -> bool {
        self.researchers.contains(session)
    }

    /// Whether the pane of a session took over this challenge: the name, the claim, and the session `there`.
    pub fn took_over(
        &self,
        session: Option<&SessionId>,
        (name, claim_id, there): (&AgentId, ClaimId, Option<&SessionId>),
    ) -> bool {
        let Some((pane, there)) = session.and_then(|session| self.pane(session)).zip(there) else {
            return false;
        };
        pane.took_over.contains(&(name.clone(), claim_id, there.clone()))
    }

    /// Whether the agent of a session comes from a seat.
    pub fn is_seated(&self, session: Option<&SessionId>) -> bool {
        session.and_then(|session| self.pane(session)).is_some_and(|pane| pane.is_seated)
    }

    /// Folds one event. The event first shows that its pane is alive.
    pub(super) fn evolve(&mut self, recorded: &Recorded) {
        if let Some(session) = &recorded.session {
            let first = self.first_of.get(session).unwrap_or(session);
            if let Some(pane) = self.panes.get_mut(first) {
                pane.last_seen = recorded.at;
            }
            if !self.heard.contains(session) {
                self.heard.insert(session.clone());
            }
        }
        self.left.remove(&recorded.agent);
        let Some(event) = &recorded.event else { return };
        if let Event::AgentSeated(seated) = event {
            self.sit(seated, recorded.at);
        } else if let Event::SessionStarted(started) = event {
            let first = self.first(&started.session).clone();
            let pane = self.open(&first, &started.session, &recorded.agent, recorded.at);
            if !pane.is_seated {
                pane.agent = recorded.agent.clone();
            }
        } else if let Event::SessionEnded(ended) = event {
            // A session that only fell silent may return.
            if ended.cause == EndCause::Ended {
                let first = self.first_of.get(&ended.session).unwrap_or(&ended.session);
                if let Some(pane) = self.panes.get_mut(first) {
                    pane.open.remove(&ended.session);
                    if pane.is_seated && pane.open.is_empty() && self.holders.get(&pane.agent) == Some(first)
                    {
                        self.left.insert(pane.agent.clone());
                    }
                }
            }
        } else if let Event::ResearcherSpawned(spawned) = event {
            // A researcher has a name of its own. The agent that started it chose its profile and its prompt, so its
            // word is not that of another agent.
            self.open(&spawned.child, &spawned.child, &spawned.agent, recorded.at);
            if !recorded.agent.is_reserved() {
                self.join(&spawned.child, &spawned.parent);
                self.add_named(&spawned.child, (&recorded.agent, &spawned.parent));
                self.researchers.insert(spawned.child.clone());
            }
        } else if let Event::SessionSplit(split) = event {
            let first = self.first(&split.parent).clone();
            // An agent continues the work that the operator hands over, and that agent is not the operator.
            let is_an_agents = self.panes.get(&first).is_some_and(|pane| !pane.agent.is_reserved());
            if is_an_agents && self.pane(&split.child).is_none() {
                self.first_of.insert(split.child.clone(), first.clone());
                self.open(&first, &split.child, &recorded.agent, recorded.at);
            }
        }
    }

    pub(super) fn sit(&mut self, seated: &AgentSeated, at: Timestamp) {
        if let Some(pane) = &seated.pane {
            let (first, other) = (self.first(pane).clone(), self.first(&seated.session).clone());
            if first != other && self.panes.contains_key(&first) && self.is_seated(Some(&other)) {
                self.join(&other, &first);
                self.absorb(&first, &other);
            }
            self.first_of.insert(seated.session.clone(), first.clone());
            if first != other
                && let Some(names) = self.named.remove(&other)
            {
                self.named.entry(first).or_default().extend(names);
            }
        }
        if let Some(other) = &seated.joins {
            let own =
                self.pane(&seated.session).filter(|pane| !pane.is_seated).map(|pane| pane.agent.clone());
            self.join(&seated.session, other);
            if let Some(agent) = own {
                self.add_named(other, (&agent, &seated.session));
            }
            if let Some(agent) = self.pane(other).map(|pane| pane.agent.clone()) {
                self.add_named(&seated.session, (&agent, other));
            }
        }
        let first = self.first(&seated.session).clone();
        let pane = self.open(&first, &seated.session, &seated.agent, at);
        let was = std::mem::replace(&mut pane.agent, seated.agent.clone());
        pane.is_seated = true;
        pane.names.insert(seated.agent.clone());
        let taken = seated.takes_over.iter();
        pane.took_over
            .extend(taken.map(|taken| (seated.agent.clone(), taken.claim_id, taken.session.clone())));
        if was != seated.agent && self.holders.get(&was) == Some(&first) {
            self.left.insert(was);
        }
        self.left.remove(&seated.agent);
        self.holders.insert(seated.agent.clone(), first);
    }

    /// The panes of two sessions count as one agent from now on.
    fn join(&mut self, one: &SessionId, other: &SessionId) {
        let (one, other) = (self.root(one).clone(), self.root(other).clone());
        if one != other {
            self.joined.insert(one, other);
        }
    }

    /// Makes another pane part of the pane with this first session.
    fn absorb(&mut self, first: &SessionId, other: &SessionId) {
        let Some(gone) = self.panes.remove(other) else { return };
        self.first_of.values_mut().filter(|into| *into == other).for_each(|into| into.clone_from(first));
        self.first_of.insert(other.clone(), first.clone());
        self.holders.retain(|_, holder| holder != other);
        self.left.insert(gone.agent);
        if let Some(pane) = self.panes.get_mut(first) {
            pane.open.extend(gone.open);
            pane.names.extend(gone.names);
            pane.took_over.extend(gone.took_over);
        }
    }

    fn open(&mut self, first: &SessionId, session: &SessionId, agent: &AgentId, at: Timestamp) -> &mut Pane {
        let pane = self.panes.entry(first.clone()).or_insert_with(|| Pane {
            agent: agent.clone(),
            open: BTreeSet::new(),
            last_seen: at,
            is_seated: false,
            names: BTreeSet::new(),
            took_over: BTreeSet::new(),
        });
        pane.open.insert(session.clone());
        pane.last_seen = at;
        pane
    }
}
