//! The argument of `record_decision` that changes a part of the decision that it supersedes.

use uuid::Uuid;

use crate::domain::amendment::Amendment;
use crate::domain::command::RecordDecision;
use crate::domain::ids::ClaimId;
use crate::domain::rejection::Rejection;
use crate::domain::text::{Rationale, Statement};
use crate::mcp::server::Server;
use crate::{system, views};

/// The amended decision, with the statement in the place of the old words. `is_new` tells whether the call has arguments
/// that an amendment takes from the old decision.
pub(super) fn amended(
    server: &Server,
    (old, new): (String, Option<Statement>),
    (supersedes, is_new): (&[ClaimId], bool),
    rationale: &Rationale,
    id: Uuid,
) -> Result<RecordDecision, Rejection> {
    let refuse = |problem: &str| Err(Rejection::invalid("replace", problem));
    let [of] = supersedes else { return refuse("name the one decision whose words these are in supersedes") };
    let Some(new) = new else { return refuse("say in statement what takes their place") };
    if is_new {
        return refuse("an amendment keeps target, scopes and alternatives: leave them and claim_id out");
    }
    if old.trim().is_empty() {
        return refuse(
            "name the old words; to add a sentence, replace the last words by them and the sentence",
        );
    }
    let change = Amendment::Replace { old, new: new.into() };
    let amended =
        |reads: &mut _| views::amendment(reads, (*of, id.into()), &change, rationale.clone(), system::now());
    server.with_reads(amended)
}
