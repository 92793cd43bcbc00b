//! A terminal with a human at it, and programs run there. No client of agents is above them, even where an agent runs
//! the tests.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};

use hivemind::system::{CLIENT_VARIABLES, SESSION_VARIABLES};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::harness::wait_until;

/// What makes a process without a terminal the operator, on record.
pub(crate) const AS_OPERATOR: [&str; 2] = ["--operator-override", "a test"];

/// Starts its arguments once the shell above is gone, with the terminal as input; says in a file how they ended.
const ALONE: &str = r#"
exec 3<&0
(
    while kill -0 $$ 2>/dev/null; do sleep 0.01; done
    code=$1; shift
    "$@" <&3
    echo $? >"$code.new"
    mv "$code.new" "$code"
) &
"#;

/// A terminal: its screen and keyboard, and what opens its other end.
pub(crate) fn terminal() -> (File, impl Fn() -> File) {
    let screen = File::from(
        openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal"),
    );
    grantpt(&screen).and_then(|()| unlockpt(&screen)).expect("our own terminal");
    let name = ptsname(&screen, Vec::new()).expect("its name").into_string().expect("a path");
    (screen, move || File::options().read(true).write(true).open(&name).expect("its other end"))
}

/// The command as a human has it typed: nothing above it, and nothing in its environment, is a client's.
fn typed(command: &Command, code: &std::path::Path) -> Command {
    let mut alone = Command::new("sh");
    alone.args(["-c", ALONE, "sh"]).arg(code).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => alone.env(name, value),
            None => alone.env_remove(name),
        };
    }
    for variable in SESSION_VARIABLES.iter().chain(&CLIENT_VARIABLES) {
        if !command.get_envs().any(|(name, value)| name == *variable && value.is_some()) {
            alone.env_remove(variable);
        }
    }
    if let Some(dir) = command.get_current_dir() {
        alone.current_dir(dir);
    }
    alone
}

fn ended(code: &std::path::Path) -> ExitStatus {
    wait_until("what was typed has ended", || code.exists());
    let code: i32 = fs::read_to_string(code).expect("a code").trim().parse().expect("a number");
    ExitStatus::from_raw(code << 8)
}

/// Runs a command that a human types at a terminal, its output redirected.
pub(crate) fn by_a_human(command: &Command) -> Output {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let [code, stdout, stderr] = ["code", "stdout", "stderr"].map(|name| dir.path().join(name));
    let (_screen, keyboard) = terminal();
    let mut alone = typed(command, &code);
    alone.stdin(keyboard());
    alone.stdout(File::create(&stdout).expect("a file")).stderr(File::create(&stderr).expect("a file"));
    assert!(alone.status().expect("a shell").success());
    let status = ended(&code);
    let read = |file| fs::read(file).expect("what it wrote");
    Output { status, stdout: read(stdout), stderr: read(stderr) }
}

/// Runs a command at a terminal, answers, and returns its exit code and what stood on the screen.
pub(crate) fn on_screen(command: &Command, answer: &str) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let code = dir.path().join("code");
    let (mut screen, keyboard) = terminal();
    let mut alone = typed(command, &code);
    alone.stdin(keyboard()).stdout(keyboard()).stderr(Stdio::from(keyboard()));
    screen.write_all(answer.as_bytes()).expect("a keyboard");
    assert!(alone.status().expect("a shell").success());
    // The command holds the other ends: once they are closed, the screen has an end.
    drop(alone);
    let mut shown = Vec::new();
    let mut bytes = [0; 4_096];
    while let Ok(read @ 1..) = screen.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..read]);
    }
    (ended(&code).code(), String::from_utf8_lossy(&shown).replace("\r\n", "\n"))
}

/// A program that a human runs at a terminal, with the terminal as its own, and what the screen shows.
pub(crate) struct Screen {
    keyboard: File,
    parser: Arc<Mutex<vt100::Parser>>,
    bytes: Arc<Mutex<Vec<u8>>>,
    code: std::path::PathBuf,
    _dir: tempfile::TempDir,
}

/// Rows or columns, of which there are some.
fn some(count: u16) -> std::num::NonZeroU16 {
    count.try_into().expect("a terminal with rows and columns")
}

impl Screen {
    /// Starts the command at a terminal with these rows and columns.
    pub(crate) fn open(command: &Command, (rows, columns): (u16, u16)) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let code = dir.path().join("code");
        let (keyboard, other_end) = terminal();
        let mut own = Command::new("setsid");
        own.arg("-c").arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => own.env(name, value),
                None => own.env_remove(name),
            };
        }
        if let Some(here) = command.get_current_dir() {
            own.current_dir(here);
        }
        own.env("TERM", "xterm-256color");
        let parser = Arc::new(Mutex::new(vt100::Parser::new(some(rows), some(columns), 0)));
        let screen = Self { keyboard, parser, bytes: Arc::default(), code, _dir: dir };
        screen.resize((rows, columns));
        let mut alone = typed(&own, &screen.code);
        alone.stdin(other_end()).stdout(other_end()).stderr(Stdio::from(other_end()));
        assert!(alone.status().expect("a shell").success());
        drop(alone);
        let (mut output, parser) =
            (screen.keyboard.try_clone().expect("a screen"), Arc::clone(&screen.parser));
        let kept = Arc::clone(&screen.bytes);
        std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                parser.lock().expect("a screen").process(&bytes[..read]);
                kept.lock().expect("bytes").extend_from_slice(&bytes[..read]);
            }
        });
        screen
    }

    /// Another size of the terminal.
    pub(crate) fn resize(&self, (rows, columns): (u16, u16)) {
        let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        self.parser.lock().expect("a screen").screen_mut().set_size(some(rows), some(columns));
        rustix::termios::tcsetwinsize(&self.keyboard, size).expect("a terminal");
    }

    /// What the screen shows.
    pub(crate) fn text(&self) -> String {
        let text = self.parser.lock().expect("a screen").screen().contents();
        text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// Everything that was ever sent to the screen.
    pub(crate) fn sent(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().expect("bytes")).into_owned()
    }

    /// Whether the program has the screen for itself.
    pub(crate) fn is_taken(&self) -> bool {
        self.parser.lock().expect("a screen").screen().alternate_screen()
    }

    /// Waits until the screen shows this, and returns what it shows.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        let shown = std::cell::RefCell::new(String::new());
        let is_there = || {
            *shown.borrow_mut() = self.text();
            shown.borrow().contains(text)
        };
        let found = crate::harness::holds_soon(is_there);
        assert!(found, "the screen never showed {text:?}:\n{}", shown.borrow());
        shown.into_inner()
    }

    /// Types keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("a keyboard");
    }

    /// Whether lines are typed as in a shell again: with an echo, and after a key for the end of the line.
    pub(crate) fn is_restored(&self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.keyboard).expect("a terminal").local_modes;
        modes.contains(rustix::termios::LocalModes::ECHO | rustix::termios::LocalModes::ICANON)
    }

    /// The process that has the terminal.
    pub(crate) fn leader(&self) -> rustix::process::Pid {
        rustix::termios::tcgetpgrp(&self.keyboard).expect("a terminal of a process")
    }

    /// The exit code at the end.
    pub(crate) fn ended(&self) -> Option<i32> {
        ended(&self.code).code()
    }
}

/// Trusts a profile of the workspace below `root`, as its operator does.
pub(crate) fn trust(root: &std::path::Path, profile: &str) {
    let mut command = Command::new(crate::harness::HM);
    command.args(["profile", "trust", profile, "--yes", "--dir"]).arg(root);
    command.env_remove("HM_AGENT").env_remove("HM_DIR");
    let output = by_a_human(&command);
    assert!(output.status.success(), "{output:?}");
}
