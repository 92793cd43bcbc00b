//! Groups the claims of a pack into the parts of a summary: decisions, findings, figures, open questions, and the rest.

use super::xml::Tag;
use super::{Claim, Digest, MAX_REPLACED_CHARS, Names, beside_in, short};
use crate::domain::claim::{ClaimType, Grade};
use crate::domain::digest::Part;
use crate::domain::time::Timestamp;

/// Possible maximum lengths of a statement, in characters, from the guaranteed one to the longest. The pack uses the
/// longest one with which all decisions, findings and figures fit.
pub(super) const STATEMENT_CHARS: [usize; 12] =
    [400, 450, 500, 550, 600, 650, 700, 750, 800, 900, 1_000, 2_000];
/// The smallest budget of a summary, in characters. In less room the parts would take the place of claims that answer the
/// intent.
const LEAST_CHARS: usize = 5_000;
/// The factor for statements with figures. A table takes room, and its result comes after it.
const FIGURES: usize = 2;
/// Maximum length of a reason, in characters: that of a decision, or that of another agent's position.
const REASON_CHARS: usize = 160;
/// Maximum length of a superseded claim to which the new statement refers, in characters.
const BUILT_ON_CHARS: usize = 400;

/// The claims of one part, in their order.
pub(super) struct Claims<'a> {
    /// The name of the part's element.
    pub(super) name: &'static str,
    /// The word for the claims in counts.
    pub(super) noun: &'static str,
    pub(super) claims: Vec<&'a Claim>,
    /// The share of the budget in percent, before the other parts get the rest.
    pub(super) share: usize,
    /// Claims from this index on are old proposals.
    pub(super) spare_from: usize,
    /// Whether long statements are cut so that no claim is omitted.
    pub(super) is_kept: bool,
    /// Whether claims outside the pack belong to this part.
    pub(super) is_rest: bool,
}

/// Groups claims into parts. Claims without a digest, and those from `sunk_from` on, are the rest.
pub(super) fn parts(claims: Vec<&Claim>, sunk_from: usize) -> Vec<Claims<'_>> {
    let named = [
        (Part::Decision, "decisions", 40, true),
        (Part::Finding, "findings", 25, true),
        (Part::Figure, "figures", 25, true),
        (Part::Open, "open", 8, false),
    ];
    let part_of = |claim: &Claim| claim.digest.as_ref().map_or(Part::Other, |digest| digest.part);
    let (here, sunk) = claims.split_at(sunk_from);
    let mut parts: Vec<Claims<'_>> = Vec::new();
    for (part, name, share, is_kept) in named {
        let mut claims: Vec<&Claim> = here.iter().copied().filter(|claim| part_of(claim) == part).collect();
        match part {
            Part::Finding | Part::Figure => claims = with_later(&claims),
            Part::Open => claims.sort_by_key(|claim| std::cmp::Reverse(claim.created_at)),
            Part::Decision | Part::Other => {}
        }
        let spare_from = claims.len();
        parts.push(Claims { name, noun: name, claims, share, spare_from, is_kept, is_rest: false });
    }
    parts.retain(|part| !part.claims.is_empty());
    let mut others: Vec<&Claim> =
        here.iter().copied().filter(|claim| part_of(claim) == Part::Other).collect();
    let sunk_from = others.len();
    others.extend(sunk);
    parts.push(rest(others, sunk_from));
    parts
}

/// The part for claims of no other part.
pub(super) fn rest(claims: Vec<&Claim>, spare_from: usize) -> Claims<'_> {
    Claims {
        name: "relevant_claims",
        noun: "claims",
        claims,
        share: 0,
        spare_from,
        is_kept: false,
        is_rest: true,
    }
}

/// Whether there are decisions, findings or figures, and all of them fit into a budget of this length.
pub(super) fn fits(parts: &[Claims<'_>], budget_chars: usize, now: Timestamp, names: Names<'_>) -> bool {
    let mut kept = parts.iter().filter(|part| part.is_kept).flat_map(|part| &part.claims).peekable();
    let mut left = budget_chars;
    budget_chars >= LEAST_CHARS
        && kept.peek().is_some()
        && kept.all(|shown| {
            let Some(digest) = &shown.digest else { return true };
            let taken = super::xml::chars(&names(&claim(shown, digest, STATEMENT_CHARS[0], now)));
            let is_room = taken <= left;
            left = left.saturating_sub(taken);
            is_room
        })
}

/// The claims of a part. Each claim is followed by the later ones that name it, because they correct it or tell its
/// outcome.
fn with_later<'a>(claims: &[&'a Claim]) -> Vec<&'a Claim> {
    let is_named_by = |claim: &Claim, later: &Claim| {
        claim.digest.as_ref().is_some_and(|digest| digest.named_by.contains(&later.id))
    };
    let mut ordered: Vec<&'a Claim> = Vec::new();
    for claim in claims {
        let mut first = claim;
        // A claim names only earlier ones, so the loop ends.
        while let Some(named) = claims.iter().find(|named| is_named_by(named, first)) {
            first = named;
        }
        let later = claims.iter().filter(|later| is_named_by(first, later));
        for claim in std::iter::once(first).chain(later).chain([claim]) {
            if !ordered.iter().any(|shown| shown.id == claim.id) {
                ordered.push(claim);
            }
        }
    }
    ordered
}

/// The element of a claim in a summary: the statement, cut to `max_chars` characters, then the reason of the decision,
/// the rejected alternatives, and the positions of other agents. Common properties are left out: the type of a fact,
/// full confidence, and the places that the reader named.
pub(super) fn claim(claim: &Claim, digest: &Digest, max_chars: usize, now: Timestamp) -> String {
    let Digest { part, why, state, named_by, instead_of, builds_on_it, said, asks, elsewhere } = digest;
    let kind = Some(claim.claim_type).filter(|kind| *kind != ClaimType::Fact && *part != Part::Decision);
    let list = |words: &[String]| (!words.is_empty()).then(|| words.join(" "));
    let mut text = cut(&claim.statement, longest(digest, max_chars));
    if let Some(why) = why {
        text.push_str(&format!("; why: {}", short(why, REASON_CHARS)));
    }
    // The short name of the superseded claim leads to its text.
    let instead_of = instead_of.as_ref().map(|id| format!("; {id} is out of force")).unwrap_or_default();
    let replaced_chars = if *builds_on_it { BUILT_ON_CHARS } else { MAX_REPLACED_CHARS };
    text.push_str(&(beside_in(claim, replaced_chars) + &instead_of));
    for said in said {
        text.push_str(&format!("; {}", short(said, REASON_CHARS)));
    }
    Tag::open("claim")
        .with("id", &claim.id)
        .with_any("type", kind)
        .with("status", claim.status)
        .with_any("basis", super::items::basis(claim))
        .with_any("proved_by", claim.proved_by.as_deref())
        .with_any("unstable", claim.unstable.then_some("yes"))
        .with_any("failed_since", claim.failed_since.as_deref())
        .with_any("grade", Some(claim.grade).filter(|grade| *grade != Grade::Asserted))
        .with_any("evidence", claim.evidence_stale.then_some("stale"))
        .with_any("state", state.as_deref())
        .with_any("changed", claim.changed.as_deref())
        .with_any("by_now", claim.by_now.as_deref())
        .with_any("confidence", super::items::confidence(claim))
        .with_any("scope", Some(elsewhere).filter(|scopes| !scopes.is_empty()))
        .with("by", &claim.by)
        .with_any("imported", claim.imported.then_some("yes"))
        .with("age", claim.created_at.age(now))
        .with_any("named_by", list(named_by))
        .with_any("asks", list(asks))
        .text(&text)
}

/// Whether [`claim`] shows the whole statement.
pub(super) fn is_whole(claim: &Claim, digest: &Digest, max_chars: usize) -> bool {
    claim.statement.chars().count() <= longest(digest, max_chars)
}

/// The number of characters that a statement may have.
fn longest(digest: &Digest, max_chars: usize) -> usize {
    if digest.part == Part::Figure { max_chars * FIGURES } else { max_chars }
}

/// Cuts a statement to `max_chars` characters. An uncut statement keeps its line breaks.
fn cut(statement: &str, max_chars: usize) -> String {
    if statement.chars().count() <= max_chars { statement.to_owned() } else { short(statement, max_chars) }
}
