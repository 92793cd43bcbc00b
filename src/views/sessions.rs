//! Sessions: a list, the page of one, and the text that one got from its parent.

use std::fmt::Write;

use serde_json::json;

use super::asking::Asking;
use super::markdown::{age, inline, name};
use super::work::{LIST_CHARS, task_line};
use super::{Answer, ViewError, to_json};
use crate::domain::event::{Event, Recorded};
use crate::domain::ids::SessionId;
use crate::domain::names::quoted_ids;
use crate::domain::plan::in_work_tree;
use crate::domain::session::EndCause;
use crate::domain::time::Timestamp;
use crate::pack::Peer;
use crate::store::{ResearcherView, SessionView, SplitView, TaskView, TurnView};

/// Sessions older than the page before, newest first.
pub(super) fn answer(
    asking: &mut Asking<'_>,
    before: Option<u64>,
    limit: usize,
) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let (found, next) = asked.store.sessions_before(before, limit)?;
        let answer = asked.answer(|| json!({ "sessions": found }), || lines(&found, asked.now));
        Ok(answer.followed_by("cursor", next))
    })
}

/// Whether an event changes the list.
pub(super) const fn touched_by(event: &Event) -> bool {
    matches!(
        event,
        Event::SessionStarted(_) | Event::AgentSeated(_) | Event::SessionEnded(_) | Event::SessionSplit(_)
    )
}

/// One session.
pub(super) fn one(asking: &mut Asking<'_>, id: &str) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let store = asked.store;
        let page = SessionPage {
            id: id.parse().map_err(|_| ViewError::no_session(id))?,
            name: store.session_name(id)?,
            session: store.session(id)?,
            researchers: store.researchers_of(id)?,
            dialogue: store.dialogue(id)?,
            held: store.held_by(id)?,
            files: store.files_of(id)?,
            came_from: store.split_into(id)?,
            split_into: store.splits_of(id)?,
        };
        // A session has a name once an event comes from it.
        if page.session.is_none() && page.researchers.is_empty() && page.name.is_none() {
            return Err(ViewError::no_session(id));
        }
        let json = || {
            json!({
                "session": page.session, "dialogue": page.dialogue, "held": page.held, "files": page.files,
                "came_from": page.came_from, "split_into": page.split_into, "researchers": page.researchers,
            })
        };
        Ok(asked.answer(json, || text(&page, asked.now)))
    })
}

/// Whether an event changes one session.
pub(super) fn one_touched_by(id: &str, recorded: &Recorded, event: &Event) -> bool {
    let of_it = |session: &SessionId| session.as_str() == id;
    recorded.session.as_ref().is_some_and(of_it)
        // The run may belong to a researcher that this agent sent out.
        || event.run_id().is_some()
        || event.task_id().is_some()
        || event.about().session.is_some_and(of_it)
}

/// The text that a session got from its parent.
pub(super) fn turn0(asking: &mut Asking<'_>, id: &str) -> Result<Answer, ViewError> {
    let format = asking.format;
    let ((split, seq), left_out) = asking.found(|asked| {
        let Some(split) = asked.store.split_into(id)? else {
            let name = asked.store.session_name(id)?;
            let is_known = name.is_some() || asked.store.session(id)?.is_some();
            return Err(if is_known {
                ViewError::no_turn0(id, name.as_deref())
            } else {
                ViewError::no_session(id)
            });
        };
        Ok((split, asked.seq))
    })?;
    if let Some(ledger) = asking.reads.ledger()?
        && ledger.withholds(&split.turn0)?
    {
        return Err(ViewError::no_session(id));
    }
    let json = || {
        let mut json = to_json(&split);
        json["turn0"] = split.turn0.clone().into();
        json
    };
    Ok(Answer::of_xml(format, seq, json, || split.turn0.clone()).without(left_out))
}

/// Whether an event is a hand-over to a session.
pub(super) fn turn0_touched_by(id: &str, event: &Event) -> bool {
    matches!(event, Event::SessionSplit(split) if split.child.as_str() == id)
}

fn session_line(session: &SessionView, now: Timestamp) -> String {
    let client = session.client.as_deref();
    let client = match (&session.researcher, client.map(|client| inline(client, 40))) {
        (None, client) => {
            format!(" in {}, {}", client.as_deref().unwrap_or("client unknown"), session.source)
        }
        // Its client says nothing of itself before it writes.
        (Some(sent), client) => {
            let client = client.map(|client| format!(" in {client}")).unwrap_or_default();
            format!("{client}, researcher by profile {} (run `{}`)", inline(&sent.profile, 40), sent.run_id)
        }
    };
    let seen = Timestamp::from_ms(session.last_seen_at).age(now);
    // What a context calls silent is called so here, whether the writer has closed its session or not.
    let state = match (session.ended_at, session.end_cause) {
        (Some(_), Some(EndCause::Vanished)) => format!("silent for {seen}, closed"),
        (Some(at), Some(cause)) => format!("{cause} {} ago", age(at, now)),
        _ if Peer::is_silent(seen) => format!("silent for {seen}"),
        _ => format!("seen {seen} ago"),
    };
    format!(
        "- {} {}{client}{}, {state}\n",
        called(&session.session, session.name.as_deref()),
        name(&session.agent),
        place(session)
    )
}

/// A session by its short name and the id that its client chose. An id that ends in a UUID is shown as its name anyway.
fn called(id: &str, short: Option<&str>) -> String {
    let shown = format!("`{}`", inline(id, LIST_CHARS));
    match short.filter(|_| quoted_ids(id).next().is_none()) {
        Some(short) => format!("`{short}` ({shown})"),
        None => shown,
    }
}

/// The linked work tree and the branch of a session's start. Empty for the main work tree.
fn place(session: &SessionView) -> String {
    let Some(worktree) = &session.worktree else { return String::new() };
    let there = in_work_tree(Some(&inline(worktree, LIST_CHARS)));
    let branch = session.branch.as_deref();
    let branch =
        branch.map_or_else(String::new, |branch| format!(" on branch `{}`", inline(branch, LIST_CHARS)));
    format!(", {there}{branch}")
}

/// The line with the origin of a session. Empty without an origin.
fn goes_on_from(session: &SessionView) -> String {
    let Some(parent) = &session.parent_session else { return String::new() };
    let why =
        session.reason.as_deref().map_or_else(String::new, |why| format!(": {}", inline(why, LIST_CHARS)));
    format!("  goes on from `{}`{why}\n", inline(parent, LIST_CHARS))
}

fn lines(found: &[SessionView], now: Timestamp) -> String {
    if found.is_empty() {
        "No client has opened a session, and no other one is listed: `hm init` sets up the hooks that open them.\n".to_owned()
    } else {
        found.iter().map(|session| session_line(session, now) + &goes_on_from(session)).collect()
    }
}

/// One session with all its facts.
#[derive(Debug)]
struct SessionPage {
    id: SessionId,
    name: Option<String>,
    /// `None` if no client reported its start.
    session: Option<SessionView>,
    /// The researcher that runs in it, and the researchers that it started.
    researchers: Vec<ResearcherView>,
    dialogue: Vec<TurnView>,
    held: Vec<TaskView>,
    files: Vec<String>,
    came_from: Option<SplitView>,
    split_into: Vec<SplitView>,
}

fn text(page: &SessionPage, now: Timestamp) -> String {
    let SessionPage { id, name: short, session, researchers, dialogue, held, files, came_from, split_into } =
        page;
    let mut text = match session {
        Some(session) => session_line(session, now),
        None => format!("- {} was opened by no client\n", called(id.as_str(), short.as_deref())),
    };
    // The line of a split is below, with the hand-over.
    if came_from.is_none() {
        text.extend(session.as_ref().map(goes_on_from));
    }
    text.extend(researchers.iter().map(|of_it| researcher(of_it, now)));
    for split in came_from.iter().chain(split_into) {
        let (parent, child) = (inline(&split.parent, LIST_CHARS), inline(&split.child, LIST_CHARS));
        let _ = writeln!(text, "  split: `{parent}` -> `{child}`: {}", inline(&split.reason, LIST_CHARS));
    }
    text.extend(held.iter().map(|task| task_line(task, now)));
    if !files.is_empty() {
        let _ = writeln!(text, "Files touched: {}", inline(&files.join(", "), 2_000));
    }
    for segment in session.iter().flat_map(|session| &session.summary) {
        let _ = writeln!(text, "> {} …", inline(segment, LIST_CHARS));
    }
    for turn in dialogue {
        let _ = writeln!(text, "> {} ({} ago): {}", turn.role, age(turn.at, now), inline(&turn.text, 2_000));
    }
    text
}

/// A researcher: its task, its state, and its findings.
fn researcher(of: &ResearcherView, now: Timestamp) -> String {
    let status = of.status.map_or_else(|| "its run was erased".to_owned(), |status| status.to_string());
    let (session, parent) = (inline(&of.session, LIST_CHARS), inline(&of.parent, LIST_CHARS));
    let (agent, profile) = (name(&of.agent), &of.profile);
    let mut text = format!(
        "\n## Researcher `{session}`\n\n> {}\n\n- {agent} by profile {profile}, sent out by {} from `{parent}` {} ago\n\
         - run `{}` {status}; task `{}`\n",
        inline(&of.prompt, 2_000),
        name(&of.spawned_by),
        age(of.spawned_at, now),
        of.run_id,
        of.task_id
    );
    if let Some(note) = &of.note {
        let _ = writeln!(text, "- {}", inline(note, 500));
    }
    let more = if of.has_more { "more than " } else { "" };
    let _ = writeln!(text, "- findings: {more}{}", of.findings.len());
    for finding in &of.findings {
        let says = inline(&finding.statement, LIST_CHARS);
        let _ =
            writeln!(text, "  - `{}` {} {}: {says}", finding.claim_id, finding.status, finding.claim_type);
    }
    text
}
