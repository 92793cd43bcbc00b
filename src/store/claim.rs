//! The page of one claim, with all its facts.

use rusqlite::{Row, params};
use serde::Serialize;

use super::claims::{ClaimSummary, SUMMARY, ran, summary};
use super::rows::{Columns, json, only};
use super::{Contradiction, DecisionView, NotChosen, Reader, RetractedEvidence, StoreError};
use crate::domain::amendment::Change;
use crate::domain::claim::{ClaimType, Grade, Position, Status, Trigger};
use crate::domain::experiment::{Prediction, RunState, Tally};
use crate::domain::ids::{ClaimId, RunId};
use crate::domain::place::Fate;
use crate::domain::ranking;
use crate::domain::versions::Versions;
use crate::imports::Imports;

/// The position of an agent on a claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PositionHeld {
    /// The agent.
    pub agent: String,
    /// Support, challenge or abstain.
    pub position: String,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The event that it cites.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_ref: Option<String>,
    /// When it was taken, epoch ms.
    pub at: i64,
    /// Whether it supports other content than that of the last `still`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub before_change: bool,
    /// Ledger position of its event.
    #[serde(skip)]
    pub seq: u64,
}

/// A position on a claim that another one replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PositionBefore {
    /// The claim.
    pub claim_id: ClaimId,
    /// The agent that holds the position.
    pub agent: String,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Cited lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlaceNow {
    /// The lines as they were cited: `src/a.rs:10-14`.
    pub lines: String,
    /// What became of them; none in another work tree, and where the file cannot be read.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub fate: Option<Fate>,
}

/// An event linked to a claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// The event.
    pub evidence_ref: String,
    /// The relation of the event to the claim.
    pub relation: String,
    /// The agent that linked it.
    pub added_by: String,
    /// The weight, 0 to 1.
    pub weight: f64,
    /// The grade.
    pub grade: Grade,
    /// The cited lines of a file, and what became of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceNow>,
    /// The run behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The profile of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The profile with its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran: Option<String>,
    /// Whether the run passed or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunState>,
    /// SHA-256 of the profile's file, hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_sha256: Option<String>,
    /// The outcome that the claim predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Prediction>,
    /// Whether the run was queued about this claim. Only then did the claim predict its outcome.
    #[serde(skip)]
    pub was_queued_about_it: bool,
    /// The count of both outcomes, if equal runs on the same content passed and failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unstable: Option<Tally>,
    /// Ledger position of the edit that made it stale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_since: Option<u64>,
    /// The agent's comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When it was linked, epoch ms.
    pub at: i64,
}

/// A change of a claim's status.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusChange {
    /// The old status. None at creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The new status.
    pub to: String,
    /// The agent that caused it. For the end of a run, the agent that asked for the run.
    pub by: String,
    /// Whether the end of a run caused it, and no agent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_run: bool,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it happened, epoch ms.
    pub at: i64,
    /// Ledger position.
    pub seq: u64,
}

impl StatusChange {
    /// The reason, if it says something.
    pub fn said(self) -> Option<String> {
        self.reason.filter(|reason| !reason.trim().is_empty())
    }
}

/// The answer of an asked agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answered {
    /// The agent.
    pub agent: String,
    /// The claim that answers. None where a position does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<ClaimId>,
}

/// A claim with all its facts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimView {
    /// The facts in lists.
    #[serde(flatten)]
    pub summary: ClaimSummary,
    /// The session of its creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Hours until it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_hours: Option<u32>,
    /// The actions that a negative claim warns about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// The challenges of claims that it replaced, if their agents hold no position on this one. A mended claim has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub challenged_before: Vec<PositionBefore>,
    /// The supports of a decision that it replaced, if their agents hold no position on this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supported_before: Vec<PositionBefore>,
    /// The claims that it superseded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<ClaimId>,
    /// The claim that it proposes to supersede.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposes_to_supersede: Option<ClaimId>,
    /// The agents that its owner asked for a position.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<String>,
    /// The asked agents that answered: by a position, or by a later claim that names this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<Answered>,
    /// When silence confirms it, epoch ms. An objection before then prevents it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objection_until: Option<i64>,
    /// The decisions that rejected it, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_chosen: Vec<NotChosen>,
    /// For a decision: its rationale, alternatives and outcomes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionView>,
    /// The change by the current successor, if that amends this decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amended: Option<String>,
    /// The status of its current successor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_status: Option<Status>,
    /// Its successors, the current one last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub successors: Vec<ClaimId>,
    /// The latest position of every agent, by agent.
    pub positions: Vec<PositionHeld>,
    /// The last of the former positions, in ledger order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub former_positions: Vec<PositionHeld>,
    /// Number of earlier former positions.
    #[serde(skip_serializing_if = "is_zero")]
    pub former_positions_left_out: u64,
    /// All linked events, in ledger order.
    pub evidence_items: Vec<Evidence>,
    /// The files that change together with its files in the history: `src/b.rs changed with src/a.rs in 8 of 10 commits`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes_with: Vec<String>,
    /// Retracted evidence, in ledger order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retracted: Vec<RetractedEvidence>,
    /// Its contradictions, open and ended, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<Contradiction>,
    /// The claims that its statement names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<ClaimId>,
    /// The claims whose statements name it, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mentioned_by: Vec<ClaimId>,
    /// The later claim, or the task, whose text says that this dead end is mended. Filled in by the page of the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_mended: Option<String>,
    /// Versions of its files at its creation or its last `still`.
    #[serde(skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// Ledger position of its last `still`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affirmed_seq: Option<u64>,
    /// Its last `still`, as far as the ledger can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub still_meant: Option<StillMeant>,
    /// The peers that were shown a decision, as a short text, if this machine knows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
    /// Its scopes without a version, with the reason.
    #[serde(skip)]
    pub unversioned: Vec<(String, String)>,
    /// Where its proof ran, if that is another work tree than the reader's or one with uncommitted changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof_ran: Option<String>,
    /// The ledger positions of the failures behind a hypothesis of reflection.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<u64>,
    /// The changes of its status.
    pub history: Vec<StatusChange>,
}

/// The word that a claim, or a challenge of it, is still meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StillMeant {
    /// The agent.
    pub by: String,
    /// Whether the agent means its challenge, and not the claim.
    pub is_challenge: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

pub(super) const EVIDENCE: &str = "SELECT evidence_ref, relation, added_by, weight, note, created_at, grade, stale_seq, \
     claim_id, run_id, profile, profile_sha256, prediction, unstable, unstable_at, \
     (SELECT r.args FROM experiments r WHERE r.id = claim_evidence.run_id) AS run_args, \
     (SELECT r.status FROM experiments r WHERE r.id = claim_evidence.run_id) AS run_status, \
     (SELECT r.claim_id = claim_evidence.claim_id FROM experiments r WHERE r.id = claim_evidence.run_id) \
     AS was_queued_about_it FROM claim_evidence";
pub(super) const POSITION: &str =
    "SELECT agent, position, reason, evidence_ref, created_at, claim_id, seq, before_change FROM consensus";
/// A change after the creation of a claim, from `claim_status_history`.
pub(super) const MOVE: &str =
    "SELECT old_status, new_status, changed_by, reason, changed_at, seq, claim_id FROM claim_moves";

impl Reader {
    /// The claim with this id, with all its facts.
    pub fn claim(&self, id: ClaimId) -> Result<Option<ClaimView>, StoreError> {
        let mut one = self.db.prepare_cached(&format!("{} WHERE c.id = ?1", whole_rows()))?;
        let columns = Columns::default();
        let found = self.kept_one(one.query([id])?, |row| {
            Ok::<_, StoreError>((self.summary(&columns.of(row))?, own(row)?))
        })?;
        let Some((mut summary, own)) = found else { return Ok(None) };
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
        let positions = self.positions(id)?;
        let mut answered = Vec::new();
        for agent in &asks {
            let has_position = positions.iter().any(|held| held.agent == *agent);
            let by = match has_position {
                true => None,
                false => self.answered_by(&summary, objection_until.is_some(), agent)?,
            };
            if has_position || by.is_some() {
                answered.push(Answered { agent: agent.clone(), by });
            }
        }
        let successors = self.successors(&summary)?;
        let current_status = self.status_of_last(&successors)?;
        summary.mended &= current_status != Some(Status::Deprecated);
        let waits = objection_until.is_some() && self.waits_for_operator(id)?.is_some();
        Ok(Some(ClaimView {
            current_status,
            amended: self.amended_by(&summary, &successors)?,
            successors,
            decision: self.decision(id)?,
            not_chosen: self.not_chosen(id)?,
            positions,
            former_positions,
            former_positions_left_out,
            evidence_items: self.evidence(id)?,
            changes_with: Vec::new(),
            retracted: self.retracted(id)?,
            contradictions: self.contradictions_of(id)?,
            history: self.history(id)?,
            challenged_before: self.challenged_before(id)?,
            supported_before: self.supporters_before(&summary)?,
            supersedes: self.predecessors(id)?,
            mentions: self.mentions(&summary.statement, summary.created_seq)?,
            mentioned_by: self.mentioned_by(id, summary.created_seq)?,
            said_mended: None,
            summary,
            session,
            ttl_hours,
            trigger,
            proposes_to_supersede,
            versions,
            affirmed_seq,
            still_meant: None,
            told: None,
            unversioned: Vec::new(),
            proof_ran: None,
            failures: Vec::new(),
            asks,
            answered,
            objection_until: objection_until.filter(|_| !waits),
        }))
    }

    fn supporters_before(&self, claim: &ClaimSummary) -> Result<Vec<PositionBefore>, StoreError> {
        if claim.claim_type != ClaimType::Decision {
            return Ok(Vec::new());
        }
        let mut before = self.positions_before(claim.id, Position::Support)?;
        before.retain(|before| before.agent != claim.owner);
        Ok(before)
    }

    /// The challenges of the claims that a claim replaced, by agents without a position since.
    pub fn challenged_before(&self, claim: ClaimId) -> Result<Vec<PositionBefore>, StoreError> {
        self.positions_before(claim, Position::Challenge)
    }

    /// The positions of this kind on the claims that this one replaced, of agents that hold none on this one.
    fn positions_before(
        &self,
        claim: ClaimId,
        position: Position,
    ) -> Result<Vec<PositionBefore>, StoreError> {
        let sql = "WITH RECURSIVE before (id, steps) AS ( \
                     SELECT id, 1 FROM claims WHERE superseded_by = ?1 AND (mended = 0 OR ?2 = 'challenge') UNION ALL \
                     SELECT c.id, b.steps + 1 FROM before b CROSS JOIN claims c ON c.superseded_by = b.id \
                     WHERE (c.mended = 0 OR ?2 = 'challenge') AND b.steps < 50) \
                   SELECT k.claim_id, k.agent, k.reason FROM before b CROSS JOIN consensus k ON k.claim_id = b.id \
                   WHERE k.position = ?2 AND NOT EXISTS (SELECT 1 FROM consensus n WHERE n.agent = k.agent AND (n.claim_id = ?1 \
                   OR n.claim_id IN (SELECT id FROM before WHERE steps < b.steps))) \
                   AND (?2 <> 'challenge' OR k.seq > coalesce((SELECT max(p.seq) FROM claims o CROSS JOIN claim_evidence p \
                   ON p.claim_id = o.id AND p.run_id = o.proof_run WHERE o.id = k.claim_id), 0)) ORDER BY k.seq";
        let mut statement = self.db.prepare_cached(sql)?;
        self.kept_of(statement.query(params![claim, position])?, |row| {
            let (claim_id, agent) = (row.get("claim_id")?, row.get("agent")?);
            Ok::<_, StoreError>(PositionBefore { claim_id, agent, reason: row.get("reason")? })
        })
    }

    pub(super) fn predecessors(&self, claim: ClaimId) -> Result<Vec<ClaimId>, StoreError> {
        let sql = "SELECT id FROM claims WHERE superseded_by = ?1 ORDER BY created_seq";
        let mut statement = self.db.prepare_cached(sql)?;
        self.kept_of(statement.query([claim])?, only)
    }

    fn successors(&self, claim: &ClaimSummary) -> Result<Vec<ClaimId>, StoreError> {
        ranking::successors(claim.id, |id| self.successor(id))
    }

    fn status_of_last(&self, successors: &[ClaimId]) -> Result<Option<Status>, StoreError> {
        let current = successors.last().map(|current| self.claim_summary(*current)).transpose()?.flatten();
        Ok(current.map(|current| current.status))
    }

    /// The change of a decision by the current one, if that amends it.
    fn amended_by(&self, old: &ClaimSummary, successors: &[ClaimId]) -> Result<Option<String>, StoreError> {
        let is_decision = old.claim_type == ClaimType::Decision && !old.mended;
        let Some(current) = successors.last().filter(|_| is_decision) else { return Ok(None) };
        for successor in successors {
            // It puts each of several out of force as a whole.
            if self.predecessors(*successor)?.len() > 1 {
                return Ok(None);
            }
        }
        let current = self.claim_summary(*current)?;
        let change = current.and_then(|current| Change::between(&old.statement, &current.statement));
        Ok(change.map(|change| change.to_string()))
    }

    /// The agents that support a claim, except its owner.
    pub fn supporters(&self, claim: ClaimId, owner: &str) -> Result<Vec<PositionHeld>, StoreError> {
        let supports =
            |held: &PositionHeld| held.position == Position::Support.as_str() && held.agent != owner;
        Ok(self.positions(claim)?.into_iter().filter(supports).collect())
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

    /// The recorded change by which a claim ended.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn end(&self, id: ClaimId) -> Result<Option<StatusChange>, StoreError> {
        Ok(self.history(id)?.pop().filter(|change| change.to == Status::Deprecated.as_str()))
    }

    fn history(&self, claim: ClaimId) -> Result<Vec<StatusChange>, StoreError> {
        let sql = "SELECT old_status, new_status, changed_by, reason, changed_at, seq \
                   FROM claim_status_history WHERE claim_id = ?1 ORDER BY seq";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut history = self.kept_of(statement.query([claim])?, change)?;
        // What follows from the end of a run is recorded with it.
        let mut ended_at = None;
        for change in &mut history {
            let is_end = change.from.as_deref() == Some(Status::PendingProof.as_str())
                && change.to != Status::Deprecated.as_str();
            change.by_run = is_end || ended_at == Some(change.at);
            ended_at = change.by_run.then_some(change.at);
        }
        Ok(history)
    }
}

pub(super) fn position(row: &Row<'_>) -> rusqlite::Result<PositionHeld> {
    Ok(PositionHeld {
        agent: row.get("agent")?,
        position: row.get("position")?,
        reason: row.get("reason")?,
        evidence_ref: row.get("evidence_ref")?,
        at: row.get("created_at")?,
        before_change: row.get("before_change")?,
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
        place: None,
        stale_since: row.get("stale_seq")?,
        run_id: row.get("run_id")?,
        ran: profile.as_deref().map(|profile| ran(profile, &args.unwrap_or_default())),
        profile,
        outcome: state.and_then(|state| state.parse().ok()),
        profile_sha256: row.get("profile_sha256")?,
        prediction: row.get("prediction")?,
        was_queued_about_it: row.get::<_, Option<bool>>("was_queued_about_it")?.unwrap_or_default(),
        unstable: json(row, "unstable")?,
    })
}

pub(super) fn change(row: &Row<'_>) -> rusqlite::Result<StatusChange> {
    Ok(StatusChange {
        from: row.get("old_status")?,
        to: row.get("new_status")?,
        by: row.get("changed_by")?,
        by_run: false,
        reason: row.get("reason")?,
        at: row.get("changed_at")?,
        seq: row.get("seq")?,
    })
}

/// The query for claims with all their columns, up to its conditions.
pub(super) fn whole_rows() -> String {
    format!(
        "SELECT {SUMMARY}, c.session, c.ttl_hours, c.trigger_when, c.proposes_to_supersede, c.versions, \
         c.affirmed_seq, c.asks, c.objection_until FROM claims c"
    )
}

/// Fails if any column of a claim's row is unreadable.
pub(super) fn is_legible(row: &Row<'_>) -> Result<(), StoreError> {
    summary(&Columns::default().of(row), &Imports::default())?;
    own(row)?;
    Ok(())
}

/// The columns that only the page of a claim shows.
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
