//! Whether the exit code of a line for a shell tells of each check in it. The line is run in thought, with every command
//! passing and failing: none of these runs may end with 0 after a check failed or was left out.

mod command;
mod known;
mod tree;

use std::cell::Cell;
use std::collections::BTreeMap;

pub(super) use self::command::looks;
use self::command::{
    CHANGE, PREPARE, SENDERS, SUCCEED, first_check, has_kill, has_other_check, inner, is_optional, is_plain,
    is_test, judges, never_fails, says_what_is, words,
};
use self::known::{Value, has_plain_dollar, of_code, of_test, of_word};
use self::tree::{Item, Node, Over, Pipeline, Simple, parsed};
use super::normal::{SHELLS, is_assignment, name};
use super::pipe::chore::{each_is, executed, is_chore, is_probe, keeps_exit, started};
use super::pipe::{Hides, PRINTERS, Piped};
use super::shell::{Joint, VALUE};

/// The most runs of a line that are told apart, and the most turns of a loop.
const MAX_PATHS: usize = 200;
const MAX_TURNS: usize = 3;
/// The most turns of a loop after which its runs are still new.
const MAX_ROUNDS: usize = 16;
/// The most commands that are run in thought for one line.
const MAX_STEPS: u32 = 20_000;
/// The first check of a command whose failure its exit code may not tell. A line for a shell that is unclear tells nothing.
pub(super) fn untold(argv: &[String], depth: usize) -> Option<Piped> {
    let command = Simple { text: shell_words::join(argv), within: Vec::new() };
    let lines = inner(started(argv)).and_then(|(_, line)| first_check(&parsed(line)?, depth));
    let steps = Cell::new(MAX_STEPS);
    // Where nothing else checks, what looks and what prints does.
    let thought = Thought::of(depth, lines.is_none(), &steps);
    let path = Path { succeeded: true, ..Path::default() };
    let ends = match thought.simple(&command, path, Place::default()) {
        Ok(ends) => ends,
        Err(by) => return Some(Piped { first: command.text, by }),
    };
    let passes = || ends.iter().filter(|path| path.succeeded);
    if let Some(failed) = passes().find_map(|path| path.hidden.clone()) {
        return Some(failed);
    }
    let first = lines?;
    passes().any(|path| !path.ran).then_some(Piped { first, by: Hides::Choice })
}

/// Whether a line for a shell may fail though its check did not: before it, as `cd a && pytest` without `a`, after it, or by
/// another one of its checks.
pub(super) fn fails_alone(argv: &[String], depth: usize) -> bool {
    let Some((_, line)) = inner(started(argv)) else { return false };
    let Some(items) = parsed(line) else { return false };
    let Some(first) = first_check(&items, depth) else { return false };
    // A file that is read or written is missing, or its directory.
    let is_missing = line.replace("<<", "").contains('<') || line.split('>').skip(1).any(writes_below);
    if has_other_check(&items, depth, &first) || is_missing || line.contains("trap ") {
        return true;
    }
    let steps = Cell::new(MAX_STEPS);
    let thought = Thought::of(depth, false, &steps);
    let command = Simple { text: shell_words::join(argv), within: Vec::new() };
    let ends = thought.simple(&command, Path { succeeded: true, ..Path::default() }, Place::default());
    ends.is_ok_and(|ends| ends.iter().any(|end| !end.succeeded && !end.failed))
}

/// Whether what follows `>` is a file in a directory that may be missing.
fn writes_below(after: &str) -> bool {
    let file = after.trim_start_matches(['|', '>', ' ']);
    let file = &file[..file.find(|c: char| c.is_whitespace() || ";|&)".contains(c)).unwrap_or(file.len())];
    file.contains('/')
        && !["/dev/", "/tmp/", "./"].iter().any(|known| file.trim_matches(['"', '\'']).starts_with(known))
}

/// What hides the result of an unclear line.
fn unread(line: &str) -> Hides {
    const BEGIN: [&str; 5] = ["case", "coproc", "for", "function", "select"];
    let mut words = line.split(|c: char| c.is_whitespace() || c == ';');
    words
        .find_map(|word| BEGIN.into_iter().find(|begin| *begin == word))
        .map_or(Hides::Unread, Hides::Compound)
}

/// Whether an argument of `set` or of a shell makes it stop at a failure.
pub(super) fn is_errexit(word: &str) -> bool {
    word == "errexit" || word.starts_with('-') && !word.starts_with("--") && word.contains('e')
}

/// Takes the options of `set` or of a shell, up to its first other word.
fn take_options(words: &[String], path: &mut Path) -> Result<(), Hides> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        // A long option of a shell. Some of them run nothing.
        if word.len() > 2 && word.starts_with("--") {
            if ["--norc", "--noprofile", "--login", "--posix", "--rcfile", "--init-file"]
                .contains(&word.as_str())
            {
                continue;
            }
            return Err(Hides::Unread);
        }
        let Some(flags) = word.strip_prefix(['-', '+']).filter(|flags| !flags.starts_with('-')) else {
            break;
        };
        let is_on = word.starts_with('-');
        // It reads its line, and runs nothing.
        if is_on && flags.contains(['n', 'D']) && !flags.contains('o') {
            return Err(Hides::Unread);
        }
        if flags.contains('e') {
            path.errexit = is_on;
        }
        if flags.ends_with('o') {
            match words.next().map(String::as_str) {
                Some("errexit") => path.errexit = is_on,
                Some("pipefail") => path.pipefail = is_on,
                Some("noexec") => return Err(Hides::Unread),
                _ => {}
            }
        }
    }
    Ok(())
}

/// One run of a line up to a place in it.
#[derive(Debug, Clone, Default, PartialEq)]
struct Path {
    /// Whether the last command had the exit code 0.
    succeeded: bool,
    /// The first check that failed or was left out.
    hidden: Option<Piped>,
    /// Whether a check ran.
    ran: bool,
    /// Whether a check failed.
    failed: bool,
    /// Whether it is in another directory than the line says.
    is_astray: bool,
    /// What is known of the variables.
    kept: BTreeMap<String, Value>,
    errexit: bool,
    pipefail: bool,
    flow: Flow,
    /// Whether the last command failed and is no check: what it leaves out is not chosen.
    is_chore: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Flow {
    #[default]
    On,
    /// The turn of a loop is over.
    Next,
    /// The loop is over.
    Out,
    /// The line, or its subshell, is over.
    Exit,
}

/// Where a command stands.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// `set -e` does not stop here.
    is_ignored: bool,
    /// A command that looks decides only what runs next.
    is_condition: bool,
    is_negated: bool,
    /// It is a test that judges what a check prints.
    is_judged: bool,
    /// The loop around it.
    within: Option<&'static str>,
}

impl Place {
    /// Whether it is what a loop waits for.
    fn waits(self) -> bool {
        self.is_condition && self.is_ignored && matches!(self.within, Some("while" | "until"))
    }

    fn by(self) -> Hides {
        self.within.map_or(Hides::Line, Hides::Compound)
    }
}

type Paths = Result<Vec<Path>, Hides>;

/// What is the same for the whole line.
#[derive(Clone, Copy)]
struct Thought<'t> {
    depth: usize,
    /// Whether what only looks or prints counts as a check.
    is_strict: bool,
    /// How many commands may still be run.
    steps: &'t Cell<u32>,
    /// Whether what runs in the background is ended by the line.
    is_service: bool,
    /// Whether a pattern without a match stands for nothing.
    has_nullglob: bool,
    /// Whether the shell may know nothing beyond POSIX.
    is_posix: bool,
}

impl<'t> Thought<'t> {
    /// Outside of a shell.
    const fn of(depth: usize, is_strict: bool, steps: &'t Cell<u32>) -> Self {
        Self { depth, is_strict, steps, is_service: false, has_nullglob: false, is_posix: false }
    }

    /// The ends of all runs of a line for a shell, which has the options before the line.
    fn line(self, (shell, options): (&str, &[String]), line: &str) -> Paths {
        let depth = self.depth.checked_sub(1).ok_or(Hides::Unread)?;
        // `&>` of bash puts a command into the background of these; and a line that only a shell knows may be anything.
        let is_posix = ["sh", "dash", "ash"].contains(&shell);
        let is_odd = line.contains("nocasematch") || line.contains("$'") && line.contains("\\'");
        if is_odd
            || is_posix && line.contains("&>")
            || line.trim_start().starts_with('$')
            || line.trim() == VALUE
        {
            return Err(Hides::Unread);
        }
        let items = parsed(line).ok_or_else(|| unread(line))?;
        if shell == "fish" && !is_plain(&items) {
            return Err(Hides::Unread);
        }
        let mut path = Path { succeeded: true, ..Path::default() };
        let end = options.iter().position(|word| word == line).unwrap_or(options.len());
        take_options(&options[..end], &mut path)?;
        let has_nullglob = line.contains("nullglob");
        Self { depth, is_service: has_kill(&items), has_nullglob, is_posix, ..self }.list(
            &items,
            path,
            Place::default(),
        )
    }

    fn list(self, items: &[Item], path: Path, place: Place) -> Paths {
        let mut paths = vec![path];
        for item in items {
            paths = on(paths, |path| self.item(item, path, place))?;
        }
        Ok(paths)
    }

    fn item(self, item: &Item, path: Path, place: Place) -> Paths {
        if !item.is_aside {
            return self.joined(&item.pipelines, path, place);
        }
        let before = Path { succeeded: true, ..path.clone() };
        if self.is_service {
            return Ok(vec![before]);
        }
        let mut ends = self.below(path, |path| self.joined(&item.pipelines, path, place))?;
        for end in &mut ends {
            let first = || first_check(std::slice::from_ref(item), self.depth);
            if !end.succeeded && end.hidden.is_none() {
                end.hidden = first().map(|first| Piped { first, by: Hides::Line });
            }
            end.succeeded = true;
        }
        Ok(ends)
    }

    fn joined(self, pipelines: &[(Joint, Pipeline)], path: Path, place: Place) -> Paths {
        let mut paths = vec![path];
        for (at, (joint, pipeline)) in pipelines.iter().enumerate() {
            let is_last = at + 1 == pipelines.len();
            paths = on(paths, |mut path| {
                if at > 0 && (*joint == Joint::Next) != path.succeeded {
                    if path.is_chore && path.hidden.is_none() {
                        let items =
                            [Item { pipelines: vec![(Joint::Next, pipeline.clone())], is_aside: false }];
                        let first = first_check(&items, self.depth);
                        path.hidden = first.map(|first| Piped { first, by: place.by() });
                    }
                    return Ok(vec![path]);
                }
                let is_condition = place.is_condition || !is_last;
                let place = Place { is_ignored: place.is_ignored || !is_last, is_condition, ..place };
                self.pipeline(pipeline, path, place)
            })?;
        }
        Ok(paths)
    }

    fn pipeline(self, pipeline: &Pipeline, path: Path, place: Place) -> Paths {
        let Pipeline { is_negated, commands } = pipeline;
        let place = Place { is_ignored: place.is_ignored || *is_negated, is_negated: *is_negated, ..place };
        let mut paths = match commands.as_slice() {
            [only] => self.node(only, path, place)?,
            [before @ .., last] => self.pipe(before, last, path, place)?,
            [] => vec![path],
        };
        // A group or a loop passes on a failure that `set -e` passed over in it.
        let stops = !matches!(
            commands.as_slice(),
            [Node::Group(_) | Node::If(..) | Node::Loop { .. } | Node::For(..)]
        );
        for path in paths.iter_mut().filter(|path| path.flow == Flow::On) {
            if *is_negated {
                path.succeeded = !path.succeeded;
                path.is_chore = false;
            }
            if stops && path.errexit && !place.is_ignored && !path.succeeded {
                path.flow = Flow::Exit;
            }
        }
        Ok(paths)
    }

    /// Commands joined by `|`. Where the last one decides by what it reads, the others only feed it.
    fn pipe(self, before: &[Node], last: &Node, path: Path, place: Place) -> Paths {
        let simple = if let Node::Simple(simple) = last { Some(simple) } else { None };
        // What is not in the output of a check that broke off proves nothing.
        let decides =
            simple.and_then(words).is_some_and(|words| judges(started(&words))) && !place.is_negated;
        let text = simple.map_or("…", |simple| &simple.text);
        let fed = Place { is_condition: true, ..Place::default() };
        // What judges a check is no condition.
        let has_check = before.iter().any(|part| self.has_check(part));
        let place = Place { is_condition: place.is_condition && !has_check, ..place };
        // The runs so far, and whether a part of the pipe failed.
        let mut paths = vec![(path, false)];
        for part in before {
            let mut next = Vec::new();
            for (path, has_failed) in paths {
                let outer = path.hidden.clone();
                for mut end in self.below(path, |path| self.node(part, path, fed))? {
                    let failed = end.hidden.take().filter(|hidden| Some(hidden) != outer.as_ref());
                    let is_told = end.pipefail && !end.succeeded;
                    end.hidden = outer.clone().or_else(|| match failed {
                        Some(failed) if !decides || end.pipefail => {
                            let by = Hides::Pipe { last: text.to_owned(), ends_line: true };
                            Some(Piped { first: failed.first, by })
                        }
                        _ => None,
                    });
                    let end = (end, has_failed || is_told);
                    if !next.contains(&end) {
                        next.push(end);
                    }
                }
                if next.len() > MAX_PATHS {
                    return Err(Hides::Unread);
                }
            }
            paths = next;
        }
        let mut ends = Vec::new();
        for (path, has_failed) in paths {
            for mut end in self.below(path, |path| self.node(last, path, place))? {
                end.succeeded &= !has_failed;
                ends.push(end);
            }
        }
        kept(ends)
    }

    fn has_check(self, node: &Node) -> bool {
        let commands = vec![node.clone()];
        let pipelines = vec![(Joint::Next, Pipeline { is_negated: false, commands })];
        first_check(&[Item { pipelines, is_aside: false }], self.depth).is_some()
    }

    fn node(self, node: &Node, path: Path, place: Place) -> Paths {
        match node {
            Node::Simple(simple) => self.simple(simple, path, place),
            Node::Group(items) => self.list(items, path, place),
            Node::Subshell(items) => self.below(path, |path| self.list(items, path, place)),
            Node::If(branches, otherwise) => {
                let condition = Place { is_ignored: true, is_condition: true, is_negated: false, ..place };
                let mut open = vec![path];
                let mut ends = Vec::new();
                for (asked, then) in branches {
                    let mut next = Vec::new();
                    for end in on(open, |path| self.list(asked, path, condition))? {
                        match end {
                            end if end.flow != Flow::On => ends.push(end),
                            end if end.succeeded => ends.extend(self.list(then, end, place)?),
                            end => next.push(end),
                        }
                    }
                    open = next;
                }
                for path in open {
                    // Its first command finds the exit code of the condition.
                    let succeeded = otherwise.is_empty();
                    ends.extend(self.list(otherwise, Path { succeeded, is_chore: false, ..path }, place)?);
                }
                kept(ends)
            }
            Node::Loop { until, condition, body } => {
                let word = if *until { "until" } else { "while" };
                let inside = Place { within: Some(word), is_negated: false, ..place };
                let asked = Place { is_ignored: true, is_condition: true, ..inside };
                // The runs before a turn, and how the last turn ended.
                let mut open = vec![(path, true)];
                let (mut ends, mut seen) = (Vec::new(), Vec::new());
                for turn in 0.. {
                    open.retain(|one| !seen.contains(one));
                    if open.is_empty() {
                        break;
                    }
                    if turn > MAX_ROUNDS || seen.len() > MAX_PATHS {
                        return Err(Hides::Compound(word));
                    }
                    seen.extend(open.iter().cloned());
                    let mut next = Vec::new();
                    for (path, last) in open {
                        for end in self.list(condition, path, asked)? {
                            match end.flow {
                                Flow::On if end.succeeded != *until => {
                                    for turned in self.list(body, end, inside)? {
                                        match turned.flow {
                                            Flow::On | Flow::Next => {
                                                let last = turned.succeeded;
                                                next.push((Path { flow: Flow::On, ..turned }, last));
                                            }
                                            Flow::Out => ends.push(Path { flow: Flow::On, ..turned }),
                                            Flow::Exit => ends.push(turned),
                                        }
                                    }
                                }
                                Flow::On => ends.push(Path { succeeded: last, is_chore: false, ..end }),
                                Flow::Next | Flow::Out => ends.push(Path { flow: Flow::On, ..end }),
                                Flow::Exit => ends.push(end),
                            }
                        }
                    }
                    open = next;
                }
                kept(ends)
            }
            Node::For(Over { variable, least, is_open }, body) => {
                let inside = Place { within: Some("for"), is_negated: false, ..place };
                let mut open = vec![Path { succeeded: true, is_chore: false, ..path }];
                let least = if self.has_nullglob { 0 } else { (*least).min(MAX_TURNS) };
                let turns = if *is_open || self.has_nullglob { MAX_TURNS } else { least };
                let mut ends = Vec::new();
                for turn in 0..turns {
                    if turn >= least {
                        ends.extend(open.iter().cloned());
                    }
                    for path in &mut open {
                        path.kept.remove(variable);
                    }
                    let mut next = Vec::new();
                    for turned in on(open, |path| self.list(body, path, inside))? {
                        match turned.flow {
                            Flow::On | Flow::Next => next.push(Path { flow: Flow::On, ..turned }),
                            Flow::Out => ends.push(Path { flow: Flow::On, ..turned }),
                            Flow::Exit => ends.push(turned),
                        }
                    }
                    open = kept(next)?;
                }
                ends.extend(open);
                kept(ends)
            }
        }
    }

    /// What runs in a subshell: only its exit code and what it hides come back.
    fn below(self, path: Path, run: impl FnOnce(Path) -> Paths) -> Paths {
        let (kept_before, errexit, pipefail) = (path.kept.clone(), path.errexit, path.pipefail);
        let ends = run(path)?;
        let outside =
            |end: Path| Path { kept: kept_before.clone(), errexit, pipefail, flow: Flow::On, ..end };
        kept(ends.into_iter().map(outside).collect())
    }

    fn simple(self, simple: &Simple, path: Path, place: Place) -> Paths {
        let left = self.steps.get().checked_sub(1).ok_or(Hides::Unread)?;
        self.steps.set(left);
        let words = words(simple).ok_or(Hides::Unread)?;
        if words.iter().all(|word| is_assignment(word)) {
            return self.assigned(simple, &words, path, place);
        }
        let command = started(&words);
        let Some((program, arguments)) = command.split_first() else {
            return Ok(vec![Path { succeeded: true, is_chore: false, ..path }]);
        };
        let program = name(program);
        let mut paths = vec![path];
        // The exit code of a substitution is lost, and a test judges what it prints.
        let lost = simple.within.iter().find(|line| !each_is(line, self.depth, &looks));
        let is_judged = lost.is_some() && is_test(program) && says_what_is(command) && !place.is_negated;
        // What it prints is run.
        let is_run = program == "eval" && arguments == [VALUE];
        if let Some(lost) = lost.filter(|_| !is_judged && !is_run) {
            let failed = Piped { first: lost.trim().to_owned(), by: place.by() };
            let mut failing = paths[0].clone();
            failing.hidden.get_or_insert(failed);
            paths.push(failing);
        }
        // As the leader of a group it does not wait.
        let waits = |word: &String| word == "-w" || word == "--wait";
        if words.first().is_some_and(|word| word == "setsid") && !words.iter().any(waits) {
            return Err(Hides::Unread);
        }
        let is_exec =
            matches!(words.as_slice(), [exec, first, ..] if exec == "exec" && !first.starts_with('{'));
        let place = Place { is_condition: place.is_condition && !is_judged, is_judged, ..place };
        let mut ends = on(paths, |path| self.command(simple, (program, arguments, command), path, place))?;
        for end in ends.iter_mut().filter(|_| is_exec) {
            end.flow = Flow::Exit;
            // The other turns are left out.
            if place.within.is_some() && end.ran {
                end.hidden.get_or_insert(Piped { first: simple.text.clone(), by: place.by() });
            }
        }
        Ok(ends)
    }

    fn command(
        self,
        simple: &Simple,
        (program, arguments, command): (&str, &[String], &[String]),
        mut path: Path,
        place: Place,
    ) -> Paths {
        path.is_chore = false;
        if CHANGE.contains(&program)
            && (program != "printf" || arguments.iter().any(|word| word.starts_with("-v")))
        {
            let is_open =
                |word: &String| word.contains(['$', '{', '[']) || word.starts_with("-v") && word.len() > 2;
            let open = arguments.iter().any(is_open);
            path.kept.retain(|variable, _| !open && !arguments.iter().any(|word| word.starts_with(variable)));
        }
        // Arithmetic may set any variable, and so may a file.
        let reads = matches!(program, "." | "source")
            || simple.text.contains("$[")
            || program == "eval" && arguments == [VALUE];
        if reads || simple.text.contains(VALUE) && simple.within.is_empty() {
            path.kept.clear();
        }
        let both = |path: Path| {
            let failed = Path { succeeded: false, ..path.clone() };
            Ok(vec![Path { succeeded: true, ..path }, failed])
        };
        match program {
            // Outside of a function `return` fails in bash, and ends the line in other shells.
            "return" => {
                let fails = Path { succeeded: false, ..path.clone() };
                let ends = of_code(arguments.first().map_or("$?", |code| code), &path);
                Ok(vec![Path { flow: Flow::Exit, succeeded: ends.unwrap_or(true), ..path }, fails])
            }
            "exit" => {
                path.flow = Flow::Exit;
                let Some(code) = arguments.first() else { return Ok(vec![path]) };
                match of_code(code, &path) {
                    Some(succeeded) => Ok(vec![Path { succeeded, ..path }]),
                    None => both(path),
                }
            }
            "break" | "continue" if !arguments.is_empty() || place.within.is_none() => Err(Hides::Unread),
            // It has the exit code of what it waits for.
            "wait" if !arguments.is_empty() => both(path),
            "break" | "continue" => {
                let flow = if program == "break" { Flow::Out } else { Flow::Next };
                Ok(vec![Path { flow, succeeded: true, ..path }])
            }
            "set" => {
                take_options(arguments, &mut path)?;
                Ok(vec![Path { succeeded: true, ..path }])
            }
            "trap" => {
                let changes = arguments.iter().any(|word| word.split_whitespace().any(|word| word == "set"))
                    || arguments
                        .iter()
                        .any(|word| ["DEBUG", "RETURN", "USR1", "USR2"].contains(&word.as_str()));
                if !keeps_exit(arguments) || changes {
                    return Err(Hides::Compound("trap"));
                }
                Ok(vec![Path { succeeded: true, ..path }])
            }
            "eval" => {
                let line = arguments.join(" ");
                if line.trim() == VALUE {
                    return both(path);
                }
                let items = parsed(&line).filter(|_| !line.trim_start().starts_with('$'));
                self.deeper()?.list(&items.ok_or(Hides::Unread)?, path, place)
            }
            "false" => Ok(vec![Path { succeeded: false, ..path }]),
            "find" if executed(arguments).any(|(inner, _)| !is_chore(started(inner))) => {
                // It may find nothing.
                let mut ends = vec![Path { succeeded: true, ..path.clone() }];
                for (inner, is_each) in executed(arguments).filter(|(inner, _)| !is_chore(started(inner))) {
                    let text = shell_words::join(inner);
                    let one = Simple { text: text.clone(), within: Vec::new() };
                    for mut end in self.deeper()?.simple(&one, path.clone(), place)? {
                        if is_each && !end.succeeded {
                            end.succeeded = true;
                            end.hidden = Some(Piped { first: text.clone(), by: Hides::Compound("find") });
                        }
                        ends.push(end);
                    }
                }
                kept(ends)
            }
            _ if let Some((at, line)) = inner(command) => {
                let mut ends = Vec::new();
                for inner in self.line((name(&command[at]), &command[at + 1..]), line)? {
                    let mut end = path.clone();
                    end.succeeded = inner.succeeded;
                    end.ran |= inner.ran;
                    end.failed |= inner.failed;
                    let failed = || Piped { first: simple.text.clone(), by: place.by() };
                    let hidden = if inner.succeeded { inner.hidden } else { inner.hidden.map(|_| failed()) };
                    end.hidden = end.hidden.or(hidden);
                    end.is_chore = !inner.succeeded && inner.is_chore;
                    ends.push(end);
                }
                kept(ends)
            }
            // What these read is unknown.
            program if SHELLS.contains(&program) && arguments.iter().all(|word| word.starts_with('-')) => {
                Err(Hides::Unread)
            }
            "env"
                if arguments
                    .iter()
                    .any(|word| word.starts_with("-S") || word.starts_with("--split-string")) =>
            {
                Err(Hides::Unread)
            }
            program if program.starts_with('-') || program == "[[" && self.is_posix => Err(Hides::Unread),
            program
                if SENDERS.contains(&program)
                    && arguments.iter().any(|word| word.contains([';', '|', '&', '\n'])) =>
            {
                Err(Hides::Unread)
            }
            // A shell elsewhere that gets no line reads one.
            _ if !looks(command) && command.last().is_some_and(|last| SHELLS.contains(&last.as_str())) => {
                Err(Hides::Unread)
            }
            program
                if is_test(program)
                    && let Some(succeeded) = self.tested(simple, arguments, &path) =>
            {
                Ok(vec![Path { succeeded, ..path }])
            }
            program if SUCCEED.contains(&program) => Ok(vec![Path { succeeded: true, ..path }]),
            _ if (is_chore(command) || program == "." || program == "source")
                && !self.is_telling(program, command) =>
            {
                let goes = matches!(program, "cd" | "pushd" | "popd");
                let failed = Path {
                    succeeded: false,
                    is_chore: true,
                    is_astray: path.is_astray || goes,
                    ..path.clone()
                };
                let never = never_fails(program, arguments);
                Ok(std::iter::once(Path { succeeded: true, ..path })
                    .chain((!never).then_some(failed))
                    .collect())
            }
            _ if program == "read" && place.is_condition => both(path),
            _ if place.is_condition && is_probe(command) && (!self.is_strict || place.waits()) => both(path),
            _ => {
                let is_inverted = place.is_negated && is_probe(command);
                let before = Path { succeeded: true, ..path.clone() };
                path.ran |= self.is_strict || place.is_judged || !is_probe(command);
                let mut failed = path.clone();
                failed.hidden.get_or_insert(Piped { first: simple.text.clone(), by: place.by() });
                // What looks, and what judges the output of another one, may miss something else.
                failed.failed |= !path.is_astray && !is_probe(command);
                let (pass, fail) = (!is_inverted, is_inverted);
                let mut ends = vec![Path { succeeded: pass, ..path }, Path { succeeded: fail, ..failed }];
                // It may have nothing to run.
                if program == "xargs" && arguments.iter().any(|word| is_optional(word)) {
                    ends.push(before);
                }
                Ok(ends)
            }
        }
    }

    /// `a=1`, `code=$?` and `out=$(pytest)`: the last one has the exit code of its substitution.
    fn assigned(self, simple: &Simple, words: &[String], mut path: Path, place: Place) -> Paths {
        let Simple { text, within } = simple;
        let before = path.succeeded;
        let is_plain = has_plain_dollar(text);
        // Arithmetic may set any variable.
        if within.is_empty() && words.iter().any(|word| word.contains(VALUE)) {
            path.kept.clear();
        }
        for (variable, value) in words.iter().filter_map(|word| word.split_once('=')) {
            let known = of_word(value, &Path { succeeded: before, ..path.clone() });
            match known.filter(|_| {
                !is_plain && !variable.ends_with('+') && (within.is_empty() || !value.contains('?'))
            }) {
                Some(known) => drop(path.kept.insert(variable.to_owned(), known)),
                None => drop(path.kept.remove(variable.trim_end_matches('+'))),
            }
        }
        path.is_chore = false;
        let Some((last, others)) = within.split_last() else {
            return Ok(vec![Path { succeeded: true, ..path }]);
        };
        let lost = others.iter().find(|line| !each_is(line, self.depth, &looks));
        let mut paths = vec![path];
        if let Some(lost) = lost {
            let mut failing = paths[0].clone();
            failing.hidden.get_or_insert(Piped { first: lost.trim().to_owned(), by: place.by() });
            paths.push(failing);
        }
        // `set -e` does not hold in a substitution of bash.
        on(paths, |path| {
            let items = parsed(last).ok_or(Hides::Unread)?;
            let inside = Path { errexit: false, ..path.clone() };
            let errexit = path.errexit;
            let ignored = Place { is_ignored: place.is_ignored, ..Place::default() };
            let ends = self.below(inside, |path| self.deeper()?.list(&items, path, ignored))?;
            Ok(ends.into_iter().map(|end| Path { errexit, ..end }).collect())
        })
    }

    /// What a test says whose values are known.
    fn tested(self, simple: &Simple, arguments: &[String], path: &Path) -> Option<bool> {
        let is_own = simple.text.starts_with("[[ ");
        // Without quotes a value that is empty or has a space is another test; and `==` is one of bash.
        let has_quotes = |at: usize| simple.text[..at].ends_with('"');
        let is_quoted = is_own || simple.text.match_indices('$').all(|(at, _)| has_quotes(at));
        if has_plain_dollar(&simple.text) || self.is_posix && arguments.iter().any(|word| word == "==") {
            return None;
        }
        of_test(arguments, path, is_quoted)
    }

    /// Whether a chore counts as a check, because the line has no other.
    fn is_telling(self, program: &str, command: &[String]) -> bool {
        let prepares = PREPARE.split(' ').any(|it| it == program) || PRINTERS.contains(&program);
        self.is_strict && !prepares && !command.iter().all(|word| is_assignment(word))
    }

    fn deeper(self) -> Result<Self, Hides> {
        Ok(Self { depth: self.depth.checked_sub(1).ok_or(Hides::Unread)?, ..self })
    }
}

/// Runs what comes next on each path that goes on.
fn on(paths: Vec<Path>, mut run: impl FnMut(Path) -> Paths) -> Paths {
    let mut ends = Vec::new();
    for path in paths {
        match path.flow {
            Flow::On => ends.extend(run(path)?),
            Flow::Next | Flow::Out | Flow::Exit => ends.push(path),
        }
    }
    kept(ends)
}

/// Each path once. A line with too many is unclear.
fn kept(paths: Vec<Path>) -> Paths {
    let mut once: Vec<Path> = Vec::new();
    for path in paths {
        if !once.contains(&path) {
            once.push(path);
        }
    }
    if once.len() > MAX_PATHS { Err(Hides::Unread) } else { Ok(once) }
}
