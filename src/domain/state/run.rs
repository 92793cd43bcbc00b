//! Runs as the rules see them, and how events change them.

use std::collections::BTreeMap;

use super::{COUNTS_FOR, State};
use crate::domain::agent::AgentId;
use crate::domain::claim::Relation;
use crate::domain::coverage::Check;
use crate::domain::event::{
    ExperimentCompleted, ExperimentQueued, ExperimentStarted, Place, Recorded, ResearcherSpawned,
};
use crate::domain::experiment::{
    Expect, Files, HeldThen, Prediction, ProfileName, Reach, RunKey, RunState, Series, What,
    failed_elsewhere, process,
};
use crate::domain::ids::{ClaimId, EventId, SessionId, TaskId};
use crate::domain::scope::Scope;
use crate::domain::text::{CommandLine, Reason, Worktree};
use crate::domain::versions::{Change, Sight};
use crate::domain::{coverage, versions};

/// The part of a run that the rules need.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The agent that requested the run.
    pub requested_by: AgentId,
    /// The session that requested the run.
    pub session: Option<SessionId>,
    /// The profile. None for a run that a human typed or recorded.
    pub profile: Option<ProfileName>,
    /// The command, for display.
    pub command: CommandLine,
    /// What the run executes. Equal values mean equal runs.
    pub what: What,
    /// The check, which profiles may share. None for a run that a human typed or recorded.
    pub check: Option<String>,
    /// The command with its paths in their normal form. Empty for a run that a human typed or recorded.
    pub words: Vec<String>,
    /// Its directory below the top of the work tree. Known once the run is over.
    pub dir: Option<String>,
    /// The exit code of the run.
    pub exit_code: Option<i32>,
    /// SHA-256 of the profile's file, hex.
    pub profile_sha256: Option<String>,
    /// The claim that the run tests.
    pub claim: Option<ClaimId>,
    /// The relation chosen by the caller, in releases before predictions.
    pub relation: Option<Relation>,
    /// The outcome that the claim predicts.
    pub prediction: Option<Prediction>,
    /// The other runs of the same request.
    pub series: Option<Series>,
    /// The exit code that meets the expectation.
    pub expects: Option<Expect>,
    /// The scopes that the profile can settle claims about.
    pub scopes: Vec<String>,
    /// Whether the run used another directory than its profile's own.
    pub elsewhere: bool,
    /// The unset variables of the profile.
    pub without: Vec<String>,
    /// The values of the profile's parameters, by name.
    pub args: BTreeMap<String, String>,
    /// The paths that select its tests.
    pub tests: Vec<Scope>,
    /// Why it settles nothing about its claim, whatever its profile covers.
    pub unfit: Option<Reason>,
    /// Why it only mentions its claim: its agent had no say in what the claim predicts.
    pub unsaid: Option<Reason>,
    /// The key for comparisons with other runs.
    pub key: Option<RunKey>,
    /// The state of the run.
    pub state: RunState,
    /// The event that ended the run.
    pub completed: Option<EventId>,
    /// Whether the word of the recorder is the only evidence of the run.
    pub asserted: bool,
    /// The commit on which an equal run can reproduce this one.
    pub reproducible_at: Option<String>,
    /// The researcher of the run, if it has one.
    pub researcher: Option<Researcher>,
    /// The observed versions of the claim's files when the run was queued.
    pub saw: Sight,
    /// The change between these versions and those of the claim at that time. Later positions on the claim do not
    /// affect it.
    pub differed: Option<Change>,
    /// The linked work tree of the run. None for the main one.
    pub worktree: Option<Worktree>,
    /// The reason why the run has no verdict on its claim although it ended normally.
    pub undecided: Option<Reason>,
    /// The files whose tests failed, and those that these reach. Empty if that is not known.
    pub failed_in: Vec<Scope>,
    /// Whether something else than the check ended the run, so that it may hide a failure.
    pub interrupted: bool,
    /// The position of its start in the ledger.
    pub started: Option<u64>,
    /// The position of its end in the ledger.
    pub ended: Option<u64>,
    /// Whether its end was erased, so that its files must go.
    pub is_erased: bool,
    /// What the files of its claim held, one by one. Known while its end is decided.
    pub own_files: Option<Files>,
}

impl Run {
    /// The reason why the run cannot settle a claim with these scopes and this prediction. None if it can.
    pub fn cannot_settle(&self, scopes: &[Scope], prediction: Prediction) -> Option<String> {
        if self.asserted {
            return Some("only the word of its recorder stands for it".to_owned());
        }
        let Self { profile, expects, scopes: globs, elsewhere, without, words: argv, .. } = self;
        let (profile, expect, elsewhere) = (profile.as_ref(), expects.as_ref(), *elsewhere);
        let check = Check { profile, expect, globs, elsewhere, without, argv };
        coverage::cannot_settle(check, scopes, prediction)
    }

    /// Why it only mentions its own claim.
    pub fn only_mentions(&self) -> Option<&Reason> {
        self.unfit.as_ref().or(self.unsaid.as_ref())
    }

    /// Whether it checks files of a claim, wherever it ran and whatever variable it ran without.
    pub fn is_about(&self, scopes: &[Scope]) -> bool {
        let Self { profile, expects, scopes: globs, words: argv, .. } = self;
        let (profile, expect) = (profile.as_ref(), expects.as_ref());
        let check = Check { profile, expect, globs, elsewhere: false, without: &[], argv };
        !self.asserted
            && self.failed_elsewhere(scopes).is_none()
            && coverage::cannot_settle(check, scopes, Prediction::Passes).is_none()
    }

    /// Why its failure says nothing about a claim with these scopes. None if it may say something.
    pub fn failed_elsewhere(&self, scopes: &[Scope]) -> Option<String> {
        let is_of_all = self.state == RunState::Failed && self.tests.is_empty();
        let place = failed_elsewhere(&self.failed_in, scopes).filter(|_| is_of_all)?;
        let of_claim = scopes.iter().find(|scope| scope.is_path())?;
        Some(format!("it failed in `{place}`, which has nothing to do with `{of_claim}`"))
    }

    /// What tells whether another run had the same command. None while its directory is unknown.
    pub fn process(&self) -> Option<String> {
        let dir = self.dir.as_ref().filter(|_| !self.words.is_empty())?;
        Some(process(&self.words, dir))
    }

    /// What its check reaches. None if its command is unknown.
    pub fn reach(&self) -> Option<Reach> {
        let typed = || shell_words::split(self.command.as_str()).ok();
        let words = if self.profile.is_some() { self.words.clone() } else { typed()? };
        Reach::of(&words, self.dir.as_deref().unwrap_or_default())
    }
}

/// The part of a researcher that the rules need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Researcher {
    /// The agent that the researcher speaks as.
    pub agent: AgentId,
    /// The session of the researcher.
    pub session: SessionId,
    /// The task of its findings.
    pub task_id: TaskId,
}

impl State {
    pub(super) fn queue(&mut self, recorded: &Recorded, queued: &ExperimentQueued) {
        let claim = queued.claim_id.and_then(|id| self.claims.get(&id));
        let differed = claim.and_then(|claim| {
            let (saw, worktree) = (&queued.versions, queued.checkout.worktree.as_ref());
            versions::changed_since(self, claim, queued.blocking.then_some(recorded.seq), saw, worktree)
        });
        let run = Run {
            requested_by: recorded.agent.clone(),
            session: recorded.session.clone(),
            profile: queued.plan.profile.clone(),
            command: queued.plan.command_line(),
            what: What::of(&queued.plan, &queued.args),
            check: queued.plan.profile.is_some().then(|| queued.plan.check()),
            words: if queued.plan.profile.is_some() { queued.plan.words() } else { Vec::new() },
            dir: None,
            exit_code: None,
            profile_sha256: queued.plan.profile_sha256.clone(),
            claim: queued.claim_id,
            relation: queued.relation,
            prediction: queued.prediction,
            series: queued.series,
            expects: queued.plan.expect.clone(),
            scopes: queued.plan.scopes.clone(),
            elsewhere: queued.plan.elsewhere,
            without: queued.plan.without.clone(),
            args: queued.args.clone(),
            tests: queued.plan.tests.clone(),
            unfit: queued.unfit.clone(),
            unsaid: queued.unsaid.clone(),
            key: None,
            state: RunState::Queued,
            completed: None,
            asserted: false,
            reproducible_at: None,
            researcher: None,
            saw: Sight { seq: recorded.seq, versions: queued.versions.clone(), seen_in: None },
            differed,
            worktree: queued.checkout.worktree.clone(),
            undecided: None,
            failed_in: Vec::new(),
            interrupted: false,
            started: None,
            ended: None,
            is_erased: false,
            own_files: None,
        };
        if let Some(session) = &recorded.session {
            self.last_done.insert(session.clone(), (recorded.seq, queued.run_id.first_event()));
        }
        if queued.blocking
            && let Some(claim) = queued.claim_id.and_then(|id| self.claims.get_mut(&id))
        {
            claim.pending_run = Some(queued.run_id);
        }
        if let Some(series) = queued.series {
            self.series.entry(series.first).or_default().push(queued.run_id);
        }
        self.runs.insert(queued.run_id, run);
        self.unfinished.insert(recorded.seq, queued.clone());
    }

    pub(super) fn complete(&mut self, recorded: &Recorded, completed: &ExperimentCompleted) {
        let run = self.runs.entry(completed.run_id).or_insert_with(|| Run {
            requested_by: recorded.agent.clone(),
            session: recorded.session.clone(),
            profile: completed.profile.clone(),
            command: completed.command.clone(),
            what: What::Typed(completed.command.clone()),
            check: None,
            words: Vec::new(),
            dir: None,
            exit_code: None,
            profile_sha256: None,
            claim: None,
            relation: None,
            prediction: None,
            series: None,
            expects: None,
            scopes: Vec::new(),
            elsewhere: false,
            without: Vec::new(),
            args: BTreeMap::new(),
            tests: Vec::new(),
            unfit: None,
            unsaid: None,
            key: None,
            state: RunState::Queued,
            completed: None,
            asserted: false,
            reproducible_at: None,
            researcher: None,
            saw: Sight::default(),
            differed: None,
            worktree: None,
            undecided: None,
            failed_in: Vec::new(),
            interrupted: false,
            started: None,
            ended: None,
            is_erased: false,
            own_files: None,
        });
        run.command = completed.command.clone();
        run.state = completed.outcome.state;
        run.asserted = completed.asserted;
        run.is_erased = completed.is_erased();
        run.undecided.clone_from(&completed.undecided);
        run.interrupted = completed.outcome.interrupted;
        run.failed_in.clone_from(&completed.outcome.failed_in);
        run.reproducible_at = completed.outcome.reproducible_at().map(str::to_owned);
        // A repeated end has the place of the first one.
        let place = completed.restates.unwrap_or(Place { seq: recorded.seq, at: recorded.at });
        run.ended = Some(place.seq);
        // The end of a run counts as the last event of the session that requested it.
        if let Some(session) = &run.session
            && self.last_done.get(session).is_none_or(|(seq, _)| *seq < place.seq)
        {
            self.last_done.insert(session.clone(), (place.seq, completed.run_id.first_event()));
        }
        run.key = completed.full_key();
        run.exit_code = completed.outcome.exit_code;
        run.dir = completed.outcome.dir();
        // After an erasure, the end is recorded again. It counts once.
        let is_new = run.completed.is_none() && run.state.is_conclusive();
        if let Some(key) = completed.key.as_ref().filter(|_| is_new) {
            self.stability.add(key, run.state == RunState::Succeeded, place, completed.stable_again);
        }
        run.completed = Some(recorded.id);
        self.failures.retain(|_, (at, _)| at.is_within(COUNTS_FOR, recorded.at));
        self.failures.remove(&completed.run_id);
        let held = completed.outcome.git.as_ref().and_then(|git| {
            let files = git.files.clone().map(HeldThen::Files);
            files.or_else(|| git.held.clone().map(HeldThen::WithoutPaths))
        });
        self.failures.extend(held.map(|held| (completed.run_id, (place.at, held))));
        self.run_of.insert(recorded.id, completed.run_id);
        // Evidence keeps the id of the erased end. The repeated end follows its erasure directly.
        let (first, mut again) = (place.seq, recorded.seq);
        while again > first {
            let mut before = self.redacted.iter().filter(|(_, at)| **at + 1 == again);
            let (Some((erased, _)), None) = (before.next(), before.next()) else { break };
            let Some(seq) = self.events.get(erased) else { break };
            self.run_of.insert(*erased, completed.run_id);
            again = *seq;
        }
        // After an erasure of many events, only the place of the first end names it.
        if again > first
            && let Some(erased) = self.redacted.keys().find(|id| self.events.get(*id) == Some(&first))
        {
            self.run_of.insert(*erased, completed.run_id);
        }
        self.to_cancel.remove(&completed.run_id);
        self.unfinished.retain(|_, queued| queued.run_id != completed.run_id);
    }

    /// A run started.
    pub(super) fn start(&mut self, recorded: &Recorded, started: &ExperimentStarted) {
        if let Some(run) = self.runs.get_mut(&started.run_id) {
            run.state = RunState::Running;
            run.started = Some(recorded.seq);
        }
    }

    /// A run is that of a researcher.
    pub(super) fn send_researcher(&mut self, spawned: &ResearcherSpawned) {
        if let Some(run) = self.runs.get_mut(&spawned.run_id) {
            let ResearcherSpawned { agent, child, task_id, .. } = spawned.clone();
            run.researcher = Some(Researcher { agent, session: child, task_id });
        }
    }
}
