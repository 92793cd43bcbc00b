//! The acceptance of a damaged ledger: the operator continues without the lost events.

use super::Accepted;
use crate::domain::agent::AgentId;
use crate::domain::command::AcceptLoss;
use crate::domain::event::LossAccepted;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::text::Reason;

/// The damage that the writer found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The last event of the ledger.
    pub from: u64,
    /// The last event that this machine saw in it.
    pub to: u64,
    /// The damage, in one sentence.
    pub fault: String,
}

/// Decides the acceptance of a damage.
///
/// # Errors
/// `not_allowed`, or `invalid_argument` without a damage.
pub(super) fn accept_loss(
    agent: &AgentId,
    command: &AcceptLoss,
    loss: Option<&Loss>,
) -> Result<Accepted, Rejection> {
    if *agent != AgentId::operator() {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("only the operator accepts a loss, and you are {agent}"),
            "ask the human to read `hm verify`; writes wait in the spool meanwhile",
        ));
    }
    let Some(Loss { from, to, fault }) = loss else {
        return Err(Rejection::new(
            Code::InvalidArgument,
            "nothing is missing: there is no loss to accept",
            "nothing to do; `hm verify` says how the ledger stands",
        ));
    };
    let fault: String = fault.chars().take(Reason::MAX_CHARS).collect();
    let fault = fault.parse().expect("a sentence of ours is not empty");
    let accepted = LossAccepted { from: *from, to: *to, fault, reason: command.reason.clone() };
    Ok(Accepted { events: vec![accepted.into()], ..Accepted::default() })
}
