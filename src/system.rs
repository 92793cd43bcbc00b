//! The one module that reads the clock, the environment, process ids and random bytes.
#![expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]

use std::collections::BTreeMap;
use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use uuid::{ContextV7, Uuid};

use crate::domain::time::Timestamp;

/// The clock, ids and random bytes of a writer. Tests pass fixed ones.
pub struct Sources {
    /// Returns the current time.
    pub clock: Box<dyn FnMut() -> Timestamp + Send>,
    /// Returns a new UUIDv7.
    pub ids: Box<dyn FnMut() -> Uuid + Send>,
    /// Returns 32 random bytes.
    pub entropy: Box<dyn FnMut() -> [u8; 32] + Send>,
}

impl Sources {
    /// The sources of the operating system.
    pub fn system() -> Self {
        Self { clock: Box::new(now), ids: Box::new(new_id), entropy: Box::new(entropy) }
    }
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sources")
    }
}

/// The current time of the wall clock.
pub fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_ms(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

/// The time when a file was last written; `None` when it is missing.
pub fn modified(path: &Path) -> Option<Timestamp> {
    let at = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()?;
    let since_epoch = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_millis()).ok().map(Timestamp::from_ms)
}

/// The current time of the monotonic clock, to measure durations.
pub fn instant() -> Instant {
    Instant::now()
}

/// A new UUIDv7 that sorts after the earlier ones of this process.
pub fn new_id() -> Uuid {
    id_at(SystemTime::now())
}

/// A UUIDv7 for a time. A time before 1970 counts as 1970, as in [`now`].
fn id_at(moment: SystemTime) -> Uuid {
    static COUNTER: Mutex<ContextV7> = Mutex::new(ContextV7::new());
    let since_epoch = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    Uuid::new_v7(uuid::Timestamp::from_unix(&COUNTER, since_epoch.as_secs(), since_epoch.subsec_nanos()))
}

/// 32 random bytes of the operating system, for keys and salts.
pub fn entropy() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("an operating system without entropy cannot run anything safely");
    bytes
}

/// Waits for a request to stop the process: SIGTERM or Ctrl-C.
#[cfg(unix)]
pub async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Waits until the terminal of the process is gone: SIGHUP.
#[cfg(unix)]
pub async fn hang_up() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::hangup()) {
        Ok(mut hangup) => drop(hangup.recv().await),
        Err(_) => std::future::pending().await,
    }
}

/// Waits until the terminal of the process is gone. This system tells it by the end of the input.
#[cfg(not(unix))]
pub async fn hang_up() {
    std::future::pending::<()>().await;
}

/// Waits for a request to stop the process: Ctrl-C.
#[cfg(not(unix))]
pub async fn stop_signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// The variables that can hold a client's session; the first one that is set counts. Observed with Claude Code
/// 2.1.330, Codex 0.169.0 (session before thread: each subagent has its own thread), Gemini CLI 0.61.0 and Qwen
/// Code 0.24.4 (in hooks only).
pub const SESSION_VARIABLES: [&str; 5] = [
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "GEMINI_SESSION_ID",
    "QWEN_CODE_SESSION_ID",
];

/// The variable in this process's environment that holds the session of its client.
pub fn session_variable() -> Option<&'static str> {
    let is_set = |name: &&str| std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
    SESSION_VARIABLES.into_iter().find(is_set)
}

/// The variable in the environment of every process of a run. It holds the id of the run.
pub const RUN_VARIABLE: &str = "HM_RUN_ID";

/// Other variables by which a process knows that a client of agents started it. The last two mark our own panes
/// and runs. Variables that a person sets too, such as `CODEX_HOME` or `GEMINI_API_KEY`, are missing here, and
/// so are variables that an editor sets for a person's terminal, such as `CURSOR_TRACE_ID`.
pub const CLIENT_VARIABLES: [&str; 15] = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CODEX_CI",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "GEMINI_CLI",
    "COPILOT_CLI",
    "OPENCODE",
    "CURSOR_AGENT",
    "ANTIGRAVITY_AGENT",
    "AUGMENT_AGENT",
    "CLINE_ACTIVE",
    "AI_AGENT",
    "HM_SESSION",
    RUN_VARIABLE,
];

/// Programs that agents run in. Editors are missing here: people have terminals in them.
#[cfg(target_os = "linux")]
const CLIENT_PROGRAMS: [&str; 18] = [
    "claude",
    "codex",
    "gemini",
    "copilot",
    "opencode",
    "opencode2",
    "cursor-agent",
    "agy",
    "aider",
    "qwen",
    "cline",
    "goose",
    "crush",
    "amp",
    "droid",
    "kilo",
    "auggie",
    "cn",
];

/// Programs whose first argument is the program that runs.
#[cfg(target_os = "linux")]
const INTERPRETERS: [&str; 8] = ["node", "nodejs", "bun", "deno", "python", "python3", "sh", "bash"];

/// The most ancestors of this process that are examined. A client, its shell and a few scripts are fewer than ten.
#[cfg(target_os = "linux")]
const MAX_ABOVE: usize = 32;

/// The evidence that a client of agents started this process, directly or through other processes; `None`
/// without any. On Linux this includes the ancestors of the process.
pub fn client_above() -> Option<String> {
    let names = || SESSION_VARIABLES.into_iter().chain(CLIENT_VARIABLES);
    if let Some(name) = names().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
        return Some(format!("{name} is set"));
    }
    #[cfg(target_os = "linux")]
    return above().iter().find_map(|above| {
        let process = above.process;
        if let Some(program) = above.client() {
            return Some(format!("process {process} above this one is {program}"));
        }
        // This is the environment at the start of the process; its shell may have removed the variable since.
        let started_with = started_with(process);
        let (name, _) = started_with
            .iter()
            .find(|(name, value)| names().any(|known| known == name.as_str()) && !value.is_empty())?;
        Some(format!("process {process} above this one was started with {name}"))
    });
    #[cfg(not(target_os = "linux"))]
    return None;
}

/// The variables with which a process was started; empty when the system does not show them.
#[cfg(target_os = "linux")]
fn started_with(process: u32) -> BTreeMap<String, String> {
    let environ = read_proc(process, "environ").unwrap_or_default();
    let variables = environ.split(|byte| *byte == 0);
    let variables = variables.filter_map(|variable| std::str::from_utf8(variable).ok()?.split_once('='));
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The variables with which the client above this process was started; this system does not show them.
#[cfg(not(target_os = "linux"))]
pub fn given_to_client(_: impl Fn(u32) -> bool) -> Option<BTreeMap<String, String>> {
    None
}

/// The variables with which the first process of the run was started that this process belongs to, else the outermost
/// client above this process that is a pane, else the nearest client. The shell of an agent cannot change them. `None`
/// without a client, and where the system does not show them.
#[cfg(target_os = "linux")]
pub fn given_to_client(is_pane: impl Fn(u32) -> bool) -> Option<BTreeMap<String, String>> {
    let clients: Vec<u32> = clients_above().collect();
    let pane = || clients.iter().rfind(|client| is_pane(**client)).or(clients.first()).copied();
    Some(started_with(first_of_run().or_else(pane)?)).filter(|variables| !variables.is_empty())
}

/// The variables with which the first process of the run was started that this process belongs to; this system does not
/// show them.
#[cfg(not(target_os = "linux"))]
pub const fn given_to_run() -> Option<BTreeMap<String, String>> {
    None
}

/// The variables with which the first process of the run was started that this process belongs to. `None` outside a run,
/// and where the system does not show them.
#[cfg(target_os = "linux")]
pub fn given_to_run() -> Option<BTreeMap<String, String>> {
    Some(started_with(first_of_run()?)).filter(|variables| !variables.is_empty())
}

/// The first process of the run that this process belongs to.
#[cfg(target_os = "linux")]
fn first_of_run() -> Option<u32> {
    let runner = above().iter().position(Above::is_runner)?;
    Some(runner.checked_sub(1).map_or_else(std::process::id, |at| above()[at].process))
}

/// The clients above this process; this system does not show them.
#[cfg(not(target_os = "linux"))]
pub fn clients_above() -> impl Iterator<Item = u32> {
    std::iter::empty()
}

/// The clients above this process, the nearest first. A run belongs to no client, so the search ends at the helper of a
/// run.
#[cfg(target_os = "linux")]
pub fn clients_above() -> impl Iterator<Item = u32> {
    let above = above().iter().take_while(|above| !above.is_runner());
    above.filter(|above| above.client().is_some()).map(|above| above.process)
}

/// An ancestor of this process. What it runs is read once: each hook asks for it several times.
#[cfg(target_os = "linux")]
struct Above {
    process: u32,
    /// The name of its program.
    name: String,
    program: OnceLock<Program>,
}

/// What an ancestor runs.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    Client(&'static str),
    /// The helper of a run, `hm runner`.
    Runner,
    Other,
}

#[cfg(target_os = "linux")]
impl Above {
    fn program(&self) -> Program {
        *self.program.get_or_init(|| Program::of(self.process, &self.name))
    }

    fn client(&self) -> Option<&'static str> {
        match self.program() {
            Program::Client(name) => Some(name),
            Program::Runner | Program::Other => None,
        }
    }

    fn is_runner(&self) -> bool {
        self.program() == Program::Runner
    }
}

#[cfg(target_os = "linux")]
impl Program {
    fn of(process: u32, name: &str) -> Self {
        let known = |name: &str| CLIENT_PROGRAMS.into_iter().find(|program| *program == name);
        if let Some(client) = known(name) {
            return Self::Client(client);
        }
        let words = read_proc(process, "cmdline").unwrap_or_default();
        let mut words = words.split(|byte| *byte == 0).filter_map(|word| std::str::from_utf8(word).ok());
        // The process may name the file of a script: `gemini.js`.
        let Some(program) = words.next().and_then(stem_of) else { return Self::Other };
        let client = if INTERPRETERS.contains(&program) {
            // Only the first word: after `-c` or `-e` comes code, which may contain any name.
            match words.find(|word| !word.starts_with("--")) {
                Some("-m") => words.next().and_then(known),
                Some(script) => stem_of(script).and_then(known).or_else(|| of_package(script)),
                None => None,
            }
        } else if program == "hm" && words.next() == Some("runner") {
            return Self::Runner;
        } else {
            known(program)
        };
        client.map_or(Self::Other, Self::Client)
    }
}

/// The name of a file without its directory and its ending.
#[cfg(target_os = "linux")]
fn stem_of(path: &str) -> Option<&str> {
    Path::new(path).file_stem()?.to_str()
}

/// The client whose npm package holds a script: `.../node_modules/@anthropic-ai/claude-code/cli.js`.
#[cfg(target_os = "linux")]
fn of_package(script: &str) -> Option<&'static str> {
    let (_, inside) = script.rsplit_once("/node_modules/")?;
    let package = inside.split('/').find(|part| !part.starts_with('@'))?;
    let name = ["-code", "-cli", "-ai"].into_iter().find_map(|end| package.strip_suffix(end));
    CLIENT_PROGRAMS.into_iter().find(|program| *program == name.unwrap_or(package))
}

/// The ancestors of this process at the first call, the nearest first.
#[cfg(target_os = "linux")]
fn above() -> &'static [Above] {
    static ABOVE: OnceLock<Vec<Above>> = OnceLock::new();
    ABOVE.get_or_init(|| {
        let mut next = parent_process();
        let above = std::iter::from_fn(|| {
            let process = next.take().filter(|process| *process > 0)?;
            let (name, parent) = name_and_parent(process).unwrap_or_default();
            next = Some(parent);
            Some(Above { process, name, program: OnceLock::new() })
        });
        above.take(MAX_ABOVE).collect()
    })
}

/// How much the nice value of [`go_last`] is above that of the process: a thread that answers an agent gets nine tenths of a
/// shared core.
#[cfg(target_os = "linux")]
const LAST: i32 = 10;

/// Lets the other threads of this machine go first while the calling one works. Only Linux has priorities of threads.
pub fn go_last() {
    #[cfg(target_os = "linux")]
    {
        let own = rustix::process::getpriority_process(None).unwrap_or_default();
        // Without it, the others only wait longer.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), own + LAST);
    }
}

/// The values of a variable in the environment of this process and, on Linux, in those with which its ancestors were
/// started.
pub fn values_above(name: &str) -> Vec<String> {
    let own = std::env::var(name).ok();
    #[cfg(target_os = "linux")]
    let above = processes_above().filter_map(|process| started_with(process).remove(name));
    #[cfg(not(target_os = "linux"))]
    let above = std::iter::empty();
    own.into_iter().chain(above).collect()
}

/// The ancestors of this process, the nearest first; only the parent on this system.
#[cfg(not(target_os = "linux"))]
pub fn processes_above() -> impl Iterator<Item = u32> {
    parent_process().into_iter()
}

/// The ancestors of this process, the nearest first.
#[cfg(target_os = "linux")]
pub fn processes_above() -> impl Iterator<Item = u32> {
    above().iter().map(|above| above.process)
}

/// The process that started a process; this system does not show it.
#[cfg(not(target_os = "linux"))]
pub const fn parent_of(_: u32) -> Option<u32> {
    None
}

/// The process that started a process.
#[cfg(target_os = "linux")]
pub fn parent_of(process: u32) -> Option<u32> {
    Some(name_and_parent(process)?.1)
}

/// Whether a process runs below a client, directly or through a launcher, and in no client between.
pub fn is_below_client(process: u32, client: u32) -> bool {
    #[cfg(target_os = "linux")]
    const MAX: usize = MAX_ABOVE;
    #[cfg(not(target_os = "linux"))]
    const MAX: usize = 1;
    let mut at = process;
    for _ in 0..MAX {
        match parent_of(at) {
            Some(parent) if parent == client => return client_program(process).is_none(),
            Some(parent) if parent > 1 && client_program(parent).is_none() => at = parent,
            _ => return false,
        }
    }
    false
}

/// The client in whose pane this process runs: the nearest one above it. `None` for Codex, because one process of it runs
/// many panes.
pub fn client_of_pane() -> Option<u32> {
    clients_above().next().filter(|client| client_program(*client) != Some("codex"))
}

/// What the system says of a process in one of its files. These files show no size, and without room from the start they
/// would be read in ten pieces.
#[cfg(target_os = "linux")]
fn read_proc(process: u32, file: &str) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::with_capacity(8 * 1024);
    std::fs::File::open(format!("/proc/{process}/{file}"))?.read_to_end(&mut content)?;
    Ok(content)
}

/// The name of the program in a process, at most 15 bytes, and the process that started it.
#[cfg(target_os = "linux")]
fn name_and_parent(process: u32) -> Option<(String, u32)> {
    let stat = read_proc(process, "stat").ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name is field 2 of proc(5), the parent field 4. The name may contain spaces and parentheses.
    let (before, after) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1.to_owned();
    Some((name, after.split_whitespace().nth(1)?.parse().ok()?))
}

/// The client program that a process runs; this system does not show it.
#[cfg(not(target_os = "linux"))]
pub const fn client_program(_: u32) -> Option<&'static str> {
    None
}

/// The client program that a process runs; `None` for any other process.
#[cfg(target_os = "linux")]
pub fn client_program(process: u32) -> Option<&'static str> {
    if let Some(above) = above().iter().find(|above| above.process == process) {
        return above.client();
    }
    let (name, _) = name_and_parent(process)?;
    Above { process, name, program: OnceLock::new() }.client()
}

/// `XDG_STATE_HOME`, else `~/.local/state`: the directory for state of this user that must not lie in a workspace.
pub fn state_home() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    named.or_else(|| std::env::home_dir().map(|home| home.join(".local").join("state")))
}

/// The process that started this one. For `hm serve` over stdio, that is the client.
#[cfg(unix)]
pub fn parent_process() -> Option<u32> {
    Some(std::os::unix::process::parent_id())
}

/// The process that started this one; this system does not tell.
#[cfg(not(unix))]
pub fn parent_process() -> Option<u32> {
    None
}

/// A name for the process that started this one, unique on this machine.
pub fn name_of_parent() -> Option<String> {
    parent_process().map(name_of)
}

/// A name for a process: its id and, on Linux, the time of its start in clock ticks since boot, so that a reused id gives
/// another name.
pub fn name_of(process: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The start time is field 22 of proc(5). Fields are counted from the name, which may contain spaces and
    // parentheses.
    let began = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(19));
    began.map_or_else(|| process.to_string(), |began| format!("{process}-{began}"))
}

/// The process of the client that runs this hook: the one in `CLAUDE_PID`, because Claude Code runs hooks below
/// a shell, else the parent.
pub fn client_process() -> Option<u32> {
    let given = std::env::var("CLAUDE_PID").ok().and_then(|text| text.trim().parse().ok());
    given.or_else(parent_process)
}

/// The environment of the process, read once at its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `HM_DIR`: the workspace; else the search goes upwards from the current directory.
    pub dir: Option<PathBuf>,
    /// `HM_AGENT`: the agent that this process acts for.
    pub agent: Option<String>,
    /// `HM_SESSION`: the session; it wins over the session of the client.
    pub own_session: Option<String>,
    /// The session that the client passes to its shell (and Claude Code to its server): see
    /// [`SESSION_VARIABLES`].
    pub session: Option<String>,
    /// `HM_TASK`: the task of new claims that name none.
    pub task: Option<String>,
    /// `HM_USER`, else the user's name at the system: the person whose space is read and written.
    pub user: Option<String>,
    /// `HM_LOG`: the filter for logs, in the syntax of `tracing`.
    pub log: Option<String>,
    /// `XDG_STATE_HOME`, else `~/.local/state`: the directory for keys, outside every workspace.
    pub state_home: Option<PathBuf>,
    /// The user's home directory; `None` when the system names none.
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`: the directory for settings; `None` means `~/.config`.
    pub config_home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`: the directory of Claude Code's files; `None` means the home directory.
    pub claude_dir: Option<PathBuf>,
    /// `CODEX_HOME`: the directory of Codex's files; `None` means `~/.codex`.
    pub codex_home: Option<PathBuf>,
    /// `COPILOT_HOME`: the directory of Copilot CLI's files; `None` means `~/.copilot`.
    pub copilot_home: Option<PathBuf>,
    /// `PATH`: the directories of programs.
    pub search_path: Option<OsString>,
    /// `COPILOT_CLI`: whether Copilot CLI started this process, directly or through other programs.
    pub in_copilot: bool,
    /// `NO_COLOR`: whether the user wants no colours.
    pub no_color: bool,
}

impl Environment {
    /// Reads the environment of this process.
    pub fn read() -> Self {
        let var = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        // A path may be invalid UTF-8.
        let path = |name: &str| {
            let given = std::env::var_os(name)?;
            given.to_str().is_none_or(|text| !text.trim().is_empty()).then(|| PathBuf::from(given))
        };
        // The XDG specification requires that relative paths are ignored.
        let dir = |name: &str| path(name).filter(|path| path.is_absolute());
        Self {
            dir: path("HM_DIR"),
            agent: var("HM_AGENT"),
            own_session: var("HM_SESSION"),
            session: SESSION_VARIABLES.into_iter().find_map(var),
            task: var("HM_TASK"),
            user: ["HM_USER", "USER", "LOGNAME"].into_iter().find_map(var),
            log: var("HM_LOG"),
            state_home: state_home(),
            home: std::env::home_dir(),
            config_home: dir("XDG_CONFIG_HOME"),
            claude_dir: dir("CLAUDE_CONFIG_DIR"),
            codex_home: dir("CODEX_HOME"),
            copilot_home: dir("COPILOT_HOME"),
            search_path: std::env::var_os("PATH"),
            in_copilot: var("COPILOT_CLI").is_some(),
            no_color: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
        }
    }
}

/// Whether a browser can open a window here.
pub fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(is_set)
}

/// The editor of the user: `VISUAL`, else `EDITOR`. It may have arguments.
pub fn editor() -> Option<String> {
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    var("VISUAL").or_else(|| var("EDITOR"))
}

/// How long a write waits for a starting or slow writer before it is queued, and how long a client's hook
/// waits. `HM_PATIENCE_MS` sets it, from 100 ms to ten minutes, for slow disks and machines; the default is 1 s.
pub fn patience() -> Duration {
    let given = std::env::var("HM_PATIENCE_MS").ok().and_then(|text| text.trim().parse().ok());
    Duration::from_millis(given.unwrap_or(1_000).clamp(100, 600_000))
}

/// The variable with the key of an endpoint for embeddings.
pub const EMBEDDINGS_KEY: &str = "OPENAI_API_KEY";

/// The key of an endpoint for embeddings.
pub fn embeddings_key() -> Option<String> {
    std::env::var(EMBEDDINGS_KEY).ok().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty())
}

/// The number of columns that `COLUMNS` asks for. Shells set it for themselves alone, so who exports it means it.
pub fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.trim().parse().ok().filter(|columns| *columns > 0)
}

/// The variables of this process that are valid UTF-8.
pub fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::{id_at, new_id};

    #[cfg(target_os = "linux")]
    #[test]
    fn a_package_tells_its_client() {
        let told = [
            "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js",
            "/usr/lib/node_modules/@openai/codex/bin/codex.js",
            "/h/.npm/node_modules/opencode-ai/bin/run",
            "/h/node_modules/@google/gemini-cli/node_modules/prompts/index.js",
            "/h/gemini-cli/build.js",
        ];
        let clients = told.map(super::of_package);
        assert_eq!(clients, [Some("claude"), Some("codex"), Some("opencode"), None, None]);
    }

    #[test]
    fn ids_are_made_whatever_the_clock_shows() {
        let years = |years: u64| Duration::from_secs(years * 365 * 86_400);
        let mut ids = vec![id_at(UNIX_EPOCH - years(10)), id_at(UNIX_EPOCH - Duration::from_nanos(1))];
        ids.extend([id_at(UNIX_EPOCH), new_id(), id_at(UNIX_EPOCH - years(1)), new_id()]);
        assert!(ids.iter().all(|id| id.get_version_num() == 7), "{ids:?}");
        assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
    }
}
