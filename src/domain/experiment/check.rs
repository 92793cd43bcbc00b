//! When two runs are runs of the same check: the command line counts, and the name of its profile does not.

use serde::{Deserialize, Serialize};

use super::key::hash;
use super::{Environment, Plan, RunGit};
use crate::domain::action::bare;
use crate::domain::text::CommandLine;

/// The check of a run, and its content. Profiles with the same command have the same check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckKey {
    /// SHA-256 in hex of the command, of what it runs with, and of the exit code that it expects.
    pub test: String,
    /// SHA-256 in hex of that, of the tool's version, and of the files that the profile covers. If those are unknown,
    /// the tree and the uncommitted changes replace them.
    pub content: String,
    /// The same of the tree and the uncommitted changes, by which profiles that cover other files are compared. `None` if
    /// it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// SHA-256 in hex of the scopes of the profile.
    pub covers: String,
}

impl CheckKey {
    /// `None` if the content is unknown.
    pub(super) fn of((check, scopes): (&str, &[String]), git: &RunGit, tool: &str) -> Option<Self> {
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let test = hash(&[check, git.dir()]);
        let tree = git.content().map(|(tree, diff)| hash(&[&test, tree, diff, tool]));
        let covered = git.covered.as_ref().map(|covered| hash(&[&test, "covered", covered, tool]));
        Some(Self { content: covered.or_else(|| tree.clone())?, test, tree, covers: hash(&scopes) })
    }

    /// Whether the content of two runs of one check is the same. The tree has no file that git ignores, and the covered
    /// files have those of the claim.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let is_same_tree = self.tree.is_some() && self.tree == other.tree;
        self.content == other.content || self.covers != other.covers && is_same_tree
    }
}

impl Plan {
    /// A text that is equal for plans of the same check: the command with its paths in their normal form, the exit code
    /// that it expects, and the environment and the directory if they are the caller's choice. Its hash is stored in
    /// [`CheckKey`], so its form never changes.
    pub fn check(&self) -> String {
        let cwd = self.cwd.to_string_lossy();
        let argv = self.same_as.as_ref().unwrap_or(&self.argv);
        let argv: Vec<String> = argv.iter().map(|argument| normal(argument, &cwd)).collect();
        let expected = self.expect.as_ref().map_or(0, |expect| expect.exit);
        let elsewhere = if self.elsewhere { &*cwd } else { "" };
        let environment: Vec<&str> = match &self.env {
            Environment::Only(names) => names.iter().map(String::as_str).collect(),
            Environment::Inherited => vec!["*"],
        };
        let place =
            [expected.to_string(), elsewhere.to_owned(), environment.join(" "), self.without.join(" ")];
        let parts: Vec<&str> = place.iter().chain(&argv).map(String::as_str).collect();
        hash(&parts)
    }

    /// The command without wrappers and with its paths in their normal form, for [`process`].
    pub fn words(&self) -> Vec<String> {
        let cwd = self.cwd.to_string_lossy();
        let argv = self.same_as.as_ref().unwrap_or(&self.argv);
        let argv = bare(argv);
        let mut words: Vec<String> = argv.iter().map(|argument| normal(argument, &cwd)).collect();
        // A bare name is a program of the search path.
        if let Some((given, program)) = argv.first().zip(words.first_mut())
            && given.contains('/')
            && !program.contains('/')
        {
            program.insert_str(0, "./");
        }
        words
    }
}

/// Whether two command lines, as typed, run the same command: with or without a wrapper that only starts it.
pub fn are_one_command(one: &CommandLine, other: &CommandLine) -> bool {
    let words = |line: &CommandLine| shell_words::split(line.as_str()).ok().map(|words| bare(&words));
    one == other || words(one).is_some_and(|one| words(other) == Some(one))
}

/// A text that is equal for runs of the same command, whatever its profiles call the exit codes, and whatever directory
/// the command runs in if its arguments lead to the same files. `words` are those of [`Plan::words`], and `dir` is the
/// directory of the run below the top of its work tree.
pub fn process(words: &[String], dir: &str) -> String {
    let Some((program, arguments)) = words.split_first() else { return String::new() };
    let led = |word: &String| match word.split_once('=') {
        Some((option, path)) if option.starts_with('-') => {
            format!("{option}={}", normal(&format!("./{dir}/{path}"), "/"))
        }
        _ if word.starts_with(['-', '/']) => word.clone(),
        _ => normal(&format!("./{dir}/{word}"), "/"),
    };
    let is_text = |word: &String| word.contains(char::is_whitespace);
    let leads = |word: &String| !word.starts_with('-') || word.contains('=');
    // Without an argument that leads to a file, or with a script as an argument, the directory itself counts.
    if arguments.iter().any(is_text) || !arguments.iter().any(leads) {
        return hash(&std::iter::once(dir).chain(words.iter().map(String::as_str)).collect::<Vec<_>>());
    }
    let program = if program.contains('/') { led(program) } else { program.clone() };
    let led: Vec<String> = std::iter::once(program).chain(arguments.iter().map(led)).collect();
    hash(&led.iter().map(String::as_str).collect::<Vec<_>>())
}

/// An argument with its path in the normal form: `./a`, `a//b`, `a/./b`, `a/c/../b`, and an absolute path below the
/// working directory. A path may follow `--option=`. Text with a space is no path.
pub(super) fn normal(argument: &str, cwd: &str) -> String {
    if !argument.contains('/') || argument.contains(char::is_whitespace) {
        return argument.to_owned();
    }
    let (option, path) = match argument.split_once('=') {
        Some((option, path)) if !option.contains('/') => (&argument[..=option.len()], path),
        _ => ("", argument),
    };
    let path = match path.strip_prefix(cwd) {
        Some("") => ".",
        Some(below) if below.starts_with('/') => below.trim_start_matches('/'),
        _ => path,
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." && parts.last().is_some_and(|last| *last != "..") {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    match (root, parts.as_slice()) {
        ("", []) => format!("{option}."),
        _ => format!("{option}{root}{}", parts.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::{are_one_command, normal, process};
    use crate::domain::action::bare;
    use crate::domain::text::CommandLine;

    /// Red before: a command behind a wrapper that only starts it was another check.
    #[test]
    fn a_command_is_the_same_behind_a_wrapper_that_only_starts_it() {
        let line = |text: &str| text.parse::<CommandLine>().expect("a command");
        for wrapped in [
            "env bash check.sh a",
            "/bin/bash check.sh a",
            "/usr/bin/env -u X A=1 B=2 bash check.sh a",
            "timeout 9 bash check.sh a",
            "timeout -k 1 --signal=INT 9 bash check.sh a",
            "nice -n 5 nohup stdbuf -o0 bash check.sh a",
            "time -p bash check.sh a",
            "command exec bash check.sh a",
            "bash -e check.sh a",
            "bash -eu -o pipefail +x -- check.sh a",
            "bash --norc --rcfile x check.sh a",
        ] {
            assert!(are_one_command(&line(wrapped), &line("bash check.sh a")), "{wrapped}");
        }
        for other in [
            "env -C src bash check.sh a",
            "env -S 'bash check.sh a'",
            "bash check.sh b",
            "bash -c 'check.sh a'",
            "bash -s check.sh a",
            "./bash check.sh a",
            "bash",
            "env",
        ] {
            assert!(!are_one_command(&line(other), &line("bash check.sh a")), "{other}");
            let words = shell_words::split(other).expect("words");
            assert!(!bare(&words).is_empty(), "{other}");
        }
        assert_eq!(bare(&["bash", "-c", "-e"].map(str::to_owned)), ["bash", "-c", "-e"]);
    }

    /// Red before: the directory of a run was a part of its check, whatever its arguments led to.
    #[test]
    fn a_command_is_the_same_where_its_arguments_lead_to_the_same_files() {
        let of =
            |line: &[&str], dir| process(&line.iter().map(|&word| word.to_owned()).collect::<Vec<_>>(), dir);
        let top = of(&["sh", "src/db/t.sh"], "");
        assert_eq!(of(&["sh", "db/t.sh"], "src/"), top);
        assert_eq!(of(&["sh", "../src/db/t.sh"], "tests/"), top);
        assert_eq!(of(&["sh", "--file=db/t.sh"], "src/"), of(&["sh", "--file=src/db/t.sh"], ""));
        assert_eq!(of(&["./t.sh", "a"], "src/"), of(&["src/t.sh", "src/a"], ""));
        for (line, dir) in [(&["sh", "src/db/t.sh"][..], "src/"), (&["bash", "src/db/t.sh"][..], "")] {
            assert_ne!(of(line, dir), top, "{line:?}");
        }
        for line in [&["make"][..], &["sh", "-c", "cat a"], &["cargo", "test"]] {
            assert_ne!(of(line, "src/"), of(line, ""), "{line:?}");
        }
    }

    /// Red before: another spelling of the argument was another check.
    #[test]
    fn a_path_has_one_spelling() {
        for (given, is) in [
            ("./a", "a"),
            ("src/./a", "src/a"),
            ("src//a/", "src/a"),
            ("src/b/../a", "src/a"),
            ("../a", "../a"),
            ("../../a", "../../a"),
            ("/w/src/a", "src/a"),
            ("/w", "."),
            ("./", "."),
            ("/world/a", "/world/a"),
            ("//etc/./x", "/etc/x"),
            ("--file=./a", "--file=a"),
            ("--file=/w/a", "--file=a"),
            ("./a.py::test", "a.py::test"),
            ("plain", "plain"),
            ("-c", "-c"),
            ("grep -q ./a //b", "grep -q ./a //b"),
            ("a/b=./c", "a/b=./c"),
        ] {
            assert_eq!(normal(given, "/w"), is, "{given}");
        }
    }
}
