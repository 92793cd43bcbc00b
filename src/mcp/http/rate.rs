//! How often somebody may ask: a bucket of requests that fills at a fixed rate.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Requests per second, in the long run (spec 10).
const PER_SECOND: f64 = 10.0;
/// Requests at once: two clients that start together ask about seven things each.
const BURST: f64 = 20.0;
/// Buckets kept before full ones are thrown away; a full one says no more than none.
const MANY: usize = 1_024;

/// The buckets of everybody who asks.
#[derive(Debug)]
pub(super) struct Rates<K> {
    buckets: HashMap<K, Bucket>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn filled(self, now: Instant) -> f64 {
        let since: Duration = now.saturating_duration_since(self.at);
        BURST.min(self.left + since.as_secs_f64() * PER_SECOND)
    }
}

impl<K: Eq + Hash> Rates<K> {
    pub(super) fn new() -> Self {
        Self { buckets: HashMap::new() }
    }

    /// Takes one request out; false when there is none left.
    pub(super) fn take(&mut self, who: K, now: Instant) -> bool {
        if self.buckets.len() >= MANY {
            self.buckets.retain(|_, bucket| bucket.filled(now) < BURST);
        }
        let bucket = self.buckets.entry(who).or_insert(Bucket { left: BURST, at: now });
        let left = bucket.filled(now);
        let granted = left >= 1.0;
        *bucket = Bucket { left: if granted { left - 1.0 } else { left }, at: now };
        granted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Rates;
    use crate::system;

    #[test]
    fn a_bucket_empties_and_fills_for_each_alone() {
        let start = system::instant();
        let mut rates = Rates::new();
        let granted = (0..30).filter(|_| rates.take("a", start)).count();
        assert_eq!(granted, 20);
        assert!(rates.take("b", start));
        assert!(!rates.take("a", start + Duration::from_millis(50)));
        let granted = (0..30).filter(|_| rates.take("a", start + Duration::from_secs(1))).count();
        assert_eq!(granted, 10);
    }
}
