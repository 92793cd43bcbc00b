//! Lists of claims, and of dead ends.

use serde_json::{Value, json};

use super::asking::Asking;
use super::names::shortened;
use super::rows::{self, Latest, Room, RowReader, Stage, place, rows};
use super::unshown;
use super::{Answer, DEFAULT_LIMIT, ViewError, last_change, markdown, to_json};
use crate::domain::agent::AgentId;
use crate::domain::claim::ClaimType;
use crate::domain::event::Event;
use crate::domain::ids::ClaimId;
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::reads::Reads;
use crate::store::{ClaimFilter, ClaimPage, ClaimSummary};

/// A page of a list, for a caller that adds lines of its own.
#[derive(Debug)]
pub struct Listed<P> {
    /// The page.
    pub page: P,
    /// The places of these claims that other agents hold, each in a few words.
    pub held: Vec<String>,
    /// Number of claims that changed before those of the page; of a place with a next page, at least so many.
    pub older: usize,
    /// Number of rows that cannot be read.
    pub left_out: u64,
    /// Ledger position of the page.
    pub seq: u64,
}

impl Listed<ClaimPage> {
    /// Adds the next page.
    pub fn add(&mut self, next: Self) {
        self.page.claims.extend(next.page.claims);
        self.page.next = next.page.next;
        for held in next.held {
            if !self.held.contains(&held) {
                self.held.push(held);
            }
        }
        self.left_out += next.left_out;
    }
}

/// A page of claims.
pub(super) fn answer(asking: &mut Asking<'_>, filter: &ClaimFilter) -> Result<Answer, ViewError> {
    let found = list(asking, filter, None, None)?;
    let (page, now) = (&found.page, asking.now);
    let text = || {
        if page.claims.is_empty() {
            return "No claims match.\n".to_owned();
        }
        let mut names = |text: &str| shortened(asking.reads, text).into_owned();
        rows::in_markdown(
            rows(page.claims.iter(), &RowReader::default(), Room::Pipe, now, &mut names),
            &found.held,
        )
    };
    let answer = Answer::of(asking.format, found.seq, || listed(page, now), text);
    Ok(answer.followed_by("cursor", page.next).without(found.left_out))
}

/// Claims that match a filter. With `latest` these are the last changed claims of the first page, in its order. A list
/// at a place is grouped by stage instead. The reader's own work is left out of the news.
///
/// # Errors
/// [`ViewError`].
pub(super) fn list(
    asking: &mut Asking<'_>,
    filter: &ClaimFilter,
    latest: Option<Latest>,
    reader: Option<&AgentId>,
) -> Result<Listed<ClaimPage>, ViewError> {
    let reader = reader.map(AgentId::as_str);
    let ((mut page, held, older, seq, supported), left_out) = asking.found(|asked| {
        let mut page = asked.store.claims(filter)?;
        let mut older = 0;
        if let Some(order @ (Latest::ByChange(rows) | Latest::InForceFirst(rows))) = latest {
            if filter.is_by_stage() {
                page.claims.retain(|claim| !claim.rejected);
                page.claims.sort_by_key(|claim| (Stage::place(claim), std::cmp::Reverse(claim.seq)));
            } else {
                page.claims.sort_by_key(|claim| std::cmp::Reverse(claim.seq));
            }
            older = match page.next {
                // A list of a place leaves out claims that only their reading tells.
                Some(_) if !filter.is_by_stage() => asked.store.count_claims(filter)?,
                _ => page.claims.len(),
            };
            older = older.saturating_sub(rows);
            page.claims.truncate(rows);
            if matches!(order, Latest::InForceFirst(_)) && !filter.is_by_stage() {
                page.claims.sort_by_key(place);
            }
        }
        let held = asked.mark(&mut page.claims.iter_mut().collect::<Vec<_>>(), reader)?;
        asked.store.mark_amended(&mut page.claims)?;
        asked.store.mark_changed_values(page.claims.iter_mut())?;
        asked.store.mark_names_over(page.claims.iter_mut())?;
        let ids: Vec<ClaimId> = page.claims.iter().map(|claim| claim.id).collect();
        Ok((page, held, older, asked.seq, asked.store.asserted_evidence(&ids)?))
    })?;
    unshown::mark(asking.reads, &mut page.claims, &supported);
    last_change::mark(asking.reads, &mut page);
    Ok(Listed { page, held, older, left_out, seq })
}

/// Whether an event changes a list.
pub(super) fn touched_by(reads: &mut Reads, filter: &ClaimFilter, event: &Event) -> Result<bool, ViewError> {
    // A claim that this event takes out of the filter was in the list before.
    let shown = ClaimFilter { status: Vec::new(), in_force: false, before: None, ..filter.clone() };
    any_of(reads, event, &shown)
}

/// A page of dead ends in force, at a scope or everywhere, older than the page before.
pub(super) fn dead_ends(
    asking: &mut Asking<'_>,
    scope: Option<&Scope>,
    before: Option<u64>,
) -> Result<Answer, ViewError> {
    let filter = ClaimFilter { scope: scope.cloned(), before, ..negative() };
    asking.of_store(|asked| {
        let mut page = asked.store.claims(&filter)?;
        asked.mark(&mut page.claims.iter_mut().collect::<Vec<_>>(), None)?;
        let text = || markdown::claims(&page, "dead ends", asked.now);
        Ok(asked.answer(|| listed(&page, asked.now), text).followed_by("cursor", page.next))
    })
}

/// Whether an event changes the dead ends of a scope.
pub(super) fn dead_ends_touched_by(
    reads: &mut Reads,
    scope: Option<&Scope>,
    event: &Event,
) -> Result<bool, ViewError> {
    let claim_type = Some(ClaimType::Negative);
    any_of(reads, event, &ClaimFilter { claim_type, scope: scope.cloned(), ..ClaimFilter::default() })
}

/// Whether an event is about a claim that passes a filter.
pub(super) fn any_of(reads: &mut Reads, event: &Event, filter: &ClaimFilter) -> Result<bool, ViewError> {
    let Some(store) = reads.store()? else { return Ok(true) };
    for id in event.claims() {
        let wanted = ClaimFilter { id: Some(id), limit: 1, ..filter.clone() };
        if !store.claims(&wanted)?.claims.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The filter of dead ends in force.
pub(super) fn negative() -> ClaimFilter {
    ClaimFilter {
        claim_type: Some(ClaimType::Negative),
        in_force: true,
        limit: DEFAULT_LIMIT,
        ..ClaimFilter::default()
    }
}

fn listed(page: &ClaimPage, now: Timestamp) -> Value {
    let mut json = to_json(page);
    json["claims"] = shown(&page.claims, now).into();
    json
}

/// A claim for programs: the stored facts and the current confidence.
pub(super) fn with_trust(mut json: Value, claim: &ClaimSummary, now: Timestamp) -> Value {
    // Two places, as everywhere: more would be noise of the clock.
    json["effective_confidence"] = json!((claim.effective_confidence(now) * 100.0).round() / 100.0);
    json
}

/// Claims for programs.
pub(super) fn shown(claims: &[ClaimSummary], now: Timestamp) -> Vec<Value> {
    claims.iter().map(|claim| with_trust(to_json(claim), claim, now)).collect()
}
