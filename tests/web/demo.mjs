// The pages of the demo: a human's questions, who may act, what the keyboard does, and what is left without JavaScript.
import { strict as assert } from "node:assert";
import { readdirSync } from "node:fs";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { PAGES, READ_AT, WIDTHS, broken, check, frame, has, sticking, watched, words } from "./check.mjs";
import { AS_OPERATOR, Agent, Pages, Workspace } from "./hm.mjs";

/** The time in which a claim over MCP is on an open page, in milliseconds. */
const LIVE_MS = 1_000;
/** The workspace in the directory of a demo. */
const ROOT = "shop";
/** One page of each kind beside the menu. */
const MORE = [
    "/claim/C1", "/claim/C3", "/run/R1", "/event/3", "/claims?at=20", "/claim/C1?at=20", "/?at=20", "/claims?q=pool", "/disagreements?show=ended",
    "/decisions?all=yes", "/ledger?verify=yes", "/ledger?after=0", "/ledger?before=30", "/claims?type=negative&status=all", "/plan?at=20",
    "/spaces?at=20", "/dead-ends?scope=src/db/pool.rs", "/told", "/nowhere", "/claims?at=99999",
];

export async function demo({ hm, scratch, browser, axe, pictures }) {
    const pages = await Pages.started(hm, [...AS_OPERATOR, "web", "--demo", "--no-open"]);
    const [story] = stories(scratch);
    const workspace = new Workspace(hm, join(scratch, "tmp", story, ROOT));
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const done = watched(context, pages.origin);
    try {
        const page = await context.newPage();
        const site = { pages, workspace, context, page, axe, browser, go: (path) => page.goto(pages.origin + path) };
        await check("the printed address opens the pages and leaves no token", () => enters(site));
        await questions(site);
        await accessible(site);
        await check("every page has one main part, titled tables, the menu and the slider", () => framed(site));
        await keyboard(site);
        await check("the slider shows the past, by the keyboard", () => slides(site));
        await check(`a claim over MCP is on the open page in ${LIVE_MS} ms`, () => lives(site));
        await check("a button acts, and the ledger has it", () => acts(site));
        await check("every page reads without JavaScript, and a button works", () => plain(site));
        await refused(site);
        await check("no dialog, no foreign request and no error in the browser", () => assert.deepEqual(done, []));
        await photos(site, pictures);
    } finally {
        await context.close();
        await pages.end();
    }
    await check("the workspace of the demo is removed", () => {
        assert.deepEqual(stories(scratch), []);
    });
}

/** The directories of demos that are there. */
function stories(scratch) {
    return readdirSync(join(scratch, "tmp")).filter((name) => name.startsWith("hivemind-demo-"));
}

async function enters({ page, pages, browser }) {
    await page.goto(pages.url);
    assert.equal(page.url(), `${pages.origin}/`);
    has(await words(page), "Now", "At work");
    assert.equal(await page.evaluate(() => document.cookie), "", "no script reads the cookie");
    const other = await browser.newContext();
    const late = await (await other.newPage()).goto(pages.url);
    assert.equal(late.status(), 401, "the address works once");
    await other.close();
}

/** Four questions, answered from what a human reads there. */
async function questions({ page, pages, workspace, go }) {
    const follow = (name) => page.getByRole("link", { name, exact: true }).first().click();
    await check("who disagrees about the pool size", async () => {
        await go("/");
        await follow("Disagreements");
        await follow("Ended");
        has(await words(page), "claude-2", "the pool test hangs with one", "architect", "is it the connections at all?");
    });
    await check("what proved it", async () => {
        await follow("Claims");
        await page.getByRole("row", { name: /each worker needs its own DB connection/ }).getByRole("link").first().click();
        has(await words(page), "(proved)", "What proved it", "pool-check", "sh check-pool.sh", "succeeded");
    });
    await check("what was believed before step 9", async () => {
        const { seq } = workspace.events("claim.superseded")[0];
        await follow("Ledger");
        await page.getByLabel("Time").fill(`#${seq - 2}`);
        await page.getByRole("button", { name: "Show", exact: true }).first().click();
        await follow("Claims");
        const past = await words(page);
        has(past, "one DB connection is enough for all", "contested", "You see the memory as it was at");
        assert.ok(!past.includes("each worker needs its own"), past);
        await follow("Back to now");
        const now = await words(page);
        has(now, "each worker needs its own");
        assert.ok(!now.includes("is enough for all"), now);
    });
    await check("what failed at that path", async () => {
        await follow("Dead ends");
        await page.getByLabel("At", { exact: true }).fill("src/db/pool.rs");
        await page.locator("form.filters").getByRole("button", { name: "Show" }).click();
        assert.equal(new URL(page.url()).searchParams.get("scope"), "src/db/pool.rs");
        has(await words(page), "sharing one DB connection between workers deadlocks", "fired 1, followed 1");
    });
}

async function accessible({ page, axe, go }) {
    for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        await check(`axe-core finds nothing serious, ${colorScheme}`, async () => {
            const found = [];
            for (const path of [...PAGES, ...MORE]) {
                await go(path);
                for (const line of await axe(page)) found.push(`${path}: ${line}`);
            }
            assert.equal(found.length, 0, found.join("\n"));
            return `${PAGES.length + MORE.length} pages`;
        });
    }
    await page.emulateMedia({ colorScheme: null });
    await check(`nothing sticks out at ${WIDTHS.join(" and ")} px`, async () => {
        const found = [];
        for (const path of [...PAGES, ...MORE]) {
            await go(path);
            for (const width of WIDTHS) for (const line of await sticking(page, width)) found.push(`${path} at ${width}: ${line}`);
        }
        await page.setViewportSize({ width: 1280, height: 900 });
        assert.equal(found.length, 0, found.join("\n"));
    });
    await check(`no short word of a table is broken at ${READ_AT.join(", ")} px`, async () => {
        const found = [];
        for (const path of [...PAGES, ...MORE]) {
            await go(path);
            for (const width of READ_AT) for (const word of await broken(page, width)) found.push(`${path} at ${width}: ${word}`);
        }
        await page.setViewportSize({ width: 1280, height: 900 });
        assert.equal(found.length, 0, found.join("\n"));
    });
}

async function framed({ page, go }) {
    const found = [];
    for (const path of [...PAGES, ...MORE]) {
        await go(path);
        for (const line of await frame(page)) found.push(`${path}: ${line}`);
    }
    assert.equal(found.length, 0, found.join("\n"));
    return `${PAGES.length + MORE.length} pages`;
}

/** Where the keyboard is: the element, whether its focus is seen, and whether it is in the window. */
function focus(page) {
    return page.evaluate(() => {
        const field = document.activeElement;
        const { left, top, width, height } = field.getBoundingClientRect();
        const { outlineStyle, outlineWidth } = getComputedStyle(field);
        return {
            name: field.outerHTML.slice(0, 120),
            what: field.className || field.id || field.tagName.toLowerCase(),
            nth: [...document.querySelectorAll("*")].indexOf(field),
            isMarked: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2,
            isInside: left >= 0 && top >= 0 && left < innerWidth && top < innerHeight && width > 0 && height > 0,
        };
    });
}

async function keyboard({ page, go }) {
    await check("the skip link is the first stop, and leads to the content", async () => {
        await go("/claims");
        await page.keyboard.press("Tab");
        const first = await focus(page);
        assert.deepEqual([first.what, first.isMarked, first.isInside], ["skip", true, true]);
        await page.keyboard.press("Enter");
        assert.equal((await focus(page)).what, "main");
        await page.keyboard.press("Tab");
        assert.ok(await page.evaluate(() => document.getElementById("main").contains(document.activeElement)));
    });
    await check("the focus is seen at every stop, in the order of the page", async () => {
        let stops = 0;
        for (const path of ["/", "/claim/C3", "/dead-ends", "/told?agent=devops", "/ledger", "/claims?at=20"]) {
            await go(path);
            let before = -1;
            for (;;) {
                await page.keyboard.press("Tab");
                const { name, what, nth, isMarked, isInside } = await focus(page);
                if (what === "body" || nth <= before) break;
                assert.ok(isMarked && isInside, `${path}: ${name}`);
                before = nth;
                stops += 1;
            }
            const last = await page.evaluate(() => {
                const all = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary")];
                return [...document.querySelectorAll("*")].indexOf(all.at(-1));
            });
            assert.ok(before >= last, `${path}: the last stop is element ${before} of ${last}`);
        }
        return `${stops} stops`;
    });
}

async function slides({ page, go }) {
    await go("/claims");
    await page.getByLabel("Event", { exact: true }).focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL(/at=1$/);
    has(await words(page), "You see the memory as it was at");
    assert.equal(await page.getByRole("row").count(), 0, "no claim stands at the first event");
    // The other pages are shown at that moment too.
    await page.getByRole("link", { name: "Decisions", exact: true }).click();
    assert.match(page.url(), /\/decisions\?at=1$/);
    await page.getByRole("link", { name: "Back to now" }).click();
    assert.match(page.url(), /\/decisions$/);
}

async function lives({ page, workspace, go }) {
    await go("/claims");
    await page.evaluate(() => (window.kept = true));
    await page.waitForTimeout(500); // until the stream of the page stands
    const statement = "the nightly copy of the pool takes two minutes";
    const agent = await new Agent(workspace, "analyst").open();
    await agent.call("create_claim", { statement, claim_type: "fact", scopes: ["src/db"] });
    const from = performance.now();
    agent.close();
    await page.getByText(statement).waitFor({ timeout: 10 * LIVE_MS });
    const took = Math.round(performance.now() - from);
    assert.ok(await page.evaluate(() => window.kept), "the page was loaded again");
    assert.ok(took < LIVE_MS, `it took ${took} ms`);
    return `${took} ms after the receipt`;
}

async function acts({ page, workspace, go }) {
    await go("/claims");
    await page.getByRole("row", { name: /the nightly copy/ }).getByRole("link").first().click();
    const form = page.locator("form.act", { hasText: "hm claim challenge" });
    // One click selects the whole command, to copy it.
    await form.locator(".command").click();
    assert.match(await page.evaluate(() => String(document.getSelection())), /^hm claim challenge C\d+/);
    await form.getByLabel("Reason").fill("it takes <b>four</b>");
    await form.getByRole("button").click();
    await page.getByText("committed at seq").waitFor();
    has(await words(page), "it takes <b>four</b>", "contested");
    const taken = workspace.events("position.taken").at(-1);
    assert.deepEqual([taken.agent, taken.payload.position, taken.payload.reason], ["operator", "challenge", "it takes <b>four</b>"]);
    return `event #${taken.seq}`;
}

async function plain({ browser, context, pages, workspace, go, page }) {
    const still = await browser.newContext({ javaScriptEnabled: false, storageState: await context.storageState() });
    try {
        const reader = await still.newPage();
        // Times pass between two readings: 59s become 1m.
        const settled = (text) => text.replace(/\d+[smhdw] ago/g, "0 ago").replace(/\d+/g, "0").replace(/\s+/g, " ");
        for (const path of [...PAGES, ...MORE]) {
            await go(path);
            await reader.goto(pages.origin + path);
            assert.equal(settled(await words(reader)), settled(await words(page)), path);
        }
        await reader.goto(`${pages.origin}/claims`);
        await reader.getByRole("row", { name: /the nightly copy/ }).getByRole("link").first().click();
        await reader.locator("form.act", { hasText: "hm claim deprecate" }).getByLabel("Reason").fill("it is gone");
        await reader.getByRole("button", { name: "deprecate" }).click();
        has(await words(reader), "committed at seq", "deprecated");
        has(JSON.stringify(workspace.events("claim.status_changed").at(-1)), "it is gone", "operator");
    } finally {
        await still.close();
    }
}

/** Answers a request that no browser of ours sends. */
function sent(pages, method, path, headers, body = "") {
    return new Promise((resolve, reject) => {
        const asked = request({ host: "127.0.0.1", port: pages.port, method, path, headers }, (answer) => {
            answer.resume();
            answer.on("end", () => resolve(answer.statusCode));
        });
        asked.on("error", reject);
        asked.end(body);
    });
}

async function refused({ page, pages, context, workspace, browser, go }) {
    await go("/claim/C1");
    const token = await page.locator("input[name=form]").first().inputValue();
    const events = () => JSON.parse(workspace.run(["log", "--json", "--limit", "1"])).events[0].seq;
    const head = events();
    // A page of another origin that has even learnt the token of the form.
    const form = `<form method=post action="${pages.origin}/act"><input name=form value=${token}><input name=do value=support>
        <input name=about value=C1><button>go</button></form>`;
    const foreign = createServer((_, answer) => answer.setHeader("content-type", "text/html").end(`${form}<iframe src="${pages.origin}/"></iframe>`));
    await new Promise((resolve) => foreign.listen(0, "127.0.0.1", resolve));
    const port = foreign.address().port;
    for (const [what, host, status] of [["another port", "127.0.0.1", 403], ["another site", "localhost", 401]]) {
        await check(`a form of ${what} is refused`, async () => {
            const evil = await browser.newContext({ storageState: await context.storageState() });
            const tab = await evil.newPage();
            await tab.goto(`http://${host}:${port}/`);
            assert.ok(!(await tab.frames()[1].evaluate(() => document.documentElement.innerText)).includes("At work"), "in a frame");
            const answered = tab.waitForResponse((answer) => answer.url().endsWith("/act"));
            await tab.getByRole("button").click();
            assert.equal((await answered).status(), status);
            await evil.close();
        });
    }
    foreign.close();
    await check("a form with another token is refused", async () => {
        await go("/claim/C1");
        await page.evaluate(() => document.querySelectorAll("input[name=form]").forEach((field) => (field.value = "a".repeat(64))));
        const answered = page.waitForResponse((answer) => answer.url().endsWith("/act"));
        await page.getByRole("button", { name: "support" }).click();
        assert.equal((await answered).status(), 403);
    });
    await check("another host name is refused", async () => {
        const evil = await browser.newContext();
        const answer = await (await evil.newPage()).goto(`http://evil.example:${pages.port}/`);
        assert.equal(answer.status(), 403);
        await evil.close();
        const [cookie] = await context.cookies();
        const headers = { cookie: `${cookie.name}=${cookie.value}`, host: `evil.example:${pages.port}` };
        assert.equal(await sent(pages, "GET", "/", headers), 403);
        assert.equal(await sent(pages, "GET", "/", { ...headers, host: `127.0.0.1:${pages.port}` }), 200);
        assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
    });
    await check("nothing acts by GET, and nothing refused was written", async () => {
        const answer = await page.request.get(`${pages.origin}/act?form=${token}&do=support&about=C1`);
        assert.equal(answer.status(), 404);
        assert.equal(events(), head);
    });
}

async function photos({ page, go }, pictures) {
    for (const [name, path] of [["now", "/"], ["claim", "/claim/C3"], ["dead-ends", "/dead-ends"]]) {
        await go(path);
        const options = pictures ? { path: join(pictures, `${name}.png`) } : {};
        await check(`a picture of ${path}`, async () => {
            const bytes = (await page.screenshot(options)).length;
            assert.ok(bytes > 10_000, `${bytes} bytes`);
            return pictures ? options.path : `${bytes} bytes, not kept`;
        });
    }
}
