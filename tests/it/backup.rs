//! `hm backup`: one state of the memory, whole and sound, whatever is written meanwhile.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};

use expect_test::expect;
use hivemind::ledger::{Cursor, Reader};
use serde_json::Value;

use crate::harness::{HM, TempWorkspace, at, block_on, committed, creation, dump, wait_until};
use crate::shell::Shell;

fn hm(words: &[&str], workspace: &std::path::Path) -> Output {
    Command::new(HM).args(words).arg("--dir").arg(workspace).output().expect("hm runs")
}

#[test]
fn a_backup_taken_under_load_is_sound_and_a_prefix() {
    let workspace = TempWorkspace::new();
    let _writer = workspace.writer(&[]);
    let front = workspace.front();
    block_on(committed(&front, &creation("devops", "before the load"))).expect("a receipt");
    let (stop, written) = (AtomicBool::new(false), std::sync::atomic::AtomicU64::new(0));
    let kept = tempfile::tempdir().expect("a temporary directory");
    let heads = std::thread::scope(|threads| {
        threads.spawn(|| {
            block_on(async {
                while !stop.load(Ordering::Relaxed) {
                    let text = format!("claim {}", written.fetch_add(1, Ordering::Relaxed));
                    committed(&front, &creation("devops", &text)).await.expect("a receipt");
                }
            });
        });
        let mut heads = Vec::new();
        for round in 0..5 {
            let before = written.load(Ordering::Relaxed);
            wait_until("the load goes on", || written.load(Ordering::Relaxed) > before + 20);
            let to = kept.path().join(format!("copy-{round}"));
            let done = hm(&["--json", "backup", to.to_str().expect("a path")], workspace.root());
            if !done.status.success() {
                stop.store(true, Ordering::Relaxed);
            }
            assert!(done.status.success(), "{done:?}");
            let told: Value = serde_json::from_slice(&done.stdout).expect("JSON");
            heads.push((to, told["events"].as_u64().expect("a count")));
        }
        stop.store(true, Ordering::Relaxed);
        heads
    });
    workspace.end_writer();
    let events = workspace.events();
    for (to, seq) in heads {
        let verified = hm(&["--json", "verify"], &to);
        assert!(verified.status.success(), "{verified:?}");
        let copy = at(&to);
        let copied = Reader::open(&copy.ledger()).expect("readable").expect("a ledger");
        let copied = copied.read_from(Cursor::GENESIS, usize::MAX >> 1).expect("events");
        assert_eq!(copied.len() as u64, seq);
        assert!(copied[..] == events[..copied.len()], "the copy is another history");
        // A writer that opens the copy brings its read models to the head, and they are what a rebuild makes.
        drop(hivemind::writer::Committer::open(&copy, Default::default(), crate::harness::fixed_sources(9)));
        let live = dump(&copy.team_memory());
        let ledger = hivemind::ledger::Ledger::open(&copy.ledger()).expect("the ledger");
        let fresh = to.join("rebuilt.sqlite");
        let rebuilt = hivemind::store::Projection::open(&fresh).expect("new read models");
        { rebuilt }.rebuild(&ledger, |_| ()).expect("a rebuild");
        assert!(live == dump(&fresh), "the copied read models are not what a rebuild makes");
    }
}

/// Red before: nothing said that a backup holds what an export leaves out.
#[test]
fn a_backup_says_that_it_holds_what_users_keep_for_themselves() {
    let shell = Shell::new();
    let of = |user: &str, line: &str| {
        let output = shell.command(line).env("HM_USER", user).output().expect("hm runs");
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    of("ann", "hm --agent devops anchor save PORT 7001");
    assert!(!of("ann", "hm backup without").contains("space of their own"));
    for user in ["ann", "bob"] {
        of(user, &format!("hm --agent devops anchor save EDITOR helix-of-{user} --space user"));
    }
    let told = of("ann", "hm backup with");
    assert!(told.contains("it holds what 2 users keep in a space of their own"), "{told}");
    let dir = shell.workspace().root().join("with").display().to_string();
    let theirs = of("bob", &format!("hm anchor list --dir {dir}"));
    assert!(theirs.contains("helix-of-bob") && !theirs.contains("helix-of-ann"), "{theirs}");
    assert!(!of("bob", "hm export").contains("helix-of-ann"));
}

#[test]
fn a_backup_is_a_workspace_and_replaces_nothing() {
    let mut shell = Shell::new();
    shell.check(
        &[
            r#"hm --agent devops claim create "the pool holds 20" --scope src/db"#,
            "hm backup no/such/place/copy",
            "hm backup copy",
            "hm backup copy",
            "hm backup .",
            "hm verify --dir copy",
            "hm claim list --dir copy",
        ],
        expect![[r#"
            $ hm --agent devops claim create "the pool holds 20" --scope src/db
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm backup no/such/place/copy
            backed up 1 events to no/such/place/copy, head HASH
            its chain and every page were checked
            $ hm backup copy
            backed up 1 events to copy, head HASH
            its chain and every page were checked
            $ hm backup copy
            hm: copy is not empty: name a directory that does not exist yet
            [exit 2]
            $ hm backup .
            hm: . is not empty: name a directory that does not exist yet
            [exit 2]
            $ hm verify --dir copy
            ok: 1 events, head HASH
            $ hm claim list --dir copy
            C1 the pool holds 20 (proposed, by devops)
        "#]],
    );
    assert!(!shell.workspace().root().join("copy.partial").exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let runtime = shell.workspace().root().join("copy/.hivemind/runtime");
        for entry in std::fs::read_dir(runtime).expect("a directory").flatten() {
            let mode = entry.metadata().expect("a file").permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{}", entry.path().display());
        }
    }
    let config =
        |root: &str| std::fs::read(shell.workspace().root().join(root).join(".hivemind/config.toml"));
    assert_eq!(config("copy").expect("a copy"), config("").expect("the original"));
}

#[test]
fn a_damaged_ledger_is_not_backed_up() {
    let shell = Shell::new();
    let made = shell.run(r#"hm --agent devops claim create "the pool holds 20" --scope src/db"#);
    assert!(made.status.success(), "{made:?}");
    shell.end_writer();
    let db = rusqlite::Connection::open(shell.workspace().ledger()).expect("the ledger");
    db.execute_batch("DROP TRIGGER payloads_are_never_updated; UPDATE payloads SET payload = '{}'")
        .expect("a forger has the file");
    let refused = shell.run("hm backup copy");
    assert_eq!(refused.status.code(), Some(70), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("the payload of event 1 was changed"), "{said}");
    assert!(!shell.workspace().root().join("copy").exists());
    assert!(!shell.workspace().root().join("copy.partial").exists());
}
