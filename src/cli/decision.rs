//! `hm decision`: record what was chosen and why, and what became of it.

use clap::{Args, Subcommand};

use super::names::Called;
use super::output::{self, Failure};
use super::{Context, parse, parse_optional, target};
use crate::domain::amendment::Amendment;
use crate::domain::command::{Alternative, Command, RecordDecision, RecordOutcome};
use crate::domain::ids::{ClaimId, IdempotencyKey};
use crate::domain::rejection::Rejection;
use crate::store::{DecisionFilter, DecisionRoom};
use crate::system;
use crate::views::{self, View};

/// What can be done with decisions.
#[derive(Debug, Subcommand)]
pub(super) enum Decision {
    /// Record a decision, why it was taken and what was not chosen
    #[command(aliases = ["add", "create", "new", "propose"], after_help = "Example: hm decision record \"we keep SQLite\" --target database \
        --rationale \"one file, no server to run\" --not-chosen \"Postgres: a server to operate\"")]
    Record(Record),
    /// Change one part of a decision; the rest of it, its target and its options stay
    #[command(
        alias = "edit",
        after_help = "Its supporters are asked about the change alone.\nExample: hm decision amend C47 --replace \"5 s\" --with \"2 s\" --rationale \"5 s blocks the page\""
    )]
    Amend(Amend),
    /// Record what became of a decision
    #[command(after_help = "Example: hm decision outcome C47 success")]
    Outcome {
        /// The decision
        id: Called,
        /// success, partial, failure or unknown
        outcome: String,
        /// In your words
        #[arg(long, aliases = ["note", "reason", "why"], value_name = "TEXT")]
        notes: Option<String>,
    },
    /// Show one decision with everything known about it, as hm claim show does
    #[command(hide = true, after_help = "Example: hm decision show C47")]
    Show {
        /// The decision
        id: Called,
    },
    /// The design on one page: decisions in force, newest first, each with why and who supports it
    #[command(
        alias = "ls",
        after_help = "With --json: all decisions.\nExample: hm decision list --target database"
    )]
    List {
        /// Only on this target
        #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
        target: Option<String>,
        /// About this, anything below it, or anything above it
        #[arg(long, value_name = "SCOPE")]
        scope: Option<String>,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = views::ROWS)]
        limit: usize,
        /// Older than this: what the page before calls its cursor
        #[arg(long, value_name = "SEQ")]
        cursor: Option<u64>,
        /// Those replaced or withdrawn too, each statement cut at 700 characters
        #[arg(long)]
        all: bool,
        /// Statements whole: also those that you were told, and with --all those that are over
        #[arg(long, conflicts_with = "short")]
        whole: bool,
        /// One line each
        #[arg(long)]
        short: bool,
    },
}

/// A new decision.
#[derive(Debug, Args)]
pub(super) struct Record {
    /// What was chosen; or name a claim with --claim
    #[arg(required_unless_present = "claim")]
    statement: Option<String>,
    /// The claim, of type decision, that says it already
    #[arg(hide_short_help = true, long, value_name = "CLAIM", conflicts_with = "statement")]
    claim: Option<String>,
    /// Why, in 10 characters or more, 15 to supersede
    #[arg(long, aliases = ["reason", "note", "why"], value_name = "TEXT")]
    rationale: String,
    /// The problem it settles
    #[arg(hide_short_help = true, long, value_name = "TEXT")]
    context: Option<String>,
    /// What it decides about; one decision in force for each
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    target: Option<String>,
    /// What it is about, besides the target; may be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// What was not chosen, as "WHAT: WHY NOT"; may be repeated
    #[arg(long, value_name = "TEXT")]
    not_chosen: Vec<String>,
    /// A decision it replaces; may be repeated
    #[arg(long, value_name = "DECISION")]
    supersedes: Vec<String>,
    /// Those it replaces were right; what they are about is mended
    #[arg(hide_short_help = true, long, requires = "supersedes")]
    mends: bool,
    /// An agent that is asked for a position; repeatable
    #[arg(long = "ask", alias = "asks", value_name = "NAME")]
    asks: Vec<String>,
    /// Agreed by silence after so many minutes (1 to 10,080)
    #[arg(hide_short_help = true, long, value_name = "N")]
    unless_objection_minutes: Option<u32>,
    /// Your name for this request: sent twice, it is done once
    #[arg(hide_short_help = true, long, value_name = "KEY")]
    key: Option<String>,
}

/// A change of one part of a decision.
#[derive(Debug, Args)]
pub(super) struct Amend {
    /// The decision
    id: Called,
    /// The words to replace; they occur in it once
    #[arg(long, value_name = "TEXT", requires = "with", required_unless_present = "append")]
    replace: Option<String>,
    /// The words in their place; "" takes them out
    #[arg(long, value_name = "TEXT", requires = "replace")]
    with: Option<String>,
    /// A sentence to add at its end
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["replace", "with"])]
    append: Option<String>,
    /// Why, in 15 characters or more
    #[arg(long, aliases = ["reason", "note", "why"], value_name = "TEXT")]
    rationale: String,
    /// Another agent that is asked for a position; repeatable
    #[arg(long = "ask", alias = "asks", value_name = "NAME")]
    asks: Vec<String>,
    /// Your name for this request: sent twice, it is done once
    #[arg(hide_short_help = true, long, value_name = "KEY")]
    key: Option<String>,
}

impl Decision {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Record(record) => {
                let key: Option<IdempotencyKey> = parse_optional("key", record.key.as_deref())?;
                context.submit("recorded decision", Command::RecordDecision(record.command(context)?), key)
            }
            Self::Amend(amend) => {
                let key: Option<IdempotencyKey> = parse_optional("key", amend.key.as_deref())?;
                context.submit("recorded decision", Command::RecordDecision(amend.command(context)?), key)
            }
            Self::Outcome { id, outcome, notes } => {
                let command = RecordOutcome {
                    decision_id: context.claim_named(id)?,
                    outcome: parse("outcome", outcome)?,
                    notes: parse_optional("notes", notes.as_deref())?,
                };
                context.submit("recorded outcome of", Command::RecordOutcome(command), None)
            }
            Self::Show { id } => context.show(&View::Claim(context.claim_named(id)?)),
            Self::List { target, scope, limit, cursor, all, whole, short } => {
                let room = match (whole, short) {
                    (_, true) => DecisionRoom::Line(output::columns()),
                    (true, false) => DecisionRoom::Whole,
                    (false, false) => DecisionRoom::Page,
                };
                let target = target.as_deref().map(|name| target::scope("target", name)).transpose()?;
                context.show(&View::Decisions(DecisionFilter {
                    target,
                    scope: scope.as_deref().map(|scope| context.scope("scope", scope)).transpose()?,
                    before: *cursor,
                    limit: *limit,
                    in_force: !all && !context.global.json,
                    room,
                    known: context.row_reader(None).has_whole,
                }))
            }
        }
    }
}

impl Amend {
    fn command(&self, context: &Context) -> Result<RecordDecision, Failure> {
        let change = Amendment::of(self.replace.clone(), self.with.clone(), self.append.clone())?;
        let ids = (context.claim_named(&self.id)?, ClaimId::from_uuid(system::new_id()));
        let rationale = parse("rationale", &self.rationale)?;
        let amended = views::amendment(&mut context.models()?, ids, &change, rationale, system::now())?;
        Ok(RecordDecision { asks: context.asked("ask", &self.asks)?, ..amended })
    }
}

impl Record {
    fn command(&self, context: &Context) -> Result<RecordDecision, Failure> {
        let fresh = || ClaimId::from_uuid(system::new_id());
        let claim = context.any_claim_named(self.claim.as_deref())?;
        let superseded = self.supersedes.iter().map(|text| context.claim_named(text));
        Ok(RecordDecision {
            claim_id: claim.unwrap_or_else(fresh),
            statement: parse_optional("statement", self.statement.as_deref())?,
            rationale: parse("rationale", &self.rationale)?,
            context: parse_optional("context", self.context.as_deref())?,
            target: self.target.as_deref().map(|name| target::scope("target", name)).transpose()?,
            scopes: context.scopes_and_links("scope", &self.scopes)?,
            alternatives: self
                .not_chosen
                .iter()
                .map(|text| {
                    let (what, why) = text.split_once(": ").ok_or_else(|| {
                        Rejection::invalid("not-chosen", format!("`{text}` does not say \"WHAT: WHY NOT\""))
                    })?;
                    Ok(Alternative {
                        claim_id: fresh(),
                        statement: Some(parse("not-chosen", what)?),
                        rejection_reason: parse("not-chosen", why)?,
                    })
                })
                .collect::<Result<_, Rejection>>()?,
            supersedes: superseded.collect::<Result<_, _>>()?,
            mends: self.mends,
            evidence_refs: Vec::new(),
            decided_at: None,
            asks: context.asked("ask", &self.asks)?,
            unless_objection_minutes: self.unless_objection_minutes,
        })
    }
}
