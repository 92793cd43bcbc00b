//! The vocabulary of claims: type, status, position, relation and so on, with limits.

use serde::{Deserialize, Serialize};

use crate::domain::scope::Scope;
use crate::domain::text::{CommandLine, ErrorSignature};
use crate::domain::time::Hours;

/// Hours after which a hypothesis expires unless it sets its own time: one week.
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
        /// A statement held to be true.
        Fact = "fact",
        /// A choice of the team.
        Decision = "decision",
        /// A belief without proof yet.
        Hypothesis = "hypothesis",
        /// A failed approach: a dead end.
        Negative = "negative",
    }
);

word!(
    /// The stage of a claim's life.
    Status("status") {
        /// Created; no other agent has supported it yet.
        Proposed = "proposed",
        /// The quorum supports it, and no agent challenges it.
        Confirmed = "confirmed",
        /// An agent challenges it.
        Contested = "contested",
        /// A blocking experiment is in progress.
        PendingProof = "pending_proof",
        /// Permanently out of force.
        Deprecated = "deprecated",
    }
);

word!(
    /// How much of the past a search includes.
    SearchMode("search mode") {
        /// Claims in force.
        Strict = "strict",
        /// Claims in force, and those deprecated without a successor, marked.
        Balanced = "balanced",
        /// All claims: superseded ones beside their successors.
        Audit = "audit",
    }
);

word!(
    /// An agent's position on a claim; the latest one counts.
    Position("position") {
        /// The agent holds the claim to be right.
        Support = "support",
        /// The agent holds the claim to be wrong, and gives a reason.
        Challenge = "challenge",
        /// The agent takes no side any more.
        Abstain = "abstain",
    }
);

word!(
    /// The relation of an event to a claim.
    Relation("relation") {
        /// It speaks for the claim.
        Supports = "supports",
        /// It speaks against the claim.
        Contradicts = "contradicts",
        /// The claim came from it.
        CausedBy = "caused_by",
        /// It concerns the claim, and speaks neither for nor against it.
        Mentions = "mentions",
    }
);

word!(
    /// The reason why a claim is confirmed.
    Basis("basis") {
        /// Only the positions of agents.
        Agreed = "agreed",
        /// No objection before the deadline. This is weaker than a support.
        Silence = "agreed by silence",
        /// A run whose prediction was recorded before its start.
        Proved = "proved",
        /// A run of an old release without a recorded prediction: its caller may have chosen the meaning of the
        /// outcome.
        Unchecked = "proof (unchecked)",
    }
);

word!(
    /// How the evidence of a claim came about, from the weakest to the strongest.
    Grade("evidence grade") {
        /// An agent says so.
        Asserted = "asserted",
        /// A hook captured it, or the claim's owner ran it.
        Observed = "observed",
        /// A run by another agent agrees.
        Reproduced = "reproduced",
    }
);

word!(
    /// The way in which two sides contradict each other.
    ContradictionKind("kind of contradiction") {
        /// An agent owns or supports a claim that another agent challenges.
        Position = "position",
        /// One text negates the other, or supports an approach that the other reports as failed.
        Polarity = "polarity",
        /// The texts are equal except for a value or an antonym in one place.
        Value = "value",
        /// Two decisions in force have the same target.
        Target = "target",
        /// An agent linked them.
        Explicit = "explicit",
        /// An agent still supports a claim that another agent's claim superseded.
        Supersession = "supersession",
    }
);

word!(
    /// How certain the rules are of a contradiction.
    Tier("tier") {
        /// Announced in receipts and to the architect.
        Strong = "strong",
        /// Stored, and shown on request only.
        Weak = "weak",
    }
);

word!(
    /// The reason why a contradiction ended.
    Resolution("resolution") {
        /// One side was deprecated.
        Deprecated = "deprecated",
        /// One side was superseded.
        Superseded = "superseded",
        /// One side expired.
        Expired = "expired",
        /// An agent changed its position.
        PositionChanged = "position_changed",
        /// A run answered the challenge.
        Proven = "proven",
        /// The evidence that linked the two was retracted.
        Retracted = "retracted",
        /// The two targets are not names of one target any more.
        Parted = "parted",
    }
);

word!(
    /// A change to a claim of the operator's that only the operator may make.
    Override("override") {
        /// Put the claim out of force.
        Deprecate = "deprecate",
        /// Replace it with another claim.
        Supersede = "supersede",
        /// Replace it with a decision.
        Decide = "decide",
        /// Contest it.
        Challenge = "challenge",
    }
);

word!(
    /// The kind of a report by an agent. Reports are evidence of grade `asserted`.
    ReportKind("report kind") {
        /// The agent learned something.
        Finding = "finding",
        /// Something blocks the work.
        Blocker = "blocker",
        /// A choice was made.
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
    /// The result of a decision.
    Outcome("outcome") {
        /// It reached its goal.
        Success = "success",
        /// It reached a part of its goal.
        Partial = "partial",
        /// It missed its goal.
        Failure = "failure",
        /// The result is not known yet.
        Unknown = "unknown",
    }
);

/// A number outside 0..=1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{0} is outside 0 to 1")]
pub struct BadShare(f64);

/// A share from 0 to 1: confidence in a claim, or weight of evidence. The default is 1.0.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share(f64);

impl Share {
    /// The whole: 1.0.
    pub const FULL: Self = Self(1.0);

    /// The value, 0 to 1.
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
        // -0.0 and 0.0 are equal and hash differently, so -0.0 becomes 0.0. NaN is in no range.
        if (0.0..=1.0).contains(&number) { Ok(Self(number + 0.0)) } else { Err(BadShare(number)) }
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        share.0
    }
}

/// When a dead end warns: one matching field is enough.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// Paths that the action changes; a directory includes everything below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Scope>,
    /// Commands that the action runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandLine>,
    /// Symbols that the action uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<CommandLine>,
    /// The error that the action ends with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_signature: Option<ErrorSignature>,
}

impl Trigger {
    /// The most entries in each list; the same limit as for the scopes of a claim.
    pub const MAX_ENTRIES: usize = 16;

    /// Whether no field is set.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
            && self.commands.is_empty()
            && self.symbols.is_empty()
            && self.error_signature.is_none()
    }
}

/// Prints the fields in matching order: commands, errors, symbols, paths.
impl std::fmt::Display for Trigger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { paths, commands, symbols, error_signature } = self;
        let all = commands.iter().map(CommandLine::as_str);
        let all = all.chain(error_signature.iter().map(ErrorSignature::as_str));
        let all = all.chain(symbols.iter().map(CommandLine::as_str)).chain(paths.iter().map(Scope::as_str));
        f.write_str(&all.collect::<Vec<_>>().join("; "))
    }
}
