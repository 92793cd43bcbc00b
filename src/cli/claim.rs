//! `hm claim`: state claims, read them, and take positions on them.

use std::collections::BTreeSet;

use clap::{Args, Subcommand};

use super::because::{Because, Several, each_of};
use super::names::Called;
use super::output::{self, Failure};
use super::search::Search;
use super::{Context, NOTE_TOO, REASON_TOO, note_damage, parse, parse_all, parse_optional};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Basis, ClaimType, Position, Share, Status, Trigger};
use crate::domain::command::{
    AcceptMerge, AddEvidence, AffirmClaim, Command, CreateClaim, DeclineMerge, DeprecateClaim, KeepClaim,
    RetractEvidence, TakePosition,
};
use crate::domain::decide::{IF_MENDED, ways_to_end};
use crate::domain::ids::{ClaimId, EventId};
use crate::domain::merge::STAYS;
use crate::domain::names::{Sort, names_in};
use crate::domain::receipt::{Receipt, WarningCode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::text::Reason;
use crate::domain::time::Hours;
use crate::store::{ClaimFilter, ClaimPage, StoreError};
use crate::system;
use crate::views::{self, Body, DEFAULT_LIMIT, Latest, Listed, MAX_LIMIT, ROWS, RowReader, View};

/// Rows of a list at a place, where the claims that are over are shown too.
const ROWS_AT_A_PLACE: usize = 30;

/// What can be done with claims.
#[derive(Debug, Subcommand)]
pub(super) enum Claim {
    /// State a fact, a decision, a hypothesis or a dead end
    #[command(
        aliases = ["add", "record", "new", "propose"],
        after_long_help = "A dead end (--type negative) warns where it is met again: by --trigger-path PATH,\n\
        --trigger-command COMMAND, --trigger-symbol NAME (each may be repeated), --trigger-error TEXT.",
        after_help = "Example: hm claim create \"the pool holds 20 connections\" --scope src/db/pool.rs"
    )]
    Create(Create),
    /// Show all that is known of claims
    #[command(after_help = "Example: hm claim show C47")]
    Show {
        /// The claims
        #[arg(required = true, value_name = "CLAIM")]
        ids: Vec<Called>,
    },
    /// Say what a claim rests on
    ///
    /// Say what a claim rests on, down to events, runs with their hashes, and other claims
    #[command(after_help = "Example: hm claim why C47")]
    Why {
        /// The claim
        id: Called,
    },
    /// List the 20 claims that changed last
    ///
    /// List the 20 claims that changed last: decisions in force, facts in force, contested claims, the rest
    #[command(after_help = "Example: hm claim list --status contested --scope src/db")]
    List(List),
    /// Find claims by what they say
    ///
    /// Find claims by what they say, best first
    #[command(after_help = "Example: hm claim search connection pool limit --scope src/db")]
    Search(Search),
    /// Say that claims are right
    #[command(after_help = "Example: hm claim support C47 C48 \"I counted\"")]
    Support(Stances),
    /// Say that a claim is wrong, and why
    #[command(after_help = "Example: \
        hm claim challenge C47 \"the limit is 50 since v2\"")]
    Challenge(Challenge),
    /// Say it is mended
    ///
    /// Say that bugs are mended: for each, a new claim takes its place
    #[command(after_help = "Example: hm claim mended C21 C23 \"in commit 8af13c2\"")]
    Mended(Several),
    /// Say it is still meant
    ///
    /// Say that claims you own or challenge are still meant, about their files as they are now
    #[command(after_help = "Example: hm claim still C47")]
    Still(Several),
    /// Withdraw your positions
    #[command(after_help = "Example: hm claim abstain C47")]
    Abstain(Stances),
    /// Take back claims of yours, or your positions on claims of other agents
    #[command(
        hide = true,
        alias = "retract",
        after_help = "Example: hm claim withdraw C47 \"I misread the test\""
    )]
    Withdraw(Several),
    /// End claims for good
    #[command(after_help = "Example: \
        hm claim deprecate C47 \"the pool is gone\"")]
    Deprecate(Several),
    /// Merge two claims that say the same, as proposed
    #[command(
        hide = true,
        after_long_help = format!(
            "Of the two, {STAYS}. The other goes out of force, and those who supported it are asked."
        ),
        after_help = "Example: hm claim merge C47 C52"
    )]
    Merge {
        /// One claim
        id: Called,
        /// The other claim
        other: Called,
    },
    /// Decline a proposed merge: two claims differ; the pair is not proposed again
    #[command(hide = true, after_help = "Example: hm claim apart C47 C52 --reason \"two pools\"")]
    Apart {
        /// One claim
        id: Called,
        /// The other claim
        other: Called,
        /// How they differ, kept on record
        #[arg(long, aliases = REASON_TOO, value_name = "TEXT")]
        reason: String,
    },
    /// Keep it against proposals (operator only)
    ///
    /// Keep a claim you stand by against what agents proposed (operator only)
    #[command(
        after_long_help = "A claim that was to take its place goes out of force. To propose the same again takes a new claim.",
        after_help = "Example: hm claim keep C47"
    )]
    Keep {
        /// The claim
        id: Called,
        /// Why
        #[arg(long, aliases = REASON_TOO, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Tie an event of the ledger to a claim
    #[command(
        aliases = ["add-evidence", "evidence-add"],
        after_help = "Example: hm claim evidence C47 --ref last --relation supports"
    )]
    Evidence(Evidence),
    /// Take evidence back
    ///
    /// Take evidence back that you tied to a claim; it stays in the history with your reason
    #[command(after_help = "Example: hm claim retract-evidence C47 R11 \
        \"that was the run before the fix\"")]
    RetractEvidence {
        /// The claim
        id: Called,
        /// The evidence: last, R11, C47, 1234 (an event), or the end of an id
        evidence: String,
        /// Only where the event stands in several relations to the claim
        #[arg(long, value_name = "RELATION")]
        relation: Option<String>,
        #[command(flatten)]
        because: Because,
    },
}

/// A new claim.
#[derive(Debug, Args)]
pub(super) struct Create {
    /// What it says, in 1 to 2,000 characters
    statement: String,
    /// fact (default), decision, hypothesis or negative (a dead end)
    #[arg(long = "type", value_name = "TYPE", default_value = "fact", hide_default_value = true)]
    claim_type: String,
    /// preference, correction, execution or context, where the type does not say it
    #[arg(long, hide = true, value_name = "TYPE")]
    event_type: Option<String>,
    /// A path, symbol:NAME, target:NAME or tag:NAME [default: .]
    #[arg(long = "scope", value_name = "SCOPE", default_value = ".", hide_default_value = true)]
    scopes: Vec<String>,
    /// How sure you are, 0 to 1
    #[arg(hide_short_help = true, long, value_name = "SHARE", default_value_t = 1.0)]
    confidence: f64,
    /// The claim it replaces; with --mends repeatable
    #[arg(long, value_name = "CLAIM")]
    supersedes: Vec<Called>,
    /// The claim it replaces was right; what it is about is mended
    #[arg(hide_short_help = true, long, requires = "supersedes")]
    mends: bool,
    /// The task it came out of (env HM_TASK)
    #[arg(hide_short_help = true, long, value_name = "TASK")]
    task: Option<String>,
    /// Hours until it expires; 168 for a hypothesis, else never
    #[arg(hide_short_help = true, long, value_name = "HOURS")]
    ttl_hours: Option<u32>,
    /// Support: last, last:WORD (a command), R11, #1234; repeatable
    #[arg(long, alias = "ref", value_name = "EVENT")]
    evidence: Vec<String>,
    /// Dead ends only: warn when this path or glob is touched; may be repeated
    #[arg(long, hide = true, value_name = "PATH")]
    trigger_path: Vec<String>,
    /// Dead ends only: warn when this command is run; may be repeated
    #[arg(long, hide = true, value_name = "COMMAND")]
    trigger_command: Vec<String>,
    /// Dead ends only: warn when this symbol is used; may be repeated
    #[arg(long, hide = true, value_name = "NAME")]
    trigger_symbol: Vec<String>,
    /// Dead ends only: warn when this error shows up
    #[arg(long, hide = true, value_name = "TEXT")]
    trigger_error: Option<String>,
    /// An agent that is asked for a position; repeatable
    #[arg(long = "ask", alias = "asks", value_name = "NAME")]
    asks: Vec<String>,
    /// An agent told at once, with no answer wanted; repeatable
    #[arg(long = "tell", alias = "tells", value_name = "NAME")]
    tells: Vec<String>,
    /// Agreed by silence after so many minutes (1 to 10,080)
    #[arg(hide_short_help = true, long, value_name = "N")]
    unless_objection_minutes: Option<u32>,
    /// The question that it answers; its statement names it
    #[arg(hide_short_help = true, long, value_name = "CLAIM")]
    answers: Option<String>,
    /// Your name for this request: sent twice, it is done once
    #[arg(hide_short_help = true, long, value_name = "KEY")]
    key: Option<String>,
}

/// Which claims to list.
#[derive(Debug, Args)]
pub(super) struct List {
    /// proposed, confirmed, contested, pending_proof or deprecated; several with commas
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    status: Vec<String>,
    /// fact, decision, hypothesis or negative
    #[arg(long = "type", value_name = "TYPE")]
    claim_type: Option<String>,
    /// About this, anything below it, or anything above it; open, confirmed, then over
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// Whose
    #[arg(long, aliases = ["holder", "by", "author"], value_name = "NAME")]
    owner: Option<String>,
    /// Made in this session
    #[arg(hide_short_help = true, long, value_name = "SESSION")]
    session: Option<String>,
    /// Come out of this task
    #[arg(hide_short_help = true, long, value_name = "TASK")]
    task: Option<String>,
    /// Changed then or later: made, supported, challenged, tied to evidence, moved in status; a time, an age (90m, 3d), or #57
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Made then or earlier
    #[arg(hide_short_help = true, long, value_name = "TIME")]
    until: Option<String>,
    /// Statements whole, however long
    #[arg(hide_short_help = true, long)]
    whole: bool,
    /// At most so many, newest first
    #[arg(long, value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..=MAX_LIMIT as u64))]
    limit: Option<u64>,
    /// Where the page before ended, as it says
    #[arg(hide_short_help = true, long, value_name = "N")]
    cursor: Option<u64>,
    /// All, newest first, deprecated claims too
    #[arg(long)]
    all: bool,
    /// Last change first, whatever the claims are
    #[arg(hide_short_help = true, long)]
    by_change: bool,
}

/// A position on claims.
#[derive(Debug, Args)]
pub(super) struct Stances {
    #[command(flatten)]
    on: Several,
    /// What it rests on: last (your last command or run), last:WORD, R11, C47 or #1234
    #[arg(long, alias = "ref", value_name = "EVENT")]
    evidence: Option<String>,
}

/// An objection to a claim.
#[derive(Debug, Args)]
pub(super) struct Challenge {
    /// The claim
    id: Called,
    /// Why (or --reason TEXT); evidence may stand for it
    #[arg(value_name = "REASON", conflicts_with = "reason")]
    words: Option<String>,
    /// Why
    #[arg(long, hide = true, aliases = REASON_TOO, value_name = "TEXT")]
    reason: Option<String>,
    /// What it rests on: last (your last command or run), last:WORD, R11, C47 or #1234
    #[arg(long, alias = "ref", value_name = "EVENT")]
    evidence: Option<String>,
}

/// An event that says something about a claim.
#[derive(Debug, Args)]
pub(super) struct Evidence {
    /// The claim
    id: Called,
    /// The event: last (your last command or run), last:WORD (the last command with that word), R11, C47 or #1234 (hm log); or
    /// lines of a file: src/a.rs:10-14
    #[arg(long = "ref", alias = "evidence", value_name = "EVENT")]
    evidence_ref: String,
    /// supports, contradicts, caused_by or mentions
    #[arg(long, value_name = "RELATION", default_value = "supports")]
    relation: String,
    /// How much it says, 0 to 1
    #[arg(hide_short_help = true, long, value_name = "SHARE", default_value_t = 1.0)]
    weight: f64,
    /// In your words
    #[arg(long, aliases = NOTE_TOO, value_name = "TEXT")]
    note: Option<String>,
}

impl Claim {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Create(create) => create.run(context),
            Self::Show { ids } => {
                each_of(context, "claims", ids, |id| match id.strip_prefix('X') {
                    // A name of news goes into the verb that agents know.
                    Some(number) if number.parse::<u64>().is_ok() => {
                        let id = context.named(Sort::Contradiction, id)?;
                        context.show(&View::Contradiction(EventId::from_uuid(id)))
                    }
                    _ => context.show(&View::Claim(context.claim_named(id)?)),
                })
            }
            Self::Why { id } => {
                let id = context.claim_named(id)?;
                let answer = views::why(&mut context.models()?, id, system::now(), context.format())?;
                let seq = answer.seq;
                match answer.body {
                    Body::Json(json) => output::print_json(&json)?,
                    Body::Markdown(text) | Body::Xml(text) => output::print_text(&output::fitted(&text))?,
                }
                context.opened(&[id.to_string()], seq);
                Ok(())
            }
            Self::List(list) => list.run(context),
            Self::Search(search) => search.run(context),
            Self::Support(stances) => stances.run(context, "supported", Position::Support),
            Self::Challenge(challenge) => context.submit("challenged", challenge.command(context)?, None),
            Self::Mended(claims) => claims.each(context, |id| {
                let how: Option<Reason> = claims.reason()?;
                let how = how.as_ref().map(Reason::as_str);
                let command = mending(context, context.claim_named(id)?, how)?;
                context.submit("claim created", Command::CreateClaim(command), None)
            }),
            Self::Still(claims) => claims.each(context, |id| {
                let (claim_id, reason) = (context.claim_named(id)?, claims.reason()?);
                let command = Command::AffirmClaim(AffirmClaim { claim_id, reason });
                context.submit("still meant:", command, None)
            }),
            Self::Abstain(stances) => stances.run(context, "abstained", Position::Abstain),
            Self::Withdraw(claims) => {
                let reason: Reason = claims.needed_reason("withdraw")?;
                claims.each(context, |id| {
                    let (claim_id, reason) = (context.claim_named(id)?, reason.clone());
                    if context.takes_back_all_of(claim_id)? {
                        let command = DeprecateClaim { claim_id, reason };
                        return context.submit("withdrawn", Command::DeprecateClaim(command), None);
                    }
                    let (position, reason) = (Position::Abstain, Some(reason));
                    let position = TakePosition { claim_id, position, reason, evidence_ref: None };
                    context.submit("withdrawn from", Command::TakePosition(position), None)
                })
            }
            Self::Deprecate(claims) => {
                let reason: Reason = claims.needed_reason("deprecate")?;
                claims.each(context, |id| {
                    let command =
                        DeprecateClaim { claim_id: context.claim_named(id)?, reason: reason.clone() };
                    context.submit("deprecated", Command::DeprecateClaim(command), None)
                })
            }
            Self::RetractEvidence { id, evidence, relation, because } => {
                let command = Command::RetractEvidence(RetractEvidence {
                    claim_id: context.claim_named(id)?,
                    evidence_ref: context.evidence_named("evidence", evidence)?,
                    relation: parse_optional("relation", relation.as_deref())?,
                    reason: because.reason()?,
                });
                context.submit("evidence retracted from", command, None)
            }
            Self::Merge { id, other } => {
                let (claim_id, other) = (context.claim_named(id)?, context.claim_named(other)?);
                context.submit("merged", Command::AcceptMerge(AcceptMerge { claim_id, other }), None)
            }
            Self::Apart { id, other, reason } => {
                let (claim_id, other) = (context.claim_named(id)?, context.claim_named(other)?);
                let command = DeclineMerge { claim_id, other, reason: parse("reason", reason)? };
                context.submit("kept apart", Command::DeclineMerge(command), None)
            }
            Self::Keep { id, reason } => {
                let (claim_id, reason) =
                    (context.claim_named(id)?, parse_optional("reason", reason.as_deref())?);
                context.operator("claim-keep")?;
                context.submit("kept", Command::KeepClaim(KeepClaim { claim_id, reason }), None)
            }
            Self::Evidence(evidence) => context.submit("evidence added to", evidence.command(context)?, None),
        }
    }
}

/// The claim that what an older one reports is mended. It has the scopes of that one, and takes its place.
fn mending(context: &Context, old: ClaimId, how: Option<&str>) -> Result<CreateClaim, Failure> {
    let mut reads = context.models()?;
    let store = reads.store()?;
    let found =
        store.map(|store| Ok::<_, StoreError>((store.claim(old)?, store.name_of(old)?))).transpose()?;
    let Some((Some(found), called)) = found else {
        let hint = "take the id from a receipt or from hm claim list";
        return Err(Rejection::new(Code::UnknownClaim, format!("no claim has the id {old}"), hint).into());
    };
    let how = how.map(|how| format!(": {how}")).unwrap_or_default();
    Ok(CreateClaim {
        claim_id: ClaimId::from_uuid(system::new_id()),
        statement: parse("statement", &format!("{called} is mended{how}"))?,
        claim_type: ClaimType::Fact,
        event_type: None,
        scopes: parse_all("scope", &found.summary.scopes)?,
        confidence: Share::FULL,
        supersedes: Some(old),
        ttl_hours: None,
        evidence_refs: Vec::new(),
        trigger: None,
        mends: true,
        origin_task_id: context.task()?,
        asks: Vec::new(),
        tells: Vec::new(),
        unless_objection_minutes: None,
    })
}

impl Create {
    /// One claim takes the place of one. Of several that are mended at once, each gets a claim like that of `mended`, after
    /// the first.
    fn run(&self, context: &Context) -> Result<(), Failure> {
        let first = self.command(context)?;
        let create = |command, key: Option<&str>| {
            context.submit("claim created", Command::CreateClaim(command), parse_optional("key", key)?)
        };
        if self.supersedes.len() < 2 {
            return create(first, self.key.as_deref());
        }
        if !self.mends {
            let problem = "a claim takes the place of one: name one, say --mends if all of these are mended, or \
                           decide anew with `hm decision record`, which supersedes several";
            return Err(Rejection::invalid("supersedes", problem).into());
        }
        let mut number = 0;
        each_of(context, "receipts", &self.supersedes, |old| {
            number += 1;
            if number == 1 {
                return create(first.clone(), self.key.as_deref());
            }
            let mended = mending(context, context.claim_named(old)?, Some(first.statement.as_str()))?;
            let (evidence_refs, asks) = (first.evidence_refs.clone(), first.asks.clone());
            let key = self.key.as_ref().map(|key| format!("{key}-{number}"));
            let CreateClaim { confidence, unless_objection_minutes, .. } = first;
            let each = CreateClaim { evidence_refs, asks, confidence, unless_objection_minutes, ..mended };
            create(each, key.as_deref())
        })
    }

    /// The statement, with the name of the question that it answers.
    fn said(&self, context: &Context) -> Result<String, Failure> {
        let Some(question) = context.any_claim_named(self.answers.as_deref())? else {
            return Ok(self.statement.clone());
        };
        let mut reads = context.models()?;
        let name = reads.store()?.map(|store| store.name_of(question)).transpose()?;
        let name = name.unwrap_or_else(|| question.to_string());
        let is_named = names_in(&self.statement).any(|named| named.to_string() == name);
        Ok(if is_named {
            self.statement.clone()
        } else {
            format!("{} (answers {name})", self.statement.trim())
        })
    }

    fn command(&self, context: &Context) -> Result<CreateClaim, Failure> {
        let scopes = |argument: &str, texts: &[String]| {
            texts.iter().map(|text| context.scope(argument, text)).collect::<Result<Vec<_>, _>>()
        };
        let trigger = Trigger {
            paths: scopes("trigger-path", &self.trigger_path)?,
            commands: parse_all("trigger-command", &self.trigger_command)?,
            symbols: parse_all("trigger-symbol", &self.trigger_symbol)?,
            error_signature: parse_optional("trigger-error", self.trigger_error.as_deref())?,
        };
        Ok(CreateClaim {
            origin_task_id: match self.task.as_deref() {
                Some(task) => context.task_named(Some(task))?,
                None => context.task()?,
            },
            claim_id: ClaimId::from_uuid(system::new_id()),
            statement: parse("statement", &self.said(context)?)?,
            claim_type: parse("type", &self.claim_type)?,
            event_type: parse_optional("event-type", self.event_type.as_deref())?,
            scopes: context.scopes_and_links("scope", &self.scopes)?,
            confidence: share("confidence", self.confidence)?,
            supersedes: context.any_claim_named(self.supersedes.first().map(|old| &**old))?,
            ttl_hours: self.ttl_hours.map(Hours),
            evidence_refs: {
                let cited = self.evidence.iter().map(|text| context.evidence_named("evidence", text));
                cited.collect::<Result<_, _>>()?
            },
            trigger: Some(trigger).filter(|trigger| !trigger.is_empty()),
            mends: self.mends,
            asks: context.asked("ask", &self.asks)?,
            tells: context.asked("tell", &self.tells)?,
            unless_objection_minutes: self.unless_objection_minutes,
        })
    }
}

/// Leaves out of the receipt of one of several claims what the receipt of another one said: the evidence, and the advice
/// after the first part of the next step.
fn once_each(receipt: &mut Receipt, said: &mut BTreeSet<String>) {
    let mut is_new = |text: String| said.insert(text);
    if !views::cited_lines(receipt).into_iter().fold(false, |any, line| is_new(line) | any) {
        receipt.cited.clear();
    }
    let of_any = |advice: &str| {
        let ids = receipt.entity_id.map(|id| id.to_string()).into_iter().chain(receipt.name.clone());
        ids.fold(advice.to_owned(), |advice, id| advice.replace(&id, ""))
    };
    if let Some((first, advice)) = receipt.next.as_deref().and_then(|next| next.split_once("; "))
        && advice.contains('`')
        && !is_new(of_any(advice))
    {
        receipt.next = Some(first.to_owned());
    }
}

impl Stances {
    fn run(&self, context: &Context, done: &str, position: Position) -> Result<(), Failure> {
        let (mut changed, mut mended) = (Vec::<String>::new(), Vec::<String>::new());
        let mut said = BTreeSet::new();
        let ended = self.on.each(context, |id| {
            let command = TakePosition {
                claim_id: context.claim_named(id)?,
                position,
                reason: self.on.reason()?,
                evidence_ref: context.any_evidence_named("evidence", self.evidence.as_deref())?,
            };
            let command = Command::TakePosition(command);
            if context.global.json || !self.on.are_several() {
                return context.submit(done, command, None);
            }
            let mut receipt = context.submitted(command, None)?;
            let told = receipt.warnings.extract_if(.., |warning| warning.code == WarningCode::ChangedSince);
            let told: Vec<String> =
                told.filter_map(|warning| warning.claim_id).map(|id| id.to_string()).collect();
            if !told.is_empty()
                && let Some(next) = receipt.next.as_mut()
                && let Some((first, _)) = next.split_once(IF_MENDED)
            {
                *next = first.to_owned();
                mended.extend(told);
            } else {
                changed.extend(told);
            }
            once_each(&mut receipt, &mut said);
            output::print_text(&output::receipt(done, &receipt))
        });
        if !changed.is_empty() {
            let of = changed.join(", ");
            let now = "your support is about the files as they are now";
            output::print_text(&output::fitted(&format!("warning: files changed since {of}: {now}\n")))?;
        }
        if !mended.is_empty() {
            let (of, all) = (mended.join(", "), mended.join(" "));
            let way = format!("if a change mended one, say so: `hm claim mended {all}`");
            let line =
                format!("warning: files changed since {of}: your support says that they still hold; {way}\n");
            output::print_text(&output::fitted(&line))?;
        }
        ended
    }
}

impl Challenge {
    fn command(&self, context: &Context) -> Result<Command, Failure> {
        let reason = self.words.as_deref().or(self.reason.as_deref());
        Ok(Command::TakePosition(TakePosition {
            claim_id: context.claim_named(&self.id)?,
            position: Position::Challenge,
            reason: parse_optional("reason", reason)?,
            evidence_ref: context.any_evidence_named("evidence", self.evidence.as_deref())?,
        }))
    }
}

impl Context {
    /// Whether the speaker takes back the claim itself, and not only a position on it. Refused where there is nothing that
    /// any other agent could take back.
    fn takes_back_all_of(&self, id: ClaimId) -> Result<bool, Failure> {
        let (me, _) = self.who()?;
        let mut reads = self.models()?;
        let Some(store) = reads.store()? else { return Ok(false) };
        let Some(claim) = store.claim(id)? else { return Ok(false) };
        if claim.summary.owner == me.as_str() {
            return Ok(true);
        }
        // A position may be that of the same pane under another name, which the writer knows.
        let has_others = claim.positions.iter().any(|held| held.agent != claim.summary.owner);
        if has_others || claim.summary.status == Status::Deprecated {
            return Ok(false);
        }
        if me == AgentId::architect() || me == AgentId::operator() {
            return Ok(true);
        }
        Err(Rejection::new(
            Code::NotAllowed,
            format!("claim {id} is {}'s, and you have no position on it to take back", claim.summary.owner),
            ways_to_end(
                id,
                (claim.summary.claim_type, &claim.summary.scopes),
                &AgentId::recorded(claim.summary.owner),
            ),
        )
        .into())
    }
}

impl Evidence {
    fn command(&self, context: &Context) -> Result<Command, Failure> {
        Ok(Command::AddEvidence(AddEvidence {
            claim_id: context.claim_named(&self.id)?,
            evidence_ref: context.evidence_named("ref", &self.evidence_ref)?,
            relation: parse("relation", &self.relation)?,
            weight: share("weight", self.weight)?,
            note: parse_optional("note", self.note.as_deref())?,
        }))
    }
}

impl List {
    fn run(&self, context: &Context) -> Result<(), Failure> {
        let is_page = self.limit.is_some() || self.cursor.is_some();
        let is_whole = self.all && !is_page;
        let is_latest = !context.global.json && !self.all && !is_page;
        let is_long = is_latest || is_whole || (self.all && !context.global.json);
        let most = if is_long { MAX_LIMIT } else { DEFAULT_LIMIT };
        let limit = self.limit.map_or(most, |limit| usize::try_from(limit).unwrap_or(MAX_LIMIT));
        let mut filter = ClaimFilter { limit, ..self.filter(context)? };
        // At a place all claims count, also those that are over: a reviewer looks for what was found there.
        if is_latest && filter.scope.is_some() && filter.status.is_empty() {
            filter.in_force = false;
        }
        if context.global.json {
            return if is_whole { context.show_all(filter) } else { context.show(&View::Claims(filter)) };
        }
        let (mut reads, reader) = (context.models()?, context.reader()?);
        let latest = is_latest.then_some(match filter.is_by_stage() {
            true => Latest::ByChange(ROWS_AT_A_PLACE),
            // Who asks for changes gets them in their order.
            false if self.by_change || self.since.is_some() => Latest::ByChange(ROWS),
            false => Latest::InForceFirst(ROWS),
        });
        let now = system::now();
        let mut page = |filter: &ClaimFilter| {
            views::claims((&mut reads, &context.config), filter, latest, reader.as_ref(), now)
        };
        let mut found = page(&filter)?;
        while let Some(next) = found.page.next.filter(|_| is_whole) {
            filter.before = Some(next);
            found.add(page(&filter)?);
        }
        let by_stage = is_latest && filter.is_by_stage();
        output::print_text(&self.text(&found, (is_latest, by_stage), &context.row_reader(reader)))?;
        let shown: Vec<String> = found.page.claims.iter().map(|claim| claim.id.to_string()).collect();
        context.opened(&shown, found.seq);
        note_damage(&mut reads);
        Ok(())
    }

    fn text(
        &self,
        found: &Listed<ClaimPage>,
        (is_latest, by_stage): (bool, bool),
        reader: &RowReader,
    ) -> String {
        let is_wanted = self.status.iter().any(|status| status == Status::Deprecated.as_str());
        let claims = || found.page.claims.iter().filter(|claim| is_wanted || !claim.rejected);
        let mut text = output::rows(claims(), reader, (self.whole, by_stage));
        if text.is_empty() {
            text = "no claims match\n".to_owned();
        }
        let not_chosen = found.page.claims.len() - claims().count();
        if not_chosen > 0 {
            text.push_str(&format!("{not_chosen} not chosen by decisions: `--status deprecated`\n"));
        }
        text.extend(views::held_row(&found.held).map(|held| output::row(&held)));
        match found.page.next {
            Some(next) if !is_latest => text.push_str(&output::more("cursor", next)),
            next if found.older > 0 => {
                let some = if by_stage && next.is_some() { "+" } else { "" };
                text.push_str(&format!("{}{some} older: `--all`; by place: `--scope`\n", found.older));
            }
            _ => {}
        }
        text + &views::without(found.left_out)
    }

    fn filter(&self, context: &Context) -> Result<ClaimFilter, Failure> {
        let owner = self.owner.as_deref().map(|name| context.agent("owner", name)).transpose()?;
        Ok(ClaimFilter {
            task: context.task_named(self.task.as_deref())?,
            id: None,
            status: statuses(&self.status)?,
            in_force: !self.all,
            claim_type: parse_optional("type", self.claim_type.as_deref())?,
            scope: self.scope.as_deref().map(|text| context.scope("scope", text)).transpose()?,
            places: Vec::new(),
            owner: owner.map(|agent| agent.to_string()),
            session: context.session_named(self.session.as_deref())?,
            changed_since: super::parse_moment("since", self.since.as_deref())?,
            since: None,
            until: super::parse_moment("until", self.until.as_deref())?,
            never_used: false,
            before: self.cursor,
            limit: DEFAULT_LIMIT,
        })
    }
}

/// Words of lists for the ends of claims.
const ENDS: [&str; 4] = ["rejected", "replaced", "superseded", "withdrawn"];

/// Statuses to filter by. What confirmed a claim is no status, nor is how it ended.
pub(super) fn statuses(texts: &[String]) -> Result<Vec<Status>, Rejection> {
    let is_basis = |text: &String| text.parse::<Basis>().is_ok();
    if let Some(basis) = texts.iter().find(|text| is_basis(text)) {
        let problem = format!("`{basis}` says how a claim was confirmed, and is no status");
        return Err(Rejection::new(Code::InvalidArgument, problem, "use --status confirmed"));
    }
    if let Some(end) = texts.iter().find(|text| ENDS.contains(&text.as_str())) {
        let problem = format!("`{end}` says how a claim ended, and is no status");
        return Err(Rejection::new(
            Code::InvalidArgument,
            problem,
            "use --status deprecated: it lists all that ended",
        ));
    }
    parse_all("status", texts)
}

fn share(argument: &str, number: f64) -> Result<Share, Rejection> {
    Share::try_from(number).map_err(|problem| Rejection::invalid(argument, problem))
}
