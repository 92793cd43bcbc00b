//! What was released stays readable: an event of every type decodes, and no released migration is edited.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use hivemind::domain::event::Event;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    payload: &'a RawValue,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn fixtures(name: &str) -> String {
    fs::read_to_string(root().join("tests/fixtures").join(name)).expect("a committed fixture")
}

fn canonical(event: &Event) -> String {
    serde_json_canonicalizer::to_string(&event.to_body()).expect("plain data")
}

#[test]
fn every_event_type_decodes_and_encodes_to_the_same_bytes() {
    let text = fixtures("events.jsonl");
    let mut kinds = BTreeSet::new();
    for line in text.lines() {
        let Line { kind, payload } = serde_json::from_str(line).expect("type and payload");
        let event = Event::decode(&kind, payload.get()).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(event.kind(), kind);
        assert_eq!(canonical(&event), payload.get(), "a released event changed its form");

        // The first event of a batch says what its command was, and a later release may say more.
        let mut newer: serde_json::Value = serde_json::from_str(payload.get()).expect("JSON");
        newer["command_hash"] = "00".repeat(32).into();
        newer["of_a_later_release"] = serde_json::json!({ "at": [1, 2] });
        let read = Event::decode(&kind, &newer.to_string()).expect("unknown fields are ignored");
        assert_eq!(read, event);
        kinds.insert(kind);
    }
    let all: BTreeSet<String> = Event::KINDS.iter().map(|kind| (*kind).to_owned()).collect();
    assert_eq!(kinds, all, "tests/fixtures/events.jsonl has one line at least for each type of event");
}

#[test]
fn released_migrations_are_never_edited() {
    let listed = fixtures("migrations.sha256");
    let listed: BTreeMap<&str, &str> =
        listed.lines().filter_map(|line| line.split_once("  ").map(|(hash, name)| (name, hash))).collect();
    let mut found = BTreeSet::new();
    let mut problems = Vec::new();
    for path in files(&root().join("migrations")) {
        let name = path.strip_prefix(root()).expect("below the root").to_string_lossy().replace('\\', "/");
        let hash = hex::encode(Sha256::digest(fs::read(&path).expect("a readable migration")));
        match listed.get(name.as_str()) {
            Some(released) if **released == hash => {}
            Some(_) => problems.push(format!(
                "{name} was edited: databases out there ran it as it was; restore it and add a new migration \
                 instead"
            )),
            None => problems.push(format!(
                "{name} is new: add this line to tests/fixtures/migrations.sha256\n{hash}  {name}"
            )),
        }
        found.insert(name);
    }
    let gone = listed.keys().filter(|name| !found.contains(**name));
    problems.extend(gone.map(|name| {
        format!("{name} is gone: databases out there ran it; restore it and add a new migration instead")
    }));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(!found.is_empty(), "the migrations were not found");
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    let (dirs, mut found): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    found.extend(dirs.iter().flat_map(|dir| files(dir)));
    found
}
