//! What people met who used hm for the first time: output that nobody reads to its end, the past, hints, and pages.

use std::process::{Command, Output};

use crate::harness::HM;
use crate::init::Machine;
use crate::shell::Shell;
use crate::terminal::{Screen, by_a_human};
use crate::web::{Pages, hidden};

fn said(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn done(shell: &Shell, line: &str) -> String {
    said(shell.run(line))
}

/// A claim that another agent supports: two events of one command.
fn supported() -> Shell {
    let shell = Shell::new();
    done(&shell, "hm --agent devops claim create \"the pool holds 20\" --scope src/db");
    done(&shell, "hm --agent analyst claim support C1 \"I counted\"");
    shell
}

fn pages(shell: &Shell) -> Pages {
    Pages::start(shell.command("hm --operator-override \"a test\" web --no-open")).opened()
}

/// Red before: neither did anything.
#[test]
fn init_and_uninit_finish_their_work_where_nobody_reads_what_they_say() {
    let machine = Machine::new();
    let unheard = |args: &[&str]| {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let ended = machine.command(args).stdout(writer).status().expect("hm can be run");
        assert!(ended.success(), "{args:?}: {ended:?}");
    };
    let files =
        [".mcp.json", ".claude/settings.json", ".codex/config.toml"].map(|file| machine.project().join(file));
    unheard(&["init", "--all", "--yes"]);
    assert!(files.iter().all(|file| file.exists()), "{files:?}");
    unheard(&["uninit", "--yes"]);
    assert!(!files.iter().any(|file| file.exists()), "{files:?}");
}

/// Red before: the status line and the rule that nobody had asked for were taken out too, in words.
#[test]
fn uninit_lists_what_it_takes_out_and_what_stays() {
    let machine = Machine::new();
    let git = Command::new("git").args(["init", "-q"]).current_dir(machine.project()).status();
    assert!(git.expect("git runs").success());
    machine.hm(&["init", "--clients", "claude", "--yes"]);
    machine.hm(&["claim", "create", "the pool holds 20", "--scope", "src", "--agent", "devops"]);
    machine.hm(&["export", "--to", "AGENTS.md", "--agent", "devops"]);
    let text = machine.hm(&["uninit", "--yes"]);
    let row = text.lines().find(|line| line.contains(".claude/settings.json")).expect("a row");
    assert!(row.contains(" hooks ") && !row.contains("status line") && !row.contains("allow rule"), "{text}");
    let flat = text.replace("\n    ", " ");
    assert!(flat.contains("The section of `hm export` stays in AGENTS.md."), "{text}");
    let state = machine.state_home().join("hivemind");
    assert!(flat.contains(&format!("{}/ has the keys and seals", state.display())), "{text}");
    let forget = flat.find("To forget everything, delete these.").expect("what to delete");
    assert!(
        forget < flat.find("has the keys and seals").expect("the state"),
        "of other memories too: {text}"
    );
}

/// Red before: `R&amp;amp;D`, in the news alone.
#[test]
fn a_scope_is_escaped_once_and_no_pipe_shows_a_tag() {
    let shell = Shell::new();
    done(&shell, "hm --agent devops claim create \"the plan of <i>x</i> is old\" --scope R&D/plan.md");
    let news = done(&shell, "hm --agent analyst news");
    assert!(news.contains("scope=\"R&amp;D/plan.md\""), "{news}");
    assert!(done(&shell, "hm claim list").contains("&lt;i>x&lt;/i>"), "an agent reads no tag");
    // What is captured may reach a model, whoever typed it.
    for line in ["hm claim list", "hm claim show C1"] {
        let piped = said(by_a_human(&shell.command(line)));
        assert!(piped.contains("&lt;i>x&lt;/i>"), "{line}: {piped}");
    }
}

/// Red before: "over: withdrawn since" and the time of the challenge.
#[test]
fn an_ended_disagreement_shows_when_it_ended() {
    let shell = Shell::new();
    done(&shell, "hm --agent devops claim create \"the pool holds 20\" --scope src/db");
    done(&shell, "hm --agent analyst claim challenge C1 \"it is 50\"");
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    done(&shell, "hm --agent analyst claim withdraw C1 \"I misread\"");
    let ended = shell.json("hm --json contradictions --resolved");
    let at = |name: &str| {
        let ms = ended["contradictions"][0][name].as_i64().unwrap_or_else(|| panic!("{name}: {ended}"));
        format!("datetime=\"{}\"", hivemind::domain::time::Timestamp::from_ms(ms))
    };
    let pages = pages(&shell);
    let page = pages.page("/disagreements?show=ended");
    let state =
        page.split("data-of=\"State\"").nth(1).and_then(|rest| rest.split("</td>").next()).expect("a state");
    assert!(state.contains("over: ") && !state.contains("since"), "{state}");
    assert!(state.contains(&at("resolved_at")) && !state.contains(&at("detected_at")), "{state}");
}

/// Red before: the events of today were kept then.
#[test]
fn a_status_of_the_past_says_nothing_of_today() {
    let shell = supported();
    let text = done(&shell, "hm status --at #1");
    assert!(text.contains("ledger:    1 event by 1 agent"), "{text}");
    for today in ["kept:", "writer:"] {
        assert!(!text.contains(today) && done(&shell, "hm status").contains(today), "{text}");
    }
    let json = shell.json("hm --json status --at #1");
    for today in ["kept", "writer_is_up", "remarks", "waiting_for_newer", "rejected"] {
        assert!(json.get(today).is_none(), "{json}");
    }
    assert!(shell.json("hm --json status").get("kept").is_some());
}

/// Red before: it was said nowhere.
#[test]
fn a_moment_within_a_command_says_what_is_shown_in_its_place() {
    let shell = supported();
    let head = done(&shell, "hm log").lines().count();
    assert_eq!(head, 3, "the support has two events");
    let moved = "event #2 is in the middle of what one command wrote: this is #3, the last of it";
    let told = |line: &str| {
        let output = shell.run(line);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).replace("\n    ", " ")
    };
    assert_eq!(told("hm claim show C1 --at #2").matches(moved).count(), 1);
    assert!(!told("hm claim show C1 --at #3").contains("in the middle"));
    assert!(
        done(&shell, "hm help options").replace("\n      ", " ").contains("with all that its command wrote")
    );
    let pages = pages(&shell);
    assert!(pages.page("/claims?at=%232").contains(moved));
    assert!(!pages.page("/claims?at=%233").contains("in the middle"));
    let screen = Screen::open(&shell.command("hm watch --at #2"), (24, 80));
    screen.wait_for("THE PAST, #3 (#2 is within it) of");
}

/// Red before: the list ended in silence.
#[test]
fn a_log_says_how_many_events_are_before_it() {
    let shell = supported();
    let more = "more: 2 events before #3: the same with --limit 2, or with --after 0 from the first one on";
    for line in ["hm log --limit 1", "hm log --limit 1 --all"] {
        let text = done(&shell, line).replace("\n    ", " ");
        assert!(text.lines().any(|line| line == more), "{line}: {text}");
    }
    assert_eq!(shell.json("hm --json log --limit 1")["earlier"], true);
    done(&shell, "hm --agent devops claim create \"the log is small\" --scope src/log");
    let text = done(&shell, "hm log --limit 1 --type claim.created");
    assert!(text.contains("more: events before #4: the same with --limit 2"), "{text}");
    for line in ["hm log", "hm log --limit 4", "hm log --all", "hm log --after 0"] {
        assert!(!done(&shell, line).contains("more:"), "{line}");
    }
    assert!(shell.json("hm --json log").get("earlier").is_none());
}

/// Red before: a tip that failed, a warning of a commit that nothing had made, no session where one wrote, a refusal that
/// succeeded, and no answer for programs.
#[test]
fn hints_and_exit_codes_say_what_is_so() {
    let shell = supported();
    let typed = shell.run("hm claim list --color never");
    let told = String::from_utf8_lossy(&typed.stderr).into_owned();
    assert!(
        !typed.status.success() && !told.contains("--holder never") && told.contains("hm claim list takes"),
        "{told}"
    );
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let read = shell.command("hm claim list").stdout(full).output().expect("hm runs");
    let told = String::from_utf8_lossy(&read.stderr).into_owned();
    assert!(told.contains("cannot write the output") && !told.contains("committed"), "{told}");
    assert!(done(&shell, "hm session list").contains("No client has opened a session"));
    let refused = shell.run("hm --agent devops import-notes nofile.md");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    std::fs::write(shell.workspace().root().join("notes.md"), "- The pool holds 20 connections now.\n")
        .expect("notes");
    done(&shell, "hm --agent devops import-notes nofile.md notes.md");
    let elsewhere = tempfile::tempdir().expect("a directory");
    for dir in [shell.workspace().root(), elsewhere.path()] {
        let mut line = Command::new(HM);
        line.args(["statusline", "--json"]).current_dir(dir).stdin(std::process::Stdio::null());
        let text = said(line.output().expect("hm runs"));
        let one: serde_json::Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"));
        assert!(one["line"].is_string(), "{one}");
    }
}

/// Red before: each of these.
#[test]
fn the_pages_offer_what_has_an_effect_and_print_without_their_buttons() {
    let shell = supported();
    let pages = pages(&shell);
    assert!(pages.page("/claim/C1").contains("value=\"support\""));
    done(&shell, "hm --agent operator claim support C1");
    let page = pages.page("/claim/C1");
    assert!(page.contains("value=\"abstain\"") && !page.contains("value=\"support\""), "{page}");
    let form = hidden(&page, "form");
    pages.post(&[("form", form), ("do", "abstain"), ("about", "C1"), ("back", "/claim/C1")], &[]);
    assert!(pages.page("/claim/C1").contains("value=\"support\""), "it was taken back");
    let asset = |start: &str| {
        let path = page.split(start).nth(1).and_then(|rest| rest.split('"').next()).expect("an asset");
        pages.page(&format!("{}{path}", &start[start.find('/').expect("a path")..]))
    };
    assert!(asset("rel=\"icon\" href=\"/icon-").starts_with("<svg"));
    assert!(asset("rel=\"stylesheet\" href=\"/style-").contains("@media print"));
    assert!(asset("src=\"/live-").contains("Show event #"));
    drop(page);
    shell.end_writer();
    std::fs::remove_dir_all(shell.workspace().memory()).expect("the memory");
    let page = pages.page("/claims");
    assert!(page.contains("The memory cannot be read") && !page.contains("No claims yet"), "{page}");
}

/// Red before: a page and a screen showed the joiner as an escape.
#[test]
fn an_emoji_of_several_is_whole_on_the_pages_and_a_tiny_screen_says_all_it_says() {
    let shell = Shell::new();
    let family = "👩\u{200d}💻 and ❤\u{fe0f} here, a\u{200d}b";
    done(&shell, &format!("hm --agent devops claim create \"{family}\" --scope src/db"));
    let page = pages(&shell).page("/claim/C1");
    assert!(page.contains("👩\u{200d}💻 and ❤\u{fe0f} here, a\\u{200d}b"), "{page}");
    let screen = Screen::open(&shell.command("hm watch"), (5, 20));
    screen.wait_for("small");
    assert_eq!(screen.text().split_whitespace().collect::<Vec<_>>().join(" "), "this terminal is too small");
}
