// A person who clicks through the pages, in a browser that keeps the pages it left for its back button.
import { strict as assert } from "node:assert";
import { check } from "./check.mjs";
import { Agent, Workspace } from "./hm.mjs";

/** The pages that are clicked one after the other, by their names in the menu. */
const CLICKED = ["Claims", "Decisions", "Plan", "Ledger", "Runs", "Disagreements", "Dead ends", "Now", "Sessions", "Spaces"];
/** The time in which a click shows its page, in milliseconds. */
const ANSWERS_MS = 2_000;
/** A token asks ten times a second at most. */
const PAUSE_MS = 300;
/** Windows side by side, more than the connections of a browser to a host. */
const WINDOWS = 8;

/** The browser is one that keeps pages. */
export async function clicks({ hm, scratch, browser }) {
    const workspace = Workspace.made(hm, scratch, "clicks");
    const agent = await new Agent(workspace, "devops").open();
    const claim = (statement) => agent.call("create_claim", { statement, claim_type: "fact", scopes: ["src/db"] });
    await claim("the pool holds 20 connections");
    const token = workspace.token("operator", "admin");
    for (const [what, pages] of [["hm web", await workspace.pages()], ["hm serve --http", await workspace.served()]]) {
        const context = await browser.newContext();
        const page = await context.newPage();
        await page.goto(pages.url);
        if (await page.locator("input[name=token]").count()) {
            await page.fill("input[name=token]", token);
            await page.click("button");
        }
        // Requests wait for a connection, and the driver would wait for them for half a minute.
        page.setDefaultTimeout(5 * ANSWERS_MS);
        await check(`${what}: ten pages are clicked, and each is there in ${ANSWERS_MS} ms`, async () => {
            let slowest = 0;
            for (const name of CLICKED) {
                const from = performance.now();
                await page.getByRole("link", { name, exact: true }).first().click();
                await page.getByRole("heading", { name, exact: true, level: 1 }).waitFor();
                const took = Math.round(performance.now() - from);
                assert.ok(took < ANSWERS_MS, `${name} took ${took} ms`);
                slowest = Math.max(slowest, took);
                await page.waitForTimeout(PAUSE_MS);
            }
            return `${slowest} ms at most`;
        });
        await check(`${what}: a page that the browser kept follows again`, async () => {
            await page.getByRole("link", { name: "Claims", exact: true }).click();
            await page.getByRole("link", { name: "Plan", exact: true }).click();
            await page.getByRole("heading", { name: "Plan", level: 1 }).waitFor();
            // A page out of that cache is there without being loaded.
            await page.goBack({ waitUntil: "commit" });
            const statement = `the pool of ${what} is closed at night`;
            await claim(statement);
            await page.getByText(statement).waitFor();
        });
        await check(`${what}: ${WINDOWS} windows side by side are answered and follow`, async () => {
            const windows = [];
            for (let nth = 0; nth < WINDOWS; nth += 1) {
                const window = await context.newPage();
                window.setDefaultTimeout(5 * ANSWERS_MS);
                const from = performance.now();
                await window.goto(`${pages.url.split("?")[0]}claims`);
                assert.ok(performance.now() - from < ANSWERS_MS, `window ${nth + 1} took ${Math.round(performance.now() - from)} ms`);
                windows.push(window);
                await window.waitForTimeout(PAUSE_MS);
            }
            const statement = `${WINDOWS} windows of ${what} see this`;
            await claim(statement);
            // A window whose stream ended asks again after some seconds.
            for (const window of windows) await window.getByText(statement).waitFor({ timeout: 30_000 });
        });
        await context.close();
        await pages.end();
    }
    agent.close();
}
