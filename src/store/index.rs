//! The search index: what a new claim adds to it, and how what it can be limited to is written.

use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};

use super::StoreError;
use crate::domain::event::{ClaimCreated, Recorded};
use crate::domain::ids::SessionId;
use crate::domain::scope::Scope;
use crate::domain::tokens::tokens;

/// Hex digits of a limit's hash: 64 bits, no two of a million scopes are likely to share them.
const HASH_DIGITS: usize = 16;

/// A claim's tokens, and the claim that its author made before it in the same session.
pub(super) const ADD_TOKENS: &str = "INSERT INTO claim_tokens (created_seq, tokens, previous) VALUES (?1, ?2, \
     (SELECT created_seq FROM claims WHERE session = ?3 AND owner = ?4 AND created_seq < ?1 \
      ORDER BY created_seq DESC LIMIT 1))";

/// What a search can be limited to inside the index: what never changes about a claim.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limit<'a> {
    /// At this scope or below it.
    Below(&'a str),
    /// At exactly this scope.
    At(&'a str),
    /// Of this type.
    Type(&'a str),
    /// Of this agent.
    Owner(&'a str),
    /// Of this session.
    Session(&'a str),
}

impl Limit<'_> {
    /// As it stands in the index: one token, whatever characters it was made of.
    pub(super) fn token(self) -> String {
        let (letter, text) = match self {
            Self::Below(scope) => ('s', scope),
            Self::At(scope) => ('x', scope),
            Self::Type(word) => ('k', word),
            Self::Owner(agent) => ('o', agent),
            Self::Session(session) => ('e', session),
        };
        let hash = hex::encode(Sha256::digest(text.as_bytes()));
        format!("{letter}{}", &hash[..HASH_DIGITS])
    }
}

/// Adds a new claim; its row in `claims` is there already.
pub(super) fn add(db: &Connection, at: &Recorded, body: &ClaimCreated) -> Result<(), StoreError> {
    let tokens = tokens(body.statement.as_str());
    let text = tokens.join(" ");
    let session = at.session.as_ref().map(SessionId::as_str);
    let mut limits: Vec<String> = body.scopes.iter().flat_map(limits_of).collect();
    limits.push(Limit::Type(body.claim_type.as_str()).token());
    limits.push(Limit::Owner(at.agent.as_str()).token());
    limits.extend(session.map(|session| Limit::Session(session).token()));
    limits.sort_unstable();
    limits.dedup();
    db.prepare_cached("INSERT INTO claim_index (rowid, t, s) VALUES (?1, ?2, ?3)")?.execute(params![
        at.seq as i64,
        text,
        limits.join(" ")
    ])?;
    db.prepare_cached(ADD_TOKENS)?.execute(params![at.seq as i64, text, session, at.agent.as_str()])?;
    db.prepare_cached(
        "INSERT INTO claim_tokens_total (id, claims, tokens, seq) VALUES (1, 1, ?1, ?2) \
         ON CONFLICT (id) DO UPDATE SET claims = claims + 1, tokens = tokens + ?1, seq = ?2",
    )?
    .execute(params![tokens.len() as i64, at.seq as i64])?;
    Ok(())
}

/// A scope itself, and everything it lies below. The whole workspace limits nothing, so it is not kept as
/// something to lie below.
fn limits_of(scope: &Scope) -> Vec<String> {
    let below = scope.and_ancestors().filter(|above| *above != ".").map(|above| Limit::Below(above).token());
    below.chain([Limit::At(scope.as_str()).token()]).collect()
}

/// Limits to what is about a scope under any of its names, below it or above it; `None` for the whole workspace.
pub(super) fn around(scope: &Scope, names: &[String]) -> Option<String> {
    if scope.as_str() == "." {
        return None;
    }
    let above = scope.and_ancestors().skip(1).map(|above| Limit::At(above).token());
    let below = names.iter().map(|name| Limit::Below(name).token());
    let any: Vec<String> = above.chain(below).collect();
    Some(any.join(" OR "))
}
