//! The rules: a command against the folded state gives events or a refusal.

mod against;
mod asking;
mod contradiction;
mod decision;
mod erasure;
mod evidence;
pub(crate) mod experiment;
mod facts;
mod lock;
mod loss;
mod notice;
mod overrule;
mod plan;
mod researcher;
mod session;
mod standing;
mod target;
mod told;
mod verdict;

pub use asking::{HELD, agree};
pub use erasure::Erasure;
pub use evidence::check_last;
pub use facts::{Facts, Mission, PlannedRun};
pub use loss::Loss;
pub use session::overdue;

use self::evidence::About;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::action;
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{ClaimType, HYPOTHESIS_TTL, Override, Position, ReportKind, Status, Trigger};
use crate::domain::command::{
    AffirmClaim, Command, CreateClaim, DenyRecord, DeprecateClaim, RecordMessage, RecordOverride,
    ReportEvent, TakePosition,
};
use crate::domain::event::{
    ClaimCreated, ClaimSuperseded, Event, EventReported, EvidenceAdded, MemoryDenied, MessageSent,
    OperatorOverridden, PositionTaken, StatusChanged,
};
use crate::domain::ids::{ClaimId, EventId, SessionId};
use crate::domain::pairs::Reading;
use crate::domain::plan::check_globs;
use crate::domain::receipt::{Cited, Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::{MAX_SCOPES, Scope};
use crate::domain::state::{Claim, Fingerprint, State};
use crate::domain::text::Reason;
use crate::domain::time::{Hours, Timestamp};
use crate::domain::versions::{self, Versions, is_proof_of_meant};
use crate::domain::way;

/// An agent is active while its last event is at most this old: one working day, for `all_active`.
pub const ACTIVE_WITHIN: Hours = Hours(24);
/// The most dead ends a receipt names; more would be noise.
const MAX_DEAD_END_WARNINGS: usize = 5;
/// Words a claim and a dead end share at least to be about the same thing: one common word is chance.
const MIN_SHARED_SUBJECTS: usize = 2;
/// The most events or paths one command may list, so that a batch stays far below the 256 KiB of one command.
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
    /// Whether agents may deprecate, supersede and outvote what the operator recorded or supports. Default false.
    pub agents_may_override_operator: bool,
}

impl Policy {
    /// Whether less is asked for, of a quorum or of the operator, than under another policy.
    pub const fn is_looser_than(&self, other: &Self) -> bool {
        self.quorum.is_looser_than(&other.quorum)
            || self.agents_may_override_operator && !other.agents_may_override_operator
    }
}

/// How a policy ends that lets agents override the operator, as it says itself.
pub const OVERRIDES: &str = ", agents_may_override_operator = true";

impl std::fmt::Display for Policy {
    /// As `config.toml` says it, on one line; what agents may not do is not said.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let overrides = if self.agents_may_override_operator { OVERRIDES } else { "" };
        write!(f, "{}{overrides}", self.quorum)
    }
}

/// What an accepted command does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// All of them or none go into the ledger; never empty.
    pub events: Vec<Event>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// What the command cites as evidence.
    pub cited: Vec<Cited>,
    /// Claims that say much the same.
    pub similar: Vec<ClaimId>,
    /// Claims that are much alike, and say another value, name, order or exception.
    pub alike: Vec<ClaimId>,
    /// What the outcome of a run will mean, or means, for its claim.
    pub meaning: Option<String>,
    /// What would move things on.
    pub next: Option<String>,
}

/// Who asks, and in which session.
type Speaker<'a> = (&'a AgentId, Option<&'a SessionId>);

/// Decides one command.
///
/// # Errors
/// A [`Rejection`]; nothing happened then.
pub fn decide(
    state: &State,
    agent: &AgentId,
    session: Option<&SessionId>,
    facts: &Facts,
    command: &Command,
    now: Timestamp,
    policy: &Policy,
) -> Result<Decision, Rejection> {
    let Facts { checkout, versions, .. } = facts;
    if let Some((argument, text)) = placeholder(command) {
        let why = format!("`{text}` stands in our hint for a sentence of yours: write that instead");
        return Err(Rejection::invalid(&argument, why));
    }
    let mut decision = match command {
        Command::CreateClaim(create) => {
            decision::check_claim(state, (agent, session), create).and_then(|()| {
                let replaced = create.supersedes.as_slice();
                create_claim(state, (agent, session), create, replaced, versions, now, policy)
            })
        }
        Command::TakePosition(take) => take_position(state, (agent, session), take, now, policy),
        Command::AffirmClaim(affirm) => {
            affirm_claim(state, (agent, session), affirm, (checkout, versions), (now, policy))
        }
        Command::AddEvidence(add) => evidence::add(state, session, add, now),
        Command::RetractEvidence(retract) => evidence::retract(state, agent, session, retract),
        Command::DeprecateClaim(deprecate) => deprecate_claim(state, (agent, session), deprecate, policy),
        Command::ReportEvent(report) => report_event(state, report),
        Command::RecordDecision(record) => {
            decision::record(state, (agent, session), record, versions, now, policy)
        }
        Command::RecordOutcome(record) => decision::record_outcome(state, record),
        Command::AliasTarget(alias) => target::alias(state, alias),
        Command::PartTarget(part) => target::part(state, part),
        Command::KeepClaim(keep) => overrule::keep(state, agent, keep),
        Command::RunExperiment(run) => experiment::run(state, (agent, session), run, facts.run.as_ref()),
        Command::AttachExperiment(attach) => experiment::attach(state, attach, now),
        Command::CancelExperiment(cancel) => experiment::cancel(state, agent, cancel, now),
        Command::RecordExperiment(record) => experiment::record(state, agent, record),
        Command::DenyRecord(deny) => Ok(deny_record(deny)),
        Command::AddPlan(add) => plan::add_plan(state, add),
        Command::AbandonPlan(abandon) => plan::abandon(state, agent, session, abandon, now),
        Command::RenamePlan(rename) => plan::rename(state, rename),
        Command::AddPhase(add) => plan::add_phase(state, add),
        Command::AddTask(add) => plan::add_task(state, session, add, now),
        Command::ClaimTask(claim) => plan::claim_task(state, agent, (session, checkout), claim, now),
        Command::LockScopes(command) => lock::lock(state, (agent, session), checkout, command, now),
        Command::ReleaseScopes(release) => lock::release(state, (agent, session), release, now),
        Command::UpdateTask(update) => plan::update_task(state, agent, session, update, now),
        Command::DeclareIntent(declare) => plan::declare_intent(state, agent, session, declare),
        Command::StartSession(start) => session::start(state, session, start),
        Command::EndSession(_) => session::end(state, agent, session),
        Command::RecordTurn(turn) => session::record_turn(session, turn),
        Command::SaveAnchor(anchor) => session::save_anchor(state, anchor),
        Command::RetireAnchor(anchor) => session::retire_anchor(state, anchor),
        Command::SplitSession(split) => session::split(state, session, split, now),
        Command::SnapshotBeliefs(_) => session::snapshot(state, agent, session),
        Command::RecordFiring(firing) => session::record_firing(state, firing),
        Command::Observe(observed) => session::observe(state, observed),
        Command::SpawnResearcher(spawn) => {
            researcher::spawn(state, (session, checkout), spawn, facts.mission.as_ref())
        }
        Command::RecordMessage(message) => record_message(state, message),
        Command::RecordOverride(record) => record_override(agent, record),
        Command::SeeAttention(see) => notice::see(state, agent, see),
        // These two are about the ledger and not about the team's work.
        Command::AcceptLoss(command) => return loss::accept_loss(agent, command, facts.loss.as_ref()),
        Command::Forget(command) => return erasure::forget(state, agent, command, &facts.erasure),
    }?;
    evidence::quote_last(state, session, command, &mut decision);
    decision.warnings.extend(lock::warnings(state, (agent, session), checkout, command, now));
    decision.events.iter_mut().for_each(|event| event.happened_in(checkout));
    decision.events.extend(contradiction::ended_by(state, agent, &decision.events));
    told::recent(state, (agent, session), command, now, &mut decision);
    told::remember(state, (agent, session), &mut decision);
    told::edited(state, (agent, session, checkout), command, now, &mut decision);
    Ok(decision)
}

/// The first argument that still holds the placeholder of a hint, with the placeholder.
fn placeholder(command: &Command) -> Option<(String, String)> {
    let mut first = None;
    command.each_text(|field, text| {
        let argument = field.split('.').next().unwrap_or(field);
        if first.is_none() && way::is_placeholder(argument, text) {
            first = Some((argument.to_owned(), text.to_owned()));
        }
    });
    first
}

/// `replaced` are the claims the new one takes the place of, now or once it is confirmed.
fn create_claim(
    state: &State,
    (agent, session): Speaker<'_>,
    create: &CreateClaim,
    replaced: &[ClaimId],
    versions: &Versions,
    now: Timestamp,
    policy: &Policy,
) -> Result<Decision, Rejection> {
    fresh_id(state, "claim_id", create.claim_id.creation_event())?;
    let scopes = target::canonical(state, &create.scopes);
    if scopes.is_empty() || scopes.len() > MAX_SCOPES {
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
    check_trigger(create)?;
    asking::check(state, (agent, session), create)?;

    let fingerprint = Fingerprint::of(create.statement.as_str(), &scopes, create.claim_type);
    if let Some(twin) = state.same_statement(&fingerprint) {
        return Err(Rejection::new(
            Code::DuplicateClaim,
            format!("the same statement about the same scopes is already claim {twin}"),
            if state.claim(twin).is_some_and(|claim| state.is_own(agent, session, claim)) {
                "nothing to do: it is yours and on record".to_owned()
            } else {
                format!("if you agree: {}, and if you do not: {}", support(twin), challenge(twin))
            },
        )
        .with("duplicate_of", twin));
    }
    let mut evidence_refs = evidence::all_named(state, session, &create.evidence_refs)?;
    if let Some(task) = create.origin_task_id {
        plan::known_task(state, task)?;
    }

    let mut decision = Decision::default();
    let new = Successor { id: create.claim_id, mends: create.mends };
    let supersession =
        create.supersedes.map(|old| supersede(state, (agent, session), old, new, policy)).transpose()?;
    decision.events.push(
        ClaimCreated {
            claim_id: create.claim_id,
            statement: create.statement.clone(),
            claim_type: create.claim_type,
            scopes: scopes.clone(),
            confidence: create.confidence,
            supersedes: create.supersedes,
            ttl_hours: ttl(create),
            trigger: create.trigger.clone().filter(|trigger| !trigger.is_empty()),
            origin_task_id: create.origin_task_id,
            mends: create.mends,
            versions: Versions::new(),
            seen_in: None,
            asks: asking::asked_with_owner(create, supersession.as_ref()),
            objection_until: create.unless_objection_minutes.map(|minutes| now.plus_minutes(minutes)),
        }
        .into(),
    );
    evidence_refs.sort();
    evidence_refs.dedup();
    for evidence_ref in evidence_refs {
        let weight = crate::domain::claim::Share::FULL;
        let (claim_id, claim_type) = (create.claim_id, create.claim_type);
        let trigger = create.trigger.as_ref();
        let about = About { claim_id, claim_type, scopes: &scopes, trigger, session };
        let said = evidence::cited(state, evidence_ref, &about, versions, now)?;
        decision.cited.push(said.cited);
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
    let waits_for = match &supersession {
        Some(Supersession::Proposed(old)) => Some(*old),
        Some(Supersession::Now(_) | Supersession::OnceConfirmed { .. }) | None => None,
    };
    match supersession {
        None => {}
        Some(Supersession::Now(events)) => decision.events.extend(events),
        Some(Supersession::Proposed(old)) => {
            decision.events.push(overrule::succession(old, create.claim_id));
            decision.warnings.push(overrule::warning(old));
        }
        Some(Supersession::OnceConfirmed { old, owner }) => decision.warnings.push(Warning {
            code: WarningCode::SupersessionProposed,
            message: format!(
                "claim {old} belongs to {owner}, who is asked: it stays in force until this claim is confirmed"
            ),
            claim_id: Some(old),
        }),
    }
    let reading = Reading::of(create.statement.as_str());
    contradiction::on_creation(state, agent, create, (&reading, &scopes), replaced, &mut decision);
    if create.claim_type != ClaimType::Negative {
        let told =
            decision.warnings.iter().filter_map(|warning| warning.claim_id).chain(replaced.iter().copied());
        let told: Vec<ClaimId> = told.collect();
        let about = (create.statement.as_str(), &reading, scopes.as_slice());
        let is_news = |id: ClaimId, dead_end: &Claim| {
            !told.contains(&id)
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
    decision.next = asking::next(create, waits_for, supports_needed(policy), knows_how);
    Ok(decision)
}

/// For how long a new claim lives; none where its time does not end by itself.
fn ttl(create: &CreateClaim) -> Option<Hours> {
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
    if create.claim_type == ClaimType::Negative && action::keys(trigger).is_empty() {
        let why = "this trigger meets no action, so it would never warn: name a path or glob below the root, a \
                   command, a symbol or an error, or leave the trigger out";
        return Err(Rejection::invalid("trigger", why));
    }
    Ok(())
}

/// The dead ends that a claim walks into and that are news to its author: those whose trigger it meets, then those in an
/// overlapping scope, narrower than the workspace, that are about the same thing.
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
        if trigger.is_some_and(|trigger| action::met(trigger, &proposed).is_some()) {
            return Some((true, 0, id));
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
    met.into_iter()
        .take(MAX_DEAD_END_WARNINGS)
        .map(|(_, _, id)| Warning {
            code: WarningCode::NegativeClaim,
            message: format!("a failed approach is on record here: {}", quotation(state, id)),
            claim_id: Some(id),
        })
        .collect()
}

/// What a claim says, in its first line, and which claim it is.
fn quotation(state: &State, id: ClaimId) -> String {
    let said = state.claim(id).map_or("", Claim::statement);
    format!("{} (`hivemind://claims/{id}`)", action::first_line(said))
}

enum Supersession {
    Now(Vec<Event>),
    OnceConfirmed {
        old: ClaimId,
        owner: AgentId,
    },
    /// The operator stands by this claim.
    Proposed(ClaimId),
}

/// A claim that takes the place of another.
#[derive(Debug, Clone, Copy)]
struct Successor {
    id: ClaimId,
    /// Whether it mends what the other one is about.
    mends: bool,
}

fn supersede(
    state: &State,
    (agent, session): Speaker<'_>,
    old_id: ClaimId,
    new: Successor,
    policy: &Policy,
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
    if overrule::stands(agent, old, policy) {
        return Ok(Supersession::Proposed(old_id));
    }
    // A deprecated claim is out of force already: naming its successor takes nothing from its owner.
    if old.status == Status::Deprecated || may_deprecate(state, (agent, session), old) {
        Ok(Supersession::Now(replace(state, old_id, old, new, agent)))
    } else {
        Ok(Supersession::OnceConfirmed { old: old_id, owner: old.owner.clone() })
    }
}

/// The events that put `owner`'s `new_id` in the place of `old_id`: the link, the end of the old claim, and
/// who is left behind with it.
fn replace(state: &State, old_id: ClaimId, old: &Claim, new: Successor, owner: &AgentId) -> Vec<Event> {
    let Successor { id: new_id, mends } = new;
    // The owner's own successor contradicts no one: who supported the old claim is asked about the new one. The
    // supporters of a claim that is mended were right, and are asked nothing.
    let is_own = old.owner == *owner;
    let left = contradiction::left_behind(state, old, (new_id, owner));
    let asks = if is_own && !mends { left.cloned().collect() } else { Vec::new() };
    let mut events = vec![ClaimSuperseded { claim_id: old_id, superseded_by: new_id, mends, asks }.into()];
    if old.status != Status::Deprecated {
        let how = if mends { "mended" } else { "superseded" };
        events.push(transition(old_id, old.status, Status::Deprecated, &format!("{how} by {new_id}")));
    }
    // The supporters of a claim that is mended were right.
    if !mends && !is_own {
        events.extend(contradiction::on_supersession(state, (old_id, old), (new_id, owner)));
    }
    events
}

fn take_position(
    state: &State,
    (agent, session): Speaker<'_>,
    take: &TakePosition,
    now: Timestamp,
    policy: &Policy,
) -> Result<Decision, Rejection> {
    let claim = claim_in_force(state, take.claim_id)?;
    if state.is_own(agent, session, claim) {
        refuse_own(claim, take, policy)?;
    }
    standing::refuse_anothers(state, (agent, session), (take.claim_id, claim), "abstain")?;
    if take.position == Position::Challenge && take.reason.is_none() {
        return Err(Rejection::invalid("reason", "a challenge says why"));
    }
    let evidence_ref =
        take.evidence_ref.as_ref().map(|name| evidence::named(state, session, name)).transpose()?;
    if let (Position::Support, Some(cited)) = (take.position, evidence_ref) {
        evidence::check_support(state, cited, (take.claim_id, claim))?;
    }
    if let (Position::Challenge, Some(reason)) = (take.position, &take.reason)
        && overrule::stands(agent, claim, policy)
    {
        return overrule::propose(state, (agent, session), (take.claim_id, Override::Challenge), reason);
    }

    // A caller that wrote the whole id knows it.
    let cited = evidence_ref.filter(|id| take.evidence_ref.as_ref() != Some(&(*id).into()));
    let cited =
        cited.map(|evidence_ref| Cited { evidence_ref, grade: None, why: String::new(), failed: None });
    let mut decision = Decision { cited: cited.into_iter().collect(), ..Decision::default() };
    // A human who types in the session of a pane is not the pane.
    let is_same_pane = |name: &&AgentId| {
        let are_agents = !name.is_reserved() && !agent.is_reserved();
        *name != agent && are_agents && state.is_own_position(session, (take.claim_id, claim), name)
    };
    let instead_of: Vec<AgentId> = claim.taken_in.keys().filter(is_same_pane).cloned().collect();
    let mut formerly = other_names(state, (agent, session));
    formerly.retain(|name| !instead_of.contains(name));
    let taken = PositionTaken {
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
    };
    let mut after = claim.clone();
    after.take(agent, session, &taken);
    let ended = standing::ended(state, (agent, session), claim, &taken);
    decision.events.push(taken.into());
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
    let counting = counting(state, &after, policy);
    let counts = take.position == Position::Support && counting.contains(&agent);
    // Only what confirms it, or is a vote for it, puts it in the place of another claim.
    if status == Status::Confirmed && (claim.status != Status::Confirmed || counts) {
        let by_silence = after.by_silence && counting.is_empty();
        let (events, warning) = take_place(state, (take.claim_id, &after), by_silence, policy);
        decision.events.extend(events);
        decision.warnings.extend(warning);
    }
    decision.next = if take.position == Position::Abstain {
        standing::abstained(state, ended, (take.claim_id, &after, status))
    } else {
        next_step(state, agent, take.position, (take.claim_id, &after, status), now, policy)
    };
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

/// The other names that the pane of a speaker had.
fn other_names(state: &State, (agent, session): Speaker<'_>) -> Vec<AgentId> {
    state.seats().names(session).filter(|name| *name != agent).cloned().collect()
}

/// A claim that takes positions.
fn claim_in_force(state: &State, id: ClaimId) -> Result<&Claim, Rejection> {
    let claim = known_claim(state, id)?;
    if claim.status == Status::Deprecated {
        let hint = match claim.superseded_by {
            Some(successor) => format!("take a position on its successor: {}", support(successor)),
            None => format!("make a new claim: {}", instead_of(id, claim)),
        };
        let message = format!("claim {id} is deprecated and takes no more positions");
        return Err(Rejection::new(Code::ClaimDeprecated, message, hint));
    }
    Ok(claim)
}

fn affirm_claim(
    state: &State,
    (agent, session): Speaker<'_>,
    affirm: &AffirmClaim,
    (checkout, versions): (&Checkout, &Versions),
    (now, policy): (Timestamp, &Policy),
) -> Result<Decision, Rejection> {
    let AffirmClaim { claim_id, reason } = affirm.clone();
    let claim = claim_in_force(state, claim_id)?;
    standing::refuse_anothers(state, (agent, session), (claim_id, claim), "still")?;
    let challenged_as = challenged_as(state, (agent, session), (claim_id, claim));
    let held = claim.positions.get(agent).copied();
    if !state.owns(agent, session, claim) && held != Some(Position::Challenge) && challenged_as.is_empty() {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("claim {claim_id} is neither owned nor challenged by {agent}"),
            format!(
                "ask {} or a challenger{}; or say what you hold of its files as they are now: {}, or {}",
                claim.owner,
                standing::left(state, (claim_id, claim), "still")
                    .map(|way| format!(" ({way})"))
                    .unwrap_or_default(),
                support(claim_id),
                challenge(claim_id)
            ),
        ));
    }
    let challenge = (!challenged_as.is_empty()).then_some(Position::Challenge);
    let position = challenge.or(held).unwrap_or(Position::Support);
    let worktree = checkout.worktree.as_ref();
    let aside = position == Position::Challenge && claim.sights.is_meant_elsewhere(worktree);
    let mut taken = PositionTaken {
        claim_id,
        position,
        reason,
        evidence_ref: None,
        instead_of: Vec::new(),
        formerly: challenged_as,
        still: true,
        aside,
        asks: Vec::new(),
        versions: Versions::new(),
        seen_in: None,
    };
    let supporters = claim.positions.iter().filter(|(_, held)| **held == Position::Support);
    let of_other = supporters.map(|(agent, _)| agent).filter(|agent| claim.sights.saw_other(agent, versions));
    let of_other: Vec<String> = of_other.map(ToString::to_string).collect();
    let of_other = (!of_other.is_empty() && !aside).then(|| {
        format!(
            "{} supported other content, which confirms nothing anew: ask for a support of the files as they are now",
            of_other.join(", ")
        )
    });
    let mut after = claim.clone();
    after.sights.took(u64::MAX, agent, &PositionTaken { versions: versions.clone(), ..taken.clone() });
    let lost = lost_proof(state, (claim_id, claim), &mut after, (now, policy));
    let aside = aside.then(|| standing::aside((claim_id, &after), agent));
    let run = if aside.is_none() && after.status == Status::Contested {
        let others = versions::challengers_of_other(state, &after, versions, worktree);
        taken.asks = others
            .filter(|challenger| !taken.speaks_for(agent).any(|own| own == *challenger))
            .cloned()
            .collect();
        let again = lost.as_ref().map(|lost| lost.again.as_str());
        Some(standing::settled_by((claim_id, &taken.asks), again))
    } else {
        lost.as_ref().map(|lost| format!("{} is evidence of it", lost.again))
    };
    let (lost, without_proof) = lost.map(|lost| (lost.events, lost.said)).unzip();
    let next: Vec<String> = without_proof.into_iter().chain(aside).chain(of_other).chain(run).collect();
    let next = (!next.is_empty()).then(|| next.join("; "));
    let events = std::iter::once(taken.into()).chain(lost.unwrap_or_default()).collect();
    Ok(Decision { events, next, ..Decision::default() })
}

/// What a claim comes to that lost its proof.
struct LostProof {
    events: Vec<Event>,
    /// Why, and what the claim is now.
    said: String,
    /// The run, as it is queued again.
    again: String,
}

/// The other names under which the pane of a speaker challenges a claim.
fn challenged_as(
    state: &State,
    (agent, session): Speaker<'_>,
    (id, claim): (ClaimId, &Claim),
) -> Vec<AgentId> {
    let is_own = |name: &&AgentId| *name != agent && state.is_own_position(session, (id, claim), name);
    claim.challengers().filter(is_own).cloned().collect()
}

/// The moves of a claim that is still meant of other content than its proof saw: the positions decide what it is now.
/// `after` is the claim as it is meant now, and then as the moves leave it.
fn lost_proof(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    after: &mut Claim,
    (now, policy): (Timestamp, &Policy),
) -> Option<LostProof> {
    let has_proof = claim.is_proven && matches!(claim.status, Status::Confirmed | Status::Contested);
    let run_id = claim.proof.filter(|_| has_proof && !is_proof_of_meant(state, after))?;
    let run = state.run(run_id)?;
    let shown = format!("its proof, run {run_id}, is of other content");
    let lost = StatusChanged {
        claim_id,
        from: claim.status,
        to: Status::Proposed,
        reason: shown.parse().expect("a run and a few words are short"),
        by_silence: false,
        keeps_proof: false,
        leaves_open: claim.answered_challengers().cloned().collect(),
    };
    after.go(&lost);
    let status = settled_status(state, after, now, policy);
    after.status = status;
    let mut events = vec![lost.into()];
    if status != Status::Proposed {
        events.push(transition(claim_id, Status::Proposed, status, "its positions stand without the proof"));
    }
    events.extend(contradiction::on_lost_proof(state, claim_id, claim));
    let blocking = [("blocking", json!(true))];
    let again = against::repeated(claim_id, run, if status == Status::Contested { &blocking } else { &[] });
    let now = if status == Status::Confirmed {
        "confirmed by positions alone".to_owned()
    } else {
        status.to_string()
    };
    Some(LostProof { events, said: format!("{shown}: the claim is {now} now"), again })
}

/// A claim that is confirmed takes the place of the one that it proposed to supersede, where it may. Silence outvotes
/// no run.
fn take_place(
    state: &State,
    (new_id, new): (ClaimId, &Claim),
    by_silence: bool,
    policy: &Policy,
) -> (Vec<Event>, Option<Warning>) {
    let Some((old_id, old)) = new.proposes_to_supersede.and_then(|old| Some((old, state.claim(old)?))) else {
        return (Vec::new(), None);
    };
    let lapsed = |message, by| {
        let claim_id = Some(by);
        (Vec::new(), Some(Warning { code: WarningCode::SupersessionLapsed, message, claim_id }))
    };
    if let Some(other) = old.superseded_by {
        return lapsed(format!("claim {old_id} was superseded by {other} in the meantime"), other);
    }
    if old.claim_type == ClaimType::Decision {
        let message = format!("claim {old_id} is a decision: only another decision supersedes it");
        return lapsed(message, old_id);
    }
    if by_silence && old.is_proven && old.status != Status::Deprecated {
        return lapsed(format!("claim {old_id} was shown by a run, which silence does not outvote"), old_id);
    }
    if overrule::gives_way(old, new, policy) {
        let successor = Successor { id: new_id, mends: new.mends };
        return (replace(state, old_id, old, successor, &new.owner), None);
    }
    let is_proposed = state.proposals(old_id).any(|open| open.successor == Some(new_id));
    let events = if is_proposed { Vec::new() } else { vec![overrule::succession(old_id, new_id)] };
    (events, Some(overrule::warning(old_id)))
}

/// What the positions on a claim make of it. While a proof is pending only the run decides.
fn settled_status(state: &State, claim: &Claim, now: Timestamp, policy: &Policy) -> Status {
    if matches!(claim.status, Status::PendingProof | Status::Deprecated) {
        return claim.status;
    }
    let outvotes = |agent: &AgentId| *agent == AgentId::operator() || !overrule::claims_word(claim, policy);
    if claim.challengers().any(|agent| !claim.answered.contains(agent) && outvotes(agent)) {
        return Status::Contested;
    }
    // What a run has shown needs no votes, and what was agreed by silence stays so until a challenge.
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

/// An owner's word on their own claim is the claim itself.
fn refuse_own(claim: &Claim, take: &TakePosition, policy: &Policy) -> Result<(), Rejection> {
    let refused = |what: &str, hint: String| {
        let message = format!("claim {} is your own, so {what}", take.claim_id);
        Err(Rejection::new(Code::OwnClaim, message, hint))
    };
    match take.position {
        Position::Challenge => {
            let end = if claim.claim_type == ClaimType::Decision {
                format!("decide anew: {}", decision::instead_of(take.claim_id, claim))
            } else {
                let end = json!({ "claim_id": take.claim_id, "reason": way::REASON });
                let end = way::call("deprecate_claim", &end);
                format!("{end}, or {}", instead_of(take.claim_id, claim))
            };
            refused("you cannot challenge it", end)
        }
        Position::Support if !policy.quorum.owner_counts => refused(
            "your support does not count",
            format!(
                "another agent supports it, or a run shows it: {}",
                way::call("run_experiment", &json!({ "profile": "PROFILE", "claim_id": take.claim_id }))
            ),
        ),
        Position::Support | Position::Abstain => Ok(()),
    }
}

/// The agents whose support counts. A support of content from before the last `still` keeps a confirmed claim
/// confirmed, and confirms nothing anew.
fn counting<'a>(state: &State, claim: &'a Claim, policy: &Policy) -> Vec<&'a AgentId> {
    let supporters = claim.positions.iter().filter(|(_, held)| **held == Position::Support);
    let supporters = supporters
        .filter(|(agent, _)| claim.status == Status::Confirmed || !claim.sights.is_before_change(agent));
    let is_own = |agent: &AgentId| state.is_own(agent, claim.taken_in.get(agent), claim);
    let counts = |agent: &&AgentId| policy.quorum.owner_counts || !is_own(agent);
    supporters.map(|(agent, _)| agent).filter(counts).collect()
}

fn supports_needed(policy: &Policy) -> usize {
    policy.quorum.supports.max(1) as usize
}

/// The active agents that must support a claim and did not yet; none unless all must. The panes of the owner and of
/// each supporter have spoken, whatever they are called now.
fn missing<'a>(state: &'a State, claim: &Claim, now: Timestamp, policy: &Policy) -> Vec<&'a AgentId> {
    if !policy.quorum.all_active {
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

/// What a position made of a claim, and what it still lacks. `claim` is as it is after the position.
fn next_step(
    state: &State,
    agent: &AgentId,
    position: Position,
    (id, claim, status): (ClaimId, &Claim, Status),
    now: Timestamp,
    policy: &Policy,
) -> Option<String> {
    let names = |agents: &[&AgentId]| agents.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let supporters = counting(state, claim, policy);
    match (position, status) {
        (Position::Challenge, Status::PendingProof) => {
            let run = claim.pending_run.map_or_else(String::new, |run| format!("run {run} is under way; "));
            Some(format!("{run}it does not answer this challenge, and the claim stays contested for it"))
        }
        (Position::Challenge, _) => {
            let seen = json!({ "claim_id": id, "evidence_ref": "EVENT", "relation": "contradicts" });
            Some(format!(
                "settled when {} {}, or every challenger supports or abstains; cite what you saw: {}",
                claim.owner,
                decision::way_out(claim),
                way::call("add_evidence", &seen)
            ))
        }
        (Position::Support, Status::Confirmed) if !supporters.is_empty() => {
            Some(format!("confirmed: agreed by {}", names(&supporters)))
        }
        (Position::Support, Status::Confirmed) if claim.by_silence => {
            Some("confirmed: agreed by silence, until another agent supports it".to_owned())
        }
        (Position::Support, Status::Confirmed) => Some("confirmed: shown by a run".to_owned()),
        (Position::Support, Status::Proposed) => {
            let lacking = supports_needed(policy).saturating_sub(supporters.len());
            let missing = missing(state, claim, now, policy);
            Some(if claim.owner == *agent && !policy.quorum.owner_counts {
                "your own support does not count: it waits for the support of another agent".to_owned()
            } else if !missing.is_empty() {
                format!("not confirmed yet: it waits for the support of {}", names(&missing))
            } else {
                let supports = if lacking == 1 { "support" } else { "supports" };
                format!("not confirmed yet: it waits for {lacking} more {supports}")
            })
        }
        (Position::Support, Status::Contested) => {
            let open = claim.challengers().filter(|challenger| !claim.answered.contains(challenger));
            let open = names(&open.collect::<Vec<_>>());
            Some(format!("still challenged by {open}: each challenger must support or abstain"))
        }
        (Position::Support, Status::PendingProof) => Some("a run is to decide: it is under way".to_owned()),
        _ => None,
    }
}

fn deprecate_claim(
    state: &State,
    (agent, session): Speaker<'_>,
    deprecate: &DeprecateClaim,
    policy: &Policy,
) -> Result<Decision, Rejection> {
    let claim = known_claim(state, deprecate.claim_id)?;
    if claim.status == Status::Deprecated {
        return Err(Rejection::new(
            Code::InvalidTransition,
            format!("claim {} is deprecated already, and that is final", deprecate.claim_id),
            format!("make a new claim: {}", instead_of(deprecate.claim_id, claim)),
        )
        .with("from", claim.status)
        .with("to", Status::Deprecated));
    }
    if !may_deprecate(state, (agent, session), claim) {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("claim {} belongs to {}", deprecate.claim_id, claim.owner),
            format!(
                "{}, or ask {} to end it",
                challenge(deprecate.claim_id),
                decision::with_architect(&claim.owner)
            ),
        ));
    }
    if overrule::stands(agent, claim, policy) {
        let asked = (deprecate.claim_id, Override::Deprecate);
        return overrule::propose(state, (agent, session), asked, &deprecate.reason);
    }
    if *agent != AgentId::operator() {
        decision::stays(state, (agent, session), deprecate.claim_id, claim)?;
    }
    Ok(Decision {
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
        next: Some(format!("to cite it as evidence: {}", cite(report.event_id))),
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

fn may_deprecate(state: &State, (agent, session): Speaker<'_>, claim: &Claim) -> bool {
    state.owns(agent, session, claim) || [AgentId::architect(), AgentId::operator()].contains(agent)
}

fn transition(claim_id: ClaimId, from: Status, to: Status, reason: &str) -> Event {
    let reason: Reason = reason.parse().expect("our own reasons are short and never empty");
    let leaves_open = Vec::new();
    StatusChanged { claim_id, from, to, reason, by_silence: false, keeps_proof: false, leaves_open }.into()
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
            "take the id from a receipt or from `hivemind://claims`",
        )
    })
}

fn support(id: ClaimId) -> String {
    way::call("support", &json!({ "claim_id": id }))
}

fn challenge(id: ClaimId) -> String {
    way::call("challenge", &json!({ "claim_id": id, "reason": way::REASON }))
}

fn cite(event: EventId) -> String {
    let cited = json!({ "claim_id": "CLAIM", "evidence_ref": event, "relation": "supports" });
    way::call("add_evidence", &cited)
}

/// The step that puts a new claim about the same in the place of one.
fn instead_of(id: ClaimId, claim: &Claim) -> String {
    if claim.claim_type == ClaimType::Decision {
        return decision::instead_of(id, claim);
    }
    let instead = json!({
        "statement": way::STATEMENT, "claim_type": claim.claim_type, "scopes": claim.scopes, "supersedes": id,
    });
    way::call("create_claim", &instead)
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
        "`hivemind://events` lists what can be cited".to_owned()
    } else {
        format!("the nearest ids are {}; `hivemind://events` lists them all", nearest.join(", "))
    };
    Err(Rejection::new(Code::UnknownEvidence, format!("no event in the ledger has the id {id}"), hint))
}
