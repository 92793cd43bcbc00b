//! The Git mirror: the same commits of the same ledger, whatever text it holds and whenever a run is killed; edits of
//! people are shown, proposed and never lost.
//!
//! ```text
//! cargo test --test it mirror:: -- --nocapture
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output, Stdio};
use std::time::Duration;

use expect_test::expect;
use hivemind::domain::claim::{Position, Relation, Share};
use hivemind::domain::command::{
    AddEvidence, Alternative, Command, CreateClaim, Forget, RecordDecision, Submission,
};
use hivemind::domain::ids::ClaimId;
use hivemind::mirror::{self, Edited, MirrorError, Place, Ran, Wish};
use hivemind::schedule::JobOutcome;
use hivemind::system;
use hivemind::workspace::Workspace;
use saphyr::{LoadableYamlNode, Yaml};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::Bench;
use crate::harness::{Dice, HM, TempWorkspace, claim_of, creation, fact, long, position, request, seed};
use crate::hostile::texts;
use crate::schedule::all_ran;
use crate::shell::Shell;
use crate::terminal::by_a_human;

/// A temporary directory, and a path in it that does not exist yet.
fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().canonicalize().expect("a real path").join("mirror");
    (dir, path)
}

fn to(dir: &Path) -> Place {
    Place::Dir(dir.to_owned())
}

fn run(workspace: &Workspace, place: &Place) -> Result<Ran, MirrorError> {
    mirror::run(workspace, place, Wish::default(), || false)
}

fn ran(workspace: &Workspace, place: &Place) -> Ran {
    run(workspace, place).unwrap_or_else(|error| panic!("{error}: {}", error.way()))
}

/// Git as a person uses it, with settings that must change nothing.
fn git(dir: &Path, arguments: &[&str]) -> String {
    let mut command = Process::new("git");
    command.arg("-C").arg(dir).args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]);
    command.args(["-c", "commit.gpgsign=false"]).args(arguments);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("TZ", "UTC");
    let output = command.output().expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Fails unless the repository is sound, and the directory shows its newest commit.
fn assert_whole(dir: &Path) {
    git(dir, &["fsck", "--strict", "--no-dangling"]);
    assert_eq!(git(dir, &["status", "--porcelain"]), "", "the directory shows the newest commit");
}

fn commit(committer: &mut hivemind::writer::Committer, steps: &[Submission]) {
    for outcome in committer.commit(steps).expect("a ledger that takes commands") {
        outcome.expect("an accepted command");
    }
}

/// The files of claims and decisions by their short names.
fn pages(dir: &Path) -> BTreeMap<String, (PathBuf, String)> {
    let files = ["claims", "decisions"].iter().flat_map(|below| {
        let entries = fs::read_dir(dir.join(below)).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    });
    let named = files.map(|path| {
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("UTF-8");
        (file.split('-').next().expect("a name").to_owned(), (path, text))
    });
    named.collect()
}

/// A ledger with so many claims about twenty places, half of them with a support.
fn with_claims(count: usize) -> TempWorkspace {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    add_claims(&mut committer, 0..count);
    drop(committer);
    workspace
}

fn add_claims(committer: &mut hivemind::writer::Committer, numbers: std::ops::Range<usize>) {
    let steps: Vec<Submission> = numbers
        .flat_map(|number| {
            let scope = format!("src/part-{}", number % 20).try_into().expect("a scope");
            let statement = format!("part number {number} holds {number} connections at most");
            let claim = CreateClaim { scopes: vec![scope], ..fact(&statement) };
            let made = request("devops", Command::CreateClaim(claim));
            let support = position("analyst", claim_of(&made), Position::Support);
            [Some(made), (number % 2 == 0).then_some(support)]
        })
        .flatten()
        .collect();
    for group in steps.chunks(200) {
        commit(committer, group);
    }
}

#[test]
fn a_thousand_claims_have_the_same_commits_in_every_mirror() {
    let workspace = with_claims(500);
    let (_kept, grown) = place();
    ran(&workspace, &to(&grown));
    let mut committer = workspace.committer(2);
    add_claims(&mut committer, 500..1_000);
    drop(committer);

    let (_kept, first) = place();
    let began = system::instant();
    let line = ["mirror", "--json", "--to", first.to_str().expect("UTF-8"), "--dir"];
    let output = Process::new(HM).args(line).arg(workspace.root()).output().expect("hm runs");
    eprintln!("1,000 claims: {:?}", began.elapsed());
    assert!(output.status.success(), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_whole(&first);
    let count = git(&first, &["rev-list", "--count", "HEAD"]);
    assert_eq!(told["commits"].to_string(), count.trim());
    assert!(told["commits"].as_u64().expect("a number") > 2_000, "{told}");
    assert_eq!(pages(&first).len(), 1_000);

    let (_kept, second) = place();
    let again = ran(&workspace, &to(&second));
    assert_eq!(json!(again.head), told["head"], "another mirror has other commits");
    assert_eq!(ran(&workspace, &to(&grown)).head, again.head, "a mirror that grew has other commits");
    assert_whole(&grown);
    let began = system::instant();
    let nothing = ran(&workspace, &to(&first));
    eprintln!("no news: {:?}", began.elapsed());
    assert_eq!((nothing.commits, nothing.head), (0, again.head));
}

/// A decision that replaces another, a claim with a dispute, and what was not chosen, with fixed ids.
fn story(workspace: &TempWorkspace) -> ClaimId {
    let id = |number: u128| {
        ClaimId::from_uuid(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0f00 + number))
    };
    let text = |text: &str| text.parse().expect("a statement");
    let claim = |number: u128, statement: &str| CreateClaim {
        claim_id: id(number),
        scopes: vec!["src/db".to_owned().try_into().expect("a scope")],
        ..fact(statement)
    };
    let decision = |number: u128, statement: &str, supersedes: Vec<ClaimId>| RecordDecision {
        claim_id: id(number),
        statement: Some(text(statement)),
        rationale: "one file, and no server to run".parse().expect("a rationale"),
        context: None,
        target: Some("target:storage".to_owned().try_into().expect("a target")),
        scopes: Vec::new(),
        alternatives: Vec::new(),
        supersedes,
        mends: false,
        evidence_refs: Vec::new(),
        decided_at: None,
        asks: Vec::new(),
        unless_objection_minutes: None,
    };
    let rejected = Alternative {
        claim_id: id(9),
        statement: Some(text("Postgres")),
        rejection_reason: "a server to operate".parse().expect("a reason"),
    };
    let chosen = RecordDecision { alternatives: vec![rejected], ..decision(2, "we keep SQLite", Vec::new()) };
    let evidence = AddEvidence {
        claim_id: id(1),
        evidence_ref: id(2).creation_event().into(),
        relation: Relation::Mentions,
        weight: Share::FULL,
        note: Some("the pool is its".parse().expect("a note")),
    };
    let mut committer = workspace.committer(1);
    commit(
        &mut committer,
        &[
            request(
                "devops",
                Command::CreateClaim(claim(1, "the pool holds *20* connections\n\n# and <b>no</b> more")),
            ),
            position("analyst", id(1), Position::Support),
            request("architect", Command::RecordDecision(chosen)),
            request("devops", Command::AddEvidence(evidence)),
            position("reviewer", id(1), Position::Challenge),
            request(
                "architect",
                Command::RecordDecision(decision(3, "we keep SQLite in WAL mode", vec![id(2)])),
            ),
        ],
    );
    id(1)
}

#[test]
fn the_log_and_the_pages_tell_the_story() {
    let workspace = TempWorkspace::new();
    story(&workspace);
    let (_kept, dir) = place();
    ran(&workspace, &to(&dir));
    let format = "--format=%an <%ae> %ad: %s [%(trailers:key=Hivemind-Seq,valueonly,separator=)]";
    let log = git(&dir, &["log", "--reverse", "--date=format-local:%H:%M", format]);
    expect![[r#"
        Hivemind <mirror@hivemind.invalid> 08:01: Begin the mirror of a memory [0]
        devops <devops@hivemind.invalid> 08:01: devops states C1: the pool holds *20* connections # and <b>no</b> more [1]
        analyst <analyst@hivemind.invalid> 08:02: analyst supports C1 [2]
        analyst <analyst@hivemind.invalid> 08:02: C1 is now confirmed (was proposed): supported by analyst [3]
        architect <architect@hivemind.invalid> 08:03: architect states decision C2: we keep SQLite [4]
        architect <architect@hivemind.invalid> 08:03: architect gives the rationale of decision C2: one file, and no server to run [5]
        architect <architect@hivemind.invalid> 08:03: architect states hypothesis C3: Postgres [6]
        architect <architect@hivemind.invalid> 08:03: hypothesis C3 is now deprecated (was proposed): rejected alternative [7]
        devops <devops@hivemind.invalid> 08:04: devops adds a mention of C1: the pool is its [8]
        reviewer <reviewer@hivemind.invalid> 08:05: reviewer challenges C1: seen otherwise [9]
        reviewer <reviewer@hivemind.invalid> 08:05: C1 is now contested (was confirmed): challenged by reviewer [10]
        architect <architect@hivemind.invalid> 08:06: architect states decision C4: we keep SQLite in WAL mode [12]
        architect <architect@hivemind.invalid> 08:06: architect gives the rationale of decision C4: one file, and no server to run [13]
        architect <architect@hivemind.invalid> 08:06: decision C4 supersedes decision C2 [14]
        architect <architect@hivemind.invalid> 08:06: decision C2 is now deprecated (was proposed): superseded by C4 [15]
    "#]].assert_eq(&log);
    let dates = git(&dir, &["log", "--format=%at %ct"]);
    assert!(
        dates.lines().all(|line| line.split_once(' ').is_some_and(|(author, committer)| author == committer))
    );
    let pages = pages(&dir);
    expect![[r#"
        ---
        id: "01900000-0000-7000-8000-000000000f01"
        name: "C1"
        type: "fact"
        state: "contested"
        owner: "devops"
        confidence: 1.0
        scopes: ["src/db"]
        created: "2027-01-15T08:01:00Z"
        statement: "the pool holds *20* connections\n\n# and <b>no</b> more"
        positions: [{"agent":"analyst","at":"2027-01-15T08:02:00Z","position":"support"},{"agent":"reviewer","at":"2027-01-15T08:05:00Z","position":"challenge","reason":"seen otherwise"}]
        evidence: [{"at":"2027-01-15T08:04:00Z","by":"devops","event":"01900000-0000-7000-8000-000000000f02","grade":"asserted","note":"the pool is its","relation":"mentions","weight":1.0}]
        ---

        # C1 fact, contested

        > the pool holds \*20\* connections
        >
        > \# and \<b\>no\</b\> more

        ## Positions

        - analyst: support
        - reviewer: challenge: seen otherwise

        ## Evidence

        - mentions, asserted, by devops, event 01900000-0000-7000-8000-000000000f02: the pool is its
    "#]].assert_eq(&pages["C1"].1);
    expect![[r#"
        ---
        id: "01900000-0000-7000-8000-000000000f03"
        name: "C4"
        type: "decision"
        state: "proposed"
        owner: "architect"
        confidence: 1.0
        scopes: ["target:storage"]
        created: "2027-01-15T08:06:00Z"
        statement: "we keep SQLite in WAL mode"
        target: "storage"
        rationale: "one file, and no server to run"
        supersedes: ["01900000-0000-7000-8000-000000000f02"]
        ---

        # C4 decision, proposed

        > we keep SQLite in WAL mode

        ## Rationale

        > one file, and no server to run

        ## Other claims

        - supersedes [C2](../decisions/C2-01900000-0000-7000-8000-000000000f02.md)
    "#]]
    .assert_eq(&pages["C4"].1);
    let lists = fs::read_dir(dir.join("scopes")).expect("lists").flatten();
    let mut lists: Vec<String> = lists.map(|list| fs::read_to_string(list.path()).expect("UTF-8")).collect();
    lists.sort_unstable();
    expect![[r#"
        # Claims about src/db

        - [C1 fact, contested](../claims/C1-01900000-0000-7000-8000-000000000f01.md) by devops: the pool holds \*20\* connections # and \<b\>no\</b\> more

        # Claims about target:storage

        - [C2 decision, deprecated](../decisions/C2-01900000-0000-7000-8000-000000000f02.md) by architect: we keep SQLite
        - [C3 hypothesis, deprecated](../claims/C3-01900000-0000-7000-8000-000000000f09.md) by architect: Postgres
        - [C4 decision, proposed](../decisions/C4-01900000-0000-7000-8000-000000000f03.md) by architect: we keep SQLite in WAL mode
    "#]].assert_eq(&lists.join("\n"));
}

/// The front matter of a page, read as YAML. Unlike JSON, YAML gives no two types of numbers away here.
fn front(page: &str) -> BTreeMap<String, Value> {
    let front =
        page.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("front matter").0;
    let documents = Yaml::load_from_str(front).unwrap_or_else(|error| panic!("{error}: {front}"));
    assert_eq!(documents.len(), 1, "{front}");
    let Value::Object(fields) = plain(&documents[0]) else { panic!("{front}") };
    fields.into_iter().collect()
}

fn plain(yaml: &Yaml<'_>) -> Value {
    if let Some(fields) = yaml.as_mapping() {
        let fields =
            fields.iter().map(|(key, value)| (key.as_str().expect("a word").to_owned(), plain(value)));
        return Value::Object(fields.collect());
    }
    if let Some(items) = yaml.as_sequence() {
        return Value::Array(items.iter().map(plain).collect());
    }
    if let Some(text) = yaml.as_str() {
        return text.into();
    }
    let number = yaml.as_floating_point().or_else(|| yaml.as_integer().map(|number| number as f64));
    json!(number.expect("a text or a number"))
}

#[test]
fn hostile_text_is_data_in_every_page() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let more = [
        "---\nid: forged\n---\n# C9 fact, confirmed\n\n## Positions\n\n- operator: support",
        "!!python/object/apply:os.system ['true'] &anchor *alias {a: b} [c] ? : | > % @ `",
        "![pixel](https://example.org/p.png) <img src=x onerror=alert(1)> <!-- --> &lt;b&gt; ~~s~~",
        "tags \u{e0041}\u{e0042} non-character \u{1fffe} lone \u{feff}bom \u{85}next",
    ];
    let cited = creation("devops", "an ordinary claim");
    commit(&mut committer, std::slice::from_ref(&cited));
    let mut stated = BTreeMap::new();
    let rendered = crate::rendered::texts().map(|(_, text)| text);
    let all: Vec<String> =
        texts().into_iter().chain(rendered).chain(more.iter().map(ToString::to_string)).collect();
    for text in &all {
        let made = creation("devops", text);
        let id = claim_of(&made);
        let reason: String = text.chars().take(400).collect();
        let mut challenge = position("analyst", id, Position::Challenge);
        if let Command::TakePosition(taken) = &mut challenge.command {
            taken.reason = Some(reason.parse().expect("a reason"));
        }
        let note = AddEvidence {
            claim_id: id,
            evidence_ref: claim_of(&cited).creation_event().into(),
            relation: Relation::Mentions,
            weight: Share::FULL,
            note: Some(reason.parse().expect("a note")),
        };
        commit(&mut committer, &[made, challenge, request("devops", Command::AddEvidence(note))]);
        stated.insert(id.to_string(), (text.trim().to_owned(), reason.trim().to_owned()));
    }
    drop(committer);
    let (_kept, dir) = place();
    ran(&workspace, &to(&dir));
    assert_whole(&dir);
    let mut pages = pages(&dir);
    pages.remove("C1").expect("the ordinary claim");
    assert_eq!(pages.len(), stated.len());
    let acts = |c: char| {
        (c.is_control() && c != '\n') || "\u{202e}\u{202c}\u{2066}\u{200f}\u{feff}\u{e0041}".contains(c)
    };
    for (path, page) in pages.values() {
        let fields = front(page);
        let (text, reason) = &stated[fields["id"].as_str().expect("an id")];
        assert_eq!(fields["statement"], json!(text), "{}", path.display());
        assert_eq!(fields["owner"], json!("devops"));
        assert_eq!(fields["state"], json!("contested"));
        assert_eq!(fields["scopes"], json!(["."]));
        assert_eq!(fields["positions"][0]["reason"], json!(reason));
        assert_eq!(fields["evidence"][0]["note"], json!(reason));
        assert!(!page.contains(acts), "{page:?}");
        // Stored text begins no heading, and every line of the statement is quoted.
        let body = page.split_once("\n---\n").expect("front matter").1;
        let headings: Vec<&str> = body.lines().filter(|line| line.starts_with('#')).skip(1).collect();
        let known = ["## Other claims", "## Positions", "## Evidence"];
        assert!(headings.len() >= 2 && headings.iter().all(|heading| known.contains(heading)), "{body}");
    }
    let tags = pages
        .values()
        .filter(|(_, page)| page.split_once("\n---\n").is_some_and(|(_, body)| body.contains("\n> <")));
    assert_eq!(tags.count(), 0, "a tag is open");
    let log = git(&dir, &["log", "--format=%B"]);
    assert!(!log.contains(acts), "{log:?}");
    let ours = git(&dir, &["log", "--format=%(trailers:key=Hivemind-Seq,valueonly)"]);
    assert_eq!(ours.split_whitespace().count(), git(&dir, &["rev-list", "HEAD"]).lines().count());
}

#[test]
fn a_killed_run_is_finished_by_the_next_one() {
    let workspace = with_claims(400);
    let (_kept, whole) = place();
    let began = system::instant();
    let head = ran(&workspace, &to(&whole)).head;
    let took_us = usize::try_from(began.elapsed().as_micros()).expect("a short time");
    let mut dice = Dice::new(seed("mirror"));
    let mut stopped = 0;
    let rounds = if long() { 20 } else { 8 };
    for round in 0..rounds {
        let (_kept, dir) = place();
        // Each second round goes on where a killed run stopped several times.
        for _ in 0..1 + 2 * (round % 2) {
            let mut process = Process::new(HM);
            process.args(["mirror", "--to"]).arg(&dir).arg("--dir").arg(workspace.root());
            let mut child = process.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("hm runs");
            std::thread::sleep(Duration::from_micros(dice.below(took_us) as u64));
            stopped += usize::from(child.try_wait().expect("a child").is_none());
            child.kill().expect("a child to kill");
            child.wait().expect("a child to wait for");
        }
        assert_eq!(ran(&workspace, &to(&dir)).head, head, "round {round}");
        assert_whole(&dir);
        let left = git(&dir, &["ls-files", "--others"]);
        assert_eq!(left, "", "round {round}");
    }
    eprintln!("{stopped} runs were killed before their end");
    assert!(stopped > rounds / 4, "hardly a run was killed before its end");
}

/// Edits the statement of a claim in a directory. The path of the file.
fn edited(dir: &Path, name: &str, from: &str, into: &str) -> PathBuf {
    let (path, text) = pages(dir).remove(name).expect("a page");
    let (front, body) = text.split_once("\n---\n").expect("front matter");
    assert!(body.contains(from), "{body}");
    fs::write(&path, format!("{front}\n---\n{}", body.replacen(from, into, 1))).expect("an edit");
    path
}

#[test]
fn an_edit_is_shown_and_proposed_once_and_never_lost() {
    let shell = Shell::new();
    let workspace = shell.workspace();
    for line in [
        "hm claim create \"the pool holds 20 connections\" --scope src/db --agent devops",
        "hm claim create \"the cache has no limit\" --scope src/cache --agent devops",
    ] {
        assert!(shell.run(line).status.success(), "{line}");
    }
    let (_kept, dir) = place();
    let option = format!("--to {}", dir.display());
    ran(&workspace, &to(&dir));
    let told = shell.json(&format!("hm --json mirror diff {option}"));
    assert_eq!(told["edits"], json!([]));
    edited(&dir, "C1", "holds 20", "holds 50");
    let diff = String::from_utf8(shell.run(&format!("hm mirror diff {option}")).stdout).expect("UTF-8");
    assert!(
        diff.contains("  - the pool holds 20 connections\n  + the pool holds 50 connections\n"),
        "{diff}"
    );

    // Red before: the lines of an edit beside the statement were not shown.
    edited(&dir, "C2", "fact, proposed", "fact, confirmed");
    let diff = String::from_utf8(shell.run(&format!("hm mirror diff {option}")).stdout).expect("UTF-8");
    assert!(
        diff.contains("changed beside the statement, not proposed\n")
            && diff.contains("  - # C2 fact, proposed\n  + # C2 fact, confirmed\n"),
        "{diff}"
    );
    edited(&dir, "C2", "fact, confirmed", "fact, proposed");

    let refused = shell.run(&format!("hm mirror {option}"));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        refused.status.code() == Some(1) && said.contains("was edited") && said.contains("--set-aside"),
        "{said}"
    );
    let by_agent = shell.run(&format!("hm --agent devops mirror diff {option} --propose"));
    assert!(!by_agent.status.success(), "an agent proposed as the operator");

    let propose = shell.command(&format!("hm --json mirror diff {option} --propose"));
    let proposed = |output: Output| -> Value { serde_json::from_slice(&output.stdout).expect("JSON") };
    let first = proposed(by_a_human(&propose));
    let second = proposed(by_a_human(&propose));
    assert_eq!(
        (&first["proposed"][0]["state"], &second["proposed"][0]["state"]),
        (&json!("proposed"), &json!("known"))
    );
    assert_eq!(first["proposed"][0]["claim_id"], second["proposed"][0]["claim_id"]);
    let claims = shell.json("hm --json claim list --type hypothesis");
    assert_eq!(claims["claims"].as_array().expect("claims").len(), 1, "{claims}");
    let hypothesis = &claims["claims"][0];
    assert_eq!(
        (&hypothesis["statement"], &hypothesis["owner"], &hypothesis["status"], &hypothesis["scopes"]),
        (&json!("the pool holds 50 connections"), &json!("operator"), &json!("proposed"), &json!(["src/db"]))
    );
    let origin = shell.json("hm --json claim show C1");
    assert_eq!(origin["status"], json!("proposed"), "the edited claim stays as it is");

    let gone_on = shell.json(&format!("hm --json mirror {option} --set-aside"));
    let aside = gone_on["aside"].as_str().expect("a branch").to_owned();
    assert_whole(&dir);
    assert!(git(&dir, &["show", &format!("{aside}:{}", relative(&dir, "C1"))]).contains("holds 50"));
    assert!(pages(&dir)["C1"].1.contains("holds 20") && pages(&dir).contains_key("C3"));
    let (_kept, fresh) = place();
    assert_eq!(
        json!(ran(&workspace, &to(&fresh)).head),
        gone_on["head"],
        "edits leave no trace on the branch"
    );
}

fn relative(dir: &Path, name: &str) -> String {
    let (path, _) = &pages(dir)[name];
    path.strip_prefix(dir).expect("below it").display().to_string()
}

#[test]
fn an_edit_of_an_imported_claim_is_not_the_word_of_its_file() {
    let shell = Shell::new();
    let workspace = shell.workspace();
    fs::write(workspace.root().join("CLAUDE.md"), "- The pool in src/pool.rs holds 20 connections\n")
        .expect("notes");
    let imported = shell.run("hm --agent devops import-notes CLAUDE.md");
    assert!(imported.status.success(), "{imported:?}");
    let (_kept, dir) = place();
    ran(&workspace, &to(&dir));
    edited(&dir, "C1", "20 connections", "50 connections");
    let proposed = by_a_human(&shell.command(&format!("hm mirror diff --to {} --propose", dir.display())));
    assert!(proposed.status.success(), "{proposed:?}");
    let claims = shell.json("hm --json claim list --type hypothesis");
    let hypothesis = &claims["claims"][0];
    let scopes = hypothesis["scopes"].as_array().expect("scopes");
    assert!(!scopes.is_empty() && !scopes.contains(&json!("tag:imported:claude.md")), "{claims}");
    assert_ne!(hypothesis["imported"], json!(true), "{claims}");
}

#[test]
fn commits_of_people_are_edits_amended_ones_too() {
    let workspace = TempWorkspace::new();
    story(&workspace);
    for amend in [false, true] {
        let (_kept, dir) = place();
        let head = ran(&workspace, &to(&dir)).head;
        edited(&dir, "C4", "WAL mode", "rollback mode");
        git(
            &dir,
            if amend { &["commit", "-qa", "--amend", "--no-edit"] } else { &["commit", "-qam", "mine"] },
        );
        let edits = mirror::edits(&workspace, &to(&dir)).expect("a mirror");
        let said: Vec<_> = edits.iter().filter(|edit| edit.edited == Edited::Statement).collect();
        assert_eq!(said.len(), 1, "{edits:?}");
        assert_eq!(said[0].is.as_deref(), Some("we keep SQLite in rollback mode"));
        assert!(matches!(run(&workspace, &to(&dir)), Err(MirrorError::Edited { .. })));
        let wish = Wish { set_aside: true, ..Wish::default() };
        let moved = mirror::run(&workspace, &to(&dir), wish, || false).expect("a run");
        assert_eq!(moved.head, head);
        assert_whole(&dir);
        let aside = moved.aside.expect("a branch");
        assert!(git(&dir, &["show", &format!("{aside}:{}", relative(&dir, "C4"))]).contains("rollback"));
    }
}

/// Git reads a path with a line break, or one that begins with a quote, only in its own form.
#[test]
fn a_file_of_any_name_is_set_aside() {
    let workspace = with_claims(1);
    let (_kept, dir) = place();
    ran(&workspace, &to(&dir));
    let names = ["\"quoted.md", "two\nlines.md", "back\\slash\n.md"];
    for name in names {
        fs::write(dir.join(name), "mine").expect("a file");
    }
    git(&dir, &["add", "-A"]);
    git(&dir, &["commit", "-qm", "mine"]);
    for name in names {
        fs::write(dir.join(name), "changed").expect("a file");
    }
    let wish = Wish { set_aside: true, ..Wish::default() };
    let aside = mirror::run(&workspace, &to(&dir), wish, || false).expect("a run").aside.expect("a branch");
    let listed = git(&dir, &["ls-tree", "-z", "--name-only", &aside]);
    let kept: Vec<&str> = listed.split('\0').filter(|name| names.contains(name)).collect();
    assert_eq!(kept.len(), names.len(), "{listed:?}");
    for name in names {
        assert_eq!(git(&dir, &["show", &format!("{aside}:{name}")]), "changed");
    }
    assert_whole(&dir);
}

/// Red before: with a branch of the project that holds a mirror checked out, the mirror was written into it.
#[test]
fn the_work_tree_of_the_project_is_no_place_for_a_mirror() {
    let bench = Bench::in_git();
    assert!(
        bench.hm(&["--agent", "devops", "claim", "create", "it is so", "--scope", "src"]).status.success()
    );
    let workspace = bench.workspace();
    git(bench.root(), &["commit", "-q", "--allow-empty", "-m", "begin"]);
    git(bench.root(), &["switch", "-q", "-c", "work"]);
    ran(workspace, &Place::Branch("main-mirror".to_owned()));
    git(bench.root(), &["branch", "-q", "-f", "main", "main-mirror"]);
    git(bench.root(), &["symbolic-ref", "HEAD", "refs/heads/main"]);
    assert!(matches!(run(workspace, &to(bench.root())), Err(MirrorError::NotEmpty(_))));
}

/// Red before: a link in the place of a page ended the run, and every later one.
#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_page_is_set_aside() {
    let workspace = with_claims(2);
    let (_kept, dir) = place();
    ran(&workspace, &to(&dir));
    let name = relative(&dir, "C1");
    let page = dir.join(&name);
    fs::remove_file(&page).expect("a page");
    std::os::unix::fs::symlink("../elsewhere.md", &page).expect("a link");
    let wish = Wish { set_aside: true, ..Wish::default() };
    let aside = mirror::run(&workspace, &to(&dir), wish, || false).expect("a run").aside.expect("a branch");
    assert_eq!(git(&dir, &["show", &format!("{aside}:{name}")]), "../elsewhere.md", "where it led");
    assert!(fs::symlink_metadata(&page).expect("a page").is_file());
    assert_whole(&dir);
}

/// Red before: the first refused edit ended the verb.
#[test]
fn a_refused_edit_keeps_no_other_from_being_proposed() {
    let shell = Shell::new();
    let workspace = shell.workspace();
    for line in [
        "hm claim create \"the pool holds 20\" --scope src/db --agent devops",
        "hm claim create \"the cache has no limit\" --scope src/cache --agent devops",
    ] {
        assert!(shell.run(line).status.success(), "{line}");
    }
    let (_kept, dir) = place();
    ran(&workspace, &to(&dir));
    edited(&dir, "C1", "holds 20", &format!("holds AKIA{}", "2OG6YBAQ7XZP5M3C"));
    edited(&dir, "C2", "no limit", "a limit");
    let propose = shell.command(&format!("hm --json mirror diff --to {} --propose", dir.display()));
    let told: Value = serde_json::from_slice(&by_a_human(&propose).stdout).expect("JSON");
    let state = |at: usize| told["proposed"][at]["state"].as_str().map(str::to_owned);
    assert_eq!([state(0), state(1)].map(Option::unwrap), ["refused", "proposed"], "{told}");
    assert_eq!(told["proposed"][0]["code"], json!("privacy_deny_sensitive"));
}

/// Red before: an unreadable list read as an empty one, and the next run wrote over it.
#[test]
fn an_unreadable_list_of_mirrors_is_no_empty_one() {
    let workspace = with_claims(1);
    let (_kept, dir) = place();
    fs::write(workspace.mirrors(), "[").expect("a file");
    assert!(matches!(run(&workspace, &to(&dir)), Err(MirrorError::Io { .. })));
    assert_eq!(fs::read_to_string(workspace.mirrors()).expect("a file"), "[");
}

/// What a run refuses, and that it changes nothing then.
#[test]
fn a_mirror_takes_no_place_that_is_not_its_own() {
    let bench = Bench::in_git();
    let other = with_claims(1);
    assert!(
        bench.hm(&["--agent", "devops", "claim", "create", "it is so", "--scope", "src"]).status.success()
    );
    let workspace = bench.workspace();
    git(bench.root(), &["commit", "-q", "--allow-empty", "-m", "begin"]);
    git(bench.root(), &["branch", "theirs"]);
    let head = git(bench.root(), &["rev-parse", "HEAD", "theirs"]);
    let branch = |name: &str| Place::Branch(name.to_owned());
    assert!(matches!(run(workspace, &branch("main")), Err(MirrorError::CheckedOut(_))));
    assert!(matches!(run(workspace, &branch("theirs")), Err(MirrorError::NotEmpty(_))));
    assert!(matches!(run(workspace, &branch("a..b")), Err(MirrorError::BadBranch(_))));
    for special in ["--exec=x", "HEAD", "refs/heads/memory"] {
        assert!(matches!(run(workspace, &branch(special)), Err(MirrorError::BadBranch(_))), "{special}");
    }
    assert!(matches!(
        run(workspace, &to(&bench.root().canonicalize().expect("a path"))),
        Err(MirrorError::NotEmpty(_))
    ));
    assert_eq!(git(bench.root(), &["rev-parse", "HEAD", "theirs"]), head);

    let (_kept, dir) = place();
    fs::create_dir(&dir).expect("a directory");
    fs::write(dir.join("mine.txt"), "mine").expect("a file");
    assert!(matches!(run(workspace, &to(&dir)), Err(MirrorError::NotEmpty(_))));
    fs::remove_file(dir.join("mine.txt")).expect("a file");
    let made = ran(workspace, &to(&dir));
    assert!(matches!(run(&other, &to(&dir)), Err(MirrorError::OtherLedger(_))));
    git(&dir, &["switch", "-qc", "review"]);
    assert!(matches!(run(workspace, &to(&dir)), Err(MirrorError::OffMain(_))));

    let on_branch = ran(workspace, &branch("memory"));
    assert_eq!(on_branch.head, made.head, "a branch has the commits of a directory");
    assert_eq!(ran(workspace, &branch("memory")).commits, 0);
    assert_eq!(git(bench.root(), &["status", "--porcelain", "--untracked-files=no"]), "");
    assert!(matches!(run(&other, &branch("memory")), Err(MirrorError::NoRepository)));
}

/// Programs that a repository names are not started, and its settings change no byte.
#[test]
fn no_hook_filter_or_setting_has_a_say() {
    let bench = Bench::in_git();
    let other = TempWorkspace::new();
    story(&other);
    assert!(
        bench.hm(&["--agent", "devops", "claim", "create", "it is so", "--scope", "src"]).status.success()
    );
    let workspace = bench.workspace();
    let (_kept, dir) = place();
    let place = Place::Branch("memory".to_owned());
    let proof = bench.root().join("was-started");
    let program = bench.root().join("program.sh");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", proof.display())).expect("a program");
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    let program = program.to_str().expect("UTF-8").to_owned();
    ran(workspace, &to(&dir));
    for repository in [bench.root(), &dir] {
        let hooks = repository.join(".git/hooks");
        fs::create_dir_all(&hooks).expect("a directory");
        for hook in [
            "reference-transaction",
            "post-checkout",
            "pre-commit",
            "post-commit",
            "post-index-change",
            "pre-auto-gc",
        ] {
            fs::copy(&program, hooks.join(hook)).expect("a hook");
        }
        for (key, value) in [
            ("core.hooksPath", ".git/hooks"),
            ("filter.x.clean", &*program),
            ("filter.x.smudge", &*program),
            ("filter.x.process", &*program),
            ("core.fsmonitor", &*program),
            ("core.autocrlf", "true"),
            ("commit.gpgsign", "true"),
            ("gpg.program", &*program),
            ("diff.external", &*program),
        ] {
            git(repository, &["config", key, value]);
        }
        fs::create_dir_all(repository.join(".git/info")).expect("a directory");
        fs::write(repository.join(".git/info/attributes"), "* filter=x text eol=crlf ident\n")
            .expect("attributes");
    }
    assert!(
        bench
            .hm(&["--agent", "devops", "claim", "create", "it is $Id$ so", "--scope", "src"])
            .status
            .success()
    );
    drop(fs::remove_file(&proof));
    let on_branch = ran(workspace, &place);
    let in_dir = ran(workspace, &to(&dir));
    assert_eq!(on_branch.head, in_dir.head);
    edited(&dir, "C1", "it is so", "it is not");
    assert_eq!(mirror::edits(workspace, &to(&dir)).expect("a mirror").len(), 1);
    let wish = Wish { set_aside: true, rewrite: true };
    mirror::run(workspace, &to(&dir), wish, || false).expect("a run");
    assert!(!proof.exists(), "a program of the repository was started");
    let (_kept, plain) = self::place();
    assert_eq!(ran(workspace, &to(&plain)).head, in_dir.head);
    let texts = |dir: &Path| pages(dir).into_values().map(|(_, text)| text).collect::<Vec<_>>();
    assert_eq!(texts(&dir), texts(&plain));
}

#[test]
fn what_is_erased_leaves_the_mirror_on_request() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let secret = creation("devops", "the word is zqxjvkwb");
    let plain = creation("devops", "the pool holds 20");
    commit(&mut committer, &[secret.clone(), plain]);
    drop(committer);
    let (_kept, dir) = place();
    ran(&workspace, &to(&dir));
    assert!(git(&dir, &["log", "-p"]).contains("zqxjvkwb"));
    let mut committer = workspace.committer(2);
    let reason = "asked to".parse().expect("a reason");
    let forget = Forget { event_id: claim_of(&secret).creation_event(), reason, with_quotes: false };
    commit(&mut committer, &[request("operator", Command::Forget(forget))]);
    drop(committer);

    assert!(matches!(run(&workspace, &to(&dir)), Err(MirrorError::Erased { is_edited: false, .. })));
    // An edit besides: each way names both options, and none leaves a branch before both are there.
    edited(&dir, "C2", "holds 20", "holds 30");
    let with = |set_aside, rewrite| mirror::run(&workspace, &to(&dir), Wish { rewrite, set_aside }, || false);
    for refused in [with(false, false), with(false, true), with(true, false)] {
        let way = refused.expect_err("a refusal").way();
        assert!(way.contains("--set-aside --rewrite"), "{way}");
    }
    assert_eq!(git(&dir, &["for-each-ref", "--format=%(refname)", "refs/heads"]), "refs/heads/main\n");
    let anew = with(true, true).expect("a run");
    let aside = anew.aside.clone().expect("a branch");
    assert!(git(&dir, &["log", "-p", &aside]).contains("holds 30"));
    git(&dir, &["branch", "-qD", &aside]);
    let wish = Wish { rewrite: true, ..Wish::default() };
    let anew = mirror::run(&workspace, &to(&dir), wish, || false).expect("a run");
    assert_whole(&dir);
    assert!(!git(&dir, &["log", "-p", "--all"]).contains("zqxjvkwb"));
    let objects = git(&dir, &["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!objects.contains("zqxjvkwb"), "an object keeps it");
    // The names of the other claims stay.
    assert_eq!(pages(&dir).keys().map(String::as_str).collect::<Vec<_>>(), ["C2"]);
    let (_kept, fresh) = place();
    assert_eq!(ran(&workspace, &to(&fresh)).head, anew.head);
    for dir in [&dir, &fresh] {
        assert_eq!(ran(&workspace, &to(dir)).commits, 0, "it goes on from there");
    }
    let mut committer = workspace.committer(3);
    commit(&mut committer, &[creation("devops", "later")]);
    drop(committer);
    let heads = [&dir, &fresh].map(|dir| ran(&workspace, &to(dir)).head);
    assert_eq!(heads[0], heads[1]);
    assert_eq!(pages(&fresh).keys().map(String::as_str).collect::<Vec<_>>(), ["C2", "C3"]);
}

#[test]
fn an_erasure_names_the_mirrors_and_private_words_are_in_none() {
    let shell = Shell::new();
    let workspace = shell.workspace();
    assert!(
        shell.run("hm claim create \"the pool holds 20\" --scope src/db --agent devops").status.success()
    );
    let mut save = shell.command("hm --agent operator anchor save note qzvprivate --space user");
    let kept = by_a_human(save.env("HM_USER", "ann"));
    assert!(kept.status.success(), "{kept:?}");
    let (_kept, dir) = place();
    ran(&workspace, &to(&dir));
    assert!(!git(&dir, &["cat-file", "--batch-all-objects", "--batch"]).contains("qzvprivate"));
    let list = by_a_human(&shell.command("hm --json forget --agent devops --dry-run"));
    let list: Value = serde_json::from_slice(&list.stdout).expect("JSON");
    let beyond = list["beyond"].to_string();
    assert!(beyond.contains(&dir.display().to_string()) && beyond.contains("--rewrite"), "{list}");
}

#[test]
fn the_writer_goes_on_with_a_mirror_that_was_begun() {
    let shell = Shell::new();
    let workspace = shell.workspace();
    let (_kept, dir) = place();
    let said = |line: &str| assert!(shell.run(line).status.success(), "{line}");
    // The job runs when the writer starts, perhaps before the command that starts it.
    let restarted = || {
        shell.end_writer();
        fs::remove_file(workspace.schedule()).ok();
        said("hm rebuild");
        all_ran(&workspace).0["mirror"].clone()
    };
    said("hm claim create \"the pool holds 20\" --scope src/db --agent devops");
    assert_eq!(restarted().detail, "off: [mirror] names no place");
    fs::write(workspace.config(), format!("[mirror]\nto = \"{}\"\n", dir.display()))
        .expect("a configuration");
    let named = restarted();
    assert_eq!(named.outcome, JobOutcome::Attention);
    assert!(!dir.exists(), "a configuration alone begins no mirror");
    let status = String::from_utf8(shell.run("hm status").stdout).expect("UTF-8");
    assert!(status.contains("mirror: the configuration names"), "{status}");
    let attention = || String::from_utf8(shell.run("hm attention --all").stdout).expect("UTF-8");
    assert!(attention().contains("the configuration names"), "{}", attention());
    // Red before: both of these left the item until the job ran again.
    let configured = fs::read_to_string(workspace.config()).expect("a configuration");
    fs::write(workspace.config(), "").expect("a configuration");
    assert!(!attention().contains("the configuration names"), "{}", attention());
    fs::write(workspace.config(), configured).expect("a configuration");
    assert_eq!(restarted().outcome, JobOutcome::Attention);
    assert!(attention().contains("the configuration names"), "{}", attention());
    ran(&workspace, &to(&dir));
    assert!(!attention().contains("the configuration names"), "{}", attention());
    said("hm claim create \"the pool is slow\" --scope src/db --agent devops");
    let goes_on = restarted();
    assert_eq!(goes_on.outcome, JobOutcome::Ok, "{}", goes_on.detail);
    assert!(goes_on.detail.contains("new commits, up to event"), "{}", goes_on.detail);
    let status = String::from_utf8(shell.run("hm status").stdout).expect("UTF-8");
    assert!(status.contains("mirror:    ") && status.contains("up to event"), "{status}");
    assert_eq!(pages(&dir).len(), 2);
    assert_whole(&dir);
    edited(&dir, "C1", "holds 20", "holds 50");
    let edited = restarted();
    assert_eq!(edited.outcome, JobOutcome::Attention);
    assert!(edited.detail.contains("was edited"), "{}", edited.detail);
}
