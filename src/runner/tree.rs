//! Follows, ends and reaps all processes of a run.
//!
//! On Linux the helper is the subreaper of the processes it starts: a process that daemonises becomes its
//! child, so "no child left" means "no process left". On other systems only the process group is certain.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, wait, waitpid,
};
use uuid::Uuid;

use super::report::Exit;
use crate::system;
pub use crate::system::RUN_VARIABLE;

/// How long a run may take to end by itself after SIGTERM. All its processes must be gone 2 s after the
/// timeout; the last half second is for those that ignore the signal.
pub const GRACE: Duration = Duration::from_millis(1_500);
/// How long killing may take. A process in an uninterruptible wait may take longer.
pub(super) const SWEEP: Duration = Duration::from_millis(1_000);
/// How long the processes of a lost helper are searched: many times what ending a large number of them takes.
const SWEEP_OF_LOST: Duration = Duration::from_secs(10);
/// The pause between two searches.
const PAUSE: Duration = Duration::from_millis(2);

/// Makes this process the parent of orphans among its descendants. The processes of a run must be its only
/// descendants.
///
/// # Errors
/// The error of the system.
pub fn adopt_orphans() -> rustix::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// A process and all its descendants.
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

    /// How the first process ended; `None` until it is reaped.
    pub(super) const fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Reaps the children that ended. True when a child is left.
    pub(super) fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.leader => self.exit = Some(exit_of(status)),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                // The process has no child.
                Err(_) => return false,
            }
        }
    }

    /// Asks the process group to end, then ends all descendants. Returns the number of processes that are left.
    pub(super) fn terminate(&mut self) -> u32 {
        let _ = kill_process_group(self.leader, Signal::TERM);
        let deadline = system::instant() + GRACE;
        while self.reap() && system::instant() < deadline {
            // The first process ended: the others did not follow it, so they get no more time.
            if self.exit.is_some() {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        self.sweep()
    }

    /// Ends all descendants now. Returns the number of processes that are left.
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

/// Stops processes until a search finds no new one, so that none can start another while they are killed.
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

/// All descendants of a process, as the kernel lists them now.
fn descendants(of: Pid) -> Vec<Pid> {
    let parents: Vec<(Pid, Pid)> = processes().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = HashSet::from([of]);
    // A child may be listed before its parent: each pass finds one more generation.
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

/// All processes; empty where there is no `/proc`.
fn processes() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").ok().into_iter().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?))
}

/// The parent of a process: the second field after the name, which may contain spaces and parentheses.
fn parent(pid: Pid) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    Pid::from_raw(after_name.split_whitespace().nth(1)?.parse().ok()?)
}

/// Ends the processes that a crash left of a run, found by the variable in their environment. A writer calls it
/// when it starts and finds a run without a helper. Returns the number of processes ended. It spares this
/// process, which the front of an agent in that run may have started.
pub fn end_marked(run: Uuid) -> u32 {
    end_all(SWEEP, || marked(run))
}

/// Ends a helper that does not answer and every process of its run. Returns when none is left, or after 10 s.
///
/// Three searches find them: descendants of the helper while it lives, even stopped; processes with the
/// variable of the run; and descendants of this process where it adopts orphans ([`adopt_orphans`]). The last
/// one finds an orphan of a killed helper even if it removed the variable.
pub fn end_lost(run: Uuid, helper: Option<Pid>) -> u32 {
    let own = rustix::process::getpid();
    let adopts = adopts_orphans();
    end_all(SWEEP_OF_LOST, || {
        let mut found = marked(run);
        found.extend(helper.into_iter().flat_map(|helper| descendants(helper).into_iter().chain([helper])));
        if adopts {
            found.extend(descendants(own));
        }
        // A zombie is listed until its parent reaps it. The code that started the helper reaps the helper.
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

/// Every process except this one whose environment has the variable of a run.
fn marked(run: Uuid) -> Vec<Pid> {
    let mark = format!("{RUN_VARIABLE}={run}");
    let is_marked = |pid: &Pid| {
        let environ = std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|line| line == mark.as_bytes())
    };
    let own = rustix::process::getpid();
    processes().filter(|pid| *pid != own && is_marked(pid)).collect()
}

/// Whether this process had a child of that id that ended; it is reaped now.
fn is_reaped(pid: Pid) -> bool {
    matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(Some(_)))
}

fn is_zombie(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, after_name)| after_name.trim_start().starts_with('Z'))
}

/// Stops and kills the processes that a search finds, until it finds none or the time is over. Returns the
/// number of processes killed.
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
