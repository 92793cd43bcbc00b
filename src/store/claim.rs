//! One claim with everything known about it: its page.

use rusqlite::Row;
use serde::Serialize;

use super::claims::{ClaimSummary, SUMMARY, ran, summary};
use super::rows::{json, only};
use super::{Contradiction, DecisionView, NotChosen, Reader, RetractedEvidence, StoreError};
use crate::domain::claim::{Grade, Position, Trigger};
use crate::domain::experiment::{Prediction, RunState, Tally};
use crate::domain::ids::{ClaimId, RunId};
use crate::domain::ranking;
use crate::domain::versions::Versions;
use crate::imports::Imports;

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
    pub run_id: Option<RunId>,
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
    pub supersedes: Vec<ClaimId>,
    /// The claim it replaces once confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposes_to_supersede: Option<ClaimId>,
    /// The agents that its owner asked for a position.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<String>,
    /// Until when an objection keeps it from being agreed by silence, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objection_until: Option<i64>,
    /// The decisions that did not choose it, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_chosen: Vec<NotChosen>,
    /// Why it was chosen, instead of what, and what became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionView>,
    /// Its successors, the one in force last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub successors: Vec<ClaimId>,
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
    pub retracted: Vec<RetractedEvidence>,
    /// What it contradicts or contradicted, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<Contradiction>,
    /// The claims that its statement names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<ClaimId>,
    /// The claims whose statement names it, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mentioned_by: Vec<ClaimId>,
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

pub(super) const EVIDENCE: &str = "SELECT evidence_ref, relation, added_by, weight, note, created_at, grade, stale_seq, \
     claim_id, run_id, profile, profile_sha256, prediction, unstable, unstable_at, \
     (SELECT r.args FROM experiments r WHERE r.id = claim_evidence.run_id) AS run_args, \
     (SELECT r.status FROM experiments r WHERE r.id = claim_evidence.run_id) AS run_status FROM claim_evidence";
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
        let mut one = self.db.prepare_cached(&format!("{} WHERE c.id = ?1", whole_rows()))?;
        let found =
            self.kept_one(one.query([id])?, |row| Ok::<_, StoreError>((self.summary(row)?, own(row)?)))?;
        let Some((summary, own)) = found else { return Ok(None) };
        let (former_positions, former_positions_left_out) = self.former(id)?;
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
        let waits = objection_until.is_some() && self.waits_for_operator(id)?.is_some();
        Ok(Some(ClaimView {
            successors: self.successors(&summary)?,
            decision: self.decision(id)?,
            not_chosen: self.not_chosen(id)?,
            positions: self.positions(id)?,
            former_positions,
            former_positions_left_out,
            evidence_items: self.evidence(id)?,
            retracted: self.retracted(id)?,
            contradictions: self.contradictions_of(id)?,
            history: self.history(id)?,
            supersedes: self.predecessors(id)?,
            mentions: self.mentions(&summary.statement, summary.created_seq)?,
            mentioned_by: self.mentioned_by(id, summary.created_seq)?,
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

    fn predecessors(&self, claim: ClaimId) -> Result<Vec<ClaimId>, StoreError> {
        let sql = "SELECT id FROM claims WHERE superseded_by = ?1 ORDER BY created_seq";
        let mut statement = self.db.prepare_cached(sql)?;
        self.kept_of(statement.query([claim])?, only)
    }

    fn successors(&self, claim: &ClaimSummary) -> Result<Vec<ClaimId>, StoreError> {
        ranking::successors(claim.id, |id| self.successor(id))
    }

    /// The agents that support a claim, without its owner.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn supporters(&self, claim: &ClaimSummary) -> Result<Vec<String>, StoreError> {
        let supports =
            |held: &PositionHeld| held.position == Position::Support.as_str() && held.agent != claim.owner;
        let positions = self.positions(claim.id)?.into_iter().filter(supports);
        Ok(positions.map(|held| held.agent).collect())
    }

    fn positions(&self, claim: ClaimId) -> Result<Vec<PositionHeld>, StoreError> {
        let mut statement =
            self.db.prepare_cached(&format!("{POSITION} WHERE claim_id = ?1 ORDER BY agent"))?;
        self.kept_of(statement.query([claim])?, position)
    }

    fn evidence(&self, claim: ClaimId) -> Result<Vec<Evidence>, StoreError> {
        let mut statement =
            self.db.prepare_cached(&format!("{EVIDENCE} WHERE claim_id = ?1 ORDER BY seq"))?;
        self.kept_of(statement.query([claim])?, |row| {
            let mut evidence = evidence(row)?;
            evidence.unstable =
                evidence.unstable.filter(|_| self.is_recent(row.get("unstable_at").ok().flatten()));
            Ok::<_, StoreError>(evidence)
        })
    }

    fn history(&self, claim: ClaimId) -> Result<Vec<StatusChange>, StoreError> {
        let sql = "SELECT old_status, new_status, changed_by, reason, changed_at, seq \
                   FROM claim_status_history WHERE claim_id = ?1 ORDER BY seq";
        let mut statement = self.db.prepare_cached(sql)?;
        self.kept_of(statement.query([claim])?, change)
    }
}

pub(super) fn position(row: &Row<'_>) -> rusqlite::Result<PositionHeld> {
    Ok(PositionHeld {
        agent: row.get("agent")?,
        position: row.get("position")?,
        reason: row.get("reason")?,
        evidence_ref: row.get("evidence_ref")?,
        at: row.get("created_at")?,
        before_change: false,
        seq: row.get("seq")?,
    })
}

pub(super) fn evidence(row: &Row<'_>) -> rusqlite::Result<Evidence> {
    let (profile, args): (Option<String>, Option<String>) = (row.get("profile")?, row.get("run_args")?);
    let state: Option<String> = row.get("run_status")?;
    Ok(Evidence {
        evidence_ref: row.get("evidence_ref")?,
        relation: row.get("relation")?,
        added_by: row.get("added_by")?,
        weight: row.get("weight")?,
        note: row.get("note")?,
        at: row.get("created_at")?,
        grade: row.get("grade")?,
        stale_since: row.get("stale_seq")?,
        run_id: row.get("run_id")?,
        ran: profile.as_deref().map(|profile| ran(profile, &args.unwrap_or_default())),
        profile,
        outcome: state.and_then(|state| state.parse().ok()),
        profile_sha256: row.get("profile_sha256")?,
        prediction: row.get("prediction")?,
        unstable: json(row, "unstable")?,
    })
}

pub(super) fn change(row: &Row<'_>) -> rusqlite::Result<StatusChange> {
    Ok(StatusChange {
        from: row.get("old_status")?,
        to: row.get("new_status")?,
        by: row.get("changed_by")?,
        reason: row.get("reason")?,
        at: row.get("changed_at")?,
        seq: row.get("seq")?,
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
    proposes_to_supersede: Option<ClaimId>,
    versions: Versions,
    affirmed_seq: Option<u64>,
    asks: Vec<String>,
    objection_until: Option<i64>,
}

fn own(row: &Row<'_>) -> rusqlite::Result<Own> {
    Ok(Own {
        versions: json::<Option<_>>(row, "versions")?.unwrap_or_default(),
        affirmed_seq: row.get("affirmed_seq")?,
        asks: json::<Option<_>>(row, "asks")?.unwrap_or_default(),
        objection_until: row.get("objection_until")?,
        session: row.get("session")?,
        ttl_hours: row.get("ttl_hours")?,
        trigger: json(row, "trigger_when")?,
        proposes_to_supersede: row.get("proposes_to_supersede")?,
    })
}
