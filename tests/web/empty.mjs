// The pages of a memory that nobody wrote to yet: each says what fills it.
import { strict as assert } from "node:assert";
import { PAGES, check, frame } from "./check.mjs";
import { Workspace } from "./hm.mjs";

/** Pages with something from the start: the events of hm init, settings, and the context of an agent. */
const NEVER_EMPTY = ["/ledger", "/policy", "/spaces", "/told?agent=devops"];

export async function empty({ hm, scratch, browser, axe }) {
    const pages = await Workspace.made(hm, scratch, "empty").pages();
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(pages.url);
    await check("a page without entries says what fills it", async () => {
        const found = [];
        for (const path of PAGES) {
            await page.goto(pages.origin + path);
            for (const line of [...(await frame(page)), ...(await axe(page))]) found.push(`${path}: ${line}`);
            const said = await page.locator("main .empty").allInnerTexts();
            const hints = await page.locator("main .empty .command").count();
            if (!NEVER_EMPTY.includes(path) && hints === 0) found.push(`${path}: ${JSON.stringify(said)}`);
        }
        assert.equal(found.length, 0, found.join("\n"));
        return `${PAGES.length} pages`;
    });
    await context.close();
    await pages.end();
}
