//! One event, one small write. No rule lives here: what the event says is what the row becomes.

use rusqlite::{Connection, params};

use crate::domain::claim::{Grade, Status};
use crate::domain::event::{
    ClaimCreated, ClaimSuperseded, CommandRejected, ContradictionDetected, ContradictionResolved,
    DecisionRecorded, Event, EvidenceAdded, OutcomeRecorded, PositionTaken, Recorded, StatusChanged,
    TargetAliased,
};
use crate::domain::ids::{ClaimId, EventId, SessionId};
use crate::domain::scope::Scope;
use crate::domain::text::Reason;
use crate::store::{StoreError, files, index};

/// Folds one event into the read models.
pub(super) fn project(db: &Connection, recorded: &Recorded) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO agents (agent, last_seen_at, seq) VALUES (?1, ?2, ?3) \
         ON CONFLICT (agent) DO UPDATE SET last_seen_at = ?2, seq = ?3",
    )?
    .execute(params![recorded.agent.as_str(), recorded.at.ms(), recorded.seq as i64])?;
    let Some(event) = &recorded.event else {
        return Ok(());
    };
    match event {
        Event::ClaimCreated(body) => claim_created(db, recorded, body)?,
        Event::StatusChanged(body) => status_changed(db, recorded, body)?,
        Event::ClaimSuperseded(body) => claim_superseded(db, recorded, body)?,
        Event::PositionTaken(body) => position_taken(db, recorded, body)?,
        Event::EvidenceAdded(body) => evidence_added(db, recorded, body)?,
        Event::DecisionRecorded(body) => decision_recorded(db, recorded, body)?,
        Event::OutcomeRecorded(body) => outcome_recorded(db, recorded, body)?,
        Event::CommandRejected(body) => command_rejected(db, recorded, body)?,
        Event::ContradictionDetected(body) => contradiction_detected(db, recorded, body)?,
        Event::ContradictionResolved(body) => contradiction_resolved(db, recorded, body)?,
        Event::TargetAliased(body) => target_aliased(db, recorded, body)?,
        Event::EventReported(body) => files::reported(db, recorded, body)?,
        // Read from the ledger itself.
        Event::SpoolFlushed(_) | Event::MemoryDenied(_) | Event::EventRedacted(_) => {}
    }
    Ok(())
}

fn claim_created(db: &Connection, at: &Recorded, body: &ClaimCreated) -> Result<(), StoreError> {
    let trigger = body.trigger.as_ref().map(json).transpose()?;
    db.prepare_cached(
        "INSERT INTO claims (id, statement, claim_type, owner, status, confidence, session, ttl_hours, \
         proposes_to_supersede, trigger_when, scopes, created_at, touched_at, created_seq, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, ?13, ?13)",
    )?
    .execute(params![
        body.claim_id.to_string(),
        body.statement.as_str(),
        body.claim_type.as_str(),
        at.agent.as_str(),
        Status::Proposed.as_str(),
        body.confidence.get(),
        at.session.as_ref().map(SessionId::as_str),
        body.ttl_hours.map(|hours| hours.0),
        body.supersedes.map(|id| id.to_string()),
        trigger,
        json(&body.scopes)?,
        at.at.ms(),
        at.seq as i64
    ])?;
    let mut scopes =
        db.prepare_cached("INSERT INTO claim_scopes (claim_id, scope, seq) VALUES (?1, ?2, ?3)")?;
    for scope in &body.scopes {
        scopes.execute(params![body.claim_id.to_string(), scope.as_str(), at.seq as i64])?;
    }
    for target in body.scopes.iter().filter(|scope| scope.is_target()) {
        name_target(db, at, target)?;
    }
    index::add(db, at, body)?;
    count(db, at, body.claim_id, 1)?;
    history(db, at, body.claim_id, None, Status::Proposed, None)
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Malformed(error.to_string()))
}

fn status_changed(db: &Connection, at: &Recorded, body: &StatusChanged) -> Result<(), StoreError> {
    // From where its row stands, not from where the event says it was: an event between may have been erased.
    count(db, at, body.claim_id, -1)?;
    db.prepare_cached("UPDATE claims SET status = ?2, touched_at = ?3, seq = ?4 WHERE id = ?1")?
        .execute(params![body.claim_id.to_string(), body.to.as_str(), at.at.ms(), at.seq as i64])?;
    count(db, at, body.claim_id, 1)?;
    history(db, at, body.claim_id, Some(body.from), body.to, Some(body.reason.as_str()))
}

/// Counts a claim in or out of the status it has.
fn count(db: &Connection, at: &Recorded, claim: ClaimId, by: i64) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO claim_counts (owner, claim_type, status, claims, seq) \
         SELECT owner, claim_type, status, ?2, ?3 FROM claims WHERE id = ?1 \
         ON CONFLICT (owner, claim_type, status) DO UPDATE SET claims = claims + ?2, seq = ?3",
    )?
    .execute(params![claim.to_string(), by, at.seq as i64])?;
    Ok(())
}

fn history(
    db: &Connection,
    at: &Recorded,
    claim: ClaimId,
    old: Option<Status>,
    new: Status,
    reason: Option<&str>,
) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO claim_status_history \
         (id, claim_id, old_status, new_status, changed_by, reason, changed_at, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        at.id.to_string(),
        claim.to_string(),
        old.map(Status::as_str),
        new.as_str(),
        at.agent.as_str(),
        reason,
        at.at.ms(),
        at.seq as i64
    ])?;
    Ok(())
}

fn claim_superseded(db: &Connection, at: &Recorded, body: &ClaimSuperseded) -> Result<(), StoreError> {
    let (old, new) = (body.claim_id.to_string(), body.superseded_by.to_string());
    db.prepare_cached("UPDATE claims SET superseded_by = ?2, seq = ?3 WHERE id = ?1")?.execute(params![
        old,
        new,
        at.seq as i64
    ])?;
    db.prepare_cached("UPDATE claims SET proposes_to_supersede = NULL, seq = ?2 WHERE id = ?1")?
        .execute(params![new, at.seq as i64])?;
    Ok(())
}

fn position_taken(db: &Connection, at: &Recorded, body: &PositionTaken) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO consensus (claim_id, agent, position, reason, evidence_ref, created_at, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (claim_id, agent) DO UPDATE SET \
         position = ?3, reason = ?4, evidence_ref = ?5, created_at = ?6, seq = ?7",
    )?
    .execute(params![
        body.claim_id.to_string(),
        at.agent.as_str(),
        body.position.as_str(),
        body.reason.as_ref().map(Reason::as_str),
        body.evidence_ref.as_ref().map(EventId::to_string),
        at.at.ms(),
        at.seq as i64
    ])?;
    touch(db, at, body.claim_id)
}

fn evidence_added(db: &Connection, at: &Recorded, body: &EvidenceAdded) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO claim_evidence \
         (claim_id, evidence_ref, relation, added_by, weight, note, created_at, seq, grade, stale_seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        body.claim_id.to_string(),
        body.evidence_ref.to_string(),
        body.relation.as_str(),
        at.agent.as_str(),
        body.weight.get(),
        body.note.as_ref().map(Reason::as_str),
        at.at.ms(),
        at.seq as i64,
        body.grade.unwrap_or(Grade::Asserted).as_str(),
        files::edited_since(db, body.evidence_ref)?
    ])?;
    touch(db, at, body.claim_id)?;
    files::weigh(db, body.claim_id)
}

/// Marks a claim as touched; its row shows how many positions and pieces of evidence it has now.
fn touch(db: &Connection, at: &Recorded, claim: ClaimId) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE claims SET touched_at = ?2, seq = ?3, \
         supports = (SELECT count(*) FROM consensus WHERE claim_id = ?1 AND position = 'support'), \
         challenges = (SELECT count(*) FROM consensus WHERE claim_id = ?1 AND position = 'challenge'), \
         evidence = (SELECT count(*) FROM claim_evidence WHERE claim_id = ?1) WHERE id = ?1",
    )?
    .execute(params![claim.to_string(), at.at.ms(), at.seq as i64])?;
    Ok(())
}

/// A target is registered by its first use.
fn name_target(db: &Connection, at: &Recorded, target: &Scope) -> Result<(), StoreError> {
    db.prepare_cached("INSERT OR IGNORE INTO targets (name, canonical, seq) VALUES (?1, ?1, ?2)")?
        .execute(params![target.as_str(), at.seq as i64])?;
    Ok(())
}

fn target_aliased(db: &Connection, at: &Recorded, body: &TargetAliased) -> Result<(), StoreError> {
    for name in [&body.target, &body.alias] {
        name_target(db, at, name)?;
    }
    db.prepare_cached("UPDATE targets SET canonical = ?1, seq = ?3 WHERE canonical = ?2")?
        .execute(params![body.target.as_str(), body.alias.as_str(), at.seq as i64])?;
    Ok(())
}

fn contradiction_detected(
    db: &Connection,
    at: &Recorded,
    body: &ContradictionDetected,
) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO belief_contradictions (id, kind, tier, left_claim, left_agent, right_claim, right_agent, \
         status, detected_at, created_seq, seq) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, 'open', ?8, ?9, ?9 \
         WHERE EXISTS (SELECT 1 FROM claims WHERE id = ?4) AND EXISTS (SELECT 1 FROM claims WHERE id = ?6)",
    )?
    .execute(params![
        at.id.to_string(),
        body.kind.as_str(),
        body.tier.as_str(),
        body.left.claim_id.to_string(),
        body.left.agent.as_str(),
        body.right.claim_id.to_string(),
        body.right.agent.as_str(),
        at.at.ms(),
        at.seq as i64
    ])?;
    Ok(())
}

fn contradiction_resolved(
    db: &Connection,
    at: &Recorded,
    body: &ContradictionResolved,
) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE belief_contradictions SET status = 'resolved', cause = ?2, resolved_at = ?3, seq = ?4 \
         WHERE left_claim = ?1 AND kind = ?5 AND left_agent = ?6 AND right_claim = ?7 AND right_agent = ?8",
    )?
    .execute(params![
        body.left.claim_id.to_string(),
        body.cause.as_str(),
        at.at.ms(),
        at.seq as i64,
        body.kind.as_str(),
        body.left.agent.as_str(),
        body.right.claim_id.to_string(),
        body.right.agent.as_str()
    ])?;
    Ok(())
}

fn decision_recorded(db: &Connection, at: &Recorded, body: &DecisionRecorded) -> Result<(), StoreError> {
    if let Some(target) = &body.target {
        name_target(db, at, target)?;
    }
    let claim = body.claim_id.to_string();
    db.prepare_cached(
        "INSERT INTO decisions \
         (claim_id, decided_by, rationale, context, target, session, created_at, created_seq, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
    )?
    .execute(params![
        claim,
        at.agent.as_str(),
        body.rationale.as_str(),
        body.context.as_ref().map(Reason::as_str),
        body.target.as_ref().map(Scope::as_str),
        at.session.as_ref().map(SessionId::as_str),
        at.at.ms(),
        at.seq as i64
    ])?;
    let mut alternatives = db.prepare_cached(
        "INSERT OR REPLACE INTO decision_alternatives (decision_id, alternative_id, rejection_reason, seq) \
         VALUES (?1, ?2, ?3, ?4)",
    )?;
    for alternative in &body.alternatives {
        let reason = alternative.rejection_reason.as_str();
        alternatives.execute(params![claim, alternative.claim_id.to_string(), reason, at.seq as i64])?;
    }
    touch(db, at, body.claim_id)
}

fn outcome_recorded(db: &Connection, at: &Recorded, body: &OutcomeRecorded) -> Result<(), StoreError> {
    let (claim, notes) = (body.claim_id.to_string(), body.notes.as_ref().map(Reason::as_str));
    db.prepare_cached("UPDATE decisions SET outcome = ?2, outcome_notes = ?3, seq = ?4 WHERE claim_id = ?1")?
        .execute(params![claim, body.outcome.as_str(), notes, at.seq as i64])?;
    db.prepare_cached(
        "INSERT INTO decision_outcomes (decision_id, outcome, notes, recorded_by, recorded_at, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        claim,
        body.outcome.as_str(),
        notes,
        at.agent.as_str(),
        at.at.ms(),
        at.seq as i64
    ])?;
    touch(db, at, body.claim_id)
}

fn command_rejected(db: &Connection, at: &Recorded, body: &CommandRejected) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO rejected_commands (command_id, agent, kind, code, message, rejected_at, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        body.command_id.to_string(),
        at.agent.as_str(),
        body.kind,
        body.code.as_str(),
        body.message,
        at.at.ms(),
        at.seq as i64
    ])?;
    Ok(())
}
