//! The phases of spaces, and what changed from one to another.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::asking::{Asked, Asking};
use super::markdown::{inline, listed};
use super::{Answer, ViewError, memory};
use crate::domain::memory::{MemoryItem, Owner, Space};
use crate::domain::phase::{Change, Diff, Lived, PhaseNumber};
use crate::store::MemoryPhaseView;

/// Maximum length of a text in a diff, in characters.
const TEXT_CHARS: usize = 160;

/// The phases of the spaces that an answer meets.
#[derive(Default)]
pub(super) struct Phases(BTreeMap<(Space, Owner), Vec<MemoryPhaseView>>);

impl Phases {
    /// The phases of a space after its first one.
    pub(super) fn of(
        &mut self,
        asked: &Asked<'_>,
        space: Space,
        owner: &Owner,
    ) -> Result<&[MemoryPhaseView], ViewError> {
        let key = (space, owner.clone());
        if !self.0.contains_key(&key) {
            let found = asked.store.phases(space, owner)?;
            self.0.insert(key.clone(), found);
        }
        Ok(self.0.get(&key).map(Vec::as_slice).unwrap_or_default())
    }

    /// Names the phase of an item, in a space that had more than its first one.
    pub(super) fn name(&mut self, asked: &Asked<'_>, item: &mut MemoryItem) -> Result<(), ViewError> {
        let phases = self.of(asked, item.id.space, &item.id.owner)?;
        let phase = phases.iter().rev().find(|phase| phase.seq < item.created_at);
        let number = phase.map_or(PhaseNumber::FIRST, |phase| phase.phase_id);
        item.meta.phase_id = (!phases.is_empty()).then(|| number.to_string());
        if let Some(phase) = phase {
            item.meta.phase_name.clone_from(&phase.name);
            item.meta.phase_started_at = Some(phase.seq);
            item.meta.phase_reason = Some(phase.reason.to_string());
        }
        Ok(())
    }
}

/// Which phases of a space to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseDiff {
    /// The space.
    pub space: Space,
    /// Its owner. None: the project, or the reader's own space.
    pub owner: Option<Owner>,
    /// The phase to begin at. None: the one before `to`.
    pub from: Option<PhaseNumber>,
    /// The phase to end at. None: the current one.
    pub to: Option<PhaseNumber>,
}

/// What changed in a space from the end of one phase to the end of another.
pub(super) fn diff(asking: &mut Asking<'_>, asked: &PhaseDiff) -> Result<Answer, ViewError> {
    let space = asked.space;
    let project = asking.reads.workspace().project();
    let own = match space {
        Space::Project => Some(project.clone()),
        Space::User => asking.reads.user().map(|user| Owner::called(user.as_str())),
        Space::System => Some(Owner::system()),
        Space::Session => None,
    };
    let owner = asked.owner.clone().or(own).ok_or_else(|| ViewError::no_named_owner(space))?;
    let (items, seq) = memory::lived(asking, space, &owner)?;
    let (phases, _) = asking.found(|found| Ok(found.store.phases(space, &owner)?))?;
    let current = phases.last().map_or(PhaseNumber::FIRST, |phase| phase.phase_id);
    let to = asked.to.unwrap_or(current);
    let from = asked.from.unwrap_or_else(|| PhaseNumber::nth(to.number().saturating_sub(1)));
    for phase in [from, to] {
        if phase > current {
            return Err(ViewError::no_phase(space, phase, current));
        }
    }
    let (lived, texts): (Vec<Lived>, Vec<String>) = items.into_iter().unzip();
    let end =
        |of: PhaseNumber| phases.iter().find(|phase| phase.phase_id > of).map_or(u64::MAX, |phase| phase.seq);
    let diff = Diff::between(&lived, end(from), end(to));
    let text_of = |item: &Lived| {
        let at = lived.iter().position(|other| other.id == item.id);
        at.map_or("", |at| texts[at].as_str())
    };
    let started = phases.iter().find(|phase| phase.phase_id == to);
    let json = || {
        json!({
            "type": "memory_phase_diff",
            "ai_profile": started.map_or("system", |phase| phase.agent.as_str()),
            "session": started.and_then(|phase| phase.session.clone()),
            "space": space,
            "owner": owner,
            "from_phase_id": from,
            "to_phase_id": to,
            "added_count": diff.added.len(),
            "deleted_count": diff.deleted.len(),
            "replaced_count": diff.replaced.len(),
            "top_changes": diff.top().iter().map(|change| changed(change, &text_of)).collect::<Vec<_>>(),
        })
    };
    let text = || {
        let label = started.and_then(|phase| phase.name.as_deref());
        let label = label.map(|name| format!(" ({})", inline(name, TEXT_CHARS))).unwrap_or_default();
        let mut text = format!(
            "{space} {}, from {from} to {to}{label}: {} replaced, {} deleted, {} added\n",
            inline(owner.as_str(), TEXT_CHARS),
            diff.replaced.len(),
            diff.deleted.len(),
            diff.added.len()
        );
        text.extend(diff.top().iter().map(|change| line(change, &text_of)));
        text
    };
    Ok(Answer::of(asking.format, seq, json, text))
}

fn changed<'t>(change: &Change<'_>, text_of: &dyn Fn(&Lived) -> &'t str) -> Value {
    match change {
        Change::Replaced(old, new) => json!({
            "change": "replaced",
            "memory_id": new.id,
            "text": text_of(new),
            "replaced_id": old.id,
            "replaced_text": text_of(old),
        }),
        Change::Deleted(item) => json!({ "change": "deleted", "memory_id": item.id, "text": text_of(item) }),
        Change::Added(item) => json!({ "change": "added", "memory_id": item.id, "text": text_of(item) }),
    }
}

fn line<'t>(change: &Change<'_>, text_of: &dyn Fn(&Lived) -> &'t str) -> String {
    let named = |item: &Lived| {
        format!("`{}` {}", inline(&item.id.to_string(), usize::MAX), listed(text_of(item), TEXT_CHARS))
    };
    match change {
        Change::Replaced(old, new) => format!("- replaced {} (was {})\n", named(new), named(old)),
        Change::Deleted(item) => format!("- deleted {}\n", named(item)),
        Change::Added(item) => format!("- added {}\n", named(item)),
    }
}
