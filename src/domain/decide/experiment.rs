//! Experiments: a run is queued, begins, ends, and says what it says about a claim.

mod cited;
mod outcome;

use serde_json::json;

pub(super) use self::cited::{cited, tied};
use self::outcome::grade;
pub(crate) use self::outcome::{ended, started};

use super::against::{self, INTERRUPTED, REPEATS_AFTER_A_TOUCH};
use super::verdict::{Verdict, verdict};
use super::{Accepted, PlannedRun, Speaker, fresh_id, known_claim, transition};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{Grade, Relation, Share, Status};
use crate::domain::command::{AttachExperiment, CancelExperiment, RecordExperiment, RunExperiment};
use crate::domain::event::{
    Event, EvidenceAdded, ExperimentCancelRequested, ExperimentCompleted, ExperimentQueued, RunBehind,
};
use crate::domain::experiment::{Plan, Prediction, RunOutcome, RunState, Series};
use crate::domain::ids::{ClaimId, RunId};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::state::{Claim, Run, State};
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
) -> Result<Accepted, Rejection> {
    fresh_id(state, "run_id", run.run_id.first_event())?;
    let Some(PlannedRun { plan, statement, further_runs }) = planned else { return Err(no_profiles()) };
    let claim = run.claim_id.map(|id| known_claim(state, id).map(|claim| (id, claim))).transpose()?;
    if let Some((id, claim)) = claim
        && claim.status == Status::Deprecated
    {
        return Err(about_deprecated(id, claim));
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
            }
            .into()
        })
        .collect();
    if run.blocking {
        let is_own = claim.is_some_and(|(_, claim)| state.is_own(agent, session, claim));
        let is_operator = *agent == AgentId::operator();
        let may_predict_failure =
            is_operator || claim.is_some_and(|(_, claim)| state.owns(agent, session, claim));
        let last = *further_runs.last().unwrap_or(&run.run_id);
        events.push(waiting((run, last), claim, plan, (is_own, may_predict_failure))?);
    }
    let meaning = claim.zip(prediction).map(|((id, claim), prediction)| {
        let against = run.blocking.then(|| unless(state, (id, claim), (plan, prediction), of));
        let against = against.flatten();
        meaning((id, claim), statement.as_ref(), (plan, prediction), (run.blocking, against))
    });
    let next = Some(format!("how it goes: `hivemind://experiments/{}`", run.run_id));
    Ok(Accepted { events, meaning, next, ..Accepted::default() })
}

/// The claim waits for the last of the runs, or the refusal of a run that it cannot wait for.
fn waiting(
    (run, last): (&RunExperiment, RunId),
    claim: Option<(ClaimId, &Claim)>,
    plan: &Plan,
    (is_own, may_predict_failure): (bool, bool),
) -> Result<Event, Rejection> {
    let Some((claim_id, claim)) = claim else {
        return Err(Rejection::invalid("claim_id", "a blocking run is about a claim: name it"));
    };
    let prediction = run.prediction.unwrap_or(Prediction::Passes);
    if let Some(why) = plan.cannot_settle(&claim.scopes, prediction) {
        return Err(Rejection::new(
            Code::ProfileCannotSettle,
            format!("a run of it settles nothing about claim {claim_id}: {why}"),
            "leave out blocking, or ask a human for a profile with [expect] and fitting scopes",
        ));
    }
    if prediction == Prediction::Fails && !may_predict_failure {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!(
                "claim {claim_id} is {}'s: only its owner and the operator say that it predicts a failure of a run \
                 that settles it",
                claim.owner
            ),
            format!(
                "ask {} to run it, or leave out blocking, and what it shows is evidence; or leave out the prediction, and \
                 the claim predicts that the run passes",
                claim.owner
            ),
        ));
    }
    if claim.status != Status::Contested {
        let without = json!({ "profile": run.profile, "claim_id": claim_id });
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

fn about_deprecated(id: ClaimId, claim: &Claim) -> Rejection {
    let hint = match claim.superseded_by {
        Some(successor) => format!("run it about its successor {successor}, or leave out the claim"),
        None => "leave out the claim, or make a new one that supersedes it".to_owned(),
    };
    let message = format!("claim {id} is deprecated: no run settles anything about it");
    Rejection::new(Code::ClaimDeprecated, message, hint)
}

/// What may prevent that the next runs prove a claim: the last run on record that contradicts it, or one of the same check
/// that was interrupted. What it is worth depends on the content, which is known once the run is over.
fn unless(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    (plan, prediction): (&Plan, Prediction),
    runs: u32,
) -> Option<String> {
    let against = claim.evidence.iter().filter(|(_, relation)| *relation == Relation::Contradicts);
    let against = against.filter_map(|(event, _)| state.run_that_ended_with(*event));
    // A contradiction that an agent retracted still counts if its run was about the claim.
    let taken_back = claim.taken_back.iter().filter_map(|event| state.run_that_ended_with(*event));
    let against = against.chain(taken_back.filter(|(_, run)| run.claim == Some(claim_id)));
    let against = against.chain(against::cited_failures(state, claim)).map(|(id, _)| id).max();
    if let Some(run) = against {
        return Some(format!("unless run {run} contradicts it on the same content"));
    }
    if let Some(run) = against::last_failed(state, (claim_id, claim), plan, prediction) {
        let times = REPEATS_AFTER_A_TOUCH;
        let which = format!("unless run {run} of the same check, which had the other outcome,");
        return Some(match runs < times {
            true => format!(
                "{which} may have had the same content: then repeat it {times} times (repeat: {times})"
            ),
            false => format!("{which} had the same content"),
        });
    }
    let run = against::last_interrupted(state, claim_id, plan).filter(|_| runs < REPEATS_AFTER_A_TOUCH)?;
    let (told, times) = (INTERRUPTED, REPEATS_AFTER_A_TOUCH);
    Some(format!(
        "unless run {run}, which {told}, had the same content: then repeat it {times} times (repeat: {times})"
    ))
}

/// What passing and failing will mean, in one sentence.
fn meaning(
    (id, claim): (ClaimId, &Claim),
    statement: Option<&Statement>,
    (plan, prediction): (&Plan, Prediction),
    (blocking, unless): (bool, Option<String>),
) -> String {
    let said = statement.map(|statement| {
        let statement = statement.as_str();
        let cut: String = statement.chars().take(SAID_CHARS).collect();
        format!(": \"{cut}{}\"", if cut.len() < statement.len() { "…" } else { "" })
    });
    let claimed = format!("claim {id}{}", said.unwrap_or_default());
    if let Some(why) = plan.cannot_settle(&claim.scopes, prediction) {
        return format!("whatever comes out, the run only mentions {claimed}; {why}");
    }
    let (holds, fails) = match prediction {
        Prediction::Passes => ("passing", "failing"),
        Prediction::Fails => ("failing", "passing"),
    };
    let (confirms, stays) = if blocking { (" and confirms", ", and it stays contested") } else { ("", "") };
    let unless = unless.map_or_else(String::new, |unless| format!(", {unless}"));
    format!("{holds} supports{confirms} {claimed}{unless}; {fails} contradicts it{stays}")
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
    if let Some(unlike) = versions::unlike_claim(run, claim) {
        let again = MeantAgain::of(!run.saw.versions.is_empty());
        let way = unlike.with_way(id, (claim.claim_type, &claim.scopes), again);
        verdict = verdict.that_only_mentions(&way);
    }
    let relation = verdict.relation.unwrap_or(Relation::Mentions);
    let meaning = Some(format!("claim {id}: run {run_id} {}", verdict.why));
    let grade = Some(grade(state, run, id, relation));
    let run = Some(behind((run_id, run), prediction, &verdict));
    Said { relation, grade, run, meaning, why: verdict.why }
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
            events.extend(ended(state, run_id, None, &outcome, &Versions::new(), now));
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
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::{ended, grade};
    use crate::domain::agent::AgentId;
    use crate::domain::claim::{Grade, Relation, Status};
    use crate::domain::command::{Command, Forget};
    use crate::domain::decide::{Facts, Policy, decide};
    use crate::domain::event::{Event, Recorded};
    use crate::domain::experiment::{ERASED_COMMAND, RunOutcome, RunState};
    use crate::domain::ids::{ClaimId, CommandId, EventId, RunId};
    use crate::domain::state::State;
    use crate::domain::time::Timestamp;
    use crate::domain::versions::Versions;

    fn id(number: u64) -> String {
        Uuid::from_u128(u128::from(number)).to_string()
    }

    /// An event as it is on record; its id is its position.
    fn at(seq: u64, by: (&str, Option<&str>), kind: &str, payload: Value) -> Recorded {
        let event = Event::decode(kind, &payload.to_string()).expect("an event");
        Recorded {
            seq,
            id: EventId::from_uuid(Uuid::from_u128(u128::from(seq))),
            agent: AgentId::recorded(by.0),
            session: by.1.map(|session| session.parse().expect("a session")),
            causation: CommandId::from_uuid(Uuid::from_u128(u128::from(seq))),
            at: Timestamp::from_ms(seq as i64 * 1_000),
            event: Some(event),
            erased: None,
        }
    }

    fn seated(seq: u64, agent: &str, session: &str) -> Recorded {
        at(
            seq,
            (agent, Some(session)),
            "agent.seated",
            json!({ "agent": agent, "client": "codex", "session": session }),
        )
    }

    fn queued(seq: u64, by: (&str, Option<&str>), blocking: bool) -> Recorded {
        let plan = json!({
            "profile": "check", "profile_sha256": "00", "argv": ["true"], "cwd": "/", "env": { "only": [] },
            "timeout_ms": 1000, "limits": {}, "uncapped": false, "pty": false, "expect": { "exit": 0 },
            "scopes": ["src/**"],
        });
        let payload = json!({
            "run_id": id(seq), "plan": plan, "args": {}, "claim_id": id(1), "prediction": "passes",
            "blocking": blocking,
        });
        at(seq, by, "experiment.queued", payload)
    }

    fn completed(seq: u64, run: u64, more: &Value) -> Recorded {
        let mut payload = json!({
            "run_id": id(run), "profile": "check", "command": "true", "state": "succeeded", "exit_code": 0,
            "git": { "sha": "abc", "dirty": false },
        });
        payload.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        at(seq, ("system", None), "experiment.completed", payload)
    }

    fn claim() -> Recorded {
        let payload = json!({
            "claim_id": id(1), "statement": "the pool is fair", "claim_type": "fact", "scopes": ["src/pool"],
            "confidence": 1.0,
        });
        at(1, ("devops", None), "claim.created", payload)
    }

    fn folded(events: &[Recorded]) -> State {
        let mut state = State::default();
        events.iter().for_each(|event| state.evolve(event));
        state
    }

    /// The grade of a second run, by the pane of a session under a name, of what a first pane ran before.
    fn graded(agent: &str, session: &str) -> Grade {
        let support =
            json!({ "claim_id": id(1), "evidence_ref": id(5), "relation": "supports", "weight": 1.0 });
        let state = folded(&[
            claim(),
            seated(2, "codex-1", "s-1"),
            queued(3, ("codex-1", Some("s-1")), false),
            seated(4, agent, session),
            completed(5, 3, &json!({})),
            at(6, ("system", None), "evidence.added", support),
            queued(7, (agent, Some(session)), false),
            completed(8, 7, &json!({})),
        ]);
        let run = state.run(RunId::from_uuid(Uuid::from_u128(7))).expect("a run");
        grade(&state, run, ClaimId::from_uuid(Uuid::from_u128(1)), Relation::Supports)
    }

    #[test]
    fn a_pane_reproduces_nothing_of_its_own_under_another_name() {
        assert_eq!(graded("codex-2", "s-2"), Grade::Reproduced);
        assert_eq!(graded("codex-2", "s-1"), Grade::Observed);
    }

    /// The events that the erasure of an event makes.
    fn erasure(state: &State, target: &Recorded, seq: u64) -> Vec<Recorded> {
        let forget = Forget { event_id: target.id, reason: "a customer's name".parse().expect("a reason") };
        let mut facts = Facts::default();
        facts.erasure.target = Some(target.clone());
        let (command, now, policy) = (Command::Forget(forget), Timestamp::from_ms(0), Policy::default());
        let decision =
            decide(state, &AgentId::operator(), None, &facts, &command, now, &policy).expect("an erasure");
        let made = decision.events.into_iter().zip(seq..);
        let operator = ("operator", Some("s-operator"));
        let recorded = made.map(|(event, seq)| Recorded {
            event: Some(event),
            ..at(seq, operator, "operator.overridden", json!({ "verb": "x", "reason": "y" }))
        });
        recorded.collect()
    }

    /// The state with the event erased, live and as a writer that starts folds it: both must be the same.
    fn erased(mut events: Vec<Recorded>, target: usize) -> State {
        let mut live = folded(&events);
        let more = erasure(&live, &events[target], events.len() as u64 + 1);
        more.iter().for_each(|event| live.evolve(event));
        events[target].event = None;
        events.extend(more);
        let again = folded(&events).without_patterns();
        let live = live.without_patterns();
        assert_eq!(live, again);
        live
    }

    #[test]
    fn the_end_of_a_run_that_is_said_again_after_an_erasure_changes_nothing() {
        let ran = |seq| {
            let payload = json!({ "command": "wc -l", "exit_code": 0, "failed": false, "runs": ["wc -l"] });
            at(seq, ("codex-1", Some("s-1")), "command.ran", payload)
        };
        let key = json!({ "key": { "test": "t", "content": "c" }, "undecided": "`src/pool` of Ana changed" });
        let events =
            vec![claim(), queued(2, ("codex-1", Some("s-1")), false), ran(3), completed(4, 2, &key), ran(5)];
        let before = folded(&events);
        let session = "s-1".parse().expect("a session");
        let after = erased(events.clone(), 3);
        assert_eq!(after.last_done(&session), before.last_done(&session), "not the run again");
        assert_eq!(after.last_done(&"s-operator".parse().expect("a session")), None);
        assert_eq!(after.stability(), before.stability());
        let run = after.run(RunId::from_uuid(Uuid::from_u128(2))).expect("a run");
        let why = run.undecided.as_ref().map(ToString::to_string).expect("still undecided");
        assert!(!why.contains("Ana"), "{why}");
        // The end that is said again can be erased as well: each of its ids still means the run.
        let again = &erasure(&before, &events[3], 6)[1];
        let [first, second] = [&events[3], again].map(|end| end.id);
        let mut events_left = events.clone();
        events_left.extend(erasure(&before, &events[3], 6));
        events_left[3].event = None;
        let twice = erased(events_left, 6);
        assert!(twice.are_one_event(first, second) && !twice.are_one_event(first, events[2].id));
        // Where the end was the last thing that the session did, it still is.
        let ends = events[..4].to_vec();
        assert_eq!(erased(ends, 3).last_done(&session), Some(EventId::from_uuid(Uuid::from_u128(2))));
    }

    #[test]
    fn a_run_is_erased_by_its_event_and_not_by_what_was_typed() {
        let erased = |state: &State| state.erased_runs().collect::<Vec<_>>();
        let run_id = RunId::from_uuid(Uuid::from_u128(2));
        let left = json!({ "command": ERASED_COMMAND, "meta_sha256": "ab12" });
        let typed = folded(&[completed(2, 2, &left)]);
        assert_eq!(erased(&typed), [], "a human typed it");
        // An older release marked an erased run by its command alone.
        let old = json!({ "run_id": id(2), "command": ERASED_COMMAND, "state": "succeeded" });
        let old = at(3, ("operator", None), "experiment.completed", old);
        assert_eq!(erased(&folded(&[completed(2, 2, &left), old])), [run_id]);
        let more = erasure(&typed, &completed(2, 2, &left), 3);
        let [completed, again] = [completed(2, 2, &left), more.last().expect("an end").clone()];
        assert_eq!(erased(&folded(&[completed, again])), [run_id]);
    }

    #[test]
    fn the_erasure_of_an_old_run_leaves_a_test_that_was_cleared_stable() {
        let mut events = vec![claim()];
        let outcomes = [("a", "succeeded"), ("a", "failed")].into_iter().chain([("b", "succeeded"); 5]);
        for (content, state) in outcomes {
            let seq = events.len() as u64 + 1;
            events.push(queued(seq, ("codex-1", Some("s-1")), false));
            let clears = seq == 14;
            let key =
                json!({ "key": { "test": "t", "content": content }, "state": state, "stable_again": clears });
            events.push(completed(seq + 1, seq, &key));
        }
        let now = Timestamp::from_ms(20_000);
        let key = |content: &str| {
            serde_json::from_value(json!({ "test": "t", "content": content })).expect("a key")
        };
        for end in [2, 4, 14] {
            let after = erased(events.clone(), end);
            for content in ["b", "c"] {
                assert_eq!(after.stability().of(&key(content), None, now).unstable, None, "{end} {content}");
            }
        }
    }

    #[test]
    fn a_proof_whose_move_is_said_again_stays_a_proof() {
        let moved = |seq, from: &str, to: &str, reason: &str| {
            let payload = json!({ "claim_id": id(1), "from": from, "to": to, "reason": reason });
            at(seq, ("system", None), "claim.status_changed", payload)
        };
        let proof = format!("proof:{}", id(3));
        let events = vec![
            claim(),
            moved(2, "proposed", "contested", "challenged"),
            queued(3, ("codex-1", Some("s-1")), true),
            moved(4, "contested", "pending_proof", "waits"),
            completed(5, 3, &json!({})),
            moved(6, "pending_proof", "confirmed", &proof),
        ];
        let made = erasure(&folded(&events), &events[5], 7);
        let Some(Event::StatusChanged(again)) = &made[1].event else {
            panic!("the move said again: {made:?}")
        };
        assert_eq!((again.to, again.reason.as_str()), (Status::Confirmed, proof.as_str()));
        let after = erased(events, 5);
        let claim = after.claim(ClaimId::from_uuid(Uuid::from_u128(1))).expect("a claim");
        assert_eq!(claim.proof, Some(RunId::from_uuid(Uuid::from_u128(3))));
    }

    fn position(seq: u64, by: &str, position: &str) -> Recorded {
        let payload = json!({ "claim_id": id(1), "position": position, "reason": "seen" });
        at(seq, (by, None), "position.taken", payload)
    }

    fn moved(seq: u64, from: &str, to: &str) -> Recorded {
        let payload = json!({ "claim_id": id(1), "from": from, "to": to, "reason": "as it went" });
        at(seq, ("system", None), "claim.status_changed", payload)
    }

    /// How a claim moves at the end of the run that it waits for, after the positions taken meanwhile.
    fn moves(meanwhile: &[(&str, &str)], ends: RunState) -> Vec<(Status, Status)> {
        let mut events = vec![
            claim(),
            position(2, "reviewer", "challenge"),
            moved(3, "proposed", "contested"),
            queued(4, ("devops", None), true),
            moved(5, "contested", "pending_proof"),
        ];
        let taken = (6..).zip(meanwhile).map(|(seq, (by, held))| position(seq, by, held));
        events.extend(taken);
        moves_at_the_end(&events, 4, ends)
    }

    fn moves_at_the_end(events: &[Recorded], run: u64, ends: RunState) -> Vec<(Status, Status)> {
        let run = RunId::from_uuid(Uuid::from_u128(run.into()));
        let outcome = RunOutcome::without_files(ends, None);
        let now = Timestamp::from_ms(20_000);
        let events = ended(&folded(events), run, None, &outcome, &Versions::new(), now);
        let moves = events.into_iter().filter_map(|event| {
            if let Event::StatusChanged(change) = event { Some((change.from, change.to)) } else { None }
        });
        moves.collect()
    }

    /// Red before: a cancelled run took the earlier proof with it, and the challenge that was answered counted again.
    #[test]
    fn a_run_without_an_outcome_leaves_an_earlier_proof() {
        let proven = [
            claim(),
            position(2, "reviewer", "challenge"),
            moved(3, "proposed", "contested"),
            queued(4, ("devops", None), true),
            moved(5, "contested", "pending_proof"),
            completed(6, 4, &json!({})),
            moved(7, "pending_proof", "confirmed"),
            position(8, "analyst", "challenge"),
            moved(9, "confirmed", "contested"),
            queued(10, ("devops", None), true),
            moved(11, "contested", "pending_proof"),
            position(12, "analyst", "abstain"),
        ];
        let back = (Status::PendingProof, Status::Contested);
        let proof_stands = [back, (Status::Contested, Status::Confirmed)];
        assert_eq!(moves_at_the_end(&proven, 10, RunState::Canceled), proof_stands);
        assert_eq!(moves_at_the_end(&proven, 10, RunState::Failed), [back]);
    }

    /// A claim that is challenged, then an earlier run of a check, and then the run that it waits for: whether the last
    /// one proves it. `first` is the end of the earlier run, and `cites` says that the challenge cites it.
    fn proves_after(first: &Value, cites: bool) -> bool {
        let mut challenge = json!({ "claim_id": id(1), "position": "challenge", "reason": "seen" });
        if cites {
            challenge["evidence_ref"] = json!(id(3));
        }
        let events = [
            claim(),
            queued(2, ("devops", None), false),
            completed(3, 2, first),
            at(4, ("reviewer", None), "position.taken", challenge),
            moved(5, "proposed", "contested"),
            queued(6, ("devops", None), true),
            moved(7, "contested", "pending_proof"),
        ];
        let moves = moves_at_the_end(&events, 6, RunState::Succeeded);
        moves == [(Status::PendingProof, Status::Confirmed)]
    }

    /// Red before: a cited failure did not count, and an interrupted run left no trace.
    #[test]
    fn a_cited_failure_and_an_interrupted_run_leave_one_later_pass_without_force() {
        let ended = |state: &str, interrupted: bool| json!({ "state": state, "interrupted": interrupted });
        assert!(proves_after(&ended("succeeded", false), true));
        assert!(proves_after(&ended("failed", false), false), "a failure that no agent tied to the claim");
        assert!(!proves_after(&ended("failed", false), true));
        for state in ["canceled", "timed_out", "aborted"] {
            assert!(proves_after(&ended(state, false), true), "{state} in an event of an older release");
            assert!(!proves_after(&ended(state, true), false), "{state}");
        }
    }

    /// Red before: the claim stayed contested, although no agent challenged it.
    #[test]
    fn after_a_run_without_an_outcome_the_positions_decide() {
        let back = (Status::PendingProof, Status::Contested);
        let withdrawn = ("reviewer", "abstain");
        assert_eq!(moves(&[], RunState::Canceled), [back]);
        let proposed = [back, (Status::Contested, Status::Proposed)];
        assert_eq!(moves(&[withdrawn], RunState::Canceled), proposed);
        let confirmed = [back, (Status::Contested, Status::Confirmed)];
        assert_eq!(moves(&[withdrawn, ("analyst", "support")], RunState::TimedOut), confirmed);
        assert_eq!(moves(&[withdrawn, ("analyst", "challenge")], RunState::Aborted), [back]);
        // A run that contradicts the claim speaks for itself.
        assert_eq!(moves(&[withdrawn], RunState::Failed), [back]);
    }
}
