//! The memory contract: claims, dialogue and anchors as items of three kinds, each with an importance, an authority and
//! a place.

pub mod id;
pub mod item;
pub mod key;
pub mod recall;
pub mod resolve;
pub mod trace;

use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, word};
use crate::domain::event::ClaimCreated;
use crate::domain::session::Role;

pub use id::{BadMemoryId, MemoryId, Owner};
pub use item::{MemoryItem, Meta};
pub use key::DedupKey;
pub use recall::{MAX_RECALLED, RecallReason, Recalled};
pub use resolve::{ConflictRule, Contender, resolve};
pub use trace::Trace;

word!(
    /// The kind of an item.
    MemoryKind("memory kind") {
        /// Messages of a session, and the summary of its older messages.
        ShortTerm = "short_term",
        /// Claims.
        Semantic = "semantic",
        /// Anchors: facts under a key.
        Profile = "profile",
    }
);

word!(
    /// What an item reports.
    MemoryEvent("event type") {
        /// How a person wants things to be.
        Preference = "preference",
        /// A choice.
        Decision = "decision",
        /// A statement held to be true.
        Fact = "fact",
        /// A statement that replaces a wrong one.
        Correction = "correction",
        /// What a program did.
        Execution = "execution",
        /// Anything that only helps to understand the rest.
        Context = "context",
    }
);

word!(
    /// The author of an item.
    Source("source of an item") {
        /// The operator, or the human of a dialogue.
        User = "user",
        /// An agent.
        Ai = "ai",
        /// A program that an agent or the operator runs.
        Tool = "tool",
        /// Hivemind itself.
        System = "system",
    }
);

word!(
    /// How much the word of an author counts, from the least to the most.
    Authority("authority") {
        /// An agent says so.
        AiInferred = "ai_inferred",
        /// The operator says so.
        UserAsserted = "user_asserted",
        /// An experiment showed it.
        ToolVerified = "tool_verified",
        /// The configuration says so.
        SystemImposed = "system_imposed",
    }
);

word!(
    /// Who an item belongs to, in the order in which spaces are read.
    Space("space") {
        /// One session.
        Session = "session",
        /// One person.
        User = "user",
        /// One repository: its whole team.
        Project = "project",
        /// Every project of the machine.
        System = "system",
    }
);

impl Source {
    /// The source of what an agent says.
    pub fn of(agent: &AgentId) -> Self {
        if *agent == AgentId::operator() {
            Self::User
        } else if *agent == AgentId::system() {
            Self::System
        } else {
            Self::Ai
        }
    }

    /// The source of a message of a dialogue.
    pub const fn of_role(role: Role) -> Self {
        match role {
            Role::User => Self::User,
            Role::Assistant => Self::Ai,
        }
    }
}

impl Authority {
    /// The authority of what an agent or the operator says.
    pub fn of_speaker(agent: &AgentId) -> Self {
        if *agent == AgentId::operator() { Self::UserAsserted } else { Self::AiInferred }
    }
}

impl MemoryEvent {
    /// The event type of a claim whose author gave none. The words of a statement play no part: by its words, "Actually
    /// that looks great" is a correction.
    pub const fn of_claim(claim_type: ClaimType, source: Source) -> Self {
        match (claim_type, source) {
            (ClaimType::Decision, Source::User | Source::Ai | Source::Tool | Source::System) => {
                Self::Decision
            }
            (ClaimType::Hypothesis, Source::User | Source::Ai | Source::Tool | Source::System) => {
                Self::Context
            }
            // A dead end is a fact too: it lasts as long, and is worth as much.
            (ClaimType::Fact | ClaimType::Negative, Source::User | Source::Ai | Source::System) => Self::Fact,
            (ClaimType::Fact | ClaimType::Negative, Source::Tool) => Self::Execution,
        }
    }

    /// The event type of a recorded claim: the word of its author, or else what its type says.
    pub fn of_created(created: &ClaimCreated, agent: &AgentId) -> Self {
        created.event_type.unwrap_or_else(|| Self::of_claim(created.claim_type, Source::of(agent)))
    }

    /// The event type of an item that is no claim, if its author gave none.
    pub const fn of_kind(kind: MemoryKind) -> Self {
        match kind {
            MemoryKind::ShortTerm => Self::Context,
            MemoryKind::Semantic | MemoryKind::Profile => Self::Fact,
        }
    }

    /// The importance of an item of this type, before its author and its purpose count.
    const fn points(self) -> u8 {
        match self {
            Self::Context => 1,
            Self::Execution => 2,
            Self::Preference | Self::Decision => 3,
            Self::Fact | Self::Correction => 4,
        }
    }
}

/// The importance of an item, and the rules that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Importance {
    /// The sum, 1 to 6.
    pub points: u8,
    /// The rules in the order in which they count, such as `event_type:fact:4` and `source:user:+1`.
    pub reasons: Vec<String>,
}

/// The importance of an item: the points of its event type, one more if the user is its source, and one more for a
/// correction.
pub fn importance(event: MemoryEvent, source: Source) -> Importance {
    let points = event.points();
    let mut importance = Importance { points, reasons: vec![format!("event_type:{event}:{points}")] };
    let more =
        [(source == Source::User, "source:user:+1"), (event == MemoryEvent::Correction, "correction:+1")];
    for (_, reason) in more.into_iter().filter(|(counts, _)| *counts) {
        importance.points += 1;
        importance.reasons.push(reason.to_owned());
    }
    importance
}

/// The ground on which an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground<'a> {
    /// The configuration sets it.
    Config,
    /// This run had the outcome that was predicted, and no later run speaks against it.
    Run(&'a str),
    /// The operator said it.
    Operator,
    /// The user of a session said it.
    Prompt,
    /// An agent said it.
    Agent(&'a str),
    /// It was put together from these messages of a dialogue.
    Dialogue,
    /// It was promoted from another space with this authority.
    Promoted(Authority),
}

impl Ground<'_> {
    /// The authority of an item on this ground.
    pub const fn authority(self) -> Authority {
        match self {
            Self::Config => Authority::SystemImposed,
            Self::Run(_) => Authority::ToolVerified,
            Self::Operator | Self::Prompt => Authority::UserAsserted,
            Self::Agent(_) | Self::Dialogue => Authority::AiInferred,
            Self::Promoted(authority) => authority,
        }
    }

    /// The reason for the authority, as a sentence without its period.
    pub fn reason(self) -> String {
        match self {
            Self::Config => "the configuration sets it".to_owned(),
            Self::Run(run) => format!("experiment {run} proved it"),
            Self::Operator => "the operator said it".to_owned(),
            Self::Prompt => "the user of the session said it".to_owned(),
            Self::Agent(agent) => format!("{agent} said it, and no experiment proved it"),
            Self::Dialogue => "it sums up messages of the dialogue".to_owned(),
            Self::Promoted(_) => "it had this authority when it was promoted".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{Ground, MemoryEvent, Source, importance};
    use crate::domain::claim::ClaimType;

    #[test]
    fn the_event_type_follows_from_claim_type_and_source() {
        let mut table = String::new();
        for claim_type in ClaimType::ALL {
            for source in Source::ALL {
                let event = MemoryEvent::of_claim(*claim_type, *source);
                table += &format!("{claim_type} of {source}: {event}\n");
            }
        }
        expect![[r#"
            fact of user: fact
            fact of ai: fact
            fact of tool: execution
            fact of system: fact
            decision of user: decision
            decision of ai: decision
            decision of tool: decision
            decision of system: decision
            hypothesis of user: context
            hypothesis of ai: context
            hypothesis of tool: context
            hypothesis of system: context
            negative of user: fact
            negative of ai: fact
            negative of tool: execution
            negative of system: fact
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn importance_is_the_sum_of_its_reasons() {
        let mut table = String::new();
        for event in MemoryEvent::ALL {
            for source in [Source::Ai, Source::User] {
                let found = importance(*event, source);
                table += &format!("{event} of {source}: {} = {}\n", found.points, found.reasons.join(", "));
            }
        }
        expect![[r#"
            preference of ai: 3 = event_type:preference:3
            preference of user: 4 = event_type:preference:3, source:user:+1
            decision of ai: 3 = event_type:decision:3
            decision of user: 4 = event_type:decision:3, source:user:+1
            fact of ai: 4 = event_type:fact:4
            fact of user: 5 = event_type:fact:4, source:user:+1
            correction of ai: 5 = event_type:correction:4, correction:+1
            correction of user: 6 = event_type:correction:4, source:user:+1, correction:+1
            execution of ai: 2 = event_type:execution:2
            execution of user: 3 = event_type:execution:2, source:user:+1
            context of ai: 1 = event_type:context:1
            context of user: 2 = event_type:context:1, source:user:+1
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn authority_grows_from_agents_to_the_configuration() {
        let grounds =
            [Ground::Dialogue, Ground::Agent("devops"), Ground::Operator, Ground::Run("R3"), Ground::Config];
        assert!(grounds.is_sorted_by_key(|ground| ground.authority()));
        let table: Vec<String> =
            grounds.iter().map(|ground| format!("{}: {}", ground.authority(), ground.reason())).collect();
        expect![[r#"
            ai_inferred: it sums up messages of the dialogue
            ai_inferred: devops said it, and no experiment proved it
            user_asserted: the operator said it
            tool_verified: experiment R3 proved it
            system_imposed: the configuration sets it"#]]
        .assert_eq(&table.join("\n"));
    }
}
