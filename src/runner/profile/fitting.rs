//! The profiles that can settle a claim and can run here, and the run of one of them as a hint.

use std::path::Path;

use serde_json::json;

use super::{Catalog, Here, Kind, Known, Origin, Param, Profile};
use crate::domain::claim::ClaimType;
use crate::domain::experiment::Prediction;
use crate::domain::ids::ClaimId;
use crate::domain::scope::Scope;
use crate::domain::way;
use crate::system;
use crate::trusted::Trust;

/// The most profiles that a hint names.
const MAX_FITTING: usize = 5;

/// The run that settles a dispute about a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settling {
    /// The call of the first profile that fits.
    pub run: String,
    /// The names of the others.
    pub others: Vec<String>,
}

/// The profiles of a workspace, for questions about several claims.
#[derive(Debug)]
pub struct Fitting<'r> {
    root: &'r Path,
    catalog: Catalog,
    path: Option<String>,
}

impl<'r> Fitting<'r> {
    /// The profiles of a workspace with this root.
    pub fn of(root: &'r Path, catalog: Catalog) -> Self {
        let path = system::variables().find(|(name, _)| name == "PATH").map(|(_, path)| path);
        Self { root, catalog, path }
    }

    /// The profiles that can settle a claim with these scopes and can run here, at most [`MAX_FITTING`], each with
    /// its arguments. Profiles without required arguments come first, because a hint can name them as a complete
    /// command.
    pub fn names(&self, scopes: &[Scope], prediction: Prediction) -> Vec<(String, Vec<String>)> {
        let here = Here::of(self.root, self.path.clone(), scopes);
        let fits = |Known { profile, trust, origin, .. }: &&Known| {
            *trust == Trust::Trusted
                && profile.agent.is_none()
                && profile.cannot_settle(scopes, prediction).is_none()
                && here.can_run(profile)
                && (*origin != Origin::BuiltIn || here.has_tests(profile))
        };
        let mut fitting: Vec<&Known> = self.catalog.profiles().filter(fits).collect();
        // Profiles of the project come before built-in ones: they fit the project best.
        fitting.sort_by_key(|known| (!needed(&known.profile).is_empty(), known.origin == Origin::BuiltIn));
        let named = |known: &Known| (known.profile.name.to_string(), needed(&known.profile));
        fitting.into_iter().take(MAX_FITTING).map(named).collect()
    }

    /// The run that would settle a dispute about a claim; `None` when no profile can settle it.
    pub fn settling(
        &self,
        (id, claim_type): (ClaimId, ClaimType),
        scopes: &[Scope],
        prediction: Prediction,
    ) -> Option<Settling> {
        // A claim that waits for a run about files which are not there is refused.
        let mut paths = scopes.iter().filter(|scope| scope.is_path()).peekable();
        let is_missing = |scope: &Scope| scope.looks_like_file() && !self.root.join(scope.as_str()).exists();
        let has_no_file = paths.peek().is_some() && paths.all(is_missing);
        // No run decides, and only the owner of a dead end knows whether a pass or a failure shows it.
        if has_no_file || matches!(claim_type, ClaimType::Decision | ClaimType::Negative) {
            return None;
        }
        let fitting = self.names(scopes, prediction);
        let ((first, args), others) = fitting.split_first()?;
        let mut run = json!({ "profile": first, "claim_id": id, "blocking": true });
        if !args.is_empty() {
            run["args"] = json!(args);
        }
        if prediction != Prediction::Passes {
            run["prediction"] = json!(prediction);
        }
        let others = others.iter().map(|(name, _)| name.clone()).collect();
        Some(Settling { run: way::call("run_experiment", &run), others })
    }
}

/// The required arguments of a profile, each with its description: `name=the test to run`.
fn needed(profile: &Profile) -> Vec<String> {
    let needed = profile.params.iter().filter(|(_, param)| param.default.is_none());
    let said = |(name, param): (&String, &Param)| match (&param.kind, &param.description) {
        (Kind::Enum(words), _) if !words.is_empty() => format!("{name}={}", words[0]),
        (_, Some(description)) => format!("{name}={description}"),
        _ => format!("{name}={}", name.to_uppercase()),
    };
    needed.map(said).collect()
}
