//! Checks that pass and fail on the same content. Whether they do is decided with the run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Book, Found, Subject};
use crate::domain::event::{Event, Recorded};
use crate::domain::experiment::RunState;
use crate::domain::pattern::{PatternEnd, PatternKind, Repeats};
use crate::domain::state::{COUNTS_FOR, State};
use crate::domain::time::{Hours, Timestamp};

/// The time over which failures of all runs are counted.
const MACHINE: Hours = Hours(1);
/// The fewest runs in that time that say something about the machine.
const FEWEST_RUNS: usize = 5;
/// The most runs that are kept of it.
const MAX_RUNS: usize = 256;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Unstable {
    /// The runs of the last hour: their time, their test, and whether they passed.
    runs: VecDeque<(Timestamp, String, bool)>,
    /// When each open pattern was last confirmed.
    since: BTreeMap<Subject, Timestamp>,
    /// The positions of the runs of each test.
    ends: BTreeMap<String, Vec<u64>>,
}

impl Unstable {
    pub(super) fn evolve(&mut self, state: &State, recorded: &Recorded, event: &Event, book: &mut Book) {
        let Event::ExperimentCompleted(ended) = event else { return };
        let Some(key) = &ended.key else { return };
        let passed = match ended.outcome.state {
            RunState::Succeeded => true,
            RunState::Failed => false,
            RunState::Queued
            | RunState::Running
            | RunState::TimedOut
            | RunState::Canceled
            | RunState::Aborted => return,
        };
        self.runs.push_back((recorded.at, key.test.clone(), passed));
        self.runs.retain(|(at, ..)| at.is_within(MACHINE, recorded.at));
        while self.runs.len() > MAX_RUNS {
            self.runs.pop_front();
        }
        let ends = self.ends.entry(key.test.clone()).or_default();
        ends.push(recorded.seq);
        if ends.len() > super::MAX_GROUNDS {
            ends.remove(0);
        }
        let subject = Subject::new(PatternKind::UnstableProof, None, &key.test);
        if ended.stable_again {
            self.since.remove(&subject);
            return book.close(&subject, PatternEnd::Progress, recorded.at);
        }
        let Some(tally) = &ended.unstable else { return };
        self.since.insert(subject.clone(), recorded.at);
        if self.is_the_machine() {
            return;
        }
        let run = state.run(ended.run_id);
        let claim = run.and_then(|run| state.claim(run.claim?));
        book.open(Found {
            subject,
            agents: BTreeSet::new(),
            task: None,
            scopes: claim.map(|claim| claim.scopes.clone()).unwrap_or_default(),
            rests_on: self.ends.get(&key.test).cloned().unwrap_or_default(),
            repeats: Repeats {
                commands: vec![ended.command.clone()],
                ..Repeats::of(tally.passed + tally.failed, recorded.at)
            },
            at: recorded.at,
        });
    }

    /// Whether nearly all runs fail, so that the cause is the machine and no single test.
    fn is_the_machine(&self) -> bool {
        let failed = self.runs.iter().filter(|(.., passed)| !passed).count();
        let tests: BTreeSet<&str> = self.runs.iter().map(|(_, test, _)| test.as_str()).collect();
        self.runs.len() >= FEWEST_RUNS && tests.len() > 1 && failed * 5 >= self.runs.len() * 4
    }

    pub(super) fn due(&self, now: Timestamp, book: &mut Book) {
        for (subject, at) in &self.since {
            if !at.is_within(COUNTS_FOR, now) {
                book.close(subject, PatternEnd::Expired, now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Unstable;
    use crate::domain::time::Timestamp;

    /// Whether these runs, the name of a test and whether it passed, blame the machine.
    fn blames(runs: &[(&str, bool)]) -> bool {
        let runs = runs.iter().map(|(test, passed)| (Timestamp::from_ms(0), (*test).to_owned(), *passed));
        Unstable { runs: runs.collect(), ..Unstable::default() }.is_the_machine()
    }

    #[test]
    fn the_machine_is_blamed_for_several_tests_and_many_runs_only() {
        let (a, b, passes) = (("a", false), ("b", false), ("b", true));
        assert!(blames(&[a, a, a, b, passes]));
        assert!(!blames(&[a, a, b, passes, passes]), "three in five");
        assert!(!blames(&[a, a, a, a, a]), "one test");
        assert!(!blames(&[a, a, a, b]), "four runs");
    }
}
