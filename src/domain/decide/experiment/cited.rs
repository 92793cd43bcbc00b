//! Runs as evidence: their relation to a claim, and which of them may be cited.

use super::super::verdict::verdict;
use super::outcome::grade;
use super::{Said, behind, said, unfit_for};
use crate::domain::claim::{Relation, Status};
use crate::domain::experiment::Prediction;
use crate::domain::ids::{ClaimId, EventId};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, Run, State};
use crate::domain::time::Timestamp;
use crate::domain::versions::Versions;
use crate::domain::{versions, way};
use serde_json::json;

/// The relation of a cited run to a claim: that of its outcome. `None` for any other event.
///
/// # Errors
/// `not_attachable` if the outcome has another relation.
pub(in crate::domain::decide) fn tied(
    state: &State,
    (event, relation): (EventId, Relation),
    (claim_id, claim): (ClaimId, &Claim),
    now: Timestamp,
) -> Result<Option<Said>, Rejection> {
    let Some((run_id, run)) = state.run_that_ended_with(event) else { return Ok(None) };
    if matches!(relation, Relation::CausedBy | Relation::Mentions) {
        let grade = Some(grade(state, run, claim_id, relation));
        let why = format!("is cited as {relation}");
        return Ok(Some(Said { relation, grade, run: None, meaning: None, why }));
    }
    conclusive(event, run)?;
    let said = said(state, (run_id, run), (claim_id, claim), now);
    if ![relation, Relation::Mentions].contains(&said.relation) {
        return Err(Rejection::new(
            Code::NotAttachable,
            format!("run {run_id} {}: it {} claim {claim_id}", run.state, said.relation),
            format!(
                "leave it to {}, or cite it as caused_by or mentions",
                way::call("attach_experiment", &json!({ "run_id": run_id, "claim_id": claim_id }))
            ),
        )
        .with("relation", said.relation));
    }
    Ok(Some(said))
}

/// The relation of a run to a new claim that cites it: it supports the claim, or is only mentioned. `None` for any
/// other event.
///
/// # Errors
/// `not_attachable` for a run that did not end.
pub(in crate::domain::decide) fn cited(
    state: &State,
    event: EventId,
    (claim_id, scopes): (ClaimId, &[Scope]),
    versions: &Versions,
    now: Timestamp,
) -> Result<Option<Said>, Rejection> {
    let Some((run_id, run)) = state.run_that_ended_with(event) else { return Ok(None) };
    conclusive(event, run)?;
    let prediction = Prediction::Passes;
    let unstable = run.key.as_ref().and_then(|key| state.stability().of(key, None, now).unstable);
    let mut verdict = verdict((Status::Proposed, scopes), run, prediction, unstable);
    if let Some(unfit) = unfit_for(run, (None, scopes)) {
        verdict = verdict.that_only_mentions(&unfit);
    }
    let of_scopes = scopes.iter().filter_map(|scope| versions.get_key_value(scope));
    if let Some(unlike) = versions::unlike_new(run, of_scopes) {
        verdict = verdict.that_only_mentions(&unlike.to_string());
    }
    // A new claim states the result of the run, so the run does not contradict it.
    let supports = verdict.relation == Some(Relation::Supports) && unstable.is_none();
    let relation = if supports { Relation::Supports } else { Relation::Mentions };
    let grade = Some(grade(state, run, claim_id, relation));
    let run = Some(behind((run_id, run), prediction, &verdict));
    Ok(Some(Said { relation, grade, run, meaning: None, why: verdict.why }))
}

pub(super) fn conclusive(event: EventId, run: &Run) -> Result<(), Rejection> {
    if run.state.is_conclusive() {
        return Ok(());
    }
    Err(Rejection::new(
        Code::NotAttachable,
        format!("event {event} ended a run that is {}, which is no evidence", run.state),
        "run it again: what did not come to its end shows nothing",
    ))
}
