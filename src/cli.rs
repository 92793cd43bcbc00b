//! The command line: what humans and hooks use. Arguments become types, types become a command or a view.

mod demo;
mod init;
mod output;
mod serve;
mod writer;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::config::Config;
use crate::domain::ids::SessionId;
use crate::domain::rejection::{Code, Rejection};
use crate::identity::Caller;
use crate::system::{self, Environment};
use crate::workspace::Workspace;
use crate::writer::Front;

pub use output::Failure;

/// One shared, evidence-backed memory for a team of LLM coding agents.
#[derive(Debug, Parser)]
#[command(name = "hm", version, propagate_version = true, after_help = "Start with: hm init, then hm demo")]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    verb: Verb,
}

/// Options every verb takes.
#[derive(Debug, Clone, Default, Args)]
struct Global {
    /// The workspace, instead of the nearest .hivemind at or above this directory (env HM_DIR)
    #[arg(long, global = true, value_name = "PATH")]
    dir: Option<PathBuf>,
    /// Who speaks, a name or alias of the roster (env HM_AGENT)
    #[arg(long, global = true, value_name = "NAME")]
    agent: Option<String>,
    /// Answer in JSON, for programs
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make this directory a workspace
    #[command(after_help = "Example: cd my-project && hm init")]
    Init,
    /// Watch four agents share a memory: a story through real processes, in a temporary workspace
    #[command(after_help = "Examples:\n  hm demo\n  hm demo --keep\n  hm demo --json")]
    Demo(demo::Demo),
    /// Serve MCP over stdio, as a client starts it
    #[command(after_help = "Example: hm serve --agent devops")]
    Serve(serve::Serve),
    /// Be the one process that writes; started on demand, seldom by hand
    #[command(after_help = "Example: hm writer")]
    Writer(writer::Writer),
}

/// Where a verb runs: workspace, settings, caller.
struct Context {
    workspace: Workspace,
    config: Config,
    environment: Environment,
    global: Global,
}

impl Context {
    fn find(global: Global) -> Result<Self, Failure> {
        let environment = Environment::read();
        let named = global.dir.clone().or_else(|| environment.dir.clone().map(PathBuf::from));
        let here = std::env::current_dir().map_err(Failure::internal)?;
        let workspace = Workspace::find(named.as_deref(), &here, environment.runtime_dir.as_deref())
            .map_err(Failure::usage)?;
        let config = Config::load(&workspace.config()).map_err(Failure::usage)?;
        Ok(Self { workspace, config, environment, global })
    }

    /// Who speaks: `--agent`, else `HM_AGENT`, else nobody yet.
    fn caller(&self) -> Result<Caller, Failure> {
        let named = self.global.agent.as_deref().or(self.environment.agent.as_deref());
        Ok(Caller::new(self.config.roster.clone(), named, self.session())?)
    }

    /// The client's session, else one of this process.
    fn session(&self) -> SessionId {
        let given = self.environment.session.as_deref().and_then(|session| session.parse().ok());
        given.unwrap_or_else(|| {
            let fresh = format!("hm-{}", system::new_id());
            fresh.parse().expect("a UUID is a short printable line")
        })
    }

    fn front(&self) -> Result<Front, Failure> {
        let binary = std::env::current_exe().map_err(Failure::internal)?;
        Ok(Front::new(self.workspace.clone(), binary))
    }
}

/// Parses the command line, runs it, and turns the outcome into an exit code: 0 ok (also queued),
/// 1 rejected, 2 usage or invalid, 70 internal, 75 busy.
pub fn main() -> ExitCode {
    let Cli { global, verb } = Cli::parse();
    start_logging();
    let json = global.json;
    match run(global, verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}

fn run(global: Global, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Init => init::run(&global),
        Verb::Demo(args) => args.run(&global),
        Verb::Serve(args) => args.run(&Context::find(global)?),
        Verb::Writer(args) => args.run(&Context::find(global)?),
    }
}

/// Logs go to stderr: stdout is the protocol. `HM_LOG` sets the level (default: warn).
fn start_logging() {
    let filter = tracing_subscriber::EnvFilter::builder()
        .with_env_var("HM_LOG")
        .with_default_directive(tracing::level_filters::LevelFilter::WARN.into())
        .from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
}

/// A runtime on this thread: a front waits for one thing at a time.
fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::internal)?
        .block_on(future)
}

/// The refusal of a verb that needs to know who speaks.
fn nobody_speaks() -> Rejection {
    Rejection::new(
        Code::AgentRequired,
        "nobody says who is speaking",
        "pass --agent NAME or set HM_AGENT; without either only a human at a terminal is the operator",
    )
}
