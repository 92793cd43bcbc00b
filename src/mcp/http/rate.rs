//! Rate limits: a token bucket for each key.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// The number of buckets above which full ones are dropped. A full bucket has the same meaning as none.
const MANY: usize = 1_024;

/// The size of a bucket and its refill rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// Requests per second in the long run.
    pub(super) per_second: f64,
    /// Requests at once, from a full bucket.
    pub(super) burst: f64,
}

/// The buckets of all keys.
#[derive(Debug)]
pub(super) struct Rates<K> {
    buckets: HashMap<K, Bucket>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    limit: Limit,
    left: f64,
    at: Instant,
}

impl Bucket {
    fn filled(self, now: Instant) -> f64 {
        let since: Duration = now.saturating_duration_since(self.at);
        self.limit.burst.min(self.left + since.as_secs_f64() * self.limit.per_second)
    }
}

impl<K: Eq + Hash> Rates<K> {
    pub(super) fn new() -> Self {
        Self { buckets: HashMap::new() }
    }

    /// Takes one request out of the key's bucket; false when the bucket is empty.
    pub(super) fn take(&mut self, who: K, limit: Limit, now: Instant) -> bool {
        if self.buckets.len() >= MANY {
            self.buckets.retain(|_, bucket| bucket.filled(now) < bucket.limit.burst);
        }
        let bucket = self.buckets.entry(who).or_insert(Bucket { limit, left: limit.burst, at: now });
        let left = bucket.filled(now);
        let granted = left >= 1.0;
        (bucket.left, bucket.at) = (if granted { left - 1.0 } else { left }, now);
        granted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Limit, Rates};
    use crate::system;

    #[test]
    fn a_bucket_empties_and_fills_for_each_alone() {
        let (start, limit) = (system::instant(), Limit { per_second: 10.0, burst: 20.0 });
        let mut rates = Rates::new();
        let granted = (0..30).filter(|_| rates.take("a", limit, start)).count();
        assert_eq!(granted, 20);
        assert!(rates.take("b", limit, start));
        assert!(!rates.take("a", limit, start + Duration::from_millis(50)));
        let granted = (0..30).filter(|_| rates.take("a", limit, start + Duration::from_secs(1))).count();
        assert_eq!(granted, 10);
    }
}
