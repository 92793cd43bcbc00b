//! Time travel: a question answered as of then, by folding the ledger up to there and no further.

use hivemind::config::Config;
use hivemind::domain::claim::{ClaimType, Position, SearchMode};
use hivemind::domain::command::{AddTask, ClaimTask, Command, Forget, Submission};
use hivemind::domain::ids::{EventId, TaskId};
use hivemind::domain::time::{Hours, Moment, Timestamp};
use hivemind::mcp::Era;
use hivemind::reads::{Pasts, Reads};
use hivemind::store::{ClaimFilter, Search, Seen};
use hivemind::views::{ContextOf, View};
use serde_json::{Value, json};

use crate::answers::{answer, answer_at};
use crate::bench::Bench;
use crate::harness::{TempWorkspace, agent, claim_of, creation, fact, position, request};

#[tokio::test]
async fn the_past_is_shown_as_it_was() {
    let bench = Bench::new();
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let analyst = bench.pane(Some("analyst"), Era::Legacy).await;
    let first = bench.claim(&devops, "the pool holds 20 connections", "src/db").await;
    let report = bench.accepted(&analyst, "report_event", json!({ "kind": "note", "summary": "seen" })).await;
    let read = async |uri: &str| devops.read(uri).await.expect("an answer");
    let page: Value =
        serde_json::from_str(&read("hivemind://events/?after=1&format=json").await).expect("JSON");
    let noted_at = page["events"][0]["at"].as_i64().expect("a time");
    while hivemind::system::now().ms() / 1_000 == noted_at / 1_000 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    bench.accepted(&analyst, "support", json!({ "claim_id": first })).await;
    let second = bench.claim(&analyst, "the pool leaks", "src/db").await;

    // By position: proposed, alone, and nothing after it is known.
    assert!(read(&format!("hivemind://claims/{first}?at=2")).await.starts_with("# proposed fact"));
    assert!(read(&format!("hivemind://claims/{first}")).await.starts_with("# confirmed (agreed) fact"));
    assert!(!read("hivemind://claims?at=2").await.contains("the pool leaks"));
    assert!(devops.read(&format!("hivemind://claims/{second}?at=4")).await.is_err(), "not made yet");
    let events = read("hivemind://events?at=2").await;
    assert!(events.contains("`#2` event.reported") && events.lines().count() == 2, "{events}");
    assert_eq!(bench.name(report.field("event_id")), "#2");
    assert!(
        read("hivemind://status?at=1").await.contains("ledger:    1 event by 1 agent in .hivemind/runtime\n")
    );
    assert!(read("hivemind://context?at=0").await.contains("seq=\"0\""));
    let refused = async |uri: &str| devops.read(uri).await.expect_err(uri).to_string();
    let beyond = refused("hivemind://claims?at=999999").await;
    assert!(beyond.contains("the ledger ends at event 5: there is no event 999999"), "{beyond}");

    // By time: the end of the second in which the report came.
    let ms = noted_at / 1_000 * 1_000 + 999;
    let then = hivemind::domain::time::Timestamp::from_ms(ms).to_string().replace('Z', ".999Z");
    for at in [then.clone(), ms.to_string(), "%232".to_owned()] {
        assert!(
            read(&format!("hivemind://claims/{first}?at={at}")).await.starts_with("# proposed fact"),
            "{at}"
        );
    }
    for (at, why) in [
        ("yesterday", "is no moment: give a time"),
        ("2000-01-01", "the ledger begins at "),
        ("52w", "the ledger begins at "),
        ("9999-01-01", "9999-01-01T00:00:00Z is yet to come: it is "),
    ] {
        let said = refused(&format!("hivemind://claims?at={at}")).await;
        assert!(said.contains(why), "{at}: {said}");
    }

    // On the command line, where the past cannot be written.
    let hm = |arguments: &[&str]| {
        let root = bench.root().to_str().expect("a printable path");
        std::process::Command::new(bench.binary())
            .args(arguments)
            .args(["--dir", root, "--agent", "devops"])
            .output()
            .expect("hm runs")
    };
    let shown = String::from_utf8(hm(&["claim", "show", &first, "--at", "2"]).stdout).expect("text");
    assert!(shown.starts_with("# proposed fact"), "{shown}");
    let listed = String::from_utf8(hm(&["claim", "list", "--at", "2", "--json"]).stdout).expect("text");
    assert!(listed.contains(&first) && !listed.contains(&second), "{listed}");
    for (arguments, why) in [
        (["claim", "list", "--at", "#99"], "there is no event 99"),
        (["claim", "list", "--since", "99"], "there is no event 99"),
        (["context", "--budget=900", "--at", "9999-01-01"], "is yet to come"),
        (["experiment", "list", "--until", "soon"], "`soon` is no moment"),
    ] {
        let refused = hm(&arguments);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains(why), "{arguments:?}: {said}");
    }
    let between = |bounds: [&str; 4]| {
        let listed = hm(&[&["claim", "list", "--json"][..], &bounds].concat());
        let listed = String::from_utf8(listed.stdout).expect("text");
        (listed.contains(&first), listed.contains(&second))
    };
    // Since: the first was supported after it was made. Until: when it was made.
    assert_eq!(between(["--since", "#2", "--until", "#5"]), (true, true));
    assert_eq!(between(["--since", "1w", "--until", &then]), (true, false));
    assert_eq!(between(["--since", "2000-01-01", "--until", &ms.to_string()]), (true, false));
    assert_eq!(between(["--since", &then, "--until", "0s"]), (true, true));
    assert_eq!(hm(&["claim", "support", &second, "--at", "2"]).status.code(), Some(2));
    assert_eq!(hm(&["verify", "--at", "2"]).status.code(), Some(2));
}

/// What the command line prints.
fn printed(bench: &Bench, arguments: &[&str]) -> String {
    let shown = bench.hm(arguments);
    assert!(shown.status.success(), "{arguments:?}: {shown:?}");
    String::from_utf8(shown.stdout).expect("text")
}

#[test]
fn the_past_is_judged_by_the_clock_of_then() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let held = TaskId::from_uuid(hivemind::system::new_id());
    let mut hypothesis = fact("the leak is in the pool");
    (hypothesis.claim_type, hypothesis.ttl_hours) = (ClaimType::Hypothesis, Some(Hours(2)));
    let hypothesis = request("devops", Command::CreateClaim(hypothesis));
    let guess = claim_of(&hypothesis);
    let task = AddTask {
        meant_for: None,
        task_id: held,
        phase_id: None,
        parent_task_id: None,
        title: "mend the pool".parse().expect("a title"),
        description: None,
        depends_on: Vec::new(),
        scopes: Vec::new(),
    };
    let take = ClaimTask { task_id: held, lease_minutes: None, file_locks: Vec::new() };
    let made = [
        creation("devops", "the pool holds 20"),
        hypothesis,
        request("devops", Command::AddTask(task)),
        request("devops", Command::ClaimTask(take)),
    ];
    for submission in &made {
        committer.commit(std::slice::from_ref(submission)).expect("a ledger").remove(0).expect("accepted");
    }
    let end = committer.head().seq;
    let at = |name: &str, minutes: i64| {
        let mut reads = Reads::of(workspace.clone());
        let last = workspace.events().last().expect("an event").at;
        let asked = Timestamp::from_ms(last.ms() + minutes * 60_000);
        // Whenever it is asked: an hour later, and a year.
        let answers = [1, 24 * 365].map(|hours: u32| {
            let now = asked.plus(Hours(hours));
            let moment = if minutes == 0 { Moment::Seq(end) } else { Moment::Time(asked) };
            let of = ContextOf::new(agent("devops"), Some("s-1".to_owned()));
            let view = match name {
                "context" => View::Context(of),
                "plan" => View::Plan(None),
                "claims" => View::Claims(ClaimFilter { limit: 9, ..ClaimFilter::default() }),
                "claim" => View::Claim(guess),
                other => panic!("{other}"),
            };
            let answer = answer_at(&mut reads, &config(), &view, now, Some(moment)).expect("an answer");
            (answer.text, answer.json)
        });
        assert_eq!(answers[0], answers[1], "{name} at {minutes}");
        answers[0].0.clone()
    };
    assert!(at("plan", 0).contains("devops, lease: 15 min left"), "{}", at("plan", 0));
    assert!(at("context", 0).contains("lease=\"15m\""), "{}", at("context", 0));
    assert!(at("plan", 10).contains("devops, lease: 5 min left"), "{}", at("plan", 10));
    assert!(!at("plan", 20).contains("devops for"), "{}", at("plan", 20));
    assert!(at("claim", 60).starts_with("# proposed hypothesis"), "{}", at("claim", 60));
    assert!(at("claim", 200).starts_with("# deprecated hypothesis"), "{}", at("claim", 200));
    assert!(at("claim", 60).contains("1h ago"), "an age as of then: {}", at("claim", 60));
    assert!(at("claims", 60).contains("(hypothesis, proposed, by "), "{}", at("claims", 60));
}

#[test]
fn within_the_events_of_a_command_the_past_is_that_of_the_last_of_them() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let claim = creation("devops", "the pool holds 20");
    let support = position("analyst", claim_of(&claim), Position::Support);
    let id = claim_of(&claim);
    for submission in [claim, support, creation("devops", "after it")] {
        committer.commit(&[submission]).expect("a ledger").remove(0).expect("accepted");
    }
    let events = workspace.events();
    let batch: Vec<u64> =
        events.iter().filter(|event| event.causation == events[1].causation).map(|event| event.seq).collect();
    assert_eq!(batch, [2, 3], "a position that confirms");
    let mut reads = Reads::of(workspace.clone());
    let now = events.last().expect("an event").at;
    let mut status = |seq: u64| {
        let answer = answer_at(&mut reads, &config(), &View::Claim(id), now, Some(Moment::Seq(seq)));
        let answer = answer.expect("an answer");
        (answer.seq, answer.json["status"].clone())
    };
    assert_eq!(status(1), (1, json!("proposed")));
    assert_eq!(status(2), (3, json!("confirmed")), "nobody saw it supported and proposed");
    assert_eq!(status(3), (3, json!("confirmed")));
}

#[test]
fn a_context_of_then_is_the_same_bytes_whenever_it_is_asked_for() {
    let bench = Bench::new();
    let devops = ["--agent", "devops"];
    let made = bench.hm(&[&["claim", "create", "the pool holds 20", "--scope", "src"][..], &devops].concat());
    assert!(made.status.success(), "{made:?}");
    let at = Timestamp::from_ms(hivemind::system::now().ms()).ms().to_string();
    let ask = || printed(&bench, &[&["context", "--at", &at][..], &devops].concat());
    let first = ask();
    let second_of = |ms: i64| ms / 1_000;
    let asked = second_of(hivemind::system::now().ms());
    while second_of(hivemind::system::now().ms()) == asked {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(first.contains("the pool holds 20"), "{first}");
    assert_eq!(first, ask());
}

/// A team that says more than a prepared state is apart from the next, about a word of its own each time.
fn many(committer: &mut hivemind::writer::Committer) -> Vec<Submission> {
    let mut said = Vec::new();
    for at in 0..280 {
        let claim = creation("devops", &format!("the pool of shard{at} holds its connections"));
        let support = position("analyst", claim_of(&claim), Position::Support);
        said.extend([claim, support].into_iter().take(1 + at % 2));
    }
    for outcome in committer.commit(&said).expect("a ledger") {
        outcome.expect("accepted");
    }
    said
}

#[test]
fn a_past_has_the_same_answers_wherever_it_is_folded_from() {
    let workspace = TempWorkspace::new();
    let said = many(&mut workspace.committer(1));
    let (head, now) = (workspace.ledger_reader().head().expect("a head").seq, hivemind::system::now());
    assert!(head > 512, "{head}");
    let (mut reads, pasts) = (Reads::of(workspace.clone()), Pasts::default());
    assert!(pasts.prepare(&mut reads).expect("a fold"), "one state");
    assert!(!pasts.prepare(&mut reads).expect("a fold"), "and no other");
    let search = Search {
        query: "which connections does shard277 hold".to_owned(),
        mode: SearchMode::Balanced,
        filter: ClaimFilter { limit: 20, ..ClaimFilter::default() },
        seen: Seen::default(),
        explain: false,
    };
    let views = [
        View::Status,
        View::Claims(ClaimFilter { limit: 500, ..ClaimFilter::default() }),
        View::Search(search),
        View::Claim(claim_of(&said[said.len() - 2])),
    ];
    // Before the prepared state, at it, from it, from what was looked at, and again.
    for seq in [300, 512, head, 540, head - 1, 301, 540] {
        let moment = Moment::Seq(seq);
        let (mut whole, mut part) =
            (reads.at(moment, now).expect("a past"), reads.at_from(&pasts, moment, now).expect("a past"));
        assert_eq!((whole.horizon(), whole.clock(now)), (part.horizon(), part.clock(now)));
        for view in &views {
            let [whole, part] = [&mut whole, &mut part].map(|reads| {
                let now = reads.clock(now);
                let json = answer(reads, &config(), view, now);
                json.map(|answer| answer.json.to_string()).map_err(|error| error.to_string())
            });
            assert_eq!(whole, part, "{view:?} at {seq}");
        }
    }
}

/// Red while a kept state was used whatever was erased since.
#[test]
fn what_was_erased_is_in_no_kept_past() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let claim = creation("devops", "the pool holds 20");
    for submission in [&claim, &creation("devops", "after it"), &creation("devops", "after that")] {
        committer.commit(std::slice::from_ref(submission)).expect("a ledger").remove(0).expect("accepted");
    }
    let (mut reads, pasts, now) = (Reads::of(workspace.clone()), Pasts::default(), hivemind::system::now());
    let mut told = |seq: u64| {
        let mut past = reads.at_from(&pasts, Moment::Seq(seq), now).expect("a past");
        let all = View::Claims(ClaimFilter { limit: 50, ..ClaimFilter::default() });
        let now = past.clock(now);
        answer(&mut past, &config(), &all, now).expect("an answer").json.to_string()
    };
    assert!(told(2).contains("the pool holds 20") && told(1).contains("the pool holds 20"));
    let forget = Forget {
        event_id: EventId::from_uuid(claim_of(&claim).into()),
        reason: "asked to".parse().expect("a reason"),
        with_quotes: false,
    };
    committer
        .commit(&[request("operator", Command::Forget(forget))])
        .expect("a ledger")
        .remove(0)
        .expect("done");
    for seq in [2, 3, 1] {
        assert!(!told(seq).contains("the pool holds 20"), "{}", told(seq));
    }
}

fn config() -> Config {
    Config::load(std::path::Path::new("no-such-file.toml")).expect("defaults")
}
