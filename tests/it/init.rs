//! `hm init` and `hm uninit`: the settings of clients, with a home directory and a PATH of their own.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use expect_test::expect;
use hivemind::clients::{self, CLIENTS, Client, ConfigFile, Entry, Layout, Level, Places};
use hivemind::system::Environment;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{self, HM};
use crate::terminal::terminal;

/// A user and a project on a machine where no client is installed.
pub(crate) struct Machine {
    dir: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for name in ["home", "project", "bin"] {
            fs::create_dir(dir.path().join(name)).expect("a directory");
        }
        Self { dir }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn bin(&self) -> PathBuf {
        self.dir.path().join("bin")
    }

    pub(crate) fn state_home(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// Canonical, as clients name it in their own files.
    pub(crate) fn project(&self) -> PathBuf {
        self.dir.path().join("project").canonicalize().expect("the project")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(HM);
        command.args(args).current_dir(self.project()).stdin(Stdio::null());
        for name in
            ["HM_DIR", "HM_AGENT", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"]
        {
            command.env_remove(name);
        }
        let path = format!("{}:/usr/bin:/bin", self.bin().display());
        command.env("HOME", self.home()).env("PATH", path).env("XDG_STATE_HOME", self.state_home());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("hm can be run")
    }

    /// What a successful run says.
    pub(crate) fn hm(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Writes a file below the temporary directory: `project/…` or `home/…`.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.dir.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Every file of project and home, but for the workspace.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn walk(dir: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in fs::read_dir(dir).expect("a directory") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    // An empty directory counts too.
                    found.insert(path.clone(), Vec::new());
                    walk(&path, found);
                } else {
                    found.insert(path.clone(), fs::read(&path).expect("a file"));
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(&self.project(), &mut found);
        walk(&self.home(), &mut found);
        found.retain(|path, _| !path.starts_with(self.project().join(".hivemind")));
        found
    }
}

/// Settings as people have them: every style that must survive.
const STYLES: &[(&str, &str)] = &[
    ("project/.mcp.json", "{\"mcpServers\":{\"other\":{\"command\":\"x\",\"args\":[\"a\"]}},\"z\":1}"),
    ("project/.claude/settings.json", CLAUDE_WITH_HOOKS),
    (
        "project/.codex/config.toml",
        "# mine\nmodel = \"o\"   # kept\n\n[mcp_servers.other]\ncommand = 'x'\n\n[tui]\ntheme = \"dark\" # end",
    ),
    ("project/.codex/hooks.json", "{\n\t\"hooks\": {\n\t\t\"Stop\": [],\n\t\t\"PreToolUse\": []\n\t}\n}"),
    (
        "project/.gemini/settings.json",
        "\u{feff}{\r\n    \"theme\": \"x\",\r\n    \"mcpServers\": {\r\n        \"a\": { \"command\": \"a\" }\r\n    }\r\n}\r\n",
    ),
    ("project/.agents/mcp_config.json", "{}"),
    (
        "project/opencode.jsonc",
        "// top\n{\n  \"mcp\": {\n    \"servers\": { // v2\n      \"a\": { \"type\": \"local\", \"command\": [\"a\"], },\n    },\n  },\n  /* end */\n}\n",
    ),
    (
        "project/.vscode/mcp.json",
        "{\n\t// servers of this team\n\t\"servers\": {\n\t\t\"a\": { \"type\": \"http\", \"url\": \"x\" }, // a\n\t},\n\t\"inputs\": [],\n}\n",
    ),
    ("project/.cursor/mcp.json", "\n\n"),
    ("project/.qwen/settings.json", "{ \"tools\": {\"approvalMode\": \"auto\"}, \"hooks\": {} }"),
    (
        "project/.github/hooks/hivemind.json",
        "{\n  \"hooks\": {\n    \"errorOccurred\": [\n      { \"type\": \"command\", \"bash\": \"./mine.sh\" }\n    ]\n  },\n  \"version\": 1\n}\n",
    ),
    (
        "project/.cursor/hooks.json",
        "{\"version\": 1, \"hooks\": {\"stop\": [{\"command\": \"./mine.sh\"}]}}\n",
    ),
];

/// Foreign hooks on the same events, deep nesting, Unicode, an empty list.
const CLAUDE_WITH_HOOKS: &str = r#"{
  "permissions": { "allow": ["Bash(ls:*)"], "deny": [] },
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [ { "type": "command", "command": "./first.sh" },
                                      { "type": "command", "command": "./second.sh", "timeout": 10 } ] },
      { "matcher": "Write", "hooks": [{ "type": "command", "command": "hm hook claude --loud" }] }
    ],
    "Stop": [],
    "Notification": [
      {
        "hooks": [ { "type": "command", "command": "printf 'ü\u2028\n'" } ]
      }
    ]
  },
  "env": { "a": { "b": { "c": [[[{ "d": 1e3 }]]] } } }
}"#;

fn parsed(path: &Path, text: &str) -> Value {
    let body = text.trim_start_matches('\u{feff}');
    if path.extension().is_some_and(|extension| extension == "toml") {
        return toml::from_str(body).expect("valid TOML");
    }
    // Without comments it is judged by somebody else's parser.
    serde_json::from_str(body).unwrap_or_else(|_| {
        let root = CstRootNode::parse(body, &ParseOptions::default());
        let root = root.unwrap_or_else(|error| panic!("{}: {error}\n{text}", path.display()));
        root.to_serde_value().expect("a value")
    })
}

/// What is left without what init adds, told apart by names only; none when that is nothing.
fn without_ours(mut value: Value) -> Value {
    let Some(top) = value.as_object_mut() else { return json!({}) };
    for at in ["mcpServers", "mcp_servers", "servers", "mcp"] {
        if let Some(servers) = top.get_mut(at).and_then(Value::as_object_mut) {
            servers.remove("hivemind");
            if let Some(nested) = servers.get_mut("servers").and_then(Value::as_object_mut) {
                nested.remove("hivemind");
            }
        }
    }
    if let Some(events) = top.get_mut("hooks").and_then(Value::as_object_mut) {
        for list in events.values_mut().filter_map(Value::as_array_mut) {
            list.retain(|element| {
                !element.to_string().contains("\"hm hook ") || element.to_string().contains("--loud")
            });
        }
    }
    pruned(value)
}

/// Without what is empty, so that an empty container counts as none.
fn pruned(value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    let fields = fields.into_iter().filter(|(key, _)| key != "version").map(|(key, it)| (key, pruned(it)));
    fields.filter(|(_, it)| *it != json!({}) && *it != json!([])).collect()
}

/// Whether every line of `before` is in `after`, in order; a comma may have been added.
fn assert_lines_survive(path: &str, before: &str, after: &str) {
    let bare = |line: &str| {
        line.trim_start_matches('\u{feff}').trim_end().trim_end_matches(['[', ']', '{', '}', ',']).to_owned()
    };
    let mut lines = after.lines().map(bare);
    for line in before.lines().map(bare).filter(|line| !line.is_empty()) {
        assert!(lines.any(|there| there == line), "{path}: lost or moved: {line}\n{after}");
    }
}

#[test]
fn every_style_of_settings_survives_init_and_uninit_to_the_byte() {
    let machine = Machine::new();
    for (path, text) in STYLES {
        machine.write(path, text);
    }
    let before = machine.files();
    let text = machine.hm(&["init", "--all", "--yes"]);
    // The plugin of opencode is a file of ours.
    assert!(text.contains("13 of 13 files changed"), "{text}");
    for (path, was) in STYLES {
        let is = machine.read(path);
        assert_ne!(is, *was, "{path} was not written");
        let (is_value, was_value) = (parsed(Path::new(path), &is), parsed_or_empty(path, was));
        assert_eq!(without_ours(is_value.clone()), pruned(was_value), "{path}: more than ours changed");
        assert!(is_value.to_string().contains("hm"), "{path}");
        // A file that is one line becomes many; the others keep theirs.
        if was.trim().lines().count() > 1 {
            assert_lines_survive(path, was, &is);
        }
        assert_eq!(was.contains('\r'), is.contains('\r'), "{path}: other line ends");
        assert!(
            !is.replace("\r\n", "").contains('\n') || !was.contains('\r'),
            "{path}: mixed line ends\n{is:?}"
        );
        assert_eq!(was.starts_with('\u{feff}'), is.starts_with('\u{feff}'), "{path}: the mark of UTF-8");
    }

    let after = machine.files();
    let again = machine.hm(&["init", "--all", "--yes"]);
    assert!(again.contains("nothing to do: every client is configured"), "{again}");
    assert_eq!(machine.files(), after, "a second run wrote something");

    let text = machine.hm(&["uninit", "--yes"]);
    assert!(text.contains("The memory and its settings stay in .hivemind/"), "{text}");
    assert_eq!(machine.files(), before, "uninit left something else than was there");
    assert!(!machine.project().join(".hivemind/init").exists());
    assert!(machine.project().join(".hivemind/config.toml").exists(), "uninit took the workspace");
}

#[test]
fn uninit_names_the_places_that_hold_the_memory_and_its_settings() {
    let machine = Machine::new();
    let git = Command::new("git").args(["init", "-q"]).current_dir(machine.project()).status();
    assert!(git.expect("git runs").success());
    machine.hm(&["init", "--clients", "claude", "--yes"]);
    let text = machine.hm(&["uninit", "--yes"]).replace("\n    ", " ");
    let places = "The memory stays in .git/hivemind/ and its settings in .hivemind/.\n";
    assert!(text.contains(places), "{text}");
    assert!(machine.project().join(".git/hivemind").is_dir());
    // Elsewhere a path within the project would name nothing.
    let project = machine.project().display().to_string();
    let elsewhere =
        machine.command(&["uninit", "--yes", "--dir", &project]).current_dir(machine.home()).output();
    let text =
        String::from_utf8(elsewhere.expect("hm can be run").stdout).expect("text").replace("\n    ", " ");
    let places = format!("stays in {project}/.git/hivemind/ and its settings in {project}/.hivemind/.\n");
    assert!(text.contains(&places), "{text}");
}

fn parsed_or_empty(path: &str, text: &str) -> Value {
    if text.trim().is_empty() { json!({}) } else { parsed(Path::new(path), text) }
}

#[test]
fn what_init_creates_is_gone_after_uninit_with_its_directories() {
    for level in ["--project", "--user"] {
        let machine = Machine::new();
        // A directory of the user's own stays, although it is empty afterwards.
        machine.write("project/.gemini/kept", "");
        let before = machine.files();
        machine.hm(&["init", "--all", "--yes", level]);
        let files = machine.files();
        assert!(files.len() > before.len() + 10, "{files:?}");
        for (path, bytes) in files.iter().filter(|(path, _)| path.is_file() && !path.ends_with("kept")) {
            if path.extension().is_none_or(|extension| extension != "js") {
                parsed(path, &String::from_utf8(bytes.clone()).expect("text"));
            }
            assert!(bytes.ends_with(b"\n"), "{} ends without a newline", path.display());
        }
        machine.hm(&["uninit", "--yes", level]);
        assert_eq!(machine.files(), before, "{level}");
    }
}

#[test]
fn what_was_changed_since_is_kept() {
    let machine = Machine::new();
    for (path, text) in STYLES {
        machine.write(path, text);
    }
    machine.hm(&["init", "--all", "--yes"]);
    for (path, _) in STYLES {
        let text = machine.read(path);
        let changed = if path.ends_with(".toml") {
            format!("added = true\n{text}")
        } else {
            text.replacen('{', "{\n \"added\": true,", 1)
        };
        machine.write(path, &changed);
    }
    let text = machine.hm(&["uninit", "--yes"]);
    assert!(text.contains("13 of 13 files changed"), "{text}");
    for (path, was) in STYLES {
        let is = machine.read(path);
        let mut expected = parsed_or_empty(path, was);
        expected["added"] = json!(true);
        let mut there = parsed(Path::new(path), &is);
        if path.ends_with("/hooks.json") && path.contains("cursor") {
            there["version"] = json!(1);
        }
        assert_eq!(there, expected, "{path}\n{is}");
    }
    let again = machine.hm(&["uninit", "--yes"]);
    assert!(again.contains("nothing to do"), "{again}");
}

#[test]
fn the_plugin_of_opencode_is_ours_by_its_first_line() {
    let path = "project/.opencode/plugins/hivemind.js";
    let init = ["init", "--clients", "opencode", "--yes"];
    let machine = Machine::new();
    machine.hm(&init);
    let ours = machine.read(path);
    // That of another release is replaced.
    let first = ours.lines().next().expect("a line").to_owned();
    machine.write(path, &format!("{first}\nexport const Old = 1;\n"));
    machine.hm(&init);
    assert_eq!(machine.read(path), ours);
    machine.hm(&["uninit", "--yes"]);
    assert!(!machine.project().join(".opencode").exists());
    // What is somebody else's is left alone and named.
    machine.write(path, "export const Mine = 1;\n");
    let output = machine.run(&init);
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("hivemind.js is left alone: it is not what hm init wrote"), "{text}");
    machine.hm(&["uninit", "--yes"]);
    assert_eq!(machine.read(path), "export const Mine = 1;\n");
}

#[test]
fn what_goes_where_is_printed_for_any_client_and_nothing_is_written() {
    let machine = Machine::new();
    let before = machine.files();
    expect![[r#"
        Windsurf: add to what is there already

        ~/.codeium/windsurf/mcp_config.json:
        {
          "mcpServers": {
            "hivemind": {
              "command": "hm",
              "args": ["serve"]
            }
          }
        }
    "#]]
    .assert_eq(&machine.hm(&["init", "--print", "windsurf"]));
    let other = machine.hm(&["init", "--print", "zeta"]);
    assert!(other.contains("the file in which zeta lists its MCP servers:\n{\n  \"mcpServers\""), "{other}");
    for client in CLIENTS {
        let told = machine.hm(&["init", "--print", client.name]);
        assert!(told.starts_with(client.title) && told.contains("serve"), "{told}");
        if let Some(hooks) = client.hooks() {
            let words: Vec<&str> = hooks.command.split(' ').collect();
            assert!(words.iter().all(|word| told.contains(word)), "{told}");
        }
    }
    let json = machine.hm(&["init", "--print", "zed", "--json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert!(json["files"][0]["text"].as_str().expect("a text").contains("context_servers"), "{json}");
    assert_eq!(machine.files(), before);
    assert!(!machine.project().join(".hivemind").exists());
}

#[test]
fn a_file_that_two_clients_read_is_written_once() {
    let machine = Machine::new();
    let text = machine.hm(&["init", "--clients", "claude,copilot,vscode", "--yes"]);
    assert!(text.contains("4 of 4 files changed"), "{text}");
    let hooks = parsed(Path::new("h.json"), &machine.read("project/.github/hooks/hivemind.json"));
    assert_eq!(
        hooks["hooks"]["preToolUse"],
        json!([{ "type": "command", "bash": "command -v hm >/dev/null || exit 0; exec hm hook copilot", "powershell": "hm hook copilot; exit 0",
                 "timeoutSec": 5 }])
    );
    // Copilot CLI denies every tool where a hook before it fails: it must not fail for those who have no `hm`.
    let line = hooks["hooks"]["preToolUse"][0]["bash"].as_str().expect("a command");
    let output = Command::new("/bin/sh").args(["-c", line]).env("PATH", "").output().expect("a shell");
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert!(machine.hm(&["init", "--clients", "copilot", "--yes"]).contains("every client is configured"));
    let told = machine.hm(&["init", "--clients", "cline", "--yes"]);
    assert!(
        told.contains("Cline reads no file of a project: run `hm init --user --clients cline`"),
        "{told}"
    );
    machine.hm(&["init", "--clients", "cline,copilot", "--user", "--yes"]);
    let server = |path: &str| parsed(Path::new(path), &machine.read(path))["mcpServers"]["hivemind"].clone();
    assert_eq!(
        server("home/.cline/data/settings/cline_mcp_settings.json"),
        json!({ "transport": { "type": "stdio", "command": "hm", "args": ["serve"] } })
    );
    assert_eq!(
        server("home/.copilot/mcp-config.json"),
        json!({ "type": "local", "command": "hm", "args": ["serve"], "tools": ["*"] })
    );
}

/// Red before: the file of a client went with that of another one, and no word was said.
#[test]
fn a_file_that_another_configured_client_reads_stays() {
    let machine = Machine::new();
    let told = machine.hm(&["init", "--clients", "claude,copilot", "--yes"]);
    assert!(told.contains("Copilot CLI reads .mcp.json too\n"), "{told}");
    assert!(told.contains("VS Code reads .github/hooks/hivemind.json too\n"), "{told}");
    let told = machine.hm(&["uninit", "--clients", "copilot", "--yes"]);
    let stays = ".mcp.json stays: Claude Code reads it too; `hm uninit --clients copilot,claude` removes it";
    assert!(told.replace("\n    ", " ").contains(stays), "{told}");
    assert!(
        told.contains("VS Code reads .github/hooks/hivemind.json too, and loses Hivemind there\n"),
        "{told}"
    );
    assert!(machine.read("project/.mcp.json").contains("hivemind"));
    assert!(!machine.project().join(".github").exists());
    machine.hm(&["init", "--clients", "copilot", "--yes"]);
    let told = machine.hm(&["uninit", "--clients", "claude", "--yes"]);
    assert!(told.contains(".mcp.json stays: Copilot CLI reads it too"), "{told}");
    assert!(machine.read("project/.mcp.json").contains("hivemind"));
    assert!(!machine.project().join(".claude/settings.json").exists());
    let again = machine.hm(&["uninit", "--clients", "claude", "--yes"]);
    assert!(again.contains("nothing else to do") && again.contains(".mcp.json stays"), "{again}");
    machine.hm(&["uninit", "--clients", "claude,copilot", "--yes"]);
    assert!(!machine.project().join(".mcp.json").exists());
}

/// Red before: "no client is configured", although `hm init --user` had configured one.
#[test]
fn uninit_names_the_clients_of_the_other_level() {
    let machine = Machine::new();
    machine.hm(&["init", "--clients", "codex,cursor", "--user", "--yes"]);
    let flat = |args: &[&str]| machine.hm(args).replace("\n    ", " ");
    let told = flat(&["uninit", "--yes"]);
    let there = "no client is configured by hm init in this project; configured for you, in all projects: Codex, \
                 Cursor; `hm uninit --user` removes that";
    assert!(told.contains(there), "{told}");
    let told = flat(&["uninit", "--yes", "--clients", "codex,claude"]);
    assert!(
        told.contains("in all projects: Codex; `hm uninit --user --clients codex` removes that"),
        "{told}"
    );
    machine.hm(&["uninit", "--user", "--yes"]);
    assert!(flat(&["uninit", "--yes"]).contains("nothing to do: no client is configured by hm init\n"));
    machine.hm(&["init", "--clients", "codex", "--yes"]);
    let told = flat(&["uninit", "--user", "--yes"]);
    assert!(
        told.contains("hm init for you; configured in this project: Codex; `hm uninit` removes that"),
        "{told}"
    );
}

#[test]
fn a_second_init_after_an_edit_remembers_what_was_there_before_the_first() {
    let machine = Machine::new();
    machine.write("project/.gemini/settings.json", "{\n  \"theme\": \"x\"\n}\n");
    machine.hm(&["init", "--clients", "gemini", "--yes"]);
    // The user throws one hook out and adds a setting; the next init puts the hook back.
    let text = machine.read("project/.gemini/settings.json");
    let mut value: Value = serde_json::from_str(&text).expect("JSON");
    value["hooks"].as_object_mut().expect("hooks").remove("SessionEnd");
    value["mine"] = json!(1);
    machine.write("project/.gemini/settings.json", &serde_json::to_string_pretty(&value).expect("JSON"));
    machine.hm(&["init", "--clients", "gemini", "--yes"]);
    assert!(machine.read("project/.gemini/settings.json").contains("SessionEnd"));
    machine.hm(&["uninit", "--yes"]);
    let left: Value = serde_json::from_str(&machine.read("project/.gemini/settings.json")).expect("JSON");
    assert_eq!(left, json!({ "theme": "x", "mine": 1 }));
}

#[test]
fn uninit_knows_ours_without_the_record() {
    let machine = Machine::new();
    machine.write("project/.claude/settings.json", "{\n  \"model\": \"x\"\n}\n");
    machine.hm(&["init", "--clients", "claude,codex", "--yes"]);
    // As in the clone of a colleague.
    fs::remove_dir_all(machine.project().join(".hivemind")).expect("the workspace");
    machine.hm(&["uninit", "--yes"]);
    assert_eq!(machine.read("project/.claude/settings.json"), "{\n  \"model\": \"x\"\n}\n");
    for gone in [".mcp.json", ".codex/config.toml", ".codex/hooks.json"] {
        assert!(!machine.project().join(gone).exists(), "{gone}");
    }
}

#[test]
fn a_file_that_does_not_parse_is_named_and_left_alone() {
    let machine = Machine::new();
    let broken = [
        ("project/.mcp.json", "{ \"mcpServers\": { }"),
        ("project/.claude/settings.json", "{ \"hooks\": [] }"),
        ("project/.codex/config.toml", "model = \n"),
        ("project/.gemini/settings.json", "{ 'theme': 1 }"),
        ("project/.vscode/mcp.json", "{ \"servers\": {}, \"servers\": {} }"),
        ("project/.cursor/hooks.json", "[]"),
    ];
    for (path, text) in broken {
        machine.write(path, text);
    }
    fs::write(machine.project().join("opencode.json"), b"{ \"a\": \"\xff\" }").expect("a file");
    let before = machine.files();
    let clients = "claude,codex,gemini,vscode,cursor,opencode";
    let output = machine.run(&["init", "--clients", clients, "--yes", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let refused: String = answer["files"]
        .as_array()
        .expect("files")
        .iter()
        .filter(|file| file["outcome"] == "refused")
        .map(|file| {
            format!(
                "{}: {}\n",
                file["path"].as_str().expect("a path"),
                file["problem"].as_str().expect("why")
            )
        })
        .collect();
    expect![[r#"
        .mcp.json: it does not parse: unterminated object on line 1 column 1
        .claude/settings.json: `hooks` is no object
        .codex/config.toml: it does not parse: TOML parse error at line 1, column 9
          |
        1 | model = 
          |         ^
        string values must be quoted, expected literal string
        .gemini/settings.json: it does not parse: single-quoted strings are not allowed on line 1 column 3
        opencode.json: it is no UTF-8 text
        .vscode/mcp.json: it has a key twice
        .cursor/hooks.json: what it holds is no object
    "#]]
    .assert_eq(&refused);
    let after = machine.files();
    for (path, bytes) in &before {
        assert_eq!(after.get(path), Some(bytes), "{} was touched", path.display());
    }
    // What parses was written all the same.
    assert!(machine.project().join(".codex/hooks.json").exists());
}

#[test]
fn a_server_of_the_users_own_is_left_and_said() {
    let machine = Machine::new();
    machine
        .write("project/.mcp.json", "{\"mcpServers\": {\"hivemind\": {\"type\": \"http\", \"url\": \"x\"}}}");
    let adapted = "{\"mcpServers\": {\"hivemind\": {\"command\": \"/opt/hm\", \"args\": [\"serve\", \"--agent\", \"devops\"]}}}";
    machine.write("project/.gemini/settings.json", adapted);
    let text = machine.hm(&["init", "--clients", "claude,gemini", "--yes"]);
    assert!(text.contains(".mcp.json has a server `hivemind` of your own, which is left as it is"), "{text}");
    assert!(!text.contains("settings.json has a server"), "{text}");
    assert!(machine.read("project/.mcp.json").contains("http"));
    assert!(
        machine.read("project/.gemini/settings.json").contains("--agent"),
        "an adapted server was replaced"
    );
    machine.hm(&["uninit", "--yes"]);
    assert_eq!(machine.read("project/.gemini/settings.json"), adapted);
    assert!(machine.read("project/.mcp.json").contains("hivemind"));
}

#[test]
fn nothing_is_written_without_a_yes() {
    let machine = Machine::new();
    machine.write("project/.cursor/rules", "");
    let before = machine.files();
    for args in [&["init"][..], &["init", "--json"], &["init", "--dry-run"], &["init", "--dry-run", "--json"]]
    {
        let text = machine.hm(args);
        assert!(text.contains("hm hook cursor"), "{args:?} does not show the change: {text}");
        assert_eq!(machine.files(), before, "{args:?}");
        assert!(!machine.project().join(".hivemind").exists(), "{args:?} made the workspace");
    }
    // Without a terminal it says what would have helped.
    assert!(machine.hm(&["init"]).contains("say y on a terminal, or pass --yes"));
}

#[test]
fn a_workspace_in_another_is_said_to_hide_it() {
    let machine = Machine::new();
    machine.hm(&["init", "--yes"]);
    let below = machine.project().join("web");
    fs::create_dir(&below).expect("a directory");
    let here = |args: &[&str]| {
        let output = machine.command(args).current_dir(&below).output().expect("hm can be run");
        String::from_utf8(output.stdout).expect("text")
    };
    let told = format!("run `hm init --dir {}` instead", machine.project().display());
    let text = here(&["init"]);
    assert!(text.contains(&told) && !below.join(".hivemind").exists(), "{text}");
    let text = here(&["init", "--yes"]);
    assert!(text.contains(&told) && below.join(".hivemind").exists(), "{text}");
    let text = here(&["init", "--yes"]);
    assert!(!text.contains("hides"), "{text}");
}

/// Red before: `--yes` printed every line of every file, about 280 of them.
#[test]
fn four_clients_are_shown_in_thirty_lines_with_what_each_will_ask() {
    let machine = Machine::new();
    let text = machine.hm(&["init", "--clients", "claude,codex,gemini,opencode", "--yes"]);
    assert!(text.lines().count() <= 30, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let row = |title: &str| text.lines().find(|line| line.starts_with(title)).unwrap_or_default().to_owned();
    assert!(row("client").contains("what"), "{text}");
    assert!(row("Claude Code").contains(".mcp.json") && row("Claude Code").contains("server"), "{text}");
    assert!(row("Gemini CLI").contains("server, hooks"), "{text}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for answer in
        ["`Yes, I trust this folder`", "`Use this MCP server`", "`Trust folder`", "`hm init --allow`"]
    {
        assert!(flat.contains(answer), "{answer}: {text}");
    }
    assert!(text.trim_end().lines().last().is_some_and(|last| last.contains("hm doctor")), "{text}");
}

#[test]
fn the_rule_that_ends_the_questions_is_written_when_asked_for_and_taken_back() {
    let settings = "project/.claude/settings.json";
    let machine = Machine::new();
    let allowed = |machine: &Machine| -> Value {
        let settings: Value = serde_json::from_str(&machine.read(settings)).expect("JSON");
        settings["permissions"].clone()
    };
    machine.hm(&["init", "--clients", "claude", "--yes"]);
    assert_eq!(allowed(&machine), Value::Null, "only offered");
    let text = machine.hm(&["init", "--clients", "claude", "--allow", "--yes"]);
    assert!(text.contains("allow rule") && !text.contains("hm init --allow"), "{text}");
    assert_eq!(allowed(&machine), json!({ "allow": ["mcp__hivemind"] }));
    machine.hm(&["uninit", "--yes"]);
    assert!(!machine.project().join(".claude/settings.json").exists());
    // Rules of the user stay, and so does our rule if the user had it before.
    for theirs in
        [r#"{"permissions":{"allow":["Bash(ls)"]}}"#, r#"{"permissions":{"allow":["mcp__hivemind"]}}"#]
    {
        machine.write(settings, theirs);
        machine.hm(&["init", "--clients", "claude", "--allow", "--yes"]);
        let rules = allowed(&machine)["allow"].as_array().expect("rules").clone();
        assert_eq!(rules.iter().filter(|rule| *rule == "mcp__hivemind").count(), 1);
        let edited = machine.read(settings).replacen('{', "{\n  \"mine\": 1,", 1);
        machine.write(settings, &edited);
        machine.hm(&["uninit", "--yes"]);
        let was: Value = serde_json::from_str(theirs).expect("JSON");
        assert_eq!(allowed(&machine), was["permissions"]);
    }
    // What cannot hold a rule is left alone.
    machine.write(settings, r#"{"permissions":{"allow":"all"}}"#);
    let left = machine.run(&["init", "--clients", "claude", "--allow", "--yes"]);
    assert!(String::from_utf8_lossy(&left.stdout).contains("`permissions.allow` is no list"), "{left:?}");
    assert_eq!(machine.read(settings), r#"{"permissions":{"allow":"all"}}"#);
}

#[cfg(unix)]
#[test]
fn what_changes_while_it_asks_is_left_alone() {
    use std::io::Read;
    let machine = Machine::new();
    let (mut screen, terminal) = terminal();
    let mut command = machine.command(&["init", "--clients", "antigravity"]);
    command.stdin(terminal()).stdout(terminal()).stderr(Stdio::piped());
    let child = command.spawn().expect("hm can be run");
    let mut seen = String::new();
    while !seen.contains("change this file?") {
        let mut bytes = [0; 1_024];
        let read = screen.read(&mut bytes).expect("a screen");
        seen.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    machine.write("project/.agents/mcp_config.json", "{ \"inputs\": [] }");
    screen.write_all(b"y\n").expect("a keyboard");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(70), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("was changed in the meantime"), "{output:?}");
    assert_eq!(machine.read("project/.agents/mcp_config.json"), "{ \"inputs\": [] }");
}

#[cfg(unix)]
#[test]
fn at_a_terminal_it_asks_and_only_a_yes_writes() {
    for (answer, written) in [("\n", false), ("n\n", false), ("yeah\n", false), ("y\n", true)] {
        let machine = Machine::new();
        let (mut screen, terminal) = terminal();
        let mut command = machine.command(&["init", "--clients", "vscode"]);
        let mut child = command.stdin(terminal()).stdout(terminal()).spawn().expect("hm can be run");
        screen.write_all(answer.as_bytes()).expect("a keyboard");
        assert!(child.wait().expect("an end").success());
        for path in [".vscode/mcp.json", ".hivemind"] {
            assert_eq!(machine.project().join(path).exists(), written, "{answer:?}: {path}");
        }
    }
}

#[cfg(unix)]
#[test]
fn found_are_clients_on_the_path_in_the_home_and_in_the_project() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    let found = || {
        let answer: Value =
            serde_json::from_str(&machine.hm(&["init", "--dry-run", "--json"])).expect("JSON");
        let files = answer["files"].as_array().expect("files").clone();
        let mut names: Vec<_> =
            files.iter().map(|file| file["client"].as_str().expect("a name").to_owned()).collect();
        names.dedup();
        names.join(" ")
    };
    assert_eq!(found(), "");
    let program = machine.bin().join("opencode");
    fs::write(&program, "#!/bin/sh\n").expect("a program");
    assert_eq!(found(), "", "a file that cannot be run is no program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("permissions");
    machine.write("home/.codex/config.toml", "");
    machine.write("project/.vscode/settings.json", "{}");
    assert_eq!(found(), "codex opencode vscode");
    let unknown = machine.run(&["init", "--clients", "codex,emacs"]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
}

#[cfg(unix)]
#[test]
fn links_and_permissions_survive_and_backups_are_private() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let machine = Machine::new();
    machine.write("home/dotfiles/claude.json", "{\n  \"token\": \"x\"\n}\n");
    let real = machine.home().join("dotfiles/claude.json");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("permissions");
    symlink(&real, machine.home().join(".claude.json")).expect("a link");
    machine.hm(&["init", "--user", "--clients", "claude", "--yes"]);
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert!(fs::symlink_metadata(machine.home().join(".claude.json")).expect("a link").is_symlink());
    assert!(fs::read_to_string(&real).expect("a file").contains("hivemind"));
    assert_eq!(mode(&real), 0o640);
    let record = machine.dir.path().join("state/hivemind/init/before.json");
    assert!(fs::read_to_string(&record).expect("a record").contains("token"));
    assert_eq!((mode(&record), mode(record.parent().expect("a directory"))), (0o600, 0o700));
    machine.hm(&["uninit", "--user", "--yes"]);
    assert_eq!(machine.read("home/dotfiles/claude.json"), "{\n  \"token\": \"x\"\n}\n");
    assert!(!record.exists());
}

/// What the real clients need (`tests/clients.sh`): Claude Code's model is else told only the names of the tools, and
/// Gemini CLI compresses before each request.
#[test]
fn clients_are_asked_for_what_they_need() {
    let machine = Machine::new();
    machine.hm(&["init", "--clients", "claude,gemini,cursor", "--yes"]);
    let server = |path: &str| parsed(Path::new(path), &machine.read(path))["mcpServers"]["hivemind"].clone();
    let plain = json!({ "type": "stdio", "command": "hm", "args": ["serve"] });
    let mut loaded = plain.clone();
    loaded["alwaysLoad"] = json!(true);
    assert_eq!(server("project/.mcp.json"), loaded);
    assert_eq!(server("project/.cursor/mcp.json"), plain);
    let gemini = machine.read("project/.gemini/settings.json");
    assert!(gemini.contains("hm hook gemini") && !gemini.contains("PreCompress"), "{gemini}");
    for client in CLIENTS {
        let Some(hooks) = client.hooks().filter(|hooks| hooks.timeout < 1_000) else { continue };
        // Codex allows no more at the end of a session, and says so to its user at every start.
        assert!(hooks.timeout <= if client.name == "codex" { 3 } else { 5 }, "{}", client.name);
    }
}

/// Every way to write TOML: what is added, and that nothing of it is left.
#[test]
fn toml_keeps_its_style() {
    let places = Places::new(Path::new("/p"), &Environment::default());
    let codex = Client::named("codex").expect("a client");
    let file = &codex.files(Level::Project, &places)[0];
    let env_vars = ["HM_DIR", "HM_AGENT", "HM_SESSION", "HM_TASK", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"];
    let mut seen = String::new();
    for text in [
        "",
        "# only a comment",
        "a = 1\n\n[mcp_servers]\n\n[mcp_servers.x]\ncommand = \"x\"\n\n[z] # z\nb = 2\n# the end\n",
        "mcp_servers = { x = { command = \"x\" } } # inline\n[z]\n",
        "[mcp_servers]\nx.command = \"x\"\nx.args = [ \"a\",\n # why\n \"b\" ]\n",
        "\u{feff}model = \"o\"\r\n# c\r\n[mcp_servers.x]\r\nurl = \"x\"\r\n",
    ] {
        let added = clients::add(file, Some(text)).expect("valid TOML").expect("something to add");
        seen.push_str(&format!(
            "--- {text:?}\n{}\n",
            added.replace('\r', "<CR>").replace('\u{feff}', "<BOM>")
        ));
        assert_eq!(clients::add(file, Some(&added)), Ok(None), "{added}");
        let value = parsed(&file.path, &added);
        assert_eq!(
            value["mcp_servers"]["hivemind"],
            json!({ "command": "hm", "args": ["serve"], "env_vars": env_vars }),
            "{added}"
        );
        let left = clients::remove(file, &added, Some(text)).expect("valid TOML").expect("a text");
        assert_eq!(parsed(&file.path, &left), parsed(&file.path, text), "{added}\n->\n{left}");
        for line in text.lines().filter(|line| line.contains('#')) {
            let comment = &line[line.find('#').unwrap_or_default()..];
            assert!(
                added.contains(comment) && left.contains(comment),
                "{comment} was lost:\n{added}\n->\n{left}"
            );
        }
    }
    expect![[r##"
        --- ""
        [mcp_servers.hivemind]
        command = "hm"
        args = ["serve"]
        env_vars = ["HM_DIR", "HM_AGENT", "HM_SESSION", "HM_TASK", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"]

        --- "# only a comment"
        # only a comment

        [mcp_servers.hivemind]
        command = "hm"
        args = ["serve"]
        env_vars = ["HM_DIR", "HM_AGENT", "HM_SESSION", "HM_TASK", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"]

        --- "a = 1\n\n[mcp_servers]\n\n[mcp_servers.x]\ncommand = \"x\"\n\n[z] # z\nb = 2\n# the end\n"
        a = 1

        [mcp_servers]

        [mcp_servers.x]
        command = "x"

        [mcp_servers.hivemind]
        command = "hm"
        args = ["serve"]
        env_vars = ["HM_DIR", "HM_AGENT", "HM_SESSION", "HM_TASK", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"]

        [z] # z
        b = 2
        # the end

        --- "mcp_servers = { x = { command = \"x\" } } # inline\n[z]\n"
        mcp_servers = { x = { command = "x" } , hivemind = { command = "hm", args = ["serve"], env_vars = ["HM_DIR", "HM_AGENT", "HM_SESSION", "HM_TASK", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"] } } # inline
        [z]

        --- "[mcp_servers]\nx.command = \"x\"\nx.args = [ \"a\",\n # why\n \"b\" ]\n"
        [mcp_servers]
        x.command = "x"
        x.args = [ "a",
         # why
         "b" ]

        [mcp_servers.hivemind]
        command = "hm"
        args = ["serve"]
        env_vars = ["HM_DIR", "HM_AGENT", "HM_SESSION", "HM_TASK", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"]

        --- "\u{feff}model = \"o\"\r\n# c\r\n[mcp_servers.x]\r\nurl = \"x\"\r\n"
        <BOM>model = "o"<CR>
        # c<CR>
        [mcp_servers.x]<CR>
        url = "x"<CR>
        <CR>
        [mcp_servers.hivemind]<CR>
        command = "hm"<CR>
        args = ["serve"]<CR>
        env_vars = ["HM_DIR", "HM_AGENT", "HM_SESSION", "HM_TASK", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"]<CR>

    "##]]
    .assert_eq(&seen);
    // A comment above our table is the user's.
    let commented = "a = 1\n\n# for the team\n[mcp_servers.hivemind]\ncommand = \"hm\"\nargs = [\"serve\"]\n";
    let left = clients::remove(file, commented, None).expect("valid TOML");
    assert_eq!(left.as_deref(), Some("a = 1\n\n# for the team\n"));
    // A server in the way of ours is no table.
    let problem = clients::add(file, Some("mcp_servers = 1\n")).expect_err("no table");
    assert_eq!(problem.to_string(), "`mcp_servers` is no table");
}

#[cfg(unix)]
#[test]
fn what_a_project_links_to_elsewhere_is_left_alone() {
    use std::os::unix::fs::symlink;
    let machine = Machine::new();
    machine.write("home/.claude.json", "{}");
    machine.write("home/elsewhere/kept", "");
    symlink(machine.home().join(".claude.json"), machine.project().join(".mcp.json")).expect("a link");
    symlink(machine.home().join("elsewhere"), machine.project().join(".cursor")).expect("a link");
    let output = machine.run(&["init", "--clients", "claude,cursor", "--yes"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(machine.read("home/.claude.json"), "{}");
    assert!(!machine.home().join("elsewhere/mcp.json").exists());
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.matches("outside the project").count(), 3, "{text}");
    assert!(machine.project().join(".claude/settings.json").exists());
    machine.hm(&["uninit", "--yes"]);
}

/// What cannot be read or would be lost keeps nobody else from being configured.
#[cfg(unix)]
#[test]
fn a_link_to_nothing_and_a_directory_are_left_alone() {
    use std::os::unix::fs::symlink;
    let machine = Machine::new();
    symlink("/nonexistent/foo", machine.project().join(".mcp.json")).expect("a link");
    symlink("nowhere", machine.project().join(".codex")).expect("a link");
    fs::create_dir_all(machine.project().join(".cursor/mcp.json")).expect("a directory");
    let links =
        || [".mcp.json", ".codex"].map(|name| fs::read_link(machine.project().join(name)).expect("a link"));
    let before = links();
    let output = machine.run(&["init", "--clients", "claude,codex,cursor", "--yes"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stdout)
        .expect("text")
        .replace(&machine.project().display().to_string(), "DIR");
    let left: Vec<_> = text.lines().filter(|line| line.contains("left alone")).collect();
    expect![[r#"
        Claude Code: .mcp.json is left alone: DIR/.mcp.json is a link to a missing file
        Codex: .codex/config.toml is left alone: DIR/.codex is a link to a missing file
        Codex: .codex/hooks.json is left alone: DIR/.codex is a link to a missing file
        Cursor: .cursor/mcp.json is left alone: it cannot be read: Is a directory (os error 21)"#]]
    .assert_eq(&left.join("\n"));
    assert!(text.contains("2 of 2 files changed"), "{text}");
    machine.hm(&["uninit", "--yes"]);
    assert_eq!(links(), before);
    assert!(machine.project().join(".cursor/mcp.json").is_dir());
}

/// VS Code keeps to its own place on other systems.
#[cfg(target_os = "linux")]
#[test]
fn clients_that_were_moved_are_found_where_they_are() {
    let machine = Machine::new();
    let moved = machine.home().join("moved");
    let mut command = machine.command(&["init", "--user", "--all", "--yes"]);
    for (name, below) in
        [("CODEX_HOME", "codex"), ("CLAUDE_CONFIG_DIR", "claude"), ("XDG_CONFIG_HOME", "config")]
    {
        command.env(name, moved.join(below));
    }
    let output = command.output().expect("hm can be run");
    assert!(output.status.success(), "{output:?}");
    let files = machine.files();
    let homes: Vec<_> = files
        .keys()
        .filter(|path| path.is_file())
        .map(|path| path.strip_prefix(machine.home()).expect("below home").display().to_string())
        .collect();
    expect![[r#"
        .cline/data/settings/cline_mcp_settings.json
        .copilot/hooks/hivemind.json
        .copilot/mcp-config.json
        .cursor/hooks.json
        .cursor/mcp.json
        .gemini/config/mcp_config.json
        .gemini/settings.json
        .qwen/settings.json
        moved/claude/.claude.json
        moved/claude/settings.json
        moved/codex/config.toml
        moved/codex/hooks.json
        moved/config/Code/User/mcp.json
        moved/config/opencode/opencode.json
        moved/config/opencode/plugins/hivemind.js"#]]
    .assert_eq(&homes.join("\n"));
}

#[test]
fn the_hook_commands_are_what_they_were_in_the_first_release() {
    let commands: Vec<_> =
        CLIENTS.iter().filter_map(|client| client.hooks()).map(|hooks| hooks.command).collect();
    assert_eq!(
        commands,
        [
            "hm hook claude",
            "hm hook codex",
            "hm hook gemini",
            "hm hook opencode",
            // VS Code runs what Copilot CLI does.
            "hm hook copilot",
            "hm hook cursor",
            "hm hook copilot",
            "hm hook qwen",
        ]
    );
}

/// A file of JSON of one kind or another.
fn any_file() -> impl Strategy<Value = ConfigFile> {
    let places = Places::new(Path::new("/p"), &Environment::default());
    let files: Vec<_> = CLIENTS.iter().flat_map(|client| client.files(Level::Project, &places)).collect();
    let json: Vec<_> =
        files.into_iter().filter(|file| file.path.extension().is_some_and(|it| it == "json")).collect();
    proptest::sample::select(json)
}

/// JSON that likes the keys we write below.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z \\\\\"\u{e9}\n]{0,6}".prop_map(Value::from),
        Just(json!("hm hook claude")),
        Just(json!("hm"))
    ];
    let keys = proptest::sample::select(vec![
        "mcpServers",
        "mcp",
        "servers",
        "hooks",
        "hivemind",
        "PreToolUse",
        "Stop",
        "stop",
        "agentStop",
        "command",
        "matcher",
        "a",
        "b",
    ]);
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(keys.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

/// How it is laid out.
fn any_layout() -> impl Strategy<Value = fn(&Value) -> String> {
    let compact: fn(&Value) -> String = Value::to_string;
    let pretty: fn(&Value) -> String = |value| format!("{value:#}\n");
    let tabs: fn(&Value) -> String = |value| format!("{value:#}").replace("  ", "\t");
    let windows: fn(&Value) -> String = |value| format!("\u{feff}{value:#}\n").replace('\n', "\r\n");
    let commented: fn(&Value) -> String =
        |value| format!("// top\n{}\n/* end */", format!("{value:#}").replace(",\n", ", // c\n"));
    proptest::sample::select(vec![compact, pretty, tabs, windows, commented])
}

proptest! {
    #![proptest_config(harness::law(file!(), 256, 10_000))]

    /// Whatever the document: it is refused, or gains our entries and nothing else changes; a second time nothing
    /// does; and taken out again, the same data is left.
    #[test]
    fn any_document_gains_ours_and_loses_nothing(file in any_file(), value in any_json(), layout in any_layout()) {
        let text = layout(&value);
        if let Ok(Some(added)) = clients::add(&file, Some(&text)) {
            prop_assert_eq!(clients::add(&file, Some(&added)), Ok(None), "{}", added);
            let after = parsed(&file.path, &added);
            let taken = clients::remove(&file, &added, Some(&text)).expect("what parses").expect("a text");
            let left = parsed(&file.path, &taken);
            // What looks like ours was taken for ours, before and after.
            let expected = clients::remove(&file, &text, Some(&text)).expect("what parses").expect("a text");
            let mut expected = parsed(&file.path, &expected);
            if file.entries.iter().any(|entry| matches!(entry, Entry::Hooks(hooks) if matches!(hooks.layout, Layout::Flat { .. }))) {
                expected["version"] = after["version"].clone();
            }
            prop_assert_eq!(left, expected, "{}\n->\n{}\n->\n{}", text, added, taken);
            for line in text.lines().filter(|line| line.contains("//") || line.contains("/*")) {
                let comment = &line[line.find('/').unwrap_or_default()..];
                prop_assert!(added.contains(comment) && taken.contains(comment), "{} was lost:\n{}", comment, added);
            }
        }
    }
}
