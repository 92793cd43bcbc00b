//! The clients that agents run in: which there are, which files configure them, and what Hivemind writes there.

mod edit;
mod entry;
mod in_json;
mod in_toml;
mod install;
mod marks;
mod printed;
mod trust;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

pub use edit::{Problem, Standing, add, argv, hook_commands, remove, standings};
pub use entry::{Entry, HookEvent, Hooks, Layout, Server};
pub use install::{Change, InstallError, Installed, Outcome};
pub use marks::Mark;
pub use printed::{Snippet, printed};
pub use trust::{Trust, trust};

use crate::system::Environment;

/// Whose configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// That of the project: committed, for everybody who works in it.
    Project,
    /// That of the user: for every project on this machine.
    User,
}

/// A client, and all that is known about its files.
#[derive(Debug)]
pub struct Client {
    /// What it is called on our command line, in `hm hook NAME` and in the marks of hooks.
    pub name: &'static str,
    /// What its makers call it.
    pub title: &'static str,
    /// Its programs: one of them on the PATH and it is installed.
    programs: &'static [&'static str],
    /// What it leaves in a home directory or a project: one of them and it is used.
    signs: &'static [Spot],
    project: &'static [FileSpec],
    user: &'static [FileSpec],
}

/// A file below a directory that the environment names.
#[derive(Debug, Clone, Copy)]
struct Spot(Base, &'static str);

/// Directories that files of clients lie below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Project,
    Home,
    /// `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    Claude,
    /// Where `.claude.json` lies: `CLAUDE_CONFIG_DIR`, else the home directory.
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

/// A file that may be written under several names: the first that is there counts, else the last.
#[derive(Debug)]
struct FileSpec {
    spots: &'static [Spot],
    entries: &'static [Entry],
}

/// A file of a client, and what belongs into it.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// What Hivemind writes there.
    pub entries: &'static [Entry],
}

/// The directories of one project and one user.
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
    /// Those of a project in an environment.
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

    /// The project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A program of this name, as a shell of this user finds it.
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
    /// Its text; none when there is no file.
    ///
    /// # Errors
    /// What the file system said; also when it is no text.
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
    /// The client of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Whether it is on this machine or in this project.
    pub fn is_found(&self, places: &Places) -> bool {
        self.is_installed(places) || self.left_signs(places, |base| base == Base::Project)
    }

    /// Whether it is on this machine: what a project holds may be a colleague's.
    pub fn is_installed(&self, places: &Places) -> bool {
        self.programs.iter().any(|program| places.program(program).is_some())
            || self.left_signs(places, |base| base != Base::Project)
    }

    fn left_signs(&self, places: &Places, below: impl Fn(Base) -> bool) -> bool {
        let signs = self.signs.iter().filter(|Spot(base, _)| below(*base));
        signs.filter_map(|sign| places.path(sign)).any(|path| path.exists())
    }

    /// The files that `hm init` writes; none where no home directory is known.
    pub fn files(&self, level: Level, places: &Places) -> Vec<ConfigFile> {
        let chosen = |spec: &FileSpec| {
            let paths: Vec<_> = spec.spots.iter().filter_map(|spot| places.path(spot)).collect();
            let path = paths.iter().find(|path| path.exists()).or(paths.last())?;
            Some(ConfigFile { path: path.clone(), entries: spec.entries })
        };
        self.specs(level).iter().filter_map(chosen).collect()
    }

    /// Every file that `hm init` may ever have written.
    pub fn every_file(&self, level: Level, places: &Places) -> Vec<ConfigFile> {
        let all = |spec: &FileSpec| {
            let entries = spec.entries;
            let paths = spec.spots.iter().filter_map(|spot| places.path(spot));
            paths.map(move |path| ConfigFile { path, entries }).collect::<Vec<_>>()
        };
        self.specs(level).iter().flat_map(all).collect()
    }

    /// The hooks of this client, if it has any.
    pub fn hooks(&self) -> Option<&'static Hooks> {
        self.project.iter().flat_map(|spec| spec.entries).find_map(|entry| match entry {
            Entry::Hooks(hooks) => Some(hooks),
            Entry::Server(_) => None,
        })
    }

    /// Whether settings of this client run a hook of ours, whose command is not `command`.
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

/// An entry of which clients differ in little.
const SERVER: Server = Server {
    at: "mcpServers",
    kind: None,
    one_list: false,
    always_load: false,
    env_vars: &[],
    all_tools: false,
    in_transport: false,
};
/// `mcpServers`, as clients write it that take a command for granted.
const PLAIN_SERVER: Entry = Entry::Server(SERVER);
/// `mcpServers`, with the transport named.
const STDIO_SERVER: Entry = Entry::Server(Server { kind: Some("stdio"), ..SERVER });
/// Claude Code tells its model but the names of tools, unless it is asked to load them.
const CLAUDE_SERVER: Entry = Entry::Server(Server { kind: Some("stdio"), always_load: true, ..SERVER });
/// Codex gives a server no variable that it does not know or is not told: who speaks, where the workspace is, and where
/// every other pane looks for keys and sockets.
const CODEX_SERVER: Entry = Entry::Server(Server {
    at: "mcp_servers",
    env_vars: &["HM_DIR", "HM_AGENT", "HM_SESSION", "HM_TASK", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"],
    ..SERVER
});
const VSCODE_SERVER: Entry = Entry::Server(Server { at: "servers", kind: Some("stdio"), ..SERVER });
const OPENCODE_SERVER: Entry =
    Entry::Server(Server { at: "mcp", kind: Some("local"), one_list: true, ..SERVER });
/// Below the home directory; in a project Copilot CLI reads what Claude Code does.
const COPILOT_SERVER: Entry = Entry::Server(Server { kind: Some("local"), all_tools: true, ..SERVER });
const CLINE_SERVER: Entry = Entry::Server(Server { kind: Some("stdio"), in_transport: true, ..SERVER });

/// An event without a matcher fires for everything.
const fn event(name: &'static str, matcher: Option<&'static str>) -> HookEvent {
    HookEvent { name, matcher }
}

const CLAUDE_HOOKS: Entry = Entry::Hooks(Hooks {
    command: "hm hook claude",
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

/// Codex has no event for a tool that failed, and calls its editor `apply_patch`. The command is never changed
/// between releases: the user's trust is bound to it. More than 3 s at the end of a session gets the user a warning.
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

/// Nothing before it compresses: Gemini CLI calls `PreCompress` before every request to its model.
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

/// VS Code runs them too. It calls tools by other names, so that nothing is matched. Copilot CLI 1.0.102 denies every tool
/// when a hook before it fails, be it because there is no such program.
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

/// Nothing before a tool: Qwen Code keeps from its model what is said there.
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

/// Every client we write for, as their documentation of November 2026 has it.
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
        // Cline has servers for a user only.
        project: &[],
        user: &[FileSpec {
            spots: &[Spot(Base::Home, ".cline/data/settings/cline_mcp_settings.json")],
            entries: &[CLINE_SERVER],
        }],
    },
];
