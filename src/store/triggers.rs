//! The dead ends that an action meets. Their triggers are found by key, so few are compared.

use rusqlite::{Connection, params};

use super::claims::is_mended;
use super::rows::{Json, json};
use super::{Reader, StoreError, guards};
use crate::domain::action::{self, Action, DeadEnd, Kind};
use crate::domain::claim::{Status, Trigger};
use crate::domain::event::{ClaimCreated, Recorded};
use crate::domain::ids::ClaimId;
use crate::domain::time::Timestamp;

/// Maximum number of dead ends to compare for one action, newest first. So a check takes milliseconds, even if many
/// triggers begin with `git commit`.
const MAX_CANDIDATES: usize = 256;

/// The keys of a new claim's trigger.
pub(super) fn add(db: &Connection, at: &Recorded, body: &ClaimCreated) -> Result<(), StoreError> {
    let Some(trigger) = &body.trigger else { return Ok(()) };
    let mut statement =
        db.prepare_cached("INSERT INTO triggers (kind, key, claim_id, seq) VALUES (?1, ?2, ?3, ?4)")?;
    for (kind, key) in action::keys(trigger) {
        statement.execute(params![kind, key, body.claim_id, at.seq])?;
    }
    Ok(())
}

/// Removes the keys of a deprecated claim, so that it causes no warning.
pub(super) fn moved(db: &Connection, claim: ClaimId, to: Status) -> Result<(), StoreError> {
    if to == Status::Deprecated {
        db.prepare_cached(
            "INSERT OR IGNORE INTO former_triggers (kind, key, claim_id, seq) \
             SELECT kind, key, claim_id, seq FROM triggers WHERE claim_id = ?1",
        )?
        .execute([claim])?;
        db.prepare_cached("DELETE FROM triggers WHERE claim_id = ?1")?.execute([claim])?;
        guards::over(db, claim)?;
    }
    Ok(())
}

/// A dead end whose trigger is near an action, in force or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearDeadEnd {
    /// The claim that reports it.
    pub claim_id: ClaimId,
    /// Its statement.
    pub statement: String,
    /// The agent that reported it.
    pub owner: String,
    /// The session in which it was reported.
    pub session: Option<String>,
    /// The part of its trigger that the action meets.
    pub met_by: Option<Kind>,
    /// Why it warns no more.
    pub over: Option<String>,
}

impl Reader {
    /// The dead ends with a trigger under a key of the action, also those that the action does not meet and those that
    /// are over.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn dead_ends_near(&self, action: &Action) -> Result<Vec<NearDeadEnd>, StoreError> {
        let keys = Json(action.keys());
        let of = |table: &str| {
            format!(
                "SELECT t.claim_id AS id FROM json_each(?1) CROSS JOIN {table} t \
                 ON t.kind = json_each.value ->> 0 AND t.key = json_each.value ->> 1"
            )
        };
        let sql = format!(
            "SELECT c.id, c.statement, c.owner, c.session, c.status, c.superseded_by, {} AS mended, c.trigger_when \
             FROM ({} UNION {} LIMIT ?2) near CROSS JOIN claims c ON c.id = near.id",
            is_mended!(),
            of("triggers"),
            of("former_triggers")
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        self.kept_of(statement.query(params![keys, MAX_CANDIDATES])?, |row| {
            let (claim_id, status): (ClaimId, Status) = (row.get("id")?, row.get("status")?);
            let trigger: Trigger = json(row, "trigger_when")?;
            let (successor, is_mended): (Option<ClaimId>, Option<bool>) =
                (row.get("superseded_by")?, row.get("mended")?);
            let over = match (status, successor) {
                _ if self.is_expired(claim_id) => Some("its time is over".to_owned()),
                (Status::Deprecated, Some(by)) if is_mended == Some(true) => {
                    Some(format!("it is mended: {by}"))
                }
                (Status::Deprecated, Some(by)) => Some(format!("it is superseded by {by}")),
                (Status::Deprecated, None) => Some("it is deprecated".to_owned()),
                _ => None,
            };
            Ok::<_, StoreError>(NearDeadEnd {
                claim_id,
                statement: row.get("statement")?,
                owner: row.get("owner")?,
                session: row.get("session")?,
                met_by: action::met(&trigger, action).map(|(kind, _)| kind),
                over,
            })
        })
    }

    /// The dead ends in force whose trigger an action meets, the most exact trigger first, then the newest.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn dead_ends_for(&self, action: &Action) -> Result<Vec<DeadEnd>, StoreError> {
        let keys = action.keys();
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let keys = Json(keys);
        let sql = "SELECT DISTINCT c.id, c.statement, c.owner, c.status, c.created_at, c.trigger_when, c.session \
                   FROM json_each(?1) CROSS JOIN triggers t \
                   ON t.kind = json_each.value ->> 0 AND t.key = json_each.value ->> 1 \
                   CROSS JOIN claims c ON c.id = t.claim_id ORDER BY c.created_seq DESC LIMIT ?2";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query(params![keys, MAX_CANDIDATES])?;
        let candidates = self.kept_of(rows, |row| {
            let _word = |column: usize| row.get::<_, String>(column);
            let trigger: Trigger = json(row, "trigger_when")?;
            let Some((kind, met)) = action::met(&trigger, action) else { return Ok(None) };
            Ok::<_, StoreError>(Some(DeadEnd {
                claim_id: row.get("id")?,
                statement: row.get("statement")?,
                owner: row.get("owner")?,
                status: row.get("status")?,
                doubt: None,
                created_at: Timestamp::from_ms(row.get("created_at")?),
                session: row.get("session")?,
                kind,
                met,
            }))
        })?;
        let mut dead_ends: Vec<DeadEnd> = candidates.into_iter().flatten().collect();
        // An expired claim causes no warning.
        dead_ends.retain(|dead_end| !self.is_expired(dead_end.claim_id));
        dead_ends.sort_by_key(|dead_end| dead_end.kind);
        Ok(dead_ends)
    }
}
