// Hivemind for opencode: `hm init` writes this file, `hm uninit` takes it away. Put nothing of yours into it.
// The session starts with its first message. Warnings before a tool stand in front of what the tool puts out.
import { spawn } from "node:child_process";

const begun = new Set();
const warnings = new Map();

/** What `hm hook opencode` says at an event; nothing when it fails or is too slow. */
function told(cwd, event, session, more) {
  return new Promise((done) => {
    let said = "";
    const hook = spawn("hm", ["hook", "opencode"], { cwd, timeout: 5000, stdio: ["pipe", "pipe", "ignore"] });
    hook.on("error", () => done());
    hook.on("close", () => {
      try {
        const { deny, additionalContext } = JSON.parse(said);
        done(deny ? new Error(deny) : additionalContext);
      } catch {
        done();
      }
    });
    hook.stdout.setEncoding("utf8").on("data", (text) => (said += text));
    hook.stdin.on("error", () => {});
    hook.stdin.end(JSON.stringify({ hook_event_name: event, session_id: session, cwd, ...more }));
  });
}

/** What is still to be said in a session. */
function taken(session, ...more) {
  const texts = [...(warnings.get(session) ?? []), ...more].filter(Boolean);
  warnings.delete(session);
  return texts;
}

export const Hivemind = async ({ directory }) => {
  const end = (session) => begun.delete(session) && told(directory, "session.end", session);
  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const said = parts.filter((part) => part.type === "text" && !part.synthetic);
      const prompt = said.map((part) => part.text).join("\n");
      const texts = taken(sessionID);
      if (!begun.has(sessionID)) {
        begun.add(sessionID);
        texts.push(await told(directory, "session.start", sessionID, { source: "startup" }));
      }
      texts.push(await told(directory, "chat.message", sessionID, { prompt }));
      for (const text of texts.filter(Boolean)) {
        const id = `prt_hm${crypto.randomUUID().replaceAll("-", "")}`;
        parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true });
      }
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      const call = { tool_name: tool, tool_input: args, tool_use_id: callID };
      const said = await told(directory, "tool.execute.before", sessionID, call);
      // A guard that blocks: the error is what the agent reads in place of the tool's output.
      if (said instanceof Error) throw said;
      const texts = taken(sessionID, said);
      if (texts.length) warnings.set(sessionID, texts);
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
      const response = { output: result.output, exit_code: result.metadata?.exit };
      const call = { tool_name: tool, tool_input: args, tool_use_id: callID, tool_response: response };
      const texts = taken(sessionID, await told(directory, "tool.execute.after", sessionID, call));
      if (texts.length) result.output = [...texts, result.output].join("\n\n");
    },
    "experimental.session.compacting": async ({ sessionID }, { context }) => {
      const text = await told(directory, "experimental.session.compacting", sessionID);
      if (text) context.push(text);
    },
    // `hm` in the agent's shell is in the agent's session.
    "shell.env": async ({ sessionID }, { env }) => {
      if (sessionID) env.HM_SESSION = sessionID;
    },
    event: async ({ event }) => {
      if (event.type === "session.deleted") await end(event.properties.info?.id ?? event.properties.sessionID);
    },
    dispose: async () => {
      for (const session of [...begun]) await end(session);
    },
  };
};
