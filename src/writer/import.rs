//! The import: appends the events of an export.

use std::io::BufReader;
use std::path::Path;

use serde_json::Value;

use super::commit::Committer;
use super::erasure::erase;
use super::error::WriterError;
use crate::checkpoints::Checkpoints;
use crate::domain::decide::gate;
use crate::domain::policy::MemoryPolicy;
use crate::domain::privacy::{self, Denial, Secrets};
use crate::domain::rejection::{Code, Rejection};
use crate::imports::Imports;
use crate::ledger::{Against, Cursor, ImportError, Imported, Stored};
use crate::standing::Standing;

/// Appends the events of an export, then folds state and read models again. The writer reads the file itself,
/// because it may be larger than any frame. Either all events are appended or none. The texts are scanned for
/// secrets unless `as_is` is set, and the policy judges every event. A refusal leaves no record: an extra event would
/// make this history differ from the file's.
///
/// # Errors
/// [`WriterError`] when the state of the disk is unknown. A refusal is returned as the answer.
pub(super) fn import(
    committer: &mut Committer,
    file: &Path,
    as_is: bool,
    progress: impl FnMut(u64),
) -> Result<Result<Imported, Rejection>, WriterError> {
    let opened = std::fs::File::open(file).map_err(ImportError::Io);
    let missing = committer.standing.damage.as_ref().map_or(&[][..], |damage| &damage.missing);
    let secrets = &committer.secrets;
    let policy = &committer.memory_policy;
    let judge = |event: &Stored| {
        let secret = if as_is { None } else { secret_in(event, secrets) };
        secret.map(Against::Secret).or_else(|| denied_by(policy, event).map(Against::Policy))
    };
    let keep = |imported: &Imported| {
        if imported.added == 0 {
            return Ok(());
        }
        let mut imports = Imports::load(&committer.imports);
        imports.add(imported.added, imported.head.seq, &imported.head.hash);
        imports.save(&committer.imports)
    };
    let ledger = &mut committer.ledger;
    let done = opened.and_then(|from| ledger.import(BufReader::new(from), missing, judge, keep, progress));
    let imported = match done {
        Ok(imported) => imported,
        Err(error) => {
            drop_lost_imports(committer)?;
            return Ok(Err(refused_import(file, &error)));
        }
    };
    committer.check_ground()?;
    if committer.is_stopped() {
        // The import brought back the missing events.
        committer.standing = Standing::default();
        put_back_checkpoints(committer)?;
    }
    if committer.owes_erasure()? {
        // The file may hold redactions, which apply here too. Everything imported is folded again.
        erase(committer)?;
    } else if imported.added > 0 {
        committer.refold()?;
        committer.catch_up();
    }
    Ok(Ok(imported))
}

/// Begins the file of checkpoints again if it was lost with the events. The evidence beside the key stays.
fn put_back_checkpoints(committer: &Committer) -> Result<(), WriterError> {
    let Some(origin) = committer.origin()? else { return Ok(()) };
    let checkpoints = Checkpoints::of(committer.workspace.memory(), committer.state_home.as_deref());
    let put_back = checkpoints.put_back(&origin, |at| committer.ledger.holds(at).unwrap_or(false));
    if let Err(error) = put_back {
        tracing::error!(%error, "the file of checkpoints is still missing");
    }
    Ok(())
}

/// Removes the notes of imports that did not commit. An import is noted before its commit.
pub(super) fn drop_lost_imports(committer: &Committer) -> Result<(), WriterError> {
    let mut imports = Imports::load(&committer.imports);
    let is_there = |seq: u64, hash: &str| {
        let mut bytes = [0; 32];
        hex::decode_to_slice(hash, &mut bytes).is_ok()
            && committer.ledger.holds(Cursor { seq, hash: bytes }).unwrap_or(true)
    };
    if imports.forget_unless(is_there) {
        imports.save(&committer.imports)?;
    }
    Ok(())
}

/// The refusal of an event by the policy. An erased event has no item.
fn denied_by(policy: &MemoryPolicy, event: &Stored) -> Option<Rejection> {
    let recorded = event.recorded().ok()?;
    gate::denied_event(&recorded.agent, recorded.event.as_ref()?, policy)
}

/// The first secret in the payload of an event or in the names beside it.
fn secret_in(event: &Stored, secrets: &Secrets) -> Option<Denial> {
    let payload: Option<Value> = event.payload.as_ref().and_then(|(text, _)| serde_json::from_str(text).ok());
    let mut texts = Vec::new();
    payload.iter().for_each(|payload| texts_of("payload", payload, &mut texts));
    texts.extend(event.session.iter().map(|session| ("session", session.as_str())));
    texts.extend(event.trace_id.iter().map(|trace| ("trace_id", trace.as_str())));
    texts.extend(event.idempotency_key.iter().map(|key| ("idempotency_key", key.as_str())));
    texts.push(("agent", event.agent.as_str()));
    privacy::deny_texts("import", texts.into_iter(), secrets)
}

/// Collects every text in a value, with the name of its field.
fn texts_of<'v>(field: &'v str, value: &'v Value, texts: &mut Vec<(&'v str, &'v str)>) {
    match value {
        Value::String(text) => texts.push((field, text)),
        Value::Array(values) => values.iter().for_each(|value| texts_of(field, value, texts)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            texts.push((field, name));
            texts_of(name, value, texts);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn refused_import(file: &Path, error: &ImportError) -> Rejection {
    let (code, hint) = match error {
        ImportError::Line { .. } => {
            (Code::InvalidArgument, "nothing was imported: take a file that `hm export` wrote whole")
        }
        ImportError::Incomplete { .. } => (
            Code::Diverged,
            "nothing was imported: take a file that holds them, or accept the loss as the operator: hm repair",
        ),
        ImportError::Secret { .. } => (
            Code::PrivacyDenySensitive,
            "nothing was imported: have it erased where the file comes from (hm forget) and export anew, or as the operator import it with --as-is",
        ),
        ImportError::Denied { denial, .. } => (
            denial.code,
            "nothing was imported: a human changes [policy] in config.toml, `hm policy show` says what it is",
        ),
        ImportError::Diverged { .. } => (
            Code::Diverged,
            "nothing was imported: a ledger takes only its own past or future, or anything while it is empty",
        ),
        ImportError::Io(_) | ImportError::Ledger(_) | ImportError::Write(_) => {
            (Code::Unavailable, "nothing is half imported: mend it, then import again")
        }
    };
    Rejection::new(code, format!("{}: {error}", file.display()), hint)
}
