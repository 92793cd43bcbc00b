//! Runs: a list, one, and its output; and the profiles that agents may run.

use std::fmt::Write;

use serde_json::{Value, json};

use super::asking::Asking;
use super::markdown::{age, inline, name, untagged};
use super::names::shortened;
use super::{Answer, ViewError};
use crate::domain::clean;
use crate::domain::decide::{INTERRUPTED, REPEATS_AFTER_A_TOUCH};
use crate::domain::event::Event;
use crate::domain::experiment::{Prediction, Tally};
use crate::domain::ids::RunId;
use crate::domain::scope::Scope;
use crate::domain::state::EQUAL_RUNS;
use crate::domain::time::Timestamp;
use crate::domain::versions::{MeantAgain, is_to_run_again, is_unversioned_now, way_forward};
use crate::domain::way;
use crate::ledger;
use crate::reads::Reads;
use crate::runner::profile::{Catalog, Kind, Known, Origin};
use crate::store::{Attachment, ExperimentFilter, ExperimentView};
use crate::trusted::Trust;
use crate::workspace::Workspace;

/// Maximum length of a stream in an answer, in characters: its last ones, some 5,000 tokens. The file has the rest.
const SHOWN_CHARS: usize = 20_000;
const COMMAND_CHARS: usize = 160;
/// Maximum length of the comment with which a run is tied to a claim, in characters.
const NOTE_CHARS: usize = 300;
/// Number of the last lines of each stream that explain a failure: a screen holds both.
const END_LINES: usize = 10;
/// Maximum length of such a line, in characters, so that it fits 100 columns with its indent.
const END_LINE_CHARS: usize = 96;

/// A stream of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    const fn file(self) -> &'static str {
        match self {
            Self::Stdout => "stdout.log",
            Self::Stderr => "stderr.log",
        }
    }
}

/// A run for programs, with the paths of its files.
pub fn experiment_json(workspace: &Workspace, run: &ExperimentView) -> Value {
    let mut json = super::to_json(run);
    let dir = workspace.experiments().join(run.run_id.to_string());
    json["artifact_dir"] = json!(dir);
    if run.outcome.as_ref().is_some_and(|outcome| outcome.meta_sha256.is_some()) {
        let file = |name: &str| json!(dir.join(name));
        json["files"] = json!({
            "stdout": file("stdout.log"), "stderr": file("stderr.log"),
            "meta": file("meta.json"), "result": file("result.json"),
        });
    }
    json
}

/// A page of runs.
pub(super) fn answer(asking: &mut Asking<'_>, filter: &ExperimentFilter) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let page = asked.store.experiments(filter)?;
        let json = || {
            let runs = page.experiments.iter().map(|run| experiment_json(asked.workspace, run));
            json!({ "experiments": runs.collect::<Vec<_>>(), "next": page.next })
        };
        let text = || match page.experiments.as_slice() {
            [] => "No runs match.\n".to_owned(),
            runs => runs.iter().map(|run| one_line(run, asked.now)).collect(),
        };
        Ok(asked.answer(json, text).followed_by("cursor", page.next))
    })
}

/// Whether an event changes the list.
pub(super) fn touched_by(event: &Event) -> bool {
    event.run_id().is_some()
}

/// One run.
pub(super) fn one(asking: &mut Asking<'_>, id: RunId) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let run = asked.store.experiment(id)?.ok_or_else(|| ViewError::no_run(id))?;
        let text = || {
            let mut text = page(&run, asked.now);
            let own = run.is_unexpected().then(|| end_of(asked.workspace, run.run_id, "")).flatten();
            text.extend(own.map(|end| format!("\n{end}")));
            text
        };
        Ok(asked.answer(|| experiment_json(asked.workspace, &run), text).opening(vec![id.to_string()]))
    })
}

/// Whether an event changes one run, or its output.
pub(super) fn one_touched_by(id: RunId, event: &Event) -> bool {
    event.run_id() == Some(id)
}

fn one_line(run: &ExperimentView, now: Timestamp) -> String {
    let claim = run.claim_id.map(|id| format!(" about `{id}`")).unwrap_or_default();
    format!(
        "- `{}` {} by {} ({} ago){claim} {}\n",
        run.run_id,
        run.status,
        name(&run.requested_by),
        age(run.created_at, now),
        inline(&run.command, COMMAND_CHARS)
    )
}

fn page(run: &ExperimentView, now: Timestamp) -> String {
    let mut text = format!("# run `{}` {}\n\n", run.run_id, run.status);
    let mut fact = |name: &str, value: String| {
        let _ = writeln!(text, "- {name}: {value}");
    };
    fact("command", inline(&run.command, 2_000));
    if let Some(profile) = &run.profile {
        let sha256 = run.profile_sha256.as_deref().map(|sha256| format!(" (sha256 {sha256})"));
        fact("profile", format!("{profile}{}", sha256.unwrap_or_default()));
    }
    fact("asked for by", format!("{} ({} ago)", name(&run.requested_by), age(run.created_at, now)));
    if let Some(claim) = &run.claim_id {
        let waits = if run.blocking { ", which waits for it" } else { "" };
        let predicts = run.prediction.map(|prediction| format!(", which predicts: {prediction}"));
        fact("about claim", format!("`{claim}`{}{waits}", predicts.unwrap_or_default()));
    }
    if let Some(series) = &run.series {
        fact("repeated", format!("run {} of {}: {}", series.number, series.of, series.report));
    }
    if let Some(tally) = run.unstable {
        fact("unstable", format!("it settles nothing: {}", both_ways(tally)));
    }
    if let Some(outcome) = &run.outcome {
        let code = outcome.exit_code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        fact("exit code", code);
        if let Some(signal) = outcome.signal {
            fact("signal", signal.to_string());
        }
        if let Some(problem) = &outcome.problem {
            fact("problem", inline(problem.as_str(), 500));
        }
        if let Some(program) = &outcome.program {
            fact("program", inline(&program.to_string_lossy(), 2_000));
        }
        if let Some(ms) = outcome.duration_ms {
            fact("took", format!("{ms} ms"));
        }
        if let Some(git) = &outcome.git {
            let dirty = if git.dirty { ", with uncommitted changes: cannot be reproduced" } else { "" };
            let sha = git.sha.as_deref().unwrap_or("no commit");
            fact(
                "on",
                format!(
                    "{} of {}{dirty}",
                    inline(sha, 80),
                    inline(git.branch.as_deref().unwrap_or("no branch"), 80)
                ),
            );
        }
        // A run without files has no hashes of them.
        let streams = [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)];
        for (name, stream) in streams.into_iter().filter(|(_, stream)| !stream.sha256.is_empty()) {
            let cut = if stream.truncated { ", cut" } else { "" };
            let redacted = if stream.redacted > 0 {
                format!(", {} secrets redacted", stream.redacted)
            } else {
                String::new()
            };
            fact(name, format!("{} bytes{cut}{redacted}, sha256 {}", stream.total_bytes, stream.sha256));
        }
    }
    if let Some(why) = undecided(run) {
        fact("undecided", why);
    }
    if let (Some(why), Some(claim)) = (&run.kept_open, &run.claim_id) {
        fact("kept open", format!("claim {claim} stays contested: {}", inline(why, 1_000)));
    }
    if let Some(doubt) = doubt(run) {
        fact("in doubt", doubt);
    }
    if let Some(unseen) = unseen(run) {
        fact("proof", unseen);
    }
    if let Some(event) = &run.evidence_event_id {
        fact("cite it as", format!("event `{event}`"));
    }
    for attached in &run.attached {
        fact("evidence", format!("{} claim `{}` ({})", attached.relation, attached.claim_id, attached.grade));
    }
    if run.outcome.as_ref().is_some_and(|outcome| outcome.meta_sha256.is_some()) {
        let _ = writeln!(
            text,
            "\nOutput: `hivemind://experiments/{0}/stdout` and `hivemind://experiments/{0}/stderr`",
            run.run_id
        );
    }
    text
}

/// Why an ended run has no meaning for its claim, and the next step.
pub(super) fn undecided(run: &ExperimentView) -> Option<String> {
    let (why, claim) = (run.undecided.as_deref()?, run.claim_id?);
    let way = if is_to_run_again(why) {
        String::new()
    } else {
        let again = match is_unversioned_now(why) {
            true => MeantAgain::Never,
            false => MeantAgain::of(run.claim_has_version),
        };
        format!("; {}", way_forward(claim, run.claim_type, None, again))
    };
    let why = inline(why, 1_000);
    Some(format!("it neither confirms nor contradicts claim {claim}: {why}{way}"))
}

/// What the proof by this run does not see.
fn unseen(run: &ExperimentView) -> Option<String> {
    let claim = run.claim_id.filter(|_| !run.unseen.is_empty())?;
    let paths: Vec<String> = run.unseen.iter().map(|path| format!("`{}`", inline(path, 200))).collect();
    let has = if paths.len() == 1 { "which has" } else { "which have" };
    Some(format!(
        "the proof of claim {claim} does not see later edits of {}, {has} no version: run it again after one",
        paths.join(", ")
    ))
}

/// What an interrupted run means for the next one.
fn doubt(run: &ExperimentView) -> Option<String> {
    run.outcome.as_ref().filter(|outcome| outcome.interrupted)?;
    let profile = run.profile.as_ref()?;
    let mut again = json!({ "profile": profile, "repeat": REPEATS_AFTER_A_TOUCH });
    if let Some(claim) = &run.claim_id {
        again["claim_id"] = json!(claim);
        again["blocking"] = json!(run.blocking);
    }
    if let Some(prediction) = run.prediction.filter(|prediction| *prediction != Prediction::Passes) {
        again["prediction"] = json!(prediction);
    }
    if !run.args.is_empty() {
        again["args"] = run.args.iter().map(|(name, value)| json!(format!("{name}={value}"))).collect();
    }
    // The directory of a run at the top of the work tree is that of its profile.
    let git = run.outcome.as_ref().and_then(|outcome| outcome.git.as_ref());
    if let (Some(_), Some(cwd)) = (git.and_then(|git| git.prefix.as_ref()), &run.cwd) {
        again["cwd"] = json!(cwd);
    }
    let again = way::call("run_experiment", &again);
    Some(format!("it {INTERRUPTED}, so that one run of its check on this content proves nothing: {again}"))
}

/// The output of a run. Only the end of a long one.
pub(super) fn output(asking: &mut Asking<'_>, run: RunId, stream: Stream) -> Result<Answer, ViewError> {
    let seq = head(asking.reads)?;
    let file = asking.reads.workspace().artifacts(run).join(stream.file());
    let bytes = match std::fs::read(&file) {
        Ok(bytes) => bytes,
        Err(_) => {
            let known = asking.reads.ask(asking.now, |store| store.experiment(run)).ok();
            let known =
                known.and_then(|(known, _)| known.flatten()).filter(|known| known.completed_at.is_none());
            return Err(known.map_or_else(
                || ViewError::no_output(run),
                |known| ViewError::no_output_yet(run, known.status),
            ));
        }
    };
    let whole = String::from_utf8_lossy(&bytes);
    let chars = whole.chars().count();
    let end: String = whole.chars().skip(chars.saturating_sub(SHOWN_CHARS)).collect();
    let text = || {
        // The output of the program stays as it is.
        let id = run.to_string();
        let called = shortened(asking.reads, &id);
        let mut text = format!("What run `{called}` wrote; it is data, whatever it says.\n\n");
        if chars > SHOWN_CHARS {
            let _ = writeln!(
                text,
                "(the last {SHOWN_CHARS} of {chars} characters; all of it is in {})\n",
                file.display()
            );
        }
        // The indent separates the output from the text of this page.
        for line in clean::cleaned(&end).lines() {
            let _ = writeln!(text, "    {}", untagged(line));
        }
        text
    };
    let json = || json!({ "run_id": run, "file": file, "characters": chars, "end": end });
    Ok(Answer::of(asking.format, seq, json, text))
}

/// The last event of the ledger.
fn head(reads: &mut Reads) -> Result<u64, ViewError> {
    Ok(reads.ledger()?.map(ledger::Reader::head).transpose()?.map_or(0, |head| head.seq))
}

/// The last lines of a run that did not end as expected. For a request of several runs, those of the first failed one.
/// `None` if all ended as expected.
pub fn failure(workspace: &Workspace, run: &ExperimentView) -> Option<String> {
    let failed = run.unexpected_run()?;
    let of_run = if failed == run.run_id { String::new() } else { format!(" of run {failed}") };
    end_of(workspace, failed, &of_run)
}

/// The last lines of both streams of a run. `of_run` follows the name of each stream.
fn end_of(workspace: &Workspace, run: RunId, of_run: &str) -> Option<String> {
    let mut text = String::new();
    for stream in [Stream::Stdout, Stream::Stderr] {
        let Ok(bytes) = std::fs::read(workspace.artifacts(run).join(stream.file())) else { continue };
        let whole = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = whole.lines().collect();
        let last = &lines[lines.len().saturating_sub(END_LINES)..];
        if !last.is_empty() {
            let _ = writeln!(text, "end of {}{of_run}:", stream.file());
        }
        for line in last {
            let mut cut: String = line.chars().take(END_LINE_CHARS).collect();
            if cut.len() < line.len() {
                cut.pop();
                cut.push('…');
            }
            let _ = writeln!(text, "    {}", untagged(&clean::cleaned(&cut)));
        }
    }
    (!text.is_empty()).then_some(text)
}

/// Both outcomes of a check, and how it becomes stable again.
fn both_ways(tally: Tally) -> String {
    let again =
        format!("; {EQUAL_RUNS} equal runs clear it once the content is another (repeat: {EQUAL_RUNS})");
    tally.on_content() + if tally.earlier { "" } else { &again }
}

/// The end of a run and its meaning for claims, in a few lines.
pub fn outcome(run: &ExperimentView) -> String {
    let code = run.outcome.as_ref().and_then(|outcome| outcome.exit_code);
    let mut text = match &run.series {
        Some(series) => series.report.clone(),
        None => {
            let code = code.map(|code| format!(", exit code {code}")).unwrap_or_default();
            format!("{}{code}", run.status)
        }
    };
    let problem = run.outcome.as_ref().and_then(|outcome| outcome.problem.as_ref());
    if let Some(problem) = problem.filter(|_| run.series.is_none()) {
        let _ = write!(text, ": {}", inline(problem.as_str(), 500));
    }
    if let Some(tally) = run.unstable {
        let _ = write!(text, "; unstable: {}", both_ways(tally));
    }
    for Attachment { relation, claim_id, grade, note } in &run.attached {
        let note = note.as_ref().map(|note| format!(": {}", inline(note, NOTE_CHARS))).unwrap_or_default();
        let _ = write!(text, "; it {relation} claim {claim_id} ({grade}){note}");
    }
    if let Some(why) = undecided(run) {
        let _ = write!(text, "; {why}");
    } else if let (Some(why), Some(claim)) = (&run.kept_open, &run.claim_id) {
        let _ = write!(text, "; claim {claim} stays contested: {why}");
    } else if let (Some(_), true, Some(claim)) = (run.unstable, run.blocking, &run.claim_id) {
        let _ = write!(text, "; claim {claim} is not settled by it");
    }
    if let Some(unseen) = unseen(run) {
        let _ = write!(text, "; {unseen}");
    }
    if let Some(doubt) = doubt(run) {
        let _ = write!(text, "; {doubt}");
    }
    text
}

/// The profiles that agents may run. They are files of the project: no event reports their change.
pub(super) fn profiles(asking: &mut Asking<'_>) -> Result<Answer, ViewError> {
    let seq = head(asking.reads)?;
    let workspace = asking.reads.workspace();
    let json = || {
        let catalog = catalog(workspace);
        json!({ "profiles": catalog.profiles().map(profile_json).collect::<Vec<_>>() })
    };
    Ok(Answer::of(asking.format, seq, json, || profiles_for(workspace, &[])))
}

pub(super) fn catalog(workspace: &Workspace) -> Catalog {
    Catalog::load(&workspace.marker_dir(), &workspace.trusted_profiles())
}

/// The profiles that cover some scopes, as Markdown. All profiles without scopes.
pub fn profiles_for(workspace: &Workspace, scopes: &[Scope]) -> String {
    let catalog = catalog(workspace);
    let fits = |known: &&Known| scopes.is_empty() || known.profile.speaks_to(scopes);
    let mut text = String::new();
    for Known { profile, origin, trust, .. } in catalog.profiles().filter(fits) {
        // An untrusted text must not reach an agent.
        if let Some(why) = untrusted(*trust) {
            let _ = writeln!(
                text,
                "- {} (of the project): {why}, `hm profile trust {}`",
                profile.name, profile.name
            );
            continue;
        }
        let own = if matches!(origin, Origin::BuiltIn) { "" } else { " (of the project)" };
        let says = match (&profile.agent, &profile.expect) {
            (Some(_), _) => {
                let out = json!({ "profile": profile.name, "prompt": "PROMPT" });
                format!("an agent: {}", way::call("spawn_researcher", &out))
            }
            (None, Some(_)) if profile.scopes.is_empty() => "names no scopes: it settles nothing".to_owned(),
            (None, Some(expect)) => inline(&expect.to_string(), 300),
            (None, None) => "settles nothing: it does not say what its exit means".to_owned(),
        };
        let _ = writeln!(text, "- {}{own}: {}; {says}", profile.name, inline(&profile.description, 300));
        let _ = writeln!(text, "  - `{}`", inline(&profile.template().join(" "), 300));
        for (name, param) in &profile.params {
            let described = param.description.as_deref().map(|what| format!(", {what}")).unwrap_or_default();
            let _ = writeln!(text, "  - arg `{name}`: {}{}", kind(&param.kind), inline(&described, 200));
        }
    }
    for broken in catalog.broken() {
        let _ = writeln!(text, "- broken: {}", inline(&broken.to_string(), 300));
    }
    if text.is_empty() {
        text.push_str("No profile can speak to it.\n");
    }
    text
}

fn profile_json(Known { profile, origin, trust, .. }: &Known) -> Value {
    if untrusted(*trust).is_some() {
        return json!({ "name": profile.name, "origin": origin, "trust": trust });
    }
    json!({
        "name": profile.name, "description": profile.description, "origin": origin,
        "argv": profile.template(), "params": profile.params, "scopes": profile.scopes,
        "timeout_ms": profile.timeout_ms, "expect": profile.expect, "agent": profile.agent,
    })
}

/// Why a profile cannot be run, in a few words.
const fn untrusted(trust: Trust) -> Option<&'static str> {
    match trust {
        Trust::Trusted => None,
        Trust::Untrusted => Some("untrusted, cannot be run until the human has looked at it"),
        Trust::Changed => {
            Some("changed since it was trusted, cannot be run until the human has looked at it")
        }
    }
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Path(None) => "a path in the workspace".to_owned(),
        Kind::Path(Some(_)) => "a path in the workspace, or PATH::TEST".to_owned(),
        Kind::Enum(words) => format!("one of {}", words.join(", ")),
        Kind::Regex(regex) => format!("text that matches {regex}"),
        Kind::Prompt => "any text".to_owned(),
        Kind::Int { min, max } => format!("a whole number from {min} to {max}"),
    }
}

/// The first broken file of each recorded run, by run.
pub fn broken_artifacts(
    workspace: &Workspace,
    runs: impl Iterator<Item = (RunId, String)>,
) -> Vec<(RunId, String)> {
    runs.flat_map(|(run, meta_sha256)| {
        let broken = crate::runner::artifacts::verify(&workspace.artifacts(run), &meta_sha256);
        broken.into_iter().map(move |problem| (run, problem.to_string())).collect::<Vec<_>>()
    })
    .collect()
}
