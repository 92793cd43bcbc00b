//! Checkpoints: sealed as the ledger grows, and `hm verify` names what a chain alone does not notice.

use std::path::PathBuf;

use hivemind::ledger::{Key, Sealed, Tree};
use hivemind::workspace::Workspace;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::harness::{HM, TempWorkspace, block_on, committed, creation, fixed_sources, wait_until};
use crate::shell::Shell;

/// A shell whose ledger has three events and a checkpoint at each of the last two; no writer runs.
pub(crate) fn sealed_shell() -> Shell {
    let shell = Shell::new();
    for line in [
        r#"hm --agent devops claim create "the pool holds 20" --scope src/db"#,
        r#"hm --agent qa claim create "the pool holds 40" --scope src/ui"#,
    ] {
        assert!(shell.run(line).status.success(), "{line}");
    }
    shell.end_writer();
    assert!(shell.run(r#"hm --agent ana claim create "it leaks" --scope src"#).status.success());
    shell.end_writer();
    shell
}

fn lines(workspace: &Workspace) -> Vec<Sealed> {
    let text = std::fs::read_to_string(workspace.checkpoints()).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a sealed line")).collect()
}

fn write(workspace: &Workspace, lines: &[Sealed]) {
    let text: String =
        lines.iter().map(|line| serde_json::to_string(line).expect("plain data") + "\n").collect();
    std::fs::write(workspace.checkpoints(), text).expect("checkpoints can be written");
}

pub(crate) fn key_file(shell: &Shell) -> PathBuf {
    let found: Vec<PathBuf> = std::fs::read_dir(shell.state_home().join("hivemind"))
        .expect("a directory of keys")
        .map(|entry| entry.expect("an entry").path().join("key"))
        .filter(|key| key.exists())
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

/// A connection that no trigger stops.
pub(crate) fn forger(workspace: &Workspace) -> rusqlite::Connection {
    let db = rusqlite::Connection::open(workspace.ledger()).expect("the ledger");
    for trigger in crate::harness::strings(&db, "SELECT name FROM sqlite_schema WHERE type = 'trigger'") {
        db.execute_batch(&format!("DROP TRIGGER {trigger}")).expect("a forger has the file");
    }
    db
}

/// What verify says: whether it held, and its fault and warning.
pub(crate) fn verified(shell: &Shell) -> (Option<i32>, String) {
    let output = shell.run("hm --json verify");
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
    (output.status.code(), text("fault") + &text("warning"))
}

#[test]
fn an_idle_writer_seals_and_a_leaving_one_too() {
    let shell = sealed_shell();
    let sizes: Vec<u64> = lines(&shell.workspace()).iter().map(|line| line.checkpoint.size).collect();
    assert!(sizes.ends_with(&[2, 3]), "sealed at shutdown: {sizes:?}");
    assert_eq!(verified(&shell), (Some(0), String::new()));

    assert!(shell.run(r#"hm --agent ana claim create "it is idle" --scope src"#).status.success());
    wait_until("an idle writer seals", || lines(&shell.workspace()).iter().any(|l| l.checkpoint.size == 4));
    let told = shell.json("hm --json verify");
    assert_eq!(
        (told["ok"].as_bool(), told["checkpoints"].as_u64()),
        (Some(true), Some(sizes.len() as u64 + 1))
    );
}

#[test]
fn a_line_says_what_the_ledger_was() {
    let shell = sealed_shell();
    let workspace = shell.workspace();
    let events: Vec<[u8; 32]> = {
        let reader =
            hivemind::ledger::Reader::open(&workspace.ledger()).expect("readable").expect("a ledger");
        reader.hashes_after(0, 10).expect("hashes")
    };
    let last = lines(&workspace).pop().expect("a checkpoint");
    assert_eq!(last.checkpoint.size, 3);
    assert_eq!(last.checkpoint.head_hash, hex::encode(events[2]));
    assert_eq!(last.checkpoint.origin.as_str(), Some(&hex::encode(events[0])[..32]));
    // RFC 6962, written out for three leaves.
    let leaf = |hash: &[u8]| Sha256::digest([&[0], hash].concat());
    let node = |left: &[u8], right: &[u8]| Sha256::digest([&[1], left, right].concat());
    let root = node(&node(&leaf(&events[0]), &leaf(&events[1])), &leaf(&events[2]));
    assert_eq!(last.checkpoint.merkle_root, hex::encode(root));
    let mut tree = Tree::default();
    events.iter().for_each(|hash| tree.push(*hash));
    assert_eq!(hex::encode(tree.root()), hex::encode(root));
}

#[cfg(unix)]
#[test]
fn the_key_is_its_owners_alone_and_lies_elsewhere() {
    use std::os::unix::fs::PermissionsExt;
    let shell = sealed_shell();
    let mode = |path: PathBuf| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(key_file(&shell)), 0o600);
    assert_eq!(mode(shell.workspace().checkpoints()), 0o600);
    let origin = lines(&shell.workspace())[0].checkpoint.origin.clone();
    assert_eq!(key_file(&shell).parent().and_then(|dir| dir.file_name()?.to_str()), origin.as_str());
}

#[test]
fn a_cut_off_tail_is_named() {
    let shell = sealed_shell();
    let workspace = shell.workspace();
    let cut = "DELETE FROM payloads WHERE seq = 3; DELETE FROM events WHERE seq = 3";
    forger(&workspace).execute_batch(cut).expect("a cut");
    // Whoever cuts the ledger drops the read models too.
    std::fs::remove_file(workspace.team_memory()).expect("read models");
    let at = lines(&workspace).len();
    let said = format!("the ledger ends at event 2, and checkpoint {at} has seen event 3");
    assert_eq!(verified(&shell), (Some(1), said));
}

/// A ledger made anew by our own code, so that every hash of it is right.
pub(crate) fn rewritten(shell: &Shell, seed: u64) {
    let workspace = shell.workspace();
    for path in [workspace.ledger(), workspace.team_memory()] {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
        }
    }
    // The forger works where no checkpoint contradicts: our own code would append nothing.
    let aside = workspace.checkpoints().with_extension("aside");
    let had_checkpoints = std::fs::rename(workspace.checkpoints(), &aside).is_ok();
    let open = hivemind::writer::Committer::open(&workspace, Default::default(), fixed_sources(seed));
    let mut committer = open.expect("a new ledger");
    let group: Vec<_> = ["one", "two", "three", "four"].map(|text| creation("devops", text)).into();
    committer.commit(&group).expect("a ledger that takes commands");
    if had_checkpoints {
        std::fs::rename(aside, workspace.checkpoints()).expect("checkpoints");
    }
}

#[test]
fn a_full_rewrite_is_named_whatever_the_forger_does() {
    let shell = sealed_shell();
    let workspace = shell.workspace();
    let genuine = lines(&workspace);
    rewritten(&shell, 1);
    let another = "checkpoint 1 is of a ledger with another first event: this one was made anew";
    assert_eq!(verified(&shell), (Some(1), another.to_owned()));

    // A forger who keeps the first event gets further: not past what the second checkpoint has seen.
    let shell = sealed_shell();
    let workspace = shell.workspace();
    let first: Sealed = genuine[0].clone();
    let db = forger(&workspace);
    let text: String =
        db.query_row("SELECT payload FROM payloads WHERE seq = 2", [], |row| row.get(0)).expect("a payload");
    rechain(&db, 2, &text.replace("40", "41"));
    drop(db);
    let (code, said) = verified(&shell);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.ends_with("the ledger was rewritten"), "{said}");

    // Nor does it help to drop the checkpoints, or to write others: the key is not there to be had.
    std::fs::remove_file(workspace.checkpoints()).expect("checkpoints");
    let (code, said) = verified(&shell);
    assert_eq!((code, said.contains("are gone")), (Some(1), true), "{said}");
    let mut forged = first.checkpoint.clone();
    let reader = hivemind::ledger::Reader::open(&workspace.ledger()).expect("readable").expect("a ledger");
    let hashes = reader.hashes_after(0, 10).expect("hashes");
    let mut tree = Tree::default();
    hashes.iter().for_each(|hash| tree.push(*hash));
    forged.size = 3;
    forged.origin = hivemind::ledger::Origin::of(&hashes[0]);
    forged.head_hash = hex::encode(hashes[2]);
    forged.merkle_root = hex::encode(tree.root());
    write(&workspace, &[forged.seal(&Key::new([7; 32]))]);
    let changed = "checkpoint 1 was changed, or sealed on another machine: its hmac differs";
    assert_eq!(verified(&shell), (Some(1), changed.to_owned()));
}

/// Replaces a payload and makes every hash from there on right again, as one who knows the format can.
pub(crate) fn rechain(db: &rusqlite::Connection, from: i64, payload: &str) {
    use hmac::{Hmac, KeyInit, Mac};
    use rusqlite::types::ValueRef;
    db.execute("UPDATE payloads SET payload = ?1 WHERE seq = ?2", (payload, from)).expect("an update");
    let last: i64 = db.query_row("SELECT max(seq) FROM events", [], |row| row.get(0)).expect("a ledger");
    for seq in from..=last {
        let (salt, text): (Vec<u8>, String) = db
            .query_row("SELECT salt, payload FROM payloads WHERE seq = ?1", [seq], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .expect("a payload");
        let mut mac = Hmac::<Sha256>::new_from_slice(&salt).expect("any length");
        mac.update(text.as_bytes());
        let sealed = mac.finalize().into_bytes().to_vec();
        db.execute("UPDATE events SET payload_hash = ?1 WHERE seq = ?2", (sealed, seq)).expect("an update");
        let prev: Vec<u8> = db
            .query_row("SELECT hash FROM events WHERE seq = ?1 - 1", [seq], |row| row.get(0))
            .expect("the one before");
        let columns = "seq, id, type, agent, session, trace_id, causation_id, at_ms, idempotency_key, \
                       min_reader, payload_hash";
        let hash = db
            .query_row(&format!("SELECT {columns} FROM events WHERE seq = ?1"), [seq], |row| {
                let mut hasher = Sha256::new();
                let mut absorb = |tag: u8, bytes: &[u8]| {
                    hasher.update([tag]);
                    hasher.update((bytes.len() as u64).to_le_bytes());
                    hasher.update(bytes);
                };
                absorb(3, &prev);
                for at in 0..11 {
                    match row.get_ref(at)? {
                        ValueRef::Null => absorb(0, &[]),
                        ValueRef::Integer(number) => absorb(1, &number.to_le_bytes()),
                        ValueRef::Text(bytes) => absorb(2, bytes),
                        ValueRef::Blob(bytes) => absorb(3, bytes),
                        ValueRef::Real(_) => panic!("no column holds a real number"),
                    }
                }
                Ok(hasher.finalize().to_vec())
            })
            .expect("an event");
        db.execute("UPDATE events SET prev_hash = ?1, hash = ?2 WHERE seq = ?3", (prev, hash, seq))
            .expect("an update");
    }
}

#[test]
fn a_changed_line_is_named() {
    let shell = sealed_shell();
    let workspace = shell.workspace();
    let genuine = lines(&workspace);
    let at = genuine.len();
    let changed = format!("checkpoint {at} was changed, or sealed on another machine: its hmac differs");
    let mut seal = genuine.clone();
    let flipped = if seal[at - 1].hmac.starts_with('0') { "1" } else { "0" };
    seal[at - 1].hmac.replace_range(..1, flipped);
    let mut root = genuine.clone();
    root[at - 1].checkpoint.merkle_root = "00".repeat(32);
    let mut size = genuine.clone();
    size[at - 1].checkpoint.size = 1;
    let mut short = genuine.clone();
    short[at - 1].hmac = String::new();
    for forged in [seal, root, size, short] {
        write(&workspace, &forged);
        assert_eq!(verified(&shell), (Some(1), changed.clone()), "{forged:?}");
    }
    let text = std::fs::read_to_string(workspace.checkpoints()).expect("checkpoints");
    std::fs::write(workspace.checkpoints(), format!("no line\n{text}")).expect("checkpoints");
    assert!(verified(&shell).1.starts_with("checkpoint 1 is none"), "{:?}", verified(&shell));
    // A last line that is none may be a power cut's doing, but what was sealed here is still known.
    std::fs::write(workspace.checkpoints(), "no line\n").expect("checkpoints");
    assert!(verified(&shell).1.contains("are gone"), "{:?}", verified(&shell));
    write(&workspace, &genuine);
    assert_eq!(verified(&shell), (Some(0), String::new()));
}

#[test]
fn a_copy_without_the_key_says_that_it_is_unsealed_until_the_operator_seals_it_anew() {
    let shell = sealed_shell();
    std::fs::remove_file(key_file(&shell)).expect("the key");
    let (code, said) = verified(&shell);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("unsealed here: this machine has no key"), "{said}");
    assert!(String::from_utf8_lossy(&shell.run("hm verify").stdout).contains("\nwarning: unsealed here"));
    // A write does not hide it.
    assert!(shell.run(r#"hm --agent ana claim create "on another machine" --scope src"#).status.success());
    shell.end_writer();
    assert!(verified(&shell).1.starts_with("unsealed here"), "{:?}", verified(&shell));
    let status = shell.json("hm --json status");
    assert!(status["unsealed"].as_str().is_some_and(|why| why.starts_with("unsealed here")), "{status}");
    let accept = r#"hm --agent operator repair --accept-loss --reason "moved to this machine""#;
    assert!(shell.run(accept).status.success());
    assert_eq!(verified(&shell), (Some(0), String::new()));
    shell.end_writer();
    let sizes: Vec<u64> = lines(&shell.workspace()).iter().map(|line| line.checkpoint.size).collect();
    assert_eq!(sizes, [5], "{sizes:?}");
    assert!(shell.workspace().checkpoints().with_extension("accepted-5").exists());
}

#[test]
fn half_a_line_at_the_end_is_no_checkpoint() {
    let shell = sealed_shell();
    let path = shell.workspace().checkpoints();
    let whole = std::fs::read_to_string(&path).expect("checkpoints");
    // Half a line; one whose first sectors never arrived; one that lost a sector in its middle.
    let zeros = "\0".repeat(60);
    let last = whole.lines().last().expect("a line");
    for (at, torn) in [
        last[..40].to_owned(),
        format!("{zeros}{}\n", &last[60..]),
        format!("{}{zeros}{}\n", &last[..60], &last[120..]),
        "\0".repeat(512),
    ]
    .iter()
    .enumerate()
    {
        let whole = std::fs::read_to_string(&path).expect("checkpoints");
        std::fs::write(&path, whole.clone() + torn).expect("checkpoints");
        let (code, said) = verified(&shell);
        assert_eq!(code, Some(0), "{torn:?}: {said}");
        assert!(said.contains("not written whole") && !said.contains("changed"), "{said}");
        let more = format!(r#"hm --agent ana claim create "one more {at}" --scope src"#);
        assert!(shell.run(&more).status.success());
        shell.end_writer();
        let now = std::fs::read_to_string(&path).expect("checkpoints");
        assert!(now.starts_with(&whole) && now.len() > whole.len() && !now.contains('\0'), "{now}");
        assert_eq!(verified(&shell), (Some(0), String::new()));
    }
}

#[test]
fn a_directory_that_moves_keeps_its_key() {
    let before = TempWorkspace::new();
    let writer = before.writer(&[]);
    let receipt = block_on(committed(&before.front(), &creation("devops", "here")));
    receipt.expect("a receipt");
    before.end_writer();
    drop(writer);
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let moved = elsewhere.path().join("moved");
    std::fs::rename(before.root(), &moved).expect("a move");
    let verify = std::process::Command::new(HM).args(["--json", "verify", "--dir"]).arg(&moved).output();
    let told: Value = serde_json::from_slice(&verify.expect("hm runs").stdout).expect("JSON");
    assert_eq!((&told["ok"], &told["warning"]), (&Value::Bool(true), &Value::Null), "{told}");
    assert!(told["checkpoints"].as_u64() > Some(0), "{told}");
}
