//! Whether a client has the plugin of Hivemind, which contains server and hooks. The client's own files tell it.

use serde_json::Value;

use super::entry::SERVER;
use super::{Base, Client, Places, Spot, in_toml, text_of, trust};

/// Whether the user installed the plugin in this client and it is enabled, as far as files of the user tell it.
pub fn has_plugin(client: &Client, places: &Places) -> bool {
    let json = |base, below| trust::json(places, Spot(base, below)).unwrap_or_default();
    match client.name {
        "claude" => is_enabled(&json(Base::Claude, "settings.json")["enabledPlugins"]),
        "codex" => is_enabled(&codex(places)["plugins"]),
        "gemini" => json(Base::Home, ".gemini/extensions/hivemind/gemini-extension.json")["name"] == SERVER,
        "copilot" => {
            let copied = &json(Base::Copilot, "config.json")["installedPlugins"];
            let is_copied = |plugin: &Value| plugin["name"] == SERVER && plugin["enabled"] == true;
            is_enabled(&json(Base::Copilot, "settings.json")["enabledPlugins"])
                || copied.as_array().is_some_and(|plugins| plugins.iter().any(is_copied))
        }
        _ => false,
    }
}

/// Whether a map of plugins by `NAME@MARKETPLACE` enables ours, from any marketplace.
fn is_enabled(plugins: &Value) -> bool {
    let is_ours = |key: &str| key.split('@').next() == Some(SERVER);
    let is_on = |value: &Value| *value == true || value["enabled"] == true;
    plugins.as_object().is_some_and(|all| all.iter().any(|(key, value)| is_ours(key) && is_on(value)))
}

fn codex(places: &Places) -> Value {
    let path = places.path(&Spot(Base::Codex, "config.toml"));
    let text = path.and_then(|path| text_of(&path).ok().flatten());
    text.and_then(|text| in_toml::value(&text).ok()).unwrap_or_default()
}
