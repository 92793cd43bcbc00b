//! What Hivemind writes into the file of a client, and how it is told from what others wrote there.
//!
//! Ours is a server named `hivemind` whose command is `hm serve`, with whatever arguments follow, and a hook whose
//! command is exactly `hm hook CLIENT`. Everything else belongs to the user.

use jsonc_parser::cst::CstInputValue;
use serde_json::Value;

/// The name of the server in every client; clients derive tool names from it, so it has no `_`.
pub(super) const SERVER: &str = "hivemind";
/// What makes a command of a POSIX shell succeed where there is no `hm`. The shell becomes `hm`: the parent of a hook is its
/// client, by which the client's server finds the session.
const WHERE_THERE_IS_HM: &str = "command -v hm >/dev/null || exit 0; exec ";
/// What a client starts.
pub(super) const ARGV: [&str; 2] = ["hm", "serve"];

/// One thing that stands in a file.
#[derive(Debug)]
pub enum Entry {
    /// The MCP server.
    Server(Server),
    /// The hooks.
    Hooks(Hooks),
}

/// How a client writes an MCP server.
#[derive(Debug)]
pub struct Server {
    /// The key of the object that maps names to servers. opencode 2 has one more, `servers`, below it; a file
    /// that uses it goes on doing so, and every other gets the form that both versions read.
    pub at: &'static str,
    /// The value of `type`, where the client wants one.
    pub kind: Option<&'static str>,
    /// Whether program and arguments are one list.
    pub one_list: bool,
    /// Whether the client is to show its model the tools at once, where it would rather not.
    pub always_load: bool,
    /// Variables to hand to the server, where the client keeps them to itself.
    pub env_vars: &'static [&'static str],
    /// Whether every tool is to be named as allowed, by `*`.
    pub all_tools: bool,
    /// Whether all this stands below `transport`.
    pub in_transport: bool,
}

/// How a client writes hooks.
#[derive(Debug)]
pub struct Hooks {
    /// What each of them runs.
    pub command: &'static str,
    /// When.
    pub events: &'static [HookEvent],
    /// Which of the events comes before a tool is run.
    pub before_tool: &'static str,
    /// How they are nested.
    pub layout: Layout,
    /// How long the client waits, in the client's own unit: far more than the second a hook may take.
    pub timeout: u32,
    /// How many characters of a hook's context the client lets through, where it says so.
    pub context_chars: Option<usize>,
}

/// One moment of a client.
#[derive(Debug)]
pub struct HookEvent {
    /// In the words of the client.
    pub name: &'static str,
    /// Of which tool, or which kind of start; all when there is none.
    pub matcher: Option<&'static str>,
}

/// How hooks are nested.
#[derive(Debug)]
pub enum Layout {
    /// Event -> groups with a matcher -> handlers.
    Groups {
        /// The name of a handler, where the client shows one.
        name: Option<&'static str>,
    },
    /// Event -> handlers, below a version of the format.
    Flat {
        /// The version.
        version: u32,
        /// The value of a handler's `type`, where the client wants one.
        kind: Option<&'static str>,
        /// The key of the time it waits.
        timeout: &'static str,
        /// Whether there is a command for each shell, which succeeds also where there is no `hm`: a client that takes a
        /// hook that fails for a refusal would let those do nothing who have none.
        by_shell: bool,
    },
    /// A file of program text, all of it ours, that runs the command at each event.
    Plugin {
        /// The file.
        text: &'static str,
    },
}

impl Server {
    /// The value as it is written.
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
    /// What stands in the list of an event.
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

    /// What a handler runs, without what makes it succeed everywhere.
    pub(super) fn command_of<'v>(&self, handler: &'v Value) -> Option<&'v str> {
        let by_shell = matches!(self.layout, Layout::Flat { by_shell: true, .. });
        let command = handler["bash"].as_str().filter(|_| by_shell).or(handler["command"].as_str())?;
        Some(command.strip_prefix(WHERE_THERE_IS_HM).unwrap_or(command))
    }

    /// Whether a handler is ours.
    pub(super) fn is_ours(&self, handler: &Value) -> bool {
        self.command_of(handler) == Some(self.command)
    }

    /// Whether a command runs our hook, by whatever path and with whatever arguments.
    pub(super) fn is_meant(&self, command: &str) -> bool {
        let wanted = self.command.split(' ').skip(1);
        let mut words = command.split_whitespace();
        words.next().is_some_and(is_hm) && words.by_ref().take(2).eq(wanted)
    }
}

/// Whether this starts our server, by whatever path and with whatever arguments.
pub(super) fn is_ours(argv: &[String]) -> bool {
    matches!(argv, [program, verb, ..] if is_hm(program) && verb == ARGV[1])
}

fn is_hm(program: &str) -> bool {
    let name = program.trim_matches(['"', '\'']).rsplit(['/', '\\']).next().unwrap_or_default();
    name == ARGV[0] || name.eq_ignore_ascii_case("hm.exe")
}
