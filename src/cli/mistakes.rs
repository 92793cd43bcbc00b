//! Command lines that do not parse: the error names a line that does, with the words that were typed.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use crate::domain::evidence::EvidenceName;

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

/// Adds to an error the line that would have worked, if there is one.
pub(super) fn with_line(mut problem: Error, words: &[OsString], command: &Command) -> Error {
    let typed: Option<Vec<String>> = words.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    let Some(typed) = typed else { return problem };
    let kind = problem.kind();
    let tried = if kind == ErrorKind::InvalidSubcommand {
        other_verbs(&problem, &typed)
    } else if kind == ErrorKind::UnknownArgument {
        placed(&problem, &typed)
    } else if kind == ErrorKind::MissingRequiredArgument {
        vec![typed]
    } else {
        return problem;
    };
    if let Some(line) = tried.into_iter().find_map(|line| completed(line, command)) {
        let line = format!("this works: hm {}", shell_words::join(&line[1..]));
        // It says what similar words say.
        problem.remove(ContextKind::SuggestedSubcommand);
        problem.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![line.into()]));
    }
    problem
}

/// The line with a word in capitals for each argument that it lacks, if it parses so.
fn completed(mut line: Vec<String>, command: &Command) -> Option<Vec<String>> {
    let problem = match command.clone().try_get_matches_from(&line) {
        Ok(_) => return Some(line),
        Err(problem) => problem,
    };
    let Some(ContextValue::Strings(lacking)) = problem.get(ContextKind::InvalidArg) else { return None };
    if problem.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }
    for argument in lacking {
        for word in argument.split_whitespace() {
            line.push(word.trim_matches(['<', '>', '[', ']', '.']).to_owned());
        }
    }
    command.clone().try_get_matches_from(&line).is_ok().then_some(line)
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
fn placed(problem: &Error, typed: &[String]) -> Vec<Vec<String>> {
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
        return vec![with(at, at + 1, &[similar])];
    }
    let end = typed[at..].iter().position(|word| word.starts_with('-')).map_or(typed.len(), |more| at + more);
    let (said, whole) = (typed[at..end].join(" "), typed[at - 1..end].join(" "));
    let joined = with(at - 1, end, &[&whole]);
    let mut lines: Vec<_> = SAYING.iter().map(|option| with(at, end, &[option, &said])).collect();
    // Words without quotes were meant as one, but for the name of evidence.
    if !typed[at - 1..end].iter().any(|word| word.contains(' ')) {
        lines.insert(0, joined);
        if said.parse::<EvidenceName>().is_ok() {
            lines.insert(0, with(at, end, &["--ref", &said]));
        }
    } else {
        lines.push(joined);
    }
    lines
}
