//! `hm log`: lists the events of the ledger, and follows new ones.

use std::io::Write;

use clap::Args;
use serde_json::json;

use super::output::{self, Failure};
use super::{Context, block_on};
use crate::ledger::{Cursor, Filter, Stored};
use crate::reads::Reads;
use crate::views::{self, Body, EventView, MAX_LIMIT, View};

/// Default number of events: about one screen.
const DEFAULT_EVENTS: u64 = 20;
/// Maximum length of an event of the list, in columns. A narrower screen has it on several lines.
const LINE_CHARS: usize = 160;
/// Events in one read while following.
const FOLLOW_CHUNK: usize = 500;

#[derive(Debug, Args)]
pub(super) struct Log {
    /// Only events after this seq, oldest first; default: the newest
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// Only this type, such as claim.created
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Only this agent
    #[arg(long, value_name = "NAME")]
    agent_is: Option<String>,
    /// Also calls of hm itself, and tools of which only the name is known
    #[arg(long)]
    all: bool,
    /// Maximum count
    #[arg(long, value_name = "N", default_value_t = DEFAULT_EVENTS,
        value_parser = clap::value_parser!(u64).range(1..=MAX_LIMIT as u64))]
    limit: u64,
    /// Print new events as they come, one line each
    #[arg(long)]
    follow: bool,
}

impl Log {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let agent = self.agent_is.as_deref().map(|name| context.agent("agent-is", name)).transpose()?;
        if self.follow && context.global.at.is_some() {
            return Err(Failure::usage("the past has nothing to follow: leave out --at or --follow"));
        }
        let filter = Filter {
            until: None,
            after: self.after.unwrap_or(0),
            kind: self.kind.clone(),
            agent,
            session: None,
            limit: usize::try_from(self.limit).unwrap_or(MAX_LIMIT),
            newest: self.after.is_none(),
        };
        // A filter by type shows every event of that type.
        let all = self.all || self.kind.is_some();
        if self.follow {
            return block_on(follow(context, &filter, all));
        }
        if all {
            let earlier = self.earlier(context, &filter)?;
            context.show(&View::Events(filter))?;
            return output::print_text(&earlier);
        }
        let answer = views::log(&mut context.reads()?, &filter, context.format())?;
        let next = answer.next.map(|next| output::more(next.parameter, &next.value)).unwrap_or_default();
        match answer.body {
            Body::Json(json) => output::print_json(&json),
            Body::Markdown(text) | Body::Xml(text) => {
                let text = super::names::shortened(&text);
                let fits = |line: &str| {
                    if line.starts_with("- ") { output::cut(line, LINE_CHARS) } else { line.to_owned() }
                };
                let lines = text.lines().map(|line| output::row(&fits(line)));
                output::print_text(&(lines.collect::<String>() + &next))
            }
        }
    }
}

impl Log {
    /// The line about the events before the newest ones. Empty for programs, whose answer has positions.
    fn earlier(&self, context: &Context, filter: &Filter) -> Result<String, Failure> {
        if !filter.newest || context.global.json {
            return Ok(String::new());
        }
        let mut reads = context.reads()?;
        let until = reads.horizon();
        let wanted = Filter { until, limit: filter.limit + 1, ..filter.clone() };
        let found = reads.ledger()?.map(|ledger| ledger.list(&wanted)).transpose()?.unwrap_or_default();
        let first = found.get(1).filter(|_| found.len() > filter.limit);
        Ok(first.map(|event| views::events_before(filter, event.seq)).unwrap_or_default())
    }
}

/// Prints the events that the filter accepts, then each new one, until the caller interrupts it.
async fn follow(context: &Context, filter: &Filter, all: bool) -> Result<(), Failure> {
    let mut reads = context.reads()?;
    let mut cursor = Cursor::GENESIS;
    if let Some(ledger) = reads.ledger()? {
        // Reads the head first: an event appended between the two reads is printed twice instead of never.
        let head = ledger.head()?;
        let listed = ledger.list(filter)?;
        let shown: Vec<Stored> =
            listed.iter().filter(|event| all || !views::is_noise(event)).cloned().collect();
        print(context, &shown)?;
        cursor = listed.last().map_or(head, Stored::cursor);
    }
    let mut watch = context.front()?.watch();
    while watch.changed().await.is_some() {
        cursor = print_from(context, &mut reads, (filter, all), cursor)?;
    }
    Ok(())
}

fn print_from(
    context: &Context,
    reads: &mut Reads,
    (filter, all): (&Filter, bool),
    mut cursor: Cursor,
) -> Result<Cursor, Failure> {
    while let Some(ledger) = reads.ledger()? {
        let mut events = ledger.read_from(cursor, FOLLOW_CHUNK)?;
        let Some(last) = events.last().map(Stored::cursor) else { break };
        cursor = last;
        events.retain(|event| lets_through(filter, event) && (all || !views::is_noise(event)));
        print(context, &events)?;
    }
    Ok(cursor)
}

fn lets_through(filter: &Filter, event: &Stored) -> bool {
    event.seq > filter.after
        && filter.kind.as_ref().is_none_or(|kind| event.kind == *kind)
        && filter.agent.as_ref().is_none_or(|agent| event.agent == *agent)
}

fn print(context: &Context, events: &[Stored]) -> Result<(), Failure> {
    let mut out = output::stream();
    for event in events {
        let event = EventView::from(event);
        if context.global.json {
            writeln!(out, "{}", output::json(&json!(event)))?;
        } else {
            out.write_all(output::fitted(&views::event_line(&event)).as_bytes())?;
        }
    }
    Ok(out.flush()?)
}
