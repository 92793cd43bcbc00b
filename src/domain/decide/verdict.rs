//! What a run says about a claim: the one judge of runs. No caller chooses it.

use crate::domain::claim::{Relation, Status};
use crate::domain::experiment::{Prediction, RunState, Tally};
use crate::domain::scope::Scope;
use crate::domain::state::Run;

/// What a run says about a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// How the run is tied to the claim; none where a run that came to no end says nothing.
    pub(crate) relation: Option<Relation>,
    /// How the test came out, where that was both ways.
    pub(crate) unstable: Option<Tally>,
    /// Why, to be said after "run ID".
    pub(crate) why: String,
}

impl Verdict {
    /// The run saw other content than the claim is about.
    pub(crate) fn undecided(unstable: Option<Tally>, change: &str) -> Self {
        Self { relation: None, unstable, why: format!("neither confirms nor contradicts it: {change}") }
    }

    /// The run is cited for content that it is not known to have seen.
    pub(crate) fn about_another_version(self, why: &str) -> Self {
        let why = format!("only mentions it: {why}");
        Self { relation: Some(Relation::Mentions), why, ..self }
    }

    /// Whether it confirms a claim that waits for the run.
    pub(crate) fn proves(&self) -> bool {
        self.relation == Some(Relation::Supports) && self.unstable.is_none()
    }
}

/// Judges a run that is over. `unstable` is what other runs of the same test on the same content came to.
/// A claim counts by its status and its scopes.
pub(crate) fn verdict(
    (status, scopes): (Status, &[Scope]),
    run: &Run,
    prediction: Prediction,
    unstable: Option<Tally>,
) -> Verdict {
    let said = |relation: Relation, why: String| Verdict { relation: Some(relation), unstable, why };
    if !run.state.is_conclusive() {
        return Verdict { relation: None, unstable, why: format!("was inconclusive: {}", run.state) };
    }
    // Releases before predictions let the caller say so; it is a link and no judgement.
    if run.relation == Some(Relation::CausedBy) {
        return said(Relation::CausedBy, "is where it came from".to_owned());
    }
    if status == Status::Deprecated {
        return said(Relation::Mentions, "only mentions it: the claim is deprecated".to_owned());
    }
    if let Some(why) = run.cannot_settle(scopes, prediction) {
        return said(Relation::Mentions, format!("only mentions it: {why}"));
    }
    let met = (run.state == RunState::Succeeded) == (prediction == Prediction::Passes);
    let relation = if met { Relation::Supports } else { Relation::Contradicts };
    match unstable {
        Some(tally) => said(relation, format!("settles nothing: it is unstable, {}", tally.on_content())),
        None => said(relation, format!("{relation} it")),
    }
}
