//! What is said to a session between its packs: what others did since.

mod bodies;
mod commits;
mod happened;

use std::collections::{BTreeMap, BTreeSet};

use super::about::About as Work;
use super::context::{ContextOf, about, anchor, contradiction};
use super::{MAX_LIMIT, ViewError};
use crate::domain::agent::AgentId;
use crate::domain::claim::{SearchMode, Status, Tier};
use crate::domain::event;
use crate::domain::ids::{ClaimId, EventId, RunId};
use crate::domain::scope::{Mentioned, Scope};
use crate::domain::session::Role;
use crate::domain::text::Worktree;
use crate::domain::time::{Moment, Timestamp};
use crate::ledger;
use crate::pack::{self, About, Body, Concern, DeltaOf, News, Occasion, Told, ToldEdit, ToldLock, Waiting};
use crate::reads::Reads;
use crate::session_news::SessionNews;
use crate::store::{
    ClaimFilter, ClaimSummary, Contradiction, ExperimentView, LockView, Question, Reader, Search, Seen,
    SessionView, StoreError,
};
use crate::workspace::Workspace;
use commits::Committed;
use happened::Happened;

/// Events of each kind that one delta looks at, the oldest; the next one goes on after them.
const MAX_EVENTS: usize = 1_000;
/// New claims that the search may find for the reader.
const MAX_FOUND: usize = 40;

/// Told edits that a session keeps, the last ones. It hears of an older one again.
const MAX_EDITS: usize = 500;

/// The kinds of events that are news, or say what the session knows.
const KINDS: [&str; 20] = [
    event::AnchorSaved::KIND,
    event::ClaimCreated::KIND,
    event::CommitSeen::KIND,
    event::StatusChanged::KIND,
    event::ClaimSuperseded::KIND,
    event::ContradictionDetected::KIND,
    event::EventReported::KIND,
    event::EvidenceAdded::KIND,
    event::ExperimentCompleted::KIND,
    event::FileEdited::KIND,
    event::IntentDeclared::KIND,
    event::PositionTaken::KIND,
    event::ScopesLocked::KIND,
    event::ScopesReleased::KIND,
    event::SessionEnded::KIND,
    event::SessionStarted::KIND,
    event::TaskAdded::KIND,
    event::TaskClaimed::KIND,
    event::TaskReleased::KIND,
    event::TaskUpdated::KIND,
];

/// What a session knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// What it was told.
    pub told: Told,
    /// The claims, contradictions and runs that it opened or searched up, by id: each with the ledger position that it
    /// was shown as of.
    pub opened: BTreeMap<String, u64>,
    /// Ledger position of its last start, which showed its whole context: of what was there before, only what touches or
    /// asks the reader is news.
    pub started_at: u64,
    /// Whether it keeps what waits for its next delta.
    pub is_kept: bool,
}

impl Known {
    /// A session that was told everything up to a ledger position and keeps what waits.
    pub fn up_to(seq: u64) -> Self {
        Self { told: Told::up_to(seq), is_kept: true, ..Self::default() }
    }
}

/// What others did since the session was last told, and what it was told with that; empty when nothing did.
///
/// # Errors
/// [`ViewError`].
pub fn delta(
    reads: &mut Reads,
    of: &ContextOf,
    known: &Known,
    now: Timestamp,
) -> Result<(String, Told), ViewError> {
    delta_after(Occasion::Prompt, reads, of, known, now)
}

/// [`delta`] on any occasion. Except at a prompt the read models are asked only about what other sessions did and about
/// news that waits and is told now.
///
/// # Errors
/// [`ViewError`].
pub fn delta_after(
    occasion: Occasion,
    reads: &mut Reads,
    of: &ContextOf,
    known: &Known,
    now: Timestamp,
) -> Result<(String, Told), ViewError> {
    let Delta { text, told, .. } = delta_with(occasion, reads, of, known, now)?;
    Ok((text, told))
}

/// What was news to a session, and what it was told of that.
#[derive(Debug)]
pub struct Delta {
    /// The delta.
    pub text: String,
    /// What the session was told with it.
    pub told: Told,
    /// What the delta shows.
    pub shown: Vec<News>,
}

impl Delta {
    /// The claims whose texts the delta shows, and the agents that it names for the first time: what the session knows
    /// from then on.
    pub fn opened(&self) -> Vec<String> {
        let mut ids = BTreeSet::new();
        for News { waiting, body, .. } in &self.shown {
            match (&waiting.about, body) {
                (About::Question(id), _) => {
                    ids.extend([id.to_string(), SessionNews::whole(&id.to_string())]);
                }
                (About::Claim(id), body) => {
                    let is_whole = pack::shows_whole(&self.text, body);
                    ids.extend(is_whole.then(|| SessionNews::whole(&id.to_string())));
                    ids.insert(id.to_string());
                }
                (_, Body::Contradiction(both)) => {
                    ids.extend(both.sides.iter().map(|side| side.claim.clone()));
                }
                (About::Peer(agent), _) => drop(ids.insert(peer_key(agent))),
                _ => {}
            }
        }
        ids.into_iter().collect()
    }
}

/// The name under which a session knows an agent.
fn peer_key(agent: &AgentId) -> String {
    format!("agent:{agent}")
}

/// [`delta_after`] with the news that it shows.
///
/// # Errors
/// [`ViewError`].
pub fn delta_with(
    occasion: Occasion,
    reads: &mut Reads,
    of: &ContextOf,
    known: &Known,
    now: Timestamp,
) -> Result<Delta, ViewError> {
    let since = known.told.seq;
    let without = |told: Told| Ok(Delta { text: String::new(), told, shown: Vec::new() });
    let nothing = || without(known.told.clone());
    // What is appended from here on is for the next time.
    let Some(store) = reads.store()? else { return nothing() };
    let mut until = store.folded()?.seq;
    let Some(ledger) = reads.ledger()? else { return nothing() };
    if until < since {
        return nothing();
    }
    let is_command = occasion == Occasion::Command;
    let is_prompt = occasion == Occasion::Prompt;
    let at_prompt = (!is_prompt).then(|| known.told.prompted());
    let is_urgent = |waiting: &Waiting| waiting.concern.is_urgent();
    let is_due = |waiting: &Waiting| occasion.tells(waiting.concern);
    // What waits about a claim is no news after the reader's own position on it.
    let own = [event::PositionTaken::KIND, event::StatusChanged::KIND];
    let has_spoken = known.told.waiting.iter().any(|waiting| matches!(waiting.about, About::Claim(_)))
        && ledger.has_news_for(None, &own, since, until)?;
    if !is_prompt
        && !has_spoken
        && !known.told.waiting.iter().any(is_due)
        && !ledger.has_news_for(of.session.as_deref(), &KINDS, since, until)?
    {
        return without(Told { seq: until, at_prompt, ..known.told.clone() });
    }
    let mut events = Vec::new();
    for kind in KINDS {
        let (after, until_then) = (since, Some(until));
        let filter = ledger::Filter {
            after,
            until: until_then,
            kind: Some(kind.to_owned()),
            limit: MAX_EVENTS,
            ..ledger::Filter::default()
        };
        let some = ledger.list(&filter)?;
        if let Some(last) = some.last().filter(|_| some.len() == MAX_EVENTS) {
            until = last.seq;
        }
        events.extend(some);
    }
    events.retain(|event| event.seq <= until);
    events.sort_by_key(|event| event.seq);
    let mut seen = Happened::of(known);
    for stored in &events {
        let Some(event) = stored.recorded().ok().and_then(|recorded| recorded.event) else { continue };
        seen.note(&event, stored, of);
    }
    // After a command, what waits for a prompt and did not change is not looked at.
    let is_known =
        |about: &About| matches!(about, About::Claim(id) if seen.opened.contains_key(&id.to_string()));
    let later = |waiting: &Waiting| {
        is_command && !is_urgent(waiting) && waiting.seq <= since && !is_known(&waiting.about)
    };
    let later: Vec<Waiting> =
        seen.waiting.extract_if(.., |_, waiting| later(waiting)).map(|(_, it)| it).collect();
    let edited = |waiting: &Waiting| matches!(waiting.about, About::Edits { .. });
    let mut edited_at = BTreeMap::new();
    for waiting in seen.waiting.values().filter(|waiting| edited(waiting)) {
        edited_at.extend(ledger.at(waiting.seq)?.map(|at| (waiting.seq, at)));
    }
    let commits = commits::commits(ledger, &seen, of)?;
    let here = reads.workspace().clone();
    let (news, _) = reads.ask(now, |store| {
        let asked = Asked::of(store, of, &seen, (occasion, &here, known), now)?;
        let news = seen.waiting.values().map(|waiting| asked.news(waiting, &edited_at, &commits));
        let mut news = news.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?;
        let is_lock = |about: &About| matches!(about, About::Locks(_));
        let follows = !known.told.locks.is_empty() || seen.waiting.keys().any(is_lock);
        let held = if follows { store.locks()? } else { Vec::new() };
        news.extend(asked.unlocked(&held, until));
        Ok((news, held))
    })?;
    let (mut news, held) = news.unwrap_or_default();
    news.retain(|news| news.waiting.concern.is_urgent() || news.waiting.seq > known.started_at);
    each_claim_once(&mut news, occasion);
    let delta_of = DeltaOf {
        session: of.session.clone(),
        since,
        seq: until,
        is_kept: known.is_kept,
        occasion,
        budget: occasion.max_chars(),
    };
    let store = reads.store()?;
    let shortener = store.map(Reader::shortener);
    let names = |text: &str| shortener.as_ref().map_or_else(|| text.to_owned(), |shorten| shorten(text));
    let (text, mut told) = pack::named_delta(&delta_of, news.clone(), now, &names);
    let waits = |news: &News| told.waiting.iter().any(|waiting| waiting.about == news.waiting.about);
    let shown: Vec<News> =
        news.into_iter().filter(|news| !text.is_empty() && !waits(news) && is_due(&news.waiting)).collect();
    told.waiting.extend(later);
    let last = match shown.as_slice() {
        [] => known.told.last.clone(),
        shown => shown.iter().map(|news| news.waiting.about.clone()).collect(),
    };
    let (edits, is_reminded) = (edits_told(&known.told, &shown, until), known.told.is_reminded);
    let locks = locks_told(&known.told, &shown, &held, now);
    Ok(Delta { text, told: Told { at_prompt, last, edits, locks, is_reminded, ..told }, shown })
}

/// The edits that a session was told of, with those that a delta up to this ledger position shows.
fn edits_told(before: &Told, shown: &[News], until: u64) -> Vec<ToldEdit> {
    let mut edits = before.edits.clone();
    for News { waiting, .. } in shown {
        let About::Edits { agent, worktree } = &waiting.about else { continue };
        for path in &waiting.paths {
            let told =
                ToldEdit { agent: agent.clone(), worktree: worktree.clone(), path: path.clone(), seq: until };
            edits.retain(|edit| (&edit.agent, &edit.worktree, &edit.path) != (agent, worktree, path));
            edits.push(told);
        }
    }
    let too_many = edits.len().saturating_sub(MAX_EDITS);
    edits.drain(..too_many);
    edits
}

/// The locks that a session was told of and whose end it was not told.
fn locks_told(before: &Told, shown: &[News], held: &[LockView], now: Timestamp) -> Vec<ToldLock> {
    let mut locks = before.locks.clone();
    let is_told = |lock: &ToldLock| {
        shown.iter().any(|News { waiting, .. }| {
            waiting.about == About::Unlocked(lock.agent.clone()) && waiting.paths.contains(&lock.scope)
        })
    };
    locks.retain(|lock| lock.until > now && !is_told(lock));
    for News { waiting, .. } in shown {
        let About::Locks(session) = &waiting.about else { continue };
        for lock in held.iter().filter(|lock| lock.session == session.as_str() && lock.task.is_none()) {
            let Ok(scope) = lock.scope.parse::<Scope>() else { continue };
            let until = Timestamp::from_ms(lock.until);
            let told = ToldLock { agent: AgentId::recorded(&lock.agent), scope, until };
            locks.retain(|lock| (&lock.agent, &lock.scope) != (&told.agent, &told.scope));
            locks.push(told);
        }
    }
    let too_many = locks.len().saturating_sub(MAX_EDITS);
    locks.drain(..too_many);
    locks
}

/// Leaves out the news of a claim that other news told on this occasion shows too: the run about it, or its dispute,
/// which is as urgent then as the claim was.
fn each_claim_once(news: &mut Vec<News>, occasion: Occasion) {
    let mut claims: BTreeMap<String, Concern> = BTreeMap::new();
    for News { waiting, body, .. } in news.iter() {
        // Who ended a claim, and why, is news of its own.
        let is_over = matches!(body, Body::Moved(moved) if moved.status == Status::Deprecated);
        if let About::Claim(id) = waiting.about
            && !is_over
        {
            claims.insert(id.to_string(), waiting.concern);
        }
    }
    let holders: BTreeSet<String> = news
        .iter()
        .filter_map(|news| if let Body::Task(task) = &news.body { task.to.clone() } else { None })
        .collect();
    // The end of a claim and that of its successor are one piece of news to its owner.
    let mut moved = BTreeSet::new();
    news.retain(|news| {
        let Body::Moved(it) = &news.body else { return true };
        it.by.is_some() || moved.insert(it.id.clone())
    });
    // The task that an agent took says that it is there, and what it does.
    news.retain(|news| !matches!(&news.body, Body::Peer(it) if holders.contains(&it.agent)));
    let mut elsewhere = BTreeSet::new();
    for News { waiting, body, .. } in news.iter_mut() {
        let shows: Vec<&String> = if let Body::Contradiction(both) = body {
            both.sides.iter().map(|side| &side.claim).collect()
        } else if let Body::Run(run) = body {
            vec![&run.claim]
        } else {
            continue;
        };
        for id in shows {
            let Some(concern) = claims.get(id) else { continue };
            let most = waiting.concern.min(*concern);
            if occasion.tells(most) {
                waiting.concern = most;
                elsewhere.insert(id.clone());
            }
        }
    }
    let is_shown =
        |news: &News| matches!(news.waiting.about, About::Claim(id) if elsewhere.contains(&id.to_string()));
    news.retain(|news| !is_shown(news));
}

/// What the read models say about the reader and about what happened.
struct Asked<'a> {
    store: &'a Reader,
    of: &'a ContextOf,
    now: Timestamp,
    opened: &'a BTreeMap<String, u64>,
    told: &'a Told,
    reasons: &'a BTreeMap<ClaimId, String>,
    /// Ledger position of the reader's last start.
    started_at: u64,
    /// The workspace whose files are compared with those of the claims.
    here: &'a Workspace,
    /// Whether a client waits with its tool, so that no file is compared.
    is_command: bool,
    /// What it works on, and all places of that.
    work: Work,
    places: Vec<Scope>,
    /// The paths of its own claims. `None` without news of a commit or an edit.
    claimed: Option<Vec<Scope>>,
    /// What its prompts, its intent and its tasks name.
    mentioned: Mentioned,
    questions: Vec<Question>,
    contradictions: Vec<Contradiction>,
    /// The claims that the search finds for its intent and tasks, best first.
    found: Vec<ClaimId>,
    runs: BTreeMap<RunId, ExperimentView>,
}

impl<'a> Asked<'a> {
    fn of(
        store: &'a Reader,
        of: &'a ContextOf,
        seen: &'a Happened,
        (occasion, here, known): (Occasion, &'a Workspace, &'a Known),
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let Known { told, started_at, .. } = known;
        let (mut work, mut prompts) = (Work::default(), Vec::new());
        if !seen.waiting.is_empty() {
            work = about(store, of)?;
            let said = of.session.as_deref().map(|session| store.dialogue(session)).transpose()?;
            prompts = said.unwrap_or_default();
            prompts.retain(|turn| turn.role == Role::User);
        }
        let texts = work.texts.iter().chain(prompts.iter().map(|turn| &turn.text));
        let mentioned = Mentioned::in_texts(texts.map(String::as_str), &here.root().to_string_lossy());
        let places = work.task_scopes.iter().chain(&work.files).cloned().collect();
        let (opened, reasons) = (&seen.opened, &seen.reasons);
        let mut asked = Self {
            store,
            of,
            now,
            opened,
            told,
            reasons,
            started_at: *started_at,
            here,
            is_command: occasion == Occasion::Command,
            work,
            places,
            claimed: None,
            mentioned,
            questions: Vec::new(),
            contradictions: Vec::new(),
            found: Vec::new(),
            runs: BTreeMap::new(),
        };
        let mut new_since = None;
        let mut series = BTreeSet::new();
        for waiting in seen.waiting.values() {
            match &waiting.about {
                About::Claim(_) if waiting.was.is_none() => {
                    new_since = Some(new_since.map_or(waiting.since, |since: u64| since.min(waiting.since)));
                }
                About::Question(_) if asked.questions.is_empty() => {
                    asked.questions = store.questions(Some(of.agent.as_str()), MAX_LIMIT)?;
                    // Of an older question, what its claim comes to is news.
                    let is_news = |id: ClaimId| seen.waiting.contains_key(&About::Question(id));
                    asked.questions.retain(|asked| is_news(asked.claim.id));
                }
                About::Contradiction(id) if !asked.is_opened(&id.to_string(), waiting) => {
                    let found = store.contradiction(*id)?;
                    asked
                        .contradictions
                        .extend(found.filter(|both| both.cause.is_none() && both.tier == Tier::Strong));
                }
                About::Run(id) if !asked.is_opened(&id.to_string(), waiting) => {
                    let run = store.experiment(*id)?.filter(ExperimentView::is_over);
                    // The runs of one request are one piece of news.
                    let first =
                        |run: &ExperimentView| run.series.as_ref().map_or(run.run_id, |series| series.first);
                    asked.runs.extend(run.filter(|run| series.insert(first(run))).map(|run| (*id, run)));
                }
                About::Commit(_) | About::Edits { .. } if asked.claimed.is_none() => {
                    asked.claimed = Some(asked.paths_of_claims()?);
                }
                About::Intent
                | About::Claim(_)
                | About::Question(_)
                | About::Contradiction(_)
                | About::Run(_)
                | About::Task(_)
                | About::Anchor(_)
                | About::Locks(_)
                | About::Unlocked(_)
                | About::Peer(_)
                | About::Edits { .. }
                | About::Commit(_)
                | About::Merged { .. } => {}
            }
        }
        // What only the search finds is not told after a command.
        if let Some(since) = new_since.filter(|_| occasion.tells(Concern::Found)) {
            asked.found = asked.searched(since)?;
        }
        Ok(asked)
    }

    /// The claims made since a ledger position that the search finds for what the reader is about. By words only: a
    /// claim that is merely alike is no news.
    fn searched(&self, since: u64) -> Result<Vec<ClaimId>, StoreError> {
        let since = Some(Moment::Seq(since));
        let filter = ClaimFilter { since, limit: MAX_FOUND, ..ClaimFilter::default() };
        let search = Search {
            query: self.work.text(),
            mode: SearchMode::Strict,
            filter,
            seen: Seen::default(),
            explain: false,
        };
        Ok(self.store.search_by_words(&search)?.hits.into_iter().map(|hit| hit.claim.id).collect())
    }

    fn is_opened(&self, id: &str, waiting: &Waiting) -> bool {
        self.opened.get(id).is_some_and(|as_of| *as_of >= waiting.seq)
    }

    /// Whether the reader was shown the whole text of a claim. A list or a receipt shows only the beginning.
    fn has_whole(&self, id: &str) -> bool {
        self.opened.contains_key(&SessionNews::whole(id))
    }

    /// What there is to tell; none where it is none of the reader's business or news no more.
    fn news(
        &self,
        waiting: &Waiting,
        edited_at: &BTreeMap<u64, Timestamp>,
        commits: &BTreeMap<EventId, Committed>,
    ) -> Result<Option<News>, StoreError> {
        let told = match &waiting.about {
            About::Intent => self.intent(waiting)?,
            About::Claim(id) => self.claim(*id, waiting)?,
            About::Question(id) => {
                let asked = self.questions.iter().find(|asked| asked.claim.id == *id);
                asked.map(|asked| self.question(asked)).transpose()?
            }
            About::Contradiction(id) => {
                let both = self.contradictions.iter().find(|both| both.id == *id);
                both.map(|both| {
                    let both = self.glanced(contradiction(both));
                    let is_mine = both.moves.iter().any(|agent| agent == self.of.agent.as_str());
                    let concern = if is_mine { Concern::Asks } else { Concern::Other };
                    (concern, 2, Body::Contradiction(both))
                })
            }
            About::Run(id) => self.run(*id)?,
            About::Task(id) => self.store.task(*id)?.and_then(|task| self.task(waiting, task)),
            About::Anchor(key) => {
                let kept = self.store.anchor_history(key.as_str())?.into_iter().next();
                let kept = kept.filter(|kept| kept.agent != self.of.agent.as_str());
                kept.map(|kept| (Concern::Other, 2, Body::Anchor(anchor(&kept))))
            }
            About::Locks(session) => self.locks(session.as_str())?,
            // Found by what is locked now.
            About::Unlocked(_) => None,
            About::Peer(agent) => self.peer(agent)?,
            About::Edits { agent, worktree } => {
                return self.edits((agent, worktree.as_ref()), waiting, edited_at);
            }
            About::Commit(id) => return Ok(self.commit(waiting, commits.get(id))),
            About::Merged { agent, worktree, branch } => {
                let session = self.of.session.as_deref();
                let session = session.map(|id| self.store.session(id)).transpose()?.flatten();
                let is_of = |session: &SessionView| session.branch.as_deref() == Some(branch.as_str());
                let is_here = session
                    .as_ref()
                    .is_some_and(|it| it.worktree.as_deref() == worktree.as_ref().map(Worktree::as_str));
                let mut here = waiting.clone();
                // The reader knows its own branch, and an edit that it was told of.
                let is_told = |path: &Scope| self.told.edits.iter().any(|told| told.path == *path);
                here.paths.retain(|path| path.is_at(&self.places) && (is_here || !is_told(path)));
                if !is_here && session.as_ref().is_some_and(is_of) {
                    here.paths.clear();
                }
                here.concern = here.concern.min(if is_here { Concern::Touches } else { Concern::Other });
                let (by, worktree) = (agent.to_string(), worktree.as_ref().map(ToString::to_string));
                let body = Body::Merged { by, worktree, branch: branch.to_string() };
                return Ok((!here.paths.is_empty()).then_some(News { waiting: here, rank: 4, body }));
            }
        };
        Ok(told.map(|(concern, rank, body)| {
            let concern = concern.min(waiting.concern);
            News { waiting: Waiting { concern, ..waiting.clone() }, rank, body }
        }))
    }

    /// The files whose edit by this agent the reader was not told of, or did something about since: it edited the file
    /// itself, or made a claim about it.
    fn untold(
        &self,
        agent: &AgentId,
        worktree: Option<&Worktree>,
        mut paths: BTreeSet<Scope>,
    ) -> Result<BTreeSet<Scope>, StoreError> {
        let told = |path: &Scope| {
            let is_it = |told: &&ToldEdit| {
                told.agent == *agent && told.worktree.as_ref() == worktree && told.path == *path
            };
            self.told.edits.iter().find(is_it).map(|told| told.seq)
        };
        let mut known = BTreeSet::new();
        for (path, told) in paths.iter().filter_map(|path| Some((path, told(path)?))) {
            let session = self.of.session.as_deref();
            let edited = session.map(|session| self.store.touched_at(session, path)).transpose()?.flatten();
            let since = Some(Moment::Seq(told));
            let own = ClaimFilter {
                owner: Some(self.of.agent.to_string()),
                scope: Some(path.clone()),
                since,
                in_force: true,
                limit: MAX_LIMIT,
                ..ClaimFilter::default()
            };
            let is_about_it = |claim: &ClaimSummary| claim.scopes.iter().any(|scope| scope == path.as_str());
            if edited.is_none_or(|edited| edited <= told)
                && !self.store.claims(&own)?.claims.iter().any(is_about_it)
            {
                known.insert(path.clone());
            }
        }
        paths.retain(|path| !known.contains(path));
        Ok(paths)
    }
}
