//! Challenges under the name of a caller: the panes that made them, and the positions that end them.

use serde_json::json;

use super::Speaker;
use crate::domain::agent::AgentId;
use crate::domain::claim::{Position, Status};
use crate::domain::event::PositionTaken;
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::{Claim, State};
use crate::domain::way;

/// Refuses a position if it moves or ends the challenge of another pane under the same name. A seated pane could be the
/// owner of the claim in a new session. If a front pinned the name, the name alone identifies the speaker.
///
/// # Errors
/// `not_allowed` with the ways that end the challenge.
pub(super) fn refuse_anothers(
    state: &State,
    (agent, session): Speaker<'_>,
    (id, claim): (ClaimId, &Claim),
    verb: &str,
) -> Result<(), Rejection> {
    let there = claim.taken_in.get(agent);
    let is_challenge = claim.positions.get(agent) == Some(&Position::Challenge) && !agent.is_reserved();
    let (seats, owner) = (state.seats(), claim.session.as_ref());
    let is_owners = seats.are_one_party((agent, session), (&claim.owner, owner));
    if is_challenge && is_owners && !seats.are_one_pane(session, owner) {
        let is_researcher = session.is_some_and(|session| seats.is_researcher(session));
        let how = if is_researcher {
            "a session of the owner started this researcher"
        } else {
            "this pane counts as one agent with that of the owner"
        };
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("{how}, and {} owns claim {id}: an owner ends no challenge", claim.owner),
            format!("a blocking run answers it, or {}", operators_way(id, agent, verb)),
        ));
    }
    if !is_challenge || state.is_own_position(session, (id, claim), agent) {
        return Ok(());
    }
    let are_seated = state.seats().is_seated(session) && state.seats().is_seated(there);
    if !are_seated && !state.is_own(agent, session, claim) {
        return Ok(());
    }
    let made = there.map_or_else(String::new, |there| format!(", made in session {there}"));
    Err(Rejection::new(
        Code::NotAllowed,
        format!("the challenge of claim {id} under the name {agent} is another pane's{made}"),
        format!(
            "that pane moves or ends it when its session is resumed, or {}",
            operators_way(id, agent, verb)
        ),
    ))
}

/// The operator's way to speak for a pane that left. At a terminal, a name alone identifies the speaker.
fn operators_way(id: ClaimId, agent: &AgentId, verb: &str) -> String {
    format!("the operator does at a terminal: `hm claim {verb} {id} --agent {agent}`")
}

/// The way forward for the first open challenge whose pane left. None if every challenger is present.
pub(super) fn left(state: &State, (id, claim): (ClaimId, &Claim), verb: &str) -> Option<String> {
    let has_left = |agent: &&AgentId| {
        let pane = claim.taken_in.get(*agent).and_then(|there| state.seats().pane(there));
        !claim.answered.contains(*agent) && pane.is_some_and(|pane| pane.is_seated && pane.open.is_empty())
    };
    let agent = claim.challengers().find(has_left)?;
    Some(format!("the pane that challenges as {agent} left; {}", operators_way(id, agent, verb)))
}

/// The challenges that a position ends, as sentences: those of the caller, and those of another session under its name.
pub(super) fn ended(
    state: &State,
    (agent, session): Speaker<'_>,
    claim: &Claim,
    taken: &PositionTaken,
) -> Vec<String> {
    let names = taken.instead_of.iter().chain([agent]);
    let names = names.filter(|name| claim.positions.get(*name) == Some(&Position::Challenge));
    let is_elsewhere =
        |there: &&SessionId| session != Some(*there) && !state.seats().are_one_pane(session, Some(there));
    let said = names.map(|name| {
        let there = claim.taken_in.get(name).filter(is_elsewhere);
        let there = there.map_or_else(String::new, |there| format!(", made in another session ({there}),"));
        format!("the challenge by {name}{there} is over")
    });
    said.collect()
}

/// The result of an abstention for the receipt. `claim` is the claim after the abstention.
pub(super) fn abstained(
    state: &State,
    ended: Vec<String>,
    (id, claim, status): (ClaimId, &Claim, Status),
) -> Option<String> {
    let open: Vec<&str> = claim
        .challengers()
        .filter(|challenger| !claim.answered.contains(*challenger))
        .map(AgentId::as_str)
        .collect();
    let over = ended.is_empty().then(|| "it ends no challenge".to_owned()).filter(|_| !open.is_empty());
    let stands = match (&open[..], ended.is_empty()) {
        ([], true) => None,
        ([], false) => Some(format!("the claim is {status}")),
        (open, _) => Some(format!("still challenged by {}", open.join(", "))),
    };
    let way = left(state, (id, claim), "abstain").filter(|_| !open.is_empty());
    let said: Vec<String> = ended.into_iter().chain(over).chain(stands).chain(way).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// The steps that settle a contested claim that is still meant: a position of each challenger of other content, then a
/// run.
pub(super) fn settled_by((id, others): (ClaimId, &[AgentId]), again: Option<&str>) -> String {
    let run = again.unwrap_or("a blocking run on its files as they are now");
    let names: Vec<&str> = others.iter().map(AgentId::as_str).collect();
    let still = || way::call("still", &json!({ "claim_id": id }));
    match names[..] {
        [] => format!("{run} settles it"),
        [name] => format!(
            "{name} challenges other content and is asked: once {name} says that the challenge is still meant ({}), \
             supports or abstains, {run} settles it",
            still()
        ),
        _ => format!(
            "{} challenge other content and are asked: once each says that its challenge is still meant ({}), supports \
             or abstains, {run} settles it",
            names.join(", "),
            still()
        ),
    }
}

/// The receipt's sentence for a challenger in another work tree than the claim's. `claim` is the claim after its
/// position.
pub(super) fn aside((id, claim): (ClaimId, &Claim), agent: &AgentId) -> String {
    let moved = "the claim is about the files of another work tree: this moves your challenge alone, to the files here";
    if !claim.answered.contains(agent) {
        return format!("{moved}, and only a run that sees the same content answers it");
    }
    let again = way::call("challenge", &json!({ "claim_id": id, "reason": way::REASON }));
    format!(
        "{moved}; a run answered it there, and the claim stays {}. If it is wrong here: {again}",
        claim.status
    )
}
