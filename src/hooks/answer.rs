//! Turns an [`Answer`] into the JSON that the client understands for the event.

use serde_json::{Value, json};

use super::{Call, Client, Moment};
use crate::domain::clean;

/// The message that a hook gives to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// No message: the client continues as if there were no hook.
    Silence,
    /// A text for the agent.
    Context(String),
    /// A text for the agent, which the client also shows to the human if it can. The human sees it at the latest
    /// with the question whether a tool may run.
    Warning(String),
    /// The tool must not run, for this reason. Only a guard that blocks says so, where the configuration allows it.
    Deny(String),
}

impl Call {
    /// Whether the client passes on a message that a hook gives before a tool runs.
    pub const fn hears_before_tools(&self) -> bool {
        !matches!(self.client, Client::Gemini | Client::Cursor | Client::Qwen)
    }

    /// Whether a message given now reaches the agent. Gemini, Cursor and Qwen ignore messages before a tool; for
    /// them the hook gives the message after the tool.
    pub fn is_heard(&self) -> bool {
        match (&self.moment, self.client) {
            // A turn that continues because of a reminder gets no second reminder.
            (Moment::SessionEnd { .. } | Moment::Other | Moment::Stop { already_reminded: true, .. }, _)
            | (Moment::BeforeTool(_), Client::Gemini | Client::Cursor | Client::Qwen)
            | (Moment::Prompt { .. }, Client::Cursor | Client::VsCode)
            | (Moment::Stop { .. }, Client::Opencode) => false,
            // Cursor ignores answers to its events for a single kind of tool.
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

    /// The line to print; `None` prints nothing. Except for [`Answer::Deny`], an answer never decides for the user: it
    /// neither denies a tool nor approves one that the client would ask about.
    pub fn answer(&self, answer: &Answer) -> Option<String> {
        if let (Answer::Deny(why), Moment::BeforeTool(_)) = (answer, &self.moment) {
            return Some(self.denying(&clean::cleaned(why)).to_string());
        }
        let heard = match answer {
            Answer::Context(text) | Answer::Warning(text) if self.is_heard() && !text.is_empty() => {
                Some(text)
            }
            Answer::Context(_) | Answer::Warning(_) | Answer::Deny(_) | Answer::Silence => None,
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

    /// Whether the client shows `systemMessage` to the human.
    const fn is_shown(&self) -> bool {
        match self.client {
            Client::Claude | Client::Codex | Client::Gemini | Client::VsCode | Client::Qwen => true,
            Client::Cursor | Client::Copilot | Client::Opencode => false,
        }
    }

    fn denying(&self, why: &str) -> Value {
        match self.client {
            Client::Gemini => json!({ "decision": "deny", "reason": why }),
            Client::Cursor => json!({ "permission": "deny", "user_message": why, "agent_message": why }),
            Client::Copilot => json!({ "permissionDecision": "deny", "permissionDecisionReason": why }),
            Client::Opencode => json!({ "deny": why }),
            Client::Claude | Client::Codex | Client::VsCode | Client::Qwen => json!({
                "hookSpecificOutput": {
                    "hookEventName": self.event,
                    "permissionDecision": "deny",
                    "permissionDecisionReason": why,
                }
            }),
        }
    }

    fn saying(&self, text: &str) -> Value {
        let at_end = matches!(self.moment, Moment::Stop { .. });
        match self.client {
            Client::Cursor if at_end => json!({ "followup_message": text }),
            Client::Cursor => json!({ "additional_context": text }),
            // At the end of a turn these clients offer no other way to reach the agent: the turn continues with
            // this text, once.
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

    /// The answer that lets the client continue. Cursor treats a missing answer before a tool as a refusal.
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
