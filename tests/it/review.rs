//! `hm review`: what agents propose to the operator, accepted or declined by a human.

use hivemind::domain::clean;
use serde_json::Value;

use crate::shell::Shell;
use crate::terminal::{by_a_human, on_screen};

/// A decision of the operator, and an agent that wants it otherwise.
fn proposed(shell: &Shell, reason: &str) {
    for line in [
        "hm --agent operator decision record \"we deploy on Mondays only\" --target deploys \
         --rationale \"the team is there to watch it\"",
        "hm --agent devops decision record \"we deploy on any day\" --target deploys --supersedes C1 \
         --rationale \"the pipeline watches itself\"",
    ] {
        let output = shell.run(&line.replace("the pipeline watches itself", reason));
        assert!(output.status.success(), "{output:?}");
    }
}

fn waiting(shell: &Shell) -> Vec<Value> {
    shell.json("hm --json review")["waiting"].as_array().expect("a list").clone()
}

fn typed(shell: &Shell, answers: &str) -> String {
    let (code, shown) = on_screen(&shell.command("hm review"), answers);
    assert_eq!(code, Some(0), "{shown}");
    shown
}

#[test]
fn a_human_sees_what_is_proposed_as_it_was_written_and_declines_it() {
    let shell = Shell::new();
    assert!(waiting(&shell).is_empty());
    assert!(!String::from_utf8_lossy(&shell.run("hm status").stdout).contains("review:"));
    // A right-to-left override makes a line read as another one.
    proposed(&shell, "the pipeline \u{202e}flesti sehctaw\u{200b} well enough");
    let status = String::from_utf8_lossy(&shell.run("hm status").stdout).into_owned();
    assert!(status.contains("review:    1 proposal waits for the operator: `hm review`"), "{status}");
    let banner = String::from_utf8_lossy(&shell.run("hm --agent operator status").stdout).into_owned();
    assert!(banner.contains("hivemind: you are operator · 1 proposal to review: hm review"), "{banner}");
    assert!(!String::from_utf8_lossy(&shell.run("hm --agent devops status").stdout).contains("to review"));

    // Without a terminal it is a list with the commands.
    let list = String::from_utf8_lossy(&shell.run("hm review").stdout).into_owned();
    let accept = "`hm decision record 'we deploy on any day' --target deploys --rationale";
    assert!(list.contains(accept) && list.contains("decline: `hm claim keep C1 --reason"), "{list}");
    for text in [&list, &waiting(&shell)[0].to_string(), &typed(&shell, "\n")] {
        assert!(!text.contains(|c| c != '\r' && clean::is_hidden(c)), "{text:?}");
        assert!(text.contains("u{202e}flesti sehctaw") && text.contains("u{200b}"), "{text}");
    }
    assert_eq!(waiting(&shell).len(), 1, "it was left");
    let shown = typed(&shell, "d\nwe stay with Mondays\n");
    assert!(shown.contains("0 accepted, 1 declined, 0 left"), "{shown}");
    assert!(waiting(&shell).is_empty());
    let log = shell.json("hm --json log --type override.dismissed");
    assert_eq!(log["events"][0]["payload"]["reason"], "we stay with Mondays", "{log}");
    assert_eq!(log["events"][0]["agent"], "operator");
}

#[test]
fn a_human_accepts_what_is_proposed() {
    let shell = Shell::new();
    proposed(&shell, "the pipeline watches itself");
    let shown = typed(&shell, "a\nthe pipeline does watch itself\n");
    assert!(shown.contains("1 accepted, 0 declined, 0 left"), "{shown}");
    assert!(waiting(&shell).is_empty());
    let decisions = shell.json("hm --json decision list --target deploys");
    assert!(decisions.to_string().contains("we deploy on any day"), "{decisions}");
    let claim = shell.json("hm --json claim show C1");
    assert_eq!(claim["status"], "deprecated", "{claim}");
}

/// Red before: a suggested guard could be accepted or left, and not declined.
#[test]
fn a_suggested_guard_is_declined_with_a_reason() {
    let shell = Shell::new();
    proposed(&shell, "the pipeline watches itself");
    for line in [
        "hm --agent operator decision record \"we vendor what we build on\" --scope vendor \
         --rationale \"the registry was down once\"",
        "hm --agent operator decision outcome C2 failure",
    ] {
        let output = shell.run(line);
        assert!(output.status.success(), "{output:?}");
    }
    let list = waiting(&shell);
    assert_eq!(list.len(), 2, "{list:?}");
    let shown = typed(&shell, "\nd\nnot worth a warning\n");
    assert!(shown.contains("0 accepted, 1 declined, 1 left"), "{shown}");
    assert_eq!(waiting(&shell).len(), 1);
    let log = shell.json("hm --json log --type attention.seen");
    assert_eq!(log["events"][0]["payload"]["reason"], "not worth a warning", "{log}");
    let quit = typed(&shell, "q\n");
    assert!(quit.contains("0 accepted, 0 declined, 1 left"), "{quit}");
}

/// An editor that runs a script of sed on the file.
fn edited(shell: &Shell, script: &str, answers: &str) -> (Option<i32>, String) {
    let mut command = shell.command("hm review --edit");
    command.env_remove("VISUAL").env("EDITOR", format!("sed -i {}", shell_words::quote(script)));
    let (code, shown) = on_screen(&command, answers);
    // A terminal wraps a refusal.
    (code, shown.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn kept_files(shell: &Shell) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(shell.workspace().memory()).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_kept = |path: &std::path::PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("review-")
    };
    paths.filter(is_kept).collect()
}

/// Red before: there was no `--edit`.
#[test]
fn an_editor_answers_all_at_once_and_a_mistake_loses_nothing() {
    let shell = Shell::new();
    proposed(&shell, "the pipeline \u{202e}flesti sehctaw\u{200b} well enough\naccept 00000000 as a line");
    let (code, shown) = edited(&shell, "s/^leave/perhaps/", "\n");
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("`perhaps` is no verb") && shown.contains("nothing is decided"), "{shown}");
    let files = kept_files(&shell);
    assert_eq!((files.len(), waiting(&shell).len()), (1, 1), "{files:?}");
    let text = std::fs::read_to_string(&files[0]).expect("the kept file");
    assert!(!text.contains(clean::is_hidden), "{text:?}");
    assert!(text.contains("u{202e}flesti sehctaw") && text.contains("u{200b}"), "{text}");
    let at = text.lines().position(|line| line.starts_with("perhaps ")).expect("the line") + 1;
    assert!(shown.contains(&format!("line {at}:")), "{shown}");
    // No text of a proposal is a line of answers.
    assert_eq!(text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count(), 1, "{text}");

    for (script, problem) in [
        ("s/^leave/decline/", "a reason is needed"),
        ("s/^leave ......../decline ffffffff no/", "nothing that waits has the key `ffffffff`"),
        ("s/^leave .*/&\\n&/", "has two lines"),
    ] {
        let (code, shown) = edited(&shell, script, "\n");
        assert!(code == Some(2) && shown.contains(problem), "{script}: {shown}");
    }
    let (code, shown) = edited(&shell, "/^leave/d", "");
    assert!(code == Some(0) && shown.contains("0 accepted, 0 declined, 1 left"), "{shown}");
    assert_eq!(waiting(&shell).len(), 1);

    // The kept file, mended, is an answer.
    std::fs::write(&files[0], text.replace("perhaps", "decline").replace(" as a line", "")).expect("a file");
    let mended = std::fs::read_to_string(&files[0]).expect("the file");
    let key = mended.lines().find_map(|line| line.strip_prefix("decline ")).expect("a key").to_owned();
    std::fs::write(&files[0], format!("decline {key} we stay with Mondays\n")).expect("a file");
    let from = format!("hm review --from {}", files[0].display());
    let (code, shown) = on_screen(&shell.command(&from), "");
    assert!(code == Some(0) && shown.contains("0 accepted, 1 declined, 0 left"), "{shown}");
    let log = shell.json("hm --json log --type override.dismissed");
    assert_eq!(log["events"][0]["payload"]["reason"], "we stay with Mondays", "{log}");
    assert!(waiting(&shell).is_empty());
}

#[test]
fn an_editor_accepts_with_a_reason_and_needs_a_human() {
    let shell = Shell::new();
    proposed(&shell, "the pipeline watches itself");
    let mut pane = shell.command("hm review --edit");
    let (code, shown) = on_screen(pane.env("CLAUDECODE", "1").env("EDITOR", "true"), "");
    assert!(code == Some(1) && shown.contains("only a human at a terminal"), "{shown}");
    assert!(kept_files(&shell).is_empty());
    let (code, shown) =
        edited(&shell, "s/^leave .*/accept& the pipeline does watch itself/;s/^acceptleave/accept/", "");
    assert!(code == Some(0) && shown.contains("1 accepted, 0 declined, 0 left"), "{shown}");
    let decisions = shell.json("hm --json decision list --target deploys");
    assert!(decisions.to_string().contains("we deploy on any day"), "{decisions}");
    assert!(kept_files(&shell).is_empty(), "nothing stays behind");
}

#[test]
fn only_a_human_reviews() {
    let shell = Shell::new();
    proposed(&shell, "the pipeline watches itself");
    let mut pane = shell.command("hm review");
    let (code, shown) = on_screen(pane.env("CLAUDECODE", "1"), "a\nyes\n");
    assert!(code == Some(1) && shown.contains("only a human at a terminal"), "{shown}");
    assert_eq!(waiting(&shell).len(), 1);
    let listed = by_a_human(&shell.command("hm review --list"));
    assert!(
        listed.status.success() && String::from_utf8_lossy(&listed.stdout).contains("hm claim keep"),
        "{listed:?}"
    );
}
