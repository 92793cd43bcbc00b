//! Read models: events folded into `team-memory.sqlite`, and the questions asked of it.

mod claims;
mod completions;
mod contradictions;
mod decisions;
mod experiments;
mod files;
mod fold;
mod index;
mod integrity;
mod plan;
mod project;
mod researchers;
mod search;
mod sessions;
mod team;
mod triggers;

pub use claims::{
    ClaimFilter, ClaimPage, ClaimSummary, ClaimView, Evidence, PositionHeld, StatusChange, Warning,
};
pub use completions::Matches;
pub use contradictions::{Contradiction, ContradictionFilter, ContradictionPage, SideView, Target};
pub use decisions::{
    AlternativeView, DecisionFilter, DecisionPage, DecisionSummary, DecisionView, OutcomeView,
};
pub use experiments::{Attachment, ExperimentFilter, ExperimentPage, ExperimentView};
pub use fold::{FOLD_VERSION, Projection};
pub use integrity::{ClaimNamed, TABLES_ABOUT_CLAIMS};
pub use plan::{PhaseView, PlanGraph, PlanView, TaskView, Titles, TrajectoryView};
pub use researchers::{Finding, ResearcherView};
pub use search::{BadCursor, Hit, Search, SearchPage, Seen};
pub use sessions::{AnchorView, BeliefSnapshot, SessionView, SplitView, TurnView};
pub use team::{AgentActivity, Counts, RejectedCommand};

use std::cell::{Cell, RefCell};
use std::path::Path;

use rusqlite::Connection;

use crate::imports::Imports;
use crate::ledger::Cursor;

/// Why the read models could not be opened, read or folded.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened or read.
    #[error("cannot read {path}: {source}; `hm rebuild` makes it anew from the ledger")]
    Open {
        /// Which file.
        path: String,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// Made by a newer version.
    #[error("{path} was made by a newer version of hm: update hm, or run `hm rebuild` ({detail})")]
    Newer {
        /// Which file.
        path: String,
        /// What was found.
        detail: String,
    },
    /// Folded by another version, and not yet anew.
    #[error("the team memory was folded by another version of hm: run `hm rebuild`, or let the writer start")]
    OldFold,
    /// A query failed.
    #[error("cannot read the team memory: {0}; `hm rebuild` makes it anew from the ledger")]
    Query(#[from] rusqlite::Error),
    /// A row nobody wrote.
    #[error("a row of the team memory is malformed ({0}): run `hm rebuild`")]
    Malformed(String),
    /// An event this binary cannot fold.
    #[error("event {seq} cannot be folded: {problem}")]
    Fold {
        /// Which event.
        seq: u64,
        /// Why not.
        problem: String,
    },
    /// The ledger could not be read.
    #[error(transparent)]
    Ledger(#[from] crate::ledger::LedgerError),
}

/// A list or a body as a column holds it.
fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Malformed(error.to_string()))
}

impl StoreError {
    /// Whether other rows can be read all the same.
    const fn is_of_one_row(&self) -> bool {
        use rusqlite::Error::{
            FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
        };
        match self {
            Self::Malformed(_) => true,
            Self::Query(error) => matches!(
                error,
                FromSqlConversionFailure(..)
                    | IntegralValueOutOfRange(..)
                    | InvalidColumnType(..)
                    | Utf8Error(..)
            ),
            Self::Open { .. } | Self::Newer { .. } | Self::OldFold | Self::Fold { .. } | Self::Ledger(_) => {
                false
            }
        }
    }
}

/// A read-only handle on the read models.
#[derive(Debug)]
pub struct Reader {
    db: Connection,
    /// Rows that could not be read and were left out; none while one stops the question.
    left_out: Cell<Option<u64>>,
    /// Which events came out of files.
    imports: RefCell<Imports>,
}

impl Reader {
    /// Opens existing read models; `None` when there are none yet.
    ///
    /// # Errors
    /// [`StoreError::Open`].
    pub fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        crate::ledger::open_readonly(path, "projection")
            .map(|db| db.map(|db| Self { db, left_out: Cell::new(None), imports: RefCell::default() }))
            .map_err(|source| StoreError::Open { path: path.display().to_string(), source })
    }

    /// From now on says of each claim whether it came out of a file.
    pub fn mark(&self, imports: Imports) {
        self.imports.replace(imports);
    }

    /// Runs `questions` against one state of the read models, whatever the writer does meanwhile.
    ///
    /// # Errors
    /// Those of the questions, and [`StoreError::Query`].
    pub fn snapshot<T>(
        &self,
        questions: impl FnOnce(&Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let transaction = self.db.unchecked_transaction()?;
        let answer = questions(self)?;
        transaction.finish()?;
        Ok(answer)
    }

    /// Asks questions to which a row that cannot be read is no answer: it is left out, and counted.
    pub fn leniently<T>(&self, questions: impl FnOnce() -> T) -> (T, u64) {
        let before = self.left_out.replace(Some(0));
        let answer = questions();
        (answer, self.left_out.replace(before).unwrap_or_default())
    }

    /// Passes a row on; one that cannot be read is left out where that is wanted.
    fn kept<T>(&self, row: Result<T, impl Into<StoreError>>) -> Result<Option<T>, StoreError> {
        match (row.map_err(Into::into), self.left_out.get()) {
            (Ok(row), _) => Ok(Some(row)),
            (Err(error), Some(left_out)) if error.is_of_one_row() => {
                self.left_out.set(Some(left_out + 1));
                Ok(None)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// [`Reader::kept`] for every row.
    fn kept_of<T>(&self, rows: impl Iterator<Item = rusqlite::Result<T>>) -> Result<Vec<T>, StoreError> {
        rows.filter_map(|row| self.kept(row).transpose()).collect()
    }

    /// Copies the read models into a new file.
    ///
    /// # Errors
    /// [`StoreError::Ledger`] with what stands in the way.
    pub fn back_up(&self, to: &Path) -> Result<(), StoreError> {
        crate::ledger::copy(&self.db, to)?;
        Ok(())
    }

    /// The ledger position these read models have folded.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn folded(&self) -> Result<Cursor, StoreError> {
        fold::folded(&self.db)
    }
}
