// Hostile texts of agents in every place that the pages show, in a real browser.
import { strict as assert } from "node:assert";
import { PAGES, WIDTHS, check, sticking, watched } from "./check.mjs";
import { Agent, Workspace } from "./hm.mjs";
import { end, texts } from "./hostile.mjs";

/** How many claims carry a hostile text. */
const CLAIMS = 200;

export async function attack({ hm, scratch, browser, axe }) {
    const workspace = Workspace.made(hm, scratch, "hostile");
    const all = texts(CLAIMS);
    await fill(workspace, all);
    const pages = await workspace.pages();
    const context = await browser.newContext();
    const done = watched(context, pages.origin);
    const page = await context.newPage();
    await page.goto(pages.url);
    const asked = ["/claims?q=", "/claims?scope=", "/dead-ends?scope=", "/told?agent=", "/ledger?type=", "/claims?at=", "/claim/", "/event/", "/"];
    const addresses = all.slice(0, 25).flatMap((text) => asked.map((start) => start + encodeURIComponent(text.slice(0, 500))));
    const lists = [
        ...PAGES, "/ledger?after=0", "/ledger?before=200", "/claims?cursor=", "/claims?status=all&type=negative&owner=devops", "/decisions?all=yes",
        "/disagreements?show=weak", "/told?agent=devops&budget=100000", "/plan?at=900",
    ];
    const claims = all.map((_, at) => `/claim/C${at + 1}`);
    const events = all.slice(0, 25).map((_, at) => `/event/${at + 1}`);
    const found = { out: [], changed: [], unsaid: [] };
    await page.goto(`${pages.origin}/plan`);
    await check("the drawing of the tasks and the table beside it have the same hostile rows", async () => {
        const rows = await page.locator("section[aria-labelledby=order] tbody tr").count();
        assert.deepEqual([await page.locator("svg rect").count(), rows], [25, 25]);
    });
    for (const path of [...lists, ...claims, ...events, ...addresses]) {
        await page.goto(pages.origin + path);
        const { title, ran, names, away, hidden, mains } = await page.evaluate(() => ({
            title: document.title,
            ran: window.ran ?? null,
            names: [...document.querySelectorAll("script, iframe, img, object, embed, base, meta[http-equiv], style, [style], [onclick], [onload], [onerror]")].map(
                (each) => each.outerHTML.slice(0, 80),
            ),
            away: [...document.querySelectorAll("[href], [src], [action]")]
                .map((each) => each.getAttribute("href") ?? each.getAttribute("src") ?? each.getAttribute("action"))
                .filter((to) => !/^(\/(?!\/)|#main$)/.test(to)),
            // A line separator, a soft hyphen, and what turns, joins or is not seen. A joiner
            // between two pictographs is a part of one emoji.
            hidden: document.documentElement.textContent.replace(/(?<=\p{Extended_Pictographic}\ufe0f?)\u200d(?=\p{Extended_Pictographic})/gu, "").match(/[\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu) ?? [],
            mains: document.querySelectorAll("main").length,
        }));
        const strange = names.filter((name) => !/^<script src="\/live-[0-9a-f]+\.js"/.test(name));
        if (!title.endsWith("· hivemind") || title.includes("taken") || ran !== null || strange.length || away.length || hidden.length || mains !== 1) {
            found.changed.push(`${path.slice(0, 60)}: ${JSON.stringify({ title, ran, strange, away, hidden, mains })}`);
        }
        const number = path.match(/^\/claim\/C(\d+)$/)?.[1];
        if (number && !(await page.locator("p.statement").innerText()).includes(end(number))) found.unsaid.push(path);
        for (const width of WIDTHS) for (const line of await sticking(page, width)) found.out.push(`${path.slice(0, 60)} at ${width}: ${line}`);
    }
    const count = lists.length + claims.length + events.length + addresses.length;
    await check(`${CLAIMS} hostile texts stay texts`, () => {
        assert.deepEqual(found.changed, []);
        assert.deepEqual(found.unsaid, []);
        return `${count} pages`;
    });
    await check("no hostile text runs, asks another origin or opens a dialog", () => assert.equal(done.length, 0, done.join("\n")));
    await check(`no hostile text sticks out at ${WIDTHS.join(" and ")} px`, () => assert.equal(found.out.length, 0, found.out.join("\n")));
    await check("axe-core finds nothing serious on hostile pages", async () => {
        const grave = [];
        for (const path of [...lists, ...claims.slice(0, 25)]) {
            await page.goto(pages.origin + path);
            for (const line of await axe(page)) grave.push(`${path}: ${line}`);
        }
        assert.equal(grave.length, 0, grave.join("\n"));
    });
    await context.close();
    await pages.end();
}

/** Claims, dead ends with triggers, positions, decisions, tasks in a row, intents, anchors and guards, each with hostile texts. */
async function fill(workspace, all) {
    const [agent, other] = await Promise.all(["devops", "analyst"].map((name) => new Agent(workspace, name).open()));
    for (const [at, statement] of all.entries()) {
        const claim_type = at % 3 === 1 ? "negative" : "fact";
        const scopes = [`src/<b onclick=alert(${at})>/${"y".repeat(at)}`, `tag:<i>${at}`];
        const trigger = claim_type === "negative" ? { commands: [`make '<script>alert(${at})</script>'`] } : undefined;
        await agent.call("create_claim", { statement, claim_type, scopes, trigger });
    }
    for (const [at, text] of all.slice(0, 25).entries()) {
        const short = text.slice(0, 400);
        await other.call("challenge", { claim_id: `C${at + 1}`, reason: short });
        await agent.call("record_decision", { statement: `${short} chosen`, target: `a <b>${at}`, rationale: short, context: short });
        const depends_on = at > 0 ? [`T${at}`] : undefined;
        await agent.call("add_task", { title: short.slice(0, 150), description: short, scopes: [`src/<i>${at}`], depends_on });
        workspace.run(["anchor", "save", `KEY${at}`, short], "devops");
        workspace.run(["--operator-override", "the test of the pages", "guard", "accept", "--includes", short.slice(0, 100), "--text", short]);
        await other.call("declare_intent", { intent: short.slice(0, 400) });
    }
    agent.close();
    other.close();
}
