//! The detectors of patterns against labelled traces: generated ones, ones written by hand, and recorded days.

pub(crate) mod generate;
pub(crate) mod replay;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use hivemind::domain::pattern::PatternKind;
use replay::{Expect, Raised, Replay, Trace};

/// Seeds of the development half. The test half begins after them: no rule was made with it.
const DEVELOPMENT: std::ops::Range<u64> = 0..5;
const TEST: std::ops::Range<u64> = 1_000..1_005;

#[derive(Debug, Clone, Copy, Default)]
struct Score {
    found: usize,
    missed: usize,
    wrong: usize,
}

#[derive(Debug, Default)]
struct Scores {
    of: BTreeMap<PatternKind, Score>,
    traces: usize,
    negatives: usize,
    agent_hours: f64,
    misses: Vec<String>,
}

/// The Wilson interval of a share, at 95 %.
fn wilson(good: usize, all: usize) -> (f64, f64) {
    if all == 0 {
        return (0.0, 1.0);
    }
    let (n, z) = (all as f64, 1.96_f64);
    let p = good as f64 / n;
    let middle = p + z * z / (2.0 * n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let under = 1.0 + z * z / n;
    ((middle - half) / under, (middle + half) / under)
}

fn meets(expect: &Expect, raised: &Raised) -> bool {
    let in_time = match (expect.by, expect.by_s) {
        (_, Some(by_s)) => raised.at_s <= by_s,
        (Some(by), None) => raised.step <= by,
        (None, None) => true,
    };
    is_about(expect, raised) && raised.step >= expect.from && in_time
}

/// Whether a pattern is of the same kind and shares an agent with what is expected.
fn is_about(expect: &Expect, raised: &Raised) -> bool {
    let shares = expect.agents.iter().any(|agent| raised.agents.contains(agent));
    expect.kind == raised.kind && (expect.agents.is_empty() || raised.agents.is_empty() || shares)
}

impl Scores {
    fn add(&mut self, trace: &Trace) {
        let replay = Replay::of(trace);
        self.traces += 1;
        self.negatives += usize::from(trace.header.expect.is_empty());
        self.agent_hours += trace.agent_hours();
        for expect in &trace.header.expect {
            let score = self.of.entry(expect.kind).or_default();
            if replay.raised.iter().any(|raised| meets(expect, raised)) {
                score.found += 1;
            } else {
                score.missed += 1;
                let raised: Vec<_> =
                    replay.raised.iter().map(|raised| (raised.kind, raised.step, raised.at_s)).collect();
                self.misses.push(format!(
                    "{}: missed {expect:?}; raised {raised:?}; refused {:?}",
                    trace.header.trace, replay.refused
                ));
            }
        }
        for raised in &replay.raised {
            if !trace
                .header
                .expect
                .iter()
                .any(|expect| is_about(expect, raised) && raised.step >= expect.from)
            {
                self.of.entry(raised.kind).or_default().wrong += 1;
                self.misses.push(format!("{}: false alarm {raised:?}", trace.header.trace));
            }
        }
    }

    fn of<'t>(traces: impl IntoIterator<Item = &'t Trace>) -> Self {
        let mut scores = Self::default();
        traces.into_iter().for_each(|trace| scores.add(trace));
        scores
    }

    fn report(&self, of: &str) -> String {
        let mut text = format!("{of}: {} traces, {} without a pattern\n", self.traces, self.negatives);
        let mut wrong = 0;
        for (kind, Score { found, missed, wrong: false_alarms }) in &self.of {
            let share = |good: usize, all: usize| {
                let (low, high) = wilson(good, all);
                let p = if all == 0 { f64::NAN } else { good as f64 / all as f64 };
                format!("{p:.3} ({good}/{all}, 95 % {low:.2}-{high:.2})")
            };
            let _ = writeln!(
                text,
                "  {kind:<22} precision {}  recall {}",
                share(*found, found + false_alarms),
                share(*found, found + missed)
            );
            wrong += false_alarms;
        }
        let hours = self.agent_hours;
        let _ = writeln!(
            text,
            "  false alarms: {wrong} in {hours:.1} agent-hours, {:.3} an hour",
            wrong as f64 / hours
        );
        let misses = self.misses.iter().map(|miss| format!("  {miss}\n"));
        text.extend(misses);
        text
    }
}

fn generated(seeds: std::ops::Range<u64>) -> Vec<Trace> {
    seeds.flat_map(generate::traces).collect()
}

/// The traces of a directory of the corpus.
pub(crate) fn stored(part: &str) -> Vec<Trace> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora/traces").join(part);
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let files = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect();
    files.sort();
    files.iter().map(|file| Trace::parse(&std::fs::read_to_string(file).expect("a trace"))).collect()
}

/// The second day was recorded after the rules were made: four agents at work in two packages, through `hm hook`. Red
/// before: a client that reports no exit code of a success, and tries of a mend, were loops.
#[test]
fn a_recorded_day_of_ordinary_work_raises_no_alarm() {
    let days = stored("day");
    let day = days.iter().find(|day| day.header.trace == "second-day").expect("the day");
    let ended = |step: &&replay::Step| {
        let hook = step.hook.as_ref();
        hook.is_some_and(|hook| {
            ["tool_response", "toolResult", "error"].iter().any(|field| hook.get(*field).is_some())
        })
    };
    let tools = day.steps.iter().filter(ended).count();
    assert!(tools >= 2_000, "{tools} calls of tools");
    let replay = Replay::of(day);
    assert!(replay.raised.is_empty(), "{:?} in {:.1} agent-hours", replay.raised, day.agent_hours());
}

#[test]
fn generated_traces_meet_the_bar() {
    let traces = generated(TEST);
    assert!(traces.len() >= 200, "{} traces", traces.len());
    let scores = Scores::of(&traces);
    assert!(scores.negatives * 2 >= scores.traces);
    for kind in PatternKind::ALL {
        let Score { found, missed, wrong } = scores.of.get(kind).copied().unwrap_or_default();
        let report = || scores.report("generated");
        assert!(found > 0, "{kind} was never found\n{}", report());
        assert!(found as f64 >= 0.95 * (found + wrong) as f64, "precision of {kind}\n{}", report());
        assert!(found as f64 >= 0.9 * (found + missed) as f64, "recall of {kind}\n{}", report());
    }
}

/// The loops that people wrote down: among them the reading of the same places in turns, the return to an earlier failure,
/// and one failure of many commands. Red before: two of eight were found. One is of edits that fail with another text
/// each time, and no rule sees it.
#[test]
fn loops_written_by_hand_are_found_and_no_other_work_is_one() {
    let scores = Scores::of(&stored("hand"));
    let Score { found, missed, wrong } = scores.of[&PatternKind::Loop];
    assert!(found >= 4 && found + missed == 8 && wrong == 0, "{}", scores.report("by hand"));
}

/// Prints how well the detectors do: `cargo test --test it -- traces::scores --ignored --nocapture`.
#[test]
#[ignore = "a report, and no test"]
fn scores() {
    let halves = [
        ("development half", generated(DEVELOPMENT)),
        ("test half", generated(TEST)),
        ("by hand", stored("hand")),
        ("recorded days", stored("day")),
    ];
    for (name, traces) in halves {
        println!("{}", Scores::of(&traces).report(name));
    }
}
