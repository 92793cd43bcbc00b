//! How a question is asked: of one state of the read models, with what an answer needs besides them.

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
use crate::workspace::Workspace;

/// What every question is asked with.
pub(super) struct Asking<'a> {
    pub(super) reads: &'a mut Reads,
    pub(super) config: &'a Config,
    pub(super) now: Timestamp,
    pub(super) format: Format,
}

/// One state of the read models, and what an answer needs besides them.
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

    /// Asks the read models; before the first write these are empty ones. Also the number of rows that cannot be read.
    pub(super) fn found<T>(
        &mut self,
        question: impl Fn(&Asked<'_>) -> Result<T, ViewError>,
    ) -> Result<(T, u64), ViewError> {
        let &mut Self { config, now, format, .. } = self;
        let (workspace, runs) = (self.reads.workspace().clone(), troubles(self.reads, now)?);
        let is_past = self.reads.horizon().is_some();
        let asked = |store: &Reader| -> Result<_, StoreError> {
            let (seq, workspace, runs) = (store.folded()?.seq, &workspace, &runs);
            Ok(question(&Asked { store, seq, workspace, config, runs, now, format, is_past }))
        };
        let found = match self.reads.ask(now, asked) {
            // A writer that must not fold a damaged ledger makes no read models. The damage can be told without them.
            Err(StoreError::Unmade) if runs.0.contains_key(attention::LEDGER) => (None, LeftOut::default()),
            found => found?,
        };
        let (answer, left_out) = match found {
            (Some(answer), left_out) => (answer, left_out),
            (None, _) => Reader::nothing()?.snapshot(now, asked)?,
        };
        match answer {
            // It may be the row that cannot be read.
            Err(ViewError::NotFound(_)) if left_out.count() > 0 => {
                let problem = left_out.problems().next().unwrap_or_default().to_owned();
                Err(StoreError::Malformed(problem).into())
            }
            answer => Ok((answer?, left_out.count())),
        }
    }
}

impl<'a> Asked<'a> {
    /// The workspace whose files are looked at; none where the past is shown.
    pub(super) fn files(&self) -> Option<&'a Workspace> {
        Some(self.workspace).filter(|_| !self.is_past)
    }

    /// The linked work tree that the reader is in; none in the main one.
    pub(super) fn worktree(&self) -> Option<Worktree> {
        self.workspace.worktree()
    }

    /// Marks the claims of a list: those whose files changed, and the work on them that is news to the reader. Returns what
    /// other agents hold of their places.
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

/// What became of the writer's jobs; nothing is known of what did then.
pub(super) fn jobs(reads: &Reads) -> JobRuns {
    if reads.horizon().is_none() { JobRuns::load(&reads.workspace().schedule()) } else { JobRuns::default() }
}

/// How the ledger stands, and why it cannot be read where that is so: the read models answer without it.
pub(super) fn standing(reads: &mut Reads) -> Result<(Standing, Option<String>), ViewError> {
    match reads.standing() {
        Ok(standing) => Ok((standing, None)),
        Err(error @ (LedgerError::Newer { .. } | LedgerError::Gone { .. })) => Err(error.into()),
        Err(error) => Ok((Standing::default(), Some(error.to_string()))),
    }
}

/// What became of the writer's jobs, and a damaged ledger as one of them.
fn troubles(reads: &mut Reads, now: Timestamp) -> Result<JobRuns, ViewError> {
    let mut runs = jobs(reads);
    let (standing, unreadable) = standing(reads)?;
    let damaged = standing.damage.map(|damage| {
        let waiting = if damage.stops_writes() { "; writes wait in the spool" } else { "" };
        format!("{}{waiting}", damage.loss.fault)
    });
    if let Some(detail) = damaged.or(unreadable) {
        let run = JobRun { last_run_at: now, took_ms: 0, outcome: schedule::JobOutcome::Attention, detail };
        runs.0.insert(attention::LEDGER.to_owned(), run);
    }
    Ok(runs)
}
