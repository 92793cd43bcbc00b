//! The effective confidence of a claim: its owner's value, changed by positions and evidence, and reduced over
//! time. It is computed at each read and never stored, so that it cannot compound.

use crate::domain::claim::ClaimType;
use crate::domain::time::{Hours, Timestamp};

/// The effect of one supporter: half of that of a challenger.
const SUPPORT: f64 = 0.10;
/// The effect of one challenger. Doubt weighs more than assent.
const CHALLENGE: f64 = 0.20;
/// The effect of one reproduction. It is larger than that of a supporter, who may not have checked.
const REPRODUCED: f64 = 0.15;

/// The inputs of the confidence of a claim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// The owner's own confidence, 0 to 1.
    pub base: f64,
    /// Agents that support it.
    pub supports: u32,
    /// Agents that challenge it.
    pub challenges: u32,
    /// Independent runs that agree.
    pub reproduced: u32,
}

impl Standing {
    /// Effective confidence without time decay, 0 to 1. It does not depend on the clock, so scores may use it.
    pub fn undecayed(self) -> f64 {
        let moved = SUPPORT * f64::from(self.supports) - CHALLENGE * f64::from(self.challenges)
            + REPRODUCED * f64::from(self.reproduced);
        (self.base + moved).clamp(0.0, 1.0)
    }

    /// Effective confidence at `now` of a claim last touched at `touched`, 0 to 1.
    pub fn effective(self, claim_type: ClaimType, touched: Timestamp, now: Timestamp) -> f64 {
        let Some(half_life) = half_life(claim_type) else { return self.undecayed() };
        let age_ms = now.ms().saturating_sub(touched.ms()).max(0);
        self.undecayed() * 0.5_f64.powf(age_ms as f64 / half_life.ms() as f64)
    }
}

/// Time without a touch after which a claim counts half; `None` for dead ends, which do not decay.
const fn half_life(claim_type: ClaimType) -> Option<Hours> {
    match claim_type {
        ClaimType::Hypothesis => Some(Hours(14 * 24)),
        ClaimType::Fact => Some(Hours(90 * 24)),
        ClaimType::Decision => Some(Hours(180 * 24)),
        ClaimType::Negative => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Standing;
    use crate::domain::claim::ClaimType;
    use crate::domain::time::{Hours, Timestamp};

    fn standing(base: f64, supports: u32, challenges: u32, reproduced: u32) -> Standing {
        Standing { base, supports, challenges, reproduced }
    }

    #[test]
    fn positions_and_runs_move_confidence_within_its_bounds() {
        assert_eq!(standing(0.5, 2, 0, 0).undecayed(), 0.7);
        assert_eq!(standing(0.5, 0, 1, 0).undecayed(), 0.3);
        assert_eq!(standing(0.5, 0, 0, 1).undecayed(), 0.65);
        assert_eq!(standing(1.0, 3, 0, 2).undecayed(), 1.0);
        assert_eq!(standing(0.1, 0, 4, 0).undecayed(), 0.0);
    }

    #[test]
    fn what_nobody_touches_counts_half_after_its_half_life() {
        let touched = Timestamp::from_ms(1_000);
        let after = |days: u32| touched.plus(Hours(days * 24));
        let half = |claim_type, days| standing(0.8, 0, 0, 0).effective(claim_type, touched, after(days));
        assert_eq!(half(ClaimType::Hypothesis, 14), 0.4);
        assert_eq!(half(ClaimType::Fact, 90), 0.4);
        assert_eq!(half(ClaimType::Decision, 360), 0.2);
        assert_eq!(half(ClaimType::Negative, 10_000), 0.8);
        assert_eq!(half(ClaimType::Fact, 0), 0.8);
        // A clock that was set back reduces nothing.
        let before = standing(0.8, 0, 0, 0).effective(ClaimType::Fact, after(1), touched);
        assert_eq!(before, 0.8);
    }
}
