//! Which claims an agent should see first, and which are too old to show: pure, recomputed at every read.

use std::cmp::Ordering;

use serde::Deserialize;

use crate::domain::claim::{ClaimType, Status};
use crate::domain::time::{Hours, Timestamp};

/// What every claim starts with (spec 04).
const BASE: f64 = 0.5;
/// For a link to an active task (spec 04).
const LINKED: f64 = 0.3;
/// For a touch within [`RECENT`] (spec 04).
const TOUCHED: f64 = 0.2;
/// For a scope that matches the files the session touched (spec 04).
const AT_THE_FILES: f64 = 0.2;
/// What effective confidence above one half adds, and below it takes away (spec 04).
const CONFIDENCE: f64 = 0.1;
/// A touch is recent for so long (spec 04).
const RECENT: Hours = Hours(24);

/// After how long without a touch a claim of each type goes stale; a dead end never does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StaleAfter {
    /// Facts.
    pub fact: Hours,
    /// Decisions.
    pub decision: Hours,
    /// Hypotheses.
    pub hypothesis: Hours,
}

impl Default for StaleAfter {
    /// Three days each (spec 04).
    fn default() -> Self {
        Self { fact: Hours(72), decision: Hours(72), hypothesis: Hours(72) }
    }
}

impl StaleAfter {
    const fn of(&self, claim_type: ClaimType) -> Option<Hours> {
        match claim_type {
            ClaimType::Fact => Some(self.fact),
            ClaimType::Decision => Some(self.decision),
            ClaimType::Hypothesis => Some(self.hypothesis),
            ClaimType::Negative => None,
        }
    }
}

/// Where a claim stands for one reader.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Footing {
    /// What kind of statement.
    pub claim_type: ClaimType,
    /// Where it is in its life.
    pub status: Status,
    /// Whether another claim took its place.
    pub superseded: bool,
    /// When it was last touched.
    pub touched_at: Timestamp,
    /// Whether it came from a task that is active.
    pub linked_to_active_task: bool,
    /// Whether its scope matches a file the session touched.
    pub touches_session_files: bool,
    /// Effective confidence now, 0 to 1.
    pub confidence: f64,
}

impl Footing {
    /// Whether it is no longer in force, or was left alone for too long with no active task to speak for it.
    pub fn is_stale(&self, after: &StaleAfter, now: Timestamp) -> bool {
        if self.status == Status::Deprecated || self.superseded {
            return true;
        }
        let hours = after.of(self.claim_type).filter(|_| !self.linked_to_active_task);
        hours.is_some_and(|hours| !self.touched_at.is_within(hours, now))
    }

    /// How much it matters to this reader, 0 to 1.
    pub fn relevance(&self, now: Timestamp) -> f64 {
        let when = |holds: bool, weight: f64| if holds { weight } else { 0.0 };
        let score = BASE
            + when(self.linked_to_active_task, LINKED)
            + when(now.ms().saturating_sub(self.touched_at.ms()) < RECENT.ms(), TOUCHED)
            + when(self.touches_session_files, AT_THE_FILES)
            + CONFIDENCE * (self.confidence - 0.5);
        score.clamp(0.0, 1.0)
    }
}

/// The order of two claims, each a relevance and the ledger position of its last change: what matters more
/// first, and of equals the newer one.
pub fn by_relevance(left: (f64, u64), right: (f64, u64)) -> Ordering {
    right.0.total_cmp(&left.0).then(right.1.cmp(&left.1))
}

#[cfg(test)]
mod tests {
    use super::{Footing, StaleAfter, by_relevance};
    use crate::domain::claim::{ClaimType, Status};
    use crate::domain::time::{Hours, Timestamp};

    const TOUCHED: Timestamp = Timestamp::from_ms(1_795_000_000_000);

    fn fact() -> Footing {
        Footing {
            claim_type: ClaimType::Fact,
            status: Status::Confirmed,
            superseded: false,
            touched_at: TOUCHED,
            linked_to_active_task: false,
            touches_session_files: false,
            confidence: 0.5,
        }
    }

    fn after(hours: u32) -> Timestamp {
        TOUCHED.plus(Hours(hours))
    }

    #[test]
    fn each_reason_adds_its_share_and_the_sum_stays_a_share() {
        let relevance = |footing: Footing, hours| (footing.relevance(after(hours)) * 100.0).round();
        assert_eq!(relevance(fact(), 24), 50.0);
        assert_eq!(relevance(fact(), 23), 70.0);
        assert_eq!(relevance(Footing { linked_to_active_task: true, ..fact() }, 24), 80.0);
        assert_eq!(relevance(Footing { touches_session_files: true, ..fact() }, 24), 70.0);
        assert_eq!(relevance(Footing { confidence: 0.9, ..fact() }, 24), 54.0);
        assert_eq!(relevance(Footing { confidence: 0.0, ..fact() }, 24), 45.0);
        let all = Footing { linked_to_active_task: true, touches_session_files: true, ..fact() };
        assert_eq!(relevance(Footing { confidence: 1.0, ..all }, 0), 100.0);
        // A clock that went back makes nothing old.
        assert_eq!(fact().relevance(Timestamp::from_ms(0)), 0.7);
    }

    #[test]
    fn what_nobody_touched_for_three_days_is_stale_unless_a_task_or_its_type_speaks_for_it() {
        let stale = |footing: Footing, hours| footing.is_stale(&StaleAfter::default(), after(hours));
        assert!(!stale(fact(), 72));
        assert!(fact().is_stale(&StaleAfter::default(), Timestamp::from_ms(after(72).ms() + 1)));
        assert!(!stale(Footing { linked_to_active_task: true, ..fact() }, 1_000));
        assert!(!stale(Footing { claim_type: ClaimType::Negative, ..fact() }, 1_000));
        let short = StaleAfter { decision: Hours(1), ..StaleAfter::default() };
        let decision = Footing { claim_type: ClaimType::Decision, ..fact() };
        assert!(decision.is_stale(&short, after(2)) && !fact().is_stale(&short, after(2)));
    }

    #[test]
    fn what_is_no_longer_in_force_is_stale_whatever_speaks_for_it() {
        for claim_type in [ClaimType::Fact, ClaimType::Negative] {
            let linked = Footing { claim_type, linked_to_active_task: true, ..fact() };
            for gone in
                [Footing { status: Status::Deprecated, ..linked }, Footing { superseded: true, ..linked }]
            {
                assert!(gone.is_stale(&StaleAfter::default(), after(0)), "{gone:?}");
            }
        }
    }

    #[test]
    fn of_equals_the_newer_comes_first() {
        let mut claims = [(0.5, 7), (0.7, 1), (0.5, 9), (0.7, 2)];
        claims.sort_by(|left, right| by_relevance(*left, *right));
        assert_eq!(claims, [(0.7, 2), (0.7, 1), (0.5, 9), (0.5, 7)]);
    }
}
