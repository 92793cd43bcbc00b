// A model that follows a script, on loopback: the Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini
// APIs, as far as the clients of tests/clients/tools.sh speak them. Every request is kept.
//   node model.mjs DIR STEPS
// DIR gets `port`, and the requests as 001.json, 002.json … STEPS is JSON, the tool calls in their order:
// [{"tool": "create_claim", "arguments": {…}}, …]; after the last the model says a plain word.
// A program imports `serve` instead, and gives each turn its own steps. Then a step may be a function that makes the call
// from the request.
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

let requests = 0;

/** What to do when there are so many results and these tools: a call, or a word. */
async function next(script, results, tools, request) {
    script.before ??= results;
    let step = script.steps[results - script.before];
    if (typeof step === "function") step = await step(request);
    if (!step) {
        script.is_done = true;
        return { text: "All of the script is done." };
    }
    const tool = tools.find(({ name }) => name === step.tool || name?.match(/[-_]hivemind[-_]+(.*)|^hivemind[-_](.*)/)?.slice(1).includes(step.tool));
    if (!tool) return { text: `There is no tool ${step.tool}.` };
    return { tool, arguments: step.arguments, id: `call_${results + 1}` };
}

async function anthropic(script, request) {
    const { tools = [], messages, model } = request;
    const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    const results = blocks.filter(({ type }) => type === "tool_result");
    const step = await next(script, results.length, tools, request);
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: `msg_${requests}`, type: "message", role: "assistant", model, content: [], usage };
    const block = step.tool
        ? { type: "tool_use", id: `toolu_${step.id}`, name: step.tool.name, input: {} }
        : { type: "text", text: "" };
    const delta = step.tool
        ? { type: "input_json_delta", partial_json: JSON.stringify(step.arguments) }
        : { type: "text_delta", text: step.text };
    return [
        { type: "message_start", message },
        { type: "content_block_start", index: 0, content_block: block },
        { type: "content_block_delta", index: 0, delta },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: step.tool ? "tool_use" : "end_turn" }, usage },
        { type: "message_stop" },
    ];
}

async function openai(script, request) {
    const { tools = [], input } = request;
    // Newer models find their tools in the input. Tools can stand in namespaces, such as one for each server.
    const offered = [...tools, ...input.flatMap((item) => item.tools ?? [])];
    const flat = offered.flatMap(({ name, tools, ...tool }) =>
        tools ? tools.map((inner) => ({ ...inner, namespace: name })) : [{ name, ...tool }],
    );
    const results = input.filter(({ type }) => type.endsWith("_output"));
    const step = await next(script, results.length, flat, request);
    const call = step.tool && { call_id: step.id, name: step.tool.name, namespace: step.tool.namespace };
    const item = !call
        ? { type: "message", role: "assistant", content: [{ type: "output_text", text: step.text }] }
        : step.tool.type === "custom"
          ? { type: "custom_tool_call", ...call, input: step.arguments }
          : { type: "function_call", ...call, arguments: JSON.stringify(step.arguments) };
    const id = `resp_${requests}`;
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    return [
        { type: "response.created", response: { id } },
        { type: "response.output_item.done", output_index: 0, item: { id: `item_${requests}`, ...item } },
        { type: "response.completed", response: { id, usage } },
    ];
}

async function chat(script, request) {
    const { tools = [], messages } = request;
    const offered = tools.map((tool) => tool.function);
    const results = messages.filter(({ role }) => role === "tool");
    const step = await next(script, results.length, offered, request);
    const call = step.tool && { name: step.tool.name, arguments: JSON.stringify(step.arguments) };
    const delta = call
        ? { role: "assistant", tool_calls: [{ index: 0, id: step.id, type: "function", function: call }] }
        : { role: "assistant", content: step.text };
    const chunk = (choice) => ({
        id: `chat_${requests}`,
        object: "chat.completion.chunk",
        created: 1,
        model: "script",
        choices: [{ index: 0, finish_reason: null, ...choice }],
    });
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    return [chunk({ delta }), { ...chunk({ delta: {}, finish_reason: call ? "tool_calls" : "stop" }), usage }];
}

async function gemini(script, request) {
    const { tools = [], contents } = request;
    const results = contents.flatMap(({ parts }) => parts).filter(({ functionResponse }) => functionResponse);
    const offered = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations);
    const step = await next(script, results.length, offered, request);
    const part = step.tool ? { functionCall: { name: step.tool.name, args: step.arguments } } : { text: step.text };
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
    return [{ candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP" }], usageMetadata }];
}

const apis = [
    [/^\/v1\/messages$/, anthropic],
    [/^\/v1\/responses$/, openai],
    [/^\/v1\/chat\/completions$/, chat],
    [/:streamGenerateContent$/, gemini],
];

/** Renamed into place: who finds the file finds it whole. */
function keep(directory, name, text) {
    writeFileSync(join(directory, `${name}.new`), text);
    renameSync(join(directory, `${name}.new`), join(directory, name));
}

/** Starts a model that keeps its requests in a directory: `url`, `requests`, `turn(steps)` for what it does next, and
 * `is_done()` for whether it has said its last word on that. */
export async function serve(directory, steps = []) {
    // `before` is the number of tool results that the conversation had at the first request: a resumed one has some.
    const script = { steps, before: undefined, is_done: false };
    const kept = [];
    mkdirSync(directory, { recursive: true });
    const server = createServer(async (request, response) => {
        let text = "";
        for await (const chunk of request) text += chunk;
        const { pathname } = new URL(request.url, "http://model");
        const api = request.method === "POST" && apis.find(([path]) => path.test(pathname))?.[1];
        if (!api) {
            console.error(`the model knows nothing at ${request.method} ${pathname}`);
            response.writeHead(404, { "content-type": "application/json" });
            response.end(JSON.stringify({ error: { type: "not_found_error", message: `nothing at ${pathname}` } }));
            return;
        }
        const body = JSON.parse(text);
        kept.push(body);
        requests += 1;
        keep(directory, `${String(kept.length).padStart(3, "0")}.json`, text);
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (const event of await api(script, body)) {
            response.write(`${event.type ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`);
        }
        if (api === chat) response.write("data: [DONE]\n\n");
        response.end();
    });
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address();
    return {
        url: `http://127.0.0.1:${port}`,
        port,
        requests: kept,
        turn: (steps) => Object.assign(script, { steps, before: undefined, is_done: false }),
        is_done: () => script.is_done,
        close: () => server.close(),
    };
}

if (import.meta.main) {
    const [directory, steps] = process.argv.slice(2);
    const { port } = await serve(directory, JSON.parse(steps));
    keep(directory, "port", `${port}`);
}
