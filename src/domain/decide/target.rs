//! Names of targets: the first use registers a name, and `alias_target` joins two. One decision of a target is confirmed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::quorum::agreed_status;
use super::supersession::{ConfirmedBy, take_place};
use super::{Accepted, Policy, contradiction, overrule, transition};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Status};
use crate::domain::command::{AliasTarget, PartTarget};
use crate::domain::event::{Event, TargetAliased, TargetParted};
use crate::domain::ids::ClaimId;
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, State};
use crate::domain::time::Timestamp;
use crate::domain::versions::Versions;
use crate::domain::way;

/// Minimum length of a part of a name, in letters, for a spelling check. Shorter parts differ on purpose too often.
const LONG_ENOUGH: usize = 5;
/// Maximum number of letters by which a misspelt part differs.
const MAX_SLIPS: usize = 2;
/// The same of a short part: `clock` and `close` are two words.
const MAX_SHORT_SLIPS: usize = 1;
/// The least number of letters of a part that is not short.
const NOT_SHORT: usize = 6;

/// Replaces each target by its canonical name, then sorts and deduplicates the scopes.
pub(super) fn canonical(state: &State, scopes: &[Scope]) -> Vec<Scope> {
    let mut scopes: Vec<Scope> = scopes.iter().map(|scope| state.canonical(scope).clone()).collect();
    scopes.sort();
    scopes.dedup();
    scopes
}

/// Warns of each new target whose name is similar to a known one.
pub(super) fn suggestions(state: &State, scopes: &[Scope]) -> Vec<Warning> {
    scopes
        .iter()
        .filter(|scope| scope.is_target() && !state.knows_target(scope))
        .filter_map(|scope| {
            if let Some(twin) = state.targets().find(|known| known.looks_like(scope)) {
                let message = format!(
                    "{scope} looks like {twin} and is written in other letters: if {twin} is meant, use that name"
                );
                return Some(Warning { code: WarningCode::SimilarTarget, message, claim_id: None });
            }
            let alike = state.targets().filter(|known| is_respelled(known.name(), scope.name()));
            let known = alike.min_by_key(|known| (strsim::osa_distance(known.name(), scope.name()), *known))?;
            Some(Warning {
                code: WarningCode::SimilarTarget,
                message: format!(
                    "{scope} is a new target: if {known} is meant, use that name, or ask the operator to join them: {}",
                    way::call("alias_target", &json!({ "target": known.name(), "alias": scope.name() }))
                ),
                claim_id: None,
            })
        })
        .collect()
}

/// Whether two names differ in spelling only: in separators, in a plural, or in one or two letters of one long part.
/// Names of a family, such as `stream.api` and `stream.lexing`, share a part and differ in another.
fn is_respelled(known: &str, new: &str) -> bool {
    let is_separator = |c: char| !c.is_alphanumeric();
    let parts = |name: &str| name.split(is_separator).map(str::to_lowercase).collect::<Vec<_>>();
    let (known, new) = (parts(known), parts(new));
    if known.concat() == new.concat() {
        return true;
    }
    let mut differ = known.iter().zip(&new).filter(|(known, new)| known != new);
    let (Some((one, other)), None) = (differ.next(), differ.next()) else { return false };
    known.len() == new.len() && is_slip(one, other)
}

fn is_slip(one: &str, other: &str) -> bool {
    let is_plural =
        |one: &str, many: &str| many.strip_prefix(one).is_some_and(|end| ["s", "es"].contains(&end));
    let letters = |word: &str| word.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    // Numbered names, such as `phase1` and `phase2`, differ on purpose.
    let is_count = letters(one) == letters(other);
    let least = one.chars().count().min(other.chars().count());
    let slips = if least < NOT_SHORT { MAX_SHORT_SLIPS } else { MAX_SLIPS };
    is_plural(one, other)
        || is_plural(other, one)
        || least >= LONG_ENOUGH && !is_count && strsim::osa_distance(one, other) <= slips
}

pub(super) fn alias(state: &State, command: &AliasTarget) -> Result<Accepted, Rejection> {
    for (argument, scope) in [("target", &command.target), ("alias", &command.alias)] {
        if !scope.is_target() {
            return Err(Rejection::invalid(
                argument,
                format!("{scope} is no target: name it as target:NAME"),
            ));
        }
    }
    let (target, alias) = (state.canonical(&command.target), state.canonical(&command.alias));
    if target == alias {
        return Err(Rejection::new(
            Code::DuplicateAlias,
            format!("{} and {} name one target already", command.target, command.alias),
            "nothing to do: they are joined",
        ));
    }
    let (events, is_disputed) = joined(state, target, alias);
    let next = is_disputed.then(|| {
        let both: Vec<ClaimId> = state.decisions_on(target).chain(state.decisions_on(alias)).collect();
        let instead = json!({
            "statement": way::STATEMENT, "target": target.name(), "rationale": way::REASON, "supersedes": both,
        });
        let instead = way::call("record_decision", &instead);
        format!("{} decisions on {target} are in force now, and the architect decides: {instead}", both.len())
    });
    Ok(Accepted { events, next, ..Accepted::default() })
}

/// An alias becomes another name of a target. Besides, whether both have decisions in force.
fn joined(state: &State, target: &Scope, alias: &Scope) -> (Vec<Event>, bool) {
    let mut events = vec![TargetAliased { target: target.clone(), alias: alias.clone() }.into()];
    let conflicts = contradiction::on_alias(state, target, alias);
    let is_disputed = !conflicts.is_empty();
    events.extend(conflicts);
    (events, is_disputed)
}

/// Joins a target that an earlier release took for another one to the target that its name means now, such as `p//q` to
/// `p/q`. Two decisions in force on them contradict each other from then on. Empty if no target is left to join.
pub(crate) fn respelled(state: &State) -> Vec<Event> {
    let respelled = state.targets().find_map(|known| {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
        let meant = Some(known).filter(|known| !known.name().chars().all(is_plain))?;
        let meant = Scope::target(meant.name()).ok().filter(|meant| meant != known)?;
        let (of_known, of_meant) = (state.canonical(known), state.canonical(&meant));
        (of_known != of_meant).then(|| {
            // The operator may have joined the old name to another one.
            let is_chosen = Scope::target(of_known.name()).is_ok_and(|chosen| chosen == *of_known);
            if is_chosen { joined(state, of_known, of_meant) } else { joined(state, of_meant, of_known) }
        })
    });
    respelled.map(|(events, _)| events).unwrap_or_default()
}

pub(super) fn part(state: &State, command: &PartTarget) -> Result<Accepted, Rejection> {
    let alias = &command.alias;
    let Some(target) = state.joined_to(alias) else {
        let others: Vec<&str> = state.aliases_below(alias).into_iter().map(Scope::name).collect();
        let hint = match others.iter().filter(|name| **name != alias.name()).collect::<Vec<_>>().as_slice() {
            [] => "nothing to do: it stands for itself; `hivemind://targets` lists the aliases".to_owned(),
            others => {
                format!("name the alias: {}", others.iter().map(|name| **name).collect::<Vec<_>>().join(", "))
            }
        };
        return Err(Rejection::new(Code::NoAlias, format!("{alias} is no alias of another target"), hint));
    };
    let mut events = vec![TargetParted { target: target.clone(), alias: alias.clone() }.into()];
    events.extend(contradiction::on_parting(state, alias));
    let next = format!(
        "{target} and {alias} are two targets; what was recorded while they were one is about {target}"
    );
    Ok(Accepted { events, next: Some(next), ..Accepted::default() })
}

/// The other decisions in force on the target of a decision.
pub(super) fn rivals(state: &State, (id, claim): (ClaimId, &Claim)) -> BTreeSet<ClaimId> {
    if claim.claim_type != ClaimType::Decision {
        return BTreeSet::new();
    }
    let recorded = state.decision(id).and_then(|decision| decision.target.as_ref());
    let targets = claim.scopes.iter().filter(|scope| scope.is_target()).chain(recorded);
    let decisions = targets.flat_map(|target| state.decisions_on(state.canonical(target)));
    decisions.filter(|other| *other != id).collect()
}

/// A clause that names the other decisions on the target of a decision. None without any.
pub(super) fn beside(state: &State, (id, claim): (ClaimId, &Claim)) -> Option<String> {
    let rivals = rivals(state, (id, claim));
    let owned = |id: &ClaimId| Some(format!("{id} of {}", state.claim(*id)?.owner));
    let names: Vec<String> = rivals.iter().filter_map(owned).collect();
    match names.as_slice() {
        [] => None,
        [name] => Some(format!("decision {name} is in force on its target too and contradicts it")),
        names => Some(format!("decisions {} are in force on its target too", names.join(" and "))),
    }
}

/// Who decides between several decisions on one target: no owner ends the decision of another one.
pub(super) fn umpire(state: &State, decisions: &BTreeSet<ClaimId>, policy: &Policy) -> AgentId {
    let mut claims = decisions.iter().filter_map(|id| state.claim(*id));
    let is_the_operators = claims.any(|claim| overrule::claims_word(claim, policy));
    if is_the_operators { AgentId::operator() } else { AgentId::architect() }
}

/// The confirmation of each decision that only another one on its target prevented, where these events end that, and what
/// the confirmation replaces.
pub(super) fn freed(
    state: &State,
    events: &[Event],
    now: Timestamp,
    policy: &Policy,
) -> (Vec<Event>, Vec<Warning>) {
    let mut gone = BTreeSet::new();
    let mut taken = BTreeSet::new();
    let mut parted = BTreeSet::new();
    let mut touched: BTreeSet<&Scope> = BTreeSet::new();
    for event in events {
        if let Event::StatusChanged(change) = event
            && change.to == Status::Deprecated
        {
            gone.insert(change.claim_id);
            touched.extend(state.decision(change.claim_id).and_then(|decision| decision.target.as_ref()));
        } else if let Event::DecisionRecorded(decision) = event {
            taken.extend(decision.target.as_ref().map(|target| state.canonical(target)));
        } else if let Event::TargetParted(event) = event {
            parted.extend(state.aliases_below(&event.alias));
            touched.insert(state.canonical(&event.alias));
        }
    }
    let goes = |id: ClaimId| state.named_target(id).is_some_and(|named| parted.contains(named));
    let (mut freed, mut warnings) = (Vec::new(), Vec::new());
    for target in touched.into_iter().filter(|target| !taken.contains(target)) {
        let mut groups: BTreeMap<bool, Vec<ClaimId>> = BTreeMap::new();
        for id in state.decisions_on(target).filter(|id| !gone.contains(id)) {
            groups.entry(goes(id)).or_default().push(id);
        }
        let alone = groups.into_values().filter_map(|group| <[ClaimId; 1]>::try_from(group).ok());
        for (id, claim) in alone.filter_map(|[id]| Some((id, state.claim(id)?))) {
            let (events, warning) = confirmed(state, (id, claim), now, policy);
            freed.extend(events);
            warnings.extend(warning);
        }
    }
    (freed, warnings)
}

/// The confirmation of each decision that is alone on its target and that its positions confirm, and the end of its
/// contradictions. An erasure can leave one.
pub(crate) fn alone(state: &State, now: Timestamp, policy: &Policy) -> Vec<Event> {
    let on_each = state.targets().map(|target| state.decisions_on(target).collect::<Vec<ClaimId>>());
    let alone = on_each.filter_map(|all| <[ClaimId; 1]>::try_from(all).ok());
    let alone = alone.filter_map(|[id]| Some((id, state.claim(id)?)));
    let confirmed = alone.flat_map(|(id, claim)| confirmed(state, (id, claim), now, policy).0);
    confirmed.chain(contradiction::ended_by_erasure(state)).collect()
}

/// The confirmation of a decision that is alone on its target, if its positions confirm it.
fn confirmed(
    state: &State,
    (id, claim): (ClaimId, &Claim),
    now: Timestamp,
    policy: &Policy,
) -> (Vec<Event>, Option<Warning>) {
    if claim.status != Status::Proposed || agreed_status(state, claim, now, policy) != Status::Confirmed {
        return (Vec::new(), None);
    }
    let why = "no other decision is in force on its target any more";
    let mut events = vec![transition(id, claim.status, Status::Confirmed, why)];
    let by = ConfirmedBy::Positions(None, &Versions::new());
    let (replaced, warning) = take_place(state, (id, claim), by, policy);
    events.extend(replaced);
    (events, warning)
}
