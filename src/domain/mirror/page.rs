//! The files of the mirror. Front matter is YAML whose values are JSON; the body is Markdown in which stored text is
//! plain text.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Page, Pages};
use crate::domain::agent::AgentId;
use crate::domain::claim::ClaimType;
use crate::domain::clean;
use crate::domain::ids::ClaimId;
use crate::domain::scope::Scope;

/// The file at the top of a mirror.
pub const README: &str = "\
# Claims and decisions

This is a copy of the memory of a team of agents. `hm mirror` writes it: one commit for each change, and the agent that
made the change is its author.

- `claims/` and `decisions/` have a file for each claim. Its name begins with the short name of the claim, such as `C47`.
- `scopes/` lists the claims about each path, tag or target.

An edit here does not change the memory. To propose another statement, edit the quoted lines below the title of a claim,
and run `hm mirror diff --propose`.
";

/// The claims in a file of `scopes/`. A change writes such a file anew, so that it stays short.
const LISTED: usize = 100;
/// Maximum length of a statement in a list, in characters.
const LISTED_CHARS: usize = 140;
/// Maximum length of the readable part of a file name, in characters.
const SLUG_CHARS: usize = 40;
/// Hex digits in a file name that tell two scopes apart.
const DIGEST_CHARS: usize = 12;
/// The line before and after the front matter.
const FENCE: &str = "---";

impl Page {
    /// The path of its file. It stays the same for good.
    pub(super) fn path(&self) -> String {
        let dir = if self.created.claim_type == ClaimType::Decision { "decisions" } else { "claims" };
        format!("{dir}/{}-{}.md", self.name, self.created.claim_id)
    }

    fn title(&self) -> String {
        let state = match self.basis {
            Some(basis) => format!("{}, {basis}{}", self.state, self.doubted),
            None => self.state.as_str().replace('_', " "),
        };
        format!("{} {}, {state}", self.name, self.created.claim_type)
    }
}

impl Pages {
    /// The file of a claim.
    pub(super) fn page(&self, page: &Page) -> String {
        let mut text = format!("{FENCE}\n{}{FENCE}\n\n", self.front(page));
        let _ = writeln!(text, "# {}\n\n{}", page.title(), quoted(page.created.statement.as_str()));
        if let Some(decision) = &page.decision {
            let _ = writeln!(text, "## Rationale\n\n{}", quoted(&self.named(decision.rationale.as_str())));
            if let Some(context) = &decision.context {
                let _ = writeln!(text, "## Context\n\n{}", quoted(&self.named(context.as_str())));
            }
            section(
                &mut text,
                "Not chosen",
                decision.alternatives.iter().map(|rejected| {
                    let why = self.line(rejected.rejection_reason.as_str());
                    format!("{}: {why}", self.linked(rejected.claim_id))
                }),
            );
        }
        if let Some(outcome) = &page.outcome {
            let notes = outcome.notes.as_ref().map(|notes| format!(": {}", self.line(notes.as_str())));
            let _ = writeln!(text, "## Outcome\n\n{}{}\n", outcome.outcome, notes.unwrap_or_default());
        }
        let successor = page.superseded_by.iter().map(|id| {
            let by = if page.is_mended { "mended by" } else { "superseded by" };
            format!("{by} {}", self.linked(*id))
        });
        let proposes = page.created.supersedes.iter().filter(|old| !page.supersedes.contains(old));
        let links = successor
            .chain(page.supersedes.iter().map(|id| format!("supersedes {}", self.linked(*id))))
            .chain(proposes.map(|id| format!("proposes to supersede {}", self.linked(*id))))
            .chain(
                page.against.iter().map(|(id, kind)| format!("contradicts {} ({kind})", self.linked(*id))),
            );
        section(&mut text, "Other claims", links);
        section(
            &mut text,
            "Positions",
            page.positions.iter().map(|(agent, held)| {
                let reason = held.reason.as_ref().map(|reason| format!(": {}", self.line(reason.as_str())));
                format!("{}: {}{}", self.line(agent.as_str()), held.position, reason.unwrap_or_default())
            }),
        );
        section(
            &mut text,
            "Evidence",
            page.evidence.iter().map(|link| {
                let note = link.note.as_ref().map(|note| format!(": {}", self.line(note.as_str())));
                let by = self.line(link.by.as_str());
                let relation = link.relation.as_str().replace('_', " ");
                let (event, grade) = (link.event, link.grade);
                format!("{relation}, {grade}, by {by}, event {event}{}", note.unwrap_or_default())
            }),
        );
        // One line break ends a file.
        text.truncate(text.trim_end().len());
        text.push('\n');
        text
    }

    fn front(&self, page: &Page) -> String {
        let mut text = String::new();
        let created = &page.created;
        field(&mut text, "id", created.claim_id);
        field(&mut text, "name", &page.name);
        field(&mut text, "type", created.claim_type);
        field(&mut text, "state", page.state);
        optional(&mut text, "basis", page.basis.map(|basis| basis.as_str()));
        let doubts = self.doubts(page);
        optional(&mut text, "agreed", doubts.before_change.then_some("before the change"));
        optional(&mut text, "later_edits", doubts.edits_unseen.then_some("unseen"));
        optional(&mut text, "unstable_at", doubts.unstable_at.map(|at| at.to_string()));
        if let Some(against) = doubts.against {
            field(&mut text, against.name(), self.run_name(against.run));
        }
        field(&mut text, "owner", &page.owner);
        field(&mut text, "confidence", created.confidence);
        field(&mut text, "scopes", &created.scopes);
        field(&mut text, "created", page.created_at.to_string());
        optional(&mut text, "expires_after_hours", created.ttl_hours);
        field(&mut text, "statement", &created.statement);
        optional(&mut text, "warns_when", created.trigger.as_ref());
        if let Some(decision) = &page.decision {
            optional(&mut text, "target", decision.target.as_ref().map(Scope::name));
            optional(&mut text, "decided", decision.decided_at.map(|at| at.to_string()));
            field(&mut text, "rationale", &decision.rationale);
            optional(&mut text, "context", decision.context.as_ref());
            let rejected = decision.alternatives.iter();
            let rejected = rejected.map(|no| json!({ "claim": no.claim_id, "reason": no.rejection_reason }));
            list(&mut text, "not_chosen", rejected);
        }
        if let Some(outcome) = &page.outcome {
            field(&mut text, "outcome", outcome.outcome);
            optional(&mut text, "outcome_notes", outcome.notes.as_ref());
        }
        let is_open = created.supersedes.filter(|old| !page.supersedes.contains(old));
        optional(&mut text, "proposes_to_supersede", is_open);
        list(&mut text, "supersedes", page.supersedes.iter().map(|id| json!(id)));
        optional(&mut text, "superseded_by", page.superseded_by);
        let asked = created.asks.iter().map(|agent| json!(agent));
        list(&mut text, "asks", asked);
        if let Some((agent, at)) = &page.still_meant {
            field(&mut text, "still_meant", json!({ "by": agent, "at": at.to_string() }));
        }
        let against = page.against.iter().map(|(id, kind)| json!({ "claim": id, "kind": kind }));
        list(&mut text, "contradicts", against);
        let positions = page.positions.iter().map(|(agent, held)| {
            let at = held.at.to_string();
            let mut value = json!({ "agent": agent, "position": held.position, "at": at });
            with(&mut value, "reason", held.reason.as_ref());
            with(&mut value, "evidence", held.evidence_ref);
            value
        });
        list(&mut text, "positions", positions);
        let evidence = page.evidence.iter().map(|link| {
            let mut value = json!({
                "event": link.event,
                "relation": link.relation,
                "grade": link.grade,
                "weight": link.weight,
                "by": link.by,
                "at": link.at.to_string(),
            });
            with(&mut value, "note", link.note.as_ref());
            value
        });
        list(&mut text, "evidence", evidence);
        text
    }

    /// The file that lists a claim of a scope: its path and its content.
    pub(super) fn list(&self, scope: &Scope, id: ClaimId) -> (String, String) {
        let about = self.scopes.get(scope).map(Vec::as_slice).unwrap_or_default();
        let at = about.iter().position(|listed| *listed == id).unwrap_or_default() / LISTED;
        let number = if at == 0 { String::new() } else { format!("-{}", at + 1) };
        let path = format!("scopes/{}{number}.md", file_name(scope));
        let mut text = format!("# Claims about {}\n\n", self.line(scope.as_str()));
        for page in about.chunks(LISTED).nth(at).into_iter().flatten().filter_map(|id| self.claims.get(id)) {
            let _ = writeln!(text, "- [{}](../{}) {}", escaped(&page.title()), page.path(), page.listed);
        }
        (path, text)
    }

    /// The owner and the statement of a claim in a list.
    pub(super) fn listed(&self, owner: &AgentId, statement: &str) -> String {
        let statement = clean::cut_words(statement, LISTED_CHARS);
        format!("by {}: {}", self.line(owner.as_str()), self.line(&statement))
    }

    /// A link to the file of a claim, or its name where it has none.
    fn linked(&self, id: ClaimId) -> String {
        let name = self.name(id);
        self.claims.get(&id).map_or(name.clone(), |page| format!("[{name}](../{})", page.path()))
    }

    /// Stored text on one line of Markdown.
    fn line(&self, text: &str) -> String {
        escaped(&clean::one_line(&self.named(text)))
    }
}

fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "## {title}\n");
    for line in lines {
        let _ = writeln!(text, "- {line}");
    }
    text.push('\n');
}

/// A line of front matter. JSON on one line is YAML, except that YAML wants most invisible characters escaped.
fn field(text: &mut String, key: &str, value: impl Serialize) {
    let json = serde_json::to_string(&value).expect("plain data with string keys");
    let _ = write!(text, "{key}: ");
    for c in json.chars() {
        let _ = match (clean::is_hidden(c), c as u32) {
            (true, code @ ..=0xffff) => write!(text, "\\u{code:04x}"),
            (true, code) => write!(text, "\\U{code:08x}"),
            (false, _) => write!(text, "{c}"),
        };
    }
    text.push('\n');
}

fn optional(text: &mut String, key: &str, value: Option<impl Serialize>) {
    if let Some(value) = value {
        field(text, key, value);
    }
}

fn list(text: &mut String, key: &str, values: impl Iterator<Item = Value>) {
    let values: Vec<Value> = values.collect();
    if !values.is_empty() {
        field(text, key, values);
    }
}

fn with(value: &mut Value, key: &str, more: Option<impl Serialize>) {
    if let Some(more) = more {
        value[key] = json!(more);
    }
}

/// A file name for a scope: readable, and of letters, digits and hyphens only. Two scopes have different ones.
fn file_name(scope: &Scope) -> String {
    let letters = scope.as_str().chars().take(SLUG_CHARS);
    let slug: String =
        letters.map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let digest = hex::encode(Sha256::digest(scope.as_str()));
    let slug = slug.trim_matches('-');
    let slug = if slug.is_empty() { "workspace" } else { slug };
    format!("{slug}-{}", &digest[..DIGEST_CHARS])
}

/// Stored text as a block quote.
fn quoted(text: &str) -> String {
    clean::cleaned(text).lines().fold(String::new(), |mut block, line| {
        let line = escaped(line.trim_end());
        let _ = if line.is_empty() { writeln!(block, ">") } else { writeln!(block, "> {line}") };
        block
    })
}

/// One line of text in Markdown that shows the same text: nothing in it is a tag, a link or a heading.
fn escaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len() + 8);
    let indent = line.len() - line.trim_start().len();
    let digits = line[indent..].bytes().take_while(u8::is_ascii_digit).count();
    let chars: Vec<(usize, char)> = line.char_indices().collect();
    for (index, (at, c)) in chars.iter().enumerate() {
        let beside = |other: Option<&(usize, char)>| other.is_some_and(|(_, c)| c.is_alphanumeric());
        let is_special = match c {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '&' | '~' | '|' => true,
            // Within a word it is an ordinary character.
            '_' => !(index > 0 && beside(chars.get(index - 1)) && beside(chars.get(index + 1))),
            '#' | '-' | '+' | '=' => *at == indent,
            '.' | ')' => digits > 0 && *at == indent + digits,
            _ => false,
        };
        if is_special {
            text.push('\\');
        }
        text.push(*c);
    }
    text
}

/// The text that [`escaped`] shows.
fn unescaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = if c == '\\' { chars.next_if(char::is_ascii_punctuation) } else { None };
        text.push(escaped.unwrap_or(c));
    }
    text
}

/// The statement in the file of a claim, as a person may have edited it: the lines between the title and the next
/// heading, quoted or not. None if the file has no title any more.
fn statement(file: &str) -> Option<String> {
    let body = match file.strip_prefix(FENCE).and_then(|front| front.split_once(&format!("\n{FENCE}\n"))) {
        Some((_, body)) => body,
        None => file,
    };
    let mut lines = body.lines().skip_while(|line| !line.starts_with("# "));
    lines.next()?;
    let lines = lines.take_while(|line| !line.starts_with("## ")).map(|line| {
        let line = line.strip_prefix("> ").or_else(|| line.strip_prefix('>')).unwrap_or(line);
        unescaped(line)
    });
    Some(lines.collect::<Vec<_>>().join("\n").trim().to_owned())
}

/// The statement before and after an edit of a file. None if the edit left it as it was, or took it out.
pub fn edited_statement(before: &str, after: &str) -> Option<(String, String)> {
    let (was, is) = (statement(before)?, statement(after)?);
    (was != is && !is.is_empty()).then_some((was, is))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{edited_statement, escaped, field, file_name, quoted, statement, unescaped};
    use crate::domain::clean;
    use crate::domain::scope::Scope;

    #[test]
    fn stored_text_is_plain_text_in_markdown() {
        let cases = [
            ("a <b> & [c](javascript:d) `e`", "a \\<b\\> \\& \\[c\\](javascript:d) \\`e\\`"),
            ("# not a heading #1", "\\# not a heading #1"),
            ("- no item", "\\- no item"),
            ("1. no item, 2. neither", "1\\. no item, 2. neither"),
            ("---", "\\---"),
            ("snake_case _emphasis_", "snake_case \\_emphasis\\_"),
        ];
        for (text, markdown) in cases {
            assert_eq!(escaped(text), markdown);
        }
        assert_eq!(quoted("one\n\n## two"), "> one\n>\n> \\## two\n");
    }

    #[test]
    fn an_edit_is_seen_in_the_statement_alone() {
        let file = "---\nid: \"1\"\n---\n\n# C1 fact, proposed\n\n> the pool holds 20\\_000\n\n## Positions\n\n- a\n";
        assert_eq!(statement(file).as_deref(), Some("the pool holds 20_000"));
        let edited = file.replace("> the pool holds 20\\_000", "the pool holds *30*\nat least");
        let told = edited_statement(file, &edited).expect("an edit");
        assert_eq!(told.1, "the pool holds *30*\nat least");
        assert_eq!(edited_statement(file, &file.replace("- a", "- b")), None);
        assert_eq!(edited_statement(file, "no title"), None);
    }

    #[test]
    fn a_file_name_leads_nowhere() {
        for scope in ["src/../x", ".git/hooks", "target:..", "*", "tag:été", "."] {
            let Ok(scope) = Scope::as_written(scope, "") else { continue };
            let name = file_name(&scope);
            assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'), "{name}");
            assert!(!name.starts_with('-') && name.len() <= 60, "{name}");
        }
    }

    proptest! {
        /// What is shown is what was written, but for what the cleaner takes out.
        #[test]
        fn markdown_gives_the_text_back(line in "[ -~é\u{202e}]{0,60}") {
            let clean = clean::one_line(&line);
            prop_assert_eq!(unescaped(&escaped(&clean)), clean.clone());
            let file = format!("# C1 fact, proposed\n\n{}\n## Positions\n", quoted(&clean));
            prop_assert_eq!(statement(&file), Some(clean));
        }

        #[test]
        fn a_field_is_one_line_without_hidden_characters(text in "\\PC*|[\u{0}-\u{2fff}\u{e0000}-\u{e00ff}]{0,40}") {
            let mut line = String::new();
            field(&mut line, "statement", &text);
            prop_assert_eq!(line.lines().count(), 1);
            prop_assert!(!line.trim_end().contains(clean::is_hidden), "{}", line);
        }
    }
}
