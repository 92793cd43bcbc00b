//! What the operator does on a page: each button runs the command that is shown beside it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use maud::{Markup, html};
use url::form_urlencoded;

use super::page::{self, Page};
use crate::acting;
use crate::domain::way;
use crate::system;
use crate::views::Waiting;

/// The receipts that are kept for pages that show them.
const KEPT: usize = 16;

/// Runs commands for the operator, and keeps what they said.
pub(super) struct Actor {
    program: PathBuf,
    root: PathBuf,
    /// Receipts by their keys, oldest first.
    kept: Mutex<VecDeque<(String, String)>>,
}

impl Actor {
    pub(super) fn new(program: PathBuf, root: PathBuf) -> Self {
        Self { program, root, kept: Mutex::default() }
    }

    /// Runs a command by a right that goes on record, and returns what it said.
    pub(super) async fn act(&self, words: &[String], right: &str) -> String {
        let override_first: Vec<String> = ["--operator-override", right]
            .into_iter()
            .map(str::to_owned)
            .chain(words.iter().cloned())
            .collect();
        let command = acting::command(&self.program, &self.root, &override_first);
        let mut command = tokio::process::Command::from(command);
        acting::said(command.stdin(Stdio::null()).output().await)
    }

    /// Keeps a receipt for the page after the action. Returns its key: a text in an address could be written by anybody.
    pub(super) fn keep(&self, said: String) -> String {
        let key = system::new_id().simple().to_string();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((key.clone(), said));
        key
    }

    /// The receipt of a key.
    pub(super) fn said(&self, key: &str) -> Option<String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(of, _)| of == key).map(|(_, said)| said.clone())
    }
}

/// The address of a page below `base` that a form names; the first page in place of an address that is not ours.
pub(super) fn ours(base: &str, address: &str) -> String {
    let path = address.strip_prefix(base).filter(|path| path.starts_with('/') && !path.starts_with("//"));
    let is_plain = |path: &&str| path.chars().all(|c| c.is_ascii_graphic() && c != '\\' && c != '#');
    format!("{base}{}", path.filter(is_plain).unwrap_or("/"))
}

/// The address of the page after an action: a page of ours, with the key of its receipt.
pub(super) fn back(base: &str, address: &str, key: &str) -> String {
    let path = ours(base, address);
    let key: String = form_urlencoded::byte_serialize(key.as_bytes()).collect();
    format!("{path}{}said={key}", if path.contains('?') { '&' } else { '?' })
}

/// A button of the operator, with the command that it runs. Only the command, where nobody may act.
pub(super) fn button(page: &Page<'_>, deed: &str, about: &str, line: &str) -> Markup {
    let needs_reason = line.contains(way::REASON) || line.contains("REASON");
    let Some(token) = &page.form else { return page::command(line) };
    let label = deed.trim_end_matches("-playbook");
    let back = page.address(&page.path, &[]);
    html! {
        form.act method="post" action=(page.at_present("/act")) {
            input type="hidden" name="form" value=(token);
            input type="hidden" name="do" value=(deed);
            input type="hidden" name="about" value=(about);
            input type="hidden" name="back" value=(back);
            @if needs_reason {
                label { "Reason " input type="text" name="reason" required maxlength="2000" autocomplete="off"; }
            }
            button { (label) }
            " " (page::command(line))
        }
    }
}

/// The buttons of a proposal.
pub(super) fn answers(page: &mut Page<'_>, entry: &Waiting) -> Markup {
    let [accept, decline] = [&entry.accept, &entry.decline].map(|step| page.typed(&entry.words(step)));
    html! {
        (button(page, "accept", &entry.key(), &accept))
        (button(page, "decline", &entry.key(), &decline))
    }
}

#[cfg(test)]
mod tests {
    use super::back;

    #[test]
    fn the_page_after_an_action_is_ours() {
        assert_eq!(back("", "/claim/C3", "k"), "/claim/C3?said=k");
        assert_eq!(back("", "/claims?q=a+b", "k"), "/claims?q=a+b&said=k");
        assert_eq!(back("/web", "/web/claims?q=a", "k"), "/web/claims?q=a&said=k");
        for foreign in
            ["//evil.example", "https://evil.example", "", "/\\evil.example", "/a\r\nset-cookie: a=b"]
        {
            assert_eq!(back("", foreign, "k"), "/?said=k", "{foreign:?}");
            let below = [foreign.to_owned(), format!("/web{foreign}"), "/mcp".to_owned(), "/webs".to_owned()];
            for foreign in below {
                assert_eq!(back("/web", &foreign, "k"), "/web/?said=k", "{foreign:?}");
            }
        }
    }
}
