//! The checks of the program, the writer, the memory, the read models and the pack.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::json;

use super::{Check, Doctor};
use crate::clients::CLIENTS;
use crate::identity::Caller;
use crate::integrity::{Scan, ScanError};
use crate::reads::Reads;
use crate::spool::Spool;
use crate::standing::{Damage, Standing};
use crate::system;
use crate::views::{self, ContextOf, Format, View, ViewError};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// How long a writer may take to start: many times what it takes on a slow disk.
const UP_WITHIN: Duration = Duration::from_secs(10);
/// The pause between two questions to a starting writer.
const UP_POLL: Duration = Duration::from_millis(20);

/// The cure for read models that cannot be read.
const REBUILD: &str = "run `hm rebuild`: nothing is lost";
/// The cure for files of a newer version.
const UPDATE: &str = "update this hm: nothing is lost, and writes wait in the spool";
/// The way forward for a ledger that cannot be read.
const VERIFY: &str = "run `hm verify`, which says what is damaged";

impl Doctor<'_> {
    /// Whether the `hm` that clients run is this program.
    pub(super) fn program(&self) -> Check {
        let here = self.binary.display();
        let Some(found) = self.places.program("hm") else {
            let dir = self.binary.parent().unwrap_or(&self.binary).display();
            return Check::fault(
                "hm",
                format!("hm is not on the PATH, so no client can run it; this is {VERSION} at {here}"),
                format!("add {dir} to the PATH of your shell, and start the clients anew"),
            );
        };
        let there = found.display();
        let same = |path: &Path| path.canonicalize().ok();
        if same(&found) == same(&self.binary) {
            return Check::ok("hm", format!("{VERSION} at {there}, the one on the PATH"));
        }
        match version_of(&found) {
            Some(version) if version == VERSION => Check::note(
                "hm",
                format!("clients run {there}; this is {here}, of the same version {VERSION}"),
            ),
            other => {
                let other = other.unwrap_or_else(|| "a program that does not say its version".to_owned());
                Check::fault(
                    "hm",
                    format!("clients run {other} at {there}; this is {VERSION} at {here}"),
                    "install this one over it, or put its directory first on the PATH",
                )
            }
        }
    }

    /// The place of the memory, remarks about it, and queued commands that no writer took.
    pub(super) fn memory(&self) -> Vec<Check> {
        let mut checks = vec![Check::ok("memory", self.workspace.memory().display().to_string())];
        checks.extend(self.workspace.remarks().into_iter().map(|remark| Check::note("memory", remark)));
        let (rejected, later) = Spool::of(self.workspace).left_behind();
        if rejected > 0 {
            let file = self.workspace.rejected_spool();
            checks.push(
                Check::note("spool", format!("{rejected} queued writes did not pass"))
                    .fixed_by(format!("read why in {}, then remove it", file.display())),
            );
        }
        if later > 0 {
            checks.push(Check::fault(
                "spool",
                format!("{later} queued writes are of a newer version of hm; nothing is lost"),
                "update this hm: the next writer takes them",
            ));
        }
        checks
    }

    /// Whether HM_AGENT names an agent of the roster.
    pub(super) fn agent(&self) -> Option<Check> {
        let name = self.agent.as_deref()?;
        let session = "hm-doctor".parse().expect("a short printable line");
        Some(match Caller::new(self.config.roster.clone(), Some(name), session) {
            Ok(_) => Check::ok("agent", format!("HM_AGENT is {name}")),
            Err(refused) => Check::fault(
                "agent",
                format!("HM_AGENT: {}; every hook is silent, and no server starts", refused.message),
                refused.hint,
            ),
        })
    }

    /// Whether a writer runs or can be started.
    pub(super) async fn writer(&self) -> Check {
        let pid = std::fs::read_to_string(self.workspace.writer_lock()).unwrap_or_default();
        let pid = pid.trim();
        if self.front.writer_is_up().await {
            return Check::ok("writer", format!("running, process {pid}"));
        }
        let lock = File::options().write(true).open(self.workspace.writer_lock());
        if lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock))) {
            return Check::fault(
                "writer",
                format!(
                    "process {pid} holds the writer's lock and does not answer, or is of another version"
                ),
                format!(
                    "close panes of another hm; if there are none, end process {pid}: the next write starts another"
                ),
            );
        }
        let stale = self.workspace.socket().ok().filter(|socket| socket.exists());
        let log = self.workspace.writer_log();
        if let Err(why) = self.start_writer().await {
            return Check::fault(
                "writer",
                format!("none is running, and none can be started: {why}"),
                format!("see the end of {}; writes wait in the spool meanwhile", log.display()),
            );
        }
        if let Some(socket) = stale {
            return Check::fault(
                "writer",
                format!("the last one, process {pid}, died and left a stale socket, {}", socket.display()),
                format!(
                    "another was started and nothing acknowledged is lost; why it died may stand in {}",
                    log.display()
                ),
            );
        }
        Check::ok("writer", "was not running; it starts when it is needed")
    }

    async fn start_writer(&self) -> Result<(), String> {
        let message = |error: std::io::Error| error.to_string();
        // A fresh clone has no memory yet.
        self.workspace.ensure().map_err(|error| error.to_string())?;
        let mut child = self.front.start_writer().map_err(message)?;
        let deadline = system::instant() + UP_WITHIN;
        while system::instant() < deadline {
            if self.front.writer_is_up().await {
                return Ok(());
            }
            if let Some(status) = child.try_wait().map_err(message)?.filter(|status| !status.success()) {
                return Err(status.to_string());
            }
            tokio::time::sleep(UP_POLL).await;
        }
        Err(format!("it does not answer within {} s", UP_WITHIN.as_secs()))
    }

    /// Whether ledger and read models are sound.
    pub(super) fn store(&self) -> Check {
        let go_on = AtomicBool::new(false);
        // Runs the longer scan only when the quick one finds nothing.
        let scan = match Scan::quick(self.workspace, &go_on) {
            Ok(scan) if scan.findings.is_empty() => Scan::of(self.workspace, &go_on),
            other => other,
        };
        match scan {
            Err(error) => Check::fault("store", error.to_string(), cure(&error)),
            Ok(scan) if scan.findings.is_empty() => {
                Check::ok("store", "readable, up to date, with room to grow")
            }
            Ok(scan) => {
                let found: Vec<_> = scan.findings.into_iter().map(|finding| finding.message).collect();
                Check::fault("store", found.join("; "), "do as it says, then run `hm verify`")
            }
        }
    }

    /// Whether the ledger agrees with the evidence of this machine.
    pub(super) fn standing(&self) -> Check {
        match Standing::of(self.workspace, self.state_home) {
            Err(error) => Check::fault("ledger", error.to_string(), VERIFY),
            Ok(Standing { damage: Some(damage), .. }) => {
                Check::fault("ledger", damage.loss.fault, Damage::FIX)
            }
            Ok(Standing { unsealed: Some(why), .. }) => Check::note("ledger", why),
            Ok(_) => Check::ok("ledger", "holds what was sealed of it here"),
        }
    }

    /// Whether the context of every agent fits into the limits of the clients.
    pub(super) fn pack(&self) -> Check {
        let mut reads = Reads::of(self.workspace.clone());
        let mut largest = (0, "no agent".to_owned());
        for agent in self.config.roster.agents() {
            let view = View::Context(ContextOf::new(agent.clone(), None));
            match views::answer(&mut reads, self.config, &view, system::now(), Format::Text) {
                Ok(answer) => largest = largest.max((answer.into_text().chars().count(), agent.to_string())),
                Err(ViewError::Store(error)) => {
                    let error = ScanError::from(error);
                    return Check::fault("pack", error.to_string(), cure(&error));
                }
                Err(error) => return Check::fault("pack", error.to_string(), VERIFY),
            }
        }
        let (chars, agent) = largest;
        let limits = CLIENTS.iter().filter_map(|client| Some((client.name, client.hooks()?.context_chars?)));
        let limits: Vec<_> = limits.collect();
        let shown: Vec<_> = limits.iter().map(|(name, limit)| format!("{name} {limit}")).collect();
        let data = json!({ "chars": chars, "agent": agent, "limits": limits });
        let message = format!(
            "the longest context, that of {agent}, has {chars} characters; clients cut at: {}",
            shown.join(", ")
        );
        match limits.iter().all(|(_, limit)| chars <= *limit) {
            true => Check::ok("pack", message).with(data),
            false => Check::fault("pack", message, "this is a mistake in hm: please report it").with(data),
        }
    }
}

/// The cure for a memory that cannot be read. Read models can always be made anew from the ledger.
fn cure(error: &ScanError) -> &'static str {
    use crate::ledger::LedgerError;
    use crate::store::StoreError;
    if let ScanError::Ledger(LedgerError::Newer { .. })
    | ScanError::Store(StoreError::Newer { .. } | StoreError::Ledger(LedgerError::Newer { .. })) = error
    {
        UPDATE
    } else if let ScanError::Ledger(LedgerError::Unreadable { .. })
    | ScanError::Store(
        StoreError::Unreadable { .. } | StoreError::Ledger(LedgerError::Unreadable { .. }),
    ) = error
    {
        crate::sqlite::CURE
    } else if let ScanError::Store(_) = error {
        REBUILD
    } else {
        VERIFY
    }
}

/// The version that a program called `hm` prints; `None` when it prints none.
fn version_of(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().strip_prefix("hm ")?.to_owned())
}
