//! What people are shown of the answers of the views: the fields of their JSON that pages and screens read.

pub(crate) mod at_work;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::config::Config;
use crate::domain::names::Named;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::time::Timestamp;
use crate::reads::Reads;
use crate::views::{self, Body, Format, Next, View};

/// The answer to a question, as far as people are shown it, and the start of the next page.
pub(crate) fn asked<T: DeserializeOwned>(
    reads: &mut Reads,
    config: &Config,
    view: &View,
    now: Timestamp,
) -> Result<(T, Option<Next>), Rejection> {
    let answer = views::answer(reads, config, view, now, Format::Json)?;
    let Body::Json(json) = answer.body else {
        return Err(Rejection::new(Code::Unavailable, "this view has no JSON", "show another page"));
    };
    let facts = serde_json::from_value(json).map_err(|problem| {
        Rejection::new(Code::Unavailable, format!("a view has another form: {problem}"), "report this")
    })?;
    Ok((facts, answer.next))
}

/// A page of claims.
#[derive(Debug, Deserialize)]
pub(crate) struct Claims {
    pub(crate) claims: Vec<Claim>,
}

/// The hits of a search.
#[derive(Debug, Deserialize)]
pub(crate) struct Hits {
    pub(crate) hits: Vec<Claim>,
}

/// A claim in a list.
#[derive(Debug, Deserialize)]
pub(crate) struct Claim {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) statement: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) basis: Option<String>,
    pub(crate) owner: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) supports: u32,
    pub(crate) challenges: u32,
    pub(crate) grade: String,
    pub(crate) effective_confidence: f64,
    pub(crate) created_at: i64,
    pub(crate) touched_at: i64,
    pub(crate) proof: Option<Proof>,
    pub(crate) failed_since: Option<String>,
    pub(crate) failed_before: Option<String>,
    pub(crate) contradicts: Option<String>,
    #[serde(default)]
    pub(crate) unstable: bool,
    #[serde(default)]
    pub(crate) edits_unseen: bool,
    #[serde(default)]
    pub(crate) agreed_before_change: bool,
    #[serde(default)]
    pub(crate) stale: bool,
    #[serde(default)]
    pub(crate) imported: bool,
    #[serde(default)]
    pub(crate) mended: bool,
    #[serde(default)]
    pub(crate) rejected: bool,
    #[serde(default)]
    pub(crate) agreed_by_silence: bool,
    #[serde(default)]
    pub(crate) changed_since: Vec<Changed>,
}

impl Claim {
    /// The name by which people call it.
    pub(crate) fn called(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }
}

/// The run that proved a claim.
#[derive(Debug, Deserialize)]
pub(crate) struct Proof {
    pub(crate) run_id: String,
    pub(crate) ran: Option<String>,
}

impl Claim {
    /// The positions of other agents as counts. An open challenge contests a claim, so those of a proposed or confirmed claim
    /// are settled: a run answered them, or the operator stands by the claim.
    pub(crate) fn votes(&self) -> String {
        let is_settled = self.challenges > 0 && matches!(&*self.status, "proposed" | "confirmed");
        let settled = if is_settled { ", settled" } else { "" };
        format!("{} for, {} against{settled}", self.supports, self.challenges)
    }
}

/// A file that changed since a claim was made.
#[derive(Debug, Deserialize)]
pub(crate) struct Changed {
    pub(crate) path: String,
}

/// A claim with all its facts.
#[derive(Debug, Deserialize)]
pub(crate) struct Whole {
    #[serde(flatten)]
    pub(crate) claim: Claim,
    #[serde(default)]
    pub(crate) positions: Vec<Position>,
    #[serde(default)]
    pub(crate) evidence_items: Vec<Evidence>,
    #[serde(default)]
    pub(crate) history: Vec<Change>,
    #[serde(default)]
    pub(crate) challenged_before: Vec<Before>,
    #[serde(default)]
    pub(crate) contradictions: Vec<Contradiction>,
    pub(crate) decision: Option<Decided>,
    #[serde(default)]
    pub(crate) supersedes: Vec<String>,
    #[serde(default)]
    pub(crate) successors: Vec<String>,
    pub(crate) proof_ran: Option<String>,
    #[serde(default)]
    pub(crate) asks: Vec<String>,
    pub(crate) trigger: Option<Value>,
}

impl Whole {
    /// What settled a challenge: the run that answered it, or the word of the operator. `None` while it is open.
    pub(crate) fn settled(&self, held: &Position) -> Option<String> {
        if held.position != "challenge" {
            return None;
        }
        let of_it = || {
            self.contradictions.iter().filter(|found| found.is_challenge() && found.right.agent == held.agent)
        };
        let is_answered = of_it().all(|found| found.cause.is_some())
            && of_it().any(|found| found.cause.as_deref() == Some("proven"));
        match &self.claim.proof {
            Some(proof) if is_answered => Some(format!("answered by {}", proof.run_id)),
            None if is_answered => Some("answered by a run".to_owned()),
            _ if of_it().any(|found| found.outvoted) => Some("the operator stands by the claim".to_owned()),
            _ => None,
        }
    }
}

/// The position of an agent.
#[derive(Debug, Deserialize)]
pub(crate) struct Position {
    pub(crate) agent: String,
    pub(crate) position: String,
    pub(crate) reason: Option<String>,
    pub(crate) evidence_ref: Option<String>,
    pub(crate) at: i64,
    #[serde(default)]
    pub(crate) before_change: bool,
}

/// An event linked to a claim.
#[derive(Debug, Deserialize)]
pub(crate) struct Evidence {
    pub(crate) evidence_ref: String,
    pub(crate) relation: String,
    pub(crate) added_by: String,
    pub(crate) grade: String,
    pub(crate) weight: f64,
    pub(crate) run_id: Option<String>,
    pub(crate) ran: Option<String>,
    pub(crate) outcome: Option<String>,
    pub(crate) prediction: Option<String>,
    pub(crate) stale_since: Option<u64>,
    pub(crate) note: Option<String>,
    pub(crate) at: i64,
}

/// A change of status.
#[derive(Debug, Deserialize)]
pub(crate) struct Change {
    pub(crate) from: Option<String>,
    pub(crate) to: String,
    by: String,
    #[serde(default)]
    by_run: bool,
    pub(crate) reason: Option<String>,
    pub(crate) at: i64,
    pub(crate) seq: u64,
}

impl Change {
    /// The agent that caused it, or `a run`.
    pub(crate) fn by(&self) -> &str {
        if self.by_run { "a run" } else { &self.by }
    }
}

/// A challenge of a claim that this one replaced.
#[derive(Debug, Deserialize)]
pub(crate) struct Before {
    pub(crate) claim_id: String,
    pub(crate) agent: String,
    pub(crate) reason: Option<String>,
}

/// A page of contradictions.
#[derive(Debug, Deserialize)]
pub(crate) struct Contradictions {
    pub(crate) contradictions: Vec<Contradiction>,
}

/// Two sides that cannot both be right.
#[derive(Debug, Deserialize)]
pub(crate) struct Contradiction {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) kind: String,
    pub(crate) tier: String,
    pub(crate) cause: Option<String>,
    pub(crate) detected_at: i64,
    /// When it ended.
    pub(crate) resolved_at: Option<i64>,
    /// Whether it is a challenge of a claim that the operator stands by, which contests the claim no more.
    #[serde(default)]
    pub(crate) outvoted: bool,
    pub(crate) left: Side,
    pub(crate) right: Side,
}

impl Contradiction {
    /// Whether it is a challenge: both sides are about one claim.
    pub(crate) fn is_challenge(&self) -> bool {
        self.left.claim_id == self.right.claim_id
    }
}

/// A side of a contradiction.
#[derive(Debug, Deserialize)]
pub(crate) struct Side {
    pub(crate) agent: String,
    pub(crate) claim_id: String,
    pub(crate) statement: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) challenge: Option<String>,
}

/// A page of decisions.
#[derive(Debug, Deserialize)]
pub(crate) struct Decisions {
    pub(crate) decisions: Vec<Decision>,
}

/// A decision in a list.
#[derive(Debug, Deserialize)]
pub(crate) struct Decision {
    pub(crate) claim_id: String,
    pub(crate) statement: String,
    pub(crate) status: String,
    pub(crate) decided_by: String,
    pub(crate) target: Option<String>,
    pub(crate) rationale: String,
    pub(crate) outcome: Option<String>,
    pub(crate) created_at: i64,
}

/// A decision with its alternatives.
#[derive(Debug, Deserialize)]
pub(crate) struct Decided {
    #[serde(flatten)]
    pub(crate) summary: Decision,
    #[serde(default)]
    pub(crate) alternatives: Vec<Alternative>,
}

/// An alternative that was not chosen.
#[derive(Debug, Deserialize)]
pub(crate) struct Alternative {
    pub(crate) claim_id: String,
    pub(crate) statement: String,
    pub(crate) rejection_reason: String,
}

/// What needs an answer.
#[derive(Debug, Deserialize)]
pub(crate) struct Attention {
    pub(crate) needs: Vec<Need>,
    /// Number of entries of each kind that the list leaves out, by the heading of the kind.
    #[serde(default)]
    pub(crate) more: BTreeMap<String, usize>,
}

/// The kinds of attention that are also proposals, which have entries of their own.
pub(crate) const PROPOSED: [&str; 3] = ["proposal", "suggestion", "merge"];

/// An entry of what needs an answer.
#[derive(Debug, Deserialize)]
pub(crate) struct Need {
    pub(crate) kind: String,
    pub(crate) asked: Vec<String>,
    pub(crate) ids: Vec<String>,
    pub(crate) since: i64,
    pub(crate) what: Vec<String>,
    #[serde(default)]
    pub(crate) settle: Vec<String>,
}

impl Need {
    /// The names of its subjects: of the contradictions, if it is about any, and of all else.
    pub(crate) fn subjects<'n>(&self, names: &'n [String]) -> (Vec<&'n str>, Vec<&'n str>) {
        let is_contradiction =
            |name: &&str| self.kind == "contradiction" && name.starts_with(Named::Contradiction.letter());
        names.iter().map(String::as_str).partition(is_contradiction)
    }

    /// What it is about, in words.
    pub(crate) fn title(&self, names: &[String]) -> String {
        let kind = self.kind.replace('_', " ");
        match self.subjects(names) {
            (none, about) if none.is_empty() => format!("{kind} {}", about.join(" ")),
            (all, about) => format!("{kind} {} of {}", all.join(", "), about.join(" and ")),
        }
    }
}

/// A page of sessions.
#[derive(Debug, Deserialize)]
pub(crate) struct Sessions {
    pub(crate) sessions: Vec<Session>,
}

/// A session of a client.
#[derive(Debug, Deserialize)]
pub(crate) struct Session {
    pub(crate) session: String,
    pub(crate) name: Option<String>,
    pub(crate) agent: String,
    pub(crate) client: Option<String>,
    pub(crate) worktree: Option<String>,
    pub(crate) researcher: Option<SentOut>,
    pub(crate) parent_session: Option<String>,
    pub(crate) started_at: i64,
    pub(crate) last_seen_at: i64,
    pub(crate) ended_at: Option<i64>,
    pub(crate) end_cause: Option<String>,
    #[serde(default)]
    pub(crate) summary: Vec<String>,
}

impl Session {
    /// The name by which people call it.
    pub(crate) fn called(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.session)
    }

    /// What a researcher is. Its client says nothing of itself before it writes.
    pub(crate) fn sent_out(&self) -> Option<String> {
        let sent = self.researcher.as_ref()?;
        Some(format!("researcher by profile {} ({})", sent.profile, sent.run_id))
    }

    /// The client, the researcher in it, and its work tree.
    pub(crate) fn opened_by(&self) -> String {
        let parts: Vec<String> = self.client.iter().cloned().chain(self.sent_out()).collect();
        let tree = self.worktree.as_ref().map(|tree| format!(" in {tree}")).unwrap_or_default();
        parts.join(", ") + &tree
    }
}

/// How a researcher was sent out.
#[derive(Debug, Deserialize)]
pub(crate) struct SentOut {
    profile: String,
    run_id: String,
}

/// A list of tasks.
#[derive(Debug, Deserialize)]
pub(crate) struct Tasks {
    pub(crate) tasks: Vec<Task>,
}

/// A task.
#[derive(Debug, Deserialize)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) status: String,
    pub(crate) holder: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) lease_until: Option<i64>,
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    #[serde(default)]
    pub(crate) file_locks: Vec<String>,
    #[serde(default)]
    pub(crate) depends_on: Vec<String>,
    #[serde(default)]
    pub(crate) waits_for: Vec<String>,
    pub(crate) note: Option<String>,
    pub(crate) touched_at: i64,
}

/// The plans, and the tasks of none.
#[derive(Debug, Deserialize)]
pub(crate) struct Plans {
    pub(crate) trajectory: Option<Trajectory>,
    #[serde(default)]
    pub(crate) plans: Vec<Plan>,
    pub(crate) inbox: Phase,
}

/// What the team works on.
#[derive(Debug, Deserialize)]
pub(crate) struct Trajectory {
    pub(crate) intent: String,
    pub(crate) agent: String,
    pub(crate) shifted_at: i64,
}

/// A plan.
#[derive(Debug, Deserialize)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) phases: Vec<Phase>,
}

/// A phase of a plan.
#[derive(Debug, Deserialize)]
pub(crate) struct Phase {
    /// None for the tasks without a plan.
    pub(crate) name: Option<String>,
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) tasks: Vec<Task>,
}

/// The anchors.
#[derive(Debug, Deserialize)]
pub(crate) struct Anchors {
    pub(crate) anchors: Vec<Anchor>,
}

/// A fact under a key.
#[derive(Debug, Deserialize)]
pub(crate) struct Anchor {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) agent: String,
    pub(crate) saved_at: i64,
    /// The person in whose space it is; none in that of the project.
    pub(crate) user: Option<String>,
}

/// The locks.
#[derive(Debug, Deserialize)]
pub(crate) struct Locks {
    pub(crate) locks: Vec<Lock>,
}

/// A lock.
#[derive(Debug, Deserialize)]
pub(crate) struct Lock {
    pub(crate) scope: String,
    pub(crate) agent: String,
    pub(crate) session: String,
    pub(crate) until: i64,
    pub(crate) why: Option<String>,
}

/// A page of runs.
#[derive(Debug, Deserialize)]
pub(crate) struct Runs {
    pub(crate) experiments: Vec<Run>,
}

/// A run.
#[derive(Debug, Deserialize)]
pub(crate) struct Run {
    pub(crate) run_id: String,
    pub(crate) name: Option<String>,
    pub(crate) status: String,
    pub(crate) profile: Option<String>,
    pub(crate) command: Option<String>,
    pub(crate) claim_id: Option<String>,
    pub(crate) prediction: Option<String>,
    pub(crate) requested_by: String,
    pub(crate) session: Option<String>,
    pub(crate) created_at: i64,
    pub(crate) cwd: Option<String>,
    pub(crate) outcome: Option<Outcome>,
}

impl Run {
    /// The name by which people call it.
    pub(crate) fn called(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.run_id)
    }
}

/// How a run ended.
#[derive(Debug, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) exit_code: Option<i32>,
    pub(crate) duration_ms: Option<u64>,
}

/// The end of the output of a run.
#[derive(Debug, Deserialize)]
pub(crate) struct Output {
    pub(crate) end: String,
}

/// The guards, and the dead ends that warn.
#[derive(Debug, Deserialize)]
pub(crate) struct Guards {
    pub(crate) guards: Vec<Guard>,
}

/// A guard.
#[derive(Debug, Deserialize)]
pub(crate) struct Guard {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) action: String,
    pub(crate) condition: Value,
    pub(crate) by: String,
    pub(crate) at: i64,
    pub(crate) claim_id: Option<String>,
    #[serde(default)]
    pub(crate) muted: Vec<Value>,
    #[serde(flatten)]
    pub(crate) counts: Counts,
}

/// What came of the firings of a guard.
#[derive(Debug, Deserialize)]
pub(crate) struct Counts {
    pub(crate) fired: u64,
    pub(crate) followed: u64,
    pub(crate) ignored: u64,
    pub(crate) proved_wrong: u64,
    pub(crate) proved_right: u64,
}

/// A page of patterns.
#[derive(Debug, Deserialize)]
pub(crate) struct Patterns {
    pub(crate) patterns: Vec<Pattern>,
}

/// A pattern in the work of the team.
#[derive(Debug, Deserialize)]
pub(crate) struct Pattern {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) kind: String,
    pub(crate) about: String,
    pub(crate) agents: Vec<String>,
    pub(crate) opened_at: i64,
    pub(crate) closed_at: Option<i64>,
    pub(crate) task_title: Option<String>,
    #[serde(default)]
    pub(crate) settle: Vec<String>,
}

/// The playbooks.
#[derive(Debug, Deserialize)]
pub(crate) struct Playbooks {
    pub(crate) playbooks: Vec<Playbook>,
}

/// A playbook.
#[derive(Debug, Deserialize)]
pub(crate) struct Playbook {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) status: String,
    pub(crate) helpful: u64,
    pub(crate) harmful: u64,
    pub(crate) of: u64,
    pub(crate) tasks: Vec<Value>,
}

/// Why a context has its entries.
#[derive(Debug, Deserialize)]
pub(crate) struct Explained {
    pub(crate) items: Vec<Item>,
}

/// An entry in or out of a context.
#[derive(Debug, Deserialize)]
pub(crate) struct Item {
    pub(crate) section: String,
    pub(crate) id: String,
    pub(crate) statement: String,
    pub(crate) shown: bool,
    pub(crate) relevance: f64,
    pub(crate) chars: u64,
}

/// A page of events.
#[derive(Debug, Deserialize)]
pub(crate) struct Events {
    pub(crate) events: Vec<Event>,
}

/// An event of the ledger.
#[derive(Debug, Deserialize)]
pub(crate) struct Event {
    pub(crate) seq: u64,
    pub(crate) id: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) agent: String,
    pub(crate) session: Option<String>,
    pub(crate) at: i64,
    pub(crate) hash: String,
    pub(crate) payload: Option<Value>,
}
