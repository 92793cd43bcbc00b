//! Questions about the team as a whole: counts, who was seen, what was refused.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row};
use serde::Serialize;

use super::rows::only;
use super::{Expired, Reader, StoreError};
use crate::domain::claim::{BadWord, ClaimType, Status};
use crate::domain::decide::OVERRIDES;
use crate::domain::ids::{CommandId, EventId};

/// How many claims there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Claims in each status; every status is listed.
    pub by_status: BTreeMap<Status, u64>,
    /// Dead ends in force.
    pub negative: u64,
    /// Claims in force that nobody is asked to settle, dead ends aside: what a context may show.
    #[serde(skip)]
    pub settled: u64,
}

/// What an agent has done here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentActivity {
    /// The agent.
    pub agent: String,
    /// Its last event, epoch ms.
    pub last_seen_at: i64,
    /// Claims it owns that are not deprecated.
    pub claims: u64,
}

/// A change of the rules after which less confirms a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoosenedPolicy {
    /// The event that recorded it.
    pub event_id: EventId,
    /// The policy since, in the words of `config.toml`.
    pub policy: String,
    /// The policy before.
    pub was: String,
    /// When a writer first went by it, epoch ms.
    pub changed_at: i64,
    /// Place of that event in the ledger.
    pub seq: u64,
}

/// A queued command that did not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RejectedCommand {
    /// The command, as its receipt named it.
    pub command_id: CommandId,
    /// Whose.
    pub agent: String,
    /// What it was.
    pub kind: String,
    /// Why it did not pass.
    pub code: String,
    /// Why, as a sentence.
    pub message: String,
    /// When, epoch ms.
    pub rejected_at: i64,
}

impl Reader {
    /// How many claims there are.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn counts(&self) -> Result<Counts, StoreError> {
        let by_status = Status::ALL.iter().map(|status| (*status, 0)).collect();
        let mut counts = Counts { by_status, ..Counts::default() };
        let sql =
            "SELECT claim_type, status, sum(claims) AS claims FROM claim_counts GROUP BY claim_type, status";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = self.kept_of(statement.query([])?, counted)?;
        for row in &mut rows {
            // Claims whose time is over stand in the row of what they were.
            let over = self.expired_of(|claim| claim.claim_type == row.0 && claim.status == row.1);
            row.2 = row.2.saturating_sub(over);
            *counts.by_status.entry(Status::Deprecated).or_default() += over;
        }
        for (claim_type, status, claims) in rows {
            *counts.by_status.entry(status).or_default() += claims;
            if claim_type == ClaimType::Negative && status != Status::Deprecated {
                counts.negative += claims;
            }
            if claim_type != ClaimType::Negative && matches!(status, Status::Proposed | Status::Confirmed) {
                counts.settled += claims;
            }
        }
        Ok(counts)
    }

    /// Every agent with an event, by name.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn agents(&self) -> Result<Vec<AgentActivity>, StoreError> {
        let sql = "SELECT agent, last_seen_at, \
                   (SELECT coalesce(sum(claims), 0) FROM claim_counts \
                    WHERE owner = agents.agent AND status <> 'deprecated') AS claims \
                   FROM agents ORDER BY agent";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut agents = self.kept_of(statement.query([])?, |row| {
            Ok::<_, rusqlite::Error>(AgentActivity {
                agent: row.get("agent")?,
                last_seen_at: row.get("last_seen_at")?,
                claims: row.get("claims")?,
            })
        })?;
        for activity in &mut agents {
            let over = self.expired_of(|claim| claim.owner == activity.agent);
            activity.claims = activity.claims.saturating_sub(over);
        }
        Ok(agents)
    }

    fn expired_of(&self, wanted: impl Fn(&Expired) -> bool) -> u64 {
        let asked = self.asked.borrow();
        let expired = asked.iter().flat_map(|asked| asked.expired.values());
        expired.filter(|claim| wanted(claim)).count() as u64
    }

    /// Changes that loosened the rules, that none has tightened since and of which no agent took note, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn loosened_policies(&self, limit: usize) -> Result<Vec<LoosenedPolicy>, StoreError> {
        let sql = format!(
            "SELECT event_id, policy, was, changed_at, seq FROM loosened_policies \
             WHERE policy <> was AND NOT EXISTS (SELECT 1 FROM seen_notices WHERE id = event_id) \
             ORDER BY seq DESC LIMIT {limit}"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let read = |row: &Row<'_>| -> rusqlite::Result<LoosenedPolicy> {
            Ok(LoosenedPolicy {
                event_id: row.get("event_id")?,
                policy: row.get("policy")?,
                was: row.get("was")?,
                changed_at: row.get("changed_at")?,
                seq: row.get("seq")?,
            })
        };
        self.kept_of(statement.query([])?, read)
    }

    /// Whether the policy on record lets agents put out of force what the operator stands by.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn agents_may_override_operator(&self) -> Result<bool, StoreError> {
        let sql = "SELECT policy FROM loosened_policies ORDER BY seq DESC LIMIT 1";
        let policy: Option<String> = self.db.prepare_cached(sql)?.query_row([], only).optional()?;
        Ok(policy.is_some_and(|policy| policy.ends_with(OVERRIDES)))
    }

    /// Queued commands that did not pass and of which no agent took note, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn rejected_commands(&self, limit: usize) -> Result<Vec<RejectedCommand>, StoreError> {
        let sql = format!(
            "SELECT command_id, agent, kind, code, message, rejected_at FROM rejected_commands \
             WHERE NOT EXISTS (SELECT 1 FROM seen_notices WHERE id = command_id) ORDER BY seq DESC LIMIT {limit}"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        self.kept_of(statement.query([])?, |row| {
            Ok::<_, rusqlite::Error>(RejectedCommand {
                command_id: row.get("command_id")?,
                agent: row.get("agent")?,
                kind: row.get("kind")?,
                code: row.get("code")?,
                message: row.get("message")?,
                rejected_at: row.get("rejected_at")?,
            })
        })
    }
}

fn counted(row: &Row<'_>) -> Result<(ClaimType, Status, u64), StoreError> {
    let _word = |column: usize| row.get::<_, String>(column);
    let _malformed = |problem: BadWord| StoreError::Malformed(problem.to_string());
    let claims = u64::try_from(row.get::<_, i64>("claims")?)
        .map_err(|negative| StoreError::Malformed(negative.to_string()))?;
    Ok((row.get("claim_type")?, row.get("status")?, claims))
}
