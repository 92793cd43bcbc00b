//! The command line, for humans and hooks. It parses arguments into types, and types into a command or a view.

mod backfill;
mod backup;
mod because;
mod claim;
mod completions;
mod context;
mod contradictions;
mod decision;
mod demo;
mod doctor;
mod experiment;
mod export;
mod forget;
mod guard;
mod guards;
mod help;
mod hook;
mod import;
mod import_notes;
mod init;
mod lock;
mod log;
mod memory;
mod mirror;
mod mistakes;
mod names;
mod news;
mod output;
mod pattern;
mod plan;
mod playbook;
mod policy;
mod profile;
mod rebuild;
mod repair;
mod review;
mod roles;
#[cfg(unix)]
mod runner;
mod search;
mod serve;
mod session;
mod status;
mod statusline;
mod target;
mod token;
mod trace;
mod trust;
mod verbs;
mod verify;
mod watch;
mod web;
mod who;
mod work;
mod writer;

use std::cell::{Cell, OnceCell, RefCell};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::config::{Config, ConfigError};
use crate::domain::privacy::{Known, Secrets};
use crate::domain::receipt::Warning;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::time::Moment;
use crate::identity::Surroundings;
use crate::reads::Reads;
use crate::standing::Damage;
use crate::system::{self, Environment};
use crate::views::{self, View};
use crate::workspace::{WaitingRules, Workspace};
use verbs::{Cli, Global, Made, Verb, is_quiet, parsed, wants_json};

pub use output::Failure;

/// Aliases of `--reason`: the names that sibling verbs use for the same argument.
const REASON_TOO: [&str; 2] = ["note", "why"];
/// Aliases of `--note`.
const NOTE_TOO: [&str; 2] = ["reason", "why"];

/// The context of a verb: its workspace, its settings and its caller.
struct Context {
    workspace: Workspace,
    config: Config,
    environment: Environment,
    global: Global,
    /// The directory in which the verb is typed.
    here: PathBuf,
    /// Whether this process has recorded the override already.
    overrode: Cell<bool>,
    /// Warnings of the front itself, for the next receipt.
    told: RefCell<Vec<Warning>>,
    /// The secrets among the environment variables. They are read at first use, because most hooks need none.
    known: OnceCell<Known>,
}

impl Context {
    fn find(global: Global) -> Result<Self, Failure> {
        let here = current_dir()?;
        Self::at(global, &here)
    }

    /// Like [`Context::find`], but starts at `here` instead of the current directory.
    fn at(global: Global, here: &Path) -> Result<Self, Failure> {
        let environment = Environment::read();
        let workspace =
            Workspace::find(global.dir.as_deref(), here, &environment).map_err(Failure::usage)?.settled();
        Self::of(workspace, environment, global, here)
    }

    fn of(
        workspace: Workspace,
        environment: Environment,
        global: Global,
        here: &Path,
    ) -> Result<Self, Failure> {
        let config = in_force(&workspace).map_err(Failure::usage)?;
        Ok(Self::with(config, workspace, environment, global, here))
    }

    fn with(
        config: Config,
        workspace: Workspace,
        environment: Environment,
        global: Global,
        here: &Path,
    ) -> Self {
        names::print_from(&workspace, here);
        let here = here.to_owned();
        let (overrode, told, known) = (Cell::new(false), RefCell::default(), OnceCell::new());
        Self { workspace, config, environment, global, here, overrode, told, known }
    }

    /// Like [`Context::find`], but also works with invalid settings. It returns the default settings and the error.
    fn examined(global: Global) -> Result<(Self, Option<ConfigError>), Failure> {
        let here = current_dir()?;
        let environment = Environment::read();
        let workspace = Workspace::find(global.dir.as_deref(), &here, &environment);
        let workspace = workspace.map_err(Failure::usage)?.settled();
        let (config, fault) = match in_force(&workspace) {
            Ok(config) => (config, None),
            Err(fault) => (Config::defaults(), Some(fault)),
        };
        Ok((Self::with(config, workspace, environment, global, &here), fault))
    }
}

impl Context {
    /// The rules of config.toml that wait for a person. Before the first write none are recorded.
    fn waiting_rules(&self, reads: &mut Reads) -> Option<WaitingRules> {
        let recorded = reads.store().ok().flatten().and_then(|store| store.recorded_rules().ok());
        self.workspace.waiting_rules(recorded.unwrap_or_default())
    }
}

/// The settings in force: while config.toml says nothing, its last secret patterns and the last policy on record. In a
/// linked work tree the policy is that of the main one.
fn in_force(workspace: &Workspace) -> Result<Config, ConfigError> {
    let mut config = workspace.settings()?;
    config.allow_block = workspace.blocks(&config);
    if let Some(memory) = workspace.ruling_policy() {
        return Ok(Config { memory, ..config });
    }
    let is_linked = workspace.config() != workspace.ruling_config();
    if is_linked {
        config.memory = Config::defaults().memory;
    }
    let on_record = (is_linked || config.silence.is_some()).then_some(()).and_then(|()| {
        // A ledger that cannot be read is named by the verb that reads it.
        views::policy_on_record(&mut Reads::of(workspace.clone())).ok()?
    });
    Ok(Config { memory: on_record.unwrap_or_else(|| config.memory.clone()), ..config })
}

/// Parses the command line, runs the verb and returns its exit code: 0 ok (also queued), 1 rejected, 2 usage or
/// invalid, 70 internal, 75 busy.
pub fn main() -> ExitCode {
    let Cli { global, verb } = match parsed() {
        Ok(cli) => cli,
        // A client reads the exit code of a hook as a verdict on its tool, so a mistyped hook exits with 0.
        Err(problem) if is_quiet() && problem.use_stderr() => {
            let _ = problem.print();
            return ExitCode::SUCCESS;
        }
        // A help page is not an error and quotes no argument.
        Err(problem) if !problem.use_stderr() && wants_json() => {
            let page = output::print_json(&problem.render().to_string().into());
            return page.map_or_else(|failure| failure.report(true), |()| ExitCode::SUCCESS);
        }
        Err(problem) if !problem.use_stderr() => problem.exit(),
        Err(problem) => match guard::typed(&Secrets::default()) {
            Some(denial) => return Failure::usage(Rejection::from(denial)).report(wants_json()),
            None if wants_json() => return mistakes::failure(&problem).report(true),
            None => problem.exit(),
        },
    };
    start_logging();
    let json = global.json;
    match run(global, verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}

fn run(global: Global, verb: Verb) -> Result<(), Failure> {
    let reads = matches!(
        verb,
        Verb::Status(_)
            | Verb::Watch(_)
            | Verb::Context(_)
            | Verb::Attention(_)
            | Verb::Claim(_)
            | Verb::Decision(_)
            | Verb::Contradictions(_)
            | Verb::Pattern(_)
            | Verb::Target(_)
            | Verb::Guard(_)
            | Verb::Experiment(_)
            | Verb::Plan(_)
            | Verb::Task(_)
            | Verb::Lock(_)
            | Verb::Anchor(_)
            | Verb::Memory(_)
            | Verb::Trace(_)
            | Verb::Session(_)
            | Verb::Belief(_)
            | Verb::Playbook(_)
            | Verb::Calibration
            | Verb::Log(_)
    );
    if global.at.is_some() && !reads {
        return Err(Failure::usage("--at is for verbs that read claims, decisions and events"));
    }
    // A server answers models, and a hook its client, wherever they were started.
    if !matches!(verb, Verb::Serve(_) | Verb::Hook(_) | Verb::Writer(_)) {
        views::keep_tags_if(output::is_read_by_a_human);
    }
    match verb {
        Verb::Init(args) => args.run(&global),
        Verb::Uninit(args) => args.run(&global),
        Verb::Doctor => {
            let (context, fault) = Context::examined(global)?;
            doctor::run(&context, fault.as_ref())
        }
        Verb::Demo(args) => args.run(&global),
        Verb::Web(args) => args.run(global),
        Verb::Completions(args) => args.run(&global),
        Verb::Trust(trust) => trust.run(global),
        Verb::Policy(verb) => verb.run(global),
        Verb::Writer(args) => args.run(global),
        Verb::Hook(args) => args.run(global),
        #[cfg(unix)]
        Verb::Runner => runner::run(),
        Verb::Options => output::print(global.json, &help::options(), &help::options().into()),
        Verb::Agent => output::print(global.json, &help::agent(), &help::agent().into()),
        Verb::Verbs => output::print(global.json, &help::verbs(), &help::verbs().into()),
        Verb::Roles => output::print(global.json, &roles::page(), &roles::json()),
        Verb::Serve(args) => guarded(global, |context| args.run(context)),
        Verb::Token(verb) => guarded(global, |context| verb.run(context)),
        Verb::Status(args) if args.line => statusline::in_shell(global),
        Verb::Status(_) => guarded(global, status::run),
        Verb::Statusline => statusline::run(global),
        Verb::Watch(args) => guarded(global, |context| args.run(context)),
        Verb::Context(args) => guarded(global, |context| args.run(context)),
        Verb::News(args) => guarded(global, |context| args.run(context)),
        Verb::Attention(args) => guarded(global, |context| args.run(context)),
        Verb::Claim(verb) => guarded(global, |context| verb.run(context)),
        Verb::Decision(verb) => guarded(global, |context| verb.run(context)),
        Verb::Contradictions(args) => guarded(global, |context| args.run(context)),
        Verb::Pattern(verb) => guarded(global, |context| verb.run(context)),
        Verb::Target(verb) => guarded(global, |context| verb.run(context)),
        Verb::Guard(verb) => guarded(global, |context| verb.run(context)),
        Verb::Intent(verb) => guarded(global, |context| verb.run(context)),
        Verb::Plan(verb) => guarded(global, |context| verb.run(context)),
        Verb::Phase(verb) => guarded(global, |context| verb.run(context)),
        Verb::Task(verb) => guarded(global, |context| verb.run(context)),
        Verb::Lock(verb) => guarded(global, |context| verb.run(context)),
        Verb::Anchor(verb) => guarded(global, |context| verb.run(context)),
        Verb::Memory(verb) => guarded(global, |context| verb.run(context)),
        Verb::Trace(verb) => guarded(global, |context| verb.run(context)),
        Verb::Session(verb) => guarded(global, |context| verb.run(context)),
        Verb::Belief(verb) => guarded(global, |context| verb.run(context)),
        Verb::Playbook(verb) => guarded(global, |context| verb.run(context)),
        Verb::Calibration => guarded(global, |context| context.show(&View::Calibration)),
        Verb::Experiment(verb) => guarded(global, |context| verb.run(context)),
        Verb::Profile(verb) => guarded(global, |context| verb.run(context)),
        Verb::Log(args) => guarded(global, |context| args.run(context)),
        Verb::Verify => guarded(global, verify::run),
        Verb::Rebuild => guarded(global, rebuild::run),
        Verb::Export(args) => guarded(global, |context| args.run(context)),
        Verb::Mirror(args) => guarded(global, |context| args.run(context)),
        Verb::Import(args) => guarded(global, |context| args.run(context)),
        Verb::ImportNotes(args) => guarded(global, |context| args.run(context)),
        Verb::Backfill(args) => guarded(global, |context| args.run(context)),
        Verb::Review(args) => guarded(global, |context| args.run(context)),
        Verb::Forget(args) => guarded(global, |context| args.run(context)),
        Verb::Repair(args) => guarded(global, |context| args.run(context)),
        Verb::Backup(args) => guarded(global, |context| args.run(context)),
    }
}

/// The directory in which the verb is typed.
fn current_dir() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            Failure::usage(
                "the directory in which you are was deleted: `cd` to one that is there, and type it again",
            )
        } else {
            Failure::usage(format!("the directory in which you are cannot be read: {error}"))
        }
    })
}

/// Runs a verb in its workspace. A refusal replaces an error if the command line contains a secret.
fn guarded(global: Global, verb: impl FnOnce(&Context) -> Result<(), Failure>) -> Result<(), Failure> {
    let context = Context::find(global)?;
    verb(&context).map_err(|failure| context.guarded(failure))
}

/// Sends logs to stderr, because stdout carries the protocol. `HM_LOG` sets the level; the default is `warn`. The
/// protocol library warns of every refused request, so it logs errors only.
fn start_logging() {
    let wanted = Environment::read().log.unwrap_or_else(|| "warn".to_owned());
    let filter = tracing_subscriber::EnvFilter::builder()
        .parse_lossy(wanted)
        .add_directive(crate::mcp::QUIET_LOG.parse().expect("a target and a level"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
}

/// Runs a future on a runtime of this thread. A front waits for one thing at a time.
fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::internal)?
        .block_on(future)
}

/// Parses an argument. The refusal of bad input contains the parser's message.
fn parse<T>(argument: &str, text: &str) -> Result<T, Rejection>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    text.parse().map_err(|problem| Rejection::invalid(argument, problem))
}

/// Like [`parse`], for an optional argument.
fn parse_optional<T>(argument: &str, text: Option<&str>) -> Result<Option<T>, Rejection>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    text.map(|text| parse(argument, text)).transpose()
}

/// Like [`parse`], for an optional moment.
fn parse_moment(argument: &str, text: Option<&str>) -> Result<Option<Moment>, Rejection> {
    let moment = text.map(|text| Moment::parse(text, system::now())).transpose();
    moment.map_err(|problem| Rejection::invalid(argument, problem))
}

/// Like [`parse`], for an argument that may be repeated.
fn parse_all<T>(argument: &str, texts: &[String]) -> Result<Vec<T>, Rejection>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    texts.iter().map(|text| parse(argument, text)).collect()
}

/// The facts that tell whether the caller is a human.
fn surroundings() -> Surroundings {
    Surroundings { has_terminal: has_terminal(), client: system::client_above() }
}

/// Whether any standard stream is a terminal. A human may have redirected the others.
fn has_terminal() -> bool {
    std::io::stdin().is_terminal() || std::io::stdout().is_terminal() || std::io::stderr().is_terminal()
}

/// Parses a length of time such as `5m`. `units` lists the letter of each unit and its factor. A number without a
/// letter has the first unit.
fn length(text: &str, units: &[(char, u64)]) -> Option<u64> {
    let text = text.trim();
    let with_unit = units.iter().find_map(|(letter, unit)| Some((text.strip_suffix(*letter)?, *unit)));
    let (number, unit) = with_unit.or(units.first().map(|(_, unit)| (text, *unit)))?;
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// The sentence about a ledger that lost events.
fn damage_note(reads: &mut Reads) -> Option<String> {
    let damage = reads.standing().ok()?.damage.filter(Damage::stops_writes)?;
    Some(format!("{}; writes wait in the spool: {}", damage.loss.fault, Damage::FIX))
}

/// Prints a note on stderr if the ledger lost events.
fn note_damage(reads: &mut Reads) {
    if let Some(note) = damage_note(reads) {
        output::note(&note);
    }
}

/// The refusal if a verb needs a speaker and the caller has no name.
fn nobody_speaks() -> Rejection {
    Rejection::new(
        Code::AgentRequired,
        "nobody says who is speaking",
        "pass --agent NAME or set HM_AGENT; without either a human at a terminal is the operator, and in the shell of \
         a client the agent of its session speaks",
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;

    use crate::domain::way;
    use crate::steps::{ADDRESSES, As, VERBS, in_shell};

    /// Each tool in the table takes its listed arguments, and each verb parses them in the listed form.
    #[test]
    fn the_table_fits_the_tools_and_the_verbs() {
        for (tool, verb, takes) in VERBS {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tool-schemas/{tool}.json"));
            let schema = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{tool}: {error}"));
            let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
            let properties = schema["inputSchema"]["properties"].as_object().expect("arguments");
            let mut arguments = serde_json::Map::new();
            for (name, way) in *takes {
                let value = if matches!(way, As::Flag(_)) { true.into() } else { "7".into() };
                // The field of an object: `trigger.commands`.
                if let Some((object, field)) = name.split_once('.') {
                    let fields = properties.get(object).and_then(|object| object.get("properties"));
                    assert!(
                        fields.is_some_and(|fields| fields.get(field).is_some()),
                        "{tool} takes no {name}"
                    );
                    let object = arguments.entry(object).or_insert_with(|| serde_json::json!({}));
                    object[field] = value;
                    continue;
                }
                assert!(properties.contains_key(*name), "{tool} takes no {name}");
                arguments.insert((*name).to_owned(), value);
            }
            let line = in_shell(&way::call(tool, &arguments.into())).into_owned();
            assert!(line.starts_with(&format!("`hm {verb}")), "{line}");
            parses(&line);
        }
        for (pattern, _) in ADDRESSES {
            parses(&in_shell(&format!("`hivemind://{}`", pattern.replace('*', "ID"))));
        }
    }

    fn parses(line: &str) {
        let words = shell_words::split(line.trim_matches('`')).expect("words");
        if let Err(problem) = super::Cli::try_parse_from(&words) {
            // The table does not say which arguments exclude each other.
            assert_eq!(problem.kind(), clap::error::ErrorKind::ArgumentConflict, "{line}: {problem}");
        }
    }
}
