//! The reasons why a context shows its entries, and why one claim is missing.

use std::fmt::Write;

use serde_json::{Value, json};

use super::asking::Asked;
use super::context::Found;
use super::markdown::inline;
use super::{Answer, ContextOf, ViewError, to_json};
use crate::domain::claim::Status;
use crate::domain::ids::ClaimId;
use crate::domain::way;
use crate::pack::{self, Entries, Explained};
use crate::store::{ClaimSummary, ClaimView};

/// Maximum length of a statement, in characters. The claim's id leads to the rest.
const GLANCE_CHARS: usize = 80;
/// Maximum length of the text of the session's subject, in characters.
const TEXT_CHARS: usize = 200;
/// Number of listed entries of each section that did not fit: those with the highest relevance.
const NOT_SHOWN: usize = 10;
const FORMULA: &str = "relevance = search (0 to 1) + 0.3 at or out of an active task + 0.2 at files of the session \
     + 0.1 x (confidence - 0.5) + 0.1 touched in the last day";

/// Each claim and dead end with the parts of its relevance.
pub(super) fn all(asked: &Asked<'_>, found: &Found, entries: &Entries, of: &ContextOf) -> Answer {
    let names = asked.store.shortener();
    let explained = pack::explain(entries, of.budget, asked.now, &names);
    let json = || {
        let items: Vec<Value> = explained.iter().map(|one| with_words(found, one)).collect();
        json!({ "about": to_json(&found.about), "budget": of.budget, "items": items })
    };
    asked.answer(json, || all_text(found, entries, &explained, of))
}

fn all_text(found: &Found, entries: &Entries, explained: &[Explained], of: &ContextOf) -> String {
    let mut text = head(found, of);
    for (section, title) in [
        ("decisions", "Decisions"),
        ("findings", "Findings"),
        ("figures", "Figures"),
        ("open", "Open"),
        ("relevant_claims", "Claims"),
        ("anti_patterns", "Dead ends"),
    ] {
        let all: Vec<&Explained> = explained.iter().filter(|one| one.section == section).collect();
        if all.is_empty() && !matches!(section, "relevant_claims" | "anti_patterns") {
            continue;
        }
        let shown = all.iter().filter(|one| one.shown).count();
        let _ = writeln!(text, "\n## {title}: {shown} of {} shown", all.len());
        for one in all.iter().filter(|one| one.shown) {
            text.push_str(&line(found, one));
        }
        let others: Vec<&&Explained> = all.iter().filter(|one| !one.shown).collect();
        if !others.is_empty() {
            text.push_str("\nNot shown, the nearest first:\n");
        }
        for one in others.iter().take(NOT_SHOWN) {
            text.push_str(&line(found, one));
        }
        if others.len() > NOT_SHOWN {
            let _ = writeln!(text, "- {} more", others.len() - NOT_SHOWN);
        }
    }
    let (attention, tasks, anchors) = (entries.attention.len(), entries.tasks.len(), entries.anchors.len());
    let _ = writeln!(
        text,
        "\nBesides, as far as there is room: {attention} needing attention, {tasks} tasks, {anchors} anchors."
    );
    text
}

/// Whether one claim is shown, with the reason.
///
/// # Errors
/// [`ViewError::NotFound`] when there is no such claim.
pub(super) fn one(
    asked: &Asked<'_>,
    found: &Found,
    entries: &Entries,
    of: &ContextOf,
    id: ClaimId,
) -> Result<Answer, ViewError> {
    let claim = asked.store.claim(id)?.ok_or_else(|| ViewError::no_claim(id))?;
    let names = asked.store.shortener();
    let explained = pack::explain(entries, of.budget, asked.now, &names);
    let told = explained.iter().find(|one| one.id == claim.summary.id.to_string());
    let why = match told {
        Some(one) => of_entry(one, explained.iter().filter(|other| other.section == one.section).count(), of),
        None => elsewhere(found, &claim, explained.len()),
    };
    let text = || {
        let mut text = head(found, of);
        let _ = writeln!(text, "\n{}: {why}", inline(&claim.summary.statement, GLANCE_CHARS));
        text.extend(told.map(|one| line(found, one)));
        text
    };
    let json = || {
        json!({
            "about": to_json(&found.about),
            "budget": of.budget,
            "claim": claim.summary.id,
            "why": why,
            "item": told.map(|one| with_words(found, one)),
        })
    };
    Ok(asked.answer(json, text))
}

fn head(found: &Found, of: &ContextOf) -> String {
    let mut text =
        format!("# Why the context of {} shows what it shows ({} characters)\n", of.agent, of.budget);
    if found.about.is_asked() {
        for about in &found.about.texts {
            let _ = writeln!(text, "- about: {}", inline(about, TEXT_CHARS));
        }
        for (what, scopes) in [("task scope", &found.about.task_scopes), ("file", &found.about.files)] {
            for scope in scopes.iter().take(NOT_SHOWN) {
                let _ = writeln!(text, "- {what}: `{}`", inline(scope.as_str(), TEXT_CHARS));
            }
        }
        let _ = writeln!(text, "\n{FORMULA}");
    } else {
        let _ = writeln!(
            text,
            "\nNo intent, task, prompt or file says what the session is about: decisions in force and confirmed claims \
             come first, by confidence and reach; to say it: {}",
            way::call("declare_intent", &json!({ "intent": "INTENT" }))
        );
    }
    text
}

/// The score of a claim in the pack by its words alone.
fn words_of(found: &Found, one: &Explained) -> Option<f64> {
    found.words(one.id.parse().ok()?)
}

/// An entry with the parts of its relevance.
fn line(found: &Found, one: &Explained) -> String {
    let parts = one.parts;
    let words = words_of(found, one).map_or_else(String::new, |words| format!(" (by its words {words:.2})"));
    let mut sum = format!("search {:.2}{words}", parts.search);
    for (name, part) in [
        ("task", parts.task),
        ("files", parts.files),
        ("decision here", parts.decides),
        ("confidence", parts.confidence),
        ("recent", parts.recent),
    ] {
        if part != 0.0 {
            let sign = if part < 0.0 { '-' } else { '+' };
            let _ = write!(sum, " {sign} {name} {:.2}", part.abs());
        }
    }
    let spare = if one.spare { ", only fills spare room" } else { "" };
    let statement = inline(&one.statement, GLANCE_CHARS);
    format!("- {:.2} = {sum}{spare}: {statement} (`{}`)\n", one.relevance, one.id)
}

fn with_words(found: &Found, one: &Explained) -> Value {
    let mut json = to_json(one);
    json["words"] = json!(words_of(found, one));
    json
}

/// Why a considered entry is shown or not.
fn of_entry(one: &Explained, of_all: usize, of: &ContextOf) -> String {
    let Explained { place, chars, .. } = one;
    let among = if one.section == "anti_patterns" { "dead ends" } else { "claims" };
    let place = format!("place {place} of {of_all} {among}");
    match (one.shown, one.spare, among) {
        (true, ..) => format!("it is shown, at {place}"),
        (false, true, "claims") => format!(
            "it is not shown: nobody touched it for long and nothing about the work speaks for it, so it stands behind \
             all others, at {place}; a larger budget, support of it, or an intent that it answers brings it in"
        ),
        (false, true, _) => format!(
            "it is not shown: it is not at hand, so it only fills spare room, at {place}; it still warns before the \
             action that it is about"
        ),
        (false, false, _) => format!(
            "it is not shown: it stands at {place} and takes {chars} characters, which what comes before it left no room \
             for in {}; a larger budget or a narrower intent brings it in",
            of.budget
        ),
    }
}

/// Why a claim is not among the considered entries.
fn elsewhere(found: &Found, claim: &ClaimView, looked_at: usize) -> String {
    let ClaimSummary { status, superseded_by, .. } = &claim.summary;
    if let Some(successor) = claim.successors.last().or(superseded_by.as_ref()) {
        return format!("it is not shown: `{successor}` took its place");
    }
    match status {
        Status::Deprecated => "it is not shown: it is deprecated".to_owned(),
        Status::Contested | Status::PendingProof => {
            format!("it stands under attention, where there is room: it is {status}")
        }
        Status::Proposed | Status::Confirmed if found.is_disputed(claim.summary.id) => {
            "it stands under attention, where there is room: it is a side of an open contradiction, or an agent is asked \
             about it"
                .to_owned()
        }
        Status::Proposed | Status::Confirmed if found.was_seen(claim.summary.id) => {
            "it is not shown: the task it came out of should not be done".to_owned()
        }
        Status::Proposed | Status::Confirmed => format!(
            "it is not shown and was not looked at: {looked_at} others are nearer by their words, lie where the work or \
             the best answers lie, or are newer; a search finds it by its words"
        ),
    }
}
