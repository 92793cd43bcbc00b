//! Loops of one session: it does the same again and gets the same answer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::polls::{is_poll, searches, waits_for_a_child};
use super::{Book, Found, Subject};
use crate::domain::action::{error_in, only_looks, steady};
use crate::domain::agent::AgentId;
use crate::domain::event::{CommandRan, Event, Recorded, ToolUsed};
use crate::domain::ids::SessionId;
use crate::domain::pattern::{PatternEnd, PatternKind, Repeats};
use crate::domain::plan::TaskStatus;
use crate::domain::scope::Scope;
use crate::domain::session::Role;
use crate::domain::state::State;
use crate::domain::text::{CommandLine, ErrorSignature};
use crate::domain::time::{Hours, Timestamp};

/// Records of a session that are kept: the last 20 actions.
const WINDOW: usize = 20;
/// How often the same must happen.
const REPEATS: usize = 3;
/// How often the same must happen where the agent tries something each time. Mending a test takes up to five tries.
const TRIES: usize = 6;
/// How often a command that succeeds and does something must run in a row. Agents repeat a passing test on purpose, in
/// recorded work up to eight times.
const PASSES: usize = 10;
/// Looks that are further apart wait for something: ten minutes. Own choice.
const LOOKS_WITHIN_MS: i64 = 10 * 60_000;
/// The longest round of different actions.
const MAX_PERIOD: usize = 4;
/// Actions without a repetition after which a session has moved on.
const MOVED_ON: u32 = 20;
/// How long a command in the background is taken to run.
const CHILD_LIVES: Hours = Hours(1);
/// Lines at the end of two outputs that are compared where the lines cut the output in different ways.
const LAST_LINES: usize = 3;
/// Tools of clients that read a file or list a directory.
const READS: [&str; 10] =
    ["Read", "read", "view", "read_file", "Grep", "grep", "Glob", "glob", "LS", "list_directory"];
/// The most sessions that are kept. The ones silent longest are dropped, and their loops are over.
const MAX_SESSIONS: usize = 256;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Looping {
    sessions: BTreeMap<SessionId, Session>,
}

#[derive(Debug, Clone, PartialEq)]
struct Session {
    agent: AgentId,
    records: VecDeque<Act>,
    /// The open loops.
    open: BTreeMap<Subject, Open>,
    /// Whether something else happened since the last record, such as the use of a tool.
    is_interrupted: bool,
    /// When a command was last started in the background.
    child_at: Option<Timestamp>,
    last: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
struct Open {
    commands: BTreeSet<String>,
    /// The last time each command was run in the loop.
    last: Vec<Act>,
    /// Actions since the last repetition.
    idle: u32,
}

#[derive(Debug, Clone, PartialEq)]
enum Act {
    Edit { paths: Vec<Scope> },
    Ran(Box<Ran>),
}

/// A command that ran.
#[derive(Debug, Clone, PartialEq)]
struct Ran {
    seq: u64,
    at: Timestamp,
    /// The line as it was typed.
    line: String,
    /// Its commands in normal form.
    command: String,
    exit: Option<i32>,
    failed: bool,
    of_last: bool,
    answer: Option<String>,
    tail: Option<String>,
    error: Option<ErrorSignature>,
    /// Whether something else happened before it.
    after_other: bool,
}

impl Ran {
    fn of(recorded: &Recorded, ran: &CommandRan, after_other: bool) -> Self {
        let runs: Vec<&str> = ran.runs.iter().map(CommandLine::as_str).collect();
        let answer = ran.answer_sha256.as_ref().or(ran.output_sha256.as_ref());
        Self {
            seq: recorded.seq,
            at: recorded.at,
            line: ran.command.as_str().to_owned(),
            command: if runs.is_empty() { ran.command.as_str().to_owned() } else { runs.join(" ; ") },
            exit: ran.exit_code,
            failed: ran.failed,
            of_last: ran.of_last,
            answer: answer.cloned(),
            tail: ran.tail.as_ref().map(|tail| tail.as_str().to_owned()),
            error: ran.error_signature.clone(),
            after_other,
        }
    }

    /// Whether the command failed, as far as its end and its output tell. A pipe hides the exit code.
    fn fails(&self) -> bool {
        // What a command only shows, such as a file, may speak of any error.
        let is_hidden = (self.of_last || self.exit.is_none()) && !only_looks(&self.line);
        let is_failure = self.failed || is_hidden && self.says_failure();
        is_failure && !searches(&self.command)
    }

    /// Whether the output says that something failed. `0 failed` says that nothing did.
    fn says_failure(&self) -> bool {
        let counts = self.counts();
        let mut failures = counts.iter().filter(|(word, _)| word != "passed").peekable();
        if failures.peek().is_some() {
            return failures.any(|(_, count)| count.bytes().any(|digit| digit != b'0'));
        }
        counts.is_empty() && self.signature().is_some()
    }

    fn signature(&self) -> Option<ErrorSignature> {
        self.error.clone().or_else(|| self.tail.as_deref().and_then(error_in))
    }

    /// Whether two runs of one command answered the same. None if that cannot be told, because the lines show other
    /// parts of the output.
    fn answers_like(&self, other: &Self) -> Option<bool> {
        let is_open = self.of_last || other.of_last;
        let ends_differ = !is_open
            && (self.failed != other.failed
                || matches!((self.exit, other.exit), (Some(a), Some(b)) if a != b));
        if ends_differ {
            return Some(false);
        }
        if self.answer == other.answer {
            return Some(true);
        }
        if self.line == other.line {
            return Some(false);
        }
        (self.ending()? == other.ending()?).then_some(true)
    }

    /// The last lines of the output without what varies.
    fn ending(&self) -> Option<Vec<String>> {
        let lines = self.tail.as_deref()?.lines().rev().filter(|line| !line.trim().is_empty());
        let mut last: Vec<String> =
            lines.map(steady).filter(|line| !line.is_empty()).take(LAST_LINES).collect();
        // The tail may begin in the middle of a line.
        if last.len() > 1 && last.len() < LAST_LINES {
            last.pop();
        }
        (!last.is_empty()).then_some(last)
    }

    /// The numbers of errors and failures in the output.
    fn counts(&self) -> Vec<(String, String)> {
        let text = self.tail.as_deref().unwrap_or_default();
        let words: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || ",;()[]=:".contains(c))
            .filter(|word| !word.is_empty())
            .collect();
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        let counted = |word: &str| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
            ["failed", "errors", "error", "passed", "failures", "failing", "previous", "problems"]
                .into_iter()
                .find(|known| *known == word)
        };
        words
            .windows(2)
            .filter(|pair| is_number(pair[0]))
            .filter_map(|pair| Some((counted(pair[1])?.to_owned(), pair[0].to_owned())))
            .collect()
    }

    /// The files that the command and the end of its output name.
    fn files(&self) -> BTreeSet<String> {
        let tail = self.tail.as_deref().unwrap_or_default();
        let around = |c: char| c.is_whitespace() || "\"'`(),;=<>[]{}|".contains(c);
        let words = self.command.split(around).chain(tail.split(around));
        words.filter_map(file).collect()
    }
}

/// The file that a word names, without its place in it. Files of the system and of dependencies are nobody's work.
fn file(word: &str) -> Option<String> {
    let path = word.split("::").next().unwrap_or(word);
    let path = path.split(':').next().unwrap_or(path).trim_end_matches('.').trim_start_matches("./");
    let (stem, extension) = path.rsplit_once('.')?;
    let is_file = stem.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        && stem.contains(|c: char| c.is_ascii_alphabetic())
        && (1..=5).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && extension.bytes().any(|byte| byte.is_ascii_lowercase())
        && !path.contains("//");
    let foreign = ["/usr/", "/lib/", "node_modules/", "site-packages/", ".cargo/registry", "/rustc/"];
    let name = path.rsplit('/').next().unwrap_or(path);
    (is_file && !foreign.iter().any(|part| path.contains(part))).then(|| name.to_owned())
}

impl Act {
    const fn ran(&self) -> Option<&Ran> {
        if let Self::Ran(ran) = self { Some(ran) } else { None }
    }
}

impl Looping {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a detector reads a few kinds of events")]
    pub(super) fn evolve(&mut self, state: &State, recorded: &Recorded, event: &Event, book: &mut Book) {
        if let Event::SessionEnded(ended) = event {
            if let Some(mut session) = self.sessions.remove(&ended.session) {
                session.end(PatternEnd::Over, recorded.at, book);
            }
            return;
        }
        if matches!(event, Event::ClaimCreated(_)) {
            // The claim may come from another session of the agent, such as its shell.
            let own = self.sessions.values_mut().filter(|session| session.agent == recorded.agent);
            own.for_each(|session| session.end(PatternEnd::Filed, recorded.at, book));
            return;
        }
        let Some(id) = &recorded.session else { return };
        if !matches!(event, Event::CommandRan(_) | Event::ToolUsed(_)) && !self.sessions.contains_key(id) {
            return;
        }
        if self.sessions.len() >= MAX_SESSIONS && !self.sessions.contains_key(id) {
            let oldest =
                self.sessions.iter().min_by_key(|(_, session)| session.last).map(|(id, _)| id.clone());
            if let Some(mut oldest) = oldest.and_then(|oldest| self.sessions.remove(&oldest)) {
                oldest.end(PatternEnd::Over, recorded.at, book);
            }
        }
        let session = self.sessions.entry(id.clone()).or_insert_with(|| Session {
            agent: recorded.agent.clone(),
            records: VecDeque::new(),
            open: BTreeMap::new(),
            is_interrupted: false,
            child_at: None,
            last: recorded.at,
        });
        session.last = recorded.at;
        session.agent.clone_from(&recorded.agent);
        match event {
            Event::CommandRan(ran) => session.ran(state, recorded, ran, (id, book)),
            Event::FileEdited(edited) => {
                session.keep(Act::Edit { paths: edited.paths.clone() });
                session.idle(recorded.at, book);
            }
            Event::ToolUsed(used) => session.used(recorded, used, (id, book)),
            // The human sees what the agent does, and asks for it.
            Event::TurnRecorded(turn) if turn.role == Role::User => session.records.clear(),
            Event::TaskUpdated(updated) if updated.to == TaskStatus::Done => {
                session.end(PatternEnd::Progress, recorded.at, book);
            }
            _ => {}
        }
    }
}

impl Session {
    fn keep(&mut self, act: Act) {
        self.records.push_back(act);
        while self.records.len() > WINDOW {
            self.records.pop_front();
        }
        self.is_interrupted = false;
    }

    /// Ends all loops, and forgets the actions they rest on.
    fn end(&mut self, why: PatternEnd, at: Timestamp, book: &mut Book) {
        self.records.clear();
        for subject in std::mem::take(&mut self.open).keys() {
            book.close(subject, why, at);
        }
    }

    /// A tool other than the shell counts where it fails, and where it reads. Other tools may always answer the same.
    fn used(&mut self, recorded: &Recorded, used: &ToolUsed, of: (&SessionId, &mut Book)) {
        let (id, book) = of;
        let tool = used.tool.as_str();
        let (Some(input), Some(_)) = (&used.input_sha256, &used.answer_sha256) else {
            self.is_interrupted = true;
            return;
        };
        if !used.failed && !READS.contains(&tool) {
            self.is_interrupted = true;
            return;
        }
        // The hash tells two inputs apart, and is no text for people.
        let command = format!("{tool} ({})", input.get(..8).unwrap_or(input));
        let ran = Ran {
            seq: recorded.seq,
            at: recorded.at,
            line: tool.to_owned(),
            command,
            exit: Some(i32::from(used.failed)),
            failed: used.failed,
            of_last: false,
            answer: used.answer_sha256.clone(),
            tail: None,
            error: None,
            after_other: self.is_interrupted,
        };
        self.add(recorded, id, ran, book);
    }

    fn add(&mut self, recorded: &Recorded, id: &SessionId, ran: Ran, book: &mut Book) {
        self.go_on(&ran, book);
        self.keep(Act::Ran(Box::new(ran)));
        if let Some(round) = self.round() {
            self.open(recorded, id, round, book);
        }
    }

    /// Counts an action that repeats nothing.
    fn idle(&mut self, at: Timestamp, book: &mut Book) {
        self.open.retain(|subject, open| {
            open.idle += 1;
            if open.idle >= MOVED_ON {
                book.close(subject, PatternEnd::MovedOn, at);
            }
            open.idle < MOVED_ON
        });
    }

    fn ran(&mut self, state: &State, recorded: &Recorded, ran: &CommandRan, of: (&SessionId, &mut Book)) {
        let (id, book) = of;
        if ran.unseen {
            self.child_at = Some(recorded.at);
            return;
        }
        let ran = Ran::of(recorded, ran, self.is_interrupted);
        let has_child = self.child_at.is_some_and(|at| at.is_within(CHILD_LIVES, recorded.at))
            && waits_for_a_child(&ran.line, &ran.command);
        let runs = || {
            let mut unfinished = state.unfinished_runs().map(|(_, run)| run);
            unfinished.any(|run| run.session.as_ref() == Some(id))
        };
        if is_poll(&ran.line, &ran.command) || has_child || runs() {
            self.is_interrupted = true;
            return;
        }
        self.add(recorded, id, ran, book);
    }

    /// Compares a command with those of the open loops.
    fn go_on(&mut self, ran: &Ran, book: &mut Book) {
        let mut ended: Vec<Subject> = Vec::new();
        for (subject, open) in &mut self.open {
            open.idle += 1;
            let before = open
                .last
                .iter_mut()
                .find(|act| act.ran().is_some_and(|before| before.command == ran.command));
            match before.as_ref().and_then(|act| ran.answers_like(act.ran()?)) {
                Some(true) => {
                    open.idle = 0;
                    book.again(subject, ran.seq);
                    if let Some(before) = before {
                        *before = Act::Ran(Box::new(ran.clone()));
                    }
                }
                Some(false) => {
                    book.close(subject, PatternEnd::Progress, ran.at);
                    ended.push(subject.clone());
                }
                None if open.idle >= MOVED_ON => {
                    book.close(subject, PatternEnd::MovedOn, ran.at);
                    ended.push(subject.clone());
                }
                None => {}
            }
        }
        for subject in ended {
            if let Some(open) = self.open.remove(&subject) {
                self.records.retain(|act| act.ran().is_none_or(|ran| !open.commands.contains(&ran.command)));
            }
        }
    }

    fn open(&mut self, recorded: &Recorded, id: &SessionId, round: Round, book: &mut Book) {
        let commands: BTreeSet<String> = round.acts.iter().map(|ran| ran.command.clone()).collect();
        if self.open.values().any(|open| !open.commands.is_disjoint(&commands)) {
            return;
        }
        let about = commands.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        let subject = Subject::new(PatternKind::Loop, Some(id), &about);
        let last = commands.iter().filter_map(|command| {
            round
                .acts
                .iter()
                .rev()
                .find(|ran| ran.command == *command)
                .map(|ran| Act::Ran(Box::new(ran.clone())))
        });
        self.open.insert(subject.clone(), Open { last: last.collect(), idle: 0, commands: commands.clone() });
        let since = round.acts.iter().map(|ran| ran.at).min().unwrap_or(recorded.at);
        let shown = commands.iter().filter_map(|command| {
            command.chars().take(CommandLine::MAX_CHARS).collect::<String>().parse().ok()
        });
        book.open(Found {
            subject,
            agents: BTreeSet::from([recorded.agent.clone()]),
            task: None,
            scopes: Vec::new(),
            rests_on: round.acts.iter().map(|ran| ran.seq).collect(),
            repeats: Repeats {
                period: round.period,
                commands: shown.collect(),
                error: round.acts.last().and_then(|ran| if ran.fails() { ran.signature() } else { None }),
                ..Repeats::of(round.count, since)
            },
            at: recorded.at,
        });
    }

    /// The loop that the last record completes.
    fn round(&self) -> Option<Round> {
        let ran = self.records.back()?.ran()?;
        if ran.fails() {
            self.failing(ran)
                .or_else(|| self.there_and_back(ran))
                .or_else(|| self.one_error(ran))
                .or_else(|| self.one_failure(ran))
        } else {
            self.in_a_row(ran).or_else(|| self.periodic())
        }
    }

    /// The same failure among the last records, with no other answer of the command between.
    fn failing(&self, last: &Ran) -> Option<Round> {
        let mut acts: Vec<&Ran> = Vec::new();
        let mut between: Vec<Between<'_>> = vec![Between::default()];
        for act in self.records.iter().rev() {
            match act {
                Act::Edit { paths } => between.iter_mut().last()?.edited.push(paths),
                Act::Ran(ran) if ran.command == last.command => match last.answers_like(ran) {
                    Some(true) => {
                        acts.push(ran);
                        between.push(Between::default());
                    }
                    Some(false) => break,
                    None => {}
                },
                Act::Ran(_) => between.iter_mut().last()?.others += 1,
            }
        }
        // What happened after the last of these runs and before the first does not lie between them.
        between.pop();
        let between = between.get(1..).unwrap_or_default();
        acts.reverse();
        let needed = if between.iter().all(Between::is_try) { TRIES } else { REPEATS };
        (acts.len() >= needed && !moves_on(between)).then(|| Round::of(&acts))
    }

    /// The same success in a row, with nothing between.
    fn in_a_row(&self, last: &Ran) -> Option<Round> {
        last.answer.as_ref()?;
        let mut acts: Vec<&Ran> = Vec::new();
        for act in self.records.iter().rev() {
            let Some(ran) = act.ran() else { break };
            if ran.command != last.command || last.answers_like(ran) != Some(true) {
                break;
            }
            acts.push(ran);
            if ran.after_other {
                break;
            }
        }
        acts.reverse();
        let looks = only_looks(&last.line) || READS.contains(&last.line.as_str()) || searches(&last.command);
        let needed = if looks { REPEATS } else { PASSES };
        let is_slow =
            looks && acts.first().is_some_and(|first| last.at.ms() - first.at.ms() > LOOKS_WITHIN_MS);
        (acts.len() >= needed && !is_slow).then(|| Round::of(&acts))
    }

    /// A round of two to four commands, three times, with nothing between.
    fn periodic(&self) -> Option<Round> {
        (2..=MAX_PERIOD).find_map(|period| {
            let needed = period * REPEATS;
            let from = self.records.len().checked_sub(needed)?;
            let acts: Vec<&Ran> = self.records.iter().skip(from).filter_map(Act::ran).collect();
            let is_whole = acts.len() == needed && acts.iter().skip(1).all(|ran| !ran.after_other);
            let repeats = || {
                let mut pairs = acts.iter().zip(acts.iter().skip(period));
                pairs.all(|(one, other)| {
                    one.command == other.command
                        && one.answer.is_some()
                        && one.answers_like(other) == Some(true)
                })
            };
            let differ = || acts.iter().take(period).any(|ran| ran.command != acts[0].command);
            (is_whole && repeats() && differ()).then(|| Round {
                count: REPEATS as u32,
                period: Some(period as u32),
                ..Round::of(&acts)
            })
        })
    }

    /// The same failure of a command again and again, each time after another failure of it and an edit of one file: each
    /// change takes back the one before.
    fn there_and_back(&self, last: &Ran) -> Option<Round> {
        let mut acts: Vec<&Ran> = Vec::new();
        let mut gaps: Vec<(Between<'_>, bool)> = vec![Default::default()];
        for act in self.records.iter().rev() {
            let (between, differs) = gaps.last_mut()?;
            match act {
                Act::Edit { paths } => between.edited.push(paths),
                Act::Ran(ran) if ran.command == last.command => match last.answers_like(ran) {
                    Some(true) => {
                        acts.push(ran);
                        gaps.push(Default::default());
                    }
                    Some(false) if ran.fails() => *differs = true,
                    Some(false) => break,
                    None => {}
                },
                Act::Ran(_) => {}
            }
        }
        acts.truncate(REPEATS);
        let gaps = gaps.get(1..REPEATS)?;
        let edited = || gaps.iter().flat_map(|(between, _)| between.edited.iter().copied().flatten());
        let is_one_file = || edited().all(|path| edited().next() == Some(path));
        let is_turn = |(between, differs): &(Between<'_>, bool)| *differs && !between.edited.is_empty();
        acts.reverse();
        (acts.len() == REPEATS && gaps.iter().all(is_turn) && is_one_file()).then(|| Round::of(&acts))
    }

    /// The same failure of any commands, as often as an agent tries to mend one. The commands end in the same lines.
    fn one_failure(&self, last: &Ran) -> Option<Round> {
        // The error is that of the tail: a line that cuts the output shows no more.
        let said = |ran: &Ran| (ran.ending(), ran.counts(), ran.tail.as_deref().and_then(error_in));
        let of_last = said(last);
        of_last.0.as_ref()?;
        let is_same = |ran: &Ran| ran.fails() && said(ran) == of_last;
        let mut acts: Vec<&Ran> = Vec::new();
        let mut between: Vec<Between<'_>> = vec![Between::default()];
        for act in self.records.iter().rev() {
            match act {
                Act::Edit { paths } => between.last_mut()?.edited.push(paths),
                Act::Ran(ran) if is_same(ran) => {
                    acts.push(ran);
                    between.push(Between::default());
                }
                Act::Ran(ran) if acts.iter().any(|act| act.command == ran.command) => break,
                Act::Ran(_) => {}
            }
        }
        between.pop();
        acts.reverse();
        (acts.len() >= TRIES && !moves_on(between.get(1..).unwrap_or_default())).then(|| Round::of(&acts))
    }

    /// One error of three different commands on one file.
    fn one_error(&self, last: &Ran) -> Option<Round> {
        let signature = last.signature()?;
        let mut files = last.files();
        let counts = last.counts();
        let mut acts: Vec<&Ran> = Vec::new();
        let mut commands: BTreeSet<Vec<&str>> = BTreeSet::new();
        for ran in self.records.iter().rev().filter_map(Act::ran) {
            if commands.contains(&tool(&ran.command))
                || !ran.fails()
                || ran.signature().as_ref() != Some(&signature)
            {
                continue;
            }
            let common: BTreeSet<String> = files.intersection(&ran.files()).cloned().collect();
            if common.is_empty() || ran.counts() != counts {
                continue;
            }
            files = common;
            commands.insert(tool(&ran.command));
            acts.push(ran);
        }
        acts.reverse();
        (acts.len() >= REPEATS).then(|| Round::of(&acts))
    }
}

/// What happened between two equal failures.
#[derive(Default)]
struct Between<'a> {
    /// The files of each edit.
    edited: Vec<&'a [Scope]>,
    /// The other commands and reads.
    others: usize,
}

impl Between<'_> {
    /// Whether the agent tried something and did not only change one place: it looked as well, ran something else, or
    /// took an edit back.
    fn is_try(&self) -> bool {
        !self.edited.is_empty() && self.edited.len() + self.others > 1
    }
}

/// Whether the edits between equal failures went from file to file, as a rename does. Edits that come back to one file
/// do not.
fn moves_on(between: &[Between<'_>]) -> bool {
    let edited = between.iter().filter(|between| !between.edited.is_empty());
    let mut files = edited.map(|between| between.edited.iter().copied().flatten().collect::<BTreeSet<_>>());
    let Some(first) = files.next() else { return false };
    files.fold(first, |common, paths| common.intersection(&paths).copied().collect()).is_empty()
}

/// The program of a command and its first argument, without options: `cargo test`, `python pytest`. An agent that looks
/// into one failure runs the same tool with other options.
fn tool(command: &str) -> Vec<&str> {
    command.split_whitespace().filter(|word| !word.starts_with(['-', '\''])).take(2).collect()
}

/// The actions of a loop.
struct Round {
    acts: Vec<Ran>,
    count: u32,
    period: Option<u32>,
}

impl Round {
    fn of(acts: &[&Ran]) -> Self {
        Self { acts: acts.iter().map(|ran| (*ran).clone()).collect(), count: acts.len() as u32, period: None }
    }
}

#[cfg(test)]
mod tests;
