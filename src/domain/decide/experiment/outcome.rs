//! The start and the end of a run, and what its end means for a claim.

use super::super::quorum::{Policy, settled_status};
use super::super::supersession::{ConfirmedBy, take_place};
use super::super::verdict::{Verdict, verdict};
use super::super::{against, contradiction, researcher, target, transition};
use super::{behind, reason};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Grade, Relation, Share, Status};
use crate::domain::event::{Event, EvidenceAdded, ExperimentCompleted, ExperimentStarted, StatusChanged};
use crate::domain::experiment::{Prediction, RunKey, RunOutcome, RunState, Tally, failed_elsewhere};
use crate::domain::ids::{ClaimId, EventId, RunId};
use crate::domain::receipt::Warning;
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, Run, State};
use crate::domain::text::Reason;
use crate::domain::time::Timestamp;
use crate::domain::versions;
use crate::domain::versions::Versions;

/// The beginning of a run.
pub(crate) fn started(run_id: RunId) -> Event {
    ExperimentStarted { run_id }.into()
}

/// The end of a run, what it says about its claim, and what that does to the claim. `event_id` will be that of
/// the first event; without one the run left nothing that could be evidence. Of several runs of one request, the last
/// speaks for all. `files` is what the files that it saw hold after its end.
pub(crate) fn ended(
    state: &State,
    run_id: RunId,
    event_id: Option<EventId>,
    outcome: &RunOutcome,
    files: &Versions,
    (now, policy): (Timestamp, &Policy),
) -> Vec<Event> {
    let Some(run) = state.run(run_id).filter(|run| !run.state.is_over()) else { return Vec::new() };
    let End { over, unstable, stable_again, is_mixed } = end(state, run_id, run, outcome, now);
    let mut series = run.series.into_iter().flat_map(|series| state.series(series.first));
    let interrupted = over.interrupted || series.any(|(_, other)| other.interrupted);
    let about = run.claim.and_then(|id| Some((id, state.claim(id)?)));
    let changed = about.filter(|_| outcome.state.is_conclusive()).and_then(|(_, claim)| {
        let change = versions::changed_for(state, (run_id, run), claim, files, outcome)?;
        Some(versions::why_undecided(&change, run, claim))
    });
    let disturbed = outcome.disturbed.as_ref().filter(|_| outcome.state.is_conclusive());
    let changed = changed.or_else(|| Some(versions::disturbed_by(state, run, disturbed?)));
    // The last run of a series speaks for all: where one of them says nothing, they say nothing.
    let others = run.series.into_iter().flat_map(|series| state.series(series.first));
    let mut others = others.filter_map(|(id, other)| Some((id, other.undecided.as_ref()?)));
    let changed = changed.or_else(|| others.next().map(|(id, why)| of_another(id, why)));
    let completed = ExperimentCompleted {
        run_id,
        profile: run.profile.clone(),
        command: run.command.clone(),
        outcome: RunOutcome { interrupted: over.interrupted, ..outcome.clone() }.for_the_ledger(),
        asserted: false,
        undecided: changed.as_ref().map(|change| change.parse().expect("a scope and a name are short")),
        key: over.key.clone(),
        unstable,
        stable_again,
        restates: None,
        erased: false,
    };
    let mut events: Vec<Event> = vec![completed.into()];
    events.extend(researcher::over(state, run_id, run, outcome));
    let Some((claim_id, claim)) = about else { return events };
    if run.series.is_some_and(|series| series.number < series.of) {
        return events;
    }
    let prediction = run.prediction.unwrap_or(Prediction::Passes);
    let mut verdict = match changed {
        Some(change) => Verdict::undecided(unstable, &change),
        None => verdict((claim.status, &claim.scopes), &over, prediction, unstable),
    };
    if let Some(unfit) = run.only_mentions().filter(|_| verdict.relation.is_some()) {
        verdict = verdict.that_only_mentions(unfit.as_str());
    }
    if is_mixed && verdict.relation == Some(Relation::Supports) {
        verdict.relation = Some(Relation::Mentions);
    }
    let waited = claim.status == Status::PendingProof && claim.pending_run == Some(run_id);
    let is_proving = waited && verdict.proves();
    let contradicted =
        against::contradicted(state, (claim_id, claim), (run_id, &over)).filter(|_| is_proving);
    // It supports the claim, and takes no proof of the operator from it.
    let only_operator = against::waits_for_operator((claim_id, run), policy).filter(|_| is_proving);
    let is_contradicted = contradicted.is_some();
    let beside = target::beside(state, (claim_id, claim)).filter(|_| is_proving);
    let against = contradicted.or(only_operator).or(beside);
    let is_judged = matches!(verdict.relation, Some(Relation::Supports | Relation::Contradicts));
    let rival = against::rival(state, (claim_id, claim), (run_id, &over), prediction).filter(|_| is_judged);
    if let Some(rival) = rival {
        verdict = verdict.that_only_mentions(&rival.told());
    }
    let missing = versions::missing(&run.saw.versions);
    let missing = missing.map(|missing| format!("{missing} in the tree of the run"));
    let (proof, stays) = if waited && verdict.proves() && against.is_none() {
        proven(state, (claim_id, claim), (run_id, run), (now, policy))
    } else {
        (Vec::new(), None)
    };
    if let (Some(relation), Some(evidence_ref)) = (verdict.relation, event_id) {
        let grade = Some(grade(state, &over, claim_id, relation));
        let run = Some(behind((run_id, &over), prediction, &verdict));
        let weight = Share::FULL;
        // The reason of a proof is the name of its run: why nothing was replaced stands with the evidence.
        let said = stays.map(|warning| warning.message).into_iter();
        let said = said.chain(rival.map(against::Rival::told));
        let is_proof = !proof.is_empty();
        let outweighed =
            against::other_outcome(state, (claim_id, claim), (run_id, &over)).filter(|_| is_proof);
        let said = said.chain(outweighed.map(|(_, told)| told));
        let without = against::without_outcome(state, claim_id, (run_id, &over)).filter(|_| is_proof);
        let cited = against::cited_command(state, claim, over.reach().as_ref()).filter(|_| is_proof);
        let cited = cited.map(|line| format!("a challenge cites that `{line}` failed"));
        let said = said.chain(without).chain(cited).chain(missing);
        let said: Vec<String> = said.collect();
        let note = (!said.is_empty()).then(|| reason(&said.join("; ")));
        events.push(EvidenceAdded { claim_id, evidence_ref, relation, weight, note, grade, run }.into());
    }
    let alike = rival.filter(|rival| rival.is_alike());
    events.extend(alike.and_then(|rival| also_alike(claim_id, claim, (rival.id, rival.run), run_id)));
    if waited {
        if !proof.is_empty() {
            events.extend(proof);
        } else {
            let mut reason = format!("run {run_id} {}", verdict.why);
            if let Some(against) = &against {
                reason.push_str(&format!(", and {against}"));
            }
            if interrupted {
                reason.push_str(&against::doubt_of((claim_id, run)));
            }
            let reason = self::reason(&reason);
            let is_against = verdict.relation == Some(Relation::Contradicts) || is_contradicted;
            let without_outcome = !is_against && verdict.unstable.is_none();
            let keeps_proof = without_outcome && claim.is_proven && versions::is_proof_of_meant(state, claim);
            let back = StatusChanged {
                claim_id,
                from: claim.status,
                to: Status::Contested,
                reason,
                by_silence: false,
                keeps_proof,
                leaves_open: Vec::new(),
            };
            let mut after = claim.clone();
            after.go(&back);
            events.push(back.into());
            if !keeps_proof {
                events.extend(contradiction::on_lost_proof(state, claim_id, claim));
            }
            if without_outcome {
                events.extend(after_no_outcome(state, (claim_id, &after), (now, policy)));
            }
        }
    }
    events
}

/// The word of an earlier run that a later one had its outcome under the other prediction.
fn also_alike(
    claim_id: ClaimId,
    claim: &Claim,
    (other_id, other): (RunId, &Run),
    run_id: RunId,
) -> Option<Event> {
    let (evidence_ref, relation) = (other.completed?, Relation::Mentions);
    let prediction = other.prediction?;
    if claim.evidence.contains(&(evidence_ref, relation)) {
        return None;
    }
    let why = against::neither_decides(run_id);
    let verdict = Verdict { relation: Some(relation), unstable: None, why: why.clone() };
    let run = Some(behind((other_id, other), prediction, &verdict));
    let (weight, note, grade) = (Share::FULL, Some(reason(&why)), Some(Grade::Asserted));
    Some(EvidenceAdded { claim_id, evidence_ref, relation, weight, note, grade, run }.into())
}

/// Why a run of several says nothing, as the last one tells it.
fn of_another(id: RunId, why: &Reason) -> String {
    const OF: &str = " of the same request: ";
    match why.as_str() {
        why if why.contains(OF) => why.to_owned(),
        why => format!("run {id}{OF}{why}"),
    }
}

/// The run proves the claim that waits for it. It answers the challenges that stood when it was queued. Besides, why it
/// replaces nothing.
pub(super) fn proven(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    (run_id, run): (RunId, &Run),
    (now, policy): (Timestamp, &Policy),
) -> (Vec<Event>, Option<Warning>) {
    let is_late = |agent: &&AgentId| claim.sights.is_challenged_after(agent, run.saw.seq);
    let late: Vec<AgentId> = claim.challengers().filter(is_late).cloned().collect();
    let reason = self::reason(&format!("proof:{run_id}"));
    let (from, to, leaves_open) = (claim.status, Status::Confirmed, late.clone());
    let confirmed =
        StatusChanged { claim_id, from, to, reason, by_silence: false, keeps_proof: false, leaves_open };
    let mut after = claim.clone();
    after.go(&confirmed);
    let mut events = vec![confirmed.into()];
    events.extend(contradiction::ended_by_proof(state, claim_id, &late));
    let mut stays = None;
    let status = settled_status(state, (claim_id, &after), now, policy);
    if status == Status::Confirmed {
        let (replaced, why) = take_place(state, (claim_id, claim), ConfirmedBy::Run, policy);
        stays = why;
        let ended = contradiction::ended_by(state, &AgentId::system(), &replaced);
        events.extend(replaced.into_iter().chain(ended));
    } else {
        let late: Vec<String> = late.iter().map(ToString::to_string).collect();
        let why = format!("challenged by {} after run {run_id} was asked for", late.join(", "));
        events.push(transition(claim_id, to, status, self::reason(&why).as_str()));
    }
    (events, stays)
}

/// What the positions make of a claim that came back from a run without an outcome: they may have changed meanwhile.
pub(super) fn after_no_outcome(
    state: &State,
    (claim_id, claim): (ClaimId, &Claim),
    (now, policy): (Timestamp, &Policy),
) -> Vec<Event> {
    let status = settled_status(state, (claim_id, claim), now, policy);
    if status == claim.status {
        return Vec::new();
    }
    let (replaced, stays) = match status {
        Status::Confirmed => {
            take_place(state, (claim_id, claim), ConfirmedBy::Positions(None, &Versions::new()), policy)
        }
        Status::Proposed | Status::Contested | Status::PendingProof | Status::Deprecated => {
            (Vec::new(), None)
        }
    };
    let stays = stays.map_or_else(String::new, |warning| format!("; {}", warning.message));
    let why = format!("no challenge is open any more{stays}");
    let mut events = vec![transition(claim_id, claim.status, status, reason(&why).as_str())];
    if status == Status::Confirmed {
        events.extend(replaced);
        let ended = contradiction::ended_by(state, &AgentId::system(), &events);
        events.extend(ended);
    }
    events
}

/// A run as it will be once its end is folded.
pub(super) struct End {
    over: Run,
    unstable: Option<Tally>,
    stable_again: bool,
    /// Whether the runs of its series came out both ways.
    is_mixed: bool,
}

/// Where the tests failed in the run that speaks for its request. Of several runs, one failure that has to do with the claim
/// contradicts it; and where the claim predicts the failure, one elsewhere says nothing.
fn failed_in(state: &State, (run_id, run): (RunId, &Run), outcome: &RunOutcome) -> Vec<Scope> {
    let scopes = run.claim.and_then(|id| state.claim(id)).map_or(&[][..], |claim| &claim.scopes);
    let others = run.series.into_iter().flat_map(|series| state.series(series.first));
    let others = others.filter(|(id, other)| *id != run_id && other.state == RunState::Failed);
    let own = (outcome.state == RunState::Failed).then_some(&outcome.failed_in);
    let all: Vec<&Vec<Scope>> = others.map(|(_, other)| &other.failed_in).chain(own).collect();
    let wants_elsewhere = run.prediction == Some(Prediction::Fails);
    let speaks = all.iter().find(|files| failed_elsewhere(files, scopes).is_some() == wants_elsewhere);
    speaks.or(all.last()).map(|files| (*files).clone()).unwrap_or_default()
}

pub(super) fn end(state: &State, run_id: RunId, run: &Run, outcome: &RunOutcome, now: Timestamp) -> End {
    let key: Option<RunKey> = outcome.key(&run.what, run.check.as_deref(), &run.scopes);
    let passed = outcome.state == RunState::Succeeded;
    let seen = key.as_ref().filter(|_| outcome.state.is_conclusive());
    let seen = seen.map(|key| state.stability().of(key, Some(passed), now)).unwrap_or_default();
    // A run that began and left no report lost its helper, or the writer.
    let is_lost =
        outcome.state == RunState::Aborted && run.started.is_some() && outcome.meta_sha256.is_none();
    let interrupted = is_lost || outcome.is_interrupted();
    let reproducible_at = outcome.reproducible_at().map(str::to_owned);
    let (dir, exit_code) = (outcome.dir(), outcome.exit_code);
    let own_files = outcome.git.as_ref().and_then(|git| git.own_files.clone());
    let failed_in = failed_in(state, (run_id, run), outcome);
    let mut over = Run {
        state: outcome.state,
        reproducible_at,
        key,
        interrupted,
        dir,
        exit_code,
        own_files,
        failed_in,
        ..run.clone()
    };
    let mut unstable = seen.unstable;
    let mut is_mixed = false;
    if let Some(series) = run.series {
        let mut tally = Tally::default();
        let others = state.series(series.first).filter(|(id, _)| *id != run_id);
        for each in others.map(|(_, other)| other.state).chain([outcome.state]) {
            match each {
                RunState::Succeeded | RunState::Failed => tally.add(each == RunState::Succeeded),
                // One that came to no end leaves the others without a say.
                RunState::TimedOut | RunState::Canceled | RunState::Aborted => over.state = each,
                RunState::Queued | RunState::Running => {}
            }
        }
        is_mixed = tally.is_mixed();
        unstable = unstable.or_else(|| is_mixed.then_some(tally));
        if is_mixed && over.state.is_conclusive() {
            // What most of them say: the last one came out by chance.
            over.state = if tally.failed >= tally.passed { RunState::Failed } else { RunState::Succeeded };
        }
    }
    End { over, unstable, stable_again: seen.stable_again, is_mixed }
}

/// A run is observed, unless only the word of its recorder stands for it, or it only mentions the claim; it reproduces
/// when another agent's run of the same on the same commit, tied to the same claim in the same way, came out alike.
/// One pane is one agent here, whatever names it went by.
pub(super) fn grade(state: &State, run: &Run, claim_id: ClaimId, relation: Relation) -> Grade {
    if run.asserted || relation == Relation::Mentions {
        return Grade::Asserted;
    }
    let alike = |other: &Run| {
        other.requested_by != run.requested_by
            && !state.seats().are_one_party(
                (&other.requested_by, other.session.as_ref()),
                (&run.requested_by, run.session.as_ref()),
            )
            && other.what == run.what
            && other.state == run.state
            && other.reproducible_at == run.reproducible_at
    };
    let evidence = state.claim(claim_id).into_iter().flat_map(|claim| &claim.evidence);
    let mut others = evidence
        .filter(|(_, said)| *said == relation)
        .filter_map(|(event, _)| state.run_that_ended_with(*event));
    if run.reproducible_at.is_some() && others.any(|(_, other)| alike(other)) {
        Grade::Reproduced
    } else {
        Grade::Observed
    }
}
