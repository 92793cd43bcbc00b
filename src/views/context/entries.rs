//! The results of the queries, as the entries of a pack.

use std::collections::BTreeSet;

use super::ContextOf;
use super::found::{EXPIRES_SOON_MS, Ended, Found, sides};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Status};
use crate::domain::playbook;
use crate::domain::relevance::Binds;
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::pack::{self, Attention, Entries};
use crate::schedule::{JobOutcome, JobRuns};
use crate::store::{
    AnchorView, ByNow, ClaimSummary, Contradiction, DeadEndDetail, LockView, Peer, Question, Replaced,
    SessionView, SideView, TaskView, by_now,
};
use crate::views::about::About;
use crate::views::attention::moves_of;
use crate::views::markdown::{MAX_RAN_CHARS, inline};
use crate::views::versions;

/// The entries for the packer. For a hand-over they include the name of the parent session and the reason.
pub(in crate::views) fn entries(
    found: &Found,
    of: &ContextOf,
    runs: &JobRuns,
    handed_over: Option<(&str, &str)>,
    now: Timestamp,
) -> Entries {
    let claim = |summary: &ClaimSummary| {
        let claim = found.claim(summary, now);
        let is_mine = summary.owner == of.agent.as_str() || summary.owner == AgentId::operator().as_str();
        let of_task = summary.origin_task_id.is_some_and(|task| found.about.tasks.contains(&task));
        pack::Claim { is_required: of_task && is_mine, ..claim }
    };
    Entries {
        agent: of.agent.to_string(),
        session: of.session.clone(),
        seq: found.seq,
        stale_after: found.stale_after,
        trajectory: found.trajectory.as_ref().map(|looking| pack::Trajectory {
            intent: looking.intent.clone(),
            plan: found.titles.plan.clone(),
            phase: found.titles.phase.clone(),
            active_tasks: found.tasks.len() as u64,
        }),
        window: of.window,
        attention: attention(found, of, runs, &claim, now),
        tasks: found
            .tasks
            .iter()
            .chain(&found.waiting)
            .map(|task| pack_task(task, found.session.as_ref(), now))
            .collect(),
        done: found.done.iter().map(|task| pack_task(task, None, now)).collect(),
        locks: found
            .locks
            .iter()
            .filter(|lock| concerns(lock, found, of))
            .map(|lock| pack_lock(lock, now))
            .collect(),
        anchors: found.anchors.iter().map(anchor).collect(),
        peers: peers(found),
        claims: found.claims.iter().map(claim).collect(),
        told: pack::Already::default(),
        in_part: Vec::new(),
        unseen_claims: found.unseen_claims,
        is_asked: found.about.is_asked(),
        unseen_dead_ends: found.unseen_dead_ends,
        dead_ends: found
            .negative
            .iter()
            .map(|dead_end| pack_dead_end(claim(dead_end), found.details.get(&dead_end.id)))
            .collect(),
        over: found.over.iter().map(over).collect(),
        turn0: handed_over.map(|(parent, reason)| hand_over(found, parent, reason)),
        playbook: found
            .playbook
            .as_ref()
            .map(|one| pack::Playbook { name: one.name.clone(), steps: playbook::text(&one.steps) }),
        governance: pack::Governance {
            ready: found.ready.len() as u64,
            contested: found.contested_count,
            pending_proof: found.pending_count,
            drift: None,
            is_nothing_open: found.is_nothing_open,
        },
        quarantined: found.quarantined,
    }
}

/// Whether a pack shows a lock to the reader: its own lock, a lock on a place of its work, and a lock on a tag, which
/// any agent may need. A lock of a task is shown with the task too.
fn concerns(lock: &LockView, found: &Found, of: &ContextOf) -> bool {
    let Ok(scope) = lock.scope.parse::<Scope>() else { return false };
    !scope.is_path() || Some(&lock.session) == of.session.as_ref() || scope.is_at(&found.about.places())
}

/// The peers of a reader. A goal that the reader or a peer before has too is not repeated.
fn peers(found: &Found) -> Vec<pack::Peer> {
    let own = found.trajectory.iter().map(|looking| &looking.intent);
    let own = own.chain(found.dialogue.iter().map(|turn| &turn.text));
    let mut known: BTreeSet<String> = own.cloned().collect();
    let mut peers: Vec<pack::Peer> = found.peers.iter().map(pack_peer).collect();
    for peer in &mut peers {
        if !known.insert(peer.wants.clone()) {
            peer.wants.clear();
        }
    }
    peers
}

/// A peer as a pack shows it.
pub(in crate::views) fn pack_peer(peer: &Peer) -> pack::Peer {
    let Peer { agent, client, worktree, branch, last_seen_at, last_edit, files, started_at, wants, .. } =
        peer.clone();
    pack::Peer {
        agent,
        client,
        worktree,
        branch,
        last_seen: Some(Timestamp::from_ms(last_seen_at)),
        last_edit,
        // The read models know the position of an edit, and not its time.
        edited_at: None,
        files,
        started: Some(Timestamp::from_ms(started_at)),
        wants: wants.unwrap_or_default(),
    }
}

/// A lock as a pack shows it.
pub(in crate::views) fn pack_lock(lock: &LockView, now: Timestamp) -> pack::Lock {
    pack::Lock {
        scope: lock.scope.clone(),
        by: lock.agent.clone(),
        worktree: lock.worktree.clone(),
        left: now.age(Timestamp::from_ms(lock.until)),
        purpose: lock.reason(),
    }
}

/// The attention entries: the sides of contradictions first, then waiting claims, then leases that end soon, and
/// faults.
fn attention(
    found: &Found,
    of: &ContextOf,
    runs: &JobRuns,
    claim: &impl Fn(&ClaimSummary) -> pack::Claim,
    now: Timestamp,
) -> Vec<Attention> {
    let is_folded = |asked: &&Question| found.folded.contains(&asked.claim.id);
    let questions = found.questions.iter().filter(|asked| !is_folded(asked));
    let questions = questions.map(|asked| Attention::Question(question(asked, now)));
    let folded: Vec<String> =
        found.questions.iter().filter(is_folded).map(|asked| asked.claim.id.to_string()).collect();
    let folded = (!folded.is_empty()).then_some(Attention::Asked { claims: folded });
    // Entries about the reader or its work come first. The other disputes of the team can wait for their agents.
    let is_far = |both: &&Contradiction| {
        let at_hand = sides(both).iter().any(|id| found.is_answer(*id));
        !at_hand && !moves_of(both).contains_key(of.agent.as_str())
    };
    let mut contradictions: Vec<&Contradiction> = found.contradictions.iter().collect();
    contradictions.sort_by_cached_key(is_far);
    let contradictions = contradictions.into_iter().map(|both| {
        let mut shown = pack::Contradiction { is_far: is_far(&both), ..contradiction(both) };
        for (side, id) in shown.sides.iter_mut().zip(sides(both)) {
            side.withdrawn = found.withdrawn.get(&id).map(ToString::to_string);
        }
        Attention::Contradiction(shown)
    });
    let mut contested: Vec<&ClaimSummary> = found.contested.iter().collect();
    contested.sort_by_key(|claim| claim.owner != of.agent.as_str() && !found.is_answer(claim.id));
    let contested = contested.into_iter().map(|summary| Attention::Contested(claim(summary)));
    let pending = found
        .pending_proof
        .iter()
        .map(|summary| Attention::PendingProof { claim: claim(summary), run: None });
    let is_mine = |task: &&TaskView| task.session.is_some() && task.session == of.session;
    let leases = found.tasks.iter().filter(is_mine).filter_map(|task| {
        let left = task.lease_until? - now.ms();
        (left <= EXPIRES_SOON_MS).then(|| Attention::Lease {
            task: task.name.clone(),
            title: task.title.clone(),
            left: now.age(Timestamp::from_ms(task.lease_until.unwrap_or_default())),
        })
    });
    let refused = found.rejected.iter().filter(|refused| refused.agent == of.agent.as_str());
    let refused = refused.map(|refused| Attention::Fault {
        id: refused.command_id.to_string(),
        what: format!("your queued {} did not pass: {}", refused.kind, refused.message),
    });
    let faults = runs.0.iter().filter(|(_, run)| run.outcome != JobOutcome::Ok);
    let faults =
        faults.map(|(job, run)| Attention::Fault { id: job.clone(), what: format!("{job}: {}", run.detail) });
    let disputes = questions.chain(folded).chain(contradictions);
    let silences = found.silences.iter().map(|silence| Attention::Silence {
        claim: silence.claim.id.to_string(),
        statement: silence.claim.statement.clone(),
        by: silence.claim.owner.clone(),
        left: now.age(Timestamp::from_ms(silence.until)),
    });
    let waiting = disputes.chain(contested).chain(pending).chain(leases);
    waiting.chain(refused).chain(faults).chain(silences).collect()
}

pub(in crate::views) fn anchor(kept: &AnchorView) -> pack::Anchor {
    let set_at = Timestamp::from_ms(kept.saved_at);
    let is_users = kept.user.is_some();
    pack::Anchor { key: kept.key.clone(), value: kept.value.clone(), set_at, is_users }
}

fn pack_task(task: &TaskView, reader: Option<&SessionView>, now: Timestamp) -> pack::Task {
    let here = reader.and_then(|session| session.worktree.as_deref());
    pack::Task {
        id: task.name.clone(),
        phase: task.phase.clone(),
        status: task.status.to_string(),
        lease_left: task.lease_until.map(|until| now.age(Timestamp::from_ms(until))),
        files: task.file_locks.len() as u64,
        by: task.holder.clone().or_else(|| task.ended_by.clone()),
        worktree: task.worktree.clone().filter(|there| Some(there.as_str()) != here),
        meant_for: task.meant_for.clone().filter(|_| task.holder.is_none() && !task.status.is_over()),
        title: task.title.clone(),
        result: task.note.clone(),
    }
}

/// A dead end as a pack shows it.
pub(in crate::views) fn pack_dead_end(claim: pack::Claim, warning: Option<&DeadEndDetail>) -> pack::DeadEnd {
    let trigger = warning.and_then(|warning| warning.trigger.as_ref()).map(ToString::to_string);
    pack::DeadEnd {
        matches: claim.is_at_hand(),
        claim,
        trigger,
        because: warning.and_then(|warning| warning.because.clone()),
        mended: warning.and_then(|warning| warning.mended.clone()),
    }
}

fn over(Ended { claim, was, now, why }: &Ended) -> pack::Over {
    pack::Over {
        id: claim.id.to_string(),
        by: claim.owner.clone(),
        was: was.clone(),
        now: now.map(|now| now.to_string()),
        why: why.clone(),
    }
}

fn hand_over(found: &Found, parent: &str, reason: &str) -> pack::Turn0 {
    let summary = found.session.as_ref().map(|session| session.summary.join(" … "));
    let messages = found.dialogue.iter().map(|turn| pack::Message {
        role: turn.role.to_string(),
        text: turn.text.clone(),
        at: Timestamp::from_ms(turn.at),
    });
    pack::Turn0 {
        parent_session: parent.to_owned(),
        reason: reason.to_owned(),
        summary: summary.filter(|summary| !summary.is_empty()),
        messages: messages.collect(),
    }
}

impl Found {
    /// A claim as a pack shows it.
    fn claim(&self, summary: &ClaimSummary, now: Timestamp) -> pack::Claim {
        let rejected = self.rejections.get(&summary.id).into_iter().flatten();
        let rejected = rejected.map(|rejected| format!("{} ({})", rejected.statement, rejected.because));
        let replaced = self.replaced.get(&summary.id).map(|old| replaced_by(old, &summary.statement));
        pack::Claim {
            answers: self.answers.get(&summary.id).map_or(0.0, |(_, all)| *all),
            rejected: rejected.collect(),
            replaced,
            behind: self.behind.get(&summary.id).map(ToString::to_string),
            digest: self.digest.as_ref().and_then(|digest| digest.get(summary.id)).cloned(),
            // The pack shows each lock once.
            by_now: by_now(&self::tests(summary)),
            ..claim_for(summary, &self.about, now)
        }
    }
}

/// The claim that another one superseded, as a pack shows it.
pub(in crate::views) fn replaced_by(
    old @ Replaced { id, statement, claim_type, mended, .. }: &Replaced,
    new: &str,
) -> pack::Replaced {
    let amended = old.change(new);
    let how = match claim_type {
        _ if amended.is_some() => pack::How::Amended,
        _ if *mended => pack::How::Mended,
        ClaimType::Negative => pack::How::DeadEnd,
        ClaimType::Fact | ClaimType::Decision | ClaimType::Hypothesis => pack::How::Instead,
    };
    let was = amended.map_or_else(|| statement.clone(), |change| change.to_string());
    pack::Replaced { id: id.to_string(), how, was }
}

/// The runs that test a claim now.
fn tests(summary: &ClaimSummary) -> Vec<ByNow> {
    summary.by_now.iter().filter(|at_it| at_it.run.is_some()).cloned().collect()
}

/// A claim as a pack shows it to a session with this subject.
pub(in crate::views) fn claim_for(summary: &ClaimSummary, about: &About, now: Timestamp) -> pack::Claim {
    let scopes = summary.scopes.iter().filter_map(|scope| scope.parse::<Scope>().ok());
    let scopes: Vec<Scope> = scopes.filter(|scope| !scope.is_whole()).collect();
    let is_at = |places: &[Scope]| scopes.iter().any(|scope| scope.is_at(places));
    let of_task = summary.origin_task_id.as_ref().is_some_and(|task| about.tasks.contains(task));
    pack::Claim {
        id: summary.id.to_string(),
        statement: summary.statement.clone(),
        claim_type: summary.claim_type,
        status: summary.status,
        basis: summary.basis,
        proved_by: summary
            .proof
            .as_ref()
            .map(|proof| format!("{}: {}", proof.run_id, inline(&proof.ran, MAX_RAN_CHARS))),
        agreed_by: Vec::new(),
        answers_reader: false,
        unstable: summary.unstable,
        edits_unseen: summary.edits_unseen,
        agreed_before_change: summary.agreed_before_change,
        against: summary.against().map(|against| (against.name(), against.run.to_string())),
        contradicts: summary.contradicts.clone(),
        grade: summary.grade,
        evidence_stale: summary.stale,
        shows_nothing: summary.shows_nothing,
        changed_by: summary.changed_by.map(|by| by.to_string()),
        names_over: summary.names_over.map(|over| over.to_string()),
        changed: versions::changed(&summary.changed_since).filter(|_| summary.is_changed()),
        doubt: summary.doubt(),
        by_now: by_now(&summary.by_now),
        confidence: summary.effective_confidence(now),
        scopes: summary.scopes.clone(),
        by: summary.owner.clone(),
        imported: summary.imported,
        created_at: Timestamp::from_ms(summary.created_at),
        touched_at: Timestamp::from_ms(summary.touched_at),
        made_seq: summary.created_seq,
        seq: summary.seq,
        rejected: Vec::new(),
        replaced: None,
        answers: 0.0,
        linked_to_active_task: of_task || is_at(&about.task_scopes),
        is_required: false,
        touches_session_files: is_at(&about.files),
        binds: match (summary.claim_type, summary.status) {
            (ClaimType::Decision, Status::Proposed | Status::Confirmed) => about.bound_by(&scopes),
            _ => Binds::Nothing,
        },
        behind: None,
        digest: None,
    }
}

pub(in crate::views) fn contradiction(both: &Contradiction) -> pack::Contradiction {
    pack::Contradiction {
        id: both.id.to_string(),
        kind: both.kind,
        detected_at: Timestamp::from_ms(both.detected_at),
        sides: [side(&both.left), side(&both.right)],
        moves: moves_of(both).into_keys().collect(),
        is_far: false,
    }
}

/// A question as a pack shows it.
pub(in crate::views) fn question(asked: &Question, now: Timestamp) -> pack::Question {
    let is_open = asked.claim.status == Status::Proposed;
    pack::Question {
        claim: asked.claim.id.to_string(),
        statement: match (&asked.amended, asked.instead_of) {
            (Some(change), Some(old)) => format!("{old} amended: {change}"),
            _ => asked.claim.statement.clone(),
        },
        by: asked.claim.owner.clone(),
        asked_at: Timestamp::from_ms(asked.asked_at),
        silence_in: asked.until.filter(|_| is_open).map(|until| now.age(Timestamp::from_ms(until))),
        instead_of: asked.instead_of.map(|old| old.to_string()),
        is_request: asked.claim.claim_type == ClaimType::Fact
            && asked.until.is_none()
            && asked.instead_of.is_none()
            && asked.would_replace.is_none(),
    }
}

fn side(side: &SideView) -> pack::Side {
    let said = side.status.zip(side.created_at).zip(side.statement.clone());
    pack::Side {
        claim: side.claim_id.to_string(),
        owner: side.owner.clone(),
        by: side.agent.clone(),
        challenge: side.challenge.clone(),
        withdrawn: None,
        said: said.map(|((status, at), statement)| (status, Timestamp::from_ms(at), statement)),
    }
}
