//! The clients that agents run in: the list of them, their configuration files, and what Hivemind writes there.

mod edit;
mod entry;
mod in_json;
mod in_toml;
mod install;
mod marks;
mod plugins;
mod printed;
mod trust;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

pub use edit::{Problem, Standing, add, argv, hook_commands, remove, standings};
pub use entry::{Entry, HookEvent, Hooks, Layout, Server};
pub use install::{Change, Edit, InstallError, Installed};
pub use marks::Mark;
pub use plugins::has_plugin;
pub use printed::{Snippet, printed};
pub use trust::{Trust, trust};

use crate::system::Environment;

/// The level of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The project: its repository has the files, for everyone who works in it.
    Project,
    /// The user: the files apply to every project on this machine.
    User,
}

/// A client and everything that Hivemind knows about its files.
#[derive(Debug)]
pub struct Client {
    /// Its name on our command line, in `hm hook NAME` and in the marks of hooks.
    pub name: &'static str,
    /// Its product name.
    pub title: &'static str,
    /// Its programs. The client is installed when the PATH has one of them.
    programs: &'static [&'static str],
    /// Files and directories that it leaves in a home directory or a project. One of them shows that it is used.
    signs: &'static [Spot],
    project: &'static [FileSpec],
    user: &'static [FileSpec],
}

/// A path below a directory that the environment determines.
#[derive(Debug, Clone, Copy)]
struct Spot(Base, &'static str);

/// The directories that contain files of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Project,
    Home,
    /// `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    Claude,
    /// The directory of `.claude.json`: `CLAUDE_CONFIG_DIR`, else the home directory.
    ClaudeState,
    /// `CODEX_HOME`, else `~/.codex`.
    Codex,
    /// `XDG_CONFIG_HOME`, else `~/.config`.
    Config,
    /// The user directory of VS Code.
    VsCode,
    /// `COPILOT_HOME`, else `~/.copilot`.
    Copilot,
}

/// A file that can have several names: the first one that exists, else the last.
#[derive(Debug)]
struct FileSpec {
    spots: &'static [Spot],
    entries: &'static [Entry],
}

/// A file of a client, and the entries for it.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    /// Its path, whether it exists or not.
    pub path: PathBuf,
    /// The entries that Hivemind writes there.
    pub entries: &'static [Entry],
}

/// The entries that `hm init` writes only when a person asks for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extras {
    /// The status line of Claude Code.
    pub status_line: bool,
    /// The rule that lets Claude Code call our tools without asking.
    pub allow_rule: bool,
}

impl Extras {
    /// Every such entry.
    pub const ALL: Self = Self { status_line: true, allow_rule: true };
}

/// The directories of one project and one user, and the user's PATH.
#[derive(Debug, Clone)]
pub struct Places {
    root: PathBuf,
    home: Option<PathBuf>,
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
    copilot: Option<PathBuf>,
    config: Option<PathBuf>,
    search_path: Option<OsString>,
}

impl Places {
    /// The places of a project for the user of an environment.
    pub fn new(root: &Path, environment: &Environment) -> Self {
        Self {
            root: root.to_owned(),
            home: environment.home.clone(),
            claude: environment.claude_dir.clone(),
            codex: environment.codex_home.clone(),
            copilot: environment.copilot_home.clone(),
            config: environment.config_home.clone(),
            search_path: environment.search_path.clone(),
        }
    }

    /// The root of the project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a program, as a shell of this user finds it.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        which::which_in(name, self.search_path.as_ref(), &self.root).ok()
    }

    fn dir(&self, base: Base) -> Option<PathBuf> {
        let home = |below: &str| self.home.as_ref().map(|home| home.join(below));
        match base {
            Base::Project => Some(self.root.clone()),
            Base::Home => self.home.clone(),
            Base::Claude => self.claude.clone().or_else(|| home(".claude")),
            Base::ClaudeState => self.claude.clone().or_else(|| self.home.clone()),
            Base::Codex => self.codex.clone().or_else(|| home(".codex")),
            Base::Copilot => self.copilot.clone().or_else(|| home(".copilot")),
            Base::Config => self.config.clone().or_else(|| home(".config")),
            Base::VsCode if cfg!(target_os = "macos") => home("Library/Application Support/Code/User"),
            Base::VsCode if cfg!(windows) => home("AppData/Roaming/Code/User"),
            Base::VsCode => self.dir(Base::Config).map(|config| config.join("Code/User")),
        }
    }

    fn path(&self, Spot(base, below): &Spot) -> Option<PathBuf> {
        self.dir(*base).map(|dir| dir.join(below))
    }
}

impl ConfigFile {
    /// The same file with the entries that a person asked for, if its client has them.
    #[must_use]
    pub fn with(self, extras: Extras) -> Self {
        let is_meant =
            |entry: &Entry| matches!(entry, Entry::Hooks(hooks) if hooks.command == CLAUDE_COMMAND);
        if !self.entries.iter().any(is_meant) {
            return self;
        }
        let entries = match (extras.status_line, extras.allow_rule) {
            (false, false) => self.entries,
            (true, false) => &[CLAUDE_HOOKS, Entry::StatusLine],
            (false, true) => &[CLAUDE_HOOKS, Entry::AllowRule],
            (true, true) => &[CLAUDE_HOOKS, Entry::StatusLine, Entry::AllowRule],
        };
        Self { entries, ..self }
    }

    /// Whether a text of this file has a status line of its user.
    pub fn has_other_status_line(&self, text: &str) -> bool {
        let standings = standings(self, text).unwrap_or_default();
        let of_entries = self.entries.iter().zip(standings);
        of_entries.into_iter().any(|(entry, standing)| {
            matches!((entry, standing), (Entry::StatusLine, Standing::Foreign | Standing::Adapted))
        })
    }

    /// The text of the file; `None` when the file is missing.
    ///
    /// # Errors
    /// The error of the file system. `InvalidData` when the file is not UTF-8.
    pub fn text(&self) -> io::Result<Option<String>> {
        text_of(&self.path)
    }
}

fn text_of(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Client {
    /// The client with this name; `None` when Hivemind does not know it.
    pub fn named(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Whether it is on this machine or used in this project.
    pub fn is_found(&self, places: &Places) -> bool {
        self.is_installed(places) || self.left_signs(places, |base| base == Base::Project)
    }

    /// Whether it is on this machine. Files of the project do not count: a colleague may use them.
    pub fn is_installed(&self, places: &Places) -> bool {
        self.programs.iter().any(|program| places.program(program).is_some())
            || self.left_signs(places, |base| base != Base::Project)
    }

    fn left_signs(&self, places: &Places, below: impl Fn(Base) -> bool) -> bool {
        let signs = self.signs.iter().filter(|Spot(base, _)| below(*base));
        signs.filter_map(|sign| places.path(sign)).any(|path| path.exists())
    }

    /// The files that `hm init` writes; empty at user level when the home directory is unknown.
    pub fn files(&self, level: Level, places: &Places) -> Vec<ConfigFile> {
        let chosen = |spec: &FileSpec| {
            let paths: Vec<_> = spec.spots.iter().filter_map(|spot| places.path(spot)).collect();
            let path = paths.iter().find(|path| path.exists()).or(paths.last())?;
            Some(ConfigFile { path: path.clone(), entries: spec.entries })
        };
        self.specs(level).iter().filter_map(chosen).collect()
    }

    /// Every file that any `hm init` may have written.
    pub fn every_file(&self, level: Level, places: &Places) -> Vec<ConfigFile> {
        let all = |spec: &FileSpec| {
            let entries = spec.entries;
            let paths = spec.spots.iter().filter_map(|spot| places.path(spot));
            paths.map(move |path| ConfigFile { path, entries }).collect::<Vec<_>>()
        };
        self.specs(level).iter().flat_map(all).collect()
    }

    /// Whether it reads this file.
    pub fn reads(&self, path: &Path, level: Level, places: &Places) -> bool {
        self.every_file(level, places).iter().any(|file| file.path == path)
    }

    /// Whether a file of it other than this one holds an entry of ours.
    pub fn is_configured_beside(&self, path: &Path, level: Level, places: &Places) -> bool {
        let is_ours = |file: &ConfigFile| {
            let text = file.text().ok().flatten().unwrap_or_default();
            let standings = standings(file, &text).unwrap_or_default();
            standings.iter().any(|standing| matches!(standing, Standing::Ours | Standing::Adapted))
        };
        self.every_file(level, places).iter().any(|file| file.path != path && is_ours(file))
    }

    /// The hooks of this client; `None` when it has none.
    pub fn hooks(&self) -> Option<&'static Hooks> {
        self.project.iter().flat_map(|spec| spec.entries).find_map(|entry| match entry {
            Entry::Hooks(hooks) => Some(hooks),
            Entry::Server(_) | Entry::StatusLine | Entry::AllowRule => None,
        })
    }

    /// Whether settings of this client run one of our hooks with another command than `command`.
    pub fn has_other_hooks(&self, places: &Places, command: &str) -> bool {
        let Some(hooks) = self.hooks().filter(|hooks| hooks.command != command) else { return false };
        let files = [Level::Project, Level::User].map(|level| self.files(level, places));
        files.iter().flatten().any(|file| {
            let text = file.text().ok().flatten().unwrap_or_default();
            let runs = |event: &HookEvent| {
                hook_commands(file, &text, event.name).is_ok_and(|found| !found.is_empty())
            };
            hooks.events.iter().any(runs)
        })
    }

    fn specs(&self, level: Level) -> &'static [FileSpec] {
        match level {
            Level::Project => self.project,
            Level::User => self.user,
        }
    }
}

/// The base of server entries, which differ little between clients.
const SERVER: Server = Server {
    at: "mcpServers",
    kind: None,
    one_list: false,
    always_load: false,
    env_vars: &[],
    all_tools: false,
    in_transport: false,
};
/// `mcpServers` for clients that assume a local command.
const PLAIN_SERVER: Entry = Entry::Server(SERVER);
/// `mcpServers` for clients that need the transport.
const STDIO_SERVER: Entry = Entry::Server(Server { kind: Some("stdio"), ..SERVER });
/// Claude Code shows its model only the names of tools unless the entry asks it to load them.
const CLAUDE_SERVER: Entry = Entry::Server(Server { kind: Some("stdio"), always_load: true, ..SERVER });
/// Codex passes a server only the variables that the entry names: those for the agent and the workspace, and
/// those by which every pane finds keys and sockets.
const CODEX_SERVER: Entry = Entry::Server(Server {
    at: "mcp_servers",
    env_vars: &["HM_DIR", "HM_AGENT", "HM_SESSION", "HM_TASK", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"],
    ..SERVER
});
const VSCODE_SERVER: Entry = Entry::Server(Server { at: "servers", kind: Some("stdio"), ..SERVER });
const OPENCODE_SERVER: Entry =
    Entry::Server(Server { at: "mcp", kind: Some("local"), one_list: true, ..SERVER });
/// For the home directory. In a project, Copilot CLI reads the file of Claude Code.
const COPILOT_SERVER: Entry = Entry::Server(Server { kind: Some("local"), all_tools: true, ..SERVER });
const CLINE_SERVER: Entry = Entry::Server(Server { kind: Some("stdio"), in_transport: true, ..SERVER });

/// An event of a client. Without a matcher it fires for everything.
const fn event(name: &'static str, matcher: Option<&'static str>) -> HookEvent {
    HookEvent { name, matcher }
}

/// The command of the hooks of Claude Code.
const CLAUDE_COMMAND: &str = "hm hook claude";

const CLAUDE_HOOKS: Entry = Entry::Hooks(Hooks {
    command: CLAUDE_COMMAND,
    events: &[
        event("SessionStart", Some("startup|resume|clear|compact|fork")),
        event("UserPromptSubmit", None),
        event("PreToolUse", Some("Edit|Write|Bash")),
        event("PostToolUse", None),
        event("PostToolUseFailure", None),
        event("Stop", None),
        event("SessionEnd", None),
    ],
    before_tool: "PreToolUse",
    layout: Layout::Groups { name: None },
    timeout: 5,
    context_chars: Some(10_000),
});

/// Codex has no event for a failed tool, and its editor tool is `apply_patch`. The command must not change
/// between releases: the user's trust is bound to it. A timeout over 3 s at the end of a session shows the user
/// a warning.
const CODEX_HOOKS: Entry = Entry::Hooks(Hooks {
    command: "hm hook codex",
    events: &[
        event("SessionStart", Some("startup|resume|clear|compact")),
        event("UserPromptSubmit", None),
        event("PreToolUse", Some("Bash|apply_patch|Edit|Write")),
        event("PostToolUse", None),
        event("Stop", None),
        event("SessionEnd", None),
    ],
    before_tool: "PreToolUse",
    layout: Layout::Groups { name: None },
    timeout: 3,
    context_chars: Some(10_000),
});

/// No hook before compression: Gemini CLI calls `PreCompress` before every request to its model.
const GEMINI_HOOKS: Entry = Entry::Hooks(Hooks {
    command: "hm hook gemini",
    events: &[
        event("SessionStart", None),
        event("BeforeAgent", None),
        event("BeforeTool", Some("write_file|replace|run_shell_command")),
        event("AfterTool", None),
        event("SessionEnd", None),
    ],
    before_tool: "BeforeTool",
    layout: Layout::Groups { name: Some("hivemind") },
    timeout: 5_000,
    context_chars: None,
});

const CURSOR_HOOKS: Entry = Entry::Hooks(Hooks {
    command: "hm hook cursor",
    events: &[
        event("sessionStart", None),
        event("beforeSubmitPrompt", None),
        event("preToolUse", Some("Shell|Write")),
        event("postToolUse", None),
        event("postToolUseFailure", None),
        event("stop", None),
        event("sessionEnd", None),
    ],
    before_tool: "preToolUse",
    layout: Layout::Flat { version: 1, kind: None, timeout: "timeout", by_shell: false },
    timeout: 5,
    context_chars: None,
});

/// VS Code runs these hooks too. It has other names for tools, so there is no matcher. Copilot CLI 1.0.102
/// denies every tool when a hook before it fails, even because the program is missing.
const COPILOT_HOOKS: Entry = Entry::Hooks(Hooks {
    command: "hm hook copilot",
    events: &[
        event("sessionStart", None),
        event("userPromptSubmitted", None),
        event("preToolUse", None),
        event("postToolUse", None),
        event("postToolUseFailure", None),
        event("agentStop", None),
        event("sessionEnd", None),
    ],
    before_tool: "preToolUse",
    layout: Layout::Flat { version: 1, kind: Some("command"), timeout: "timeoutSec", by_shell: true },
    timeout: 5,
    context_chars: None,
});

/// No hook before a tool: Qwen Code does not show its output to the model.
const QWEN_HOOKS: Entry = Entry::Hooks(Hooks {
    command: "hm hook qwen",
    events: &[
        event("SessionStart", None),
        event("UserPromptSubmit", None),
        event("PostToolUse", None),
        event("PostToolUseFailure", None),
        event("Stop", None),
        event("SessionEnd", None),
    ],
    before_tool: "PreToolUse",
    layout: Layout::Groups { name: Some("hivemind") },
    timeout: 5_000,
    context_chars: None,
});

const OPENCODE_HOOKS: Entry = Entry::Hooks(Hooks {
    command: "hm hook opencode",
    events: &[
        event("session.start", None),
        event("chat.message", None),
        event("tool.execute.before", None),
        event("tool.execute.after", None),
        event("experimental.session.compacting", None),
        event("session.end", None),
    ],
    before_tool: "tool.execute.before",
    layout: Layout::Plugin { text: include_str!("clients/opencode.js") },
    timeout: 5_000,
    context_chars: None,
});

/// Every client that `hm init` writes for, according to their documentation of November 2026.
pub static CLIENTS: &[Client] = &[
    Client {
        name: "claude",
        title: "Claude Code",
        programs: &["claude"],
        signs: &[
            Spot(Base::Claude, ""),
            Spot(Base::ClaudeState, ".claude.json"),
            Spot(Base::Project, ".claude"),
            Spot(Base::Project, ".mcp.json"),
        ],
        project: &[
            FileSpec { spots: &[Spot(Base::Project, ".mcp.json")], entries: &[CLAUDE_SERVER] },
            FileSpec { spots: &[Spot(Base::Project, ".claude/settings.json")], entries: &[CLAUDE_HOOKS] },
        ],
        user: &[
            FileSpec { spots: &[Spot(Base::ClaudeState, ".claude.json")], entries: &[CLAUDE_SERVER] },
            FileSpec { spots: &[Spot(Base::Claude, "settings.json")], entries: &[CLAUDE_HOOKS] },
        ],
    },
    Client {
        name: "codex",
        title: "Codex",
        programs: &["codex"],
        signs: &[Spot(Base::Codex, ""), Spot(Base::Project, ".codex")],
        project: &[
            FileSpec { spots: &[Spot(Base::Project, ".codex/config.toml")], entries: &[CODEX_SERVER] },
            FileSpec { spots: &[Spot(Base::Project, ".codex/hooks.json")], entries: &[CODEX_HOOKS] },
        ],
        user: &[
            FileSpec { spots: &[Spot(Base::Codex, "config.toml")], entries: &[CODEX_SERVER] },
            FileSpec { spots: &[Spot(Base::Codex, "hooks.json")], entries: &[CODEX_HOOKS] },
        ],
    },
    Client {
        name: "gemini",
        title: "Gemini CLI",
        programs: &["gemini"],
        signs: &[Spot(Base::Home, ".gemini/settings.json"), Spot(Base::Project, ".gemini")],
        project: &[FileSpec {
            spots: &[Spot(Base::Project, ".gemini/settings.json")],
            entries: &[PLAIN_SERVER, GEMINI_HOOKS],
        }],
        user: &[FileSpec {
            spots: &[Spot(Base::Home, ".gemini/settings.json")],
            entries: &[PLAIN_SERVER, GEMINI_HOOKS],
        }],
    },
    Client {
        name: "antigravity",
        title: "Antigravity",
        programs: &["agy", "antigravity"],
        signs: &[
            Spot(Base::Home, ".antigravity"),
            Spot(Base::Home, ".gemini/antigravity"),
            Spot(Base::Home, ".gemini/antigravity-cli"),
            Spot(Base::Project, ".agents/mcp_config.json"),
        ],
        project: &[FileSpec {
            spots: &[Spot(Base::Project, ".agents/mcp_config.json")],
            entries: &[PLAIN_SERVER],
        }],
        user: &[FileSpec {
            spots: &[Spot(Base::Home, ".gemini/config/mcp_config.json")],
            entries: &[PLAIN_SERVER],
        }],
    },
    Client {
        name: "opencode",
        title: "opencode",
        programs: &["opencode", "opencode2"],
        signs: &[
            Spot(Base::Config, "opencode"),
            Spot(Base::Project, ".opencode"),
            Spot(Base::Project, "opencode.json"),
            Spot(Base::Project, "opencode.jsonc"),
        ],
        project: &[
            FileSpec {
                spots: &[
                    Spot(Base::Project, "opencode.jsonc"),
                    Spot(Base::Project, ".opencode/opencode.jsonc"),
                    Spot(Base::Project, ".opencode/opencode.json"),
                    Spot(Base::Project, "opencode.json"),
                ],
                entries: &[OPENCODE_SERVER],
            },
            FileSpec {
                spots: &[Spot(Base::Project, ".opencode/plugins/hivemind.js")],
                entries: &[OPENCODE_HOOKS],
            },
        ],
        user: &[
            FileSpec {
                spots: &[
                    Spot(Base::Config, "opencode/opencode.jsonc"),
                    Spot(Base::Config, "opencode/opencode.json"),
                ],
                entries: &[OPENCODE_SERVER],
            },
            FileSpec {
                spots: &[Spot(Base::Config, "opencode/plugins/hivemind.js")],
                entries: &[OPENCODE_HOOKS],
            },
        ],
    },
    Client {
        name: "vscode",
        title: "VS Code",
        programs: &["code"],
        signs: &[Spot(Base::VsCode, ""), Spot(Base::Project, ".vscode")],
        project: &[
            FileSpec { spots: &[Spot(Base::Project, ".vscode/mcp.json")], entries: &[VSCODE_SERVER] },
            FileSpec {
                spots: &[Spot(Base::Project, ".github/hooks/hivemind.json")],
                entries: &[COPILOT_HOOKS],
            },
        ],
        user: &[
            FileSpec { spots: &[Spot(Base::VsCode, "mcp.json")], entries: &[VSCODE_SERVER] },
            FileSpec { spots: &[Spot(Base::Copilot, "hooks/hivemind.json")], entries: &[COPILOT_HOOKS] },
        ],
    },
    Client {
        name: "cursor",
        title: "Cursor",
        programs: &["cursor", "cursor-agent"],
        signs: &[Spot(Base::Home, ".cursor"), Spot(Base::Project, ".cursor")],
        project: &[
            FileSpec { spots: &[Spot(Base::Project, ".cursor/mcp.json")], entries: &[STDIO_SERVER] },
            FileSpec { spots: &[Spot(Base::Project, ".cursor/hooks.json")], entries: &[CURSOR_HOOKS] },
        ],
        user: &[
            FileSpec { spots: &[Spot(Base::Home, ".cursor/mcp.json")], entries: &[STDIO_SERVER] },
            FileSpec { spots: &[Spot(Base::Home, ".cursor/hooks.json")], entries: &[CURSOR_HOOKS] },
        ],
    },
    Client {
        name: "copilot",
        title: "Copilot CLI",
        programs: &["copilot"],
        signs: &[Spot(Base::Copilot, ""), Spot(Base::Project, ".github/hooks")],
        project: &[
            FileSpec { spots: &[Spot(Base::Project, ".mcp.json")], entries: &[CLAUDE_SERVER] },
            FileSpec {
                spots: &[Spot(Base::Project, ".github/hooks/hivemind.json")],
                entries: &[COPILOT_HOOKS],
            },
        ],
        user: &[
            FileSpec { spots: &[Spot(Base::Copilot, "mcp-config.json")], entries: &[COPILOT_SERVER] },
            FileSpec { spots: &[Spot(Base::Copilot, "hooks/hivemind.json")], entries: &[COPILOT_HOOKS] },
        ],
    },
    Client {
        name: "qwen",
        title: "Qwen Code",
        programs: &["qwen"],
        signs: &[Spot(Base::Home, ".qwen"), Spot(Base::Project, ".qwen")],
        project: &[FileSpec {
            spots: &[Spot(Base::Project, ".qwen/settings.json")],
            entries: &[PLAIN_SERVER, QWEN_HOOKS],
        }],
        user: &[FileSpec {
            spots: &[Spot(Base::Home, ".qwen/settings.json")],
            entries: &[PLAIN_SERVER, QWEN_HOOKS],
        }],
    },
    Client {
        name: "cline",
        title: "Cline",
        programs: &["cline"],
        signs: &[Spot(Base::Home, ".cline")],
        // Cline has servers at user level only.
        project: &[],
        user: &[FileSpec {
            spots: &[Spot(Base::Home, ".cline/data/settings/cline_mcp_settings.json")],
            entries: &[CLINE_SERVER],
        }],
    },
];
