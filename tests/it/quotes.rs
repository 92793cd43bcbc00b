//! What repeats a forgotten text: it goes with it, or it is named. No file of the memory holds the text afterwards.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Output;

use hivemind::domain::command::{
    Command, DeclareIntent, Forget, ForgetMany, Observe, RecordRecall, RecordTurn, SaveAnchor, Seen,
    SplitSession, Submission,
};
use hivemind::domain::forgetting::{Choice, Wanted, Which, Why};
use hivemind::domain::ids::EventId;
use hivemind::domain::memory::Recalled;
use hivemind::domain::plan::Trajectory;
use hivemind::domain::session::Role;
use hivemind::domain::text::RecallQuery;
use hivemind::ledger::Stored;
use hivemind::system;
use serde_json::Value;

use crate::forget::{holding, reason};
use crate::harness::{Dice, TempWorkspace, agent, body, creation, ran, request};
use crate::shell::Shell;
use crate::terminal::by_a_human;

const AGENTS: [&str; 3] = ["devops", "analyst", "reviewer"];

fn within(shell: &Shell, (user, session): (&str, &str), line: &str) -> Output {
    let output = shell.command(line).env("HM_USER", user).env("HM_SESSION", session).output();
    let output = output.expect("hm runs");
    assert!(output.status.success(), "{line}: {output:?}");
    output
}

fn text_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The positions in a list.
fn listed(list: &Value) -> BTreeSet<u64> {
    let events = list.as_array().unwrap_or_else(|| panic!("{list}"));
    events.iter().map(|event| event["seq"].as_u64().expect("a position")).collect()
}

/// The positions of the events without a payload.
fn erased(shell: &Shell) -> BTreeSet<u64> {
    let log = shell.json("hm --json log --all --limit 500");
    let events = log["events"].as_array().expect("events");
    let gone = events.iter().filter(|event| event["payload"].is_null());
    gone.map(|event| event["seq"].as_u64().expect("a position")).collect()
}

/// Red before: the intents, the query of the recall and the hand-over kept the text of the claim, and the dry run listed
/// the claim alone.
#[test]
fn what_repeats_a_claim_goes_with_it_and_words_of_others_are_named() {
    let shell = Shell::new();
    let text = "the vqzkjxwb limit is 20 per day";
    let (ann, bob) = (("ann", "s-1"), ("bob", "s-2"));
    within(&shell, ann, "hm --agent devops session start");
    within(&shell, ann, &format!("hm --agent devops claim create \"{text}\" --scope src/a.py"));
    within(&shell, ann, &format!("hm --agent devops intent \"{text}\""));
    within(&shell, bob, "hm --agent analyst session start");
    within(&shell, bob, &format!("hm --agent analyst intent \"{text}\""));
    within(&shell, bob, "hm --agent analyst context --trace");
    within(&shell, bob, &format!("hm --agent analyst claim create \"{text}, I counted\" --scope src/b.py"));
    within(&shell, bob, &format!("hm --agent analyst session split \"go on with {text}\""));

    let dry = shell.json("hm --json --agent operator forget C1 --dry-run");
    let stays = dry["stays"].as_array().expect("a list");
    assert_eq!((stays.len(), stays[0]["type"].as_str()), (1, Some("claim.created")), "{dry}");
    let kinds: BTreeSet<&str> =
        dry["events"].as_array().expect("events").iter().filter_map(|event| event["type"].as_str()).collect();
    let expected = ["claim.created", "intent.declared", "memory.recalled", "session.split"];
    assert_eq!(kinds, BTreeSet::from(expected), "{dry}");
    let done = shell.json("hm --json --agent operator forget C1 --reason \"asked to\"");
    assert_eq!(done["state"], "committed", "{done}");
    let next = done["next"].as_str().expect("what stays");
    assert!(next.contains("words of others that quote it stay"), "{next}");
    assert_eq!(erased(&shell), listed(&dry["events"]));
    let left = holding(shell.workspace().memory(), "vqzkjxwb");
    assert!(!left.is_empty(), "the claim of the analyst stays");
    let other = stays[0]["seq"].as_u64().expect("a position");
    let done = shell.json(&format!("hm --json --agent operator forget {other} --reason \"asked to\""));
    assert_eq!(done["state"], "committed", "{done}");
    assert_eq!(holding(shell.workspace().memory(), "vqzkjxwb"), Vec::<PathBuf>::new());
    shell.assert_rebuilds_to_the_same();
}

#[test]
fn with_quotes_the_words_of_others_go_too() {
    let shell = Shell::new();
    let text = "the vqzkjxwb limit is 20 per day";
    within(&shell, ("ann", "s-1"), &format!("hm --agent devops claim create \"{text}\" --scope src/a.py"));
    let quoting = format!("hm --agent analyst claim create \"{text}, I counted\" --scope src/b.py");
    within(&shell, ("bob", "s-2"), &quoting);
    let dry = shell.json("hm --json --agent operator forget C1 --with-quotes --dry-run");
    assert_eq!((listed(&dry["stays"]).len(), listed(&dry["events"]).len()), (0, 2), "{dry}");
    let done = shell.json("hm --json --agent operator forget C1 --with-quotes --reason \"asked to\"");
    assert_eq!(done["state"], "committed", "{done}");
    assert_eq!(erased(&shell), listed(&dry["events"]));
    assert_eq!(holding(shell.workspace().memory(), "vqzkjxwb"), Vec::<PathBuf>::new());
}

/// Red before: the query of the recall was the beginning of the message, and stayed when the message was forgotten.
#[test]
fn a_recall_repeats_no_message() {
    let shell = Shell::new();
    let (ann, bob) = (("ann", "s-1"), ("bob", "s-2"));
    within(&shell, ann, "hm --agent devops anchor save PX \"giraffe\"");
    within(&shell, ann, "hm --agent devops session start");
    within(&shell, ann, "hm --agent devops session turn user \"my vqzkjxwb is blue\"");
    within(&shell, ann, "hm --agent devops context --trace");
    let log = shell.json("hm --json log --all --limit 500");
    let all = log["events"].as_array().expect("events");
    let of = |kind: &str| {
        all.iter().find(|event| event["type"] == kind).unwrap_or_else(|| panic!("{kind}: {log}"))
    };
    let (turn, recall) = (of("turn.recorded"), of("memory.recalled"));
    assert_eq!(recall["payload"]["messages"][0], turn["seq"], "{recall}");
    assert!(!recall["payload"].to_string().contains("vqzkjxwb"), "{recall}");
    let show = format!("hm trace show {} --plain", recall["seq"]);
    assert!(text_of(&within(&shell, bob, &show)).contains("query: my vqzkjxwb is blue"));
    let done =
        shell.json(&format!("hm --json --agent operator forget {} --reason \"asked to\"", turn["seq"]));
    assert_eq!(done["state"], "committed", "{done}");
    let shown = text_of(&within(&shell, bob, &show));
    assert!(shown.contains(&format!("query: (message #{})", turn["seq"])), "{shown}");
    assert_eq!(holding(shell.workspace().memory(), "vqzkjxwb"), Vec::<PathBuf>::new());
}

/// Red before: list, show, log, export and a context of the past showed the message to other users after it had become a
/// fact of its author alone.
#[test]
fn a_message_in_a_users_own_space_is_shown_to_nobody_else() {
    let shell = Shell::new();
    let (ann, bob) = (("ann", "s-1"), ("bob", "s-2"));
    within(&shell, ann, "hm --agent devops session start");
    within(&shell, ann, "hm --agent devops session turn user \"my vqzkjxwb is blue\"");
    within(&shell, ann, "hm --agent devops anchor save PX \"giraffe\"");
    within(&shell, ann, "hm --agent devops context --trace");
    within(&shell, ann, "hm --agent devops session split \"the window is full\"");
    let split = shell.json("hm --json log --all --type session.split")["events"][0]["payload"].clone();
    let turn0 = format!("hm session turn0 {}", split["child"].as_str().expect("a session"));
    assert!(text_of(&within(&shell, bob, &turn0)).contains("vqzkjxwb"), "{split}");
    let promote = "memory promote session:s-1:short_term:1 --to user --key COLOR --reason \"said for good\"";
    within(&shell, ann, &format!("hm --agent devops {promote}"));
    let seq = shell.json("hm --json log --all --type turn.recorded")["events"][0]["seq"].clone();
    for line in [
        turn0.as_str(),
        "hm memory list",
        "hm log --all",
        "hm --json log --all",
        "hm trace list",
        "hm export",
        "hm --agent analyst context",
        &format!("hm --agent analyst context --at '#{seq}'"),
        "hm session show s-1",
        "hm --json session show s-1",
        &format!("hm session show s-1 --at '#{seq}'"),
    ] {
        let output = shell.command(line).env("HM_USER", bob.0).env("HM_SESSION", bob.1).output();
        let output = output.expect("hm runs");
        let all = text_of(&output) + &String::from_utf8_lossy(&output.stderr);
        assert!(!all.contains("vqzkjxwb"), "{line}: {all}");
    }
    for item in ["session:s-1:short_term:1", "user:ann:profile:1", "user:ann:profile:2"] {
        let line = format!("hm memory show {item}");
        let output = shell.command(&line).env("HM_USER", bob.0).output().expect("hm runs");
        assert!(!text_of(&output).contains("vqzkjxwb"), "{item}");
    }
    for line in ["hm log --all", "hm export", "hm memory list"] {
        assert!(text_of(&within(&shell, ann, line)).contains("vqzkjxwb"), "{line}");
    }
}

/// The words of a random history, each with a marker of its own or as a quote of an earlier one.
fn words(dice: &mut Dice, said: &mut Vec<String>) -> String {
    let text = if !said.is_empty() && dice.below(10) < 4 {
        let quoted = dice.pick(said).clone();
        if dice.below(2) == 0 { quoted } else { format!("{quoted}, I saw it") }
    } else {
        format!("the vqz{}x cluster holds {} connections", said.len(), dice.below(90))
    };
    said.push(text.clone());
    text
}

fn step(dice: &mut Dice, said: &mut Vec<String>) -> Submission {
    let by = AGENTS[dice.below(3)];
    let text = words(dice, said);
    let session = format!("s-{by}");
    let event_id = EventId::from_uuid(system::new_id());
    let command = match dice.below(7) {
        0 | 1 => return creation(by, &text),
        2 => Command::DeclareIntent(DeclareIntent {
            trajectory: Trajectory {
                intent: text.parse().expect("an intent"),
                plan_id: None,
                phase_id: None,
                task_ids: Vec::new(),
            },
            team: false,
        }),
        3 => Command::RecordTurn(RecordTurn {
            role: Role::User,
            text: text.parse().expect("a text"),
            told: None,
        }),
        4 => Command::RecordRecall(RecordRecall {
            query: RecallQuery::of(&[text]),
            messages: Vec::new(),
            recalled: vec![Recalled::anchor(1)],
        }),
        5 => Command::SplitSession(SplitSession {
            child: format!("s-{}", system::new_id()).parse().expect("a session"),
            reason: reason("the window is full"),
            used_tokens: None,
            window_tokens: None,
            turn0: format!("<turn0>\n<said>{text}</said>\n</turn0>").parse().expect("a hand-over"),
        }),
        _ if dice.below(2) == 0 => Command::SaveAnchor(SaveAnchor {
            key: format!("K{}", dice.below(5)).parse().expect("a key"),
            value: text.parse().expect("a value"),
            user: None,
        }),
        _ => {
            let seen = Seen::Command(ran(&format!("hm claim create \"{text}\"")));
            Command::Observe(Observe { event_id, seen })
        }
    };
    Submission { session: Some(session.parse().expect("a session")), ..request(by, command) }
}

fn payloads(events: &[Stored]) -> Vec<(u64, String)> {
    let kept = events.iter().filter_map(|event| Some((event.seq, event.payload.as_ref()?.0.clone())));
    kept.collect()
}

/// A law: what the dry run lists is what goes, no text of what was asked stays in an event that is not named, and a marker
/// whose events are all gone is in no file of the memory.
#[test]
fn whatever_repeats_a_forgotten_text_goes_or_is_named() {
    for seed in 0..12 {
        let mut dice = Dice::new(seed);
        let workspace = TempWorkspace::new();
        let mut committer = workspace.committer(seed);
        let mut said = Vec::new();
        let group: Vec<Submission> = (0..30).map(|_| step(&mut dice, &mut said)).collect();
        // A refusal, such as that of the same claim again, is part of a history.
        let _ = committer.commit(&group).expect("a ledger");
        let events = workspace.events();
        let head = events.last().expect("events").seq;
        let by_agent = Which { agent: Some(agent(AGENTS[dice.below(3)])), ..Which::default() };
        let session = Some(format!("s-{}", AGENTS[dice.below(3)]).parse().expect("a session"));
        let by_session = Which { session, ..Which::default() };
        let with_quotes = dice.below(2) == 0;
        let claims: Vec<&Stored> = events
            .iter()
            .filter(|event| matches!(event.kind.as_str(), "claim.created" | "turn.recorded" | "anchor.saved"))
            .collect();
        let one = dice.pick(&claims).id;
        let (wanted, command) = match seed % 4 {
            0 => (Wanted::Many(&by_agent), by_agent.clone()),
            1 => (Wanted::Many(&by_session), by_session.clone()),
            _ => (Wanted::One { id: one, with_quotes }, Which::default()),
        };
        let Choice { goes, stays } = workspace.ledger_reader().to_forget(wanted, head).expect("a list");
        let asked = reason("asked to");
        let command = match wanted {
            Wanted::Many(_) => Command::ForgetMany(ForgetMany { which: command, until: head, reason: asked }),
            Wanted::One { id, with_quotes } => {
                Command::Forget(Forget { event_id: id, reason: asked, with_quotes })
            }
        };
        let done = committer.commit(&[request("operator", command)]).expect("a ledger").remove(0);
        done.expect("an erasure");
        drop(committer);

        let after = workspace.events();
        let gone: BTreeSet<u64> =
            after.iter().filter(|event| event.payload.is_none()).map(|event| event.seq).collect();
        assert_eq!(gone, goes.iter().map(|chosen| chosen.event.seq).collect(), "seed {seed}");
        let named: BTreeSet<u64> = stays.iter().map(|chosen| chosen.event.seq).collect();
        assert!(matches!(wanted, Wanted::One { with_quotes: false, .. }) || named.is_empty(), "seed {seed}");
        let left = payloads(&after);
        for chosen in goes.iter().filter(|chosen| chosen.why == Why::Asked) {
            let event = events.iter().find(|event| event.seq == chosen.event.seq).expect("the event");
            let text = said.iter().filter(|text| body(event).kind() != "command.ran" && holds(event, text));
            for text in text {
                let quoting: Vec<&(u64, String)> =
                    left.iter().filter(|(seq, held)| held.contains(text) && !named.contains(seq)).collect();
                let is_text_of_it = is_whole(event, text);
                assert!(quoting.is_empty() || !is_text_of_it, "seed {seed}: {text}: {quoting:?}");
            }
        }
        for nth in 0..said.len() {
            let marker = format!("vqz{nth}x");
            if !left.iter().any(|(_, held)| held.contains(&marker)) {
                assert_eq!(holding(workspace.memory(), &marker), Vec::<PathBuf>::new(), "seed {seed}");
            }
        }
        workspace.assert_sound();
    }
}

fn holds(event: &Stored, text: &str) -> bool {
    event.payload.as_ref().is_some_and(|(payload, _)| payload.contains(text))
}

/// Whether a text is a whole text of an event that an agent or a person wrote, and no part of a longer one.
fn is_whole(event: &Stored, text: &str) -> bool {
    let is_authored =
        matches!(event.kind.as_str(), "claim.created" | "turn.recorded" | "anchor.saved" | "intent.declared");
    is_authored && holds(event, &format!("\"{text}\""))
}

/// Red before: the count of files that change together kept the path.
#[test]
fn a_forgotten_path_leaves_the_files_that_change_together() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_path_buf();
    let git = |words: &[&str]| crate::proof::git(&root, words);
    git(&["init", "-q", "."]);
    std::fs::create_dir_all(root.join("customers/vqzkjxwb")).expect("a directory");
    for nth in 0..6 {
        for file in ["customers/vqzkjxwb/a.py", "b.py", "c.py"] {
            std::fs::write(root.join(file), format!("{nth}")).expect("a file");
        }
        git(&["add", "customers", "b.py", "c.py"]);
        git(&["commit", "-qm", &format!("change {nth}")]);
    }
    within(
        &shell,
        ("ann", "s-1"),
        "hm --agent devops claim create \"it holds 20\" --scope customers/vqzkjxwb/a.py",
    );
    let index = shell.workspace().cochange_file();
    let count = || shell.workspace().count_cochange(|| false, |_| true).expect("a count");
    count();
    assert!(!holding(shell.workspace().memory(), "vqzkjxwb").is_empty());
    let line = "hm --json forget --scope customers/vqzkjxwb --yes --reason \"the contract ended\"";
    let done = by_a_human(&shell.command(line));
    assert!(done.status.success(), "{done:?}");
    assert_eq!(holding(shell.workspace().memory(), "vqzkjxwb"), Vec::<PathBuf>::new());
    let kept = std::fs::read_to_string(&index).expect("the other files");
    assert!(kept.contains("c.py"), "{kept}");
    // The next count leaves them out too.
    std::fs::write(root.join("b.py"), "more").expect("a file");
    git(&["commit", "-qam", "later"]);
    count();
    let now = std::fs::read_to_string(&index).expect("the other files");
    assert!(now.contains("c.py") && !now.contains("vqzkjxwb"), "{now}");
}

/// Red before: the paths were taken out of the files that change together, and nothing was erased.
#[test]
fn a_refused_erasure_changes_nothing() {
    let shell = Shell::new();
    let index = shell.workspace().cochange_file();
    let slow = "description = \"slow\"\nargv = [\"sleep\", \"60\"]\nscopes = [\"src/**\"]\ntimeout_ms = 90000\n[expect]\nexit = 0\n";
    let profiles = shell.workspace().marker_dir().join("profiles");
    std::fs::create_dir_all(&profiles).expect("a directory");
    std::fs::write(profiles.join("slow.toml"), slow).expect("a profile");
    assert!(by_a_human(&shell.command("hm profile trust slow --yes")).status.success());
    assert!(shell.run("hm --agent devops claim create \"it holds 20\" --scope src/a.rs").status.success());
    assert!(shell.run("hm --agent devops experiment run slow --claim C1 --no-wait").status.success());
    let before = std::fs::read(&index).ok();
    let refused = by_a_human(&shell.command("hm forget --scope src --yes --reason \"the contract ended\""));
    assert!(!refused.status.success(), "{refused:?}");
    assert_eq!(std::fs::read(&index).ok(), before);
    assert!(shell.run("hm --agent devops experiment cancel R1").status.success());
}

/// Red before: neither the dry run nor the receipt named the file of notes that still held the text; and then not one
/// that git ignores.
#[test]
fn an_erasure_names_the_sections_of_files_of_notes() {
    let shell = Shell::new();
    std::fs::write(shell.workspace().root().join(".gitignore"), "CLAUDE.local.md\n").expect("a file");
    within(&shell, ("ann", "s-1"), "hm --agent devops claim create \"the pool holds 20\" --scope src/a.py");
    within(&shell, ("bob", "s-2"), "hm --agent analyst claim support C1");
    within(&shell, ("ann", "s-1"), "hm export --to AGENTS.md");
    within(&shell, ("ann", "s-1"), "hm export --to CLAUDE.local.md");
    let dry = shell.json("hm --json --agent operator forget C1 --dry-run");
    let named = |of: &Value| {
        let files = ["hm export --to AGENTS.md", "hm export --to CLAUDE.local.md"];
        files.iter().all(|file| of["beyond"].to_string().contains(file))
    };
    assert!(named(&dry), "{dry}");
    let done = shell.json("hm --json --agent operator forget C1 --reason \"asked to\"");
    assert!(named(&done), "{done}");
}
