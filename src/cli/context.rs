//! `hm context` shows what an agent needs to know; `hm attention` lists the open items that need an agent.

use clap::Args;

use super::Context as Place;
use super::output::{self, Failure};
use super::parse_optional;
use crate::domain::agent::AgentId;
use crate::domain::command::{Command, SeeAttention};
use crate::domain::rejection::Code;
use crate::pack;
use crate::system;
use crate::views::{self, ContextOf, Format, UNSEATED, View};

#[derive(Debug, Args)]
pub(super) struct Context {
    /// Session to show; default: this one, else the team's focus
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Intent to use instead of the session's intent and last prompt
    #[arg(long, value_name = "TEXT")]
    intent: Option<String>,
    /// Maximum length
    #[arg(long, value_name = "CHARS")]
    budget: Option<usize>,
    /// Context window of the model; it sets the length
    #[arg(long, value_name = "TOKENS", conflicts_with = "budget")]
    window: Option<u64>,
    /// Show also what this session was told already
    #[arg(long)]
    all: bool,
    /// Show for each claim its score and the parts of the score
    #[arg(long)]
    explain: bool,
    /// Record which items of the memory it shows, for `hm trace`
    #[arg(long, conflicts_with_all = ["explain", "why"])]
    trace: bool,
    /// Show why this claim is in or out
    #[arg(long, value_name = "CLAIM", conflicts_with = "explain")]
    why: Option<String>,
}

impl Context {
    pub(super) fn run(&self, place: &Place) -> Result<(), Failure> {
        // A script that only reads needs no name.
        let agent = match place.who() {
            Err(Failure::Rejected(refused)) if refused.code == Code::AgentRequired => {
                AgentId::recorded(UNSEATED)
            }
            who => who?.0,
        };
        let session = self.session.clone().or_else(|| place.client_session().map(String::from));
        let budget = self.budget.unwrap_or_else(|| pack::budget_for(self.window));
        let of = ContextOf { intent: self.intent.clone(), budget, ..ContextOf::new(agent, session) };
        let why = place.any_claim_named(self.why.as_deref())?;
        let view = match why {
            None if !self.explain && !self.all && self.session.is_none() => View::Rest(of),
            None if !self.explain => View::Context(of),
            why => View::Explained(of, why),
        };
        if self.trace {
            self.record(place, &view)?;
        }
        place.show(&view)
    }

    /// Records what the context shows. A read alone writes nothing.
    fn record(&self, place: &Place, view: &View) -> Result<(), Failure> {
        if place.global.at.is_some() {
            return Err(Failure::usage("a context of the past is not recorded: leave out --at or --trace"));
        }
        let mut reads = place.reads()?;
        let answer = views::answer(&mut reads, &place.config, view, system::now(), Format::Text)?;
        match answer.recall.record(&place.secrets()) {
            Some(recall) => {
                let receipt = place.submitted(Command::RecordRecall(recall), None)?;
                let seq = receipt.seq.map(|seq| format!(": `hm trace show {seq}`")).unwrap_or_default();
                output::note(&format!("what this context shows is recorded{seq}"));
            }
            None => output::note("this context shows no item of the memory, so nothing is recorded"),
        }
        Ok(())
    }
}

#[derive(Debug, Args)]
pub(super) struct Attention {
    /// Acknowledge a refusal or a change of the rules, or decline a suggestion; it is not shown again
    #[arg(long, value_name = "ID")]
    seen: Option<String>,
    /// Why a suggestion is declined, kept on record
    #[arg(long, value_name = "TEXT", requires = "seen")]
    reason: Option<String>,
    /// Also items that others must settle
    #[arg(long, conflicts_with = "seen")]
    all: bool,
}

impl Attention {
    /// Lists the items of the calling agent. A caller without an agent name sees all items.
    pub(super) fn run(&self, place: &Place) -> Result<(), Failure> {
        let Some(id) = &self.seen else {
            let reader = if self.all { None } else { place.reader()? };
            return place.show(&View::Attention(reader));
        };
        let reason = parse_optional("reason", self.reason.as_deref())?;
        let id = views::notice(&mut place.models()?, id)?;
        let command = Command::SeeAttention(SeeAttention { id, reason });
        place.submit("noted", command, None)
    }
}
