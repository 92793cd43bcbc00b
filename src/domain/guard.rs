//! Guards: a condition on actions and writes, what happens where it is met, and the outcome of each firing.

use serde::{Deserialize, Serialize};

use crate::domain::action::{self, Action, Kind, NormalCommand};
use crate::domain::claim::{ClaimType, Status, Trigger, word};
use crate::domain::event::Event;
use crate::domain::experiment::ProfileName;
use crate::domain::ids::{ClaimId, GuardId};
use crate::domain::pattern::PatternKind;
use crate::domain::scope::Scope;
use crate::domain::session::Role;
use crate::domain::text::{Advice, CommandLine, ErrorSignature, Phrase};
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
        /// The action did not happen within the turn.
        Followed = "followed",
        /// The action happened, and its end shows nothing.
        Ignored = "ignored",
        /// The action happened and succeeded.
        ProvedWrong = "proved_wrong",
        /// The action happened and failed.
        ProvedRight = "proved_right",
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
}

/// The outcome that an event of the same session gives to a firing. `None` while it stays open.
pub fn outcome(firing: &Firing, event: &Event) -> Option<Outcome> {
    let did = firing.did.as_str();
    let is_write = firing.kind == Kind::Write;
    if let Event::CommandRan(ran) = event {
        return match firing.kind {
            Kind::Error => {
                let again = ran.error_signature.as_ref().is_some_and(|error| error.as_str() == did);
                again.then_some(Outcome::Ignored)
            }
            Kind::Command => {
                let trigger = Trigger { commands: vec![firing.did.clone()], ..Trigger::default() };
                let lines = if ran.runs.is_empty() { std::slice::from_ref(&ran.command) } else { &ran.runs };
                action::trigger_run(lines, &trigger)?;
                Some(match (ran.unseen || ran.of_last, ran.failed) {
                    (true, _) => Outcome::Ignored,
                    (false, true) => Outcome::ProvedRight,
                    (false, false) => Outcome::ProvedWrong,
                })
            }
            Kind::Path => action::writes_at(&ran.command, &ran.runs, did).then_some(Outcome::Ignored),
            Kind::Symbol | Kind::Write => None,
        };
    }
    if let Event::FileEdited(edited) = event {
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
    // The command of an error comes again in a later turn, too.
    let is_over = ends_turn && firing.kind != Kind::Error || matches!(event, Event::SessionEnded(_));
    is_over.then_some(if is_write { Outcome::Ignored } else { Outcome::Followed })
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
mod tests {
    use super::{Condition, Counts, Firing, Moment, Mute, Outcome, RETIRES_AFTER, Subject, decides, outcome};
    use crate::domain::action::{Action, Attempt, Kind};
    use crate::domain::claim::Status;
    use crate::domain::event::Event;
    use crate::domain::pattern::PatternKind;
    use crate::domain::time::Timestamp;

    fn subject(line: &str) -> Subject {
        let attempt = Attempt { command: Some(line), ..Attempt::default() };
        Subject::of_action(&Action::of(attempt, "/w", "/w"), line)
    }

    #[test]
    fn rows_of_outcomes_ask_and_another_outcome_ends_them() {
        let mut counts = Counts::default();
        assert_eq!(counts.false_share(), None);
        for _ in 1..RETIRES_AFTER {
            counts.add(Outcome::Ignored);
        }
        assert!(!counts.is_spent());
        counts.add(Outcome::Ignored);
        assert!(counts.is_spent());
        counts.add(Outcome::Followed);
        assert!(!counts.is_spent());
        for expected in [false, false, true] {
            counts.add(Outcome::ProvedWrong);
            assert_eq!(counts.is_doubted(), expected);
        }
        counts.add(Outcome::ProvedRight);
        assert!(!counts.is_doubted());
        let share = counts.false_share().expect("outcomes");
        assert!((share - 3.0 / 55.0).abs() < 1e-9, "{share}");
    }

    /// The outcome that an event gives to a firing of a kind. Each event that gives one also decides.
    fn outcome_of(kind: Kind, did: &str, event: (&str, serde_json::Value)) -> Option<Outcome> {
        let event = Event::decode(event.0, &event.1.to_string()).expect("an event");
        let outcome = outcome(&Firing { kind, did: did.parse().expect("a line") }, &event);
        assert!(outcome.is_none() || decides(&event), "{event:?}");
        outcome
    }

    #[test]
    fn a_command_gives_the_outcome_of_the_firing_it_repeats() {
        let ran = |more: serde_json::Value| {
            let mut body = serde_json::json!({ "command": "cargo publish --force", "failed": false });
            body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            ("command.ran", body)
        };
        let no_more = serde_json::json!({});
        let failed = serde_json::json!({ "failed": true, "error_signature": "pool timed out" });
        for (kind, did, more, expected) in [
            (Kind::Command, "cargo publish", no_more.clone(), Some(Outcome::ProvedWrong)),
            (Kind::Command, "cargo publish", failed.clone(), Some(Outcome::ProvedRight)),
            (Kind::Command, "cargo publish", serde_json::json!({ "unseen": true }), Some(Outcome::Ignored)),
            (Kind::Command, "cargo publish", serde_json::json!({ "of_last": true }), Some(Outcome::Ignored)),
            (Kind::Command, "cargo publish", serde_json::json!({ "runs": ["cargo doc"] }), None),
            (
                Kind::Command,
                "cargo doc",
                serde_json::json!({ "runs": ["cargo doc"] }),
                Some(Outcome::ProvedWrong),
            ),
            (Kind::Command, "cargo bench", no_more.clone(), None),
            (Kind::Error, "pool timed out", failed.clone(), Some(Outcome::Ignored)),
            (Kind::Error, "pool is full", failed, None),
            (Kind::Error, "pool timed out", no_more.clone(), None),
            (Kind::Path, "src/db", no_more.clone(), None),
            (Kind::Write, "cargo publish", no_more, None),
        ] {
            assert_eq!(outcome_of(kind, did, ran(more.clone())), expected, "{kind:?} {did} {more}");
        }
    }

    #[test]
    fn an_edit_a_withdrawal_and_the_end_of_a_turn_give_outcomes() {
        const CLAIM: &str = "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47";
        const OTHER: &str = "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d48";
        let edited = ("file.edited", serde_json::json!({ "paths": ["src/db/a.rs"] }));
        let moved = |to: &str| {
            let body = serde_json::json!({ "claim_id": CLAIM, "from": "contested", "reason": "it is old", "to": to });
            ("claim.status_changed", body)
        };
        let canceled = ("experiment.cancel_requested", serde_json::json!({ "run_id": CLAIM }));
        let turn = |role: &str| ("turn.recorded", serde_json::json!({ "role": role, "text": "go on" }));
        let ended = ("session.ended", serde_json::json!({ "cause": "ended", "session": "s-1" }));
        for (kind, did, event, expected) in [
            (Kind::Path, "src/db", edited.clone(), Some(Outcome::Ignored)),
            (Kind::Symbol, "src/db/a.rs", edited.clone(), Some(Outcome::Ignored)),
            (Kind::Path, "src/web", edited.clone(), None),
            (Kind::Command, "src/db", edited.clone(), None),
            (Kind::Write, "src/db", edited, None),
            (Kind::Write, CLAIM, moved("deprecated"), Some(Outcome::Followed)),
            (Kind::Write, CLAIM, moved("confirmed"), None),
            (Kind::Write, OTHER, moved("deprecated"), None),
            (Kind::Command, CLAIM, moved("deprecated"), None),
            (Kind::Write, CLAIM, canceled.clone(), Some(Outcome::Followed)),
            (Kind::Write, OTHER, canceled.clone(), None),
            (Kind::Command, CLAIM, canceled, None),
            (Kind::Command, "cargo publish", turn("user"), Some(Outcome::Followed)),
            (Kind::Command, "cargo publish", turn("assistant"), Some(Outcome::Followed)),
            (Kind::Write, CLAIM, turn("user"), Some(Outcome::Ignored)),
            (Kind::Path, "src/db", ended.clone(), Some(Outcome::Followed)),
            (Kind::Write, CLAIM, ended, Some(Outcome::Ignored)),
        ] {
            let name = event.0;
            assert_eq!(outcome_of(kind, did, event), expected, "{kind:?} {did} at {name}");
        }
    }

    #[test]
    fn an_event_that_says_nothing_of_an_action_decides_nothing() {
        let muted = serde_json::json!({ "guard": { "rule": "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47" } });
        assert!(!decides(&Event::decode("guard.muted", &muted.to_string()).expect("an event")));
    }

    #[test]
    fn an_outcome_escalates_where_the_session_did_what_the_guard_warned_of() {
        let escalate = [Outcome::Followed, Outcome::Ignored, Outcome::ProvedWrong, Outcome::ProvedRight];
        assert_eq!(escalate.map(Outcome::escalates), [false, true, false, true]);
    }

    #[test]
    fn each_field_of_a_condition_excludes() {
        let condition =
            |json: serde_json::Value| -> Condition { serde_json::from_value(json).expect("a condition") };
        let unmet = |json: serde_json::Value, line: &str| {
            condition(json).met(&subject(line)).map_or_else(|unmet| unmet.0, |_| "met")
        };
        let publish = "cargo publish src/db/a.rs --force";
        for (json, expected) in [
            (serde_json::json!({ "commands": ["cargo publish"] }), "met"),
            (serde_json::json!({ "commands": ["cargo bench"] }), "commands"),
            (serde_json::json!({ "commands": ["cargo publish"], "scope": "src/db" }), "met"),
            (serde_json::json!({ "commands": ["cargo publish"], "scope": "src/web" }), "scope"),
            (serde_json::json!({ "commands": ["cargo publish"], "paths": ["src/db"] }), "paths"),
            (serde_json::json!({ "text_includes": "--FORCE" }), "met"),
            (serde_json::json!({ "text_includes": "--dry-run" }), "text_includes"),
            (serde_json::json!({ "event_types": ["command.ran"] }), "met"),
            (serde_json::json!({ "event_types": ["file.edited"] }), "event_types"),
            (serde_json::json!({ "claim_type": "fact" }), "claim_type"),
            (serde_json::json!({ "status": "contested" }), "status"),
            (serde_json::json!({ "pattern_type": "loop" }), "pattern_type"),
            (serde_json::json!({ "error_signature": "pool timed out" }), "error_signature"),
        ] {
            assert_eq!(unmet(json.clone(), publish), expected, "{json}");
        }
    }

    #[test]
    fn a_condition_on_a_claim_or_a_pattern_is_met_by_an_equal_one_only() {
        let fields =
            serde_json::json!({ "claim_type": "fact", "status": "contested", "pattern_type": "loop" });
        let condition: Condition = serde_json::from_value(fields).expect("a condition");
        let equal = Subject {
            claim_type: Some("fact".parse().expect("a type")),
            status: Some(Status::Contested),
            patterns: vec![PatternKind::Stall, PatternKind::Loop],
            ..subject("cargo doc")
        };
        assert!(condition.met(&equal).is_ok());
        let other = Subject { status: Some(Status::Confirmed), ..equal.clone() };
        assert_eq!(condition.met(&other).map_err(|unmet| unmet.0), Err("status"));
        let other = Subject { patterns: vec![PatternKind::Stall], ..equal };
        assert_eq!(condition.met(&other).map_err(|unmet| unmet.0), Err("pattern_type"));
    }

    #[test]
    fn a_condition_names_a_part_of_the_workspace_in_short_lists() {
        let most = vec!["cargo publish"; Condition::MAX_ENTRIES];
        let more = vec!["cargo publish"; Condition::MAX_ENTRIES + 1];
        for (json, expected) in [
            (serde_json::json!({ "scope": "src/db", "paths": ["src/db"], "commands": most }), None),
            (serde_json::json!({ "scope": "." }), Some("condition.scope")),
            (serde_json::json!({ "scope": "**" }), Some("condition.scope")),
            (serde_json::json!({ "paths": ["src/db", "."] }), Some("condition.paths")),
            (serde_json::json!({ "paths": ["symbol:Pool"] }), Some("condition.paths")),
            (serde_json::json!({ "commands": more }), Some("condition")),
        ] {
            let condition: Condition = serde_json::from_value(json.clone()).expect("a condition");
            assert!(!condition.is_empty());
            assert_eq!(condition.fault().map(|(field, _)| field), expected, "{json}");
        }
        assert!(Condition::default().is_empty());
    }

    #[test]
    fn a_guard_is_stored_under_its_commands_or_its_error_or_its_paths() {
        for (json, expected) in [
            (serde_json::json!({ "commands": ["cargo publish"], "paths": ["src/db"] }), Some(Kind::Command)),
            (
                serde_json::json!({ "error_signature": "pool timed out", "paths": ["src/db"] }),
                Some(Kind::Error),
            ),
            (serde_json::json!({ "paths": ["src/db"] }), Some(Kind::Path)),
            (serde_json::json!({ "text_includes": "--force" }), None),
        ] {
            let condition: Condition = serde_json::from_value(json.clone()).expect("a condition");
            let mut kinds: Vec<Kind> = condition.keys().into_iter().map(|(kind, _)| kind).collect();
            // An error has a key of its own and one by its longest word.
            kinds.dedup();
            assert_eq!(kinds, Vec::from_iter(expected), "{json}");
        }
    }

    #[test]
    fn a_subject_is_a_command_or_an_edit_or_a_write() {
        let path = |path: &str| path.parse().expect("a path");
        let edit = Action { paths: vec![path("src/db/a.rs")], ..Action::default() };
        let edited = Subject::of_action(&edit, "pool");
        assert_eq!(edited.moments, [Moment::FileEdited]);
        assert_eq!(edited.names(None), (Kind::Path, "src/db/a.rs".to_owned()));
        assert!(Subject::of_action(&Action::default(), "").moments.is_empty());
        let ran = subject("cargo doc");
        assert_eq!(ran.moments, [Moment::CommandRan]);
        assert_eq!(ran.names(None).0, Kind::Command);
        let written = Subject { scopes: vec![path("src/db")], ..edited };
        assert_eq!(written.names(None), (Kind::Write, "pool".to_owned()));
        let placed = Subject::default();
        assert_eq!(placed.names(Some(path("src/web"))), (Kind::Path, "src/web".to_owned()));
        assert_eq!(placed.names(None).0, Kind::Write);
    }

    #[test]
    fn a_silence_has_a_place_and_an_end() {
        let now = Timestamp::from_ms(1_000);
        let mute = |scope: Option<&str>, until: Option<i64>| Mute {
            scope: scope.map(|scope| scope.parse().expect("a scope")),
            until: until.map(Timestamp::from_ms),
        };
        let at = subject("rustfmt --check src/db/a.rs");
        assert!(mute(None, None).silences(Kind::Command, &at, now));
        assert!(mute(Some("src/db"), Some(1_001)).silences(Kind::Command, &at, now));
        assert!(!mute(Some("src/web"), None).silences(Kind::Command, &at, now));
        assert!(!mute(None, Some(1_000)).silences(Kind::Command, &at, now));
    }
}
