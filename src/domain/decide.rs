//! The rules: a command against the folded state gives events or a refusal.

mod contradiction;
mod decision;
mod erasure;
pub(crate) mod experiment;
mod loss;
mod plan;
mod researcher;
mod session;
mod target;
mod verdict;

pub use erasure::{Erasure, forget};
pub use loss::{Loss, accept_loss};
pub use session::overdue;

use serde::{Deserialize, Serialize};

use crate::domain::action;
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{ClaimType, HYPOTHESIS_TTL, Position, Relation, ReportKind, Status, Trigger};
use crate::domain::command::{
    AddEvidence, Command, CreateClaim, DenyRecord, DeprecateClaim, RecordMessage, RecordOverride,
    ReportEvent, TakePosition,
};
use crate::domain::event::{
    ClaimCreated, ClaimSuperseded, Event, EventReported, EvidenceAdded, MemoryDenied, MessageSent,
    OperatorOverridden, PositionTaken, StatusChanged,
};
use crate::domain::ids::{ClaimId, EventId, SessionId};
use crate::domain::plan::check_globs;
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::{MAX_SCOPES, Scope};
use crate::domain::state::{Claim, Fingerprint, State};
use crate::domain::text::Reason;
use crate::domain::time::{Hours, Timestamp};

/// An agent is active while its last event is at most this old: one working day, for `all_active`.
pub const ACTIVE_WITHIN: Hours = Hours(24);
/// The most dead ends a receipt names; more would be noise (spec 00: silent when unsure).
const MAX_DEAD_END_WARNINGS: usize = 5;
/// The most events or paths one command may list, so that a batch stays far below 256 KB (spec 01).
const MAX_LIST: usize = 64;

/// When a claim counts as confirmed (`[quorum]` in config.toml).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quorum {
    /// Supports needed. Default 1.
    pub supports: u32,
    /// Whether the owner's own support counts. Default false.
    pub owner_counts: bool,
    /// Whether every agent active in the last 24 h, the owner aside, must support. Default false.
    pub all_active: bool,
}

impl Quorum {
    /// Whether a claim is confirmed with less than under another quorum.
    pub const fn is_looser_than(&self, other: &Self) -> bool {
        self.supports < other.supports
            || self.owner_counts && !other.owner_counts
            || !self.all_active && other.all_active
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
    /// When a claim counts as confirmed.
    pub quorum: Quorum,
}

/// What an accepted command does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// All of them or none go into the ledger; never empty.
    pub events: Vec<Event>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// Claims that say much the same.
    pub similar: Vec<ClaimId>,
    /// What the outcome of a run will mean, or means, for its claim.
    pub meaning: Option<String>,
    /// What would move things on.
    pub next: Option<String>,
}

/// Decides one command.
///
/// # Errors
/// A [`Rejection`]; nothing happened then.
pub fn decide(
    state: &State,
    agent: &AgentId,
    session: Option<&SessionId>,
    checkout: &Checkout,
    command: &Command,
    now: Timestamp,
    policy: &Policy,
) -> Result<Decision, Rejection> {
    let mut decision = match command {
        Command::CreateClaim(create) => create_claim(state, agent, create, create.supersedes.as_slice(), now),
        Command::TakePosition(take) => take_position(state, agent, take, now, policy),
        Command::AddEvidence(add) => add_evidence(state, add, now),
        Command::DeprecateClaim(deprecate) => deprecate_claim(state, agent, deprecate),
        Command::ReportEvent(report) => report_event(state, report),
        Command::RecordDecision(record) => decision::record(state, agent, record, now),
        Command::RecordOutcome(record) => decision::record_outcome(state, record),
        Command::AliasTarget(alias) => target::alias(state, alias),
        Command::RunExperiment(run) => experiment::run(state, run),
        Command::AttachExperiment(attach) => experiment::attach(state, attach, now),
        Command::CancelExperiment(cancel) => experiment::cancel(state, agent, cancel, now),
        Command::RecordExperiment(record) => experiment::record(state, agent, record),
        Command::DenyRecord(deny) => Ok(deny_record(deny)),
        Command::AddPlan(add) => plan::add_plan(state, add),
        Command::AddPhase(add) => plan::add_phase(state, add),
        Command::AddTask(add) => plan::add_task(state, session, add),
        Command::ClaimTask(claim) => plan::claim_task(state, agent, (session, checkout), claim, now),
        Command::UpdateTask(update) => plan::update_task(state, agent, session, update, now),
        Command::DeclareIntent(declare) => plan::declare_intent(state, declare),
        Command::StartSession(start) => session::start(state, session, start),
        Command::EndSession(_) => session::end(state, agent, session),
        Command::RecordTurn(turn) => session::record_turn(session, turn),
        Command::SaveAnchor(anchor) => session::save_anchor(state, anchor),
        Command::SplitSession(split) => session::split(state, session, split, now),
        Command::SnapshotBeliefs(_) => session::snapshot(state, agent, session),
        Command::RecordFiring(firing) => session::record_firing(state, firing),
        Command::Observe(observed) => session::observe(state, observed),
        Command::SpawnResearcher(spawn) => researcher::spawn(state, (session, checkout), spawn),
        Command::RecordMessage(message) => record_message(state, message),
        Command::RecordOverride(record) => record_override(agent, record),
        // What the ledger holds of an event is no part of the state: whoever has it asks `forget`.
        // Nor is what is missing from it: `accept_loss`.
        Command::AcceptLoss(command) => accept_loss(agent, command, None),
        Command::Forget(command) => forget(state, agent, &Erasure { command, target: None, related: &[] }),
    }?;
    decision.events.iter_mut().for_each(|event| event.happened_in(checkout));
    decision.events.extend(contradiction::ended_by(state, agent, &decision.events));
    Ok(decision)
}

/// `replaced` are the claims the new one takes the place of, now or once it is confirmed.
fn create_claim(
    state: &State,
    agent: &AgentId,
    create: &CreateClaim,
    replaced: &[ClaimId],
    now: Timestamp,
) -> Result<Decision, Rejection> {
    fresh_id(state, "claim_id", create.claim_id.creation_event())?;
    let scopes = target::canonical(state, &create.scopes);
    if scopes.is_empty() || scopes.len() > MAX_SCOPES {
        return Err(Rejection::invalid(
            "scopes",
            format!("a claim has 1 to {MAX_SCOPES} scopes, this one has {}", scopes.len()),
        ));
    }
    if create.ttl_hours == Some(Hours(0)) {
        return Err(Rejection::invalid("ttl_hours", "a claim lives for at least 1 hour"));
    }
    check_list("evidence_refs", create.evidence_refs.len())?;
    check_trigger(create)?;

    let fingerprint = Fingerprint::of(create.statement.as_str(), &scopes);
    if let Some(twin) = state.same_statement(&fingerprint) {
        return Err(Rejection::new(
            Code::DuplicateClaim,
            format!("the same statement about the same scopes is already claim {twin}"),
            format!("support {twin} if you agree, or challenge it if you do not"),
        )
        .with("duplicate_of", twin));
    }
    for evidence in &create.evidence_refs {
        known_event(state, *evidence)?;
    }
    if let Some(task) = create.origin_task_id {
        plan::known_task(state, task)?;
    }

    let mut decision = Decision::default();
    let supersession =
        create.supersedes.map(|old| supersede(state, agent, old, create.claim_id)).transpose()?;
    decision.events.push(
        ClaimCreated {
            claim_id: create.claim_id,
            statement: create.statement.clone(),
            claim_type: create.claim_type,
            scopes: scopes.clone(),
            confidence: create.confidence,
            supersedes: create.supersedes,
            ttl_hours: create
                .ttl_hours
                .or_else(|| (create.claim_type == ClaimType::Hypothesis).then_some(HYPOTHESIS_TTL)),
            trigger: create.trigger.clone().filter(|trigger| !trigger.is_empty()),
            origin_task_id: create.origin_task_id,
        }
        .into(),
    );
    let mut evidence_refs = create.evidence_refs.clone();
    evidence_refs.sort();
    evidence_refs.dedup();
    for evidence_ref in evidence_refs {
        let weight = crate::domain::claim::Share::FULL;
        let said = experiment::cited(state, evidence_ref, (create.claim_id, &scopes), now)?;
        decision.events.push(
            EvidenceAdded {
                claim_id: create.claim_id,
                evidence_ref,
                relation: said.relation,
                weight,
                note: None,
                grade: said.grade,
                run: said.run,
            }
            .into(),
        );
    }
    match supersession {
        None => {}
        Some(Supersession::Now(events)) => decision.events.extend(events),
        Some(Supersession::OnceConfirmed { old, owner }) => decision.warnings.push(Warning {
            code: WarningCode::SupersessionProposed,
            message: format!(
                "claim {old} belongs to {owner}: it stays in force until this claim is confirmed"
            ),
            claim_id: Some(old),
        }),
    }
    contradiction::on_creation(state, agent, create, &scopes, replaced, &mut decision);
    if create.claim_type != ClaimType::Negative {
        let told =
            decision.warnings.iter().filter_map(|warning| warning.claim_id).chain(replaced.iter().copied());
        let told: Vec<ClaimId> = told.collect();
        decision.warnings.extend(dead_end_warnings(state, &scopes, &told));
    }
    decision.warnings.extend(target::suggestions(state, &scopes));
    decision.next = Some("confirmed once another agent supports it".to_owned());
    Ok(decision)
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
    if create.claim_type == ClaimType::Negative && action::keys(trigger).is_empty() {
        let why = "this trigger meets no action, so it would never warn: name a path or glob below the root, a \
                   command, a symbol or an error, or leave the trigger out";
        return Err(Rejection::invalid("trigger", why));
    }
    Ok(())
}

fn dead_end_warnings(state: &State, scopes: &[Scope], told: &[ClaimId]) -> Vec<Warning> {
    let mut dead_ends: Vec<ClaimId> = scopes.iter().flat_map(|scope| state.dead_ends_at(scope)).collect();
    dead_ends.sort();
    dead_ends.dedup();
    dead_ends.retain(|id| !told.contains(id));
    // Ids are time-ordered: the newest dead end is the likeliest to still hold.
    dead_ends
        .into_iter()
        .rev()
        .take(MAX_DEAD_END_WARNINGS)
        .map(|id| Warning {
            code: WarningCode::NegativeClaim,
            message: format!("a failed approach is on record here: read hivemind://claims/{id}"),
            claim_id: Some(id),
        })
        .collect()
}

enum Supersession {
    Now(Vec<Event>),
    OnceConfirmed { old: ClaimId, owner: AgentId },
}

fn supersede(
    state: &State,
    agent: &AgentId,
    old_id: ClaimId,
    new_id: ClaimId,
) -> Result<Supersession, Rejection> {
    let old = known_claim(state, old_id)?;
    if let Some(successor) = old.superseded_by {
        return Err(Rejection::new(
            Code::AlreadySuperseded,
            format!("claim {old_id} was already superseded by {successor}"),
            format!("supersede {successor} instead"),
        )
        .with("superseded_by", successor));
    }
    // A deprecated claim is out of force already: naming its successor takes nothing from its owner.
    if old.status == Status::Deprecated || may_deprecate(agent, old) {
        Ok(Supersession::Now(replace(state, old_id, old, new_id, agent)))
    } else {
        Ok(Supersession::OnceConfirmed { old: old_id, owner: old.owner.clone() })
    }
}

/// The events that put `owner`'s `new_id` in the place of `old_id`: the link, the end of the old claim, and
/// who is left behind with it.
fn replace(state: &State, old_id: ClaimId, old: &Claim, new_id: ClaimId, owner: &AgentId) -> Vec<Event> {
    let mut events = vec![ClaimSuperseded { claim_id: old_id, superseded_by: new_id }.into()];
    if old.status != Status::Deprecated {
        events.push(transition(old_id, old.status, Status::Deprecated, &format!("superseded by {new_id}")));
    }
    events.extend(contradiction::on_supersession(state, (old_id, old), (new_id, owner)));
    events
}

fn take_position(
    state: &State,
    agent: &AgentId,
    take: &TakePosition,
    now: Timestamp,
    policy: &Policy,
) -> Result<Decision, Rejection> {
    let claim = known_claim(state, take.claim_id)?;
    if claim.status == Status::Deprecated {
        let hint = match claim.superseded_by {
            Some(successor) => format!("take a position on its successor {successor}"),
            None => "make a new claim that supersedes it".to_owned(),
        };
        let message = format!("claim {} is deprecated and takes no more positions", take.claim_id);
        return Err(Rejection::new(Code::ClaimDeprecated, message, hint));
    }
    if take.position == Position::Challenge {
        if claim.owner == *agent {
            return Err(Rejection::new(
                Code::OwnClaim,
                format!("claim {} is your own, so you cannot challenge it", take.claim_id),
                "deprecate it, or create a claim that supersedes it",
            ));
        }
        if take.reason.is_none() {
            return Err(Rejection::invalid("reason", "a challenge says why"));
        }
    }
    if let Some(evidence) = take.evidence_ref {
        known_event(state, evidence)?;
    }

    let mut decision = Decision::default();
    decision.events.push(
        PositionTaken {
            claim_id: take.claim_id,
            position: take.position,
            reason: take.reason.clone(),
            evidence_ref: take.evidence_ref,
        }
        .into(),
    );
    let mut after = claim.clone();
    after.positions.insert(agent.clone(), take.position);
    after.answered.remove(agent);
    let status = settled_status(state, &after, now, policy);
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
    if status == Status::Confirmed
        && let Some(old_id) = claim.proposes_to_supersede
        && let Some(old) = state.claim(old_id)
    {
        match old.superseded_by {
            None => decision.events.extend(replace(state, old_id, old, take.claim_id, &claim.owner)),
            Some(other) => decision.warnings.push(Warning {
                code: WarningCode::SupersessionLapsed,
                message: format!("claim {old_id} was superseded by {other} in the meantime"),
                claim_id: Some(other),
            }),
        }
    }
    decision.next = next_step(take, claim, status);
    Ok(decision)
}

/// What the positions on a claim make of it. While a proof is pending only the run decides.
fn settled_status(state: &State, claim: &Claim, now: Timestamp, policy: &Policy) -> Status {
    if matches!(claim.status, Status::PendingProof | Status::Deprecated) {
        return claim.status;
    }
    if claim.challengers().any(|agent| !claim.answered.contains(agent)) {
        return Status::Contested;
    }
    // What a run has shown needs no votes.
    if claim.is_proven {
        return Status::Confirmed;
    }
    let held = |wanted: Position| claim.positions.iter().filter(move |(_, held)| **held == wanted);
    let counting: Vec<&AgentId> = held(Position::Support)
        .map(|(agent, _)| agent)
        .filter(|agent| policy.quorum.owner_counts || **agent != claim.owner)
        .collect();
    let everyone = !policy.quorum.all_active
        || state
            .active_agents(ACTIVE_WITHIN, now)
            .into_iter()
            .all(|active| *active == claim.owner || counting.contains(&active));
    if everyone && counting.len() >= policy.quorum.supports.max(1) as usize {
        Status::Confirmed
    } else {
        Status::Proposed
    }
}

fn next_step(take: &TakePosition, claim: &Claim, status: Status) -> Option<String> {
    match (take.position, status) {
        (Position::Challenge, _) => Some(format!(
            "settled when {} deprecates it, or every challenger supports or abstains; \
             cite what you saw with report_event and add_evidence (relation contradicts)",
            claim.owner
        )),
        (Position::Support, Status::Proposed) => Some("more supports are needed for the quorum".to_owned()),
        (Position::Support, Status::Contested) => {
            Some("still challenged: the challengers must support or abstain".to_owned())
        }
        _ => None,
    }
}

fn add_evidence(state: &State, add: &AddEvidence, now: Timestamp) -> Result<Decision, Rejection> {
    let claim = known_claim(state, add.claim_id)?;
    known_event(state, add.evidence_ref)?;
    if add.evidence_ref == add.claim_id.creation_event() {
        return Err(Rejection::invalid("evidence_ref", "a claim is no evidence for itself"));
    }
    let said = experiment::tied(state, add, claim, now)?;
    if claim.evidence.contains(&(add.evidence_ref, said.relation)) {
        return Err(Rejection::new(
            Code::DuplicateEvidence,
            format!("event {} already {} claim {}", add.evidence_ref, said.relation, add.claim_id),
            "nothing to do: it is on record",
        ));
    }
    let mut events = vec![
        EvidenceAdded {
            claim_id: add.claim_id,
            evidence_ref: add.evidence_ref,
            relation: said.relation,
            weight: add.weight,
            note: add.note.clone(),
            grade: said.grade,
            run: said.run,
        }
        .into(),
    ];
    if said.relation == Relation::Contradicts {
        events.extend(contradiction::on_link(state, add, claim));
    }
    Ok(Decision { events, meaning: said.meaning, ..Decision::default() })
}

fn deprecate_claim(
    state: &State,
    agent: &AgentId,
    deprecate: &DeprecateClaim,
) -> Result<Decision, Rejection> {
    let claim = known_claim(state, deprecate.claim_id)?;
    if claim.status == Status::Deprecated {
        return Err(Rejection::new(
            Code::InvalidTransition,
            format!("claim {} is deprecated already, and that is final", deprecate.claim_id),
            "make a new claim that supersedes it",
        )
        .with("from", claim.status)
        .with("to", Status::Deprecated));
    }
    if !may_deprecate(agent, claim) {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("claim {} belongs to {}", deprecate.claim_id, claim.owner),
            format!("challenge it with a reason, or ask {} or the architect", claim.owner),
        ));
    }
    Ok(Decision {
        events: vec![
            StatusChanged {
                claim_id: deprecate.claim_id,
                from: claim.status,
                to: Status::Deprecated,
                reason: deprecate.reason.clone(),
            }
            .into(),
        ],
        ..Decision::default()
    })
}

fn report_event(state: &State, report: &ReportEvent) -> Result<Decision, Rejection> {
    fresh_id(state, "event_id", report.event_id)?;
    check_list("paths", report.paths.len())?;
    match report.kind {
        ReportKind::FileEdited if report.paths.is_empty() => {
            return Err(Rejection::invalid("paths", "a file_edited report names the files"));
        }
        ReportKind::CommandRan if report.command.is_none() => {
            return Err(Rejection::invalid("command", "a command_ran report names the command"));
        }
        ReportKind::Finding
        | ReportKind::Blocker
        | ReportKind::Decision
        | ReportKind::FileEdited
        | ReportKind::CommandRan
        | ReportKind::Note => {}
    }
    Ok(Decision {
        events: vec![
            EventReported {
                kind: report.kind,
                summary: report.summary.clone(),
                paths: report.paths.clone(),
                command: report.command.clone(),
                exit_code: report.exit_code,
                error_signature: report.error_signature.clone(),
                checkout: Checkout::default(),
            }
            .into(),
        ],
        next: Some(format!("cite it as evidence: evidence_ref {}", report.event_id)),
        ..Decision::default()
    })
}

fn record_message(state: &State, message: &RecordMessage) -> Result<Decision, Rejection> {
    fresh_id(state, "event_id", message.event_id)?;
    let RecordMessage { to, text, sent_at, .. } = message.clone();
    Ok(Decision { events: vec![MessageSent { to, text, sent_at }.into()], ..Decision::default() })
}

fn record_override(agent: &AgentId, record: &RecordOverride) -> Result<Decision, Rejection> {
    if *agent != AgentId::operator() {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("{agent} is not the operator and has nothing to override"),
            "leave out --operator-override",
        ));
    }
    let RecordOverride { verb, reason } = record.clone();
    Ok(Decision { events: vec![OperatorOverridden { verb, reason }.into()], ..Decision::default() })
}

fn deny_record(deny: &DenyRecord) -> Decision {
    let DenyRecord { rule, field, command } = deny.clone();
    Decision { events: vec![MemoryDenied { rule, field, command }.into()], ..Decision::default() }
}

fn check_list(argument: &str, len: usize) -> Result<(), Rejection> {
    if len > MAX_LIST {
        return Err(Rejection::invalid(argument, format!("at most {MAX_LIST} entries, this has {len}")));
    }
    Ok(())
}

fn may_deprecate(agent: &AgentId, claim: &Claim) -> bool {
    claim.owner == *agent || [AgentId::architect(), AgentId::operator()].contains(agent)
}

fn transition(claim_id: ClaimId, from: Status, to: Status, reason: &str) -> Event {
    let reason: Reason = reason.parse().expect("our own reasons are short and never empty");
    StatusChanged { claim_id, from, to, reason }.into()
}

/// The end of a claim whose time is over, and of the contradictions it was part of.
pub fn expiry(state: &State, claim_id: ClaimId, from: Status) -> Vec<Event> {
    let mut events = vec![transition(claim_id, from, Status::Deprecated, "ttl_expired")];
    events.extend(contradiction::ended_by_expiry(state, claim_id));
    events
}

fn known_claim(state: &State, id: ClaimId) -> Result<&Claim, Rejection> {
    state.claim(id).ok_or_else(|| {
        Rejection::new(
            Code::UnknownClaim,
            format!("no claim has the id {id}"),
            "take the id from a receipt or from hivemind://claims",
        )
    })
}

/// An id minted by a front is used once: a second use could overwrite a claim or close a circle of
/// supersessions, and the ledger would refuse the whole group with it.
fn fresh_id(state: &State, argument: &str, id: EventId) -> Result<(), Rejection> {
    if state.knows_event(id) || state.claim(id.as_claim()).is_some() {
        return Err(Rejection::invalid(argument, format!("the id {id} is taken by an event of the ledger")));
    }
    Ok(())
}

fn known_event(state: &State, id: EventId) -> Result<(), Rejection> {
    if state.knows_event(id) {
        return Ok(());
    }
    let nearest: Vec<String> = state.nearest_events(id).iter().map(ToString::to_string).collect();
    let hint = if nearest.is_empty() {
        "report what you saw with report_event and cite the id it returns".to_owned()
    } else {
        format!("the nearest ids are {}; or report_event and cite the id it returns", nearest.join(", "))
    };
    Err(Rejection::new(Code::UnknownEvidence, format!("no event in the ledger has the id {id}"), hint))
}
