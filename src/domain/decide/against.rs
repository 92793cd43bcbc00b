//! Which earlier run keeps a claim from being proved by a later one: agents choose the test and the prediction, and a choice
//! among outcomes is no proof.

use crate::domain::claim::Relation;
use crate::domain::experiment::Prediction;
use crate::domain::ids::{ClaimId, RunId};
use crate::domain::state::{Claim, Run, State};

/// A run that contradicts the claim on the content that this run saw, as the end of the sentence "run ID supports it, and".
///
/// A contradiction that an agent took back still counts if its run was about the claim. Where it is not known whether the
/// content is the same, the other run counts unless this one repeats it: the same test with the same prediction. Of a
/// claim without a version it counts against the other prediction of the same test, whatever the content.
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
    let others = in_force.chain(taken_back).filter(|(id, _)| *id != run_id);
    // The claim predicted nothing of a run that was tied to it afterwards. If that is the outcome which the claim predicts
    // of this run, it speaks for the claim.
    let others = others
        .filter(|(_, other)| is_about_it(other) || !is_same_test(other, run) || other.state != run.state);
    let predicted = |run: &Run| run.prediction.unwrap_or(Prediction::Passes);
    let is_flipped =
        |other: &Run| is_about_it(other) && is_same_test(other, run) && predicted(other) != predicted(run);
    let mut against = others.filter_map(|(id, other)| match same_content(other, run) {
        // No content turns the prediction of a claim about.
        Some(false) if other.saw.versions.is_empty() && is_flipped(other) => {
            Some(format!("run {id} of the same test with the other prediction contradicts it"))
        }
        Some(false) => None,
        Some(true) => Some(format!("run {id} contradicts it on the same content")),
        None if is_same_test(other, run) && predicted(other) == predicted(run) => None,
        None => Some(format!(
            "run {id} of another test or prediction contradicts it, and it is not known that the content changed since"
        )),
    });
    against.next()
}

fn is_same_test(one: &Run, other: &Run) -> bool {
    match (&one.key, &other.key) {
        (Some(one), Some(other)) => one.test == other.test,
        _ => one.what == other.what,
    }
}

/// Whether two runs ran on the same content: that of the whole tree, or else that of the files they both saw. None where
/// neither is known, and where the trees differ beside those files: what changed there may have nothing to do with it.
fn same_content(one: &Run, other: &Run) -> Option<bool> {
    let (ours, theirs) = (&one.saw.versions, &other.saw.versions);
    if ours.iter().any(|(scope, content)| theirs.get(scope).is_some_and(|theirs| theirs != content)) {
        return Some(false);
    }
    let tree = |run: &Run| run.key.as_ref()?.tree.clone();
    let is_same_files = !ours.is_empty() && ours == theirs;
    match (tree(one), tree(other)) {
        (Some(one), Some(other)) if one == other => Some(true),
        (Some(_), Some(_)) => (!is_same_files).then_some(false),
        _ => is_same_files.then_some(true),
    }
}
