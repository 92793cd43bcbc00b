//! Claims whose evidence shows nothing: commands whose exit code is that of the end of a pipe, or was not seen. A command
//! that printed a figure of the claim shows that figure, however its line ended.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::domain::event::Event;
use crate::domain::ids::{ClaimId, EventId};
use crate::reads::Reads;
use crate::store::{ClaimSummary, Supported};

/// Marks the claims whose events all show nothing. None where the ledger cannot be read.
pub(super) fn mark(reads: &mut Reads, claims: &mut [ClaimSummary], supported: &[Supported]) {
    let Some(ledger) = reads.readable_ledger().filter(|_| !supported.is_empty()) else { return };
    let shows_nothing = |event: &str, statement: &str| {
        let stored = event.parse::<EventId>().ok().and_then(|id| ledger.event(id).ok()?);
        match stored.and_then(|stored| stored.recorded().ok()?.event) {
            Some(Event::CommandRan(ran)) => {
                (ran.of_last || ran.unseen)
                    && !ran.tail.is_some_and(|tail| has_figure_of(tail.as_str(), statement))
            }
            _ => false,
        }
    };
    let mut events: BTreeMap<ClaimId, BTreeSet<&str>> = BTreeMap::new();
    for (claim, event) in supported {
        events.entry(*claim).or_default().insert(event);
    }
    for claim in claims {
        let of_it = events.get(&claim.id);
        let is_nothing =
            |events: &BTreeSet<&str>| events.iter().all(|event| shows_nothing(event, &claim.statement));
        claim.shows_nothing = of_it.is_some_and(is_nothing);
    }
}

/// The least number of digits of a whole number that is a figure by itself.
const LONG_DIGITS: usize = 4;
/// The least number of shorter whole numbers that are figures together: one or two stand in any output.
const MANY: usize = 3;

/// Whole numbers that are rather years, in the dates of an output, than figures.
const YEARS: std::ops::RangeInclusive<u32> = 1_990..=2_039;

/// Whether a text has a figure of another one: `4.13`, `7106`, or three whole numbers such as `10 / 17 / 73`.
fn has_figure_of(text: &str, statement: &str) -> bool {
    let said: HashSet<&str> = numbers(statement).collect();
    let both: HashSet<&str> = numbers(text).filter(|number| said.contains(number)).collect();
    both.iter().any(|number| number.contains('.') || number.len() >= LONG_DIGITS) || both.len() >= MANY
}

/// The numbers of a text with a fraction or of two digits and more, without years.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let numbers = text.split(|c: char| !(c.is_ascii_digit() || c == '.')).map(|word| word.trim_matches('.'));
    let is_year = |number: &str| number.parse().is_ok_and(|year| YEARS.contains(&year));
    numbers.filter(move |number| number.len() >= 2 && number.matches('.').count() <= 1 && !is_year(number))
}

#[cfg(test)]
mod tests {
    use super::has_figure_of;

    #[test]
    fn a_figure_is_the_same_number_and_not_any_small_one() {
        let printed = "one lock around it median 1.06 M hits/s (0.88 to 1.19)\n load average: 5.78";
        assert!(has_figure_of(printed, "one hot key: 3.69; 1.06."));
        assert!(!has_figure_of(printed, "8 threads on one hot key: 1.0 M, version 1.06.2"));
        assert!(!has_figure_of("47 passed", "47 tests pass"));
        // Red before: whole numbers were no figures.
        let printed = "uneven buffer=64 ordered=True shared 5129/s (5102..5147)\nafter 10: 10 17 73\nin 2026";
        assert!(has_figure_of(printed, "shared 5129/s"));
        assert!(has_figure_of(printed, "at most 10/17/73"));
        assert!(has_figure_of("median 20.5 ms", "20.5 ms in the median"));
        assert!(has_figure_of("2048 rows", "2048 rows are read"));
        assert!(!has_figure_of(printed, "17 of 73 since 2026"));
    }
}
