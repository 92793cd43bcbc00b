//! What a run costs: `cargo bench --bench runner -- [--runs N] [--mib N] [--rounds N] [--json]`.
//!
//! Measures `true` through a helper, from order to report, beside starting it bare; and how fast output is
//! captured, beside `cat > /dev/null` of the same stream in the same round.

mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use clap::Parser;
use hivemind::runner::helper::Helper;
use hivemind::runner::order::{Message, StreamKey};
use hivemind::runner::report::{Report, State};
use hivemind::runner::{Order, Plan};
use hivemind::system;
use support::{HM, Shared, Table, block_on, percentile_us};

/// The size of the file that is written out again and again; it stays in the page cache.
const FILE_MIB: usize = 64;
/// What a whole run may take, so that a slow machine is a slow figure and no failure.
const TIMEOUT_MS: u64 = 600_000;

/// What a run costs.
#[derive(Debug, Parser)]
struct Options {
    /// Runs of `true`
    #[arg(long, default_value_t = 200)]
    runs: usize,
    /// MiB of output in each round
    #[arg(long, default_value_t = 1_024)]
    mib: usize,
    /// Rounds of each kind of output
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    #[command(flatten)]
    shared: Shared,
}

fn main() {
    let options = Options::parse();
    if !options.shared.asked() {
        return;
    }
    let load = support::load();
    std::fs::create_dir_all(&options.shared.on).expect("a place for runs");
    let dir = tempfile::tempdir_in(&options.shared.on).expect("a temporary directory");
    let tables = [overhead(dir.path(), options.runs), capture(dir.path(), options.mib, options.rounds)];
    support::print("runner", &options.shared, load, &tables);
}

fn overhead(dir: &Path, runs: usize) -> Table {
    support::say(&format!("{runs} runs of true"));
    let bare = |program: &str, argument: Option<&str>| {
        let started = system::instant();
        let status = Process::new(program).args(argument).stdout(Stdio::null()).status().expect("it starts");
        assert!(status.success());
        started.elapsed()
    };
    let mut samples: [Vec<Duration>; 3] = Default::default();
    // The first of each comes from a cold page cache.
    for index in 0..=runs {
        let took = [
            bare("true", None),
            bare(HM, Some("--version")),
            run(dir, Plan::typed(vec!["true".to_owned()], dir.to_owned(), TIMEOUT_MS).expect("a command")).1,
        ];
        if index > 0 {
            samples.iter_mut().zip(took).for_each(|(samples, took)| samples.push(took));
        }
    }
    let mut table = Table::new(
        format!("true, in milliseconds over {runs} runs"),
        &["what", "p50", "p95", "max", "budget"],
    );
    let kinds = [("true, bare", ""), ("hm --version, bare", ""), ("true, order to report", "< 25")];
    for ((what, budget), samples) in kinds.iter().zip(&samples) {
        let [p50, p95, most] = [50, 95, 100].map(|percent| percentile_us(samples, percent) / 1e3);
        table.row([(*what).into(), p50.into(), p95.into(), most.into(), (*budget).into()]);
    }
    table
}

/// Runs a plan through a helper; its report, and how long that took.
fn run(dir: &Path, plan: Plan) -> (Report, Duration) {
    let run_id = system::new_id();
    let artifacts = dir.join("experiments").join(run_id.to_string());
    let key = StreamKey::new([7; 32]);
    let order =
        Order { run_id, plan, artifacts, key, secret_patterns: Vec::new(), subject: None, about: None };
    let started = system::instant();
    let report = block_on(async {
        let mut helper = Helper::start(HM.as_ref(), &order).await.expect("a helper");
        loop {
            match helper.next().await.expect("a report") {
                Message::Progress(_) => {}
                Message::Finished(report) => return *report,
                Message::Lost(problem) => panic!("{problem}"),
            }
        }
    });
    let took = started.elapsed();
    assert_eq!(report.meta.state, State::Succeeded, "{:?}", report.meta.problem);
    std::fs::remove_dir_all(&report.artifacts).expect("its files can go");
    (report, took)
}

fn capture(dir: &Path, mib: usize, rounds: usize) -> Table {
    let mut table = Table::new(
        format!("Output captured, in MB/s over {rounds} rounds of {mib} MiB"),
        &["what", "min", "median", "max", "budget"],
    );
    let file = log_file(dir);
    let times = mib.div_ceil(FILE_MIB);
    let many = format!("for i in $(seq {times}); do cat '{}'; done", file.display());
    let once = format!("cat '{}'", file.display());
    let kinds = [
        ("cat > /dev/null", many.as_str(), None, ""),
        ("captured, cap of 1 MiB", many.as_str(), Some(false), "> 150"),
        ("captured whole, 64 MiB", once.as_str(), Some(true), ""),
    ];
    let mut rates: [Vec<f64>; 3] = Default::default();
    for round in 0..rounds {
        support::say(&format!("output, round {} of {rounds}", round + 1));
        for ((_, script, uncapped, _), rates) in kinds.iter().zip(&mut rates) {
            let bytes = if script == &once.as_str() { FILE_MIB } else { times * FILE_MIB } << 20;
            let took = match uncapped {
                None => bare_cat(script),
                Some(uncapped) => {
                    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
                    let plan = Plan::typed(argv, dir.to_owned(), TIMEOUT_MS).expect("a command");
                    let (report, took) = run(dir, Plan { uncapped: *uncapped, ..plan });
                    assert_eq!(report.meta.stdout.total_bytes, bytes as u64);
                    took
                }
            };
            rates.push(bytes as f64 / 1e6 / took.as_secs_f64());
        }
    }
    for ((what, _, _, budget), rates) in kinds.iter().zip(&rates) {
        table.rounds(what, rates, budget);
    }
    table
}

fn bare_cat(script: &str) -> Duration {
    let started = system::instant();
    let status =
        Process::new("sh").args(["-c", &format!("({script}) | cat > /dev/null")]).status().expect("sh");
    assert!(status.success());
    started.elapsed()
}

/// Output as test runners write it: lines of words, paths, numbers and colours.
fn log_file(dir: &Path) -> PathBuf {
    let path = dir.join("output.log");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).expect("a file"));
    let mut written = 0;
    let mut index: u64 = 1;
    while written < FILE_MIB << 20 {
        index = index.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = index >> 40;
        let line = match number % 4 {
            0 => format!(
                "\x1b[32mtest\x1b[0m pool::connections::resets_after_{number} ... ok ({} ms)\n",
                number % 97
            ),
            1 => format!(
                "   Compiling serde_{number} v1.0.{} (/home/ana/shop/crates/{number})\n",
                number % 300
            ),
            2 => format!(
                "2026-11-21T22:10:{:02}.{number:09}Z INFO pool: connection {number} reused\n",
                number % 60
            ),
            _ => format!("assertion failed: left == right, left: {number}, right: {}, héllo\n", number / 3),
        };
        let rest = (FILE_MIB << 20) - written;
        let line = &line.as_bytes()[..line.len().min(rest)];
        file.write_all(line).expect("a disk with room");
        written += line.len();
    }
    file.flush().expect("a disk with room");
    path
}
