//! Claims are created, and deprecated.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::json;

use super::evidence::About;
use super::quorum::Policy;
use super::supersession::{Successor, Supersession, last_successor, supersede};
use super::{
    Accepted, Speaker, against, asking, challenge, check_list, contradiction, decision, evidence, fresh_id,
    instead_of, known_claim, overrule, plan, support, target, told,
};
use crate::domain::action;
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, HYPOTHESIS_TTL, Override, Position, Relation, Share, Status, Trigger};
use crate::domain::command::{CreateClaim, DeprecateClaim};
use crate::domain::event::{ClaimCreated, EvidenceAdded, StatusChanged};
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::{ClaimId, EventId, SessionId, TaskId};
use crate::domain::pairs::Reading;
use crate::domain::plan::check_globs;
use crate::domain::receipt::{Cited, Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::{MAX_SCOPES, Scope};
use crate::domain::state::{Claim, Fingerprint, State};
use crate::domain::time::{Hours, Timestamp};
use crate::domain::versions::Versions;
use crate::domain::way;

/// The most dead ends a receipt names; more would be noise.
const MAX_DEAD_END_WARNINGS: usize = 2;

/// Words a claim and a dead end share at least to be about the same thing: one common word is chance.
const MIN_SHARED_SUBJECTS: usize = 2;

/// `replaced` are the claims the new one takes the place of, now or once it is confirmed.
pub(super) fn create_claim(
    state: &State,
    (agent, session): Speaker<'_>,
    create: &CreateClaim,
    replaced: &[ClaimId],
    versions: &Versions,
    now: Timestamp,
    policy: &Policy,
) -> Result<Accepted, Rejection> {
    fresh_id(state, "claim_id", create.claim_id.creation_event())?;
    let scopes = target::canonical(state, &create.scopes);
    check_new(create, &scopes)?;
    asking::check(state, (agent, session), create, replaced)?;
    refuse_twin(state, (agent, session), create, &scopes, policy)?;
    refuse_disputed(state, agent, (create, replaced), &scopes)?;
    let evidence_refs = evidence::all_named(state, session, &create.evidence_refs)?;
    if let Some(task) = create.origin_task_id {
        plan::known_task(state, task)?;
    }

    let mut decision = Accepted::default();
    let new = Successor { id: create.claim_id, mends: create.mends };
    let supersession =
        create.supersedes.map(|old| supersede(state, (agent, session), old, new, policy)).transpose()?;
    let origin = create.origin_task_id.or_else(|| plan::held_at(state, session, &scopes, now));
    decision.events.push(created(create, &scopes, origin, supersession.as_ref(), now).into());
    let tied = tied(state, session, create, (evidence_refs, &scopes, versions), now)?;
    for (event, cited) in tied {
        decision.cited.push(cited);
        decision.events.push(event.into());
    }
    let waits_for = match &supersession {
        Some(Supersession::Proposed(old)) => Some(*old),
        Some(Supersession::Now(_) | Supersession::OnceConfirmed { .. }) | None => None,
    };
    if let Some(supersession) = supersession {
        let (mut events, warning) = supersession.on_creation(create.claim_id);
        asking::leave_out_told(state, create, &mut events);
        decision.events.extend(events);
        decision.warnings.extend(warning);
    }
    let mended = create.supersedes.filter(|_| create.mends);
    decision.warnings.extend(mended.and_then(|old| unmended(state, old, create.claim_id, versions)));
    let reading = Reading::of(create.statement.as_str());
    contradiction::on_creation(state, agent, create, (&reading, &scopes), replaced, &mut decision);
    if create.claim_type != ClaimType::Negative {
        let told =
            decision.warnings.iter().filter_map(|warning| warning.claim_id).chain(replaced.iter().copied());
        let told: Vec<ClaimId> = told.collect();
        let about = (create.statement.as_str(), &reading, scopes.as_slice());
        // What the author names, supported, or asks the owner about is known to it.
        let is_known = |id: ClaimId, dead_end: &Claim| {
            dead_end.positions.get(agent) == Some(&Position::Support)
                || create.asks.contains(&dead_end.owner)
                || told::is_named(state, create.statement.as_str(), id)
        };
        let is_news = |id: ClaimId, dead_end: &Claim| {
            !told.contains(&id)
                && !is_known(id, dead_end)
                && !dead_end.is_over(now)
                && told::is_news(state, (agent, session), id, dead_end)
        };
        decision.warnings.extend(dead_end_warnings(state, about, is_news));
    }
    decision.warnings.extend(target::suggestions(state, &scopes));
    let made_one = |(_, _, claim): (Timestamp, ClaimId, &Claim)| {
        claim.owner == *agent && claim.session.as_ref() == session
    };
    let knows_how = state.recent(now).any(made_one);
    decision.next = asking::next(agent, create, waits_for, policy, knows_how);
    let answered: Vec<String> =
        state.answers(create.statement.as_str(), (agent, session)).map(|name| name.to_string()).collect();
    if !answered.is_empty() {
        let ends = format!(
            "your answer ends the silence on {}: it is agreed only once you support it",
            answered.join(" and ")
        );
        decision.next = Some(decision.next.map_or(ends.clone(), |next| format!("{ends}; {next}")));
    }
    Ok(decision)
}

/// Checks the parts of the command that depend on the new claim alone. `scopes` are its scopes under their canonical
/// names.
fn check_new(create: &CreateClaim, scopes: &[Scope]) -> Result<(), Rejection> {
    // The target of a decision comes on top.
    let is_target = |scope: &&Scope| create.claim_type == ClaimType::Decision && scope.is_target();
    let targets = scopes.iter().filter(is_target).count().min(1);
    if scopes.is_empty() || scopes.len() > MAX_SCOPES + targets {
        return Err(Rejection::invalid(
            "scopes",
            format!("a claim has 1 to {MAX_SCOPES} scopes, this one has {}", scopes.len()),
        ));
    }
    if create.mends && create.supersedes.is_none() {
        return Err(Rejection::invalid("mends", "name the claim that it mends as supersedes"));
    }
    if create.ttl_hours == Some(Hours(0)) {
        return Err(Rejection::invalid("ttl_hours", "a claim lives for at least 1 hour"));
    }
    check_list("evidence_refs", create.evidence_refs.len())?;
    check_trigger(create)
}

/// The warning of a claim that mends another one, if each file of that claim has the content on which a run contradicted
/// it.
fn unmended(state: &State, old_id: ClaimId, new_id: ClaimId, versions: &Versions) -> Option<Warning> {
    let old = state.claim(old_id)?;
    let contradicting = old.evidence.iter().filter(|(_, relation)| *relation == Relation::Contradicts);
    let runs = contradicting.filter_map(|(event, _)| state.run_that_ended_with(*event));
    let (run_id, run) = runs.max_by_key(|(id, _)| *id)?;
    let mut files = old.scopes.iter().filter(|scope| scope.is_path()).peekable();
    files.peek()?;
    let is_same =
        |scope: &Scope| versions.get(scope).is_some_and(|now| run.saw.versions.get(scope) == Some(now));
    if !files.all(is_same) {
        return None;
    }
    let again = match run.profile {
        // Only a contested claim waits for a run, and this one is a proposal.
        Some(_) => format!(": {}", against::repeated(new_id, run, &[])),
        None => String::new(),
    };
    let message = format!(
        "no file of claim {old_id} changed since run {run_id} contradicted it, so nothing shows that it is mended{again}"
    );
    Some(Warning { code: WarningCode::NothingChanged, message, claim_id: Some(old_id) })
}

/// The step that ties an event to a claim.
fn tie(claim_id: ClaimId, event: &EvidenceName) -> String {
    let tie = json!({ "claim_id": claim_id, "evidence_ref": event, "relation": Relation::Supports });
    way::call("add_evidence", &tie)
}

fn ended(state: &State, id: ClaimId) -> bool {
    state.claim(id).is_none_or(|claim| claim.status == Status::Deprecated)
}

/// Refuses a statement that a claim about the same scopes makes already.
fn refuse_twin(
    state: &State,
    (agent, session): Speaker<'_>,
    create: &CreateClaim,
    scopes: &[Scope],
    policy: &Policy,
) -> Result<(), Rejection> {
    let fingerprint = Fingerprint::of(create.statement.as_str(), scopes, create.claim_type);
    let Some(twin) = state.same_statement(&fingerprint) else { return Ok(()) };
    let is_own = |id: ClaimId| state.claim(id).is_some_and(|claim| state.is_own(agent, session, claim));
    let mut besides: Vec<String> = create.evidence_refs.iter().map(|event| tie(twin, event)).collect();
    if let Some(old) = create.supersedes.filter(|old| !ended(state, *old)) {
        let end = json!({ "claim_id": old, "reason": format!("{twin} says otherwise") });
        let end = if is_own(old) { way::call("deprecate_claim", &end) } else { challenge(old) };
        besides.push(format!("a claim that is there takes no other's place; to end {old}: {end}"));
    }
    let besides = besides.join("; ");
    Err(Rejection::new(
        Code::DuplicateClaim,
        format!("the same statement about the same scopes is already claim {twin}"),
        if is_own(twin) && !besides.is_empty() {
            format!("it is yours and on record, without the rest: {besides}")
        } else if is_own(twin) {
            "nothing to do: it is yours and on record".to_owned()
        } else if policy.only_operator_confirms && *agent != AgentId::operator() {
            format!("nothing to do: the operator confirms it; if you do not agree: {}", challenge(twin))
        } else {
            let also = if besides.is_empty() { besides } else { format!("; besides: {besides}") };
            format!("if you agree: {}, and if you do not: {}{also}", support(twin), challenge(twin))
        },
    )
    .with("duplicate_of", twin))
}

/// Refuses to make a claim anew that ended while somebody challenged it: its challengers would never hear of it.
fn refuse_disputed(
    state: &State,
    agent: &AgentId,
    (create, replaced): (&CreateClaim, &[ClaimId]),
    scopes: &[Scope],
) -> Result<(), Rejection> {
    // Signs within a word, and signs that stand alone, may be the difference.
    let said = |statement: &str| -> Vec<String> {
        let words = statement.split_whitespace().map(|word| {
            let inner = word.trim_matches(['.', ',', ';', ':', '!', '?', '"', '\'', '`']);
            if inner.is_empty() { word } else { inner }
        });
        words.map(str::to_lowercase).collect()
    };
    let new = said(create.statement.as_str());
    let is_it = |id: ClaimId, old: &Claim| {
        let takes_its_place = create.supersedes == Some(id) || replaced.contains(&id);
        !takes_its_place && old.claim_type == create.claim_type && said(old.statement()) == new
    };
    let others = |old: &Claim| {
        let open = old.challengers().filter(|by| *by != agent && !old.answered.contains(*by));
        open.cloned().collect::<Vec<_>>()
    };
    let before = state.ended_in_dispute(scopes).filter(|(id, old)| is_it(*id, old));
    let Some((old, by)) = before.map(|(id, old)| (id, others(old))).find(|(_, by)| !by.is_empty()) else {
        return Ok(());
    };
    let is_decision = create.claim_type == ClaimType::Decision;
    let anew = json!({ "statement": create.statement, "scopes": scopes, "supersedes": old });
    let anew =
        if is_decision { format!("say that it supersedes {old}") } else { way::call("create_claim", &anew) };
    Err(Rejection::new(
        Code::DuplicateClaim,
        format!("claim {old} said the same and ended while {} challenged it", by[0]),
        format!("put this one in its place, and {} is asked about it: {anew}", by[0]),
    )
    .with("duplicate_of", old))
}

fn created(
    create: &CreateClaim,
    scopes: &[Scope],
    origin_task_id: Option<TaskId>,
    supersession: Option<&Supersession>,
    now: Timestamp,
) -> ClaimCreated {
    ClaimCreated {
        claim_id: create.claim_id,
        statement: create.statement.clone(),
        claim_type: create.claim_type,
        event_type: create.event_type,
        scopes: scopes.to_vec(),
        confidence: create.confidence,
        supersedes: create.supersedes,
        ttl_hours: ttl(create),
        trigger: create.trigger.clone().filter(|trigger| !trigger.is_empty()),
        origin_task_id,
        mends: create.mends,
        versions: Versions::new(),
        seen_in: None,
        asks: asking::asked_with_owner(create, supersession),
        tells: asking::told(create),
        objection_until: create.unless_objection_minutes.map(|minutes| now.plus_minutes(minutes)),
    }
}

/// The evidence that a new claim cites: each event once, in the order of the ids.
fn tied(
    state: &State,
    session: Option<&SessionId>,
    create: &CreateClaim,
    (mut evidence_refs, scopes, versions): (Vec<EventId>, &[Scope], &Versions),
    now: Timestamp,
) -> Result<Vec<(EvidenceAdded, Cited)>, Rejection> {
    evidence_refs.sort();
    evidence_refs.dedup();
    let (claim_id, claim_type) = (create.claim_id, create.claim_type);
    let about = About { claim_id, claim_type, scopes, trigger: create.trigger.as_ref(), session };
    let tied = evidence_refs.into_iter().map(|evidence_ref| {
        let said = evidence::cited(state, evidence_ref, &about, versions, now)?;
        let added = EvidenceAdded {
            claim_id,
            evidence_ref,
            relation: said.relation,
            weight: Share::FULL,
            note: None,
            grade: said.grade,
            run: said.run,
        };
        Ok((added, said.cited))
    });
    tied.collect()
}

/// For how long a new claim lives; none where its time does not end by itself.
pub(super) fn ttl(create: &CreateClaim) -> Option<Hours> {
    create.ttl_hours.or_else(|| (create.claim_type == ClaimType::Hypothesis).then_some(HYPOTHESIS_TTL))
}

fn check_trigger(create: &CreateClaim) -> Result<(), Rejection> {
    let Some(trigger) = &create.trigger else {
        return Ok(());
    };
    if !trigger.is_empty() && create.claim_type != ClaimType::Negative {
        return Err(Rejection::invalid(
            "trigger",
            format!("only a negative claim warns, this one is a {}", create.claim_type),
        ));
    }
    let longest = trigger.paths.len().max(trigger.commands.len()).max(trigger.symbols.len());
    if longest > Trigger::MAX_ENTRIES {
        return Err(Rejection::invalid(
            "trigger",
            format!("a trigger lists at most {} of each, this one {longest}", Trigger::MAX_ENTRIES),
        ));
    }
    check_globs("trigger.paths", &trigger.paths)?;
    if create.claim_type != ClaimType::Negative {
        return Ok(());
    }
    if let Some(plain) = action::too_plain(trigger) {
        let why = format!(
            "`{plain}` may be any word, so it would never warn: name a symbol of several words or parts, such as \
             `crank_workers`, `maxRetries` or `Pool::get`, or a path, a command or an error"
        );
        return Err(Rejection::invalid("trigger.symbols", why));
    }
    trigger_says_enough(trigger, "trigger")?;
    if action::keys(trigger).is_empty() {
        let why = "this trigger meets no action, so it would never warn: name a path or glob below the root, a \
                   command, a symbol such as `crank_workers`, or an error, or leave the trigger out";
        return Err(Rejection::invalid("trigger", why));
    }
    Ok(())
}

/// Refuses a command or an error that is too short to mean something.
///
/// # Errors
/// `invalid_argument`.
pub(super) fn trigger_says_enough(trigger: &Trigger, field: &str) -> Result<(), Rejection> {
    if let Some(bare) = action::too_bare(&trigger.commands) {
        let why = format!(
            "`{bare}` alone stands for a call without arguments: name its command too, such as `{bare} COMMAND`"
        );
        return Err(Rejection::invalid(&format!("{field}.commands"), why));
    }
    if let Some(error) =
        trigger.error_signature.as_ref().filter(|error| !action::tells_errors_apart(error.as_str()))
    {
        let why = format!(
            "`{error}` stands in too many errors: give two words of the line, or one long word or code such as `ENOENT`"
        );
        return Err(Rejection::invalid(&format!("{field}.error_signature"), why));
    }
    Ok(())
}

/// The dead ends that a claim walks into and that are news to its author: those whose trigger it meets (by a path only if
/// they share a subject), then those in an overlapping scope, narrower than the workspace, that are about the same thing.
fn dead_end_warnings(
    state: &State,
    (statement, reading, scopes): (&str, &Reading, &[Scope]),
    is_news: impl Fn(ClaimId, &Claim) -> bool,
) -> Vec<Warning> {
    let mut dead_ends: BTreeSet<ClaimId> =
        scopes.iter().flat_map(|scope| state.dead_ends_at(scope)).collect();
    dead_ends.retain(|id| state.claim(*id).is_some_and(|dead_end| is_news(*id, dead_end)));
    if dead_ends.is_empty() {
        return Vec::new();
    }
    let proposed = action::proposed(statement, scopes);
    let shared_with = state.shared_subjects(reading);
    let narrow: Vec<&Scope> = scopes.iter().filter(|scope| scope.as_str() != ".").collect();
    let meets = |id: ClaimId, dead_end: &Claim| {
        let trigger = dead_end.trigger();
        if let Some((kind, _)) = trigger.and_then(|trigger| action::met(trigger, &proposed)) {
            // Many claims are about one file: a subject has to be the same too.
            return (kind != action::Kind::Path || shared_with(id) > 0).then_some((true, 0, id));
        }
        let places = dead_end.scopes.iter().chain(trigger.iter().flat_map(|trigger| &trigger.paths));
        let overlaps = places
            .filter(|place| place.as_str() != ".")
            .any(|place| narrow.iter().any(|scope| scope.overlaps(place)));
        let shared = if overlaps { shared_with(id) } else { 0 };
        (shared >= MIN_SHARED_SUBJECTS).then_some((false, shared, id))
    };
    let mut met: Vec<(bool, usize, ClaimId)> =
        dead_ends.into_iter().filter_map(|id| meets(id, state.claim(id)?)).collect();
    // Ids are time-ordered: of equal ones the newest dead end is the likeliest to still hold.
    met.sort_unstable_by(|a, b| b.cmp(a));
    let more = met.len().saturating_sub(MAX_DEAD_END_WARNINGS);
    met.truncate(MAX_DEAD_END_WARNINGS);
    let mut warnings: Vec<Warning> = met
        .into_iter()
        .map(|(_, _, id)| Warning {
            code: WarningCode::NegativeClaim,
            message: format!("a failed approach is on record here: {}", quotation(state, id)),
            claim_id: Some(id),
        })
        .collect();
    if let Some(last) = warnings.last_mut().filter(|_| more > 0) {
        let _ = write!(last.message, "; {more} more: `hivemind://negative`");
    }
    warnings
}

/// What a claim says, in its first line, and which claim it is.
pub(super) fn quotation(state: &State, id: ClaimId) -> String {
    let said = state.claim(id).map_or("", Claim::statement);
    format!("{} (`hivemind://claims/{id}`)", action::first_line(said))
}

/// The ways forward for an agent that may not end the claim of another one.
pub fn ways_to_end(
    id: ClaimId,
    (claim_type, scopes): (ClaimType, &[impl Serialize]),
    owner: &AgentId,
) -> String {
    let (challenge, owner) = (challenge(id), decision::with_architect(owner));
    if claim_type == ClaimType::Decision {
        return format!("{challenge}, or ask {owner} to end it");
    }
    let instead = json!({
        "statement": way::STATEMENT, "claim_type": claim_type, "scopes": scopes, "supersedes": id,
    });
    format!(
        "if it holds no longer, say what does, and the support of another agent puts that in its place: {}; if it was never \
         true: {challenge}; or ask {owner} to end it",
        way::call("create_claim", &instead)
    )
}

pub(super) fn deprecate_claim(
    state: &State,
    (agent, session): Speaker<'_>,
    deprecate: &DeprecateClaim,
    policy: &Policy,
) -> Result<Accepted, Rejection> {
    let claim = known_claim(state, deprecate.claim_id)?;
    if claim.status == Status::Deprecated {
        let is_in_force = |id: &ClaimId| state.claim(*id).is_some_and(|it| it.status != Status::Deprecated);
        let successor = last_successor(state, deprecate.claim_id).filter(is_in_force);
        let (what, way) = match successor {
            Some(id) => {
                let of_successor = json!({ "claim_id": id, "reason": deprecate.reason });
                let way = way::call("deprecate_claim", &of_successor);
                (format!("was replaced by {id}"), format!("to end that one: {way}"))
            }
            None => {
                let way = format!("make a new claim: {}", instead_of(deprecate.claim_id, claim));
                ("is deprecated already, and that is final".to_owned(), way)
            }
        };
        return Err(Rejection::new(
            Code::InvalidTransition,
            format!("claim {} {what}", deprecate.claim_id),
            way,
        )
        .with("from", claim.status)
        .with("to", Status::Deprecated));
    }
    if !may_deprecate(state, (agent, session), claim) {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("claim {} belongs to {}", deprecate.claim_id, claim.owner),
            ways_to_end(deprecate.claim_id, (claim.claim_type, &claim.scopes), &claim.owner),
        ));
    }
    if overrule::stands(agent, claim, policy) {
        let asked = (deprecate.claim_id, Override::Deprecate);
        return overrule::propose(state, (agent, session), asked, &deprecate.reason);
    }
    decision::stays(state, (agent, session), (deprecate.claim_id, claim), policy)?;
    let next = state.replaced_by(deprecate.claim_id).next().map(|(old, was)| {
        format!(
            "{old}, whose place it took, stays out of force; if that one holds after all, say it again: {}",
            instead_of(deprecate.claim_id, was)
        )
    });
    Ok(Accepted {
        next,
        events: vec![
            StatusChanged {
                claim_id: deprecate.claim_id,
                from: claim.status,
                to: Status::Deprecated,
                reason: deprecate.reason.clone(),
                by_silence: false,
                keeps_proof: false,
                leaves_open: Vec::new(),
            }
            .into(),
        ],
        ..Accepted::default()
    })
}

pub(super) fn may_deprecate(state: &State, (agent, session): Speaker<'_>, claim: &Claim) -> bool {
    state.owns(agent, session, claim) || [AgentId::architect(), AgentId::operator()].contains(agent)
}
