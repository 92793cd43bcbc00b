//! The content of a pack as plain data. Queries fill it, and this module does not know its source.
//!
//! In each list the most important entries come first. Claims are an exception: the pack orders them by relevance. Each
//! entry appears once: a claim under attention or among the anti-patterns is not among the claims.

use super::MAX_NAME_CHARS;
use super::gate::plain;
use crate::domain::claim::{Basis, ClaimType, ContradictionKind, Grade, Position, Status};
use crate::domain::digest::Part;
use crate::domain::relevance::{Binds, Footing, StaleAfter};
use crate::domain::time::{Span, Timestamp};

/// All entries for one agent at a ledger position.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entries {
    /// The agent that reads the pack.
    pub agent: String,
    /// The session that reads the pack.
    pub session: Option<String>,
    /// The ledger position of the entries.
    pub seq: u64,
    /// The focus of the session, or else of the team.
    pub trajectory: Option<Trajectory>,
    /// The use of the context window, as the client reports it.
    pub window: Option<Window>,
    /// The other agents with a running session.
    pub peers: Vec<Peer>,
    /// The open items that need an agent.
    pub attention: Vec<Attention>,
    /// Active tasks.
    pub tasks: Vec<Task>,
    /// The tasks that were done last, newest first.
    pub done: Vec<Task>,
    /// Locks at the reader's work, or for all agents.
    pub locks: Vec<Lock>,
    /// The facts that the session keeps through compaction.
    pub anchors: Vec<Anchor>,
    /// Claims in force, in any order.
    pub claims: Vec<Claim>,
    /// Claims that the reader's session has already, which are left out.
    pub told: Already,
    /// Claims of which the session was told a part, and that did not change. What is told anew comes first.
    pub in_part: Vec<Claim>,
    /// Number of further candidates that were not passed. They count as omitted.
    pub unseen_claims: u64,
    /// Whether there is an intent, a task, a prompt or a file to search for.
    pub is_asked: bool,
    /// The time after which a proposed claim sinks.
    pub stale_after: StaleAfter,
    /// Dead ends in force: those at hand, in any order, then the newest of the others, which fill spare room.
    pub dead_ends: Vec<DeadEnd>,
    /// Number of dead ends in force that were not passed.
    pub unseen_dead_ends: u64,
    /// Claims that ended without a successor among `claims`, newest first. Only a first context has them.
    pub over: Vec<Over>,
    /// The hand-over of a session that was split off.
    pub turn0: Option<Turn0>,
    /// The accepted playbook that fits the reader's work.
    pub playbook: Option<Playbook>,
    /// The open work of the team.
    pub governance: Governance,
    /// Number of unreadable rows, which were left out.
    pub quarantined: u64,
}

/// The ids of claims whose texts the reader's session has already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Already {
    /// Claims that it was told and that did not change.
    pub unchanged: Vec<String>,
    /// Claims among them whose files changed since they were made.
    pub files_changed: Vec<String>,
    /// Claims that it was told and that changed since, each with its status.
    pub changed: Vec<String>,
    /// Claims that it made itself, each with its status, if that is no longer `proposed`.
    pub own: Vec<String>,
}

/// An accepted playbook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Playbook {
    /// Its short name.
    pub name: String,
    /// Its steps, one a line.
    pub steps: String,
}

/// The focus of the work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trajectory {
    /// The current intent.
    pub intent: String,
    /// Title of the plan.
    pub plan: Option<String>,
    /// Title of the phase.
    pub phase: Option<String>,
    /// Number of active tasks.
    pub active_tasks: u64,
}

/// Tokens of a context window, as the client reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Used tokens.
    pub used_tokens: u64,
    /// Size of the window, in tokens.
    pub window_tokens: u64,
}

/// An open item that needs an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Attention {
    /// A question to the reader about its position.
    Question(Question),
    /// Further questions to the reader. The pack shows their claims among the others.
    Asked {
        /// Ids of the claims.
        claims: Vec<String>,
    },
    /// A contradiction.
    Contradiction(Contradiction),
    /// A challenged claim.
    Contested(Claim),
    /// A claim that waits for a run.
    PendingProof {
        /// The claim.
        claim: Claim,
        /// Id of the run.
        run: Option<String>,
    },
    /// A claim that asks no agent by name, and that silence will confirm.
    Silence {
        /// Id of the claim.
        claim: String,
        /// The whole statement.
        statement: String,
        /// The owner.
        by: String,
        /// The time until silence confirms the claim.
        left: Span,
    },
    /// A lease that ends soon.
    Lease {
        /// Id of the task.
        task: String,
        /// Title of the task.
        title: String,
        /// The rest of the lease.
        left: Span,
    },
    /// An inconsistency.
    Fault {
        /// Id of the inconsistent entity.
        id: String,
        /// The problem.
        what: String,
    },
}

/// A question to the reader about its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Id of the claim.
    pub claim: String,
    /// The whole statement.
    pub statement: String,
    /// The agent that asks.
    pub by: String,
    /// When the question was asked.
    pub asked_at: Timestamp,
    /// The time until silence confirms the claim.
    pub silence_in: Option<Span>,
    /// Id of the superseded claim that the reader supported.
    pub instead_of: Option<String>,
    /// Whether it may be a request, which a claim answers as well as a position does.
    pub is_request: bool,
}

/// A contradiction.
#[derive(Debug, Clone, PartialEq)]
pub struct Contradiction {
    /// Id of the contradiction.
    pub id: String,
    /// The kind of the contradiction.
    pub kind: ContradictionKind,
    /// When it was detected.
    pub detected_at: Timestamp,
    /// The older side, and the side that caused the contradiction.
    pub sides: [Side; 2],
    /// The agents that must act on it.
    pub moves: Vec<String>,
    /// Whether it is neither about the reader's work nor its move.
    pub is_far: bool,
}

/// One side of a contradiction.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// Id of the claim.
    pub claim: String,
    /// The owner of the claim. None after an erasure.
    pub owner: Option<String>,
    /// The agent that holds this side.
    pub by: String,
    /// Status, time of creation and statement of the claim. None after an erasure.
    pub said: Option<(Status, Timestamp, String)>,
    /// If this side challenges the claim of the other side: its reason.
    pub challenge: Option<String>,
    /// Id of the claim in which its owner withdraws this one in words.
    pub withdrawn: Option<String>,
}

/// An active task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Id of the task.
    pub id: String,
    /// Id or title of the phase.
    pub phase: Option<String>,
    /// The status of the task.
    pub status: String,
    /// The rest of its lease.
    pub lease_left: Option<Span>,
    /// Number of paths and globs that the task locks.
    pub files: u64,
    /// The holder.
    pub by: Option<String>,
    /// The linked work tree of the holder, if it differs from the reader's.
    pub worktree: Option<String>,
    /// The agent that a task without a holder is meant for.
    pub meant_for: Option<String>,
    /// Title of the task.
    pub title: String,
    /// The last note on it. Only a task that was done shows it: as its result.
    pub result: Option<String>,
}

/// Another agent with a running session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peer {
    /// The agent.
    pub agent: String,
    /// The client in which the agent runs.
    pub client: Option<String>,
    /// The linked work tree in which the session started. None for the main one.
    pub worktree: Option<String>,
    /// The branch on which the session started.
    pub branch: Option<String>,
    /// The time of its last event, if known.
    pub last_seen: Option<Timestamp>,
    /// The file that it edited last.
    pub last_edit: Option<String>,
    /// The time of that edit, if known.
    pub edited_at: Option<Timestamp>,
    /// Number of files that its session edited.
    pub files: usize,
    /// When its session started, if known.
    pub started: Option<Timestamp>,
    /// The goal of the agent.
    pub wants: String,
}

/// Maximum length of a file's name, in characters.
const MAX_FILE_CHARS: usize = 120;
/// The age of an agent's last event from which on it counts as silent, in milliseconds: 10 minutes, more than most
/// commands take.
const SILENT_MS: i64 = 10 * 60_000;

impl Peer {
    /// Whether an agent with a last event of this age is silent.
    pub const fn is_silent(age: Span) -> bool {
        age.0 >= SILENT_MS
    }

    /// What it does now: `devops: last seen 5s ago, last edited src/a.rs 40s ago, 3 files in 34m`, or
    /// `devops: silent for 12m`.
    pub fn doing(&self, now: Timestamp) -> String {
        let seen = match self.last_seen.map(|at| at.age(now)) {
            None => "not seen yet".to_owned(),
            Some(age) if Self::is_silent(age) => format!("silent for {age}"),
            Some(age) => format!("last seen {age} ago"),
        };
        let edited = self.last_edit.as_ref().map(|file| {
            let at = self.edited_at.map_or_else(String::new, |at| format!(" {} ago", at.age(now)));
            let started = self.started.filter(|_| self.files > 1);
            let files = started.map(|at| format!(", {} files in {}", self.files, at.age(now)));
            format!(", last edited {}{at}{}", plain(file, MAX_FILE_CHARS), files.unwrap_or_default())
        });
        format!("{}: {seen}{}", plain(&self.agent, MAX_NAME_CHARS), edited.unwrap_or_default())
    }
}

/// A locked scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// The scope.
    pub scope: String,
    /// The holder.
    pub by: String,
    /// The linked work tree of the holder. None for the main one.
    pub worktree: Option<String>,
    /// The rest of the lock's time.
    pub left: Span,
    /// The purpose.
    pub purpose: String,
}

/// A fact that a session keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// When it was set.
    pub set_at: Timestamp,
    /// Whether only the reader's user reads it.
    pub is_users: bool,
}

/// A claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Id of the claim.
    pub id: String,
    /// The statement.
    pub statement: String,
    /// The type of the claim.
    pub claim_type: ClaimType,
    /// The status of the claim.
    pub status: Status,
    /// The basis of its confirmation. None for other statuses.
    pub basis: Option<Basis>,
    /// The run that confirmed it, with its profile and arguments.
    pub proved_by: Option<String>,
    /// The supporters that confirmed it. Only deltas about a new confirmation have them.
    pub agreed_by: Vec<String>,
    /// Whether that run answered a challenge of the reader.
    pub answers_reader: bool,
    /// Whether equal runs had different outcomes.
    pub unstable: bool,
    /// Whether its proof does not see later edits at its places.
    pub edits_unseen: bool,
    /// Whether all who agreed to it did so before its files changed.
    pub agreed_before_change: bool,
    /// The run that contradicts the claim as it stands, after its outcome and time: `failed_since`.
    pub against: Option<(&'static str, String)>,
    /// The other decisions in force on its target, in words.
    pub contradicts: Option<String>,
    /// The best grade of its evidence.
    pub grade: Grade,
    /// Whether the files of its evidence were edited since.
    pub evidence_stale: bool,
    /// Whether its evidence shows nothing.
    pub shows_nothing: bool,
    /// Id of the later decision that changes a value in the statement.
    pub changed_by: Option<String>,
    /// The claim that its statement names and that ended since, with the one in its place, in words.
    pub names_over: Option<String>,
    /// Files of the claim that other agents edited since, as a short text.
    pub changed: Option<String>,
    /// The doubts about its status, in words.
    pub doubt: Option<String>,
    /// The agent that works on it now, as a short text.
    pub by_now: Option<String>,
    /// Effective confidence now, 0 to 1.
    pub confidence: f64,
    /// The scopes of the claim.
    pub scopes: Vec<String>,
    /// The owner.
    pub by: String,
    /// Whether it was imported from a file.
    pub imported: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// The time of the last touch.
    pub touched_at: Timestamp,
    /// Ledger position of its creation.
    pub made_seq: u64,
    /// Ledger position of the last change.
    pub seq: u64,
    /// The rejected alternatives, each with its reason.
    pub rejected: Vec<String>,
    /// The claim that it superseded.
    pub replaced: Option<Replaced>,
    /// How well it answers the session's topic, 0 to 1.
    pub answers: f64,
    /// Whether it came from an active task, or has a scope that such a task names.
    pub linked_to_active_task: bool,
    /// Whether the reader or the operator made it for a task of the session. Such a claim says what the work must be.
    pub is_required: bool,
    /// Whether its scope matches a file that the session touched or locked.
    pub touches_session_files: bool,
    /// Whether it is a decision in force about a place where the session works.
    pub binds: Binds,
    /// Id of a later decision that names it. The pack shows the claim after that decision.
    pub behind: Option<String>,
    /// Further facts for the first context of a session.
    pub digest: Option<Digest>,
}

/// The facts about a claim that only the first context of a session shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest {
    /// The part of the summary that shows the claim.
    pub part: Part,
    /// The reason of the decision.
    pub why: Option<String>,
    /// Whether a defect is mended, and the claim that says so.
    pub state: Option<String>,
    /// How a defect was mended.
    pub mended: Option<Mend>,
    /// Ids of defects that it mends. Where they stand, they tell it.
    pub mends: Vec<String>,
    /// Id of the earlier claim of the same part that it names. It stands right behind that claim.
    pub follows: Option<String>,
    /// Ids of later claims of other parts that name it, newest first.
    pub named_by: Vec<String>,
    /// Ids of the claims that it superseded: first the one whose text is shown.
    pub instead_of: Vec<String>,
    /// What the superseded decision demanded, as far as the statement does not repeat it.
    pub demanded: Vec<String>,
    /// Whether the statement refers to that claim by its name, so that a reader needs its text.
    pub builds_on_it: bool,
    /// The last positions of other agents, each with its text: the agent, the position and the reason.
    pub said: Vec<(Position, String)>,
    /// The asked agents that did not answer.
    pub asks: Vec<String>,
    /// The claim's scopes that the reader did not name.
    pub elsewhere: Vec<String>,
}

/// A claim that is no longer true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Over {
    /// Its id.
    pub id: String,
    /// Its owner.
    pub by: String,
    /// Its statement.
    pub was: String,
    /// Id of the claim that superseded it.
    pub now: Option<String>,
    /// The reason of its end, if nothing superseded it.
    pub why: Option<String>,
}

/// How a defect was mended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mend {
    /// Id of the claim that says so. None if a position or the result of a task does.
    pub claim: Option<String>,
    /// The agent that says so.
    pub by: String,
    /// The words of the agent.
    pub how: String,
}

/// A superseded claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// Its id.
    pub id: String,
    /// Why it was superseded.
    pub how: How,
    /// Its statement; of an amended decision, the change.
    pub was: String,
}

/// Why a claim was superseded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It was right until the new one mended its problem.
    Mended,
    /// It is a decision, and the new one amends it.
    Amended,
    /// It is a dead end.
    DeadEnd,
    /// The new one holds instead.
    Instead,
}

impl Claim {
    /// Whether the claim concerns the session's work.
    pub fn is_at_hand(&self) -> bool {
        self.footing().is_at_hand()
    }

    pub(super) fn footing(&self) -> Footing {
        Footing {
            claim_type: self.claim_type,
            status: self.status,
            touched_at: self.touched_at,
            answers: self.answers,
            linked_to_active_task: self.linked_to_active_task,
            touches_session_files: self.touches_session_files,
            binds: self.binds,
            confidence: self.confidence,
        }
    }
}

/// A dead end.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadEnd {
    /// The negative claim.
    pub claim: Claim,
    /// The actions that it warns about.
    pub trigger: Option<String>,
    /// The reason of the failure.
    pub because: Option<String>,
    /// The task or the claim that says that it is mended.
    pub mended: Option<String>,
    /// Whether it is at hand: about an active task or files of the session, or a good answer to the session's topic.
    pub matches: bool,
}

/// The hand-over to a session that was split off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn0 {
    /// The session that was split.
    pub parent_session: String,
    /// The reason of the split.
    pub reason: String,
    /// A summary of the older messages.
    pub summary: Option<String>,
    /// The last messages, oldest first.
    pub messages: Vec<Message>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The author.
    pub role: String,
    /// The text.
    pub text: String,
    /// When it was recorded.
    pub at: Timestamp,
}

/// The open work of the team.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Governance {
    /// Number of tasks that can be claimed.
    pub ready: u64,
    /// Number of challenged claims.
    pub contested: u64,
    /// Number of claims that wait for a run.
    pub pending_proof: u64,
    /// How far the work deviates from the intent.
    pub drift: Option<String>,
    /// Whether no task, question, dispute or proof waits for anybody.
    pub is_nothing_open: bool,
}
