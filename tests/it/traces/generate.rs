//! Generated traces: each form of a pattern, and each exception that looks like one. A seed fixes every choice.

use serde_json::{Value, json};

use super::replay::{Expect, Header, Step, Trace};
use crate::harness::Dice;
use hivemind::domain::pattern::PatternKind;

const CLIENTS: [&str; 4] = ["claude", "codex", "gemini", "copilot"];
const NAMES: [&str; 8] = ["dev-1", "dev-2", "dev-3", "backend", "frontend", "reviewer", "devops", "analyst"];
const FILES: [&str; 7] = [
    "src/cart/price.rs",
    "src/api/orders.py",
    "web/src/app.ts",
    "internal/pool/pool.go",
    "src/db/migrate.rs",
    "lib/auth/session.js",
    "tests/test_orders.py",
];
/// Commands that build or test, with the form of their failure: `%N` is a duration, `%P` a temporary path, `%I` an
/// id of a process or an address, `%C` a count that tells progress.
const CHECKS: [(&str, &str); 8] = [
    (
        "cargo test -p cart",
        "   Compiling cart v0.1.0 (/home/team/shop)\n    Finished `test` profile in %N\nrunning 4 tests\ntest price::adds ... ok\ntest price::rounds ... FAILED\n\nthread 'price::rounds' (%I) panicked at src/cart/price.rs:41:9:\nassertion `left == right` failed\n  left: 10\n right: 11\n\ntest result: FAILED. 3 passed; %C failed; 0 ignored; finished in %N\n",
    ),
    (
        "pytest tests/test_orders.py -q",
        "..F.                                       [100%]\n=== FAILURES ===\n    def test_total():\n>       assert total([1, 2]) == 3\nE       AssertionError: assert 4 == 3\ntests/test_orders.py:12: AssertionError\n=== short test summary info ===\nFAILED tests/test_orders.py::test_total - AssertionError: assert 4 == 3\n%C failed, 3 passed in %N\n",
    ),
    (
        "npm test",
        "> shop@1.0.0 test\n> vitest run\n\n FAIL  web/src/app.test.ts > sums\nAssertionError: expected 3 to be 4\n ❯ web/src/app.test.ts:9:5\n\n Test Files  1 failed (1)\n      Tests  %C failed | 7 passed (8)\n   Start at  12:%M:07\n   Duration  %N (transform %N, setup 0ms)\n",
    ),
    (
        "go test ./internal/pool/...",
        "--- FAIL: TestPool (%N)\n    pool_test.go:31: got 3, want 4\nFAIL\nFAIL\tshop/internal/pool\t%N\nFAIL\n# %C failures\n",
    ),
    (
        "npm install left-pad@9",
        "npm error code ETARGET\nnpm error notarget No matching version found for left-pad@9.\nnpm error A complete log of this run can be found in: %P\n%C errors\n",
    ),
    (
        "cargo build --release",
        "   Compiling shop v0.1.0 (/home/team/shop)\nerror[E0308]: mismatched types\n  --> src/db/migrate.rs:12:5\n   |\n12 |     x\n   |     ^ expected `u32`, found `String`\n\nerror: could not compile `shop` (bin \"shop\") due to %C previous errors\n",
    ),
    (
        "git push origin main",
        "To github.com:team/shop.git\n ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs to 'github.com:team/shop.git'\nhint: %C commits behind\n",
    ),
    (
        "docker compose up -d db",
        "Error response from daemon: driver failed programming external connectivity on endpoint shop-db (%A): Bind for 0.0.0.0:5432 failed: port is already allocated\n%C errors\n",
    ),
];
const LOOKS: [(&str, &str); 4] = [
    ("cat src/cart/price.rs", "pub fn price(cents: u64) -> u64 {\n    cents * 119 / 100\n}\n"),
    ("ls -la src", "total 12\n-rw-r--r-- 1 team team 812 cart.rs\n-rw-r--r-- 1 team team 77 lib.rs\n"),
    ("sed -n 1,40p src/api/orders.py", "def total(orders):\n    return sum(orders)\n"),
    ("git diff --stat", " src/cart/price.rs | 4 ++--\n 1 file changed, 2 insertions(+), 2 deletions(-)\n"),
];
const PASSES: [(&str, &str); 3] = [
    ("cargo check", "    Checking shop v0.1.0 (/home/team/shop)\n    Finished `dev` profile in %N\n"),
    ("pytest -q", "........                              [100%]\n8 passed in %N\n"),
    ("npm run build", "> vite build\n✓ 34 modules transformed.\n✓ built in %N\n"),
];
const POLLS: [(&str, &str); 7] = [
    ("gh run view 8812", "- main CI\n  status: in_progress\n"),
    ("kubectl get pods", "NAME       READY   STATUS    RESTARTS\nshop-7f    0/1     Pending   0\n"),
    ("sleep 20; cat build.out", "building...\n"),
    ("docker ps", "CONTAINER ID   IMAGE   STATUS\n"),
    ("curl -s http://localhost:8080/health", "{\"status\":\"starting\"}\n"),
    ("git status --short", " M src/cart/price.rs\n"),
    ("tail -n 5 build.log", "[12/40] compiling\n"),
];

/// A trace that is being written.
pub(crate) struct Pen {
    dice: Dice,
    at_s: f64,
    steps: Vec<Step>,
    expect: Vec<Expect>,
    client: &'static str,
    /// What `%C` stands for.
    count: usize,
}

impl Pen {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let client = *dice.pick(&CLIENTS);
        Self { dice, at_s: 0.0, steps: Vec::new(), expect: Vec::new(), client, count: 1 }
    }

    fn wait(&mut self, from_s: usize, to_s: usize) {
        self.at_s += self.dice.from(from_s, to_s) as f64 + 0.25;
    }

    fn agents<const N: usize>(&mut self) -> [&'static str; N] {
        let mut names = NAMES.to_vec();
        std::array::from_fn(|_| names.remove(self.dice.below(names.len())))
    }

    fn file(&mut self) -> &'static str {
        self.dice.pick::<&str>(&FILES)
    }

    fn step(&mut self, agent: &str, hook: Option<Value>, does: Option<&str>, args: Value) -> usize {
        let client = hook.is_some().then(|| self.client.to_owned());
        let does = does.map(str::to_owned);
        self.steps.push(Step { at_s: self.at_s, agent: agent.to_owned(), client, hook, does, args });
        self.wait(2, 25);
        self.steps.len() - 1
    }

    fn write(&mut self, agent: &str, does: &str, args: Value) -> usize {
        self.step(agent, None, Some(does), args)
    }

    fn filled(&mut self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            filled.push_str(&rest[..at]);
            let what = rest[at + 1..].chars().next().unwrap_or(' ');
            match what {
                'N' if self.dice.below(3) == 0 => filled.push_str(&format!("{}ms", self.dice.from(3, 990))),
                'N' => filled.push_str(&format!("{}.{:02}s", self.dice.below(40), self.dice.below(100))),
                'M' => filled.push_str(&format!("{:02}", self.dice.below(60))),
                'P' => filled.push_str(&format!("/tmp/npm-{:x}/debug-0.log", self.dice.next())),
                'I' => filled.push_str(&(10_000 + self.dice.below(90_000)).to_string()),
                'A' => filled.push_str(&format!("{:016x}{:016x}", self.dice.next(), self.dice.next())),
                'C' => filled.push_str(&self.count.to_string()),
                other => filled.push_str(&format!("%{other}")),
            }
            rest = &rest[at + 1 + what.len_utf8()..];
        }
        filled + rest
    }

    fn payload(&mut self, agent: &str, event: [&str; 4], fields: Value) -> Value {
        let at = CLIENTS.iter().position(|client| *client == self.client).expect("a client");
        let session = format!("s-{agent}");
        let mut hook = if self.client == "copilot" {
            json!({ "sessionId": session, "timestamp": 1_795_352_218_000_u64, "cwd": "/home/team/shop" })
        } else {
            json!({ "session_id": session, "cwd": "/home/team/shop", "hook_event_name": event[at] })
        };
        for (field, value) in fields.as_object().expect("fields") {
            hook[field] = value.clone();
        }
        hook
    }

    fn shell(&self) -> (&'static str, &'static str, &'static str) {
        match self.client {
            "copilot" => ("toolName", "toolArgs", "bash"),
            "gemini" => ("tool_name", "tool_input", "run_shell_command"),
            _ => ("tool_name", "tool_input", "Bash"),
        }
    }

    fn before(&mut self, agent: &str, command: &str) -> usize {
        let (name, input, tool) = self.shell();
        let hook = self.payload(
            agent,
            ["PreToolUse", "PreToolUse", "BeforeTool", ""],
            json!({ name: tool, input: { "command": command } }),
        );
        self.step(agent, Some(hook), None, Value::Null)
    }

    /// A command with its output before and after, as the client reports it.
    fn ran(&mut self, agent: &str, command: &str, output: &str, exit: i64) -> usize {
        self.before(agent, command);
        self.after(agent, command, output, exit)
    }

    fn after(&mut self, agent: &str, command: &str, output: &str, exit: i64) -> usize {
        let output = self.filled(output);
        let (name, input, tool) = self.shell();
        let mut fields = json!({ name: tool, input: { "command": command } });
        let mut event = ["PostToolUse", "PostToolUse", "AfterTool", ""];
        match self.client {
            "claude" if exit != 0 => {
                event[0] = "PostToolUseFailure";
                fields["error"] = format!("Exit code {exit}\n{output}").into();
            }
            "claude" => {
                fields["tool_response"] = json!({ "stdout": output, "stderr": "", "interrupted": false })
            }
            "codex" => {
                let wall = self.filled("%N");
                let text = format!(
                    "Exit code: {exit}\nWall time: {} seconds\nOutput:\n{output}",
                    wall.trim_end_matches("ms").trim_end_matches('s')
                );
                fields["tool_response"] = text.into();
            }
            "gemini" => {
                let end = if exit == 0 { String::new() } else { format!("\nExit Code: {exit}") };
                let pid = 1_000 + self.dice.below(60_000);
                let text = format!(
                    "<untrusted_context>\nOutput: {output}{end}\nProcess Group PGID: {pid}\n</untrusted_context>"
                );
                fields["tool_response"] = json!({ "llmContent": text });
            }
            _ => {
                let text =
                    format!("{output}\n<shellId: {} completed with exit code {exit}>", self.dice.below(90));
                fields["toolResult"] = json!({ "resultType": "success", "textResultForLlm": text });
            }
        }
        let hook = self.payload(agent, event, fields);
        self.step(agent, Some(hook), None, Value::Null)
    }

    fn edit(&mut self, agent: &str, file: &str) -> usize {
        let text = format!("line {}", self.dice.next());
        let fields = match self.client {
            "copilot" => json!({ "toolName": "edit", "toolArgs": { "path": file, "new_str": text },
                "toolResult": { "resultType": "success", "textResultForLlm": "edited" } }),
            "gemini" => {
                json!({ "tool_name": "write_file", "tool_input": { "file_path": file, "content": text },
                "tool_response": { "llmContent": "written" } })
            }
            "codex" => json!({ "tool_name": "apply_patch", "tool_input": { "command":
                format!("*** Begin Patch\n*** Update File: {file}\n@@\n-a\n+{text}\n*** End Patch\n") },
                "tool_response": "Success" }),
            _ => json!({ "tool_name": "Edit", "tool_input": { "file_path": file, "new_string": text },
                "tool_response": {} }),
        };
        let hook = self.payload(agent, ["PostToolUse", "PostToolUse", "AfterTool", ""], fields);
        self.step(agent, Some(hook), None, Value::Null)
    }

    fn failed_edit(&mut self, agent: &str, file: &str, old: &str) -> usize {
        let fields = json!({ "tool_name": "Edit",
            "tool_input": { "file_path": file, "old_string": old, "new_string": "new" },
            "error": "String to replace not found in file." });
        let hook = self.payload(agent, ["PostToolUseFailure", "", "", ""], fields);
        self.step(agent, Some(hook), None, Value::Null)
    }

    fn read(&mut self, agent: &str) {
        let hook = match self.client {
            "copilot" => json!({ "toolName": "view", "toolArgs": { "path": "README.md" },
                "toolResult": { "resultType": "success", "textResultForLlm": "text" } }),
            _ => {
                json!({ "tool_name": "Read", "tool_input": { "file_path": "README.md" }, "tool_response": {} })
            }
        };
        let hook = self.payload(agent, ["PostToolUse", "PostToolUse", "AfterTool", ""], hook);
        self.step(agent, Some(hook), None, Value::Null);
    }

    fn start(&mut self, agent: &str) {
        let fields = if self.client == "copilot" {
            json!({ "source": "new" })
        } else {
            json!({ "source": "startup" })
        };
        let hook = self.payload(agent, ["SessionStart", "SessionStart", "SessionStart", ""], fields);
        self.step(agent, Some(hook), None, Value::Null);
        self.prompt(agent, "do the work");
    }

    fn prompt(&mut self, agent: &str, text: &str) {
        let hook = self.payload(
            agent,
            ["UserPromptSubmit", "UserPromptSubmit", "BeforeAgent", ""],
            json!({ "prompt": text }),
        );
        self.step(agent, Some(hook), None, Value::Null);
    }

    fn stop(&mut self, agent: &str) {
        let fields = if self.client == "copilot" {
            json!({ "stop_hook_active": false })
        } else {
            json!({ "stop_hook_active": false, "last_assistant_message": "done for now", "prompt_response": "done" })
        };
        let hook = self.payload(agent, ["Stop", "Stop", "AfterAgent", ""], fields);
        self.step(agent, Some(hook), None, Value::Null);
    }

    fn task(&mut self, agent: &str, scopes: &[&str]) {
        let title = format!("task {}", self.dice.next());
        self.write(agent, "add_task", json!({ "title": title, "scopes": scopes }));
    }

    fn claim(&mut self, agent: &str, scope: &str) {
        let statement = format!("statement number {:x} holds for {scope}", self.dice.next());
        self.write(
            agent,
            "create_claim",
            json!({ "statement": statement, "claim_type": "fact", "scopes": [scope] }),
        );
    }

    fn challenge(&mut self, agent: &str, claim: &str) -> usize {
        let reason = format!("it fails for input {}", self.dice.below(1_000));
        self.write(agent, "challenge", json!({ "claim": claim, "reason": reason }))
    }

    fn experiment(&mut self, agent: &str, claim: Option<&str>, test: &str, exit: i64, tree: &str) -> usize {
        let mut args =
            json!({ "profile": "unit", "argument": test, "exit": exit, "took_s": 1, "tree": tree });
        if let Some(claim) = claim {
            args["claim"] = claim.into();
        }
        let step = self.write(agent, "run", args);
        self.wait(5, 9);
        step
    }

    fn expect(&mut self, kind: PatternKind, agents: &[&str], from: usize, by: usize) {
        let mut agents: Vec<String> = agents.iter().map(|agent| (*agent).to_owned()).collect();
        agents.sort();
        self.expect.push(Expect { kind, agents, from, by: Some(by), by_s: None });
    }

    fn done(self, name: &str, seed: u64) -> Trace {
        Trace { header: Header { trace: format!("{name}-{seed}"), expect: self.expect }, steps: self.steps }
    }

    /// Something else that the agent does between.
    fn noise(&mut self, agent: &str) {
        match self.dice.below(4) {
            0 => self.read(agent),
            1 => {
                let file = self.file();
                let line = format!("grep -n total {file}");
                let found = format!("{}: total\n", self.dice.below(300));
                self.ran(agent, &line, &found, 0);
            }
            2 => {
                let name = format!("{:x}", self.dice.next());
                self.ran(agent, &format!("cat notes/{name}.md"), &format!("notes {name}\n"), 0);
            }
            _ => {}
        }
    }
}

type Form = (&'static str, fn(&mut Pen));

/// The forms of the patterns.
pub(crate) const POSITIVE: &[Form] = &[
    ("loop_same_failure", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let (command, output) = CHECKS[pen.dice.below(CHECKS.len())];
        let from = pen.steps.len();
        let mut by = 0;
        for round in 0..pen.dice.from(3, 5) {
            pen.noise(agent);
            let step = pen.ran(agent, command, output, 1);
            by = if round == 2 { step } else { by };
        }
        pen.expect(PatternKind::Loop, &[agent], from, by);
    }),
    ("loop_edits_without_effect", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let (command, output) = CHECKS[pen.dice.below(4)];
        let file = pen.file();
        let from = pen.steps.len();
        let mut by = 0;
        for round in 0..7 {
            pen.edit(agent, file);
            let step = pen.ran(agent, command, output, 1);
            by = if round == 5 { step } else { by };
        }
        pen.expect(PatternKind::Loop, &[agent], from, by);
    }),
    ("loop_spelled_otherwise", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let (command, output) = CHECKS[pen.dice.below(3)];
        let lines = [
            command.to_owned(),
            format!("cd /home/team/shop && {command}"),
            format!("{command} 2>&1 | tail -20"),
            format!("time {command}"),
            format!("{command} 2>&1 | tail -40"),
        ];
        let from = pen.steps.len();
        let first = pen.dice.below(lines.len());
        let mut by = 0;
        for round in 0..4 {
            let line = &lines[(first + round) % lines.len()];
            let exit = if line.contains('|') { 0 } else { 1 };
            by = pen.ran(agent, line, output, exit);
        }
        pen.expect(PatternKind::Loop, &[agent], from, by);
    }),
    ("loop_looks_again", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let (command, output) = LOOKS[pen.dice.below(LOOKS.len())];
        let from = pen.steps.len();
        let mut by = 0;
        for _ in 0..3 {
            by = pen.ran(agent, command, output, 0);
        }
        pen.expect(PatternKind::Loop, &[agent], from, by);
    }),
    ("loop_in_rounds", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let period = pen.dice.from(2, 4);
        let from = pen.steps.len();
        let mut by = 0;
        for _ in 0..3 {
            for look in LOOKS.iter().take(period) {
                by = pen.ran(agent, look.0, look.1, 0);
            }
        }
        pen.expect(PatternKind::Loop, &[agent], from, by);
    }),
    ("loop_one_error_of_many_commands", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let error = "Traceback (most recent call last):\n  File \"src/api/orders.py\", line 12, in <module>\n    import prices\nModuleNotFoundError: No module named 'prices'\n";
        let commands = [
            "python src/api/orders.py",
            "python3 -m api.orders",
            "PYTHONPATH=src python -c 'import api.orders'",
            "poetry run python src/api/orders.py",
            "uv run src/api/orders.py",
        ];
        let from = pen.steps.len();
        let first = pen.dice.below(3);
        let mut by = 0;
        for command in &commands[first..first + 3] {
            pen.noise(agent);
            by = pen.ran(agent, command, error, 1);
        }
        pen.expect(PatternKind::Loop, &[agent], from, by);
    }),
    ("loop_of_edits_that_fail", |pen| {
        let [agent] = pen.agents();
        pen.client = "claude";
        pen.start(agent);
        let file = pen.file();
        let from = pen.steps.len();
        let mut by = 0;
        for _ in 0..3 {
            by = pen.failed_edit(agent, file, "old");
            pen.noise(agent);
        }
        pen.expect(PatternKind::Loop, &[agent], from, by);
    }),
    ("handoff_between_two", |pen| {
        let [one, other] = pen.agents();
        let file = pen.file();
        pen.task(one, &[file]);
        let from = pen.steps.len();
        let mut by = 0;
        for agent in [one, other, one, other] {
            by = pen.write(agent, "claim_task", json!({ "task": "T1" }));
            pen.wait(60, 600);
            let does = *pen.dice.pick(&["release_task", "send_back"]);
            pen.write(agent, does, json!({ "task": "T1", "to": other, "note": "not mine" }));
        }
        pen.expect(PatternKind::HandoffLoop, &[one, other], from, by);
    }),
    ("handoff_round_three", |pen| {
        let [one, two, three] = pen.agents();
        pen.task(one, &["src/cart"]);
        let from = pen.steps.len();
        let mut by = 0;
        for agent in [one, two, three, one, two] {
            by = pen.write(agent, "claim_task", json!({ "task": "T1" }));
            pen.wait(60, 500);
            pen.write(agent, "release_task", json!({ "task": "T1", "note": "somebody else should" }));
        }
        pen.expect(PatternKind::HandoffLoop, &[one, two, three], from, by);
    }),
    ("handoff_with_one_blocker", |pen| {
        let [one, other] = pen.agents();
        pen.task(one, &["src/db"]);
        let from = pen.steps.len();
        let mut by = 0;
        for agent in [one, other, one] {
            pen.write(agent, "claim_task", json!({ "task": "T1" }));
            pen.wait(60, 300);
            by = pen.write(
                agent,
                "block_task",
                json!({ "task": "T1", "blocker": "no right to push to main" }),
            );
            pen.write(agent, "release_task", json!({ "task": "T1" }));
        }
        pen.expect(PatternKind::HandoffLoop, &[one, other], from, by);
    }),
    ("escalation", |pen| {
        let [one, other] = pen.agents();
        let file = pen.file();
        pen.task(one, &[file]);
        pen.claim(one, file);
        pen.write(one, "claim_task", json!({ "task": "T1" }));
        let from = pen.challenge(other, "C1");
        pen.wait(30, 400);
        let skip = pen.dice.below(3);
        if skip != 0 {
            pen.experiment(one, Some("C1"), "pool", 1, "a");
        }
        let mut by = pen.steps.len() - 1;
        if skip != 1 {
            pen.wait(30, 400);
            by = pen.write(other, "guard_escalated", json!({ "scope": file, "about": "the same dispute" }));
        }
        if skip != 2 {
            pen.wait(30, 400);
            by = pen.write(one, "block_task", json!({ "task": "T1", "blocker": "we do not agree" }));
        }
        pen.expect(PatternKind::EscalationSpiral, &[one, other], from, by);
    }),
    ("escalation_beside_a_settled_one", |pen| {
        let [one, other] = pen.agents();
        let file = pen.file();
        pen.claim(one, file);
        pen.claim(one, "docs/manual.md");
        let from = pen.challenge(other, "C1");
        pen.challenge(other, "C2");
        pen.experiment(one, Some("C2"), "manual", 0, "a");
        pen.experiment(one, Some("C1"), "pool", 1, "a");
        let by = pen.write(other, "guard_escalated", json!({ "scope": file, "about": "the same dispute" }));
        pen.expect(PatternKind::EscalationSpiral, &[one, other], from, by);
    }),
    ("stall_after_work", |pen| {
        let [agent, other] = pen.agents();
        pen.start(agent);
        pen.task(agent, &["src/cart"]);
        pen.write(agent, "claim_task", json!({ "task": "T1" }));
        for _ in 0..pen.dice.from(1, 4) {
            let (command, output) = PASSES[pen.dice.below(PASSES.len())];
            pen.edit(agent, "src/cart/price.rs");
            pen.ran(agent, command, output, 0);
        }
        let from = pen.steps.len() - 1;
        let last = pen.steps[from].at_s;
        for _ in 0..4 {
            pen.at_s += 600.0;
            pen.read(other);
        }
        pen.expect.push(Expect {
            kind: PatternKind::Stall,
            agents: vec![agent.to_owned()],
            from,
            by: None,
            by_s: Some(last + 2_400.0),
        });
    }),
    ("stall_with_writes_only", |pen| {
        let [agent] = pen.agents();
        pen.task(agent, &[]);
        let from = pen.write(agent, "claim_task", json!({ "task": "T1" }));
        let last = pen.steps[from].at_s;
        pen.expect.push(Expect {
            kind: PatternKind::Stall,
            agents: vec![agent.to_owned()],
            from,
            by: None,
            by_s: Some(last + 2_400.0),
        });
    }),
    ("cluster_in_an_area", |pen| {
        let [one, two, three, four] = pen.agents();
        let owners = [one, two, three];
        for (at, owner) in owners.iter().enumerate() {
            let place = ["src/cart", "src/cart/price.rs", "src/cart"][at];
            pen.claim(owner, place);
        }
        let from = pen.steps.len();
        let mut by = 0;
        for (at, challenger) in [two, three, four].iter().enumerate() {
            by = pen.challenge(challenger, &format!("C{}", at + 1));
        }
        pen.expect(PatternKind::ContradictionCluster, &[one, two, three, four], from, by);
    }),
    ("cluster_of_a_pair", |pen| {
        let [one, other] = pen.agents();
        for place in ["src/cart", "web/src/app.ts", "tag:auth"] {
            pen.claim(one, place);
        }
        let from = pen.steps.len();
        let mut by = 0;
        for claim in ["C1", "C2", "C3"] {
            by = pen.challenge(other, claim);
            pen.wait(10, 900);
        }
        pen.expect(PatternKind::ContradictionCluster, &[one, other], from, by);
    }),
    ("unstable_check", |pen| {
        let [agent] = pen.agents();
        pen.claim(agent, "src/db");
        let from = pen.steps.len();
        let first = pen.dice.below(2) as i64;
        pen.experiment(agent, Some("C1"), "test_pool", first, "a");
        let by = pen.experiment(agent, Some("C1"), "test_pool", 1 - first, "a");
        pen.expect(PatternKind::UnstableProof, &[], from, by);
    }),
];

/// Healthy work that looks like a pattern.
pub(crate) const NEGATIVE: &[Form] = &[
    ("fix_and_verify", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let (command, output) = CHECKS[pen.dice.below(CHECKS.len())];
        let file = pen.file();
        for left in (1..pen.dice.from(4, 8)).rev() {
            pen.count = left;
            pen.edit(agent, file);
            pen.ran(agent, command, output, 1);
        }
    }),
    ("tries_at_one_place", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let (command, output) = CHECKS[pen.dice.below(4)];
        let file = pen.file();
        for _ in 0..pen.dice.from(3, 5) {
            pen.edit(agent, file);
            pen.ran(agent, command, output, 1);
        }
        pen.edit(agent, file);
        pen.ran(agent, command, "ok\n", 0);
    }),
    ("tries_that_look_first", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let (command, output) = CHECKS[pen.dice.below(4)];
        let file = pen.file();
        for number in 0..pen.dice.from(3, 5) {
            if number > 0 && pen.dice.below(2) == 0 {
                let line = format!("grep -n total {file}");
                pen.ran(agent, &line, "12: total\n", 0);
            } else if number > 0 {
                // It takes the edit before this one back.
                pen.edit(agent, file);
            }
            if number > 0 {
                pen.edit(agent, file);
            }
            pen.ran(agent, command, output, 1);
        }
    }),
    ("one_line_without_an_exit_code", |pen| {
        let [agent] = pen.agents();
        pen.client = "gemini";
        pen.start(agent);
        for _ in 0..pen.dice.from(3, 7) {
            let took = pen.dice.from(2, 90);
            pen.ran(
                agent,
                "python -m timeit 'total()'",
                &format!("30 loops, best of 3: {took} msec per loop\n"),
                0,
            );
        }
    }),
    ("refactoring", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let (command, output) = PASSES[pen.dice.below(PASSES.len())];
        for _ in 0..20 {
            let file = pen.file();
            pen.edit(agent, file);
            pen.ran(agent, command, output, 0);
        }
    }),
    ("refactoring_through_a_pipe", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let (command, output) = PASSES[pen.dice.below(PASSES.len())];
        for _ in 0..8 {
            let file = pen.file();
            pen.edit(agent, file);
            pen.ran(agent, &format!("{command} 2>&1 | tail -3"), output, 0);
        }
    }),
    ("polls", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let (command, output) = POLLS[pen.dice.below(POLLS.len())];
        for _ in 0..pen.dice.from(4, 9) {
            pen.ran(agent, command, output, 0);
            pen.wait(20, 90);
        }
    }),
    ("waits_for_a_child", |pen| {
        let [agent] = pen.agents();
        pen.client = "claude";
        pen.start(agent);
        let hook = pen.payload(
            agent,
            ["PostToolUse", "", "", ""],
            json!({ "tool_name": "Bash", "tool_input": { "command": "cargo build --release", "run_in_background": true },
                "tool_response": { "stdout": "running in the background" } }),
        );
        pen.step(agent, Some(hook), None, Value::Null);
        for _ in 0..5 {
            pen.ran(agent, "ls -la target/release", "total 0\n", 0);
            pen.wait(30, 60);
        }
    }),
    ("waits_for_a_run", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        pen.claim(agent, "src/db");
        pen.write(agent, "run", json!({ "claim": "C1", "profile": "unit", "argument": "all", "exit": 0, "took_s": 3000, "tree": "a" }));
        for _ in 0..5 {
            pen.ran(agent, "cat target/report.txt", "no report yet\n", 0);
        }
    }),
    ("only_twice", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        for _ in 0..2 {
            let (command, output) = CHECKS[2];
            pen.ran(agent, command, output, 1);
            pen.noise(agent);
        }
        let (command, output) = PASSES[1];
        pen.ran(agent, command, output, 0);
    }),
    ("answers_differ_between", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let (command, output) = CHECKS[1];
        for round in 0..5 {
            pen.count = 1 + round % 2;
            pen.ran(agent, command, output, 1);
        }
    }),
    ("the_human_asks_again", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let (command, output) = CHECKS[pen.dice.below(CHECKS.len())];
        for _ in 0..4 {
            pen.ran(agent, command, output, 1);
            pen.stop(agent);
            pen.wait(60, 300);
            pen.prompt(agent, "try again");
        }
    }),
    ("a_few_equal_passes", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        let (command, output) = PASSES[pen.dice.below(PASSES.len())];
        for _ in 0..3 {
            pen.ran(agent, command, output, 0);
        }
    }),
    ("looks_between_edits", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        for _ in 0..6 {
            let (command, output) = LOOKS[1];
            pen.ran(agent, command, output, 0);
            let file = pen.file();
            pen.edit(agent, file);
        }
    }),
    ("different_edits_that_fail", |pen| {
        let [agent] = pen.agents();
        pen.client = "claude";
        pen.start(agent);
        for round in 0..4 {
            pen.failed_edit(agent, "src/cart/price.rs", &format!("old {round}"));
        }
    }),
    ("a_log_that_is_read_again", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        for _ in 0..4 {
            pen.ran(agent, "cat build/server.log", "error: not ready\n", 0);
        }
    }),
    ("a_file_about_errors", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        for _ in 0..4 {
            pen.ran(agent, "cat src/error.rs | head -40", "error: the pool is empty\n", 0);
            let file = pen.file();
            pen.edit(agent, file);
        }
    }),
    ("searches_that_find_nothing", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        for _ in 0..5 {
            let file = pen.file();
            pen.edit(agent, file);
            pen.ran(agent, "grep -rn TODO src", "", 1);
        }
    }),
    ("one_error_in_different_files", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        for (command, file) in [
            ("cargo check -p a", "a/src/lib.rs"),
            ("cargo check -p b", "b/src/main.rs"),
            ("cargo check -p c", "c/src/pool.rs"),
        ] {
            pen.ran(agent, command, &format!("error[E0308]: mismatched types\n  --> {file}:3:5\n"), 101);
            pen.edit(agent, file);
        }
    }),
    ("one_error_that_gets_less", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        for (left, command) in ["cargo check", "cargo build", "cargo test", "cargo clippy"].iter().enumerate()
        {
            pen.count = 9 - left;
            pen.ran(agent, command, CHECKS[5].1, 101);
            pen.edit(agent, "src/db/migrate.rs");
        }
    }),
    ("handed_over_with_progress", |pen| {
        let [one, other] = pen.agents();
        pen.task(one, &["src/cart"]);
        pen.claim(one, "src/cart");
        for (round, agent) in [one, other, one, other, one].iter().enumerate() {
            pen.write(agent, "claim_task", json!({ "task": "T1" }));
            pen.wait(60, 500);
            if round == 1 {
                pen.write(other, "support", json!({ "claim": "C1" }));
            }
            if round == 3 {
                pen.experiment(agent, Some("C1"), "cart", 0, "b");
            }
            pen.write(agent, "release_task", json!({ "task": "T1", "note": "next part is yours" }));
        }
        pen.write(one, "done_task", json!({ "task": "T1" }));
    }),
    ("handed_over_with_passing_tests", |pen| {
        let [one, other] = pen.agents();
        pen.start(one);
        pen.start(other);
        pen.task(one, &["src/cart"]);
        for agent in [one, other, one, other, one] {
            pen.write(agent, "claim_task", json!({ "task": "T1" }));
            pen.edit(agent, "src/cart/price.rs");
            pen.ran(agent, "cargo test -p cart", "test result: ok. 4 passed; 0 failed; finished in %N\n", 0);
            pen.write(agent, "release_task", json!({ "task": "T1" }));
        }
    }),
    ("handed_back_once", |pen| {
        let [one, other] = pen.agents();
        pen.task(one, &["src/cart"]);
        for agent in [one, other, one] {
            pen.write(agent, "claim_task", json!({ "task": "T1" }));
            pen.wait(60, 900);
            pen.write(agent, "release_task", json!({ "task": "T1" }));
        }
        pen.write(one, "claim_task", json!({ "task": "T1" }));
        pen.write(one, "done_task", json!({ "task": "T1" }));
    }),
    ("handed_over_on_many_days", |pen| {
        let [one, other] = pen.agents();
        pen.task(one, &["src/cart"]);
        for agent in [one, other, one, other, one] {
            pen.write(agent, "claim_task", json!({ "task": "T1" }));
            pen.write(agent, "release_task", json!({ "task": "T1" }));
            pen.wait(5_000, 9_000);
        }
    }),
    ("a_dispute_that_is_resolved", |pen| {
        let [one, other] = pen.agents();
        pen.task(one, &["src/db"]);
        pen.claim(one, "src/db");
        pen.write(one, "claim_task", json!({ "task": "T1" }));
        pen.challenge(other, "C1");
        pen.experiment(one, Some("C1"), "pool", 1, "a");
        pen.experiment(other, Some("C1"), "pool", 0, "b");
        pen.write(one, "block_task", json!({ "task": "T1", "blocker": "the database is down" }));
        pen.write(one, "done_task", json!({ "task": "T1" }));
    }),
    ("disputes_about_different_places", |pen| {
        let [one, other] = pen.agents();
        pen.task(one, &["web/src"]);
        pen.claim(one, "src/db");
        pen.claim(one, "src/cart");
        pen.write(one, "claim_task", json!({ "task": "T1" }));
        pen.challenge(other, "C1");
        pen.experiment(one, Some("C2"), "pool", 1, "a");
        pen.write(one, "block_task", json!({ "task": "T1", "blocker": "the designs are missing" }));
        pen.write(one, "done_task", json!({ "task": "T1" }));
    }),
    ("one_agent_against_itself", |pen| {
        let [one, other] = pen.agents();
        pen.task(one, &["src/db"]);
        pen.claim(other, "src/db");
        pen.write(one, "claim_task", json!({ "task": "T1" }));
        pen.challenge(one, "C1");
        pen.experiment(one, Some("C1"), "pool", 1, "a");
        pen.write(one, "block_task", json!({ "task": "T1", "blocker": "the pool is broken" }));
        pen.write(one, "done_task", json!({ "task": "T1" }));
    }),
    ("a_dispute_that_gets_milder", |pen| {
        let [one, other] = pen.agents();
        pen.task(one, &["src/db"]);
        pen.claim(one, "src/db");
        pen.write(one, "claim_task", json!({ "task": "T1" }));
        pen.write(one, "block_task", json!({ "task": "T1", "blocker": "we do not agree" }));
        pen.write(other, "guard_escalated", json!({ "scope": "src/db", "about": "it" }));
        pen.experiment(one, Some("C1"), "pool", 1, "a");
        pen.challenge(other, "C1");
        pen.write(one, "done_task", json!({ "task": "T1" }));
    }),
    ("a_long_build", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        pen.task(agent, &["src/cart"]);
        pen.write(agent, "claim_task", json!({ "task": "T1" }));
        pen.before(agent, "cargo build --release");
        pen.wait(2_400, 5_000);
        pen.after(agent, "cargo build --release", "    Finished `release` profile in %N\n", 0);
        pen.write(agent, "done_task", json!({ "task": "T1" }));
    }),
    ("waits_for_its_human", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        pen.task(agent, &["src/cart"]);
        pen.write(agent, "claim_task", json!({ "task": "T1" }));
        pen.edit(agent, "src/cart/price.rs");
        pen.stop(agent);
        pen.wait(2_400, 9_000);
        pen.prompt(agent, "go on");
        pen.write(agent, "done_task", json!({ "task": "T1" }));
    }),
    ("a_finished_worker", |pen| {
        let [agent, other] = pen.agents();
        pen.start(agent);
        pen.task(agent, &["src/cart"]);
        pen.write(agent, "claim_task", json!({ "task": "T1" }));
        let does = *pen.dice.pick(&["done_task", "release_task", "fail_task"]);
        pen.write(agent, does, json!({ "task": "T1" }));
        pen.wait(2_400, 9_000);
        pen.read(other);
    }),
    ("a_long_run", |pen| {
        let [agent, other] = pen.agents();
        pen.task(agent, &["src/cart"]);
        pen.claim(agent, "src/cart");
        pen.write(agent, "claim_task", json!({ "task": "T1" }));
        pen.write(agent, "run", json!({ "claim": "C1", "profile": "unit", "argument": "all", "exit": 0, "took_s": 5_000, "tree": "a" }));
        pen.wait(4_000, 4_500);
        pen.read(other);
        pen.write(agent, "done_task", json!({ "task": "T1" }));
    }),
    ("a_pause_in_the_work", |pen| {
        let [agent] = pen.agents();
        pen.start(agent);
        pen.task(agent, &["src/cart"]);
        pen.write(agent, "claim_task", json!({ "task": "T1" }));
        pen.edit(agent, "src/cart/price.rs");
        pen.wait(900, 1_500);
        pen.edit(agent, "src/cart/price.rs");
        pen.write(agent, "done_task", json!({ "task": "T1" }));
    }),
    ("a_session_that_ended", |pen| {
        let [agent, other] = pen.agents();
        pen.start(agent);
        pen.task(agent, &["src/cart"]);
        pen.write(agent, "claim_task", json!({ "task": "T1" }));
        let hook =
            pen.payload(agent, ["SessionEnd", "SessionEnd", "SessionEnd", ""], json!({ "reason": "exit" }));
        pen.step(agent, Some(hook), None, Value::Null);
        pen.wait(2_400, 9_000);
        pen.read(other);
    }),
    ("two_contradictions", |pen| {
        let [one, two, three] = pen.agents();
        pen.claim(one, "src/cart");
        pen.claim(two, "src/cart");
        pen.challenge(two, "C1");
        pen.challenge(three, "C2");
    }),
    ("one_claim_that_many_challenge", |pen| {
        let [one, two, three, four] = pen.agents();
        pen.claim(one, "src/cart");
        for challenger in [two, three, four] {
            pen.challenge(challenger, "C1");
        }
    }),
    ("contradictions_everywhere", |pen| {
        let agents: [&str; 6] = pen.agents();
        for (at, place) in ["src/cart", "web/src", "tag:auth"].iter().enumerate() {
            pen.claim(agents[at], place);
            pen.challenge(agents[at + 3], &format!("C{}", at + 1));
        }
    }),
    ("contradictions_that_end", |pen| {
        let [one, two] = pen.agents();
        for claim in ["C1", "C2", "C3", "C4"] {
            pen.claim(one, "src/cart");
            pen.challenge(two, claim);
            pen.write(two, "support", json!({ "claim": claim }));
        }
    }),
    ("another_tree", |pen| {
        let [agent] = pen.agents();
        pen.claim(agent, "src/db");
        for (tree, exit) in [("a", 1), ("b", 0), ("c", 1), ("d", 0)] {
            pen.experiment(agent, Some("C1"), "test_pool", exit, tree);
        }
    }),
    ("a_broken_machine", |pen| {
        let [agent] = pen.agents();
        pen.claim(agent, "src/db");
        pen.experiment(agent, None, "test_pool", 0, "a");
        for test in ["test_a", "test_b", "test_c", "test_d", "test_e", "test_pool"] {
            pen.experiment(agent, None, test, 1, "a");
        }
    }),
];

/// Traces of every form with this seed.
pub(crate) fn traces(seed: u64) -> Vec<Trace> {
    let forms = POSITIVE.iter().chain(NEGATIVE);
    forms.map(|(name, form)| trace(name, *form, seed)).collect()
}

pub(crate) fn trace(name: &str, form: fn(&mut Pen), seed: u64) -> Trace {
    let salt = name.bytes().fold(0_u64, |salt, byte| salt.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut pen = Pen::new(seed.wrapping_mul(0x1_0001).wrapping_add(salt));
    form(&mut pen);
    pen.done(name, seed)
}
