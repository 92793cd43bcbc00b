//! Runs of experiments: one at a time, each in a helper process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use tokio::sync::{mpsc, watch};

use super::commit::{Committer, OwnBatch};
use super::error::WriterError;
use super::work::{Ended, WorkItem};
use crate::domain::decide::experiment;
use crate::domain::experiment::{Plan, RunOutcome, RunState};
use crate::domain::ids::{EventId, RunId};
use crate::domain::scope::Scope;
use crate::domain::state::Run;
use crate::domain::text::Reason;
use crate::domain::versions::Versions;
use crate::runner::helper::Helper;
use crate::runner::order::{About, Message, StreamKey};
use crate::runner::report::Report;
use crate::runner::{Order, tree};
use crate::versions::{Dirs, Marks, marks, seen, touched, written};
use crate::workspace::Workspace;

/// The files of a run's claim and the directories above them, as they were when the run began.
struct Began {
    marks: Marks,
    /// `None` when the work tree is gone.
    dirs: Option<Dirs>,
}

/// A run that a helper executes.
struct Current {
    run: RunId,
    began: Began,
    cancel_tx: watch::Sender<bool>,
}

/// The run in progress, if there is one.
pub(super) struct Dispatcher {
    order_tx: mpsc::UnboundedSender<(Order, watch::Receiver<bool>)>,
    current: Option<Current>,
    busy: Arc<AtomicBool>,
    workspace: Workspace,
    secret_patterns: Vec<String>,
}

impl Dispatcher {
    /// Dispatcher start with the first [`Dispatcher::tick`]; `order_tx` sends them to [`follow`].
    pub(super) fn new(
        workspace: &Workspace,
        secret_patterns: Vec<String>,
        order_tx: mpsc::UnboundedSender<(Order, watch::Receiver<bool>)>,
        busy: Arc<AtomicBool>,
    ) -> Self {
        Self { order_tx, current: None, busy, workspace: workspace.clone(), secret_patterns }
    }

    /// Ends the runs of a previous writer, whose helpers cannot report to this one.
    pub(super) fn reconcile(&self, committer: &mut Committer) -> Result<(), WriterError> {
        let unfinished = committer.state().unfinished_runs();
        let under_way = unfinished.filter(|(_, run)| run.state == RunState::Running);
        for run in under_way.map(|(queued, _)| queued.run_id).collect::<Vec<_>>() {
            let ended = tree::end_marked(run.uuid());
            let problem = format!("the writer that ran it is gone; {ended} processes of it were ended");
            self.abort(committer, run, &problem)?;
        }
        Ok(())
    }

    /// Ends the runs that came with a copied memory or an imported file: this user did not request them.
    pub(super) fn disown(&self, committer: &mut Committer) -> Result<(), WriterError> {
        let unfinished = committer.state().unfinished_runs();
        for run in unfinished.map(|(queued, _)| queued.run_id).collect::<Vec<_>>() {
            let problem = "it came with a memory that was made elsewhere, and was not begun here";
            self.abort(committer, run, problem)?;
        }
        Ok(())
    }

    /// Starts the next run when none is in progress, and cancels the current one when its end was requested.
    pub(super) fn tick(&mut self, committer: &mut Committer) -> Result<(), WriterError> {
        if let Some(Current { run, cancel_tx, .. }) = &self.current {
            if committer.state().is_to_be_cancelled(*run) {
                cancel_tx.send_replace(true);
            }
            return Ok(());
        }
        let Some((run, plan, began)) = self.begin(committer)? else { return Ok(()) };
        match self.order(committer, run, plan) {
            Ok(order) => {
                let (cancel_tx, cancel_rx) = watch::channel(false);
                // The receiver is gone while the process exits; the next writer ends the run.
                let _ = self.order_tx.send((order, cancel_rx));
                self.busy.store(true, Ordering::Relaxed);
                self.current = Some(Current { run, began, cancel_tx });
                Ok(())
            }
            Err(error) => self.abort(committer, run, &format!("cannot prepare the run: {error}")),
        }
    }

    /// Records the start of the oldest queued run, unless a run is in progress. A queued run that no trusted profile
    /// produces, such as an imported one, is ended instead.
    fn begin(&self, committer: &mut Committer) -> Result<Option<(RunId, Plan, Began)>, WriterError> {
        let Some((queued, run)) = committer.state.unfinished_runs().next() else { return Ok(None) };
        if run.state != RunState::Queued {
            return Ok(None);
        }
        let (run_id, agent, plan) = (queued.run_id, run.requested_by.clone(), queued.plan.clone());
        let allowed =
            committer.profiles.as_ref().map_or(Ok(()), |profiles| profiles.still_allow(queued, run));
        if let Err(rejection) = allowed {
            self.abort(committer, run_id, &format!("it was not begun: {}", rejection.message))?;
            return Ok(None);
        }
        let began = Began { marks: self.marks_of(run), dirs: self.dirs_of(run) };
        let batch = committer.own(agent, vec![experiment::started(run_id)]);
        let recorded = committer.record(&[batch])?;
        Ok((recorded == 1).then_some((run_id, plan, began)))
    }

    fn order(&self, committer: &Committer, run_id: RunId, plan: Plan) -> std::io::Result<Order> {
        let run = committer.state().run(run_id);
        Ok(Order {
            run_id: run_id.uuid(),
            plan,
            artifacts: self.workspace.artifacts(run_id),
            key: StreamKey::of(&self.workspace.stream_key())?,
            secret_patterns: self.secret_patterns.clone(),
            subject: None,
            about: run.and_then(|run| self.about(committer, run)),
        })
    }

    /// Records the end of the current run.
    pub(super) fn ended(&mut self, committer: &mut Committer, ended: Ended) -> Result<(), WriterError> {
        let run = RunId::from_uuid(ended.run);
        let current = self.current.take().filter(|current| current.run == run);
        self.busy.store(false, Ordering::Relaxed);
        let outcome = match &ended.report {
            Ok(report) => report.outcome(),
            Err(problem) => RunOutcome::without_files(RunState::Aborted, Reason::cut(problem)),
        };
        self.end(committer, run, outcome, current.map(|current| current.began))
    }

    /// Records that a run was aborted.
    fn abort(&self, committer: &mut Committer, run: RunId, problem: &str) -> Result<(), WriterError> {
        let outcome = RunOutcome::without_files(RunState::Aborted, Reason::cut(problem));
        self.end(committer, run, outcome, None)
    }

    /// Records the end of a run and its consequences for the claim.
    fn end(
        &self,
        committer: &mut Committer,
        run_id: RunId,
        mut outcome: RunOutcome,
        began: Option<Began>,
    ) -> Result<(), WriterError> {
        let Some(run) = committer.state.run(run_id) else { return Ok(()) };
        let agent = run.requested_by.clone();
        let files = if outcome.state.is_conclusive() { self.files_of(run) } else { Versions::new() };
        if let Some(Began { marks, dirs }) = began {
            // A file that was written and restored during the run has its old content and a new mark.
            let now = self.marks_of(run);
            let moves = dirs.map(|dirs| dirs.moves()).unwrap_or_default();
            outcome.written.extend(written(&marks, &now).into_iter().chain(moves.came));
            outcome.moved = moves.moved;
            outcome.touched.extend(touched(&marks, &now).into_iter().chain(moves.touched));
        }
        let first_id = Some(EventId::from_uuid((committer.sources.ids)()));
        let now = committer.now();
        let events = experiment::ended(
            &committer.state,
            run_id,
            first_id,
            &outcome,
            &files,
            (now, &committer.rules()),
        );
        if events.is_empty() {
            return Ok(());
        }
        let batch = OwnBatch { first_id, ..committer.own(agent, events) };
        committer.record(&[batch])?;
        Ok(())
    }

    /// Marks of the files that a run saw, in its work tree; empty when the work tree is gone.
    fn marks_of(&self, run: &Run) -> Marks {
        let there = self.workspace.in_work_tree(run.worktree.as_ref()).ok();
        there.map(|there| marks(there.root(), run.saw.versions.keys())).unwrap_or_default()
    }

    /// The directories above the files that a run saw; `None` when the work tree is gone.
    fn dirs_of(&self, run: &Run) -> Option<Dirs> {
        let there = self.workspace.in_work_tree(run.worktree.as_ref()).ok()?;
        Some(Dirs::above(there.root(), run.saw.versions.keys()))
    }

    /// The part of its work tree that a run is about.
    fn about(&self, committer: &Committer, run: &Run) -> Option<About> {
        let there = self.workspace.in_work_tree(run.worktree.as_ref()).ok()?;
        let claim = run.claim.and_then(|id| committer.state().claim(id)).map(|claim| claim.scopes.clone());
        Some(About { root: there.root().to_owned(), claim: claim.unwrap_or_default() })
    }

    /// The current content of the files that a run saw, in its work tree; empty when the work tree is gone.
    fn files_of(&self, run: &Run) -> Versions {
        let scopes: Vec<Scope> = run.saw.versions.keys().cloned().collect();
        let there = self.workspace.in_work_tree(run.worktree.as_ref()).ok();
        there.map(|there| seen(there.root(), &scopes).0).unwrap_or_default()
    }
}

/// Executes orders one after the other, each in its own helper process.
pub(super) async fn follow(
    binary: PathBuf,
    mut order_rx: mpsc::UnboundedReceiver<(Order, watch::Receiver<bool>)>,
    work_tx: Sender<WorkItem>,
) {
    // If the helper of a run is killed, its children become children of the writer, which finds and ends them.
    if let Err(error) = tree::adopt_orphans() {
        tracing::warn!(%error, "what a killed helper leaves behind is found by its mark alone");
    }
    while let Some((order, cancel_rx)) = order_rx.recv().await {
        let report = execute(&binary, &order, cancel_rx).await;
        if work_tx.send(WorkItem::RunEnded(Ended { run: order.run_id, report })).is_err() {
            return;
        }
    }
}

async fn execute(
    binary: &Path,
    order: &Order,
    mut cancel_rx: watch::Receiver<bool>,
) -> Result<Box<Report>, String> {
    let mut helper =
        Helper::start(binary, order).await.map_err(|error| format!("cannot start a helper: {error}"))?;
    let mut is_cancelled = false;
    loop {
        tokio::select! {
            message = helper.next() => match message {
                Some(Message::Finished(report)) => return Ok(report),
                Some(Message::Lost(problem)) => return Err(problem),
                Some(Message::Progress(_)) => {}
                None => {
                    return Err("the helper was lost: stopped, killed or stuck; what it left was ended".to_owned());
                }
            },
            // A closed sender means that the writer is exiting, and the helper with it.
            changed = cancel_rx.changed(), if !is_cancelled => {
                is_cancelled = true;
                if changed.is_ok() {
                    helper.cancel();
                }
            }
        }
    }
}
