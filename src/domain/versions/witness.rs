//! What a front saw of the files that a command is about, and what a claim whose files changed needs.

use super::{Content, Versions, changed_since, no_file_of};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::claim::{ClaimType, Position, ReportKind};
use crate::domain::command::{Command, Observe, Seen};
use crate::domain::decide::Accepted;
use crate::domain::event::{Event, ExperimentQueued, PositionTaken};
use crate::domain::ids::ClaimId;
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, Run, State};
use crate::domain::text::Worktree;
use crate::domain::way;
use serde_json::json;
use std::fmt;

/// Why a run that is over is no evidence of a claim that it was not queued for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unlike {
    /// It saw other content: how the content differs.
    Other(String),
    /// Its queueing did not record what this file held.
    Unseen(Scope),
}

impl fmt::Display for Unlike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(how) => write!(f, "it is about another version, {how}"),
            Self::Unseen(scope) => {
                write!(f, "what `{scope}` held when it was queued is not on record; run it about the claim")
            }
        }
    }
}

impl Unlike {
    /// The reason with a way forward for the claim.
    pub fn with_way(
        &self,
        claim: ClaimId,
        (claim_type, scopes): (ClaimType, &[Scope]),
        again: MeantAgain,
    ) -> String {
        match self {
            Self::Other(_) => {
                let way = way_forward(claim, Some(claim_type), Some(scopes), again);
                format!("{self}; {way}")
            }
            Self::Unseen(_) => {
                let run = json!({ "profile": "PROFILE", "claim_id": claim });
                format!("{self}: {}", way::call("run_experiment", &run))
            }
        }
    }
}

/// Why a run that is over is no evidence of a claim: it saw other content of its files, or did not see them.
pub fn unlike_claim(run: &Run, claim: &Claim) -> Option<Unlike> {
    let (sight, _) = claim.sights.meant();
    unlike_new(run, sight.versions.iter())
}

/// [`unlike_claim`] for a claim that is just made. `versions` is what the files of its scopes hold.
pub fn unlike_new<'a>(
    run: &Run,
    versions: impl Iterator<Item = (&'a Scope, &'a Content)> + Clone,
) -> Option<Unlike> {
    if let Some(why) = &run.undecided {
        return Some(Unlike::Other(why.to_string()));
    }
    let differs = |(scope, content): &(&Scope, &Content)| {
        run.saw.versions.get(*scope).is_some_and(|saw| saw != *content)
    };
    if let Some((scope, _)) = versions.clone().find(differs) {
        return Some(Unlike::Other(format!("`{scope}` held something else when it was queued")));
    }
    let mut unseen = versions.map(|(scope, _)| scope).filter(|scope| !run.saw.versions.contains_key(*scope));
    unseen.next().cloned().map(Unlike::Unseen)
}

/// What a front looks at before it submits a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looks {
    /// The files of these scopes.
    Scopes(Vec<Scope>),
    /// The files of a claim's scopes.
    Claim(ClaimId),
}

impl Looks {
    /// Nothing for a command that is about no content: neither that of a claim nor that of an edit.
    pub fn at(command: &Command) -> Option<Self> {
        let scopes = |scopes: &[Scope]| {
            let paths: Vec<Scope> = scopes.iter().filter(|scope| scope.is_path()).cloned().collect();
            (!paths.is_empty()).then_some(Self::Scopes(paths))
        };
        if let Command::CreateClaim(create) = command {
            scopes(&create.scopes)
        } else if let Command::RecordDecision(record) = command {
            scopes(&record.scopes)
        } else if let Command::TakePosition(take) = command {
            Some(Self::Claim(take.claim_id))
        } else if let Command::AffirmClaim(still) = command {
            Some(Self::Claim(still.claim_id))
        } else if let Command::RunExperiment(run) = command {
            run.claim_id.map(Self::Claim)
        } else if let Command::Observe(Observe { seen: Seen::Files(edited), .. }) = command {
            scopes(&edited.paths)
        } else if let Command::ReportEvent(report) = command
            && report.kind == ReportKind::FileEdited
        {
            scopes(&report.paths)
        } else {
            None
        }
    }
}

/// Writes into the events of a decision what the front saw. A run that cannot settle its claim is told so before it
/// begins.
///
/// # Errors
/// `invalid_argument` for `still` about a claim that has no version.
pub fn witnessed(
    state: &State,
    mut decision: Accepted,
    versions: &Versions,
    checkout: &Checkout,
) -> Result<Accepted, Rejection> {
    let of = |scopes: &[Scope]| -> Versions {
        let seen = scopes.iter().filter_map(|scope| versions.get_key_value(scope));
        seen.map(|(scope, content)| (scope.clone(), *content)).collect()
    };
    let of_claim = |id: ClaimId| state.claim(id).map(|claim| of(&claim.scopes)).unwrap_or_default();
    // Outside of a repository there is one tree, and a front that tells of no file may not have looked.
    let seen_in = |scopes: &[Scope]| {
        let mut paths = scopes.iter().filter(|scope| scope.is_path());
        let is_of_use = if checkout.is_empty() {
            !versions.is_empty() && paths.any(|scope| !versions.contains_key(scope))
        } else {
            paths.next().is_some()
        };
        is_of_use.then(|| Checkout { worktree: checkout.worktree.clone(), branch: None })
    };
    let mut warnings = Vec::new();
    for event in &mut decision.events {
        if let Event::ClaimCreated(created) = event {
            created.versions = of(&created.scopes);
            created.seen_in = seen_in(&created.scopes);
        } else if let Event::FileEdited(edited) = event {
            edited.versions = of(&edited.paths);
        } else if let Event::EventReported(report) = event {
            report.versions = of(&report.paths);
        } else if let Event::PositionTaken(taken) = event {
            taken.versions = of_claim(taken.claim_id);
            taken.seen_in = state.claim(taken.claim_id).and_then(|claim| seen_in(&claim.scopes));
            if taken.still && taken.versions.is_empty() {
                let why = "no scope of it has a version: a directory, a pattern and a file that is too large have \
                     none, so nothing can show a change";
                let mut refused = Rejection::invalid("claim_id", why);
                let claim = state.claim(taken.claim_id);
                refused.hint = match MeantAgain::of_claim(claim, &taken.versions) {
                    MeantAgain::Never => way_forward(
                        taken.claim_id,
                        claim.map(|claim| claim.claim_type),
                        claim.map(|claim| claim.scopes.as_slice()),
                        MeantAgain::Never,
                    ),
                    MeantAgain::ByStill | MeantAgain::ByChallenge => {
                        let challenged = challenged_again(&taken.claim_id.to_string());
                        format!("its owner says nothing anew; {challenged}")
                    }
                };
                return Err(refused);
            }
            let is_support = !taken.still && taken.position == Position::Support;
            // A decision says what should be, and rests on no content.
            let is_about_content = |claim: &&Claim| claim.claim_type != ClaimType::Decision;
            let is_dead_end = |claim: &Claim| claim.claim_type == ClaimType::Negative;
            let supported = state.claim(taken.claim_id).filter(is_about_content).filter(|_| is_support);
            let change = supported.and_then(|claim| {
                changed_since(state, claim, None, &taken.versions, checkout.worktree.as_ref())
            });
            warnings.extend(change.map(|change| Warning {
                code: WarningCode::ChangedSince,
                message: match (supported.is_some_and(is_dead_end), change.others) {
                    // What the supporter mended was right before the change.
                    (true, _) => format!("{change}: your support says that the claim still holds"),
                    (false, 0) => format!("{change}: your support is about the file as it is now"),
                    (false, _) => format!("{change}: your support is about the files as they are now"),
                },
                claim_id: Some(taken.claim_id),
            }));
        } else if let Event::ExperimentQueued(ExperimentQueued {
            claim_id: Some(claim_id),
            blocking,
            versions: saw,
            ..
        }) = event
        {
            *saw = of_claim(*claim_id);
            let claim = state.claim(*claim_id);
            if let Some(missing) = claim.filter(|_| *blocking).and_then(|claim| no_file_of(claim, saw)) {
                return Err(about_no_file(*claim_id, claim, &missing));
            }
            let change = claim.and_then(|claim| {
                changed_since(state, claim, blocking.then_some(u64::MAX), saw, checkout.worktree.as_ref())
            });
            let missing = super::missing(saw).filter(|_| change.is_none());
            let is_first =
                !warnings.iter().any(|warning: &Warning| warning.code == WarningCode::ScopeMissing);
            let missing = missing.filter(|_| is_first);
            warnings.extend(missing.map(|missing| Warning {
                code: WarningCode::ScopeMissing,
                message: format!(
                    "{missing} in the tree of this run: whatever comes out is about a tree without it"
                ),
                claim_id: Some(*claim_id),
            }));
            if change.is_some() {
                // What it would have meant is no more so.
                decision.meaning = None;
            }
            warnings.extend(change.map(|change| Warning {
                code: WarningCode::ChangedSince,
                message: format!(
                    "{change}: this run will neither confirm nor contradict claim {claim_id}; {}",
                    way_forward(
                        *claim_id,
                        claim.map(|claim| claim.claim_type),
                        claim.map(|claim| claim.scopes.as_slice()),
                        MeantAgain::of_claim(claim, saw),
                    )
                ),
                claim_id: Some(*claim_id),
            }));
        }
    }
    decision.warnings.extend(warnings);
    Ok(decision)
}

/// The fact of a refusal that names the claim of which no file is there.
pub const NO_FILE: &str = "no_file_of";

/// The refusal of a run that a claim waits for, if none of the claim's files is there.
fn about_no_file(id: ClaimId, claim: Option<&Claim>, missing: &str) -> Rejection {
    let claim_type = claim.map_or(ClaimType::Fact, |claim| claim.claim_type);
    let instead = json!({
        "statement": way::STATEMENT, "claim_type": claim_type, "scopes": ["SCOPE"], "supersedes": id,
    });
    Rejection::new(
        Code::ProfileCannotSettle,
        format!("{missing} in the tree of this run, so no run settles anything about claim {id}"),
        format!(
            "state it about the files that are meant: {}; or leave out blocking, and the run is evidence",
            way::call("create_claim", &instead)
        ),
    )
    .with(NO_FILE, id)
}

/// Why a run settles nothing after a challenge, and what does: the files changed since the claim, or since the challenge
/// of another agent. None if a run may settle it.
pub fn instead_of_a_run(
    state: &State,
    agent: &AgentId,
    challenge: &PositionTaken,
    worktree: Option<&Worktree>,
) -> Option<String> {
    let (id, versions) = (challenge.claim_id, &challenge.versions);
    let mut claim = state.claim(id)?.clone();
    // The new challenge is of what is there now.
    for name in challenge.instead_of.iter().chain([agent]) {
        claim.sights.forget(name);
    }
    let change = changed_since(state, &claim, Some(u64::MAX), versions, worktree)?;
    let again = MeantAgain::of_claim(Some(&claim), versions);
    let way = way_forward(id, Some(claim.claim_type), Some(&claim.scopes), again);
    Some(format!("{change}, so a run decides nothing now: {way}"))
}

/// How agents say that a claim and its challenges are meant of its files as they are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeantAgain {
    /// A file of the claim has a version.
    ByStill,
    /// No scope has one, so only what was seen at the challenges is compared: a challenger challenges again.
    ByChallenge,
    /// No scope has a version any more, so what is there now cannot be compared with what the claim was about.
    Never,
}

impl MeantAgain {
    /// For a claim of which a file has a version or none has.
    pub const fn of(has_version: bool) -> Self {
        if has_version { Self::ByStill } else { Self::ByChallenge }
    }

    /// For a claim and what its files hold now.
    fn of_claim(claim: Option<&Claim>, now: &Versions) -> Self {
        let had_version = claim.is_some_and(|claim| !claim.sights.meant().0.versions.is_empty());
        if had_version && now.is_empty() { Self::Never } else { Self::of(!now.is_empty()) }
    }
}

/// What to do about a claim whose files changed. A decision is replaced by another decision.
pub fn way_forward(
    claim: impl fmt::Display,
    claim_type: Option<ClaimType>,
    scopes: Option<&[Scope]>,
    again: MeantAgain,
) -> String {
    let claim = claim.to_string();
    let scopes = scopes.map_or_else(|| json!(["SCOPE"]), |scopes| json!(scopes));
    let instead = match claim_type {
        Some(ClaimType::Decision) => {
            let instead = json!({
                "statement": way::STATEMENT, "scopes": scopes, "rationale": way::REASON, "supersedes": [claim],
                "mends": true,
            });
            way::call("record_decision", &instead)
        }
        _ => {
            let claim_type = claim_type.unwrap_or(ClaimType::Fact);
            let instead = json!({
                "statement": way::STATEMENT, "claim_type": claim_type, "scopes": scopes, "supersedes": claim,
                "mends": true,
            });
            way::call("create_claim", &instead)
        }
    };
    let again = match again {
        MeantAgain::Never => {
            return format!("state what holds now: {instead}, unless the challenger supports or abstains");
        }
        MeantAgain::ByStill => format!(
            "say that it is still meant, the owner of the claim and each challenger of its challenge, and run again: {}",
            way::call("still", &json!({ "claim_id": claim }))
        ),
        MeantAgain::ByChallenge => format!("run again after {}", challenged_again(&claim)),
    };
    format!("state what holds now: {instead}, or {again}, unless the challenger supports or abstains")
}

/// The step by which challengers of a claim without a version say that they mean what is there now.
pub(super) fn challenged_again(claim: &str) -> String {
    let again = json!({ "claim_id": claim, "reason": way::REASON });
    format!("each challenger challenges what is there now: {}", way::call("challenge", &again))
}
