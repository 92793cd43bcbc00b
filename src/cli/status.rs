//! `hm status`: the state of the workspace in a few lines.

use clap::Args;
use serde_json::{Value, json};

use super::output::{self, Failure};
use super::{Context, block_on};
use crate::domain::time::Timestamp;
use crate::ledger;
use crate::pack::{self, Presence};
use crate::reads::Reads;
use crate::spool::Spool;
use crate::system;
use crate::views::{self, Body, View};
use crate::workspace::WaitingRules;

#[derive(Debug, Args)]
pub(super) struct Status {
    /// One line for tmux and prompts; nothing outside of a workspace, and never a failure
    #[arg(long)]
    pub(super) line: bool,
}

const MEGABYTE: u64 = 1 << 20;

/// What a terminal is told besides the view.
struct Besides {
    /// The agent of the caller, and its banner.
    banner: Option<(String, String)>,
    rules: String,
    /// What waits for the operator's approval.
    to_review: usize,
    /// None for a status of the past, of which it is not known.
    present: Option<Present>,
}

/// What is known of this moment only.
struct Present {
    writer_is_up: bool,
    rejected: u64,
    later: u64,
    remarks: Vec<String>,
    /// How much is kept.
    kept: Option<Kept>,
}

/// How much the memory keeps.
struct Kept {
    /// Events that still have their content.
    events: u64,
    /// The time of the oldest of them.
    oldest: Timestamp,
    /// Size of the databases in bytes.
    bytes: u64,
}

impl Kept {
    fn of(context: &Context, reads: &mut Reads) -> Result<Option<Self>, Failure> {
        let Some((events, oldest)) = reads.ledger()?.map(ledger::Reader::kept).transpose()?.flatten() else {
            return Ok(None);
        };
        let files = [context.workspace.ledger(), context.workspace.team_memory()];
        let bytes = files.iter().filter_map(|file| Some(std::fs::metadata(file).ok()?.len())).sum();
        Ok(Some(Self { events, oldest, bytes }))
    }

    fn line(&self) -> String {
        let size = match self.bytes / MEGABYTE {
            0 => String::new(),
            megabytes => format!(", {megabytes} MB"),
        };
        let noun = if self.events == 1 { "event" } else { "events" };
        format!("kept:      {} {noun} since {}{size}; to prune: hm forget --help\n", self.events, self.oldest)
    }
}

pub(super) fn run(context: &Context) -> Result<(), Failure> {
    let mut reads = context.models()?;
    let answer = views::answer(&mut reads, &context.config, &View::Status, system::now(), context.format())?;
    let besides = Besides::of(context, &mut reads)?;
    match answer.body {
        Body::Json(json) => output::print_json(&besides.in_json(json)),
        Body::Markdown(text) | Body::Xml(text) => {
            output::print_text(&output::fitted(&(text + &besides.lines())))
        }
    }
}

impl Present {
    fn of(context: &Context, reads: &mut Reads) -> Result<Self, Failure> {
        let front = context.front()?;
        let writer_is_up = block_on(async { Ok(front.writer_is_up().await) })?;
        let (rejected, later) = Spool::of(&context.workspace).left_behind();
        let mut remarks = context.workspace.remarks();
        if let Some(file) = context.workspace.idle_config(&context.config.memory) {
            let file = file.display();
            remarks
                .push(format!("the policy of {file} has no effect: `hm policy show` shows the one in force"));
        }
        if let Some(waiting) = context.waiting_rules(reads) {
            remarks.push(format!("{waiting}; a person allows them with `{}`", WaitingRules::ALLOW));
        }
        Ok(Self { writer_is_up, rejected, later, remarks, kept: Kept::of(context, reads)? })
    }
}

impl Besides {
    fn of(context: &Context, reads: &mut Reads) -> Result<Self, Failure> {
        let banner = context.reader()?.map(|agent| {
            let (presence, _) =
                reads.ask(system::now(), |store| views::presence(store, agent.as_str(), system::now()))?;
            let alone = || Presence { agent: agent.to_string(), ..Presence::default() };
            let checkout = context.workspace.checkout();
            let mut banner = pack::banner(&Presence { checkout, ..presence.unwrap_or_else(alone) });
            for peer in views::peers(reads, agent.as_str(), system::now())? {
                banner.push_str(&format!("\npeer:      {peer}"));
            }
            Ok::<_, Failure>((agent.to_string(), banner))
        });
        let rules = context.workspace.rules().display().to_string();
        // No read models are made of a damaged ledger, and the status says so.
        let waiting = reads.ask(system::now(), |store| views::waiting(store, system::now()));
        let to_review = waiting.ok().and_then(|(waiting, _)| waiting).map_or(0, |waiting| waiting.len());
        let is_present = reads.horizon().is_none();
        let present = is_present.then(|| Present::of(context, reads)).transpose()?;
        Ok(Self { banner: banner.transpose()?, rules, to_review, present })
    }

    fn lines(&self) -> String {
        let mut text = String::new();
        if let Some(present) = &self.present {
            let writer =
                if present.writer_is_up { "running" } else { "not running, the next write starts it" };
            text.push_str(&format!("writer:    {writer}\n"));
            text.extend(present.kept.as_ref().map(Kept::line));
        }
        if self.to_review > 0 {
            let noun = if self.to_review == 1 { "proposal waits" } else { "proposals wait" };
            text.push_str(&format!("review:    {} {noun} for the operator: `hm review`\n", self.to_review));
        }
        if let Some((_, banner)) = &self.banner {
            text.push_str(&format!("{banner}\n"));
        }
        let Some(Present { rejected, later, remarks, .. }) = &self.present else { return text };
        if rejected + later > 0 {
            text.push_str(&format!(
                "spool:     {rejected} lines did not pass (spool.rejected.jsonl), {later} wait for a newer hm\n"
            ));
        }
        for remark in remarks {
            text.push_str(&format!("note:      {remark}\n"));
        }
        text
    }

    fn in_json(&self, mut json: Value) -> Value {
        if let Some((agent, banner)) = &self.banner {
            json["agent"] = json!(agent);
            json["banner"] = json!(banner);
        }
        json["rules"] = json!(self.rules);
        json["to_review"] = json!(self.to_review);
        let Some(Present { writer_is_up, rejected, later, remarks, kept }) = &self.present else {
            // A count of today has the name of a list of the view.
            json.as_object_mut().map(|json| json.remove("rejected"));
            return json;
        };
        json["writer_is_up"] = json!(writer_is_up);
        json["rejected"] = json!(rejected);
        json["waiting_for_newer"] = json!(later);
        json["remarks"] = json!(remarks);
        if let Some(Kept { events, oldest, bytes }) = kept {
            json["kept"] = json!({ "events": events, "oldest": oldest, "bytes": bytes });
        }
        json
    }
}
