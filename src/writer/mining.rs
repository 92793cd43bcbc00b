//! The miners: background jobs that read, and propose as `system`. Their findings are decided and recorded between two
//! groups, one at a time.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

use super::background::{CLOSED, Found};
use super::commit::Committer;
use super::error::WriterError;
use crate::config::Config;
use crate::domain::action::printed_error;
use crate::domain::agent::AgentId;
use crate::domain::decide::{self, Mined};
use crate::domain::event::Event;
use crate::domain::ids::EventId;
use crate::domain::merge;
use crate::domain::playbook::{self, Step};
use crate::domain::reflection::{Act, Acted, Cluster, Reading};
use crate::integrity::ScanError;
use crate::ledger;
use crate::schedule::JobOutcome;
use crate::store::{ObservedKind, ParsedSteps, Reader};
use crate::system;
use crate::workspace::Workspace;

/// Tasks that are read in one transaction, so that a miner holds the log of the database only briefly.
const TASKS_AT_ONCE: usize = 100;
/// Observations that are read in one transaction.
const SEEN_AT_ONCE: usize = 5_000;
/// The most findings that are compared with the state between two groups: some milliseconds of work with 10,000 claims.
/// At most one of them is recorded.
const COMPARED_AT_ONCE: usize = 4;
/// Claims that are read in one transaction.
const CLAIMS_AT_ONCE: usize = 500;
/// The most known errors that a miner looks up.
const MAX_KNOWN: usize = 100_000;

/// What a miner found, and where it goes on.
#[derive(Debug, Default)]
struct Looked {
    /// The findings.
    found: Vec<Mined>,
    /// The ledger position up to which everything was read.
    cursor: u64,
    /// One line about the result.
    detail: String,
}

/// The result of a miner, for the schedule. Each call of the recording records at most one finding.
fn waiting(detail: String, cursor: u64, found: Vec<Mined>) -> Found {
    let mut found = VecDeque::from(found);
    let go_on = move |committer: &mut Committer| {
        if committer.is_stopped() {
            return Ok(!found.is_empty());
        }
        for _ in 0..COMPARED_AT_ONCE {
            let Some(next) = found.pop_front() else { break };
            if record(committer, &next)? > 0 {
                break;
            }
        }
        Ok(!found.is_empty())
    };
    Found { ended: (JobOutcome::Ok, detail), recording: Some(Box::new(go_on)), cursor, has_more: false }
}

fn record(committer: &mut Committer, found: &Mined) -> Result<usize, WriterError> {
    let Committer { state, sources, .. } = committer;
    let events: Vec<Event> = decide::mined(state, found, &mut *sources.ids);
    if events.is_empty() {
        return Ok(0);
    }
    let first_id = events[0].about().own_id(None).map(EventId::from_uuid);
    let mut batch = committer.own(AgentId::system(), events);
    batch.first_id = first_id;
    committer.record(&[batch])
}

/// The miners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Miner {
    /// For playbooks, and the later tasks that followed one.
    Playbooks,
    /// For errors that come again.
    Reflection,
    /// For claims that say the same.
    Merges,
}

impl Miner {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Playbooks, Self::Reflection, Self::Merges];

    /// Why the configuration switches the miner off. None if it does not.
    fn off(self, workspace: &Workspace) -> Option<String> {
        let config = Config::load(&workspace.config()).ok()?;
        if config.memory.closed().is_some() {
            return Some(CLOSED.to_owned());
        }
        let (is_on, key) = match self {
            Self::Playbooks => (config.playbooks, "playbooks"),
            Self::Reflection => (config.reflection, "reflection"),
            Self::Merges => (config.merges, "merges"),
        };
        (!is_on).then(|| format!("off: [mining] {key} = false"))
    }

    fn look(self, workspace: &Workspace, cursor: u64, stop: &AtomicBool) -> Result<Looked, ScanError> {
        match self {
            Self::Playbooks => for_playbooks(workspace, cursor, stop),
            Self::Reflection => for_errors(workspace, cursor, stop),
            Self::Merges => for_merges(workspace, cursor, stop),
        }
    }
}

/// Runs a miner over everything, and records what it finds; returns the number of recorded findings. The operation is
/// idempotent.
///
/// # Errors
/// [`ScanError`] when the read models cannot be read; a failed append is one of them.
pub fn propose(committer: &mut Committer, miner: Miner) -> Result<usize, ScanError> {
    let workspace = committer.workspace.clone();
    let mut recorded = 0;
    for found in miner.look(&workspace, 0, &AtomicBool::new(false))?.found {
        let failed = |error: WriterError| ScanError::Log(std::io::Error::other(error.to_string()));
        recorded += record(committer, &found).map_err(failed)?;
    }
    Ok(recorded)
}

fn go_on(stop: &AtomicBool) -> Result<(), ScanError> {
    if stop.load(Ordering::Relaxed) { Err(ScanError::Stopped) } else { Ok(()) }
}

/// The job that mines playbooks.
pub(super) fn playbooks(workspace: &Workspace, cursor: u64, stop: &AtomicBool) -> Result<Found, ScanError> {
    job(Miner::Playbooks, workspace, cursor, stop)
}

/// The job that reflects on errors.
pub(super) fn reflection(workspace: &Workspace, cursor: u64, stop: &AtomicBool) -> Result<Found, ScanError> {
    job(Miner::Reflection, workspace, cursor, stop)
}

/// The job that looks for claims that say the same.
pub(super) fn merges(workspace: &Workspace, cursor: u64, stop: &AtomicBool) -> Result<Found, ScanError> {
    job(Miner::Merges, workspace, cursor, stop)
}

fn job(miner: Miner, workspace: &Workspace, cursor: u64, stop: &AtomicBool) -> Result<Found, ScanError> {
    if let Some(why) = miner.off(workspace) {
        return Ok(waiting(why, cursor, Vec::new()));
    }
    let Looked { found, cursor, detail } = miner.look(workspace, cursor, stop)?;
    Ok(waiting(detail, cursor, found))
}

/// Mines the tasks that are over for playbooks. The cursor is the last end of a task.
fn for_playbooks(workspace: &Workspace, cursor: u64, stop: &AtomicBool) -> Result<Looked, ScanError> {
    let Some(store) = Reader::open(&workspace.team_memory())? else { return Ok(Looked::default()) };
    let now = system::now();
    let ((ended, books), _) =
        store.snapshot(now, |store| Ok((store.ended_tasks()?, store.playbooks(now)?)))?;
    let last = ended.last().map_or(0, |task| task.seq);
    if last <= cursor {
        return Ok(Looked { cursor, detail: "no task has ended since".to_owned(), ..Looked::default() });
    }
    let (mut tried, mut parsed) = (Vec::new(), ParsedSteps::default());
    for tasks in ended.chunks(TASKS_AT_ONCE) {
        go_on(stop)?;
        let (some, _) =
            store.snapshot(now, |store| tasks.iter().map(|task| store.tried(task, &mut parsed)).collect())?;
        let some: Vec<playbook::Tried> = some;
        tried.extend(some.into_iter().filter(|tried| !tried.steps.is_empty()));
    }
    let accepted: Vec<&[Step]> =
        books.iter().filter(|book| book.status == "accepted").map(|book| book.steps.as_slice()).collect();
    let follows = |tried: &&playbook::Tried| {
        tried.ended_seq > cursor
            && accepted.iter().any(|steps| playbook::followed(steps, &tried.steps).is_some())
    };
    let mut found: Vec<Mined> = tried.iter().filter(follows).cloned().map(Mined::Ended).collect();
    let known: Vec<Vec<Step>> = books.into_iter().map(|book| book.steps).collect();
    let new = playbook::mine(&tried, &known);
    let detail = format!("{} tasks compared, {} new playbooks", tried.len(), new.len());
    found.extend(new.into_iter().map(Mined::Playbook));
    Ok(Looked { found, cursor: last, detail })
}

/// Reads all observations for errors that come again. The cursor is the ledger position of the last observation.
fn for_errors(workspace: &Workspace, cursor: u64, stop: &AtomicBool) -> Result<Looked, ScanError> {
    let Some(store) = Reader::open(&workspace.team_memory())? else { return Ok(Looked::default()) };
    let now = system::now();
    let (newest, _) = store.snapshot(now, |store| store.last_observed())?;
    if newest <= cursor {
        return Ok(Looked { cursor, detail: "no action was seen since".to_owned(), ..Looked::default() });
    }
    let (mut reading, mut last) = (Reading::default(), 0);
    loop {
        go_on(stop)?;
        let (seen, _) = store.snapshot(now, |store| store.observations(last, SEEN_AT_ONCE))?;
        let Some(end) = seen.last().map(|one| one.n) else { break };
        for one in &seen {
            let command = one.action.join(" && ");
            let act = match one.kind {
                ObservedKind::Tool => continue,
                ObservedKind::Edit => Act::Edit,
                ObservedKind::Command => {
                    Act::Command { command: &command, error: one.error.as_deref(), failed: one.failed }
                }
            };
            reading.see(Acted {
                seq: one.seq,
                session: one.session.as_deref(),
                task: one.task.map(|task| task.to_string()),
                worktree: one.worktree.as_deref(),
                act,
            });
        }
        last = end;
    }
    let (known, _) = store.snapshot(now, |store| store.reflections(MAX_KNOWN))?;
    let known: BTreeSet<String> = known.into_iter().map(|one| one.error).collect();
    let mut clusters = reading.clusters();
    let detail = format!("{} errors compared", clusters.len());
    clusters.retain(|cluster| cluster.is_enough() || known.contains(&cluster.error));
    let ledger = ledger::Reader::open(&workspace.ledger())?;
    for cluster in clusters.iter_mut().filter(|cluster| !known.contains(&cluster.error)) {
        go_on(stop)?;
        cluster.said = ledger.as_ref().and_then(|ledger| said(ledger, cluster));
    }
    Ok(Looked { found: clusters.into_iter().map(Mined::Error).collect(), cursor: newest, detail })
}

/// The error of the last failure as it was printed.
fn said(ledger: &ledger::Reader, cluster: &Cluster) -> Option<String> {
    let last = ledger.event_at(*cluster.failures.last()?).ok()??.recorded().ok()?;
    let Some(Event::CommandRan(ran)) = last.event else { return None };
    printed_error(ran.tail?.as_str(), &cluster.error)
}

/// Compares claims in force that changed with all others. The cursor is the ledger position before the search.
fn for_merges(workspace: &Workspace, cursor: u64, stop: &AtomicBool) -> Result<Looked, ScanError> {
    let Some(store) = Reader::open(&workspace.team_memory())? else { return Ok(Looked::default()) };
    let now = system::now();
    // Each page is a state of its own: a claim that is made between two of them is for the next search.
    let (head, _) = store.snapshot(now, |store| store.folded())?;
    let (mut claims, mut before, mut has_changed) = (Vec::new(), None, false);
    loop {
        go_on(stop)?;
        let (page, _) = store.snapshot(now, |store| store.stated(before, CLAIMS_AT_ONCE, cursor))?;
        has_changed |= page.claims.iter().any(|claim| !claim.is_known);
        claims.extend(page.claims);
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    if !has_changed {
        return Ok(Looked { cursor, detail: "no claim has changed since".to_owned(), ..Looked::default() });
    }
    claims.sort_by_key(|claim| claim.id);
    let twins = merge::twins(&claims, || stop.load(Ordering::Relaxed)).ok_or(ScanError::Stopped)?;
    let detail = format!("{} claims compared, {} pairs say the same", claims.len(), twins.len());
    let found = twins.into_iter().map(|(one, other)| Mined::Twins(one, other)).collect();
    Ok(Looked { found, cursor: head.seq, detail })
}
