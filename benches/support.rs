//! What the benchmark programs share: a workspace on disk, a raw client, percentiles, tables.
//!
//! Nothing here asserts a time: the programs print figures beside their budgets.
#![allow(dead_code, reason = "each program uses a part of it")]
#![allow(clippy::print_stdout, reason = "printing is what these programs are for")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command as Process, Stdio};
use std::time::Duration;

use hivemind::domain::agent::AgentId;
use hivemind::domain::checkout::Checkout;
use hivemind::domain::claim::{ClaimType, Position, Share};
use hivemind::domain::command::{Command, CreateClaim, DeclareIntent, Submission, TakePosition};
use hivemind::domain::decide::Policy;
use hivemind::domain::ids::{ClaimId, CommandId};
use hivemind::domain::plan::Trajectory;
use hivemind::domain::versions::Versions;
use hivemind::system::{self, Environment, Sources};
use hivemind::workspace::Workspace;
use hivemind::writer::{Committer, Front};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// What one event of a claim weighs in the baselines, in bytes.
pub(crate) const ROW_BYTES: usize = 700;
/// Commands in one group of the pipeline.
pub(crate) const GROUP: usize = 256;
/// The binary under measure.
pub(crate) const HM: &str = env!("CARGO_BIN_EXE_hm");
/// Agents whose claims fill a workspace.
const AGENTS: [&str; 5] = ["architect", "devops", "analyst", "frontend", "reviewer"];
/// Claims of one session of the team.
const CLAIMS_PER_SESSION: usize = 200;
/// How long a writer may take to come up, even unoptimised and with a large ledger to fold.
const WRITER_WITHIN: Duration = Duration::from_secs(120);

/// What every program takes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Shared {
    /// Print the figures as JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the workspaces go; fsync is only real on a disk
    #[arg(long, value_name = "PATH", default_value = env!("CARGO_TARGET_TMPDIR"))]
    pub(crate) on: std::path::PathBuf,
    #[arg(long, hide = true)]
    bench: bool,
    #[arg(long, hide = true)]
    test: bool,
}

impl Shared {
    /// Whether `cargo bench` asks; `cargo test --benches` only wants to know that it builds.
    pub(crate) fn asked(&self) -> bool {
        if !self.bench || self.test {
            println!("not measured: run it with cargo bench");
        }
        self.bench && !self.test
    }
}

/// Says on stderr what goes on; stdout holds the figures only.
pub(crate) fn say(what: &str) {
    eprintln!("{what}");
}

// Workspaces.

/// A workspace on disk, gone when dropped, and its writer with it.
pub(crate) struct Space {
    dir: TempDir,
    workspace: Workspace,
    writer: Option<Child>,
}

impl Space {
    pub(crate) fn new(on: &Path) -> Self {
        std::fs::create_dir_all(on).expect("a place for workspaces");
        let dir = TempDir::with_prefix_in("hm", on).expect("a temporary directory");
        let workspace = Workspace::init(dir.path(), &Environment::read()).expect("a workspace");
        Self { dir, workspace, writer: None }
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Starts `hm writer` and waits until it answers.
    pub(crate) fn start_writer(&mut self) {
        let child = hm(self.root(), "writer").stdout(Stdio::null()).spawn().expect("a writer");
        self.writer = Some(child);
        let front = Front::new(self.workspace.clone(), HM.into());
        let deadline = system::instant() + WRITER_WITHIN;
        block_on(async {
            while !front.writer_is_up().await {
                assert!(system::instant() < deadline, "the writer does not come up");
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
    }

    pub(crate) fn stop_writer(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            // It may be gone already.
            let _ = writer.kill();
            let _ = writer.wait();
        }
    }

    /// The writer's process id.
    pub(crate) fn writer_pid(&self) -> Option<u32> {
        self.writer.as_ref().map(Child::id)
    }

    /// A running `hm serve` that nobody has spoken to yet.
    pub(crate) fn client(&self, agent: &str) -> Client {
        Client::start(self.root(), agent)
    }

    /// Fills the workspace through the pipeline of the writer, in groups; one claim in four is
    /// supported, one in twenty challenged, one in twenty is a dead end. Returns the claims' ids.
    pub(crate) fn fill(&self, claims: usize) -> Vec<ClaimId> {
        let mut committer =
            Committer::open(&self.workspace, Policy::default(), Sources::system()).expect("a committer");
        let mut ids = Vec::with_capacity(claims);
        let mut group = Vec::with_capacity(GROUP + 2);
        for index in 0..claims {
            let owner = AGENTS[index % AGENTS.len()];
            let create = claim(index, claim_type(index));
            let claim_id = create.claim_id;
            ids.push(claim_id);
            let session = format!("s{}", index / CLAIMS_PER_SESSION);
            let create = submission(owner, Command::CreateClaim(create));
            group.push(Submission { session: Some(session.parse().expect("a session")), ..create });
            let position = match index % 20 {
                3 => Some(Position::Challenge),
                1 | 5 | 9 | 13 | 17 => Some(Position::Support),
                _ => None,
            };
            if let Some(position) = position {
                let reason = "measured again, see the run of this morning".parse().expect("a reason");
                let take = TakePosition { claim_id, position, reason: Some(reason), evidence_ref: None };
                let other = AGENTS[(index + 1) % AGENTS.len()];
                group.push(submission(other, Command::TakePosition(take)));
            }
            if group.len() >= GROUP || index + 1 == claims {
                for outcome in committer.commit(&group).expect("a group commits") {
                    outcome.expect("nothing is refused");
                }
                group.clear();
            }
        }
        ids
    }

    /// Gives sessions `intent-0` and on an intent each, in the words of some claims.
    pub(crate) fn declare(&self, sessions: usize) {
        let mut committer =
            Committer::open(&self.workspace, Policy::default(), Sources::system()).expect("a committer");
        let intents = (0..sessions).map(|at| {
            let intent = format!("{} {}", question(at * 7919), question(at * 104_729 + 1));
            let intent = intent.parse().expect("an intent");
            let trajectory = Trajectory { intent, plan_id: None, phase_id: None, task_ids: Vec::new() };
            let declare = Command::DeclareIntent(DeclareIntent { trajectory, team: false });
            let session = Some(format!("intent-{at}").parse().expect("a session"));
            Submission { session, ..submission("devops", declare) }
        });
        for outcome in committer.commit(&intents.collect::<Vec<_>>()).expect("a group commits") {
            outcome.expect("nothing is refused");
        }
    }

    /// Bytes of both databases with their write-ahead logs.
    pub(crate) fn disk_bytes(&self) -> u64 {
        let size = |path: &Path, suffix: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            std::fs::metadata(name).map_or(0, |metadata| metadata.len())
        };
        [self.workspace.ledger(), self.workspace.team_memory()]
            .iter()
            .map(|path| size(path, "") + size(path, "-wal"))
            .sum()
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        self.stop_writer();
    }
}

/// `hm VERB --dir ROOT`, deaf to the environment of whoever runs the benchmark.
pub(crate) fn hm(root: &Path, verb: &str) -> Process {
    let mut process = Process::new(HM);
    process.arg(verb).arg("--dir").arg(root).stdin(Stdio::null()).stderr(Stdio::null());
    for name in ["HM_DIR", "HM_AGENT", "HM_LOG", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"] {
        process.env_remove(name);
    }
    process
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

const fn claim_type(index: usize) -> ClaimType {
    match index % 20 {
        7 => ClaimType::Negative,
        2 | 11 | 18 => ClaimType::Decision,
        4 | 14 => ClaimType::Hypothesis,
        _ => ClaimType::Fact,
    }
}

/// The `index`-th claim, about one of 2,000 files and a tag.
pub(crate) fn claim(index: usize, claim_type: ClaimType) -> CreateClaim {
    let (area, file) = (index % 50, index % 2_000);
    let scopes = [format!("src/area{area}/file{file}.rs"), format!("tag:area{area}")];
    CreateClaim {
        event_type: None,
        mends: false,
        origin_task_id: None,
        asks: Vec::new(),
        tells: Vec::new(),
        unless_objection_minutes: None,
        claim_id: ClaimId::from_uuid(system::new_id()),
        statement: statement(index).parse().expect("a statement"),
        claim_type,
        scopes: scopes.iter().map(|scope| scope.parse().expect("a scope")).collect(),
        confidence: Share::default(),
        supersedes: None,
        ttl_hours: None,
        evidence_refs: Vec::new(),
        trigger: None,
    }
}

/// Words that every team uses; the first ones most often.
const WORDS: [&str; 24] = [
    "pool",
    "timeout",
    "worker",
    "request",
    "connection",
    "handler",
    "query",
    "index",
    "cache",
    "retry",
    "schema",
    "token",
    "session",
    "queue",
    "lock",
    "buffer",
    "parser",
    "client",
    "server",
    "migration",
    "thread",
    "socket",
    "channel",
    "config",
];
/// How many words there are; a large code base names some thousands of things.
const VOCABULARY: u64 = 6_000;

/// The word of a rank, 0 the most common: the rest is made of syllables, as names of things are.
fn word(rank: u64) -> String {
    const SYLLABLES: [&str; 20] = [
        "ba", "cor", "di", "fen", "gal", "hu", "jin", "ka", "lor", "mer", "nu", "pol", "qua", "rit", "sol",
        "tam", "ul", "ver", "wan", "zet",
    ];
    if let Some(word) = usize::try_from(rank).ok().and_then(|rank| WORDS.get(rank)) {
        return (*word).to_owned();
    }
    // Base 20, at least three digits.
    let digits = [rank / 400 % 20, rank / 20 % 20, rank % 20];
    digits.iter().map(|digit| SYLLABLES[*digit as usize]).collect()
}

/// Draws words for one claim: always the same ones, a few of them very often (as in any text, the share of
/// a word falls with its rank).
struct Draw(u64);

impl Draw {
    fn of(index: usize) -> Self {
        Self(index as u64)
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn word(&mut self) -> String {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        word((share.powi(3) * VOCABULARY as f64) as u64)
    }
}

/// An identifier that few claims name.
pub(crate) fn identifier(index: usize) -> String {
    let mut draw = Draw::of(index);
    let mut rare = || word(VOCABULARY / 2 + draw.next() % (VOCABULARY / 2));
    format!("{}_{}", rare(), rare())
}

/// Four words of a claim and a common one: what somebody asks who remembers it vaguely.
pub(crate) fn question(index: usize) -> String {
    let mut draw = Draw::of(index + 1_000_000_007);
    let words: Vec<String> = (0..4).map(|_| draw.word()).collect();
    format!("{} {}", words.join(" "), WORDS[index % WORDS.len()])
}

/// The statement of the `index`-th claim, some 300 characters. Words vary from claim to claim and no number is
/// in it: texts that differ in one value would be contradictions.
fn statement(index: usize) -> String {
    let mut draw = Draw::of(index + 1_000_000_007);
    let words: Vec<String> = (0..32).map(|_| draw.word()).collect();
    let name = identifier(index);
    format!(
        "`{name}` in the {} waits for the {} when {}; then the {} fires in the {}. Seen with {}, and {}",
        words[..3].join(" "),
        words[3..6].join(" "),
        words[6..14].join(" "),
        words[14..17].join(" "),
        words[17..20].join(" "),
        words[20..26].join(" "),
        words[26..].join(" "),
    )
}

pub(crate) fn submission(agent: &str, command: Command) -> Submission {
    Submission {
        command_id: CommandId::from_uuid(system::new_id()),
        agent: AgentId::recorded(agent),
        session: Some("bench".parse().expect("a session")),
        unpinned: None,
        trace_id: None,
        idempotency_key: None,
        checkout: Checkout::default(),
        versions: Versions::new(),
        command,
    }
}

// The client.

/// `hm serve` over its pipes: one line out, one line back, and no library in between.
pub(crate) struct Client {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last_id: u64,
}

impl Client {
    pub(crate) fn start(root: &Path, agent: &str) -> Self {
        let mut child = hm(root, "serve")
            .args(["--agent", agent])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("hm serve starts");
        let to = child.stdin.take().expect("a pipe in");
        let from = BufReader::new(child.stdout.take().expect("a pipe out"));
        Self { child, to, from, last_id: 0 }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The handshake of the older era; afterwards no request needs more than its parameters.
    pub(crate) fn initialize(&mut self) {
        let (_, answer) = self.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "hm-bench", "version": "1" },
            }),
        );
        assert_eq!(answer["serverInfo"]["name"], "hivemind", "{answer}");
        let line = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.write(&format!("{line}\n"));
    }

    /// The first question of the newer era.
    pub(crate) fn discover(&mut self) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "hm-bench", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let (_, answer) = self.request("server/discover", &json!({ "_meta": meta }));
        assert!(answer["supportedVersions"].is_array(), "{answer}");
    }

    /// Reads a resource; the time from the line out to the line back.
    pub(crate) fn read(&mut self, uri: &str) -> Duration {
        let (took, answer) = self.request("resources/read", &json!({ "uri": uri }));
        assert!(answer["contents"][0]["text"].is_string(), "{uri}: {answer}");
        took
    }

    /// Makes a claim that must be durable when it is answered.
    pub(crate) fn create_claim(&mut self, index: usize) -> Duration {
        let (took, answer) = self.request("tools/call", &create_claim(index));
        check_committed(&answer);
        took
    }

    /// Makes many claims with up to `in_flight` unanswered.
    pub(crate) fn create_claims(&mut self, indices: std::ops::Range<usize>, in_flight: usize) {
        let mut unanswered = 0;
        for index in indices {
            if unanswered == in_flight {
                check_committed(&self.receive()["result"]);
                unanswered -= 1;
            }
            let line = self.line("tools/call", &create_claim(index));
            self.write(&line);
            unanswered += 1;
        }
        for _ in 0..unanswered {
            check_committed(&self.receive()["result"]);
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> (Duration, Value) {
        let line = self.line(method, params);
        let mut answer = String::new();
        let started = system::instant();
        self.write(&line);
        self.from.read_line(&mut answer).expect("an answer");
        let took = started.elapsed();
        let mut answer: Value = serde_json::from_str(&answer).expect("an answer in JSON");
        assert_eq!(answer["id"], self.last_id, "{answer}");
        (took, answer["result"].take())
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).expect("an answer in JSON")
    }

    fn line(&mut self, method: &str, params: &Value) -> String {
        self.last_id += 1;
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }))
    }

    fn write(&mut self, line: &str) {
        self.to.write_all(line.as_bytes()).and_then(|()| self.to.flush()).expect("hm serve listens");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A benchmark that failed half-way leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn create_claim(index: usize) -> Value {
    let claim = claim(index, ClaimType::Fact);
    let arguments =
        json!({ "statement": claim.statement, "claim_type": claim.claim_type, "scopes": claim.scopes });
    json!({ "name": "create_claim", "arguments": arguments })
}

fn check_committed(answer: &Value) {
    assert_eq!(answer["structuredContent"]["state"], "committed", "{answer}");
}

// Figures.

/// The `percent`-th percentile by nearest rank, in microseconds.
pub(crate) fn percentile_us(samples: &[Duration], percent: usize) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent).div_ceil(100).clamp(1, sorted.len());
    sorted[rank - 1].as_secs_f64() * 1e6
}

/// Smallest, median and largest of some figures, one for each round.
pub(crate) fn spread(rounds: &[f64]) -> [f64; 3] {
    let mut sorted = rounds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len() - 1;
    [sorted[0], f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)]), sorted[last]]
}

/// How many a second.
pub(crate) fn rate(number: usize, took: Duration) -> f64 {
    number as f64 / took.as_secs_f64()
}

/// Figures in columns; the first column names them.
pub(crate) struct Table {
    title: String,
    headers: Vec<&'static str>,
    rows: Vec<Vec<Value>>,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, headers: &[&'static str]) -> Self {
        Self { title: title.into(), headers: headers.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Value>) {
        let row: Vec<Value> = cells.into_iter().collect();
        assert_eq!(row.len(), self.headers.len(), "a cell for each column");
        self.rows.push(row);
    }

    /// A row of a table whose columns are: what, min, median, max, budget.
    pub(crate) fn rounds(&mut self, what: &str, rounds: &[f64], budget: &str) {
        let [least, median, most] = spread(rounds).map(Value::from);
        self.row([what.into(), least, median, most, budget.into()]);
    }

    fn to_json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let cells = self.headers.iter().zip(row);
            cells.map(|(name, cell)| ((*name).to_owned(), cell.clone())).collect::<Map<_, _>>().into()
        });
        json!({ "title": self.title, "rows": rows.collect::<Vec<Value>>() })
    }

    fn to_text(&self) -> String {
        let header = self.headers.iter().map(|name| (*name).to_owned()).collect();
        let lines: Vec<Vec<String>> = std::iter::once(header)
            .chain(self.rows.iter().map(|row| row.iter().map(shown).collect()))
            .collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.headers.len()).map(width).collect();
        let mut text = format!("{}\n", self.title);
        for line in &lines {
            let mut shown = String::new();
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                shown.push_str(&if column == 0 {
                    format!("  {cell:width$}")
                } else {
                    format!("  {cell:>width$}")
                });
            }
            text.push_str(shown.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Three significant digits are more than two shared cores can give.
fn shown(cell: &Value) -> String {
    match cell.as_f64() {
        None => cell.as_str().unwrap_or_default().to_owned(),
        Some(number) if number >= 1_000.0 => {
            let digits = format!("{number:.0}");
            let groups: Vec<&str> = digits
                .as_bytes()
                .rchunks(3)
                .rev()
                .map(|group| std::str::from_utf8(group).expect("digits are ASCII"))
                .collect();
            groups.join(",")
        }
        Some(number) if number >= 100.0 || number.fract() == 0.0 => format!("{number:.0}"),
        Some(number) if number >= 10.0 => format!("{number:.1}"),
        Some(number) => format!("{number:.2}"),
    }
}

/// Load above which others take time from the figures.
const BUSY: f64 = 0.5;

/// Processes that wanted a processor in the last minute, where the kernel tells.
pub(crate) fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// Prints the tables, or all of it as one JSON object. `load` is what the machine did before.
pub(crate) fn print(name: &str, shared: &Shared, before: Option<f64>, tables: &[Table]) {
    let build = if cfg!(debug_assertions) { "dev" } else { "release" };
    if shared.json {
        let tables: Vec<Value> = tables.iter().map(Table::to_json).collect();
        println!("{}", json!({ "bench": name, "build": build, "load_before": before, "tables": tables }));
        return;
    }
    if build == "dev" {
        println!("An unoptimised build: these figures say nothing.\n");
    }
    if let Some(load) = before.filter(|load| *load > BUSY) {
        println!("The machine was busy (load {load}): the ratios are no better than its mood.\n");
    }
    let texts: Vec<String> = tables.iter().map(Table::to_text).collect();
    print!("{}", texts.join("\n"));
}
