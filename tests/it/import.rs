//! `hm import`: an export comes back event for event, or is refused at its first wrong line.

use std::path::{Path, PathBuf};

use hivemind::domain::claim::Position;
use serde_json::Value;

use crate::harness::{TempWorkspace, claim_of, creation, dump, position, with_key};
use crate::shell::Shell;

/// A ledger of some events of several kinds, and its export.
fn exported(claims: usize) -> (TempWorkspace, String) {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(3);
    let mut group = Vec::new();
    for nth in 0..claims {
        let made = with_key(creation("devops", &format!("fact {nth} \"端口\"\u{7}")), &format!("key-{nth}"));
        group.push(position("analyst", claim_of(&made), Position::Support));
        group.insert(group.len() - 1, made);
    }
    for outcome in committer.commit(&group).expect("a ledger that takes commands") {
        outcome.expect("an accepted command");
    }
    let events = workspace.events();
    let mut text = String::new();
    for event in &events {
        text.push_str(&hivemind::ledger::export_line(event).expect("JSON"));
        text.push('\n');
    }
    let head = events.last().expect("events").cursor();
    let trailer = serde_json::to_string(&hivemind::ledger::ExportTrailer::at(head)).expect("plain data");
    text.push_str(&trailer);
    text.push('\n');
    (workspace, text)
}

fn file(shell: &Shell, name: &str, text: &str) -> PathBuf {
    let path = shell.workspace().root().join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

/// Imports a text: exit code, what it said.
fn import(shell: &Shell, text: &str) -> (Option<i32>, Value) {
    file(shell, "in.jsonl", text);
    let output = shell.run("hm --json import in.jsonl");
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
}

/// The first so many lines, with the trailer that belongs below them.
fn prefix(text: &str, events: usize) -> String {
    let mut lines: Vec<String> = text.lines().take(events).map(str::to_owned).collect();
    let last: Value = serde_json::from_str(&lines[events - 1]).expect("JSON");
    lines.push(serde_json::json!({ "count": events, "head_hash": last["hash"] }).to_string());
    lines.join("\n") + "\n"
}

fn same(one: &Path, other: &Path) {
    assert!(dump(one) == dump(other), "{} is not {}", one.display(), other.display());
}

#[test]
fn what_was_exported_comes_back_the_same() {
    let (origin, text) = exported(40);
    let shell = Shell::new();
    let events = origin.events().len() as u64;
    let (code, told) = import(&shell, &text);
    assert_eq!((code, &told["added"], &told["present"]), (Some(0), &events.into(), &0.into()), "{told}");
    assert_eq!(String::from_utf8(shell.run("hm export").stdout).expect("text"), text);
    same(&shell.workspace().ledger(), &origin.ledger());
    same(&shell.workspace().team_memory(), &origin.team_memory());
    let log = std::fs::metadata(shell.workspace().ledger().with_extension("sqlite-wal"));
    assert_eq!(log.expect("a log that stays").len(), 0, "the log of one long transaction was cut");
    // Whatever the machine's key: with the first event comes the ledger's name.
    let verified = shell.json("hm --json verify");
    assert_eq!((&verified["ok"], verified["checkpoints"].as_u64()), (&true.into(), Some(1)), "{verified}");

    let (code, told) = import(&shell, &text);
    assert_eq!((code, &told["added"], &told["present"]), (Some(0), &0.into(), &events.into()), "{told}");

    // The writer goes on from there, and knows what it imported.
    let made = shell.json(r#"hm --json --agent devops claim create "one more" --scope src"#);
    assert_eq!(made["seq"].as_u64(), Some(events + 1), "{made}");
    shell.end_writer();
    let rebuilt = dump(&shell.workspace().team_memory());
    assert!(shell.run("hm rebuild").status.success());
    shell.end_writer();
    assert!(dump(&shell.workspace().team_memory()) == rebuilt, "imported read models are a rebuild's");
}

#[test]
fn one_may_be_a_prefix_of_the_other() {
    let (origin, text) = exported(10);
    let events = origin.events().len();
    let shell = Shell::new();
    assert_eq!(import(&shell, &prefix(&text, 7)).0, Some(0));
    let (_, told) = import(&shell, &text);
    assert_eq!((told["added"].as_u64(), told["present"].as_u64()), (Some(events as u64 - 7), Some(7)));
    let (_, told) = import(&shell, &prefix(&text, 5));
    assert_eq!((told["added"].as_u64(), told["present"].as_u64()), (Some(0), Some(5)));
    same(&shell.workspace().ledger(), &origin.ledger());
    same(&shell.workspace().team_memory(), &origin.team_memory());
}

#[test]
fn another_history_is_refused() {
    let (_, text) = exported(3);
    let shell = Shell::new();
    assert!(shell.run(r#"hm --agent devops claim create "ours" --scope src"#).status.success());
    let before = shell.run("hm export").stdout;
    let (code, told) = import(&shell, &text);
    assert_eq!((code, told["code"].as_str()), (Some(1), Some("diverged")), "{told}");
    assert_eq!(shell.run("hm export").stdout, before);

    // Also when only the end differs.
    let shell = Shell::new();
    assert_eq!(import(&shell, &prefix(&text, 4)).0, Some(0));
    assert!(shell.run(r#"hm --agent devops claim create "ours" --scope src"#).status.success());
    let (code, told) = import(&shell, &text);
    assert_eq!((code, told["code"].as_str()), (Some(1), Some("diverged")), "{told}");
    assert!(told["message"].as_str().is_some_and(|said| said.contains("another event 5")), "{told}");
}

#[test]
fn a_file_that_does_not_verify_is_refused_at_its_line() {
    let (_, text) = exported(3);
    let lines: Vec<&str> = text.lines().collect();
    let count = lines.len();
    let shell = Shell::new();
    let refused = |text: &str, at: usize, what: &str| {
        let (code, told) = import(&shell, text);
        let said = told["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!(code, Some(2), "{what}: {told}");
        assert!(said.contains(&format!(": line {at} ")), "{what}: {said}");
        assert_eq!(shell.json("hm --json verify")["events"], 0, "{what}: something was written");
    };
    let with = |at: usize, line: &str| {
        let mut changed = lines.clone();
        changed[at - 1] = line;
        changed.join("\n") + "\n"
    };
    // Every column of one line, one after the other.
    let event: Value = serde_json::from_str(lines[3]).expect("JSON");
    for name in event.as_object().expect("an object").keys() {
        let mut forged = event.clone();
        forged[name] = match &event[name] {
            Value::Number(number) => (number.as_i64().expect("whole") + 1).into(),
            Value::String(text) if text.starts_with('1') => text.replacen('1', "2", 1).into(),
            Value::String(text) => format!("1{}", &text[1..]).into(),
            Value::Null => "x".into(),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => "no longer".into(),
        };
        refused(&with(4, &forged.to_string()), 4, name);
        if !event[name].is_null() {
            forged[name] = Value::Null;
            refused(&with(4, &forged.to_string()), 4, name);
        }
    }
    let mut swapped = lines.clone();
    swapped.swap(1, 2);
    refused(&(swapped.join("\n") + "\n"), 2, "two lines swapped");
    refused(&lines[1..].join("\n"), 1, "no first line");
    refused(&lines[..count - 1].join("\n"), count, "no trailer");
    refused(&text.replace("\"count\":", "\"count\":1"), count, "another count");
    let trailer = format!(r#"{{"count":{},"head_hash":"{}"}}"#, count - 1, "00".repeat(32));
    refused(&with(count, &trailer), count, "another head");
    refused(&(text.clone() + "\n"), count + 1, "more after the end");
    refused("", 1, "an empty file");
    refused(&format!("{}\n", "x".repeat(1 << 20)), 1, "one endless line");
    let newer = lines[0].replace("claim.created", "claim.dreamt");
    refused(&with(1, &newer), 1, "an event nobody knows");
    assert_eq!(import(&shell, &text).0, Some(0), "and the file itself is taken");
}
