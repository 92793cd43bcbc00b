//! The item of the memory contract, with every field in the order of the contract.

use serde::{Deserialize, Serialize};

use super::{Authority, DedupKey, MemoryEvent, MemoryId, MemoryKind, Owner, Source, Space};

/// The `scope` of every item. The contract keeps the word for its older readers; `meta.space` says more.
const SCOPE: &str = "session";

/// An item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryItem {
    /// The id.
    pub id: MemoryId,
    /// The kind.
    pub kind: MemoryKind,
    /// The text.
    pub text: String,
    /// The author.
    pub source: Source,
    /// Ledger position of its creation: a clock that never stands still nor goes back.
    pub created_at: u64,
    /// The importance, 1 to 6.
    pub importance: u8,
    /// Always `session`.
    pub scope: String,
    /// All else.
    #[serde(default)]
    pub meta: Meta,
}

/// The optional fields of an item.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// The event type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_type: Option<MemoryEvent>,
    /// The rules that made the importance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub importance_reason: Vec<String>,
    /// The reasons of a recall: `matches_query`, `recency`, `importance` or `active_rule`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recall_reason: Vec<String>,
    /// The space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<Space>,
    /// The owner of the space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The items that a summary sums up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub summary_of: Vec<MemoryId>,
    /// The key of duplicates and conflicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dedup_key: Option<DedupKey>,
    /// The score of a recall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The key of a fact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The messages that made a fact.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source_turn_ids: Vec<MemoryId>,
    /// The authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<Authority>,
    /// The reason for the authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority_reason: Option<String>,
    /// The item of another space from which this one was promoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promoted_from: Option<MemoryId>,
    /// The code of the reason for the promotion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promotion_reason: Option<String>,
    /// The rules of the policy that let the item in and keep it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policy_tags: Vec<String>,
    /// When it expires, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// The phase: `phase-1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_id: Option<String>,
    /// The label of the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_name: Option<String>,
    /// Ledger position of the start of the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_started_at: Option<u64>,
    /// The code of the reason for the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_reason: Option<String>,
}

impl MemoryItem {
    /// An item with the importance of its event type and source. Its space and owner are those of its id.
    pub fn new(id: MemoryId, text: String, source: Source, created_at: u64, event: MemoryEvent) -> Self {
        let importance = super::importance(event, source);
        let meta = Meta {
            event_type: Some(event),
            importance_reason: importance.reasons,
            space: Some(id.space),
            owner: Some(id.owner.clone()),
            ..Meta::default()
        };
        let (kind, importance) = (id.kind, importance.points);
        Self { id, kind, text, source, created_at, importance, scope: SCOPE.to_owned(), meta }
    }
}
