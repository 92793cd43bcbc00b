//! The writer's background jobs: when each is due, and the result of its last run. Every process can read them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::domain::time::Timestamp;
use crate::private;

/// How long a failed job waits, in milliseconds: a full disk or a locked file is often free after a minute.
pub const BACK_OFF_MS: i64 = 60_000;

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobOutcome {
    /// Done; it needs no attention.
    Ok,
    /// Done; the operator should read the detail.
    Attention,
    /// Not done; the job runs again soon.
    Failed,
}

impl JobOutcome {
    /// The word that people and programs see.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Attention => "attention",
            Self::Failed => "failed",
        }
    }
}

/// The last run of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRun {
    /// Time of its start.
    pub last_run_at: Timestamp,
    /// Its duration, in milliseconds.
    pub took_ms: u64,
    /// Its result.
    pub outcome: JobOutcome,
    /// One line about the result, without text of any claim.
    pub detail: String,
}

/// The last run of every job, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobRuns(pub BTreeMap<String, JobRun>);

/// The jobs, and when each is due.
#[derive(Debug)]
pub struct Schedule {
    periods_ms: Vec<(&'static str, i64)>,
    runs: JobRuns,
    running: BTreeSet<&'static str>,
    asked_for: BTreeSet<&'static str>,
}

impl Schedule {
    /// Jobs by name with their periods in milliseconds. All of them are due at once.
    pub fn new(periods_ms: impl IntoIterator<Item = (&'static str, i64)>) -> Self {
        Self {
            periods_ms: periods_ms.into_iter().collect(),
            runs: JobRuns::default(),
            running: BTreeSet::new(),
            asked_for: BTreeSet::new(),
        }
    }

    /// The jobs that are due at `now`, in the order of the table. A running job is not due.
    pub fn due(&self, now: Timestamp) -> Vec<&'static str> {
        let is_due = |name: &'static str, period_ms: i64| {
            !self.running.contains(name)
                && (self.asked_for.contains(name)
                    || self.runs.0.get(name).is_none_or(|run| {
                        let wait_ms = match run.outcome {
                            JobOutcome::Failed => BACK_OFF_MS,
                            JobOutcome::Ok | JobOutcome::Attention => period_ms,
                        };
                        // Without this, setting the clock back would stop the job for as long.
                        let since_ms = now.ms().saturating_sub(run.last_run_at.ms());
                        since_ms >= wait_ms || since_ms < 0
                    }))
        };
        self.periods_ms
            .iter()
            .filter(|(name, period_ms)| is_due(name, *period_ms))
            .map(|(name, _)| *name)
            .collect()
    }

    /// Makes a job due because of an event, unless it ran within `apart_ms` before `now`.
    pub fn ask_for(&mut self, name: &'static str, apart_ms: i64, now: Timestamp) {
        let last = self.runs.0.get(name).map(|run| run.last_run_at.ms());
        if last.is_none_or(|last| now.ms().saturating_sub(last) >= apart_ms) {
            self.asked_for.insert(name);
        }
    }

    /// Records that a job runs now.
    pub fn started(&mut self, name: &'static str) {
        self.asked_for.remove(name);
        self.running.insert(name);
    }

    /// Records that a job ended, and its run.
    pub fn finished(&mut self, name: &'static str, run: JobRun) {
        self.running.remove(name);
        self.runs.0.insert(name.to_owned(), run);
    }

    /// The last run of every job.
    pub const fn runs(&self) -> &JobRuns {
        &self.runs
    }
}

impl JobRuns {
    /// Reads the runs that the writer saved; empty when there are none or the file does not parse.
    pub fn load(path: &Path) -> Self {
        private::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Replaces the file. Only its owner can read it. A power cut may lose it.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let beside = path.with_extension("json.new");
        let mut file = private::options().write(true).create(true).truncate(true).open(&beside)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(&beside, path)
    }
}

#[cfg(test)]
mod tests {
    use super::{BACK_OFF_MS, JobOutcome, JobRun, Schedule};
    use crate::domain::time::Timestamp;

    const HOUR_MS: i64 = 3_600_000;

    fn ran(at_ms: i64, outcome: JobOutcome) -> JobRun {
        JobRun { last_run_at: Timestamp::from_ms(at_ms), took_ms: 1, outcome, detail: String::new() }
    }

    #[test]
    fn a_job_is_due_at_first_after_its_period_and_soon_after_a_failure() {
        let mut schedule = Schedule::new([("sweep", HOUR_MS), ("scan", 24 * HOUR_MS)]);
        let due = |schedule: &Schedule, at_ms: i64| schedule.due(Timestamp::from_ms(at_ms));
        assert_eq!(due(&schedule, 0), ["sweep", "scan"]);
        schedule.started("scan");
        assert_eq!(due(&schedule, 0), ["sweep"], "one run at a time");
        schedule.finished("sweep", ran(1_000, JobOutcome::Ok));
        schedule.finished("scan", ran(1_000, JobOutcome::Attention));
        assert!(due(&schedule, 1_000 + HOUR_MS - 1).is_empty());
        assert_eq!(due(&schedule, 1_000 + HOUR_MS), ["sweep"]);
        assert_eq!(due(&schedule, 1_000 + 24 * HOUR_MS), ["sweep", "scan"]);
        schedule.finished("scan", ran(5_000, JobOutcome::Failed));
        assert!(due(&schedule, 5_000 + BACK_OFF_MS - 1).is_empty());
        assert_eq!(due(&schedule, 5_000 + BACK_OFF_MS), ["scan"]);
        assert_eq!(due(&schedule, 0), ["sweep", "scan"], "the clock was set back");
        schedule.finished("scan", ran(5_000, JobOutcome::Ok));
        schedule.ask_for("scan", 1_000, Timestamp::from_ms(5_500));
        assert!(due(&schedule, 5_500).is_empty(), "it looked just now");
        schedule.ask_for("scan", 1_000, Timestamp::from_ms(6_000));
        assert_eq!(due(&schedule, 6_000), ["scan"]);
        schedule.started("scan");
        schedule.finished("scan", ran(6_000, JobOutcome::Ok));
        assert!(due(&schedule, 6_001).is_empty(), "asked for once");
    }
}
