//! What needs somebody: one list, each entry with who is asked to act and the command that would settle it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::Serialize;
use serde_json::json;

use super::context::EXPIRES_SOON_MS;
use super::markdown::inline;
use super::{Answer, MAX_LIMIT, page};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ContradictionKind, Status};
use crate::domain::session::Role;
use crate::domain::time::{Span, Timestamp};
use crate::schedule::{Outcome, Runs};
use crate::store::{
    ClaimFilter, ClaimSummary, Contradiction, ContradictionFilter, ExperimentFilter, Reader, SideView,
    StoreError,
};

/// The name under which a damaged ledger stands among the faults.
pub(super) const LEDGER: &str = "ledger";
/// Entries of each kind that are shown, so that many of one kind hide none of another.
const MAX_SHOWN: usize = 20;
/// What is shown of a statement; its id leads to the rest.
const GLANCE_CHARS: usize = 160;
/// A refused command nobody sent again within so many milliseconds, a day, is history.
const REJECTED_FOR_MS: i64 = 24 * 3_600_000;

/// A week after the rules were loosened, the operator has had time to see it.
const POLICY_FOR_MS: i64 = 7 * 24 * 3_600_000;

/// What kind of need it is, in the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Contradiction,
    PendingProof,
    Contested,
    Lease,
    Rejected,
    Policy,
    Fault,
}

impl Kind {
    /// What it is called, and where the rest is listed.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Contradiction => ("contradiction", "hivemind://contradictions"),
            Self::PendingProof => ("pending proof", "hivemind://claims?status=pending_proof"),
            Self::Contested => ("contested", "hivemind://claims?status=contested"),
            Self::Lease => ("lease", "hivemind://plan"),
            Self::Rejected => ("rejected", "hivemind://events?type=command.rejected"),
            Self::Policy => ("policy", "hivemind://events?type=policy.changed"),
            Self::Fault => ("fault", "hivemind://status"),
        }
    }
}

/// Something that needs somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Need {
    kind: Kind,
    /// What it is about: a contradiction and its claims, a task, a run, a command, a job of the writer.
    ids: Vec<String>,
    /// Since when, epoch ms.
    since: i64,
    /// When it last changed, epoch ms.
    changed_at: i64,
    /// Whether the agent was told of it as it is: it started or had a prompt since.
    seen: bool,
    /// When it settles itself for the worse, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
    /// Who is asked to act.
    asked: BTreeSet<String>,
    /// What somebody wrote, as it was written.
    what: Vec<String>,
    /// Any one of these commands settles it.
    settle: Vec<String>,
}

/// What needs this agent; for the architect, the operator and nobody in particular: what needs anybody.
pub(super) fn attention(
    store: &Reader,
    agent: Option<&AgentId>,
    runs: &Runs,
    now: Timestamp,
) -> Result<Answer, StoreError> {
    let mut needs = needs(store, now)?;
    needs.extend(faults(runs));
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
            // A prompt tells what claims came to; of leases, refusals and faults only the start of a session does.
            let told_at = if need.kind <= Kind::Contested { all.max(news) } else { all };
            need.seen = told_at.is_some_and(|told_at| need.changed_at <= told_at);
        }
    }
    Ok(shown(store.folded()?.seq, agent, needs, now))
}

/// When the sessions of an agent that are under way were last told everything, at their start, and what is new, with
/// a prompt; epoch ms.
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

/// [`attention`] before anything was ever written.
pub(super) fn empty(agent: Option<&AgentId>, runs: &Runs, now: Timestamp) -> Answer {
    shown(0, agent, faults(runs).collect(), now)
}

fn needs(store: &Reader, now: Timestamp) -> Result<Vec<Need>, StoreError> {
    let of_status = |status| ClaimFilter { status: vec![status], limit: MAX_LIMIT, ..ClaimFilter::default() };
    let pending = store.claims(&of_status(Status::PendingProof))?.claims;
    let contested = store.claims(&of_status(Status::Contested))?.claims;
    let open = ContradictionFilter { limit: MAX_LIMIT, ..ContradictionFilter::default() };
    let waits: BTreeSet<&str> = pending.iter().map(|claim| claim.id.as_str()).collect();

    // Each thing once: all challenges of a claim are one dispute, and a run that is to settle it comes before it.
    let mut disputes: BTreeMap<String, Need> = BTreeMap::new();
    let mut disputed = BTreeSet::new();
    for both in store.contradictions(&open)?.contradictions {
        disputed.extend([both.left.claim_id.clone(), both.right.claim_id.clone()]);
        let is_position = both.kind == ContradictionKind::Position;
        if is_position && waits.contains(both.left.claim_id.as_str()) {
            continue;
        }
        let about = if is_position { both.left.claim_id.clone() } else { both.id.clone() };
        let dispute = dispute(&both);
        match disputes.get_mut(&about) {
            Some(known) => known.join(dispute),
            None => drop(disputes.insert(about, dispute)),
        }
    }
    let mut needs: Vec<Need> = disputes.into_values().collect();
    for claim in &pending {
        needs.push(pending_proof(store, claim)?);
    }
    let undisputed = contested.iter().filter(|claim| !disputed.contains(&claim.id));
    needs.extend(undisputed.map(|claim| Need {
        kind: Kind::Contested,
        ids: vec![claim.id.clone()],
        since: claim.touched_at,
        changed_at: claim.touched_at,
        seen: false,
        until: None,
        asked: BTreeSet::from([claim.owner.clone()]),
        what: vec![claim.statement.clone()],
        settle: vec![proof_of(&claim.id), end_of(&claim.id)],
    }));
    for task in store.held_tasks()? {
        let Some(until) = task.lease_until.filter(|until| until - now.ms() <= EXPIRES_SOON_MS) else {
            continue;
        };
        let settle = ["done", "open"]
            .map(|end| format!("hm task update {} {end} --token {}", task.name, task.token))
            .into();
        needs.push(Need {
            kind: Kind::Lease,
            ids: vec![task.id],
            since: task.touched_at,
            changed_at: until - EXPIRES_SOON_MS,
            seen: false,
            until: Some(until),
            asked: task.holder.into_iter().collect(),
            what: vec![task.title],
            settle,
        });
    }
    let refused = store.rejected_commands(MAX_LIMIT)?.into_iter();
    let refused = refused.filter(|refused| now.ms() - refused.rejected_at <= REJECTED_FOR_MS);
    needs.extend(refused.map(|refused| Need {
        kind: Kind::Rejected,
        ids: vec![refused.command_id],
        since: refused.rejected_at,
        changed_at: refused.rejected_at,
        seen: false,
        until: None,
        asked: BTreeSet::from([refused.agent]),
        what: vec![format!(
            "{} was queued and did not pass ({}): {}",
            refused.kind, refused.code, refused.message
        )],
        settle: vec!["hm log --type command.rejected".to_owned()],
    }));
    let loosened = store.loosened_policies(MAX_LIMIT)?.into_iter();
    let loosened = loosened.filter(|change| now.ms() - change.changed_at <= POLICY_FOR_MS);
    needs.extend(loosened.map(|change| Need {
        kind: Kind::Policy,
        ids: vec![change.event_id],
        since: change.changed_at,
        changed_at: change.changed_at,
        seen: false,
        until: None,
        asked: BTreeSet::from([AgentId::operator().to_string()]),
        what: vec![format!("less confirms a claim: {}; before: {}", change.quorum, change.was)],
        settle: vec!["hm log --type policy.changed".to_owned()],
    }));
    Ok(needs)
}

impl Need {
    /// Another challenge of the same claim.
    fn join(&mut self, other: Self) {
        self.since = self.since.min(other.since);
        self.changed_at = self.changed_at.max(other.changed_at);
        self.asked.extend(other.asked);
        for (all, more) in [(&mut self.ids, other.ids), (&mut self.what, other.what)] {
            for one in more {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
    }
}

fn dispute(both: &Contradiction) -> Need {
    let Contradiction { left, right, .. } = both;
    let said =
        |side: &SideView| format!("{}: {}", side.agent, side.statement.as_deref().unwrap_or("(erased)"));
    let (mut ids, mut what) = (vec![both.id.clone(), left.claim_id.clone()], vec![said(left)]);
    let settle = match both.kind {
        ContradictionKind::Position => {
            let reason = right.challenge.iter().map(|reason| format!(": {reason}")).collect::<String>();
            what.push(format!("{} challenges it{reason}", right.agent));
            vec![
                format!("hm claim abstain {}", left.claim_id),
                end_of(&left.claim_id),
                proof_of(&left.claim_id),
            ]
        }
        ContradictionKind::Supersession => {
            vec![format!("hm claim support {}", right.claim_id), end_of(&right.claim_id)]
        }
        ContradictionKind::Polarity
        | ContradictionKind::Value
        | ContradictionKind::Target
        | ContradictionKind::Explicit => vec![end_of(&left.claim_id), end_of(&right.claim_id)],
    };
    if left.claim_id != right.claim_id {
        ids.push(right.claim_id.clone());
        what.push(said(right));
    }
    Need {
        kind: Kind::Contradiction,
        ids,
        since: both.detected_at,
        changed_at: both.detected_at,
        seen: false,
        until: None,
        asked: BTreeSet::from([left.agent.clone(), right.agent.clone()]),
        what,
        settle,
    }
}

/// A claim that waits for a run, and the run.
fn pending_proof(store: &Reader, claim: &ClaimSummary) -> Result<Need, StoreError> {
    let of_claim = ExperimentFilter { claim: claim.id.parse().ok(), limit: MAX_SHOWN, ..Default::default() };
    let mut runs = store.experiments(&of_claim)?.experiments.into_iter();
    let run = runs.find(|run| run.blocking && run.completed_at.is_none());
    let (mut ids, mut asked) = (vec![claim.id.clone()], BTreeSet::from([claim.owner.clone()]));
    let (mut since, mut settle) = (claim.touched_at, end_of(&claim.id));
    if let Some(run) = run {
        since = run.created_at;
        settle = format!("hm experiment cancel {}", run.run_id);
        ids.push(run.run_id);
        asked.insert(run.requested_by);
    }
    let what = vec![claim.statement.clone()];
    Ok(Need {
        kind: Kind::PendingProof,
        ids,
        since,
        changed_at: since,
        seen: false,
        until: None,
        asked,
        what,
        settle: vec![settle],
    })
}

fn end_of(claim: &str) -> String {
    format!("hm claim deprecate {claim} --reason WHY")
}

fn proof_of(claim: &str) -> String {
    format!("hm experiment run PROFILE --claim {claim} --blocking")
}

fn faults(runs: &Runs) -> impl Iterator<Item = Need> {
    runs.0.iter().filter(|(_, run)| run.outcome != Outcome::Ok).map(|(job, run)| {
        let settle = if ["integrity", LEDGER].contains(&job.as_str()) { "hm verify" } else { "hm doctor" };
        fault(job, run.last_run_at.ms(), run.detail.clone(), settle)
    })
}

fn fault(about: &str, since: i64, what: String, settle: &str) -> Need {
    Need {
        kind: Kind::Fault,
        ids: vec![about.to_owned()],
        since,
        changed_at: since,
        seen: false,
        until: None,
        asked: BTreeSet::from([AgentId::operator().to_string()]),
        what: vec![what],
        settle: vec![settle.to_owned()],
    }
}

fn shown(seq: u64, agent: Option<&AgentId>, mut needs: Vec<Need>, now: Timestamp) -> Answer {
    let sees_all = |agent: &AgentId| [AgentId::architect(), AgentId::operator()].contains(agent);
    if let Some(agent) = agent.filter(|agent| !sees_all(agent)) {
        needs.retain(|need| need.asked.contains(agent.as_str()));
    }
    // What is new is first, then what waits longest, and of leases what ends first.
    needs.sort_by(|one, other| {
        let key = |need: &Need| (need.seen, need.kind, need.until.unwrap_or(need.since));
        key(one).cmp(&key(other)).then_with(|| one.ids.cmp(&other.ids))
    });
    let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
    needs.retain(|need| {
        let count = counts.entry(need.kind).or_default();
        *count += 1;
        *count <= MAX_SHOWN
    });
    let mut text: String = needs.iter().map(|need| entry(need, now)).collect();
    let mut more = serde_json::Map::new();
    for (kind, count) in counts.into_iter().filter(|(_, count)| *count > MAX_SHOWN) {
        let (name, list) = kind.words();
        let _ = writeln!(text, "{} more of {name}: {list}", count - MAX_SHOWN);
        more.insert(name.replace(' ', "_"), (count - MAX_SHOWN).into());
    }
    if needs.is_empty() {
        let whom = agent.map_or_else(|| "anybody".to_owned(), ToString::to_string);
        text = format!("Nothing needs {whom} now.\n");
    }
    page(seq, json!({ "agent": agent, "needs": needs, "more": more }), text)
}

/// An entry of the list: stored text on the first line and on no other.
fn entry(need: &Need, now: Timestamp) -> String {
    let Need { kind, ids, since, seen, until, asked, what, settle, .. } = need;
    let when = match until {
        Some(until) => format!("ends in {} unless its session writes", Span(until - now.ms())),
        None => format!("{} ago", Timestamp::from_ms(*since).age(now)),
    };
    let asked: Vec<String> = asked.iter().map(|agent| inline(agent, 40)).collect();
    let ids: Vec<String> = ids.iter().map(|id| format!("`{}`", inline(id, 60))).collect();
    // The bar stands between two of them and nowhere else.
    let what: Vec<String> = what.iter().map(|text| inline(&text.replace('|', "¦"), GLANCE_CHARS)).collect();
    let settle: Vec<String> = settle.iter().map(|command| format!("`{}`", inline(command, 200))).collect();
    format!(
        "- {}{}, {when}, asks {}: {} {}\n  to settle it: {}\n",
        if *seen { "(seen) " } else { "" },
        kind.words().0,
        asked.join(", "),
        ids.join(" "),
        what.join(" | "),
        settle.join(" or ")
    )
}
