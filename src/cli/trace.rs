//! `hm trace`: the traces of the memory contract.

use clap::{Args, Subcommand};

use super::output::{self, Failure};
use super::{Context, parse_moment, parse_optional};
use crate::system;
use crate::views::{self, Body, DEFAULT_LIMIT, Format, MAX_LIMIT, TraceFilter, View};

#[derive(Debug, Subcommand)]
pub(super) enum Trace {
    /// List traces, newest first: what was recalled, written, refused, replaced and forgotten
    #[command(after_help = "Examples:\n  hm trace list --type memory_recall\n  \
        hm trace list --session S9 --since 2h")]
    List(List),
    /// Show the traces of one event, by its position in the ledger
    #[command(after_help = "Examples:\n  hm trace show 57\n  hm trace show 57 --plain")]
    Show(Show),
}

/// Which traces to list.
#[derive(Debug, Args)]
pub(super) struct List {
    /// Of events in this session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Only this trace, such as memory_recall or memory_denied
    #[arg(long = "type", value_name = "TRACE")]
    trace: Option<String>,
    /// Recorded then or later: a time, a date, an age (90m, 3d), or #57
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT as u64,
        value_parser = clap::value_parser!(u64).range(1..=MAX_LIMIT as u64))]
    limit: u64,
    /// Where the page before ended, as it says
    #[arg(long, value_name = "SEQ")]
    cursor: Option<u64>,
}

/// Which trace to show, and how.
#[derive(Debug, Args)]
pub(super) struct Show {
    /// The position of the event: 57 or #57
    #[arg(value_name = "SEQ")]
    seq: String,
    /// One `key: value` a line, as the contract writes traces
    #[arg(long)]
    plain: bool,
}

impl Trace {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List(list) => context.show(&View::Traces(list.filter()?)),
            Self::Show(show) if show.plain && !context.global.json => {
                let (config, now, view) = (&context.config, system::now(), show.view()?);
                let answer = views::answer(&mut context.models()?, config, &view, now, Format::Json)?;
                match &answer.body {
                    Body::Json(json) => output::print_text(&views::plain_traces(json)),
                    Body::Markdown(text) | Body::Xml(text) => output::print_text(text),
                }
            }
            Self::Show(show) => context.show(&show.view()?),
        }
    }
}

impl Show {
    fn view(&self) -> Result<View, Failure> {
        let seq = self.seq.trim_start_matches('#').parse().map_err(|_| {
            let given = views::inline(&self.seq, 60);
            Failure::usage(format!(
                "a trace is named by a position in the ledger, such as 57 or #57, and `{given}` is none: `hm trace list` \
                 lists them"
            ))
        })?;
        Ok(View::Trace(seq))
    }
}

impl List {
    fn filter(&self) -> Result<TraceFilter, Failure> {
        Ok(TraceFilter {
            session: self.session.clone(),
            trace: parse_optional("type", self.trace.as_deref())?,
            since: parse_moment("since", self.since.as_deref())?,
            before: self.cursor,
            limit: usize::try_from(self.limit).unwrap_or(MAX_LIMIT),
        })
    }
}
