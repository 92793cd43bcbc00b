//! The output of the command line and its exit codes.
#![expect(clippy::print_stdout, reason = "this is the one place of the command line that prints")]

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{BufWriter, IsTerminal, Write};
use std::ops::Range;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use textwrap::core::{Word, display_width};
use textwrap::{WordSeparator, WordSplitter};

use super::names::{in_shell, in_shell_json, shortened};
use crate::domain::clean;
use crate::domain::receipt::Receipt;
use crate::domain::rejection::{Code, Rejection};
use crate::ledger::LedgerError;
use crate::store::{ClaimSummary, StoreError};
use crate::system;
use crate::views::{self, Room, RowReader, Stage, ViewError};

/// Width of the output in columns, also of tables, where neither a terminal nor `COLUMNS` says another one.
const WIDTH: usize = 100;
/// The narrowest output, in columns.
const LEAST_WIDTH: usize = 60;
/// The reason why a verb failed.
#[derive(Debug)]
pub enum Failure {
    /// A rule or the store refused the command.
    Rejected(Box<Rejection>),
    /// The call itself is wrong.
    Usage(String),
    /// The command line does not parse, for programs.
    Mistyped(Value),
    /// A check failed. Its report is printed already.
    Broken,
    /// Of several commands some failed. Each failure is printed already; this is the highest exit code.
    Several(u8),
    /// The reader of the output is gone, such as `head`. Further output has no reader.
    Unheard,
    /// A typed command that did not start.
    NeverStarted {
        /// Whether a file of this name exists.
        found: bool,
        /// The reason, and the way forward.
        text: String,
    },
    /// An internal error.
    Internal(String),
}

/// Whether this process has submitted a command.
static HAS_SUBMITTED: AtomicBool = AtomicBool::new(false);

/// Records that this process submits a command, for a failure of the output after it.
pub(super) fn submits() {
    HAS_SUBMITTED.store(true, Ordering::Relaxed);
}

/// The line with the option for the next page.
pub(super) fn more(option: &str, value: impl std::fmt::Display) -> String {
    format!("more: the same with --{option} {value}\n")
}

impl Failure {
    /// The failure for a wrong call.
    pub(super) fn usage(problem: impl ToString) -> Self {
        Self::Usage(problem.to_string())
    }

    /// The failure for an internal error.
    pub(super) fn internal(problem: impl ToString) -> Self {
        Self::Internal(problem.to_string())
    }

    /// Prints the failure on stderr (with `--json` on stdout) and returns its exit code.
    pub(super) fn report(&self, as_json: bool) -> ExitCode {
        ExitCode::from(self.printed(as_json))
    }

    /// Like [`Failure::report`], as a number.
    fn printed(&self, as_json: bool) -> u8 {
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
            Self::Mistyped(value) => (2, String::new(), Some(value.clone())),
            // The codes and the format of a shell.
            Self::NeverStarted { found, text } => (
                if *found { 126 } else { 127 },
                text.clone(),
                Some(serde_json::json!({ "code": "never_started", "message": text })),
            ),
            Self::Broken => return 1,
            Self::Several(code) => return *code,
            Self::Unheard => return 0,
        };
        match value.filter(|_| as_json) {
            Some(value) => {
                let value = in_shell_json(&value);
                if let Some(value) = gathered(value) {
                    println!("{}", json(&value));
                }
            }
            None => complain(&text),
        }
        code
    }
}

/// Prints the failure of one of several commands, with the name that was typed. Returns its exit code.
pub(super) fn said_of(typed: &str, failure: Failure, as_json: bool) -> u8 {
    let named = |text: String| match shortened(&text).contains(typed) {
        true => text,
        false => format!("{typed}: {text}"),
    };
    let failure = match failure {
        // What was typed may be the secret.
        Failure::Rejected(rejection) if rejection.code == Code::PrivacyDenySensitive => {
            Failure::Rejected(rejection)
        }
        Failure::Rejected(mut rejection) => {
            rejection.message = named(rejection.message);
            Failure::Rejected(rejection)
        }
        Failure::Usage(text) => Failure::Usage(named(text)),
        Failure::Internal(text) => Failure::Internal(named(text)),
        other @ (Failure::Broken
        | Failure::Several(_)
        | Failure::Unheard
        | Failure::Mistyped(_)
        | Failure::NeverStarted { .. }) => other,
    };
    failure.printed(as_json)
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
    /// For errors of writing output. A closed pipe is no fault.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::Unheard
        } else {
            let may_be_done = if HAS_SUBMITTED.load(Ordering::Relaxed) {
                "; the command may have been committed, so look before you repeat it: `hm log`"
            } else {
                ""
            };
            Self::Internal(format!("cannot write the output: {error}{may_be_done}"))
        }
    }
}

/// A refusal for the shell: "run it again" instead of "call again".
fn refused(rejection: &Rejection) -> String {
    let said = rejection.to_string();
    let said =
        said.strip_suffix("and call again").map_or(said.clone(), |said| format!("{said}and run it again"));
    in_shell(&said).into_owned()
}

/// The exit code for a refusal: 1 a rule refused, 2 the call is wrong, 75 try again later.
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
        | Code::ChallengeAnswered
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
        | Code::UnknownPattern
        | Code::UnknownPlaybook
        | Code::UnknownSession
        | Code::UnknownGuard
        | Code::UnknownMemory
        | Code::UnknownWorktree
        | Code::TaskTaken
        | Code::ScopeLocked
        | Code::TaskNotReady
        | Code::StaleToken
        | Code::NotAllowed
        | Code::Redacted
        | Code::IdempotencyConflict
        | Code::PrivacyDenySensitive
        | Code::WritePolicyNone
        | Code::WritePolicyMinimal
        | Code::WritePolicyNormal
        | Code::EventTypeDenied
        | Code::UserKeyDenied
        | Code::BorderClosed
        | Code::AuthorityTooLow
        | Code::TrustHumanOnly
        | Code::Diverged
        | Code::TooLarge => 1,
    }
}

/// Whether a human at a terminal can answer a question.
pub(super) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Asks a question at the terminal. Only `y` or `yes` agrees. Returns None without a terminal.
pub(super) fn agreed(question: &str) -> Result<Option<bool>, Failure> {
    agreed_after(question, "y/N", |_| None)
}

/// Like [`agreed`]. An answer for which `shows` has a text prints that text, and the question is asked again.
pub(super) fn agreed_after(
    question: &str,
    answers: &str,
    shows: impl Fn(&str) -> Option<String>,
) -> Result<Option<bool>, Failure> {
    if !can_ask() {
        return Ok(None);
    }
    loop {
        let mut out = stream();
        write!(out, "{question} [{answers}] ")?;
        out.flush()?;
        let mut answer = String::new();
        std::io::BufRead::read_line(&mut std::io::stdin().lock(), &mut answer)?;
        match shows(answer.trim()) {
            Some(text) => print_text(&text)?,
            None => return Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes"))),
        }
    }
}

/// Prints one line. If the reader is gone, the line is lost.
pub(super) fn line(text: &str) {
    let _ = writeln!(stream(), "{}", clean::cleaned(text));
}

/// The reason of a failure on one line.
pub(super) fn inline(failure: &Failure) -> String {
    let text = match failure {
        Failure::Rejected(rejection) => rejection.message.clone(),
        Failure::Usage(text) | Failure::Internal(text) | Failure::NeverStarted { text, .. } => text.clone(),
        Failure::Broken | Failure::Several(_) | Failure::Unheard | Failure::Mistyped(_) => String::new(),
    };
    views::inline(&text, 400)
}

/// Prints a note on stderr, beside the answer on stdout.
pub(super) fn note(text: &str) {
    complain(&in_shell(text));
}

/// Number of columns of the terminal at stderr, also where stdout goes elsewhere.
pub(super) fn stderr_columns() -> usize {
    textwrap::termwidth().max(LEAST_WIDTH)
}

/// Prints a text on stderr, wrapped at a terminal. It may quote an argument or stored text.
fn complain(text: &str) {
    let text = shortened(text);
    let text = clean::cleaned(&text);
    if !std::io::stderr().is_terminal() {
        eprintln!("hm: {text}");
        return;
    }
    let mut lead = "hm: ";
    for line in text.lines() {
        eprint!("{}", wrapped_in(stderr_columns(), lead, "    ", line));
        lead = "    ";
    }
}

/// Prints text or JSON, as asked.
pub(super) fn print(as_json: bool, text: &str, value: &Value) -> Result<(), Failure> {
    if as_json { print_json(value) } else { print_text(text) }
}

/// Prints an answer for programs.
pub(super) fn print_json(value: &Value) -> Result<(), Failure> {
    let Some(value) = gathered(in_shell_json(value)) else { return Ok(()) };
    let mut out = stream();
    writeln!(out, "{}", json(&value))?;
    Ok(out.flush()?)
}

thread_local! {
    /// The answers of several commands for programs, until all of them are printed as one document.
    static GATHERED: RefCell<Option<Vec<Value>>> = const { RefCell::new(None) };
}

/// Keeps an answer that is part of a document. Returns it if it is one of its own.
fn gathered(value: Value) -> Option<Value> {
    GATHERED.with_borrow_mut(|all| match all {
        Some(all) => {
            all.push(value);
            None
        }
        None => Some(value),
    })
}

/// Runs several commands. With `--json` their answers, refusals too, are one document: a list with this name.
pub(super) fn as_one(
    as_json: bool,
    list: &str,
    run: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    if !as_json {
        return run();
    }
    GATHERED.set(Some(Vec::new()));
    let done = run();
    let all = GATHERED.take().unwrap_or_default();
    print_json(&serde_json::json!({ list: all }))?;
    done
}

/// Prints a text. Stored text in it reaches no terminal raw.
pub(super) fn print_text(text: &str) -> Result<(), Failure> {
    let mut out = stream();
    out.write_all(clean::cleaned(text).as_bytes())?;
    Ok(out.flush()?)
}

/// Number of columns for output: those of the terminal, or those that `COLUMNS` asks for in a pipe.
pub(super) fn columns() -> usize {
    let given = if std::io::stdout().is_terminal() { Some(textwrap::termwidth()) } else { system::columns() };
    given.map_or(WIDTH, |given| given.max(LEAST_WIDTH))
}

/// Number of columns for the help pages: those of the terminal. In a pipe it is 0, by which clap keeps their lines.
pub(super) fn page_columns() -> usize {
    if std::io::stdout().is_terminal() { columns() } else { 0 }
}

/// Whether rows are wrapped for a reader: at a terminal, and in a pipe for which `COLUMNS` is set.
fn is_wrapped() -> bool {
    std::io::stdout().is_terminal() || system::columns().is_some()
}

/// Whether the output goes to a terminal that no client of agents started and where nobody speaks as an agent.
pub(super) fn is_read_by_a_human() -> bool {
    std::io::stdout().is_terminal() && is_typed_by_a_human()
}

/// Whether somebody types at a terminal that no client of agents started, and nobody speaks as an agent.
fn is_typed_by_a_human() -> bool {
    static IS_HUMAN: LazyLock<bool> = LazyLock::new(|| {
        let is_agent = || system::Environment::read().agent.is_some_and(|name| name != "operator");
        super::has_terminal() && system::client_above().is_none() && !is_agent()
    });
    *IS_HUMAN
}

/// What the writer says, with the tags in what it quotes as they were typed, where a human reads it. The writer escapes them,
/// because it does not know its reader; [`views::keep_tags_if`] makes pages and lists that need no such guess.
fn for_reader(text: &str) -> Cow<'_, str> {
    // The look at the processes above this one is made for a text that needs it.
    if text.contains("&lt;") && is_read_by_a_human() { clean::tagged(text) } else { Cow::Borrowed(text) }
}

/// Wraps text at spaces. A continued line is indented below its line, deeper than the entry of a list.
pub(super) fn fitted(text: &str) -> String {
    clean::cleaned(&shortened(&in_shell(text))).lines().fold(String::new(), |fitted, line| {
        let lead = line.len() - line.trim_start_matches([' ', '>']).len();
        let quote = &line[..lead];
        let indent = if quote.contains('>') { quote.to_owned() } else { format!("{quote}    ") };
        fitted + &wrapped("", &indent, line)
    })
}

/// Wraps one line. `first` precedes the first part, `indent` each further one.
pub(super) fn wrapped(first: &str, indent: &str, line: &str) -> String {
    wrapped_in(columns(), first, indent, line)
}

/// Like [`wrapped`], for lines of at most `columns`.
pub(super) fn wrapped_in(columns: usize, first: &str, indent: &str, line: &str) -> String {
    // Ids are not broken at their hyphens.
    // A command longer than a line is not broken: each part would be a different command. It and what ends its sentence get
    // room at the left first.
    let widest = commands(line).map(|command| display_width(&line[command]) + 1).max().unwrap_or_default();
    let is_long = widest > columns;
    let indent = if is_long { indent } else { &indent[..indent.len().min(columns - widest)] };
    let fit = textwrap::Options::new(columns)
        .break_words(!is_long)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation);
    let lines = textwrap::wrap(line, fit.initial_indent(first).subsequent_indent(indent));
    lines.iter().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

/// The commands in a line, with their back-quotes. They stay on one line, so that a terminal can take them by copy.
fn commands(line: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    line.match_indices("`hm ").filter_map(|(at, _)| {
        let end = line[at + 1..].find('`')?;
        Some(at..at + end + 2)
    })
}

/// Splits a line into words. A word ends at a space outside of a command, or with a member of JSON without spaces.
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

/// Formats a row of a list: one line in a pipe, for `grep` and programs, and wrapped lines at a terminal.
pub(super) fn row(line: &str) -> String {
    let line = clean::cleaned(&named(line)).into_owned();
    if is_wrapped() { wrapped("", "    ", &line) } else { line + "\n" }
}

/// Formats claims as rows for a reader. `whole` shows statements whole. `by_stage` puts a line above the claims of each
/// stage; the claims are in that order.
pub(super) fn rows<'c>(
    claims: impl Iterator<Item = &'c ClaimSummary>,
    reader: &RowReader,
    (whole, by_stage): (bool, bool),
) -> String {
    let room = match (whole, is_wrapped()) {
        (true, _) => Room::Whole,
        (false, true) => Room::Screen,
        (false, false) => Room::Pipe,
    };
    let claims: Vec<&ClaimSummary> = claims.collect();
    let rows = views::rows(claims.iter().copied(), reader, room, system::now(), &mut |text| named(text));
    let mut text: String = rows.head.iter().map(|head| row(head)).collect();
    let mut stage = None;
    for (claim, (name, rest)) in claims.iter().zip(&rows.lines) {
        let of_claim = Stage::of(claim);
        if by_stage && stage.replace(of_claim) != Some(of_claim) {
            let count = claims.iter().filter(|claim| Stage::of(claim) == of_claim).count();
            text.push_str(&row(&format!("{} ({count}):", of_claim.as_str())));
        }
        text.push_str(&row(&format!("{name} {rest}")));
    }
    text.extend(views::shows_cut(&rows.cut).map(|line| row(&line)));
    text
}

/// Replaces the ids in a text by short names.
pub(super) fn named(text: &str) -> String {
    shortened(text).into_owned()
}

/// Cuts stored text to one line of at most `columns` columns. Some characters take two columns.
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

/// Formats JSON. Its strings contain no character that controls a terminal.
pub(super) fn json(value: &Value) -> String {
    clean::escaped_json(&value.to_string()).into_owned()
}

/// A buffered stdout for output of any length. The caller flushes it at the end.
pub(super) fn stream() -> impl Write {
    BufWriter::new(std::io::stdout().lock())
}

/// A progress bar on stderr, shown at a terminal only.
pub(super) fn progress(doing: &'static str, of: u64) -> ProgressBar {
    let shown = std::io::stderr().is_terminal();
    let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} events")
        .expect("a template of known keys");
    ProgressBar::with_draw_target(Some(of), target).with_style(style).with_message(doing)
}

/// A spinner for work of unknown length, shown at a terminal only.
pub(super) fn spinner(doing: &'static str) -> ProgressBar {
    let shown = std::io::stderr().is_terminal();
    let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    // Its length is unknown, so it shows the time in place of a part of the whole.
    let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}").expect("a template of known keys");
    let bar = ProgressBar::with_draw_target(None, target).with_style(style).with_message(doing);
    bar.enable_steady_tick(std::time::Duration::from_millis(100));
    bar
}

/// A receipt in one line, with its warnings below.
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
    fitted(&for_reader(&text))
}
