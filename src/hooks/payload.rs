//! From the JSON on a hook's input to a [`Call`]: what is missing or of another type is left out, never an error.

use serde_json::Value;

use super::{Call, Client, Moment, ToolCall, ToolOutcome, patch};

/// How much of an output is kept, in bytes: the first error stands in it or nowhere useful.
const MAX_OUTPUT_BYTES: usize = 16 * 1024;
/// Where clients name the file of a tool.
const PATH_FIELDS: [&str; 7] =
    ["file_path", "path", "notebook_path", "filePath", "absolute_path", "target_file", "target_notebook"];
/// Where they put the text that is written.
const TEXT_FIELDS: [&str; 6] = ["content", "contents", "new_string", "new_str", "new_source", "code_edit"];
/// Where they put the line for the shell.
const COMMAND_FIELDS: [&str; 2] = ["command", "cmd"];
/// Where they put the directory it runs in.
const DIR_FIELDS: [&str; 5] = ["workdir", "working_directory", "dir_path", "directory", "cwd"];
/// Tools that change a file without text for it, in lower case.
const DELETING: [&str; 2] = ["delete", "delete_file"];

impl Call {
    /// Reads what a client wrote to its hook.
    pub fn parse(client: Client, json: &str) -> Self {
        let payload: Value = serde_json::from_str(json).unwrap_or_default();
        let event = text(&payload, &["hook_event_name"]).unwrap_or_default();
        let root = payload.get("workspace_roots").and_then(|roots| roots.get(0)).and_then(Value::as_str);
        Self {
            client,
            session: text(&payload, &["session_id", "conversation_id"]),
            cwd: text(&payload, &["cwd"]).or_else(|| root.map(str::to_owned)),
            moment: moment(&event, &payload),
            event,
        }
    }
}

/// The events of all clients: no name means two things.
fn moment(event: &str, payload: &Value) -> Moment {
    match event {
        "SessionStart" | "sessionStart" => {
            Moment::SessionStart { source: text(payload, &["source", "trigger"]) }
        }
        "UserPromptSubmit" | "BeforeAgent" | "beforeSubmitPrompt" => {
            let text = text(payload, &["prompt", "user_prompt"]).unwrap_or_default();
            Moment::Prompt { text: without_our_own(&text).to_owned() }
        }
        "PreToolUse" | "BeforeTool" | "preToolUse" | "beforeShellExecution" => {
            Moment::BeforeTool(tool_call(payload))
        }
        "PostToolUse"
        | "PostToolUseFailure"
        | "AfterTool"
        | "postToolUse"
        | "postToolUseFailure"
        | "afterShellExecution"
        | "afterFileEdit" => Moment::AfterTool(tool_call(payload), outcome(event, payload)),
        "Stop" | "AfterAgent" | "stop" => Moment::Stop {
            already_reminded: flag(payload, "stop_hook_active")
                || payload.get("loop_count").and_then(Value::as_i64).is_some_and(|count| count > 0),
            said: text(payload, &["last_assistant_message", "prompt_response"]),
        },
        "SessionEnd" | "sessionEnd" => Moment::SessionEnd { reason: text(payload, &["reason"]) },
        _ => Moment::Other,
    }
}

/// Gemini CLI puts what a hook said at the start before the first prompt, and hands it all to the next hook.
fn without_our_own(prompt: &str) -> &str {
    let end = "</hook_context>";
    match prompt.find(end) {
        Some(at) if prompt.trim_start().starts_with("<hook_context>") => {
            prompt[at + end.len()..].trim_start()
        }
        _ => prompt,
    }
}

fn tool_call(payload: &Value) -> ToolCall {
    let name = text(payload, &["tool_name"]).unwrap_or_default();
    // The events of Cursor for one kind of tool have its input beside the rest.
    let given = payload.get("tool_input").unwrap_or(payload);
    let parsed: Option<Value> = given.as_str().and_then(|json| serde_json::from_str(json).ok());
    let input = parsed.as_ref().unwrap_or(given);
    let line = COMMAND_FIELDS.iter().find_map(|field| command(input.get(field)?));
    let patch = [line.as_deref(), text(input, &["input", "patch"]).as_deref(), given.as_str()]
        .into_iter()
        .flatten()
        .find_map(patch::read);
    let is_patch_tool = name.ends_with("apply_patch");
    let mut call = ToolCall {
        command: line.filter(|_| !is_patch_tool),
        dir: text(input, &DIR_FIELDS).filter(|_| payload.get("tool_input").is_some()),
        ..ToolCall::default()
    };
    if let Some((paths, added)) = patch {
        call.paths = paths;
        call.text = Some(added);
    } else if call.command.is_none() {
        let edits = input.get("edits").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let parts = || std::iter::once(input).chain(edits);
        let texts = parts().flat_map(|part| TEXT_FIELDS.iter().filter_map(|field| part.get(field)?.as_str()));
        let written: Vec<&str> = texts.collect();
        // Whoever names a file and brings no text for it only reads, be it with a tool we never heard of.
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

/// A line for the shell; a list of words as Codex has it is one, too.
fn command(value: &Value) -> Option<String> {
    let words = value.as_array().map(|words| words.iter().filter_map(Value::as_str));
    let line = value.as_str().map(str::to_owned).or_else(|| words.map(shell_words::join))?;
    (!line.trim().is_empty()).then_some(line)
}

fn outcome(event: &str, payload: &Value) -> ToolOutcome {
    let given = ["tool_response", "tool_output", "result_json"].iter().find_map(|field| payload.get(field));
    let parsed: Option<Value> = given
        .and_then(Value::as_str)
        .and_then(|json| serde_json::from_str(json).ok())
        .filter(|value: &Value| value.is_object());
    let response = parsed.as_ref().or(given).unwrap_or(payload);
    let error = text(payload, &["error", "error_message"]).or_else(|| message(response.get("error")?));
    let error_told = error.as_deref().map(told);
    let text_told = text(response, &["llmContent"]).or_else(|| response.as_str().map(str::to_owned));
    let text_told = text_told.as_deref().map(told);
    let told = [&error_told, &text_told].into_iter().flatten().find_map(|(exit, _)| *exit);
    let mut said: Vec<String> = error.iter().cloned().collect();
    said.extend(["stderr", "stdout", "output"].iter().filter_map(|field| text(response, &[field])));
    said.extend(text_told.map(|(_, output)| output));
    let output = said.iter().filter(|text| !text.trim().is_empty()).cloned().collect::<Vec<_>>().join("\n");
    let number =
        |value: &Value| ["exit_code", "exitCode"].iter().find_map(|field| value.get(field)?.as_i64());
    let exit = number(response).or_else(|| number(response.get("metadata")?)).or(told);
    let is_error = flag(response, "is_error")
        || flag(response, "isError")
        || response.get("success").and_then(Value::as_bool) == Some(false);
    let is_interrupted = flag(payload, "is_interrupt") || flag(response, "interrupted");
    let input = payload.get("tool_input").unwrap_or(payload);
    let is_aside = ["run_in_background", "is_background"].iter().any(|field| flag(input, field));
    let unseen = is_interrupted || is_aside;
    ToolOutcome {
        exit: exit.filter(|_| !unseen),
        unseen,
        failed: !unseen
            && (event.ends_with("Failure")
                || error.is_some()
                || is_error
                || exit.is_some_and(|exit| exit != 0)),
        output_head: (!output.is_empty())
            .then(|| output[..output.floor_char_boundary(MAX_OUTPUT_BYTES)].to_owned()),
        output_end: (!output.is_empty() && !flag(response, "isImage")).then(|| {
            let from = output.len().saturating_sub(super::output::MAX_END_BYTES);
            output[output.ceil_char_boundary(from)..].to_owned()
        }),
    }
}

/// What Gemini CLI writes below the output of a command, in this order.
const BELOW: [&str; 4] = ["Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: "];

/// The exit code that a text tells, and what was put out. Claude Code and the patches of Codex have `Exit code 2` for
/// a first line, Gemini CLI has it below the output; elsewhere it is the output, which may say anything.
fn told(text: &str) -> (Option<i64>, String) {
    let code = |said: &str| said.trim_start_matches(':').trim().parse().ok();
    let framed = text.strip_prefix("<untrusted_context>\n");
    let Some(framed) = framed.and_then(|text| text.strip_suffix("\n</untrusted_context>")) else {
        let first = text.lines().next().and_then(|line| line.strip_prefix("Exit code"));
        return (first.and_then(code), text.to_owned());
    };
    let mut output = framed;
    let mut exit = None;
    for label in BELOW.iter().rev() {
        let Some((above, line)) = output.rsplit_once('\n') else { break };
        if let Some(said) = line.strip_prefix(label) {
            output = above;
            exit = (*label == BELOW[0]).then(|| code(said)).flatten();
        }
    }
    let output = output.strip_prefix("Output: ").unwrap_or(output);
    (exit, if output == "(empty)" { String::new() } else { output.to_owned() })
}

fn message(error: &Value) -> Option<String> {
    error.as_str().map(str::to_owned).or_else(|| text(error, &["message"]))
}

/// The first of these fields that holds text.
fn text(value: &Value, fields: &[&str]) -> Option<String> {
    let texts = fields.iter().filter_map(|field| value.get(field)?.as_str());
    texts.filter(|text| !text.is_empty()).map(str::to_owned).next()
}

fn flag(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool).unwrap_or(false)
}
