//! The inputs of an answer: one state of the read models, and the values that every answer needs.

use serde_json::Value;

use super::{Answer, Format, ViewError, attention, versions};
use crate::config::Config;
use crate::domain::text::Worktree;
use crate::domain::time::Timestamp;
use crate::ledger::LedgerError;
use crate::reads::Reads;
use crate::schedule::{self, JobRun, JobRuns};
use crate::standing::Standing;
use crate::store::{ClaimSummary, LeftOut, Reader, StoreError};
use crate::system::modified;
use crate::workspace::Workspace;

/// The inputs of every question.
pub(super) struct Asking<'a> {
    pub(super) reads: &'a mut Reads,
    pub(super) config: &'a Config,
    pub(super) now: Timestamp,
    pub(super) format: Format,
}

/// One state of the read models, with the other inputs of an answer.
pub(super) struct Asked<'a> {
    pub(super) store: &'a Reader,
    /// The position up to which the events are folded.
    pub(super) seq: u64,
    pub(super) workspace: &'a Workspace,
    pub(super) config: &'a Config,
    /// The results of the writer's jobs. A damaged ledger is one of them.
    pub(super) runs: &'a JobRuns,
    pub(super) now: Timestamp,
    pub(super) format: Format,
    is_past: bool,
}

impl Asking<'_> {
    /// Asks the read models for an answer.
    pub(super) fn of_store(
        &mut self,
        question: impl Fn(&Asked<'_>) -> Result<Answer, ViewError>,
    ) -> Result<Answer, ViewError> {
        let (answer, left_out) = self.found(question)?;
        Ok(answer.without(left_out))
    }

    /// Asks the read models, which are empty before the first write. Also returns the number of rows that cannot be
    /// read.
    pub(super) fn found<T>(
        &mut self,
        question: impl Fn(&Asked<'_>) -> Result<T, ViewError>,
    ) -> Result<(T, u64), ViewError> {
        let &mut Self { config, now, format, .. } = self;
        let (workspace, runs) = (self.reads.workspace().clone(), troubles(self.reads, now)?);
        let is_past = self.reads.horizon().is_some();
        let asked = |store: &Reader| -> Result<_, StoreError> {
            store.compare(config.vectors);
            let (seq, workspace, runs) = (store.folded()?.seq, &workspace, &runs);
            Ok(question(&Asked { store, seq, workspace, config, runs, now, format, is_past }))
        };
        let found = match self.reads.ask(now, asked) {
            // A writer does not fold a damaged ledger. This reports the damage without read models.
            Err(StoreError::Unmade) if runs.0.contains_key(attention::LEDGER) => (None, LeftOut::default()),
            found => found?,
        };
        let (answer, left_out) = match found {
            (Some(answer), left_out) => (answer, left_out),
            (None, _) => Reader::nothing()?.snapshot(now, asked)?,
        };
        match answer {
            // The unreadable row may be the one in question.
            Err(ViewError::NotFound(_)) if left_out.count() > 0 => {
                let problem = left_out.problems().next().unwrap_or_default().to_owned();
                Err(StoreError::Malformed(problem).into())
            }
            answer => Ok((answer?, left_out.count())),
        }
    }
}

impl<'a> Asked<'a> {
    /// The workspace whose files are compared. `None` for a past state.
    pub(super) fn files(&self) -> Option<&'a Workspace> {
        Some(self.workspace).filter(|_| !self.is_past)
    }

    /// The linked work tree of the reader. `None` in the main one.
    pub(super) fn worktree(&self) -> Option<Worktree> {
        self.workspace.worktree()
    }

    /// Marks the claims of a list: claims with changed files, and claims that other agents work on. Returns the
    /// places of these claims that other agents hold.
    pub(super) fn mark(
        &self,
        claims: &mut [&mut ClaimSummary],
        reader: Option<&str>,
    ) -> Result<Vec<String>, StoreError> {
        let changed = claims.iter_mut().map(|claim| &mut **claim);
        versions::mark_changed(self.store, changed, self.worktree().as_ref(), self.files())?;
        let at_now = self.store.at_now()?;
        at_now.mark_news(claims.iter_mut().map(|claim| &mut **claim), reader);
        Ok(at_now.held(claims.iter().map(|claim| &**claim), reader))
    }

    /// An answer whose text is Markdown.
    pub(super) fn answer(&self, json: impl FnOnce() -> Value, text: impl FnOnce() -> String) -> Answer {
        Answer::of(self.format, self.seq, json, text)
    }
}

/// The results of the writer's jobs. Empty for a past state.
pub(super) fn jobs(reads: &Reads) -> JobRuns {
    if reads.horizon().is_none() { JobRuns::load(&reads.workspace().schedule()) } else { JobRuns::default() }
}

/// The standing of the ledger, and the error if it cannot be read. The read models answer without the ledger.
pub(super) fn standing(reads: &mut Reads) -> Result<(Standing, Option<String>), ViewError> {
    match reads.standing() {
        Ok(standing) => Ok((standing, None)),
        Err(error @ (LedgerError::Newer { .. } | LedgerError::Gone { .. })) => Err(error.into()),
        Err(error) => Ok((Standing::default(), Some(error.to_string()))),
    }
}

/// The results of the writer's jobs. A damaged ledger is one of them.
fn troubles(reads: &mut Reads, now: Timestamp) -> Result<JobRuns, ViewError> {
    let mut runs = jobs(reads);
    let (standing, unreadable) = standing(reads)?;
    let damaged = standing.damage.map(|damage| {
        let waiting = if damage.stops_writes() { "; writes wait in the spool" } else { "" };
        format!("{}{waiting}", damage.loss.fault)
    });
    // Once one of these files has changed, only the next run of the job tells whether anything is wrong.
    let workspace = reads.workspace();
    let changed = [workspace.config(), workspace.mirrors()].iter().filter_map(|file| modified(file)).max();
    runs.0.retain(|job, run| job != "mirror" || changed.is_none_or(|at| at <= run.last_run_at));
    if let Some(detail) = damaged.or(unreadable) {
        let run = JobRun { last_run_at: now, took_ms: 0, outcome: schedule::JobOutcome::Attention, detail };
        runs.0.insert(attention::LEDGER.to_owned(), run);
    }
    Ok(runs)
}
