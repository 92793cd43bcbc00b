//! Guards: a condition on actions and writes, what happens where it is met, and the outcome of each firing.

use serde::{Deserialize, Serialize};

use crate::domain::action::{self, Action, End, Kind, NormalCommand};
use crate::domain::claim::{ClaimType, Status, Trigger, word};
use crate::domain::event::{CommandRan, Event};
use crate::domain::experiment::ProfileName;
use crate::domain::ids::{ClaimId, GuardId};
use crate::domain::pattern::PatternKind;
use crate::domain::scope::Scope;
use crate::domain::session::Role;
use crate::domain::text::{Advice, CommandLine, ErrorSignature, OutputTail, Phrase};
use crate::domain::time::Timestamp;

/// The most guards that speak in one turn of a session. More warnings are read past.
pub const MAX_A_TURN: usize = 2;
/// How often a session ignores a guard before the guard escalates to the architect.
pub const ESCALATES_AFTER: u64 = 3;
/// How often in a row sessions ignore a guard before its retirement is proposed.
pub const RETIRES_AFTER: u64 = 50;
/// How often in a row a guard is proved wrong before a challenge of its claim is proposed.
pub const DOUBTED_AFTER: u64 = 3;
/// Failures with one error signature before a guard is suggested.
pub const SUGGESTED_AFTER: u64 = 3;

word!(
    /// What a guard does where its condition is met.
    Effect("action of a guard") {
        /// It warns the agent.
        Warn = "warn",
        /// It gives the agent advice.
        Suggest = "suggest",
        /// It warns the agent, and the architect is told.
        Escalate = "escalate",
        /// It stops the action, where the configuration allows that.
        Block = "block",
    }
);

word!(
    /// What came of a firing.
    Outcome("outcome of a firing") {
        /// The action did not happen within the turn. For an error: the agent did what the advice names, or the failed
        /// command passed afterwards.
        Followed = "followed",
        /// The action happened, and its end shows nothing.
        Ignored = "ignored",
        /// The action happened and succeeded.
        ProvedWrong = "proved_wrong",
        /// The action happened and failed.
        ProvedRight = "proved_right",
        /// Nothing shows whether the action happened. It counts for nothing.
        Unclear = "unclear",
    }
);

word!(
    /// An event that a guard looks at.
    Moment("event type of a guard") {
        /// An agent runs a command.
        CommandRan = "command.ran",
        /// An agent changes files.
        FileEdited = "file.edited",
        /// An agent makes a claim.
        ClaimCreated = "claim.created",
        /// An agent records a decision.
        DecisionRecorded = "decision.recorded",
        /// An agent asks for a run.
        ExperimentQueued = "experiment.queued",
        /// An agent challenges a claim. Only guards that block look at it.
        PositionTaken = "position.taken",
    }
);

/// When a guard fires. All fields that are set must be met.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The place of the action: a file that it changes or names, or a scope of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Paths or globs, one of which the action changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Scope>,
    /// Commands, one of which the action runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandLine>,
    /// The events that the guard looks at. Empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub event_types: Vec<Moment>,
    /// The type of the claim that is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_type: Option<ClaimType>,
    /// The status of the claim that the command is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The type of a pattern that is open in the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern_type: Option<PatternKind>,
    /// The error with which the action ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_signature: Option<ErrorSignature>,
    /// A phrase in the command, in the written text, or in the statement. Letter case does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_includes: Option<Phrase>,
}

/// The part of a condition that is not met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmet(pub &'static str);

/// An action or a write that a guard looks at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// Its commands, paths and error.
    pub action: Action,
    /// What happens.
    pub moments: Vec<Moment>,
    /// The scopes of the claim that is written. Empty for an action.
    pub scopes: Vec<Scope>,
    /// Its type.
    pub claim_type: Option<ClaimType>,
    /// The status of the claim that the command is about.
    pub status: Option<Status>,
    /// The types of the patterns that are open in the session.
    pub patterns: Vec<PatternKind>,
    /// The command line, the written text or the statement.
    pub text: String,
}

impl Subject {
    /// An action of an agent. `text` is its command line or the text that it writes.
    pub fn of_action(action: &Action, text: &str) -> Self {
        let mut moments = Vec::new();
        if !action.commands.is_empty() || action.error.is_some() {
            moments.push(Moment::CommandRan);
        }
        if !action.paths.is_empty() {
            moments.push(Moment::FileEdited);
        }
        Self { action: action.clone(), moments, text: text.to_owned(), ..Self::default() }
    }

    /// The files and scopes of the subject: those that it changes, names, or is about.
    pub fn places(&self) -> Vec<Scope> {
        let named = action::files_named(&self.action.commands);
        self.action.paths.iter().chain(&self.scopes).cloned().chain(named).collect()
    }

    /// The places that a match of this kind is about. That of a path is about the files that change, whatever else the
    /// command names.
    fn places_of(&self, kind: Kind) -> Vec<Scope> {
        let changed = &self.action.paths;
        if kind == Kind::Path && !changed.is_empty() { changed.clone() } else { self.places() }
    }
}

impl Condition {
    /// The most entries in each list.
    pub const MAX_ENTRIES: usize = Trigger::MAX_ENTRIES;

    /// Whether no field is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The field that the condition must not have as it is: a path that covers the whole workspace, or a list that is
    /// too long.
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let is_whole = |scope: &Scope| scope.is_whole() || scope.as_str() == "**";
        if self.scope.as_ref().is_some_and(is_whole) {
            return Some((
                "condition.scope",
                "the whole workspace means every action: name a part".to_owned(),
            ));
        }
        if self.paths.iter().any(|path| is_whole(path) || !path.is_path()) {
            return Some(("condition.paths", "name a path or glob below the root".to_owned()));
        }
        if self.paths.len().max(self.commands.len()) > Self::MAX_ENTRIES {
            return Some(("condition", format!("at most {} entries in a list", Self::MAX_ENTRIES)));
        }
        None
    }

    /// The keys under which the guard is stored. [`Action::keys`] of an action that it meets has one of them; a guard
    /// without any is compared with each action.
    pub fn keys(&self) -> Vec<(Kind, String)> {
        let by = |trigger: &Trigger| action::keys(trigger);
        let commands = by(&Trigger { commands: self.commands.clone(), ..Trigger::default() });
        if !commands.is_empty() {
            return commands;
        }
        let error = by(&Trigger { error_signature: self.error_signature.clone(), ..Trigger::default() });
        if !error.is_empty() {
            return error;
        }
        by(&Trigger { paths: self.paths.clone(), ..Trigger::default() })
    }

    /// Whether all fields that are set are met: the kind of the match, and the match in words.
    ///
    /// # Errors
    /// [`Unmet`] names the first field that is not.
    pub fn met(&self, subject: &Subject) -> Result<(Kind, String), Unmet> {
        let mut met = None;
        let parts = [
            ("commands", Trigger { commands: self.commands.clone(), ..Trigger::default() }),
            (
                "error_signature",
                Trigger { error_signature: self.error_signature.clone(), ..Trigger::default() },
            ),
            ("paths", Trigger { paths: self.paths.clone(), ..Trigger::default() }),
        ];
        for (field, trigger) in parts.iter().filter(|(_, trigger)| !trigger.is_empty()) {
            let (kind, one) = action::met(trigger, &subject.action).ok_or(Unmet(field))?;
            met.get_or_insert_with(|| (kind, self.run_in(&subject.action, kind, &one).unwrap_or(one)));
        }
        let places = if self.scope.is_some() { subject.places() } else { Vec::new() };
        let place = self.scope.as_ref().map(|scope| {
            places.iter().find(|place| scope.covers(place) || scope == *place).ok_or(Unmet("scope"))
        });
        let place = place.transpose()?.cloned();
        let is_of = |moments: &[Moment]| moments.iter().any(|moment| subject.moments.contains(moment));
        if !self.event_types.is_empty() && !is_of(&self.event_types) {
            return Err(Unmet("event_types"));
        }
        if self.claim_type.is_some() && self.claim_type != subject.claim_type {
            return Err(Unmet("claim_type"));
        }
        if self.status.is_some() && self.status != subject.status {
            return Err(Unmet("status"));
        }
        if self.pattern_type.is_some_and(|wanted| !subject.patterns.contains(&wanted)) {
            return Err(Unmet("pattern_type"));
        }
        let text = subject.text.to_lowercase();
        if self.text_includes.as_ref().is_some_and(|phrase| !text.contains(&phrase.as_str().to_lowercase())) {
            return Err(Unmet("text_includes"));
        }
        Ok(met.unwrap_or_else(|| subject.names(place)))
    }

    /// The run that met a command of a condition which asks for more than that command. An outcome recognises it by the
    /// whole run: the command alone may obey the guard.
    fn run_in(&self, action: &Action, kind: Kind, command: &str) -> Option<String> {
        let (phrase, scope) = (self.text_includes.as_ref(), self.scope.as_ref());
        if kind != Kind::Command || (phrase.is_none() && scope.is_none() && self.paths.is_empty()) {
            return None;
        }
        let phrase = phrase.map(|phrase| phrase.as_str().to_lowercase());
        let meets_all = |run: &NormalCommand| {
            let says = phrase.as_ref().is_none_or(|phrase| run.to_string().to_lowercase().contains(phrase));
            let mut named = action::files_named(std::slice::from_ref(run));
            says && scope.is_none_or(|scope| named.any(|file| scope.covers(&file)))
        };
        action::run_of(command, action, meets_all).map(ToString::to_string)
    }
}

impl Subject {
    /// The kind of the subject, and the part by which an outcome recognises it.
    fn names(&self, place: Option<Scope>) -> (Kind, String) {
        if let Some(command) = self.action.commands.last().filter(|_| self.scopes.is_empty()) {
            return (Kind::Command, command.to_string());
        }
        match self.action.paths.first().cloned().or(place) {
            Some(path) if self.scopes.is_empty() => (Kind::Path, path.to_string()),
            _ => (Kind::Write, self.text.chars().take(80).collect()),
        }
    }
}

/// A guard in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The guard.
    pub id: GuardId,
    /// When it fires.
    pub condition: Condition,
    /// What it does.
    pub effect: Effect,
    /// What it says.
    pub text: Advice,
    /// The claim or the decision behind it.
    pub claim_id: Option<ClaimId>,
    /// When it ends.
    pub until: Option<Timestamp>,
    /// The profile whose run settles a contested claim of a write that meets it. Only a guard that blocks has one.
    pub profile: Option<ProfileName>,
}

impl Rule {
    /// Whether the guard fires at a subject: [`Condition::met`]. A guard that blocks without naming a place also fires
    /// where only the shell knows the place.
    ///
    /// # Errors
    /// [`Unmet`] names the first field that is not met.
    pub fn met(&self, subject: &Subject) -> Result<(Kind, String), Unmet> {
        let Condition { scope, paths, .. } = &self.condition;
        let is_anywhere = self.effect == Effect::Block && scope.is_none() && paths.is_empty();
        if !is_anywhere || subject.action.somewhere.is_empty() {
            return self.condition.met(subject);
        }
        let mut subject = subject.clone();
        subject.action.commands.append(&mut subject.action.somewhere);
        if !subject.moments.contains(&Moment::CommandRan) {
            subject.moments.push(Moment::CommandRan);
        }
        self.condition.met(&subject)
    }
}

/// A silence of a guard: everywhere or at a scope, for ever or until a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mute {
    /// Only there.
    pub scope: Option<Scope>,
    /// Only until then.
    pub until: Option<Timestamp>,
}

impl Mute {
    /// Whether the guard is silent for a subject that it meets in this way: all places of the match are those of the
    /// silence.
    pub fn silences(&self, kind: Kind, subject: &Subject, now: Timestamp) -> bool {
        let is_over = self.until.is_some_and(|until| until <= now);
        let lies_in = |scope: &Scope| {
            let places = subject.places_of(kind);
            !places.is_empty() && places.iter().all(|at| scope.covers(at))
        };
        !is_over && self.scope.as_ref().is_none_or(lies_in)
    }
}

/// A firing whose outcome is open: what it was about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    /// The kind of the match.
    pub kind: Kind,
    /// The command, the path, the error, or the id of the written claim or run.
    pub did: CommandLine,
    /// What the guard says, and the places of the command that failed. Empty for other kinds than errors.
    pub advice: String,
    /// See `advice`.
    pub places: Vec<String>,
}

impl Firing {
    /// A firing whose advice is not known.
    pub const fn of(kind: Kind, did: CommandLine) -> Self {
        Self { kind, did, advice: String::new(), places: Vec::new() }
    }

    /// The outcome that a command gives to advice about an error: the agent did what the advice names, or the command
    /// that failed passes by now, or fails in the same way.
    fn of_error(&self, ran: &CommandRan, lines: &[CommandLine]) -> Option<Outcome> {
        let is_place = action::targets_of(lines).iter().any(|place| self.places.contains(place));
        let is_again = ran.error_signature.as_ref().is_some_and(|error| error.as_str() == self.did.as_str());
        if is_again {
            return Some(Outcome::Ignored);
        }
        // Who only looks at the file did nothing about it.
        let is_try = is_place && lines.iter().any(|line| !action::only_looks(line.as_str()));
        let is_named = !is_place && action::is_named_in(lines, &self.advice);
        (is_named || is_try && ran.passed()).then_some(Outcome::Followed)
    }
}

/// Whether a text has a path as a whole: not as the end of a longer one.
fn has_path(text: &str, path: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || "/_-".contains(c);
    text.match_indices(path).any(|(at, _)| {
        !text[..at].ends_with(|c| goes_on(c) || c == '.') && !text[at + path.len()..].starts_with(goes_on)
    })
}

/// The outcome that an event of the same session gives to a firing. `None` while it stays open.
pub fn outcome(firing: &Firing, event: &Event) -> Option<Outcome> {
    let did = firing.did.as_str();
    let is_write = firing.kind == Kind::Write;
    if let Event::CommandRan(ran) = event {
        let lines = if ran.runs.is_empty() { std::slice::from_ref(&ran.command) } else { &ran.runs };
        return match firing.kind {
            Kind::Error => firing.of_error(ran, lines),
            Kind::Command => {
                let trigger = Trigger { commands: vec![firing.did.clone()], ..Trigger::default() };
                let meets = |line: &&CommandLine| {
                    action::trigger_run(std::slice::from_ref(*line), &trigger).is_some()
                };
                let only_tries = |line: &CommandLine| action::only_tries(line.as_str(), firing.did.as_str());
                let mut met = lines.iter().filter(meets).peekable();
                met.peek()?;
                match met.all(only_tries) {
                    true => Some(Outcome::Unclear),
                    false => Some(of_command(ran, &trigger)),
                }
            }
            // A line that failed may have ended before it wrote. What it changed is an edit.
            Kind::Path => {
                (!ran.failed && action::writes_at(&ran.command, &ran.runs, did)).then_some(Outcome::Ignored)
            }
            Kind::Symbol | Kind::Write => None,
        };
    }
    if let Event::FileEdited(edited) = event {
        if firing.kind == Kind::Error {
            let is_advised = edited.paths.iter().any(|path| has_path(&firing.advice, path.as_str()));
            return is_advised.then_some(Outcome::Followed);
        }
        let is_edit = matches!(firing.kind, Kind::Path | Kind::Symbol);
        let did: Option<Scope> = did.parse().ok();
        let is_it = did.is_some_and(|did| edited.paths.iter().any(|path| did.covers(path)));
        return (is_edit && is_it).then_some(Outcome::Ignored);
    }
    if let Event::StatusChanged(change) = event {
        let is_it = is_write && change.claim_id.to_string() == did;
        return (is_it && change.to == Status::Deprecated).then_some(Outcome::Followed);
    }
    if let Event::ExperimentCancelRequested(cancel) = event {
        return (is_write && cancel.run_id.to_string() == did).then_some(Outcome::Followed);
    }
    let is_turn = |role| matches!(role, Role::User | Role::Assistant);
    let ends_turn = matches!(event, Event::TurnRecorded(turn) if is_turn(turn.role));
    // An error comes again in a later turn, too, and a session that ends shows nothing about its advice.
    let is_over = (ends_turn || matches!(event, Event::SessionEnded(_))) && firing.kind != Kind::Error;
    is_over.then_some(if is_write { Outcome::Ignored } else { Outcome::Followed })
}

/// Exit codes of shells and of `timeout` for a command that did not run to an end of its own: over time, `timeout` or `docker`
/// itself failed, no permission, not found, and stopped by a signal (interrupt, kill, termination).
const SAYS_NOTHING: [i32; 7] = [124, 125, 126, 127, 130, 137, 143];

/// What is printed where a command could not begin: the shell, a runner or the program itself did not find what it needs. In
/// lower case.
const DID_NOT_BEGIN: [&str; 15] = [
    "a password is required",
    "ambiguous redirect",
    "can't open file",
    "command not found",
    "could not find `cargo.toml`",
    "failed to spawn",
    "missing script",
    "no matches found",
    "no rule to make target",
    "no tests ran",
    "not a git repository",
    "unexpected argument",
    "unknown command",
    "unrecognized arguments",
    "unrecognized option",
];

/// Whether the end of the output of a command that failed says that it did not begin.
fn did_not_begin(tail: Option<&str>) -> bool {
    let tail = tail.unwrap_or_default().to_ascii_lowercase();
    let mut lines = tail.lines().map(str::trim).filter(|line| !line.is_empty());
    let says = |line: &str| DID_NOT_BEGIN.iter().any(|said| line.contains(said));
    // What a program that ran itself could not begin stands in the middle. Some print help behind the error.
    let first = lines.next().unwrap_or_default();
    let is_error = first.starts_with("error") || first.starts_with("npm ") || first.starts_with("usage");
    says(lines.next_back().unwrap_or(first)) || is_error && says(first)
}

/// The outcome that a line gives to a firing about a command which it names.
fn of_command(ran: &CommandRan, trigger: &Trigger) -> Outcome {
    let is_it = |text: &str| {
        text.parse().is_ok_and(|text: CommandLine| action::trigger_run(&[text], trigger).is_some())
    };
    let tail = ran.tail.as_ref().map(OutputTail::as_str);
    if ran.exit_code.is_some_and(|code| SAYS_NOTHING.contains(&code)) {
        return Outcome::Unclear;
    }
    match action::end_of(ran.command.as_str(), tail, &is_it, (ran.failed, ran.unseen || ran.of_last)) {
        End::Passed => Outcome::ProvedWrong,
        End::Failed if did_not_begin(tail) => Outcome::Unclear,
        End::Failed => Outcome::ProvedRight,
        End::Ran => Outcome::Ignored,
        End::Unclear => Outcome::Unclear,
    }
}

/// Whether an event can decide an outcome.
pub fn decides(event: &Event) -> bool {
    matches!(
        event,
        Event::CommandRan(_)
            | Event::FileEdited(_)
            | Event::StatusChanged(_)
            | Event::ExperimentCancelRequested(_)
            | Event::TurnRecorded(_)
            | Event::SessionEnded(_)
    )
}

/// The outcomes of a guard or of a dead end so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Firings at an action or a write.
    pub fired: u64,
    /// Firings after which the action did not happen.
    pub followed: u64,
    /// Firings after which the action happened, with an unknown end.
    pub ignored: u64,
    /// Firings after which the action happened and succeeded.
    pub proved_wrong: u64,
    /// Firings after which the action happened and failed.
    pub proved_right: u64,
    /// The last outcomes in a row in which the action happened and the guard was not proved right.
    #[serde(skip)]
    pub ignored_in_row: u64,
    /// The last outcomes in a row that proved the guard wrong.
    #[serde(skip)]
    pub wrong_in_row: u64,
}

impl Counts {
    /// Counts an outcome.
    pub fn add(&mut self, outcome: Outcome) {
        let count = match outcome {
            Outcome::Followed => &mut self.followed,
            Outcome::Ignored => &mut self.ignored,
            Outcome::ProvedWrong => &mut self.proved_wrong,
            Outcome::ProvedRight => &mut self.proved_right,
            Outcome::Unclear => return,
        };
        *count += 1;
        let (is_ignored, is_wrong) =
            (matches!(outcome, Outcome::Ignored | Outcome::ProvedWrong), outcome == Outcome::ProvedWrong);
        self.ignored_in_row = if is_ignored { self.ignored_in_row + 1 } else { 0 };
        self.wrong_in_row = if is_wrong { self.wrong_in_row + 1 } else { 0 };
    }

    /// The share of decided firings that were proved wrong, 0 to 1. None before the first outcome.
    pub fn false_share(&self) -> Option<f64> {
        let decided = self.followed + self.ignored + self.proved_wrong + self.proved_right;
        (decided > 0).then(|| self.proved_wrong as f64 / decided as f64)
    }

    /// Whether its retirement is proposed.
    pub const fn is_spent(&self) -> bool {
        self.ignored_in_row >= RETIRES_AFTER
    }

    /// Whether a challenge of its claim is proposed.
    pub const fn is_doubted(&self) -> bool {
        self.wrong_in_row >= DOUBTED_AFTER
    }
}

impl Outcome {
    /// Whether a session did what the guard warned of, and was not proved right in doing so.
    pub const fn escalates(self) -> bool {
        matches!(self, Self::Ignored | Self::ProvedRight)
    }
}

#[cfg(test)]
mod tests;
