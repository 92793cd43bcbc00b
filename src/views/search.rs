//! The hits of a search, best first.

use serde_json::Value;

use super::asking::Asking;
use super::claims::{Listed, with_trust};
use super::names::shortened;
use super::rows::{self, Room, RowReader, rows};
use super::{Answer, ViewError, to_json};
use crate::domain::agent::AgentId;
use crate::domain::event::Event;
use crate::domain::time::Timestamp;
use crate::meanings;
use crate::reads::Reads;
use crate::store::{ByModel, ClaimSummary, Hit, Search, SearchPage, Why};

/// A page of hits.
pub(super) fn answer(asking: &mut Asking<'_>, search: &Search) -> Result<Answer, ViewError> {
    let found = list(asking, search, None)?;
    let (page, now) = (&found.page, asking.now);
    let text = || {
        let note = page.note.iter().fold(String::new(), |text, note| text + note + "\n");
        if page.hits.is_empty() {
            let none = "No claims match. Other words, fewer filters or mode=audit may find more.\n";
            return none.to_owned() + &note;
        }
        let mut names = |text: &str| shortened(asking.reads, text).into_owned();
        let claims = page.hits.iter().map(|hit| &hit.claim);
        let reader = RowReader { searched: rows::searched(&search.query), ..RowReader::default() };
        let text = rows::in_markdown(rows(claims, &reader, Room::Pipe, now, &mut names), &found.held);
        found_through(page).fold(text, |text, line| text + &line + "\n") + &note
    };
    let answer = Answer::of(asking.format, found.seq, || listed(page, now), text);
    let opened = page.hits.iter().map(|hit| hit.claim.id.to_string()).collect();
    let answer = answer.opening(opened).followed_by("cursor", page.next.as_ref());
    Ok(answer.without(found.left_out))
}

/// The hits of a search. The reader's own work is left out of the news.
pub(super) fn list(
    asking: &mut Asking<'_>,
    search: &Search,
    reader: Option<&AgentId>,
) -> Result<Listed<SearchPage>, ViewError> {
    let reader = reader.map(AgentId::as_str);
    let (by_model, problem) = asked_of_model(asking, search);
    let ((page, held, seq), left_out) = asking.found(|asked| {
        let mut page = asked.store.search_with(search, by_model.as_ref())?;
        page.note = match (&problem, &by_model) {
            (Some(problem), _) => Some(problem.clone()),
            (None, Some(by_model)) => unread(asked.store.waiting_for(by_model)?),
            (None, None) => None,
        };
        let mut claims: Vec<&mut ClaimSummary> = page.hits.iter_mut().map(|hit| &mut hit.claim).collect();
        let held = asked.mark(&mut claims, reader)?;
        Ok((page, held, asked.seq))
    })?;
    Ok(Listed { page, held, older: 0, left_out, seq })
}

/// The question as the model of the configuration has it, or why the table is compared instead. A past state has no
/// meanings of a model.
fn asked_of_model(asking: &Asking<'_>, search: &Search) -> (Option<ByModel>, Option<String>) {
    let text = search.text();
    if asking.reads.horizon().is_some() || text.trim().is_empty() {
        return (None, None);
    }
    let asked = meanings::model(asking.reads.workspace(), asking.config).and_then(|model| {
        let Some(model) = model else { return Ok(None) };
        let meaning = model.meaning(&text)?;
        Ok(Some(ByModel { model: model.id, meaning }))
    });
    match asked {
        Ok(by_model) => (by_model, None),
        Err(problem) => {
            let way = problem.way();
            (None, Some(format!("Meanings are compared by the static table: {problem}; {way}.")))
        }
    }
}

fn unread(waiting: u64) -> Option<String> {
    match waiting {
        0 => None,
        1 => Some("The model has not read 1 claim yet: it is compared by the static table.".to_owned()),
        many => {
            Some(format!("The model has not read {many} claims yet: they are compared by the static table."))
        }
    }
}

/// The hits that were found by the words of a claim that they superseded, a line each.
pub fn found_through(page: &SearchPage) -> impl Iterator<Item = String> {
    page.hits.iter().flat_map(|hit| {
        let (id, old) = (&hit.claim.id, &hit.found_through);
        old.iter().map(move |old| format!("{id} took the place of {old}, which was found"))
    })
}

/// Why each hit was found, a line each. Empty unless the search asked.
pub fn found_because(page: &SearchPage) -> impl Iterator<Item = String> {
    page.hits.iter().filter_map(|hit| Some(because(hit, hit.why.as_ref()?)))
}

fn because(hit: &Hit, why: &Why) -> String {
    let id = hit.claim.id;
    let mut parts = vec![format!("{id} {:.3}", hit.score)];
    if why.compared != id {
        parts.push(format!("by {}, which it superseded", why.compared));
    }
    parts.push(match why.words.as_slice() {
        [] => "no word".to_owned(),
        words => format!("{} {:.2}", words.join(" "), why.by_words),
    });
    parts.extend(why.cosine.map(|cosine| format!("meaning {cosine:.2}")));
    let more = [("identifiers", why.identifiers), ("neighbours", why.neighbours), ("fate", why.fate)];
    parts
        .extend(more.iter().filter(|(_, gain)| *gain > 0.0).map(|(name, gain)| format!("{name} +{gain:.2}")));
    parts.extend((!why.scopes.is_empty()).then(|| why.scopes.join(", ")));
    parts.extend((why.evidence > 0).then(|| format!("evidence {}", why.evidence)));
    parts.push(format!("confidence {:.2}", why.confidence));
    parts.join("; ")
}

fn listed(page: &SearchPage, now: Timestamp) -> Value {
    let hits: Vec<Value> = page.hits.iter().map(|hit| with_trust(to_json(hit), &hit.claim, now)).collect();
    let mut json = to_json(page);
    json["hits"] = hits.into();
    json
}

/// Whether an event changes the hits.
pub(super) fn touched_by(reads: &mut Reads, search: &Search, event: &Event) -> Result<bool, ViewError> {
    let Some(store) = reads.store()? else { return Ok(true) };
    for id in event.claims() {
        if store.may_answer(search, id)? {
            return Ok(true);
        }
    }
    Ok(false)
}
