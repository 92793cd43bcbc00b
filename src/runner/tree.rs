//! The processes of a run, all of them: how they are followed, ended and reaped.
//!
//! On Linux the helper is the subreaper of what it starts: whatever daemonises becomes its child, so "no child
//! left" means "nothing left". Elsewhere only the process group is certain.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, wait, waitpid,
};
use uuid::Uuid;

use super::report::Exit;
use crate::system;

/// The variable that marks every process of a run with its id.
pub const RUN_VARIABLE: &str = "HM_RUN_ID";
/// What a run may use to leave by itself after SIGTERM. Spec 10 wants nothing left 2 s after the timeout; the
/// last half second is for what ignores the signal.
pub const GRACE: Duration = Duration::from_millis(1_500);
/// How long killing may take; a process in an uninterruptible wait takes as long as it likes.
pub(super) const SWEEP: Duration = Duration::from_millis(1_000);
/// How long the processes of a lost helper are looked for: many times what it takes to end a crowd of them.
const SWEEP_OF_LOST: Duration = Duration::from_secs(10);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(2);

/// Makes this process the parent of orphaned processes among its descendants. The processes of a run must be its
/// only descendants.
///
/// # Errors
/// Those of the system.
pub fn adopt_orphans() -> rustix::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// A process with everything it starts.
#[derive(Debug)]
pub(super) struct Tree {
    /// The first process, the leader of its own session and group.
    leader: Pid,
    exit: Option<Exit>,
}

impl Tree {
    pub(super) const fn of(leader: Pid) -> Self {
        Self { leader, exit: None }
    }

    /// How the first process left, once it is reaped.
    pub(super) const fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Reaps what has ended; whether any child is left.
    pub(super) fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.leader => self.exit = Some(exit_of(status)),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                // No child at all.
                Err(_) => return false,
            }
        }
    }

    /// Asks the group to leave, then ends everything. Processes that are still there.
    pub(super) fn terminate(&mut self) -> u32 {
        let _ = kill_process_group(self.leader, Signal::TERM);
        let deadline = system::instant() + GRACE;
        while self.reap() && system::instant() < deadline {
            // The first process has left: what stayed behind was not asked to, and will not be waited for.
            if self.exit.is_some() {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        self.sweep()
    }

    /// Ends everything now. Processes that are still there.
    pub(super) fn sweep(&mut self) -> u32 {
        let deadline = system::instant() + SWEEP;
        while self.reap() {
            let _ = kill_process_group(self.leader, Signal::KILL);
            let left = stopped(|| descendants(rustix::process::getpid()), deadline);
            if system::instant() >= deadline {
                return u32::try_from(left.len()).unwrap_or(u32::MAX);
            }
            for pid in left {
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(PAUSE);
        }
        0
    }
}

/// Stops processes until a look finds no new one, so that none can start another while they are ended.
fn stopped(look: impl Fn() -> Vec<Pid>, deadline: Instant) -> HashSet<Pid> {
    let mut stopped = HashSet::new();
    loop {
        let fresh: Vec<Pid> = look().into_iter().filter(|pid| stopped.insert(*pid)).collect();
        if fresh.is_empty() || system::instant() >= deadline {
            return stopped;
        }
        for pid in fresh {
            let _ = kill_process(pid, Signal::STOP);
        }
    }
}

fn exit_of(status: WaitStatus) -> Exit {
    Exit { code: status.exit_status(), signal: status.terminating_signal() }
}

/// Everything that descends from a process, as the kernel lists it now.
fn descendants(of: Pid) -> Vec<Pid> {
    let parents: Vec<(Pid, Pid)> = processes().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = HashSet::from([of]);
    // A child is listed before or after its parent: as many passes as the tree is deep.
    loop {
        let before = found.len();
        for (pid, parent) in &parents {
            if found.contains(parent) {
                found.insert(*pid);
            }
        }
        if found.len() == before {
            break;
        }
    }
    found.remove(&of);
    found.into_iter().collect()
}

/// Every process there is; none where there is no `/proc`.
fn processes() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").ok().into_iter().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?))
}

/// The parent, from the field after the name, which may hold spaces and parentheses.
fn parent(pid: Pid) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    Pid::from_raw(after_name.split_whitespace().nth(1)?.parse().ok()?)
}

/// Ends what a crash left of a run, by the mark in its environment: for a writer that starts and finds a run
/// without a helper. How many processes it ended; never this one, which an agent's own front may have started.
pub fn end_marked(run: Uuid) -> u32 {
    end_all(SWEEP, || marked(run))
}

/// Ends a helper that does not answer and every process of its run. Returns when none is left, or after 10 s.
///
/// Three looks find them: what descends from the helper while it lives, if only stopped; what carries the mark of
/// the run; and what descends from this process, where it adopts orphans ([`adopt_orphans`]): an orphan of a
/// killed helper is found there even if it has dropped the mark.
pub fn end_lost(run: Uuid, helper: Option<Pid>) -> u32 {
    let own = rustix::process::getpid();
    let adopts = adopts_orphans();
    end_all(SWEEP_OF_LOST, || {
        let mut found = marked(run);
        found.extend(helper.into_iter().flat_map(|helper| descendants(helper).into_iter().chain([helper])));
        if adopts {
            found.extend(descendants(own));
        }
        // A zombie stays listed until its parent reaps it. The helper is reaped by the code that started it.
        found.retain(|pid| Some(*pid) != helper || !is_zombie(*pid));
        found.retain(|pid| Some(*pid) == helper || !is_reaped(*pid));
        found
    })
}

fn adopts_orphans() -> bool {
    #[cfg(target_os = "linux")]
    return matches!(rustix::process::child_subreaper(), Ok(Some(_)));
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// Every process but this one with the mark of a run in its environment.
fn marked(run: Uuid) -> Vec<Pid> {
    let mark = format!("{RUN_VARIABLE}={run}");
    let is_marked = |pid: &Pid| {
        let environ = std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|line| line == mark.as_bytes())
    };
    let own = rustix::process::getpid();
    processes().filter(|pid| *pid != own && is_marked(pid)).collect()
}

/// Whether a child of this process had ended and is gone now.
fn is_reaped(pid: Pid) -> bool {
    matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(Some(_)))
}

fn is_zombie(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, after_name)| after_name.trim_start().starts_with('Z'))
}

/// Stops and kills what a look finds until it finds nothing, or the time is over. How many processes it killed.
fn end_all(within: Duration, look: impl Fn() -> Vec<Pid>) -> u32 {
    let deadline = system::instant() + within;
    let mut ended = HashSet::new();
    loop {
        let left = stopped(&look, deadline);
        if left.is_empty() || system::instant() >= deadline {
            return u32::try_from(ended.len()).unwrap_or(u32::MAX);
        }
        for pid in left {
            let _ = kill_process(pid, Signal::KILL);
            ended.insert(pid);
        }
        std::thread::sleep(PAUSE);
    }
}
