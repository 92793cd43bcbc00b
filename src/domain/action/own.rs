//! Detects shell lines that only call `hm`: the ledger already records their effect, and their output comes from
//! the ledger.

use super::normal::{FILTERS, MAX_DEPTH, SETUP, SHELLS, after_keywords, line_for_shell, name, unwrapped};
use super::shell::{self, Joint, Step};

/// Words that the shell handles itself, between commands.
pub(super) const BETWEEN: [&str; 8] = ["}", "cd", "done", "esac", "fi", "for", "popd", "pushd"];

/// Whether a line calls `hm` and has no other visible effect. An unclear line counts as having one.
pub fn is_own_call(line: &str) -> bool {
    read(line, MAX_DEPTH) == Some(true)
}

/// Whether a line begins with a call of `hm` and no shell can read it as a whole, because a quote in it is open.
pub fn is_broken_own_call(line: &str) -> bool {
    let mut parts = line.split([';', '\n', '&']).filter_map(|part| {
        let first = part.split_whitespace().find(|word| !super::normal::is_assignment(word))?;
        Some(name(first))
    });
    let is_first = parts.find(|program| !SETUP.contains(program) && !BETWEEN.contains(program)) == Some("hm");
    is_first && shell::is_open(line)
}

/// Whether a line calls `hm`; `None` if it also has another effect.
fn read(line: &str, depth: usize) -> Option<bool> {
    let depth = depth.checked_sub(1)?;
    let (steps, is_whole) = shell::read(line);
    let mut calls = false;
    for step in is_whole.then_some(steps)? {
        let (text, before) = match step {
            Step::Within(line) => {
                calls |= read(&line, depth)?;
                continue;
            }
            Step::Enter | Step::Leave | Step::Write(_) => continue,
            Step::Run { text, before, .. } => (text, before),
        };
        let words = shell_words::split(&text).ok()?;
        let words = after_keywords(&words);
        let [program, arguments @ ..] = unwrapped(words).unwrap_or_default() else {
            // The words are only assignments, or the command after `do` is empty. The command of an unknown wrapper
            // is unknown.
            if words.iter().all(|word| super::normal::is_assignment(word)) {
                continue;
            }
            return None;
        };
        let program = name(program);
        if SHELLS.contains(&program) {
            calls |= read(line_for_shell(arguments)?, depth)?;
        } else if program == "hm" {
            calls = true;
        } else if before == Joint::Pipe {
            // The command only filters the pipe before it. `tee` is an exception: it writes a file.
            (FILTERS.contains(&program) && program != "tee").then_some(())?;
        } else {
            // The commands that `.`, `source` and `trap` run are unknown.
            let is_setup = SETUP.contains(&program) && ![".", "source", "trap"].contains(&program);
            (is_setup || BETWEEN.contains(&program)).then_some(())?;
        }
    }
    Some(calls)
}

#[cfg(test)]
mod tests {
    use super::{is_broken_own_call, is_own_call};

    #[test]
    fn a_call_of_hm_that_no_shell_can_read_is_told_from_other_lines() {
        for line in [
            "hm claim create \"it is `pytest -q\"",
            "cd x && HM_AGENT=devops hm claim create 'it",
            // Red before: these have no here-document.
            "hm claim create \"it is <<broken\" && 'pytest -q",
            "hm claim create 'uses cat <<EOF and $(it)",
            "hm claim create \"uses cat <<EOF and it",
            "hm claim create \"it is <<broken, `pytest -q\"",
            r"hm claim create $'it\'s",
        ] {
            assert!(is_broken_own_call(line), "{line}");
        }
        for line in [
            "pytest -q 'a",
            "hm claim list",
            "hm claim list; pytest -q",
            "echo `hm status",
            // Red before: a shell reads these.
            "hm claim list && python3 - <<'EOF'\nassert False\nEOF",
            "hm claim list && python3 - <<EOF\n# it's\nassert False\nEOF",
            "hm note \"$(cat <<'EOF'\nit's\nEOF\n)\"; pytest",
            "hm status; f() { pytest; }; f",
            r"hm status; echo $'it\'s'; pytest -q",
            "hm note \"see $(cat <<'EOF'\nit's\nEOF\n)\"; pytest",
            "hm note `cat <<EOF\nit's\nEOF\n`; pytest",
            "hm status; case $1 in a) pytest;; esac",
        ] {
            assert!(!is_broken_own_call(line), "{line}");
        }
    }

    #[test]
    fn a_line_that_only_calls_hm_is_told_from_one_that_does_more() {
        for line in [
            "hm claim list",
            "/usr/local/bin/hm status",
            "cd /work/x && hm claim list",
            "cd \"/work/a b\" && HM_AGENT=devops hm claim show C1",
            "export HM_AGENT=devops; hm claim list --json | jq -r '.claims[0].id' | head -1",
            "env -u HM_SESSION timeout 20 hm log --follow",
            "hm claim create 'it said \"cargo test; rm -rf x\"' --scope src && hm attention",
            "echo \"--- tasks\"; hm task list; echo; hm plan show 2>&1 | tail -5",
            "for id in C1 C2; do hm claim show $id; done",
            "bash -lc 'cd x && hm status'",
            "ID=$(hm claim list --json | jq -r .id); hm claim support \"$ID\" || true",
            "if hm status; then hm log; fi",
            "(cd web; hm context)\nhm attention",
        ] {
            assert!(is_own_call(line), "{line}");
        }
        for line in [
            "",
            "cargo test",
            "echo hm status",
            "cd x",
            "hm claim list; cargo test",
            "cargo test && hm claim support C1",
            "cargo test | tail -3; hm claim list",
            "hm claim create \"$(cat notes.md)\" --scope src",
            "hm export | python3 count.py",
            "hm export | tee dump.txt",
            "cat src/a.rs; hm status",
            "grep -rn hm src | head",
            "xargs hm claim show < ids",
            "hm claim create 'x' <<EOF\ncargo test\nEOF",
            "hm claim list & pytest",
            "bash run.sh && hm status",
            "source env.sh && hm status",
            "hmm status",
            "hm claim list `pytest -q`",
        ] {
            assert!(!is_own_call(line), "{line}");
        }
    }
}
