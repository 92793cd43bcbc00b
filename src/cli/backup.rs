//! `hm backup`: a copy of the whole memory while it is written to, checked before it is put in place.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::Context;
use super::output::{self, Failure};
use super::verify::runs_on_record;
use crate::checkpoints::{self, Checkpoints};
use crate::ledger::{Checkpoint, Cursor, Origin, Reader, Report, Tree};
use crate::reads::Reads;
use crate::runner::profile::PROFILE_DIR;
use crate::system::Sources;
use crate::views;
use crate::workspace::Workspace;

/// Where to.
#[derive(Debug, Args)]
pub(super) struct Backup {
    /// A directory that does not exist yet, or is empty; it becomes a workspace of its own
    to: PathBuf,
}

impl Backup {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let to = &self.to;
        let cannot =
            |error: std::io::Error| Failure::Usage(format!("cannot write {}: {error}", to.display()));
        if to.exists() && std::fs::read_dir(to).map_err(cannot)?.next().is_some() {
            let text = format!("{} is not empty: name a directory that does not exist yet", to.display());
            return Err(Failure::Usage(text));
        }
        let mut partial = to.components().as_path().as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        if partial.exists() {
            let text = format!("{} is in the way: a backup that was cut short left it", partial.display());
            return Err(Failure::Usage(text));
        }
        let copied = copy(context, &partial).and_then(|head| {
            if to.exists() {
                std::fs::remove_dir(to).map_err(cannot)?;
            }
            std::fs::rename(&partial, to).map_err(cannot)?;
            Ok(head)
        });
        if copied.is_err() {
            // The first error is the one to tell.
            let _ = std::fs::remove_dir_all(&partial);
        }
        let head = copied?;
        let head_hash = hex::encode(head.hash);
        let text = format!(
            "backed up {} events to {}, head {head_hash}\nits chain and every page were checked\n",
            head.seq,
            to.display()
        );
        let json = json!({ "dir": to, "events": head.seq, "head_hash": head_hash });
        output::print(context.global.json, &text, &json)
    }
}

/// Copies in an order in which nothing can be ahead of the ledger, which comes last: what is spooled may
/// be in it already, and is recognised; checkpoints and read models have seen no more than it holds.
fn copy(context: &Context, to: &Path) -> Result<Cursor, Failure> {
    let cannot = |error: std::io::Error| Failure::Usage(format!("cannot write {}: {error}", to.display()));
    let from = &context.workspace;
    let copy = Workspace::init_apart(to, &context.environment).map_err(Failure::usage)?;
    for (from, to) in [
        (from.config(), copy.config()),
        (from.spool(), copy.spool()),
        (from.checkpoints(), copy.checkpoints()),
        (from.imports(), copy.imports()),
    ] {
        if from.exists() {
            std::fs::copy(&from, &to).and_then(|_| File::open(&to)?.sync_all()).map_err(cannot)?;
        }
    }
    let mut reads = context.reads()?;
    // Read models that cannot be read are made anew from the copied ledger.
    if let Ok(Some(store)) = reads.store() {
        store.back_up(&copy.team_memory())?;
    }
    let Some(ledger) = reads.ledger()? else {
        return Err(Failure::usage("nothing was ever written here: there is nothing to back up"));
    };
    let bar = output::progress("verifying", ledger.head()?.seq);
    let report = ledger.file().back_up(&copy.ledger(), |seq| bar.set_position(seq));
    bar.finish_and_clear();
    match report? {
        Report { fault: None, head, .. } => {
            seal(context, &copy, ledger, head)?;
            // After the ledger: a run's files are whole before the ledger says so.
            copy_tree(&from.experiments(), &copy.experiments()).map_err(cannot)?;
            copy_tree(&from.marker_dir().join(PROFILE_DIR), &copy.marker_dir().join(PROFILE_DIR))
                .map_err(cannot)?;
            check_artifacts(from, &copy)?;
            for dir in [copy.memory().to_owned(), to.to_owned()] {
                File::open(&dir).and_then(|dir| dir.sync_all()).map_err(cannot)?;
            }
            Ok(head)
        }
        Report { fault: Some(fault), .. } => {
            Err(Failure::internal(format!("the ledger does not verify, and was not copied: {fault}")))
        }
    }
}

/// What is wrong with the files of a run in the copy and right in the original went wrong on the way.
fn check_artifacts(from: &Workspace, copy: &Workspace) -> Result<(), Failure> {
    let runs = runs_on_record(&mut Reads::of(copy.clone()))?;
    let broken = views::broken_artifacts(copy, runs.into_iter());
    for (run, problem) in broken {
        let hash = runs_on_record(&mut Reads::of(copy.clone()))?.into_iter().filter(|(id, _)| *id == run);
        if views::broken_artifacts(from, hash).is_empty() {
            return Err(Failure::internal(format!(
                "the files of run {run} were not copied whole: {problem}"
            )));
        }
    }
    Ok(())
}

/// Copies a directory and what is in it, for its owner only; one that is not there is nothing to copy.
fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(from) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(to)?;
    for entry in entries {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        // Only what a run or a human put there: no link leads the copy elsewhere.
        if entry.file_type()?.is_dir() {
            copy_tree(&from, &to)?;
        } else if entry.file_type()?.is_file() {
            std::fs::copy(&from, &to)?;
            File::open(&to)?.sync_all()?;
        }
    }
    File::open(to)?.sync_all()
}

/// A copy made before the first checkpoint gets one of its own: once the original has a key, a ledger
/// without any is one whose checkpoints were taken away.
fn seal(context: &Context, copy: &Workspace, ledger: &Reader, head: Cursor) -> Result<(), Failure> {
    let Some(state_home) = &context.environment.state_home else { return Ok(()) };
    let checkpoints = Checkpoints::of(copy.memory(), Some(state_home));
    let genesis = ledger.hashes_after(0, 1)?;
    let Some(genesis) = genesis.first().filter(|_| checkpoints.last_size() == 0 && head.seq > 0) else {
        return Ok(());
    };
    let mut tree = Tree::default();
    checkpoints::grow(&mut tree, ledger, head.seq)?;
    let checkpoint = Checkpoint::of(Origin::of(genesis), head, &tree);
    checkpoints.seal_copy(checkpoint, Sources::system().entropy).map_err(Failure::internal)?;
    Ok(())
}
