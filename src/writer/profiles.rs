//! What a run would do: the plans that the workspace's profiles give, and the profiles that can settle a claim.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use crate::domain::agent::{AgentId, Roster};
use crate::domain::command::{RunExperiment, SpawnResearcher};
use crate::domain::decide::Mission;
use crate::domain::event::ExperimentQueued;
use crate::domain::experiment::{Environment, Plan, Prediction, ProfileName};
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, Researcher, Run};
use crate::domain::text::Worktree;
use crate::domain::way;
use crate::runner::profile::{
    AgentProfile, Catalog, Fitting, Known, PROMPT, Request, Settling, unnamed, unpicked,
};
use crate::trusted::Trust;
use crate::workspace::Workspace;

/// The instructions that a researcher gets besides its prompt.
const RESEARCHER: &str = include_str!("../../prompts/researcher.md");

/// The source of profiles, and the directory for the files of runs.
#[derive(Debug, Clone)]
pub(super) struct Profiles {
    workspace: Workspace,
    roster: Roster,
}

impl Profiles {
    pub(super) fn of(workspace: &Workspace, roster: Roster) -> Self {
        Self { workspace: workspace.clone(), roster }
    }

    /// The agent of this name on the roster.
    pub(super) fn resolve(&self, name: &str) -> Option<AgentId> {
        self.roster.resolve(name).ok()
    }

    /// The profiles of another work tree of the same memory, with its root.
    ///
    /// # Errors
    /// `unknown_worktree`.
    pub(super) fn in_work_tree(&self, name: Option<&Worktree>) -> Result<Self, Rejection> {
        let found = self.workspace.in_work_tree(name).map_err(|error| {
            let hint = "ask for the run in a work tree that is there; if this one was moved, run `git worktree repair`";
            Rejection::new(Code::UnknownWorktree, error.to_string(), hint)
        })?;
        Ok(Self { workspace: found, roster: self.roster.clone() })
    }

    /// The current profiles. Each file is read once, and its trust is checked at that moment.
    fn catalog(&self) -> Catalog {
        Catalog::load(&self.workspace.marker_dir(), &self.workspace.trusted_profiles())
    }

    /// The scopes that are directories of the work tree. The whole of it has no name that a profile could match.
    pub(super) fn dirs(&self, scopes: &[Scope]) -> Vec<Scope> {
        let is_dir = |scope: &&Scope| {
            scope.is_path() && !scope.is_whole() && self.workspace.root().join(scope.as_str()).is_dir()
        };
        scopes.iter().filter(is_dir).cloned().collect()
    }

    /// Why the tests that a request selects say nothing about a claim with these scopes.
    pub(super) fn unfit(&self, run: &RunExperiment, plan: &Plan, scopes: &[Scope]) -> Option<String> {
        let root = self.workspace.root();
        // Other tools take texts for other things than the names of tests.
        let is_cargo_test =
            matches!(plan.argv.as_slice(), [cargo, test, ..] if cargo == "cargo" && test == "test");
        if !is_cargo_test || !plan.tests.is_empty() {
            return unnamed(root, &plan.tests, scopes);
        }
        let catalog = self.catalog();
        let Known { profile, .. } = find(&catalog, &run.profile).ok()?;
        let texts = profile.picked(&run.args).map(|text| unpicked(root, text, scopes));
        // One text that has to do with the claim is enough.
        texts.collect::<Option<Vec<String>>>()?.into_iter().next()
    }

    /// The plan for a request.
    pub(super) fn plan(&self, run: &RunExperiment) -> Result<Plan, Rejection> {
        let catalog = self.catalog();
        let Known { profile, sha256, .. } = find(&catalog, &run.profile)?;
        if profile.agent.is_some() {
            return Err(Rejection::new(
                Code::WrongProfile,
                format!(
                    "profile `{}` starts an agent, and the exit code of an agent proves nothing",
                    profile.name
                ),
                format!(
                    "send it out: {}, or run a profile without [agent]",
                    way::call("spawn_researcher", &json!({ "profile": profile.name, "prompt": "PROMPT" }))
                ),
            ));
        }
        let request = Request {
            args: run.args.clone(),
            cwd: run.cwd.clone(),
            env_pass: run.env_pass.clone(),
            timeout_ms: run.timeout_ms,
            output_cap_bytes: run.output_cap_bytes,
        };
        // The root of a workspace is always canonical.
        let plan = profile.plan(&request, self.workspace.root())?;
        Ok(Plan { profile_sha256: Some(sha256.clone()), ..plan })
    }

    /// The agent that `spawner` sends out, and the plan of its run.
    pub(super) fn mission(&self, spawn: &SpawnResearcher, spawner: &AgentId) -> Result<Mission, Rejection> {
        let catalog = self.catalog();
        let known = find(&catalog, &spawn.profile)?;
        let profile = &known.profile;
        let Some(AgentProfile { name }) = &profile.agent else {
            let agents = catalog.trusted().filter(|profile| profile.agent.is_some());
            let agents: Vec<&str> = agents.map(|profile| profile.name.as_str()).collect();
            return Err(Rejection::new(
                Code::WrongProfile,
                format!("profile `{}` starts no agent: it has no [agent]", profile.name),
                format!(
                    "send out one of {}, or run this one: {}",
                    agents.join(", "),
                    way::call("run_experiment", &json!({ "profile": profile.name }))
                ),
            ));
        };
        let agent = match name {
            Some(name) => self.roster.resolve(name).map_err(|unknown| {
                Rejection::new(
                    Code::UnknownAgent,
                    format!("profile `{}` names an agent that is not on the roster: {unknown}", profile.name),
                    "a human mends the name in its [agent], or adds it to the roster in config.toml",
                )
            })?,
            None => spawner.clone(),
        };
        if [AgentId::operator(), AgentId::system()].contains(&agent) {
            return Err(Rejection::new(
                Code::NotAllowed,
                format!("a researcher does not speak as {agent}"),
                "spawn it as the agent it is to be (--agent NAME), or give its profile a name in [agent]",
            ));
        }
        let researcher =
            Researcher { agent, session: SessionId::of_researcher(spawn.run_id), task_id: spawn.task_id };
        let plan = self.researcher_plan(known, &researcher, spawn.prompt.as_str())?;
        Ok(Mission { agent: researcher.agent, plan })
    }

    /// The plan for the run of a researcher.
    fn researcher_plan(
        &self,
        Known { profile, sha256, .. }: &Known,
        Researcher { agent, session, task_id }: &Researcher,
        prompt: &str,
    ) -> Result<Plan, Rejection> {
        let text = RESEARCHER
            .replace("{session}", session.as_str())
            .replace("{task}", &task_id.to_string())
            .replace("{prompt}", prompt);
        let args = BTreeMap::from([(PROMPT.to_owned(), text.trim().to_owned())]);
        let root = self.workspace.root();
        let mut plan = profile.plan(&Request { args, ..Request::default() }, root)?;
        plan.profile_sha256 = Some(sha256.clone());
        plan.variables.extend(
            [
                ("HM_AGENT", agent.to_string()),
                ("HM_DIR", root.display().to_string()),
                ("HM_SESSION", session.to_string()),
                ("HM_TASK", task_id.to_string()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        Ok(plan)
    }

    /// Checks that a trusted profile still produces this queued run. The file may have changed since, and an
    /// imported event may hold any plan.
    ///
    /// # Errors
    /// The refusal that queueing it now would get.
    pub(super) fn still_allow(&self, queued: &ExperimentQueued, run: &Run) -> Result<(), Rejection> {
        let ExperimentQueued { plan, args, checkout, .. } = queued;
        let here = self.in_work_tree(checkout.worktree.as_ref())?;
        let elsewhere = || {
            Rejection::new(
                Code::UntrustedProfile,
                "its plan is not what the trusted profile gives in this workspace",
                "queue it again here",
            )
        };
        let catalog = here.catalog();
        let known = find(&catalog, plan.profile.as_ref().ok_or_else(elsewhere)?)?;
        let again = match (&run.researcher, &known.profile.agent) {
            (Some(researcher), Some(_)) => {
                let prompt = args.get(PROMPT).ok_or_else(elsewhere)?;
                here.researcher_plan(known, researcher, prompt)?
            }
            (None, None) => {
                let root = here.workspace.root();
                let cwd = plan.cwd.strip_prefix(root).map_err(|_| elsewhere())?;
                let Environment::Only(env_pass) = &plan.env else { return Err(elsewhere()) };
                let request = Request {
                    args: args.clone(),
                    cwd: Some(cwd.to_str().filter(|cwd| !cwd.is_empty()).unwrap_or(".").to_owned()),
                    env_pass: Some(env_pass.clone()),
                    timeout_ms: Some(plan.timeout_ms),
                    output_cap_bytes: Some(plan.limits.output_cap_bytes),
                };
                Plan { profile_sha256: Some(known.sha256.clone()), ..known.profile.plan(&request, root)? }
            }
            _ => return Err(elsewhere()),
        };
        // A plan of an older release has no scopes and settles nothing.
        let older = plan.scopes.is_empty() && plan.version.is_empty();
        let again = if older { Plan { scopes: Vec::new(), version: Vec::new(), ..again } } else { again };
        // One that the last release queued has no tests.
        let again = if plan.tests.is_empty() { Plan { tests: Vec::new(), ..again } } else { again };
        if again == *plan { Ok(()) } else { Err(elsewhere()) }
    }

    /// The refusal of a profile that cannot settle a claim, extended by the profiles that can.
    pub(super) fn naming_who_settles(
        &self,
        refused: Rejection,
        asked: &RunExperiment,
        scopes: &[Scope],
    ) -> Rejection {
        let prediction = asked.prediction.unwrap_or(Prediction::Passes);
        let fitting = Fitting::of(self.workspace.root(), self.catalog()).names(scopes, prediction);
        let names = fitting.into_iter().map(|(name, _)| name);
        let names: Vec<String> = names.filter(|name| name != asked.profile.as_str()).collect();
        let unfit = self.plan(asked).ok().and_then(|plan| self.unfit(asked, &plan, scopes));
        let named = unfit.map(|_| "tests that name the files of the claim".to_owned());
        let ways: Vec<String> = names.iter().cloned().chain(named).collect();
        if ways.is_empty() {
            return refused;
        }
        let hint = format!("use {}, or leave out blocking", ways.join(" or "));
        Rejection { hint, ..refused }.with("profiles", names.join(", "))
    }

    /// A hint that names the run which would settle a dispute about these scopes; `None` when no profile can settle
    /// it.
    pub(super) fn settling(
        &self,
        (id, claim): (ClaimId, &Claim),
        said: Option<Prediction>,
    ) -> Option<String> {
        // Of a claim that something fails, only its owner knows which outcome shows it.
        let is_unsaid = said.is_none() && claim.is_of_failure();
        let prediction = if is_unsaid { Prediction::Fails } else { Prediction::Passes };
        let Settling { run, others } = Fitting::of(self.workspace.root(), self.catalog()).settling(
            (id, claim.claim_type),
            &claim.scopes,
            prediction,
        )?;
        let others =
            if others.is_empty() { String::new() } else { format!(" (or by {})", others.join(", ")) };
        Some(if is_unsaid {
            let owner = &claim.owner;
            format!("or {owner} says by a run which outcome shows it, as with {run}{others}")
        } else {
            format!("or settle it by a run: {run}{others}")
        })
    }
}

/// The trusted profile of this name, or the reason why it cannot run.
fn find<'c>(catalog: &'c Catalog, name: &ProfileName) -> Result<&'c Known, Rejection> {
    if let Some(known) = catalog.find(name) {
        let why = match known.trust {
            Trust::Trusted => return Ok(known),
            Trust::Untrusted => "is a file of the project that no human has trusted here",
            Trust::Changed => "was changed since a human trusted it",
        };
        return Err(Rejection::new(
            Code::UntrustedProfile,
            format!("profile `{name}` {why}"),
            format!("ask the human to look at it and to type, at a terminal: `hm profile trust {name}`"),
        )
        .with("sha256", &known.sha256));
    }
    let is_asked_for =
        |file: &Path| file.file_stem().is_some_and(|stem| stem.to_str() == Some(name.as_str()));
    if let Some(broken) = catalog.broken().iter().find(|broken| is_asked_for(&broken.file)) {
        return Err(Rejection::new(
            Code::UnknownProfile,
            format!("profile `{name}` cannot be used: {}", broken.problem),
            "a human mends it: `hm profile check`",
        ));
    }
    let names: Vec<&str> = catalog.trusted().map(|profile| profile.name.as_str()).collect();
    Err(Rejection::new(
        Code::UnknownProfile,
        format!("no profile is called `{name}`"),
        format!(
            "use one of {}, or ask a human to add .hivemind/profiles/NAME.toml and to trust it",
            names.join(", ")
        ),
    ))
}
