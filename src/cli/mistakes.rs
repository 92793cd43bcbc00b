//! Command lines that do not parse: the error names a line that does, with the words that were typed.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command, Error};
use serde_json::json;

use super::output::Failure;
use crate::domain::claim::{Outcome, Status};
use crate::domain::evidence::EvidenceName;
use crate::domain::experiment::ProfileName;
use crate::domain::plan::TaskStatus;
use crate::domain::session::{Role, Source};

/// Words of other tools, and the verbs that do this here.
const MEANT: &[(&str, &[&str])] = &[
    ("say", &["claim", "create"]),
    ("tell", &["claim", "create"]),
    ("report", &["claim", "create"]),
    ("message", &["claim", "create"]),
    ("remember", &["claim", "create"]),
    ("create", &["claim", "create"]),
    ("add", &["claim", "create"]),
    ("record", &["claim", "create"]),
    ("support", &["claim", "support"]),
    ("challenge", &["claim", "challenge"]),
    ("abstain", &["claim", "abstain"]),
    ("withdraw", &["claim", "withdraw"]),
    ("deprecate", &["claim", "deprecate"]),
    ("show", &["claim", "show"]),
    ("why", &["claim", "why"]),
    ("list", &["claim", "list"]),
    ("search", &["claim", "search"]),
    ("find", &["claim", "search"]),
    ("decide", &["decision", "record"]),
    ("todo", &["task", "add"]),
    ("done", &["task", "done"]),
    ("unlock", &["lock", "--release"]),
    ("run", &["experiment", "run"]),
    ("inbox", &["attention"]),
    ("wait", &["news", "--wait", "5m"]),
];

/// Options that take the words which a verb has no place for, most likely first.
const SAYING: [&str; 6] = ["--reason", "--note", "--notes", "--rationale", "--why", "--description"];

/// The values of arguments that take a text of several words. Other arguments take one name each.
const TEXTS: [&str; 9] =
    ["INTENT", "NOTE", "PROMPT", "QUERY", "REASON", "STATEMENT", "TEXT", "TITLE", "VALUE"];

/// The verb that needs one of these options, by which clap does not know it, and the one that completes it.
const ABOUT: (&str, [&str; 3], [&str; 2]) =
    ("rationale", ["claim", "scopes", "target"], ["--target", "TARGET"]);

/// Adds to an error the line that would have worked, if there is one.
pub(super) fn with_line(mut problem: Error, words: &[OsString], command: &Command) -> Error {
    let typed: Option<Vec<String>> = words.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    let Some(typed) = typed else { return problem };
    let kind = problem.kind();
    no_value_meant(&mut problem);
    no_other_word(&mut problem);
    let tried = if kind == ErrorKind::InvalidSubcommand {
        other_verbs(&problem, &typed)
    } else if kind == ErrorKind::UnknownArgument {
        placed(&problem, &typed, command)
    } else if kind == ErrorKind::MissingRequiredArgument {
        vec![typed]
    } else {
        return problem;
    };
    if let Some((line, is_whole)) = tried.into_iter().find_map(|line| completed(line, command)) {
        let lead = if is_whole { "this works" } else { "fill in the words in capitals" };
        let line = format!("{lead}: hm {}", shell_words::join(&line[1..]));
        // It says what similar words say.
        problem.remove(ContextKind::SuggestedSubcommand);
        problem.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![line.into()]));
    } else if kind == ErrorKind::UnknownArgument
        && problem.get(ContextKind::SuggestedArg).is_none()
        && let Some(takes) = taken(words, command)
    {
        problem.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![takes.into()]));
    }
    problem
}

/// Takes the advice of clap away to write a mistyped word behind `--`: there it would be a value, which was not meant.
fn no_value_meant(problem: &mut Error) {
    let Some(ContextValue::StyledStrs(tips)) = problem.get(ContextKind::Suggested) else { return };
    let tips: Vec<_> =
        tips.iter().filter(|tip| !tip.to_string().contains("as a value, use")).cloned().collect();
    problem.remove(ContextKind::Suggested);
    if !tips.is_empty() {
        problem.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
}

/// Takes an option away that is like an unknown one and begins with another letter: `--holder` for `--color` is no slip of
/// the keyboard.
fn no_other_word(problem: &mut Error) {
    let word = |kind| match problem.get(kind) {
        Some(ContextValue::String(word)) => word.trim_start_matches('-').chars().next(),
        _ => None,
    };
    if word(ContextKind::SuggestedArg) != word(ContextKind::InvalidArg) {
        problem.remove(ContextKind::SuggestedArg);
    }
}

/// The sentence about what the verb of a line takes.
fn taken(words: &[OsString], command: &Command) -> Option<String> {
    let (mut verb, mut line) = (command, "hm".to_owned());
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(below) = verb.find_subcommand(word) {
            verb = below;
            line.push_str(&format!(" {}", below.get_name()));
        }
    }
    let named = |argument: &Arg| {
        let value = argument.get_value_names().and_then(|names| names.first());
        let value = value.map_or_else(|| argument.get_id().as_str().to_uppercase(), |name| name.to_string());
        match argument.get_long() {
            Some(long) if argument.get_action().takes_values() => format!("--{long} {value}"),
            Some(long) => format!("--{long}"),
            None => value,
        }
    };
    let own = verb.get_arguments().filter(|argument| {
        !argument.is_hide_set() && !argument.is_global_set() && argument.get_id() != "help"
    });
    let takes: Vec<String> = own.map(named).collect();
    (line != "hm" && !takes.is_empty()).then(|| format!("{line} takes: {}", takes.join(", ")))
}

/// A mistake for programs: what is wrong, what to do instead, and the usage.
pub(super) fn failure(problem: &Error) -> Failure {
    let text = problem.render().to_string();
    if problem.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let message = "the line is not complete: `help` says what it takes";
        return Failure::Mistyped(json!({ "code": "usage", "message": message, "help": text }));
    }
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut parts = text.trim().split("\n\n").map(str::trim);
    // A list of the verbs, with every other word for them, follows a missing one.
    let message = parts.next().and_then(|message| message.split(" [subcommands:").next()).unwrap_or_default();
    let mut mistake =
        json!({ "code": "usage", "message": one_line(message.strip_prefix("error:").unwrap_or(message)) });
    for part in parts {
        let tips: Vec<String> =
            part.lines().filter_map(|line| Some(one_line(line.trim().strip_prefix("tip:")?))).collect();
        if !tips.is_empty() {
            mistake["hint"] = tips.join("; ").into();
        } else if let Some(usage) = part.strip_prefix("Usage:") {
            mistake["usage"] = one_line(usage).into();
        }
    }
    Failure::Mistyped(mistake)
}

/// The line with a word in capitals for each argument that it lacks, if it works so, and whether it lacks none.
fn completed(mut line: Vec<String>, command: &Command) -> Option<(Vec<String>, bool)> {
    let typed = line.len();
    if let Err(problem) = command.clone().try_get_matches_from(&line) {
        let Some(ContextValue::Strings(lacking)) = problem.get(ContextKind::InvalidArg) else { return None };
        if problem.kind() != ErrorKind::MissingRequiredArgument {
            return None;
        }
        let words = lacking.iter().flat_map(|argument| argument.split_whitespace());
        line.extend(words.map(|word| word.trim_matches(['<', '>', '[', ']', '.']).to_owned()));
    }
    let matches = command.clone().try_get_matches_from(&line).ok()?;
    let (verb, given) = leaf(command, &matches);
    let has =
        |id: &str| verb.get_arguments().any(|argument| argument.get_id() == id && given.contains_id(id));
    let (of, one_of, option) = ABOUT;
    let takes = |id: &str| verb.get_arguments().any(|argument| argument.get_id() == id);
    if has(of) && takes("target") && !one_of.into_iter().any(has) {
        line.extend(option.map(str::to_owned));
    }
    // The reason may stand behind the claims, so that no argument of these verbs requires it.
    let claims = given.try_get_raw("claims").ok().flatten().map_or(0, Iterator::count);
    if ["deprecate", "withdraw"].contains(&verb.get_name()) && claims == 1 && !has("reason") {
        line.extend(["--reason", "WHY"].map(str::to_owned));
    }
    let filled = &line[typed..];
    let fits = |argument: &Arg| {
        let values = given.try_get_raw(argument.get_id().as_str()).ok().flatten();
        let mut values = values.into_iter().flatten().filter_map(|value| value.to_str());
        values.all(|value| filled.iter().any(|word| word == value) || fits(argument, value))
    };
    if !verb.get_arguments().all(fits) {
        return None;
    }
    let is_whole = filled.is_empty();
    Some((line, is_whole))
}

/// The verb of a line, and what it was given.
fn leaf<'a>(mut command: &'a Command, mut matches: &'a ArgMatches) -> (&'a Command, &'a ArgMatches) {
    while let Some((name, below)) = matches.subcommand()
        && let Some(verb) = command.find_subcommand(name)
    {
        (command, matches) = (verb, below);
    }
    (command, matches)
}

/// Whether an argument takes a value. Most arguments are parsed after the line.
fn fits(argument: &Arg, value: &str) -> bool {
    let id = argument.get_id().as_str();
    let named = argument.get_value_names().and_then(|names| names.first());
    let named = named.map_or_else(|| id.to_uppercase(), |name| name.to_string());
    let has_space = value.contains(char::is_whitespace);
    match id {
        "profile" => value.parse::<ProfileName>().is_ok(),
        "outcome" => value.parse::<Outcome>().is_ok(),
        "role" if argument.is_positional() => value.parse::<Role>().is_ok(),
        "source" => value.parse::<Source>().is_ok(),
        "status" => value.parse::<TaskStatus>().is_ok() || value.parse::<Status>().is_ok(),
        _ if argument.is_positional() => TEXTS.contains(&&*named) || !has_space,
        _ => true,
    }
}

/// The line with the verb that is meant by an unknown one.
fn other_verbs(problem: &Error, typed: &[String]) -> Vec<Vec<String>> {
    let Some(ContextValue::String(unknown)) = problem.get(ContextKind::InvalidSubcommand) else {
        return Vec::new();
    };
    let Some(at) = typed.iter().position(|word| word == unknown) else { return Vec::new() };
    let with = |verb: &[&str]| {
        let verb = verb.iter().map(|word| (*word).to_owned());
        typed[..at].iter().cloned().chain(verb).chain(typed[at + 1..].iter().cloned()).collect::<Vec<_>>()
    };
    let meant = MEANT.iter().find(|(word, _)| word == unknown);
    // The most similar verb is the last one.
    let similar = match problem.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(similar)) => similar.last(),
        Some(ContextValue::String(similar)) => Some(similar),
        _ => None,
    };
    meant.map(|(_, verb)| with(verb)).into_iter().chain(similar.map(|verb| with(&[verb]))).collect()
}

/// The line with a surplus word behind the option that takes it, or joined with the words before it.
fn placed(problem: &Error, typed: &[String], command: &Command) -> Vec<Vec<String>> {
    let Some(ContextValue::String(surplus)) = problem.get(ContextKind::InvalidArg) else { return Vec::new() };
    let Some(at) = typed.iter().rposition(|word| word == surplus).filter(|at| *at > 1) else {
        return Vec::new();
    };
    let with = |from: usize, until: usize, words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned());
        typed[..from].iter().cloned().chain(words).chain(typed[until..].iter().cloned()).collect::<Vec<_>>()
    };
    if surplus.starts_with('-') {
        let Some(ContextValue::String(similar)) = problem.get(ContextKind::SuggestedArg) else {
            return Vec::new();
        };
        // An option of another verb is no slip of the keyboard, and neither is a flag with a value.
        let has_value = typed.get(at + 1).is_some_and(|next| !next.starts_with('-'));
        let takes_value = option(command, similar).is_some_and(|meant| meant.get_action().takes_values());
        let is_slip = similar.len().abs_diff(surplus.len()) <= 2
            && option(command, surplus).is_none()
            && has_value == takes_value;
        return if is_slip { vec![with(at, at + 1, &[similar])] } else { Vec::new() };
    }
    let end = typed[at..].iter().position(|word| word.starts_with('-')).map_or(typed.len(), |more| at + more);
    let (said, whole) = (typed[at..end].join(" "), typed[at - 1..end].join(" "));
    let joined = with(at - 1, end, &[&whole]);
    let mut lines: Vec<_> = SAYING.iter().map(|option| with(at, end, &[option, &said])).collect();
    // `hm context status` means another verb.
    if command.find_subcommand(surplus).is_some() {
        lines.insert(0, with(1, at, &[]));
        return lines;
    }
    // Words without quotes were meant as one, but for the name of evidence.
    if !typed[at - 1..end].iter().any(|word| word.contains(' ')) {
        lines.insert(0, joined);
        if said.parse::<EvidenceName>().is_ok() {
            lines.insert(0, with(at, end, &["--ref", &said]));
        }
    } else if !is_name(&typed[at - 1]) {
        lines.push(joined);
    }
    lines
}

/// Whether a word has the form of a short name, such as `C3`: it is no part of a text.
fn is_name(word: &str) -> bool {
    word.split_at_checked(1).is_some_and(|(letter, number)| {
        letter.bytes().all(|byte| byte.is_ascii_alphabetic()) && number.parse::<u64>().is_ok()
    })
}

/// An option of any verb, by its long name.
fn option<'a>(command: &'a Command, named: &str) -> Option<&'a Arg> {
    let name = named.trim_start_matches('-');
    let own = command.get_arguments().find(|argument| argument.get_long() == Some(name));
    own.or_else(|| command.get_subcommands().find_map(|verb| option(verb, named)))
}
