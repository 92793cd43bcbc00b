//! What every page shares: the question of a request, its state of the memory, the frame, and the pieces of HTML.

use maud::{DOCTYPE, Markup, html};
use serde::de::DeserializeOwned;
use url::form_urlencoded;
use uuid::Uuid;

use super::door::Visitor;
use super::{ASSETS, PAGES, Site};
use crate::domain::clean;
use crate::domain::names::Sort;
use crate::domain::rejection::Rejection;
use crate::domain::time::{Moment, Timestamp};
use crate::facts::{self, Claim};
use crate::reads::Reads;
use crate::steps::in_shell;
use crate::system;
use crate::views::{self, Format, Next, View, ViewError};

/// Entries on a page of a list.
pub(super) const ENTRIES: usize = 50;

/// Characters of the longest word that stays whole in a table.
const WHOLE_WORD_CHARS: usize = 24;

/// The parameter with the moment that a page shows.
const AT: &str = "at";

/// A request for a page, and the state of the memory that it shows.
pub(super) struct Page<'a> {
    pub(super) site: &'a Site,
    visitor: &'a Visitor,
    pub(super) reads: Reads,
    /// The time of what is shown.
    pub(super) now: Timestamp,
    pub(super) path: String,
    query: Vec<(String, String)>,
    /// The moment in the past that is shown.
    pub(super) moment: Option<Moment>,
    /// The key of a receipt to show.
    pub(super) said: Option<String>,
    /// The hidden field of forms; none where nobody may act.
    pub(super) form: Option<String>,
    /// The last event of the ledger.
    pub(super) head: u64,
}

/// What a page shows: its title and the content of `main`.
pub(super) struct Shown {
    pub(super) title: String,
    pub(super) main: Markup,
}

impl Shown {
    pub(super) fn new(title: impl Into<String>, main: Markup) -> Self {
        Self { title: title.into(), main }
    }
}

/// The pairs of a query or a form.
pub(super) fn pairs(text: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

/// The moment that a text names. Small numbers are ledger positions, as on the slider.
fn moment(text: &str, now: Timestamp) -> Result<Moment, Rejection> {
    Moment::parse(text, now).map_err(|problem| Rejection::invalid(AT, problem))
}

/// What the head of every page says: its encoding, its size, its title and its style.
pub(super) fn described(site: &Site, title: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        title { (clean::revealed(title)) " · hivemind" }
        link rel="stylesheet" href={ (site.base) (ASSETS.style.name) };
        link rel="icon" href={ (site.base) (ASSETS.icon.name) };
    }
}

impl<'a> Page<'a> {
    /// The state of the memory for a request: the present one, or that at the moment in `at`.
    pub(super) fn of(
        site: &'a Site,
        visitor: &'a Visitor,
        path: &str,
        query: &str,
    ) -> Result<Self, Rejection> {
        let (receipts, query): (Vec<_>, Vec<_>) =
            pairs(query).into_iter().partition(|(name, _)| name == "said");
        let said = receipts.into_iter().next().map(|(_, key)| key);
        let (mut reads, now) = (site.reads(), system::now());
        let head = reads.ledger().map_err(ViewError::from)?.map(|ledger| ledger.head()).transpose();
        let head = head.map_err(ViewError::from)?.map_or(0, |head| head.seq);
        let at = query.iter().find(|(name, value)| name == AT && !value.trim().is_empty());
        let moment = at.map(|(_, text)| moment(text, now)).transpose()?;
        if let Some(moment) = moment {
            reads = site.past(reads, moment, now)?;
        }
        let form = site.forms(visitor).filter(|_| moment.is_none());
        let now = reads.clock(now);
        Ok(Self { site, visitor, reads, now, path: path.to_owned(), query, moment, said, form, head })
    }

    /// The value of a parameter, unless it is empty.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(given, _)| given == name)?;
        Some(found.1.trim()).filter(|value| !value.is_empty())
    }

    /// The value of a parameter, parsed.
    pub(super) fn parsed<T>(&self, name: &str) -> Result<Option<T>, Rejection>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
    {
        let parsed = self.value(name).map(str::parse).transpose();
        parsed.map_err(|problem: T::Err| Rejection::invalid(name, problem))
    }

    /// The answer to a question, as far as a page reads it, and the start of the next page.
    pub(super) fn ask<T: DeserializeOwned>(&mut self, view: &View) -> Result<(T, Option<Next>), Rejection> {
        facts::asked(&mut self.reads, &self.site.config, view, self.now)
    }

    /// The answer to a question as text.
    pub(super) fn text(&mut self, view: &View) -> Result<String, Rejection> {
        let answer = views::answer(&mut self.reads, &self.site.config, view, self.now, Format::Text)?;
        Ok(answer.into_text())
    }

    /// The id that a name in an address stands for.
    pub(super) fn id(&mut self, sort: Sort, name: &str) -> Result<Uuid, Rejection> {
        views::resolve(&mut self.reads, sort, name)
    }

    /// A text with names in place of ids.
    pub(super) fn named(&mut self, text: &str) -> String {
        views::shortened(&mut self.reads, text).into_owned()
    }

    /// A step that settles something, as a command of the shell.
    pub(super) fn line(&mut self, step: &str) -> String {
        let line = in_shell(&format!("`{step}`")).trim_matches('`').to_owned();
        self.named(&line)
    }

    /// The words of a command, with names in place of ids, as they are typed.
    pub(super) fn typed(&mut self, words: &[String]) -> String {
        shell_words::join(words.iter().map(|word| self.named(word)))
    }

    /// The name of a claim, as a link to its page.
    pub(super) fn claim(&mut self, id: &str) -> Markup {
        let name = self.named(id);
        self.to(&format!("/claim/{name}"), &name)
    }

    /// The address of a page or an action at its present moment.
    pub(super) fn at_present(&self, path: &str) -> String {
        format!("{}{path}", self.site.base)
    }

    /// The address of another page at the same moment.
    pub(super) fn address(&self, path: &str, with: &[(&str, &str)]) -> String {
        let at = self.value(AT).map(|at| (AT, at));
        let given = with.iter().copied().filter(|(_, value)| !value.is_empty());
        let mut text = form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(given.chain(at));
        let query = text.finish();
        let path = self.at_present(path);
        if query.is_empty() { path } else { format!("{path}?{query}") }
    }

    /// A link to another page at the same moment.
    pub(super) fn to(&self, path: &str, words: &str) -> Markup {
        html! { a href=(self.address(path, &[])) { (clean::revealed(words)) } }
    }

    /// A link to another part of this list of events, with the same filter.
    pub(super) fn turned(&self, words: &str, way: &str, parameter: &str, seq: u64) -> Markup {
        let seq = seq.to_string();
        let kept = self.query.iter().filter(|(name, _)| !["after", "before", AT].contains(&&**name));
        let mut with: Vec<(&str, &str)> = kept.map(|(name, value)| (&**name, &**value)).collect();
        with.push((parameter, &seq));
        html! { a rel=(way) href=(self.address(&self.path, &with)) { (words) } }
    }

    /// A link to the next page of this list.
    pub(super) fn more(&self, next: Option<&Next>) -> Markup {
        let Some(next) = next else { return html! {} };
        let kept = self.query.iter().filter(|(name, _)| name != next.parameter && name != AT);
        let mut with: Vec<(&str, &str)> = kept.map(|(name, value)| (&**name, &**value)).collect();
        with.push((next.parameter, &next.value));
        html! { p.more { a rel="next" href=(self.address(&self.path, &with)) { "More" } } }
    }

    /// The whole document.
    pub(super) fn document(&self, shown: &Shown, said: Option<&str>) -> Markup {
        let is_past = self.value(AT).is_some();
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    (described(self.site, &shown.title))
                    script src=(self.at_present(&ASSETS.script.name)) defer {}
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    header {
                        p.name { (self.to("/", "hivemind")) }
                        (self.signed_in())
                        (self.menu())
                        (self.slider())
                    }
                    p #live role="status" aria-live="polite" {}
                    main #main tabindex="-1" data-head=(self.head) {
                        @if let Some(said) = said { p.receipt role="status" { (self::said(said)) } }
                        @if is_past {
                            p.past { "You see the memory as it was at " (time(self.now)) ". "
                                @if let Some((asked, shown)) = self.reads.moved() { "Here, " (views::moved(asked, shown)) ". " }
                                a href=(self.at_present(&self.path)) { "Back to now" } }
                        }
                        h1 { (clean::revealed(&shown.title)) }
                        (shown.main)
                    }
                }
            }
        }
    }

    /// Who is signed in, and the button that ends it.
    fn signed_in(&self) -> Markup {
        let Some(token) = self.visitor.token() else { return html! {} };
        let may = if self.visitor.right().is_ok() { "reads, and acts as the operator" } else { "reads" };
        html! {
            form.signed-in method="post" action=(self.at_present("/sign-out")) {
                input type="hidden" name="form" value=(self.visitor.form_token());
                span { "Token " strong { (token.name) } " of " (token.agent) ": " (may) }
                button { "Sign out" }
            }
        }
    }

    fn menu(&self) -> Markup {
        html! {
            nav aria-label="Pages" {
                ul {
                    @for (path, name) in PAGES {
                        li {
                            @if *path == self.path { a href=(self.address(path, &[])) aria-current="page" { (name) } }
                            @else { (self.to(path, name)) }
                        }
                    }
                }
            }
        }
    }

    /// The forms that show another moment: a slider over the events, and a field for a time.
    fn slider(&self) -> Markup {
        let at = self.value(AT);
        let here = self.reads.horizon().unwrap_or(self.head);
        let others = || self.query.iter().filter(|(name, _)| name != AT);
        let hidden =
            || html! { @for (name, value) in others() { input type="hidden" name=(name) value=(value); } };
        html! {
            div.moment role="group" aria-label="The moment that is shown" {
                form method="get" action=(self.at_present(&self.path)) {
                    (hidden())
                    label for="at" { "Event" }
                    input #at type="range" name=(AT) min="0" max=(self.head) value=(here);
                    button { "Show event #" (here) " or another" }
                }
                form method="get" action=(self.at_present(&self.path)) {
                    (hidden())
                    label for="when" { "Time" }
                    input #when type="text" name=(AT) value=(at.unwrap_or_default()) placeholder="2h, 2026-11-20 or #57" size="18";
                    button { "Show" }
                }
                @if at.is_some() { a href=(self.at_present(&self.path)) { "Now" } }
            }
        }
    }

    /// When something happened, before the moment that is shown.
    pub(super) fn ago(&self, at_ms: i64) -> Markup {
        let at = Timestamp::from_ms(at_ms);
        html! { time datetime=(at) title=(at) { (at.age(self.now)) " ago" } }
    }

    /// Scopes, each as a link to its claims.
    pub(super) fn places(&self, scopes: &[String]) -> Markup {
        html! {
            ul.places {
                @for scope in scopes {
                    li { a href=(self.address("/claims", &[("scope", scope)])) { (path(scope)) } }
                }
            }
        }
    }

    /// A table of claims.
    pub(super) fn claims(&self, claims: &[Claim], caption: &str) -> Markup {
        html! {
            table {
                caption { (caption) }
                thead { tr { th scope="col" { "Claim" } th scope="col" { "Statement" } th scope="col" { "State" }
                    th scope="col" { "Owner" } th scope="col" { "About" } th scope="col" { "Changed" } } }
                tbody {
                    @for claim in claims {
                        tr {
                            th scope="row" { (self.to(&format!("/claim/{}", claim.called()), claim.called())) " " span.kind { (claim.kind) } }
                            td.statement { (said(&claim.statement)) }
                            td data-of="State" { (state(claim)) }
                            td data-of="Owner" { (said(&claim.owner)) }
                            td data-of="About" { (self.places(&claim.scopes)) }
                            td data-of="Changed" { (self.ago(claim.touched_at)) }
                        }
                    }
                }
            }
        }
    }
}

/// A text that agents wrote: it stays text, and hidden characters are shown.
pub(super) fn said(text: &str) -> Markup {
    let text = clean::revealed(text);
    html! { span.said.long[has_long_word(&text)] dir="auto" { (text) } }
}

/// Whether a text has a word that a table breaks where it must. A browser breaks no line at the other blanks of Unicode, such
/// as the one that keeps words together.
fn has_long_word(text: &str) -> bool {
    text.split_ascii_whitespace().any(|word| word.chars().count() > WHOLE_WORD_CHARS)
}

/// A path, a scope or a pattern of commands.
pub(super) fn path(text: &str) -> Markup {
    let text = clean::revealed(text);
    html! { code.long[has_long_word(&text)] { (text) } }
}

/// A longer text that agents or programs wrote, with its line breaks.
pub(super) fn block(text: &str) -> Markup {
    html! { pre.said dir="auto" tabindex="0" { (clean::revealed(text)) } }
}

/// A command for the shell, to copy.
pub(super) fn command(line: &str) -> Markup {
    let line = clean::revealed(line);
    html! { code.command.long[has_long_word(&line)] { (line) } }
}

/// A time that is shown whole.
pub(super) fn time(at: Timestamp) -> Markup {
    html! { time datetime=(at) { (at) } }
}

/// What a page says while it has no entries, with the command that makes the first.
pub(super) fn empty(what: &str, line: &str) -> Markup {
    html! { p.empty { (what) " " (command(line)) } }
}

/// The state of a claim in words and a shape, with what makes it doubtful.
pub(super) fn state(claim: &Claim) -> Markup {
    html! {
        (status(&claim.status))
        @if let Some(basis) = &claim.basis { " (" (basis) ")" }
        " " span.count { (claim.votes()) }
        @let doubts = doubts(claim);
        @if !doubts.is_empty() { ul.doubts { @for doubt in &doubts { li { (doubt) } } } }
    }
}

/// A status in words and a shape.
pub(super) fn status(status: &str) -> Markup {
    let shape = match status {
        "confirmed" | "done" | "succeeded" | "accepted" => "✓",
        "contested" | "failed" => "≠",
        "pending_proof" | "queued" | "running" | "active" => "…",
        "deprecated" | "aborted" | "invalidated" | "dismissed" | "cancelled" => "×",
        _ => "○",
    };
    let class = format!("status {status}");
    html! { span class=(class) { span aria-hidden="true" { (shape) } " " (status.replace('_', " ")) } }
}

/// What speaks against a claim as it stands, in words.
pub(super) fn doubts(claim: &Claim) -> Vec<&'static str> {
    [
        (claim.failed_since.is_some(), "a run has contradicted it since it was confirmed"),
        (claim.failed_before.is_some(), "a run had contradicted it before the team agreed"),
        (claim.contradicts.is_some(), "another decision is in force on its target"),
        (claim.unstable, "equal runs passed and failed"),
        (!claim.changed_since.is_empty(), "its files changed since"),
        (claim.stale, "the files of its evidence were edited since"),
        (claim.agreed_before_change, "agreed before its files changed"),
        (claim.edits_unseen, "edits at its places are not seen"),
        (claim.agreed_by_silence, "agreed by silence alone"),
        (claim.imported, "imported from a file"),
        (claim.mended, "it was right and is mended"),
        (claim.rejected, "not chosen by a decision"),
    ]
    .into_iter()
    .filter_map(|(holds, words)| holds.then_some(words))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::has_long_word;

    /// Red before: 150 words between blanks that keep them together made a page ten screens wide.
    #[test]
    fn a_word_is_as_long_as_a_browser_takes_it() {
        assert!(has_long_word(&["some"; 150].join("\u{a0}")));
        assert!(has_long_word(&"a".repeat(80)));
        assert!(!has_long_word(&["some"; 150].join(" ")));
    }
}
