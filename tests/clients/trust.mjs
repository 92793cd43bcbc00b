// Has Codex trust the hooks of a project, as a person does with `/hooks`: only Codex knows what it records.
//   node trust.mjs PROJECT
import { start } from "./app_server.mjs";

const [project] = process.argv.slice(2);
const { ask } = await start();
const { data } = await ask("hooks/list", { cwds: [project] });
const hooks = data.flatMap(({ hooks }) => hooks);
const value = Object.fromEntries(hooks.map(({ key, currentHash }) => [key, { trusted_hash: currentHash }]));
await ask("config/batchWrite", { edits: [{ keyPath: "hooks.state", value, mergeStrategy: "upsert" }] });
process.exit(hooks.length ? 0 : 1);
