//! Joined and separated names of targets, and the claims that each name covers.

use std::collections::{BTreeMap, BTreeSet};

use super::State;
use crate::domain::claim::{ClaimType, Status};
use crate::domain::event::{TargetAliased, TargetParted};
use crate::domain::ids::ClaimId;
use crate::domain::scope::Scope;

impl State {
    /// The name to which an alias was joined.
    pub fn joined_to(&self, alias: &Scope) -> Option<&Scope> {
        self.joined.get(alias)
    }

    /// A name of a target and every alias joined to it, directly or through another alias.
    pub fn aliases_below(&self, name: &Scope) -> BTreeSet<&Scope> {
        let below = |alias: &&Scope| self.and_above(alias).any(|above| above == name);
        self.targets.keys().filter(below).collect()
    }

    /// The name of the target in the record of a decision.
    pub fn named_target(&self, decision: ClaimId) -> Option<&Scope> {
        self.decisions.get(&decision)?.named.as_ref()
    }

    /// A name, the name to which it was joined, and so on.
    fn and_above<'a>(&'a self, name: &'a Scope) -> impl Iterator<Item = &'a Scope> {
        std::iter::successors(Some(name), |name| self.joined.get(*name))
    }

    pub(super) fn join(&mut self, TargetAliased { target, alias }: &TargetAliased) {
        for name in [target, alias] {
            self.targets.entry(name.clone()).or_insert_with(|| name.clone());
        }
        // Both names were canonical when they were joined. After an erasure the target may still be an alias, so it
        // becomes canonical again. Otherwise a name could be its own alias.
        self.joined.remove(target);
        self.joined.insert(alias.clone(), target.clone());
        self.rename();
    }

    pub(super) fn part(&mut self, TargetParted { alias, .. }: &TargetParted) {
        self.joined.remove(alias);
        self.rename();
    }

    /// Replaces the targets of claims and decisions by their current canonical names.
    fn rename(&mut self) {
        let names: BTreeMap<Scope, Scope> = self
            .targets
            .keys()
            .map(|name| (name.clone(), self.and_above(name).last().unwrap_or(name).clone()))
            .collect();
        // The candidates store scopes by name.
        self.candidates = Default::default();
        self.targets = names;
        self.by_target.clear();
        for (id, decision) in &mut self.decisions {
            let stands = |name: &Scope| self.targets.get(name).unwrap_or(name).clone();
            decision.target = decision.named.as_ref().map(stands);
            let in_force = self.claims.get(id).is_some_and(|claim| claim.status != Status::Deprecated);
            if let Some(target) = decision.target.as_ref().filter(|_| in_force) {
                self.by_target.entry(target.clone()).or_default().insert(*id);
            }
        }
        let is_renamed = |claim: &super::Claim| claim.scopes.iter().any(Scope::is_target);
        let mut renamed: Vec<ClaimId> =
            self.claims.iter().filter(|(_, claim)| is_renamed(claim)).map(|(id, _)| *id).collect();
        // Sorted, because the order of the map is arbitrary: of two claims that become equal, the first one stays the
        // known one.
        renamed.sort();
        let mut known = Vec::new();
        for id in renamed {
            let Some(claim) = self.claims.get_mut(&id) else { continue };
            let named = claim.named.as_deref().unwrap_or(&claim.scopes);
            let mut scopes: Vec<Scope> =
                named.iter().map(|scope| self.targets.get(scope).unwrap_or(scope).clone()).collect();
            scopes.sort();
            scopes.dedup();
            if scopes == claim.scopes {
                continue;
            }
            let before = claim.fingerprint();
            let was = std::mem::replace(&mut claim.scopes, scopes);
            if claim.claim_type == ClaimType::Negative && claim.status != Status::Deprecated {
                for gone in was.iter().filter(|scope| scope.is_target()) {
                    if let Some(ids) = self.dead_ends.get_mut(gone) {
                        ids.remove(&id);
                    }
                }
                for scope in claim.scopes.iter().filter(|scope| scope.is_target()) {
                    self.dead_ends.get_or_insert_with(scope, BTreeSet::new).insert(id);
                }
            }
            claim.named.get_or_insert(was.into());
            if claim.status != Status::Deprecated {
                if self.in_force.get(&before) == Some(&id) {
                    self.in_force.remove(&before);
                }
                known.push((claim.fingerprint(), id));
            }
        }
        self.dead_ends.retain(|ids| !ids.is_empty());
        for (fingerprint, id) in known {
            self.in_force.entry(fingerprint).or_insert(id);
        }
    }
}
