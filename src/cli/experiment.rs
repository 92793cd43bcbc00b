//! `hm experiment`: runs a profile, or a command typed by the operator, and keeps the result.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;

use super::output::{self, Failure};
use super::{Context, NOTE_TOO, block_on, parse, parse_optional};
use crate::domain::agent::AgentId;
use crate::domain::command::{AttachExperiment, CancelExperiment, Command, RecordExperiment, RunExperiment};
use crate::domain::experiment::{Plan, RunOutcome, RunState};
use crate::domain::ids::RunId;
use crate::domain::receipt::{Acceptance, Receipt};
use crate::domain::rejection::{Code, Rejection};
use crate::runner::Order;
use crate::runner::artifacts::RESULT;
use crate::runner::capture::{Captured, recorded};
use crate::runner::helper::Helper;
use crate::runner::order::{Message, StreamKey};
use crate::runner::provenance::{Git, Host};
use crate::runner::report::Report;
use crate::runner::result::{ExperimentResult, Record, Subject, TestId, ThreadId};
use crate::runner::tree;
use crate::store::{ExperimentFilter, ExperimentView};
use crate::system;
use crate::views::{self, DEFAULT_LIMIT, Stream, View};

/// Default time limit of a typed command, in seconds: most test suites end in a quarter of an hour.
const DEFAULT_TIMEOUT_SECONDS: u64 = 900;
/// Time between two checks of a terminal that waits for its run.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Time between two calls of the writer meanwhile.
const WRITER_IS_CALLED_EVERY: Duration = Duration::from_secs(2);
/// Calls without an answer after which the wait ends. A writer that a crash replaces starts within a second.
const WRITER_IS_GONE_AFTER: u32 = 3;

#[derive(Debug, Subcommand)]
pub(super) enum Experiment {
    /// Run a profile, or any command after -- as the operator
    #[command(
        after_long_help = "The operator may type a command: [--thread-id RS-1] [--test-id T1] [--out-file FILE] [--no-cap] -- COMMAND.",
        after_help = "Example: hm experiment run cargo-test --claim C47 --blocking"
    )]
    Run(Run),
    /// Record a past run, as the operator
    #[command(after_help = "Example: hm experiment record --thread-id RS-1 --test-id T1 --exit-code 0 \
        --stdout-file out.txt")]
    Record(Recorded),
    /// List runs, newest first
    #[command(after_help = "Example: hm experiment list --status failed")]
    List(List),
    /// Show one run, or its output
    #[command(after_help = "Example: hm experiment show R11 --stdout")]
    Show {
        /// Run
        run: String,
        /// Standard output of the run
        #[arg(long, conflicts_with = "stderr")]
        stdout: bool,
        /// Standard error of the run
        #[arg(long)]
        stderr: bool,
        /// Wait until it ends
        #[arg(long)]
        wait: bool,
    },
    /// Attach a finished run to a claim
    #[command(
        after_help = "What the run shows follows from its outcome.\n\nExample: hm experiment attach R11 C47"
    )]
    Attach {
        /// Run
        run: String,
        /// Claim
        claim: String,
        /// Comment
        #[arg(long, aliases = NOTE_TOO, value_name = "TEXT")]
        summary: Option<String>,
    },
    /// Stop a run, or take it out of the queue
    #[command(after_help = "Example: hm experiment cancel R11")]
    Cancel {
        /// Run
        run: String,
    },
}

/// The thread and the test of a typed command without names.
const TYPED: &str = "typed";

#[derive(Debug, Args)]
pub(super) struct Run {
    /// Profile (hm profile list)
    #[arg(required_unless_present = "argv", conflicts_with = "argv")]
    profile: Option<String>,
    /// Parameter of the profile; may be repeated
    #[arg(long = "arg", value_name = "NAME=VALUE", requires = "profile")]
    args: Vec<String>,
    /// Claim to test
    #[arg(long, value_name = "CLAIM", requires = "profile", conflicts_with = "argv")]
    claim: Option<String>,
    /// Hold the contested claim until this run settles it
    #[arg(long, requires = "claim")]
    blocking: bool,
    /// Result predicted by the claim: passes (default) or fails
    #[arg(long, value_name = "PREDICTION", requires = "claim")]
    prediction: Option<String>,
    /// Number of runs, 2 to 20; they are judged together
    #[arg(hide_short_help = true, long, value_name = "N", requires = "profile")]
    repeat: Option<u32>,
    /// Return before the run ends
    #[arg(hide_short_help = true, long, requires = "profile")]
    no_wait: bool,
    /// Thread of a typed command
    #[arg(long, hide = true, value_name = "ID", requires = "argv")]
    thread_id: Option<ThreadId>,
    /// Test of a typed command
    #[arg(long, hide = true, value_name = "ID", requires = "argv")]
    test_id: Option<TestId>,
    /// Time limit in seconds; a profile's own can only be shortened
    #[arg(hide_short_help = true, long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// Directory; for a profile below the workspace's root
    #[arg(hide_short_help = true, long, value_name = "PATH")]
    cwd: Option<PathBuf>,
    /// File of the result, instead of artifacts/THREAD/experiments/TEST/
    #[arg(long, hide = true, value_name = "FILE", requires = "argv")]
    out_file: Option<PathBuf>,
    /// Keep all output, whatever it contains
    #[arg(long, hide = true, requires = "argv")]
    no_cap: bool,
    /// Command and arguments as typed; no shell reads them
    #[arg(last = true, value_name = "ARGV")]
    argv: Vec<String>,
    /// Your key for this request: a retry with the same key runs once
    #[arg(hide_short_help = true, long, value_name = "KEY", requires = "profile")]
    key: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Recorded {
    /// Thread of the run
    #[arg(long, value_name = "ID")]
    thread_id: ThreadId,
    /// Test of the run
    #[arg(long, value_name = "ID")]
    test_id: TestId,
    /// Exit code
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    exit_code: i32,
    /// File of its standard output
    #[arg(long, value_name = "FILE", conflicts_with = "stdout")]
    stdout_file: Option<PathBuf>,
    /// Its standard output
    #[arg(long, value_name = "TEXT")]
    stdout: Option<String>,
    /// File of its standard error
    #[arg(long, value_name = "FILE", conflicts_with = "stderr")]
    stderr_file: Option<PathBuf>,
    /// Its standard error
    #[arg(long, value_name = "TEXT")]
    stderr: Option<String>,
    /// Directory
    #[arg(long, value_name = "PATH")]
    cwd: Option<PathBuf>,
    /// Command, with words separated by spaces or commas
    #[arg(long, value_name = "TEXT")]
    command: Option<String>,
    /// File of the result, instead of artifacts/THREAD/experiments/TEST/
    #[arg(long, value_name = "FILE")]
    out_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// queued, running, succeeded, failed, timed_out, canceled or aborted
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Profile
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Claim of the request
    #[arg(long, value_name = "CLAIM")]
    claim: Option<String>,
    #[command(flatten)]
    made: super::Made,
    /// Maximum count
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
    limit: usize,
    /// Cursor from the previous page
    #[arg(long, value_name = "SEQ")]
    cursor: Option<u64>,
}

impl Experiment {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Run(run) if run.argv.is_empty() => run.profile(context),
            Self::Run(run) => run.typed(context),
            Self::Record(record) => record.run(context),
            Self::List(list) => context.show(&View::Experiments(ExperimentFilter {
                status: parse_optional("status", list.status.as_deref())?,
                profile: parse_optional("profile", list.profile.as_deref())?,
                claim: context.any_claim_named(list.claim.as_deref())?,
                since: list.made.since()?,
                until: list.made.until()?,
                before: list.cursor,
                limit: list.limit,
            })),
            Self::Show { run, stdout, stderr, wait } => {
                let run = context.run_named(run)?;
                let known = || -> Result<bool, Failure> {
                    let found = context.reads()?.store()?.map(|store| store.experiment(run)).transpose()?;
                    Ok(found.flatten().is_some())
                };
                if *wait && known()? {
                    followed(context, run)?;
                }
                context.show(&match (stdout, stderr) {
                    (true, _) => View::Output(run, Stream::Stdout),
                    (_, true) => View::Output(run, Stream::Stderr),
                    (false, false) => View::Experiment(run),
                })
            }
            Self::Attach { run, claim, summary } => {
                let command = AttachExperiment {
                    run_id: context.run_named(run)?,
                    claim_id: context.claim_named(claim)?,
                    summary: parse_optional("summary", summary.as_deref())?,
                };
                context.submit("attached to", Command::AttachExperiment(command), None)
            }
            Self::Cancel { run } => {
                let command = CancelExperiment { run_id: context.run_named(run)? };
                context.submit("cancelled run", Command::CancelExperiment(command), None)
            }
        }
    }
}

impl Run {
    fn profile(&self, context: &Context) -> Result<(), Failure> {
        let pairs: Result<BTreeMap<String, String>, Rejection> = self
            .args
            .iter()
            .map(|text| {
                let (name, value) = text
                    .split_once('=')
                    .ok_or_else(|| Rejection::invalid("arg", format!("`{text}` does not say NAME=VALUE")))?;
                Ok((name.to_owned(), value.to_owned()))
            })
            .collect();
        let run_id = RunId::from_uuid(system::new_id());
        let command = Command::RunExperiment(RunExperiment {
            run_id,
            profile: parse("profile", self.profile.as_deref().unwrap_or_default())?,
            args: pairs?,
            claim_id: context.any_claim_named(self.claim.as_deref())?,
            blocking: self.blocking,
            prediction: parse_optional("prediction", self.prediction.as_deref())?,
            repeat: self.repeat,
            cwd: self.cwd.as_ref().map(|cwd| cwd.display().to_string()),
            env_pass: None,
            timeout_ms: self.timeout.map(|seconds| seconds.saturating_mul(1_000)),
            output_cap_bytes: None,
        });
        let name = command.name();
        let receipt = context.submitted(command, parse_optional("key", self.key.as_deref())?)?;
        let mut json = views::receipt_json(&receipt, name);
        if !context.global.json {
            // The receipt states the meaning of each outcome, so it is printed before the run ends.
            output::print(false, &output::receipt("queued run", &receipt), &json)?;
        }
        let mut text = String::new();
        if !self.no_wait && receipt.state == Acceptance::Committed {
            let run = followed(context, receipt.entity_id.map_or(run_id, RunId::from_uuid))?;
            json["experiment"] = views::experiment_json(&context.workspace, &run);
            text = output::fitted(&views::outcome(&run))
                + &views::failure(&context.workspace, &run).unwrap_or_default();
        }
        output::print(context.global.json, &text, &json)
    }

    /// Runs a command typed by the operator in this process, and records its end.
    fn typed(&self, context: &Context) -> Result<(), Failure> {
        let subject = subject(context, "experiment-run", self.thread_id.as_ref(), self.test_id.as_ref())?;
        let cwd = directory(self.cwd.as_deref())?;
        let timeout_ms = self.timeout.unwrap_or(DEFAULT_TIMEOUT_SECONDS).saturating_mul(1_000);
        let mut plan = Plan::typed(self.argv.clone(), cwd, timeout_ms).map_err(Rejection::from)?;
        plan.uncapped = self.no_cap;
        let command = plan.command_line();
        gate(
            context,
            &subject,
            &plan.cwd,
            self.out_file.as_deref(),
            [command.as_str()].into_iter().chain(plan.argv.iter().map(String::as_str)),
        )?;
        let run_id = system::new_id();
        context.workspace.ensure().map_err(Failure::internal)?;
        let order = Order {
            run_id,
            plan,
            artifacts: context.workspace.artifacts(RunId::from_uuid(run_id)),
            key: StreamKey::of(&context.workspace.stream_key())?,
            secret_patterns: context.config.secret_patterns.clone(),
            subject: Some(subject.clone()),
            about: None,
        };
        let report = block_on(async { here(&order).await })?;
        let bytes = std::fs::read(report.artifacts.join(RESULT))?;
        let out = self.out_file.clone().unwrap_or_else(|| {
            ExperimentResult::path(context.workspace.root(), &subject, report.meta.finished_at, run_id)
        });
        write_whole(&out, &bytes)?;
        let outcome = report.outcome();
        let receipt = record(context, RunId::from_uuid(run_id), command, outcome.clone())?;
        done(context, &out, &outcome, &receipt, run_id)?;
        if outcome.state == RunState::Aborted {
            let problem =
                outcome.problem.map_or_else(|| "it never started".to_owned(), |why| why.to_string());
            let text =
                format!("the command did not run: {problem}; correct it, what is known of it is on record");
            return Err(Failure::NeverStarted { found: report.meta.program.is_some(), text });
        }
        Ok(())
    }
}

impl Recorded {
    fn run(&self, context: &Context) -> Result<(), Failure> {
        let subject = subject(context, "experiment-record", Some(&self.thread_id), Some(&self.test_id))?;
        let cwd = directory(self.cwd.as_deref())?;
        gate(context, &subject, &cwd, self.out_file.as_deref(), self.command.as_deref().into_iter())?;
        let result_id = system::new_id();
        context.workspace.ensure().map_err(Failure::internal)?;
        let key = StreamKey::of(&context.workspace.stream_key())?;
        let stream = |text: Option<&str>, file: Option<&Path>| -> Result<(String, Captured), Failure> {
            let bytes = match (text, file) {
                (Some(text), _) => text.as_bytes().to_vec(),
                (None, Some(file)) => std::fs::read(file).map_err(|problem| {
                    Failure::usage(format!("cannot read {}: {problem}", file.display()))
                })?,
                (None, None) => Vec::new(),
            };
            Ok(recorded(&bytes, &context.secrets(), key.bytes()))
        };
        let stdout = stream(self.stdout.as_deref(), self.stdout_file.as_deref())?;
        let stderr = stream(self.stderr.as_deref(), self.stderr_file.as_deref())?;
        let argv = self.command.as_ref().map(|command| {
            command.split([' ', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        });
        let outcome = RunOutcome {
            exit_code: Some(self.exit_code),
            stdout: stdout.1.facts(),
            stderr: stderr.1.facts(),
            ..RunOutcome::without_files(
                if self.exit_code == 0 { RunState::Succeeded } else { RunState::Failed },
                None,
            )
        };
        let created_at = system::now();
        let out = self.out_file.clone().unwrap_or_else(|| {
            ExperimentResult::path(context.workspace.root(), &subject, created_at, result_id)
        });
        let label = self.command.clone().unwrap_or_else(|| {
            format!("recorded: {} {}", subject.thread_id.as_str(), subject.test_id.as_str())
        });
        let result = ExperimentResult::of_record(Record {
            result_id,
            subject,
            created_at,
            git: Git::of(&cwd, &system::variables().collect()),
            cwd,
            argv,
            exit_code: self.exit_code,
            stdout,
            stderr,
            host: Host::here(),
        });
        write_whole(&out, &serde_json::to_vec_pretty(&result).map_err(Failure::internal)?)?;
        let receipt =
            record(context, RunId::from_uuid(result_id), parse("command", &label)?, outcome.clone())?;
        done(context, &out, &outcome, &receipt, result_id)
    }
}

/// Refuses a caller other than the operator before anything runs: only the operator may run a typed command.
fn subject(
    context: &Context,
    verb: &str,
    thread_id: Option<&ThreadId>,
    test_id: Option<&TestId>,
) -> Result<Subject, Failure> {
    let (agent, _) = context.speaker(verb)?;
    if agent != AgentId::operator() {
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("{agent} may not run what no profile names"),
            "run a profile: `hm experiment run PROFILE`; only the operator runs anything",
        )
        .into());
    }
    let is_empty = |name: &str| Rejection::invalid(name, "it is empty: name it");
    let thread_id = thread_id.cloned().unwrap_or_else(|| ThreadId::from(TYPED));
    let test_id = test_id.cloned().unwrap_or_else(|| TestId::from(TYPED));
    if thread_id.as_str().is_empty() {
        return Err(is_empty("thread-id").into());
    }
    if test_id.as_str().is_empty() {
        return Err(is_empty("test-id").into());
    }
    Ok(Subject { thread_id, test_id })
}

/// Looks for secrets in the names and texts of the files, before the first file is written. The output of the run is
/// redacted instead.
fn gate<'t>(
    context: &Context,
    subject: &'t Subject,
    cwd: &Path,
    out: Option<&Path>,
    command: impl Iterator<Item = &'t str>,
) -> Result<(), Failure> {
    let (cwd, out) = (cwd.to_string_lossy(), out.map(Path::to_string_lossy));
    let texts =
        [("thread_id", subject.thread_id.as_str()), ("test_id", subject.test_id.as_str()), ("cwd", &*cwd)]
            .into_iter()
            .chain(out.iter().map(|out| ("out_file", &**out)))
            .chain(command.map(|text| ("command", text)));
    let front = context.front()?;
    let Some(denial) = front.deny("record_experiment", texts) else { return Ok(()) };
    let (agent, session) = context.who()?;
    block_on(async { Ok(front.refuse(denial, context.speaks(agent), Some(session)).await) })
        .and_then(|refused| Err(refused.into()))
}

fn directory(cwd: Option<&Path>) -> Result<PathBuf, Failure> {
    let here = || std::env::current_dir().map_err(Failure::internal);
    let cwd = cwd.map_or_else(here, |cwd| Ok(cwd.to_path_buf()))?;
    cwd.canonicalize()
        .map_err(|problem| Failure::usage(format!("cannot run in {}: {problem}", cwd.display())))
}

/// Runs an order from this process to its end.
async fn here(order: &Order) -> Result<Box<Report>, Failure> {
    let binary = std::env::current_exe().map_err(Failure::internal)?;
    let bar = output::spinner("running");
    tree::adopt_orphans().map_err(Failure::internal)?;
    let mut helper = Helper::start(&binary, order).await.map_err(Failure::internal)?;
    loop {
        match helper.next().await {
            Some(Message::Progress(progress)) => {
                let bytes = progress.stdout_bytes + progress.stderr_bytes;
                bar.set_message(format!("running, {bytes} bytes written"));
            }
            Some(Message::Finished(report)) => return Ok(report),
            Some(Message::Lost(problem)) => return Err(Failure::internal(problem)),
            None => return Err(Failure::internal("the helper was lost; what it left was ended")),
        }
    }
}

/// Waits until a run ends.
fn followed(context: &Context, run: RunId) -> Result<ExperimentView, Failure> {
    let bar = output::spinner("waiting for the run");
    let mut reads = context.reads()?;
    let front = context.front()?;
    let mut next_call = system::instant() + WRITER_IS_CALLED_EVERY;
    let mut missed = 0;
    loop {
        let found = match reads.store()? {
            Some(store) => store.experiment(run)?,
            None => None,
        };
        if let Some(run) = found {
            if run.is_over() {
                bar.finish_and_clear();
                let as_of = reads.store()?.map(|store| store.folded()).transpose()?;
                context.saw_end(&run.run_id.to_string(), as_of.map_or(0, |folded| folded.seq));
                return Ok(run);
            }
            let over = run.series.as_ref().map(|series| format!(" {}/{}", series.over(), series.of));
            bar.set_message(format!("{}{}", run.status, over.unwrap_or_default()));
        }
        if system::instant() >= next_call {
            let is_up = block_on(async { Ok(front.writer_is_up().await) })?;
            missed = if is_up { 0 } else { missed + 1 };
            if missed == WRITER_IS_GONE_AFTER {
                return Err(without_writer(run));
            }
            next_call = system::instant() + WRITER_IS_CALLED_EVERY;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The end of the wait for a run that no writer follows.
fn without_writer(run: RunId) -> Failure {
    Rejection::new(
        Code::Unavailable,
        format!("no writer answers, and without one run {run} does not go on"),
        "the next write starts a writer: it begins the runs that wait, and ends as aborted a run that was under way",
    )
    .into()
}

fn record(
    context: &Context,
    run_id: RunId,
    command: crate::domain::text::CommandLine,
    outcome: RunOutcome,
) -> Result<Receipt, Failure> {
    // An override without a human at a terminal proves nothing, so the record says `asserted`.
    let asserted = context.global.operator_override.is_some();
    let command = RecordExperiment { run_id, command, outcome, asserted };
    context.submitted(Command::RecordExperiment(command), None)
}

fn done(
    context: &Context,
    out: &Path,
    outcome: &RunOutcome,
    receipt: &Receipt,
    result_id: uuid::Uuid,
) -> Result<(), Failure> {
    let json = json!({
        "ok": true,
        "result_id": result_id,
        "out_file": out,
        "status": outcome.state,
        "exit_code": outcome.exit_code,
        "receipt": views::receipt_json(receipt, "record_experiment"),
    });
    let code = outcome.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
    let text = format!(
        "{}{code}\nresult: {}\n{}",
        outcome.state,
        out.display(),
        output::receipt("recorded run", receipt)
    );
    output::print(context.global.json, &text, &json)
}

/// Writes a file atomically.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let fails =
        |problem: std::io::Error| Failure::usage(format!("cannot write {}: {problem}", path.display()));
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir).map_err(fails)?;
    let mut file = tempfile::NamedTempFile::new_in(dir).map_err(fails)?;
    file.write_all(bytes).map_err(fails)?;
    file.as_file().sync_all().map_err(fails)?;
    file.persist(path).map(drop).map_err(|problem| fails(problem.error))
}
