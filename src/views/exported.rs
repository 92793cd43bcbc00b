//! The confirmed facts and decisions for a file of notes, most useful first.

use super::versions::mark_changed;
use crate::domain::claim::{Basis, ClaimType, Status};
use crate::domain::notes;
use crate::domain::relevance::{Binds, Footing, by_relevance};
use crate::domain::scope::Scope;
use crate::domain::section::Entry;
use crate::domain::time::Timestamp;
use crate::store::{ClaimFilter, ClaimSummary, Reader, StoreError};
use crate::workspace::Workspace;

/// Claims in one read.
const CHUNK: usize = 500;

/// The confirmed facts and decisions in the order of a context without a subject. Notes that were imported from `file`
/// stand there already. The order depends on the claims alone and on no clock, so that a file changes only with them and
/// with the files that they are about. Besides, the number of claims that are left out because later runs doubt them or
/// other confirmed claims contradict them.
///
/// # Errors
/// [`StoreError`].
pub fn exported(
    store: &Reader,
    workspace: &Workspace,
    file: &Scope,
) -> Result<(Vec<Entry>, usize), StoreError> {
    let confirmed = ClaimFilter { status: vec![Status::Confirmed], limit: CHUNK, ..ClaimFilter::default() };
    let mut claims = store.all_claims(&confirmed)?;
    let own = notes::tag_of(file).map(String::from).unwrap_or_default();
    let is_wanted = |claim: &ClaimSummary| {
        matches!(claim.claim_type, ClaimType::Fact | ClaimType::Decision)
            && claim.basis != Some(Basis::Unchecked)
            && !claim.scopes.contains(&own)
    };
    claims.retain(is_wanted);
    let all = claims.len();
    let opposites = store.confirmed_opposites()?;
    claims.retain(|claim| claim.against().is_none() && !claim.unstable && !opposites.contains(&claim.id));
    // A fact beside the one that it was to replace, and one of which a challenge is not answered, are in dispute.
    let is_beside = |claim: &ClaimSummary| claim.claim_type == ClaimType::Fact && claim.contradicts.is_some();
    let mut settled = Vec::with_capacity(claims.len());
    for claim in claims {
        let is_proved = claim.basis == Some(Basis::Proved);
        if !is_beside(&claim) && (is_proved || store.challenged_before(claim.id)?.is_empty()) {
            settled.push(claim);
        }
    }
    let mut claims = settled;
    let doubted = all - claims.len();
    // One at a time: together they may have more files than a list compares.
    for claim in &mut claims {
        mark_changed(store, std::iter::once(claim), workspace.worktree().as_ref(), Some(workspace))?;
    }
    let last = claims.iter().map(|claim| claim.touched_at).max().unwrap_or_default();
    let last = Timestamp::from_ms(last);
    let mut ranked: Vec<(f64, ClaimSummary)> =
        claims.into_iter().map(|claim| (relevance(&claim, last), claim)).collect();
    ranked.sort_by(|(one, a), (other, b)| by_relevance((*one, a.seq), (*other, b.seq)));
    Ok((ranked.into_iter().map(|(_, claim)| entry(claim)).collect(), doubted))
}

/// The relevance of a claim for a reader without a subject.
fn relevance(claim: &ClaimSummary, at: Timestamp) -> f64 {
    let footing = Footing {
        claim_type: claim.claim_type,
        status: claim.status,
        touched_at: Timestamp::from_ms(claim.touched_at),
        answers: 0.0,
        linked_to_active_task: false,
        touches_session_files: false,
        binds: if claim.claim_type == ClaimType::Decision { Binds::Directory } else { Binds::Nothing },
        confidence: claim.effective_confidence(at),
    };
    footing.relevance(at)
}

fn entry(claim: ClaimSummary) -> Entry {
    let places = claim
        .scopes
        .iter()
        .filter(|scope| scope.parse::<Scope>().is_ok_and(|scope| scope.is_path() && !scope.is_whole()));
    Entry {
        name: claim.name.clone().unwrap_or_else(|| claim.id.to_string()),
        // A sentence that agents agreed to, in the words of a file that anybody may have written.
        kind: if claim.scopes.iter().any(|scope| notes::is_tag(scope)) {
            "imported note"
        } else {
            claim.claim_type.as_str()
        },
        places: places.cloned().collect(),
        doubt: claim.doubt(),
        statement: claim.statement,
    }
}
