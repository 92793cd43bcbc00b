// The processes of hm that the pages show: the pages themselves, commands, and servers that agents speak to.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** What makes a process without a terminal the operator, on record. */
export const AS_OPERATOR = ["--operator-override", "the test of the pages"];

/** A workspace of its own, with hm in it. */
export class Workspace {
    constructor(hm, root) {
        Object.assign(this, { hm, root });
    }

    static made(hm, scratch, name) {
        const root = join(scratch, name);
        mkdirSync(root);
        const workspace = new Workspace(hm, root);
        workspace.run(["init", "--yes", "--clients", "claude"]);
        return workspace;
    }

    /** What a command prints. */
    run(words, agent) {
        const all = [...(agent ? ["--agent", agent] : []), "--dir", this.root, ...words];
        const ended = spawnSync(this.hm, all, { encoding: "utf8" });
        if (ended.status !== 0) throw new Error(`hm ${words.join(" ")}: ${ended.stderr || ended.stdout}`);
        return ended.stdout;
    }

    /** The events of a type. */
    events(type) {
        return JSON.parse(this.run(["log", "--json", "--type", type, "--limit", "500"])).events;
    }

    /** The pages of this workspace. */
    pages() {
        return Pages.started(this.hm, [...AS_OPERATOR, "--dir", this.root, "web", "--no-open"]);
    }

    /** A token for the HTTP server. */
    token(agent, role) {
        const words = ["--json", "--agent", agent, ...AS_OPERATOR, "token", "add", "--role", role];
        return JSON.parse(this.run(words)).token;
    }

    /** The pages of this workspace behind tokens. */
    served() {
        return Pages.started(this.hm, ["--dir", this.root, "serve", "--http", "127.0.0.1:0"]);
    }
}

/** A running `hm web` or `hm serve --http`. */
export class Pages {
    static async started(hm, words) {
        const child = spawn(hm, words, { stdio: ["ignore", "pipe", "inherit"] });
        const pages = new Pages();
        for await (const line of createInterface({ input: child.stdout })) {
            const address = line.match(/^(?:and pages for people at )?(http:\S+)$/)?.[1];
            if (!address) continue;
            const url = new URL(address);
            return Object.assign(pages, { child, url: address, origin: url.origin, port: url.port });
        }
        throw new Error("hm prints no address of pages");
    }

    /** Ends it with a stop signal, after which it removes the workspace of a demo. */
    async end() {
        if (this.child.exitCode !== null) return;
        const ended = new Promise((resolve) => this.child.once("exit", resolve));
        this.child.kill("SIGTERM");
        await ended;
    }
}

/** An agent: `hm serve` with a client that sends many calls before it waits for the answers. */
export class Agent {
    constructor(workspace, name) {
        const words = ["--agent", name, "--dir", workspace.root, "serve"];
        this.child = spawn(workspace.hm, words, { stdio: ["pipe", "pipe", "ignore"] });
        this.next = 1;
        this.waiting = new Map();
        createInterface({ input: this.child.stdout }).on("line", (line) => {
            const answer = JSON.parse(line);
            this.waiting.get(answer.id)?.(answer);
            this.waiting.delete(answer.id);
        });
    }

    async open() {
        const clientInfo = { name: "web.sh", version: "1" };
        await this.ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
        this.send({ jsonrpc: "2.0", method: "notifications/initialized" });
        return this;
    }

    send(message) {
        this.child.stdin.write(`${JSON.stringify(message)}\n`);
    }

    ask(method, params) {
        const id = this.next++;
        const answered = new Promise((resolve) => this.waiting.set(id, resolve));
        this.send({ jsonrpc: "2.0", id, method, params });
        return answered;
    }

    /** The receipt of a tool call. A refused call is an error. */
    async call(name, given) {
        const answer = await this.ask("tools/call", { name, arguments: given });
        if (answer.error || answer.result.isError) throw new Error(`${name} ${JSON.stringify(given)}: ${JSON.stringify(answer.error ?? answer.result)}`);
        return answer.result.structuredContent;
    }

    close() {
        this.child.stdin.end();
    }
}
