//! The next step that a hint names, in words that are the same for every client: the call of a tool or an address,
//! between back-quotes. An MCP client takes them as they are. The command line puts its own verbs in their place.

use serde_json::Value;

/// Stands for a reason that the caller has to give. As typed it says that none was given.
pub const REASON: &str = "WHY, IN A SENTENCE";

/// Stands for the text of a claim that the caller has to say.
pub const STATEMENT: &str = "STATEMENT";
/// What stands for a text in our hints and, in capitals after an option, in the help of our verbs.
const PLACEHOLDERS: [&str; 5] = [REASON, STATEMENT, "REASON", "RATIONALE", "TEXT"];
/// The arguments whose hints hold one.
const SAID: [&str; 5] = ["alternatives", "note", "rationale", "reason", "statement"];

/// Whether an argument holds what stands in a hint for a sentence of the caller.
pub fn is_placeholder(argument: &str, text: &str) -> bool {
    SAID.contains(&argument) && PLACEHOLDERS.contains(&text.trim())
}

/// A step that may be taken as it is printed: a tool with its arguments.
pub fn call(tool: &str, arguments: &Value) -> String {
    format!("`{}`", bare(tool, arguments))
}

/// [`call`] without its back-quotes, for lists that hold nothing but steps.
pub fn bare(tool: &str, arguments: &Value) -> String {
    format!("{tool} {arguments}")
}
