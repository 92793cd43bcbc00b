//! Positions on a claim.

use serde_json::json;

use super::quorum::{Policy, agreed_status, counting, missing, settled_status, supports_needed};
use super::supersession::{ConfirmedBy, last_successor, take_place};
use super::{
    Accepted, Speaker, challenge, contradiction, decision, evidence, experiment, instead_of, known_claim,
    overrule, standing, support, target, transition,
};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{ClaimType, Override, Position, Relation, Status};
use crate::domain::command::TakePosition;
use crate::domain::event::{Event, PositionTaken};
use crate::domain::experiment::{Prediction, RunState};
use crate::domain::ids::{ClaimId, EventId, SessionId};
use crate::domain::receipt::Cited;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::{Claim, Run, State};
use crate::domain::time::Timestamp;
use crate::domain::versions::Versions;
use crate::domain::way;

pub(super) fn take_position(
    state: &State,
    (agent, session): Speaker<'_>,
    take: &TakePosition,
    (checkout, versions): (&Checkout, &Versions),
    (now, policy): (Timestamp, &Policy),
) -> Result<Accepted, Rejection> {
    let claim = claim_in_force(state, (take.claim_id, take.position))?;
    check(state, (agent, session), take, claim, policy)?;
    if take.position == Position::Support {
        decision::refuse_unreasoned(state, agent, (take.claim_id, claim))?;
    }
    let evidence_ref =
        take.evidence_ref.as_ref().map(|name| evidence::named(state, session, name)).transpose()?;
    if take.position == Position::Challenge {
        refuse_answered(state, (agent, session), (take.claim_id, claim), evidence_ref, versions)?;
    }
    if let (Position::Support, Some(cited)) = (take.position, evidence_ref) {
        evidence::check_support(state, cited, (take.claim_id, claim))?;
    }
    if let (Position::Challenge, Some(reason)) = (take.position, &take.reason)
        && overrule::stands(agent, claim, policy)
    {
        return overrule::propose(state, (agent, session), (take.claim_id, Override::Challenge), reason);
    }

    // The receipt omits evidence that the caller named by its whole id, unless it was a run.
    let cited = evidence_ref.and_then(|evidence_ref| {
        let run = state.run_that_ended_with(evidence_ref);
        let why = run.map_or_else(String::new, |(id, run)| {
            let unlike = (take.position == Position::Support).then(|| unlike((take.claim_id, claim), run));
            format!("run {id} {}{}", experiment::showed(run), unlike.unwrap_or_default())
        });
        let is_named_whole = take.evidence_ref.as_ref() == Some(&evidence_ref.into());
        let cited = Cited { evidence_ref, grade: None, why, failed: None };
        (run.is_some() || !is_named_whole).then_some(cited)
    });
    let mut decision = Accepted { cited: cited.into_iter().collect(), ..Accepted::default() };
    let taken = taken(state, (agent, session), take, claim, evidence_ref);
    let mut after = claim.clone();
    after.take(agent, session, &taken);
    let ended = standing::ended(state, (agent, session), claim, &taken);
    decision.events.push(taken.into());
    let status = settled_status(state, (take.claim_id, &after), now, policy);
    // Who came since is not asked by the support of somebody else.
    let is_kept = take.position == Position::Support && claim.status == Status::Confirmed;
    let status = if is_kept { claim.status } else { status };
    if status != claim.status {
        let reason = match take.position {
            Position::Support => format!("supported by {agent}"),
            Position::Challenge => format!("challenged by {agent}"),
            Position::Abstain => format!("{agent} abstains"),
        };
        decision.events.push(transition(take.claim_id, claim.status, status, &reason));
    }
    if take.position == Position::Challenge {
        decision.events.extend(contradiction::on_challenge(state, agent, take.claim_id, claim));
    }
    let mut replaced = None;
    let counting = counting(state, &after, policy);
    let counts = take.position == Position::Support && counting.contains(&agent);
    // Only a vote for a claim, or its confirmation, lets it supersede another claim.
    if status == Status::Confirmed && (claim.status != Status::Confirmed || counts) {
        let by_silence = after.by_silence && more_supports(counting.len(), policy).is_some();
        let by = if by_silence {
            ConfirmedBy::Silence
        } else {
            ConfirmedBy::Positions(checkout.worktree.as_ref(), versions)
        };
        let (events, warning) = take_place(state, (take.claim_id, &after), by, policy);
        replaced = events.iter().find_map(|event| {
            if let Event::ClaimSuperseded(superseded) = event { Some(superseded.claim_id) } else { None }
        });
        decision.events.extend(events);
        decision.warnings.extend(warning);
    }
    decision.next = if take.position == Position::Abstain {
        let held = held_back(state, (take.claim_id, &after, status), now, policy);
        let held = held.filter(|_| !ended.is_empty()).map(|held| format!("; {held}"));
        let said = standing::abstained(state, ended, (take.claim_id, &after, status));
        let lost = (claim.status == Status::Confirmed && status != claim.status).then(|| {
            let waits = waits_for(state, &after, now, policy).map(|waits| format!("; {waits}"));
            format!("the claim was agreed and is {status} now{}", waits.unwrap_or_default())
        });
        said.map(|said| said + &held.unwrap_or_default()).or(lost)
    } else {
        next_step(state, agent, take.position, (take.claim_id, &after, status), now, policy)
    };
    if take.position == Position::Challenge
        && status != Status::PendingProof
        && evidence_ref.is_none()
        && let Some(next) = &mut decision.next
    {
        let seen = json!({ "claim_id": take.claim_id, "evidence_ref": "EVENT", "relation": "contradicts" });
        next.push_str(&format!("; cite what you saw: {}", way::call("add_evidence", &seen)));
    }
    if take.position == Position::Support
        && let Some(next) = &mut decision.next
        && let Some((by, of)) =
            contradiction::challengers_behind(state, take.claim_id).into_iter().find(|(by, of)| {
                let is_answered = state.claim(*of).is_some_and(|of| of.answered.contains(*by));
                *of != take.claim_id && !is_answered && !after.positions.contains_key(*by)
            })
    {
        next.push_str(&format!("; not answered: {by} challenged {of}, whose place it took"));
    }
    if let (Some(old), Some(next)) = (replaced, &mut decision.next) {
        let ends = if after.mends { "mended" } else { "superseded" };
        next.push_str(&format!("; claim {old} is {ends} by it"));
    }
    if take.position == Position::Support {
        decision.warnings.extend(contradiction::on_support(state, (agent, session), take.claim_id));
    }
    if *agent == AgentId::operator() && take.position == Position::Support {
        let turned_down = overrule::turned_down(state, (take.claim_id, claim), take.reason.as_ref());
        decision.next = overrule::out_of_force(&turned_down).or(decision.next);
        decision.events.extend(turned_down);
    }
    Ok(decision)
}

/// What the receipt adds about a run that a support cites, if it does not support the claim.
fn unlike((id, claim): (ClaimId, &Claim), run: &Run) -> &'static str {
    let predicts_failure = run.claim == Some(id) && run.prediction == Some(Prediction::Fails);
    match run.state {
        RunState::Failed if !claim.is_of_failure() && !predicts_failure => {
            ", and a failed run does not support a claim: your support stands on your word alone"
        }
        RunState::Succeeded if predicts_failure => {
            ", and the claim predicts that it fails: your support stands on your word alone"
        }
        RunState::TimedOut | RunState::Canceled | RunState::Aborted => {
            ", and so supports nothing: your support stands on your word alone"
        }
        RunState::Queued | RunState::Running | RunState::Succeeded | RunState::Failed => "",
    }
}

/// Checks whether the speaker may take a position on a claim.
fn check(
    state: &State,
    (agent, session): Speaker<'_>,
    take: &TakePosition,
    claim: &Claim,
    policy: &Policy,
) -> Result<(), Rejection> {
    if state.is_own(agent, session, claim) {
        refuse_own(state, (agent, session), claim, take, policy)?;
    }
    standing::refuse_anothers(state, (agent, session), (take.claim_id, claim), "abstain")?;
    if take.position == Position::Challenge && take.reason.is_none() {
        return Err(Rejection::invalid("reason", "a challenge says why"));
    }
    Ok(())
}

/// Refuses to challenge a proved claim again where nothing is new: neither the content of its files, nor evidence. The word
/// of the operator needs none.
fn refuse_answered(
    state: &State,
    (agent, session): Speaker<'_>,
    (id, claim): (ClaimId, &Claim),
    cited: Option<EventId>,
    versions: &Versions,
) -> Result<(), Rejection> {
    let is_own = |name: &AgentId| name == agent || state.seats().names(session).any(|own| own == name);
    let Some((run_id, run)) = claim.proof.and_then(|id| Some((id, state.run(id)?))) else { return Ok(()) };
    let saw = &run.saw.versions;
    let is_same = !saw.is_empty() && saw.iter().all(|(scope, content)| versions.get(scope) == Some(content));
    let is_later = |event: EventId| {
        state.run_that_ended_with(event).is_some_and(|(_, later)| later.saw.seq > run.saw.seq)
    };
    let is_known = |event: &EventId| {
        // A run after its proof that does not support the claim is new until a challenge cites it.
        let tied = claim
            .evidence
            .iter()
            .filter(|(known, relation)| *relation == Relation::Supports || !is_later(*known));
        let mut evidence = tied.map(|(known, _)| known).chain(claim.cited.values());
        // What somebody said, and the record of the proof itself, show nothing.
        let shows = state.deed(*event).is_some() || state.run_that_ended_with(*event).is_some();
        !shows || evidence.any(|known| state.are_one_event(*known, *event))
    };
    let is_answered = claim.overruled.iter().any(is_own) && *agent != AgentId::operator();
    if !is_answered || !is_same || cited.is_some_and(|event| !is_known(&event)) {
        return Ok(());
    }
    let again = json!({ "claim_id": id, "reason": way::REASON, "evidence_ref": "EVENT" });
    Err(Rejection::new(
        Code::ChallengeAnswered,
        format!(
            "run {run_id} answered your challenge of claim {id} on this content, and nothing new is cited"
        ),
        format!(
            "cite what you saw since, such as a run that failed: {}; or state what you hold to be true in a claim of your own",
            way::call("challenge", &again)
        ),
    ))
}

/// The event of a position, for each name that the pane of the speaker took one under.
fn taken(
    state: &State,
    (agent, session): Speaker<'_>,
    take: &TakePosition,
    claim: &Claim,
    evidence_ref: Option<EventId>,
) -> PositionTaken {
    // A human in the session of a pane is not that pane.
    let is_same_pane = |name: &&AgentId| {
        let are_agents = !name.is_reserved() && !agent.is_reserved();
        *name != agent && are_agents && state.is_own_position(session, (take.claim_id, claim), name)
    };
    let instead_of: Vec<AgentId> = claim.taken_in.keys().filter(is_same_pane).cloned().collect();
    let mut formerly = other_names(state, (agent, session));
    formerly.retain(|name| !instead_of.contains(name));
    PositionTaken {
        claim_id: take.claim_id,
        position: take.position,
        reason: take.reason.clone(),
        evidence_ref,
        instead_of,
        formerly,
        still: false,
        aside: false,
        asks: Vec::new(),
        versions: Versions::new(),
        seen_in: None,
    }
}

/// The other names that the pane of a speaker had.
pub(super) fn other_names(state: &State, (agent, session): Speaker<'_>) -> Vec<AgentId> {
    state.seats().names(session).filter(|name| *name != agent).cloned().collect()
}

/// A claim that takes positions, such as the one that an agent wants to take.
pub(super) fn claim_in_force(state: &State, (id, wanted): (ClaimId, Position)) -> Result<&Claim, Rejection> {
    let claim = known_claim(state, id)?;
    if claim.status == Status::Deprecated {
        let last = last_successor(state, id).and_then(|last| Some((last, state.claim(last)?)));
        let hint = match last {
            Some((last, new)) if new.status != Status::Deprecated => {
                let take = if wanted == Position::Challenge { challenge(last) } else { support(last) };
                format!("take a position on its successor: {take}")
            }
            Some((last, _)) => {
                format!(
                    "its successor {last} is out of force too; make a new claim: {}",
                    instead_of(last, claim)
                )
            }
            None => format!("make a new claim: {}", instead_of(id, claim)),
        };
        let message = format!("claim {id} is deprecated and takes no more positions");
        return Err(Rejection::new(Code::ClaimDeprecated, message, hint));
    }
    Ok(claim)
}

/// An owner's word on their own claim is the claim itself.
fn refuse_own(
    state: &State,
    speaker: Speaker<'_>,
    claim: &Claim,
    take: &TakePosition,
    policy: &Policy,
) -> Result<(), Rejection> {
    let refused = |what: &str, hint: String| {
        let (agent, session) = speaker;
        let is_one = |session: &SessionId| claim.owner != *agent && state.seats().is_researcher(session);
        let why = match session.filter(|session| is_one(session)) {
            Some(_) => format!(
                " (you count as one agent with {}, because researchers speak for those that sent them)",
                claim.owner
            ),
            None => String::new(),
        };
        let message = format!("claim {} is your own{why}, so {what}", take.claim_id);
        Err(Rejection::new(Code::OwnClaim, message, hint))
    };
    match take.position {
        Position::Challenge => {
            let end = if claim.claim_type == ClaimType::Decision {
                decision::decided_anew(state, speaker, (take.claim_id, claim), policy)
            } else {
                let end = json!({ "claim_id": take.claim_id, "reason": way::REASON });
                let end = way::call("deprecate_claim", &end);
                format!("{end}, or {}", instead_of(take.claim_id, claim))
            };
            refused("you cannot challenge it", end)
        }
        Position::Support if !policy.quorum.owner_counts && policy.only_operator_confirms => refused(
            "your support does not count",
            "with trust = human_only no agent may support it either; silence confirms a claim of yours that is made with \
             `unless_objection_minutes`"
                .to_owned(),
        ),
        Position::Support if !policy.quorum.owner_counts => refused(
            "your support does not count",
            format!(
                "another agent supports it; a run adds evidence, and settles it only after a challenge: {}",
                way::call("run_experiment", &json!({ "profile": "PROFILE", "claim_id": take.claim_id }))
            ),
        ),
        Position::Support | Position::Abstain => Ok(()),
    }
}

/// What keeps a decision proposed whose positions would confirm it, and who settles that.
fn held_back(
    state: &State,
    (id, claim, status): (ClaimId, &Claim, Status),
    now: Timestamp,
    policy: &Policy,
) -> Option<String> {
    let is_agreed = agreed_status(state, claim, now, policy) == Status::Confirmed;
    let beside = target::beside(state, (id, claim)).filter(|_| status == Status::Proposed && is_agreed)?;
    let settles = decision::settles_all(state, (id, claim), policy);
    Some(format!("it is not confirmed again: {beside} (`hivemind://contradictions`); {settles}"))
}

/// The effect of a position on a claim, and what the claim still needs. `claim` is the claim after the position.
fn next_step(
    state: &State,
    agent: &AgentId,
    position: Position,
    (id, claim, status): (ClaimId, &Claim, Status),
    now: Timestamp,
    policy: &Policy,
) -> Option<String> {
    let step = step(state, agent, position, (id, claim, status), now, policy)?;
    if position != Position::Support || claim.claim_type != ClaimType::Negative {
        return Some(step);
    }
    // Agents supported the report of a bug to say that it is mended.
    let mends = json!({ "statement": way::STATEMENT, "supersedes": id, "mends": true });
    Some(format!("{step}{IF_MENDED}{}", way::call("create_claim", &mends)))
}

/// What stands in the receipt of a support before the way to say that a bug is mended.
pub const IF_MENDED: &str = "; if it is mended now, say so: ";

/// The supports that a proposed claim waits for. None if none is missing.
fn waits_for(state: &State, claim: &Claim, now: Timestamp, policy: &Policy) -> Option<String> {
    let missing = missing(state, claim, now, policy);
    if !missing.is_empty() {
        return Some(format!("it waits for the support of {}", names(&missing)));
    }
    let more = more_supports(counting(state, claim, policy).len(), policy)?;
    Some(format!("it waits for {more}"))
}

/// The number of supports that an agreement still needs, in words. None if it has enough.
fn more_supports(counting: usize, policy: &Policy) -> Option<String> {
    match supports_needed(policy).saturating_sub(counting) {
        0 => None,
        1 => Some("1 more support".to_owned()),
        lacking => Some(format!("{lacking} more supports")),
    }
}

fn names(agents: &[&AgentId]) -> String {
    agents.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn step(
    state: &State,
    agent: &AgentId,
    position: Position,
    (id, claim, status): (ClaimId, &Claim, Status),
    now: Timestamp,
    policy: &Policy,
) -> Option<String> {
    let supporters = counting(state, claim, policy);
    let more = more_supports(supporters.len(), policy);
    match (position, status) {
        (Position::Challenge, Status::PendingProof) => {
            let run = claim.pending_run.map_or_else(String::new, |run| format!("run {run} is under way; "));
            Some(format!("{run}it does not answer this challenge, and the claim stays contested for it"))
        }
        (Position::Challenge, _) => {
            let gives_in = if policy.only_operator_confirms { "abstains" } else { "supports or abstains" };
            let end = decision::end_of(state, (id, claim), policy);
            Some(format!("settled when {end}, or every challenger {gives_in}"))
        }
        (Position::Support, Status::Confirmed) if !supporters.is_empty() => {
            let by = names(&supporters);
            let more = more.filter(|_| claim.by_silence && !claim.is_proven);
            Some(more.map_or_else(
                || format!("confirmed: agreed by {by}"),
                |more| {
                    format!("confirmed: agreed by silence, and supported by {by}; with {more} it is agreed")
                },
            ))
        }
        (Position::Support, Status::Confirmed) if claim.by_silence && policy.only_operator_confirms => {
            Some("confirmed: agreed by silence".to_owned())
        }
        (Position::Support, Status::Confirmed) if claim.by_silence => {
            Some("confirmed: agreed by silence, until another agent supports it".to_owned())
        }
        (Position::Support, Status::Confirmed) => Some("confirmed: shown by a run".to_owned()),
        (Position::Support, Status::Proposed) => {
            let is_own = claim.owner == *agent && !policy.quorum.owner_counts;
            let beside = target::beside(state, (id, claim)).filter(|_| more.is_none());
            Some(match (waits_for(state, claim, now, policy), beside) {
                _ if is_own => {
                    "your own support does not count: it waits for the support of another agent".to_owned()
                }
                (_, Some(beside)) if missing(state, claim, now, policy).is_empty() => format!(
                    "not confirmed, and your support is kept: {beside} (`hivemind://contradictions`); {}",
                    decision::settles_all(state, (id, claim), policy)
                ),
                (waits, _) => format!(
                    "not confirmed yet: {}",
                    waits.unwrap_or_else(|| "it waits for a support".to_owned())
                ),
            })
        }
        (Position::Support, Status::Contested) => {
            let open = claim.challengers().filter(|challenger| !claim.answered.contains(challenger));
            let open = names(&open.collect::<Vec<_>>());
            let gives_in = if policy.only_operator_confirms { "abstain" } else { "support or abstain" };
            Some(format!("still challenged by {open}: each challenger must {gives_in}"))
        }
        (Position::Support, Status::PendingProof) => Some("a run is to decide: it is under way".to_owned()),
        _ => None,
    }
}
