//! Groups the claims of a pack into the parts of a summary: decisions, findings, figures, open questions, and the rest.

use std::collections::{BTreeMap, BTreeSet};

use super::xml::Tag;
use super::{Claim, Digest, How, MAX_REPLACED_CHARS, Mend, Names, rejected, replaced, short};
use crate::domain::claim::{ClaimType, Grade, Position, Status};
use crate::domain::digest::{Part, forbids, says_mend};
use crate::domain::time::Timestamp;

/// Possible maximum lengths of a statement, in characters: one or two lines first. The pack uses the longest one with
/// which it still shows every claim that it shows with the first one.
pub(super) const STATEMENT_CHARS: [usize; 18] =
    [200, 225, 250, 275, 300, 350, 400, 450, 500, 550, 600, 650, 700, 750, 800, 900, 1_000, 2_000];
/// Shorter lengths, for decisions, findings and figures that else have no room.
pub(super) const SHORTER_CHARS: [usize; 3] = [175, 150, 125];
/// The shortest length of a decision's statement beside other statements of 200 characters. In much less room it says
/// nothing.
const DECISION_CHARS: usize = 400;
/// Maximum length of a decision or measurement that is told whole in the place of claims of the rest, in characters.
const WHOLE_CHARS: usize = 1_000;
/// The length of statements from which on the reasons of supporters and the decisions before are added, in characters.
const TALKS_FROM: usize = 400;
/// The smallest budget of a summary, in characters. In less room the parts would take the place of claims that answer the
/// intent.
const LEAST_CHARS: usize = 5_000;
/// The least number of claims with a scope that is told once for all.
const LEAST_USUAL: usize = 4;
/// The factor for statements with figures. A table takes room, and its result comes after it.
const FIGURES: usize = 2;
/// Maximum length of a reason, in characters: that of a decision, or that of another agent's position.
const REASON_CHARS: usize = 160;
/// Maximum length of the decision before beside shorter statements: its id, which becomes a short name, and 60 characters of
/// what holds no more.
const SHORT_REPLACED_CHARS: usize = 98;
/// Least length of a superseded claim to which the new statement refers, in characters.
const BUILT_ON_CHARS: usize = 160;

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

/// The maximum lengths of statements in a summary, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lengths {
    /// Of a finding, an open question and the rest.
    pub(super) statement: usize,
    /// Of a decision.
    decision: usize,
    /// Of a measurement.
    figure: usize,
}

impl Lengths {
    pub(super) fn of(statement: usize) -> Self {
        let decision = statement.max(DECISION_CHARS.min(2 * statement));
        Self { statement, decision, figure: statement * FIGURES }
    }

    /// The same with whole decisions: the reader has to follow each of their sentences.
    pub(super) fn with_whole_decisions(self) -> Self {
        Self { decision: self.decision.max(WHOLE_CHARS), ..self }
    }

    /// The same with whole measurements: the last number of a table is as good as the first.
    pub(super) fn with_whole_figures(self) -> Self {
        Self { figure: self.figure.max(WHOLE_CHARS), ..self }
    }

    fn of_part(self, part: Part) -> usize {
        match part {
            Part::Decision => self.decision,
            Part::Figure => self.figure,
            Part::Finding | Part::Open | Part::Other => self.statement,
        }
    }
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
    let here: Vec<&Claim> = here.iter().copied().filter(|claim| !is_told_by_defects(claim, here)).collect();
    let mut parts: Vec<Claims<'_>> = Vec::new();
    for (part, name, share, is_kept) in named {
        let mut claims: Vec<&Claim> = here.iter().copied().filter(|claim| part_of(claim) == part).collect();
        if part == Part::Open {
            claims.sort_by_key(|claim| std::cmp::Reverse(claim.created_at));
        }
        claims = with_later(&claims);
        let spare_from = claims.len();
        parts.push(Claims { name, noun: name, claims, share, spare_from, is_kept, is_rest: false });
    }
    parts.retain(|part| !part.claims.is_empty());
    let mut others: Vec<&Claim> =
        here.iter().copied().filter(|claim| part_of(claim) == Part::Other).collect();
    others.sort_by_cached_key(|claim| !forbids(&claim.statement));
    others = with_later(&others);
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

/// The scope that most claims of a summary have. It is told once.
pub(super) fn usual_scope<'a>(parts: &[Claims<'a>]) -> Option<&'a str> {
    let digests: Vec<&Digest> =
        parts.iter().flat_map(|part| &part.claims).filter_map(|claim| claim.digest.as_ref()).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for scope in digests.iter().flat_map(|digest| &digest.elsewhere) {
        *counts.entry(scope).or_default() += 1;
    }
    let (scope, count) =
        counts.into_iter().max_by_key(|(scope, count)| (*count, std::cmp::Reverse(*scope)))?;
    (count >= LEAST_USUAL && 2 * count > digests.len()).then_some(scope)
}

/// Whether there are decisions, findings or figures, and all of them fit into a budget of this length.
pub(super) fn fits(parts: &[Claims<'_>], budget_chars: usize, now: Timestamp, names: Names<'_>) -> bool {
    let mut kept = parts.iter().filter(|part| part.is_kept).flat_map(|part| &part.claims).peekable();
    let mut left = budget_chars;
    let [.., shortest] = SHORTER_CHARS;
    budget_chars >= LEAST_CHARS
        && kept.peek().is_some()
        && kept.all(|shown| {
            let Some(digest) = &shown.digest else { return true };
            let taken = super::xml::chars(&names(&claim(shown, digest, (Lengths::of(shortest), None), now)));
            let is_room = taken <= left;
            left = left.saturating_sub(taken);
            is_room
        })
}

/// Whether the defects that a claim mends tell the mend.
fn is_told_by_defects(claim: &Claim, among: &[&Claim]) -> bool {
    let mends = claim.digest.as_ref().map_or(&[][..], |digest| &digest.mends);
    !mends.is_empty() && mends.iter().all(|id| among.iter().any(|claim| claim.id == *id))
}

/// The claims of a part, each followed by the later ones that name it.
fn with_later<'a>(claims: &[&'a Claim]) -> Vec<&'a Claim> {
    let ids: BTreeSet<&str> = claims.iter().map(|claim| claim.id.as_str()).collect();
    let mut behind: BTreeMap<&str, Vec<&'a Claim>> = BTreeMap::new();
    let mut first: Vec<&'a Claim> = Vec::new();
    for claim in claims {
        let named = claim.digest.as_ref().and_then(|digest| digest.follows.as_deref());
        match named.filter(|named| ids.contains(named)) {
            Some(named) => behind.entry(named).or_default().push(claim),
            None => first.push(claim),
        }
    }
    behind.values_mut().for_each(|later| later.sort_by_key(|claim| claim.made_seq));
    // A claim names only earlier ones, so each is reached once.
    let mut ordered = Vec::new();
    let mut next: Vec<&'a Claim> = first.into_iter().rev().collect();
    while let Some(claim) = next.pop() {
        ordered.push(claim);
        next.extend(behind.remove(claim.id.as_str()).into_iter().flatten().rev());
    }
    ordered
}

/// The element of a claim in a summary: the statement, cut to its length, then the reason of the decision,
/// the rejected alternatives, and the positions of other agents. Common properties are left out: the type of a fact,
/// full confidence, the places that the reader named, and `usual_scope`.
pub(super) fn claim(
    claim: &Claim,
    digest: &Digest,
    (lengths, usual_scope): (Lengths, Option<&str>),
    now: Timestamp,
) -> String {
    let Digest { part, state, named_by, asks, elsewhere, .. } = digest;
    let usual = if *part == Part::Decision { ClaimType::Decision } else { ClaimType::Fact };
    let kind = Some(claim.claim_type).filter(|kind| *kind != usual);
    let list = |words: &[String]| (!words.is_empty()).then(|| words.join(" "));
    let text = told(claim, digest, lengths);
    let scopes = elsewhere.iter().map(String::as_str).filter(|scope| Some(*scope) != usual_scope);
    let scopes = scopes.collect::<Vec<_>>().join(" ");
    Tag::open("claim")
        .with("id", &claim.id)
        .with_any("type", kind)
        .with("status", claim.status)
        .with_any("basis", super::items::basis(claim))
        .with_any("proved_by", claim.proved_by.as_deref())
        .with_any("unstable", claim.unstable.then_some("yes"))
        .with_any("agreed", claim.agreed_before_change.then_some("before the change"))
        .with_any("later_edits", claim.edits_unseen.then_some("unseen"))
        .with_pair(claim.against.as_ref())
        .with_any("contradicts", claim.contradicts.as_deref())
        .with_any("grade", Some(claim.grade).filter(|grade| *grade != Grade::Asserted))
        .with_any("changed_by", claim.changed_by.as_deref())
        .with_any("names", claim.names_over.as_deref())
        .with_any("evidence", super::items::evidence(claim))
        .with_any("state", state.as_deref())
        .with_any("changed", claim.changed.as_deref())
        .with_any("by_now", claim.by_now.as_deref())
        .with_any("confidence", super::items::confidence(claim))
        .with_any("scope", Some(scopes).filter(|scopes| !scopes.is_empty()))
        .with("by", &claim.by)
        .with_any("imported", claim.imported.then_some("yes"))
        .with("age", claim.created_at.age(now))
        .with_any("named_by", list(named_by))
        .with_any("asks", list(asks))
        .text(&text)
}

/// The text of a claim in a summary.
fn told(claim: &Claim, digest: &Digest, lengths: Lengths) -> String {
    let Digest { part, why, mended, said, .. } = digest;
    let (max_chars, longest) = (lengths.statement, lengths.of_part(*part));
    let mut text = match part {
        Part::Finding => with_mend(&claim.statement, longest),
        Part::Decision | Part::Figure | Part::Open | Part::Other => cut(&claim.statement, longest),
    };
    let is_over = claim.status == Status::Deprecated;
    if is_over {
        text = format!("was: \"{text}\"");
    }
    if let Some(why) = why.as_ref().filter(|_| !is_over) {
        text.push_str(&format!("; why: {}", short(why, REASON_CHARS)));
    }
    if let Some(Mend { by, how, .. }) = mended {
        text.push_str(&format!("; mended by {by}: {}", cut(how, max_chars)));
    }
    let is_told = |said: &str| mended.as_ref().is_some_and(|mend| said.ends_with(&mend.how));
    text.push_str(&rejected(claim));
    text.push_str(&predecessor(claim, digest, max_chars));
    // In less room the words of decisions come before those of who agrees.
    let has_room = |position: Position| {
        max_chars >= TALKS_FROM || (*part == Part::Decision && position != Position::Support)
    };
    for (_, said) in said.iter().filter(|(position, said)| has_room(*position) && !is_told(said)) {
        text.push_str(&format!("; {}", short(said, REASON_CHARS)));
    }
    text
}

/// The superseded claim. Its text is news if it was a decision, which others may have followed, if it was mended, or if the
/// new statement refers to it. The reader of a successor must know whether what it demanded still holds.
fn predecessor(claim: &Claim, digest: &Digest, max_chars: usize) -> String {
    let Digest { part, instead_of, builds_on_it, demanded, .. } = digest;
    let (Some(old), [_, others @ ..]) = (&claim.replaced, instead_of.as_slice()) else {
        return String::new();
    };
    if old.how == How::Mended {
        return replaced(claim, MAX_REPLACED_CHARS);
    }
    let id = instead_of.join(" and ");
    let others = if others.is_empty() { String::new() } else { format!(", and of {}", others.join(" and ")) };
    let length = format!("{}: {}", old.id, old.was).chars().count();
    let room = max_chars.clamp(BUILT_ON_CHARS, DECISION_CHARS);
    let demanded = short(&demanded.join(" "), DECISION_CHARS);
    match (builds_on_it, demanded.is_empty()) {
        (true, is_none) if is_none || length <= room => replaced(claim, room) + &others,
        (true, _) => format!("; instead of {id} (which demanded: \"{demanded}\")"),
        // In less room the words of decisions in force come first.
        (false, true) if *part == Part::Decision && max_chars >= STATEMENT_CHARS[0] => {
            let room = if max_chars >= TALKS_FROM { MAX_REPLACED_CHARS } else { SHORT_REPLACED_CHARS };
            replaced(claim, room) + &others
        }
        (false, true) => format!("; instead of {id}"),
        (false, false) => format!("; instead of {id}, and over with it: \"{demanded}\""),
    }
}

/// Whether [`claim`] shows the whole statement.
pub(super) fn is_whole(claim: &Claim, digest: &Digest, lengths: Lengths) -> bool {
    claim.statement.chars().count() <= lengths.of_part(digest.part)
}

/// Whether the text of a claim is the same at a longer length.
pub(super) fn is_same_at(claim: &Claim, max_chars: usize, longer: usize) -> bool {
    let digest = claim.digest.as_ref();
    let how = digest.and_then(|digest| digest.mended.as_ref()).map(|mend| &mend.how);
    let mut texts = how.into_iter().chain([&claim.statement]);
    // From here on reasons are told, and there is most room for what was replaced.
    let is_on_one_side =
        max_chars >= TALKS_FROM || longer < TALKS_FROM || digest.is_none_or(|digest| digest.said.is_empty());
    let has_room = claim.replaced.is_none() || max_chars >= DECISION_CHARS;
    is_on_one_side && has_room && texts.all(|text| text.chars().count() <= max_chars)
}

/// The id of the claim that mended a defect, if the defect shows it whole.
pub(super) fn whole_mend(digest: &Digest, max_chars: usize) -> Option<&str> {
    let Mend { claim, how, .. } = digest.mended.as_ref()?;
    claim.as_deref().filter(|_| how.chars().count() <= max_chars)
}

/// Cuts the statement of a finding, and keeps the mend that it proposes: that comes last, and is what a reader needs.
fn with_mend(statement: &str, max_chars: usize) -> String {
    let cut = cut(statement, max_chars);
    let Some(mend) = says_mend(statement).filter(|mend| !cut.contains(mend)) else { return cut };
    let mend = short(mend, max_chars / 2);
    let what = self::cut(statement, max_chars.saturating_sub(mend.chars().count()));
    format!("{} {mend}", what.trim_end())
}

/// Cuts a statement to `max_chars` characters, after a sentence if one ends in the last third. An uncut statement keeps its
/// line breaks.
pub(super) fn cut(statement: &str, max_chars: usize) -> String {
    if statement.chars().count() <= max_chars {
        return statement.to_owned();
    }
    let cut = short(statement, max_chars);
    let ends = [". ", "; "].iter().filter_map(|end| cut.rfind(end));
    match ends.max().filter(|at| at * 3 >= cut.len() * 2) {
        Some(at) => format!("{} …", &cut[..=at]),
        None => cut,
    }
}
