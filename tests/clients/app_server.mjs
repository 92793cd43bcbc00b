// `codex app-server` as an editor drives it: requests, answers and notifications as lines of JSON.
import { spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { createInterface } from "node:readline";

/** Starts one: `ask(method, params)`, `notified(method)` for the next of that name, and `process`. */
export async function start(options = {}) {
    const codex = spawn("codex", ["app-server"], { stdio: ["pipe", "pipe", "ignore"], ...options });
    const asked = new Map();
    const notifications = new EventEmitter();
    const over = new Error("codex app-server ended");
    codex.once("exit", () => {
        for (const { reject } of asked.values()) reject(over);
    });
    createInterface({ input: codex.stdout }).on("line", (line) => {
        const { id, method, params, result, error } = JSON.parse(line);
        if (method) return notifications.emit(method, params);
        const { resolve, reject } = asked.get(id);
        asked.delete(id);
        return error ? reject(new Error(error.message)) : resolve(result);
    });
    let requests = 0;
    const say = (message) => codex.stdin.write(`${JSON.stringify(message)}\n`);
    const ask = (method, params) => {
        const id = ++requests;
        say({ id, method, params });
        return new Promise((resolve, reject) => asked.set(id, { resolve, reject }));
    };
    const notified = (method) => new Promise((resolve) => notifications.once(method, resolve));
    await ask("initialize", { clientInfo: { name: "hivemind-tests", version: "1" } });
    say({ method: "initialized" });
    return { ask, notified, process: codex };
}
