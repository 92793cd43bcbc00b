//! The context an agent starts with: entries and a budget in, XML out. Pure.

use crate::domain::text::is_unsafe;
use crate::domain::time::Timestamp;
use crate::store::ClaimSummary;

/// Characters of a pack unless the reader asks for another number: two clients cut a hook's context
/// at 10,000 (spec 04), and the banner needs the rest.
pub const DEFAULT_BUDGET_CHARS: usize = 9_500;
/// Below this not even the frame fits: the pack is the empty string (spec 04).
const SMALLEST_BUDGET_CHARS: usize = 160;
/// One client drops lines longer than this (spec 04).
const MAX_LINE_CHARS: usize = 400;
/// Attributes longer than this are cut (spec 04).
const MAX_ATTRIBUTE_CHARS: usize = 120;

/// What goes into a pack, most wanted first within each list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entries {
    /// For whom.
    pub agent: String,
    /// Ledger position of what follows.
    pub seq: u64,
    /// Claims somebody challenges.
    pub contested: Vec<ClaimSummary>,
    /// The agent's own claims in force.
    pub own: Vec<ClaimSummary>,
    /// Dead ends in force.
    pub negative: Vec<ClaimSummary>,
}

/// Packs entries into at most `budget_chars` characters. What does not fit is counted; trust in a claim is
/// that of `now`.
pub fn pack(entries: &Entries, budget_chars: usize, now: Timestamp) -> String {
    if budget_chars < SMALLEST_BUDGET_CHARS {
        return String::new();
    }
    let sections = [
        ("attention", "contested", &entries.contested),
        ("relevant_claims", "claim", &entries.own),
        ("anti_patterns", "avoid", &entries.negative),
    ];
    let total: usize = sections.iter().map(|(_, _, claims)| claims.len()).sum();
    let head = format!(
        "<hivemind_state agent=\"{}\" seq=\"{}\" budget=\"{budget_chars}\">\n",
        attribute(&entries.agent),
        entries.seq
    );
    let tail = |dropped: usize| format!("<dropped n=\"{dropped}\"/>\n</hivemind_state>\n");
    let mut body = String::new();
    let mut used = chars(&head) + chars(&tail(total));
    let mut kept = 0;
    // Round after round, one entry of each section: a long list does not push the others out.
    let mut shown = [0; 3];
    let mut texts: [Vec<String>; 3] = Default::default();
    let mut open = [true; 3];
    while open.contains(&true) {
        for (section, (name, tag, claims)) in sections.iter().enumerate() {
            if !open[section] {
                continue;
            }
            let Some(claim) = claims.get(shown[section]) else {
                open[section] = false;
                continue;
            };
            let text = element(tag, claim, now);
            let frame = if shown[section] == 0 { chars(&frame_of(name, claims.len(), "")) } else { 0 };
            if used + frame + chars(&text) > budget_chars {
                open[section] = false;
                continue;
            }
            used += frame + chars(&text);
            texts[section].push(text);
            shown[section] += 1;
            kept += 1;
        }
    }
    for ((name, _, claims), texts) in sections.iter().zip(&texts) {
        if !texts.is_empty() {
            body.push_str(&frame_of(name, claims.len(), &texts.concat()));
        }
    }
    let tail = if kept == total { "</hivemind_state>\n".to_owned() } else { tail(total - kept) };
    format!("{head}{body}{tail}")
}

fn frame_of(name: &str, number: usize, content: &str) -> String {
    format!("<{name} n=\"{number}\">\n{content}</{name}>\n")
}

fn element(tag: &str, claim: &ClaimSummary, now: Timestamp) -> String {
    format!(
        "<{tag} id=\"{}\" type=\"{}\" status=\"{}\" by=\"{}\" confidence=\"{:.2}\" grade=\"{}\"{} scope=\"{}\" \
         supports=\"{}\" challenges=\"{}\">\n{}</{tag}>\n",
        claim.id,
        claim.claim_type,
        claim.status,
        attribute(&claim.owner),
        claim.effective_confidence(now),
        claim.grade,
        if claim.stale { " stale=\"true\"" } else { "" },
        attribute(&claim.scopes.join(" ")),
        claim.supports,
        claim.challenges,
        wrapped(&claim.statement)
    )
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Text of an attribute: one line, escaped, cut with an ellipsis.
fn attribute(text: &str) -> String {
    let mut cut: String = text.chars().take(MAX_ATTRIBUTE_CHARS).collect();
    if chars(text) > MAX_ATTRIBUTE_CHARS {
        cut.pop();
        cut.push('…');
    }
    escaped(&cut.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Text of an element: escaped, in lines of at most [`MAX_LINE_CHARS`], each ended.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let mut length = 0;
        for c in line.chars() {
            let piece = escaped(&c.to_string());
            if length + chars(&piece) > MAX_LINE_CHARS {
                lines.push('\n');
                length = 0;
            }
            length += chars(&piece);
            lines.push_str(&piece);
        }
        lines.push('\n');
    }
    lines
}

/// Stored text is data: nothing of it can open a tag, end a section or reach a terminal.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\t' => safe.push(' '),
            // XML 1.0 has no place for these, escaped or not, and readers none for those that turn text around.
            c if is_unsafe(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}
