//! Recalls: the items that a context brought to a session.

use serde::{Deserialize, Serialize};

use crate::domain::claim::word;
use crate::domain::relevance::Parts;

/// The most items of one recall. A context of the usual length shows fewer.
pub const MAX_RECALLED: usize = 100;

word!(
    /// Why a context shows an item.
    RecallReason("recall reason") {
        /// It answers what the session is about, or lies where the session works.
        MatchesQuery = "matches_query",
        /// It was touched within the last day.
        Recency = "recency",
        /// It stands by itself: it is kept under a key, or nothing else speaks for it.
        Importance = "importance",
        /// It is a decision in force where the session works.
        ActiveRule = "active_rule",
    }
);

/// An item of a recall, without its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recalled {
    /// Ledger position of its creation.
    pub seq: u64,
    /// Its relevance for the session. None for items that are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Why the context shows it.
    pub because: Vec<RecallReason>,
}

impl Recalled {
    /// A claim with the parts of its relevance.
    pub fn claim(seq: u64, parts: Parts) -> Self {
        let is_asked = parts.search > 0.0 || parts.task > 0.0 || parts.files > 0.0;
        let reasons = [
            (RecallReason::MatchesQuery, is_asked),
            (RecallReason::Recency, parts.recent > 0.0),
            (RecallReason::ActiveRule, parts.decides > 0.0),
        ];
        let mut because: Vec<RecallReason> =
            reasons.into_iter().filter(|(_, holds)| *holds).map(|(reason, _)| reason).collect();
        if because.is_empty() {
            because.push(RecallReason::Importance);
        }
        Self { seq, score: Some(parts.total()), because }
    }

    /// An anchor.
    pub fn anchor(seq: u64) -> Self {
        Self { seq, score: None, because: vec![RecallReason::Importance] }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::Recalled;
    use crate::domain::relevance::Parts;
    use crate::domain::text::RecallQuery;

    #[test]
    fn each_part_of_the_relevance_is_a_reason() {
        let of = |parts: Parts| {
            let reasons = Recalled::claim(7, parts).because;
            reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let none = Parts::default();
        let table = [
            of(Parts { search: 0.2, ..none }),
            of(Parts { task: 0.2, ..none }),
            of(Parts { files: 0.2, recent: 0.1, ..none }),
            of(Parts { decides: 0.3, ..none }),
            of(Parts { search: 0.2, decides: 0.3, recent: 0.1, ..none }),
            of(Parts { confidence: 0.4, ..none }),
            of(none),
        ];
        expect![[r#"
            matches_query
            matches_query
            matches_query, recency
            active_rule
            matches_query, recency, active_rule
            importance
            importance"#]]
        .assert_eq(&table.join("\n"));
    }

    #[test]
    fn a_query_is_cut_and_on_one_line() {
        let long = "word ".repeat(100);
        let texts = [long.clone(), "two\nlines".to_owned(), "three".to_owned(), "not this one".to_owned()];
        let query = RecallQuery::of(&texts).expect("a query");
        assert_eq!(query.as_str(), format!("{}; two lines; three", &long[..80]));
        assert_eq!(RecallQuery::of(&[]), None);
    }
}
