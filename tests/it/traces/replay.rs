//! Replays a trace: through the parser of the hooks, the rules and the fold, with the clock of the trace.

use std::collections::{BTreeMap, BTreeSet};

use crate::harness::Dice;
use hivemind::domain::agent::AgentId;
use hivemind::domain::command::{Command, Observe, RecordTurn, StartSession};
use hivemind::domain::decide::{Facts, Policy, decide, overdue};
use hivemind::domain::event::{Event, Recorded};
use hivemind::domain::ids::{CommandId, EventId, SessionId};
use hivemind::domain::pattern::PatternKind;
use hivemind::domain::patterns::PatternPolicy;
use hivemind::domain::privacy::Secrets;
use hivemind::domain::session::{Role, Source};
use hivemind::domain::state::State;
use hivemind::domain::text::Said;
use hivemind::domain::time::Timestamp;
use hivemind::hooks::{self, Call, Moment};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

/// How often the writer looks, in seconds.
const EVERY_S: f64 = 300.0;

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Header {
    pub(crate) trace: String,
    #[serde(default)]
    pub(crate) expect: Vec<Expect>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Expect {
    pub(crate) kind: PatternKind,
    #[serde(default)]
    pub(crate) agents: Vec<String>,
    pub(crate) from: usize,
    pub(crate) by: Option<usize>,
    pub(crate) by_s: Option<f64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Step {
    pub(crate) at_s: f64,
    pub(crate) agent: String,
    #[serde(default)]
    pub(crate) client: Option<String>,
    #[serde(default)]
    pub(crate) hook: Option<Value>,
    #[serde(default, rename = "do")]
    pub(crate) does: Option<String>,
    #[serde(default)]
    pub(crate) args: Value,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Trace {
    pub(crate) header: Header,
    pub(crate) steps: Vec<Step>,
}

impl Trace {
    pub(crate) fn parse(text: &str) -> Self {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let header = lines.next().expect("a header");
        let header = serde_json::from_str(header).unwrap_or_else(|error| panic!("{error}: {header}"));
        let step = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        Self { header, steps: lines.map(step).collect() }
    }

    /// Agent-hours: the time from the first to the last step of each agent.
    pub(crate) fn agent_hours(&self) -> f64 {
        let mut spans: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for step in &self.steps {
            let span = spans.entry(&step.agent).or_insert((step.at_s, step.at_s));
            span.1 = step.at_s;
        }
        spans.values().map(|(from, to)| (to - from) / 3600.0).sum()
    }
}

/// A pattern that was raised.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Raised {
    pub(crate) kind: PatternKind,
    pub(crate) agents: Vec<String>,
    /// The index of the last step before it.
    pub(crate) step: usize,
    pub(crate) at_s: f64,
    pub(crate) about: String,
    pub(crate) episode: u32,
    pub(crate) count: u32,
    pub(crate) why: Option<String>,
    id: Uuid,
}

/// A run that ends later.
struct Running {
    ends_s: f64,
    body: Value,
    test: String,
    tree: String,
}

pub(crate) struct Replay {
    pub(crate) state: State,
    pub(crate) events: Vec<Recorded>,
    pub(crate) raised: Vec<Raised>,
    pub(crate) refused: Vec<String>,
    pub(crate) policy: PatternPolicy,
    /// If set, only some looks happen, and some of those are lost.
    pub(crate) looks: Option<Dice>,
    ids: u128,
    now_s: f64,
    step: usize,
    sessions: BTreeMap<String, SessionId>,
    claims: Vec<Uuid>,
    tasks: Vec<Uuid>,
    runs: Vec<Running>,
    open_calls: BTreeMap<SessionId, Vec<String>>,
    waits: BTreeSet<SessionId>,
    /// The work tree of each agent: the directory of its first hook.
    roots: BTreeMap<String, String>,
}

impl Replay {
    pub(crate) fn new() -> Self {
        Self {
            state: State::default(),
            events: Vec::new(),
            raised: Vec::new(),
            refused: Vec::new(),
            policy: PatternPolicy::default(),
            looks: None,
            ids: 1 << 100,
            now_s: 0.0,
            step: 0,
            sessions: BTreeMap::new(),
            claims: Vec::new(),
            tasks: Vec::new(),
            runs: Vec::new(),
            open_calls: BTreeMap::new(),
            waits: BTreeSet::new(),
            roots: BTreeMap::new(),
        }
    }

    pub(crate) fn of(trace: &Trace) -> Self {
        let mut replay = Self::new();
        replay.play(trace);
        replay
    }

    pub(crate) fn play(&mut self, trace: &Trace) {
        for (index, step) in trace.steps.iter().enumerate() {
            self.until(step.at_s);
            self.step = index;
            self.take(step);
            self.mine();
        }
        let ends = trace.header.expect.iter().filter_map(|expect| expect.by_s);
        let last = ends.fold(self.now_s, f64::max);
        self.until(last.max(self.runs.iter().map(|run| run.ends_s).fold(0.0, f64::max)));
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_ms(1_790_000_000_000 + (self.now_s * 1000.0) as i64)
    }

    fn id(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128(self.ids)
    }

    /// Lets the time pass up to a step, with what the writer does meanwhile.
    fn until(&mut self, at_s: f64) {
        loop {
            let tick = (self.now_s / EVERY_S).floor() * EVERY_S + EVERY_S;
            let run = self.runs.iter().enumerate().min_by(|(_, a), (_, b)| a.ends_s.total_cmp(&b.ends_s));
            let run = run.map(|(at, run)| (at, run.ends_s));
            match run {
                Some((at, ends_s)) if ends_s <= at_s && ends_s <= tick => {
                    self.now_s = ends_s.max(self.now_s);
                    self.end_run(at);
                    self.mine();
                }
                _ if tick <= at_s => {
                    self.now_s = tick;
                    for events in overdue(&self.state, self.now()) {
                        self.record("system", None, events, None);
                    }
                    self.mine();
                }
                _ => break,
            }
        }
        self.now_s = at_s.max(self.now_s);
    }

    /// Records what is due, as the writer does after each group and every five minutes.
    pub(crate) fn mine(&mut self) {
        let (now, state, policy) = (self.now(), &self.state, &self.policy);
        let is_busy = |session: &SessionId| {
            self.waits.contains(session) || self.open_calls.get(session).is_some_and(|open| !open.is_empty())
        };
        let mut ids = self.ids;
        let mut new_id = || {
            ids += 1;
            Uuid::from_u128(ids)
        };
        let events = state.patterns().due(state, now, policy, &is_busy, &mut new_id);
        self.ids = ids;
        if self.looks.as_mut().is_some_and(|dice| dice.below(4) > 0) {
            return;
        }
        for event in events {
            if let Event::PatternOpened(opened) = &event {
                self.raised.push(Raised {
                    kind: opened.kind,
                    agents: opened.agents.iter().map(ToString::to_string).collect(),
                    step: self.step,
                    at_s: self.now_s,
                    about: opened.about.to_string(),
                    episode: opened.episode,
                    count: opened.repeats.count,
                    why: None,
                    id: opened.pattern_id.uuid(),
                });
            } else if let Event::PatternClosed(closed) = &event {
                let raised = self.raised.iter_mut().find(|raised| raised.id == closed.pattern_id.uuid());
                raised.expect("only what opened closes").why = Some(closed.why.to_string());
            }
            self.record("system", None, vec![event], None);
        }
    }

    /// Records events as they are, without a decision.
    pub(crate) fn record(
        &mut self,
        agent: &str,
        session: Option<&SessionId>,
        events: Vec<Event>,
        minted: Option<Uuid>,
    ) {
        for event in events {
            let id = event.about().own_id(minted);
            let id = EventId::from_uuid(id.unwrap_or_else(|| self.id()));
            let recorded = Recorded {
                seq: self.events.len() as u64 + 1,
                id,
                agent: AgentId::recorded(agent),
                session: session.cloned(),
                causation: CommandId::from_uuid(id.uuid()),
                at: self.now(),
                event: Some(event),
                erased: None,
            };
            self.state.evolve(&recorded);
            self.events.push(recorded);
        }
    }

    fn submit(&mut self, agent: &str, session: &SessionId, command: Command) {
        let name = AgentId::recorded(agent);
        let (facts, policy) = (Facts::default(), Policy::default());
        match decide(&self.state, &name, Some(session), &facts, &command, self.now(), &policy) {
            Ok(decision) => self.record(agent, Some(session), decision.events, command.minted()),
            Err(refused) => self.refused.push(format!("step {}: {refused}", self.step)),
        }
    }

    fn session(&mut self, agent: &str) -> SessionId {
        let fallback: SessionId = format!("s-{agent}").parse().expect("a session");
        let session = self.sessions.entry(agent.to_owned()).or_insert(fallback).clone();
        if self.state.work().session(&session).is_none() {
            let start = StartSession { source: Source::Startup, client: None, parent_session: None };
            self.submit(agent, &session, Command::StartSession(start));
        }
        session
    }

    fn take(&mut self, step: &Step) {
        match (&step.hook, &step.does) {
            (Some(hook), _) => self.hook(step, hook),
            (None, Some(does)) => self.write(step, does),
            (None, None) => panic!("a step is a hook or a write"),
        }
    }

    fn hook(&mut self, step: &Step, hook: &Value) {
        let client = step.client.as_deref().expect("a client").parse().expect("a known client");
        let call = Call::parse(client, false, &hook.to_string());
        let session: SessionId = call.session.clone().expect("a session").parse().expect("a session");
        self.sessions.insert(step.agent.clone(), session.clone());
        let cwd = call.cwd.clone().unwrap_or_default();
        let root = self.roots.entry(step.agent.clone()).or_insert(cwd).clone();
        let called = |tool: &hooks::ToolCall| {
            tool.command.clone().unwrap_or_else(|| format!("{} {}", tool.name, tool.paths.join(" ")))
        };
        if !matches!(call.moment, Moment::SessionStart { .. } | Moment::SessionEnd { .. }) {
            self.session(&step.agent);
        }
        match &call.moment {
            Moment::SessionStart { .. } => {
                self.open_calls.remove(&session);
                self.waits.remove(&session);
                let start = StartSession { source: Source::Startup, client: None, parent_session: None };
                self.submit(&step.agent, &session, Command::StartSession(start));
            }
            Moment::Prompt { text } => {
                self.open_calls.remove(&session);
                self.waits.remove(&session);
                self.say(&step.agent, &session, Role::User, text);
            }
            Moment::BeforeTool(tool) => {
                self.waits.remove(&session);
                self.open_calls.entry(session).or_default().push(called(tool));
            }
            Moment::AfterTool(tool, outcome) => {
                self.waits.remove(&session);
                let open = self.open_calls.entry(session.clone()).or_default();
                if let Some(at) = open.iter().position(|open| *open == called(tool)) {
                    open.remove(at);
                }
                let secrets = Secrets::default();
                let action = call.action(&root, &secrets).filter(|action| !action.is_empty());
                for seen in hooks::seen(tool, outcome, action.as_ref(), Vec::new(), &secrets) {
                    let event_id = EventId::from_uuid(self.id());
                    self.submit(&step.agent, &session, Command::Observe(Observe { event_id, seen }));
                }
            }
            Moment::Stop { said, .. } => {
                self.open_calls.remove(&session);
                self.waits.insert(session.clone());
                if let Some(said) = said {
                    self.say(&step.agent, &session, Role::Assistant, said);
                }
            }
            Moment::SessionEnd { .. } => {
                let end = Command::EndSession(hivemind::domain::command::EndSession {});
                self.submit(&step.agent, &session, end);
            }
            Moment::Other => {}
        }
    }

    fn say(&mut self, agent: &str, session: &SessionId, role: Role, text: &str) {
        if let Some(text) = Said::cut(text) {
            self.submit(agent, session, Command::RecordTurn(RecordTurn { role, text, told: None }));
        }
    }

    fn named(&self, step: &Step, field: &str, of: &[Uuid]) -> Uuid {
        let name = step.args[field].as_str().unwrap_or_else(|| panic!("step {}: no {field}", self.step));
        let number: usize = name[1..].parse().expect("a number");
        *of.get(number - 1).unwrap_or_else(|| panic!("step {}: {name} is unknown", self.step))
    }

    fn write(&mut self, step: &Step, does: &str) {
        let session = self.session(&step.agent);
        self.waits.remove(&session);
        let text = |field: &str| step.args[field].as_str().unwrap_or("no reason given").to_owned();
        let command = match does {
            "create_claim" => {
                let id = self.id();
                self.claims.push(id);
                let claim_type = match step.args["claim_type"].as_str() {
                    Some("negative_result" | "negative") => "negative",
                    Some("hypothesis") => "hypothesis",
                    _ => "fact",
                };
                json!({ "name": "create_claim", "args": { "claim_id": id, "statement": step.args["statement"],
                    "claim_type": claim_type, "scopes": scopes_of(step), "confidence": 1.0 } })
            }
            "support" | "challenge" => {
                let mut args =
                    json!({ "claim_id": self.named(step, "claim", &self.claims), "position": does });
                if does == "challenge" {
                    args["reason"] = text("reason").into();
                }
                json!({ "name": "take_position", "args": args })
            }
            "add_task" => {
                let id = self.id();
                self.tasks.push(id);
                json!({ "name": "add_task", "args": { "task_id": id, "title": step.args["title"],
                    "scopes": scopes_of(step) } })
            }
            "claim_task" => {
                json!({ "name": "claim_task", "args": { "task_id": self.named(step, "task", &self.tasks) } })
            }
            "release_task" | "send_back" | "block_task" | "done_task" | "fail_task" => {
                let status = match does {
                    "block_task" => "blocked",
                    "done_task" => "done",
                    "fail_task" => "invalidated",
                    _ => "open",
                };
                let mut args = json!({ "task_id": self.named(step, "task", &self.tasks), "status": status });
                match does {
                    "block_task" => args["note"] = text("blocker").into(),
                    "fail_task" => args["note"] = "it cannot be done this way".into(),
                    _ => {
                        if let Some(note) = step.args["note"].as_str() {
                            args["note"] = note.into();
                        }
                    }
                }
                json!({ "name": "update_task", "args": args })
            }
            "guard_escalated" => return self.escalate(step, &session),
            "run" => return self.run(step, &session),
            other => panic!("step {}: `{other}` is unknown", self.step),
        };
        let command =
            serde_json::from_value(command.clone()).unwrap_or_else(|error| panic!("{error}: {command}"));
        self.submit(&step.agent, &session, command);
    }

    /// A guard escalates when a session ignored it three times.
    fn escalate(&mut self, step: &Step, session: &SessionId) {
        let id = self.id();
        let scope = step.args["scope"].as_str().unwrap_or(".");
        let created = json!({ "claim_id": id, "statement": format!("guard {id} of {scope}"),
            "claim_type": "negative", "scopes": [scope], "confidence": 1.0 });
        let created = Event::decode("claim.created", &created.to_string()).expect("a claim");
        self.record("architect", None, vec![created], None);
        for _ in 0..3 {
            let matched = step.args["about"].as_str().unwrap_or("it");
            let fired = json!({ "guard": { "claim": id }, "matched": matched, "kind": "path", "did": scope });
            let edited = json!({ "paths": [scope] });
            for (kind, body) in [("guard.fired", fired), ("file.edited", edited)] {
                let event = Event::decode(kind, &body.to_string()).expect("an event");
                self.record(&step.agent, Some(session), vec![event], None);
            }
        }
    }

    fn run(&mut self, step: &Step, session: &SessionId) {
        let id = self.id();
        let args = &step.args;
        let (profile, argument) =
            (args["profile"].as_str().unwrap_or("unit"), args["argument"].as_str().unwrap_or(""));
        let claim = args["claim"].as_str().map(|_| self.named(step, "claim", &self.claims));
        let mut queued = json!({ "run_id": id, "blocking": false, "plan": {
            "argv": [profile, argument], "cwd": "/home/team/shop", "env": { "only": [] }, "expect": { "exit": 0 },
            "limits": { "cpu_seconds": 0, "file_bytes": 1, "open_files": 64, "output_cap_bytes": 1024 },
            "profile": profile, "pty": false, "timeout_ms": 600_000, "uncapped": false } });
        if let Some(claim) = claim {
            queued["claim_id"] = json!(claim);
        }
        let queued = Event::decode("experiment.queued", &queued.to_string()).expect("a run");
        let started =
            Event::decode("experiment.started", &json!({ "run_id": id }).to_string()).expect("a run");
        self.record(&step.agent, Some(session), vec![queued, started], None);
        let exit = args["exit"].as_i64().unwrap_or(0);
        let stream = json!({ "sha256": "e3b0", "redacted": 0, "stored_bytes": 0, "total_bytes": 0, "truncated": false });
        let body = json!({ "run_id": id, "command": format!("{profile} {argument}"), "exit_code": exit,
            "state": if exit == 0 { "succeeded" } else { "failed" }, "profile": profile,
            "stdout": stream, "stderr": stream });
        let (test, tree) = (format!("{profile} {argument}"), args["tree"].as_str().unwrap_or("a").to_owned());
        let ends_s = self.now_s + args["took_s"].as_f64().unwrap_or(1.0);
        self.runs.push(Running { ends_s, body, test, tree });
    }

    fn end_run(&mut self, at: usize) {
        let Running { mut body, test, tree, .. } = self.runs.remove(at);
        let key = json!({ "test": test, "content": tree });
        body["key"] = key.clone();
        let passed = body["state"] == "succeeded";
        let key = serde_json::from_value(key).expect("a key");
        let steady = self.state.stability().of(&key, Some(passed), self.now());
        if let Some(tally) = steady.unstable {
            body["unstable"] = serde_json::to_value(tally).expect("plain data");
        }
        if steady.stable_again {
            body["stable_again"] = true.into();
        }
        let ended = Event::decode("experiment.completed", &body.to_string()).expect("the end of a run");
        self.record("system", None, vec![ended], None);
    }
}

/// The scopes of a step. An agent names a path outside of the workspace by a tag.
fn scopes_of(step: &Step) -> Value {
    let scopes = step.args.get("scopes").and_then(Value::as_array).cloned().unwrap_or_default();
    let inside = |scope: &Value| match scope.as_str() {
        Some(path) if path.starts_with('/') => format!("tag:{}", path.trim_matches('/').replace('/', "-")),
        other => other.unwrap_or_default().to_owned(),
    };
    json!(scopes.iter().map(inside).collect::<Vec<_>>())
}
