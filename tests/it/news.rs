//! What a session is told of others' work: the law that nothing urgent falls through, and deltas as real hooks give them.

use std::collections::{BTreeMap, BTreeSet};

use hivemind::domain::agent::AgentId;
use hivemind::domain::command::{AttachExperiment, Command, RecordExperiment};
use hivemind::domain::experiment::{RunOutcome, RunState};
use hivemind::domain::ids::{ClaimId, RunId, TaskId};
use hivemind::domain::time::Timestamp;
use hivemind::mcp::{Era, Pane};
use hivemind::pack::{
    About, Body, Concern, DeltaOf, News, Occasion, Question, TaskMove, Told, Waiting, delta,
};
use hivemind::reads::Reads;
use hivemind::views::{self, ContextOf, Known};
use serde_json::json;
use uuid::Uuid;

use crate::harness::{Dice, TempWorkspace, agent, fact, long, request, seed};
use crate::hook::{claude, spool_is_empty, within};
use crate::packs::plain;
use crate::shell::Shell;

/// 2026-11-20T22:10:00Z.
const NOW: Timestamp = Timestamp::from_ms(1_795_212_600_000);
/// Sessions of a history.
const SESSIONS: usize = 4;
/// What a history is about.
const SUBJECTS: usize = 40;
/// What a session is told after.
const OCCASIONS: [Occasion; 3] = [Occasion::Prompt, Occasion::Command, Occasion::Asked];
/// The smallest budget: the frame, what is counted, and any one line.
const SMALLEST: usize = 1_000;

/// One session as a test follows it.
#[derive(Default)]
struct Reader {
    told: Told,
    /// What happened since its last delta.
    happened: BTreeMap<About, Waiting>,
    /// What touches or asks it and was not told yet.
    open: BTreeSet<About>,
    /// News of any kind that happened, and how much of it was told or counted.
    happened_in_all: usize,
    settled: usize,
}

fn subject(dice: &mut Dice) -> About {
    let id = Uuid::from_u128(0x5000_0000 + dice.below(SUBJECTS) as u128);
    match id.as_u128() % 3 {
        0 => About::Task(TaskId::from_uuid(id)),
        1 => About::Question(ClaimId::from_uuid(id)),
        _ => About::Claim(ClaimId::from_uuid(id)),
    }
}

fn id(about: &About) -> String {
    if let About::Task(id) = about {
        id.to_string()
    } else if let About::Claim(id) | About::Question(id) = about {
        id.to_string()
    } else {
        panic!("no subject is {about:?}")
    }
}

/// What is shown of a subject: short ones, long ones, and questions that no delta has room for.
fn body(about: &About) -> Body {
    let id = id(about);
    let length = [20, 90, 300, 900][usize::from(id.as_bytes()[id.len() - 1]) % 4];
    let by = || "analyst".to_owned();
    if let About::Task(_) = about {
        let (status, locks) = ("active".to_owned(), Vec::new());
        Body::Task(TaskMove {
            meant_for: None,
            id,
            title: "mend it ".repeat(length / 8),
            status,
            to: Some(by()),
            locks,
        })
    } else if let About::Question(_) = about {
        Body::Question(Question {
            claim: id,
            statement: "what do you think? ".repeat(length / 8),
            by: by(),
            asked_at: NOW,
            silence_in: None,
            instead_of: None,
            is_request: false,
        })
    } else {
        Body::Claim(plain(&id, "analyst", &"it is so ".repeat(length / 8)))
    }
}

impl Reader {
    fn hears(&mut self, about: &About, concern: Concern, seq: u64) {
        let mut is_new = !self.told.waiting.iter().any(|waiting| waiting.about == *about);
        let happened = self.happened.entry(about.clone()).and_modify(|_| is_new = false);
        let waiting = happened.or_insert_with(|| Waiting::new(about.clone(), seq));
        (waiting.seq, waiting.concern) = (seq, waiting.concern.min(concern));
        self.happened_in_all += usize::from(is_new);
        if concern.is_urgent() {
            self.open.insert(about.clone());
        }
    }

    /// A prompt or a command of the session, or a call of `hm news` in it: whether its delta said anything.
    fn is_told(&mut self, seq: u64, budget: usize, occasion: Occasion) -> bool {
        let mut all = std::mem::take(&mut self.happened);
        for waiting in std::mem::take(&mut self.told.waiting) {
            let news = all.entry(waiting.about.clone()).or_insert_with(|| waiting.clone());
            (news.since, news.deltas) = (waiting.since, waiting.deltas);
            news.concern = news.concern.min(waiting.concern);
        }
        let news: Vec<News> = all
            .values()
            .map(|waiting| News { waiting: waiting.clone(), rank: 0, body: body(&waiting.about) })
            .collect();
        let of = DeltaOf {
            session: Some("s-1".to_owned()),
            since: self.told.seq,
            seq,
            is_kept: true,
            occasion,
            budget,
        };
        let (text, told) = delta(&of, news.clone(), NOW);
        let is_due = |news: &News| occasion.tells(news.waiting.concern);
        assert_eq!(text.is_empty(), !news.iter().any(is_due), "{occasion:?}: {text}");
        self.told = told;
        let shown_part = text.split("<dropped").next().unwrap_or_default();
        let mut on_top = 0;
        for News { waiting, .. } in &news {
            let id = id(&waiting.about);
            let times = shown_part.matches(&format!("\"{id}\"")).count();
            assert!(times <= 1, "{id} is told {times} times: {text}");
            if matches!(waiting.about, About::Question(_)) {
                on_top = on_top.max(shown_part.len());
            }
            let waits = self.told.waiting.iter().any(|waits| waits.about == waiting.about);
            if !occasion.tells(waiting.concern) {
                assert!(self.told.waiting.contains(waiting) && times == 0, "{id} waits for a prompt: {text}");
                continue;
            }
            assert!(times == 0 || !waits, "{id} is told and waits: {text}");
            if times == 1 {
                let was_open = self.open.remove(&waiting.about);
                assert_eq!(was_open, waiting.concern.is_urgent(), "{id} is told once: {text}");
            } else if !waits {
                assert!(!waiting.concern.is_urgent(), "{id} is counted away: {text}");
                assert_eq!(waiting.deltas, 2, "it had three deltas: {text}");
                assert_eq!(occasion, Occasion::Prompt, "only a prompt gives up: {text}");
                assert!(text.contains("<left_out"), "{text}");
            }
            self.settled += usize::from(!waits);
        }
        assert!(text.chars().count() <= budget || on_top > 0, "{budget}: {text}");
        for waiting in &self.told.waiting {
            assert!(self.told.position() < waiting.since, "the position moved past {waiting:?}");
        }
        !text.is_empty()
    }
}

/// A law: nothing falls through.
#[test]
fn whatever_touches_or_asks_a_session_is_told_to_it_once() {
    let seed = seed("news");
    let mut dice = Dice::new(seed);
    let (mut urgent, mut waited) = (0, 0);
    for history in 0..if long() { 1_000 } else { 25 } {
        let mut sessions: Vec<Reader> = (0..SESSIONS).map(|_| Reader::default()).collect();
        let mut seq = 0;
        let most_events = 1 + dice.below(30);
        for _ in 0..40 {
            for _ in 0..dice.below(most_events) {
                seq += 1;
                let (about, author) = (subject(&mut dice), dice.below(SESSIONS));
                for (at, session) in sessions.iter_mut().enumerate().filter(|(at, _)| *at != author) {
                    let concerns = [Concern::Touches, Concern::Asks, Concern::Found, Concern::Other];
                    let concern = concerns[(dice.below(6) + at).min(7) % 4];
                    session.hears(&about, concern, seq);
                    urgent += usize::from(concern.is_urgent());
                }
            }
            let at = dice.below(SESSIONS);
            let budget = SMALLEST + dice.below(1_000);
            let occasion = OCCASIONS[dice.below(3)];
            sessions[at].is_told(seq, budget, occasion);
            waited += sessions[at].told.waiting.len();
        }
        for session in &mut sessions {
            let mut prompts = 0;
            let last = [Occasion::Prompt, Occasion::Asked][dice.below(2)];
            while session.is_told(seq, SMALLEST + dice.below(1_000), last) {
                prompts += 1;
                assert!(prompts < 4 * SUBJECTS, "HM_SEED={seed} {history}: it never ends");
            }
            let left: Vec<&About> = session.open.iter().collect();
            assert!(left.is_empty(), "HM_SEED={seed} {history}: {left:?} was never told");
            assert_eq!(session.settled, session.happened_in_all, "HM_SEED={seed} {history}");
            assert_eq!(session.told, Told::up_to(seq));
        }
    }
    assert!(urgent > 5_000 && waited > 500, "{urgent} {waited}");
}

#[test]
fn what_a_session_was_told_survives_its_file() {
    let waiting = Waiting::new(About::Anchor("DB_SCHEMA".parse().expect("a key")), 7);
    let told = Told { waiting: vec![waiting], at_prompt: Some(9), ..Told::up_to(12) };
    let text = serde_json::to_string(&told).expect("JSON");
    assert_eq!(serde_json::from_str::<Told>(&text).expect("JSON"), told);
    assert_eq!((told.position(), Told::up_to(12).position()), (6, 12));
}

/// The most important news of a trial. Red before: the reader's own claims came first, whole, and this was not shown.
#[test]
fn a_finding_in_the_file_one_holds_is_the_first_thing_told_whatever_came_in_between() {
    let shell = Shell::new();
    let (devops, architect) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "architect"));
    devops.start();
    architect.start();
    let long = "and so it is wherever one looks at it, as far as anybody could measure it so far";
    let own: Vec<String> = (0..8)
        .map(|at| {
            let create =
                format!("hm --json --agent devops claim create \"own claim {at}, {long}\" --scope x/{at}");
            within(&shell, "s-1", &create)["claim_id"].as_str().expect("an id").to_owned()
        })
        .collect();
    shell.json("hm --json --agent devops task add \"a heap for the expiry\"");
    within(&shell, "s-1", "hm --json --agent devops task claim T1 --lock boltons/ttlutils.py");
    devops.prompt("go");
    spool_is_empty(&shell);
    let others = |from: usize| {
        for at in from..from + 20 {
            shell.json(&format!(
                "hm --json --agent analyst claim create \"part {at} of the docs needs version {at}, {long}\" --scope docs/p{at}"
            ));
        }
    };
    others(100);
    for claim in &own {
        for agent in ["analyst", "reviewer"] {
            within(&shell, "s-3", &format!("hm --json --agent {agent} claim support {claim}"));
        }
    }
    let found = "evict() deadlocks when a callback of an entry calls the cache again";
    let record = format!("hm --json --agent architect claim create \"{found}\" --scope boltons/ttlutils.py");
    let deadlock = within(&shell, "s-2", &record)["claim_id"].clone();
    others(120);
    let told = devops.prompt("go on");
    let first = told.lines().nth(2).unwrap_or_default();
    let deadlock = shell.name(deadlock.as_str().expect("an id"));
    assert!(first.contains(&deadlock) && first.contains(found), "{told}");
    assert!(told.chars().count() <= 2_000, "{told}");
    assert_eq!(told.matches(found).count(), 1, "{told}");
    // The others wait, none of them as a bare id, until they are told or counted.
    assert!(told.contains("<waiting n="), "{told}");
    let (mut all, mut counted) = (told, 0);
    for turn in 0..6 {
        spool_is_empty(&shell);
        let told = devops.prompt(&format!("and on {turn}"));
        assert!(!told.contains(found), "told once: {told}");
        if let Some(rest) = told.split("<left_out kind=\"claims\" n=\"").nth(1) {
            let number = rest.split('"').next().expect("a number");
            counted += number.parse::<usize>().expect("a number");
            assert!(rest.contains("list=\"hm claim list --since "), "{told}");
        }
        all.push_str(told.split("<dropped").next().unwrap_or_default());
        if told.is_empty() {
            break;
        }
    }
    let told = (100..140).filter(|at| all.contains(&format!("part {at} of the docs"))).count()
        + (1..9).filter(|at| is_confirmed(&all, &format!("C{at}"))).count();
    assert_eq!(told + counted, 40 + own.len(), "{all}");
    assert!(told > 20, "{all}");
    spool_is_empty(&shell);
    assert_eq!(devops.prompt("nothing happened"), "");
}

/// Whether deltas say that a claim of their reader was confirmed, alone or with others.
fn is_confirmed(told: &str, name: &str) -> bool {
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    told.split(">your ").skip(1).any(|said| {
        let [one, several] = [" is confirmed: supported by analyst", " are confirmed: supported by analyst"];
        let said = said.split('<').next().unwrap_or_default();
        let names = said.split_once(several).or_else(|| said.split_once(one)).map_or("", |(names, _)| names);
        names.split(", ").any(|it| it == name)
    })
}

#[test]
fn a_session_is_asked_first_and_hears_nothing_that_it_knows() {
    let shell = Shell::new();
    let (devops, analyst) = (claude(&shell, "s-1", "devops"), claude(&shell, "s-2", "analyst"));
    devops.start();
    analyst.start();
    let claim = |session: &str, agent: &str, text: &str, scope: &str| {
        let create = format!("hm --json --agent {agent} claim create \"{text}\" --scope {scope}");
        within(&shell, session, &create)["claim_id"].as_str().expect("an id").to_owned()
    };
    let long = "because of what was measured on the small machine in the corner of the office last week";
    let mine = claim("s-1", "devops", "the pool holds 20 connections", "src/db");
    let other = claim("s-1", "devops", &format!("the queue is bounded by 64 entries {long}"), "src/queue");
    within(&shell, "s-1", "hm --json --agent devops intent \"tune the cache\"");
    devops.prompt("go");
    spool_is_empty(&shell);
    let edit = json!({
        "tool_name": "Edit", "tool_response": {},
        "tool_input": { "file_path": format!("{}/src/cache/lru.rs", devops.cwd()), "new_string": "x" },
    });
    devops.told("PostToolUse", edit.clone());
    spool_is_empty(&shell);

    let reason = "config.toml says 40";
    within(&shell, "s-2", &format!("hm --json --agent analyst claim challenge {mine} --reason \"{reason}\""));
    for agent in ["analyst", "reviewer"] {
        within(&shell, "s-2", &format!("hm --json --agent {agent} claim support {other}"));
    }
    claim("s-2", "analyst", "the menu opens at once", "src/ui");
    claim("s-2", "analyst", "a warm cache answers in 3 us", "docs");
    let opened = claim("s-2", "analyst", "the README names an old flag", "README.md");
    claim("s-2", "analyst", "nightly builds need clang", "ci");
    analyst.told("PostToolUse", edit);
    spool_is_empty(&shell);
    within(&shell, "s-1", &format!("hm --json claim show {opened}"));
    within(&shell, "s-1", "hm --json claim search nightly clang");

    let told = devops.prompt("go on");
    let place = |text: &str| told.find(text).unwrap_or_else(|| panic!("no {text} in {told}"));
    let order = [
        "<touches_your_work n=\"1\">",
        "<edited by=\"analyst\"",
        "src/cache/lru.rs</edited>",
        "<asks_you n=\"1\">",
        reason,
        "<for_your_intent n=\"1\">",
        "a warm cache answers in 3 us",
        "<also n=\"2\">",
    ];
    let places: Vec<usize> = order.iter().map(|text| place(text)).collect();
    assert!(places.is_sorted(), "{told}");
    place("the menu opens at once");
    assert!(
        told.contains(">your C2 is confirmed: supported by analyst, reviewer</claim>")
            && !told.contains("office"),
        "{told}"
    );
    for known in ["the README names", "nightly builds"] {
        assert!(!told.contains(known), "{told}");
    }
    spool_is_empty(&shell);
    assert_eq!(devops.prompt("and on"), "", "nothing changed");
    // What was opened is news again once it changes.
    within(
        &shell,
        "s-2",
        &format!("hm --json --agent reviewer claim challenge {opened} --reason \"it was mended\""),
    );
    spool_is_empty(&shell);
    let told = devops.prompt("and on");
    assert!(told.contains("it was mended"), "{told}");
}

#[test]
fn what_a_session_reads_over_its_server_is_no_news_to_it() {
    let shell = Shell::new();
    let devops = claude(&shell, "s-1", "devops");
    devops.start();
    spool_is_empty(&shell);
    let claim = |text: &str| {
        let made = shell.json(&format!("hm --json --agent analyst claim create \"{text}\" --scope src/db"));
        made["claim_id"].as_str().expect("an id").to_owned()
    };
    let read = claim("the pool holds 20 connections");
    claim("nightly builds need clang");
    let mut server: tokio::process::Command = shell.command("hm serve --agent devops").into();
    server.env("HM_SESSION", "s-1");
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let pane = Pane::run(server, Era::Modern).await.expect("a pane");
        pane.read(&format!("hivemind://claims/{read}")).await.expect("a claim");
        pane.read("hivemind://search?q=nightly").await.expect("hits");
        pane.close().await;
    });
    assert_eq!(devops.prompt("go"), "");
    spool_is_empty(&shell);
    claim("the menu opens at once");
    assert!(devops.prompt("go on").contains("the menu opens at once"));
}

#[test]
fn a_run_about_the_readers_claim_asks_it() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let mut does = |agent: &str, command: Command| {
        let all = committer.commit(&[request(agent, command)]).expect("a group");
        all.into_iter().for_each(|receipt| drop(receipt.expect("it passes")));
    };
    let of = ContextOf::new(agent("devops"), Some("s-9".into()));
    let news =
        |known: &Known| views::delta(&mut Reads::of((*workspace).clone()), &of, known, NOW).expect("a delta");
    let mine = fact("cold reads take 3 ms");
    let claim_id = mine.claim_id;
    does("devops", Command::CreateClaim(mine));
    let known = Known::up_to(workspace.events().len() as u64);
    let run_id = RunId::from_uuid(Uuid::from_u128(0x7000_0000));
    let outcome = RunOutcome::without_files(RunState::Succeeded, None);
    let command = "make bench".parse().expect("a command line");
    let record = RecordExperiment { run_id, command, outcome, asserted: false };
    does(AgentId::operator().as_str(), Command::RecordExperiment(record));
    let (text, told) = news(&known);
    assert_eq!(text, "", "it is about no claim yet");
    let attach = AttachExperiment { run_id, claim_id, summary: None };
    does("analyst", Command::AttachExperiment(attach));
    let known = Known { told, ..known };
    let (text, _) = news(&known);
    let run = text.lines().nth(2).expect("a line");
    assert!(text.contains("<asks_you n=\"1\">") && run.starts_with("<run id=\"R1\""), "{text}");
    assert!(
        run.contains("says=\"mentions (asserted)\"") && run.ends_with(">cold reads take 3 ms</run>"),
        "{text}"
    );
    let opened = [(run_id.to_string(), 99)].into();
    assert_eq!(news(&Known { opened, ..known.clone() }).0, "", "it was opened");
}

/// Red before: a session of an agent was asked about each run that the agent had waited for in another one, and its own
/// first news named the run that it had waited for.
#[test]
fn the_end_of_an_own_run_is_news_to_the_session_that_asked_for_it() {
    let shell = Shell::new();
    crate::settle::trusted(&shell, "yes", "\"true\"");
    for session in ["s-1", "s-2"] {
        claude(&shell, session, "devops").start();
    }
    within(&shell, "s-1", "hm --json --agent devops claim create \"cold reads take 3 ms\" --scope src");
    within(&shell, "s-1", "hm --json --agent devops experiment run yes --claim C1");
    for session in ["s-2", "s-1"] {
        let news = within(&shell, session, "hm --json --agent devops news")["news"].to_string();
        assert!(!news.contains("run"), "{session}: {news}");
    }
}
