//! A tool call that waits for its run: sends progress, and cancels the run when the client cancels the request.

use std::time::Duration;

use rmcp::model::{CallToolResult, ContentBlock, ProgressNotificationParam};
use serde::de::DeserializeOwned;
use serde_json::json;
use uuid::Uuid;

use super::call::{Call, accepted, refused};
use super::server::Server;
use crate::domain::checkout::Checkout;
use crate::domain::command::{CancelExperiment, Command, Submission};
use crate::domain::experiment::RunState;
use crate::domain::ids::{CommandId, RunId, SessionId};
use crate::domain::receipt::{Acceptance, Receipt};
use crate::domain::rejection::Rejection;
use crate::domain::versions::Versions;
use crate::identity::Speaker;
use crate::reads::Reads;
use crate::store::ExperimentView;
use crate::{system, views};

/// How often a waiting call checks whether its run is over. A person does not notice the delay.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How often a waiting client gets a progress notification.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// Added to the time-out of the run, because other runs in the queue come first.
const QUEUE_GRACE: Duration = Duration::from_secs(10);

impl Server {
    /// Like [`Server::run`], for a command that queues a run. The answer names the run and, if the call waited, its
    /// outcome.
    pub(super) async fn follow<T: DeserializeOwned>(
        &self,
        call: Call,
        wait: bool,
        build: impl FnOnce(T, Uuid) -> Result<Command, Rejection>,
    ) -> CallToolResult {
        let (tool, request) = (call.tool.clone(), call.request.clone());
        let named = call.arguments.get("agent").and_then(serde_json::Value::as_str);
        let speaker = self.speaker(&call, named);
        let receipt = match self.submit(call, |given, asker| build(given, asker.id)).await {
            Ok(receipt) => receipt,
            Err(rejection) => return refused(&rejection),
        };
        let run = receipt.entity_id.map(RunId::from_uuid);
        let mut finished = None;
        if let (true, Some(run), Ok(speaker), Acceptance::Committed) = (wait, run, speaker, receipt.state) {
            let each =
                |run: &ExperimentView| Some((u64::try_from(run.timeout_ms?).ok()?, run.series.clone()));
            let deadline = self.look(run).as_ref().and_then(each);
            let deadline = deadline
                .map_or(0, |(ms, series)| ms.saturating_mul(series.map_or(1, |series| u64::from(series.of))));
            let deadline = system::instant() + Duration::from_millis(deadline) + QUEUE_GRACE;
            let started = system::instant();
            let mut last_progress = started;
            loop {
                finished = self.look(run);
                if finished.as_ref().is_some_and(ExperimentView::is_over) || system::instant() >= deadline {
                    break;
                }
                tokio::select! {
                    () = tokio::time::sleep(LOOK_EVERY) => {}
                    () = request.cancelled() => {
                        self.cancel(run, speaker).await;
                        return refused(&Rejection::new(
                            crate::domain::rejection::Code::Unavailable,
                            "the request was cancelled, and its run with it",
                            format!("read hivemind://experiments/{run} for what it left"),
                        ));
                    }
                }
                if last_progress.elapsed() >= TELL_EVERY {
                    last_progress = system::instant();
                    let state = finished.as_ref().map_or(RunState::Queued, |run| run.status);
                    request.tell(started.elapsed(), &state.to_string()).await;
                }
            }
            if finished.as_ref().is_some_and(ExperimentView::is_over) {
                let folded = |reads: &mut Reads| reads.store().ok().flatten()?.folded().ok();
                let as_of = self.with_reads(folded).map_or(0, |folded| folded.seq);
                self.opened(&[run.to_string()], as_of, &speaker.1);
            }
        }
        self.answered(&tool, &receipt, finished.as_ref())
    }

    fn answered(&self, tool: &str, receipt: &Receipt, run: Option<&ExperimentView>) -> CallToolResult {
        let mut result = accepted(tool, receipt);
        let Some(id) = receipt.entity_id else { return result };
        let workspace = self.with_reads(|reads| reads.workspace().clone());
        let state = run.map_or(RunState::Queued, |run| run.status);
        if let Some(body) = result.structured_content.as_mut() {
            body["run_state"] = json!(state);
            body["artifact_dir"] = json!(workspace.artifacts(RunId::from_uuid(id)));
            if let Some(run) = run {
                body["experiment"] = views::experiment_json(&workspace, run);
            }
        }
        if let Some(run) = run.filter(|run| run.is_over()) {
            result.content.push(ContentBlock::text(views::outcome(run)));
            result.content.extend(views::failure(&workspace, run).map(ContentBlock::text));
        }
        result
    }

    fn look(&self, run: RunId) -> Option<ExperimentView> {
        self.with_reads(|reads| {
            reads.store().ok().flatten().and_then(|store| store.experiment(run).ok()).flatten()
        })
    }

    async fn cancel(&self, run_id: RunId, (speaker, session): (Speaker, SessionId)) {
        let submission = Submission {
            command_id: CommandId::from_uuid(system::new_id()),
            agent: speaker.agent,
            unpinned: speaker.unpinned,
            session: Some(session),
            trace_id: None,
            idempotency_key: None,
            checkout: Checkout::default(),
            versions: Versions::new(),
            command: Command::CancelExperiment(CancelExperiment { run_id }),
        };
        if let Err(rejection) = self.front().submit(submission).await {
            tracing::debug!(%rejection, "a run could not be cancelled with its request");
        }
    }
}

/// The parts of the request that a waiting call needs.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) peer: rmcp::Peer<rmcp::RoleServer>,
    pub(super) cancelled: tokio_util::sync::CancellationToken,
    pub(super) progress: Option<rmcp::model::ProgressToken>,
}

impl Waiting {
    async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// Sends the elapsed time to a client that asked for progress.
    async fn tell(&self, elapsed: Duration, state: &str) {
        let Some(token) = self.progress.clone() else { return };
        let progress = ProgressNotificationParam::new(token, elapsed.as_secs_f64()).with_message(state);
        // This fails when the client has left, and then its request is cancelled too.
        let _ = self.peer.notify_progress(progress).await;
    }
}
