//! Two statements about the same thing: whether they contradict each other, or say much the same (spec 12).
//!
//! Word forms only, no understanding: what is found is worth a look, and what is not found may contradict
//! all the same.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::domain::antonyms::ANTONYMS;
use crate::domain::stop_words::is_stop_word;
use crate::domain::tokens::{stemmer, tokens};

/// Share of common content from which two texts are near-identical (spec 12).
const NEAR_IDENTICAL: f64 = 0.7;
/// Share of common content a negation may have and still be kept, weakly.
const LOOSELY_ALIKE: f64 = 0.5;
/// Fewer common words than this are no common subject.
const MIN_SHARED: usize = 2;
/// The longest unit, `milliseconds`; a longer plain word is no value.
const LONGEST_VALUE_WORD: usize = 12;
/// A shorter clause says too little to be compared by itself.
const MIN_LEAD: usize = 2;
/// The most slots in which two texts may differ for a weak finding (spec 12).
const MAX_WEAK_SLOTS: usize = 3;

/// How a pair of statements stands to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// Near-identical but for what makes them opposites.
    Strong(Opposition),
    /// Somewhat alike, with something opposite in them: kept, never announced.
    Weak(Opposition),
    /// Much the same: worth a link, never a merge.
    Similar,
}

/// What makes two statements opposites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opposition {
    /// One negates the other.
    Negation,
    /// Another value of the same kind in the same place.
    Value,
    /// A word and its antonym in the same place.
    Antonym,
}

/// A statement, cut into what is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    whole: Clause,
    /// What comes before the first reason or second sentence, where there is one.
    lead: Option<Clause>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Clause {
    content: Vec<Item>,
    negations: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    what: What,
    /// The stem of a word, the canonical text of a value.
    text: String,
    /// The word as it stood there.
    word: String,
    /// Names its neighbour apart, as in `shard 2` or `Python 3.11 supports`: another number is another thing.
    names: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Word,
    Number,
    Quantity,
    Version,
    Port,
    Path,
    Unit,
    Boolean,
}

impl Reading {
    /// Reads a statement in its folded form ([`super::text::folded`]).
    pub fn of(folded: &str) -> Self {
        let stem = stemmer();
        let (mut whole, mut lead) = (Clause::default(), None);
        let split: Vec<&str> = folded.split([' ', '=']).collect();
        let raw: Vec<&str> = split.iter().map(|word| trimmed(word)).collect();
        let (mut at, mut linked) = (0, false);
        while at < raw.len() {
            let (before, word, next) =
                (at.checked_sub(1).map(|at| raw[at]), raw[at], raw.get(at + 1).copied());
            if lead.is_none()
                && at > 0
                && starts_clause(split[at - 1], word)
                && whole.content.len() >= MIN_LEAD
            {
                lead = Some(whole.clone());
            }
            at += 1;
            linked |= is(word, Role::Link);
            if is_negation(word) {
                match (word, next) {
                    // "not only" says more, not less.
                    ("not", Some("only")) => at += 1,
                    ("no", Some("longer" | "more")) => {
                        at += 1;
                        whole.negations += 1;
                    }
                    _ => whole.negations += 1,
                }
                continue;
            }
            if let Some((what, text, taken)) = value(before, word, next) {
                at += taken;
                let is_subject = !linked && whole.content.len() <= 1 && at < raw.len();
                let names = before.is_some_and(|before| is(before, Role::Label))
                    || (is_subject && !matches!(what, What::Port | What::Quantity));
                whole.content.push(Item { what, text, word: word.to_owned(), names });
                continue;
            }
            let word = word.strip_prefix("non-").map_or(word, |rest| {
                whole.negations += 1;
                rest
            });
            whole.words(&stem, before, word);
        }
        Self { whole, lead }
    }

    /// The words and values that are compared, for an index of candidates.
    pub fn content(&self) -> impl Iterator<Item = &str> {
        self.whole.content.iter().map(|item| item.text.as_str())
    }

    fn lead(&self) -> &Clause {
        self.lead.as_ref().unwrap_or(&self.whole)
    }
}

/// Whether a reason or another sentence starts with `word`.
fn starts_clause(before: &str, word: &str) -> bool {
    before.ends_with([';', '.', '\u{2014}'])
        || matches!(word, "because" | "since" | "although")
        || (before.ends_with(',') && matches!(word, "so" | "which" | "as" | "but" | "and" | "it" | "they"))
}

impl Clause {
    fn words(&mut self, stem: impl Fn(&str) -> String, before: Option<&str>, word: &str) {
        let mut push = |text: String, word: &str| {
            self.content.push(Item { what: What::Word, text, word: word.to_owned(), names: false });
        };
        if !word.is_ascii() {
            tokens(word).into_iter().for_each(|token| push(token.clone(), &token));
            return;
        }
        // A flag is one word: its `no` negates nothing.
        if word.starts_with('-') {
            return push(word.to_owned(), word);
        }
        for part in
            word.split(|c: char| !c.is_ascii_alphanumeric() && c != '\'').filter(|part| !part.is_empty())
        {
            let is_switch = part == "on" && before.is_some_and(|before| is(before, Role::Link));
            if (is_stop_word(part) || is(part, Role::Filler)) && !is_switch {
                continue;
            }
            push(stem(part), part);
        }
    }

    fn says_failure(&self) -> bool {
        let any = |list: &[&str]| self.content.iter().any(|item| list.contains(&item.text.as_str()));
        self.negations > 0 || (any(FAILURES) && !any(REMEDIES))
    }
}

/// How two statements about the same scope stand to each other; `None` when nothing is to be said. The whole
/// texts are compared, then what they say before they give their reasons.
pub fn likeness(a: &Reading, b: &Reading) -> Option<Likeness> {
    stronger(compared(&a.whole, &b.whole), || compared(a.lead(), b.lead()))
}

/// Whether `other` speaks for the approach that `negative` reports as failed.
pub fn revives(negative: &Reading, other: &Reading) -> Option<Likeness> {
    stronger(revived(&negative.whole, &other.whole), || revived(negative.lead(), other.lead()))
}

fn stronger(whole: Option<Likeness>, lead: impl FnOnce() -> Option<Likeness>) -> Option<Likeness> {
    match whole {
        Some(Likeness::Strong(_)) => whole,
        Some(Likeness::Weak(_) | Likeness::Similar) | None => {
            lead().filter(|lead| matches!(lead, Likeness::Strong(_))).or(whole)
        }
    }
}

fn compared(a: &Clause, b: &Clause) -> Option<Likeness> {
    let (left, right) = (rest(a, b), rest(b, a));
    let shared = a.content.len() - left.len();
    if shared == 0 || left.iter().chain(&right).any(|item| item.names) {
        return None;
    }
    let alike = dice(a, b, shared);
    let opposed: Vec<Opposition> = left.iter().zip(&right).filter_map(|(a, b)| opposition(a, b)).collect();
    let slots = left.len().max(right.len());
    let same_order = || common(a, &left).eq(common(b, &right));
    if a.negations % 2 != b.negations % 2 {
        return match slots {
            // "not enabled" and "disabled" agree; so may two negated values.
            _ if !opposed.is_empty() => None,
            _ if alike >= NEAR_IDENTICAL && shared >= MIN_SHARED && (left.is_empty() || right.is_empty()) => {
                Some(Likeness::Strong(Opposition::Negation))
            }
            _ if alike >= LOOSELY_ALIKE && shared >= MIN_SHARED => Some(Likeness::Weak(Opposition::Negation)),
            _ => None,
        };
    }
    match (left.as_slice(), right.as_slice(), opposed.first()) {
        ([_], [_], Some(opposition)) if a.negations == 0 && b.negations == 0 && same_order() => {
            Some(Likeness::Strong(*opposition))
        }
        (_, _, Some(opposition)) if slots <= MAX_WEAK_SLOTS && left.len() == right.len() => {
            (alike >= LOOSELY_ALIKE).then_some(Likeness::Weak(*opposition))
        }
        _ => (alike >= NEAR_IDENTICAL && shared >= MIN_SHARED).then_some(Likeness::Similar),
    }
}

fn revived(negative: &Clause, other: &Clause) -> Option<Likeness> {
    if other.says_failure() {
        return None;
    }
    let told =
        |item: &&Item| !FAILURES.contains(&item.text.as_str()) && !TELLING.contains(&item.text.as_str());
    let bare = |clause: &Clause| Clause {
        content: clause.content.iter().filter(told).cloned().collect(),
        negations: 0,
    };
    let (approach, other) = (bare(negative), bare(other));
    let (left, right) = (rest(&approach, &other), rest(&other, &approach));
    if left.iter().zip(&right).any(|(a, b)| opposition(a, b) == Some(Opposition::Value) || a.names || b.names)
    {
        return None;
    }
    let shared = approach.content.len() - left.len();
    let most = shared as f64 / approach.content.len().min(other.content.len()).max(1) as f64;
    if shared <= MIN_SHARED || most < LOOSELY_ALIKE {
        None
    } else if most >= NEAR_IDENTICAL && dice(&approach, &other, shared) >= LOOSELY_ALIKE {
        Some(Likeness::Strong(Opposition::Negation))
    } else {
        Some(Likeness::Weak(Opposition::Negation))
    }
}

/// What `a` holds that `b` does not, each as often, in its order.
fn rest<'a>(a: &'a Clause, b: &Clause) -> Vec<&'a Item> {
    let mut unmatched: Vec<&Item> = b.content.iter().collect();
    a.content
        .iter()
        .filter(|item| {
            match unmatched.iter().position(|other| other.text == item.text && other.what == item.what) {
                Some(at) => {
                    unmatched.swap_remove(at);
                    false
                }
                None => true,
            }
        })
        .collect()
}

fn common<'a>(clause: &'a Clause, without: &'a [&Item]) -> impl Iterator<Item = &'a str> {
    let differs = |item: &&Item| without.iter().any(|other| std::ptr::eq(*other, *item));
    clause.content.iter().filter(move |item| !differs(item)).map(|item| item.text.as_str())
}

fn dice(a: &Clause, b: &Clause, shared: usize) -> f64 {
    2.0 * shared as f64 / (a.content.len() + b.content.len()).max(1) as f64
}

fn opposition(a: &Item, b: &Item) -> Option<Opposition> {
    match (a.what, b.what) {
        (What::Word, What::Word) => are_antonyms(a, b).then_some(Opposition::Antonym),
        (one, other) => (one == other).then_some(Opposition::Value),
    }
}

fn are_antonyms(a: &Item, b: &Item) -> bool {
    static STEMS: LazyLock<HashSet<(String, String)>> = LazyLock::new(|| {
        let stem = stemmer();
        ANTONYMS.iter().map(|(a, b)| (stem(a), stem(b))).collect()
    });
    let un = |a: &Item, b: &Item| a.word.strip_prefix("un").is_some_and(|rest| rest == b.word);
    let listed = |a: &Item, b: &Item| STEMS.contains(&(a.text.clone(), b.text.clone()));
    un(a, b) || un(b, a) || listed(a, b) || listed(b, a)
}

/// A word without the punctuation around it.
fn trimmed(word: &str) -> &str {
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '/' | '.' | '#'));
    word.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '%' | '/' | '+'))
}

fn is_negation(word: &str) -> bool {
    is(word, Role::Negation) || word.ends_with("n't") || word.ends_with("n\u{2019}t")
}

/// The value a word is, in its canonical text, and how many of the words after it belong to it.
fn value(before: Option<&str>, word: &str, next: Option<&str>) -> Option<(What, String, usize)> {
    let plain = word.bytes().all(|byte| byte.is_ascii_lowercase());
    if plain && word.len() > LONGEST_VALUE_WORD {
        return None;
    }
    if let (Some("per" | "every" | "each"), Some(unit)) = (before, unit_of(word)) {
        return Some((What::Unit, unit.to_owned(), 0));
    }
    if matches!(word, "true" | "false") {
        return Some((What::Boolean, word.to_owned(), 0));
    }
    if let Some((_, port)) = word.rsplit_once(':').filter(|(_, port)| is_digits(port)) {
        return Some((What::Port, port.to_owned(), 0));
    }
    if plain && !NUMBER_WORDS.contains(&word) {
        return None;
    }
    let spelled = NUMBER_WORDS.iter().position(|spelled| *spelled == word).map(|number| number.to_string());
    let version = word.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let number = version
        .or_else(|| word.strip_prefix('#'))
        .map_or_else(|| spelled.unwrap_or(word.to_owned()), str::to_owned);
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return is_path(word).then(|| (What::Path, word.to_owned(), 0));
    }
    let end =
        number.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '_')).unwrap_or(number.len());
    let (digits, unit) = number.split_at(end);
    let digits = digits.replace([',', '_'], "");
    if version.is_some() || digits.matches('.').count() > 1 {
        return Some((What::Version, number, 0));
    }
    match (unit_of(unit), next.and_then(unit_of)) {
        (Some(unit), _) => Some((What::Quantity, quantity(&digits, unit), 0)),
        (None, _) if !unit.is_empty() => is_path(word).then(|| (What::Path, word.to_owned(), 0)),
        (None, Some(unit)) => Some((What::Quantity, quantity(&digits, unit), 1)),
        (None, None) if matches!(before, Some("port" | "ports")) => Some((What::Port, digits, 0)),
        (None, None) => Some((What::Number, digits, 0)),
    }
}

/// A quantity in the smallest unit of its kind, so that 5 minutes are 300 seconds.
fn quantity(digits: &str, unit: &str) -> String {
    let known = SCALES.iter().find(|(name, _, _)| *name == unit);
    match (known, digits.parse::<u64>()) {
        (Some((_, base, factor)), Ok(number)) => format!("{}{base}", number.saturating_mul(*factor)),
        _ => format!("{digits}{unit}"),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A path has a slash, or ends like the name of a file.
fn is_path(word: &str) -> bool {
    let ends_like_a_file = || {
        word.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && EXTENSIONS.contains(&ending))
    };
    word.trim_matches('/').contains('/') || ends_like_a_file()
}

/// One spelling for each unit.
fn unit_of(word: &str) -> Option<&'static str> {
    UNITS.iter().find(|(spelling, _)| *spelling == word).map(|(_, unit)| *unit)
}

/// What a word does besides meaning something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Negation = 1,
    Filler = 2,
    Link = 4,
    Label = 8,
}

/// Whether a word has a role: one look for all lists, since every word of every claim is asked.
fn is(word: &str, role: Role) -> bool {
    static ROLES: LazyLock<HashMap<&str, u8>> = LazyLock::new(|| {
        let lists = [
            (NEGATIONS, Role::Negation),
            (FILLERS, Role::Filler),
            (LINKS, Role::Link),
            (LABELS, Role::Label),
        ];
        let mut roles = HashMap::new();
        for (words, role) in lists {
            for word in words {
                *roles.entry(*word).or_default() |= role as u8;
            }
        }
        roles
    });
    ROLES.get(word).is_some_and(|roles| roles & role as u8 != 0)
}

const NEGATIONS: &[&str] = &[
    "not", "no", "never", "without", "cannot", "cant", "dont", "doesnt", "isnt", "arent", "wont", "didnt",
    "neither", "nor", "none", "nothing", "nobody", "nowhere", "hardly",
];
/// Words that add emphasis or time, and change no statement into its opposite.
const FILLERS: &[&str] = &[
    "actually",
    "already",
    "also",
    "always",
    "currently",
    "ever",
    "get",
    "gets",
    "just",
    "now",
    "really",
    "simply",
    "so",
    "still",
    "than",
    "today",
    "probably",
    "likely",
    "around",
    "about",
    "roughly",
    "again",
    "first",
    "very",
    "would",
    "could",
    "may",
    "might",
    "must",
    "them",
    "any",
];
/// After one of these a value is what is said, not what it is said of.
const LINKS: &[&str] = &[
    "is", "are", "was", "were", "be", "turned", "switched", "stays", "defaults", "default", "uses", "use",
    "needs", "requires", "takes", "holds", "set", "has", "have", "runs", "listens", "expires", "to", "at",
];
/// A number after one of these says which one.
const LABELS: &[&str] = &[
    "adr",
    "agent",
    "attempt",
    "batch",
    "bug",
    "build",
    "case",
    "chapter",
    "check",
    "chunk",
    "claim",
    "client",
    "column",
    "command",
    "commit",
    "decision",
    "entry",
    "epoch",
    "error",
    "event",
    "fact",
    "figure",
    "file",
    "index",
    "issue",
    "item",
    "iteration",
    "job",
    "layer",
    "line",
    "lines",
    "migration",
    "milestone",
    "module",
    "node",
    "note",
    "number",
    "option",
    "page",
    "pane",
    "part",
    "partition",
    "pass",
    "pep",
    "phase",
    "pr",
    "process",
    "question",
    "record",
    "replica",
    "request",
    "rev",
    "revision",
    "rfc",
    "round",
    "row",
    "rule",
    "run",
    "scenario",
    "section",
    "shard",
    "slot",
    "sprint",
    "stage",
    "statement",
    "step",
    "table",
    "task",
    "test",
    "thread",
    "ticket",
    "tier",
    "user",
    "variant",
    "wave",
    "worker",
    "write",
    "writer",
    "zone",
];
const NUMBER_WORDS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];
const UNITS: &[(&str, &str)] = &[
    ("%", "%"),
    ("percent", "%"),
    ("ns", "ns"),
    ("us", "us"),
    ("ms", "ms"),
    ("millisecond", "ms"),
    ("milliseconds", "ms"),
    ("s", "s"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("m", "min"),
    ("min", "min"),
    ("mins", "min"),
    ("minute", "min"),
    ("minutes", "min"),
    ("h", "h"),
    ("hour", "h"),
    ("hours", "h"),
    ("d", "d"),
    ("day", "d"),
    ("days", "d"),
    ("week", "w"),
    ("weeks", "w"),
    ("month", "mo"),
    ("months", "mo"),
    ("b", "b"),
    ("byte", "b"),
    ("bytes", "b"),
    ("k", "k"),
    ("kb", "kb"),
    ("kib", "kib"),
    ("mb", "mb"),
    ("mib", "mib"),
    ("gb", "gb"),
    ("gib", "gib"),
    ("tb", "tb"),
    ("x", "x"),
    ("times", "x"),
    ("hz", "hz"),
    ("px", "px"),
];
/// Units that count another one.
const SCALES: &[(&str, &str, u64)] = &[
    ("s", "ms", 1_000),
    ("min", "ms", 60_000),
    ("h", "ms", 3_600_000),
    ("d", "ms", 86_400_000),
    ("w", "ms", 604_800_000),
    ("kb", "b", 1_000),
    ("kib", "b", 1_024),
    ("mb", "b", 1_000_000),
    ("mib", "b", 1_048_576),
    ("gb", "b", 1_000_000_000),
    ("gib", "b", 1_073_741_824),
];
const EXTENSIONS: &[&str] = &[
    "c", "cc", "cfg", "conf", "cpp", "css", "csv", "db", "env", "go", "h", "hpp", "html", "ini", "java",
    "js", "json", "jsonl", "jsx", "kt", "lock", "log", "md", "mjs", "py", "rb", "rs", "sh", "sql", "sqlite",
    "svg", "swift", "toml", "ts", "tsx", "txt", "xml", "yaml", "yml",
];
/// Stems with which a failure is told.
const FAILURES: &[&str] = &[
    "abort", "bad", "block", "break", "broke", "broken", "bug", "caus", "corrupt", "crash", "deadlock",
    "degrad", "doubl", "drop", "error", "except", "exhaust", "fail", "failur", "flaki", "fool", "hang",
    "hung", "hurt", "incompat", "infinit", "leak", "lose", "lost", "miss", "oom", "panic", "race", "refus",
    "regress", "reject", "slow", "slower", "stale", "starv", "stall", "undo", "wast", "wors", "wrong",
    "thrash", "blew", "blow",
];
/// Stems of words with which a failure is told, and that say nothing of the approach.
const TELLING: &[&str] = &["approach", "attempt", "did", "made", "make", "tri", "use", "work"];
/// Stems of words after which a failure is what was mended.
const REMEDIES: &[&str] = &[
    "avoid", "cure", "elimin", "fix", "guard", "help", "mitig", "prevent", "reduc", "remov", "resolv",
    "solv", "stop",
];
