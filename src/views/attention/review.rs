//! What waits for a human's approval: proposals against the operator's decisions, suggested guards, and merges.

use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::moves::proposal;
use super::{Kind, MAX_LIMIT, Need, guards, mined};
use crate::domain::agent::AgentId;
use crate::domain::clean;
use crate::domain::time::Timestamp;
use crate::domain::way;
use crate::steps::in_shell;
use crate::store::{Reader, StoreError};

/// Hex digits of a key.
const KEY_CHARS: usize = 8;

/// Something that a human accepts, declines or leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// Its kind, in words.
    pub kind: &'static str,
    /// The subject: the claim and its successor, or the event behind a suggestion.
    pub ids: Vec<String>,
    /// Since when, epoch ms.
    pub since: i64,
    /// The recorded texts, as they were written.
    pub said: Vec<String>,
    /// The statement of a proposed decision, as it was written. It takes the place of `STATEMENT` in `accept`.
    #[serde(skip)]
    pub statement: Option<String>,
    /// The step that accepts it.
    pub accept: String,
    /// The step that declines it.
    pub decline: String,
    /// A consequence of one of the steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Waiting {
    /// The words of a step as a command of the shell, with the proposed statement in its place.
    pub fn words(&self, step: &str) -> Vec<String> {
        let line = in_shell(&format!("`{step}`")).trim_matches('`').to_owned();
        let words = shell_words::split(&line).unwrap_or_else(|_| vec![line]);
        let stated = |word: String| match &self.statement {
            Some(statement) if word == way::STATEMENT => statement.clone(),
            _ => word,
        };
        words.into_iter().map(stated).collect()
    }

    /// The key of an entry: it changes with every text of the entry, so an answer never meets another proposal.
    pub fn key(&self) -> String {
        let Self { kind, ids, said, statement, accept, decline, .. } = self;
        let all = serde_json::json!([kind, ids, said, statement, accept, decline]).to_string();
        let mut key = hex::encode(Sha256::digest(all));
        key.truncate(KEY_CHARS);
        key
    }
}

/// The entries of attention that wait for approval, each with the statement that is proposed.
pub(super) fn proposed(store: &Reader, now: Timestamp) -> Result<Vec<(Need, Option<String>)>, StoreError> {
    let proposals = store.proposals(MAX_LIMIT)?.into_iter().map(|asked| {
        let own = asked.is_new_decision().then(|| asked.claim.clone());
        let statement = asked.statement.clone().or(own);
        (proposal(asked), statement)
    });
    let lately = now.ms().saturating_sub(guards::SUGGESTED_FOR_MS);
    let suggestions = store.suggestions(lately, now.ms(), MAX_LIMIT)?.into_iter().map(guards::suggestion);
    let merges = mined::merges(store)?.into_iter();
    Ok(proposals.chain(suggestions.chain(merges).map(|need| (need, None))).collect())
}

/// The entry with the proposed statement in its commands, where a command that is printed keeps every character of it.
pub(super) fn with_words((mut need, statement): (Need, Option<String>)) -> Need {
    let is_plain = |text: &String| !text.contains(['`', '\n', '\r', '\t']) && clean::revealed(text) == *text;
    if let Some(statement) = statement.filter(is_plain) {
        let named = |text: &str| format!("\"statement\":{}", json!(text));
        let (placeholder, words) = (named(way::STATEMENT), named(&statement));
        for step in need.moves.values_mut().flatten() {
            *step = step.replace(&placeholder, &words);
        }
    }
    need
}

/// Everything that waits for a human's approval, in the order of attention.
///
/// # Errors
/// [`StoreError`].
pub fn waiting(store: &Reader, now: Timestamp) -> Result<Vec<Waiting>, StoreError> {
    Ok(proposed(store, now)?.into_iter().map(|(need, statement)| of(need, statement)).collect())
}

fn of(need: Need, statement: Option<String>) -> Waiting {
    let Need { kind, ids, since, what, moves, hint, .. } = need;
    let mut steps = moves.into_values().next().unwrap_or_default();
    // A proposal has two steps: keep the claim, or do what is proposed.
    let accept = steps.pop().unwrap_or_default();
    let decline = match steps.pop() {
        Some(keep) => keep,
        None => format!("hm attention --seen {}", ids.first().map_or("", String::as_str)),
    };
    let decline = if decline.contains("REASON") { decline } else { format!("{decline} --reason REASON") };
    let hint = hint.or_else(|| {
        (kind == Kind::Suggestion).then(|| "if you decline it, it is not suggested again".to_owned())
    });
    Waiting { kind: kind.words().0, ids, since, said: what, statement, accept, decline, hint }
}

/// Counts what waits for the approval of a reader: of the operator only.
pub(in crate::views) fn count(store: &Reader, reader: &str, now: Timestamp) -> Result<u64, StoreError> {
    if reader != AgentId::operator().as_str() {
        return Ok(0);
    }
    Ok(proposed(store, now)?.len() as u64)
}
