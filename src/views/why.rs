//! What a claim rests on: its evidence followed to the events, the runs and the claims behind it.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Value, json};

use super::markdown::{age, inline, name, replaced};
use super::{Answer, EventView, Format, ViewError, ran, versions};
use crate::domain::claim::Status;
use crate::domain::event::{CommandRan, Event};
use crate::domain::ids::{ClaimId, EventId};
use crate::domain::time::Timestamp;
use crate::domain::way;
use crate::reads::Reads;
use crate::store::{ClaimView, Evidence, ExperimentView};

/// How far evidence that is another claim is followed: who wants to know more asks about that claim.
const DEPTH: usize = 4;
/// What is shown of a text; its id leads to the rest.
const GLANCE_CHARS: usize = 160;
/// No reason is cut: a claim holds none that is longer.
const REASON_CHARS: usize = 2_000;

/// The chain behind a claim, and what took its place.
///
/// # Errors
/// [`ViewError::NotFound`] when there is no such claim.
pub fn why(reads: &mut Reads, id: ClaimId, now: Timestamp, format: Format) -> Result<Answer, ViewError> {
    let now = reads.clock(now);
    let workspace = reads.workspace().clone();
    let is_past = reads.horizon().is_some();
    let (claim, left_out) = reads.ask(now, |store| {
        let mut claim = store.claim(id)?;
        if let Some(claim) = claim.as_mut().filter(|_| !is_past) {
            versions::compare(&workspace, store, claim)?;
        }
        Ok(claim)
    })?;
    let (claim, mut left_out) = (claim.flatten(), left_out.count());
    let mut claim = claim.ok_or_else(|| ViewError::no_claim(id))?;
    let before_change = versions::before_change(reads, &claim)?;
    versions::mark_before_change(&mut claim, &before_change);
    let mut chain = Chain {
        now,
        text: format!("{}\n", line(&claim)),
        grounds: Vec::new(),
        seen: BTreeSet::from([id]),
        left_out: 0,
    };
    for rejected in &claim.not_chosen {
        let because = inline(&rejected.because, 2_000);
        let _ = writeln!(chain.text, "- not chosen by `{}`: {because}", rejected.decision);
    }
    if let Some(changed) = versions::changed(&claim.summary.changed_since) {
        let _ = writeln!(chain.text, "- changed since: {changed}");
    }
    chain.follow(reads, &claim, 1)?;
    if claim.evidence_items.is_empty() {
        let tie = json!({ "claim_id": id, "evidence_ref": "EVENT", "relation": "supports" });
        let tie = way::call("add_evidence", &tie);
        let _ = writeln!(chain.text, "- rests on no evidence; to tie an event to it: {tie}");
    }
    for item in &claim.retracted {
        let _ = writeln!(
            chain.text,
            "- retracted by {}: event `{}`, which had been cited as {}: {}",
            name(&item.retracted_by),
            item.evidence_ref,
            item.relation,
            inline(&item.reason, REASON_CHARS)
        );
    }
    if let Some(decision) = &claim.decision {
        let _ = writeln!(chain.text, "- because: {}", inline(&decision.summary.rationale, REASON_CHARS));
        for other in &decision.alternatives {
            let (said, because) =
                (inline(&other.statement, GLANCE_CHARS), inline(&other.rejection_reason, REASON_CHARS));
            let _ = writeln!(chain.text, "- not chosen: `{}` {said}: {because}", other.claim_id);
        }
    }
    for held in &claim.positions {
        let reason = held.reason.as_deref().unwrap_or("no reason given");
        let _ = writeln!(chain.text, "- {}: {}", versions::position(held), inline(reason, REASON_CHARS));
    }
    if claim.former_positions_left_out > 0 {
        let _ =
            writeln!(chain.text, "- {} former positions more before these", claim.former_positions_left_out);
    }
    for held in &claim.former_positions {
        let _ = writeln!(chain.text, "- formerly {}", versions::former(held, REASON_CHARS));
    }
    let ended = claim.history.iter().filter(|change| change.to == Status::Deprecated.as_str());
    // A decision that did not choose it is named with its reason.
    for ended in ended.filter(|_| claim.not_chosen.is_empty()) {
        if let Some(reason) = &ended.reason {
            let _ =
                writeln!(chain.text, "- deprecated by {}: {}", name(&ended.by), inline(reason, REASON_CHARS));
        }
    }
    for (index, successor) in claim.successors.iter().enumerate() {
        let (known, missing) = self::claim(reads, *successor, now)?;
        left_out += missing;
        let said = known.as_ref().map_or_else(|| format!("`{successor}`"), line);
        let how = if index == 0 { replaced(&claim.summary) } else { "superseded" };
        let _ = writeln!(chain.text, "- {how} by {said}");
    }
    let mut json = json!({
        "claim_id": id, "statement": claim.summary.statement, "status": claim.summary.status,
        "basis": claim.summary.basis, "unstable": claim.summary.unstable,
        "grade": claim.summary.grade, "grounds": chain.grounds, "positions": claim.positions,
        "retracted": claim.retracted,
        "superseded_by": claim.successors,
    });
    if !claim.former_positions.is_empty() {
        json["former_positions"] = super::to_json(&claim.former_positions);
        json["former_positions_left_out"] = claim.former_positions_left_out.into();
    }
    if !claim.summary.changed_since.is_empty() {
        json["changed_since"] = super::to_json(&claim.summary.changed_since);
    }
    if !claim.not_chosen.is_empty() {
        json["not_chosen"] = super::to_json(&claim.not_chosen);
    }
    if claim.summary.mended {
        json["mended"] = true.into();
    }
    let seq = reads.store()?.map(|store| store.folded()).transpose()?.map_or(0, |folded| folded.seq);
    let left_out = left_out + chain.left_out;
    Ok(Answer::of(format, seq, || json, || chain.text).without(left_out))
}

/// What was found so far.
struct Chain {
    now: Timestamp,
    text: String,
    grounds: Vec<Value>,
    /// Claims whose grounds are shown: two may rest on each other.
    seen: BTreeSet<ClaimId>,
    /// Rows that cannot be read.
    left_out: u64,
}

impl Chain {
    /// The grounds of one claim, and of the claims among them.
    fn follow(&mut self, reads: &mut Reads, of: &ClaimView, depth: usize) -> Result<(), ViewError> {
        for evidence in &of.evidence_items {
            let Ok(id) = evidence.evidence_ref.parse::<EventId>() else { continue };
            let stored = reads.ledger()?.map(|ledger| ledger.event(id)).transpose()?.flatten();
            let event = stored.as_ref().and_then(|stored| stored.recorded().ok()?.event);
            let run = event.as_ref().and_then(Event::run_id);
            let behind = match (&event, run) {
                (Some(Event::ClaimCreated(created)), _) => {
                    let (claim, left_out) = claim(reads, created.claim_id, self.now)?;
                    self.left_out += left_out;
                    claim.map(Box::new).map(Behind::Claim)
                }
                (_, Some(run)) => {
                    let (run, left_out) = reads.ask(self.now, |store| store.experiment(run))?;
                    self.left_out += left_out.count();
                    run.flatten().map(Box::new).map(Behind::Run)
                }
                _ => None,
            };
            let behind = behind.or_else(|| {
                let view = EventView::from(stored.as_ref()?);
                Some(match event {
                    Some(Event::CommandRan(ran)) => Behind::Ran(view, Box::new(ran)),
                    _ => Behind::Event(view),
                })
            });
            self.ground(of, evidence, behind.as_ref(), depth);
            if let Some(Behind::Claim(claim)) = behind
                && depth < DEPTH
                && self.seen.insert(claim.summary.id)
            {
                self.follow(reads, &claim, depth + 1)?;
            }
        }
        Ok(())
    }

    fn ground(&mut self, of: &ClaimView, evidence: &Evidence, behind: Option<&Behind>, depth: usize) {
        let (what, mut json) = behind
            .map_or_else(|| ("is not in the ledger".to_owned(), json!({})), |behind| behind.said(self.now));
        let stale = if evidence.stale_since.is_some() { ", stale" } else { "" };
        let note = evidence.note.as_deref().map(|note| format!(" \"{}\"", inline(note, REASON_CHARS)));
        let note = note.unwrap_or_default();
        let _ = writeln!(
            self.text,
            "{}- {} ({}{stale}, weight {:.2}, by {}{}){note}: {what}",
            "  ".repeat(depth - 1),
            evidence.relation,
            evidence.grade,
            evidence.weight,
            name(&evidence.added_by),
            super::claim::behind(evidence),
        );
        if let Some(Behind::Ran(_, ran)) = behind {
            for line in ran::below(ran).iter().filter(|line| line.starts_with('|')) {
                let _ = writeln!(self.text, "{}    {line}", "  ".repeat(depth - 1));
            }
        }
        json["depth"] = depth.into();
        json["of"] = of.summary.id.to_string().into();
        json["evidence"] = super::to_json(evidence);
        self.grounds.push(json);
    }
}

/// What an event behind a claim is.
enum Behind {
    Claim(Box<ClaimView>),
    Run(Box<ExperimentView>),
    Event(EventView),
    Ran(EventView, Box<CommandRan>),
}

impl Behind {
    /// In a line, and for programs.
    fn said(&self, now: Timestamp) -> (String, Value) {
        match self {
            Self::Claim(claim) => {
                (format!("claim {}", line(claim)), json!({ "claim": super::to_json(&claim.summary) }))
            }
            Self::Run(run) => (run_line(run, now), json!({ "run": super::to_json(run) })),
            Self::Ran(event, ran) => {
                let said = format!(
                    "event `{}` {} by {}, {} ago: {}",
                    event.id,
                    event.kind,
                    name(&event.agent),
                    age(event.at, now),
                    ran::one_line(ran)
                );
                (said, json!({ "event": super::to_json(event) }))
            }
            Self::Event(event) => {
                let summary = event.payload.clone().map(|mut payload| {
                    payload.as_object_mut().map(|fields| fields.remove("versions"));
                    payload["summary"].as_str().map_or_else(|| payload.to_string(), str::to_owned)
                });
                let summary = summary.unwrap_or_else(|| "(erased)".to_owned());
                let said = format!(
                    "event `{}` {} by {}, {} ago: {}",
                    event.id,
                    event.kind,
                    name(&event.agent),
                    age(event.at, now),
                    inline(&summary, GLANCE_CHARS)
                );
                (said, json!({ "event": super::to_json(event) }))
            }
        }
    }
}

/// A run with what pins it down: its commit, and the hashes of all it wrote.
fn run_line(run: &ExperimentView, now: Timestamp) -> String {
    let mut text = format!(
        "run `{}` of {}, {}, {} ago: {}",
        run.run_id,
        name(&run.requested_by),
        run.status,
        age(run.created_at, now),
        inline(&run.command, GLANCE_CHARS)
    );
    let Some(outcome) = &run.outcome else { return text };
    if let Some(code) = outcome.exit_code {
        let _ = write!(text, ", exit {code}");
    }
    if let Some(git) = &outcome.git {
        let dirty = if git.dirty { " with uncommitted changes" } else { "" };
        let _ = write!(text, ", on {}{dirty}", inline(git.sha.as_deref().unwrap_or("no commit"), 80));
    }
    let _ = write!(text, ", stdout {}, stderr {}", outcome.stdout.sha256, outcome.stderr.sha256);
    if let Some(meta) = &outcome.meta_sha256 {
        let _ = write!(text, ", meta {meta}");
    }
    text
}

fn line(claim: &ClaimView) -> String {
    let summary = &claim.summary;
    format!(
        "`{}` {} {} by {} ({}): {}",
        summary.id,
        summary.standing(),
        summary.claim_type,
        name(&summary.owner),
        summary.grade,
        inline(&summary.statement, GLANCE_CHARS)
    )
}

/// A claim, and how many rows about it cannot be read.
fn claim(reads: &mut Reads, id: ClaimId, now: Timestamp) -> Result<(Option<ClaimView>, u64), ViewError> {
    let (claim, left_out) = reads.ask(now, |store| store.claim(id))?;
    Ok((claim.flatten(), left_out.count()))
}
