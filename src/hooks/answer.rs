//! From what there is to say to the JSON that a client understands at that event.

use serde_json::{Value, json};

use super::{Call, Client, Moment};
use crate::domain::clean;

/// What a hook has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Nothing: the client goes on as if there were no hook.
    Silence,
    /// Something for the agent to read.
    Context(String),
    /// Something for the agent to read, and for the human where the client shows it: at the latest the human sees it
    /// together with the question whether a tool may run.
    Warning(String),
}

impl Call {
    /// Whether the client hears what is said before a tool.
    pub const fn hears_before_tools(&self) -> bool {
        !matches!(self.client, Client::Gemini | Client::Cursor | Client::Qwen)
    }

    /// Whether what is said now reaches the agent. What is to be said before a tool is said after it where a client
    /// hears nothing before (Gemini, Cursor, Qwen).
    pub fn is_heard(&self) -> bool {
        match (&self.moment, self.client) {
            // A turn that goes on because of a reminder is not reminded again.
            (Moment::SessionEnd { .. } | Moment::Other | Moment::Stop { already_reminded: true, .. }, _)
            | (Moment::BeforeTool(_), Client::Gemini | Client::Cursor | Client::Qwen)
            | (Moment::Prompt { .. }, Client::Cursor | Client::VsCode)
            | (Moment::Stop { .. }, Client::Opencode) => false,
            // Cursor reads no answer to its events for one kind of tool.
            (Moment::AfterTool(..), Client::Cursor) => self.event.starts_with("postToolUse"),
            (
                Moment::SessionStart { .. }
                | Moment::Prompt { .. }
                | Moment::BeforeTool(_)
                | Moment::AfterTool(..)
                | Moment::Stop { already_reminded: false, .. },
                _,
            ) => true,
        }
    }

    /// The line to print; none for no output at all. No answer ever decides for the user: it neither denies a tool
    /// nor approves one that the client would have asked about.
    pub fn answer(&self, answer: &Answer) -> Option<String> {
        let heard = match answer {
            Answer::Context(text) | Answer::Warning(text) if self.is_heard() && !text.is_empty() => {
                Some(text)
            }
            Answer::Context(_) | Answer::Warning(_) | Answer::Silence => None,
        };
        let line = match heard {
            Some(text) => {
                let text = clean::cleaned(text);
                let mut line = self.saying(&text);
                if matches!(answer, Answer::Warning(_)) && self.is_shown() {
                    line["systemMessage"] = text.as_ref().into();
                }
                line
            }
            None => self.nothing()?,
        };
        Some(line.to_string())
    }

    /// Whether the client shows its human what stands in `systemMessage`.
    const fn is_shown(&self) -> bool {
        match self.client {
            Client::Claude | Client::Codex | Client::Gemini | Client::VsCode | Client::Qwen => true,
            Client::Cursor | Client::Copilot | Client::Opencode => false,
        }
    }

    fn saying(&self, text: &str) -> Value {
        let at_end = matches!(self.moment, Moment::Stop { .. });
        match self.client {
            Client::Cursor if at_end => json!({ "followup_message": text }),
            Client::Cursor => json!({ "additional_context": text }),
            // They know no other way to reach the agent at the end of a turn: it goes on with this, once.
            Client::Codex | Client::Copilot | Client::Qwen if at_end => {
                json!({ "decision": "block", "reason": text })
            }
            Client::VsCode if at_end => json!({
                "hookSpecificOutput": { "hookEventName": self.event, "decision": "block", "reason": text }
            }),
            Client::Gemini if at_end => json!({ "decision": "deny", "reason": text }),
            Client::Copilot | Client::Opencode => json!({ "additionalContext": text }),
            Client::Claude | Client::Codex | Client::Gemini | Client::VsCode | Client::Qwen => json!({
                "hookSpecificOutput": { "hookEventName": self.event, "additionalContext": text }
            }),
        }
    }

    /// What a client needs to go on: Cursor takes no answer before a tool for a refusal.
    fn nothing(&self) -> Option<Value> {
        match (&self.moment, self.client) {
            (Moment::BeforeTool(_), Client::Cursor) => Some(json!({})),
            (Moment::Prompt { .. }, Client::Cursor) => Some(json!({ "continue": true })),
            (
                Moment::SessionStart { .. }
                | Moment::Prompt { .. }
                | Moment::BeforeTool(_)
                | Moment::AfterTool(..)
                | Moment::Stop { .. }
                | Moment::SessionEnd { .. }
                | Moment::Other,
                _,
            ) => None,
        }
    }
}
