//! Prints the story as text for a terminal.

use super::cast::Step;
use crate::cli::output;
use crate::domain::clean;

/// Width of a step's labels, in columns.
const LABEL: usize = 13;

/// The text before the first step.
pub(super) fn opening() -> String {
    let text = "Four coding agents share one memory. What follows happens now, in two work trees of a temporary \
                repository: each agent has its own `hm serve` and speaks MCP to it, as a client would. What they say \
                is a script; every receipt, refusal, resource and time is real.";
    wrapped("", "", text)
}

pub(super) fn step(number: usize, step: &Step, bold: bool) -> String {
    let title = wrapped(&format!("{number:2}. "), "    ", &step.what);
    let mut text = if bold {
        format!("\n\u{1b}[1m{}\u{1b}[0m\n", title.trim_end_matches('\n'))
    } else {
        format!("\n{title}")
    };
    if let Some(call) = &step.call {
        text.push_str(&wrapped(&label("call"), &label(""), call));
    }
    if let Some(receipt) = &step.receipt {
        let word = if step.refused { "refused" } else { "receipt" };
        text.push_str(&wrapped(&label(word), &label(""), receipt));
    }
    for seen in &step.seen {
        let mut lines = seen.lines();
        text.push_str(&wrapped(&label("seen"), &label(""), lines.next().unwrap_or_default()));
        for line in lines {
            let indent = format!("{}  ", label(""));
            text.push_str(&wrapped(&indent, &format!("{indent}  "), line));
        }
    }
    text
}

/// The text after the last step: a summary, and where to look next.
pub(super) fn closing(steps: usize, elapsed_ms: u128, kept: Option<&str>) -> String {
    let left = match kept {
        None => "the workspace is removed, its writer has left.".to_owned(),
        Some(root) => format!("the workspace is kept, its writer has left: {root}"),
    };
    let mut text = String::from("\n");
    text.push_str(&wrapped("", "", &format!("{steps} steps in {elapsed_ms} ms, each as it must be; {left}")));
    text.push_str("\nYour own project:\n");
    for (verb, what) in [
        ("hm init", "gives it a memory, and configures the clients there are"),
        ("hm serve", "is what each pane's client starts; a pane is the agent of its seat"),
        ("hm claim list", "lists what the team holds; `hm claim show C1` says why"),
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
    // The tags are those of hm, and every text of the story is its own.
    output::wrapped(first, indent, &clean::one_line(text))
}
