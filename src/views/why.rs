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

/// How many claims are followed one behind the other. The rest is on the page of the last claim.
const DEPTH: usize = 4;
/// The longest text that is quoted whole, in characters. The id beside it leads to the rest.
const GLANCE_CHARS: usize = 160;
/// The limit of a reason in a claim, in characters: no reason is cut.
const REASON_CHARS: usize = 2_000;

/// The chain behind a claim, and its successors.
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
    let (claim, left_out) = (claim.flatten(), left_out.count());
    let claim = claim.ok_or_else(|| ViewError::no_claim(id))?;
    let mut chain = Chain { now, grounds: Vec::new(), seen: BTreeSet::from([id]), left_out };
    chain.follow(reads, id, claim.evidence_items.clone(), 1)?;
    let mut successors = Vec::new();
    for id in &claim.successors {
        successors.push((*id, chain.claim(reads, *id)?));
    }
    let seq = reads.store()?.map(|store| store.folded()).transpose()?.map_or(0, |folded| folded.seq);
    let Chain { grounds, left_out, .. } = chain;
    let page = Page { claim, grounds, successors, now };
    Ok(Answer::of(format, seq, || page.json(), || page.text()).without(left_out))
}

/// The claims, runs and events behind a claim, as far as they are read.
struct Chain {
    now: Timestamp,
    grounds: Vec<Ground>,
    /// The claims whose evidence is followed. Two claims may rest on each other.
    seen: BTreeSet<ClaimId>,
    /// Number of rows that cannot be read.
    left_out: u64,
}

impl Chain {
    /// Follows the evidence of one claim, and of the claims among that evidence.
    fn follow(
        &mut self,
        reads: &mut Reads,
        of: ClaimId,
        evidence: Vec<Evidence>,
        depth: usize,
    ) -> Result<(), ViewError> {
        for evidence in evidence {
            let Ok(id) = evidence.evidence_ref.parse::<EventId>() else { continue };
            let mut behind = self.behind(reads, id)?;
            let rests_on = match &mut behind {
                Some(Behind::Claim(claim)) if depth < DEPTH && self.seen.insert(claim.summary.id) => {
                    Some((claim.summary.id, std::mem::take(&mut claim.evidence_items)))
                }
                _ => None,
            };
            self.grounds.push(Ground { of, evidence, behind, depth });
            if let Some((claim, evidence)) = rests_on {
                self.follow(reads, claim, evidence, depth + 1)?;
            }
        }
        Ok(())
    }

    /// The claim or the run that an event is about, or else the event itself.
    fn behind(&mut self, reads: &mut Reads, id: EventId) -> Result<Option<Behind>, ViewError> {
        let stored = reads.ledger()?.map(|ledger| ledger.event(id)).transpose()?.flatten();
        let event = stored.as_ref().and_then(|stored| stored.recorded().ok()?.event);
        let run = event.as_ref().and_then(Event::run_id);
        let behind = match (&event, run) {
            (Some(Event::ClaimCreated(created)), _) => {
                self.claim(reads, created.claim_id)?.map(Box::new).map(Behind::Claim)
            }
            (_, Some(run)) => {
                let (run, left_out) = reads.ask(self.now, |store| store.experiment(run))?;
                self.left_out += left_out.count();
                run.flatten().map(Box::new).map(Behind::Run)
            }
            _ => None,
        };
        Ok(behind.or_else(|| {
            let view = EventView::from(stored.as_ref()?);
            Some(match event {
                Some(Event::CommandRan(ran)) => Behind::Ran(view, Box::new(ran)),
                _ => Behind::Event(view),
            })
        }))
    }

    fn claim(&mut self, reads: &mut Reads, id: ClaimId) -> Result<Option<ClaimView>, ViewError> {
        let (claim, left_out) = reads.ask(self.now, |store| store.claim(id))?;
        self.left_out += left_out.count();
        Ok(claim.flatten())
    }
}

/// The answer: a claim and everything behind it.
struct Page {
    claim: ClaimView,
    grounds: Vec<Ground>,
    /// The claims that superseded it, the nearest first. `None` if a claim cannot be read.
    successors: Vec<(ClaimId, Option<ClaimView>)>,
    now: Timestamp,
}

impl Page {
    fn json(&self) -> Value {
        let claim = &self.claim;
        let grounds: Vec<Value> = self.grounds.iter().map(Ground::json).collect();
        let mut json = json!({
            "claim_id": claim.summary.id, "statement": claim.summary.statement, "status": claim.summary.status,
            "basis": claim.summary.basis, "unstable": claim.summary.unstable,
            "grade": claim.summary.grade, "grounds": grounds, "positions": claim.positions,
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
        json
    }

    fn text(&self) -> String {
        let claim = &self.claim;
        let mut text = format!("{}\n", line(claim));
        for rejected in &claim.not_chosen {
            let because = inline(&rejected.because, REASON_CHARS);
            let _ = writeln!(text, "- not chosen by `{}`: {because}", rejected.decision);
        }
        if let Some(changed) = versions::changed(&claim.summary.changed_since) {
            let _ = writeln!(text, "- changed since: {changed}");
        }
        text.extend(self.grounds.iter().map(|ground| ground.text(self.now)));
        if claim.evidence_items.is_empty() {
            let tie =
                json!({ "claim_id": claim.summary.id, "evidence_ref": "EVENT", "relation": "supports" });
            let tie = way::call("add_evidence", &tie);
            let _ = writeln!(text, "- rests on no evidence; to tie an event to it: {tie}");
        }
        for item in &claim.retracted {
            let _ = writeln!(
                text,
                "- retracted by {}: event `{}`, which had been cited as {}: {}",
                name(&item.retracted_by),
                item.evidence_ref,
                item.relation,
                inline(&item.reason, REASON_CHARS)
            );
        }
        text + &decided(claim) + &positions(claim) + &self.replacements()
    }

    /// Why the claim is no longer in force, and the claims that superseded it.
    fn replacements(&self) -> String {
        let mut text = String::new();
        let ended = self.claim.history.iter().filter(|change| change.to == Status::Deprecated.as_str());
        // A decision that did not choose it is named with its reason.
        for ended in ended.filter(|_| self.claim.not_chosen.is_empty()) {
            if let Some(reason) = &ended.reason {
                let by = name(&ended.by);
                let _ = writeln!(text, "- deprecated by {by}: {}", inline(reason, REASON_CHARS));
            }
        }
        for (index, (id, successor)) in self.successors.iter().enumerate() {
            let said = successor.as_ref().map_or_else(|| format!("`{id}`"), line);
            let how = if index == 0 { replaced(&self.claim.summary) } else { "superseded" };
            let _ = writeln!(text, "- {how} by {said}");
        }
        text
    }
}

/// The reason of a decision, and the alternatives that it did not choose.
fn decided(claim: &ClaimView) -> String {
    let Some(decision) = &claim.decision else { return String::new() };
    let mut text = format!("- because: {}\n", inline(&decision.summary.rationale, REASON_CHARS));
    for other in &decision.alternatives {
        let statement = inline(&other.statement, GLANCE_CHARS);
        let because = inline(&other.rejection_reason, REASON_CHARS);
        let _ = writeln!(text, "- not chosen: `{}` {statement}: {because}", other.claim_id);
    }
    text
}

/// The positions on a claim, the former ones last.
fn positions(claim: &ClaimView) -> String {
    let mut text = String::new();
    for held in &claim.positions {
        let reason = held.reason.as_deref().unwrap_or("no reason given");
        let _ = writeln!(text, "- {}: {}", versions::position(held), inline(reason, REASON_CHARS));
    }
    if claim.former_positions_left_out > 0 {
        let _ = writeln!(text, "- {} former positions more before these", claim.former_positions_left_out);
    }
    for held in &claim.former_positions {
        let _ = writeln!(text, "- formerly {}", versions::former(held, REASON_CHARS));
    }
    text
}

/// One piece of evidence, and what it refers to.
struct Ground {
    /// The claim that rests on it.
    of: ClaimId,
    evidence: Evidence,
    /// `None` if the ledger has no such event.
    behind: Option<Behind>,
    /// Number of claims between it and the page, the claim of the page included.
    depth: usize,
}

impl Ground {
    fn text(&self, now: Timestamp) -> String {
        let Self { evidence, behind, depth, .. } = self;
        let margin = "  ".repeat(depth - 1);
        let what =
            behind.as_ref().map_or_else(|| "is not in the ledger".to_owned(), |behind| behind.line(now));
        let stale = if evidence.stale_since.is_some() { ", stale" } else { "" };
        let note = evidence.note.as_deref().map(|note| format!(" \"{}\"", inline(note, REASON_CHARS)));
        let mut text = format!(
            "{margin}- {} ({}{stale}, weight {:.2}, by {}{}){}: {what}\n",
            evidence.relation,
            evidence.grade,
            evidence.weight,
            name(&evidence.added_by),
            super::claim::behind(evidence),
            note.unwrap_or_default(),
        );
        if let Some(Behind::Ran(_, ran)) = behind {
            for line in ran::below(ran).iter().filter(|line| line.starts_with('|')) {
                let _ = writeln!(text, "{margin}    {line}");
            }
        }
        text
    }

    fn json(&self) -> Value {
        let mut json = self.behind.as_ref().map_or_else(|| json!({}), Behind::json);
        json["depth"] = self.depth.into();
        json["of"] = self.of.to_string().into();
        json["evidence"] = super::to_json(&self.evidence);
        json
    }
}

/// What a piece of evidence refers to.
enum Behind {
    Claim(Box<ClaimView>),
    Run(Box<ExperimentView>),
    Event(EventView),
    Ran(EventView, Box<CommandRan>),
}

impl Behind {
    fn json(&self) -> Value {
        match self {
            Self::Claim(claim) => json!({ "claim": super::to_json(&claim.summary) }),
            Self::Run(run) => json!({ "run": super::to_json(run) }),
            Self::Event(event) | Self::Ran(event, _) => json!({ "event": super::to_json(event) }),
        }
    }

    fn line(&self, now: Timestamp) -> String {
        match self {
            Self::Claim(claim) => format!("claim {}", line(claim)),
            Self::Run(run) => run_line(run, now),
            Self::Ran(event, ran) => event_line(event, now, &ran::one_line(ran)),
            Self::Event(event) => {
                let summary = event.payload.clone().map(|mut payload| {
                    payload.as_object_mut().map(|fields| fields.remove("versions"));
                    payload["summary"].as_str().map_or_else(|| payload.to_string(), str::to_owned)
                });
                let summary = summary.unwrap_or_else(|| "(erased)".to_owned());
                event_line(event, now, &inline(&summary, GLANCE_CHARS))
            }
        }
    }
}

fn event_line(event: &EventView, now: Timestamp, content: &str) -> String {
    let (by, age) = (name(&event.agent), age(event.at, now));
    format!("event `{}` {} by {by}, {age} ago: {content}", event.id, event.kind)
}

/// A run with the facts that identify it: its commit, and the hashes of its output.
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
        "`{}` {} {} by {}{} ({}): {}",
        summary.id,
        summary.standing(),
        summary.claim_type,
        name(&summary.owner),
        if summary.imported { ", imported" } else { "" },
        summary.grade,
        inline(&summary.statement, GLANCE_CHARS)
    )
}
