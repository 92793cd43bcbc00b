//! An agent's next action, and the dead ends that it meets. Only structure is compared; an unclear action meets
//! nothing.

mod advice;
mod counts;
mod document;
mod ended;
mod error;
mod fault;
mod globals;
mod looks;
mod normal;
mod own;
mod pipe;
mod reads;
mod record;
mod shell;
mod sight;
mod steady;
mod symbols;
mod told;
mod volatile;
mod written;

pub use advice::{DeadEnd, MAX_TOLD, advise, age, edited_since, first_line, quoted};
pub use counts::{counts, failures_counted};
pub use ended::{End, end_of};
pub use error::{
    ErrorLine, Phrase, error_in, error_signature, for_people, from_root, printed_error, says_little,
    tells_errors_apart, without_masks,
};
pub use fault::fault;
pub use globals::only_tries;
pub use looks::{is_reading_tool, only_looks};
pub use normal::{NormalCommand, bare, inside_shell, makes_commits, normalise};
pub use own::{is_broken_own_call, is_own_call};
pub use pipe::{Hides, Piped, fails_alone, piped, printed};
pub use reads::without_reading;
pub use record::record;
pub use sight::{
    changes_files, files_named, is_named_in, is_same_tool, may_mend, run_of, scope_named, targets_of,
    trigger_run, writes_at,
};
pub use steady::steady;
pub use volatile::restored;

use crate::domain::claim::{Trigger, word};
use crate::domain::scope::Scope;
use crate::domain::text::{CommandLine, ErrorSignature};

word!(
    /// The part of a trigger that meets an action.
    Kind("kind of trigger") {
        /// The action runs a command.
        Command = "command",
        /// The action ended with an error.
        Error = "error",
        /// The action writes a symbol.
        Symbol = "symbol",
        /// The action changes a path.
        Path = "path",
        /// The action writes a claim, a decision or a run into the memory.
        Write = "write",
    }
);

/// An action that is about to happen or just happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Action {
    /// The root of the workspace, an absolute path.
    pub root: String,
    /// The commands that the action runs, in normal form.
    pub commands: Vec<NormalCommand>,
    /// The paths of the workspace that the action changes.
    pub paths: Vec<Scope>,
    /// The symbols in the written text: whole paths and their parts.
    pub symbols: Vec<String>,
    /// The error with which the action ended.
    pub error: Option<ErrorSignature>,
    /// The lines of its output that tell of errors, as printed. Empty where only the signature is known.
    pub errors: Vec<ErrorLine>,
    /// The commands of a line whose directory only the shell knows, such as those after `cd "$DIR"`. They meet only a
    /// guard that blocks wherever it is.
    pub somewhere: Vec<NormalCommand>,
}

/// An action as a client describes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attempt<'a> {
    /// The shell command.
    pub command: Option<&'a str>,
    /// The changed files, as the client names them.
    pub paths: &'a [String],
    /// The text written into the files.
    pub text: Option<&'a str>,
    /// The output of an action that failed, or may have.
    pub output: Option<&'a str>,
}

impl Action {
    /// The normal form of an attempt in a workspace; `cwd` and `root` are absolute paths.
    pub fn of(attempt: Attempt<'_>, cwd: &str, root: &str) -> Self {
        let read = attempt.command.map(|line| normal::read(line, cwd, root));
        let (commands, somewhere, written) =
            read.map(|read| (read.found, read.somewhere, read.written)).unwrap_or_default();
        let named = attempt.paths.iter().map(|path| volatile::absolute(path, cwd));
        let in_workspace = |path: String| Scope::as_written(&path, root).ok().filter(Scope::is_path);
        let mut paths: Vec<Scope> = named.chain(written).filter_map(in_workspace).collect();
        let mut known = std::collections::BTreeSet::new();
        paths.retain(|path| known.insert(path.clone()));
        Self {
            root: root.to_owned(),
            commands,
            paths,
            symbols: attempt.text.map(symbols::of).unwrap_or_default(),
            error: attempt.output.and_then(error_signature),
            errors: attempt
                .output
                .into_iter()
                .flat_map(error::lines)
                .map(|line| ErrorLine::of(&line))
                .collect(),
            somewhere,
        }
    }

    /// Whether the action has nothing that a trigger can match.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
            && self.somewhere.is_empty()
            && self.paths.is_empty()
            && self.symbols.is_empty()
            && self.error.is_none()
    }

    /// The keys of every trigger that can match the action.
    pub fn keys(&self) -> Vec<(Kind, String)> {
        let commands = self.commands.iter().chain(&self.somewhere).flat_map(NormalCommand::keys_of_triggers);
        // A trigger may be a glob that starts with a wildcard; its key is the root.
        let paths = self.paths.iter().flat_map(Scope::and_ancestors);
        let mut keys: Vec<(Kind, String)> = commands.map(|key| (Kind::Command, key)).collect();
        keys.extend(self.error.iter().map(|error| (Kind::Error, error.to_string())));
        let lines =
            self.errors.iter().map(ErrorLine::as_str).chain(self.error.iter().map(ErrorSignature::as_str));
        keys.extend(error::words_of(lines).into_iter().map(|word| (Kind::Error, word)));
        keys.extend(self.symbols.iter().map(|symbol| (Kind::Symbol, symbol.clone())));
        keys.extend(paths.map(|path| (Kind::Path, path.to_owned())));
        keys
    }
}

impl Action {
    /// What met a trigger, as people read it: the line of an error as it was printed, and not its signature.
    pub fn shown(&self, kind: Kind, met: &str) -> String {
        let is_it =
            |line: &&ErrorLine| error_signature(line.as_str()).is_some_and(|error| error.as_str() == met);
        let printed = self.errors.iter().find(is_it).filter(|_| kind == Kind::Error);
        printed.map_or_else(|| error::for_people(met), |line| line.as_str().trim().to_owned())
    }

    /// Whether one of its errors says a text and names the same.
    fn tells(&self, text: &str) -> bool {
        let text = Phrase::of(text);
        match (self.errors.as_slice(), &self.error) {
            ([], Some(error)) => text.is_said_by(&ErrorLine::of(error.as_str())),
            (lines, _) => lines.iter().any(|line| text.is_said_by(line)),
        }
    }
}

/// The action that a claim proposes, as far as its words show it: the commands it quotes, its scopes, and its
/// symbols. The scope of the whole workspace counts as no path.
pub fn proposed(statement: &str, scopes: &[Scope]) -> Action {
    let quoted = statement.split('`').skip(1).step_by(2).filter(|quoted| quoted.contains(' '));
    let named = scopes.iter().filter_map(|scope| scope.as_str().strip_prefix("symbol:"));
    Action {
        root: SOME_WORKSPACE.to_owned(),
        commands: quoted.flat_map(|line| normalise(line, SOME_WORKSPACE, SOME_WORKSPACE)).collect(),
        paths: scopes.iter().filter(|scope| scope.is_path() && scope.as_str() != ".").cloned().collect(),
        symbols: symbols::of(statement).into_iter().chain(named.map(str::to_owned)).collect(),
        ..Action::default()
    }
}

/// The root of a workspace whose location is unknown. No real path leads there.
const SOME_WORKSPACE: &str = "/{workspace}";

/// The keys under which a trigger is stored. They are the same on every machine. If a trigger matches an action,
/// [`Action::keys`] contains at least one of them.
pub fn keys(trigger: &Trigger) -> Vec<(Kind, String)> {
    let commands = trigger.commands.iter().filter_map(|line| {
        // A trigger with several commands matches only if all of them match, so the key of one is enough to find
        // it.
        normalise(line.as_str(), SOME_WORKSPACE, SOME_WORKSPACE).last().map(NormalCommand::key)
    });
    let mut keys: Vec<(Kind, String)> = commands.map(|key| (Kind::Command, key)).collect();
    keys.extend(signature(trigger).map(|error| (Kind::Error, error.into())));
    let text = trigger.error_signature.as_ref().and_then(|text| error::rarest_word(text.as_str()));
    keys.extend(text.map(|word| (Kind::Error, word)));
    keys.extend(symbols_of(trigger).map(|symbol| (Kind::Symbol, symbol.to_owned())));
    keys.extend(paths_of(trigger).map(|path| (Kind::Path, path.certain().to_string())));
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The first part of a trigger that meets an action, in its original spelling. The order is: commands, errors,
/// symbols, paths. A path covers everything below it, a glob everything it matches. The whole workspace never
/// matches, because it would warn of every action.
pub fn met(trigger: &Trigger, action: &Action) -> Option<(Kind, String)> {
    let is_run = |line: &&CommandLine| {
        let commands = normalise(line.as_str(), &action.root, &action.root);
        let does = |run: &NormalCommand, wanted: &NormalCommand| !only_tells(run) || only_tells(wanted);
        !commands.is_empty()
            && commands
                .iter()
                .all(|wanted| action.commands.iter().any(|run| wanted.covers(run) && does(run, wanted)))
    };
    if !action.commands.is_empty()
        && let Some(line) = trigger.commands.iter().find(is_run)
    {
        return Some((Kind::Command, line.to_string()));
    }
    if let Some(error) = &action.error
        && trigger.error_signature.as_ref().is_some_and(|text| action.tells(text.as_str()))
    {
        return Some((Kind::Error, error.to_string()));
    }
    if let Some(symbol) = symbols_of(trigger).find(|symbol| action.symbols.iter().any(|used| used == symbol))
    {
        return Some((Kind::Symbol, symbol.to_owned()));
    }
    let path = paths_of(trigger).find(|path| path.covers_any(&action.paths))?;
    Some((Kind::Path, path.to_string()))
}

/// Whether a program only tells how it is used: by its last word, because `--version 1.2` of an installer is a choice. What
/// stands behind `run` and `exec` is the option of a program inside.
fn only_tells(command: &NormalCommand) -> bool {
    let Some((last, before)) = command.words().split_last() else { return false };
    let runs_another = before.iter().rev().skip(1).any(|word| ["exec", "run"].contains(&word.as_str()));
    ["--help", "-help", "--version"].contains(&last.as_str()) && !runs_another
}

fn signature(trigger: &Trigger) -> Option<ErrorSignature> {
    error_signature(trigger.error_signature.as_ref()?.as_str())
}

fn paths_of(trigger: &Trigger) -> impl Iterator<Item = &Scope> {
    trigger.paths.iter().filter(|path| path.is_path() && !path.is_whole())
}

/// The symbols of a trigger that are specific enough.
fn symbols_of(trigger: &Trigger) -> impl Iterator<Item = &str> {
    named_by(trigger).map(symbols::bare).filter(|symbol| symbols::says_enough(symbol))
}

/// The symbols of a trigger and its `symbol:` scopes, as written.
fn named_by(trigger: &Trigger) -> impl Iterator<Item = &str> {
    let scoped = trigger.paths.iter().filter_map(|path| path.as_str().strip_prefix("symbol:"));
    trigger.symbols.iter().map(CommandLine::as_str).chain(scoped)
}

/// Whether a trigger with this record of a loop meets nothing else: the normal form of a command has no variables and no
/// pipe, by which records are told apart.
pub fn is_whole(line: &CommandLine) -> bool {
    let runs = normalise(line.as_str(), SOME_WORKSPACE, SOME_WORKSPACE);
    let [only] = runs.as_slice() else { return false };
    only.to_string() == line.as_str()
}

/// A command of a trigger that is only the name of a program such as `git`, so that it meets no call with arguments.
/// `make`, `just` and `yarn` do something by themselves.
pub fn too_bare(commands: &[CommandLine]) -> Option<&CommandLine> {
    commands.iter().find(|line| {
        let read = normalise(line.as_str(), SOME_WORKSPACE, SOME_WORKSPACE);
        let [only] = read.as_slice() else { return false };
        only.is_bare_program() && !["make", "just", "yarn"].contains(&only.words()[0].as_str())
    })
}

/// A symbol of a trigger that is no more specific than a common word, so that it meets no action.
pub fn too_plain(trigger: &Trigger) -> Option<&str> {
    named_by(trigger).find(|symbol| !symbols::says_enough(symbols::bare(symbol)))
}

#[cfg(test)]
mod tests {
    use super::{Action, Attempt, is_whole, normalise, only_tells};

    /// Red before: `--version 1.2` of an installer silenced each guard.
    #[test]
    fn a_program_that_only_tells_how_it_is_used_is_told_from_one_that_does_it() {
        let tells = |line: &str| only_tells(&normalise(line, "/w", "/w")[0]);
        for line in ["cargo publish --help", "docker run --help", "terraform apply -help", "helm --version"] {
            assert!(tells(line), "{line}");
        }
        for line in [
            "cargo publish",
            "helm upgrade app ./chart --version 1.2.3",
            "cargo install mdbook --version 0.4.40",
            "docker run --rm tool --help",
            "kubectl exec pod x --version",
        ] {
            assert!(!tells(line), "{line}");
        }
    }

    #[test]
    fn a_record_with_a_variable_or_a_pipe_is_no_whole_trigger() {
        let is = |line: &str| is_whole(&line.parse().expect("a command"));
        assert!(is("cargo test"));
        for line in ["STAGE=dev smoke.sh", "cargo test | grep FAILED", "make check ; make lint"] {
            assert!(!is(line), "{line}");
        }
    }

    fn changed(line: &str) -> Vec<String> {
        let attempt = Attempt { command: Some(line), ..Attempt::default() };
        Action::of(attempt, "/w/sub", "/w").paths.into_iter().map(String::from).collect()
    }

    /// Red before: only the tools that edit files changed paths.
    #[test]
    fn a_shell_line_changes_the_files_that_it_certainly_writes() {
        for (line, files) in [
            ("echo x > a.py", &["sub/a.py"][..]),
            ("cd /w && cat b.py >> 'lib/a b.py' 2>&1", &["lib/a b.py"]),
            ("cat > a.py <<'EOF'\nrm b.py\nEOF", &["sub/a.py"]),
            ("(cd ../lib && rm -f a.py b.py) && sudo tee c.py", &["lib/a.py", "lib/b.py", "sub/c.py"]),
            (
                "sed -i.bak 's/a/b/' a.py ../b.py; perl -pi -e 's/a/b/' c.py",
                &["sub/a.py", "b.py", "sub/c.py"],
            ),
            ("mv a.py b.py && cp b.py ../c.py", &["sub/a.py", "sub/b.py", "c.py"]),
            ("bash -c 'truncate -s0 a.py'", &["sub/a.py"]),
            (
                "git checkout HEAD~1 -- a.py; git rm b.py; git restore --source main c.py",
                &["sub/a.py", "sub/b.py", "sub/c.py"],
            ),
            ("pytest -q 2>/dev/null | tee /tmp/log", &[]),
            ("sed -n 1,9p a.py; cat a.py | sort; git checkout main; cp a.py /tmp", &[]),
            ("rm $F *.pyc ~/x; echo $X > $(name)", &[]),
            ("cd $D && rm a.py", &[]),
            // Red before: the directory was named, and not the file in it.
            ("cp a.py ../lib/; git mv b.py ../lib/", &["lib/a.py", "sub/b.py", "lib/b.py"]),
            ("mv a.py c/b.py ../old", &["sub/a.py", "sub/c/b.py", "old/a.py", "old/b.py"]),
            (
                "install -m 644 a.py bin/; ln -s ../b.py; ln -s ../../x/c.py .",
                &["sub/bin/a.py", "sub/b.py", "sub/c.py"],
            ),
            ("mv -t ../old a.py; install -d lib; cp *.py lib/", &["old", "sub/a.py"]),
            ("git restore --staged a.py; git rm --cached b.py; cp -t /tmp a.py", &[]),
            ("perl -Ilib -MList::Util bin/x.pl data.txt; sed -n -es/a/i/p a.py", &[]),
            (
                "truncate -s 0 a.py; sed -i --expression=s/a/b/ b.py; sed -i -es/a/b/ c.py",
                &["sub/a.py", "sub/b.py", "sub/c.py"],
            ),
        ] {
            assert_eq!(changed(line), files, "{line}");
        }
    }
}
