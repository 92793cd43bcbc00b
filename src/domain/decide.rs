//! The rules: a command against the folded state gives events or a refusal.

mod affirm;
mod against;
mod apart;
mod asking;
mod claim;
mod contradiction;
mod decision;
mod erasure;
mod evidence;
pub(crate) mod experiment;
mod facts;
pub mod gate;
mod guard;
mod lock;
mod loss;
mod merge;
mod mined;
mod notice;
mod overrule;
mod pattern;
mod plan;
mod position;
mod quorum;
mod report;
mod researcher;
mod retention;
mod session;
mod spaces;
mod standing;
mod supersession;
mod target;
mod told;
mod verdict;

pub(crate) use against::{
    INTERRUPTED, NEITHER_DECIDES, NO_PREDICTION, ONE_PROVES_NOTHING, ONLY_OPERATOR, REPEATS_AFTER_A_TOUCH,
    predicted,
};
pub(crate) use apart::NOT_TOLD_APART;
pub use asking::{HELD, agree};
pub use claim::ways_to_end;
pub use erasure::Erasure;
pub use evidence::check_last;
pub use facts::{Facts, GuardRuns, Mission, PlannedRun};
pub(crate) use guard::contestable;
pub use loss::Loss;
pub use mined::{Mined, mined};
pub use position::IF_MENDED;
pub use quorum::{ACTIVE_WITHIN, Policy, Quorum, after_join};
pub use retention::{after_end, forgotten};
pub use session::overdue;
pub use spaces::{FoundItem, SpaceFacts, Stopped, copied, stopped};
pub(crate) use target::alone;
pub(crate) use target::respelled;
pub(crate) use verdict::SETTLES_NOTHING;

use serde_json::json;

use self::affirm::affirm_claim;
use self::claim::{create_claim, deprecate_claim};
use self::position::take_position;
use self::report::{cite_place, deny_record, record_message, record_override, report_event};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Status};
use crate::domain::command::Command;
use crate::domain::event::{Event, StatusChanged};
use crate::domain::ids::{ClaimId, EventId, SessionId};
use crate::domain::receipt::{Cited, Warning};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::{Claim, State};
use crate::domain::text::{self, Reason};
use crate::domain::time::Timestamp;
use crate::domain::way;

/// The most events or paths one command may list, so that a batch stays far below the 256 KiB of one command.
const MAX_LIST: usize = 64;

/// The arguments in which an agent says something in its own words.
const SENTENCES: [&str; 12] = [
    "statement",
    "reason",
    "rationale",
    "rejection_reason",
    "context",
    "note",
    "summary",
    "title",
    "description",
    "intent",
    "prompt",
    "why",
];

/// What an accepted command does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Accepted {
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
) -> Result<Accepted, Rejection> {
    let checkout = &facts.checkout;
    if let Some((argument, text)) = placeholder(command) {
        let why = format!("`{text}` stands in our hint for a sentence of yours: write that instead");
        return Err(Rejection::invalid(&argument, why));
    }
    if let Some(argument) = unseen(command) {
        let why = format!("{argument} is empty: no character of it is visible");
        return Err(Rejection::invalid(&argument, why));
    }
    let mut decision = ruled(state, (agent, session), facts, command, now, policy)?;
    if matches!(command, Command::AcceptLoss(_) | Command::Forget(_) | Command::ForgetMany(_)) {
        // These are about the ledger and not about the work of the team.
        return Ok(decision);
    }
    evidence::quote_last(state, session, command, now, &mut decision);
    decision.warnings.extend(lock::warnings(state, (agent, session), checkout, command, now));
    let (freed, told) = target::freed(state, &decision.events, now, policy);
    decision.events.extend(freed);
    decision.warnings.extend(told);
    decision.events.iter_mut().for_each(|event| event.happened_in(checkout));
    decision.events.extend(contradiction::ended_by(state, agent, &decision.events));
    guard::warn(state, (agent, session), (command, facts), (now, policy), &mut decision);
    told::recent(state, (agent, session), command, now, &mut decision);
    told::remember(state, (agent, session), command, &mut decision);
    told::edited(state, (agent, session, checkout), command, now, &mut decision);
    Ok(decision)
}

/// What the rule of the command says: one line for each command.
fn ruled(
    state: &State,
    (agent, session): Speaker<'_>,
    facts: &Facts,
    command: &Command,
    now: Timestamp,
    policy: &Policy,
) -> Result<Accepted, Rejection> {
    let Facts { checkout, versions, .. } = facts;
    match command {
        Command::CreateClaim(create) => {
            decision::check_claim(state, (agent, session), create, policy)?;
            let replaced = create.supersedes.as_slice();
            if overrule::is_for_operator(agent, create, policy) {
                return overrule::propose_decision(create, |create| {
                    create_claim(state, (agent, session), create, replaced, versions, now, policy)
                });
            }
            create_claim(state, (agent, session), create, replaced, versions, now, policy)
        }
        Command::TakePosition(take) => {
            take_position(state, (agent, session), take, (checkout, versions), (now, policy))
        }
        Command::AffirmClaim(affirm) => {
            affirm_claim(state, (agent, session), affirm, (checkout, versions), (now, policy))
        }
        Command::AddEvidence(add) => evidence::add(state, (agent, session), add, now),
        Command::RetractEvidence(retract) => evidence::retract(state, agent, session, retract),
        Command::DeprecateClaim(deprecate) => deprecate_claim(state, (agent, session), deprecate, policy),
        Command::ReportEvent(report) => report_event(state, report),
        Command::CitePlace(cite) => cite_place(state, cite),
        Command::RecordDecision(record) => {
            decision::record(state, (agent, session), record, versions, now, policy)
        }
        Command::RecordOutcome(record) => decision::record_outcome(state, record),
        Command::AliasTarget(alias) => target::alias(state, alias),
        Command::PartTarget(part) => target::part(state, part),
        Command::KeepClaim(keep) => overrule::keep(state, agent, keep),
        Command::RunExperiment(run) => {
            experiment::run(state, (agent, session), run, facts.run.as_ref(), (now, policy))
        }
        Command::AttachExperiment(attach) => experiment::attach(state, attach, now),
        Command::CancelExperiment(cancel) => experiment::cancel(state, agent, cancel, now, policy),
        Command::RecordExperiment(record) => experiment::record(state, agent, record),
        Command::DenyRecord(deny) => Ok(deny_record(deny)),
        Command::AddPlan(add) => plan::add_plan(state, add),
        Command::AbandonPlan(abandon) => plan::abandon(state, agent, session, abandon, now),
        Command::RenamePlan(rename) => plan::rename(state, rename),
        Command::AddPhase(add) => plan::add_phase(state, add),
        Command::AddTask(add) => plan::add_task(state, (agent, session), add, now),
        Command::ClaimTask(claim) => plan::claim_task(state, agent, (session, checkout), claim, now),
        Command::LockScopes(command) => lock::lock(state, (agent, session), checkout, command, now),
        Command::ReleaseScopes(release) => lock::release(state, (agent, session), release, now),
        Command::UpdateTask(update) => plan::update_task(state, agent, session, update, now),
        Command::DeclareIntent(declare) => {
            let mut decision = plan::declare_intent(state, agent, session, declare)?;
            let phase = spaces::of_plan(state, (agent, session), declare, facts.spaces.as_ref());
            decision.events.extend(phase);
            Ok(decision)
        }
        Command::PromoteItem(promote) => {
            spaces::promote(state, (agent, session), promote, facts.spaces.as_ref())
        }
        Command::StartPhase(start) => {
            spaces::start_phase(state, (agent, session), start, facts.spaces.as_ref())
        }
        Command::StartSession(start) => session::start(state, session, start),
        Command::EndSession(_) => session::end(state, agent, session),
        Command::RecordTurn(turn) => session::record_turn(session, turn),
        Command::RecordRecall(recall) => session::record_recall(recall),
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
        Command::DismissPattern(dismiss) => pattern::dismiss(state, agent, dismiss),
        Command::AcceptGuard(accept) => guard::accept(state, agent, accept, now),
        Command::MuteGuard(mute) => guard::mute(state, agent, mute, now),
        Command::AcceptPlaybook(command) => mined::accept(state, agent, command),
        Command::DismissPlaybook(command) => mined::dismiss(state, agent, command),
        Command::AcceptMerge(command) => {
            merge::accept(state, (agent, session), command, (versions, now), policy)
        }
        Command::DeclineMerge(command) => merge::decline(state, (agent, session), command),
        Command::AcceptLoss(command) => loss::accept_loss(agent, command, facts.loss.as_ref()),
        Command::Forget(command) => erasure::forget(state, agent, command, &facts.erasure),
        Command::ForgetMany(command) => erasure::forget_many(state, agent, command, &facts.erasure.chosen),
    }
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

/// The first argument that is a sentence without a visible character. Events of older releases may hold such a sentence, so
/// its type takes it.
fn unseen(command: &Command) -> Option<String> {
    let mut first = None;
    command.each_text(|field, text| {
        let is_name = |part: &&str| part.parse::<usize>().is_err();
        let argument = field.rsplit('.').find(is_name).unwrap_or(field);
        if first.is_none() && SENTENCES.contains(&argument) && !text.chars().any(text::is_visible) {
            first = Some(argument.to_owned());
        }
    });
    first
}

fn check_list(argument: &str, len: usize) -> Result<(), Rejection> {
    if len > MAX_LIST {
        return Err(Rejection::invalid(argument, format!("at most {MAX_LIST} entries, this has {len}")));
    }
    Ok(())
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
