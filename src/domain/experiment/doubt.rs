//! What a finished run says against a claim as it stands, whatever the run was about.

use super::{Reach, RunState};
use crate::domain::ids::RunId;

/// A finished run as the comparison needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The top of its work tree.
    top: String,
    reach: Option<Reach>,
    test: Option<String>,
    /// Its end.
    pub state: RunState,
}

/// What a later run changes about a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// It came out otherwise.
    Against,
    /// It came out as the proof did, and takes back what a run said against the proof.
    Restored,
}

/// A run that contradicts a claim as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Against {
    /// Id of the run.
    pub run: RunId,
    /// Whether it passed: the claim predicts a failure.
    pub has_passed: bool,
    /// Whether the team agreed to the claim after it.
    pub is_before: bool,
}

impl Against {
    /// Its outcome and its time, as an attribute of the claim: `failed_since`.
    pub const fn name(self) -> &'static str {
        match (self.has_passed, self.is_before) {
            (false, false) => "failed_since",
            (true, false) => "passed_since",
            (false, true) => "failed_before",
            (true, true) => "passed_before",
        }
    }

    /// The same in words.
    pub fn words(self) -> String {
        self.name().replace('_', " ")
    }
}

impl Finished {
    /// A run of this command line in the directory `cwd`, which is `dir` below the top of its work tree.
    pub fn of(cwd: &str, command: &str, dir: Option<&str>, test: Option<String>, state: RunState) -> Self {
        let dir = dir.unwrap_or_default().trim_end_matches('/');
        let top = cwd.strip_suffix(dir).unwrap_or(cwd).trim_end_matches('/').to_owned();
        let words = shell_words::split(command).unwrap_or_default();
        let inside = |word: String| word.strip_prefix(&format!("{cwd}/")).map(str::to_owned).unwrap_or(word);
        let words: Vec<String> = words.into_iter().map(inside).collect();
        Self { top, reach: Reach::of(&words, dir), test, state }
    }

    /// What this run says about an earlier proof. `failed` is the run that speaks against the proof so far. `is_unstable`
    /// tells whether the test of this run passed and failed: then it takes nothing back.
    pub fn word_on(&self, proof: &Self, failed: Option<&Self>, is_unstable: bool) -> Option<Word> {
        if proof.top != self.top {
            return None;
        }
        if proof.state != self.state {
            return self.speaks_against(proof).then_some(Word::Against);
        }
        // It came out as the proof did.
        let failed = failed.filter(|_| !is_unstable);
        failed.filter(|failed| self.includes(failed) || self.includes(proof)).map(|_| Word::Restored)
    }

    fn is_same_test(&self, other: &Self) -> bool {
        self.test.is_some() && self.test == other.test
    }

    /// Whether this run is also a run of the other check.
    fn includes(&self, other: &Self) -> bool {
        self.is_same_test(other)
            || self.reach.as_ref().zip(other.reach.as_ref()).is_some_and(|(own, other)| own.includes(other))
    }

    /// Whether this run, which came out otherwise, speaks against a proof. A success speaks only against the failure of
    /// a check that it includes.
    fn speaks_against(&self, proof: &Self) -> bool {
        let is_akin = || {
            let reaches = self.reach.as_ref().zip(proof.reach.as_ref());
            reaches.is_some_and(|(own, proof)| own.kinship(proof).is_some())
        };
        if self.state == RunState::Failed {
            self.is_same_test(proof) || is_akin()
        } else {
            self.includes(proof)
        }
    }
}
