//! What a check reaches, read from its command line: its program and its targets. The failure of one check counts against
//! another one unless the two are known to be apart.

use super::check::normal;
use crate::domain::action::{bare, inside_shell};

/// Options that change neither what a check looks at nor its outcome, and take no value.
const HARMLESS: [&str; 11] = [
    "-q",
    "-qq",
    "-v",
    "-vv",
    "-vvv",
    "-x",
    "--quiet",
    "--verbose",
    "--no-fail-fast",
    "--no-coverage",
    "--no-header",
];
/// Programs whose first word names one of several programs.
const WITH_TASKS: [&str; 9] = ["bun", "cargo", "composer", "deno", "dotnet", "go", "npm", "pnpm", "yarn"];
/// Programs whose targets are names, so that two names are two targets.
const WITH_NAMES: [&str; 4] = ["just", "make", "ninja", "rake"];
/// Programs whose whole line is the check: another pattern or file is another check.
const WHOLE: [&str; 10] = ["[", "ag", "cmp", "diff", "egrep", "fgrep", "git", "grep", "rg", "test"];
/// Programs that start the program after a word.
const STARTERS: [(&str, &str); 9] = [
    ("bundle", "exec"),
    ("hatch", "run"),
    ("pdm", "run"),
    ("pipenv", "run"),
    ("pnpm", "exec"),
    ("poetry", "run"),
    ("rye", "run"),
    ("uv", "run"),
    ("yarn", "exec"),
];
/// Programs that start the program after their options.
const FETCHERS: [&str; 3] = ["bunx", "npx", "uvx"];
/// Options of `xargs` with a value.
const OF_XARGS: [&str; 8] = ["-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s"];
/// Shells, whose lines may be anything where they are not followed.
const SHELLS: [&str; 5] = ["bash", "dash", "ksh", "sh", "zsh"];
/// Programs that run a script.
const INTERPRETERS: [&str; 11] =
    [".", "bash", "dash", "ksh", "node", "perl", "php", "ruby", "sh", "source", "zsh"];

/// What the checks of a command reach: one, or those of a line for a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// Never empty.
    checks: Vec<Check>,
}

/// What one check reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Check {
    program: String,
    /// The first word of a program of [`WITH_TASKS`].
    task: Option<String>,
    /// Options that may leave out a part of the targets, and words whose meaning is unknown.
    options: Vec<String>,
    /// Never empty. Without a word, the target is the directory of the run.
    targets: Vec<Target>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    /// As it is written.
    word: String,
    /// The same below the top of the work tree. Empty for the top.
    path: String,
    /// Whether it includes what lies in it.
    is_deep: bool,
}

/// How the check that failed relates to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kinship {
    /// Both reach the same.
    Same,
    /// It includes the other one.
    Wider,
    /// It is a part of the other one.
    Narrower,
    /// They are not known to be apart.
    Alike,
}

impl Kinship {
    /// The article and the adjective before `check`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "the same",
            Self::Wider => "a wider",
            Self::Narrower => "a narrower",
            Self::Alike => "a similar",
        }
    }
}

impl Reach {
    /// `dir` is the directory of the run below the top of its work tree. None without a word.
    pub fn of(words: &[String], dir: &str) -> Option<Self> {
        if let Some((words, dir)) = in_another_place(words, dir) {
            return Self::of(&words, &dir);
        }
        let words = bare(words);
        if let Some(inner) = inside_shell(&words, dir) {
            let each = inner.iter().map(|check| Self::of(check.words(), check.dir().unwrap_or_default()));
            let each: Option<Vec<Self>> = each.collect();
            return Some(Self { checks: each?.into_iter().flat_map(|reach| reach.checks).collect() });
        }
        Some(Self { checks: vec![Check::of(&words, dir)?] })
    }

    /// Whether it runs tests by pytest, and nothing else.
    pub fn is_pytest(&self) -> bool {
        self.checks.iter().all(|check| check.program == "pytest")
    }

    /// How this check, which failed, relates to another one. None if they are known to be apart.
    pub fn kinship(&self, other: &Self) -> Option<Kinship> {
        self.pairs(other).any(|(one, other)| one.is_kin(other)).then(|| {
            match (self.includes(other), other.includes(self)) {
                (true, true) => Kinship::Same,
                (true, false) => Kinship::Wider,
                (false, true) => Kinship::Narrower,
                (false, false) => Kinship::Alike,
            }
        })
    }

    /// Whether both have one program and reach nothing in common.
    pub fn is_apart(&self, other: &Self) -> bool {
        self.pairs(other).all(|(one, other)| one.program == other.program && !one.is_kin(other))
    }

    /// Whether a run of this check is also a run of the other one.
    pub fn includes(&self, other: &Self) -> bool {
        other.checks.iter().all(|inner| self.checks.iter().any(|outer| outer.includes(inner)))
    }

    /// Each pair of checks of which at least one is the last of its line: two lines that begin alike are no kin by that.
    fn pairs<'r>(&'r self, other: &'r Self) -> impl Iterator<Item = (&'r Check, &'r Check)> {
        let ends = |reach: &'r Self, check: &Check| {
            reach.checks.last().is_some_and(|last| std::ptr::eq(last, check))
        };
        let pairs = self.checks.iter().flat_map(|one| other.checks.iter().map(move |other| (one, other)));
        pairs.filter(move |(one, another)| ends(self, one) || ends(other, another))
    }
}

impl Check {
    fn of(words: &[String], dir: &str) -> Option<Self> {
        let is_of_python =
            words.first().is_some_and(|first| is_python(first.rsplit('/').next().unwrap_or(first)));
        let words = if is_of_python { apart(words) } else { words.to_vec() };
        let (program, rest) = program(&words, dir)?;
        let (task, rest) = task(&program, rest);
        // A directory of Go is that one alone, and what the first target of a Makefile does is unknown.
        let reaches_in = |word: &str| match program.as_str() {
            "go" => word.ends_with("..."),
            program => !WITH_NAMES.contains(&program),
        };
        let mut options = Vec::new();
        let mut targets = Vec::new();
        let mut may_be_value = false;
        for word in rest {
            let is_option = word.len() > 1 && word.starts_with('-');
            if word == "--" {
                may_be_value = false;
            } else if is_option {
                let is_harmless = HARMLESS.contains(&word.as_str());
                may_be_value = !is_harmless && !word.contains('=');
                options.extend((!is_harmless).then(|| word.clone()));
            } else if may_be_value || is_open(word) {
                options.push(word.clone());
                may_be_value = false;
            } else {
                let is_deep = reaches_in(word);
                let word = word.trim_end_matches("...").to_owned();
                targets.push(Target { path: below(&as_path(&program, &word), dir), word, is_deep });
            }
        }
        // A word of unknown meaning may be one more target.
        if targets.is_empty() || options.iter().any(|option| !option.starts_with('-') && is_open(option)) {
            targets = vec![Target { word: String::new(), path: below(".", dir), is_deep: reaches_in("") }];
        }
        Some(Self { program, task, options, targets })
    }

    /// Whether both may fail by the same.
    fn is_kin(&self, other: &Self) -> bool {
        if is_open_program(&self.program) || is_open_program(&other.program) {
            return true;
        }
        let are_tasks_apart = self.task.is_some() && other.task.is_some() && self.task != other.task;
        let overlaps = |one: &Target| other.targets.iter().any(|other| self.may_share(one, other));
        self.program == other.program && !are_tasks_apart && self.targets.iter().any(overlaps)
    }

    fn includes(&self, other: &Self) -> bool {
        let is_in = |inner: &Target, outer: &Target| {
            let is_it = inner.path == outer.path && (outer.is_deep || !inner.is_deep);
            is_it || outer.is_deep && is_within(&inner.path, &outer.path)
        };
        let has = |inner: &Target| self.targets.iter().any(|outer| is_in(inner, outer));
        self.program == other.program
            && self.task == other.task
            && self.options.iter().all(|option| other.options.contains(option))
            && other.targets.iter().all(has)
    }

    /// Whether two targets may have a test in common. To most programs, a name that is no path is a part of other names.
    fn may_share(&self, one: &Target, other: &Target) -> bool {
        let is_name = |target: &Target| !target.word.is_empty() && !target.word.contains(['/', '.']);
        let is_bare = |target: &Target| is_name(target) && !target.word.contains(':');
        let are_names = is_name(one) && is_name(other) && (is_bare(one) || is_bare(other));
        is_within(&one.path, &other.path)
            || is_within(&other.path, &one.path)
            || is_name(other) && one.word.contains(&other.word)
            || is_name(one) && other.word.contains(&one.word)
            || are_names && !WITH_NAMES.contains(&self.program.as_str())
    }
}

/// The target that a word of a program names, as a path: the module `a.b.T` of unittest is a part of `a/b`. What
/// `discover` finds is everything.
fn as_path(program: &str, word: &str) -> String {
    match word {
        "discover" if program == "unittest" => ".".to_owned(),
        file if program == "unittest" && file.ends_with(".py") => file.trim_end_matches(".py").to_owned(),
        module if program == "unittest" && !module.contains('/') => module.replace('.', "/"),
        word => word.to_owned(),
    }
}

/// Whether only the shell knows what a program is, so that it may be any check: `$CMD`, the script `*.sh`, a line that is not
/// followed.
fn is_open_program(program: &str) -> bool {
    let of_shell = program.split_once(' ').is_none_or(|(first, _)| SHELLS.contains(&first));
    of_shell && program.contains(['$', '*'])
}

/// Whether a word stands for more than itself.
fn is_open(word: &str) -> bool {
    word.contains(['*', '?', '$', '>', '<', '|', ';', '&']) || word.contains(char::is_whitespace)
}

/// Whether a target is another one, or lies in it: a file of a directory, a test of a file.
fn is_within(inner: &str, outer: &str) -> bool {
    outer.is_empty()
        || inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '[']) || rest.starts_with("::"))
}

/// The path below the top of the work tree to which a word leads from a directory.
fn below(word: &str, dir: &str) -> String {
    let path =
        if word.starts_with('/') { normal(word, "/") } else { normal(&format!("./{dir}/{word}"), "/") };
    if path == "." { String::new() } else { path }
}

/// The program that the words run, without the programs that only start it, and its arguments.
fn program<'w>(mut words: &'w [String], dir: &str) -> Option<(String, &'w [String])> {
    loop {
        let (first, rest) = words.split_first()?;
        let name = first.rsplit('/').next().unwrap_or(first);
        let is_starter = |word: &String| STARTERS.contains(&(name, word.as_str()));
        if rest.first().is_some_and(is_starter) {
            words = after_options(&rest[1..]);
        } else if FETCHERS.contains(&name) {
            words = after_options(rest);
        } else if name == "xargs" {
            words = after_values(rest, &OF_XARGS);
        } else if is_python(name) || name == "coverage" && rest.first().is_some_and(|word| word == "run") {
            let rest = if name == "coverage" { &rest[1..] } else { rest };
            return match python(rest) {
                Some((module, rest)) if !module.contains('/') && !module.ends_with(".py") => {
                    Some((module.clone(), rest))
                }
                Some((script, rest)) => Some((below(script, dir), rest)),
                None => Some((words.join(" "), &[])),
            };
        } else if WHOLE.contains(&name) {
            return Some((words.join(" "), &[]));
        } else if INTERPRETERS.contains(&name) {
            return Some(match rest.split_first() {
                Some((script, rest)) if !script.starts_with('-') => (below(script, dir), rest),
                _ => (words.join(" "), &[]),
            });
        } else {
            let is_installed = first.contains("venv/bin/") || first.contains("node_modules/.bin/");
            let is_path = first.contains('/') && !first.starts_with('/') && !is_installed;
            let name = if name == "py.test" { "pytest" } else { name };
            return Some((if is_path { below(first, dir) } else { name.to_owned() }, rest));
        }
    }
}

fn is_python(name: &str) -> bool {
    let version = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// What `env` runs in another directory (`-C`) or from one word (`-S`), and that directory below the top of the work tree.
fn in_another_place(words: &[String], dir: &str) -> Option<(Vec<String>, String)> {
    let (first, rest) = words.split_first().filter(|(first, _)| first.rsplit('/').next() == Some("env"))?;
    let mut at = 0;
    let (option, value, after) = loop {
        let (word, more) = rest.get(at..)?.split_first()?;
        at += match word.split_once('=') {
            Some((option @ ("--chdir" | "--split-string"), value)) => break (option, value, more),
            None if matches!(word.as_str(), "-C" | "--chdir" | "-S" | "--split-string") => {
                let (value, more) = more.split_first()?;
                break (word, value, more);
            }
            None if matches!(word.as_str(), "-u" | "--unset") => 2,
            None if !word.starts_with('-') => return None,
            _ => 1,
        };
    };
    let before = std::iter::once(first).chain(&rest[..at]).cloned();
    if matches!(option, "-C" | "--chdir") {
        return Some((before.chain(after.iter().cloned()).collect(), below(value, dir)));
    }
    let line = shell_words::split(value).ok()?;
    Some((before.chain(line).chain(after.iter().cloned()).collect(), dir.to_owned()))
}

/// The options of Python with a module that is written onto its option: `-mpytest`, `-Bmpytest`.
fn apart(words: &[String]) -> Vec<String> {
    let split = |word: &String| {
        let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with(['-', 'W', 'X', 'c']))?;
        let at = flags.find('m').filter(|at| flags.len() > at + 1)?;
        let module = &flags[at + 1..];
        flags[..at]
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic())
            .then(|| [format!("-{}m", &flags[..at]), module.to_owned()])
    };
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let first = rest.iter().position(|word| !word.starts_with('-')).unwrap_or(rest.len());
    let options =
        rest[..first].iter().flat_map(|word| split(word).map_or_else(|| vec![word.clone()], Vec::from));
    std::iter::once(program.clone()).chain(options).chain(rest[first..].iter().cloned()).collect()
}

/// The module or script that Python runs, and its arguments.
fn python(mut words: &[String]) -> Option<(&String, &[String])> {
    loop {
        let (word, rest) = words.split_first()?;
        words = match word.as_str() {
            "-W" | "-X" => rest.get(1..)?,
            "-c" | "-" => return None,
            option if option.starts_with('-') && !option.starts_with("--") && option.ends_with('m') => {
                return rest.split_first();
            }
            option if option.starts_with('-') => rest,
            _ => return Some((word, rest)),
        };
    }
}

fn after_options(words: &[String]) -> &[String] {
    let first = words.iter().position(|word| !word.starts_with('-')).unwrap_or(words.len());
    &words[first..]
}

/// The words after options, some of which take a value.
fn after_values<'w>(mut words: &'w [String], with_value: &[&str]) -> &'w [String] {
    while let Some((option, rest)) = words.split_first().filter(|(word, _)| word.starts_with('-')) {
        words = if with_value.contains(&option.as_str()) { rest.get(1..).unwrap_or_default() } else { rest };
    }
    words
}

/// The task of a program that has several, and the arguments after it.
fn task<'w>(program: &str, words: &'w [String]) -> (Option<String>, &'w [String]) {
    if !WITH_TASKS.contains(&program) {
        return (None, words);
    }
    let start = usize::from(words.first().is_some_and(|word| word.starts_with('+')));
    let named = words[start..].iter().map(String::as_str).collect::<Vec<_>>();
    let (task, length) = match named.as_slice() {
        ["nextest", "run", ..] => ("test", 2),
        ["run" | "run-script", task, ..] if program != "cargo" && program != "go" => (*task, 2),
        ["t" | "tst", ..] => ("test", 1),
        [task, ..] if !task.starts_with('-') => (*task, 1),
        _ => return (None, words),
    };
    (Some(task.to_owned()), &words[start + length..])
}

#[cfg(test)]
mod tests {
    use super::{Kinship, Reach};

    fn reach(line: &str) -> Reach {
        let (dir, line) = line.split_once(": ").unwrap_or(("", line));
        Reach::of(&shell_words::split(line).expect("words"), dir).expect("a command")
    }

    #[test]
    fn a_check_is_compared_by_its_program_and_its_targets() {
        use Kinship::{Alike, Narrower, Same, Wider};
        for (failed, other, is) in [
            ("pytest -q t.py::test_a", "python3 -m pytest -q", Narrower),
            ("python3 -m pytest", "pytest -q -- t.py", Wider),
            (".venv/bin/pytest -vv", "env A=1 python3.12 -B -m pytest -q", Same),
            ("uv run pytest -q", "coverage run -m pytest", Same),
            ("eval 'pytest -q'", "pytest -q", Same),
            ("eval pytest -q t.py", "pytest -q", Narrower),
            (". ./check.sh", "sh check.sh", Same),
            ("source check.sh", "bash ./check.sh", Same),
            ("pytest t.py::test_a[1]", "pytest -- ./t.py::test_a", Narrower),
            ("pytest -p no:cacheprovider", "pytest -q", Narrower),
            ("pytest -k fast", "pytest -k slow", Alike),
            ("pytest --ignore a.py", "pytest b.py", Alike),
            ("sub: pytest", "pytest", Narrower),
            ("sub: pytest ../t.py", "pytest t.py", Same),
            ("pytest 'tests/*.py'", "pytest tests/t.py", Alike),
            ("cargo test --workspace -- resets", "cargo t --workspace -- pool::resets", Alike),
            ("cargo test -- resets", "cargo test -- pool", Alike),
            ("cargo +nightly nextest run", "cargo test", Same),
            ("go test ./...", "go test ./pool", Wider),
            ("npm run test", "npm test", Same),
            ("npm --prefix a test", "npm test", Alike),
            ("make", "make test", Alike),
            ("make test", "make", Alike),
            ("go test ./...", "go test .", Wider),
            ("go test ./pool", "go test", Alike),
            ("python -m unittest tests.test_a.T", "python3 -m unittest tests.test_a", Narrower),
            ("python -m unittest tests/test_a.py", "python3 -m unittest tests.test_a", Same),
            ("python -m unittest discover -s tests", "python3 -m unittest tests.test_a", Alike),
            ("npx --no-install jest -- a.test.js", "node_modules/.bin/jest", Narrower),
            ("npx jest pool", "npx jest src/pool.test.js", Alike),
            ("sh t.sh divides", "bash ./t.sh", Narrower),
            ("sh t.sh", "sh -c ./t.sh", Same),
            ("sh t.sh", "bash -lc 'set -e; exec sh t.sh'", Same),
            ("a: sh t.sh", "sh -c 'cd a && ./t.sh'", Narrower),
            ("pytest -q t.py::test_a", "sh -c 'pytest -q'", Narrower),
            ("sh t.sh", "xargs -a /dev/null sh t.sh", Same),
            ("pytest -q", "python3 -mpytest -q", Same),
            ("pytest -q", "python3 -Bmpytest", Same),
            ("sh t.sh", "env -C . sh t.sh", Same),
            ("a: sh t.sh", "env -i -C a sh t.sh", Same),
            ("sh t.sh", "env -S 'sh t.sh'", Same),
            ("a: sh t.sh", "env -u CI --chdir=a A=1 sh t.sh", Same),
            ("sh t.sh", "flock -w 5 lock taskset -c 0 chrt -b 0 sh t.sh", Same),
            ("sh t.sh", "xargs -r -n 1 ./t.sh", Same),
        ] {
            assert_eq!(reach(failed).kinship(&reach(other)), Some(is), "{failed} | {other}");
        }
        for (failed, other) in [
            ("pytest -q -- a.py", "pytest -q -- b.py"),
            ("pytest test_a.py", "pytest a.py"),
            ("pytest a.py::test_a", "pytest a.py::test_b"),
            ("a: pytest", "b: pytest"),
            ("cargo clippy", "cargo test"),
            ("cargo test -- pool::resets", "cargo test -- parser::numbers"),
            ("make lint", "make test"),
            ("sh a.sh", "sh b.sh"),
            ("sh -c 'test -e a'", "sh -c 'test -e b'"),
            ("grep -q a src/a.rs", "grep -q b src/a.rs"),
            ("npm test", "pytest"),
            ("sh t.sh", "sh -c '! ./t.sh'"),
        ] {
            assert_eq!(reach(failed).kinship(&reach(other)), None, "{failed} | {other}");
            assert_eq!(reach(other).kinship(&reach(failed)), None, "{other} | {failed}");
        }
    }

    /// Red before: a line of a shell with more than its check in it was another check.
    #[test]
    fn a_check_is_the_same_in_a_line_that_prepares_tidies_and_tells() {
        for line in [
            "sh t; rc=$?; exit $rc",
            "sh t; rc=$?; echo \"code $rc\"; exit $rc",
            "sh t > out.log 2>&1; rc=$?; cat out.log; exit $rc",
            "sh t > out.log 2>&1 || { cat out.log; exit 1; }",
            "sh t || { echo bad; exit 1; }",
            "sh t; if [ $? -ne 0 ]; then exit 1; fi",
            "set -e; mkdir -p out; sh t; rm -rf out",
            "if [ -d src ]; then sh t; else exit 1; fi",
            "if ! sh t; then exit 1; fi",
            "{ sh t; }",
            "(sh t)",
            "[ -d src ] || exit 1; sh t",
            "sh t; rc=$?; rm -f out.log; exit $rc",
            "sh t && sh t",
            "if grep -q b a; then sh t; else exit 1; fi",
            "set -e; cd \"$(git rev-parse --show-toplevel)\"; sh t",
            "for n in 1 2 3; do sh t || exit 1; done",
            "out=$(sh t) || { echo \"$out\"; exit 1; }",
        ] {
            let wrapped = reach(&shell_words::join(["bash", "-c", line]));
            assert_eq!(wrapped.kinship(&reach("sh t")), Some(Kinship::Same), "{line}");
        }
        for line in ["for f in t; do sh $f || exit 1; done", "CMD=\"sh t\"; $CMD", "sh *.sh", "sh \"$PWD/t\""]
        {
            let open = reach(&shell_words::join(["bash", "-c", line]));
            assert_eq!(open.kinship(&reach("sh t")), Some(Kinship::Alike), "{line}");
        }
        // A pattern of a search or of a program in the line is no open check.
        for line in ["grep -rn 'a*' src", "python3 -c 'assert 2 * 2 == 4'", "git diff --exit-code -- '*.rs'"]
        {
            assert_eq!(reach(line).kinship(&reach("sh t")), None, "{line}");
        }
        let (build, other) = (reach("sh -c 'sh build && sh t'"), reach("sh -c 'sh build && make lint'"));
        assert_eq!(build.kinship(&other), None);
        let both = reach("sh -c 'sh t && make lint'");
        assert_eq!(both.kinship(&reach("sh t")), Some(Kinship::Wider));
        assert_eq!(reach("sh t").kinship(&both), Some(Kinship::Narrower));
        assert_eq!(both.kinship(&reach("sh u")), None);
        assert_eq!(reach("sh -c '! sh t'").kinship(&reach("sh t")), None);
    }
}
