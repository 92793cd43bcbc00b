// Says what of a run of a client is as it should be; exits 1 when anything is not.
//   node judge.mjs RUN AGENT CLIENT STATEMENT PROMPT DEAD-END
// RUN holds hooks/*/in and out, model/*.json and, as hm says it, tools, log, session and doctor.json; DEAD-END is the receipt of the claim
// that the model's command runs into.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [run, agent, client, statement, prompt, receipt] = process.argv.slice(2);
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
/** What a hook had to say. */
function told(call) {
    const answer = readFileSync(join(run, call, "out"), "utf8");
    return answer.trim() ? JSON.parse(answer).hookSpecificOutput?.additionalContext : undefined;
}
const { session_id, source } = json(start, "in");
console.log(`          ${source}, session ${session_id}`);

const context = told(start)?.trim() ?? "";
const [banner] = context.split("\n");
const pack = context.slice(banner.length + 1);
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
const seen = strings(bodies).flatMap((text) => [...text.matchAll(/\bmcp__?hivemind__?([a-z_]+)/g)]);
const names = [...new Set(seen.map(([, name]) => name))].filter((name) => listed.includes(name)).sort();
check(names.length === listed.length, `the model is told of all ${listed.length} tools`, names.join(", ") || "none");

const claims = json("log.json").events.filter(({ type }) => type === "claim.created");
const claim = claims.find(({ payload }) => payload.statement === statement);
check(claim, "the claim the model made is in the ledger", "it is not");
check(claim?.agent === agent, `it is ${agent}'s`, `it is ${claim?.agent}'s`);
check(claim?.session === session_id, "it is filed under the session of the hook", claim?.session);

const { claim_id } = JSON.parse(readFileSync(receipt, "utf8"));
const about = (call) => json(call, "in").tool_name && told(call)?.includes(claim_id);
const warnings = hooks.filter(about);
const moments = warnings.map((call) => json(call, "in").hook_event_name).join(", ");
check(warnings.length === 1, `the dead end is told once, by ${moments}`, `it is told ${warnings.length} times`);
const warning = warnings.length ? told(warnings[0]) : claim_id;
// A resumed conversation holds those of before.
const warned = (body) => strings(body).filter((text) => text.includes(warning)).length;
const heard = bodies.findIndex((body) => warned(body) > warned(bodies[0]));
check(heard > 0, `the model is warned in request ${heard + 1} of ${bodies.length}`, "it hears nothing");

// What the model says last is in a later request only if something made the turn go on: the claim without evidence must not.
const ends = (body) => strings(body).filter((text) => text === "All of the script is done.").length;
const more = bodies.filter((body) => ends(body) > ends(bodies[0])).length;
check(more === 0, `the turn ends with the model's last word, after ${bodies.length} requests`, `${more} requests follow it`);

const { session, dialogue } = json("session.json") ?? {};
check(session?.session === session_id, "the session is in the ledger", "it is not");
check(session?.client === client && session?.agent === agent, `it is ${agent}'s in ${client}`, JSON.stringify(session));
check(session?.started_at && session?.ended_at, "it began and ended", JSON.stringify(session));
const said = dialogue?.filter(({ role, text }) => role === "user" && text === prompt) ?? [];
check(said.length === 1, "the prompt is in its dialogue, once and as it was", JSON.stringify(dialogue));

const { checks } = json("doctor.json");
const ours = checks.filter(({ about }) => about.startsWith(`${client} `));
const faults = checks.filter(({ verdict }) => verdict === "fault");
check(ours.length > 3 && !faults.length, `hm doctor looks at ${ours.length} things and finds no fault`, JSON.stringify(faults));
const fired = ours.find(({ about }) => about.endsWith("last fired"))?.data ?? {};
const events = [...new Set(hooks.map((call) => json(call, "in").hook_event_name))];
const unseen = events.filter((event) => !fired[event]);
check(events.length > 3 && !unseen.length, `it knows of all ${events.length} events that fired`, unseen.join(", "));
process.exit(failed ? 1 : 0);
