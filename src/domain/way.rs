//! The next step that a hint names, in words that are the same for every client: the call of a tool or an address,
//! between back-quotes. An MCP client takes them as they are. The command line puts its own verbs in their place.

use serde_json::Value;

/// Stands for a reason that the caller has to give. As typed it says that none was given.
pub const REASON: &str = "WHY, IN A SENTENCE";

/// A step that may be taken as it is printed: a tool with its arguments.
pub fn call(tool: &str, arguments: &Value) -> String {
    format!("`{}`", bare(tool, arguments))
}

/// [`call`] without its back-quotes, for lists that hold nothing but steps.
pub fn bare(tool: &str, arguments: &Value) -> String {
    format!("{tool} {arguments}")
}
