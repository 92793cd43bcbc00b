//! Another repository, after a week of work: an agent that is silent is told from one that waits for a build, and steps
//! that ended well three times become a playbook.

use serde_json::{Value, json};

use super::{PATTERN_WITHIN, Story};
use crate::cli::demo::cast::Agent::{Analyst, Devops};
use crate::cli::demo::cast::{ASK_AGAIN_AFTER, Agent, Problem, check};
use crate::cli::demo::stage::{Stage, Tree};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::command::Submission;
use crate::domain::decide::Policy;
use crate::domain::ids::CommandId;
use crate::domain::time::Timestamp;
use crate::domain::versions::Versions;
use crate::system::{self, Sources};
use crate::writer::Committer;

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
/// Silence after which a session with a task is stalled, and some more.
const SILENT_MS: i64 = 40 * MINUTE_MS;
/// The sessions that are silent: one waits for its build, one is gone.
const BUILDS: &str = "builds";
const GONE: &str = "gone";
/// Work like that of the week.
const LIKE_WORK: &str = "mend the pool of the shop";

impl Story<'_> {
    pub(super) fn week_teaches(&mut self) -> Result<(), Problem> {
        self.begin(
            "stall",
            Analyst,
            "In another repository devops and analyst hold a task and are silent for forty minutes; devops waits for a \
             build.",
        );
        let stage = Stage::set(false)?;
        pass_a_week(&stage)?;
        let build = json!({
            "session_id": BUILDS, "tool_name": "Bash", "tool_input": { "command": "make release" }
        });
        let hook = |event: &str, more: &Value| stage.hook(Tree::One, Devops.name(), event, more);
        hook("PreToolUse", &build)?;
        // This session starts the writer, which looks for patterns and playbooks at once.
        hook("SessionStart", &json!({ "source": "startup" }))?;
        let stalls = listed(&stage, &["pattern", "list"], "patterns")?;
        let agents: Vec<&Value> = stalls.iter().map(|stall| &stall["agents"]).collect();
        check(agents == [&json!([Analyst.name()])], format!("the stalls are those of {agents:?}"))?;
        self.seen("hm pattern list", &stage.hm(&["pattern", "list"])?);
        self.playbook_is_accepted(&stage)?;
        hook("SessionEnd", &json!({ "reason": "exit" }))?;
        hook("SessionEnd", &json!({ "session_id": BUILDS, "reason": "exit" }))?;
        stage.strike()?;
        Ok(())
    }

    fn playbook_is_accepted(&mut self, stage: &Stage) -> Result<(), Problem> {
        self.begin(
            "playbook",
            Devops,
            "Three tasks of the week ended well after the same steps. hm proposes them as a playbook; devops accepts it, \
             and the next context for such work shows it.",
        );
        let books = listed(stage, &["playbook", "list"], "playbooks")?;
        check(books[0]["status"] == "proposed", format!("it is not proposed: {}", books[0]))?;
        let context = ["context", "--agent", Devops.name(), "--intent", LIKE_WORK];
        let before = stage.hm(&context)?;
        check(!before.contains("<playbook "), format!("no agent accepted it: {before}"))?;
        let accept = ["playbook", "accept", "B1", "--agent", Devops.name()];
        self.step.call = Some(format!("hm {}", accept.join(" ")));
        self.step.receipt = Some(stage.hm(&accept)?.trim().to_owned());
        let after = stage.hm(&context)?;
        let from = after.find("<playbook ").map_or("", |from| &after[from..]);
        let block = from.split_inclusive("</playbook>").next().unwrap_or_default();
        check(block.contains("run `cargo test`"), format!("the context does not show it: {after}"))?;
        self.seen(format!("hm context --intent \"{LIKE_WORK}\""), block);
        Ok(())
    }
}

/// Records three tasks with the same steps on three days, and two tasks whose sessions are silent since.
fn pass_a_week(stage: &Stage) -> Result<(), Problem> {
    let now = system::now().ms();
    for (day, agent, session) in [(3, Devops, "mon"), (2, Analyst, "tue"), (1, Devops, "wed")] {
        let path = format!("src/db/{session}.rs");
        let seen = [
            json!({ "what": "files", "paths": [path] }),
            ran("cargo fmt"),
            ran("cargo test"),
            ran(&format!("git commit -m {session}")),
        ];
        let at = now - day * DAY_MS;
        let mut work = task(&format!("mend the pool of {session}"));
        let over = json!({ "task_id": work[0]["args"]["task_id"], "status": "done", "note": "it is over" });
        let observe = |seen: &Value| json!({ "name": "observe", "args": { "event_id": system::new_id(), "seen": seen } });
        work.extend(seen.iter().map(observe));
        work.push(json!({ "name": "update_task", "args": over }));
        record(stage, at, (agent, session), &work)?;
    }
    let at = now - SILENT_MS;
    record(stage, at, (Devops, BUILDS), &task("build the release"))?;
    record(stage, at, (Analyst, GONE), &task("measure the load"))
}

/// The commands that add a task and take it.
fn task(title: &str) -> Vec<Value> {
    let task_id = system::new_id();
    vec![
        json!({ "name": "add_task", "args": { "task_id": task_id, "title": title, "scopes": ["src/db"] } }),
        json!({ "name": "claim_task", "args": { "task_id": task_id, "lease_minutes": 60 } }),
    ]
}

/// A command that a hook saw.
fn ran(line: &str) -> Value {
    json!({ "what": "command", "command": line, "exit_code": 0, "runs": [line] })
}

/// Records commands of a session, one a second from a time of the past on. No writer runs yet.
fn record(
    stage: &Stage,
    from_ms: i64,
    (agent, session): (Agent, &str),
    work: &[Value],
) -> Result<(), Problem> {
    let mut at = from_ms;
    let tick = move || {
        at += 1_000;
        Timestamp::from_ms(at)
    };
    let sources = Sources { clock: Box::new(tick), ..Sources::system() };
    let open = Committer::open(stage.workspace(), Policy::default(), sources);
    let mut committer = open.map_err(unexpected)?;
    let submission = |command: &Value| -> Result<Submission, Problem> {
        Ok(Submission {
            command_id: CommandId::from_uuid(system::new_id()),
            agent: AgentId::recorded(agent.name()),
            unpinned: None,
            session: session.parse().ok(),
            trace_id: None,
            idempotency_key: None,
            checkout: Checkout::default(),
            versions: Versions::new(),
            command: serde_json::from_value(command.clone())?,
        })
    };
    let group: Vec<Submission> = work.iter().map(submission).collect::<Result<_, _>>()?;
    for outcome in committer.commit(&group).map_err(unexpected)? {
        outcome.map_err(unexpected)?;
    }
    Ok(())
}

fn unexpected(error: impl std::fmt::Display) -> Problem {
    Problem::Unexpected(error.to_string())
}

/// The entries of a list, as soon as there are any: the writer finds them a moment after its start.
fn listed(stage: &Stage, arguments: &[&str], of: &str) -> Result<Vec<Value>, Problem> {
    let deadline = system::instant() + PATTERN_WITHIN;
    loop {
        let list: Value = serde_json::from_str(&stage.hm(&[arguments, &["--json"]].concat())?)?;
        let found = list[of].as_array().cloned().unwrap_or_default();
        if !found.is_empty() {
            return Ok(found);
        }
        check(system::instant() < deadline, format!("hm {} shows none", arguments.join(" ")))?;
        std::thread::sleep(ASK_AGAIN_AFTER);
    }
}
