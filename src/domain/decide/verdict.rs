//! Judges the outcome of a run for a claim. No other code judges runs, and no caller can choose the verdict.

use crate::domain::claim::{Relation, Status};
use crate::domain::experiment::{Prediction, RunState, Tally};
use crate::domain::scope::Scope;
use crate::domain::state::Run;

/// What a run does whose test came out both ways.
pub(crate) const SETTLES_NOTHING: &str = "settles nothing: it is unstable";

/// The meaning of a run for a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// The relation of the run to the claim. None if the run had no outcome.
    pub(crate) relation: Option<Relation>,
    /// The count of both outcomes, if the test passed and failed on the same content.
    pub(crate) unstable: Option<Tally>,
    /// The reason, as the end of a sentence that starts with "run ID".
    pub(crate) why: String,
}

impl Verdict {
    /// The verdict for a run on other content than that of the claim.
    pub(crate) fn undecided(unstable: Option<Tally>, change: &str) -> Self {
        Self { relation: None, unstable, why: format!("neither confirms nor contradicts it: {change}") }
    }

    /// The verdict for a run that does not decide, for a reason besides its outcome.
    pub(crate) fn that_only_mentions(self, why: &str) -> Self {
        let why = format!("only mentions it: {why}");
        Self { relation: Some(Relation::Mentions), why, ..self }
    }

    /// Whether the run confirms a claim that waits for it.
    pub(crate) fn proves(&self) -> bool {
        self.relation == Some(Relation::Supports) && self.unstable.is_none()
    }
}

/// Judges a finished run. `unstable` counts both outcomes of the same test on the same content. Only status and scopes
/// of the claim matter.
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
    // Before predictions existed, the caller chose this relation. It is a link, not a judgement.
    if run.relation == Some(Relation::CausedBy) {
        return said(Relation::CausedBy, "is where it came from".to_owned());
    }
    if status == Status::Deprecated {
        return said(Relation::Mentions, "only mentions it: the claim is deprecated".to_owned());
    }
    if let Some(why) = run.cannot_settle(scopes, prediction) {
        return said(Relation::Mentions, format!("only mentions it: {why}"));
    }
    if let Some(elsewhere) = run.failed_elsewhere(scopes) {
        return said(Relation::Mentions, format!("only mentions it: {elsewhere}"));
    }
    let met = (run.state == RunState::Succeeded) == (prediction == Prediction::Passes);
    let relation = if met { Relation::Supports } else { Relation::Contradicts };
    match unstable {
        Some(tally) => said(relation, format!("{SETTLES_NOTHING}, {}", tally.on_content())),
        None => said(relation, format!("{relation} it")),
    }
}
