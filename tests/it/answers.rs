//! Answers of the read side for tests: text and JSON of one question at once.

use hivemind::config::Config;
use hivemind::domain::time::{Moment, Timestamp};
use hivemind::reads::Reads;
use hivemind::views::{self, Body, Format, View, ViewError};
use serde_json::Value;

/// One question in both formats.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) seq: u64,
    pub(crate) json: Value,
    pub(crate) text: String,
    pub(crate) left_out: u64,
}

/// What the view answers now.
pub(crate) fn answer(
    reads: &mut Reads,
    config: &Config,
    view: &View,
    now: Timestamp,
) -> Result<Answer, ViewError> {
    answer_at(reads, config, view, now, None)
}

/// What the view answered then.
pub(crate) fn answer_at(
    reads: &mut Reads,
    config: &Config,
    view: &View,
    now: Timestamp,
    moment: Option<Moment>,
) -> Result<Answer, ViewError> {
    let text = views::answer_at(reads, config, view, (now, moment), Format::Text)?;
    let json = views::answer_at(reads, config, view, (now, moment), Format::Json)?;
    let seq = text.seq;
    assert_eq!((seq, text.left_out, &text.opened), (json.seq, json.left_out, &json.opened), "{view:?}");
    let left_out = text.left_out;
    let Body::Json(json) = json.body else { panic!("no JSON: {json:?}") };
    Ok(Answer { seq, json, text: text.into_text(), left_out })
}
