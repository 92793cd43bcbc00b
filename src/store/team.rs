//! Queries about the whole team: counts, agents and refusals.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row};
use serde::Serialize;

use super::rows::only;
use super::{Expired, Reader, StoreError};
use crate::domain::claim::{BadWord, ClaimType, Status};
use crate::domain::decide::Policy;
use crate::domain::ids::{CommandId, EventId};

/// Counts of claims.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Number of claims in each status. Every status is listed.
    pub by_status: BTreeMap<Status, u64>,
    /// Number of dead ends in force.
    pub negative: u64,
    /// Number of other claims in force that no agent must settle. A context may show these.
    #[serde(skip)]
    pub settled: u64,
}

/// The activity of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentActivity {
    /// The agent.
    pub agent: String,
    /// The time of its last event, epoch ms.
    pub last_seen_at: i64,
    /// Number of its claims that are not deprecated.
    pub claims: u64,
}

/// A change of the rules that makes a confirmation easier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoosenedPolicy {
    /// The event that recorded it.
    pub event_id: EventId,
    /// The new policy, in the words of `config.toml`.
    pub policy: String,
    /// The old policy.
    pub was: String,
    /// When a writer first applied it, epoch ms.
    pub changed_at: i64,
    /// Ledger position of the event.
    pub seq: u64,
}

/// A queued command that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RejectedCommand {
    /// The id of the command, as in its receipt.
    pub command_id: CommandId,
    /// The agent.
    pub agent: String,
    /// The kind of the command.
    pub kind: String,
    /// The code of the refusal.
    pub code: String,
    /// The refusal as a sentence.
    pub message: String,
    /// When it was refused, epoch ms.
    pub rejected_at: i64,
}

impl Reader {
    /// Counts the claims.
    pub fn counts(&self) -> Result<Counts, StoreError> {
        let by_status = Status::ALL.iter().map(|status| (*status, 0)).collect();
        let mut counts = Counts { by_status, ..Counts::default() };
        let sql =
            "SELECT claim_type, status, sum(claims) AS claims FROM claim_counts GROUP BY claim_type, status";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = self.kept_of(statement.query([])?, counted)?;
        for row in &mut rows {
            // Expired claims still have their old status in their rows.
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

    /// The number of options that decisions rejected, each of which is a deprecated claim.
    pub fn options_not_chosen(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(DISTINCT alternative_id) FROM decision_alternatives";
        Ok(self.db.prepare_cached(sql)?.query_row([], only)?)
    }

    /// Every agent with an event, by name.
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

    pub(super) fn expired_of(&self, wanted: impl Fn(&Expired) -> bool) -> u64 {
        let asked = self.asked.borrow();
        let expired = asked.iter().flat_map(|asked| asked.expired.values());
        expired.filter(|claim| wanted(claim)).count() as u64
    }

    /// Changes that loosened the rules, newest first. Reverted and acknowledged ones are left out.
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

    /// Rules of the memory's policy that became looser, newest first: one entry for each change of the policy. Tightened
    /// and acknowledged ones are left out.
    pub fn loosened_rules(&self, limit: usize) -> Result<Vec<LoosenedPolicy>, StoreError> {
        let sql = format!(
            "SELECT event_id, rule, now, was, changed_at, seq FROM loosened_rules \
             WHERE NOT EXISTS (SELECT 1 FROM seen_notices WHERE id = event_id) ORDER BY seq DESC, rule LIMIT {limit}"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let read = |row: &Row<'_>| -> rusqlite::Result<LoosenedPolicy> {
            let rule: String = row.get("rule")?;
            let said = |value: String| format!("{rule} = {value}");
            Ok(LoosenedPolicy {
                event_id: row.get("event_id")?,
                policy: said(row.get("now")?),
                was: said(row.get("was")?),
                changed_at: row.get("changed_at")?,
                seq: row.get("seq")?,
            })
        };
        let mut changes: Vec<LoosenedPolicy> = Vec::new();
        for rule in self.kept_of(statement.query([])?, read)? {
            match changes.last_mut().filter(|change| change.seq == rule.seq) {
                Some(change) => {
                    change.policy = format!("{}; {}", change.policy, rule.policy);
                    change.was = format!("{}; {}", change.was, rule.was);
                }
                None => changes.push(rule),
            }
        }
        Ok(changes)
    }

    /// The rules that the writer recorded last. The defaults before the first record.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn recorded_rules(&self) -> Result<Policy, StoreError> {
        let sql = "SELECT policy FROM loosened_policies ORDER BY seq DESC LIMIT 1";
        let policy: Option<String> = self.db.prepare_cached(sql)?.query_row([], only).optional()?;
        Ok(policy.as_deref().map(Policy::recorded).unwrap_or_default())
    }

    /// Whether the recorded policy lets agents deprecate claims of the operator.
    pub fn agents_may_override_operator(&self) -> Result<bool, StoreError> {
        Ok(self.recorded_rules()?.agents_may_override_operator)
    }

    /// Refused queued commands without an acknowledgement, newest first.
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
