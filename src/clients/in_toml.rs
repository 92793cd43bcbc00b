//! Edits TOML. Order, comments and white space of the file stay.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike};

use super::edit::{self, Problem};
use super::entry::{ARGV, Entry, SERVER, Server};

pub(super) fn value(body: &str) -> Result<Value, Problem> {
    toml::from_str(body).map_err(|problem| Problem::Syntax(problem.to_string().trim_end().to_owned()))
}

pub(super) fn add(body: &str, entries: &[Entry]) -> Result<String, Problem> {
    let mut file = parse(body)?;
    // The text of a file that has only comments goes above the new table.
    let only_comments = file.is_empty();
    if only_comments {
        file.set_trailing("");
    }
    for Server { at, env_vars, .. } in servers(entries) {
        if file.get(at).is_none() {
            let mut servers = Table::new();
            servers.set_implicit(true);
            file.insert(at, Item::Table(servers));
        }
        let shape = || Problem::Shape { key: format!("`{at}`"), wanted: "table" };
        let servers = file.get_mut(at).and_then(Item::as_table_like_mut).ok_or_else(shape)?;
        if servers.get(SERVER).is_some() {
            continue;
        }
        let list = |words: &[&str]| toml_edit::value(words.iter().copied().collect::<Array>());
        let mut ours = Table::new();
        ours.insert("command", toml_edit::value(ARGV[0]));
        ours.insert("args", list(&ARGV[1..]));
        if !env_vars.is_empty() {
            ours.insert("env_vars", list(env_vars));
        }
        let item = if servers.get_values().is_empty() || !is_inline(servers) {
            let above = if only_comments { format!("{}\n\n", body.trim_end()) } else { "\n".to_owned() };
            if !body.trim().is_empty() {
                ours.decor_mut().set_prefix(above);
            }
            Item::Table(ours)
        } else {
            toml_edit::value(ours.into_inline_table())
        };
        servers.insert(SERVER, item);
    }
    Ok(with_newlines_of(body, file.to_string()))
}

pub(super) fn remove(body: &str, entries: &[Entry], original: &Value) -> Result<String, Problem> {
    let was = value(body)?;
    let mut file = parse(body)?;
    for Server { at, .. } in servers(entries) {
        if !edit::is_ours(&was[at][SERVER]) {
            continue;
        }
        let Some(servers) = file.get_mut(at).and_then(Item::as_table_like_mut) else { continue };
        let above = servers.remove(SERVER).as_ref().and_then(Item::as_table).and_then(comments_above);
        if servers.is_empty() && original.get(at).is_none() {
            file.remove(at);
        }
        if let Some(comments) = above {
            let below = format!("{comments}{}", file.trailing().as_str().unwrap_or_default());
            file.set_trailing(below);
        }
    }
    Ok(with_newlines_of(body, file.to_string()))
}

fn servers(entries: &[Entry]) -> impl Iterator<Item = &Server> {
    entries.iter().filter_map(|entry| match entry {
        Entry::Server(server) => Some(server),
        Entry::Hooks(_) | Entry::StatusLine | Entry::AllowRule => None,
    })
}

/// Comments above a table. Their author may be the user, so hm keeps them.
fn comments_above(table: &Table) -> Option<String> {
    let prefix = table.decor().prefix()?.as_str()?;
    prefix.contains('#').then(|| prefix.to_owned())
}

fn is_inline(table: &dyn TableLike) -> bool {
    table.iter().any(|(_, item)| item.is_value())
}

/// The crate writes `\n` into new text.
fn with_newlines_of(body: &str, text: String) -> String {
    if body.contains("\r\n") { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text }
}

fn parse(body: &str) -> Result<DocumentMut, Problem> {
    body.parse()
        .map_err(|problem: toml_edit::TomlError| Problem::Syntax(problem.to_string().trim_end().to_owned()))
}
