//! Arguments that name a task, a plan or a phase: a short name, a whole id, or the end of one.

use uuid::Uuid;

use super::Context;
use super::output::Failure;
use crate::domain::ids::{PhaseId, PlanId, TaskId};
use crate::domain::names::{Reference, Sort};
use crate::views;

impl Context {
    /// The id of what a name, an id or the end of an id means.
    pub(super) fn named(&self, sort: Sort, text: &str) -> Result<Uuid, Failure> {
        // A whole id needs no read models: what it means may only be queued.
        if let Reference::Id(id) = Reference::read(sort, text) {
            return Ok(id);
        }
        Ok(views::resolve(&mut self.models()?, sort, text)?)
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
