//! The one place that starts a program: no shell, its own session, limits, and nothing inherited unasked.
#![expect(
    unsafe_code,
    reason = "a session, a terminal and limits are taken between fork and exec: `pre_exec`"
)]

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use portable_pty::{MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Resource, Rlimit, Signal};

use super::profile::Plan;
use super::provenance::cores;

/// How a terminal is sized, as VT100s were.
const SIZE: PtySize = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
/// The largest pipe a process may have without privileges (`fs.pipe-max-size`): fewer switches on long output.
pub(super) const PIPE_BYTES: usize = 1 << 20;
/// What processor time is granted beyond the timeout, in seconds: the timeout ends a run, this limit a process that escaped it.
const CPU_SLACK_SECONDS: u64 = 5;

/// Why a program did not start.
#[derive(Debug, thiserror::Error)]
pub(super) enum SpawnError {
    /// Nothing of this name is on the PATH.
    #[error("`{0}` is not on the PATH: install it, or correct argv[0]")]
    NotFound(String),
    /// A file that cannot be run.
    #[error("{} cannot be run: {problem}", .path.display())]
    NotRunnable {
        /// Which file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// No terminal.
    #[error("no terminal could be opened: {0}")]
    Terminal(String),
    /// The system refused.
    #[error("the program could not be started: {0}")]
    System(#[from] io::Error),
}

/// A program that runs, and the ends of its streams that are ours.
pub(super) struct Started {
    /// Its process, which leads a session and group of its own.
    pub(super) leader: Pid,
    /// Its standard output, or its terminal.
    pub(super) stdout: Box<dyn Read + Send>,
    /// Its standard error.
    pub(super) stderr: Box<dyn Read + Send>,
    /// Its terminal is hung up when this is dropped.
    _terminal: Option<Box<dyn MasterPty + Send>>,
}

/// The file that a program's name stands for: a path below `cwd` or an absolute one, else the first on the PATH.
/// Relative entries of the PATH are passed over: what runs must not depend on where.
pub(super) fn find(program: &str, cwd: &Path, path: Option<&str>) -> Result<PathBuf, SpawnError> {
    let found = if program.contains('/') {
        Some(cwd.join(program)).filter(|file| file.exists())
    } else {
        let dirs = path.into_iter().flat_map(std::env::split_paths).filter(|dir| dir.is_absolute());
        dirs.map(|dir| dir.join(program)).find(|file| is_executable(file))
    };
    let path = found.ok_or_else(|| SpawnError::NotFound(program.to_owned()))?;
    check(&path).map_err(|problem| SpawnError::NotRunnable { path: path.clone(), problem })?;
    Ok(path)
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// A text without `#!` would be handed to a shell by `execvp`; here nothing is.
fn check(path: &Path) -> Result<(), String> {
    if !is_executable(path) {
        return Err("it is no executable file: chmod +x it, or name another".to_owned());
    }
    let mut magic = [0; 4];
    // What may be run and not read is no script.
    let Ok(mut file) = File::open(path) else { return Ok(()) };
    let read = file.read(&mut magic).map_err(|error| error.to_string())?;
    let is_program = match &magic[..read] {
        [b'#', b'!', ..] | [0x7f, b'E', b'L', b'F'] => true,
        // Mach-O, for one processor or several, in either byte order.
        magic => {
            cfg!(target_vendor = "apple")
                && matches!(magic, [0xcf | 0xce, 0xfa, 0xed, 0xfe] | [0xca, 0xfe, 0xba, 0xbe])
        }
    };
    if is_program {
        Ok(())
    } else {
        Err("it is neither a binary nor a script with #! in its first line".to_owned())
    }
}

/// Starts a program. The thread that calls this must outlive it: with the thread, the program is killed.
pub(super) fn start(
    program: &Path,
    plan: &Plan,
    environment: &BTreeMap<String, String>,
) -> Result<Started, SpawnError> {
    let [name, arguments @ ..] = &plan.argv[..] else {
        return Err(SpawnError::NotFound(String::new()));
    };
    let terminal = plan.pty.then(Terminal::open).transpose()?;
    let mut command = Command::new(program);
    command.arg0(name).args(arguments).current_dir(&plan.cwd).env_clear().envs(environment);
    command.stderr(Stdio::piped());
    match &terminal {
        None => command.stdin(Stdio::null()).stdout(Stdio::piped()),
        Some(terminal) => command.stdin(terminal.slave.try_clone()?).stdout(terminal.slave.try_clone()?),
    };
    let limits = limits(plan);
    let on_terminal = plan.pty;
    let parent = rustix::process::getpid();
    let enter = move || -> io::Result<()> {
        rustix::process::setsid()?;
        if on_terminal {
            // SAFETY: descriptor 0 was set up before this runs and stays open until exec.
            let stdin = unsafe { BorrowedFd::borrow_raw(0) };
            rustix::process::ioctl_tiocsctty(stdin)?;
        }
        for (resource, limit) in limits {
            rustix::process::setrlimit(resource, limit)?;
        }
        #[cfg(target_os = "linux")]
        {
            rustix::thread::set_no_new_privs(true)?;
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before that.
            if rustix::process::getppid() != Some(parent) {
                return Err(rustix::io::Errno::SRCH.into());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made, on values copied before: nothing allocates,
    // takes a lock or can panic.
    unsafe { command.pre_exec(enter) };
    let mut child = command.spawn()?;
    // The command holds the terminal's other end; while it is open here, the end of output is never seen.
    drop(command);
    let leader = Pid::from_child(&child);
    let stderr = child.stderr.take().ok_or_else(|| io::Error::other("no pipe for stderr"))?;
    widen(&stderr);
    let (stdout, terminal): (Box<dyn Read + Send>, _) = match (child.stdout.take(), terminal) {
        (Some(stdout), _) => {
            widen(&stdout);
            (Box::new(stdout), None)
        }
        (None, Some(terminal)) => {
            let reader = terminal
                .master
                .try_clone_reader()
                .map_err(|error| SpawnError::Terminal(error.to_string()))?;
            (reader, Some(terminal.master))
        }
        (None, None) => return Err(io::Error::other("no pipe for stdout").into()),
    };
    Ok(Started { leader, stdout, stderr: Box::new(stderr), _terminal: terminal })
}

/// A terminal pair.
struct Terminal {
    master: Box<dyn MasterPty + Send>,
    slave: File,
}

impl Terminal {
    /// Opened so that `\n` stays `\n` (hashes would change with the terminal) and nothing is echoed.
    fn open() -> Result<Self, SpawnError> {
        let told = |error: &dyn std::fmt::Display| SpawnError::Terminal(error.to_string());
        let pair = native_pty_system().openpty(SIZE).map_err(|error| told(&error))?;
        let name = pair.master.tty_name().ok_or_else(|| told(&"it has no name"))?;
        // Without O_NOCTTY this process would get it as its own.
        let no_controlling = i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).unwrap_or(0);
        let slave = OpenOptions::new().read(true).write(true).custom_flags(no_controlling).open(name)?;
        let mut modes = rustix::termios::tcgetattr(&slave).map_err(io::Error::from)?;
        modes.output_modes.remove(rustix::termios::OutputModes::OPOST);
        modes.local_modes.remove(rustix::termios::LocalModes::ECHO);
        rustix::termios::tcsetattr(&slave, rustix::termios::OptionalActions::Now, &modes)
            .map_err(io::Error::from)?;
        Ok(Self { master: pair.master, slave })
    }
}

/// Asks for a larger pipe; a smaller one works too.
fn widen(pipe: &impl AsFd) {
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
    #[cfg(not(target_os = "linux"))]
    let _ = (pipe, PIPE_BYTES);
}

/// The limits of a run, none above what this process has itself.
fn limits(plan: &Plan) -> [(Resource, Rlimit); 4] {
    let seconds = match plan.limits.cpu_seconds {
        0 => (plan.timeout_ms.div_ceil(1_000) + CPU_SLACK_SECONDS) * cores() as u64,
        seconds => seconds,
    };
    let at_most = |resource: Resource, wanted: u64| {
        let own = rustix::process::getrlimit(resource).maximum;
        let limit = Some(own.map_or(wanted, |own| own.min(wanted)));
        (resource, Rlimit { current: limit, maximum: limit })
    };
    [
        at_most(Resource::Core, 0),
        at_most(Resource::Nofile, plan.limits.open_files),
        at_most(Resource::Fsize, plan.limits.file_bytes),
        at_most(Resource::Cpu, seconds),
    ]
}
