//! Arguments that name a claim, a task, a run or an event: a short name, a whole id, the end of one, or its address.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use super::Context;
use super::output::Failure;
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::{ClaimId, EventId, PhaseId, PlanId, RunId, TaskId};
use crate::domain::names::{Reference, Sort, quoted_ids};
use crate::reads::Reads;
use crate::views;
use crate::workspace::Workspace;

/// Where names are looked up for what is printed: the workspace that the verb runs in, and its handles once one is needed.
static PRINTED_FROM: Mutex<Option<(Workspace, Option<Reads>)>> = Mutex::new(None);

/// Names in what is printed from here on are those of this workspace.
pub(super) fn print_from(workspace: &Workspace) {
    *PRINTED_FROM.lock().unwrap_or_else(PoisonError::into_inner) = Some((workspace.clone(), None));
}

/// A text as it is printed, with names in place of ids.
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

impl Context {
    /// The id of what a name, an id or the end of an id means.
    pub(super) fn named(&self, sort: Sort, text: &str) -> Result<Uuid, Failure> {
        // A whole id needs no read models: what it means may only be queued.
        if let Reference::Id(id) = Reference::read(sort, text) {
            return Ok(id);
        }
        Ok(views::resolve(&mut self.models()?, sort, text)?)
    }

    /// [`Context::named`] for a claim.
    pub(super) fn claim_named(&self, text: &str) -> Result<ClaimId, Failure> {
        Ok(ClaimId::from_uuid(self.named(Sort::Claim, text)?))
    }

    /// [`Context::named`] for a claim that may be left out.
    pub(super) fn any_claim_named(&self, text: Option<&str>) -> Result<Option<ClaimId>, Failure> {
        text.map(|text| self.claim_named(text)).transpose()
    }

    /// [`Context::named`] for a run.
    pub(super) fn run_named(&self, text: &str) -> Result<RunId, Failure> {
        Ok(RunId::from_uuid(self.named(Sort::Run, text)?))
    }

    /// An event that is named.
    pub(super) fn event_named(&self, text: &str) -> Result<EventId, Failure> {
        // As for `named`.
        match text.parse() {
            Ok(id) => Ok(id),
            Err(_) => Ok(views::event(&mut self.models()?, text)?),
        }
    }

    /// What is cited as evidence.
    pub(super) fn evidence_named(&self, argument: &str, text: &str) -> Result<EvidenceName, Failure> {
        match text.parse() {
            Ok(name @ (EvidenceName::Last | EvidenceName::Id(_))) => Ok(name),
            Ok(EvidenceName::End(_)) | Err(_) => Ok(views::evidence(&mut self.models()?, argument, text)?),
        }
    }

    /// [`Context::evidence_named`] for what may be left out.
    pub(super) fn any_evidence_named(
        &self,
        argument: &str,
        text: Option<&str>,
    ) -> Result<Option<EvidenceName>, Failure> {
        text.map(|text| self.evidence_named(argument, text)).transpose()
    }

    /// A session that is named, or left out.
    pub(super) fn session_named(&self, text: Option<&str>) -> Result<Option<String>, Failure> {
        text.map(|text| Ok(views::session(&mut self.models()?, text)?)).transpose()
    }

    /// [`Context::named`] for a task that may be left out.
    pub(super) fn task_named(&self, text: Option<&str>) -> Result<Option<TaskId>, Failure> {
        text.map(|text| Ok(TaskId::from_uuid(self.named(Sort::Task, text)?))).transpose()
    }

    /// [`Context::named`] for several tasks.
    pub(super) fn tasks_named(&self, texts: &[String]) -> Result<Vec<TaskId>, Failure> {
        texts.iter().map(|text| Ok(TaskId::from_uuid(self.named(Sort::Task, text)?))).collect()
    }

    /// [`Context::named`] for a plan that may be left out.
    pub(super) fn plan_named(&self, text: Option<&str>) -> Result<Option<PlanId>, Failure> {
        text.map(|text| Ok(PlanId::from_uuid(self.named(Sort::Plan, text)?))).transpose()
    }

    /// [`Context::named`] for a phase that may be left out.
    pub(super) fn phase_named(&self, text: Option<&str>) -> Result<Option<PhaseId>, Failure> {
        text.map(|text| Ok(PhaseId::from_uuid(self.named(Sort::Phase, text)?))).transpose()
    }
}
