//! An earlier run that contradicts a claim can prevent its proof by a later run. Agents choose the test and the
//! prediction, and a selected outcome is no proof.

use serde_json::{Value, json};

use super::apart;
use super::quorum::Policy;
use crate::domain::action::only_looks;
use crate::domain::agent::AgentId;
use crate::domain::claim::{Position, Relation};
use crate::domain::experiment::{Expect, Kinship, Plan, Prediction, Reach, RunState, Tally, are_one_command};
use crate::domain::ids::{ClaimId, EventId, RunId};
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, Deed, Run, State};
use crate::domain::text::CommandLine;
use crate::domain::time::Timestamp;
use crate::domain::versions::differ;
use crate::domain::way;

/// Number of equal runs that prove a claim against an earlier failure of the same test, if no file with a version
/// changed since. A single run may pass by chance, or after an unrelated change.
pub(crate) const REPEATS_AFTER_A_TOUCH: u32 = 3;

/// How a reason tells that a series settles what one run does not.
pub(crate) const ONE_PROVES_NOTHING: &str = "one run proves nothing";

/// The end of the sentence "run ID supports it, and", if another run contradicts the claim on the content of this run.
///
/// A contradiction that an agent retracted still counts if its run was about the claim. The content is another one only
/// if a file with a version has other bytes. Otherwise the contradiction counts until a series repeats the other run:
/// the same test with the same prediction.
pub(super) fn contradicted(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    (run_id, run): (RunId, &Run),
) -> Option<String> {
    let is_about_it = |other: &Run| other.claim == Some(claim_id);
    let in_force = claim.evidence.iter().filter(|(_, relation)| *relation == Relation::Contradicts);
    let in_force = in_force.filter_map(|(event, _)| state.run_that_ended_with(*event));
    let taken_back = claim.taken_back.iter().filter_map(|event| state.run_that_ended_with(*event));
    let taken_back = taken_back.filter(|(_, other)| is_about_it(other));
    let cited = cited_failures(state, claim);
    let others = in_force.chain(taken_back).chain(cited).filter(|(id, _)| *id != run_id);
    // The operator decides what the claim predicts of a check: an outcome that speaks for it does not speak against it.
    // So does that of a run attached to the claim afterwards, which had no prediction.
    let others = others.filter(|(_, other)| !speaks_for(claim_id, other, run));
    let predicted = |run: &Run| run.prediction.unwrap_or(Prediction::Passes);
    let is_repeated = |other: &Run| is_same_test(other, run) && predicted(other) == predicted(run);
    let are_enough = run.series.is_some_and(|series| series.of >= REPEATS_AFTER_A_TOUCH);
    let settling = [("blocking", json!(true)), ("repeat", json!(REPEATS_AFTER_A_TOUCH))];
    let mut unsettled = None;
    for (id, other) in others {
        let like = likeness(claim, other, run);
        match like {
            Likeness::Other => {}
            Likeness::Same => return Some(format!("run {id} contradicts it on the same content")),
            Likeness::Touched | Likeness::Unversioned | Likeness::Unknown if !is_repeated(other) => {
                let again = match other.profile {
                    Some(_) => format!(": {}", repeated(claim_id, other, &settling)),
                    None => String::new(),
                };
                let since = since(&like, claim, run);
                return Some(format!("run {id} of another test or prediction contradicts it{since}{again}"));
            }
            Likeness::Touched | Likeness::Unversioned | Likeness::Unknown if are_enough => {}
            Likeness::Touched | Likeness::Unversioned | Likeness::Unknown => {
                unsettled = unsettled.or(Some((id, like)));
            }
        }
    }
    if let Some((id, like)) = unsettled {
        let since = since(&like, claim, run);
        return Some(format!("run {id} contradicted it{since}: {}", repeated(claim_id, run, &settling)));
    }
    if let Some(why) = restated(state, (claim_id, claim), (run_id, run)) {
        return Some(why);
    }
    if let Some(why) = apart::not_told_apart(state, (claim_id, claim), run) {
        return Some(why);
    }
    if let Some((id, other, is_same)) = read_otherwise(state, (claim_id, claim), (run_id, run))
        && (is_same || !are_enough)
    {
        let code = other.exit_code.unwrap_or_default();
        let ended = format!("run {id} of the same command ended with exit code {code}");
        return Some(match is_same {
            true => format!("{ended} on the same content, so neither proves anything"),
            false => format!(
                "{ONE_PROVES_NOTHING}, because {ended}, on content that may be the same: {}",
                repeated(claim_id, run, &settling)
            ),
        });
    }
    let again = || repeated(claim_id, run, &settling);
    if !are_enough && let Some((_, told)) = other_outcome(state, (claim_id, claim), (run_id, run)) {
        return Some(format!("{ONE_PROVES_NOTHING}, because {told}: {}", again()));
    }
    if !are_enough && let Some(line) = cited_command(state, claim, run.reach().as_ref()) {
        return Some(format!(
            "{ONE_PROVES_NOTHING}, because a challenge cites that `{line}` failed: {}",
            again()
        ));
    }
    if let Some(id) = known_before(state, (claim_id, claim), (run_id, run)) {
        return Some(format!(
            "{NO_PREDICTION}, because run {id} of the same check failed before, on content that may be the same"
        ));
    }
    let id = interrupted(state, (claim_id, claim), (run_id, run)).filter(|_| !are_enough)?;
    Some(format!(
        "{ONE_PROVES_NOTHING}, because run {id} of the same check {INTERRUPTED}, and the content may be the same: {}",
        repeated(claim_id, run, &settling)
    ))
}

/// Whether an earlier run that is said to contradict a claim had the outcome that the claim predicts of a later one.
pub(super) fn speaks_for(claim_id: ClaimId, other: &Run, run: &Run) -> bool {
    let may_say = other.claim != Some(claim_id) || run.requested_by == AgentId::operator();
    may_say && is_same_test(other, run) && other.state == run.state
}

/// The contradiction of a claim that this one superseded, by a run on the same content. Other words for the same statement
/// do not end it. A claim that says the opposite predicts the outcome of that run.
fn restated(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    (run_id, run): (RunId, &Run),
) -> Option<String> {
    let is_own = |old: &Claim| state.is_own(&claim.owner, claim.session.as_ref(), old);
    let mut ids = vec![claim_id];
    let mut next = 0;
    while let Some(id) = ids.get(next).copied() {
        let before = state.replaced_by(id).filter(|(_, old)| is_own(old));
        let before: Vec<ClaimId> = before.map(|(old, _)| old).filter(|old| !ids.contains(old)).collect();
        ids.extend(before);
        next += 1;
    }
    for (old_id, old) in ids.into_iter().skip(1).filter_map(|id| Some((id, state.claim(id)?))) {
        let against = old.evidence.iter().filter(|(_, relation)| *relation == Relation::Contradicts);
        let events = against.map(|(event, _)| event).chain(&old.taken_back);
        let runs = events.filter_map(|event| state.run_that_ended_with(*event));
        let mut runs = runs.filter(|(id, other)| {
            *id != run_id
                && other.claim == Some(old_id)
                && !(is_same_test(other, run) && other.state == run.state)
                && matches!(likeness(claim, other, run), Likeness::Same)
        });
        if let Some((id, other)) = runs.next() {
            let holds = if other.state == RunState::Failed { Prediction::Fails } else { Prediction::Passes };
            let like_it = Run { prediction: Some(holds), ..other.clone() };
            let again = repeated(claim_id, &like_it, &[("blocking", json!(true))]);
            return Some(format!(
                "run {id} contradicted {old_id}, which this one replaces, on the same content: if this one says \
                 otherwise, it predicts the same outcome: {again}"
            ));
        }
    }
    None
}

/// Whether one request asked for both runs.
fn are_of_one_request(one: &Run, other: &Run) -> bool {
    one.series.zip(other.series).is_some_and(|(one, other)| one.first == other.first)
}

/// The last run of the same command that had the other outcome by the exit codes of this run's profile, if its own profile
/// calls its exit code something else. Besides, whether the content is known to be the same.
fn read_otherwise<'a>(
    state: &'a State,
    (claim_id, claim): (ClaimId, &Claim),
    (run_id, run): (RunId, &Run),
) -> Option<(RunId, &'a Run, bool)> {
    let process = run.process()?;
    let is_since = |other: &Run| is_since_challenge(claim, other) || is_about_former(state, claim_id, other);
    let others = state.runs().filter(|(id, other)| {
        *id != run_id
            && !are_of_one_request(run, other)
            && other.failed_elsewhere(&claim.scopes).is_none()
            && !(other.state.is_conclusive() && is_same_test(other, run))
            && read_by(run.expects.as_ref(), other).is_some_and(|read| read != run.state)
            && other.process().as_ref() == Some(&process)
    });
    // By the same exit codes it had no outcome: its tool was missing, or the check broke off.
    let is_read_alike = |other: &Run| !other.state.is_conclusive() && other.expects == run.expects;
    let others = others.filter_map(|(id, other)| match likeness(claim, other, run) {
        Likeness::Same => Some((id, other, !is_read_alike(other))),
        Likeness::Other => None,
        Likeness::Touched | Likeness::Unversioned | Likeness::Unknown => {
            is_since(other).then_some((id, other, false))
        }
    });
    others.max_by_key(|(id, _, is_same)| (*is_same, *id))
}

/// The outcome of a run by the exit codes of a profile. None for an exit code that shows nothing.
fn read_by(expect: Option<&Expect>, run: &Run) -> Option<RunState> {
    let (expect, code) = (expect?, run.exit_code.filter(|_| !run.asserted)?);
    if code == expect.exit && run.state.is_conclusive() {
        return Some(RunState::Succeeded);
    }
    let is_failure = expect.fails.contains(&code) || run.state.is_conclusive();
    (is_failure && code != expect.exit && !Expect::NOT_RUN.contains(&code)).then_some(RunState::Failed)
}

/// A run by which another one decides nothing about a claim: both are of one check, and the claim is said to predict both
/// outcomes of it.
#[derive(Clone, Copy)]
pub(super) struct Rival<'a> {
    pub(super) id: RunId,
    pub(super) run: &'a Run,
    how: Rivalry,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rivalry {
    /// It had the same outcome on the same content.
    Alike,
    /// A challenge cites its failure on the same content.
    Cited,
    /// It supports the claim, on whatever content.
    Supports,
}

impl Rival<'_> {
    /// Whether both say the same of the claim: that its check came out alike under both predictions.
    pub(super) fn is_alike(self) -> bool {
        self.how == Rivalry::Alike
    }

    /// How a run tells that it and this one decide nothing.
    pub(super) fn told(self) -> String {
        let Self { id, run, how } = self;
        match how {
            // Its agent has no say in what the claim predicts, and its challenge counts.
            Rivalry::Alike if run.unsaid.is_some() => {
                let by = &run.requested_by;
                format!("{}, while {by} challenges it; a run by the operator would", neither_decides(id))
            }
            Rivalry::Alike => format!("{}; a run by the operator would", neither_decides(id)),
            Rivalry::Cited => format!(
                "a challenge cites the failure of run {id} of the same check on the same content against it, so neither \
                 decides; a run by the operator would"
            ),
            Rivalry::Supports => {
                format!(
                    "run {id} of the same check supports it {NEITHER_DECIDES}, until its agent retracts that"
                )
            }
        }
    }
}

/// The last run of the same check that says that a claim predicts the other outcome. What the operator says counts alone.
pub(super) fn rival<'a>(
    state: &'a State,
    (claim_id, claim): (ClaimId, &'a Claim),
    (run_id, run): (RunId, &Run),
    prediction: Prediction,
) -> Option<Rival<'a>> {
    if run.requested_by == AgentId::operator() {
        return None;
    }
    let is_same = |other: &Run| matches!(likeness(claim, other, run), Likeness::Same);
    let others = state
        .runs()
        .filter(|(id, other)| *id != run_id && !are_of_one_request(run, other) && is_same_test(other, run));
    let how = |other: &Run| {
        let is_other = is_under_other_prediction(state, (claim_id, claim), other, prediction);
        let supports =
            || other.completed.is_some_and(|end| claim.evidence.contains(&(end, Relation::Supports)));
        if is_other && other.state == run.state && is_same(other) {
            Some(Rivalry::Alike)
        } else {
            (is_other && other.unsaid.is_none() && supports()).then_some(Rivalry::Supports)
        }
    };
    let others = others.filter_map(|(id, run)| Some(Rival { id, run, how: how(run)? }));
    let is_for_failure = prediction == Prediction::Fails && !claim.is_of_failure();
    let cited = cited_failures(state, claim).filter(|(_, other)| {
        is_for_failure
            && other.claim != Some(claim_id)
            && other.state == run.state
            && is_same_test(other, run)
            && is_same(other)
            && !has_operator_said((state, claim_id), other, prediction)
    });
    let cited = cited.map(|(id, run)| Rival { id, run, how: Rivalry::Cited });
    others.chain(cited).max_by_key(|rival| rival.id)
}

/// Whether a run about a claim that can settle it predicted another outcome. One of an agent without a say in that counts
/// while the agent challenges the claim and holds that it passes, until the operator says that it fails: otherwise an owner
/// could turn each check that refutes its claim into a proof.
fn is_under_other_prediction(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    other: &Run,
    prediction: Prediction,
) -> bool {
    let is_held = || {
        !claim.is_of_failure()
            && claim.positions.get(&other.requested_by) == Some(&Position::Challenge)
            && !has_operator_said((state, claim_id), other, prediction)
    };
    other.claim == Some(claim_id)
        && other.prediction.is_some_and(|other| other != prediction)
        && other.undecided.is_none()
        && other.unfit.is_none()
        && (other.unsaid.is_none() || prediction == Prediction::Fails && is_held())
        && other.failed_elsewhere(&claim.scopes).is_none()
        && other.cannot_settle(&claim.scopes, prediction).is_none()
}

/// Whether a run of the operator about a claim, of the same check as another run, had this prediction.
fn has_operator_said((state, claim_id): (&State, ClaimId), other: &Run, prediction: Prediction) -> bool {
    state.runs().any(|(_, run)| {
        run.claim == Some(claim_id)
            && run.requested_by == AgentId::operator()
            && run.prediction == Some(prediction)
            && run.check == other.check
    })
}

/// What a claim predicts of a check, by the last run about it that an agent with a say in it asked for: its owner or the
/// operator. The last one of another check counts if there is none of this one. None if none of them said. A run that can settle
/// nothing, or did not come to its end, says nothing.
pub(crate) fn predicted(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    check: Option<&str>,
) -> Option<Prediction> {
    let says = |run: &Run| {
        let prediction = run.prediction.filter(|_| run.claim == Some(claim_id) && run.unfit.is_none())?;
        let has_say = run.requested_by == AgentId::operator()
            || state.owns(&run.requested_by, run.session.as_ref(), claim);
        let is_lost = run.state.is_over() && !run.state.is_conclusive();
        let settles = !is_lost && run.cannot_settle(&claim.scopes, prediction).is_none();
        (has_say && settles).then_some(prediction)
    };
    let said = state.runs().filter_map(|(id, run)| Some((run.check.as_deref() == check, id, says(run)?)));
    said.max_by_key(|(is_same, id, _)| (*is_same, *id)).map(|(_, _, prediction)| prediction)
}

/// How a reason tells that two runs decide nothing.
pub(crate) const NEITHER_DECIDES: &str = "under the other prediction, so neither decides";

/// How both of two runs tell that they decide nothing: `run` is the other one.
pub(super) fn neither_decides(run: RunId) -> String {
    format!("run {run} of the same check had the same outcome on the same content {NEITHER_DECIDES}")
}

/// How a reason tells that a failure was known before it was predicted.
pub(crate) const NO_PREDICTION: &str = "its failure was no prediction";

/// How a reason tells that a run was interrupted.
pub(crate) const INTERRUPTED: &str = "did not end by itself";

/// The end of the reason for which a claim stays contested after an interrupted run.
pub(super) fn doubt_of((claim_id, run): (ClaimId, &Run)) -> String {
    let settling = [("blocking", json!(true)), ("repeat", json!(REPEATS_AFTER_A_TOUCH))];
    let again = repeated(claim_id, run, &settling);
    format!("; it {INTERRUPTED}, so that one run on this content proves nothing: {again}")
}

/// How a reason tells that the operator has to confirm what a run of an agent supports.
pub(crate) const ONLY_OPERATOR: &str = "only the operator confirms a claim";

/// Whether a run that this agent asks for may confirm a claim.
pub(super) fn may_confirm(agent: &AgentId, policy: &Policy) -> bool {
    !policy.only_operator_confirms || *agent == AgentId::operator()
}

/// Why a claim waits for the operator after a run that supports it. None if the run confirms it.
pub(super) fn waits_for_operator((claim_id, run): (ClaimId, &Run), policy: &Policy) -> Option<String> {
    if may_confirm(&run.requested_by, policy) {
        return None;
    }
    let again = repeated(claim_id, run, &[("blocking", json!(true))]);
    Some(format!("with trust = human_only {ONLY_OPERATOR}, by a run of its own: {again}"))
}

/// The failed runs that challenges of a claim cite. A run whose profile cannot settle the claim says nothing about it.
pub(super) fn cited_failures<'a>(
    state: &'a State,
    claim: &'a Claim,
) -> impl Iterator<Item = (RunId, &'a Run)> {
    let cited = claim.cited.values().filter_map(|event| state.run_that_ended_with(*event));
    cited.filter(|(_, run)| {
        run.state == RunState::Failed
            && run.failed_elsewhere(&claim.scopes).is_none()
            && run.cannot_settle(&claim.scopes, Prediction::Passes).is_none()
    })
}

/// The last interrupted run about a claim of the check that a plan has, or about anything, if it was the last of that check.
pub(super) fn last_interrupted(state: &State, claim_id: ClaimId, plan: &Plan) -> Option<RunId> {
    let (check, words) = (Some(plan.check()), plan.words());
    let is_check = |run: &Run| run.check == check || run.words == words;
    let last =
        || state.runs().filter(|(_, run)| run.ended.is_some() && is_check(run)).max_by_key(|(id, _)| *id);
    let is_of = |run: &Run| run.interrupted && run.claim == Some(claim_id) && is_check(run);
    let of_claim = state.runs().filter(|(_, run)| is_of(run)).map(|(id, _)| id).max();
    of_claim.or_else(|| last().filter(|(_, run)| run.interrupted).map(|(id, _)| id))
}

/// The last run of the check that a plan has, if its test passed and failed on the content of that run and on no newer one
/// was cleared. With the count of the outcomes.
pub(super) fn last_unstable(state: &State, plan: &Plan, now: Timestamp) -> Option<(RunId, Tally)> {
    let check = Some(plan.check());
    let of_check = state.runs().filter(|(_, run)| run.state.is_conclusive() && run.check == check);
    let (id, run) = of_check.max_by_key(|(id, _)| *id)?;
    Some((id, state.stability().of(run.key.as_ref()?, None, now).unstable?))
}

/// The last run about a claim of the check that a plan has under the other prediction, if it can settle the claim.
pub(super) fn last_of_other_prediction(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    plan: &Plan,
    prediction: Prediction,
) -> Option<(RunId, RunState)> {
    let check = Some(plan.check());
    let others = state.runs().filter(|(_, run)| {
        run.state.is_conclusive()
            && run.check == check
            && is_under_other_prediction(state, (claim_id, claim), run, prediction)
    });
    others.max_by_key(|(id, _)| *id).map(|(id, run)| (id, run.state))
}

/// The last run of the check that a plan has, or of a part of it, with an outcome against the prediction, if it counts
/// whatever it was about.
pub(super) fn last_failed(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    plan: &Plan,
    prediction: Prediction,
) -> Option<(RunId, Kinship)> {
    let (check, command) = (Some(plan.check()), plan.command_line());
    let against = match prediction {
        Prediction::Passes => RunState::Failed,
        Prediction::Fails => RunState::Succeeded,
    };
    let is_of =
        |run: &Run| run.check == check || run.profile.is_none() && are_one_command(&run.command, &command);
    let words = plan.words();
    let is_read = |run: &Run| run.words == words && read_by(plan.expect.as_ref(), run) == Some(against);
    let akin = |run: &Run| {
        let is_failure =
            run.state == RunState::Failed && against == RunState::Failed && run.is_about(&claim.scopes);
        let dir = run.dir.as_deref().filter(|dir| plan.cwd.ends_with(dir)).unwrap_or_default();
        run.reach().filter(|_| is_failure)?.kinship(&Reach::of(&words, dir)?)
    };
    let kinship = |run: &Run| {
        let is_same = run.state == against && is_of(run) || is_read(run);
        if is_same { Some(Kinship::Same) } else { akin(run) }
    };
    let runs = state.runs().filter_map(|(id, run)| Some((id, run, kinship(run)?)));
    let runs = runs.filter(|(id, run, _)| may_count(state, (claim_id, claim), (*id, run)));
    runs.map(|(id, _, kinship)| (id, kinship)).max_by_key(|(id, _)| *id)
}

/// An earlier run with the other outcome that one run does not outweigh, and how a reason tells of it.
pub(super) fn other_outcome(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    (run_id, run): (RunId, &Run),
) -> Option<(RunId, String)> {
    // What the operator retracted counts no more.
    let is_retracted = |other: &Run| {
        let is_single = other.claim == Some(claim_id) && other.undecided.is_none() && other.series.is_none();
        let mut said = claim.evidence.iter().map(|(event, _)| event).chain(&claim.taken_back);
        is_single && other.completed.is_some_and(|end| !said.any(|it| state.are_one_event(*it, end)))
    };
    let is_other = |other: &Run| other.state.is_conclusive() && other.state != run.state;
    let others = state.runs().filter(|(id, other)| {
        *id != run_id
            && is_other(other)
            && !is_retracted(other)
            && (is_same_test(other, run) || kinship(claim, other, run).is_some())
            && may_count(state, (claim_id, claim), (*id, other))
            && !differ(&run.saw.versions, &other.saw.versions)
            && !has_other_files(state, *id, run)
            && !is_outweighed(state, other, run)
    });
    let (id, other) = others.max_by_key(|(id, _)| *id)?;
    let kinship = kinship(claim, other, run).filter(|_| !is_same_test(other, run));
    let which = kinship.unwrap_or(Kinship::Same).as_str();
    let since = if is_since_challenge(claim, other) { " since the challenge" } else { "" };
    let told =
        format!("run {id} of {which} check had the other outcome{since}, on content that may be the same");
    Some((id, told))
}

/// How the check of a failed run about files of the claim relates to that of this run, in one work tree. None if the failure
/// tells nothing about this run.
fn kinship(claim: &Claim, failed: &Run, run: &Run) -> Option<Kinship> {
    let is_typed = failed.profile.is_none() && !failed.asserted;
    let is_about = is_typed || failed.is_about(&claim.scopes);
    let is_failure = failed.state == RunState::Failed
        && failed.worktree == run.worktree
        && is_about
        && read_by(run.expects.as_ref(), failed) != Some(RunState::Succeeded);
    failed.reach().filter(|_| is_failure)?.kinship(&run.reach()?)
}

/// The last failure of the same check that was on record before a claim was made, or said to be still meant. A run with the
/// same prediction of this claim was a prediction.
fn known_before(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    (run_id, run): (RunId, &Run),
) -> Option<RunId> {
    if run.prediction != Some(Prediction::Fails) || run.requested_by == AgentId::operator() {
        return None;
    }
    let known = state.runs().filter(|(id, other)| {
        *id != run_id
            && is_known_failure(state, (claim_id, claim), (*id, other))
            && is_same_test(other, run)
            && !differ(&run.saw.versions, &other.saw.versions)
            && !has_other_files(state, *id, run)
    });
    known.map(|(id, _)| id).max()
}

/// The last failure of the check that a plan has, on record before a claim was made, or said to be still meant.
pub(super) fn known_before_plan(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    plan: &Plan,
) -> Option<RunId> {
    let check = Some(plan.check());
    let known = state
        .runs()
        .filter(|(id, run)| run.check == check && is_known_failure(state, (claim_id, claim), (*id, run)));
    known.map(|(id, _)| id).max()
}

/// Whether a failure was on record before a claim was made, or said to be still meant, and no prediction of this claim.
fn is_known_failure(state: &State, (claim_id, claim): (ClaimId, &Claim), (id, run): (RunId, &Run)) -> bool {
    let is_predicted = run.claim == Some(claim_id) && run.prediction == Some(Prediction::Fails);
    run.state == RunState::Failed
        && run.failed_elsewhere(&claim.scopes).is_none()
        && !is_predicted
        && run.ended < Some(claim.sights.last_meant())
        && state.held_at_failure(id).is_some()
}

/// The last run of the same check that had no outcome, how it ended, and on what may be the content of this run.
pub(super) fn without_outcome(
    state: &State,
    claim_id: ClaimId,
    (run_id, run): (RunId, &Run),
) -> Option<String> {
    let others = state.runs().filter(|(id, other)| {
        *id != run_id
            && other.claim == Some(claim_id)
            && other.state == RunState::Aborted
            && other.exit_code.is_some()
            && is_same_test(other, run)
            && !differ(&run.saw.versions, &other.saw.versions)
    });
    let (id, other) = others.max_by_key(|(id, _)| *id)?;
    let code = other.exit_code?;
    Some(format!("run {id} of the same check came to no outcome before, with exit code {code}"))
}

/// Whether an earlier run of the same check counts, whatever it was about. Of an older release, only one since the
/// challenge counts: nothing tells what the files held.
fn may_count(state: &State, (claim_id, claim): (ClaimId, &Claim), (id, run): (RunId, &Run)) -> bool {
    let is_known = state.held_at_failure(id).is_some()
        || is_since_challenge(claim, run)
        || is_about_former(state, claim_id, run);
    is_known && run.failed_elsewhere(&claim.scopes).is_none()
}

/// Whether a file of this run's claim was another one when a check failed.
fn has_other_files(state: &State, failed: RunId, run: &Run) -> bool {
    let then = state.held_at_failure(failed);
    run.own_files.as_ref().zip(then).is_some_and(|(now, then)| then.differs_now(now))
}

/// Whether a series of the same check passed since, on the content of this run. If the failure was one of a wider or narrower
/// check, the series says nothing about it, and only one for this run's claim counts: the failure is named beside its proof.
fn is_outweighed(state: &State, failed: &Run, run: &Run) -> bool {
    let is_full = |passed: &Run| {
        let series =
            passed.series.filter(|series| series.of >= REPEATS_AFTER_A_TOUCH && series.number == series.of);
        series.is_some_and(|series| state.series(series.first).all(|(_, each)| each.state == run.state))
    };
    let is_same_content = |passed: &Run| {
        passed.key.as_ref().zip(run.key.as_ref()).is_some_and(|(one, other)| one.is_same_content(other))
    };
    let mut since = state.runs().filter(|(_, passed)| passed.ended > failed.ended);
    let counts = |passed: &Run| passed.claim == run.claim || is_same_test(passed, failed);
    since.any(|(_, passed)| {
        is_full(passed) && counts(passed) && is_same_test(passed, run) && is_same_content(passed)
    })
}

/// A failed command that a challenge cites, unless it and this run are known to check different things. The command is one
/// that a hook saw, or a run that the operator typed or recorded.
pub(super) fn cited_command<'a>(
    state: &'a State,
    claim: &'a Claim,
    reach: Option<&Reach>,
) -> Option<&'a CommandLine> {
    let counts = |line: &CommandLine, cited: Option<Reach>| {
        let is_apart = cited.zip(reach).is_some_and(|(cited, reach)| cited.is_apart(reach));
        !only_looks(line.as_str()) && !is_apart
    };
    let typed = |event: EventId| {
        let (_, typed) = state.run_that_ended_with(event)?;
        let is_failure = typed.profile.is_none() && typed.state == RunState::Failed;
        (is_failure && counts(&typed.command, typed.reach())).then_some(&typed.command)
    };
    let seen = |event: EventId| {
        let Deed::Command { lines, failed: true, .. } = state.deed(event)? else { return None };
        lines.iter().find(|line| counts(line, cited_reach(line)))
    };
    claim.cited.values().find_map(|event| typed(*event).or_else(|| seen(*event)))
}

/// What a command in normal form reaches. It may begin with the directory that it runs in.
fn cited_reach(line: &CommandLine) -> Option<Reach> {
    let words = shell_words::split(line.as_str()).ok()?;
    match words.as_slice() {
        [cd, dir, and, words @ ..] if cd == "cd" && and == "&&" => Reach::of(words, dir),
        words => Reach::of(words, ""),
    }
}

/// Whether a run ended after the first open challenge of a claim.
fn is_since_challenge(claim: &Claim, run: &Run) -> bool {
    let since = claim.sights.first_open_challenge(&claim.answered);
    run.ended.zip(since).is_some_and(|(ended, since)| ended > since)
}

/// Whether a run was about a claim that this one replaced, at once or by way of others.
fn is_about_former(state: &State, claim_id: ClaimId, run: &Run) -> bool {
    let successor = |id: ClaimId| state.claim(id)?.superseded_by;
    std::iter::successors(run.claim.and_then(successor), |id| successor(*id)).any(|id| id == claim_id)
}

/// The last interrupted run of the same check that may have hidden a failure on the content of this run. A run that was
/// not about the claim counts only where its content is known to be the same.
fn interrupted(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    (run_id, run): (RunId, &Run),
) -> Option<RunId> {
    let is_check = |other: &Run| is_same_test(other, run) || is_same_command(other, run);
    let others = state.runs().filter(|(id, other)| *id != run_id && other.interrupted && is_check(other));
    let is_in_doubt = |other: &Run| {
        let keys = other.key.as_ref().zip(run.key.as_ref());
        keys.is_some_and(|(one, other)| one.is_same_content(other))
            || other.claim == Some(claim_id) && !matches!(likeness(claim, other, run), Likeness::Other)
    };
    others.filter(|(_, other)| is_in_doubt(other)).map(|(id, _)| id).max()
}

/// The end of the sentence "run ID contradicted it": how the content has changed since that run.
fn since(like: &Likeness, claim: &Claim, run: &Run) -> String {
    let versions = &run.saw.versions;
    let mut paths = claim.scopes.iter().filter(|scope| scope.is_path());
    let named = |scope: Option<&Scope>| scope.map_or_else(|| "it".to_owned(), |scope| format!("`{scope}`"));
    match like {
        Likeness::Touched => format!(" on the same {}", named(versions.keys().next().or(paths.next()))),
        Likeness::Unversioned => match paths.find(|scope| !versions.contains_key(*scope)) {
            Some(scope) => format!(", and `{scope}` has no version that shows whether the cause is mended"),
            None => ", and it is not known what the files held then".to_owned(),
        },
        Likeness::Other | Likeness::Same | Likeness::Unknown => {
            ", and it is not known that the content changed since".to_owned()
        }
    }
}

/// The call that repeats a run for a claim, with more arguments.
pub(super) fn repeated(claim_id: ClaimId, run: &Run, more: &[(&str, Value)]) -> String {
    let mut call = json!({ "claim_id": claim_id, "profile": run.profile });
    if let Some(prediction) = run.prediction.filter(|prediction| *prediction != Prediction::Passes) {
        call["prediction"] = json!(prediction);
    }
    if !run.args.is_empty() {
        let args = run.args.iter().map(|(name, value)| format!("{name}={value}"));
        call["args"] = json!(args.collect::<Vec<_>>());
    }
    for (name, value) in more {
        call[*name] = value.clone();
    }
    way::call("run_experiment", &call)
}

/// Whether two runs of profiles have the same command, with or without a wrapper that only starts it.
fn is_same_command(one: &Run, other: &Run) -> bool {
    let is_known = !one.words.is_empty();
    is_known && (one.words == other.words || one.process().is_some_and(|it| other.process() == Some(it)))
}

pub(super) fn is_same_test(one: &Run, other: &Run) -> bool {
    let is_typed = one.profile.is_none() || other.profile.is_none();
    if is_typed && are_one_command(&one.command, &other.command) {
        return true;
    }
    match (&one.key, &other.key) {
        (Some(one), Some(other)) => one.is_same_test(other),
        _ => one.what == other.what || one.check.is_some() && one.check == other.check,
    }
}

/// How the content of an earlier run compares with the content of this run.
pub(super) enum Likeness {
    /// A file of the claim with a version has other bytes.
    Other,
    /// The claim's files with a version are equal, and other files differ.
    Touched,
    /// The difference lies in a directory or fits a pattern. It may belong to the claim and has no version.
    Unversioned,
    /// The known content of all files that the profile covers is equal.
    Same,
    Unknown,
}

pub(super) fn likeness(claim: &Claim, other: &Run, run: &Run) -> Likeness {
    let (ours, theirs) = (&run.saw.versions, &other.saw.versions);
    if differ(ours, theirs) {
        return Likeness::Other;
    }
    let are_alike = !ours.is_empty() && ours == theirs;
    let mut paths = claim.scopes.iter().filter(|scope| scope.is_path());
    // The digests also differ in modes, links and the file list of git. A reader of the files does not see these.
    let are_all_alike = are_alike && paths.all(|scope| !scope.is_glob() && ours.contains_key(scope));
    let (Some(here), Some(there)) = (&run.key, &other.key) else {
        return if are_alike { Likeness::Same } else { Likeness::Unknown };
    };
    // The digest of a run about another claim, or about none, covers other files.
    let have_own = other.claim == run.claim && here.own.is_some() && there.own.is_some();
    if have_own && here.own != there.own && !are_all_alike {
        return if are_alike { Likeness::Touched } else { Likeness::Unversioned };
    }
    let are_trees_known = here.tree.is_some() && there.tree.is_some();
    if are_trees_known && here.tree == there.tree {
        return Likeness::Same;
    }
    // If the claim's own files have no version and no digest, the difference may lie in them.
    let is_own_known = are_alike || other.claim == run.claim && here.own.is_some();
    match (&here.covered, &there.covered) {
        // A profile that can settle the claim covers its files.
        (Some(here), Some(there)) if run.scopes == other.scopes && here == there => Likeness::Same,
        (Some(_), Some(_)) if run.scopes == other.scopes && is_own_known => Likeness::Touched,
        (Some(_), Some(_)) if run.scopes == other.scopes && are_trees_known => Likeness::Unversioned,
        (Some(_), Some(_)) if run.scopes == other.scopes => Likeness::Unknown,
        _ if !are_trees_known => {
            if are_alike {
                Likeness::Same
            } else {
                Likeness::Unknown
            }
        }
        _ if run.scopes != other.scopes => Likeness::Touched,
        _ => Likeness::Same,
    }
}
