//! What the memory keeps, as items of the contract: messages, claims and anchors, each with the readers that see it in a
//! pack.

mod dialogue;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::json;

use self::dialogue::{of_summary, of_turn};
use super::asking::{Asked, Asking};
use super::markdown::{inline, listed, name};
use super::phases::Phases;
use super::plain::plain;
use super::versions::mark_changed;
use super::{Answer, ViewError, resolve, to_json};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Basis, Status};
use crate::domain::event::{AnchorSaved, ClaimCreated, Event, TurnRecorded};
use crate::domain::ids::ClaimId;
use crate::domain::memory::{
    BadMemoryId, DedupKey, Ground, MemoryEvent, MemoryId, MemoryItem, MemoryKind, Meta, Owner, Source, Space,
};
use crate::domain::names::{Name, Named, Sort};
use crate::domain::phase::Lived;
use crate::domain::policy::{Length, Term};
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::domain::time::{Hours, Moment, Timestamp};
use crate::ledger::{self, Filter, Stored};
use crate::reads::Reads;
use crate::store::{ClaimFilter, ClaimSummary, PromotionView, SessionView};

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
    /// The promotion that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    promoted: Option<Promoted>,
    shown_to: ShownTo,
}

/// The moment of a promotion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Promoted {
    /// The agent that promoted it.
    by: String,
    /// Its reason.
    why: String,
    /// When it did, epoch ms.
    at: i64,
    /// Ledger position.
    seq: u64,
}

/// The readers that see an item in a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ShownTo {
    /// `everyone`, `session`, `user` or `nobody`.
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

    /// Its copy is shown instead. The copy in the space of another user has no name here.
    fn promoted(over: Option<(u64, Option<MemoryId>)>) -> Self {
        let (since, copy) = over.unzip();
        let copy = copy
            .flatten()
            .map_or("the space of another user".to_owned(), |copy| inline(&copy.to_string(), usize::MAX));
        Self::nobody(since, &format!("promoted to {copy}"))
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
    // Anchors of both spaces are one series in the ledger.
    kept.retain(|kept| filter.space.is_none_or(|space| kept.item.id.space == space));
    kept.retain(|kept| filter.owner.as_ref().is_none_or(|owner| kept.item.id.owner == *owner));
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

/// All items of a space, as a diff looks at them, each with its text; and the ledger position of the answer.
pub(super) fn lived(
    asking: &mut Asking<'_>,
    space: Space,
    owner: &Owner,
) -> Result<(Vec<(Lived, String)>, u64), ViewError> {
    let project = asking.reads.workspace().project();
    let (space, owner) = (Some(space), Some(owner.clone()));
    let mut of = MemoryFilter { space, owner, limit: super::MAX_LIMIT, ..MemoryFilter::default() };
    check_owner(asking, &of, &project)?;
    let mut items = Vec::new();
    loop {
        let (found, floor, _) = find(asking, &of, &project)?;
        let (kept, seq) = rows(asking, found, &project)?;
        let is_in =
            |item: &MemoryItem| Some(item.id.space) == of.space && Some(&item.id.owner) == of.owner.as_ref();
        let complete = kept.into_iter().filter(|kept| kept.item.created_at >= floor.unwrap_or(0));
        items.extend(complete.filter(|kept| is_in(&kept.item)).map(|Kept { item, shown_to, .. }| {
            let until = shown_to.since.filter(|_| shown_to.to == "nobody");
            let Meta { dedup_key: key, .. } = item.meta;
            (Lived { id: item.id, key, importance: item.importance, from: item.created_at, until }, item.text)
        }));
        match floor {
            Some(floor) => of.before = Some(floor),
            None => return Ok((items, seq)),
        }
    }
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
    let is_of_item = matches!(
        event,
        Event::TurnRecorded(_)
            | Event::AnchorSaved(_)
            | Event::AnchorRetired(_)
            | Event::MemoryPromoted(_)
            | Event::PhaseStarted(_)
    );
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
    let me = asking.reads.user().map(|user| Owner::called(user.as_str()));
    let is_mine = me.is_some_and(|me| owner.as_ref().is_none_or(|owner| *owner == me))
        && space.is_none_or(|space| space == Space::User);
    let is_session = space.is_none_or(|space| space == Space::Session) && owner.as_ref() != Some(project);
    // Only claims have scopes, and only of claims is known who used them.
    let is_about_claims = scope.is_some() || *never_used;
    let of_owner = owner.as_ref().map(Owner::as_str).filter(|_| is_session);
    let in_session = session.as_deref().or(of_owner);
    let is_session = is_session && of_owner.is_none_or(|owner| in_session == Some(owner));
    let wants_turns = is_session && is_kind(MemoryKind::ShortTerm) && !is_about_claims;
    let wants_anchors = (is_project || is_mine) && is_kind(MemoryKind::Profile) && !is_about_claims;
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
        (Space::Project | Space::User, MemoryKind::Profile) => {
            found.anchors = nth(asking, AnchorSaved::KIND, None, id.n)?;
        }
        // Nothing is kept there.
        (Space::User, MemoryKind::ShortTerm | MemoryKind::Semantic)
        | (Space::System, _)
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
    Ok(ledger.event_at(placed.seq)?.into_iter().filter(|event| event.payload.is_some()).collect())
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
        let mut claims = claims.clone();
        let worktree = asked.worktree();
        mark_changed(asked.store, claims.iter_mut(), worktree.as_ref(), asked.files())?;
        let mut said = said.clone();
        for (session, places) in &mut said {
            // A promoted message takes no place in the dialogue any more.
            let promoted = asked.store.promoted_from(session)?;
            let is_promoted = |seq: &u64| promoted.contains(seq);
            places.iter_mut().filter(|(seq, _)| is_promoted(seq)).for_each(|(_, is_kept)| *is_kept = false);
        }
        let mut phases = Phases::default();
        let mut kept = Vec::new();
        for claim in &claims {
            kept.extend(of_claim(asked, claim, (project, given.get(&claim.id).copied()))?);
        }
        for anchor in &anchors {
            kept.extend(of_anchor(asked, anchor, (project, &saved))?);
        }
        for turn in &turns {
            kept.extend(of_turn(asked, turn, &said, &mut phases)?.map(|kept| kept.marked(asked)));
        }
        for session in &summaries {
            kept.push(of_summary(session, &said));
        }
        for kept in &mut kept {
            phases.name(asked, &mut kept.item)?;
        }
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
    let is_doubted = claim.unstable || claim.against().is_some();
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
    let term = asked.config.memory.retention.term(event);
    let by_policy = match term {
        Term::Ttl(Length::Hours(hours)) => Some(Timestamp::from_ms(claim.created_at).plus(Hours(hours)).ms()),
        // Nobody knows when so many sessions will have started.
        Term::Ttl(Length::Sessions(_)) | Term::Decay(_) | Term::Never => None,
    };
    item.meta.expires_at = kept.expires_at.into_iter().chain(by_policy).min();
    item.meta.policy_tags.extend((term != Term::Never).then(|| "kept_by:retention_rule".to_owned()));
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
        standing: Some(claim.short_standing() + if claim.is_changed() { ", changed since" } else { "" }),
        imported: claim.imported,
        promoted: None,
        shown_to,
    }))
}

fn of_anchor(
    asked: &Asked<'_>,
    stored: &Stored,
    (project, saved): (&Owner, &Places),
) -> Result<Option<Kept>, ViewError> {
    let Ok(Some(Event::AnchorSaved(AnchorSaved { key, value, user }))) =
        stored.recorded().map(|recorded| recorded.event)
    else {
        return Ok(None);
    };
    let Some(at) = saved.iter().position(|(seq, _)| *seq == stored.seq) else { return Ok(None) };
    let (space, owner, readers) = match &user {
        Some(user) => (Space::User, Owner::called(user.as_str()), "user"),
        None => (Space::Project, project.clone(), "everyone"),
    };
    let id = MemoryId { space, owner, kind: MemoryKind::Profile, n: at as u64 + 1 };
    let agent = stored.agent.as_str();
    let (source, event) = (Source::of(&stored.agent), MemoryEvent::of_kind(MemoryKind::Profile));
    let over = asked.store.promotion_of(&id)?;
    let promotion = asked.store.promotion_to(&id)?;
    let (source, event, ground) = match &promotion {
        Some(promotion) => (promotion.source, promotion.event_type, Ground::Promoted(promotion.authority)),
        None if source == Source::User => (source, event, Ground::Operator),
        None => (source, event, Ground::Agent(agent)),
    };
    let mut item = MemoryItem::new(id, value.to_string(), source, stored.seq, event);
    item.stand_on(ground);
    item.meta.promoted_from = promotion.as_ref().map(|promotion| promotion.from_id.clone());
    let turn = promotion.as_ref().map(|promotion| &promotion.from_id);
    item.meta.source_turn_ids =
        turn.filter(|from| from.kind == MemoryKind::ShortTerm).cloned().into_iter().collect();
    item.meta.promotion_reason = promotion.as_ref().map(|promotion| promotion.reason.clone());
    item.meta.key = Some(key.to_string());
    item.meta.dedup_key = DedupKey::of_anchor(&key);
    let is_over = asked.store.anchor_over_since(&key, stored.seq)?;
    let shown_to = match is_over.filter(|_| over.is_none()) {
        None if over.is_some() => ShownTo::promoted(over),
        None => ShownTo::readers(readers),
        Some((since, true)) => ShownTo::nobody(Some(since), "replaced by a newer value"),
        Some((since, false)) => ShownTo::nobody(Some(since), "retired"),
    };
    let promoted =
        promotion.map(|PromotionView { agent: by, why, at, seq, .. }| Promoted { by, why, at, seq });
    Ok(Some(Kept { shown_to, promoted, ..Kept::of_event(item, stored) }.marked(asked)))
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
            promoted: None,
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
    let promoted = kept.promoted.as_ref().zip(item.meta.promoted_from.as_ref()).map(|(promoted, from)| {
        let from = inline(&from.to_string(), usize::MAX);
        format!("promoted from {from} by {}: {}", name(&promoted.by), inline(&promoted.why, TEXT_CHARS))
    });
    let marks: Vec<String> = marks.chain(kept.standing.clone()).chain(promoted).collect();
    let shown = match (shown_to.to, shown_to.since) {
        ("session", _) => "shown to the session".to_owned(),
        ("user", _) => "shown to its user".to_owned(),
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
