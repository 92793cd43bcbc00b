//! Tells the commands of a line that check something from chores, which prepare, tidy or look, and from conditions.

use super::{PRINTERS, decides, is_loud};
use crate::domain::action::normal::{after_keywords, is_assignment, name, unwrapped};
use crate::domain::action::shell::{self, Step, VALUE};

/// Chores besides the commands that are quiet or only print.
const CHORES: &str = "chmod chown clear cp df du env file free hash hostname id install killall ln ls mktemp mv pkill \
    printenv ps readlink realpath rm rmdir seq stat sync tput tree truncate type uname uptime who whoami yes";
/// Quiet words whose exit code or effect depends on other commands.
const OPEN: &str = ". done end esac exit false fi for return source }";
/// Chores of git. Other verbs may check something.
const OF_GIT: &str = "add blame branch checkout clean clone commit config diff fetch init log ls-files mv pull push \
    reset restore rev-parse rm show stash status switch";
/// Options by which a chore of git tells something.
const GIT_TELLS: &str = "--check --error-unmatch --exit-code --quiet --verify";
/// Chores of docker.
const OF_DOCKER: &str = "down images info inspect kill logs network ps rm stop volume";
/// Commands that look whether a server, a file or a word is there.
const PROBES: &str = "[ [[ curl dig getent grep host lsof mysqladmin nc ncat netstat nslookup pg_isready pgrep ping \
    redis-cli ss test wget";

/// The command that wrappers and the shell's `builtin` run, else the words.
pub(in crate::domain::action) fn started(words: &[String]) -> &[String] {
    match unwrapped(words).unwrap_or(words) {
        [builtin, rest @ ..] if builtin == "builtin" => rest,
        words => words,
    }
}

/// Whether a command only prepares, tidies or looks: the exit code of a line that ends in it says nothing about the checks
/// before it. In doubt it does not.
pub(in crate::domain::action) fn is_chore(command: &[String]) -> bool {
    let [program, arguments @ ..] = command else { return true };
    let has = |known: &str| arguments.iter().any(|word| known.split(' ').any(|known| known == word));
    let is_in = |known: &str| known.split(' ').any(|known| known == name(program));
    match name(program) {
        _ if is_assignment(program) => !program.contains(VALUE),
        _ if is_in(OPEN) => false,
        // Without a command it only redirects.
        "exec" => arguments.is_empty(),
        "kill" => !has("-0"),
        "xargs" => arguments.is_empty(),
        "jq" | "yq" => !has("-e --exit-status"),
        "md5sum" | "sha256sum" => !has("-c --check"),
        "git" => {
            verb(arguments).is_some_and(|verb| OF_GIT.split(' ').any(|of_git| of_git == verb))
                && !has(GIT_TELLS)
        }
        "docker" | "docker-compose" | "podman" => {
            let ends_with = arguments.iter().any(|word| word.starts_with("--exit-code-from"));
            (has(OF_DOCKER) || has("up") && has("-d --detach") && !has("build") && !ends_with)
                && !has("exec run")
        }
        "find" => executed(arguments).all(|(inner, _)| is_chore(started(inner))),
        program => {
            !is_loud(program)
                || is_in(CHORES)
                || PRINTERS.contains(&program) && !arguments.iter().any(|word| decides(program, word))
                || matches!(arguments, [only] if only == "--version" || only == "-V")
        }
    }
}

/// Whether a command looks whether something is there, as conditions and loops that wait do.
pub(in crate::domain::action) fn is_probe(command: &[String]) -> bool {
    let [program, arguments @ ..] = command else { return false };
    let is_known = |word: &String| PROBES.split(' ').any(|probe| probe == name(word));
    match name(program) {
        "command" => matches!(arguments, [option, _] if option == "-v" || option == "-V"),
        "docker" | "docker-compose" | "kubectl" | "podman" => {
            let looks =
                |word: &String| is_known(word) || ["get", "info", "inspect", "ps"].contains(&word.as_str());
            arguments.iter().any(looks) && !arguments.iter().any(|word| word == "run")
        }
        _ => is_known(program),
    }
}

/// Whether all commands of a line are of a kind, also those of its substitutions.
pub(in crate::domain::action) fn each_is(line: &str, depth: usize, kind: &dyn Fn(&[String]) -> bool) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let (steps, is_whole) = shell::read(line);
    is_whole
        && steps.iter().all(|step| match step {
            Step::Run { text, .. } => {
                shell_words::split(text).is_ok_and(|words| kind(started(after_keywords(&words))))
            }
            Step::Within(line) => each_is(line, depth, kind),
            Step::Enter | Step::Leave | Step::Write(_) => true,
        })
}

/// The commands that the arguments of `find` name, and whether each runs once per file, so that `find` tells nothing of its exit
/// code.
pub(in crate::domain::action) fn executed(arguments: &[String]) -> impl Iterator<Item = (&[String], bool)> {
    const RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
    let begins = arguments.iter().enumerate().filter(|(_, word)| RUNS.contains(&word.as_str()));
    begins.map(|(at, _)| {
        let rest = &arguments[at + 1..];
        let end = rest.iter().position(|word| word == ";" || word == "+").unwrap_or(rest.len());
        (&rest[..end], rest.get(end).is_none_or(|word| word == ";"))
    })
}

/// The first word of the arguments of git that is no option.
fn verb(arguments: &[String]) -> Option<&str> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-C" | "-c" => drop(words.next()),
            option if option.starts_with('-') => {}
            verb => return Some(verb),
        }
    }
    None
}

/// Whether the text of a trap leaves the exit code of a line as it is, given the arguments of `trap`.
pub(in crate::domain::action) fn keeps_exit(trap: &[String]) -> bool {
    let Some(text) = text_of(trap) else { return true };
    let (steps, true) = shell::read(text) else { return false };
    let mut kept = None;
    steps
        .iter()
        .filter_map(|step| match step {
            Step::Run { text, .. } => Some(shell_words::split(text).unwrap_or_default()),
            Step::Within(_) | Step::Enter | Step::Leave | Step::Write(_) => None,
        })
        .enumerate()
        .all(|(at, words)| match after_keywords(&words) {
            [exit, code] if exit == "exit" => match code.strip_prefix('$') {
                Some("?") => at == 0,
                Some(variable) => kept.as_deref() == Some(variable),
                None => code != "0",
            },
            [exec, _, ..] if exec == "exec" => false,
            [only] if at == 0 && only.ends_with("=$?") => {
                kept = only.strip_suffix("=$?").map(ToOwned::to_owned);
                true
            }
            // It sets the variable anew, or checks something.
            [only, ..] if kept.as_ref().is_some_and(|kept| only.starts_with(kept.as_str())) => false,
            words => is_chore(started(words)),
        })
}

/// The text of a trap that sets one: not `trap - EXIT`.
fn text_of(trap: &[String]) -> Option<&str> {
    match trap {
        [dashes, rest @ ..] if dashes == "--" => text_of(rest),
        [text, _, ..] if !text.is_empty() && text != "-" && text != "-p" => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_chore, is_probe, keeps_exit};

    fn words(line: &str) -> Vec<String> {
        shell_words::split(line).expect("a command")
    }

    #[test]
    fn chores_are_told_from_checks() {
        for line in [
            "rm -f out",
            "/bin/rm out",
            "sleep 1",
            "touch x",
            "cd .",
            "A=1",
            "export A=1",
            "kill $PID",
            "cat log",
            "awk 1 log",
            "jq .a b",
            "git status",
            "git -C a -c b=c diff",
            "docker compose -f a.yml down",
            "python --version",
            "find . -name a -delete",
            "find . -name a -exec rm {} ;",
        ] {
            assert!(is_chore(&words(line)), "{line}");
        }
        for line in [
            "pytest",
            "A={value}",
            "false",
            "exit 1",
            "done",
            ". ./check.sh",
            "kill -0 $PID",
            "awk '/a/ { exit 1 }' log",
            "sort -c a",
            "jq -e .a b",
            "sha256sum -c sums",
            "git grep a",
            "git diff --exit-code",
            "git ls-files --error-unmatch a",
            "docker compose run web rm a",
            "grep a b",
            "test -e a",
            "diff a b",
            "find . -name a -exec pytest {} ;",
            "python --version a",
        ] {
            assert!(!is_chore(&words(line)), "{line}");
        }
    }

    #[test]
    fn a_probe_looks_whether_something_is_there() {
        for line in [
            "test -e a",
            "[ -f a ]",
            "nc -z localhost 5432",
            "command -v ruff",
            "docker inspect db",
            "docker compose exec -T db pg_isready",
            "kubectl get pod a",
        ] {
            assert!(is_probe(&words(line)), "{line}");
        }
        for line in ["pytest", "command pytest", "docker run db test", "make test", "./ready.sh"] {
            assert!(!is_probe(&words(line)), "{line}");
        }
    }

    #[test]
    fn a_trap_that_sets_the_exit_code_is_told_from_one_that_keeps_it() {
        for (line, keeps) in [
            ("'rm -rf out' EXIT", true),
            ("-- 'rm -f a; echo over' 0", true),
            ("- EXIT", true),
            ("'' INT", true),
            ("EXIT", true),
            ("cleanup EXIT", false),
            ("'pytest' EXIT", false),
            ("'rc=$?; rc=0; exit $rc' EXIT", false),
            ("'code=$?; rm -f a; exit $code' EXIT", true),
            ("'exit 1' INT", true),
            ("'exit $?' EXIT", true),
            ("'exit 0' EXIT", false),
            ("'rm -f a; exit 0' EXIT", false),
            ("'rm -f a; exit $?' EXIT", false),
            ("'exec true' EXIT", false),
            // Red before.
            ("'exit $e' EXIT", false),
        ] {
            assert_eq!(keeps_exit(&words(line)), keeps, "{line}");
        }
    }
}
