//! The event of a place in a file that is cited as evidence.

use serde::{Deserialize, Serialize};

use crate::domain::checkout::Checkout;
use crate::domain::place::Span;

/// An agent cited lines of a file. The event can be evidence of any claim. It keeps the hash of the lines and not the lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceCited {
    /// The lines, and what they held.
    #[serde(flatten)]
    pub span: Span,
    /// The work tree and branch of the file.
    #[serde(flatten)]
    pub checkout: Checkout,
}
