//! The elements of a pack: one function for each kind of entry.

use super::digest::cut;
use super::entries::{
    Already, Anchor, Attention, Claim, Contradiction, DeadEnd, Lock, Over, Peer, Question, Side, Task,
};
use super::fit::{Glance, Section};
use super::xml::{self, Tag, line};
use super::{ALL, MAX_GLANCE_CHARS, MAX_NAME_CHARS, MAX_TOLD, MAX_WANTS_CHARS, beside, replaced, short};
use crate::domain::claim::{Basis, ClaimType, Grade, Status};
use crate::domain::digest::says_instead;
use crate::domain::time::Timestamp;

/// Maximum length of an anchor's value, in characters. The resource shows the rest.
pub(super) const MAX_ANCHOR_CHARS: usize = 200;

/// Maximum length of each text of an anti-pattern, in characters. The first one then fits into most budgets.
pub(super) const MAX_WARNING_CHARS: usize = 300;
/// Maximum length of the result of a task.
const MAX_RESULT_CHARS: usize = 160;

/// Maximum length of a statement that is no longer true, and of the reason for that, in characters.
const MAX_OVER_CHARS: usize = 120;

/// Maximum length of each side of a contradiction that other agents settle about other work, in characters. It is enough
/// to recognise it.
const MAX_FAR_CHARS: usize = 50;

/// Maximum length of a side of a contradiction with a word that no line breaks in, in characters: such a word is on one line.
const MAX_WORD_CHARS: usize = 350;

/// The confidence from which it is not shown. Its reader acts on the claim either way, and statements need the room.
const TRUSTED: f64 = 0.7;

pub(super) fn attention<'a>(entries: Vec<&'a Attention>, now: Timestamp) -> Section<'a> {
    Section::of("attention", entries, Attention::id, Attention::glance, move |needs| match needs {
        Attention::Question(asked) => question(asked, now),
        Attention::Asked { claims } => Tag::open("asked")
            .with("n", claims.len())
            .with("answer", "support, challenge or abstain")
            .text(&claims.join(" ")),
        Attention::Contradiction(both) => {
            contradiction_in(both, if both.is_far { MAX_FAR_CHARS } else { MAX_GLANCE_CHARS }, now)
        }
        Attention::Contested(it) => {
            let since = it.touched_at.age(now);
            let contested = claim("contested", it, now).with("move", &it.by).with("since", since);
            contested.escaped(&line(&it.statement, MAX_GLANCE_CHARS))
        }
        Attention::PendingProof { claim: it, run } => claim("pending_proof", it, now)
            .with("since", it.touched_at.age(now))
            .with_any("run", run.as_ref())
            .escaped(&line(&it.statement, MAX_GLANCE_CHARS)),
        Attention::Silence { claim, statement, by, left } => Tag::open("silence")
            .with("claim", claim)
            .with("by", by)
            .with("agreed_in", left)
            .with("object", "challenge with claim_id and reason")
            .text(statement),
        Attention::Lease { task, title, left } => {
            let lease = Tag::open("lease").with("task", task).with("left", left);
            lease.escaped(&line(title, MAX_GLANCE_CHARS))
        }
        Attention::Fault { id, what } => {
            Tag::open("fault").with("id", id).escaped(&line(what, MAX_GLANCE_CHARS))
        }
    })
}

impl Attention {
    fn id(&self) -> &str {
        match self {
            Self::Question(asked) => &asked.claim,
            Self::Asked { .. } => "",
            Self::Contradiction(both) => &both.id,
            Self::Contested(claim) | Self::PendingProof { claim, .. } => &claim.id,
            Self::Silence { claim: id, .. } | Self::Lease { task: id, .. } | Self::Fault { id, .. } => id,
        }
    }

    fn glance(&self) -> Glance<'_> {
        match self {
            // The statements appear in elements of their own, with their owners.
            Self::Contradiction(both) => {
                let [left, right] = &both.sides;
                Glance::of_act(format!("a contradiction ({}) of {} and {}", both.kind, left.by, right.by))
            }
            Self::Question(asked) => Glance::of_act(format!("a question of {}", asked.by)),
            Self::Asked { claims } => Glance::of_act(format!("{} questions", claims.len())),
            Self::Silence { by, .. } => Glance::of_act(format!("a claim of {by} that silence will confirm")),
            Self::Contested(claim) | Self::PendingProof { claim, .. } => Glance::of_claim_in_need(claim),
            Self::Lease { title: text, .. } | Self::Fault { what: text, .. } => Glance::of_act(text),
        }
    }
}

/// A question with the whole statement. A position on a part of it would be worthless.
pub(super) fn question(asked: &Question, now: Timestamp) -> String {
    let answer = if asked.is_request {
        format!("a position, or a claim that names {}", asked.claim)
    } else {
        "support, challenge or abstain".to_owned()
    };
    Tag::open("question")
        .with("claim", &asked.claim)
        .with("by", &asked.by)
        .with_any("instead_of", asked.instead_of.as_ref())
        .with("age", asked.asked_at.age(now))
        .with_any("silence_in", asked.silence_in)
        .with("answer", answer)
        .text(&asked.statement)
}

/// A contradiction with at most `max_chars` characters for each side. A challenged claim needs only a glance beside the
/// reason of the challenge.
pub(super) fn contradiction_in(both: &Contradiction, max_chars: usize, now: Timestamp) -> String {
    let [left, right] = &both.sides;
    let is_challenge = both.sides.iter().any(|side| side.challenge.is_some());
    let said = |name: &str, side: &Side| {
        let holder = line(&side.by, MAX_NAME_CHARS);
        let (by, held) = match &side.owner {
            Some(owner) if *owner != side.by => (line(owner, MAX_NAME_CHARS), format!(", held by {holder}")),
            _ => (holder.clone(), String::new()),
        };
        // The bar separates the sides, so it must not appear in their texts.
        let glance = |text: &str, max_chars: usize| {
            let is_long = |word: &str| xml::chars(&line(word, usize::MAX)) > MAX_WORD_CHARS;
            let max_chars = if text.split_whitespace().any(is_long) { MAX_WORD_CHARS } else { max_chars };
            line(&text.replace('|', "¦"), max_chars)
        };
        match (&side.said, &side.challenge) {
            (_, Some(reason)) => format!("{name} ({holder}, challenge) {}", glance(reason, max_chars)),
            (Some((status, at, text)), None) => {
                let withdrawn = side.withdrawn.as_ref().map(|by| format!(", withdrawn in {by}"));
                let held = withdrawn.unwrap_or_default() + &held;
                let max_chars = if is_challenge { max_chars.min(MAX_GLANCE_CHARS) } else { max_chars };
                format!("{name} ({by}, {status}, {}{held}) {}", at.age(now), glance(text, max_chars))
            }
            (None, None) => format!("{name} ({by}) erased"),
        }
    };
    // A challenge is about one claim.
    let tag = Tag::open("contradiction").with("id", &both.id);
    let tag = if left.claim == right.claim {
        tag.with("kind", "challenge").with("claim", &left.claim)
    } else {
        tag.with("kind", both.kind).with("a", &left.claim).with("b", &right.claim)
    };
    tag.with("age", both.detected_at.age(now))
        .with_any("move", (!both.moves.is_empty()).then(|| both.moves.join(" or ")))
        .escaped(&format!("{} | {}", said("A", left), said("B", right)))
}

pub(super) fn task(task: &Task) -> String {
    Tag::open("task")
        .with("id", &task.id)
        .with_any("phase", task.phase.as_ref())
        .with("status", &task.status)
        .with_any("lease", task.lease_left)
        .with_any("files", Some(task.files).filter(|files| *files > 0))
        .with_any("by", task.by.as_ref())
        .with_any("worktree", task.worktree.as_ref())
        .with_any("for", task.meant_for.as_ref())
        .escaped(&line(&task.title, MAX_WARNING_CHARS))
}

/// A task that was done: what it was about, and what came of it.
pub(super) fn done_task(task: &Task) -> String {
    let most = if task.result.is_some() { MAX_GLANCE_CHARS - MAX_GLANCE_CHARS / 3 } else { MAX_GLANCE_CHARS };
    Tag::open("task")
        .with("id", &task.id)
        .with_any("by", task.by.as_ref())
        .with_any("result", task.result.as_ref().map(|result| short(result, MAX_RESULT_CHARS)))
        .escaped(&line(&task.title, most))
}

pub(super) fn peer_glance(peer: &Peer) -> Glance<'_> {
    Glance::of_act(&peer.wants)
}

pub(super) fn peer(peer: &Peer, now: Timestamp) -> String {
    let age = peer.last_seen.map(|at| at.age(now));
    let is_silent = age.is_some_and(Peer::is_silent);
    let tag = Tag::open("peer")
        .with("name", &peer.agent)
        .with_any("client", peer.client.as_ref())
        .with_any("worktree", peer.worktree.as_ref())
        .with_any("branch", peer.branch.as_ref().filter(|branch| peer.worktree.as_ref() != Some(branch)))
        .with_any("seen", age.filter(|_| !is_silent))
        .with_any("silent", age.filter(|_| is_silent))
        .with_any("last_edit", peer.last_edit.as_ref().filter(|_| !is_silent));
    if peer.wants.is_empty() { tag.empty() } else { tag.escaped(&line(&peer.wants, MAX_WANTS_CHARS)) }
}

pub(super) fn lock(lock: &Lock) -> String {
    Tag::open("lock")
        .with("scope", &lock.scope)
        .with("by", &lock.by)
        .with_any("worktree", lock.worktree.as_ref())
        .with("left", lock.left)
        .escaped(&line(&lock.purpose, MAX_WARNING_CHARS))
}

pub(super) fn anchors(anchors: &[Anchor], now: Timestamp) -> Section<'_> {
    Section::of(
        "anchors",
        anchors.iter().collect(),
        |anchor| &anchor.key,
        |anchor| Glance::of_act(&anchor.value),
        move |anchor| {
            Tag::open("anchor")
                .with("key", &anchor.key)
                .with_any("space", anchor.is_users.then_some("user"))
                .with("age", anchor.set_at.age(now))
                .escaped(&line(&anchor.value, MAX_ANCHOR_CHARS))
        },
    )
}

/// The notice for the author of a challenge that a run answered.
pub(super) const ANSWERED: &str = "over: the run answered it; challenge again if you disagree";

/// The element of a claim: its author, age and confidence beside the statement. The grade appears if it is above
/// asserted.
pub(super) fn claim(name: &'static str, claim: &Claim, now: Timestamp) -> Tag {
    let tag = Tag::open(name).with("id", &claim.id);
    trusted(tag.with_any("type", kind(claim)).with("status", claim.status), claim, now)
}

/// The type of a claim. Most claims are facts, so that type is left out to save room.
pub(super) fn kind(claim: &Claim) -> Option<ClaimType> {
    Some(claim.claim_type).filter(|kind| *kind != ClaimType::Fact)
}

/// Adds the basis of the confirmation, unless other agents agreed, and the confidence.
pub(super) fn trusted(tag: Tag, claim: &Claim, now: Timestamp) -> Tag {
    tag.with_any("basis", basis(claim))
        .with_any("proved_by", claim.proved_by.as_deref())
        .with_any("your_challenge", claim.answers_reader.then_some(ANSWERED))
        .with_any("unstable", claim.unstable.then_some("yes"))
        .with_any("agreed", claim.agreed_before_change.then_some("before the change"))
        .with_any("later_edits", claim.edits_unseen.then_some("unseen"))
        .with_pair(claim.against.as_ref())
        .with_any("contradicts", claim.contradicts.as_deref())
        .with_any("grade", Some(claim.grade).filter(|grade| *grade != Grade::Asserted))
        .with_any("changed_by", claim.changed_by.as_deref())
        .with_any("names", claim.names_over.as_deref())
        .with_any("evidence", evidence(claim))
        .with_any("changed", claim.changed.as_deref())
        .with_any("by_now", claim.by_now.as_deref())
        .with_any("confidence", confidence(claim))
        .with("scope", claim.scopes.join(" "))
        .with("by", &claim.by)
        .with_any("imported", claim.imported.then_some("yes"))
        .with("age", claim.created_at.age(now))
}

/// What its evidence is worth, if that is little.
pub(super) fn evidence(claim: &Claim) -> Option<&'static str> {
    match (claim.shows_nothing, claim.evidence_stale) {
        (true, _) => Some("shows nothing"),
        (false, true) => Some("stale"),
        (false, false) => None,
    }
}

/// The confidence, if it is low.
pub(super) fn confidence(claim: &Claim) -> Option<String> {
    (claim.confidence < TRUSTED).then(|| format!("{:.2}", claim.confidence))
}

/// The basis, except the usual one that other agents agreed.
pub(super) fn basis(claim: &Claim) -> Option<Basis> {
    claim.basis.filter(|basis| *basis != Basis::Agreed)
}

pub(super) fn dead_ends<'a>(entries: Vec<&'a DeadEnd>, now: Timestamp) -> Section<'a> {
    Section::of(
        "anti_patterns",
        entries,
        |dead_end| &dead_end.claim.id,
        |dead_end| dead_end.claim.glance(),
        move |dead_end| avoid(dead_end, now),
    )
    .called("dead ends")
}

/// Dead ends of which each takes a line.
pub(super) fn dead_end_lines<'a>(entries: Vec<&'a DeadEnd>, max_chars: usize) -> Section<'a> {
    Section::of(
        "anti_patterns",
        entries,
        |dead_end| &dead_end.claim.id,
        |dead_end| dead_end.claim.glance(),
        move |dead_end| dead_end_line(dead_end, dead_end_chars(dead_end, max_chars)),
    )
    .called("dead ends")
}

/// Maximum length of a dead end's statement beside claims of `max_chars` characters. What is mended warns of nothing, so a
/// reader needs to know what it was and no more.
pub(super) fn dead_end_chars(dead_end: &DeadEnd, max_chars: usize) -> usize {
    let most = max_chars.min(MAX_WARNING_CHARS);
    if dead_end.mended.is_some() { most / 2 } else { most }
}

/// The trigger of a dead end, unless its scopes say the same.
fn trigger_beside<'t>(claim: &Claim, trigger: &'t Option<String>) -> Option<&'t String> {
    trigger.as_ref().filter(|trigger| !claim.scopes.contains(trigger))
}

/// What failed and why, and what to do instead, in at most some 400 characters.
fn dead_end_line(DeadEnd { claim, trigger, because, mended, .. }: &DeadEnd, max_chars: usize) -> String {
    let statement = &claim.statement;
    let because = because.as_ref().filter(|_| mended.is_none());
    let instead = says_instead(statement).map(|instead| short(instead, max_chars / 2)).unwrap_or_default();
    let mut text = if xml::chars(statement) <= max_chars || instead.is_empty() {
        cut(statement, max_chars)
    } else {
        // What replaces it often comes last.
        let what = cut(statement, max_chars.saturating_sub(xml::chars(&instead)).max(max_chars / 2));
        if what.contains(&instead) { what } else { format!("{} {instead}", what.trim_end()) }
    };
    if let Some(because) = because {
        text.push_str(&format!(" because {}", short(because, max_chars / 2)));
    }
    text.push_str(&replaced(claim, max_chars / 2));
    Tag::open("avoid")
        .with("claim", &claim.id)
        .with("scope", claim.scopes.join(" "))
        .with_any("trigger", trigger_beside(claim, trigger))
        .with_any("status", Some(claim.status).filter(|status| *status != Status::Proposed))
        .with_any("state", state(mended.as_ref()))
        .with("by", &claim.by)
        .text(&text)
}

/// The state of a dead end that something says is mended.
fn state(mended: Option<&String>) -> Option<String> {
    mended.map(|by| format!("mended: {by}"))
}

/// Whether [`avoid`] shows the whole statement.
pub(super) fn is_whole_warning(claim: &Claim) -> bool {
    claim.statement.chars().count() <= MAX_WARNING_CHARS
}

pub(super) fn avoid(DeadEnd { claim, trigger, because, mended, .. }: &DeadEnd, now: Timestamp) -> String {
    let mut text = line(&claim.statement, MAX_WARNING_CHARS);
    if let Some(because) = because {
        text = format!("{text} because {}", line(because, MAX_WARNING_CHARS));
    }
    text.push_str(&line(&beside(claim), MAX_WARNING_CHARS));
    let is_certain = claim.basis == Some(Basis::Proved) || claim.agreed_before_change;
    Tag::open("avoid")
        .with("claim", &claim.id)
        .with("scope", claim.scopes.join(" "))
        .with_any("trigger", trigger_beside(claim, trigger))
        .with("status", claim.status)
        .with_any("basis", basis(claim))
        .with_any("state", state(mended.as_ref()))
        .with_any("doubt", claim.doubt.as_deref().filter(|_| is_certain))
        .with_any("by_now", claim.by_now.as_deref())
        .with_any("confidence", confidence(claim))
        .with("by", &claim.by)
        .with_any("imported", claim.imported.then_some("yes"))
        .with("age", claim.created_at.age(now))
        .escaped(&text)
}

/// Claims that are no longer true, each on one line.
pub(super) fn over(entries: Vec<&Over>) -> Section<'_> {
    let element = |over: &Over| {
        let why = over.why.as_ref().map(|why| format!("; over because {}", short(why, MAX_OVER_CHARS)));
        let was = format!("was: \"{}\"{}", short(&over.was, MAX_OVER_CHARS), why.unwrap_or_default());
        let tag = Tag::open("over").with("id", &over.id).with("by", &over.by);
        tag.with_any("now", over.now.as_ref()).text(&was)
    };
    let glance = |over: &Over| Glance::of_act(format!("no longer true: {}", over.was));
    let section = Section::of("no_longer_true", entries, |over| &over.id, glance, element);
    section.called("claims that are over").share(8).place(7)
}

/// The names of the claims that are left out because the reader's session has them. Empty without such claims.
pub(super) fn already_told(already: &Already) -> String {
    let Already { unchanged, files_changed, changed, own } = already;
    let named = |ids: &[String], separator: &str| {
        let more = ids.len().saturating_sub(MAX_TOLD);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        ids.iter().take(MAX_TOLD).map(String::as_str).collect::<Vec<_>>().join(separator) + &more
    };
    let mut parts = Vec::new();
    if !unchanged.is_empty() {
        parts.push(format!("already told: {} (unchanged)", named(unchanged, " ")));
    }
    if !changed.is_empty() {
        parts.push(format!("known, now: {}", named(changed, ", ")));
    }
    if !files_changed.is_empty() {
        parts.push(format!("files of these changed: {}", named(files_changed, " ")));
    }
    if !own.is_empty() {
        parts.push(format!("yours: {}", named(own, ", ")));
    }
    if parts.is_empty() {
        return String::new();
    }
    Tag::open("told").text(&format!("{}; `{ALL}` prints them", parts.join("; ")))
}
