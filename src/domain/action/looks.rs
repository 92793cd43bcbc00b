//! Lines for the shell that only look: they read, list or say something, put files in place, or call `hm`. What they end
//! with shows nothing about a claim.

use super::normal::{FILTERS, MAX_DEPTH, SETUP, SHELLS, after_keywords, line_for_shell, name, unwrapped};
use super::own::BETWEEN;
use super::shell::{self, Joint, Step};

/// Programs that read or list, or put files in place. `grep` and `wc` are none: what they find may be what is claimed.
const LOOKING: [&str; 42] = [
    "basename", "bat", "cat", "chmod", "column", "cp", "cut", "date", "dirname", "df", "du", "env", "fd",
    "file", "find", "head", "history", "less", "ln", "ls", "man", "mkdir", "more", "mv", "nl", "nproc",
    "printenv", "ps", "readlink", "realpath", "rm", "rmdir", "sed", "sort", "stat", "tail", "tee", "touch",
    "tree", "type", "uniq", "which",
];
/// Programs whose first argument says what they do.
pub(super) const OF_COMMANDS: [&str; 38] = [
    "aws",
    "az",
    "bash",
    "bun",
    "bundle",
    "cargo",
    "cmake",
    "composer",
    "conda",
    "deno",
    "docker",
    "docker-compose",
    "dotnet",
    "gcloud",
    "gh",
    "git",
    "glab",
    "go",
    "gradle",
    "helm",
    "just",
    "kubectl",
    "make",
    "mvn",
    "node",
    "npm",
    "npx",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "python",
    "python3",
    "rustup",
    "sh",
    "uv",
    "yarn",
];
/// Tools of clients that read a file or list a directory.
const READING_TOOLS: [&str; 10] =
    ["Read", "read", "view", "read_file", "Grep", "grep", "Glob", "glob", "LS", "list_directory"];
/// What of git computes or checks something about the files.
const GIT_SHOWS: [&str; 4] = ["apply", "bisect", "fsck", "grep"];
/// Options of git that take a value before its command.
const GIT_OPTIONS: [&str; 4] = ["-C", "-c", "--git-dir", "--work-tree"];

/// Whether a tool of a client only reads files or lists them.
pub fn is_reading_tool(tool: &str) -> bool {
    READING_TOOLS.contains(&tool)
}

/// Whether a line only looks. In doubt it does more.
pub fn only_looks(line: &str) -> bool {
    looks(line, MAX_DEPTH)
}

fn looks(line: &str, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let (steps, is_whole) = shell::read(line);
    is_whole
        && steps.iter().all(|step| match step {
            Step::Within(line) => looks(line, depth),
            Step::Enter | Step::Leave | Step::Write(_) => true,
            Step::Run { text, before, .. } => command_looks(text, *before, depth),
        })
}

/// The arguments of git from its command on, without the options before it. `None` without a command.
pub(super) fn command_of_git(mut arguments: &[String]) -> Option<&[String]> {
    while let [option, rest @ ..] = arguments
        && option.starts_with('-')
    {
        arguments = rest.get(usize::from(GIT_OPTIONS.contains(&option.as_str()))..)?;
    }
    (!arguments.is_empty()).then_some(arguments)
}

fn command_looks(text: &str, before: Joint, depth: usize) -> bool {
    let Ok(words) = shell_words::split(text) else { return false };
    let words = after_keywords(&words);
    let Some(command) = unwrapped(words) else {
        // Only assignments stand there; of an unknown wrapper it is open what it runs.
        return words.iter().all(|word| super::normal::is_assignment(word));
    };
    let [program, arguments @ ..] = command else { return true };
    let program = name(program);
    if SHELLS.contains(&program) {
        return line_for_shell(arguments).is_some_and(|line| looks(line, depth));
    }
    if program == "git" {
        return command_of_git(arguments).is_none_or(|command| !GIT_SHOWS.contains(&command[0].as_str()));
    }
    if program == "find" {
        return !arguments.iter().any(|word| word.starts_with("-exec") || word.starts_with("-ok"));
    }
    if program == "exit" && arguments.first().is_some_and(|code| code != "0") {
        // It tells that something failed.
        return false;
    }
    let is_open = ["source", ".", "trap"].contains(&program);
    program == "hm"
        || LOOKING.contains(&program)
        || BETWEEN.contains(&program)
        || SETUP.contains(&program) && !is_open
        || before == Joint::Pipe && FILTERS.contains(&program)
}

#[cfg(test)]
mod tests {
    use super::only_looks;

    #[test]
    fn a_line_that_only_looks_is_told_from_one_that_shows_something() {
        for line in [
            "ls",
            "ls -la src | head -20",
            "cat src/a.rs",
            "sed -n 1,40p src/a.rs",
            "cd web && git log --oneline | head",
            "git -C web status --short; git diff | cat",
            "git add -A && git commit -m 'mend the pool'",
            "hm claim list --json | jq -r .claims",
            "cat a.py | grep -n pool",
            "find . -name '*.py' 2>/dev/null; pwd",
            "bash -c 'cat a; ls'",
            "for f in *.py; do echo $f; head -3 $f; done",
            "mkdir -p tests && touch tests/a.py",
            "echo $(git rev-parse HEAD)",
        ] {
            assert!(only_looks(line), "{line}");
        }
        for line in [
            "pytest -q",
            "cat log; cargo test",
            "git stash && pytest | tail -3",
            "grep -rn pool src",
            "git grep pool",
            "wc -l src/db/a.rs",
            "find . -name '*.py' -exec python {} ;",
            "python - <<EOF",
            "source run.sh",
            "echo $(pytest -q)",
            "ls | xargs rm",
            "sudo make",
            "sh -c 'echo error: it has expired >&2; exit 3'",
        ] {
            assert!(!only_looks(line), "{line}");
        }
    }
}
