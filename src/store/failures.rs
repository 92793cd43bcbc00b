//! Failed commands by error: the command that later succeeded at the same place, and the errors that repeat.

use rusqlite::{Connection, OptionalExtension, params};

use super::guards::{GuardView, Suggestion};
use super::rows::{bound, json, only};
use super::{Reader, StoreError};
use crate::domain::action::{self, ErrorLine, Phrase};
use crate::domain::claim::Outcome;
use crate::domain::event::{CommandRan, OutcomeRecorded, Recorded};
use crate::domain::guard::{Condition, SUGGESTED_AFTER};
use crate::domain::ids::{EventId, SessionId};
use crate::domain::text::OutputTail;

/// The most guards and dead ends that are compared with repeated errors, newest first.
const MAX_GUARDS: usize = 1_000;

/// Folds the end of a command.
pub(super) fn ran(db: &Connection, at: &Recorded, body: &CommandRan) -> Result<(), StoreError> {
    let Some(session) = at.session.as_ref().map(SessionId::as_str) else { return Ok(()) };
    let lines = if body.runs.is_empty() { std::slice::from_ref(&body.command) } else { &body.runs };
    let targets = action::targets_of(lines);
    match &body.error_signature {
        Some(error) if body.failed => {
            let fault = action::fault(error.as_str(), body.tail.as_ref().map(OutputTail::as_str));
            for target in targets {
                // What its session took for a fix did not hold.
                db.prepare_cached(
                    "UPDATE failures SET fix_seq = NULL, fix_id = NULL, fix_agent = NULL, fix_session = NULL, \
                     fix_command = NULL, fix_at = NULL, fix_path = NULL \
                     WHERE signature = ?1 AND target = ?2 AND fix_session = ?3",
                )?
                .execute(params![fault, target, session])?;
                db.prepare_cached(
                    "INSERT INTO failures (signature, target, session, seq) VALUES (?1, ?2, ?3, ?4) \
                     ON CONFLICT (signature, target, session) DO UPDATE SET seq = ?4 WHERE fix_seq IS NULL",
                )?
                .execute(params![fault, target, session, at.seq])?;
            }
            // What only looks tells no agent what to do otherwise.
            if action::only_looks(body.command.as_str()) {
                return Ok(());
            }
            // A declined suggestion stays the one that was declined.
            db.prepare_cached(
                "INSERT INTO repeated_errors (signature, failures, id, command, first_at, last_at, seq) \
                 VALUES (?1, 1, ?2, ?3, ?4, ?4, ?5) ON CONFLICT (signature) DO UPDATE SET \
                 failures = failures + 1, id = CASE WHEN EXISTS (SELECT 1 FROM seen_notices s WHERE s.id = repeated_errors.id) \
                 THEN repeated_errors.id ELSE ?2 END, command = ?3, last_at = ?4, seq = ?5",
            )?
            .execute(params![error.as_str(), at.id, body.command, at.at, at.seq])?;
        }
        _ if !body.passed() => {}
        _ => {
            // A command that passes again is no error that repeats.
            db.prepare_cached(
                "DELETE FROM repeated_errors WHERE command = ?1 \
                 AND NOT EXISTS (SELECT 1 FROM seen_notices s WHERE s.id = repeated_errors.id)",
            )?
            .execute([&body.command])?;
            for target in targets {
                db.prepare_cached(
                    "UPDATE failures SET fix_seq = ?2, fix_id = ?3, fix_agent = ?4, fix_session = ?5, \
                     fix_command = ?6, fix_at = ?7, fix_path = (SELECT f.path FROM session_files f \
                     WHERE f.session = ?5 AND f.seq > failures.seq ORDER BY f.seq DESC LIMIT 1) \
                     WHERE target = ?1 AND fix_seq IS NULL",
                )?
                .execute(params![
                    target,
                    at.seq,
                    at.id,
                    at.agent,
                    session,
                    body.command,
                    at.at
                ])?;
            }
        }
    }
    Ok(())
}

/// Keeps the decisions whose last outcome is a failure.
pub(super) fn decided(db: &Connection, at: &Recorded, body: &OutcomeRecorded) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM failed_decisions WHERE claim_id = ?1")?.execute([body.claim_id])?;
    if body.outcome == Outcome::Failure {
        db.prepare_cached("INSERT INTO failed_decisions (claim_id, at, seq) VALUES (?1, ?2, ?3)")?
            .execute(params![body.claim_id, at.at, at.seq])?;
    }
    Ok(())
}

/// The command that succeeded where another one had failed with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// The event of the command that succeeded.
    pub id: EventId,
    /// Its agent.
    pub agent: String,
    /// The command.
    pub command: String,
    /// The file that its session changed between the failure and the success.
    pub path: Option<String>,
    /// Without such a file, the command that its session ran between them, if it may have mended something.
    pub cure: Option<Cure>,
    /// When it succeeded, epoch ms.
    pub at: i64,
}

/// A command after which another one succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cure {
    /// Ledger position of its event.
    pub seq: u64,
    /// Its commands in normal form.
    pub line: String,
}

impl Reader {
    /// The first success after a failure with this [`action::fault`] at one of these places, by another session. A success
    /// at the place itself comes before one elsewhere.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn fix_of(&self, fault: &str, targets: &[String], session: &str) -> Result<Option<Fix>, StoreError> {
        let mut known = self.db.prepare_cached(
            "SELECT target, seq, fix_seq, fix_session, fix_id, fix_agent, fix_command, fix_path, fix_at FROM failures \
             WHERE signature = ?1 AND fix_seq IS NOT NULL AND fix_session <> ?2 ORDER BY fix_seq DESC LIMIT 50",
        )?;
        let found = self.kept_of(known.query(params![fault, session])?, |row| {
            let target: String = row.get("target")?;
            let fix = Fix {
                id: row.get("fix_id")?,
                agent: row.get("fix_agent")?,
                command: row.get("fix_command")?,
                path: row.get("fix_path")?,
                cure: None,
                at: row.get("fix_at")?,
            };
            let by: (u64, u64, String) = (row.get("seq")?, row.get("fix_seq")?, row.get("fix_session")?);
            Ok::<_, rusqlite::Error>((target, by, fix))
        })?;
        let Some((_, by, mut fix)) = found.into_iter().find(|(target, ..)| targets.contains(target)) else {
            return Ok(None);
        };
        if fix.path.is_none() {
            fix.cure = self.cure(fault.lines().next().unwrap_or(fault), by, &fix.command)?;
        }
        Ok(Some(fix))
    }

    /// The last command of a session between a failure and the success after it which passed, may have mended something, and
    /// is another tool than the one that succeeded.
    fn cure(
        &self,
        error: &str,
        (failed, passed, session): (u64, u64, String),
        command: &str,
    ) -> Result<Option<Cure>, StoreError> {
        let mut between = self.db.prepare_cached(
            "SELECT o.action, o.seq FROM observations o, \
             (SELECT max(n) AS n FROM observations WHERE error = ?1 AND seq = ?2) f \
             WHERE o.n > f.n AND o.n < f.n + 1000 AND o.seq < ?3 AND o.session = ?4 AND o.kind = 'command' \
             AND o.failed = 0 ORDER BY o.n DESC LIMIT 50",
        )?;
        let ran = between.query(params![error, bound(failed), bound(passed), session])?;
        let ran: Vec<(Vec<String>, u64)> =
            self.kept_of(ran, |row| Ok::<_, StoreError>((json(row, "action")?, row.get("seq")?)))?;
        let mut cures = ran.into_iter().map(|(action, seq)| Cure { seq, line: action.join(" && ") });
        Ok(cures.find(|cure| action::may_mend(&cure.line) && !action::is_same_tool(&cure.line, command)))
    }

    /// Whether a session was told what is known of an error.
    pub fn was_told_of_error(&self, session: &str, signature: &str) -> Result<bool, StoreError> {
        let mut told = self.db.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM firings WHERE session = ?1 AND matched = ?2 AND kind IS NULL)",
        )?;
        Ok(told.query_row(params![session, signature], only)?)
    }

    /// Guards to propose: errors that repeat, and decisions that failed, since a time. Those that a dead end or a guard
    /// covers are left out.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn suggestions(&self, since: i64, now: i64, limit: usize) -> Result<Vec<Suggestion>, StoreError> {
        let mut often = self.db.prepare_cached(
            "SELECT signature, failures, id, command, last_at FROM repeated_errors e \
             WHERE failures >= 3 AND last_at >= ?1 \
             AND NOT EXISTS (SELECT 1 FROM triggers t WHERE t.kind = 'error' AND t.key = e.signature) \
             AND NOT EXISTS (SELECT 1 FROM guard_keys k WHERE k.kind = 'error' AND k.key = e.signature) \
             AND NOT EXISTS (SELECT 1 FROM seen_notices s WHERE s.id = e.id) \
             ORDER BY last_at DESC LIMIT ?2",
        )?;
        let mut found = self.kept_of(often.query(params![since, bound(limit)])?, |row| {
            Ok::<_, StoreError>(Suggestion {
                id: row.get("id")?,
                signature: Some(row.get("signature")?),
                what: row.get("command")?,
                failures: row.get("failures")?,
                scopes: Vec::new(),
                since: row.get("last_at")?,
            })
        })?;
        found.retain(|error| error.signature.as_deref().is_none_or(|error| !action::says_little(error)));
        if !found.is_empty() {
            let guards = self.guards(MAX_GUARDS)?;
            // One that speaks whenever the error comes.
            let speaks = |guard: &&GuardView| {
                let Condition { scope, paths, commands, pattern_type, text_includes, .. } = &guard.condition;
                let is_everywhere = scope.is_none() && paths.is_empty() && commands.is_empty();
                let is_of_all = pattern_type.is_none() && text_includes.is_none();
                let is_over = guard.until.is_some_and(|until| until <= now);
                is_everywhere && is_of_all && !is_over && guard.muted.is_empty()
            };
            let speaking = guards.iter().filter(speaks);
            let known: Vec<Phrase> = speaking
                .filter_map(|guard| {
                    Some(Phrase::without_names(guard.condition.error_signature.as_ref()?.as_str()))
                })
                .collect();
            let is_known = |error: &str| {
                let error = ErrorLine::of(error);
                known.iter().any(|text| text.is_said_by(&error))
            };
            found.retain(|error| !error.signature.as_deref().is_some_and(is_known));
        }
        debug_assert!(found.iter().all(|error| error.failures >= SUGGESTED_AFTER));
        let mut failed = self.db.prepare_cached(
            "SELECT o.claim_id, o.at FROM failed_decisions o WHERE o.at >= ?1 \
             AND NOT EXISTS (SELECT 1 FROM guards g WHERE g.claim_id = o.claim_id) \
             AND NOT EXISTS (SELECT 1 FROM seen_notices s WHERE s.id = o.claim_id) ORDER BY o.at DESC LIMIT ?2",
        )?;
        let failed: Vec<(String, i64)> = self
            .kept_of(failed.query(params![since, bound(limit)])?, |row| {
                Ok::<_, StoreError>((row.get("claim_id")?, row.get("at")?))
            })?;
        for (id, at) in failed {
            let mut claim = self.db.prepare_cached("SELECT statement, scopes FROM claims WHERE id = ?1")?;
            let decided = claim
                .query_row([&id], |row| Ok((row.get::<_, String>("statement")?, json(row, "scopes")?)))
                .optional()?;
            let Some((what, scopes)) = decided else { continue };
            found.push(Suggestion { id, signature: None, what, failures: 1, scopes, since: at });
        }
        Ok(found)
    }
}
