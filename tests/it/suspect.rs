//! Runs and files that make a proof suspect: the same check under another name, a run that did not end by itself, a link
//! that leads elsewhere, and content that was not compared.

use hivemind::mcp::{Era, Pane, ToolAnswer};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::false_proof::{FILE, GLOBS, begin, end, settle, stands, step};
use crate::harness::wait_until;
use crate::proof::{EXPECTING, assert_rebuilds_to_the_same, committed, json_of, profile, run, shown};

const REST: &str = "timeout_ms = 20000\n[params.file]\nkind = 'regex'\npattern = '[a-z_./0-9]+'\n[expect]\nexit = 0\n\
                    fails = [1]\n";

/// A profile that runs a script by the words before it.
pub(crate) fn running(bench: &Bench, name: &str, argv: &str) {
    bench.profile(
        name,
        &format!("description = 'a test'\nargv = [{argv}, '{{file}}']\nscopes = [{GLOBS}]\n{REST}"),
    );
}

/// A repository with a script that passes once `flip` is there, its owner and a challenger. Git ignores `flip`.
pub(crate) async fn scene(script: &str) -> (Bench, [Pane; 2]) {
    let bench = Bench::new();
    running(&bench, "one", "'sh'");
    bench.write(FILE, "one\n");
    bench.write("tests/t.sh", script);
    committed(&bench);
    let panes = bench.panes(["analyst", "devops"]).await;
    (bench, panes)
}

pub(crate) async fn contested(bench: &Bench, [owner, other]: &[Pane; 2], scope: &str) -> String {
    let id = bench.claim(owner, "a divides", scope).await;
    bench.accepted(other, "challenge", json!({ "claim_id": id, "reason": "it rounds" })).await;
    id
}

/// A run of a script, for a claim that waits for it if there is one.
fn of(profile: &str, file: &str, claim: Option<&str>) -> Value {
    let mut given = json!({ "profile": profile, "args": [format!("file={file}")] });
    if let Some(claim) = claim {
        given["claim_id"] = json!(claim);
        given["blocking"] = json!(true);
    }
    given
}

/// Red before: a failure of the same check under another spelling, or another profile, did not count.
#[tokio::test]
async fn the_same_check_is_the_same_under_another_spelling_or_profile() {
    for (name, spelled) in
        [("one", "./tests/t.sh"), ("one", "tests/./t.sh"), ("one", "tests//t.sh"), ("two", "tests/t.sh")]
    {
        let (bench, panes) = scene("test -e flip\n").await;
        running(&bench, "two", "'sh'");
        let id = contested(&bench, &panes, FILE).await;
        let failed = run(&panes[1], of(name, spelled, None)).await;
        assert_eq!(failed.body["run_state"], "failed", "{}", failed.text);
        bench.write("flip", "");
        run(&panes[0], of("one", "tests/t.sh", Some(&id))).await;
        let (status, reason) = stands(&panes[0], &id).await;
        assert_eq!(status, "contested", "{name} {spelled}: {reason}");
        assert!(reason.contains("1 passed, 1 failed on the same content"), "{reason}");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: a failed run that a challenge cited counted only if its check was the same.
#[tokio::test]
async fn a_failed_run_that_a_challenge_cites_counts_against_the_claim() {
    let (bench, [owner, other]) = scene("test -e flip\n").await;
    profile(&bench, "yes", "exit 0", GLOBS, EXPECTING);
    let id = bench.claim(&owner, "a divides", FILE).await;
    let failed = run(&other, of("one", "tests/t.sh", None)).await;
    let cited = json!({ "claim_id": id, "reason": "see my run", "evidence_ref": failed.field("run_id") });
    bench.accepted(&other, "challenge", cited).await;
    settle(&owner, "yes", &id, 1).await;
    let (status, reason) = stands(&owner, &id).await;
    assert_eq!(status, "contested", "{reason}");
    let named = bench.name(failed.field("run_id"));
    assert!(reason.contains("contradicts it on the same content"), "{named}: {reason}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: a run that was cancelled, timed out or was killed left no trace, and the next one proved.
#[tokio::test]
async fn a_run_that_did_not_end_by_itself_leaves_the_content_in_doubt() {
    for (way, end) in [("cancelled", "sleep 60"), ("timed out", "sleep 60"), ("killed", "kill -9 $$")] {
        let (bench, panes) = scene(&format!("if test -e flip; then exit 0; fi\ntouch began\n{end}\n")).await;
        let [owner, other] = &panes;
        let id = contested(&bench, &panes, FILE).await;
        // The run need not be about the claim, and may spell its argument in another way.
        let mut given = of("one", "./tests/t.sh", (way != "cancelled").then_some(id.as_str()));
        let first = if way == "cancelled" {
            let first = bench.accepted(other, "run_experiment", given).await;
            wait_until("the check runs", || bench.root().join("began").exists());
            bench.accepted(other, "cancel_experiment", json!({ "run_id": first.field("run_id") })).await;
            first
        } else {
            if way == "timed out" {
                given["timeout_ms"] = json!(2_000);
            }
            run(owner, given).await
        };
        let first = first.field("run_id").to_owned();
        over(owner, &first).await;
        bench.write("flip", "");
        let answer = run(owner, of("one", "tests/t.sh", Some(&id))).await;
        let (status, reason) = stands(owner, &id).await;
        assert_eq!(status, "contested", "{way}: {reason}");
        let page = owner.read(&format!("hivemind://experiments/{}", answer.field("run_id"))).await;
        let attention = owner.read("hivemind://attention").await.expect("a page");
        for told in [&reason, &answer.text, &page.expect("a page"), &attention] {
            assert!(told.contains(&bench.name(&first)) || told.contains(&first), "{way}: {told}");
            assert!(told.contains("did not end by itself"), "{way}: {told}");
            assert!(told.contains("repeat"), "{way}: {told}");
            assert!(told.contains("file=tests/t.sh"), "{way}: {told}");
        }
        let mut thrice = of("one", "tests/t.sh", Some(&id));
        thrice["repeat"] = json!(3);
        run(owner, thrice).await;
        assert_eq!(stands(owner, &id).await.0, "confirmed (proved)", "{way}");
        assert_rebuilds_to_the_same(&bench);
    }
}

async fn over(pane: &Pane, run: &str) {
    for _ in 0..600 {
        let status = json_of(pane, &format!("hivemind://experiments/{run}")).await["status"].clone();
        if status != "running" && status != "queued" {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the run ends");
}

/// A mend of the content ends the doubt: one run proves then.
#[tokio::test]
async fn other_content_is_in_no_doubt() {
    let (bench, panes) = scene("grep -q mended src/a.rs || kill -9 $$\n").await;
    let [owner, other] = &panes;
    let id = contested(&bench, &panes, FILE).await;
    run(owner, of("one", "tests/t.sh", Some(&id))).await;
    bench.write(FILE, "mended\n");
    for pane in [owner, other] {
        bench.accepted(pane, "still", json!({ "claim_id": id })).await;
    }
    run(owner, of("one", "tests/t.sh", Some(&id))).await;
    assert_eq!(stands(owner, &id).await.0, "confirmed (proved)", "{:?}", stands(owner, &id).await);
}

fn link(bench: &Bench, to: &str, name: &str) {
    let path = bench.root().join(name);
    let _ = std::fs::remove_file(&path);
    std::os::unix::fs::symlink(to, path).expect("a link");
}

/// Red before: the claim was about the file that the link led to, and said nothing of the link.
#[tokio::test]
async fn a_link_that_leads_elsewhere_is_a_change_of_the_scope() {
    for scope in ["src/a.rs", "src/cur/pool.rs", "src/cur"] {
        let bench = Bench::new();
        profile(
            &bench,
            "check",
            "test `cat src/a.rs` = 1 && test `cat src/cur/pool.rs` = 1",
            GLOBS,
            EXPECTING,
        );
        for version in ["1", "2"] {
            bench.write(&format!("src/v{version}/pool.rs"), &format!("{version}\n"));
        }
        link(&bench, "v2/pool.rs", FILE);
        link(&bench, "v2", "src/cur");
        committed(&bench);
        let owner = bench.pane(Some("analyst"), Era::Modern).await;
        let other = Pane::offered(bench.binary(), bench.root(), Some("devops"), Era::Modern, "all").await;
        let panes = [owner, other.expect("a pane")];
        let id = contested(&bench, &panes, scope).await;
        link(&bench, "v1/pool.rs", FILE);
        link(&bench, "v1", "src/cur");
        let answer = settle(&panes[0], "check", &id, 1).await;
        let (status, reason) = stands(&panes[0], &id).await;
        assert_eq!(status, "contested", "{scope}: {reason}");
        for told in [&reason, &answer.text] {
            assert!(told.contains(&format!("`{scope}` changed since the challenge")), "{told}");
        }
        let page = panes[0].read(&format!("hivemind://claims/{id}")).await.expect("a page");
        assert!(page.contains("changed since"), "{page}");
        // Both the file and the link still meet the claim.
        link(&bench, "v2/pool.rs", FILE);
        link(&bench, "v2", "src/cur");
        for path in ["src/v2/pool.rs", if scope == "src/cur" { "src/cur/pool.rs" } else { scope }] {
            let near = panes[0].read(&format!("hivemind://claims?scope={path}")).await.expect("a list");
            assert!(near.contains("a divides"), "{path}: {near}");
            let report = json!({ "kind": "file_edited", "summary": "tried it", "paths": [path] });
            bench.accepted(&panes[1], "report_event", report).await;
            let answer = settle(&panes[0], "check", &id, 1).await;
            assert!(answer.text.contains("by devops"), "{path}: {}", answer.text);
            let again = json!({ "claim_id": id, "reason": "it still rounds" });
            bench.accepted(&panes[1], "challenge", again).await;
        }
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: a file over 1 MiB had no version, and its edit was not seen.
#[tokio::test]
async fn a_large_file_has_a_version() {
    let (bench, panes) = scene("exit 0\n").await;
    let padding = "x".repeat(2_000_000);
    bench.write(FILE, &format!("2\n{padding}"));
    let id = contested(&bench, &panes, FILE).await;
    bench.write(FILE, &format!("1\n{padding}"));
    run(&panes[0], of("one", "tests/t.sh", Some(&id))).await;
    let (status, reason) = stands(&panes[0], &id).await;
    assert_eq!(status, "contested", "{reason}");
    assert!(reason.contains("`src/a.rs` changed since the challenge"), "{reason}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the page of the claim did not say that a proof stands on content that was not compared.
#[tokio::test]
async fn a_proof_of_what_was_not_compared_says_so() {
    let (bench, panes) = scene("exit 0\n").await;
    std::fs::File::create(bench.root().join("src/big.bin"))
        .expect("a file")
        .set_len(80_000_000)
        .expect("a size");
    for (scope, why) in [("src", "`src` is a directory"), ("src/big.bin", "`src/big.bin` has 80 MB")] {
        let id = contested(&bench, &panes, scope).await;
        run(&panes[0], of("one", "tests/t.sh", Some(&id))).await;
        assert_eq!(stands(&panes[0], &id).await.0, "confirmed (proved)");
        let page = panes[0].read(&format!("hivemind://claims/{id}")).await.expect("a page");
        let told = page.lines().find(|line| line.contains("was not compared")).expect("a caveat");
        assert!(told.contains(why), "{page}");
        bench.accepted(&panes[0], "deprecate_claim", json!({ "claim_id": id, "reason": "next" })).await;
    }
}

/// Red before: only files in the scopes themselves were watched.
#[tokio::test]
async fn a_file_below_a_directory_that_is_changed_and_put_back_during_a_run_is_not_proved_by_it() {
    let (bench, [owner, other, _]) = crate::false_proof::scene().await;
    let id = contested(&bench, &[owner, other], "src").await;
    let owner = bench.pane(Some("analyst"), Era::Modern).await;
    let run = begin(&bench, &owner, &id).await;
    bench.write(FILE, "fine\n");
    step(&bench);
    bench.write(FILE, "a bug\n");
    end(&bench, &owner, &run).await;
    let (status, reason) = stands(&owner, &id).await;
    assert_eq!(status, "contested", "{reason}");
    assert!(reason.contains("`src` was written during the run"), "{reason}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: git lists no file there, so each edit left the content the same, and the test unstable.
#[tokio::test]
async fn an_edit_below_a_directory_that_git_ignores_is_other_content() {
    let (bench, panes) = scene("! grep -rq bug src/ignored\n").await;
    bench.write(".git/info/exclude", "src/ignored\n");
    bench.write("src/ignored/below/a", "a bug\n");
    let id = contested(&bench, &panes, "src/ignored").await;
    run(&panes[0], of("one", "tests/t.sh", Some(&id))).await;
    bench.write("src/ignored/below/a", "fine\n");
    let mut thrice = of("one", "tests/t.sh", Some(&id));
    thrice["repeat"] = json!(3);
    run(&panes[0], thrice).await;
    assert_eq!(stands(&panes[0], &id).await.0, "confirmed (proved)", "{:?}", stands(&panes[0], &id).await);
    assert_rebuilds_to_the_same(&bench);
}

/// A pass of the check for a claim that waits for it, repeated if `times` is more than one.
async fn passes(bench: &Bench, owner: &Pane, id: &str, times: u32) -> (String, String, ToolAnswer) {
    bench.write("flip", "");
    let mut given = of("one", "tests/t.sh", Some(id));
    if times > 1 {
        given["repeat"] = json!(times);
    }
    let answer = run(owner, given).await;
    let (status, reason) = stands(owner, id).await;
    (status, reason, answer)
}

/// Red before: a failure that was not about the claim counted only on exactly the same content.
#[tokio::test]
async fn a_failure_of_the_same_check_since_the_challenge_counts_whatever_it_was_about() {
    for about in ["nothing", "another", "replaced"] {
        let (bench, panes) = scene("test -e flip\n").await;
        let [owner, other] = &panes;
        let mut id = contested(&bench, &panes, FILE).await;
        let failing = match about {
            "nothing" => of("one", "tests/t.sh", None),
            "another" => {
                let another = bench.claim(other, "b multiplies", FILE).await;
                let mut given = of("one", "tests/t.sh", None);
                given["claim_id"] = json!(another);
                given
            }
            _ => of("one", "tests/t.sh", Some(&id)),
        };
        let failed = run(other, failing).await;
        assert_eq!(failed.body["run_state"], "failed", "{}", failed.text);
        if about == "replaced" {
            let again = json!({ "statement": "a divides exactly", "claim_type": "fact", "scopes": [FILE],
                "supersedes": id, "mends": true });
            id = bench.accepted(owner, "create_claim", again).await.field("claim_id").to_owned();
            bench.accepted(other, "challenge", json!({ "claim_id": id, "reason": "it failed" })).await;
        }
        bench.write("src/junk", "");
        let (status, reason, answer) = passes(&bench, owner, &id, 1).await;
        assert_eq!(status, "contested", "{about}: {reason}");
        for told in [&reason, &answer.text] {
            assert!(
                told.contains(failed.field("run_id")) || told.contains(&bench.name(failed.field("run_id")))
            );
            assert!(told.contains("repeat"), "{about}: {told}");
        }
        assert!(answer.text.contains("unless run"), "the receipt of {about}: {}", answer.text);
        let (status, reason, _) = passes(&bench, owner, &id, 3).await;
        assert_eq!(status, "confirmed (proved)", "{about}: {reason}");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// A failure from before a mend of the claim's file costs no more runs.
#[tokio::test]
async fn a_failure_of_other_content_does_not_count() {
    let (bench, panes) = scene("test -e flip\n").await;
    let id = contested(&bench, &panes, FILE).await;
    run(&panes[1], of("one", "tests/t.sh", None)).await;
    bench.write("src/junk", "");
    bench.write(FILE, "mended\n");
    for pane in &panes {
        bench.accepted(pane, "still", json!({ "claim_id": id })).await;
    }
    let (status, reason, _) = passes(&bench, &panes[0], &id, 1).await;
    assert_eq!(status, "confirmed (proved)", "{reason}");
}

/// Red before: a symbolic link or another path of the program made another check.
#[tokio::test]
async fn the_same_check_is_the_same_through_a_link_and_by_the_path_of_its_program() {
    for way in ["link", "directory", "program"] {
        let (bench, panes) = scene("test -e flip\n").await;
        let id = contested(&bench, &panes, FILE).await;
        let given = match way {
            "link" => {
                link(&bench, "t.sh", "tests/u.sh");
                of("one", "tests/u.sh", None)
            }
            "directory" => {
                link(&bench, "../tests", "src/below");
                of("one", "src/below/t.sh", None)
            }
            _ => {
                let text = "description = 'a test'\nargv = ['/bin/sh', 'tests/t.sh']\nscopes = ['src/**', 'tests/**']\n\
                            timeout_ms = 20000\n[expect]\nexit = 0\nfails = [1]\n";
                bench.profile("path", text);
                json!({ "profile": "path" })
            }
        };
        let failed = run(&panes[1], given).await;
        assert_eq!(failed.body["run_state"], "failed", "{}", failed.text);
        let (status, reason, _) = passes(&bench, &panes[0], &id, 1).await;
        assert_eq!(status, "contested", "{way}: {reason}");
        assert!(reason.contains("1 passed, 1 failed on the same content"), "{way}: {reason}");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: the operator's run of the same command line did not count.
#[tokio::test]
async fn a_typed_run_of_the_same_command_line_counts() {
    let (bench, panes) = scene("test -e flip\n").await;
    let id = contested(&bench, &panes, FILE).await;
    let typed = ["experiment", "run", "--agent", "operator", "--thread-id", "RS-1", "--test-id", "T1", "--"];
    bench.hm(&[&typed[..], &["sh", "tests/t.sh"]].concat());
    let (status, reason, answer) = passes(&bench, &panes[0], &id, 1).await;
    assert_eq!(status, "contested", "{reason}");
    assert!(answer.text.contains("unless run"), "{}", answer.text);
    let (status, reason, _) = passes(&bench, &panes[0], &id, 3).await;
    assert_eq!(status, "confirmed (proved)", "{reason}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: five equal runs on other content of the claim's file cleared the proof on the content that came out both
/// ways.
#[tokio::test]
async fn equal_runs_on_other_content_do_not_clear_the_content_that_came_out_both_ways() {
    let (bench, panes) = scene("test -e flip\n").await;
    let id = contested(&bench, &panes, FILE).await;
    assert_eq!(passes(&bench, &panes[0], &id, 1).await.0, "confirmed (proved)");
    std::fs::remove_file(bench.root().join("flip")).expect("a file");
    let mut plain = of("one", "tests/t.sh", None);
    plain["claim_id"] = json!(id);
    run(&panes[1], plain.clone()).await;
    bench.write("flip", "");
    run(&panes[1], plain.clone()).await;
    assert_eq!(shown(&panes[0], &id).await["unstable"], true);
    bench.write(FILE, "two\n");
    let mut five = plain.clone();
    five["repeat"] = json!(5);
    run(&panes[0], five).await;
    bench.write(FILE, "one\n");
    assert_eq!(shown(&panes[0], &id).await["unstable"], true);
    let again = run(&panes[0], plain).await;
    assert!(again.text.contains("1 failed on the same content"), "{}", again.text);
    assert_eq!(shown(&panes[0], &id).await["unstable"], true);
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the page named the command as typed, and not the program that the search path gave.
#[tokio::test]
async fn the_page_of_a_run_names_the_program_that_ran() {
    let (_bench, [owner, _]) = scene("exit 0\n").await;
    let ran = run(&owner, of("one", "tests/t.sh", None)).await;
    let page = owner.read(&format!("hivemind://experiments/{}", ran.field("run_id"))).await.expect("a page");
    let told = page.lines().find(|line| line.starts_with("- program: /")).expect("a program");
    assert!(told.ends_with("/sh"), "{told}");
}

/// Red before: the page of a claim named the run, and not the uncommitted changes or the work tree that it ran in.
#[tokio::test]
async fn a_claim_tells_where_its_proof_ran() {
    let (bench, panes) = scene("exit 0\n").await;
    let id = contested(&bench, &panes, FILE).await;
    bench.write(FILE, "one\n");
    bench.write("src/other.rs", "");
    run(&panes[0], of("one", "tests/t.sh", Some(&id))).await;
    let page = panes[0].read(&format!("hivemind://claims/{id}")).await.expect("a page");
    assert!(page.contains("in a work tree with uncommitted changes"), "{page}");
    assert_rebuilds_to_the_same(&bench);
}

/// Red before: the hint after an interrupted run left out its directory.
#[tokio::test]
async fn a_hint_repeats_a_run_in_its_directory() {
    let (bench, [owner, _]) = scene("exit 0\n").await;
    bench.write("sub/k.sh", "kill -9 $$\n");
    let mut given = of("one", "k.sh", None);
    given["cwd"] = json!("sub");
    let ran = run(&owner, given).await;
    let page = owner.read(&format!("hivemind://experiments/{}", ran.field("run_id"))).await.expect("a page");
    for told in [&page, &ran.text] {
        assert!(told.contains("\"cwd\":\"") && told.contains("/sub\""), "{told}");
    }
}

/// Red before: the text of a note ended the quotes of the command that a hint prints.
#[tokio::test]
async fn a_back_quote_in_a_note_does_not_break_the_command_of_a_hint() {
    let (bench, [owner, _]) = scene("exit 0\n").await;
    let decided =
        json!({ "statement": "use sqlite", "target": "db", "rationale": "it is the best choice here" });
    let id = bench.accepted(&owner, "record_decision", decided).await.field("claim_id").to_owned();
    let failed = json!({ "decision_id": id, "outcome": "failure", "notes": "the call to `fsync` hangs" });
    let answer = bench.accepted(&owner, "record_outcome", failed).await;
    assert!(answer.field("next").contains("the call to 'fsync' hangs"), "{}", answer.text);
}

/// Red before: the answer was that the run left no file, and a lost run had an empty hash.
#[tokio::test]
async fn the_output_of_a_run_under_way_is_said_to_come() {
    let (bench, [owner, other]) = scene("touch began; while ! test -e done; do sleep 0.05; done\n").await;
    let ran = bench.accepted(&owner, "run_experiment", of("one", "tests/t.sh", None)).await;
    let id = ran.field("run_id").to_owned();
    wait_until("the check runs", || bench.root().join("began").exists());
    let refused = other.read(&format!("hivemind://experiments/{id}/stdout")).await.expect_err("no file");
    assert!(format!("{refused:?}").contains("is running"), "{refused:?}");
    bench.write("done", "");
    over(&owner, &id).await;
}

/// Red before: a text of characters that no reader sees was a statement, a reason or a rationale.
#[tokio::test]
async fn a_text_without_a_visible_character_is_empty() {
    let (bench, [owner, other]) = scene("true\n").await;
    let id = bench.claim(&owner, "a divides", FILE).await;
    let blanks = [
        "\u{200b}",
        "\u{ad}",
        "\u{2060}",
        "\u{3164}",
        "\u{2800}",
        "\u{301}",
        "\u{202e}\u{202c}",
        "\u{200b} ",
    ];
    for blank in blanks {
        let text = blank.repeat(16);
        for (pane, tool, field, given) in [
            (&owner, "create_claim", "statement", json!({ "claim_type": "fact", "scopes": [FILE] })),
            (&other, "challenge", "reason", json!({ "claim_id": id })),
            (&owner, "deprecate_claim", "reason", json!({ "claim_id": id })),
            (&owner, "record_decision", "rationale", json!({ "statement": "use a", "target": "db" })),
        ] {
            let mut given = given;
            given[field] = json!(text);
            let answer = pane.call(tool, given).await.expect("an answer");
            assert!(answer.refused, "{tool} {blank:?}: {}", answer.text);
            assert!(answer.text.contains(&format!("{field} is empty")), "{tool} {blank:?}: {}", answer.text);
        }
    }
    // A text in another script has marks as well.
    bench.accepted(&other, "challenge", json!({ "claim_id": id, "reason": "यह गलत है" })).await;
}

/// A profile of the same script that calls other exit codes a pass and a failure.
fn calling(bench: &Bench, name: &str, argv: &str, expect: &str) {
    let rest = "timeout_ms = 20000\n[params.file]\nkind = 'regex'\npattern = '[a-z_./0-9]+'\n[expect]\n";
    let head = format!("description = 'a test'\nargv = [{argv}, '{{file}}']\nscopes = [{GLOBS}]\n");
    bench.profile(name, &format!("{head}{rest}{expect}\n"));
}

/// Red before: a profile that called the failure a pass, or no outcome, hid it from the next proof.
#[tokio::test]
async fn the_exit_codes_of_one_command_are_compared_whatever_its_profile_calls_them() {
    for (expect, about) in
        [("exit = 1\nfails = [0]", false), ("exit = 0\nfails = [2]", true), ("exit = 0\nfails = [2]", false)]
    {
        let (bench, panes) = scene("test -e flip\n").await;
        calling(&bench, "two", "'sh'", expect);
        let id = contested(&bench, &panes, FILE).await;
        let mut given = of("two", "tests/t.sh", None);
        if about {
            given["claim_id"] = json!(id);
        }
        let first = run(&panes[1], given).await;
        bench.write("flip", "");
        let proof = run(&panes[0], of("one", "tests/t.sh", Some(&id))).await;
        let (status, reason) = stands(&panes[0], &id).await;
        assert_eq!(status, "contested", "{expect}: {reason}");
        let named =
            format!("run {} of the same command ended with exit code 1", bench.name(first.field("run_id")));
        assert!(proof.text.contains(&named), "{expect}: {}", proof.text);
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: a failure of the same script, named from another directory, did not count.
#[tokio::test]
async fn a_script_is_the_same_from_another_directory() {
    for file in ["t.sh", "./t.sh", "../tests/t.sh"] {
        let (bench, panes) = scene("cd \"${0%/*}\" && test -e ../flip || test -e flip\n").await;
        let id = contested(&bench, &panes, FILE).await;
        let mut given = of("one", file, None);
        given["cwd"] = json!("tests");
        let failed = run(&panes[1], given).await;
        assert_eq!(failed.body["run_state"], "failed", "{}", failed.text);
        bench.write("flip", "");
        run(&panes[0], of("one", "tests/t.sh", Some(&id))).await;
        let (status, reason) = stands(&panes[0], &id).await;
        assert_eq!(status, "contested", "{file}: {reason}");
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: the same statement in other words began without the contradiction of the first one.
#[tokio::test]
async fn a_restated_claim_keeps_the_contradiction_of_the_one_before_it() {
    for is_mended in [false, true] {
        let (bench, panes) = scene("test -e flip\n").await;
        let [owner, other] = &panes;
        calling(&bench, "two", "'env', 'sh'", "exit = 0\nfails = [1]");
        let first = contested(&bench, &panes, FILE).await;
        let failed = run(owner, of("two", "tests/t.sh", Some(&first))).await;
        bench.write("flip", "");
        if is_mended {
            bench.write(FILE, "mended\n");
        }
        let again = json!({
            "statement": "a divides, really", "claim_type": "fact", "scopes": [FILE], "supersedes": first,
            "mends": is_mended,
        });
        let id = bench.accepted(owner, "create_claim", again).await.field("claim_id").to_owned();
        bench.accepted(other, "challenge", json!({ "claim_id": id, "reason": "it rounds" })).await;
        let proof = run(owner, of("one", "tests/t.sh", Some(&id))).await;
        let (status, reason) = stands(owner, &id).await;
        assert_eq!(status, if is_mended { "confirmed (proved)" } else { "contested" }, "{reason}");
        let named = format!("run {} contradicted", bench.name(failed.field("run_id")));
        assert_eq!(proof.text.contains(&named), !is_mended, "{}", proof.text);
        assert_rebuilds_to_the_same(&bench);
    }
}

/// Red before: the receipt of the next run promised a proof without a condition.
#[tokio::test]
async fn a_receipt_names_a_contradiction_that_was_taken_back() {
    let (bench, panes) = scene("test -e flip\n").await;
    let owner = &panes[0];
    calling(&bench, "two", "'env', 'sh'", "exit = 0\nfails = [1]");
    let id = contested(&bench, &panes, FILE).await;
    let failed = run(&panes[1], of("two", "tests/t.sh", Some(&id))).await.field("run_id").to_owned();
    let back = json!({ "claim_id": id, "evidence_ref": failed, "reason": "it was a mistake" });
    bench.accepted(&panes[1], "retract_evidence", back).await;
    let next = bench.accepted(owner, "run_experiment", of("one", "tests/t.sh", Some(&id))).await;
    let told = format!("unless run {} contradicts it on the same content", bench.name(&failed));
    assert!(next.text.contains(&told), "{}", next.text);
}
