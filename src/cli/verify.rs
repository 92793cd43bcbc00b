//! `hm verify`: checks that the ledger still holds the written events.

use serde::Serialize;
use serde_json::json;

use super::Context;
use super::output::{self, Failure};
use crate::checkpoints::{Checked, Checkpoints, Loaded};
use crate::domain::event::{Event, ExperimentCompleted, LossAccepted, Recorded};
use crate::domain::ids::RunId;
use crate::imports::Imports;
use crate::ledger::{Cursor, Filter, LedgerError, Report};
use crate::reads::Reads;
use crate::views;

/// Events in one read.
const CHUNK: usize = 500;

/// The report on a ledger without events.
const NOTHING: Report = Report { events: 0, erased: 0, head: Cursor::GENESIS, fault: None };

pub(super) fn run(context: &Context) -> Result<(), Failure> {
    let mut reads = context.reads()?;
    let folded = folded(&mut reads);
    let sealed = sealed(context, &mut reads);
    let (report, problem) = match verify_ledger(&mut reads) {
        Ok(report) => {
            let problem = report.fault.as_ref().map(ToString::to_string);
            let problem = problem.or_else(|| cut_off(report.events, folded));
            let problem = problem.or_else(|| damaged(&mut reads));
            (report, problem)
        }
        // An unreadable ledger does not verify.
        Err(error) => (NOTHING, Some(error.to_string())),
    };
    // The checkpoints are compared with a valid chain only.
    let checked = match sealed.filter(|_| problem.is_none()) {
        Some(sealed) => sealed.check(reads.ledger()?, report.head)?,
        None => Checked::default(),
    };
    let problem = problem.or(checked.fault);
    let standing = reads.standing().unwrap_or_default();
    let (problem, warning) = match standing.damage.filter(|_| problem.is_none()) {
        Some(damage) if damage.is_older_copy => (None, Some(damage.loss.fault)),
        Some(damage) => (Some(damage.loss.fault), None),
        None => (problem, checked.warning.or(standing.unsealed)),
    };
    // A broken ledger does not prove which runs are on record, and may be unreadable.
    let runs = if problem.is_none() { placed_runs(&mut reads)? } else { Vec::new() };
    let on_record = runs.len();
    // An export holds no files of runs. A run that happened here has its files, and so may one from a backup.
    let imports = Imports::load(&context.workspace.imports());
    let is_absent = |seq: u64, run: RunId| imports.holds(seq) && !context.workspace.artifacts(run).exists();
    let runs: Vec<_> = runs.into_iter().filter(|(seq, run, _)| !is_absent(*seq, *run)).collect();
    let (artifacts, absent_runs) = (runs.len(), on_record - runs.len());
    let accepted = accepted(&mut reads);
    let problem = problem.or_else(|| {
        let broken =
            views::broken_artifacts(&context.workspace, runs.into_iter().map(|(_, run, hash)| (run, hash)));
        broken.into_iter().next().map(|(run, problem)| format!("the files of run {run}: {problem}"))
    });
    let head_hash = hex::encode(report.head.hash);
    let json = json!({
        "ok": problem.is_none(),
        "events": report.events,
        "erased": report.erased,
        "head_hash": head_hash,
        "fault": problem,
        "checkpoints": checked.holding,
        "artifacts": artifacts,
        "absent_runs": absent_runs,
        "warning": warning,
        "accepted": accepted,
    });
    let mut text = match (&problem, report.events) {
        (None, events) if report.erased > 0 => {
            format!("ok: {events} events, {} of them erased, head {head_hash}\n", report.erased)
        }
        (None, events) => format!("ok: {events} events, head {head_hash}\n"),
        (Some(problem), 0) => format!("broken: {problem}\n"),
        (Some(problem), events) => format!("broken: {problem}\nevents that stand before it: {events}\n"),
    };
    if absent_runs > 0 {
        let runs = if absent_runs == 1 { "run" } else { "runs" };
        text.push_str(&format!("imported: the files of {absent_runs} {runs} are not in this memory\n"));
    }
    if let Some(warning) = &warning {
        text.push_str(&format!("warning: {warning}\n"));
    }
    for AcceptedLoss { seq, loss } in &accepted {
        text.push_str(&format!("accepted at event {seq}: {} ({})\n", loss.fault, loss.reason));
    }
    let text: String = text.lines().map(output::row).collect();
    output::print(context.global.json, &text, &json)?;
    if problem.is_none() { Ok(()) } else { Err(Failure::Broken) }
}

/// The runs on record in the ledger, with the hash of their files.
pub(super) fn runs_on_record(reads: &mut Reads) -> Result<Vec<(RunId, String)>, LedgerError> {
    Ok(placed_runs(reads)?.into_iter().map(|(_, run, hash)| (run, hash)).collect())
}

/// The runs on record, each with the place of its event.
fn placed_runs(reads: &mut Reads) -> Result<Vec<(u64, RunId, String)>, LedgerError> {
    let mut runs = Vec::new();
    let Some(ledger) = reads.ledger()? else { return Ok(runs) };
    let mut after = 0;
    loop {
        let wanted = Filter {
            after,
            kind: Some(ExperimentCompleted::KIND.to_owned()),
            limit: CHUNK,
            ..Filter::default()
        };
        let page = ledger.list(&wanted)?;
        let Some(last) = page.last() else { return Ok(runs) };
        after = last.seq;
        for stored in &page {
            if let Ok(Recorded { event: Some(Event::ExperimentCompleted(body)), .. }) = stored.recorded()
                && let Some(hash) = body.outcome.meta_sha256
            {
                runs.push((stored.seq, body.run_id, hash));
            }
        }
    }
}

#[derive(Serialize)]
struct AcceptedLoss {
    seq: u64,
    #[serde(flatten)]
    loss: LossAccepted,
}

/// The losses that the operator accepted, from the readable part of the ledger.
fn accepted(reads: &mut Reads) -> Vec<AcceptedLoss> {
    let wanted = Filter { kind: Some(LossAccepted::KIND.to_owned()), limit: CHUNK, ..Filter::default() };
    let stored = reads.readable_ledger().and_then(|ledger| ledger.list(&wanted).ok());
    let recorded = stored.into_iter().flatten().filter_map(|stored| stored.recorded().ok());
    recorded
        .filter_map(|recorded| {
            let Some(Event::LossAccepted(loss)) = recorded.event else { return None };
            Some(AcceptedLoss { seq: recorded.seq, loss })
        })
        .collect()
}

fn verify_ledger(reads: &mut Reads) -> Result<Report, LedgerError> {
    let Some(ledger) = reads.ledger()? else {
        return Ok(NOTHING);
    };
    let bar = output::progress("verifying", ledger.head()?.seq);
    let report = ledger.verify(|seq| bar.set_position(seq));
    bar.finish_and_clear();
    report
}

/// A fault of the database file that leaves every event valid.
fn damaged(reads: &mut Reads) -> Option<String> {
    reads.ledger().ok()??.file().check_pages().err().map(|error| error.to_string())
}

/// Loads the checkpoints. An unreadable ledger gives none, because `walk` reports it.
fn sealed(context: &Context, reads: &mut Reads) -> Option<Loaded> {
    let ledger = reads.ledger().ok()?;
    Checkpoints::of(context.workspace.memory(), context.environment.state_home.as_deref()).load(ledger).ok()
}

/// Number of events in the read models. Unreadable read models count as 0: they are no fault of the ledger.
fn folded(reads: &mut Reads) -> u64 {
    let cursor = reads.store().ok().flatten().and_then(|store| store.folded().ok());
    cursor.map_or(0, |cursor| cursor.seq)
}

/// The hash chain cannot show that its end is missing. Read models with more events can.
fn cut_off(events: u64, folded: u64) -> Option<String> {
    (folded > events)
        .then(|| format!("the ledger ends at event {events}, and the read models have seen event {folded}"))
}
