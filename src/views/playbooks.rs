//! Playbooks: the list, one of them, and the form in which clients read it as a skill.

use std::fmt::Write;

use serde_json::json;

use super::asking::Asking;
use super::markdown::{counted, inline};
use super::{Answer, ViewError, to_json};
use crate::domain::clean::cleaned;
use crate::domain::event::Event;
use crate::domain::ids::PlaybookId;
use crate::domain::names::Sort;
use crate::domain::playbook::{self, Step};
use crate::domain::time::Timestamp;
use crate::reads::Reads;
use crate::store::PlaybookView;

/// Maximum length of a playbook's name in words, in characters.
const TITLE_CHARS: usize = 60;

/// A playbook as a client reads it from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name: lower case letters, digits and hyphens.
    pub name: String,
    /// The description.
    pub description: String,
    /// Id of the playbook, by which a file is recognised as ours.
    pub id: String,
    /// Ledger positions of the evidence.
    pub evidence: String,
    /// The whole file.
    pub text: String,
    /// Whether the playbook is accepted and shown. A file of another one is out of date.
    pub is_in_use: bool,
}

/// All playbooks, the oldest first.
pub(super) fn answer(asking: &mut Asking<'_>) -> Result<Answer, ViewError> {
    asking.of_store(|asked| {
        let all = asked.store.playbooks(asked.now)?;
        Ok(asked.answer(|| json!({ "playbooks": to_json(&all) }), || list(&all)))
    })
}

/// One playbook.
pub(super) fn one(asking: &mut Asking<'_>, id: PlaybookId) -> Result<Answer, ViewError> {
    let unknown = || Sort::Playbook.unknown(format!("no playbook has the id {id}"), &[]);
    asking.of_store(|asked| {
        let one = asked.store.playbook(id, asked.now)?;
        let one = one.ok_or_else(|| ViewError::NotFound(Box::new(unknown())))?;
        Ok(asked.answer(|| to_json(&one), || whole(&one)))
    })
}

/// Whether an event changes a playbook.
pub(super) fn touched_by(event: &Event) -> bool {
    matches!(
        event,
        Event::PlaybookProposed(_)
            | Event::PlaybookAccepted(_)
            | Event::PlaybookDismissed(_)
            | Event::PlaybookFollowed(_)
    )
}

/// The playbooks in use as skills, the oldest first.
///
/// # Errors
/// [`ViewError`].
pub fn skills(reads: &mut Reads, now: Timestamp) -> Result<Vec<Skill>, ViewError> {
    let now = reads.clock(now);
    let (all, _) = reads.ask(now, |store| store.playbooks(now))?;
    Ok(all.unwrap_or_default().iter().map(skill).collect())
}

fn skill(one: &PlaybookView) -> Skill {
    let name = format!("hm-{}-{}", one.name.to_lowercase(), one.title);
    let name = name.trim_end_matches('-').to_owned();
    let ended_well = format!("Steps that ended well in {} of {}", one.tasks.len(), counted(one.of, "task"));
    let changed = one.steps.iter().filter_map(|step| match step {
        Step::Edit(glob) => Some(glob.as_str()),
        Step::Run(_) => None,
    });
    // Clients choose a skill by its description.
    let description = match changed.collect::<Vec<_>>().as_slice() {
        [] => format!("{ended_well}: {}", one.title),
        globs => format!("For changes of {}. {ended_well}: {}", cleaned(&globs.join(" and ")), one.title),
    };
    let evidence: Vec<String> = one.evidence.iter().map(|seq| format!("#{seq}")).collect();
    let evidence = evidence.join(" ");
    // The front matter has our own words, names, globs and numbers only. A string of JSON is one of YAML.
    let text = format!(
        "---\nname: {name}\ndescription: {}\nmetadata:\n  hivemind-playbook: \"{}\"\n  evidence: \"{}\"\n---\n\n{}",
        json!(description),
        one.id,
        evidence,
        playbook::text(&one.steps)
    );
    Skill { name, description, id: one.id.to_string(), evidence, text, is_in_use: one.is_in_use() }
}

fn list(all: &[PlaybookView]) -> String {
    if all.is_empty() {
        return "No playbooks yet: three tasks that end well with the same steps give the first.\n"
            .to_owned();
    }
    all.iter().map(|one| format!("- {}\n", line(one))).collect()
}

fn line(one: &PlaybookView) -> String {
    let PlaybookView { name, title, status, steps, tasks, of, sessions, days, helpful, harmful, .. } = one;
    let later = match (helpful, harmful) {
        (0, 0) => String::new(),
        _ => format!("; later tasks with it: {helpful} done, {harmful} given up"),
    };
    let hidden = one.hidden.map_or_else(String::new, |why| format!("; hidden: {why}"));
    format!(
        "{name} ({status}) {}: {}, done in {} of {} in {} on {}{later}{hidden}",
        inline(title, TITLE_CHARS),
        counted(steps.len() as u64, "step"),
        tasks.len(),
        counted(*of, "task"),
        counted(*sessions, "session"),
        counted(*days, "day"),
    )
}

fn whole(one: &PlaybookView) -> String {
    let mut text = format!("{}\n\n{}", line(one), playbook::text(&one.steps));
    let evidence: Vec<String> = one.evidence.iter().map(|seq| format!("#{seq}")).collect();
    let tasks: Vec<String> = one.tasks.iter().map(ToString::to_string).collect();
    let _ = writeln!(text, "\nTasks: {}\nEvidence: {}", tasks.join(", "), evidence.join(" "));
    if let (Some(by), Some(reason)) = (&one.settled_by, &one.reason) {
        let _ = writeln!(text, "Dismissed by {}: {}", inline(by, TITLE_CHARS), inline(reason, 2_000));
    }
    text
}
