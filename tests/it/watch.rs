//! `hm watch` at a real terminal: what it shows, what its keys do, and how it ends.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};
use hivemind::domain::agent::AgentId;
use hivemind::domain::event::{ClaimCreated, ExperimentQueued, PositionTaken, StatusChanged};
use hivemind::ledger::{Cursor, Reader, Stored};

use hivemind::domain::claim::Position;
use hivemind::writer::Front;

use crate::doubted::scene;
use crate::harness::{HM, block_on, claim_of, committed, creation, position, wait_until};
use crate::hook::{claude, within};
use crate::shell::Shell;
use crate::terminal::Screen;
use crate::web::Pages;

/// A small and a large terminal: rows and columns.
const SMALL: (u16, u16) = (24, 80);
const LARGE: (u16, u16) = (60, 200);

/// A team of three at work: a contested claim, a task, and a proposal against the operator.
fn team() -> Shell {
    let shell = Shell::new();
    for (id, agent) in [("s-1", "architect"), ("s-2", "devops"), ("s-3", "analyst")] {
        claude(&shell, id, agent).start();
    }
    for line in [
        "hm --agent devops claim create \"the pool holds 20 connections\" --scope src/db",
        "hm --agent analyst claim challenge C1 --reason \"it is 50 since the last release\"",
        "hm --agent operator claim create \"one file holds it\" --scope src/storage",
        "hm --agent architect claim deprecate C2 --reason \"a server is there now\"",
        "hm --agent devops task add \"mend the pool\"",
    ] {
        assert!(shell.run(line).status.success(), "{line}");
    }
    within(&shell, "s-2", "hm --json --agent devops task claim T1 --lock src/db/pool.rs");
    shell
}

fn watch(shell: &Shell, line: &str, size: (u16, u16)) -> Screen {
    Screen::open(&shell.command(line), size)
}

/// The screen with a stable name of the workspace, and without times.
fn masked(shell: &Shell, text: &str) -> String {
    let root = shell.workspace().root().file_name().expect("a name").to_string_lossy().into_owned();
    let same = "W".repeat(root.chars().count());
    let text = text.replace(&root, &same);
    let time = regex::Regex::new(r"\d\d:\d\d").expect("a pattern");
    time.replace_all(&text, "HH:MM").into_owned()
}

fn check(shell: &Shell, text: &str, expected: Expect) {
    expected.assert_eq(&masked(shell, text));
}

fn events(shell: &Shell) -> Vec<Stored> {
    let ledger = Reader::open(&shell.workspace().ledger()).expect("a ledger").expect("a file");
    ledger.read_from(Cursor::GENESIS, usize::MAX >> 1).expect("events")
}

/// The payloads of the operator's events of a kind.
fn of_operator(shell: &Shell, kind: &str) -> Vec<String> {
    let events = events(shell).into_iter();
    let mine = events.filter(|event| event.kind == kind && event.agent == AgentId::operator());
    mine.filter_map(|event| Some(event.payload?.0)).collect()
}

#[test]
fn a_small_and_a_large_screen_show_who_works_what_needs_somebody_and_what_happens() {
    let shell = team();
    let mut small = watch(&shell, "hm watch", SMALL);
    check(
        &shell,
        &small.wait_for("q end"),
        expect![[r#"
             hivemind · WWWWWWWWWW · 3 agents · 1 contested · 1 proposal · #11 at HH:MM UTC
            Who ───────────────────  Needs somebody (2) ───────────────────────────────────
            analyst in claude        > proposal C2 since HH:MM
              seen HH:MM                 operator: one file holds it
            devops in claude             architect would deprecate it: a server is there now
              T1 mend the pool           a: hm claim deprecate C2 --reason REASON
              holds src/db/pool.rs       d: hm claim keep C2 --reason REASON
              holds src/db/pool.rs     contradiction X1 of C1 since HH:MM, move of devops
              until HH:MM                devops: the pool holds 20 connections
              seen HH:MM                 analyst challenges it: it is 50 since the last
            architect in claude          release
              seen HH:MM                 hm claim deprecate C1 --reason REASON



                                     Feed ─────────────────────────────────────────────────
                                     #11 devops takes T1
                                     #10 devops adds T1: mend the pool
                                     #9 architect: override proposed
                                     #8 operator states C2: one file holds it
                                     #7 C1 is disputed
                                     #6 C1 is now contested: challenged by analyst
                                     #5 analyst challenges C1: it is 50 since the last
            Enter open  Esc back  / search  t time  s c d a r settle  ? keys  q end
        "#]],
    );
    let mut large = watch(&shell, "hm watch", LARGE);
    check(
        &shell,
        &large.wait_for("q end"),
        expect![[r#"
             hivemind · WWWWWWWWWW · 3 agents · 1 contested · 1 proposal · #11 at HH:MM UTC
            Who ───────────────────────────────────────────  Needs somebody (2) ────────────────────────────────────────────────────────────────────────  Feed ────────────────────────────────────────────────────
            analyst in claude                                > proposal C2 since HH:MM                                                                    #11 devops takes T1
              seen HH:MM                                         operator: one file holds it                                                              #10 devops adds T1: mend the pool
            devops in claude                                     architect would deprecate it: a server is there now                                      #9 architect: override proposed
              T1 mend the pool                                   a: hm claim deprecate C2 --reason REASON                                                 #8 operator states C2: one file holds it
              holds src/db/pool.rs                               d: hm claim keep C2 --reason REASON                                                      #7 C1 is disputed
              holds src/db/pool.rs until HH:MM                 contradiction X1 of C1 since HH:MM, move of devops                                         #6 C1 is now contested: challenged by analyst
              seen HH:MM                                         devops: the pool holds 20 connections                                                    #5 analyst challenges C1: it is 50 since the last release
            architect in claude                                  analyst challenges it: it is 50 since the last release                                   #4 devops states C1: the pool holds 20 connections
              seen HH:MM                                         hm claim deprecate C1 --reason REASON                                                    #3 analyst starts a session in claude
                                                                                                                                                          #2 devops starts a session in claude
                                                                                                                                                          #1 architect starts a session in claude














































            Enter open  Esc back  / search  t time  s c d a r settle  ? keys  q end
        "#]],
    );
    // Another size shows the same, laid out for it.
    let before = small.text();
    small.resize(LARGE);
    wait_until("the screen has the other size", || small.text() == large.text());
    small.resize(SMALL);
    wait_until("the screen has its size again", || small.text() == before);
    for screen in [&mut small, &mut large] {
        screen.press("?");
        screen.wait_for("deprecate the claim, with a reason; decline a proposal");
        screen.press("q");
        screen.wait_for("Needs somebody");
        screen.press("q");
        assert_eq!(screen.ended(), Some(0));
        assert!(!screen.is_taken() && screen.is_restored());
    }
}

#[test]
fn a_claim_is_opened_searched_and_seen_as_it_was() {
    let shell = team();
    let mut screen = watch(&shell, "hm watch", SMALL);
    screen.wait_for("q end");
    screen.press("/pool\r");
    screen.wait_for("Search: pool (1)");
    screen.press("\r");
    check(
        &shell,
        &screen.wait_for("Claim C1"),
        expect![[r#"
             hivemind · WWWWWWWWWW · 3 agents · 1 contested · 1 proposal · #11 at HH:MM UTC
            Claim C1 ──────────────────────────────────────────────────────────────────────
            the pool holds 20 connections
            fact contested, 0 for, 1 against
            by devops at HH:MM
            about src/db
            Positions
              challenge, analyst at HH:MM: it is 50 since the last release
            Evidence
              None: it is asserted.
            History
              #6 HH:MM contested by analyst: challenged by analyst
              #4 HH:MM proposed by devops










            Enter open  Esc back  / search  t time  s c d a r settle  ? keys  q end
        "#]],
    );
    screen.press("\u{1b}");
    screen.wait_for("Search: pool (1)");
    // The claim was not contested yet when it was made.
    let made =
        events(&shell).into_iter().find(|event| event.kind == ClaimCreated::KIND).expect("a claim").seq;
    screen.press(&format!("t#{made}\r"));
    let past = screen.wait_for(&format!("THE PAST, #{made}"));
    assert!(past.contains("C1 fact proposed, 0 for, 0 against"), "{past}");
    screen.press("s");
    screen.wait_for("the past is not changed");
    screen.press("t#999\r");
    screen.wait_for("there is no event 999");
    screen.press("t\r");
    screen.wait_for("contested, 0 for, 1 against");
    screen.press("\u{1b}");
    screen.wait_for("Needs somebody");
    screen.press("\u{3}");
    assert_eq!(screen.ended(), Some(0));
}

#[test]
fn a_key_of_the_operator_asks_once_and_does_what_its_command_does() {
    let shell = team();
    let mut screen = watch(&shell, "hm watch", LARGE);
    screen.wait_for("> proposal C2");
    // The contested claim, searched for.
    screen.press("/pool\rs");
    screen.wait_for("hm claim support C1    y does it");
    screen.press("n");
    screen.wait_for("nothing was done");
    assert!(of_operator(&shell, PositionTaken::KIND).is_empty());
    screen.press("sy");
    screen.wait_for("supported C1: committed at seq");
    assert_eq!(of_operator(&shell, PositionTaken::KIND).len(), 1);
    screen.press("c");
    screen.wait_for("hm claim challenge C1 --reason REASON");
    screen.press("\r");
    screen.wait_for("this needs a reason");
    screen.press("cit is 30 --help\r");
    screen.wait_for("challenged C1: committed at seq");
    let taken = of_operator(&shell, PositionTaken::KIND);
    assert!(taken.len() == 2 && taken[1].contains("\"it is 30 --help\""), "{taken:?}");
    // No profile of this workspace is about the claim.
    screen.press("r");
    screen.wait_for("no profile can settle C1 here");
    // The proposal on the first page: declined, and gone from the list.
    screen.press("\u{1b}");
    screen.wait_for("> proposal C2");
    screen.press("done file it is\u{7f}s\r");
    screen.wait_for("committed at seq");
    wait_until("the proposal is gone", || !screen.text().contains("proposal C2"));
    assert!(of_operator(&shell, "override.dismissed")[0].contains("one file it is"), "the typed reason");
    assert!(of_operator(&shell, "operator.overridden").is_empty(), "a human needs no override");
}

#[test]
fn a_small_screen_without_colour_accepts_a_proposal_and_runs_a_profile() {
    let shell = team();
    let dir = shell.workspace().marker_dir().join("profiles");
    std::fs::create_dir_all(&dir).expect("a directory");
    let passes = "description = \"a test\"\nargv = [\"true\"]\nscopes = [\"src/**\"]\ntimeout_ms = 20000\n[expect]\nexit = 0\n";
    std::fs::write(dir.join("passes.toml"), passes).expect("a profile");
    let trusted = shell.run("hm --agent operator profile trust passes --yes");
    assert!(trusted.status.success(), "{trusted:?}");
    let mut screen = watch(&shell, "hm watch --no-color", SMALL);
    screen.wait_for("> proposal C2");
    screen.press("a");
    screen.wait_for("hm claim deprecate C2");
    screen.press("a server is there\r");
    screen.wait_for("committed at seq");
    wait_until("the proposal is gone", || !screen.text().contains("proposal C2"));
    assert!(of_operator(&shell, StatusChanged::KIND)[0].contains("a server is there"), "the typed reason");
    screen.press("/pool\r");
    screen.wait_for("Search: pool (1)");
    screen.press("r");
    screen.wait_for("hm experiment run passes");
    screen.press("n");
    screen.wait_for("nothing was done");
    screen.press("r");
    screen.wait_for("hm experiment run passes");
    screen.press("y");
    wait_until("the run is asked for", || !of_operator(&shell, ExperimentQueued::KIND).is_empty());
    assert!(of_operator(&shell, ExperimentQueued::KIND)[0].contains("passes"));
}

#[test]
fn what_others_write_is_seen_at_once_and_hidden_characters_are_shown() {
    let shell = team();
    let screen = watch(&shell, "hm watch", LARGE);
    screen.wait_for("q end");
    let hostile = "right \u{202e}left\u{202c} \u{200b}hidden \u{1b}[31mred\u{7}";
    let made = shell.run(&format!("hm --agent analyst claim create \"{hostile}\" --scope src/ui"));
    assert!(made.status.success(), "{made:?}");
    let shown = screen.wait_for("analyst states C3");
    for escape in ["\\u{202e}left", "\\u{200b}hidden", "\\u{1b}[31mred\\u{7}"] {
        assert!(shown.contains(escape), "{escape}: {shown}");
    }
    let sent = screen.sent();
    assert!(!sent.contains(['\u{202e}', '\u{200b}', '\u{7}']) && !sent.contains("\u{1b}[31mred"), "{sent:?}");
}

#[test]
fn without_colour_the_screen_says_the_same() {
    let shell = team();
    let colour = regex::Regex::new("\u{1b}\\[[0-9;]*?\\b(3[0-7]|9[0-7]|38;[0-9;]+)m").expect("a pattern");
    let coloured = watch(&shell, "hm watch", LARGE);
    let shown = masked(&shell, &coloured.wait_for("q end"));
    assert!(colour.is_match(&coloured.sent()), "{:?}", coloured.sent());
    let plain = watch(&shell, "hm watch --no-color", LARGE);
    assert_eq!(masked(&shell, &plain.wait_for("q end")), shown);
    let mut command = shell.command("hm watch");
    let asked = Screen::open(command.env("NO_COLOR", "1"), LARGE);
    assert_eq!(masked(&shell, &asked.wait_for("q end")), shown);
    for screen in [plain, asked] {
        assert!(!colour.is_match(&screen.sent()), "{:?}", screen.sent());
    }
}

#[test]
fn a_signal_and_a_lost_memory_leave_the_terminal_as_it_was() {
    let shell = team();
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::HUP, rustix::process::Signal::INT]
    {
        let screen = watch(&shell, "hm watch", SMALL);
        screen.wait_for("q end");
        assert!(screen.is_taken() && !screen.is_restored());
        let leader = screen.leader();
        rustix::process::kill_process(leader, signal).expect("the process");
        assert_eq!(screen.ended(), Some(0));
        wait_until("the screen is given back", || !screen.is_taken());
        assert!(screen.is_restored());
    }
    // A moment that nobody knows is refused before the screen opens.
    let screen = watch(&shell, "hm watch --at 999", SMALL);
    screen.wait_for("there is no event 999");
    assert_eq!(screen.ended(), Some(2));
    assert!(screen.is_restored() && !screen.is_taken());
}

#[test]
fn without_a_terminal_it_is_refused_and_a_pane_only_looks() {
    let shell = team();
    let refused = shell.run("hm watch");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("hm watch needs a terminal"), "{refused:?}");
    let mut command: Command = shell.command("hm watch");
    command.stdin(Stdio::null()).env("CLAUDECODE", "1");
    let mut screen = Screen::open(&command, LARGE);
    let shown = screen.wait_for("q end");
    assert!(!shown.contains("settle  ?"), "{shown}");
    screen.press("a");
    screen.wait_for("only the operator acts here");
    screen.press("q");
    assert_eq!(screen.ended(), Some(0));
}

/// A workspace with 23 claims, each with a challenge.
pub(crate) fn disputes() -> Shell {
    let shell = Shell::new();
    let front = Front::new(shell.workspace(), PathBuf::from(HM));
    for number in 1..=23 {
        let made = creation("devops", &format!("table t{number} has {} rows", number * 7));
        block_on(committed(&front, &made)).expect("a receipt");
        let against = position("analyst", claim_of(&made), Position::Challenge);
        block_on(committed(&front, &against)).expect("a receipt");
    }
    shell
}

#[test]
fn what_needs_somebody_is_counted_whole_and_the_rest_is_named() {
    let shell = disputes();
    // 20 contradictions are shown, and the pattern that they are.
    let text = watch(&shell, "hm watch", (120, 200)).wait_for("q end");
    assert!(text.contains("Needs somebody (24)"), "{text}");
    assert!(text.contains("3 more of contradiction: hm contradictions"), "{text}");
}

#[test]
fn who_holds_something_without_a_session_of_a_client_is_at_work() {
    let shell = Shell::new();
    assert!(shell.run("hm --agent devops task add \"mend the pool\"").status.success());
    let text = watch(&shell, "hm watch", SMALL).wait_for("q end");
    assert!(text.contains("No session is open."), "{text}");
    within(&shell, "s-9", "hm --json --agent analyst task claim T1");
    within(&shell, "s-9", "hm --json --agent analyst lock src/db --for 20m --why benchmarks");
    let text = watch(&shell, "hm watch", SMALL).wait_for("q end");
    let who: Vec<&str> =
        text.lines().skip(2).take(3).map(|row| row.get(..24).unwrap_or(row).trim_end()).collect();
    assert_eq!(who[..2], ["analyst", "  T1 mend the pool"], "{text}");
    assert!(who[2].starts_with("  holds src/db until"), "{text}");
}

/// Red before: the page said that the claim contradicts itself, and nothing of the run that had answered the challenge.
#[test]
fn an_answered_challenge_is_shown_with_its_run() {
    let (shell, _linked, _place) = scene();
    let mut screen = watch(&shell, "hm watch", SMALL);
    screen.wait_for("q end");
    screen.press("/add\r");
    screen.wait_for("C1 fact confirmed (proved), 0 for, 1 against, settled, devops");
    screen.press("\r");
    let page = masked(&shell, &screen.wait_for("What proved it"));
    assert!(page.contains("challenge, analyst at HH:MM, answered by R1: it subtracts"), "{page}");
    assert!(!page.contains("contradicts C1"), "{page}");
}

/// Red before: what both held stood under the agent that was first in the session.
#[test]
fn each_agent_of_a_session_is_at_work_with_what_it_holds_itself() {
    let shell = Shell::new();
    for title in ["measure the pool", "mend the pool"] {
        assert!(shell.run(&format!("hm --agent architect task add \"{title}\"")).status.success());
    }
    within(&shell, "s-9", "hm --json --agent analyst task claim T1");
    within(&shell, "s-9", "hm --json --agent devops task claim T2");
    within(&shell, "s-9", "hm --json --agent devops lock src/db --why migration");
    let text = masked(&shell, &watch(&shell, "hm watch", LARGE).wait_for("q end"));
    let who: Vec<String> =
        text.lines().skip(2).take(5).map(|row| row.chars().take(48).collect::<String>()).collect();
    let who: Vec<&str> = who.iter().map(|row| row.trim_end()).collect();
    let held = "  holds src/db until HH:MM: migration";
    assert_eq!(who, ["analyst", "  T1 measure the pool", "devops", "  T2 mend the pool", held], "{text}");
    // A session that no client opened is on no page.
    let pages = Pages::start(shell.command("hm --operator-override \"a test\" web --no-open")).opened();
    let page = pages.page("/");
    let row = |agent: &str| {
        let rows = page.split("<tr>").filter(|row| row.contains(agent));
        rows.map(str::to_owned).next().unwrap_or_else(|| panic!("no row of {agent}: {page}"))
    };
    assert!(row("analyst").contains("T1") && !row("analyst").contains("src/db"), "{page}");
    assert!(row("devops").contains("T2") && row("devops").contains("src/db"), "{page}");
    assert!(!page.contains(">S1<"), "{page}");
    assert!(pages.page("/sessions").contains("No session yet."));
}

/// Three claims of devops, C1 to C3, each challenged by analyst.
fn three_disputes() -> Shell {
    let shell = Shell::new();
    for nth in 1..=3 {
        for line in [
            format!("hm --agent devops claim create \"fact {nth} of the pool\" --scope src/f{nth}"),
            format!("hm --agent analyst claim challenge C{nth} \"not {nth}\""),
        ] {
            assert!(shell.run(&line).status.success(), "{line}");
        }
    }
    shell
}

/// Red before: the first entry of the list was selected, and the next key acted on it.
#[test]
fn esc_comes_back_to_the_entry_that_was_open() {
    let shell = three_disputes();
    assert!(shell.run("hm --agent reviewer claim challenge C2 \"nor that\"").status.success());
    let mut screen = watch(&shell, "hm watch", LARGE);
    screen.wait_for("> contradiction X1 of C1 since");
    // Both disputes of a claim are one entry.
    screen.press("j");
    screen.wait_for("> contradiction X4, X2 of C2 since");
    screen.press("j");
    screen.wait_for("> contradiction X3 of C3 since");
    screen.press("\r");
    screen.wait_for("Claim C3");
    // A key that follows Esc at once is another key: the screen is drawn whole before it.
    wait_until("the list is gone", || !screen.text().contains("contradiction X3"));
    screen.press("\u{1b}");
    screen.wait_for("> contradiction X3 of C3 since");
    screen.press("d");
    screen.wait_for("hm claim deprecate C3 --reason REASON    Enter does it");
    screen.press("\u{1b}");
    screen.wait_for("q end");
    screen.press("/fact\r");
    screen.wait_for("Search: fact (3)");
    let first = selected(&screen);
    screen.press("jj");
    wait_until("the third hit is selected", || ![first.as_str(), ""].contains(&selected(&screen).as_str()));
    wait_until("the last hit is selected", || {
        let rows = screen.text();
        let last = rows.lines().rfind(|row| row.contains("fact contested")).map(str::to_owned);
        last.is_some_and(|row| row.starts_with("> "))
    });
    let third = selected(&screen);
    screen.press("\r");
    screen.wait_for(&format!("Claim {third}"));
    screen.press("\u{1b}");
    screen.wait_for("Search: fact (3)");
    assert_eq!(selected(&screen), third);
    // From there the list of the first page has its entry again.
    screen.press("\u{1b}");
    screen.wait_for("> contradiction X3 of C3 since");
    let pages = Pages::start(shell.command("hm --operator-override \"a test\" web --no-open")).opened();
    let page = pages.page("/");
    assert!(page.contains("X4, X2</span> of <a href=\"/claim/C2\">C2</a>"), "{page}");
}

/// Red before: the place of the list below was kept with the shorter list of the search, and the program died of it.
#[test]
fn esc_over_a_memory_that_went_away_shows_what_there_is() {
    let shell = three_disputes();
    let mut screen = watch(&shell, "hm watch", LARGE);
    screen.wait_for("> contradiction X1 of C1 since");
    screen.press("jj");
    screen.wait_for("> contradiction X3 of C3 since");
    screen.press("/fact 1\r");
    screen.wait_for("> C1");
    shell.end_writer();
    let memory = shell.workspace().team_memory().parent().expect("a directory").to_owned();
    let away = memory.with_extension("away");
    std::fs::rename(&memory, &away).expect("the memory");
    screen.press("\u{1b}");
    screen.wait_for("Needs somebody");
    std::fs::rename(&away, &memory).expect("the memory");
    screen.wait_for("q end");
    screen.press("q");
    assert_eq!(screen.ended(), Some(0));
    assert!(screen.is_restored());
}

/// Red before: the screen waited for a key, and a search counted the entries of the board as its hits.
#[test]
fn a_memory_that_went_away_is_noticed_without_a_key_and_a_search_counts_no_hits() {
    let shell = three_disputes();
    let mut screen = watch(&shell, "hm watch", LARGE);
    screen.wait_for("> contradiction X1 of C1 since");
    shell.end_writer();
    let memory = shell.workspace().team_memory().parent().expect("a directory").to_owned();
    let away = memory.with_extension("away");
    std::fs::rename(&memory, &away).expect("the memory");
    let text = screen.wait_for("is gone, or another one lies there");
    assert!(text.contains("> contradiction X1 of C1 since"), "{text}");
    screen.press("/fact 1\r");
    let text = screen.wait_for("Search: fact 1 ─");
    assert!(!text.contains("X1") && !text.contains("No claim matches"), "{text}");
    std::fs::rename(&away, &memory).expect("the memory");
    let text = screen.wait_for("> C1");
    assert!(text.contains("Search: fact 1 (") && text.contains("q end"), "{text}");
    screen.press("q");
    assert_eq!(screen.ended(), Some(0));
}

/// The name of the selected hit of a search; empty without one.
fn selected(screen: &Screen) -> String {
    let text = screen.text();
    let row = text.lines().find_map(|row| row.strip_prefix("> "));
    row.and_then(|row| row.split(' ').next()).unwrap_or_default().to_owned()
}
