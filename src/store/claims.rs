//! Claims in lists, and the queries for lists of claims.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row};
use serde::Serialize;

use super::index::{Around, Limit};
use super::rows::{Columns, InOrder, Json, Select, bound, made_at, only};
use super::silence::agreed_by_silence;
use super::{Expired, NamedOver, Reader, StoreError};
use crate::domain::claim::{Basis, ClaimType, Grade, Status};
use crate::domain::commit::CommitName;
use crate::domain::confidence::Standing;
use crate::domain::experiment::Against;
use crate::domain::ids::{ClaimId, RunId, TaskId};
use crate::domain::notes;
use crate::domain::scope::Scope;
use crate::domain::state::COUNTS_FOR;
use crate::domain::time::{Moment, Timestamp};
use crate::domain::versions::Versions;
use crate::imports::Imports;

/// A filter for claims. Every field that is set must match.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimFilter {
    /// The claim with this id.
    pub id: Option<ClaimId>,
    /// Statuses. Empty for any.
    pub status: Vec<Status>,
    /// Leaves out deprecated claims if `status` is empty.
    pub in_force: bool,
    /// The type.
    pub claim_type: Option<ClaimType>,
    /// This scope, any scope below it, or any scope above it.
    pub scope: Option<Scope>,
    /// Any of these scopes, each like `scope`. Empty for any place.
    pub places: Vec<Scope>,
    /// The owner.
    pub owner: Option<String>,
    /// The session of its creation.
    pub session: Option<String>,
    /// The task of its creation.
    pub task: Option<TaskId>,
    /// Changed or made then or later.
    pub changed_since: Option<Moment>,
    /// Made then or later.
    pub since: Option<Moment>,
    /// Made then or earlier.
    pub until: Option<Moment>,
    /// Only claims that no other agent answered or cited, and that no warning or receipt showed.
    pub never_used: bool,
    /// Cursor: the `next` of the previous page.
    pub before: Option<u64>,
    /// Maximum count. 0 means none.
    pub limit: usize,
}

impl ClaimFilter {
    /// The part of the filter that the search index can answer. None if the index cannot limit anything. `around` is
    /// the scope in the form of the index.
    pub(super) fn limits(&self, around: &Around) -> Option<String> {
        let owner = self.owner.as_deref().map(|owner| Limit::Owner(owner).token());
        let session = self.session.as_deref().map(|session| Limit::Session(session).token());
        let claim_type = self.claim_type.map(|claim_type| Limit::Type(claim_type.as_str()).token());
        let scope = around.limit();
        let task = self.task.map(|task| Limit::Task(task).token());
        let limits = [scope, session, task, owner, claim_type].into_iter().flatten();
        let all: Vec<String> = limits.map(|any| format!("s : ({any})")).collect();
        (!all.is_empty()).then(|| all.join(" AND "))
    }

    /// Whether the search index can answer the whole filter.
    pub(super) fn is_within_index(&self) -> bool {
        self.id.is_none() && self.status.is_empty() && self.since.is_none() && self.until.is_none()
    }

    /// Whether a query should start with the status. Fewer claims are contested than belong to an agent, but more than
    /// have one scope.
    fn starts_at_status(&self) -> bool {
        !self.status.is_empty()
            && self.scope.is_none()
            && self.places.is_empty()
            && self.session.is_none()
            && self.task.is_none()
            && self.id.is_none()
    }
}

/// A claim in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimSummary {
    /// Id of the claim.
    pub id: ClaimId,
    /// Short name, such as `C47`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The statement.
    pub statement: String,
    /// The type.
    #[serde(rename = "type")]
    pub claim_type: ClaimType,
    /// The status.
    pub status: Status,
    /// The decision that it amends, in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amends: Option<ClaimId>,
    /// The later decision that gives another value to a name of the statement. Only lists, pages and contexts have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<ClaimId>,
    /// The claim that its statement names and that ended since, with the one that holds in its place. Only lists, pages
    /// and contexts have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names_over: Option<NamedOver>,
    /// Whether its evidence shows nothing: commands whose outcome was not seen. Only lists and contexts have it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shows_nothing: bool,
    /// The basis of its confirmation. None for other statuses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// The run that confirmed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Whether equal runs on the same content had another outcome.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unstable: bool,
    /// The run that has contradicted the claim since its proof. None if a later run of the same profile had the
    /// predicted outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_since: Option<RunId>,
    /// The same where the team agreed to the claim after that run, about the same content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_before: Option<RunId>,
    /// Whether the run of either passed: the claim predicts a failure.
    #[serde(skip)]
    pub has_passed: bool,
    /// Whether a run proved it and a path of it has no version, so that later edits there leave the proof standing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edits_unseen: bool,
    /// What is in force beside it: other decisions on its target, as after an alias (`C2 on target:db`), or the confirmed claim
    /// whose place it was to take. None for an ended one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradicts: Option<String>,
    /// Whether all who agreed to it did so before its files changed and its owner said that it is still meant.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub agreed_before_change: bool,
    /// The owner.
    pub owner: String,
    /// The owner's confidence.
    pub confidence: f64,
    /// The scopes.
    pub scopes: Vec<String>,
    /// Number of agents that support it.
    pub supports: u32,
    /// Number of agents that challenge it.
    pub challenges: u32,
    /// Number of linked events.
    pub evidence: u32,
    /// The best grade of its supporting evidence.
    pub grade: Grade,
    /// Number of supporting runs that others than its owner requested.
    pub reproduced: u32,
    /// Whether the files of its evidence were edited since.
    pub stale: bool,
    /// When it was made, epoch ms.
    pub created_at: i64,
    /// The time of its last touch, epoch ms.
    pub touched_at: i64,
    /// Ledger position of its creation.
    pub created_seq: u64,
    /// Ledger position of its last change.
    pub seq: u64,
    /// Whether it was imported from a file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// Whether only silence confirmed it: no other agent supports it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub agreed_by_silence: bool,
    /// The claim that superseded it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<ClaimId>,
    /// Whether it was right, and its successor mended its problem.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mended: bool,
    /// Whether a decision rejected it as an alternative.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// The task of its creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_task_id: Option<TaskId>,
    /// Its changed files. The page of a claim compares the claim with the files of the reader's work tree. A list shows
    /// the edits that other sessions reported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed_since: Vec<Changed>,
    /// The agents that work on it now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_now: Vec<ByNow>,
    /// Its last change, unless that is its creation. Only some lists have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_change: Option<LastChange>,
}

/// The present work of an agent on a claim or a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ByNow {
    /// The agent.
    pub agent: String,
    /// The work: `tests it, R11 queued`.
    pub does: String,
    /// Whether it is a lock or a task on a directory above the claim. Lists leave it out.
    #[serde(skip)]
    pub is_above: bool,
    /// The run that tests the claim, and its state: `R11 queued`. None for work on a place of the claim.
    #[serde(skip)]
    pub run: Option<String>,
}

/// A file whose content differs from that of the claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// The file.
    pub path: String,
    /// The agent that last edited it, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The commit that changed it, if no agent is known to have edited it since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitName>,
    /// The cited lines of the file that are no longer there, and whether the file is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cited: Option<String>,
}

/// The last change of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastChange {
    /// The change: `challenged`.
    pub what: String,
    /// The agent that made it.
    pub by: String,
    /// When it was made, epoch ms.
    pub at: i64,
}

/// The run that confirmed a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// Id of the run.
    pub run_id: RunId,
    /// The profile with its arguments: `pytest file=tests/test_calc.py`.
    pub ran: String,
}

impl Proof {
    /// Reads it from the columns of a run.
    fn of((run_id, profile, args): (RunId, Option<String>, String)) -> Self {
        Self { run_id, ran: ran(profile.as_deref().unwrap_or("a command"), &args) }
    }
}

/// A profile with its arguments.
pub(super) fn ran(profile: &str, args: &str) -> String {
    let args: BTreeMap<String, String> = serde_json::from_str(args).unwrap_or_default();
    args.iter().fold(profile.to_owned(), |ran, (name, value)| format!("{ran} {name}={value}"))
}

impl ClaimFilter {
    /// Whether a list shows the claims of a place, in force or not, so that it is grouped by stage.
    pub fn is_by_stage(&self) -> bool {
        self.scope.is_some() && self.status.is_empty() && !self.in_force
    }
}

impl ClaimSummary {
    /// The status with the basis of its confirmation: `confirmed (proved)`.
    pub fn standing(&self) -> String {
        with_basis(self.status_word(), self.basis) + &self.doubts()
    }

    /// The doubts about its proof or agreement: what it does not see, and what other runs say.
    fn doubts(&self) -> String {
        let before = if self.agreed_before_change { ", before the change" } else { "" };
        let unseen = if self.edits_unseen { ", later edits unseen" } else { "" };
        let unstable = if self.unstable { ", unstable" } else { "" };
        let failed = self.against().map(|against| format!(", {} ({})", against.words(), against.run));
        let beside = self.contradicts.as_ref().map(|others| format!(", contradicts {others}"));
        [before, unseen, unstable, &failed.unwrap_or_default(), &beside.unwrap_or_default()].concat()
    }

    /// The run that contradicts it as it stands.
    pub fn against(&self) -> Option<Against> {
        let run = self.failed_since.or(self.failed_before)?;
        Some(Against { run, has_passed: self.has_passed, is_before: self.failed_since.is_none() })
    }

    /// The doubts about its status for a reader whose work tree its files were compared in: `failed since (R2), changed
    /// since`. Each output that shows the status shows them.
    pub fn doubt(&self) -> Option<String> {
        let changed = if self.is_changed() { ", changed since" } else { "" };
        let said = self.doubts() + changed;
        let agreed = if self.agreed_before_change { "agreed " } else { "" };
        said.strip_prefix(", ").map(|said| format!("{agreed}{said}"))
    }

    /// [`Self::doubt`] of a dead end. Without a proof, edits are no reason to try it again.
    pub fn doubt_of_dead_end(&self) -> Option<String> {
        let is_certain = self.basis == Some(Basis::Proved) || self.agreed_before_change;
        self.doubt().filter(|_| is_certain)
    }

    /// Whether an output mentions that its files changed.
    pub fn is_changed(&self) -> bool {
        !self.changed_since.is_empty() && self.is_finding()
    }

    /// Effective confidence at `now`, 0 to 1.
    pub fn effective_confidence(&self, now: Timestamp) -> f64 {
        let Self { confidence: base, supports, challenges, reproduced, .. } = *self;
        let standing = Standing { base, supports, challenges, reproduced };
        standing.effective(self.claim_type, Timestamp::from_ms(self.touched_at), now)
    }
}

impl ClaimSummary {
    /// Whether a list mentions changes of its files. It does so for a finding with evidence, a proof or the position of
    /// another agent. A decision without a proof, or a claim without support, states a goal, and only its own page mentions
    /// them.
    pub fn is_finding(&self) -> bool {
        let is_by_silence = self.basis == Some(Basis::Silence);
        let rests =
            self.evidence > 0 || self.proof.is_some() || self.supports + self.challenges > 0 || is_by_silence;
        rests && (self.claim_type != ClaimType::Decision || self.proof.is_some())
    }

    /// The runs that test it now, each with its agent: `R11 queued (devops)`.
    pub fn tested_by(&self) -> impl Iterator<Item = String> + '_ {
        self.by_now.iter().filter_map(|at_it| Some(format!("{} ({})", at_it.run.as_ref()?, at_it.agent)))
    }

    /// The status in one word. The successor of a claim is more informative than `deprecated`.
    fn status_word(&self) -> &'static str {
        match (&self.superseded_by, self.status) {
            (Some(_), Status::Deprecated) if self.mended => "mended",
            (Some(_), Status::Deprecated) => "replaced",
            (None, Status::Deprecated) if self.rejected => "rejected",
            (_, status) => status.as_str(),
        }
    }

    /// [`ClaimSummary::standing`] for a column: `confirmed, agreed`.
    pub fn short_standing(&self) -> String {
        let ended = self.status_word();
        let basis = self.basis.map(|basis| format!(", {basis}")).unwrap_or_default();
        ended.to_owned() + &basis + &self.doubts()
    }
}

/// A status with the basis of its confirmation: `confirmed (agreed)`, `confirmed by proof (unchecked)`.
pub(crate) fn with_basis(status: &str, basis: Option<Basis>) -> String {
    match basis {
        None => status.to_owned(),
        Some(basis @ Basis::Unchecked) => format!("{status} by {basis}"),
        Some(basis @ (Basis::Agreed | Basis::Silence | Basis::Proved)) => format!("{status} ({basis})"),
    }
}

/// The basis of a confirmation. `proof` is the kind of run in the claim's row, if a run confirmed it.
pub(super) fn basis(status: Status, proof: Option<Basis>, by_silence: bool) -> Option<Basis> {
    let agreed = if by_silence { Basis::Silence } else { Basis::Agreed };
    (status == Status::Confirmed).then(|| proof.unwrap_or(agreed))
}

/// A page of claims, newest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimPage {
    /// The claims.
    pub claims: Vec<ClaimSummary>,
    /// The cursor of the next page. None on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// Whether a successor in force, or replaced in its turn, mended the problem that claim `c` states.
macro_rules! is_mended {
    () => {
        "c.mended AND EXISTS (SELECT 1 FROM claims s WHERE s.id = c.superseded_by \
         AND (s.status <> 'deprecated' OR s.superseded_by IS NOT NULL))"
    };
}
pub(super) use is_mended;

pub(super) const SUMMARY: &str = concat!(
    "c.id, c.statement, c.claim_type, c.status, c.owner, c.confidence, c.created_at, \
     c.touched_at, c.created_seq, c.seq, c.superseded_by, c.scopes, c.supports, c.challenges, c.evidence, c.grade, c.reproduced, c.stale, \
     c.origin_task_id, c.proof, c.unstable_at, \
     CASE WHEN c.status = 'confirmed' AND c.proposes_to_supersede IS NOT NULL THEN \
     (SELECT n.letter || n.number FROM claims o JOIN names n ON n.id = o.id WHERE o.id = c.proposes_to_supersede \
     AND o.status = 'confirmed') END AS beside, \
     ",
    is_mended!(),
    " AS mended, c.agreed_before, \
     CASE WHEN c.proof IS NOT NULL THEN coalesce(c.versions, '{}') END AS proof_versions, \
     ",
    agreed_by_silence!("c"),
    " AS agreed_by_silence, \
     CASE WHEN c.proof IS NOT NULL THEN coalesce((SELECT f.run_id FROM claim_evidence f WHERE f.claim_id = c.id \
     AND f.relation = 'contradicts' AND f.run_id IS NOT NULL AND (f.unstable_at IS NULL OR c.unstable_at IS NULL) \
     AND f.seq > (SELECT max(p.seq) FROM claim_evidence p WHERE p.claim_id = c.id AND p.run_id = c.proof_run) \
     AND NOT EXISTS (SELECT 1 FROM claim_evidence l WHERE l.claim_id = c.id AND l.relation = 'supports' \
     AND l.profile = f.profile AND l.seq > f.seq AND l.unstable_at IS NULL) \
     AND NOT EXISTS (SELECT 1 FROM experiments r, experiments p WHERE r.id = f.run_id AND p.id = c.proof_run \
     AND r.status = p.status AND r.profile = p.profile AND r.args = p.args) \
     ORDER BY f.seq DESC LIMIT 1), \
     CASE WHEN c.unstable_at IS NULL THEN c.failed_run END) \
     WHEN c.status = 'confirmed' AND c.evidence > 0 THEN (SELECT f.run_id FROM claim_evidence f WHERE f.claim_id = c.id \
     AND f.relation = 'contradicts' AND f.run_id IS NOT NULL \
     AND f.seq > coalesce(c.content_seq, c.created_seq) \
     AND NOT EXISTS (SELECT 1 FROM claim_evidence l WHERE l.claim_id = c.id AND l.relation = 'supports' \
     AND l.profile = f.profile AND l.seq > f.seq AND l.unstable_at IS NULL) ORDER BY f.seq DESC LIMIT 1) END AS failed_since, \
     (SELECT letter || number FROM names WHERE names.id = c.id) AS name, \
     CASE WHEN c.status = 'deprecated' AND c.superseded_by IS NULL THEN EXISTS (SELECT 1 FROM claim_moves m \
     WHERE m.claim_id = c.id AND m.reason = 'rejected alternative') ELSE 0 END AS rejected, \
     (SELECT json_array(r.id, r.profile, r.args) FROM experiments r WHERE r.id = c.proof_run) AS proved_by"
);

/// The condition for claims that no other agent used. A firing is a warning of a dead end, or a receipt that showed the
/// claim.
const NEVER_USED: &str = "NOT EXISTS (SELECT 1 FROM consensus u WHERE u.claim_id = c.id AND u.agent <> c.owner) \
     AND NOT EXISTS (SELECT 1 FROM firings u WHERE u.guard = c.id) \
     AND NOT EXISTS (SELECT 1 FROM claim_evidence u WHERE u.evidence_ref = c.id) \
     AND NOT EXISTS (SELECT 1 FROM claim_evidence u WHERE u.claim_id = c.id AND u.added_by <> c.owner)";

impl Reader {
    /// A page of claims, newest first.
    pub fn claims(&self, filter: &ClaimFilter) -> Result<ClaimPage, StoreError> {
        let (Select { from, conditions, values }, position) = self.select(filter)?;
        let sql = format!(
            "SELECT {SUMMARY} FROM {from} {conditions} ORDER BY {position} DESC LIMIT {}",
            filter.limit + 1
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query(rusqlite::params_from_iter(values))?;
        let columns = Columns::default();
        let (claims, next) =
            self.page_of(rows, filter.limit, "created_seq", |row| self.summary(&columns.of(row)))?;
        Ok(ClaimPage { claims, next })
    }

    /// The number of claims that match a filter, whatever its limit.
    pub fn count_claims(&self, filter: &ClaimFilter) -> Result<usize, StoreError> {
        let (Select { from, conditions, values }, _) = self.select(filter)?;
        let mut statement = self.db.prepare_cached(&format!("SELECT count(*) FROM {from} {conditions}"))?;
        Ok(statement.query_row(rusqlite::params_from_iter(values), only)?)
    }

    /// Whether any claim matches a filter, whatever its limit.
    pub fn has_claims(&self, filter: &ClaimFilter) -> Result<bool, StoreError> {
        let (Select { from, conditions, values }, _) = self.select(filter)?;
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {from} {conditions})");
        Ok(self.db.prepare_cached(&sql)?.query_row(rusqlite::params_from_iter(values), only)?)
    }

    /// The tables and conditions of a filter, and the column by which its claims are in order.
    fn select(&self, filter: &ClaimFilter) -> Result<(Select, &'static str), StoreError> {
        let mut select = Select::from("claims c");
        let expired = self.expired_ids();
        match filter.status.as_slice() {
            [] if filter.in_force => {
                select.require_if("c.status <>", Some(Status::Deprecated));
            }
            [] => {}
            // One status is an ordered range of its index. Several statuses are looked up and sorted.
            [status] if *status != Status::Deprecated || expired.is_none() => {
                select.require_if("c.status =", Some(*status));
            }
            several => {
                let wanted = select.bind(Json(several.to_vec()));
                let stands = format!("c.status IN (SELECT value FROM json_each({wanted}))");
                let expired = expired.clone().filter(|_| several.contains(&Status::Deprecated));
                let wanted = match expired.map(|expired| select.bind(expired)) {
                    Some(expired) => {
                        format!("({stands} OR c.id IN (SELECT value FROM json_each({expired})))")
                    }
                    None => stands,
                };
                select.require(&wanted);
            }
        }
        let shows_deprecated = filter.status.contains(&Status::Deprecated);
        if (filter.in_force || !filter.status.is_empty())
            && !shows_deprecated
            && let Some(expired) = expired
        {
            let expired = select.bind(expired);
            select.require(&format!("c.id NOT IN (SELECT value FROM json_each({expired}))"));
        }
        select.require_if("c.id =", filter.id);
        select.require_if("c.claim_type =", filter.claim_type);
        select.require_if("c.owner =", filter.owner.clone());
        select.require_if("c.session =", filter.session.clone());
        select.require_if("c.origin_task_id =", filter.task);
        for (moment, comparison) in [(filter.since, ">="), (filter.until, "<=")] {
            let Some((column, value)) = moment.map(made_at) else { continue };
            select.require_if(&format!("c.{column} {comparison}"), Some(value));
        }
        if let Some(moment) = filter.changed_since {
            let (column, value) = match moment {
                Moment::Seq(seq) => ("seq", bound(seq)),
                Moment::Time(at) => ("touched_at", at.ms()),
            };
            select.require_if(&format!("c.{column} >="), Some(value));
        }
        if filter.never_used {
            select.require(NEVER_USED);
        }
        let mut position = "c.created_seq";
        if let Some(limits) = filter.limits(&self.around_of(filter)?).filter(|_| !filter.starts_at_status()) {
            // CROSS JOIN fixes the order of the tables: the single claim, or the newest ones of the index, come first.
            if filter.id.is_some() {
                select.from =
                    "claims c CROSS JOIN claim_index ON claim_index.rowid = c.created_seq".to_owned();
            } else {
                select.from =
                    "claim_index CROSS JOIN claims c ON c.created_seq = claim_index.rowid".to_owned();
                position = "claim_index.rowid";
            }
            select.require_if("claim_index MATCH", Some(limits));
        }
        let before = filter.before.map(bound);
        select.require_if(&format!("{position} <"), before);
        Ok((select, position))
    }

    /// Reads a claim for a list from its row, and counts the rows that a context would show.
    pub(super) fn summary(&self, row: &InOrder<'_, '_>) -> Result<ClaimSummary, StoreError> {
        let read = summary(row, &self.imports.borrow());
        if read.is_err()
            && let Some(asked) = self.asked.borrow_mut().as_mut()
            && is_settled(row.row)
        {
            asked.left_out.settled.insert(super::key_of(row.row));
        }
        let since: Option<i64> = row.get("unstable_at").ok().flatten();
        let mut claim = self.as_of_now(read?, since);
        let is_decided = claim.claim_type == ClaimType::Decision && claim.status != Status::Deprecated;
        let beside = row.get::<Option<String>>("beside")?;
        let beside = beside.map(|old| format!("{old}, whose place it was to take"));
        claim.contradicts = if is_decided { self.rivals_of(claim.id)? } else { beside };
        Ok(claim)
    }

    fn as_of_now(&self, claim: ClaimSummary, unstable_since: Option<i64>) -> ClaimSummary {
        let status = self.status_of(claim.id, claim.status);
        let basis = claim.basis.filter(|_| status == Status::Confirmed);
        let unstable = basis.is_some() && unstable_since.is_some() && self.is_recent(unstable_since);
        let failed = claim.failed_since.filter(|_| basis.is_some());
        let has_passed = failed.is_some_and(|run| self.has_passed(run));
        let is_agreed = matches!(basis, Some(Basis::Agreed | Basis::Silence));
        let failed_before = failed.filter(|run| is_agreed && self.is_before_agreement(claim.id, *run));
        let failed_since = failed.filter(|_| failed_before.is_none());
        let proof = claim.proof.filter(|_| matches!(basis, Some(Basis::Proved | Basis::Unchecked)));
        let edits_unseen = claim.edits_unseen && basis == Some(Basis::Proved);
        let agreed_before_change = claim.agreed_before_change && is_agreed;
        ClaimSummary {
            status,
            basis,
            proof,
            unstable,
            failed_since,
            failed_before,
            has_passed,
            edits_unseen,
            agreed_before_change,
            ..claim
        }
    }

    /// Whether an opposite outcome at this time still counts. Outside of a snapshot it always does.
    pub(super) fn is_recent(&self, since: Option<i64>) -> bool {
        let now = self.asked.borrow().as_ref().map(|asked| asked.now);
        since.zip(now).is_none_or(|(since, now)| Timestamp::from_ms(since).is_within(COUNTS_FOR, now))
    }

    /// Claims whose own time or whose term by the policy is over, and that are not deprecated yet.
    pub(super) fn expired(&self, now: Timestamp) -> Result<BTreeMap<ClaimId, Expired>, StoreError> {
        let sql = "SELECT id, claim_type, status, owner FROM claims WHERE ttl_hours IS NOT NULL \
                   AND status <> 'deprecated' AND created_at + ttl_hours * 3600000 <= ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query([now])?;
        let mut expired = BTreeMap::new();
        while let Some(row) = rows.next()? {
            // A query for an unreadable claim itself reports the error.
            expired.extend(Expired::read(row).ok());
        }
        expired.extend(self.forgotten(now)?);
        Ok(expired)
    }

    /// Confirmed claims that a later run contradicts, or whose test is unstable, oldest first.
    /// With the time since when it is unstable, epoch ms.
    pub fn doubted_proofs(&self, limit: usize) -> Result<Vec<(ClaimSummary, Option<i64>)>, StoreError> {
        let sql = format!(
            "SELECT {SUMMARY} FROM claims c WHERE c.status = 'confirmed' AND c.id IN ( \
             SELECT p.id FROM claims p INDEXED BY claims_proof WHERE p.proof_run > '' UNION \
             SELECT f.claim_id FROM claim_evidence f INDEXED BY claim_evidence_against \
             WHERE f.relation = 'contradicts' AND f.run_id IS NOT NULL)"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let columns = Columns::default();
        let mut proved = self.kept_of(statement.query([])?, |row| {
            Ok::<_, StoreError>((self.summary(&columns.of(row))?, row.get("unstable_at")?))
        })?;
        proved.sort_by_key(|(claim, _)| claim.created_seq);
        let is_doubted = |claim: &ClaimSummary| claim.against().is_some() || claim.unstable;
        Ok(proved.into_iter().filter(|(claim, _)| is_doubted(claim)).take(limit).collect())
    }

    /// One claim in the form of a list.
    pub(super) fn claim_summary(&self, id: ClaimId) -> Result<Option<ClaimSummary>, StoreError> {
        let sql = format!("SELECT {SUMMARY} FROM claims c WHERE c.id = ?1");
        let columns = Columns::default();
        self.kept_one(self.db.prepare_cached(&sql)?.query([id])?, |row| self.summary(&columns.of(row)))
    }

    /// All claims of a filter, newest first. Its limit is that of one read.
    pub fn all_claims(&self, filter: &ClaimFilter) -> Result<Vec<ClaimSummary>, StoreError> {
        let mut filter = filter.clone();
        let mut claims = Vec::new();
        loop {
            let page = self.claims(&filter)?;
            claims.extend(page.claims);
            filter.before = page.next;
            if filter.before.is_none() {
                return Ok(claims);
            }
        }
    }

    /// Claims in the form of a list, in the order of the ids. Unknown ids are left out.
    pub(super) fn summaries(&self, ids: &[ClaimId]) -> Result<Vec<ClaimSummary>, StoreError> {
        let sql = format!(
            "SELECT {SUMMARY} FROM json_each(?1) CROSS JOIN claims c ON c.id = json_each.value ORDER BY json_each.key"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let columns = Columns::default();
        self.kept_of(statement.query([Json(ids)])?, |row| self.summary(&columns.of(row)))
    }

    /// The claim that superseded this one.
    pub(super) fn successor(&self, id: ClaimId) -> Result<Option<ClaimId>, StoreError> {
        let mut successor = self.db.prepare_cached("SELECT superseded_by FROM claims WHERE id = ?1")?;
        Ok(successor.query_row([id], only).optional()?.flatten())
    }
}

/// Whether an unreadable row may belong to a claim that a context would show.
fn is_settled(row: &Row<'_>) -> bool {
    let is_settled = matches!(row.get("status"), Ok(Status::Proposed | Status::Confirmed));
    is_settled && row.get("claim_type") != Ok(ClaimType::Negative)
}

/// The paths among the scopes of a claim that have no version.
pub(super) fn without_version(scopes: &[String], versions: &Versions) -> impl Iterator<Item = Scope> {
    let paths = scopes.iter().filter_map(|scope| scope.parse::<Scope>().ok()).filter(Scope::is_path);
    paths.filter(|path| !versions.contains_key(path))
}

pub(super) fn summary(row: &InOrder<'_, '_>, imports: &Imports) -> rusqlite::Result<ClaimSummary> {
    let (status, claim_type) = (row.get("status")?, row.get("claim_type")?);
    let created_seq = row.get("created_seq")?;
    let scopes: Vec<String> = row.json("scopes")?;
    let proof = row.get("proof")?;
    let versions: Option<Versions> = row.json("proof_versions")?;
    let by_silence = row.get("agreed_by_silence")?;
    Ok(ClaimSummary {
        id: row.get("id")?,
        statement: row.get("statement")?,
        claim_type,
        status,
        amends: None,
        changed_by: None,
        names_over: None,
        shows_nothing: false,
        basis: basis(status, proof, by_silence),
        imported: imports.holds(created_seq) || scopes.iter().any(|scope| notes::is_tag(scope)),
        owner: row.get("owner")?,
        confidence: row.get("confidence")?,
        created_at: row.get("created_at")?,
        touched_at: row.get("touched_at")?,
        created_seq,
        seq: row.get("seq")?,
        superseded_by: row.get("superseded_by")?,
        // A decision states a goal, whatever the files hold.
        agreed_before_change: row.get("agreed_before")? && claim_type != ClaimType::Decision,
        contradicts: None,
        edits_unseen: versions.is_some_and(|versions| without_version(&scopes, &versions).next().is_some()),
        scopes,
        supports: row.get("supports")?,
        challenges: row.get("challenges")?,
        evidence: row.get("evidence")?,
        grade: row.get("grade")?,
        reproduced: row.get("reproduced")?,
        stale: row.get("stale")?,
        origin_task_id: row.get("origin_task_id")?,
        mended: row.get("mended")?,
        agreed_by_silence: by_silence,
        failed_since: row.get("failed_since")?,
        failed_before: None,
        has_passed: false,
        name: row.get("name")?,
        rejected: row.get("rejected")?,
        proof: row.json::<Option<_>>("proved_by")?.map(Proof::of),
        changed_since: Vec::new(),
        by_now: Vec::new(),
        last_change: None,
        unstable: false,
    })
}
