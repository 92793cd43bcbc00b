//! The facts of one command that neither the state nor the command holds.

use std::collections::BTreeMap;

use super::{Erasure, Loss, SpaceFacts};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::experiment::{Plan, Prediction, ProfileName};
use crate::domain::ids::RunId;
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::domain::text::Statement;
use crate::domain::versions::Versions;

/// The facts about one command that come from other processes and files. The front adds the first two, the writer the
/// others. A client cannot send them.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The work tree and branch of the caller.
    pub checkout: Checkout,
    /// The content of the files that the command is about.
    pub versions: Versions,
    /// The plan of a run; `None` in a writer without profiles.
    pub run: Option<PlannedRun>,
    /// The runs by which guards may settle the claim of the command.
    pub guard_runs: GuardRuns,
    /// The mission of a researcher; `None` in a writer without profiles.
    pub mission: Option<Mission>,
    /// The events behind an erasure.
    pub erasure: Erasure,
    /// The damage of the ledger that the operator can accept.
    pub loss: Option<Loss>,
    /// The policy and the item, for a command about spaces.
    pub spaces: Option<SpaceFacts>,
}

/// A run as the writer planned it from its profile.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRun {
    /// The plan that the profile gives.
    pub plan: Plan,
    /// The statement of its claim, for the receipt.
    pub statement: Option<Statement>,
    /// The ids of the runs after the first one, when the request repeats the run.
    pub further_runs: Vec<RunId>,
    /// The scopes of its claim that are directories in the work tree of the run.
    pub dirs: Vec<Scope>,
    /// Why the files that it tests have nothing to do with its claim. `None` if they do, or if the plan names none.
    pub unfit: Option<String>,
}

/// The runs by which guards may settle a contested claim.
#[derive(Debug, Clone, Default)]
pub struct GuardRuns {
    /// Whether the configuration lets guards block.
    pub are_allowed: bool,
    /// The id of the run, if a guard asks for one. A claim waits for one run, so one id is enough.
    pub run_id: Option<RunId>,
    /// The run of each profile that a guard names, or why it cannot run here.
    pub planned: BTreeMap<ProfileName, Result<PlannedRun, Rejection>>,
}

impl PlannedRun {
    /// Why a run of it settles nothing about its claim with these scopes and this prediction; `None` if it can.
    pub(super) fn cannot_settle(&self, scopes: &[Scope], prediction: Prediction) -> Option<String> {
        self.plan.cannot_settle(&self.covered(scopes), prediction).or_else(|| self.unfit.clone())
    }

    /// The scopes of a claim as a profile must cover them: a directory stands for everything below it, whatever its name.
    pub(super) fn covered(&self, scopes: &[Scope]) -> Vec<Scope> {
        let below = |dir: &Scope| format!("{dir}/**").parse().ok();
        let covered = |scope: &Scope| below(scope).filter(|_| self.dirs.contains(scope));
        scopes.iter().map(|scope| covered(scope).unwrap_or_else(|| scope.clone())).collect()
    }
}

/// The researcher, and its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mission {
    /// The agent in whose name the researcher acts.
    pub agent: AgentId,
    /// The plan of the run. Its environment holds the session and the task of the researcher.
    pub plan: Plan,
}
