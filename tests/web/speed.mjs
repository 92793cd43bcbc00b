// The time that the server takes for each page of a large memory.
import { strict as assert } from "node:assert";
import { request } from "node:http";
import { PAGES, check } from "./check.mjs";
import { Agent, Workspace } from "./hm.mjs";

/** Requests of each page. */
const ROUNDS = 5;
/** The calls that an agent sends before it waits. */
const AT_ONCE = 128;
const WORDS = "pool timeout worker cache index queue retry lease socket parser migration schema token shard replica batch cursor buffer page lock thread signal header frame".split(" ");
/** One claim in twenty is a dead end, this one. */
const DEAD_END = 7;
const AGENTS = ["architect", "devops", "analyst", "frontend"];

export async function speed({ hm, scratch, claims, within }) {
    const workspace = Workspace.made(hm, scratch, "large");
    await check(`${claims} claims are made over MCP`, () => fill(workspace, claims));
    const pages = await workspace.pages();
    const { headers } = await asked(pages, new URL(pages.url).pathname + new URL(pages.url).search);
    const cookie = headers["set-cookie"][0].split(";")[0];
    const read = (path) => asked(pages, path, cookie);
    const more = [
        "/claims?q=pool+timeout", "/claims?status=contested&type=fact", "/claims?scope=src/area3", "/claim/C4", "/claim/C8", `/event/${claims}`,
        "/dead-ends?scope=src/area7", "/decisions?all=yes", "/disagreements?show=ended", "/ledger?after=0", `/ledger?before=${claims}`,
        `/claims?at=${claims}`, `/?at=${claims}`,
    ];
    await check(`every page of the large memory is served${within ? ` in ${within} ms` : ""}`, async () => {
        const slow = [];
        for (const path of [...PAGES, ...more]) {
            const took = [];
            for (let round = 0; round < ROUNDS; round += 1) {
                const from = performance.now();
                const answer = await read(path);
                took.push(performance.now() - from);
                assert.equal(answer.status, 200, path);
            }
            took.sort((one, other) => one - other);
            const median = took[Math.floor(ROUNDS / 2)];
            if (within && median > within) slow.push(`${path}: ${median.toFixed(0)} ms`);
            console.log(`        ${path.padEnd(34)} median ${median.toFixed(0).padStart(6)} ms, max ${took[ROUNDS - 1].toFixed(0).padStart(6)} ms`);
        }
        assert.equal(slow.length, 0, slow.join("\n"));
    });
    await check("each list is read to its end", async () => {
        const decisions = workspace.events("decision.recorded").length;
        const head = workspace.events("claim.created").at(-1).seq;
        const negative = Math.floor((claims - DEAD_END - 1) / 20) + 1;
        const all = [["/claims?status=all", claims + decisions], ["/dead-ends", negative], ["/decisions?all=yes", decisions], ["/ledger?after=0", head]];
        const found = [];
        for (const [path, least] of all) {
            const named = new Set();
            let next = path;
            while (next) {
                const { body } = await read(next);
                for (const [name] of body.matchAll(/(?<=href=")\/(claim|event)\/[^"?]+/g)) named.add(name);
                next = body.match(/rel="next" href="([^"]*)"/)?.[1].replaceAll("&amp;", "&");
            }
            if (named.size < least) found.push(`${path}: ${named.size} of ${least}`);
        }
        assert.equal(found.length, 0, found.join("\n"));
    });
    await pages.end();
}

function asked(pages, path, cookie) {
    return new Promise((resolve, reject) => {
        const sent = request({ host: "127.0.0.1", port: pages.port, path, headers: cookie ? { cookie } : {} }, (answer) => {
            const parts = [];
            answer.on("data", (part) => parts.push(part));
            answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts).toString() }));
        });
        sent.on("error", reject);
        sent.end();
    });
}

/** Claims in the words of a team, one in four supported, one in twenty challenged, one in twenty a dead end; decisions and tasks. */
async function fill(workspace, claims) {
    const from = performance.now();
    const agents = await Promise.all(AGENTS.map((name) => new Agent(workspace, name).open()));
    let drawn = 1;
    const word = () => {
        drawn = (Math.imul(drawn, 1_103_515_245) + 12_345) & 0x7fffffff;
        return WORDS[(drawn >> 8) % WORDS.length];
    };
    const some = (count) => Array.from({ length: count }, word).join(" ");
    for (let made = 0; made < claims; made += AT_ONCE) {
        const group = Array.from({ length: Math.min(AT_ONCE, claims - made) }, async (_, at) => {
            const index = made + at;
            const [owner, other] = [agents[index % 4], agents[(index + 1) % 4]];
            const letters = index.toString(36).replace(/\d/g, (digit) => "ghijklmnop"[digit]);
            const statement = `\`${letters}_${word()}\` in the ${some(3)} waits for the ${some(3)} when ${some(8)}; then the ${some(3)} fires`;
            const scopes = [`src/area${index % 50}/file${index % 2_000}.rs`, `tag:area${index % 50}`];
            if (index % 100 === 11) await owner.call("record_decision", { statement: `${statement}, so we keep it`, target: letters, rationale: some(6) });
            if (index % 100 === 12) await owner.call("add_task", { title: some(6), scopes: [scopes[0]], depends_on: index > 500 ? ["T1"] : undefined });
            const { claim_id } = await owner.call("create_claim", { statement, claim_type: index % 20 === DEAD_END ? "negative" : "fact", scopes });
            const reason = "measured again, see the run of this morning";
            if (index % 20 === 3) await other.call("challenge", { claim_id, reason });
            if (index % 4 === 1) await other.call("support", { claim_id, reason });
        });
        await Promise.all(group);
    }
    for (const agent of agents) agent.close();
    return `${((performance.now() - from) / 1000).toFixed(0)} s`;
}
