//! Receipts: what the ledger tells about a command, and whether a retry asks for the same.

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::domain::command::{Command, Submission};
use crate::domain::event::{Event, Recorded};
use crate::domain::ids::IdempotencyKey;
use crate::domain::receipt::{Lease, Receipt};
use crate::domain::rejection::{Code, Rejection};
use crate::ledger::{Batch, Cursor, Stored};

/// SHA-256 over the canonical form of the caller's command, in hex.
pub(super) fn command_hash(command: &Command) -> String {
    let canonical = serde_json_canonicalizer::to_vec(&command.intent())
        .expect("commands are plain data with finite numbers");
    hex::encode(Sha256::digest(&canonical))
}

#[derive(serde::Deserialize)]
struct HashOnly {
    command_hash: Option<String>,
}

/// Checks that a payload was made by the same command. An erased payload and one without a hash count as the same.
pub(super) fn same_request(submission: &Submission, first_payload: &str) -> Result<(), Rejection> {
    let stored = serde_json::from_str::<HashOnly>(first_payload).ok().and_then(|first| first.command_hash);
    if stored.is_none_or(|stored| stored == command_hash(&submission.command)) {
        return Ok(());
    }
    Err(Rejection::idempotency_conflict(submission.idempotency_key.as_ref()))
}

/// The receipt of a command, derived from its events alone.
pub(super) fn receipt_of(stored: &[Stored], submission: &Submission) -> Option<Result<Receipt, Rejection>> {
    let (first, last) = (stored.first()?, stored.last()?);
    if first.payload.is_none() && first.causation != submission.command_id {
        // The hash was erased with the payload, so the requests cannot be compared.
        return Some(Err(erased_request(first, submission)));
    }
    if let Some((payload, _)) = &first.payload {
        if let Ok(Event::CommandRejected(rejected)) = Event::decode(&first.kind, payload) {
            return Some(Err(Rejection::new(
                rejected.code,
                rejected.message,
                "it was refused when the spool was replayed; correct it and call again",
            )));
        }
        if let Err(conflict) = same_request(submission, payload) {
            return Some(Err(conflict));
        }
    }
    let entity_id = match &first.payload {
        Some(_) => first.recorded().ok().and_then(|first| entity_of(&first)),
        None => submission.command.entity(),
    };
    let recorded: Vec<Recorded> = stored.iter().filter_map(|stored| stored.recorded().ok()).collect();
    let lease = lease_of(&recorded);
    let proposed = recorded.first().is_some_and(is_proposal);
    Some(Ok(Receipt {
        duplicate: true,
        proposed,
        lease,
        ..Receipt::committed(first.causation, entity_id, last.seq)
    }))
}

/// The refusal of a key whose first request was erased.
fn erased_request(first: &Stored, submission: &Submission) -> Rejection {
    let key = submission.idempotency_key.as_ref().map_or("", IdempotencyKey::as_str);
    Rejection::new(
        Code::Redacted,
        format!("the request under the key `{key}` was committed at seq {}, and erased since", first.seq),
        "nothing was done again; use a fresh key for a new command",
    )
    .with("command_id", first.causation)
    .with("event_id", first.id)
}

/// The entity that a command created or changed, from its first event.
fn entity_of(first: &Recorded) -> Option<Uuid> {
    first.event.as_ref()?.about().entity(first.id)
}

/// Whether the only effect of a command is an override proposal.
const fn is_proposal(first: &Recorded) -> bool {
    matches!(first.event, Some(Event::OverrideProposed(_)))
}

/// The lease that a command created or extended for its own session. The lease of a researcher does not count for
/// its sender.
fn lease_of(events: &[Recorded]) -> Option<Lease> {
    events.iter().find_map(|recorded| {
        let Some(Event::TaskClaimed(claimed)) = &recorded.event else { return None };
        let lease = Lease { fencing_token: claimed.token, minutes: claimed.lease_minutes };
        (recorded.session.as_ref() == Some(&claimed.session)).then_some(lease)
    })
}

/// The receipts of the batches just appended, without names and warnings.
pub(super) fn of_batches(start: Cursor, batches: &[Batch], recorded: &[Recorded]) -> Vec<Receipt> {
    let mut seen = 0;
    batches
        .iter()
        .map(|batch| {
            let events = &recorded[seen..seen + batch.events.len()];
            seen += batch.events.len();
            let lease = lease_of(events);
            let proposed = is_proposal(&events[0]);
            let seq = start.seq + seen as u64;
            Receipt { lease, proposed, ..Receipt::committed(batch.command_id, entity_of(&events[0]), seq) }
        })
        .collect()
}
