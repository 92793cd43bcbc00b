//! What the miners propose from the events of a team: playbooks and hypotheses, and what becomes of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use hivemind::domain::agent::AgentId;
use hivemind::domain::claim::{Position, Status};
use hivemind::domain::command::{
    AcceptPlaybook, AddTask, ClaimTask, Command, DismissPlaybook, Observe, Seen, Submission, TakePosition,
    UpdateTask,
};
use hivemind::domain::decide::Policy;
use hivemind::domain::event::{CommandRan, Event, FileEdited, ToolUsed};
use hivemind::domain::ids::{ClaimId, EventId, PlaybookId, TaskId};
use hivemind::domain::plan::TaskStatus;
use hivemind::domain::policy::{MemoryPolicy, WritePolicy};
use hivemind::domain::rejection::Code;
use hivemind::domain::time::Timestamp;
use hivemind::mcp::{Era, Pane};
use hivemind::store::{ObservedKind, Reader};
use hivemind::system::{self, Sources};
use hivemind::workspace::Workspace;
use hivemind::writer::{Committer, Miner, propose};
use serde_json::Value;

use crate::bench::Bench;
use crate::governed::on_one_line;
use crate::harness::{TempWorkspace, added_task, body, fixed_sources, request};
use crate::shell::Shell;

const DAY_MS: i64 = 24 * 3_600_000;
const SECOND_MS: i64 = 1_000;

/// A team in this process, with a clock that the test sets.
pub(crate) struct Team {
    committer: Committer,
    clock: Arc<AtomicI64>,
}

impl Team {
    /// A team that began six days ago.
    pub(crate) fn in_workspace(workspace: &Workspace) -> Self {
        let clock = Arc::new(AtomicI64::new(system::now().ms() - 6 * DAY_MS));
        let ticking = Arc::clone(&clock);
        let tick = move || Timestamp::from_ms(ticking.fetch_add(SECOND_MS, Ordering::Relaxed));
        let sources = Sources { clock: Box::new(tick), ..fixed_sources(7) };
        let committer =
            Committer::open(workspace, Policy::default(), sources).expect("a workspace to write in");
        Self { committer, clock }
    }

    pub(crate) fn a_day_later(&self) {
        self.clock.fetch_add(DAY_MS, Ordering::Relaxed);
    }

    pub(crate) fn mine(&mut self) -> usize {
        Miner::ALL.into_iter().map(|miner| propose(&mut self.committer, miner).expect("mined")).sum()
    }

    fn outcome(&mut self, by: &str, session: &str, command: Command) -> Result<(), Code> {
        let submission =
            Submission { session: Some(session.parse().expect("a session")), ..request(by, command) };
        let outcome = self.committer.commit(&[submission]).expect("a group").remove(0);
        outcome.map(|_| ()).map_err(|refused| refused.code)
    }

    pub(crate) fn does(&mut self, by: &str, session: &str, command: Command) {
        self.outcome(by, session, command).expect("accepted");
    }

    pub(crate) fn ran(&mut self, by: &str, session: &str, line: &str, error: Option<&str>) {
        let seen = Seen::Command(CommandRan {
            exit_code: Some(i32::from(error.is_some())),
            error_signature: error.map(|error| error.parse().expect("a signature")),
            failed: error.is_some(),
            runs: vec![line.parse().expect("a command")],
            ..crate::harness::ran(line)
        });
        let event_id = EventId::from_uuid(system::new_id());
        self.does(by, session, Command::Observe(Observe { event_id, seen }));
    }

    /// A command that fails and prints this.
    fn failed(&mut self, by: &str, session: &str, line: &str, printed: &str) {
        let seen = Seen::Command(CommandRan {
            exit_code: Some(1),
            error_signature: hivemind::domain::action::error_signature(printed),
            failed: true,
            runs: vec![line.parse().expect("a command")],
            tail: Some(printed.parse().expect("a tail")),
            ..crate::harness::ran(line)
        });
        let event_id = EventId::from_uuid(system::new_id());
        self.does(by, session, Command::Observe(Observe { event_id, seen }));
    }

    /// A command that fails and answers the same each time.
    pub(crate) fn ran_alike(&mut self, by: &str, session: &str, line: &str) {
        let seen = Seen::Command(CommandRan {
            exit_code: Some(1),
            failed: true,
            runs: vec![line.parse().expect("a command")],
            output_sha256: Some("ab".repeat(32)),
            answer_sha256: Some("ab".repeat(32)),
            ..crate::harness::ran(line)
        });
        let event_id = EventId::from_uuid(system::new_id());
        self.does(by, session, Command::Observe(Observe { event_id, seen }));
    }

    pub(crate) fn look_for_patterns(&mut self) {
        hivemind::writer::mine(&mut self.committer).expect("a look");
    }

    /// The claims of some agents, each with its status.
    pub(crate) fn statuses(&self, owners: impl Fn(&AgentId) -> bool) -> Vec<(ClaimId, Status)> {
        let claims = self.committer.state().claims().filter(|(_, claim)| owners(&claim.owner));
        let mut all: Vec<_> = claims.map(|(id, claim)| (id, claim.status)).collect();
        all.sort_by_key(|(id, _)| *id);
        all
    }

    fn edited(&mut self, by: &str, session: &str, path: &str) {
        let seen = Seen::Files(FileEdited {
            paths: vec![path.parse().expect("a path")],
            merged: None,
            versions: Default::default(),
            checkout: Default::default(),
        });
        let event_id = EventId::from_uuid(system::new_id());
        self.does(by, session, Command::Observe(Observe { event_id, seen }));
    }

    /// A tool call that failed.
    fn used(&mut self, by: &str, session: &str, tool: &str) {
        let tool = tool.to_owned().try_into().expect("a tool");
        let seen = Seen::Tool(ToolUsed {
            tool,
            failed: true,
            input_sha256: None,
            answer_sha256: None,
            target: None,
            subagent: None,
        });
        let event_id = EventId::from_uuid(system::new_id());
        self.does(by, session, Command::Observe(Observe { event_id, seen }));
    }

    /// A task from its claim to its end, with the same four steps each time, and noise that differs.
    pub(crate) fn task(&mut self, by: &str, session: &str, title: &str, end: TaskStatus) -> TaskId {
        let add = AddTask { scopes: vec!["src/db".parse().expect("a scope")], ..added_task(title) };
        let task_id = add.task_id;
        self.does(by, session, Command::AddTask(add));
        let claim = ClaimTask { task_id, lease_minutes: None, file_locks: Vec::new() };
        self.does(by, session, Command::ClaimTask(claim));
        self.ran(by, session, "ls src", None);
        self.edited(by, session, &format!("src/db/{session}.rs"));
        self.ran(by, session, "cargo fmt", None);
        self.ran(by, session, "cargo test", Some(&format!("error in {session}")));
        self.edited(by, session, "src/db/other.rs");
        self.ran(by, session, "cargo fmt", None);
        self.ran(by, session, "cargo test", None);
        self.ran(by, session, &format!("git commit -m {session}"), None);
        let note = Some("it is over".parse().expect("a note"));
        self.does(
            by,
            session,
            Command::UpdateTask(UpdateTask { task_id, status: end, note, fencing_token: None }),
        );
        task_id
    }

    /// Three tasks that end well in three sessions on three days.
    pub(crate) fn three_tasks(&mut self) {
        for (by, session) in [("devops", "s-1"), ("analyst", "s-2"), ("devops", "s-3")] {
            self.task(by, session, &format!("mend the pool of {session}"), TaskStatus::Done);
            self.a_day_later();
        }
    }

    pub(crate) fn playbooks(&self) -> Vec<PlaybookId> {
        self.committer.state().mined().playbooks().map(|(id, _)| id).collect()
    }
}

fn events(workspace: &TempWorkspace) -> Vec<(AgentId, Event)> {
    workspace.events().iter().map(|stored| (stored.agent.clone(), body(stored))).collect()
}

/// What `system` may do to knowledge: propose, and end what is contradicted.
fn assert_only_proposals(workspace: &TempWorkspace) {
    for (_, event) in events(workspace).into_iter().filter(|(agent, _)| *agent == AgentId::system()) {
        let is_too_much = matches!(
            &event,
            Event::ClaimSuperseded(_)
                | Event::PlaybookAccepted(_)
                | Event::PositionTaken(_)
                | Event::DecisionRecorded(_)
        ) || matches!(&event, Event::StatusChanged(change) if change.to != Status::Deprecated);
        assert!(!is_too_much, "{event:?}");
    }
}

#[test]
fn hooks_fill_observations_and_the_task_that_was_held() {
    let workspace = TempWorkspace::new();
    let mut team = Team::in_workspace(&workspace);
    let task = team.task("devops", "s-1", "mend the pool", TaskStatus::Done);
    team.ran("devops", "s-1", "cargo doc", None);
    team.used("devops", "s-1", "WebFetch");
    let reader = Reader::open(&workspace.team_memory()).expect("read models").expect("some");
    let seen = reader.observations(0, 100).expect("observations");
    assert_eq!(seen.len(), 10);
    let failed = &seen[3];
    assert_eq!(
        (failed.kind, failed.action.as_slice()),
        (ObservedKind::Command, ["cargo test".to_owned()].as_slice())
    );
    assert_eq!(
        (failed.failed, failed.error.as_deref(), failed.exit_code),
        (true, Some("error in s-1"), Some(1))
    );
    assert_eq!(
        (failed.task, failed.session.as_deref(), failed.agent.as_str()),
        (Some(task), Some("s-1"), "devops")
    );
    assert_eq!(
        (seen[1].kind, seen[1].action.as_slice()),
        (ObservedKind::Edit, ["src/db/s-1.rs".to_owned()].as_slice())
    );
    assert_eq!(seen[8].task, None, "the task was over");
    let used = &seen[9];
    assert_eq!(
        (used.kind, used.action.as_slice(), used.failed),
        (ObservedKind::Tool, ["WebFetch".to_owned()].as_slice(), true)
    );
    assert_eq!(reader.observations_of(task, 100).expect("of the task").len(), 8);
    drop((reader, team));
    workspace.assert_sound();
}

/// Red before: a command whose line hides its end passed, for reflection and for playbooks.
#[test]
fn an_observed_command_passed_only_if_its_end_shows_it() {
    let workspace = TempWorkspace::new();
    let mut team = Team::in_workspace(&workspace);
    let plain = || CommandRan { ..crate::harness::ran("cargo test") };
    for ran in [
        plain(),
        CommandRan { of_last: true, ..plain() },
        CommandRan { unseen: true, ..plain() },
        CommandRan { failed: true, ..plain() },
    ] {
        let event_id = EventId::from_uuid(system::new_id());
        let seen = Seen::Command(ran);
        team.does("devops", "s-1", Command::Observe(Observe { event_id, seen }));
    }
    let reader = Reader::open(&workspace.team_memory()).expect("read models").expect("some");
    let seen = reader.observations(0, 100).expect("observations");
    assert_eq!(seen.iter().map(|one| one.failed).collect::<Vec<_>>(), [false, true, true, true]);
}

#[test]
fn a_memory_that_takes_nothing_records_no_pattern() {
    let workspace = TempWorkspace::new();
    let mut team = Team::in_workspace(&workspace);
    (0..5).for_each(|_| team.ran_alike("analyst", "s-1", "cargo bench"));
    team.look_for_patterns();
    let patterns = || {
        let of_pattern = |event: &Event| matches!(event, Event::PatternOpened(_) | Event::PatternClosed(_));
        events(&workspace).iter().filter(|(_, event)| of_pattern(event)).count()
    };
    assert_eq!(patterns(), 1, "a loop");
    team.ran("analyst", "s-1", "cargo bench", None);
    let nothing = MemoryPolicy { write_policy: WritePolicy::Nothing, ..MemoryPolicy::default() };
    for (policy, recorded) in [(nothing, 1), (MemoryPolicy::default(), 2)] {
        team.committer = team.committer.governed(policy);
        team.look_for_patterns();
        assert_eq!(patterns(), recorded, "its end waits until the memory takes something");
    }
}

#[test]
fn steps_that_ended_well_are_proposed_once_and_accepted_by_others_only() {
    let workspace = TempWorkspace::new();
    let mut team = Team::in_workspace(&workspace);
    team.task("devops", "s-1", "mend the pool", TaskStatus::Done);
    team.a_day_later();
    team.task("analyst", "s-2", "mend the pool again", TaskStatus::Done);
    assert_eq!(team.mine(), 0, "two tasks show nothing");
    team.a_day_later();
    team.task("devops", "s-3", "and again", TaskStatus::Done);
    assert_eq!((team.mine(), team.mine(), team.mine()), (1, 0, 0), "the same events give it once");
    let [id] = team.playbooks().try_into().expect("one playbook");
    let proposed = events(&workspace).into_iter().find_map(|(by, event)| {
        if let Event::PlaybookProposed(new) = event { Some((by, new)) } else { None }
    });
    let (by, new) = proposed.expect("a proposal");
    assert_eq!((by, new.tasks.len(), new.of, new.sessions, new.days), (AgentId::system(), 3, 3, 3, 3));
    let lines: Vec<String> = new.steps.iter().map(hivemind::domain::playbook::Step::line).collect();
    assert_eq!(lines, ["change `src/db/*.rs`", "run `cargo fmt`", "run `cargo test`", "run `git commit`"]);
    let seqs: BTreeSet<u64> = workspace.events().iter().map(|stored| stored.seq).collect();
    assert!(!new.evidence.is_empty() && new.evidence.iter().all(|seq| seqs.contains(seq)));

    let accept = || Command::AcceptPlaybook(AcceptPlaybook { playbook_id: id });
    assert_eq!(team.outcome("system", "s-9", accept()), Err(Code::NotAllowed));
    assert_only_proposals(&workspace);
    let unknown = AcceptPlaybook { playbook_id: PlaybookId::from_uuid(system::new_id()) };
    assert_eq!(team.outcome("analyst", "s-9", Command::AcceptPlaybook(unknown)), Err(Code::UnknownPlaybook));
    team.does("analyst", "s-9", accept());
    assert_eq!(team.outcome("analyst", "s-9", accept()), Err(Code::Duplicate));
    drop(team);
    workspace.assert_sound();
}

#[test]
fn later_tasks_count_a_playbook_helpful_or_harmful_and_too_much_harm_hides_it() {
    let workspace = TempWorkspace::new();
    let mut team = Team::in_workspace(&workspace);
    team.three_tasks();
    team.mine();
    let [id] = team.playbooks().try_into().expect("one playbook");
    team.does("analyst", "s-9", Command::AcceptPlaybook(AcceptPlaybook { playbook_id: id }));
    assert_eq!(team.mine(), 0, "tasks before the acceptance are its evidence");
    let counted = |now: i64| {
        let reader = Reader::open(&workspace.team_memory()).expect("read models").expect("some");
        let one = reader.playbook(id, Timestamp::from_ms(now)).expect("read").expect("a playbook");
        (one.helpful, one.harmful, one.is_in_use())
    };
    let now = system::now().ms();
    team.task("devops", "s-4", "one more", TaskStatus::Done);
    assert_eq!((team.mine(), team.mine()), (1, 0), "each task counts once");
    assert_eq!(counted(now), (1, 0, true));
    assert_eq!(counted(now + 91 * DAY_MS), (1, 0, false), "unused for 90 days");
    team.task("devops", "s-5", "given up", TaskStatus::Invalidated);
    team.mine();
    assert_eq!(counted(now), (1, 1, true), "two tasks are too few to hide it");
    team.task("devops", "s-6", "given up too", TaskStatus::Invalidated);
    team.mine();
    assert_eq!(counted(now), (1, 2, false));
    drop(team);
    workspace.assert_sound();
}

#[test]
fn a_dismissed_playbook_is_not_proposed_again() {
    let workspace = TempWorkspace::new();
    let mut team = Team::in_workspace(&workspace);
    team.three_tasks();
    team.mine();
    let [playbook_id] = team.playbooks().try_into().expect("one playbook");
    let reason = "the script does it".parse().expect("a reason");
    team.does("architect", "s-9", Command::DismissPlaybook(DismissPlaybook { playbook_id, reason }));
    team.task("analyst", "s-4", "one more", TaskStatus::Done);
    assert_eq!(team.mine(), 0);
}

fn hypotheses(team: &Team) -> Vec<(ClaimId, Status, f64)> {
    let of_system = team.committer.state().claims().filter(|(_, claim)| claim.owner == AgentId::system());
    let mut all: Vec<_> = of_system.map(|(id, claim)| (id, claim.status, claim.confidence.get())).collect();
    all.sort_by_key(|(id, ..)| *id);
    all
}

#[test]
fn an_error_that_comes_again_gives_two_hypotheses_that_later_events_decide() {
    let workspace = TempWorkspace::new();
    let mut team = Team::in_workspace(&workspace);
    team.ran("devops", "s-1", "cargo test pool", Some("deadlock in pool"));
    team.ran("devops", "s-1", "cargo test pool", Some("deadlock in pool"));
    team.ran("devops", "s-1", "cargo test pool", Some("deadlock in pool"));
    assert_eq!(team.mine(), 0, "one session");
    team.ran("analyst", "s-2", "cargo test pool", Some("deadlock in pool"));
    assert_eq!((team.mine(), team.mine()), (1, 0));
    let [structural, environmental] = hypotheses(&team).try_into().expect("two hypotheses");
    assert_eq!((structural.1, structural.2), (Status::Proposed, 0.5));
    assert_eq!((environmental.1, environmental.2), (Status::Proposed, 0.4));

    team.ran("analyst", "s-2", "cargo test pool", Some("deadlock in pool"));
    assert_eq!((team.mine(), team.mine()), (1, 0), "a later failure counts once");
    let confidences: Vec<f64> = hypotheses(&team).iter().map(|(.., confidence)| *confidence).collect();
    assert_eq!(confidences, [0.6, 0.32], "(0.5 * 4 + 1) / 5 and 0.4 * 4 / 5");
    let reader = Reader::open(&workspace.team_memory()).expect("read models").expect("some");
    let shown = reader.claim(structural.0).expect("read").expect("a claim").summary.confidence;
    assert_eq!(shown, 0.6);
    drop(reader);

    team.ran("analyst", "s-2", "cargo test pool", None);
    team.mine();
    let statuses: Vec<Status> = hypotheses(&team).iter().map(|(_, status, _)| *status).collect();
    assert_eq!(statuses, [Status::Deprecated, Status::Proposed], "it passed without an edit between");
    assert_only_proposals(&workspace);
    drop(team);
    workspace.assert_sound();
}

#[test]
fn a_pass_after_an_edit_ends_the_other_hypothesis_and_no_confirmed_one() {
    for is_confirmed in [false, true] {
        let workspace = TempWorkspace::new();
        let mut team = Team::in_workspace(&workspace);
        for session in ["s-1", "s-2", "s-1"] {
            team.ran("devops", session, "cargo test pool", Some("deadlock in pool"));
        }
        team.mine();
        let environmental = hypotheses(&team)[1].0;
        if is_confirmed {
            for by in ["analyst", "architect", "reviewer"] {
                let take = TakePosition {
                    claim_id: environmental,
                    position: Position::Support,
                    reason: None,
                    evidence_ref: None,
                };
                // The quorum may be reached before the last of them.
                let _ = team.outcome(by, &format!("of-{by}"), Command::TakePosition(take));
            }
            assert_eq!(hypotheses(&team)[1].1, Status::Confirmed);
        }
        team.edited("devops", "s-1", "src/db/pool.rs");
        team.ran("devops", "s-1", "cargo test pool", None);
        team.mine();
        let statuses: Vec<Status> = hypotheses(&team).iter().map(|(_, status, _)| *status).collect();
        let ended = if is_confirmed { Status::Confirmed } else { Status::Deprecated };
        assert_eq!(statuses, [Status::Proposed, ended], "what agents confirmed, only agents end");
        assert_only_proposals(&workspace);
    }
}

/// Red before: the code came first at 0.50, the module was called `{quoted}`, the page said that there is no evidence, and
/// the second claim had no name.
#[test]
fn hypotheses_say_what_was_printed_and_what_was_seen_and_both_have_a_name() {
    let shell = Shell::new();
    shell.end_writer();
    let mut team = Team::in_workspace(&shell.workspace());
    for session in ["s-1", "s-2", "s-1", "s-2"] {
        team.failed("devops", session, "npm test", "Error: Cannot find module 'left-pad'");
        team.ran("devops", session, "npm ci", None);
        team.ran("devops", session, "npm test", None);
        team.failed("devops", session, "ls docs", "ls: cannot access 'docs': No such file or directory");
    }
    assert_eq!(team.mine(), 1);
    drop(team);
    let said = |line: &str| {
        let output = shell.run(line);
        assert!(output.status.success(), "{line}: {output:?}");
        on_one_line(&String::from_utf8(output.stdout).expect("UTF-8"))
    };
    let listed = said("hm claim list --type hypothesis");
    assert!(listed.contains("Cannot find module 'left-pad'") && !listed.contains("ls docs"), "{listed}");
    let (first, second) = (said("hm claim show C1"), said("hm claim show C2"));
    assert!(first.contains("the environment causes it") && first.contains("0.70)"), "{first}");
    assert!(second.contains("the code causes it") && second.contains("0.25)"), "{second}");
    for shown in [first, second] {
        assert!(shown.contains("the failures behind it: #") && !shown.contains("no evidence"), "{shown}");
    }
    let asked = said("hm attention --agent architect");
    assert!(
        asked.contains("the environment causes it, and the same code also passes (confidence 0.70)"),
        "{asked}"
    );
    shell.assert_rebuilds_to_the_same();
}

#[test]
fn a_command_of_several_lines_stands_in_a_hypothesis_as_one_line() {
    let workspace = TempWorkspace::new();
    let mut team = Team::in_workspace(&workspace);
    for session in ["s-1", "s-2", "s-1"] {
        team.ran("devops", session, "python3 -c 'import os\n\nos.stat(1)'", Some("deadlock in pool"));
    }
    assert_eq!(team.mine(), 1);
    let claims = team.committer.state().claims().filter(|(_, claim)| claim.owner == AgentId::system());
    let said: Vec<&str> = claims.map(|(_, claim)| claim.statement()).collect();
    assert_eq!(said.len(), 2);
    for said in said {
        assert!(said.starts_with("`python3 -c 'import os os.stat(1)'` fails with"), "{said}");
    }
}

#[test]
fn an_error_that_a_claim_covers_gives_no_hypotheses() {
    let workspace = TempWorkspace::new();
    let mut team = Team::in_workspace(&workspace);
    let known = crate::harness::fact("deadlock in pool comes from the nested lock");
    team.does("devops", "s-1", Command::CreateClaim(known));
    for session in ["s-1", "s-2", "s-1"] {
        team.ran("devops", session, "cargo test pool", Some("deadlock in pool"));
    }
    assert_eq!(team.mine(), 0);
}

/// Makes one proposed playbook in a workspace without a writer, or else two hypotheses.
fn proposed_in(workspace: &Workspace, hypotheses: bool) {
    let mut team = Team::in_workspace(workspace);
    if hypotheses {
        for session in ["s-1", "s-2", "s-1"] {
            team.ran("devops", session, "cargo test pool", Some("deadlock in pool"));
        }
    } else {
        team.three_tasks();
    }
    team.mine();
}

/// A shell whose workspace has the tasks for a playbook, and no look of a miner yet.
pub(crate) fn with_tasks(shell: &Shell) {
    shell.end_writer();
    Team::in_workspace(&shell.workspace()).three_tasks();
}

/// A shell whose workspace has one proposed playbook, or else two hypotheses.
pub(crate) fn with_proposals(shell: &Shell, hypotheses: bool) {
    shell.end_writer();
    proposed_in(&shell.workspace(), hypotheses);
}

#[test]
fn a_human_sees_accepts_and_exports_a_playbook() {
    let shell = Shell::new();
    with_proposals(&shell, false);
    let said = |line: &str| {
        let output = shell.run(line);
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let listed = said("hm playbook list");
    assert!(
        listed.contains("B1 (proposed) cargo-fmt-cargo-test-git-commit: 4 steps, done in 3 of 3 tasks"),
        "{listed}"
    );
    let shown = said("hm playbook show B1");
    assert!(shown.contains("3. run `cargo test`") && shown.contains("Evidence: #"), "{shown}");
    let status = on_one_line(&said("hm status --agent architect"));
    assert!(status.contains("1 proposal waits for you"), "{status}");
    assert!(!said("hm status --agent devops").contains("waits for you"));
    let attention = said("hm attention --agent architect");
    assert!(attention.contains("hm playbook accept B1"), "{attention}");
    assert!(said("hm playbook export --to skills --agent architect").contains("no playbook is accepted"));
    said("hm playbook accept B1 --agent architect");
    assert!(!said("hm attention --agent architect").contains("playbook"));

    let written = said("hm playbook export --to skills");
    let file = shell.workspace().root().join("skills/hm-b1-cargo-fmt-cargo-test-git-commit/SKILL.md");
    assert!(written.contains("SKILL.md"), "{written}");
    let text = std::fs::read_to_string(&file).expect("a skill");
    assert!(
        text.starts_with("---\nname: hm-b1-cargo-fmt-cargo-test-git-commit\n")
            && text.contains("evidence: \"#")
    );
    // A client chooses a skill by its description.
    assert!(
        text.contains("description: \"For changes of src/db/*.rs. Steps that ended well in 3 of 3 tasks"),
        "{text}"
    );
    said("hm playbook export --to skills");
    assert_eq!(std::fs::read_to_string(&file).expect("a skill"), text, "the same bytes");
    std::fs::write(&file, "my own words\n").expect("a file");
    let refused = shell.run("hm playbook export --to skills");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert_eq!(
        std::fs::read_to_string(&file).expect("a file"),
        "my own words\n",
        "nothing is written over it"
    );

    // Red before: the file of a dismissed playbook stayed a skill, and nothing said so.
    said("hm playbook dismiss B1 --reason \"the script does it\" --agent architect");
    assert!(!said("hm playbook export --to skills").contains("removed"), "it is not ours any more");
    assert!(file.exists());
    std::fs::write(&file, &text).expect("a file");
    let removed = said("hm playbook export --to skills");
    assert!(
        removed.contains("removed skills/hm-b1-") && removed.contains("not in use any more"),
        "{removed}"
    );
    assert!(!file.parent().expect("a directory").exists());
}

#[tokio::test]
async fn an_accepted_playbook_is_a_skill_over_mcp() {
    let bench = Bench::new();
    proposed_in(bench.workspace(), false);
    let pane = Pane::offered(bench.binary(), bench.root(), Some("architect"), Era::Modern, "all")
        .await
        .expect("a pane");
    let list = pane.read("hivemind://playbooks?format=json").await.expect("a resource");
    let list: Value = serde_json::from_str(&list).expect("JSON");
    assert_eq!(list["playbooks"][0]["status"], "proposed");
    let answer =
        pane.call("accept_playbook", serde_json::json!({ "playbook_id": "B1" })).await.expect("an answer");
    assert!(!answer.refused, "{}", answer.text);
    let file = pane.read("skill://hm-b1-cargo-fmt-cargo-test-git-commit/SKILL.md").await.expect("a skill");
    assert!(file.contains("2. run `cargo fmt`"), "{file}");
    assert!(pane.read("skill://no-such/SKILL.md").await.is_err());
}

#[test]
fn calibration_shows_what_became_of_judged_claims() {
    let shell = Shell::new();
    for nth in 0..5 {
        let claim = format!("hm --json claim create \"fact {nth} holds\" --scope src/f{nth} --agent devops");
        let id = shell.json(&claim)["claim_id"].as_str().expect("an id").to_owned();
        for by in ["analyst", "architect"] {
            shell.run(&format!("hm claim support {id} --agent {by}"));
        }
    }
    let json = shell.json("hm --json calibration");
    let devops = &json["calibration"][0];
    assert_eq!(
        (&devops["agent"], &devops["held"], &devops["share"]),
        (&"devops".into(), &5.into(), &1.0.into()),
        "{json}"
    );
    let text = String::from_utf8(shell.run("hm calibration").stdout).expect("UTF-8");
    assert!(text.contains("devops: 1.00 (5 claims judged: 5 held, 0 in doubt again, 0 failed)"), "{text}");
}

#[test]
fn a_claim_that_held_has_not_failed_when_its_owner_makes_it_more_precise() {
    let shell = Shell::new();
    let said = |line: &str| {
        let output = shell.run(line);
        assert!(output.status.success(), "{line}: {output:?}");
    };
    let judged = || {
        let json = shell.json("hm --json calibration");
        let devops = &json["calibration"][0];
        [&devops["held"], &devops["failed"]].map(|count| count.as_u64().unwrap_or(0))
    };
    said("hm claim create \"the pool opens 20 connections\" --scope src/db --agent devops");
    said("hm claim challenge C1 --reason \"I counted 24 of them\" --agent analyst");
    said("hm claim support C1 --reason \"I counted two pools\" --agent analyst");
    said("hm claim support C1 --reason \"I counted 20\" --agent architect");
    assert_eq!(judged(), [1, 0]);
    said(
        "hm claim create \"the pool opens 20 connections and 5 more\" --scope src/db --supersedes C1 --agent devops",
    );
    assert_eq!(judged(), [0, 0], "C1 did not fail");
    said("hm claim challenge C2 --reason \"I counted 4 more\" --agent analyst");
    said("hm claim deprecate C2 --reason \"there are 4 more\" --agent devops");
    assert_eq!(judged(), [0, 1], "C2 ended while it was contested");
}

#[test]
fn a_like_task_is_shown_an_accepted_playbook_and_no_other_is() {
    let shell = Shell::new();
    with_proposals(&shell, false);
    let said = |line: &str| {
        let output = shell.command(line).env("HM_SESSION", "s-20").output().expect("hm runs");
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let context = || said("hm context --agent devops --session s-20 --all");
    said("hm task add \"mend the other pool\" --agent devops");
    said("hm task claim T4 --agent devops");
    assert!(!context().contains("<playbook "), "nobody accepted it");
    said("hm playbook accept B1 --agent architect");
    let shown = context();
    let block = shown.lines().find(|line| line.contains("<playbook ")).expect("a playbook").to_owned();
    assert!(
        block.contains("id=\"B1\"") && block.contains("run `cargo test`") && block.len() <= 600,
        "{block}"
    );
    said("hm task update T4 done --agent devops --note done");
    // Red before: who takes a like task in the middle of a session was not told.
    said("hm task add \"swap the store\" --scope src/db --agent devops");
    let taken = on_one_line(&said("hm task claim T5 --agent devops"));
    assert!(taken.contains("steps of like tasks: `hm playbook show B1`"), "{taken}");
    said("hm task update T5 done --agent devops --note done");
    said("hm task add \"translate a manual\" --scope docs --agent devops");
    assert!(!said("hm task claim T6 --agent devops").contains("like tasks"));
    assert!(!context().contains("<playbook "), "another kind of task");
    let with = |intent: &str| said(&format!("hm context {intent} --agent devops --session s-20 --all"));
    assert!(with("--intent \"mend that pool\"").contains("<playbook id=\"B1\""), "an intent that fits");
    assert!(
        with("--intent \"why does src/db/pool.rs hang\"").contains("<playbook id=\"B1\""),
        "a place in it"
    );
    assert!(!with("--intent \"print the manual\"").contains("<playbook "), "another intent");
}
