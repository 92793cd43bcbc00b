//! Edits JSON with or without comments. Order, comments and white space of the file stay.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::edit::{self, Problem};
use super::entry::{self, ALLOW, ALLOW_RULE, Entry, Hooks, Layout, SERVER, STATUS_LINE, Server};

/// JSON with comments and trailing commas, which clients read. No client reads JSON5.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn value(body: &str) -> Result<Value, Problem> {
    Ok(parse(body)?.to_serde_value().unwrap_or_else(|| Value::Object(serde_json::Map::new())))
}

/// Whether a value equals the one that hm writes.
pub(super) fn same(there: &Value, ours: CstInputValue) -> bool {
    *there == plain(ours)
}

fn plain(value: CstInputValue) -> Value {
    match value {
        CstInputValue::Null => Value::Null,
        CstInputValue::Bool(value) => value.into(),
        CstInputValue::Number(number) => number.parse().map(Value::Number).unwrap_or_default(),
        CstInputValue::String(text) => text.into(),
        CstInputValue::Array(values) => values.into_iter().map(plain).collect(),
        CstInputValue::Object(fields) => fields.into_iter().map(|(key, value)| (key, plain(value))).collect(),
    }
}

pub(super) fn add(body: &str, entries: &[Entry]) -> Result<String, Problem> {
    let was = value(body)?;
    // A new file ends with a newline, as editors leave it.
    let root = parse(if body.trim().is_empty() { "{}\n" } else { body })?;
    let top = root.object_value_or_create().ok_or_else(|| shape("what it holds", "object"))?;
    for entry in entries {
        match entry {
            Entry::Server(server) => add_server(&top, server, &edit::servers(&was, server))?,
            Entry::Hooks(hooks) => add_hooks(&top, hooks)?,
            Entry::StatusLine => {
                if top.get(STATUS_LINE).is_none() {
                    top.append(STATUS_LINE, entry::status_line());
                }
            }
            Entry::AllowRule => add_rule(&top)?,
        }
    }
    Ok(root.to_string())
}

fn add_server(top: &CstObject, server: &Server, place: &[&str]) -> Result<(), Problem> {
    let servers = place.iter().try_fold(top.clone(), |object, key| {
        object.object_value_or_create(key).ok_or_else(|| shape(&format!("`{key}`"), "object"))
    })?;
    if servers.get(SERVER).is_none() {
        servers.append(SERVER, server.value());
    }
    Ok(())
}

fn add_rule(top: &CstObject) -> Result<(), Problem> {
    let [outer, inner] = ALLOW;
    let rules = top.object_value_or_create(outer).ok_or_else(|| shape("`permissions`", "object"))?;
    let rules = rules.array_value_or_create(inner).ok_or_else(|| shape("`permissions.allow`", "list"))?;
    if !rules.elements().iter().any(is_our_rule) {
        rules.append(ALLOW_RULE.into());
    }
    Ok(())
}

fn is_our_rule(rule: &CstNode) -> bool {
    rule.to_serde_value().is_some_and(|rule| rule == ALLOW_RULE)
}

fn add_hooks(top: &CstObject, hooks: &Hooks) -> Result<(), Problem> {
    if let Layout::Flat { version, .. } = hooks.layout
        && top.get("version").is_none()
    {
        top.insert(0, "version", version.into());
    }
    let events = top.object_value_or_create("hooks").ok_or_else(|| shape("`hooks`", "object"))?;
    for event in hooks.events {
        let list = events
            .array_value_or_create(event.name)
            .ok_or_else(|| shape(&format!("`hooks.{}`", event.name), "list"))?;
        let meant = |element: &CstNode| {
            let element = element.to_serde_value().unwrap_or_default();
            let commands: Vec<_> =
                hooks.handlers(&element).iter().filter_map(|handler| hooks.command_of(handler)).collect();
            commands.iter().any(|command| hooks.is_meant(command))
        };
        // Appends: the trust of Codex in a hook is bound to its position.
        if !list.elements().iter().any(meant) {
            list.append(hooks.value(event));
        }
    }
    Ok(())
}

pub(super) fn remove(body: &str, entries: &[Entry], original: &Value) -> Result<String, Problem> {
    let was = value(body)?;
    let root = parse(body)?;
    let Some(top) = root.object_value() else { return Ok(body.to_owned()) };
    for entry in entries {
        match entry {
            Entry::Server(server) => {
                let place = edit::servers(&was, server);
                let servers = place.iter().try_fold(top.clone(), |object, key| object.object_value(key));
                let ours = servers.and_then(|servers| servers.get(SERVER)).filter(|property| {
                    property
                        .value()
                        .and_then(|value| value.to_serde_value())
                        .is_some_and(|it| edit::is_ours(&it))
                });
                if let Some(ours) = ours {
                    ours.remove();
                    prune(&top, &place, original);
                }
            }
            Entry::Hooks(hooks) => remove_hooks(&top, hooks, original),
            Entry::StatusLine => {
                let is_ours = was.get(STATUS_LINE).is_some_and(entry::is_our_line);
                if let Some(line) =
                    top.get(STATUS_LINE).filter(|_| is_ours && original.get(STATUS_LINE).is_none())
                {
                    line.remove();
                }
            }
            Entry::AllowRule => remove_rule(&top, original),
        }
    }
    Ok(root.to_string())
}

fn remove_rule(top: &CstObject, original: &Value) {
    let [outer, inner] = ALLOW;
    let is_theirs = |rules: &Vec<Value>| rules.iter().any(|rule| rule == ALLOW_RULE);
    if original[outer][inner].as_array().is_some_and(is_theirs) {
        return;
    }
    let Some(rules) = top.object_value(outer).and_then(|object| object.array_value(inner)) else { return };
    let ours: Vec<CstNode> = rules.elements().into_iter().filter(is_our_rule).collect();
    if !ours.is_empty() {
        ours.into_iter().for_each(CstNode::remove);
        prune(top, &ALLOW, original);
    }
}

fn remove_hooks(top: &CstObject, hooks: &Hooks, original: &Value) {
    for event in hooks.events {
        let Some(list) = top.object_value("hooks").and_then(|events| events.array_value(event.name)) else {
            continue;
        };
        let ours = |node: &CstNode| node.to_serde_value().is_some_and(|handler| hooks.is_ours(&handler));
        let mut removed = false;
        for element in list.elements() {
            match hooks.layout {
                Layout::Flat { .. } if ours(&element) => element.remove(),
                Layout::Flat { .. } | Layout::Plugin { .. } => continue,
                Layout::Groups { .. } => {
                    let Some(handlers) = element.as_object().and_then(|group| group.array_value("hooks"))
                    else {
                        continue;
                    };
                    let of_us: Vec<_> = handlers.elements().into_iter().filter(ours).collect();
                    if of_us.is_empty() {
                        continue;
                    }
                    of_us.into_iter().for_each(CstNode::remove);
                    if is_empty(&handlers) {
                        element.remove();
                    }
                }
            }
            removed = true;
        }
        if removed {
            prune(top, &["hooks", event.name], original);
        }
    }
}

fn is_empty(list: &CstArray) -> bool {
    list.elements().is_empty()
}

/// Removes empty containers on the path to `place`, innermost first. Those of the original file stay.
fn prune(top: &CstObject, place: &[&str], original: &Value) {
    for depth in (0..place.len()).rev() {
        let way = &place[..=depth];
        let was_there = way.iter().try_fold(original, |value, key| value.get(key)).is_some();
        let parent = way[..depth].iter().try_fold(top.clone(), |object, key| object.object_value(key));
        let Some(property) = parent.and_then(|parent| parent.get(way[depth])) else { continue };
        let empty = match property.value() {
            Some(value) => match (value.as_object(), value.as_array()) {
                (Some(object), _) => object.properties().is_empty(),
                (_, Some(list)) => is_empty(&list),
                _ => false,
            },
            None => false,
        };
        if was_there || !empty {
            return;
        }
        property.remove();
    }
}

fn parse(body: &str) -> Result<CstRootNode, Problem> {
    CstRootNode::parse(body, &STRICT).map_err(|problem| {
        let what = problem.to_string();
        Problem::Syntax(what[..1].to_lowercase() + &what[1..])
    })
}

fn shape(key: &str, wanted: &'static str) -> Problem {
    Problem::Shape { key: key.to_owned(), wanted }
}
