//! The search index: the entries of new claims, and the tokens for limits.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::StoreError;
use super::rows::{Json, bound, json, only};
use crate::domain::agent::AgentId;
use crate::domain::event::{Event, Recorded};
use crate::domain::ids::{ClaimId, SessionId, TaskId};
use crate::domain::scope::Scope;
use crate::domain::tokens::tokens;
use crate::domain::vectors::{Vector, vector};

/// Hex digits of a limit's hash. With 64 bits, a collision among a million scopes is improbable.
const HASH_DIGITS: usize = 16;

/// The most sessions whose last claim is kept in memory. The last claim of another session is queried.
const MAX_REMEMBERED: usize = 4_096;
/// Bytes of new entries that a fill of the whole index keeps in memory.
const FILL_BYTES: u32 = 16 * 1024 * 1024;
/// Bytes of new entries that FTS5 keeps in memory otherwise: its own default.
const USUAL_BYTES: u32 = 1024 * 1024;
/// Parts of a level that FTS5 merges at each insert: its own default.
const USUAL_MERGE: u32 = 4;

/// The newest claim that matches some limits.
const NEWEST: &str = "SELECT rowid FROM claim_index WHERE claim_index MATCH ?1 ORDER BY rowid DESC LIMIT 1";

/// A limit that the index can apply to a search: a property of a claim that never changes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limit<'a> {
    /// This scope or a scope below it.
    Below(&'a str),
    /// Exactly this scope.
    At(&'a str),
    /// This type.
    Type(&'a str),
    /// This agent.
    Owner(&'a str),
    /// This session.
    Session(&'a str),
    /// This task.
    Task(TaskId),
}

impl Limit<'_> {
    /// The limit as one token of the index, whatever characters it contains.
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

/// The index entry of a new claim.
#[derive(Debug)]
pub(super) struct Entry {
    /// The tokens in their order.
    pub(super) tokens: String,
    /// The number of tokens.
    pub(super) length: i64,
    /// The meaning of the statement. `None` if it has no known word.
    pub(super) meaning: Option<Vector>,
    limits: String,
}

impl Entry {
    /// The entry for the creation of a claim. Other events have none.
    pub(super) fn of(recorded: &Recorded) -> Option<Self> {
        let Some(Event::ClaimCreated(body)) = &recorded.event else { return None };
        let tokens = tokens(body.statement.as_str());
        let session = recorded.session.as_ref().map(SessionId::as_str);
        let once = [
            Some(Limit::Type(body.claim_type.as_str())),
            Some(Limit::Owner(recorded.agent.as_str())),
            session.map(Limit::Session),
            body.origin_task_id.map(Limit::Task),
        ];
        Some(Self {
            tokens: tokens.join(" "),
            length: bound(tokens.len()),
            meaning: vector(body.statement.as_str()),
            limits: limits(&body.scopes, once.into_iter().flatten()),
        })
    }
}

/// What a search for a claim can be limited to.
fn limits<'a>(scopes: &[Scope], once: impl Iterator<Item = Limit<'a>>) -> String {
    let mut limits: Vec<String> = scopes.iter().flat_map(limits_of).collect();
    limits.extend(once.map(Limit::token));
    limits.sort_unstable();
    limits.dedup();
    limits.join(" ")
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

/// Adds the target of a decision to the scopes of its claim, if they have none: a search within it finds the claim from now on.
pub(super) fn add_target(db: &Connection, claim: ClaimId, target: &Scope) -> Result<(), StoreError> {
    const CLAIM: &str = "SELECT created_seq, tokens, scopes, claim_type, owner, session, origin_task_id FROM claims WHERE id = ?1";
    let mut known = db.prepare_cached(CLAIM)?;
    let mut rows = known.query([claim])?;
    let Some(row) = rows.next()? else { return Ok(()) };
    let mut scopes: Vec<Scope> = json(row, "scopes")?;
    if scopes.iter().any(Scope::is_target) {
        return Ok(());
    }
    scopes.push(target.clone());
    scopes.sort();
    let (seq, tokens): (u64, String) = (row.get("created_seq")?, row.get("tokens")?);
    let (claim_type, owner): (String, String) = (row.get("claim_type")?, row.get("owner")?);
    let (session, task): (Option<String>, Option<TaskId>) = (row.get("session")?, row.get("origin_task_id")?);
    let once = [
        Some(Limit::Type(&claim_type)),
        Some(Limit::Owner(&owner)),
        session.as_deref().map(Limit::Session),
        task.map(Limit::Task),
    ];
    let limits = limits(&scopes, once.into_iter().flatten());
    db.prepare_cached("UPDATE claim_index SET t = ?2, s = ?3 WHERE rowid = ?1")?
        .execute(params![seq, tokens, limits])?;
    db.prepare_cached("UPDATE claims SET scopes = ?2 WHERE id = ?1")?
        .execute(params![claim, Json(&scopes)])?;
    Ok(())
}

/// Empties the index for a fill. FTS5 merges nothing before [`end_fill`].
pub(super) fn begin_fill(db: &Connection) -> Result<(), StoreError> {
    db.execute("INSERT INTO claim_index (claim_index) VALUES ('delete-all')", [])?;
    configure(db, "hashsize", FILL_BYTES)?;
    configure(db, "automerge", 0)
}

/// Merges the filled index into one part, and restores the usual settings.
pub(super) fn end_fill(db: &Connection) -> Result<(), StoreError> {
    db.execute("INSERT INTO claim_index (claim_index) VALUES ('optimize')", [])?;
    configure(db, "hashsize", USUAL_BYTES)?;
    configure(db, "automerge", USUAL_MERGE)
}

fn configure(db: &Connection, setting: &str, value: u32) -> Result<(), StoreError> {
    db.execute("INSERT INTO claim_index (claim_index, rank) VALUES (?1, ?2)", params![setting, value])?;
    Ok(())
}

/// The last claim of each author in each session, in memory.
#[derive(Debug, Default)]
pub(super) struct LastClaims {
    claims: HashMap<(AgentId, SessionId), u64>,
    /// Whether a missing session has no claim. This holds during a fold from the beginning.
    knows_all: bool,
}

impl LastClaims {
    /// The cache for a fold from the beginning.
    pub(super) fn from_the_beginning() -> Self {
        Self { claims: HashMap::new(), knows_all: true }
    }

    /// The author's claim before a new one in the same session.
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

/// The tokens of a scope: itself, and each scope above it. The whole workspace limits nothing, so it has no token.
fn limits_of(scope: &Scope) -> Vec<String> {
    let below = scope.and_ancestors().filter(|above| *above != ".").map(|above| Limit::Below(above).token());
    below.chain([Limit::At(scope.as_str()).token()]).collect()
}

/// A scope in the form of the index.
#[derive(Debug, Default)]
pub(super) struct Around {
    /// Scopes that include all scopes below them: the scope under each of its names.
    pub(super) below: Vec<String>,
    /// Scopes that match exactly: those above it, and globs that overlap it.
    pub(super) at: Vec<String>,
}

impl Around {
    /// The limit to claims about the scope. None for the whole workspace.
    pub(super) fn limit(&self) -> Option<String> {
        let at = self.at.iter().map(|scope| Limit::At(scope).token());
        let any: Vec<String> = at.chain(self.below.iter().map(|name| Limit::Below(name).token())).collect();
        (!any.is_empty()).then(|| any.join(" OR "))
    }
}
