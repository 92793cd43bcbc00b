//! The normal form of commands: different spellings of the same command become equal.

use std::fmt;

use super::looks::OF_COMMANDS;
use super::pipe::printed;
use super::shell::{Joint, Step, VALUE, read_with_rest};
use super::told::looks;
use super::volatile::{Place, absolute, below, is_port_option, masked, port, word};
use super::written::written_by;
use super::{document, globals};

/// The longest line that is parsed, in bytes. Longer lines are generated and not typed.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// How deep lines within lines are followed (`bash -c`, `$(…)`).
pub(super) const MAX_DEPTH: usize = 4;

/// Commands that only run another command: name, options that take a value, and number of own words before the
/// other command.
const WRAPPERS: &[(&str, &[&str], usize)] = &[
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-T", "-r", "-t", "-D", "-R", "--user", "--group"], 0),
    ("doas", &["-u", "-C"], 0),
    ("env", &["-u", "--unset"], 0),
    ("time", &["-f", "-o", "--format", "--output"], 0),
    ("nice", &["-n", "--adjustment"], 0),
    ("ionice", &["-c", "-n"], 0),
    ("stdbuf", &["-i", "-o", "-e"], 0),
    ("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    ("nohup", &[], 0),
    ("setsid", &[], 0),
    ("taskset", &[], 1),
    ("chrt", &["-T", "-P", "-D"], 1),
    ("flock", &["-w", "-E", "--timeout", "--conflict-exit-code"], 1),
    ("unshare", &[], 0),
    ("prlimit", &[], 0),
    ("command", &[], 0),
    ("exec", &["-a"], 0),
];
/// Options of wrappers that make the command unknown: a lookup, a line as one word, another directory.
const OPEN_OPTIONS: [&str; 6] = ["-v", "-V", "-S", "-C", "--split-string", "--chdir"];
pub(super) const SHELLS: [&str; 8] = ["sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish"];
/// Words of the shell that stand before a command.
const KEYWORDS: [&str; 9] = ["if", "then", "elif", "else", "while", "until", "do", "{", "!"];
/// Other words that the shell handles itself. None of them is a program.
const RESERVED: [&str; 11] =
    ["case", "cd", "done", "esac", "eval", "fi", "for", "function", "popd", "pushd", "}"];
/// Commands that only prepare or print. They never decide whether an action meets a dead end.
pub(super) const SETUP: [&str; 20] = [
    ".", ":", "alias", "echo", "exit", "export", "false", "printf", "pwd", "return", "set", "shopt", "sleep",
    "source", "trap", "true", "ulimit", "umask", "unset", "wait",
];
/// Commands that only filter the output of a pipe.
pub(super) const FILTERS: [&str; 17] = [
    "awk", "cat", "column", "cut", "egrep", "grep", "head", "jq", "less", "more", "rg", "sed", "sort",
    "tail", "tee", "uniq", "wc",
];

/// A simple command in its normal form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalCommand {
    words: Vec<String>,
    /// The directory of the command, unless it is the root of the workspace or a word already names it.
    dir: Option<String>,
}

impl NormalCommand {
    /// The program and its arguments; never empty.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The directory of the command, unless it is the root of the workspace or a word already names it.
    pub fn dir(&self) -> Option<&str> {
        self.dir.as_deref()
    }

    /// The key of a trigger with this command: its first two words without directories.
    pub fn key(&self) -> String {
        let names: Vec<&str> = self.words.iter().take(2).map(|word| name(word)).collect();
        names.join(" ")
    }

    /// Whether it is only the name of a program whose first argument is the command, as `git` is. Nearly every action
    /// begins with such a program, so that the name alone stands for a call without arguments.
    pub fn is_bare_program(&self) -> bool {
        matches!(self.words.as_slice(), [program] if OF_COMMANDS.contains(&name(program)))
    }

    /// The keys of every trigger that can match this command. The author of a trigger may have named a file of the
    /// workspace by its absolute path. Without the workspace such a path looks like a temporary file.
    pub fn keys_of_triggers(&self) -> Vec<String> {
        let mut keys = keys_of(&self.words);
        keys.extend(globals::spellings(&self.words).iter().flat_map(|words| keys_of(words)));
        keys
    }

    /// Whether a trigger with this command matches `action`: the words are equal, and `action` may have more, also around them:
    /// see [`globals::spellings`]. The name of a program alone must equal the whole action if its first argument is the
    /// command. A trigger without a directory matches in any directory of the workspace.
    pub fn covers(&self, action: &Self) -> bool {
        let same_words = if self.is_bare_program() {
            self.words == action.words
        } else {
            action.words.starts_with(&self.words)
                || globals::spellings(&action.words).iter().any(|words| words.starts_with(&self.words))
        };
        let same_dir = match &self.dir {
            None => action.dir.as_ref().is_none_or(|dir| !dir.starts_with(['/', '{'])),
            dir => *dir == action.dir,
        };
        same_words && same_dir
    }
}

/// The keys of every trigger that can match these words.
fn keys_of(words: &[String]) -> Vec<String> {
    let spellings = |word: &String| [name(word).to_owned(), TEMPORARY.to_owned()];
    match words {
        [] => Vec::new(),
        [only] => spellings(only).to_vec(),
        [program, first, ..] => spellings(program)
            .into_iter()
            .flat_map(|program| {
                let [named, masked] = spellings(first).map(|first| format!("{program} {first}"));
                [program, named, masked]
            })
            .collect(),
    }
}

/// The mask for a temporary file without an extension.
const TEMPORARY: &str = "{tmp}";

pub(super) fn name(word: &str) -> &str {
    word.trim_end_matches('/').rsplit('/').next().unwrap_or(word)
}

impl fmt::Display for NormalCommand {
    /// Prints a line that has this normal form when it runs in the root of the workspace.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(dir) = &self.dir {
            write!(f, "cd {} && ", shell_words::quote(dir))?;
        }
        f.write_str(&shell_words::join(&self.words))
    }
}

/// The commands that a shell line runs, each in its normal form: without environment variables, wrappers such as
/// `sudo`, redirections and output filters. Paths are relative to the workspace. Hashes, ports, times and temporary
/// files are masked. `cwd` and `root` are absolute paths.
///
/// Parts that the text alone does not determine give no command: an open quote, a program in a here-document for another
/// program than a shell, a command in a variable, a computed directory.
pub fn normalise(line: &str, cwd: &str, root: &str) -> Vec<NormalCommand> {
    read(line, cwd, root).found
}

/// The lines of a text below a program in a here-document: the commands that run after it, whatever it ends with.
pub(super) fn below_program(line: &str) -> Option<String> {
    let rest = read_with_rest(line).1?;
    let below =
        document::below_program(&rest).or_else(|| document::for_shell(&rest).map(|(_, after)| after))?;
    (!below.trim().is_empty()).then_some(below)
}

/// Like [`normalise`], with what else the line shows.
pub(super) fn read<'r>(line: &str, cwd: &str, root: &'r str) -> Reading<'r> {
    let mut reading = Reading { root, found: Vec::new(), somewhere: Vec::new(), written: Vec::new() };
    reading.line(line, &absolute(cwd, "/"), MAX_DEPTH);
    reading
}

/// What a line shows.
pub(super) struct Reading<'r> {
    root: &'r str,
    /// The commands in normal form.
    pub(super) found: Vec<NormalCommand>,
    /// The commands whose directory only the shell knows, as they are in the root.
    pub(super) somewhere: Vec<NormalCommand>,
    /// The absolute paths of the files that the line writes, moves or deletes: by a redirection, or by a program that
    /// does nothing else.
    pub(super) written: Vec<String>,
}

impl Reading<'_> {
    fn line(&mut self, line: &str, cwd: &str, depth: usize) {
        if depth == 0 || line.len() > MAX_LINE_BYTES {
            return;
        }
        // `None`: the line computes the directory, or the directory depends on how a command ends.
        let mut cwd = Some(cwd.to_owned());
        let mut outside = Vec::new();
        let mut compounds = 0_usize;
        let mut after_cd = false;
        // What the command before prints into the pipe.
        let mut printed: Option<String> = None;
        let (steps, rest) = read_with_rest(line);
        for step in steps {
            match step {
                Step::Enter => outside.push(cwd.clone()),
                Step::Leave => cwd = outside.pop().flatten(),
                Step::Write(file) => {
                    let file = shell_words::split(&file).unwrap_or_default();
                    if let Some(cwd) = &cwd {
                        self.writes(&file, cwd);
                    }
                }
                Step::Within(line) => self.within(&line, cwd.as_deref(), depth),
                Step::Run { text, before, after } => {
                    let Ok(words) = shell_words::split(&text) else { return };
                    let mut words = words.as_slice();
                    while let [first, rest @ ..] = words
                        && KEYWORDS.contains(&first.as_str())
                    {
                        compounds += usize::from(matches!(first.as_str(), "if" | "while" | "until"));
                        words = rest;
                    }
                    let piped = std::mem::take(&mut printed).filter(|_| before == Joint::Pipe);
                    if let Some(program) = piped.as_ref().filter(|_| document::is_for_shell(words)) {
                        self.within(program, cwd.as_deref(), depth);
                    }
                    printed = document::printed(words, piped);
                    // This command runs only if `cd` failed.
                    let is_instead = std::mem::take(&mut after_cd) && before == Joint::Else;
                    match words.first().map(String::as_str) {
                        Some("case" | "function") => return,
                        Some("for") => compounds += 1,
                        Some("fi" | "done") => compounds = compounds.saturating_sub(1),
                        Some("cd" | "pushd" | "popd") => {
                            // In a pipe or in the background, `cd` changes only the directory of its own subshell.
                            let leads = before != Joint::Pipe
                                && matches!(after, Joint::Next | Joint::Then | Joint::Else);
                            let is_certain = compounds == 0 && before != Joint::Else;
                            after_cd = leads;
                            if leads {
                                cwd = cwd.filter(|_| is_certain).and_then(|cwd| enter(words, &cwd));
                            }
                        }
                        Some(_) => match cwd.as_ref().filter(|_| !is_instead) {
                            Some(cwd) => self.command(words, before, cwd, depth),
                            None => self.somewhere(|there| there.command(words, before, there.root, depth)),
                        },
                        None => {}
                    }
                }
            }
        }
        if let Some((document, after)) = rest.as_deref().and_then(document::for_shell) {
            self.within(&document, cwd.as_deref(), depth);
            self.within(&after, cwd.as_deref(), depth);
        } else if let Some(below) = rest.as_deref().and_then(document::below_program) {
            self.within(&below, cwd.as_deref(), depth);
        }
    }

    /// Reads a line inside of another one.
    fn within(&mut self, line: &str, cwd: Option<&str>, depth: usize) {
        match cwd {
            Some(cwd) => self.line(line, cwd, depth - 1),
            None => self.somewhere(|there| there.line(line, there.root, depth - 1)),
        }
    }

    /// Reads commands whose directory is unknown. Which files they write is unknown too.
    fn somewhere(&mut self, read: impl FnOnce(&mut Self)) {
        let mut there =
            Self { root: self.root, found: Vec::new(), somewhere: Vec::new(), written: Vec::new() };
        read(&mut there);
        self.somewhere.extend(there.found.into_iter().chain(there.somewhere));
    }

    /// Adds files that a command writes. What only the shell knows names none.
    fn writes<S: AsRef<str>>(&mut self, files: &[S], cwd: &str) {
        let files = files.iter().map(AsRef::as_ref);
        let files = files.filter(|file| !file.contains(['$', '*', '?', '[', '~']) && !file.contains(VALUE));
        self.written.extend(files.map(|file| absolute(file, cwd)));
    }

    fn command(&mut self, words: &[String], before: Joint, cwd: &str, depth: usize) {
        let Some(words) = unwrapped(words) else { return };
        let [program, arguments @ ..] = words else { return };
        let program = globals::installed(program);
        self.writes(&written_by(name(program), arguments), cwd);
        if program.contains(['$', '=', '[', ']', '*']) || program.contains(VALUE) || program.starts_with('-')
        {
            return;
        }
        let place = Place { cwd, root: self.root };
        let mut is_placed = program.contains('/') && !program.starts_with('{') && place.says(program);
        let program = self::program(program, place);
        if program.is_empty() || program.starts_with('-') {
            return;
        }
        if SHELLS.contains(&program.as_str())
            && let Some(line) = line_for_shell(arguments)
        {
            return self.line(line, cwd, depth - 1);
        }
        if program == "eval" {
            return self.line(&arguments.join(" "), cwd, depth - 1);
        }
        if SETUP.contains(&program.as_str())
            || KEYWORDS.contains(&program.as_str())
            || RESERVED.contains(&program.as_str())
            || (before == Joint::Pipe && FILTERS.contains(&program.as_str()))
        {
            return;
        }
        let ends_processes = matches!(program.as_str(), "kill" | "renice" | "strace" | "lsof");
        let mut normal = vec![program];
        for (at, argument) in arguments.iter().enumerate() {
            let is_number = !argument.is_empty() && argument.bytes().all(|byte| byte.is_ascii_digit());
            let option = at.checked_sub(1).map_or("", |at| arguments[at].as_str());
            normal.push(if is_port_option(option) {
                port(argument)
            } else if is_number && (ends_processes || option == "--pid") {
                "{pid}".to_owned()
            } else {
                let (argument, says_where) = word(argument, place);
                is_placed |= says_where;
                argument
            });
        }
        let root = absolute(self.root, "/");
        let dir = match below(cwd, &root) {
            Some(".") => None,
            _ if is_placed => None,
            Some(inside) => Some(inside.to_owned()),
            None => Some(masked(cwd)),
        };
        self.found.push(NormalCommand { words: normal, dir });
    }
}

/// A program: an installed one by its name, one of the workspace by its path.
fn program(program: &str, place: Place<'_>) -> String {
    if !program.contains('/') || program.starts_with('{') {
        return program.to_owned();
    }
    let path = place.path(program);
    let is_installed = path.contains("node_modules/.bin/") || path.contains("venv/bin/");
    let path = masked(&path);
    if (path.starts_with('/') || is_installed) && !path.starts_with('{') {
        return name(&path).to_owned();
    }
    path
}

/// The command that wrappers run; `None` when it is unknown.
pub(super) fn unwrapped(mut words: &[String]) -> Option<&[String]> {
    loop {
        while words.first().is_some_and(|word| is_assignment(word)) {
            words = &words[1..];
        }
        let program = name(words.first()?);
        let Some((_, with_value, own)) = WRAPPERS.iter().find(|(wrapper, ..)| *wrapper == program) else {
            return Some(words);
        };
        words = &words[1..];
        while let Some(option) = words.first().filter(|word| word.starts_with('-') && *word != "--") {
            if OPEN_OPTIONS.contains(&option.as_str()) {
                return None;
            }
            let taken = if with_value.contains(&option.as_str()) { 2 } else { 1 };
            words = words.get(taken..)?;
        }
        let separator = usize::from(words.first().is_some_and(|word| word == "--"));
        words = words.get(separator + own..)?;
    }
}

/// A simple command without the words of the shell that stand before it.
pub(super) fn after_keywords(words: &[String]) -> &[String] {
    let first = words.iter().position(|word| !KEYWORDS.contains(&word.as_str())).unwrap_or(words.len());
    &words[first..]
}

/// A command without the wrappers that only start it, such as `env A=1`, `timeout 9` and `nice`, and without the options
/// of a shell that runs a script, such as `bash -e`. A command whose wrapper hides what it runs stays as it is.
pub fn bare(words: &[String]) -> Vec<String> {
    let Some([program, arguments @ ..]) = unwrapped(words) else { return words.to_vec() };
    if !SHELLS.contains(&name(program)) {
        return std::iter::once(program).chain(arguments).cloned().collect();
    }
    let script = line_for_shell(arguments).map_or_else(|| script_of(arguments), |_| None);
    // `/bin/sh` is the `sh` of the search path, and `./sh` is not.
    let program: &str = if program.starts_with('/') { name(program) } else { program };
    std::iter::once(program.to_owned()).chain(script.unwrap_or(arguments).iter().cloned()).collect()
}

/// Whether a line runs `git commit`.
pub fn makes_commits(line: &str) -> bool {
    // Most lines are ruled out before they are taken apart.
    line.contains("git")
        && line.contains("commit")
        && normalise(line, "/", "/").iter().any(|command| {
            let [program, arguments @ ..] = command.words() else { return false };
            let mut arguments = arguments.iter();
            while program == "git"
                && let Some(argument) = arguments.next()
            {
                match argument.as_str() {
                    "-C" | "-c" => drop(arguments.next()),
                    "commit" => return true,
                    option if option.starts_with('-') => {}
                    _ => return false,
                }
            }
            false
        })
}

/// The checks of a line that a shell gets as an argument, as in `sh -c './check.sh; rm -f log'` and `eval ./check.sh`, run in
/// `dir` below the root. Where nothing else is in the line, what only prepares, tidies or looks.
/// `None` without such a line, and where it may turn the outcome of a check around.
pub fn inside_shell(words: &[String], dir: &str) -> Option<Vec<NormalCommand>> {
    let [program, arguments @ ..] = words else { return None };
    let line = match program.as_str() {
        "eval" => arguments.join(" "),
        program => line_for_shell(arguments).filter(|_| SHELLS.contains(&name(program)))?.to_owned(),
    };
    // `! check` fails where the check passes.
    if line.split_whitespace().any(|word| word == "!") && printed(words).is_some() {
        return None;
    }
    let Reading { mut found, somewhere, .. } = read(&line, &format!("/{dir}"), "/");
    // Of a directory that only the shell knows, the root is as good as any.
    found.extend(somewhere);
    let mut checks: Vec<NormalCommand> = Vec::new();
    for check in found.iter().filter(|command| !looks(command.words())) {
        if !checks.contains(check) {
            checks.push(check.clone());
        }
    }
    let checks = if checks.is_empty() { found } else { checks };
    (!checks.is_empty()).then_some(checks)
}

/// The script that a shell runs, and its arguments. `None` without a script.
pub(super) fn script_of(mut arguments: &[String]) -> Option<&[String]> {
    while let [option, rest @ ..] = arguments {
        arguments = match option.as_str() {
            "--" => return Some(rest).filter(|rest| !rest.is_empty()),
            "-" | "-s" => return None,
            "--rcfile" | "--init-file" => rest.get(1..)?,
            _ if !option.starts_with(['-', '+']) => return Some(arguments),
            // The name of an option of the shell follows: `-o pipefail`, `-eo pipefail`.
            _ if option.ends_with(['o', 'O']) && !option.starts_with("--") => rest.get(1..)?,
            _ => rest,
        };
    }
    None
}

pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// The command line that a shell gets as an argument: `-c`, `-lc`, `-o pipefail -c`.
pub(super) fn line_for_shell(arguments: &[String]) -> Option<&str> {
    let mut arguments = arguments.iter();
    loop {
        let option = arguments.next()?.strip_prefix(['-', '+'])?;
        match option {
            "o" | "O" => {
                arguments.next()?;
            }
            "-rcfile" | "-init-file" => drop(arguments.next()?),
            _ if option.starts_with('-') => {}
            _ if option.contains('c') => {
                return arguments.find(|word| *word != "--").map(String::as_str);
            }
            _ if option.ends_with('o') => drop(arguments.next()?),
            _ => {}
        }
    }
}

/// The target directory of `cd`; `None` when the text does not name it.
fn enter(words: &[String], cwd: &str) -> Option<String> {
    if words[0] == "popd" {
        return None;
    }
    let mut targets = words[1..].iter().filter(|word| !matches!(word.as_str(), "--" | "-P" | "-L"));
    let target = targets.next()?;
    let is_known = targets.next().is_none()
        && !target.starts_with(['-', '~', '+'])
        && !target.contains(['$', '*', '?'])
        && !target.contains(VALUE);
    is_known.then(|| absolute(target, cwd))
}

#[cfg(test)]
mod tests;
