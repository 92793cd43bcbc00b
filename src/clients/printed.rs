//! Prints the entries for clients whose files `hm init` does not write.

use super::entry::{Entry, Server};
use super::{Client, ConfigFile, Level, PLAIN_SERVER, Places, SERVER, edit};

/// A client in which a person enters servers, according to its documentation of November 2026.
struct ByHand {
    name: &'static str,
    title: &'static str,
    /// The place of its list of servers, in words.
    place: &'static str,
    entries: &'static [Entry],
}

const BY_HAND: &[ByHand] = &[
    ByHand {
        name: "windsurf",
        title: "Windsurf",
        place: "~/.codeium/windsurf/mcp_config.json",
        entries: &[PLAIN_SERVER],
    },
    ByHand {
        name: "zed",
        title: "Zed",
        place: ".zed/settings.json of the project, or ~/.config/zed/settings.json",
        entries: &[Entry::Server(Server { at: "context_servers", ..SERVER })],
    },
    ByHand { name: "kiro", title: "Kiro", place: ".kiro/settings/mcp.json", entries: &[PLAIN_SERVER] },
    ByHand { name: "roo", title: "Roo Code", place: ".roo/mcp.json", entries: &[PLAIN_SERVER] },
    ByHand { name: "kilo", title: "Kilo Code", place: ".kilocode/mcp.json", entries: &[PLAIN_SERVER] },
    ByHand {
        name: "amp",
        title: "Amp",
        place: "~/.config/amp/settings.json",
        entries: &[Entry::Server(Server { at: "amp.mcpServers", ..SERVER })],
    },
    ByHand {
        name: "crush",
        title: "Crush",
        place: "crush.json of the project",
        entries: &[Entry::Server(Server { at: "mcp", kind: Some("stdio"), ..SERVER })],
    },
];

/// The text for a file of a client, and the place of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The place, in words.
    pub place: String,
    /// The text of a file that contains our entries only.
    pub text: String,
}

/// The product name of a client and a snippet for each of its files. A client that Hivemind does not know gets
/// the usual form.
pub fn printed(name: &str, places: &Places) -> (String, Vec<Snippet>) {
    let snippet = |place: String, file: &ConfigFile| {
        let text = edit::add(file, None).ok().flatten().unwrap_or_default();
        Snippet { place, text }
    };
    if let Some(client) = Client::named(name) {
        let project = client.files(Level::Project, places);
        let files = if project.is_empty() { client.files(Level::User, places) } else { project };
        let shown = |file: &ConfigFile| {
            let path = file.path.strip_prefix(places.root()).unwrap_or(&file.path);
            snippet(path.display().to_string(), file)
        };
        return (client.title.to_owned(), files.iter().map(shown).collect());
    }
    let by_hand = BY_HAND.iter().find(|client| client.name == name);
    let (title, place, entries) = match by_hand {
        Some(client) => (client.title, client.place.to_owned(), client.entries),
        None => {
            (name, format!("the file in which {name} lists its MCP servers"), &[PLAIN_SERVER] as &[Entry])
        }
    };
    // The extension makes it JSON.
    let file = ConfigFile { path: "settings.json".into(), entries };
    (title.to_owned(), vec![snippet(place, &file)])
}

#[cfg(test)]
mod tests {
    use super::BY_HAND;
    use crate::clients::Client;

    #[test]
    fn no_client_is_entered_by_hand_that_init_writes_for() {
        assert!(BY_HAND.iter().all(|client| Client::named(client.name).is_none()));
    }
}
