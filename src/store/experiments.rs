//! Runs of experiments: their projection and their queries.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};
use serde::Serialize;
use serde_json::json;

use super::claims::without_version;
use super::rows::{Json, bound, json, made_at, only};
use super::{Reader, StoreError};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Basis, ClaimType, Grade, Relation, Status};
use crate::domain::decide::{INTERRUPTED, ONLY_OPERATOR, SETTLES_NOTHING};
use crate::domain::event::{
    ExperimentCompleted, ExperimentQueued, ExperimentStarted, Recorded, StatusChanged,
};
use crate::domain::experiment::{CLEARS_NOW, Prediction, ProfileName, RunOutcome, RunState, Tally};
use crate::domain::ids::{ClaimId, EventId, RunId};
use crate::domain::state::EQUAL_RUNS;
use crate::domain::time::{Moment, Timestamp};
use crate::domain::versions::Versions;
use crate::domain::way;

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExperimentView {
    /// Id of the run.
    pub run_id: RunId,
    /// Short name, such as `R11`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The profile. None for a run that a human typed or recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The command, for display.
    pub command: String,
    /// The agent that requested it.
    pub requested_by: String,
    /// The session of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The state.
    pub status: RunState,
    /// The claim that it tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<ClaimId>,
    /// The relation chosen by the caller, in older releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relation: Option<Relation>,
    /// The outcome that the claim predicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Prediction>,
    /// SHA-256 of the profile's file, hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_sha256: Option<String>,
    /// The runs of the same request, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesView>,
    /// The count of both outcomes, if equal runs on the same content passed and failed. Once all runs of a request ended,
    /// that of the last one, which is the evidence for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unstable: Option<Tally>,
    /// Whether the claim waited for the run.
    pub blocking: bool,
    /// The reason why the claim stays contested although the run supports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_open: Option<String>,
    /// The values of the profile's parameters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
    /// The work tree of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The time limit, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
    /// The outcome and the files of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunOutcome>,
    /// The event that ended it. Evidence refers to this event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_event_id: Option<EventId>,
    /// The reason why it has no verdict on its claim although it ended normally. Once all runs of a request ended, that of
    /// the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// The type of the claim that it tests.
    #[serde(skip)]
    pub claim_type: Option<ClaimType>,
    /// The paths without a version of a claim that it proved. Later edits there leave the proof standing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// Whether a file of that claim has a version.
    #[serde(skip)]
    pub claim_has_version: bool,
    /// The claims that it is linked to.
    pub attached: Vec<Attachment>,
    /// When it was requested, epoch ms.
    pub created_at: i64,
    /// When it ended, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<i64>,
    /// Ledger position of the request.
    pub created_seq: u64,
}

/// The runs of one request, which are judged together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeriesView {
    /// The first run.
    pub first: RunId,
    /// The number of this run, from 1.
    pub number: u32,
    /// The number of runs.
    pub of: u32,
    /// Number of runs that met the expectation.
    pub passed: u32,
    /// Number of runs that missed it.
    pub failed: u32,
    /// Number of runs without an outcome.
    pub inconclusive: u32,
    /// The first run that missed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_run: Option<RunId>,
    /// The last run, which is the evidence for all.
    #[serde(skip)]
    pub last: Option<RunId>,
    /// The result of the series in a few words.
    pub report: String,
}

impl SeriesView {
    /// Whether all runs have ended.
    pub const fn is_over(&self) -> bool {
        self.over() == self.of
    }

    /// Number of runs that have ended.
    pub const fn over(&self) -> u32 {
        self.passed + self.failed + self.inconclusive
    }

    /// Fills in the report: `3 of 20 failed`. If all passed, it states how frequent a failure may still be, at 95 % by
    /// the rule of three. Earlier runs with the other outcome on the same content, of which `is_unstable` tells, show that
    /// it is more frequent.
    fn counted(mut self, is_unstable: bool) -> Self {
        let Self { of, failed, .. } = self;
        self.report = format!("{failed} of {of} failed");
        // Below four runs, the rule allows any rate.
        if self.passed == of && of > 3 && !is_unstable {
            self.report += &format!(": rate below 3/{of}");
        } else if self.inconclusive > 0 {
            self.report += &format!(", {} came to no end", self.inconclusive);
        }
        if !self.is_over() {
            self.report += &format!(" so far, {} to come", of - self.over());
        }
        self
    }
}

impl ExperimentView {
    /// Whether this run and all others of its request have ended.
    pub fn is_over(&self) -> bool {
        self.status.is_over() && self.series.as_ref().is_none_or(SeriesView::is_over)
    }

    /// The unexpected run: the first failed one of the request, or this run if it [is unexpected](Self::is_unexpected).
    pub fn unexpected_run(&self) -> Option<RunId> {
        match &self.series {
            Some(series) => series.failed_run,
            None => self.is_unexpected().then_some(self.run_id),
        }
    }

    /// Whether this run failed, as one of several, or did not succeed and contradicts a claim or settles nothing.
    pub fn is_unexpected(&self) -> bool {
        if self.series.is_some() {
            return self.status == RunState::Failed;
        }
        let contradicts = self.attached.iter().any(|attached| attached.relation == Relation::Contradicts);
        let is_expected = self.status == RunState::Succeeded && !contradicts && self.undecided.is_none();
        self.is_over() && !is_expected
    }
}

/// A claim for which the run is evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// The claim.
    pub claim_id: ClaimId,
    /// The relation of the run to the claim.
    pub relation: Relation,
    /// The grade.
    pub grade: Grade,
    /// The comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A filter for runs. Every field that is set must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExperimentFilter {
    /// The state.
    pub status: Option<RunState>,
    /// The profile.
    pub profile: Option<ProfileName>,
    /// The claim of the request.
    pub claim: Option<ClaimId>,
    /// Requested then or later.
    pub since: Option<Moment>,
    /// Requested then or earlier.
    pub until: Option<Moment>,
    /// Cursor: the `next` of the previous page.
    pub before: Option<u64>,
    /// Maximum count.
    pub limit: usize,
}

/// A page of runs, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ExperimentPage {
    /// The runs.
    pub experiments: Vec<ExperimentView>,
    /// The cursor of the next page. None on the last page.
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
    /// The run with this id.
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

    /// Whether a later run of the same test had the other outcome on the content of this run.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn came_out_both_ways(&self, run: RunId) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM experiments r JOIN experiments o ON o.test_key = r.test_key \
                   AND o.content_key = r.content_key WHERE r.id = ?1 AND o.unstable IS NOT NULL)";
        Ok(self.db.prepare_cached(sql)?.query_row([run], |row| row.get(0))?)
    }

    /// Why the next run alone does not settle a contested claim, if its last run says so: a run of the same check was
    /// interrupted or came out both ways, or only the operator confirms.
    pub fn doubt_about(&self, claim: ClaimId) -> Result<Option<String>, StoreError> {
        let sql = "SELECT reason FROM claim_moves WHERE claim_id = ?1 ORDER BY seq DESC LIMIT 1";
        let why: Option<Option<String>> =
            self.db.prepare_cached(sql)?.query_row(params![claim], only).optional()?;
        Ok(why.flatten().and_then(|why| match why {
            why if [INTERRUPTED, ONLY_OPERATOR].iter().any(|doubt| why.contains(doubt)) => Some(why),
            why if why.contains(SETTLES_NOTHING) && why.contains(CLEARS_NOW) => Some(why),
            why if why.contains(SETTLES_NOTHING) => {
                let still = way::call("still", &json!({ "claim_id": claim }));
                Some(format!(
                    "{why}: {EQUAL_RUNS} equal runs do (repeat: {EQUAL_RUNS}) once the content is another, after {still} \
                     if it is that of its own files"
                ))
            }
            _ => None,
        }))
    }

    /// Adds the claims that a run is linked to, in the order of the links.
    fn with_claims(&self, mut run: ExperimentView) -> Result<ExperimentView, StoreError> {
        if let Some(series) = run.series.take() {
            let series = self.tallied(series)?;
            if let Some(last) = series.last.filter(|last| series.is_over() && *last != run.run_id) {
                let sql = "SELECT unstable, undecided FROM experiments WHERE id = ?1";
                let mut statement = self.db.prepare_cached(sql)?;
                let judged = statement.query_row([last], |row| {
                    Ok(json(row, "unstable").and_then(|unstable| Ok((unstable, row.get("undecided")?))))
                });
                (run.unstable, run.undecided) = judged??;
            }
            run.series = Some(series.counted(run.unstable.is_some()));
        }
        if let Some(claim) = run.claim_id.as_ref().filter(|_| run.blocking) {
            let last = run.series.as_ref().and_then(|series| series.last.as_ref()).unwrap_or(&run.run_id);
            let sql = "SELECT reason FROM claim_moves WHERE claim_id = ?1 AND new_status = 'contested' AND \
                 substr(reason, 1, length(?2)) = ?2";
            let supports = format!("run {last} supports it, and ");
            let why = self.db.prepare_cached(sql)?.query_row(params![claim, supports], only);
            let why: Option<String> = why.optional()?;
            run.kept_open = why.and_then(|why| why.strip_prefix(&supports).map(str::to_owned));
            run.unseen = self.unseen(claim, last)?;
        }
        // For several runs of one request, the last one is the evidence.
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

    /// Whether a run met its expectation.
    pub(super) fn has_passed(&self, run: RunId) -> bool {
        let sql = "SELECT status = 'succeeded' FROM experiments WHERE id = ?1";
        let passed = self.db.prepare_cached(sql).and_then(|mut one| one.query_row([run], only));
        // A row that cannot be read is reported where the run is shown.
        passed.unwrap_or(false)
    }

    /// The last run by its owner or the operator that says something about a claim, and what it predicted.
    pub fn last_prediction(&self, claim: ClaimId) -> Option<(RunId, Prediction)> {
        let sql = "SELECT r.id, r.prediction = 'fails' FROM experiments r JOIN claims c ON c.id = r.claim_id \
                   WHERE r.claim_id = ?1 AND r.requested_by IN (c.owner, ?2) \
                   AND EXISTS (SELECT 1 FROM claim_evidence e WHERE e.claim_id = ?1 AND e.run_id = r.id \
                   AND e.relation IN ('supports', 'contradicts')) ORDER BY r.created_seq DESC LIMIT 1";
        let asked = params![claim, AgentId::operator()];
        let both = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, Option<bool>>(1)?));
        let last = self.db.prepare_cached(sql).and_then(|mut last| last.query_row(asked, both));
        let (id, fails) = last.ok()?;
        Some((id, if fails == Some(true) { Prediction::Fails } else { Prediction::Passes }))
    }

    /// Whether the team agreed to a claim after this run contradicted it.
    pub(super) fn is_before_agreement(&self, claim: ClaimId, run: RunId) -> bool {
        let sql = "SELECT max(f.seq) < (SELECT max(m.seq) FROM claim_moves m WHERE m.claim_id = ?1 \
                   AND m.new_status = 'confirmed') FROM claim_evidence f \
                   WHERE f.claim_id = ?1 AND f.run_id = ?2 AND f.relation = 'contradicts'";
        let before = self.db.prepare_cached(sql).and_then(|mut one| one.query_row(params![claim, run], only));
        before.ok().flatten().unwrap_or(false)
    }

    /// The paths of a claim without a version, if this run proved the claim.
    fn unseen(&self, claim: &ClaimId, run: &RunId) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT scopes, coalesce(versions, '{}') AS versions FROM claims \
             WHERE id = ?1 AND proof_run = ?2 AND status = 'confirmed'";
        let mut proved = self.db.prepare_cached(sql)?;
        let mut rows = proved.query(params![claim, run])?;
        let Some(row) = rows.next()? else { return Ok(Vec::new()) };
        let (scopes, versions): (Vec<String>, Versions) = (json(row, "scopes")?, json(row, "versions")?);
        Ok(without_version(&scopes, &versions).map(|path| path.to_string()).collect())
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
        Ok(series)
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
        unseen: Vec::new(),
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

/// A claim no longer waits for its run. Records the basis of its confirmation, if it is confirmed.
pub(super) fn settled(db: &Connection, claim: ClaimId, body: &StatusChanged) -> Result<(), StoreError> {
    let run = body.reason.as_str().strip_prefix("proof:").filter(|_| body.to == Status::Confirmed);
    // In older releases without predictions, the caller could choose the meaning of a run.
    db.prepare_cached(
        "UPDATE claims SET proof_run = ?2, unstable_at = NULL, failed_run = NULL, proof = CASE WHEN ?2 IS NULL THEN NULL \
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
    // A run that was never queued here starts and ends with its record.
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
        body.key.as_ref().map(|key| key.check.as_ref().map_or(&key.test, |check| &check.test)),
        body.key.as_ref().map(|key| key.check.as_ref().map_or(&key.content, |check| &check.content)),
        body.unstable.as_ref().map(Json),
        body.undecided
    ])?;
    super::doubts::ran(db, at, body)?;
    // Runs of older releases are stored with the key of their profile.
    let Some(key) = &body.key else { return Ok(()) };
    let keys =
        [Some((&key.test, &key.content)), key.check.as_ref().map(|check| (&check.test, &check.content))];
    for (test, content) in keys.into_iter().flatten() {
        if let Some(tally) = &body.unstable {
            flag(db, at, content, Some((at.at, tally)))?;
        } else if body.stable_again {
            clear(db, at, body, test)?;
        }
    }
    Ok(())
}

/// Removes the marks of a test that is stable again. A run about the same claim keeps its mark if the claim's files held
/// something else then: it is content that passed and failed.
fn clear(db: &Connection, at: &Recorded, body: &ExperimentCompleted, test: &str) -> Result<(), StoreError> {
    let own = body.outcome.git.as_ref().and_then(|git| git.own.as_deref());
    let of_test = "SELECT DISTINCT content_key FROM experiments WHERE test_key = ?1 AND content_key IS NOT NULL \
         EXCEPT SELECT content_key FROM experiments WHERE test_key = ?1 AND claim_id = \
         (SELECT claim_id FROM experiments WHERE id = ?2) AND json_extract(outcome, '$.git.own') <> ?3";
    let contents: Vec<String> = db
        .prepare_cached(of_test)?
        .query_map(params![test, body.run_id, own], only::<String>)?
        .collect::<Result<_, _>>()?;
    contents.iter().try_for_each(|content| flag(db, at, content, None))
}

/// Marks the evidence and the confirmed claims of the runs on some content as unstable, or removes the mark.
fn flag(
    db: &Connection,
    at: &Recorded,
    key: &str,
    unstable: Option<(Timestamp, &Tally)>,
) -> Result<(), StoreError> {
    let (since, tally) = unstable.unzip();
    db.prepare_cached(
        "UPDATE claim_evidence SET unstable_at = ?2, unstable = ?3 WHERE run_id IS NOT NULL AND evidence_ref IN \
         (SELECT completed_ref FROM experiments WHERE content_key = ?1)",
)?
    .execute(params![key, since, tally.map(Json)])?;
    db.prepare_cached(
        "UPDATE claims SET unstable_at = ?2, seq = ?3 WHERE proof_run IN \
         (SELECT id FROM experiments WHERE content_key = ?1)",
    )?
    .execute(params![key, since, at.seq])?;
    let mut resting = db.prepare_cached(
        "SELECT DISTINCT claim_id FROM claim_evidence WHERE evidence_ref IN \
         (SELECT completed_ref FROM experiments WHERE content_key = ?1)",
    )?;
    for claim in resting.query_map([key], only::<String>)? {
        super::files::weigh(db, &claim?)?;
    }
    Ok(())
}
