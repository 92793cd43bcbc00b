//! `hm runner`: a process of its own for each run, and the way to it.
//!
//! It reads an order from its first line of input, answers with one JSON line per message, and cancels the run
//! when it reads anything else or its input ends: a run does not outlive whoever started it.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::thread;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::report::Report;
use super::run::{Order, Progress, control, run};
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

/// A helper that runs an order. When it is dropped, the run is cancelled.
#[derive(Debug)]
pub struct Helper {
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
        Ok(Self { child, orders: Some(orders), messages: tokio::io::BufReader::new(stdout).lines() })
    }

    /// The next message; none when the helper has left. Without a report before it, the run is aborted.
    pub async fn next(&mut self) -> Option<Message> {
        loop {
            let line = self.messages.next_line().await.ok().flatten()?;
            if let Ok(message) = serde_json::from_str(&line) {
                return Some(message);
            }
        }
    }

    /// Ends the run; its report still comes.
    pub fn cancel(&mut self) {
        self.orders = None;
    }

    /// The process id of the helper, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }
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
