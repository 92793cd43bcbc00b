//! Names of targets: first use registers one, `alias_target` joins two.

use serde_json::json;

use super::{Decision, contradiction};
use crate::domain::command::{AliasTarget, PartTarget};
use crate::domain::event::{TargetAliased, TargetParted};
use crate::domain::ids::ClaimId;
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::state::State;
use crate::domain::way;

/// How much alike two names are for one to be suggested instead of the other (spec 07).
const ALIKE: f64 = 0.6;

/// The scopes under the names that stand for all others, sorted, each once.
pub(super) fn canonical(state: &State, scopes: &[Scope]) -> Vec<Scope> {
    let mut scopes: Vec<Scope> = scopes.iter().map(|scope| state.canonical(scope).clone()).collect();
    scopes.sort();
    scopes.dedup();
    scopes
}

/// A warning for each target that is named for the first time and much like a known one.
pub(super) fn suggestions(state: &State, scopes: &[Scope]) -> Vec<Warning> {
    scopes
        .iter()
        .filter(|scope| scope.is_target() && !state.knows_target(scope))
        .filter_map(|scope| {
            if let Some(twin) = state.targets().find(|known| known.looks_like(scope)) {
                let message = format!(
                    "{scope} looks like {twin} and is written in other letters: if {twin} is meant, use that name"
                );
                return Some(Warning { code: WarningCode::SimilarTarget, message, claim_id: None });
            }
            let alike = |known: &Scope| strsim::normalized_damerau_levenshtein(known.name(), scope.name());
            let (known, likeness) = state
                .targets()
                .map(|known| (known, alike(known)))
                .max_by(|a, b| a.1.total_cmp(&b.1).then_with(|| b.0.cmp(a.0)))?;
            (likeness >= ALIKE).then(|| Warning {
                code: WarningCode::SimilarTarget,
                message: format!(
                    "{scope} is a new target: if {known} is meant, use that name, or ask the operator to join them: {}",
                    way::call("alias_target", &json!({ "target": known.name(), "alias": scope.name() }))
                ),
                claim_id: None,
            })
        })
        .collect()
}

pub(super) fn alias(state: &State, command: &AliasTarget) -> Result<Decision, Rejection> {
    for (argument, scope) in [("target", &command.target), ("alias", &command.alias)] {
        if !scope.is_target() {
            return Err(Rejection::invalid(
                argument,
                format!("{scope} is no target: name it as target:NAME"),
            ));
        }
    }
    let (target, alias) = (state.canonical(&command.target), state.canonical(&command.alias));
    if target == alias {
        return Err(Rejection::new(
            Code::DuplicateAlias,
            format!("{} and {} name one target already", command.target, command.alias),
            "nothing to do: they are joined",
        ));
    }
    let mut events = vec![TargetAliased { target: target.clone(), alias: alias.clone() }.into()];
    let conflicts = contradiction::on_alias(state, target, alias);
    let next = (!conflicts.is_empty()).then(|| {
        let both: Vec<ClaimId> = state.decisions_on(target).chain(state.decisions_on(alias)).collect();
        let instead = json!({
            "statement": way::STATEMENT, "target": target.name(), "rationale": way::REASON, "supersedes": both,
        });
        let instead = way::call("record_decision", &instead);
        format!("{} decisions on {target} are in force now, and the architect decides: {instead}", both.len())
    });
    events.extend(conflicts);
    Ok(Decision { events, next, ..Decision::default() })
}

pub(super) fn part(state: &State, command: &PartTarget) -> Result<Decision, Rejection> {
    let alias = &command.alias;
    let Some(target) = state.joined_to(alias) else {
        let others: Vec<&str> = state.aliases_below(alias).into_iter().map(Scope::name).collect();
        let hint = match others.iter().filter(|name| **name != alias.name()).collect::<Vec<_>>().as_slice() {
            [] => "nothing to do: it stands for itself; `hivemind://targets` lists the aliases".to_owned(),
            others => {
                format!("name the alias: {}", others.iter().map(|name| **name).collect::<Vec<_>>().join(", "))
            }
        };
        return Err(Rejection::new(Code::NoAlias, format!("{alias} is no alias of another target"), hint));
    };
    let mut events = vec![TargetParted { target: target.clone(), alias: alias.clone() }.into()];
    events.extend(contradiction::on_parting(state, alias));
    let next = format!(
        "{target} and {alias} are two targets; what was recorded while they were one is about {target}"
    );
    Ok(Decision { events, next: Some(next), ..Decision::default() })
}
