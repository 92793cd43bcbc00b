//! Agreement: the rules of the team for confirmation, and the status that the positions give a claim.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{overrule, target, transition};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Position, Status};
use crate::domain::event::Event;
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::state::{Claim, State};
use crate::domain::time::{Hours, Timestamp};

/// An agent is active while its last event is at most this old: one working day, for `all_active`.
pub const ACTIVE_WITHIN: Hours = Hours(24);

/// The conditions for confirmation (`[quorum]` in config.toml).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quorum {
    /// The number of needed supports. Default 1.
    pub supports: u32,
    /// Whether the owner's own support counts. Default false.
    pub owner_counts: bool,
    /// Whether every agent active in the last 24 h, the owner aside, must support. Default false.
    pub all_active: bool,
}

impl Quorum {
    /// Whether this quorum needs less than another one.
    pub const fn is_looser_than(&self, other: &Self) -> bool {
        self.supports < other.supports
            || self.owner_counts && !other.owner_counts
            || !self.all_active && other.all_active
    }

    /// The stricter of this quorum and another one, rule by rule.
    #[must_use]
    pub const fn tightened_by(&self, other: &Self) -> Self {
        Self {
            supports: if self.supports < other.supports { other.supports } else { self.supports },
            owner_counts: self.owner_counts && other.owner_counts,
            all_active: self.all_active || other.all_active,
        }
    }
}

impl std::fmt::Display for Quorum {
    /// As `config.toml` says it, on one line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { supports, owner_counts, all_active } = self;
        write!(f, "supports = {supports}, owner_counts = {owner_counts}, all_active = {all_active}")
    }
}

impl Default for Quorum {
    fn default() -> Self {
        Self { supports: 1, owner_counts: false, all_active: false }
    }
}

/// The settings that rules depend on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Policy {
    /// The conditions for confirmation.
    pub quorum: Quorum,
    /// Whether agents may deprecate, supersede and outvote claims that the operator recorded or supports. Default
    /// false.
    pub agents_may_override_operator: bool,
    /// Whether agents may confirm nothing (`trust = human_only`). It is part of the policy of the memory, which has a
    /// record of its own.
    pub only_operator_confirms: bool,
}

impl Policy {
    /// Whether this policy has a looser quorum, or protects the operator's claims less, than another one.
    pub const fn is_looser_than(&self, other: &Self) -> bool {
        self.quorum.is_looser_than(&other.quorum)
            || self.agents_may_override_operator && !other.agents_may_override_operator
    }

    /// The stricter of this policy and another one, rule by rule.
    #[must_use]
    pub const fn tightened_by(&self, other: &Self) -> Self {
        Self {
            quorum: self.quorum.tightened_by(&other.quorum),
            agents_may_override_operator: self.agents_may_override_operator
                && other.agents_may_override_operator,
            only_operator_confirms: self.only_operator_confirms || other.only_operator_confirms,
        }
    }

    /// The policy that was written as this text. Rules that the text does not have are the defaults.
    pub fn recorded(text: &str) -> Self {
        let rules: BTreeMap<&str, &str> =
            text.split(", ").filter_map(|rule| rule.split_once(" = ")).collect();
        let holds = |rule: &str| rules.get(rule) == Some(&"true");
        let supports = rules.get("supports").and_then(|supports| supports.parse().ok());
        Self {
            quorum: Quorum {
                supports: supports.unwrap_or(Quorum::default().supports),
                owner_counts: holds("owner_counts"),
                all_active: holds("all_active"),
            },
            agents_may_override_operator: holds("agents_may_override_operator"),
            ..Self::default()
        }
    }
}

/// The end of the text of a policy under which agents may override the operator.
const OVERRIDES: &str = ", agents_may_override_operator = true";

impl std::fmt::Display for Policy {
    /// As `config.toml` says it, on one line; what agents may not do is not said.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let overrides = if self.agents_may_override_operator { OVERRIDES } else { "" };
        write!(f, "{}{overrides}", self.quorum)
    }
}

/// The status that the positions give a claim. While a proof is pending, only the run decides. A decision is not confirmed
/// beside another one on its target. What was confirmed before the targets were joined stays confirmed: by votes until a
/// challenge, after which the state does not tell it from a decision that was never confirmed, and by a proof as long as it
/// has the proof.
pub(super) fn settled_status(
    state: &State,
    (id, claim): (ClaimId, &Claim),
    now: Timestamp,
    policy: &Policy,
) -> Status {
    let agreed = agreed_status(state, claim, now, policy);
    let was_confirmed = claim.status == Status::Confirmed || claim.is_proven;
    if agreed == Status::Confirmed && !was_confirmed && !target::rivals(state, (id, claim)).is_empty() {
        return Status::Proposed;
    }
    agreed
}

/// [`settled_status`] of a claim that is no decision, or the only one on its target.
pub(super) fn agreed_status(state: &State, claim: &Claim, now: Timestamp, policy: &Policy) -> Status {
    if matches!(claim.status, Status::PendingProof | Status::Deprecated) {
        return claim.status;
    }
    let outvotes = |agent: &AgentId| *agent == AgentId::operator() || !overrule::claims_word(claim, policy);
    if claim.challengers().any(|agent| !claim.answered.contains(agent) && outvotes(agent)) {
        return Status::Contested;
    }
    // A proved claim needs no votes, and a claim agreed by silence stays agreed until a challenge.
    if claim.is_proven || claim.by_silence {
        return Status::Confirmed;
    }
    let is_quorum = counting(state, claim, policy).len() >= supports_needed(policy);
    if is_quorum && missing(state, claim, now, policy).is_empty() {
        Status::Confirmed
    } else {
        Status::Proposed
    }
}

/// The agents whose support counts. Of several that count as one agent, only the first is among them. A support of
/// content from before the last `still` keeps a confirmed claim confirmed, but does not confirm a claim again.
pub(super) fn counting<'a>(state: &State, claim: &'a Claim, policy: &Policy) -> Vec<&'a AgentId> {
    let supporters = claim.positions.iter().filter(|(_, held)| **held == Position::Support);
    let supporters = supporters
        .filter(|(agent, _)| claim.status == Status::Confirmed || !claim.sights.is_before_change(agent));
    let is_own = |agent: &AgentId| state.is_own(agent, claim.taken_in.get(agent), claim);
    // What agents confirmed before stays confirmed.
    let may_confirm = |agent: &AgentId| {
        !policy.only_operator_confirms || claim.status == Status::Confirmed || *agent == AgentId::operator()
    };
    let counts = |agent: &&AgentId| may_confirm(agent) && (policy.quorum.owner_counts || !is_own(agent));
    let mut counting: Vec<&AgentId> = Vec::new();
    for agent in supporters.map(|(agent, _)| agent).filter(counts) {
        let there = claim.taken_in.get(agent);
        let is_same = |other: &&AgentId| {
            state.seats().are_one_party((agent, there), (other, claim.taken_in.get(*other)))
        };
        if !counting.iter().any(is_same) {
            counting.push(agent);
        }
    }
    counting
}

/// The changes of status where fewer supports count, because the pane of a session counts as one agent with another pane
/// since now.
pub fn after_join(state: &State, session: &SessionId, now: Timestamp, policy: &Policy) -> Vec<Event> {
    let Some(pane) = state.seats().pane(session) else { return Vec::new() };
    let is_here = |speaker: &(&AgentId, &SessionId)| {
        state.seats().are_one_party((&pane.agent, Some(session)), (speaker.0, Some(speaker.1)))
    };
    let mut changes: Vec<(ClaimId, Status, Status)> = Vec::new();
    for (id, claim) in state.claims().filter(|(_, claim)| claim.status == Status::Confirmed) {
        let supporters = claim.positions.iter().filter(|(_, held)| **held == Position::Support);
        let supported_in = supporters.filter_map(|(agent, _)| Some((agent, claim.taken_in.get(agent)?)));
        let owner = claim.session.iter().map(|session| (&claim.owner, session));
        let words = owner.chain(supported_in).filter(is_here).count();
        let to = settled_status(state, (id, claim), now, policy);
        if words > 1 && to != claim.status {
            changes.push((id, claim.status, to));
        }
    }
    changes.sort_by_key(|(id, ..)| *id);
    let why = "its owner and its supporters turned out to be one agent";
    changes.into_iter().map(|(id, from, to)| transition(id, from, to, why)).collect()
}

/// The number of supports that confirm a claim. Where only the operator confirms, there is one who can.
pub(super) fn supports_needed(policy: &Policy) -> usize {
    if policy.only_operator_confirms { 1 } else { policy.quorum.supports.max(1) as usize }
}

/// The active agents that must support a claim and have not done so. Empty unless all must and may. The panes of the
/// owner and of each supporter do not count, whatever their current names.
pub(super) fn missing<'a>(
    state: &'a State,
    claim: &Claim,
    now: Timestamp,
    policy: &Policy,
) -> Vec<&'a AgentId> {
    if !policy.quorum.all_active || policy.only_operator_confirms {
        return Vec::new();
    }
    let supporters = counting(state, claim, policy);
    let sessions = supporters.iter().filter_map(|supporter| claim.taken_in.get(*supporter));
    let spoken: Vec<&SessionId> = sessions.chain(&claim.session).collect();
    let has_spoken = |agent: &AgentId| {
        *agent == claim.owner
            || supporters.contains(&agent)
            || spoken.iter().any(|session| state.seats().sits_as(session, agent))
    };
    let active = state.active_agents(ACTIVE_WITHIN, now).into_iter();
    active.filter(|agent| !has_spoken(agent) && !state.seats().is_empty(agent)).collect()
}
