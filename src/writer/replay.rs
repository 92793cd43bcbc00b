//! The replay: commits the commands of the spool before any new one.

use std::collections::HashSet;

use super::commit::{Committer, MAX_GROUP, OwnBatch};
use super::crash::CrashPoint;
use super::error::WriterError;
use crate::domain::agent::AgentId;
use crate::domain::command::{Command, Submission};
use crate::domain::event::{CommandRejected, SpoolFlushed};
use crate::domain::ids::CommandId;
use crate::domain::privacy::{self, Secrets};
use crate::domain::receipt::Receipt;
use crate::domain::rejection::{Code, Rejection};
use crate::spool::{Spool, SpoolError};

/// The result of a replay of the spool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Commands that are now committed.
    pub committed: u32,
    /// Commands that the ledger already held.
    pub duplicates: u32,
    /// Lines that were refused or unreadable, and set aside.
    pub rejected: u32,
}

/// Commits the commands of the spool in order, then empties it.
///
/// # Errors
/// [`WriterError`]. A line leaves the spool only when it is in the ledger or set aside, or if the policy refused what a
/// hook recorded.
pub fn replay(committer: &mut Committer, spool: &Spool) -> Result<Replayed, WriterError> {
    let mut done = Replayed::default();
    if committer.is_stopped() {
        return Ok(done);
    }
    let mut offset = 0;
    loop {
        let lines = spool.read_after(offset)?;
        for chunk in lines.complete.chunks(MAX_GROUP) {
            if !replay_lines(committer, spool, chunk, &mut done)? {
                // The store cannot take the commands now; they stay in the spool.
                return Ok(done);
            }
        }
        if let Some(torn) = &lines.torn {
            let why = "half a line: its front died while writing, it was never acknowledged";
            set_aside(committer, spool, torn, why)?;
            done.rejected += 1;
        }
        offset = lines.end;
        if done != Replayed::default() {
            committer.crash(CrashPoint::Replayed);
        }
        if offset == 0 || spool.truncate_after(&lines)? {
            break;
        }
    }
    // Logs the replay also when it found only duplicates, which a crash before the truncation leaves behind.
    if done != Replayed::default() {
        let Replayed { committed, duplicates, rejected } = done;
        let events = vec![SpoolFlushed { committed, duplicates, rejected }.into()];
        let batch = committer.own(AgentId::system(), events);
        committer.record(&[batch])?;
    }
    Ok(done)
}

/// The lines of a chunk by what becomes of them. Those to set aside or to keep are written at the end, because lines
/// that stay in the spool are read again.
#[derive(Default)]
struct Sorted<'l> {
    submissions: Vec<(&'l str, Submission)>,
    /// Lines that a human must see, with the reason.
    aside: Vec<(&'l str, String)>,
    /// Lines for a newer version of hm.
    later: Vec<&'l str>,
}

impl<'l> Sorted<'l> {
    fn of(lines: &'l [String]) -> Self {
        let mut sorted = Self::default();
        for line in lines {
            match serde_json::from_str::<Submission>(line) {
                // Only the operator at a terminal may accept a loss, never a file.
                Ok(Submission { command: Command::AcceptLoss(_), .. }) => {
                    let why = "a loss is accepted by the operator at a terminal, never from a spool";
                    sorted.aside.push((line, why.to_owned()));
                }
                Ok(submission) => sorted.submissions.push((line, submission)),
                // A complete line of a newer version of hm is kept for the writer of that version.
                Err(_) if is_of_a_newer_version(line) => sorted.later.push(line),
                Err(error) => {
                    sorted.aside.push((line, format!("not a command this version knows: {error}")));
                }
            }
        }
        sorted
    }
}

/// Commits some spool lines; false when the store cannot take them now.
fn replay_lines(
    committer: &mut Committer,
    spool: &Spool,
    lines: &[String],
    done: &mut Replayed,
) -> Result<bool, WriterError> {
    let Sorted { submissions, mut aside, later } = Sorted::of(lines);
    let group: Vec<Submission> = submissions.iter().map(|(_, submission)| submission.clone()).collect();
    let outcomes = committer.commit_replayed(&group)?;
    let mut rejections: Vec<OwnBatch> = Vec::new();
    let mut refused: HashSet<CommandId> = HashSet::new();
    for ((line, submission), outcome) in submissions.iter().zip(outcomes) {
        match outcome {
            Ok(Receipt { duplicate: true, .. }) => done.duplicates += 1,
            Ok(_) => done.committed += 1,
            Err(rejection) if rejection.code == Code::Unavailable => return Ok(false),
            // An interrupted replay has recorded this refusal already.
            Err(_) if committer.has_command(submission.command_id)? => done.duplicates += 1,
            // A request that was queued twice is refused once, because a command has one refusal on record.
            Err(_) if !refused.insert(submission.command_id) => done.duplicates += 1,
            // No author waits for the answer, and the text that the policy refused is kept nowhere.
            Err(rejection) if rejection.code.is_of_policy() && is_of_a_hook(&submission.command) => {
                done.rejected += 1;
            }
            Err(rejection) => {
                aside.push((*line, rejection.to_string()));
                rejections.push(refusal(committer, submission, rejection));
            }
        }
    }
    for (line, why) in aside {
        set_aside(committer, spool, line, &why)?;
        done.rejected += 1;
    }
    for line in later {
        spool.keep_for_later(line)?;
    }
    committer.record(&rejections)?;
    Ok(true)
}

/// Whether only hooks send the command.
const fn is_of_a_hook(command: &Command) -> bool {
    matches!(
        command,
        Command::RecordTurn(_) | Command::RecordRecall(_) | Command::Observe(_) | Command::RecordFiring(_)
    )
}

/// The record of a refused line.
fn refusal(committer: &mut Committer, submission: &Submission, rejection: Rejection) -> OwnBatch {
    let rejected = CommandRejected {
        command_id: submission.command_id,
        kind: submission.command.name().to_owned(),
        code: rejection.code,
        message: rejection.message,
    };
    let agent = committer.speaker_of(submission);
    let agent = committer.recordable(&agent);
    OwnBatch { agent, causation: submission.command_id, events: vec![rejected.into()], first_id: None }
}

/// Keeps a rejected spool line for a human, without the secrets that it may hold.
fn set_aside(committer: &Committer, spool: &Spool, line: &str, reason: &str) -> Result<(), SpoolError> {
    let clean = |text: &str| privacy::redacted(text, &committer.secrets);
    spool.set_aside(&clean(line), &clean(reason))
}

/// Whether a spool line is a submission with a command that this version cannot read. A line with a secret does not
/// count: it is set aside without the secret.
fn is_of_a_newer_version(line: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Named {
        #[serde(rename = "command_id")]
        _command_id: CommandId,
        #[serde(rename = "command")]
        _command: Kind,
    }
    #[derive(serde::Deserialize)]
    struct Kind {
        #[serde(rename = "name")]
        _name: String,
    }
    serde_json::from_str::<Named>(line).is_ok() && privacy::scan(line, &Secrets::default()).is_empty()
}
