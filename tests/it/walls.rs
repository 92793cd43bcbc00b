//! The walls of the house: each outside technology has one home.

use std::fs;
use std::path::{Path, PathBuf};

/// What may be named only below certain paths, and where.
const WALLS: &[(&str, &[&str])] = &[
    (
        "rusqlite",
        &["src/sqlite.rs", "src/sqlite/", "src/ledger.rs", "src/ledger/", "src/store.rs", "src/store/"],
    ),
    ("refinery", &["src/sqlite/migrate.rs", "src/ledger/append.rs", "src/store/fold.rs"]),
    ("rmcp", &["src/mcp.rs", "src/mcp/"]),
    ("axum", &["src/mcp/http.rs", "src/mcp/http/", "src/web.rs", "src/web/"]),
    ("maud", &["src/web.rs", "src/web/"]),
    ("ratatui", &["src/watch.rs", "src/watch/"]),
    ("ureq", &["src/meanings/endpoint.rs"]),
    ("subtle", &["src/tokens.rs"]),
    ("clap", &["src/cli.rs", "src/cli/"]),
    ("pulldown_cmark", &["src/domain/notes.rs"]),
    ("frostem", &["src/domain/tokens.rs"]),
    ("textwrap", &["src/cli/output.rs"]),
    ("interprocess", &["src/writer/"]),
    ("portable_pty", &["src/runner/spawn.rs"]),
    ("unsafe ", &["src/runner/spawn.rs"]),
    ("globset", &["src/runner/profile/file.rs", "src/domain/coverage.rs", "src/domain/scope/"]),
    ("jsonc_parser", &["src/clients/"]),
    ("toml_edit", &["src/clients/"]),
    ("which::", &["src/clients.rs", "src/runner/absent.rs"]),
    ("SystemTime", &["src/system.rs"]),
    ("Instant::now", &["src/system.rs"]),
    ("now_v7", &["src/system.rs"]),
    ("getrandom", &["src/system.rs"]),
    ("env::var", &["src/system.rs"]),
];

/// What the rules may not reach: they are pure.
const FORBIDDEN_IN_DOMAIN: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "tokio",
    "crate::ledger",
    "crate::store",
    "crate::system",
];

/// The floors of the house, the ground floor first. A top module names modules of lower floors only.
const FLOORS: &[&[&str]] = &[
    &["domain", "private"],
    &["sqlite", "steps"],
    &["imports", "ledger", "pack", "schedule", "system", "trusted", "versions"],
    &["checkpoints", "runner", "store"],
    &["hooks"],
    &["config"],
    &["workspace"],
    &[
        "client_session",
        "clients",
        "integrity",
        "meanings",
        "mirror",
        "session_home",
        "session_news",
        "spool",
        "standing",
    ],
    &["identity", "reads"],
    &["tokens", "writer"],
    &["views"],
    &["acting", "facts", "mcp"],
    &["doctor", "watch", "web"],
    &["cli"],
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a readable source tree") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Code lines only: a comment may name anything.
fn code(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_technology_has_one_home() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    assert!(files.len() > 20, "the source tree was not found");
    let mut broken = Vec::new();
    for file in files {
        let name = file.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
        let code = code(&fs::read_to_string(&file).expect("a readable source"));
        for (word, homes) in WALLS {
            if code.contains(word) && !homes.iter().any(|home| name.starts_with(home)) {
                broken.push(format!("{name} names {word}, which lives in {homes:?}"));
            }
        }
        if name.starts_with("src/domain") {
            for word in FORBIDDEN_IN_DOMAIN {
                if code.contains(word) {
                    broken.push(format!("{name} names {word}: the rules are pure"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The top modules that a source names with `crate::`, in a list of a `use` too.
fn named(code: &str) -> Vec<String> {
    let word =
        |text: &str| text.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect::<String>();
    let names = code.split("crate::").skip(1).flat_map(|after| match after.strip_prefix('{') {
        Some(list) => {
            list.split('}').next().unwrap_or_default().split(',').map(|item| word(item.trim())).collect()
        }
        None => vec![word(after)],
    });
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn no_module_names_one_of_its_own_floor_or_above() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let floor = |module: &str| FLOORS.iter().position(|floor| floor.contains(&module));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    let mut broken = Vec::new();
    for file in files {
        let name = file.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
        let module = name.strip_prefix("src/").expect("a source").split(['/', '.']).next().expect("a name");
        if ["lib", "main"].contains(&module) {
            continue;
        }
        let Some(own) = floor(module) else {
            broken.push(format!("{name} is on no floor: add `{module}` to FLOORS"));
            continue;
        };
        // Tests may look at anything.
        let code = code(&fs::read_to_string(&file).expect("a readable source"));
        let code = code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for used in named(code).iter().filter(|used| *used != module) {
            if floor(used).is_some_and(|used| used >= own) {
                broken.push(format!("{name} names {used}, which is not below {module}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_file_says_what_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    sources(&root.join("tests"), &mut files);
    let silent: Vec<_> = files
        .iter()
        .filter(|file| !fs::read_to_string(file).expect("a readable source").starts_with("//! "))
        .collect();
    assert!(silent.is_empty(), "these files do not open with a //! sentence: {silent:?}");
}

#[test]
fn a_tool_file_is_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mcp/tools");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let long: Vec<_> = files
        .iter()
        .filter(|file| fs::read_to_string(file).expect("a readable source").lines().count() > 100)
        .collect();
    assert!(long.is_empty(), "a tool file is a schema and one call, 100 lines at most: {long:?}");
}
