//! Whatever is changed in the ledger behind the writer's back is refused, or named by `verify`.

use hivemind::domain::claim::Relation;
use hivemind::domain::command::{AddEvidence, Command};
use hivemind::domain::ids::{ClaimId, TraceId};
use hivemind::ledger::Fault;
use rusqlite::types::Value;
use rusqlite::{Connection, params};

use crate::harness::{TempWorkspace, claim_of, creation, long, position, request, with_key};

/// The columns of an event, as they are hashed, and the two hashes.
const EVENT_COLUMNS: [&str; 12] = [
    "id",
    "type",
    "agent",
    "session",
    "trace_id",
    "causation_id",
    "at_ms",
    "idempotency_key",
    "min_reader",
    "payload_hash",
    "prev_hash",
    "hash",
];

/// Some thirty events: with and without key, session and trace, one and several to a batch.
fn ledger() -> TempWorkspace {
    use hivemind::domain::claim::Position::{Abstain, Challenge, Support};
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let mut group = Vec::new();
    let mut last: Option<ClaimId> = None;
    for (at, statement) in
        ["the pool holds 20", "端口是 7001", "it leaks", "retry with jitter"].into_iter().enumerate()
    {
        let mut made = with_key(creation("devops", statement), &format!("key-{at}"));
        made.trace_id = (at % 2 == 0).then(|| TraceId::recorded("4bf92f3577b34da6"));
        let id = claim_of(&made);
        if let Command::CreateClaim(create) = &mut made.command {
            create.supersedes = last;
            create.evidence_refs = last.iter().map(|last| last.creation_event().into()).collect();
        }
        group.push(made);
        for (by, stance) in [("analyst", Support), ("reviewer", Challenge), ("reviewer", Abstain)] {
            let mut taken = position(by, id, stance);
            taken.session = taken.session.filter(|_| by == "analyst");
            group.push(taken);
        }
        last = Some(id);
    }
    let id = last.expect("a claim");
    let add = AddEvidence {
        claim_id: id,
        evidence_ref: claim_of(&group[0]).creation_event().into(),
        relation: Relation::CausedBy,
        weight: 0.5.try_into().expect("a share"),
        note: None,
    };
    group.push(request("frontend", Command::AddEvidence(add)));
    for outcome in committer.commit(&group).expect("a ledger that takes commands") {
        outcome.expect("an accepted command");
    }
    assert!((30..60).contains(&committer.head().seq), "{}", committer.head().seq);
    workspace
}

/// A connection for which nothing is sacred.
fn intruder(workspace: &TempWorkspace) -> Connection {
    let db = Connection::open(workspace.ledger()).expect("the file");
    db.execute_batch(
        "PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF;
         DROP TRIGGER events_are_never_updated; DROP TRIGGER events_are_never_deleted;
         DROP TRIGGER events_are_only_appended; DROP TRIGGER payloads_are_never_updated;
         DROP TRIGGER payloads_are_never_replaced;",
    )
    .expect("the triggers can be dropped by who owns the file");
    db
}

/// What `verify` says of the ledger as it lies there.
fn fault(workspace: &TempWorkspace) -> Option<Fault> {
    workspace.ledger_reader().verify(|_| ()).expect("a readable file").fault
}

/// The seq a fault names.
fn named(fault: &Fault) -> u64 {
    match fault {
        Fault::Gap { expected: seq, .. }
        | Fault::Unlinked(seq)
        | Fault::Changed(seq)
        | Fault::PayloadChanged(seq)
        | Fault::PayloadMissing(seq) => *seq,
        Fault::PayloadOrphaned(seq) => seq.unsigned_abs(),
    }
}

/// Fails unless `verify` names exactly `seq`, in words too.
fn assert_named(workspace: &TempWorkspace, seq: u64, what: &str) {
    let fault = fault(workspace).unwrap_or_else(|| panic!("{what} at {seq} was not noticed"));
    assert_eq!(named(&fault), seq, "{what}: {fault}");
    assert!(fault.to_string().contains(&seq.to_string()), "{what}: {fault}");
}

/// A value with one byte changed: `nth` picks which. Nothing becomes something.
fn flipped(value: &Value, nth: usize) -> Value {
    let flip = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        let at = nth % bytes.len();
        // Not the lowest bit: ids count, and a neighbour's would be refused as taken.
        bytes[at] ^= 0x40;
        bytes
    };
    match value {
        Value::Null => Value::Text("x".to_owned()),
        Value::Integer(number) => Value::Integer(number ^ (1 << (8 * (nth % 8)))),
        Value::Text(text) => {
            let bytes = flip(text.as_bytes());
            // A changed byte of a longer character is no text any more; it is stored as the bytes it is.
            String::from_utf8(bytes).map_or_else(|error| Value::Blob(error.into_bytes()), Value::Text)
        }
        Value::Blob(bytes) => Value::Blob(flip(bytes)),
        Value::Real(_) => panic!("no column holds a real number"),
    }
}

fn width(value: &Value) -> usize {
    match value {
        Value::Null => 1,
        Value::Integer(_) | Value::Real(_) => 8,
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
    }
}

#[test]
fn any_flipped_byte_of_any_column_is_named_at_its_own_seq() {
    let workspace = ledger();
    let db = intruder(&workspace);
    let events = workspace.events().len() as u64;
    let columns = EVENT_COLUMNS.map(|column| ("events", column)).into_iter();
    for (table, column) in columns.chain([("payloads", "salt"), ("payloads", "payload")]) {
        for seq in 1..=events {
            let original: Value = db
                .query_row(&format!("SELECT {column} FROM {table} WHERE seq = ?1"), [seq as i64], |row| {
                    row.get(0)
                })
                .expect("a row");
            let is_text = !matches!(original, Value::Integer(_) | Value::Blob(_));
            let stored = if is_text { "CAST(?1 AS TEXT)" } else { "?1" };
            let set = |value: &Value| {
                let sql = format!("UPDATE {table} SET {column} = {stored} WHERE seq = ?2");
                let changed = db.execute(&sql, params![value, seq as i64]).expect("an update");
                assert_eq!(changed, 1, "{table}.{column} of {seq}: {value:?}");
            };
            let bytes = width(&original);
            // A different byte in each row; the long run takes every byte of every row.
            for nth in if long() { 0..bytes } else { seq as usize % bytes..seq as usize % bytes + 1 } {
                set(&flipped(&original, nth));
                assert_named(&workspace, seq, &format!("byte {nth} of {table}.{column}"));
            }
            set(&original);
        }
    }
    assert_eq!(fault(&workspace), None, "everything was put back");
}

#[test]
fn an_erased_value_is_named() {
    let workspace = ledger();
    let db = intruder(&workspace);
    db.execute_batch("UPDATE events SET idempotency_key = NULL WHERE seq = 1").expect("an update");
    assert_named(&workspace, 1, "an erased key");
}

#[test]
fn a_value_of_another_type_is_named() {
    let workspace = ledger();
    let db = intruder(&workspace);
    let without = "SELECT seq FROM events WHERE session IS NULL ORDER BY seq LIMIT 1";
    let seq: i64 = db.query_row(without, [], |row| row.get(0)).expect("an event without session");
    // Columns without a type take anything, so that nothing stands in the forger's way but the hash.
    db.execute_batch(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(replace(replace(replace(replace(sql, ') STRICT', ')'),
           'TEXT', ''), 'BLOB', ''), 'INTEGER NOT NULL', ''), 'NOT NULL', '')
           WHERE name IN ('events', 'payloads');
         PRAGMA writable_schema = RESET;",
    )
    .expect("a schema that takes anything");
    drop(db);
    assert_eq!(fault(&workspace), None, "the rows are as they were");
    let db = Connection::open(workspace.ledger()).expect("the file");
    let forged = |table: &str, column: &str, seq: i64, value: &str| {
        let original: Value = db
            .query_row(&format!("SELECT {column} FROM {table} WHERE seq = {seq}"), [], |row| row.get(0))
            .expect("a row");
        db.execute(&format!("UPDATE {table} SET {column} = {value} WHERE seq = {seq}"), [])
            .expect("an update");
        assert_named(&workspace, seq as u64, &format!("{table}.{column} = {value}"));
        db.execute(&format!("UPDATE {table} SET {column} = ?1 WHERE seq = {seq}"), [original])
            .expect("an update");
    };
    forged("events", "session", seq, "1.5");
    forged("events", "session", seq, "0");
    forged("events", "session", seq, "''");
    forged("events", "agent", 3, "CAST(agent AS BLOB)");
    forged("events", "prev_hash", 3, "CAST(prev_hash AS TEXT)");
    forged("events", "hash", 3, "CAST(hash AS TEXT)");
    forged("events", "payload_hash", 3, "CAST(payload_hash AS TEXT)");
    forged("payloads", "payload", 3, "CAST(payload AS BLOB)");
    forged("payloads", "salt", 3, "CAST(salt AS TEXT)");
    assert_eq!(fault(&workspace), None, "everything was put back");
}

#[test]
fn a_missing_moved_or_swapped_row_is_named() {
    let missing = "event 7 is missing: the next one is 8";
    let cases = [
        ("DELETE FROM payloads WHERE seq = 7", "the payload of event 7 is missing and no event explains it"),
        ("DELETE FROM events WHERE seq = 7", missing),
        ("DELETE FROM events WHERE seq = 7; DELETE FROM payloads WHERE seq = 7", missing),
        ("DELETE FROM events WHERE seq = 1", "event 1 is missing: the next one is 2"),
        // The last event, its payload left behind; without it, only a checkpoint can tell.
        ("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)", "payload LAST belongs to no event"),
        ("UPDATE events SET seq = seq + 1048576 WHERE seq = 7", missing),
        ("UPDATE events SET seq = 0 WHERE seq = 7", "event 1 is missing: the next one is 0"),
        (
            "UPDATE events SET seq = -1 WHERE seq = 7; UPDATE events SET seq = 7 WHERE seq = 9;
             UPDATE events SET seq = 9 WHERE seq = -1",
            "event 7 does not follow the one before it: prev_hash differs",
        ),
        (
            "UPDATE payloads SET seq = -1 WHERE seq = 7; UPDATE payloads SET seq = 7 WHERE seq = 9;
             UPDATE payloads SET seq = 9 WHERE seq = -1",
            "the payload of event 7 was changed: its hash differs",
        ),
    ];
    for (change, said) in cases {
        let workspace = ledger();
        let last = workspace.events().len().to_string();
        intruder(&workspace).execute_batch(change).expect("a change");
        let fault = fault(&workspace).map(|fault| fault.to_string());
        assert_eq!(fault, Some(said.replace("LAST", &last)), "{change}");
    }
}

#[test]
fn a_foreign_payload_is_named() {
    let workspace = ledger();
    let orphan = workspace.events().len() as u64 + 1;
    let add = "INSERT INTO payloads (seq, salt, payload) VALUES (?1, x'00', '{}')";
    intruder(&workspace).execute(add, [orphan as i64]).expect("an insert");
    assert_named(&workspace, orphan, "a payload without an event");
}

#[test]
fn a_plain_connection_cannot_change_an_event() {
    let workspace = ledger();
    let before = crate::harness::dump(&workspace.ledger());
    let db = Connection::open(workspace.ledger()).expect("the file");
    let columns = format!("seq, {}", EVENT_COLUMNS.join(", "));
    // A copy of event 5 with one thing replaced, so that it stumbles over that thing alone.
    let copy = |insert: &str, seq: &str, id: &str, key: &str| {
        let values = columns.replacen("seq", seq, 1).replacen(" id,", &format!(" {id},"), 1).replacen(
            "idempotency_key",
            key,
            1,
        );
        format!("{insert} INTO events ({columns}) SELECT {values} FROM events WHERE seq = 1")
    };
    let next = "(SELECT max(seq) + 1 FROM events)";
    let mut attempts = vec![
        "DELETE FROM events WHERE seq = 5".to_owned(),
        "DELETE FROM events".to_owned(),
        "UPDATE events SET agent = 'mallory' WHERE seq = 5".to_owned(),
        "UPDATE OR REPLACE events SET seq = 5 WHERE seq = 6".to_owned(),
        "UPDATE payloads SET payload = '{}' WHERE seq = 5".to_owned(),
        "INSERT OR REPLACE INTO payloads (seq, salt, payload) VALUES (5, x'00', '{}')".to_owned(),
    ];
    for insert in ["INSERT", "INSERT OR REPLACE", "REPLACE", "INSERT OR IGNORE"] {
        attempts.push(copy(insert, "5", "'new'", "'new'"));
        attempts.push(copy(insert, next, "id", "'new'"));
        attempts.push(copy(insert, next, "'new'", "idempotency_key"));
        attempts.push(copy(insert, "NULL", "'new'", "'new'"));
        attempts.push(copy(insert, "-1", "'new'", "'new'"));
    }
    attempts.push(
        copy("INSERT", "5", "'new'", "'new'") + " AND true ON CONFLICT DO UPDATE SET agent = 'mallory'",
    );
    for attempt in attempts {
        let error = db.execute_batch(&attempt).expect_err(&attempt).to_string();
        assert!(error.contains("immutable") || error.contains("only appended"), "{attempt}: {error}");
    }
    assert_eq!(crate::harness::dump(&workspace.ledger()), before);
    // The copy itself is well formed: with fresh names it is only the next event, and a false one.
    db.execute_batch(&copy("INSERT", next, "'new'", "'new'")).expect("an insert");
    assert!(fault(&workspace).is_some(), "a forged event at the end");
}
