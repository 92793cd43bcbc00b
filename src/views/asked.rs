//! Names of agents that have no session. Such a name stands for the agent in the work tree, or on the branch, of that
//! name.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::agent::{AgentId, Roster, UnknownAgent, spelled};
use crate::domain::plan::in_work_tree;
use crate::domain::receipt::{Warning, WarningCode};
use crate::domain::session::VANISHED_AFTER_MINUTES;
use crate::domain::time::Timestamp;
use crate::reads::Reads;
use crate::store::{Reader, SessionView, StoreError};

/// Maximum number of sessions to search for present agents. A team has some dozens.
const MAX_SESSIONS: usize = 500;
/// The most present agents that a sentence names.
const MAX_NAMED: usize = 8;
/// Maximum number of open questions to an absent agent that are searched for one of the asker.
const MAX_QUESTIONS: usize = 50;
/// The most absent agents that a line names.
const MAX_LEFT: usize = 3;
/// Maximum length of a quoted name of a work tree or branch, in characters.
const QUOTED_CHARS: usize = 60;

/// The agents of a workspace, for looking up names.
struct Team {
    /// Sessions that have not ended, newest first.
    alive: Vec<SessionView>,
    /// Every agent with an event, and the time of its last one.
    heard: BTreeMap<String, i64>,
    /// Former names of panes, each with the present one.
    renamed: BTreeMap<String, String>,
    now: Timestamp,
}

impl Team {
    fn of(store: &Reader, now: Timestamp) -> Result<Self, StoreError> {
        let heard = store.agents()?.into_iter().map(|agent| (agent.agent, agent.last_seen_at)).collect();
        let renamed = store.gone()?.renamed;
        Ok(Self { alive: store.alive_sessions(MAX_SESSIONS)?, heard, renamed, now })
    }

    /// Whether an agent has a session or a recent event. Some clients do not report the start of a session.
    fn is_here(&self, agent: &AgentId) -> bool {
        let has_session = self.alive.iter().any(|session| session.agent == agent.as_str());
        let is_recent = |at: &i64| self.now.ms() - at <= VANISHED_AFTER_MINUTES * 60_000;
        let is_former = self.renamed.contains_key(agent.as_str());
        has_session || (!is_former && self.heard.get(agent.as_str()).is_some_and(is_recent))
    }

    /// The agent of a work tree or branch, with one of its sessions. `None` if the sessions there have several
    /// agents.
    fn in_place_called(&self, names: &[String]) -> Option<(AgentId, &SessionView)> {
        let is_called =
            |place: &Option<String>| place.as_ref().is_some_and(|at| names.contains(&spelled(at)));
        let mut there = self.alive.iter().filter(|at| is_called(&at.worktree) || is_called(&at.branch));
        let first = there.next()?;
        there
            .all(|other| other.agent == first.agent)
            .then(|| (AgentId::recorded(first.agent.as_str()), first))
    }

    /// The other present agents, each with its work tree.
    fn others(&self, me: Option<&AgentId>) -> Vec<String> {
        let mut named: BTreeMap<&str, String> = BTreeMap::new();
        for session in &self.alive {
            let agent = session.agent.as_str();
            if me.is_none_or(|me| me.as_str() != agent) && !AgentId::recorded(agent).is_reserved() {
                named.entry(agent).or_insert_with(|| place(session));
            }
        }
        let mut said: Vec<String> =
            named.into_iter().map(|(agent, place)| format!("{agent}{place}")).collect();
        if said.len() > MAX_NAMED {
            let more = said.len() - MAX_NAMED;
            said.truncate(MAX_NAMED);
            said.push(format!("{more} more"));
        }
        said
    }
}

/// The work tree or branch in which a session began, in parentheses. Empty outside of git.
fn place(session: &SessionView) -> String {
    let quoted = |name: &String| super::inline(name, QUOTED_CHARS);
    match (&session.worktree, &session.branch) {
        (Some(worktree), _) => format!(" (work tree `{}`)", quoted(worktree)),
        (None, Some(branch)) => format!(" (branch `{}`)", quoted(branch)),
        (None, None) => String::new(),
    }
}

/// The names that may stand for a place of an agent: the given name, and the agent of that alias.
fn spellings(given: &str, agent: Option<&AgentId>) -> Vec<String> {
    std::iter::once(given).chain(agent.map(AgentId::as_str)).map(spelled).collect()
}

/// The agents that a caller asks by these names, with warnings for its receipt. A name without a session stands for
/// the one agent in the work tree or on the branch of that name. Any other name is asked as it is, and a warning names
/// the present agents. `me` is the caller.
///
/// # Errors
/// [`UnknownAgent`] for a name that is on no roster and is no place of one agent.
pub fn asked(
    reads: &mut Reads,
    roster: &Roster,
    (me, names): (Option<&AgentId>, &[String]),
    now: Timestamp,
) -> Result<(Vec<AgentId>, Vec<Warning>), UnknownAgent> {
    let mut team = reads.ask(now, |store| Team::of(store, now)).ok().and_then(|(team, _)| team);
    if let (Some(team), Some(me)) = (&mut team, me) {
        team.alive.retain(|session| session.agent != me.as_str());
    }
    let (mut agents, mut warnings) = (Vec::new(), Vec::new());
    for name in names {
        let known = roster.resolve(name);
        // An agent that cannot be looked up is asked as named. The operator is a human and has no session.
        let Some(team) = &team else {
            agents.push(known?);
            continue;
        };
        let as_named = known.as_ref().ok();
        if let Some(agent) = as_named.filter(|at| at.is_reserved() || me == Some(*at) || team.is_here(at)) {
            agents.push(agent.clone());
            continue;
        }
        if let Some((agent, session)) = team.in_place_called(&spellings(name, as_named)) {
            let given = super::inline(name, QUOTED_CHARS);
            let message = format!("no session of {given} is here: {agent}{} is asked", place(session));
            warnings.push(Warning { code: WarningCode::AskedAs, message, claim_id: None });
            agents.push(agent);
            continue;
        }
        let agent = known.map_err(|unknown| unknown.beside(&team.others(me)))?;
        // The asker heard it with its first question to this agent, which still waits. A new name is told each time.
        let waits = reads.ask(now, |store| store.questions(Some(agent.as_str()), MAX_QUESTIONS)).ok();
        let mut waiting = waits.and_then(|(questions, _)| questions).into_iter().flatten();
        let is_former = team.renamed.contains_key(agent.as_str());
        if !is_former && me.is_some_and(|me| waiting.any(|question| question.claim.owner == me.as_str())) {
            agents.push(agent);
            continue;
        }
        let others = team.others(me);
        let here = if others.is_empty() {
            "; no other agent is here now: the question waits until one comes under that name".to_owned()
        } else {
            let others = others.join(", ");
            format!("; here are: {others}: name them, in a claim that supersedes this one")
        };
        let message = match team.renamed.get(agent.as_str()) {
            Some(now) if me.is_some_and(|me| me.as_str() == now) => {
                format!("{agent} is a former name of yours{here}")
            }
            Some(now) => format!("{agent} is {now} now{here}"),
            None if team.heard.contains_key(agent.as_str()) => format!("no session of {agent} is here{here}"),
            None => format!("no session of {agent} has been here yet{here}"),
        };
        warnings.push(Warning { code: WarningCode::NotHere, message, claim_id: None });
        agents.push(agent);
    }
    Ok((agents, warnings))
}

/// A line about the absence of all agents except one of those in `live`. `None` while another is here, or was heard lately
/// without a session.
///
/// # Errors
/// [`StoreError`].
pub(super) fn alone(
    store: &Reader,
    (me, live): (&str, &BTreeSet<String>),
    now: Timestamp,
) -> Result<Option<String>, StoreError> {
    let is_other = |agent: &str| agent != me && !AgentId::recorded(agent).is_reserved();
    if AgentId::recorded(me).is_reserved() || live.iter().any(|agent| is_other(agent)) {
        return Ok(None);
    }
    let gone = store.gone()?;
    let lately = now.ms() - VANISHED_AFTER_MINUTES * 60_000;
    if gone.without_session.iter().any(|(agent, at)| is_other(agent) && *at >= lately) {
        return Ok(None);
    }
    let mut were: Vec<_> = gone.left.into_iter().chain(gone.without_session).collect();
    were.retain(|(agent, _)| is_other(agent));
    were.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
    let Some(last) = were.iter().map(|(_, at)| Timestamp::from_ms(*at).age(now)).next() else {
        return Ok(Some("no other agent has been here yet".to_owned()));
    };
    let more = were.len().saturating_sub(MAX_LEFT);
    let mut names: Vec<String> =
        were.into_iter().take(MAX_LEFT).map(|(agent, _)| super::inline(&agent, QUOTED_CHARS)).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let verb = if names.len() == 1 { "was" } else { "were" };
    let named = match names.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    };
    Ok(Some(format!("no other agent is here now; {named} {verb}, {last} ago")))
}

/// The agent that a filter names, with a note. A name without any event stands for the one agent in the work tree or
/// on the branch of that name.
///
/// # Errors
/// [`UnknownAgent`] for a name that is on no roster and is no place of one agent.
pub fn agent_called(
    reads: &mut Reads,
    roster: &Roster,
    name: &str,
    now: Timestamp,
) -> Result<(AgentId, Option<String>), UnknownAgent> {
    let known = roster.resolve(name);
    let team = reads.ask(now, |store| Team::of(store, now)).ok().and_then(|(team, _)| team);
    let Some(team) = team else { return known.map(|agent| (agent, None)) };
    let as_named = known.as_ref().ok();
    if let Some(agent) =
        as_named.filter(|agent| agent.is_reserved() || team.heard.contains_key(agent.as_str()))
    {
        return Ok((agent.clone(), None));
    }
    match team.in_place_called(&spellings(name, as_named)) {
        Some((agent, session)) => {
            let at = match &session.worktree {
                Some(worktree) => in_work_tree(Some(&super::inline(worktree, QUOTED_CHARS))),
                None => "on that branch".to_owned(),
            };
            let said = format!("`{}` is {agent} {at}", super::inline(name, QUOTED_CHARS));
            Ok((agent, Some(said)))
        }
        None => known.map(|agent| (agent, None)).map_err(|unknown| unknown.beside(&team.others(None))),
    }
}
