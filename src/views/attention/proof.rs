//! Items about the runs of claims: proofs that wait, are contradicted since or are unstable.

use serde_json::{Value, json};

use super::list::MAX_SHOWN;
use super::moves::{its_end, move_of};
use super::{Kind, Need};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Position, Status};
use crate::domain::decide::{
    NEITHER_DECIDES, NO_PREDICTION, NOT_TOLD_APART, ONE_PROVES_NOTHING, REPEATS_AFTER_A_TOUCH,
};
use crate::domain::digest::says_failure;
use crate::domain::event::{Event, PositionTaken};
use crate::domain::experiment::{Prediction, RunState};
use crate::domain::ids::ClaimId;
use crate::domain::scope::Scope;
use crate::domain::state::EQUAL_RUNS;
use crate::domain::versions::{MeantAgain, Versions, differ, way_forward};
use crate::domain::way;
use crate::ledger;
use crate::runner::profile::Fitting;
use crate::store::{ClaimSummary, ExperimentFilter, ExperimentView, PositionHeld, Reader, StoreError};
use crate::views::markdown::name;
use crate::workspace::Workspace;

/// The most positions of a challenger that are read to find its last word on a claim.
const MAX_POSITIONS: usize = 200;

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

/// A claim that one run proved or that the team agreed to, with the run that contradicts it.
/// On other content than the claim is about, no run takes that back: its owner says first that it is still meant.
pub(super) fn failed_since(
    store: &Reader,
    claim: &ClaimSummary,
    is_changed: &dyn Fn(&ClaimSummary) -> bool,
) -> Result<Option<Need>, StoreError> {
    let Some(against) = claim.against() else { return Ok(None) };
    let failed = against.run;
    let run = store.experiment(failed)?;
    let since = run.as_ref().and_then(|run| run.completed_at).unwrap_or(claim.touched_at);
    let proof = proof_run(store, claim)?;
    let is_both = store.came_out_both_ways(failed)?;
    let repeat = is_both.then_some(EQUAL_RUNS);
    let again = run.and_then(|run| repeated(claim.id, &run, proof.as_ref(), repeat));
    let still = super::moves::position("still", claim.id);
    let again = again.map(|again| match is_both {
        _ if is_changed(claim) => format!("its files changed since: or `{still}`, and then {again}"),
        true => format!("or {EQUAL_RUNS} equal runs once the content is another: {again}"),
        false => format!("or a later run that comes out right: {again}"),
    });
    let what = vec![claim.statement.clone(), format!("{} ({failed})", against.words())];
    let ids = vec![claim.id.to_string(), failed.to_string()];
    Ok(Some(Need { hint: again, ..Need::new(Kind::FailedSince, ids, since, its_end(store, claim)?, what) }))
}

/// A claim whose proof is unstable.
pub(super) fn unstable(store: &Reader, claim: &ClaimSummary, since: i64) -> Result<Need, StoreError> {
    let proof = proof_run(store, claim)?;
    let ids = std::iter::once(claim.id.to_string()).chain(proof.iter().map(|run| run.run_id.to_string()));
    let ids = ids.collect();
    let again = proof.as_ref().and_then(|run| repeated(claim.id, run, Some(run), Some(EQUAL_RUNS)));
    let still = super::moves::position("still", claim.id);
    let once = format!("once the content is another, after `{still}` if it is that of its own files");
    let again = again.map(|again| format!("or {EQUAL_RUNS} equal runs {once}: {again}"));
    let what = vec![claim.statement.clone(), "its test passed and failed on the same content".to_owned()];
    Ok(Need { hint: again, ..Need::new(Kind::Unstable, ids, since, its_end(store, claim)?, what) })
}

/// Whether the files of a claim hold something else here than what it is about.
pub(super) fn holds_other(store: &Reader, workspace: &Workspace, claim: &ClaimSummary) -> bool {
    let scopes: Vec<Scope> = claim.scopes.iter().filter_map(|scope| scope.parse().ok()).collect();
    let meant = store.versions_of(std::iter::once(claim.id)).ok().and_then(|mut of| of.remove(&claim.id));
    let now = crate::versions::seen_at_once(workspace.root(), &scopes);
    meant.zip(now).is_some_and(|((meant, _), (now, _))| differ(&meant, &now))
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
    let repeat = repeat.map(|repeat| ("repeat", json!(repeat)));
    call(claim, run, proof, repeat.as_slice())
}

/// Such a call with more arguments.
fn call(
    claim: ClaimId,
    run: &ExperimentView,
    proof: Option<&ExperimentView>,
    more: &[(&str, Value)],
) -> Option<String> {
    let mut call = json!({ "profile": run.profile.as_ref()?, "claim_id": claim });
    if !run.args.is_empty() {
        call["args"] = run.args.iter().map(|(name, value)| format!("{name}={value}")).collect();
    }
    if let Some(prediction) = proof.unwrap_or(run).prediction.filter(|it| *it != Prediction::Passes) {
        call["prediction"] = json!(prediction);
    }
    for (name, value) in more {
        call[*name] = value.clone();
    }
    Some(way::call("run_experiment", &call))
}

/// The run that settles the contradiction instead. A run is about files, never about a decision. `None` where no profile
/// fits.
pub(super) fn proof_of(
    store: &Reader,
    profiles: &Fitting<'_>,
    (claim, claim_type, scopes): (ClaimId, Option<ClaimType>, &[String]),
) -> Option<String> {
    let scopes: Vec<Scope> = scopes.iter().filter_map(|scope| scope.parse().ok()).collect();
    if !scopes.iter().any(Scope::is_path) {
        return None;
    }
    let said = store.last_prediction(claim);
    let Some((run, _)) = said.filter(|(_, prediction)| *prediction == Prediction::Fails) else {
        let of_failure =
            || store.claim(claim).ok().flatten().filter(|claim| says_failure(&claim.summary.statement));
        let unsaid = if said.is_none() { of_failure() } else { None };
        let prediction = if unsaid.is_some() { Prediction::Fails } else { Prediction::Passes };
        let run = profiles.settling((claim, claim_type?), &scopes, prediction)?.run;
        return Some(match unsaid {
            Some(unsaid) => {
                format!("{} says by a run which outcome shows it, as with {run}", name(&unsaid.summary.owner))
            }
            None => format!("a run may decide instead: {run}"),
        });
    };
    let run = store.experiment(run).ok()??;
    let names = profiles.names(&scopes, Prediction::Fails);
    let profile =
        run.profile.as_ref().filter(|profile| names.iter().any(|(name, _)| name == profile.as_str()))?;
    let again = call(claim, &run, None, &[("blocking", json!(true))])?;
    // A challenger that runs it has to know.
    let by = name(&run.requested_by);
    Some(format!("{by} says that a failure of {profile} shows it, and a run may decide instead: {again}"))
}

/// What settles a contested claim instead of a run that would decide nothing: its files hold something else now, or a
/// challenger saw other content of them in another work tree.
pub(super) fn changed(
    store: &Reader,
    workspace: &Workspace,
    (claim, claim_type, scopes): (ClaimId, Option<ClaimType>, &[String]),
) -> Option<String> {
    let scopes: Vec<Scope> = scopes.iter().filter_map(|scope| scope.parse().ok()).collect();
    let (meant, _) = store.versions_of(std::iter::once(claim)).ok()?.remove(&claim)?;
    let (now, _) = crate::versions::seen_at_once(workspace.root(), &scopes)?;
    let way = || way_forward(claim, claim_type, Some(&scopes), MeantAgain::ByStill);
    if differ(&meant, &now) {
        return Some(format!("its files changed since, so a run decides nothing now: {}", way()));
    }
    let (challenger, is_here) = challenged_other(store, workspace, claim, &now)?;
    let (challenger, way) = (name(&challenger), way());
    let (there, here) = if is_here { ("", "") } else { (" in another work tree", " here") };
    Some(format!(
        "{challenger} challenges other content of its files{there}, so a run{here} decides nothing now: {way}"
    ))
}

/// What settles a contested claim of which the last run decided nothing, because one run was not enough, because its check proved
/// the opposite too, or because the same check had that outcome under the
/// other prediction before. If it passed, another claim, which predicts one of them. A failure that is known predicts nothing,
/// so that the agents settle it themselves.
pub(super) fn undecidable(
    store: &Reader,
    (claim, claim_type, scopes): (ClaimId, Option<ClaimType>, &[String]),
) -> Option<String> {
    let view = store.claim(claim).ok()??;
    let reason = view.history.last()?.reason.as_deref()?;
    let instead = json!({
        "statement": way::STATEMENT, "claim_type": claim_type?, "scopes": scopes, "supersedes": claim,
    });
    let of_claim = ExperimentFilter { claim: Some(claim), limit: MAX_SHOWN, ..Default::default() };
    let runs = store.experiments(&of_claim).ok()?.experiments;
    if reason.contains(NOT_TOLD_APART) {
        return Some(
            "the check of its last run proved the opposite too, so it decides nothing: take one that comes out otherwise for \
             one of the two"
                .to_owned(),
        );
    }
    if reason.contains(ONE_PROVES_NOTHING) || reason.contains(" contradicted it") {
        let last = runs.iter().find(|run| reason.starts_with(&format!("run {}", run.run_id)))?;
        let mut call = json!({ "profile": last.profile.as_ref()?, "claim_id": claim, "blocking": true });
        if !last.args.is_empty() {
            call["args"] = last.args.iter().map(|(name, value)| format!("{name}={value}")).collect();
        }
        call["repeat"] = REPEATS_AFTER_A_TOUCH.into();
        return Some(format!("a run may decide instead: {}", way::call("run_experiment", &call)));
    }
    if !reason.contains(NEITHER_DECIDES) && !reason.contains(NO_PREDICTION) {
        return None;
    }
    let last = runs.into_iter().find(|run| reason.contains(&run.run_id.to_string()))?;
    Some(if last.status == RunState::Failed {
        let [abstain, support] = ["abstain", "support"].map(|take| super::moves::position(take, claim));
        let fails = ExperimentView { prediction: Some(Prediction::Fails), ..last };
        let again = call(claim, &fails, None, &[("blocking", json!(true))])?;
        format!(
            "a check of it failed under both predictions, or before the claim was made, so no run of an agent decides on this \
             content: the operator says by a run of its own that it fails: {again}; or each challenger looks at it, and says \
             `{abstain}` or `{support}`"
        )
    } else {
        let passes = ExperimentView { prediction: Some(Prediction::Passes), ..last };
        let again = call(claim, &passes, None, &[("blocking", json!(true))])?;
        format!(
            "a check of it came out alike under both predictions, so no run of an agent decides on this content: its owner \
             states it anew, and the first run says what it predicts: {}; or the operator says by a run of its own that it \
             passes: {again}",
            way::call("create_claim", &instead)
        )
    })
}

/// The first agent with an open challenge that saw other content than this, and whether it saw it in this work tree.
fn challenged_other(
    store: &Reader,
    workspace: &Workspace,
    claim: ClaimId,
    now: &Versions,
) -> Option<(String, bool)> {
    let view = store.claim(claim).ok()??;
    let proved = view.history.iter().filter(|moved| {
        let reason = moved.reason.as_deref().unwrap_or_default();
        reason.starts_with("proof:")
    });
    let answered = proved.map(|moved| moved.seq).max().unwrap_or(0);
    // A claim that lost its proof is proposed again, and its challenges are open.
    let lost = view.history.iter().any(|moved| moved.seq > answered && moved.to == Status::Proposed.as_str());
    let answered = if lost { 0 } else { answered };
    let ledger = ledger::Reader::open(&workspace.ledger()).ok()??;
    let worktree = workspace.worktree();
    let open = view.positions.iter().filter(|held| held.seq > answered);
    let mut open = open.filter(|held| held.position == Position::Challenge.as_str());
    open.find_map(|held| {
        let taken = last_challenge(&ledger, claim, held)?;
        let seen_in = taken.seen_in.as_ref().filter(|_| differ(&taken.versions, now))?;
        Some((held.agent.clone(), seen_in.worktree == worktree))
    })
}

/// The last time that an agent said its challenge of a claim: when it took the position, or said that it still means it.
fn last_challenge(ledger: &ledger::Reader, claim: ClaimId, held: &PositionHeld) -> Option<PositionTaken> {
    let said = ledger::Filter {
        after: held.seq - 1,
        kind: Some("position.taken".to_owned()),
        agent: Some(AgentId::recorded(held.agent.as_str())),
        limit: MAX_POSITIONS,
        newest: true,
        ..ledger::Filter::default()
    };
    ledger.list(&said).ok()?.into_iter().rev().find_map(|stored| {
        let Some(Event::PositionTaken(taken)) = stored.recorded().ok()?.event else { return None };
        (taken.claim_id == claim && taken.position == Position::Challenge).then_some(taken)
    })
}
