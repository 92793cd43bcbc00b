//! `hm context`, `hm attention`: what an agent should know, and what needs somebody.

use clap::Args;

use super::Context as Place;
use super::output::Failure;
use crate::domain::agent::AgentId;
use crate::domain::command::{Command, SeeAttention};
use crate::domain::rejection::Code;
use crate::pack;
use crate::views::{self, ContextOf, UNSEATED, View};

/// Whose context, and how much of it.
#[derive(Debug, Args)]
pub(super) struct Context {
    /// As this session sees it; left out: this one, or where the team looks
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// What you want to do, in place of the session's intent and last prompt
    #[arg(long, value_name = "TEXT")]
    intent: Option<String>,
    /// At most so many characters
    #[arg(long, value_name = "CHARS")]
    budget: Option<usize>,
    /// As much as a model with a window of so many tokens should get
    #[arg(long, value_name = "TOKENS", conflicts_with = "budget")]
    window: Option<u64>,
    /// Say why each claim is in it: its score and what that is made of
    #[arg(long)]
    explain: bool,
    /// Say why this claim is in it or not
    #[arg(long, value_name = "CLAIM", conflicts_with = "explain")]
    why: Option<String>,
}

impl Context {
    pub(super) fn run(&self, place: &Place) -> Result<(), Failure> {
        // A script that reads needs no name.
        let agent = match place.who() {
            Err(Failure::Rejected(refused)) if refused.code == Code::AgentRequired => {
                AgentId::recorded(UNSEATED)
            }
            who => who?.0,
        };
        let session = self.session.clone().or_else(|| place.client_session().map(String::from));
        let budget = self.budget.unwrap_or_else(|| pack::budget_for(self.window));
        let of = ContextOf { agent, session, intent: self.intent.clone(), budget, window: None };
        let why = place.any_claim_named(self.why.as_deref())?;
        place.show(&match why {
            None if !self.explain => View::Context(of),
            why => View::Explained(of, why),
        })
    }
}

/// Which notice was seen, if one was.
#[derive(Debug, Args)]
pub(super) struct Attention {
    /// Take note of a refusal or of a change of the rules, so that it is not shown any more
    #[arg(long, value_name = "ID")]
    seen: Option<String>,
    /// Also what other agents have to settle
    #[arg(long, conflicts_with = "seen")]
    all: bool,
}

impl Attention {
    /// What needs the agent that asks; a caller that is no agent in particular sees everything.
    pub(super) fn run(&self, place: &Place) -> Result<(), Failure> {
        let Some(id) = &self.seen else {
            let reader = if self.all { None } else { place.reader()? };
            return place.show(&View::Attention(reader));
        };
        let command = Command::SeeAttention(SeeAttention { id: views::notice(&mut place.models()?, id)? });
        place.submit("noted", command, None)
    }
}
