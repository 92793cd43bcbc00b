//! Decisions: a choice with its rationale, one in force for each target, and its outcomes.

use std::collections::BTreeSet;

use serde_json::json;

use super::claim::{create_claim, may_deprecate};
use super::supersession::{Successor, Supersession, supersede};
use super::{
    Accepted, Policy, Speaker, challenge, check_list, fresh_id, known_claim, overrule, support, target,
    transition,
};
use crate::domain::agent::AgentId;
use crate::domain::amendment::Change;
use crate::domain::claim::{ClaimType, Outcome, Override, Position, Share, Status};
use crate::domain::clean;
use crate::domain::command::{Alternative, CreateClaim, RecordDecision, RecordOutcome};
use crate::domain::event::{
    ClaimCreated, DecisionRecorded, Event, OutcomeRecorded, OverrideProposed, RejectedAlternative,
};
use crate::domain::ids::ClaimId;
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, Proposal, State};
use crate::domain::text;
use crate::domain::time::Timestamp;
use crate::domain::versions::Versions;
use crate::domain::way;

/// Minimum length of a rationale, in characters. A shorter text says nothing.
const MIN_RATIONALE_CHARS: usize = 10;
/// Minimum length of a rationale that replaces another decision, in characters. It must answer the other rationale.
const MIN_OVERRIDE_CHARS: usize = 15;
/// The reason for deprecating an alternative that was given as text.
const REJECTED: &str = "rejected alternative";

/// Refuses a claim that avoids the rules of decisions: a decision on a target, a decision with a time limit, or any claim
/// that supersedes a decision.
pub(super) fn check_claim(
    state: &State,
    speaker: Speaker<'_>,
    create: &CreateClaim,
    policy: &Policy,
) -> Result<(), Rejection> {
    if let Some(old) = create.supersedes
        && let Some(claim) = state.claim(old)
    {
        stays(state, speaker, (old, claim), policy)?;
    }
    if create.claim_type != ClaimType::Decision {
        return Ok(());
    }
    if create.ttl_hours.is_some() {
        return Err(Rejection::invalid("ttl_hours", "a decision holds until another one supersedes it"));
    }
    let Some(target) = create.scopes.iter().find(|scope| scope.is_target()) else { return Ok(()) };
    if overrule::is_for_operator(speaker.0, create, policy) {
        return Ok(());
    }
    Err(Rejection::new(
        Code::RationaleRequired,
        format!("a decision on {target} says why"),
        format!(
            "say why in {MIN_RATIONALE_CHARS} characters or more: {}",
            way::call("record_decision", &recorded(create, target))
        ),
    )
    .with("target", target))
}

/// Refuses a support by which the operator would make a proposal on a target a decision without a reason, and beside another
/// one that is in force there.
///
/// # Errors
/// [`Code::RationaleRequired`].
pub(super) fn refuse_unreasoned(
    state: &State,
    agent: &AgentId,
    (id, claim): (ClaimId, &Claim),
) -> Result<(), Rejection> {
    let is_proposal = claim.claim_type == ClaimType::Decision && state.decision(id).is_none();
    // A claim that proposes a decision is not about its target: the proposal names it.
    let asked = state.proposals(id).filter(|open| open.asks == Override::Decide);
    let mut targets = asked.filter_map(|open| open.target.as_ref()).chain(&claim.scopes);
    let Some(target) = targets.find(|scope| scope.is_target()) else { return Ok(()) };
    if !is_proposal || *agent != AgentId::operator() {
        return Ok(());
    }
    let instead: BTreeSet<ClaimId> =
        state.decisions_on(state.canonical(target)).filter(|old| *old != id).collect();
    let mut call = json!({ "claim_id": id, "target": target.name(), "rationale": way::REASON });
    if !instead.is_empty() {
        call["supersedes"] = json!(instead);
    }
    Err(Rejection::new(
        Code::RationaleRequired,
        format!("claim {id} proposes a decision on {target}: a support does not decide it"),
        format!("decide it, with the reason: {}", way::call("record_decision", &call)),
    )
    .with("target", target))
}

/// The arguments that record a claim about a target as a decision.
fn recorded(create: &CreateClaim, target: &Scope) -> serde_json::Value {
    let mut call =
        json!({ "statement": create.statement, "target": target.name(), "rationale": way::REASON });
    let scopes: Vec<&Scope> = create.scopes.iter().filter(|scope| !scope.is_target()).collect();
    if !scopes.is_empty() {
        call["scopes"] = json!(scopes);
    }
    if !create.asks.is_empty() {
        call["asks"] = json!(create.asks);
    }
    call
}

/// Refuses to deprecate a decision by any other means than a new decision. The operator is no exception.
pub(super) fn stays(
    state: &State,
    speaker: Speaker<'_>,
    (id, claim): (ClaimId, &Claim),
    policy: &Policy,
) -> Result<(), Rejection> {
    if claim.claim_type != ClaimType::Decision || is_mere_proposal(state, speaker, (id, claim), policy) {
        return Ok(());
    }
    Err(Rejection::new(
        Code::RationaleRequired,
        format!("claim {id} is a decision: only a decision with a rationale takes its place"),
        if may_deprecate(state, speaker, claim) {
            let outcome = way::call("record_outcome", &json!({ "decision_id": id, "outcome": "failure" }));
            format!(
                "with a rationale of {MIN_OVERRIDE_CHARS} characters or more, {}; if it turned out badly: {outcome}",
                decided_anew(state, speaker, (id, claim), policy)
            )
        } else {
            of_another(id, claim)
        },
    )
    .with("decision_id", id))
}

/// Whether the claim is a decision that only the operator may make and has not made, and the speaker may take it back or
/// decline it.
fn is_mere_proposal(
    state: &State,
    (agent, session): Speaker<'_>,
    (id, claim): (ClaimId, &Claim),
    policy: &Policy,
) -> bool {
    // Its proposal outlives the policy under which it was made.
    let is_proposal = |open: &Proposal| {
        open.asks == Override::Decide
            && open.agent == claim.owner
            && open.successor.is_none()
            && open.statement.is_none()
    };
    (policy.only_operator_confirms || state.proposals(id).any(is_proposal))
        && state.decision(id).is_none()
        && claim.status != Status::Confirmed
        && claim.owner != AgentId::operator()
        && (*agent == AgentId::operator() || state.owns(agent, session, claim))
}

/// How a claim of this type ends, as a part of a sentence.
pub(super) fn end_of(state: &State, (id, claim): (ClaimId, &Claim), policy: &Policy) -> String {
    let owner = &claim.owner;
    match claim.claim_type {
        ClaimType::Decision if target::rivals(state, (id, claim)).is_empty() => {
            format!("{owner} decides anew")
        }
        ClaimType::Decision => {
            let decider = target::umpire(state, &on_its_target(state, (id, claim)), policy);
            format!("the {decider} decides anew, because another decision is in force on its target too")
        }
        ClaimType::Fact | ClaimType::Hypothesis | ClaimType::Negative => format!("{owner} deprecates it"),
    }
}

/// A decision and the others in force on its target.
fn on_its_target(state: &State, (id, claim): (ClaimId, &Claim)) -> BTreeSet<ClaimId> {
    let mut all = target::rivals(state, (id, claim));
    all.insert(id);
    all
}

/// Who settles a contradiction between decisions on one target, with the call that does it.
pub(super) fn settles_all(state: &State, (id, claim): (ClaimId, &Claim), policy: &Policy) -> String {
    let all = on_its_target(state, (id, claim));
    format!("the {} decides: {}", target::umpire(state, &all, policy), instead_of_all(&all, claim))
}

/// The way in which a speaker replaces a decision that it may deprecate: a new decision supersedes all on its target.
pub(super) fn decided_anew(
    state: &State,
    speaker: Speaker<'_>,
    (id, claim): (ClaimId, &Claim),
    policy: &Policy,
) -> String {
    let all = on_its_target(state, (id, claim));
    let call = instead_of_all(&all, claim);
    let may_all = || all.iter().filter_map(|id| state.claim(*id)).all(|it| may_deprecate(state, speaker, it));
    match target::beside(state, (id, claim)).filter(|_| !may_all()) {
        None => format!("decide anew: {call}"),
        Some(beside) => {
            let decider = target::umpire(state, &all, policy);
            format!("{beside}: ask the {decider} to decide for all of them: {call}")
        }
    }
}

/// The call that replaces this decision by another one.
pub(super) fn instead_of(id: ClaimId, claim: &Claim) -> String {
    instead_of_all(&BTreeSet::from([id]), claim)
}

/// The call that replaces these decisions on the target of one of them.
fn instead_of_all(all: &BTreeSet<ClaimId>, claim: &Claim) -> String {
    let mut instead = json!({ "statement": way::STATEMENT, "rationale": way::REASON, "supersedes": all });
    match claim.scopes.iter().find(|scope| scope.is_target()) {
        Some(target) => instead["target"] = json!(target.name()),
        None => instead["scopes"] = json!(claim.scopes),
    }
    way::call("record_decision", &instead)
}

/// The agents that may deprecate a claim of this owner.
pub(super) fn with_architect(owner: &AgentId) -> String {
    if *owner == AgentId::architect() { owner.to_string() } else { format!("{owner} or the architect") }
}

/// The way forward for an agent that may not replace this decision.
fn of_another(id: ClaimId, claim: &Claim) -> String {
    format!("{}, or ask {} to decide anew", challenge(id), with_architect(&claim.owner))
}

pub(super) fn record(
    state: &State,
    speaker: Speaker<'_>,
    record: &RecordDecision,
    versions: &Versions,
    now: Timestamp,
    policy: &Policy,
) -> Result<Accepted, Rejection> {
    check_rationale(record)?;
    check_list("alternatives", record.alternatives.len())?;
    check_list("supersedes", record.supersedes.len())?;
    let replaced: BTreeSet<ClaimId> = record.supersedes.iter().copied().collect();
    if record.mends && replaced.is_empty() {
        return Err(Rejection::invalid("mends", "name the decisions that it mends as supersedes"));
    }
    if record.target.as_ref().is_some_and(Scope::is_path) {
        return Err(Rejection::invalid("target", "a target is a name, not a path"));
    }
    check_ids(record)?;
    let target = target_of(state, record)?.or_else(|| inherited(state, &replaced));
    let record =
        &RecordDecision { target: record.target.clone().or_else(|| target.clone()), ..record.clone() };
    let conflicts: Vec<ClaimId> = target.iter().flat_map(|target| state.decisions_on(target)).collect();
    if let Some(other) = conflicts.iter().find(|id| !replaced.contains(id)) {
        let target = target.as_ref().expect("conflicts are those on the target");
        // An agent may replace its own decisions. Against a decision of the operator it makes a proposal.
        let others = conflicts.iter().filter_map(|id| Some((*id, state.claim(*id)?)));
        let others = others
            .filter(|(_, claim)| !overrule::stands(speaker.0, claim, policy))
            .find(|(_, claim)| !may_deprecate(state, speaker, claim));
        let rationale = record.rationale.as_str();
        let is_enough = rationale.chars().count() >= MIN_OVERRIDE_CHARS;
        let mut yours = as_called(record);
        yours["target"] = json!(target.name());
        yours["supersedes"] = json!(conflicts);
        yours["rationale"] = json!(if is_enough { rationale } else { way::REASON });
        return Err(Rejection::new(
            Code::TargetConflict,
            in_force(&conflicts, &replaced, target),
            match others {
                Some(_) if conflicts.len() > 1 => {
                    let decider = target::umpire(state, &conflicts.iter().copied().collect(), policy);
                    let call = way::call("record_decision", &yours);
                    format!("ask the {decider} to decide for all of them: {call}")
                }
                Some((id, claim)) => format!("{}, or {}", support(id), of_another(id, claim)),
                None => format!(
                    "{}, or with a rationale of {MIN_OVERRIDE_CHARS} characters or more: {}",
                    support(*other),
                    way::call("record_decision", &yours)
                ),
            },
        )
        .with("conflicts_with", other));
    }

    let mut decision = match &record.statement {
        Some(statement) => {
            let scopes = record.scopes.iter().chain(&record.target).cloned().collect();
            let claim = CreateClaim {
                event_type: None,
                origin_task_id: None,
                claim_id: record.claim_id,
                statement: statement.clone(),
                claim_type: ClaimType::Decision,
                scopes,
                confidence: Share::FULL,
                supersedes: None,
                ttl_hours: None,
                evidence_refs: record.evidence_refs.iter().copied().map(Into::into).collect(),
                trigger: None,
                mends: false,
                asks: record.asks.clone(),
                tells: Vec::new(),
                unless_objection_minutes: record.unless_objection_minutes,
            };
            let replaced: Vec<ClaimId> = replaced.iter().copied().collect();
            create_claim(state, speaker, &claim, &replaced, versions, now, policy)?
        }
        None => existing(state, speaker, record, policy)?,
    };
    decision.events.push(
        DecisionRecorded {
            claim_id: record.claim_id,
            rationale: record.rationale.clone(),
            context: record.context.clone(),
            target: target.clone(),
            decided_at: record.decided_at,
            alternatives: record.alternatives.iter().map(rejected).collect(),
        }
        .into(),
    );
    for alternative in &record.alternatives {
        reject(state, record, alternative, &mut decision)?;
    }
    let (mut proposed, mut out_of_force) = (Vec::new(), Vec::new());
    let left_open: Vec<Warning> =
        replaced.iter().filter_map(|old| left_open(state, *old, &replaced, target.as_ref())).collect();
    for old_id in replaced {
        let new = Successor { id: record.claim_id, mends: record.mends };
        match supersede(state, speaker, old_id, new, policy)? {
            Supersession::Now(events) => {
                decision.events.extend(events);
                out_of_force.push(old_id);
            }
            Supersession::Proposed(_) => proposed.push(proposal(old_id, record, target.as_ref())),
            Supersession::OnceConfirmed { owner, .. } => {
                return Err(Rejection::new(
                    Code::NotAllowed,
                    format!("decision {old_id} belongs to {owner}"),
                    if conflicts.len() > 1 {
                        let decider = target::umpire(state, &conflicts.iter().copied().collect(), policy);
                        format!("{}, or ask the {decider} to decide for all of them", challenge(old_id))
                    } else {
                        format!("{}, or ask {} to decide anew", challenge(old_id), with_architect(&owner))
                    },
                ));
            }
        }
    }
    // The command would leave two decisions in force on one target, so all of it waits for the operator.
    if !proposed.is_empty() {
        return overrule::once(state, speaker.0, proposed);
    }
    if let Some(said) = taken_over(state, &decision.events, record, &out_of_force) {
        decision.next = Some(decision.next.map_or(said.clone(), |next| format!("{said}; {next}")));
    }
    decision.warnings.extend(left_open);
    Ok(decision)
}

/// Maximum length of a change in a receipt, in characters.
const CHANGE_CHARS: usize = 240;

/// What a receipt says of the decisions that a new one puts out of force.
fn taken_over(
    state: &State,
    events: &[Event],
    record: &RecordDecision,
    replaced: &[ClaimId],
) -> Option<String> {
    if let ([old_id], Some(new)) = (replaced, &record.statement)
        && let Some(old) = state.claim(*old_id)
        && let Some(change) = Change::between(old.statement(), new.as_str())
    {
        let links = events
            .iter()
            .map(|event| if let Event::ClaimSuperseded(link) = event { Some(link) } else { None });
        let asked: Vec<String> =
            links.flatten().flat_map(|link| &link.asks).map(ToString::to_string).collect();
        let (asked, are) = (asked.join(" and "), if asked.len() == 1 { "is" } else { "are" });
        let asked = if asked.is_empty() { asked } else { format!("; {asked} {are} asked about this change") };
        // Its author knows the words; a slip shows in the first ones.
        let change = clean::cut_words(&change.to_string(), CHANGE_CHARS);
        return Some(format!("it amends {old_id}: {change}{asked}"));
    }
    let (are, it) = match replaced {
        [] => return None,
        [_] => ("is", "it"),
        _ => ("are", "them"),
    };
    let names: Vec<String> = replaced.iter().map(ToString::to_string).collect();
    Some(format!(
        "{} {are} out of force as a whole: what still holds of {it} and is not said here is to be decided again",
        names.join(" and ")
    ))
}

/// The arguments with which a caller recorded a decision, for a step that keeps them.
fn as_called(record: &RecordDecision) -> serde_json::Value {
    let mut call = match &record.statement {
        Some(statement) => json!({ "statement": statement }),
        None => json!({ "claim_id": record.claim_id }),
    };
    let scopes: Vec<&Scope> = record.scopes.iter().filter(|scope| !scope.is_target()).collect();
    let alternative = |it: &Alternative| match &it.statement {
        Some(statement) => json!({ "statement": statement, "rejection_reason": it.rejection_reason }),
        None => json!({ "claim_id": it.claim_id, "rejection_reason": it.rejection_reason }),
    };
    let alternatives: Vec<_> = record.alternatives.iter().map(alternative).collect();
    let minutes = record.unless_objection_minutes;
    for (name, value, is_given) in [
        ("scopes", json!(scopes), !scopes.is_empty()),
        ("alternatives", json!(alternatives), !alternatives.is_empty()),
        ("context", json!(record.context), record.context.is_some()),
        ("mends", json!(true), record.mends),
        ("asks", json!(record.asks), !record.asks.is_empty()),
        ("unless_objection_minutes", json!(minutes), minutes.is_some()),
    ] {
        if is_given {
            call[name] = value;
        }
    }
    call
}

/// The warning that a replaced decision was the last one on its target, and the new one is about another target or none.
fn left_open(
    state: &State,
    old_id: ClaimId,
    replaced: &BTreeSet<ClaimId>,
    target: Option<&Scope>,
) -> Option<Warning> {
    let of_old = state.decision(old_id)?.target.as_ref()?;
    let is_there = state.decisions_on(of_old).any(|id| id == old_id);
    let is_last = is_there && state.decisions_on(of_old).all(|id| replaced.contains(&id));
    if target == Some(of_old) || !is_last {
        return None;
    }
    let again = json!({ "statement": way::STATEMENT, "target": of_old.name(), "rationale": way::REASON });
    let again = way::call("record_decision", &again);
    let message = format!(
        "no decision is in force on {of_old} now: {old_id} was the last one there; to decide there: {again}"
    );
    Some(Warning { code: WarningCode::TargetLeftOpen, message, claim_id: Some(old_id) })
}

/// Names the decisions in force on the target that the new decision does not replace.
fn in_force(conflicts: &[ClaimId], replaced: &BTreeSet<ClaimId>, target: &Scope) -> String {
    let left: Vec<String> =
        conflicts.iter().filter(|id| !replaced.contains(id)).map(ToString::to_string).collect();
    match left.as_slice() {
        [only] => format!("decision {only} on {target} is in force"),
        several => format!("decisions {} on {target} are in force", several.join(" and ")),
    }
}

fn proposal(old: ClaimId, record: &RecordDecision, target: Option<&Scope>) -> OverrideProposed {
    OverrideProposed {
        claim_id: old,
        asks: Override::Decide,
        reason: record.rationale.as_str().parse().ok(),
        successor: record.statement.is_none().then_some(record.claim_id),
        statement: record.statement.clone(),
        target: target.cloned(),
        formerly: Vec::new(),
    }
}

/// The only target of a decision: its `target` argument, or a target among its scopes.
fn target_of(state: &State, record: &RecordDecision) -> Result<Option<Scope>, Rejection> {
    let of_claim = state.claim(record.claim_id).filter(|_| record.statement.is_none());
    let scopes = of_claim.map_or(&record.scopes, |claim| &claim.scopes).iter().chain(&record.scopes);
    let named = record.target.iter().chain(scopes.filter(|scope| scope.is_target()));
    let mut targets: BTreeSet<&Scope> = named.map(|target| state.canonical(target)).collect();
    let target = targets.pop_first();
    if let (Some(one), Some(other)) = (target, targets.first()) {
        let problem = format!("a decision is about one target, and this names {one} and {other}");
        return Err(Rejection::invalid("target", problem));
    }
    Ok(target.cloned())
}

/// The target of the decisions in force that a new one replaces, if they have one in common. A decision that names no target
/// of its own is about it.
fn inherited(state: &State, replaced: &BTreeSet<ClaimId>) -> Option<Scope> {
    let is_in_force = |id: &&ClaimId| state.claim(**id).is_some_and(|old| old.status != Status::Deprecated);
    let decisions = replaced.iter().filter(is_in_force).filter_map(|id| state.decision(*id));
    let mut targets: BTreeSet<&Scope> = decisions.filter_map(|old| old.target.as_ref()).collect();
    targets.pop_first().filter(|_| targets.is_empty()).cloned()
}

fn check_rationale(record: &RecordDecision) -> Result<(), Rejection> {
    let (least, what) = if record.supersedes.is_empty() {
        (MIN_RATIONALE_CHARS, "to say why")
    } else {
        (MIN_OVERRIDE_CHARS, "to say why it supersedes another decision")
    };
    let chars = text::seen_chars(record.rationale.as_str());
    if chars < least {
        return Err(Rejection::invalid(
            "rationale",
            format!("the rationale has {chars} characters, it takes {least} or more {what}"),
        ));
    }
    Ok(())
}

/// Refuses a claim that has two roles in one decision.
fn check_ids(record: &RecordDecision) -> Result<(), Rejection> {
    let alternatives = record.alternatives.iter().map(|alternative| alternative.claim_id);
    let mut seen = BTreeSet::from([record.claim_id]);
    for (argument, id) in alternatives
        .map(|id| ("alternatives", id))
        .chain(record.supersedes.iter().map(|id| ("supersedes", *id)))
    {
        if !seen.insert(id) && argument == "alternatives" {
            return Err(Rejection::invalid(argument, format!("claim {id} is named twice")));
        }
        if id == record.claim_id {
            return Err(Rejection::invalid(argument, "a decision neither replaces nor rejects itself"));
        }
    }
    Ok(())
}

/// Records an existing claim as a decision.
fn existing(
    state: &State,
    speaker: Speaker<'_>,
    record: &RecordDecision,
    policy: &Policy,
) -> Result<Accepted, Rejection> {
    let id = record.claim_id;
    let claim = known_claim(state, id)?;
    let (agent, session) = speaker;
    let is_the_operators = overrule::stands(agent, claim, policy) && !state.owns(agent, session, claim);
    if is_the_operators || !may_deprecate(state, speaker, claim) {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("claim {id} is {}'s, and only its owner says why it was decided", claim.owner),
            format!("{}, or ask {} to record the decision", support(id), claim.owner),
        ));
    }
    if !record.asks.is_empty() || record.unless_objection_minutes.is_some() {
        let argument = if record.asks.is_empty() { "unless_objection_minutes" } else { "asks" };
        let why = "only a new statement asks for positions: give the statement in place of the claim, or leave this out";
        return Err(Rejection::invalid(argument, why));
    }
    let refuse = |message: String, hint: &str| Err(Rejection::new(Code::NoDecision, message, hint));
    if claim.claim_type != ClaimType::Decision || claim.status == Status::Deprecated {
        let message = format!("claim {id} is a {} {}", claim.status, claim.claim_type);
        return refuse(message, "name a claim of type decision that is in force, or give a statement");
    }
    if claim.expires() {
        return refuse(
            format!("claim {id} expires, and a decision holds until another one supersedes it"),
            "give the statement instead of the claim",
        );
    }
    if state.decision(id).is_some() {
        return refuse(
            format!("claim {id} is on record as a decision already"),
            "record its outcome, or a new decision that supersedes it",
        );
    }
    refuse_new_target(agent, (id, claim), record)?;
    Ok(Accepted::default())
}

/// Refuses to make a claim that others supported a decision on a target that they did not see.
fn refuse_new_target(
    agent: &AgentId,
    (id, claim): (ClaimId, &Claim),
    record: &RecordDecision,
) -> Result<(), Rejection> {
    let is_supporter = |(by, held): &(&AgentId, &Position)| **held == Position::Support && *by != agent;
    let supporter = claim.positions.iter().find(is_supporter).map(|(by, _)| by.to_string());
    // Silence is a word of all who could object, and they saw no target either.
    let is_silent = claim.by_silence || claim.silent_at.is_some();
    let supporter = supporter.or_else(|| is_silent.then(|| "the silence of the team".to_owned()));
    let target = record.target.as_ref().filter(|target| !claim.scopes.contains(target));
    let (Some(supporter), Some(target)) = (supporter.filter(|_| *agent != AgentId::operator()), target)
    else {
        return Ok(());
    };
    let anew = json!({
        "statement": claim.statement(), "target": target.name(), "rationale": record.rationale,
        "scopes": claim.scopes, "supersedes": [id],
    });
    Err(Rejection::new(
        Code::NotAllowed,
        format!("{supporter} supported claim {id}, which names no target: that is no word for {target}"),
        format!(
            "decide it as a new statement, which the others are asked about: {}",
            way::call("record_decision", &anew)
        ),
    )
    .with("target", target))
}

fn rejected(alternative: &Alternative) -> RejectedAlternative {
    RejectedAlternative {
        claim_id: alternative.claim_id,
        rejection_reason: alternative.rejection_reason.clone(),
    }
}

/// Creates a claim for an alternative given as text, and deprecates it at once. Searches still find it.
fn reject(
    state: &State,
    record: &RecordDecision,
    alternative: &Alternative,
    decision: &mut Accepted,
) -> Result<(), Rejection> {
    let claim_id = alternative.claim_id;
    let Some(statement) = &alternative.statement else {
        return known_claim(state, claim_id).map(|_| ());
    };
    fresh_id(state, "alternatives", claim_id.creation_event())?;
    let own: Vec<Scope> = record.scopes.iter().chain(&record.target).cloned().collect();
    let mut scopes = match state.claim(record.claim_id) {
        Some(claim) if own.is_empty() => claim.scopes.clone(),
        _ => own,
    };
    scopes = target::canonical(state, &scopes);
    let created = ClaimCreated {
        origin_task_id: None,
        claim_id,
        statement: statement.clone(),
        claim_type: ClaimType::Hypothesis,
        event_type: None,
        scopes,
        confidence: Share::FULL,
        supersedes: None,
        ttl_hours: None,
        trigger: None,
        mends: false,
        versions: Versions::new(),
        seen_in: None,
        asks: Vec::new(),
        tells: Vec::new(),
        objection_until: None,
    };
    decision.events.push(created.into());
    decision.events.push(transition(claim_id, Status::Proposed, Status::Deprecated, REJECTED));
    Ok(())
}

pub(super) fn record_outcome(state: &State, record: &RecordOutcome) -> Result<Accepted, Rejection> {
    let id = record.decision_id;
    let claim = known_claim(state, id)?;
    let Some(decision) = state.decision(id) else {
        return Err(Rejection::new(
            Code::NoDecision,
            format!("claim {id} is not on record as a decision"),
            format!(
                "record it first: {}, or name one of `hivemind://decisions`",
                way::call("record_decision", &json!({ "claim_id": id, "rationale": way::REASON }))
            ),
        ));
    };
    if decision.outcome == Some(record.outcome) {
        return Err(Rejection::new(
            Code::DuplicateOutcome,
            format!("the outcome of decision {id} is {} already", record.outcome),
            "nothing to do: it is on record",
        ));
    }
    let offer = || {
        let notes = record.notes.as_ref().map_or_else(|| "say what failed".to_owned(), ToString::to_string);
        // A back-quote would end the call in the hint.
        let statement = format!("decision {id} failed: {notes}").replace('`', "'");
        let dead_end =
            json!({ "statement": statement, "claim_type": ClaimType::Negative, "scopes": claim.scopes });
        format!("spare others the dead end: {}", way::call("create_claim", &dead_end))
    };
    Ok(Accepted {
        events: vec![
            OutcomeRecorded { claim_id: id, outcome: record.outcome, notes: record.notes.clone() }.into(),
        ],
        next: (record.outcome == Outcome::Failure).then(offer),
        ..Accepted::default()
    })
}
