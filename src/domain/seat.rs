//! Seats: the agent of an unpinned pane. The writer decides it with the pane's first event.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{Position, Status};
use crate::domain::event::{AgentSeated, Challenged, Event};
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::session::VANISHED_AFTER_MINUTES;
use crate::domain::state::{Claim, Pane, State};
use crate::domain::text::ToolName;
use crate::domain::time::{Hours, Timestamp};

/// Hours of silence after which a seat is free if the client's process is unknown: one working day.
pub const FREE_AFTER: Hours = Hours(24);

/// The front's facts about a caller that is not pinned to an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpinned {
    /// The pane's own session, if the command belongs to another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane: Option<SessionId>,
    /// The client, if a pane without a seat may take one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<SeatsOf>,
    /// The agent that the caller names. It is checked and never trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<AgentId>,
    /// The session that the pane's client left for this one, where another pane may have been in this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came_from: Option<SessionId>,
    /// Sessions of the client's own servers, which spoke before its first hook.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<SessionId>,
    /// Sessions of other panes: those whose clients started the client of this pane, and of other servers of that client.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<SessionId>,
}

/// The seats for panes of one client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatsOf {
    /// The name that the client gives itself.
    pub name: ToolName,
    /// The word in the names of its seats, before the number.
    pub word: String,
    /// Its first seat, a name of the roster; the other seats then start at number 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<AgentId>,
}

impl SeatsOf {
    /// Whether a seat belongs to this client.
    fn has(&self, seat: &AgentId) -> bool {
        let number = seat.as_str().strip_prefix(&self.word).and_then(|rest| rest.strip_prefix('-'));
        self.first.as_ref() == Some(seat) || number.is_some_and(|number| number.parse::<u32>().is_ok())
    }
}

/// Facts that only the writer knows.
pub struct Ground<'a> {
    /// Whether the client process of a session is running; `None` if this machine does not know it.
    pub is_running: &'a dyn Fn(&SessionId) -> Option<bool>,
    /// Whether the roster uses a name for another purpose.
    pub is_on_roster: &'a dyn Fn(&AgentId) -> bool,
    /// The work tree in which the caller is.
    pub checkout: &'a Checkout,
}

/// The resolved agent of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Seat {
    /// The agent.
    pub agent: AgentId,
    /// Events for the batch besides the command's own, for a pane that takes a seat.
    pub events: Vec<Event>,
    /// A notice for the pane, given once.
    pub told: Option<Warning>,
    /// Whether panes with seats of their own count as one agent from now on.
    pub joins: bool,
}

/// Resolves the agent of an unpinned caller in its session. `may_take` tells whether the command may take a seat. A
/// session that continues a parent is the parent's pane only if that pane left a seat of the same client, because
/// the caller chooses the parent and sessions are listed publicly.
///
/// # Errors
/// `agent_required` when the session has no seat and may take none. `agent_mismatch` when the caller names another
/// agent than its own or a session of another pane, or when its session belongs to the operator.
pub fn seat(
    state: &State,
    unpinned: &Unpinned,
    (session, parent): (Option<&SessionId>, Option<&SessionId>),
    may_take: bool,
    now: Timestamp,
    ground: &Ground<'_>,
) -> Result<Seat, Rejection> {
    let seats = state.seats();
    let Some(own) = unpinned.pane.as_ref().or(session) else { return Err(nobody("no session is named")) };
    let pane = seats.pane(own);
    if let Some(reserved) = pane.filter(|pane| pane.agent.is_reserved()) {
        return Err(Rejection::new(
            Code::AgentMismatch,
            format!("session {own} is {}'s, and this pane is an agent's", reserved.agent),
            "start this pane in a session of its own (HM_SESSION), or pin its agent (--agent, HM_AGENT)",
        ));
    }
    let parent = parent.filter(|_| pane.is_none()).and_then(|parent| Some((parent, seats.pane(parent)?)));
    let mut seat = match (pane, parent, &unpinned.client) {
        (None, Some((parent, before)), Some(client)) if may_take => {
            let goes_on = before.is_seated && client.has(&before.agent) && !is_occupied(before, now, ground);
            if goes_on {
                let mut seat = taken(state, parent, Some(before), (client, &[]), now, ground);
                seat.seated.session.clone_from(own);
                seat.seated.pane = Some(parent.clone());
                seat.into()
            } else {
                let mut seat = taken(state, own, None, (client, &unpinned.servers), now, ground);
                seat.told.message.push_str(&format!(
                    "; you do not go on as {} of session {parent}: that pane is there, or no seat of your client",
                    before.agent
                ));
                seat.into()
            }
        }
        (Some(pane), ..) if !pane.is_seated || seats.still_holds(own) || !may_take => {
            Seat { agent: pane.agent.clone(), events: Vec::new(), told: None, joins: false }
        }
        _ => match &unpinned.client {
            Some(client) if may_take => {
                taken(state, own, pane, (client, &unpinned.servers), now, ground).into()
            }
            _ => return Err(nobody(&format!("session {own} has no agent"))),
        },
    };
    if let Some(named) = unpinned.named.as_ref().filter(|named| **named != seat.agent) {
        return Err(Rejection::new(
            Code::AgentMismatch,
            format!("this pane is {} and cannot speak for {named}", seat.agent),
            format!("leave out `agent`; what {named} thinks, {named} says in its own pane"),
        ));
    }
    if let Some(session) = session.filter(|session| *session != own) {
        match seats.pane(session) {
            Some(_) if seats.first(session) == seats.first(own) => {}
            other if other.is_some() || seats.knows(session) => {
                let whose = other.map_or("another pane", |other| other.agent.as_str());
                return Err(Rejection::new(
                    Code::AgentMismatch,
                    format!("session {session} is {whose}'s, and this pane is {}", seat.agent),
                    "leave out `session`; name a session that you split off, or a new one",
                ));
            }
            _ => {
                let client = unpinned.client.as_ref().map(|client| client.name.clone());
                let (agent, session) = (seat.agent.clone(), session.clone());
                let (pane, joins, takes_over) = (Some(own.clone()), None, Vec::new());
                seat.events.push(AgentSeated { agent, client, session, pane, joins, takes_over }.into());
            }
        }
    }
    if may_take {
        join(state, own, unpinned, &mut seat);
    }
    Ok(seat)
}

/// Whether a name counts that a hook's environment names and its client was not started with, where the pane of that client
/// is known under an agent. A seat may go to another pane, so a pane that has one keeps it with all its sessions.
pub fn may_pin(pin: &AgentId, (known, is_seated): (&AgentId, bool)) -> bool {
    known.is_reserved() || (known == pin && !is_seated)
}

/// Adds the events by which other panes count as one agent with that of the caller. The pane of a server that spoke before
/// the first hook of its client becomes part of it. The pane in whose session the client was before keeps its own seat, and
/// so does the pane that started the client.
fn join(state: &State, own: &SessionId, unpinned: &Unpinned, seat: &mut Seat) {
    let seats = state.seats();
    let is_seated = !seat.events.is_empty() || seats.is_seated(Some(own));
    if !is_seated && seats.pane(own).is_none() {
        return;
    }
    // A name that a front gave is one agent wherever it speaks. Another agent in its session is one with it from now on.
    let is_other_agent =
        |other: &&SessionId| is_seated || seats.pane(other).is_some_and(|pane| pane.agent != seat.agent);
    let is_other =
        |other: &&SessionId| seats.first(other) != seats.first(own) && seats.is_seated(Some(other));
    let servers: Vec<&SessionId> = unpinned.servers.iter().filter(is_other).filter(|_| is_seated).collect();
    let is_apart = |other: &&SessionId| !seats.are_one_agent(Some(own), Some(other));
    // The agent of a session without a pane is named by its front, as of a pinned server, which may not have written yet.
    let is_pane = |other: &&SessionId| {
        seats.pane(other).is_none_or(|pane| !pane.agent.is_reserved())
            && seats.first(other) != seats.first(own)
    };
    let above = unpinned.above.iter().filter(is_pane).filter(is_other_agent);
    let above: Vec<&SessionId> = above.filter(is_apart).collect();
    let came_from = unpinned.came_from.as_ref().filter(|other| seats.pane(other).is_some());
    let came_from = came_from.filter(is_pane).filter(is_other_agent).filter(is_apart);
    let others = servers.iter().copied().chain(came_from);
    let names_of = |sessions: Vec<&SessionId>| {
        let names = sessions.into_iter().filter_map(|other| Some(seats.pane(other)?.agent.as_str()));
        names.collect::<BTreeSet<&str>>().into_iter().collect::<Vec<_>>()
    };
    let (mut before, starters) = (names_of(others.collect()), names_of(above.clone()));
    seat.joins = !before.is_empty() || !above.is_empty();
    before.retain(|name| *name != seat.agent.as_str());
    let why = match (&before[..], &starters[..]) {
        ([], []) if above.is_empty() => None,
        ([], []) => Some("your client speaks under another name, too".to_owned()),
        ([], starters) => {
            Some(format!("the pane of {} started your client or is in it", starters.join(", ")))
        }
        (before, _) => Some(format!("spoke as {} before", before.join(", "))),
    };
    if let Some(why) = why.filter(|_| seat.told.as_ref().is_none_or(|told| told.code == WarningCode::Seated))
    {
        let message = format!(
            "you are {} here, and {why}: both count as one agent from now on, so neither confirms what the other said",
            seat.agent
        );
        seat.told = Some(Warning { code: WarningCode::SeatTaken, message, claim_id: None });
    }
    let seated = |session: &SessionId, pane: Option<&SessionId>, joins: Option<&SessionId>| AgentSeated {
        agent: seat.agent.clone(),
        client: None,
        session: session.clone(),
        pane: pane.cloned(),
        joins: joins.cloned(),
        takes_over: Vec::new(),
    };
    let parts = servers.into_iter().map(|server| seated(server, Some(own), None));
    let both = came_from.into_iter().chain(above).map(|other| seated(own, None, Some(other)));
    let events: Vec<Event> = parts.chain(both).map(Event::from).collect();
    seat.events.extend(events);
}

/// A seat that a pane takes, and what it is told.
struct Taken {
    seated: AgentSeated,
    told: Warning,
}

impl From<Taken> for Seat {
    fn from(Taken { seated, told }: Taken) -> Self {
        Self { agent: seated.agent.clone(), events: vec![seated.into()], told: Some(told), joins: false }
    }
}

/// The first free seat: the pane's former one, that of its client, or the lowest number. `parts` are sessions that belong to
/// the pane from now on.
fn taken(
    state: &State,
    own: &SessionId,
    pane: Option<&Pane>,
    (client, parts): (&SeatsOf, &[SessionId]),
    now: Timestamp,
    ground: &Ground<'_>,
) -> Taken {
    let seats = state.seats();
    let is_own =
        |first: &SessionId| first == seats.first(own) || parts.iter().any(|part| first == seats.first(part));
    let others = seats.panes().filter(|(first, _)| !is_own(first));
    let sat_on: BTreeSet<&AgentId> =
        others.filter(|(_, pane)| is_occupied(pane, now, ground)).map(|(_, pane)| &pane.agent).collect();
    // A challenge blocks a numbered seat while it is open: a position has one name, so another pane under that name could
    // say nothing of its own about the claim.
    let is_heir = |claim: &Claim, agent: &AgentId| is_heir(state, own, (claim, agent), client, now, ground);
    let is_blocked = |agent: &AgentId| {
        client.first.as_ref() != Some(agent)
            && challenged_elsewhere(state, own, agent, now)
                .any(|(_, claim)| !claim.answered.contains(agent) && !is_heir(claim, agent))
    };
    let is_free = |agent: &AgentId| !sat_on.contains(agent) && !is_blocked(agent);
    let was = pane.map(|pane| pane.agent.clone());
    let lowest = if client.first.is_some() { 2 } else { 1 };
    let numbered = (lowest..).map(|number| AgentId::seat(&client.word, number));
    let named = was.iter().chain(&client.first).cloned();
    let agent = named
        .chain(numbered.filter(|agent| !(ground.is_on_roster)(agent)))
        .find(is_free)
        .expect("numbers do not run out before panes do");
    let told = match was.filter(|was| *was != agent) {
        None => (WarningCode::Seated, format!("you are {agent} here (seat of this session)")),
        Some(was) => (
            WarningCode::SeatTaken,
            format!(
                "another pane took the seat {was} while you were away: you are {agent} from now on, and what you said \
                 as {was} stays yours"
            ),
        ),
    };
    let (code, mut message) = told;
    let (name, session) = (Some(client.name.clone()), own.clone());
    let inherited = challenged_elsewhere(state, own, &agent, now).filter(|(_, claim)| is_heir(claim, &agent));
    let takes_over: Vec<Challenged> = inherited
        .filter_map(|(claim_id, claim)| {
            Some(Challenged { claim_id, session: claim.taken_in.get(&agent)?.clone() })
        })
        .collect();
    if let [first, more @ ..] = &takes_over[..] {
        let more = if more.is_empty() { String::new() } else { format!(" and {} more claims", more.len()) };
        message.push_str(&format!(
            "; you take over from the pane before you, which left: {agent} challenges claim {}{more}, and you may \
             withdraw that or say that it is still meant",
            first.claim_id
        ));
    }
    let seated = AgentSeated { agent, client: name, session, pane: None, joins: None, takes_over };
    Taken { seated, told: Warning { code, message, claim_id: None } }
}

/// The claims on which a challenge of another pane stands under a name.
fn challenged_elsewhere<'a>(
    state: &'a State,
    own: &'a SessionId,
    agent: &'a AgentId,
    now: Timestamp,
) -> impl Iterator<Item = (ClaimId, &'a Claim)> {
    state.claims().filter(move |(id, claim)| {
        claim.status != Status::Deprecated
            && !claim.is_over(now)
            && claim.positions.get(agent) == Some(&Position::Challenge)
            && !state.is_own_position(Some(own), (*id, claim), agent)
    })
}

/// Whether a pane that takes a seat takes over the challenge under its name: the challenger left, the pane is in the work
/// tree of the challenge, and it cannot be the owner of the claim in a new session.
fn is_heir(
    state: &State,
    own: &SessionId,
    (claim, agent): (&Claim, &AgentId),
    client: &SeatsOf,
    now: Timestamp,
    ground: &Ground<'_>,
) -> bool {
    let seats = state.seats();
    let is_there = |pane: &Pane| is_occupied(pane, now, ground) && !is_gone(pane, ground);
    let challenger = claim.taken_in.get(agent).and_then(|there| seats.pane(there));
    let has_left = challenger.is_some_and(|pane| pane.is_seated && is_gone(pane, ground));
    let is_here =
        claim.sights.challenged_in(agent).is_some_and(|there| there.worktree == ground.checkout.worktree);
    let owner = claim.session.as_ref().and_then(|session| Some((seats.first(session), seats.pane(session)?)));
    // The name of an owner that left is taken: the owner in a new session, if it is any pane, is that one.
    let is_back = |owner: &Pane| {
        let mut others = seats.panes().filter(|(first, _)| *first != seats.first(own));
        others.any(|(_, pane)| pane.agent == owner.agent && is_there(pane))
    };
    let may_be = |owner: &Pane| owner.is_seated && client.has(&owner.agent) && !is_back(owner);
    let is_of_other = owner.is_none_or(|(first, owner)| {
        // The client of the owner may have been in sessions of other panes.
        let mut joined = seats.panes().filter(|(other, _)| seats.are_one_agent(Some(first), Some(other)));
        first != seats.first(own)
            && !seats.are_one_agent(Some(first), Some(own))
            && !may_be(owner)
            && !joined.any(|(_, pane)| may_be(pane))
    });
    has_left && is_here && is_of_other
}

/// Whether each session of a pane ended, or the processes of its clients are known to be gone.
fn is_gone(pane: &Pane, ground: &Ground<'_>) -> bool {
    let mut running = pane.open.iter().filter_map(|session| (ground.is_running)(session)).peekable();
    pane.open.is_empty() || (running.peek().is_some() && running.all(|is_running| !is_running))
}

/// Whether a pane still occupies its seat.
fn is_occupied(pane: &Pane, now: Timestamp, ground: &Ground<'_>) -> bool {
    let running: Vec<bool> = pane.open.iter().filter_map(|session| (ground.is_running)(session)).collect();
    let silent_ms = now.ms() - pane.last_seen.ms();
    match (pane.open.is_empty(), running.contains(&true), running.is_empty()) {
        (true, ..) => false,
        (false, true, _) => true,
        (false, false, false) => silent_ms <= VANISHED_AFTER_MINUTES * 60_000,
        (false, false, true) => pane.last_seen.is_within(FREE_AFTER, now),
    }
}

fn nobody(why: &str) -> Rejection {
    Rejection::new(
        Code::AgentRequired,
        format!("nobody says who is speaking: {why}"),
        "name the agent with --agent or HM_AGENT, or start the session with its client's hooks (hm init)",
    )
}
