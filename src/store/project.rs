//! The projection: each event is one small write. It contains no rules, only the content of events.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::rows::{Json, malformed};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Grade, Position, Status};
use crate::domain::decide::Policy;
use crate::domain::event::{
    AttentionSeen, ClaimCreated, ClaimSuperseded, CommandRejected, ContradictionDetected,
    ContradictionResolved, DecisionRecorded, Event, EvidenceAdded, OutcomeRecorded, PolicyChanged,
    PositionTaken, Recorded, RuleChange, StatusChanged, TargetAliased, TargetParted,
};
use crate::domain::ids::ClaimId;
use crate::domain::memory::MemoryEvent;
use crate::domain::scope::Scope;
use crate::store::index::{self, Entry, LastClaims};
use crate::store::{
    StoreError, commits, completions, experiments, failures, files, former, guards, locks, merges, names,
    observations, patterns, places, plan, playbooks, proposals, questions, researchers, retention, retracted,
    sessions, silence, spaces, tasks, triggers, vectors, versions,
};

/// Changes of many events in the same few rows. They are written once for all events of a transaction.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The time of each agent's last event, epoch ms, and the event.
    agents: BTreeMap<AgentId, (i64, u64)>,
    /// Changes of the numbers of claims, by owner, type and status, each with the last event.
    claims: BTreeMap<(String, String, Status), (i64, u64)>,
    /// Texts added to the search index, and their tokens.
    pub(super) texts: (i64, i64),
}

impl Tally {
    fn saw(&mut self, recorded: &Recorded) {
        let seen = (recorded.at.ms(), recorded.seq);
        match self.agents.get_mut(&recorded.agent) {
            Some(last) => *last = seen,
            None => {
                self.agents.insert(recorded.agent.clone(), seen);
            }
        }
    }

    /// Adds a claim to a status or removes it.
    fn count(&mut self, at: &Recorded, owner: &str, claim_type: &str, status: Status, by: i64) {
        let key = (owner.to_owned(), claim_type.to_owned(), status);
        let (claims, seq) = self.claims.entry(key).or_default();
        *claims += by;
        *seq = at.seq;
    }

    /// Writes everything except the texts, which are written with the folded position.
    pub(super) fn write(&self, db: &Connection) -> Result<(), StoreError> {
        let mut agents = db.prepare_cached(
            "INSERT INTO agents (agent, last_seen_at, seq) VALUES (?1, ?2, ?3) \
             ON CONFLICT (agent) DO UPDATE SET last_seen_at = ?2, seq = ?3",
        )?;
        for (agent, (at, seq)) in &self.agents {
            agents.execute(params![agent, at, seq])?;
        }
        let mut counts = db.prepare_cached(
            "INSERT INTO claim_counts (owner, claim_type, status, claims, seq) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT (owner, claim_type, status) DO UPDATE SET claims = claims + ?4, seq = ?5",
        )?;
        for ((owner, claim_type, status), (by, seq)) in &self.claims {
            counts.execute(params![owner, claim_type, status, by, seq])?;
        }
        Ok(())
    }
}

/// Folds one event into the read models. `entry` is its entry in the search index.
pub(super) fn project(
    db: &Connection,
    tally: &mut Tally,
    last: &mut LastClaims,
    recorded: &Recorded,
    entry: Option<&Entry>,
) -> Result<(), StoreError> {
    tally.saw(recorded);
    tasks::heartbeat(db, recorded)?;
    names::count(db, recorded)?;
    let Some(event) = &recorded.event else {
        return Ok(());
    };
    guards::observed(db, recorded, event)?;
    match event {
        Event::ClaimCreated(body) => {
            let entry = entry.ok_or_else(|| StoreError::Malformed("a claim without tokens".to_owned()))?;
            claim_created(db, tally, last, recorded, body, entry)?;
        }
        Event::StatusChanged(body) => status_changed(db, tally, recorded, body)?,
        Event::ClaimSuperseded(body) => claim_superseded(db, recorded, body)?,
        Event::PositionTaken(body) => position_taken(db, recorded, body)?,
        Event::EvidenceAdded(body) => evidence_added(db, recorded, body)?,
        Event::EvidenceRetracted(body) => {
            retracted::retracted(db, recorded, body)?;
            touch(db, recorded, body.claim_id)?;
            files::weigh(db, body.claim_id)?;
        }
        Event::DecisionRecorded(body) => decision_recorded(db, recorded, body)?,
        Event::OutcomeRecorded(body) => outcome_recorded(db, recorded, body)?,
        Event::CommandRejected(body) => command_rejected(db, recorded, body)?,
        Event::ContradictionDetected(body) => contradiction_detected(db, recorded, body)?,
        Event::ContradictionResolved(body) => contradiction_resolved(db, recorded, body)?,
        Event::TargetAliased(body) => target_aliased(db, recorded, body)?,
        Event::EventReported(body) => files::reported(db, recorded, body)?,
        Event::ExperimentQueued(body) => experiments::queued(db, recorded, body)?,
        Event::ExperimentStarted(body) => experiments::started(db, recorded, body)?,
        Event::ExperimentCompleted(body) => experiments::completed(db, recorded, body)?,
        Event::PlanAdded(body) => plan::plan_added(db, recorded, body)?,
        Event::PhaseAdded(body) => plan::phase_added(db, recorded, body)?,
        Event::TaskAdded(body) => tasks::task_added(db, recorded, body)?,
        Event::TaskClaimed(body) => tasks::task_claimed(db, recorded, body)?,
        Event::TaskReleased(body) => tasks::task_released(db, recorded, body)?,
        Event::ScopesLocked(body) => locks::locked(db, recorded, body)?,
        Event::ScopesReleased(body) => locks::released(db, body)?,
        Event::TaskUpdated(body) => tasks::task_updated(db, recorded, body)?,
        Event::IntentDeclared(body) => plan::intent_declared(db, recorded, body)?,
        Event::SessionStarted(body) => sessions::started(db, recorded, body)?,
        Event::AgentSeated(body) => sessions::seated(db, recorded, body)?,
        Event::SessionEnded(body) => sessions::ended(db, recorded, body)?,
        Event::TurnRecorded(body) => sessions::turn(db, recorded, body)?,
        Event::AnchorSaved(body) => sessions::anchor(db, recorded, body)?,
        Event::SessionSplit(body) => sessions::split(db, recorded, body)?,
        Event::Turn0Continued(body) => sessions::continued(db, body)?,
        Event::BeliefsSnapshotted(body) => sessions::beliefs(db, recorded, body)?,
        Event::GuardFired(body) => {
            sessions::fired(db, recorded, body)?;
            guards::fired(db, recorded, body)?;
        }
        Event::GuardAccepted(body) => guards::accepted(db, recorded, body)?,
        Event::GuardMuted(body) => guards::muted(db, recorded, body)?,
        Event::CommandRan(body) => {
            failures::ran(db, recorded, body)?;
            observations::command_ran(db, recorded, body)?;
        }
        Event::FileEdited(body) => {
            sessions::edited(db, recorded, body)?;
            observations::edited(db, recorded, body)?;
        }
        Event::ToolUsed(body) => observations::tool_used(db, recorded, body)?,
        Event::ResearcherSpawned(body) => researchers::spawned(db, recorded, body)?,
        Event::PolicyChanged(body) => policy_changed(db, recorded, body)?,
        Event::TargetParted(body) => target_parted(db, recorded, body)?,
        Event::OverrideProposed(body) => {
            proposals::proposed(db, recorded, body)?;
            silence::proposed(db, recorded, body)?;
        }
        Event::OverrideDismissed(body) => proposals::settled(db, body.claim_id)?,
        Event::PlanAbandoned(body) => plan::plan_abandoned(db, recorded, body)?,
        Event::PlanRenamed(body) => plan::plan_renamed(db, recorded, body)?,
        Event::AnchorRetired(body) => sessions::anchor_retired(db, recorded, body)?,
        Event::AttentionSeen(body) => attention_seen(db, recorded, body)?,
        Event::PatternOpened(body) => patterns::opened(db, recorded, body)?,
        Event::PatternClosed(body) => patterns::closed(db, recorded, body)?,
        Event::PatternDismissed(body) => patterns::dismissed(db, recorded, body)?,
        Event::CommitSeen(body) => commits::seen(db, recorded, body)?,
        Event::PlaceCited(body) => places::cited(db, recorded, body)?,
        Event::PlaybookProposed(body) => playbooks::proposed(db, recorded, body)?,
        Event::PlaybookAccepted(body) => playbooks::accepted(db, recorded, body)?,
        Event::PlaybookDismissed(body) => playbooks::dismissed(db, recorded, body)?,
        Event::PlaybookFollowed(body) => playbooks::followed(db, recorded, body)?,
        Event::ErrorReflected(body) => playbooks::reflected(db, recorded, body)?,
        Event::ErrorCounted(body) => playbooks::counted(db, recorded, body)?,
        Event::MergeProposed(body) => merges::proposed(db, recorded, body)?,
        Event::MergeAccepted(body) => merges::accepted(db, body)?,
        Event::MergeDeclined(body) => merges::declined(db, body)?,
        Event::MemoryPromoted(body) => spaces::promoted(db, recorded, body)?,
        Event::PhaseStarted(body) => spaces::phase_started(db, recorded, body)?,
        // Readers take messages from the ledger itself.
        Event::MessageSent(_)
        | Event::OperatorOverridden(_)
        | Event::SpoolFlushed(_)
        | Event::MemoryDenied(_)
        | Event::BorderChecked(_)
        | Event::PromotionDenied(_)
        | Event::MemoryForgotten(_)
        | Event::MemoryRecalled(_)
        | Event::EventRedacted(_)
        | Event::EventsRedacted(_)
        | Event::LossAccepted(_)
        | Event::ExperimentCancelRequested(_) => {}
    }
    retention::kept(db, recorded, event)
}

fn claim_created(
    db: &Connection,
    tally: &mut Tally,
    last: &mut LastClaims,
    at: &Recorded,
    body: &ClaimCreated,
    entry: &Entry,
) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO claims (id, statement, claim_type, owner, status, confidence, session, ttl_hours, \
         proposes_to_supersede, trigger_when, scopes, created_at, touched_at, created_seq, seq, tokens, previous, \
         origin_task_id, versions, asks, objection_until, event_type) VALUES \
         (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, ?13, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
    )?
    .execute(params![
        body.claim_id,
        body.statement,
        body.claim_type,
        at.agent,
        Status::Proposed,
        body.confidence.get(),
        at.session,
        body.ttl_hours.map(|hours| hours.0),
        body.supersedes,
        body.trigger.as_ref().map(Json),
        Json(&body.scopes),
        at.at,
        at.seq,
        entry.tokens,
        last.before(db, at)?,
        body.origin_task_id,
        versions::stored(&body.versions),
        (!body.asks.is_empty()).then_some(Json(&body.asks)),
        body.objection_until,
        MemoryEvent::of_created(body, &at.agent)
    ])?;
    questions::of_creation(db, at, body)?;
    for target in body.scopes.iter().filter(|scope| scope.is_target()) {
        name_target(db, at, target)?;
    }
    index::add(db, at, entry)?;
    if let Some(meaning) = &entry.meaning {
        vectors::add(db, at.seq, meaning)?;
    }
    completions::add(db, at, body)?;
    triggers::add(db, at, body)?;
    tally.texts.0 += 1;
    tally.texts.1 += entry.length;
    tally.count(at, at.agent.as_str(), body.claim_type.as_str(), Status::Proposed, 1);
    Ok(())
}

fn status_changed(
    db: &Connection,
    tally: &mut Tally,
    at: &Recorded,
    body: &StatusChanged,
) -> Result<(), StoreError> {
    let claim = body.claim_id;
    // Uses the status in the row, not that in the event: an event between may have been erased.
    let stands: Option<(String, String, String)> = db
        .prepare_cached("SELECT owner, claim_type, status FROM claims WHERE id = ?1")?
        .query_row([claim], |row| Ok((row.get("owner")?, row.get("claim_type")?, row.get("status")?)))
        .optional()?;
    if let Some((owner, claim_type, status)) = stands {
        tally.count(at, &owner, &claim_type, status.parse().map_err(malformed)?, -1);
        tally.count(at, &owner, &claim_type, body.to, 1);
    }
    db.prepare_cached(
        "UPDATE claims SET status = ?2, touched_at = ?3, seq = ?4, by_silence = ?5, \
         agreed_before = agreed_before AND NOT ?5 WHERE id = ?1",
    )?
    .execute(params![claim, body.to, at.at, at.seq, body.by_silence])?;
    versions::weigh_agreement(db, claim, false)?;
    if body.to == Status::Proposed && body.from != Status::PendingProof {
        db.prepare_cached(
            "UPDATE claims SET proof = NULL, proof_run = NULL, unstable_at = NULL WHERE id = ?1",
        )?
        .execute([claim])?;
    }
    questions::moved(db, body)?;
    silence::moved(db, at, body)?;
    db.prepare_cached(
        "INSERT INTO claim_moves (id, claim_id, old_status, new_status, changed_by, reason, changed_at, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![at.id, claim, body.from, body.to, at.agent, body.reason, at.at, at.seq])?;
    if body.to == Status::Deprecated {
        proposals::settled(db, body.claim_id)?;
    }
    if body.from == Status::PendingProof && !body.keeps_proof {
        experiments::settled(db, claim, body)?;
    }
    triggers::moved(db, body.claim_id, body.to)
}

fn claim_superseded(db: &Connection, at: &Recorded, body: &ClaimSuperseded) -> Result<(), StoreError> {
    let (old, new) = (body.claim_id, body.superseded_by);
    db.prepare_cached("UPDATE claims SET superseded_by = ?2, mended = ?4, seq = ?3 WHERE id = ?1")?
        .execute(params![old, new, at.seq, body.mends])?;
    db.prepare_cached("UPDATE claims SET proposes_to_supersede = NULL, seq = ?2 WHERE id = ?1")?
        .execute(params![new, at.seq])?;
    questions::of_supersession(db, at, body)
}

fn position_taken(db: &Connection, at: &Recorded, body: &PositionTaken) -> Result<(), StoreError> {
    if body.still {
        versions::affirmed(db, at, body)?;
        questions::of_still(db, at, body)?;
        return touch(db, at, body.claim_id);
    }
    former::replaced(db, at, body)?;
    for name in &body.instead_of {
        db.prepare_cached("DELETE FROM consensus WHERE claim_id = ?1 AND agent = ?2")?
            .execute(params![body.claim_id, name])?;
    }
    db.prepare_cached(
        "INSERT INTO consensus (claim_id, agent, position, reason, evidence_ref, created_at, seq, saw) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (claim_id, agent) DO UPDATE SET \
         position = ?3, reason = ?4, evidence_ref = ?5, created_at = ?6, seq = ?7, saw = ?8, before_change = 0",
    )?
    .execute(params![
        body.claim_id,
        at.agent,
        body.position,
        body.reason,
        body.evidence_ref,
        at.at,
        at.seq,
        versions::stored(&body.versions).filter(|_| body.position == Position::Support)
    ])?;
    versions::weigh_agreement(db, body.claim_id, false)?;
    proposals::spoken(db, at, body.claim_id)?;
    guards::challenged(db, body)?;
    questions::answered(db, at, body)?;
    silence::heard(db, at, body)?;
    touch(db, at, body.claim_id)
}

fn evidence_added(db: &Connection, at: &Recorded, body: &EvidenceAdded) -> Result<(), StoreError> {
    let run = body.run.as_ref();
    let unstable = run.and_then(|run| run.unstable.as_ref());
    db.prepare_cached(
        "INSERT OR REPLACE INTO claim_evidence \
         (claim_id, evidence_ref, relation, added_by, weight, note, created_at, seq, grade, stale_seq, run_id, \
         profile, profile_sha256, prediction, unstable, unstable_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?
    .execute(params![
        body.claim_id,
        body.evidence_ref,
        body.relation,
        at.agent,
        body.weight.get(),
        body.note,
        at.at,
        at.seq,
        body.grade.unwrap_or(Grade::Asserted),
        files::edited_since(db, body.evidence_ref)?,
        run.map(|run| run.run_id),
        run.and_then(|run| run.profile.as_ref()),
        run.and_then(|run| run.profile_sha256.as_deref()),
        run.map(|run| run.prediction),
        unstable.map(Json),
        unstable.map(|_| at.at)
    ])?;
    touch(db, at, body.claim_id)?;
    files::weigh(db, body.claim_id)
}

/// Marks a claim as touched, and updates the numbers of its positions and its evidence.
fn touch(db: &Connection, at: &Recorded, claim: ClaimId) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE claims SET touched_at = ?2, seq = ?3, \
         supports = (SELECT count(*) FROM consensus WHERE claim_id = ?1 AND position = 'support'), \
         challenges = (SELECT count(*) FROM consensus WHERE claim_id = ?1 AND position = 'challenge'), \
         evidence = (SELECT count(*) FROM claim_evidence WHERE claim_id = ?1) WHERE id = ?1",
    )?
    .execute(params![claim, at.at, at.seq])?;
    Ok(())
}

/// The first use of a target registers it.
fn name_target(db: &Connection, at: &Recorded, target: &Scope) -> Result<(), StoreError> {
    db.prepare_cached("INSERT OR IGNORE INTO targets (name, canonical, seq) VALUES (?1, ?1, ?2)")?
        .execute(params![target, at.seq])?;
    Ok(())
}

fn target_aliased(db: &Connection, at: &Recorded, body: &TargetAliased) -> Result<(), StoreError> {
    for name in [&body.target, &body.alias] {
        name_target(db, at, name)?;
    }
    let mut join = db.prepare_cached("UPDATE targets SET joined_to = ?2 WHERE name = ?1")?;
    // Both names were canonical when they were joined. After an erasure the target may still be an alias, so it becomes
    // canonical again.
    join.execute(params![body.target, None::<&str>])?;
    join.execute(params![body.alias, body.target])?;
    rename_targets(db, at)
}

fn target_parted(db: &Connection, at: &Recorded, body: &TargetParted) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE targets SET joined_to = NULL WHERE name = ?1")?.execute([&body.alias])?;
    rename_targets(db, at)
}

/// Gives each name of a target its present canonical name.
fn rename_targets(db: &Connection, at: &Recorded) -> Result<(), StoreError> {
    db.prepare_cached(
        "WITH RECURSIVE stands(name, canonical) AS (SELECT name, name FROM targets WHERE joined_to IS NULL UNION ALL \
         SELECT t.name, stands.canonical FROM targets t JOIN stands ON t.joined_to = stands.name) \
         UPDATE targets SET canonical = stands.canonical, seq = ?1 FROM stands \
         WHERE stands.name = targets.name AND targets.canonical <> stands.canonical",
    )?
    .execute([at.seq])?;
    Ok(())
}

fn contradiction_detected(
    db: &Connection,
    at: &Recorded,
    body: &ContradictionDetected,
) -> Result<(), StoreError> {
    let mut known = db.prepare_cached("SELECT 1 FROM claims WHERE id = ?1")?;
    if !known.exists([body.left.claim_id])? || !known.exists([body.right.claim_id])? {
        return Ok(());
    }
    db.prepare_cached(
        "INSERT INTO belief_contradictions (id, kind, tier, left_claim, left_agent, right_claim, right_agent, \
         status, detected_at, created_seq, seq) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'open', ?8, ?9, ?9)",
    )?
    .execute(params![
        at.id,
        body.kind,
        body.tier,
        body.left.claim_id,
        body.left.agent,
        body.right.claim_id,
        body.right.agent,
        at.at,
        at.seq
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
         WHERE left_claim = ?1 AND kind = ?5 AND left_agent = ?6 AND right_claim = ?7 AND right_agent = ?8 \
         AND status = 'open'",
    )?
    .execute(params![
        body.left.claim_id,
        body.cause,
        at.at,
        at.seq,
        body.kind,
        body.left.agent,
        body.right.claim_id,
        body.right.agent
    ])?;
    Ok(())
}

fn decision_recorded(db: &Connection, at: &Recorded, body: &DecisionRecorded) -> Result<(), StoreError> {
    let claim = body.claim_id;
    proposals::decided(db, claim)?;
    if let Some(target) = &body.target {
        name_target(db, at, target)?;
        index::add_target(db, claim, target)?;
    }
    db.prepare_cached(
        "INSERT INTO decisions \
         (claim_id, decided_by, rationale, context, target, session, created_at, created_seq, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
    )?
    .execute(params![
        claim,
        at.agent,
        body.rationale,
        body.context,
        body.target,
        at.session,
        body.decided_at.unwrap_or(at.at),
        at.seq
    ])?;
    let mut alternatives = db.prepare_cached(
        "INSERT OR REPLACE INTO decision_alternatives (decision_id, alternative_id, rejection_reason, seq) \
         VALUES (?1, ?2, ?3, ?4)",
    )?;
    for alternative in &body.alternatives {
        let reason = alternative.rejection_reason.as_str();
        alternatives.execute(params![claim, alternative.claim_id, reason, at.seq])?;
    }
    touch(db, at, body.claim_id)
}

fn outcome_recorded(db: &Connection, at: &Recorded, body: &OutcomeRecorded) -> Result<(), StoreError> {
    let (claim, notes) = (body.claim_id, &body.notes);
    db.prepare_cached("UPDATE decisions SET outcome = ?2, outcome_notes = ?3, seq = ?4 WHERE claim_id = ?1")?
        .execute(params![claim, body.outcome, notes, at.seq])?;
    db.prepare_cached(
        "INSERT INTO decision_outcomes (decision_id, outcome, notes, recorded_by, recorded_at, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![claim, body.outcome, notes, at.agent, at.at, at.seq])?;
    failures::decided(db, at, body)?;
    touch(db, at, body.claim_id)
}

/// Changes that loosened the rules stay listed until another change tightens them. The last row holds the recorded
/// policy: a change that loosens nothing is written with equal old and new values.
fn policy_changed(db: &Connection, at: &Recorded, body: &PolicyChanged) -> Result<(), StoreError> {
    let PolicyChanged { quorum, was, .. } = *body;
    let now = Policy {
        quorum,
        agents_may_override_operator: body.agents_may_override_operator,
        ..Policy::default()
    };
    let before = Policy {
        quorum: was,
        agents_may_override_operator: body.agents_might_override_operator,
        ..Policy::default()
    };
    if let Some(rules) = &body.memory {
        retention::ruled(db, at, rules)?;
        rules_changed(db, at, &rules.changes)?;
        if now == before {
            return Ok(());
        }
    }
    let is_looser = now.is_looser_than(&before);
    if !is_looser {
        db.prepare_cached("DELETE FROM loosened_policies")?.execute([])?;
    }
    let before = if is_looser { before } else { now };
    db.prepare_cached(
        "INSERT INTO loosened_policies (seq, event_id, policy, was, changed_at) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![at.seq, at.id, now.to_string(), before.to_string(), at.at])?;
    Ok(())
}

/// A rule of the memory's policy stays listed until another change tightens it.
fn rules_changed(db: &Connection, at: &Recorded, changes: &[RuleChange]) -> Result<(), StoreError> {
    for RuleChange { rule, now, was, looser } in changes {
        db.prepare_cached("DELETE FROM loosened_rules WHERE rule = ?1")?.execute([rule])?;
        if *looser {
            db.prepare_cached(
                "INSERT INTO loosened_rules (seq, event_id, rule, now, was, changed_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![at.seq, at.id, rule, now, was, at.at])?;
        }
    }
    Ok(())
}

fn attention_seen(db: &Connection, at: &Recorded, body: &AttentionSeen) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT OR IGNORE INTO seen_notices (id, seen_by, seen_at, seq) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![body.id.to_string(), at.agent, at.at, at.seq])?;
    guards::settled(db, &body.id.to_string())
}

fn command_rejected(db: &Connection, at: &Recorded, body: &CommandRejected) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO rejected_commands (command_id, agent, kind, code, message, rejected_at, seq) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        body.command_id,
        at.agent,
        body.kind,
        body.code.as_str(),
        body.message,
        at.at,
        at.seq
    ])?;
    Ok(())
}
