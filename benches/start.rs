//! Cold starts and idle memory: `cargo bench --bench start -- [--spawns N] [--claims 0,10000] [--json]`.
//!
//! Measures `hm serve` from its spawn to its first answer in both protocol eras and to its first resource
//! read, beside `hm --version` in the same run, and what an idle front and the writer keep in memory.

mod support;

use std::process::{Command as Process, Stdio};
use std::time::Duration;

use clap::Parser;
use hivemind::system;
use serde_json::Value;
use support::{Client, HM, Space, Table, percentile_us};

/// Cold starts and idle memory.
#[derive(Debug, Parser)]
struct Options {
    /// Workspaces of so many claims
    #[arg(long, value_delimiter = ',', default_values_t = [0, 10_000])]
    claims: Vec<usize>,
    /// Starts of each kind
    #[arg(long, default_value_t = 60)]
    spawns: usize,
    #[command(flatten)]
    shared: support::Shared,
}

fn main() {
    let options = Options::parse();
    if !options.shared.asked() {
        return;
    }
    let load = support::load();
    let mut tables = Vec::new();
    let mut memory = Table::new("Memory at rest, in MB", &["what", "resident", "of it anonymous", "budget"]);
    for claims in &options.claims {
        support::say(&format!("filling {claims} claims"));
        let mut space = Space::new(&options.shared.on);
        space.fill(*claims);
        space.start_writer();
        tables.push(starts(&space, *claims, options.spawns));
        let mut client = space.client("devops");
        client.initialize();
        memory.row(resident(&format!("front, idle, {claims} claims"), client.pid(), "< 20"));
        for uri in ["hivemind://context", "hivemind://claims", "hivemind://status"] {
            client.read(uri);
        }
        memory.row(resident(&format!("front after three reads, {claims} claims"), client.pid(), "< 20"));
        let writer = space.writer_pid().expect("the writer was started");
        memory.row(resident(&format!("writer, {claims} claims"), writer, "< 40"));
    }
    tables.push(memory);
    support::print("start", &options.shared, load, &tables);
}

/// Starts a process and says how long it took.
type Start = fn(&Space) -> Duration;

fn starts(space: &Space, claims: usize, spawns: usize) -> Table {
    let kinds: [(&str, Start); 4] = [
        ("hm --version, to its end", version),
        ("hm serve to initialize answered", |space| serve(space, Client::initialize)),
        ("hm serve to server/discover answered", |space| serve(space, Client::discover)),
        ("hm serve to first resource read", |space| {
            serve(space, |client| {
                client.initialize();
                client.read("hivemind://context");
            })
        }),
    ];
    let mut samples = kinds.map(|_| Vec::with_capacity(spawns));
    // The first of each comes from a cold page cache.
    for (_, start) in &kinds {
        start(space);
    }
    for _ in 0..spawns {
        for ((_, start), samples) in kinds.iter().zip(&mut samples) {
            samples.push(start(space));
        }
    }
    let mut table = Table::new(
        format!("Cold start at {claims} claims, in milliseconds over {spawns} spawns"),
        &["what", "p50", "p95", "max", "p50 / --version", "budget"],
    );
    let version = percentile_us(&samples[0], 50);
    for (index, ((what, _), samples)) in kinds.iter().zip(&samples).enumerate() {
        let [p50, p95, most] = [50, 95, 100].map(|percent| percentile_us(samples, percent));
        let budget = if index == 0 { "" } else { "< 20" };
        let ms = [p50, p95, most].map(|us| Value::from(us / 1e3));
        table.row([(*what).into()].into_iter().chain(ms).chain([(p50 / version).into(), budget.into()]));
    }
    table
}

fn version(_: &Space) -> Duration {
    let started = system::instant();
    let status = Process::new(HM).arg("--version").stdout(Stdio::null()).status().expect("hm starts");
    assert!(status.success());
    started.elapsed()
}

fn serve(space: &Space, until: impl FnOnce(&mut Client)) -> Duration {
    let started = system::instant();
    let mut client = space.client("devops");
    until(&mut client);
    started.elapsed()
}

/// What a process holds, as the kernel counts it; pages of the binary itself are shared by all fronts.
fn resident(what: &str, pid: u32, budget: &str) -> [Value; 4] {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mb = |name: &str| -> Value {
        let kb =
            status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
        kb.map_or("n/a".into(), |kb: f64| (kb / 1_024.0).into())
    };
    [what.into(), mb("VmRSS:"), mb("RssAnon:"), budget.into()]
}
