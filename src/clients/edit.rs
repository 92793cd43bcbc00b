//! The pure edit: takes the text of a file and its entries, and returns the new text. It changes our entries only.

use std::path::Path;

use serde_json::Value;

use super::entry::{self, Entry, Hooks, Layout, SERVER, Server};
use super::{ConfigFile, in_json, in_toml};

/// Why a file is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file does not parse.
    #[error("it does not parse: {0}")]
    Syntax(String),
    /// A value of another kind is in the place of our entry.
    #[error("{key} is no {wanted}")]
    Shape {
        /// The key of that value.
        key: String,
        /// The kind that it should have.
        wanted: &'static str,
    },
    /// The whole file should be ours, and is not.
    #[error("it is not what hm init wrote")]
    Taken,
    /// A key is there twice: clients differ in which value they read.
    #[error("it has a key twice")]
    Twice,
}

/// The state of an entry in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The entry, or a part of it, is missing.
    Absent,
    /// It is as `hm init` writes it.
    Ours,
    /// It is ours, with changes of the user.
    Adapted,
    /// Another server has our name, or another command makes the status line.
    Foreign,
}

/// The text with our entries added; `None` when the file has them all. `text` is `None` when the file is missing.
///
/// # Errors
/// [`Problem`]; the file must then stay unchanged.
pub fn add(file: &ConfigFile, text: Option<&str>) -> Result<Option<String>, Problem> {
    let now = standings(file, text.unwrap_or_default())?;
    if let Some((_, plugin)) = plugin(file) {
        return match text {
            Some(text) if text == plugin => Ok(None),
            Some(text) if !text.trim().is_empty() && !is_plugin(text, plugin) => Err(Problem::Taken),
            _ => Ok(Some(plugin.to_owned())),
        };
    }
    if now.iter().all(|standing| *standing != Standing::Absent) {
        return Ok(None);
    }
    let framed = Framed::of(text.unwrap_or_default());
    let body = if is_toml(&file.path) {
        in_toml::add(framed.body, file.entries)?
    } else {
        in_json::add(framed.body, file.entries)?
    };
    let text = framed.around(&body);
    // Checks the result as the client will read it.
    let then = standings(file, &text)?;
    if then.contains(&Standing::Absent) { Err(Problem::Twice) } else { Ok(Some(text)) }
}

/// The text without our entries; `None` when no text of other authors is left. An empty container stays if
/// `original`, the text before `hm init`, has it.
///
/// # Errors
/// [`Problem`]; the file must then stay unchanged.
pub fn remove(file: &ConfigFile, text: &str, original: Option<&str>) -> Result<Option<String>, Problem> {
    if let Some((_, plugin)) = plugin(file) {
        return Ok(Some(text.to_owned()).filter(|text| !is_plugin(text, plugin)));
    }
    let framed = Framed::of(text);
    let value = |text: &str| value(file, Framed::of(text).body);
    let before = original.map(value).transpose()?.unwrap_or_default();
    let body = if is_toml(&file.path) {
        in_toml::remove(framed.body, file.entries, &before)?
    } else {
        in_json::remove(framed.body, file.entries, &before)?
    };
    if body == framed.body {
        return Ok(Some(text.to_owned()));
    }
    let text = framed.around(&body);
    let bare = original.is_none() && is_bare(&value(&text)?, file.entries) && !has_comments(&text);
    Ok(Some(text).filter(|_| !bare))
}

/// The state of each entry of a file, in the order of its entries.
///
/// # Errors
/// [`Problem`] when the file does not parse.
pub fn standings(file: &ConfigFile, text: &str) -> Result<Vec<Standing>, Problem> {
    if let Some((_, plugin)) = plugin(file) {
        return Ok(vec![if text == plugin { Standing::Ours } else { Standing::Absent }]);
    }
    let value = value(file, Framed::of(text).body)?;
    Ok(file.entries.iter().map(|entry| standing(&value, entry)).collect())
}

/// Program and arguments that the client would start as our server; `None` when the file has no such entry.
///
/// # Errors
/// [`Problem`] when the file does not parse.
pub fn argv(file: &ConfigFile, text: &str) -> Result<Option<Vec<String>>, Problem> {
    if plugin(file).is_some() {
        return Ok(None);
    }
    let value = value(file, Framed::of(text).body)?;
    let server = file.entries.iter().find_map(|entry| match entry {
        Entry::Server(server) => configured(&value, server),
        Entry::Hooks(_) | Entry::StatusLine | Entry::AllowRule => None,
    });
    Ok(server.and_then(argv_of))
}

/// The commands that the client would run for an event and that call our hook. With each comes its place: its
/// group, and its position in the group.
///
/// # Errors
/// [`Problem`] when the file does not parse.
pub fn hook_commands(
    file: &ConfigFile,
    text: &str,
    event: &str,
) -> Result<Vec<(String, usize, usize)>, Problem> {
    if let Some((hooks, plugin)) = plugin(file) {
        let runs = is_plugin(text, plugin) && hooks.events.iter().any(|known| known.name == event);
        return Ok(runs.then(|| (hooks.command.to_owned(), 0, 0)).into_iter().collect());
    }
    let value = value(file, Framed::of(text).body)?;
    let mut found = Vec::new();
    for entry in file.entries {
        let Entry::Hooks(hooks) = entry else { continue };
        for (group, element) in value["hooks"][event].as_array().into_iter().flatten().enumerate() {
            for (position, handler) in hooks.handlers(element).into_iter().enumerate() {
                let command = hooks.command_of(handler).filter(|command| hooks.is_meant(command));
                found.extend(command.map(|command| (command.to_owned(), group, position)));
            }
        }
    }
    Ok(found)
}

/// Hooks and text of a file that is ours as a whole; `None` for other files.
fn plugin(file: &ConfigFile) -> Option<(&'static Hooks, &'static str)> {
    file.entries.iter().find_map(|entry| match entry {
        Entry::Hooks(hooks) => match hooks.layout {
            Layout::Plugin { text } => Some((hooks, text)),
            Layout::Groups { .. } | Layout::Flat { .. } => None,
        },
        Entry::Server(_) | Entry::StatusLine | Entry::AllowRule => None,
    })
}

/// Whether a text is our plugin of any release: its first line shows it.
fn is_plugin(text: &str, plugin: &str) -> bool {
    text.lines().next() == plugin.lines().next()
}

/// The file as plain data.
fn value(file: &ConfigFile, body: &str) -> Result<Value, Problem> {
    if is_toml(&file.path) { in_toml::value(body) } else { in_json::value(body) }
}

fn standing(value: &Value, entry: &Entry) -> Standing {
    match entry {
        Entry::Server(server) => match configured(value, server) {
            None => Standing::Absent,
            Some(there) if in_json::same(there, server.value()) => Standing::Ours,
            Some(there) if argv_of(there).is_some_and(|argv| entry::is_ours(&argv)) => Standing::Adapted,
            Some(_) => Standing::Foreign,
        },
        Entry::Hooks(hooks) => {
            let mut exact = true;
            for event in hooks.events {
                let list = value["hooks"][event.name].as_array().into_iter().flatten();
                let ours: Vec<_> = list
                    .filter(|element| {
                        hooks.handlers(element).iter().any(|handler| {
                            hooks.command_of(handler).is_some_and(|command| hooks.is_meant(command))
                        })
                    })
                    .collect();
                if ours.is_empty() {
                    return Standing::Absent;
                }
                exact &= ours.iter().any(|element| in_json::same(element, hooks.value(event)));
            }
            if exact { Standing::Ours } else { Standing::Adapted }
        }
        Entry::StatusLine => match value.get(entry::STATUS_LINE) {
            None => Standing::Absent,
            Some(there) if in_json::same(there, entry::status_line()) => Standing::Ours,
            Some(there) if entry::is_our_line(there) => Standing::Adapted,
            Some(_) => Standing::Foreign,
        },
        Entry::AllowRule => {
            let [outer, inner] = entry::ALLOW;
            let rules = value[outer][inner].as_array();
            let is_there = rules.is_some_and(|rules| rules.iter().any(|rule| rule == entry::ALLOW_RULE));
            if is_there { Standing::Ours } else { Standing::Absent }
        }
    }
}

/// The path to the object that maps names to servers.
pub(super) fn servers(value: &Value, server: &Server) -> Vec<&'static str> {
    // In opencode 2, `servers` maps names to objects. A server that is itself called `servers` has scalar values.
    let nested = server.one_list
        && value[server.at]["servers"]
            .as_object()
            .is_some_and(|servers| servers.values().all(Value::is_object));
    if nested { vec![server.at, "servers"] } else { vec![server.at] }
}

/// The entry with our name at the place where the client reads it.
fn configured<'v>(value: &'v Value, server: &Server) -> Option<&'v Value> {
    let place = servers(value, server);
    place.iter().try_fold(value, |value, key| value.get(key))?.get(SERVER)
}

/// Program and arguments of a server in any form; `None` for a server that the client reaches another way.
fn argv_of(server: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let server = server.get("transport").unwrap_or(server);
    let command = server.get("command")?;
    match command.as_array() {
        Some(list) => list.iter().map(text).collect(),
        None => {
            let args = server["args"].as_array().into_iter().flatten();
            [command].into_iter().chain(args).map(text).collect()
        }
    }
}

/// Whether a server entry is ours, so that hm may remove it.
pub(super) fn is_ours(server: &Value) -> bool {
    argv_of(server).is_some_and(|argv| entry::is_ours(&argv))
}

/// Whether only the frame is left that hm wrote around our entries.
fn is_bare(value: &Value, entries: &[Entry]) -> bool {
    let frame = entries.iter().any(|entry| match entry {
        Entry::Hooks(hooks) => matches!(hooks.layout, entry::Layout::Flat { .. }),
        Entry::Server(_) | Entry::StatusLine | Entry::AllowRule => false,
    });
    value.as_object().is_some_and(|object| object.keys().all(|key| frame && key == "version"))
}

fn has_comments(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(['#', '/']))
}

fn is_toml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// The text of a file without its byte order mark, which an edit must keep.
struct Framed<'t> {
    mark: &'static str,
    body: &'t str,
}

impl<'t> Framed<'t> {
    fn of(text: &'t str) -> Self {
        match text.strip_prefix('\u{feff}') {
            Some(body) => Self { mark: "\u{feff}", body },
            None => Self { mark: "", body: text },
        }
    }

    fn around(&self, body: &str) -> String {
        format!("{}{body}", self.mark)
    }
}
