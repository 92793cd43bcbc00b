//! The entries that Hivemind writes into the file of a client, and how it recognises them.
//!
//! Our entries are a server named `hivemind` whose command is `hm serve`, with any arguments, and hooks whose
//! command is exactly `hm hook CLIENT`. Everything else belongs to the user.

use jsonc_parser::cst::CstInputValue;
use serde_json::Value;

/// The name of the server in every client; clients derive tool names from it, so it has no `_`.
pub(super) const SERVER: &str = "hivemind";
/// Lets a command of a POSIX shell succeed when `hm` is missing. `exec` makes the shell `hm` itself: the parent
/// of the hook then is the client, which is how the client's server finds the session.
const WHERE_THERE_IS_HM: &str = "command -v hm >/dev/null || exit 0; exec ";
/// The command that a client starts as our server.
pub(super) const ARGV: [&str; 2] = ["hm", "serve"];

/// The key of the status line.
pub(super) const STATUS_LINE: &str = "statusLine";

/// The place of the rules in the settings of Claude Code.
pub(super) const ALLOW: [&str; 2] = ["permissions", "allow"];
/// The rule of `hm init --allow`: every tool of our server. They only write to the memory.
pub(super) const ALLOW_RULE: &str = "mcp__hivemind";

/// The status line that `hm init --statusline` writes.
pub(super) fn status_line() -> CstInputValue {
    let fields: [(String, CstInputValue); 2] =
        [("type".to_owned(), "command".into()), ("command".to_owned(), "hm statusline".into())];
    Vec::from(fields).into()
}

/// Whether a status line runs our command, with any path and any arguments.
pub(super) fn is_our_line(line: &Value) -> bool {
    let mut words = line["command"].as_str().unwrap_or_default().split_whitespace();
    words.next().is_some_and(is_hm) && words.next() == Some("statusline")
}

/// One part of a file.
#[derive(Debug)]
pub enum Entry {
    /// The MCP server.
    Server(Server),
    /// The hooks of all events.
    Hooks(Hooks),
    /// The command whose output Claude Code shows below its prompt.
    StatusLine,
    /// The rule that lets Claude Code call our tools without asking.
    AllowRule,
}

/// The form of an MCP server in a client's file.
#[derive(Debug)]
pub struct Server {
    /// The key of the object that maps names to servers. opencode 2 has another level, `servers`, below it. A
    /// file with that level keeps it; every other file gets the form that both versions read.
    pub at: &'static str,
    /// The value of `type`; `None` when the client wants none.
    pub kind: Option<&'static str>,
    /// Whether program and arguments form one list.
    pub one_list: bool,
    /// Whether the entry asks the client to show its model all tools at once.
    pub always_load: bool,
    /// Variables that the client passes to a server only when the entry names them.
    pub env_vars: &'static [&'static str],
    /// Whether the entry must allow every tool, by `*`.
    pub all_tools: bool,
    /// Whether these fields go below `transport`.
    pub in_transport: bool,
}

/// The form of hooks in a client's file.
#[derive(Debug)]
pub struct Hooks {
    /// The command of every hook.
    pub command: &'static str,
    /// The events that have a hook.
    pub events: &'static [HookEvent],
    /// The name of the event before a tool runs.
    pub before_tool: &'static str,
    /// The nesting of the hooks.
    pub layout: Layout,
    /// How long the client waits, in the client's own unit. It is far more than the second that a hook may take.
    pub timeout: u32,
    /// The most characters of a hook's context that the client passes on; `None` when its documentation names no limit.
    pub context_chars: Option<usize>,
}

/// One event of a client.
#[derive(Debug)]
pub struct HookEvent {
    /// The client's name of the event.
    pub name: &'static str,
    /// The tools, or kinds of start, that fire the hook; `None` for all.
    pub matcher: Option<&'static str>,
}

/// The nesting of hooks in a file.
#[derive(Debug)]
pub enum Layout {
    /// Event -> groups with a matcher -> handlers.
    Groups {
        /// The name of a handler; `None` when the client shows none.
        name: Option<&'static str>,
    },
    /// Event -> handlers, beside a version of the format.
    Flat {
        /// The version of the format.
        version: u32,
        /// The value of a handler's `type`; `None` when the client wants none.
        kind: Option<&'static str>,
        /// The key of the timeout.
        timeout: &'static str,
        /// Whether each shell has its own command, which succeeds even when `hm` is missing. Some clients take
        /// a failed hook for a refusal: colleagues without `hm` could then run no tool.
        by_shell: bool,
    },
    /// A program file, all of it ours, that runs the command at each event.
    Plugin {
        /// The text of the file.
        text: &'static str,
    },
}

impl Server {
    /// The value in the form of the file.
    pub(super) fn value(&self) -> CstInputValue {
        let mut fields: Vec<(String, CstInputValue)> = Vec::new();
        if let Some(kind) = self.kind {
            fields.push(("type".to_owned(), kind.into()));
        }
        if self.one_list {
            fields.push(("command".to_owned(), ARGV.to_vec().into()));
        } else {
            fields.push(("command".to_owned(), ARGV[0].into()));
            fields.push(("args".to_owned(), ARGV[1..].to_vec().into()));
        }
        if self.always_load {
            fields.push(("alwaysLoad".to_owned(), true.into()));
        }
        if !self.env_vars.is_empty() {
            fields.push(("env_vars".to_owned(), self.env_vars.to_vec().into()));
        }
        if self.all_tools {
            fields.push(("tools".to_owned(), vec![CstInputValue::from("*")].into()));
        }
        if self.in_transport {
            return vec![("transport".to_owned(), CstInputValue::from(fields))].into();
        }
        fields.into()
    }
}

impl Hooks {
    /// The element in the list of an event.
    pub(super) fn value(&self, event: &HookEvent) -> CstInputValue {
        let matcher = event.matcher.map(|matcher| ("matcher".to_owned(), matcher.into()));
        let command = ("command".to_owned(), self.command.into());
        let timeout = |key: &str| (key.to_owned(), self.timeout.into());
        match &self.layout {
            Layout::Groups { name } => {
                let name = name.map(|name| ("name".to_owned(), name.into()));
                let kind = ("type".to_owned(), "command".into());
                let handler: Vec<_> = name.into_iter().chain([kind, command, timeout("timeout")]).collect();
                let handlers = ("hooks".to_owned(), vec![CstInputValue::from(handler)].into());
                matcher.into_iter().chain([handlers]).collect::<Vec<_>>().into()
            }
            Layout::Flat { kind, timeout: key, by_shell, .. } => {
                let kind = kind.map(|kind| ("type".to_owned(), kind.into()));
                let commands = if *by_shell {
                    let bash = format!("{WHERE_THERE_IS_HM}{}", self.command);
                    let powershell = format!("{}; exit 0", self.command);
                    vec![("bash".to_owned(), bash.into()), ("powershell".to_owned(), powershell.into())]
                } else {
                    vec![command]
                };
                let fields = kind.into_iter().chain(matcher).chain(commands).chain([timeout(key)]);
                fields.collect::<Vec<(String, CstInputValue)>>().into()
            }
            Layout::Plugin { text } => (*text).into(),
        }
    }

    /// The handlers in one element of an event's list.
    pub(super) fn handlers<'v>(&self, element: &'v Value) -> Vec<&'v Value> {
        match self.layout {
            Layout::Groups { .. } => element["hooks"].as_array().into_iter().flatten().collect(),
            Layout::Flat { .. } => vec![element],
            Layout::Plugin { .. } => Vec::new(),
        }
    }

    /// The command of a handler, without the part that lets it succeed when `hm` is missing.
    pub(super) fn command_of<'v>(&self, handler: &'v Value) -> Option<&'v str> {
        let by_shell = matches!(self.layout, Layout::Flat { by_shell: true, .. });
        let command = handler["bash"].as_str().filter(|_| by_shell).or(handler["command"].as_str())?;
        Some(command.strip_prefix(WHERE_THERE_IS_HM).unwrap_or(command))
    }

    /// Whether a handler runs exactly our command.
    pub(super) fn is_ours(&self, handler: &Value) -> bool {
        self.command_of(handler) == Some(self.command)
    }

    /// Whether a command runs our hook, with any path and any arguments.
    pub(super) fn is_meant(&self, command: &str) -> bool {
        let wanted = self.command.split(' ').skip(1);
        let mut words = command.split_whitespace();
        words.next().is_some_and(is_hm) && words.by_ref().take(2).eq(wanted)
    }
}

/// Whether a command starts our server, with any path and any arguments.
pub(super) fn is_ours(argv: &[String]) -> bool {
    matches!(argv, [program, verb, ..] if is_hm(program) && verb == ARGV[1])
}

fn is_hm(program: &str) -> bool {
    let name = program.trim_matches(['"', '\'']).rsplit(['/', '\\']).next().unwrap_or_default();
    name == ARGV[0] || name.eq_ignore_ascii_case("hm.exe")
}
