//! Views as Markdown in short lines. Stored text is data: it stays on its line and reaches no terminal raw.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use super::{AgentView, EventView, StatusView, versions};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Grade, Relation, Status, Tier};
use crate::domain::clean;
use crate::domain::decide::HELD;
use crate::domain::event::{CommandRan, MemoryDenied};
use crate::domain::experiment::{Prediction, RunState};
use crate::domain::ids::ClaimId;
use crate::domain::time::Timestamp;
use crate::schedule::Outcome;
use crate::standing::Damage;
use crate::store::{
    ClaimPage, ClaimSummary, ClaimView, Contradiction, ContradictionPage, DecisionPage, DecisionView,
    Evidence, SearchPage, SideView, Target, by_now, with_basis,
};

/// A name is cut here; agents and clients have shorter ones.
const MAX_NAME_CHARS: usize = 40;
/// Characters of a profile with its arguments.
pub(super) const MAX_RAN_CHARS: usize = 120;
/// Digits of a hash that tell two files apart at a glance; JSON has all of them.
const HASH_CHARS: usize = 12;
/// A statement in a list is cut here; the claim's own page has all of it.
const LIST_STATEMENT_CHARS: usize = 240;
/// The statement of a decision in a list: agents work by its whole text, and there are few of them.
const DECISION_CHARS: usize = 700;
/// The fields of an event and the scopes of a claim in a list are cut here.
const LIST_FIELD_CHARS: usize = 160;

/// Stored text on one line of at most `max_chars`: nothing hidden, no line breaks, and no tag opens in it.
pub fn inline(text: &str, max_chars: usize) -> String {
    clean::untagged(&clean::cut_line(text, max_chars)).into_owned()
}

/// A statement as a list shows it: on one line, and cut between words.
pub fn listed(statement: &str, max_chars: usize) -> String {
    clean::untagged(&clean::cut_words(statement, max_chars)).into_owned()
}

/// A name on record: short, and as harmless as any stored text.
pub(super) fn name(name: &str) -> String {
    inline(name, MAX_NAME_CHARS)
}

/// Stored text as a quoted block, line by line.
fn quoted(text: &str) -> String {
    clean::cleaned(text).lines().fold(String::new(), |mut block, line| {
        let _ = writeln!(block, "> {}", inline(line, 2_000));
        block
    })
}

/// So many of something that has a regular plural.
pub(super) fn counted(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// How long ago something was, in its largest unit.
pub(super) fn age(at_ms: i64, now: Timestamp) -> String {
    Timestamp::from_ms(at_ms).age(now).to_string()
}

/// How a claim's evidence came about, and whether it still is about the files as they are.
fn graded(claim: &ClaimSummary) -> String {
    let stale = if claim.stale { ", stale" } else { "" };
    let changed = if claim.changed_since.is_empty() || !claim.is_finding() { "" } else { ", changed since" };
    format!("{}{stale}{changed}", claim.grade)
}

/// How its successor came to take its place.
pub(super) const fn replaced(claim: &ClaimSummary) -> &'static str {
    if claim.mended { "mended" } else { "superseded" }
}

/// Who is at a claim now.
pub(super) fn at_now(claim: &ClaimSummary) -> Option<String> {
    by_now(&claim.by_now).map(|at_it| inline(&at_it, 2 * LIST_FIELD_CHARS))
}

/// [`ClaimSummary::standing`] with the run that proved it.
fn standing(claim: &ClaimSummary) -> String {
    let Some(proof) = &claim.proof else { return claim.standing() };
    let by = format!("proved by {}: {})", proof.run_id, inline(&proof.ran, MAX_RAN_CHARS));
    claim.standing().replacen("proved)", &by, 1)
}

fn one_line(claim: &ClaimSummary, now: Timestamp) -> String {
    let by_now = at_now(claim).map_or_else(String::new, |at_it| format!(" (now: {at_it})"));
    format!(
        "- `{}` {} {} by {}{} (+{} -{}, {:.2} {}, {} ago) [{}] {}{by_now}\n",
        claim.id,
        standing(claim),
        claim.claim_type,
        name(&claim.owner),
        if claim.imported { ", imported" } else { "" },
        claim.supports,
        claim.challenges,
        claim.effective_confidence(now),
        graded(claim),
        age(claim.touched_at, now),
        inline(&claim.scopes.join(", "), LIST_FIELD_CHARS),
        listed(&claim.statement, LIST_STATEMENT_CHARS)
    )
}

pub(super) fn claims(page: &ClaimPage, what: &str, now: Timestamp) -> String {
    if page.claims.is_empty() {
        return format!("No {what} match.\n");
    }
    page.claims.iter().map(|claim| one_line(claim, now)).collect()
}

pub(super) fn search(found: &SearchPage, now: Timestamp) -> String {
    if found.hits.is_empty() {
        return "No claims match. Other words, fewer filters or mode=audit may find more.\n".to_owned();
    }
    let mut text = String::new();
    for hit in &found.hits {
        text.push_str(&one_line(&hit.claim, now));
        if !hit.found_through.is_empty() {
            let _ = writeln!(
                text,
                "  found through what it took the place of: `{}`",
                joined(&hit.found_through, "`, `")
            );
        }
        if let Some(successor) = &hit.claim.superseded_by {
            let _ = writeln!(text, "  {} by `{successor}`", replaced(&hit.claim));
        }
    }
    text
}

fn joined(ids: &[ClaimId], between: &str) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

pub(super) fn claim(claim: &ClaimView, ran: &BTreeMap<String, CommandRan>, now: Timestamp) -> String {
    let summary = &claim.summary;
    let mut text = format!(
        "# {} {} `{}`\n\n{}\n",
        standing(summary),
        summary.claim_type,
        summary.id,
        quoted(&summary.statement)
    );
    let _ = writeln!(text, "- {}", origin(summary, now));
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
        fact("still meant", &format!("as of event {seq}"));
    }
    if let Some(changed) = versions::changed(&summary.changed_since) {
        fact("changed since", &changed);
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
    if !claim.asks.is_empty() {
        fact("asks", &inline(&claim.asks.join(", "), 400));
    }
    if let Some(silence) = silence(claim) {
        fact("silence", &silence);
    }
    if !claim.supersedes.is_empty() {
        fact("supersedes", &joined(&claim.supersedes, ", "));
    }
    for (what, others) in [("mentions", &claim.mentions), ("mentioned by", &claim.mentioned_by)] {
        if !others.is_empty() {
            fact(what, &joined(others, ", "));
        }
    }
    if let Some(hours) = claim.ttl_hours {
        fact("expires", &format!("{hours} h after creation"));
    }
    if let Some(current) = claim.successors.last() {
        fact(&format!("{} by", replaced(summary)), &joined(&claim.successors, " -> "));
        fact("current truth", &format!("`hivemind://claims/{current}`"));
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
            .map(|item| {
                let note = item.note.as_deref().map(|note| format!(": {}", inline(note, 2_000)));
                let below = ran.get(&item.evidence_ref).map(super::ran::below).unwrap_or_default();
                let below: String = below.iter().map(|line| format!("\n    {line}")).collect();
                format!(
                    "event `{}` {} ({}{}, weight {:.2}, by {}){}{}{below}",
                    item.evidence_ref,
                    item.relation,
                    item.grade,
                    if item.stale_since.is_some() { ", stale: its files were edited since" } else { "" },
                    item.weight,
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
        claim.contradictions.iter().filter(|found| found.tier == Tier::Strong).map(|found| {
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
        }),
    );
    let weak = claim.contradictions.iter().filter(|found| found.tier == Tier::Weak).count();
    if weak > 0 {
        let _ = writeln!(text, "\nLooks a little like the opposite of {weak} more: ?format=json names them.");
    }
    section(
        &mut text,
        "History",
        // Its creation is told above.
        claim.history.iter().filter(|change| change.from.is_some()).map(|change| {
            let reason = change.reason.as_deref().map(|reason| format!(": {}", inline(reason, 2_000)));
            format!(
                "#{} {} by {} {} ago{}",
                change.seq,
                change.to,
                name(&change.by),
                age(change.at, now),
                reason.unwrap_or_default()
            )
        }),
    );
    text
}

/// Where a claim comes from: its owner, its age, what it is about and what it rests on. How far it is believed is told
/// where that is not all the way.
fn origin(claim: &ClaimSummary, now: Timestamp) -> String {
    let (now_held, owner_said) = (claim.effective_confidence(now), claim.confidence);
    let [held, said] = [now_held, owner_said].map(|share| format!("{share:.2}"));
    let confidence = match (held == said, said == "1.00") {
        (true, true) => String::new(),
        (true, false) => format!("; confidence {said}"),
        (false, _) => format!("; confidence {held} (its owner said {said})"),
    };
    let grade = match (claim.evidence, claim.grade) {
        (0, Grade::Asserted) => "no evidence".to_owned(),
        _ => graded(claim),
    };
    let (owner, age) = (name(&claim.owner), age(claim.created_at, now));
    let scopes = inline(&claim.scopes.join(", "), 2_000);
    format!("by {owner} {age} ago; about {scopes}; {grade}{confidence}")
}

/// What silence will make of a claim, or why it made nothing of it.
fn silence(claim: &ClaimView) -> Option<String> {
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
    Some(if against.is_empty() {
        format!("agreed at {until} unless it is challenged before")
    } else {
        format!("held while this stands against it: {}; over at {until}", against.join(", "))
    })
}

/// By which run evidence was judged, where it was: profile, the file's hash, prediction, and doubt.
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

/// What is said of a claim that is supported by a run that passed as predicted, and by one that failed as predicted.
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

pub(super) fn decisions(page: &DecisionPage, whole: bool, now: Timestamp) -> String {
    if page.decisions.is_empty() {
        return "No decisions match.\n".to_owned();
    }
    let mut text = String::new();
    for decision in &page.decisions {
        let target = decision.target.as_deref().map(|target| format!(", {}", inline(target, 80)));
        let outcome = decision.outcome.as_deref().map(|outcome| format!(", outcome: {outcome}"));
        let _ = writeln!(
            text,
            "- `{}` {} ({}, by {} {} ago{}{})",
            decision.claim_id,
            listed(&decision.statement, if whole { usize::MAX } else { DECISION_CHARS }),
            with_basis(&decision.status, decision.basis),
            name(&decision.decided_by),
            age(decision.created_at, now),
            target.unwrap_or_default(),
            outcome.unwrap_or_default()
        );
    }
    text
}

pub(super) fn contradictions(page: &ContradictionPage, now: Timestamp) -> String {
    let mut text = String::new();
    for found in &page.contradictions {
        let own = if found.is_own { ", both of one agent" } else { "" };
        let ended = found.cause.map(|cause| format!(", over: {cause}"));
        let _ = writeln!(
            text,
            "- {} {} found {} ago{own}{} `{}`",
            found.tier,
            found.kind,
            age(found.detected_at, now),
            ended.unwrap_or_default(),
            found.id
        );
        if found.cause.is_none() && found.tier == Tier::Strong {
            for (agent, settle) in super::attention::moves_of(found) {
                let settle = settle
                    .iter()
                    .map(|command| format!("`{}`", inline(command, super::attention::COMMAND_CHARS)));
                let _ = writeln!(
                    text,
                    "  - {}'s move: {}",
                    name(&agent),
                    settle.collect::<Vec<_>>().join(" or ")
                );
            }
        }
        for side in [&found.left, &found.right] {
            let status = side.status.map(|status| format!(" {}", with_basis(status.as_str(), side.basis)));
            let status = status.unwrap_or_default();
            let _ = writeln!(
                text,
                "  - `{}` {}{status}{} [{}] {}",
                side.claim_id,
                owner_of(side),
                held_by(side),
                inline(&side.scopes.join(", "), 80),
                match (&side.challenge, &side.statement) {
                    (Some(reason), _) =>
                        format!("challenged by {}: {}", name(&side.agent), inline(reason, LIST_FIELD_CHARS)),
                    (None, said) => inline(said.as_deref().unwrap_or("(erased)"), LIST_FIELD_CHARS),
                }
            );
        }
    }
    if page.contradictions.is_empty() {
        text.push_str("No contradictions match.\n");
    }
    // Rules of words find what they find.
    text.push_str(
        "\nFound by the form of the words: a pair that is not listed may contradict all the same.\n",
    );
    text
}

/// The agent that made the claim of a side.
fn owner_of(side: &SideView) -> String {
    name(side.owner.as_deref().unwrap_or(&side.agent))
}

/// The agent that holds the claim of another.
fn held_by(side: &SideView) -> String {
    match &side.owner {
        Some(owner) if *owner != side.agent && side.challenge.is_none() => {
            format!(", held by {}", name(&side.agent))
        }
        _ => String::new(),
    }
}

pub(super) fn targets(targets: &[Target]) -> String {
    if targets.is_empty() {
        return "No targets yet: a decision with a target names the first.\n".to_owned();
    }
    targets.iter().fold(String::new(), |mut text, target| {
        let aliases: Vec<String> = target.aliases.iter().map(|alias| inline(alias, 80)).collect();
        let also = if aliases.is_empty() { String::new() } else { format!(" (also {})", aliases.join(", ")) };
        let _ = writeln!(text, "- {}{also}", inline(&target.target, 80));
        text
    })
}

fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "\n## {title}\n");
    for line in lines {
        let _ = writeln!(text, "- {line}");
    }
}

pub(super) fn agents(agents: &[AgentView], now: Timestamp) -> String {
    agents
        .iter()
        .map(|agent| {
            let seen = agent
                .last_seen_at
                .map_or_else(|| "not seen yet".to_owned(), |at| format!("seen {} ago", age(at, now)));
            let seen = if agent.live { format!("in a session, {seen}") } else { seen };
            let aliases = match agent.aliases.as_slice() {
                [] => String::new(),
                aliases => format!(" (also {})", aliases.join(", ")),
            };
            let left = match AgentId::recorded(&*agent.agent).is_seat() {
                _ if agent.on_roster => "",
                true => ", a seat",
                false => ", no longer on the roster",
            };
            format!(
                "- {}{aliases}: {seen}, {} in force{left}\n",
                name(&agent.agent),
                counted(agent.claims, "claim")
            )
        })
        .collect()
}

pub(super) fn events(events: &[EventView]) -> String {
    if events.is_empty() {
        return "No events match.\n".to_owned();
    }
    events.iter().map(event_line).collect()
}

/// An event as an entry of a list, with its line break.
pub fn event_line(event: &EventView) -> String {
    let mut payload = event.payload.clone();
    if let Some(fields) = payload.as_mut().and_then(serde_json::Value::as_object_mut) {
        // Hashes recognise retries and versions, and tell a reader nothing; they would fill the line.
        fields.remove("command_hash");
        fields.remove("versions");
    }
    let what = payload.map_or_else(|| "(erased)".to_owned(), |payload| payload.to_string());
    format!(
        "- `#{}` {} by {} at {}: {}\n",
        event.seq,
        event.kind,
        name(&event.agent),
        Timestamp::from_ms(event.at),
        inline(&what, LIST_FIELD_CHARS)
    )
}

pub(super) fn event(event: &EventView) -> String {
    let payload = event.payload.as_ref().map_or_else(
        || "(erased)".to_owned(),
        |payload| serde_json::to_string_pretty(payload).unwrap_or_default(),
    );
    format!(
        "# event #{} {}\n\n- id: `{}`\n- by: {}\n- at: {}\n- caused by command: {}\n- hash: {}\n\n{}\n",
        event.seq,
        event.kind,
        event.id,
        name(&event.agent),
        Timestamp::from_ms(event.at),
        event.causation_id,
        event.hash,
        payload.lines().fold(String::new(), |mut block, line| {
            let _ = writeln!(block, "    {}", clean::untagged(&clean::escaped_json(line)));
            block
        })
    )
}

pub(super) fn status(status: &StatusView) -> String {
    let count = |wanted: Status| status.counts.by_status.get(&wanted).copied().unwrap_or(0);
    let behind = match status.ledger_seq - status.folded_seq {
        0 => String::new(),
        events => format!(", read models {events} events behind: run `hm rebuild`"),
    };
    let spool = match (status.spooled, status.rejected.len()) {
        (0, 0) => "empty".to_owned(),
        (waiting, 0) => format!("{waiting} queued"),
        (waiting, rejected) => format!("{waiting} queued, {rejected} rejected lately"),
    };
    let below = Path::new(&status.memory).strip_prefix(&status.workspace);
    let memory = below.map_or_else(|_| status.memory.clone(), |below| below.display().to_string());
    let mut text = format!(
        "workspace: {}\nledger:    {} by {} in {memory}{behind}\nclaims:    {} confirmed, {} proposed, {} contested, \
         {} awaiting proof, {} deprecated, {}\nspool:     {spool}\n",
        status.workspace,
        counted(status.ledger_seq, "event"),
        counted(status.agents_seen, "agent"),
        count(Status::Confirmed),
        count(Status::Proposed),
        count(Status::Contested),
        count(Status::PendingProof),
        count(Status::Deprecated),
        counted(status.counts.negative, "dead end"),
    );
    if let Some(fault) = &status.damage {
        let waiting = if status.stops_writes { " (writes wait in the spool)" } else { "" };
        let _ = writeln!(text, "damaged:   {fault}{waiting}: {}", Damage::FIX);
    }
    if let Some(why) = &status.unsealed {
        let _ = writeln!(text, "sealed:    no, {why}");
    }
    if status.denials > 0 {
        let _ = writeln!(
            text,
            "denied:    {} for holding a secret: `hivemind://events?type={}`",
            status.denials,
            MemoryDenied::KIND
        );
    }
    for (name, run) in status.jobs.0.iter().filter(|(_, run)| run.outcome != Outcome::Ok) {
        let _ = writeln!(text, "attention: {}: {}", inline(name, 40), inline(&run.detail, LIST_FIELD_CHARS));
    }
    for rejected in &status.rejected {
        let _ = writeln!(
            text,
            "rejected:  {} of {} ({}): {}",
            rejected.kind,
            name(&rejected.agent),
            rejected.code,
            inline(&rejected.message, LIST_FIELD_CHARS)
        );
    }
    text
}
