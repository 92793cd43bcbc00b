//! Commands about patterns.

use serde::{Deserialize, Serialize};

use crate::domain::ids::PatternId;
use crate::domain::text::Reason;

/// Say that a pattern is none, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DismissPattern {
    /// The pattern.
    pub pattern_id: PatternId,
    /// The reason.
    pub reason: Reason,
}
