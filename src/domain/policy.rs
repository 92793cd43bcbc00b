//! The policy of the memory: what may be written, whose word decides, and how long claims are shown.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::domain::claim::word;
use crate::domain::event::{MemoryRules, RuleChange};
use crate::domain::memory::MemoryEvent;
use crate::domain::phase::PhaseRules;
use crate::domain::rejection::Code;
use crate::domain::spaces::{Border, PromotionRules, SpaceRules};
use crate::domain::time::{Hours, Timestamp};

word!(
    /// How important an item must be to be written.
    WritePolicy("write policy") {
        /// Nothing is written at all, no work of the team either.
        Nothing = "none",
        /// Facts, corrections, and the decisions and preferences of the operator: importance 4 and more.
        Minimal = "minimal",
        /// All but remarks of agents: importance 2 and more.
        Normal = "normal",
        /// Everything.
        Aggressive = "aggressive",
    }
);

word!(
    /// Whose word decides.
    TrustMode("trust mode") {
        /// Agents record decisions and confirm the claims of each other.
        AgentWithIntent = "agent_with_intent",
        /// Agents propose; the operator decides and confirms.
        HumanOnly = "human_only",
    }
);

impl WritePolicy {
    /// The least importance of an item that may be written. None if nothing may be written.
    pub const fn least(self) -> Option<u8> {
        match self {
            Self::Nothing => None,
            Self::Minimal => Some(4),
            Self::Normal => Some(2),
            Self::Aggressive => Some(0),
        }
    }

    /// The code of a refusal by this policy.
    pub const fn code(self) -> Code {
        match self {
            Self::Nothing => Code::WritePolicyNone,
            Self::Minimal => Code::WritePolicyMinimal,
            // `aggressive` refuses nothing.
            Self::Normal | Self::Aggressive => Code::WritePolicyNormal,
        }
    }
}

/// The policy of the memory (`[policy]` in config.toml). The default accepts everything and forgets nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryPolicy {
    /// How important an item must be to be written.
    pub write_policy: WritePolicy,
    /// The event types that may be written.
    pub allow_event_types: BTreeSet<MemoryEvent>,
    /// The event types that may not be written. A type is in one of the two lists at most.
    pub deny_event_types: BTreeSet<MemoryEvent>,
    /// Whose word decides.
    pub trust: TrustMode,
    /// How long claims are shown.
    pub retention: Retention,
    /// What spaces take. Defaults are left out of the hash, so that policies on record keep theirs.
    #[serde(skip_serializing_if = "is_default")]
    pub spaces: SpaceRules,
    /// What items need to cross into another space.
    #[serde(skip_serializing_if = "is_default")]
    pub promotion: PromotionRules,
    /// When phases begin.
    #[serde(skip_serializing_if = "is_default")]
    pub phase: PhaseRules,
}

fn is_default<T: Default + PartialEq>(rules: &T) -> bool {
    *rules == T::default()
}

impl Default for MemoryPolicy {
    fn default() -> Self {
        Self {
            write_policy: WritePolicy::Aggressive,
            allow_event_types: MemoryEvent::ALL.iter().copied().collect(),
            deny_event_types: BTreeSet::new(),
            trust: TrustMode::AgentWithIntent,
            retention: Retention::default(),
            spaces: SpaceRules::default(),
            promotion: PromotionRules::default(),
            phase: PhaseRules::default(),
        }
    }
}

impl MemoryPolicy {
    /// Whether items of this type may be written.
    pub fn allows(&self, event: MemoryEvent) -> bool {
        self.allow_event_types.contains(&event) && !self.deny_event_types.contains(&event)
    }

    /// The refusal of every write, if nothing may be written.
    pub fn closed(&self) -> Option<Code> {
        if self.write_policy == WritePolicy::Nothing {
            return Some(Code::WritePolicyNone);
        }
        let has_type = MemoryEvent::ALL.iter().any(|event| self.allows(*event));
        (!has_type).then_some(Code::EventTypeDenied)
    }

    /// The SHA-256 of the policy as canonical JSON. Records of denials name the policy by it.
    pub fn hash(&self) -> String {
        hex::encode(Sha256::digest(self.text()))
    }

    /// The policy as canonical JSON.
    pub fn text(&self) -> String {
        serde_json_canonicalizer::to_string(self).expect("a policy is words and numbers")
    }

    /// The policy in a record. A record of a later release may hold rules that this one does not know: they are left out.
    pub fn recorded(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// The rules by their keys in `config.toml`, each with its value: a word, a list of words, or true and false.
    pub fn rules(&self) -> Vec<(String, Value)> {
        let Self {
            write_policy,
            allow_event_types,
            deny_event_types,
            trust,
            retention,
            spaces,
            promotion,
            phase,
        } = self;
        let mut rules = vec![
            ("write_policy".to_owned(), json!(write_policy)),
            ("allow_event_types".to_owned(), json!(allow_event_types)),
            ("deny_event_types".to_owned(), json!(deny_event_types)),
            ("trust".to_owned(), json!(trust)),
        ];
        let term =
            |event: &MemoryEvent| (format!("retention.semantic.{event}"), json!(retention.term(*event)));
        rules.extend(MemoryEvent::ALL.iter().map(term));
        rules.push(("spaces.user_keys".to_owned(), json!(spaces.user_keys)));
        let bar = |border: &Border| (format!("promotion.{border}"), json!(promotion.bar(*border)));
        rules.extend(Border::ALL.iter().map(bar));
        rules.push(("phase.by_plan".to_owned(), json!(phase.by_plan)));
        rules
    }

    /// The value of a rule in words, as people read it.
    pub fn in_words(value: &Value) -> String {
        match value {
            Value::Array(list) if list.is_empty() => "(empty)".to_owned(),
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
            Value::String(word) => word.clone(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
        }
    }

    /// Whether a rule lets more be written, lets agents decide more, or lets more cross a border, than in another policy. A
    /// term or a list of keys is neither looser nor tighter than another one.
    fn is_looser_in(&self, rule: &str, was: &Self) -> bool {
        match rule {
            "write_policy" => self.write_policy > was.write_policy,
            // Without a list of allowed types, those that are denied no more are in this list.
            "allow_event_types" => {
                MemoryEvent::ALL.iter().any(|event| self.allows(*event) && !was.allows(*event))
            }
            "trust" => self.trust < was.trust,
            _ => {
                let border = rule.strip_prefix("promotion.").and_then(|border| border.parse().ok());
                border.is_some_and(|border: Border| self.promotion.bar(border) < was.promotion.bar(border))
            }
        }
    }

    /// The record of this policy after another record, or after none. None if it is the recorded one.
    pub fn changed_from(&self, before: Option<&MemoryRules>) -> Option<MemoryRules> {
        let was = before.map_or_else(Self::default, |before| Self::recorded(&before.policy));
        let (hash, hash_before) =
            (self.hash(), before.map_or_else(|| was.hash(), |before| before.hash.clone()));
        if hash == hash_before {
            return None;
        }
        let pairs = self.rules().into_iter().zip(was.rules());
        let changes = pairs.filter(|(now, was)| now != was).map(|((rule, now), (_, before))| RuleChange {
            looser: self.is_looser_in(&rule, &was),
            rule,
            now: Self::in_words(&now),
            was: Self::in_words(&before),
        });
        Some(MemoryRules { changes: changes.collect(), hash, policy: self.text(), was: hash_before })
    }
}

/// How long claims are shown, by event type. A type without a term is shown for good.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Retention(BTreeMap<MemoryEvent, Term>);

impl Retention {
    /// A retention with these terms.
    pub fn of(terms: impl IntoIterator<Item = (MemoryEvent, Term)>) -> Self {
        Self(terms.into_iter().filter(|(_, term)| *term != Term::Never).collect())
    }

    /// The term of a type.
    pub fn term(&self, event: MemoryEvent) -> Term {
        self.0.get(&event).copied().unwrap_or(Term::Never)
    }

    /// Whether no claim ends by it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// When an item ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Term {
    /// It does not end.
    Never,
    /// It ends so long after it was created.
    Ttl(Length),
    /// It ends when it was not touched for longer than this.
    Decay(Length),
}

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// So many sessions of clients that started, at least 1.
    Sessions(u32),
    /// So many hours, at least 1.
    Hours(u32),
}

/// A moment on both clocks: that of the sessions and that of the hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// The number of sessions that had started.
    pub sessions: u64,
    /// The time.
    pub at: Timestamp,
}

impl Term {
    /// Whether an item is over at `now`: with a ttl once its time is full, with a decay once the time since the last
    /// touch is exceeded.
    pub fn is_over(self, created: Tick, touched: Tick, now: Tick) -> bool {
        let sessions = |from: Tick| now.sessions.saturating_sub(from.sessions);
        match self {
            Self::Never => false,
            Self::Ttl(Length::Sessions(most)) => sessions(created) >= u64::from(most),
            Self::Ttl(Length::Hours(most)) => now.at >= created.at.plus(Hours(most)),
            Self::Decay(Length::Sessions(most)) => sessions(touched) > u64::from(most),
            Self::Decay(Length::Hours(most)) => now.at > touched.at.plus(Hours(most)),
        }
    }

    /// The reason for which an item ends.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Never | Self::Ttl(_) => "ttl_expired",
            Self::Decay(_) => "decay",
        }
    }
}

impl std::fmt::Display for Length {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sessions(1) => f.write_str("1 session"),
            Self::Sessions(count) => write!(f, "{count} sessions"),
            Self::Hours(1) => f.write_str("1 hour"),
            Self::Hours(count) => write!(f, "{count} hours"),
        }
    }
}

impl std::fmt::Display for Term {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Ttl(length) => write!(f, "ttl {length}"),
            Self::Decay(length) => write!(f, "decay {length}"),
        }
    }
}

/// A text that is no term.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no term: write never, ttl N sessions, ttl N hours, decay N sessions or decay N hours, with N from 1 to \
     1000000"
)]
pub struct BadTerm(String);

/// The longest term, in its unit: more than a century of hours, so that no time overflows.
const MAX_LENGTH: u32 = 1_000_000;

impl std::str::FromStr for Term {
    type Err = BadTerm;

    fn from_str(text: &str) -> Result<Self, BadTerm> {
        let bad = || BadTerm(text.chars().take(40).collect());
        let words: Vec<&str> = text.split_whitespace().collect();
        let (kind, count, unit) = match words[..] {
            ["never"] => return Ok(Self::Never),
            [kind, count, unit] => (kind, count, unit),
            _ => return Err(bad()),
        };
        let count: u32 = count.parse().map_err(|_| bad())?;
        if !(1..=MAX_LENGTH).contains(&count) {
            return Err(bad());
        }
        let length = match unit {
            "session" | "sessions" => Length::Sessions(count),
            "hour" | "hours" => Length::Hours(count),
            _ => return Err(bad()),
        };
        match kind {
            "ttl" => Ok(Self::Ttl(length)),
            "decay" => Ok(Self::Decay(length)),
            _ => Err(bad()),
        }
    }
}

impl TryFrom<String> for Term {
    type Error = BadTerm;

    fn try_from(text: String) -> Result<Self, BadTerm> {
        text.parse()
    }
}

impl From<Term> for String {
    fn from(term: Term) -> Self {
        term.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::{Length, MemoryPolicy, Retention, Term, Tick, TrustMode, WritePolicy};
    use crate::domain::memory::MemoryEvent;
    use crate::domain::phase::PhaseRules;
    use crate::domain::rejection::Code;
    use crate::domain::spaces::{Bar, Border, PromotionRules, SpaceRules};
    use crate::domain::time::{Hours, Timestamp};

    const START: Timestamp = Timestamp::from_ms(1_800_000_000_000);

    fn tick(sessions: u64, hours: u32) -> Tick {
        Tick { sessions, at: START.plus(Hours(hours)) }
    }

    #[test]
    fn a_ttl_ends_when_it_is_full_and_a_decay_after_it() {
        let (made, touched) = (tick(10, 0), tick(14, 7));
        let over = |term: &str, now: Tick| -> bool {
            term.parse::<Term>().expect("a term").is_over(made, touched, now)
        };
        // n - 1, n, n + 1 after the creation.
        let ttl = |term: &str, at: [Tick; 3]| assert_eq!(at.map(|now| over(term, now)), [false, true, true]);
        ttl("ttl 12 sessions", [tick(21, 0), tick(22, 0), tick(23, 0)]);
        ttl("ttl 72 hours", [tick(10, 71), tick(10, 72), tick(10, 73)]);
        // n - 1, n, n + 1 after the last touch.
        let decay =
            |term: &str, at: [Tick; 3]| assert_eq!(at.map(|now| over(term, now)), [false, false, true]);
        decay("decay 12 sessions", [tick(25, 0), tick(26, 0), tick(27, 0)]);
        decay("decay 72 hours", [tick(14, 78), tick(14, 79), tick(14, 80)]);
        assert!(!over("never", tick(u64::MAX, 1_000_000)));
    }

    #[test]
    fn a_ttl_in_hours_is_full_at_its_last_millisecond() {
        let made = tick(0, 0);
        let end = START.plus(Hours(1));
        let at = |ms: i64| Tick { sessions: 0, at: Timestamp::from_ms(end.ms() + ms) };
        let (ttl, decay) = (Term::Ttl(Length::Hours(1)), Term::Decay(Length::Hours(1)));
        assert_eq!([-1, 0, 1].map(|ms| ttl.is_over(made, made, at(ms))), [false, true, true]);
        assert_eq!([-1, 0, 1].map(|ms| decay.is_over(made, made, at(ms))), [false, false, true]);
    }

    #[test]
    fn a_term_is_read_as_it_is_shown() {
        for text in ["never", "ttl 1 session", "ttl 40 sessions", "decay 1 hour", "decay 72 hours"] {
            assert_eq!(text.parse::<Term>().map(|term| term.to_string()).as_deref(), Ok(text));
        }
        for text in ["", "ttl", "ttl 0 hours", "decay -1 hours", "ttl 5 days", "keep 5 hours", "never ever"] {
            assert!(text.parse::<Term>().is_err(), "{text}");
        }
        assert!(format!("ttl {} hours", super::MAX_LENGTH + 1).parse::<Term>().is_err());
    }

    #[test]
    fn a_policy_without_a_type_that_may_be_written_is_closed() {
        let open = MemoryPolicy::default();
        assert_eq!(open.closed(), None);
        let none = MemoryPolicy { write_policy: WritePolicy::Nothing, ..open.clone() };
        assert_eq!(none.closed(), Some(Code::WritePolicyNone));
        let empty = MemoryPolicy { allow_event_types: [].into(), ..open.clone() };
        assert_eq!(empty.closed(), Some(Code::EventTypeDenied));
        let some = MemoryPolicy { allow_event_types: [MemoryEvent::Fact].into(), ..open.clone() };
        assert_eq!(some.closed(), None);
        let denied = MemoryPolicy { deny_event_types: [MemoryEvent::Fact].into(), ..some };
        assert_eq!(denied.closed(), Some(Code::EventTypeDenied));
    }

    #[test]
    fn a_record_names_what_changed_and_what_became_looser() {
        let open = MemoryPolicy::default();
        assert_eq!(open.changed_from(None), None);
        let tight = MemoryPolicy {
            write_policy: WritePolicy::Minimal,
            trust: TrustMode::HumanOnly,
            allow_event_types: [MemoryEvent::Fact].into(),
            retention: Retention::of([(MemoryEvent::Fact, Term::Ttl(Length::Sessions(3)))]),
            ..open.clone()
        };
        let record = tight.changed_from(None).expect("a change");
        assert_eq!((record.hash.clone(), record.was.clone()), (tight.hash(), open.hash()));
        assert_eq!(MemoryPolicy::recorded(&record.policy), tight);
        assert!(record.changes.iter().all(|change| !change.looser), "{record:?}");
        assert_eq!(tight.changed_from(Some(&record)), None);
        let back = open.changed_from(Some(&record)).expect("a change");
        let told = back.changes.iter().map(|change| (change.rule.as_str(), change.looser));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                ("write_policy", true),
                ("allow_event_types", true),
                ("trust", true),
                ("retention.semantic.fact", false)
            ]
        );
        // A text that is no policy is hostile, and counts as the default.
        assert_eq!(MemoryPolicy::recorded("{\"write_policy\": \"all\"}"), open);
    }

    #[test]
    fn each_change_of_the_policy_changes_its_hash() {
        let open = MemoryPolicy::default();
        let decay = Retention::of([(MemoryEvent::Context, Term::Decay(Length::Sessions(12)))]);
        let never = PromotionRules::of([(Border::UserToProject, Bar::Never)]).expect("a rule");
        let hashes = [
            open.hash(),
            MemoryPolicy { write_policy: WritePolicy::Normal, ..open.clone() }.hash(),
            MemoryPolicy { deny_event_types: [MemoryEvent::Fact].into(), ..open.clone() }.hash(),
            MemoryPolicy { trust: TrustMode::HumanOnly, ..open.clone() }.hash(),
            MemoryPolicy { retention: decay, ..open.clone() }.hash(),
            MemoryPolicy { spaces: SpaceRules { user_keys: Vec::new() }, ..open.clone() }.hash(),
            MemoryPolicy { promotion: never, ..open.clone() }.hash(),
            MemoryPolicy { phase: PhaseRules { by_plan: false }, ..open.clone() }.hash(),
        ];
        assert_eq!(hashes.iter().collect::<std::collections::BTreeSet<_>>().len(), hashes.len());
        // A term that is spelled out is no change.
        let never = Retention::of([(MemoryEvent::Context, Term::Never)]);
        assert_eq!(MemoryPolicy { retention: never, ..open.clone() }.hash(), open.hash());
    }
}
