//! What answers a question besides the words of statements: what a claim turned out to be ("bug", "rejected", "review"),
//! and where no statement holds a word of the question, what was said about claims.

use std::collections::BTreeSet;

use super::claims::ClaimFilter;
use super::{Reader, Search, StoreError};
use crate::domain::claim::ClaimType;
use crate::domain::ids::ClaimId;
use crate::domain::nature::Nature;
use crate::domain::tokens::tokens;

/// Claims that are looked at for each of them, the newest.
const LOOKED_AT: usize = 100;
/// Words of a question that are looked for in what was said about claims.
const WORDS: usize = 8;

/// A bug is a dead end, whether it is mended or not, and any claim whose successor mends what it is about.
const MENDED: &str =
    "SELECT id FROM claims WHERE superseded_by IS NOT NULL AND mended ORDER BY created_seq DESC LIMIT ?1";
const REJECTED: &str = "SELECT alternative_id FROM decision_alternatives GROUP BY alternative_id ORDER BY max(seq) DESC LIMIT ?1";
const CHALLENGED: &str = "SELECT claim_id FROM (SELECT claim_id, seq FROM consensus WHERE position = 'challenge' \
     UNION ALL SELECT claim_id, seq FROM former_positions WHERE position = 'challenge') \
     GROUP BY claim_id ORDER BY max(seq) DESC LIMIT ?1";
/// What was said about claims, and is not their statement.
const REMARKS: &str = "SELECT DISTINCT claim_id FROM (\
     SELECT claim_id, reason AS said FROM consensus UNION ALL \
     SELECT claim_id, reason FROM former_positions UNION ALL \
     SELECT claim_id, note FROM claim_evidence UNION ALL \
     SELECT claim_id, rationale || ' ' || coalesce(context, '') FROM decisions UNION ALL \
     SELECT alternative_id, rejection_reason FROM decision_alternatives UNION ALL \
     SELECT decision_id, notes FROM decision_outcomes UNION ALL \
     SELECT claim_id, reason FROM claim_moves)";

impl Search {
    fn raw_words(&self) -> impl Iterator<Item = &str> {
        self.query.split(|c: char| !c.is_alphanumeric())
    }

    /// What the question asks for by the words of [`Nature`].
    pub(super) fn natures(&self) -> BTreeSet<Nature> {
        self.raw_words().filter_map(Nature::named).collect()
    }

    /// The words of the question as they stand in a text that is not cut into tokens.
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
    /// Where claims were made that answer a question besides those whose statements do.
    pub(super) fn beside(&self, search: &Search, is_answered: bool) -> Result<BTreeSet<u64>, StoreError> {
        let mut found = BTreeSet::new();
        for nature in search.natures() {
            let ids = match nature {
                Nature::Bug => {
                    let negative = Some(ClaimType::Negative);
                    if search.filter.claim_type.is_none() || search.filter.claim_type == negative {
                        let filter =
                            ClaimFilter { claim_type: negative, ..Self::whatever_became_of_it(search) };
                        found.extend(self.claims(&filter)?.claims.iter().map(|claim| claim.created_seq));
                    }
                    MENDED
                }
                Nature::Rejected => REJECTED,
                Nature::Challenged => CHALLENGED,
            };
            self.those(ids, (LOOKED_AT as i64,), search, &mut found)?;
        }
        let words = search.spelled();
        if !is_answered && !words.is_empty() {
            let holds = |text: &str| -> String {
                let each: Vec<String> =
                    (0..words.len()).map(|at| format!("instr(lower({text}), ?{}) > 0", at + 1)).collect();
                each.join(" AND ")
            };
            let remarks = format!("{REMARKS} WHERE {} LIMIT {LOOKED_AT}", holds("said"));
            self.those(&remarks, rusqlite::params_from_iter(&words), search, &mut found)?;
            let tasks = format!(
                "SELECT id FROM tasks WHERE {} ORDER BY created_seq DESC LIMIT {LOOKED_AT}",
                holds("title")
            );
            let mut tasks = self.db.prepare_cached(&tasks)?;
            let tasks = self
                .kept_of(tasks.query(rusqlite::params_from_iter(&words))?, |row| row.get::<_, String>(0))?;
            for task in tasks.iter().filter_map(|id| id.parse().ok()) {
                if search.filter.task.is_none_or(|asked| asked == task) {
                    let filter = ClaimFilter { task: Some(task), ..Self::whatever_became_of_it(search) };
                    found.extend(self.claims(&filter)?.claims.iter().map(|claim| claim.created_seq));
                }
            }
        }
        Ok(found)
    }

    /// The filter of a search for claims that may lead to one that is shown.
    fn whatever_became_of_it(search: &Search) -> ClaimFilter {
        let filter = search.filter.clone();
        ClaimFilter { status: Vec::new(), in_force: false, before: None, limit: LOOKED_AT, ..filter }
    }

    /// Adds where the claims of a query were made, as far as they pass the filter of the search.
    fn those(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        search: &Search,
        found: &mut BTreeSet<u64>,
    ) -> Result<(), StoreError> {
        let mut statement = self.db.prepare_cached(sql)?;
        let ids = self.kept_of(statement.query(values)?, |row| row.get::<_, String>(0))?;
        for id in ids.iter().filter_map(|id| id.parse::<ClaimId>().ok()) {
            if search.filter.id.is_none_or(|only| only == id) {
                let filter = ClaimFilter { id: Some(id), ..Self::whatever_became_of_it(search) };
                found.extend(self.claims(&filter)?.claims.iter().map(|claim| claim.created_seq));
            }
        }
        Ok(())
    }
}
