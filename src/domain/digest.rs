//! The parts of a summary for a reader who is new: what was decided, found out and measured, and what is open. The author
//! of a claim gives it a type and no part, so a part is read out of its type, its status and its statement.

use super::claim::{ClaimType, Status};
use super::names::names_in;

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
const DEFECTS: [&str; 19] = [
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
    "hangs",
    "leak",
    "leaks",
    "regression",
    "regressions",
    "trap",
];
/// Words of a label that announce a finding without a defect: what was mended, and what was looked at.
const ASSESSMENTS: [&str; 9] =
    ["fix", "fixed", "fixes", "mend", "mended", "pitfall", "review", "reviewed", "reviews"];
/// Words that announce an acceptance, if they are among the first ones.
const ACCEPTANCES: [&str; 3] = ["accepted", "acceptance", "approved"];
/// The number of words among which an acceptance is announced.
const FIRST_WORDS: usize = 3;
/// Words of a sentence that says what to do in place of something that failed.
const INSTEAD: [&str; 5] = ["instead", "use", "rather", "works", "better"];
/// Measured numbers of a statement that reports figures: one or two stand in most claims about code.
const MEASURED: usize = 3;
/// Units of measured numbers; `x` is a ratio.
const UNITS: [&str; 16] =
    ["ns", "us", "µs", "ms", "s", "min", "h", "x", "%", "b", "kb", "mb", "gb", "kib", "mib", "gib"];
/// Words that say that a defect is gone.
const MENDED: [&str; 8] =
    ["mended", "fixed", "done", "resolved", "solved", "repaired", "addressed", "committed"];
/// Words that say that a claim does not stand any more.
const WITHDRAWN: [&str; 5] = ["withdraw", "withdrawn", "withdraws", "retract", "retracted"];
/// Words that turn the meaning of a sentence around.
const NEGATIONS: [&str; 8] = ["not", "no", "never", "isn't", "aren't", "wasn't", "unless", "until"];

impl Part {
    /// The part of a claim. `is_asked`: an agent was asked about it and did not answer.
    pub fn of(claim_type: ClaimType, status: Status, statement: &str, is_asked: bool) -> Self {
        match (claim_type, status) {
            (ClaimType::Decision, _) => Self::Decision,
            (ClaimType::Negative, _) => Self::Finding,
            (ClaimType::Hypothesis, Status::Proposed) => Self::Open,
            (ClaimType::Fact | ClaimType::Hypothesis, _) if label(statement).is_some() => Self::Finding,
            (ClaimType::Fact | ClaimType::Hypothesis, _) if measured(statement) >= MEASURED => Self::Figure,
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
    let label: String = statement.chars().take(LABEL_CHARS).collect();
    words(&label).enumerate().find_map(|(at, word)| {
        let word = word.as_str();
        // `Finding 3: it leaks` is a label, `the reader is finding its place` is none.
        if DEFECTS.contains(&word) && (at == 0 || word != "finding") {
            Some(Label::Defect)
        } else if ASSESSMENTS.contains(&word) || (at < FIRST_WORDS && ACCEPTANCES.contains(&word)) {
            Some(Label::Assessment)
        } else {
            None
        }
    })
}

/// Whether a statement reports a defect. A review, an acceptance and the report of a mend do not, whatever they name.
pub fn reports_defect(statement: &str) -> bool {
    label(statement) == Some(Label::Defect)
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

/// The numbers of a statement that look measured: decimals, and numbers with a unit.
fn measured(statement: &str) -> usize {
    let tokens: Vec<&str> = statement
        .split(|c: char| c.is_whitespace() || "|,;()/=-".contains(c))
        .map(|token| token.trim_end_matches(['.', ':']))
        .filter(|token| !token.is_empty())
        .collect();
    let is_unit = |text: &str| UNITS.contains(&text.to_lowercase().as_str());
    let is_measured = |(at, token): (usize, &&str)| {
        let (number, unit) =
            token.split_at(token.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(token.len()));
        let is_number = number.starts_with(|c: char| c.is_ascii_digit()) && number.matches('.').count() <= 1;
        let is_decimal = number.contains('.') && unit.is_empty();
        is_number
            && (is_decimal
                || is_unit(unit)
                || (unit.is_empty() && tokens.get(at + 1).is_some_and(|next| is_unit(next))))
    };
    tokens.iter().enumerate().filter(|token| is_measured(*token)).count()
}

/// Whether a text says that what it is about is mended.
pub fn says_mended(text: &str) -> bool {
    sentences(text).any(is_mended)
}

/// Whether a text says in one sentence that the claim of this name is mended.
pub fn says_mended_of(text: &str, name: &str) -> bool {
    sentences(text).any(|sentence| {
        is_mended(sentence) && names_in(sentence).any(|named| named.to_string().eq_ignore_ascii_case(name))
    })
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

fn is_mended(sentence: &str) -> bool {
    let words: Vec<String> = words(sentence).collect();
    let says = |these: &[&str]| words.iter().any(|word| these.contains(&word.as_str()));
    says(&MENDED) && !says(&NEGATIONS)
}

/// The sentences of a text. A label before a colon is a sentence of its own.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';', ':']).flat_map(|part| part.split(". "))
}

#[cfg(test)]
mod tests {
    use super::{
        Part, forbids, measured, reports_defect, says_instead, says_mended, says_mended_of, says_withdrawn_of,
    };
    use crate::domain::claim::{ClaimType, Status};

    #[test]
    fn a_statement_tells_its_part() {
        let part = |statement: &str| Part::of(ClaimType::Fact, Status::Confirmed, statement, false);
        for (statement, expected) in [
            ("BUG: the pool deadlocks when a handler asks it again", Part::Finding),
            ("Review of 8af13c2: two of the five handlers close the socket twice", Part::Finding),
            ("insert takes 1.4 us, lookup 0.9 us, delete 220 ns (median of 7)", Part::Figure),
            ("cold start: 41 ms | warm 12 ms | p99 88.5 ms", Part::Figure),
            ("the pool holds 20 connections for 30 s", Part::Other),
            ("the reader of the log is one thread; a bug there stops all", Part::Finding),
            ("version 1.2 of the wire format has 3 frames", Part::Other),
            ("Finding 3: a slot is given out twice", Part::Finding),
            ("the reader is finding its place by the name of the frame", Part::Other),
            ("devops: your pool.rs is taken. I reviewed it: two fixes are needed", Part::Finding),
        ] {
            assert_eq!(part(statement), expected, "{statement}: {}", measured(statement));
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
        assert_eq!(
            says_instead("mmap fails. Use pread instead. It was tried twice"),
            Some("Use pread instead")
        );
        assert_eq!(says_instead("mmap fails"), None);
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
        assert!(!of("C26 is not fixed"));
        assert!(!of("C22 is fixed; C26 waits"));
        assert!(!of("all of C261 is mended"));
    }
}
