//! A terminal with a human at it, and programs run there. No client of agents is above them, even where an agent runs
//! the tests.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Output, Stdio};

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
    let screen = File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal"));
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

/// Trusts a profile of the workspace below `root`, as its operator does.
pub(crate) fn trust(root: &std::path::Path, profile: &str) {
    let mut command = Command::new(crate::harness::HM);
    command.args(["profile", "trust", profile, "--yes", "--dir"]).arg(root);
    command.env_remove("HM_AGENT").env_remove("HM_DIR");
    let output = by_a_human(&command);
    assert!(output.status.success(), "{output:?}");
}
