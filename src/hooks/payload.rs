//! Reads the JSON on a hook's input into a [`Call`]. A field that is missing or has another type is left out; it is
//! never an error.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Call, Client, Moment, ToolCall, ToolOutcome, patch};
use crate::domain::action::is_reading_tool;
use crate::pack;

/// Bytes of an output that are kept. The first error stands near the beginning, or the output is of no use.
const MAX_OUTPUT_BYTES: usize = 16 * 1024;
/// The fields in which clients name the file of a tool.
const PATH_FIELDS: [&str; 7] =
    ["file_path", "path", "notebook_path", "filePath", "absolute_path", "target_file", "target_notebook"];
/// The fields in which clients put the text to be written.
const TEXT_FIELDS: [&str; 9] = [
    "content",
    "contents",
    "new_string",
    "newString",
    "new_str",
    "new_source",
    "code_edit",
    "file_text",
    "code",
];
/// The fields in which clients put a shell command.
const COMMAND_FIELDS: [&str; 2] = ["command", "cmd"];
/// The fields in which clients put the arguments of a tool.
const INPUT_FIELDS: [&str; 3] = ["tool_input", "toolArgs", "args"];
/// The fields in which a tool puts several edits.
const EDITS_FIELDS: [&str; 2] = ["edits", "replacements"];
/// The fields in which clients put the working directory of a tool.
const DIR_FIELDS: [&str; 5] = ["workdir", "working_directory", "dir_path", "directory", "cwd"];
/// How clients begin to say that a tool did not run because the human or a rule refused it, in lower case.
const REFUSALS: [&str; 10] = [
    "[operation cancelled]",
    "[request interrupted by user for tool use]",
    "exec command rejected",
    "permission to use",
    "the user doesn't want to",
    "the user rejected",
    "tool execution denied",
    "user cancelled",
    "user denied",
    "user rejected",
];
/// Tools that change a file although their payload brings no text for it, in lower case.
const DELETING: [&str; 2] = ["delete", "delete_file"];

impl Call {
    /// Parses the payload that a client wrote to the hook of `named`. `in_copilot` tells whether the environment is
    /// that of Copilot CLI.
    pub fn parse(named: Client, in_copilot: bool, json: &str) -> Self {
        let payload: Value = serde_json::from_str(json).unwrap_or_default();
        let client = caller(named, in_copilot, &payload);
        let event = text(&payload, &["hook_event_name", "hookEventName"]);
        let event = event.unwrap_or_else(|| unnamed_event(client, &payload).to_owned());
        let root = payload.get("workspace_roots").and_then(|roots| roots.get(0)).and_then(Value::as_str);
        Self {
            named,
            client,
            session: text(&payload, &["session_id", "conversation_id", "sessionId", "sessionID"]),
            cwd: text(&payload, &["cwd"]).or_else(|| root.map(str::to_owned)),
            moment: moment(client, &event, &payload),
            event,
        }
    }
}

/// The client that runs the hook of `named`. Copilot CLI, Cursor and VS Code also run the hooks in
/// `.claude/settings.json`; VS Code also runs those in `.github/hooks/`. A client that runs in another client's
/// shell inherits the environment variables, so they count only together with the payload. The payload of Claude
/// Code has no timestamp.
fn caller(named: Client, in_copilot: bool, payload: &Value) -> Client {
    let has = |field: &str| payload.get(field).is_some();
    let is_claudes = named == Client::Claude;
    let is_copilots = named == Client::Copilot;
    if is_claudes && has("cursor_version") {
        Client::Cursor
    } else if is_claudes && in_copilot && has("timestamp") {
        Client::Copilot
    } else if (is_claudes || is_copilots) && has("hookEventName")
        || is_copilots && has("hook_event_name") && !in_copilot
    {
        Client::VsCode
    } else {
        named
    }
}

/// The event of a payload that does not name one. Each event of Copilot CLI has fields of its own.
fn unnamed_event(client: Client, payload: &Value) -> &'static str {
    let has = |field: &str| payload.get(field).is_some();
    let event = |field, event| has(field).then_some(event);
    if client != Client::Copilot {
        return "";
    }
    if has("toolName") {
        let after = event("toolResult", "postToolUse").or_else(|| event("error", "postToolUseFailure"));
        return after.unwrap_or("preToolUse");
    }
    let named = event("prompt", "userPromptSubmitted").or_else(|| event("source", "sessionStart"));
    named
        .or_else(|| event("stop_hook_active", "agentStop"))
        .or_else(|| event("reason", "sessionEnd"))
        .unwrap_or_default()
}

/// Maps the event names of all clients. No name has two meanings.
fn moment(client: Client, event: &str, payload: &Value) -> Moment {
    match event {
        "SessionStart" | "sessionStart" | "session.start" => {
            Moment::SessionStart { source: text(payload, &["source", "trigger"]) }
        }
        // The client adds the hook's answer to the prompt for the summary.
        "experimental.session.compacting" => Moment::SessionStart { source: Some("compact".to_owned()) },
        "UserPromptSubmit"
        | "BeforeAgent"
        | "beforeSubmitPrompt"
        | "userPromptSubmitted"
        | "chat.message" => {
            let text = text(payload, &["prompt", "user_prompt"]).unwrap_or_default();
            Moment::Prompt { text: without_our_own(&text).to_owned() }
        }
        "PreToolUse" | "BeforeTool" | "preToolUse" | "beforeShellExecution" | "tool.execute.before" => {
            Moment::BeforeTool(tool_call(payload))
        }
        "PostToolUse"
        | "PostToolUseFailure"
        | "AfterTool"
        | "postToolUse"
        | "postToolUseFailure"
        | "afterShellExecution"
        | "afterFileEdit"
        | "tool.execute.after" => Moment::AfterTool(tool_call(payload), outcome(client, event, payload)),
        "Stop" | "AfterAgent" | "stop" | "agentStop" => Moment::Stop {
            already_reminded: flag(payload, "stop_hook_active")
                || payload.get("loop_count").and_then(Value::as_i64).is_some_and(|count| count > 0),
            said: text(payload, &["last_assistant_message", "prompt_response"]),
        },
        "SessionEnd" | "sessionEnd" | "session.end" => {
            Moment::SessionEnd { reason: text(payload, &["reason"]) }
        }
        _ => Moment::Other,
    }
}

/// The user's prompt without the text of our hooks. Gemini CLI puts the answer of the start hook before the first
/// prompt and passes both to the next hook. Copilot CLI and Qwen Code pass a reminder at the end of a turn as the
/// next prompt.
fn without_our_own(prompt: &str) -> &str {
    if prompt.starts_with(pack::STOP_GATE_OPENING) {
        return "";
    }
    let end = "</hook_context>";
    match prompt.find(end) {
        Some(at) if prompt.trim_start().starts_with("<hook_context>") => {
            prompt[at + end.len()..].trim_start()
        }
        _ => prompt,
    }
}

fn tool_call(payload: &Value) -> ToolCall {
    let name = text(payload, &["tool_name", "toolName", "tool"]).unwrap_or_default();
    // Cursor's events for a single kind of tool have the input at the top level.
    let within = INPUT_FIELDS.iter().find_map(|field| payload.get(field));
    let given = within.unwrap_or(payload);
    let parsed: Option<Value> = given.as_str().and_then(|json| serde_json::from_str(json).ok());
    let input = parsed.as_ref().unwrap_or(given);
    let line = COMMAND_FIELDS.iter().find_map(|field| command(input.get(field)?));
    let patch = [line.as_deref(), text(input, &["input", "patch", "patchText"]).as_deref(), given.as_str()]
        .into_iter()
        .flatten()
        .find_map(patch::read);
    let is_patch_tool = name.ends_with("apply_patch");
    let input_sha256 = within.map(|_| hex::encode(Sha256::digest(input.to_string())));
    let mut call = ToolCall {
        input_sha256,
        command: line.filter(|_| !is_patch_tool),
        dir: text(input, &DIR_FIELDS).filter(|_| within.is_some()),
        target: within.filter(|_| is_reading_tool(&name)).and_then(|_| target(input)),
        subagent: text(payload, &["agent_id"]),
        ..ToolCall::default()
    };
    if let Some((paths, added)) = patch {
        call.paths = paths;
        call.text = Some(added);
    } else if call.command.is_none() {
        let edits = EDITS_FIELDS.iter().find_map(|field| input.get(field)?.as_array());
        let edits = edits.map(Vec::as_slice).unwrap_or_default();
        let parts = || std::iter::once(input).chain(edits);
        let texts = parts().flat_map(|part| TEXT_FIELDS.iter().filter_map(|field| part.get(field)?.as_str()));
        let written: Vec<&str> = texts.collect();
        // A tool that names a file and brings no text for it only reads. This also holds for unknown tools.
        if !written.is_empty() || DELETING.contains(&name.to_ascii_lowercase().as_str()) {
            for path in parts().filter_map(|part| text(part, &PATH_FIELDS)) {
                if !call.paths.contains(&path) {
                    call.paths.push(path);
                }
            }
            call.text = Some(written.join("\n")).filter(|text| !text.is_empty());
        }
    }
    ToolCall { name, ..call }
}

/// What a reading tool is asked for: the pattern, the place, then each other argument with its name.
fn target(input: &Value) -> Option<String> {
    let arguments = input.as_object()?;
    let is_first = |name: &str| name == "pattern" || PATH_FIELDS.contains(&name);
    let first = std::iter::once("pattern").chain(PATH_FIELDS).filter_map(|name| text(input, &[name]));
    let rest = arguments.iter().filter(|(name, value)| {
        !is_first(name) && (value.is_number() || value.is_boolean() || value.is_string())
    });
    let rest = rest.map(|(name, value)| {
        value.as_str().map_or_else(|| format!("{name}={value}"), |value| format!("{name}={value}"))
    });
    let words: Vec<String> = first.chain(rest).collect();
    let words = words.join(" ");
    (!words.trim().is_empty()).then_some(words)
}

/// A shell command. Codex sends it as a list of words.
fn command(value: &Value) -> Option<String> {
    let words = value.as_array().map(|words| words.iter().filter_map(Value::as_str));
    let line = value.as_str().map(str::to_owned).or_else(|| words.map(shell_words::join))?;
    (!line.trim().is_empty()).then_some(line)
}

fn outcome(client: Client, event: &str, payload: &Value) -> ToolOutcome {
    let fields = ["tool_response", "tool_output", "result_json", "toolResult", "tool_result"];
    let given = fields.iter().find_map(|field| payload.get(field));
    let parsed: Option<Value> = given
        .and_then(Value::as_str)
        .and_then(|json| serde_json::from_str(json).ok())
        .filter(|value: &Value| value.is_object());
    let response = parsed.as_ref().or(given).unwrap_or(payload);
    let error = text(payload, &["error", "error_message"]).or_else(|| message(response.get("error")?));
    let told =
        |text: &str| if client == Client::Copilot { told_by_copilot(text) } else { told(client, text) };
    let error_told = error.as_deref().map(told);
    let text_told = text(response, &["llmContent", "textResultForLlm", "text_result_for_llm"]);
    let text_told = text_told.or_else(|| response.as_str().map(str::to_owned));
    let text_told = text_told.as_deref().map(told);
    let told = [&error_told, &text_told].into_iter().flatten().find_map(|(exit, _)| *exit);
    let mut said: Vec<String> = error_told.iter().map(|(_, output)| output.clone()).collect();
    said.extend(["stderr", "stdout", "output"].iter().filter_map(|field| text(response, &[field])));
    said.extend(text_told.map(|(_, output)| output));
    if said.is_empty() {
        // Claude Code: the file that was read, or the lines that a search found. A file that was written is no output.
        let shown = response.get("file").or_else(|| response.get("filePath").is_none().then_some(response));
        said.extend(shown.and_then(|shown| text(shown, &["content"])));
    }
    if said.is_empty() {
        // Claude Code: the files that a search found.
        let files = response.get("filenames").and_then(Value::as_array).into_iter().flatten();
        said.extend(files.filter_map(Value::as_str).map(str::to_owned));
    }
    let output = said.iter().filter(|text| !text.trim().is_empty()).cloned().collect::<Vec<_>>().join("\n");
    let number =
        |value: &Value| ["exit_code", "exitCode"].iter().find_map(|field| value.get(field)?.as_i64());
    let exit = number(response).or_else(|| number(response.get("metadata")?)).or(told);
    let failure = text(response, &["resultType", "result_type"]).is_some_and(|kind| kind == "failure");
    let is_error = failure
        || flag(response, "is_error")
        || flag(response, "isError")
        || response.get("success").and_then(Value::as_bool) == Some(false);
    let is_interrupted = flag(payload, "is_interrupt") || flag(response, "interrupted");
    let input = payload.get("tool_input").unwrap_or(payload);
    let is_aside = ["run_in_background", "is_background"].iter().any(|field| flag(input, field));
    let unseen = is_interrupted || is_aside;
    let is_refusal = |said: &String| {
        let said = said.trim_start().to_lowercase();
        REFUSALS.iter().any(|words| said.starts_with(words))
    };
    let is_failure =
        event.ends_with("Failure") || error.is_some() || is_error || exit.is_some_and(|exit| exit != 0);
    ToolOutcome {
        exit: exit.filter(|_| !unseen),
        unseen,
        refused: exit.is_none() && (is_failure || is_interrupted) && said.iter().any(is_refusal),
        untold: client == Client::Codex && exit.is_none() && !unseen && !is_failure,
        took_ms: took_ms(payload, response),
        answered: given.is_some() || error.is_some(),
        failed: !unseen && is_failure,
        output_head: (!output.is_empty()).then(|| head(&output).to_owned()),
        output_end: (!output.is_empty() && !flag(response, "isImage")).then(|| {
            let from = output.len().saturating_sub(super::output::MAX_END_BYTES);
            output[output.ceil_char_boundary(from)..].to_owned()
        }),
    }
}

/// The beginning of an output. A line that would be cut is left out: a half of a secret is recognised by no rule.
fn head(output: &str) -> &str {
    let head = &output[..output.floor_char_boundary(MAX_OUTPUT_BYTES)];
    let whole = head.rsplit_once('\n').map(|(whole, _)| whole);
    if head.len() < output.len() { whole.unwrap_or(head) } else { head }
}

/// How long the tool took, where the client tells.
fn took_ms(payload: &Value, response: &Value) -> Option<u64> {
    let ms = ["duration_ms", "duration"].iter().find_map(|field| payload.get(field)?.as_f64());
    let seconds = || {
        let told =
            response.get("duration_seconds").or_else(|| response.get("metadata")?.get("duration_seconds"));
        told.and_then(Value::as_f64).map(|seconds| seconds * 1_000.0)
    };
    ms.or_else(seconds).filter(|ms| ms.is_finite() && *ms >= 0.0).map(|ms| ms as u64)
}

/// The lines that Gemini CLI writes below the output of a command, in this order. Qwen Code, a fork of Gemini CLI,
/// writes an error first.
const BELOW: [&str; 5] = ["Error: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: "];

/// The exit code that Copilot CLI writes below the output of a command, and the output.
fn told_by_copilot(text: &str) -> (Option<i64>, String) {
    let (output, last) = text.rsplit_once('\n').unwrap_or(("", text));
    let code = last.strip_prefix("<shellId: ").and_then(|last| last.strip_suffix('>'));
    match code.and_then(|code| code.rsplit_once(" completed with exit code ")?.1.parse().ok()) {
        Some(code) => (Some(code), output.to_owned()),
        None => (None, text.to_owned()),
    }
}

/// The exit code stated in a text, and the output. Claude Code and the patches of Codex state `Exit code 2` in the
/// first line. Gemini CLI states it below the output, since 0.50 within a wrapper; Qwen Code also puts the command above the
/// output. Such a line anywhere else belongs to the output, which is arbitrary text.
fn told(client: Client, text: &str) -> (Option<i64>, String) {
    let code = |said: &str| said.trim_start_matches(':').trim().parse().ok();
    let framed = text.strip_prefix("<untrusted_context>\n");
    let framed = framed.and_then(|text| text.strip_suffix("\n</untrusted_context>"));
    let of_qwen = || {
        let after = text.strip_prefix("Command: ")?.split_once("\nDirectory: ")?.1;
        Some(&after[after.find("\nOutput: ")? + 1..])
    };
    // Gemini CLI 0.36 to 0.45: neither wrapper nor command.
    let of_gemini = || (client == Client::Gemini && text.starts_with("Output: ")).then_some(text);
    let Some(framed) = framed.or_else(of_qwen).or_else(of_gemini) else {
        let first = text.lines().next().and_then(|line| line.strip_prefix("Exit code"));
        return (first.and_then(code), text.to_owned());
    };
    let mut output = framed;
    let mut exit = None;
    for label in BELOW.iter().rev() {
        let Some((above, line)) = output.rsplit_once('\n') else { break };
        if let Some(said) = line.strip_prefix(label) {
            output = above;
            exit = exit.or_else(|| (*label == "Exit Code: ").then(|| code(said)).flatten());
        }
    }
    let output = output.strip_prefix("Output: ").unwrap_or(output);
    (exit, if output == "(empty)" { String::new() } else { output.to_owned() })
}

fn message(error: &Value) -> Option<String> {
    error.as_str().map(str::to_owned).or_else(|| text(error, &["message"]))
}

/// The text of the first of these fields that holds text.
fn text(value: &Value, fields: &[&str]) -> Option<String> {
    let texts = fields.iter().filter_map(|field| value.get(field)?.as_str());
    texts.filter(|text| !text.is_empty()).map(str::to_owned).next()
}

fn flag(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool).unwrap_or(false)
}
