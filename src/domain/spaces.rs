//! Spaces: the keys that the space of a person takes, and what an item needs to cross into another space.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::claim::word;
use crate::domain::memory::{Authority, MemoryEvent, Space};
use crate::domain::rejection::Rejection;
use crate::domain::text::{AnchorKey, UserName};

/// What spaces take (`[policy.spaces]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpaceRules {
    /// The keys of the facts that the space of a person takes.
    pub user_keys: Vec<KeyPattern>,
}

impl Default for SpaceRules {
    /// Every key.
    fn default() -> Self {
        Self { user_keys: vec![KeyPattern("*".to_owned())] }
    }
}

impl SpaceRules {
    /// Whether the space of a person takes this key.
    pub fn takes(&self, key: &AnchorKey) -> bool {
        self.user_keys.iter().any(|pattern| pattern.fits(key.as_str()))
    }
}

/// The person in whose space an anchor is kept; `None` for the space of the project.
///
/// # Errors
/// `invalid_argument` for a space without anchors, and for a person without a name.
pub fn spaced(space: Space, user: Option<UserName>) -> Result<Option<UserName>, Rejection> {
    match (space, user) {
        (Space::Project, _) => Ok(None),
        (Space::User, Some(user)) => Ok(Some(user)),
        (Space::User, None) => Err(Rejection::invalid(
            "space",
            "the system has no name for the user here: set HM_USER, or leave the space out and keep it for the team",
        )),
        (Space::Session | Space::System, _) => {
            let problem = format!("no anchors are kept in the space of the {space}: use user or project");
            Err(Rejection::invalid("space", problem))
        }
    }
}

/// A key, or the beginning of keys with a `*` after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyPattern(String);

impl KeyPattern {
    fn fits(&self, key: &str) -> bool {
        self.0.strip_suffix('*').map_or(self.0 == key, |beginning| key.starts_with(beginning))
    }
}

/// A text that is no pattern of keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no key: write a key of 1 to 64 characters, with a * at its end for every ending")]
pub struct BadKeyPattern(String);

impl TryFrom<String> for KeyPattern {
    type Error = BadKeyPattern;

    fn try_from(text: String) -> Result<Self, BadKeyPattern> {
        let key = text.trim();
        let beginning = key.strip_suffix('*').unwrap_or(key);
        let is_key = !key.is_empty() && key.chars().count() <= AnchorKey::MAX_CHARS;
        if !is_key || beginning.contains('*') {
            return Err(BadKeyPattern(text.chars().take(40).collect()));
        }
        Ok(Self(key.to_owned()))
    }
}

impl From<KeyPattern> for String {
    fn from(pattern: KeyPattern) -> Self {
        pattern.0
    }
}

word!(
    /// A border that items may cross.
    Border("promotion") {
        /// From a session to a person.
        SessionToUser = "session_to_user",
        /// From a session to the project.
        SessionToProject = "session_to_project",
        /// From a session to the project, for decisions.
        DecisionToProject = "decision_to_project",
        /// From a person to the project.
        UserToProject = "user_to_project",
    }
);

impl Border {
    /// The least authority that an item ever needs to cross. The configuration may ask for more.
    pub const fn floor(self) -> Authority {
        match self {
            Self::SessionToUser | Self::DecisionToProject | Self::UserToProject => Authority::UserAsserted,
            Self::SessionToProject => Authority::ToolVerified,
        }
    }

    /// The borders between two spaces, each of which lets an item through. None: nothing crosses there.
    pub const fn between(from: Space, to: Space, event: MemoryEvent) -> &'static [Self] {
        match (from, to) {
            (Space::Session, Space::User) => &[Self::SessionToUser],
            (Space::Session, Space::Project) => match event {
                MemoryEvent::Decision => &[Self::SessionToProject, Self::DecisionToProject],
                MemoryEvent::Preference
                | MemoryEvent::Fact
                | MemoryEvent::Correction
                | MemoryEvent::Execution
                | MemoryEvent::Context => &[Self::SessionToProject],
            },
            (Space::User, Space::Project) => &[Self::UserToProject],
            // The configuration alone says what holds for the whole system, and nothing moves to a narrower space.
            (_, Space::Session | Space::System)
            | (Space::User | Space::Project | Space::System, Space::User)
            | (Space::Project | Space::System, Space::Project) => &[],
        }
    }
}

/// What an item needs to cross a border, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Bar {
    /// This authority or a higher one.
    Least(Authority),
    /// Nothing crosses.
    Never,
}

impl Bar {
    fn lets(self, authority: Authority) -> bool {
        match self {
            Self::Least(least) => authority >= least,
            Self::Never => false,
        }
    }
}

impl std::fmt::Display for Bar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Least(authority) => f.write_str(authority.as_str()),
            Self::Never => f.write_str("never"),
        }
    }
}

/// A text that is no bar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no authority: write user_asserted, tool_verified, system_imposed or never")]
pub struct BadBar(String);

impl TryFrom<String> for Bar {
    type Error = BadBar;

    fn try_from(text: String) -> Result<Self, BadBar> {
        if text.trim() == "never" {
            return Ok(Self::Never);
        }
        text.parse().map(Self::Least).map_err(|_| BadBar(text.chars().take(40).collect()))
    }
}

impl From<Bar> for String {
    fn from(bar: Bar) -> Self {
        bar.to_string()
    }
}

/// What each border asks for (`[policy.promotion]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PromotionRules(BTreeMap<Border, Bar>);

impl PromotionRules {
    /// Rules with these bars. A bar below its floor is refused with the border.
    ///
    /// # Errors
    /// The border.
    pub fn of(bars: impl IntoIterator<Item = (Border, Bar)>) -> Result<Self, Border> {
        let mut rules = Self::default();
        for (border, bar) in bars {
            match bar {
                Bar::Least(least) if least < border.floor() => return Err(border),
                Bar::Least(least) if least == border.floor() => {}
                Bar::Least(_) | Bar::Never => drop(rules.0.insert(border, bar)),
            }
        }
        Ok(rules)
    }

    /// What a border asks for.
    pub fn bar(&self, border: Border) -> Bar {
        self.0.get(&border).copied().unwrap_or(Bar::Least(border.floor()))
    }

    /// Whether an item may cross, and the reason.
    pub fn check(&self, from: Space, to: Space, event: MemoryEvent, authority: Authority) -> Crossing {
        let borders = Border::between(from, to, event);
        let passed = borders.iter().find(|border| self.bar(**border).lets(authority));
        let reason = match (passed, borders, to) {
            (Some(Border::DecisionToProject), ..) => BorderReason::DecisionOfUser,
            (Some(_), ..) => BorderReason::AuthorityEnough,
            (None, [], Space::System) => BorderReason::SystemClosed,
            (None, [], _) => BorderReason::NoSuchPromotion,
            (None, borders, _) if borders.iter().all(|border| self.bar(*border) == Bar::Never) => {
                BorderReason::PromotionOff
            }
            (None, ..) => BorderReason::AuthorityTooLow,
        };
        Crossing { is_allowed: passed.is_some(), reason }
    }
}

/// The outcome of a check at a border.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// Whether the item may cross.
    pub is_allowed: bool,
    /// The reason.
    pub reason: BorderReason,
}

word!(
    /// What is done at a border.
    BorderAction("action at a border") {
        /// An item is read in another space.
        Read = "read",
        /// An item is written into a space.
        Write = "write",
        /// An item is promoted to another space.
        Promote = "promote",
    }
);

word!(
    /// Why an item crossed a border, or stayed.
    BorderReason("reason of a border") {
        /// Its authority is high enough.
        AuthorityEnough = "authority_enough",
        /// It is a decision, and the user said it.
        DecisionOfUser = "decision_of_user",
        /// Its authority is too low.
        AuthorityTooLow = "authority_too_low",
        /// No promotion leads from the one space to the other.
        NoSuchPromotion = "no_such_promotion",
        /// Nothing is promoted to the space of the system.
        SystemClosed = "system_closed",
        /// The policy lets nothing cross there.
        PromotionOff = "promotion_off",
    }
);

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::{Bar, Border, KeyPattern, PromotionRules, SpaceRules};
    use crate::domain::memory::{Authority, MemoryEvent, Space};

    /// The least authority with which each kind of item crosses each border, by the default rules.
    #[test]
    fn every_border_asks_for_its_authority() {
        let rules = PromotionRules::default();
        let mut table = String::new();
        for from in Space::ALL {
            for to in Space::ALL {
                for event in [MemoryEvent::Fact, MemoryEvent::Decision] {
                    let least = Authority::ALL
                        .iter()
                        .find(|authority| rules.check(*from, *to, event, **authority).is_allowed);
                    let refused = rules.check(*from, *to, event, Authority::AiInferred).reason;
                    let least = least.map_or("never", |authority| authority.as_str());
                    table += &format!("{event} {from} -> {to}: {least} ({refused})\n");
                }
            }
        }
        expect![[r#"
            fact session -> session: never (no_such_promotion)
            decision session -> session: never (no_such_promotion)
            fact session -> user: user_asserted (authority_too_low)
            decision session -> user: user_asserted (authority_too_low)
            fact session -> project: tool_verified (authority_too_low)
            decision session -> project: user_asserted (authority_too_low)
            fact session -> system: never (system_closed)
            decision session -> system: never (system_closed)
            fact user -> session: never (no_such_promotion)
            decision user -> session: never (no_such_promotion)
            fact user -> user: never (no_such_promotion)
            decision user -> user: never (no_such_promotion)
            fact user -> project: user_asserted (authority_too_low)
            decision user -> project: user_asserted (authority_too_low)
            fact user -> system: never (system_closed)
            decision user -> system: never (system_closed)
            fact project -> session: never (no_such_promotion)
            decision project -> session: never (no_such_promotion)
            fact project -> user: never (no_such_promotion)
            decision project -> user: never (no_such_promotion)
            fact project -> project: never (no_such_promotion)
            decision project -> project: never (no_such_promotion)
            fact project -> system: never (system_closed)
            decision project -> system: never (system_closed)
            fact system -> session: never (no_such_promotion)
            decision system -> session: never (no_such_promotion)
            fact system -> user: never (no_such_promotion)
            decision system -> user: never (no_such_promotion)
            fact system -> project: never (no_such_promotion)
            decision system -> project: never (no_such_promotion)
            fact system -> system: never (system_closed)
            decision system -> system: never (system_closed)
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn a_key_is_taken_by_its_name_or_its_beginning() {
        let takes = |patterns: &[&str], key: &str| {
            let user_keys = patterns.iter().map(|text| KeyPattern::try_from((*text).to_owned()));
            let rules = SpaceRules { user_keys: user_keys.collect::<Result<_, _>>().expect("patterns") };
            rules.takes(&key.parse().expect("a key"))
        };
        assert!(SpaceRules::default().takes(&"anything".parse().expect("a key")));
        assert!(takes(&["editor", "lang*"], "lang_spoken") && takes(&["editor"], "editor"));
        assert!(!takes(&["editor"], "editors") && !takes(&["lang*"], "slang") && !takes(&[], "editor"));
        for text in ["", "  ", "a*b", "**"] {
            assert!(KeyPattern::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    proptest! {
        /// The configuration raises bars, and lowers none.
        #[test]
        fn no_rules_let_through_what_the_default_stops(
            bars in prop::collection::vec((prop::sample::select(Border::ALL), prop::option::of(prop::sample::select(Authority::ALL))), 0..5),
            from in prop::sample::select(Space::ALL),
            to in prop::sample::select(Space::ALL),
            event in prop::sample::select(MemoryEvent::ALL),
            authority in prop::sample::select(Authority::ALL),
        ) {
            let bars = bars.into_iter().map(|(border, least)| (border, least.map_or(Bar::Never, Bar::Least)));
            let Ok(rules) = PromotionRules::of(bars) else { return Ok(()) };
            let is_allowed = |rules: &PromotionRules| rules.check(from, to, event, authority).is_allowed;
            prop_assert!(!is_allowed(&rules) || is_allowed(&PromotionRules::default()));
            let higher = Authority::ALL.iter().filter(|higher| **higher >= authority);
            for higher in higher {
                prop_assert!(!is_allowed(&rules) || rules.check(from, to, event, *higher).is_allowed);
            }
        }
    }
}
