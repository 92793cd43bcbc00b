//! `hm runner`: a process of its own for each run, and the way to it.
//!
//! It reads an order from its first line of input, answers with one JSON line per message, and cancels the run
//! when it reads anything else or its input ends: a run does not outlive whoever started it.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use uuid::Uuid;

use super::report::Report;
use super::run::{Order, Progress, control, run};
use super::tree;
use crate::system;

/// The verb that makes the binary a helper.
pub const VERB: &str = "runner";

/// What a helper says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Where the run stands, four times a second.
    Progress(Progress),
    /// The run is over and its files are written; nothing follows.
    Finished(Box<Report>),
    /// There is no report, and why; nothing follows. The run is aborted.
    Lost(String),
}

/// How long a helper may take before the program starts: the state of a large repository is read then.
const PREPARES_WITHIN: Duration = Duration::from_secs(60);
/// What a helper has for its end beyond what [`tree`] takes to end a run: with the look for what a lost one left
/// it adds up to timeout + grace + 2 s.
const SPARE: Duration = Duration::from_millis(500);
/// How long a helper may take to write its files when no process of its run is left.
const WRITES_WITHIN: Duration = Duration::from_secs(60);
/// How long after the timeout, or after it was cancelled, a helper has to say that the run is over.
const ENDS_WITHIN: Duration =
    Duration::from_millis((tree::GRACE.as_millis() + tree::SWEEP.as_millis() + SPARE.as_millis()) as u64);

/// A helper that runs an order. When it is dropped, the run is cancelled.
///
/// A run has the rights of its helper: it can stop or kill it. So the helper has a deadline, and whenever it is
/// lost, this process ends the run in its place.
#[derive(Debug)]
pub struct Helper {
    run: Uuid,
    timeout: Duration,
    /// When the helper is given up.
    deadline: Instant,
    child: Child,
    orders: Option<ChildStdin>,
    messages: tokio::io::Lines<tokio::io::BufReader<ChildStdout>>,
}

impl Helper {
    /// Starts a helper, the same binary, and hands it an order.
    ///
    /// # Errors
    /// Those of the system.
    pub async fn start(binary: &Path, order: &Order) -> io::Result<Self> {
        let mut command = Command::new(binary);
        command.arg(VERB).stdin(Stdio::piped()).stdout(Stdio::piped());
        // What is typed at the writer's terminal is not meant for the run.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a helper without pipes");
        let mut orders = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        orders.write_all(&line).await?;
        let messages = tokio::io::BufReader::new(stdout).lines();
        let timeout = Duration::from_millis(order.plan.timeout_ms);
        let deadline = after(PREPARES_WITHIN + timeout);
        Ok(Self { run: order.run_id, timeout, deadline, child, orders: Some(orders), messages })
    }

    /// The next message; none when the helper has left or was given up. Without a report before it, the run is
    /// aborted, and nothing of it lives.
    pub async fn next(&mut self) -> Option<Message> {
        loop {
            let line = tokio::select! {
                // What the helper said in time counts, also when this process reads it late.
                biased;
                line = self.messages.next_line() => line.ok().flatten(),
                () = tokio::time::sleep_until(self.deadline.into()) => None,
            };
            let Some(line) = line else {
                self.lose().await;
                return None;
            };
            if let Ok(message) = serde_json::from_str(&line) {
                if let Message::Progress(progress) = &message {
                    self.postpone(progress);
                }
                return Some(message);
            }
        }
    }

    fn postpone(&mut self, at: &Progress) {
        if at.over {
            self.deadline = after(WRITES_WITHIN);
        } else if self.orders.is_some() {
            let left = self.timeout.saturating_sub(Duration::from_millis(at.elapsed_ms));
            self.deadline = after(left + ENDS_WITHIN);
        }
    }

    /// Kills the helper and everything of its run.
    async fn lose(&mut self) {
        let (run, helper) = (self.run, self.child.id());
        let helper = helper.and_then(|id| Pid::from_raw(id.cast_signed()));
        // A look at every process takes too long for the thread that serves clients.
        let ended = tokio::task::spawn_blocking(move || tree::end_lost(run, helper)).await;
        let _ = self.child.kill().await;
        tracing::warn!(%run, ended = ended.unwrap_or_default(), "the helper of a run was lost");
    }

    /// Ends the run; its report still comes.
    pub fn cancel(&mut self) {
        self.orders = None;
        self.deadline = self.deadline.min(after(ENDS_WITHIN));
    }

    /// The process id of the helper, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }
}

/// A moment so far from now; a year away where the clock ends before.
fn after(wait: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);
    system::instant() + wait.min(YEAR)
}

/// Is the helper: takes an order from stdin and says on stdout what becomes of it.
///
/// # Errors
/// Those of stdin and stdout.
pub fn serve() -> io::Result<()> {
    let mut input = BufReader::new(io::stdin());
    let mut line = String::new();
    input.read_line(&mut line)?;
    let order: Order = match serde_json::from_str(&line) {
        Ok(order) => order,
        Err(problem) => return say(&Message::Lost(format!("the order does not parse: {problem}"))),
    };
    let (canceller, wakes) = control();
    thread::spawn(move || {
        let mut byte = [0];
        let _ = io::Read::read(&mut input, &mut byte);
        canceller.cancel();
    });
    // Whoever listened may have left; the run is cancelled by the other end then.
    let report = run(order, system::variables(), wakes, |progress| drop(say(&Message::Progress(progress))));
    say(&match report {
        Ok(report) => Message::Finished(Box::new(report)),
        Err(problem) => Message::Lost(problem.to_string()),
    })
}

fn say(message: &Message) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}
