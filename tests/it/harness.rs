//! What the tests of the store share: a workspace of their own, fixed sources, requests, and what the files hold.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, ExitStatus, Stdio};
use std::time::Duration;

use hivemind::domain::agent::AgentId;
use hivemind::domain::checkout::Checkout;
use hivemind::domain::claim::{ClaimType, Position, Share};
use hivemind::domain::command::{AddTask, Command, CreateClaim, Submission, TakePosition};
use hivemind::domain::decide::Policy;
use hivemind::domain::event::{CommandRan, Event};
use hivemind::domain::ids::{ClaimId, CommandId, EventId, TaskId};
use hivemind::domain::receipt::{Acceptance, Receipt};
use hivemind::domain::rejection::Rejection;
use hivemind::domain::state::State;
use hivemind::domain::time::Timestamp;
use hivemind::domain::versions::Versions;
use hivemind::ledger::{Cursor, Ledger, Reader, Stored};
use hivemind::store::Projection;
use hivemind::system::{self, Environment, Sources};
use hivemind::workspace::Workspace;
use hivemind::writer::{Committer, Front};
use proptest::test_runner::{Config, FileFailurePersistence, RngSeed};
use rusqlite::types::ValueRef;
use uuid::Uuid;

/// The binary under test.
pub(crate) const HM: &str = env!("CARGO_BIN_EXE_hm");
/// How long anything may take that happens by itself; slow machines run the tests too.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether the long run was asked for: `HM_LONG=1`.
pub(crate) fn long() -> bool {
    switch("HM_LONG").is_some()
}

/// A switch in the environment of the tests.
#[expect(clippy::disallowed_methods, reason = "the switches of the tests are none of the product's")]
pub(crate) fn switch(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The seed of a random test, shown. Short runs are the same every time, so that none fails by chance and says
/// nothing about the change it ran on; a long run looks where none has looked. `HM_SEED` replays one.
pub(crate) fn seed(campaign: &str) -> u64 {
    let replayed = switch("HM_SEED").map(|seed| seed.parse().expect("HM_SEED is a number"));
    let seed = replayed.unwrap_or_else(|| if long() { system::now().ms().unsigned_abs() } else { 1 });
    eprintln!("{campaign}: HM_SEED={seed}");
    seed
}

/// How a law of proptest is run; a failure is shrunk, and its values kept beside the file of the law.
pub(crate) fn law(file: &'static str, cases: u32, long_cases: u32) -> Config {
    Config {
        cases: if long() { long_cases } else { cases },
        rng_seed: RngSeed::Fixed(seed(file)),
        max_shrink_iters: 2_000,
        source_file: Some(file),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..Config::default()
    }
}

/// Numbers that look random and are the same for the same seed.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub(crate) fn next(&mut self) -> u64 {
        // SplitMix64: neighbouring seeds give unrelated numbers.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.next() as usize % bound
    }

    /// A number in a range, its end included.
    pub(crate) fn from(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// One of these.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// A command that a hook saw succeed. It says nothing else.
pub(crate) fn ran(line: &str) -> CommandRan {
    CommandRan {
        command: line.parse().expect("a command"),
        exit_code: Some(0),
        error_signature: None,
        failed: false,
        of_last: false,
        unseen: false,
        runs: Vec::new(),
        tail: None,
        output_sha256: None,
        answer_sha256: None,
        files_sha256: None,
        took_ms: None,
        subagent: None,
        checkout: Checkout::default(),
    }
}

/// Whether something becomes so within the patience of the tests.
pub(crate) fn holds_soon(mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = system::instant() + PATIENCE;
    loop {
        if is_so() {
            return true;
        }
        if system::instant() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = system::instant() + PATIENCE;
    while !is_so() {
        assert!(system::instant() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A workspace in a directory of its own. Dropping it ends the writer that serves it.
pub(crate) struct TempWorkspace {
    workspace: Workspace,
    _dir: tempfile::TempDir,
}

impl std::ops::Deref for TempWorkspace {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        &self.workspace
    }
}

/// Fails unless the keys of checkpoints go below this repository: processes that a test starts inherit it
/// (`.cargo/config.toml`), and no test touches the user's home.
pub(crate) fn assert_keys_stay_here() {
    let home = Environment::read().state_home.expect("a place for keys");
    let told = "run the tests with cargo, or set XDG_STATE_HOME to a directory below the repository";
    assert!(home.starts_with(env!("CARGO_MANIFEST_DIR")), "{told}, not to {}", home.display());
}

impl TempWorkspace {
    pub(crate) fn new() -> Self {
        assert_keys_stay_here();
        let dir = tempfile::tempdir().expect("a temporary directory");
        Self { workspace: at(dir.path()), _dir: dir }
    }

    /// The pipeline of the writer, in this process, with fixed sources.
    pub(crate) fn committer(&self, seed: u64) -> Committer {
        Committer::open(self, Policy::default(), fixed_sources(seed)).expect("a workspace to write in")
    }

    pub(crate) fn front(&self) -> Front {
        Front::new(self.workspace.clone(), PathBuf::from(HM))
    }

    /// A front that can start no writer: what it takes goes to the spool.
    pub(crate) fn front_without_writer(&self) -> Front {
        Front::new(self.workspace.clone(), self.root().join("no-such-binary"))
    }

    /// A writer as a child of the test; it is killed when dropped.
    pub(crate) fn writer(&self, options: &[&str]) -> Writer {
        let mut process = Process::new(HM);
        process.args(["writer", "--dir"]).arg(self.root()).args(options);
        let child = process.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("a writer to start");
        Writer(child)
    }

    pub(crate) fn ledger_reader(&self) -> Reader {
        Reader::open(&self.ledger()).expect("a readable ledger").expect("a ledger")
    }

    /// Everything in the ledger, in order.
    pub(crate) fn events(&self) -> Vec<Stored> {
        self.ledger_reader().read_from(Cursor::GENESIS, usize::MAX >> 1).expect("readable events")
    }

    /// The events of one command.
    pub(crate) fn events_of(&self, command: CommandId) -> Vec<Stored> {
        self.events().into_iter().filter(|event| event.causation == command).collect()
    }

    /// Fails unless the chain stands and the read models are what a rebuild makes of it.
    pub(crate) fn assert_sound(&self) {
        let report = self.ledger_reader().verify(|_| ()).expect("a readable ledger");
        assert_eq!(report.fault, None);
        let ledger = Ledger::open(&self.ledger()).expect("the ledger");
        assert_eq!(report.head, ledger.head());
        let fresh = tempfile::tempdir().expect("a temporary directory");
        let fresh = fresh.path().join("rebuilt.sqlite");
        Projection::open(&fresh).expect("new read models").rebuild(&ledger, |_| ()).expect("a rebuild");
        assert_eq!(dump(&self.team_memory()), dump(&fresh), "the read models are not what a rebuild makes");
        let reader = hivemind::store::Reader::open(&self.team_memory()).expect("readable models");
        assert_eq!(reader.expect("read models").folded().expect("a position"), report.head);
    }

    /// Ends the writer that serves this workspace, whoever started it, and waits until it is gone.
    pub(crate) fn end_writer(&self) {
        let deadline = system::instant() + PATIENCE;
        while self.is_served() && system::instant() < deadline {
            if let Some(pid) = self.writer_pid() {
                // It may be gone by now.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether somebody holds the writer's lock.
    pub(crate) fn is_served(&self) -> bool {
        let lock = std::fs::OpenOptions::new().write(true).open(self.writer_lock());
        lock.is_ok_and(|lock| lock.try_lock().is_err())
    }

    fn writer_pid(&self) -> Option<rustix::process::Pid> {
        use interprocess::local_socket::prelude::*;
        let name = self.socket().ok()?.to_fs_name::<interprocess::local_socket::GenericFilePath>().ok()?;
        let pid = interprocess::local_socket::Stream::connect(name).ok()?.peer_creds().ok()?.pid()?;
        rustix::process::Pid::from_raw(pid)
    }
}

impl Drop for TempWorkspace {
    fn drop(&mut self) {
        self.end_writer();
    }
}

/// SIGKILL to whoever holds the writer's lock, until nobody does.
#[cfg(target_os = "linux")]
pub(crate) fn kill_writer(workspace: &Workspace) {
    use rustix::process::{Pid, Signal, kill_process};
    let lock = std::fs::File::options().write(true).open(workspace.writer_lock());
    let Ok(lock) = lock else { return };
    wait_until("the writer is gone", || {
        let text = std::fs::read_to_string(workspace.writer_lock()).unwrap_or_default();
        let pid = text.trim().parse().ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // One that is just leaving needs no signal.
            let _ = kill_process(pid, Signal::KILL);
        }
        lock.try_lock().is_ok()
    });
}

/// The workspace of a directory, as a process of the product finds it.
pub(crate) fn at(root: &Path) -> Workspace {
    Workspace::init(root, &Environment::read()).expect("a workspace")
}

/// A `hm writer` that dies with its test.
pub(crate) struct Writer(Child);

impl Writer {
    pub(crate) fn kill(&mut self) {
        self.0.kill().expect("a child to kill");
        self.0.wait().expect("a child to wait for");
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.0.try_wait().expect("a child to ask for").is_none()
    }

    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the writer ends", || {
            status = self.0.try_wait().expect("a child to wait for");
            status.is_some()
        });
        status.expect("it ended")
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether a process aborted, as a writer does at a crash point.
pub(crate) fn aborted(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(rustix::process::Signal::ABORT.as_raw())
}

/// A runtime on this thread, as a front has it.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

/// Submits until the answer says committed: a machine too slow to start a writer in time queues first.
pub(crate) async fn committed(front: &Front, submission: &Submission) -> Result<Receipt, Rejection> {
    let deadline = system::instant() + PATIENCE;
    loop {
        let receipt = front.submit(submission.clone()).await?;
        if receipt.state == Acceptance::Committed {
            return Ok(receipt);
        }
        assert!(system::instant() < deadline, "no writer came up");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A clock that ticks a minute at a time, ids and salts that count: the same in every run.
pub(crate) fn fixed_sources(seed: u64) -> Sources {
    let mut minutes = 0;
    let mut ids = 0;
    let mut salts = seed << 32;
    Sources {
        clock: Box::new(move || {
            minutes += 1;
            Timestamp::from_ms(1_800_000_000_000 + minutes * 60_000)
        }),
        ids: Box::new(move || {
            ids += 1;
            Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + (u128::from(seed) << 32) + ids)
        }),
        entropy: Box::new(move || {
            salts += 1;
            std::array::from_fn(|at| salts.to_le_bytes()[at % 8] ^ at as u8)
        }),
    }
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::recorded(name)
}

/// A fresh request without a key.
pub(crate) fn request(by: &str, command: Command) -> Submission {
    Submission {
        command_id: CommandId::from_uuid(system::new_id()),
        agent: agent(by),
        session: Some("s-1".parse().expect("a session id")),
        unpinned: None,
        trace_id: None,
        idempotency_key: None,
        checkout: Checkout::default(),
        versions: Versions::new(),
        command,
    }
}

/// A request to create a fact about the whole workspace.
pub(crate) fn creation(by: &str, statement: &str) -> Submission {
    request(by, Command::CreateClaim(fact(statement)))
}

/// A new task without a scope.
pub(crate) fn added_task(title: &str) -> AddTask {
    AddTask {
        meant_for: None,
        task_id: TaskId::from_uuid(system::new_id()),
        title: title.parse().expect("a title"),
        description: None,
        phase_id: None,
        parent_task_id: None,
        depends_on: Vec::new(),
        scopes: Vec::new(),
    }
}

pub(crate) fn fact(statement: &str) -> CreateClaim {
    CreateClaim {
        event_type: None,
        mends: false,
        claim_id: ClaimId::from_uuid(system::new_id()),
        statement: statement.parse().expect("a statement"),
        claim_type: ClaimType::Fact,
        scopes: vec![".".to_owned().try_into().expect("a scope")],
        confidence: Share::FULL,
        supersedes: None,
        ttl_hours: None,
        evidence_refs: Vec::new(),
        origin_task_id: None,
        asks: Vec::new(),
        tells: Vec::new(),
        unless_objection_minutes: None,
        trigger: None,
    }
}

pub(crate) fn position(by: &str, claim_id: ClaimId, position: Position) -> Submission {
    let reason = (position == Position::Challenge).then(|| "seen otherwise".parse().expect("a reason"));
    request(by, Command::TakePosition(TakePosition { claim_id, position, reason, evidence_ref: None }))
}

pub(crate) fn with_key(mut submission: Submission, key: &str) -> Submission {
    submission.idempotency_key = Some(key.parse().expect("a key"));
    submission
}

/// The claim a creation makes.
pub(crate) fn claim_of(submission: &Submission) -> ClaimId {
    let made = submission.command.minted().expect("a command that makes something");
    EventId::from_uuid(made).as_claim()
}

/// What happened in a stored event.
pub(crate) fn body(stored: &Stored) -> Event {
    stored.recorded().expect("an event of this release").event.expect("a payload")
}

/// The state as folded from nothing but the ledger.
pub(crate) fn folded(events: &[Stored]) -> State {
    let mut state = State::default();
    for stored in events {
        state.evolve(&stored.recorded().expect("an event of this release"));
    }
    state
}

/// Every row of every table and every token of the search index, in an order that depends on nothing but the
/// rows. How far the read models have folded is left out, but for how much text that was: an empty rebuild says
/// 0, and nothing folded says nothing. So are the tables that an index keeps for itself: they hold the same
/// tokens, arranged by history.
pub(crate) fn dump(database: &Path) -> String {
    let db = rusqlite::Connection::open(database).expect("a database");
    let mut text = String::new();
    let mut tables = strings(
        &db,
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' \
         AND name NOT LIKE 'refinery_%' ORDER BY name",
    );
    let index = "SELECT name FROM sqlite_schema WHERE sql LIKE '%USING fts5(%'";
    for index in strings(&db, index) {
        let vocabulary = format!("tokens_of_{index}");
        let sql =
            format!("CREATE VIRTUAL TABLE temp.{vocabulary} USING fts5vocab('main', '{index}', 'instance')");
        db.execute_batch(&sql).expect("the tokens of an index");
        tables.push(vocabulary);
    }
    for table in tables {
        writeln!(text, "{table}").expect("a string takes text");
        let rows = match table.as_str() {
            "projection" => "SELECT claims, tokens FROM projection WHERE folded_seq > 0".to_owned(),
            table => format!("SELECT * FROM \"{table}\""),
        };
        let mut statement = db.prepare(&rows).expect("a table");
        let width = statement.column_count();
        let rows = statement.query_map([], |row| {
            (0..width).map(|at| row.get_ref(at).map(shown)).collect::<Result<Vec<_>, _>>()
        });
        let mut rows: Vec<String> =
            rows.expect("rows").map(|row| row.expect("a readable row").join(" | ")).collect();
        rows.sort();
        for row in rows {
            writeln!(text, "  {row}").expect("a string takes text");
        }
    }
    text
}

/// The first column of a query, as text.
pub(crate) fn strings(db: &rusqlite::Connection, sql: &str) -> Vec<String> {
    let mut statement = db.prepare(sql).expect("a valid query");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    rows.map(|row| row.expect("a text")).collect()
}

fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "null".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => format!("{number:?}"),
        ValueRef::Text(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        ValueRef::Blob(bytes) => format!("x{}", hex::encode(bytes)),
    }
}

/// Which child this process is, and the workspace it works in.
const CHILD: &str = "HM_TEST_CHILD";

/// Runs an ignored test of this binary in so many processes at once; each must succeed.
pub(crate) fn run_children(test: &str, processes: usize, root: &Path) {
    let children: Vec<Child> = (0..processes)
        .map(|index| {
            let mut process = child_process(test, index, root);
            process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a child to start")
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("a child to wait for");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("1 passed"), "{test} is no test of this binary: {said}");
    }
}

/// An ignored test of this binary as a process of its own, not started yet.
pub(crate) fn child_process(test: &str, index: usize, root: &Path) -> Process {
    let mut process = Process::new(std::env::current_exe().expect("the test binary"));
    process.args(["--exact", test, "--ignored", "--nocapture"]);
    process.env(CHILD, format!("{index}:{}", root.display()));
    process
}

/// The number and workspace of a child of [`run_children`]; none when somebody runs it by hand.
pub(crate) fn child() -> Option<(usize, PathBuf)> {
    let told = switch(CHILD)?;
    let (index, root) = told.split_once(':').expect("a number and a path");
    Some((index.parse().expect("a number"), root.into()))
}
