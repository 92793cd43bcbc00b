//! `hm status`: the state of the workspace in a few lines.

use serde_json::json;

use super::output::{self, Failure};
use super::{Context, block_on};
use crate::pack::{self, Presence};
use crate::spool::Spool;
use crate::system;
use crate::views::{self, View};

pub(super) fn run(context: &Context) -> Result<(), Failure> {
    let reader = context.reader()?;
    let mut reads = context.models()?;
    let mut answer = views::answer(&mut reads, &context.config, &View::Status, system::now())?;
    let front = context.front()?;
    let writer_is_up = block_on(async { Ok(front.writer_is_up().await) })?;

    let writer = if writer_is_up { "running" } else { "not running, the next write starts it" };
    answer.text.push_str(&format!("writer:    {writer}\n"));
    answer.json["writer_is_up"] = json!(writer_is_up);
    if let Some(agent) = reader {
        let (presence, _) = reads.ask(system::now(), |store| views::presence(store, agent.as_str()))?;
        let alone = || Presence { agent: agent.to_string(), ..Presence::default() };
        let checkout = context.workspace.checkout();
        let banner = pack::banner(&Presence { checkout, ..presence.unwrap_or_else(alone) });
        answer.text.push_str(&format!("{banner}\n"));
        answer.json["agent"] = json!(agent);
        answer.json["banner"] = json!(banner);
    }
    let (rejected, later) = Spool::of(&context.workspace).left_behind();
    if rejected + later > 0 {
        answer.text.push_str(&format!(
            "spool:     {rejected} lines did not pass (spool.rejected.jsonl), {later} wait for a newer hm\n"
        ));
    }
    let remarks = context.workspace.remarks();
    for remark in &remarks {
        answer.text.push_str(&format!("note:      {remark}\n"));
    }
    answer.json["rules"] = json!(context.workspace.rules().display().to_string());
    answer.json["rejected"] = json!(rejected);
    answer.json["waiting_for_newer"] = json!(later);
    answer.json["remarks"] = json!(remarks);
    output::print(context.global.json, &output::fitted(&answer.text), &answer.json)
}
