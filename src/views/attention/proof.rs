//! Items about the runs of claims: proofs that wait, failed since or are unstable.

use std::path::Path;

use serde_json::json;

use super::list::MAX_SHOWN;
use super::moves::{its_end, move_of};
use super::{Kind, Need};
use crate::domain::claim::ClaimType;
use crate::domain::experiment::Prediction;
use crate::domain::ids::ClaimId;
use crate::domain::scope::Scope;
use crate::domain::state::EQUAL_RUNS;
use crate::domain::versions::{MeantAgain, differ, way_forward};
use crate::domain::way;
use crate::runner::profile::Fitting;
use crate::store::{ClaimSummary, ExperimentFilter, ExperimentView, Reader, StoreError};

/// A claim that waits for a run, with that run.
pub(super) fn pending_proof(store: &Reader, claim: &ClaimSummary) -> Result<Need, StoreError> {
    let of_claim = ExperimentFilter { claim: Some(claim.id), limit: MAX_SHOWN, ..Default::default() };
    let mut runs = store.experiments(&of_claim)?.experiments.into_iter();
    let run = runs.find(|run| run.blocking && run.completed_at.is_none());
    let mut ids = vec![claim.id.to_string()];
    let mut since = claim.touched_at;
    let mut moves = its_end(store, claim)?;
    let mut hint = None;
    if let Some(run) = run {
        since = run.created_at;
        moves = move_of(&run.requested_by, [format!("hivemind://experiments/{}", run.run_id)]);
        hint =
            Some(format!("to stop it: {}", way::call("cancel_experiment", &json!({ "run_id": run.run_id }))));
        ids.push(run.run_id.to_string());
    }
    let what = vec![claim.statement.clone()];
    Ok(Need { hint, ..Need::new(Kind::PendingProof, ids, since, moves, what) })
}

/// A claim that one run proved, with the later run that contradicts it.
pub(super) fn failed_since(store: &Reader, claim: &ClaimSummary) -> Result<Option<Need>, StoreError> {
    let Some(failed) = claim.failed_since else { return Ok(None) };
    let run = store.experiment(failed)?;
    let since = run.as_ref().and_then(|run| run.completed_at).unwrap_or(claim.touched_at);
    let proof = proof_run(store, claim)?;
    let again = run.and_then(|run| repeated(claim.id, &run, proof.as_ref(), None));
    let again = again.map(|again| format!("or a later run that comes out right: {again}"));
    let what = vec![claim.statement.clone(), format!("failed since ({failed})")];
    let ids = vec![claim.id.to_string(), failed.to_string()];
    Ok(Some(Need { hint: again, ..Need::new(Kind::FailedSince, ids, since, its_end(store, claim)?, what) }))
}

/// A claim whose proof is unstable.
pub(super) fn unstable(store: &Reader, claim: &ClaimSummary, since: i64) -> Result<Need, StoreError> {
    let proof = proof_run(store, claim)?;
    let ids = std::iter::once(claim.id.to_string()).chain(proof.iter().map(|run| run.run_id.to_string()));
    let ids = ids.collect();
    let again = proof.as_ref().and_then(|run| repeated(claim.id, run, Some(run), Some(EQUAL_RUNS)));
    let again = again.map(|again| format!("or {EQUAL_RUNS} equal runs once the content is another: {again}"));
    let what = vec![claim.statement.clone(), "its test passed and failed on the same content".to_owned()];
    Ok(Need { hint: again, ..Need::new(Kind::Unstable, ids, since, its_end(store, claim)?, what) })
}

/// The run that proved a claim.
pub(super) fn proof_run(store: &Reader, claim: &ClaimSummary) -> Result<Option<ExperimentView>, StoreError> {
    let run = claim.proof.as_ref().map(|proof| store.experiment(proof.run_id)).transpose()?;
    Ok(run.flatten())
}

/// The call that runs the test of a run again for a claim, with the outcome that the claim predicts of its proof.
pub(super) fn repeated(
    claim: ClaimId,
    run: &ExperimentView,
    proof: Option<&ExperimentView>,
    repeat: Option<u32>,
) -> Option<String> {
    let mut call = json!({ "profile": run.profile.as_ref()?, "claim_id": claim });
    if !run.args.is_empty() {
        call["args"] = run.args.iter().map(|(name, value)| format!("{name}={value}")).collect();
    }
    if let Some(prediction) = proof.unwrap_or(run).prediction.filter(|it| *it != Prediction::Passes) {
        call["prediction"] = json!(prediction);
    }
    if let Some(repeat) = repeat {
        call["repeat"] = repeat.into();
    }
    Some(way::call("run_experiment", &call))
}

/// The run that settles the contradiction instead. A run is about files, never about a decision. `None` where no profile
/// fits.
pub(super) fn proof_of(
    profiles: &Fitting<'_>,
    (claim, claim_type, scopes): (ClaimId, Option<ClaimType>, &[String]),
) -> Option<String> {
    let scopes: Vec<Scope> = scopes.iter().filter_map(|scope| scope.parse().ok()).collect();
    if !scopes.iter().any(Scope::is_path) {
        return None;
    }
    let settling = profiles.settling(claim, claim_type?, &scopes)?;
    Some(format!("a run may decide instead: {}", settling.run))
}

/// What settles a contested claim instead of a run, if its files hold something else now: a run would decide nothing.
pub(super) fn changed(
    store: &Reader,
    root: &Path,
    (claim, claim_type, scopes): (ClaimId, Option<ClaimType>, &[String]),
) -> Option<String> {
    let scopes: Vec<Scope> = scopes.iter().filter_map(|scope| scope.parse().ok()).collect();
    let (meant, _) = store.versions_of(std::iter::once(claim)).ok()?.remove(&claim)?;
    let (now, _) = crate::versions::seen_at_once(root, &scopes)?;
    if !differ(&meant, &now) {
        return None;
    }
    let way = way_forward(claim, claim_type, Some(&scopes), MeantAgain::ByStill);
    Some(format!("its files changed since, so a run decides nothing now: {way}"))
}
