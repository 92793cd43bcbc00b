//! The job that asks a model for the meanings of claims. It reads on the background thread, and the committing thread
//! stores its result.

use std::sync::atomic::{AtomicBool, Ordering};

use super::background::{CLOSED, Found};
use super::commit::Committer;
use crate::config::Config;
use crate::domain::vectors::Meaning;
use crate::integrity::ScanError;
use crate::meanings;
use crate::schedule::JobOutcome;
use crate::store::Reader;
use crate::workspace::Workspace;

/// Meanings that are waiting to be stored.
struct Read {
    model: String,
    /// The last claim that the model had read before.
    last: u64,
    meanings: Vec<(u64, Meaning)>,
    /// Whether more claims wait.
    has_more: bool,
}

/// Asks the model of the configuration about the next claims that it has not read. The cursor tells where the last run
/// began.
pub(super) fn look(workspace: &Workspace, cursor: u64, stop: &AtomicBool) -> Result<Found, ScanError> {
    if Config::load(&workspace.config()).is_ok_and(|config| config.memory.closed().is_some()) {
        let ended = (JobOutcome::Ok, CLOSED.to_owned());
        return Ok(Found { ended, recording: None, cursor, has_more: false });
    }
    let (ended, read) = match next(workspace, stop)? {
        Ok(None) => ((JobOutcome::Ok, "off: nothing to ask a model about".to_owned()), None),
        Ok(Some(read)) => {
            let more = if read.has_more { ", more wait" } else { "" };
            ((JobOutcome::Ok, format!("the model read {} claims{more}", read.meanings.len())), Some(read))
        }
        Err(problem) => ((JobOutcome::Failed, problem), None),
    };
    // A result that was not stored is tried again at the next interval, not at once.
    let at = read.as_ref().map_or(0, |read| read.last + 1);
    let has_more = at != cursor && read.as_ref().is_some_and(|read| read.has_more);
    let read = read.filter(|read| !read.meanings.is_empty());
    let recording = read.map(|read| -> super::background::Recording {
        Box::new(move |committer| {
            keep(committer, &read);
            Ok(false)
        })
    });
    Ok(Found { ended, recording, cursor: at, has_more })
}

/// The next claims with their meanings, or why the model cannot be asked.
fn next(workspace: &Workspace, stop: &AtomicBool) -> Result<Result<Option<Read>, String>, ScanError> {
    let Ok(config) = Config::load(&workspace.config()) else { return Ok(Ok(None)) };
    let model = match meanings::model(workspace, &config) {
        Ok(Some(model)) => model,
        Ok(None) => return Ok(Ok(None)),
        Err(problem) => return Ok(Err(problem.to_string())),
    };
    let Some(store) = Reader::open(&workspace.team_memory())? else { return Ok(Ok(None)) };
    let (last, mut claims) = store.unread_by(&model.id, model.at_once() + 1)?;
    drop(store);
    let mut has_more = claims.len() > model.at_once();
    claims.truncate(model.at_once());
    let mut meanings = Vec::with_capacity(claims.len());
    for claims in claims.chunks(model.asked_at_once()) {
        if stop.load(Ordering::Relaxed) {
            has_more = true;
            break;
        }
        let statements: Vec<&str> = claims.iter().map(|(_, statement)| statement.as_str()).collect();
        match model.meanings(&statements) {
            Ok(found) => meanings.extend(claims.iter().map(|(seq, _)| *seq).zip(found)),
            Err(problem) => return Ok(Err(problem.to_string())),
        }
    }
    Ok(Ok(Some(Read { model: model.id, last, meanings, has_more })))
}

/// Stores what the model read. A failure is logged: the claims are compared by the table until the next run.
fn keep(committer: &mut Committer, read: &Read) {
    match committer.projection.keep_meanings(&read.model, read.last, &read.meanings) {
        Ok(true) => {}
        Ok(false) => tracing::debug!("the read models changed while a model read claims"),
        Err(error) => tracing::warn!(%error, "cannot store the meanings of claims"),
    }
}

/// Asks the model of the configuration about all claims that it has not read; returns their number.
///
/// # Errors
/// [`ScanError`] when the read models cannot be read or written, or the model cannot be asked.
pub fn read_claims(committer: &mut Committer) -> Result<usize, ScanError> {
    let (workspace, mut count) = (committer.workspace.clone(), 0);
    loop {
        let read = next(&workspace, &AtomicBool::new(false))?;
        let failed = |problem: String| ScanError::Log(std::io::Error::other(problem));
        let Some(read) = read.map_err(failed)? else { return Ok(count) };
        let kept = committer.projection.keep_meanings(&read.model, read.last, &read.meanings);
        count += if kept? { read.meanings.len() } else { 0 };
        if !read.has_more {
            return Ok(count);
        }
    }
}
