//! Patterns in the work of a team: their words, what an opened one says, and how risky it is.

use serde::{Deserialize, Serialize};

use crate::domain::claim::word;
use crate::domain::text::{CommandLine, ErrorSignature};
use crate::domain::time::{Hours, Timestamp};

/// The most ledger positions that a pattern names as its grounds.
pub const MAX_GROUNDS: usize = 32;
/// After this time an event adds half as much to a risk. Own choice: a working day later it matters little.
pub const HALF_LIFE: Hours = Hours(24);

word!(
    /// The kind of a pattern.
    PatternKind("kind of pattern") {
        /// One session does the same again and gets the same result.
        Loop = "loop",
        /// Work comes back to an agent that had it, and gets no further.
        HandoffLoop = "handoff_loop",
        /// A dispute about one place gets sharper, and nothing resolves it.
        EscalationSpiral = "escalation_spiral",
        /// A session holds work and shows no activity.
        Stall = "stall",
        /// Several open contradictions in one area, or between the same two agents.
        ContradictionCluster = "contradiction_cluster",
        /// The same check of the same content passes and fails.
        UnstableProof = "unstable_proof",
    }
);

impl PatternKind {
    /// How much each event of the pattern adds to its risk. The order follows what the patterns cost in field reports;
    /// the figures are our own choice: three fresh events of a loop or one fresh stall are above 0.6.
    pub const fn weight(self) -> f64 {
        match self {
            Self::Stall => 0.65,
            Self::EscalationSpiral => 0.35,
            Self::HandoffLoop => 0.3,
            Self::Loop => 0.27,
            Self::ContradictionCluster => 0.2,
            Self::UnstableProof => 0.15,
        }
    }

    /// The words for a sentence.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::HandoffLoop => "hand-off loop",
            Self::EscalationSpiral => "escalation",
            Self::Stall => "stall",
            Self::ContradictionCluster => "cluster of contradictions",
            Self::UnstableProof => "unstable proof",
        }
    }
}

word!(
    /// Why a pattern closed.
    PatternEnd("end of a pattern") {
        /// The work got further: another outcome, a done task, a confirmed claim, a passing run.
        Progress = "progress",
        /// The session filed a claim.
        Filed = "filed",
        /// The dispute is resolved, or fewer contradictions are open than make a cluster.
        Resolved = "resolved",
        /// The session gave a sign of life.
        Heard = "heard",
        /// The task or the session is over.
        Over = "over",
        /// The session does other things since.
        MovedOn = "moved_on",
        /// It no longer counts after this time.
        Expired = "expired",
    }
);

/// What repeats in a pattern, as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    /// How often it happened when the pattern opened.
    pub count: u32,
    /// The number of different actions in one round, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<u32>,
    /// The commands in normal form, or the test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandLine>,
    /// Whether they are tools of the client and no commands of the shell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tool: bool,
    /// The error that repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorSignature>,
    /// When the first of it happened.
    pub since: Timestamp,
}

impl Repeats {
    /// So many since a time, of nothing in particular.
    pub const fn of(count: u32, since: Timestamp) -> Self {
        Self { count, period: None, commands: Vec::new(), tool: false, error: None, since }
    }
}

/// The chance that something is wrong, from 0 to 1, by the events of a pattern: `1 - prod(1 - w * 2^(-age / 24 h))`.
/// A future event counts as one of now.
pub fn risk(events: impl IntoIterator<Item = (f64, Timestamp)>, now: Timestamp) -> f64 {
    let none = events.into_iter().fold(1.0, |none, (weight, at)| {
        let age_ms = (now.ms() - at.ms()).max(0) as f64;
        none * (1.0 - weight.clamp(0.0, 1.0) * (-age_ms / HALF_LIFE.ms() as f64).exp2())
    });
    1.0 - none
}

#[cfg(test)]
mod tests {
    use super::{HALF_LIFE, PatternKind, risk};
    use crate::domain::time::{Hours, Timestamp};

    #[test]
    fn a_risk_adds_up_and_halves_in_a_day() {
        let now = Timestamp::from_ms(10_000_000_000);
        let before = |hours: i64| Timestamp::from_ms(now.ms() - hours * 3_600_000);
        let near = |risk: f64, expected: f64| assert!((risk - expected).abs() < 1e-9, "{risk} {expected}");
        near(risk([], now), 0.0);
        near(risk([(0.5, now)], now), 0.5);
        near(risk([(0.5, before(24))], now), 0.25);
        near(risk([(0.5, before(48)), (0.5, now)], now), 1.0 - 0.875 * 0.5);
        near(risk([(0.5, now.plus(Hours(3)))], now), 0.5);
        near(risk([(7.0, now)], now), 1.0);
        assert_eq!(HALF_LIFE, Hours(24));
    }

    #[test]
    fn a_fresh_loop_and_a_fresh_stall_are_worth_a_guard() {
        let now = Timestamp::from_ms(0);
        let loop_weight = PatternKind::Loop.weight();
        assert!(risk([(loop_weight, now); 3], now) >= 0.6);
        assert!(risk([(PatternKind::Stall.weight(), now)], now) >= 0.6);
        assert!(risk([(PatternKind::UnstableProof.weight(), now); 2], now) < 0.6);
    }
}
