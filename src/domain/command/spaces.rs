//! Commands about spaces: promotions and phases.

use serde::{Deserialize, Serialize};

use crate::domain::memory::{MemoryEvent, MemoryId, Space};
use crate::domain::text::{AnchorKey, Reason, Title, UserName};

/// Copy an item into another space, where it takes the place of the original.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromoteItem {
    /// The item.
    pub item: MemoryId,
    /// The space of the copy.
    pub to: Space,
    /// The key of the copy. An anchor keeps its own without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<AnchorKey>,
    /// What the copy reports. Only the operator says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_type: Option<MemoryEvent>,
    /// The reason.
    pub reason: Reason,
    /// The person who asks; the front knows the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserName>,
}

/// Begin a phase of a space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartPhase {
    /// The space: that of the caller's session, of the caller's user, or of the project.
    pub space: Space,
    /// The label of the phase.
    pub name: Title,
    /// The reason.
    pub reason: Reason,
    /// The person who asks; the front knows the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserName>,
}
