//! Runs of experiments: what a fold writes of them, and the questions asked of it.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use super::claims::{made_at, malformed};
use super::{Reader, StoreError, json};
use crate::domain::claim::{Grade, Relation};
use crate::domain::event::{ExperimentCompleted, ExperimentQueued, ExperimentStarted, Recorded};
use crate::domain::experiment::{ProfileName, RunOutcome, RunState};
use crate::domain::ids::{ClaimId, RunId, SessionId};
use crate::domain::text::Reason;
use crate::domain::time::Moment;

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExperimentView {
    /// Its id.
    pub run_id: String,
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
    pub claim_id: Option<String>,
    /// What it is to say of that claim, where the caller said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relation: Option<Relation>,
    /// Whether the claim waited for it.
    pub blocking: bool,
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
    pub evidence_event_id: Option<String>,
    /// Why it says nothing about its claim although it came to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
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

/// A claim that a run is evidence of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// The claim.
    pub claim_id: String,
    /// What the run says about it.
    pub relation: Relation,
    /// What that is worth.
    pub grade: Grade,
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
     args, cwd, timeout_ms, outcome, completed_ref, created_at, completed_at, created_seq, undecided FROM experiments";

impl Reader {
    /// One run.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn experiment(&self, id: RunId) -> Result<Option<ExperimentView>, StoreError> {
        let found = self
            .db
            .prepare_cached(&format!("{COLUMNS} WHERE id = ?1"))?
            .query_row([id.to_string()], |row| Ok(view(row)))
            .optional()?
            .transpose()?;
        found.map(|run| self.with_claims(run)).transpose()
    }

    /// A page of runs, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn experiments(&self, filter: &ExperimentFilter) -> Result<ExperimentPage, StoreError> {
        let mut values: Vec<Box<dyn rusqlite::ToSql>> = Vec::new();
        let before = i64::try_from(filter.before.unwrap_or(u64::MAX)).unwrap_or(i64::MAX);
        let mut sql = format!("{COLUMNS} WHERE created_seq < ?1");
        values.push(Box::new(before));
        let mut require = |comparison: &str, value: Option<Box<dyn rusqlite::ToSql>>| {
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
        let Some(event) = &run.evidence_event_id else { return Ok(run) };
        let sql = "SELECT claim_id, relation, grade FROM claim_evidence WHERE evidence_ref = ?1 ORDER BY seq";
        let mut statement = self.db.prepare_cached(sql)?;
        run.attached = self.kept_of(statement.query([event])?, |row| {
            Ok::<_, StoreError>(Attachment {
                claim_id: row.get(0)?,
                relation: row.get::<_, String>(1)?.parse().map_err(malformed)?,
                grade: row.get::<_, String>(2)?.parse().map_err(malformed)?,
            })
        })?;
        Ok(run)
    }
}

pub(super) fn view(row: &Row<'_>) -> Result<ExperimentView, StoreError> {
    let word = |column: usize| row.get::<_, Option<String>>(column);
    let outcome = word(12)?.map(|json| serde_json::from_str(&json)).transpose().map_err(malformed)?;
    Ok(ExperimentView {
        run_id: row.get(0)?,
        profile: row.get(1)?,
        command: row.get(2)?,
        requested_by: row.get(3)?,
        session: row.get(4)?,
        status: row.get::<_, String>(5)?.parse().map_err(malformed)?,
        claim_id: row.get(6)?,
        relation: word(7)?.map(|relation| relation.parse()).transpose().map_err(malformed)?,
        blocking: row.get(8)?,
        args: serde_json::from_str(&row.get::<_, String>(9)?).map_err(malformed)?,
        cwd: row.get(10)?,
        timeout_ms: row.get(11)?,
        outcome,
        evidence_event_id: row.get(13)?,
        undecided: row.get(17)?,
        attached: Vec::new(),
        created_at: row.get(14)?,
        completed_at: row.get(15)?,
        created_seq: row.get::<_, i64>(16)? as u64,
    })
}

pub(super) fn queued(db: &Connection, at: &Recorded, body: &ExperimentQueued) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO experiments (id, claim_id, profile, command, requested_by, session, status, relation, \
         blocking, args, cwd, timeout_ms, created_at, created_seq, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'queued', ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13)",
    )?
    .execute(params![
        body.run_id.to_string(),
        body.claim_id.map(|id| id.to_string()),
        body.plan.profile.as_ref().map(ProfileName::as_str),
        body.plan.command_line().as_str(),
        at.agent.as_str(),
        at.session.as_ref().map(SessionId::as_str),
        body.relation.map(Relation::as_str),
        body.blocking,
        json(&body.args)?,
        body.plan.cwd.to_string_lossy(),
        i64::try_from(body.plan.timeout_ms).unwrap_or(i64::MAX),
        at.at.ms(),
        at.seq as i64
    ])?;
    Ok(())
}

pub(super) fn started(db: &Connection, at: &Recorded, body: &ExperimentStarted) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE experiments SET status = 'running', seq = ?2 WHERE id = ?1")?
        .execute(params![body.run_id.to_string(), at.seq as i64])?;
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
         created_at, completed_at, created_seq, seq, undecided) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?10, ?11) \
         ON CONFLICT (id) DO UPDATE SET status = ?6, outcome = ?7, completed_ref = ?8, completed_at = ?9, \
         seq = ?10, undecided = ?11",
    )?
    .execute(params![
        body.run_id.to_string(),
        body.profile.as_ref().map(ProfileName::as_str),
        body.command.as_str(),
        at.agent.as_str(),
        at.session.as_ref().map(SessionId::as_str),
        body.outcome.state.as_str(),
        json(&body.outcome)?,
        at.id.to_string(),
        at.at.ms(),
        at.seq as i64,
        body.undecided.as_ref().map(Reason::as_str)
    ])?;
    Ok(())
}
