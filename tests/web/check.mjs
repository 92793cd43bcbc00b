// What a test of a page looks at: its words, its width, its accessibility, and what its browser was made to do.
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The pages of the menu, in its order. */
export const PAGES = [
    "/", "/claims", "/disagreements", "/decisions", "/dead-ends", "/plan", "/sessions", "/runs", "/rules", "/told?agent=devops", "/ledger", "/policy", "/spaces",
];
/** The widths at which nothing may stick out, in pixels. */
export const WIDTHS = [1280, 390];
/** The widths at which no short word of a table is broken. */
export const READ_AT = [1280, 800, 600, 390];
/** The widest window in which a table scrolls, and the widest table then, in pixels. */
const NARROW = 640;
/** The findings of axe-core that fail a check. */
const GRAVE = ["serious", "critical"];

let failed = 0;

/** Runs a check and says how it went. */
export async function check(what, run) {
    try {
        const said = await run();
        console.log(`ok      ${what}${said ? `: ${said}` : ""}`);
    } catch (error) {
        failed += 1;
        const lines = `${error.message}`.trim().split("\n").slice(0, 30);
        console.log(`FAILED  ${what}\n${lines.map((line) => `        ${line.slice(0, 400)}`).join("\n")}`);
    }
}

/** How many checks failed. */
export function failures() {
    return failed;
}

/** Keeps what a browser does that no page of ours may make it do. */
export function watched(context, origin) {
    const done = [];
    const watch = (page) => {
        page.on("dialog", async (dialog) => {
            done.push(`dialog ${dialog.message()} on ${page.url()}`);
            await dialog.dismiss();
        });
        page.on("request", (request) => {
            if (!request.url().startsWith(`${origin}/`)) done.push(`request of ${request.url()} from ${page.url()}`);
        });
        page.on("console", (message) => {
            // A refused page is a page too.
            if (message.type() === "error" && !/status of 40\d/.test(message.text())) done.push(`${message.text()} on ${page.url()}`);
        });
        page.on("pageerror", (error) => done.push(`${error} on ${page.url()}`));
    };
    context.on("page", watch);
    return done;
}

/** The visible text of a page's content. */
export async function words(page) {
    return (await page.locator("main").innerText()).replaceAll("\u00a0", " ");
}

/** Fails unless a text has all of these. */
export function has(text, ...parts) {
    for (const part of parts) assert.ok(text.includes(part), `${JSON.stringify(part)} is not in: ${text}`);
}

/** The elements that stick out to the right, at a width. A table scrolls in its page where the window is narrow. */
export async function sticking(page, width) {
    await page.setViewportSize({ width, height: 900 });
    return page.evaluate(
        ([isNarrow, tableMost]) => {
            const most = document.documentElement.clientWidth;
            const right = (each) => each.getBoundingClientRect().right;
            const mayScroll = (each) => each.closest("pre, .drawn") || (isNarrow && each.closest("table") && right(each) <= tableMost);
            const all = [...document.body.querySelectorAll("*")].filter((each) => right(each) > most + 1 && !mayScroll(each));
            const name = (each) => `${each.tagName.toLowerCase()}.${each.className} to ${Math.round(right(each))} px`;
            const wide = document.documentElement.scrollWidth;
            return [...(wide > most ? [`the page is ${wide} px wide`] : []), ...all.slice(0, 5).map(name)];
        },
        [width <= NARROW, NARROW],
    );
}

/** The short words in tables, paths aside, that are broken into two lines at a width. A hyphen and a slash may end a line. */
export async function broken(page, width) {
    await page.setViewportSize({ width, height: 900 });
    return page.evaluate(() => {
        const found = new Set();
        for (const cell of document.querySelectorAll("th, td")) {
            const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
            while (texts.nextNode()) {
                const node = texts.currentNode;
                if (node.parentElement.closest(".long, .places")) continue;
                for (const { 0: word, index } of node.data.matchAll(/[^\s\-/]+/g)) {
                    const range = document.createRange();
                    range.setStart(node, index);
                    range.setEnd(node, index + word.length);
                    const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
                    if (lines.size > 1) found.add(word);
                }
            }
        }
        return [...found];
    });
}

/** What a page lacks of what each has: one main part and heading, titled tables, the menu, the slider, one live region, commands at buttons. */
export function frame(page) {
    return page.evaluate((menu) => {
        const all = (what) => [...document.querySelectorAll(what)];
        const name = (each) => each.outerHTML.slice(0, 120);
        const one = ["main", "h1", "nav", "a.skip", "input[type=range][name=at]", "input[type=text][name=at]", "#live[aria-live=polite]:not(main *)"];
        const missing = one.filter((what) => all(what).length !== 1).map((what) => `${all(what).length} of ${what}`);
        const loud = all("[aria-live]:not(#live), [role=alert]").map(name);
        const untitled = all("table").filter((table) => !table.caption?.innerText.trim() || !table.querySelector("th[scope=col]")).map(name);
        const wordless = all(".status").filter((status) => !/[a-z]/.test(status.innerText)).map(name);
        const bare = all("form[method=post]").filter((form) => !form.querySelector(".command")).map(name);
        const pages = all("nav a").length === menu ? [] : [`${all("nav a").length} pages in the menu`];
        return [...missing, ...loud, ...untitled, ...wordless, ...bare, ...pages];
    }, PAGES.length);
}

/** What axe-core finds that is serious, one line each. */
export function axe(tools) {
    const source = readFileSync(join(tools, "node_modules/axe-core/axe.min.js"), "utf8");
    return async (page) => {
        await page.evaluate(source);
        const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
        const grave = violations.filter(({ impact }) => GRAVE.includes(impact));
        return grave.flatMap(({ id, impact, nodes }) =>
            nodes.slice(0, 3).map(({ target, failureSummary }) => `${impact} ${id} at ${target}: ${failureSummary.split("\n")[1]?.trim()}`),
        );
    };
}
