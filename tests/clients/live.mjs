// Panes that stay open: the real clients, each with a model of its own, asked turn by turn as a person asks them.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import * as app_server from "./app_server.mjs";
import { serve } from "./model.mjs";

/** How long a turn may take on a busy machine, before the run is given up. */
const TURN_MS = 240_000;

/** How long a client may take to leave before it is killed. */
const LEAVES_MS = 20_000;

/** Every text in a request, in its order. Gemini CLI writes what hooks say with < and > escaped. */
export function texts(value) {
    if (typeof value === "string") return [value.includes("&lt;hivemind_") ? value.replaceAll("&lt;", "<").replaceAll("&gt;", ">") : value];
    return value && typeof value === "object" ? Object.values(value).flatMap(texts) : [];
}

/** The deltas in a request, the oldest first. */
export function deltas(request) {
    return texts(request).flatMap((text) => text.match(/<hivemind_delta [\s\S]*?<\/hivemind_delta>/g) ?? []);
}

/** A pane: who it is, its client, and what its model was sent. */
class Pane {
    constructor(name, model, client) {
        Object.assign(this, { name, model, client });
    }

    /** One prompt and what the model does about it. Returns the requests of the turn and the deltas that came with it. */
    async turn(prompt, steps = []) {
        const { requests } = this.model;
        const [first, before] = [requests.length, requests.length ? deltas(requests.at(-1)).length : 0];
        this.model.turn(steps);
        let timer;
        const late = new Promise((_, reject) => {
            timer = setTimeout(() => reject(new Error(`${this.name} does not end its turn: ${this.client.said()}`)), TURN_MS);
        });
        try {
            await Promise.race([this.client.ask(prompt, this.model), late]);
        } finally {
            clearTimeout(timer);
        }
        const made = requests.slice(first);
        if (!made.length) throw new Error(`${this.name} asks its model nothing: ${this.client.said()}`);
        return { requests: made, deltas: deltas(made.at(-1)).slice(before) };
    }

    /** Ends the client as a person does, and its model. */
    async leave() {
        await Promise.race([this.client.leave(), sleep(LEAVES_MS)]);
        this.client.kill();
        this.model.close();
    }
}

/** The end of what a process said. */
function ending(...streams) {
    let end = "";
    for (const stream of streams) stream.on("data", (data) => (end = `${end}${data}`.slice(-2_000)));
    return () => end;
}

const ended = (child) => new Promise((resolve) => (child.exitCode === null ? child.once("exit", resolve) : resolve()));

/** Claude Code as programs run it: a prompt is a line of JSON, and the session stays. */
export async function claude(name, { cwd, env, kept }) {
    const model = await serve(join(kept, name));
    const settings = {
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: "none",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
    };
    const format = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    const child = spawn("claude", ["-p", ...format], { cwd, env: { ...env, ...settings } });
    const said = ending(child.stdout, child.stderr);
    const waiting = [];
    createInterface({ input: child.stdout }).on("line", (line) => {
        if (JSON.parse(line).type === "result") waiting.shift()?.();
    });
    return new Pane(name, model, {
        said,
        ask: (prompt) => {
            child.stdin.write(`${JSON.stringify({ type: "user", message: { role: "user", content: prompt } })}\n`);
            return new Promise((resolve) => waiting.push(resolve));
        },
        leave: () => {
            child.stdin.end();
            return ended(child);
        },
        kill: () => child.kill("SIGKILL"),
    });
}

/** Codex as an editor runs it. Its configuration names the model. */
export async function codex(name, { cwd, env, kept, configure }) {
    const model = await serve(join(kept, name));
    await configure(model.url);
    const server = await app_server.start({ cwd, env: { ...env, MODEL_KEY: "none" }, stdio: ["pipe", "pipe", "pipe"] });
    const said = ending(server.process.stderr);
    const { thread } = await server.ask("thread/start", { cwd });
    return new Pane(name, model, {
        said,
        ask: async (prompt) => {
            const over = server.notified("turn/completed");
            await server.ask("turn/start", { threadId: thread.id, input: [{ type: "text", text: prompt }] });
            await over;
        },
        leave: () => {
            server.process.stdin.end();
            return ended(server.process);
        },
        kill: () => server.process.kill("SIGKILL"),
    });
}

/** Gemini CLI at a terminal: no other way to run it keeps its session and runs its hooks. `ready` says when it began. */
export async function gemini(name, { cwd, env, kept, tools, ready }) {
    const model = await serve(join(kept, name));
    const { spawn } = createRequire(join(tools, "node_modules", "."))("@lydell/node-pty");
    const settings = { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: "none" };
    // A named model: otherwise another one is asked first which to take.
    const terminal = spawn("gemini", ["--model", "gemini-2.5-pro", "--yolo"], {
        cwd,
        env: { ...env, ...settings },
        cols: 120,
        rows: 40,
    });
    let [end, last, gone] = ["", Date.now(), false];
    terminal.onData((data) => {
        end = `${end}${data}`.slice(-8_000);
        last = Date.now();
    });
    const over = new Promise((resolve) => terminal.onExit(() => resolve((gone = true))));
    const said = () => end.replace(/\u001b\[[0-9;?]*[a-zA-Z]/g, "");
    /** Nothing moves on the screen. */
    const quiet = async () => {
        while (Date.now() - last < 1_000 && !gone) await sleep(100);
    };
    await Promise.race([ready(), over, sleep(TURN_MS)]);
    await quiet();
    return new Pane(name, model, {
        said,
        ask: async (prompt, model) => {
            const before = model.requests.length;
            terminal.write(prompt);
            // Enter right behind a text is taken for a line of it; Enter on an empty line does nothing.
            for (let tries = 0; model.requests.length === before && !gone && tries < 100; tries += 1) {
                await sleep(500);
                if (tries % 20 === 0) terminal.write("\r");
            }
            while (!model.is_done() && !gone) await sleep(100);
            await quiet();
        },
        leave: async () => {
            terminal.write("\u0003");
            await sleep(300);
            terminal.write("\u0003");
            await over;
        },
        kill: () => gone || terminal.kill(),
    });
}
