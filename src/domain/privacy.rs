//! Keeps secrets out of shared memory. Secrets are recognised by their public formats and by their context.
//!
//! No set of rules is a guarantee. The table in [`formats`] finds known formats. Another rule finds random values
//! that are assigned to a secret-looking name. A front also knows the values of its own environment. A word such as
//! "password" alone is never a finding. Disguised spellings (invisible characters, line breaks, escapes, base64,
//! hex) are searched as well: see [`folded`].

mod assignment;
mod chosen;
mod commands;
mod folded;
mod formats;
mod gate;
mod known;
mod names;
mod own;
mod random;

use std::ops::Range;

pub use commands::{may_hold_secret, shown};
pub use gate::{Denial, deny, deny_texts};
pub use known::Known;
pub use own::{BadPattern, Own};

/// The rule for values of environment variables with secret-looking names.
pub const ENVIRONMENT_RULE: &str = "environment-value";
/// The rule for random values assigned to secret-looking names.
pub const ASSIGNMENT_RULE: &str = "secret-assignment";
/// The rule for random values a few words after a word for a secret.
pub const WORDS_RULE: &str = "secret-in-words";

/// The rule for a secret that the command of an output names.
pub const COMMAND_RULE: &str = "secret-of-command";

/// The secrets of a workspace and of a process, besides the built-in rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    /// The patterns of `[privacy]` in config.toml.
    pub own: Own,
    /// The values of this process's environment; empty except in a front.
    pub known: Known,
    /// The secrets of a command, for its output; see [`Secrets::with_those_of`].
    pub told: Known,
}

impl Secrets {
    /// These secrets and those that a command names: its output may repeat them without the name beside them.
    #[must_use]
    pub fn with_those_of(&self, command: &str) -> Self {
        let found = scan(command, self).into_iter().map(|finding| command[finding.span].to_owned());
        Self { told: Known::of_command(found.collect()), ..self.clone() }
    }
}

/// A secret found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule that found it, such as `aws-key` or `own-1`.
    pub rule: String,
    /// Its bytes in the text, on character boundaries.
    pub span: Range<usize>,
}

/// The names of the built-in rules, without duplicates.
pub fn rules() -> Vec<&'static str> {
    let mut names: Vec<&str> = formats::FORMATS.iter().map(|format| format.rule).collect();
    names.extend([ASSIGNMENT_RULE, WORDS_RULE, ENVIRONMENT_RULE, COMMAND_RULE]);
    names.dedup();
    names
}

/// Every secret in a text, in text order and without overlaps.
pub fn scan(text: &str, secrets: &Secrets) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    direct(text, secrets, |rule, span| {
        // The first rule for a span wins: known values first, then formats, then guesses.
        let free = found.iter().all(|other| span.end <= other.span.start || other.span.end <= span.start);
        if free && !span.is_empty() {
            found.push(Finding { rule: rule.to_owned(), span });
        }
    });
    let mut hidden = Vec::new();
    let decoded = folded::decoded(text);
    if let Some(copy) = &decoded {
        direct(&copy.text, secrets, |rule, span| hidden.push((rule.to_owned(), copy.origin(span))));
    }
    if let Some(copy) = folded::joined(text, decoded.as_ref()) {
        let mut add = |rule: &str, span| hidden.push((rule.to_owned(), copy.origin(span)));
        secrets.known.find(&copy.text, |span| add(ENVIRONMENT_RULE, span));
        secrets.told.find(&copy.text, |span| add(COMMAND_RULE, span));
        secrets.own.find(&copy.text, &mut add);
        // Joined words may look like assignments and addresses, but not like tokens.
        for format in formats::prefilter(&copy.text).formats().filter(|format| format.is_one_run()) {
            format.find(&copy.text, |span| add(format.rule, span));
        }
    }
    let base = decoded.as_ref().map_or(text, |copy| &copy.text);
    for (run, said) in folded::encoded(base) {
        let run = decoded.as_ref().map_or(run.clone(), |copy| copy.origin(run));
        direct(&said, secrets, |rule, _| hidden.push((rule.to_owned(), run.clone())));
    }
    for (rule, span) in hidden {
        // A decoded copy may show a longer part of a secret than the text.
        let known = found.iter_mut().find(|other| span.start < other.span.end && other.span.start < span.end);
        match known {
            Some(known) => {
                known.span = known.span.start.min(span.start)..known.span.end.max(span.end);
            }
            None => found.push(Finding { rule, span }),
        }
    }
    found.sort_by_key(|finding| finding.span.start);
    found.dedup_by(|next, before| {
        let overlaps = next.span.start < before.span.end;
        if overlaps {
            before.span.end = before.span.end.max(next.span.end);
        }
        overlaps
    });
    found
}

/// Calls `found` with each secret in the literal text.
fn direct(text: &str, secrets: &Secrets, mut found: impl FnMut(&str, Range<usize>)) {
    secrets.known.find(text, |span| found(ENVIRONMENT_RULE, span));
    secrets.own.find(text, &mut found);
    let maybe = formats::prefilter(text);
    for format in maybe.formats() {
        format.find(text, |span| found(format.rule, span));
    }
    secrets.told.find(text, |span| found(COMMAND_RULE, span));
    if maybe.assigns() {
        assignment::find(text, |span| found(ASSIGNMENT_RULE, span));
    }
    if maybe.says_secret() {
        assignment::find_set(text, |span| found(ASSIGNMENT_RULE, span));
        assignment::find_in_words(text, |span| found(WORDS_RULE, span));
    }
}

/// The text with every secret replaced by `[redacted:RULE]`.
pub fn redacted(text: &str, secrets: &Secrets) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for Finding { rule, span } in scan(text, secrets) {
        clean.push_str(&text[at..span.start]);
        clean.push_str(&format!("[redacted:{rule}]"));
        at = span.end;
    }
    clean.push_str(&text[at..]);
    clean
}
