//! What a coding client tells its hooks, and what it takes for an answer; pure, and lenient in every field.

mod answer;
mod output;
mod patch;
mod payload;
mod seen;

pub use answer::Answer;
pub use output::{MaskedOutput, masked_end};
pub use seen::seen;

use crate::domain::action::{Action, Attempt};
use crate::domain::claim::word;

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
    /// The client that gives itself a name, such as `codex-mcp-client`.
    pub fn named(name: &str) -> Option<Self> {
        let lower = name.to_lowercase();
        Self::ALL.iter().copied().find(|client| lower.contains(client.as_str()))
    }
}

/// One call of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The client that the command names: `hm hook NAME` stands in settings of that client.
    pub named: Client,
    /// The client that runs the hook: some also run what stands in the settings of another one.
    pub client: Client,
    /// The event by the client's name; the answer repeats it. Empty when there is none.
    pub event: String,
    /// The client's session.
    pub session: Option<String>,
    /// Where the session is, an absolute path.
    pub cwd: Option<String>,
    /// What it is about.
    pub moment: Moment,
}

/// A moment in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// A session begins, or goes on after something that left nothing of its context.
    SessionStart {
        /// Why, in the client's word: `startup`, `resume`, `compact`.
        source: Option<String>,
    },
    /// Somebody asks for something: a turn begins.
    Prompt {
        /// What.
        text: String,
    },
    /// A tool is about to be called.
    BeforeTool(ToolCall),
    /// A tool was called.
    AfterTool(ToolCall, ToolOutcome),
    /// A turn is about to end.
    Stop {
        /// Whether this turn goes on because a hook had something to say at its end.
        already_reminded: bool,
        /// What the agent said last, where the client tells.
        said: Option<String>,
    },
    /// A session ends.
    SessionEnd {
        /// Why, in the client's word.
        reason: Option<String>,
    },
    /// Nothing we know.
    Other,
}

/// A call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// The tool by the client's name.
    pub name: String,
    /// The line for the shell.
    pub command: Option<String>,
    /// Where it runs, when that is not where the session is; may be relative to it.
    pub dir: Option<String>,
    /// The files it changes, as the client names them; none of a tool that only reads.
    pub paths: Vec<String>,
    /// The text it writes into them.
    pub text: Option<String>,
    /// SHA-256 of the whole input, hex.
    pub input_sha256: Option<String>,
}

/// How a call of a tool ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutcome {
    /// The exit code of a command, where the client tells.
    pub exit: Option<i64>,
    /// Whether it failed; who interrupts a tool did not see it fail.
    pub failed: bool,
    /// Whether nothing can be said of its end: it runs on in the background, or was interrupted.
    pub unseen: bool,
    /// How long it took in milliseconds, where the client tells.
    pub took_ms: Option<u64>,
    /// The beginning of what it put out, errors first.
    pub output_head: Option<String>,
    /// The end of what it put out, standard output last.
    pub output_end: Option<String>,
}

/// What a path ends at in a line for the shell, and what one begins after.
const AROUND_PATHS: [char; 14] = ['"', '\'', '`', '=', ':', ',', ';', '&', '|', '(', ')', '<', '>', '$'];

/// The most names of a line that are looked up as files.
const MAX_FILES_NAMED: usize = 48;

/// The pieces of a line for the shell, of its scripts too, that may name a file: those with a slash or an extension.
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

/// A line for the shell with its absolute paths spelled in another way. What is quoted is one path first, as paths
/// with spaces are, and then a line of its own, as that of `bash -c` is.
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

/// The same for a path without quotes, which are put around it where a shell would now cut it.
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

/// The bytes of a line up to where a path may begin or end: what is escaped ends none.
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
    /// The event in the words of the client's own settings: VS Code runs what those of Copilot CLI have, and calls it
    /// by other names.
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

    /// The same call with each absolute path it names spelled in another way: where it happens, the files it changes,
    /// and in its command.
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

    /// The action that a tool's call is, before it or once it ended; none at other moments, and when it is not known
    /// where it happens. `root` is the root of the workspace, an absolute path.
    pub fn action(&self, root: &str) -> Option<Action> {
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
        let failed = outcome.filter(|outcome| outcome.failed);
        let attempt = Attempt {
            command: tool.command.as_deref(),
            paths: &tool.paths,
            text: tool.text.as_deref(),
            output: failed.and_then(|outcome| outcome.output_head.as_deref()),
        };
        Some(Action::of(attempt, &cwd, root))
    }
}
