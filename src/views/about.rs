//! What a session is about: a query, not a date. Its text and its places are what the memory is asked with.

use serde::Serialize;

use super::context::ContextOf;
use crate::domain::ids::TaskId;
use crate::domain::relevance::Binds;
use crate::domain::scope::{Mentioned, Scope};
use crate::domain::session::Role;
use crate::store::{TaskView, TrajectoryView, TurnView};

/// Places that are asked about: the tasks' scopes first, then the files locked and touched last.
const MAX_PLACES: usize = 12;

/// What a session is about.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct About {
    /// Its intent, else the team's; titles of the tasks it works on; its last prompt; titles of tasks it may take next.
    pub(super) texts: Vec<String>,
    /// Ids of the tasks it works on.
    #[serde(skip)]
    pub(super) tasks: Vec<TaskId>,
    /// Scopes that these tasks name.
    pub(super) task_scopes: Vec<Scope>,
    /// Files it locked, then those it touched, the last first.
    pub(super) files: Vec<Scope>,
    /// Places that its texts name.
    #[serde(skip)]
    pub(super) named: Vec<Scope>,
}

impl About {
    /// What a session is about. `tasks` are those it works on, `ready` those that can be taken; `root` is the root of
    /// the workspace.
    pub(super) fn of(
        of: &ContextOf,
        trajectory: Option<&TrajectoryView>,
        tasks: &[TaskView],
        ready: &[TaskView],
        touched: &[String],
        dialogue: &[TurnView],
        root: &str,
    ) -> Self {
        let mine = || tasks.iter().filter(|task| is_mine(task, of, trajectory));
        let next = ready.iter().filter(|task| is_mine(task, of, trajectory));
        let next = next.filter(|task| mine().all(|known| known.id != task.id));
        let prompt = dialogue.iter().rev().find(|turn| turn.role == Role::User);
        let (looking, prompt) = match &of.intent {
            Some(asked) => (Some(asked), None),
            None => (trajectory.map(|looking| &looking.intent), prompt.map(|turn| &turn.text)),
        };
        let texts = looking
            .into_iter()
            .chain(mine().map(|task| &task.title))
            .chain(prompt)
            .chain(next.map(|task| &task.title));
        let files = mine().flat_map(|task| &task.file_locks).chain(touched);
        let texts: Vec<String> = texts.cloned().collect();
        let mentioned = Mentioned::in_texts(texts.iter().map(String::as_str), root);
        Self {
            named: mentioned.into_places().into_iter().take(MAX_PLACES).collect(),
            texts,
            tasks: mine().map(|task| task.id).collect(),
            task_scopes: places_among(mine().flat_map(|task| &task.scopes)),
            files: places_among(files),
        }
    }

    /// The text to search for.
    pub(super) fn text(&self) -> String {
        self.texts.join("\n")
    }

    /// Where the work is.
    pub(super) fn places(&self) -> Vec<Scope> {
        let mut places: Vec<Scope> = Vec::new();
        for place in self.task_scopes.iter().chain(&self.files) {
            if !places.contains(place) && places.len() < MAX_PLACES {
                places.push(place.clone());
            }
        }
        places
    }

    /// Where decisions bind it: where the work is, and at the paths that its texts name.
    pub(super) fn decided_at(&self) -> Vec<Scope> {
        let mut places = self.places();
        places.extend(self.named.iter().filter(|place| !self.task_scopes.contains(place)).cloned());
        places
    }

    /// What of the work a decision about these scopes binds. What is decided about one of many files below a directory does
    /// not bind all work there.
    pub(super) fn bound_by(&self, scopes: &[Scope]) -> Binds {
        let binds = |scope: &Scope, place: &Scope| {
            let is_file = place.is_path()
                && place.as_str().rsplit('/').next().is_some_and(|name| name.trim_matches('.').contains('.'));
            let is_glob = scope.as_str().contains('*') && scope.is_at(std::slice::from_ref(place));
            if is_file && (scope == place || is_glob) {
                Binds::File
            } else if is_glob || place.and_ancestors().any(|above| above == scope.as_str()) {
                Binds::Directory
            } else {
                Binds::Nothing
            }
        };
        let places = self.decided_at();
        let all = scopes.iter().flat_map(|scope| places.iter().map(move |place| binds(scope, place)));
        all.max().unwrap_or_default()
    }

    /// Whether there is anything to ask about.
    pub(super) fn is_asked(&self) -> bool {
        !self.texts.is_empty() || !self.tasks.is_empty() || !self.files.is_empty()
    }
}

/// Scopes that say where something is: the whole workspace says nothing.
fn places_among<'s>(texts: impl Iterator<Item = &'s String>) -> Vec<Scope> {
    let mut places: Vec<Scope> = Vec::new();
    for scope in texts.filter_map(|text| text.parse::<Scope>().ok()) {
        if !scope.is_whole() && !places.contains(&scope) {
            places.push(scope);
        }
    }
    places
}

/// Whether a task is one the session works on: it holds it, it was asked for, or it is where the session looks.
pub(super) fn is_mine(task: &TaskView, of: &ContextOf, trajectory: Option<&TrajectoryView>) -> bool {
    let looked_at = trajectory.is_some_and(|looking| {
        looking.task_ids.contains(&task.id)
            || (looking.phase_id.is_some() && looking.phase_id == task.phase_id && task.holder.is_none())
    });
    let held = match (&task.session, &of.session) {
        (Some(holder), Some(session)) => holder == session,
        (Some(_), None) => task.holder.as_deref() == Some(of.agent.as_str()),
        (None, _) => false,
    };
    held || looked_at
}
