// Has Codex trust the hooks of a project, as a person does with `/hooks`: only Codex knows what it records.
//   node trust.mjs PROJECT
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [project] = process.argv.slice(2);
const codex = spawn("codex", ["app-server"], { stdio: ["pipe", "pipe", "ignore"] });
const answers = createInterface({ input: codex.stdout })[Symbol.asyncIterator]();
let requests = 0;
const say = (message) => codex.stdin.write(`${JSON.stringify(message)}\n`);

async function ask(method, params) {
    const id = ++requests;
    say({ id, method, params });
    for (;;) {
        const { value, done } = await answers.next();
        if (done) throw new Error(`codex ended before it answered ${method}`);
        const answer = JSON.parse(value);
        if (answer.id !== id) continue;
        if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
        return answer.result;
    }
}

await ask("initialize", { clientInfo: { name: "clients.sh", version: "1" } });
say({ method: "initialized" });
const { data } = await ask("hooks/list", { cwds: [project] });
const hooks = data.flatMap(({ hooks }) => hooks);
const value = Object.fromEntries(hooks.map(({ key, currentHash }) => [key, { trusted_hash: currentHash }]));
await ask("config/batchWrite", { edits: [{ keyPath: "hooks.state", value, mergeStrategy: "upsert" }] });
process.exit(hooks.length ? 0 : 1);
