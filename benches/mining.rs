//! One pass of each miner: `cargo bench --bench mining -- [--events N] [--claims N]`.
//!
//! Fills a workspace with the observations of many tasks and with claims, and measures a pass over all of it, a second
//! pass that finds nothing new, and the cost of one command while nothing is mined.

mod history;

use std::time::Duration;

use clap::Parser;
use hivemind::domain::decide::Policy;
use hivemind::system::{self, Environment};
use hivemind::workspace::Workspace;
use hivemind::writer::{Committer, Miner, propose};

/// One pass of each miner.
#[derive(Debug, Parser)]
struct Options {
    /// Events of the ledger, about
    #[arg(long, default_value_t = 100_000)]
    events: usize,
    /// Claims among them
    #[arg(long, default_value_t = 10_000)]
    claims: usize,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

#[expect(clippy::print_stdout, reason = "a program that prints its figures")]
fn main() {
    let options = Options::parse();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let workspace = Workspace::init(dir.path(), &Environment::read()).expect("a workspace");
    let sources = history::sources(options.events);
    let mut committer = Committer::open(&workspace, Policy::default(), sources).expect("a committer");
    let tasks = history::fill(&mut committer, options.events, options.claims);
    println!("{} events, {tasks} tasks, {} claims", committer.head().seq, options.claims);
    for pass in ["first", "second"] {
        for miner in Miner::ALL {
            let began = system::instant();
            let recorded = propose(&mut committer, miner).expect("mined");
            println!("{pass} pass, {miner:?}: {} ms, {recorded} recorded", shown(began.elapsed()));
        }
    }
}

fn shown(time: Duration) -> u128 {
    time.as_millis()
}
