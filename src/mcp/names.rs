//! Resolves tool arguments that name an entity: a short name, a whole id, the end of an id, or a pasted address.

use rmcp::model::{CallToolResponse, ContentBlock, JsonObject};
use serde_json::Value;

use super::server::Server;
use crate::domain::names::{Sort, quoted_ids};
use crate::domain::rejection::Rejection;
use crate::reads::Reads;
use crate::steps;
use crate::views;

/// Fields of answers that hold a sentence for models. Fields with paths and commands keep their ids.
const SENTENCES: [&str; 7] = ["hint", "meaning", "message", "next", "report", "undecided", "why"];

/// The longest receipt that shows its next step with the arguments, in characters.
const RECEIPT_CHARS: usize = 160;

/// The kind of entity that an argument names, by argument name.
enum Names {
    Of(Sort),
    Session,
    Evidence,
}

impl Names {
    fn in_argument(argument: &str) -> Option<Self> {
        match argument {
            "claim_id" | "decision_id" | "supersedes" | "source_claim" => Some(Self::Of(Sort::Claim)),
            "task_id" | "origin_task_id" | "parent_task_id" | "task_ids" | "depends_on" => {
                Some(Self::Of(Sort::Task))
            }
            "plan_id" => Some(Self::Of(Sort::Plan)),
            "phase_id" => Some(Self::Of(Sort::Phase)),
            "run_id" => Some(Self::Of(Sort::Run)),
            "playbook_id" => Some(Self::Of(Sort::Playbook)),
            "parent_session" => Some(Self::Session),
            "evidence_ref" | "evidence_refs" => Some(Self::Evidence),
            _ => None,
        }
    }

    fn id(&self, reads: &mut Reads, argument: &str, text: &str) -> Result<String, Rejection> {
        match self {
            Self::Of(sort) => Ok(views::resolve(reads, *sort, text)?.to_string()),
            Self::Session => Ok(views::session(reads, text)?),
            Self::Evidence => Ok(views::evidence(reads, argument, text)?.to_string()),
        }
    }
}

/// A receipt whose next step is a tool alone where it would be long. A model has the schemas of the tools, and the
/// structured content has the whole step.
fn brief(receipt: &str) -> String {
    match receipt.rfind("; next: ").filter(|_| receipt.chars().count() > RECEIPT_CHARS) {
        Some(at) => receipt[..at].to_owned() + &steps::without_arguments(&receipt[at..]),
        None => receipt.to_owned(),
    }
}

impl Server {
    /// A text for a model, with short names in place of ids.
    pub(super) fn shortened(&self, text: &str) -> String {
        // Most answers quote no id, so the common case opens no handle.
        match quoted_ids(text).next() {
            Some(_) => self.with_reads(|reads| views::shortened(reads, text).into_owned()),
            None => text.to_owned(),
        }
    }

    /// The answer to a tool call: its texts and sentences get short names, its fields keep whole ids. A hint that
    /// names a tool which the client does not have shows the shell command instead.
    pub(super) fn named_answer(
        &self,
        mut answer: CallToolResponse,
        is_offered: &dyn Fn(&str) -> bool,
    ) -> CallToolResponse {
        if let CallToolResponse::Complete(result) = &mut answer {
            let body = result.structured_content.as_ref().filter(|_| result.is_error != Some(true));
            let is_receipt = body.is_some_and(|body| body.get("state").is_some());
            if let Some(body) = &mut result.structured_content {
                *body = steps::where_not_offered_json(body, is_offered);
                self.name_sentences(body);
            }
            for block in &mut result.content {
                if let ContentBlock::Text(said) = block {
                    said.text = self.shortened(&steps::where_not_offered(&said.text, is_offered));
                    if is_receipt {
                        said.text = brief(&said.text);
                    }
                }
            }
        }
        answer
    }

    fn name_sentences(&self, value: &mut Value) {
        match value {
            Value::Array(values) => values.iter_mut().for_each(|value| self.name_sentences(value)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    if let Value::String(text) = value
                        && SENTENCES.contains(&name.as_str())
                    {
                        *text = self.shortened(text);
                    } else {
                        self.name_sentences(value);
                    }
                }
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The arguments of a call, with names replaced by ids. Values that are no text are left to the parser.
    pub(super) fn identified(&self, arguments: &JsonObject) -> Result<JsonObject, Rejection> {
        let mut arguments = arguments.clone();
        let mut identify = |argument: &str, value: &mut Value| match (Names::in_argument(argument), &*value) {
            (Some(names), Value::String(text)) => {
                *value = self.with_reads(|reads| names.id(reads, argument, text))?.into();
                Ok(())
            }
            _ => Ok(()),
        };
        for (argument, value) in &mut arguments {
            each_text(argument, value, &mut identify)?;
        }
        Ok(arguments)
    }
}

/// Calls back for each scalar value below an argument, with the field name above it.
fn each_text(
    argument: &str,
    value: &mut Value,
    visit: &mut impl FnMut(&str, &mut Value) -> Result<(), Rejection>,
) -> Result<(), Rejection> {
    match value {
        Value::Array(values) => values.iter_mut().try_for_each(|value| each_text(argument, value, visit)),
        Value::Object(fields) => {
            fields.iter_mut().try_for_each(|(argument, value)| each_text(argument, value, visit))
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => visit(argument, value),
    }
}
