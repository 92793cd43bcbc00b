//! A decision that is amended in one part: its text, its supporters, its page, and the lists that name it.

use hivemind::mcp::Era;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::hook::{claude, spool_is_empty};
use crate::shell::Shell;

/// The lines that a command prints, without the breaks that fit them to a terminal.
fn said(shell: &Shell, line: &str) -> String {
    let output = shell.run(line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    flat(&output.stdout)
}

fn refused(shell: &Shell, line: &str) -> String {
    let output = shell.run(line);
    assert!(!output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stdout));
    flat(&output.stderr)
}

fn flat(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

const DESIGN: &str =
    "The pool holds 20 connections. A caller waits 5 s and then gets an error. The pool makes no retry.";

/// A workspace with a design of devops, which analyst and reviewer support.
fn designed() -> Shell {
    let shell = Shell::new();
    said(
        &shell,
        &format!(
            "hm --agent devops decision record \"{DESIGN}\" --target pool --scope src/pool.rs \
             --rationale \"one place to look\" --not-chosen \"a pool for each page: too many connections\""
        ),
    );
    said(&shell, "hm --agent analyst claim support C1");
    said(&shell, "hm --agent reviewer claim support C1");
    shell
}

const AMEND: &str = "hm --agent devops decision amend C1 --replace \"5 s\" --with \"2 s\" --rationale \"5 s blocks the page\"";

/// Red before: there was no such verb, and a part was changed by writing the whole text again.
#[test]
fn one_part_is_changed_and_the_rest_stays() {
    let shell = designed();
    let receipt = said(&shell, AMEND);
    let change =
        "'A caller waits 5 s and then gets an error.' -> 'A caller waits 2 s and then gets an error.'";
    assert!(
        receipt.contains(&format!("it amends C1: {change}; analyst and reviewer are asked")),
        "{receipt}"
    );
    let new = shell.json("hm --json claim show C3");
    assert_eq!(new["statement"], DESIGN.replace("5 s", "2 s"), "the ledger holds the whole text");
    assert_eq!(new["scopes"], json!(["src/pool.rs", "target:pool"]));
    let not_chosen = &new["decision"]["alternatives"];
    assert_eq!(not_chosen[0]["statement"], "a pool for each page", "{new}");
    assert_eq!(not_chosen[0]["rejection_reason"], "too many connections");
    assert_eq!(new["decision"]["amends"]["change"], change, "{new}");

    // Each supporter is asked about the sentence that changed, and about nothing else.
    for agent in ["analyst", "reviewer"] {
        let asked = said(&shell, &format!("hm --agent {agent} attention"));
        assert!(asked.contains(&format!("devops amended C1, which you supported: {change}")), "{asked}");
        assert!(!asked.contains("The pool holds 20"), "{asked}");
    }
    // Of the old text a reader is led to the new one.
    let old = said(&shell, "hm claim show C1");
    assert!(
        old.contains(&format!("Amended in `C3`, which is proposed (`hm claim show C3`): {change}"))
            || old.contains(&format!("Amended in C3, which is proposed (`hm claim show C3`): {change}")),
        "{old}"
    );
    assert!(!old.contains("waits 2 s and then gets an error. The pool"), "{old}");
    assert!(said(&shell, "hm claim show C3").contains("amends: "), "the new one names the old one");

    let list = said(&shell, "hm claim list");
    assert!(
        list.contains("C3 The pool holds 20") && list.contains("(decision, amends C1, proposed, by devops"),
        "{list}"
    );

    // A supporter that did not answer yet is asked about all that changed since the text it supported.
    said(&shell, "hm --agent analyst claim support C3");
    said(
        &shell,
        "hm --agent devops decision amend C3 --append \"A page holds one connection\" --rationale \"two of them deadlock\"",
    );
    let analyst = said(&shell, "hm --agent analyst attention");
    assert!(analyst.contains("devops amended C3, which you supported: added 'A page holds one"), "{analyst}");
    let reviewer = said(&shell, "hm --agent reviewer attention");
    assert!(reviewer.contains("devops amended C1, which you supported: 'A caller waits 5 s"), "{reviewer}");
}

#[test]
fn an_amendment_that_does_not_fit_is_refused_with_the_place() {
    let shell = designed();
    let amend = |change: &str| {
        format!("hm --agent devops decision amend C1 {change} --rationale \"it was wrong so far\"")
    };
    let twice = refused(&shell, &amend("--replace pool --with ring"));
    assert!(twice.contains("the old words occur 2 times: \"The pool holds 20 connections. A"), "{twice}");
    let never = refused(&shell, &amend("--replace \"a caller waits 9 s\" --with x"));
    assert!(never.contains("the nearest: \"A caller waits 5 s and then gets an error.\""), "{never}");
    assert!(refused(&shell, &amend("--replace 20")).contains("--replace 20 --rationale"));
    assert!(refused(&shell, &amend("")).contains("--replace <TEXT>"));
    assert!(refused(&shell, &amend("--append \"   \"")).contains("an amendment gives"));
    let short = refused(&shell, "hm --agent devops decision amend C1 --append more --rationale why");
    assert!(short.contains("15 or more"), "{short}");
    let fact = "hm --agent devops decision amend C2 --append more --rationale \"it was wrong so far\"";
    assert!(refused(&shell, fact).contains("only a decision is amended"));
    // Another agent has no say in it, and the operator's word stands.
    let other = refused(&shell, &AMEND.replace("devops", "analyst"));
    assert!(other.contains("devops"), "{other}");
    said(&shell, "hm --agent operator claim support C1");
    said(&shell, AMEND);
    assert_eq!(shell.json("hm --json claim show C1")["status"], "confirmed", "the operator decides");
    assert_eq!(
        shell.json("hm --json decision list --target pool")["decisions"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn the_page_of_an_amendment_cuts_its_change_and_names_the_old_text() {
    let shell = designed();
    let long = "2 s, as the page shows a spinner from the first second on, and people leave it after three, which \
                was measured for each of the nine pages that wait for a connection";
    said(
        &shell,
        &format!(
            "hm --agent devops decision amend C1 --replace \"5 s\" --with \"{long}\" --rationale \"5 s blocks the page\""
        ),
    );
    let shown = said(&shell, "hm claim show C3");
    let amends = shown.split("- amends: ").nth(1).and_then(|rest| rest.split(" - ").next()).expect("a line");
    assert!(amends.contains("…; its text: `hm claim show C1`"), "{amends}");
    assert!(amends.chars().count() < 220, "{amends}");
}

#[test]
fn who_amends_an_amended_decision_is_led_to_the_current_one() {
    let shell = designed();
    said(&shell, AMEND);
    let late = refused(&shell, &AMEND.replace("5 s\" --with", "20\" --with"));
    assert!(late.contains("decision C1 was replaced by C3") && late.contains("amend C3 instead"), "{late}");
}

/// Red before: an amended decision showed neither its amendments nor what was not chosen.
#[test]
fn the_design_page_has_an_amended_decision_once_with_its_amendments_in_order() {
    let shell = designed();
    said(&shell, AMEND);
    said(
        &shell,
        "hm --agent devops decision amend C3 --append \"No page waits\" --rationale \"two of them deadlock\"",
    );
    let raw = shell.run("hm decision list");
    let page = String::from_utf8(raw.stdout).expect("text");
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    let flat = flat(page.as_bytes());
    let order = [
        "C4 (amends C3) The pool holds 20 connections.",
        "why: two of them deadlock",
        "first in C1 by devops",
        "why: one place to look",
        "amended in C3 by devops",
        "'A caller waits 5 s and then gets an error.' -> 'A caller waits 2 s",
        "why: 5 s blocks the page",
        "amended in C4 by devops",
        "added 'No page waits'",
        "not chosen: a pool for each page: too many connections",
        "2 no longer in force",
    ];
    let places: Vec<Option<usize>> = order.iter().map(|part| flat.replace('`', "").find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}: {page}");
    assert_eq!(flat.matches("The pool holds 20").count(), 1, "{page}");
}

/// Red before: a decision that the team agreed to and nobody recorded was in no list of decisions.
#[test]
fn an_agreed_decision_is_listed_without_a_record() {
    let shell = Shell::new();
    said(
        &shell,
        "hm --agent devops claim create \"retries go through the pool\" --type decision --scope src",
    );
    assert!(!said(&shell, "hm decision list").contains("retries"), "it is only proposed");
    said(&shell, "hm --agent analyst claim support C1");
    let page = said(&shell, "hm decision list").replace('`', "");
    assert!(page.contains("C1 retries go through the pool (confirmed"), "{page}");
    let record = "agreed, and not recorded: hm decision record --claim C1 --rationale";
    assert!(page.contains("supported by analyst") && page.contains(record), "{page}");
    let json = shell.json("hm --json decision list");
    assert_eq!(json["agreed"].as_array().map(Vec::len), Some(1), "{json}");
    said(&shell, "hm --agent devops decision record --claim C1 --rationale \"one place to look\"");
    let page = said(&shell, "hm decision list");
    assert!(page.contains("why: one place to look") && !page.contains("not recorded"), "{page}");
}

/// Red before: `why:` below a reversal told why the first decision had been taken.
#[test]
fn a_reversal_says_its_own_reason_first() {
    let shell = Shell::new();
    for line in [
        "hm --agent devops decision record \"we keep the sessions in SQLite\" --target store --scope src/store.rs \
         --rationale \"one file to back up\"",
        "hm --agent devops decision record \"we do not keep the sessions in SQLite\" --target store \
         --scope src/store.rs --supersedes C1 --rationale \"two machines write them now\"",
    ] {
        said(&shell, line);
    }
    let page = said(&shell, "hm decision list").replace('`', "");
    let below = page.split_once("we do not keep").expect("the reversal").1;
    let why = below.split_once("why: ").expect("a reason").1;
    assert!(why.starts_with("two machines write them now"), "{page}");
    assert_eq!(page.matches("two machines write them now").count(), 1, "{page}");
    assert!(page.contains("first in C1 by devops") && page.contains("why: one file to back up"), "{page}");
}

#[test]
fn news_of_an_amendment_is_the_change_for_a_reader_of_the_old_text() {
    let shell = Shell::new();
    let (frontend, reviewer) = (claude(&shell, "s-1", "frontend"), claude(&shell, "s-2", "reviewer"));
    frontend.start();
    reviewer.start();
    said(
        &shell,
        &format!(
            "hm --agent devops decision record \"{DESIGN}\" --target pool --rationale \"one place to look\""
        ),
    );
    let opened = shell.command("hm --agent frontend claim show C1").env("HM_SESSION", "s-1").output();
    assert!(opened.expect("hm runs").status.success());
    spool_is_empty(&shell);
    said(&shell, AMEND);
    let told = frontend.prompt("go on");
    assert!(told.contains("amends C1: 'A caller waits 5 s") && !told.contains("The pool holds 20"), "{told}");
    let told = reviewer.prompt("go on");
    assert!(told.contains("The pool holds 20") && told.contains("amends=\"C1\""), "{told}");
    // Red before: it said `was`, and showed the change.
    let news = said(&shell, "hm --agent analyst news");
    assert!(news.contains("; amends C1: 'A caller waits 5 s") && !news.contains("(was:"), "{news}");
}

#[tokio::test]
async fn a_tool_amends_as_the_verb_does() {
    let bench = Bench::new();
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let first = json!({ "statement": DESIGN, "rationale": "one place to look", "target": "pool" });
    bench.accepted(&devops, "record_decision", first).await;
    let amend = |more: Value| {
        let mut call =
            json!({ "supersedes": ["C1"], "rationale": "5 s blocks the page", "statement": "2 s" });
        call.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        call
    };
    for (more, problem) in [
        (json!({ "replace": "pool" }), "occur 2 times"),
        (json!({ "replace": "5 s", "target": "pool" }), "keeps target, scopes and alternatives"),
        (json!({ "replace": "5 s", "supersedes": [] }), "name the one decision"),
        (json!({ "replace": "5 s", "statement": null }), "say in statement"),
        (json!({ "replace": "" }), "name the old words"),
    ] {
        let refused = devops.call("record_decision", amend(more)).await.expect("an answer");
        assert!(refused.refused && refused.text.contains(problem), "{refused:?}");
    }
    let done = bench.accepted(&devops, "record_decision", amend(json!({ "replace": "5 s" }))).await;
    assert!(done.text.contains("it amends C1: 'A caller waits 5 s"), "{done:?}");
    bench.kill_writer();
    bench.assert_sound();
}

#[test]
fn an_amended_decision_is_not_the_word_of_a_file() {
    let shell = Shell::new();
    said(
        &shell,
        &format!(
            "hm --agent devops decision record \"{DESIGN}\" --scope src/pool.rs --scope tag:imported:notes.md \
             --rationale \"one place to look\""
        ),
    );
    said(&shell, AMEND);
    let new = shell.json("hm --json claim show C2");
    assert_eq!(new["scopes"], json!(["src/pool.rs"]), "{new}");
}

/// Red before: the page of an amended decision said that a contested one holds now, and lists called it an amendment where
/// two decisions were put out of force at once.
#[test]
fn the_page_of_an_amended_decision_says_how_the_new_one_stands() {
    let shell = designed();
    said(&shell, AMEND);
    let page = |shell: &Shell| said(shell, "hm claim show C1");
    assert!(page(&shell).contains("which is proposed"), "{}", page(&shell));
    said(&shell, "hm --agent analyst claim challenge C3 --reason \"2 s is too short\"");
    assert!(page(&shell).contains("which is contested"), "{}", page(&shell));
    said(&shell, "hm --agent analyst claim support C3");
    assert!(page(&shell).contains("which holds now"), "{}", page(&shell));
}

#[test]
fn a_decision_that_supersedes_two_amends_none_of_them() {
    let shell = designed();
    said(
        &shell,
        "hm --agent devops decision record \"the cache holds 10 pages\" --target cache --scope src/cache.rs --rationale \"they fit in memory\"",
    );
    let both = DESIGN.replace("5 s", "2 s");
    let receipt = said(
        &shell,
        &format!(
            "hm --agent architect decision record \"{both}\" --target pool --scope src/pool.rs \
             --rationale \"5 s blocks the page\" --supersedes C1 --supersedes C3"
        ),
    );
    assert!(receipt.contains("C1 and C3 are out of force as a whole"), "{receipt}");
    let lists = ["hm decision list", "hm claim list", "hm claim show C4", "hm claim show C1"];
    for line in lists {
        let told = said(&shell, line);
        assert!(!told.to_lowercase().contains("amend"), "{line}: {told}");
    }
    let asked = said(&shell, "hm --agent reviewer attention");
    assert!(!asked.contains("amended"), "{asked}");
}
