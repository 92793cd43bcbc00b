//! Reads tell the truth: what cannot be read is counted and never called empty, what time ended has ended, and a
//! memory of another version says which.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;
use std::sync::atomic::AtomicBool;

use hivemind::domain::claim::{ClaimType, Position, SearchMode, Trigger};
use hivemind::domain::command::{AddTask, AliasTarget, ClaimTask, Command, RecordDecision};
use hivemind::domain::decide::Policy;
use hivemind::domain::ids::{ClaimId, TaskId};
use hivemind::domain::time::{Hours, Timestamp};
use hivemind::integrity::Scan;
use hivemind::ledger::{Batch, Ledger, NewEvent};
use hivemind::mcp::Era;
use hivemind::reads::Reads;
use hivemind::store::{ClaimFilter, ContradictionFilter, DecisionFilter, ExperimentFilter, Search, Seen};
use hivemind::system::{self, Sources};
use hivemind::views::{ContextOf, View, ViewError};
use hivemind::workspace::Workspace;
use hivemind::writer::Committer;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::answers::{Answer, answer};
use crate::bench::Bench;
use crate::context::{config, lived_in, rows, spoil};
use crate::harness::{TempWorkspace, agent, claim_of, creation, dump, fact, position, request, with_key};
use crate::released::{fixtures, from_the_future};
use crate::shell::Shell;

fn ask(workspace: &Workspace, view: &View, now: Timestamp) -> Result<Answer, ViewError> {
    answer(&mut Reads::of(workspace.clone()), &config(), view, now)
}

fn context_of(session: &str) -> View {
    let session = Some(session.to_owned());
    View::Context(ContextOf::new(agent("devops"), session))
}

fn claims(limit: usize) -> View {
    View::Claims(ClaimFilter { limit, ..ClaimFilter::default() })
}

fn search(words: &str) -> View {
    let filter = ClaimFilter { limit: 50, ..ClaimFilter::default() };
    View::Search(Search {
        query: words.to_owned(),
        mode: SearchMode::Balanced,
        filter,
        seen: Seen::default(),
        explain: false,
    })
}

/// Every list there is.
fn lists() -> Vec<View> {
    vec![
        claims(50),
        search("pool menu connections"),
        View::Decisions(DecisionFilter { limit: 50, ..DecisionFilter::default() }),
        View::Contradictions(ContradictionFilter { limit: 50, ..ContradictionFilter::default() }),
        View::Experiments(ExperimentFilter { limit: 50, ..ExperimentFilter::default() }),
        View::Targets,
        View::Negative(None, None),
        View::Agents,
        View::Status,
        View::Plan(None),
        View::ReadyTasks,
        View::Sessions(None, 50),
        View::Anchors,
        View::Attention(None),
        context_of("s-1"),
    ]
}

fn entries(answer: &Answer) -> usize {
    answer.text.lines().filter(|line| line.trim_start().starts_with("- ")).count()
}

fn findings(workspace: &Workspace) -> Vec<String> {
    let scan = Scan::of(workspace, &AtomicBool::new(false)).expect("a scan");
    scan.findings
        .iter()
        .filter(|finding| finding.code == "unreadable_row")
        .map(|f| f.message.clone())
        .collect()
}

#[test]
fn a_row_that_cannot_be_read_costs_every_answer_that_row() {
    let (workspace, now) = lived_in();
    let models = workspace.team_memory();
    {
        let mut committer = workspace.committer(7);
        let decision = RecordDecision {
            mends: false,
            evidence_refs: Vec::new(),
            decided_at: None,
            claim_id: ClaimId::from_uuid(system::new_id()),
            statement: Some("one pool for all".parse().expect("a statement")),
            rationale: "fewer connections to keep".parse().expect("a rationale"),
            context: None,
            target: Some("target:pool".to_owned().try_into().expect("a scope")),
            scopes: Vec::new(),
            alternatives: Vec::new(),
            supersedes: Vec::new(),
            asks: Vec::new(),
            unless_objection_minutes: None,
        };
        let alias = AliasTarget {
            target: "target:pool".to_owned().try_into().expect("a scope"),
            alias: "target:pools".to_owned().try_into().expect("a scope"),
        };
        for command in [Command::RecordDecision(decision), Command::AliasTarget(alias)] {
            committer
                .commit(&[request("architect", command)])
                .expect("a ledger")
                .remove(0)
                .expect("accepted");
        }
    }
    let whole: Vec<usize> =
        lists().iter().map(|view| entries(&ask(&workspace, view, now).expect("an answer"))).collect();
    assert_eq!(findings(&workspace), [""; 0]);
    let db = Connection::open(&models).expect("read models");
    let found = rows(&db);
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("a checkpoint");
    drop(db);
    let pristine = std::fs::read(&models).expect("a database");
    let (mut said, mut scanned) = (0, 0);
    for row in found.iter().filter(|row| row.table != "projection") {
        for beside in ["sqlite-wal", "sqlite-shm"] {
            let _ = std::fs::remove_file(models.with_extension(beside));
        }
        std::fs::write(&models, &pristine).expect("a database");
        let db = Connection::open(&models).expect("read models");
        spoil(&db, row);
        drop(db);
        for (view, entries_before) in lists().iter().zip(&whole) {
            let answer = ask(&workspace, view, now);
            let answer = answer.unwrap_or_else(|error| panic!("{} stops {view:?}: {error}", row.table));
            if answer.left_out > 0 {
                said += 1;
                assert_eq!(answer.json["left_out"], json!(answer.left_out), "{view:?}");
                let is_said = answer.text.contains("cannot be read") || answer.text.contains("quarantined=");
                assert!(is_said, "{view:?}: {}", answer.text);
            } else if row.table == "claims" && matches!(view, View::Claims(_) | View::Search(_)) {
                // Nothing is missing that nobody speaks of.
                assert!(entries(&answer) >= *entries_before, "{} in {view:?}: {}", row.table, answer.text);
            }
        }
        let shown = ["claims", "tasks", "session_states", "consensus", "claim_evidence", "turns", "anchors"];
        if shown.contains(&row.table.as_str()) {
            let found = findings(&workspace);
            assert!(found.len() == 1 && found[0].contains(&row.table), "{}: {found:?}", row.table);
            scanned += 1;
        }
    }
    assert!(said > 20 && scanned > 8, "{said} answers and {scanned} scans spoke of spoiled rows");
}

#[test]
fn one_bad_claim_is_counted_once_and_pages_reach_the_end() {
    let shell = Shell::new();
    for whom in ["ana", "ben", "cara", "dora", "eli", "fay", "gus"] {
        let create = format!("hm --agent devops claim create \"the pool was seen by {whom}\" --scope src");
        assert!(shell.run(&create).status.success());
    }
    let id =
        shell.json("hm --json claim list --limit 4")["claims"][3]["id"].as_str().expect("an id").to_owned();
    shell.end_writer();
    let db = Connection::open(shell.workspace().team_memory()).expect("read models");
    db.execute("UPDATE claims SET scopes = 'not json' WHERE id = ?1", [&id]).expect("a change");
    drop(db);

    let (mut seen, mut left_out, mut cursor) = (0, 0, String::new());
    for limit in [1, 2, 1, 1, 1, 1, 1] {
        let page = shell.json(&format!("hm --json claim list --limit {limit}{cursor}"));
        seen += page["claims"].as_array().expect("claims").len();
        left_out += page["left_out"].as_u64().unwrap_or_default();
        match page["next"].as_u64() {
            Some(next) => cursor = format!(" --cursor {next}"),
            None => break,
        }
    }
    assert_eq!((seen, left_out), (6, 1), "the last page is reached");
    let out = |line: &str| String::from_utf8(shell.run(line).stdout).expect("text");
    for line in ["hm claim list", "hm claim search pool"] {
        let listed = out(line);
        assert!(listed.ends_with("1 row cannot be read and is left out: `hm rebuild`\n"), "{line}: {listed}");
    }
    let pack = out("hm context --agent devops");
    assert!(pack.contains("quarantined=\"1\"") && !pack.contains("budget_dropped"), "{pack}");
    let shown = shell.run(&format!("hm claim show {id}"));
    let why = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(
        shown.status.code() == Some(75) && why.contains("(C4: ") && why.contains("`hm rebuild`"),
        "{why}"
    );
    let doctor = out("hm doctor");
    assert!(doctor.contains("a row of claims cannot be read") && doctor.contains(&id), "{doctor}");
    assert!(shell.run("hm rebuild").status.success());
    assert!(!out("hm claim list").contains("cannot be read"));
}

/// A writer whose clock shows this.
fn committer_at(workspace: &Workspace, now: Timestamp) -> Committer {
    let sources = Sources { clock: Box::new(move || now), ..Sources::system() };
    Committer::open(workspace, Policy::default(), sources).expect("a committer")
}

#[test]
fn what_time_ends_has_ended_whether_a_writer_says_so_or_not() {
    let workspace = TempWorkspace::new();
    let start = Timestamp::from_ms(1_800_000_000_000);
    let task = TaskId::from_uuid(system::new_id());
    let guess = |statement: &str, claim_type| {
        let mut made = fact(statement);
        (made.claim_type, made.ttl_hours) = (claim_type, Some(Hours(2)));
        request("devops", Command::CreateClaim(made))
    };
    let leak = guess("the pool leaks connections", ClaimType::Hypothesis);
    let mut vendor = fact("vendoring breaks the build");
    vendor.claim_type = ClaimType::Negative;
    vendor.ttl_hours = Some(Hours(2));
    vendor.trigger = Some(Trigger {
        commands: vec!["cargo vendor".parse().expect("a command line")],
        ..Trigger::default()
    });
    let add = AddTask {
        meant_for: None,
        task_id: task,
        phase_id: None,
        parent_task_id: None,
        title: "mend the pool".parse().expect("a title"),
        description: None,
        depends_on: Vec::new(),
        scopes: Vec::new(),
    };
    let take =
        ClaimTask { task_id: task, lease_minutes: None, file_locks: vec!["src".parse().expect("a scope")] };
    let mut challenge = position("analyst", claim_of(&leak), Position::Challenge);
    if let Command::TakePosition(taken) = &mut challenge.command {
        taken.reason = Some("it does not".parse().expect("a reason"));
    }
    {
        let mut committer = committer_at(&workspace, start);
        for submission in [
            leak.clone(),
            guess("the pool is too small", ClaimType::Hypothesis),
            request("devops", Command::CreateClaim(vendor)),
            creation("devops", "the pool holds 20"),
            challenge,
            request("devops", Command::AddTask(add)),
            request("devops", Command::ClaimTask(take)),
        ] {
            committer.commit(&[submission]).expect("a ledger").remove(0).expect("accepted");
        }
    }
    let views = [
        claims(50),
        View::Claims(ClaimFilter { in_force: true, limit: 50, ..ClaimFilter::default() }),
        View::Claims(ClaimFilter {
            status: vec![hivemind::domain::claim::Status::Deprecated],
            limit: 50,
            ..ClaimFilter::default()
        }),
        View::Claims(ClaimFilter {
            status: vec![
                hivemind::domain::claim::Status::Proposed,
                hivemind::domain::claim::Status::Contested,
            ],
            limit: 50,
            ..ClaimFilter::default()
        }),
        search("pool"),
        View::Search(Search {
            query: "pool".to_owned(),
            mode: SearchMode::Strict,
            filter: ClaimFilter { limit: 50, ..ClaimFilter::default() },
            seen: Seen::default(),
            explain: false,
        }),
        View::Negative(None, None),
        View::Contradictions(ContradictionFilter { limit: 50, ..ContradictionFilter::default() }),
        View::Contradictions(ContradictionFilter {
            resolved: true,
            limit: 50,
            ..ContradictionFilter::default()
        }),
        View::Plan(None),
        View::ReadyTasks,
        View::Agents,
        View::Status,
        View::Attention(None),
        context_of("s-1"),
    ];
    // What is shown, without when the writer put it down: by ids, states, and who holds what.
    let told = |now: Timestamp| -> Vec<String> {
        let said = |view: &View| {
            let answer = ask(&workspace, view, now).expect("an answer");
            let words = ["proposed", "contested", "deprecated", "devops for", "held", "open", "active"];
            let mut told = Vec::new();
            if let View::Status | View::Agents = view {
                let mut json = answer.json;
                for key in ["ledger_seq", "folded_seq", "agents_seen", "agents"] {
                    let agents = json.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
                    let devops = agents.into_iter().find(|one| one["agent"] == "devops");
                    match devops {
                        Some(devops) => json["devops"] = devops["claims"].clone(),
                        None => drop(json.as_object_mut().expect("an object").remove(key)),
                    }
                }
                json.as_object_mut().expect("an object").remove("agents");
                return json.to_string();
            }
            for line in answer.text.lines() {
                let ids = line.split('`').nth(1).or_else(|| line.split("id=\"").nth(1)?.split('"').next());
                let states: Vec<&str> = words.into_iter().filter(|word| line.contains(word)).collect();
                if let Some(id) = ids.filter(|id| id.len() == 36) {
                    told.push(format!("{id} {states:?}"));
                }
            }
            told.sort();
            told.join("\n")
        };
        views.iter().map(said).collect()
    };
    // The numbers behind the filters of a page.
    let counted = |now: Timestamp| {
        let (found, _) =
            Reads::of(workspace.clone()).ask(now, |store| store.claim_counts(None)).expect("a store");
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for count in found.expect("a store").into_iter().filter(|count| count.claims > 0) {
            let of = format!("{} {} {}", count.owner, count.claim_type.as_str(), count.status.as_str());
            *sums.entry(of).or_default() += count.claims;
        }
        sums
    };
    let minutes = |minutes: i64| Timestamp::from_ms(start.ms() + minutes * 60_000);
    let fresh = told(minutes(10));
    assert!(!counted(minutes(10)).keys().any(|of| of.ends_with("deprecated")));
    for now in [minutes(16), minutes(3 * 60)] {
        let bytes = || (dump(&workspace.ledger()), dump(&workspace.team_memory()));
        let before = bytes();
        let (without, counts) = (told(now), counted(now));
        assert!(before == bytes(), "a read wrote");
        assert_ne!(without, fresh);
        {
            let mut committer = committer_at(&workspace, now);
            hivemind::writer::close_overdue(&mut committer).expect("a ledger");
            hivemind::writer::sweep(&mut committer).expect("a ledger");
        }
        for (at, (without, with)) in without.iter().zip(told(now)).enumerate() {
            assert_eq!(*without, with, "{:?} at {now}", views[at]);
        }
        assert_eq!(counts, counted(now), "at {now}");
    }
    assert!(counted(minutes(3 * 60)).keys().any(|of| of.ends_with("deprecated")));
    workspace.assert_sound();
    let ready = ask(&workspace, &View::ReadyTasks, minutes(16)).expect("an answer").text;
    assert!(ready.contains("mend the pool"), "{ready}");
}

/// What a read says when it is refused.
fn refused(output: &Output, what: &str) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(75), "{what}: {output:?}");
    assert!(!said.contains("SELECT") && !said.contains("no such"), "{what}: {said}");
    said
}

/// Every verb that reads.
const VERBS: [&str; 12] = [
    "hm status",
    "hm context --agent devops",
    "hm attention",
    "hm claim list",
    "hm claim search pool",
    "hm claim show 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47",
    "hm claim why 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47",
    "hm decision list",
    "hm contradictions",
    "hm plan show",
    "hm task ready",
    "hm session list",
];

/// What the hook of a session's start says, and what it logs.
fn start(shell: &Shell, cwd: &str, log: Option<&str>) -> (String, String) {
    let mut hook = shell.command("hm hook claude");
    let payload = json!({
        "hook_event_name": "SessionStart", "session_id": "s-1", "source": "startup", "cwd": cwd,
    });
    let file = shell.state_home().join("payload.json");
    std::fs::write(&file, payload.to_string()).expect("a payload");
    hook.env("HM_AGENT", "devops").stdin(std::fs::File::open(&file).expect("a payload"));
    if let Some(level) = log {
        hook.env("HM_LOG", level);
    }
    let output = hook.output().expect("a hook");
    assert!(output.status.success(), "{output:?}");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (text(output.stdout), text(output.stderr))
}

#[cfg(unix)]
#[test]
fn a_memory_that_cannot_be_read_is_not_empty() {
    let shell = Shell::new();
    assert!(shell.run(r#"hm --agent devops claim create "the pool holds 20" --scope src"#).status.success());
    shell.end_writer();
    let runtime = shell.workspace().memory().to_owned();
    let aside = runtime.with_file_name("aside");
    std::fs::rename(&runtime, &aside).expect("a directory");
    // Where even root may not look: a link that leads to itself, and a file that is no directory.
    type Block = fn(&Path);
    let blocks: [Block; 2] = [
        |path| std::os::unix::fs::symlink(path, path).expect("a link"),
        |path| std::fs::write(path, []).expect("a file"),
    ];
    let why = "is not opened: it is a link or a file, and no directory";
    let root = shell.workspace().root().display().to_string();
    for block in blocks {
        block(&runtime);
        for verb in VERBS.into_iter().chain(["hm log"]) {
            let output = shell.run(verb);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(2) && said.contains(why), "{verb}: {output:?}");
        }
        let (told, _) = start(&shell, &root, None);
        assert!(told.contains(why) && !told.contains("hivemind_state"), "{told}");
        std::fs::remove_file(&runtime).expect("what was put there");
    }
    // One file alone.
    std::fs::rename(&aside, &runtime).expect("a directory");
    let models = shell.workspace().team_memory();
    std::fs::rename(&models, models.with_extension("aside")).expect("a file");
    std::fs::create_dir(&models).expect("a directory");
    for verb in VERBS {
        let said = refused(&shell.run(verb), verb);
        assert!(said.contains("team-memory.sqlite"), "{verb}: {said}");
    }
    std::fs::remove_dir(&models).expect("a directory");
    std::fs::rename(models.with_extension("aside"), &models).expect("a file");
    assert!(String::from_utf8_lossy(&shell.run("hm claim list").stdout).contains("the pool holds 20"));
}

#[tokio::test]
async fn a_resource_of_a_memory_that_cannot_be_read_is_an_error() {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    bench.claim(&pane, "the pool holds 20", "src").await;
    bench.kill_writer();
    let runtime = bench.workspace().memory().to_owned();
    let aside = runtime.with_file_name("aside");
    std::fs::rename(&runtime, &aside).expect("a directory");
    std::fs::write(&runtime, []).expect("a file");
    for uri in ["hivemind://context", "hivemind://claims", "hivemind://status", "hivemind://attention"] {
        let said = pane.read(uri).await.expect_err(uri).to_string();
        assert!(said.contains("what it holds is not known"), "{uri}: {said}");
    }
    std::fs::remove_file(&runtime).expect("a file");
    std::fs::rename(&aside, &runtime).expect("a directory");
    assert!(pane.read("hivemind://claims").await.expect("an answer").contains("the pool holds 20"));
}

#[test]
fn read_models_of_an_older_version_are_made_anew_for_who_reads() {
    for verb in
        ["hm status", "hm context --agent devops", "hm claim list", "hm claim search pool", "hm attention"]
    {
        // What another version folded, what a released one left, and none at all.
        for damage in ["PRAGMA user_version = 1", "released", "gone"] {
            let shell = Shell::without_writer();
            let workspace = shell.workspace();
            if damage == "released" {
                for file in [workspace.ledger(), workspace.team_memory()] {
                    let name = file.file_name().expect("a name");
                    std::fs::copy(fixtures().join("0.1.0").join(name), &file).expect("a copy");
                }
            } else {
                {
                    let mut committer = Committer::open(&workspace, Policy::default(), Sources::system())
                        .expect("a committer");
                    let made = with_key(creation("devops", "the pool holds 20"), "pool");
                    committer.commit(&[made]).expect("a ledger").remove(0).expect("accepted");
                }
                let models = workspace.team_memory();
                if damage == "gone" {
                    for file in [models.clone(), models.with_extension("sqlite-wal")] {
                        let _ = std::fs::remove_file(file);
                    }
                } else {
                    Connection::open(&models).expect("a database").execute_batch(damage).expect("a change");
                }
            }
            let answer = shell.run(verb);
            let (shown, noted) =
                (String::from_utf8_lossy(&answer.stdout), String::from_utf8_lossy(&answer.stderr));
            assert!(answer.status.success(), "{verb}, {damage}: {answer:?}");
            assert!(noted.contains("the writer makes them anew"), "{verb}, {damage}: {noted}");
            let has_it =
                shown.contains("the pool holds 20") || shown.contains("confirmed") || verb == "hm attention";
            assert!(has_it, "{verb}, {damage}: {shown}");
            shell.end_writer();
        }
    }
}

#[test]
fn where_no_writer_can_make_them_reads_say_so() {
    let shell = Shell::new();
    assert!(shell.run(r#"hm --agent devops claim create "the pool holds 20" --scope src"#).status.success());
    shell.end_writer();
    let workspace = shell.workspace();
    let lock = std::fs::File::create(workspace.writer_lock()).expect("the lock");
    lock.lock().expect("nobody holds it");
    let db = Connection::open(workspace.team_memory()).expect("a database");
    db.execute_batch("PRAGMA user_version = 1").expect("a change");
    drop(db);
    for verb in ["hm claim list", "hm context --agent devops"] {
        let said = refused(&shell.run(verb), verb);
        assert!(said.contains("by an older version of hm") && said.contains("nothing is lost"), "{said}");
    }
    let (told, _) = start(&shell, &shell.workspace().root().display().to_string(), None);
    assert!(told.contains("by an older version of hm") && !told.contains("hivemind_state"), "{told}");
}

/// Signs a database as version 9.8.7 does.
fn signed(file: &Path) {
    let db = Connection::open(file).expect("a database");
    db.execute_batch("PRAGMA application_id = 9008007").expect("a header");
}

#[test]
fn what_a_newer_version_wrote_says_so_everywhere() {
    type Newer = fn(&Workspace);
    let newer: [(&str, Newer, &str); 4] = [
        (
            "tables of the ledger",
            |workspace| {
                signed(&workspace.ledger());
                from_the_future(&workspace.ledger());
            },
            "hm 9.8.7 wrote it",
        ),
        ("unsigned tables", |workspace| from_the_future(&workspace.team_memory()), "its version is unknown"),
        (
            "a newer fold",
            |workspace| {
                signed(&workspace.team_memory());
                let db = Connection::open(workspace.team_memory()).expect("a database");
                db.execute_batch("PRAGMA user_version = 999").expect("a header");
            },
            "hm 9.8.7 wrote it",
        ),
        (
            "an event",
            |workspace| {
                let mut ledger = Ledger::open(&workspace.ledger()).expect("a ledger");
                let template = workspace_events(workspace).pop().expect("an event");
                let event = NewEvent {
                    id: hivemind::domain::ids::EventId::from_uuid(system::new_id()),
                    kind: "dream.dreamt",
                    min_reader: 999,
                    payload: "{}".to_owned(),
                    salt: [7; 32],
                };
                let batch = Batch {
                    command_id: hivemind::domain::ids::CommandId::from_uuid(system::new_id()),
                    agent: template.agent,
                    session: None,
                    trace_id: None,
                    idempotency_key: None,
                    at: template.at,
                    events: vec![event],
                };
                ledger.append(ledger.head(), &[batch]).expect("an event more");
                drop(ledger);
                signed(&workspace.ledger());
            },
            "hm 9.8.7 wrote it",
        ),
    ];
    for (what, make, by) in newer {
        let shell = Shell::new();
        assert!(
            shell.run(r#"hm --agent devops claim create "the pool holds 20" --scope src"#).status.success()
        );
        shell.end_writer();
        make(&shell.workspace());
        for verb in VERBS {
            let said = refused(&shell.run(verb), &format!("{what}: {verb}"));
            for words in ["by a newer version of hm", "update hm", "nothing is lost", by] {
                assert!(said.contains(words), "{what}: {verb} does not say `{words}`: {said}");
            }
        }
        let (told, logged) = start(&shell, &shell.workspace().root().display().to_string(), Some("info"));
        for (place, said) in [("hook", told), ("log", logged)] {
            assert!(said.contains("update hm") && said.contains(by), "{what}: {place}: {said}");
        }
        let doctor = String::from_utf8_lossy(&shell.run("hm doctor").stdout).into_owned();
        assert!(doctor.contains("update this hm: nothing is lost"), "{what}: {doctor}");
    }
}

fn workspace_events(workspace: &Workspace) -> Vec<hivemind::ledger::Stored> {
    let reader = hivemind::ledger::Reader::open(&workspace.ledger()).expect("a ledger").expect("a file");
    reader.read_from(hivemind::ledger::Cursor::GENESIS, 1_000).expect("events")
}
