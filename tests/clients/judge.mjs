// Says what of a run of a client is as it should be; exits 1 when anything is not.
//   node judge.mjs RUN AGENT CLIENT STATEMENT PROMPT DEAD-END HOW
// RUN holds hooks/*/in and out, model/*.json and, as hm says it, tools, log, session and doctor.json; DEAD-END is the receipt of the claim
// that the model's command runs into, HOW is new or resumed.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [run, agent, client, statement, prompt, receipt, how] = process.argv.slice(2);
const json = (...path) => JSON.parse(readFileSync(join(run, ...path), "utf8"));

/** The least a pack must have for "uncut" to mean anything: clients cut at 10,000. */
const FULL = 9_000;

let failed = false;
function check(holds, what, otherwise) {
    console.log(holds ? `  ok      ${what}` : `  FAILED  ${what}: ${otherwise}`);
    failed ||= !holds;
}

function strings(value) {
    if (typeof value === "string") return [value];
    return value && typeof value === "object" ? Object.values(value).flatMap(strings) : [];
}

// A client that leaves does not wait for every hook: what was told whole has an answer, be it empty.
const calls = readdirSync(join(run, "hooks")).map((call) => join("hooks", call));
const told_whole = calls.filter((call) => existsSync(join(run, call, "out")));
// `hm doctor` rehearses hooks in a session of this name.
const of_client = told_whole.filter((call) => !readFileSync(join(run, call, "in"), "utf8").includes('"hm-doctor"'));
const text = (call, name) => readFileSync(join(run, call, name), "utf8").trim();
const hooks = of_client.filter((call) => text(call, "named") === client);
const others = of_client.filter((call) => !hooks.includes(call));
const loud = others.filter((call) => text(call, "out"));
check(!loud.length, `${others.length} hooks in settings of other clients are silent`, loud.join(", "));
/** The event of a hook; Copilot CLI names none. */
function event(call) {
    const given = json(call, "in");
    if (given.hook_event_name) return given.hook_event_name;
    if (given.toolName) return given.toolResult ? "postToolUse" : given.error ? "postToolUseFailure" : "preToolUse";
    const fields = { prompt: "userPromptSubmitted", source: "sessionStart", stop_hook_active: "agentStop", reason: "sessionEnd" };
    return fields[Object.keys(fields).find((field) => field in given)];
}
const start = hooks.find((call) => ["SessionStart", "sessionStart", "session.start"].includes(event(call)));
check(start, "the session start hook is run", "it was not");
if (!start) process.exit(1);
/** What a hook had to say. */
function told(call) {
    const answer = readFileSync(join(run, call, "out"), "utf8");
    const said = answer.trim() ? JSON.parse(answer) : {};
    return said.hookSpecificOutput?.additionalContext ?? said.additionalContext;
}
const { sessionId, session_id = sessionId, source } = json(start, "in");
console.log(`          ${source}, session ${session_id}`);

const context = told(start)?.trim() ?? "";
const [banner] = context.split("\n");
// Between them stands the line that names the verbs of a pane.
const pack = context.slice(Math.max(context.indexOf("<hivemind_state "), 0));
const whole = banner.startsWith(`hivemind: you are ${agent}`) && pack.startsWith("<hivemind_state ");
const size = `${context.length} characters, ${Buffer.byteLength(context)} bytes`;
const full = context.length >= FULL && pack.endsWith("</hivemind_state>");
check(whole && full, `banner and a full pack are answered: ${size}`, context.slice(0, 200));

const requests = readdirSync(join(run, "model")).filter((file) => file.endsWith(".json"));
const bodies = requests.sort().map((file) => json("model", file));
const first = bodies.length ? strings(bodies[0]) : [];
// Gemini CLI writes the text of a hook as text of its own markup.
const shapes = { "as it is": context, "with < and > escaped": context.replaceAll("<", "&lt;").replaceAll(">", "&gt;") };
const shape = Object.keys(shapes).find((shape) => first.some((text) => text.includes(shapes[shape])));
check(shape, `the model's first request holds it whole${shape ? `, ${shape}` : ""}`, "it is cut, or missing");

const listed = json("tools.json").result.tools.map(({ name }) => name).sort();
const seen = strings(bodies).flatMap((text) => [...text.matchAll(/\b(?:mcp__?)?hivemind(?:-|__?)([a-z_]+)/g)]);
const names = [...new Set(seen.map(([, name]) => name))].filter((name) => listed.includes(name)).sort();
check(names.length === listed.length, `the model is told of all ${listed.length} tools`, names.join(", ") || "none");

const reads = seen.some(([, name]) => name === "read_memory");
check(reads === (client === "copilot"), `the tool that reads is ${reads ? "" : "not "}offered`, "that is wrong");

const claims = json("log.json").events.filter(({ type }) => type === "claim.created");
const claim = claims.find(({ payload }) => payload.statement === statement);
check(claim, "the claim the model made is in the ledger", "it is not");
check(claim?.agent === agent, `it is ${agent}'s`, `it is ${claim?.agent}'s`);
check(claim?.session === session_id, "it is filed under the session of the hook", claim?.session);

const { name } = JSON.parse(readFileSync(receipt, "utf8"));
const named = new RegExp(`\\b${name}\\b`);
const about = (call) => /tool/i.test(event(call)) && named.test(told(call) ?? "");
const warnings = hooks.filter(about);
const moments = warnings.map(event).join(", ");
// Once a turn, and each of the two runs is one.
check(warnings.length === 1, `the dead end is told once, by ${moments}`, `it is told ${warnings.length} times`);
if (how === "new") {
    const warning = warnings.length ? told(warnings[0]) : name;
    const heard = bodies.findIndex((body) => strings(body).some((text) => text.includes(warning)));
    check(heard > 0, `the model is warned in request ${heard + 1} of ${bodies.length}`, "it hears nothing");
}

// What the model says last is in a later request only if something made the turn go on: the claim without evidence must not.
const ends = (body) => strings(body).filter((text) => text === "All of the script is done.").length;
const more = bodies.filter((body) => ends(body) > ends(bodies[0])).length;
check(more === 0, `the turn ends with the model's last word, after ${bodies.length} requests`, `${more} requests follow it`);

const { session, dialogue } = json("session.json") ?? {};
check(session?.session === session_id, "the session is in the ledger", "it is not");
check(session?.client === client && session?.agent === agent, `it is ${agent}'s in ${client}`, JSON.stringify(session));
// Qwen Code runs no hook at the end of a headless session.
const is_over = session?.ended_at || client === "qwen";
check(session?.started_at && is_over, "it began and ended", JSON.stringify(session));
// `opencode run` puts a prompt of several words into quotes.
const prompts = [prompt, JSON.stringify(prompt)];
const said = dialogue?.filter(({ role, text }) => role === "user" && prompts.includes(text)) ?? [];
check(said.length === 1, "the prompt is in its dialogue, once and as it was", JSON.stringify(dialogue));

const { checks } = json("doctor.json");
const ours = checks.filter(({ about }) => about.startsWith(`${client} `));
// Where Copilot CLI runs, Claude Code is configured too, and not trusted.
const faults = checks.filter(({ verdict, about }) => verdict === "fault" && !(client === "copilot" && about.startsWith("claude ")));
check(ours.length > 3 && !faults.length, `hm doctor looks at ${ours.length} things and finds no fault`, JSON.stringify(faults));
const fired = ours.find(({ about }) => about.endsWith("last fired"))?.data ?? {};
const events = [...new Set(hooks.map(event))];
const unseen = events.filter((event) => !fired[event]);
check(events.length > 3 && !unseen.length, `it knows of all ${events.length} events that fired`, unseen.join(", "));
const foreign = checks.filter(({ about }) => about.endsWith("last fired") && !ours.some((check) => check.about === about));
const mistaken = foreign.filter(({ data }) => Object.values(data ?? {}).some((at) => at));
check(!mistaken.length, "and of no event of another client", JSON.stringify(mistaken));
process.exit(failed ? 1 : 0);
