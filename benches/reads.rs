//! Reads, rebuild and size as claims grow: `cargo bench --bench reads -- [--claims 1000,10000,100000] [--vectors static]`.
//!
//! Reads resources from a real `hm serve` over stdio, beside one SQLite point read and one line through
//! a bare pipe in the same run; then how fast a writer starts, rebuilds and verifies, and what a claim
//! weighs on the disk.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use clap::Parser;
use hivemind::domain::claim::ClaimType;
use hivemind::domain::decide::Policy;
use hivemind::domain::ids::ClaimId;
use hivemind::domain::vectors::vector;
use hivemind::ledger;
use hivemind::system::{self, Sources};
use hivemind::writer::Committer;
use rusqlite::{Connection, OpenFlags};
use support::{Client, Space, Table, percentile_us, rate};

/// Reads a row by its key, as the cheapest question a database can answer.
const POINT_READ: &str = "SELECT statement FROM claims WHERE id = ?1";

/// Reads, rebuild and size as claims grow.
#[derive(Debug, Parser)]
struct Options {
    /// Workspaces of so many claims
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000])]
    claims: Vec<usize>,
    /// Rounds of every measurement, one after the other, so that drift shows
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Reads of each resource in a round
    #[arg(long, default_value_t = 200)]
    reads: usize,
    /// What searches compare: off or static
    #[arg(long, default_value = "off", value_parser = ["off", "static"])]
    vectors: String,
    #[command(flatten)]
    shared: support::Shared,
    /// Be the bare pipe: answer each line with a line
    #[arg(long, hide = true)]
    echo: bool,
}

fn main() {
    let options = Options::parse();
    if options.echo {
        return echo();
    }
    if !options.shared.asked() {
        return;
    }
    let load = support::load();
    let mut sizes: Vec<Size> = options.claims.iter().map(|claims| Size::fill(*claims, &options)).collect();
    for round in 1..=options.rounds {
        support::say(&format!("reads, round {round} of {}", options.rounds));
        for size in &mut sizes {
            size.read(options.reads);
        }
    }
    for size in &mut sizes {
        // The writer holds the workspace no longer; what follows opens it alone.
        size.space.stop_writer();
    }
    for round in 1..=options.rounds {
        support::say(&format!("folds, round {round} of {}", options.rounds));
        for size in &mut sizes {
            size.fold();
        }
    }
    let mut tables: Vec<Table> = sizes.iter().map(Size::reads_table).collect();
    tables.extend(growth(&sizes));
    tables.extend(sizes.iter().map(Size::folds_table));
    support::print("reads", &options.shared, load, &tables);
}

/// One workspace and what was measured in it.
struct Size {
    claims: usize,
    events: usize,
    space: Space,
    ids: Vec<ClaimId>,
    filled: f64,
    disk_bytes: u64,
    client: Client,
    point: (Connection, Vec<Duration>),
    pipe: (Pipe, Vec<Duration>),
    vectors: Vec<Duration>,
    questions: Vec<Question>,
    scans: Vec<f64>,
    opens: Vec<f64>,
    rebuilds: Vec<f64>,
    verifies: Vec<f64>,
}

struct Question {
    name: &'static str,
    budget: &'static str,
    samples: Vec<Duration>,
    p50_by_round: Vec<f64>,
}

/// Where a question lies the `n`-th time it is asked.
type Address = fn(&[ClaimId], usize) -> String;

/// Sessions with an intent of their own.
const INTENTS: usize = 20;

/// Name, budget and address of each read.
const QUESTIONS: [(&str, &str, Address); 12] = [
    ("claims/{id}", "p50 < 500", |ids, n| format!("hivemind://claims/{}", ids[n * 7919 % ids.len()])),
    ("claims, 50", "p50 < 500", |_, _| "hivemind://claims".to_owned()),
    ("claims, 50, mid-list", "p50 < 500", |ids, _| format!("hivemind://claims?cursor={}", ids.len() / 2)),
    ("claims, 50, of a type", "p50 < 500", |_, _| "hivemind://claims?type=hypothesis".to_owned()),
    ("claims at a file", "p50 < 500", |_, n| {
        format!("hivemind://claims?scope=src/area{}/file{}.rs", n % 50, n % 2_000)
    }),
    ("negative at a dir", "p50 < 500", |_, n| format!("hivemind://negative?scope=src/area{}", n % 50)),
    ("search, 5 words, at a dir, of a type", "p95 < 5,000", |ids, n| {
        let asked = n * 7919 % ids.len();
        let question = support::question(asked).replace(' ', "%20");
        format!("hivemind://search?q={question}&scope=src/area{}&type=fact", asked % 50)
    }),
    ("search, 5 words", "p95 < 5,000, or 15,000 at 100,000", |ids, n| {
        format!("hivemind://search?q={}", support::question(n * 7919 % ids.len()).replace(' ', "%20"))
    }),
    ("search, an identifier", "", |ids, n| {
        format!("hivemind://search?q={}&limit=10", support::identifier(n * 7919 % ids.len()))
    }),
    ("context", "p95 < 12,000", |_, _| "hivemind://context".to_owned()),
    ("context, with an intent", "p95 < 12,000", |_, n| {
        format!("hivemind://context/devops?session=intent-{}", n % INTENTS)
    }),
    ("status", "", |_, _| "hivemind://status".to_owned()),
];

impl Size {
    fn fill(claims: usize, options: &Options) -> Self {
        support::say(&format!("filling {claims} claims"));
        let mut space = Space::new(&options.shared.on);
        let started = system::instant();
        let ids = space.fill(claims);
        let took = started.elapsed();
        let disk_bytes = space.disk_bytes();
        space.declare(INTENTS);
        let path = space.workspace().ledger();
        let reader = ledger::Reader::open(&path).expect("a ledger").expect("it was filled");
        let events = usize::try_from(reader.head().expect("a head").seq).expect("it fits");
        let settings = format!("[search]\nvectors = \"{}\"\n", options.vectors);
        std::fs::write(space.workspace().config(), settings).expect("a configuration");
        space.start_writer();
        let mut client = space.client("devops");
        client.initialize();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let point = Connection::open_with_flags(space.workspace().team_memory(), flags).expect("it opens");
        let questions = QUESTIONS.map(|(name, budget, _)| Question {
            name,
            budget,
            samples: Vec::new(),
            p50_by_round: Vec::new(),
        });
        Self {
            claims,
            events,
            space,
            ids,
            filled: rate(events, took),
            disk_bytes,
            client,
            point: (point, Vec::new()),
            pipe: (Pipe::start(), Vec::new()),
            vectors: Vec::new(),
            questions: questions.into(),
            scans: Vec::new(),
            opens: Vec::new(),
            rebuilds: Vec::new(),
            verifies: Vec::new(),
        }
    }

    fn read(&mut self, reads: usize) {
        let Self { point, pipe, vectors, questions, client, ids, .. } = self;
        // The first answer opens the file and prepares the statement.
        point_read(&point.0, ids[0]);
        pipe.0.exchange();
        point.1.extend((0..reads).map(|n| point_read(&point.0, ids[n * 7919 % ids.len()])));
        pipe.1.extend((0..reads).map(|_| pipe.0.exchange()));
        vectors.extend((0..reads).map(vector_of));
        for (question, (_, _, address)) in questions.iter_mut().zip(QUESTIONS) {
            client.read(&address(ids, 0));
            let samples: Vec<Duration> = (0..reads).map(|n| client.read(&address(ids, n))).collect();
            question.p50_by_round.push(percentile_us(&samples, 50));
            question.samples.extend(samples);
        }
    }

    fn fold(&mut self) {
        let workspace = self.space.workspace();
        let started = system::instant();
        let mut committer =
            Committer::open(workspace, Policy::default(), Sources::system()).expect("it opens");
        self.opens.push(started.elapsed().as_secs_f64() * 1e3);
        let started = system::instant();
        committer.rebuild(|_| ()).expect("it rebuilds");
        self.rebuilds.push(rate(self.events, started.elapsed()));
        drop(committer);
        let reader = ledger::Reader::open(&workspace.ledger()).expect("it opens").expect("it was filled");
        let started = system::instant();
        let report = reader.verify(|_| ()).expect("it reads");
        self.verifies.push(rate(self.events, started.elapsed()));
        assert!(report.fault.is_none(), "{report:?}");
        self.scans.push(rate(self.events, scan(&workspace.ledger())));
    }

    fn reads_table(&self) -> Table {
        let mut table = Table::new(
            format!("Reads over stdio at {} claims, in microseconds", self.claims),
            &["what", "p50", "p95", "p99", "p50 of rounds", "/ point", "/ pipe", "budget"],
        );
        let (point, pipe) = (percentile_us(&self.point.1, 50), percentile_us(&self.pipe.1, 50));
        let mut row = |what: &str, samples: &[Duration], rounds: &str, budget: &str| {
            let [p50, p95, p99] = [50, 95, 99].map(|percent| percentile_us(samples, percent));
            let cells = [what.into(), p50.into(), p95.into(), p99.into(), rounds.into()];
            table.row(cells.into_iter().chain([(p50 / point).into(), (p50 / pipe).into(), budget.into()]));
        };
        row("one SQLite point read", &self.point.1, "", "");
        row("one line through a pipe", &self.pipe.1, "", "");
        row("the vector of a new claim", &self.vectors, "", "p50 < 50");
        for question in &self.questions {
            let [least, _, most] = support::spread(&question.p50_by_round);
            row(question.name, &question.samples, &format!("{least:.0} to {most:.0}"), question.budget);
        }
        table
    }

    fn folds_table(&self) -> Table {
        let mut table = Table::new(
            format!("Folding and size at {} claims ({} events)", self.claims, self.events),
            &["what", "min", "median", "max", "budget"],
        );
        let over = |ours: &[f64]| -> Vec<f64> {
            let [_, scan, _] = support::spread(&self.scans);
            ours.iter().map(|rate| scan / rate).collect()
        };
        table.rounds("bare scan of the ledger, events/s", &self.scans, "");
        table.rounds("verify, events/s", &self.verifies, ">= 500,000");
        table.rounds("bare scan / verify", &over(&self.verifies), "");
        table.rounds("rebuild, events/s", &self.rebuilds, ">= 40,000");
        table.rounds("bare scan / rebuild", &over(&self.rebuilds), "");
        table.rounds("writer start (open + fold), ms", &self.opens, "");
        table.rounds("commit in groups of 256 while filling, events/s", &[self.filled], "");
        table.rounds("disk bytes per claim, logs included", &[self.bytes_per_claim()], "<= 3,072");
        table
    }

    fn bytes_per_claim(&self) -> f64 {
        self.disk_bytes as f64 / self.claims as f64
    }
}

/// What the largest workspace costs more than the smallest.
fn growth(sizes: &[Size]) -> Option<Table> {
    let (small, large) = (sizes.first()?, sizes.last().filter(|_| sizes.len() > 1)?);
    let mut table = Table::new(
        format!("Growth: p50 at {} claims / p50 at {}", large.claims, small.claims),
        &["what", "min", "median", "max", "budget"],
    );
    for (small, large) in small.questions.iter().zip(&large.questions) {
        let pairs = small.p50_by_round.iter().zip(&large.p50_by_round);
        table.rounds(large.name, &pairs.map(|(small, large)| large / small).collect::<Vec<_>>(), "<= 3");
    }
    Some(table)
}

fn point_read(db: &Connection, id: ClaimId) -> Duration {
    let id = id.to_string();
    let started = system::instant();
    let mut statement = db.prepare_cached(POINT_READ).expect("a statement");
    let text: String = statement.query_row([&id], |row| row.get(0)).expect("a row");
    let took = started.elapsed();
    assert!(!text.is_empty());
    took
}

/// What the meaning of a claim costs its write.
fn vector_of(number: usize) -> Duration {
    let statement = support::claim(number, ClaimType::Fact).statement;
    let started = system::instant();
    std::hint::black_box(vector(statement.as_str()).expect("a text with words"));
    started.elapsed()
}

/// Every column of every event, read and thrown away.
fn scan(ledger: &std::path::Path) -> Duration {
    let db = Connection::open_with_flags(ledger, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("it opens");
    let started = system::instant();
    let sql = "SELECT e.*, p.* FROM events e LEFT JOIN payloads p ON p.seq = e.seq ORDER BY e.seq";
    let mut statement = db.prepare(sql).expect("a statement");
    let columns = statement.column_count();
    let mut rows = statement.query([]).expect("rows");
    while let Some(row) = rows.next().expect("a row") {
        for column in 0..columns {
            std::hint::black_box(row.get_ref(column).expect("a column"));
        }
    }
    started.elapsed()
}

/// This program again, answering each line with a line.
struct Pipe {
    child: std::process::Child,
    from: BufReader<std::process::ChildStdout>,
}

impl Pipe {
    fn start() -> Self {
        let this = std::env::current_exe().expect("this program");
        let mut echo = Process::new(this);
        let mut child =
            echo.arg("--echo").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let from = BufReader::new(child.stdout.take().expect("a pipe out"));
        Self { child, from }
    }

    fn exchange(&mut self) -> Duration {
        let line = [b"x".repeat(120), b"\n".to_vec()].concat();
        let mut answer = String::new();
        let started = system::instant();
        self.child.stdin.as_mut().expect("a pipe in").write_all(&line).expect("it listens");
        self.from.read_line(&mut answer).expect("a line");
        started.elapsed()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // It leaves when its input ends.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn echo() {
    let (mut lines, mut out) = (std::io::stdin().lines(), std::io::stdout());
    while let Some(Ok(line)) = lines.next() {
        out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).expect("somebody listens");
    }
}
