//! The one place that starts a program: without a shell, in its own session, under limits, inheriting only what
//! is named.
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

/// The size of the terminal, that of a VT100.
const SIZE: PtySize = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
/// The largest pipe that a process may have without privileges (`fs.pipe-max-size`). It saves switches on long output.
pub(super) const PIPE_BYTES: usize = 1 << 20;
/// Processor time beyond the timeout, in seconds. The timeout ends a run; this limit ends a process that
/// escaped it.
const CPU_SLACK_SECONDS: u64 = 5;

/// Why a program did not start.
#[derive(Debug, thiserror::Error)]
pub(super) enum SpawnError {
    /// The PATH has no program of this name.
    #[error("`{0}` is not on the PATH: install it, or correct argv[0]")]
    NotFound(String),
    /// This file of the work tree would run in place of what the command names.
    #[error(
        "`{0}` of the work tree would run in place of the module that the command names: rename it, or ask a human for a \
         profile that runs it"
    )]
    StandIn(String),
    /// The file is not executable.
    #[error("{} cannot be run: {problem}", .path.display())]
    NotRunnable {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        problem: String,
    },
    /// The system gave no terminal.
    #[error("no terminal could be opened: {0}")]
    Terminal(String),
    /// The system refused to start it.
    #[error("the program could not be started: {0}")]
    System(#[from] io::Error),
}

/// A running program and our ends of its streams.
pub(super) struct Started {
    /// Its process, the leader of its own session and process group.
    pub(super) leader: Pid,
    /// Its standard output, or its terminal.
    pub(super) stdout: Box<dyn Read + Send>,
    /// Its standard error.
    pub(super) stderr: Box<dyn Read + Send>,
    /// Dropping this hangs up the terminal.
    _terminal: Option<Box<dyn MasterPty + Send>>,
}

/// The file of a program: for a path, the file below `cwd` or at the absolute path, else the first on the PATH.
/// Relative entries of the PATH are skipped: the program must not depend on the directory.
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

/// Accepts binaries and scripts with `#!`. `execvp` would give other text to a shell.
fn check(path: &Path) -> Result<(), String> {
    if !is_executable(path) {
        return Err("it is no executable file: chmod +x it, or name another".to_owned());
    }
    let mut magic = [0; 4];
    // A file that may be executed but not read is a binary.
    let Ok(mut file) = File::open(path) else { return Ok(()) };
    let read = file.read(&mut magic).map_err(|error| error.to_string())?;
    let is_program = match &magic[..read] {
        [b'#', b'!', ..] | [0x7f, b'E', b'L', b'F'] => true,
        // Mach-O for one or several processors, in either byte order.
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

/// Starts a program. The calling thread must live as long as the program: its end kills the program.
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
            // The parent may have died before the line above.
            if rustix::process::getppid() != Some(parent) {
                return Err(rustix::io::Errno::SRCH.into());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure only makes system calls on values copied before. It does not
    // allocate, take a lock or panic.
    unsafe { command.pre_exec(enter) };
    let mut child = command.spawn()?;
    // The command holds the terminal's other end. While that is open in this process, the output never ends.
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

/// A pair of terminal ends.
struct Terminal {
    master: Box<dyn MasterPty + Send>,
    slave: File,
}

impl Terminal {
    /// Opens a terminal that leaves `\n` unchanged, because hashes would change with it, and echoes nothing.
    fn open() -> Result<Self, SpawnError> {
        let failed = |error: &dyn std::fmt::Display| SpawnError::Terminal(error.to_string());
        let pair = native_pty_system().openpty(SIZE).map_err(|error| failed(&error))?;
        let name = pair.master.tty_name().ok_or_else(|| failed(&"it has no name"))?;
        // Without O_NOCTTY it would become the controlling terminal of this process.
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

/// Asks for a larger pipe. A smaller one works too.
fn widen(pipe: &impl AsFd) {
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
    #[cfg(not(target_os = "linux"))]
    let _ = (pipe, PIPE_BYTES);
}

/// The limits of a run, none above those of this process.
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
