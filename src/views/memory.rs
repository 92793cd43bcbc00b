//! What the memory keeps, as items of the contract: messages, claims and anchors, each with the readers that see it in a
//! pack.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::json;

use super::asking::{Asked, Asking};
use super::markdown::{inline, listed, name};
use super::plain::plain;
use super::{Answer, ViewError, resolve, to_json};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Basis, Status};
use crate::domain::event::{AnchorSaved, ClaimCreated, Event, TurnRecorded};
use crate::domain::ids::ClaimId;
use crate::domain::memory::{
    BadMemoryId, DedupKey, Ground, MemoryEvent, MemoryId, MemoryItem, MemoryKind, Owner, Source, Space,
};
use crate::domain::names::{Name, Named, Sort};
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::domain::session::{Role, SUMMARY_SEGMENTS, WHOLE_TURNS};
use crate::domain::time::Moment;
use crate::ledger::{self, Filter, Stored};
use crate::reads::Reads;
use crate::store::{ClaimFilter, ClaimSummary, SessionView};

/// Maximum length of a text in a list, in characters. The page of an item has all of it.
const TEXT_CHARS: usize = 160;

/// A filter for items. Every field that is set must match.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryFilter {
    /// The kind.
    pub kind: Option<MemoryKind>,
    /// The space.
    pub space: Option<Space>,
    /// The owner of the space.
    pub owner: Option<Owner>,
    /// The agent that made it.
    pub agent: Option<AgentId>,
    /// The session in which it was made.
    pub session: Option<String>,
    /// Claims about this scope, any scope below it, or any scope above it.
    pub scope: Option<Scope>,
    /// Made then or earlier.
    pub older_than: Option<Moment>,
    /// Claims that no other agent answered or cited, and that no warning or receipt showed.
    pub never_used: bool,
    /// Cursor: only items from before this ledger position.
    pub before: Option<u64>,
    /// Maximum count.
    pub limit: usize,
}

/// An item with the facts that the contract has no field for.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Kept {
    #[serde(flatten)]
    item: MemoryItem,
    /// The short name of a claim: `C7`.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The agent that made it.
    agent: String,
    /// The session in which it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// When it was made, epoch ms.
    at: i64,
    /// The scopes of a claim.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scopes: Vec<String>,
    /// The status of a claim and its basis: `confirmed, agreed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<String>,
    /// Whether it was imported from a file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    imported: bool,
    shown_to: ShownTo,
}

/// The readers that see an item in a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ShownTo {
    /// `everyone`, `session` or `nobody`.
    to: &'static str,
    /// Ledger position since which no pack shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    /// The reason why no pack shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
}

impl ShownTo {
    const fn readers(to: &'static str) -> Self {
        Self { to, since: None, because: None }
    }

    fn nobody(since: Option<u64>, because: &str) -> Self {
        Self { to: "nobody", since, because: Some(because.to_owned()) }
    }
}

/// The stored forms of items.
#[derive(Default)]
struct Found {
    claims: Vec<ClaimSummary>,
    anchors: Vec<Stored>,
    turns: Vec<Stored>,
    /// Sessions whose dialogue has a summary.
    summaries: Vec<SessionView>,
}

/// A page of items, newest first.
pub(super) fn answer(asking: &mut Asking<'_>, filter: &MemoryFilter) -> Result<Answer, ViewError> {
    let project = asking.reads.workspace().project();
    check_owner(asking, filter, &project)?;
    let (found, floor, left_out) = find(asking, filter, &project)?;
    let (mut kept, seq) = rows(asking, found, &project)?;
    kept.retain(|kept| kept.item.created_at >= floor.unwrap_or(0));
    kept.sort_by_key(|kept| std::cmp::Reverse(kept.item.created_at));
    let next = if kept.len() > filter.limit {
        kept.truncate(filter.limit);
        kept.last().map(|kept| kept.item.created_at)
    } else {
        floor
    };
    let json = || {
        let mut json = json!({ "items": kept });
        if let Some(next) = next {
            json["next"] = next.into();
        }
        json
    };
    let answer = Answer::of(asking.format, seq, json, || lines(&kept));
    Ok(answer.followed_by("cursor", next).without(left_out))
}

/// One item.
pub(super) fn one(asking: &mut Asking<'_>, id: &MemoryId) -> Result<Answer, ViewError> {
    let project = asking.reads.workspace().project();
    let of = MemoryFilter { space: Some(id.space), owner: Some(id.owner.clone()), ..MemoryFilter::default() };
    check_owner(asking, &of, &project)?;
    let found = find_one(asking, id)?;
    let (kept, seq) = rows(asking, found, &project)?;
    let kept = kept.into_iter().find(|kept| kept.item.id == *id).ok_or_else(|| ViewError::no_item(id))?;
    let json = to_json(&kept);
    Ok(Answer::of(asking.format, seq, || json.clone(), || plain(&json)))
}

/// Whether an event changes an item.
pub(super) fn touched_by(event: &Event) -> bool {
    let is_of_item =
        matches!(event, Event::TurnRecorded(_) | Event::AnchorSaved(_) | Event::AnchorRetired(_));
    is_of_item || !event.claims().is_empty()
}

/// The item that a text names: its id, its address, or a claim.
///
/// # Errors
/// [`Rejection`], where it names none.
pub fn memory_id(reads: &mut Reads, text: &str) -> Result<MemoryId, Rejection> {
    let text = text.trim();
    let pasted = text.strip_prefix("hivemind://memory/").map(|path| path.replace('/', ":"));
    let text = pasted.as_deref().unwrap_or(text);
    if text.contains(':') {
        return text.parse().map_err(|problem: BadMemoryId| Rejection::invalid("id", problem));
    }
    let id = resolve(reads, Sort::Claim, text)?;
    let named = reads.store().map_err(ViewError::from)?.map(|store| store.name_given(id.to_string()));
    let named = named.transpose().map_err(ViewError::from)?.flatten();
    let number = named.as_deref().and_then(number);
    let n = number.ok_or_else(|| Sort::Claim.unknown(format!("claim `{text}` is not recorded yet"), &[]))?;
    let owner = reads.workspace().project();
    Ok(MemoryId { space: Space::Project, owner, kind: MemoryKind::Semantic, n })
}

/// The number in the short name of a claim.
pub(super) fn number(name: &str) -> Option<u64> {
    name.parse::<Name>().ok().filter(|name| name.of == Named::Claim).map(|name| name.number)
}

/// Refuses an owner that the memory does not know. A user without items is no mistake.
fn check_owner(asking: &mut Asking<'_>, filter: &MemoryFilter, project: &Owner) -> Result<(), ViewError> {
    let (Some(space), Some(owner)) = (filter.space, &filter.owner) else { return Ok(()) };
    let is_known = match space {
        Space::Project => owner == project,
        Space::System => *owner == Owner::system(),
        Space::User => true,
        Space::Session => {
            let (is_known, _) = asking.found(|asked| Ok(asked.store.has_session(owner.as_str())?))?;
            is_known
        }
    };
    if is_known { Ok(()) } else { Err(ViewError::no_owner(space, owner, project)) }
}

/// The stored forms of a page; the position from which on it is complete, if older items exist; and the number of rows
/// that cannot be read.
fn find(
    asking: &mut Asking<'_>,
    filter: &MemoryFilter,
    project: &Owner,
) -> Result<(Found, Option<u64>, u64), ViewError> {
    let MemoryFilter { kind, space, owner, agent, session, scope, never_used, limit, .. } = filter;
    let before = before(asking, filter)?;
    let is_kind = |wanted: MemoryKind| kind.is_none_or(|kind| kind == wanted);
    let is_project = space.is_none_or(|space| space == Space::Project)
        && owner.as_ref().is_none_or(|owner| owner == project);
    let is_session = space.is_none_or(|space| space == Space::Session) && owner.as_ref() != Some(project);
    // Only claims have scopes, and only of claims is known who used them.
    let is_about_claims = scope.is_some() || *never_used;
    let of_owner = owner.as_ref().map(Owner::as_str).filter(|_| is_session);
    let in_session = session.as_deref().or(of_owner);
    let is_session = is_session && of_owner.is_none_or(|owner| in_session == Some(owner));
    let wants_turns = is_session && is_kind(MemoryKind::ShortTerm) && !is_about_claims;
    let wants_anchors = is_project && is_kind(MemoryKind::Profile) && !is_about_claims;
    let wants_claims = is_project && is_kind(MemoryKind::Semantic);

    let (mut found, mut floors) = (Found::default(), Vec::new());
    if let Some(ledger) = asking.reads.ledger()? {
        let mut newest = |kind: &str, session: Option<&str>| {
            let (events, floor) = newest(ledger, kind, (agent.as_ref(), session), before, *limit)?;
            floors.extend(floor);
            Ok::<_, ViewError>(events)
        };
        if wants_turns {
            found.turns = newest(TurnRecorded::KIND, in_session)?;
        }
        if wants_anchors {
            found.anchors = newest(AnchorSaved::KIND, session.as_deref())?;
        }
    }
    let by = agent.as_ref().map(AgentId::as_str);
    let ((claims, summaries), left_out) = asking.found(|asked| {
        let claims = if wants_claims {
            let (owner, session, scope) = (by.map(str::to_owned), session.clone(), scope.clone());
            let wanted = ClaimFilter {
                owner,
                session,
                scope,
                never_used: *never_used,
                before: Some(before),
                limit: *limit,
                ..ClaimFilter::default()
            };
            let page = asked.store.claims(&wanted)?;
            (page.claims, page.next)
        } else {
            Default::default()
        };
        let summaries = if wants_turns {
            asked.store.summarised((in_session, by), before, *limit)?
        } else {
            Default::default()
        };
        Ok((claims, summaries))
    })?;
    floors.extend(claims.1.into_iter().chain(summaries.1));
    (found.claims, found.summaries) = (claims.0, summaries.0);
    Ok((found, floors.into_iter().max(), left_out))
}

/// The ledger position before which the items of a page lie.
fn before(asking: &mut Asking<'_>, filter: &MemoryFilter) -> Result<u64, ViewError> {
    let horizon = asking.reads.horizon();
    let until = match (filter.older_than, asking.reads.ledger()?) {
        (None, _) => None,
        (Some(Moment::Seq(seq)), _) => Some(seq),
        (Some(Moment::Time(at)), Some(ledger)) => Some(ledger.seq_at(at)?),
        (Some(Moment::Time(_)), None) => Some(0),
    };
    let upto = [horizon, until].into_iter().flatten().map(|seq| seq.saturating_add(1));
    Ok(upto.chain(filter.before).min().unwrap_or(u64::MAX))
}

/// The newest events of a type before a position that are not erased, the newest first; and the position from which on
/// they are complete, if the ledger may have older ones.
fn newest(
    ledger: &ledger::Reader,
    kind: &str,
    (agent, session): (Option<&AgentId>, Option<&str>),
    mut before: u64,
    limit: usize,
) -> Result<(Vec<Stored>, Option<u64>), ViewError> {
    let mut found: Vec<Stored> = Vec::new();
    while let Some(until) = before.checked_sub(1) {
        let page = ledger.list(&Filter {
            until: Some(until),
            kind: Some(kind.to_owned()),
            agent: agent.cloned(),
            session: session.map(str::to_owned),
            limit,
            newest: true,
            ..Filter::default()
        })?;
        let is_last = page.len() < limit;
        before = page.first().map_or(0, |first| first.seq);
        found.extend(page.into_iter().rev().filter(|event| event.payload.is_some()));
        if found.len() >= limit {
            found.truncate(limit);
            let floor = found.last().map(|last| last.seq);
            return Ok((found, floor));
        }
        if is_last {
            break;
        }
    }
    Ok((found, None))
}

/// The stored form of one item.
fn find_one(asking: &mut Asking<'_>, id: &MemoryId) -> Result<Found, ViewError> {
    let mut found = Found::default();
    match (id.space, id.kind) {
        (Space::Project, MemoryKind::Semantic) => {
            let name = Name { of: Named::Claim, number: id.n };
            let (claims, _) = asking.found(|asked| {
                let Some(claim) = asked.store.id_called(name)?.and_then(|id| id.parse().ok()) else {
                    return Ok(Vec::new());
                };
                let wanted = ClaimFilter { id: Some(claim), limit: 1, ..ClaimFilter::default() };
                Ok(asked.store.claims(&wanted)?.claims)
            })?;
            found.claims = claims;
        }
        (Space::Session, MemoryKind::ShortTerm) if id.n == 0 => {
            let owner = Some(id.owner.as_str());
            let (summaries, _) =
                asking.found(|asked| Ok(asked.store.summarised((owner, None), u64::MAX, 1)?.0))?;
            found.summaries = summaries;
        }
        (Space::Session, MemoryKind::ShortTerm) => {
            found.turns = nth(asking, TurnRecorded::KIND, Some(&id.owner), id.n)?;
        }
        (Space::Project, MemoryKind::Profile) => {
            found.anchors = nth(asking, AnchorSaved::KIND, None, id.n)?;
        }
        // Nothing is kept there.
        (Space::User | Space::System, _)
        | (Space::Session, MemoryKind::Semantic | MemoryKind::Profile)
        | (Space::Project, MemoryKind::ShortTerm) => {}
    }
    Ok(found)
}

/// The event with this number among those of its type and session.
fn nth(
    asking: &mut Asking<'_>,
    kind: &str,
    session: Option<&Owner>,
    n: u64,
) -> Result<Vec<Stored>, ViewError> {
    let horizon = asking.reads.horizon().unwrap_or(u64::MAX);
    let Some(ledger) = asking.reads.ledger()? else { return Ok(Vec::new()) };
    let sessions = session.map(|session| [session.as_str().to_owned()]);
    let places = ledger.places(kind, sessions.as_ref().map(<[String; 1]>::as_slice))?;
    let at = usize::try_from(n).ok().and_then(|n| n.checked_sub(1));
    let Some(placed) = at.and_then(|at| places.get(at)).filter(|placed| placed.seq <= horizon) else {
        return Ok(Vec::new());
    };
    let only = Filter { after: placed.seq - 1, until: Some(placed.seq), limit: 1, ..Filter::default() };
    Ok(ledger.list(&only)?.into_iter().filter(|event| event.payload.is_some()).collect())
}

/// The places of the events of one series, in the order of the ledger: position, and whether the text is still there.
type Places = Vec<(u64, bool)>;

/// The items of stored forms, and the ledger position of the answer.
fn rows(asking: &mut Asking<'_>, found: Found, project: &Owner) -> Result<(Vec<Kept>, u64), ViewError> {
    let Found { claims, anchors, turns, summaries } = found;
    let of_turns = turns.iter().filter_map(|turn| turn.session.as_ref()).map(ToString::to_string);
    let of_summaries = summaries.iter().map(|session| session.session.clone());
    let sessions: BTreeSet<String> = of_turns.chain(of_summaries).collect();
    let horizon = asking.reads.horizon().unwrap_or(u64::MAX);
    let (mut said, mut saved): (BTreeMap<String, Places>, Places) = Default::default();
    if let Some(ledger) = asking.reads.ledger()? {
        if !sessions.is_empty() {
            let sessions: Vec<String> = sessions.into_iter().collect();
            for placed in ledger.places(TurnRecorded::KIND, Some(&sessions))? {
                let places = said.entry(placed.session.unwrap_or_default()).or_default();
                places.extend((placed.seq <= horizon).then_some((placed.seq, placed.is_kept)));
            }
        }
        if !anchors.is_empty() {
            let places = ledger.places(AnchorSaved::KIND, None)?;
            saved = places.into_iter().map(|placed| (placed.seq, placed.is_kept)).collect();
        }
    }
    let given = given(asking, &claims)?;
    let (kept, _) = asking.found(|asked| {
        let mut kept = Vec::new();
        for claim in &claims {
            kept.extend(of_claim(asked, claim, (project, given.get(&claim.id).copied()))?);
        }
        for anchor in &anchors {
            kept.extend(of_anchor(asked, anchor, (project, &saved))?);
        }
        let of_turns = turns.iter().filter_map(|turn| of_turn(turn, &said));
        kept.extend(of_turns.map(|kept| kept.marked(asked)));
        kept.extend(summaries.iter().map(|session| of_summary(session, &said)));
        Ok((kept, asked.seq))
    })?;
    Ok(kept)
}

/// The event types that authors gave their claims. Only the ledger has them.
fn given(
    asking: &mut Asking<'_>,
    claims: &[ClaimSummary],
) -> Result<BTreeMap<ClaimId, MemoryEvent>, ViewError> {
    let mut given = BTreeMap::new();
    let Some(ledger) = asking.reads.ledger()? else { return Ok(given) };
    for claim in claims {
        let created = ledger.event(claim.id.creation_event())?;
        let created = created.and_then(|stored| stored.recorded().ok()?.event);
        if let Some(Event::ClaimCreated(ClaimCreated { event_type: Some(event), .. })) = created {
            given.insert(claim.id, event);
        }
    }
    Ok(given)
}

fn of_claim(
    asked: &Asked<'_>,
    claim: &ClaimSummary,
    (project, given): (&Owner, Option<MemoryEvent>),
) -> Result<Option<Kept>, ViewError> {
    let Some(n) = claim.name.as_deref().and_then(number) else { return Ok(None) };
    let kept = asked.store.kept_claim(claim.id)?;
    let id = MemoryId { space: Space::Project, owner: project.clone(), kind: MemoryKind::Semantic, n };
    let source = Source::of(&AgentId::recorded(claim.owner.as_str()));
    let event = given.unwrap_or_else(|| MemoryEvent::of_claim(claim.claim_type, source));
    let is_doubted = claim.unstable || claim.failed_since.is_some();
    let proof = claim.proof.as_ref().filter(|_| claim.basis == Some(Basis::Proved) && !is_doubted);
    let run = proof.map(|proof| proof.run_id.to_string());
    let ground = match &run {
        Some(run) => Ground::Run(run),
        None if kept.has_operators_word => Ground::Operator,
        None => Ground::Agent(&claim.owner),
    };
    let target = claim.scopes.iter().filter_map(|scope| scope.parse().ok()).find(Scope::is_target);
    let target =
        target.filter(|_| event == MemoryEvent::Decision).and_then(|target| DedupKey::of_target(&target));
    let mut item = MemoryItem::new(id, claim.statement.clone(), source, claim.created_seq, event);
    item.stand_on(ground);
    item.meta.dedup_key = target.or_else(|| DedupKey::of_text(event, &claim.statement));
    item.meta.expires_at = kept.expires_at;
    let shown_to = if claim.status == Status::Deprecated {
        let by = claim.superseded_by.map(|by| format!(" by {by}")).unwrap_or_default();
        ShownTo::nobody(kept.over_since, &format!("{}{by}", claim.short_standing()))
    } else {
        ShownTo::readers("everyone")
    };
    Ok(Some(Kept {
        item,
        name: claim.name.clone(),
        agent: claim.owner.clone(),
        session: kept.session,
        at: claim.created_at,
        scopes: claim.scopes.clone(),
        standing: Some(claim.short_standing()),
        imported: claim.imported,
        shown_to,
    }))
}

fn of_anchor(
    asked: &Asked<'_>,
    stored: &Stored,
    (project, saved): (&Owner, &Places),
) -> Result<Option<Kept>, ViewError> {
    let Ok(Some(Event::AnchorSaved(AnchorSaved { key, value }))) =
        stored.recorded().map(|recorded| recorded.event)
    else {
        return Ok(None);
    };
    let Some(at) = saved.iter().position(|(seq, _)| *seq == stored.seq) else { return Ok(None) };
    let id = MemoryId {
        space: Space::Project,
        owner: project.clone(),
        kind: MemoryKind::Profile,
        n: at as u64 + 1,
    };
    let agent = stored.agent.as_str();
    let (source, event) = (Source::of(&stored.agent), MemoryEvent::of_kind(MemoryKind::Profile));
    let mut item = MemoryItem::new(id, value.to_string(), source, stored.seq, event);
    item.stand_on(if source == Source::User { Ground::Operator } else { Ground::Agent(agent) });
    item.meta.key = Some(key.to_string());
    item.meta.dedup_key = DedupKey::of_anchor(&key);
    let shown_to = match asked.store.anchor_over_since(&key, stored.seq)? {
        None => ShownTo::readers("everyone"),
        Some((since, true)) => ShownTo::nobody(Some(since), "replaced by a newer value"),
        Some((since, false)) => ShownTo::nobody(Some(since), "retired"),
    };
    Ok(Some(Kept { shown_to, ..Kept::of_event(item, stored) }.marked(asked)))
}

fn of_turn(stored: &Stored, said: &BTreeMap<String, Places>) -> Option<Kept> {
    let Some(Event::TurnRecorded(turn)) = stored.recorded().ok()?.event else { return None };
    let session = stored.session.as_ref()?;
    let places = said.get(session.as_str())?;
    let at = places.iter().position(|(seq, _)| *seq == stored.seq)?;
    let owner = Owner::called(session.as_str());
    let id = MemoryId { space: Space::Session, owner, kind: MemoryKind::ShortTerm, n: at as u64 + 1 };
    let source = Source::of_role(turn.role);
    let ground = match turn.role {
        Role::User => Ground::Prompt,
        Role::Assistant => Ground::Agent(stored.agent.as_str()),
    };
    let event = MemoryEvent::of_kind(MemoryKind::ShortTerm);
    let mut item = MemoryItem::new(id, turn.text.to_string(), source, stored.seq, event);
    item.stand_on(ground);
    item.meta.dedup_key = DedupKey::of_text(event, turn.text.as_str());
    let later: Vec<u64> =
        places[at + 1..].iter().filter(|(_, is_kept)| *is_kept).map(|(seq, _)| *seq).collect();
    let shown_to = match later.get(WHOLE_TURNS - 1) {
        None => ShownTo::readers("session"),
        Some(since) if later.len() < WHOLE_TURNS + SUMMARY_SEGMENTS => {
            ShownTo::nobody(Some(*since), "the summary has its beginning")
        }
        Some(since) => ShownTo::nobody(Some(*since), "newer messages took its place"),
    };
    Some(Kept { shown_to, ..Kept::of_event(item, stored) })
}

fn of_summary(session: &SessionView, said: &BTreeMap<String, Places>) -> Kept {
    let owner = Owner::called(session.session.as_str());
    let id =
        |n: u64| MemoryId { space: Space::Session, owner: owner.clone(), kind: MemoryKind::ShortTerm, n };
    let event = MemoryEvent::of_kind(MemoryKind::ShortTerm);
    let text = session.summary.join("\n");
    let mut item = MemoryItem::new(id(0), text, Source::System, session.started_seq, event);
    item.stand_on(Ground::Dialogue);
    let places = said.get(&session.session).map(Vec::as_slice).unwrap_or_default();
    let kept = (1..).zip(places).filter(|(_, (_, is_kept))| *is_kept).map(|(n, _)| n);
    let kept: Vec<u64> = kept.collect();
    let summed = &kept[..kept.len().saturating_sub(WHOLE_TURNS)];
    let summed = &summed[summed.len().saturating_sub(session.summary.len())..];
    item.meta.summary_of = summed.iter().map(|n| id(*n)).collect();
    Kept {
        item,
        name: None,
        agent: session.agent.clone(),
        session: Some(session.session.clone()),
        at: session.started_at,
        scopes: Vec::new(),
        standing: None,
        imported: false,
        shown_to: ShownTo::readers("session"),
    }
}

impl Kept {
    /// An item that everyone sees, with the author and the time of its event.
    fn of_event(item: MemoryItem, stored: &Stored) -> Self {
        Self {
            item,
            name: None,
            agent: stored.agent.to_string(),
            session: stored.session.as_ref().map(ToString::to_string),
            at: stored.at.ms(),
            scopes: Vec::new(),
            standing: None,
            imported: false,
            shown_to: ShownTo::readers("everyone"),
        }
    }

    /// The same with the mark of an imported event.
    fn marked(self, asked: &Asked<'_>) -> Self {
        let imported = asked.store.is_imported(self.item.created_at);
        Self { imported, ..self }
    }
}

fn lines(kept: &[Kept]) -> String {
    if kept.is_empty() {
        return "Nothing is kept that matches.\n".to_owned();
    }
    kept.iter().map(line).collect()
}

/// An item on a line: its id, its text, its marks, and who sees it.
fn line(kept: &Kept) -> String {
    let Kept { item, shown_to, .. } = kept;
    let key = item.meta.key.as_deref().map(|key| format!("{} = ", inline(key, 64))).unwrap_or_default();
    let imported = if kept.imported { " (imported)" } else { "" };
    let event = item.meta.event_type.map(|event| format!("{event} {}", item.importance));
    let authority = item.meta.authority.map(|authority| authority.to_string());
    let by = format!("by {}{imported}", name(&kept.agent));
    let marks = kept.name.iter().cloned().chain(event).chain(authority).chain([by]);
    let marks: Vec<String> = marks.chain(kept.standing.clone()).collect();
    let shown = match (shown_to.to, shown_to.since) {
        ("session", _) => "shown to the session".to_owned(),
        ("nobody", since) => {
            let since = since.map(|since| format!(" since #{since}")).unwrap_or_default();
            format!("shown to nobody{since}: {}", shown_to.because.as_deref().unwrap_or_default())
        }
        (to, _) => format!("shown to {to}"),
    };
    let text = listed(&item.text, TEXT_CHARS);
    let id = inline(&item.id.to_string(), usize::MAX);
    format!("- `{id}` {key}{text} ({}; {shown})\n", marks.join(", "))
}
