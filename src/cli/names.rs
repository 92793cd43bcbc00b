//! Arguments that name a claim, a task, a run or an event: a short name, a whole id, the end of an id, or an address.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use uuid::Uuid;

use super::Context;
use super::output::Failure;
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::{ClaimId, EventId, PhaseId, PlanId, RunId, TaskId};
use crate::domain::names::{Reference, Sort, quoted_ids};
use crate::domain::place::Place;
use crate::reads::Reads;
use crate::steps;
use crate::views;
use crate::workspace::Workspace;

/// The workspace in which printed ids are looked up, and its handles after the first look-up.
static PRINTED_FROM: Mutex<Option<(Workspace, Option<Reads>)>> = Mutex::new(None);

/// Whether the shell is below the root of that workspace.
static IS_BELOW_ROOT: AtomicBool = AtomicBool::new(false);

/// Sets the workspace whose short names replace the ids in all output from here on, and the directory of the shell.
pub(super) fn print_from(workspace: &Workspace, here: &Path) {
    let is_below_root = here != workspace.root() && here.starts_with(workspace.root());
    IS_BELOW_ROOT.store(is_below_root, Ordering::Relaxed);
    *PRINTED_FROM.lock().unwrap_or_else(PoisonError::into_inner) = Some((workspace.clone(), None));
}

/// The text with the steps as lines of this shell.
pub(super) fn in_shell(text: &str) -> Cow<'_, str> {
    steps::in_shell_of(text, IS_BELOW_ROOT.load(Ordering::Relaxed))
}

/// [`in_shell`] for programs.
pub(super) fn in_shell_json(value: &Value) -> Value {
    steps::in_shell_json(value, IS_BELOW_ROOT.load(Ordering::Relaxed))
}

/// Replaces the ids in a text by short names, for output.
pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    if quoted_ids(text).next().is_none() {
        return Cow::Borrowed(text);
    }
    match &mut *PRINTED_FROM.lock().unwrap_or_else(PoisonError::into_inner) {
        Some((workspace, reads)) => {
            views::shortened(reads.get_or_insert_with(|| Reads::of(workspace.clone())), text)
        }
        None => Cow::Borrowed(text),
    }
}

/// What a person typed to name something: a short name, an id, the end of one, or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Called(String);

impl From<String> for Called {
    fn from(typed: String) -> Self {
        Self(typed)
    }
}

impl Deref for Called {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Context {
    /// Resolves a short name, an id or the end of an id to the id.
    pub(super) fn named(&self, sort: Sort, text: &str) -> Result<Uuid, Failure> {
        // A whole id needs no read models: its entity may still be queued.
        if let Reference::Id(id) = Reference::read(sort, text) {
            return Ok(id);
        }
        Ok(views::resolve(&mut self.models()?, sort, text)?)
    }

    /// Like [`Context::named`], for a claim.
    pub(super) fn claim_named(&self, text: &str) -> Result<ClaimId, Failure> {
        Ok(ClaimId::from_uuid(self.named(Sort::Claim, text)?))
    }

    /// Like [`Context::named`], for an optional claim.
    pub(super) fn any_claim_named(&self, text: Option<&str>) -> Result<Option<ClaimId>, Failure> {
        text.map(|text| self.claim_named(text)).transpose()
    }

    /// Like [`Context::named`], for a run.
    pub(super) fn run_named(&self, text: &str) -> Result<RunId, Failure> {
        Ok(RunId::from_uuid(self.named(Sort::Run, text)?))
    }

    /// Like [`Context::named`], for an event.
    pub(super) fn event_named(&self, text: &str) -> Result<EventId, Failure> {
        // A whole id needs no read models.
        match text.parse() {
            Ok(id) => Ok(id),
            Err(_) => Ok(views::event(&mut self.models()?, text)?),
        }
    }

    /// Resolves the name of a piece of evidence.
    pub(super) fn evidence_named(&self, argument: &str, text: &str) -> Result<EvidenceName, Failure> {
        match text.parse() {
            Ok(name @ (EvidenceName::Last | EvidenceName::LastWith(_) | EvidenceName::Id(_))) => Ok(name),
            // A path in a shell is relative to its directory.
            Ok(EvidenceName::At(place)) => {
                let path = self.scope(argument, &place.path)?.to_string();
                Ok(EvidenceName::At(Place { path, ..place }))
            }
            Ok(EvidenceName::End(_)) | Err(_) => Ok(views::evidence(&mut self.models()?, argument, text)?),
        }
    }

    /// Like [`Context::evidence_named`], for an optional argument.
    pub(super) fn any_evidence_named(
        &self,
        argument: &str,
        text: Option<&str>,
    ) -> Result<Option<EvidenceName>, Failure> {
        text.map(|text| self.evidence_named(argument, text)).transpose()
    }

    /// Like [`Context::named`], for an optional session.
    pub(super) fn session_named(&self, text: Option<&str>) -> Result<Option<String>, Failure> {
        text.map(|text| Ok(views::session(&mut self.models()?, text)?)).transpose()
    }

    /// Like [`Context::named`], for an optional task.
    pub(super) fn task_named(&self, text: Option<&str>) -> Result<Option<TaskId>, Failure> {
        text.map(|text| Ok(TaskId::from_uuid(self.named(Sort::Task, text)?))).transpose()
    }

    /// Like [`Context::named`], for several tasks.
    pub(super) fn tasks_named(&self, texts: &[String]) -> Result<Vec<TaskId>, Failure> {
        texts.iter().map(|text| Ok(TaskId::from_uuid(self.named(Sort::Task, text)?))).collect()
    }

    /// Like [`Context::named`], for an optional plan.
    pub(super) fn plan_named(&self, text: Option<&str>) -> Result<Option<PlanId>, Failure> {
        text.map(|text| Ok(PlanId::from_uuid(self.named(Sort::Plan, text)?))).transpose()
    }

    /// Like [`Context::named`], for an optional phase.
    pub(super) fn phase_named(&self, text: Option<&str>) -> Result<Option<PhaseId>, Failure> {
        text.map(|text| Ok(PhaseId::from_uuid(self.named(Sort::Phase, text)?))).transpose()
    }
}
