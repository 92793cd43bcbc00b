//! Loops of one session: it does the same again and gets the same answer.

mod ran;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use self::ran::Ran;
use super::polls::{is_poll, searches, waits_for_a_child};
use super::{Book, Found, Subject};
use crate::domain::action::{error_in, is_reading_tool, only_looks};
use crate::domain::agent::AgentId;
use crate::domain::event::{CommandRan, Event, FileEdited, Recorded, ToolUsed};
use crate::domain::ids::SessionId;
use crate::domain::pattern::{PatternEnd, PatternKind, Repeats};
use crate::domain::plan::TaskStatus;
use crate::domain::scope::Scope;
use crate::domain::session::Role;
use crate::domain::state::State;
use crate::domain::text::{CommandLine, Subagent, Worktree};
use crate::domain::time::{Hours, Timestamp};
use crate::domain::versions::Versions;

/// Records of a session that are kept: the last 20 actions.
const WINDOW: usize = 20;
/// How often the same must happen.
const REPEATS: usize = 3;
/// How often the same must happen where the agent changes a file each time. Mending a test takes up to five tries.
const TRIES: usize = 6;
/// How often a failure must come that may pass by itself, such as a refused connection: waiting by hand is no loop. Own choice.
const WAITS: usize = 10;
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
/// The most sessions and subagents that are kept. The ones silent longest are dropped, and their loops are over.
const MAX_SESSIONS: usize = 256;
/// Steps of `git bisect` that check out another commit.
const BISECTS: [&str; 6] = ["bad", "good", "new", "old", "run", "skip"];

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Looping {
    sessions: BTreeMap<Actor, Session>,
}

/// A session, or one of its subagents: the session of the client runs several at once.
type Actor = (SessionId, Option<Subagent>);

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
    /// The work tree of its last command or edit.
    worktree: Option<Worktree>,
    last: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
struct Open {
    commands: BTreeSet<String>,
    /// The last time each command was run in the loop, for each of its answers in a round.
    last: Vec<Ran>,
    /// Actions since the last repetition.
    idle: u32,
}

#[derive(Debug, Clone, PartialEq)]
enum Act {
    Edit(Box<Edit>),
    Ran(Box<Ran>),
    /// Others changed files of the work tree.
    OfOthers,
}

/// Files that changed.
#[derive(Debug, Clone, PartialEq)]
struct Edit {
    seq: u64,
    paths: Vec<Scope>,
    /// What they held afterwards.
    versions: Versions,
    /// Whether git brought them: the command of git is the action.
    is_merged: bool,
}

impl Edit {
    fn of(recorded: &Recorded, edited: &FileEdited) -> Self {
        let FileEdited { paths, versions, merged, .. } = edited;
        let (paths, versions) = (paths.clone(), versions.clone());
        Self { seq: recorded.seq, paths, versions, is_merged: merged.is_some() }
    }

    /// Whether both left the same files with the same content.
    fn is_like(&self, other: &Self) -> bool {
        !self.versions.is_empty() && self.paths == other.paths && self.versions == other.versions
    }
}

impl Act {
    const fn ran(&self) -> Option<&Ran> {
        if let Self::Ran(ran) = self { Some(ran) } else { None }
    }

    const fn edit(&self) -> Option<&Edit> {
        if let Self::Edit(edit) = self { Some(edit) } else { None }
    }

    /// Whether both are the same record of a round.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Ran(one), Self::Ran(other)) => {
                one.command == other.command
                    && one.answer.is_some()
                    && one.answers_like(other) == Some(true)
                    && !one.saw_other_files_than(other)
            }
            (Self::Edit(one), Self::Edit(other)) => one.is_like(other),
            _ => false,
        }
    }
}

impl Looping {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a detector reads a few kinds of events")]
    pub(super) fn evolve(&mut self, state: &State, recorded: &Recorded, event: &Event, book: &mut Book) {
        if let Event::SessionEnded(ended) = event {
            self.sessions.retain(|(id, _), session| {
                if *id == ended.session {
                    session.end(PatternEnd::Over, recorded.at, book);
                }
                *id != ended.session
            });
            return;
        }
        if matches!(event, Event::ClaimCreated(_)) {
            // The claim may come from another session of the agent, such as its shell.
            let own = self.sessions.values_mut().filter(|session| session.agent == recorded.agent);
            own.for_each(|session| session.end(PatternEnd::Filed, recorded.at, book));
            return;
        }
        let Some(id) = &recorded.session else { return };
        match event {
            Event::CommandRan(ran) => {
                let session = self.of((id, ran.subagent.as_ref()), recorded, book);
                session.worktree.clone_from(&ran.checkout.worktree);
                session.ran(state, recorded, ran, (id, book));
                let last = session.records.back().and_then(Act::ran);
                if last.is_some_and(|last| last.seq == recorded.seq && last.changes) {
                    let actor = (id.clone(), ran.subagent.clone());
                    self.changed(ran.checkout.worktree.as_ref(), |other| *other != actor);
                }
            }
            Event::ToolUsed(used) => {
                self.of((id, used.subagent.as_ref()), recorded, book).used(recorded, used, (id, book));
            }
            _ => {
                if let Event::FileEdited(edited) = event {
                    let worktree = &edited.checkout.worktree;
                    self.of((id, None), recorded, book).worktree.clone_from(worktree);
                    self.changed(worktree.as_ref(), |(other, _)| other != id);
                }
                let here = self.sessions.iter_mut().filter(|((of, _), _)| of == id);
                here.for_each(|(_, session)| session.meanwhile(recorded, event, book));
            }
        }
    }

    /// Files of a work tree changed by others than these actors, who work there too.
    fn changed(&mut self, worktree: Option<&Worktree>, is_other: impl Fn(&Actor) -> bool) {
        for (actor, session) in &mut self.sessions {
            let is_last = matches!(session.records.back(), None | Some(Act::OfOthers));
            if session.worktree.as_ref() == worktree && is_other(actor) && !is_last {
                session.records.push_back(Act::OfOthers);
            }
        }
    }

    /// The session or the subagent that did something.
    fn of(
        &mut self,
        (id, subagent): (&SessionId, Option<&Subagent>),
        recorded: &Recorded,
        book: &mut Book,
    ) -> &mut Session {
        let actor: Actor = (id.clone(), subagent.cloned());
        if self.sessions.len() >= MAX_SESSIONS && !self.sessions.contains_key(&actor) {
            let oldest =
                self.sessions.iter().min_by_key(|(_, session)| session.last).map(|(id, _)| id.clone());
            if let Some(mut oldest) = oldest.and_then(|oldest| self.sessions.remove(&oldest)) {
                oldest.end(PatternEnd::Over, recorded.at, book);
            }
        }
        let session = self.sessions.entry(actor).or_insert_with(|| Session {
            agent: recorded.agent.clone(),
            records: VecDeque::new(),
            open: BTreeMap::new(),
            is_interrupted: false,
            child_at: None,
            worktree: None,
            last: recorded.at,
        });
        session.heard(recorded);
        session
    }
}

impl Session {
    fn heard(&mut self, recorded: &Recorded) {
        self.last = recorded.at;
        self.agent.clone_from(&recorded.agent);
    }

    /// Something else than a command or a tool happened in the session. An edit may change what its subagents get.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a detector reads a few kinds of events")]
    fn meanwhile(&mut self, recorded: &Recorded, event: &Event, book: &mut Book) {
        self.heard(recorded);
        match event {
            Event::FileEdited(edited) => {
                self.keep(Act::Edit(Box::new(Edit::of(recorded, edited))));
                self.idle(recorded.at, book);
            }
            // The human sees what the agent does, and asks for it.
            Event::TurnRecorded(turn) if turn.role == Role::User => self.records.clear(),
            Event::TaskUpdated(updated) if updated.to == TaskStatus::Done => {
                self.end(PatternEnd::Progress, recorded.at, book);
            }
            _ => {}
        }
    }

    fn keep(&mut self, act: Act) {
        self.records.push_back(act);
        while self.records.iter().filter(|act| !matches!(act, Act::OfOthers)).count() > WINDOW {
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
        if !used.failed && !is_reading_tool(tool) {
            self.is_interrupted = true;
            return;
        }
        // The hash tells two inputs apart, and is no text for people.
        let hashed = format!("{tool} ({})", input.get(..8).unwrap_or(input));
        let shown = used.target.as_ref().map(|target| format!("{tool} {target}"));
        let ran = Ran {
            seq: recorded.seq,
            at: recorded.at,
            line: tool.to_owned(),
            shown: shown.unwrap_or_else(|| hashed.clone()),
            base: hashed.clone(),
            command: hashed,
            is_tool: true,
            exit: Some(i32::from(used.failed)),
            failed: used.failed,
            of_last: false,
            answer: used.answer_sha256.clone(),
            tail: None,
            error: None,
            changes: false,
            files_sha256: None,
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
            && waits_for_a_child(&ran.line, &ran.base);
        let runs = || {
            let mut unfinished = state.unfinished_runs().map(|(_, run)| run);
            unfinished.any(|run| run.session.as_ref() == Some(id))
        };
        if is_poll(&ran.line, &ran.base) || has_child || runs() {
            self.is_interrupted = true;
            return;
        }
        if bisects(&ran.base) {
            // The next command runs on another commit.
            self.records.clear();
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
            let mut answers = open.last.iter_mut().filter(|before| before.command == ran.command);
            let mut alike = None;
            for before in answers.by_ref() {
                let answer = ran.answers_like(before);
                alike = if alike == Some(true) { alike } else { answer.or(alike) };
                if answer == Some(true) {
                    *before = ran.clone();
                }
            }
            match alike {
                Some(true) => {
                    open.idle = 0;
                    book.again(subject, ran.seq);
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
        let mut shown: Vec<&str> = Vec::new();
        for ran in &round.acts {
            if !shown.contains(&ran.shown.as_str()) {
                shown.push(&ran.shown);
            }
        }
        shown.sort_unstable();
        let subject = Subject::new(PatternKind::Loop, Some(id), &shown.join("\n"));
        if book.is_open(&subject) {
            // Another subagent is in the same loop. Once that one is out of it, the next repetition here opens it again.
            return;
        }
        let mut last: Vec<Ran> = Vec::new();
        for ran in round.acts.iter().rev() {
            let is_known = |kept: &Ran| {
                kept.command == ran.command
                    && (round.period.is_none() || kept.answers_like(ran) != Some(false))
            };
            if !last.iter().any(is_known) {
                last.push(ran.clone());
            }
        }
        self.open.insert(subject.clone(), Open { last, idle: 0, commands });
        let since = round.acts.iter().map(|ran| ran.at).min().unwrap_or(recorded.at);
        let edits = round.edits.iter().flat_map(|edit| &edit.paths).collect::<BTreeSet<_>>();
        let edits: Vec<String> = edits.into_iter().map(|path| format!("edit {path}")).collect();
        let shown = edits.iter().map(String::as_str).chain(shown);
        let shown = shown.filter_map(|command| {
            command.chars().take(CommandLine::MAX_CHARS).collect::<String>().parse().ok()
        });
        let is_tool = round.acts.iter().all(|ran| ran.is_tool);
        let rests_on = round.acts.iter().map(|ran| ran.seq).chain(round.edits.iter().map(|edit| edit.seq));
        book.open(Found {
            subject,
            agents: BTreeSet::from([recorded.agent.clone()]),
            task: None,
            scopes: Vec::new(),
            rests_on: rests_on.collect(),
            repeats: Repeats {
                period: round.period,
                commands: shown.collect(),
                tool: is_tool,
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
            if ran.may_pass_by_itself() {
                return self.failing(ran);
            }
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
                Act::Edit(edit) => between.iter_mut().last()?.edited.push(&edit.paths),
                Act::OfOthers => between.last_mut()?.has_changed = true,
                Act::Ran(ran) if ran.command == last.command => match last.answers_like(ran) {
                    Some(true) => {
                        // What its output names was saved since, whoever did it.
                        let was_saved = |later: &&Ran| ran.saw_other_files_than(later);
                        between.last_mut()?.has_changed |= acts.last().is_some_and(was_saved);
                        acts.push(ran);
                        between.push(Between::default());
                    }
                    Some(false) => break,
                    None => {}
                },
                Act::Ran(ran) => between.last_mut()?.has_changed |= ran.changes,
            }
        }
        // What happened after the last of these runs and before the first does not lie between them.
        between.pop();
        let between = between.get(1..).unwrap_or_default();
        acts.reverse();
        let needed = match last.may_pass_by_itself() {
            true => WAITS,
            false if between.iter().all(Between::is_try) => TRIES,
            false => REPEATS,
        };
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
        // `git pull` may bring something each time.
        let looks = last.is_tool || only_looks(&last.line) && !last.changes || searches(&last.base);
        let needed = if looks { REPEATS } else { PASSES };
        let is_slow =
            looks && acts.first().is_some_and(|first| last.at.ms() - first.at.ms() > LOOKS_WITHIN_MS);
        (acts.len() >= needed && !is_slow).then(|| Round::of(&acts))
    }

    /// A round of two to four commands and edits, three times, with nothing between.
    fn periodic(&self) -> Option<Round> {
        let is_own = |act: &Act| match act {
            Act::Edit(edit) => !edit.is_merged,
            Act::Ran(_) => true,
            Act::OfOthers => false,
        };
        // Each own record, with the number of changes by others before it.
        let mut others = 0;
        let mut records: Vec<(&Act, usize)> = Vec::new();
        for act in &self.records {
            others += usize::from(matches!(act, Act::OfOthers));
            records.extend(is_own(act).then_some((act, others)));
        }
        (2..=MAX_PERIOD).find_map(|period| {
            let acts = records.get(records.len().checked_sub(period * REPEATS)?..)?;
            if others - acts.first()?.1 >= REPEATS - 1 {
                return None;
            }
            let acts: Vec<&Act> = acts.iter().map(|(act, _)| *act).collect();
            let is_whole = acts.iter().skip(1).all(|act| act.ran().is_none_or(|ran| !ran.after_other));
            let repeats = || acts.iter().zip(acts.iter().skip(period)).all(|(one, other)| one.is_like(other));
            let differ = || acts.iter().take(period).any(|act| !act.is_like(acts[0]));
            if !(is_whole && repeats() && differ()) {
                return None;
            }
            let ran: Vec<&Ran> = acts.iter().filter_map(|act| act.ran()).collect();
            let edits = acts.iter().filter_map(|act| act.edit().cloned()).collect();
            (!ran.is_empty()).then(|| Round {
                count: REPEATS as u32,
                period: Some(period as u32),
                edits,
                ..Round::of(&ran)
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
                Act::Edit(edit) => between.edited.push(&edit.paths),
                Act::Ran(ran) if ran.command == last.command => match last.answers_like(ran) {
                    Some(true) => {
                        acts.push(ran);
                        gaps.push(Default::default());
                    }
                    Some(false) if ran.fails() => *differs = true,
                    Some(false) => break,
                    None => {}
                },
                Act::Ran(_) | Act::OfOthers => {}
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
        let error = |ran: &Ran| ran.tail.as_deref().and_then(error_in);
        let (ending, counts, of_last) = (last.ending()?, last.counts(), error(last));
        let is_same = |ran: &Ran| {
            ran.fails()
                && ran.ending().as_ref() == Some(&ending)
                && ran.counts() == counts
                && error(ran) == of_last
        };
        let mut acts: Vec<&Ran> = Vec::new();
        let mut between: Vec<Between<'_>> = vec![Between::default()];
        for act in self.records.iter().rev() {
            match act {
                Act::Edit(edit) => between.last_mut()?.edited.push(&edit.paths),
                Act::Ran(ran) if is_same(ran) => {
                    acts.push(ran);
                    between.push(Between::default());
                }
                Act::Ran(ran) if acts.iter().any(|act| act.command == ran.command) => break,
                Act::Ran(_) | Act::OfOthers => {}
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
            if commands.contains(&tool(&ran.base))
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
            commands.insert(tool(&ran.base));
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
    /// Whether a command changed files, or others did.
    has_changed: bool,
}

impl Between<'_> {
    /// Whether something changed: a file by a tool or by a command, of the agent or of others.
    fn is_try(&self) -> bool {
        !self.edited.is_empty() || self.has_changed
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

/// Whether a command lets `git bisect` check out another commit.
fn bisects(command: &str) -> bool {
    command.split(" ; ").any(|run| {
        let mut words = run.rsplit(" && ").next().unwrap_or(run).split_whitespace();
        (words.next(), words.next()) == (Some("git"), Some("bisect"))
            && words.next().is_some_and(|step| BISECTS.contains(&step))
    })
}

/// The actions of a loop.
struct Round {
    acts: Vec<Ran>,
    edits: Vec<Edit>,
    count: u32,
    period: Option<u32>,
}

impl Round {
    fn of(acts: &[&Ran]) -> Self {
        let acts: Vec<Ran> = acts.iter().map(|ran| (*ran).clone()).collect();
        Self { count: acts.len() as u32, acts, edits: Vec::new(), period: None }
    }
}

#[cfg(test)]
mod tests;
