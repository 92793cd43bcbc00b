//! Runs of experiments: what a fold writes of them, and the questions asked of it.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};
use serde::Serialize;

use super::rows::{Json, bound, json, made_at, only};
use super::{Reader, StoreError};
use crate::domain::claim::{Basis, ClaimType, Grade, Relation, Status};
use crate::domain::event::{
    ExperimentCompleted, ExperimentQueued, ExperimentStarted, Recorded, StatusChanged,
};
use crate::domain::experiment::{Prediction, ProfileName, RunOutcome, RunState, Tally};
use crate::domain::ids::{ClaimId, EventId, RunId};
use crate::domain::time::{Moment, Timestamp};

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExperimentView {
    /// Its id.
    pub run_id: RunId,
    /// Its short name, such as `R11`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The profile; none for what a human typed or recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What ran, for people.
    pub command: String,
    /// Who asked for it.
    pub requested_by: String,
    /// In which session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where it is.
    pub status: RunState,
    /// The claim it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<ClaimId>,
    /// What it was to say of that claim, where the caller of an older release said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relation: Option<Relation>,
    /// What that claim predicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Prediction>,
    /// SHA-256 of the profile's file, hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_sha256: Option<String>,
    /// The runs of its request, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesView>,
    /// How the same run came out on the same content, where that was both ways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unstable: Option<Tally>,
    /// Whether the claim waited for it.
    pub blocking: bool,
    /// What keeps its claim contested although it supports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_open: Option<String>,
    /// The values of its profile's parameters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
    /// Where it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// How long it may run, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
    /// How it ended and what it left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunOutcome>,
    /// The event that ended it: what evidence refers to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_event_id: Option<EventId>,
    /// Why it says nothing about its claim although it came to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// What kind of statement the claim is that it was asked for.
    #[serde(skip)]
    pub claim_type: Option<ClaimType>,
    /// Whether a file of that claim has a version.
    #[serde(skip)]
    pub claim_has_version: bool,
    /// The claims it is tied to.
    pub attached: Vec<Attachment>,
    /// When it was asked for, epoch ms.
    pub created_at: i64,
    /// When it was over, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<i64>,
    /// Ledger position at which it was asked for.
    pub created_seq: u64,
}

/// The runs of one request, which are judged together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeriesView {
    /// The first of them.
    pub first: RunId,
    /// Which one this is, from 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
    /// Runs that met the expectation.
    pub passed: u32,
    /// Runs that did not.
    pub failed: u32,
    /// Runs that came to no end.
    pub inconclusive: u32,
    /// The first that did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_run: Option<RunId>,
    /// The last of them, which speaks for all.
    #[serde(skip)]
    pub last: Option<RunId>,
    /// What that says, in a few words.
    pub report: String,
}

impl SeriesView {
    /// Whether all of them are over.
    pub const fn is_over(&self) -> bool {
        self.passed + self.failed + self.inconclusive == self.of
    }

    /// `3 of 20 failed`; of 20 that passed, how rare a failure may still be (95 %: the rule of three).
    fn counted(mut self) -> Self {
        let Self { of, failed, .. } = self;
        self.report = format!("{failed} of {of} failed");
        if self.passed == of {
            self.report += &format!(": rate below 3/{of}");
        } else if self.inconclusive > 0 {
            self.report += &format!(", {} came to no end", self.inconclusive);
        }
        if !self.is_over() {
            self.report += &format!(" so far, {} to come", of - self.passed - failed - self.inconclusive);
        }
        self
    }
}

impl ExperimentView {
    /// Whether it and all other runs of its request are over.
    pub fn is_over(&self) -> bool {
        self.status.is_over() && self.series.as_ref().is_none_or(SeriesView::is_over)
    }

    /// The run that did not end as expected: the first of its request's that failed, or itself, where it did not
    /// succeed, contradicts a claim or settles nothing.
    pub fn unexpected_run(&self) -> Option<RunId> {
        if let Some(series) = &self.series {
            return series.failed_run;
        }
        let contradicts = self.attached.iter().any(|attached| attached.relation == Relation::Contradicts);
        let is_expected = self.status == RunState::Succeeded && !contradicts && self.undecided.is_none();
        (self.is_over() && !is_expected).then_some(self.run_id)
    }
}

/// A claim that a run is evidence of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// The claim.
    pub claim_id: ClaimId,
    /// What the run says about it.
    pub relation: Relation,
    /// What that is worth.
    pub grade: Grade,
    /// What is said besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Which runs to list: every field that is set must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExperimentFilter {
    /// Where they are.
    pub status: Option<RunState>,
    /// Of this profile.
    pub profile: Option<ProfileName>,
    /// Asked for about this claim.
    pub claim: Option<ClaimId>,
    /// Asked for then or later.
    pub since: Option<Moment>,
    /// Asked for then or earlier.
    pub until: Option<Moment>,
    /// Older than this: the `next` of the page before.
    pub before: Option<u64>,
    /// At most so many.
    pub limit: usize,
}

/// A page of runs, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ExperimentPage {
    /// The runs.
    pub experiments: Vec<ExperimentView>,
    /// Where the next page starts; none on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

pub(super) const COLUMNS: &str = "SELECT id, profile, command, requested_by, session, status, claim_id, relation, blocking, \
     args, cwd, timeout_ms, outcome, completed_ref, created_at, completed_at, created_seq, prediction, profile_sha256, \
     unstable, series, series_number, series_of, undecided, \
     (SELECT claim_type FROM claims WHERE claims.id = experiments.claim_id) AS claim_type, \
     (SELECT versions IS NOT NULL FROM claims WHERE claims.id = experiments.claim_id) AS has_version, \
     (SELECT letter || number FROM names WHERE names.id = experiments.id) AS name FROM experiments";

impl Reader {
    /// One run.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn experiment(&self, id: RunId) -> Result<Option<ExperimentView>, StoreError> {
        let found = self
            .db
            .prepare_cached(&format!("{COLUMNS} WHERE id = ?1"))?
            .query_row([id], |row| Ok(view(row)))
            .optional()?
            .transpose()?;
        found.map(|run| self.with_claims(run)).transpose()
    }

    /// A page of runs, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn experiments(&self, filter: &ExperimentFilter) -> Result<ExperimentPage, StoreError> {
        let mut values: Vec<Box<dyn ToSql>> = Vec::new();
        let before = bound(filter.before.unwrap_or(u64::MAX));
        let mut sql = format!("{COLUMNS} WHERE created_seq < ?1");
        values.push(Box::new(before));
        let mut require = |comparison: &str, value: Option<Box<dyn ToSql>>| {
            if let Some(value) = value {
                values.push(value);
                sql.push_str(&format!(" AND {comparison} ?{}", values.len()));
            }
        };
        require("status =", filter.status.map(|status| Box::new(status.as_str()) as _));
        require("profile =", filter.profile.as_ref().map(|profile| Box::new(profile.to_string()) as _));
        require("claim_id =", filter.claim.map(|claim| Box::new(claim.to_string()) as _));
        for (moment, comparison) in [(filter.since, ">="), (filter.until, "<=")] {
            let Some((column, value)) = moment.map(made_at) else { continue };
            require(&format!("{column} {comparison}"), Some(Box::new(value)));
        }
        sql.push_str(&format!(" ORDER BY created_seq DESC LIMIT {}", filter.limit + 1));
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query(rusqlite::params_from_iter(values))?;
        let (runs, next) = self.page_of(rows, filter.limit, "created_seq", view)?;
        let experiments = runs.into_iter().map(|run| self.with_claims(run)).collect::<Result<_, _>>()?;
        Ok(ExperimentPage { experiments, next })
    }

    /// The claims that a run is tied to, in the order in which it was.
    fn with_claims(&self, mut run: ExperimentView) -> Result<ExperimentView, StoreError> {
        if let Some(series) = run.series.take() {
            run.series = Some(self.tallied(series)?);
        }
        if let Some(claim) = run.claim_id.as_ref().filter(|_| run.blocking) {
            let last = run.series.as_ref().and_then(|series| series.last.as_ref()).unwrap_or(&run.run_id);
            let sql = "SELECT reason FROM claim_moves WHERE claim_id = ?1 AND new_status = 'contested' AND \
                 substr(reason, 1, length(?2)) = ?2";
            let supports = format!("run {last} supports it, and ");
            let why = self.db.prepare_cached(sql)?.query_row(params![claim, supports], only);
            let why: Option<String> = why.optional()?;
            run.kept_open = why.and_then(|why| why.strip_prefix(&supports).map(str::to_owned));
        }
        // Of several runs of one request, the last one is the evidence.
        let (key, events): (&dyn ToSql, _) = match (&run.series, &run.evidence_event_id) {
            (Some(series), _) => {
                (&series.first, "IN (SELECT completed_ref FROM experiments WHERE series = ?1)")
            }
            (None, Some(event)) => (event, "= ?1"),
            (None, None) => return Ok(run),
        };
        let sql = format!(
            "SELECT claim_id, relation, grade, note FROM claim_evidence WHERE evidence_ref {events} ORDER BY seq"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        run.attached = self.kept_of(statement.query([key])?, |row| {
            Ok::<_, StoreError>(Attachment {
                claim_id: row.get("claim_id")?,
                relation: row.get("relation")?,
                grade: row.get("grade")?,
                note: row.get("note")?,
            })
        })?;
        Ok(run)
    }

    fn tallied(&self, mut series: SeriesView) -> Result<SeriesView, StoreError> {
        let sql = "SELECT id, status FROM experiments WHERE series = ?1 ORDER BY series_number";
        let mut statement = self.db.prepare_cached(sql)?;
        let runs: Vec<(RunId, RunState)> = self.kept_of(statement.query([&series.first])?, |row| {
            Ok::<_, StoreError>((row.get("id")?, row.get("status")?))
        })?;
        series.last = runs.last().map(|(id, _)| *id);
        for (id, state) in runs {
            match state {
                RunState::Succeeded => series.passed += 1,
                RunState::Failed => {
                    series.failed += 1;
                    series.failed_run.get_or_insert(id);
                }
                RunState::TimedOut | RunState::Canceled | RunState::Aborted => series.inconclusive += 1,
                RunState::Queued | RunState::Running => {}
            }
        }
        Ok(series.counted())
    }
}

pub(super) fn view(row: &Row<'_>) -> Result<ExperimentView, StoreError> {
    let outcome = json(row, "outcome")?;
    Ok(ExperimentView {
        run_id: row.get("id")?,
        name: row.get("name")?,
        profile: row.get("profile")?,
        command: row.get("command")?,
        requested_by: row.get("requested_by")?,
        session: row.get("session")?,
        status: row.get("status")?,
        claim_id: row.get("claim_id")?,
        relation: row.get("relation")?,
        blocking: row.get("blocking")?,
        kept_open: None,
        args: json(row, "args")?,
        cwd: row.get("cwd")?,
        timeout_ms: row.get("timeout_ms")?,
        outcome,
        evidence_event_id: row.get("completed_ref")?,
        undecided: row.get("undecided")?,
        claim_type: row.get("claim_type")?,
        claim_has_version: row.get::<_, Option<bool>>("has_version")?.unwrap_or_default(),
        attached: Vec::new(),
        created_at: row.get("created_at")?,
        completed_at: row.get("completed_at")?,
        created_seq: row.get("created_seq")?,
        prediction: row.get("prediction")?,
        profile_sha256: row.get("profile_sha256")?,
        unstable: json(row, "unstable")?,
        series: match row.get("series")? {
            None => None,
            Some(first) => Some(SeriesView {
                first,
                number: row.get("series_number")?,
                of: row.get("series_of")?,
                passed: 0,
                failed: 0,
                inconclusive: 0,
                failed_run: None,
                last: None,
                report: String::new(),
            }),
        },
    })
}

pub(super) fn queued(db: &Connection, at: &Recorded, body: &ExperimentQueued) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO experiments (id, claim_id, profile, command, requested_by, session, status, relation, \
         blocking, args, cwd, timeout_ms, created_at, created_seq, seq, prediction, profile_sha256, series, \
         series_number, series_of) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'queued', ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?14, ?15, ?16, ?17, ?18)",
    )?
    .execute(params![
        body.run_id,
        body.claim_id,
        body.plan.profile,
        body.plan.command_line(),
        at.agent,
        at.session,
        body.relation,
        body.blocking,
        Json(&body.args),
        body.plan.cwd.to_string_lossy(),
        bound(body.plan.timeout_ms),
        at.at,
        at.seq,
        body.prediction,
        body.plan.profile_sha256,
        body.series.map(|series| series.first),
        body.series.map(|series| series.number),
        body.series.map(|series| series.of)
    ])?;
    Ok(())
}

/// A claim no longer waits for its run: what confirmed it, or that nothing did.
pub(super) fn settled(db: &Connection, claim: ClaimId, body: &StatusChanged) -> Result<(), StoreError> {
    let run = body.reason.as_str().strip_prefix("proof:").filter(|_| body.to == Status::Confirmed);
    // A run without a prediction is of a release in which its caller could choose what it says.
    db.prepare_cached(
        "UPDATE claims SET proof_run = ?2, unstable_at = NULL, proof = CASE WHEN ?2 IS NULL THEN NULL \
         WHEN (SELECT prediction FROM experiments WHERE id = ?2) IS NULL THEN ?3 ELSE ?4 END WHERE id = ?1",
    )?
    .execute(params![claim, run, Basis::Unchecked, Basis::Proved])?;
    Ok(())
}

pub(super) fn started(db: &Connection, at: &Recorded, body: &ExperimentStarted) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE experiments SET status = 'running', seq = ?2 WHERE id = ?1")?
        .execute(params![body.run_id, at.seq])?;
    Ok(())
}

pub(super) fn completed(
    db: &Connection,
    at: &Recorded,
    body: &ExperimentCompleted,
) -> Result<(), StoreError> {
    // One that was never queued here begins and ends with its record.
    db.prepare_cached(
        "INSERT INTO experiments (id, profile, command, requested_by, session, status, outcome, completed_ref, \
         created_at, completed_at, created_seq, seq, test_key, content_key, unstable, undecided) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?10, ?11, ?12, ?13, ?14) \
         ON CONFLICT (id) DO UPDATE SET status = ?6, outcome = ?7, completed_ref = ?8, completed_at = ?9, \
         seq = ?10, test_key = ?11, content_key = ?12, unstable = ?13, undecided = ?14",
    )?
    .execute(params![
        body.run_id,
        body.profile,
        body.command,
        at.agent,
        at.session,
        body.outcome.state,
        Json(&body.outcome),
        at.id,
        at.at,
        at.seq,
        body.key.as_ref().map(|key| &key.test),
        body.key.as_ref().map(|key| &key.content),
        body.unstable.as_ref().map(Json),
        body.undecided
    ])?;
    match (&body.key, &body.unstable) {
        (Some(key), Some(tally)) => flag(db, at, ("content_key", &key.content), Some((at.at, tally))),
        (Some(key), None) if body.stable_again => flag(db, at, ("test_key", &key.test), None),
        _ => Ok(()),
    }
}

/// Marks what rests on some runs as unstable, or takes the mark away: evidence, and claims they confirmed.
fn flag(
    db: &Connection,
    at: &Recorded,
    (column, key): (&str, &str),
    unstable: Option<(Timestamp, &Tally)>,
) -> Result<(), StoreError> {
    let (since, tally) = unstable.unzip();
    db.prepare_cached(&format!(
        "UPDATE claim_evidence SET unstable_at = ?2, unstable = ?3 WHERE run_id IS NOT NULL AND evidence_ref IN \
         (SELECT completed_ref FROM experiments WHERE {column} = ?1)"
    ))?
    .execute(params![key, since, tally.map(Json)])?;
    db.prepare_cached(&format!(
        "UPDATE claims SET unstable_at = ?2, seq = ?3 WHERE proof_run IN \
         (SELECT id FROM experiments WHERE {column} = ?1)"
    ))?
    .execute(params![key, since, at.seq])?;
    let mut resting = db.prepare_cached(&format!(
        "SELECT DISTINCT claim_id FROM claim_evidence WHERE evidence_ref IN \
         (SELECT completed_ref FROM experiments WHERE {column} = ?1)"
    ))?;
    for claim in resting.query_map([key], only::<String>)? {
        super::files::weigh(db, &claim?)?;
    }
    Ok(())
}
