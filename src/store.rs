//! Read models: the events, folded into `team-memory.sqlite`, and the queries.

mod about;
mod at_now;
mod beside;
mod calibration;
mod claim;
mod claims;
mod commits;
mod completions;
mod contradictions;
mod dead_ends;
mod decisions;
mod digest;
mod doubts;
mod experiments;
mod facets;
mod failures;
mod files;
mod fold;
mod former;
mod guards;
mod index;
mod integrity;
mod kept_vectors;
mod locks;
mod memory;
mod mentions;
mod merges;
mod model_vectors;
mod names;
mod observations;
mod patterns;
mod peers;
mod places;
mod plan;
mod playbooks;
mod project;
mod proposals;
mod questions;
mod researchers;
mod retention;
mod retracted;
mod rows;
mod scopes;
mod search;
mod sessions;
mod silence;
mod spaces;
mod tasks;
mod team;
mod triggers;
mod vectors;
mod versions;
mod why_found;

pub use about::{Belonging, Rejected, Replaced};
pub use at_now::{AtNow, by_now};
pub use calibration::Judged;
pub use claim::{Answered, ClaimView, Evidence, PlaceNow, PositionHeld, StatusChange, StillMeant};
pub(crate) use claims::with_basis;
pub use claims::{ByNow, Changed, ClaimFilter, ClaimPage, ClaimSummary, LastChange, Proof};
pub use contradictions::{Contradiction, ContradictionFilter, ContradictionPage, OnTarget, SideView, Target};
pub use dead_ends::DeadEndDetail;
pub use decisions::{
    AlternativeView, Amends, DecisionFilter, DecisionPage, DecisionRoom, DecisionSummary, DecisionView,
    NotChosen, OutcomeView,
};
pub use digest::{NamedOver, Said, Supported};
pub use experiments::{Attachment, ExperimentFilter, ExperimentPage, ExperimentView};
pub use facets::ClaimCount;
pub use failures::{Cure, Fix};
pub use fold::{FOLD_VERSION, Projection};
pub use guards::{AskingGuard, FiringView, GuardView, LookedAt, Suggestion};
pub use integrity::{ClaimNamed, TABLES_ABOUT_CLAIMS};
pub use locks::LockView;
pub use memory::KeptClaim;
pub use merges::{MergeView, StatedPage};
pub use model_vectors::ByModel;
pub use names::Matches;
pub use observations::{Observation, ObservedKind};
pub use patterns::PatternView;
pub use peers::Peer;
pub use places::CitedPlace;
pub use plan::{PhaseView, PlanGraph, PlanView, Titles, TrajectoryView};
pub use playbooks::{EndedTask, ParsedSteps, PlaybookView, ReflectionView};
pub use proposals::ProposalView;
pub use questions::Question;
pub use researchers::{Finding, ResearcherView};
pub use retracted::RetractedEvidence;
pub use search::{BadCursor, Hit, Search, SearchPage, Seen};
pub use sessions::{AnchorView, BeliefSnapshot, SentOut, SessionView, SplitView, TurnView};
pub use silence::Silence;
pub use spaces::{MemoryPhaseView, PromotionView};
pub use tasks::{TaskFilter, TaskView};
pub use team::{AgentActivity, Counts, LoosenedPolicy, RejectedCommand};
pub use triggers::NearDeadEnd;
pub use versions::{EditBehind, Myself};
pub use why_found::Why;

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Rows};

use self::kept_vectors::KeptVectors;
use self::search::Frequencies;
use crate::domain::claim::{ClaimType, Status};
use crate::domain::ids::ClaimId;
use crate::domain::ranking::Vectors;
use crate::domain::text::UserName;
use crate::domain::time::Timestamp;
use crate::imports::Imports;
use crate::ledger::Cursor;
use crate::sqlite::{self, Unopened};

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
    /// A newer version made the read models.
    #[error("{path} was written by a newer version of hm: update hm to go on, nothing is lost ({by})")]
    Newer {
        /// Which file.
        path: String,
        /// Which version that was.
        by: String,
    },
    /// The system does not let this process look for the file.
    #[error("cannot read {path}: {source}: what it holds is not known; {cure}", cure = crate::sqlite::CURE)]
    Unreadable {
        /// Which file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// An older version made the read models, or they do not exist. The writer makes them when it starts.
    #[error(
        "the read models are not made of this ledger yet, or were made by an older version of hm: the writer makes \
         them anew when it starts, nothing is lost"
    )]
    Unmade,
    /// A query failed.
    #[error("cannot read the team memory: {0}; `hm rebuild` makes it anew from the ledger")]
    Query(#[from] rusqlite::Error),
    /// A row has content that the fold does not write.
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
    /// The copy cannot be made.
    #[error(transparent)]
    Copy(#[from] crate::ledger::Uncopied),
}

impl StoreError {
    /// The problem of a row, without the advice.
    fn bare(&self) -> String {
        if let Self::Malformed(problem) = self {
            problem.clone()
        } else if let Self::Query(rusqlite::Error::FromSqlConversionFailure(_, _, problem)) = self {
            problem.to_string()
        } else if let Self::Query(error) = self {
            error.to_string()
        } else {
            self.to_string()
        }
    }

    /// Whether the error concerns one row only.
    const fn is_of_one_row(&self) -> bool {
        match self {
            Self::Malformed(_) => true,
            Self::Query(error) => sqlite::is_of_one_row(error),
            Self::Open { .. }
            | Self::Newer { .. }
            | Self::Unreadable { .. }
            | Self::Unmade
            | Self::Fold { .. }
            | Self::Ledger(_)
            | Self::Copy(_) => false,
        }
    }
}

/// A read-only handle on the read models. Callers query it in a [`Reader::snapshot`]. Only a snapshot ends expired
/// claims and leases, and leaves out rows that cannot be read.
#[derive(Debug)]
pub struct Reader {
    db: Connection,
    asked: RefCell<Option<Asked>>,
    /// The events that were imported from files.
    imports: RefCell<Imports>,
    /// The person whose space is read beside those of the team.
    user: Option<UserName>,
    vectors: Cell<Vectors>,
    /// The vectors in memory. `None` for a reader of few searches.
    kept_vectors: Option<RefCell<KeptVectors>>,
    /// For [`Reader::question`].
    frequencies: RefCell<Frequencies>,
}

/// The values that all queries of a snapshot share.
#[derive(Debug)]
struct Asked {
    now: Timestamp,
    /// Expired claims that the writer has not ended yet.
    expired: BTreeMap<ClaimId, Expired>,
    left_out: LeftOut,
}

/// An expired claim, as its row has it.
#[derive(Debug, Clone)]
struct Expired {
    claim_type: ClaimType,
    status: Status,
    owner: String,
}

/// Rows that cannot be read and are missing in an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The problem of each row, by the key of the row. A row that is read twice counts once.
    rows: BTreeMap<u64, String>,
    /// The rows of claims in force that no agent has to settle. A context counts these.
    settled: BTreeSet<u64>,
}

impl LeftOut {
    /// The number of rows.
    pub fn count(&self) -> u64 {
        self.rows.len() as u64
    }

    /// The problem of each row, after the beginning of the row, which is mostly an id.
    pub fn problems(&self) -> impl Iterator<Item = &str> {
        self.rows.values().map(String::as_str)
    }
}

impl Reader {
    /// Opens existing read models. `None` before there are any.
    ///
    /// # Errors
    /// [`StoreError::Open`], [`StoreError::Unreadable`]; [`StoreError::Newer`] and [`StoreError::Unmade`] for those
    /// of another version.
    pub fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let shown = || path.display().to_string();
        let db = sqlite::open_readonly(path, "projection").map_err(|problem| match problem {
            Unopened::Hidden(source) => StoreError::Unreadable { path: shown(), source },
            Unopened::Failed(source) => StoreError::Open { path: shown(), source },
        })?;
        let Some(db) = db else { return Ok(None) };
        match fold::age(&db)? {
            Ordering::Less => Err(StoreError::Unmade),
            Ordering::Equal => Ok(Some(Self {
                db,
                asked: RefCell::new(None),
                imports: RefCell::default(),
                user: None,
                vectors: Cell::default(),
                kept_vectors: None,
                frequencies: RefCell::default(),
            })),
            Ordering::Greater => Err(StoreError::Newer { path: shown(), by: sqlite::written_by(&db) }),
        }
    }

    /// Read models without any event, in memory. They serve reads before the first write.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn nothing() -> Result<Self, StoreError> {
        Ok(Self {
            db: fold::empty()?,
            asked: RefCell::new(None),
            imports: RefCell::default(),
            user: None,
            vectors: Cell::default(),
            kept_vectors: None,
            frequencies: RefCell::default(),
        })
    }

    /// Also reads the space of this person.
    #[must_use]
    pub fn seen_by(self, user: Option<UserName>) -> Self {
        Self { user, ..self }
    }

    /// Keeps the vectors of claims in memory, for many searches.
    #[must_use]
    pub fn for_many_searches(self) -> Self {
        Self { kept_vectors: Some(RefCell::default()), ..self }
    }

    /// Makes later answers report for each claim whether it was imported.
    pub fn mark(&self, imports: Imports) {
        self.imports.replace(imports);
    }

    /// Makes later searches compare words only, or also meanings.
    pub fn compare(&self, vectors: Vectors) {
        self.vectors.set(vectors);
    }

    /// Whether this event was imported from a file.
    pub fn is_imported(&self, seq: u64) -> bool {
        self.imports.borrow().holds(seq)
    }

    /// Runs `questions` against one state of the read models, whatever the writer does meanwhile. Claims and leases
    /// that expire by `now` have ended, even if the writer has not recorded it. Rows that cannot be read are left
    /// out.
    ///
    /// # Errors
    /// Those of the questions, and [`StoreError::Query`].
    pub fn snapshot<T>(
        &self,
        now: Timestamp,
        questions: impl FnOnce(&Self) -> Result<T, StoreError>,
    ) -> Result<(T, LeftOut), StoreError> {
        let transaction = self.db.unchecked_transaction()?;
        let expired = self.expired(now)?;
        self.asked.replace(Some(Asked { now, expired, left_out: LeftOut::default() }));
        let answer = questions(self);
        let left_out = self.asked.take().map(|asked| asked.left_out).unwrap_or_default();
        let answer = answer?;
        transaction.finish()?;
        Ok((answer, left_out))
    }

    /// The time of the snapshot. `None` outside of one.
    pub fn now(&self) -> Option<Timestamp> {
        self.asked.borrow().as_ref().map(|asked| asked.now)
    }

    /// Whether a lease has expired.
    fn is_over(&self, lease_until: i64) -> bool {
        self.asked.borrow().as_ref().is_some_and(|asked| lease_until < asked.now.ms())
    }

    /// Where a claim is: its time may be over.
    fn status_of(&self, claim: ClaimId, stands: Status) -> Status {
        if self.is_expired(claim) { Status::Deprecated } else { stands }
    }

    /// Whether a claim has expired and the writer has not recorded it yet.
    fn is_expired(&self, claim: ClaimId) -> bool {
        self.asked.borrow().as_ref().is_some_and(|asked| asked.expired.contains_key(&claim))
    }

    /// All expired claims, as a JSON list. `None` without any.
    fn expired_ids(&self) -> Option<String> {
        let asked = self.asked.borrow();
        let expired = asked.as_ref().map(|asked| &asked.expired).filter(|expired| !expired.is_empty())?;
        Some(serde_json::json!(expired.keys().collect::<Vec<_>>()).to_string())
    }

    /// The number of rows left out so far in this snapshot.
    pub fn left_out(&self) -> u64 {
        self.asked.borrow().as_ref().map_or(0, |asked| asked.left_out.count())
    }

    /// The number of those that a context would count.
    pub fn left_out_settled(&self) -> u64 {
        self.asked.borrow().as_ref().map_or(0, |asked| asked.left_out.settled.len() as u64)
    }

    /// Reads a row. A row that cannot be read is left out in a snapshot, and fails the query outside of one.
    fn kept<T, E: Into<StoreError>>(
        &self,
        row: &Row<'_>,
        read: impl FnOnce(&Row<'_>) -> Result<T, E>,
    ) -> Result<Option<T>, StoreError> {
        match read(row) {
            Ok(row) => Ok(Some(row)),
            Err(error) => {
                self.leave_out(key_of(row), &beginning_of(row), error.into())?;
                Ok(None)
            }
        }
    }

    /// Records that a row cannot be read. Returns the error if it concerns more than the row.
    fn leave_out(&self, key: u64, row: &str, error: StoreError) -> Result<(), StoreError> {
        match self.asked.borrow_mut().as_mut().filter(|_| error.is_of_one_row()) {
            Some(asked) => {
                asked.left_out.rows.insert(key, format!("{row}: {}", error.bare()));
                Ok(())
            }
            None => Err(error),
        }
    }

    /// [`Reader::kept`] for every row.
    fn kept_of<T, E: Into<StoreError>>(
        &self,
        mut rows: Rows<'_>,
        read: impl Fn(&Row<'_>) -> Result<T, E>,
    ) -> Result<Vec<T>, StoreError> {
        let mut kept = Vec::new();
        while let Some(row) = rows.next()? {
            kept.extend(self.kept(row, &read)?);
        }
        Ok(kept)
    }

    /// [`Reader::kept`] for a query with at most one row.
    fn kept_one<T, E: Into<StoreError>>(
        &self,
        mut rows: Rows<'_>,
        read: impl Fn(&Row<'_>) -> Result<T, E>,
    ) -> Result<Option<T>, StoreError> {
        match rows.next()? {
            Some(row) => self.kept(row, &read),
            None => Ok(None),
        }
    }

    /// The first `limit` rows, and the cursor of the next page if there are more rows: the value of the column
    /// `place` in the last row. A row that is left out counts for the page.
    fn page_of<T, E: Into<StoreError>>(
        &self,
        mut rows: Rows<'_>,
        limit: usize,
        place: &str,
        read: impl Fn(&Row<'_>) -> Result<T, E>,
    ) -> Result<(Vec<T>, Option<u64>), StoreError> {
        let (mut kept, mut seen, mut last) = (Vec::new(), 0, 0);
        while let Some(row) = rows.next()? {
            if seen == limit {
                return Ok((kept, Some(last)));
            }
            seen += 1;
            // A position that cannot be read sorts last, so this is the last row of all.
            last = row.get(place).unwrap_or(last);
            kept.extend(self.kept(row, &read)?);
        }
        Ok((kept, None))
    }

    /// Copies the read models into a new file.
    ///
    /// # Errors
    /// [`StoreError::Copy`].
    pub fn back_up(&self, to: &Path) -> Result<(), StoreError> {
        sqlite::copy(&self.db, to)?;
        Ok(())
    }

    /// The ledger position up to which the events are folded.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn folded(&self) -> Result<Cursor, StoreError> {
        fold::folded(&self.db)
    }
}

/// The key of a row: its id if the row begins with one, or else a hash of all its columns.
fn key_of(row: &Row<'_>) -> u64 {
    let begins_with_id = matches!(row.as_ref().column_name(0), Ok("id" | "claim_id"));
    if let (true, Ok(ValueRef::Text(id))) = (begins_with_id, row.get_ref(0)) {
        return key_of_id(id);
    }
    let mut hasher = DefaultHasher::new();
    let mut column = 0;
    while let Ok(value) = row.get_ref(column) {
        match value {
            ValueRef::Null => 0.hash(&mut hasher),
            ValueRef::Integer(number) => number.hash(&mut hasher),
            ValueRef::Real(number) => number.to_bits().hash(&mut hasher),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.hash(&mut hasher),
        }
        column += 1;
    }
    hasher.finish()
}

fn key_of_id(id: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// The content of the first column, which is mostly an id.
fn beginning_of(row: &Row<'_>) -> String {
    match row.get_ref(0) {
        Ok(ValueRef::Integer(number)) => number.to_string(),
        Ok(ValueRef::Text(text)) => String::from_utf8_lossy(text).chars().take(60).collect(),
        Ok(ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_)) | Err(_) => "a row".to_owned(),
    }
}
