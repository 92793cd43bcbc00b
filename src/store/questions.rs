//! Questions to agents about their positions, until they answer.

use std::collections::VecDeque;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use super::rows::{bound, json, only};
use super::silence::agreed_by_silence;
use super::{ClaimSummary, Reader, StoreError};
use crate::domain::agent::AgentId;
use crate::domain::amendment::Change;
use crate::domain::claim::{ClaimType, Position, Status};
use crate::domain::event::{ClaimCreated, ClaimSuperseded, PositionTaken, Recorded, StatusChanged};
use crate::domain::ids::ClaimId;

/// The most claims in a row that replaced each other, when the one on which an agent has a position is looked for.
const MOST_REPLACED: usize = 20;

/// What else an agent asked another agent.
const ASKED_TOO: &str = "SELECT c.id, c.scopes FROM questions q JOIN claims c ON c.id = q.claim_id \
     WHERE q.agent = ?1 AND c.owner = ?2 AND c.id <> ?3 AND c.status <> 'deprecated'";

/// The most claims that an asker supported since its question, when the one that answers it is looked for.
const MOST_SUPPORTED: usize = 50;
/// The claims of an asked agent that the asker supported, made after the question. Ids are in the order of time.
const SUPPORTED_LATER: &str = "SELECT c.id, c.scopes FROM consensus p CROSS JOIN claims c ON c.id = p.claim_id \
     WHERE p.agent = ?1 AND p.claim_id > ?2 AND p.position = 'support' AND c.owner = ?3 AND c.created_seq > ?4 \
     ORDER BY c.created_seq LIMIT ?5";

/// A question to one agent about its position on a claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Question {
    /// The claim.
    pub claim: ClaimSummary,
    /// The agent.
    pub agent: String,
    /// The superseded claim on which the agent had a position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<ClaimId>,
    /// The change of the decision that the agent supported, if the claim amends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amended: Option<String>,
    /// Whether the agent challenged the superseded claim.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ended_challenge: bool,
    /// Whether the superseded claim was merged into this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_merged: bool,
    /// Whether the agent challenges the claim, and is asked if it still means the challenge.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_challenged: bool,
    /// The agent's own claim that this one proposes to supersede.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_replace: Option<ClaimId>,
    /// When it was asked, epoch ms.
    pub asked_at: i64,
    /// When silence confirms the claim, epoch ms. None if the claim waits for the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// The claim of the operator that this one proposes to supersede.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<ClaimId>,
}

impl Reader {
    /// The open questions to an agent or to all agents, oldest first. A claim of the asked agent that names the claim
    /// answers it, unless silence would confirm the claim, and so do the others or a run that confirm a claim that
    /// takes the place of none of the asked agent's. The owner of an ended claim is not asked about a successor. A
    /// claim that silence confirms asks its agents by name.
    pub fn questions(&self, agent: Option<&str>, limit: usize) -> Result<Vec<Question>, StoreError> {
        let of_agent = if agent.is_some() { "q.agent = ?1" } else { "?1 IS NULL" };
        let by_silence = agreed_by_silence!("c");
        let sql = format!(
            "SELECT q.claim_id, q.agent, q.instead_of, q.asked_at, c.objection_until, o.id AS would_replace, \
             EXISTS (SELECT 1 FROM consensus WHERE claim_id = q.claim_id AND agent = q.agent \
             AND position = 'challenge') AS is_challenged, \
             EXISTS (SELECT 1 FROM merges WHERE left_claim = min(q.claim_id, q.instead_of) \
             AND right_claim = max(q.claim_id, q.instead_of) AND status = 'accepted') AS is_merged FROM questions q \
             JOIN claims c ON c.id = q.claim_id \
             LEFT JOIN claims o ON o.id = c.proposes_to_supersede AND o.owner = q.agent AND o.status <> 'deprecated' \
             WHERE {of_agent} AND NOT (q.instead_of IS NULL AND c.objection_until IS NULL AND EXISTS \
             (SELECT 1 FROM claims ended WHERE ended.id = c.proposes_to_supersede AND ended.owner = q.agent \
             AND ended.status = 'deprecated')) \
             AND NOT (c.status = 'confirmed' AND q.instead_of IS NULL AND o.id IS NULL AND NOT {by_silence}) \
             ORDER BY q.seq, q.agent LIMIT ?2"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let asked = self.kept_of(statement.query(params![agent, bound(limit)])?, asked)?;
        let mut questions = Vec::new();
        for asked in asked {
            let Asked { claim, agent, instead_of, is_challenged, is_merged, .. } = asked;
            let Asked { would_replace, asked_at, until, .. } = asked;
            // The claim may have expired.
            let summary = self.claim_summary(claim)?.filter(|claim| claim.status != Status::Deprecated);
            let waits_for = self.waits_for_operator(claim)?;
            let until = until.filter(|_| waits_for.is_none());
            let of_position =
                until.is_some() || instead_of.is_some() || would_replace.is_some() || is_challenged;
            let open = summary.as_ref().filter(|_| until.is_none());
            let answer =
                open.map(|claim| self.answered_by(claim, of_position, &agent)).transpose()?.flatten();
            if answer.is_some() {
                continue;
            }
            let Some(claim) = summary else { continue };
            let held = instead_of.map(|old| self.held_before(old, &agent)).transpose()?.flatten();
            let (instead_of, ended_challenge) =
                held.map_or((instead_of, false), |(old, is_challenge)| (Some(old), is_challenge));
            let supported =
                instead_of.filter(|_| !ended_challenge && claim.claim_type == ClaimType::Decision);
            let supported = match supported {
                // A decision that supersedes several amends none of them.
                Some(_) if self.predecessors(claim.id)?.len() > 1 => None,
                supported => supported,
            };
            let supported = supported.map(|old| self.supported_before(old, &agent)).transpose()?.flatten();
            let amended = supported
                .as_ref()
                .and_then(|(_, said)| Change::between(said, &claim.statement))
                .map(|change| change.to_string());
            let instead_of = supported.filter(|_| amended.is_some()).map(|(old, _)| old).or(instead_of);
            questions.push(Question {
                claim,
                agent,
                instead_of,
                amended,
                ended_challenge,
                is_merged,
                is_challenged,
                would_replace,
                asked_at,
                until,
                waits_for,
            });
        }
        Ok(questions)
    }

    /// The last claim on which an agent has a position, of this one and those whose place it took, and whether that is a
    /// challenge.
    fn held_before(&self, id: ClaimId, agent: &str) -> Result<Option<(ClaimId, bool)>, StoreError> {
        let sql = "SELECT position = 'challenge' FROM consensus WHERE claim_id = ?1 AND agent = ?2";
        let mut held = self.db.prepare_cached(sql)?;
        let mut at = VecDeque::from([id]);
        for _ in 0..MOST_REPLACED {
            let Some(id) = at.pop_front() else { break };
            if let Some(is_challenge) = held.query_row(params![id, agent], only).optional()? {
                return Ok(Some((id, is_challenge)));
            }
            at.extend(self.predecessors(id)?);
        }
        Ok(None)
    }

    /// The last claim that an agent supported, of this one and those that it replaced one after the other, with its
    /// statement.
    fn supported_before(&self, id: ClaimId, agent: &str) -> Result<Option<(ClaimId, String)>, StoreError> {
        let mut supported = self.db.prepare_cached(
            "SELECT statement FROM claims WHERE id = ?1 AND EXISTS (SELECT 1 FROM consensus \
             WHERE claim_id = ?1 AND agent = ?2 AND position = 'support')",
        )?;
        let mut at = id;
        for _ in 0..MOST_REPLACED {
            if let Some(statement) = supported.query_row(params![at, agent], only).optional()? {
                return Ok(Some((at, statement)));
            }
            match self.replaced_by(&[at])?.remove(&at) {
                Some(before) => at = before.id,
                None => break,
            }
        }
        Ok(None)
    }

    /// The later claim of an asked agent that answers a question: it names the question, or its asker supports it, it is
    /// about one of the same places, and the asker asked the agent nothing else there. Only a position or a name answers a
    /// question `of_position`, and a decision.
    pub(super) fn answered_by(
        &self,
        question: &ClaimSummary,
        of_position: bool,
        agent: &str,
    ) -> Result<Option<ClaimId>, StoreError> {
        let named = self.named_in_answer(question.id, question.created_seq, agent)?;
        if named.is_some() || of_position || question.claim_type != ClaimType::Fact {
            return Ok(named);
        }
        let mut supported = self.db.prepare_cached(SUPPORTED_LATER)?;
        let rows = supported.query(params![
            question.owner,
            question.id,
            agent,
            bound(question.created_seq),
            MOST_SUPPORTED
        ])?;
        let later = self.kept_of(rows, |row| {
            Ok::<_, StoreError>((row.get::<_, ClaimId>("id")?, json::<Vec<String>>(row, "scopes")?))
        })?;
        // The whole tree is no place.
        let is_shared = |scope: &String| scope != "." && question.scopes.contains(scope);
        if later.is_empty() {
            return Ok(None);
        }
        let mut others = self.db.prepare_cached(ASKED_TOO)?;
        let others = self.kept_of(others.query(params![agent, question.owner, question.id])?, |row| {
            json::<Vec<String>>(row, "scopes")
        })?;
        if others.iter().flatten().any(is_shared) {
            return Ok(None);
        }
        let answer = later.into_iter().find(|(_, scopes)| scopes.iter().any(is_shared));
        Ok(answer.map(|(id, _)| id))
    }

    /// The first later claim of an asked agent that names the claim, or else one that proposes to supersede it.
    fn named_in_answer(
        &self,
        claim: ClaimId,
        created_seq: u64,
        agent: &str,
    ) -> Result<Option<ClaimId>, StoreError> {
        for later in self.mentioned_by(claim, created_seq)?.into_iter().rev() {
            if self.claim_summary(later)?.is_some_and(|later| later.owner == agent) {
                return Ok(Some(later));
            }
        }
        let sql = "SELECT id FROM claims WHERE owner = ?1 AND proposes_to_supersede = ?2";
        Ok(self.db.prepare_cached(sql)?.query_row(params![agent, claim], only).optional()?)
    }

    /// The claim of the operator that a claim proposes to supersede. Silence does not confirm such a claim.
    pub(super) fn waits_for_operator(&self, claim: ClaimId) -> Result<Option<ClaimId>, StoreError> {
        let sql = "SELECT old.id FROM claims c JOIN claims old ON old.id = c.proposes_to_supersede WHERE c.id = ?1 \
                   AND old.superseded_by IS NULL AND old.status <> 'deprecated' AND NOT EXISTS (SELECT 1 FROM \
                   consensus WHERE claim_id = ?1 AND agent = 'operator' AND position = 'support')";
        let old: Option<ClaimId> = self.db.prepare_cached(sql)?.query_row([claim], only).optional()?;
        let Some(old) = old else { return Ok(None) };
        Ok(self.is_the_operators(old)?.then_some(old))
    }
}

struct Asked {
    claim: ClaimId,
    agent: String,
    instead_of: Option<ClaimId>,
    would_replace: Option<ClaimId>,
    is_challenged: bool,
    is_merged: bool,
    asked_at: i64,
    until: Option<i64>,
}

fn asked(row: &Row<'_>) -> rusqlite::Result<Asked> {
    Ok(Asked {
        claim: row.get("claim_id")?,
        agent: row.get("agent")?,
        instead_of: row.get("instead_of")?,
        asked_at: row.get("asked_at")?,
        until: row.get("objection_until")?,
        would_replace: row.get("would_replace")?,
        is_challenged: row.get("is_challenged")?,
        is_merged: row.get("is_merged")?,
    })
}

pub(super) fn of_creation(db: &Connection, at: &Recorded, body: &ClaimCreated) -> Result<(), StoreError> {
    ask(db, at, body.claim_id, None, &body.asks)
}

pub(super) fn of_supersession(
    db: &Connection,
    at: &Recorded,
    body: &ClaimSuperseded,
) -> Result<(), StoreError> {
    ask(db, at, body.superseded_by, Some(body.claim_id), &body.asks)
}

/// `still` answers the question to its challenger, and asks the challengers of other content.
pub(super) fn of_still(db: &Connection, at: &Recorded, body: &PositionTaken) -> Result<(), StoreError> {
    if body.position == Position::Challenge {
        answered(db, at, body)?;
    }
    ask(db, at, body.claim_id, None, &body.asks)
}

fn ask(
    db: &Connection,
    at: &Recorded,
    claim: ClaimId,
    instead_of: Option<ClaimId>,
    agents: &[AgentId],
) -> Result<(), StoreError> {
    for agent in agents {
        db.prepare_cached(
            "INSERT INTO questions (claim_id, agent, instead_of, asked_at, seq) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT (claim_id, agent) DO NOTHING",
        )?
        .execute(params![claim, agent, instead_of, at.at, at.seq])?;
    }
    Ok(())
}

/// Every position answers the question.
pub(super) fn answered(db: &Connection, at: &Recorded, body: &PositionTaken) -> Result<(), StoreError> {
    let mut answer = db.prepare_cached("DELETE FROM questions WHERE claim_id = ?1 AND agent = ?2")?;
    // The answer counts for all names of the pane.
    for agent in body.speaks_for(&at.agent) {
        answer.execute(params![body.claim_id, agent])?;
    }
    Ok(())
}

/// The end of a claim ends its questions.
pub(super) fn moved(db: &Connection, body: &StatusChanged) -> Result<(), StoreError> {
    if body.to == Status::Deprecated {
        db.prepare_cached("DELETE FROM questions WHERE claim_id = ?1")?.execute([body.claim_id])?;
    }
    Ok(())
}
