//! The next step in a hint, in a form that is the same for every client: a tool call or an address, in back-quotes.
//! MCP clients use it directly. The command line replaces it with its own verbs.

use serde_json::Value;

/// Placeholder for a reason that the caller must give. A command with the unchanged placeholder is refused.
pub const REASON: &str = "WHY, IN A SENTENCE";

/// Placeholder for the text of a claim that the caller must write.
pub const STATEMENT: &str = "STATEMENT";
/// The placeholders in our hints and, in capitals after an option, in the help of our verbs.
const PLACEHOLDERS: [&str; 5] = [REASON, STATEMENT, "REASON", "RATIONALE", "TEXT"];
/// The arguments whose hints contain a placeholder.
const SAID: [&str; 5] = ["alternatives", "note", "rationale", "reason", "statement"];

/// Whether an argument still contains the placeholder of a hint.
pub fn is_placeholder(argument: &str, text: &str) -> bool {
    SAID.contains(&argument) && PLACEHOLDERS.contains(&text.trim())
}

/// A step that can be used as printed: a tool with its arguments.
pub fn call(tool: &str, arguments: &Value) -> String {
    format!("`{}`", bare(tool, arguments))
}

/// [`call`] without back-quotes, for lists of steps.
pub fn bare(tool: &str, arguments: &Value) -> String {
    format!("{tool} {arguments}")
}
