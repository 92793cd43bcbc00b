//! Durable writes beside bare fsyncs: `cargo bench --bench writes -- [--calls N] [--rounds N] [--json]`.
//!
//! Measures `create_claim` over stdio with one caller against append + fsync (`File::sync_all`) of 700
//! bytes in the same directory, and 16 processes at once against bare loops that commit groups.

mod support;

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::Parser;
use hivemind::domain::claim::ClaimType;
use hivemind::domain::command::Command;
use hivemind::domain::receipt::Acceptance;
use hivemind::system::{self, Environment};
use hivemind::workspace::Workspace;
use hivemind::writer::Front;
use support::{GROUP, HM, ROW_BYTES, Space, Table, block_on, claim, percentile_us, rate, submission};

/// Calls between two turns of the baseline.
const TURN: usize = 20;

/// Durable writes beside bare fsyncs.
#[derive(Debug, Parser)]
struct Options {
    /// Rounds of every measurement, one after the other, so that drift shows
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Calls of the one caller in a round
    #[arg(long, default_value_t = 400)]
    calls: usize,
    /// Processes that write at once
    #[arg(long, default_value_t = 16)]
    processes: usize,
    /// Commands of each process in a round
    #[arg(long, default_value_t = 250)]
    commands: usize,
    /// Unanswered commands of each process, one measurement for each number
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16])]
    in_flight: Vec<usize>,
    #[command(flatten)]
    shared: support::Shared,
    /// Be one of the processes: submit to this workspace
    #[arg(long, hide = true)]
    submit_to: Option<PathBuf>,
    /// Where the statements of this process start
    #[arg(long, hide = true, default_value_t = 0)]
    first: usize,
}

fn main() {
    let options = Options::parse();
    if let Some(root) = &options.submit_to {
        return submit(root, options.first..options.first + options.commands, options.in_flight[0]);
    }
    if !options.shared.asked() {
        return;
    }
    let load = support::load();
    let mut one = One::default();
    let mut many: Vec<Many> = options.in_flight.iter().map(|_| Many::default()).collect();
    let mut bare = Bare::default();
    for round in 1..=options.rounds {
        support::say(&format!("round {round} of {}", options.rounds));
        let mut space = Space::new(&options.shared.on);
        space.start_writer();
        one.measure(&space, options.calls);
        for (in_flight, many) in options.in_flight.iter().zip(&mut many) {
            bare.measure(&space, options.processes * options.commands, GROUP);
            many.measure(&options, *in_flight);
        }
    }
    let mut throughput = Table::new(
        format!("{} processes writing at once, durable commands/s", options.processes),
        &["what", "min", "median", "max", "budget"],
    );
    bare.report(&mut throughput);
    for (in_flight, many) in options.in_flight.iter().zip(&many) {
        many.report(*in_flight, &bare, &mut throughput);
    }
    support::print("writes", &options.shared, load, &[one.table(), throughput]);
}

/// One caller, and one fsync.
#[derive(Default)]
struct One {
    fsync: Vec<Vec<Duration>>,
    fdatasync: Vec<Vec<Duration>>,
    create: Vec<Vec<Duration>>,
    /// Claims about a file that exists, whose content is stored with the claim.
    at_file: Vec<Vec<Duration>>,
}

/// The length of a file that a claim is about, in bytes: that of an ordinary source file.
const FILE_BYTES: usize = 20_000;

impl One {
    fn measure(&mut self, space: &Space, calls: usize) {
        let mut client = space.client("devops");
        client.initialize();
        // Connects, prepares the statements.
        client.create_claim(0);
        let mut file = baseline_file(space);
        append(&mut file, File::sync_all);
        let (mut fsync, mut fdatasync, mut create, mut at_file) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for index in 1..=calls {
            create.push(client.create_claim(2 * index - 1));
            make_file(space, 2 * index);
            at_file.push(client.create_claim(2 * index));
            // The disk's mood changes within a second: the baseline is taken in the same one.
            if index % TURN == 0 || index == calls {
                let turn = create.len() - fsync.len();
                fsync.extend((0..turn).map(|_| append(&mut file, File::sync_all)));
                fdatasync.extend((0..turn).map(|_| append(&mut file, File::sync_data)));
            }
        }
        self.fsync.push(fsync);
        self.fdatasync.push(fdatasync);
        self.create.push(create);
        self.at_file.push(at_file);
    }

    fn table(&self) -> Table {
        let p = |rounds: &[Vec<Duration>], percent| -> Vec<f64> {
            rounds.iter().map(|round| percentile_us(round, percent)).collect()
        };
        let fsync = p(&self.fsync, 50);
        let times =
            |figures: &[f64]| -> Vec<f64> { figures.iter().zip(&fsync).map(|(a, b)| a / b).collect() };
        let (p50, p99) = (p(&self.create, 50), p(&self.create, 99));
        let mut table = Table::new(
            "One caller: durable create_claim over stdio",
            &["what", "min", "median", "max", "budget"],
        );
        table.rounds("append 700 bytes + fsync (File::sync_all), p50 us", &fsync, "");
        table.rounds("append 700 bytes + fsync (File::sync_all), p99 us", &p(&self.fsync, 99), "");
        table.rounds("append 700 bytes + fdatasync (File::sync_data), p50 us", &p(&self.fdatasync, 50), "");
        table.rounds("create_claim p50 us", &p50, "");
        table.rounds("create_claim p95 us", &p(&self.create, 95), "");
        table.rounds("create_claim p99 us", &p99, "");
        let at_file = p(&self.at_file, 50);
        let more: Vec<f64> = at_file.iter().zip(&p50).map(|(with, without)| with - without).collect();
        table.rounds("create_claim p50 us, about a file that exists", &at_file, "");
        table.rounds("create_claim p50 us, what the file costs", &more, "<= 100");
        table.rounds("create_claim p50 / fsync p50", &times(&p50), "<= 2");
        table.rounds("create_claim p99 / fsync p50", &times(&p99), "<= 10");
        table
    }
}

/// Makes the file that a claim is about.
fn make_file(space: &Space, index: usize) {
    let scopes = claim(index, ClaimType::Fact).scopes;
    let path = scopes.iter().find(|scope| scope.is_path()).expect("a path");
    let path = space.root().join(path.as_str());
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    std::fs::write(path, vec![b'x'; FILE_BYTES]).expect("a file");
}

fn append(file: &mut File, sync: impl Fn(&File) -> std::io::Result<()>) -> Duration {
    let row = [b'x'; ROW_BYTES];
    let started = system::instant();
    file.write_all(&row).and_then(|()| sync(file)).expect("the disk takes it");
    started.elapsed()
}

fn baseline_file(space: &Space) -> File {
    let path = space.workspace().memory().join("baseline");
    // A fresh file each time: rewriting is cheaper than growing.
    let _ = std::fs::remove_file(&path);
    OpenOptions::new().create_new(true).append(true).open(path).expect("a file")
}

/// What the disk does with groups when nobody decides, hashes or answers anything.
#[derive(Default)]
struct Bare {
    file: Vec<f64>,
    sqlite: Vec<f64>,
}

impl Bare {
    fn measure(&mut self, space: &Space, rows: usize, group: usize) {
        let mut file = baseline_file(space);
        let one_group = |size: usize| {
            file.write_all(&vec![b'x'; ROW_BYTES * size])
                .and_then(|()| file.sync_all())
                .expect("the disk takes it");
        };
        self.file.push(in_groups(rows, group, one_group));

        let path = space.workspace().memory().join("baseline.sqlite");
        let mut db = rusqlite::Connection::open(&path).expect("a database");
        db.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; DROP TABLE IF EXISTS rows; \
             CREATE TABLE rows (seq INTEGER PRIMARY KEY, body BLOB NOT NULL);",
        )
        .expect("a table");
        self.sqlite.push(in_groups(rows, group, |size| {
            let transaction = db.transaction().expect("a transaction");
            for _ in 0..size {
                let sql = "INSERT INTO rows (body) VALUES (?1)";
                let mut insert = transaction.prepare_cached(sql).expect("a statement");
                insert.execute([[b'x'; ROW_BYTES]]).expect("the disk takes it");
            }
            transaction.commit().expect("the disk takes it");
        }));
    }

    fn report(&self, table: &mut Table) {
        table.rounds("bare file, groups of 256: write + fsync", &self.file, "");
        table.rounds("bare SQLite table, groups of 256, FULL", &self.sqlite, "");
    }
}

fn in_groups(rows: usize, group: usize, mut commit: impl FnMut(usize)) -> f64 {
    let started = system::instant();
    let mut left = rows;
    while left > 0 {
        let size = left.min(group);
        commit(size);
        left -= size;
    }
    rate(rows, started.elapsed())
}

/// Many processes at once.
#[derive(Default)]
struct Many {
    fronts: Vec<f64>,
    serves: Vec<f64>,
    /// A bare file in groups no larger than so many callers can fill.
    bare: Vec<f64>,
}

impl Many {
    fn measure(&mut self, options: &Options, in_flight: usize) {
        let Options { processes, commands, .. } = *options;
        let (total, on) = (processes * commands, &options.shared.on);
        let mut space = Space::new(on);
        space.start_writer();
        let mut same_groups = Bare::default();
        same_groups.measure(&space, total, (processes * in_flight).min(GROUP));
        self.bare.extend(same_groups.file);
        self.fronts.push(fronts(&space, processes, commands, in_flight));
        let mut space = Space::new(on);
        space.start_writer();
        self.serves.push(serves(&space, processes, commands, in_flight));
    }

    fn report(&self, in_flight: usize, bare: &Bare, table: &mut Table) {
        let over = |bare: &[f64], ours: &[f64]| -> Vec<f64> {
            let [_, bare, _] = support::spread(bare);
            ours.iter().map(|rate| bare / rate).collect()
        };
        let row = |what: &str| format!("{what}, {in_flight} in flight");
        table.rounds(&row("Front"), &self.fronts, ">= 5,000");
        table.rounds(&row("hm serve over stdio"), &self.serves, ">= 5,000");
        table.rounds(&row("bare file / Front"), &over(&bare.file, &self.fronts), "<= 3");
        table.rounds(&row("bare file / hm serve"), &over(&bare.file, &self.serves), "<= 3");
        table.rounds(&row("bare SQLite / Front"), &over(&bare.sqlite, &self.fronts), "");
        table.rounds(&row("bare file in groups of as many / Front"), &over(&self.bare, &self.fronts), "");
    }
}

/// Processes that submit through a front of their own, each this program again.
fn fronts(space: &Space, processes: usize, commands: usize, in_flight: usize) -> f64 {
    let mut children: Vec<Submitter> = (0..processes)
        .map(|process| Submitter::start(space.root(), process * 1_000_000, commands, in_flight))
        .collect();
    children.iter_mut().for_each(|child| child.hears("ready"));
    let started = system::instant();
    for child in &mut children {
        writeln!(child.to()).expect("it waits");
    }
    children.iter_mut().for_each(|child| child.hears("done"));
    rate(processes * commands, started.elapsed())
}

struct Submitter {
    child: Child,
    from: BufReader<std::process::ChildStdout>,
}

impl Submitter {
    fn start(root: &Path, first: usize, commands: usize, in_flight: usize) -> Self {
        let this = std::env::current_exe().expect("this program");
        let mut child = Process::new(this)
            .args(["--first", &first.to_string(), "--commands", &commands.to_string()])
            .args(["--in-flight", &in_flight.to_string(), "--submit-to"])
            .arg(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let from = BufReader::new(child.stdout.take().expect("a pipe out"));
        Self { child, from }
    }

    fn to(&mut self) -> &mut std::process::ChildStdin {
        self.child.stdin.as_mut().expect("a pipe in")
    }

    fn hears(&mut self, word: &str) {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("a line");
        assert_eq!(line.trim(), word, "a submitting process failed");
    }
}

impl Drop for Submitter {
    fn drop(&mut self) {
        // It has said that it is done, or the benchmark failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One submitting process: connects, waits for the word, submits, says that it is done.
#[expect(clippy::print_stdout, reason = "its parent waits for these words")]
fn submit(root: &Path, mut indices: Range<usize>, in_flight: usize) {
    let workspace = Workspace::find(Some(root), root, &Environment::read()).expect("a workspace");
    block_on(async {
        let front = Front::new(workspace, HM.into());
        let end = indices.end;
        commit(&front, end).await;
        println!("ready");
        std::io::stdin().read_line(&mut String::new()).expect("the word");
        let next = Arc::new(AtomicUsize::new(indices.next().expect("at least one command")));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..in_flight {
            let (front, next) = (front.clone(), Arc::clone(&next));
            tasks.spawn(async move {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= end {
                        break;
                    }
                    commit(&front, index).await;
                }
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.expect("every command is committed");
        }
        println!("done");
    });
}

async fn commit(front: &Front, index: usize) {
    let create = Command::CreateClaim(claim(index, ClaimType::Fact));
    let receipt = front.submit(submission("devops", create)).await.expect("it is accepted");
    assert_eq!(receipt.state, Acceptance::Committed, "the writer did not answer in time");
}

/// Panes of clients, each with a caller that waits for its answers.
fn serves(space: &Space, processes: usize, commands: usize, in_flight: usize) -> f64 {
    let barrier = std::sync::Barrier::new(processes + 1);
    let started = std::thread::scope(|scope| {
        for process in 0..processes {
            let barrier = &barrier;
            scope.spawn(move || {
                let first = process * 1_000_000;
                let mut client = space.client("devops");
                client.initialize();
                client.create_claim(first + commands);
                barrier.wait();
                client.create_claims(first..first + commands, in_flight);
                barrier.wait();
            });
        }
        barrier.wait();
        let started = system::instant();
        barrier.wait();
        started.elapsed()
    });
    rate(processes * commands, started)
}
