//! Resolves short names for fronts, because commands carry ids.

use std::borrow::Cow;

use uuid::Uuid;

use super::{MemoryFilter, View, ViewError};
use crate::domain::command::Submission;
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::{CommandId, EventId};
use crate::domain::memory::{MemoryId, Owner, Space};
use crate::domain::names::{self, Name, Named, Reference, Sort};
use crate::domain::rejection::{Code, Rejection};
use crate::ledger;
use crate::reads::Reads;
use crate::spool::Spool;
use crate::store::{Reader, Search, StoreError};

/// Maximum length of a quoted name in a refusal, in characters.
const QUOTED_CHARS: usize = 60;
/// Number of characters of the end of an id that stand for an entity without a name.
const END_CHARS: usize = 8;

/// The id that a name, an id or the end of an id stands for. A whole id is accepted unchecked. A queued entity is not
/// in the read models, and is known by the end of its id.
///
/// # Errors
/// [`Rejection`], where it means none or several.
pub fn resolve(reads: &mut Reads, sort: Sort, text: &str) -> Result<Uuid, Rejection> {
    if let Reference::Id(id) = Reference::read(sort, text) {
        return Ok(id);
    }
    let found = match reads.store().map_err(ViewError::from)? {
        Some(store) => store.resolve(sort, text).map_err(ViewError::from)?,
        None => Err(sort.nothing(&quoted(text), None)),
    };
    found.or_else(|refused| waiting(reads, text).ok_or(refused))
}

/// The id of the one queued entity whose id has this end.
fn waiting(reads: &Reads, text: &str) -> Option<Uuid> {
    let end = names::end(names::pasted(text))?;
    let submissions = Spool::of(reads.workspace()).submissions()?;
    let ids = submissions.iter().filter_map(|queued| queued.command.minted());
    let mut ending = ids.filter(|id| id.to_string().ends_with(&end));
    ending.next().filter(|_| ending.next().is_none())
}

/// The id of the event that a text names: `#57` or a bare ledger position, the name of its entity (`C3`, `R11`), a
/// whole id, or the end of one.
///
/// # Errors
/// [`Rejection`], where it means none or several.
pub fn event(reads: &mut Reads, text: &str) -> Result<EventId, Rejection> {
    let given = names::pasted(text);
    if let Ok(id) = Uuid::parse_str(given) {
        return Ok(EventId::from_uuid(id));
    }
    if let Some(id) = event_called(reads, given)? {
        return Ok(id);
    }
    let unknown = |message: String| {
        Rejection::new(Code::UnknownEvidence, message, "`hivemind://events` lists events by their names")
    };
    let none = || unknown(format!("no event is called `{}`", quoted(text)));
    let end = names::end(given).ok_or_else(none)?;
    let found = match reads.ledger().map_err(ViewError::from)? {
        Some(ledger) => ledger.ids_ending(&end).map_err(ViewError::from)?,
        None => Vec::new(),
    };
    match found.as_slice() {
        [only] => Ok(*only),
        [] => waiting(reads, given).map(EventId::from_uuid).ok_or_else(none),
        several => {
            let several: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(unknown(format!("several events end in `{}`: {}", quoted(text), several.join(", "))))
        }
    }
}

/// The event at `#57`, or the one that made `C3`.
fn event_called(reads: &mut Reads, given: &str) -> Result<Option<EventId>, Rejection> {
    if let Ok(seq) = given.strip_prefix('#').unwrap_or(given).parse::<u64>() {
        let Some(ledger) = reads.ledger().map_err(ViewError::from)? else { return Ok(None) };
        let at = ledger::Filter { after: seq.saturating_sub(1), limit: 1, ..ledger::Filter::default() };
        let found = ledger.list(&at).map_err(ViewError::from)?;
        return Ok(found.first().filter(|event| event.seq == seq).map(|event| event.id));
    }
    let (Ok(name), Some(store)) = (given.parse::<Name>(), reads.store().map_err(ViewError::from)?) else {
        return Ok(None);
    };
    let id = store.id_called(name).map_err(ViewError::from)?;
    // A session has no event.
    Ok(id.and_then(|id| id.parse().ok()).filter(|_| name.of != Named::Session))
}

/// The session that a text names: the one with this id, or else `S9`, or else the only one whose id has this end.
/// Clients choose the ids of sessions, so any other text counts as an id.
///
/// # Errors
/// [`ViewError`], where the read models cannot be asked.
pub fn session(reads: &mut Reads, text: &str) -> Result<String, ViewError> {
    let given = text.trim();
    // A failed look-up is not reported here. The question itself fails with the reason.
    let Ok(Some(store)) = reads.store() else { return Ok(given.to_owned()) };
    let found = || -> Result<Option<String>, StoreError> {
        if store.name_given(given)?.is_some() {
            return Ok(None);
        }
        match given.parse::<Name>() {
            Ok(name) if name.of == Named::Session => store.id_called(name),
            _ => names::end(given).map_or(Ok(None), |end| store.session_ending(&end)),
        }
    };
    Ok(found()?.unwrap_or_else(|| given.to_owned()))
}

/// A question about a session, with the text resolved to the session's id.
pub(super) fn with_session(reads: &mut Reads, view: &View) -> Result<View, ViewError> {
    let mut view = view.clone();
    let named = if let View::Session(id) | View::Turn0(id) = &mut view {
        Some(id)
    } else if let View::Plan(id) | View::Beliefs(_, id) = &mut view {
        id.as_mut()
    } else if let View::Claims(filter) | View::Search(Search { filter, .. }) = &mut view {
        filter.session.as_mut()
    } else if let View::Memory(filter) = &mut view {
        filter.session.as_mut()
    } else if let View::Traces(filter) = &mut view {
        filter.session.as_mut()
    } else if let View::Context(of) | View::Rest(of) = &mut view {
        of.session.as_mut()
    } else {
        None
    };
    if let Some(id) = named {
        *id = session(reads, id)?;
    }
    if let View::Memory(MemoryFilter { space: None | Some(Space::Session), owner: Some(owner), .. })
    | View::MemoryItem(MemoryId { space: Space::Session, owner, .. }) = &mut view
    {
        *owner = Owner::called(session(reads, owner.as_str())?);
    }
    Ok(view)
}

/// The id of the notice that a text names: a change of the rules by its event, a refused command by the end of its id.
///
/// # Errors
/// [`Rejection`], where it means none or several.
pub fn notice(reads: &mut Reads, text: &str) -> Result<Uuid, Rejection> {
    let given = names::pasted(text);
    if let Ok(id) = Uuid::parse_str(given) {
        return Ok(id);
    }
    if let (Ok(name), Some(store)) = (given.parse::<Name>(), reads.store().map_err(ViewError::from)?)
        && matches!(name.of, Named::Guard | Named::Claim)
        && let Some(id) = store.id_called(name).map_err(ViewError::from)?.and_then(|id| id.parse().ok())
    {
        return Ok(id);
    }
    if let (Some(end), Some(store)) = (names::end(given), reads.store().map_err(ViewError::from)?) {
        let rejected = store.rejected_commands(super::MAX_LIMIT).map_err(ViewError::from)?;
        let mut ending = rejected.iter().filter(|rejected| rejected.command_id.to_string().ends_with(&end));
        if let (Some(only), None) = (ending.next(), ending.next()) {
            return Ok(only.command_id.uuid());
        }
    }
    let called = event_called(reads, given)?.map(EventId::uuid);
    called.ok_or_else(|| {
        let problem = format!("no notice is called `{}`: hm attention shows those there are", quoted(text));
        Rejection::invalid("seen", problem)
    })
}

/// The cited evidence, by the names that the writer accepts: `last`, a whole id, or the end of one.
///
/// # Errors
/// [`Rejection`], where it names no event.
pub fn evidence(reads: &mut Reads, argument: &str, text: &str) -> Result<EvidenceName, Rejection> {
    let given = names::pasted(text);
    let name = given.parse::<EvidenceName>();
    if let Ok(
        name @ (EvidenceName::Last | EvidenceName::LastWith(_) | EvidenceName::Id(_) | EvidenceName::At(_)),
    ) = name
    {
        return Ok(name);
    }
    match event_called(reads, given)? {
        Some(id) => Ok(EvidenceName::Id(id)),
        None => name.map_err(|problem| Rejection::invalid(argument, problem)),
    }
}

/// A text for humans and models, with a name in place of each whole id of ours. An entity without a name, or one that
/// is queued or did not pass, is named by the end of its id. Any other id stays.
pub fn shortened<'t>(reads: &mut Reads, text: &'t str) -> Cow<'t, str> {
    names::shortened(text, |word, id| called(reads, word, id))
}

/// The name in place of an id. The id stays if the look-up fails.
fn called(reads: &mut Reads, word: &str, id: Option<Uuid>) -> Option<String> {
    let given = |store: &Reader| store.name_given(word).ok().flatten();
    if let Some(name) = reads.store().ok().flatten().and_then(given) {
        return Some(name);
    }
    let event = EventId::from_uuid(id?);
    if let Some(seq) = reads.readable_ledger().and_then(|ledger| ledger.seq_of(event).ok().flatten()) {
        return Some(format!("#{seq}"));
    }
    let spool = Spool::of(reads.workspace());
    let makes_it = |queued: &Submission| queued.command.minted() == id;
    let is_queued = spool.submissions()?.iter().any(makes_it) || spool.rejected().iter().any(makes_it);
    let command = CommandId::from_uuid(event.uuid());
    let is_command = |ledger: &ledger::Reader| ledger.has_command(command).unwrap_or(false);
    (is_queued || reads.readable_ledger().is_some_and(is_command))
        .then(|| word[word.len() - END_CHARS..].to_owned())
}

fn quoted(text: &str) -> String {
    text.trim().chars().take(QUOTED_CHARS).collect()
}
