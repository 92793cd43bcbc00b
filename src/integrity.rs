//! The integrity scan: what does not fit together is reported, and nothing is ever deleted or invented.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use crate::checkpoints;
use crate::domain::ids::EventId;
use crate::domain::time::Timestamp;
use crate::ledger::{self, LedgerError, Origin};
use crate::private;
use crate::store::{self, StoreError};
use crate::system;
use crate::workspace::Workspace;

/// How many of the newest events have chain and payload checked: some tens of milliseconds of work. All of
/// them are what `hm verify` is for.
pub const NEWEST: u64 = 10_000;
/// Rows read in one transaction, so that no reader holds a log for long.
const PAGE: usize = 5_000;
/// The most findings of one kind that are written out; the rest is counted.
const MAX_LISTED: usize = 100;
/// Bytes after which the log starts anew; the one before is kept beside it.
const MAX_LOG_BYTES: u64 = 1024 * 1024;
/// How long read models may take to follow, before they are behind.
const FOLLOWS_WITHIN: Duration = Duration::from_secs(2);

/// Free space below which somebody should look: a ledger of 100,000 events with its log fits into it.
const ROOM_BYTES: u64 = 200 * 1024 * 1024;

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable, for programs.
    pub code: &'static str,
    /// One sentence; ids and numbers, never the text of a claim.
    pub message: String,
}

/// What a scan saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// Events whose chain and payload were checked.
    pub events: u64,
    /// Claims whose rows were checked, once for each table.
    pub claims: u64,
    /// What does not fit, of each kind the first hundred.
    pub findings: Vec<Finding>,
    /// How many more there are.
    pub unlisted: u64,
}

/// Why there was no scan.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The read models cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The report cannot be written.
    #[error("cannot write the integrity log: {0}")]
    Log(#[from] io::Error),
    /// The writer leaves.
    #[error("stopped before its end")]
    Stopped,
}

impl Scan {
    /// Looks at a workspace through read-only handles; `stop` ends it early.
    ///
    /// # Errors
    /// [`ScanError`]; what cannot be read is no finding but a failure.
    pub fn of(workspace: &Workspace, stop: &AtomicBool) -> Result<Self, ScanError> {
        let mut scan = Self::default();
        let ledger = ledger::Reader::open(&workspace.ledger())?;
        let store = store::Reader::open(&workspace.team_memory())?;
        if let Some(ledger) = &ledger {
            scan.chain(workspace, ledger)?;
        }
        match (&ledger, &store) {
            (Some(ledger), Some(store)) => {
                scan.follows(store, ledger, stop)?;
                scan.rows(store, ledger, stop)?;
                scan.legible(store, stop)?;
            }
            (None, Some(store)) => scan.without_ledger(workspace, store)?,
            (_, None) => {}
        }
        Ok(scan)
    }

    /// What can be seen at a glance: whether everything can be read, follows, and has room to grow.
    ///
    /// # Errors
    /// [`ScanError`], as for [`Scan::of`].
    pub fn quick(workspace: &Workspace, stop: &AtomicBool) -> Result<Self, ScanError> {
        let mut scan = Self::default();
        let ledger = ledger::Reader::open(&workspace.ledger())?;
        match (ledger, store::Reader::open(&workspace.team_memory())?) {
            (Some(ledger), Some(store)) => scan.follows(&store, &ledger, stop)?,
            (None, Some(store)) => scan.without_ledger(workspace, &store)?,
            (_, None) => {}
        }
        if let Some(free) = free_bytes(workspace.memory()).filter(|free| *free < ROOM_BYTES) {
            let what = format!("the disk has {} MiB left: make room before writes are refused", free >> 20);
            scan.add("disk_low", what);
        }
        Ok(scan)
    }

    /// Everything that was found, listed or not.
    pub fn found(&self) -> u64 {
        self.findings.len() as u64 + self.unlisted
    }

    fn add(&mut self, code: &'static str, message: String) {
        if self.findings.iter().filter(|finding| finding.code == code).count() < MAX_LISTED {
            self.findings.push(Finding { code, message });
        } else {
            self.unlisted += 1;
        }
    }

    /// The newest events, and that the last checkpoint has seen what stands there.
    fn chain(&mut self, workspace: &Workspace, ledger: &ledger::Reader) -> Result<(), ScanError> {
        let head = ledger.head()?.seq;
        let from = head.saturating_sub(NEWEST);
        let report = ledger.verify_after(from)?;
        self.events = report.events.saturating_sub(from);
        if let Some(fault) = report.fault {
            self.add("broken_chain", fault.to_string());
        }
        let origin = ledger.hashes_after(0, 1)?.first().map(Origin::of);
        let sealed = checkpoints::last(&workspace.checkpoints());
        // One of another ledger is for `hm verify` to judge.
        if let Some(sealed) = sealed.filter(|sealed| Some(&sealed.origin) == origin.as_ref()) {
            let there = ledger.hashes_after(sealed.size.saturating_sub(1), 1)?.first().map(hex::encode);
            if there.as_deref() != Some(&sealed.head_hash) {
                let size = sealed.size;
                self.add("checkpoint_mismatch", format!("the last checkpoint has seen another event {size}"));
            }
        }
        if ledger.owes_erasure()? {
            let what = "an erasure is not finished: see writer.log in the memory";
            self.add("erasure_unfinished", what.to_owned());
        }
        Ok(())
    }

    /// Whether the read models hold what the ledger holds, or come to hold it soon.
    fn follows(
        &mut self,
        store: &store::Reader,
        ledger: &ledger::Reader,
        stop: &AtomicBool,
    ) -> Result<(), ScanError> {
        let wanted = ledger.head()?.seq;
        let mut waited = Duration::ZERO;
        while store.folded()?.seq < wanted && waited < FOLLOWS_WITHIN {
            unless_stopped(stop)?;
            std::thread::sleep(FOLLOWS_WITHIN / 20);
            waited += FOLLOWS_WITHIN / 20;
        }
        let folded = store.folded()?.seq;
        if folded < wanted {
            let what = format!("the read models stand at event {folded} of {wanted}: run `hm rebuild`");
            self.add("read_models_behind", what);
        }
        Ok(())
    }

    /// Read models of a ledger that is not there: its file was emptied or taken away, as events are never deleted.
    fn without_ledger(&mut self, workspace: &Workspace, store: &store::Reader) -> Result<(), ScanError> {
        let folded = store.folded()?.seq;
        // It may have been made since it was looked for; what is folded stood in it before.
        if folded > 0 && ledger::Reader::open(&workspace.ledger())?.is_none() {
            let file = workspace.ledger().display().to_string();
            let what = format!(
                "the read models hold {folded} events and {file} none: put it back from a backup before anything is \
                 written"
            );
            self.add("ledger_missing", what);
        }
        Ok(())
    }

    /// Rows about no claim, and evidence that is no event. A claim whose creation was erased is explained.
    fn rows(
        &mut self,
        store: &store::Reader,
        ledger: &ledger::Reader,
        stop: &AtomicBool,
    ) -> Result<(), ScanError> {
        for table in store::TABLES_ABOUT_CLAIMS {
            let mut after = None;
            loop {
                unless_stopped(stop)?;
                let page = store.claims_of(table, after.as_deref(), PAGE)?;
                let Some(last) = page.last() else { break };
                for cited in store.events_cited(table, after.as_deref(), &last.claim_id)? {
                    let known = cited.parse::<EventId>().ok().map(|id| ledger.has_event(id)).transpose()?;
                    if known != Some(true) {
                        let what = format!("{table} cites {cited}, which is no event of the ledger");
                        self.add("unresolved_evidence", what);
                    }
                }
                after = Some(last.claim_id.clone());
                self.claims += page.len() as u64;
                for row in page.iter().filter(|row| !row.is_known) {
                    if !is_erased(ledger, &row.claim_id)? {
                        self.add(
                            "orphan_row",
                            format!("{table} holds rows about no claim: {}", row.claim_id),
                        );
                    }
                }
            }
        }
        Ok(())
    }

    /// Rows that views leave out.
    fn legible(&mut self, store: &store::Reader, stop: &AtomicBool) -> Result<(), ScanError> {
        let unreadable = store.unreadable(system::now(), PAGE, || unless_stopped(stop))?;
        for (table, left_out) in unreadable {
            for problem in left_out.problems() {
                let what =
                    format!("a row of {table} cannot be read and is left out: run `hm rebuild` ({problem})");
                self.add("unreadable_row", what);
            }
        }
        Ok(())
    }

    /// Appends a line for each finding and one for the scan.
    ///
    /// # Errors
    /// What the file system said.
    pub fn log(&self, path: &Path, at: Timestamp, took_ms: u64) -> io::Result<()> {
        if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() >= MAX_LOG_BYTES) {
            std::fs::rename(path, path.with_extension("log.1"))?;
        }
        let mut lines = String::new();
        for Finding { code, message } in &self.findings {
            lines.push_str(&json!({ "at": at.ms(), "code": code, "message": message }).to_string());
            lines.push('\n');
        }
        let Self { events, claims, unlisted, .. } = self;
        let summary = json!({
            "at": at.ms(), "took_ms": took_ms, "events": events, "claims": claims,
            "findings": self.found(), "unlisted": unlisted,
        });
        lines.push_str(&summary.to_string());
        lines.push('\n');
        private::options().create(true).append(true).open(path)?.write_all(lines.as_bytes())
    }
}

fn unless_stopped(stop: &AtomicBool) -> Result<(), ScanError> {
    if stop.load(Ordering::Relaxed) { Err(ScanError::Stopped) } else { Ok(()) }
}

/// What is left on the disk of a directory, where the system says so.
fn free_bytes(dir: &Path) -> Option<u64> {
    #[cfg(unix)]
    return rustix::fs::statvfs(dir).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    #[cfg(not(unix))]
    return None.filter(|_: &u64| dir.exists());
}

/// Whether a claim is missing because an operator had its creation erased.
fn is_erased(ledger: &ledger::Reader, claim_id: &str) -> Result<bool, LedgerError> {
    let Ok(id) = claim_id.parse::<EventId>() else { return Ok(false) };
    Ok(ledger.event(id)?.is_some_and(|event| event.payload.is_none()))
}
