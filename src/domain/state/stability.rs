//! Tests that passed and failed on the same content, and how long this counts against them.

use std::collections::BTreeMap;

use crate::domain::event::Place;
use crate::domain::experiment::{RunKey, Tally};
use crate::domain::time::{Hours, Timestamp};

/// How long a run counts: long enough to meet a flaky test twice, short enough to forget a repaired one.
pub const COUNTS_FOR: Hours = Hours(14 * 24);
/// Number of equal runs on new content that clear an unstable test.
pub const EQUAL_RUNS: u32 = 5;

/// A finished run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Past {
    place: Place,
    key: RunKey,
    passed: bool,
    /// Whether the test became stable again with this run. Earlier runs on other content then stop counting.
    clears: bool,
}

/// The runs of the last days, by their check. Events of older releases name no check, and are kept by their test.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stability(BTreeMap<String, Vec<Past>>);

/// The judgement of a test from its earlier runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Steadiness {
    /// The count of both outcomes, if the test passed and failed on one content.
    pub unstable: Option<Tally>,
    /// Whether this run clears the test.
    pub stable_again: bool,
}

impl Stability {
    /// Judges a key at `now`. `new` is the outcome of a further run that is not yet among the known ones.
    pub fn of(&self, key: &RunKey, new: Option<bool>, now: Timestamp) -> Steadiness {
        let by_test = Some(&key.test).filter(|test| *test != list_of(key));
        let lists = by_test.into_iter().chain([list_of(key)]).filter_map(|list| self.0.get(list));
        let mut pasts: Vec<&Past> = lists.flatten().collect();
        pasts.sort_by_key(|past| past.place.seq);
        // One content has two names where only some of its runs have a check.
        let named = pasts.iter().filter_map(|past| past.key.check.as_ref().map(|check| (past, check)));
        let named: BTreeMap<&str, &str> =
            named.map(|(past, check)| (past.key.content.as_str(), check.content.as_str())).collect();
        let content_of = |past: &Past| -> String {
            let content = past.key.content.as_str();
            if past.key.is_same_content(key) {
                return key.content.clone();
            }
            (*named.get(content).unwrap_or(&content)).to_owned()
        };
        let mut contents: BTreeMap<String, Tally> = BTreeMap::new();
        let mut cleared_on: Vec<String> = Vec::new();
        for past in pasts.into_iter().rev() {
            let of = content_of(past);
            // The content in question keeps its own runs, whatever other content showed since.
            let counts = of == key.content || cleared_on.iter().all(|content| *content == of);
            if counts && past.place.at.is_within(COUNTS_FOR, now) {
                contents.entry(of.clone()).or_default().add(past.passed);
            }
            cleared_on.extend(past.clears.then_some(of));
        }
        let mut own = contents.remove(key.content.as_str()).unwrap_or_default();
        new.iter().for_each(|passed| own.add(*passed));
        if own.is_mixed() {
            return Steadiness { unstable: Some(own), stable_again: false };
        }
        let elsewhere = contents.into_values().find(|tally| tally.is_mixed());
        let elsewhere = elsewhere.map(|tally| Tally { earlier: true, ..tally });
        let is_cleared = own.passed + own.failed >= EQUAL_RUNS;
        Steadiness {
            unstable: elsewhere.filter(|_| !is_cleared),
            stable_again: elsewhere.is_some() && is_cleared,
        }
    }

    /// Adds a finished run. The order of calls does not matter: after an erasure, the end of a run is recorded again
    /// late.
    pub(super) fn add(&mut self, key: &RunKey, passed: bool, place: Place, clears: bool) {
        let past = self.0.entry(list_of(key).clone()).or_default();
        let before = past.partition_point(|known| known.place.seq <= place.seq);
        past.insert(before, Past { place, key: key.clone(), passed, clears });
        let newest = past.iter().map(|known| known.place.at).max();
        past.retain(|known| newest.is_none_or(|newest| known.place.at.is_within(COUNTS_FOR, newest)));
    }
}

/// The name under which runs of the same check are kept.
fn list_of(key: &RunKey) -> &String {
    key.check.as_ref().map_or(&key.test, |check| &check.test)
}

#[cfg(test)]
mod tests {
    use super::{COUNTS_FOR, Stability, Steadiness};
    use crate::domain::event::Place;
    use crate::domain::experiment::{CheckKey, RunKey, Tally};
    use crate::domain::time::{Hours, Timestamp};

    fn key(content: &str) -> RunKey {
        RunKey {
            test: "pytest".to_owned(),
            content: content.to_owned(),
            tree: None,
            covered: None,
            own: None,
            check: None,
        }
    }

    /// Red before: a failure under another spelling, or of another profile with the same command, did not count.
    #[test]
    fn runs_of_one_check_count_together_whatever_they_are_called() {
        let now = Timestamp::from_ms(1_000_000);
        let called = |test: &str, content: &str, check: Option<(&str, &str)>| {
            let check = check.map(|(content, tree)| CheckKey {
                test: "sh t.sh".to_owned(),
                content: content.to_owned(),
                tree: Some(tree.to_owned()),
                covers: test.to_owned(),
            });
            RunKey { test: test.to_owned(), check, ..key(content) }
        };
        let mixed = Some(Tally { passed: 1, failed: 1, earlier: false });
        let failed = called("one", "one a", Some(("a", "t")));
        for (other, counts) in [
            (called("two", "two a", Some(("a", "u"))), true),
            (called("two", "two b", Some(("b", "t"))), true),
            (called("two", "two b", Some(("b", "u"))), false),
            (called("two", "two a", None), false),
            (called("one", "one a", None), true),
        ] {
            let mut seen = Stability::default();
            seen.add(&failed, false, Place { seq: 1, at: now }, false);
            let found = seen.of(&other, Some(true), now).unstable;
            // A run of an older release is found by its test, from both sides.
            let mut before = Stability::default();
            before.add(&other, false, Place { seq: 1, at: now }, false);
            let found_by = before.of(&failed, Some(true), now).unstable;
            assert_eq!((found_by == mixed, counts), (counts, counts), "{other:?}");
            assert_eq!(found == mixed, counts && other.check.is_some(), "{other:?}");
        }
    }

    /// Judges a run by the earlier runs, then adds it to them.
    fn ran(seen: &mut Stability, content: &str, passed: bool, now: Timestamp) {
        let clears = seen.of(&key(content), Some(passed), now).stable_again;
        let seq = seen.0.values().map(|past| past.len() as u64).sum::<u64>() + 1;
        seen.add(&key(content), passed, Place { seq, at: now }, clears);
    }

    #[test]
    fn both_outcomes_on_one_content_make_a_test_unstable_until_it_is_cleared() {
        let now = Timestamp::from_ms(1_000_000);
        let mut seen = Stability::default();
        ran(&mut seen, "a", true, now);
        assert_eq!(seen.of(&key("a"), Some(true), now), Steadiness::default());
        // Different outcomes on different content are normal.
        assert_eq!(seen.of(&key("b"), Some(false), now), Steadiness::default());
        ran(&mut seen, "a", false, now);
        let mixed = Some(Tally { passed: 1, failed: 1, earlier: true });
        assert_eq!(
            seen.of(&key("a"), None, now).unstable,
            Some(Tally { passed: 1, failed: 1, earlier: false })
        );
        // New content alone does not clear the test, and five equal runs on it do.
        for _ in 0..4 {
            assert_eq!(seen.of(&key("b"), Some(true), now).unstable, mixed);
            ran(&mut seen, "b", true, now);
        }
        let fifth = seen.of(&key("b"), Some(true), now);
        assert_eq!(fifth, Steadiness { unstable: None, stable_again: true });
        assert_eq!(
            seen.of(&key("b"), Some(false), now).unstable,
            Some(Tally { passed: 4, failed: 1, earlier: false })
        );
        ran(&mut seen, "b", true, now);
        assert_eq!(
            seen.of(&key("c"), Some(true), now),
            Steadiness::default(),
            "cleared for all other content"
        );
        // Red before: the content that came out both ways was cleared too.
        assert_eq!(
            seen.of(&key("a"), Some(true), now).unstable,
            Some(Tally { passed: 2, failed: 1, earlier: false })
        );
    }

    #[test]
    fn of_several_contents_that_came_out_both_ways_the_same_one_is_named() {
        let now = Timestamp::from_ms(1_000_000);
        let mut seen = Stability::default();
        for (content, passes) in ["a", "b", "c", "d", "e", "f"].into_iter().zip(1..) {
            ran(&mut seen, content, false, now);
            (0..passes).for_each(|_| ran(&mut seen, content, true, now));
        }
        let first = Some(Tally { passed: 1, failed: 1, earlier: true });
        for _ in 0..20 {
            assert_eq!(seen.of(&key("z"), None, now).unstable, first);
        }
    }

    #[test]
    fn time_clears_it_too() {
        let now = Timestamp::from_ms(1_000_000);
        let mut seen = Stability::default();
        ran(&mut seen, "a", true, now);
        ran(&mut seen, "a", false, now);
        let later = now.plus(COUNTS_FOR).plus(Hours(1));
        assert!(seen.of(&key("a"), Some(true), now).unstable.is_some());
        assert_eq!(seen.of(&key("a"), Some(true), later), Steadiness::default());
    }
    #[test]
    fn an_end_that_is_said_again_late_is_one_that_was_there_in_time() {
        let start = Timestamp::from_ms(1_000_000);
        let days = |days: u64| start.plus(Hours(days as u32 * 24));
        let mixed = ["a", "a", "b", "b", "b", "b", "b", "c", "c", "b", "a"];
        let place = |nth: usize| Place { seq: nth as u64, at: days(nth as u64 * 2) };
        // The third run is the first on new content; the seventh clears the test.
        let run = |nth: usize| (key(mixed[nth]), ![1, 8].contains(&nth), place(nth), nth == 6);
        let folded = |order: &[usize]| {
            let mut seen = Stability::default();
            for nth in order {
                let (key, passed, place, clears) = run(*nth);
                seen.add(&key, passed, place, clears);
            }
            seen
        };
        let in_time: Vec<usize> = (0..mixed.len()).collect();
        for late in in_time.clone() {
            let mut order: Vec<usize> = in_time.iter().copied().filter(|nth| *nth != late).collect();
            order.push(late);
            assert_eq!(folded(&order), folded(&in_time), "run {late}");
        }
    }
}
