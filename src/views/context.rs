//! What an agent should know: asks the read models, and hands the answers to the packer.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::about::{About, is_mine};
use super::digest::Digest;
use super::{Answer, ViewError, explain, negative, shown, to_json};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Status};
use crate::domain::ids::{ClaimId, SessionId, TaskId};
use crate::domain::plan::TaskStatus;
use crate::domain::relevance::{ANSWERS, Binds, StaleAfter};
use crate::domain::scope::Scope;
use crate::domain::text::Worktree;
use crate::domain::time::Timestamp;
use crate::pack::{self, Attention, Entries};
use crate::reads::Reads;
use crate::schedule::{Outcome, Runs};
use crate::store::{
    AnchorView, Belonging, ByNow, ClaimFilter, ClaimSummary, Contradiction, ContradictionFilter, Counts,
    LockView, Peer, Question, Reader, Rejected, RejectedCommand, Replaced, SessionView, SideView, Silence,
    StoreError, TaskView, TrajectoryView, TurnView, Warning, by_now,
};
use crate::workspace::Workspace;

/// Characters of a budget for which one claim of each kind is considered: the element of a claim with a short name and
/// a short statement takes as many.
const CANDIDATE_CHARS: usize = 125;
/// Claims of each kind considered however small the budget is.
const MIN_CANDIDATES: usize = 40;
/// Claims of each kind considered however large the budget is: asking for more would take longer than reading them.
const MAX_CANDIDATES: usize = 1_000;
/// Tasks considered: what somebody works on, and what is asked for.
const MAX_TASKS: usize = 200;
/// Claims that belong to what the session is about, at least.
const MIN_ANSWERS: usize = 60;
/// Dead ends that are not at hand and may fill spare room.
const MAX_ELSEWHERE: usize = 20;
/// Anchors considered; more than a tenth of any usual budget holds.
const MAX_ANCHORS: usize = 40;
/// Refusals of queued commands considered.
const MAX_REJECTED: usize = 5;
/// Leases that end within so many milliseconds need attention: a third of the usual lease.
pub(super) const EXPIRES_SOON_MS: i64 = 5 * 60_000;

/// What a context calls a reader whose session took no seat yet: its first write takes one.
pub const UNSEATED: &str = "unseated";

/// For whom a context is, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextOf {
    /// For whom.
    pub agent: AgentId,
    /// In which session; none looks where the team looks.
    pub session: Option<String>,
    /// What it is to be about, in place of the session's intent and last prompt.
    pub intent: Option<String>,
    /// Its characters at most.
    pub budget: usize,
    /// Tokens the session has used of its window, and how many that holds, as its client reports them.
    pub window: Option<pack::Window>,
}

/// What is asked of the read models.
#[derive(Debug, Default)]
pub(super) struct Found {
    stale_after: StaleAfter,
    pub(super) seq: u64,
    trajectory: Option<TrajectoryView>,
    titles: crate::store::Titles,
    session: Option<SessionView>,
    tasks: Vec<TaskView>,
    ready: Vec<TaskView>,
    /// Tasks that no agent took yet; none where the session claimed something already.
    waiting: Vec<TaskView>,
    pub(super) about: About,
    questions: Vec<Question>,
    silences: Vec<Silence>,
    contradictions: Vec<Contradiction>,
    contested: Vec<ClaimSummary>,
    pending_proof: Vec<ClaimSummary>,
    claims: Vec<ClaimSummary>,
    negative: Vec<ClaimSummary>,
    warnings: BTreeMap<ClaimId, Warning>,
    /// How well claims answer what the session is about, by their words and in all, by their ids.
    answers: BTreeMap<ClaimId, (f64, f64)>,
    rejections: BTreeMap<ClaimId, Vec<Rejected>>,
    replaced: BTreeMap<ClaimId, Replaced>,
    /// Confirmed claims that a later decision names, with that decision, by their ids.
    behind: BTreeMap<ClaimId, ClaimId>,
    /// What a first context says of its claims besides; none where the session claimed something already.
    digest: Option<Digest>,
    anchors: Vec<AnchorView>,
    dialogue: Vec<TurnView>,
    rejected: Vec<RejectedCommand>,
    locks: Vec<LockView>,
    peers: Vec<Peer>,
    unseen_claims: u64,
    unseen_dead_ends: u64,
    contested_count: u64,
    pending_count: u64,
    quarantined: u64,
    /// Claims that were looked at.
    seen: BTreeSet<ClaimId>,
    /// Sides of open contradictions, and claims that the reader is asked about.
    disputed: BTreeSet<ClaimId>,
}

/// Asks one question after the other; what cannot be answered is counted and left out.
struct Asking<'a> {
    store: &'a Reader,
    failed: u64,
}

impl Asking<'_> {
    fn ask<T: Default>(&mut self, question: impl FnOnce(&Reader) -> Result<T, StoreError>) -> T {
        match question(self.store) {
            Ok(answer) => answer,
            Err(error) => {
                tracing::debug!(%error, "a part of the context is left out");
                self.failed += 1;
                T::default()
            }
        }
    }
}

/// The context of an agent. A row that cannot be read is left out and counted; it stops nothing. `now_there` is whose
/// files are looked at; none where the past is shown.
pub(super) fn context(
    store: &Reader,
    (stale_after, now_there): (StaleAfter, Option<&Workspace>),
    of: &ContextOf,
    runs: &Runs,
    now: Timestamp,
) -> Answer {
    let names = |text: &str| store.shortened(text);
    packed(&Found { stale_after, ..found(store, now_there, of) }, of, runs, now, &names)
}

/// Why the context of an agent shows what it shows, or one claim of all.
///
/// # Errors
/// [`ViewError::NotFound`] when there is no such claim.
pub(super) fn explained(
    store: &Reader,
    (stale_after, now_there): (StaleAfter, Option<&Workspace>),
    of: &ContextOf,
    runs: &Runs,
    why: Option<ClaimId>,
    now: Timestamp,
) -> Result<Answer, ViewError> {
    let found = Found { stale_after, ..found(store, now_there, of) };
    let entries = entries(&found, of, runs, None, now);
    match why {
        None => Ok(explain::all(store, &found, &entries, of, now)),
        Some(id) => explain::one(store, &found, &entries, of, id, now),
    }
}

/// The context of an agent before anything was ever written.
pub(super) fn empty(of: &ContextOf, now: Timestamp) -> Answer {
    packed(&Found::default(), of, &Runs::default(), now, &str::to_owned)
}

/// What a session hands to the one that goes on from it, the parent to the child: its context, with the dialogue and
/// where it comes from.
///
/// # Errors
/// [`ViewError`] when the read models cannot be opened.
pub fn turn0(
    reads: &mut Reads,
    stale_after: StaleAfter,
    agent: &AgentId,
    (parent, child): (&SessionId, &SessionId),
    reason: &str,
    now: Timestamp,
) -> Result<String, ViewError> {
    let budget = pack::DEFAULT_BUDGET_CHARS;
    let of = ContextOf {
        agent: agent.clone(),
        session: Some(parent.to_string()),
        intent: None,
        budget,
        window: None,
    };
    let now = reads.clock(now);
    let workspace = reads.workspace().clone();
    let now_there = Some(&workspace).filter(|_| reads.horizon().is_none());
    let (found, _) = reads.ask(now, |store| Ok(Found { stale_after, ..found(store, now_there, &of) }))?;
    let found = found.unwrap_or_default();
    let handed_over = entries(&found, &of, &Runs::default(), Some((parent.as_str(), reason)), now);
    // Who reads it is the child: what it writes is to be filed under its own name.
    let entries = Entries { session: Some(child.to_string()), ..handed_over };
    let store = reads.store()?;
    let names = |text: &str| store.map_or_else(|| text.to_owned(), |store| store.shortened(text));
    Ok(pack::hand_over(&entries, now, &names))
}

/// Claims of each kind that are asked for: as many as the budget may hold.
fn candidates(of: &ContextOf) -> usize {
    (of.budget / CANDIDATE_CHARS).clamp(MIN_CANDIDATES, MAX_CANDIDATES)
}

fn found(store: &Reader, now_there: Option<&Workspace>, of: &ContextOf) -> Found {
    let mut asking = Asking { store, failed: 0 };
    let mut found = ask(&mut asking, now_there, of);
    found.quarantined = store.left_out() + asking.failed;
    found
}

fn ask(asking: &mut Asking<'_>, now_there: Option<&Workspace>, of: &ContextOf) -> Found {
    let session = of.session.as_deref();
    let limit = candidates(of);
    let in_status = |status| ClaimFilter { status: vec![status], limit, ..ClaimFilter::default() };
    let mut found = Found {
        seq: asking.ask(|store| Ok(store.folded()?.seq)),
        trajectory: asking.ask(|store| store.trajectory(session)),
        ready: asking.ask(|store| store.ready_tasks(MAX_TASKS)),
        questions: asking.ask(|store| store.questions(Some(of.agent.as_str()), limit)),
        silences: asking.ask(|store| {
            let mut silences = store.silences(limit)?;
            silences.retain(|silence| silence.concerns(&of.agent));
            Ok(silences)
        }),
        contradictions: asking.ask(|store| {
            let open = ContradictionFilter { limit, ..ContradictionFilter::default() };
            Ok(store.contradictions(&open)?.contradictions)
        }),
        contested: asking.ask(|store| Ok(store.claims(&in_status(Status::Contested))?.claims)),
        pending_proof: asking.ask(|store| Ok(store.claims(&in_status(Status::PendingProof))?.claims)),
        anchors: asking.ask(|store| store.anchors(MAX_ANCHORS)),
        peers: asking.ask(|store| store.peers(of.agent.as_str())),
        rejected: asking.ask(|store| store.rejected_commands(MAX_REJECTED)),
        ..Found::default()
    };
    let mut touched = Vec::new();
    if let Some(session) = session {
        touched = asking.ask(|store| store.files_of(session));
        found.session = asking.ask(|store| store.session(session));
        found.dialogue = asking.ask(|store| store.dialogue(session));
    }
    let counts = asking.ask(Reader::counts);
    found.contested_count = counts.by_status.get(&Status::Contested).copied().unwrap_or_default();
    found.pending_count = counts.by_status.get(&Status::PendingProof).copied().unwrap_or_default();
    if let Some(looking) = &found.trajectory {
        let (plan, phase) = (looking.plan_id, looking.phase_id);
        found.titles = asking.ask(|store| store.titles(plan, phase));
    }
    found.tasks = active_tasks(asking, of, found.trajectory.as_ref());
    let looking = found.trajectory.as_ref();
    found.about = About::of(of, looking, &found.tasks, &found.ready, &touched, &found.dialogue);
    ask_for_claims(asking, of, &counts, &mut found);
    let worktree: Option<Worktree> =
        found.session.as_ref().and_then(|session| session.worktree.as_deref()?.parse().ok());
    let Found { contested, pending_proof, claims, negative, .. } = &mut found;
    let mut shown: Vec<&mut ClaimSummary> =
        contested.iter_mut().chain(pending_proof).chain(claims).chain(negative).collect();
    asking.ask(|store| {
        let shown = shown.iter_mut().map(|claim| &mut **claim);
        super::versions::mark_changed(store, shown, worktree.as_ref(), now_there)
    });
    let reader = Some(of.agent.as_str());
    let at_now = asking.ask(|store| store.at_now());
    at_now.mark_news(shown.into_iter(), reader);
    found.locks = at_now.into_locks();
    if is_first(asking, of, &found) {
        let asked = asking.ask(|store| store.questions(None, limit));
        let claims: Vec<&ClaimSummary> = found.claims.iter().collect();
        let (about, replaced) = (&found.about, &found.replaced);
        found.digest = asking.ask(|store| Digest::of(store, &claims, (&asked, replaced), about).map(Some));
        found.waiting = asking.ask(|store| store.tasks_in(TaskStatus::Open, MAX_TASKS));
    }
    found
}

/// Whether the session has something to ask about, and claimed and took nothing yet.
fn is_first(asking: &mut Asking<'_>, of: &ContextOf, found: &Found) -> bool {
    let owner = of.session.is_none().then(|| of.agent.to_string());
    let own = ClaimFilter { session: of.session.clone(), owner, limit: 1, ..ClaimFilter::default() };
    !found.about.texts.is_empty()
        && found.about.tasks.is_empty()
        && asking.ask(|store| Ok(store.claims(&own)?.claims)).is_empty()
}

/// What the session works on, first; then what others do.
fn active_tasks(
    asking: &mut Asking<'_>,
    of: &ContextOf,
    trajectory: Option<&TrajectoryView>,
) -> Vec<TaskView> {
    let mut tasks = asking.ask(|store| store.tasks_in(TaskStatus::Active, MAX_TASKS));
    tasks.extend(asking.ask(|store| store.tasks_in(TaskStatus::Blocked, MAX_TASKS)));
    for id in trajectory.iter().flat_map(|looking| &looking.task_ids) {
        if !tasks.iter().any(|task| task.id == *id) {
            tasks.extend(asking.ask(|store| store.task(*id)).filter(|task| !task.status.is_over()));
        }
    }
    tasks.sort_by_key(|task| !is_mine(task, of, trajectory));
    tasks
}

fn ask_for_claims(asking: &mut Asking<'_>, of: &ContextOf, counts: &Counts, found: &mut Found) {
    let limit = candidates(of);
    let (text, places) = (found.about.text(), found.about.places());
    let mut seen = BTreeSet::new();
    let mut warned = BTreeSet::new();
    for Belonging { claim, words, all } in
        asking.ask(|store| store.about(&text, &places, limit.max(MIN_ANSWERS)))
    {
        found.answers.insert(claim.id, (words, all));
        let (known, list) = match claim.claim_type {
            ClaimType::Negative => (&mut warned, &mut found.negative),
            ClaimType::Fact | ClaimType::Decision | ClaimType::Hypothesis => (&mut seen, &mut found.claims),
        };
        if known.insert(claim.id) {
            list.push(claim);
        }
    }
    let in_force = ClaimFilter { in_force: true, limit, ..ClaimFilter::default() };
    let mut filters: Vec<ClaimFilter> =
        found.about.tasks.iter().map(|task| ClaimFilter { task: Some(*task), ..in_force.clone() }).collect();
    if !places.is_empty() {
        filters.push(ClaimFilter { places: places.clone(), ..in_force.clone() });
    }
    let decided_at = found.about.decided_at();
    if !decided_at.is_empty() {
        let decisions = ClaimFilter { claim_type: Some(ClaimType::Decision), ..in_force.clone() };
        filters.push(ClaimFilter { places: decided_at, ..decisions });
    }
    if found.about.is_asked() {
        let decisions = ClaimFilter { claim_type: Some(ClaimType::Decision), ..in_force.clone() };
        let confirmed = ClaimFilter { status: vec![Status::Confirmed], in_force: false, ..in_force.clone() };
        filters.extend([decisions, confirmed]);
    } else {
        let standing = asking.ask(|store| store.standing(limit));
        found.claims.extend(standing.into_iter().filter(|claim| seen.insert(claim.id)));
    }
    filters.push(ClaimFilter { status: vec![Status::Proposed], in_force: false, ..in_force });
    for filter in filters {
        let claims = asking.ask(|store| Ok(store.claims(&filter)?.claims));
        found.claims.extend(claims.into_iter().filter(|claim| seen.insert(claim.id)));
    }
    // Those at hand, and the newest of all the others.
    let mut dead_ends = vec![ClaimFilter { limit: MAX_ELSEWHERE, ..negative() }];
    if !places.is_empty() {
        dead_ends.push(ClaimFilter { places, limit: limit / 2, ..negative() });
    }
    for filter in dead_ends {
        let claims = asking.ask(|store| Ok(store.claims(&filter)?.claims));
        found.negative.extend(claims.into_iter().filter(|claim| warned.insert(claim.id)));
    }
    // A claim is shown once: where somebody is asked to act, else where it warns, else by its relevance.
    let mut disputed: BTreeSet<ClaimId> = found.contradictions.iter().flat_map(sides).collect();
    disputed.extend(found.questions.iter().map(|asked| asked.claim.id));
    disputed.extend(found.silences.iter().map(|silence| silence.claim.id));
    found.contested.retain(|claim| !disputed.contains(&claim.id));
    let needs_somebody = |claim: &ClaimSummary| {
        matches!(claim.status, Status::Contested | Status::PendingProof) || disputed.contains(&claim.id)
    };
    // What is asked about, or contested, stands under attention.
    let settled_dead_ends = found.negative.len() as u64;
    found.negative.retain(|claim| !needs_somebody(claim));
    found.unseen_dead_ends = counts.negative.saturating_sub(settled_dead_ends);
    found.warnings = asking.ask(|store| store.warnings(&found.negative));
    let mut dropped: BTreeSet<TaskId> = BTreeSet::new();
    for task in found.claims.iter().filter_map(|claim| claim.origin_task_id).collect::<BTreeSet<_>>() {
        // A task that should not be done says nothing about now; its claims stay where they are.
        if asking.ask(|store| store.task(task)).is_some_and(|task| task.status == TaskStatus::Invalidated) {
            dropped.insert(task);
        }
    }
    let is_settled = |status| matches!(status, Status::Proposed | Status::Confirmed);
    let here = found.claims.iter();
    let here = here.filter(|claim| is_settled(claim.status) && claim.claim_type != ClaimType::Negative);
    let elsewhere: BTreeSet<ClaimId> = found
        .contradictions
        .iter()
        .flat_map(|both| [&both.left, &both.right])
        .filter(|side| side.status.is_some_and(is_settled) && !seen.contains(&side.claim_id))
        .map(|side| side.claim_id)
        .collect();
    // What cannot be read is said to be that, and not that there was no room for it.
    let unreadable = asking.store.left_out_settled();
    found.unseen_claims = counts.settled.saturating_sub((here.count() + elsewhere.len()) as u64 + unreadable);
    found.claims.retain(|claim| {
        !needs_somebody(claim)
            && !warned.contains(&claim.id)
            && claim.origin_task_id.as_ref().is_none_or(|task| !dropped.contains(task))
            && claim.claim_type != ClaimType::Negative
    });
    let shown = || found.claims.iter().chain(&found.negative);
    let decisions: Vec<ClaimId> =
        shown().filter(|claim| claim.claim_type == ClaimType::Decision).map(|claim| claim.id).collect();
    found.rejections = asking.ask(|store| store.rejected_by(&decisions));
    let is_decision = |claim: &&ClaimSummary| claim.claim_type == ClaimType::Decision;
    let mut behind = asking.ask(|store| store.named_by(found.claims.iter().filter(is_decision)));
    behind.retain(|id, _| {
        let is_it = |claim: &ClaimSummary| claim.id == *id && claim.status == Status::Confirmed;
        found.claims.iter().any(is_it)
    });
    found.behind = behind;
    let all: Vec<ClaimId> = shown().map(|claim| claim.id).collect();
    found.replaced = asking.ask(|store| store.replaced_by(&all));
    seen.extend(warned);
    (found.seen, found.disputed) = (seen, disputed);
}

fn sides(contradiction: &Contradiction) -> [ClaimId; 2] {
    [contradiction.left.claim_id, contradiction.right.claim_id]
}

/// What the packer gets; with what a session hands over, its name and the reason.
fn entries(
    found: &Found,
    of: &ContextOf,
    runs: &Runs,
    handed_over: Option<(&str, &str)>,
    now: Timestamp,
) -> Entries {
    let changed = found.claims.iter().filter(|claim| !claim.changed_since.is_empty() && claim.is_finding());
    let marks_changes = changed.count() >= super::versions::MARKED;
    let claim = |summary: &ClaimSummary| {
        let claim = found.claim(summary, now);
        let changed = claim.changed.map(|changed| if marks_changes { "~".to_owned() } else { changed });
        pack::Claim { changed, ..claim }
    };
    Entries {
        marks_changes,
        agent: of.agent.to_string(),
        session: of.session.clone(),
        seq: found.seq,
        stale_after: found.stale_after,
        trajectory: found.trajectory.as_ref().map(|looking| pack::Trajectory {
            intent: looking.intent.clone(),
            plan: found.titles.plan.clone(),
            phase: found.titles.phase.clone(),
            active_tasks: found.tasks.len() as u64,
        }),
        window: of.window,
        attention: attention(found, of, runs, &claim, now),
        tasks: found
            .tasks
            .iter()
            .chain(&found.waiting)
            .map(|task| pack_task(task, found.session.as_ref(), now))
            .collect(),
        locks: found
            .locks
            .iter()
            .filter(|lock| concerns(lock, found, of))
            .map(|lock| pack_lock(lock, now))
            .collect(),
        anchors: found.anchors.iter().map(anchor).collect(),
        peers: found.peers.iter().map(pack_peer).collect(),
        claims: found.claims.iter().map(claim).collect(),
        unseen_claims: found.unseen_claims,
        is_asked: found.about.is_asked(),
        unseen_dead_ends: found.unseen_dead_ends,
        anti_patterns: found
            .negative
            .iter()
            .map(|dead_end| anti_pattern(claim(dead_end), found.warnings.get(&dead_end.id)))
            .collect(),
        turn0: handed_over.map(|(parent, reason)| hand_over(found, parent, reason)),
        governance: pack::Governance {
            ready: found.ready.len() as u64,
            contested: found.contested_count,
            pending_proof: found.pending_count,
            drift: None,
        },
        quarantined: found.quarantined,
    }
}

/// Whether a reader should know of a lock: one that it holds, one on a place it works at, and one on what is no place,
/// such as a tag, which each agent may need. What is locked through a task stands on the task too.
fn concerns(lock: &LockView, found: &Found, of: &ContextOf) -> bool {
    let Ok(scope) = lock.scope.parse::<Scope>() else { return false };
    !scope.is_path() || Some(&lock.session) == of.session.as_ref() || scope.is_at(&found.about.places())
}

/// A peer as a pack shows it.
pub(super) fn pack_peer(peer: &Peer) -> pack::Peer {
    let Peer { agent, client, worktree, branch, wants } = peer.clone();
    pack::Peer { agent, client, worktree, branch, wants: wants.unwrap_or_default() }
}

/// A lock as a pack shows it.
pub(super) fn pack_lock(lock: &LockView, now: Timestamp) -> pack::Lock {
    pack::Lock {
        scope: lock.scope.clone(),
        by: lock.agent.clone(),
        worktree: lock.worktree.clone(),
        left: now.age(Timestamp::from_ms(lock.until)),
        purpose: lock.reason(),
    }
}

fn packed(found: &Found, of: &ContextOf, runs: &Runs, now: Timestamp, names: pack::Names<'_>) -> Answer {
    let text = pack::named_pack(&entries(found, of, runs, None, now), of.budget, now, names);
    let json = json!({
        "agent": of.agent,
        "session": of.session,
        "seq": found.seq,
        "trajectory": to_json(&found.trajectory),
        "about": to_json(&found.about),
        "tasks": to_json(&found.tasks),
        "locks": to_json(&found.locks),
        "peers": to_json(&found.peers),
        "anchors": to_json(&found.anchors),
        "questions": to_json(&found.questions),
        "silences": to_json(&found.silences),
        "contradictions": to_json(&found.contradictions),
        "contested": shown(&found.contested, now),
        "pending_proof": shown(&found.pending_proof, now),
        "claims": shown(&found.claims, now),
        "negative": shown(&found.negative, now),
        "ready": found.ready.len(),
        "quarantined": found.quarantined,
    });
    Answer { seq: found.seq, json, text, mime_type: "application/xml", next: None, left_out: 0 }
}

/// What needs somebody: the sides of a contradiction first, then what waits, what is about to be lost, and faults.
fn attention(
    found: &Found,
    of: &ContextOf,
    runs: &Runs,
    claim: &impl Fn(&ClaimSummary) -> pack::Claim,
    now: Timestamp,
) -> Vec<Attention> {
    let questions = found.questions.iter().map(|asked| Attention::Question(question(asked, now)));
    // What concerns the reader or its work first: the team's other disputes can wait for their agents.
    let is_far = |both: &&Contradiction| {
        let at_hand = sides(both).iter().any(|id| found.is_answer(*id));
        !at_hand && !super::attention::moves_of(both).contains_key(of.agent.as_str())
    };
    let mut contradictions: Vec<&Contradiction> = found.contradictions.iter().collect();
    contradictions.sort_by_key(is_far);
    let contradictions = contradictions.into_iter().map(|both| Attention::Contradiction(contradiction(both)));
    let mut contested: Vec<&ClaimSummary> = found.contested.iter().collect();
    contested.sort_by_key(|claim| claim.owner != of.agent.as_str() && !found.is_answer(claim.id));
    let contested = contested.into_iter().map(|summary| Attention::Contested(claim(summary)));
    let pending = found
        .pending_proof
        .iter()
        .map(|summary| Attention::PendingProof { claim: claim(summary), run: None });
    let is_mine = |task: &&TaskView| task.session.is_some() && task.session == of.session;
    let leases = found.tasks.iter().filter(is_mine).filter_map(|task| {
        let left = task.lease_until? - now.ms();
        (left <= EXPIRES_SOON_MS).then(|| Attention::Lease {
            task: task.name.clone(),
            title: task.title.clone(),
            left: now.age(Timestamp::from_ms(task.lease_until.unwrap_or_default())),
        })
    });
    let refused = found.rejected.iter().filter(|refused| refused.agent == of.agent.as_str());
    let refused = refused.map(|refused| Attention::Fault {
        id: refused.command_id.to_string(),
        what: format!("your queued {} did not pass: {}", refused.kind, refused.message),
    });
    let faults = runs.0.iter().filter(|(_, run)| run.outcome != Outcome::Ok);
    let faults =
        faults.map(|(job, run)| Attention::Fault { id: job.clone(), what: format!("{job}: {}", run.detail) });
    let disputes = questions.chain(contradictions);
    let silences = found.silences.iter().map(|silence| Attention::Silence {
        claim: silence.claim.id.to_string(),
        statement: silence.claim.statement.clone(),
        by: silence.claim.owner.clone(),
        left: now.age(Timestamp::from_ms(silence.until)),
    });
    let waiting = disputes.chain(contested).chain(pending).chain(leases);
    waiting.chain(refused).chain(faults).chain(silences).collect()
}

pub(super) fn anchor(kept: &AnchorView) -> pack::Anchor {
    let set_at = Timestamp::from_ms(kept.saved_at);
    pack::Anchor { key: kept.key.clone(), value: kept.value.clone(), set_at }
}

fn pack_task(task: &TaskView, reader: Option<&SessionView>, now: Timestamp) -> pack::Task {
    let here = reader.and_then(|session| session.worktree.as_deref());
    pack::Task {
        id: task.name.clone(),
        phase: task.phase.clone(),
        status: task.status.to_string(),
        lease_left: task.lease_until.map(|until| now.age(Timestamp::from_ms(until))),
        files: task.file_locks.len() as u64,
        by: task.holder.clone(),
        worktree: task.worktree.clone().filter(|there| Some(there.as_str()) != here),
        title: task.title.clone(),
    }
}

/// A dead end as a pack shows it.
pub(super) fn anti_pattern(claim: pack::Claim, warning: Option<&Warning>) -> pack::AntiPattern {
    let trigger = warning.and_then(|warning| warning.trigger.as_ref()).map(ToString::to_string);
    pack::AntiPattern {
        matches: claim.is_at_hand(),
        claim,
        trigger,
        because: warning.and_then(|warning| warning.because.clone()),
    }
}

fn hand_over(found: &Found, parent: &str, reason: &str) -> pack::Turn0 {
    let summary = found.session.as_ref().map(|session| session.summary.join(" … "));
    let messages = found.dialogue.iter().map(|turn| pack::Message {
        role: turn.role.to_string(),
        text: turn.text.clone(),
        at: Timestamp::from_ms(turn.at),
    });
    pack::Turn0 {
        parent_session: parent.to_owned(),
        reason: reason.to_owned(),
        summary: summary.filter(|summary| !summary.is_empty()),
        messages: messages.collect(),
    }
}

/// What a session works on, and where.
pub(super) fn about(store: &Reader, of: &ContextOf) -> Result<About, StoreError> {
    let session = of.session.as_deref();
    let trajectory = store.trajectory(session)?;
    let tasks = active_tasks(&mut Asking { store, failed: 0 }, of, trajectory.as_ref());
    let files = session.map(|session| store.files_of(session)).transpose()?.unwrap_or_default();
    Ok(About::of(of, trajectory.as_ref(), &tasks, &[], &files, &[]))
}

impl Found {
    /// How well a claim answers by its words alone, if it does.
    pub(super) fn words(&self, id: ClaimId) -> Option<f64> {
        self.answers.get(&id).map(|(words, _)| *words)
    }

    /// Whether a claim answers well what the session is about.
    fn is_answer(&self, id: ClaimId) -> bool {
        self.answers.get(&id).is_some_and(|(_, all)| *all >= ANSWERS)
    }

    /// Whether a claim stands under attention because of others.
    pub(super) fn is_disputed(&self, id: ClaimId) -> bool {
        self.disputed.contains(&id)
    }

    /// Whether a claim was looked at.
    pub(super) fn was_seen(&self, id: ClaimId) -> bool {
        self.seen.contains(&id)
    }

    /// A claim as a pack shows it.
    fn claim(&self, summary: &ClaimSummary, now: Timestamp) -> pack::Claim {
        let rejected = self.rejections.get(&summary.id).into_iter().flatten();
        let rejected = rejected.map(|rejected| format!("{} ({})", rejected.statement, rejected.because));
        let replaced = self.replaced.get(&summary.id).map(replaced_by);
        pack::Claim {
            answers: self.answers.get(&summary.id).map_or(0.0, |(_, all)| *all),
            rejected: rejected.collect(),
            replaced,
            behind: self.behind.get(&summary.id).map(ToString::to_string),
            digest: self.digest.as_ref().and_then(|digest| digest.get(summary.id)).cloned(),
            // The pack tells once what is locked.
            by_now: by_now(&self::tests(summary)),
            ..claim_for(summary, &self.about, now)
        }
    }
}

/// What a claim took the place of, as a pack shows it.
pub(super) fn replaced_by(Replaced { statement, claim_type, mended, .. }: &Replaced) -> pack::Replaced {
    let statement = statement.clone();
    match claim_type {
        _ if *mended => pack::Replaced::Mended(statement),
        ClaimType::Negative => pack::Replaced::DeadEnd(statement),
        ClaimType::Fact | ClaimType::Decision | ClaimType::Hypothesis => pack::Replaced::Claim(statement),
    }
}

/// The runs that test a claim now.
fn tests(summary: &ClaimSummary) -> Vec<ByNow> {
    summary.by_now.iter().filter(|at_it| at_it.run.is_some()).cloned().collect()
}

/// A claim as a pack shows it to a session that is about this.
pub(super) fn claim_for(summary: &ClaimSummary, about: &About, now: Timestamp) -> pack::Claim {
    let scopes = summary.scopes.iter().filter_map(|scope| scope.parse::<Scope>().ok());
    let scopes: Vec<Scope> = scopes.filter(|scope| !scope.is_whole()).collect();
    let is_at = |places: &[Scope]| scopes.iter().any(|scope| scope.is_at(places));
    let of_task = summary.origin_task_id.as_ref().is_some_and(|task| about.tasks.contains(task));
    pack::Claim {
        id: summary.id.to_string(),
        statement: summary.statement.clone(),
        claim_type: summary.claim_type,
        status: summary.status,
        basis: summary.basis,
        proved_by: summary.proof.as_ref().map(|proof| {
            format!("{}: {}", proof.run_id, super::inline(&proof.ran, super::markdown::MAX_RAN_CHARS))
        }),
        agreed_by: Vec::new(),
        answers_reader: false,
        unstable: summary.unstable,
        failed_since: summary.failed_since.map(|run| run.to_string()),
        grade: summary.grade,
        evidence_stale: summary.stale,
        changed: super::versions::changed(&summary.changed_since).filter(|_| summary.is_finding()),
        by_now: by_now(&summary.by_now),
        confidence: summary.effective_confidence(now),
        scopes: summary.scopes.clone(),
        by: summary.owner.clone(),
        imported: summary.imported,
        created_at: Timestamp::from_ms(summary.created_at),
        touched_at: Timestamp::from_ms(summary.touched_at),
        seq: summary.seq,
        rejected: Vec::new(),
        replaced: None,
        answers: 0.0,
        linked_to_active_task: of_task || is_at(&about.task_scopes),
        touches_session_files: is_at(&about.files),
        binds: match (summary.claim_type, summary.status) {
            (ClaimType::Decision, Status::Proposed | Status::Confirmed) => about.bound_by(&scopes),
            _ => Binds::Nothing,
        },
        behind: None,
        digest: None,
    }
}

pub(super) fn contradiction(both: &Contradiction) -> pack::Contradiction {
    pack::Contradiction {
        id: both.id.to_string(),
        kind: both.kind,
        detected_at: Timestamp::from_ms(both.detected_at),
        sides: [side(&both.left), side(&both.right)],
        moves: super::attention::moves_of(both).into_keys().collect(),
    }
}

/// A question as a pack shows it.
pub(super) fn question(asked: &Question, now: Timestamp) -> pack::Question {
    let is_open = asked.claim.status == Status::Proposed;
    pack::Question {
        claim: asked.claim.id.to_string(),
        statement: asked.claim.statement.clone(),
        by: asked.claim.owner.clone(),
        asked_at: Timestamp::from_ms(asked.asked_at),
        silence_in: asked.until.filter(|_| is_open).map(|until| now.age(Timestamp::from_ms(until))),
        instead_of: asked.instead_of.map(|old| old.to_string()),
    }
}

fn side(side: &SideView) -> pack::Side {
    let said = side.status.zip(side.created_at).zip(side.statement.clone());
    pack::Side {
        claim: side.claim_id.to_string(),
        owner: side.owner.clone(),
        by: side.agent.clone(),
        challenge: side.challenge.clone(),
        said: said.map(|((status, at), statement)| (status, Timestamp::from_ms(at), statement)),
    }
}
