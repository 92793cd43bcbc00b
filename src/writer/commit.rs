//! The pipeline of every write: recognise, decide, append, project, answer.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::experiments::Profiles;
use super::ground::Ground;
use super::spool::{Spool, SpoolError};
use crate::checkpoints::Checkpoints;
use crate::client_session::ClientSession;
use crate::domain::agent::{AgentId, Roster};
use crate::domain::claim::{Position, Status};
use crate::domain::command::{Command, Forget, RunExperiment, SpawnResearcher, Submission, TakePosition};
use crate::domain::decide::{self, Decision, Erasure, Policy, experiment, expiry};
use crate::domain::event::{
    CommandRejected, Event, ExperimentQueued, MemoryDenied, PolicyChanged, Recorded, SpoolFlushed,
};
use crate::domain::experiment::{Plan, Prediction, RunOutcome, RunState};
use crate::domain::ids::{ClaimId, CommandId, EventId, IdempotencyKey, RunId, SessionId};
use crate::domain::privacy::{self, Denial, Secrets};
use crate::domain::receipt::{Acceptance, Lease, Receipt, Warning, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::seat::{self, Seat};
use crate::domain::state::{Claim, Run, State};
use crate::domain::text::{Reason, Statement};
use crate::domain::time::Timestamp;
use crate::domain::versions::{self, Versions};
use crate::imports::Imports;
use crate::ledger::{
    AppendError, Batch, Cursor, ImportError, Imported, Ledger, LedgerError, MAX_BATCH_BYTES,
    MAX_PAYLOAD_BYTES, NewEvent, Origin, Stored,
};
use crate::runner::run::About;
use crate::standing::{Damage, Standing};
use crate::store::{Projection, StoreError};
use crate::system::Sources;
use crate::versions::{Dirs, Marks, Moves, marks, seen, written};
use crate::workspace::{Workspace, WorkspaceError};

/// The most commands in one group. A larger group would only delay its first answer.
pub(super) const MAX_GROUP: usize = 256;
/// Events read at a time for the fold at start: many enough to amortise the statement, few enough to need little
/// memory.
const FOLD_CHUNK: usize = 256;

/// A place on the write path where a test makes the writer abort, to prove that a retry is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// After the decision, before the append.
    Decided,
    /// After the append, before the projection.
    Appended,
    /// After the projection, before the answer.
    Projected,
    /// After the answer.
    Answered,
    /// After the spooled commands are committed, before the spool is truncated.
    Replayed,
    /// After the erased payloads are deleted from the ledger, before they are removed from other files.
    Erased,
}

impl CrashPoint {
    /// Every crash point with its name, in the order of the write path.
    pub const ALL: [(&'static str, Self); 6] = [
        ("decided", Self::Decided),
        ("appended", Self::Appended),
        ("projected", Self::Projected),
        ("answered", Self::Answered),
        ("replayed", Self::Replayed),
        ("erased", Self::Erased),
    ];
}

impl std::str::FromStr for CrashPoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(|(name, _)| name).join(", ");
        Self::ALL
            .into_iter()
            .find(|(name, _)| *name == text)
            .map(|(_, point)| point)
            .ok_or_else(|| format!("`{text}` is no crash point: use one of {names}"))
    }
}

/// Why the writer cannot start or must stop. Acknowledged writes are safe in every case.
#[derive(Debug, thiserror::Error)]
pub enum WriterError {
    /// Another writer serves this workspace.
    #[error("another writer already serves this workspace")]
    Locked,
    /// A file of the memory was replaced: a write to the open file would be lost.
    #[error("{0} is not the file that this writer opened: it leaves, and the next one serves what is there")]
    Replaced(String),
    /// The workspace's files cannot be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The read models cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An append failed; only a restart can recover.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The spool cannot be read or emptied.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// This binary cannot fold an event.
    #[error("event {seq} cannot be folded: {problem}")]
    Fold {
        /// The position of the event.
        seq: u64,
        /// Why it cannot be folded.
        problem: String,
    },
    /// The socket or the lock file cannot be used.
    #[error("cannot listen for clients: {0}")]
    Io(#[from] std::io::Error),
}

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

/// An entry of a group.
enum Item<'a> {
    /// A command to decide.
    Asked(&'a Submission),
    /// An event of the writer itself. `minted` is the id of the first event, if something refers to it.
    Fact { agent: AgentId, causation: CommandId, events: Vec<Event>, minted: Option<Uuid> },
}

/// The progress of one item while its group is committed.
enum Progress {
    Refused(Rejection),
    /// The ledger already held the command.
    Known(Receipt),
    /// A batch of this group, by index.
    New {
        batch: usize,
        decision: Decision,
    },
    /// The same request as an earlier item of this group.
    Twin {
        batch: usize,
    },
}

/// Owns the write handles of both databases and the folded state.
#[derive(Debug)]
pub struct Committer {
    ledger: Ledger,
    projection: Projection,
    spool: Spool,
    state: State,
    policy: Policy,
    secrets: Secrets,
    imports: PathBuf,
    sources: Sources,
    profiles: Option<Profiles>,
    workspace: Workspace,
    state_home: Option<PathBuf>,
    standing: Standing,
    /// The files of the current run's claim and the directories above them, as they were when the run began.
    began: Option<(RunId, Marks, Option<Dirs>)>,
    crash_at: Option<CrashPoint>,
    /// Whether the commands come from the spool. Their authors already have receipts.
    is_replaying: bool,
    /// The last field, because it must be dropped after the ledger.
    ground: Option<Ground>,
}

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
        workspace.ensure()?;
        let ledger = Ledger::open(&workspace.ledger())?;
        // This runs before the read models are opened and folded, because their old position shows a loss of
        // events.
        let standing = Standing::of(workspace, state_home)?;
        let is_whole = !standing.damage.as_ref().is_some_and(Damage::stops_writes);
        let state = fold(&ledger)?;
        let owes_erasure = ledger.file().owes_erasure()?;
        let mut projection = Projection::open(&workspace.team_memory())?;
        if let Err(error) = if is_whole { projection.catch_up(&ledger) } else { Ok(()) } {
            tracing::error!(%error, "the read models stay behind until `hm rebuild`");
        }
        let secrets = Secrets::default();
        let spool = Spool::of(workspace);
        let mut committer = Self {
            ledger,
            projection,
            spool,
            state,
            policy,
            secrets,
            imports: workspace.imports(),
            sources,
            profiles: None,
            workspace: workspace.clone(),
            state_home: state_home.map(Path::to_owned),
            standing,
            crash_at: None,
            is_replaying: false,
            ground: None,
            began: None,
        };
        committer.drop_lost_imports()?;
        if owes_erasure && is_whole {
            // A crash interrupted an erasure after its redaction.
            committer.erase()?;
        }
        Ok(committer)
    }

    /// Also refuses the team's own patterns. The built-in rules always apply.
    #[must_use]
    pub fn guarding(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Also plans runs, from the profiles of a workspace, with the agents of the roster.
    #[must_use]
    pub fn planning(mut self, workspace: &Workspace, roster: &Roster) -> Self {
        self.profiles = Some(Profiles::of(workspace, roster.clone()));
        self
    }

    /// Makes the writer abort at a crash point, for tests of recovery.
    #[must_use]
    pub const fn crashing_at(mut self, point: Option<CrashPoint>) -> Self {
        self.crash_at = point;
        self
    }

    /// Also checks that these files stay at their paths; otherwise the writer acknowledges nothing.
    #[must_use]
    pub(super) fn standing_on(mut self, ground: Ground) -> Self {
        self.ground = Some(ground);
        self
    }

    /// Checks that no file of the writer was removed or replaced.
    ///
    /// # Errors
    /// [`WriterError::Replaced`]; the process must then exit.
    pub(super) fn check_ground(&self) -> Result<(), WriterError> {
        let Some(ground) = &self.ground else { return Ok(()) };
        if let Some(lost) = ground.lost() {
            return Err(WriterError::Replaced(lost.display().to_string()));
        }
        // Read models in a removed file have no readers. The next writer builds them again.
        let models = self.workspace.team_memory();
        if models.exists() { Ok(()) } else { Err(WriterError::Replaced(models.display().to_string())) }
    }

    /// The id of the ledger; `None` before its first event.
    pub(super) fn origin(&self) -> Result<Option<Origin>, WriterError> {
        let first = self.ledger.read_from(Cursor::GENESIS, 1)?;
        Ok(first.first().map(|first| Origin::of(&first.hash)))
    }

    /// The position of the last event.
    pub const fn head(&self) -> Cursor {
        self.ledger.head()
    }

    /// The damage of the ledger or its checkpoints, until the operator accepts it.
    pub const fn damage(&self) -> Option<&Damage> {
        self.standing.damage.as_ref()
    }

    /// Whether events are missing, so that nothing is appended.
    pub fn is_stopped(&self) -> bool {
        self.damage().is_some_and(Damage::stops_writes)
    }

    /// The state against which the next command is decided.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Decides and appends a group of commands with one ledger transaction, one fsync and one projection
    /// transaction. A refused command does not affect the others.
    ///
    /// # Errors
    /// [`WriterError`] when the state of the disk is unknown; the process must then exit.
    pub fn commit(&mut self, group: &[Submission]) -> Result<Vec<Result<Receipt, Rejection>>, WriterError> {
        let mut outcomes = Vec::with_capacity(group.len());
        let is_forget = |submission: &Submission| matches!(submission.command, Command::Forget(_));
        let accepts = |submission: &Submission| matches!(submission.command, Command::AcceptLoss(_));
        let stands_alone = |submission: &Submission| is_forget(submission) || accepts(submission);
        // An erasure needs the commands before it in the ledger, and the commands after it need the erasure done.
        for part in group.chunk_by(|one, next| !stands_alone(one) && !stands_alone(next)) {
            if self.is_stopped() && !part.iter().any(accepts) {
                for submission in part {
                    outcomes.push(self.wait(submission)?);
                }
                continue;
            }
            if part.iter().any(accepts) {
                // The directory may have changed since the writer started.
                self.standing = Standing::of(&self.workspace, self.state_home.as_deref())?;
            }
            outcomes.extend(self.commit_items(&part.iter().map(Item::Asked).collect::<Vec<_>>())?);
            if part.iter().any(accepts) && outcomes.last().is_some_and(Result::is_ok) {
                self.start_anew()?;
            }
            if part.iter().any(is_forget)
                && let Some(Ok(receipt)) = outcomes.last_mut()
                && self.ledger.file().owes_erasure()?
                && !self.erase()?
            {
                receipt.warnings.push(unfinished());
            }
        }
        Ok(outcomes)
    }

    /// Puts a command into the spool while events are missing from the ledger.
    fn wait(&self, submission: &Submission) -> Result<Result<Receipt, Rejection>, WriterError> {
        if let Some(answer) = self.known(submission)? {
            return Ok(answer);
        }
        if let Some(denial) = privacy::deny(submission, &self.secrets) {
            return Ok(Err(denial.into()));
        }
        if matches!(submission.command, Command::Forget(_)) {
            return Ok(Err(stopped()));
        }
        let next = "it is committed, if it still passes, once a backup is put back or the operator accepts the loss: \
                    `hm repair --accept-loss --reason TEXT`";
        let why = "the ledger lost its last events, `hm verify` says where";
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
        let genesis = self.ledger.read_from(Cursor::GENESIS, 1)?;
        let origin = genesis.first().map(|genesis| Origin::of(&genesis.hash));
        let checkpoints = Checkpoints::of(self.workspace.memory(), self.state_home.as_deref());
        checkpoints.start_anew(origin.as_ref(), self.ledger.head().seq)?;
        self.standing = Standing::default();
        Ok(())
    }

    fn commit_items(&mut self, items: &[Item<'_>]) -> Result<Vec<Result<Receipt, Rejection>>, WriterError> {
        let is_acceptance = |item: &Item<'_>| matches!(item, Item::Asked(asked) if matches!(asked.command, Command::AcceptLoss(_)));
        if self.is_stopped() && !items.iter().all(is_acceptance) {
            // These are records of the writer itself.
            return Ok(items.iter().map(|_| Err(stopped())).collect());
        }
        let mut batches: Vec<Batch> = Vec::new();
        let mut recorded: Vec<Recorded> = Vec::new();
        let mut progress: Vec<Progress> = Vec::with_capacity(items.len());
        let mut by_command: HashMap<CommandId, usize> = HashMap::new();
        let mut by_key: HashMap<(AgentId, IdempotencyKey), usize> = HashMap::new();
        for item in items {
            let (submission, seat) = match item {
                Item::Asked(submission) => match self.seated(submission) {
                    Ok(seated) => seated,
                    Err(rejection) => {
                        progress.push(
                            match (self.known(submission)?, privacy::deny(submission, &self.secrets)) {
                                (Some(answer), _) => answer.map_or_else(Progress::Refused, Progress::Known),
                                // The sentence of the refusal may quote the session.
                                (None, Some(denial)) => Progress::Refused(denial.into()),
                                (None, None) => Progress::Refused(rejection),
                            },
                        );
                        continue;
                    }
                },
                Item::Fact { agent, causation, events, minted } => {
                    let batch = self.batch_of_facts(agent, *causation, events, *minted);
                    let decision = Decision { events: events.clone(), ..Decision::default() };
                    self.stage(batch, &decision, &mut batches, &mut recorded);
                    progress.push(Progress::New { batch: batches.len() - 1, decision });
                    continue;
                }
            };
            let submission = submission.as_ref();
            let key = submission.idempotency_key.clone().map(|key| (submission.agent.clone(), key));
            let twin = match by_command.get(&submission.command_id) {
                Some(batch) => Some(*batch),
                // As in `known`, the command's own id takes precedence over its key.
                None => match key.as_ref().and_then(|key| by_key.get(key)) {
                    Some(batch) if self.ledger.find_command(submission.command_id)?.is_empty() => {
                        Some(*batch)
                    }
                    _ => None,
                },
            };
            progress.push(if let Some(batch) = twin {
                match same_request(submission, &batches[batch].events[0].payload) {
                    Ok(()) => Progress::Twin { batch },
                    Err(conflict) => Progress::Refused(conflict),
                }
            } else if let Some(answer) = self.known(submission)? {
                answer.map_or_else(Progress::Refused, Progress::Known)
            } else if let Some(denial) = privacy::deny(submission, &self.secrets) {
                // Fronts scan before they send. This front did not, or it knew other patterns.
                let (batch, decision) = self.denied(&submission.agent, denial.clone());
                self.stage(batch, &decision, &mut batches, &mut recorded);
                Progress::Refused(denial.into())
            } else {
                let takes = seat.as_ref().filter(|seat| !seat.events.is_empty());
                let before = takes.map(|seat| {
                    let now = (self.sources.clock)();
                    self.state.sit_down(&seat.events, now)
                });
                match self.prepare(submission, seat) {
                    Err(rejection) => {
                        before.into_iter().for_each(|before| self.state.stand_up(before));
                        Progress::Refused(rejection)
                    }
                    Ok((batch, decision)) => {
                        by_command.insert(submission.command_id, batches.len());
                        if let Some(key) = key {
                            by_key.insert(key, batches.len());
                        }
                        self.stage(batch, &decision, &mut batches, &mut recorded);
                        Progress::New { batch: batches.len() - 1, decision }
                    }
                }
            });
        }
        if batches.is_empty() {
            self.check_ground()?;
            return Ok(progress.into_iter().map(|done| self.named(answer(done, &[]))).collect());
        }
        self.crash(CrashPoint::Decided);
        let start = self.ledger.head();
        let head = match self.ledger.append(start, &batches) {
            Ok(head) => head,
            Err(AppendError::Unavailable(failure)) => {
                // The append wrote nothing, but the state already includes the batch. Fold the ledger again.
                self.state = fold(&self.ledger)?;
                let refusal = Rejection::new(
                    Code::Unavailable,
                    format!("the ledger cannot be written: {failure}"),
                    "free disk space or mend the permissions of its directory, then retry with the same key; \
                     `hm verify` tells whether the file is damaged",
                );
                return Ok(progress
                    .into_iter()
                    .map(|done| match done {
                        Progress::New { .. } | Progress::Twin { .. } => Err(refusal.clone()),
                        Progress::Refused(_) | Progress::Known(_) => answer(done, &[]),
                    })
                    .collect());
            }
            Err(error) => return Err(error.into()),
        };
        self.crash(CrashPoint::Appended);
        self.check_ground()?;
        if !self.is_stopped() {
            self.project(start, &recorded, head);
        }
        self.crash(CrashPoint::Projected);
        let appended = receipts(start, &batches, &recorded);
        Ok(progress.into_iter().map(|done| self.named(answer(done, &appended))).collect())
    }

    /// Adds the short name of the entity to an answer.
    fn named(&self, answer: Result<Receipt, Rejection>) -> Result<Receipt, Rejection> {
        let names = self.state.work().names();
        answer.map(|receipt| {
            let name = receipt.entity_id.and_then(|id| names.of(id)).map(|name| name.to_string());
            Receipt { name, ..receipt }
        })
    }

    /// Records the rules of this writer if the ledger last recorded other ones.
    pub fn record_policy(&mut self) -> Result<(), WriterError> {
        let (now, was) = (self.policy, self.state.policy());
        if now == was {
            return Ok(());
        }
        let changed = PolicyChanged {
            quorum: now.quorum,
            was: was.quorum,
            agents_may_override_operator: now.agents_may_override_operator,
            agents_might_override_operator: was.agents_may_override_operator,
        };
        let events = vec![changed.into()];
        let causation = CommandId::from_uuid((self.sources.ids)());
        self.commit_items(&[Item::Fact { agent: AgentId::system(), causation, events, minted: None }])?;
        Ok(())
    }

    /// Brings the read models to `head`. If the fold fails, they stay behind and the events stay in the ledger.
    fn project(&mut self, start: Cursor, recorded: &[Recorded], head: Cursor) {
        let projection = &mut self.projection;
        let ledger = &self.ledger;
        let folded = catch_unwind(AssertUnwindSafe(|| {
            if projection.folded() == start {
                projection.apply(recorded, head)
            } else {
                projection.catch_up(ledger)
            }
        }));
        match folded {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the read models are behind until `hm rebuild`"),
            Err(_) => tracing::error!("folding panicked: the read models are behind until `hm rebuild`"),
        }
    }

    /// The answer to a request that the ledger already holds.
    fn known(&self, submission: &Submission) -> Result<Option<Result<Receipt, Rejection>>, WriterError> {
        let mut stored = self.ledger.find_command(submission.command_id)?;
        if stored.is_empty()
            && let Some(key) = &submission.idempotency_key
        {
            stored = self.ledger.find_key(&submission.agent, key)?;
        }
        Ok(receipt_of(&stored, submission))
    }

    /// Resolves the agent of a command, and the seat that its pane takes.
    fn seated<'s>(
        &mut self,
        asked: &'s Submission,
    ) -> Result<(Cow<'s, Submission>, Option<Seat>), Rejection> {
        let Some(unpinned) = &asked.unpinned else { return Ok((Cow::Borrowed(asked), None)) };
        let now = (self.sources.clock)();
        let running = OnceCell::new();
        let is_running = |session: &SessionId| {
            running.get_or_init(|| ClientSession::all(&self.workspace)).get(session).copied()
        };
        let is_on_roster = |agent: &AgentId| {
            let named = self.profiles.as_ref().and_then(|profiles| profiles.resolve(agent.as_str()));
            named.is_some_and(|named| named != *agent)
        };
        let checkout = &asked.checkout;
        let ground = seat::Ground { is_running: &is_running, is_on_roster: &is_on_roster, checkout };
        // The end of a session takes no seat.
        let may_take = !matches!(asked.command, Command::EndSession(_));
        let parent = if let Command::StartSession(start) = &asked.command {
            start.parent_session.as_ref()
        } else {
            None
        };
        let sessions = (asked.session.as_ref(), parent);
        let seat = seat::seat(&self.state, unpinned, sessions, may_take, now, &ground)?;
        let submission = Submission { agent: seat.agent.clone(), unpinned: None, ..asked.clone() };
        Ok((Cow::Owned(submission), Some(seat)))
    }

    /// Decides a command, with the facts that only the writer has: the profiles of the workspace.
    fn decided(&mut self, submission: &Submission, now: Timestamp) -> Result<Decision, Rejection> {
        let Submission { agent, session, checkout, versions, command, .. } = submission;
        decide::check_last(&self.state, session.as_ref(), command, submission.command_id)?;
        // The front may know other patterns.
        let checkout = checkout.clone().without(|text| !privacy::scan(text, &self.secrets).is_empty());
        let decide = |command: &Command| {
            let session = session.as_ref();
            let seen = (&checkout, versions);
            let decision =
                decide::decide_seeing(&self.state, agent, session, seen, command, now, &self.policy)?;
            versions::witnessed(&self.state, decision, versions, &checkout)
        };
        let Some(profiles) = &self.profiles else { return decide(command) };
        if let Command::RunExperiment(run) = command {
            let here = profiles.in_work_tree(checkout.worktree.as_ref())?;
            let plan = Some(here.plan(run)?);
            let further_runs = (1..run.repeat.unwrap_or(1).min(MAX_GROUP as u32))
                .map(|_| RunId::from_uuid((self.sources.ids)()));
            let further_runs = further_runs.collect();
            let statement = run.claim_id.and_then(|id| self.statement(id));
            let claim = run.claim_id.and_then(|id| self.state.claim(id));
            let planned =
                Command::RunExperiment(RunExperiment { plan, statement, further_runs, ..run.clone() });
            return decide(&planned).map_err(|refused| match claim {
                Some(claim) if refused.code == Code::ProfileCannotSettle => here.naming_who_settles(
                    refused,
                    &claim.scopes,
                    run.prediction.unwrap_or(Prediction::Passes),
                ),
                _ => refused,
            });
        }
        if let Command::SpawnResearcher(spawn) = command {
            let mission = Some(profiles.in_work_tree(checkout.worktree.as_ref())?.mission(spawn, agent)?);
            return decide(&Command::SpawnResearcher(SpawnResearcher { mission, ..spawn.clone() }));
        }
        let mut decision = decide(command)?;
        if let Command::TakePosition(TakePosition { claim_id, position: Position::Challenge, .. }) = command
            && let Some(claim) = self.state.claim(*claim_id)
            // Only a contested claim waits for a run. An override proposal does not contest a claim.
            && decision.events.iter().any(|event| contests(event, claim))
            && let Some(settling) = profiles.settling(*claim_id, claim.claim_type, &claim.scopes)
        {
            decision.next = decision.next.map(|next| format!("{next}; {settling}"));
        }
        Ok(decision)
    }

    /// The statement of a claim in the ledger; `None` when it was erased.
    fn statement(&self, id: ClaimId) -> Option<Statement> {
        let stored = self.ledger.event(id.creation_event()).ok()??;
        let Event::ClaimCreated(created) = stored.recorded().ok()?.event? else { return None };
        Some(created.statement)
    }

    fn prepare(
        &mut self,
        submission: &Submission,
        seat: Option<Seat>,
    ) -> Result<(Batch, Decision), Rejection> {
        let now = (self.sources.clock)();
        let Submission { agent, command, .. } = submission;
        let mut decision = if let Command::Forget(command) = command {
            self.decide_erasure(agent, command)?
        } else if let Command::AcceptLoss(command) = command {
            decide::accept_loss(agent, command, self.standing.acceptable.as_ref())?
        } else {
            self.decided(submission, now)?
        };
        if self.is_replaying && !matches!(command, Command::RecordFiring(_)) {
            // The author of a replayed command already has its receipt and never sees its warnings.
            decision.events.retain(|event| !matches!(event, Event::GuardFired(_)));
        }
        if let Some(seat) = seat {
            decision.events.extend(seat.events);
            decision.warnings.extend(seat.told);
        }
        let mut events = Vec::with_capacity(decision.events.len());
        for (index, event) in decision.events.iter().enumerate() {
            let mut body = event.to_body();
            if index == 0 {
                body["command_hash"] = command_hash(&submission.command).into();
            }
            let minted = event.about().own_id(submission.command.minted());
            events.push(self.new_event(minted, event, &body));
        }
        let largest = events.iter().map(|event| event.payload.len()).max().unwrap_or(0);
        let total: usize = events.iter().map(|event| event.payload.len()).sum();
        if largest > MAX_PAYLOAD_BYTES || total > MAX_BATCH_BYTES {
            return Err(Rejection::new(
                Code::TooLarge,
                format!("the command carries {total} bytes, more than one may hold"),
                "shorten it, or put the long part in a file and name the file",
            ));
        }
        let batch = Batch {
            command_id: submission.command_id,
            agent: submission.agent.clone(),
            session: submission.session.clone(),
            trace_id: submission.trace_id.clone(),
            idempotency_key: submission.idempotency_key.clone(),
            at: now,
            events,
        };
        Ok((batch, decision))
    }

    /// Decides an erasure, with the payloads of its target from the ledger.
    fn decide_erasure(&self, agent: &AgentId, command: &Forget) -> Result<Decision, Rejection> {
        let unread = |error: LedgerError| {
            Rejection::new(Code::Unavailable, error.to_string(), "nothing was erased; `hm verify` tells more")
        };
        let recorded = |stored: &Stored| stored.recorded().ok();
        let target = self.ledger.event(command.event_id).map_err(unread)?.as_ref().and_then(recorded);
        let mut related = Vec::new();
        if let Some(target) = &target {
            let body = target.event.as_ref();
            let run = body.and_then(Event::run_id).map(|run| run.to_string());
            let about = run.or_else(|| Some(body.and_then(Event::claim_id)?.to_string()));
            let task = body.and_then(Event::task_id).filter(|_| about.is_none());
            let mut stored = match about.or_else(|| task.map(|task| task.to_string())) {
                Some(id) => self.ledger.mentioning(&id).map_err(unread)?,
                None => Vec::new(),
            };
            // Some events name a task and are about another one: a task that waits for it, or a part of it.
            if task.is_some() {
                let of_it = |event: &Stored| recorded(event)?.event.as_ref().and_then(Event::task_id);
                stored.retain(|event| of_it(event) == task);
            }
            stored.extend(self.ledger.find_command(target.causation).map_err(unread)?);
            stored.sort_by_key(|event| event.seq);
            stored.dedup_by_key(|event| event.seq);
            related.extend(stored.iter().filter_map(recorded));
        }
        decide::forget(&self.state, agent, &Erasure { command, target: target.as_ref(), related: &related })
    }

    /// The record of a denial. It has a command id of its own, so that the author can correct the denied command
    /// and send it again.
    fn denied(&mut self, agent: &AgentId, denial: Denial) -> (Batch, Decision) {
        let Denial { rule, field, command } = denial;
        let events: Vec<Event> = vec![MemoryDenied { rule, field, command }.into()];
        let causation = CommandId::from_uuid((self.sources.ids)());
        let batch = self.batch_of_facts(&self.recordable(agent), causation, &events, None);
        (batch, Decision { events, ..Decision::default() })
    }

    /// An agent name that is safe to record. A submission that came without a front may hold any text as its name.
    fn recordable(&self, agent: &AgentId) -> AgentId {
        let clean = privacy::scan(agent.as_str(), &self.secrets).is_empty();
        if clean { agent.clone() } else { AgentId::system() }
    }

    /// Keeps a rejected spool line for a human, without the secrets that it may hold.
    fn set_aside(&self, spool: &Spool, line: &str, reason: &str) -> Result<(), SpoolError> {
        let clean = |text: &str| privacy::redacted(text, &self.secrets);
        spool.set_aside(&clean(line), &clean(reason))
    }

    fn batch_of_facts(
        &mut self,
        agent: &AgentId,
        causation: CommandId,
        events: &[Event],
        minted: Option<Uuid>,
    ) -> Batch {
        Batch {
            command_id: causation,
            agent: agent.clone(),
            session: None,
            trace_id: None,
            idempotency_key: None,
            at: (self.sources.clock)(),
            events: events
                .iter()
                .enumerate()
                .map(|(at, event)| self.new_event(minted.filter(|_| at == 0), event, &event.to_body()))
                .collect(),
        }
    }

    fn new_event(&mut self, minted: Option<Uuid>, event: &Event, body: &serde_json::Value) -> NewEvent {
        NewEvent {
            id: EventId::from_uuid(minted.unwrap_or_else(|| (self.sources.ids)())),
            kind: event.kind(),
            min_reader: event.min_reader(),
            payload: serde_json_canonicalizer::to_string(body)
                .expect("event bodies are plain data with finite numbers"),
            salt: (self.sources.entropy)(),
        }
    }

    /// Folds a batch into the state, so that the next command of the group sees it.
    fn stage(
        &mut self,
        batch: Batch,
        decision: &Decision,
        batches: &mut Vec<Batch>,
        recorded: &mut Vec<Recorded>,
    ) {
        for (new, event) in batch.events.iter().zip(&decision.events) {
            let event = Recorded {
                seq: self.ledger.head().seq + recorded.len() as u64 + 1,
                id: new.id,
                agent: batch.agent.clone(),
                session: batch.session.clone(),
                causation: batch.command_id,
                at: batch.at,
                event: Some(event.clone()),
                erased: None,
            };
            self.state.evolve(&event);
            recorded.push(event);
        }
        batches.push(batch);
    }

    /// Removes redacted data from every file of the workspace: payloads, read models, both logs, the spools. The
    /// operation is idempotent, and the next open completes it after a crash. Returns false when it is incomplete:
    /// the payloads are deleted, but their bytes may remain in a file.
    pub fn erase(&mut self) -> Result<bool, WriterError> {
        if self.is_stopped() {
            // The erasure would rebuild the read models, and their position is the evidence of the loss.
            return Ok(false);
        }
        let erased = self.ledger.file().erase();
        self.crash(CrashPoint::Erased);
        self.state = fold(&self.ledger)?;
        let redacted = self.ledger.redacted()?;
        let renewed = self.renew_projection();
        let scrubbed = self.spool.scrub(|line| redacted.iter().any(|event| holds(line, event)));
        let mut done = true;
        for outcome in [
            erased.map_err(WriterError::from),
            renewed.map_err(WriterError::from),
            scrubbed.map(|()| true).map_err(WriterError::from),
            self.scrub_artifacts().map(|()| true).map_err(WriterError::from),
        ] {
            match outcome {
                Ok(all) => done &= all,
                Err(error) => {
                    tracing::error!(%error, "the erasure is not finished: it is tried again");
                    done = false;
                }
            }
        }
        if done {
            self.ledger.file().settle_erasure()?;
        }
        Ok(done)
    }

    /// Removes the files of runs whose end was erased.
    fn scrub_artifacts(&self) -> std::io::Result<()> {
        let Some(profiles) = &self.profiles else { return Ok(()) };
        for run in self.state.erased_runs() {
            match std::fs::remove_dir_all(profiles.artifacts_of(run)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Whether [`Committer::erase`] must be tried again.
    pub fn owes_erasure(&self) -> Result<bool, WriterError> {
        Ok(self.ledger.file().owes_erasure()?)
    }

    /// Rebuilds the read models in a new file. Events that cannot be folded are left out.
    fn renew_projection(&mut self) -> Result<bool, StoreError> {
        let (projection, ledger) = (&mut self.projection, &self.ledger);
        match catch_unwind(AssertUnwindSafe(|| projection.rebuild(ledger, |_| ()))) {
            Ok(Ok(())) => return self.projection.rewrite(),
            Ok(Err(error)) => tracing::error!(%error, "the read models are dropped, and behind"),
            Err(_) => tracing::error!("folding panicked: the read models are dropped, and behind"),
        }
        self.projection.start_over()?;
        Ok(true)
    }

    /// Commits the commands of the spool in order, then empties it.
    ///
    /// # Errors
    /// [`WriterError`]. A line leaves the spool only when it is in the ledger or set aside.
    pub fn replay(&mut self, spool: &Spool) -> Result<Replayed, WriterError> {
        let mut done = Replayed::default();
        if self.is_stopped() {
            return Ok(done);
        }
        let mut offset = 0;
        loop {
            let lines = spool.read_after(offset)?;
            for chunk in lines.complete.chunks(MAX_GROUP) {
                if !self.replay_lines(spool, chunk, &mut done)? {
                    // The store cannot take the commands now; they stay in the spool.
                    return Ok(done);
                }
            }
            if let Some(torn) = &lines.torn {
                self.set_aside(
                    spool,
                    torn,
                    "half a line: its front died while writing, it was never acknowledged",
                )?;
                done.rejected += 1;
            }
            offset = lines.end;
            if done != Replayed::default() {
                self.crash(CrashPoint::Replayed);
            }
            if offset == 0 || spool.truncate_after(&lines)? {
                break;
            }
        }
        // Logs the replay also when it found only duplicates, which a crash before the truncation leaves behind.
        if done != Replayed::default() {
            let Replayed { committed, duplicates, rejected } = done;
            let events = vec![SpoolFlushed { committed, duplicates, rejected }.into()];
            let causation = CommandId::from_uuid((self.sources.ids)());
            self.commit_items(&[Item::Fact { agent: AgentId::system(), causation, events, minted: None }])?;
        }
        Ok(done)
    }

    /// Commits some spool lines; false when the store cannot take them now.
    fn replay_lines(
        &mut self,
        spool: &Spool,
        lines: &[String],
        done: &mut Replayed,
    ) -> Result<bool, WriterError> {
        let mut submissions: Vec<(&str, Submission)> = Vec::new();
        // Both lists are written at the end, because lines that stay in the spool are read again.
        let (mut aside, mut later) = (Vec::new(), Vec::new());
        for line in lines {
            match serde_json::from_str::<Submission>(line) {
                // Only the operator at a terminal may accept a loss, never a file.
                Ok(Submission { command: Command::AcceptLoss(_), .. }) => {
                    let why = "a loss is accepted by the operator at a terminal, never from a spool";
                    aside.push((line.as_str(), why.to_owned()));
                }
                Ok(submission) => submissions.push((line, submission)),
                // A complete line of a newer version of hm is kept for the writer of that version.
                Err(_) if is_of_a_newer_version(line) => later.push(line),
                Err(error) => {
                    aside.push((line.as_str(), format!("not a command this version knows: {error}")));
                }
            }
        }
        let group: Vec<Submission> = submissions.iter().map(|(_, submission)| submission.clone()).collect();
        self.is_replaying = true;
        let outcomes = self.commit(&group);
        self.is_replaying = false;
        let outcomes = outcomes?;
        let mut rejections: Vec<Item<'_>> = Vec::new();
        let mut refused: HashSet<CommandId> = HashSet::new();
        for ((line, submission), outcome) in submissions.iter().zip(outcomes) {
            match outcome {
                Ok(receipt) if receipt.duplicate => done.duplicates += 1,
                Ok(_) => done.committed += 1,
                Err(rejection) if rejection.code == Code::Unavailable => return Ok(false),
                // An interrupted replay has recorded this refusal already.
                Err(_) if !self.ledger.find_command(submission.command_id)?.is_empty() => {
                    done.duplicates += 1;
                }
                // A request that was queued twice is refused once, because a command has one refusal on record.
                Err(_) if !refused.insert(submission.command_id) => done.duplicates += 1,
                Err(rejection) => {
                    aside.push((*line, rejection.to_string()));
                    let agent = self.seated(submission).map_or_else(
                        |_| submission.agent.clone(),
                        |(submission, _)| submission.agent.clone(),
                    );
                    rejections.push(Item::Fact {
                        agent: self.recordable(&agent),
                        minted: None,
                        causation: submission.command_id,
                        events: vec![
                            CommandRejected {
                                command_id: submission.command_id,
                                kind: submission.command.name().to_owned(),
                                code: rejection.code,
                                message: rejection.message,
                            }
                            .into(),
                        ],
                    });
                }
            }
        }
        for (line, why) in aside {
            self.set_aside(spool, line, &why)?;
            done.rejected += 1;
        }
        for line in later {
            spool.keep_for_later(line)?;
        }
        if !rejections.is_empty() {
            self.commit_items(&rejections)?;
        }
        Ok(true)
    }

    /// Runs that a writer started and that have not ended.
    pub(super) fn runs_under_way(&self) -> Vec<RunId> {
        let under_way = |(queued, run): (&ExperimentQueued, &Run)| {
            (run.state == RunState::Running).then_some(queued.run_id)
        };
        self.state.unfinished_runs().filter_map(under_way).collect()
    }

    /// Runs that have not ended, queued ones included.
    pub(super) fn unfinished_runs(&self) -> Vec<RunId> {
        self.state.unfinished_runs().map(|(queued, _)| queued.run_id).collect()
    }

    /// Starts the oldest queued run, unless a run is in progress. A queued run that no trusted profile produces,
    /// such as an imported one, is ended instead.
    pub(super) fn begin_run(&mut self) -> Result<Option<(RunId, Plan)>, WriterError> {
        let Some((queued, run)) = self.state.unfinished_runs().next() else { return Ok(None) };
        if run.state != RunState::Queued {
            return Ok(None);
        }
        let (run_id, agent, plan) = (queued.run_id, run.requested_by.clone(), queued.plan.clone());
        let allowed = self.profiles.as_ref().map_or(Ok(()), |profiles| profiles.still_allow(queued, run));
        if let Err(rejection) = allowed {
            let problem = format!("it was not begun: {}", rejection.message);
            let problem = problem.chars().take(Reason::MAX_CHARS).collect::<String>().parse().ok();
            self.end_run(run_id, &RunOutcome::without_files(RunState::Aborted, problem))?;
            return Ok(None);
        }
        let causation = CommandId::from_uuid((self.sources.ids)());
        let events = vec![experiment::started(run_id)];
        self.began = self.state.run(run_id).map(|run| (run_id, self.marks_of(run), self.dirs_of(run)));
        let begun = self.commit_items(&[Item::Fact { agent, causation, events, minted: None }])?;
        Ok(begun.iter().all(Result::is_ok).then_some((run_id, plan)))
    }

    /// Records the end of a run and its consequences for the claim.
    pub(super) fn end_run(&mut self, run_id: RunId, outcome: &RunOutcome) -> Result<(), WriterError> {
        let Some(run) = self.state.run(run_id) else { return Ok(()) };
        let agent = run.requested_by.clone();
        let files = if outcome.state.is_conclusive() { self.files_of(run) } else { Versions::new() };
        let mut outcome = outcome.clone();
        if let Some((_, marks, dirs)) = self.began.take_if(|(began, ..)| *began == run_id) {
            // A file that was written and restored during the run has its old content and a new mark.
            outcome.written = written(&marks, &self.marks_of(run));
            let Moves { moved, touched } = dirs.map(|dirs| dirs.moves()).unwrap_or_default();
            outcome.moved = moved;
            outcome.touched = touched;
        }
        let outcome = &outcome;
        let event_id = (self.sources.ids)();
        let (id, now) = (Some(EventId::from_uuid(event_id)), (self.sources.clock)());
        let events = experiment::ended(&self.state, run_id, id, outcome, &files, now);
        if events.is_empty() {
            return Ok(());
        }
        let causation = CommandId::from_uuid((self.sources.ids)());
        self.commit_items(&[Item::Fact { agent, causation, events, minted: Some(event_id) }])?;
        Ok(())
    }

    /// Marks of the files that a run saw, in its work tree; empty when the work tree is gone.
    fn marks_of(&self, run: &Run) -> Marks {
        let there = self.workspace.in_work_tree(run.worktree.as_ref()).ok();
        there.map(|there| marks(there.root(), run.saw.versions.keys())).unwrap_or_default()
    }

    /// The directories above the files that a run saw; none when the work tree is gone.
    fn dirs_of(&self, run: &Run) -> Option<Dirs> {
        let there = self.workspace.in_work_tree(run.worktree.as_ref()).ok()?;
        Some(Dirs::above(there.root(), run.saw.versions.keys()))
    }

    /// The part of its work tree that a run is about.
    pub(super) fn about(&self, run_id: RunId) -> Option<About> {
        let run = self.state.run(run_id)?;
        let there = self.workspace.in_work_tree(run.worktree.as_ref()).ok()?;
        let claim = run.claim.and_then(|id| self.state.claim(id)).map(|claim| claim.scopes.clone());
        Some(About { root: there.root().to_owned(), claim: claim.unwrap_or_default() })
    }

    /// The current content of the files that a run saw, in its work tree; empty when the work tree is gone.
    fn files_of(&self, run: &Run) -> Versions {
        let scopes: Vec<Scope> = run.saw.versions.keys().cloned().collect();
        let there = self.workspace.in_work_tree(run.worktree.as_ref()).ok();
        there.map(|there| seen(there.root(), &scopes).0).unwrap_or_default()
    }

    /// Deprecates expired claims and returns their number. The operation is idempotent.
    pub fn sweep(&mut self) -> Result<usize, WriterError> {
        let now = (self.sources.clock)();
        let mut swept = 0;
        for chunk in self.state.expired(now).chunks(MAX_GROUP) {
            let mut items = Vec::new();
            for id in chunk {
                let Some(claim) = self.state.claim(*id) else { continue };
                let causation = CommandId::from_uuid((self.sources.ids)());
                let events = expiry(&self.state, *id, claim.status);
                items.push(Item::Fact { agent: AgentId::system(), causation, events, minted: None });
            }
            swept += self.commit_items(&items)?.iter().filter(|outcome| outcome.is_ok()).count();
        }
        Ok(swept)
    }

    /// Confirms the claims whose deadline passed without an objection and without open disputes; returns their
    /// number. The operation is idempotent.
    pub fn agree(&mut self) -> Result<usize, WriterError> {
        let now = (self.sources.clock)();
        let mut agreed = 0;
        for id in self.state.silent(now) {
            // Each claim is decided after the one before it was committed, because both may replace the same claim.
            let events = decide::agree(&self.state, id, now);
            if events.is_empty() {
                continue;
            }
            let is_agreed =
                events.iter().any(|event| matches!(event, Event::StatusChanged(change) if change.by_silence));
            let causation = CommandId::from_uuid((self.sources.ids)());
            let fact = Item::Fact { agent: AgentId::system(), causation, events, minted: None };
            let committed = self.commit_items(&[fact])?.iter().filter(|outcome| outcome.is_ok()).count();
            agreed += if is_agreed { committed } else { 0 };
        }
        Ok(agreed)
    }

    /// Releases tasks with expired leases and closes sessions that were silent for too long.
    pub fn close_overdue(&mut self) -> Result<usize, WriterError> {
        let now = (self.sources.clock)();
        let mut closed = 0;
        for chunk in decide::overdue(&self.state, now).chunks(MAX_GROUP) {
            let items: Vec<Item<'_>> = chunk
                .iter()
                .map(|events| Item::Fact {
                    agent: AgentId::system(),
                    causation: CommandId::from_uuid((self.sources.ids)()),
                    events: events.clone(),
                    minted: None,
                })
                .collect();
            closed += self.commit_items(&items)?.iter().filter(|outcome| outcome.is_ok()).count();
        }
        Ok(closed)
    }

    /// Work for idle moments: checkpoints both write-ahead logs into their databases.
    pub fn tidy(&self) {
        self.ledger.file().checkpoint();
        self.projection.checkpoint();
    }

    /// Appends the events of an export, then folds state and read models again. The writer reads the file itself,
    /// because it may be larger than any frame. Either all events are appended or none. The texts are scanned for
    /// secrets unless `as_is` is set. A refusal leaves no record: an extra event would make this history differ
    /// from the file's.
    ///
    /// # Errors
    /// [`WriterError`] when the state of the disk is unknown. A refusal is returned as the answer.
    pub fn import(
        &mut self,
        file: &Path,
        as_is: bool,
        progress: impl FnMut(u64),
    ) -> Result<Result<Imported, Rejection>, WriterError> {
        let opened = std::fs::File::open(file).map_err(ImportError::Io);
        let missing = self.standing.damage.as_ref().map_or(&[][..], |damage| &damage.missing);
        let secrets = &self.secrets;
        let judge = |event: &Stored| if as_is { None } else { secret_in(event, secrets) };
        let keep = |imported: &Imported| {
            if imported.added == 0 {
                return Ok(());
            }
            let mut imports = Imports::load(&self.imports);
            imports.add(imported.added, imported.head.seq, &imported.head.hash);
            imports.save(&self.imports)
        };
        let ledger = &mut self.ledger;
        let done =
            opened.and_then(|from| ledger.import(BufReader::new(from), missing, judge, keep, progress));
        let imported = match done {
            Ok(imported) => imported,
            Err(error) => {
                self.drop_lost_imports()?;
                return Ok(Err(refused_import(file, &error)));
            }
        };
        self.check_ground()?;
        if self.is_stopped() {
            // The import brought back the missing events.
            self.standing = Standing::default();
        }
        if self.ledger.file().owes_erasure()? {
            // The file may hold redactions, which apply here too. Everything imported is folded again.
            self.erase()?;
        } else if imported.added > 0 {
            self.state = fold(&self.ledger)?;
            let (projection, ledger) = (&mut self.projection, &self.ledger);
            match catch_unwind(AssertUnwindSafe(|| projection.catch_up(ledger))) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::error!(%error, "the read models are behind until `hm rebuild`"),
                Err(_) => tracing::error!("folding panicked: the read models are behind until `hm rebuild`"),
            }
        }
        Ok(Ok(imported))
    }

    /// Removes the notes of imports that did not commit. An import is noted before its commit.
    fn drop_lost_imports(&self) -> Result<(), WriterError> {
        let mut imports = Imports::load(&self.imports);
        let is_there = |seq: u64, hash: &str| {
            let mut bytes = [0; 32];
            hex::decode_to_slice(hash, &mut bytes).is_ok()
                && self.ledger.holds(Cursor { seq, hash: bytes }).unwrap_or(true)
        };
        if imports.forget_unless(is_there) {
            imports.save(&self.imports)?;
        }
        Ok(())
    }

    /// Drops every projection and folds the ledger again.
    ///
    /// # Errors
    /// [`StoreError`]; the old read models stay.
    pub fn rebuild(&mut self, progress: impl FnMut(u64)) -> Result<u64, StoreError> {
        self.projection.rebuild(&self.ledger, progress)?;
        Ok(self.projection.folded().seq)
    }

    pub(super) fn crash(&self, point: CrashPoint) {
        if self.crash_at == Some(point) {
            tracing::error!(?point, "aborting as told");
            std::process::abort();
        }
    }
}

/// The first secret in the payload of an event or in the names beside it.
fn secret_in(event: &Stored, secrets: &Secrets) -> Option<Denial> {
    let payload: Option<Value> = event.payload.as_ref().and_then(|(text, _)| serde_json::from_str(text).ok());
    let mut texts = Vec::new();
    payload.iter().for_each(|payload| texts_of("payload", payload, &mut texts));
    texts.extend(event.session.iter().map(|session| ("session", session.as_str())));
    texts.extend(event.trace_id.iter().map(|trace| ("trace_id", trace.as_str())));
    texts.extend(event.idempotency_key.iter().map(|key| ("idempotency_key", key.as_str())));
    texts.push(("agent", event.agent.as_str()));
    privacy::deny_texts("import", texts.into_iter(), secrets)
}

/// Collects every text in a value, with the name of its field.
fn texts_of<'v>(field: &'v str, value: &'v Value, texts: &mut Vec<(&'v str, &'v str)>) {
    match value {
        Value::String(text) => texts.push((field, text)),
        Value::Array(values) => values.iter().for_each(|value| texts_of(field, value, texts)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            texts.push((field, name));
            texts_of(name, value, texts);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn refused_import(file: &Path, error: &ImportError) -> Rejection {
    let (code, hint) = match error {
        ImportError::Line { .. } => {
            (Code::InvalidArgument, "nothing was imported: take a file that `hm export` wrote whole")
        }
        ImportError::Incomplete { .. } => (
            Code::Diverged,
            "nothing was imported: take a file that holds them, or accept the loss as the operator: hm repair",
        ),
        ImportError::Secret { .. } => (
            Code::PrivacyDenySensitive,
            "nothing was imported: have it erased where the file comes from (hm forget) and export anew, or as the operator import it with --as-is",
        ),
        ImportError::Diverged { .. } => (
            Code::Diverged,
            "nothing was imported: a ledger takes only its own past or future, or anything while it is empty",
        ),
        ImportError::Io(_) | ImportError::Ledger(_) | ImportError::Write(_) => {
            (Code::Unavailable, "nothing is half imported: mend it, then import again")
        }
    };
    Rejection::new(code, format!("{}: {error}", file.display()), hint)
}

fn fold(ledger: &Ledger) -> Result<State, WriterError> {
    let mut state = State::default();
    let mut at = Cursor::GENESIS;
    loop {
        let chunk = ledger.read_from(at, FOLD_CHUNK)?;
        let Some(last) = chunk.last().map(Stored::cursor) else {
            return Ok(state);
        };
        for stored in &chunk {
            let recorded = stored
                .recorded()
                .map_err(|problem| WriterError::Fold { seq: stored.seq, problem: problem.to_string() })?;
            state.evolve(&recorded);
        }
        at = last;
    }
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

/// Whether a spool line holds the command of an event: queued, set aside, or torn.
fn holds(line: &str, event: &Stored) -> bool {
    #[derive(serde::Deserialize)]
    struct SetAside {
        line: String,
    }
    let inner = serde_json::from_str::<SetAside>(line).map(|aside| aside.line);
    let command = inner.as_deref().unwrap_or(line);
    match serde_json::from_str::<Submission>(command) {
        Ok(queued) => {
            queued.command_id == event.causation
                || (queued.idempotency_key.is_some()
                    && queued.idempotency_key == event.idempotency_key
                    && queued.agent == event.agent)
        }
        Err(_) => command.contains(&event.causation.to_string()),
    }
}

/// SHA-256 over the canonical form of the caller's command, in hex.
fn command_hash(command: &Command) -> String {
    let canonical = serde_json_canonicalizer::to_vec(&command.intent())
        .expect("commands are plain data with finite numbers");
    hex::encode(Sha256::digest(&canonical))
}

#[derive(serde::Deserialize)]
struct HashOnly {
    command_hash: Option<String>,
}

/// Checks that a payload was made by the same command. An erased payload and one without a hash count as the same.
fn same_request(submission: &Submission, first_payload: &str) -> Result<(), Rejection> {
    let stored = serde_json::from_str::<HashOnly>(first_payload).ok().and_then(|first| first.command_hash);
    if stored.is_none_or(|stored| stored == command_hash(&submission.command)) {
        return Ok(());
    }
    Err(idempotency_conflict(submission))
}

/// The refusal of a key that was used for another request.
pub(super) fn idempotency_conflict(submission: &Submission) -> Rejection {
    let key = submission.idempotency_key.as_ref().map_or("", IdempotencyKey::as_str);
    Rejection::new(
        Code::IdempotencyConflict,
        format!("the idempotency key `{key}` was used for another command"),
        "use a fresh key for a new command; repeat a key only to retry the same one",
    )
}

/// The receipt of a command, derived from its events alone.
pub(super) fn receipt_of(stored: &[Stored], submission: &Submission) -> Option<Result<Receipt, Rejection>> {
    let (first, last) = (stored.first()?, stored.last()?);
    if first.payload.is_none() && first.causation != submission.command_id {
        // The hash was erased with the payload, so the requests cannot be compared.
        return Some(Err(erased_request(first, submission)));
    }
    if let Some((payload, _)) = &first.payload {
        if let Ok(Event::CommandRejected(rejected)) = Event::decode(&first.kind, payload) {
            return Some(Err(Rejection::new(
                rejected.code,
                rejected.message,
                "it was refused when the spool was replayed; correct it and call again",
            )));
        }
        if let Err(conflict) = same_request(submission, payload) {
            return Some(Err(conflict));
        }
    }
    let entity_id = match &first.payload {
        Some(_) => first.recorded().ok().and_then(|first| entity_of(&first)),
        None => submission.command.entity(),
    };
    let recorded: Vec<Recorded> = stored.iter().filter_map(|stored| stored.recorded().ok()).collect();
    let lease = lease_of(&recorded);
    let proposed = recorded.first().is_some_and(is_proposal);
    Some(Ok(Receipt { duplicate: true, proposed, lease, ..committed(first.causation, entity_id, last.seq) }))
}

/// The refusal of a command that cannot wait in the spool while events are missing from the ledger.
fn stopped() -> Rejection {
    Rejection::new(
        Code::Unavailable,
        "the ledger lost its last events and accepts no command before that is settled",
        Damage::FIX,
    )
}

/// The warning for an erasure that is recorded but not complete.
fn unfinished() -> Warning {
    let message = "its bytes may still lie in a file that a reader holds, or that cannot be written: the writer \
                   tries again by itself, see writer.log in the memory";
    Warning { code: WarningCode::ErasureUnfinished, message: message.to_owned(), claim_id: None }
}

/// The refusal of a key whose first request was erased.
fn erased_request(first: &Stored, submission: &Submission) -> Rejection {
    let key = submission.idempotency_key.as_ref().map_or("", IdempotencyKey::as_str);
    Rejection::new(
        Code::Redacted,
        format!("the request under the key `{key}` was committed at seq {}, and erased since", first.seq),
        "nothing was done again; use a fresh key for a new command",
    )
    .with("command_id", first.causation)
    .with("event_id", first.id)
}

/// The entity that a command created or changed, from its first event.
fn entity_of(first: &Recorded) -> Option<Uuid> {
    first.event.as_ref()?.about().entity(first.id)
}

/// Whether a claim is contested after an event of a challenge.
fn contests(event: &Event, claim: &Claim) -> bool {
    matches!(event, Event::StatusChanged(change) if change.to == Status::Contested)
        || (claim.status == Status::Contested && matches!(event, Event::PositionTaken(_)))
}

/// Whether the only effect of a command is an override proposal.
const fn is_proposal(first: &Recorded) -> bool {
    matches!(first.event, Some(Event::OverrideProposed(_)))
}

/// The lease that a command created or extended for its own session. The lease of a researcher does not count for
/// its sender.
fn lease_of(events: &[Recorded]) -> Option<Lease> {
    events.iter().find_map(|recorded| {
        let Some(Event::TaskClaimed(claimed)) = &recorded.event else { return None };
        let lease = Lease { fencing_token: claimed.token, minutes: claimed.lease_minutes };
        (recorded.session.as_ref() == Some(&claimed.session)).then_some(lease)
    })
}

const fn committed(command_id: CommandId, entity_id: Option<Uuid>, seq: u64) -> Receipt {
    Receipt {
        command_id,
        state: Acceptance::Committed,
        entity_id,
        name: None,
        seq: Some(seq),
        duplicate: false,
        proposed: false,
        lease: None,
        warnings: Vec::new(),
        cited: Vec::new(),
        similar: Vec::new(),
        alike: Vec::new(),
        at_now: Vec::new(),
        meaning: None,
        next: None,
    }
}

/// The receipts of the batches just appended, without names and warnings.
fn receipts(start: Cursor, batches: &[Batch], recorded: &[Recorded]) -> Vec<Receipt> {
    let mut seen = 0;
    batches
        .iter()
        .map(|batch| {
            let events = &recorded[seen..seen + batch.events.len()];
            seen += batch.events.len();
            let lease = lease_of(events);
            let proposed = is_proposal(&events[0]);
            let seq = start.seq + seen as u64;
            Receipt { lease, proposed, ..committed(batch.command_id, entity_of(&events[0]), seq) }
        })
        .collect()
}

fn answer(done: Progress, appended: &[Receipt]) -> Result<Receipt, Rejection> {
    match done {
        Progress::Refused(rejection) => Err(rejection),
        Progress::Known(known) => Ok(known),
        Progress::New {
            batch,
            decision: Decision { warnings, cited, similar, alike, meaning, next, .. },
        } => Ok(Receipt { warnings, cited, similar, alike, meaning, next, ..appended[batch].clone() }),
        Progress::Twin { batch } => Ok(Receipt { duplicate: true, ..appended[batch].clone() }),
    }
}
