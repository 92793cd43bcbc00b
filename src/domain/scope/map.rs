//! A map from scopes to values that finds overlapping scopes without visiting all of them.

use std::collections::{BTreeMap, BTreeSet};

use super::Scope;

/// Values by scope. [`ScopeMap::at`] visits the scopes above, at and below a place, and the globs, because a glob
/// can match places far from its own spelling.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::domain) struct ScopeMap<T> {
    values: BTreeMap<Scope, T>,
    globs: BTreeSet<Scope>,
}

impl<T> Default for ScopeMap<T> {
    fn default() -> Self {
        Self { values: BTreeMap::new(), globs: BTreeSet::new() }
    }
}

impl<T> ScopeMap<T> {
    pub(in crate::domain) fn get_mut(&mut self, scope: &Scope) -> Option<&mut T> {
        self.values.get_mut(scope)
    }

    /// The value of a scope; `new` creates a missing one.
    pub(in crate::domain) fn get_or_insert_with(&mut self, scope: &Scope, new: impl FnOnce() -> T) -> &mut T {
        if !self.values.contains_key(scope) && scope.is_glob() {
            self.globs.insert(scope.clone());
        }
        self.values.entry(scope.clone()).or_insert_with(new)
    }

    /// Keeps the values for which `keep` returns true.
    pub(in crate::domain) fn retain(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        self.values.retain(|_, value| keep(value));
        self.globs.retain(|glob| self.values.contains_key(glob));
    }

    /// The values of all scopes that overlap a scope. A value may occur more than once.
    pub(in crate::domain) fn at<'m>(&'m self, scope: &'m Scope) -> impl Iterator<Item = &'m T> {
        // All matches of a glob lie in one directory.
        let directory = scope.certain();
        let at_or_above: Vec<_> = directory
            .and_ancestors()
            // The ancestors of a normal scope are in normal form.
            .filter_map(|above| self.values.get_key_value(&Scope(above.to_owned())))
            .collect();
        // All scopes lie below the workspace; the scopes below a directory are one range of names.
        let everything = directory.is_whole().then_some(&self.values).into_iter().flatten();
        let below = self.values.range(directory.clone()..);
        let below = below.take_while(move |(known, _)| known.as_str().starts_with(directory.as_str()));
        let globs = self.globs.iter().filter_map(|glob| self.values.get_key_value(glob));
        let near = at_or_above.into_iter().chain(below).chain(everything).chain(globs);
        near.filter(|(known, _)| known.overlaps(scope)).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::ScopeMap;
    use crate::domain::scope::Scope;

    fn a_scope() -> impl Strategy<Value = Scope> {
        let part = prop_oneof![
            4 => "[ab]{1,2}",
            1 => Just("*".to_owned()),
            1 => Just("**".to_owned()),
            1 => Just("[ab]a".to_owned()),
            1 => Just("b.rs".to_owned()),
            1 => Just("{a,a/b}".to_owned()),
        ];
        prop_oneof![
            8 => proptest::collection::vec(part, 1..4).prop_map(|parts| parts.join("/")),
            1 => Just(".".to_owned()),
            1 => Just("tag:a".to_owned()),
            1 => Just("symbol:a".to_owned()),
        ]
        .prop_map(|text| text.parse().expect("a scope"))
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_overlaps(
            scopes in proptest::collection::vec(a_scope(), 0..12),
            gone in proptest::collection::vec(0_usize..12, 0..4),
            asked in a_scope(),
        ) {
            let mut map = ScopeMap::default();
            for scope in &scopes {
                map.get_or_insert_with(scope, || scope.clone());
            }
            let gone: Vec<Scope> = gone.iter().filter_map(|at| scopes.get(*at).cloned()).collect();
            map.retain(|scope| !gone.contains(scope));
            let found = |scope: &&Scope| map.at(&asked).any(|found| found == *scope);
            let overlapping = |scope: &&Scope| scope.overlaps(&asked) && !gone.contains(scope);
            let (found, expected): (Vec<_>, Vec<_>) =
                (scopes.iter().filter(found).collect(), scopes.iter().filter(overlapping).collect());
            prop_assert_eq!(found, expected);
            prop_assert!(map.globs.iter().all(|glob| map.values.contains_key(glob)));
        }
    }
}
