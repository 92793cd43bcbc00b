//! Compares two statements about the same thing: they contradict each other, are similar, or neither.
//!
//! The rules use word forms only and understand nothing. A finding is worth a look; statements without a finding
//! may still contradict each other.

mod classes;
mod quantity;
mod raw;
mod reading;
mod shape;
mod words;

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

pub use self::reading::Reading;

use self::reading::{Clause, Item, What};
use self::words::{FAILURE_STEMS, INCIDENT_STEMS, LIMIT_STEMS, REMEDY_STEMS, Role, TELLING_STEMS};
use crate::domain::antonyms::ANTONYMS;
use crate::domain::tokens::stemmer;

/// The share of common content (a Dice coefficient) from which two texts are near-identical.
const NEAR_IDENTICAL: f64 = 0.7;
/// The share of common content from which a negation is a weak finding.
const LOOSELY_ALIKE: f64 = 0.5;
/// The fewest common words that make a common subject.
const MIN_SHARED: usize = 2;
/// The most places in which two texts may differ for a weak finding. Texts with more differences are about
/// different things.
const MAX_WEAK_SLOTS: usize = 3;
/// The most other words that may differ for a strong finding, besides one pair of values: function words and
/// trailing ones.
const MAX_OTHER_WORDS: usize = 3;

/// The shortest word that a prefix `in` or `dis` may negate: `input` is not the opposite of `put`.
const MIN_DENIED: usize = 8;

/// The result of comparing two statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// Near-identical except for the opposition.
    Strong(Opposition),
    /// Somewhat alike and opposed: stored, never announced.
    Weak(Opposition),
    /// Nearly the same words, but each has something that the other lacks: a reader should compare them.
    Alike,
    /// Nearly the same: worth a link, never merged.
    Similar,
}

/// The reason why two statements are opposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opposition {
    /// One negates the other.
    Negation,
    /// Different values of the same kind in the same place.
    Value,
    /// A word and its antonym in the same place.
    Antonym,
}

/// Compares two statements about the same scope; `None` without a finding. Compares the whole texts first, then
/// their parts before any reason.
pub fn likeness(a: &Reading, b: &Reading) -> Option<Likeness> {
    stronger(compared(&a.whole, &b.whole), || compared(a.lead(), b.lead()))
}

/// Whether two statements say the same, and neither says more: they differ in words of little meaning alone. What a
/// negation denies is not known, so a statement with one says the same as no other.
pub fn is_paraphrase(a: &Reading, b: &Reading) -> bool {
    let is_light = |item: &Item| item.what == What::Word && item.roles.has(Role::Light);
    let differ_lightly = || {
        let pairing = Pairing::of(&a.whole, &b.whole);
        pairing.left().chain(pairing.right()).all(is_light)
    };
    // The likeness costs most, and few pairs come so far.
    !a.whole.is_negated
        && !b.whole.is_negated
        && differ_lightly()
        && likeness(a, b) == Some(Likeness::Similar)
}

/// Whether `other` supports the approach that `negative` reports as failed.
pub fn revives(negative: &Reading, other: &Reading) -> Option<Likeness> {
    stronger(revived(&negative.whole, &other.whole), || revived(negative.lead(), other.lead()))
}

fn stronger(whole: Option<Likeness>, lead: impl FnOnce() -> Option<Likeness>) -> Option<Likeness> {
    match whole {
        Some(Likeness::Strong(_)) => whole,
        Some(Likeness::Weak(_) | Likeness::Alike | Likeness::Similar) | None => {
            lead().filter(|lead| matches!(lead, Likeness::Strong(_))).or(whole)
        }
    }
}

impl Clause {
    fn says_failure(&self) -> bool {
        let any = |list: &words::Stems| self.content.iter().any(|item| list.has(&item.text));
        self.is_negated || (any(&FAILURE_STEMS) && !any(&REMEDY_STEMS))
    }
}

/// The common items of two clauses by position, and the remaining items of each.
struct Pairing<'a> {
    a: &'a Clause,
    b: &'a Clause,
    same: Vec<(usize, usize)>,
    left: Vec<usize>,
    right: Vec<usize>,
}

impl<'a> Pairing<'a> {
    fn of(a: &'a Clause, b: &'a Clause) -> Self {
        let mut taken = vec![false; b.content.len()];
        let (mut same, mut left) = (Vec::new(), Vec::new());
        // Most compared texts have the same order, so the next position is tried first.
        let mut next = 0;
        for (at, item) in a.content.iter().enumerate() {
            let is_free = |place: &usize| !taken[*place] && b.content[*place].is_same(item);
            match (next..b.content.len()).find(is_free).or_else(|| (0..next).find(is_free)) {
                Some(place) => {
                    taken[place] = true;
                    next = place + 1;
                    same.push((at, place));
                }
                None => left.push(at),
            }
        }
        let right = (0..b.content.len()).filter(|place| !taken[*place]).collect();
        Self { a, b, same, left, right }
    }

    fn left(&self) -> impl Iterator<Item = &'a Item> {
        let a = self.a;
        self.left.iter().map(move |at| &a.content[*at])
    }

    fn right(&self) -> impl Iterator<Item = &'a Item> {
        let b = self.b;
        self.right.iter().map(move |at| &b.content[*at])
    }

    /// Whether the common words have the same order in both.
    fn in_order(&self) -> bool {
        self.same.is_sorted_by_key(|(_, place)| *place)
    }

    fn dice(&self) -> f64 {
        2.0 * self.same.len() as f64 / (self.a.content.len() + self.b.content.len()).max(1) as f64
    }

    /// Whether both remaining positions have the same number of common words before them.
    fn in_one_slot(&self, at: usize, place: usize) -> bool {
        let before = |of: fn(&(usize, usize)) -> usize, end: usize| {
            self.same.iter().filter(|pair| of(pair) < end).count()
        };
        before(|pair| pair.0, at) == before(|pair| pair.1, place)
    }

    fn opposition(&self, a: &Item, b: &Item) -> Option<Opposition> {
        let excludes = |clause: &Clause, item: &Item| clause.excluded.iter().any(|other| other.is_same(item));
        if excludes(self.a, b) || excludes(self.b, a) {
            return Some(Opposition::Value);
        }
        opposition(a, b)
    }

    /// The share of common content outside of one pair of positions, without words of little meaning.
    fn dice_of_rest(&self) -> f64 {
        let says = |item: &Item| item.is_value() || !item.roles.has(Role::Light);
        let same = self.same.iter().filter(|(at, _)| says(&self.a.content[*at])).count();
        let others = self.left().chain(self.right()).filter(|item| says(item)).count().saturating_sub(2);
        2.0 * same as f64 / (2 * same + others).max(1) as f64
    }

    /// Whether one side states what the other excludes, and little else: "UTC instead of local time".
    fn is_excluded(&self) -> bool {
        let excludes = |clause: &Clause, item: &Item| clause.excluded.iter().any(|other| other.is_same(item));
        let all = |clause: &Clause, items: Vec<&Item>, others: usize| {
            !items.is_empty()
                && others <= MAX_OTHER_WORDS
                && items
                    .iter()
                    .all(|item| !item.is_negated && (excludes(clause, item) || item.roles.has(Role::Light)))
                && items.iter().any(|item| excludes(clause, item))
        };
        self.same.len() >= MIN_SHARED
            && (all(self.a, self.right().collect(), self.left.len())
                || all(self.b, self.left().collect(), self.right.len()))
    }

    /// The one pair of values or antonyms in which the two differ, if they differ in little else.
    fn slot(&self) -> Option<Opposition> {
        if self.is_excluded() {
            return Some(Opposition::Value);
        }
        let mut found = None;
        for at in &self.left {
            for place in &self.right {
                let (a, b) = (&self.a.content[*at], &self.b.content[*place]);
                if let Some(opposition) = self.opposition(a, b)
                    && self.in_one_slot(*at, *place)
                {
                    match found {
                        // The versions that follow two different names.
                        Some((one, other, _)) if one + 1 == *at && other + 1 == *place && is_version(a) => {
                            continue;
                        }
                        Some(_) => return None,
                        None => {}
                    }
                    found = Some((*at, *place, opposition));
                }
            }
        }
        let (at, place, opposition) = found?;
        let (a, b) = (&self.a.content[at], &self.b.content[place]);
        let is_open_name = matches!(a.what, What::Code | What::Class(_) | What::Path | What::Flag)
            && (self.a.is_among || self.b.is_among || self.tells_failure());
        if a.is_negated || b.is_negated || is_open_name {
            return None;
        }
        let others = |of: &[usize], except: usize| of.iter().filter(|at| **at != except).count();
        let (left, right) = (others(&self.left, at), others(&self.right, place));
        if left == 0 && right == 0 {
            return Some(opposition);
        }
        let last = |of: fn(&(usize, usize)) -> usize| self.same.iter().map(of).max().unwrap_or_default();
        let (last_left, last_right) = (last(|pair| pair.0).max(at), last(|pair| pair.1).max(place));
        let allowed = |clause: &Clause, of: &[usize], except: usize, last: usize, other_side: usize| {
            of.iter().filter(|at| **at != except).all(|at| {
                let item = &clause.content[*at];
                // `Redis 7`: the version that follows the different name.
                let is_version = *at == except + 1 && is_version(item);
                let trails = *at > last && other_side == 0 && !item.is_condition && !item.is_value();
                is_version && matches!(clause.content[except].what, What::Class(_) | What::Code)
                    || item.what == What::Word
                        && !item.names
                        && !item.roles.has(Role::Exception)
                        && (item.roles.has(Role::Light) || trails)
            })
        };
        let is_little = left.max(right) <= MAX_OTHER_WORDS
            && self.same.len() >= MIN_SHARED
            && self.dice_of_rest() >= NEAR_IDENTICAL
            && allowed(self.a, &self.left, at, last_left, right)
            && allowed(self.b, &self.right, place, last_right, left);
        is_little.then_some(opposition)
    }

    fn tells_failure(&self) -> bool {
        let fails = |clause: &Clause| clause.content.iter().any(|item| INCIDENT_STEMS.has(&item.text));
        fails(self.a) || fails(self.b)
    }

    /// Whether only one side has a command-line flag.
    fn has_lone_flag(&self) -> bool {
        let flags =
            |items: &mut dyn Iterator<Item = &Item>| items.filter(|item| item.what == What::Flag).count();
        flags(&mut self.left()) != flags(&mut self.right())
    }

    /// Whether both say the same according to their words. One may say more; neither says something else.
    fn is_similar(&self) -> bool {
        let is_light = |item: &Item| item.what == What::Word && item.roles.has(Role::Light);
        let limits = |item: &Item| {
            item.roles.has(Role::Exception)
                || item.is_condition
                || item.what == What::Flag
                || (item.is_subject && item.is_value())
                || (item.names && item.what == What::Word)
                || LIMIT_STEMS.has(&item.text)
        };
        let one_says_more = self.left.is_empty() || self.right.is_empty();
        let same = one_says_more || self.left().chain(self.right()).all(is_light);
        let excluded = |of: &Clause, other: &Clause| {
            of.excluded.iter().any(|item| other.content.iter().any(|theirs| theirs.is_same(item)))
        };
        same && !self.left().chain(self.right()).any(limits)
            && self.in_order()
            && !excluded(self.a, self.b)
            && !excluded(self.b, self.a)
    }
}

fn compared(a: &Clause, b: &Clause) -> Option<Likeness> {
    let pairing = Pairing::of(a, b);
    let shared = pairing.same.len();
    let names = |items: &mut dyn Iterator<Item = &Item>| {
        let (mut any, mut number) = (false, false);
        for item in items.filter(|item| item.names) {
            any = true;
            number |= matches!(item.what, What::Number | What::Version);
        }
        (any, number)
    };
    let (left_names, right_names) = (names(&mut pairing.left()), names(&mut pairing.right()));
    if shared == 0
        || a.is_open != b.is_open
        || left_names.1
        || right_names.1
        || (left_names.0 && right_names.0)
    {
        return None;
    }
    let has_name = left_names.0 || right_names.0;
    let (left, right) = (pairing.left.len(), pairing.right.len());
    let alike = pairing.dice();
    let opposed: Vec<Opposition> =
        pairing.left().zip(pairing.right()).filter_map(|(a, b)| pairing.opposition(a, b)).collect();
    let slots = left.max(right);
    let turned =
        pairing.same.iter().filter(|(at, place)| a.content[*at].is_negated != b.content[*place].is_negated);
    let turned = turned.count();
    let is_near = alike >= NEAR_IDENTICAL && shared >= MIN_SHARED;
    let can_be_strong = !has_name && !pairing.has_lone_flag();
    // If the words are equal, one of several clauses may be negated.
    if turned > 0 && (2 * turned >= shared || (left == 0 && right == 0)) {
        let light = |item: &Item| item.roles.has(Role::Light) && !item.is_value();
        // "Retries are disabled" and "is never retried" agree.
        let limits = pairing
            .left()
            .chain(pairing.right())
            .any(|item| item.roles.has(Role::Exception) || LIMIT_STEMS.has(&item.text));
        let one_says_more = left == 0 || right == 0 || pairing.left().chain(pairing.right()).all(light);
        return match slots {
            // "not enabled" and "disabled" agree; two negated values may agree too.
            _ if !opposed.is_empty() => None,
            _ if is_near && one_says_more && can_be_strong && !limits => {
                Some(Likeness::Strong(Opposition::Negation))
            }
            _ if alike >= LOOSELY_ALIKE && shared >= MIN_SHARED => Some(Likeness::Weak(Opposition::Negation)),
            _ => None,
        };
    }
    if can_be_strong
        && turned == 0
        && pairing.in_order()
        && let Some(opposition) = pairing.slot()
    {
        return Some(Likeness::Strong(opposition));
    }
    match opposed.first() {
        Some(opposition) if slots <= MAX_WEAK_SLOTS && left == right => {
            (alike >= LOOSELY_ALIKE).then_some(Likeness::Weak(*opposition))
        }
        _ if is_near && turned == 0 && pairing.is_similar() => Some(Likeness::Similar),
        _ => is_near.then_some(Likeness::Alike),
    }
}

fn revived(negative: &Clause, other: &Clause) -> Option<Likeness> {
    if other.says_failure() {
        return None;
    }
    let told = |item: &&Item| !FAILURE_STEMS.has(&item.text) && !TELLING_STEMS.has(&item.text);
    let bare = |clause: &Clause| Clause {
        content: clause.content.iter().filter(told).cloned().collect(),
        ..Clause::default()
    };
    let (approach, other) = (bare(negative), bare(other));
    let pairing = Pairing::of(&approach, &other);
    let differs = pairing
        .left()
        .zip(pairing.right())
        .any(|(a, b)| opposition(a, b) == Some(Opposition::Value) || a.names || b.names);
    if differs {
        return None;
    }
    let shared = pairing.same.len();
    let most = shared as f64 / approach.content.len().min(other.content.len()).max(1) as f64;
    if shared <= MIN_SHARED || most < LOOSELY_ALIKE {
        None
    } else if most >= NEAR_IDENTICAL && pairing.dice() >= LOOSELY_ALIKE {
        Some(Likeness::Strong(Opposition::Negation))
    } else {
        Some(Likeness::Weak(Opposition::Negation))
    }
}

fn is_version(item: &Item) -> bool {
    matches!(item.what, What::Number | What::Version)
}

fn opposition(a: &Item, b: &Item) -> Option<Opposition> {
    if a.is_kind_of(b) {
        return Some(Opposition::Value);
    }
    // "The fast path" and "the slow path" are two things; "is fast" and "is slow" describe one thing.
    (!(a.is_subject && b.is_subject) && are_antonyms(a, b)).then_some(Opposition::Antonym)
}

fn are_antonyms(a: &Item, b: &Item) -> bool {
    static STEMS: LazyLock<HashSet<(String, String)>> = LazyLock::new(|| {
        let stem = stemmer();
        ANTONYMS.iter().map(|(a, b)| (stem(a), stem(b))).collect()
    });
    let denies = |prefix: &&str, a: &Item, b: &Item| {
        a.word.len() >= MIN_DENIED && a.word.strip_prefix(*prefix).is_some_and(|rest| rest == b.word)
    };
    let un = |a: &Item, b: &Item| {
        a.word.strip_prefix("un").is_some_and(|rest| rest == b.word)
            || ["in", "im", "ir", "dis", "non"].iter().any(|prefix| denies(prefix, a, b))
    };
    let listed = |a: &Item, b: &Item| STEMS.contains(&(a.text.clone(), b.text.clone()));
    un(a, b) || un(b, a) || listed(a, b) || listed(b, a)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::{Likeness, Reading, likeness};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn no_text_contradicts_itself(text in "(\\PC{0,6}|[a-z]{1,8}|not|except|`|\\(|\\)|,|10|per|s|/| ){0,40}") {
            let reading = Reading::of(&text);
            let found = likeness(&reading, &reading);
            prop_assert!(matches!(found, None | Some(Likeness::Similar)), "{found:?}");
        }
    }

    /// One line for each pair: the finding and the two statements.
    fn check(pairs: &[(&str, &str)], expected: Expect) {
        let lines: Vec<String> = pairs
            .iter()
            .map(|(a, b)| {
                let (one, other) = (Reading::of(a), Reading::of(b));
                let found = likeness(&one, &other);
                assert_eq!(found, likeness(&other, &one), "{a} | {b}");
                let found = match found {
                    None => "-".to_owned(),
                    Some(Likeness::Strong(opposition)) => format!("strong {opposition:?}"),
                    Some(Likeness::Weak(opposition)) => format!("weak {opposition:?}"),
                    Some(Likeness::Alike) => "alike".to_owned(),
                    Some(Likeness::Similar) => "similar".to_owned(),
                };
                format!("{found}: {a} | {b}")
            })
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn names_of_one_list_and_names_in_code_are_values() {
        check(
            &[
                ("Sessions are stored in Redis.", "Sessions are stored in Postgres."),
                ("Sessions are stored in Postgres.", "Sessions are stored in PostgreSQL."),
                ("The config file is YAML.", "The config file is a TOML file."),
                ("Deploys happen on Tuesdays.", "Deploys happen on Thursdays."),
                ("The primary button is blue.", "The primary button is green."),
                ("The default log level is `info`.", "The default log level is `debug`."),
                ("`Cache::get` returns `None` on a miss.", "`Cache::get` returns `Err` on a miss."),
                ("The token is read from `HM_TOKEN`.", "The token is read from `HIVEMIND_TOKEN`."),
                ("The retry helper lives in net/retry.ts.", "The retry helper lives in lib/backoff.ts."),
                ("Run the linter with `--deny-warnings`.", "Run the linter with `--allow-dirty`."),
                ("Redis is the session store.", "Postgres is the session store."),
                ("The image is based on `debian:12`.", "The image is based on `alpine:3.19`."),
            ],
            expect![[r#"
                strong Value: Sessions are stored in Redis. | Sessions are stored in Postgres.
                similar: Sessions are stored in Postgres. | Sessions are stored in PostgreSQL.
                strong Value: The config file is YAML. | The config file is a TOML file.
                strong Value: Deploys happen on Tuesdays. | Deploys happen on Thursdays.
                strong Value: The primary button is blue. | The primary button is green.
                strong Value: The default log level is `info`. | The default log level is `debug`.
                strong Value: `Cache::get` returns `None` on a miss. | `Cache::get` returns `Err` on a miss.
                strong Value: The token is read from `HM_TOKEN`. | The token is read from `HIVEMIND_TOKEN`.
                strong Value: The retry helper lives in net/retry.ts. | The retry helper lives in lib/backoff.ts.
                strong Value: Run the linter with `--deny-warnings`. | Run the linter with `--allow-dirty`.
                strong Value: Redis is the session store. | Postgres is the session store.
                strong Value: The image is based on `debian:12`. | The image is based on `alpine:3.19`."#]],
        );
    }

    #[test]
    fn another_subject_a_list_and_an_incident_are_no_other_value() {
        check(
            &[
                ("The orders service keeps carts in Redis.", "The billing service keeps carts in Postgres."),
                ("`parse_header` panics on empty input.", "`parse_body` panics on empty input."),
                ("The handler for `/orders` is cached.", "The handler for `/users` is cached."),
                ("The importer supports CSV.", "The importer supports JSON."),
                ("The worker logs to stderr and to Loki.", "The worker logs to stderr and to Sentry."),
                ("The tests pass on Linux.", "The tests pass on macOS."),
                ("The panic was in `pool.rs`.", "The panic was in `cache.rs`."),
                ("The mutex guards `state`.", "The mutex guards `queue`."),
                ("`Store::open` may return `NotFound`.", "`Store::open` may return `Locked`."),
                ("POST requests are never retried here.", "Retries are disabled for POST requests."),
                ("The fast path avoids a lock.", "The slow path avoids a lock."),
                ("Run `cargo test --release` before tagging.", "Run `cargo test` before tagging."),
                ("The service runs Postgres 15 in staging.", "The service runs Postgres 16 in production."),
            ],
            expect![[r#"
                weak Value: The orders service keeps carts in Redis. | The billing service keeps carts in Postgres.
                -: `parse_header` panics on empty input. | `parse_body` panics on empty input.
                -: The handler for `/orders` is cached. | The handler for `/users` is cached.
                weak Value: The importer supports CSV. | The importer supports JSON.
                -: The worker logs to stderr and to Loki. | The worker logs to stderr and to Sentry.
                -: The tests pass on Linux. | The tests pass on macOS.
                weak Value: The panic was in `pool.rs`. | The panic was in `cache.rs`.
                -: The mutex guards `state`. | The mutex guards `queue`.
                weak Value: `Store::open` may return `NotFound`. | `Store::open` may return `Locked`.
                weak Negation: POST requests are never retried here. | Retries are disabled for POST requests.
                alike: The fast path avoids a lock. | The slow path avoids a lock.
                alike: Run `cargo test --release` before tagging. | Run `cargo test` before tagging.
                -: The service runs Postgres 15 in staging. | The service runs Postgres 16 in production."#]],
        );
    }

    #[test]
    fn similar_means_the_same() {
        check(
            &[
                ("The pool holds at most 20 connections.", "The pool has at most 20 connections."),
                ("Uploads go to S3.", "Uploads go to S3 directly."),
                ("All routes require a token.", "All routes require a token except /healthz."),
                ("All routes but /healthz require a token.", "All routes but /metrics require a token."),
                ("The parser depends on the lexer.", "The lexer depends on the parser."),
                ("Migration of tables runs before seeding.", "Seeding of tables runs before migration."),
                ("The daemon reads the control socket.", "The daemon stops reading the control socket."),
                ("The cache evicts the oldest entry.", "The cache evicts the largest entry."),
                ("Data flows from the ledger to the cache.", "Data flows from the cache to the ledger."),
            ],
            expect![[r#"
                similar: The pool holds at most 20 connections. | The pool has at most 20 connections.
                similar: Uploads go to S3. | Uploads go to S3 directly.
                alike: All routes require a token. | All routes require a token except /healthz.
                -: All routes but /healthz require a token. | All routes but /metrics require a token.
                alike: The parser depends on the lexer. | The lexer depends on the parser.
                alike: Migration of tables runs before seeding. | Seeding of tables runs before migration.
                alike: The daemon reads the control socket. | The daemon stops reading the control socket.
                alike: The cache evicts the oldest entry. | The cache evicts the largest entry.
                alike: Data flows from the ledger to the cache. | Data flows from the cache to the ledger."#]],
        );
    }

    #[test]
    fn quantities_are_read_with_their_units() {
        check(
            &[
                ("The lock timeout is 1.5 s.", "The lock timeout is 1500 ms."),
                ("The lock timeout is 1.5 s.", "The lock timeout is 15 s."),
                ("The cache may grow to 2 GB.", "The cache may grow to 2048 MB."),
                ("The container gets 512Mi of memory.", "The container gets 0.5Gi of memory."),
                ("Buffers are 64 KiB.", "Buffers are 64 MiB."),
                ("The API allows 600 requests per minute.", "The API allows 10 req/s."),
                ("The API allows 10 requests per second.", "The API allows 10 requests per minute."),
                ("The nightly job starts at 02:30.", "The nightly job starts at 03:30."),
                ("A batch holds 10k rows.", "A batch holds 10,000 rows."),
            ],
            expect![[r#"
                similar: The lock timeout is 1.5 s. | The lock timeout is 1500 ms.
                strong Value: The lock timeout is 1.5 s. | The lock timeout is 15 s.
                similar: The cache may grow to 2 GB. | The cache may grow to 2048 MB.
                similar: The container gets 512Mi of memory. | The container gets 0.5Gi of memory.
                strong Value: Buffers are 64 KiB. | Buffers are 64 MiB.
                similar: The API allows 600 requests per minute. | The API allows 10 req/s.
                strong Value: The API allows 10 requests per second. | The API allows 10 requests per minute.
                strong Value: The nightly job starts at 02:30. | The nightly job starts at 03:30.
                similar: A batch holds 10k rows. | A batch holds 10,000 rows."#]],
        );
    }

    /// Different spellings of a number are equal; a bound that implies another one is no contradiction.
    #[test]
    fn numbers_are_compared_as_numbers_and_bounds_as_bounds() {
        check(
            &[
                ("The retry limit is 10.", "The retry limit is 10.0."),
                ("The retry limit is `10`.", "The retry limit is `10.0`."),
                ("The job needs at least 3 workers.", "The job needs at least 2 workers."),
                ("The job needs at least 4 GB of memory.", "The job needs at least 8 GB of memory."),
                ("A batch holds no fewer than 10 rows.", "A batch holds no fewer than 20 rows."),
                ("Uploads of more than 3 MB are refused.", "Uploads of more than 2 MB are refused."),
                ("The service runs Python 3.1.", "The service runs Python 3.10."),
                ("The cache holds at most 10 entries.", "The cache holds at most 20 entries."),
            ],
            expect![[r#"
                similar: The retry limit is 10. | The retry limit is 10.0.
                similar: The retry limit is `10`. | The retry limit is `10.0`.
                alike: The job needs at least 3 workers. | The job needs at least 2 workers.
                alike: The job needs at least 4 GB of memory. | The job needs at least 8 GB of memory.
                alike: A batch holds no fewer than 10 rows. | A batch holds no fewer than 20 rows.
                strong Value: Uploads of more than 3 MB are refused. | Uploads of more than 2 MB are refused.
                strong Value: The service runs Python 3.1. | The service runs Python 3.10.
                strong Value: The cache holds at most 10 entries. | The cache holds at most 20 entries."#]],
        );
    }

    #[test]
    fn negation_counts_for_its_clause_and_contrast_is_none() {
        check(
            &[
                ("Sessions are stored in Redis, not Postgres.", "Sessions are stored in Redis."),
                ("Sessions are stored in Redis, not Postgres.", "Sessions are stored in Postgres."),
                ("Use `BTreeMap` rather than `HashMap` for the index.", "Use `HashMap` for the index."),
                ("Times are stored in UTC instead of local time.", "Times are stored in local time."),
                ("The relay writes to S3, and it never blocks.", "The relay writes to S3."),
                ("The relay writes to S3, and it never blocks.", "The relay writes to S3, and it blocks."),
                ("The cache is shared between workers.", "The cache is not shared between workers."),
                ("It is not known whether the cache is shared.", "The cache is shared."),
                ("Not checked whether the pool is closed on exit.", "The pool is closed on exit."),
                ("Nobody has verified that backups restore.", "Backups restore."),
            ],
            expect![[r#"
                similar: Sessions are stored in Redis, not Postgres. | Sessions are stored in Redis.
                strong Value: Sessions are stored in Redis, not Postgres. | Sessions are stored in Postgres.
                strong Value: Use `BTreeMap` rather than `HashMap` for the index. | Use `HashMap` for the index.
                strong Value: Times are stored in UTC instead of local time. | Times are stored in local time.
                similar: The relay writes to S3, and it never blocks. | The relay writes to S3.
                strong Negation: The relay writes to S3, and it never blocks. | The relay writes to S3, and it blocks.
                strong Negation: The cache is shared between workers. | The cache is not shared between workers.
                -: It is not known whether the cache is shared. | The cache is shared.
                -: Not checked whether the pool is closed on exit. | The pool is closed on exit.
                -: Nobody has verified that backups restore. | Backups restore."#]],
        );
    }

    #[test]
    fn a_few_other_words_do_not_hide_another_value() {
        check(
            &[
                ("The exporter uses port 9100.", "The exporter listens on port 9200."),
                (
                    "The client retries a request 5 times before giving up.",
                    "The client retries a request 3 times.",
                ),
                ("Uploads are limited to 25 MB (set in nginx.conf).", "Uploads are limited to 50 MB."),
                ("The queue is backed by SQS.", "The queue is backed by Kinesis, see docs/queue.md."),
                ("The pool holds 20 connections in staging.", "The pool holds 30 connections in production."),
                ("The build needs at least 4 GB.", "The build needs at most 8 GB."),
            ],
            expect![[r#"
                strong Value: The exporter uses port 9100. | The exporter listens on port 9200.
                -: The client retries a request 5 times before giving up. | The client retries a request 3 times.
                strong Value: Uploads are limited to 25 MB (set in nginx.conf). | Uploads are limited to 50 MB.
                strong Value: The queue is backed by SQS. | The queue is backed by Kinesis, see docs/queue.md.
                -: The pool holds 20 connections in staging. | The pool holds 30 connections in production.
                weak Antonym: The build needs at least 4 GB. | The build needs at most 8 GB."#]],
        );
    }
}
