// Says what of a run of a client is as it should be; exits 1 when anything is not.
//   node judge.mjs RUN AGENT STATEMENT
// RUN holds hooks/*/in and out, model/*.json, tools.json and log.json.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [run, agent, statement] = process.argv.slice(2);
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
const hooks = calls.filter((call) => existsSync(join(run, call, "out")));
const start = hooks.find((call) => json(call, "in").hook_event_name === "SessionStart");
check(start, "the session start hook is run", "it was not");
if (!start) process.exit(1);
const { session_id, source } = json(start, "in");
console.log(`          ${source}, session ${session_id}`);

const pack = json(start, "out").hookSpecificOutput.additionalContext.trim();
const whole = pack.startsWith("<hivemind_state ") && pack.endsWith("</hivemind_state>") && pack.length >= FULL;
check(whole, `a full pack is answered: ${pack.length} characters, ${Buffer.byteLength(pack)} bytes`, pack.slice(0, 200));

const requests = readdirSync(join(run, "model")).filter((file) => file.endsWith(".json"));
const bodies = requests.sort().map((file) => json("model", file));
const first = bodies.length ? strings(bodies[0]) : [];
// Gemini CLI writes the text of a hook as text of its own markup.
const shapes = { "as it is": pack, "with < and > escaped": pack.replaceAll("<", "&lt;").replaceAll(">", "&gt;") };
const shape = Object.keys(shapes).find((shape) => first.some((text) => text.includes(shapes[shape])));
check(shape, `the model's first request holds it whole${shape ? `, ${shape}` : ""}`, "it is cut, or missing");

const listed = json("tools.json").result.tools.map(({ name }) => name).sort();
const seen = strings(bodies).flatMap((text) => [...text.matchAll(/\bmcp__?hivemind__?([a-z_]+)/g)]);
const names = [...new Set(seen.map(([, name]) => name))].filter((name) => listed.includes(name)).sort();
check(names.length === listed.length, `the model is told of all ${listed.length} tools`, names.join(", ") || "none");

const events = json("log.json").events.filter(({ type }) => type === "claim.created");
const claim = events.find(({ payload }) => payload.statement === statement);
check(claim, "the claim the model made is in the ledger", "it is not");
check(claim?.agent === agent, `it is ${agent}'s`, `it is ${claim?.agent}'s`);
check(claim?.session === session_id, "it is filed under the session of the hook", claim?.session);
process.exit(failed ? 1 : 0);
