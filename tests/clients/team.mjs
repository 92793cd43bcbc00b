// The story of a team: two Claude Code in two linked work trees, one Codex and one Gemini CLI, and nothing that says which
// agent is which. Says what is as it should be; exits 1 when anything is not.
//   node team.mjs SCRATCH TOOLS
// SCRATCH is an empty directory with `home/`, the HOME of the run; TOOLS is where npm put the clients. What is looked at is
// what reached the models, what `hm` reads, and the ledger.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { learns } from "./learns.mjs";
import { claude, codex, deltas, gemini, texts } from "./live.mjs";

const [scratch, tools] = process.argv.slice(2);
const home = join(scratch, "home");
const [work, one, two] = ["work", "one", "two"].map((name) => join(scratch, name));
const env = process.env;
const kept = join(scratch, "models");

/** How long something that another process does may take on a busy machine. */
const PATIENCE_MS = 120_000;
/** Turns in which nothing is new. */
const QUIET_TURNS = 10;
/** Prompts in which what had no room before may still be told. */
const MAX_REST = 6;
/** More claims than a pack can hold, none of them about what the others are about. */
const OTHERS = 60;

let failed = false;
function check(holds, what, seen) {
    const why = () => (typeof seen === "string" ? seen : JSON.stringify(seen));
    console.log(holds ? `  ok      ${what}` : `  FAILED  ${what}: ${why()}`);
    failed ||= !holds;
}
function chapter(title) {
    console.log(title);
}

function run(program, ...words) {
    return execFileSync(program, words, { cwd: work, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}
function write(path, text) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof text === "string" ? text : JSON.stringify(text));
}
function hm(...words) {
    return JSON.parse(run("hm", ...words, "--json"));
}
/** The events of a type, the oldest first. */
function events(type) {
    return hm("log", "--type", type, "--limit", "500").events;
}
/** Waits until something is there. */
async function eventually(what) {
    for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(200)) {
        const found = await what();
        if (found || Date.now() > deadline) return found;
    }
}
function gate() {
    const it = {};
    it.opened = new Promise((open) => (it.open = open));
    return it;
}

// --- how each client's model calls a tool of hm, and a command of the shell --------------------------------------

const of_claude = { hm: (tool, given) => ({ tool, arguments: given }), shell: (command) => ({ tool: "Bash", arguments: { command } }) };
const of_codex = {
    hm: (tool, given) => ({ tool: "exec", arguments: `text(await tools.mcp__hivemind__${tool}(${JSON.stringify(given)}))` }),
    shell: (cmd) => ({ tool: "exec", arguments: `text(await tools.exec_command(${JSON.stringify({ cmd })}))` }),
};

// --- the repository, and what each client needs besides what `hm init` writes ------------------------------------

function repository() {
    write(join(work, "package.json"), { name: "shop", private: true, type: "module", scripts: { test: "node --test" } });
    write(join(work, "src/net/pool.mjs"), "export const MOST = 20;\n");
    write(join(work, "src/net/pool.test.mjs"), `import assert from "node:assert";\nimport { test } from "node:test";
import { MOST } from "./pool.mjs";\ntest("the pool is bounded", () => assert.equal(MOST, 20));\n`);
    write(join(work, "src/auth/login.mjs"), "export const login = () => {};\n");
    write(join(work, "docs/capacity.md"), "# Capacity\n");
    run("git", "init", "--quiet", "--initial-branch=main");
    run("hm", "init", "--yes");
    run("git", "add", "--all");
    run("git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--message", "a shop");
    run("git", "worktree", "add", "--quiet", one);
    run("git", "worktree", "add", "--quiet", two);
}

/** What a person answers each client once: that it may trust the project, and use what it finds there. */
function trust() {
    const trees = [work, one, two];
    const trusted = (value) => Object.fromEntries(trees.map((tree) => [tree, value]));
    write(join(home, ".claude.json"), { hasCompletedOnboarding: true, projects: trusted({ hasTrustDialogAccepted: true }) });
    for (const tree of [one, two]) {
        const permissions = { allow: ["mcp__hivemind", "Bash"] };
        write(join(tree, ".claude/settings.local.json"), { enableAllProjectMcpServers: true, permissions });
    }
    const settings = {
        security: { auth: { selectedType: "gemini-api-key" } },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false },
    };
    write(join(home, ".gemini/settings.json"), settings);
    write(join(home, ".gemini/trustedFolders.json"), trusted("TRUST_FOLDER"));
}

function configure_codex(url) {
    const toml = `model_provider = "script"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"
[analytics]
enabled = false
[model_providers.script]
name = "script"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "MODEL_KEY"
[projects."${work}"]
trust_level = "trusted"
`;
    write(join(home, ".codex/config.toml"), toml);
    run("node", join(import.meta.dirname, "trust.mjs"), work);
}

/** What the three clients read of what `hm init` wrote. */
const CONFIGURED = [".mcp.json", ".claude/settings.json", ".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json"];

// --- what is said ------------------------------------------------------------------------------------------------

const POOL = "the pool opens at most 20 connections at a time";
const DOUBT = "the load test counted 24";
const BUG = "login accepts an expired token when the clock of the server is behind";
const DEAD_END = "bundling with the old minifier drops the polyfills";
const INTENT = "write down how many connections a pool opens under load";
const OTHER = "answers within $((n * 7)) ms and logs to a file of its own";

/** An element of a text of ours, by what it says: its name, its attributes, and the text itself. */
function element(text, says) {
    const found = [...text.matchAll(/<(\w+) ([^<>]*)>([^<]*)(?=<)/g)].find(([, , , inner]) => inner.includes(says));
    return found && { name: found[1], id: found[2].match(/\b(?:id|claim)="([^"]*)"/)?.[1], line: found[0] };
}
/** The first item of a delta, and the section it stands in. */
function first_item(delta) {
    const [, section, line] = delta.match(/^<hivemind_delta [^<>]*>\s*<(\w+)[^<>]*>\s*(<[^\n]*)/) ?? [];
    return { section, line };
}

const panes = [];
const opened = async (pane) => {
    panes.push(await pane);
    return panes.at(-1);
};

async function story() {
    chapter("one repository, four panes, nothing pinned");
    repository();
    trust();
    const shown = CONFIGURED.map((file) => run("git", "show", `HEAD:${file}`)).join("\n");
    const hooks = ["claude", "codex", "gemini"].filter((client) => shown.includes(`hm hook ${client}`));
    check(hooks.length === 3, "hm init --yes configures the three clients", hooks);
    // Codex hands on such variables, where the pane has them.
    const pinned = [...shown.matchAll(/.*(HM_(AGENT|SESSION|TASK)"?\s*[:=]|"--agent).*/g), ...Object.keys(env).filter((name) => /^HM_(AGENT|SESSION|TASK|DIR)$/.test(name))];
    check(!pinned.length, "nothing in their settings or in the environment says who is who", pinned);

    // Its first call waits for the other pane, so that this one hears of the claim with its next prompt.
    const both_are_there = gate();
    const first = await opened(claude("claude 1", { cwd: one, env, kept }));
    const claiming = first.turn("Look at the pool", [
        async () => {
            await both_are_there.opened;
            return of_claude.hm("create_claim", { statement: POOL, claim_type: "fact", scopes: ["src/net/pool.mjs"] });
        },
    ]);
    await Promise.race([claiming, eventually(() => events("session.started").length >= 1)]);
    const second = await opened(claude("claude 2", { cwd: two, env, kept }));
    const start = await second.turn("Get ready");
    both_are_there.open();
    await claiming;
    const claim = events("claim.created").find(({ payload }) => payload.statement === POOL);
    const tools_used = first.model.requests.at(-1).messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])).filter(({ type }) => type === "tool_use");
    check(claim && tools_used.length === 1, "Claude 1 claims with its first call", tools_used);

    chapter("Claude 2 hears of it and challenges it");
    let heard;
    const challenged = await second.turn("Go on", [
        (request) => {
            heard = element(deltas(request).at(-1) ?? "", POOL);
            return of_claude.hm("challenge", { claim_id: heard?.id ?? "", reason: DOUBT });
        },
    ]);
    const before = texts(start.requests).join("\n").includes(POOL);
    check(heard && !before, "its next prompt carries the claim, in words", challenged.deltas.join("\n") || "there is no delta");
    const doubt = events("position.taken").find(({ payload }) => payload.position === "challenge");
    check(doubt && doubt.session !== claim?.session, "it challenges under the name it was told", doubt);
    const status = () => hm("claim", "show", claim?.payload.claim_id ?? "C1").status;
    check(status() === "contested", "the claim is contested", status());

    chapter("Codex settles it");
    const third = await opened(codex("codex", { cwd: work, env, kept, configure: configure_codex }));
    let asked;
    const settling = await third.turn("Settle what is open", [
        (request) => {
            const pack = texts(request).find((text) => text.includes("<hivemind_state ")) ?? "";
            asked = pack.match(/<attention [\s\S]*?<\/attention>/)?.[0] ?? "";
            const claim_id = asked.match(/\bC\d+\b/)?.[0] ?? "";
            return of_codex.hm("run_experiment", { profile: "npm-test", claim_id, blocking: true, wait: true });
        },
        of_codex.hm("add_task", { title: "mend the login", scopes: ["src/auth"] }),
        of_codex.hm("claim_task", { task_id: "T1", file_locks: ["src/auth/login.mjs"] }),
    ]);
    check(asked?.includes(POOL) && asked.includes(DOUBT), "its start pack shows both sides", asked || settling.requests[0]);
    // Its client may end the turn before the run ends.
    await eventually(() => events("experiment.completed").length === events("experiment.queued").length);
    const settled = events("claim.status_changed").find(({ payload }) => payload.to === "confirmed");
    const ran = events("experiment.queued")[0];
    check(settled?.payload.claim_id === claim?.payload.claim_id && `${settled?.payload.reason}`.startsWith("proof:"), "a profile that covers its file proves the claim", events("experiment.completed"));
    check(ran && ran.session !== claim?.session && ran.session !== doubt?.session, "the run is asked for by a third session", ran);
    check(status() === "confirmed", "the claim is confirmed", status());

    chapter("a bug in a file that Codex holds, and a dead end that Codex runs into");
    const more = `n=0; while [ $n -lt ${OTHERS} ]; do n=$((n + 1)); hm claim create "part $n ${OTHER}" --scope "src/part-$n" >/dev/null; done`;
    await second.turn("Write down what you found", [
        of_claude.shell(more),
        of_claude.hm("create_claim", { statement: BUG, claim_type: "fact", scopes: ["src/auth/login.mjs"] }),
    ]);
    const made = events("claim.created").filter(({ payload }) => payload.statement.startsWith("part "));
    check(made.length === OTHERS, `${OTHERS} other claims are made before it, in the shell of Claude 2`, made.length);

    const told = gate();
    const working = third.turn("Go on with the login", [
        async () => {
            await told.opened;
            return of_codex.shell("cd . && npm  run bundle 2>&1 | tail -3");
        },
    ]);
    const dead_end = { statement: DEAD_END, claim_type: "negative", scopes: ["tag:build"], trigger: { commands: ["npm run bundle"] } };
    await eventually(() => third.model.requests.some((request) => texts(request).includes("Go on with the login")));
    await first.turn("Go on", [
        of_claude.hm("create_claim", dead_end),
        of_claude.hm("add_task", { title: "the chapter on capacity", scopes: ["docs/capacity.md"] }),
        of_claude.hm("declare_intent", { intent: INTENT, team: true, task_ids: ["T2"] }),
    ]);
    told.open();
    const worked = await working;
    const item = first_item(worked.deltas[0] ?? "");
    check(item.section === "touches_your_work" && item.line.includes(BUG), "the bug is the first item of its delta", worked.deltas[0] ?? "there is no delta");
    const [unwarned, ...later] = worked.requests.map((request) => texts(request).filter((text) => text.includes(DEAD_END)));
    check(unwarned?.length === 0 && later.at(0)?.length === 1, "the dead end is told in words when Codex runs the command, and not before", [unwarned, ...later]);
    const negative = events("claim.created").find(({ payload }) => payload.statement === DEAD_END);
    const fired = events("guard.fired").find(({ payload }) => JSON.stringify(payload).includes(negative?.payload.claim_id));
    const command = events("command.ran").find(({ payload }) => payload.command.includes("run bundle"));
    check(fired && command && fired.seq < command.seq && fired.session === command.session, "it is told before the command runs", [fired, command]);
    const trees = [negative, command].map((event) => event && hm("session", "show", event.session).session.worktree);
    check(negative?.session === claim?.session && trees[0] === "one" && !trees[1], "it is Claude 1's, of another work tree", trees);

    chapter("Gemini starts with what its intent is about");
    const started = events("session.started").length;
    const ready = () => eventually(() => events("session.started").length > started);
    const fourth = await opened(gemini("gemini", { cwd: work, env, kept, tools, ready }));
    const begun = await fourth.turn("Begin");
    const pack = texts(begun.requests[0]).find((text) => text.includes("<hivemind_state ")) ?? "";
    const held = element(pack, POOL);
    check(held?.name === "claim" && /status="confirmed"/.test(held.line), "its start pack holds the claim, confirmed", pack || "there is no pack");
    const task = pack.match(/<task [^>]*>the chapter on capacity</);
    check(pack.includes(`intent="${INTENT}"`) && task, "the intent is about another file", pack);
    const left_out = Number(pack.match(/budget_dropped="(\d+)"/)?.[1] ?? 0);
    check(left_out > 0, `the pack had no room for ${left_out} other claims`, pack.slice(0, 400));

    chapter("four agents of one memory");
    const seats = events("agent.seated").map(({ payload }) => payload);
    const names = seats.map(({ agent }) => agent).sort();
    check(names.join() === "analyst,architect,claude-2,devops", "each pane has a seat of its own", seats);
    check(new Set(seats.map(({ session }) => session)).size === 4, "they are four sessions", seats);
    const by = { claim, doubt, ran, negative };
    const who = Object.fromEntries(Object.entries(by).map(([what, event]) => [what, event?.agent]));
    check(who.claim === "architect" && who.negative === "architect" && who.doubt === "claude-2" && who.ran === "devops", "what each did is filed under its seat", who);
    check(texts(begun.requests[0]).some((text) => text.includes("you are analyst")), "Gemini is told that it is the analyst", "it is not");
    const memories = [work, one, two].map((dir) => hm("status", "--dir", dir).memory);
    check(new Set(memories).size === 1, "the three work trees have one memory", memories);

    await learns({ chapter, check, eventually, events, hm, first, second, third, fourth, of_claude, of_codex });

    chapter(`${QUIET_TURNS} turns with nothing new`);
    for (const pane of panes) {
        let rest = 0;
        while ((await pane.turn("Anything else?")).deltas.length && rest < MAX_REST) rest += 1;
        check(rest < MAX_REST, `${pane.name} has heard all there is, ${rest} prompts later`, "news does not end");
    }
    const quiet = new Map(panes.map((pane) => [pane, []]));
    for (let turn = 1; turn <= QUIET_TURNS; turn += 1) {
        for (const pane of panes) quiet.get(pane).push(await pane.turn(`Nothing new, ${turn}`));
    }
    for (const [pane, turns] of quiet) {
        const requests = turns.map(({ requests }) => requests.length);
        const total = requests.reduce((sum, number) => sum + number, 0);
        check(total === QUIET_TURNS, `${pane.name} sends ${total} requests`, requests);
        const news = turns.flatMap(({ deltas }) => deltas);
        check(!news.length, `${pane.name} hears nothing`, news);
    }
}

try {
    await story();
} catch (error) {
    check(false, "the story comes to its end", error.stack + (error.stderr ?? ""));
}
for (const pane of panes) await pane.leave();
process.exit(failed ? 1 : 0);
