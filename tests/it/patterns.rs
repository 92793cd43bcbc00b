//! Patterns: every form is found, every exception is silent, and the fold finds the same in any portions.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use expect_test::expect_file;
use hivemind::domain::event::Event;
use hivemind::domain::pattern::PatternKind;
use hivemind::domain::patterns::PatternPolicy;
use hivemind::domain::privacy::Secrets;
use hivemind::domain::state::State;
use hivemind::domain::time::Timestamp;
use serde_json::{Value, json};

use crate::harness::{Dice, wait_until};
use crate::hook;
use crate::shell::Shell;
use crate::traces::generate::{NEGATIVE, POSITIVE, trace};
use crate::traces::replay::{Replay, Step, Trace};
use crate::traces::stored;

/// Each form stands for a rule or for an exception: without it this test is red.
#[test]
fn each_form_is_found_and_each_exception_is_silent() {
    let mut problems = Vec::new();
    for (name, form) in POSITIVE {
        for seed in 0..3 {
            let trace = trace(name, *form, seed);
            let kinds: BTreeSet<PatternKind> = trace.header.expect.iter().map(|expect| expect.kind).collect();
            let raised: BTreeSet<PatternKind> =
                Replay::of(&trace).raised.iter().map(|raised| raised.kind).collect();
            if kinds != raised {
                problems.push(format!("{name} {seed}: expected {kinds:?}, raised {raised:?}"));
            }
        }
    }
    for (name, form) in NEGATIVE {
        for seed in 0..3 {
            let raised = Replay::of(&trace(name, *form, seed)).raised;
            if !raised.is_empty() {
                problems.push(format!("{name} {seed}: raised {raised:?}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A history of several traces, one after the other.
fn history(seed: u64) -> Trace {
    let mut dice = Dice::new(seed);
    let mut history = Trace::default();
    let mut from_s = 0.0;
    for part in 0..8 {
        let forms = if dice.below(3) == 0 { NEGATIVE } else { POSITIVE };
        let (name, form) = forms[dice.below(forms.len())];
        let steps = trace(name, form, seed * 100 + part).steps;
        // The names of claims and tasks count from the beginning of the history.
        let (claims, tasks) = (made(&history.steps, "create_claim"), made(&history.steps, "add_task"));
        let last = steps.last().map_or(0.0, |step| step.at_s);
        for mut step in steps {
            step.at_s += from_s;
            renamed(&mut step.args, "claim", claims);
            renamed(&mut step.args, "task", tasks);
            history.steps.push(step);
        }
        from_s += last + 60.0;
    }
    history
}

fn made(steps: &[Step], what: &str) -> usize {
    steps.iter().filter(|step| step.does.as_deref() == Some(what)).count()
}

fn renamed(args: &mut Value, field: &str, by: usize) {
    if let Some(name) = args[field].as_str() {
        let number: usize = name[1..].parse().expect("a number");
        args[field] = format!("{}{}", &name[..1], number + by).into();
    }
}

/// What was raised, apart from stalls: whether a silence is noticed depends on when somebody looks.
fn found(replay: &Replay) -> Vec<(PatternKind, String, u32, Option<String>)> {
    let kept = replay.raised.iter().filter(|raised| raised.kind != PatternKind::Stall);
    let mut found: Vec<_> =
        kept.map(|raised| (raised.kind, raised.about.clone(), raised.episode, raised.why.clone())).collect();
    found.sort();
    found
}

#[test]
fn any_portions_and_any_number_of_looks_find_the_same() {
    let mut all = 0;
    for seed in 0..25 {
        let history = history(seed);
        let mut each = Replay::new();
        each.policy.off = BTreeSet::from([PatternKind::Stall]);
        let mut seldom = Replay::new();
        seldom.policy.off = BTreeSet::from([PatternKind::Stall]);
        // Some looks compute what is due and are lost, as in a crash before it is recorded.
        seldom.looks = Some(Dice::new(seed));
        each.play(&history);
        seldom.play(&history);
        seldom.looks = None;
        seldom.mine();
        each.mine();
        let again = each.events.len();
        each.mine();
        assert_eq!(again, each.events.len(), "a second look finds nothing new");
        // Ids and positions differ with the looks, and nothing else does.
        let spoken = |replay: &Replay| {
            let mut spoken = found(replay);
            spoken
                .iter_mut()
                .filter(|(kind, ..)| *kind == PatternKind::HandoffLoop)
                .for_each(|found| found.1.clear());
            spoken.sort();
            spoken
        };
        assert_eq!(spoken(&each), spoken(&seldom), "seed {seed}");
        all += each.raised.len();
        let mut folded = State::default();
        each.events.iter().for_each(|event| folded.evolve(event));
        assert!(folded == each.state, "a rebuilt state is the live one");
    }
    assert!(all > 50, "the histories hold {all} patterns");
}

/// What a trace raises, one line a pattern: all that the detectors say of it, apart from ids.
fn raised(name: &str, trace: &Trace) -> String {
    let replay = Replay::of(trace);
    let opened = replay.events.iter().filter_map(|recorded| match &recorded.event {
        Some(Event::PatternOpened(opened)) => Some((opened, recorded.at)),
        _ => None,
    });
    let mut lines = String::new();
    for (raised, (opened, at)) in replay.raised.iter().zip(opened) {
        let repeats = &opened.repeats;
        let about = if opened.task.is_some() { "a task" } else { opened.about.as_str() };
        let list = |texts: &mut dyn Iterator<Item = String>| texts.collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            lines,
            "{name}, step {}: {} {} of {about:?} by [{}] in [{}], {} times in rounds of {:?} since {} s, {} grounds, \
             error {:?}, closed {:?}",
            raised.step,
            raised.kind,
            raised.episode,
            list(&mut opened.agents.iter().map(ToString::to_string)),
            list(&mut opened.scopes.iter().map(ToString::to_string)),
            repeats.count,
            repeats.period,
            (at.ms() - repeats.since.ms()) / 1_000,
            opened.rests_on.len(),
            repeats.error.as_ref().map(|error| error.as_str()),
            raised.why,
        );
    }
    if lines.is_empty() { format!("{name}: nothing\n") } else { lines }
}

/// Any change of a rule shows here, and whoever makes it reads what else it changes.
#[test]
fn each_trace_raises_what_the_list_says() {
    let forms = [POSITIVE, NEGATIVE].concat();
    let generated = forms.iter().flat_map(|(name, form)| {
        (0..3).map(move |seed| (format!("{name} {seed}"), trace(name, *form, seed)))
    });
    let stored = stored("hand").into_iter().map(|trace| (trace.header.trace.clone(), trace));
    let histories = (0..4).map(|seed| (format!("history {seed}"), history(seed)));
    let told: String =
        generated.chain(stored).chain(histories).map(|(name, trace)| raised(&name, &trace)).collect();
    expect_file!["../corpora/traces/raised.txt"].assert_eq(&told);
}

fn one(name: &str, policy: PatternPolicy) -> Replay {
    let (name, form) = POSITIVE.iter().find(|(form, _)| *form == name).expect("a form");
    let mut replay = Replay::new();
    replay.policy = policy;
    replay.play(&trace(name, *form, 1));
    replay
}

#[test]
fn settings_hold() {
    let usual = PatternPolicy::default;
    let kinds =
        |policy| one("loop_looks_again", policy).raised.iter().map(|raised| raised.kind).collect::<Vec<_>>();
    assert_eq!(kinds(usual()), [PatternKind::Loop]);
    assert_eq!(kinds(PatternPolicy { off: BTreeSet::from([PatternKind::Loop]), ..usual() }), []);
    assert_eq!(kinds(PatternPolicy { loop_repeats: 4, ..usual() }), [], "three are not enough");
    let polls = ["cat", "ls", "sed", "git"].map(str::to_owned).to_vec();
    assert_eq!(kinds(PatternPolicy { polls, ..usual() }), [], "a poll of the team's own");
    let count = |policy| one("loop_edits_without_effect", policy).raised.first().map(|raised| raised.count);
    assert_eq!([count(usual()), count(PatternPolicy { loop_repeats: 7, ..usual() })], [Some(6), Some(7)]);
    let stalled_at = |policy| one("stall_with_writes_only", policy).raised.first().map(|raised| raised.at_s);
    let (early, late) = (stalled_at(PatternPolicy { stall_minutes: 10, ..usual() }), stalled_at(usual()));
    assert!(early.zip(late).is_some_and(|(early, late)| early < late), "{early:?} {late:?}");
}

#[test]
fn an_episode_ends_and_the_next_one_is_another() {
    let (name, form) = POSITIVE[0];
    let mut first = trace(name, form, 3);
    let last = first.steps.last().expect("steps").at_s;
    let agent = first.steps[0].agent.clone();
    let write = |at_s, does: &str, args| Step {
        at_s,
        agent: agent.clone(),
        client: None,
        hook: None,
        does: Some(does.to_owned()),
        args,
    };
    let negative = json!({ "statement": "it fails without the network", "claim_type": "negative_result", "scopes": ["src"] });
    let again = first.steps.clone();
    first.steps.push(write(last + 10.0, "create_claim", negative));
    first.steps.extend(again.into_iter().map(|step| Step { at_s: step.at_s + last + 20.0, ..step }));
    let raised = Replay::of(&first).raised;
    let told: Vec<_> = raised.iter().map(|raised| (raised.episode, raised.why.as_deref())).collect();
    assert_eq!(told, [(1, Some("filed")), (2, None)]);
}

fn write(at_s: f64, agent: &str, does: &str, args: Value) -> Step {
    Step { at_s, agent: agent.to_owned(), client: None, hook: None, does: Some(does.to_owned()), args }
}

fn claimed(at_s: f64, agent: &str, statement: &str) -> Step {
    let args = json!({ "statement": statement, "claim_type": "fact", "scopes": ["src/pool"] });
    write(at_s, agent, "create_claim", args)
}

/// Records an event of an agent's session as it is.
fn record(replay: &mut Replay, agent: &str, kind: &str, payload: &Value) {
    let session = format!("s-{agent}").parse().expect("a session");
    let event = Event::decode(kind, &payload.to_string()).expect("an event");
    replay.record(agent, Some(&session), vec![event], None);
}

/// The agents of the stalls after a silence of fifty minutes.
fn stalled(replay: &mut Replay) -> Vec<Vec<String>> {
    replay.play(&Trace { steps: vec![claimed(3_000.0, "dev-3", "it is late")], ..Trace::default() });
    let stalls = replay.raised.iter().filter(|raised| raised.kind == PatternKind::Stall);
    stalls.map(|raised| raised.agents.clone()).collect()
}

#[test]
fn a_claim_that_waits_for_its_proof_is_work_of_its_own_session() {
    let mut replay = Replay::new();
    let challenge = json!({ "claim": "C1", "reason": "it keeps them" });
    let steps = vec![
        claimed(0.0, "dev-1", "the pool gives connections back"),
        write(10.0, "dev-2", "challenge", challenge),
    ];
    replay.play(&Trace { steps, ..Trace::default() });
    let claim = replay.state.claims().next().expect("a claim").0;
    let waits = json!({
        "claim_id": claim, "from": "contested", "to": "pending_proof", "reason": "waits for run 1"
    });
    record(&mut replay, "dev-1", "claim.status_changed", &waits);
    assert_eq!(stalled(&mut replay), [["dev-1"]]);
}

#[test]
fn a_session_that_was_reminded_at_the_end_of_its_turn_waits_for_its_human() {
    let mut replay = Replay::new();
    let mut steps = Vec::new();
    for (agent, task) in [("dev-1", "T1"), ("dev-2", "T2")] {
        steps.push(write(
            0.0,
            agent,
            "add_task",
            json!({ "title": format!("work of {agent}"), "scopes": [] }),
        ));
        steps.push(write(1.0, agent, "claim_task", json!({ "task": task })));
    }
    replay.play(&Trace { steps, ..Trace::default() });
    for (agent, matched) in [("dev-1", "end of turn"), ("dev-2", "start of turn")] {
        let fired = json!({ "guard": { "task": hivemind::system::new_id() }, "matched": matched });
        record(&mut replay, agent, "guard.fired", &fired);
    }
    assert_eq!(stalled(&mut replay), [["dev-2"]]);
}

fn failed(session: &hook::Session<'_>, line: &str) -> String {
    let input = json!({ "command": line });
    let error = "Exit code 101\nrunning 1 test\ntest pool::waits ... FAILED\nerror: test failed, to rerun pass `--lib`";
    session.told("PostToolUseFailure", json!({ "tool_name": "Bash", "tool_input": input, "error": error }))
}

/// Makes an open loop of the agent `devops`.
pub(crate) fn a_loop(shell: &Shell) {
    looped(shell);
}

/// What the session is told meanwhile.
fn looped(shell: &Shell) -> String {
    let session = hook::claude(shell, "s-loop", "devops");
    session.start();
    session.prompt("mend the pool");
    let lines = ["cargo test pool", "cd . && cargo test pool", "cargo test pool"];
    let told: Vec<String> = lines.iter().map(|line| failed(&session, line)).collect();
    wait_until("the loop is found", || is_open(shell, "loop"));
    told.concat()
}

/// A program that the line itself holds may mend a file each time. Red where the commands below it alone are compared.
#[test]
fn a_test_below_a_program_that_differs_is_no_loop() {
    let shell = Shell::new();
    let session = hook::claude(&shell, "s-edits", "devops");
    session.start();
    session.prompt("mend the pool");
    let line = |number: usize| format!("python - <<'EOF'\nedit({number})\nEOF\ncargo test pool");
    (0..4).for_each(|number| drop(failed(&session, &line(number))));
    looped(&shell);
    let open = shell.json("hm --json pattern list");
    let shown = open.to_string();
    assert!(open["patterns"].as_array().is_some_and(|open| open.len() == 1), "{shown}");
    assert!(shown.contains("devops") && !shown.contains("edit("), "{shown}");
    (0..3).for_each(|_| drop(failed(&session, &line(9))));
    wait_until("the same line is a loop", || {
        shell.json("hm --json pattern list")["patterns"].as_array().is_some_and(|open| open.len() == 2)
    });
}

fn text(shell: &Shell, line: &str) -> String {
    let output = shell.run(line);
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn refused(shell: &Shell, line: &str) -> String {
    let output = shell.run(line);
    assert!(!output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stderr).expect("text")
}

fn is_open(shell: &Shell, kind: &str) -> bool {
    let open = shell.json("hm --json pattern list");
    open["patterns"].as_array().is_some_and(|open| open.iter().any(|open| open["kind"] == kind))
}

#[test]
fn a_loop_is_told_to_its_agent_once_and_dismissed() {
    let shell = Shell::new();
    // The writer may find the loop while the third hook still runs.
    let before = looped(&shell);
    let session = hook::claude(&shell, "s-loop", "devops");
    let after = session.about_to_run("cargo test pool");
    assert!(before.contains("L1") != after.contains("L1"), "told once: {before}; {after}");
    let told = before + &after;
    assert!(told.contains("ran `cargo test pool` 3 times and got the same answer each time"), "{told}");
    assert!(told.contains("L1") && told.contains("hm pattern dismiss L1"), "a way out: {told}");
    assert!(!session.about_to_run("cargo test pool").contains("L1"), "once an episode");
    let other = hook::claude(&shell, "s-other", "analyst");
    other.start();
    assert!(!other.prompt("go on").contains("L1"), "a loop is its agent's");
    let shown = text(&shell, "hm pattern show L1");
    assert!(shown.contains("rests on the ledger positions"), "{shown}");
    // Red before: it went on to repeat, and the count stayed.
    assert!(
        shown.contains("3 times and got the same answer each time") && shown.contains("counted when"),
        "{shown}"
    );
    let other = refused(&shell, "hm pattern dismiss L1 --reason no --agent analyst");
    assert!(other.contains("no part of this pattern"), "{other}");
    text(&shell, "hm pattern dismiss L1 --reason \"the test is meant to fail\" --agent devops");
    assert!(!is_open(&shell, "loop"));
    assert!(text(&shell, "hm pattern list --all").contains("dismissed by devops"));
    let gone = refused(&shell, "hm pattern dismiss L1 --reason again --agent devops");
    assert!(gone.contains("no open pattern"), "{gone}");
}

/// The time between the first and the last event of a session that shows no activity.
#[test]
fn a_session_with_an_open_call_or_at_its_end_of_turn_is_busy() {
    let shell = Shell::new();
    let session = hook::claude(&shell, "s-busy", "devops");
    session.start();
    let workspace = shell.workspace();
    let id = "s-busy".parse().expect("a session");
    let busy = |hours: i64| {
        let now = Timestamp::from_ms(hivemind::system::now().ms() + hours * 3_600_000);
        hivemind::session_news::SessionNews::of(shell.state_home(), &workspace, &id).is_busy(now)
    };
    assert!(!busy(0));
    session.about_to_run("cargo build --release");
    assert!(busy(0) && busy(1), "a long build");
    assert!(!busy(3), "a call that hangs");
    let ran = json!({ "tool_name": "Bash", "tool_input": { "command": "cargo build --release" }, "tool_response": {} });
    session.told("PostToolUse", ran);
    assert!(!busy(0));
    session.told("Stop", json!({ "stop_hook_active": false }));
    assert!(busy(0) && busy(30), "it waits for its human");
    session.prompt("go on");
    assert!(!busy(0));
}

/// A detector that reads empty fields is silent for weeks: each client's command has its normal form, its end and its
/// answer.
#[test]
fn the_payloads_of_each_client_fill_what_the_detectors_read() {
    use hivemind::domain::command::Seen;
    use hivemind::hooks::{Call, Moment, seen};
    for (client, file, exit, has_duration) in [
        ("claude", "PostToolUseFailure.Bash", Some(101), true),
        ("codex", "PostToolUse.told", Some(101), false),
        ("gemini", "AfterTool.run_shell_command.failed", Some(2), false),
        ("copilot", "postToolUse.bash", Some(127), false),
        ("cursor", "postToolUse.Shell", Some(0), true),
        ("qwen", "PostToolUseFailure.run_shell_command", Some(127), true),
        ("opencode", "tool.execute.after.bash", Some(1), false),
    ] {
        let path = format!("{}/tests/fixtures/hooks/{client}/{file}.json", env!("CARGO_MANIFEST_DIR"));
        let payload = std::fs::read_to_string(&path).expect("a recorded payload");
        let call = Call::parse(client.parse().expect("a client"), false, &payload);
        let Moment::AfterTool(tool, outcome) = &call.moment else { panic!("{path}: {:?}", call.moment) };
        let action = call.action(call.cwd.as_deref().expect("a directory"), &Secrets::default());
        let seen = seen(tool, outcome, action.as_ref(), Vec::new(), &Default::default());
        let [Seen::Command(ran)] = seen.as_slice() else { panic!("{path}: {seen:?}") };
        assert!(!ran.runs.is_empty() && ran.answer_sha256.is_some() && ran.tail.is_some(), "{path}: {ran:?}");
        assert_eq!((ran.exit_code, ran.took_ms.is_some()), (exit, has_duration), "{path}");
        assert!(ran.exit_code == Some(0) || ran.failed, "{path}: {ran:?}");
    }
}
