//! Calibration: how often each agent's judged claims held. It is shown, and nothing weighs it.

use serde::Serialize;
use serde_json::json;

use super::asking::Asking;
use super::markdown::{counted, name};
use super::{Answer, ViewError, to_json};
use crate::domain::event::Event;
use crate::store::Judged;

/// Fewer judged claims say nothing about an agent.
const ENOUGH: u64 = 5;

/// The calibration of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Calibration {
    agent: String,
    held: u64,
    mixed: u64,
    failed: u64,
    n: u64,
    /// `(held + 0.5 * mixed) / n`. `None` below five judged claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    /// Whether there are too few judged claims.
    insufficient: bool,
    runs_agreed: u64,
    runs: u64,
}

impl Calibration {
    fn of(agent: String, judged: Judged) -> Self {
        let Judged { held, mixed, failed, runs_agreed, runs } = judged;
        let n = held + mixed + failed;
        let share = (n >= ENOUGH).then(|| (held as f64 + 0.5 * mixed as f64) / n as f64);
        Self { agent, held, mixed, failed, n, share, insufficient: share.is_none(), runs_agreed, runs }
    }

    fn line(&self) -> String {
        let share = self.share.map_or_else(|| "insufficient".to_owned(), |share| format!("{share:.2}"));
        let runs = match self.runs {
            0 => String::new(),
            runs => format!("; {} of {} agreed", self.runs_agreed, counted(runs, "run")),
        };
        format!(
            "- {}: {share} ({} judged: {} held, {} in doubt again, {} failed){runs}\n",
            name(&self.agent),
            counted(self.n, "claim"),
            self.held,
            self.mixed,
            self.failed
        )
    }
}

/// The calibration of each agent with a judged claim or a run.
pub(super) fn answer(asking: &mut Asking<'_>) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let judged = asked.store.judged()?.into_iter();
        let all: Vec<Calibration> = judged.map(|(agent, judged)| Calibration::of(agent, judged)).collect();
        let text = || match all.as_slice() {
            [] => "No claim has been judged yet.\n".to_owned(),
            all => all.iter().map(Calibration::line).collect(),
        };
        Ok(asked.answer(|| json!({ "calibration": to_json(&all) }), text))
    })
}

/// Whether an event changes the calibration of an agent.
pub(super) fn touched_by(event: &Event) -> bool {
    matches!(
        event,
        Event::StatusChanged(_)
            | Event::EvidenceAdded(_)
            | Event::EvidenceRetracted(_)
            | Event::ExperimentCompleted(_)
    )
}

#[cfg(test)]
mod tests {
    use super::{Calibration, Judged};

    #[test]
    fn the_share_counts_doubts_half_and_needs_five_claims() {
        let of = |held, mixed, failed| {
            Calibration::of("devops".to_owned(), Judged { held, mixed, failed, ..Judged::default() })
        };
        assert_eq!(of(3, 2, 1).share, Some(4.0 / 6.0));
        assert_eq!((of(4, 0, 0).share, of(4, 0, 0).insufficient), (None, true));
        assert_eq!(of(4, 0, 1).share, Some(0.8));
        assert_eq!(
            of(2, 1, 0).line(),
            "- devops: insufficient (3 claims judged: 2 held, 1 in doubt again, 0 failed)\n"
        );
    }
}
