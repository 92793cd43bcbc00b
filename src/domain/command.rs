//! Requests to change something, in the imperative, as a front hands them to the writer.
//!
//! [`commands!`] is the table of all commands. Everything else that differs from command to command is its rule in
//! `decide`.

mod claim;
mod decision;
mod ledger;
mod run;
mod seen;
mod session;
mod task;

pub use claim::*;
pub use decision::*;
pub use ledger::*;
pub use run::*;
pub use seen::*;
pub use session::*;
pub use task::*;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::{CommandId, IdempotencyKey, SessionId};
use crate::domain::seat::Unpinned;
use crate::domain::texts::each_text;
use crate::domain::versions::Versions;

/// What a command makes or changes, by its id.
enum Subject {
    /// The front minted the id, and the first event of the command carries it.
    Makes(Uuid),
    /// The thing is there already.
    Changes(Uuid),
}

macro_rules! subject {
    ($of:ident) => {{
        let _ = $of;
        None
    }};
    ($of:ident makes $field:ident) => {
        Some(Subject::Makes($of.$field.uuid()))
    };
    ($of:ident makes $field:ident if $new:ident) => {
        Some(match $of.$new {
            Some(_) => Subject::Makes($of.$field.uuid()),
            None => Subject::Changes($of.$field.uuid()),
        })
    };
    ($of:ident changes $field:ident) => {
        Some(Subject::Changes($of.$field.uuid()))
    };
}

macro_rules! unmint {
    ($of:ident makes $field:ident) => {
        $of.$field = Uuid::nil().into()
    };
    ($of:ident makes $field:ident if $new:ident) => {
        if $of.$new.is_some() {
            $of.$field = Uuid::nil().into();
        }
    };
    ($of:ident $($changes:ident $field:ident)?) => {{
        let _ = $of;
    }};
}

macro_rules! name {
    ($wire:literal) => {
        $wire
    };
    ($wire:literal $name:literal) => {
        $name
    };
}

/// Each line: the struct of a command, its name on the wire, the name that people and agents know it by where that is
/// another one, and the id of what it makes or changes. `makes` is an id that the front mints.
macro_rules! commands {
    ($(
        $variant:ident = $wire:literal $(called $name:literal)?
        $(, $does:ident $field:ident $(if $new:ident)?)?;
    )+) => {
        /// Everything an agent can ask for.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name", content = "args")]
        pub enum Command {
            $(#[allow(missing_docs)] #[serde(rename = $wire)] $variant($variant)),+
        }

        impl Command {
            /// The name of every command.
            pub const NAMES: &'static [&'static str] = &[$(name!($wire $($name)?)),+];

            /// The command's name, as people and agents know it.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => name!($wire $($name)?)),+ }
            }

            fn subject(&self) -> Option<Subject> {
                match self { $(Self::$variant(of) => subject!(of $($does $field $(if $new)?)?)),+ }
            }

            fn unmint(&mut self) {
                match self { $(Self::$variant(of) => unmint!(of $($does $field $(if $new)?)?)),+ }
            }

            /// Calls `found` with each text of the command and the field in which it stands.
            pub fn each_text(&self, found: impl FnMut(&str, &str)) {
                match self { $(Self::$variant(of) => each_text(of, found)),+ }
            }
        }
    };
}

commands! {
    CreateClaim = "create_claim", makes claim_id;
    TakePosition = "take_position", changes claim_id;
    AffirmClaim = "affirm_claim", changes claim_id;
    AddEvidence = "add_evidence", changes claim_id;
    RetractEvidence = "retract_evidence", changes claim_id;
    DeprecateClaim = "deprecate_claim", changes claim_id;
    ReportEvent = "report_event", makes event_id;
    RecordDecision = "record_decision", makes claim_id if statement;
    RecordOutcome = "record_outcome", changes decision_id;
    AliasTarget = "alias_target";
    RunExperiment = "run_experiment", makes run_id;
    AttachExperiment = "attach_experiment", changes claim_id;
    CancelExperiment = "cancel_experiment", changes run_id;
    RecordExperiment = "record_experiment", makes run_id;
    DenyRecord = "deny_record";
    Forget = "forget", changes event_id;
    AcceptLoss = "accept_loss";
    AddPlan = "add_plan", makes plan_id;
    AddPhase = "add_phase", makes phase_id;
    AddTask = "add_task", makes task_id;
    ClaimTask = "claim_task", changes task_id;
    LockScopes = "lock_scopes" called "lock";
    ReleaseScopes = "release_scopes" called "release_locks";
    UpdateTask = "update_task", changes task_id;
    DeclareIntent = "declare_intent";
    StartSession = "start_session";
    EndSession = "end_session";
    RecordTurn = "record_turn";
    SaveAnchor = "save_anchor";
    SplitSession = "split_session";
    SnapshotBeliefs = "snapshot_beliefs";
    RecordFiring = "record_firing", changes guard;
    Observe = "observe", makes event_id;
    SpawnResearcher = "spawn_researcher", makes run_id;
    RecordMessage = "record_message", makes event_id;
    RecordOverride = "record_override";
    PartTarget = "part_target";
    KeepClaim = "keep_claim", changes claim_id;
    AbandonPlan = "abandon_plan", changes plan_id;
    RenamePlan = "rename_plan", changes plan_id;
    RetireAnchor = "retire_anchor";
    SeeAttention = "see_attention";
}

impl Command {
    /// The id of what the command makes; its first event carries the same one.
    pub fn minted(&self) -> Option<Uuid> {
        match self.subject() {
            Some(Subject::Makes(id)) => Some(id),
            Some(Subject::Changes(_)) | None => None,
        }
    }

    /// The id of what the command makes or changes: a claim, a run, a task, or the event that it reports.
    pub fn entity(&self) -> Option<Uuid> {
        self.subject().map(|(Subject::Makes(id) | Subject::Changes(id))| id)
    }

    /// The names by which the command cites events as evidence.
    pub fn evidence_names(&self) -> Vec<&EvidenceName> {
        if let Self::CreateClaim(create) = self {
            create.evidence_refs.iter().collect()
        } else if let Self::TakePosition(take) = self {
            take.evidence_ref.iter().collect()
        } else if let Self::AddEvidence(add) = self {
            vec![&add.evidence_ref]
        } else if let Self::RetractEvidence(retract) = self {
            vec![&retract.evidence_ref]
        } else {
            Vec::new()
        }
    }

    /// The command as its caller meant it: without what a front makes anew for each try.
    pub fn intent(&self) -> Self {
        let mut intent = self.clone();
        intent.unmint();
        // The other commands carry nothing from a front but the id of what they make.
        if let Self::RecordDecision(decision) = &mut intent {
            for alternative in decision.alternatives.iter_mut().filter(|new| new.statement.is_some()) {
                alternative.claim_id = Uuid::nil().into();
            }
        } else if let Self::SpawnResearcher(spawn) = &mut intent {
            spawn.task_id = Uuid::nil().into();
            spawn.turn0 = "-".parse().expect("one character");
            spawn.mission = None;
        } else if let Self::SplitSession(split) = &mut intent {
            split.child = "-".parse().expect("one printable character");
            split.turn0 = "-".parse().expect("one character");
        } else if let Self::RecordTurn(turn) = &mut intent {
            turn.told = None;
        } else if let Self::RunExperiment(run) = &mut intent {
            run.plan = None;
        }
        intent
    }
}

/// A command on its way to the writer, with who asks and under which names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// Minted by the front; a retry of the same request carries the same one.
    pub command_id: CommandId,
    /// Who asks, canonical; of a caller that is not pinned, who it likely is.
    pub agent: AgentId,
    /// What there is to know of a caller that is not pinned: the writer says who it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpinned: Option<Unpinned>,
    /// In which session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The trace the call belongs to, as the client names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The caller's own name for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// Where the caller works, as its front sees it; never what a caller says.
    #[serde(default, skip_serializing_if = "Checkout::is_empty")]
    pub checkout: Checkout,
    /// What the files that the command is about hold, as its front sees them; never what a caller says.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// What is asked.
    pub command: Command,
}

impl Submission {
    /// Calls `found` with each text of the submission and the field in which it stands. The front makes what says where
    /// the caller works and what its files hold. The front removes secrets from that instead of refusing the command.
    pub fn each_text(&self, mut found: impl FnMut(&str, &str)) {
        let Self {
            command_id: _,
            agent,
            unpinned,
            session,
            trace_id,
            idempotency_key,
            checkout: _,
            versions: _,
            command,
        } = self;
        command.each_text(&mut found);
        let Unpinned { pane, client, named } = unpinned.clone().unwrap_or_default();
        each_text(agent, |_, text| found("agent", text));
        each_text(&named, |_, text| found("agent", text));
        each_text(&[session, &pane], |_, text| found("session", text));
        each_text(&client, |_, text| found("client", text));
        each_text(trace_id, |_, text| found("trace_id", text));
        each_text(idempotency_key, |_, text| found("idempotency_key", text));
    }
}
