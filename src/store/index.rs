//! The search index: what a new claim adds to it, and how what it can be limited to is written.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::StoreError;
use super::rows::{bound, only};
use crate::domain::agent::AgentId;
use crate::domain::event::{Event, Recorded};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::scope::Scope;
use crate::domain::tokens::tokens;

/// Hex digits of a limit's hash: 64 bits, no two of a million scopes are likely to share them.
const HASH_DIGITS: usize = 16;

/// Sessions whose last claim is remembered; another one is looked up when it comes.
const MAX_REMEMBERED: usize = 4_096;
/// Bytes of new entries that a fill from the beginning keeps in memory before it writes them.
const FILL_BYTES: u32 = 16 * 1024 * 1024;
/// What FTS5 keeps in memory otherwise; its own default.
const USUAL_BYTES: u32 = 1024 * 1024;
/// Parts of a level that FTS5 merges as entries come in; its own default.
const USUAL_MERGE: u32 = 4;

/// The newest claim that passes some limits.
const NEWEST: &str = "SELECT rowid FROM claim_index WHERE claim_index MATCH ?1 ORDER BY rowid DESC LIMIT 1";

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
    /// Out of this task.
    Task(TaskId),
}

impl Limit<'_> {
    /// As it stands in the index: one token, whatever characters it was made of.
    pub(super) fn token(self) -> String {
        let task;
        let (letter, text) = match self {
            Self::Below(scope) => ('s', scope),
            Self::At(scope) => ('x', scope),
            Self::Type(word) => ('k', word),
            Self::Owner(agent) => ('o', agent),
            Self::Session(session) => ('e', session),
            Self::Task(id) => {
                task = id.to_string();
                ('t', task.as_str())
            }
        };
        let hash = hex::encode(Sha256::digest(text.as_bytes()));
        format!("{letter}{}", &hash[..HASH_DIGITS])
    }
}

/// What a new claim adds to the index.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its tokens in their order.
    pub(super) tokens: String,
    /// How many they are.
    pub(super) length: i64,
    limits: String,
}

impl Entry {
    /// The entry of a claim's creation; no other event has one.
    pub(super) fn of(recorded: &Recorded) -> Option<Self> {
        let Some(Event::ClaimCreated(body)) = &recorded.event else { return None };
        let tokens = tokens(body.statement.as_str());
        let session = recorded.session.as_ref().map(SessionId::as_str);
        let mut limits: Vec<String> = body.scopes.iter().flat_map(limits_of).collect();
        limits.push(Limit::Type(body.claim_type.as_str()).token());
        limits.push(Limit::Owner(recorded.agent.as_str()).token());
        limits.extend(session.map(|session| Limit::Session(session).token()));
        limits.extend(body.origin_task_id.map(|task| Limit::Task(task).token()));
        limits.sort_unstable();
        limits.dedup();
        Some(Self { tokens: tokens.join(" "), length: bound(tokens.len()), limits: limits.join(" ") })
    }
}

/// Adds a new claim.
pub(super) fn add(db: &Connection, at: &Recorded, entry: &Entry) -> Result<(), StoreError> {
    db.prepare_cached("INSERT INTO claim_index (rowid, t, s) VALUES (?1, ?2, ?3)")?.execute(params![
        at.seq,
        entry.tokens,
        entry.limits
    ])?;
    Ok(())
}

/// Empties the index and makes it ready to be filled from the beginning: nothing is merged before the end.
pub(super) fn begin_fill(db: &Connection) -> Result<(), StoreError> {
    db.execute("INSERT INTO claim_index (claim_index) VALUES ('delete-all')", [])?;
    configure(db, "hashsize", FILL_BYTES)?;
    configure(db, "automerge", 0)
}

/// Merges what was filled in into one part, and goes on as usual.
pub(super) fn end_fill(db: &Connection) -> Result<(), StoreError> {
    db.execute("INSERT INTO claim_index (claim_index) VALUES ('optimize')", [])?;
    configure(db, "hashsize", USUAL_BYTES)?;
    configure(db, "automerge", USUAL_MERGE)
}

fn configure(db: &Connection, setting: &str, value: u32) -> Result<(), StoreError> {
    db.execute("INSERT INTO claim_index (claim_index, rank) VALUES (?1, ?2)", params![setting, value])?;
    Ok(())
}

/// The last claim of each author in each session, so that nobody has to look for it.
#[derive(Debug, Default)]
pub(super) struct LastClaims {
    claims: HashMap<(AgentId, SessionId), u64>,
    /// Whether a session that is not there has no claim: so while folding from the beginning.
    knows_all: bool,
}

impl LastClaims {
    /// For a fold from the beginning.
    pub(super) fn from_the_beginning() -> Self {
        Self { claims: HashMap::new(), knows_all: true }
    }

    /// The claim that the author of a new one made before it in the same session.
    pub(super) fn before(&mut self, db: &Connection, new: &Recorded) -> Result<Option<u64>, StoreError> {
        let Some(session) = &new.session else { return Ok(None) };
        let key = (new.agent.clone(), session.clone());
        if let Some(last) = self.claims.get_mut(&key) {
            return Ok(Some(std::mem::replace(last, new.seq)));
        }
        let before = if self.knows_all {
            None
        } else {
            let limits = [Limit::Owner(new.agent.as_str()).token(), Limit::Session(session.as_str()).token()];
            let expression = format!("s : ({})", limits.join(" AND "));
            db.prepare_cached(NEWEST)?.query_row([expression], only).optional()?
        };
        if self.claims.len() >= MAX_REMEMBERED {
            self.claims.clear();
            self.knows_all = false;
        }
        self.claims.insert(key, new.seq);
        Ok(before)
    }
}

/// A scope itself, and everything it lies below. The whole workspace limits nothing, so it is not kept as
/// something to lie below.
fn limits_of(scope: &Scope) -> Vec<String> {
    let below = scope.and_ancestors().filter(|above| *above != ".").map(|above| Limit::Below(above).token());
    below.chain([Limit::At(scope.as_str()).token()]).collect()
}

/// What a scope is looked up by in the index.
#[derive(Debug, Default)]
pub(super) struct Around {
    /// Scopes that count with all that lies below them: the scope under each of its names.
    pub(super) below: Vec<String>,
    /// Scopes that count exactly: what lies above, and what only the rule of globs finds.
    pub(super) at: Vec<String>,
}

impl Around {
    /// Limits to what is about the scope; none for the whole workspace.
    pub(super) fn limit(&self) -> Option<String> {
        let at = self.at.iter().map(|scope| Limit::At(scope).token());
        let any: Vec<String> = at.chain(self.below.iter().map(|name| Limit::Below(name).token())).collect();
        (!any.is_empty()).then(|| any.join(" OR "))
    }
}
