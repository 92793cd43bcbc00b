//! Decisions: one in force for each target, alternatives that stay to be found, outcomes with their history.

use expect_test::{Expect, expect};
use hivemind::domain::decide::Policy;
use hivemind::domain::time::Timestamp;
use hivemind::mcp::{Era, Pane};
use hivemind::system::Sources;
use hivemind::writer::Committer;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{TempWorkspace, dump, fact, request};
use crate::shell::Shell;

/// Calls a tool and gives its line with the ids of this test named.
async fn call(pane: &Pane, tool: &str, arguments: Value, names: &mut Vec<String>) -> String {
    let answer = pane.call(tool, arguments).await.expect("an answer");
    let id = answer.field("claim_id").to_owned();
    if !id.is_empty() && !names.contains(&id) {
        names.push(id);
    }
    masked(&answer.text, names)
}

fn masked(text: &str, names: &[String]) -> String {
    names.iter().enumerate().fold(text.to_owned(), |text, (at, id)| text.replace(id, &format!("D{}", at + 1)))
}

fn check(lines: &[String], expected: Expect) {
    expected.assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn one_decision_stands_for_each_target() {
    let bench = Bench::new();
    let architect = bench.pane(Some("architect"), Era::Modern).await;
    let devops = bench.pane(Some("devops"), Era::Legacy).await;
    let mut names = Vec::new();
    let sqlite = json!({
        "statement": "we keep SQLite", "rationale": "one file, nothing to run", "target": "Database",
        "context": "where the memory lives", "scopes": ["src/store"],
        "alternatives": [{ "statement": "Postgres", "rejection_reason": "a server to operate" }],
    });
    let postgres = |supersedes: Value, rationale: &str| {
        json!({
            "statement": "we move to Postgres", "rationale": rationale, "target": "target:database",
            "supersedes": supersedes,
        })
    };
    let mut lines = vec![call(&devops, "record_decision", sqlite, &mut names).await];
    let first = names[0].clone();
    let long = "several machines write now";
    lines.push(call(&architect, "record_decision", postgres(json!([]), long), &mut names).await);
    lines.push(call(&architect, "record_decision", postgres(json!([first]), "because 12"), &mut names).await);
    lines.push(call(&architect, "record_decision", postgres(json!([first]), long), &mut names).await);
    let second = names[1].clone();
    let outcome =
        |id: &str, outcome: &str| json!({ "decision_id": id, "outcome": outcome, "notes": "two outages" });
    lines.push(call(&devops, "record_outcome", outcome(&second, "partial"), &mut names).await);
    lines.push(call(&devops, "record_outcome", outcome(&second, "partial"), &mut names).await);
    lines.push(call(&devops, "record_outcome", outcome(&second, "failure"), &mut names).await);
    let claim = bench.claim(&devops, "a fact is no decision", "src/store").await;
    names.push(claim.clone());
    lines.push(call(&devops, "record_outcome", outcome(&claim, "success"), &mut names).await);
    let back = json!({ "claim_id": claim, "rationale": "long enough to say why", "target": "database" });
    lines.push(call(&devops, "record_decision", back, &mut names).await);
    check(
        &lines,
        expect![[r#"
            record_decision C1: committed at seq 4; next: confirmed once another agent supports it
            target_conflict: decision C1 on target:database is in force; `support {"claim_id":"C1"}`, or with a rationale of 15 characters or more: `record_decision {"rationale":"several machines write now","statement":"we move to Postgres","supersedes":["C1"],"target":"database"}`
            invalid_argument: the rationale has 10 characters, it takes 15 or more to say why it supersedes another decision; correct `rationale` and call again
            record_decision C3: committed at seq 8; next: C1 is out of force as a whole: what still holds of it and is not said here is to be decided again; confirmed once another agent supports it
            record_outcome C3: committed at seq 9
            duplicate_outcome: the outcome of decision C3 is partial already; nothing to do: it is on record
            record_outcome C3: committed at seq 10; next: spare others the dead end: `create_claim`
            no_decision: claim C4 is not on record as a decision; record it first: `record_decision {"claim_id":"C4","rationale":"WHY, IN A SENTENCE"}`, or name one of `hivemind://decisions`
            target_conflict: decision C3 on target:database is in force; `support {"claim_id":"C3"}`, or `challenge {"claim_id":"C3","reason":"WHY, IN A SENTENCE"}`, or ask architect to decide anew"#]],
    );

    let page = devops.read(&format!("hivemind://claims/{second}?format=json")).await.expect("the claim");
    let page: Value = serde_json::from_str(&page).expect("JSON");
    let outcomes = page["decision"]["outcomes"].as_array().expect("outcomes");
    assert_eq!(outcomes.iter().map(|one| &one["outcome"]).collect::<Vec<_>>(), ["partial", "failure"]);
    assert_eq!(page["decision"]["outcome"], "failure");
    let decisions = devops.read("hivemind://decisions?target=database").await.expect("decisions");
    let shown: Vec<String> = masked(&decisions, &names)
        .lines()
        .map(|line| {
            line.split(" ago").next().unwrap_or_default().trim_end_matches(char::is_numeric).to_owned()
        })
        .collect();
    assert_eq!(decisions.lines().filter(|line| line.starts_with("- ")).count(), 2, "{shown:?}");

    // What was not chosen is out of force, on record, and still to be read.
    let rejected = devops.read("hivemind://claims?type=hypothesis&status=deprecated").await.expect("claims");
    assert!(rejected.contains("Postgres (hypothesis, rejected, by devops"), "{rejected}");
    let old = devops.read(&format!("hivemind://claims/{first}")).await.expect("the claim");
    assert!(old.contains("Postgres: a server to operate") && old.contains(&bench.name(&second)), "{old}");
}

#[test]
fn claims_end_when_their_time_is_over_and_only_once() {
    let workspace = TempWorkspace::new();
    let hour = 3_600_000;
    let (clock, now) = (std::sync::Arc::new(std::sync::atomic::AtomicI64::new(hour)), Timestamp::from_ms);
    let told = std::sync::Arc::clone(&clock);
    let mut sources = Sources::system();
    sources.clock = Box::new(move || now(told.load(std::sync::atomic::Ordering::Relaxed)));
    let mut committer = Committer::open(&workspace, Policy::default(), sources).expect("a workspace");
    let mut lasting = fact("stays for good");
    lasting.ttl_hours = None;
    let mut brief = fact("stays for two hours");
    brief.ttl_hours = Some(hivemind::domain::time::Hours(2));
    let id = brief.claim_id;
    let creations = [lasting, brief]
        .map(|claim| request("devops", hivemind::domain::command::Command::CreateClaim(claim)));
    for answer in committer.commit(&creations).expect("a commit") {
        answer.expect("accepted");
    }
    let mut swept = Vec::new();
    for hours in [2, 3, 3, 9] {
        clock.store(hours * hour, std::sync::atomic::Ordering::Relaxed);
        swept.push(hivemind::writer::sweep(&mut committer).expect("a sweep"));
    }
    assert_eq!(swept, [0, 1, 0, 0], "made at hour 1, it ends at hour 3");
    let live = dump(&workspace.team_memory());
    assert!(live.contains("ttl_expired"), "{live}");
    committer.rebuild(|_| ()).expect("a rebuild");
    assert_eq!(dump(&workspace.team_memory()), live);
    assert_eq!(
        committer.state().claim(id).map(|claim| claim.status),
        Some(hivemind::domain::claim::Status::Deprecated)
    );
}

fn refused(shell: &Shell, line: &str) -> String {
    let output = shell.run(line);
    assert!(!output.status.success(), "{line}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Red before: the offered command had the statement, the target and the rationale, and nothing else of the call.
#[test]
fn the_command_that_a_refusal_offers_keeps_every_option_and_passes() {
    let shell = Shell::new();
    let first = "hm --agent devops decision record \"we keep SQLite\" --target db --rationale \"one file, no server\"";
    assert!(shell.run(&format!("{first} --scope src/db")).status.success());
    let second = first.replace("we keep SQLite", "we move to Postgres");
    let second = format!(
        "{second} --scope src/db --scope src/rows.rs --not-chosen \"two files: nobody can say which is right\" \
         --not-chosen \"it's Redis: no SQL\" --context \"two services write\" --ask analyst"
    );
    let text = refused(&shell, &second.replace("one file, no server", "two services write to it"));
    let offered = text.split('`').find(|part| part.starts_with("hm decision record")).expect("a command");
    for kept in
        ["--scope src/db", "--scope src/rows.rs", "'two files: nobody can say which is right'", "no SQL"]
    {
        assert!(offered.contains(kept), "{kept}: {text}");
    }
    let words = shell_words::split(offered).expect("words");
    let output = shell.command("hm --agent devops").args(&words[1..]).output().expect("hm runs");
    assert!(output.status.success(), "{offered}: {output:?}");
    let claims = shell.json("hm --json decision list --target db")["decisions"].clone();
    let new = claims.as_array().and_then(|all| all.first()).expect("a decision");
    assert_eq!(
        (&new["statement"], &new["context"]),
        (&json!("we move to Postgres"), &json!("two services write"))
    );
    let new = shell.json(&format!("hm --json claim show {}", new["claim_id"].as_str().expect("an id")));
    assert_eq!(new["decision"]["alternatives"].as_array().map(Vec::len), Some(2), "{new}");
    assert_eq!(new["scopes"], json!(["src/db", "src/rows.rs", "target:db"]));
    assert_eq!(new["asks"], json!(["analyst"]));
}

/// Red before: the refusal said how many characters were too many, and nothing of the text.
#[test]
fn a_text_that_is_too_long_is_refused_with_the_sentence_that_fits_and_what_follows() {
    let shell = Shell::new();
    let sentence =
        |number: usize| format!("rule {number:02} of the design says what the parser does there. ");
    let design: String = (0..40).map(sentence).collect();
    let record =
        format!("hm --agent devops decision record \"{design}\" --target parser --rationale \"one page\"");
    let text = refused(&shell, &record);
    // 36 sentences of 55 characters, without the last space.
    assert!(text.contains("2199 characters, 199 more than the 2000 that fit: nothing is recorded"), "{text}");
    let fits =
        "the first 1979 characters fit, up to \"rule 35 of the design says what the parser does there.\"";
    assert!(text.contains(fits), "{text}");
    let rest: String = (36..40).map(sentence).collect();
    assert!(text.contains(&format!("what follows there is \"{}\"", rest.trim())), "{text}");
    let endless = refused(&shell, &record.replace('.', ","));
    assert!(endless.contains("no sentence ends within the first 2000 characters"), "{endless}");
    // Nothing can be divided, so the text, which its writer has, is not given back whole.
    assert!(endless.contains(" characters more") && endless.chars().count() < 600, "{endless}");
}
