//! How far a claim can be trusted: what its owner said, moved by what the team says.

/// What one supporter adds (spec 02).
const SUPPORT: f64 = 0.10;
/// What one challenger takes away (spec 02).
const CHALLENGE: f64 = 0.20;

/// Effective confidence without its decay, 0 to 1: no clock enters it, so scores may use it.
pub fn undecayed(base: f64, supports: u32, challenges: u32) -> f64 {
    (base + SUPPORT * f64::from(supports) - CHALLENGE * f64::from(challenges)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::undecayed;

    #[test]
    fn positions_move_confidence_within_its_bounds() {
        assert_eq!(undecayed(0.5, 2, 0), 0.7);
        assert_eq!(undecayed(0.5, 0, 1), 0.3);
        assert_eq!(undecayed(1.0, 3, 0), 1.0);
        assert_eq!(undecayed(0.1, 0, 4), 0.0);
    }
}
