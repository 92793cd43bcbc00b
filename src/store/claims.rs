//! Questions about claims: one, a page of them, and what a page shows.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row, ToSql};
use serde::Serialize;

use super::index::{Around, Limit};
use super::{ByNow, Changed, Expired, Reader, StoreError};
use crate::domain::claim::{Basis, ClaimType, Grade, Status, Trigger};
use crate::domain::confidence::Standing;
use crate::domain::experiment::{Prediction, RunState, Tally};
use crate::domain::ids::{ClaimId, TaskId};
use crate::domain::ranking;
use crate::domain::scope::Scope;
use crate::domain::state::COUNTS_FOR;
use crate::domain::time::{Moment, Timestamp};
use crate::domain::versions::Versions;
use crate::imports::Imports;

/// Which claims to list: every field that is set must match.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimFilter {
    /// Only this one.
    pub id: Option<ClaimId>,
    /// Where it is in its life; empty for any.
    pub status: Vec<Status>,
    /// Leaves out deprecated claims when no status is asked for.
    pub in_force: bool,
    /// What kind of statement.
    pub claim_type: Option<ClaimType>,
    /// About this scope, anything below it, or anything above it.
    pub scope: Option<Scope>,
    /// About any of these, as `scope`; empty for anywhere.
    pub places: Vec<Scope>,
    /// Whose.
    pub owner: Option<String>,
    /// Made in this session.
    pub session: Option<String>,
    /// Came out of this task.
    pub task: Option<TaskId>,
    /// Changed then or later, or made.
    pub changed_since: Option<Moment>,
    /// Made then or later.
    pub since: Option<Moment>,
    /// Made then or earlier.
    pub until: Option<Moment>,
    /// Older than this: the `next` of the page before.
    pub before: Option<u64>,
    /// At most so many; 0 means none.
    pub limit: usize,
}

impl ClaimFilter {
    /// The part of the filter that the search index answers; none when it limits nothing there. `around` is what the
    /// scope is looked up by.
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

    /// Whether a status leaves fewer claims than what else is asked for: fewer are contested than are of an
    /// agent, but more than lie at a scope.
    fn starts_at_status(&self) -> bool {
        !self.status.is_empty()
            && self.scope.is_none()
            && self.places.is_empty()
            && self.session.is_none()
            && self.task.is_none()
            && self.id.is_none()
    }
}

/// A claim as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimSummary {
    /// Its id.
    pub id: String,
    /// Its short name, such as `C47`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it says.
    pub statement: String,
    /// What kind of statement it is.
    #[serde(rename = "type")]
    pub claim_type: ClaimType,
    /// Where it is in its life.
    pub status: Status,
    /// What confirmed it; none while it is not confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// The run that confirmed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Whether the run that confirmed it came out the other way on the same content.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unstable: bool,
    /// The run that contradicts it since a run proved it, and whose profile came out as predicted in no later run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_since: Option<String>,
    /// Whose it is.
    pub owner: String,
    /// The owner's confidence.
    pub confidence: f64,
    /// What it is about.
    pub scopes: Vec<String>,
    /// Agents that support it.
    pub supports: u32,
    /// Agents that challenge it.
    pub challenges: u32,
    /// Events tied to it.
    pub evidence: u32,
    /// How the best of its supporting evidence came about.
    pub grade: Grade,
    /// Supporting runs of others than its owner.
    pub reproduced: u32,
    /// Whether the files its evidence rests on were edited since.
    pub stale: bool,
    /// When it was made, epoch ms.
    pub created_at: i64,
    /// When it was last touched, epoch ms.
    pub touched_at: i64,
    /// Ledger position of its creation.
    pub created_seq: u64,
    /// Ledger position of its last change.
    pub seq: u64,
    /// Whether it came out of a file: nobody here said it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// Whether only silence confirmed it: no other agent supports it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub agreed_by_silence: bool,
    /// The claim that took its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// Whether that one mends what this one was about, which was right.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mended: bool,
    /// Whether it is an option that a decision did not choose.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// The task it came out of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_task_id: Option<String>,
    /// Its files that hold something else now. A claim that is shown whole is compared with the files of the reader's
    /// work tree; in a list stands what other sessions say that they edited.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed_since: Vec<Changed>,
    /// Who is at it now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_now: Vec<ByNow>,
    /// Its last change where that is not its creation, in a list that names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_change: Option<LastChange>,
}

/// What last changed a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastChange {
    /// What was done: `challenged`.
    pub what: String,
    /// The agent that did it.
    pub by: String,
    /// When, epoch ms.
    pub at: i64,
}

/// The run that confirmed a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// Its id.
    pub run_id: String,
    /// What ran, with its arguments: `pytest file=tests/test_calc.py`.
    pub ran: String,
}

impl Proof {
    /// Made of the columns of a run as JSON.
    fn of(json: &str) -> Result<Self, StoreError> {
        let (run_id, profile, args): (String, Option<String>, String) =
            serde_json::from_str(json).map_err(malformed)?;
        Ok(Self { run_id, ran: ran(profile.as_deref().unwrap_or("a command"), &args) })
    }
}

/// A profile with what it was given.
fn ran(profile: &str, args: &str) -> String {
    let args: BTreeMap<String, String> = serde_json::from_str(args).unwrap_or_default();
    args.iter().fold(profile.to_owned(), |ran, (name, value)| format!("{ran} {name}={value}"))
}

impl ClaimSummary {
    /// Its status, with what confirmed it: `confirmed (proved)`.
    pub fn standing(&self) -> String {
        with_basis(self.status.as_str(), self.basis) + &self.doubts()
    }

    /// What later runs say against the one that proved it.
    fn doubts(&self) -> String {
        let unstable = if self.unstable { ", unstable" } else { "" };
        let failed = self.failed_since.as_ref().map(|run| format!(", failed since ({run})"));
        unstable.to_owned() + &failed.unwrap_or_default()
    }

    /// How far it can be trusted at `now`, 0 to 1.
    pub fn effective_confidence(&self, now: Timestamp) -> f64 {
        let Self { confidence: base, supports, challenges, reproduced, .. } = *self;
        let standing = Standing { base, supports, challenges, reproduced };
        standing.effective(self.claim_type, Timestamp::from_ms(self.touched_at), now)
    }
}

impl ClaimSummary {
    /// Whether a list says that its files changed: it is a finding that rests on evidence, a proof or the position of
    /// another agent. A decision, and a claim that rests on nothing yet, says what should be; its own page tells.
    pub fn is_finding(&self) -> bool {
        let rests = self.evidence > 0 || self.proof.is_some() || self.supports + self.challenges > 0;
        rests && self.claim_type != ClaimType::Decision
    }

    /// The runs that test it now, each with its agent: `R11 queued (devops)`.
    pub fn tested_by(&self) -> impl Iterator<Item = String> + '_ {
        self.by_now.iter().filter_map(|at_it| Some(format!("{} ({})", at_it.run.as_ref()?, at_it.agent)))
    }

    /// [`ClaimSummary::standing`] for a column: `confirmed, agreed`.
    pub fn short_standing(&self) -> String {
        // What took its place says more than that it is out of force.
        let ended = match (&self.superseded_by, self.status) {
            (Some(_), Status::Deprecated) if self.mended => "mended",
            (Some(_), Status::Deprecated) => "replaced",
            (None, Status::Deprecated) if self.rejected => "rejected",
            (_, status) => status.as_str(),
        };
        let basis = self.basis.map(|basis| format!(", {basis}")).unwrap_or_default();
        ended.to_owned() + &basis + &self.doubts()
    }
}

/// A status, with what confirmed the claim: `confirmed (agreed)`, `confirmed by proof (unchecked)`.
pub(crate) fn with_basis(status: &str, basis: Option<Basis>) -> String {
    match basis {
        None => status.to_owned(),
        Some(basis @ Basis::Unchecked) => format!("{status} by {basis}"),
        Some(basis @ (Basis::Agreed | Basis::Silence | Basis::Proved)) => format!("{status} ({basis})"),
    }
}

/// What confirmed a claim that stands at a status; its row says by which kind of run, if by one.
pub(super) fn basis(
    status: Status,
    proof: Option<&str>,
    by_silence: bool,
) -> Result<Option<Basis>, StoreError> {
    if status != Status::Confirmed {
        return Ok(None);
    }
    let agreed = if by_silence { Basis::Silence } else { Basis::Agreed };
    Ok(Some(proof.map(str::parse).transpose().map_err(malformed)?.unwrap_or(agreed)))
}

/// A page of claims, newest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimPage {
    /// The claims.
    pub claims: Vec<ClaimSummary>,
    /// Where the next page starts; none on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// One agent's position on a claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PositionHeld {
    /// Whose.
    pub agent: String,
    /// Support, challenge or abstain.
    pub position: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The event it rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_ref: Option<String>,
    /// Since when, epoch ms.
    pub at: i64,
    /// Whether it is a support of other content than the claim is about since it was said to be still meant.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub before_change: bool,
    /// Ledger position of its event.
    #[serde(skip)]
    pub seq: u64,
}

/// One event tied to a claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// The event.
    pub evidence_ref: String,
    /// What it says about the claim.
    pub relation: String,
    /// Who tied it.
    pub added_by: String,
    /// How much it says, 0 to 1.
    pub weight: f64,
    /// How it came about.
    pub grade: Grade,
    /// The run behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The profile that ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The profile with what it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran: Option<String>,
    /// Whether it passed or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunState>,
    /// SHA-256 of the profile's file, hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_sha256: Option<String>,
    /// What the claim predicted of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Prediction>,
    /// How the same run came out on the same content, where that was both ways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unstable: Option<Tally>,
    /// Ledger position of the edit that made it stale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_since: Option<u64>,
    /// In the agent's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Since when, epoch ms.
    pub at: i64,
}

/// What a dead end says besides its statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Warning {
    /// When it warns.
    pub trigger: Option<Trigger>,
    /// Why it failed: the latest note of what speaks for it, else the latest reason of who supports it.
    pub because: Option<String>,
}

/// One step in a claim's life.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusChange {
    /// Where it was; none at creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Where it went.
    pub to: String,
    /// Who moved it.
    pub by: String,
    /// What moved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When, epoch ms.
    pub at: i64,
    /// Ledger position.
    pub seq: u64,
}

/// A claim with everything known about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimView {
    /// What lists show.
    #[serde(flatten)]
    pub summary: ClaimSummary,
    /// The session it was made in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Hours until it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_hours: Option<u32>,
    /// When a negative claim warns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// The claims it replaced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<String>,
    /// The claim it replaces once confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposes_to_supersede: Option<String>,
    /// The agents that its owner asked for a position.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<String>,
    /// Until when an objection keeps it from being agreed by silence, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objection_until: Option<i64>,
    /// The decisions that did not choose it, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_chosen: Vec<super::NotChosen>,
    /// Why it was chosen, instead of what, and what became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<super::DecisionView>,
    /// Its successors, the one in force last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub successors: Vec<String>,
    /// Every agent's latest position, by agent.
    pub positions: Vec<PositionHeld>,
    /// The last of the positions that are held no more, in ledger order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub former_positions: Vec<PositionHeld>,
    /// How many there were before those.
    #[serde(skip_serializing_if = "is_zero")]
    pub former_positions_left_out: u64,
    /// Every event tied to it, in ledger order.
    pub evidence_items: Vec<Evidence>,
    /// Evidence that was taken back, in ledger order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retracted: Vec<super::RetractedEvidence>,
    /// What it contradicts or contradicted, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<super::Contradiction>,
    /// The claims that its statement names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<String>,
    /// The claims whose statement names it, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mentioned_by: Vec<String>,
    /// What its files held when it was said, or last said to be still meant.
    #[serde(skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// Ledger position of the last word that it is still meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affirmed_seq: Option<u64>,
    /// Its scopes without a version, with the reason.
    #[serde(skip)]
    pub unversioned: Vec<(String, String)>,
    /// Its life so far.
    pub history: Vec<StatusChange>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

const SUMMARY: &str = "c.id, c.statement, c.claim_type, c.status, c.owner, c.confidence, c.created_at, \
     c.touched_at, c.created_seq, c.seq, c.superseded_by, c.scopes, c.supports, c.challenges, c.evidence, c.grade, c.reproduced, c.stale, \
     c.origin_task_id, c.proof, c.unstable_at, c.mended, \
     CASE WHEN c.by_silence THEN NOT EXISTS (SELECT 1 FROM consensus p WHERE p.claim_id = c.id \
     AND p.position = 'support' AND p.agent <> c.owner) ELSE 0 END AS agreed_by_silence, \
     CASE WHEN c.proof IS NOT NULL THEN (SELECT f.run_id FROM claim_evidence f WHERE f.claim_id = c.id \
     AND f.relation = 'contradicts' AND f.run_id IS NOT NULL AND f.unstable_at IS NULL \
     AND f.seq > (SELECT max(p.seq) FROM claim_evidence p WHERE p.claim_id = c.id AND p.run_id = c.proof_run) \
     AND NOT EXISTS (SELECT 1 FROM claim_evidence l WHERE l.claim_id = c.id AND l.relation = 'supports' \
     AND l.profile = f.profile AND l.seq > f.seq) ORDER BY f.seq DESC LIMIT 1) END AS failed_since, \
     (SELECT letter || number FROM names WHERE names.id = c.id) AS name, \
     CASE WHEN c.status = 'deprecated' AND c.superseded_by IS NULL THEN EXISTS (SELECT 1 FROM claim_moves m \
     WHERE m.claim_id = c.id AND m.reason = 'rejected alternative') ELSE 0 END AS rejected, \
     (SELECT json_array(r.id, r.profile, r.args) FROM experiments r WHERE r.id = c.proof_run) AS proved_by";
pub(super) const EVIDENCE: &str = "SELECT evidence_ref, relation, added_by, weight, note, created_at, grade, stale_seq, \
     claim_id, run_id, profile, profile_sha256, prediction, unstable, unstable_at, \
     (SELECT r.args FROM experiments r WHERE r.id = claim_evidence.run_id), \
     (SELECT r.status FROM experiments r WHERE r.id = claim_evidence.run_id) FROM claim_evidence";
pub(super) const POSITION: &str =
    "SELECT agent, position, reason, evidence_ref, created_at, claim_id, seq FROM consensus";
/// What follows the creation of a claim, from where `claim_status_history` has it.
pub(super) const MOVE: &str =
    "SELECT old_status, new_status, changed_by, reason, changed_at, seq, claim_id FROM claim_moves";

impl Reader {
    /// One claim with everything known about it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn claim(&self, id: ClaimId) -> Result<Option<ClaimView>, StoreError> {
        let id = id.to_string();
        let mut one = self.db.prepare_cached(&format!("{} WHERE c.id = ?1", whole_rows()))?;
        let found =
            self.kept_one(one.query([&id])?, |row| Ok::<_, StoreError>((self.summary(row)?, own(row)?)))?;
        let Some((summary, own)) = found else { return Ok(None) };
        let (former_positions, former_positions_left_out) = self.former(&id)?;
        let Own {
            session,
            ttl_hours,
            trigger,
            proposes_to_supersede,
            versions,
            affirmed_seq,
            asks,
            objection_until,
        } = own;
        let waits = objection_until.is_some() && self.waits_for_operator(&id)?.is_some();
        Ok(Some(ClaimView {
            successors: self.successors(&summary)?,
            decision: self.decision(&id)?,
            not_chosen: self.not_chosen(&id)?,
            positions: self.positions(&id)?,
            former_positions,
            former_positions_left_out,
            evidence_items: self.evidence(&id)?,
            retracted: self.retracted(&id)?,
            contradictions: self.contradictions_of(&id)?,
            history: self.history(&id)?,
            supersedes: self.predecessors(&id)?,
            mentions: self.mentions(&summary.statement, summary.created_seq)?,
            mentioned_by: self.mentioned_by(&id, summary.created_seq)?,
            summary,
            session,
            ttl_hours,
            trigger,
            proposes_to_supersede,
            versions,
            affirmed_seq,
            unversioned: Vec::new(),
            asks,
            objection_until: objection_until.filter(|_| !waits),
        }))
    }

    /// A page of claims, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn claims(&self, filter: &ClaimFilter) -> Result<ClaimPage, StoreError> {
        let mut select = Select::default();
        let expired = self.expired_ids();
        match filter.status.as_slice() {
            [] if filter.in_force => {
                let gone = select.bind(Status::Deprecated.as_str());
                select.require(format!("c.status <> {gone}"));
            }
            [] => {}
            // One status is a range of its index, in order; several are looked up and sorted.
            [status] if *status != Status::Deprecated || expired.is_none() => {
                let wanted = select.bind(status.as_str());
                select.require(format!("c.status = {wanted}"));
            }
            several => {
                let wanted: Vec<&str> = several.iter().map(|status| status.as_str()).collect();
                let wanted = select.bind(serde_json::json!(wanted).to_string());
                let stands = format!("c.status IN (SELECT value FROM json_each({wanted}))");
                let expired = expired.clone().filter(|_| several.contains(&Status::Deprecated));
                let wanted = match expired.map(|expired| select.bind(expired)) {
                    Some(expired) => {
                        format!("({stands} OR c.id IN (SELECT value FROM json_each({expired})))")
                    }
                    None => stands,
                };
                select.require(wanted);
            }
        }
        let shows_deprecated = filter.status.contains(&Status::Deprecated);
        if (filter.in_force || !filter.status.is_empty())
            && !shows_deprecated
            && let Some(expired) = expired
        {
            let expired = select.bind(expired);
            select.require(format!("c.id NOT IN (SELECT value FROM json_each({expired}))"));
        }
        select.require_if("c.id =", filter.id.map(|id| id.to_string()));
        select.require_if("c.claim_type =", filter.claim_type.map(ClaimType::as_str));
        select.require_if("c.owner =", filter.owner.clone());
        select.require_if("c.session =", filter.session.clone());
        select.require_if("c.origin_task_id =", filter.task.map(|task| task.to_string()));
        for (moment, comparison) in [(filter.since, ">="), (filter.until, "<=")] {
            let Some((column, value)) = moment.map(made_at) else { continue };
            select.require_if(&format!("c.{column} {comparison}"), Some(value));
        }
        if let Some(moment) = filter.changed_since {
            let (column, value) = match moment {
                Moment::Seq(seq) => ("seq", i64::try_from(seq).unwrap_or(i64::MAX)),
                Moment::Time(at) => ("touched_at", at.ms()),
            };
            select.require_if(&format!("c.{column} >="), Some(value));
        }
        let mut position = "c.created_seq";
        if let Some(limits) = filter.limits(&self.around_of(filter)?).filter(|_| !filter.starts_at_status()) {
            // CROSS JOIN keeps the order: one claim, or the newest in the index first.
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
        let before = filter.before.map(|seq| i64::try_from(seq).unwrap_or(i64::MAX));
        select.require_if(&format!("{position} <"), before);
        let Select { from, conditions, values } = select;
        let sql = format!(
            "SELECT {SUMMARY} FROM {from} {conditions} ORDER BY {position} DESC LIMIT {}",
            filter.limit + 1
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query(rusqlite::params_from_iter(values))?;
        let (claims, next) = self.page_of(rows, filter.limit, "created_seq", |row| self.summary(row))?;
        Ok(ClaimPage { claims, next })
    }

    /// A claim as lists show it, from its row; notes which ones a context would count.
    fn summary(&self, row: &Row<'_>) -> Result<ClaimSummary, StoreError> {
        let read = summary(row, &self.imports.borrow());
        if read.is_err()
            && let Some(asked) = self.asked.borrow_mut().as_mut()
            && is_settled(row)
        {
            asked.left_out.settled.insert(super::key_of(row));
        }
        let since: Option<i64> = row.get("unstable_at").ok().flatten();
        read.map(|claim| self.as_of_now(claim, since))
    }

    fn as_of_now(&self, claim: ClaimSummary, unstable_since: Option<i64>) -> ClaimSummary {
        let status = self.status_of(&claim.id, claim.status);
        let basis = claim.basis.filter(|_| status == Status::Confirmed);
        let unstable = basis.is_some() && unstable_since.is_some() && self.is_recent(unstable_since);
        let failed_since = claim.failed_since.filter(|_| basis.is_some());
        let proof = claim.proof.filter(|_| matches!(basis, Some(Basis::Proved | Basis::Unchecked)));
        ClaimSummary { status, basis, proof, unstable, failed_since, ..claim }
    }

    /// Whether a run that came out the other way at some time still counts; outside of a snapshot it does.
    fn is_recent(&self, since: Option<i64>) -> bool {
        let now = self.asked.borrow().as_ref().map(|asked| asked.now);
        since.zip(now).is_none_or(|(since, now)| Timestamp::from_ms(since).is_within(COUNTS_FOR, now))
    }

    /// Claims whose time is over and that are not deprecated yet.
    pub(super) fn expired(&self, now: Timestamp) -> Result<BTreeMap<String, Expired>, StoreError> {
        let sql = "SELECT id, claim_type, status, owner FROM claims WHERE ttl_hours IS NOT NULL \
                   AND status <> 'deprecated' AND created_at + ttl_hours * 3600000 <= ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query([now])?;
        let mut expired = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let read = || -> Result<(String, Expired), StoreError> {
                let word = |column: usize| row.get::<_, String>(column);
                let claim_type = word(1)?.parse().map_err(malformed)?;
                let status = word(2)?.parse().map_err(malformed)?;
                Ok((word(0)?, Expired { claim_type, status, owner: word(3)? }))
            };
            // Whoever asks for one that cannot be read is told so.
            expired.extend(read().ok());
        }
        Ok(expired)
    }

    /// Confirmed claims that a run proved and that another contradicts since, oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn failed_since_proof(&self, limit: usize) -> Result<Vec<ClaimSummary>, StoreError> {
        let sql = format!(
            "SELECT {SUMMARY} FROM claims c INDEXED BY claims_proof WHERE c.proof_run > '' AND c.status = 'confirmed'"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut proved = self.kept_of(statement.query([])?, |row| self.summary(row))?;
        proved.sort_by_key(|claim| claim.created_seq);
        Ok(proved.into_iter().filter(|claim| claim.failed_since.is_some()).take(limit).collect())
    }

    /// One claim as lists show it.
    pub(super) fn claim_summary(&self, id: &str) -> Result<Option<ClaimSummary>, StoreError> {
        let sql = format!("SELECT {SUMMARY} FROM claims c WHERE c.id = ?1");
        self.kept_one(self.db.prepare_cached(&sql)?.query([id])?, |row| self.summary(row))
    }

    /// What dead ends say besides their statements, by their ids.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn warnings<'c>(
        &self,
        claims: impl IntoIterator<Item = &'c ClaimSummary>,
    ) -> Result<BTreeMap<String, Warning>, StoreError> {
        let ids: Vec<&str> = claims.into_iter().map(|claim| claim.id.as_str()).collect();
        let sql = "SELECT c.id, c.trigger_when, coalesce( \
                     (SELECT note FROM claim_evidence WHERE claim_id = c.id AND relation = 'supports' \
                      AND note IS NOT NULL ORDER BY seq DESC LIMIT 1), \
                     (SELECT reason FROM consensus WHERE claim_id = c.id AND position = 'support' \
                      AND reason IS NOT NULL ORDER BY seq DESC LIMIT 1)) \
                   FROM json_each(?1) CROSS JOIN claims c ON c.id = json_each.value";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query([serde_json::to_string(&ids).map_err(malformed)?])?;
        Ok(self.kept_of(rows, warning)?.into_iter().collect())
    }

    fn predecessors(&self, claim: &str) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT id FROM claims WHERE superseded_by = ?1 ORDER BY created_seq";
        let mut statement = self.db.prepare_cached(sql)?;
        self.kept_of(statement.query([claim])?, |row| row.get(0))
    }

    fn successors(&self, claim: &ClaimSummary) -> Result<Vec<String>, StoreError> {
        ranking::successors(&claim.id, |id| self.successor(id))
    }

    /// The claim that took the place of this one.
    pub(super) fn successor(&self, id: &str) -> Result<Option<String>, StoreError> {
        let mut successor = self.db.prepare_cached("SELECT superseded_by FROM claims WHERE id = ?1")?;
        Ok(successor.query_row([id], |row| row.get(0)).optional()?.flatten())
    }

    /// The agents that support a claim, without its owner.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn supporters(&self, claim: &ClaimSummary) -> Result<Vec<String>, StoreError> {
        let supports = |held: &PositionHeld| {
            held.position == crate::domain::claim::Position::Support.as_str() && held.agent != claim.owner
        };
        let positions = self.positions(&claim.id)?.into_iter().filter(supports);
        Ok(positions.map(|held| held.agent).collect())
    }

    fn positions(&self, claim: &str) -> Result<Vec<PositionHeld>, StoreError> {
        let mut statement =
            self.db.prepare_cached(&format!("{POSITION} WHERE claim_id = ?1 ORDER BY agent"))?;
        self.kept_of(statement.query([claim])?, position)
    }

    fn evidence(&self, claim: &str) -> Result<Vec<Evidence>, StoreError> {
        let mut statement =
            self.db.prepare_cached(&format!("{EVIDENCE} WHERE claim_id = ?1 ORDER BY seq"))?;
        self.kept_of(statement.query([claim])?, |row| {
            let mut evidence = evidence(row)?;
            evidence.unstable = evidence.unstable.filter(|_| self.is_recent(row.get(14).ok().flatten()));
            Ok::<_, StoreError>(evidence)
        })
    }

    fn history(&self, claim: &str) -> Result<Vec<StatusChange>, StoreError> {
        let sql = "SELECT old_status, new_status, changed_by, reason, changed_at, seq \
                   FROM claim_status_history WHERE claim_id = ?1 ORDER BY seq";
        let mut statement = self.db.prepare_cached(sql)?;
        self.kept_of(statement.query([claim])?, change)
    }
}

pub(super) fn position(row: &Row<'_>) -> rusqlite::Result<PositionHeld> {
    Ok(PositionHeld {
        agent: row.get(0)?,
        position: row.get(1)?,
        reason: row.get(2)?,
        evidence_ref: row.get(3)?,
        at: row.get(4)?,
        before_change: false,
        seq: row.get::<_, i64>(6)? as u64,
    })
}

pub(super) fn evidence(row: &Row<'_>) -> Result<Evidence, StoreError> {
    Ok(Evidence {
        evidence_ref: row.get(0)?,
        relation: row.get(1)?,
        added_by: row.get(2)?,
        weight: row.get(3)?,
        note: row.get(4)?,
        at: row.get(5)?,
        grade: row.get::<_, String>(6)?.parse().map_err(malformed)?,
        stale_since: row.get::<_, Option<i64>>(7)?.map(|seq| seq as u64),
        run_id: row.get(9)?,
        profile: row.get(10)?,
        ran: row
            .get::<_, Option<String>>(10)?
            .map(|profile| {
                Ok::<_, rusqlite::Error>(ran(
                    &profile,
                    &row.get::<_, Option<String>>(15)?.unwrap_or_default(),
                ))
            })
            .transpose()?,
        outcome: row.get::<_, Option<String>>(16)?.and_then(|state| state.parse().ok()),
        profile_sha256: row.get(11)?,
        prediction: row
            .get::<_, Option<String>>(12)?
            .map(|prediction| prediction.parse())
            .transpose()
            .map_err(malformed)?,
        unstable: row
            .get::<_, Option<String>>(13)?
            .map(|json| serde_json::from_str(&json))
            .transpose()
            .map_err(malformed)?,
    })
}

pub(super) fn change(row: &Row<'_>) -> rusqlite::Result<StatusChange> {
    Ok(StatusChange {
        from: row.get(0)?,
        to: row.get(1)?,
        by: row.get(2)?,
        reason: row.get(3)?,
        at: row.get(4)?,
        seq: row.get::<_, i64>(5)? as u64,
    })
}

/// The statement that reads claims with all that stands in their rows, up to its conditions.
pub(super) fn whole_rows() -> String {
    format!(
        "SELECT {SUMMARY}, c.session, c.ttl_hours, c.trigger_when, c.proposes_to_supersede, c.versions, \
         c.affirmed_seq, c.asks, c.objection_until FROM claims c"
    )
}

/// Reads all of a claim's own row.
pub(super) fn is_legible(row: &Row<'_>) -> Result<(), StoreError> {
    summary(row, &Imports::default())?;
    own(row)?;
    Ok(())
}

/// What only a claim's own page shows of its row.
struct Own {
    session: Option<String>,
    ttl_hours: Option<u32>,
    trigger: Option<Trigger>,
    proposes_to_supersede: Option<String>,
    versions: Versions,
    affirmed_seq: Option<u64>,
    asks: Vec<String>,
    objection_until: Option<i64>,
}

fn own(row: &Row<'_>) -> Result<Own, StoreError> {
    let trigger = row.get::<_, Option<String>>("trigger_when")?.map(|json| serde_json::from_str(&json));
    let versions = row.get::<_, Option<String>>("versions")?.map(|json| serde_json::from_str(&json));
    let asks = row.get::<_, Option<String>>("asks")?.map(|json| serde_json::from_str(&json));
    Ok(Own {
        versions: versions.transpose().map_err(malformed)?.unwrap_or_default(),
        affirmed_seq: row.get::<_, Option<i64>>("affirmed_seq")?.map(|seq| seq as u64),
        asks: asks.transpose().map_err(malformed)?.unwrap_or_default(),
        objection_until: row.get("objection_until")?,
        session: row.get("session")?,
        ttl_hours: row.get("ttl_hours")?,
        trigger: trigger.transpose().map_err(malformed)?,
        proposes_to_supersede: row.get("proposes_to_supersede")?,
    })
}

/// Whether a row that cannot be read is that of a claim which a context would count, as far as it says.
fn is_settled(row: &Row<'_>) -> bool {
    let word = |column: usize| row.get::<_, String>(column).unwrap_or_default();
    let is_settled = matches!(word(3).parse(), Ok(Status::Proposed | Status::Confirmed));
    is_settled && word(2) != ClaimType::Negative.as_str()
}

/// The column that says when something was made, as a moment is compared with it, and the moment's value there.
pub(super) fn made_at(moment: Moment) -> (&'static str, i64) {
    match moment {
        Moment::Seq(seq) => ("created_seq", i64::try_from(seq).unwrap_or(i64::MAX)),
        Moment::Time(at) => ("created_at", at.ms()),
    }
}

/// The conditions of a query and the values bound in them.
pub(super) struct Select {
    from: String,
    conditions: String,
    pub(super) values: Vec<Box<dyn ToSql>>,
}

impl Default for Select {
    fn default() -> Self {
        Self { from: "claims c".to_owned(), conditions: String::new(), values: Vec::new() }
    }
}

impl Select {
    pub(super) fn bind(&mut self, value: impl ToSql + 'static) -> String {
        self.values.push(Box::new(value));
        format!("?{}", self.values.len())
    }

    fn require(&mut self, condition: String) {
        self.conditions.push_str(if self.conditions.is_empty() { "WHERE " } else { " AND " });
        self.conditions.push_str(&condition);
    }

    fn require_if(&mut self, comparison: &str, value: Option<impl ToSql + 'static>) {
        if let Some(value) = value {
            let bound = self.bind(value);
            self.require(format!("{comparison} {bound}"));
        }
    }
}

fn warning(row: &Row<'_>) -> Result<(String, Warning), StoreError> {
    let trigger = row.get::<_, Option<String>>(1)?.map(|json| serde_json::from_str(&json));
    let trigger = trigger.transpose().map_err(malformed)?;
    Ok((row.get(0)?, Warning { trigger, because: row.get(2)? }))
}

fn summary(row: &Row<'_>, imports: &Imports) -> Result<ClaimSummary, StoreError> {
    let word = |column: usize| row.get::<_, String>(column);
    let created_seq = row.get::<_, i64>(8)? as u64;
    let status = word(3)?.parse().map_err(malformed)?;
    let by_silence = row.get(22)?;
    Ok(ClaimSummary {
        status,
        basis: basis(status, row.get::<_, Option<String>>(19)?.as_deref(), by_silence)?,
        imported: imports.holds(created_seq),
        id: row.get(0)?,
        name: row.get("name")?,
        statement: row.get(1)?,
        claim_type: word(2)?.parse().map_err(malformed)?,
        owner: row.get(4)?,
        confidence: row.get(5)?,
        created_at: row.get(6)?,
        touched_at: row.get(7)?,
        created_seq,
        seq: row.get::<_, i64>(9)? as u64,
        superseded_by: row.get(10)?,
        scopes: serde_json::from_str(&word(11)?).map_err(malformed)?,
        supports: row.get(12)?,
        challenges: row.get(13)?,
        evidence: row.get(14)?,
        grade: word(15)?.parse().map_err(malformed)?,
        reproduced: row.get(16)?,
        stale: row.get(17)?,
        origin_task_id: row.get(18)?,
        mended: row.get(21)?,
        rejected: row.get("rejected")?,
        changed_since: Vec::new(),
        by_now: Vec::new(),
        last_change: None,
        agreed_by_silence: by_silence,
        proof: row.get::<_, Option<String>>("proved_by")?.map(|json| Proof::of(&json)).transpose()?,
        unstable: false,
        failed_since: row.get("failed_since")?,
    })
}

pub(super) fn malformed(problem: impl ToString) -> StoreError {
    StoreError::Malformed(problem.to_string())
}
