//! The command line, as transcripts of the real binary in a real workspace.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;
use std::time::Duration;

use expect_test::expect;
use serde_json::Value;

use crate::schedule::all_ran;
use crate::shell::Shell;
use crate::terminal::on_screen;

const POOL: &str = r#"hm --agent devops claim create "the pool holds 20 connections" --scope src/db/pool.rs"#;

#[test]
fn words_that_are_no_text_are_a_mistake_and_no_crash() {
    let shell = Shell::new();
    for line in [&[b"\xff" as &[u8]] as &[&[u8]], &[b"\xff", b"status"], &[b"claim", b"show", b"\xff"]] {
        let mut command = shell.command("hm");
        let output = command.args(line.iter().map(|word| OsStr::from_bytes(word))).output();
        let output = output.expect("hm can be run");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("error: ") && !said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_claim_lives_and_ends() {
    let mut shell = Shell::new();
    all_ran(&shell.workspace());
    shell.check(
        &[
            POOL,
            r#"hm --agent ops claim create "retries go through the pool" --type decision --scope src/db --scope tag:retry --confidence 0.8"#,
            "hm --agent qa claim support C1",
            r#"hm --agent ana claim challenge C1 --reason "the limit is 50 since v2" --evidence C2"#,
            "hm --agent qa claim evidence C1 --ref C2 --relation contradicts --weight 0.5 --note \"see the retries\"",
            "hm claim show C1",
            "hm --agent ana claim abstain C1",
            "hm claim list",
            r#"hm --agent arch claim deprecate C1 --reason "the pool is gone""#,
            "hm claim list --all",
            "hm claim list --status deprecated,contested",
            "hm --agent devops status",
        ],
        expect![[r#"
            $ hm --agent devops claim create "the pool holds 20 connections" --scope src/db/pool.rs
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm --agent ops claim create "retries go through the pool" --type decision --scope src/db --scope tag:retry --confidence 0.8
            claim created C2: committed at seq 2
            $ hm --agent qa claim support C1
            supported C1: committed at seq 4
            next: confirmed: agreed by reviewer
            $ hm --agent ana claim challenge C1 --reason "the limit is 50 since v2" --evidence C2
            challenged C1: committed at seq 7
            next: settled when devops deprecates it, or every challenger supports or abstains
            $ hm --agent qa claim evidence C1 --ref C2 --relation contradicts --weight 0.5 --note "see the retries"
            evidence added to C1: committed at seq 9
            evidence C2: stays asserted: no hook saw it and no run made it
            $ hm claim show C1
            # contested fact `C1`

            > the pool holds 20 connections

            - by devops AGE ago; about src/db/pool.rs; asserted; confidence 0.90 (its owner said 1.00)

            ## Positions

            - analyst challenge: the limit is 50 since v2 (event `C2`)
            - reviewer support

            ## Evidence

            - event `C2` contradicts (asserted, weight 0.50, by reviewer): see the retries

            ## Contradictions

            - explicit (open): `C2` of devops retries go through the pool
            $ hm --agent ana claim abstain C1
            abstained C1: committed at seq 12
            next: the challenge by analyst is over; the claim is confirmed
            $ hm claim list
            C2 retries go through the pool (decision, proposed, by devops)
            C1 the pool holds 20 connections (confirmed, agreed, by devops, abstention by analyst AGE ago)
            $ hm --agent arch claim deprecate C1 --reason "the pool is gone"
            deprecated C1: committed at seq 14
            $ hm claim list --all
            C2 retries go through the pool (decision, proposed, by devops)
            C1 the pool holds 20 connections (deprecated, by devops, deprecated by architect AGE ago)
            $ hm claim list --status deprecated,contested
            C1 the pool holds 20 connections (deprecated, by devops, deprecated by architect AGE ago)
            $ hm --agent devops status
            workspace: DIR
            ledger:    14 events by 4 agents in .hivemind/runtime
            claims:    0 confirmed, 1 proposed, 0 contested, 0 awaiting proof, 1 deprecated, 0 dead ends
            spool:     empty
            writer:    running
            kept:      14 events since TIME; to prune: hm forget --help
            hivemind: you are devops
        "#]],
    );
}

#[test]
fn a_dead_end_warns_and_a_successor_takes_over() {
    let mut shell = Shell::new();
    shell.check(
        &[
            r#"hm --agent ops claim create "vendoring openssl breaks musl" --type negative --scope src/tls --trigger-path ./src//tls --trigger-command "cargo vendor" --trigger-symbol openssl::init --trigger-error "cannot find -lssl""#,
            r#"hm --agent ana claim create "tls is static without openssl" --type hypothesis --scope src/tls/mod.rs --ttl-hours 24"#,
            r#"hm --agent ana claim create "tls is dynamic" --scope src/tls/mod.rs --supersedes C2 --evidence C1"#,
            "hm claim show C1",
            "hm claim show C2",
        ],
        expect![[r#"
            $ hm --agent ops claim create "vendoring openssl breaks musl" --type negative --scope src/tls --trigger-path ./src//tls --trigger-command "cargo vendor" --trigger-symbol openssl::init --trigger-error "cannot find -lssl"
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm --agent ana claim create "tls is static without openssl" --type hypothesis --scope src/tls/mod.rs --ttl-hours 24
            claim created C2: committed at seq 3
            warning: a failed approach is on record here: "vendoring openssl breaks musl" (`hm claim show C1`)
            next: confirmed once another agent supports it
            $ hm --agent ana claim create "tls is dynamic" --scope src/tls/mod.rs --supersedes C2 --evidence C1
            claim created C3: committed at seq 7
            evidence C1: stays asserted: no hook saw it and no run made it
            $ hm claim show C1
            # proposed negative `C1`

            > vendoring openssl breaks musl

            - by devops AGE ago; about src/tls; no evidence
            - warns when: {"paths":["src/tls"],"commands":["cargo vendor"],"symbols":["openssl::init"],
                "error_signature":"cannot find -lssl"}
            $ hm claim show C2
            # replaced hypothesis `C2`

            > tls is static without openssl

            - by analyst AGE ago; about src/tls/mod.rs; no evidence
            - superseded by: C3

            ## History

            - #7 deprecated by analyst AGE ago: superseded by C3
        "#]],
    );
}

#[test]
fn refusals_say_what_to_do_and_set_the_exit_code() {
    let mut shell = Shell::new();
    let unknown = "0190b2c4-7d1e-7c3a-9f00-000000000000";
    shell.check(
        &[
            POOL,
            POOL,
            r#"hm --agent ops claim challenge C1 --reason "not so""#,
            "hm --agent ana claim challenge C1",
            r#"hm --agent ana claim deprecate C1 --reason "not mine""#,
            "hm --agent grok claim support C1",
            "hm --agent system claim support C1",
            "hm claim support C1",
            &format!("hm --agent ana claim support {unknown}"),
            &format!("hm claim show {unknown}"),
            &format!("hm --agent ana claim evidence C1 --ref {unknown} --relation supports"),
            "hm --agent ana claim evidence C1 --ref C1 --relation proves",
            "hm --agent ana claim evidence C1 --ref C1 --relation supports",
            "hm --agent ana claim support 12",
            "hm --agent ana claim create x --scope ../outside",
            "hm --agent ana claim create x --scope /etc/passwd",
            r#"hm --agent ana claim create " " --scope src"#,
            "hm --agent ana claim create x --scope src --type rumour",
            "hm --agent ana claim create x --scope src --confidence 1.5",
            "hm --agent ana claim create x --scope src --ttl-hours 0",
            "hm --agent ana claim create x --scope src --trigger-path src",
            "hm claim list --owner grok",
            "hm claim list --status done",
            "hm claim list --limit 0",
            "hm --agent grok --json claim support C1",
            "hm --json claim support C1",
        ],
        expect![[r#"
            $ hm --agent devops claim create "the pool holds 20 connections" --scope src/db/pool.rs
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm --agent devops claim create "the pool holds 20 connections" --scope src/db/pool.rs
            hm: the same statement about the same scopes is already claim C1; nothing to do: it is yours and on record
            [exit 1]
            $ hm --agent ops claim challenge C1 --reason "not so"
            hm: claim C1 is your own, so you cannot challenge it; `hm claim deprecate C1 --reason 'WHY, IN A SENTENCE'`, or `hm claim create STATEMENT --type fact --scope src/db/pool.rs --supersedes C1`
            [exit 1]
            $ hm --agent ana claim challenge C1
            hm: a challenge says why; correct `reason` and run it again
            [exit 2]
            $ hm --agent ana claim deprecate C1 --reason "not mine"
            hm: claim C1 belongs to devops; if it holds no longer, say what does, and the support of another agent puts that in its place: `hm claim create STATEMENT --type fact --scope src/db/pool.rs --supersedes C1`; if it was never true: `hm claim challenge C1 --reason 'WHY, IN A SENTENCE'`; or ask devops or the architect to end it
            [exit 1]
            $ hm --agent grok claim support C1
            hm: no agent is called `grok`; the roster is: architect, devops, analyst, frontend, reviewer, operator; use a name of the roster, or add one under [agents] in .hivemind/config.toml
            [exit 2]
            $ hm --agent system claim support C1
            hm: `system` is the writer's own name; pin the agent this pane is
            [exit 1]
            $ hm claim support C1
            hm: nobody says who is speaking; pass --agent NAME or set HM_AGENT; without either a human at a terminal is the operator, and in the shell of a client the agent of its session speaks
            [exit 2]
            $ hm --agent ana claim support ID1
            hm: no claim has the id ID1; take the id from a receipt or from `hm claim list`
            [exit 1]
            $ hm claim show ID1
            hm: no claim has the id ID1; `hm claim list` shows all
            [exit 1]
            $ hm --agent ana claim evidence C1 --ref ID1 --relation supports
            hm: no event in the ledger has the id ID1; the nearest ids are C1; `hm log` lists them all
            [exit 1]
            $ hm --agent ana claim evidence C1 --ref C1 --relation proves
            hm: `proves` is no relation: use one of supports, contradicts, caused_by, mentions; correct `relation` and run it again
            [exit 2]
            $ hm --agent ana claim evidence C1 --ref C1 --relation supports
            hm: a claim is no evidence for itself; correct `evidence_ref` and run it again
            [exit 2]
            $ hm --agent ana claim support 12
            hm: no claim is called `12`; `hm claim list` shows all
            [exit 1]
            $ hm --agent ana claim create x --scope ../outside
            hm: scope `../outside` leaves the workspace: give a path relative to the workspace root; correct `scope` and run it again
            [exit 2]
            $ hm --agent ana claim create x --scope /etc/passwd
            hm: scope `/etc/passwd` leaves the workspace: give a path relative to the workspace root; correct `scope` and run it again
            [exit 2]
            $ hm --agent ana claim create " " --scope src
            hm: statement is empty: say something in 1 to 2000 characters; correct `statement` and run it again
            [exit 2]
            $ hm --agent ana claim create x --scope src --type rumour
            hm: `rumour` is no claim type: use one of fact, decision, hypothesis, negative; correct `type` and run it again
            [exit 2]
            $ hm --agent ana claim create x --scope src --confidence 1.5
            hm: 1.5 is outside 0 to 1; correct `confidence` and run it again
            [exit 2]
            $ hm --agent ana claim create x --scope src --ttl-hours 0
            hm: a claim lives for at least 1 hour; correct `ttl_hours` and run it again
            [exit 2]
            $ hm --agent ana claim create x --scope src --trigger-path src
            hm: only a negative claim warns, this one is a fact; correct `trigger` and run it again
            [exit 2]
            $ hm claim list --owner grok
            hm: no agent is called `grok`; the roster is: architect, devops, analyst, frontend, reviewer, operator; correct `owner` and run it again
            [exit 2]
            $ hm claim list --status done
            hm: `done` is no status: use one of proposed, confirmed, contested, pending_proof, deprecated; correct `status` and run it again
            [exit 2]
            $ hm claim list --limit 0
            error: invalid value '0' for '--limit <N>': 0 is not in 1..=500

            For more information, try '--help'.
            [exit 2]
            $ hm --agent grok --json claim support C1
            {"code":"unknown_agent","hint":"use a name of the roster, or add one under [agents] in .hivemind/config.toml","message":"no agent is called `grok`; the roster is: architect, devops, analyst, frontend, reviewer, operator"}
            [exit 2]
            $ hm --json claim support C1
            {"code":"agent_required","hint":"pass --agent NAME or set HM_AGENT; without either a human at a terminal is the operator, and in the shell of a client the agent of its session speaks","message":"nobody says who is speaking"}
            [exit 2]
        "#]],
    );
    assert_eq!(shell.json("hm --json status")["ledger_seq"], 1);
}

#[test]
fn the_same_key_is_the_same_request() {
    let mut shell = Shell::new();
    let keyed = |statement: &str, agent: &str| {
        format!(r#"hm --agent {agent} claim create "{statement}" --scope src --key release-7"#)
    };
    shell.check(
        &[
            &keyed("tests need a network", "ops"),
            &keyed("tests need a network", "ops"),
            &keyed("tests need no network", "ops"),
            &keyed("tests need a disk", "ana"),
        ],
        expect![[r#"
            $ hm --agent ops claim create "tests need a network" --scope src --key release-7
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm --agent ops claim create "tests need a network" --scope src --key release-7
            claim created C1: committed at seq 1 (the same request as before)
            $ hm --agent ops claim create "tests need no network" --scope src --key release-7
            hm: the idempotency key `release-7` was used for another command; use a fresh key for a new command; repeat a key only to retry the same one
            [exit 1]
            $ hm --agent ana claim create "tests need a disk" --scope src --key release-7
            claim created C2: committed at seq 2
            note: devops claimed here AGE ago: "tests need a network" (C1)
            next: confirmed once another agent supports it
        "#]],
    );
}

#[test]
fn a_list_is_read_page_by_page() {
    let mut shell = Shell::new();
    for (agent, scope) in
        [("ops", "src/a"), ("ops", "src/b"), ("ana", "src/a/x"), ("qa", "docs"), ("qa", "src")]
    {
        let made = shell.run(&format!(r#"hm --agent {agent} claim create "about {scope}" --scope {scope}"#));
        assert!(made.status.success(), "{made:?}");
    }
    shell.check(
        &[
            "hm claim list --limit 2",
            "hm claim list --limit 2 --cursor 4",
            "hm claim list --limit 2 --cursor 2",
            "hm claim list --scope src/a",
            "hm claim list --owner infra --type fact",
            "hm claim list --type negative",
            "hm claim list --session nobody",
        ],
        expect![[r#"
            $ hm claim list --limit 2
            C5 about src (proposed, by reviewer)
            C4 about docs (proposed, by reviewer)
            more: the same with --cursor 4
            $ hm claim list --limit 2 --cursor 4
            C3 about src/a/x (proposed, by analyst)
            C2 about src/b (proposed, by devops)
            more: the same with --cursor 2
            $ hm claim list --limit 2 --cursor 2
            C1 about src/a (proposed, by devops)
            $ hm claim list --scope src/a
            open (3):
            C5 about src (proposed, by reviewer)
            C3 about src/a/x (proposed, by analyst)
            C1 about src/a (proposed, by devops)
            $ hm claim list --owner infra --type fact
            C2 about src/b (proposed, by devops)
            C1 about src/a (proposed, by devops)
            $ hm claim list --type negative
            no claims match
            $ hm claim list --session nobody
            no claims match
        "#]],
    );
    let page = shell.json("hm --json claim list --limit 2 --since 1970-01-01");
    assert_eq!((page["claims"].as_array().map(Vec::len), page["next"].as_u64()), (Some(2), Some(4)));
    assert_eq!(page["claims"][0]["statement"], "about src");
    assert_eq!(shell.json("hm --json claim list --since 99999999999999")["claims"], serde_json::json!([]));
}

#[test]
fn a_row_fits_the_width_whatever_it_holds() {
    let shell = Shell::new();
    let long = "wide ".repeat(100);
    let config = format!("[agents]\nroster = [\"{}\"]\n", "a".repeat(40));
    std::fs::write(shell.workspace().config(), config).expect("a configuration");
    let agent = "a".repeat(40);
    let made =
        shell.run(&format!(r#"hm --agent {agent} claim create "{long}" --type hypothesis --scope src"#));
    assert!(made.status.success(), "{made:?}");
    let (_, list) = on_screen(&shell.command("hm claim list"), "");
    assert!(list.lines().all(|line| line.chars().count() <= 100), "{list}");
    assert!(list.starts_with("C1 wide wide") && list.lines().count() <= 5, "{list}");
    assert!((40..=48).contains(&list.matches("wide").count()), "240 characters are its statement's: {list}");
    // In a pipe it is one line, and one command shows what is cut.
    let piped = String::from_utf8(shell.run("hm claim list").stdout).expect("text");
    assert!(piped.ends_with(")\nwhole: `hm claim show C1`\n") && !piped.contains("  "), "{piped}");
    assert_eq!(piped.lines().count(), 2, "{piped}");
    // Programs and `grep` look for words anywhere in it.
    let piped = String::from_utf8(shell.run("hm claim list --whole").stdout).expect("text");
    assert_eq!(piped.matches("wide").count(), 100, "{piped}");
}

/// The keys of an object, or of the first entry of its first list.
fn keys(value: &Value) -> String {
    let object = value.as_object().expect("an object");
    let inner = object.values().find_map(|value| value.as_array()?.first()?.as_object());
    let names =
        |object: &serde_json::Map<String, Value>| object.keys().cloned().collect::<Vec<_>>().join(" ");
    let inner = inner.map_or_else(String::new, |inner| format!(" [{}]", names(inner)));
    format!("{}{inner}\n", names(object))
}

#[test]
fn programs_get_json() {
    let mut shell = Shell::new();
    let mut shapes = String::new();
    let _ = shell.transcript(POOL);
    for line in [
        r#"hm --json --agent ops claim create "x" --scope src --key k"#,
        "hm --json claim show C1",
        "hm --json claim list",
        "hm --json --agent qa claim support C1",
        "hm --json --agent ops status",
        "hm --json log",
        "hm --json verify",
        "hm --json rebuild",
        "hm --json export ledger.jsonl",
        "hm --json --agent ops claim support 12",
    ] {
        shapes.push_str(&format!("{line}: {}", keys(&shell.json(line))));
    }
    expect![[r#"
        hm --json --agent ops claim create "x" --scope src --key k: claim_id command_id duplicate entity_id name seq state warnings
        hm --json claim show C1: challenges confidence created_at created_seq effective_confidence evidence evidence_items grade history id name owner positions reproduced scopes seq session stale statement status supports touched_at type versions [at by seq to]
        hm --json claim list: claims [challenges confidence created_at created_seq effective_confidence evidence grade id name owner reproduced scopes seq stale statement status supports touched_at type]
        hm --json --agent qa claim support C1: claim_id command_id duplicate entity_id name next seq state warnings
        hm --json --agent ops status: agent agents_seen banner by_status denials folded_seq jobs kept ledger_seq memory negative not_chosen rejected remarks rules spooled to_review waiting_for_newer workspace writer_is_up
        hm --json log: events [agent at causation_id hash id payload seq session type]
        hm --json verify: absent_runs accepted artifacts checkpoints erased events fault head_hash ok warning
        hm --json rebuild: folded_seq
        hm --json export ledger.jsonl: count file head_hash
        hm --json --agent ops claim support 12: code hint message
    "#]].assert_eq(&shapes);
}

#[test]
fn the_log_lists_and_filters() {
    let mut shell = Shell::new();
    shell.check(
        &[
            "hm log",
            POOL,
            "hm --agent qa claim support C1",
            "hm log",
            "hm log --limit 1",
            "hm log --after 1 --limit 1",
            "hm log --type claim.created",
            "hm log --agent-is review --after 2",
            "hm log --agent-is grok",
        ],
        expect![[r#"
            $ hm log
            No events match.
            $ hm --agent devops claim create "the pool holds 20 connections" --scope src/db/pool.rs
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm --agent qa claim support C1
            supported C1: committed at seq 3
            next: confirmed: agreed by reviewer
            $ hm log
            - `#1` claim.created by devops at TIME: {"claim_id":"C1","claim_type":"fact","confidence":1,"scopes":["src/db/pool.rs"],"statement":"the pool h…
            - `#2` position.taken by reviewer at TIME: {"claim_id":"C1","position":"support"}
            - `#3` claim.status_changed by reviewer at TIME: {"claim_id":"C1","from":"proposed","reason":"supported by reviewer","to":"confirmed"}
            $ hm log --limit 1
            - `#3` claim.status_changed by reviewer at TIME: {"claim_id":"C1","from":"proposed","reason":"supported by reviewer","to":"confirmed"}
            more: 2 events before #3: the same with --limit 2, or with --after 0 from the first one on
            $ hm log --after 1 --limit 1
            - `#2` position.taken by reviewer at TIME: {"claim_id":"C1","position":"support"}
            more: the same with --after 2
            $ hm log --type claim.created
            - `#1` claim.created by devops at TIME: {"claim_id":"C1","claim_type":"fact",
                "confidence":1,"scopes":["src/db/pool.rs"],"statement":"the pool holds 20 connections"}
            $ hm log --agent-is review --after 2
            - `#3` claim.status_changed by reviewer at TIME: {"claim_id":"C1","from":"proposed","reason":"supported by reviewer","to":"confirmed"}
            $ hm log --agent-is grok
            hm: no agent is called `grok`; the roster is: architect, devops, analyst, frontend, reviewer, operator; correct `agent-is` and run it again
            [exit 2]
        "#]],
    );
}

#[test]
fn the_log_follows() {
    let shell = Shell::new();
    let first = shell.run(POOL);
    assert!(first.status.success(), "{first:?}");
    let mut following = shell
        .command("hm --json log --follow --type claim.created")
        .stdout(Stdio::piped())
        .spawn()
        .expect("hm can be run");
    let out = BufReader::new(following.stdout.take().expect("a piped stdout"));
    let (lines, received) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                break;
            }
        }
    });
    let next_seq = || {
        let line = received.recv_timeout(Duration::from_secs(20)).expect("an event in time");
        serde_json::from_str::<Value>(&line).expect("JSON lines")["seq"].as_u64()
    };
    let listed = next_seq();
    let support = shell.json("hm --json claim list")["claims"][0]["id"].clone();
    for line in [
        format!("hm --agent qa claim support {}", support.as_str().expect("an id")),
        r#"hm --agent qa claim create "a second one" --scope src"#.to_owned(),
    ] {
        let done = shell.run(&line);
        assert!(done.status.success(), "{done:?}");
    }
    let followed = next_seq();
    following.kill().expect("it still follows");
    following.wait().expect("it ends");
    // The support and the confirmation between the two are of other types.
    assert_eq!((listed, followed), (Some(1), Some(4)));
}

/// A connection to the ledger that no trigger stops: whoever has the file can do so.
fn forger(shell: &Shell) -> rusqlite::Connection {
    let db = rusqlite::Connection::open(shell.workspace().ledger()).expect("the ledger");
    let triggers: Vec<String> = db
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
        .and_then(|mut found| found.query_map([], |row| row.get(0))?.collect())
        .expect("the triggers that refuse this");
    for trigger in triggers {
        db.execute_batch(&format!("DROP TRIGGER {trigger}")).expect("a forger has the file");
    }
    db
}

#[test]
fn verify_misses_the_end_of_a_ledger() {
    let mut shell = Shell::new();
    shell.check(
        &[POOL, "hm --agent qa claim support C1"],
        expect![[r#"
            $ hm --agent devops claim create "the pool holds 20 connections" --scope src/db/pool.rs
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm --agent qa claim support C1
            supported C1: committed at seq 3
            next: confirmed: agreed by reviewer
        "#]],
    );
    let cut = "DELETE FROM payloads WHERE seq = 3; DELETE FROM events WHERE seq = 3";
    forger(&shell).execute_batch(cut).expect("a forger has the file");
    shell.check(
        &["hm verify"],
        expect![[r#"
            $ hm verify
            broken: the ledger ends at event 2, and the read models have seen event 3
            events that stand before it: 2
            [exit 1]
        "#]],
    );
}

#[test]
fn verify_names_the_first_broken_event() {
    let mut shell = Shell::new();
    shell.check(
        &["hm verify", POOL, "hm --agent qa claim support C1", "hm verify"],
        expect![[r#"
            $ hm verify
            ok: 0 events, head HASH
            $ hm --agent devops claim create "the pool holds 20 connections" --scope src/db/pool.rs
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm --agent qa claim support C1
            supported C1: committed at seq 3
            next: confirmed: agreed by reviewer
            $ hm verify
            ok: 3 events, head HASH
        "#]],
    );
    let db = forger(&shell);
    let forged =
        db.execute("UPDATE payloads SET payload = replace(payload, 'support', 'suppose') WHERE seq = 2", []);
    assert_eq!(forged, Ok(1));
    shell.check(&["hm verify", "hm --json verify"], expect![[r#"
        $ hm verify
        broken: the payload of event 2 was changed: its hash differs
        events that stand before it: 1
        [exit 1]
        $ hm --json verify
        {"absent_runs":0,"accepted":[],"artifacts":0,"checkpoints":0,"erased":0,"events":1,"fault":"the payload of event 2 was changed: its hash differs","head_hash":"HASH","ok":false,"warning":null}
        [exit 1]
    "#]]);
    std::fs::write(shell.workspace().ledger(), "no database").expect("a spoilt ledger");
    assert_eq!(shell.run("hm verify").status.code(), Some(1));
}

#[test]
fn rebuild_makes_the_same_read_models() {
    let mut shell = Shell::new();
    shell.check(
        &[POOL, "hm --agent qa claim support C1", "hm rebuild", "hm claim list"],
        expect![[r#"
            $ hm --agent devops claim create "the pool holds 20 connections" --scope src/db/pool.rs
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm --agent qa claim support C1
            supported C1: committed at seq 3
            next: confirmed: agreed by reviewer
            $ hm rebuild
            rebuilt: the read models hold 3 events
            $ hm claim list
            C1 the pool holds 20 connections (confirmed, agreed, by devops, supported by reviewer AGE ago)
        "#]],
    );
    let shown = shell.transcript("hm --json claim show C1");
    let db = rusqlite::Connection::open(shell.workspace().team_memory()).expect("the read models");
    assert_eq!(db.execute("UPDATE claims SET status = 'contested'", []), Ok(1));
    assert_ne!(shell.transcript("hm --json claim show C1"), shown);
    drop(db);
    let rebuilt = shell.run("hm rebuild");
    assert!(rebuilt.status.success() && rebuilt.stderr.is_empty(), "{rebuilt:?}");
    assert_eq!(shell.transcript("hm --json claim show C1"), shown);
}

#[test]
fn an_export_is_the_same_every_time() {
    let mut shell = Shell::new();
    let empty = shell.run("hm export").stdout;
    expect![[r#"
        {"count":0,"head_hash":"0000000000000000000000000000000000000000000000000000000000000000"}
    "#]]
    .assert_eq(&String::from_utf8_lossy(&empty));
    shell.check(
        &[POOL, "hm --agent qa claim support C1", "hm export ledger.jsonl", "hm export no/such/place.jsonl"],
        expect![[r#"
            $ hm --agent devops claim create "the pool holds 20 connections" --scope src/db/pool.rs
            claim created C1: committed at seq 1
            next: confirmed once another agent supports it
            $ hm --agent qa claim support C1
            supported C1: committed at seq 3
            next: confirmed: agreed by reviewer
            $ hm export ledger.jsonl
            exported 3 events to ledger.jsonl
            $ hm export no/such/place.jsonl
            hm: cannot write no/such/place.jsonl: No such file or directory (os error 2)
            [exit 2]
        "#]],
    );
    let (first, second) = (shell.run("hm export").stdout, shell.run("hm export").stdout);
    let file = shell.workspace().root().join("ledger.jsonl");
    assert_eq!(first, second);
    assert_eq!(first, std::fs::read(&file).expect("the exported file"));
    let lines: Vec<Value> = first
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("JSON lines"))
        .collect();
    let (trailer, events) = lines.split_last().expect("a trailer");
    assert_eq!(trailer["count"], events.len());
    assert_eq!(trailer["head_hash"], events.last().expect("events")["hash"]);
    assert!(!file.with_extension("jsonl.partial").exists());
}

#[test]
fn output_that_nobody_reads_is_no_fault() {
    let shell = Shell::without_writer();
    let mut export = shell.command("hm export").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let export = export.as_mut().expect("hm can be run");
    drop(export.stdout.take());
    let mut said = String::new();
    std::io::Read::read_to_string(export.stderr.as_mut().expect("a piped stderr"), &mut said).expect("text");
    assert_eq!((export.wait().expect("it ends").code(), said.as_str()), (Some(0), ""));
}

#[test]
fn who_speaks_comes_from_the_environment_and_the_option_says_the_same() {
    let shell = Shell::without_writer();
    let you_are = |line: &str, agent: &str| {
        let output = shell.command(line).env("HM_AGENT", agent).output().expect("hm can be run");
        let status: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        status["agent"].as_str().or(status["code"].as_str()).map(str::to_owned)
    };
    let said = [
        you_are("hm --json status", "infra"),
        you_are("hm --json --agent Ops status", "infra"),
        you_are("hm --json --agent qa status", "infra"),
        you_are("hm --json status", "grok"),
        you_are("hm --json status", ""),
    ];
    expect![[r#"
        [
            Some(
                "devops",
            ),
            Some(
                "devops",
            ),
            Some(
                "agent_mismatch",
            ),
            Some(
                "unknown_agent",
            ),
            None,
        ]
    "#]]
    .assert_debug_eq(&said);
}

#[test]
fn without_a_writer_a_write_is_queued_and_says_so() {
    let mut shell = Shell::of_a_user();
    let lock = std::fs::File::create(shell.workspace().writer_lock()).expect("the lock");
    lock.lock().expect("nobody holds it");
    shell.check(
        &["hm --agent ops status", POOL, "hm status"],
        expect![[r#"
            $ hm --agent ops status
            workspace: DIR
            ledger:    0 events by 0 agents in .hivemind/runtime
            claims:    0 confirmed, 0 proposed, 0 contested, 0 awaiting proof, 0 deprecated, 0 dead ends
            spool:     empty
            writer:    not running, the next write starts it
            hivemind: you are devops
            $ hm --agent devops claim create "the pool holds 20 connections" --scope src/db/pool.rs
            queued, not yet committed: claim created END1
            next: no writer could be reached: it is committed, if it still passes, once one is
            $ hm status
            workspace: DIR
            ledger:    0 events by 0 agents in .hivemind/runtime
            claims:    0 confirmed, 0 proposed, 0 contested, 0 awaiting proof, 0 deprecated, 0 dead ends
            spool:     1 queued
            writer:    not running, the next write starts it
        "#]],
    );
    drop(lock);
    // The next write starts a writer, and what was queued goes first. Until then it goes by the end of its id.
    shell.check(
        &["hm --agent qa claim support END1"],
        expect![[r#"
            $ hm --agent qa claim support END1
            supported C1: committed at seq 4
            next: confirmed: agreed by reviewer
        "#]],
    );
    all_ran(&shell.workspace());
    shell.check(
        &["hm status"],
        expect![[r#"
            $ hm status
            workspace: DIR
            ledger:    4 events by 3 agents in .hivemind/runtime
            claims:    1 confirmed, 0 proposed, 0 contested, 0 awaiting proof, 0 deprecated, 0 dead ends
            spool:     empty
            writer:    running
            kept:      4 events since TIME; to prune: hm forget --help
        "#]],
    );
}

#[test]
fn every_line_fits_the_page_and_no_id_is_shown() {
    let mut shell = Shell::new();
    let (wide, long) = ("記憶".repeat(60), "long-".repeat(100));
    for line in [
        format!("hm --agent devops claim create \"the pool {wide}\" --scope src/db/pool.rs"),
        format!("hm --agent ops claim create \"{long}\" --scope src/{}", long.replace('-', "/")),
        format!("hm --agent qa claim challenge C1 --reason \"no {wide}\""),
        format!("hm --agent devops plan add \"{wide}\""),
        format!("hm --agent devops phase add \"words {wide}\" --plan P1"),
        format!("hm --agent devops task add \"some words {wide}\" --phase P2"),
        format!("hm --agent devops anchor save DB_SCHEMA \"{long} {wide}\""),
    ] {
        let shown = shell.transcript(&line);
        assert!(shown.contains("committed"), "{shown}");
    }
    for verb in [
        "--agent devops status",
        "log",
        "attention",
        "anchor list",
        "plan show",
        "task ready",
        "claim list",
        "claim show C1",
        "claim search pool",
        "claim why C1",
        "profile list",
        "doctor",
    ] {
        let output = shell.run(&format!("hm {verb}"));
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(!text.is_empty(), "{verb}: {:?}", output.stderr);
        // A row of a list is one line in a pipe.
        let text = if verb.starts_with("claim list") || verb.starts_with("claim search") {
            on_screen(&shell.command(&format!("hm {verb}")), "").1
        } else {
            text
        };
        for line in text.lines() {
            // In a pipe, an event is one line, which is cut and not wrapped.
            let width = if verb.starts_with("log") { 160 } else { 100 };
            assert!(textwrap::core::display_width(line) <= width, "{verb}: {line}");
        }
    }
    let said = |line: &str| String::from_utf8(shell.run(line).stdout).expect("text");
    for (verb, names) in [("claim list", ["C1", "C2"]), ("log", ["#1", "#8"]), ("task ready", ["T1", "T1"])] {
        let text = said(&format!("hm {verb}"));
        assert!(names.iter().all(|name| text.contains(name)), "{verb}: {text}");
        assert!(!text.contains("019"), "{verb}: {text}");
    }
    // Nor where it is part of a payload.
    let log = said("hm log");
    assert!(log.matches("\"P1\"").count() >= 2, "{log}");
}

#[test]
fn a_ready_task_says_what_was_invalidated_before_it() {
    Shell::new().check(
        &[
            "hm --agent devops task add tables",
            "hm --agent devops task add indexes --after T1",
            "hm --agent devops task update T1 invalidated --note \"no database any more\"",
            "hm task ready",
        ],
        expect![[r#"
            $ hm --agent devops task add tables
            task added T1: committed at seq 1
            next: before working on it: `hm task claim T1`
            $ hm --agent devops task add indexes --after T1
            task added T2: committed at seq 2
            next: before working on it: `hm task claim T2`
            $ hm --agent devops task update T1 invalidated --note "no database any more"
            task updated T1: committed at seq 3
            next: if an approach failed: `hm claim create STATEMENT --type negative --scope SCOPE --task T1`
            $ hm task ready
            - `T2` open: indexes (invalidated: T1)
        "#]],
    );
}

#[test]
fn a_part_of_a_task_is_shown_below_it_whatever_its_phase() {
    let mut shell = Shell::new();
    shell.check(
        &[
            "hm --agent devops plan add Storage",
            "hm --agent devops phase add Schema --plan P1",
            "hm --agent devops task add tables --phase P2",
            "hm --agent devops task add indexes --parent T1",
            "hm --agent devops task add \"the partial one\" --parent T2",
            "hm --agent devops task add \"read the papers\"",
            "hm plan show",
        ],
        expect![[r#"
            $ hm --agent devops plan add Storage
            plan added P1: committed at seq 1
            next: `hm phase add TITLE --plan P1`, or look at it: `hm intent INTENT --plan P1`
            $ hm --agent devops phase add Schema --plan P1
            phase added P2: committed at seq 2
            next: `hm task add TITLE --phase P2`
            $ hm --agent devops task add tables --phase P2
            task added T1: committed at seq 3
            next: before working on it: `hm task claim T1`
            $ hm --agent devops task add indexes --parent T1
            task added T2: committed at seq 4
            next: before working on it: `hm task claim T2`
            $ hm --agent devops task add "the partial one" --parent T2
            task added T3: committed at seq 5
            next: before working on it: `hm task claim T3`
            $ hm --agent devops task add "read the papers"
            task added T4: committed at seq 6
            next: before working on it: `hm task claim T4`
            $ hm plan show

            ## `P1` Storage (draft)

            ### `P2` Schema (open)

            - `T1` open: tables
              - `T2` open: indexes
                - `T3` open: the partial one
            - `T4` open: read the papers
        "#]],
    );
}

#[test]
fn a_verb_needs_a_workspace() {
    let mut shell = Shell::without_writer();
    std::fs::remove_dir_all(shell.workspace().root().join(".hivemind")).expect("it can go");
    shell.check(&["hm status", "hm --dir elsewhere claim list", "hm --json verify"], expect![[r#"
        $ hm status
        hm: no .hivemind in DIR or above it: run `hm init` in the root of your project
        [exit 2]
        $ hm --dir elsewhere claim list
        hm: elsewhere holds no .hivemind: run `hm init --dir elsewhere` first, or correct --dir / HM_DIR
        [exit 2]
        $ hm --json verify
        {"code":"usage","message":"no .hivemind in DIR or above it: run `hm init` in the root of your project"}
        [exit 2]
    "#]]);
    shell.init();
}

/// The verbs below a help text.
pub(crate) fn verbs(help: &str) -> Vec<String> {
    // The page of `hm` itself groups them: `name  text; name: text`, or nothing but names.
    if help.contains("\nKnow\n") {
        let lines = help.lines().filter(|line| line.starts_with("  "));
        let names = lines.flat_map(|line| line.split("; ")).map(|part| {
            let names = part.trim_start();
            names.split_once("  ").or_else(|| names.split_once(": ")).map_or(names, |(names, _)| names)
        });
        let names = names.flat_map(|names| names.trim_end_matches(',').split(", "));
        return names.map(str::to_owned).collect();
    }
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_help_has_an_example() {
    let shell = Shell::without_writer();
    let mut asked = vec!["hm".to_owned()];
    let mut silent = Vec::new();
    let mut next = 0;
    while let Some(verb) = asked.get(next).cloned() {
        let help = String::from_utf8(shell.run(&format!("{verb} --help")).stdout).expect("text");
        if next > 0 && !help.contains("\nExample") {
            silent.push(verb.clone());
        }
        asked.extend(verbs(&help).into_iter().map(|below| format!("{verb} {below}")));
        next += 1;
    }
    assert!(asked.len() > 60, "{asked:?}");
    assert!(silent.is_empty(), "no example in the help of {silent:?}");
}

/// Only a human at a terminal is the operator by default: both ends must be one.
#[cfg(unix)]
#[test]
fn the_operator_sits_at_a_terminal() {
    use crate::terminal::{by_a_human, on_screen};
    let shell = Shell::new();
    let typed = r#"hm claim create "a human says so" --scope src"#;
    let piped = by_a_human(&shell.command(typed));
    assert_eq!(piped.status.code(), Some(2), "{piped:?}");
    assert_eq!(on_screen(&shell.command(typed), "").0, Some(0));
    assert_eq!(shell.json("hm --json claim list")["claims"][0]["owner"], "operator");
}
