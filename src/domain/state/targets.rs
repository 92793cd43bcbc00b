//! Names of targets that are joined and parted: what goes by which of them.

use std::collections::{BTreeMap, BTreeSet};

use super::State;
use crate::domain::claim::{ClaimType, Status};
use crate::domain::event::{TargetAliased, TargetParted};
use crate::domain::ids::ClaimId;
use crate::domain::scope::Scope;

impl State {
    /// The name that an alias was joined to.
    pub fn joined_to(&self, alias: &Scope) -> Option<&Scope> {
        self.joined.get(alias)
    }

    /// A name of a target and every alias joined to it, directly or through another.
    pub fn aliases_below(&self, name: &Scope) -> BTreeSet<&Scope> {
        let below = |alias: &&Scope| self.and_above(alias).any(|above| above == name);
        self.targets.keys().filter(below).collect()
    }

    /// The target under which a decision was recorded.
    pub fn named_target(&self, decision: ClaimId) -> Option<&Scope> {
        self.decisions.get(&decision)?.named.as_ref()
    }

    /// A name, the one it was joined to, and so on.
    fn and_above<'a>(&'a self, name: &'a Scope) -> impl Iterator<Item = &'a Scope> {
        std::iter::successors(Some(name), |name| self.joined.get(*name))
    }

    pub(super) fn join(&mut self, TargetAliased { target, alias }: &TargetAliased) {
        for name in [target, alias] {
            self.targets.entry(name.clone()).or_insert_with(|| name.clone());
        }
        // Both stood for themselves when they were joined. After an erasure they may not: the target does again, so
        // that no name stands above itself.
        self.joined.remove(target);
        self.joined.insert(alias.clone(), target.clone());
        self.rename();
    }

    pub(super) fn part(&mut self, TargetParted { alias, .. }: &TargetParted) {
        self.joined.remove(alias);
        self.rename();
    }

    /// Puts claims and decisions under the names that stand for their targets now.
    fn rename(&mut self) {
        let names: BTreeMap<Scope, Scope> = self
            .targets
            .keys()
            .map(|name| (name.clone(), self.and_above(name).last().unwrap_or(name).clone()))
            .collect();
        // They hold the scopes by name.
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
        // In one order, whatever that of the map is: of two claims that come to say the same the first is the known one.
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
