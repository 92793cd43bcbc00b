//! The pipeline of every write: recognise, decide, append, project, answer.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::crash::CrashPoint;
use super::error::WriterError;
use super::facts;
use super::ground::{self, Ground, Stamp};
use super::group::{Group, Progress, answer, key_of, unwritten};
use super::profiles::Profiles;
use super::receipts::{self, command_hash, receipt_of, same_request};
use crate::client_session::ClientSession;
use crate::domain::agent::{AgentId, Roster};
use crate::domain::command::{Command, PromoteItem, Submission};
use crate::domain::decide::{self, Accepted, Facts, PlannedRun, Policy, SpaceFacts, gate};
use crate::domain::event::{Event, MemoryDenied, Recorded};
use crate::domain::ids::{CommandId, EventId, RunId, SessionId};
use crate::domain::patterns::PatternPolicy;
use crate::domain::policy::{MemoryPolicy, TrustMode};
use crate::domain::privacy::{self, Denial, Secrets};
use crate::domain::receipt::Receipt;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::seat::{self, Seat};
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::domain::versions;
use crate::ledger::{
    AppendError, Batch, Cursor, Ledger, MAX_BATCH_BYTES, MAX_PAYLOAD_BYTES, NewEvent, Origin, Stored,
};
use crate::spool::Spool;
use crate::standing::{Damage, Standing};
use crate::store::{Projection, StoreError};
use crate::system::Sources;
use crate::workspace::Workspace;

/// The most commands in one group. A larger group would only delay its first answer.
pub(super) const MAX_GROUP: usize = 256;
/// Events read at a time for the fold at start: many enough to amortise the statement, few enough to need little
/// memory.
const FOLD_CHUNK: usize = 256;

/// Events that the writer itself causes. They are appended together.
#[derive(Debug, Clone)]
pub(super) struct OwnBatch {
    pub(super) agent: AgentId,
    pub(super) causation: CommandId,
    pub(super) events: Vec<Event>,
    /// The id of the first event, if something refers to it.
    pub(super) first_id: Option<EventId>,
}

/// An entry of a group.
enum Item<'a> {
    /// A command to decide.
    Asked(&'a Submission),
    /// Events of the writer itself.
    Own(&'a OwnBatch),
}

/// Owns the write handles of both databases and the folded state.
#[derive(Debug)]
pub struct Committer {
    pub(super) ledger: Ledger,
    pub(super) projection: Projection,
    pub(super) spool: Spool,
    pub(super) state: State,
    pub(super) policy: Policy,
    pub(super) secrets: Secrets,
    pub(super) watching: PatternPolicy,
    pub(super) memory_policy: MemoryPolicy,
    pub(super) guards_block: bool,
    pub(super) imports: PathBuf,
    pub(super) sources: Sources,
    pub(super) profiles: Option<Profiles>,
    pub(super) workspace: Workspace,
    pub(super) state_home: Option<PathBuf>,
    pub(super) standing: Standing,
    /// The stamps of the ledger as it was opened. A writer that is stopped does not change them.
    pub(super) opened: [Stamp; 3],
    /// Number of bytes of the spool that are also kept outside of the memory, while events are missing.
    pub(super) kept_bytes: u64,
    crash_at: Option<CrashPoint>,
    /// Whether the commands come from the spool. Their authors already have receipts.
    pub(super) is_replaying: bool,
    /// The last field, because it must be dropped after the ledger.
    ground: Option<Ground>,
}

impl Committer {
    /// Opens the files and folds the state. Work that a crash interrupted stays unfinished.
    pub(super) fn open_unmended(
        workspace: &Workspace,
        policy: Policy,
        sources: Sources,
        state_home: Option<&Path>,
    ) -> Result<Self, WriterError> {
        workspace.ensure()?;
        let ledger = Ledger::open(&workspace.ledger())?;
        let opened = ground::stamps(workspace, state_home);
        // This runs before the read models are opened and folded, because their old position shows a loss of
        // events.
        let standing = Standing::of(workspace, state_home)?;
        let is_whole = !standing.damage.as_ref().is_some_and(Damage::stops_writes);
        let state = fold(&ledger)?;
        let mut projection = Projection::open(&workspace.team_memory())?;
        if let Err(error) = if is_whole { projection.catch_up(&ledger) } else { Ok(()) } {
            tracing::error!(%error, "the read models stay behind until `hm rebuild`");
        }
        let secrets = Secrets::default();
        let spool = Spool::of(workspace);
        Ok(Self {
            ledger,
            projection,
            spool,
            state,
            policy,
            secrets,
            watching: PatternPolicy::default(),
            memory_policy: MemoryPolicy::default(),
            guards_block: false,
            imports: workspace.imports(),
            sources,
            profiles: None,
            workspace: workspace.clone(),
            state_home: state_home.map(Path::to_owned),
            standing,
            opened,
            kept_bytes: 0,
            crash_at: None,
            is_replaying: false,
            ground: None,
        })
    }

    /// Also refuses the team's own patterns. The built-in rules always apply.
    #[must_use]
    pub fn guarding(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Looks for patterns with these settings.
    #[must_use]
    pub fn watching(mut self, policy: PatternPolicy) -> Self {
        self.watching = policy;
        self
    }

    /// Lets through what this policy lets through.
    #[must_use]
    pub fn governed(mut self, policy: MemoryPolicy) -> Self {
        self.memory_policy = policy;
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

    /// The current time.
    pub(super) fn now(&mut self) -> Timestamp {
        (self.sources.clock)()
    }

    /// Whether an erasure is recorded and not complete.
    pub fn owes_erasure(&self) -> Result<bool, WriterError> {
        Ok(self.ledger.file().owes_erasure()?)
    }

    /// The refusal of a command while events are missing from the ledger.
    pub(super) fn stopped() -> Rejection {
        Rejection::new(
            Code::Unavailable,
            "the ledger lost its last events and accepts no command before that is settled",
            Damage::FIX,
        )
    }

    /// The state against which the next command is decided.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Decides and appends commands with one ledger transaction, one fsync and one projection transaction. A refused
    /// command does not affect the others.
    pub(super) fn append_group(
        &mut self,
        group: &[Submission],
    ) -> Result<Vec<Result<Receipt, Rejection>>, WriterError> {
        self.append(&group.iter().map(Item::Asked).collect::<Vec<_>>())
    }

    /// Appends events that the writer itself causes, in one group; returns the number of appended batches. Every
    /// event of a job, a run or a replay goes through here.
    pub(super) fn record(&mut self, batches: &[OwnBatch]) -> Result<usize, WriterError> {
        if batches.is_empty() {
            return Ok(0);
        }
        let outcomes = self.append(&batches.iter().map(Item::Own).collect::<Vec<_>>())?;
        Ok(outcomes.iter().filter(|outcome| outcome.is_ok()).count())
    }

    /// A batch for [`Committer::record`] with a new causation.
    pub(super) fn own(&mut self, agent: AgentId, events: Vec<Event>) -> OwnBatch {
        OwnBatch { agent, causation: CommandId::from_uuid((self.sources.ids)()), events, first_id: None }
    }

    fn append(&mut self, items: &[Item<'_>]) -> Result<Vec<Result<Receipt, Rejection>>, WriterError> {
        let is_acceptance = |item: &Item<'_>| matches!(item, Item::Asked(asked) if matches!(asked.command, Command::AcceptLoss(_)));
        if self.is_stopped() && !items.iter().all(is_acceptance) {
            // These are batches of the writer itself.
            return Ok(items.iter().map(|_| Err(Self::stopped())).collect());
        }
        let mut group = Group::default();
        let mut progress: Vec<Progress> = Vec::with_capacity(items.len());
        for item in items {
            progress.push(match item {
                Item::Asked(submission) => self.take(submission, &mut group)?,
                Item::Own(own) => {
                    let batch = self.batch_of_own(own);
                    self.stage(batch, &own.events, &mut group);
                    Progress::New { batch: group.batches.len() - 1, decision: Accepted::default() }
                }
            });
        }
        if group.batches.is_empty() {
            self.check_ground()?;
            return Ok(progress.into_iter().map(|done| self.named(answer(done, &[]))).collect());
        }
        self.crash(CrashPoint::Decided);
        let start = self.ledger.head();
        let head = match self.ledger.append(start, &group.batches) {
            Ok(head) => head,
            Err(AppendError::Unavailable(failure)) => {
                // The append wrote nothing, but the state already includes the batches.
                self.refold()?;
                return Ok(progress.into_iter().map(|done| unwritten(done, &failure)).collect());
            }
            Err(error) => return Err(error.into()),
        };
        self.crash(CrashPoint::Appended);
        self.check_ground()?;
        if !self.is_stopped() {
            self.project(start, &group.recorded, head);
        }
        self.crash(CrashPoint::Projected);
        let appended = receipts::of_batches(start, &group.batches, &group.recorded);
        Ok(progress.into_iter().map(|done| self.named(answer(done, &appended))).collect())
    }

    /// Recognises or decides one command of a group.
    fn take(&mut self, asked: &Submission, group: &mut Group) -> Result<Progress, WriterError> {
        let (submission, seat) = match self.seated(asked) {
            Ok(seated) => seated,
            Err(rejection) => {
                return Ok(match (self.known(asked)?, privacy::deny(asked, &self.secrets)) {
                    (Some(answer), _) => answer.map_or_else(Progress::Refused, Progress::Known),
                    // The sentence of the refusal may quote the session.
                    (None, Some(denial)) => Progress::Refused(denial.into()),
                    (None, None) => Progress::Refused(rejection),
                });
            }
        };
        let submission = submission.as_ref();
        if let Some(batch) = self.twin(submission, group)? {
            return Ok(match same_request(submission, &group.batches[batch].events[0].payload) {
                Ok(()) => Progress::Twin { batch },
                Err(conflict) => Progress::Refused(conflict),
            });
        }
        if let Some(answer) = self.known(submission)? {
            return Ok(answer.map_or_else(Progress::Refused, Progress::Known));
        }
        if let Some(denial) = privacy::deny(submission, &self.secrets) {
            // Fronts scan before they send. This front did not, or it knew other patterns.
            let Denial { rule, field, command } = denial.clone();
            let denied = MemoryDenied { rule, field, command, reason: None, policy: None, attempted: None };
            self.stage_denial(&submission.agent, vec![denied.into()], group);
            return Ok(Progress::Refused(denial.into()));
        }
        let speaker = (&submission.agent, submission.session.as_ref());
        let promotion = self.promotion(submission);
        let promotion = promotion.as_ref();
        let copy =
            promotion.and_then(|(promote, facts)| decide::copied(&self.state, speaker, promote, facts));
        let asked = (&submission.command, copy);
        if let Some(denied) = gate::denied(&self.state, speaker, asked, &self.memory_policy) {
            self.stage_denial(&submission.agent, vec![denied.event.into()], group);
            return Ok(Progress::Refused(denied.rejection));
        }
        let stopped =
            promotion.and_then(|(promote, facts)| decide::stopped(&self.state, speaker, promote, facts));
        if let Some(stopped) = stopped {
            self.stage_denial(&submission.agent, stopped.events, group);
            return Ok(Progress::Refused(stopped.rejection));
        }
        let takes = seat.as_ref().filter(|seat| !seat.events.is_empty());
        let before = takes.map(|seat| {
            let now = self.now();
            self.state.sit_down(&seat.events, now)
        });
        match self.prepare(submission, seat) {
            Err(rejection) => {
                before.into_iter().for_each(|before| self.state.stand_up(before));
                Ok(Progress::Refused(rejection))
            }
            Ok((batch, decision)) => {
                group.remember(submission);
                self.stage(batch, &decision.events, group);
                Ok(Progress::New { batch: group.batches.len() - 1, decision })
            }
        }
    }

    /// The batch of this group that holds the same request.
    fn twin(&self, submission: &Submission, group: &Group) -> Result<Option<usize>, WriterError> {
        if let Some(batch) = group.by_command.get(&submission.command_id) {
            return Ok(Some(*batch));
        }
        // As in `known`, the command's own id takes precedence over its key.
        match key_of(submission).and_then(|key| group.by_key.get(&key)) {
            Some(batch) if !self.has_command(submission.command_id)? => Ok(Some(*batch)),
            _ => Ok(None),
        }
    }

    /// Whether the ledger holds events of a command.
    pub(super) fn has_command(&self, id: CommandId) -> Result<bool, WriterError> {
        Ok(!self.ledger.find_command(id)?.is_empty())
    }

    /// Adds the short name of the entity to an answer.
    fn named(&self, answer: Result<Receipt, Rejection>) -> Result<Receipt, Rejection> {
        let names = self.state.work().names();
        answer.map(|receipt| {
            let name = receipt.entity_id.and_then(|id| names.of(id)).map(|name| name.to_string());
            Receipt { name, ..receipt }
        })
    }

    /// Brings the read models to `head`. If the fold fails, they stay behind and the events stay in the ledger.
    fn project(&mut self, start: Cursor, recorded: &[Recorded], head: Cursor) {
        let projection = &mut self.projection;
        if projection.folded() != start {
            return self.catch_up();
        }
        log_failure(catch_unwind(AssertUnwindSafe(|| projection.apply(recorded, head))));
    }

    /// Folds the events that the read models lack. If the fold fails, they stay behind.
    pub(super) fn catch_up(&mut self) {
        let (projection, ledger) = (&mut self.projection, &self.ledger);
        log_failure(catch_unwind(AssertUnwindSafe(|| projection.catch_up(ledger))));
    }

    /// The answer to a request that the ledger already holds.
    pub(super) fn known(
        &self,
        submission: &Submission,
    ) -> Result<Option<Result<Receipt, Rejection>>, WriterError> {
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
        let ground =
            seat::Ground { is_running: &is_running, is_on_roster: &is_on_roster, checkout: &asked.checkout };
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

    /// Decides a command, with the facts that only the writer has.
    fn decided(&mut self, submission: &Submission, now: Timestamp) -> Result<Accepted, Rejection> {
        let Submission { agent, session, command, .. } = submission;
        decide::check_last(&self.state, session.as_ref(), command, submission.command_id)?;
        let facts = self.facts(submission)?;
        let decision =
            decide::decide(&self.state, agent, session.as_ref(), &facts, command, now, &self.rules())
                .and_then(|done| versions::witnessed(&self.state, done, &facts.versions, &facts.checkout));
        let Some(profiles) = &self.profiles else { return decision };
        let asked = (command, facts.checkout.worktree.as_ref());
        match decision {
            Ok(decision) => Ok(facts::naming_the_run(decision, &self.state, agent, asked, profiles)),
            Err(refused) => Err(facts::naming_who_settles(refused, &self.state, asked, profiles)),
        }
    }

    /// Collects the facts for one command.
    fn facts(&mut self, submission: &Submission) -> Result<Facts, Rejection> {
        let Submission { agent, checkout, versions, command, .. } = submission;
        // The front may know other patterns.
        let checkout = checkout.clone().without(|text| !privacy::scan(text, &self.secrets).is_empty());
        let spaces = self.space_facts(command);
        let mut facts = Facts { checkout, versions: versions.clone(), spaces, ..Facts::default() };
        if let Command::Forget(forget) = command {
            facts.erasure = facts::erasure(&self.ledger, forget)?;
        } else if let Command::ForgetMany(forget) = command {
            facts.erasure = facts::erasure_of_many(&self.ledger, forget)?;
        } else if matches!(command, Command::AcceptLoss(_)) {
            facts.loss.clone_from(&self.standing.acceptable);
        }
        facts.guard_runs = facts::guard_runs(self, submission, &facts.checkout)?;
        let Some(profiles) = &self.profiles else { return Ok(facts) };
        if let Command::RunExperiment(run) = command {
            let there = profiles.in_work_tree(facts.checkout.worktree.as_ref())?;
            let plan = there.plan(run)?;
            let claim = run.claim_id.and_then(|id| self.state.claim(id));
            let dirs = claim.map(|claim| there.dirs(&claim.scopes)).unwrap_or_default();
            let further = 1..run.repeat.unwrap_or(1).min(MAX_GROUP as u32);
            let further_runs = further.map(|_| RunId::from_uuid((self.sources.ids)())).collect();
            let statement = run.claim_id.and_then(|id| facts::statement(&self.ledger, id));
            let unfit = claim.and_then(|claim| there.unfit(run, &plan, &claim.scopes));
            facts.run = Some(PlannedRun { plan, statement, further_runs, dirs, unfit });
        } else if let Command::SpawnResearcher(spawn) = command {
            let here = profiles.in_work_tree(facts.checkout.worktree.as_ref())?;
            facts.mission = Some(here.mission(spawn, agent)?);
        }
        Ok(facts)
    }

    /// The settings that rules depend on, with what the policy of the memory adds to them.
    pub(super) fn rules(&self) -> Policy {
        Policy { only_operator_confirms: self.memory_policy.trust == TrustMode::HumanOnly, ..self.policy }
    }

    /// A promotion, and the facts for it.
    fn promotion<'s>(&self, submission: &'s Submission) -> Option<(&'s PromoteItem, SpaceFacts)> {
        let Command::PromoteItem(promote) = &submission.command else { return None };
        Some((promote, self.space_facts(&submission.command)?))
    }

    fn space_facts(&self, command: &Command) -> Option<SpaceFacts> {
        facts::of_spaces((&self.ledger, &self.workspace), &self.memory_policy, command)
    }

    fn prepare(
        &mut self,
        submission: &Submission,
        seat: Option<Seat>,
    ) -> Result<(Batch, Accepted), Rejection> {
        let now = (self.sources.clock)();
        let mut decision = self.decided(submission, now)?;
        if self.is_replaying && !matches!(submission.command, Command::RecordFiring(_)) {
            // The author of a replayed command already has its receipt and never sees its warnings.
            decision.events.retain(|event| !matches!(event, Event::GuardFired(_)));
        }
        if let Some(seat) = seat {
            if let (true, Some(session)) = (seat.joins, &submission.session) {
                decision.events.extend(decide::after_join(&self.state, session, now, &self.rules()));
            }
            decision.events.extend(seat.events);
            decision.warnings.extend(seat.told);
        }
        let mut events = Vec::with_capacity(decision.events.len());
        for (index, event) in decision.events.iter().enumerate() {
            let mut body = event.to_body();
            if index == 0 {
                body["command_hash"] = command_hash(&submission.command).into();
            }
            let id = event.about().own_id(submission.command.minted());
            events.push(self.new_event(id, event, &body));
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

    /// Stages the record of a denial. It has a command id of its own, so that the author can correct the denied
    /// command and send it again.
    fn stage_denial(&mut self, agent: &AgentId, denied: Vec<Event>, group: &mut Group) {
        let agent = self.recordable(agent);
        let own = self.own(agent, denied);
        let batch = self.batch_of_own(&own);
        self.stage(batch, &own.events, group);
    }

    /// The agent of a command: of an unpinned caller, the one whose seat it has.
    pub(super) fn speaker_of(&mut self, submission: &Submission) -> AgentId {
        match self.seated(submission) {
            Ok((seated, _)) => seated.agent.clone(),
            Err(_) => submission.agent.clone(),
        }
    }

    /// An agent name that is safe to record. A submission that came without a front may hold any text as its name.
    pub(super) fn recordable(&self, agent: &AgentId) -> AgentId {
        let clean = privacy::scan(agent.as_str(), &self.secrets).is_empty();
        if clean { agent.clone() } else { AgentId::system() }
    }

    fn batch_of_own(&mut self, OwnBatch { agent, causation, events, first_id }: &OwnBatch) -> Batch {
        let at = self.now();
        let first = |index| first_id.filter(|_| index == 0).map(EventId::uuid);
        let claim =
            |event: &Event| if let Event::ClaimCreated(of) = event { Some(of.claim_id.uuid()) } else { None };
        let new = events.iter().enumerate().map(|(index, event)| {
            self.new_event(first(index).or_else(|| claim(event)), event, &event.to_body())
        });
        Batch {
            command_id: *causation,
            agent: agent.clone(),
            session: None,
            trace_id: None,
            idempotency_key: None,
            at,
            events: new.collect(),
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
    fn stage(&mut self, batch: Batch, events: &[Event], group: &mut Group) {
        for (new, event) in batch.events.iter().zip(events) {
            let event = Recorded {
                seq: self.ledger.head().seq + group.recorded.len() as u64 + 1,
                id: new.id,
                agent: batch.agent.clone(),
                session: batch.session.clone(),
                causation: batch.command_id,
                at: batch.at,
                event: Some(event.clone()),
                erased: None,
            };
            self.state.evolve(&event);
            group.recorded.push(event);
        }
        group.batches.push(batch);
    }

    /// Folds the ledger again, because the state holds what the ledger does not, or no longer.
    pub(super) fn refold(&mut self) -> Result<(), WriterError> {
        self.state = fold(&self.ledger)?;
        Ok(())
    }

    /// Rebuilds the read models in a new file. Events that cannot be folded are left out.
    pub(super) fn renew_projection(&mut self) -> Result<bool, StoreError> {
        let (projection, ledger) = (&mut self.projection, &self.ledger);
        match catch_unwind(AssertUnwindSafe(|| projection.rebuild(ledger, |_| ()))) {
            Ok(Ok(())) => return self.projection.rewrite(),
            Ok(Err(error)) => tracing::error!(%error, "the read models are dropped, and behind"),
            Err(_) => tracing::error!("folding panicked: the read models are dropped, and behind"),
        }
        self.projection.start_over()?;
        Ok(true)
    }

    /// Work for idle moments: checkpoints both write-ahead logs into their databases.
    pub fn tidy(&self) {
        self.ledger.file().checkpoint();
        self.projection.checkpoint();
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

/// Reports read models that stay behind.
fn log_failure(folded: std::thread::Result<Result<(), StoreError>>) {
    match folded {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "the read models are behind until `hm rebuild`"),
        Err(_) => tracing::error!("folding panicked: the read models are behind until `hm rebuild`"),
    }
}
