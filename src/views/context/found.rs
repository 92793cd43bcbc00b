//! The queries of a context.

use std::collections::{BTreeMap, BTreeSet};

use super::ContextOf;
use crate::domain::agent::AgentId;
use crate::domain::amendment::Change;
use crate::domain::claim::{ClaimType, Status};
use crate::domain::ids::{ClaimId, TaskId};
use crate::domain::plan::TaskStatus;
use crate::domain::playbook;
use crate::domain::relevance::{ANSWERS, StaleAfter};
use crate::domain::scope::Scope;
use crate::domain::text::Worktree;
use crate::domain::tokens::tokens;
use crate::store::{
    AnchorView, Belonging, ClaimFilter, ClaimSummary, Contradiction, ContradictionFilter, Counts,
    DeadEndDetail, LockView, Peer, PlaybookView, Question, Reader, Rejected, RejectedCommand, Replaced,
    SessionView, Silence, StoreError, TaskView, TrajectoryView, TurnView,
};
use crate::views::about::{About, is_mine};
use crate::views::claims::negative;
use crate::views::digest::{DONE_TASKS, Digest, mended_dead_ends};
use crate::views::versions;
use crate::workspace::Workspace;

/// Number of characters of the budget for which one claim of each kind is considered. The element of a claim with a
/// short name and a short statement takes as many.
const CANDIDATE_CHARS: usize = 105;
/// Minimum number of considered claims of each kind, for a small budget.
const MIN_CANDIDATES: usize = 40;
/// Maximum number of considered claims of each kind, for a large budget: more would take longer than reading them.
const MAX_CANDIDATES: usize = 1_000;
/// Maximum number of tasks: those that agents work on, and open ones.
const MAX_TASKS: usize = 200;
/// Maximum number of tasks that were done.
const MAX_DONE: usize = 8;
/// Minimum number of claims that belong to the subject of the session.
const MIN_ANSWERS: usize = 60;
/// Maximum number of dead ends elsewhere, which may fill spare room.
const MAX_ELSEWHERE: usize = 20;
/// Questions that a first context shows whole, at most.
const WHOLE_QUESTIONS: usize = 3;
/// Number of ended claims among which those that are told are found.
const MAX_ENDED: usize = 60;
/// Maximum number of ended claims that are told.
const MAX_OVER: usize = 12;
/// Maximum number of decisions out of force that are told because others name them.
const MAX_NAMED: usize = 12;
/// Maximum number of anchors: more than a tenth of any usual budget holds.
const MAX_ANCHORS: usize = 40;
/// Maximum number of refused queued commands.
const MAX_REJECTED: usize = 5;
/// A lease that ends within this time needs attention, in milliseconds: a third of the usual lease.
pub(in crate::views) const EXPIRES_SOON_MS: i64 = 5 * 60_000;

/// The most tasks of a playbook whose titles are compared.
const MAX_TITLES: usize = 8;
/// The words that two titles of like tasks share at least.
const SHARED_WORDS: usize = 2;

/// A claim that ended, as a new session is told of it.
#[derive(Debug)]
pub(in crate::views) struct Ended {
    pub(in crate::views) claim: ClaimSummary,
    /// What holds no more: its statement, or the sentence of it that was amended.
    pub(in crate::views) was: String,
    /// The claim that holds in its place.
    pub(in crate::views) now: Option<ClaimId>,
    /// The reason of its end, if no claim replaced it.
    pub(in crate::views) why: Option<String>,
}

/// The results of the queries.
#[derive(Debug, Default)]
pub(in crate::views) struct Found {
    pub(in crate::views) stale_after: StaleAfter,
    pub(in crate::views) seq: u64,
    pub(in crate::views) trajectory: Option<TrajectoryView>,
    pub(in crate::views) titles: crate::store::Titles,
    pub(in crate::views) session: Option<SessionView>,
    pub(in crate::views) tasks: Vec<TaskView>,
    pub(in crate::views) ready: Vec<TaskView>,
    /// Tasks without a holder. Empty after the session's first task or claim.
    pub(in crate::views) waiting: Vec<TaskView>,
    /// The tasks that were done last. Empty after the session's first task or claim.
    pub(in crate::views) done: Vec<TaskView>,
    pub(in crate::views) about: About,
    pub(in crate::views) questions: Vec<Question>,
    /// The claims of questions that the pack only names: their statements stand among the other claims.
    pub(in crate::views) folded: BTreeSet<ClaimId>,
    pub(in crate::views) silences: Vec<Silence>,
    pub(in crate::views) contradictions: Vec<Contradiction>,
    pub(in crate::views) contested: Vec<ClaimSummary>,
    pub(in crate::views) pending_proof: Vec<ClaimSummary>,
    pub(in crate::views) claims: Vec<ClaimSummary>,
    pub(in crate::views) negative: Vec<ClaimSummary>,
    pub(in crate::views) details: BTreeMap<ClaimId, DeadEndDetail>,
    /// The scores of claims for the subject of the session, by words and in all, by their ids.
    pub(in crate::views) answers: BTreeMap<ClaimId, (f64, f64)>,
    pub(in crate::views) rejections: BTreeMap<ClaimId, Vec<Rejected>>,
    pub(in crate::views) replaced: BTreeMap<ClaimId, Replaced>,
    /// Confirmed claims that a later decision names, by their ids, with that decision.
    pub(in crate::views) behind: BTreeMap<ClaimId, ClaimId>,
    /// Claims of contradictions that their owners withdraw in words, with the later claims that say so.
    pub(in crate::views) withdrawn: BTreeMap<ClaimId, ClaimId>,
    /// The further parts of a first context. `None` after the session's first task or claim.
    pub(in crate::views) digest: Option<Digest>,
    pub(in crate::views) anchors: Vec<AnchorView>,
    pub(in crate::views) dialogue: Vec<TurnView>,
    pub(in crate::views) rejected: Vec<RejectedCommand>,
    pub(in crate::views) locks: Vec<LockView>,
    pub(in crate::views) peers: Vec<Peer>,
    /// Claims that ended without a successor among `claims`, each with the reason. Empty after the session's first task or
    /// claim.
    pub(in crate::views) over: Vec<Ended>,
    /// The accepted playbook that fits the session's work.
    pub(in crate::views) playbook: Option<PlaybookView>,
    pub(in crate::views) unseen_claims: u64,
    pub(in crate::views) unseen_dead_ends: u64,
    pub(in crate::views) contested_count: u64,
    pub(in crate::views) pending_count: u64,
    pub(in crate::views) quarantined: u64,
    /// Whether no task, question, dispute or proof waits for anybody. Told to a new session only.
    pub(in crate::views) is_nothing_open: bool,
    /// The considered claims.
    pub(in crate::views) seen: BTreeSet<ClaimId>,
    /// Sides of open contradictions, and claims of questions to the reader.
    pub(in crate::views) disputed: BTreeSet<ClaimId>,
}

/// Runs one query after the other. A query that fails is counted and left out.
struct Parts<'a> {
    store: &'a Reader,
    failed: u64,
}

impl Parts<'_> {
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

/// The number of considered claims of each kind: as many as the budget may hold.
fn candidates(of: &ContextOf) -> usize {
    (of.budget / CANDIDATE_CHARS).clamp(MIN_CANDIDATES, MAX_CANDIDATES)
}

/// The number of considered contradictions beside so many claims: the element of one has two statements.
fn sides_limit(candidates: usize) -> usize {
    (candidates / 2).max(MIN_CANDIDATES)
}

/// Runs all queries. A row that cannot be read is counted and left out. `now_there` is the workspace whose files are
/// compared. `None` for a past state.
pub(in crate::views) fn found(
    store: &Reader,
    (stale_after, now_there): (StaleAfter, Option<&Workspace>),
    of: &ContextOf,
) -> Found {
    let mut asking = Parts { store, failed: 0 };
    let mut found = Found { stale_after, ..ask(&mut asking, now_there, of) };
    found.quarantined = store.left_out() + asking.failed;
    found
}

fn ask(asking: &mut Parts<'_>, now_there: Option<&Workspace>, of: &ContextOf) -> Found {
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
            let limit = sides_limit(limit);
            let mut open = ContradictionFilter { limit, ..ContradictionFilter::default() };
            let mut found = Vec::new();
            loop {
                let page = store.contradictions(&open)?;
                found.extend(page.contradictions.into_iter().filter(|both| !both.is_outvoted));
                open.before = page.next;
                if found.len() >= limit || open.before.is_none() {
                    break;
                }
            }
            found.truncate(limit);
            Ok(found)
        }),
        pending_proof: asking.ask(|store| Ok(store.claims(&in_status(Status::PendingProof))?.claims)),
        anchors: asking.ask(|store| store.anchors(MAX_ANCHORS)),
        peers: asking.ask(|store| store.peers(of.agent.as_str())),
        rejected: asking.ask(|store| store.rejected_commands(MAX_REJECTED)),
        ..Found::default()
    };
    // Contradictions that fill their room leave little to contested claims that are no sides of them.
    let is_full = found.contradictions.len() == sides_limit(limit);
    let most = if is_full { MIN_CANDIDATES } else { limit };
    let contested = ClaimFilter { limit: most, ..in_status(Status::Contested) };
    found.contested = asking.ask(|store| Ok(store.claims(&contested)?.claims));
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
    let root = now_there.map(|workspace| workspace.root().to_string_lossy()).unwrap_or_default();
    found.about = About::of(of, looking, &found.tasks, &found.ready, &touched, &found.dialogue, &root);
    if let Some(workspace) = now_there.filter(|_| !found.about.files.is_empty()) {
        found.about.widen(&workspace.cochange());
    }
    found.withdrawn =
        asking.ask(|store| store.withdrawals(&found.contradictions.iter().flat_map(sides).collect()));
    found.playbook = asking.ask(|store| playbook_for(store, of, &found));
    let is_new = is_new(asking, of, &found);
    if is_new {
        found.folded = folded(&found.questions);
    }
    ask_for_claims(asking, of, &counts, &mut found);
    if is_new {
        let named = asking.ask(|store| named_out_of_force(store, &found.claims));
        let ids: Vec<ClaimId> = named.iter().map(|(claim, _)| claim.id).collect();
        found.rejections.extend(asking.ask(|store| store.rejected_by(&ids)));
        for (claim, by) in named {
            found.behind.insert(claim.id, by);
            found.claims.push(claim);
        }
    }
    // The reader sees the files of the work tree that it asks from, whatever tree its session began in.
    let there = || found.session.as_ref().and_then(|session| session.worktree.as_deref()?.parse().ok());
    let worktree: Option<Worktree> = now_there.map_or_else(there, Workspace::worktree);
    let Found { contested, pending_proof, claims, negative, .. } = &mut found;
    let mut shown: Vec<&mut ClaimSummary> =
        contested.iter_mut().chain(pending_proof).chain(claims).chain(negative).collect();
    asking.ask(|store| {
        let shown = shown.iter_mut().map(|claim| &mut **claim);
        versions::mark_changed(store, shown, worktree.as_ref(), now_there)
    });
    asking.ask(|store| store.mark_changed_values(shown.iter_mut().map(|claim| &mut **claim)));
    asking.ask(|store| store.mark_names_over(shown.iter_mut().map(|claim| &mut **claim)));
    let reader = Some(of.agent.as_str());
    let at_now = asking.ask(|store| store.at_now());
    at_now.mark_news(shown.into_iter(), reader);
    found.locks = at_now.into_locks();
    if is_new {
        let asked = asking.ask(|store| store.questions(None, limit));
        let claims: Vec<&ClaimSummary> = found.claims.iter().collect();
        let (about, replaced) = (&found.about, &found.replaced);
        let mut done = asking.ask(|store| store.done_last(DONE_TASKS));
        found.digest =
            asking.ask(|store| Digest::of(store, &claims, (&asked, replaced), (about, &done)).map(Some));
        for (id, by) in asking.ask(|store| mended_dead_ends(store, &found.negative, &found.claims, &done)) {
            found.details.entry(id).or_default().mended = Some(by);
        }
        found.waiting = asking.ask(|store| store.tasks_in(TaskStatus::Open, MAX_TASKS));
        found.waiting.sort_by_key(|task| task.meant_for.as_deref() != Some(of.agent.as_str()));
        done.truncate(MAX_DONE);
        found.done = done;
        found.over = asking.ask(|store| over(store, &found.claims));
        found.is_nothing_open = !found.done.is_empty()
            && asked.is_empty()
            && found.tasks.is_empty()
            && found.waiting.is_empty()
            && found.contradictions.is_empty()
            && found.contested_count + found.pending_count == 0;
    }
    found
}

/// The accepted playbook that fits the session's work: the files of a step overlap a scope of its tasks or a place in its
/// texts, or the title of a task that ended well with the steps is like its intent or the title of a task of its own. Of
/// several, the one with the most of these tasks.
fn playbook_for(store: &Reader, of: &ContextOf, found: &Found) -> Result<Option<PlaybookView>, StoreError> {
    let Some(now) = store.now() else { return Ok(None) };
    let mut all = store.playbooks(now)?;
    all.retain(PlaybookView::is_in_use);
    if all.is_empty() {
        return Ok(None);
    }
    let about = &found.about;
    // The intent of the team is not that of each session.
    let declared = found.trajectory.as_ref().filter(|looking| looking.agent == of.agent.as_str());
    let intent = of.intent.as_ref().or(declared.map(|looking| &looking.intent));
    let titles = found.tasks.iter().filter(|task| about.tasks.contains(&task.id)).map(|task| &task.title);
    let texts: Vec<BTreeSet<String>> =
        titles.chain(intent).map(|text| tokens(text).into_iter().collect()).collect();
    let places: Vec<Scope> = about.task_scopes.iter().chain(&about.named).cloned().collect();
    let mut best: Option<PlaybookView> = None;
    for one in all {
        let is_there = playbook::changes(&one.steps, &places);
        let is_more = best.as_ref().is_none_or(|best| one.tasks.len() > best.tasks.len());
        if is_more && (is_there || has_like_title(store, &one, &texts)?) {
            best = Some(one);
        }
    }
    Ok(best)
}

/// Whether one of these texts is like the title of a task that ended well with a playbook.
fn has_like_title(
    store: &Reader,
    one: &PlaybookView,
    texts: &[BTreeSet<String>],
) -> Result<bool, StoreError> {
    for id in one.tasks.iter().take(MAX_TITLES) {
        let known: BTreeSet<String> =
            store.task(*id)?.into_iter().flat_map(|task| tokens(&task.title)).collect();
        if texts.iter().any(|words| words.intersection(&known).count() >= SHARED_WORDS) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The claims of a new session's questions, if these are many. They come from before the session, and their statements
/// would take the room of the summary. A question with consequences of its own stays: silence or another claim decides it.
fn folded(questions: &[Question]) -> BTreeSet<ClaimId> {
    let is_plain = |asked: &&Question| {
        asked.until.is_none()
            && asked.instead_of.is_none()
            && asked.would_replace.is_none()
            && asked.waits_for.is_none()
            && !asked.is_challenged
            && matches!(asked.claim.status, Status::Proposed | Status::Confirmed)
            && asked.claim.claim_type != ClaimType::Negative
    };
    let plain: BTreeSet<ClaimId> = questions.iter().filter(is_plain).map(|asked| asked.claim.id).collect();
    if plain.len() > WHOLE_QUESTIONS { plain } else { BTreeSet::new() }
}

/// The decisions out of force that decisions in force name, each with the newest of these: `C2 as implemented` is told
/// with C2. Direct predecessors are left out, because their successors tell them.
fn named_out_of_force(
    store: &Reader,
    claims: &[ClaimSummary],
) -> Result<Vec<(ClaimSummary, ClaimId)>, StoreError> {
    let is_decision = |claim: &ClaimSummary| claim.claim_type == ClaimType::Decision;
    let in_force: Vec<&ClaimSummary> = claims.iter().filter(|claim| is_decision(claim)).collect();
    let mut named = store.named_by(in_force.iter().copied())?;
    named.retain(|id, _| claims.iter().all(|claim| claim.id != *id));
    let mut found = Vec::new();
    for (id, by) in named.into_iter().take(MAX_NAMED) {
        let wanted = ClaimFilter { id: Some(id), limit: 1, ..ClaimFilter::default() };
        let is_told = |claim: &ClaimSummary| {
            let successor = claim.superseded_by;
            claim.rejected || in_force.iter().any(|decision| successor == Some(decision.id))
        };
        let claim = store.claims(&wanted)?.claims.pop();
        let claim = claim.filter(|claim| claim.status == Status::Deprecated && is_decision(claim));
        found.extend(claim.filter(|claim| !is_told(claim)).map(|claim| (claim, by)));
    }
    Ok(found)
}

/// The claims that agents ended last, without options that no decision chose and claims whose successors are shown. A
/// claim whose term is over is no longer shown anywhere.
fn over(store: &Reader, shown: &[ClaimSummary]) -> Result<Vec<Ended>, StoreError> {
    let ended = ClaimFilter { status: vec![Status::Deprecated], limit: MAX_ENDED, ..ClaimFilter::default() };
    let mut ended = store.claims(&ended)?.claims;
    let is_told = |claim: &ClaimSummary| {
        shown.iter().any(|shown| claim.id == shown.id || claim.superseded_by == Some(shown.id))
    };
    ended.retain(|claim| !claim.rejected && !is_told(claim));
    let mut over = Vec::new();
    for claim in ended {
        if claim.superseded_by.is_some() {
            over.extend(replaced(store, claim)?);
        } else if let Some(end) = store.end(claim.id)?.filter(|end| end.by != AgentId::system().as_str()) {
            let was = claim.statement.clone();
            over.push(Ended { was, now: None, why: end.said(), claim });
        }
        if over.len() == MAX_OVER {
            break;
        }
    }
    Ok(over)
}

/// A replaced claim with the one that holds in its place. Of a decision that was amended, the sentence that differs is
/// what holds no more. `None` where the words hold again.
fn replaced(store: &Reader, claim: ClaimSummary) -> Result<Option<Ended>, StoreError> {
    let Some(now) = store.holds_now(claim.id)? else { return Ok(None) };
    let was = match (claim.claim_type, now.claim_type) {
        (ClaimType::Decision, ClaimType::Decision) => {
            match Change::old_words(&claim.statement, &now.statement) {
                Some(words) if words.is_empty() => return Ok(None),
                Some(words) => words,
                None => claim.statement.clone(),
            }
        }
        _ => claim.statement.clone(),
    };
    Ok(Some(Ended { was, now: Some(now.id), why: None, claim }))
}

/// Whether the session has neither a task nor a claim yet.
fn is_new(asking: &mut Parts<'_>, of: &ContextOf, found: &Found) -> bool {
    let owner = of.session.is_none().then(|| of.agent.to_string());
    let own = ClaimFilter { session: of.session.clone(), owner, ..ClaimFilter::default() };
    found.about.tasks.is_empty() && !asking.ask(|store| store.has_claims(&own))
}

/// The session's own tasks first, then those of others.
fn active_tasks(
    asking: &mut Parts<'_>,
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

fn ask_for_claims(asking: &mut Parts<'_>, of: &ContextOf, counts: &Counts, found: &mut Found) {
    let limit = candidates(of);
    let (text, places) = (found.about.text(), found.about.places());
    let nearby: Vec<Scope> = places.iter().chain(&found.about.follow).cloned().collect();
    let mut seen = BTreeSet::new();
    let mut warned = BTreeSet::new();
    for Belonging { claim, words, all } in
        asking.ask(|store| store.about(&text, &nearby, limit.max(MIN_ANSWERS)))
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
    if !found.about.follow.is_empty() {
        filters.push(ClaimFilter { places: found.about.follow.clone(), ..in_force.clone() });
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
    let folded = found.questions.iter().filter(|asked| found.folded.contains(&asked.claim.id));
    found.claims.extend(folded.map(|asked| asked.claim.clone()).filter(|claim| seen.insert(claim.id)));
    // Those at the places of the work, and the newest others.
    let mut dead_ends = vec![ClaimFilter { limit: MAX_ELSEWHERE, ..negative() }];
    if !places.is_empty() {
        dead_ends.push(ClaimFilter { places, limit: limit / 2, ..negative() });
    }
    for filter in dead_ends {
        let claims = asking.ask(|store| Ok(store.claims(&filter)?.claims));
        found.negative.extend(claims.into_iter().filter(|claim| warned.insert(claim.id)));
    }
    // A claim is shown once: as an attention entry if an agent must act on it, or else as a dead end, or else by its
    // relevance.
    let mut disputed: BTreeSet<ClaimId> = found.contradictions.iter().flat_map(sides).collect();
    disputed
        .extend(found.questions.iter().map(|asked| asked.claim.id).filter(|id| !found.folded.contains(id)));
    disputed.extend(found.silences.iter().map(|silence| silence.claim.id));
    found.contested.retain(|claim| !disputed.contains(&claim.id));
    let needs_agent = |claim: &ClaimSummary| {
        matches!(claim.status, Status::Contested | Status::PendingProof) || disputed.contains(&claim.id)
    };
    // Claims of questions and contested claims are attention entries.
    let settled_dead_ends = found.negative.len() as u64;
    found.negative.retain(|claim| !needs_agent(claim));
    found.unseen_dead_ends = counts.negative.saturating_sub(settled_dead_ends);
    found.details = asking.ask(|store| store.dead_end_details(&found.negative));
    let mut dropped: BTreeSet<TaskId> = BTreeSet::new();
    for task in found.claims.iter().filter_map(|claim| claim.origin_task_id).collect::<BTreeSet<_>>() {
        // An invalidated task says nothing about the current work. Its claims stay where they are.
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
    // Rows that cannot be read are counted as such, and not as left out for lack of room.
    let unreadable = asking.store.left_out_settled();
    found.unseen_claims = counts.settled.saturating_sub((here.count() + elsewhere.len()) as u64 + unreadable);
    found.claims.retain(|claim| {
        !needs_agent(claim)
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

pub(in crate::views) fn sides(contradiction: &Contradiction) -> [ClaimId; 2] {
    [contradiction.left.claim_id, contradiction.right.claim_id]
}

/// The tasks of a session, and their places.
pub(in crate::views) fn about(store: &Reader, of: &ContextOf) -> Result<About, StoreError> {
    let session = of.session.as_deref();
    let trajectory = store.trajectory(session)?;
    let tasks = active_tasks(&mut Parts { store, failed: 0 }, of, trajectory.as_ref());
    let files = session.map(|session| store.files_of(session)).transpose()?.unwrap_or_default();
    Ok(About::of(of, trajectory.as_ref(), &tasks, &[], &files, &[], ""))
}

impl Found {
    /// The score of a claim by its words alone, if it has one.
    pub(in crate::views) fn words(&self, id: ClaimId) -> Option<f64> {
        self.answers.get(&id).map(|(words, _)| *words)
    }

    /// Whether a claim has a good score for the subject of the session.
    pub(in crate::views) fn is_answer(&self, id: ClaimId) -> bool {
        self.answers.get(&id).is_some_and(|(_, all)| *all >= ANSWERS)
    }

    /// Whether a claim is an attention entry because of other agents.
    pub(in crate::views) fn is_disputed(&self, id: ClaimId) -> bool {
        self.disputed.contains(&id)
    }

    /// Whether a claim was considered.
    pub(in crate::views) fn was_seen(&self, id: ClaimId) -> bool {
        self.seen.contains(&id)
    }
}
