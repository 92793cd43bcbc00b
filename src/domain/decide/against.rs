//! Which earlier run keeps a claim from being proved by a later one: agents choose the test and the prediction, and a choice
//! among outcomes is no proof.

use serde_json::{Value, json};

use crate::domain::claim::Relation;
use crate::domain::experiment::Prediction;
use crate::domain::ids::{ClaimId, RunId};
use crate::domain::state::{Claim, Run, State};
use crate::domain::versions::differ;
use crate::domain::way;

/// So many equal runs prove a claim against an earlier failure of the same test on the same files of the claim, after
/// another file of the profile changed, or where it is not known whether the content changed: one run may pass by chance.
const REPEATS_AFTER_A_TOUCH: u32 = 3;

/// A run that contradicts the claim on the content that this run saw, as the end of the sentence "run ID supports it, and".
///
/// A contradiction that an agent took back still counts if its run was about the claim. Where it is not known whether the
/// content is the same, the other run counts unless a series repeats it: the same test with the same prediction. Where no
/// file with a version differs, it counts against the other prediction of the same test.
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
    let repeats = |other: &Run| is_same_test(other, run) && predicted(other) == predicted(run);
    let is_flipped =
        |other: &Run| is_about_it(other) && is_same_test(other, run) && predicted(other) != predicted(run);
    let are_repeated = run.series.is_some_and(|series| series.of >= REPEATS_AFTER_A_TOUCH);
    let mut touched = None;
    for (id, other) in others {
        match likeness(claim, other, run) {
            // Only other bytes of a file with a version turn the prediction of a claim about.
            Likeness::Other if !differ(&other.saw.versions, &run.saw.versions) && is_flipped(other) => {
                return Some(format!("run {id} of the same test with the other prediction contradicts it"));
            }
            Likeness::Other => {}
            Likeness::Same => return Some(format!("run {id} contradicts it on the same content")),
            Likeness::Touched | Likeness::Unknown if repeats(other) && are_repeated => {}
            like @ (Likeness::Touched | Likeness::Unknown) if repeats(other) => {
                touched = touched.or(Some((id, like)))
            }
            Likeness::Touched | Likeness::Unknown => {
                return Some(format!(
                    "run {id} of another test or prediction contradicts it, and it is not known that the content changed since"
                ));
            }
        }
    }
    let settling = [("blocking", json!(true)), ("repeat", json!(REPEATS_AFTER_A_TOUCH))];
    touched.map(|(id, like)| {
        let again = repeated(claim_id, run, &settling);
        if matches!(like, Likeness::Unknown) {
            return format!(
                "run {id} contradicted it, and it is not known that the content changed since: {again}"
            );
        }
        let file = run.saw.versions.keys().next().or(claim.scopes.first());
        let file = file.map_or_else(String::new, |file| format!(" `{file}`"));
        format!("run {id} contradicted it on the same{file}: {again}")
    })
}

/// The call that runs what a run ran about a claim, with more arguments.
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

fn is_same_test(one: &Run, other: &Run) -> bool {
    match (&one.key, &other.key) {
        (Some(one), Some(other)) => one.test == other.test,
        _ => one.what == other.what,
    }
}

/// How the content of an earlier run is to that of this one.
enum Likeness {
    /// The claim's own files differ.
    Other,
    /// The claim's own files are the same, and others that the profile covers differ.
    Touched,
    /// Nothing that the profile covers differs, as far as is known.
    Same,
    Unknown,
}

fn likeness(claim: &Claim, other: &Run, run: &Run) -> Likeness {
    let (ours, theirs) = (&run.saw.versions, &other.saw.versions);
    if differ(ours, theirs) {
        return Likeness::Other;
    }
    let are_alike = !ours.is_empty() && ours == theirs;
    let mut paths = claim.scopes.iter().filter(|scope| scope.is_path());
    // The digests also tell apart what is the same to a reader of the files: modes, links and what git lists.
    let are_all_alike = are_alike && paths.all(|scope| !scope.is_glob() && ours.contains_key(scope));
    let (Some(here), Some(there)) = (&run.key, &other.key) else {
        return if are_alike { Likeness::Same } else { Likeness::Unknown };
    };
    // A run about another claim, or about none, has a digest of other files.
    let have_own = other.claim == run.claim && here.own.is_some() && there.own.is_some();
    if have_own && here.own != there.own && !are_all_alike {
        return Likeness::Other;
    }
    let are_trees_known = here.tree.is_some() && there.tree.is_some();
    if are_trees_known && here.tree == there.tree {
        return Likeness::Same;
    }
    // Where the claim's own files have no version and no digest, a difference may be theirs.
    let is_own_known = are_alike || other.claim == run.claim && here.own.is_some();
    match (&here.covered, &there.covered) {
        // What can settle the claim covers its files.
        (Some(here), Some(there)) if run.scopes == other.scopes && here == there => Likeness::Same,
        (Some(_), Some(_)) if run.scopes == other.scopes && is_own_known => Likeness::Touched,
        (Some(_), Some(_)) if run.scopes == other.scopes && are_trees_known => Likeness::Other,
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
