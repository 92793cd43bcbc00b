//! Which of two items about the same thing holds.

use std::cmp::Ordering;

use super::{Authority, MemoryEvent};
use crate::domain::claim::word;
use crate::domain::time::Timestamp;

word!(
    /// The rule that settled a conflict.
    ConflictRule("conflict rule") {
        /// The winner's author counts for more.
        Authority = "authority",
        /// The winner corrects.
        Correction = "correction",
        /// The winner is newer.
        Recency = "recency",
        /// The winner is more important.
        Importance = "importance",
        /// All else is equal, and the winner stands later in the ledger.
        Seq = "seq",
    }
);

/// An item in a conflict, as far as the rules look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contender {
    /// The authority.
    pub authority: Authority,
    /// The event type.
    pub event: MemoryEvent,
    /// When it was said.
    pub at: Timestamp,
    /// The importance.
    pub importance: u8,
    /// Ledger position of its creation. No two items have the same.
    pub seq: u64,
}

/// The rank of an item by its author, from the lowest.
///
/// A correction by a user or a higher authority overrides every higher authority. So all such corrections share the
/// highest rank, and among them the newest holds. Comparing their authorities as well would let an old correction
/// undo a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Of(Authority),
    Corrects,
}

impl Contender {
    const fn is_correction(&self) -> bool {
        matches!(self.event, MemoryEvent::Correction)
    }

    fn rank(&self) -> Rank {
        if self.is_correction() && self.authority >= Authority::UserAsserted {
            Rank::Corrects
        } else {
            Rank::Of(self.authority)
        }
    }

    /// Compares two items, the one that holds last, and names the rule. One key after the other decides, so the order
    /// is total.
    fn compared(&self, other: &Self) -> (Ordering, ConflictRule) {
        let ranks = self.rank().cmp(&other.rank());
        // A correction may win over a lower authority too, and then its authority is enough.
        let is_by_authority = ranks == self.authority.cmp(&other.authority);
        let by_rank = if is_by_authority { ConflictRule::Authority } else { ConflictRule::Correction };
        let keys = [
            (ranks, by_rank),
            (self.is_correction().cmp(&other.is_correction()), ConflictRule::Correction),
            (self.at.cmp(&other.at), ConflictRule::Recency),
            (self.importance.cmp(&other.importance), ConflictRule::Importance),
        ];
        let decides = keys.into_iter().find(|(order, _)| order.is_ne());
        decides.unwrap_or_else(|| (self.seq.cmp(&other.seq), ConflictRule::Seq))
    }
}

/// The item that holds, and the rule that says so. The order of the arguments does not matter.
pub fn resolve<'a>(one: &'a Contender, other: &'a Contender) -> (&'a Contender, ConflictRule) {
    let (order, rule) = one.compared(other);
    (if order.is_lt() { other } else { one }, rule)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::{Authority, ConflictRule, Contender, MemoryEvent, resolve};
    use crate::domain::time::Timestamp;

    /// Items of few values, so that each rule has to decide.
    fn items() -> impl Strategy<Value = Vec<Contender>> {
        let (authority, event) =
            (prop::sample::select(Authority::ALL), prop::sample::select(MemoryEvent::ALL));
        let one = (authority, event, 0..3_i64, 1..4_u8);
        prop::collection::vec(one, 3..9).prop_map(|found| {
            let item = |(seq, (authority, event, at, importance)): (usize, _)| Contender {
                authority,
                event,
                at: Timestamp::from_ms(at),
                importance,
                seq: seq as u64,
            };
            found.into_iter().enumerate().map(item).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn conflict_resolution_is_a_total_order(items in items()) {
            let beats = |one: &Contender, other: &Contender| resolve(one, other).0 == one;
            for one in &items {
                for other in items.iter().filter(|other| *other != one) {
                    prop_assert_eq!(resolve(one, other), resolve(other, one));
                    prop_assert!(beats(one, other) != beats(other, one));
                    for third in items.iter().filter(|third| *third != one && *third != other) {
                        prop_assert!(
                            !(beats(one, other) && beats(other, third)) || beats(one, third),
                            "{one:?} {other:?} {third:?}"
                        );
                    }
                }
            }
            // So every order of the conflicts leaves the same item.
            let last = |found: Vec<&Contender>| {
                found.into_iter().copied().reduce(|one, other| *resolve(&one, &other).0)
            };
            prop_assert_eq!(last(items.iter().collect()), last(items.iter().rev().collect()));
        }

        #[test]
        fn the_rules_decide_in_their_order(items in items()) {
            for one in &items {
                for other in items.iter().filter(|other| *other != one) {
                    let (winner, rule) = resolve(one, other);
                    let loser = if winner == one { other } else { one };
                    let is_correction = |item: &Contender| item.event == MemoryEvent::Correction;
                    let overrides =
                        |item: &Contender| is_correction(item) && item.authority >= Authority::UserAsserted;
                    // The sentence of the specification: a correction of a user overrides higher authority.
                    if overrides(one) && !overrides(other) {
                        prop_assert_eq!(winner, one);
                    }
                    if !overrides(one) && !overrides(other) && one.authority != other.authority {
                        prop_assert!(winner.authority > loser.authority);
                        prop_assert_eq!(rule, ConflictRule::Authority);
                    }
                    match rule {
                        ConflictRule::Authority => prop_assert!(winner.authority > loser.authority),
                        ConflictRule::Correction => {
                            prop_assert!(is_correction(winner) && !is_correction(loser));
                            prop_assert!(winner.authority <= loser.authority);
                        }
                        ConflictRule::Recency => prop_assert!(winner.at > loser.at),
                        ConflictRule::Importance => {
                            prop_assert!(winner.at == loser.at && winner.importance > loser.importance);
                        }
                        ConflictRule::Seq => {
                            prop_assert!(winner.at == loser.at && winner.importance == loser.importance);
                            prop_assert!(winner.seq > loser.seq);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn corrections_of_users_override_and_the_newest_of_them_holds() {
        use Authority::{AiInferred, SystemImposed, ToolVerified, UserAsserted};
        use MemoryEvent::{Correction, Fact};
        let item = |seq: u64, authority, event| {
            let at = Timestamp::from_ms(i64::try_from(seq).expect("small"));
            Contender { authority, event, at, importance: 4, seq }
        };
        let check = |(one, its): (Authority, MemoryEvent), (other, its_other): (Authority, MemoryEvent)| {
            let (one, other) = (item(1, one, its), item(2, other, its_other));
            let (winner, rule) = resolve(&one, &other);
            let name = |item: &Contender| format!("{} {}", item.authority, item.event);
            let age = if *winner == one { "older" } else { "newer" };
            format!("{} then {}: the {age} one, by {rule}", name(&one), name(&other))
        };
        let lines = [
            check((ToolVerified, Fact), (AiInferred, Fact)),
            check((ToolVerified, Fact), (AiInferred, Correction)),
            check((SystemImposed, Fact), (UserAsserted, Correction)),
            check((UserAsserted, Correction), (SystemImposed, Fact)),
            check((UserAsserted, Correction), (AiInferred, Fact)),
            check((UserAsserted, Correction), (ToolVerified, Correction)),
            check((ToolVerified, Correction), (UserAsserted, Correction)),
            check((AiInferred, Correction), (AiInferred, Fact)),
            check((AiInferred, Fact), (AiInferred, Fact)),
        ];
        expect![[r#"
            tool_verified fact then ai_inferred fact: the older one, by authority
            tool_verified fact then ai_inferred correction: the older one, by authority
            system_imposed fact then user_asserted correction: the newer one, by correction
            user_asserted correction then system_imposed fact: the older one, by correction
            user_asserted correction then ai_inferred fact: the older one, by authority
            user_asserted correction then tool_verified correction: the newer one, by recency
            tool_verified correction then user_asserted correction: the newer one, by recency
            ai_inferred correction then ai_inferred fact: the older one, by correction
            ai_inferred fact then ai_inferred fact: the newer one, by recency"#]]
        .assert_eq(&lines.join("\n"));
    }
}
