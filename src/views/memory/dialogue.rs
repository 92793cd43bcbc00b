//! The messages of a session and their summary, as items.

use std::collections::BTreeMap;

use super::{Kept, Places, ShownTo};
use crate::domain::event::Event;
use crate::domain::memory::{
    DedupKey, Ground, MemoryEvent, MemoryId, MemoryItem, MemoryKind, Owner, Source, Space,
};
use crate::domain::session::{Role, SUMMARY_SEGMENTS, WHOLE_TURNS};
use crate::ledger::Stored;
use crate::store::SessionView;
use crate::views::ViewError;
use crate::views::asking::Asked;
use crate::views::phases::Phases;

pub(super) fn of_turn(
    asked: &Asked<'_>,
    stored: &Stored,
    said: &BTreeMap<String, Places>,
    phases: &mut Phases,
) -> Result<Option<Kept>, ViewError> {
    let Ok(Some(Event::TurnRecorded(turn))) = stored.recorded().map(|recorded| recorded.event) else {
        return Ok(None);
    };
    let Some((session, places)) =
        stored.session.as_ref().and_then(|session| Some((session, said.get(session.as_str())?)))
    else {
        return Ok(None);
    };
    let Some(at) = places.iter().position(|(seq, _)| *seq == stored.seq) else { return Ok(None) };
    let owner = Owner::called(session.as_str());
    let id = MemoryId { space: Space::Session, owner, kind: MemoryKind::ShortTerm, n: at as u64 + 1 };
    let source = Source::of_role(turn.role);
    let ground = match turn.role {
        Role::User => Ground::Prompt,
        Role::Assistant => Ground::Agent(stored.agent.as_str()),
    };
    let over = asked.store.promotion_of(&id)?;
    let of = phases.of(asked, id.space, &id.owner)?;
    let end = of.iter().map(|phase| phase.seq).find(|start| *start > stored.seq);
    let event = MemoryEvent::of_kind(MemoryKind::ShortTerm);
    let mut item = MemoryItem::new(id, turn.text.to_string(), source, stored.seq, event);
    item.stand_on(ground);
    item.meta.dedup_key = DedupKey::of_text(event, turn.text.as_str());
    let later: Vec<u64> = places[at + 1..]
        .iter()
        .filter(|(seq, is_kept)| *is_kept && end.is_none_or(|end| *seq < end))
        .map(|(seq, _)| *seq)
        .collect();
    let shown_to = match (later.get(WHOLE_TURNS - 1), end) {
        _ if over.is_some() => ShownTo::promoted(over),
        (None, None) => ShownTo::readers("session"),
        (None, Some(end)) => ShownTo::nobody(Some(end), "its phase is over"),
        (Some(since), _) if later.len() < WHOLE_TURNS + SUMMARY_SEGMENTS => {
            ShownTo::nobody(Some(*since), "the summary has its beginning")
        }
        (Some(since), _) => ShownTo::nobody(Some(*since), "newer messages took its place"),
    };
    Ok(Some(Kept { shown_to, ..Kept::of_event(item, stored) }))
}

pub(super) fn of_summary(session: &SessionView, said: &BTreeMap<String, Places>) -> Kept {
    let owner = Owner::called(session.session.as_str());
    let id =
        |n: u64| MemoryId { space: Space::Session, owner: owner.clone(), kind: MemoryKind::ShortTerm, n };
    let event = MemoryEvent::of_kind(MemoryKind::ShortTerm);
    let text = session.summary.join("\n");
    let mut item = MemoryItem::new(id(0), text, Source::System, session.started_seq, event);
    item.stand_on(Ground::Dialogue);
    let places = said.get(&session.session).map(Vec::as_slice).unwrap_or_default();
    let summed = (1..).zip(places).filter(|(_, (seq, _))| session.summed.contains(seq));
    item.meta.summary_of = summed.map(|(n, _)| id(n)).collect();
    Kept {
        item,
        name: None,
        agent: session.agent.clone(),
        session: Some(session.session.clone()),
        at: session.started_at,
        scopes: Vec::new(),
        standing: None,
        imported: false,
        promoted: None,
        shown_to: ShownTo::readers("session"),
    }
}
