//! Experiments: a run is queued, begins, ends, and says what it says about a claim.

mod cited;
mod outcome;

use std::collections::BTreeMap;

use serde_json::json;

pub(super) use self::cited::{cited, tied};
use self::outcome::grade;
pub(crate) use self::outcome::{ended, started};

use super::against::{self, INTERRUPTED, ONLY_OPERATOR, REPEATS_AFTER_A_TOUCH, may_confirm};
use super::apart;
use super::quorum::Policy;
use super::supersession::last_successor;
use super::target;
use super::verdict::{Verdict, verdict};
use super::{Accepted, PlannedRun, Speaker, fresh_id, known_claim, transition};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{ClaimType, Grade, Relation, Share, Status};
use crate::domain::command::{AttachExperiment, CancelExperiment, RecordExperiment, RunExperiment};
use crate::domain::event::{
    Event, EvidenceAdded, ExperimentCancelRequested, ExperimentCompleted, ExperimentQueued, RunBehind,
};
use crate::domain::experiment::{Plan, Prediction, Reach, RunOutcome, RunState, Series};
use crate::domain::ids::{ClaimId, IdempotencyKey, RunId};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, EQUAL_RUNS, Run, State};
use crate::domain::text::{Reason, Statement};
use crate::domain::time::Timestamp;
use crate::domain::versions::{self, MeantAgain, Versions};
use crate::domain::way;

/// How often one request may run a profile: enough for a rate below 15 %, and a queue that still moves.
const REPEATS: std::ops::RangeInclusive<u32> = 2..=20;
/// Characters of a reason for a move that a run causes: the scopes it quotes may be long.
const REASON_CHARS: usize = 500;
/// Characters of a statement in the sentence that says what a run will mean.
const SAID_CHARS: usize = 120;

pub(super) fn run(
    state: &State,
    (agent, session): Speaker<'_>,
    run: &RunExperiment,
    planned: Option<&PlannedRun>,
    (now, policy): (Timestamp, &Policy),
) -> Result<Accepted, Rejection> {
    fresh_id(state, "run_id", run.run_id.first_event())?;
    let Some(planned) = planned else { return Err(no_profiles()) };
    let PlannedRun { plan, statement, further_runs, .. } = planned;
    let claim = run.claim_id.map(|id| known_claim(state, id).map(|claim| (id, claim))).transpose()?;
    if let Some((id, claim)) = claim
        && claim.status == Status::Deprecated
    {
        return Err(about_deprecated(state, id));
    }
    if run.prediction.is_some() && claim.is_none() {
        return Err(Rejection::invalid("prediction", "a claim predicts how a run comes out: name the claim"));
    }
    let of = run.repeat.unwrap_or(1);
    if run.repeat.is_some_and(|of| !REPEATS.contains(&of)) {
        let (least, most) = REPEATS.into_inner();
        return Err(Rejection::invalid("repeat", format!("a run is repeated {least} to {most} times")));
    }
    let prediction = claim.map(|_| run.prediction.unwrap_or(Prediction::Passes));
    let has_say =
        *agent == AgentId::operator() || claim.is_some_and(|(_, claim)| state.owns(agent, session, claim));
    let foreign = claim.zip(prediction).filter(|_| !has_say);
    let check = plan.check();
    if let Some((id, claim)) = claim
        && has_say
        && run.prediction.is_none()
        && claim.is_of_failure()
        && planned.cannot_settle(&claim.scopes, Prediction::Passes).is_none()
        && planned.unfit.is_none()
        && against::predicted(state, (id, claim), Some(&check)).is_none()
    {
        return Err(without_prediction(run, (id, claim)));
    }
    let foreign = foreign.and_then(|(claim, prediction)| unsaid(state, claim, (&check, prediction)));
    let reason_of = |why: &Option<String>| why.as_deref().and_then(Reason::cut);
    let ids = std::iter::once(run.run_id).chain(further_runs.iter().copied());
    let mut events: Vec<Event> = (1..=of)
        .zip(ids)
        .map(|(number, run_id)| {
            let series = (of > 1).then_some(Series { first: run.run_id, number, of });
            let (args, checkout, relation) = (run.args.clone(), Checkout::default(), None);
            let (plan, claim_id, blocking) = (plan.clone(), run.claim_id, run.blocking);
            ExperimentQueued {
                run_id,
                plan,
                args,
                claim_id,
                relation,
                prediction,
                series,
                blocking,
                checkout,
                versions: Versions::new(),
                unfit: reason_of(&planned.unfit),
                unsaid: reason_of(&foreign),
                guard_key: None,
            }
            .into()
        })
        .collect();
    if run.blocking {
        let is_own = claim.is_some_and(|(_, claim)| state.is_own(agent, session, claim));
        let last = *further_runs.last().unwrap_or(&run.run_id);
        events.push(waiting((run, last), claim, planned, (is_own, foreign.as_deref()))?);
    }
    let meaning = claim.zip(prediction).map(|((id, claim), prediction)| {
        let against = run.blocking.then(|| unless(state, (id, claim), (plan, prediction), (of, Some(now))));
        let against = against.flatten();
        let mentions =
            planned.cannot_settle(&claim.scopes, prediction).or_else(|| planned.unfit.clone()).or(foreign);
        let also = if mentions.is_none() { elsewhere(plan, claim) } else { String::new() };
        let said = meaning(
            (id, mentions),
            statement.as_ref(),
            prediction,
            (run.blocking, may_confirm(agent, policy), against),
        );
        said + &also
    });
    let next = Some(format!("how it goes: `hivemind://experiments/{}`", run.run_id));
    Ok(Accepted { events, meaning, next, ..Accepted::default() })
}

/// The run by which a guard settles a contested claim, the claim that waits for it, and what the run will mean. `saw` is
/// what the front saw of the claim's files.
///
/// # Errors
/// Why the run would settle nothing.
pub(super) fn by_guard(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    (run_id, planned): (RunId, &PlannedRun),
    (checkout, saw): (&Checkout, &Versions),
    key: IdempotencyKey,
    policy: &Policy,
) -> Result<(Vec<Event>, String), String> {
    let PlannedRun { plan, statement, .. } = planned;
    let prediction = Prediction::Passes;
    let missing = versions::no_file_of(claim, saw);
    // The run is that of an agent whose write the guard held back.
    let unsaid = || unsaid(state, (claim_id, claim), (&plan.check(), prediction));
    if let Some(why) = planned.cannot_settle(&claim.scopes, prediction).or(missing).or_else(unsaid) {
        return Err(why);
    }
    if let Some(change) =
        versions::changed_since(state, claim, Some(u64::MAX), saw, checkout.worktree.as_ref())
    {
        return Err(change.to_string());
    }
    let queued = ExperimentQueued {
        run_id,
        plan: plan.clone(),
        args: BTreeMap::new(),
        claim_id: Some(claim_id),
        relation: None,
        prediction: Some(prediction),
        series: None,
        blocking: true,
        checkout: checkout.clone(),
        versions: Versions::new(),
        unfit: None,
        unsaid: None,
        guard_key: Some(key),
    };
    let waits =
        transition(claim_id, Status::Contested, Status::PendingProof, &format!("waits for run {run_id}"));
    let against = unless(state, (claim_id, claim), (plan, prediction), (1, None));
    // The run is that of whoever wrote: an agent.
    let may_confirm = !policy.only_operator_confirms;
    let how = (true, may_confirm, against);
    let meaning = meaning((claim_id, None), statement.as_ref(), prediction, how);
    Ok((vec![queued.into(), waits], meaning))
}

/// The claim waits for the last of the runs, or the refusal of a run that it cannot wait for.
fn waiting(
    (run, last): (&RunExperiment, RunId),
    claim: Option<(ClaimId, &Claim)>,
    planned: &PlannedRun,
    (is_own, foreign): (bool, Option<&str>),
) -> Result<Event, Rejection> {
    let Some((claim_id, claim)) = claim else {
        return Err(Rejection::invalid("claim_id", "a blocking run is about a claim: name it"));
    };
    let prediction = run.prediction.unwrap_or(Prediction::Passes);
    if let Some(why) = planned.cannot_settle(&claim.scopes, prediction) {
        return Err(Rejection::new(
            Code::ProfileCannotSettle,
            format!("a run of it settles nothing about claim {claim_id}: {why}"),
            "leave out blocking, or ask a human for a profile with [expect] and fitting scopes",
        ));
    }
    if let Some(foreign) = foreign {
        let owner = &claim.owner;
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("this run would settle nothing: {foreign}"),
            if prediction == Prediction::Passes && !claim.is_of_failure() {
                format!(
                    "ask {owner} to run it; or leave out blocking: while you challenge the claim, no run of this check by \
                     {owner} decides on that content then, but one by the operator"
                )
            } else {
                format!(
                    "ask {owner} to run it, or leave out blocking, and the run is on record beside the claim"
                )
            },
        ));
    }
    if let Some(pending) = claim.pending_run.filter(|_| claim.status == Status::PendingProof) {
        return Err(Rejection::new(
            Code::InvalidTransition,
            format!("claim {claim_id} waits for run {pending} already"),
            format!("wait for its end: `hivemind://experiments/{pending}` shows how it goes"),
        )
        .with("from", claim.status)
        .with("to", Status::PendingProof));
    }
    if claim.status != Status::Contested {
        let mut without = json!({ "profile": run.profile, "claim_id": claim_id });
        if !run.args.is_empty() {
            let args = run.args.iter().map(|(name, value)| format!("{name}={value}"));
            without["args"] = args.collect();
        }
        if let Some(prediction) = run.prediction.filter(|it| *it != Prediction::Passes) {
            without["prediction"] = json!(prediction);
        }
        let without = way::call("run_experiment", &without);
        let challenge = json!({ "claim_id": claim_id, "reason": way::REASON });
        let challenge = way::call("challenge", &challenge);
        return Err(Rejection::new(
            Code::InvalidTransition,
            format!("claim {claim_id} is {}: only a contested claim waits for a proof", claim.status),
            if is_own {
                // No agent challenges a claim of its own.
                format!("leave out blocking, and what it shows is evidence: {without}")
            } else {
                format!("leave out blocking: {without}; or challenge the claim first: {challenge}")
            },
        )
        .with("from", claim.status)
        .with("to", Status::PendingProof));
    }
    Ok(transition(claim_id, claim.status, Status::PendingProof, &format!("waits for run {last}")))
}

/// Why a run of an agent without a say in a claim says nothing about it under this prediction. `None` if the claim predicts
/// that.
fn unsaid(
    state: &State,
    (id, claim): (ClaimId, &Claim),
    (check, prediction): (&str, Prediction),
) -> Option<String> {
    let owner = &claim.owner;
    match against::predicted(state, (id, claim), Some(check)) {
        Some(said) if said == prediction => None,
        Some(said) => Some(format!(
            "claim {id} predicts that the run {said}, by the last run about it of one who has a say in it"
        )),
        None if prediction == Prediction::Fails => Some(format!(
            "claim {id} is {owner}'s: only its owner and the operator say that it predicts a failure of a run"
        )),
        None if claim.is_of_failure() => Some(format!(
            "claim {id} {}: a pass may show it or refute it, and {owner} says which by a run of its own, with --prediction",
            of_failure(claim)
        )),
        None => None,
    }
}

/// The refusal of the first run about a claim that something fails, whose owner does not say which outcome shows it.
fn without_prediction(run: &RunExperiment, (id, claim): (ClaimId, &Claim)) -> Rejection {
    let way = |prediction| {
        let mut again = json!({ "profile": run.profile, "claim_id": id, "prediction": prediction });
        if !run.args.is_empty() {
            let args = run.args.iter().map(|(name, value)| format!("{name}={value}"));
            again["args"] = args.collect();
        }
        let rest = [
            ("blocking", run.blocking.then_some(json!(true))),
            ("repeat", run.repeat.map(|repeat| json!(repeat))),
            ("cwd", run.cwd.as_ref().map(|cwd| json!(cwd))),
        ];
        for (name, value) in rest {
            if let Some(value) = value {
                again[name] = value;
            }
        }
        way::call("run_experiment", &again)
    };
    Rejection::new(
        Code::InvalidArgument,
        format!("claim {id} {}: say which outcome of this check shows it", of_failure(claim)),
        format!(
            "if a failure shows it: {}; if a pass does: {}",
            way(Prediction::Fails),
            way(Prediction::Passes)
        ),
    )
    .with("argument", "prediction")
}

/// Why a run that was not queued for a claim says nothing about it: the claim predicts a failure of it, or it is a dead end
/// and nobody with a say in it said what it predicts.
fn unsaid_of_an_attached(state: &State, (id, claim): (ClaimId, &Claim), run: &Run) -> Option<String> {
    if run.claim == Some(id) {
        return None;
    }
    let why = match against::predicted(state, (id, claim), run.check.as_deref()) {
        Some(Prediction::Fails) => "predicts a failure, by the last run about it of one who has a say in it",
        None if claim.is_of_failure() => {
            return Some(format!(
                "claim {id} {}: a pass may show it or refute it; a run about the claim says what it predicts",
                of_failure(claim)
            ));
        }
        Some(Prediction::Passes) | None => return None,
    };
    Some(format!("claim {id} {why}; a run about the claim says what it predicts"))
}

/// What makes it unknown which outcome of a check shows a claim, after its name.
fn of_failure(claim: &Claim) -> &'static str {
    match claim.claim_type {
        ClaimType::Negative => "is a dead end",
        ClaimType::Fact | ClaimType::Decision | ClaimType::Hypothesis => "says that something fails",
    }
}

fn about_deprecated(state: &State, id: ClaimId) -> Rejection {
    let last = last_successor(state, id).unwrap_or(id);
    let hint = if state.claim(last).is_some_and(|claim| claim.status != Status::Deprecated) {
        format!("run it about its successor {last}, or leave out the claim")
    } else {
        format!("leave out the claim, or make a new one that supersedes {last}")
    };
    let message = format!("claim {id} is deprecated: no run settles anything about it");
    Rejection::new(Code::ClaimDeprecated, message, hint)
}

/// What may prevent that the next runs prove a claim: both outcomes of the check, the last run on record that contradicts
/// the claim or predicted the other outcome, or one of the same check that was interrupted. What it is worth depends on the
/// content, which is known once the run is over.
fn unless(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    (plan, prediction): (&Plan, Prediction),
    (runs, now): (u32, Option<Timestamp>),
) -> Option<String> {
    if let Some(rivals) = target::beside(state, (claim_id, claim)) {
        return Some(format!("unless {rivals} then"));
    }
    let unstable = now.and_then(|now| against::last_unstable(state, plan, now));
    if let Some((run, tally)) = unstable.filter(|_| runs < EQUAL_RUNS) {
        return Some(format!(
            "unless the check is still unstable: {tally} up to run {run}, and {EQUAL_RUNS} equal runs on other content clear \
             it (repeat: {EQUAL_RUNS})"
        ));
    }
    let against = claim.evidence.iter().filter(|(_, relation)| *relation == Relation::Contradicts);
    let against = against.filter_map(|(event, _)| state.run_that_ended_with(*event));
    // A contradiction that an agent retracted still counts if its run was about the claim.
    let taken_back = claim.taken_back.iter().filter_map(|event| state.run_that_ended_with(*event));
    let against = against.chain(taken_back.filter(|(_, run)| run.claim == Some(claim_id)));
    let against = against.chain(against::cited_failures(state, claim));
    let against = against.map(|(id, run)| (id, run.claim == Some(claim_id))).max();
    if let Some((run, is_about_it)) = against {
        if is_about_it {
            return Some(format!("unless run {run} contradicts it on the same content"));
        }
        let times = REPEATS_AFTER_A_TOUCH;
        return Some(format!(
            "unless run {run}, which is cited against it, had the same content; where nobody knows, repeat it {times} times \
             (repeat: {times})"
        ));
    }
    if let Some((run, kinship)) = against::last_failed(state, (claim_id, claim), plan, prediction) {
        let times = REPEATS_AFTER_A_TOUCH;
        let which = format!("unless run {run} of {} check, which had the other outcome,", kinship.as_str());
        let is_same_test = state.run(run).is_some_and(|run| run.check == Some(plan.check()));
        return Some(match runs < times {
            true if is_same_test => format!(
                "{which} had the same content, so that it is unstable; where nobody knows, repeat it {times} times \
                 (repeat: {times})"
            ),
            true => format!(
                "{which} may have had the same content: then repeat it {times} times (repeat: {times})"
            ),
            false => format!("{which} had the same content"),
        });
    }
    if let Some(run) =
        against::known_before_plan(state, (claim_id, claim), plan).filter(|_| prediction == Prediction::Fails)
    {
        return Some(format!(
            "unless run {run} of the same check, which failed before, had the same content: then it was no prediction"
        ));
    }
    if let Some((run, ended)) = against::last_of_other_prediction(state, (claim_id, claim), plan, prediction)
    {
        let ends = if ended == RunState::Succeeded { "passes" } else { "fails" };
        return Some(format!(
            "unless it {ends} on the content of run {run}, which predicted the other outcome: then neither decides"
        ));
    }
    if let Some((other, run)) = apart::proved_opposite(state, (claim_id, claim), plan) {
        return Some(format!(
            "unless the content is that of run {run}, by which this check proved {other}, {}: then it tells the two not apart",
            apart::otherwise(state, (claim_id, claim), other)
        ));
    }
    let times = REPEATS_AFTER_A_TOUCH;
    let reach = Reach::of(&plan.words(), "");
    let cited = against::cited_command(state, claim, reach.as_ref()).filter(|_| runs < times);
    if let Some(line) = cited {
        return Some(format!(
            "if it is repeated {times} times (repeat: {times}), because a challenge cites that `{line}` failed"
        ));
    }
    let run = against::last_interrupted(state, claim_id, plan).filter(|_| runs < times)?;
    let told = INTERRUPTED;
    Some(format!(
        "unless run {run}, which {told}, had the same content: then repeat it {times} times (repeat: {times})"
    ))
}

/// What passing and failing will mean, in one sentence.
fn meaning(
    (id, mentions): (ClaimId, Option<String>),
    statement: Option<&Statement>,
    prediction: Prediction,
    (blocking, may_confirm, unless): (bool, bool, Option<String>),
) -> String {
    let said = statement.map(|statement| {
        let statement = statement.as_str();
        let cut: String = statement.chars().take(SAID_CHARS).collect();
        format!(": \"{cut}{}\"", if cut.len() < statement.len() { "…" } else { "" })
    });
    let claimed = format!("claim {id}{}", said.unwrap_or_default());
    if let Some(why) = mentions {
        return format!("whatever comes out, the run only mentions {claimed}; {why}");
    }
    let (holds, fails) = match prediction {
        Prediction::Passes => ("passing", "failing"),
        Prediction::Fails => ("failing", "passing"),
    };
    let (confirms, stays) = match (blocking, may_confirm) {
        (true, true) => (" and confirms", ", and it stays contested"),
        (true, false) => ("", ", and it stays contested either way"),
        (false, _) => ("", ""),
    };
    let waits = format!("{ONLY_OPERATOR} (trust = human_only)");
    let unless = (blocking && !may_confirm).then_some(waits).or(unless);
    let unless = unless.map_or_else(String::new, |unless| format!(", {unless}"));
    format!("{holds} supports{confirms} {claimed}{unless}; {fails} contradicts it{stays}")
}

/// What a receipt adds where a failure may say nothing about the claim.
fn elsewhere(plan: &Plan, claim: &Claim) -> String {
    let is_pytest = || Reach::of(&plan.words(), "").is_some_and(|reach| reach.is_pytest());
    let file = claim.scopes.iter().find(|scope| scope.is_path() && !scope.is_whole());
    let file = file.filter(|_| plan.tests.is_empty() && is_pytest());
    file.map_or_else(String::new, |file| {
        format!("; a failure of tests that do not reach `{file}` says nothing")
    })
}

/// The refusal of a writer that was started without profiles.
pub(super) fn no_profiles() -> Rejection {
    Rejection::new(
        Code::Unavailable,
        "this writer has no profiles to run",
        "nothing was queued: restart the writer and call again",
    )
}

pub(super) fn attach(
    state: &State,
    attach: &AttachExperiment,
    now: Timestamp,
) -> Result<Accepted, Rejection> {
    let run = known_run(state, attach.run_id)?;
    let claim = known_claim(state, attach.claim_id)?;
    let Some(evidence_ref) = run.completed.filter(|_| run.state.is_conclusive()) else {
        let hint = if run.state.is_over() {
            "run it again: what did not come to its end shows nothing"
        } else {
            "wait until it is over"
        };
        let message = format!("run {} is {}, which is no evidence", attach.run_id, run.state);
        return Err(Rejection::new(Code::NotAttachable, message, hint).with("run_state", run.state));
    };
    let mut judged = claim.evidence.iter().filter(|(_, relation)| *relation != Relation::CausedBy);
    if let Some((evidence_ref, relation)) =
        judged.find(|(event, _)| state.are_one_event(*event, evidence_ref))
    {
        return Err(Rejection::new(
            Code::Duplicate,
            format!("run {} already {relation} claim {}", attach.run_id, attach.claim_id),
            "nothing to do: it is on record",
        )
        .with("evidence_ref", evidence_ref));
    }
    let said = said(state, (attach.run_id, run), (attach.claim_id, claim), now);
    let events = vec![
        EvidenceAdded {
            claim_id: attach.claim_id,
            evidence_ref,
            relation: said.relation,
            weight: Share::FULL,
            note: attach.summary.clone(),
            grade: said.grade,
            run: said.run,
        }
        .into(),
    ];
    Ok(Accepted { events, meaning: said.meaning, ..Accepted::default() })
}

/// How an event is tied to a claim.
pub(super) struct Said {
    pub(super) relation: Relation,
    pub(super) grade: Option<Grade>,
    pub(super) run: Option<RunBehind>,
    pub(super) meaning: Option<String>,
    /// Why, to be said after "run ID".
    pub(super) why: String,
}

/// What a run that is over says about a claim for which it was not queued, or not judged.
fn said(state: &State, (run_id, run): (RunId, &Run), (id, claim): (ClaimId, &Claim), now: Timestamp) -> Said {
    let prediction = Prediction::Passes;
    let unstable = run.key.as_ref().and_then(|key| state.stability().of(key, None, now).unstable);
    let mut verdict = verdict((claim.status, &claim.scopes), run, prediction, unstable);
    if let Some(unfit) = unfit_for(run, (Some(id), &claim.scopes)) {
        verdict = verdict.that_only_mentions(&unfit);
    }
    if let Some(unsaid) = unsaid_of_an_attached(state, (id, claim), run) {
        verdict = verdict.that_only_mentions(&unsaid);
    }
    if let Some(unlike) = versions::unlike_claim(run, claim) {
        let again = MeantAgain::of(!run.saw.versions.is_empty());
        let way = unlike.with_way(id, (claim.claim_type, &claim.scopes), again);
        verdict = verdict.that_only_mentions(&way);
    }
    let relation = verdict.relation.unwrap_or(Relation::Mentions);
    let is_mention = relation == Relation::Mentions;
    let showed = if is_mention { format!("{}, and ", showed(run)) } else { String::new() };
    let why = format!("{showed}{}", verdict.why);
    let meaning = Some(format!("claim {id}: run {run_id} {why}"));
    let grade = Some(grade(state, run, id, relation));
    let run = Some(behind((run_id, run), prediction, &verdict));
    Said { relation, grade, run, meaning, why }
}

/// Why what a run tests has nothing to do with a claim, as far as is on record.
fn unfit_for(run: &Run, (id, scopes): (Option<ClaimId>, &[Scope])) -> Option<String> {
    if id.is_some() && run.claim == id {
        return run.only_mentions().map(ToString::to_string);
    }
    let test = run.tests.iter().find(|test| !scopes.iter().any(|scope| scope.covers(test)))?;
    let is_about_file = scopes.iter().any(Scope::is_path);
    is_about_file.then(|| {
        format!("it ran `{test}`, and whether that names the claim's files was not looked at; run it about the claim")
    })
}

/// What a run showed, after its name.
pub(super) fn showed(run: &Run) -> String {
    let code = run.exit_code.map_or_else(String::new, |code| format!(" with exit code {code}"));
    match run.state {
        RunState::Succeeded => "passed".to_owned(),
        RunState::Failed => format!("failed{code}"),
        RunState::Queued
        | RunState::Running
        | RunState::TimedOut
        | RunState::Canceled
        | RunState::Aborted => format!("is {}", run.state),
    }
}

fn behind((run_id, run): (RunId, &Run), prediction: Prediction, verdict: &Verdict) -> RunBehind {
    let (profile, profile_sha256) = (run.profile.clone(), run.profile_sha256.clone());
    RunBehind { run_id, profile, profile_sha256, prediction, unstable: verdict.unstable }
}

pub(super) fn cancel(
    state: &State,
    agent: &AgentId,
    cancel: &CancelExperiment,
    now: Timestamp,
    policy: &Policy,
) -> Result<Accepted, Rejection> {
    let run = known_run(state, cancel.run_id)?;
    if run.state.is_over() {
        return Err(Rejection::new(
            Code::InvalidTransition,
            format!("run {} is {} already", cancel.run_id, run.state),
            "nothing to do: it is over",
        )
        .with("from", run.state)
        .with("to", RunState::Canceled));
    }
    if run.requested_by != *agent && ![AgentId::architect(), AgentId::operator()].contains(agent) {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("run {} was asked for by {}", cancel.run_id, run.requested_by),
            format!("ask {} or the architect to cancel it", run.requested_by),
        ));
    }
    let mut events: Vec<Event> = Vec::new();
    let alone = run.series.is_none().then_some((cancel.run_id, run));
    let together = run.series.into_iter().flat_map(|series| state.series(series.first));
    for (run_id, run) in alone.into_iter().chain(together).filter(|(_, run)| !run.state.is_over()) {
        events.push(ExperimentCancelRequested { run_id }.into());
        // One that waits is over with that; one under way is ended by the process that runs it.
        if run.state == RunState::Queued {
            let outcome = RunOutcome::without_files(RunState::Canceled, None);
            events.extend(ended(state, run_id, None, &outcome, &Versions::new(), (now, policy)));
        }
    }
    Ok(Accepted { events, ..Accepted::default() })
}

pub(super) fn record(
    state: &State,
    agent: &AgentId,
    record: &RecordExperiment,
) -> Result<Accepted, Rejection> {
    fresh_id(state, "run_id", record.run_id.first_event())?;
    if *agent != AgentId::operator() {
        return Err(Rejection::new(
            Code::NotAllowed,
            "only the operator runs what no profile names",
            format!("run a profile: {}", way::call("run_experiment", &json!({ "profile": "PROFILE" }))),
        ));
    }
    let completed = ExperimentCompleted {
        run_id: record.run_id,
        profile: None,
        command: record.command.clone(),
        outcome: record.outcome.clone(),
        asserted: record.asserted,
        undecided: None,
        key: None,
        unstable: None,
        stable_again: false,
        restates: None,
        erased: false,
    };
    let attach = json!({ "run_id": record.run_id, "claim_id": "CLAIM" });
    let next = Some(format!(
        "tie it to a claim, which it then mentions: {}",
        way::call("attach_experiment", &attach)
    ));
    Ok(Accepted { events: vec![completed.into()], next, ..Accepted::default() })
}

/// A reason of ours, cut to what is shown of one.
fn reason(text: &str) -> Reason {
    let cut: String = text.chars().take(REASON_CHARS).collect();
    cut.parse().expect("our own reasons are short and never empty")
}

fn known_run(state: &State, id: RunId) -> Result<&Run, Rejection> {
    state.run(id).ok_or_else(|| {
        Rejection::new(
            Code::UnknownRun,
            format!("no run has the id {id}"),
            "take the id from a receipt or from `hivemind://experiments`",
        )
    })
}

#[cfg(test)]
mod tests;
