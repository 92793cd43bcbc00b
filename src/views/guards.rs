//! The guards and the dead ends that warn, with the outcomes of their firings, and the reasons for a silence.

use std::fmt::Write;

use serde::Serialize;
use serde_json::json;

use super::asking::Asking;
use super::markdown::inline;
use super::{Answer, MAX_LIMIT, ViewError, to_json};
use crate::domain::action::{Action, Attempt, age, for_people};
use crate::domain::event::{Event, Guard};
use crate::domain::guard::{Condition, Counts, MAX_A_TURN, Subject};
use crate::domain::names::{Named, Sort};
use crate::domain::rejection::Rejection;
use crate::domain::time::Timestamp;
use crate::ledger;
use crate::reads::Reads;
use crate::store::{GuardView, Myself, Reader, StoreError};
use uuid::Uuid;

/// The last firings on the page of a guard.
const FIRINGS_SHOWN: usize = 20;
/// The events among which the last action of a session is looked for.
const LOOKED_AT: usize = 1_000;

/// All guards and dead ends that warn, newest first.
pub(super) fn answer(asking: &mut Asking<'_>) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let guards = asked.store.guards(MAX_LIMIT)?;
        let text = || {
            if guards.is_empty() {
                return "No guards yet: `hm guard accept` adds one, and a dead end with a trigger is one.\n"
                    .to_owned();
            }
            guards.iter().map(|guard| line(guard, asked.now)).collect()
        };
        Ok(asked.answer(|| json!({ "guards": guards }), text))
    })
}

/// One guard, with its last firings.
pub(super) fn one(asking: &mut Asking<'_>, id: &str) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let Some(guard) = asked.store.guard(id)? else {
            return Err(ViewError::NotFound(Box::new(no_guard(id))));
        };
        let firings = asked.store.firings_of(id, FIRINGS_SHOWN)?;
        let json = || {
            let mut json = to_json(&guard);
            json["firings"] = to_json(&firings);
            json
        };
        let text = || {
            let mut text = line(&guard, asked.now);
            for firing in &firings {
                let outcome = firing.outcome.as_deref().unwrap_or("open");
                let at = age(Timestamp::from_ms(firing.at), asked.now);
                let (agent, matched) = (inline(&firing.agent, 40), inline(&for_people(&firing.matched), 120));
                let _ = writeln!(text, "  - {at} {agent}: `{matched}`: {}", outcome.replace('_', " "));
            }
            text
        };
        Ok(asked.answer(json, text))
    })
}

/// Whether an id is that of an accepted guard.
///
/// # Errors
/// [`ViewError`].
pub fn is_guard(reads: &mut Reads, id: Uuid) -> Result<bool, ViewError> {
    let Some(store) = reads.store()? else { return Ok(false) };
    Ok(store.name_given(id.to_string())?.is_some_and(|name| name.starts_with(Named::Guard.letter())))
}

/// The refusal for an unknown guard.
fn no_guard(id: &str) -> Rejection {
    let (code, list) = Sort::Guard.refusal();
    Rejection::new(
        code,
        format!("no guard and no dead end with a trigger is called {}", inline(id, 60)),
        list,
    )
}

/// Whether an event changes the list.
pub(super) fn touched_by(event: &Event) -> bool {
    let is_claims = matches!(
        event,
        Event::ClaimCreated(_) | Event::StatusChanged(_) | Event::GuardAccepted(_) | Event::GuardMuted(_)
    );
    let fires =
        matches!(event, Event::GuardFired(fired) if matches!(fired.guard, Guard::Claim(_) | Guard::Rule(_)));
    is_claims || fires || crate::domain::guard::decides(event)
}

fn line(guard: &GuardView, now: Timestamp) -> String {
    let GuardView { id, text, action, by, at, .. } = guard;
    let about = claimed(guard);
    let made = age(Timestamp::from_ms(*at), now);
    let silent = match guard.muted.as_slice() {
        [] => String::new(),
        mutes => mutes.iter().fold("; muted".to_owned(), |mut text, mute| {
            if let Some(scope) = &mute.scope {
                let _ = write!(text, " at {}", inline(scope.as_str(), 120));
            }
            text
        }),
    };
    let ended = guard.until.is_some_and(|until| until <= now.ms());
    let ended = if ended { "; over" } else { "" };
    format!(
        "- {id} {action}: {} ({}{about}, by {} {made}): {}{silent}{ended}\n",
        inline(text, 200),
        condition(guard),
        inline(by, 40),
        outcomes(&guard.counts),
    )
}

fn claimed(guard: &GuardView) -> String {
    let other = guard.claim_id.filter(|claim| claim.to_string() != guard.id);
    other.map_or_else(String::new, |claim| format!("; from {claim}"))
}

/// The outcomes in words.
fn outcomes(counts: &Counts) -> String {
    let Counts { fired, followed, ignored, proved_wrong, proved_right, .. } = counts;
    format!(
        "fired {fired}, followed {followed}, ignored {ignored}, wrong {proved_wrong}, right {proved_right}"
    )
}

fn condition(guard: &GuardView) -> String {
    let Condition {
        scope,
        paths,
        commands,
        event_types,
        claim_type,
        status,
        pattern_type,
        error_signature,
        text_includes,
    } = &guard.condition;
    let mut parts: Vec<String> = Vec::new();
    let mut add = |name: &str, value: String| parts.push(format!("{name} `{}`", inline(&value, 160)));
    let listed = |values: Vec<String>| values.join("`, `");
    if !commands.is_empty() {
        add("command", listed(commands.iter().map(ToString::to_string).collect()));
    }
    if !paths.is_empty() {
        add("path", listed(paths.iter().map(ToString::to_string).collect()));
    }
    if !guard.symbols.is_empty() {
        add("symbol", listed(guard.symbols.iter().map(ToString::to_string).collect()));
    }
    let one = [
        ("error", error_signature.as_ref().map(|error| for_people(error.as_str()))),
        ("scope", scope.as_ref().map(ToString::to_string)),
        ("claim type", claim_type.map(|of| of.to_string())),
        ("status", status.map(|of| of.to_string())),
        ("pattern", pattern_type.map(|of| of.to_string())),
        ("text", text_includes.as_ref().map(ToString::to_string)),
        ("runs profile", guard.profile.as_ref().map(ToString::to_string)),
    ];
    for (name, value) in one {
        value.into_iter().for_each(|value| add(name, value));
    }
    if !event_types.is_empty() {
        add("event", listed(event_types.iter().map(ToString::to_string).collect()));
    }
    parts.join(", ")
}

/// A guard that was looked at for an action, and why it says something or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Looked {
    /// The guard, or the claim of a dead end.
    pub id: String,
    /// Its short name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it says.
    pub text: String,
    /// Why it speaks or is silent.
    pub why: String,
    /// Whether it would speak at this action now.
    pub speaks: bool,
}

/// The guards that were looked at for an action of a session, and why each is silent.
///
/// # Errors
/// [`ViewError`].
pub fn silences(
    reads: &mut Reads,
    (agent, session): (&str, &str),
    (action, text): (&Action, &str),
    now: Timestamp,
) -> Result<Vec<Looked>, ViewError> {
    let (looked, _) = reads.ask(now, |store| looked(store, (agent, session), (action, text), now))?;
    Ok(looked.unwrap_or_default())
}

fn looked(
    store: &Reader,
    (agent, session): (&str, &str),
    (action, text): (&Action, &str),
    now: Timestamp,
) -> Result<Vec<Looked>, StoreError> {
    let since = store.session(session)?.map_or(0, |session| session.prompt_seq);
    let me = Myself { agent, session, is_seated: false };
    let patterns = store.open_kinds(agent, session)?;
    let subject = Subject { patterns, ..Subject::of_action(action, text) };
    let is_full = store.guards_spoken(session, since)? >= MAX_A_TURN;
    let full = || format!("{MAX_A_TURN} guards spoke in this turn already");
    let mut all = Vec::new();
    for (rule, met) in store.guards_for(&subject)? {
        let id = rule.id.to_string();
        let silent = match met {
            Err(unmet) => Some(format!("its condition is not met: {}", unmet.0)),
            Ok(_) if rule.until.is_some_and(|until| until <= now) => Some("it is over".to_owned()),
            Ok((kind, _)) if store.is_muted(&id, (kind, &subject), now)? => {
                Some("it is muted here".to_owned())
            }
            Ok(_) if store.has_fired(session, &id, since)? => {
                Some("it spoke in this turn already".to_owned())
            }
            Ok(_) => is_full.then(full),
        };
        all.push(Looked {
            name: store.name_given(&id)?,
            id,
            text: rule.text.to_string(),
            speaks: silent.is_none(),
            why: silent.unwrap_or_else(|| "it speaks".to_owned()),
        });
    }
    for candidate in store.dead_ends_near(action)? {
        let id = candidate.claim_id;
        let silent = match (candidate.over, candidate.met_by) {
            (Some(over), _) => Some(over),
            (None, None) => {
                Some("its trigger is not met: another command, directory, path or error".to_owned())
            }
            (None, Some(_)) if me.said(&candidate.owner, candidate.session.as_deref()) => {
                Some("it is your own".to_owned())
            }
            (None, Some(kind)) if store.is_muted(&id.to_string(), (kind, &subject), now)? => {
                Some("it is muted here".to_owned())
            }
            (None, Some(_)) if store.has_fired(session, &id.to_string(), since)? => {
                Some("it spoke in this turn already".to_owned())
            }
            (None, Some(_)) if store.knows_dead_end(me, id, since)? => {
                Some("a receipt told it in this session".to_owned())
            }
            (None, Some(_)) => is_full.then(full),
        };
        all.push(Looked {
            name: store.name_given(id)?,
            id: id.to_string(),
            text: candidate.statement,
            speaks: silent.is_none(),
            why: silent.unwrap_or_else(|| "it speaks".to_owned()),
        });
    }
    Ok(all)
}

/// The last command or edit of a session that a hook saw, with its command line.
///
/// # Errors
/// [`ViewError`].
pub fn last_action(reads: &mut Reads, session: &str) -> Result<Option<(Action, String)>, ViewError> {
    let root = reads.workspace().root().to_string_lossy().into_owned();
    let Some(ledger) = reads.ledger()? else { return Ok(None) };
    let latest = ledger::Filter { limit: LOOKED_AT, newest: true, ..ledger::Filter::default() };
    for stored in ledger.list(&latest)?.iter().rev() {
        let Ok(recorded) = stored.recorded() else { continue };
        if recorded.session.as_ref().is_none_or(|of| of.as_str() != session) {
            continue;
        }
        if let Some(Event::CommandRan(ran)) = &recorded.event {
            let line = ran.command.to_string();
            let tail = ran.tail.as_ref().filter(|_| ran.failed).map(|tail| tail.as_str());
            let attempt = Attempt { command: Some(&line), output: tail, ..Attempt::default() };
            let action = Action { error: ran.error_signature.clone(), ..Action::of(attempt, &root, &root) };
            return Ok(Some((action, line)));
        }
        if let Some(Event::FileEdited(edited)) = &recorded.event {
            let action = Action { root, paths: edited.paths.clone(), ..Action::default() };
            let text = edited.paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Ok(Some((action, text)));
        }
    }
    Ok(None)
}

/// The guards that were looked at, in Markdown.
pub fn silences_text(about: &str, looked: &[Looked]) -> String {
    let mut text = format!("About `{}`:\n", inline(about, 200));
    if looked.is_empty() {
        text.push_str("No guard and no dead end has a trigger near it.\n");
    }
    for guard in looked {
        let name = guard.name.as_ref().unwrap_or(&guard.id);
        let _ = writeln!(text, "- {name}: {} ({})", guard.why, inline(&guard.text, 120));
    }
    text
}
