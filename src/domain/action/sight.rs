//! Matches a command that a hook saw with a claim: a file in the claim's scopes, or the command of its trigger.

mod losing;

use super::looks::{OF_COMMANDS, only_looks};
use super::normal::{NormalCommand, name};
use super::{Action, Attempt, Kind, SOME_WORKSPACE, met, normalise};
use crate::domain::claim::Trigger;
use crate::domain::scope::Scope;
use crate::domain::text::CommandLine;

/// Programs, and their verbs that change files of the work tree. An install is none: in a loop of a recorded trace it goes into
/// another environment each time.
const CHANGERS: [(&str, &str); 4] = [
    ("cargo", "add fix fmt remove update"),
    ("git", "am apply checkout cherry-pick merge pull rebase reset restore revert stash switch"),
    ("go", "generate"),
    ("patch", "-p0 -p1 -p2"),
];

/// Programs that put files in place, and change none that is there.
const BRINGING: [&str; 5] = ["chmod", "cp", "ln", "mkdir", "touch"];

/// The first scope with a file that one of these lines names. The lines run in the root of the workspace.
pub fn scope_named<'s>(lines: &[CommandLine], scopes: &'s [Scope]) -> Option<&'s Scope> {
    let named: Vec<Scope> = commands(lines).iter().flat_map(paths).collect();
    scopes.iter().filter(|scope| scope.is_path()).find(|scope| named.iter().any(|path| scope.covers(path)))
}

/// The command of a trigger that one of these lines runs.
pub fn trigger_run(lines: &[CommandLine], trigger: &Trigger) -> Option<String> {
    let only = Trigger { commands: trigger.commands.clone(), ..Trigger::default() };
    let action = Action { root: SOME_WORKSPACE.to_owned(), commands: commands(lines), ..Action::default() };
    met(&only, &action).filter(|(kind, _)| *kind == Kind::Command).map(|(_, line)| line)
}

/// The run of an action that meets a line of a trigger: the first that is also what the caller looks for, else the last.
/// `None` for a line with several commands, which no single run meets.
pub fn run_of<'a>(
    line: &str,
    action: &'a Action,
    is_it: impl Fn(&NormalCommand) -> bool,
) -> Option<&'a NormalCommand> {
    let [wanted] = &normalise(line, &action.root, &action.root)[..] else { return None };
    let mut runs = action.commands.iter().filter(|run| wanted.covers(run));
    runs.clone().find(|run| is_it(run)).or_else(|| runs.next_back())
}

/// Whether a line, or one of its commands in normal form, writes, moves or deletes a file at a path, as `rm`, `sed -i` and
/// `git restore` do. They run in the root of the workspace.
pub fn writes_at(line: &CommandLine, runs: &[CommandLine], path: &str) -> bool {
    let Ok(path) = path.parse::<Scope>() else { return false };
    let mut lines = std::iter::once(line).chain(runs);
    lines.any(|line| written(line.as_str()).iter().any(|file| path.covers(file) || path == *file))
}

/// The files that a line writes, moves or deletes.
fn written(line: &str) -> Vec<Scope> {
    let attempt = Attempt { command: Some(line), ..Attempt::default() };
    Action::of(attempt, SOME_WORKSPACE, SOME_WORKSPACE).paths
}

/// Whether a line changes what a later command of it may see: it writes a file, or brings another state of the
/// repository.
pub fn changes_files(line: &str) -> bool {
    !written(line).is_empty()
        || normalise(line, SOME_WORKSPACE, SOME_WORKSPACE).iter().any(|command| {
            let [program, verb, ..] = command.words() else { return false };
            CHANGERS
                .iter()
                .any(|(known, verbs)| *known == name(program) && verbs.split(' ').any(|it| it == verb))
        })
}

/// Whether a line may have mended what failed before it: it does more than look, brings files or another state of the
/// repository, or sets a variable. No advice names what deletes, nor a line that is not understood as a whole.
pub fn may_mend(line: &str) -> bool {
    if losing::loses(line) {
        return false;
    }
    let commands = normalise(line, SOME_WORKSPACE, SOME_WORKSPACE);
    let brings = |command: &NormalCommand| BRINGING.contains(&name(&command.words()[0]));
    let is_set = line.split_once('=').is_some_and(|(before, value)| {
        before.strip_prefix("export ").is_some_and(|name| !name.trim().contains(' ')) && !value.is_empty()
    });
    !only_looks(line) || is_set || commands.iter().any(brings) || changes_files(line)
}

/// The files of the workspace that these commands name.
pub fn files_named(commands: &[NormalCommand]) -> impl Iterator<Item = Scope> {
    commands.iter().flat_map(paths)
}

/// The places of some commands: the files that they name, or else the last command itself. Its failure and its success
/// are about the same place.
pub fn targets_of(lines: &[CommandLine]) -> Vec<String> {
    let commands = commands(lines);
    let mut files: Vec<String> = files_named(&commands).map(String::from).collect();
    files.sort();
    files.dedup();
    if files.is_empty() {
        files.extend(commands.last().map(ToString::to_string));
    }
    files
}

/// Whether a text names one of these commands by its program and its first argument, or in backticks. What only looks is
/// named by no advice.
pub fn is_named_in(lines: &[CommandLine], text: &str) -> bool {
    let text = text.to_lowercase();
    let does = lines.iter().filter(|line| !only_looks(line.as_str()));
    let commands = does.flat_map(|line| commands(std::slice::from_ref(line)));
    commands.map(|command| command.key().to_lowercase()).any(|key| {
        if key.contains(' ') {
            super::error::has_words(&text, &key)
        } else {
            text.contains(&format!("`{key}`"))
        }
    })
}

/// Whether two lines run the same tool: the same program, and the same subcommand where it has any.
pub fn is_same_tool(line: &str, other: &str) -> bool {
    let tool = |line: &str| {
        let last = normalise(line, SOME_WORKSPACE, SOME_WORKSPACE).pop()?;
        let program = name(last.words().first()?).to_owned();
        Some(if OF_COMMANDS.contains(&program.as_str()) { last.key() } else { program })
    };
    tool(line).is_some_and(|one| tool(other) == Some(one))
}

fn commands(lines: &[CommandLine]) -> Vec<NormalCommand> {
    let of = |line: &CommandLine| normalise(line.as_str(), SOME_WORKSPACE, SOME_WORKSPACE);
    lines.iter().flat_map(of).collect()
}

/// The words of a command that look like paths of the workspace. The word `test` in `cargo test` is no path.
fn paths(command: &NormalCommand) -> impl Iterator<Item = Scope> {
    command.words().iter().filter_map(|word| {
        // `--file=src/a.rs`, `tests/test_a.py::test_b`, `src/a.rs:42`
        let word = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
        let word = word.split_once(':').map_or(word, |(path, _)| path);
        let is_path = word.contains(['/', '.']) && !word.starts_with(['/', '-', '~', '$', '{']);
        let path = is_path.then(|| word.parse::<Scope>().ok()).flatten()?;
        path.is_path().then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::{may_mend, scope_named, trigger_run};
    use crate::domain::claim::Trigger;
    use crate::domain::scope::Scope;
    use crate::domain::text::CommandLine;

    fn lines(line: &str) -> [CommandLine; 1] {
        [line.parse().expect("a command")]
    }

    /// Red before: `git reset --hard` was told as what had helped, and `terraform apply --help` as an apply.
    #[test]
    fn advice_names_what_may_have_mended_and_gives_nothing_up() {
        for line in [
            "cp .env.example .env",
            "git pull",
            "export X=1",
            "npm ci",
            "touch a",
            "git stash",
            "git checkout main",
        ] {
            assert!(may_mend(line), "{line}");
        }
        for line in [
            "ls src",
            "export X",
            "A=1 ls",
            "rm -rf build",
            "git reset --hard",
            "git checkout -- .",
            "git clean -fdx",
            "git stash drop",
        ] {
            assert!(!may_mend(line), "{line}");
        }
        let apply = Trigger { commands: lines("terraform apply").into(), ..Trigger::default() };
        assert!(trigger_run(&lines("terraform apply -auto-approve"), &apply).is_some());
        for line in ["terraform apply --help", "terraform apply -help", "terraform --version apply"] {
            assert!(trigger_run(&lines(line), &apply).is_none(), "{line}");
        }
    }

    #[test]
    fn a_command_names_a_scope_by_a_file_in_it() {
        let scopes: Vec<Scope> =
            ["tag:db", "src/db", "tests/test_ttl.py"].map(|scope| scope.parse().expect("a scope")).into();
        let named = |line: &str| scope_named(&lines(line), &scopes).map(|scope| scope.as_str());
        assert_eq!(named("pytest tests/test_ttl.py::test_pop -q"), Some("tests/test_ttl.py"));
        assert_eq!(named("cd src && wc -l db/pool.rs"), Some("src/db"));
        assert_eq!(named("cargo clippy --config=src/db/clippy.toml"), Some("src/db"));
        assert_eq!(named("rustfmt --check src/db/pool.rs:42"), Some("src/db"));
        for line in [
            "cargo test",
            "pytest",
            "pytest tests",
            "ls src",
            "cat src/dbx/pool.rs",
            "cat /etc/src/db",
            "echo src/db/pool.rs",
            "pytest tests/test_ttl.py 'open",
        ] {
            assert_eq!(named(line), None, "{line}");
        }
        let whole = ["test".parse().expect("a scope")];
        assert_eq!(scope_named(&lines("cargo test"), &whole), None, "a word is no path");
    }

    #[test]
    fn a_command_is_that_of_a_trigger_or_is_not() {
        let trigger = Trigger { commands: lines("cargo vendor").into(), ..Trigger::default() };
        assert_eq!(
            trigger_run(&lines("RUST_LOG=debug cargo vendor --locked"), &trigger).as_deref(),
            Some("cargo vendor")
        );
        assert_eq!(trigger_run(&lines("cargo build"), &trigger), None);
        assert_eq!(trigger_run(&lines("cargo build"), &Trigger::default()), None);
    }
}
