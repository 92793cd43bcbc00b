//! Lines for a shell, against real shells: where `hm` says that the exit code tells of each check, no run of the line ends with
//! 0 after a check failed, or without a check, whichever of them fail; and where `hm` says that it fails by a check alone, none
//! fails without one.
//!
//! ```text
//! cargo test --test it lines
//! HM_LONG=1 cargo test --test it lines    # 4,000 lines
//! HM_SEED=17 cargo test --test it lines   # the lines of a run again
//! ```

use std::os::unix::fs::PermissionsExt;
use std::process::{Command as Process, Stdio};

use hivemind::domain::action::{fails_alone, printed};

use crate::harness::{Dice, long, seed};

/// `pytest a` fails where `F_a` is 1, and says so in a file.
const STUB: &str =
    "#!/bin/sh\neval \"fails=\\${F_$1-}\"\necho \"$1$fails\" >> \"$LOG\"\n[ \"$fails\" != 1 ]\n";
/// Commands that are no checks, and the words around them.
const CHORES: [&str; 10] =
    ["rm -f out", "echo ok", "cat log", "touch ok", "cd .", "mkdir -p out", "A=1", "export A=1", "true", ":"];
const LOOKS: [&str; 3] = ["[ -f x ]", "test -f x", "! [ -f x ]"];
const ENDS: [&str; 8] = ["code=$?", "rc=$?", "exit $code", "exit $rc", "exit 1", "exit", "exit $?", "exit 0"];
/// Variables that keep whether a check failed, and tests of them.
const KEEPS: [&str; 22] = [
    "ok=1",
    "ok=0",
    "failed=",
    "failed=\"$failed a\"",
    "[ $ok = 1 ]",
    "[ \"$ok\" != 0 ]",
    "[ $ok -ne 0 ]",
    "[ $rc -gt 0 ]",
    "[ $ok == 0 ]",
    "[[ $ok == 1 ]]",
    "[[ $ok = 0 ]]",
    "[[ -n $failed ]]",
    "[ '$ok' = 1 ]",
    "[ ! -z \"$failed\" ]",
    "[ ! $ok -eq 0 ]",
    "[ \"$failed\" != \"\" ]",
    "failed=\"$failed,a\"",
    "wait $!",
    "[ -z \"$failed\" ]",
    "[ -z $failed ]",
    "[ -n $failed ]",
    "[ \"$failed\" ]",
];
const SETS: [&str; 8] = ["", "", "", "", "set -e; ", "set -e; ", "set -e\n", "set -e; "];

struct Lines {
    dice: Dice,
    checks: usize,
}

impl Lines {
    fn pick(&mut self, from: &[&str]) -> String {
        (*self.dice.pick(from)).to_owned()
    }

    fn check(&mut self) -> String {
        self.checks += 1;
        format!("pytest {}", ["a", "b", "c"][(self.checks - 1).min(2)])
    }

    fn simple(&mut self) -> String {
        match self.dice.below(100) {
            0..50 => self.check(),
            50..68 => self.pick(&CHORES),
            68..76 => self.pick(&LOOKS),
            76..84 => self.pick(&ENDS),
            84..86 => self.pick(&KEEPS),
            86..87 => format!("{} || ok=0", self.check()),
            87..88 => format!("if {}; then rc=0; else rc=$?; fi", self.check()),
            88..90 => format!("! {}", self.check()),
            90..92 => format!("out=$({})", self.check()),
            92..94 => format!("bash -c \"{}\"", self.check()),
            94..95 => format!("eval {}", self.check()),
            95..96 => format!("{} > log", self.check()),
            96..97 => format!("{} & wait $!", self.check()),
            97..98 => format!("if [ $? -ne 0 ]; then {}; fi", self.pick(&["exit 1", "cat log", "exit 0"])),
            _ => "> log".to_owned(),
        }
    }

    fn command(&mut self, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else { return self.simple() };
        match self.dice.below(100) {
            0..70 => self.simple(),
            70..78 => format!("{{ {}; }}", self.list(depth, 2)),
            78..84 => format!("( {} )", self.list(depth, 2)),
            84..85 => format!("( {} &)", self.list(depth, 1)),
            85..89 => format!("if {}; then {}; fi", self.simple(), self.list(depth, 2)),
            89..91 => {
                format!(
                    "if {}; then {}; else {}; fi",
                    self.simple(),
                    self.list(depth, 1),
                    self.list(depth, 1)
                )
            }
            91..92 => format!("for i in 1 2; do {}; done", self.list(depth, 2)),
            92..93 => format!("for i in 1 2; do {} || failed=\"$failed $i\"; done", self.check()),
            93..94 => format!("while [ -f x ]; do rm -f x; {}; done", self.list(depth, 1)),
            94..98 => {
                let end = self.pick(&["tail -1", "cat", "grep ok", "tee log"]);
                format!("{} | {end}", self.simple())
            }
            _ => format!("bash -c '{}'", self.list(0, 2).replace('\'', "")),
        }
    }

    fn list(&mut self, depth: usize, most: usize) -> String {
        let mut line = self.command(depth);
        for _ in 0..self.dice.below(most + 1) {
            line += &self.pick(&["; ", "; ", "; ", " && ", " && ", " || ", "\n", " &&\n ", " ||\n "]);
            line += &self.command(depth);
        }
        line
    }
}

/// Runs a line in an empty directory. Its exit code, and what its checks said. None if it does not end.
fn run(shell: &str, line: &str, failing: &[&str], has_file: bool) -> Option<(i32, String)> {
    let dir = tempfile::tempdir().expect("a directory");
    let bin = tempfile::tempdir().expect("a directory");
    let stub = bin.path().join("pytest");
    std::fs::write(&stub, STUB).expect("a stub");
    std::fs::set_permissions(&stub, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    if has_file {
        std::fs::write(dir.path().join("x"), "").expect("a file");
    }
    let log = bin.path().join("checks");
    let mut bash = Process::new("timeout");
    bash.args(["5", shell, "-c", line]).current_dir(dir.path()).env("LOG", &log);
    bash.env("PATH", format!("{}:/usr/bin:/bin", bin.path().display()));
    bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    bash.envs(failing.iter().map(|check| (format!("F_{check}"), "1")));
    let code = bash.status().expect("bash runs").code()?;
    Some((code, std::fs::read_to_string(log).unwrap_or_default()))
}

#[test]
fn a_line_that_settles_hides_no_failure() {
    let mut lines = Lines { dice: Dice::new(seed("lines")), checks: 0 };
    let wanted = if long() { 4_000 } else { 150 };
    let (mut made, mut settling) = (0, 0);
    while made < wanted {
        lines.checks = 0;
        let mut line = lines.pick(&SETS);
        // A third keeps in a variable whether a check failed.
        if lines.dice.below(3) == 0 {
            line += &lines.pick(&["ok=1; ", "failed=; ", "rc=0; "]);
            line += &lines.list(1, 2);
            line += &lines.pick(&[" || ok=0; ", " || failed=\"$failed a\"; ", " || rc=1; ", "; rc=$?; "]);
            line += &(lines.list(1, 1) + &lines.pick(&[" || ok=0; ", " || rc=$?; ", "; "]));
            line +=
                &(lines.pick(&KEEPS) + &lines.pick(&["", " && exit 0; exit 1", " || exit 1", " && exit 1"]));
        } else {
            line += &lines.list(2, 4);
        }
        if !(1..=3).contains(&lines.checks) {
            continue;
        }
        made += 1;
        let is_hidden = |shell: &str| printed(&[shell, "-c", &line].map(str::to_owned)).is_some();
        if is_hidden("bash") || is_hidden("sh") {
            continue;
        }
        settling += 1;
        let alone = |shell: &str| fails_alone(&[shell, "-c", &line].map(str::to_owned));
        let is_alone = alone("bash") || alone("sh");
        let checks: Vec<&str> =
            ["a", "b", "c"].into_iter().filter(|it| line.contains(&format!("pytest {it}"))).collect();
        for failing in 0..1_usize << checks.len() {
            let failing: Vec<&str> = checks
                .iter()
                .enumerate()
                .filter(|(at, _)| failing >> at & 1 == 1)
                .map(|(_, check)| *check)
                .collect();
            for has_file in [false, true] {
                for shell in ["bash", "sh"] {
                    let Some((code, told)) = run(shell, &line, &failing, has_file) else { continue };
                    let hides =
                        code == 0 && (told.is_empty() || told.lines().any(|check| check.ends_with('1')));
                    assert!(
                        !hides,
                        "{shell}: {line:?} ends with 0, {failing:?} fail, x: {has_file}, checks: {told:?}"
                    );
                    assert!(
                        is_alone || code == 0 || !told.is_empty(),
                        "{shell}: {line:?} ends with {code} without a check, x: {has_file}"
                    );
                }
            }
        }
    }
    assert!(settling > wanted / 20, "{settling} of {made} settle");
    eprintln!("{settling} of {made} lines settle");
}
