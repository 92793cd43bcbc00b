//! The payloads of the clients' hooks, and the answers that clients accept. The module is pure, and every field of a
//! payload may be missing.

mod answer;
mod output;
mod patch;
mod payload;
mod seen;

pub use answer::Answer;
pub use output::{MaskedOutput, masked_end};
pub use seen::{Changed, seen};

use crate::domain::action::{Action, Attempt, only_looks};
use crate::domain::claim::word;
use crate::domain::privacy::{self, Secrets};
use crate::runner;

word!(
    /// A coding client with hooks.
    Client("client") {
        /// Claude Code.
        Claude = "claude",
        /// Codex CLI.
        Codex = "codex",
        /// Gemini CLI.
        Gemini = "gemini",
        /// Cursor.
        Cursor = "cursor",
        /// Copilot CLI.
        Copilot = "copilot",
        /// VS Code.
        VsCode = "vscode",
        /// Qwen Code.
        Qwen = "qwen",
        /// opencode, through our plugin.
        Opencode = "opencode",
    }
);

impl Client {
    /// The client with this name of its own, such as `codex-mcp-client`.
    pub fn named(name: &str) -> Option<Self> {
        let lower = name.to_lowercase();
        Self::ALL.iter().copied().find(|client| lower.contains(client.as_str()))
    }
}

/// One call of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The client named on the command line: `hm hook NAME` is in the settings of that client.
    pub named: Client,
    /// The client that runs the hook. Some clients also run the hooks in the settings of another client.
    pub client: Client,
    /// The event in the client's words; the answer repeats it. Empty for a payload without an event.
    pub event: String,
    /// The client's session.
    pub session: Option<String>,
    /// The directory of the session, an absolute path.
    pub cwd: Option<String>,
    /// The moment of the call.
    pub moment: Moment,
}

/// A moment in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// A session begins, or continues after its context was lost.
    SessionStart {
        /// The cause, in the client's words: `startup`, `resume`, `compact`.
        source: Option<String>,
    },
    /// The user submits a prompt: a turn begins.
    Prompt {
        /// The text of the prompt.
        text: String,
    },
    /// Before the call of a tool.
    BeforeTool(ToolCall),
    /// After the call of a tool.
    AfterTool(ToolCall, ToolOutcome),
    /// Before the end of a turn.
    Stop {
        /// Whether this turn continues because of a hook's message at its end.
        already_reminded: bool,
        /// The last message of the agent, if the client reports it.
        said: Option<String>,
    },
    /// A session ends.
    SessionEnd {
        /// The cause, in the client's words.
        reason: Option<String>,
    },
    /// An event that no hook handles.
    Other,
}

/// A call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// The tool in the client's words.
    pub name: String,
    /// The command line for the shell.
    pub command: Option<String>,
    /// The directory of the call, if it differs from that of the session. It may be relative to the latter.
    pub dir: Option<String>,
    /// The files that it changes, as the client names them. Empty for a tool that only reads.
    pub paths: Vec<String>,
    /// The text that it writes into the files.
    pub text: Option<String>,
    /// SHA-256 of the whole input, hex.
    pub input_sha256: Option<String>,
    /// What a reading tool is asked for, in words: the pattern and the place, then the other arguments.
    pub target: Option<String>,
    /// The subagent of the session that calls the tool.
    pub subagent: Option<String>,
}

/// The end of a call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutcome {
    /// The exit code of a command, if the client reports it.
    pub exit: Option<i64>,
    /// Whether it failed. An interrupted tool has not failed.
    pub failed: bool,
    /// Whether its end is unknown: it runs on in the background, or was interrupted.
    pub unseen: bool,
    /// Whether the tool never ran, because the human or the client refused it.
    pub refused: bool,
    /// Whether the client does not tell how it ended: Codex reports no exit code.
    pub untold: bool,
    /// How long it took in milliseconds, where the client tells.
    pub took_ms: Option<u64>,
    /// Whether the payload has the answer of the tool, which may be empty.
    pub answered: bool,
    /// The beginning of its output, errors first.
    pub output_head: Option<String>,
    /// The end of its output, standard output last.
    pub output_end: Option<String>,
}

/// Characters that end a path in a command line, and characters before a path.
const AROUND_PATHS: [char; 14] = ['"', '\'', '`', '=', ':', ',', ';', '&', '|', '(', ')', '<', '>', '$'];

/// The maximum number of names in a command line that are looked up as files.
const MAX_FILES_NAMED: usize = 48;

/// The words of a command line and of its scripts that may name a file: words with a slash or an extension.
pub fn files_named(line: &str) -> Vec<&str> {
    let is_around = |c: char| c.is_whitespace() || AROUND_PATHS.contains(&c);
    let may_name = |piece: &&str| {
        let has_extension = piece.rsplit_once('.').is_some_and(|(stem, extension)| {
            !stem.is_empty()
                && (1..=8).contains(&extension.len())
                && extension.bytes().all(|b| b.is_ascii_alphanumeric())
        });
        piece.len() <= 240 && !piece.starts_with('-') && (has_extension || piece.contains('/'))
    };
    let mut named: Vec<&str> = Vec::new();
    for piece in line.split(is_around).filter(may_name) {
        if !named.contains(&piece) {
            named.push(piece);
        }
        if named.len() == MAX_FILES_NAMED {
            break;
        }
    }
    named
}

/// A command line with its absolute paths spelled in another way. A quoted text is tried as one path first, because
/// paths may have spaces, and then as a command line, such as that of `bash -c`.
fn respelled(line: &str, spelled: &impl Fn(&str) -> String) -> String {
    let mut told = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let quoted = matches!(first, '"' | '\'').then(|| rest[1..].find(first)).flatten();
        let length = quoted.map_or_else(|| piece_bytes(rest), |length| length + 2);
        let (piece, after) = rest.split_at(length);
        rest = after;
        match quoted {
            Some(length) => {
                let within = &piece[1..=length];
                let within = if within.starts_with('/') { spelled(within) } else { within.to_owned() };
                told.push(first);
                told.push_str(&respelled(&within, spelled));
                told.push(first);
            }
            None if first == '/' => told.push_str(&respelled_word(piece, spelled)),
            None => told.push_str(piece),
        }
    }
    told
}

/// The same for a path without quotes. Quotes are added if a shell would now split it.
fn respelled_word(word: &str, spelled: &impl Fn(&str) -> String) -> String {
    let path = word.replace('\\', "");
    let other = spelled(&path);
    if other == path {
        word.to_owned()
    } else if path != word || other.contains(char::is_whitespace) {
        shell_words::quote(&other).into_owned()
    } else {
        other
    }
}

/// The number of bytes up to the next character at which a path may begin or end. An escaped character does not count.
fn piece_bytes(line: &str) -> usize {
    let mut is_escaped = false;
    let end = line.find(|c: char| {
        let ends = !is_escaped && (c.is_whitespace() || AROUND_PATHS.contains(&c));
        is_escaped = !is_escaped && c == '\\';
        ends
    });
    match end {
        Some(0) => line.chars().next().map_or(0, char::len_utf8),
        Some(end) => end,
        None => line.len(),
    }
}

impl Call {
    /// The event in the words of the client's own settings. VS Code runs the hooks of Copilot CLI and has other names
    /// for the events.
    pub fn configured_event(&self) -> &str {
        match (self.client, self.event.as_str()) {
            (Client::VsCode, "SessionStart") => "sessionStart",
            (Client::VsCode, "UserPromptSubmit") => "userPromptSubmitted",
            (Client::VsCode, "PreToolUse") => "preToolUse",
            (Client::VsCode, "PostToolUse") => "postToolUse",
            (Client::VsCode, "Stop") => "agentStop",
            (_, event) => event,
        }
    }

    /// The same call with each absolute path spelled in another way: its directory, the changed files, and the paths
    /// in its command.
    #[must_use]
    pub fn spelled(mut self, spelled: impl Fn(&str) -> String) -> Self {
        self.cwd = self.cwd.map(|cwd| spelled(&cwd));
        if let Moment::BeforeTool(tool) | Moment::AfterTool(tool, _) = &mut self.moment {
            tool.dir = tool.dir.take().map(|dir| spelled(&dir));
            tool.command = tool.command.take().map(|line| respelled(&line, &spelled));
            tool.paths.iter_mut().for_each(|path| *path = spelled(path));
        }
        self
    }

    /// The action of a tool's call, before or after the call. `None` at other moments, and if the directory is
    /// unknown. `root` is the root of the workspace, an absolute path. Its error has none of the secrets.
    pub fn action(&self, root: &str, secrets: &Secrets) -> Option<Action> {
        let (tool, outcome) = match &self.moment {
            Moment::BeforeTool(tool) => (tool, None),
            Moment::AfterTool(tool, outcome) => (tool, Some(outcome)),
            Moment::SessionStart { .. }
            | Moment::Prompt { .. }
            | Moment::Stop { .. }
            | Moment::SessionEnd { .. }
            | Moment::Other => return None,
        };
        let session = self.cwd.as_deref()?;
        let cwd = match tool.dir.as_deref() {
            None => session.to_owned(),
            Some(dir) if dir.starts_with('/') => dir.to_owned(),
            Some(dir) => format!("{session}/{dir}"),
        };
        // Where the client does not tell the end, the output alone can tell of an error.
        let may_fail = |outcome: &&ToolOutcome| {
            let shows_files = tool.command.as_deref().is_none_or(only_looks);
            outcome.failed || outcome.untold && !shows_files
        };
        let failed = outcome.filter(may_fail);
        // A signature masks numbers and hashes, after which no rule recognises the rest of a secret.
        let output = failed.and_then(|outcome| outcome.output_head.as_deref());
        let of_output = || secrets.with_those_of(tool.command.as_deref().unwrap_or_default());
        let output = output.map(|output| privacy::redacted(&runner::cleaned(output), &of_output()));
        let attempt = Attempt {
            command: tool.command.as_deref(),
            paths: &tool.paths,
            text: tool.text.as_deref(),
            output: output.as_deref(),
        };
        Some(Action::of(attempt, &cwd, root))
    }
}
