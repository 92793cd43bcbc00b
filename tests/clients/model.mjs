// A model on loopback that follows a script: the Anthropic Messages, OpenAI Responses and Gemini APIs as far as
// the coding agents of tests/clients.sh speak them. Every request is written down.
//   node model.mjs DIR STEPS     DIR gets `port` and requests as 001.json, 002.json …
//   STEPS is JSON: [{"tool": "create_claim", "arguments": {…}}, …]. The first request that has no tool result yet
//   is answered with the first step, and so on; after the last with a plain word.
import { createServer } from "node:http";
import { writeFileSync, renameSync } from "node:fs";
import { join } from "node:path";

const [directory, script] = process.argv.slice(2);
const steps = JSON.parse(script);
const LAST_WORD = "All of the script is done.";
let requests = 0;

/** The next step for a request with so many tool results, if the tool it calls is listed. */
function next(results, listed) {
    const step = steps[results];
    if (!step) return { text: LAST_WORD };
    const tool = listed.find(({ name }) => name === step.tool || name.endsWith(`_${step.tool}`));
    return tool ? { tool, arguments: step.arguments, id: `call_${results + 1}` } : { text: `${step.tool} is not listed.` };
}

const anthropic = {
    answer({ tools = [], messages, model }) {
        const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
        const step = next(blocks.filter(({ type }) => type === "tool_result").length, tools);
        const usage = { input_tokens: 1, output_tokens: 1 };
        const message = { id: `msg_${requests}`, type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null, usage };
        const [block, delta] = step.tool
            ? [{ type: "tool_use", id: `toolu_${step.id}`, name: step.tool.name, input: {} }, { type: "input_json_delta", partial_json: JSON.stringify(step.arguments) }]
            : [{ type: "text", text: "" }, { type: "text_delta", text: step.text }];
        return [
            { type: "message_start", message },
            { type: "content_block_start", index: 0, content_block: block },
            { type: "content_block_delta", index: 0, delta },
            { type: "content_block_stop", index: 0 },
            { type: "message_delta", delta: { stop_reason: step.tool ? "tool_use" : "end_turn", stop_sequence: null }, usage },
            { type: "message_stop" },
        ];
    },
};

const openai = {
    answer({ tools = [], input }) {
        // Newer models get their tools as the first item of the input, and those of a server in a namespace of its own.
        const offered = [...tools, ...input.flatMap((item) => item.tools ?? [])];
        const listed = offered.flatMap((tool) => (tool.tools ? tool.tools.map((inner) => ({ ...inner, namespace: tool.name })) : [tool]));
        const step = next(input.filter(({ type }) => type.endsWith("_output")).length, listed.filter(({ name }) => name));
        const call = step.tool && { id: `fc_${requests}`, call_id: step.id, name: step.tool.name, namespace: step.tool.namespace };
        const item = !call
            ? { type: "message", id: `msg_${requests}`, role: "assistant", content: [{ type: "output_text", text: step.text }] }
            : step.tool.type === "custom"
              ? { ...call, type: "custom_tool_call", input: step.arguments }
              : { ...call, type: "function_call", arguments: JSON.stringify(step.arguments) };
        const usage = { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null, total_tokens: 2 };
        return [
            { type: "response.created", response: { id: `resp_${requests}` } },
            { type: "response.output_item.done", output_index: 0, item },
            { type: "response.completed", response: { id: `resp_${requests}`, usage } },
        ];
    },
};

const gemini = {
    answer({ tools = [], contents }) {
        const parts = contents.flatMap(({ parts }) => parts);
        const listed = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations);
        const step = next(parts.filter(({ functionResponse }) => functionResponse).length, listed);
        const part = step.tool ? { functionCall: { name: step.tool.name, args: step.arguments } } : { text: step.text };
        const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
        return [{ candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }], usageMetadata }];
    },
};

const routes = [
    [/^\/v1\/messages$/, anthropic],
    [/^\/v1\/responses$/, openai],
    [/:streamGenerateContent$/, gemini],
];

function record(request, body) {
    const file = join(directory, `${String(++requests).padStart(3, "0")}.json`);
    const { method, url, headers } = request;
    writeFileSync(file, JSON.stringify({ method, url, headers, body }, null, 1));
}

createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    let body;
    try { body = JSON.parse(text); } catch { body = text; }
    record(request, body);
    const path = new URL(request.url, "http://model").pathname;
    const [, api] = routes.find(([pattern]) => request.method === "POST" && pattern.test(path)) ?? [];
    if (!api) {
        response.writeHead(404, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: { type: "not_found_error", message: `nothing at ${path}` } }));
        return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of api.answer(body)) {
        response.write(`${event.type ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
}).listen(0, "127.0.0.1", function () {
    // Renamed into place: who waits for the file finds a whole number in it.
    writeFileSync(join(directory, "port.new"), `${this.address().port}`);
    renameSync(join(directory, "port.new"), join(directory, "port"));
});
