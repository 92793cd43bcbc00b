//! What a pack shows, as plain data: queries fill it, and nothing here knows where it came from.
//!
//! Within each list the most wanted come first, but for claims: those are ordered by relevance when packed. An
//! entry is given once: a claim that stands under attention or among the anti-patterns is not among the claims.

use crate::domain::claim::{Basis, ClaimType, ContradictionKind, Grade, Status};
use crate::domain::digest::Part;
use crate::domain::relevance::{Binds, Footing, StaleAfter};
use crate::domain::time::{Span, Timestamp};

/// Everything one agent may be shown at a ledger position.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entries {
    /// For whom.
    pub agent: String,
    /// In which session.
    pub session: Option<String>,
    /// Ledger position of what follows.
    pub seq: u64,
    /// Where the team, or this session, is heading.
    pub trajectory: Option<Trajectory>,
    /// How full the client says its context window is.
    pub window: Option<Window>,
    /// The other agents that are there.
    pub peers: Vec<Peer>,
    /// What needs somebody.
    pub attention: Vec<Attention>,
    /// Tasks that are active.
    pub tasks: Vec<Task>,
    /// What is locked where the reader works, or for all.
    pub locks: Vec<Lock>,
    /// What the session keeps through compaction.
    pub anchors: Vec<Anchor>,
    /// Claims in force, in any order.
    pub claims: Vec<Claim>,
    /// Claims that might have been given besides, and were not: they are counted as left out.
    pub unseen_claims: u64,
    /// Whether there is an intent, a task, a prompt or a file to ask the memory about.
    pub is_asked: bool,
    /// Whether files of three claims or more changed since, so that a mark says it of each.
    pub marks_changes: bool,
    /// After how long a proposed claim sinks.
    pub stale_after: StaleAfter,
    /// Dead ends in force: those at hand, in any order, and the newest of the others, which fill spare room.
    pub anti_patterns: Vec<AntiPattern>,
    /// Dead ends in force that are not here.
    pub unseen_dead_ends: u64,
    /// What a session that was split off starts with besides.
    pub turn0: Option<Turn0>,
    /// What the team has before it.
    pub governance: Governance,
    /// Rows that could not be read and were left out.
    pub quarantined: u64,
}

/// The read-head: where the work is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trajectory {
    /// What is meant to be done now.
    pub intent: String,
    /// Title of the plan.
    pub plan: Option<String>,
    /// Title of the phase.
    pub phase: Option<String>,
    /// Tasks that are active.
    pub active_tasks: u64,
}

/// Tokens of a context window, as its client reported them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Tokens that are used.
    pub used_tokens: u64,
    /// Tokens there are.
    pub window_tokens: u64,
}

/// Something that needs somebody.
#[derive(Debug, Clone, PartialEq)]
pub enum Attention {
    /// A position that the reader is asked for.
    Question(Question),
    /// Two sides that contradict each other.
    Contradiction(Contradiction),
    /// A claim that somebody challenges.
    Contested(Claim),
    /// A claim that waits for a run.
    PendingProof {
        /// The claim.
        claim: Claim,
        /// Id of the run.
        run: Option<String>,
    },
    /// A claim that silence will confirm, and that asks no agent by name.
    Silence {
        /// Id of the claim.
        claim: String,
        /// What it says: all of it.
        statement: String,
        /// Whose it is.
        by: String,
        /// What is left until silence agrees.
        left: Span,
    },
    /// A lease about to end.
    Lease {
        /// Id of the task.
        task: String,
        /// Its title.
        title: String,
        /// What is left of the lease.
        left: Span,
    },
    /// Something that does not fit together.
    Fault {
        /// What is concerned.
        id: String,
        /// What is wrong.
        what: String,
    },
}

/// A position that the reader is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Id of the claim.
    pub claim: String,
    /// What it says: all of it.
    pub statement: String,
    /// Who asks.
    pub by: String,
    /// Since when.
    pub asked_at: Timestamp,
    /// What is left until silence agrees.
    pub silence_in: Option<Span>,
    /// Id of the claim that the reader supported and this one replaced.
    pub instead_of: Option<String>,
}

/// Two sides that contradict each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Contradiction {
    /// Its id.
    pub id: String,
    /// How they contradict each other.
    pub kind: ContradictionKind,
    /// Since when.
    pub detected_at: Timestamp,
    /// The side that was there first, and the one that brought it about.
    pub sides: [Side; 2],
    /// The agents whose move it is.
    pub moves: Vec<String>,
}

/// One side of a contradiction.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// Id of the claim.
    pub claim: String,
    /// The agent that made the claim; none once it was erased.
    pub owner: Option<String>,
    /// The agent that holds this side.
    pub by: String,
    /// Where the claim is in its life, when it was made and what it says; none once it was erased.
    pub said: Option<(Status, Timestamp, String)>,
    /// Why who stands here challenges the claim, where it is that of the other side too.
    pub challenge: Option<String>,
}

/// A task that is active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// Id or title of its phase.
    pub phase: Option<String>,
    /// Where it is in its life.
    pub status: String,
    /// What is left of the lease on it.
    pub lease_left: Option<Span>,
    /// Files and globs that are locked through it.
    pub files: u64,
    /// Who holds it.
    pub by: Option<String>,
    /// The linked work tree its holder works in, where that is another one than the reader's.
    pub worktree: Option<String>,
    /// What is to be done.
    pub title: String,
}

/// Another agent that is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peer {
    /// Its name.
    pub agent: String,
    /// The client that it runs in.
    pub client: Option<String>,
    /// The linked work tree that it started in; none for the main one.
    pub worktree: Option<String>,
    /// The branch that it started on.
    pub branch: Option<String>,
    /// What it said it wants.
    pub wants: String,
}

/// A scope that a session locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// What is locked.
    pub scope: String,
    /// Who holds it.
    pub by: String,
    /// The linked work tree its holder works in; none for the main one.
    pub worktree: Option<String>,
    /// What is left of it.
    pub left: Span,
    /// What for.
    pub purpose: String,
}

/// Something a session keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Its name.
    pub key: String,
    /// What it holds.
    pub value: String,
    /// Since when.
    pub set_at: Timestamp,
}

/// A claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Its id.
    pub id: String,
    /// What it says.
    pub statement: String,
    /// What kind of statement it is.
    pub claim_type: ClaimType,
    /// Where it is in its life.
    pub status: Status,
    /// What confirmed it; none while it is not confirmed.
    pub basis: Option<Basis>,
    /// The run that confirmed it, and what ran with which arguments.
    pub proved_by: Option<String>,
    /// The agents whose support confirmed it; only where a delta says that it is confirmed now.
    pub agreed_by: Vec<String>,
    /// Whether that run answered a challenge of the reader.
    pub answers_reader: bool,
    /// Whether the run that confirmed it came out the other way too.
    pub unstable: bool,
    /// The run that contradicts it since a run proved it.
    pub failed_since: Option<String>,
    /// How the best of its evidence came about.
    pub grade: Grade,
    /// Whether the files its evidence rests on were edited since.
    pub evidence_stale: bool,
    /// Its files that others edited since, in a few words.
    pub changed: Option<String>,
    /// Who is at it now, in a few words.
    pub by_now: Option<String>,
    /// Effective confidence now, 0 to 1.
    pub confidence: f64,
    /// What it is about.
    pub scopes: Vec<String>,
    /// Whose it is.
    pub by: String,
    /// Whether it came out of a file.
    pub imported: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last touched.
    pub touched_at: Timestamp,
    /// Ledger position of its last change.
    pub seq: u64,
    /// What it was chosen over, each with the reason.
    pub rejected: Vec<String>,
    /// What it took the place of.
    pub replaced: Option<Replaced>,
    /// How well it answers what the session is about, 0 to 1.
    pub answers: f64,
    /// Whether it came from a task that is active, or lies at a scope that such a task names.
    pub linked_to_active_task: bool,
    /// Whether its scope matches a file the session touched or locked.
    pub touches_session_files: bool,
    /// Whether it is a decision in force about a place where the session works.
    pub binds: Binds,
    /// Id of a later decision that names it: it stands behind that one.
    pub behind: Option<String>,
    /// What the first context of a session says of it besides.
    pub digest: Option<Digest>,
}

/// What the first context of a session says of a claim besides its statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest {
    /// The part of the summary in which it stands.
    pub part: Part,
    /// Why it was decided.
    pub why: Option<String>,
    /// Whether a defect is mended, and what says so.
    pub state: Option<String>,
    /// Ids of later claims that name it, newest first.
    pub named_by: Vec<String>,
    /// Id of the claim that it took the place of.
    pub instead_of: Option<String>,
    /// The last positions of other agents, each with its reason.
    pub said: Vec<String>,
    /// The agents that were asked about it and did not answer.
    pub asks: Vec<String>,
    /// Its scopes that the reader did not name.
    pub elsewhere: String,
}

/// What a claim took the place of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replaced {
    /// A claim that was right until this one mended what it was about.
    Mended(String),
    /// A dead end.
    DeadEnd(String),
    /// Another claim.
    Claim(String),
}

impl Claim {
    /// Whether it is about what the session works on.
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
pub struct AntiPattern {
    /// The negative claim.
    pub claim: Claim,
    /// When it warns.
    pub trigger: Option<String>,
    /// Why it failed.
    pub because: Option<String>,
    /// Whether it is at hand: about an active task or files of the session, or a good answer to what that is about.
    pub matches: bool,
}

/// What a session that was split off starts with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn0 {
    /// The session it was split off from.
    pub parent_session: String,
    /// Why.
    pub reason: String,
    /// What was said before the messages, in few words.
    pub summary: Option<String>,
    /// The last messages, oldest first.
    pub messages: Vec<Message>,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// By whom.
    pub role: String,
    /// What.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

/// What the team has before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Governance {
    /// Tasks that can be claimed.
    pub ready: u64,
    /// Claims somebody challenges.
    pub contested: u64,
    /// Claims that wait for a run.
    pub pending_proof: u64,
    /// How far the work went from what was meant.
    pub drift: Option<String>,
}
