//! No statement scans what grows: every one that reads and folds run is heard, and its plan is looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard};

use hivemind::config::Config;
use hivemind::domain::action::{Action, Attempt, Kind};
use hivemind::domain::agent::AgentId;
use hivemind::domain::checkout::Checkout;
use hivemind::domain::claim::{
    ClaimType, Outcome, Position, Relation, ReportKind, SearchMode, Share, Status, Trigger,
};
use hivemind::domain::command::{
    AcceptGuard, AddEvidence, AddPhase, AddPlan, AddTask, AliasTarget, Alternative, AttachExperiment,
    CancelExperiment, ClaimTask, Command, CreateClaim, DeclareIntent, DeprecateClaim, EndSession, LockScopes,
    Observe, RecordDecision, RecordExperiment, RecordFiring, RecordOutcome, RecordTurn, ReportEvent,
    RunExperiment, SaveAnchor, Seen as Observed, SpawnResearcher, SplitSession, StartSession, Submission,
    TakePosition, UpdateTask,
};
use hivemind::domain::event::{CommandRan, FileEdited, Guard};
use hivemind::domain::experiment::{RunOutcome, RunState};
use hivemind::domain::guard::{Condition, Effect};
use hivemind::domain::ids::{ClaimId, EventId, GuardId, PhaseId, PlanId, RunId, SessionId, TaskId};
use hivemind::domain::memory::{MemoryKind, Space};
use hivemind::domain::names::Sort;
use hivemind::domain::plan::{TaskStatus, Trajectory};
use hivemind::domain::ranking::Vectors;
use hivemind::domain::scope::Scope;
use hivemind::domain::session::{Role, Source};
use hivemind::domain::time::{Hours, Moment, Timestamp};
use hivemind::integrity::Scan;
use hivemind::ledger;
use hivemind::reads::Reads;
use hivemind::store::{
    ClaimFilter, ContradictionFilter, DecisionFilter, ExperimentFilter, Matches, Reader, Search, Seen,
    StoreError, TaskFilter,
};
use hivemind::system;
use hivemind::views::{ContextOf, Known, MemoryFilter, PhaseDiff, TraceFilter, View, delta};
use hivemind::workspace::Workspace;
use hivemind::writer::Committer;
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use rusqlite::{Connection, StatementStatus};
use uuid::Uuid;

use crate::answers::answer;
use crate::harness::{TempWorkspace, agent, fact, fixed_sources, ran, request};
use crate::terminal::trust;

/// A profile of the workspace.
const PROFILE: &str = "check";
/// Claims of the workspace, so many that a scan of them shows.
const CLAIMS: usize = 400;
/// After the last event of [`fixed_sources`], whose clock stands in 2027.
const END: Timestamp = Timestamp::from_ms(1_900_000_000_000);
/// Entries of every page that is asked for.
const LIMIT: usize = 10;
/// Rows a scan that ends at its limit may pass over.
const MOST_PASSED: i32 = 100;

/// A scan that is no mistake.
struct Allowed {
    /// What the statement begins with.
    statement: &'static str,
    /// What the plan says.
    scan: &'static str,
    /// Why it may.
    because: Because,
}

/// Why a scan is no mistake.
#[derive(Clone, Copy, PartialEq)]
enum Because {
    /// The table has a handful of rows, and does not grow with claims or events.
    Small,
    /// It goes along the key and ends at its limit, which is checked.
    Ends,
    /// All of it is what is wanted.
    All,
}

const ALLOWED: &[Allowed] = &[
    // A row for each agent, type and status.
    Allowed {
        statement: "SELECT claim_type, status, sum(claims)",
        scan: "SCAN claim_counts",
        because: Because::Small,
    },
    Allowed { statement: "SELECT agent, last_seen_at", scan: "SCAN agents", because: Because::Small },
    // What a team decides about is named by people.
    Allowed { statement: "SELECT canonical, name FROM targets", scan: "SCAN targets", because: Because::All },
    // Once for each alias that is made or taken apart.
    Allowed { statement: "WITH RECURSIVE stands", scan: "SCAN targets", because: Because::All },
    Allowed { statement: "WITH RECURSIVE stands", scan: "SCAN stands", because: Because::All },
    Allowed {
        statement: "WITH RECURSIVE stands",
        scan: "SCAN targets USING COVERING INDEX targets_canonical",
        because: Because::All,
    },
    // The options that decisions rejected, a few for each decision, counted for who asks how the workspace is doing.
    Allowed {
        statement: "SELECT count(DISTINCT alternative_id)",
        scan: "SCAN decision_alternatives",
        because: Because::All,
    },
    // The claims that one took the place of, one after the other: at most fifty steps.
    Allowed { statement: "WITH RECURSIVE before", scan: "SCAN b", because: Because::All },
    // A person typed the end of the id of an event, instead of its name.
    Allowed { statement: "SELECT id FROM events WHERE substr", scan: "SCAN events", because: Because::All },
    Allowed { statement: "SELECT p.event_id, p.claim_id", scan: "SCAN p", because: Because::Ends },
    Allowed { statement: "SELECT c.id, c.statement", scan: "SCAN c", because: Because::Ends },
    // Each run that contradicts a claim, and no other evidence.
    Allowed {
        statement: "SELECT c.id, c.statement",
        scan: "SCAN f USING INDEX claim_evidence_against",
        because: Because::All,
    },
    Allowed {
        statement: "SELECT command_id, agent, kind",
        scan: "SCAN rejected_commands",
        because: Because::Ends,
    },
    Allowed {
        statement: "SELECT event_id, policy, was",
        scan: "SCAN loosened_policies",
        because: Because::Ends,
    },
    Allowed { statement: "SELECT event_id, rule, now", scan: "SCAN loosened_rules", because: Because::Ends },
    Allowed {
        statement: "SELECT policy FROM loosened_policies ORDER BY seq DESC",
        scan: "SCAN loosened_policies",
        because: Because::Ends,
    },
    Allowed {
        statement: "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1",
        scan: "SCAN events",
        because: Because::Ends,
    },
    // From the end back to a moment: the recent past is asked for most.
    Allowed {
        statement: "SELECT seq FROM events WHERE at_ms <= ?1",
        scan: "SCAN events",
        because: Because::Ends,
    },
    Allowed {
        statement: "SELECT q.claim_id, q.agent",
        scan: "SCAN q USING INDEX questions_seq",
        because: Because::Ends,
    },
    Allowed {
        statement: "SELECT DISTINCT claim_id FROM triggers",
        scan: "SCAN triggers USING COVERING INDEX triggers_claim",
        because: Because::All,
    },
    Allowed { statement: "SELECT g.id, g.condition", scan: "SCAN g", because: Because::All },
    // One row for each guard that ever fired.
    Allowed { statement: "SELECT coalesce(sum(fired)", scan: "SCAN guard_counts", because: Because::All },
    Allowed { statement: "SELECT id, title, sot_path", scan: "SCAN plans", because: Because::Ends },
    // Facts the team keeps are named by hand.
    Allowed { statement: "SELECT key, value, agent", scan: "SCAN anchors", because: Because::All },
    // Only those that are under way stand in that index.
    Allowed {
        statement: "SELECT session, coalesce(speaks_as, agent) AS agent",
        scan: "SCAN session_states USING INDEX session_states_alive",
        because: Because::All,
    },
    Allowed { statement: "SELECT e.seq, e.id, e.type", scan: "SCAN e", because: Because::All },
    Allowed { statement: "DELETE FROM \"", scan: "SCAN", because: Because::All },
    // What a table is, and which migrations ran.
    Allowed { statement: "SELECT", scan: "SCAN sqlite_master", because: Because::Small },
    Allowed { statement: "SELECT", scan: "SCAN sqlite_schema", because: Because::Small },
    Allowed { statement: "SELECT", scan: "SCAN pragma_", because: Because::Small },
    Allowed { statement: "SELECT", scan: "SCAN refinery_schema_history", because: Because::Small },
    // The two parts of the view, each looked up by its claim.
    Allowed { statement: "SELECT old_status", scan: "SCAN claim_status_history", because: Because::All },
    // What FTS5 asks itself: its settings, and which of its cursors this is.
    Allowed { statement: "SELECT k, v FROM", scan: "SCAN main.claim_index_config", because: Because::Small },
    Allowed {
        statement: "SELECT t.'claim_index' FROM",
        scan: "SCAN t VIRTUAL TABLE INDEX 0:M",
        because: Because::Small,
    },
    // The claims that are scored, 400 at most.
    Allowed { statement: "WITH top AS MATERIALIZED", scan: "SCAN top", because: Because::Small },
    // A page of the integrity scan.
    Allowed {
        statement: "SELECT t.id, EXISTS (SELECT 1 FROM claims c",
        scan: "SCAN t",
        because: Because::Small,
    },
    // What was asked for, and a row of constants.
    Allowed { statement: "", scan: "SCAN json_each VIRTUAL TABLE INDEX 1:", because: Because::Small },
    Allowed { statement: "", scan: "SCAN CONSTANT ROW", because: Because::Small },
    Allowed { statement: "SELECT", scan: "SCAN (subquery", because: Because::Small },
];

/// A statement that was run: in which database, and how many rows its scans passed over at most.
type Heard = BTreeMap<(PathBuf, String), i32>;

/// Where connections are listened to, and what was heard.
static LISTENING: Mutex<Option<(PathBuf, Heard)>> = Mutex::new(None);

fn listening() -> MutexGuard<'static, Option<(PathBuf, Heard)>> {
    LISTENING.lock().expect("nobody panics while listening")
}

/// Has every connection of this process that opens a database below `root` tell what it runs.
#[expect(unsafe_code, reason = "SQLite calls back with every connection it opens, and only C can be called")]
fn listen_below(root: &Path) {
    unsafe extern "C" fn opened(
        db: *mut rusqlite::ffi::sqlite3,
        error: *mut *mut std::ffi::c_char,
        _: *const rusqlite::ffi::sqlite3_api_routines,
    ) -> std::ffi::c_int {
        // SAFETY: SQLite hands over a connection that lives until this returns, and `hear` opens no other.
        unsafe { rusqlite::auto_extension::init_auto_extension(db, error, hear) }
    }
    *listening() = Some((root.to_owned(), Heard::new()));
    // SAFETY: `opened` is a function of this program, and lives as long as it.
    unsafe { rusqlite::auto_extension::register_auto_extension(opened) }.expect("SQLite takes it");
}

fn hear(mut db: Connection) -> rusqlite::Result<()> {
    let path = db.path().map(PathBuf::from).unwrap_or_default();
    if !listening().as_ref().is_some_and(|(root, _)| path.starts_with(root)) {
        return Ok(());
    }
    db.trace_v2(
        TraceEventCodes::SQLITE_TRACE_PROFILE,
        Some(move |event: TraceEvent<'_>| {
            let TraceEvent::Profile(statement, _) = event else { return };
            let passed = statement.get_status(StatementStatus::FullscanStep);
            if let Some((_, heard)) = listening().as_mut() {
                let most = heard.entry((path.clone(), statement.sql().into_owned())).or_default();
                *most = passed.max(*most);
            }
        }),
    )
}

fn claim(index: usize) -> CreateClaim {
    let word = ["pool", "cache", "queue", "index", "socket"][index % 5];
    let claim_type = ClaimType::ALL[index % ClaimType::ALL.len()];
    let trigger = || Trigger {
        paths: vec![format!("src/area{}", index % 5).parse().expect("a path")],
        commands: vec![format!("make part{index}").parse().expect("a command line")],
        ..Trigger::default()
    };
    let statement = format!("the {word} of part{index} waits for thing{} in place{}", index * 7, index % 11);
    CreateClaim {
        claim_type,
        trigger: (claim_type == ClaimType::Negative).then(trigger),
        scopes: vec![format!("src/area{}/file{index}.rs", index % 5).parse().expect("a scope")],
        supersedes: None,
        asks: Vec::new(),
        unless_objection_minutes: None,
        // A decision takes none.
        ttl_hours: (index.is_multiple_of(9) && claim_type != ClaimType::Decision).then_some(Hours(1)),
        ..fact(&statement)
    }
}

fn by(index: usize, command: Command) -> Submission {
    let session = format!("s{}", index / 50).parse().expect("a session");
    Submission { session: Some(session), ..request(["devops", "analyst", "architect"][index % 3], command) }
}

fn write_profile(workspace: &Workspace) {
    let dir = workspace.marker_dir().join("profiles");
    std::fs::create_dir_all(&dir).expect("a directory");
    let text = "description = \"a test\"\nargv = [\"true\"]\ntimeout_ms = 1000\n";
    std::fs::write(dir.join(format!("{PROFILE}.toml")), text).expect("a profile");
    let text = "description = \"a test\"\nargv = [\"true\", \"{prompt}\"]\ntimeout_ms = 1000\n[agent]\n";
    std::fs::write(dir.join("agent.toml"), text).expect("a profile");
    for name in [PROFILE, "agent"] {
        trust(workspace.root(), name);
    }
}

/// Asks for everything that can be completed.
fn complete(store: &Reader) {
    type Ask = fn(&Reader, &str, usize) -> Result<Matches, StoreError>;
    let asks: [(Ask, &str); 9] = [
        (|store, typed, limit| store.names_beginning(Sort::Claim, typed, limit), ""),
        (|store, typed, limit| store.names_beginning(Sort::Claim, typed, limit), "c1"),
        (|store, typed, limit| store.names_beginning(Sort::Claim, typed, limit), "0"),
        (|store, typed, limit| store.names_beginning(Sort::Run, typed, limit), "R"),
        (|store, typed, limit| store.names_beginning(Sort::Task, typed, limit), "0"),
        (|store, typed, limit| store.names_beginning(Sort::Contradiction, typed, limit), "X"),
        (Reader::scopes, "src/area1"),
        (Reader::targets_like, "target:d"),
        (Reader::sessions, "s"),
    ];
    for (ask, typed) in asks {
        assert_ne!(ask(store, typed, 1).expect("an answer").total, 0, "{typed}");
    }
}

/// A report about the file of a claim.
fn report(kind: ReportKind, index: usize) -> ReportEvent {
    ReportEvent {
        event_id: EventId::from_uuid(system::new_id()),
        kind,
        summary: "seen".parse().expect("a summary"),
        paths: claim(index).scopes,
        command: None,
        exit_code: None,
        error_signature: None,
    }
}

/// Writes with every command, so that every fold is run; says which claims there are, and one of the runs.
fn write_everything(committer: &mut Committer) -> (Vec<ClaimId>, RunId) {
    let mut ids = Vec::new();
    let mut recorded = None;
    let mut group = Vec::new();
    let target = |name: &str| Scope::target(name).expect("a target");
    let mut last_decision = None;
    for index in 0..CLAIMS {
        let create = claim(index);
        let id = create.claim_id;
        ids.push(id);
        group.push(by(index, Command::CreateClaim(create)));
        let reason = Some("seen again".parse().expect("a reason"));
        let take =
            |position| TakePosition { claim_id: id, position, reason: reason.clone(), evidence_ref: None };
        match index % 8 {
            1 => group.push(by(index + 1, Command::TakePosition(take(Position::Support)))),
            2 => group.push(by(index + 1, Command::TakePosition(take(Position::Challenge)))),
            3 => group.push(by(
                index,
                Command::DeprecateClaim(DeprecateClaim {
                    claim_id: id,
                    reason: "no longer so".parse().expect("a reason"),
                }),
            )),
            4 => group.push(by(
                index + 1,
                Command::AddEvidence(AddEvidence {
                    claim_id: id,
                    evidence_ref: ids[index - 1].creation_event().into(),
                    relation: Relation::ALL[index % Relation::ALL.len()],
                    weight: Share::FULL,
                    note: None,
                }),
            )),
            5 => {
                let decision = ClaimId::from_uuid(system::new_id());
                group.push(request(
                    "architect",
                    Command::RecordDecision(RecordDecision {
                        mends: false,
                        evidence_refs: Vec::new(),
                        decided_at: None,
                        claim_id: decision,
                        statement: Some(format!("we use method{index} there").parse().expect("a statement")),
                        rationale: "long enough to say why".parse().expect("a rationale"),
                        context: None,
                        target: Some(target("database")),
                        scopes: Vec::new(),
                        alternatives: vec![Alternative {
                            claim_id: ClaimId::from_uuid(system::new_id()),
                            statement: Some(format!("we use way{index} there").parse().expect("a statement")),
                            rejection_reason: "not this one".parse().expect("a reason"),
                        }],
                        supersedes: last_decision.replace(decision).into_iter().collect(),
                        asks: Vec::new(),
                        unless_objection_minutes: None,
                    }),
                ));
                group.push(request(
                    "architect",
                    Command::RecordOutcome(RecordOutcome {
                        decision_id: decision,
                        outcome: Outcome::Partial,
                        notes: None,
                    }),
                ));
            }
            // What rests on a file goes stale with an edit of it, or is stale from the beginning.
            6 => {
                let finding = report(ReportKind::Finding, index);
                let evidence_ref = finding.event_id;
                let evidence = AddEvidence {
                    claim_id: id,
                    evidence_ref: evidence_ref.into(),
                    relation: Relation::Supports,
                    weight: Share::FULL,
                    note: None,
                };
                let edit = Command::ReportEvent(report(ReportKind::FileEdited, index));
                let tie = Command::AddEvidence(evidence);
                group.push(by(index, Command::ReportEvent(finding)));
                for command in if index % 16 == 6 { [edit, tie] } else { [tie, edit] } {
                    group.push(by(index + 1, command));
                }
            }
            7 => {
                let run_id = RunId::from_uuid(system::new_id());
                let outcome = RunOutcome::without_files(RunState::Succeeded, None);
                let command = format!("make part{index}").parse().expect("a command line");
                let record = RecordExperiment { run_id, command, outcome, asserted: false };
                group.push(request(AgentId::operator().as_str(), Command::RecordExperiment(record)));
                recorded = Some(run_id);
                let attach = AttachExperiment { run_id, claim_id: id, summary: None };
                group.push(by(index + 1, Command::AttachExperiment(attach)));
                let (run_id, profile) =
                    (RunId::from_uuid(system::new_id()), PROFILE.parse().expect("a profile's name"));
                let run = RunExperiment { run_id, claim_id: Some(id), ..RunExperiment::of(profile) };
                group.push(by(index, Command::RunExperiment(run)));
                group.push(by(index, Command::CancelExperiment(CancelExperiment { run_id })));
            }
            _ => {}
        }
        if group.len() > 60 {
            for outcome in committer.commit(&std::mem::take(&mut group)).expect("a group") {
                outcome.expect("nothing is refused");
            }
        }
    }
    let alias = AliasTarget { target: target("database"), alias: target("db") };
    group.push(by(0, Command::AliasTarget(alias)));
    for outcome in committer.commit(&group).expect("a group") {
        outcome.expect("nothing is refused");
    }
    write_work(committer, &ids);
    (ids, recorded.expect("a run was recorded"))
}

/// A command that failed with an error of its own.
fn failed(index: usize) -> CommandRan {
    CommandRan {
        exit_code: Some(1),
        error_signature: Some(format!("error in part{}", index % 50).parse().expect("an error")),
        failed: true,
        ..ran(&format!("make part{index}"))
    }
}

/// Sessions with everything that happens in one, so many that a scan of them shows.
fn write_work(committer: &mut Committer, claims: &[ClaimId]) {
    let title = |text: &str| text.parse().expect("a title");
    let plan_id = PlanId::from_uuid(system::new_id());
    for index in 0..CLAIMS {
        let (phase_id, task_id) = (PhaseId::from_uuid(system::new_id()), TaskId::from_uuid(system::new_id()));
        let mut group = Vec::new();
        if index == 0 {
            group.push(Command::AddPlan(AddPlan {
                plan_id,
                title: title("a plan"),
                description: None,
                sot_path: None,
            }));
        }
        if index % 100 == 0 {
            group.push(Command::AddPhase(AddPhase {
                phase_id,
                plan_id: Some(plan_id),
                title: title("a phase"),
                order: None,
            }));
        }
        let intent = format!("look at part {index}").parse().expect("an intent");
        let trajectory = Trajectory { intent, plan_id: Some(plan_id), phase_id: None, task_ids: Vec::new() };
        let add = AddTask {
            meant_for: None,
            task_id,
            title: title("a task"),
            description: None,
            phase_id: None,
            parent_task_id: None,
            depends_on: Vec::new(),
            scopes: Vec::new(),
        };
        let source = Source::Startup;
        group.extend([
            Command::StartSession(StartSession { source, client: None, parent_session: None }),
            Command::DeclareIntent(DeclareIntent { trajectory, team: false }),
            Command::AddTask(add),
            Command::ClaimTask(ClaimTask { task_id, lease_minutes: None, file_locks: Vec::new() }),
            Command::LockScopes(LockScopes {
                scopes: vec![format!("tag:lock {index}").parse().expect("a tag")],
                minutes: None,
                why: "benchmarks".parse().expect("a reason"),
            }),
            Command::SaveAnchor(SaveAnchor {
                key: format!("KEY_{}", index % 50).parse().expect("a key"),
                value: format!("value {index}").parse().expect("a value"),
                user: None,
            }),
            Command::Observe(Observe {
                event_id: EventId::from_uuid(system::new_id()),
                seen: Observed::Files(FileEdited {
                    merged: None,
                    paths: claim(index).scopes,
                    versions: Default::default(),
                    checkout: Checkout::default(),
                }),
            }),
            Command::RecordFiring(RecordFiring {
                // Every fourth claim is a dead end.
                guard: Guard::Claim(claims[index / 4 * 4 + 3]),
                matched: "cargo test".parse().expect("a command"),
                kind: Some(Kind::Command),
                did: Some("cargo test".parse().expect("a command")),
            }),
            Command::Observe(Observe {
                event_id: EventId::from_uuid(system::new_id()),
                seen: Observed::Command(failed(index)),
            }),
        ]);
        // The architect accepts guards.
        if index % 3 == 2 {
            group.push(Command::AcceptGuard(AcceptGuard {
                guard_id: GuardId::from_uuid(system::new_id()),
                condition: Condition {
                    commands: vec![format!("make part{index}").parse().expect("a command line")],
                    ..Condition::default()
                },
                action: Effect::Warn,
                text: "ask first".parse().expect("an advice"),
                source_claim: None,
                source_pattern: None,
                profile: None,
                until: None,
            }));
        }
        let turn = |at: usize| {
            Command::RecordTurn(RecordTurn {
                role: Role::User,
                told: None,
                text: format!("message {at}").parse().expect("something said"),
            })
        };
        group.extend((0..8).map(turn));
        if index % 2 == 0 {
            let note = Some("done".parse().expect("a note"));
            let status = if index % 4 == 0 { TaskStatus::Done } else { TaskStatus::Open };
            group.push(Command::UpdateTask(UpdateTask { task_id, status, note, fencing_token: None }));
        }
        if index % 8 == 0 {
            let run_id = RunId::from_uuid(Uuid::from_u128(0x5ea0_0000 + index as u128));
            group.push(Command::SpawnResearcher(SpawnResearcher {
                run_id,
                task_id: TaskId::from_uuid(system::new_id()),
                prompt: "who waits for whom?".parse().expect("a prompt"),
                profile: "agent".parse().expect("a profile's name"),
                parent_task_id: Some(task_id),
                turn0: "what was".parse().expect("a hand-over"),
            }));
            group.push(Command::CancelExperiment(CancelExperiment { run_id }));
        }
        // The others end with what they hold, or hold nothing.
        if index % 6 != 3 {
            group.push(Command::SplitSession(SplitSession {
                child: format!("child-{index}").parse().expect("a session"),
                reason: "the window is full".parse().expect("a reason"),
                used_tokens: None,
                window_tokens: None,
                turn0: "what was".parse().expect("a hand-over"),
            }));
        }
        if index % 3 == 0 {
            group.push(Command::EndSession(EndSession {}));
        }
        let session: hivemind::domain::ids::SessionId = format!("w{index}").parse().expect("a session");
        let group: Vec<Submission> = group
            .into_iter()
            .map(|command| Submission { session: Some(session.clone()), ..by(index, command) })
            .collect();
        for outcome in committer.commit(&group).expect("a group") {
            outcome.expect("nothing is refused");
        }
    }
}

/// Every filter of lists, alone and with every other: a statement is made of what is asked for.
fn filters(ids: &[ClaimId]) -> Vec<ClaimFilter> {
    type Ask = fn(&mut ClaimFilter, ClaimId);
    let asks: [Ask; 11] = [
        |filter, _| filter.status = vec![Status::Contested],
        |filter, _| filter.status = vec![Status::Contested, Status::Confirmed],
        |filter, _| filter.in_force = true,
        |filter, _| filter.claim_type = Some(ClaimType::Negative),
        |filter, _| filter.scope = Some("src/area1".parse().expect("a scope")),
        |filter, _| filter.owner = Some("devops".to_owned()),
        |filter, _| filter.session = Some("s2".to_owned()),
        |filter, id| filter.task = Some(TaskId::from_uuid(id.uuid())),
        |filter, _| {
            (filter.since, filter.until) =
                (Some(Moment::Time(Timestamp::from_ms(1))), Some(Moment::Time(END)))
        },
        |filter, _| filter.before = Some(300),
        |filter, id| filter.id = Some(id),
    ];
    let statuses = 0b111_u32;
    (0..1_u32 << asks.len())
        .filter(|asked| (asked & statuses).count_ones() <= 1)
        .map(|asked| {
            let mut filter = ClaimFilter { limit: LIMIT, ..ClaimFilter::default() };
            for (at, ask) in asks.iter().enumerate().filter(|(at, _)| asked & (1 << at) != 0) {
                ask(&mut filter, ids[at]);
            }
            filter
        })
        .collect()
}

fn views(ids: &[ClaimId], run: RunId) -> Vec<View> {
    let mut views = Vec::new();
    for filter in filters(ids) {
        for mode in [SearchMode::Strict, SearchMode::Balanced, SearchMode::Audit] {
            if filter.before.is_none() && filter.session.is_none() && !filter.in_force {
                // Rare words, and one that more claims hold than are scored.
                let query =
                    if filter.owner.is_some() { "thing7 place3" } else { "pool part waits" }.to_owned();
                let seen = Seen::default();
                views.push(View::Search(Search { query, mode, filter: filter.clone(), seen, explain: true }));
            }
        }
        views.push(View::Claims(filter));
    }
    for before in [None, Some(300)] {
        for target in [None, Some(Scope::target("db").expect("a target"))] {
            views.push(View::Decisions(DecisionFilter {
                target,
                before,
                limit: LIMIT,
                ..DecisionFilter::default()
            }));
        }
        for (resolved, weak) in [(false, false), (true, false), (false, true)] {
            views.push(View::Contradictions(ContradictionFilter { resolved, weak, before, limit: LIMIT }));
        }
    }
    for (kind, by) in [
        (None, None),
        (Some("claim.created"), None),
        (None, Some("devops")),
        (Some("claim.created"), Some("devops")),
    ] {
        for newest in [false, true] {
            let (kind, agent) = (kind.map(str::to_owned), by.map(agent));
            views.push(View::Events(ledger::Filter {
                after: 3,
                until: None,
                kind,
                agent,
                session: None,
                limit: LIMIT,
                newest,
            }));
        }
    }
    for asked in 0..1_u32 << 4 {
        let has = |bit: u32| asked & (1 << bit) != 0;
        views.push(View::Experiments(ExperimentFilter {
            status: has(0).then_some(RunState::Succeeded),
            profile: has(1).then(|| PROFILE.parse().expect("a profile's name")),
            claim: has(2).then_some(ids[7]),
            since: has(3).then_some(Moment::Time(Timestamp::from_ms(1))),
            until: has(3).then_some(Moment::Time(END)),
            before: has(0).then_some(300),
            limit: LIMIT,
        }));
    }
    for asked in 0..1_u32 << 5 {
        let has = |bit: u32| asked & (1 << bit) != 0;
        views.push(View::Memory(MemoryFilter {
            kind: has(0).then_some(MemoryKind::ShortTerm),
            space: has(1).then_some(Space::Session),
            owner: None,
            agent: has(2).then(|| agent("devops")),
            session: has(3).then(|| "w7".to_owned()),
            scope: has(4).then(|| "src/area1".parse().expect("a scope")),
            older_than: has(2).then_some(Moment::Time(END)),
            never_used: has(4) && has(2),
            before: has(1).then_some(3_000),
            limit: LIMIT,
        }));
    }
    views.extend(ids.iter().step_by(29).map(|id| View::Claim(*id)));
    let scope: Scope = "src/area1".parse().expect("a scope");
    views.extend([
        View::Targets,
        View::Profiles,
        View::Experiment(run),
        View::Negative(None, None),
        View::Guards,
        View::Guard(ids[7].uuid()),
        View::Negative(Some(scope), Some(300)),
        View::Agents,
        View::Event(ids[0].creation_event()),
        View::Status,
        View::Plan(None),
        View::Plan(Some("w7".to_owned())),
        View::Locks,
        View::ReadyTasks,
        View::Tasks(TaskFilter { limit: LIMIT, ..TaskFilter::default() }),
        View::Tasks(TaskFilter {
            phase: Some(PhaseId::from_uuid(Uuid::from_u128(1))),
            limit: LIMIT,
            ..TaskFilter::default()
        }),
        View::Sessions(Some(3_000), LIMIT),
        View::Session("w7".to_owned()),
        View::Session("w8".to_owned()),
        View::Session(SessionId::of_researcher(RunId::from_uuid(Uuid::from_u128(0x5ea0_0008))).to_string()),
        View::Turn0("child-7".to_owned()),
        View::Anchors,
        View::PhaseDiff(PhaseDiff { space: Space::Project, owner: None, from: None, to: None }),
        View::Playbooks,
        View::Calibration,
        View::MemoryItem("session:w7:short_term:1".parse().expect("an id")),
        View::MemoryItem("session:w7:short_term:0".parse().expect("an id")),
        View::Traces(TraceFilter { limit: LIMIT, ..TraceFilter::default() }),
        View::Traces(TraceFilter { session: Some("w7".to_owned()), limit: LIMIT, ..TraceFilter::default() }),
        View::Trace(1),
        View::Beliefs(agent("devops"), None),
        View::Attention(None),
        View::Patterns(false, None),
        View::Patterns(true, Some(9)),
        View::Attention(Some(agent("devops"))),
        View::Beliefs(agent("devops"), Some("w0".to_owned())),
        View::Context(ContextOf::new(agent("devops"), None)),
        View::Explained(ContextOf::new(agent("devops"), None), Some(ids[7])),
        View::Context(ContextOf::new(agent("devops"), Some("w7".to_owned()))),
    ]);
    views
}

/// The variants there are; a new one does not compile until it is asked for above.
const fn kind(view: &View) -> &'static str {
    match view {
        View::Claims(_) => "claims",
        View::Claim(_) => "claim",
        View::Search(_) => "search",
        View::Decisions(_) => "decisions",
        View::Contradictions(_) => "contradictions",
        View::Contradiction(_) => "contradiction",
        View::Targets => "targets",
        View::Experiments(_) => "experiments",
        View::Experiment(_) => "experiment",
        // What lies in files asks no database.
        View::Output(..) | View::Profiles => "files",
        View::Negative(..) => "negative",
        View::Guards => "guards",
        View::Guard(_) => "guard",
        View::Agents => "agents",
        View::Events(_) => "events",
        View::Event(_) => "event",
        View::Status => "status",
        View::Plan(_) => "plan",
        View::OnePlan(_) => "one plan",
        View::Locks => "locks",
        View::ReadyTasks => "ready",
        View::Tasks(_) => "tasks",
        View::Task(_) => "task",
        View::Sessions(..) => "sessions",
        View::Session(_) => "session",
        View::Turn0(_) => "turn0",
        View::Anchors => "anchors",
        View::Memory(_) => "memory",
        View::MemoryItem(_) => "memory item",
        View::PhaseDiff(_) => "phase diff",
        View::Traces(_) => "traces",
        View::Trace(_) => "trace",
        View::Beliefs(..) => "beliefs",
        View::Context(..) | View::Rest(..) => "context",
        View::Explained(..) => "explained",
        View::Attention(_) => "attention",
        View::Patterns(..) => "patterns",
        View::Pattern(_) => "pattern",
        // One playbook is asked for as all of them are.
        View::Playbooks | View::Playbook(_) => "playbooks",
        View::Calibration => "calibration",
    }
}
const KINDS: usize = 40;

/// The lines of a statement's plan that go over all of a table or of an index.
fn scans(db: &Connection, sql: &str) -> Vec<String> {
    let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("a statement that was run before");
    let plan: Vec<String> =
        plan.raw_query().mapped(|row| row.get(3)).collect::<Result<_, _>>().expect("a plan");
    // A full-text index is scanned by name when words are looked up in it (M), or one word in its vocabulary, or
    // one entry (=).
    let is_lookup = |line: &str| {
        line.starts_with("SCAN claim_index VIRTUAL TABLE INDEX")
            && line.rsplit(':').next().is_some_and(|how| how.contains(['M', '=']))
            || line.starts_with("SCAN claim_vocabulary VIRTUAL TABLE INDEX 263:")
    };
    // All claims of one status are a good part of all claims, and those that silence may confirm are few among them.
    let asks_for_few = sql.starts_with("SELECT id, objection_until");
    let is_all = |line: &str| asks_for_few && line.contains("USING INDEX claims_status (status=?)");
    let is_scan = |line: &str| line.starts_with("SCAN") || is_all(line);
    plan.into_iter().filter(|line| is_scan(line) && !is_lookup(line)).collect()
}

/// What stands against a statement.
fn problems(db: &Connection, sql: &str, passed: i32) -> Vec<String> {
    let scans = scans(db, sql);
    let reason = |scan: &str| {
        ALLOWED.iter().find(|allowed| sql.starts_with(allowed.statement) && scan.starts_with(allowed.scan))
    };
    let mut problems: Vec<String> =
        scans.iter().filter(|scan| reason(scan).is_none()).map(|scan| format!("{scan}: {sql}")).collect();
    let ends = scans.iter().any(|scan| reason(scan).is_some_and(|allowed| allowed.because == Because::Ends));
    if ends && passed > MOST_PASSED {
        problems.push(format!("it does not end at its limit but after {passed} rows: {sql}"));
    }
    problems
}

/// Three equal failures of one session.
fn write_a_loop(committer: &mut Committer) {
    for _ in 0..3 {
        let ran = serde_json::json!({ "what": "command", "command": "cargo test", "exit_code": 101, "failed": true });
        let seen = serde_json::from_value(ran).expect("a command");
        let event_id = hivemind::domain::ids::EventId::from_uuid(system::new_id());
        let observe = by(7, Command::Observe(hivemind::domain::command::Observe { event_id, seen }));
        let session = Some("loops".parse().expect("a session"));
        committer
            .commit(&[Submission { session, ..observe }])
            .expect("a group")
            .remove(0)
            .expect("not refused");
    }
    assert!(hivemind::writer::mine(committer).expect("a look") > 0);
}

#[test]
fn no_statement_scans_what_grows() {
    let workspace = TempWorkspace::new();
    listen_below(workspace.root());
    write_profile(&workspace);
    let mut committer =
        workspace.committer(1).planning(&workspace, &hivemind::domain::agent::Roster::default());
    let (ids, run) = write_everything(&mut committer);
    hivemind::writer::sweep(&mut committer).expect("a sweep");
    write_a_loop(&mut committer);
    drop(committer);
    // Opened again, it looks up what it does not remember.
    let mut committer =
        Committer::open(&workspace, hivemind::domain::decide::Policy::default(), fixed_sources(2))
            .expect("a workspace");
    let late = by(CLAIMS - 1, Command::CreateClaim(claim(CLAIMS)));
    committer.commit(&[late]).expect("a group").remove(0).expect("nothing is refused");
    committer.rebuild(|_| ()).expect("a rebuild");
    drop(committer);

    let mut reads = Reads::of((*workspace).clone());
    let mut views = views(&ids, run);
    let found = workspace.events().into_iter().find(|event| event.kind == "contradiction.detected");
    views.push(View::Contradiction(found.expect("a contradiction").id));
    let pattern = hivemind::views::resolve(&mut reads, Sort::Pattern, "L1").expect("a pattern");
    views.push(View::Pattern(hivemind::domain::ids::PatternId::from_uuid(pattern)));
    let named =
        ["T1", "t2"].map(|name| hivemind::views::resolve(&mut reads, Sort::Task, name).expect("a task"));
    views.extend(named.map(|id| View::Task(TaskId::from_uuid(id))));
    let plan = hivemind::views::resolve(&mut reads, Sort::Plan, "P1").expect("a plan");
    views.push(View::OnePlan(PlanId::from_uuid(plan)));
    let end = named[0].to_string()[28..].to_owned();
    assert_eq!(hivemind::views::resolve(&mut reads, Sort::Task, &end), Ok(named[0]));
    let claim = hivemind::views::resolve(&mut reads, Sort::Claim, "C1").expect("a claim");
    assert_eq!(claim, ids[0].uuid());
    assert_eq!(hivemind::views::event(&mut reads, "C1"), Ok(ids[0].creation_event()));
    let end = claim.to_string()[10..].to_owned();
    assert_eq!(hivemind::views::event(&mut reads, &end), Ok(ids[0].creation_event()));
    hivemind::views::evidence(&mut reads, "evidence", "#1").expect("an event");
    hivemind::views::resolve(&mut reads, Sort::Phase, "nothing").expect_err("no phase is called so");
    assert_eq!(
        views.iter().map(kind).collect::<BTreeSet<_>>().len(),
        KINDS,
        "every kind of question is asked"
    );
    let config = Config::load(&workspace.config()).expect("a configuration");
    let config = Config { vectors: Vectors::Static, ..config };
    for view in &views {
        answer(&mut reads, &config, view, system::now()).expect("an answer");
    }
    let (session, window) = (Some("w7".to_owned()), None);
    let of = ContextOf { window, ..ContextOf::new(agent("devops"), session) };
    for since in [0, workspace.events().len() as u64 / 2] {
        let known = Known { opened: [(ids[0].to_string(), 9)].into(), ..Known::up_to(since) };
        let (text, told) = delta(&mut reads, &of, &known, system::now()).expect("a delta");
        assert!(text.contains("<waiting") && !told.waiting.is_empty(), "{text}");
    }
    complete(reads.store().expect("read models").expect("read models"));
    let store = reads.store().expect("read models").expect("read models");
    assert_eq!(store.contradiction(ids[0].creation_event()).expect("an answer"), None);
    let attempt =
        Attempt { command: Some("make part11"), paths: &["src/area2/a.rs".to_owned()], ..Attempt::default() };
    let action = Action::of(attempt, "/ws", "/ws");
    let store = reads.store().expect("read models").expect("read models");
    assert!(store.dead_ends_for(&action).expect("dead ends").len() > 5);
    reads.at(Moment::Time(END), END).expect("the past");
    drop(reads);
    let scan = Scan::of(&workspace, &AtomicBool::new(false)).expect("a scan");
    assert_eq!(scan.findings, []);

    let (_, heard) = listening().take().expect("it was listened to");
    let mut found = Vec::new();
    let mut asked = 0;
    let mut databases: BTreeMap<&Path, Connection> = BTreeMap::new();
    for ((path, sql), passed) in &heard {
        if ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"]
            .iter()
            .any(|verb| sql.starts_with(verb))
        {
            asked += 1;
            let db =
                databases.entry(path).or_insert_with(|| Connection::open(path).expect("it is still there"));
            found.extend(problems(db, sql, *passed));
        }
    }
    assert_eq!(found, Vec::<String>::new());
    // Fewer say that nobody listens any more.
    assert!(asked > 300, "only {asked} statements were heard");

    let db = Connection::open(workspace.team_memory()).expect("the read models");
    assert_ne!(problems(&db, "SELECT statement FROM claims", 0), Vec::<String>::new(), "a scan is seen");
    let list = "SELECT c.id, c.statement FROM claims c";
    assert_eq!(problems(&db, list, MOST_PASSED), Vec::<String>::new());
    assert_ne!(problems(&db, list, MOST_PASSED + 1), Vec::<String>::new(), "a scan without end is seen");
}
