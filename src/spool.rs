//! The spool: commands accepted without a writer, made durable before they are acknowledged.

use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::command::Submission;
use crate::domain::ids::IdempotencyKey;
use crate::domain::receipt::Receipt;
use crate::domain::rejection::{Code, Rejection};
use crate::private::{self, FileName};
use crate::system;
use crate::workspace::Workspace;

/// How long a front waits for the lock of the spool, on a blocking thread. On a busy disk each of many panes holds
/// it for a sync, and a slow write is better than a refused one.
const APPENDED_WITHIN: Duration = Duration::from_secs(3);
/// How long the writer waits for the lock. It comes again later.
const LOCKED_AT_MOST: Duration = Duration::from_millis(500);
/// How often the lock is tried in that time.
const LOCK_POLL: Duration = Duration::from_millis(2);

/// Why a command could not be spooled. The command was not accepted.
#[derive(Debug, thiserror::Error)]
#[error("cannot spool to {path}: {source}")]
pub struct SpoolError {
    /// The path of the file.
    pub path: String,
    /// The error of the operating system.
    pub source: io::Error,
}

/// The spool files of a workspace.
#[derive(Debug, Clone)]
pub struct Spool {
    path: PathBuf,
    rejected: PathBuf,
    /// Lines that only a newer version of hm can read.
    later: PathBuf,
}

/// The content of the spool after some offset.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Complete lines, in order.
    pub complete: Vec<String>,
    /// A line whose writer died in the middle of it. It was never acknowledged.
    pub torn: Option<String>,
    /// The offset where reading stopped.
    pub end: u64,
    /// The file that was read. The path may hold the file of another memory by now.
    file: Option<FileName>,
}

impl Spool {
    /// The spool of a workspace.
    pub fn of(workspace: &Workspace) -> Self {
        Self { path: workspace.spool(), rejected: workspace.rejected_spool(), later: workspace.later_spool() }
    }

    /// Appends a command and makes it durable. If the spool already holds a command of the same agent with the same
    /// key, returns that one and writes nothing.
    ///
    /// # Errors
    /// [`SpoolError`]: the command was not written.
    pub fn append(&self, submission: &Submission) -> Result<Option<Submission>, SpoolError> {
        self.try_append(submission).map_err(|source| self.failed(source))
    }

    fn try_append(&self, submission: &Submission) -> io::Result<Option<Submission>> {
        let mut file = private::options().create(true).read(true).append(true).open(&self.path)?;
        lock(APPENDED_WITHIN, || file.try_lock())?;
        if let Some(key) = &submission.idempotency_key
            && let Some(first) = queued_under(&mut file, submission, key)?
        {
            return Ok(Some(first));
        }
        let mut line = serde_json::to_vec(submission)?;
        line.push(b'\n');
        let len = file.metadata()?.len();
        if !ends_line(&mut file, len)? {
            // A process died in the middle of the last line. A line break separates it from the new one.
            line.insert(0, b'\n');
        }
        let durable = file.write_all(&line).and_then(|()| file.sync_all()).and_then(|()| match len {
            // The file may be new, and its directory entry must survive a power cut too.
            0 => self.path.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all()),
            _ => Ok(()),
        });
        if let Err(error) = durable {
            // Removes the partial line, which is not acknowledged.
            file.set_len(len)?;
            return Err(error);
        }
        Ok(None)
    }

    /// Accepts a command for later: durable in the spool, with a receipt that says `queued`. `why` states why it is
    /// not committed now, and `next` when it will be.
    ///
    /// # Errors
    /// `unavailable` when the spool cannot take it; `idempotency_conflict` when its key was used for another
    /// request.
    pub(crate) fn accept(
        &self,
        submission: &Submission,
        why: &str,
        next: &str,
    ) -> Result<Receipt, Rejection> {
        let queued = self.append(submission).map_err(|error| {
            let is_read_only = error.source.kind() == io::ErrorKind::ReadOnlyFilesystem;
            let way = if is_read_only {
                "nothing was written: this place may only be read, so write where the client itself runs, outside of \
                 its sandbox"
            } else {
                "nothing was written: free disk space or mend the permissions, then retry with the same key"
            };
            Rejection::new(Code::Unavailable, format!("{why}, and {error}"), way)
        })?;
        let duplicate = queued.is_some();
        let first = queued.unwrap_or_else(|| submission.clone());
        if duplicate && first.command.intent() != submission.command.intent() {
            return Err(Rejection::idempotency_conflict(submission.idempotency_key.as_ref()));
        }
        let next = Some(next.to_owned());
        Ok(Receipt { duplicate, next, ..Receipt::queued(first.command_id, first.command.entity()) })
    }

    /// The number of waiting commands, read without the lock; 0 when there is no spool.
    pub fn waiting(&self) -> u64 {
        let bytes = private::read(&self.path).unwrap_or_default();
        whole_lines(&bytes).filter(|line| !line.trim_ascii().is_empty()).count() as u64
    }

    /// Whether the spool is empty; costs one stat.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// The length of the spool; costs one stat.
    pub(crate) fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }

    /// The waiting commands in order; `None` when the spool cannot be read. Unreadable lines are left out.
    pub fn submissions(&self) -> Option<Vec<Submission>> {
        let lines = self.read_after(0).ok()?;
        Some(lines.complete.iter().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// The lines after `offset`.
    pub(crate) fn read_after(&self, offset: u64) -> Result<Lines, SpoolError> {
        let read = || -> io::Result<Lines> {
            let mut file = match private::options().read(true).open(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Lines::default()),
                other => other?,
            };
            lock(LOCKED_AT_MOST, || file.try_lock_shared())?;
            let name = private::name(&file.metadata()?);
            file.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let end = offset + bytes.len() as u64;
            let torn_at = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let torn = bytes.split_off(torn_at);
            let text = String::from_utf8_lossy(&bytes);
            Ok(Lines {
                complete: text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect(),
                torn: (!torn.is_empty()).then(|| String::from_utf8_lossy(&torn).into_owned()),
                end,
                file: Some(name),
            })
        };
        read().map_err(|source| self.failed(source))
    }

    /// Empties the spool unless lines were added after these; returns whether it did.
    pub(crate) fn truncate_after(&self, lines: &Lines) -> Result<bool, SpoolError> {
        let truncate = || -> io::Result<bool> {
            let file = private::options().write(true).open(&self.path)?;
            lock(LOCKED_AT_MOST, || file.try_lock())?;
            let metadata = file.metadata()?;
            if lines.file != Some(private::name(&metadata)) {
                return Err(io::Error::other("it was replaced while it was read"));
            }
            if metadata.len() != lines.end {
                return Ok(false);
            }
            file.set_len(0)?;
            file.sync_all()?;
            Ok(true)
        };
        truncate().map_err(|source| self.failed(source))
    }

    /// Copies the lines after `offset` to a file outside of the memory, without those that it holds, and makes them
    /// durable. Returns where reading stopped.
    pub(crate) fn copy_to(&self, kept: &Path, offset: u64) -> Result<u64, SpoolError> {
        let lines = self.read_after(offset)?;
        let copy = || -> io::Result<()> {
            let held = if offset == 0 { lines_of(kept)? } else { HashSet::new() };
            let new: Vec<&str> =
                lines.complete.iter().map(String::as_str).filter(|line| !held.contains(*line)).collect();
            let (Some(dir), false) = (kept.parent(), new.is_empty()) else { return Ok(()) };
            private::create_dir_all(dir)?;
            append_lines(kept, &new.join("\n"))?;
            private::sync_dir(dir)
        };
        copy().map_err(|source| SpoolError { path: kept.display().to_string(), source })?;
        Ok(lines.end)
    }

    /// The lines that a file outside of the memory holds and this spool lacks, as a spool of their own. The file is removed
    /// if there are none. Refused lines go to the files of this memory.
    pub(crate) fn kept_in(&self, kept: &Path) -> Option<Self> {
        let (outside, inside) = (lines_of(kept).ok()?, lines_of(&self.path).ok()?);
        if outside.is_subset(&inside) {
            if let Err(error) = private::gone(std::fs::remove_file(kept)) {
                tracing::warn!(%error, file = %kept.display(), "cannot remove it");
            }
            return None;
        }
        Some(Self { path: kept.to_owned(), ..self.clone() })
    }

    /// The number of waiting commands, in the memory and in a file outside of it.
    pub(crate) fn waiting_with(&self, kept: &Path) -> u64 {
        let (mut lines, outside) = (lines_of(&self.path).unwrap_or_default(), lines_of(kept));
        lines.extend(outside.unwrap_or_default());
        lines.len() as u64
    }

    /// Keeps a rejected line for a human, with the reason.
    pub(crate) fn set_aside(&self, line: &str, reason: &str) -> Result<(), SpoolError> {
        let record = serde_json::json!({ "reason": reason, "line": line }).to_string();
        append_line(&self.rejected, &record)
    }

    /// The rejected commands that can be read.
    pub(crate) fn rejected(&self) -> Vec<Submission> {
        #[derive(serde::Deserialize)]
        struct Aside {
            line: String,
        }
        let bytes = private::read(&self.rejected).unwrap_or_default();
        let aside = whole_lines(&bytes).filter_map(|line| serde_json::from_slice::<Aside>(line).ok());
        aside.filter_map(|aside| serde_json::from_str(&aside.line).ok()).collect()
    }

    /// Keeps a line with a command of a newer version of hm, for the writer of that version.
    pub(crate) fn keep_for_later(&self, line: &str) -> Result<(), SpoolError> {
        append_line(&self.later, line)
    }

    /// Moves the lines that were kept for a newer version back into the spool: this may be that version.
    pub(crate) fn take_up(&self) -> Result<(), SpoolError> {
        let take_up = || -> io::Result<()> {
            let kept = match private::read(&self.later) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                other => String::from_utf8_lossy(&other?).into_owned(),
            };
            let known = kept.lines().filter(|line| serde_json::from_str::<Submission>(line).is_ok());
            let known: Vec<&str> = known.collect();
            if known.is_empty() {
                return Ok(());
            }
            // A line that is moved twice is recognised by its command id.
            append_lines(&self.path, &known.join("\n"))?;
            let left: String = kept
                .lines()
                .filter(|line| serde_json::from_str::<Submission>(line).is_err())
                .flat_map(|line| [line, "\n"])
                .collect();
            private::replace(&self.later, left.as_bytes())
        };
        take_up().map_err(|source| SpoolError { path: self.later.display().to_string(), source })
    }

    /// The number of rejected lines, and of lines for a newer version of hm.
    pub fn left_behind(&self) -> (u64, u64) {
        let count = |path: &Path| {
            let bytes = private::read(path).unwrap_or_default();
            whole_lines(&bytes).filter(|line| !line.trim_ascii().is_empty()).count() as u64
        };
        (count(&self.rejected), count(&self.later))
    }

    /// Blanks the lines of both files for which `holds` finds erased data, torn ones included. No bytes move, so a
    /// crash in the middle harms no other line; appending processes wait for the lock.
    pub(crate) fn scrub(&self, holds: impl Fn(&str) -> bool) -> Result<(), SpoolError> {
        for path in [&self.path, &self.rejected, &self.later] {
            let scrub = || -> io::Result<()> {
                let mut file = match private::options().read(true).write(true).open(path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                    other => other?,
                };
                lock(LOCKED_AT_MOST, || file.try_lock())?;
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                let mut start = 0;
                for line in bytes.split(|byte| *byte == b'\n') {
                    if holds(&String::from_utf8_lossy(line)) {
                        file.seek(SeekFrom::Start(start))?;
                        file.write_all(&vec![b' '; line.len()])?;
                    }
                    start += line.len() as u64 + 1;
                }
                file.sync_all()
            };
            scrub().map_err(|source| SpoolError { path: path.display().to_string(), source })?;
        }
        Ok(())
    }

    fn failed(&self, source: io::Error) -> SpoolError {
        SpoolError { path: self.path.display().to_string(), source }
    }

    /// The path of the spool.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The complete lines of a file that hold something; none of a file that is not there.
fn lines_of(path: &Path) -> io::Result<HashSet<String>> {
    let bytes = match private::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashSet::new()),
        other => other?,
    };
    let lines = whole_lines(&bytes).map(|line| String::from_utf8_lossy(line).into_owned());
    Ok(lines.filter(|line| !line.trim().is_empty()).collect())
}

/// The complete lines, without their line breaks.
fn whole_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    bytes[..end].split(|byte| *byte == b'\n')
}

fn queued_under(
    file: &mut File,
    wanted: &Submission,
    key: &IdempotencyKey,
) -> io::Result<Option<Submission>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    // Only lines that contain the key are parsed, because a spool may be long.
    let named = serde_json::to_string(key)?;
    // A torn line may be invalid UTF-8; the line we look for is complete.
    Ok(String::from_utf8_lossy(&bytes)
        .lines()
        .filter(|line| line.contains(&named))
        .filter_map(|line| serde_json::from_str::<Submission>(line).ok())
        .find(|queued| queued.agent == wanted.agent && queued.idempotency_key.as_ref() == Some(key)))
}

fn ends_line(file: &mut File, len: u64) -> io::Result<bool> {
    if len == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::Start(len - 1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Appends a line to a file and makes it durable.
fn append_line(path: &Path, line: &str) -> Result<(), SpoolError> {
    append_lines(path, line).map_err(|source| SpoolError { path: path.display().to_string(), source })
}

/// Appends whole lines behind a possibly torn line: all of them or none.
fn append_lines(path: &Path, lines: &str) -> io::Result<()> {
    let mut file = private::options().create(true).read(true).append(true).open(path)?;
    lock(LOCKED_AT_MOST, || file.try_lock())?;
    let len = file.metadata()?.len();
    let start = if ends_line(&mut file, len)? { "" } else { "\n" };
    let written = file.write_all(format!("{start}{lines}\n").as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        file.set_len(len)?;
    }
    written
}

/// Takes a lock that other processes hold only briefly. A process may be stopped while it holds the lock, so
/// waiting ends with an error.
fn lock(within: Duration, mut attempt: impl FnMut() -> Result<(), TryLockError>) -> io::Result<()> {
    let deadline = system::instant() + within;
    loop {
        match attempt() {
            Err(TryLockError::WouldBlock) if system::instant() < deadline => std::thread::sleep(LOCK_POLL),
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(io::ErrorKind::WouldBlock, "another process holds its lock"));
            }
            other => return Ok(other?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_file_that_was_read_is_emptied() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| dir.path().join(name);
        let spool = Spool { path: path("spool.jsonl"), rejected: path("rejected"), later: path("later") };
        let other = path("of-another-memory");
        std::fs::write(&spool.path, "one line\n").expect("a spool");
        std::fs::write(&other, "its line\n").expect("a spool of the same length");
        let lines = spool.read_after(0).expect("lines");
        std::fs::rename(&other, &spool.path).expect("a replaced spool");
        spool.truncate_after(&lines).expect_err("it was replaced");
        assert_eq!(std::fs::read_to_string(&spool.path).expect("a spool"), "its line\n");
        let lines = spool.read_after(0).expect("lines");
        assert!(spool.truncate_after(&lines).expect("an emptied spool"));
        assert_eq!(spool.waiting(), 0);
    }
}
