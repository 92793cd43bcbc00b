//! Recalls: the items that a context brought to a session.

use serde::{Deserialize, Serialize};

use crate::domain::claim::word;
use crate::domain::relevance::Parts;

/// The most items of one recall. A context of the usual length shows fewer.
pub const MAX_RECALLED: usize = 100;

word!(
    /// Why a context shows an item.
    RecallReason("recall reason") {
        /// It answers what the session is about, or lies where the session works.
        MatchesQuery = "matches_query",
        /// It was touched within the last day.
        Recency = "recency",
        /// It stands by itself: it is kept under a key, or nothing else speaks for it.
        Importance = "importance",
        /// It is a decision in force where the session works.
        ActiveRule = "active_rule",
    }
);

/// An item of a recall, without its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recalled {
    /// Ledger position of its creation.
    pub seq: u64,
    /// Its relevance for the session. None for items that are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Why the context shows it.
    pub because: Vec<RecallReason>,
}

impl Recalled {
    /// A claim with the parts of its relevance.
    pub fn claim(seq: u64, parts: Parts) -> Self {
        let is_asked = parts.search > 0.0 || parts.task > 0.0 || parts.files > 0.0;
        let reasons = [
            (RecallReason::MatchesQuery, is_asked),
            (RecallReason::Recency, parts.recent > 0.0),
            (RecallReason::ActiveRule, parts.decides > 0.0),
        ];
        let mut because: Vec<RecallReason> =
            reasons.into_iter().filter(|(_, holds)| *holds).map(|(reason, _)| reason).collect();
        if because.is_empty() {
            because.push(RecallReason::Importance);
        }
        Self { seq, score: Some(parts.total()), because }
    }

    /// An anchor.
    pub fn anchor(seq: u64) -> Self {
        Self { seq, score: None, because: vec![RecallReason::Importance] }
    }
}
