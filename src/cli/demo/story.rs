//! The script: one function for each step, in the order of [`play`]. A new step is a function and a line there.

mod week;

use std::time::Duration;

use serde_json::{Value, json};

use super::cast::Agent::{Analyst, Architect, Claude2, Devops};
use super::cast::{ASK_AGAIN_AFTER, Agent, Cast, Problem, Step, check};
use super::stage::{Stage, Tree};
use crate::domain::ids::ClaimId;
use crate::ledger;
use crate::reads::Reads;
use crate::system;
use crate::views;

/// The file of the story. Two of the agents subscribe to its claims.
const POOL: &str = "src/db/pool.rs";
const POOL_CLAIMS: &str = "hivemind://claims?scope=src/db/pool.rs";

/// A command that fails the same way each time.
const LOOPED: &str = "cargo test pool";
/// Time limit for the writer to find a pattern. It needs milliseconds.
const PATTERN_WITHIN: Duration = Duration::from_secs(5);

/// The step at which the story stopped, and the reason.
#[derive(Debug, thiserror::Error)]
#[error("demo step `{step}`: {problem}")]
pub(super) struct BrokenOff {
    step: &'static str,
    problem: Problem,
}

/// The ids collected so far, and the current step.
struct Story<'a> {
    stage: &'a Stage,
    cast: Cast,
    step: Step,
    tell: &'a mut dyn FnMut(Step),
    dead_end: String,
    first: String,
    better: String,
    run: String,
    pack_before: String,
}

/// Plays the story and passes each complete step to `tell`.
///
/// # Errors
/// [`BrokenOff`] with the step that does not see its expected result.
pub(super) async fn play(stage: &Stage, mut tell: impl FnMut(Step)) -> Result<(), BrokenOff> {
    let mut step = blank(
        "panes",
        Architect,
        "Four agents open their panes in two work trees of a repository; their memory is empty.",
    );
    let opened = system::instant();
    let cast = Cast::enter(stage).await.map_err(|problem| BrokenOff { step: step.name, problem })?;
    step.agent = "everyone";
    step.call = Some("hm serve".to_owned());
    step.seen.push(format!(
        "all four answer after {} ms; architect and devops have older clients (MCP 2025-06-18), analyst and \
         claude-2 newer ones (MCP 2026-07-28)",
        opened.elapsed().as_millis()
    ));
    let mut story = Story {
        stage,
        cast,
        step,
        tell: &mut tell,
        dead_end: String::new(),
        first: String::new(),
        better: String::new(),
        run: String::new(),
        pack_before: String::new(),
    };
    let told = story.acts().await;
    let Story { cast, step, tell, .. } = story;
    cast.leave().await;
    match told {
        Ok(()) => {
            tell(step);
            Ok(())
        }
        Err(problem) => Err(BrokenOff { step: step.name, problem }),
    }
}

fn blank(name: &'static str, agent: Agent, what: &str) -> Step {
    let what = what.to_owned();
    Step { name, agent: agent.name(), what, call: None, receipt: None, refused: false, seen: Vec::new() }
}

impl Story<'_> {
    async fn acts(&mut self) -> Result<(), Problem> {
        self.packs_at_the_start().await?;
        self.first_write_takes_a_seat().await?;
        self.dead_end_is_recorded().await?;
        self.two_panes_subscribe().await?;
        self.claim_is_warned().await?;
        self.both_eras_hear_of_it().await?;
        self.run_is_reported().await?;
        self.claim_is_challenged().await?;
        self.better_claim_supersedes().await?;
        self.better_claim_is_confirmed().await?;
        self.doubt_is_settled_by_a_run().await?;
        self.nobody_speaks_for_another().await?;
        self.nothing_is_said_twice().await?;
        self.writer_is_killed().await?;
        self.retry_is_written_once().await?;
        self.packs_at_the_end().await?;
        self.hand_off_loop_is_told().await?;
        // The hooks say that a session of claude-2 runs below this process. The panes do so too, so no pane writes
        // after them.
        self.loop_is_told()?;
        self.week_teaches()?;
        self.status_adds_up().await?;
        self.chain_holds()
    }

    /// Completes the current step and starts the next.
    fn begin(&mut self, name: &'static str, agent: Agent, what: &str) {
        let done = std::mem::replace(&mut self.step, blank(name, agent, what));
        (self.tell)(done);
    }

    fn seen(&mut self, heading: impl std::fmt::Display, text: &str) {
        let separator = if text.is_empty() { "" } else { "\n" };
        self.step.seen.push(format!("{heading}{separator}{text}"));
    }

    /// Part of the first step: the context at the start.
    async fn packs_at_the_start(&mut self) -> Result<(), Problem> {
        self.pack_before = self.cast.reads(Analyst, "hivemind://context").await?;
        check(!self.pack_before.contains(" id="), "the pack of a new workspace is not empty")
    }

    async fn first_write_takes_a_seat(&mut self) -> Result<(), Problem> {
        self.begin(
            "seats",
            Architect,
            "Nothing says who is who: a pane takes the first free seat of its client with its first write.",
        );
        let arguments = [
            ("intent", json!("no worker waits for another one's DB connection")),
            ("team", json!(true)),
            ("idempotency_key", json!("intent-1")),
        ];
        let receipt = self.cast.writes(&mut self.step, Architect, "declare_intent", &arguments).await?;
        let told = receipt.text.contains("you are architect here (seat of this session)");
        check(told, format!("the pane is not told its seat: {}", receipt.text))?;
        self.seen("the second pane of Claude Code will be claude-2, in the other work tree", "");
        Ok(())
    }

    async fn dead_end_is_recorded(&mut self) -> Result<(), Problem> {
        self.begin(
            "dead_end",
            Devops,
            "devops tried something that failed, and leaves a warning at that path.",
        );
        let arguments = [
            ("claim_type", json!("negative")),
            ("scopes", json!(["src/db"])),
            ("trigger", json!({ "paths": [POOL] })),
            ("statement", json!("sharing one DB connection between workers deadlocks")),
            ("idempotency_key", json!("dead-end-1")),
        ];
        let receipt = self.cast.writes(&mut self.step, Devops, "create_claim", &arguments).await?;
        self.dead_end = name(&receipt.body)?;
        let uri = format!("hivemind://negative?scope={POOL}");
        let list = self.cast.reads(Architect, &uri).await?;
        check(list.contains(&self.dead_end), "the architect does not find the dead end at its path")?;
        self.seen(format!("architect reads {uri}"), &list);
        Ok(())
    }

    async fn two_panes_subscribe(&mut self) -> Result<(), Problem> {
        self.begin(
            "subscribe",
            Architect,
            "architect and claude-2 ask to be told what happens at that path.",
        );
        self.cast.subscribes(Architect, POOL_CLAIMS).await?;
        self.cast.subscribes(Claude2, POOL_CLAIMS).await?;
        self.step.call = Some(format!("resources/subscribe {POOL_CLAIMS}"));
        self.seen("claude-2's newer client says it as subscriptions/listen", "");
        Ok(())
    }

    async fn claim_is_warned(&mut self) -> Result<(), Problem> {
        self.begin("warned", Analyst, "analyst is about to repeat the mistake, and its receipt says so.");
        let arguments = [
            ("claim_type", json!("fact")),
            ("scopes", json!([POOL])),
            ("confidence", json!(0.7)),
            ("statement", json!("one DB connection is enough for all")),
        ];
        let receipt = self.cast.writes(&mut self.step, Analyst, "create_claim", &arguments).await?;
        self.first = name(&receipt.body)?;
        let warning = &receipt.body["warnings"][0];
        let warned = warning["code"] == "negative_claim" && receipt.text.contains(&self.dead_end);
        check(warned, format!("the receipt does not warn of the dead end: {}", receipt.text))
    }

    async fn both_eras_hear_of_it(&mut self) -> Result<(), Problem> {
        self.begin("notified", Architect, "The subscribers hear of the claim without asking again.");
        for agent in [Architect, Claude2] {
            let asked = system::instant();
            let heard = self.cast.hears(agent).await?;
            check(heard == POOL_CLAIMS, format!("{} hears of {heard}", agent.name()))?;
            self.seen(
                format!(
                    "{}'s client gets notifications/resources/updated for {heard} (waited {} ms)",
                    agent.name(),
                    asked.elapsed().as_millis()
                ),
                "",
            );
        }
        Ok(())
    }

    async fn run_is_reported(&mut self) -> Result<(), Problem> {
        self.begin("evidence", Claude2, "claude-2 tries the claim out, and reports what it saw.");
        let arguments = [
            ("kind", json!("command_ran")),
            ("command", json!("make test-pool")),
            ("exit_code", json!(124)),
            ("paths", json!([POOL])),
            ("summary", json!("two workers wait for each other")),
        ];
        let receipt = self.cast.writes(&mut self.step, Claude2, "report_event", &arguments).await?;
        let uri = format!("hivemind://events/{}", receipt.body["event_id"].as_str().unwrap_or_default());
        let event = self.cast.reads_json(Analyst, &uri).await?;
        self.run = format!("#{}", event["seq"]);
        let (by, exit_code) = (&event["agent"], &event["payload"]["exit_code"]);
        let summary = event["payload"]["summary"].as_str().unwrap_or_default();
        let right = by == "claude-2" && exit_code == 124 && !summary.is_empty();
        check(right, format!("the analyst reads another event: {event}"))?;
        let uri = format!("hivemind://events/{}", event["seq"]);
        self.seen(format!("analyst reads {uri}"), &format!("by claude-2, exit code {exit_code}: {summary}"));
        Ok(())
    }

    async fn claim_is_challenged(&mut self) -> Result<(), Problem> {
        self.begin("challenge", Claude2, "claude-2 challenges the claim and cites that event.");
        let arguments = [
            ("claim_id", json!(self.first)),
            ("evidence_ref", json!(self.run)),
            ("reason", json!("the pool test hangs with one")),
        ];
        self.cast.writes(&mut self.step, Claude2, "challenge", &arguments).await?;
        self.status_is(&self.first, "contested").await?;
        let context = self.cast.reads(Architect, "hivemind://context").await?;
        let attention = section(&context, "attention");
        check(attention.contains(&self.first), format!("not under attention in the context: {context}"))?;
        self.seen("architect reads hivemind://context: it is asked to look", attention);
        Ok(())
    }

    async fn better_claim_supersedes(&mut self) -> Result<(), Problem> {
        self.begin(
            "supersede",
            Analyst,
            "analyst has learned; a claim is never edited, a better one replaces it.",
        );
        let arguments = [
            ("claim_type", json!("fact")),
            ("scopes", json!([POOL])),
            ("supersedes", json!(self.first)),
            ("statement", json!("each worker needs its own DB connection")),
        ];
        let receipt = self.cast.writes(&mut self.step, Analyst, "create_claim", &arguments).await?;
        self.better = name(&receipt.body)?;
        self.status_is(&self.better, "proposed").await?;
        self.status_is(&self.first, "deprecated").await?;
        let old = self.cast.reads(Architect, &format!("hivemind://claims/{}", self.first)).await?;
        let successor = format!("superseded by: {}", self.better);
        check(old.contains(&successor), format!("the old claim does not name its successor: {old}"))?;
        let list = self.cast.reads(Claude2, POOL_CLAIMS).await?;
        check(list.contains(&self.better), "the claude-2 does not find the better claim")?;
        self.seen(format!("claude-2 reads {POOL_CLAIMS}"), &list);
        Ok(())
    }

    async fn better_claim_is_confirmed(&mut self) -> Result<(), Problem> {
        self.begin("support", Devops, "devops agrees: one support from another agent confirms it.");
        let arguments = [("claim_id", json!(self.better)), ("reason", json!("my deadlock is gone with it"))];
        self.cast.writes(&mut self.step, Devops, "support", &arguments).await?;
        self.status_is(&self.better, "confirmed").await?;
        let uri = format!("hivemind://claims/{}", self.better);
        let page = self.cast.reads(Architect, &uri).await?;
        let title = page.lines().next().unwrap_or_default();
        self.seen(format!("architect reads {uri}"), &format!("{title}\n{}", under(&page, "## History")));
        Ok(())
    }

    async fn doubt_is_settled_by_a_run(&mut self) -> Result<(), Problem> {
        self.begin(
            "experiment",
            Devops,
            "architect doubts it; devops does not argue, it runs the check that the operator has trusted.",
        );
        self.stage.trust_check()?;
        let doubt = [("claim_id", json!(self.better)), ("reason", json!("is it the connections at all?"))];
        self.cast.writes(&mut self.step, Architect, "challenge", &doubt).await?;
        self.status_is(&self.better, "contested").await?;
        let arguments = [
            ("profile", json!("pool-check")),
            ("claim_id", json!(self.better)),
            ("blocking", json!(true)),
            ("wait", json!(true)),
        ];
        let receipt = self.cast.writes(&mut self.step, Devops, "run_experiment", &arguments).await?;
        let run = id(&receipt.body, "run_id")?;
        let claim = self.status_is(&self.better, "confirmed").await?;
        let proven = claim["history"].as_array().and_then(|history| history.last());
        let reason = proven.map_or(&Value::Null, |last| &last["reason"]);
        check(reason == &json!(format!("proof:{run}")), format!("confirmed for another reason: {reason}"))?;
        let uri = format!("hivemind://experiments/{}", name(&receipt.body)?);
        let page = self.cast.reads(Architect, &uri).await?;
        self.seen(format!("architect reads {uri}"), &page);
        Ok(())
    }

    async fn nobody_speaks_for_another(&mut self) -> Result<(), Problem> {
        self.begin(
            "mismatch",
            Devops,
            "devops tries to speak for the analyst; its pane has a seat of its own.",
        );
        let arguments = [("claim_id", json!(self.better)), ("agent", json!("analyst"))];
        self.cast.is_refused(&mut self.step, Devops, ("support", &arguments), "agent_mismatch").await?;
        Ok(())
    }

    async fn nothing_is_said_twice(&mut self) -> Result<(), Problem> {
        self.begin("duplicate", Claude2, "claude-2 says what is said already, and is sent to the claim.");
        let arguments = [
            ("claim_type", json!("fact")),
            ("scopes", json!([POOL])),
            ("statement", json!("Each worker needs its own DB connection")),
        ];
        let call = ("create_claim", &arguments[..]);
        let refusal = self.cast.is_refused(&mut self.step, Claude2, call, "duplicate_claim").await?;
        let named = refusal.text.contains(&self.better);
        check(named, format!("the refusal does not name the claim: {}", refusal.text))
    }

    async fn writer_is_killed(&mut self) -> Result<(), Problem> {
        self.begin("killed_writer", Devops, "The process that writes is killed (kill -9); devops writes on.");
        let killed = self.stage.kill_writer()?;
        let called = system::instant();
        self.cast.writes(&mut self.step, Devops, "report_event", &note()).await?;
        let took = called.elapsed().as_millis();
        let now = self.stage.writer()?.ok_or_else(|| Problem::Unexpected("no writer runs".to_owned()))?;
        check(now != killed, "the killed writer still runs")?;
        self.seen(
            format!("process {killed} was killed, devops' pane started {now}: committed in {took} ms"),
            "",
        );
        Ok(())
    }

    async fn retry_is_written_once(&mut self) -> Result<(), Problem> {
        self.begin("retry", Devops, "devops is not sure it was heard and calls again: it is written once.");
        let receipt = self.cast.writes(&mut self.step, Devops, "report_event", &note()).await?;
        check(receipt.body["duplicate"] == true, format!("written again: {}", receipt.text))?;
        let uri = "hivemind://events?type=event.reported&agent=devops&after=0";
        let events = self.cast.reads_json(Architect, uri).await?;
        let times = events["events"].as_array().map_or(0, Vec::len);
        check(times == 1, format!("the note is there {times} times"))?;
        self.seen(format!("architect reads {uri}"), &self.cast.reads(Architect, uri).await?);
        Ok(())
    }

    async fn packs_at_the_end(&mut self) -> Result<(), Problem> {
        self.begin(
            "packs",
            Analyst,
            "analyst takes a task at that path; what its session starts with: before the story, and now.",
        );
        let task = [("title", json!("size the pool")), ("scopes", json!([POOL]))];
        let added = self.cast.writes(&mut self.step, Analyst, "add_task", &task).await?;
        let task = [("task_id", json!(name(&added.body)?))];
        self.cast.writes(&mut self.step, Analyst, "claim_task", &task).await?;
        let before = std::mem::take(&mut self.pack_before);
        let after = self.cast.reads(Analyst, "hivemind://context").await?;
        let right = section(&after, "relevant_claims").contains(&self.better)
            && section(&after, "anti_patterns").contains(&self.dead_end)
            && section(&after, "attention").is_empty()
            && !after.contains(&format!("claim id=\"{}\"", self.first));
        check(
            right,
            format!("the pack does not show the claim and the dead end, and nothing else: {after}"),
        )?;
        self.seen(format!("before, {} characters", before.chars().count()), &before);
        self.seen(format!("now, {} characters", after.chars().count()), &after);
        Ok(())
    }

    fn loop_is_told(&mut self) -> Result<(), Problem> {
        self.begin(
            "loop",
            Claude2,
            "claude-2 runs the same failing test three times; its client's hooks see it, and it is told once.",
        );
        let run = json!({ "tool_name": "Bash", "tool_input": { "command": LOOPED } });
        let mut failed = run.clone();
        failed["error"] = json!(
            "Exit code 101\ntest pool::waits ... FAILED\nerror: no connection became free in pool::waits"
        );
        let hook = |event: &str, more: &Value| self.stage.hook(Tree::Two, Claude2.name(), event, more);
        hook("SessionStart", &json!({ "source": "startup" }))?;
        let mut told = String::new();
        for _ in 0..3 {
            told.push_str(&hook("PostToolUseFailure", &failed)?);
        }
        // The writer may find the loop a moment after the hook has ended.
        let deadline = system::instant() + PATTERN_WITHIN;
        while !told.contains("L2") && system::instant() < deadline {
            told.push_str(&hook("PreToolUse", &run)?);
        }
        check(told.contains("hm pattern dismiss L2"), format!("the loop is not told: {told}"))?;
        let again = hook("PreToolUse", &run)?;
        check(!again.contains("L2"), format!("the loop is told twice: {again}"))?;
        hook("SessionEnd", &json!({ "reason": "exit" }))?;
        self.step.call = Some(format!("{LOOPED} (three times, through `hm hook claude`)"));
        self.seen("claude-2 is told", &told);
        Ok(())
    }

    async fn hand_off_loop_is_told(&mut self) -> Result<(), Problem> {
        self.begin(
            "hand_off_loop",
            Architect,
            "devops and analyst hand a task to and fro, and neither gets further; the architect is told.",
        );
        let task = [("title", json!("find out who holds the lock")), ("scopes", json!(["src/lock"]))];
        let added = self.cast.writes(&mut self.step, Architect, "add_task", &task).await?;
        let task = json!(name(&added.body)?);
        for (turn, agent) in [Devops, Analyst, Devops, Analyst].into_iter().enumerate() {
            if turn > 0 {
                let before = if agent == Analyst { Devops } else { Analyst };
                let back =
                    [("task_id", task.clone()), ("status", json!("open")), ("note", json!("not mine"))];
                self.cast.writes(&mut self.step, before, "update_task", &back).await?;
            }
            let take = [("task_id", task.clone())];
            self.cast.writes(&mut self.step, agent, "claim_task", &take).await?;
        }
        // The writer looks for patterns after it has answered.
        let deadline = system::instant() + PATTERN_WITHIN;
        loop {
            let attention = self.cast.reads(Architect, "hivemind://attention").await?;
            if let Some(line) = attention.lines().find(|line| line.contains("came back")) {
                self.seen("architect reads hivemind://attention", line);
                return Ok(());
            }
            check(system::instant() < deadline, format!("the architect is not told: {attention}"))?;
            tokio::time::sleep(ASK_AGAIN_AFTER).await;
        }
    }

    async fn status_adds_up(&mut self) -> Result<(), Problem> {
        self.begin("status", Architect, "What is left of it all.");
        self.step.call = Some("resources/read hivemind://status".to_owned());
        let status = self.cast.reads_json(Architect, "hivemind://status").await?;
        let counts = [("confirmed", 1), ("proposed", 1), ("deprecated", 1), ("contested", 0)];
        for (name, wanted) in counts {
            let found = &status["by_status"][name];
            check(*found == wanted, format!("{found} claims are {name}, not {wanted}"))?;
        }
        // If the writer had to commit queued commands, it counts as an agent too.
        let seen = status["agents_seen"].as_u64();
        check(seen >= Some(4), format!("{seen:?} agents wrote, not 4"))?;
        let text = self.cast.reads(Architect, "hivemind://status").await?;
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("workspace:")).collect();
        self.seen("architect reads", &lines.join("\n"));
        Ok(())
    }

    fn chain_holds(&mut self) -> Result<(), Problem> {
        self.begin(
            "verify",
            Architect,
            "Every event carries the hash of the one before; the chain is walked.",
        );
        let walked = system::instant();
        let ledger = ledger::Reader::open(&self.stage.workspace().ledger())?;
        let ledger = ledger.ok_or_else(|| Problem::Unexpected("there is no ledger".to_owned()))?;
        let report = ledger.verify(|_| {})?;
        if let Some(fault) = report.fault {
            return Err(Problem::Unexpected(fault.to_string()));
        }
        check(report.events > 0 && report.events == report.head.seq, "the ledger is empty")?;
        let runs = super::super::verify::runs_on_record(&mut Reads::of(self.stage.workspace().clone()))?;
        check(runs.len() == 1, format!("{} runs are on record, not 1", runs.len()))?;
        let broken = views::broken_artifacts(self.stage.workspace(), runs.into_iter());
        check(broken.is_empty(), format!("the files of the run are not what it left: {broken:?}"))?;
        let head = hex::encode(report.head.hash);
        let took = walked.elapsed().as_millis();
        self.seen(format!("{} events stand, in {took} ms; the head is {head}", report.events), "");
        Ok(())
    }

    /// Reads the claim as JSON, and checks its status.
    async fn status_is(&self, claim: &str, wanted: &str) -> Result<Value, Problem> {
        let claim = self.cast.reads_json(Architect, &format!("hivemind://claims/{claim}")).await?;
        check(claim["status"] == wanted, format!("the claim is {}, not {wanted}", claim["status"]))?;
        Ok(claim)
    }
}

/// The same arguments for both calls. The key makes the second call a retry.
fn note() -> [(&'static str, Value); 3] {
    [
        ("kind", json!("note")),
        ("summary", json!("pool deployed to staging")),
        ("idempotency_key", json!("deploy-1")),
    ]
}

/// The short name of the created entity.
fn name(receipt: &Value) -> Result<String, Problem> {
    let name = receipt["name"].as_str().map(str::to_owned);
    name.ok_or_else(|| Problem::Unexpected(format!("the receipt has no name: {receipt}")))
}

fn id(receipt: &Value, name: &str) -> Result<String, Problem> {
    let id = receipt[name].as_str().filter(|id| id.parse::<ClaimId>().is_ok());
    id.map(str::to_owned).ok_or_else(|| Problem::Unexpected(format!("the receipt has no {name}: {receipt}")))
}

/// A section of a pack, with its tags. Empty if the pack has none.
fn section<'a>(pack: &'a str, name: &str) -> &'a str {
    let end = format!("</{name}>");
    match (pack.find(&format!("<{name} ")), pack.find(&end)) {
        (Some(from), Some(to)) if from < to => &pack[from..to + end.len()],
        _ => "",
    }
}

/// The lines below a heading, up to the next heading.
fn under<'a>(page: &'a str, heading: &str) -> &'a str {
    let below = page.split_once(heading).map_or("", |(_, below)| below);
    below.split_once("\n#").map_or(below, |(section, _)| section).trim()
}
