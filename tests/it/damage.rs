//! Evidence of damage stays: nothing is appended to a ledger that lost events, nothing is sealed over missing or
//! forged checkpoints, and only the operator goes on from there.

use std::path::Path;

use serde_json::Value;

use crate::checkpoints::{forger, key_file, rechain, rewritten, sealed_shell, verified};
use crate::shell::Shell;
use crate::terminal::by_a_human;

const ACCEPT: &str = r#"hm --json --agent operator --operator-override "a test" repair --accept-loss --reason "seen, and there is no backup""#;

fn write(shell: &Shell, text: &str) -> Value {
    shell.json(&format!(r#"hm --json --agent devops claim create "{text}" --scope src"#))
}

fn remove(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
    }
}

/// Takes the last event away, and the read models, which have seen it.
fn cut(shell: &Shell) {
    let cut = "DELETE FROM payloads WHERE seq = 3; DELETE FROM events WHERE seq = 3";
    forger(&shell.workspace()).execute_batch(cut).expect("a cut");
}

/// What status, doctor and attention say of it.
fn said(shell: &Shell) -> [String; 3] {
    let status = shell.json("hm --json status");
    let doctor = shell.json("hm --json doctor");
    let ledger = doctor["checks"].as_array().and_then(|checks| {
        checks.iter().find(|check| check["about"] == "ledger" && check["verdict"] == "fault")
    });
    let attention = shell.json("hm --json attention");
    let needs = attention["needs"].as_array().expect("needs");
    let need = needs.iter().find(|need| need["ids"][0] == "ledger");
    [
        status["damage"].as_str().unwrap_or_default().to_owned(),
        ledger.and_then(|check| check["message"].as_str()).unwrap_or_default().to_owned(),
        need.and_then(|need| need["what"][0].as_str()).unwrap_or_default().to_owned(),
    ]
}

/// Fails unless every face names the damage.
fn assert_said(shell: &Shell, part: &str) {
    let (code, verify) = verified(shell);
    assert_eq!(code, Some(1), "{verify}");
    for said in said(shell) {
        assert!(said.contains(part), "{said:?}: {verify}");
    }
}

/// Fails unless nothing is wrong any more, and what was is on record.
fn assert_accepted(shell: &Shell) {
    assert_eq!(verified(shell), (Some(0), String::new()));
    let told = shell.json("hm --json verify");
    assert_eq!(told["accepted"][0]["reason"], "seen, and there is no backup", "{told}");
    assert_eq!(said(shell), ["", "", ""]);
    assert_eq!(write(shell, "all is well again")["state"], "committed");
    shell.end_writer();
    assert_eq!(verified(shell), (Some(0), String::new()));
    assert!(shell.json("hm --json verify")["checkpoints"].as_u64() > Some(0));
}

#[test]
fn a_ledger_that_lost_its_end_is_never_appended_to() {
    let shell = sealed_shell();
    cut(&shell);
    let queued = write(&shell, "it waits");
    assert_eq!(queued["state"], "queued", "{queued}");
    assert_eq!(queued["warnings"][0]["code"], "ledger_damaged", "{queued}");
    assert_eq!(shell.json("hm --json status")["ledger_seq"], 3, "the read models have seen three");
    assert_said(&shell, "the ledger ends at event 2");
    // Nothing that runs by itself, or is asked for, makes it look whole.
    let refused = shell.run("hm rebuild");
    assert!(!refused.status.success(), "{refused:?}");
    shell.end_writer();
    assert_eq!(write(&shell, "it waits too")["state"], "queued");
    assert_said(&shell, "the ledger ends at event 2");
    let read = shell.run("hm --json claim list");
    assert!(read.status.success(), "reads go on");
    let noted = String::from_utf8_lossy(&read.stderr).into_owned();
    assert!(noted.contains("the ledger ends at event 2") && noted.contains("wait in the spool"), "{noted}");

    let refused = shell.run(r#"hm --agent devops repair --accept-loss --reason "I want to go on""#);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let accepted = shell.json(ACCEPT);
    assert_eq!((&accepted["state"], accepted["seq"].as_u64()), (&"committed".into(), Some(3)), "{accepted}");
    crate::harness::wait_until("what waited is committed", || {
        shell.json("hm --json claim list")["claims"].as_array().is_some_and(|claims| claims.len() == 4)
    });
    assert_accepted(&shell);
    let told = shell.json("hm --json verify");
    assert_eq!((&told["accepted"][0]["from"], &told["accepted"][0]["to"]), (&2.into(), &3.into()), "{told}");
    let again = shell.run(ACCEPT);
    assert_eq!(again.status.code(), Some(2), "there is nothing to accept: {again:?}");
}

#[test]
fn each_witness_alone_stops_the_writer() {
    // The read models; the file of checkpoints; the checkpoint beside the key.
    for kept in 0..3 {
        let shell = sealed_shell();
        cut(&shell);
        let workspace = shell.workspace();
        if kept != 0 {
            remove(&workspace.team_memory());
        }
        if kept != 1 {
            std::fs::remove_file(workspace.checkpoints()).expect("checkpoints");
        }
        if kept != 2 {
            // That the memory is this user's is known all the same.
            std::fs::remove_dir_all(key_file(&shell).parent().expect("a directory")).expect("keys");
        }
        assert_eq!(write(&shell, "it waits")["state"], "queued", "witness {kept}");
        assert_said(&shell, "the ledger ends at event 2");
        assert!(shell.run(ACCEPT).status.success());
        assert_accepted(&shell);
    }
}

#[test]
fn a_rewritten_ledger_stays_named_after_later_writes() {
    let shell = sealed_shell();
    let workspace = shell.workspace();
    let db = forger(&workspace);
    let text: String =
        db.query_row("SELECT payload FROM payloads WHERE seq = 2", [], |row| row.get(0)).expect("a payload");
    rechain(&db, 2, &text.replace("40", "41"));
    drop(db);
    std::fs::remove_file(workspace.checkpoints()).expect("checkpoints");
    remove(&workspace.team_memory());
    for round in 0..2 {
        assert_eq!(write(&shell, &format!("a later write {round}"))["state"], "queued");
        assert_said(&shell, "this machine has sealed another event 3");
        shell.end_writer();
    }
    assert!(shell.run(ACCEPT).status.success());
    assert_accepted(&shell);
}

#[test]
fn a_ledger_made_anew_with_another_first_event_stays_named() {
    let shell = sealed_shell();
    std::fs::remove_file(shell.workspace().checkpoints()).expect("checkpoints");
    rewritten(&shell, 7);
    for round in 0..2 {
        assert_eq!(write(&shell, &format!("a later write {round}"))["state"], "committed");
        assert_said(&shell, "another ledger lay here, and 3 of its events were sealed");
        shell.end_writer();
    }
    assert!(shell.run(ACCEPT).status.success());
    assert_accepted(&shell);
    // Starting anew on purpose is said by hm init, and no damage.
    std::fs::remove_dir_all(shell.workspace().marker_dir()).expect("the memory");
    let begun = by_a_human(&shell.command("hm init --yes --clients cursor"));
    assert!(begun.status.success(), "{begun:?}");
    assert_eq!(write(&shell, "from the beginning")["state"], "committed");
    shell.end_writer();
    assert_eq!(verified(&shell), (Some(0), String::new()));
}

#[test]
fn checkpoints_that_are_gone_or_cut_are_not_sealed_over() {
    let empty = |_: &str| String::new();
    let cut = |text: &str| text.lines().next().expect("a line").to_owned() + "\n";
    for damage in [empty, cut] {
        let shell = sealed_shell();
        let path = shell.workspace().checkpoints();
        let text = std::fs::read_to_string(&path).expect("checkpoints");
        assert!(text.lines().count() > 1, "{text}");
        let left = damage(&text);
        std::fs::write(&path, &left).expect("checkpoints");
        for round in 0..2 {
            // The ledger itself is what was sealed of it, so it goes on.
            assert_eq!(write(&shell, &format!("a later write {round}"))["state"], "committed");
            shell.end_writer();
            assert_eq!(std::fs::read_to_string(&path).expect("checkpoints"), left);
            assert_said(&shell, if left.is_empty() { "are gone" } else { "were taken away" });
        }
        assert!(shell.run(ACCEPT).status.success());
        assert_accepted(&shell);
    }
}

#[test]
fn a_runtime_swapped_for_an_older_copy_is_named() {
    let shell = sealed_shell();
    let runtime = shell.workspace().memory().to_owned();
    let kept = runtime.with_extension("kept");
    let copied = std::process::Command::new("cp").arg("-a").args([&runtime, &kept]).status();
    assert!(copied.expect("cp runs").success());
    assert_eq!(write(&shell, "one more")["state"], "committed");
    shell.end_writer();
    std::fs::remove_dir_all(&runtime).expect("the new one");
    std::fs::rename(&kept, &runtime).expect("the old one");
    assert_said(&shell, "the ledger ends at event 3, and this machine has sealed event 4");
    assert_eq!(write(&shell, "it waits")["state"], "queued");
}

#[test]
fn an_older_backup_is_no_fault_and_not_written_to_by_accident() {
    let shell = sealed_shell();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let backup = dir.path().join("friday");
    let at = backup.display().to_string();
    assert!(shell.run(&format!("hm backup {at}")).status.success());
    let in_copy = |line: &str| {
        let mut words = shell.command(line);
        words.args(["--dir", &at]);
        serde_json::from_slice::<Value>(&words.output().expect("hm runs").stdout).expect("JSON")
    };
    assert_eq!(in_copy("hm --json verify")["warning"], Value::Null);
    assert_eq!(write(&shell, "one more")["state"], "committed");
    shell.end_writer();
    let told = in_copy("hm --json verify");
    assert_eq!(told["ok"], true, "{told}");
    let older = "this ledger is behind the newest sealed checkpoint of this machine (size 4): an older copy?";
    assert_eq!(told["warning"], older, "{told}");
    let fork = in_copy(r#"hm --json --agent devops claim create "a fork" --scope src"#);
    assert_eq!(fork["state"], "queued", "{fork}");
    assert_eq!(in_copy(ACCEPT)["state"], "committed");
    assert_eq!(in_copy("hm --json verify")["warning"], Value::Null);
    let copy = hivemind::workspace::Workspace::find(
        Some(&backup),
        &backup,
        &crate::shell::environment(shell.state_home()),
    );
    crate::shell::end_writer(&copy.expect("the copy"));
    // The fork is no fault of the original.
    assert_eq!(verified(&shell), (Some(0), String::new()));
    assert_eq!(write(&shell, "the original goes on")["state"], "committed");
}

#[test]
fn an_import_that_brings_back_what_is_missing_mends_it() {
    let shell = sealed_shell();
    let export = shell.workspace().root().join("export.jsonl").display().to_string();
    assert!(shell.run(&format!("hm export {export}")).status.success());
    cut(&shell);
    let older = shell.workspace().root().join("older.jsonl").display().to_string();
    assert!(shell.run(&format!("hm export {older}")).status.success());
    assert_eq!(write(&shell, "it waits")["state"], "queued");
    let refused = by_a_human(&shell.command(&format!("hm import {older}")));
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let imported = by_a_human(&shell.command(&format!("hm import {export}")));
    assert!(imported.status.success(), "{imported:?}");
    crate::harness::wait_until("what waited is committed", || {
        shell.json("hm --json claim list")["claims"].as_array().is_some_and(|claims| claims.len() == 4)
    });
    shell.end_writer();
    assert_eq!(verified(&shell), (Some(0), String::new()));
}

#[test]
fn a_ledger_that_nothing_seals_says_so() {
    let shell = Shell::without_writer();
    // Its events are old, and no writer ever sealed them.
    let long_ago = || hivemind::domain::time::Timestamp::from_ms(1);
    let sources = hivemind::system::Sources { clock: Box::new(long_ago), ..crate::harness::fixed_sources(1) };
    let open = hivemind::writer::Committer::open(&shell.workspace(), Default::default(), sources);
    let mut committer = open.expect("a new ledger");
    committer
        .commit(&[crate::harness::creation("devops", "long ago")])
        .expect("a ledger that takes commands");
    drop(committer);
    let (code, said) = verified(&shell);
    assert_eq!((code, &*said), (Some(0), "unsealed here: no checkpoint of this ledger was sealed"));
    assert_eq!(shell.json("hm --json status")["unsealed"], said);
    assert_eq!(write(&shell, "seals it")["state"], "committed");
    shell.end_writer();
    assert_eq!(verified(&shell), (Some(0), String::new()));
    assert_eq!(shell.json("hm --json status")["unsealed"], Value::Null);
}

#[test]
fn a_spool_does_not_accept_a_loss() {
    let shell = sealed_shell();
    std::fs::remove_file(shell.workspace().checkpoints()).expect("checkpoints");
    let accept = hivemind::domain::command::AcceptLoss { reason: "let it be".parse().expect("a reason") };
    let command = hivemind::domain::command::Command::AcceptLoss(accept);
    let forged = crate::harness::request("operator", command);
    hivemind::spool::Spool::of(&shell.workspace()).append(&forged).expect("a spooled line");
    assert_eq!(write(&shell, "starts the writer")["state"], "committed");
    shell.end_writer();
    assert_said(&shell, "are gone");
    assert!(key_file(&shell).exists());
}
