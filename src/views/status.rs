//! How a workspace is doing.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::asking::{Asking, jobs, standing};
use super::markdown::{LIST_FIELD_CHARS, counted, inline, name};
use super::{Answer, ViewError, to_json};
use crate::checkpoints::Checkpoints;
use crate::domain::claim::Status;
use crate::domain::event::MemoryDenied;
use crate::domain::guard::Counts as GuardCounts;
use crate::domain::time::Timestamp;
use crate::ledger::{self, Origin};
use crate::reads::Reads;
use crate::schedule::{JobOutcome, JobRuns};
use crate::spool::Spool;
use crate::standing::{Damage, Standing};
use crate::store::{Counts, LeftOut, RejectedCommand, StoreError};

/// Rejected commands that status shows.
const REJECTED_SHOWN: usize = 5;

/// How a workspace is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct StatusView {
    /// Its root.
    pub workspace: String,
    /// The directory of its memory.
    pub memory: String,
    /// Events in the ledger.
    pub ledger_seq: u64,
    /// Events folded into the read models. Fewer than `ledger_seq` means that the read models are behind.
    pub folded_seq: u64,
    /// Claims by status, and dead ends.
    #[serde(flatten)]
    pub counts: Counts,
    /// Options that decisions rejected. They are among the deprecated claims.
    pub not_chosen: u64,
    /// Agents with an event.
    pub agents_seen: u64,
    /// Queued commands in the spool.
    pub spooled: u64,
    /// The outcomes of all guards. None before the first firing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guards: Option<GuardCounts>,
    /// Commands refused for a suspected secret.
    pub denials: u64,
    /// Refused queued commands, newest first.
    pub rejected: Vec<RejectedCommand>,
    /// The last results of the writer's background jobs.
    pub jobs: JobRuns,
    /// The problem of the ledger or its checkpoints, until the operator accepts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// Whether the problem stops all writes, which then wait in the spool.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stops_writes: bool,
    /// Why no checkpoint seals the ledger on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsealed: Option<String>,
}

/// The state of the workspace. Any event may change it.
pub(super) fn answer(asking: &mut Asking<'_>) -> Result<Answer, ViewError> {
    let (status, left_out) = status(asking.reads, asking.now)?;
    let answer = Answer::of(asking.format, status.folded_seq, || to_json(&status), || text(&status));
    Ok(answer.without(left_out.count()))
}

/// Number of waiting commands. Those that are kept outside of the memory wait too.
fn waiting(reads: &mut Reads) -> u64 {
    let genesis =
        reads.readable_ledger().and_then(|ledger| ledger.hashes_after(0, 1).ok()).unwrap_or_default();
    let checkpoints = Checkpoints::of(reads.workspace().memory(), reads.state_home());
    let kept = checkpoints.spool(genesis.first().map(Origin::of)).filter(|kept| kept.exists());
    let spool = Spool::of(reads.workspace());
    kept.map_or_else(|| spool.waiting(), |kept| spool.waiting_with(&kept))
}

fn status(reads: &mut Reads, now: Timestamp) -> Result<(StatusView, LeftOut), ViewError> {
    let horizon = reads.horizon();
    // The spool of today says nothing about a past state.
    let spooled = if horizon.is_none() { waiting(reads) } else { 0 };
    let jobs = jobs(reads);
    let (Standing { damage, unsealed, .. }, unreadable) = standing(reads)?;
    let workspace = reads.workspace().root().display().to_string();
    let ledger = reads.readable_ledger().filter(|_| unreadable.is_none());
    let head = ledger.map(ledger::Reader::head).transpose()?.map_or(0, |head| head.seq);
    let ledger_seq = horizon.unwrap_or(head);
    let denials = ledger.map(|ledger| ledger.count(MemoryDenied::KIND, horizon)).transpose()?.unwrap_or(0);
    let memory = reads.workspace().memory().display().to_string();
    let mut status = StatusView {
        workspace,
        memory,
        ledger_seq,
        folded_seq: 0,
        counts: Counts::default(),
        not_chosen: 0,
        agents_seen: 0,
        spooled,
        guards: None,
        denials,
        rejected: Vec::new(),
        jobs,
        stops_writes: unreadable.is_some() || damage.as_ref().is_some_and(Damage::stops_writes),
        damage: damage.map(|damage| damage.loss.fault).or(unreadable),
        unsealed,
    };
    let asked = reads.ask(now, |store| {
        status.folded_seq = store.folded()?.seq;
        status.counts = store.counts()?;
        status.not_chosen = store.options_not_chosen()?;
        status.agents_seen = store.agents()?.len() as u64;
        status.guards = Some(store.guard_totals()?).filter(|counts| counts.fired > 0);
        status.rejected = store.rejected_commands(REJECTED_SHOWN)?;
        Ok(())
    });
    let left_out = match asked {
        // As for attention, no writer folds a damaged ledger.
        Err(StoreError::Unmade) if status.damage.is_some() => LeftOut::default(),
        asked => asked?.1,
    };
    // The writer may have appended between the two reads. That does not count as behind.
    status.ledger_seq = status.ledger_seq.max(status.folded_seq);
    Ok((status, left_out))
}

fn text(status: &StatusView) -> String {
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
    // An author who counts them among its own would think that others overruled it.
    let not_chosen = match status.not_chosen {
        0 => String::new(),
        options => format!(" ({options} as not chosen by a decision)"),
    };
    let below = Path::new(&status.memory).strip_prefix(&status.workspace);
    let memory = below.map_or_else(|_| status.memory.clone(), |below| below.display().to_string());
    let mut text = format!(
        "workspace: {}\nledger:    {} by {} in {memory}{behind}\nclaims:    {} confirmed, {} proposed, {} contested, \
         {} awaiting proof, {} deprecated{not_chosen}, {}\nspool:     {spool}\n",
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
    if let Some(guards) = &status.guards {
        let rate =
            guards.false_share().map_or_else(String::new, |share| format!(" ({:.0} % false)", share * 100.0));
        let GuardCounts { fired, followed, ignored, proved_wrong, proved_right, .. } = guards;
        let _ = writeln!(
            text,
            "guards:    {fired} fired, {followed} followed, {ignored} ignored, {proved_wrong} proved wrong{rate}, \
             {proved_right} proved right"
        );
    }
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
            "denied:    {} by privacy or policy: `hivemind://events?type={}`",
            status.denials,
            MemoryDenied::KIND
        );
    }
    let mirror = status.jobs.0.get("mirror").filter(|run| run.outcome == JobOutcome::Ok);
    if let Some(run) = mirror.filter(|run| !run.detail.starts_with("off")) {
        let _ = writeln!(text, "mirror:    {}", inline(&run.detail, LIST_FIELD_CHARS));
    }
    for (name, run) in status.jobs.0.iter().filter(|(_, run)| run.outcome != JobOutcome::Ok) {
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
