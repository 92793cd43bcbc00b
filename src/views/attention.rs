//! The entries that need an agent: one list. Each entry has the agents that must act, and the commands that settle it.

mod guards;
mod list;
mod mined;
mod moves;
mod proof;
pub(super) mod review;

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use super::asking::{Asked, Asking};
use super::awaited::{self, Awaited};
use super::context::EXPIRES_SOON_MS;
use super::{Answer, MAX_LIMIT, ViewError, experiments, patterns, versions};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, ContradictionKind, Status, word};
use crate::domain::command::{Command, Submission};
use crate::domain::event::Event;
use crate::domain::ids::{ClaimId, EventId};
use crate::domain::session::Role;
use crate::domain::time::Timestamp;
use crate::domain::way;
use crate::runner::profile::Fitting;
use crate::schedule::{JobOutcome, JobRuns};
use crate::spool::Spool;
use crate::store::{
    CitedPlace, ClaimFilter, ClaimSummary, ContradictionFilter, PatternView, Question, Reader, Silence,
    StoreError,
};
use crate::views::markdown::inline;
use crate::workspace::WaitingRules;
use list::{MAX_SHOWN, chosen, open, open_questions, text};
pub use mined::proposals_due;
pub(super) use mined::waiting;
use moves::{Moves, challenge, dispute, its_end, move_of, position};
pub(super) use moves::{ends_challenge, moves_of, with_moves};
use proof::{changed, failed_since, holds_other, pending_proof, proof_of, undecidable, unstable};

/// The name of a damaged ledger in the list of faults.
pub(super) const LEDGER: &str = "ledger";
/// A refused command leaves the list after this time, in milliseconds: a day.
const REJECTED_FOR_MS: i64 = 24 * 3_600_000;
/// Maximum length of a shown step, in characters. A cut step would be useless.
pub(super) const COMMAND_CHARS: usize = 4_000;
/// Maximum length of the statement of a command that did not pass, in characters.
const STATEMENT_CHARS: usize = 120;
/// How long a loosened rule stays in the list, in milliseconds: a week is enough for the operator to see it.
const POLICY_FOR_MS: i64 = 7 * 24 * 3_600_000;

word!(
    /// The kind of an entry, in the order of the list.
    Kind("kind of attention") {
        /// A question to an agent.
        Question = "question",
        /// Two sides that contradict each other.
        Contradiction = "contradiction",
        /// A claim that waits for a run.
        PendingProof = "pending_proof",
        /// A contested claim without an open contradiction.
        Contested = "contested",
        /// An open task that is meant for an agent.
        Task = "task",
        /// A claim that one run proved and a later run contradicts.
        FailedSince = "failed_since",
        /// A claim that a run proved and whose test passed and failed on the same content.
        Unstable = "unstable",
        /// A proposal against a decision of the operator.
        Proposal = "proposal",
        /// A guard that sessions ignore, or that is proved wrong.
        Guard = "guard",
        /// A guard that repeated failures suggest.
        Suggestion = "suggestion",
        /// A lease of a task that ends soon.
        Lease = "lease",
        /// A queued command that the writer refused.
        Rejected = "rejected",
        /// A change of the rules that makes confirmation easier.
        Policy = "policy",
        /// An inconsistency.
        Fault = "fault",
        /// A claim that silence will confirm, without a question to an agent.
        Silence = "silence",
        /// A pattern in the work of the team.
        Pattern = "pattern",
        /// A claim whose evidence cites lines of a file that is gone.
        Orphaned = "orphaned",
        /// A playbook that was mined and that no agent accepted.
        Playbook = "playbook",
        /// Two hypotheses of `system` about an error that comes again.
        Hypothesis = "hypothesis",
        /// Two claims that say the same, in force beside each other.
        Merge = "merge",
    }
);

impl Kind {
    /// Its heading, and the address of the whole list.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Question => ("question", "hivemind://attention"),
            Self::Contradiction => ("contradiction", "hivemind://contradictions"),
            Self::PendingProof => ("pending proof", "hivemind://claims?status=pending_proof"),
            Self::Contested => ("contested", "hivemind://claims?status=contested"),
            Self::Task => ("task", "hivemind://tasks/ready"),
            Self::FailedSince => ("claim against a run", "hivemind://claims?status=confirmed"),
            Self::Unstable => ("unstable proof", "hivemind://claims?status=confirmed"),
            Self::Proposal => ("proposal", "hivemind://events?type=override.proposed"),
            Self::Guard => ("guard", "hivemind://guards"),
            Self::Suggestion => ("suggested guard", "hivemind://attention"),
            Self::Lease => ("lease", "hivemind://plan"),
            Self::Rejected => ("rejected", "hivemind://events?type=command.rejected"),
            Self::Policy => ("policy", "hivemind://events?type=policy.changed"),
            Self::Fault => ("fault", "hivemind://status"),
            Self::Pattern => ("pattern", "hivemind://patterns"),
            Self::Silence => ("claim that silence confirms", "hivemind://claims?status=proposed"),
            Self::Orphaned => ("orphaned evidence", "hivemind://claims"),
            Self::Playbook => ("proposed playbook", "hivemind://playbooks"),
            Self::Hypothesis => ("hypotheses", "hivemind://claims?type=hypothesis"),
            Self::Merge => ("proposed merge", "hivemind://attention"),
        }
    }

    /// Its heading as a key.
    fn heading(self) -> String {
        self.words().0.replace(' ', "_")
    }
}

/// The list of the kinds of entries that have no list of their own.
pub const ATTENTION: &str = "hivemind://attention";

/// The kind whose entries the answer counts under this heading, and the address of their whole list.
pub fn attention_list(heading: &str) -> Option<(&'static str, &'static str)> {
    let kind = Kind::ALL.iter().find(|kind| kind.heading() == heading)?;
    Some((kind.as_str(), kind.words().1))
}

/// Stands for every agent except the owner of a claim, for a reader that is no particular agent.
const ANY_AGENT: &str = "any other agent";

/// Something that needs an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Need {
    kind: Kind,
    /// The subject: contradictions and then their claims, a task, a run, a command, a job of the writer.
    ids: Vec<String>,
    /// Number of the contradictions among them.
    #[serde(skip)]
    contradictions: usize,
    /// When it began, epoch ms.
    since: i64,
    /// When it last changed, epoch ms.
    changed_at: i64,
    /// Whether the agent has been told its current state: it started or had a prompt since the last change.
    seen: bool,
    /// The deadline after which it ends badly for the agent, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
    /// The agents that must act.
    asked: BTreeSet<String>,
    /// The recorded text of the subject.
    what: Vec<String>,
    /// Commands. Any one of them settles the entry if the reader runs it, or, if the reader need not act, an agent
    /// that must.
    settle: Vec<String>,
    /// The same commands by agent.
    moves: Moves,
    /// Steps that help but do not settle the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// The entries that need this agent. The architect, the operator and a reader without a name get the entries of all
/// agents.
pub(super) fn answer(asking: &mut Asking<'_>, agent: Option<&AgentId>) -> Result<Answer, ViewError> {
    let state_home = asking.reads.state_home().map(ToOwned::to_owned);
    asking.of_store(|asked| {
        let needs = needs_of(asked, agent)?;
        let reader = agent.filter(|_| asked.files().is_some()).zip(state_home.as_deref());
        let awaited = reader.map(|(agent, state_home)| awaited::of(asked, state_home, agent)).transpose()?;
        let awaited = awaited.unwrap_or_default();
        let waits = open_questions(&needs);
        let (needs, counts) = chosen(needs, agent);
        let json = || {
            let more = counts.iter().filter(|(_, count)| **count > MAX_SHOWN);
            let more = more.map(|(kind, count)| (kind.heading(), (count - MAX_SHOWN).into()));
            let more: serde_json::Map<_, Value> = more.collect();
            let mut json = json!({ "agent": agent, "needs": needs, "more": more });
            if needs.is_empty() && !waits.is_empty() {
                json["open_questions"] = json!(waits);
            }
            if !awaited.is_empty() {
                json["awaited"] = awaited.iter().map(Awaited::json).collect();
            }
            json
        };
        let text = || {
            // The line of the reader's own question says whose move it is.
            let is_awaited = |need: &&Need| {
                need.kind == Kind::Question && awaited.iter().any(|it| it.is_of(&need.ids, &need.asked))
            };
            let shown: Vec<&Need> = needs.iter().filter(|need| !is_awaited(need)).collect();
            let awaited: String = awaited.iter().map(|awaited| awaited.line(asked.now)).collect();
            let waits = if shown.is_empty() { open(&waits) } else { String::new() };
            text(&shown, &counts, agent, asked.now) + &waits + &awaited
        };
        Ok(asked.answer(json, text))
    })
}

/// Whether an event changes the list. A change by time alone, such as the end of a lease, is reported when the writer
/// records it.
pub(super) fn touched_by(event: &Event) -> bool {
    event.run_id().is_some()
        || matches!(
            event,
            Event::ContradictionDetected(_)
                | Event::ContradictionResolved(_)
                | Event::StatusChanged(_)
                | Event::TaskAdded(_)
                | Event::TaskClaimed(_)
                | Event::TaskReleased(_)
                | Event::TaskUpdated(_)
                | Event::CommandRejected(_)
                | Event::OverrideProposed(_)
                | Event::OverrideDismissed(_)
                | Event::SessionEnded(_)
                | Event::PositionTaken(_)
                | Event::PolicyChanged(_)
                | Event::AttentionSeen(_)
                | Event::PatternOpened(_)
                | Event::PatternClosed(_)
                | Event::PatternDismissed(_)
                | Event::GuardAccepted(_)
                | Event::GuardMuted(_)
                | Event::CommandRan(_)
                | Event::OutcomeRecorded(_)
                | Event::PlaybookProposed(_)
                | Event::PlaybookAccepted(_)
                | Event::PlaybookDismissed(_)
                | Event::ErrorReflected(_)
                | Event::ErrorCounted(_)
                | Event::MergeProposed(_)
                | Event::MergeAccepted(_)
                | Event::MergeDeclined(_)
        )
        || matches!(event, Event::ClaimCreated(made) if !made.asks.is_empty())
        || matches!(event, Event::ClaimSuperseded(link) if !link.asks.is_empty())
}

fn needs_of(asked: &Asked<'_>, agent: Option<&AgentId>) -> Result<Vec<Need>, StoreError> {
    let &Asked { store, runs, now, .. } = asked;
    let rejected = || asked.files().map(|workspace| Spool::of(workspace).rejected()).unwrap_or_default();
    let profiles =
        LazyCell::new(|| asked.files().map(|files| Fitting::of(files.root(), experiments::catalog(files))));
    let is_changed =
        |claim: &ClaimSummary| asked.files().is_some_and(|files| holds_other(store, files, claim));
    let settles = |claim, claim_type: Option<ClaimType>, scopes: &[String]| {
        let run = proof_of(store, profiles.as_ref()?, (claim, claim_type, scopes));
        let files = asked.files().filter(|_| run.is_some());
        let changed = files.and_then(|files| changed(store, files, (claim, claim_type, scopes)));
        changed.or_else(|| undecidable(store, (claim, claim_type, scopes))).or(run)
    };
    let mut needs = needs(store, now, rejected, &settles, &is_changed)?;
    let suggested = needs.iter_mut().filter(|need| need.kind == Kind::Suggestion);
    for need in suggested.filter(|need| need.what.iter().any(|what| what.contains('…'))) {
        need.what.extend(asked.files().and_then(|files| guards::last_of(files, &need.ids)));
    }
    needs.extend(faults(runs));
    let silences = store.silences(MAX_LIMIT)?;
    needs.extend(
        silences
            .iter()
            .filter(|silence| agent.is_none_or(|agent| silence.concerns(agent)))
            .map(|silence| self::silence(silence, agent)),
    );
    if let Some(workspace) = asked.files() {
        needs.extend(workspace.waiting_rules(store.recorded_rules()?).map(|waiting| {
            let moves = move_of(AgentId::operator().as_str(), [WaitingRules::ALLOW.to_owned()]);
            Need::new(Kind::Policy, vec!["rules".to_owned()], now.ms(), moves, vec![waiting.to_string()])
        }));
        for (id, places) in versions::orphaned(workspace, store)? {
            if let Some(claim) = store.claim(id)? {
                needs.push(orphaned(&claim.summary, &places));
            }
        }
    }
    if store.left_out() > 0 {
        let what = match store.left_out() {
            1 => "1 row of the read models cannot be read and is left out".to_owned(),
            rows => format!("{rows} rows of the read models cannot be read and are left out"),
        };
        needs.push(fault("read_models", now.ms(), what, "hm rebuild"));
    }
    if let Some(agent) = agent {
        let (all, news) = told_at(store, agent)?;
        for need in &mut needs {
            // A prompt reports changes of claims. Only the start of a session reports leases, refusals and faults.
            let told_at = if need.kind <= Kind::Unstable { all.max(news) } else { all };
            need.seen = told_at.is_some_and(|told_at| need.changed_at <= told_at);
        }
    }
    Ok(needs)
}

/// For the running sessions of an agent: the time of the last start, which tells everything, and of the last prompt,
/// which tells the news; epoch ms.
fn told_at(store: &Reader, agent: &AgentId) -> Result<(Option<i64>, Option<i64>), StoreError> {
    let (mut all, mut news) = (None, None);
    for session in store.alive_sessions(MAX_LIMIT)?.iter().filter(|session| session.agent == agent.as_str()) {
        let dialogue = store.dialogue(&session.session)?;
        let prompts = dialogue.iter().filter(|turn| turn.role == Role::User).map(|turn| turn.at);
        all = all.max(Some(session.started_at));
        news = news.max(prompts.max());
    }
    Ok((all, news))
}

/// Names the run that settles a contested claim with these scopes.
type Settles<'s> = &'s dyn Fn(ClaimId, Option<ClaimType>, &[String]) -> Option<String>;

/// The entries of all agents. `rejected` returns the queued commands that did not pass, as far as they are kept.
fn needs(
    store: &Reader,
    now: Timestamp,
    rejected: impl FnOnce() -> Vec<Submission>,
    settles: Settles<'_>,
    is_changed: &dyn Fn(&ClaimSummary) -> bool,
) -> Result<Vec<Need>, StoreError> {
    let of_status = |status| ClaimFilter { status: vec![status], limit: MAX_LIMIT, ..ClaimFilter::default() };
    let pending = store.claims(&of_status(Status::PendingProof))?.claims;
    let contested = store.claims(&of_status(Status::Contested))?.claims;
    let open = ContradictionFilter { limit: MAX_LIMIT, ..ContradictionFilter::default() };
    let waits: BTreeSet<ClaimId> = pending.iter().map(|claim| claim.id).collect();

    // Each subject has one entry: all challenges of a claim are one dispute, and a run that will settle it takes its
    // place.
    let mut disputes: BTreeMap<EventId, Need> = BTreeMap::new();
    let mut disputed = BTreeSet::new();
    for both in store.contradictions(&open)?.contradictions {
        disputed.extend([both.left.claim_id, both.right.claim_id]);
        let is_position = both.kind == ContradictionKind::Position;
        if both.is_outvoted || is_position && waits.contains(&both.left.claim_id) {
            continue;
        }
        let about = if is_position { both.left.claim_id.creation_event() } else { both.id };
        let mut dispute = dispute(&both, settles);
        if is_position {
            dispute.hint = store.doubt_about(both.left.claim_id)?.or(dispute.hint);
        }
        match disputes.get_mut(&about) {
            Some(known) => known.join(dispute),
            None => drop(disputes.insert(about, dispute)),
        }
    }
    let questions = store.questions(None, MAX_LIMIT)?;
    let mut needs: Vec<Need> = questions.iter().map(question).collect();
    needs.extend(disputes.into_values());
    for claim in &pending {
        needs.push(pending_proof(store, claim)?);
    }
    for claim in contested.iter().filter(|claim| !disputed.contains(&claim.id)) {
        needs.push(Need {
            hint: match store.doubt_about(claim.id)? {
                None => settles(claim.id, Some(claim.claim_type), &claim.scopes),
                doubt => doubt,
            },
            ..Need::new(
                Kind::Contested,
                vec![claim.id.to_string()],
                claim.touched_at,
                its_end(store, claim)?,
                vec![claim.statement.clone()],
            )
        });
    }
    for (claim, unstable_since) in store.doubted_proofs(MAX_LIMIT)? {
        needs.extend(failed_since(store, &claim, is_changed)?);
        if claim.unstable {
            needs.push(unstable(store, &claim, unstable_since.unwrap_or(claim.touched_at))?);
        }
    }
    needs.extend(store.asking_guards(MAX_LIMIT)?.into_iter().map(guards::guard));
    needs.extend(mined::needs(store)?);
    needs.extend(review::proposed(store, now)?.into_iter().map(review::with_words));
    for task in store.ready_tasks(MAX_LIMIT)? {
        let Some(agent) = task.meant_for else { continue };
        let take = way::bare("claim_task", &json!({ "task_id": task.name }));
        let (ids, moves) = (vec![task.id.to_string()], move_of(&agent, [take]));
        needs.push(Need::new(Kind::Task, ids, task.created_at, moves, vec![task.title]));
    }
    for task in store.held_tasks()? {
        let Some(until) = task.lease_until.filter(|until| until - now.ms() <= EXPIRES_SOON_MS) else {
            continue;
        };
        let settle = ["done", "open"].map(|end| {
            let end = json!({ "task_id": task.name, "status": end, "fencing_token": task.token });
            way::bare("update_task", &end)
        });
        let moves = task.holder.iter().flat_map(|holder| move_of(holder, settle.clone())).collect();
        needs.push(Need {
            changed_at: until - EXPIRES_SOON_MS,
            until: Some(until),
            ..Need::new(Kind::Lease, vec![task.id.to_string()], task.touched_at, moves, vec![task.title])
        });
    }
    let refused = store.rejected_commands(MAX_LIMIT)?.into_iter();
    let refused = refused.filter(|refused| now.ms() - refused.rejected_at <= REJECTED_FOR_MS);
    let refused: Vec<_> = refused.collect();
    let rejected = if refused.is_empty() { Vec::new() } else { rejected() };
    needs.extend(refused.into_iter().map(|refused| {
        let kept = rejected.iter().find(|kept| kept.command_id == refused.command_id);
        let what = format!(
            "{}{} was queued and did not pass ({}): {}{}",
            refused.kind,
            kept.and_then(|kept| kept.command.minted()).map(|id| format!(" {id}")).unwrap_or_default(),
            refused.code,
            refused.message,
            kept.map(|kept| statement_of(&kept.command)).unwrap_or_default()
        );
        Need {
            hint: Some("the record: `hivemind://events?type=command.rejected`".to_owned()),
            ..Need::new(
                Kind::Rejected,
                vec![refused.command_id.to_string()],
                refused.rejected_at,
                move_of(&refused.agent, [noted(refused.command_id)]),
                vec![what],
            )
        }
    }));
    needs.extend(store.open_patterns(MAX_LIMIT)?.iter().map(pattern));
    let loosened = store.loosened_policies(MAX_LIMIT)?.into_iter().chain(store.loosened_rules(MAX_LIMIT)?);
    let loosened = loosened.filter(|change| now.ms() - change.changed_at <= POLICY_FOR_MS);
    needs.extend(loosened.map(|change| Need {
        hint: Some("the record: `hivemind://events?type=policy.changed`".to_owned()),
        ..Need::new(
            Kind::Policy,
            vec![change.event_id.to_string()],
            change.changed_at,
            move_of(AgentId::operator().as_str(), [noted(change.seq)]),
            vec![format!("the rules are looser: {}; before: {}", change.policy, change.was)],
        )
    }));
    Ok(needs)
}

impl Need {
    /// Whether only other agents must act.
    fn is_anothers(&self, reader: Option<&AgentId>) -> bool {
        reader.is_some_and(|reader| !self.moves.contains_key(reader.as_str()))
    }

    fn new(kind: Kind, ids: Vec<String>, since: i64, moves: Moves, what: Vec<String>) -> Self {
        Self {
            kind,
            ids,
            contradictions: 0,
            since,
            changed_at: since,
            seen: false,
            until: None,
            asked: moves.keys().cloned().collect(),
            what,
            settle: Vec::new(),
            moves,
            hint: None,
        }
    }

    /// Another challenge of the same claim.
    fn join(&mut self, other: Self) {
        self.since = self.since.min(other.since);
        self.changed_at = self.changed_at.max(other.changed_at);
        self.asked.extend(other.asked);
        for id in other.ids.into_iter().take(other.contradictions) {
            self.ids.insert(self.contradictions, id);
            self.contradictions += 1;
        }
        for one in other.what {
            if !self.what.contains(&one) {
                self.what.push(one);
            }
        }
    }
}

/// An open pattern.
fn pattern(found: &PatternView) -> Need {
    let mut moves = Moves::new();
    for agent in patterns::movers(found) {
        let steps = patterns::settles(found).into_iter();
        moves.insert(agent, steps.map(|(_, step)| step).collect());
    }
    let ids = vec![found.id.to_string()];
    let what = vec![patterns::said_later(found)];
    Need { hint: patterns::help(found), ..Need::new(Kind::Pattern, ids, found.opened_at, moves, what) }
}

/// Whether other agents or a run answered a question: its claim is in force, and supersedes no claim of the agent.
pub(super) fn is_settled(asked: &Question) -> bool {
    let Question { claim, instead_of, would_replace, .. } = asked;
    let stands = claim.status == Status::Confirmed && !claim.agreed_by_silence;
    stands && instead_of.is_none() && would_replace.is_none()
}

/// A question to one agent.
fn question(question: &Question) -> Need {
    let claim = &question.claim;
    let again = if question.is_challenged { position("still", claim.id) } else { challenge(claim.id) };
    let support = position("support", claim.id);
    let settle = if question.is_challenged { [again, support] } else { [support, again] };
    let settle = settle.into_iter().chain([position("abstain", claim.id)]);
    let mut ids = vec![claim.id.to_string()];
    let mut what = vec![format!("{} asks: {}", claim.owner, claim.statement)];
    if let Some(old) = &question.would_replace {
        ids.push(old.to_string());
        what =
            vec![format!("{} would put this in the place of your claim: {}", claim.owner, claim.statement)];
    }
    if let Some(old) = &question.instead_of {
        ids.push(old.to_string());
        let yours = if question.ended_challenge {
            "you challenged, and your challenge ended with it"
        } else {
            "you supported"
        };
        what = vec![match &question.amended {
            Some(change) => format!("{} amended {old}, which {yours}: {change}", claim.owner),
            None if question.is_merged => {
                format!("{old} was merged into {}'s claim: {}", claim.owner, claim.statement)
            }
            None => {
                format!("{} replaced a claim that {yours}. The new one: {}", claim.owner, claim.statement)
            }
        }];
    }
    if question.is_challenged {
        what = vec![
            format!("{}: {}", claim.owner, claim.statement),
            "you challenge other content of its files than it is about now".to_owned(),
        ];
    }
    let is_open = claim.status == Status::Proposed;
    let waits_for = question.waits_for.as_ref();
    let hint = waits_for.map(|old| format!("it waits for the operator, who stands by {old}"));
    Need {
        until: question.until.filter(|_| is_open),
        hint: hint.or_else(|| claim.agreed_by_silence.then(|| "agreed by silence so far".to_owned())),
        ..Need::new(Kind::Question, ids, question.asked_at, move_of(&question.agent, settle), what)
    }
}

/// The statement of the claim that a command would have made, as the end of a sentence. Empty for any other command.
fn statement_of(command: &Command) -> String {
    let statement = if let Command::CreateClaim(create) = command {
        Some(&create.statement)
    } else if let Command::RecordDecision(record) = command {
        record.statement.as_ref()
    } else {
        None
    };
    let said =
        statement.map(|statement| format!("; it said: {}", inline(statement.as_str(), STATEMENT_CHARS)));
    said.unwrap_or_default()
}

/// A claim that silence confirms unless the reader objects.
fn silence(silence: &Silence, reader: Option<&AgentId>) -> Need {
    let Silence { claim, until, .. } = silence;
    let reader = reader.map_or(ANY_AGENT, AgentId::as_str);
    let moves = move_of(reader, [challenge(claim.id), position("support", claim.id)]);
    let what = vec![format!("{}: {}", claim.owner, claim.statement)];
    Need {
        until: Some(*until),
        ..Need::new(Kind::Silence, vec![claim.id.to_string()], claim.created_at, moves, what)
    }
}

/// Characters of an event's id that name it as evidence: enough to be unique in one claim.
const EVIDENCE_END_CHARS: usize = 12;

/// A claim whose evidence cites lines of files that are gone.
fn orphaned(claim: &ClaimSummary, places: &[CitedPlace]) -> Need {
    let of_place = |place: &CitedPlace| {
        // The end of the id stands for it. A whole id would become `#2`, which a shell reads as a comment.
        let id = place.event_id.to_string();
        let end = &id[id.len() - EVIDENCE_END_CHARS..];
        let of_file = json!({ "claim_id": claim.id, "evidence_ref": end, "reason": way::REASON });
        way::bare("retract_evidence", &of_file)
    };
    let mut moves = Moves::new();
    for place in places {
        moves.entry(place.added_by.clone()).or_default().push(of_place(place));
    }
    let what: Vec<String> = places.iter().map(|place| place.span.to_string()).collect();
    Need::new(
        Kind::Orphaned,
        vec![claim.id.to_string()],
        claim.touched_at,
        moves,
        vec![format!("{} is gone, and evidence cites it: {}", what.join(", "), claim.statement)],
    )
}

/// A number is written without `#`: a shell reads the rest of the line after `#` as a comment.
fn noted(notice: impl std::fmt::Display) -> String {
    format!("hm attention --seen {notice}")
}

fn faults(runs: &JobRuns) -> impl Iterator<Item = Need> {
    runs.0.iter().filter(|(_, run)| run.outcome != JobOutcome::Ok).map(|(job, run)| {
        let (settle, hint) = match job.as_str() {
            LEDGER => (
                "hm repair --accept-loss --reason REASON",
                Some("`hm verify` says what is wrong; a backup that is put back settles it, too"),
            ),
            "integrity" | "health" => ("hm rebuild", Some("`hm verify` and integrity.log say what is wrong")),
            _ => ("hm doctor", None),
        };
        let fault = fault(job, run.last_run_at.ms(), run.detail.clone(), settle);
        Need { hint: hint.map(str::to_owned), ..fault }
    })
}

fn fault(about: &str, since: i64, what: String, settle: &str) -> Need {
    let moves = move_of(AgentId::operator().as_str(), [settle.to_owned()]);
    Need::new(Kind::Fault, vec![about.to_owned()], since, moves, vec![what])
}
