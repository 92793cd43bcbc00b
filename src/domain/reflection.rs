//! Reflection: an error that comes again becomes two hypotheses that compete. Pure.
//!
//! The first says that the code is the cause, the second that the environment is. Each later event counts once. With
//! `F` failures, `A` passes of the same command without an edit between, and `E` passes after an edit, the confidences
//! are `(0.5 * 4 + F + E) / (4 + F + E + A)` and `(0.4 * 4 + A) / (4 + F + E + A)`: the first values weigh like four
//! events. A pass without an edit contradicts the first hypothesis, a pass after an edit the second. Where each failed
//! command passed again without an edit before the hypotheses are made, these passes count too.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::domain::action::only_looks;

/// The fewest failures with one error signature.
const MIN_FAILURES: usize = 3;
/// The fewest sessions, or else tasks, of these failures.
const MIN_APART: usize = 2;
/// The events that the first values weigh.
const WEIGHT: f64 = 4.0;
/// The first confidence that the code is the cause.
const STRUCTURAL: f64 = 0.5;
/// The first confidence that the environment is the cause.
const ENVIRONMENTAL: f64 = 0.4;
/// The most events that a cluster cites.
const MAX_EVIDENCE: usize = 32;

/// The cause that a hypothesis names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The code.
    Structural,
    /// The environment.
    Environmental,
}

/// The later events about an error, by their meaning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Failures with the error.
    pub failures: u64,
    /// Passes of a command that failed with it, without an edit between.
    pub passes: u64,
    /// Passes of such a command after an edit.
    pub passes_after_edit: u64,
}

impl Counts {
    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Both counts together.
    #[must_use]
    pub const fn plus(self, more: Self) -> Self {
        Self {
            failures: self.failures + more.failures,
            passes: self.passes + more.passes,
            passes_after_edit: self.passes_after_edit + more.passes_after_edit,
        }
    }

    /// The confidence in a cause, 0 to 1.
    pub fn confidence(&self, cause: Cause) -> f64 {
        let structural = (self.failures + self.passes_after_edit) as f64;
        let environmental = self.passes as f64;
        let (first, fits) = match cause {
            Cause::Structural => (STRUCTURAL, structural),
            Cause::Environmental => (ENVIRONMENTAL, environmental),
        };
        (first * WEIGHT + fits) / (WEIGHT + structural + environmental)
    }

    /// Whether an event contradicts a cause.
    pub const fn falsifies(&self, cause: Cause) -> bool {
        match cause {
            Cause::Structural => self.passes > 0,
            Cause::Environmental => self.passes_after_edit > 0,
        }
    }
}

/// An action, as far as reflection needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act<'a> {
    /// A command.
    Command {
        /// The normalised command.
        command: &'a str,
        /// The error signature, if it failed with one.
        error: Option<&'a str>,
        /// Whether it failed.
        failed: bool,
    },
    /// A change of files.
    Edit,
}

/// An action with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acted<'a> {
    /// Ledger position.
    pub seq: u64,
    /// The session.
    pub session: Option<&'a str>,
    /// The task that the session held.
    pub task: Option<String>,
    /// The work tree.
    pub worktree: Option<&'a str>,
    /// The action.
    pub act: Act<'a>,
}

/// What was seen of an error signature.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cluster {
    /// The signature.
    pub error: String,
    /// The command that failed first.
    pub command: String,
    /// Ledger positions of the failures.
    pub failures: Vec<u64>,
    /// Ledger positions of passes without an edit between.
    pub passes: Vec<u64>,
    /// Ledger positions of passes after an edit.
    pub passes_after_edit: Vec<u64>,
    /// The sessions that failed.
    pub sessions: BTreeSet<String>,
    /// The tasks in which it failed.
    pub tasks: BTreeSet<String>,
    /// Whether a command that failed with it has not passed since in its session.
    pub is_open: bool,
    /// The error as the last failure printed it. None where only the signature is known.
    pub said: Option<String>,
}

impl Cluster {
    /// Whether the error came often enough, in enough places.
    pub fn is_enough(&self) -> bool {
        self.failures.len() >= MIN_FAILURES
            && (self.sessions.len() >= MIN_APART || self.tasks.len() >= MIN_APART)
    }

    /// What is counted before the first later event: the passes, if each failed command passed again without an edit. They
    /// speak against the code.
    pub fn first_counts(&self) -> Counts {
        let is_over = !self.is_open && !self.passes.is_empty() && self.passes_after_edit.is_empty();
        Counts { passes: if is_over { self.passes.len() as u64 } else { 0 }, ..Counts::default() }
    }

    /// The first failures, as evidence.
    pub fn evidence(&self) -> Vec<u64> {
        self.failures.iter().copied().take(MAX_EVIDENCE).collect()
    }

    /// The last position that counts.
    pub fn last(&self) -> u64 {
        let all = self.failures.iter().chain(&self.passes).chain(&self.passes_after_edit);
        all.copied().max().unwrap_or(0)
    }

    /// The events after a ledger position.
    pub fn after(&self, upto: u64) -> Counts {
        let count = |seqs: &[u64]| seqs.iter().filter(|seq| **seq > upto).count() as u64;
        Counts {
            failures: count(&self.failures),
            passes: count(&self.passes),
            passes_after_edit: count(&self.passes_after_edit),
        }
    }
}

/// A session, a work tree and a command.
type Place = (String, Option<String>, String);

/// A reading of actions in their order.
#[derive(Debug, Default)]
pub struct Reading {
    clusters: BTreeMap<String, Cluster>,
    /// The last failure of a command in a session, until the command passes there.
    failed: HashMap<Place, (String, u64)>,
    /// The last edit in each work tree.
    edited: HashMap<Option<String>, u64>,
}

impl Reading {
    /// Reads the next action.
    pub fn see(&mut self, acted: Acted<'_>) {
        let worktree = acted.worktree.map(str::to_owned);
        let Act::Command { command, error, failed } = acted.act else {
            self.edited.insert(worktree, acted.seq);
            return;
        };
        // A file that is not there is no error of the code.
        if only_looks(command) {
            return;
        }
        let place = acted.session.map(|session| (session.to_owned(), worktree.clone(), command.to_owned()));
        if let Some(error) = error.filter(|_| failed) {
            let cluster = self.clusters.entry(error.to_owned()).or_insert_with(|| Cluster {
                error: error.to_owned(),
                command: command.to_owned(),
                ..Cluster::default()
            });
            cluster.failures.push(acted.seq);
            cluster.sessions.extend(acted.session.map(str::to_owned));
            cluster.tasks.extend(acted.task);
            self.failed.extend(place.map(|place| (place, (error.to_owned(), acted.seq))));
        } else if !failed
            && let Some((error, at)) = place.and_then(|place| self.failed.remove(&place))
            && let Some(cluster) = self.clusters.get_mut(&error)
        {
            let is_after_edit = self.edited.get(&worktree).is_some_and(|edit| *edit > at);
            let passes = if is_after_edit { &mut cluster.passes_after_edit } else { &mut cluster.passes };
            passes.push(acted.seq);
        }
    }

    /// What was seen of each error signature, in the order of the signatures.
    pub fn clusters(mut self) -> Vec<Cluster> {
        for (error, _) in self.failed.values() {
            if let Some(cluster) = self.clusters.get_mut(error) {
                cluster.is_open = true;
            }
        }
        self.clusters.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran<'a>(seq: u64, session: &'a str, error: Option<&'a str>) -> Acted<'a> {
        let act = Act::Command { command: "cargo test", error, failed: error.is_some() };
        Acted { seq, session: Some(session), task: None, worktree: None, act }
    }

    fn clusters<'a>(acted: impl IntoIterator<Item = Acted<'a>>) -> Vec<Cluster> {
        let mut reading = Reading::default();
        acted.into_iter().for_each(|acted| reading.see(acted));
        reading.clusters()
    }

    const fn edit(seq: u64) -> Acted<'static> {
        Acted { seq, session: Some("e"), task: None, worktree: None, act: Act::Edit }
    }

    #[test]
    fn counts_add_up_field_by_field_and_failures_are_the_evidence() {
        let counts = |failures, passes, passes_after_edit| Counts { failures, passes, passes_after_edit };
        assert_eq!(counts(1, 2, 3).plus(counts(4, 5, 6)), counts(5, 7, 9));
        assert!(Counts::default().is_empty());
        assert!(!counts(0, 0, 1).is_empty());
        let found = clusters([ran(1, "a", Some("e")), ran(2, "b", Some("e")), ran(3, "b", Some("e"))]);
        assert_eq!(found[0].evidence(), [1, 2, 3]);
    }

    #[test]
    fn three_failures_of_two_sessions_are_enough_and_of_one_are_not() {
        let of = |sessions: [&'static str; 3]| {
            let acted = sessions.iter().zip(1..).map(|(session, seq)| ran(seq, session, Some("E1")));
            clusters(acted.collect::<Vec<_>>())[0].is_enough()
        };
        assert!(of(["a", "b", "a"]));
        assert!(!of(["a", "a", "a"]));
        assert!(!clusters([ran(1, "a", Some("E1")), ran(2, "b", Some("E1"))])[0].is_enough());
        let tasks =
            [1, 2, 3].map(|seq| Acted { task: Some((seq % 2).to_string()), ..ran(seq, "a", Some("E1")) });
        assert!(clusters(tasks)[0].is_enough(), "two tasks of one session");
    }

    #[test]
    fn a_pass_means_another_cause_after_an_edit_than_without_one() {
        let seen = clusters([ran(1, "a", Some("E1")), ran(2, "a", None), ran(3, "a", None)]);
        assert_eq!((seen[0].passes.as_slice(), seen[0].passes_after_edit.len()), ([2].as_slice(), 0), "once");
        let seen = clusters([ran(1, "a", Some("E1")), edit(2), ran(3, "a", None)]);
        assert_eq!((seen[0].passes.len(), seen[0].passes_after_edit.as_slice()), (0, [3].as_slice()));
        let seen = clusters([edit(1), ran(2, "a", Some("E1")), ran(3, "b", None)]);
        assert_eq!(seen[0].after(0), Counts { failures: 1, ..Counts::default() }, "another session's pass");
    }

    /// Red before: the code came first, whatever had been seen.
    #[test]
    fn what_passed_again_without_an_edit_speaks_for_the_environment_from_the_beginning() {
        let passed = [("a", 1), ("b", 3), ("a", 5)]
            .into_iter()
            .flat_map(|(session, seq)| [ran(seq, session, Some("E1")), ran(seq + 1, session, None)]);
        let seen = clusters(passed.clone());
        let counts = seen[0].first_counts();
        assert_eq!(counts, Counts { passes: 3, ..Counts::default() });
        assert!(counts.confidence(Cause::Environmental) > counts.confidence(Cause::Structural));
        let open = clusters(passed.clone().chain([ran(7, "b", Some("E1"))]));
        assert!(open[0].first_counts().is_empty(), "it fails there still");
        let edited = clusters(passed.chain([ran(7, "b", Some("E1")), edit(8), ran(9, "b", None)]));
        assert!(edited[0].first_counts().is_empty());
    }

    #[test]
    fn a_command_that_only_looks_is_no_error_of_the_code() {
        let act = || Act::Command { command: "ls docs", error: Some("E1"), failed: true };
        let looked =
            |seq, session| Acted { seq, session: Some(session), task: None, worktree: None, act: act() };
        assert_eq!(clusters([looked(1, "a"), looked(2, "b"), looked(3, "a")]), []);
    }

    #[test]
    fn the_confidences_follow_the_counts() {
        let none = Counts::default();
        assert_eq!((none.confidence(Cause::Structural), none.confidence(Cause::Environmental)), (0.5, 0.4));
        let seen = Counts { failures: 3, passes: 1, passes_after_edit: 0 };
        assert_eq!(
            (seen.confidence(Cause::Structural), seen.confidence(Cause::Environmental)),
            (0.625, 0.325)
        );
        assert!(seen.falsifies(Cause::Structural) && !seen.falsifies(Cause::Environmental));
        let mended = Counts { failures: 0, passes: 0, passes_after_edit: 1 };
        assert!(!mended.falsifies(Cause::Structural) && mended.falsifies(Cause::Environmental));
    }

    #[test]
    fn events_up_to_a_position_count_no_second_time() {
        let seen = clusters([ran(1, "a", Some("E1")), ran(2, "b", Some("E1")), ran(3, "a", None)]);
        let all = seen[0].after(0);
        let split = seen[0].after(1).plus(Counts { failures: 1, ..Counts::default() });
        assert_eq!(all, split);
        assert!(seen[0].after(seen[0].last()).is_empty());
    }
}
