//! The verbs and their common options, for clap.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::{
    backfill, backup, claim, completions, context, contradictions, decision, demo, experiment, export,
    forget, guards, help, hook, import, import_notes, init, lock, log, memory, mirror, news, parse_moment,
    pattern, plan, playbook, policy, profile, repair, review, serve, session, status, statusline, target,
    token, trace, trust, watch, web, writer,
};
use crate::domain::rejection::Rejection;
use crate::domain::time::Moment;

/// One shared, evidence-backed memory for a team of LLM coding agents.
#[derive(Debug, Parser)]
#[command(name = "hm", version, help_template = help::VERBS)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) verb: Verb,
}

/// The part of [`Cli`] that hooks and status lines need.
#[derive(Debug, Parser)]
#[command(name = "hm")]
pub(super) struct HookAlone {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) verb: HookVerb,
}

#[derive(Debug, Subcommand)]
pub(super) enum HookVerb {
    Hook(hook::Hook),
    Statusline,
}

#[derive(Debug, Clone, Default, Args)]
pub(super) struct Global {
    /// The workspace, instead of the nearest .hivemind at or above this directory (env HM_DIR)
    #[arg(long, global = true, hide = true, value_name = "PATH")]
    pub(super) dir: Option<PathBuf>,
    /// Speaker: a name or alias of the roster, or a seat such as claude-2 (env HM_AGENT)
    #[arg(long, global = true, hide = true, value_name = "NAME")]
    pub(super) agent: Option<String>,
    /// Reason to be the operator without a terminal: for scripts; goes on record
    #[arg(long, global = true, hide = true, value_name = "REASON")]
    pub(super) operator_override: Option<String>,
    /// Answer as of then, for verbs that read: a time, a date, an age (90m, 3d), or a ledger position (#57, with all that its command wrote)
    #[arg(long, global = true, hide = true, value_name = "TIME")]
    pub(super) at: Option<String>,
    /// Answer in JSON
    #[arg(long, global = true, hide = true)]
    pub(super) json: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Make this directory a workspace, and configure the clients found
    #[command(after_help = "Examples:\n  cd my-project && hm init\n  hm init --clients claude,codex --yes")]
    Init(init::Init),
    /// Remove the settings that hm init wrote for clients; the memory stays
    #[command(after_help = "Examples:\n  hm uninit --dry-run\n  hm uninit --clients cursor --yes")]
    Uninit(init::Uninit),
    /// Check clients, hooks and writer for problems; exit 1 when there is one
    #[command(after_help = "Examples:\n  hm doctor\n  hm doctor --json")]
    Doctor,
    /// Watch four agents share a memory: a story through real processes, in a temporary workspace
    #[command(after_help = "Examples:\n  hm demo\n  hm demo --keep\n  hm demo --json")]
    Demo(demo::Demo),
    /// Serve MCP over stdio, as a client starts it, or over HTTP
    #[command(after_help = "Examples:\n  hm serve --agent devops\n  hm serve --http 127.0.0.1:8787")]
    Serve(serve::Serve),
    /// Open the memory in a browser: who is at work, claims with their proofs, disagreements, the past
    #[command(after_help = web::HELP)]
    Web(web::Web),
    /// Print the script with which a shell completes verbs and options
    #[command(after_help = completions::HELP)]
    Completions(completions::Completions),
    /// Manage the tokens of the HTTP front
    #[command(subcommand, after_help = "Example: hm token add --agent devops --role agent")]
    Token(token::Token),
    /// Show the policy of the memory, and check its file
    #[command(subcommand, after_help = "Examples:\n  hm policy show\n  hm policy check")]
    Policy(policy::Policy),
    /// Open a memory that came with this directory: a human confirms it is theirs
    #[command(after_help = trust::HELP)]
    Trust(trust::Trust),
    /// Be the one process that writes; started on demand, seldom by hand
    #[command(after_help = "Example: hm writer")]
    Writer(writer::Writer),
    /// Be the process of a run; started for each run, never by hand
    #[cfg(unix)]
    #[command(hide = true, after_help = "Example: hm runner < order.json")]
    Runner,
    /// Show the workspace's state
    #[command(alias = "who", after_help = "Examples:\n  hm status --agent devops\n  hm status --line")]
    Status(status::Status),
    /// Watch the team in this terminal: who is at work, what needs somebody, what happens
    #[command(after_help = watch::HELP)]
    Watch(watch::Watch),
    /// Print one line for the status of a client, from the client's JSON on stdin
    #[command(after_help = statusline::HELP)]
    Statusline,
    /// Show the context that an agent gets from its hooks and its client
    #[command(after_help = "Example: hm context --agent devops")]
    Context(context::Context),
    /// Show the news since your last context, or wait for news
    #[command(after_help = news::HELP)]
    News(news::News),
    /// List open items of one agent or all, with the command that settles each
    #[command(after_help = "Example: hm attention --agent devops")]
    Attention(context::Attention),
    /// Accept or decline what agents propose to the operator
    #[command(after_help = review::HELP)]
    Review(review::Review),
    /// State claims, read them, and take positions on them
    #[command(
        subcommand,
        alias = "claims",
        after_help = "Example: hm claim create \"the pool holds 20 connections\" --scope src/db"
    )]
    Claim(claim::Claim),
    /// Record decisions and their outcomes
    #[command(subcommand, alias = "decisions", after_help = "Example: hm decision list")]
    Decision(decision::Decision),
    /// List contradictions, with both sides
    #[command(
        alias = "contradiction",
        after_help = "Examples:\n  hm contradictions\n  hm contradictions --resolved"
    )]
    Contradictions(contradictions::Contradictions),
    /// List loops, stalls and other patterns in the work of the team
    #[command(subcommand, alias = "patterns", after_help = "Example: hm pattern list")]
    Pattern(pattern::Pattern),
    /// Name the subjects of decisions, and join two names of one
    #[command(subcommand, alias = "targets", after_help = "Example: hm target alias database db")]
    Target(target::Target),
    /// List, accept and silence guards, and show what came of their warnings
    #[command(subcommand, alias = "guards", after_help = "Example: hm guard list")]
    Guard(guards::GuardVerb),
    /// Set the intent; contexts follow it
    #[command(
        after_help = "From the operator or the architect, outside of any session (HM_SESSION, a client's shell), it is \
        said to\nthe whole team: every context follows, until its pane says otherwise. From another agent, or within \
        a\nsession, the contexts of that session follow, and those of panes that never said.\n\n\
        Example: hm intent \"wait, fix the UI first\""
    )]
    Intent(plan::Intent),
    /// Add plans, and show them with their tasks
    #[command(subcommand, alias = "plans", after_help = "Example: hm plan show")]
    Plan(plan::Plan),
    /// Add phases to plans
    #[command(subcommand, alias = "phases", after_help = "Example: hm phase add Storage --plan P1")]
    Phase(plan::Phase),
    /// Add, take and update tasks
    #[command(subcommand, alias = "tasks", after_help = "Example: hm task ready")]
    Task(plan::Task),
    /// Ask the others to leave anything alone for a time: files, a machine, a target
    #[command(after_help = lock::HELP)]
    Lock(lock::Lock),
    /// Keep facts where no compaction loses them
    #[command(subcommand, alias = "anchors", after_help = "Example: hm anchor list")]
    Anchor(plan::Anchor),
    /// Show all that is kept: messages, claims and anchors, and who sees each
    #[command(subcommand, after_help = "Example: hm memory list --agent devops --older-than 30d")]
    Memory(memory::Memory),
    /// Show the traces of the memory: what was recalled, written, refused and forgotten
    #[command(subcommand, alias = "traces", after_help = "Example: hm trace list --type memory_recall")]
    Trace(trace::Trace),
    /// Show the sessions of clients
    #[command(subcommand, alias = "sessions", after_help = "Example: hm session list")]
    Session(session::Session),
    /// Show the beliefs of agents
    #[command(subcommand, alias = "beliefs", after_help = "Example: hm belief show devops")]
    Belief(session::Belief),
    /// Accept, read and export playbooks: steps that ended well in several tasks
    #[command(subcommand, alias = "playbooks", after_help = "Example: hm playbook list")]
    Playbook(playbook::Playbook),
    /// Show how often the judged claims of each agent held
    #[command(after_help = "Example: hm calibration")]
    Calibration,
    /// Run as a client's hook: the payload on stdin, the answer on stdout; never fails
    #[command(after_help = "Example: hm hook claude < payload.json")]
    Hook(hook::Hook),
    /// Settle a claim by a run, and keep the result
    #[command(subcommand, alias = "experiments", after_help = "Example: hm experiment list --status failed")]
    Experiment(experiment::Experiment),
    /// See and check the commands agents may run as experiments
    #[command(subcommand, alias = "profiles", after_help = "Example: hm profile list --scope src/db")]
    Profile(profile::Verb),
    /// List the events of the ledger, oldest first
    #[command(after_help = "Example: hm log --type claim.created --follow")]
    Log(log::Log),
    /// Check every byte of the ledger against its hash chain; exit 1 names the first broken place
    #[command(after_help = "Example: hm verify && hm export backup.jsonl")]
    Verify,
    /// Rebuild the read models from the ledger
    #[command(after_help = "Example: hm rebuild")]
    Rebuild,
    /// Write the ledger as text: one JSON line per event, then its count and head hash
    #[command(
        after_help = "Examples:\n  hm export ledger.jsonl\n  hm export | grep claim.created\n  hm export --to AGENTS.md"
    )]
    Export(export::Export),
    /// Keep a copy of claims and decisions in Git, in Markdown, with a commit for each change
    #[command(after_help = mirror::HELP)]
    Mirror(mirror::Mirror),
    /// Append an export to an empty ledger, or to one that shares its past
    #[command(after_help = "Example: hm import ledger.jsonl")]
    Import(import::Import),
    /// Make proposed claims of notes in Markdown: CLAUDE.md, AGENTS.md, rules, decision records
    #[command(after_help = import_notes::HELP)]
    ImportNotes(import_notes::ImportNotes),
    /// Make claims from history: findings, decisions, blockers, tagged messages; for the operator only
    #[command(after_help = backfill::HELP)]
    Backfill(backfill::Backfill),
    /// Erase the text of one event, a session, a scope or an agent for good; for the operator only
    #[command(after_help = forget::HELP)]
    Forget(forget::Forget),
    /// Accept the loss of events or checkpoints, and go on; for the operator only
    #[command(after_help = repair::HELP)]
    Repair(repair::Repair),
    /// Copy the whole memory during writes, and check the copy
    #[command(after_help = "Example: hm backup ../memory-friday && hm verify --dir ../memory-friday")]
    Backup(backup::Backup),
    /// Show the options that every verb takes
    #[command(hide = true, override_help = help::options())]
    Options,
    /// Show what an agent needs, on one page
    #[command(hide = true, alias = "agents", override_help = help::agent())]
    Agent,
    /// Show all verbs, grouped by purpose
    #[command(hide = true)]
    Verbs,
    /// Show what each role may do
    #[command(hide = true)]
    Roles,
}

/// The time range of a list.
#[derive(Debug, Args)]
pub(super) struct Made {
    /// Made then or later: a time, a date, an age (90m, 3d), or #57
    #[arg(hide_short_help = true, long, value_name = "TIME")]
    pub(super) since: Option<String>,
    /// Made then or earlier
    #[arg(hide_short_help = true, long, value_name = "TIME")]
    pub(super) until: Option<String>,
}

impl Made {
    pub(super) fn since(&self) -> Result<Option<Moment>, Rejection> {
        parse_moment("since", self.since.as_deref())
    }

    pub(super) fn until(&self) -> Result<Option<Moment>, Rejection> {
        parse_moment("until", self.until.as_deref())
    }
}

/// Whether a client runs this process, as its hook or for its status line.
pub(super) fn is_quiet() -> bool {
    std::env::args_os().nth(1).is_some_and(|verb| verb == "hook" || verb == "statusline")
}

/// Whether the command line asks for an answer in JSON, also where it does not parse.
pub(super) fn wants_json() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

/// Parses the command line. A client waits for its hooks before every tool, so clap builds only the verb of the client
/// for them, in an eighth of the time. The whole parser answers help and mistakes.
pub(super) fn parsed() -> Result<Cli, clap::Error> {
    match is_quiet().then(HookAlone::try_parse) {
        Some(Ok(HookAlone { global, verb: HookVerb::Statusline })) => {
            Ok(Cli { global, verb: Verb::Statusline })
        }
        Some(Ok(HookAlone { global, verb: HookVerb::Hook(hook) })) => {
            Ok(Cli { global, verb: Verb::Hook(hook) })
        }
        _ => help::parsed(listed(std::env::args_os().collect())),
    }
}

/// Verbs whose subcommands have pages of help.
const NOUNS: [&str; 26] = [
    "anchor",
    "anchors",
    "belief",
    "beliefs",
    "claim",
    "claims",
    "decision",
    "decisions",
    "experiment",
    "experiments",
    "guard",
    "guards",
    "pattern",
    "patterns",
    "phase",
    "phases",
    "plan",
    "plans",
    "profile",
    "profiles",
    "session",
    "sessions",
    "task",
    "tasks",
    "trace",
    "traces",
];
/// Verbs that print a page. Each has an answer for programs.
const PAGES: [&str; 5] = ["agent", "agents", "options", "roles", "verbs"];
/// Verbs that list without a subcommand, and the option with which one of them lists.
const LISTS: [(&str, Option<&str>); 7] = [
    ("attention", None),
    ("calibration", None),
    ("contradiction", None),
    ("contradictions", None),
    ("log", None),
    ("status", None),
    ("lock", Some("--list")),
];

/// Rewrites `hm lock list` and similar lines to the verb's own form. Other nouns have a subcommand `list`. `hm claim
/// help list` becomes `hm help claim list`.
pub(super) fn listed(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let mut at = 1;
    while let Some(argument) = arguments.get(at).and_then(|argument| argument.to_str()) {
        match argument {
            "--dir" | "--agent" | "--operator-override" | "--at" => at += 2,
            option if option.starts_with('-') => at += 1,
            "help" if arguments.iter().any(|word| word == "--json") => {
                let page = arguments.get(at + 1).and_then(|page| page.to_str());
                if page.is_some_and(|page| PAGES.contains(&page)) {
                    arguments.remove(at);
                } else {
                    // No page takes options.
                    arguments.retain(|word| word != "--json");
                }
                break;
            }
            verb => {
                if NOUNS.contains(&verb) && arguments.get(at + 1).is_some_and(|word| word == "help") {
                    arguments.swap(at, at + 1);
                    continue;
                }
                let found = LISTS.iter().find(|(list, _)| *list == verb);
                let is_list = arguments.get(at + 1).is_some_and(|word| word == "list");
                // With one of these options, the scope of the lock is a path named `list`.
                let is_path = arguments.iter().any(|word| word == "--why" || word == "--release");
                if let Some((_, option)) = found.filter(|_| is_list && !is_path) {
                    arguments.splice(at + 1..=at + 1, option.map(OsString::from));
                }
                break;
            }
        }
    }
    arguments
}
