//! The parts of a summary for a reader who is new: what was decided, found out and measured, and what is open. The author
//! of a claim gives it a type and no part, so a part is read out of its type, its status and its statement.

use super::claim::{ClaimType, Status};
use super::names::{Name, names_in, names_it};
use super::text;

/// The part of a summary in which a claim stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Decisions in force.
    Decision,
    /// Defects, failed approaches and reviews.
    Finding,
    /// Measurements.
    Figure,
    /// Questions without an answer, and hypotheses that no agent confirmed.
    Open,
    /// All other claims.
    #[default]
    Other,
}

/// Characters at the beginning of a statement that say what kind of claim it is: authors begin with a label.
const LABEL_CHARS: usize = 160;
/// Words of a label that report a defect.
const DEFECTS: [&str; 21] = [
    "bug",
    "bugs",
    "crash",
    "crashes",
    "deadlock",
    "deadlocks",
    "defect",
    "defects",
    "fail",
    "failed",
    "fails",
    "finding",
    "findings",
    "hang",
    "hangs",
    "hung",
    "leak",
    "leaks",
    "regression",
    "regressions",
    "trap",
];
/// Words of a statement that says that something fails.
const FAILURES: [&str; 21] = [
    "breaks",
    "corrupts",
    "crashed",
    "crashes",
    "deadlocked",
    "deadlocks",
    "fail",
    "failed",
    "fails",
    "hangs",
    "incorrect",
    "leaked",
    "leaks",
    "panicked",
    "panics",
    "regressed",
    "segfaults",
    "unsafe",
    "unusable",
    "vulnerable",
    "wrong",
];
/// Things that a statement says to be there: `there is a race`, and not `the race is over`.
const DEFECT: [&str; 7] = ["bug", "deadlock", "defect", "leak", "memory", "race", "regression"];
/// Words before one of these: `has a leak`.
const HAS: [&str; 8] = ["a", "an", "another", "contains", "has", "have", "the", "with"];
/// Words that say the same after `is`. Before a noun they only name it: `the flaky suite passes`.
const FAILING: [&str; 5] = ["broken", "failing", "flaky", "red", "unstable"];
/// Words before one of these.
const IS: [&str; 11] =
    ["are", "currently", "is", "keeps", "now", "remains", "stays", "still", "very", "was", "were"];
/// What a check does that holds. After a negation: `does not pass`, `no longer works`.
const PASSES: [&str; 13] = [
    "build", "builds", "compile", "compiles", "correct", "pass", "passes", "passing", "safe", "succeed",
    "work", "working", "works",
];
/// The beginning of a sentence about none: `no test fails`.
const NONE: [&str; 4] = ["neither", "no", "none", "nothing"];
/// Words after which something else fails: `prevents`, `even though`.
const OF_OTHERS: [&str; 14] = [
    "after", "although", "because", "catches", "detects", "finds", "handles", "prevents", "reports",
    "survives", "that", "though", "when", "which",
];
/// Words of a label that announce a finding without a defect: what was mended, and what was looked at.
const ASSESSMENTS: [&str; 9] =
    ["fix", "fixed", "fixes", "mend", "mended", "pitfall", "review", "reviewed", "reviews"];
/// Words that announce an acceptance, if they are among the first ones.
const ACCEPTANCES: [&str; 3] = ["accepted", "acceptance", "approved"];
/// Words that announce what an agent did or will do, if they are among the first ones. Numbers in it are no measurement.
const ANNOUNCEMENTS: [&str; 14] = [
    "announcement",
    "done",
    "fyi",
    "handover",
    "i'll",
    "merged",
    "next",
    "note",
    "please",
    "pushed",
    "ready",
    "released",
    "starting",
    "taking",
];
/// Words that address the reader of an announcement, wherever they stand: it tells what agents do, and not what is.
const ADDRESSES: [&str; 2] = ["please", "i'll"];
/// Words between the ends of a range of names.
const TO: [&str; 2] = ["through", "to"];
/// Verbs after which the author tells what it is going to do.
const INTENDS: [&str; 4] = ["must", "will", "need", "wait"];
/// Words before `review` that ask for one, or wait for one.
const ASKS_FOR: [&str; 9] = ["accept", "await", "for", "need", "needs", "please", "to", "want", "your"];
/// The number of words among which an acceptance or another message is announced.
const FIRST_WORDS: usize = 3;
/// Words of a list of tests. What such a list names is tested, and not reported.
const TESTS: [&str; 8] = ["test", "tests", "tested", "testing", "cases", "covered", "covers", "suite"];
/// Words after which a sentence tells a condition, and not what happened.
const CONDITIONS: [&str; 6] = ["if", "when", "whenever", "once", "should", "must"];
/// The number of words before another one in which a negation denies it.
const NEAR_WORDS: usize = 3;
/// The number of words before another one that may belong to its clause.
const CLAUSE_WORDS: usize = 5;
/// Words of a sentence that changes a part of the claim that it names.
const AMENDS: [&str; 14] = [
    "amend",
    "amended",
    "amendment",
    "amends",
    "changed",
    "changes",
    "corrected",
    "corrects",
    "extends",
    "instead",
    "refines",
    "replaces",
    "rest",
    "supersedes",
];
/// Words of a sentence that says what to do in place of something that failed.
const INSTEAD: [&str; 5] = ["instead", "use", "rather", "works", "better"];
/// Measured numbers of a statement that reports figures: one or two stand in most claims about code.
const MEASURED: usize = 3;
/// Numbers with a unit among them. Decimals alone are versions, scores and limits.
const WITH_UNIT: usize = 2;
/// Units of measured numbers; `x` is a ratio.
const UNITS: [&str; 16] =
    ["ns", "us", "µs", "ms", "s", "min", "h", "x", "%", "b", "kb", "mb", "gb", "kib", "mib", "gib"];
/// Scales between a number and what is counted: `4.13 M hits/s`.
const SCALES: [&str; 3] = ["k", "M", "G"];
/// Words that say that a defect is gone.
const MENDED: [&str; 8] =
    ["mended", "fixed", "done", "resolved", "solved", "repaired", "addressed", "committed"];
/// Two words by which a mend is asked for or announced, or is none: `must be fixed`, `fixed, and is back`, `fixed to one core`.
const NO_MEND: [[&str; 2]; 14] = [
    ["can", "be"],
    ["cannot", "be"],
    ["came", "back"],
    ["comes", "back"],
    ["fixed", "to"],
    ["is", "back"],
    ["must", "be"],
    ["need", "to"],
    ["needs", "to"],
    ["shall", "be"],
    ["should", "be"],
    ["to", "be"],
    ["will", "be"],
    ["would", "be"],
];
/// The fewest words of a reason that says more than that something is done.
const TELLING_WORDS: usize = 4;
/// The last word of a label that proposes a mend.
const MEND: [&str; 3] = ["mend", "fix", "remedy"];
/// The most words of such a label: `Cost of the mend`.
const MEND_LABEL_WORDS: usize = 4;
/// Words that count the demands of a review.
const COUNTS: [&str; 7] = ["a", "one", "two", "three", "four", "five", "six"];
/// Words that say that a claim does not stand any more.
pub const WITHDRAWN: [&str; 5] = ["withdraw", "withdrawn", "withdraws", "retract", "retracted"];
/// Words that turn the meaning of a sentence around.
const NEGATIONS: [&str; 8] = ["not", "no", "never", "isn't", "aren't", "wasn't", "unless", "until"];
/// Words that count none of what follows them.
const NONE_OF: [&str; 4] = ["0", "zero", "without", "neither"];

impl Part {
    /// The part of a claim. `is_asked`: an agent was asked about it and did not answer.
    pub fn of(claim_type: ClaimType, status: Status, statement: &str, is_asked: bool) -> Self {
        match (claim_type, status) {
            (ClaimType::Decision, _) => Self::Decision,
            (ClaimType::Negative, _) => Self::Finding,
            (ClaimType::Hypothesis, Status::Proposed) => Self::Open,
            (ClaimType::Fact | ClaimType::Hypothesis, _) if label(statement).is_some() => Self::Finding,
            (ClaimType::Fact | ClaimType::Hypothesis, _) if reports_figures(statement) => Self::Figure,
            (ClaimType::Fact, Status::Proposed) if is_asked => Self::Open,
            (ClaimType::Fact | ClaimType::Hypothesis, _) => Self::Other,
        }
    }
}

/// The words of a text in small letters.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '\''));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// What the label of a statement announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Defect,
    Assessment,
}

/// The first announcement of a label.
fn label(statement: &str) -> Option<Label> {
    // What names its mend is a defect, however it begins.
    if says_mend(statement).is_some() {
        return Some(Label::Defect);
    }
    let label: String = statement.chars().take(LABEL_CHARS).collect();
    let before: Vec<String> = words(&label).collect();
    before.iter().enumerate().find_map(|(at, word)| {
        let word = word.as_str();
        // `Finding 3: it leaks` is a label, `the reader is finding its place` is none.
        if DEFECTS.contains(&word) && (at == 0 || (word != "finding" && happened(&before[..at]))) {
            Some(Label::Defect)
        } else if (ASSESSMENTS.contains(&word) && !is_asked_for(&before[..at]))
            || (at < FIRST_WORDS && ACCEPTANCES.contains(&word))
        {
            Some(Label::Assessment)
        } else {
            None
        }
    })
}

/// Whether a review after these words is asked for.
fn is_asked_for(before: &[String]) -> bool {
    before.last().is_some_and(|word| ASKS_FOR.contains(&word.as_str()))
}

/// Whether a defect after these words of a statement happened: it is neither tested, nor a condition, nor denied.
fn happened(before: &[String]) -> bool {
    let says = |words: &[String], these: &[&str]| words.iter().any(|word| these.contains(&word.as_str()));
    let near = &before[before.len().saturating_sub(NEAR_WORDS)..];
    !says(before, &TESTS) && [&CONDITIONS[..], &NEGATIONS, &NONE_OF].iter().all(|these| !says(near, these))
}

/// Whether the statement of a review asks for a mend: `ONE must: the count is reset`.
pub fn asks_for_mend(statement: &str) -> bool {
    let words: Vec<&str> =
        statement.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_denied = |at: usize| {
        let before = at.checked_sub(1).map(|at| words[at].to_lowercase());
        before.is_some_and(|word| NEGATIONS.contains(&word.as_str()))
    };
    let is_counted = |at: usize| {
        let before = at.checked_sub(1).map(|at| words[at].to_lowercase()).unwrap_or_default();
        before.parse::<u8>().is_ok() || COUNTS.contains(&before.as_str())
    };
    words.iter().enumerate().any(|(at, word)| {
        let is_demand = *word == "MUST" || *word == "MUSTs" || *word == "musts";
        (is_demand || (*word == "must" && is_counted(at))) && !is_denied(at)
    }) && label(statement) == Some(Label::Assessment)
}

/// The sentences of a text that demand or forbid something.
pub fn demands(text: &str) -> impl Iterator<Item = &str> {
    let is_demand = |sentence: &&str| {
        let mut words = words(sentence);
        forbids(sentence) || words.any(|word| matches!(word.as_str(), "must" | "musts" | "never" | "always"))
    };
    text::sentences(text).map(str::trim).filter(is_demand)
}

/// Whether a statement reports figures. An announcement does not, whatever its numbers.
fn reports_figures(statement: &str) -> bool {
    let (with_unit, all) = measured(statement);
    with_unit >= WITH_UNIT && all >= MEASURED && !announces(statement)
}

/// Whether a statement announces what an agent did or is going to do.
fn announces(statement: &str) -> bool {
    let words: Vec<String> = words(statement).collect();
    let is_in = |word: &String, these: &[&str]| these.contains(&word.as_str());
    words.iter().take(FIRST_WORDS).any(|word| is_in(word, &ANNOUNCEMENTS))
        || words.iter().any(|word| is_in(word, &ADDRESSES))
        || words.windows(2).any(|pair| pair[0] == "i" && is_in(&pair[1], &INTENDS))
}

/// Whether a statement reports a defect. A review, an acceptance and the report of a mend do not, whatever they name.
pub fn reports_defect(statement: &str) -> bool {
    label(statement) == Some(Label::Defect)
}

/// Whether a statement says that something fails: which outcome of a check shows it, its author knows. By its words alone, so
/// that some are missed.
pub fn says_failure(statement: &str) -> bool {
    let words: Vec<String> = words(&statement.replace('\u{2019}', "'")).collect();
    let is_in = |at: usize, these: &[&str]| words.get(at).is_some_and(|word| these.contains(&word.as_str()));
    let denies = |word: &String| {
        NEGATIONS.contains(&word.as_str()) || word == "cannot" || word.ends_with("n't") || word == "stopped"
    };
    // An adverb may stand between: `does not yet pass`, `no longer works`.
    let is_denied = |at: usize| is_in(at, &PASSES) && words[at.saturating_sub(2)..at].iter().any(denies);
    reports_failure(&words) || (0..words.len()).any(is_denied)
}

/// Whether one of these words reports a failure: no condition, not denied, of something (`leaks no connection`), and not what
/// another sentence is about (`a write that fails`).
fn reports_failure(words: &[String]) -> bool {
    let says = |words: &[String], these: &[&str]| words.iter().any(|word| these.contains(&word.as_str()));
    if words.first().is_some_and(|first| NONE.contains(&first.as_str())) {
        return false;
    }
    words.iter().enumerate().any(|(at, word)| {
        let before = &words[at.saturating_sub(NEAR_WORDS)..at];
        let clause = &words[at.saturating_sub(CLAUSE_WORDS)..at];
        let last = &before[before.len().saturating_sub(1)..];
        let after = &words[at + 1..words.len().min(at + 2)];
        let is = |these: &[&str]| these.contains(&word.as_str());
        let reports = is(&FAILURES)
            || is(&FAILING) && says(last, &IS)
            || is(&DEFECT)
                && says(last, &HAS)
                && !says(&words[at + 1..], &MENDED)
                && (after.is_empty() || says(after, &["condition", "in", "leak"]));
        let is_denied = before.iter().any(|word| word == "cannot" || word.ends_with("n't"));
        reports
            && !is_denied
            && [&NEGATIONS[..], &NONE_OF].iter().all(|these| !says(before, these))
            && [&CONDITIONS[..], &OF_OTHERS].iter().all(|these| !says(clause, these))
            && !says(after, &["no", "zero", "over", "fast", "safe", "nothing", "none"])
    })
}

/// The part of a text that proposes a mend, from its label on: `Mend: only a begun load protects its entry`.
pub fn says_mend(text: &str) -> Option<&str> {
    let is_label = |label: &str| words(label).last().is_some_and(|word| MEND.contains(&word.as_str()));
    text.match_indices(": ").find_map(|(colon, _)| {
        let start = text[..colon].rfind(['.', ';', ':', '\n']).map_or(0, |at| at + 1);
        let label = text[start..colon].trim_start();
        // A label is short, and a statement that begins with one reports what was mended.
        let is_short = label.split_whitespace().count() <= MEND_LABEL_WORDS;
        (start > 0 && is_short && is_label(label)).then(|| text[start..].trim())
    })
}

/// The last sentence of a text that says what to do instead.
pub fn says_instead(text: &str) -> Option<&str> {
    let says = |sentence: &&str| words(sentence).any(|word| INSTEAD.contains(&word.as_str()));
    text.split('\n').flat_map(|line| line.split(". ")).map(str::trim).filter(says).last()
}

/// Whether a statement forbids something. A new reader must know it before its first command.
pub fn forbids(statement: &str) -> bool {
    let words: Vec<String> = words(statement).collect();
    words.iter().any(|word| word == "don't" || word == "mustn't")
        || words.windows(2).any(|pair| matches!(pair[0].as_str(), "do" | "must") && pair[1] == "not")
}

/// The numbers of a statement with a unit, and all that look measured: those and decimals.
fn measured(statement: &str) -> (usize, usize) {
    let tokens: Vec<&str> = statement
        .split(|c: char| c.is_whitespace() || "|,;()/=-".contains(c))
        .map(|token| token.trim_end_matches(['.', ':']))
        .filter(|token| !token.is_empty())
        .collect();
    let is_unit = |text: &str| UNITS.contains(&text.to_lowercase().as_str()) || SCALES.contains(&text);
    let (mut with_unit, mut all) = (0, 0);
    for (at, token) in tokens.iter().enumerate() {
        let (number, unit) =
            token.split_at(token.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(token.len()));
        let is_number = number.starts_with(|c: char| c.is_ascii_digit()) && number.matches('.').count() <= 1;
        let is_decimal = number.contains('.') && unit.is_empty();
        let has_unit =
            is_unit(unit) || (unit.is_empty() && tokens.get(at + 1).is_some_and(|next| is_unit(next)));
        with_unit += usize::from(is_number && has_unit);
        all += usize::from(is_number && (is_decimal || has_unit));
    }
    (with_unit, all)
}

/// Whether a text says in one sentence that it changes a part of the claim of this name.
pub fn says_amends_of(text: &str, name: &str) -> bool {
    text.split(['\n', ';']).flat_map(|part| part.split(". ")).any(|sentence| {
        words(sentence).any(|word| AMENDS.contains(&word.as_str()))
            && names_in(sentence).any(|named| named.to_string().eq_ignore_ascii_case(name))
    })
}

/// Whether a reason says more than that something is done: it has words beside names, commits and such reports.
pub fn tells_why(reason: &str) -> bool {
    // Names and commits have digits.
    let tells = |word: &String| !MENDED.contains(&word.as_str()) && !word.contains(char::is_numeric);
    words(reason).filter(tells).count() >= TELLING_WORDS
}

/// Whether a text says that what it is about is mended.
pub fn says_mended(text: &str) -> bool {
    sentences(text).any(is_mended)
}

/// Whether a text says in one sentence that the claim of this name is mended.
pub fn says_mended_of(text: &str, name: &str) -> bool {
    sentences(text).any(|sentence| is_mended(sentence) && is_named(sentence, name))
}

/// Whether a sentence quotes a short name, alone or within a range: `C21-C27`, `C21 to C27`.
fn is_named(sentence: &str, name: &str) -> bool {
    let Ok(name) = name.parse::<Name>() else { return false };
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let is_within = |three: &[&str]| {
        let [first, to, last] = three else { return false };
        TO.contains(to) && names_it(&format!("{first}-{last}"), name)
    };
    names_it(sentence, name) || words.windows(3).any(is_within)
}

/// Whether a text says in one sentence that the claim of this name is withdrawn.
pub fn says_withdrawn_of(text: &str, name: &str) -> bool {
    sentences(text).any(|sentence| {
        let words: Vec<String> = words(sentence).collect();
        let at = words.iter().position(|word| WITHDRAWN.contains(&word.as_str()));
        // `C17 withdrawn: no cut` denies the cut, and no word before it denies the withdrawal.
        at.is_some_and(|at| !words[..at].iter().any(|word| NEGATIONS.contains(&word.as_str())))
            && names_in(sentence).any(|named| named.to_string().eq_ignore_ascii_case(name))
    })
}

/// Whether a later text may tell the mend of the defect that it names: it reports no defect, and neither asks nor denies.
pub fn may_mend(text: &str) -> bool {
    let is_denied = |sentence: &str| {
        let says = |these: &[&str]| words(sentence).any(|word| these.contains(&word.as_str()));
        says(&["still"]) || (says(&MENDED) && says(&NEGATIONS))
    };
    let denies = sentences(text).any(is_denied);
    !reports_defect(text) && !asks_for_mend(text) && !text.contains('?') && !denies
}

fn is_mended(sentence: &str) -> bool {
    let words: Vec<String> = words(sentence).collect();
    let says = |these: &[&str]| words.iter().any(|word| these.contains(&word.as_str()));
    let is_none = |two: &[String]| NO_MEND.iter().any(|none| two[0] == none[0] && two[1] == none[1]);
    says(&MENDED) && !says(&NEGATIONS) && !words.windows(2).any(is_none)
}

/// The sentences of a text. A label before a colon is a sentence of its own.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';', ':']).flat_map(|part| part.split(". "))
}

#[cfg(test)]
mod tests {
    use super::{
        Part, asks_for_mend, demands, forbids, measured, reports_defect, says_amends_of, says_failure,
        says_instead, says_mend, says_mended, says_mended_of, says_withdrawn_of, tells_why,
    };
    use crate::domain::claim::{ClaimType, Status};

    /// Red before: a pass by another agent proved that a check does not pass.
    #[test]
    fn a_statement_says_that_something_fails() {
        for says in [
            "check.sh does not pass",
            "the flaky suite doesn't pass",
            "pool::take leaks a connection",
            "the build is broken on aarch64",
            "test_evict fails under load",
            "there is a bug in Cache.evict: it drops the newest entry",
            "the parser hangs on an empty file",
            "cargo build does not compile",
            "t.sh never passes",
            "t.sh cannot pass",
            "t.sh isn't passing",
            "f does not yet work",
            "f no longer works",
            "f is no longer correct",
            "f doesn\u{2019}t pass",
            "f stopped working",
            "f is currently broken",
            "f failed on main",
            "f fails without a network",
            "f fails until the cache is warm",
            "f is not thread safe",
            "f has a race condition",
            "f returns the wrong number",
            "the check of f is red",
        ] {
            assert!(says_failure(says), "{says}");
        }
        for other in [
            "check.sh passes",
            "the flaky suite passes",
            "a broken pipe ends the reader",
            "the pool leaks no connection",
            "Cache.evict never breaks the order of keys",
            "the retry starts when a request fails",
            "take() returns None and does not block",
            "the tests cover a write that fails",
            "the bound is inclusive",
            "the regression suite passes",
            "the leak in pool::take is fixed",
            "fail-fast mode works",
            "Cache.evict does not hold the lock while it calls back",
            "no test of f fails",
            "none of the tests fails",
            "neither f nor g leaks",
            "f cannot fail",
            "f prevents deadlocks and leaks",
            "f fails over to the replica",
            "f works even though g fails",
            "f passes when the database is broken",
            "the leak detector is on",
        ] {
            assert!(!says_failure(other), "{other}");
        }
    }

    #[test]
    fn a_mend_that_is_proposed_makes_a_statement_a_defect() {
        let late =
            format!("{}. Mend: import it at the top", "the key is a hit after a fresh load ".repeat(9));
        assert_eq!(says_mend(&late), Some("Mend: import it at the top"));
        assert!(reports_defect(&late));
        assert_eq!(says_mend("it leaks; cost of the mend: a check"), Some("cost of the mend: a check"));
        for other in ["Fix: the pool is bounded", "what we mend and when: never", "it is mended. Done: yes"] {
            assert_eq!(says_mend(other), None, "{other}");
        }
    }

    #[test]
    fn a_statement_tells_its_part() {
        let part = |statement: &str| Part::of(ClaimType::Fact, Status::Confirmed, statement, false);
        for (statement, expected) in [
            ("BUG: the pool deadlocks when a handler asks it again", Part::Finding),
            ("Review of 8af13c2: two of the five handlers close the socket twice", Part::Finding),
            ("insert takes 1.4 us, lookup 0.9 us, delete 220 ns (median of 7)", Part::Figure),
            ("cold start: 41 ms | warm 12 ms | p99 88.5 ms", Part::Figure),
            ("one queue serves 1.09 M/s, one for each worker 1.55 M items/s (1.42x)", Part::Figure),
            ("plans K, M and L have 3 seats, 5 M more is 2 seats", Part::Other),
            ("the pool holds 20 connections for 30 s", Part::Other),
            ("the reader of the log is one thread; a bug there stops all", Part::Finding),
            ("version 1.2 of the wire format has 3 frames", Part::Other),
            ("the scores are 0.62, 0.71 and 0.8 for the three orders", Part::Other),
            ("devops ready: v1 takes 3 s, 12 MB and 40 ms; please look", Part::Other),
            ("tests of the pool: a crash in take(), a handler that hangs, a full ring", Part::Other),
            ("Finding 3: a slot is given out twice", Part::Finding),
            ("the reader is finding its place by the name of the frame", Part::Other),
            ("devops: your pool.rs is taken. I reviewed it: two fixes are needed", Part::Finding),
        ] {
            assert_eq!(part(statement), expected, "{statement}: {:?}", measured(statement));
        }
        let of = |claim_type, status, is_asked| Part::of(claim_type, status, "BUG: it hangs", is_asked);
        assert_eq!(of(ClaimType::Decision, Status::Proposed, true), Part::Decision);
        assert_eq!(of(ClaimType::Negative, Status::Proposed, true), Part::Finding);
        // A bug is a finding, also while an agent is asked about it.
        assert_eq!(of(ClaimType::Fact, Status::Proposed, true), Part::Finding);
        let asked = |statement| Part::of(ClaimType::Fact, Status::Proposed, statement, true);
        assert_eq!(asked("insert takes 1.4 us, lookup 0.9 us, delete 220 ns"), Part::Figure);
        assert_eq!(asked("devops: is the pool shared by all handlers?"), Part::Open);
        assert_eq!(of(ClaimType::Fact, Status::Confirmed, true), Part::Finding);
        assert_eq!(of(ClaimType::Hypothesis, Status::Proposed, false), Part::Open);
    }

    #[test]
    fn only_the_report_of_a_defect_is_open_or_mended() {
        assert!(reports_defect("BUG: the pool deadlocks. Found in the review of 8af13c2"));
        assert!(reports_defect("Regression: opening takes 9 s"));
        assert!(!reports_defect("Review of 8af13c2: two bugs, both mended"));
        assert!(!reports_defect("C21 fixed in 9c2e11a: no deadlock any more"));
        assert!(!reports_defect("Accepted: 61 tests pass, no crash is left"));
        assert!(!reports_defect("the pool holds 20 connections"));
        assert!(!reports_defect("34 tests: restart after a crash, a write that fails, a leak of slots"));
        assert!(!reports_defect("the caller waits again if a write fails"));
        assert!(!reports_defect("there is no leak of slots in the ring"));
        assert!(reports_defect("the pool leaks a slot when a handler panics"));
        assert!(asks_for_mend("Review of 8af13c2: good. ONE must: give() resets the count"));
        assert!(asks_for_mend("review: MUST close the socket"));
        assert!(!asks_for_mend("Review of 8af13c2: no MUST, two ideas"));
        assert!(!asks_for_mend("the caller must close it"));
        assert_eq!(
            says_instead("mmap fails. Use pread instead. It was tried twice"),
            Some("Use pread instead")
        );
        assert_eq!(says_instead("mmap fails"), None);
    }

    #[test]
    fn a_text_demands_in_some_of_its_sentences() {
        let of = |text| demands(text).collect::<Vec<_>>();
        assert_eq!(
            of("One file. Records MUST be sorted. It never shrinks; readers wait."),
            ["Records MUST be sorted.", "It never shrinks;"]
        );
        assert!(
            says_amends_of("C3 amended: 64 MiB", "C3") && says_amends_of("64 MiB; rest of C3 stands", "C3")
        );
        assert!(!says_amends_of("C3 is built in 3f2a901. The rest waits", "C3"));
        assert!(
            !tells_why("done: C25, C30, C31, C32, e3756ff") && tells_why("it ran twice without a leak in C3")
        );
    }

    #[test]
    fn a_statement_forbids_with_two_words() {
        assert!(forbids("Do not rename a field of Record"));
        assert!(forbids("the tests must not share a port"));
        assert!(!forbids("the tests do share a port, and not a file"));
    }

    #[test]
    fn a_withdrawal_is_said_of_one_claim_and_not_denied() {
        let of = |text: &str| says_withdrawn_of(text, "C17");
        assert!(of("devops: C18 obeyed (C17 withdrawn: no CONT, no cut)"));
        assert!(of("I withdraw C17, it was never built"));
        assert!(!of("I do not withdraw C17"));
        assert!(!of("C17 stands; C16 is withdrawn"));
    }

    #[test]
    fn a_mend_is_said_of_one_claim_and_not_denied() {
        assert!(says_mended("all four mended at the head of branch devops"));
        assert!(!says_mended("this is not fixed; I look at it"));
        assert!(says_mended("not by me. Fixed in 8af13c2"));
        let of = |text: &str| says_mended_of(text, "C26");
        assert!(of("8af13c2: all of C26 is mended (2 runs)"));
        assert!(of("my last code: C22 MUST and C26 (1)-(4) done"));
        assert!(of("branch two: all parts; C21 to C27 mended; a merge waits"));
        assert!(of("C24-C26 are fixed") && of("C26 through C30, and the rest, are fixed"));
        assert!(!of("C21 to C25 mended"));
        // Red before: what asks for a mend or announces one was one, and so was what came back.
        for none in [
            "C26 must be fixed before the release",
            "C26 will be fixed by the new driver",
            "C26 was fixed, and is back since 9f",
            "a run is fixed to one core because of C26",
            "C26 needs to be resolved",
        ] {
            assert!(!of(none), "{none}");
        }
        assert!(!of("C26 is not fixed"));
        assert!(!of("C22 is fixed; C26 waits"));
        assert!(!of("all of C261 is mended"));
    }
}
