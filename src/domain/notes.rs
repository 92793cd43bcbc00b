//! Notes that a team keeps in Markdown files: the statements in them, and which of them are on record already. Pure.

mod record;

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::domain::claim::{ClaimType, Status};
use crate::domain::ids::ClaimId;
use crate::domain::place;
use crate::domain::rejection::Code;
use crate::domain::scope::{BadScope, Scope};
use crate::domain::text::{self, Statement};

/// The line before the section that `hm export --to` writes into a file of notes.
pub const BEGIN: &str = "<!-- hivemind:begin -->";
/// The line after that section.
pub const END: &str = "<!-- hivemind:end -->";

/// The beginning of the tag of imported notes; the path of their file follows.
pub const TAG: &str = "tag:imported:";
/// The fewest words of a statement. Shorter items are names and titles.
const MIN_WORDS: usize = 3;
/// The fewest letters of a statement in a script without spaces.
const MIN_LETTERS: usize = 6;
/// The most statements that are taken from one file.
const MAX_NOTES: usize = 1_000;
/// The share of common words from which a statement is the edited form of another one, a Dice coefficient in thousandths.
const EDITED: usize = 500;

/// A statement in a file of notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Fact, or decision for a decision record.
    pub claim_type: ClaimType,
    /// The statement, with the heading and the introduction that it stands under.
    pub text: String,
    /// Why it was decided, if a decision record says so.
    pub rationale: Option<String>,
    /// The addresses of the links in it.
    pub links: Vec<String>,
}

/// Lines of a file with a statement, or the reason why they are not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The first line, from 1.
    pub from: u32,
    /// The last line.
    pub to: u32,
    /// The statement, or the code and the sentence of the refusal.
    pub note: Result<Note, (Code, String)>,
}

/// The tag of the notes of a file. A claim with such a tag is marked as imported.
///
/// # Errors
/// [`BadScope`] for a path that is too long.
pub fn tag_of(file: &Scope) -> Result<Scope, BadScope> {
    format!("{TAG}{file}").parse()
}

/// Whether a scope is the tag of imported notes.
pub fn is_tag(scope: &str) -> bool {
    scope.starts_with(TAG)
}

/// The scopes of a claim for what somebody else states in its place: without the tags of files, whose word that is not.
pub fn untagged(scopes: &[String]) -> Vec<Scope> {
    scopes.iter().filter(|scope| !is_tag(scope)).filter_map(|scope| scope.parse().ok()).collect()
}

/// A paragraph, or a list item without the lists in it.
#[derive(Debug, Clone, Default)]
struct Block {
    text: String,
    /// The first and the last byte of its text.
    span: Option<(usize, usize)>,
    /// The paragraph or item before its list, if that ends with a colon.
    lead: String,
    /// The number of its heading.
    heading: Option<usize>,
    links: Vec<String>,
    /// The last line break after which the text goes on left of its item, as the lengths of the text and of the file
    /// before it. The writer may have meant a paragraph of its own.
    loose: Option<(usize, usize)>,
}

impl Block {
    fn add(&mut self, text: &str, at: std::ops::Range<usize>) {
        self.text.push_str(text);
        let (from, to) = self.span.unwrap_or((at.start, at.end));
        self.span = Some((from.min(at.start), to.max(at.end)));
    }

    /// Takes the introduction of the following items off an item to which it is glued, and returns it.
    fn unglued(&mut self) -> Option<String> {
        let (length, end) = self.loose.filter(|_| self.text.trim_end().ends_with(':'))?;
        let lead = self.text.split_off(length);
        self.span = self.span.map(|(from, _)| (from, end));
        Some(lead.trim().to_owned())
    }

    fn is_statement(&self) -> bool {
        let text = self.text.trim();
        let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
        let letters = text.chars().filter(|c| !c.is_ascii() && c.is_alphabetic()).count();
        (words >= MIN_WORDS || letters >= MIN_LETTERS) && !text.ends_with([':', '?'])
    }
}

/// The blocks and headings of a text.
#[derive(Debug, Default)]
struct Outline {
    /// The text before the document, in YAML or TOML.
    front: String,
    blocks: Vec<Block>,
    /// The first and the last byte of each table.
    tables: Vec<(usize, usize)>,
    headings: Vec<(HeadingLevel, String)>,
}

impl Outline {
    fn of(markdown: &str) -> Self {
        let mut walk = Walk::default();
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
            | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
        for (event, at) in Parser::new_ext(markdown, options).into_offset_iter() {
            // The offset of a break ends where its next line has its first character.
            let is_loose = |at: &std::ops::Range<usize>| {
                let line = markdown[..at.end].rsplit('\n').next().unwrap_or_default();
                line.is_empty() && !markdown[at.end..].starts_with([' ', '\t'])
            };
            if matches!(event, Event::SoftBreak)
                && is_loose(&at)
                && !walk.leads.is_empty()
                && let Some(item) = walk.open.last_mut()
            {
                item.loose = Some((item.text.len(), at.start));
            }
            walk.see(event, at);
        }
        walk.outline.blocks.sort_by_key(|block| block.span);
        walk.outline
    }
}

/// The reading of Markdown so far.
#[derive(Debug, Default)]
struct Walk {
    outline: Outline,
    /// The paragraph or the items that are open, the innermost last.
    open: Vec<Block>,
    /// The introduction of each open list.
    leads: Vec<String>,
    /// The last paragraph, until another block begins.
    before: String,
    heading: Option<(HeadingLevel, String)>,
    is_front: bool,
    /// How many blocks are open whose text states nothing: code, tables, front matter.
    skipped: usize,
}

impl Walk {
    fn see(&mut self, event: Event<'_>, at: std::ops::Range<usize>) {
        match event {
            Event::Start(Tag::Table(_)) => {
                self.outline.tables.push((at.start, at.end));
                self.skipped += 1;
            }
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, at),
            Event::Code(code) => self.text(&format!("`{code}`"), at),
            // `Vec<T>` holds a tag for the parser. A comment is no part of a text.
            Event::InlineHtml(tag) if !tag.starts_with("<!--") => self.text(&tag, at),
            Event::SoftBreak | Event::HardBreak => self.text(" ", at),
            Event::TaskListMarker(_)
            | Event::Rule
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_) => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the other tags only format a text")]
    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::CodeBlock(_) | Tag::HtmlBlock => self.skipped += 1,
            Tag::MetadataBlock(_) => self.is_front = true,
            Tag::Heading { level, .. } => self.heading = Some((level, String::new())),
            Tag::Paragraph => {
                match self.open.last_mut() {
                    // A further paragraph of an item.
                    Some(item) if !item.text.is_empty() => item.text.push(' '),
                    Some(_) => {}
                    None => self.open.push(self.block(String::new())),
                }
            }
            Tag::List(_) => {
                let said = self.open.last().map_or(self.before.as_str(), |item| item.text.as_str()).trim();
                let lead = if said.ends_with(':') { said.to_owned() } else { String::new() };
                self.leads.push(lead);
            }
            Tag::Item => {
                let lead = self.leads.last().cloned().unwrap_or_default();
                self.open.push(self.block(lead));
            }
            Tag::Link { dest_url, .. } => {
                if let Some(block) = self.open.last_mut() {
                    block.links.push(dest_url.into_string());
                }
            }
            _ => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the other tags only format a text")]
    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock | TagEnd::Table | TagEnd::HtmlBlock => {
                self.skipped = self.skipped.saturating_sub(1);
            }
            TagEnd::MetadataBlock(_) => self.is_front = false,
            TagEnd::Heading(_) => {
                let heading = self.heading.take();
                self.outline.headings.extend(heading.map(|(level, text)| (level, text.trim().to_owned())));
                self.before.clear();
            }
            TagEnd::List(_) => {
                self.leads.pop();
                self.before.clear();
            }
            TagEnd::Item => {
                let lead = self.open.last_mut().and_then(Block::unglued);
                if let Some((lead, of_list)) = lead.zip(self.leads.last_mut()) {
                    *of_list = lead;
                }
                self.close();
            }
            TagEnd::Paragraph if self.leads.is_empty() => {
                self.before = self.open.last().map(|block| block.text.clone()).unwrap_or_default();
                self.close();
            }
            _ => {}
        }
    }

    fn block(&self, lead: String) -> Block {
        let heading = self.outline.headings.len().checked_sub(1);
        Block { lead, heading, ..Block::default() }
    }

    fn close(&mut self) {
        self.outline.blocks.extend(self.open.pop().filter(|block| block.span.is_some()));
    }

    fn text(&mut self, text: &str, at: std::ops::Range<usize>) {
        if self.is_front {
            self.outline.front.push_str(text);
            return;
        }
        if self.skipped > 0 {
            return;
        }
        if let Some((_, heading)) = &mut self.heading {
            heading.push_str(text);
        } else if let Some(block) = self.open.last_mut() {
            block.add(text, at);
        }
    }
}

/// The statements in a file of notes, in their order. The section that this program wrote is left out.
pub fn found(file: &[u8]) -> Vec<Found> {
    let (markdown, unended) = without_own_section(&String::from_utf8_lossy(file));
    let mut found = statements(&markdown);
    found.extend(unended);
    found
}

/// The lines of tables, questions, titles and items that are too short to state something, and that an import therefore
/// leaves out. An introduction of a list is no such line.
pub fn left_out(file: &[u8]) -> Vec<(u32, u32)> {
    let (markdown, _) = without_own_section(&String::from_utf8_lossy(file));
    let outline = Outline::of(&markdown);
    let lines = Lines::of(&markdown);
    if record::decision_record(&outline, |block| lines.of_block(block)).is_some() {
        return Vec::new();
    }
    let is_left = |block: &&Block| !block.is_statement() && !block.text.trim_end().ends_with(':');
    let blocks = outline.blocks.iter().filter(is_left).map(|block| lines.of_block(block));
    let mut left: Vec<(u32, u32)> =
        blocks.chain(outline.tables.iter().map(|span| lines.of_span(*span))).collect();
    left.sort_unstable();
    left
}

/// Where the lines of a text end.
struct Lines(Vec<usize>);

impl Lines {
    fn of(markdown: &str) -> Self {
        Self(markdown.match_indices('\n').map(|(at, _)| at).collect())
    }

    fn of_block(&self, block: &Block) -> (u32, u32) {
        self.of_span(block.span.unwrap_or_default())
    }

    fn of_span(&self, (from, to): (usize, usize)) -> (u32, u32) {
        let line = |at: usize| self.0.partition_point(|end| *end < at) as u32 + 1;
        let from = line(from);
        (from, line(to.saturating_sub(1)).min(from + place::MAX_LINES - 1))
    }
}

fn statements(markdown: &str) -> Vec<Found> {
    let outline = Outline::of(markdown);
    let of_text = Lines::of(markdown);
    let lines = |block: &Block| of_text.of_block(block);
    if let Some(record) = record::decision_record(&outline, lines) {
        return vec![record];
    }
    let statements = outline.blocks.iter().filter(|block| block.is_statement());
    let mut found: Vec<Found> = statements
        .map(|block| {
            let (from, to) = lines(block);
            let note = Note {
                claim_type: ClaimType::Fact,
                text: in_context(&outline, block),
                rationale: None,
                links: block.links.clone(),
            };
            Found { from, to, note: checked(note) }
        })
        .collect();
    let more = found.len().saturating_sub(MAX_NOTES);
    found.truncate(MAX_NOTES + 1);
    if let Some(first) = found.get_mut(MAX_NOTES) {
        let why = format!(
            "the file has {more} statements more than the {MAX_NOTES} that are taken: divide it into several"
        );
        first.note = Err((Code::InvalidArgument, why));
    }
    found
}

/// A text in which the lines of our own section are empty. Line numbers stay. A marker has a line of its own. A section
/// without an end goes on to the end of the file, and is reported.
fn without_own_section(markdown: &str) -> (String, Option<Found>) {
    let (mut kept, mut begun, mut lines) = (String::with_capacity(markdown.len()), None, 0);
    // Editors on Windows begin a file with the mark of its encoding.
    let markdown = markdown.strip_prefix('\u{feff}').unwrap_or(markdown);
    for line in markdown.split_inclusive('\n') {
        lines += 1;
        if begun.is_none() && line.trim_ascii() == BEGIN {
            begun = Some(lines);
        }
        let own = if line.ends_with('\n') { "\n" } else { "" };
        kept.push_str(if begun.is_some() { own } else { line });
        if line.trim_ascii() == END {
            begun = None;
        }
    }
    let unended = begun.map(|from| {
        let why =
            format!("the section that begins with `{BEGIN}` has no end: the rest of the file is left out");
        Found { from, to: lines.min(from + place::MAX_LINES - 1), note: Err((Code::InvalidArgument, why)) }
    });
    (kept, unended)
}

/// A statement with its heading and the introduction of its list, without which it may mean the opposite.
fn in_context(outline: &Outline, block: &Block) -> String {
    let heading = block.heading.and_then(|at| outline.headings.get(at));
    let heading = heading.filter(|(level, _)| *level != HeadingLevel::H1);
    let heading = heading.map(|(_, text)| text.trim_end_matches(':')).filter(|text| !text.is_empty());
    let heading = heading.map(|text| format!("{text}:"));
    let parts = [heading.as_deref().unwrap_or_default(), &block.lead, &block.text];
    joined(parts.into_iter())
}

fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    texts.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// Refuses what is no text, and what is too long for a claim.
fn checked(note: Note) -> Result<Note, (Code, String)> {
    if note.text.contains(char::REPLACEMENT_CHARACTER) {
        let why = "the lines are not UTF-8: save the file in that encoding".to_owned();
        return Err((Code::InvalidArgument, why));
    }
    let chars = note.text.chars().count();
    if chars > Statement::MAX_CHARS {
        let why = format!(
            "it has {chars} characters, and a claim has at most {}: divide it into several items",
            Statement::MAX_CHARS
        );
        return Err((Code::InvalidArgument, why));
    }
    Ok(note)
}

/// A claim that an earlier import made of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The claim.
    pub claim_id: ClaimId,
    /// Its owner.
    pub owner: String,
    /// Its statement.
    pub statement: String,
    /// Its type.
    pub claim_type: ClaimType,
    /// Its status.
    pub status: Status,
    /// Whether another claim took its place.
    pub is_superseded: bool,
}

/// What an import does with a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing: this claim says it already, in force or declined.
    Known(Option<ClaimId>),
    /// It proposes the statement, in place of the proposal that held its earlier text.
    Propose(Option<ClaimId>),
}

/// What an import does with each statement of a file. An edited statement takes the place of the proposal that is most
/// like it and whose own text the file no longer has. A claim that others confirmed or challenged is left to them.
pub fn steps(notes: &[&Note], known: &[Known]) -> Vec<Step> {
    let texts: BTreeSet<String> = notes.iter().map(|note| text::folded(&note.text)).collect();
    let known: Vec<(String, &Known)> =
        known.iter().map(|known| (text::folded(&known.statement), known)).collect();
    let standing: BTreeMap<&str, &Known> = known
        .iter()
        .filter(|(_, known)| !known.is_superseded)
        .map(|(text, known)| (text.as_str(), *known))
        .collect();
    let mut seen = BTreeSet::new();
    let mut steps: Vec<Step> = notes
        .iter()
        .map(|note| {
            let text = text::folded(&note.text);
            let known = standing.get(text.as_str());
            let is_first = seen.insert(text);
            match known {
                Some(known) => Step::Known(Some(known.claim_id)),
                None if is_first => Step::Propose(None),
                None => Step::Known(None),
            }
        })
        .collect();
    let is_left = |(text, known): &&(String, &Known)| {
        known.status == Status::Proposed && !known.is_superseded && !texts.contains(text)
    };
    let left: Vec<(BTreeSet<&str>, &Known)> =
        known.iter().filter(is_left).map(|(text, known)| (words(text), *known)).collect();
    let mut pairs: Vec<(usize, usize, usize)> = Vec::new();
    for (at, note) in notes.iter().enumerate().filter(|(at, _)| steps[*at] == Step::Propose(None)) {
        let text = text::folded(&note.text);
        let new = words(&text);
        for (place, (old, _)) in
            left.iter().enumerate().filter(|(_, (_, old))| old.claim_type == note.claim_type)
        {
            let shared = new.intersection(old).count();
            let alike = 2_000 * shared / (new.len() + old.len()).max(1);
            if alike >= EDITED {
                pairs.push((alike, at, place));
            }
        }
    }
    pairs.sort_by_key(|(alike, at, place)| (std::cmp::Reverse(*alike), *at, *place));
    let mut taken = BTreeSet::new();
    for (_, at, place) in pairs {
        if steps[at] == Step::Propose(None) && taken.insert(place) {
            steps[at] = Step::Propose(Some(left[place].1.claim_id));
        }
    }
    steps
}

/// The words of a folded text.
fn words(folded: &str) -> BTreeSet<&str> {
    folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{Known, Note, Step, found, left_out, steps};
    use crate::domain::claim::{ClaimType, Status};
    use crate::domain::ids::ClaimId;

    pub(super) fn check(file: &[u8], expected: Expect) {
        let lines = found(file).into_iter().map(|found| match found.note {
            Ok(note) => {
                let why = note.rationale.map(|why| format!(" because {why}")).unwrap_or_default();
                format!("{}-{} {}: {}{why}\n", found.from, found.to, note.claim_type, note.text)
            }
            Err((code, why)) => format!("{}-{} refused ({}): {why}\n", found.from, found.to, code.as_str()),
        });
        expected.assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn items_and_paragraphs_are_statements_with_what_they_stand_under() {
        check(
            b"---\ndescription: rules for all files\n---\n# Notes\n\nThe pool holds 20\nconnections.\n\nSee also\n\n\
              ## Style\n\n- Use tabs in every file\n- src/db\n- Never do these:\n  - edit the generated files\n\n\
              \x20 A second paragraph of the item.\n- [ ] Is it fast enough?\n\n```sh\nrun this command now\n```\n\n\
              | a b c d | e f g h |\n|---|---|\n| one two three | four five six |\n\n<!-- a comment of some words -->\n\
              > Quoted words of somebody else.\n\n1. Build with `make all` first, see [the file](Makefile)\n",
            expect![[r#"
                6-7 fact: The pool holds 20 connections.
                13-13 fact: Style: Use tabs in every file
                15-18 fact: Style: Never do these: A second paragraph of the item.
                16-16 fact: Style: Never do these: edit the generated files
                30-30 fact: Style: Quoted words of somebody else.
                32-32 fact: Style: Build with `make all` first, see the file
            "#]],
        );
    }

    /// Red before: the first item vanished, because the introduction of the second list was taken for its end.
    #[test]
    fn an_introduction_that_is_glued_to_an_item_belongs_to_the_next_items() {
        check(
            b"- The script needs the variable `ENV`\nNever do the following:\n- edit the generated files\n- push to main at night\n\n\
              - A long item that goes\non in the next line\n- Never do these:\n  - delete all of the rows\n",
            expect![[r#"
                1-1 fact: The script needs the variable `ENV`
                3-3 fact: Never do the following: edit the generated files
                4-4 fact: Never do the following: push to main at night
                6-7 fact: Never do the following: A long item that goes on in the next line
                9-9 fact: Never do these: delete all of the rows
            "#]],
        );
    }

    #[test]
    fn what_states_nothing_is_left_out_by_its_lines() {
        let file = b"# Notes\n\n| a | b |\n|---|---|\n| one two three | four |\n\n- use pnpm\n- The pool holds 20\n\nIs it fast enough?\n\nRules:\n- Use tabs in code\n";
        assert_eq!(left_out(file), [(3, 5), (7, 7), (10, 10)]);
        assert_eq!(left_out(b"- The pool holds 20\n"), []);
    }

    #[test]
    fn words_in_angle_brackets_stay_and_comments_do_not() {
        check(
            b"- Return a Vec<T> of <b>rows</b> <!-- not yet --> here\n",
            expect![[r#"
                1-1 fact: Return a Vec<T> of <b>rows</b> here
            "#]],
        );
    }

    #[test]
    fn our_own_section_is_no_note() {
        let own = "- The first rule is kept\n<!-- hivemind:begin -->\n## Team memory\n- Fact C1: the pool holds 20\n\
                   <!-- hivemind:end -->\n- The second rule is kept\n<!-- hivemind:begin -->\n- The third is ours\n";
        check(
            own.as_bytes(),
            expect![[r#"
                1-1 fact: The first rule is kept
                6-6 fact: The second rule is kept
                7-8 refused (invalid_argument): the section that begins with `<!-- hivemind:begin -->` has no end: the rest of the file is left out
            "#]],
        );
        check(
            b"- Exports write <!-- hivemind:begin --> first\n- Keep `<!-- hivemind:begin -->` as it is\n\n\
              ```\nsed /<!-- hivemind:begin -->/d\n```\n\n- The last rule is kept\n",
            expect![[r#"
                1-1 fact: Exports write first
                2-2 fact: Keep `<!-- hivemind:begin -->` as it is
                8-8 fact: The last rule is kept
            "#]],
        );
    }

    #[test]
    fn what_is_no_text_or_too_long_is_refused_and_the_rest_is_taken() {
        let long = format!("- The long item {}\n", "word ".repeat(500));
        let file = [
            b"- The first rule is kept\n- The b\xffd rule is here\n",
            long.as_bytes(),
            b"- The last rule is kept",
        ];
        check(
            &file.concat(),
            expect![[r#"
                1-1 fact: The first rule is kept
                2-2 refused (invalid_argument): the lines are not UTF-8: save the file in that encoding
                3-3 refused (invalid_argument): it has 2513 characters, and a claim has at most 2000: divide it into several items
                4-4 fact: The last rule is kept
            "#]],
        );
    }

    #[test]
    fn an_edited_statement_takes_the_place_of_its_proposal() {
        let id = |number: u128| ClaimId::from_uuid(uuid::Uuid::from_u128(number));
        let known = |number, statement: &str, status, is_superseded| Known {
            claim_id: id(number),
            owner: "devops".to_owned(),
            statement: statement.to_owned(),
            claim_type: ClaimType::Fact,
            status,
            is_superseded,
        };
        let note = |text: &str| Note {
            claim_type: ClaimType::Fact,
            text: text.to_owned(),
            rationale: None,
            links: Vec::new(),
        };
        let known = [
            known(1, "The pool holds 20 connections", Status::Proposed, false),
            known(2, "The cache holds 64 entries", Status::Confirmed, false),
            known(3, "Use tabs everywhere in code", Status::Deprecated, false),
            known(4, "The queue is bounded by 10", Status::Proposed, false),
            known(5, "The queue is bounded by 5", Status::Deprecated, true),
        ];
        let notes = [
            "The pool holds 30 connections",
            "The cache holds 128 entries",
            "use  tabs everywhere in CODE",
            "The queue is bounded by 10",
            "The queue is bounded by 5",
            "The pool holds 30 connections",
        ]
        .map(note);
        let notes: Vec<&Note> = notes.iter().collect();
        let expected = [
            Step::Propose(Some(id(1))),
            Step::Propose(None),
            Step::Known(Some(id(3))),
            Step::Known(Some(id(4))),
            Step::Propose(None),
            Step::Known(None),
        ];
        assert_eq!(steps(&notes, &known), expected);
    }
}
