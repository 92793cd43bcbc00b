//! A storm: sixteen panes write, processes are killed and stopped, and the files change under all of them.
//!
//! The law: an event that was told as committed is in a ledger with its seq, a queued one is in a ledger or in a spool,
//! and no ledger holds an event twice. Memories that are removed or replaced are kept to be examined.
//!
//! ```text
//! cargo test --test it storm                             # some 16 changes
//! HM_LONG=1 cargo test --test it storm -- --nocapture    # ten minutes
//! ```
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hivemind::ledger::{Cursor, Reader};
use hivemind::mcp::{Era, Pane};
use hivemind::system::{self, Environment};
use hivemind::workspace::Workspace;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{Dice, HM, assert_keys_stay_here, long, seed};
use crate::http::{Answer, modern_body};
use crate::terminal::AS_OPERATOR;

/// Panes that speak over stdio; the others share two servers of HTTP.
const STDIO_PANES: usize = 12;
const HTTP_PANES: usize = 4;
/// How long an answer may take before its pane is started anew: longer than any limit of a front.
const PATIENCE: Duration = Duration::from_secs(20);
/// Projects that panes are started in, at most.
const MAX_PLACES: usize = 3;

/// What may change under the panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Remove,
    RemoveAtOnce,
    GitClean,
    OldLedgerOver,
    OldMemoryIn,
    Move,
    Copy,
}

const CHANGES: [Change; 7] = [
    Change::Remove,
    Change::RemoveAtOnce,
    Change::GitClean,
    Change::OldLedgerOver,
    Change::OldMemoryIn,
    Change::Move,
    Change::Copy,
];

/// What the processes of a storm share.
struct World {
    /// Everything that is examined in the end.
    base: tempfile::TempDir,
    /// Copies that were not put back yet.
    apart: tempfile::TempDir,
    /// Where panes are started now.
    places: Mutex<Vec<PathBuf>>,
    /// Held by the one who stops every process; who starts or signals one shares it.
    gate: tokio::sync::RwLock<()>,
    named: AtomicU64,
    stop: AtomicBool,
}

impl World {
    fn new() -> Self {
        assert_keys_stay_here();
        let temporary = || tempfile::tempdir().expect("a temporary directory");
        let world = Self {
            base: temporary(),
            apart: temporary(),
            places: Mutex::default(),
            gate: tokio::sync::RwLock::new(()),
            named: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        };
        let place = world.path("project");
        std::fs::create_dir(&place).expect("a directory");
        git(&place, &["init", "--quiet"]);
        stay_in_the_tree(&place, &world.path("trash"));
        git(&place, &["add", "--all"]);
        let author = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        git(&place, &[&author[..], &["commit", "--quiet", "-m", "a project"]].concat());
        world.places.lock().expect("a place").push(place);
        world
    }

    /// A new path below the base.
    fn path(&self, what: &str) -> PathBuf {
        let number = self.named.fetch_add(1, Ordering::Relaxed);
        self.base.path().join(format!("{what}-{number}"))
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn place(&self, index: usize) -> PathBuf {
        let places = self.places.lock().expect("places");
        places[index % places.len()].clone()
    }

    /// Does something while every process of the storm stands still, wherever it is.
    async fn frozen<T>(&self, act: impl FnOnce() -> T) -> T {
        let _gate = self.gate.write().await;
        let mut stopped = BTreeSet::new();
        loop {
            let new: Vec<Pid> = self
                .processes()
                .into_iter()
                .map(|(pid, _)| pid)
                .filter(|pid| stopped.insert(pid.as_raw_nonzero()))
                .collect();
            if new.is_empty() {
                break;
            }
            for pid in new {
                let _ = kill_process(pid, Signal::STOP);
                while !stands_still(pid) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
        let done = act();
        for pid in stopped {
            let _ = kill_process(Pid::from_raw(pid.get()).expect("a number"), Signal::CONT);
        }
        done
    }

    /// The processes of this storm, and whether each is a writer.
    fn processes(&self) -> Vec<(Pid, bool)> {
        processes_of(self.base.path())
    }
}

/// The processes of hm that serve something below a directory, and whether each is a writer.
pub(crate) fn processes_of(base: &Path) -> Vec<(Pid, bool)> {
    let base = base.to_str().expect("paths of tests are text");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("processes").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
        else {
            continue;
        };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        if line.starts_with(HM) && line.contains(base) {
            found.push((pid, line.contains("\0writer\0")));
        }
    }
    found
}

/// Ends every such process.
pub(crate) fn end_processes_of(base: &Path) {
    crate::harness::wait_until("every process is gone", || {
        let left = processes_of(base);
        for (pid, _) in &left {
            let _ = kill_process(*pid, Signal::KILL);
        }
        left.is_empty()
    });
}

/// Whether no thread of a process runs.
fn stands_still(pid: Pid) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())) else { return true };
    threads.flatten().all(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        state.is_none_or(|state| "TtZX".contains(state))
    })
}

fn git(place: &Path, words: &[&str]) {
    let done = Command::new("git").arg("-C").arg(place).args(words).output().expect("git runs");
    assert!(done.status.success(), "{done:?}");
}

fn hm(place: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(HM);
    command.args(words).arg("--dir").arg(place).current_dir(place).stdin(Stdio::null());
    command.output().expect("hm runs")
}

/// Makes a memory in `.hivemind/runtime/`, where `git clean -fdx` reaches it; what is there goes to the trash.
fn stay_in_the_tree(place: &Path, trash: &Path) {
    let _ = std::fs::rename(place.join(".hivemind/runtime"), trash);
    Workspace::init_apart(place, &Environment::read()).expect("a memory");
}

fn memory_of(place: &Path) -> PathBuf {
    let in_git = place.join(".git/hivemind");
    if in_git.join("id").exists() { in_git } else { place.join(".hivemind/runtime") }
}

/// The files below a directory, of which some may go away meanwhile.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            Ok(_) => found.push(entry.path()),
            Err(_) => {}
        }
    }
    found
}

/// Gives every file of a directory a second name in the trash.
fn link_all(from: &Path, to: &Path) {
    for file in files(from) {
        let kept = to.join(file.strip_prefix(from).expect("below it"));
        std::fs::create_dir_all(kept.parent().expect("a parent")).expect("a directory");
        // It may be gone by now.
        let _ = std::fs::hard_link(&file, &kept);
    }
}

/// `cp -a`; files that go away meanwhile are left out.
fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").arg(from).arg(to).stderr(Stdio::null()).status();
    done.expect("cp runs");
}

/// Changes something under the panes.
async fn apply(world: &World, change: Change, dice: &mut Dice) {
    let at = dice.below(MAX_PLACES);
    let place = world.place(at);
    let memory = memory_of(&place);
    match change {
        Change::Remove => {
            // As `rm -r` does it, file by file under running processes; a moved file is removed and can be examined.
            link_all(&memory, &world.path("links"));
            let mut left = files(&memory);
            while !left.is_empty() {
                let trash = world.path("trash");
                std::fs::create_dir(&trash).expect("a directory");
                for file in left {
                    let _ = std::fs::rename(&file, trash.join(file.file_name().expect("a name")));
                }
                let _ = std::fs::remove_dir(&memory);
                left = files(&memory);
                if dice.below(2) == 0 {
                    // A new memory may have come up by now: that one stays.
                    break;
                }
            }
        }
        Change::RemoveAtOnce => {
            let trash = world.path("trash");
            // A writer that has just made files is in it as well.
            let _ = std::fs::rename(&memory, trash);
            if dice.below(2) == 0 {
                let make = || {
                    if !memory_of(&place).join("id").exists() {
                        stay_in_the_tree(&place, &world.path("trash"));
                    }
                };
                world.frozen(make).await;
            }
        }
        Change::GitClean => {
            world
                .frozen(|| {
                    link_all(&place.join(".hivemind"), &world.path("links"));
                    git(&place, &["clean", "-fdxq"]);
                })
                .await;
        }
        Change::OldLedgerOver => {
            let backup =
                world.apart.path().join(format!("backup-{}", world.named.fetch_add(1, Ordering::Relaxed)));
            if !hm(&place, &["backup", backup.to_str().expect("a path")]).status.success() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(dice.below(400) as u64)).await;
            world
                .frozen(|| {
                    // The log stays at its path and may be written to by the next writer: a copy, and no link.
                    if memory.is_dir() {
                        copy(&memory, &world.path("replaced"));
                        let old = backup.join(".hivemind/runtime/ledger.sqlite");
                        std::fs::rename(old, memory.join("ledger.sqlite"))
                            .expect("a backup of the same disk");
                    }
                })
                .await;
        }
        Change::OldMemoryIn => {
            let old = world.apart.path().join(format!("old-{}", world.named.fetch_add(1, Ordering::Relaxed)));
            world.frozen(|| copy(&memory, &old)).await;
            tokio::time::sleep(Duration::from_millis(dice.below(400) as u64)).await;
            // A pane that is started in between makes a new memory, which goes the same way.
            while old.exists() && memory.parent().is_some_and(Path::exists) {
                let _ = std::fs::rename(&memory, world.path("trash"));
                let _ = std::fs::rename(&old, &memory);
            }
        }
        Change::Move => {
            let to = world.path("moved");
            std::fs::rename(&place, &to).expect("a project to move");
            let mut places = world.places.lock().expect("places");
            let at = places.iter().position(|known| *known == place).expect("a known place");
            places[at] = to;
        }
        Change::Copy => {
            let to = world.path("copied");
            copy(&place, &to);
            let mut places = world.places.lock().expect("places");
            places.push(to);
            if places.len() > MAX_PLACES {
                // Who is in it stays there until it is killed.
                places.remove(0);
            }
        }
    }
}

/// What a pane was told of one event.
enum Heard {
    Committed(u64),
    Queued,
    Refused { code: String, message: String },
}

impl Heard {
    fn of(body: &Value, text: &str) -> Self {
        match body["state"].as_str() {
            Some("committed") => {
                Self::Committed(body["seq"].as_u64().expect("a committed receipt has its seq"))
            }
            Some("queued") => {
                assert!(body.get("seq").is_none(), "queued is never presented as committed");
                Self::Queued
            }
            _ => Self::Refused {
                code: body["code"].as_str().unwrap_or("none").to_owned(),
                message: body["message"].as_str().unwrap_or(text).to_owned(),
            },
        }
    }
}

/// What all panes were told.
#[derive(Debug, Default)]
struct Told {
    committed: BTreeMap<String, u64>,
    queued: BTreeSet<String>,
    /// Refusals, without the paths in them.
    refused: BTreeMap<String, u32>,
    started: u32,
}

/// A way to the memory that can be lost and started again.
enum Face {
    Stdio { agent: String, era: Era, pane: Option<Box<Pane>> },
    Http { agent: String, server: Arc<Mutex<Option<Server>>> },
}

/// A `hm serve --http`.
struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(place: &Path) -> Option<Self> {
        let mut process = Command::new(HM);
        process
            .arg("--dir")
            .arg(place)
            .args(["serve", "--any-agent", "--http", "127.0.0.1:0"])
            .stdin(Stdio::null());
        for variable in ["HM_AGENT", "HM_SESSION", "HM_TASK", "HM_DIR"] {
            process.env_remove(variable);
        }
        let child = process.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let mut server = Self { child, port: 0 };
        let mut line = String::new();
        BufReader::new(server.child.stdout.take()?).read_line(&mut line).ok()?;
        server.port = line.trim().trim_end_matches("/mcp").rsplit(':').next()?.parse().ok()?;
        Some(server)
    }
}

fn ask_over_http(port: u16, body: &str) -> Option<Heard> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\naccept: application/json, text/event-stream\r\ncontent-type: \
         application/json\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: report_event\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    if !bytes.windows(4).any(|window| window == b"\r\n\r\n") {
        return None;
    }
    let answer = Answer::parse(&bytes);
    // A server that was killed in the middle of its answer said nothing.
    if answer.status != 200
        || !answer.body.contains("structuredContent")
        || !answer.body.trim_end().ends_with('}')
    {
        return None;
    }
    let message = answer.message();
    Some(Heard::of(&message["result"]["structuredContent"], &answer.body))
}

impl Face {
    /// Starts it where the project lies now, unless it runs.
    async fn start(&mut self, world: &World, index: usize) -> bool {
        let _gate = world.gate.read().await;
        let place = world.place(index);
        match self {
            Self::Stdio { agent, era, pane } => {
                if pane.is_none() {
                    let start = Pane::start(Path::new(HM), &place, Some(agent), *era);
                    *pane =
                        tokio::time::timeout(PATIENCE, start).await.ok().and_then(Result::ok).map(Box::new);
                }
                pane.is_some()
            }
            Self::Http { server, .. } => {
                let server = Arc::clone(server);
                let start = move || {
                    let mut server = server.lock().expect("a server");
                    if server.is_none() {
                        *server = Server::start(&place);
                    }
                    server.is_some()
                };
                tokio::task::spawn_blocking(start).await.expect("a start that ends")
            }
        }
    }

    /// Asks once; none when the process is gone or says nothing, and then it is to be started anew.
    async fn ask(&self, text: &str) -> Option<Heard> {
        let mut arguments = json!({ "kind": "finding", "summary": text, "idempotency_key": text });
        match self {
            Self::Stdio { pane, .. } => {
                let call = pane.as_ref()?.call("report_event", arguments);
                let answer = tokio::time::timeout(PATIENCE, call).await.ok()?.ok()?;
                Some(Heard::of(&answer.body, &answer.text))
            }
            Self::Http { agent, server } => {
                arguments["agent"] = agent.as_str().into();
                let params = json!({ "name": "report_event", "arguments": arguments });
                let body = modern_body("tools/call", params).to_string();
                let port = server.lock().expect("a server").as_ref()?.port;
                tokio::task::spawn_blocking(move || ask_over_http(port, &body))
                    .await
                    .expect("an answer or none")
            }
        }
    }

    fn end(&mut self) {
        match self {
            Self::Stdio { pane, .. } => *pane = None,
            Self::Http { server, .. } => *server.lock().expect("a server") = None,
        }
    }
}

/// Reports events one after another and notes what it was told, until the storm is over.
async fn load(world: Arc<World>, index: usize, mut face: Face) -> Told {
    let mut told = Told::default();
    let mut number = 0;
    let mut text = String::new();
    let mut is_answered = true;
    while !world.is_over() {
        if !face.start(&world, index + told.started as usize).await {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        }
        if std::mem::take(&mut is_answered) {
            number += 1;
            text = format!("pane {index} saw thing {number}");
        }
        match face.ask(&text).await {
            Some(Heard::Committed(seq)) => {
                told.committed.insert(text.clone(), seq);
                is_answered = true;
            }
            Some(Heard::Queued) => {
                told.queued.insert(text.clone());
                is_answered = true;
                // No agent queues as fast as it can; the next writer has all of it to fold.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Some(Heard::Refused { code, message }) => {
                let is_to_start_anew = message.contains(" is gone") || message.contains("is another one");
                let words = message.split(' ').filter(|word| !word.contains('/'));
                let refused = format!("{code}: {}", words.collect::<Vec<_>>().join(" "));
                *told.refused.entry(refused).or_default() += 1;
                if is_to_start_anew {
                    face.end();
                    told.started += 1;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            None => {
                face.end();
                told.started += 1;
            }
        }
    }
    told
}

/// Kills and stops processes at random moments.
async fn harass(world: Arc<World>, mut dice: Dice) -> BTreeMap<&'static str, u32> {
    let mut done = BTreeMap::new();
    while !world.is_over() {
        tokio::time::sleep(Duration::from_millis(40 + dice.below(300) as u64)).await;
        let _gate = world.gate.read().await;
        let found = world.processes();
        let wants_writer = dice.below(8) > 1;
        let found: Vec<Pid> = found
            .into_iter()
            .filter(|(_, is_writer)| *is_writer == wants_writer)
            .map(|(pid, _)| pid)
            .collect();
        if found.is_empty() {
            continue;
        }
        let pid = *dice.pick(&found);
        if wants_writer && dice.below(6) == 0 {
            let _ = kill_process(pid, Signal::STOP);
            *done.entry("stops").or_default() += 1;
            tokio::time::sleep(Duration::from_millis(dice.below(1_500) as u64)).await;
            let _ = kill_process(pid, Signal::CONT);
        } else if kill_process(pid, Signal::KILL).is_ok() {
            *done.entry(if wants_writer { "writers killed" } else { "fronts killed" }).or_default() += 1;
        }
    }
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_is_there_whatever_changes_underneath() {
    let seed = seed("storm");
    let mut dice = Dice::new(seed);
    let world = Arc::new(World::new());
    let servers: [Arc<Mutex<Option<Server>>>; 2] = Default::default();
    let panes: Vec<_> = (0..STDIO_PANES + HTTP_PANES)
        .map(|index| {
            let agent = ["devops", "analyst", "frontend", "reviewer"][index % 4].to_owned();
            let face = if index < STDIO_PANES {
                let era = if index % 2 == 0 { Era::Legacy } else { Era::Modern };
                Face::Stdio { agent, era, pane: None }
            } else {
                Face::Http { agent, server: Arc::clone(&servers[index % 2]) }
            };
            tokio::spawn(load(Arc::clone(&world), index, face))
        })
        .collect();
    let harassing = tokio::spawn(harass(Arc::clone(&world), Dice::new(dice.below(usize::MAX) as u64)));
    let (rounds, pause) = if long() { (120, 5_000) } else { (14, 900) };
    let mut deck = Vec::new();
    let mut changed: BTreeMap<Change, u32> = BTreeMap::new();
    let began = system::instant();
    for _ in 0..rounds {
        tokio::time::sleep(Duration::from_millis(pause / 2 + dice.below(pause as usize) as u64)).await;
        if deck.is_empty() {
            deck = CHANGES.to_vec();
        }
        let change = deck.swap_remove(dice.below(deck.len()));
        apply(&world, change, &mut dice).await;
        *changed.entry(change).or_default() += 1;
        if dice.below(2) == 0 {
            // Where events are missing the operator goes on without them, so that panes commit again.
            let words = [
                &["--agent", "operator"],
                &AS_OPERATOR[..],
                &["repair", "--accept-loss", "--reason", "a storm"],
            ];
            let place = world.place(dice.below(MAX_PLACES));
            let _ = tokio::task::spawn_blocking(move || hm(&place, &words.concat())).await;
        }
    }
    world.stop.store(true, Ordering::Relaxed);
    let mut told = Told::default();
    for pane in panes {
        let pane = pane.await.expect("a pane that never fails");
        told.committed.extend(pane.committed);
        told.queued.extend(pane.queued);
        for (refused, times) in pane.refused {
            *told.refused.entry(refused).or_default() += times;
        }
        told.started += pane.started;
    }
    let harassed = harassing.await.expect("harassing ends");
    let took = began.elapsed();
    end_processes_of(world.base.path());
    let kept = Kept::of(world.base.path());
    eprintln!(
        "{:.0} s, {changed:?}, {harassed:?}; {} committed, {} queued, {} starts anew; {} ledgers, {} of them unreadable, \
         {} with a fault, {} lines set aside",
        took.as_secs_f64(),
        told.committed.len(),
        told.queued.len(),
        told.started,
        kept.ledgers,
        kept.unreadable.len(),
        kept.faulty.len(),
        kept.rejected.len(),
    );
    for (what, details) in
        [("unreadable", &kept.unreadable), ("faulty", &kept.faulty), ("twice", &kept.twice)]
    {
        details.iter().for_each(|detail| eprintln!("  {what}: {detail}"));
    }
    told.refused.iter().for_each(|(refused, times)| eprintln!("  refused {times} times: {refused}"));
    kept.rejected.iter().take(5).for_each(|line| eprintln!("  set aside: {line}"));
    let nowhere: Vec<String> = told
        .committed
        .iter()
        .filter(|(text, seq)| !kept.seqs.get(*text).is_some_and(|seqs| seqs.contains(seq)))
        .map(|(text, seq)| format!("{text} at {seq}, found {:?}", kept.seqs.get(text)))
        .collect();
    let forgotten: Vec<&String> = told
        .queued
        .iter()
        .filter(|text| !kept.seqs.contains_key(*text) && !kept.spooled.contains(*text))
        .collect();
    if !nowhere.is_empty() || !forgotten.is_empty() || !kept.twice.is_empty() {
        let world = Arc::into_inner(world).expect("nobody else has it");
        eprintln!("kept for a look: {}", world.base.keep().display());
    }
    assert!(nowhere.is_empty(), "committed and nowhere, HM_SEED={seed}: {nowhere:#?}");
    assert!(forgotten.is_empty(), "queued and nowhere, HM_SEED={seed}: {forgotten:#?}");
    assert!(kept.twice.is_empty(), "twice in one ledger, HM_SEED={seed}: {:#?}", kept.twice);
    assert!(told.committed.len() > 100, "only {} commits: no load to speak of", told.committed.len());
    let codes: BTreeSet<&str> = told.refused.keys().filter_map(|refused| refused.split(':').next()).collect();
    assert!(codes.iter().all(|code| *code == "unavailable"), "HM_SEED={seed}: {codes:?}");
}

/// What is left below a directory.
#[derive(Debug, Default)]
struct Kept {
    ledgers: u32,
    /// The seqs of an event in all ledgers.
    seqs: HashMap<String, BTreeSet<u64>>,
    spooled: BTreeSet<String>,
    rejected: Vec<String>,
    unreadable: Vec<String>,
    faulty: Vec<String>,
    twice: Vec<String>,
}

impl Kept {
    fn of(base: &Path) -> Self {
        let mut kept = Self::default();
        let scratch = tempfile::tempdir().expect("a temporary directory");
        for file in files(base) {
            let name = file.file_name().expect("a name").to_string_lossy().into_owned();
            if name == "ledger.sqlite" {
                kept.ledgers += 1;
                // The place stays as it was left: reading a log makes files beside it.
                let copied = scratch.path().join(kept.ledgers.to_string());
                std::fs::copy(&file, &copied).expect("a copy");
                let log = file.with_file_name("ledger.sqlite-wal");
                if log.exists() {
                    std::fs::copy(log, scratch.path().join(format!("{}-wal", kept.ledgers))).expect("a copy");
                }
                if let Err(problem) = kept.read_ledger(&copied, &file) {
                    kept.unreadable.push(format!("{}: {problem}", file.display()));
                }
            } else if name.starts_with("spool.") {
                for line in String::from_utf8_lossy(&std::fs::read(&file).expect("a file")).lines() {
                    let parsed: Value = serde_json::from_str(line).unwrap_or_default();
                    if name == "spool.rejected.jsonl" {
                        kept.rejected.push(line.to_owned());
                    } else if let Some(text) = parsed["command"]["args"]["summary"].as_str() {
                        kept.spooled.insert(text.to_owned());
                    }
                }
            }
        }
        kept
    }

    fn read_ledger(&mut self, ledger: &Path, shown: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let Some(ledger) = Reader::open(ledger)? else { return Ok(()) };
        let mut here: BTreeSet<String> = BTreeSet::new();
        for event in ledger.read_from(Cursor::GENESIS, usize::MAX >> 1)? {
            let Some((payload, _)) = &event.payload else { continue };
            let Ok(payload) = serde_json::from_str::<Value>(payload) else { continue };
            let Some(text) = payload["summary"].as_str() else { continue };
            if !here.insert(text.to_owned()) {
                self.twice.push(format!("{text} in {}", shown.display()));
            }
            self.seqs.entry(text.to_owned()).or_default().insert(event.seq);
        }
        if let Some(fault) = ledger.verify(|_| ())?.fault {
            self.faulty.push(format!("{}: {fault:?}", shown.display()));
        }
        Ok(())
    }
}
