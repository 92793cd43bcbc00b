//! The reminder of open items before a session stops, and the one-line greeting at its start.

use super::xml::line;
use super::{MAX_GLANCE_CHARS, MAX_ID_CHARS, MAX_NAME_CHARS};
use crate::domain::checkout::Checkout;
use crate::domain::clean;

/// The most ids of each kind in a reminder. A longer list is not read.
const MAX_NAMED: usize = 5;

/// The start of the reminder of [`stop_gate`].
pub const STOP_GATE_OPENING: &str = "Before you stop, settle what is open:";

/// The open items of a session, as ids only. Stored text must not appear where an agent gets instructions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gate {
    /// Active tasks of the session.
    pub active_tasks: Vec<String>,
    /// Tasks that the session holds.
    pub leases: Vec<String>,
    /// Claims of the session without evidence.
    pub without_evidence: Vec<String>,
    /// Claims of its agent that wait for a run.
    pub pending_proofs: Vec<String>,
}

/// The reminder: the open items, and the tool that settles each kind. None without open items.
pub fn stop_gate(gate: &Gate) -> Option<String> {
    let open = [
        (&gate.active_tasks, "active task", "active tasks", "update_task: done, blocked or invalidated"),
        (
            &gate.leases,
            "leased task",
            "leased tasks",
            "update_task, or the end of the session, gives it back",
        ),
        (
            &gate.without_evidence,
            "claim without evidence",
            "claims without evidence",
            "add_evidence, where an event or a run shows it",
        ),
        (
            &gate.pending_proofs,
            "claim that waits for a run",
            "claims that wait for a run",
            "wait for hivemind://experiments, or cancel_experiment",
        ),
    ];
    let lines: Vec<String> = open
        .into_iter()
        .filter(|(ids, ..)| !ids.is_empty())
        .map(|(ids, one, many, settled_by)| {
            let what = if ids.len() == 1 { one } else { many };
            format!("- {} {what}: {} ({settled_by})", ids.len(), named(ids))
        })
        .collect();
    (!lines.is_empty()).then(|| format!("{STOP_GATE_OPENING}\n{}\n", lines.join("\n")))
}

/// The reminder of claims without evidence, for the next prompt. Empty without such claims.
pub fn evidence_due(claims: &[String]) -> String {
    match claims {
        [] => String::new(),
        [first, ..] => format!(
            "hivemind: no evidence yet for your {}: if your last command or run shows it, hm claim evidence {} --ref last\n",
            named(claims),
            line(first, MAX_ID_CHARS)
        ),
    }
}

fn named(ids: &[String]) -> String {
    let named: Vec<String> = ids.iter().take(MAX_NAMED).map(|id| line(id, MAX_ID_CHARS)).collect();
    let more = ids.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    named.join(", ") + &more
}

/// The identity and the surroundings of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Presence {
    /// The agent.
    pub agent: String,
    /// Names of other agents with a running session.
    pub peers: Vec<String>,
    /// The line about the absence of all other agents. None while one of them is here.
    pub alone: Option<String>,
    /// Number of open contradictions.
    pub contradictions: u64,
    /// Number of tasks that can be claimed.
    pub ready: u64,
    /// Number of proposals of the miners that wait for the agent.
    pub proposals: u64,
    /// Number of proposals that wait for the operator's approval. 0 for any other agent.
    pub to_review: u64,
    /// The work tree and branch of the agent.
    pub checkout: Checkout,
}

/// The greeting: `hivemind: you are devops · 2 peers: analyst, claude-2 · 1 open contradiction · 2 tasks ready · work
/// tree wt on branch pool`. Empty parts are left out, and so is the main work tree.
pub fn banner(presence: &Presence) -> String {
    let counts = [
        (presence.peers.len() as u64, "peer", "peers"),
        (presence.contradictions, "open contradiction", "open contradictions"),
        (presence.ready, "task ready", "tasks ready"),
        (
            presence.proposals,
            "proposal waits for you (hm attention)",
            "proposals wait for you (hm attention)",
        ),
    ];
    let mut banner = format!("hivemind: you are {}", plain(&presence.agent, MAX_NAME_CHARS));
    if let Some(alone) = &presence.alone {
        banner.push_str(&format!(" · {}", plain(alone, MAX_GLANCE_CHARS)));
    }
    for (count, one, many) in counts.into_iter().filter(|(count, ..)| *count > 0) {
        banner.push_str(&format!(" · {count} {}", if count == 1 { one } else { many }));
        if one == "peer" {
            let names = plain(&presence.peers.join(", "), MAX_GLANCE_CHARS);
            banner.push_str(&format!(": {names}"));
        }
    }
    if presence.to_review > 0 {
        let noun = if presence.to_review == 1 { "proposal" } else { "proposals" };
        banner.push_str(&format!(" · {} {noun} to review: hm review", presence.to_review));
    }
    if let Some(worktree) = &presence.checkout.worktree {
        banner.push_str(&format!(" · work tree {}", plain(worktree.as_str(), MAX_GLANCE_CHARS)));
        if let Some(branch) = &presence.checkout.branch {
            banner.push_str(&format!(" on branch {}", plain(branch.as_str(), MAX_GLANCE_CHARS)));
        }
    }
    banner
}

/// A text on one line of at most `max_chars` characters in which no tag opens, for an answer that is no XML.
pub(super) fn plain(text: &str, max_chars: usize) -> String {
    clean::untagged(&clean::cut_line(text, max_chars)).into_owned()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{Checkout, Gate, Presence, banner, stop_gate};

    #[test]
    fn the_gate_names_what_is_open_and_is_none_when_nothing_is() {
        assert_eq!(stop_gate(&Gate::default()), None);
        let claims = (1..=7).map(|number| format!("claim-{number}")).collect();
        let gate = Gate {
            active_tasks: vec!["task-1".to_owned()],
            leases: vec!["task-1".to_owned(), "task-2".to_owned()],
            without_evidence: claims,
            pending_proofs: vec!["claim-9".to_owned()],
        };
        expect![[r#"
            Before you stop, settle what is open:
            - 1 active task: task-1 (update_task: done, blocked or invalidated)
            - 2 leased tasks: task-1, task-2 (update_task, or the end of the session, gives it back)
            - 7 claims without evidence: claim-1, claim-2, claim-3, claim-4, claim-5 and 2 more (add_evidence, where an event or a run shows it)
            - 1 claim that waits for a run: claim-9 (wait for hivemind://experiments, or cancel_experiment)
        "#]].assert_eq(&stop_gate(&gate).expect("something is open"));
    }

    #[test]
    fn the_banner_says_what_there_is() {
        let presence = Presence {
            agent: "devops".to_owned(),
            peers: ["analyst", "architect", "claude-2"].map(str::to_owned).to_vec(),
            alone: None,
            contradictions: 1,
            ready: 2,
            proposals: 0,
            to_review: 0,
            checkout: Checkout { worktree: None, branch: Some("main".parse().expect("a branch")) },
        };
        assert_eq!(
            banner(&presence),
            "hivemind: you are devops · 3 peers: analyst, architect, claude-2 · 1 open contradiction · 2 tasks ready"
        );
        let architect = Presence { proposals: 3, ready: 0, contradictions: 0, ..presence.clone() };
        assert!(
            banner(&architect).ends_with(" · 3 proposals wait for you (hm attention)"),
            "{}",
            banner(&architect)
        );
        let alone = Presence { peers: Vec::new(), contradictions: 0, ready: 1, ..presence };
        assert_eq!(banner(&alone), "hivemind: you are devops · 1 task ready");
        let left = Presence { alone: Some("no other agent has been here yet".to_owned()), ..alone.clone() };
        assert_eq!(
            banner(&left),
            "hivemind: you are devops · no other agent has been here yet · 1 task ready"
        );
        let approving = Presence { agent: "operator".to_owned(), to_review: 2, ..Presence::default() };
        assert_eq!(banner(&approving), "hivemind: you are operator · 2 proposals to review: hm review");
        let checkout = Checkout { worktree: Some("wt".parse().expect("a name")), ..alone.checkout.clone() };
        assert_eq!(
            banner(&Presence { checkout: checkout.clone(), ..alone.clone() }),
            "hivemind: you are devops · 1 task ready · work tree wt on branch main"
        );
        // Red before: `R&amp;D`, as in XML.
        let checkout = Checkout { branch: Some("R&D".parse().expect("a name")), ..checkout };
        assert!(banner(&Presence { checkout, ..alone }).ends_with("on branch R&D"));
    }
}
