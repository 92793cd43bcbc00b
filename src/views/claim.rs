//! One claim with all its facts.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use super::asking::Asking;
use super::contradictions::{held_by, owner_of};
use super::digest::{DONE_TASKS, mended_dead_ends};
use super::markdown::{
    LIST_FIELD_CHARS, MAX_RAN_CHARS, age, at_now, counted, graded, inline, joined, listed, name, quoted,
    replaced, section, standing,
};
use super::{Answer, ViewError, awaited, claims, ran, to_json, versions};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, ContradictionKind, Grade, Relation, Status, Tier};
use crate::domain::decide::HELD;
use crate::domain::event::{CommandRan, Event, ScopesLocked, ScopesReleased};
use crate::domain::experiment::{Prediction, RunState};
use crate::domain::ids::ClaimId;
use crate::domain::scope::Scope;
use crate::domain::time::{Span, Timestamp};
use crate::reads::Reads;
use crate::session_news::SessionNews;
use crate::store::{
    ClaimFilter, ClaimSummary, ClaimView, Contradiction, DecisionView, Evidence, PlaceNow, Reader,
    StatusChange, StoreError,
};

/// Number of shown digits of a hash: enough to tell two files apart. JSON has all digits.
const HASH_CHARS: usize = 12;
/// Maximum length of the reason of a challenge of an earlier claim, in characters. That claim shows the rest.
const BEFORE_CHARS: usize = 240;
/// Maximum length of the change of an amendment, in characters: the new text stands above it.
const CHANGE_CHARS: usize = 160;
/// The end of a claim is shown when it is so near, in milliseconds: a day.
const ENDS_SOON_MS: i64 = 24 * 3_600_000;

/// The claim. Facts from the ledger are missing if the ledger cannot be read.
pub(super) fn answer(asking: &mut Asking<'_>, id: ClaimId) -> Result<Answer, ViewError> {
    let known = asking.reads.ask(asking.now, |store| store.claim(id));
    let known = known.ok().and_then(|(claim, _)| claim.flatten());
    let ran = known.as_ref().and_then(|claim| ran::cited(asking.reads, claim).ok()).unwrap_or_default();
    let still_meant = known.as_ref().and_then(|claim| versions::still_meant(asking.reads, claim).ok());
    let state_home = asking.reads.state_home().map(ToOwned::to_owned);
    asking.of_store(|asked| {
        let Some(mut claim) = asked.store.claim(id)? else {
            return Err(ViewError::no_claim_but(asked.store, id)?);
        };
        let is_decision = claim.summary.claim_type == ClaimType::Decision;
        if let Some(home) = state_home.as_deref().filter(|_| is_decision && asked.files().is_some()) {
            claim.told = awaited::told(asked, home, &claim.summary)?;
        }
        if let Some(workspace) = asked.files() {
            versions::compare(workspace, asked.store, &mut claim)?;
        }
        claim.still_meant = still_meant.clone().flatten();
        claim.proof_ran = proof_ran(asked.store, asked.workspace.root(), &claim.summary)?;
        if claim.summary.owner == AgentId::system().as_str() {
            claim.failures = asked.store.failures_behind(id)?;
        }
        claim.said_mended = said_mended(asked.store, &claim)?;
        asked.store.mark_at_now(std::iter::once(&mut claim.summary))?;
        asked.store.mark_changed_values(std::iter::once(&mut claim.summary))?;
        asked.store.mark_names_over(std::iter::once(&mut claim.summary))?;
        let json = || {
            let mut json = claims::with_trust(to_json(&claim), &claim.summary, asked.now);
            if !ran.is_empty() {
                json["commands"] = ran.iter().map(|(event, ran)| (event.clone(), to_json(ran))).collect();
            }
            json
        };
        Ok(asked
            .answer(json, || text(&claim, &ran, asked.now))
            .opening(vec![id.to_string(), SessionNews::whole(&id.to_string())]))
    })
}

/// What says that a dead end in force is mended.
fn said_mended(store: &Reader, claim: &ClaimView) -> Result<Option<String>, StoreError> {
    let summary = &claim.summary;
    if summary.claim_type != ClaimType::Negative || summary.status == Status::Deprecated {
        return Ok(None);
    }
    let mut later = Vec::new();
    for id in &claim.mentioned_by {
        let wanted = ClaimFilter { id: Some(*id), in_force: true, limit: 1, ..ClaimFilter::default() };
        later.extend(store.claims(&wanted)?.claims);
    }
    let done = store.done_last(DONE_TASKS)?;
    Ok(mended_dead_ends(store, std::slice::from_ref(summary), &later, &done)?.remove(&summary.id))
}

/// Whether an event changes the page of the claim: the claim itself, or a lock on one of its scopes.
pub(super) fn touched_by(reads: &mut Reads, id: ClaimId, event: &Event) -> Result<bool, ViewError> {
    if event.claims().contains(&id) {
        return Ok(true);
    }
    let (Event::ScopesLocked(ScopesLocked { scopes, .. })
    | Event::ScopesReleased(ScopesReleased { scopes, .. })) = event
    else {
        return Ok(false);
    };
    let Some(store) = reads.store()? else { return Ok(true) };
    let about = store.claim(id)?.map(|claim| claim.summary.scopes).unwrap_or_default();
    let about: Vec<Scope> = about.iter().filter_map(|scope| scope.parse().ok()).collect();
    Ok(scopes.iter().any(|scope| scope.is_at(&about)))
}

pub(super) fn text(claim: &ClaimView, ran: &BTreeMap<String, CommandRan>, now: Timestamp) -> String {
    let summary = &claim.summary;
    let amended = claim.amended.as_ref().zip(claim.successors.last());
    let amended = amended.map(|(change, current)| {
        let change = inline(change, 4_000);
        let stands = match claim.current_status {
            Some(Status::Confirmed) | None => "holds now".to_owned(),
            Some(other) => format!("is {}", other.as_str().replace('_', " ")),
        };
        format!("Amended in `{current}`, which {stands} (`hivemind://claims/{current}`): {change}\n\n")
    });
    let mut text = format!(
        "# {} {} `{}`\n\n{}{}\n",
        standing(summary),
        summary.claim_type,
        summary.id,
        amended.unwrap_or_default(),
        quoted(&summary.statement)
    );
    let _ = writeln!(text, "- {}", origin(claim, now));
    let mut fact = |name: &str, value: &str| {
        let _ = writeln!(text, "- {name}: {value}");
    };
    for rejected in &claim.not_chosen {
        fact(&format!("not chosen by `{}`", rejected.decision), &inline(&rejected.because, 2_000));
    }
    if summary.imported {
        fact("imported", "out of a file, which alone says who wrote it and when");
    }
    if let Some(value) = &claim.proposes_to_supersede {
        fact("proposes to supersede", &value.to_string());
    }
    if let Some(seq) = claim.affirmed_seq {
        let of_challenge = claim.still_meant.as_ref().is_some_and(|still| still.is_challenge);
        let said = claim.still_meant.iter().map(|still| format!("said by {}, ", name(&still.by)));
        let what = if of_challenge { "challenge still meant" } else { "still meant" };
        fact(what, &format!("{}as of event {seq}", said.collect::<String>()));
    }
    if let Some(later) = summary.changed_by {
        fact("a value in it", &format!("changed by `{later}`"));
    }
    if let Some(over) = summary.names_over {
        fact("it names", &over.to_string());
    }
    if let Some(changed) = versions::changed(&summary.changed_since) {
        fact("changed since", &changed);
    }
    for pair in &claim.changes_with {
        fact("history", &inline(pair, 400));
    }
    if let Some(at_it) = at_now(summary) {
        fact("now", &at_it);
    }
    // A run about it can tell nothing of a change there.
    if matches!(summary.status, Status::Contested | Status::PendingProof) {
        for (scope, why) in &claim.unversioned {
            fact("without a version", &format!("`{}` {why}", inline(scope, 200)));
        }
    }
    if let Some(place) = &claim.proof_ran {
        fact("proof", place);
    }
    if let Some(caveat) = versions::not_compared(claim) {
        fact("proof", &caveat);
    }
    let is_open = |agent: &&String| claim.answered.iter().all(|answered| answered.agent != **agent);
    let asks: Vec<&str> = claim.asks.iter().filter(is_open).map(String::as_str).collect();
    if !asks.is_empty() {
        fact("asks", &inline(&asks.join(", "), 400));
    }
    // An answer by a position stands below, among the positions.
    for (agent, by) in claim.answered.iter().filter_map(|answered| Some((&answered.agent, answered.by?))) {
        fact("asked", &format!("{}, answered by `{by}`", inline(agent, 40)));
    }
    if let Some(told) = &claim.told {
        fact("told", told);
    }
    if let Some(silence) = silence(claim, now) {
        fact("silence", &silence);
    }
    let amends = claim.decision.as_ref().and_then(|decision| decision.summary.amends.as_ref());
    if let Some(amended) = amends {
        let (id, change) = (amended.claim_id, listed(&amended.change, CHANGE_CHARS));
        let is_cut = change.ends_with('…');
        let old = if is_cut { format!("; its text: `hivemind://claims/{id}`") } else { String::new() };
        fact("amends", &format!("`{id}`: {change}{old}"));
    }
    if claim.supersedes.len() > usize::from(amends.is_some()) {
        fact("supersedes", &joined(&claim.supersedes, ", "));
    }
    if summary.status != Status::Deprecated && !claim.supported_before.is_empty() {
        let mut by: Vec<String> = claim.supported_before.iter().map(|before| name(&before.agent)).collect();
        by.dedup();
        let mut of: Vec<ClaimId> = claim.supported_before.iter().map(|before| before.claim_id).collect();
        of.sort_unstable();
        of.dedup();
        let (by, of) = (by.join(", "), joined(&of, ", "));
        fact(
            "agreed before",
            &format!("{by} supported {of} as it stood, and took no position on this change"),
        );
    }
    for before in &claim.challenged_before {
        let reason = before.reason.as_deref().unwrap_or("no reason given");
        let told = format!(
            "{} challenged `{}`: {}",
            name(&before.agent),
            before.claim_id,
            inline(reason, BEFORE_CHARS)
        );
        fact("not answered", &told);
    }
    if let Some(by) = &claim.said_mended {
        fact("mended", &format!("so says `{by}`"));
    }
    for (what, others) in [("mentions", &claim.mentions), ("mentioned by", &claim.mentioned_by)] {
        if !others.is_empty() {
            fact(what, &joined(others, ", "));
        }
    }
    if let Some(ends) = ends_soon(claim, now) {
        fact("expires", &ends);
    }
    if !claim.successors.is_empty() {
        let is_over = claim.current_status == Some(Status::Deprecated);
        let withdrawn = if is_over { ", which is out of force too: nothing stands in its place" } else { "" };
        fact(
            &format!("{} by", replaced(summary)),
            &format!("{}{withdrawn}", joined(&claim.successors, " -> ")),
        );
    }
    if let Some(trigger) = &claim.trigger {
        let json = serde_json::to_string(trigger).unwrap_or_default();
        fact("warns when", &inline(&json, 1_000));
    }
    if let Some(decision) = &claim.decision {
        decided(&mut text, decision);
    }
    section(
        &mut text,
        "Positions",
        claim.positions.iter().map(|held| {
            let reason = held.reason.as_deref().map(|reason| format!(": {}", inline(reason, 2_000)));
            let evidence = held.evidence_ref.as_deref().map(|id| format!(" (event `{id}`)"));
            format!(
                "{}{}{}",
                versions::position(held),
                reason.unwrap_or_default(),
                evidence.unwrap_or_default()
            )
        }),
    );
    let left_out = claim.former_positions_left_out;
    let more = (left_out > 0).then(|| format!("{left_out} more before: `hm log --type position.taken`"));
    section(
        &mut text,
        "Former positions",
        more.into_iter().chain(claim.former_positions.iter().map(|held| versions::former(held, 2_000))),
    );
    section(
        &mut text,
        "Evidence",
        claim
            .evidence_items
            .iter()
            .filter(|item| !is_said_twice(claim, item))
            .map(|item| {
                let again = claim
                    .evidence_items
                    .iter()
                    .find(|other| other.evidence_ref == item.evidence_ref && is_said_twice(claim, other));
                let notes = [Some(item), again].into_iter().flatten().filter_map(|item| item.note.as_deref());
                let notes: Vec<String> = notes.map(|note| inline(note, 2_000)).collect();
                let note = (!notes.is_empty()).then(|| format!(": {}", notes.join("; ")));
                let below = ran.get(&item.evidence_ref).map(ran::below).unwrap_or_default();
                let below: String = below.iter().map(|line| format!("\n    {line}")).collect();
                format!(
                    "event `{}`{} {} ({}{}{}, by {}){}{}{below}",
                    item.evidence_ref,
                    item.place.as_ref().map(place).unwrap_or_default(),
                    item.relation,
                    item.grade,
                    if item.stale_since.is_some() { ", stale: its files were edited since" } else { "" },
                    weight(item),
                    name(&item.added_by),
                    behind(item),
                    note.unwrap_or_default()
                )
            })
            .chain(both_predicted(claim)),
    );
    section(
        &mut text,
        "Retracted evidence",
        claim.retracted.iter().map(|item| {
            format!(
                "event `{}` {} (by {}), taken back by {} {} ago: {}",
                item.evidence_ref,
                item.relation,
                name(&item.added_by),
                name(&item.retracted_by),
                age(item.at, now),
                inline(&item.reason, 2_000)
            )
        }),
    );
    section(
        &mut text,
        "Contradictions",
        claim.contradictions.iter().filter(|found| found.tier == Tier::Strong && !is_position(found)).map(
            |found| {
                let other = if found.left.claim_id == summary.id { &found.right } else { &found.left };
                let other = if other.claim_id == summary.id {
                    name(&other.agent)
                } else {
                    let statement = other.statement.as_deref().unwrap_or("(erased)");
                    format!(
                        "`{}` {} {}",
                        other.claim_id,
                        format_args!("of {}{}", owner_of(other), held_by(other)),
                        inline(statement, LIST_FIELD_CHARS)
                    )
                };
                let ended = found.cause.map_or_else(|| "open".to_owned(), |cause| format!("over: {cause}"));
                format!("{} ({ended}): {other}", found.kind)
            },
        ),
    );
    let weak = claim.contradictions.iter().filter(|found| found.tier == Tier::Weak).count();
    if weak > 0 {
        let all = format!("`hivemind://claims/{}?format=json`", summary.id);
        let _ = writeln!(text, "\nLooks a little like the opposite of {weak} more: {all} names them.");
    }
    // Its creation is told above, and a history of positions that are shown says nothing new.
    let changes = || claim.history.iter().filter(|change| change.from.is_some());
    let says_more = changes().any(|change| !is_of_position(claim, change));
    section(
        &mut text,
        "History",
        changes().filter(|_| says_more).map(|change| {
            let reason = change.reason.as_deref().map(|reason| format!(": {}", inline(reason, 2_000)));
            let by = if change.by_run { "a run".to_owned() } else { name(&change.by) };
            format!(
                "#{} {} by {by} {} ago{}",
                change.seq,
                change.to,
                age(change.at, now),
                reason.unwrap_or_default()
            )
        }),
    );
    text
}

/// The end of a claim by its time to live, if that is at most a day away.
fn ends_soon(claim: &ClaimView, now: Timestamp) -> Option<String> {
    let left = claim.summary.created_at + i64::from(claim.ttl_hours?) * 3_600_000 - now.ms();
    let is_over = claim.summary.status == Status::Deprecated;
    (!is_over && (0..=ENDS_SOON_MS).contains(&left)).then(|| format!("in {}", Span(left)))
}

/// The weight of a piece of evidence, if it is not the usual one.
fn weight(item: &Evidence) -> String {
    let weight = format!("{:.2}", item.weight);
    if weight == "1.00" { String::new() } else { format!(", weight {weight}") }
}

/// Whether a contradiction is a challenge that the positions show.
fn is_position(found: &Contradiction) -> bool {
    found.kind == ContradictionKind::Position
        && found.cause.is_none()
        && found.left.claim_id == found.right.claim_id
}

/// Whether a new status follows from a position that is shown and still held.
fn is_of_position(claim: &ClaimView, change: &StatusChange) -> bool {
    let Some(reason) = &change.reason else { return false };
    claim.positions.iter().any(|held| {
        held.agent == change.by
            && matches!(
                (change.to.as_str(), held.position.as_str()),
                ("confirmed", "support") | ("contested", "challenge")
            )
            && (reason.starts_with("supported by ") || reason.starts_with("challenged by "))
    })
}

/// Where the proof of a claim ran, if a reader at `root` may have other files.
fn proof_ran(store: &Reader, root: &Path, claim: &ClaimSummary) -> Result<Option<String>, StoreError> {
    let Some(proof) = &claim.proof else { return Ok(None) };
    let Some(run) = store.experiment(proof.run_id)? else { return Ok(None) };
    let other = run.cwd.as_deref().filter(|cwd| !Path::new(cwd).starts_with(root));
    let is_dirty = run.outcome.and_then(|outcome| outcome.git).is_some_and(|git| git.dirty);
    let changes = if is_dirty { " with uncommitted changes" } else { "" };
    Ok(match (other, is_dirty) {
        (None, false) => None,
        (None, true) => Some(format!("run `{}` ran in a work tree with uncommitted changes", run.run_id)),
        (Some(cwd), _) => {
            Some(format!("run `{}` ran in another work tree{changes}: {}", run.run_id, inline(cwd, 200)))
        }
    })
}

/// The origin of a claim: its owner, its age, its places and its evidence. The confidence follows if it is below 1.
fn origin(of: &ClaimView, now: Timestamp) -> String {
    let claim = &of.summary;
    let (now_held, owner_said) = (claim.effective_confidence(now), claim.confidence);
    let [held, said] = [now_held, owner_said].map(|share| format!("{share:.2}"));
    let confidence = match (held == said, said == "1.00") {
        (true, true) => String::new(),
        (true, false) => format!("; confidence {said}"),
        (false, _) => format!("; confidence {held} (its owner said {said})"),
    };
    let grade = match (claim.evidence, claim.grade) {
        (0, Grade::Asserted) if !of.failures.is_empty() => {
            let failures: Vec<String> = of.failures.iter().map(|seq| format!("#{seq}")).collect();
            format!("the failures behind it: {}", failures.join(" "))
        }
        (0, Grade::Asserted) => "no evidence".to_owned(),
        _ => graded(claim),
    };
    let (owner, age) = (name(&claim.owner), age(claim.created_at, now));
    let scopes = inline(&claim.scopes.join(", "), 2_000);
    format!("by {owner} {age} ago; about {scopes}; {grade}{confidence}")
}

/// The effect of silence on a claim, or the reason why it had none.
fn silence(claim: &ClaimView, now: Timestamp) -> Option<String> {
    if claim.summary.status != Status::Proposed {
        return None;
    }
    let Some(until) = claim.objection_until else {
        let held = claim.history.iter().rev().find_map(|change| change.reason.as_deref()?.strip_prefix(HELD));
        return held
            .map(|why| format!("held: {}; ask again with a new claim, or get a support", inline(why, 400)));
    };
    let until = Timestamp::from_ms(until);
    let is_open = |found: &&Contradiction| found.tier == Tier::Strong && found.cause.is_none();
    let open = claim.contradictions.iter().filter(is_open).count() as u64;
    let against = Relation::Contradicts.as_str();
    let contradicting = claim.evidence_items.iter().filter(|item| item.relation == against).count() as u64;
    let against: Vec<String> =
        [(open, "open contradiction"), (contradicting, "piece of contradicting evidence")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| counted(count, what).replace("evidences", "evidence"))
            .collect();
    Some(if against.is_empty() && until <= now {
        format!("nobody objected until {until}: the writer settles it at its next look, each minute")
    } else if against.is_empty() {
        format!("agreed at {until} unless it is challenged before")
    } else {
        format!("held while this stands against it: {}; over at {until}", against.join(", "))
    })
}

/// The run behind a piece of evidence: profile, hash of the profile's file, prediction and doubt. Empty without a run.
pub(super) fn behind(item: &Evidence) -> String {
    let Some(run) = &item.run_id else { return String::new() };
    let mut text = format!("; run `{run}`");
    if let Some(ran) = &item.ran {
        let _ = write!(text, " of profile {}", inline(ran, MAX_RAN_CHARS));
    }
    if let Some(sha256) = item.profile_sha256.as_deref().and_then(|sha256| sha256.get(..HASH_CHARS)) {
        let _ = write!(text, " (sha256 {sha256}…)");
    }
    let came_out = match item.outcome {
        Some(RunState::Succeeded) => "by a passing run",
        Some(RunState::Failed) => "by a failing run",
        _ => "",
    };
    match item.prediction {
        Some(_) if !item.was_queued_about_it => {
            let _ = write!(
                text,
                ", {came_out}{}that was not queued about this claim",
                if came_out.is_empty() { "" } else { " " }
            );
        }
        Some(prediction) if came_out.is_empty() => {
            let _ = write!(text, ", predicted: {prediction}");
        }
        Some(prediction) => {
            let _ = write!(text, ", {came_out} (predicted: {prediction})");
        }
        None => {}
    }
    if let Some(tally) = item.unstable {
        let _ = write!(text, ", unstable: {}", tally.on_content());
    }
    text
}

/// Whether an event only mentions the claim here and supports or contradicts it in another item.
fn is_said_twice(claim: &ClaimView, item: &Evidence) -> bool {
    let is_mention = |item: &Evidence| item.relation == Relation::Mentions.as_str();
    let mut others = claim.evidence_items.iter().filter(|other| other.evidence_ref == item.evidence_ref);
    is_mention(item) && others.any(|other| !is_mention(other))
}

/// The warning about a claim that one run supports as predicted and another one contradicts as predicted.
fn both_predicted(claim: &ClaimView) -> Option<String> {
    let predicted = |prediction| {
        let supports =
            claim.evidence_items.iter().filter(|item| item.relation == Relation::Supports.as_str());
        supports.filter(|item| item.prediction == Some(prediction)).count() > 0
    };
    (predicted(Prediction::Passes) && predicted(Prediction::Fails)).then(|| {
        "one run supports it because a test passed, and another because a test failed: compare what they ran"
            .to_owned()
    })
}

fn decided(text: &mut String, decision: &DecisionView) {
    let summary = &decision.summary;
    let facts = [
        ("target", &summary.target),
        ("context", &summary.context),
        ("rationale", &Some(summary.rationale.clone())),
        ("outcome", &summary.outcome),
    ];
    let lines = facts
        .iter()
        .filter_map(|(name, value)| Some(format!("{name}: {}", inline(value.as_deref()?, 2_000))));
    section(text, "Decision", lines);
    section(
        text,
        "Not chosen",
        decision.alternatives.iter().map(|alternative| {
            format!(
                "`{}` {}: {}",
                alternative.claim_id,
                inline(&alternative.statement, LIST_FIELD_CHARS),
                inline(&alternative.rejection_reason, 2_000)
            )
        }),
    );
    section(
        text,
        "Outcomes",
        decision.outcomes.iter().map(|outcome| {
            let notes = outcome.notes.as_deref().map(|notes| format!(": {}", inline(notes, 2_000)));
            format!(
                "{} {} by {}{}",
                Timestamp::from_ms(outcome.at),
                outcome.outcome,
                name(&outcome.by),
                notes.unwrap_or_default()
            )
        }),
    );
}

/// Cited lines, and what became of them.
fn place(place: &PlaceNow) -> String {
    let fate = place.fate.map(|fate| format!(", {fate}")).unwrap_or_default();
    format!(" at `{}`{fate}", inline(&place.lines, 200))
}
