// Stands in for `hm hook` until there is one: answers the start of a session with the context of the agent, and
// leaves word of the session under the client's process id.
//   node hook.mjs HM AGENT < payload
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [hm, agent] = process.argv.slice(2);
const payload = JSON.parse(readFileSync(0, "utf8"));
const words = join(payload.cwd, ".hivemind", "runtime", "clients");
// Claude Code runs its hooks below a shell; the others start them themselves.
const word = join(words, process.env.CLAUDE_PID ?? `${process.ppid}`);

async function context() {
    const server = spawn(hm, ["serve", "--agent", agent, "--dir", payload.cwd], { stdio: ["pipe", "pipe", "ignore"] });
    const say = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const clientInfo = { name: "hook", version: "1" };
    say({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
    say({ method: "notifications/initialized" });
    say({ id: 2, method: "resources/read", params: { uri: "hivemind://context?budget=9500" } });
    for await (const line of createInterface({ input: server.stdout })) {
        const { id, result } = JSON.parse(line);
        if (id !== 2) continue;
        server.stdin.end();
        return result.contents[0].text;
    }
}

if (payload.hook_event_name === "SessionStart") {
    mkdirSync(words, { recursive: true });
    writeFileSync(word, payload.session_id);
    const additionalContext = await context();
    console.log(JSON.stringify({ hookSpecificOutput: { hookEventName: "SessionStart", additionalContext } }));
} else if (payload.hook_event_name === "SessionEnd") {
    rmSync(word, { force: true });
}
