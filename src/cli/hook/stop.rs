//! The end of a turn: the reminder of tasks that the session still holds.

use super::waiting::Waiting;
use super::{Failure, Hooked};
use crate::domain::command::{Command, RecordFiring};
use crate::domain::event::Guard;
use crate::domain::plan::TaskStatus;
use crate::domain::session::Role;
use crate::hooks::Answer;
use crate::pack;
use crate::session_news::SessionNews;

/// The recorded match of a reminder at the end of a turn.
const END_OF_TURN: &str = "end of turn";

impl Hooked {
    /// A turn ends. A message now costs a request to the client's model, so a session is reminded of each task once.
    pub(super) fn stop(&mut self, said: Option<&str>) -> Result<Answer, Failure> {
        let (mut answer, mut commands) = (Answer::Silence, Vec::new());
        if self.call.is_heard()
            && let Ok((gate, firings)) = self.unfinished()
            && let Some(reminder) = pack::stop_gate(&gate)
        {
            (answer, commands) = (Answer::Context(reminder), firings);
        }
        commands.extend(said.and_then(|said| self.said(Role::Assistant, said, None)));
        self.news().iter().for_each(SessionNews::end_turn);
        self.submit(commands)?;
        Ok(answer)
    }

    /// The tasks that this session holds and was not reminded of, with the commands that record the reminder.
    fn unfinished(&mut self) -> Result<(pack::Gate, Vec<Command>), Failure> {
        let Some(session) = self.session.clone() else { return Ok(Default::default()) };
        let waiting = Waiting::of(&self.context, &session);
        let fresh = self.store(|store| {
            let mut fresh = Vec::new();
            for task in store.held_by(session.as_str())? {
                if !waiting.has_fired(Guard::Task(task.id))
                    && !store.has_fired(session.as_str(), &task.id.to_string(), 0)?
                {
                    fresh.push((task.id, task));
                }
            }
            Ok(fresh)
        })?;
        let (mut gate, mut firings) = (pack::Gate::default(), Vec::new());
        for (id, task) in fresh.unwrap_or_default() {
            let matched = END_OF_TURN.parse().expect("a short text without control characters");
            firings.push(Command::RecordFiring(RecordFiring::told(Guard::Task(id), matched)));
            let is_active = task.status == TaskStatus::Active;
            if is_active { &mut gate.active_tasks } else { &mut gate.leases }.push(task.name);
        }
        Ok((gate, firings))
    }
}
