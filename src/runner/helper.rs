//! `hm runner`, the helper process of a run, and the connection to it.
//!
//! The helper reads an order from the first line of its input and writes one JSON line per message. It cancels
//! the run when more input comes or its input ends. A run therefore ends with the process that started it.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use uuid::Uuid;

use super::order::{Message, Order, Progress};
use super::run::{control, run};
use super::tree;
use crate::system;

/// The verb that starts the binary as a helper.
pub const VERB: &str = "runner";

/// How long a helper may take before the program starts. It reads the state of a large repository in this time.
const PREPARES_WITHIN: Duration = Duration::from_secs(60);
/// Time for the end of a helper, beyond the time that [`tree`] takes to end a run. With the search for the
/// processes of a lost helper, a run ends at most 2 s after timeout and grace.
const SPARE: Duration = Duration::from_millis(500);
/// How long a helper may write its files after the last process of its run ended.
const WRITES_WITHIN: Duration = Duration::from_secs(60);
/// How long after the timeout or a cancellation a helper may take to report the end of its run.
const ENDS_WITHIN: Duration =
    Duration::from_millis((tree::GRACE.as_millis() + tree::SWEEP.as_millis() + SPARE.as_millis()) as u64);

/// A helper that runs an order. Dropping it cancels the run.
///
/// A run has the same rights as its helper and can stop or kill it. The helper therefore has a deadline. When
/// it is lost, this process ends the run in its place.
#[derive(Debug)]
pub struct Helper {
    run: Uuid,
    timeout: Duration,
    /// The time at which this process gives the helper up.
    deadline: Instant,
    child: Child,
    orders: Option<ChildStdin>,
    messages: tokio::io::Lines<tokio::io::BufReader<ChildStdout>>,
}

impl Helper {
    /// Starts this binary as a helper and sends it an order.
    pub async fn start(binary: &Path, order: &Order) -> io::Result<Self> {
        let mut command = Command::new(binary);
        command.arg(VERB).stdin(Stdio::piped()).stdout(Stdio::piped());
        // What the helper starts is part of the run as well: git with the filters of the repository, and the version command.
        command.env(system::RUN_VARIABLE, order.run_id.to_string());
        // Keeps input at the writer's terminal, such as Ctrl-C, away from the run.
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

    /// The next message; `None` when the helper ended or was given up. Without a report before it, the run is
    /// aborted and all its processes have ended.
    pub async fn next(&mut self) -> Option<Message> {
        loop {
            let line = tokio::select! {
                // A message that was sent in time counts, even when it is read late.
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

    /// Kills the helper and every process of its run.
    async fn lose(&mut self) {
        let (run, helper) = (self.run, self.child.id());
        let helper = helper.and_then(|id| Pid::from_raw(id.cast_signed()));
        // Reading all processes would block the thread that serves clients for too long.
        let ended = tokio::task::spawn_blocking(move || tree::end_lost(run, helper)).await;
        let _ = self.child.kill().await;
        tracing::warn!(%run, ended = ended.unwrap_or_default(), "the helper of a run was lost");
    }

    /// Cancels the run. Its report still comes.
    pub fn cancel(&mut self) {
        self.orders = None;
        self.deadline = self.deadline.min(after(ENDS_WITHIN));
    }

    /// The process id of the helper; `None` after its end.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }
}

/// The time after a wait, at most a year from now: a longer one may overflow the clock.
fn after(wait: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);
    system::instant() + wait.min(YEAR)
}

/// Runs as the helper: reads an order from stdin and writes its messages to stdout.
///
/// # Errors
/// The error of reading stdin or of writing the last message.
pub fn serve() -> io::Result<()> {
    let mut input = BufReader::new(io::stdin());
    let mut line = String::new();
    input.read_line(&mut line)?;
    let order: Order = match serde_json::from_str(&line) {
        Ok(order) => order,
        Err(problem) => return send(&Message::Lost(format!("the order does not parse: {problem}"))),
    };
    let (canceller, wakes) = control();
    thread::spawn(move || {
        let mut byte = [0];
        let _ = io::Read::read(&mut input, &mut byte);
        canceller.cancel();
    });
    // A failure to send progress is ignored: when the receiver is gone, the end of the input cancels the run.
    let report = run(order, system::variables(), wakes, |progress| drop(send(&Message::Progress(progress))));
    send(&match report {
        Ok(report) => Message::Finished(Box::new(report)),
        Err(problem) => Message::Lost(problem.to_string()),
    })
}

fn send(message: &Message) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}
