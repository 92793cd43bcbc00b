//! The words a claim is described in: type, status, position, relation, and their bounds.

use serde::{Deserialize, Serialize};

use crate::domain::scope::Scope;
use crate::domain::text::{CommandLine, ErrorSignature};
use crate::domain::time::Hours;

/// Hours after which a hypothesis expires unless it says otherwise: one week.
pub const HYPOTHESIS_TTL: Hours = Hours(168);

macro_rules! word {
    ($(#[$doc:meta])* $name:ident ($noun:literal) { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// Every value, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as stored and shown.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::domain::claim::BadWord;

            fn from_str(text: &str) -> Result<Self, $crate::domain::claim::BadWord> {
                match text.trim().to_ascii_lowercase().as_str() {
                    $($text => Ok(Self::$variant),)+
                    _ => Err($crate::domain::claim::BadWord {
                        noun: $noun,
                        given: text.chars().take(40).collect(),
                        allowed: [$($text),+].join(", "),
                    }),
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::domain::claim::BadWord;

            fn try_from(text: String) -> Result<Self, $crate::domain::claim::BadWord> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> Self {
                word.as_str().to_owned()
            }
        }
    };
}

pub(crate) use word;

/// A word outside its vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no {noun}: use one of {allowed}")]
pub struct BadWord {
    pub(crate) noun: &'static str,
    pub(crate) given: String,
    pub(crate) allowed: String,
}

word!(
    /// What kind of statement a claim is.
    ClaimType("claim type") {
        /// Something held to be true.
        Fact = "fact",
        /// Something the team chose.
        Decision = "decision",
        /// Something believed, not yet shown.
        Hypothesis = "hypothesis",
        /// An approach that failed: a dead end.
        Negative = "negative",
    }
);

word!(
    /// Where a claim is in its life.
    Status("status") {
        /// Created; nobody else has spoken for it.
        Proposed = "proposed",
        /// The quorum supports it and nobody challenges it.
        Confirmed = "confirmed",
        /// Somebody challenges it.
        Contested = "contested",
        /// A blocking experiment is under way.
        PendingProof = "pending_proof",
        /// Out of force, for good.
        Deprecated = "deprecated",
    }
);

word!(
    /// How much of the past a search looks at.
    SearchMode("search mode") {
        /// What is in force.
        Strict = "strict",
        /// What is in force, and what was deprecated without a successor, marked.
        Balanced = "balanced",
        /// Everything: superseded claims beside what took their place.
        Audit = "audit",
    }
);

word!(
    /// What one agent thinks of one claim; the latest wins.
    Position("position") {
        /// Holds it to be right.
        Support = "support",
        /// Holds it to be wrong, and says why.
        Challenge = "challenge",
        /// Withdraws from the question.
        Abstain = "abstain",
    }
);

word!(
    /// What an event says about a claim.
    Relation("relation") {
        /// Speaks for it.
        Supports = "supports",
        /// Speaks against it.
        Contradicts = "contradicts",
        /// Is where it came from.
        CausedBy = "caused_by",
        /// Has to do with it, and speaks neither for nor against it.
        Mentions = "mentions",
    }
);

word!(
    /// What made a claim confirmed.
    Basis("basis") {
        /// The positions of agents alone.
        Agreed = "agreed",
        /// No objection until its deadline: weaker than a support.
        Silence = "agreed by silence",
        /// A run whose prediction was on record before it started.
        Proved = "proved",
        /// A run of a release that recorded no prediction: its caller may have chosen what it said.
        Unchecked = "proof (unchecked)",
    }
);

word!(
    /// How a claim's evidence came about, from the least to the most that it shows.
    Grade("evidence grade") {
        /// Somebody says so.
        Asserted = "asserted",
        /// A hook captured it, or the claim's owner ran it.
        Observed = "observed",
        /// A run by somebody else agrees.
        Reproduced = "reproduced",
    }
);

word!(
    /// How two sides contradict each other.
    ContradictionKind("kind of contradiction") {
        /// One agent owns or supports what another challenges.
        Position = "position",
        /// One text negates the other, or one revives what the other reports as failed.
        Polarity = "polarity",
        /// The same text with another value or an antonym in one place.
        Value = "value",
        /// Two decisions in force on one target.
        Target = "target",
        /// An agent linked them.
        Explicit = "explicit",
        /// One agent still supports a claim that another's claim superseded.
        Supersession = "supersession",
    }
);

word!(
    /// How sure the rules are of a contradiction.
    Tier("tier") {
        /// Announced: in receipts and to the architect.
        Strong = "strong",
        /// Kept for who asks.
        Weak = "weak",
    }
);

word!(
    /// What ended a contradiction.
    Resolution("resolution") {
        /// One side was deprecated.
        Deprecated = "deprecated",
        /// One side was superseded.
        Superseded = "superseded",
        /// One side's time was over.
        Expired = "expired",
        /// An agent changed its position.
        PositionChanged = "position_changed",
        /// A run answered the challenge.
        Proven = "proven",
        /// The evidence that linked the two was taken back.
        Retracted = "retracted",
        /// The two targets were one name's no longer.
        Parted = "parted",
    }
);

word!(
    /// What an agent asks for that only the operator may do to a claim that the operator stands by.
    Override("override") {
        /// To put it out of force.
        Deprecate = "deprecate",
        /// To put a claim in its place.
        Supersede = "supersede",
        /// To put a decision in its place.
        Decide = "decide",
        /// To contest it.
        Challenge = "challenge",
    }
);

word!(
    /// What an agent reports by hand; usable as evidence of grade `asserted`.
    ReportKind("report kind") {
        /// Something learned.
        Finding = "finding",
        /// Something in the way.
        Blocker = "blocker",
        /// Something chosen.
        Decision = "decision",
        /// Files were changed.
        FileEdited = "file_edited",
        /// A command was run.
        CommandRan = "command_ran",
        /// Anything else.
        Note = "note",
    }
);

word!(
    /// What became of a decision.
    Outcome("outcome") {
        /// It did what it was for.
        Success = "success",
        /// It did some of it.
        Partial = "partial",
        /// It did not.
        Failure = "failure",
        /// Nobody can tell yet.
        Unknown = "unknown",
    }
);

/// A number outside 0..=1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{0} is outside 0 to 1")]
pub struct BadShare(f64);

/// A share from 0 to 1: confidence in a claim, or the weight of evidence. 1.0 by default.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share(f64);

impl Share {
    /// All of it.
    pub const FULL: Self = Self(1.0);

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Default for Share {
    fn default() -> Self {
        Self::FULL
    }
}

impl TryFrom<f64> for Share {
    type Error = BadShare;

    fn try_from(number: f64) -> Result<Self, BadShare> {
        // -0.0 and 0.0 hash differently and mean the same; NaN is in no range.
        if (0.0..=1.0).contains(&number) { Ok(Self(number + 0.0)) } else { Err(BadShare(number)) }
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        share.0
    }
}

/// When a dead end should warn: any field that matches an action about to be taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// Paths or directories that are touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Scope>,
    /// Command lines that are run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandLine>,
    /// Symbols that are used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<CommandLine>,
    /// The error that shows up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_signature: Option<ErrorSignature>,
}

impl Trigger {
    /// The most entries in each list; the same bound as a claim's scopes.
    pub const MAX_ENTRIES: usize = 16;

    /// Whether no field is set.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
            && self.commands.is_empty()
            && self.symbols.is_empty()
            && self.error_signature.is_none()
    }
}

/// What it warns of, in the order in which an action meets it: commands, errors, symbols, paths.
impl std::fmt::Display for Trigger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { paths, commands, symbols, error_signature } = self;
        let all = commands.iter().map(CommandLine::as_str);
        let all = all.chain(error_signature.iter().map(ErrorSignature::as_str));
        let all = all.chain(symbols.iter().map(CommandLine::as_str)).chain(paths.iter().map(Scope::as_str));
        f.write_str(&all.collect::<Vec<_>>().join("; "))
    }
}
