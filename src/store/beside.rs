//! Hits beyond the words of statements: by the fate of a claim ("bug", "rejected", "review"), and, if no statement
//! contains a word of the query, by other texts about claims.

use std::collections::BTreeSet;

use rusqlite::{ToSql, params_from_iter};

use super::claims::{ClaimFilter, ClaimSummary};
use super::rows::only;
use super::{Reader, Search, StoreError};
use crate::domain::claim::{ClaimType, Status};
use crate::domain::nature::Nature;
use crate::domain::tokens::tokens;

/// Maximum number of claims to look at: the newest that pass the filter.
const LOOKED_AT: usize = 300;
/// Maximum number of words of a query to look up in other texts about claims.
const WORDS: usize = 8;

const CHALLENGED: &str = "SELECT EXISTS (SELECT 1 FROM consensus WHERE claim_id = ?1 AND position = 'challenge') \
     OR EXISTS (SELECT 1 FROM former_positions WHERE claim_id = ?1 AND position = 'challenge')";
/// The texts about claims besides statements: the table, the column of the claim, and the column of the text.
const SAID: [(&str, &str, &str); 7] = [
    ("consensus", "claim_id", "reason"),
    ("former_positions", "claim_id", "reason"),
    ("claim_evidence", "claim_id", "note"),
    ("claim_moves", "claim_id", "reason"),
    ("decisions", "claim_id", "rationale || ' ' || coalesce(context, '')"),
    ("decision_alternatives", "decision_id", "rejection_reason"),
    ("decision_outcomes", "decision_id", "notes"),
];

impl Search {
    fn raw_words(&self) -> impl Iterator<Item = &str> {
        self.query.split(|c: char| !c.is_alphanumeric())
    }

    /// The fates that the query names, by the words of [`Nature`].
    pub(super) fn natures(&self) -> BTreeSet<Nature> {
        self.raw_words().filter_map(Nature::named).collect()
    }

    /// The words of the query, as they occur in a text that is not tokenised.
    fn spelled(&self) -> Vec<String> {
        let spelled = |word: &str| {
            let word = word.to_lowercase();
            let mut tokens = tokens(&word);
            let stem = tokens.pop()?;
            Some(if tokens.is_empty() && word.starts_with(&stem) { stem } else { word })
        };
        self.raw_words().filter_map(spelled).take(WORDS).collect()
    }
}

impl Reader {
    /// The ledger positions of the claims that are hits beyond the words of statements.
    pub(super) fn beside(&self, search: &Search, is_answered: bool) -> Result<BTreeSet<u64>, StoreError> {
        let mut found = BTreeSet::new();
        for nature in search.natures() {
            match nature {
                Nature::Bug => {
                    let negative = Some(ClaimType::Negative);
                    if search.filter.claim_type.is_none_or(|asked| Some(asked) == negative) {
                        let bugs = self.newest(search, |filter| filter.claim_type = negative)?;
                        found.extend(bugs.iter().map(|claim| claim.created_seq));
                    }
                    let ended = self.newest(search, |filter| filter.status = vec![Status::Deprecated])?;
                    found.extend(ended.iter().filter(|claim| claim.mended).map(|claim| claim.created_seq));
                }
                Nature::Rejected => {
                    let ended = self.newest(search, |filter| filter.status = vec![Status::Deprecated])?;
                    found.extend(ended.iter().filter(|claim| claim.rejected).map(|claim| claim.created_seq));
                }
                Nature::Challenged => {
                    let mut challenged = self.db.prepare_cached(CHALLENGED)?;
                    for claim in self.newest(search, |_| ())? {
                        if challenged.query_row([&claim.id], only)? {
                            found.insert(claim.created_seq);
                        }
                    }
                }
            }
        }
        let words = search.spelled();
        if !is_answered && !words.is_empty() {
            let mut says = self.db.prepare_cached(&says(words.len()))?;
            for claim in self.newest(search, |_| ())? {
                let about: [&dyn ToSql; 2] = [&claim.id, &claim.origin_task_id];
                let values = about.into_iter().chain(words.iter().map(|word| word as &dyn ToSql));
                if says.query_row(params_from_iter(values), only)? {
                    found.insert(claim.created_seq);
                }
            }
        }
        Ok(found)
    }

    /// The newest claims that pass the filter of a search, superseded ones included: each may lead to a claim in
    /// force.
    fn newest(
        &self,
        search: &Search,
        narrow: impl FnOnce(&mut ClaimFilter),
    ) -> Result<Vec<ClaimSummary>, StoreError> {
        let filter = search.filter.clone();
        let mut filter =
            ClaimFilter { status: Vec::new(), in_force: false, before: None, limit: LOOKED_AT, ..filter };
        narrow(&mut filter);
        Ok(self.claims(&filter)?.claims)
    }
}

/// Whether one text about a claim (?1) of a task (?2) contains all words. The texts are found by their claim.
fn says(words: usize) -> String {
    let holds = |text: &str| {
        let each: Vec<String> =
            (0..words).map(|at| format!("instr(lower({text}), ?{}) > 0", at + 3)).collect();
        each.join(" AND ")
    };
    let mut any: Vec<String> = SAID
        .iter()
        .map(|(table, claim, text)| {
            format!("EXISTS (SELECT 1 FROM {table} WHERE {claim} = ?1 AND {})", holds(text))
        })
        .collect();
    any.push(format!("EXISTS (SELECT 1 FROM tasks WHERE id = ?2 AND {})", holds("title")));
    format!("SELECT {}", any.join(" OR "))
}
