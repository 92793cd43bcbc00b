//! The files of evidence. An edit of them makes the evidence stale and has no other effect. A path means another file
//! in each work tree.

use rusqlite::{Connection, ToSql, params};

use super::StoreError;
use super::rows::only;
use crate::domain::checkout::Checkout;
use crate::domain::claim::ReportKind;
use crate::domain::event::{CommitSeen, EventReported, Recorded};
use crate::domain::ids::{EventId, SessionId};
use crate::domain::scope::Scope;
use crate::domain::text::Worktree;

/// The value of the main work tree in rows.
pub(super) const MAIN: &str = "";

/// Marks evidence in force as stale if its files are at, above or below an edited path.
const STALE: &str = "UPDATE claim_evidence SET stale_seq = ?1 WHERE stale_seq IS NULL AND evidence_ref IN \
     (SELECT event_id FROM event_files \
      WHERE worktree = ?5 AND seq < ?1 AND path IN (SELECT value FROM json_each(?2)) \
      UNION ALL SELECT event_id FROM event_files \
                WHERE worktree = ?5 AND seq < ?1 AND path >= ?3 AND path < ?4)";

/// A claim is stale if a supporting event is stale, and no newer one supports it on the present files. Of a claim that
/// cites lines of files, readers tell whether the lines are still there.
const WEIGH: &str = "UPDATE claims SET \
     grade = (SELECT coalesce(max(grade), 'asserted') FROM claim_evidence \
              WHERE claim_id = ?1 AND relation = 'supports' AND unstable_at IS NULL), \
     reproduced = (SELECT count(*) FROM claim_evidence \
                   WHERE claim_id = ?1 AND relation = 'supports' AND grade = 'reproduced' AND unstable_at IS NULL), \
     stale = EXISTS (SELECT 1 FROM claim_evidence \
                     WHERE claim_id = ?1 AND relation = 'supports' AND stale_seq IS NOT NULL) \
             AND NOT EXISTS (SELECT 1 FROM claim_evidence e CROSS JOIN event_files f ON f.event_id = e.evidence_ref \
                             WHERE e.claim_id = ?1 AND e.relation = 'supports' AND e.stale_seq IS NULL) \
             AND NOT EXISTS (SELECT 1 FROM claim_evidence e CROSS JOIN cited_places p ON p.event_id = e.evidence_ref \
                             WHERE e.claim_id = ?1 AND e.relation = 'supports') \
     WHERE id = ?1";

/// A report with files. It may become evidence, and an edit makes older evidence stale.
pub(super) fn reported(db: &Connection, at: &Recorded, body: &EventReported) -> Result<(), StoreError> {
    named(db, at, (&body.checkout, &body.paths), body.kind == ReportKind::FileEdited)
}

/// An event with files of a work tree, edited or not.
pub(super) fn named(
    db: &Connection,
    at: &Recorded,
    (checkout, paths): (&Checkout, &[Scope]),
    is_edit: bool,
) -> Result<(), StoreError> {
    let seq = at.seq;
    let worktree = checkout.worktree.as_ref().map_or(MAIN, Worktree::as_str);
    for path in paths.iter().filter(|path| path.is_path()) {
        db.prepare_cached(
            "INSERT OR IGNORE INTO event_files (worktree, path, event_id, seq) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![worktree, path, at.id, seq])?;
        if !is_edit {
            continue;
        }
        edited(db, at, (worktree, path), false)?;
    }
    weigh_stale(db, seq)
}

/// The files that a commit changed, which is their last edit.
pub(super) fn committed(db: &Connection, at: &Recorded, body: &CommitSeen) -> Result<(), StoreError> {
    let worktree = body.checkout.worktree.as_ref().map_or(MAIN, Worktree::as_str);
    for path in body.changed.iter().filter(|path| path.is_path()) {
        edited(db, at, (worktree, path), true)?;
    }
    weigh_stale(db, at.seq)
}

/// The last edit of a file. It makes older evidence about the file stale.
fn edited(
    db: &Connection,
    at: &Recorded,
    (worktree, path): (&str, &Scope),
    is_commit: bool,
) -> Result<(), StoreError> {
    let (seq, session) = (at.seq, at.session.as_ref().map(SessionId::as_str));
    db.prepare_cached(
        "INSERT INTO file_edits (worktree, path, seq, agent, session, commit_seq) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT (worktree, path) DO UPDATE SET seq = ?3, agent = ?4, session = ?5, commit_seq = ?6",
    )?
    .execute(params![worktree, path, seq, at.agent, session, is_commit.then_some(seq)])?;
    let (at_or_above, first, last) = around(path);
    db.prepare_cached(STALE)?.execute(params![seq, at_or_above, first, last, worktree])?;
    Ok(())
}

/// Weighs the claims anew whose evidence an event made stale.
fn weigh_stale(db: &Connection, seq: u64) -> Result<(), StoreError> {
    let mut touched =
        db.prepare_cached("SELECT DISTINCT claim_id FROM claim_evidence WHERE stale_seq = ?1")?;
    for claim in touched.query_map([seq], only::<String>)? {
        db.prepare_cached(WEIGH)?.execute([claim?])?;
    }
    Ok(())
}

/// The last edit of the event's files, in its work tree and after it.
pub(super) fn edited_since(db: &Connection, event: EventId) -> Result<Option<u64>, StoreError> {
    let mut named =
        db.prepare_cached("SELECT path, seq, worktree FROM event_files WHERE event_id = ?1 ORDER BY path")?;
    let mut last: Option<u64> = None;
    let files = named.query_map([event], |row| {
        Ok((row.get::<_, String>("path")?, row.get::<_, i64>("seq")?, row.get::<_, String>("worktree")?))
    })?;
    for file in files {
        let (path, seq, worktree) = file?;
        let path = Scope::try_from(path).map_err(super::rows::malformed)?;
        let (at_or_above, first, last_below) = around(&path);
        let edits = "SELECT max(seq) FROM \
                     (SELECT seq FROM file_edits WHERE worktree = ?5 AND path IN (SELECT value FROM json_each(?1)) \
                      UNION ALL SELECT seq FROM file_edits WHERE worktree = ?5 AND path >= ?2 AND path < ?3) \
                     WHERE seq > ?4";
        let edited: Option<u64> = db
            .prepare_cached(edits)?
            .query_row(params![at_or_above, first, last_below, seq, worktree], only)?;
        last = last.max(edited);
    }
    Ok(last)
}

/// Updates the worth of a claim's evidence in its row. The alphabetical order of grades is their order of strength.
pub(super) fn weigh(db: &Connection, claim: impl ToSql) -> Result<(), StoreError> {
    db.prepare_cached(WEIGH)?.execute([claim])?;
    Ok(())
}

/// A path and all paths above it as JSON, and the bounds of the paths below it. The whole workspace is above every
/// path.
fn around(path: &Scope) -> (String, String, String) {
    let at_or_above: Vec<&str> = path.and_ancestors().collect();
    let at_or_above = serde_json::json!(at_or_above).to_string();
    if path.as_str() == "." {
        return (at_or_above, String::new(), "\u{10ffff}".to_owned());
    }
    // '0' follows '/' in ASCII: the range holds exactly the paths below.
    (at_or_above, format!("{path}/"), format!("{path}0"))
}
