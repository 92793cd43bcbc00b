//! `[policy]` of `config.toml`: its keys, what they may hold together, and the line of each.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use crate::domain::memory::MemoryEvent;
use crate::domain::phase::PhaseRules;
use crate::domain::policy::{MemoryPolicy, Retention, Term, TrustMode, WritePolicy};
use crate::domain::spaces::{Bar, Border, KeyPattern, PromotionRules, SpaceRules};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PolicyKeys {
    write_policy: Option<Spanned<WritePolicy>>,
    allow_event_types: Option<Spanned<BTreeSet<MemoryEvent>>>,
    deny_event_types: Option<Spanned<BTreeSet<MemoryEvent>>>,
    trust: Option<Spanned<TrustMode>>,
    retention: RetentionKeys,
    spaces: SpaceKeys,
    promotion: BTreeMap<Border, Spanned<Bar>>,
    phase: PhaseKeys,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SpaceKeys {
    user_keys: Option<Spanned<Vec<KeyPattern>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PhaseKeys {
    by_plan: Option<Spanned<bool>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RetentionKeys {
    semantic: BTreeMap<MemoryEvent, Spanned<Term>>,
}

/// Keys that exclude each other, with the line of the later one.
#[derive(Debug)]
pub(super) struct Conflict {
    pub(super) line: usize,
    pub(super) problem: String,
}

impl PolicyKeys {
    /// The policy of these keys. `text` is the file.
    pub(super) fn policy(&self, text: &str) -> Result<MemoryPolicy, Conflict> {
        let open = MemoryPolicy::default();
        let set =
            |key: &Option<Spanned<BTreeSet<MemoryEvent>>>| key.as_ref().map(|set| set.get_ref().clone());
        let denied = set(&self.deny_event_types).unwrap_or_default();
        let allowed = match set(&self.allow_event_types) {
            // A denied type need not be left out of a list that is not there.
            None => open.allow_event_types.difference(&denied).copied().collect(),
            Some(allowed) => allowed,
        };
        if let (Some(event), Some(key)) = (allowed.intersection(&denied).next(), &self.deny_event_types) {
            let problem = format!(
                "deny_event_types: `{event}` is in allow_event_types too: take it out of one of the two"
            );
            return Err(Conflict { line: line(text, key.span().start), problem });
        }
        let bars = self.promotion.iter().map(|(border, bar)| (*border, *bar.get_ref()));
        let promotion = PromotionRules::of(bars).map_err(|border| {
            let at = self.promotion.get(&border).map_or(0, |bar| bar.span().start);
            let problem = format!(
                "promotion.{border}: it is never below {}: write {0} or a higher authority, or never",
                border.floor()
            );
            Conflict { line: line(text, at), problem }
        })?;
        let terms = &self.retention.semantic;
        let user_keys = self.spaces.user_keys.as_ref().map(|keys| keys.get_ref().clone());
        Ok(MemoryPolicy {
            spaces: user_keys.map_or(open.spaces, |user_keys| SpaceRules { user_keys }),
            promotion,
            phase: PhaseRules {
                by_plan: self.phase.by_plan.as_ref().map_or(open.phase.by_plan, |key| *key.get_ref()),
            },
            write_policy: self.write_policy.as_ref().map_or(open.write_policy, |key| *key.get_ref()),
            allow_event_types: allowed,
            deny_event_types: denied,
            trust: self.trust.as_ref().map_or(open.trust, |key| *key.get_ref()),
            retention: Retention::of(terms.iter().map(|(event, term)| (*event, *term.get_ref()))),
        })
    }

    /// The line of each key in the file.
    pub(super) fn lines(&self, text: &str) -> BTreeMap<String, usize> {
        let mut lines = BTreeMap::new();
        let mut add = |key: &str, start: Option<usize>| {
            lines.extend(start.map(|start| (key.to_owned(), line(text, start))));
        };
        add("write_policy", self.write_policy.as_ref().map(|key| key.span().start));
        add("allow_event_types", self.allow_event_types.as_ref().map(|key| key.span().start));
        add("deny_event_types", self.deny_event_types.as_ref().map(|key| key.span().start));
        add("trust", self.trust.as_ref().map(|key| key.span().start));
        for (event, term) in &self.retention.semantic {
            add(&format!("retention.semantic.{event}"), Some(term.span().start));
        }
        add("spaces.user_keys", self.spaces.user_keys.as_ref().map(|key| key.span().start));
        for (border, bar) in &self.promotion {
            add(&format!("promotion.{border}"), Some(bar.span().start));
        }
        add("phase.by_plan", self.phase.by_plan.as_ref().map(|key| key.span().start));
        lines
    }
}

/// The line of a byte, from 1.
fn line(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}
