//! Whether a client trusts the files of a project. The client's own files tell it; nothing is guessed.

use std::path::Path;

use serde_json::Value;

use super::entry::SERVER;
use super::{Base, Client, Level, Places, Spot, hook_commands, in_json, in_toml, text_of};

/// The trust of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// The client trusts it; the text tells how we know.
    Given(String),
    /// The client does not trust it, and ignores our configuration.
    Missing {
        /// The thing that it does not trust.
        what: String,
        /// How a person grants the trust. An agent should not.
        fix: String,
    },
    /// The client has not asked yet, or no person has answered. It ignores our configuration until then.
    Waiting {
        /// The thing that it does not trust yet.
        what: String,
        /// How a person answers.
        fix: String,
    },
    /// No file that we can read tells it; the text is the reason.
    Unknown(String),
}

/// Whether a client trusts our configuration: in this project, when the project has some, and in the user's own
/// files. Clients trust the user's files; only Codex asks about their hooks.
pub fn trust(client: &Client, places: &Places, of_project: bool) -> Vec<Trust> {
    match client.name {
        "claude" => claude(places, of_project),
        "codex" => codex(client, places, of_project),
        "gemini" => gemini(places, of_project),
        "copilot" if of_project => vec![copilot(places)],
        _ if of_project => vec![Trust::Unknown(format!(
            "{} asks when it first sees the server, and hm cannot read the answer; if the server finds no workspace, \
             add `--dir {}` to its arguments",
            client.title,
            places.root.display()
        ))],
        _ => Vec::new(),
    }
}

fn missing(what: impl Into<String>, fix: impl Into<String>) -> Trust {
    Trust::Missing { what: what.into(), fix: fix.into() }
}

fn waiting(what: impl Into<String>, fix: impl Into<String>) -> Trust {
    Trust::Waiting { what: what.into(), fix: fix.into() }
}

fn claude(places: &Places, of_project: bool) -> Vec<Trust> {
    let settings = [
        json(places, Spot(Base::Project, ".claude/settings.local.json")),
        json(places, Spot(Base::Project, ".claude/settings.json")),
        json(places, Spot(Base::Claude, "settings.json")),
    ];
    let mut found = Vec::new();
    if settings.iter().flatten().any(|settings| settings["disableAllHooks"] == true) {
        found.push(missing(
            "hooks are turned off in Claude Code",
            "remove `disableAllHooks` from its settings",
        ));
    }
    if of_project {
        found.extend(claude_project(places, &settings));
    }
    found
}

fn claude_project(places: &Places, settings: &[Option<Value>]) -> Vec<Trust> {
    let Some(state) = json(places, Spot(Base::ClaudeState, ".claude.json")) else {
        let why = "it asks twice at its first start, and Enter alone says no: answer `Yes, I trust this folder`, then `Use this \
             MCP server`";
        return vec![Trust::Unknown(why.to_owned())];
    };
    let project = |dir: &Path| &state["projects"][&*dir.to_string_lossy()];
    let trusted = places.root.ancestors().any(|dir| project(dir)["hasTrustDialogAccepted"] == true);
    let folder = if trusted {
        Trust::Given("the folder is trusted".to_owned())
    } else {
        waiting(
            "Claude Code does not trust this folder",
            "start `claude` in it and answer `Yes, I trust this folder`; Enter alone says no",
        )
    };
    let says = |key: &str| {
        let lists = settings.iter().flatten().chain([project(&places.root)]);
        lists.filter_map(|settings| settings[key].as_array()).flatten().any(|name| name == SERVER)
    };
    let all = settings.iter().flatten().any(|settings| settings["enableAllProjectMcpServers"] == true);
    // A server in the user's own configuration needs no approval.
    let brought = places.path(&Spot(Base::Project, ".mcp.json")).is_some_and(|path| path.exists());
    let server = if !brought {
        return vec![folder];
    } else if says("disabledMcpjsonServers") {
        missing("the server `hivemind` of .mcp.json was rejected", "allow it with `/mcp` in Claude Code")
    } else if all || says("enabledMcpjsonServers") {
        Trust::Given("the server is approved".to_owned())
    } else {
        waiting(
            "the server `hivemind` of .mcp.json is not approved yet",
            "start `claude` in this folder and answer `Use this MCP server`; Enter alone says no",
        )
    };
    vec![folder, server]
}

fn codex(client: &Client, places: &Places, of_project: bool) -> Vec<Trust> {
    let config = places.path(&Spot(Base::Codex, "config.toml"));
    let text = config.and_then(|path| text_of(&path).ok().flatten());
    let config = text.and_then(|text| in_toml::value(&text).ok()).unwrap_or_default();
    let level = |dir: &Path| &config["projects"][&*dir.to_string_lossy()]["trust_level"];
    // Codex asks for its start directory, then for the repository around it.
    let repository = places.root.ancestors().find(|dir| dir.join(".git").exists());
    let trusted =
        [Some(places.root.as_path()), repository].into_iter().flatten().any(|dir| level(dir) == "trusted");
    if of_project && !trusted {
        let what = "Codex does not trust this project, and so ignores .codex/";
        let dir = places.root.display();
        let fix = format!(
            "start `codex` in it and accept, at `Hooks need review` with `Trust all and continue`; or write \
             `[projects.\"{dir}\"] trust_level = \"trusted\"`"
        );
        return vec![waiting(what, format!("{fix} to config.toml of your Codex"))];
    }
    let given = of_project.then(|| Trust::Given("the project is trusted".to_owned()));
    let mut found = Vec::from_iter(given);
    if config["features"]["hooks"] == false || config["features"]["codex_hooks"] == false {
        found.push(missing("hooks are turned off in Codex", "remove `hooks = false` from [features]"));
    }
    found.extend(codex_hooks(client, places, &config["hooks"]["state"]));
    found
}

/// Codex trusts one definition of a hook at one position. Only Codex can compute the hash it records.
fn codex_hooks(client: &Client, places: &Places, state: &Value) -> Option<Trust> {
    let hooks = client.hooks()?;
    let mut untrusted = Vec::new();
    let mut known = 0;
    for file in [Level::Project, Level::User].iter().flat_map(|level| client.files(*level, places)) {
        let Ok(Some(text)) = file.text() else { continue };
        let path = file.path.canonicalize().unwrap_or(file.path.clone());
        for event in hooks.events {
            for (_, group, position) in hook_commands(&file, &text, event.name).unwrap_or_default() {
                known += 1;
                let key = format!("{}:{}:{group}:{position}", path.display(), snake_case(event.name));
                if !state[&key]["trusted_hash"].is_string() || state[&key]["enabled"] == false {
                    untrusted.push(event.name);
                }
            }
        }
    }
    match (known, untrusted.as_slice()) {
        (0, _) => None,
        (_, []) => {
            Some(Trust::Given("the hooks were trusted; `/hooks` shows whether they changed since".to_owned()))
        }
        (_, names) => Some(waiting(
            format!("Codex skips hooks that no person has reviewed: {}", names.join(", ")),
            "run `/hooks` in Codex and trust them",
        )),
    }
}

/// The form of an event's name in the keys of Codex.
fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    text
}

fn gemini(places: &Places, of_project: bool) -> Vec<Trust> {
    let settings = [Base::Project, Base::Home].map(|base| json(places, Spot(base, ".gemini/settings.json")));
    let mut found = Vec::new();
    if settings.iter().flatten().any(|settings| settings["hooksConfig"]["enabled"] == false) {
        found.push(missing(
            "hooks are turned off in Gemini CLI",
            "remove `hooksConfig.enabled` from its settings",
        ));
    }
    if of_project {
        let [_, own] = &settings;
        let is_off = own.as_ref().is_some_and(|own| own["security"]["folderTrust"]["enabled"] == false);
        found.push(if is_off {
            Trust::Given("every folder is trusted: folder trust is turned off".to_owned())
        } else {
            gemini_folder(places)
        });
    }
    found
}

/// Without a record of the folder, Gemini CLI asks; without a terminal it refuses to start.
fn gemini_folder(places: &Places) -> Trust {
    let folders = json(places, Spot(Base::Home, ".gemini/trustedFolders.json")).unwrap_or_default();
    // The nearest folder with a record decides. A record of a child can trust its parent.
    for dir in places.root.ancestors() {
        match folders[&*dir.to_string_lossy()].as_str() {
            Some("TRUST_FOLDER") => return Trust::Given(format!("{} is trusted", dir.display())),
            Some("DO_NOT_TRUST") => {
                return missing(
                    format!("Gemini CLI was told not to trust {}", dir.display()),
                    "change it with `/permissions` in Gemini CLI",
                );
            }
            _ => {}
        }
        let through = folders
            .as_object()
            .into_iter()
            .flatten()
            .find(|(folder, word)| *word == "TRUST_PARENT" && Path::new(folder).parent() == Some(dir));
        if through.is_some() {
            return Trust::Given(format!("{} is trusted", dir.display()));
        }
    }
    waiting("Gemini CLI does not trust this folder", "start `gemini` in it and answer `Trust folder`")
}

/// Copilot CLI runs no hook and starts no server of a folder that its list does not contain.
fn copilot(places: &Places) -> Trust {
    let config = json(places, Spot(Base::Copilot, "config.json")).unwrap_or_default();
    let folders = config["trustedFolders"].as_array().into_iter().flatten();
    let folders: Vec<&Path> = folders.filter_map(Value::as_str).map(Path::new).collect();
    match places.root.ancestors().find(|dir| folders.contains(dir)) {
        Some(dir) => Trust::Given(format!("{} is trusted", dir.display())),
        None => waiting("Copilot CLI does not trust this folder", "start `copilot` in it and accept"),
    }
}

/// A file of a client as plain data; `None` when it is missing or cannot be read.
pub(super) fn json(places: &Places, spot: Spot) -> Option<Value> {
    let text = text_of(&places.path(&spot)?).ok()??;
    in_json::value(text.trim_start_matches('\u{feff}')).ok()
}
