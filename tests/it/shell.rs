//! A workspace of its own, and `hm` run in it as from a shell; what differs between runs gets a stable name.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use expect_test::Expect;
use hivemind::reads::Reads;
use hivemind::system::{Environment, SESSION_VARIABLES};
use hivemind::workspace::Workspace;
use serde_json::Value;
use tempfile::TempDir;
use uuid::Uuid;

use crate::harness::dump;
use crate::terminal::by_a_human;

/// How long a writer may take to leave.
const LEAVES_WITHIN: Duration = Duration::from_secs(10);

/// How often a writer is asked for; each time it has a second to come.
const STARTS: u32 = 20;

/// A workspace in a temporary directory. Ids are called ID1, ID2 ... in the order in which they are first
/// shown, and can be used under that name in the lines that follow.
pub(crate) struct Shell {
    dir: TempDir,
    /// Where the keys of its checkpoints lie.
    state: TempDir,
    ids: Vec<Uuid>,
    /// The ends by which what is queued goes, called END1, END2 ...
    ends: Vec<String>,
    /// Whether its commands wait for a writer no longer than a user's.
    is_of_a_user: bool,
}

impl Shell {
    /// A fresh workspace with its writer up, so that a busy machine cannot turn a commit into a queued one.
    pub(crate) fn new() -> Self {
        let shell = Self::without_writer();
        let started = (0..STARTS).any(|_| shell.run("hm rebuild").status.success());
        assert!(started, "{:?}", std::fs::read_to_string(shell.workspace().writer_log()));
        shell
    }

    /// A fresh workspace, as `hm init` makes it.
    pub(crate) fn without_writer() -> Self {
        let temporary = || tempfile::tempdir().expect("a temporary directory");
        let shell = Self {
            dir: temporary(),
            state: temporary(),
            ids: Vec::new(),
            ends: Vec::new(),
            is_of_a_user: false,
        };
        shell.init();
        shell
    }

    /// A fresh workspace that waits for a writer as long as a user does, not as long as these tests do.
    pub(crate) fn of_a_user() -> Self {
        Self::without_writer().with_the_patience_of_a_user()
    }

    /// The same workspace; its commands wait for a writer no longer than a user's.
    pub(crate) fn with_the_patience_of_a_user(mut self) -> Self {
        self.is_of_a_user = true;
        self
    }

    /// Makes the directory a workspace. Nobody's clients are found, and so none is configured.
    pub(crate) fn init(&self) {
        let mut init = self.command("hm init --yes");
        let output = init.env("HOME", self.state_home()).env("PATH", "").output().expect("hm can be run");
        assert!(output.status.success(), "{output:?}");
        self.workspace();
    }

    /// The workspace as the library sees it.
    pub(crate) fn workspace(&self) -> Workspace {
        let dir = self.dir.path();
        Workspace::find(Some(dir), dir, &environment(self.state_home())).expect("the workspace of this shell")
    }

    /// Where the keys of its checkpoints lie.
    pub(crate) fn state_home(&self) -> &Path {
        self.state.path()
    }

    /// A human allows the looser rules of the configuration.
    pub(crate) fn allow_rules(&self) {
        let done = by_a_human(&self.command("hm trust --rules"));
        assert!(done.status.success(), "{done:?}");
        assert!(String::from_utf8_lossy(&done.stdout).contains("allowed from the next write on"), "{done:?}");
    }

    /// The configuration lets guards stop tools, and a human allows that.
    pub(crate) fn allow_block(&self) {
        std::fs::write(self.workspace().config(), "[guards]\nallow_block = true\n").expect("a configuration");
        self.allow_rules();
    }

    /// Ends the writer and waits until it has gone.
    pub(crate) fn end_writer(&self) {
        end_writer(&self.workspace());
    }

    /// The read models are what a rebuild makes of the ledger.
    pub(crate) fn assert_rebuilds_to_the_same(&self) {
        let read_models = self.workspace().team_memory();
        self.end_writer();
        let live = dump(&read_models);
        assert!(self.run("hm rebuild").status.success());
        self.end_writer();
        assert_eq!(dump(&read_models), live);
    }

    /// Runs the lines one after the other and compares what they show.
    pub(crate) fn check(&mut self, lines: &[&str], expected: Expect) {
        let shown: String = lines.iter().map(|line| self.transcript(line)).collect();
        expected.assert_eq(&shown);
    }

    /// The line, what it printed, and its exit code unless that is 0.
    pub(crate) fn transcript(&mut self, line: &str) -> String {
        let output = self.run(line);
        let mut text = format!("$ {line}\n");
        text.push_str(&String::from_utf8_lossy(&output.stdout));
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        match output.status.code() {
            Some(0) => {}
            Some(code) => text.push_str(&format!("[exit {code}]\n")),
            None => text.push_str("[killed]\n"),
        }
        self.masked(&text)
    }

    /// What people and models see in place of an id.
    pub(crate) fn name(&self, id: &str) -> String {
        hivemind::views::shortened(&mut Reads::of(self.workspace()), id).into_owned()
    }

    /// What the line prints, as JSON; it must succeed or be refused in JSON.
    pub(crate) fn json(&self, line: &str) -> Value {
        let output = self.run(line);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line}: {error}: {output:?}"))
    }

    /// Runs one line to its end: no terminal anywhere, but where the line says that a human types it.
    pub(crate) fn run(&self, line: &str) -> Output {
        let mut command = self.command(line);
        if line.contains("--agent operator") {
            return by_a_human(&command);
        }
        command.output().expect("hm can be run")
    }

    /// The line as a process that is not started yet.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut words = words(line).into_iter();
        assert_eq!(words.next().as_deref(), Some("hm"), "a line of this shell starts with hm");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hm"));
        command.args(words.map(|word| self.unmasked(word))).current_dir(self.dir.path()).stdin(Stdio::null());
        for variable in ["HM_DIR", "HM_AGENT", "HM_LOG", "HM_SESSION"].iter().chain(&SESSION_VARIABLES) {
            command.env_remove(variable);
        }
        if self.is_of_a_user {
            command.env_remove("HM_PATIENCE_MS");
        }
        command.env("XDG_RUNTIME_DIR", self.dir.path()).env("XDG_STATE_HOME", self.state.path());
        command
    }

    fn unmasked(&self, word: String) -> String {
        let end = word.strip_prefix("END").and_then(|number| number.parse::<usize>().ok());
        if let Some(number) = end {
            return self.ends[number - 1].clone();
        }
        let id = word.strip_prefix("ID").and_then(|number| number.parse::<usize>().ok());
        id.map_or(word, |number| self.ids[number - 1].to_string())
    }

    fn masked(&mut self, text: &str) -> String {
        let dir = self.dir.path();
        let real = dir.canonicalize().expect("the directory of this shell");
        let shown = |path: &Path| path.display().to_string();
        let mut rest = &*text.replace(&shown(&real), "DIR").replace(&shown(dir), "DIR");
        let mut masked = String::new();
        while let Some(first) = rest.chars().next() {
            let (name, bytes) = self.named(rest).unwrap_or_else(|| (first.to_string(), first.len_utf8()));
            masked.push_str(&name);
            rest = &rest[bytes..];
        }
        masked
    }

    /// The stable name of what the text starts with, and how many bytes it stands for.
    fn named(&mut self, text: &str) -> Option<(String, usize)> {
        // Of what runs here this process is the shell: the session has its id, and when it began.
        let session = format!("hm-{}", std::process::id());
        if let Some(rest) = text.strip_prefix(&session) {
            let began = rest.len() - rest.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit()).len();
            return Some(("SESSION".to_owned(), session.len() + began));
        }
        if let Some(id) = text.get(..36).and_then(|text| Uuid::try_parse(text).ok()) {
            let known = self.ids.iter().position(|known| *known == id).unwrap_or_else(|| {
                self.ids.push(id);
                self.ids.len() - 1
            });
            return Some((format!("ID{}", known + 1), 36));
        }
        let leads = |len: usize, belongs: fn(char) -> bool| {
            text.get(..len).is_some_and(|text| text.chars().all(belongs))
        };
        // What is only queued goes by the end of its id.
        if leads(8, |c| c.is_ascii_hexdigit()) && text[8..].starts_with('\n') {
            self.ends.push(text[..8].to_owned());
            return Some((format!("END{}", self.ends.len()), 8));
        }
        if leads(64, |c| c.is_ascii_hexdigit()) {
            return Some(("HASH".to_owned(), 64));
        }
        if leads(20, |c| c.is_ascii_digit() || "-T:Z".contains(c)) && leads(4, |c| c.is_ascii_digit()) {
            return Some(("TIME".to_owned(), 20));
        }
        let digits = text.chars().take_while(char::is_ascii_digit).count();
        if digits > 0 && text[digits..].starts_with("s ago") {
            return Some(("AGE".to_owned(), digits + 1));
        }
        if text.starts_with("just now") {
            return Some(("AGE ago".to_owned(), "just now".len()));
        }
        if digits > 0 && text[digits..].starts_with(" s ago") {
            return Some(("AGE".to_owned(), digits + " s".len()));
        }
        if digits > 0 && text[digits..].starts_with(" ms)") {
            return Some(("TOOK".to_owned(), digits));
        }
        None
    }
}

impl Drop for Shell {
    /// Ends the writer that a line started. It is detached and leaves by itself only after minutes of
    /// idleness, so it is found by asking the kernel who listens on this workspace's own socket.
    fn drop(&mut self) {
        let dir = self.dir.path();
        let Ok(workspace) = Workspace::find(Some(dir), dir, &environment(self.state_home())) else { return };
        end_writer(&workspace);
    }
}

/// Asks the writer of a workspace to leave, and waits until it let go of its lock: whoever removes the
/// directory next must not come before.
pub(crate) fn end_writer(workspace: &Workspace) {
    #[cfg(unix)]
    if let Some(writer) = workspace.socket().ok().and_then(|socket| listener(&socket)) {
        let _ = rustix::process::kill_process(writer, rustix::process::Signal::TERM);
    }
    let Ok(lock) = std::fs::File::open(workspace.writer_lock()) else { return };
    let mut left = LEAVES_WITHIN;
    while lock.try_lock().is_err() && left > Duration::ZERO {
        std::thread::sleep(Duration::from_millis(5));
        left = left.saturating_sub(Duration::from_millis(5));
    }
}

/// The environment of a process whose state lies elsewhere.
pub(crate) fn environment(state_home: &Path) -> Environment {
    Environment { dir: None, state_home: Some(state_home.to_owned()), ..Environment::read() }
}

/// The process that listens on a Unix socket, if one does.
#[cfg(unix)]
fn listener(socket: &Path) -> Option<rustix::process::Pid> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let peer = runtime.block_on(async { tokio::net::UnixStream::connect(socket).await?.peer_cred() }).ok()?;
    rustix::process::Pid::from_raw(peer.pid()?)
}

/// Splits a line at spaces; double quotes keep words together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('"').enumerate() {
        if index % 2 == 0 {
            words.extend(part.split_whitespace().map(str::to_owned));
        } else {
            words.push(part.to_owned());
        }
    }
    words
}
