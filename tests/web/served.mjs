// The pages behind the tokens of hm serve --http: to sign in with and without JavaScript, to act, and to lose the token.
import { strict as assert } from "node:assert";
import { PAGES, WIDTHS, check, has, sticking, watched, words } from "./check.mjs";
import { AS_OPERATOR, Agent, Workspace } from "./hm.mjs";

export async function served({ hm, scratch, browser, axe }) {
    const workspace = Workspace.made(hm, scratch, "served");
    const agent = await new Agent(workspace, "devops").open();
    const claim = (statement) => agent.call("create_claim", { statement, claim_type: "fact", scopes: ["src/db"] });
    await claim("the pool holds 20 connections");
    const [viewer, operator] = [workspace.token("reviewer", "viewer"), workspace.token("operator", "admin")];
    const pages = await workspace.served();
    const entered = async (token, options) => {
        const context = await browser.newContext(options);
        const done = watched(context, pages.origin);
        const page = await context.newPage();
        await page.goto(`${pages.url}claim/C1`);
        await page.fill("input[name=token]", token);
        await page.click("button");
        return { context, page, done };
    };
    for (const javaScriptEnabled of [true, false]) {
        await check(`a person signs in and acts ${javaScriptEnabled ? "with" : "without"} JavaScript`, async () => {
            const { context, page, done } = await entered(operator, { javaScriptEnabled });
            assert.equal(page.url(), `${pages.url}claim/C1`);
            const form = page.locator("form.act", { hasText: "challenge" });
            await form.locator("input[name=reason]").fill(`it is 50, scripts ${javaScriptEnabled}`);
            await form.locator("button").click();
            has(await words(page), "challenged C1: committed at seq", `it is 50, scripts ${javaScriptEnabled}`);
            await page.click("form.signed-in button");
            assert.equal(await page.title(), "Sign in · hivemind");
            assert.deepEqual(done, []);
            await context.close();
        });
    }
    await check("every page below /web/ is accessible, and so is the page before them", async () => {
        const { context, page, done } = await entered(viewer, {});
        const found = [];
        const look = async (path) => {
            for (const line of await axe(page)) found.push(`${path}: ${line}`);
            for (const width of WIDTHS) for (const line of await sticking(page, width)) found.push(`${path} at ${width}: ${line}`);
        };
        for (const path of PAGES) {
            // A token asks ten times a second at most.
            await page.waitForTimeout(500);
            assert.equal((await page.goto(pages.origin + "/web" + path)).status(), 200, path);
            await look(path);
        }
        await page.click("form.signed-in button");
        await look("the page to sign in");
        assert.deepEqual([...found, ...done], []);
        await context.close();
    });
    await check("an open window follows, and becomes the page to sign in when its token is removed", async () => {
        const { context, page } = await entered(viewer, {});
        await page.goto(`${pages.url}claims`);
        await claim("the pool is closed at night");
        await page.getByText("the pool is closed at night").waitFor({ timeout: 10_000 });
        workspace.run([...AS_OPERATOR, "token", "remove", "reviewer"]);
        await page.locator("input[name=token]").waitFor({ timeout: 30_000 });
        assert.ok(!(await page.content()).includes("the pool"));
        await context.close();
    });
    agent.close();
    await pages.end();
}
