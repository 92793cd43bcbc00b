//! The story as text that fits a terminal.

use uuid::Uuid;

use super::cast::Step;
use crate::cli::output;
use crate::views::inline;

/// Columns of a step's labels.
const LABEL: usize = 13;
/// Characters of an id as text.
const ID_CHARS: usize = 36;
/// Of these the story shows the last, which are random; the first are the time and look alike.
const ID_SHOWN: usize = 6;

/// What is about to happen.
pub(super) fn opening() -> String {
    let text = "Four coding agents share one memory. What follows happens now, in a temporary workspace: each agent \
                has its own `hm serve` and speaks MCP to it, as a client would. What they say is a script; every \
                receipt, refusal, resource and time is real. Ids are shown by their last six digits.";
    wrapped("", "", text)
}

/// One step.
pub(super) fn step(number: usize, step: &Step, bold: bool) -> String {
    let title = wrapped(&format!("{number:2}. "), "    ", &step.what);
    let mut text = if bold {
        format!("\n\u{1b}[1m{}\u{1b}[0m\n", title.trim_end_matches('\n'))
    } else {
        format!("\n{title}")
    };
    if let Some(call) = &step.call {
        text.push_str(&wrapped(&label("call"), &label(""), &short_ids(call)));
    }
    if let Some(receipt) = &step.receipt {
        let word = if step.refused { "refused" } else { "receipt" };
        text.push_str(&wrapped(&label(word), &label(""), &short_ids(receipt)));
    }
    for seen in &step.seen {
        let mut lines = seen.lines();
        text.push_str(&wrapped(&label("seen"), &label(""), &short_ids(lines.next().unwrap_or_default())));
        for line in lines {
            let indent = format!("{}  ", label(""));
            text.push_str(&wrapped(&indent, &format!("{indent}  "), &short_ids(line)));
        }
    }
    text
}

/// What happened, and where to look next.
pub(super) fn closing(steps: usize, elapsed_ms: u128, kept: Option<&str>) -> String {
    let left = match kept {
        None => "the workspace is removed, its writer has left.".to_owned(),
        Some(root) => format!("the workspace is kept, its writer has left: {root}"),
    };
    let mut text = String::from("\n");
    text.push_str(&wrapped("", "", &format!("{steps} steps in {elapsed_ms} ms, each as it must be; {left}")));
    text.push_str("\nYour own project:\n");
    for (verb, what) in [
        ("hm init", "makes its directory a workspace"),
        ("hm serve --agent NAME", "is what each pane's client starts, NAME being the agent it is"),
        ("hm claim list", "lists what the team holds; `hm claim show ID` says why"),
        ("hm status", "says how the workspace is doing"),
        ("hm verify", "walks the chain of every event"),
    ] {
        text.push_str(&format!("  {verb:23}{what}\n"));
    }
    text
}

fn label(word: &str) -> String {
    format!("    {word:width$}", width = LABEL - 4)
}

fn wrapped(first: &str, indent: &str, text: &str) -> String {
    output::wrapped(first, indent, &inline(text, usize::MAX))
}

fn short_ids(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let id = rest.get(..ID_CHARS).filter(|id| Uuid::try_parse(id).is_ok());
        let taken = match id {
            Some(id) => {
                short.push_str(&id[ID_CHARS - ID_SHOWN..]);
                ID_CHARS
            }
            None => {
                short.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    short
}
