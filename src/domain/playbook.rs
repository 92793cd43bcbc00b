//! Playbooks: sequences of steps that ended well more than once, mined from what hooks saw. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::domain::action::only_looks;
use crate::domain::clean::cleaned;
use crate::domain::ids::TaskId;
use crate::domain::privacy::may_hold_secret;
use crate::domain::scope::Scope;
use crate::domain::text::CommandLine;

/// The fewest steps of a playbook.
const MIN_STEPS: usize = 3;
/// The most steps of a playbook: long ones hurt more than they help.
const MAX_STEPS: usize = 8;
/// The fewest tasks that ended well with the steps.
const MIN_TASKS: usize = 3;
/// The fewest sessions of those tasks.
const MIN_SESSIONS: usize = 2;
/// The fewest days on which those tasks ended.
const MIN_DAYS: usize = 2;
/// The smallest share of the tasks with the steps that ended well.
const MIN_SHARE: f64 = 0.8;
/// The smallest lower bound of that share.
const MIN_BOUND: f64 = 0.5;
/// The quantile of the bound: 95 % on one side. With it, three of three tasks pass (0.53), as `MIN_TASKS` means. With
/// 1.96, four would be needed.
const Z: f64 = 1.645;
/// How many other steps may stand between two steps of a playbook.
const MAX_BETWEEN: usize = 1;
/// The most steps of a task that are compared.
const MAX_OF_TASK: usize = 200;
/// The most places that one mining visits: some tenths of a second.
const MAX_VISITS: usize = 2_000_000;
/// The most events that a playbook cites.
pub const MAX_EVIDENCE: usize = 32;
/// The fewest later tasks after which a playbook can be hidden because of its harm.
const MIN_FOLLOWED: u64 = 3;
/// A playbook without a use for this time is hidden, in milliseconds: 90 days.
const UNUSED_AFTER_MS: i64 = 90 * DAY_MS;
const DAY_MS: i64 = 24 * 3_600_000;
/// The longest short name, in characters.
const NAME_CHARS: usize = 48;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A command in normal form. It ended without a failure.
    Run(CommandLine),
    /// A change of files that match this glob.
    Edit(Scope),
}

impl Step {
    /// The step of a command in normal form. `None` if it only looks, if it may hold a secret, and if it has several lines: no
    /// list of steps shows it as it ran.
    pub fn run(command: &str) -> Option<Self> {
        if only_looks(command) && !is_git_write(command) {
            return None;
        }
        // The message of a commit may speak of tokens.
        let command = general(command);
        if may_hold_secret(&command) || command.contains(['\n', '\r']) {
            return None;
        }
        command.parse().ok().map(Self::Run)
    }

    /// The step of a changed file: all files of its directory with the same ending.
    pub fn edit(path: &str) -> Option<Self> {
        let (dir, file) = path.rsplit_once('/').map_or(("", path), |(dir, file)| (dir, file));
        let glob = match file.rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() => format!("*.{ending}"),
            _ => file.to_owned(),
        };
        let glob = if dir.is_empty() { glob } else { format!("{dir}/{glob}") };
        glob.parse().ok().map(Self::Edit)
    }

    /// The step as a line of a playbook.
    pub fn line(&self) -> String {
        match self {
            Self::Run(command) => format!("run `{}`", command.as_str()),
            Self::Edit(glob) => format!("change `{}`", glob.as_str()),
        }
    }

    /// The criterion by which the step has worked.
    fn criterion(&self) -> String {
        match self {
            Self::Run(command) => format!("`{}` ends with exit code 0", command.as_str()),
            Self::Edit(glob) => format!("files that match `{}` are changed", glob.as_str()),
        }
    }
}

/// Whether a command of git changes the history. Evidence ignores such commands, and a playbook needs them.
fn is_git_write(command: &str) -> bool {
    let mut words = command.split_whitespace();
    words.next() == Some("git")
        && words
            .next()
            .is_some_and(|verb| ["add", "commit", "push", "rebase", "merge", "tag"].contains(&verb))
}

/// The command without the words that differ each time: the message of a commit.
fn general(command: &str) -> String {
    let is_commit = command.starts_with("git commit");
    if is_commit { "git commit".to_owned() } else { command.to_owned() }
}

/// What was done for a task between its claim and its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The task.
    pub task: TaskId,
    /// The sessions that worked on it.
    pub sessions: BTreeSet<String>,
    /// When it ended, epoch ms.
    pub ended_at: i64,
    /// Ledger position of its end.
    pub ended_seq: u64,
    /// Whether it ended as done.
    pub is_done: bool,
    /// The steps that worked, each with the ledger position of its event.
    pub steps: Vec<(Step, u64)>,
}

/// A sequence of steps that ended well more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The steps.
    pub steps: Vec<Step>,
    /// Ledger positions of the events of these steps, at most [`MAX_EVIDENCE`].
    pub evidence: Vec<u64>,
    /// The tasks that ended well with the steps.
    pub tasks: Vec<TaskId>,
    /// The number of tasks with the steps, whatever their end.
    pub of: u64,
    /// The number of sessions.
    pub sessions: u64,
    /// The number of days.
    pub days: u64,
}

/// The lower bound of the share of `good` in `all`, by Wilson.
pub fn lower_bound(good: usize, all: usize) -> f64 {
    if all == 0 {
        return 0.0;
    }
    let (n, share) = (all as f64, good as f64 / all as f64);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    (share + Z * Z / (2.0 * n) - spread) / (1.0 + Z * Z / n)
}

/// The ledger positions of `steps` in `of`, with at most [`MAX_BETWEEN`] other steps between two of them.
pub fn followed(steps: &[Step], of: &[(Step, u64)]) -> Option<Vec<u64>> {
    let taken: Vec<&Step> = of.iter().map(|(step, _)| step).collect();
    let steps: Vec<&Step> = steps.iter().collect();
    places(&steps, &taken).map(|places| places.into_iter().map(|at| of[at].1).collect())
}

fn places<S: PartialEq>(steps: &[S], of: &[S]) -> Option<Vec<usize>> {
    fn from<S: PartialEq>(steps: &[S], of: &[S], at: usize) -> Option<Vec<usize>> {
        let [first, rest @ ..] = steps else { return Some(Vec::new()) };
        if of.get(at)? != first {
            return None;
        }
        if rest.is_empty() {
            return Some(vec![at]);
        }
        let mut later = (at + 1..=at + 1 + MAX_BETWEEN).filter_map(|next| from(rest, of, next));
        let mut places = later.next()?;
        places.insert(0, at);
        Some(places)
    }
    (0..of.len()).find_map(|at| from(steps, of, at))
}

/// Why no context shows an accepted playbook that later tasks followed to a good or a bad end. `None` where it is in use.
pub const fn hidden(helpful: u64, harmful: u64, unused_ms: i64) -> Option<&'static str> {
    if harmful >= helpful && harmful + helpful >= MIN_FOLLOWED {
        Some("it did not help: as many later tasks were given up as done")
    } else if unused_ms > UNUSED_AFTER_MS {
        Some("no task has followed it for 90 days")
    } else {
        None
    }
}

/// Whether a step changes files at one of these places.
pub fn changes(steps: &[Step], places: &[Scope]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Edit(glob) if glob.is_at(places)))
}

/// Whether two sequences are about the same: at least half of the steps of the shorter one are in the other.
pub fn are_alike<S: PartialEq>(one: &[S], other: &[S]) -> bool {
    let shared = one.iter().filter(|step| other.contains(step)).count();
    shared * 2 >= one.len().min(other.len())
}

/// The steps in each sequence are told apart by a number.
type Sequence = Vec<u32>;

/// All candidates of a mining.
struct Mining<'t> {
    tried: &'t [Tried],
    /// The steps of each task as numbers.
    tasks: Vec<&'t [u32]>,
    visits: usize,
    found: Vec<(Sequence, Vec<u32>)>,
}

impl Mining<'_> {
    /// Grows a sequence by one step at a time. `ends` has each task and place where the sequence may end, in order.
    fn grow(&mut self, sequence: &mut Sequence, ends: &[(u32, u32)]) {
        self.visits += ends.len();
        if self.visits > MAX_VISITS {
            return;
        }
        if sequence.len() >= MIN_STEPS {
            let mut tasks: Vec<u32> = ends.iter().map(|(task, _)| *task).collect();
            tasks.dedup();
            if ended_well(self.tried, &tasks) {
                self.found.push((sequence.clone(), tasks));
            }
        }
        if sequence.len() == MAX_STEPS {
            return;
        }
        let mut next: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
        for (task, end) in ends {
            let steps = self.tasks[*task as usize];
            for place in (*end as usize + 1..steps.len()).take(1 + MAX_BETWEEN) {
                // A step that comes again is the next try.
                if !sequence.contains(&steps[place]) {
                    next.entry(steps[place]).or_default().push((*task, place as u32));
                }
            }
        }
        for (step, mut ends) in next {
            // Two ends of one task reach the same place.
            ends.sort_unstable();
            ends.dedup();
            if supports(&ends) >= MIN_TASKS {
                sequence.push(step);
                self.grow(sequence, &ends);
                sequence.pop();
            }
        }
    }
}

/// Whether these tasks are enough, and ended well often enough, for the steps that they share.
fn ended_well(tried: &[Tried], tasks: &[u32]) -> bool {
    let done = || tasks.iter().map(|task| &tried[*task as usize]).filter(|task| task.is_done);
    let (good, all) = (done().count(), tasks.len());
    good >= MIN_TASKS
        && good as f64 / all as f64 >= MIN_SHARE
        && lower_bound(good, all) >= MIN_BOUND
        && are_different(done().map(day), MIN_DAYS)
        && are_different(done().flat_map(|task| &task.sessions), MIN_SESSIONS)
}

/// The day on which the task ended.
const fn day(task: &Tried) -> i64 {
    task.ended_at.div_euclid(DAY_MS)
}

/// Whether there are at least `least` different values.
fn are_different<T: PartialEq>(values: impl Iterator<Item = T>, least: usize) -> bool {
    let mut seen = Vec::with_capacity(least);
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
        if seen.len() >= least {
            return true;
        }
    }
    false
}

/// The number of tasks among these places.
fn supports(ends: &[(u32, u32)]) -> usize {
    ends.chunk_by(|(one, _), (other, _)| one == other).count()
}

/// The playbooks in what was tried: closed sequences that ended well often enough. None of them is like another one, or
/// like one in `known`.
pub fn mine(tried: &[Tried], known: &[Vec<Step>]) -> Vec<Found> {
    let mut numbers: HashMap<&Step, u32> = HashMap::new();
    let mut steps: Vec<&Step> = Vec::new();
    let sequences: Vec<Sequence> = tried
        .iter()
        .map(|one| {
            let mut sequence: Sequence = Vec::new();
            for (step, _) in one.steps.iter().take(MAX_OF_TASK) {
                let number = *numbers.entry(step).or_insert_with(|| {
                    steps.push(step);
                    u32::try_from(steps.len() - 1).unwrap_or(u32::MAX)
                });
                sequence.push(number);
            }
            sequence
        })
        .collect();
    let tasks = sequences.iter().map(Vec::as_slice).collect();
    let mut mining = Mining { tried, tasks, visits: 0, found: Vec::new() };
    let mut starts: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
    for (task, sequence) in (0..).zip(&sequences) {
        for (place, step) in (0..).zip(sequence) {
            starts.entry(*step).or_default().push((task, place));
        }
    }
    for (step, ends) in starts {
        if supports(&ends) >= MIN_TASKS {
            mining.grow(&mut vec![step], &ends);
        }
    }
    let as_steps =
        |sequence: &[u32]| -> Vec<&Step> { sequence.iter().map(|number| steps[*number as usize]).collect() };
    let done = |tasks: &[u32]| -> Vec<usize> {
        tasks.iter().map(|task| *task as usize).filter(|task| tried[*task].is_done).collect()
    };
    let mut found: Vec<Candidate> = closed(mining.found)
        .into_iter()
        .filter(|(sequence, _)| as_steps(sequence).iter().any(|step| matches!(step, Step::Run(_))))
        .map(|(sequence, tasks)| Candidate { done: done(&tasks), of: tasks.len(), sequence })
        .collect();
    found.sort_by_key(|one| std::cmp::Reverse(one.weight()));
    // Steps of known ones that no task took are none of a new one.
    let mut taken: Vec<Sequence> = known
        .iter()
        .map(|known| known.iter().map(|step| numbers.get(step).copied().unwrap_or(u32::MAX)).collect())
        .collect();
    let mut chosen: Vec<Found> = Vec::new();
    // The best come first: many tasks, many steps, and little between the steps.
    for alike in found.chunk_by(|one, other| one.weight() == other.weight()) {
        let is_new =
            |one: &Candidate, taken: &[Sequence]| !taken.iter().any(|other| are_alike(&one.sequence, other));
        let mut alike: Vec<(usize, Vec<&Step>, Vec<u64>, &Candidate)> = alike
            .iter()
            .filter(|one| is_new(one, &taken))
            .filter_map(|one| {
                let (between, evidence) = one.seen_in(tried, &sequences)?;
                Some((between, as_steps(&one.sequence), evidence, one))
            })
            .collect();
        alike.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        for (_, steps, evidence, one) in alike {
            if is_new(one, &taken) {
                chosen.push(one.playbook(tried, steps, evidence));
                taken.push(one.sequence.clone());
            }
        }
    }
    chosen
}

/// A sequence that ended well often enough.
struct Candidate {
    sequence: Sequence,
    /// The tasks with the sequence that ended as done.
    done: Vec<usize>,
    /// The number of all tasks with it.
    of: usize,
}

impl Candidate {
    /// The steps of all tasks that ended as done.
    fn weight(&self) -> usize {
        self.done.len() * self.sequence.len()
    }

    /// How many other steps are between those of the sequence in all its tasks, and the ledger positions of the first ones.
    fn seen_in(&self, tried: &[Tried], sequences: &[Sequence]) -> Option<(usize, Vec<u64>)> {
        let (mut between, mut evidence) = (0, Vec::new());
        for task in &self.done {
            let places = places(&self.sequence, &sequences[*task])?;
            between += places.last()? - places.first()?;
            evidence.extend(places.into_iter().map(|at| tried[*task].steps[at].1));
        }
        evidence.truncate(MAX_EVIDENCE);
        evidence.sort_unstable();
        evidence.dedup();
        Some((between, evidence))
    }

    fn playbook(&self, tried: &[Tried], steps: Vec<&Step>, evidence: Vec<u64>) -> Found {
        let done: Vec<&Tried> = self.done.iter().map(|task| &tried[*task]).collect();
        let sessions: BTreeSet<&String> = done.iter().flat_map(|task| &task.sessions).collect();
        let days: BTreeSet<i64> = done.iter().map(|task| day(task)).collect();
        Found {
            evidence,
            tasks: done.iter().map(|task| task.task).collect(),
            of: self.of as u64,
            sessions: sessions.len() as u64,
            days: days.len() as u64,
            steps: steps.into_iter().cloned().collect(),
        }
    }
}

/// The sequences without those that are part of a longer one of the same tasks.
fn closed(found: Vec<(Sequence, Vec<u32>)>) -> Vec<(Sequence, Vec<u32>)> {
    let mut by_tasks: HashMap<Vec<u32>, Vec<Sequence>> = HashMap::new();
    for (sequence, tasks) in found {
        by_tasks.entry(tasks).or_default().push(sequence);
    }
    let mut closed = Vec::new();
    for (tasks, mut sequences) in by_tasks {
        sequences.sort_by_key(|sequence| std::cmp::Reverse(sequence.len()));
        let mut kept: Vec<Sequence> = Vec::new();
        for sequence in sequences {
            if !kept.iter().any(|longer| is_part(&sequence, longer)) {
                kept.push(sequence);
            }
        }
        closed.extend(kept.into_iter().map(|sequence| (sequence, tasks.clone())));
    }
    closed
}

fn is_part(part: &[u32], of: &[u32]) -> bool {
    let mut rest = of.iter();
    part.iter().all(|step| rest.any(|other| other == step))
}

/// The steps as text: commands, files and criteria only, at most 30 lines.
pub fn text(steps: &[Step]) -> String {
    let mut text = String::new();
    for (nth, step) in (1..).zip(steps) {
        text.push_str(&format!("{nth}. {}\n", cleaned(&step.line())));
    }
    if let Some(last) = steps.iter().rfind(|step| matches!(step, Step::Run(_))) {
        text.push_str(&format!("Done when {}.\n", cleaned(&last.criterion())));
    }
    text
}

/// A short name from the commands: lower case letters, digits and hyphens.
pub fn slug(steps: &[Step]) -> String {
    let commands = steps.iter().filter_map(|step| match step {
        Step::Run(command) => Some(command.as_str().split_whitespace().take(2).collect::<Vec<_>>().join("-")),
        Step::Edit(_) => None,
    });
    let mut slug = String::new();
    for c in commands.collect::<Vec<_>>().join("-").to_lowercase().chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    slug.truncate(NAME_CHARS);
    slug.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = DAY_MS;

    fn tried(nth: u8, session: &str, day: i64, is_done: bool, steps: &[&str]) -> Tried {
        let step = |text: &&str| match text.strip_prefix("edit ") {
            Some(path) => Step::edit(path),
            None => Step::run(text),
        };
        let steps = steps.iter().filter_map(step).zip(u64::from(nth) * 100..).collect();
        Tried {
            task: TaskId::from_uuid(uuid::Uuid::from_u128(u128::from(nth))),
            sessions: BTreeSet::from([session.to_owned()]),
            ended_at: day * DAY,
            ended_seq: u64::from(nth),
            is_done,
            steps,
        }
    }

    const WAY: [&str; 4] = ["edit src/db/pool.rs", "cargo fmt", "cargo test", "git commit -m one"];

    fn three() -> Vec<Tried> {
        vec![tried(1, "a", 1, true, &WAY), tried(2, "b", 2, true, &WAY), tried(3, "a", 2, true, &WAY)]
    }

    fn shown(found: &[Found]) -> Vec<String> {
        found.iter().map(|one| one.steps.iter().map(Step::line).collect::<Vec<_>>().join(", ")).collect()
    }

    #[test]
    fn what_ended_well_three_times_is_found_once_and_whole() {
        let found = mine(&three(), &[]);
        assert_eq!(
            shown(&found),
            ["change `src/db/*.rs`, run `cargo fmt`, run `cargo test`, run `git commit`"]
        );
        let one = &found[0];
        assert_eq!((one.tasks.len(), one.of, one.sessions, one.days), (3, 3, 2, 2));
        assert_eq!(one.evidence, [100, 101, 102, 103, 200, 201, 202, 203, 300, 301, 302, 303]);
        assert!(mine(&three(), std::slice::from_ref(&one.steps)).is_empty(), "mined again, nothing is new");
    }

    #[test]
    fn a_step_between_does_not_hide_the_way_but_two_do() {
        let mut some = three();
        some[1] = tried(2, "b", 2, true, &[WAY[0], WAY[1], "cargo check", WAY[2], WAY[3]]);
        assert_eq!(mine(&some, &[])[0].steps.len(), 4);
        some[1] = tried(2, "b", 2, true, &[WAY[0], WAY[1], "cargo check", "cargo doc", WAY[2], WAY[3]]);
        assert!(mine(&some, &[]).is_empty());
    }

    #[test]
    fn two_ways_of_the_same_tasks_are_two_and_a_part_of_one_is_none() {
        let other = ["edit docs/a.md", "mdbook build", "mdbook serve", "git push origin main"];
        let mut some = three();
        some.extend((4..7).map(|nth| tried(nth, &nth.to_string(), i64::from(nth), true, &other)));
        assert_eq!(mine(&some, &[]).len(), 2);

        let tasks = || vec![0, 1, 2];
        let found =
            [vec![1, 3], vec![4, 5, 6], vec![1, 2, 3], vec![3, 1]].map(|sequence| (sequence, tasks()));
        let kept: Vec<Sequence> = closed(found.to_vec()).into_iter().map(|(sequence, _)| sequence).collect();
        assert_eq!(kept, [vec![4, 5, 6], vec![1, 2, 3], vec![3, 1]]);
    }

    #[test]
    fn the_way_with_the_most_steps_in_all_tasks_together_is_the_best() {
        let long = ["make a", "make b", "make c", "make d", "make e", "make f", "make g"];
        let of = |nth: u8| if nth < 5 { &long[..] } else { &long[..3] };
        let some: Vec<Tried> =
            (0..10).map(|nth| tried(nth, &nth.to_string(), i64::from(nth), true, of(nth))).collect();
        let found = mine(&some, &[]);
        assert_eq!(found.iter().map(|one| (one.steps.len(), one.of)).collect::<Vec<_>>(), [(7, 5)]);
    }

    #[test]
    fn sequences_with_half_of_the_shorter_one_in_common_are_alike() {
        let steps = |lines: &[&str]| lines.iter().filter_map(|line| Step::run(line)).collect::<Vec<_>>();
        let way = steps(&["make a", "make b", "make c", "make d"]);
        for (other, expected) in [
            (&["make a", "make b", "x run", "y run"][..], true),
            (&["make a", "x run", "y run", "z run"], false),
            (&["make a", "x run"], true),
            (&["make a", "x run", "y run"], false),
            (&["x run"], false),
        ] {
            assert_eq!(are_alike(&way, &steps(other)), expected, "{other:?}");
            assert_eq!(are_alike(&steps(other), &way), expected, "{other:?}");
        }
    }

    #[test]
    fn a_command_of_several_lines_is_no_step_unless_it_is_a_commit() {
        let line = |command: &str| Step::run(command).map(|step| step.line());
        assert_eq!(line("python3 -c 'import os\nprint(1)'"), None);
        assert_eq!(line("git commit -m 'mend it\n\nrm -rf build'").as_deref(), Some("run `git commit`"));
    }

    #[test]
    fn each_limit_counts() {
        let few = &three()[..2];
        assert!(mine(few, &[]).is_empty(), "two tasks");
        let one_session: Vec<Tried> =
            (1..=3).map(|nth| tried(nth, "a", i64::from(nth), true, &WAY)).collect();
        assert!(mine(&one_session, &[]).is_empty(), "one session");
        let one_day: Vec<Tried> = (1..=3).map(|nth| tried(nth, &nth.to_string(), 1, true, &WAY)).collect();
        assert!(mine(&one_day, &[]).is_empty(), "one day");
        let mut one_of_four_failed = three();
        one_of_four_failed.push(tried(4, "c", 3, false, &WAY));
        assert!(mine(&one_of_four_failed, &[]).is_empty(), "three of four are less than 80 %");
        let mut one_of_five_failed = one_of_four_failed.clone();
        one_of_five_failed.push(tried(5, "d", 4, true, &WAY));
        assert!(mine(&one_of_five_failed, &[]).is_empty(), "four of five may be chance");
        let five_of_twenty_failed: Vec<Tried> =
            (0..20).map(|nth| tried(nth, &nth.to_string(), i64::from(nth), nth >= 5, &WAY)).collect();
        assert!(mine(&five_of_twenty_failed, &[]).is_empty(), "three of four, however many");
        let mut one_of_seven: Vec<Tried> =
            (1..=6).map(|nth| tried(nth, "ab", i64::from(nth), true, &WAY)).collect();
        one_of_seven[0].sessions = BTreeSet::from(["b".to_owned()]);
        one_of_seven.push(tried(7, "c", 3, false, &WAY));
        assert_eq!(mine(&one_of_seven, &[])[0].of, 7, "six of seven pass, and the failed one is counted");
        let edits = ["edit a/a.rs", "edit b/b.rs", "edit c/c.rs"];
        let edits =
            [("a", 1), ("b", 2), ("c", 3)].map(|(session, day)| tried(day as u8, session, day, true, &edits));
        assert!(mine(&edits, &[]).is_empty(), "no command");
    }

    #[test]
    fn the_bound_lets_three_of_three_pass_and_two_of_two_not() {
        assert!(lower_bound(3, 3) >= MIN_BOUND && lower_bound(2, 2) < MIN_BOUND, "{}", lower_bound(3, 3));
        assert!(lower_bound(8, 10) >= MIN_BOUND && lower_bound(4, 5) < MIN_BOUND);
        assert_eq!(lower_bound(0, 0), 0.0);
        for (good, all, expected) in [(3, 3, 0.525_76), (4, 5, 0.435_26), (15, 20, 0.567_78)] {
            assert!(
                (lower_bound(good, all) - expected).abs() < 1e-5,
                "{good} of {all}: {}",
                lower_bound(good, all)
            );
        }
    }

    #[test]
    fn lines_that_only_look_are_no_steps_and_commits_are_alike() {
        assert_eq!(Step::run("ls src"), None);
        assert_eq!(Step::run("git status"), None);
        assert_eq!(Step::run("unzip -P sunshine a.zip"), None, "it may hold a secret");
        assert_eq!(Step::run("git commit -m one"), Step::run("git commit -m 'two words'"));
        for (path, glob) in [
            ("README", "README"),
            (".gitignore", ".gitignore"),
            ("a.rs", "*.rs"),
            ("src/b/.env", "src/b/.env"),
        ] {
            assert_eq!(Step::edit(path), Some(Step::Edit(glob.parse().expect("a path"))));
        }
    }

    #[test]
    fn the_text_is_short_and_ends_with_the_criterion() {
        let found = mine(&three(), &[]);
        let text = text(&found[0].steps);
        assert!(
            text.ends_with("4. run `git commit`\nDone when `git commit` ends with exit code 0.\n"),
            "{text}"
        );
        assert!(text.lines().count() <= 30);
        assert_eq!(slug(&found[0].steps), "cargo-fmt-cargo-test-git-commit");
        let spelled = ["./run --all", "make _it_"].map(|line| Step::run(line).expect("a step"));
        assert_eq!(slug(&spelled), "run-all-make-it");
    }

    #[test]
    fn many_equal_tasks_are_mined_within_the_visits() {
        let steps: Vec<String> = (0..60).map(|nth| format!("tool{nth} run")).collect();
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let many: Vec<Tried> =
            (0..200).map(|nth| tried(nth, &nth.to_string(), i64::from(nth), true, &steps)).collect();
        let found = mine(&many, &[]);
        assert!(!found.is_empty());
        for (at, one) in found.iter().enumerate() {
            assert!(found[..at].iter().all(|other| !are_alike(&one.steps, &other.steps)), "{one:?}");
        }
    }
}
