//! The detectors of patterns: a pure fold over the events. It finds the same patterns in any ledger, however often and
//! in whatever portions it is asked for them.

mod cluster;
mod handoff;
mod looping;
mod polls;
mod spiral;
mod stall;
#[cfg(test)]
mod tests;
mod unstable;

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use self::cluster::Cluster;
use self::handoff::Handoff;
use self::looping::Looping;
use self::spiral::Spiral;
use self::stall::Stall;
use self::unstable::Unstable;
use crate::domain::agent::AgentId;
use crate::domain::event::{Event, PatternClosed, PatternOpened, Recorded};
use crate::domain::ids::{PatternId, SessionId, TaskId};
use crate::domain::pattern::{MAX_GROUNDS, PatternEnd, PatternKind, Repeats};
use crate::domain::scope::Scope;
use crate::domain::state::State;
use crate::domain::text::CommandLine;
use crate::domain::time::{Hours, Timestamp};

pub use stall::MAX_SILENCE;

/// How long a change waits to be recorded. An older one is history, as after an update of this program.
const FRESH_FOR: Hours = Hours(24);
/// How long a dismissed subject is not raised again.
const DISMISSED_FOR: Hours = Hours(24);
/// The most scopes that a pattern names.
const MAX_SCOPES: usize = 8;

/// The settings of the detectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternPolicy {
    /// Kinds that are not reported.
    pub off: BTreeSet<PatternKind>,
    /// Words of commands that only wait, besides the built-in ones.
    pub polls: Vec<String>,
    /// How often the same must happen in a loop, at least. Equal failures with an edit before each, and equal passes of a command
    /// that does more than look, must happen more often whatever this says.
    pub loop_repeats: u32,
    /// After how many minutes of silence a session with work is stalled.
    pub stall_minutes: u32,
}

impl Default for PatternPolicy {
    fn default() -> Self {
        Self { off: BTreeSet::new(), polls: Vec::new(), loop_repeats: 3, stall_minutes: 30 }
    }
}

/// The subject of a pattern. At most one pattern of a subject is open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Subject {
    kind: PatternKind,
    /// The session of a loop or a stall.
    session: Option<SessionId>,
    about: String,
}

impl Subject {
    fn new(kind: PatternKind, session: Option<&SessionId>, about: &str) -> Self {
        let about: String = about.trim().chars().take(CommandLine::MAX_CHARS).collect();
        Self { kind, session: session.cloned(), about: about.trim_end().to_owned() }
    }

    /// Whether both are loops of the same commands, in any session.
    fn is_like(&self, other: &Self) -> bool {
        self.kind == PatternKind::Loop && other.kind == PatternKind::Loop && self.about == other.about
    }
}

/// A pattern that a detector found.
#[derive(Debug, Clone, PartialEq)]
struct Found {
    subject: Subject,
    agents: BTreeSet<AgentId>,
    task: Option<TaskId>,
    scopes: Vec<Scope>,
    rests_on: Vec<u64>,
    repeats: Repeats,
    at: Timestamp,
}

impl Found {
    fn opened(&self, episode: u32, id: PatternId) -> Option<PatternOpened> {
        let mut rests_on = self.rests_on.clone();
        rests_on.sort_unstable();
        rests_on.dedup();
        let rests_on = rests_on.split_off(rests_on.len().saturating_sub(MAX_GROUNDS));
        Some(PatternOpened {
            pattern_id: id,
            kind: self.subject.kind,
            about: self.subject.about.parse().ok()?,
            episode,
            sessions: self.subject.session.clone().into_iter().collect(),
            agents: self.agents.iter().cloned().collect(),
            task: self.task,
            scopes: self.scopes.iter().take(MAX_SCOPES).cloned().collect(),
            rests_on,
            repeats: self.repeats.clone(),
        })
    }
}

/// A change that is not recorded yet.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Open(Box<Found>, u32),
    Close(Subject, u32, PatternEnd, Timestamp),
}

impl Step {
    fn at(&self) -> Timestamp {
        match self {
            Self::Open(found, _) => found.at,
            Self::Close(_, _, _, at) => *at,
        }
    }
}

/// A pattern that is recorded and not closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPattern {
    /// The agents that it is about.
    pub agents: Vec<AgentId>,
    subject: Subject,
    episode: u32,
}

/// What the detectors remember. All of it is bounded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Patterns {
    looping: Looping,
    handoff: Handoff,
    spiral: Spiral,
    stall: Stall,
    cluster: Cluster,
    unstable: Unstable,
    book: Book,
}

/// The open episodes and the changes that are not recorded yet.
#[derive(Debug, Clone, Default, PartialEq)]
struct Book {
    /// The subjects with an open episode, each with the number of the episode.
    open: BTreeMap<Subject, u32>,
    /// The number of the last episode of each subject.
    episodes: BTreeMap<Subject, u32>,
    dismissed: BTreeMap<Subject, (Timestamp, Vec<AgentId>)>,
    steps: Vec<Step>,
    recorded: BTreeMap<PatternId, OpenPattern>,
}

impl Book {
    fn is_open(&self, subject: &Subject) -> bool {
        self.open.contains_key(subject)
    }

    fn open_of<'b>(&'b self, kind: PatternKind) -> impl Iterator<Item = &'b Subject> + 'b {
        self.open.keys().filter(move |subject| subject.kind == kind)
    }

    /// Opens an episode, if none is open.
    fn open(&mut self, found: Found) {
        let subject = &found.subject;
        // The next session of an agent that does it on purpose is no news.
        let is_dismissed = |(other, (at, agents)): (&Subject, &(Timestamp, Vec<AgentId>))| {
            let is_it = other == subject
                || other.is_like(subject) && agents.iter().any(|agent| found.agents.contains(agent));
            is_it && at.is_within(DISMISSED_FOR, found.at)
        };
        if self.is_open(subject) || self.dismissed.iter().any(is_dismissed) {
            return;
        }
        let episode = self.episodes.entry(subject.clone()).or_insert(0);
        *episode += 1;
        self.open.insert(subject.clone(), *episode);
        let episode = *episode;
        self.steps.push(Step::Open(Box::new(found), episode));
    }

    fn close(&mut self, subject: &Subject, why: PatternEnd, at: Timestamp) {
        if let Some(episode) = self.open.remove(subject) {
            self.steps.push(Step::Close(subject.clone(), episode, why, at));
        }
    }

    /// Counts a further repetition in an episode that is not recorded yet.
    fn again(&mut self, subject: &Subject, seq: u64) {
        for step in &mut self.steps {
            if let Step::Open(found, _) = step
                && found.subject == *subject
            {
                found.repeats.count += 1;
                found.rests_on.push(seq);
            }
        }
    }

    /// Drops the changes that are too old to be recorded.
    fn forget(&mut self, now: Timestamp) {
        if self.steps.first().is_some_and(|step| !step.at().is_within(FRESH_FOR, now)) {
            self.steps.retain(|step| step.at().is_within(FRESH_FOR, now));
        }
    }

    fn opened(&mut self, opened: &PatternOpened) {
        let session = opened.sessions.first().cloned();
        let subject = Subject::new(opened.kind, session.as_ref(), opened.about.as_str());
        let is_it = |step: &Step| matches!(step, Step::Open(found, episode) if found.subject == subject && *episode == opened.episode);
        match self.steps.iter().position(is_it) {
            Some(at) => drop(self.steps.remove(at)),
            // A stall opens with its record. Another release may have had other rules.
            None => {
                self.open.insert(subject.clone(), opened.episode);
                let last = self.episodes.entry(subject.clone()).or_insert(0);
                *last = opened.episode.max(*last);
            }
        }
        let agents = opened.agents.clone();
        self.recorded.insert(opened.pattern_id, OpenPattern { agents, subject, episode: opened.episode });
    }

    fn closed(&mut self, closed: &PatternClosed) {
        let Some(open) = self.recorded.remove(&closed.pattern_id) else { return };
        let is_it = |step: &Step| matches!(step, Step::Close(subject, episode, _, _) if *subject == open.subject && *episode == open.episode);
        match self.steps.iter().position(is_it) {
            Some(at) => drop(self.steps.remove(at)),
            None => drop(self.open.remove(&open.subject)),
        }
    }

    fn dismissed(&mut self, id: PatternId, at: Timestamp) {
        let Some(open) = self.recorded.remove(&id) else { return };
        self.open.remove(&open.subject);
        self.steps.retain(|step| !matches!(step, Step::Close(subject, _, _, _) if *subject == open.subject));
        self.dismissed.retain(|_, (dismissed, _)| dismissed.is_within(DISMISSED_FOR, at));
        self.dismissed.insert(open.subject, (at, open.agents));
    }
}

impl Patterns {
    /// Folds one event. `state` is the state after it.
    pub(super) fn evolve(&mut self, state: &State, recorded: &Recorded) {
        self.book.forget(recorded.at);
        match &recorded.event {
            Some(Event::PatternOpened(opened)) => return self.book.opened(opened),
            Some(Event::PatternClosed(closed)) => return self.book.closed(closed),
            Some(Event::PatternDismissed(of)) => return self.book.dismissed(of.pattern_id, recorded.at),
            _ => {}
        }
        self.stall.evolve(state, recorded, &mut self.book);
        let Some(event) = &recorded.event else { return };
        self.looping.evolve(state, recorded, event, &mut self.book);
        self.handoff.evolve(state, recorded, event, &mut self.book);
        self.spiral.evolve(state, recorded, event, &mut self.book);
        self.cluster.evolve(state, recorded, event, &mut self.book);
        self.unstable.evolve(state, recorded, event, &mut self.book);
    }

    /// A recorded pattern that is not closed.
    pub fn open(&self, id: PatternId) -> Option<&OpenPattern> {
        self.book.recorded.get(&id)
    }

    /// The kinds of the recorded patterns that are open in a session: they are about it, or about no session and its
    /// agent.
    pub fn open_in(&self, agent: &AgentId, session: Option<&SessionId>) -> Vec<PatternKind> {
        let here = self.book.recorded.values().filter(|open| match &open.subject.session {
            Some(about) => session == Some(about),
            None => open.agents.contains(agent),
        });
        here.map(|open| open.subject.kind).collect()
    }

    /// Whether there is anything that may be due, except what only time brings.
    pub fn has_news(&self, policy: &PatternPolicy) -> bool {
        self.book.steps.iter().any(|step| match step {
            Step::Open(found, _) => is_wanted(found, policy),
            // Where the opening is no news, only the end of a recorded pattern is.
            Step::Close(subject, episode, ..) => {
                let mut recorded = self.book.recorded.values();
                recorded.any(|open| open.subject == *subject && open.episode == *episode)
            }
        })
    }

    /// The events that open and close patterns at `now`. `is_busy` tells of a session whether a tool call of it is open
    /// or it waits for its human; the ledger does not show that. The same call after these events are folded yields
    /// none.
    pub fn due(
        &self,
        state: &State,
        now: Timestamp,
        policy: &PatternPolicy,
        is_busy: &dyn Fn(&SessionId) -> bool,
        new_id: &mut dyn FnMut() -> Uuid,
    ) -> Vec<Event> {
        let mut book = self.book.clone();
        self.stall.due(state, now, policy, is_busy, &mut book);
        self.unstable.due(now, &mut book);
        let mut ids: BTreeMap<(&Subject, u32), PatternId> =
            book.recorded.iter().map(|(id, open)| ((&open.subject, open.episode), *id)).collect();
        let mut events: Vec<Event> = Vec::new();
        for step in &book.steps {
            if !step.at().is_within(FRESH_FOR, now) {
                continue;
            }
            match step {
                Step::Open(found, episode) => {
                    let id = PatternId::from_uuid(new_id());
                    if is_wanted(found, policy)
                        && let Some(opened) = found.opened(*episode, id)
                    {
                        ids.insert((&found.subject, *episode), id);
                        events.push(opened.into());
                    }
                }
                Step::Close(subject, episode, why, _) => {
                    if let Some(id) = ids.remove(&(subject, *episode)) {
                        events.push(PatternClosed { pattern_id: id, why: *why }.into());
                    }
                }
            }
        }
        events
    }
}

fn is_wanted(found: &Found, policy: &PatternPolicy) -> bool {
    let is_loop = found.subject.kind == PatternKind::Loop;
    let polls = || {
        let mut words = found.repeats.commands.iter().flat_map(|line| line.as_str().split_whitespace());
        words.any(|word| policy.polls.iter().any(|poll| poll == word))
    };
    !policy.off.contains(&found.subject.kind)
        && (!is_loop || found.repeats.count >= policy.loop_repeats && !polls())
}

/// Whether two lists of scopes overlap, apart from the whole workspace, which overlaps everything.
fn overlap(one: &[Scope], other: &[Scope]) -> bool {
    let narrow = |scope: &&Scope| !scope.is_whole();
    one.iter().filter(narrow).any(|one| other.iter().filter(narrow).any(|other| one.overlaps(other)))
}
