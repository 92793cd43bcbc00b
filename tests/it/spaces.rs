//! Spaces, their borders, and phases: what is one person's reaches nobody else, an item crosses a border by its promotion
//! alone, and a diff tells what changed from one phase to another.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Output;

use expect_test::expect;
use hivemind::config::Config;
use hivemind::domain::command::{
    Command, PromoteItem, RecordTurn, RetireAnchor, SaveAnchor, StartPhase, StartSession, Submission,
};
use hivemind::domain::event::{Event, MemoryPromoted};
use hivemind::domain::memory::{MemoryEvent, MemoryId, Space};
use hivemind::domain::policy::{Length, MemoryPolicy, Retention, Term};
use hivemind::domain::session::{Role, Source};
use hivemind::domain::text::UserName;
use hivemind::ledger::{self, Cursor, export_line};
use hivemind::mcp::{Era, Pane};
use hivemind::reads::Reads;
use hivemind::store::{ClaimFilter, Search};
use hivemind::system;
use hivemind::views::{
    self, ContextOf, Format, Known, MAX_LIMIT, MemoryFilter, PhaseDiff, TraceFilter, View,
};
use hivemind::writer;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{TempWorkspace, agent, block_on, body, creation, law, request};
use crate::http;
use crate::shell::Shell;
use crate::terminal::by_a_human;

const USERS: [&str; 2] = ["ann", "bob"];
const SESSIONS: [&str; 2] = ["s-ann", "s-bob"];

/// One step of a random history. Numbers are taken modulo what there is.
#[derive(Debug, Clone)]
enum Step {
    Save {
        user: Option<usize>,
        key: u8,
    },
    Retire {
        user: Option<usize>,
        key: u8,
    },
    Say {
        session: usize,
        role: Role,
    },
    Promote {
        by: usize,
        item: usize,
        to: Space,
        event_type: Option<MemoryEvent>,
        as_user: Option<usize>,
    },
    Phase {
        session: usize,
        space: Space,
        user: usize,
    },
    Claim,
    /// A session starts, and the policy ends what is over.
    Pass,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let user = || prop::option::of(0..2_usize);
    let step = prop_oneof![
        4 => (user(), 0..3_u8).prop_map(|(user, key)| Step::Save { user, key }),
        1 => (user(), 0..3_u8).prop_map(|(user, key)| Step::Retire { user, key }),
        3 => (0..2_usize, any::<bool>()).prop_map(|(session, is_user)| Step::Say {
            session,
            role: if is_user { Role::User } else { Role::Assistant },
        }),
        4 => (
            0..3_usize,
            0..64_usize,
            prop::sample::select(vec![Space::User, Space::Project, Space::Project, Space::System]),
            prop::option::of(prop::sample::select(vec![MemoryEvent::Decision, MemoryEvent::Fact])),
            user(),
        )
            .prop_map(|(by, item, to, event_type, as_user)| Step::Promote { by, item, to, event_type, as_user }),
        1 => (0..2_usize, prop::sample::select(Space::ALL), 0..2_usize)
            .prop_map(|(session, space, user)| Step::Phase { session, space, user }),
        2 => Just(Step::Claim),
        2 => Just(Step::Pass),
    ];
    prop::collection::vec(step, 1..28)
}

fn name(user: usize) -> UserName {
    USERS[user].parse().expect("a name")
}

fn in_session(submission: Submission, session: usize) -> Submission {
    Submission { session: Some(SESSIONS[session].parse().expect("a session")), ..submission }
}

/// The ids of every item that any reader sees.
fn items(workspace: &TempWorkspace) -> Vec<MemoryId> {
    let mut ids = BTreeSet::new();
    for user in 0..2 {
        let listed = listed(&mut reader(workspace, Some(user)));
        ids.extend(listed.iter().filter_map(|item| item["id"].as_str()?.parse().ok()));
    }
    ids.into_iter().collect()
}

fn reader(workspace: &TempWorkspace, user: Option<usize>) -> Reads {
    Reads::of((**workspace).clone()).seen_by(user.map(name))
}

fn listed(reads: &mut Reads) -> Vec<Value> {
    let all = View::Memory(MemoryFilter { limit: MAX_LIMIT, ..MemoryFilter::default() });
    let answer =
        views::answer(reads, &Config::defaults(), &all, system::now(), Format::Json).expect("a list");
    let found: Value = serde_json::from_str(&answer.into_text()).expect("JSON");
    found["items"].as_array().cloned().unwrap_or_default()
}

/// Everything that a reader can ask for, as one text, and the hand-over of a session.
fn all_that_is_read(workspace: &TempWorkspace, user: Option<usize>, ids: &[MemoryId]) -> (String, String) {
    let mut reads = reader(workspace, user);
    let config = Config::defaults();
    let mut questions = vec![
        View::Anchors,
        View::Memory(MemoryFilter { limit: MAX_LIMIT, ..MemoryFilter::default() }),
        View::Events(ledger::Filter { limit: MAX_LIMIT, ..ledger::Filter::default() }),
        View::Sessions(None, MAX_LIMIT),
        View::Status,
        View::Attention(None),
        View::Agents,
        View::Search(Search {
            query: "secret of ann or bob".to_owned(),
            mode: hivemind::domain::claim::SearchMode::Audit,
            filter: ClaimFilter { limit: MAX_LIMIT, ..ClaimFilter::default() },
            seen: Default::default(),
            explain: true,
        }),
        View::Traces(TraceFilter { limit: MAX_LIMIT, ..TraceFilter::default() }),
    ];
    questions.extend(workspace.events().iter().map(|event| View::Trace(event.seq)));
    questions.extend(SESSIONS.map(|session| View::Session(session.to_owned())));
    questions.extend(
        SESSIONS.map(|session| View::Context(ContextOf::new(agent("devops"), Some(session.to_owned())))),
    );
    questions.extend(workspace.events().iter().map(|event| View::Event(event.id)));
    questions.extend(ids.iter().cloned().map(View::MemoryItem));
    for id in ids {
        let (space, owner) = (id.space, Some(id.owner.clone()));
        questions.push(View::PhaseDiff(PhaseDiff { space, owner, from: None, to: None }));
    }
    let mut text = String::new();
    for view in &questions {
        for format in [Format::Text, Format::Json] {
            // What a reader may not know of is refused like what never was.
            if let Ok(answer) = views::answer(&mut reads, &config, view, system::now(), format) {
                text += &answer.into_text();
            }
        }
    }
    let known = Known::up_to(0);
    let of = ContextOf::new(agent("devops"), Some(SESSIONS[0].to_owned()));
    text += &views::delta(&mut reads, &of, &known, system::now()).expect("a delta").0;
    let ledger = reads.ledger().expect("a ledger").expect("a ledger");
    for event in ledger.read_from(Cursor::GENESIS, 10_000).expect("events") {
        text += &export_line(&event).expect("a line");
    }
    let parent = &SESSIONS[0].parse().expect("a session");
    let child = &"child".parse().expect("a session");
    let now = system::now();
    let turn0 = views::turn0(&mut reads, config.stale_after, &agent("devops"), (parent, child), "full", now);
    (text, turn0.expect("a hand-over"))
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '-').any(|found| found == word)
}

/// The texts that are each user's alone: saved in their space, and never promoted to the project.
#[derive(Debug, Default)]
struct Told {
    own: [BTreeSet<String>; 2],
    /// The text of each item that was ever written, by its id.
    texts: BTreeMap<MemoryId, String>,
}

fn play(workspace: &TempWorkspace, steps: &[Step]) -> Told {
    let retention = Retention::of([(MemoryEvent::Fact, Term::Ttl(Length::Sessions(1)))]);
    let mut committer =
        workspace.committer(1).governed(MemoryPolicy { retention, ..MemoryPolicy::default() });
    let first = in_session(request("devops", turn(Role::User, "hello to all")), 0);
    committer.commit(&[first]).expect("a group").remove(0).expect("a message");
    let mut told = Told::default();
    for (at, step) in steps.iter().enumerate() {
        let submission = match step.clone() {
            Step::Save { user, key } => {
                let owner = user.map_or("team", |user| USERS[user]);
                let value = format!("{owner}-own-{at}");
                let key = format!("KEY_{key}").parse().expect("a key");
                let value = value.parse().expect("a value");
                request("devops", Command::SaveAnchor(SaveAnchor { key, value, user: user.map(name) }))
            }
            Step::Retire { user, key } => {
                let key = format!("KEY_{key}").parse().expect("a key");
                request("devops", Command::RetireAnchor(RetireAnchor { key, user: user.map(name) }))
            }
            Step::Say { session, role } => {
                in_session(request("devops", turn(role, &format!("message-{at}"))), session)
            }
            Step::Promote { by, item, to, event_type, as_user } => {
                let ids = items(workspace);
                let item = ids[item % ids.len()].clone();
                let by = ["devops", "operator", "operator"][by];
                // Mostly the owner asks, and now and then somebody else.
                let owner = USERS.iter().position(|name| *name == item.owner.as_str());
                let user = if at % 5 == 0 { as_user } else { owner.or(as_user) };
                let session = SESSIONS.iter().position(|name| *name == item.owner.as_str()).unwrap_or(at % 2);
                let promote = PromoteItem {
                    item,
                    to,
                    key: Some(format!("KEY_{at}").parse().expect("a key")),
                    event_type: event_type.filter(|_| by == "operator"),
                    reason: "it is wanted there".parse().expect("a reason"),
                    user: user.map(name),
                };
                in_session(request(by, Command::PromoteItem(promote)), session)
            }
            Step::Phase { session, space, user } => {
                let start = StartPhase {
                    space,
                    name: format!("part {at}").parse().expect("a label"),
                    reason: "it goes on".parse().expect("a reason"),
                    user: Some(name(user)),
                };
                in_session(request("devops", Command::StartPhase(start)), session)
            }
            Step::Claim => creation("devops", &format!("claim-{at} is a fact")),
            Step::Pass => {
                let start = StartSession { source: Source::Startup, client: None, parent_session: None };
                let session = format!("s-{at}").parse().expect("a session");
                Submission { session: Some(session), ..request("devops", Command::StartSession(start)) }
            }
        };
        // Refusals are a part of the history.
        let _ = committer.commit(&[submission]).expect("a group").remove(0);
        if let Step::Pass = step {
            writer::forget(&mut committer).expect("a sweep");
        }
    }
    drop(committer);
    remember(workspace, &mut told);
    told
}

fn turn(role: Role, text: &str) -> Command {
    Command::RecordTurn(RecordTurn { role, text: text.parse().expect("a text"), told: None })
}

/// What the ledger itself says of whose each text is.
fn remember(workspace: &TempWorkspace, told: &mut Told) {
    let events: Vec<Event> = workspace.events().iter().map(body).collect();
    for (at, event) in events.iter().enumerate() {
        if let Event::AnchorSaved(saved) = event {
            let owner =
                saved.user.as_ref().and_then(|user| USERS.iter().position(|name| *name == user.as_str()));
            let is_copy = at > 0 && matches!(events[at - 1], Event::MemoryPromoted(_));
            // Everybody may read the session that a copy comes from.
            if let (Some(user), false) = (owner, is_copy) {
                told.own[user].insert(saved.value.to_string());
            }
            // Promoted to the project, it is everybody's.
            if owner.is_none() && is_copy {
                told.own.iter_mut().for_each(|own| own.retain(|text| text != saved.value.as_str()));
            }
        }
    }
    for user in 0..2 {
        for item in listed(&mut reader(workspace, Some(user))) {
            let id: MemoryId = item["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
            told.texts.insert(id, item["text"].as_str().expect("a text").to_owned());
        }
    }
}

fn promotions(workspace: &TempWorkspace) -> Vec<MemoryPromoted> {
    let promoted = |event| if let Event::MemoryPromoted(promoted) = event { Some(promoted) } else { None };
    workspace.events().iter().map(body).filter_map(promoted).collect()
}

#[test]
fn what_is_one_users_reaches_no_other_and_nothing_crosses_without_its_promotion() {
    let (saw_own, crossed, expired) = (Cell::new(0), Cell::new(0), Cell::new(0));
    TestRunner::new(law(file!(), 12, 600))
        .run(&steps(), |steps| {
            let workspace = TempWorkspace::new();
            let told = play(&workspace, &steps);
            let ids: Vec<MemoryId> = told.texts.keys().cloned().collect();
            for user in [Some(0), Some(1), None] {
                let (read, handed_over) = all_that_is_read(&workspace, user, &ids);
                for (owner, own) in told.own.iter().enumerate() {
                    for text in own {
                        prop_assert!(!has_word(&handed_over, text), "a hand-over is for everybody: {text}");
                        let sees = has_word(&read, text);
                        prop_assert!(!sees || user == Some(owner), "{user:?} reads {text}: {read}");
                        saw_own.set(saw_own.get() + usize::from(sees));
                    }
                }
            }
            let promoted = promotions(&workspace);
            crossed.set(crossed.get() + promoted.len());
            for (id, text) in &told.texts {
                let copied = |other: &MemoryId| {
                    promoted.iter().any(|promoted| promoted.from_id == *other && promoted.to_id == *id)
                };
                for (other, _) in
                    told.texts.iter().filter(|(other, said)| *said == text && other.space < id.space)
                {
                    let twice = |original: &MemoryId| {
                        promoted.iter().any(|one| {
                            one.from_id == *other
                                && promoted.iter().any(|two| two.from_id == one.to_id && two.to_id == *id)
                                && *original == *other
                        })
                    };
                    prop_assert!(copied(other) || twice(other), "{other} is {id} too, and no event says why");
                }
            }
            for promoted in &promoted {
                let floor = hivemind::domain::spaces::PromotionRules::default();
                let crossing = floor.check(
                    promoted.from_space,
                    promoted.to_space,
                    promoted.event_type,
                    promoted.authority_used,
                );
                prop_assert!(crossing.is_allowed, "{promoted:?}");
            }
            let forgotten =
                workspace.events().iter().filter(|event| event.kind == "memory.forgotten").count();
            expired.set(expired.get() + forgotten);
            // Expiry, promotions and phases replay equal.
            workspace.assert_sound();
            Ok(())
        })
        .expect("the law holds");
    assert!(saw_own.get() > 5, "owners read what is theirs: {saw_own:?}");
    assert!(crossed.get() > 0, "promotions happen: {crossed:?}");
    assert!(expired.get() > 0, "terms end: {expired:?}");
}

pub(crate) fn by_user(shell: &Shell, user: &str, line: &str) -> Output {
    let mut command = shell.command(line);
    command.env("HM_USER", user).env("HM_SESSION", format!("s-{user}"));
    if line.contains("--agent operator") {
        command.env_remove("HM_SESSION");
        return by_a_human(&command);
    }
    command.output().expect("hm runs")
}

pub(crate) fn said(shell: &Shell, user: &str, line: &str) -> String {
    let output = by_user(shell, user, line);
    String::from_utf8(output.stdout).expect("text") + &String::from_utf8_lossy(&output.stderr)
}

pub(crate) fn told(shell: &Shell, user: &str, line: &str) -> Value {
    let output = by_user(shell, user, line);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line}: {error}: {output:?}"))
}

pub(crate) fn kinds(shell: &Shell, kind: &str) -> Vec<Value> {
    let page = told(shell, "ann", &format!("hm --json log --type {kind}"));
    page["events"].as_array().expect("events").iter().map(|event| event["payload"].clone()).collect()
}

#[test]
fn a_user_keeps_a_fact_that_no_other_user_reads() {
    let shell = Shell::new();
    said(&shell, "ann", "hm --agent devops anchor save EDITOR helix-of-ann --space user");
    said(&shell, "ann", "hm --agent devops anchor save EDITOR vim-of-all");
    let lines = [
        "hm anchor list",
        "hm memory list",
        "hm memory list --space user",
        "hm memory list --space user --owner ann",
        "hm memory show user:ann:profile:1",
        "hm context --agent devops",
        "hm log",
        "hm log --json",
        "hm export",
        "hm claim search helix-of-ann",
        "hm session show s-ann",
    ];
    let mine: String = lines.map(|line| said(&shell, "ann", line)).concat();
    assert!(mine.contains("helix-of-ann") && mine.contains("space=\"user\""), "{mine}");
    for line in lines {
        let seen = said(&shell, "bob", line);
        assert!(
            !seen.replace(line, "").contains("helix-of-ann") || line.contains("search"),
            "{line}: {seen}"
        );
    }
    let anchors = said(&shell, "ann", "hm anchor list");
    let (own, teams) = (anchors.find("helix-of-ann"), anchors.find("vim-of-all"));
    assert!(own.is_some() && own < teams, "the space of the user is read first: {anchors}");
    let context = said(&shell, "bob", "hm context --agent devops");
    assert!(context.contains("vim-of-all"), "{context}");
    let missing = told(&shell, "bob", "hm --json memory show user:ann:profile:1");
    assert_eq!(missing["code"], "unknown_memory", "{missing}");
    // An export leaves it out, and says so when it is taken in.
    let export = said(&shell, "bob", "hm export");
    std::fs::write(shell.workspace().root().join("bob.jsonl"), export).expect("a file");
    let other = Shell::new();
    let file = shell.workspace().root().join("bob.jsonl").display().to_string();
    let refused = said(&other, "bob", &format!("hm import {file}"));
    assert!(refused.contains("in the space of another user"), "{refused}");
    // A hand-over is recorded for everybody.
    let split = said(&shell, "ann", "hm --agent devops session split --reason \"the window is full\"");
    assert!(split.contains("split"), "{split}");
    assert!(!said(&shell, "bob", "hm log --type session.split --json").contains("helix-of-ann"));
    said(&shell, "ann", "hm --agent devops anchor retire EDITOR --space user");
    let anchors = said(&shell, "ann", "hm anchor list");
    assert!(!anchors.contains("helix-of-ann") && anchors.contains("vim-of-all"), "{anchors}");
}

#[test]
fn keys_of_a_users_space_are_those_of_the_policy() {
    let shell = Shell::new();
    std::fs::write(shell.workspace().config(), "[policy.spaces]\nuser_keys = [\"LANG*\"]\n").expect("a file");
    let refused = told(&shell, "ann", "hm --json --agent devops anchor save EDITOR helix --space user");
    assert_eq!(refused["code"], "user_key_denied", "{refused}");
    assert!(refused["hint"].as_str().is_some_and(|hint| hint.contains("anchor save")), "{refused}");
    let denied = kinds(&shell, "memory.denied");
    assert_eq!(denied[0]["reason"], "user_key_denied", "{denied:?}");
    assert!(!denied[0].to_string().contains("helix"), "{denied:?}");
    let kept = told(&shell, "ann", "hm --json --agent devops anchor save LANG_SPOKEN en --space user");
    assert_eq!(kept["state"], "committed", "{kept}");
    let shared = told(&shell, "ann", "hm --json --agent devops anchor save EDITOR helix");
    assert_eq!(shared["state"], "committed", "{shared}");
    let nowhere = told(&shell, "ann", "hm --json --agent devops anchor save EDITOR helix --space session");
    assert_eq!(nowhere["code"], "invalid_argument", "{nowhere}");
}

#[test]
fn an_item_crosses_a_border_with_its_authority_and_says_so() {
    let shell = Shell::new();
    for line in [
        "hm --agent devops session start",
        "hm --agent devops session turn user \"I always edit with helix\"",
        "hm --agent devops session turn assistant \"the pool holds 20 connections\"",
        "hm --agent devops session turn user \"we deploy on Mondays only\"",
        "hm --agent devops anchor save NOTE \"an agent wrote this\" --space user",
    ] {
        said(&shell, "ann", line);
    }
    let promote = |by: &str, rest: &str| {
        told(
            &shell,
            "ann",
            &format!("hm --json --agent {by} memory promote {rest} --reason \"it is wanted there\""),
        )
    };
    let low = promote("devops", "session:s-ann:short_term:2 --to user --key POOL");
    assert_eq!(low["code"], "authority_too_low", "{low}");
    assert!(low["hint"].as_str().is_some_and(|hint| hint.contains("operator")), "{low}");
    let low = promote("devops", "session:s-ann:short_term:3 --to project --key DEPLOY");
    assert_eq!(low["code"], "authority_too_low", "{low}");
    let low = promote("devops", "user:ann:profile:1 --to project");
    assert_eq!(low["code"], "authority_too_low", "{low}");
    for (item, to) in
        [("C1", "session"), ("user:ann:profile:1", "system"), ("session:s-ann:short_term:1", "system")]
    {
        said(&shell, "ann", "hm --agent devops claim create \"the queue is bounded\" --scope src/queue");
        let closed = promote("operator", &format!("{item} --to {to}"));
        assert_eq!(closed["code"], "border_closed", "{item}: {closed}");
    }
    let others = told(
        &shell,
        "bob",
        "hm --json --agent devops memory promote user:ann:profile:1 --to project --reason \"I want it\"",
    );
    assert_eq!(others["code"], "unknown_memory", "{others}");
    let keyless = promote("devops", "session:s-ann:short_term:1 --to user");
    assert_eq!(keyless["code"], "invalid_argument", "{keyless}");
    let typed = promote("devops", "session:s-ann:short_term:3 --to project --key DEPLOY --as decision");
    assert_eq!(typed["code"], "not_allowed", "{typed}");
    let checks = kinds(&shell, "memory.border_check");
    assert_eq!(checks.len(), 6, "{checks:?}");
    assert!(checks.iter().all(|check| check["allowed"] == false), "{checks:?}");
    assert_eq!(kinds(&shell, "memory.promotion_denied").len(), 6);

    let done = promote("devops", "session:s-ann:short_term:1 --to user --key EDITOR");
    assert_eq!(done["state"], "committed", "{done}");
    let done = promote("operator", "session:s-ann:short_term:3 --to project --key DEPLOY --as decision");
    assert_eq!(done["state"], "committed", "{done}");
    let again = promote("operator", "session:s-ann:short_term:3 --to project --key DEPLOY --as decision");
    assert_eq!(again["code"], "duplicate", "{again}");
    let done = promote("operator", "user:ann:profile:1 --to project");
    assert_eq!(done["state"], "committed", "{done}");

    let copy = told(&shell, "ann", "hm --json memory show user:ann:profile:2");
    assert_eq!(copy["text"], "I always edit with helix");
    assert_eq!(copy["meta"]["promoted_from"], "session:s-ann:short_term:1");
    assert_eq!(copy["meta"]["promotion_reason"], "authority_enough");
    assert_eq!(copy["meta"]["authority"], "user_asserted");
    assert_eq!(
        (&copy["promoted"]["by"], &copy["promoted"]["why"]),
        (&json!("devops"), &json!("it is wanted there"))
    );
    let source = told(&shell, "ann", "hm --json memory show session:s-ann:short_term:1");
    assert_eq!(source["shown_to"]["because"], "promoted to user:ann:profile:2", "{source}");
    let source = told(&shell, "bob", "hm --json memory show session:s-ann:short_term:1");
    assert_eq!(source["code"], "unknown_memory", "{source}");
    let project = shell.workspace().project();
    let copy = told(&shell, "bob", &format!("hm --json memory show project:{project}:profile:3"));
    assert_eq!((&copy["meta"]["event_type"], &copy["importance"]), (&json!("decision"), &json!(4)));
    assert_eq!(copy["meta"]["promotion_reason"], "decision_of_user");
    let context = said(&shell, "bob", "hm context --agent analyst");
    assert!(context.contains("we deploy on Mondays only"), "{context}");
    let page = said(&shell, "ann", "hm memory list --kind profile");
    assert!(page.contains("promoted from session:s-ann:short_term:3 by operator"), "{page}");
    let dialogue = said(&shell, "ann", "hm --json session show s-ann");
    assert!(dialogue.contains("20 connections") && !dialogue.contains("Mondays"), "{dialogue}");
}

/// A pane of a user with every tool.
async fn pane_of(bench: &Bench, user: &str) -> Pane {
    let mut command = tokio::process::Command::new(bench.binary());
    command.args(["serve", "--agent", "devops", "--toolsets", "all", "--dir"]).arg(bench.root());
    command.current_dir(bench.root()).env("HM_USER", user);
    Pane::run(command, Era::Modern).await.expect("a pane")
}

/// Everything that a pane can read, and what completions offer it.
async fn all_that_a_pane_reads(pane: &Pane, events: u64) -> String {
    let addresses = [
        "hivemind://anchors",
        "hivemind://memory",
        "hivemind://memory?space=user",
        "hivemind://memory/user/ann",
        "hivemind://memory/user/ann/profile/1",
        "hivemind://phases/user/ann/diff",
        "hivemind://context",
        "hivemind://context?agent=devops&all=true",
        "hivemind://events",
        "hivemind://events?type=anchor.saved",
        "hivemind://traces",
        "hivemind://sessions/s-ann",
        "hivemind://sessions/s-ann/turn0",
        "hivemind://attention",
        "hivemind://search?q=helix-of-ann",
    ];
    let traces = (1..=events).map(|seq| format!("hivemind://traces/{seq}"));
    let mut all = String::new();
    for address in addresses.into_iter().map(str::to_owned).chain(traces) {
        let read = pane.read(&address).await.unwrap_or_default();
        all.push_str(&read.replace("q=helix-of-ann", ""));
    }
    for prompt in ["hand-off", "session-start"] {
        all.push_str(&pane.prompt(prompt, &[]).await.unwrap_or_default());
    }
    all.replace("No claim matches `helix-of-ann`", "")
}

/// Red before: no tool promoted anything.
#[test]
fn an_agent_promotes_over_mcp_by_the_same_borders_and_reads_no_other_users_space() {
    let bench = Bench::new();
    block_on(async {
        let (ann, bob) = (pane_of(&bench, "ann").await, pane_of(&bench, "bob").await);
        let of_ann = |mut arguments: Value| {
            arguments["session"] = "s-ann".into();
            arguments
        };
        let said = json!({ "role": "user", "text": "I always edit with helix-of-ann" });
        bench.accepted(&ann, "record_turn", of_ann(said)).await;
        let fact = json!({ "key": "THEME", "value": "dark-of-ann", "space": "user" });
        bench.accepted(&ann, "save_anchor", of_ann(fact)).await;
        let promote = |item: &str, to: &str| {
            of_ann(json!({ "item": item, "to": to, "key": "EDITOR", "reason": "said for good" }))
        };
        let refused = async |code: &str, pane: &Pane, arguments: Value| {
            let answer = pane.call("promote_item", arguments).await.expect("an answer");
            assert!(answer.refused && answer.field("code") == code, "{code}: {answer:?}");
        };
        refused("authority_too_low", &ann, promote("session:s-ann:short_term:1", "project")).await;
        refused("border_closed", &ann, promote("user:ann:profile:1", "system")).await;
        refused("unknown_memory", &bob, promote("user:ann:profile:1", "project")).await;
        refused("invalid_argument", &ann, promote("user:ann", "project")).await;
        bench.accepted(&ann, "promote_item", promote("session:s-ann:short_term:1", "user")).await;
        refused("duplicate", &ann, promote("session:s-ann:short_term:1", "user")).await;
        let phase = json!({ "space": "user", "name": "zed-of-ann", "reason": "a new start" });
        bench.accepted(&ann, "start_phase", of_ann(phase)).await;

        let events = bench.events().len() as u64;
        let kinds: Vec<String> = bench.events().into_iter().map(|event| event.kind).collect();
        for kind in
            ["memory.border_check", "memory.promoted", "memory.promotion_denied", "memory.phase_started"]
        {
            assert!(kinds.iter().any(|found| found == kind), "{kind}: {kinds:?}");
        }
        let (mine, theirs) =
            (all_that_a_pane_reads(&ann, events).await, all_that_a_pane_reads(&bob, events).await);
        for own in ["dark-of-ann", "zed-of-ann", "EDITOR"] {
            assert!(mine.contains(own), "{own}: {mine}");
            assert!(!theirs.contains(own), "{own}: {theirs}");
        }
    });
}

#[test]
fn a_server_for_many_callers_has_no_space_of_a_user() {
    let bench = Bench::new();
    block_on(async {
        let ann = pane_of(&bench, "ann").await;
        let fact = json!({ "key": "THEME", "value": "dark-of-ann", "space": "user", "session": "s-ann" });
        bench.accepted(&ann, "save_anchor", fact).await;
    });
    // The server runs as the user whose space it is, and serves callers that may be anybody.
    let mut process = std::process::Command::new(bench.binary());
    process.current_dir(bench.root()).env("HM_USER", "ann").arg("--dir").arg(bench.root());
    let served = http::Served::start_by(process, &["--toolsets", "all"]);
    let events = bench.events().len();
    let fixed =
        ["anchors", "memory", "memory/user/ann", "memory/user/ann/profile/1", "context", "events", "traces"];
    let traces = (1..=events).map(|seq| format!("traces/{seq}"));
    for address in fixed.into_iter().map(str::to_owned).chain(traces) {
        let uri = format!("hivemind://{address}");
        let answer = http::modern(&served, None, "resources/read", json!({ "uri": uri }));
        assert!(!answer.body.contains("dark-of-ann"), "{address}: {answer:?}");
    }
    let arguments = json!({ "key": "EDITOR", "value": "vim", "space": "user" });
    let params = json!({ "name": "save_anchor", "arguments": arguments });
    assert_eq!(http::modern(&served, None, "tools/call", params).outcome(), "invalid_argument");
    let item = "user:ann:profile:1";
    let arguments = json!({ "item": item, "to": "project", "reason": "I want it" });
    let params = json!({ "name": "promote_item", "arguments": arguments });
    assert_eq!(http::modern(&served, None, "tools/call", params).outcome(), "unknown_memory");
}

/// Red before: the newest value held, whoever saved it.
#[test]
fn an_agent_replaces_no_fact_of_the_operator_or_of_a_user() {
    let shell = Shell::new();
    let anchor = |by: &str, what: &str| told(&shell, "ann", &format!("hm --json --agent {by} anchor {what}"));
    assert_eq!(anchor("operator", "save REGION eu-north")["state"], "committed");
    for what in ["save REGION us-east", "retire REGION"] {
        let refused = anchor("devops", what);
        assert_eq!(refused["code"], "authority_too_low", "{what}: {refused}");
        assert!(refused["hint"].as_str().is_some_and(|hint| hint.contains("hm anchor")), "{refused}");
    }
    assert_eq!(anchor("operator", "save \"LAST DAY\" friday")["state"], "committed");
    for (what, way) in [
        ("save \"LAST DAY\" monday", "`hm anchor save 'LAST DAY' VALUE`"),
        ("retire \"LAST DAY\"", "`hm anchor retire 'LAST DAY'`"),
    ] {
        let refused = anchor("devops", what);
        assert!(refused["hint"].as_str().is_some_and(|hint| hint.contains(way)), "{refused}");
    }
    let denied = kinds(&shell, "memory.denied");
    assert_eq!(denied.len(), 4, "{denied:?}");
    assert!(!denied[0].to_string().contains("us-east"), "{denied:?}");
    // What the user of a session said has that authority too, once it is promoted.
    said(&shell, "ann", "hm --agent devops session turn user \"I edit with helix\"");
    let promote = "hm --json --agent devops memory promote session:s-ann:short_term:1 --to user --key EDITOR \
                   --reason \"said for good\"";
    assert_eq!(told(&shell, "ann", promote)["state"], "committed");
    assert_eq!(anchor("devops", "save EDITOR vim --space user")["code"], "authority_too_low");
    assert!(said(&shell, "ann", "hm anchor list").contains("eu-north"));
    // The word of another agent is no higher, and the operator replaces every word.
    assert_eq!(anchor("devops", "save PORT 7001")["state"], "committed");
    assert_eq!(anchor("analyst", "save PORT 7002")["state"], "committed");
    assert_eq!(anchor("operator", "save REGION us-west")["state"], "committed");
    assert_eq!(anchor("operator", "save PORT 7003")["state"], "committed");
    assert_eq!(anchor("devops", "save PORT 7004")["code"], "authority_too_low");
    shell.end_writer();
    let granted = "[trust]\nagents_may_override_operator = true\n";
    std::fs::write(shell.workspace().config(), granted).expect("a file");
    shell.allow_rules();
    assert_eq!(
        anchor("devops", "save PORT 7005")["state"],
        "committed",
        "the configuration lets agents do it"
    );
}

/// Red before: the beginning of a promoted message stayed in the summary of the dialogue.
#[test]
fn a_promoted_message_leaves_the_summary_of_its_session() {
    let shell = Shell::new();
    said(&shell, "ann", "hm --agent devops session start");
    for nth in 1..=9 {
        said(&shell, "ann", &format!("hm --agent devops session turn user \"message-{nth} of the day\""));
    }
    let summary = |shell: &Shell| told(shell, "ann", "hm --json memory show session:s-ann:short_term:0");
    let of = |numbers: &[u64]| -> Value {
        numbers.iter().map(|n| format!("session:s-ann:short_term:{n}")).collect::<Vec<_>>().into()
    };
    let before = summary(&shell);
    assert_eq!(before["meta"]["summary_of"], of(&[1, 2, 3]), "{before}");
    assert!(before["text"].as_str().is_some_and(|text| text.contains("message-2")), "{before}");
    let promote = "hm --json --agent devops memory promote session:s-ann:short_term:2 --to user --key NOTE \
                   --reason \"said for good\"";
    assert_eq!(told(&shell, "ann", promote)["state"], "committed");
    let after = summary(&shell);
    assert_eq!(after["meta"]["summary_of"], of(&[1, 3]), "{after}");
    assert!(!after["text"].as_str().expect("a text").contains("message-2"), "{after}");
    let copy = told(&shell, "ann", "hm --json memory show user:ann:profile:1");
    assert_eq!(copy["meta"]["source_turn_ids"], of(&[2]), "{copy}");
    let shown =
        said(&shell, "bob", "hm context --agent devops") + &said(&shell, "bob", "hm session show s-ann");
    assert!(shown.contains("message-3") && !shown.contains("message-2 of"), "{shown}");
    shell.assert_rebuilds_to_the_same();
}

#[test]
fn a_diff_tells_what_changed_between_phases() {
    let shell = Shell::new();
    for line in [
        "hm --agent devops anchor save PORT 7001",
        "hm --agent devops anchor save HOST db-1",
        "hm --agent devops claim create \"the pool holds 20 connections\" --scope src/pool",
        "hm --agent devops session start",
        "hm --agent devops session turn user \"begin with the pool\"",
        "hm --agent devops memory phase start \"second try\" --reason \"the first design failed\"",
        "hm --agent devops memory phase start \"second try\" --space session --reason \"the first design failed\"",
        "hm --agent devops session turn user \"now the cache\"",
        "hm --agent devops anchor save PORT 7002",
        "hm --agent devops anchor retire HOST",
        "hm --agent devops claim create \"the cache is warm\" --scope src/cache",
    ] {
        let output = by_user(&shell, "ann", line);
        assert!(output.status.success(), "{line}: {output:?}");
    }
    let project = shell.workspace().project();
    let masked = |text: String| text.replace(project.as_str(), "PROJECT");
    let diff = masked(said(&shell, "ann", "hm --json memory diff --from phase-1 --to phase-2"));
    let diff: Value = serde_json::from_str(&diff).expect("JSON");
    expect![[r#"
        {
          "added_count": 1,
          "ai_profile": "devops",
          "deleted_count": 1,
          "from_phase_id": "phase-1",
          "owner": "PROJECT",
          "replaced_count": 1,
          "session": "s-ann",
          "space": "project",
          "to_phase_id": "phase-2",
          "top_changes": [
            {
              "change": "replaced",
              "memory_id": "project:PROJECT:profile:3",
              "replaced_id": "project:PROJECT:profile:1",
              "replaced_text": "7001",
              "text": "7002"
            },
            {
              "change": "deleted",
              "memory_id": "project:PROJECT:profile:2",
              "text": "db-1"
            },
            {
              "change": "added",
              "memory_id": "project:PROJECT:semantic:2",
              "text": "the cache is warm"
            }
          ],
          "type": "memory_phase_diff"
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&diff).expect("JSON"));
    let text = masked(said(&shell, "ann", "hm memory diff --space session"));
    expect![[r#"
        session s-ann, from phase-1 to phase-2 (second try): 0 replaced, 1 deleted, 1 added
        - deleted `session:s-ann:short_term:1` begin with the pool
        - added `session:s-ann:short_term:2` now the cache
    "#]]
    .assert_eq(&text);
    let missing = told(&shell, "ann", "hm --json memory diff --to phase-3");
    assert_eq!(missing["code"], "unknown_memory", "{missing}");
    let item = told(&shell, "ann", "hm --json memory show C2");
    assert_eq!(
        (&item["meta"]["phase_id"], &item["meta"]["phase_name"]),
        (&json!("phase-2"), &json!("second try"))
    );
    let context = said(&shell, "ann", "hm context --agent devops");
    assert!(context.contains("the pool holds 20 connections"), "claims outlive phases: {context}");
    let dialogue = said(&shell, "ann", "hm --json session show s-ann");
    assert!(dialogue.contains("now the cache") && !dialogue.contains("begin with the pool"), "{dialogue}");
}

#[test]
fn another_plan_begins_a_phase_of_the_session() {
    for (section, phases) in [("", 1), ("[policy.phase]\nby_plan = false\n", 0)] {
        let shell = Shell::new();
        std::fs::write(shell.workspace().config(), section).expect("a file");
        for line in [
            "hm --agent devops plan add \"the pool\"",
            "hm --agent devops plan add \"the cache\"",
            "hm --agent devops session start",
            "hm --agent devops intent \"mend the pool\" --plan P1",
            "hm --agent devops intent \"mend the pool well\" --plan P1",
            "hm --agent devops intent \"warm the cache\" --plan P2",
        ] {
            let output = by_user(&shell, "ann", line);
            assert!(output.status.success(), "{line}: {output:?}");
        }
        let started = kinds(&shell, "memory.phase_started");
        assert_eq!(started.len(), phases, "{section}: {started:?}");
        for phase in started {
            assert_eq!(
                (&phase["space"], &phase["owner"], &phase["phase_id"], &phase["reason"]),
                (&json!("session"), &json!("s-ann"), &json!("phase-2"), &json!("plan_changed"))
            );
        }
    }
}
