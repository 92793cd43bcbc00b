//! Writer and fronts are killed at random moments under load: nothing acknowledged is lost, nothing is there twice.
//!
//! ```text
//! cargo test --test it kill                             # 12 kills
//! HM_LONG=1 cargo test --test it kill -- --nocapture    # 1,000
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hivemind::domain::ids::EventId;
use hivemind::ledger;
use hivemind::mcp::{Era, Pane};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{Dice, dump, long, seed};

/// Agents of the four panes, two of each era.
const PANES: [(&str, Era); 4] =
    [("devops", Era::Legacy), ("analyst", Era::Modern), ("frontend", Era::Legacy), ("reviewer", Era::Modern)];

/// Commits the panes must see between two kills, three times out of four.
const COMMITS_BETWEEN_KILLS: u64 = 12;

/// What one pane was told.
#[derive(Debug, Default)]
struct Told {
    committed: BTreeMap<String, u64>,
    queued: BTreeSet<String>,
    refused: Vec<String>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_writer_loses_nothing() {
    let rounds: u32 = if long() { 1_000 } else { 12 };
    let seed = seed("kill -9");
    let bench = Arc::new(Bench::new());
    let stop = Arc::new(AtomicBool::new(false));
    let committed = Arc::new(AtomicU64::new(0));
    let panes: Vec<_> = PANES
        .into_iter()
        .map(|(agent, era)| {
            tokio::spawn(load(Arc::clone(&bench), agent, era, Arc::clone(&stop), Arc::clone(&committed)))
        })
        .collect();

    let mut dice = Dice::new(seed);
    let (mut killed, mut fronts, mut before) = (0, 0, 0);
    while killed < rounds {
        // Every fourth kill comes at once, to meet a writer that starts or replays; the others come
        // once the panes got commits since the last one.
        let least = if dice.below(4) == 0 { 0 } else { COMMITS_BETWEEN_KILLS };
        while committed.load(Ordering::Relaxed) < before + least {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_micros(dice.below(30_000) as u64)).await;
        before = committed.load(Ordering::Relaxed);
        // Every fourth one hits a front in the middle of a call instead.
        if killed % 4 == 3 {
            fronts += u32::from(kill_front(&bench, &mut dice));
            killed += 1;
        } else if bench.signal_writer() {
            killed += 1;
        }
    }
    stop.store(true, Ordering::Relaxed);
    let mut told = Vec::new();
    for pane in panes {
        told.push(pane.await.expect("a pane that never fails"));
    }

    // A last write brings up a writer that replays whatever waits.
    let pane = bench.pane(Some("architect"), Era::Modern).await;
    loop {
        let note = json!({ "kind": "note", "summary": "the campaign is over" });
        if pane.call("report_event", note).await.expect("an answer").field("state") == "committed" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    pane.close().await;
    bench.kill_writer();

    let ledger =
        ledger::Reader::open(&bench.workspace().ledger()).expect("a readable ledger").expect("a ledger");
    let report = ledger.verify(|_| ()).expect("a readable ledger");
    assert_eq!(report.fault, None, "HM_SEED={seed}");
    let events = ledger.read_from(ledger::Cursor::GENESIS, usize::MAX >> 1).expect("every event");
    let mut seen: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for event in &events {
        if let Some(Value::String(summary)) = event
            .payload
            .as_ref()
            .and_then(|(payload, _)| serde_json::from_str::<Value>(payload).ok())
            .map(|payload| payload["summary"].clone())
        {
            seen.entry(summary).or_default().push(event.seq);
        }
    }
    let (mut committed, mut queued) = (0, 0);
    for (pane, told) in PANES.iter().zip(&told) {
        assert!(told.refused.is_empty(), "{pane:?} HM_SEED={seed}: {:?}", told.refused);
        for (summary, seq) in &told.committed {
            assert_eq!(seen.get(summary), Some(&vec![*seq]), "committed, HM_SEED={seed}: {summary}");
        }
        for summary in &told.queued {
            assert_eq!(seen.get(summary).map(Vec::len), Some(1), "queued, HM_SEED={seed}: {summary}");
        }
        committed += told.committed.len();
        queued += told.queued.len();
    }
    let least = (rounds / 3) as usize * COMMITS_BETWEEN_KILLS as usize;
    assert!(committed >= least, "only {committed} commits: no load to speak of");
    assert!(fronts > 0 || !cfg!(target_os = "linux"), "no front was ever killed");
    eprintln!(
        "{killed} kills, {fronts} of them of fronts, {committed} committed, {queued} queued, {} events",
        events.len()
    );

    let live = dump(&bench.workspace().team_memory());
    bench.rebuild();
    assert_eq!(live, dump(&bench.workspace().team_memory()), "HM_SEED={seed}: rebuild differs");
}

/// `kill -9` of one of the panes, which are the processes that serve this workspace.
fn kill_front(bench: &Bench, dice: &mut Dice) -> bool {
    let root = bench.root().to_str().expect("paths of tests are text");
    let serves = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        line.contains(root) && line.contains("\0serve\0")
    };
    // Only Linux tells it like this; elsewhere the writer alone is killed.
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let names = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let panes: Vec<i32> = names.filter(serves).collect();
    if panes.is_empty() {
        return false;
    }
    let pid = rustix::process::Pid::from_raw(*dice.pick(&panes)).expect("a process has a number");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok()
}

/// Reports events one after another, each under its own key, and notes what it was told.
async fn load(
    bench: Arc<Bench>,
    agent: &'static str,
    era: Era,
    stop: Arc<AtomicBool>,
    commits: Arc<AtomicU64>,
) -> Told {
    let mut pane = bench.pane(Some(agent), era).await;
    let mut told = Told::default();
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let summary = format!("{agent} saw thing {number}");
        let arguments = json!({ "kind": "finding", "summary": summary, "idempotency_key": summary });
        let answer = loop {
            if let Ok(answer) = pane.call("report_event", arguments.clone()).await {
                break answer;
            }
            // Its client starts it again, and asks again under the same key: nobody knows what became of it.
            pane = loop {
                if let Ok(pane) = Pane::start(bench.binary(), bench.root(), Some(agent), era).await {
                    break pane;
                }
            };
        };
        match (answer.refused, answer.field("state")) {
            (false, "committed") => {
                let seq = answer.body["seq"].as_u64().expect("a committed receipt has its seq");
                let _: EventId = answer.field("event_id").parse().expect("an id that can be cited");
                told.committed.insert(summary, seq);
                commits.fetch_add(1, Ordering::Relaxed);
            }
            (false, "queued") => {
                assert!(answer.body.get("seq").is_none(), "queued is never presented as committed");
                told.queued.insert(summary);
                // No agent queues as fast as it can; the next writer has all of it to fold.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            _ => told.refused.push(answer.text),
        }
    }
    pane.close().await;
    told
}
