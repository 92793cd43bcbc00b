//! What the command line prints, and what its exit code says.
#![expect(clippy::print_stdout, reason = "this is the one place of the command line that prints")]

use std::io::{BufWriter, IsTerminal, Write};
use std::ops::Range;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use textwrap::core::{Word, display_width};
use textwrap::{WordSeparator, WordSplitter};

use super::names::shortened;
use crate::domain::clean;
use crate::domain::receipt::Receipt;
use crate::domain::rejection::{Code, Rejection};
use crate::ledger::LedgerError;
use crate::steps::{in_shell, in_shell_json};
use crate::store::StoreError;
use crate::views;
use crate::views::ViewError;

/// Columns of human output (spec: tables fit 100), unless the terminal has more.
const WIDTH: usize = 100;
/// Why a verb did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// A rule or the store said no.
    Rejected(Box<Rejection>),
    /// The call itself is wrong.
    Usage(String),
    /// What was checked does not hold; the report is printed already.
    Broken,
    /// Whoever read the output has gone, such as `head`; there is nobody to tell.
    Unheard,
    /// A typed command that did not start.
    NeverStarted {
        /// Whether there is a file of its name.
        found: bool,
        /// Why, and what to do.
        text: String,
    },
    /// Something that should not happen.
    Internal(String),
}

/// How the next page is asked for.
pub(super) fn more(option: &str, value: impl std::fmt::Display) -> String {
    format!("more: the same with --{option} {value}\n")
}

impl Failure {
    /// A call that cannot be right.
    pub(super) fn usage(problem: impl ToString) -> Self {
        Self::Usage(problem.to_string())
    }

    /// Something that should not happen.
    pub(super) fn internal(problem: impl ToString) -> Self {
        Self::Internal(problem.to_string())
    }

    /// Says it on stderr (or stdout with `--json`) and gives the exit code.
    pub(super) fn report(&self, as_json: bool) -> ExitCode {
        let (code, text, value) = match self {
            Self::Rejected(rejection) => {
                (exit_code(rejection.code), refused(rejection), serde_json::to_value(rejection).ok())
            }
            Self::Usage(text) => {
                (2, text.clone(), Some(serde_json::json!({ "code": "usage", "message": text })))
            }
            Self::Internal(text) => {
                (70, text.clone(), Some(serde_json::json!({ "code": "internal", "message": text })))
            }
            // As a shell says it.
            Self::NeverStarted { found, text } => (
                if *found { 126 } else { 127 },
                text.clone(),
                Some(serde_json::json!({ "code": "never_started", "message": text })),
            ),
            Self::Broken => return ExitCode::from(1),
            Self::Unheard => return ExitCode::SUCCESS,
        };
        match value.filter(|_| as_json) {
            Some(value) => println!("{}", json(&in_shell_json(&value))),
            // It may quote an argument, or what somebody else wrote.
            None => {
                eprintln!("hm: {}", clean::cleaned(&shortened(&text)));
            }
        }
        ExitCode::from(code)
    }
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(Box::new(rejection))
    }
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Self {
        Rejection::from(error).into()
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        ViewError::from(error).into()
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        ViewError::from(error).into()
    }
}

impl From<std::io::Error> for Failure {
    /// Of writing output; a reader that left is no fault.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::Unheard
        } else {
            Self::Internal(format!("cannot write the output: {error}"))
        }
    }
}

/// A refusal in the words of a shell, in which nothing is called.
fn refused(rejection: &Rejection) -> String {
    let said = rejection.to_string();
    let said =
        said.strip_suffix("and call again").map_or(said.clone(), |said| format!("{said}and run it again"));
    in_shell(&said).into_owned()
}

/// One code for each kind of refusal: 1 a rule said no, 2 the call is wrong, 75 try again later.
const fn exit_code(code: Code) -> u8 {
    match code {
        Code::InvalidArgument | Code::UnknownAgent | Code::AgentRequired => 2,
        Code::Unavailable | Code::VersionMismatch => 75,
        Code::AgentMismatch
        | Code::UnknownClaim
        | Code::UnknownEvidence
        | Code::AmbiguousEvidence
        | Code::DuplicateEvidence
        | Code::DuplicateClaim
        | Code::InvalidTransition
        | Code::ClaimDeprecated
        | Code::OwnClaim
        | Code::AlreadySuperseded
        | Code::TargetConflict
        | Code::RationaleRequired
        | Code::NoAlias
        | Code::NoDecision
        | Code::DuplicateOutcome
        | Code::DuplicateAlias
        | Code::UnknownProfile
        | Code::WrongProfile
        | Code::UntrustedProfile
        | Code::UnknownRun
        | Code::NoExpectation
        | Code::ProfileCannotSettle
        | Code::NotAttachable
        | Code::Duplicate
        | Code::UnknownNode
        | Code::UnknownTask
        | Code::UnknownPlan
        | Code::UnknownSession
        | Code::UnknownWorktree
        | Code::TaskTaken
        | Code::ScopeLocked
        | Code::TaskNotReady
        | Code::StaleToken
        | Code::NotAllowed
        | Code::Redacted
        | Code::IdempotencyConflict
        | Code::PrivacyDenySensitive
        | Code::Diverged
        | Code::TooLarge => 1,
    }
}

/// Whether there is a terminal to ask at.
pub(super) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Asks a question at the terminal; only a yes is one. None where there is no terminal to ask at.
pub(super) fn agreed(question: &str) -> Result<Option<bool>, Failure> {
    if !can_ask() {
        return Ok(None);
    }
    let stdin = std::io::stdin();
    let mut out = stream();
    write!(out, "{question} [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    std::io::BufRead::read_line(&mut stdin.lock(), &mut answer)?;
    Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
}

/// Prints one line; whoever left does not read it.
pub(super) fn line(text: &str) {
    let _ = writeln!(stream(), "{}", clean::cleaned(text));
}

/// Why something did not succeed, on one line.
pub(super) fn inline(failure: &Failure) -> String {
    let text = match failure {
        Failure::Rejected(rejection) => rejection.message.clone(),
        Failure::Usage(text) | Failure::Internal(text) | Failure::NeverStarted { text, .. } => text.clone(),
        Failure::Broken | Failure::Unheard => String::new(),
    };
    views::inline(&text, 400)
}

/// Says on stderr what goes on besides the answer.
pub(super) fn note(text: &str) {
    eprintln!("hm: {}", clean::cleaned(&shortened(&in_shell(text))));
}

/// Prints text or JSON, as asked.
pub(super) fn print(as_json: bool, text: &str, value: &Value) -> Result<(), Failure> {
    let mut out = stream();
    if as_json {
        writeln!(out, "{}", json(&in_shell_json(value)))?
    } else {
        out.write_all(clean::cleaned(text).as_bytes())?
    }
    Ok(out.flush()?)
}

/// How many columns there are to print on.
fn columns() -> usize {
    if std::io::stdout().is_terminal() { textwrap::termwidth().max(WIDTH) } else { WIDTH }
}

/// Text in lines that fit, broken at spaces where there are any. What goes on is indented below its line, and deeper
/// than the entry of a list could be there.
pub(super) fn fitted(text: &str) -> String {
    clean::cleaned(&shortened(&in_shell(text))).lines().fold(String::new(), |fitted, line| {
        let lead = line.len() - line.trim_start_matches([' ', '>']).len();
        let quote = &line[..lead];
        let indent = if quote.contains('>') { quote.to_owned() } else { format!("{quote}    ") };
        fitted + &wrapped("", &indent, line)
    })
}

/// One line after `first` as lines that fit, each but the first after `indent`.
pub(super) fn wrapped(first: &str, indent: &str, line: &str) -> String {
    // No id is broken at its hyphens.
    // A command that is longer than a line is not broken either: each part would be another one.
    let is_long = commands(line).any(|command| display_width(&line[command]) > columns() - indent.len());
    let fit = textwrap::Options::new(columns())
        .break_words(!is_long)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation);
    let lines = textwrap::wrap(line, fit.initial_indent(first).subsequent_indent(indent));
    lines.iter().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

/// The commands in a line, with their back-quotes: a terminal takes one only where it stands on one line.
fn commands(line: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    line.match_indices("`hm ").filter_map(|(at, _)| {
        let end = line[at + 1..].find('`')?;
        Some(at..at + end + 2)
    })
}

/// What ends with a space outside of a command, or is a member of JSON, in which there are none.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let commands: Vec<Range<usize>> = commands(line).collect();
    let is_end = move |end: usize| {
        (line[..end].ends_with(' ') || line[end..].starts_with('"'))
            && !commands.iter().any(|command| command.start < end && end < command.end)
    };
    let ends = line.match_indices([' ', ',']).map(|(at, _)| at + 1);
    let mut start = 0;
    Box::new(ends.filter(move |end| is_end(*end)).chain([line.len()]).map(move |end| {
        let word = Word::from(&line[start..end]);
        start = end;
        word
    }))
}

/// A row of a list: one line in a pipe, for `grep` and programs, and lines that fit at a terminal.
pub(super) fn row(line: &str) -> String {
    let line = clean::cleaned(&named(line)).into_owned();
    if std::io::stdout().is_terminal() { wrapped("", "    ", &line) } else { line + "\n" }
}

/// A text with names in place of ids.
pub(super) fn named(text: &str) -> String {
    shortened(text).into_owned()
}

/// Stored text on one line of at most so many columns, of which some characters take two.
pub(super) fn cut(text: &str, columns: usize) -> String {
    let flat = views::inline(text, usize::MAX);
    if display_width(&flat) <= columns {
        return flat;
    }
    let mut kept = String::new();
    for c in flat.chars() {
        kept.push(c);
        if display_width(&kept) >= columns {
            kept.pop();
            break;
        }
    }
    kept + "…"
}

/// JSON whose strings hold no character that a terminal would act on.
pub(super) fn json(value: &Value) -> String {
    clean::escaped_json(&value.to_string()).into_owned()
}

/// Stdout for output of any length; flush it at the end.
pub(super) fn stream() -> impl Write {
    BufWriter::new(std::io::stdout().lock())
}

/// Where long work stands, on stderr, when somebody is there to see it.
pub(super) fn progress(doing: &'static str, of: u64) -> ProgressBar {
    let shown = std::io::stderr().is_terminal();
    let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} events")
        .expect("a template of known keys");
    ProgressBar::with_draw_target(Some(of), target).with_style(style).with_message(doing)
}

/// Something that goes on, for whoever watches.
pub(super) fn spinner(doing: &'static str) -> ProgressBar {
    let shown = std::io::stderr().is_terminal();
    let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(None, target).with_message(doing);
    bar.enable_steady_tick(std::time::Duration::from_millis(100));
    bar
}

/// A receipt in one line and its warnings below.
pub(super) fn receipt(verb: &str, receipt: &Receipt) -> String {
    let mut text = views::receipt_line(receipt, verb) + "\n";
    for cited in views::cited_lines(receipt) {
        text.push_str(&format!("{cited}\n"));
    }
    for warning in &receipt.warnings {
        let at_it = receipt.by_now(warning.claim_id);
        text.push_str(&format!("{}: {}{at_it}\n", warning.code.label(), warning.message));
    }
    for id in &receipt.similar {
        text.push_str(&format!("similar: hm claim show {id}{}\n", receipt.by_now(Some(*id))));
    }
    for id in &receipt.alike {
        let at_it = receipt.by_now(Some(*id));
        text.push_str(&format!("alike, compare the values: hm claim show {id}{at_it}\n"));
    }
    if let Some(meaning) = &receipt.meaning {
        text.push_str(&format!("{meaning}\n"));
    }
    if let Some(next) = &receipt.next {
        text.push_str(&format!("next: {}\n", next));
    }
    fitted(&text)
}
