//! Commands about mined playbooks.

use serde::{Deserialize, Serialize};

use crate::domain::ids::PlaybookId;
use crate::domain::text::Reason;

/// Accept a proposed playbook: contexts and skills show it from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptPlaybook {
    /// The playbook.
    pub playbook_id: PlaybookId,
}

/// Dismiss a playbook, proposed or accepted. It is not proposed again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DismissPlaybook {
    /// The playbook.
    pub playbook_id: PlaybookId,
    /// The reason.
    pub reason: Reason,
}
