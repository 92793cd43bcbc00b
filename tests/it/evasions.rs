//! Ways in which an agent could end a dispute or a decision without a word to the agents that it concerns.

use serde_json::{Value, json};

use hivemind::mcp::{Era, Pane};

use crate::bench::Bench;
use crate::harness::wait_until;
use crate::shell::Shell;

fn text(shell: &Shell, line: &str) -> String {
    let output = shell.run(line);
    let told = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8")).concat();
    told.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn does(shell: &Shell, line: &str) -> Value {
    let output = shell.run(&format!("{line} --json"));
    assert!(output.status.success(), "{line}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn challenged() -> Shell {
    let shell = Shell::new();
    does(&shell, "hm claim create \"the pool holds one\" --scope src --agent devops");
    does(&shell, "hm claim challenge C1 --reason \"it holds two\" --agent analyst");
    shell
}

/// Red before: the owner put a new claim in the place of the challenged one, and silence confirmed it.
#[test]
fn silence_does_not_confirm_what_takes_the_place_of_a_challenged_claim() {
    let shell = challenged();
    let line = "hm claim create \"the pool holds 1\" --scope src --supersedes C1 --mends \
                --unless-objection-minutes 1 --agent devops";
    let refused = text(&shell, line);
    assert!(
        refused.contains("analyst challenges claim C1, and silence does not end a challenge"),
        "{refused}"
    );
    assert!(refused.contains("leave this out, and add analyst to asks"), "{refused}");
    // Red before: who had asked the challenger was told to ask it.
    let refused = text(&shell, &format!("{line} --ask analyst"));
    assert!(refused.contains("leave this out; analyst is asked without it"), "{refused}");
    assert_eq!(shell.json("hm claim show C1 --json")["status"], "contested");
    // The end of the challenged claim is no way around it.
    does(&shell, "hm claim deprecate C1 --reason \"it is said anew\" --agent devops");
    let refused = text(&shell, line);
    assert!(refused.contains("analyst challenges claim C1"), "{refused}");
}

/// Red before: the challenger was not told that the challenge ended with the claim.
#[test]
fn a_challenger_is_told_what_took_the_place_of_the_claim() {
    for how in ["", " --mends"] {
        let shell = challenged();
        does(
            &shell,
            &format!("hm claim create \"the pool holds 1\" --scope src --supersedes C1{how} --agent devops"),
        );
        let needs = text(&shell, "hm attention --agent analyst");
        let sentence = "devops replaced a claim that you challenged, and your challenge ended with it. The new one: the pool holds 1";
        assert!(needs.contains(sentence), "{how}: {needs}");
        assert!(needs.contains("hm claim challenge C2"), "{how}: {needs}");
        let news = text(&shell, "hm news --agent analyst");
        assert!(news.contains("<question") && news.contains("C2"), "{how}: {news}");
        does(&shell, "hm claim abstain C2 --agent analyst");
        let answered = text(&shell, "hm attention --agent analyst");
        assert!(!answered.contains("your challenge ended"), "{how}: {answered}");
    }
}

/// Red before: every agent joined two targets over MCP, and the same words in a shell were for the operator only.
#[tokio::test]
async fn the_names_of_targets_are_the_operators_over_mcp_too() {
    let bench = Bench::new();
    let pane = Pane::offered(bench.binary(), bench.root(), Some("architect"), Era::Modern, "all").await;
    let pane = pane.expect("a pane");
    for (target, statement) in [("db", "use sqlite"), ("database", "use pg")] {
        let decision =
            json!({ "statement": statement, "target": target, "rationale": "because it is the best" });
        bench.accepted(&pane, "record_decision", decision).await;
    }
    for (tool, given) in [
        ("alias_target", json!({ "target": "db", "alias": "database" })),
        ("part_target", json!({ "alias": "database" })),
    ] {
        let refused = pane.call(tool, given).await.expect("an answer");
        assert_eq!((refused.refused, refused.field("code")), (true, "not_allowed"), "{}", refused.text);
        assert!(refused.text.contains("for the operator only"), "{}", refused.text);
        assert!(refused.text.contains("ask the operator"), "{}", refused.text);
    }
    assert!(bench.events().iter().all(|event| event.kind != "target.aliased"));
}

/// Red before: the receipt was silent about the target that had no decision from then on.
#[test]
fn a_decision_that_leaves_another_target_without_one_says_so() {
    let shell = Shell::new();
    let decides = |what: &str| {
        let line =
            format!("hm decision record {what} --rationale \"because it is the best choice\" --agent devops");
        does(&shell, &line)["warnings"].clone()
    };
    assert_eq!(decides("\"use sqlite\" --target db"), json!([]));
    assert_eq!(decides("\"use pg\" --target db --supersedes C1"), json!([]));
    let warned = decides("\"paint it blue\" --target colour --supersedes C2");
    assert_eq!(
        (&warned[0]["code"], warned.as_array().map(Vec::len)),
        (&json!("target_left_open"), Some(1)),
        "{warned}"
    );
    let message = warned[0]["message"].as_str().expect("a sentence");
    assert!(message.contains("no decision is in force on target:db now"), "{message}");
    assert!(message.contains("hm decision record"), "{message}");
}

/// Red before: the receipt took the word of the owner that a claim was mended that a run had just contradicted.
#[test]
fn a_mending_without_a_change_says_so() {
    for is_changed in [false, true] {
        let shell = Shell::new();
        let root = shell.workspace().root().to_owned();
        let dir = shell.workspace().marker_dir().join("profiles");
        let write = |path: &std::path::Path, text: &str| {
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        };
        write(&root.join("src/pool.rs"), "1");
        let profile = "description = 'a test'\nargv = ['sh', '-c', 'exit 1']\nscopes = ['src/**']\n\
                       timeout_ms = 60000\n[expect]\nexit = 0\nfails = [1]\n";
        write(&dir.join("fails.toml"), profile);
        assert!(shell.run("hm profile trust fails --yes --agent operator").status.success());
        does(&shell, "hm claim create \"the pool is fine\" --scope src/pool.rs --agent devops");
        does(&shell, "hm claim challenge C1 --reason \"it is not\" --agent analyst");
        shell.run("hm experiment run fails --claim C1 --blocking --agent devops");
        let claim = shell.json("hm claim show C1 --json");
        assert_eq!(claim["evidence_items"][0]["relation"], "contradicts", "{claim}");
        if is_changed {
            write(&root.join("src/pool.rs"), "2");
        }
        let line = "hm claim create \"the pool is fine again\" --scope src/pool.rs --supersedes C1 --mends --agent devops";
        let receipt = does(&shell, line);
        let warning = &receipt["warnings"][0];
        if is_changed {
            assert_eq!(*warning, Value::Null, "{receipt}");
        } else {
            assert_eq!(warning["code"], "nothing_changed", "{receipt}");
            let message = warning["message"].as_str().expect("a sentence");
            assert!(message.starts_with("no file of claim "), "{message}");
            let made = receipt["claim_id"].as_str().expect("a claim");
            let again = format!("hm experiment run fails --claim {made}");
            assert!(message.contains(&again) && !message.contains("--blocking"), "{message}");
            let ran = shell.run(&format!("{again} --agent devops"));
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert!(!said.contains("is proposed"), "a proposal waits for no run: {said}");
        }
    }
}

/// Red before: the list named a queued decision that did not pass by another id than its receipt, and without its text.
#[test]
fn a_queued_decision_that_does_not_pass_is_named_as_on_its_receipt() {
    let shell = Shell::new();
    shell.end_writer();
    let lock = std::fs::File::open(shell.workspace().writer_lock()).expect("a lock");
    lock.lock().expect("a lock without a holder");
    let queues = |what: &str, agent: &str| {
        let line =
            format!("hm decision record \"{what}\" --target q --rationale \"because it is best\" --json");
        let output = shell.command(&line).env("HM_PATIENCE_MS", "300").env("HM_AGENT", agent).output();
        let receipt: Value = serde_json::from_slice(&output.expect("a receipt").stdout).expect("JSON");
        assert_eq!(receipt["state"], "queued", "{receipt}");
        receipt["claim_id"].as_str().unwrap_or_else(|| panic!("{receipt}")).to_owned()
    };
    queues("use a", "devops");
    let refused = queues("use b", "analyst");
    drop(lock);
    wait_until("the decision did not pass", || {
        shell.run("hm rebuild");
        text(&shell, "hm attention --agent analyst").contains("did not pass")
    });
    let needs = text(&shell, "hm attention --agent analyst");
    let named = format!("record_decision {} was queued and did not pass", &refused[refused.len() - 8..]);
    assert!(needs.contains(&named), "{named}: {needs}");
    assert!(needs.contains("it said: use b"), "{needs}");
    assert!(needs.contains("hm attention --seen"), "{needs}");
}

/// Red before: a claim stayed mended by one that was withdrawn, and every hint led to that one.
#[test]
fn a_claim_whose_mend_was_withdrawn_is_not_called_mended() {
    let shell = Shell::new();
    does(&shell, "hm claim create \"the pool is slow\" --type negative --scope src/pool.rs --agent devops");
    does(
        &shell,
        "hm claim create \"the pool is fast\" --scope src/pool.rs --supersedes C1 --mends --agent devops",
    );
    assert!(text(&shell, "hm claim show C1").contains("mended negative"));
    let receipt = text(&shell, "hm claim deprecate C2 --reason \"not so\" --agent devops");
    assert!(receipt.contains("C1, whose place it took, stays out of force"), "{receipt}");
    assert!(receipt.contains("--type negative --scope src/pool.rs --supersedes C2"), "{receipt}");
    let page = text(&shell, "hm claim show C1");
    assert!(!page.contains("mended negative") && page.contains("out of force too"), "{page}");
    for line in [
        "hm claim support C1 --agent analyst",
        "hm claim create \"it is slow\" --scope src/pool.rs --supersedes C1 --agent devops",
    ] {
        let refused = shell.run(line);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && !told.contains("hm claim support C2"), "{told}");
        assert!(told.contains("C2"), "{told}");
    }
    shell.assert_rebuilds_to_the_same();
}

/// Red before: "nothing to do", though the evidence and the succession were not on record.
#[test]
fn a_repeated_claim_says_what_is_not_on_record() {
    let shell = Shell::new();
    does(&shell, "hm claim create \"the pool holds 5\" --scope src/pool.rs --agent devops");
    let other = does(&shell, "hm claim create \"the pool holds 4\" --scope src/ring.rs --agent devops");
    let event = other["claim_id"].as_str().expect("an id").to_owned();
    let again = "hm claim create \"the pool holds 5\" --scope src/pool.rs --agent devops";
    for (more, says) in [
        (String::new(), "nothing to do: it is yours and on record".to_owned()),
        ("--supersedes C2".to_owned(), "to end C2: `hm claim deprecate C2".to_owned()),
        (format!("--evidence {event}"), "hm claim evidence C1 --ref".to_owned()),
    ] {
        let refused = shell.run(&format!("{again} {more}"));
        let told = crate::governed::on_one_line(&String::from_utf8_lossy(&refused.stderr));
        assert!(!refused.status.success() && told.contains(&says), "{more}: {told}");
    }
}

/// Red before: with `all_active`, one more support of an agent that supported already took the agreement away.
#[test]
fn a_support_takes_no_agreement_away() {
    let shell = Shell::new();
    std::fs::write(shell.workspace().config(), "[quorum]\nall_active = true\n").expect("settings");
    does(&shell, "hm claim create \"the pool holds 5\" --scope src/pool.rs --agent devops");
    does(&shell, "hm claim support C1 --agent analyst");
    assert_eq!(shell.json("hm claim show C1 --json")["status"], "confirmed");
    does(&shell, "hm claim create \"the ring holds 5\" --scope src/ring.rs --agent frontend");
    does(&shell, "hm claim support C1 --agent analyst");
    assert_eq!(shell.json("hm claim show C1 --json")["status"], "confirmed");
}

/// Red before: the receipt said nothing of the agreement that it ended.
#[test]
fn an_abstention_that_ends_an_agreement_says_so() {
    let shell = Shell::new();
    std::fs::write(shell.workspace().config(), "[quorum]\nall_active = true\n").expect("settings");
    does(&shell, "hm claim create \"the pool holds 5\" --scope src/pool.rs --agent devops");
    does(&shell, "hm claim support C1 --agent analyst");
    assert_eq!(shell.json("hm claim show C1 --json")["status"], "confirmed");
    does(&shell, "hm claim create \"the ring holds 5\" --scope src/ring.rs --agent frontend");
    let told = text(&shell, "hm claim abstain C1 --agent frontend");
    let wanted = "the claim was agreed and is proposed now; it waits for the support of frontend";
    assert!(told.contains(wanted), "{told}");
    assert_eq!(shell.json("hm claim show C1 --json")["status"], "proposed");
}

/// Red before: the refusal printed a challenge that its owner may not make, nor an agent whose challenge the run answered.
#[test]
fn what_is_printed_in_place_of_a_retracted_proof_works_for_each_agent() {
    let shell = Shell::new();
    let (file, dir) =
        (shell.workspace().root().join("src/pool.rs"), shell.workspace().marker_dir().join("profiles"));
    let text_of = "description = 'a test'\nargv = ['sh', '-c', 'exit 0']\nscopes = ['src/**']\n\
                   timeout_ms = 60000\n[expect]\nexit = 0\n";
    for (path, holds) in [(file, "1"), (dir.join("fine.toml"), text_of)] {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, holds).expect("a file");
    }
    assert!(shell.run("hm profile trust fine --yes --agent operator").status.success());
    does(&shell, "hm claim create \"the pool is fine\" --scope src/pool.rs --agent devops");
    does(&shell, "hm claim challenge C1 --reason \"it is not\" --agent analyst");
    shell.run("hm experiment run fine --claim C1 --blocking --agent devops");
    assert_eq!(shell.json("hm claim show C1 --json")["status"], "confirmed");
    for agent in ["devops", "analyst", "reviewer"] {
        let refused = text(
            &shell,
            &format!("hm claim retract-evidence C1 R1 --reason \"it is wrong\" --agent {agent}"),
        );
        assert!(refused.contains("its result is not taken back"), "{refused}");
        let printed = refused.split('`').nth(1).expect("a command");
        let ran = shell.run(&format!("{printed} --agent {agent}"));
        let said = [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).expect("UTF-8")).concat();
        assert!(ran.status.success() && said.contains("it supports claim C1"), "{agent}: {printed}: {said}");
    }
    // Red before: of a claim that a failure proved it said "if that fails".
    let text_of = text_of.replace("exit 0'", "exit 1'") + "fails = [1]\n";
    std::fs::write(shell.workspace().marker_dir().join("profiles/no.toml"), text_of).expect("a file");
    assert!(shell.run("hm profile trust no --yes --agent operator").status.success());
    does(&shell, "hm claim create \"the ring is broken\" --scope src/pool.rs --agent devops");
    does(&shell, "hm claim challenge C2 --reason \"it is not\" --agent analyst");
    shell.run("hm experiment run no --claim C2 --prediction fails --blocking --agent devops");
    let refused = text(&shell, "hm claim retract-evidence C2 R5 --reason \"it is wrong\" --agent devops");
    let wanted = "--prediction fails` shows whether it still holds: if that comes out otherwise";
    assert!(refused.contains(wanted), "{refused}");
}

/// Red before: the page of a session that no client opened was shown for the id of any claim or task.
#[test]
fn only_a_session_is_shown_as_one() {
    let shell = Shell::new();
    let claim = does(&shell, "hm claim create \"the pool holds 5\" --scope src/pool.rs --agent devops");
    let id = claim["claim_id"].as_str().expect("an id");
    let shown = shell.run(&format!("hm session show {id}"));
    assert!(!shown.status.success(), "{shown:?}");
}
