//! The present work on claims and places: unfinished runs, held tasks and locks. No other code reports it.

use super::locks::places;
use super::{ByNow, ClaimSummary, LockView, Reader, StoreError, TaskView};
use crate::domain::claim::Status;
use crate::domain::experiment::RunState;
use crate::domain::ids::ClaimId;
use crate::domain::plan::{TaskStatus, in_work_tree};
use crate::domain::scope::Scope;
use crate::domain::time::{Span, Timestamp};

/// The most agents that a line names.
const MAX_NAMED: usize = 3;

/// The present work on one line. None without work.
pub fn by_now(at_it: &[ByNow]) -> Option<String> {
    let named: Vec<String> =
        at_it.iter().take(MAX_NAMED).map(|ByNow { agent, does, .. }| format!("{agent} {does}")).collect();
    let more = at_it.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| named.join("; ") + &more)
}

/// An unfinished run.
#[derive(Debug)]
struct UnfinishedRun {
    claim_id: ClaimId,
    name: String,
    agent: String,
    status: RunState,
}

/// The present work of all agents.
#[derive(Debug, Default)]
pub struct AtNow {
    now: Option<Timestamp>,
    runs: Vec<UnfinishedRun>,
    tasks: Vec<TaskView>,
    locks: Vec<LockView>,
}

impl AtNow {
    /// All locks.
    pub fn into_locks(self) -> Vec<LockView> {
        self.locks
    }

    /// Adds the present work to each claim in force.
    fn mark<'c>(&self, claims: impl Iterator<Item = &'c mut ClaimSummary>) {
        if self.runs.is_empty() && self.locks.is_empty() && self.tasks.is_empty() {
            return;
        }
        for claim in claims.filter(|claim| claim.status != Status::Deprecated) {
            claim.by_now = self.at(Some(claim.id), &places(&claim.scopes));
        }
    }

    /// Like [`AtNow::mark`], for a list. Leaves out the reader's own work, and work on directories above a claim.
    pub fn mark_news<'c>(&self, claims: impl Iterator<Item = &'c mut ClaimSummary>, reader: Option<&str>) {
        for claim in claims {
            self.mark(std::iter::once(&mut *claim));
            claim.by_now.retain(|at_it| !at_it.is_above && Some(at_it.agent.as_str()) != reader);
        }
    }

    /// The present work on a claim or on one of its places: its runs first, then locks, then tasks with a scope there.
    pub fn at(&self, claim: Option<ClaimId>, scopes: &[Scope]) -> Vec<ByNow> {
        let runs = self.runs.iter().filter(|run| Some(run.claim_id) == claim);
        let mut at_it: Vec<ByNow> = runs
            .map(|run| ByNow {
                agent: run.agent.clone(),
                does: format!("tests it, {} {}", run.name, run.status),
                is_above: false,
                run: Some(format!("{} {}", run.name, run.status)),
            })
            .collect();
        let is_there = |scope: &String| scope.parse::<Scope>().is_ok_and(|scope| scope.is_at(scopes));
        for lock in self.locks.iter().filter(|lock| is_there(&lock.scope)) {
            let LockView { scope, agent, worktree, why, task, .. } = lock;
            let there = worktree.as_deref().map(|tree| format!(" {}", in_work_tree(Some(tree))));
            let there = there.unwrap_or_default();
            let left = self.left(lock.until);
            let does = match (why, task) {
                (None, Some(task)) => format!("holds {scope}{there} for {task}, {left}"),
                (why, _) => format!("holds {scope}{there}, {left}: {}", why.as_deref().unwrap_or_default()),
            };
            let is_above = scope.parse().is_ok_and(|scope| is_above(&scope, scopes));
            at_it.push(ByNow { agent: agent.clone(), does, is_above, run: None });
        }
        for task in &self.tasks {
            // The locks of the task are in the result already.
            let named = places(&task.scopes).into_iter().filter(|scope| scope.is_at(scopes));
            let named: Vec<Scope> = named.collect();
            if !named.is_empty() && !task.file_locks.iter().any(is_there) {
                let agent = task.holder.clone().unwrap_or_default();
                let is_above = named.iter().all(|scope| is_above(scope, scopes));
                at_it.push(ByNow { agent, does: format!("works on {}", task.name), is_above, run: None });
            }
        }
        at_it
    }

    /// Places of some claims that agents other than the reader hold, each place once: `src/db by devops for T1, 14m
    /// left`.
    pub fn held<'c>(
        &self,
        claims: impl Iterator<Item = &'c ClaimSummary>,
        reader: Option<&str>,
    ) -> Vec<String> {
        let scopes: Vec<Scope> = claims.flat_map(|claim| places(&claim.scopes)).collect();
        let is_news = |lock: &&LockView| {
            let is_there = lock.scope.parse::<Scope>().is_ok_and(|scope| scope.is_at(&scopes));
            is_there && Some(lock.agent.as_str()) != reader
        };
        let said = |lock: &LockView| {
            let LockView { scope, agent, worktree, why, task, .. } = lock;
            let there = worktree.as_deref().map(|tree| format!(" {}", in_work_tree(Some(tree))));
            let there = there.unwrap_or_default();
            let through = task.as_ref().map_or_else(String::new, |task| format!(" for {task}"));
            let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            format!("{scope} by {agent}{there}{through}, {}{why}", self.left(lock.until))
        };
        self.locks.iter().filter(is_news).map(said).collect()
    }

    fn left(&self, until: i64) -> String {
        match self.now {
            Some(now) => format!("{} left", Span(until - now.ms())),
            None => format!("until {}", Timestamp::from_ms(until)),
        }
    }
}

/// Whether a scope is a directory above each place that it overlaps.
fn is_above(scope: &Scope, places: &[Scope]) -> bool {
    let is_below = |place: &Scope| {
        let below = place.as_str().strip_prefix(scope.as_str()).is_some_and(|rest| rest.starts_with('/'));
        below || scope.is_whole() && !place.is_whole()
    };
    scope.is_path() && places.iter().filter(|place| scope.is_at(&[(*place).clone()])).all(is_below)
}

impl Reader {
    /// The present work of all agents.
    pub fn at_now(&self) -> Result<AtNow, StoreError> {
        let mut unfinished = self.db.prepare_cached(
            "SELECT e.claim_id, coalesce((SELECT letter || number FROM names WHERE names.id = e.id), e.id) AS name, \
             e.requested_by, e.status FROM experiments e \
             WHERE e.status IN ('queued', 'running') AND e.claim_id IS NOT NULL ORDER BY e.created_seq",
        )?;
        let runs = self.kept_of(unfinished.query([])?, |row| {
            let status = row.get("status")?;
            Ok::<_, StoreError>(UnfinishedRun {
                claim_id: row.get("claim_id")?,
                name: row.get("name")?,
                agent: row.get("requested_by")?,
                status,
            })
        })?;
        let mut tasks = self.held_tasks()?;
        let locks = self.locks_beside(&tasks)?;
        tasks.retain(|task| task.status == TaskStatus::Active);
        Ok(AtNow { now: self.now(), runs, tasks, locks })
    }

    /// Adds the present work to each claim in force.
    pub fn mark_at_now<'c>(
        &self,
        claims: impl Iterator<Item = &'c mut ClaimSummary>,
    ) -> Result<(), StoreError> {
        let mut claims = claims.filter(|claim| claim.status != Status::Deprecated).peekable();
        if claims.peek().is_some() {
            self.at_now()?.mark(claims);
        }
        Ok(())
    }

    /// [`AtNow::mark_news`] with the present work.
    pub fn mark_news<'c>(
        &self,
        claims: impl Iterator<Item = &'c mut ClaimSummary>,
        reader: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut claims = claims.peekable();
        if claims.peek().is_some() {
            self.at_now()?.mark_news(claims, reader);
        }
        Ok(())
    }

    /// The present work of agents other than the reader on these claims. Claims without such work are left out.
    pub fn at_claims(
        &self,
        ids: &[ClaimId],
        reader: Option<&str>,
    ) -> Result<Vec<(ClaimId, String)>, StoreError> {
        let mut claims = Vec::new();
        for id in ids {
            claims.extend(self.claim_summary(*id)?);
        }
        self.mark_at_now(claims.iter_mut())?;
        for claim in &mut claims {
            claim.by_now.retain(|at_it| Some(at_it.agent.as_str()) != reader);
        }
        Ok(claims.into_iter().filter_map(|claim| Some((claim.id, by_now(&claim.by_now)?))).collect())
    }
}
