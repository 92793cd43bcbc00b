//! Proofs whose check came out otherwise since, whatever the later run was about.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::StoreError;
use super::rows::json;
use crate::domain::event::{ExperimentCompleted, Recorded};
use crate::domain::experiment::{Finished, Word, failed_elsewhere};
use crate::domain::scope::Scope;

/// A finished run. None without a directory.
fn finished(row: &Row<'_>) -> rusqlite::Result<Option<Finished>> {
    let Some(cwd) = row.get::<_, Option<String>>("cwd")? else { return Ok(None) };
    let (command, dir): (String, Option<String>) = (row.get("command")?, row.get("dir")?);
    let (test, state) = (row.get("test_key")?, row.get("status")?);
    Ok(Some(Finished::of(&cwd, &command, dir.as_deref(), test, state)))
}

const COLUMNS: &str = "cwd, command, json_extract(outcome, '$.git.prefix') AS dir, test_key, status";

/// Marks the claims whose proof a finished run speaks against, or removes their marks.
pub(super) fn ran(db: &Connection, at: &Recorded, body: &ExperimentCompleted) -> Result<(), StoreError> {
    if !body.outcome.state.is_conclusive() || body.asserted {
        return Ok(());
    }
    let seq = body.restates.map_or(at.seq, |place| place.seq);
    let run = |id: &str| -> Result<Option<Finished>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM experiments WHERE id = ?1");
        Ok(db.prepare_cached(&sql)?.query_row([id], finished).optional()?.flatten())
    };
    let id = body.run_id.to_string();
    let Some(new) = run(&id)? else { return Ok(()) };
    let mut proved = db.prepare_cached(
        "SELECT c.id AS claim, c.proof_run, c.failed_run, c.scopes FROM claims c INDEXED BY claims_proof \
         JOIN experiments p ON p.id = c.proof_run WHERE c.proof_run > '' AND c.status = 'confirmed' \
         AND p.seq < ?1 AND (p.status <> ?2 OR c.failed_run IS NOT NULL) \
         AND (p.status = ?2 OR ?4 OR c.id IS NOT (SELECT r.claim_id FROM experiments r WHERE r.id = ?3))",
    )?;
    // What a decided run says about its own claim is evidence.
    let is_undecided = body.undecided.is_some();
    let mut rows = proved.query(params![seq, body.outcome.state, id, is_undecided])?;
    let mut marks = Vec::new();
    let is_elsewhere = |row: &Row<'_>| -> Result<bool, StoreError> {
        let scopes: Vec<Scope> = json(row, "scopes")?;
        Ok(failed_elsewhere(&body.outcome.failed_in, &scopes).is_some())
    };
    while let Some(row) = rows.next()? {
        let (claim, failed): (String, Option<String>) = (row.get("claim")?, row.get("failed_run")?);
        let Some(proof) = run(&row.get::<_, String>("proof_run")?)? else { continue };
        let failed = failed.map(|failed| run(&failed)).transpose()?.flatten();
        match new.word_on(&proof, failed.as_ref(), body.unstable.is_some()) {
            Some(Word::Against) if is_elsewhere(row)? => {}
            Some(Word::Against) => marks.push((claim, Some(id.clone()))),
            Some(Word::Restored) => marks.push((claim, None)),
            None => {}
        }
    }
    for (claim, failed) in marks {
        db.prepare_cached("UPDATE claims SET failed_run = ?2 WHERE id = ?1")?
            .execute(params![claim, failed])?;
    }
    Ok(())
}
