//! The differences between a claim's recorded files and the files in the reader's work tree.

use std::collections::BTreeMap;

use super::ViewError;
use super::markdown::{inline, name};
use crate::domain::claim::{Basis, Position, Relation, Status};
use crate::domain::cochange::Pair;
use crate::domain::event::Event;
use crate::domain::ids::ClaimId;
use crate::domain::place::Fate;
use crate::domain::scope::Scope;
use crate::domain::text::Worktree;
use crate::domain::versions::Content;
use crate::reads::Reads;
use crate::store::{
    Changed, CitedPlace, ClaimSummary, ClaimView, PlaceNow, PositionHeld, Reader, StillMeant, StoreError,
};
use crate::versions::{Unversioned, fate_of, look, look_since};
use crate::workspace::Workspace;

/// Compares the files of one claim for its page. Writes nothing.
pub(super) fn compare(
    workspace: &Workspace,
    store: &Reader,
    claim: &mut ClaimView,
) -> Result<(), StoreError> {
    let since = claim.affirmed_seq.unwrap_or(claim.summary.created_seq);
    let worktree = workspace.worktree();
    for scope in &claim.summary.scopes {
        // Stored scopes are in their normal form.
        let Ok(scope) = scope.parse() else { continue };
        let holds = look(workspace.root(), &scope);
        match claim.versions.get(&scope) {
            Some(saw) if holds.as_ref() == Ok(saw) => {}
            // Earlier releases recorded a glob as the name of a missing file.
            Some(saw) if !(*saw == Content::Absent && holds == Err(Unversioned::Glob)) => {
                let changed = store.change(worktree.as_ref(), scope.as_str(), since)?;
                claim.summary.changed_since.push(changed);
            }
            Some(_) | None => {
                let why =
                    holds.err().map_or_else(|| "had none when it was said".to_owned(), |why| why.to_string());
                claim.unversioned.push((scope.as_str().to_owned(), why));
            }
        }
    }
    let paths = claim.summary.scopes.iter().filter_map(|scope| scope.parse::<Scope>().ok());
    let paths: Vec<Scope> = paths.filter(Scope::is_path).collect();
    if !paths.is_empty() {
        let cochange = workspace.cochange();
        for path in &paths {
            let others = cochange.with(path).iter().filter(|follows| !paths.contains(&follows.path));
            claim.changes_with.extend(others.map(|follows| Pair(path, follows).to_string()));
        }
        claim.changes_with.truncate(MAX_CHANGES_WITH);
    }
    let places = store.places_of(std::iter::once(claim.summary.id))?.remove(&claim.summary.id);
    let places = places.unwrap_or_default();
    for place in &places {
        let item =
            claim.evidence_items.iter_mut().filter(|item| item.evidence_ref == place.event_id.to_string());
        let fate = fate_here(workspace, place);
        item.for_each(|item| item.place = Some(PlaceNow { lines: place.span.to_string(), fate }));
    }
    mark_cited(workspace, store, &mut claim.summary, &places, since)
}

/// What became of cited lines; none for those of another work tree.
fn fate_here(workspace: &Workspace, place: &CitedPlace) -> Option<Fate> {
    let is_here = place.worktree.as_deref() == workspace.worktree().as_ref().map(Worktree::as_str);
    is_here.then(|| fate_of(workspace.root(), &place.span)).flatten()
}

/// Of the files with cited lines, marks those that no longer hold the lines, whatever else changed in them.
fn mark_cited(
    workspace: &Workspace,
    store: &Reader,
    claim: &mut ClaimSummary,
    places: &[CitedPlace],
    since: u64,
) -> Result<(), StoreError> {
    let fates = places.iter().filter_map(|place| Some((place, fate_here(workspace, place)?)));
    let fates: Vec<(&CitedPlace, Fate)> = fates.collect();
    claim
        .changed_since
        .retain(|changed| fates.iter().all(|(place, _)| place.span.path.as_str() != changed.path));
    for (place, fate) in fates.iter().filter(|(_, fate)| !fate.is_found()) {
        let changed = store.change(workspace.worktree().as_ref(), place.span.path.as_str(), since)?;
        claim.changed_since.push(Changed { cited: Some(format!("{} {fate}", place.span)), ..changed });
        claim.stale |= place.relation == Relation::Supports;
    }
    Ok(())
}

/// The claims of which cited lines are in files that are gone, with these lines, in the reader's work tree.
pub(super) fn orphaned(
    workspace: &Workspace,
    store: &Reader,
) -> Result<BTreeMap<ClaimId, Vec<CitedPlace>>, StoreError> {
    let mut found: BTreeMap<ClaimId, Vec<CitedPlace>> = BTreeMap::new();
    for place in store.places_in(workspace.worktree().as_ref(), MAX_CITED)? {
        if fate_here(workspace, &place) == Some(Fate::Orphaned) {
            found.entry(place.claim_id).or_default().push(place);
        }
    }
    Ok(found)
}

/// Of a proved claim, the scopes whose content no run could compare with what was challenged. A name has none.
pub(super) fn not_compared(claim: &ClaimView) -> Option<String> {
    let summary = &claim.summary;
    if summary.status != Status::Confirmed || summary.basis != Some(Basis::Proved) {
        return None;
    }
    let is_path = |scope: &str| scope.parse().is_ok_and(|scope: Scope| scope.is_path());
    let mut open = claim.unversioned.iter().filter(|(scope, _)| is_path(scope)).peekable();
    open.peek()?;
    let said = open.map(|(scope, why)| format!("`{}` {why}", inline(scope, 200)));
    let said: Vec<String> = said.collect();
    let what = if claim.versions.is_empty() { "what" } else { "a part of what" };
    Some(format!("{what} `{}` is about was not compared: {}", summary.id, said.join(", ")))
}

/// The maximum number of pairs of files on a claim's page.
const MAX_CHANGES_WITH: usize = 5;
/// The number of claims with changed files from which one line and a mark on each replace the sentences.
pub(super) const MARKED: usize = 3;
/// The maximum number of files that one view compares.
const MAX_LOOKED_AT: usize = 64;
/// The maximum number of cited places that the list of attention looks at.
const MAX_CITED: usize = 500;

/// Marks the claims of a list with changed files: those that another session edited and, of files that can be
/// compared, those with other content. The content counts more than a report. `now_there` is `None` for a past state,
/// and before and after a tool, where a client waits for the answer.
pub(in crate::views) fn mark_changed<'c>(
    store: &Reader,
    claims: impl Iterator<Item = &'c mut ClaimSummary>,
    worktree: Option<&Worktree>,
    now_there: Option<&Workspace>,
) -> Result<(), StoreError> {
    let mut claims: Vec<&mut ClaimSummary> = claims.collect();
    store.mark_edited(claims.iter_mut().map(|claim| &mut **claim), worktree)?;
    let is_here = |workspace: &&Workspace| workspace.worktree().as_ref() == worktree;
    let Some(workspace) = now_there.filter(is_here).filter(|_| !claims.is_empty()) else { return Ok(()) };
    let versions = store.versions_of(claims.iter().map(|claim| claim.id))?;
    let places = store.places_of(claims.iter().map(|claim| claim.id))?;
    let mut looked_at = 0;
    for claim in &mut claims {
        let Some((versions, since)) = versions.get(&claim.id) else { continue };
        for (scope, saw) in versions {
            if looked_at == MAX_LOOKED_AT {
                break;
            }
            looked_at += 1;
            let holds = look_since(workspace.root(), scope, claim.created_at);
            claim.changed_since.retain(|changed| changed.path != scope.as_str());
            let same = match &holds {
                None => true,
                Some(holds) => {
                    holds.as_ref() == Ok(saw) || (*saw == Content::Absent && *holds == Err(Unversioned::Glob))
                }
            };
            if !same {
                let changed = store.change(worktree, scope.as_str(), *since)?;
                let supported = store.supported_seq(claim.id)?.unwrap_or(0);
                let after = if supported > *since {
                    store.change(worktree, scope.as_str(), supported)?
                } else {
                    changed.clone()
                };
                // The supporters of a claim may know its changed files.
                let is_known = changed.by.is_some() || changed.commit.is_some();
                if !is_known || after.by.is_some() || after.commit.is_some() {
                    claim.changed_since.push(after);
                }
            }
        }
    }
    for claim in claims {
        let Some(places) = places.get(&claim.id) else { continue };
        mark_cited(workspace, store, claim, places, claim.created_seq)?;
    }
    Ok(())
}

/// The agent that said last that a claim, or its challenge of it, is still meant.
pub(super) fn still_meant(reads: &mut Reads, claim: &ClaimView) -> Result<Option<StillMeant>, ViewError> {
    let Some(seq) = claim.affirmed_seq else { return Ok(None) };
    let Some(ledger) = reads.ledger()? else { return Ok(None) };
    let Some(stored) = ledger.event_at(seq)? else { return Ok(None) };
    let by = stored.agent.to_string();
    let taken = stored.recorded().ok().and_then(|recorded| recorded.event);
    let is_challenge =
        matches!(taken, Some(Event::PositionTaken(taken)) if taken.position == Position::Challenge);
    Ok(Some(StillMeant { by, is_challenge }))
}

/// A position as a sentence part.
pub(super) fn position(held: &PositionHeld) -> String {
    let before = if held.before_change { " (before the change)" } else { "" };
    format!("{} {}{before}", super::markdown::name(&held.agent), held.position)
}

/// The changes in a few words. `None` without any.
pub(super) fn changed(changed: &[Changed]) -> Option<String> {
    let said = changed.iter().map(|changed| {
        let path = super::inline(changed.cited.as_deref().unwrap_or(&changed.path), 200);
        let commit =
            changed.commit.as_ref().map(|commit| format!(" by {}", super::inline(&commit.to_string(), 200)));
        let by = commit.or_else(|| Some(format!(" by {}", super::markdown::name(changed.by.as_deref()?))));
        format!("`{path}`{}", by.unwrap_or_default())
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// A former position.
pub(super) fn former(held: &PositionHeld, max_chars: usize) -> String {
    let reason = held.reason.as_deref().unwrap_or("no reason given");
    format!("{} {}: {}", name(&held.agent), held.position, inline(reason, max_chars))
}
