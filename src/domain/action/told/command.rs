//! What a command in a line for a shell is: a check, a chore, a test, or a shell with a line of its own.

use super::super::normal::{SHELLS, is_assignment, line_for_shell, name};
use super::super::pipe::chore::{each_is, executed, is_chore, is_probe, started};
use super::super::pipe::decides;
use super::super::shell::VALUE;
use super::tree::{Item, Node, Pipeline, Simple, parsed};

/// Chores that tell nothing, even where nothing else is in a line.
pub(super) const PREPARE: &str = "cd chmod chown clear cp env install kill killall ln mkdir mktemp mv pkill popd pushd rm rmdir seq sleep \
    sync touch tput truncate umask xargs yes";
/// Programs that give a line to a shell elsewhere.
pub(super) const SENDERS: [&str; 29] = [
    "chroot",
    "cmd",
    "concurrently",
    "csh",
    "elvish",
    "hyperfine",
    "ksh93",
    "lksh",
    "nix-shell",
    "npm",
    "npx",
    "nu",
    "oksh",
    "osh",
    "parallel",
    "pnpm",
    "powershell",
    "pwsh",
    "rbash",
    "runuser",
    "script",
    "sg",
    "ssh",
    "su",
    "tcsh",
    "vagrant",
    "watch",
    "xonsh",
    "yash",
];
/// Commands that succeed whatever was before them.
pub(super) const SUCCEED: [&str; 8] = [":", "date", "echo", "printf", "shopt", "true", "umask", "wait"];
/// Commands that change variables.
pub(super) const CHANGE: [&str; 12] = [
    "declare",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "typeset",
    "unset",
];

/// Whether a line is one simple command.
pub(super) fn is_plain(items: &[Item]) -> bool {
    let [Item { pipelines, is_aside: false }] = items else { return false };
    let [(_, Pipeline { is_negated: false, commands })] = pipelines.as_slice() else { return false };
    matches!(commands.as_slice(), [Node::Simple(simple)] if !["not ", "or ", "and ", "begin ", "builtin "].iter().any(|word| simple.text.starts_with(word)))
}

/// Whether a command of a line ends others: what runs in the background is a service.
pub(super) fn has_kill(items: &[Item]) -> bool {
    each_simple(items, &mut |simple| {
        words(simple).is_some_and(|words| words.first().is_some_and(|it| it == "kill"))
    })
}

pub(super) fn words(simple: &Simple) -> Option<Vec<String>> {
    shell_words::split(&simple.text).ok()
}

/// Whether this holds of any simple command.
pub(super) fn each_simple(items: &[Item], holds: &mut dyn FnMut(&Simple) -> bool) -> bool {
    let nodes = items.iter().flat_map(|item| &item.pipelines).flat_map(|(_, pipeline)| &pipeline.commands);
    { nodes }.any(|node| match node {
        Node::Simple(simple) => holds(simple),
        Node::Group(items) | Node::Subshell(items) | Node::For(_, items) => each_simple(items, holds),
        Node::If(branches, otherwise) => {
            branches.iter().any(|(condition, then)| each_simple(condition, holds) || each_simple(then, holds))
                || each_simple(otherwise, holds)
        }
        Node::Loop { condition, body, .. } => each_simple(condition, holds) || each_simple(body, holds),
    })
}

/// The first check of a line.
pub(super) fn first_check(items: &[Item], depth: usize) -> Option<String> {
    let mut first = None;
    each_simple(items, &mut |simple| {
        if is_check(simple, depth) {
            first = Some(simple.text.clone());
        }
        first.is_some()
    });
    first
}

/// Whether a line has another check than this one.
pub(super) fn has_other_check(items: &[Item], depth: usize, check: &str) -> bool {
    each_simple(items, &mut |simple| simple.text != check && is_check(simple, depth))
}

/// Whether a chore succeeds whatever is there: `rm -f log`, `export A=1`.
pub(super) fn never_fails(program: &str, arguments: &[String]) -> bool {
    match program {
        "declare" | "export" | "typeset" => !arguments.iter().any(|word| word.contains(VALUE)),
        "tee" => true,
        "rm" => arguments.first().is_some_and(|word| word.starts_with('-') && word.contains('f')),
        _ => false,
    }
}

/// Whether `xargs` may have nothing to run, as with `-r`, `-0r` and `-I {}`.
pub(super) fn is_optional(word: &str) -> bool {
    let short = word.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
    word.starts_with("--no-run")
        || word.starts_with("--replace")
        || short.is_some_and(|flags| {
            let with_value = flags.find(['a', 'd', 'E', 'L', 'n', 'P', 's']).unwrap_or(flags.len());
            flags[..with_value].contains(['I', 'i', 'r'])
        })
}

/// Whether a simple command, or what it starts, checks something.
pub(super) fn is_check(simple: &Simple, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    let Some(words) = words(simple) else { return true };
    let within = || simple.within.iter().any(|line| !each_is(line, depth, &looks));
    if words.iter().all(|word| is_assignment(word)) {
        return within();
    }
    let command = started(&words);
    if let Some((shell, line)) = inner(command) {
        return parsed(line).is_none_or(|items| first_check(&items, depth).is_some()) || shell > 0;
    }
    let Some(program) = command.first() else { return within() };
    if let [eval, arguments @ ..] = command
        && eval == "eval"
    {
        let line = arguments.join(" ");
        return line.trim() != VALUE
            && parsed(&line).is_none_or(|items| first_check(&items, depth).is_some());
    }
    if let [find, arguments @ ..] = command
        && name(find) == "find"
    {
        return executed(arguments).any(|(inner, _)| !is_chore(started(inner)));
    }
    let is_own = OWN.contains(&name(program)) || SUCCEED.contains(&name(program));
    !is_own && !looks(command) || within()
}

/// Commands of the shell itself whose effect is followed.
pub(super) const OWN: [&str; 13] = [
    "break", "continue", "eval", "exit", "false", "read", "return", "set", "source", "trap", ".", "declare",
    "let",
];

/// Whether a command only prepares, tidies or looks.
pub(in crate::domain::action) fn looks(command: &[String]) -> bool {
    is_chore(command) || is_probe(command)
}

/// Whether a command at the end of a pipe decides by what it reads: `grep -q passed`, `sort -c`, `diff - expected`. A pattern that
/// fits whatever the outcome is only shortens.
pub(super) fn judges(command: &[String]) -> bool {
    let [program, arguments @ ..] = command else { return false };
    let has = |wanted: &str| arguments.iter().any(|word| word == wanted);
    match name(program) {
        "grep" => {
            let is_flag = |word: &&String| word.starts_with('-') && word.len() > 1;
            let is_inverted = arguments
                .iter()
                .filter(is_flag)
                .any(|word| word == "--invert-match" || !word.starts_with("--") && word.contains('v'));
            let mut texts = arguments.iter().filter(|word| !is_flag(word));
            !is_inverted
                && texts
                    .any(|text| !text.contains('|') && !["", ".", ".*", "^", "$"].contains(&text.as_str()))
                && !arguments.iter().any(|word| word.contains('|'))
        }
        "diff" | "cmp" => has("-"),
        "jq" | "yq" => has("-e") || has("--exit-status"),
        program => arguments.iter().any(|word| decides(program, word)),
    }
}

/// Whether a test says what a text is: `[ "$(pytest)" = ok ]`. That it is not something, or how much there is of it, may come from
/// a check that broke off.
pub(super) fn says_what_is(command: &[String]) -> bool {
    let is_equal = |words: &[String]| matches!(words, [_, is, value] if (is == "=" || is == "==") && !value.is_empty() && value != "0");
    match command {
        [open, words @ .., close] if open == "[" && close == "]" => is_equal(words),
        [test, words @ ..] if test == "test" => is_equal(words),
        _ => false,
    }
}

pub(super) fn is_test(program: &str) -> bool {
    ["[", "[[", "test"].contains(&program)
}

/// The place of a shell in a command, and the line that it runs: `bash -c LINE`, also behind a program that starts it.
pub(super) fn inner(command: &[String]) -> Option<(usize, &str)> {
    let shells = command.iter().enumerate().filter(|(_, word)| SHELLS.contains(&name(word)));
    { shells }.find_map(|(at, _)| Some((at, line_for_shell(&command[at + 1..])?)))
}
