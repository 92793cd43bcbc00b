//! What the read models know of memory items besides their texts: who stands by them, and until when they are shown.

use rusqlite::{OptionalExtension, params};

use super::rows::{bound, only};
use super::sessions::{SESSION, SessionView, session};
use super::{Reader, StoreError};
use crate::domain::ids::ClaimId;
use crate::domain::text::AnchorKey;

/// The facts about a claim that only a list of the whole memory shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptClaim {
    /// The session of its creation.
    pub session: Option<String>,
    /// When it expires, epoch ms. None: it lives until it is deprecated.
    pub expires_at: Option<i64>,
    /// Ledger position at which it went out of force.
    pub over_since: Option<u64>,
    /// Whether the operator owns or supports it.
    pub has_operators_word: bool,
}

impl Reader {
    /// The facts about a claim for a list of the whole memory.
    pub fn kept_claim(&self, id: ClaimId) -> Result<KeptClaim, StoreError> {
        let sql = "SELECT session, created_at + ttl_hours * 3600000 AS expires_at, \
                   (SELECT max(m.seq) FROM claim_moves m WHERE m.claim_id = c.id AND m.new_status = 'deprecated') \
                   AS over_since FROM claims c WHERE c.id = ?1";
        let mut one = self.db.prepare_cached(sql)?;
        let found = one.query_row([id], |row| {
            Ok(KeptClaim {
                session: row.get("session")?,
                expires_at: row.get("expires_at")?,
                over_since: row.get("over_since")?,
                has_operators_word: false,
            })
        });
        let has_operators_word = self.has_operators_word(id)?;
        Ok(KeptClaim { has_operators_word, ..found.optional()?.unwrap_or_default() })
    }

    /// Ledger position at which the value of an anchor ended, and whether another value took its place. None: it holds.
    pub fn anchor_over_since(&self, key: &AnchorKey, seq: u64) -> Result<Option<(u64, bool)>, StoreError> {
        let sql = "SELECT a.superseded_by, EXISTS (SELECT 1 FROM anchors n WHERE n.key = a.key AND \
                   n.seq = a.superseded_by) FROM anchors a WHERE a.key = ?1 AND a.seq = ?2 AND \
                   a.superseded_by IS NOT NULL";
        let mut one = self.db.prepare_cached(sql)?;
        Ok(one.query_row(params![key, bound(seq)], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    /// Ledger position of the anchor whose value an event at `seq` ended, by a newer value or by its end.
    pub fn anchor_ended_by(&self, key: &AnchorKey, seq: u64) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT seq FROM anchors WHERE key = ?1 AND superseded_by = ?2";
        Ok(self.db.prepare_cached(sql)?.query_row(params![key, bound(seq)], only).optional()?)
    }

    /// Whether another claim took the place of a claim.
    pub fn is_superseded(&self, id: ClaimId) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM claims WHERE id = ?1 AND superseded_by IS NOT NULL)";
        Ok(self.db.prepare_cached(sql)?.query_row([id], only)?)
    }

    /// A page of sessions whose dialogue has a summary, newest first, and the cursor of the next page.
    pub fn summarised(
        &self,
        (id, agent): (Option<&str>, Option<&str>),
        before: u64,
        limit: usize,
    ) -> Result<(Vec<SessionView>, Option<u64>), StoreError> {
        let mut found = self.db.prepare_cached(&format!(
            "{SESSION} WHERE started_seq < ?1 AND summary <> '[]' AND (?2 IS NULL OR session = ?2) \
             AND (?3 IS NULL OR agent = ?3) ORDER BY started_seq DESC LIMIT ?4"
        ))?;
        let rows = found.query(params![bound(before), id, agent, bound(limit.saturating_add(1))])?;
        self.page_of(rows, limit, "started_seq", session)
    }

    /// Whether any event of a session with this id is known.
    pub fn has_session(&self, id: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM names WHERE id = ?1 AND letter = 'S')";
        Ok(self.db.prepare_cached(sql)?.query_row([id], only)?)
    }
}
