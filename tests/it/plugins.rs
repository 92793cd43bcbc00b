//! The plugins for clients: they say what `hm init` writes, and `hm init` does not write beside an installed one.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::init::Machine;

/// The folder of the plugins.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("plugin")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(folder().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn read(path: &str) -> Value {
    serde_json::from_str(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What `hm init --print` says for a file of a client.
fn printed(client: &str, place: &str) -> Value {
    let said = Machine::new().hm(&["init", "--print", client, "--json"]);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let files = said["files"].as_array().expect("files");
    let file = files.iter().find(|file| file["place"] == place).unwrap_or_else(|| panic!("{place}: {said}"));
    let text = file["text"].as_str().expect("a text");
    if place.ends_with(".toml") {
        toml::from_str(text).expect("TOML")
    } else {
        serde_json::from_str(text).expect("JSON")
    }
}

#[test]
fn a_plugin_has_the_server_and_the_hooks_that_init_writes() {
    assert_eq!(read("claude/.mcp.json"), printed("claude", ".mcp.json"));
    assert_eq!(read("claude/hooks/hooks.json"), printed("claude", ".claude/settings.json"));
    let codex = printed("codex", ".codex/config.toml");
    assert_eq!(read("codex/.mcp.json"), json!({ "mcpServers": codex["mcp_servers"] }));
    assert_eq!(read("codex/hooks/hooks.json"), printed("codex", ".codex/hooks.json"));
    let gemini = printed("gemini", ".gemini/settings.json");
    assert_eq!(read("gemini/gemini-extension.json")["mcpServers"], gemini["mcpServers"]);
    assert_eq!(read("gemini/hooks/hooks.json"), json!({ "hooks": gemini["hooks"] }));
    assert_eq!(read("copilot/.mcp.json"), printed("copilot", ".mcp.json"));
    assert_eq!(read("copilot/hooks.json"), printed("copilot", ".github/hooks/hivemind.json"));
}

#[test]
fn every_plugin_has_the_version_of_the_program_and_the_same_skill() {
    let manifests = [
        "claude/.claude-plugin/plugin.json",
        "codex/.codex-plugin/plugin.json",
        "gemini/gemini-extension.json",
        "copilot/plugin.json",
    ];
    for path in manifests {
        let manifest = read(path);
        assert_eq!(manifest["name"], "hivemind", "{path}");
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"), "{path}");
        let client = path.split('/').next().expect("a folder");
        let skill = |client: &str| text(&format!("{client}/skills/hivemind/SKILL.md"));
        assert_eq!(skill(client), skill("claude"), "{path}");
    }
    let marketplaces = [
        (".claude-plugin/marketplace.json", "/plugins/0/source"),
        (".github/plugin/marketplace.json", "/plugins/0/source"),
        (".agents/plugins/marketplace.json", "/plugins/0/source/path"),
    ];
    for (path, source) in marketplaces {
        let listed = read(path);
        let source = listed.pointer(source).and_then(Value::as_str).expect("a source");
        assert!(folder().join(source).is_dir(), "{path}: {source}");
    }
}

/// What the MCP registry asks of `server.json` (schema 2025-12-11), and what it compares with the package on npm.
#[test]
fn the_registry_of_servers_finds_the_package_of_npm() {
    let server = read("server.json");
    assert_eq!(
        server["$schema"],
        "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    );
    let name = server["name"].as_str().expect("a name");
    assert_eq!(name.split('/').count(), 2, "{name}");
    assert!(server["description"].as_str().is_some_and(|text| text.chars().count() <= 100));
    assert_eq!(server["version"], env!("CARGO_PKG_VERSION"));
    let package = &server["packages"][0];
    assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(package["transport"], json!({ "type": "stdio" }));
    let npm = read("npm/package.json");
    assert_eq!(package["identifier"], npm["name"]);
    assert_eq!(npm["mcpName"], name);
    let readme = std::fs::read_to_string(folder().join("../README.md")).expect("a README");
    assert!(readme.lines().any(|line| line == format!("mcp-name: {name}")), "README has no mcp-name");
}

#[test]
fn the_package_of_npm_asks_for_its_own_version_of_each_platform() {
    let npm = read("npm/package.json");
    assert_eq!(npm["version"], env!("CARGO_PKG_VERSION"));
    // `npx hivemind-mcp` runs the only program of the package.
    assert_eq!(npm["bin"], json!({ "hm": "hm.js" }));
    assert_eq!(npm["scripts"], Value::Null, "an installation runs nothing");
    let platforms = npm["optionalDependencies"].as_object().expect("platforms");
    assert_eq!(platforms.len(), 5);
    for (name, version) in platforms {
        assert!(name.starts_with("hivemind-mcp-"), "{name}");
        assert_eq!(version, env!("CARGO_PKG_VERSION"), "{name}");
    }
}

#[test]
fn init_writes_nothing_for_a_client_that_has_the_plugin() {
    let machine = Machine::new();
    let enabled = r#"{ "enabledPlugins": { "other@a": true, "hivemind@hivemind": true } }"#;
    machine.write("home/.claude/settings.json", enabled);
    machine.write("home/.codex/config.toml", "[plugins.\"hivemind@team\"]\nenabled = true\n");
    machine.write("home/.gemini/settings.json", "{}");
    machine.write("home/.gemini/extensions/hivemind/gemini-extension.json", r#"{ "name": "hivemind" }"#);
    let copied = "// its own\n{ \"installedPlugins\": [{ \"name\": \"hivemind\", \"enabled\": true }] }";
    machine.write("home/.copilot/config.json", copied);
    let said = machine.hm(&["init", "--yes"]);
    for name in ["Claude Code", "Codex", "Gemini CLI", "Copilot CLI"] {
        assert!(said.contains(&format!("{name}: its plugin `hivemind` has server and hooks")), "{said}");
    }
    for path in [".mcp.json", ".claude", ".codex", ".gemini", ".github"] {
        assert!(!machine.project().join(path).exists(), "{path}");
    }
    // A person who names the client gets its files.
    machine.hm(&["init", "--yes", "--clients", "claude"]);
    assert!(machine.project().join(".mcp.json").exists());
    // A plugin that is turned off, or one of another name, counts for nothing.
    let machine = Machine::new();
    let off = r#"{ "enabledPlugins": { "hivemind@hivemind": false, "hivemind-x@a": true } }"#;
    machine.write("home/.claude/settings.json", off);
    machine.write("home/.codex/config.toml", "[plugins.\"hivemind@team\"]\nenabled = false\n");
    machine.hm(&["init", "--yes"]);
    for path in [".mcp.json", ".claude/settings.json", ".codex/config.toml"] {
        assert!(machine.project().join(path).exists(), "{path}");
    }
}
