//! How a committer is opened and takes commands: an erasure and the acceptance of a loss stand alone in their group.

use std::path::{Path, PathBuf};

use super::commit::Committer;
use super::erasure::{erase, unfinished};
use super::error::WriterError;
use super::ground;
use super::import::drop_lost_imports;
use super::sweeps::join_respelled;
use crate::checkpoints::Checkpoints;
use crate::domain::agent::AgentId;
use crate::domain::command::{Command, Submission};
use crate::domain::decide::Policy;
use crate::domain::forgetting::Which;
use crate::domain::privacy;
use crate::domain::receipt::{Receipt, Warning, WarningCode};
use crate::domain::rejection::Rejection;
use crate::ledger::Cursor;
use crate::standing::Standing;
use crate::system::Sources;
use crate::workspace::Workspace;

impl Committer {
    /// Like [`Committer::open_sealed`], without a directory for keys.
    ///
    /// # Errors
    /// As for [`Committer::open_sealed`].
    pub fn open(workspace: &Workspace, policy: Policy, sources: Sources) -> Result<Self, WriterError> {
        Self::open_sealed(workspace, policy, sources, None)
    }

    /// Opens a workspace for writing: folds the state and brings the read models up to the ledger's head. A ledger
    /// that lost events opens too, but accepts none until the operator accepts the loss.
    ///
    /// # Errors
    /// [`WriterError`] when a file cannot be used. Read models that cannot be folded do not stop the writer; they
    /// stay behind until `hm rebuild`.
    pub fn open_sealed(
        workspace: &Workspace,
        policy: Policy,
        sources: Sources,
        state_home: Option<&Path>,
    ) -> Result<Self, WriterError> {
        let mut committer = Self::open_unmended(workspace, policy, sources, state_home)?;
        drop_lost_imports(&committer)?;
        if committer.owes_erasure()? && !committer.is_stopped() {
            // A crash interrupted an erasure after its redaction.
            erase(&mut committer)?;
        }
        if !committer.is_stopped() {
            join_respelled(&mut committer)?;
        }
        Ok(committer)
    }

    /// Decides and appends a group of commands with one ledger transaction, one fsync and one projection
    /// transaction. A refused command does not affect the others.
    ///
    /// # Errors
    /// [`WriterError`] when the state of the disk is unknown; the process must then exit.
    pub fn commit(&mut self, group: &[Submission]) -> Result<Vec<Result<Receipt, Rejection>>, WriterError> {
        let mut outcomes = Vec::with_capacity(group.len());
        let accepts = |submission: &Submission| matches!(submission.command, Command::AcceptLoss(_));
        let stands_alone = |submission: &Submission| is_forget(submission) || accepts(submission);
        // An erasure needs the commands before it in the ledger, and the commands after it need the erasure done.
        for part in group.chunk_by(|one, next| !stands_alone(one) && !stands_alone(next)) {
            if self.is_stopped() && !part.iter().any(accepts) {
                for submission in part {
                    outcomes.push(self.wait(submission)?);
                }
                self.keep_waiting();
                continue;
            }
            if part.iter().any(accepts) {
                // The directory may have changed since the writer started.
                self.standing = Standing::of(&self.workspace, self.state_home.as_deref())?;
            }
            let pairs = part.iter().any(is_forget).then(|| self.workspace.cochange_text());
            self.forget_cochange(part);
            outcomes.extend(self.append_group(part)?);
            if let Some(pairs) = pairs
                && outcomes.last().is_some_and(Result::is_err)
                && let Err(error) = self.workspace.restore_cochange(pairs)
            {
                tracing::error!(%error, "the files that change together miss what was not forgotten");
            }
            if part.iter().any(accepts) && outcomes.last().is_some_and(Result::is_ok) {
                self.start_anew()?;
            }
            if part.iter().any(is_forget)
                && let Some(Ok(receipt)) = outcomes.last_mut()
                && self.owes_erasure()?
                && !erase(self)?
            {
                receipt.warnings.push(unfinished());
            }
        }
        Ok(outcomes)
    }

    /// Takes the paths that the operator has forgotten out of the files that change together. This happens before the
    /// erasure is recorded: the record does not name the paths, so a crash after it would leave them there.
    fn forget_cochange(&self, part: &[Submission]) {
        for submission in part.iter().filter(|submission| submission.agent == AgentId::operator()) {
            let Command::ForgetMany(forget) = &submission.command else { continue };
            let Which { scope: Some(scope), session: None, agent: None, before: None } = &forget.which else {
                continue;
            };
            if let Err(error) = self.workspace.forget_cochange(scope) {
                tracing::error!(%error, "the files that change together still name what was forgotten");
            }
        }
    }

    /// Like [`Committer::commit`], for commands of the spool, whose authors already have receipts.
    pub(super) fn commit_replayed(
        &mut self,
        group: &[Submission],
    ) -> Result<Vec<Result<Receipt, Rejection>>, WriterError> {
        self.is_replaying = true;
        let outcomes = self.commit(group);
        self.is_replaying = false;
        outcomes
    }

    /// Work that is due while events are missing: looks for a backup that was copied over the files of this writer, and
    /// keeps what waits. No database is read: a reader amid the copy would spoil it.
    ///
    /// # Errors
    /// [`WriterError::Replaced`] when another process wrote the ledger, or the operator began anew; the next writer folds
    /// what is there and commits what waits.
    pub(super) fn await_events(&mut self) -> Result<(), WriterError> {
        if !self.is_stopped() {
            return Ok(());
        }
        if ground::stamps(&self.workspace, self.state_home.as_deref()) != self.opened {
            return Err(WriterError::Replaced(self.workspace.ledger().display().to_string()));
        }
        self.keep_waiting();
        Ok(())
    }

    /// The file outside of the memory with what waits for missing events; `None` without a directory for keys.
    pub(super) fn kept_spool(&self) -> Result<Option<PathBuf>, WriterError> {
        let checkpoints = Checkpoints::of(self.workspace.memory(), self.state_home.as_deref());
        Ok(checkpoints.spool(self.origin()?))
    }

    /// Copies what waits out of the memory, because a backup may replace the whole directory.
    fn keep_waiting(&mut self) {
        if self.spool.bytes() == self.kept_bytes {
            return;
        }
        let kept = match self.kept_spool() {
            Ok(Some(file)) => self.spool.copy_to(&file, self.kept_bytes).map_err(WriterError::from),
            Ok(None) => return,
            Err(error) => Err(error),
        };
        match kept {
            Ok(bytes) => self.kept_bytes = bytes,
            Err(error) => tracing::error!(%error, "what waits in the spool is only there"),
        }
    }

    /// Puts a command into the spool while events are missing from the ledger.
    fn wait(&self, submission: &Submission) -> Result<Result<Receipt, Rejection>, WriterError> {
        if let Some(answer) = self.known(submission)? {
            return Ok(answer);
        }
        if let Some(denial) = privacy::deny(submission, &self.secrets) {
            return Ok(Err(denial.into()));
        }
        if is_forget(submission) {
            return Ok(Err(Self::stopped()));
        }
        let next = "it is committed, if it still passes, once a backup is put back or the operator accepts the loss: \
                    `hm repair --accept-loss --reason TEXT`";
        let why = match self.ledger.head() {
            Cursor::GENESIS => "the ledger that lay here is gone, `hm verify` tells more",
            _ => "the ledger lost its last events, `hm verify` says where",
        };
        Ok(self.spool.accept(submission, why, next).map(|receipt| {
            let warning =
                Warning { code: WarningCode::LedgerDamaged, message: why.to_owned(), claim_id: None };
            Receipt { warnings: vec![warning], ..receipt }
        }))
    }

    /// Continues from the remaining events after the acceptance is in the ledger. A crash before the end leaves the
    /// damage as it was, and the operator accepts it again.
    fn start_anew(&mut self) -> Result<(), WriterError> {
        if self.standing.acceptable.is_none() {
            return Ok(());
        }
        if self.is_stopped() {
            self.renew_projection()?;
        }
        let origin = self.origin()?;
        let checkpoints = Checkpoints::of(self.workspace.memory(), self.state_home.as_deref());
        checkpoints.start_anew(origin.as_ref(), self.ledger.head().seq)?;
        self.standing = Standing::default();
        Ok(())
    }
}

fn is_forget(submission: &Submission) -> bool {
    matches!(submission.command, Command::Forget(_) | Command::ForgetMany(_))
}
