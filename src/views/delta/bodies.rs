//! The text of each item of a delta, and whether it touches or asks the reader. `None` for what is no news.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use super::{Asked, Committed, MAX_LIMIT, peer_key};
use crate::domain::agent::AgentId;
use crate::domain::amendment::Change;
use crate::domain::claim::{Basis, ClaimType, Position, Status};
use crate::domain::clean::cut_words;
use crate::domain::ids::{ClaimId, RunId};
use crate::domain::scope::Scope;
use crate::domain::text::Worktree;
use crate::domain::time::Timestamp;
use crate::pack::{
    self, About, Body, Concern, KNOWN_CHARS, Moved, News, RunEnd, Supporter, TaskMove, Waiting,
};
use crate::store::{
    ClaimFilter, ClaimSummary, LockView, PositionHeld, Question, SessionView, StoreError, TaskView,
};
use crate::views::context::{claim_for, pack_dead_end, pack_lock, pack_peer, question, replaced_by};
use crate::views::versions::mark_changed;

/// Maximum number of decisions that are looked at for the last one whose text the reader knows.
const MOST_AMENDED: usize = 8;
/// Maximum length of the reason of a supporter, in characters.
const REASON_CHARS: usize = 120;
/// What is said of the successor of the reader's claim once it ended without a successor of its own.
const OUT_OF_FORCE: &str = "is out of force by now: say it again if it still holds";

/// A supporter with its reason, which may have a reservation.
fn supporter(held: &PositionHeld) -> Supporter {
    let reason = held.reason.as_deref().map(|reason| cut_words(reason, REASON_CHARS));
    Supporter { agent: held.agent.clone(), reason }
}

impl Asked<'_> {
    pub(super) fn intent(&self, waiting: &Waiting) -> Result<Option<(Concern, usize, Body)>, StoreError> {
        // A session that said for itself where it looks follows no other session.
        let looking = self.store.trajectory(self.of.session.as_deref())?;
        let looking = looking.filter(|at| (waiting.since..=waiting.seq).contains(&at.seq));
        Ok(looking.map(|at| (Concern::Asks, 1, Body::Intent(at.intent))))
    }

    pub(super) fn claim(
        &self,
        id: ClaimId,
        waiting: &Waiting,
    ) -> Result<Option<(Concern, usize, Body)>, StoreError> {
        let wanted = ClaimFilter { id: Some(id), limit: 1, ..ClaimFilter::default() };
        let Some(mut summary) = self.store.claims(&wanted)?.claims.pop() else { return Ok(None) };
        let ClaimSummary { status, claim_type, .. } = summary;
        let was = waiting.was;
        let is_over = status == Status::Deprecated;
        let is_own = summary.owner == self.of.agent.as_str();
        // A claim that began and ended since the last delta is no news. A superseded or retracted one is none either,
        // because its successor is. The end of a confirmed claim is news.
        let is_replaced = is_over && summary.superseded_by.is_some();
        let was_relied_on = is_own || was == Some(Status::Confirmed);
        let came_and_went = (is_over && (was.is_none() || is_replaced && !is_own || !was_relied_on))
            || was == Some(status)
            // An option that was not chosen stands on its decision.
            || (was.is_none() && summary.rejected);
        if is_over && !is_own && summary.superseded_by.is_none() {
            // What took the place of the reader's claim holds no longer either.
            if let Some(freed) = self.freed_by(&summary)? {
                return Ok(Some((Concern::Asks, 3, Body::Moved(freed))));
            }
        }
        let is_asked = self.questions.iter().any(|asked| asked.claim.id == summary.id);
        if came_and_went || is_asked || self.is_opened(&summary.id.to_string(), waiting) {
            return Ok(None);
        }
        let is_disputed = self
            .contradictions
            .iter()
            .any(|both| [&both.left.claim_id, &both.right.claim_id].contains(&&summary.id));
        let is_shaken = matches!(status, Status::Contested | Status::Deprecated);
        self.compare(&mut summary)?;
        let mut claim = claim_for(&summary, &self.work, self.now);
        claim.answers_reader =
            summary.proof.is_some() && was.is_some() && self.holds(id, Position::Challenge)?;
        let mut supporters = Vec::new();
        if was.is_some() && status == Status::Confirmed && summary.basis == Some(Basis::Agreed) {
            supporters = self.store.supporters(summary.id, &summary.owner)?;
            claim.agreed_by = supporters.iter().map(|held| held.agent.clone()).collect();
        }
        let scopes = || summary.scopes.iter().filter_map(|scope| scope.parse::<Scope>().ok());
        let is_mentioned = scopes().any(|scope| self.mentioned.names(&scope));
        let touches = claim.linked_to_active_task || claim.touches_session_files || is_mentioned;
        let is_decision = claim_type == ClaimType::Decision && !is_over;
        if is_decision {
            let rejected = self.store.rejected_by(&[summary.id])?.remove(&summary.id).unwrap_or_default();
            claim.rejected =
                rejected.into_iter().map(|it| format!("{} ({})", it.statement, it.because)).collect();
        }
        if was.is_none()
            && let Some(replaced) = self.store.replaced_by(&[summary.id])?.remove(&summary.id)
        {
            let old = replaced_by(&replaced, &summary.statement);
            // A reader of the old text needs the change alone.
            if let Some((old, change)) = self.amends_known(&summary)? {
                claim.statement = format!("amends {old}: {change}");
            } else {
                claim.replaced = Some(old);
            }
            // Supporters of the old one learn why it ended.
            let why = self.store.rationales(&[summary.id])?.remove(&summary.id);
            claim.digest = why.map(|why| pack::Digest { why: Some(why), ..pack::Digest::default() });
        }
        let found = self.found.iter().position(|found| *found == summary.id);
        let is_dead_end = claim_type == ClaimType::Negative && !is_over;
        let (concern, rank) = match (was, found) {
            // It may challenge again.
            _ if claim.answers_reader => (Concern::Asks, 3),
            // Its owner made it.
            (None, _) if is_own => return Ok(None),
            (Some(_), _) if is_own && is_shaken => (Concern::Asks, 3),
            // What an agent supported, it relies on.
            (Some(_), _) if is_over && self.holds(id, Position::Support)? => (Concern::Touches, 1),
            _ if !is_own && touches && (was.is_none() || is_shaken) => {
                // A decision is what the reader has to follow, and a dead end what it has to avoid.
                (Concern::Touches, if is_decision { 0 } else { 1 + usize::from(!is_dead_end) })
            }
            // It binds who works on what it is about, after each command.
            (None, Some(_)) if is_decision && !self.work.tasks.is_empty() => (Concern::Touches, 0),
            (None, Some(at)) => (Concern::Found, at),
            _ => (Concern::Other, usize::from(!is_decision)),
        };
        // The contradiction shows what it says.
        if is_disputed && (is_own || !concern.min(waiting.concern).is_urgent()) {
            return Ok(None);
        }
        let is_known = is_own || is_over || self.opened.contains_key(&summary.id.to_string());
        let end = if is_over { self.store.end(id)? } else { None };
        let mut ended = end.and_then(|end| end.said());
        if let Some(ended) = ended.as_mut()
            && let Some(new) = summary.superseded_by.filter(|_| is_own)
            && self.store.claim(new)?.is_some_and(|new| {
                new.summary.status == Status::Deprecated && new.summary.superseded_by.is_none()
            })
        {
            ended.push_str(", which ");
            ended.push_str(OUT_OF_FORCE);
        }
        let body = if is_known && !claim.answers_reader {
            let why = || ended.clone().or_else(|| self.reasons.get(&id).cloned()).unwrap_or_default();
            Body::Moved(Moved {
                id: summary.id.to_string(),
                status,
                doubt: claim.doubt,
                by: (!is_own).then(|| summary.owner.clone()),
                said: match is_own {
                    true if supporters.is_empty() => why(),
                    true => String::new(),
                    false => summary.statement.clone(),
                },
                supporters: supporters.iter().filter(|_| is_own).map(supporter).collect(),
                why: ended.clone().filter(|_| !is_own),
                is_awaited: is_own && (status != Status::Confirmed || self.has_asked(id)?),
            })
        } else if is_dead_end {
            let warning = self.store.dead_end_details([&summary])?;
            Body::DeadEnd(pack_dead_end(claim, warning.get(&summary.id)))
        } else {
            Body::Claim(claim)
        };
        Ok(Some((concern, rank, body)))
    }

    /// The reader's claim whose place an ended claim had taken.
    fn freed_by(&self, ended: &ClaimSummary) -> Result<Option<Moved>, StoreError> {
        let Some(replaced) = self.store.replaced_by(&[ended.id])?.remove(&ended.id) else { return Ok(None) };
        for id in std::iter::once(replaced.id).chain(replaced.others) {
            let Some(old) = self.store.claim(id)? else { continue };
            if old.summary.owner == self.of.agent.as_str() {
                let said = format!("{} took its place and {OUT_OF_FORCE}", ended.id);
                let (status, is_awaited) = (old.summary.status, true);
                let id = id.to_string();
                return Ok(Some(Moved {
                    id,
                    status,
                    doubt: None,
                    by: None,
                    said,
                    supporters: Vec::new(),
                    why: None,
                    is_awaited,
                }));
            }
        }
        Ok(None)
    }

    /// A question, without the text that the reader knows.
    pub(super) fn question(&self, asked: &Question) -> Result<(Concern, usize, Body), StoreError> {
        let mut shown = question(asked, self.now);
        if self.has_whole(&shown.claim) {
            shown.statement = cut_words(&shown.statement, KNOWN_CHARS);
        } else if asked.amended.is_none()
            && let Some((old, change)) = self.amends_known(&asked.claim)?
        {
            shown.statement = format!("{old} amended: {change}");
        }
        Ok((Concern::Asks, 0, Body::Question(shown)))
    }

    /// The last decision before this one whose whole text the reader knows, with the change since. `None` without such
    /// a decision, and if most of its text changed.
    fn amends_known(&self, claim: &ClaimSummary) -> Result<Option<(ClaimId, String)>, StoreError> {
        let mut at = claim.id;
        for _ in 0..MOST_AMENDED {
            let Some(before) = self.store.replaced_by(&[at])?.remove(&at) else { return Ok(None) };
            if before.claim_type != ClaimType::Decision || before.mended || !before.others.is_empty() {
                return Ok(None);
            }
            if self.has_whole(&before.id.to_string()) {
                let change = Change::said(&before.statement, &claim.statement);
                return Ok(change.map(|change| (before.id, change)));
            }
            at = before.id;
        }
        Ok(None)
    }

    /// Compares the files of a confirmed claim. The status of another one is no reason to rely on it.
    fn compare(&self, claim: &mut ClaimSummary) -> Result<(), StoreError> {
        if claim.status != Status::Confirmed {
            return Ok(());
        }
        let worktree = self.here.worktree();
        mark_changed(
            self.store,
            std::iter::once(claim),
            worktree.as_ref(),
            Some(self.here).filter(|_| !self.is_command),
        )
    }

    /// A contradiction with no more than the beginning of the texts that the reader knows.
    pub(super) fn glanced(&self, mut both: pack::Contradiction) -> pack::Contradiction {
        for side in &mut both.sides {
            let is_own = side.owner.as_deref() == Some(self.of.agent.as_str());
            if let Some((_, _, text)) = &mut side.said
                && (is_own || self.has_whole(&side.claim))
            {
                *text = cut_words(&mem::take(text), KNOWN_CHARS);
            }
        }
        both
    }

    /// An agent that is there, that came after the reader, and that the session was not told of.
    pub(super) fn peer(&self, agent: &AgentId) -> Result<Option<(Concern, usize, Body)>, StoreError> {
        if self.opened.contains_key(&peer_key(agent)) {
            return Ok(None);
        }
        let was_there =
            |session: &SessionView| session.agent == agent.as_str() && session.started_seq < self.started_at;
        if self.store.alive_sessions(MAX_LIMIT)?.iter().any(was_there) {
            return Ok(None);
        }
        let peer =
            self.store.peers(self.of.agent.as_str())?.into_iter().find(|it| it.agent == agent.as_str());
        Ok(peer.map(|it| (Concern::Other, 4, Body::Peer(pack_peer(&it)))))
    }

    /// Whether a claim asks an agent for a position.
    fn has_asked(&self, id: ClaimId) -> Result<bool, StoreError> {
        Ok(self.store.claim(id)?.is_some_and(|claim| !claim.asks.is_empty()))
    }

    /// Whether the reader has this position on a claim.
    fn holds(&self, id: ClaimId, position: Position) -> Result<bool, StoreError> {
        let is_it =
            |held: &PositionHeld| held.agent == self.of.agent.as_str() && held.position == position.as_str();
        Ok(self.store.claim(id)?.is_some_and(|claim| claim.positions.iter().any(is_it)))
    }

    /// A run about a claim of the reader. Of a run that the reader asked for in another session, that session was told: here
    /// only what it left open is news.
    pub(super) fn run(&self, id: RunId) -> Result<Option<(Concern, usize, Body)>, StoreError> {
        let Some(run) = self.runs.get(&id) else { return Ok(None) };
        let is_of_elsewhere = run.requested_by == self.of.agent.as_str()
            && run.session.is_some()
            && run.session != self.of.session;
        let about = run.claim_id.iter().chain(run.attached.iter().map(|tied| &tied.claim_id));
        for claim in about.collect::<BTreeSet<_>>() {
            let wanted = ClaimFilter { id: Some(*claim), limit: 1, ..ClaimFilter::default() };
            let owned = self.store.claims(&wanted)?.claims.pop();
            let owned = owned.filter(|claim| claim.owner == self.of.agent.as_str());
            let Some(mut owned) = owned else { continue };
            if is_of_elsewhere && !matches!(owned.status, Status::Contested | Status::PendingProof) {
                continue;
            }
            self.compare(&mut owned)?;
            let tied = run.attached.iter().find(|tied| tied.claim_id == *claim);
            let says = tied.map(|tied| format!("{} ({})", tied.relation, tied.grade));
            let code = run.outcome.as_ref().and_then(|outcome| outcome.exit_code);
            let code = code.map(|code| format!(", exit code {code}")).unwrap_or_default();
            let end = RunEnd {
                id: run.run_id.to_string(),
                by: run.requested_by.clone(),
                claim: owned.id.to_string(),
                claim_status: owned.status,
                doubt: owned.doubt(),
                statement: cut_words(&owned.statement, KNOWN_CHARS),
                ended: format!("{}{code}", run.status),
                says: says.or_else(|| run.undecided.clone()),
                at: Timestamp::from_ms(run.completed_at.unwrap_or(run.created_at)),
            };
            return Ok(Some((Concern::Asks, 3, Body::Run(end))));
        }
        Ok(None)
    }

    /// What a session still locks, without a task, of the reader's places and of what is no place, such as a tag. Locks that
    /// are over are news no more.
    pub(super) fn locks(&self, session: &str) -> Result<Option<(Concern, usize, Body)>, StoreError> {
        let scope = |lock: &LockView| lock.scope.parse::<Scope>().ok();
        let touches = |lock: &LockView| scope(lock).is_some_and(|scope| scope.is_at(&self.places));
        let mut locks = self.store.locks()?;
        locks.retain(|lock| {
            let is_no_place = scope(lock).is_some_and(|scope| !scope.is_path());
            lock.session == session && lock.task.is_none() && (is_no_place || touches(lock))
        });
        let concern = if locks.iter().any(touches) { Concern::Touches } else { Concern::Other };
        let shown: Vec<_> = locks.iter().map(|lock| pack_lock(lock, self.now)).collect();
        Ok((!shown.is_empty()).then_some((concern, 3, Body::Locks(shown))))
    }

    /// Locks that the reader was told of and that ended before their time, unless another one took their place: those of what
    /// the reader holds, and those of anything that is no place.
    pub(super) fn unlocked(&self, held: &[LockView], seq: u64) -> Vec<News> {
        let mut ended: BTreeMap<&AgentId, BTreeSet<Scope>> = BTreeMap::new();
        for lock in &self.told.locks {
            let is_held = held.iter().any(|held| held.scope == lock.scope.as_str());
            if lock.until > self.now && !is_held {
                ended.entry(&lock.agent).or_default().insert(lock.scope.clone());
            }
        }
        let news = ended.into_iter().filter_map(|(agent, scopes)| {
            let mut waiting = Waiting::new(About::Unlocked(agent.clone()), seq);
            waiting.paths = scopes;
            waiting.paths.retain(|scope| !scope.is_path() || scope.is_at(&self.places));
            if waiting.paths.iter().any(|scope| scope.is_at(&self.places)) {
                waiting.concern = Concern::Touches;
            }
            let scopes: Vec<String> = waiting.paths.iter().map(ToString::to_string).collect();
            let body = Body::Unlocked { by: agent.to_string(), scopes };
            (!waiting.paths.is_empty()).then_some(News { waiting, rank: 3, body })
        });
        news.collect()
    }

    /// A commit of another agent to files that the reader holds, or that its claims are about.
    pub(super) fn commit(&self, waiting: &Waiting, commit: Option<&Committed>) -> Option<News> {
        let Committed { by, commit } = commit?;
        let claimed = self.claimed.as_deref().unwrap_or_default();
        let mut here = waiting.clone();
        here.paths.retain(|path| path.is_at(&self.places) || path.is_at(claimed));
        let touches = here.paths.iter().any(|path| path.is_at(&self.places));
        here.concern = if touches { Concern::Touches } else { Concern::Other };
        let body = Body::Commit { by: by.clone(), commit: commit.clone() };
        (!here.paths.is_empty()).then_some(News { waiting: here, rank: 4, body })
    }

    /// Files that another agent edited: those that the reader holds, and those that its claims name.
    pub(super) fn edits(
        &self,
        (agent, worktree): (&AgentId, Option<&Worktree>),
        waiting: &Waiting,
        edited_at: &BTreeMap<u64, Timestamp>,
    ) -> Result<Option<News>, StoreError> {
        let claimed = self.claimed.as_deref().unwrap_or_default();
        let mut here = waiting.clone();
        here.paths.retain(|path| path.is_at(&self.places) || claimed.contains(path));
        here.paths = self.untold(agent, worktree, here.paths)?;
        let touches = here.paths.iter().any(|path| path.is_at(&self.places));
        here.concern = if touches { Concern::Touches } else { Concern::Other };
        let (by, worktree) = (agent.to_string(), worktree.map(ToString::to_string));
        let body = Body::Edits { by, worktree, at: edited_at.get(&waiting.seq).copied() };
        Ok((!here.paths.is_empty()).then_some(News { waiting: here, rank: 4, body }))
    }

    /// The paths of the reader's own claims.
    pub(super) fn paths_of_claims(&self) -> Result<Vec<Scope>, StoreError> {
        let owner = Some(self.of.agent.to_string());
        let own = ClaimFilter { owner, in_force: true, limit: MAX_LIMIT, ..ClaimFilter::default() };
        let own = self.store.claims(&own)?.claims;
        let scopes =
            own.iter().flat_map(|claim| &claim.scopes).filter_map(|scope| scope.parse::<Scope>().ok());
        Ok(scopes.filter(|scope| scope.is_path() && !scope.is_whole()).collect())
    }

    pub(super) fn task(&self, waiting: &Waiting, mut task: TaskView) -> Option<(Concern, usize, Body)> {
        if task.session.is_some() && task.session.as_deref() == self.of.session.as_deref() {
            return None;
        }
        let overlaps = |lock: &String| lock.parse::<Scope>().is_ok_and(|lock| lock.is_at(&self.places));
        let locks: Vec<String> = task.file_locks.iter().filter(|lock| overlaps(lock)).cloned().collect();
        let is_mine = self.work.tasks.contains(&task.id);
        let is_open = task.holder.is_none() && !task.status.is_over();
        let meant_for = task.meant_for.take().filter(|_| is_open);
        let concern = match &meant_for {
            _ if is_mine || !locks.is_empty() => Concern::Touches,
            Some(agent) if *agent == self.of.agent.as_str() => Concern::Asks,
            _ => Concern::Other,
        };
        // The reader knows the title of a task that it added or was told of.
        if !waiting.is_new || task.added_by == self.of.agent.as_str() {
            task.title = cut_words(&task.title, KNOWN_CHARS);
        }
        let (status, to) = (task.status.to_string(), task.holder);
        let moved = TaskMove { id: task.name, title: task.title, status, to, meant_for, locks };
        Some((concern, 3, Body::Task(moved)))
    }
}
