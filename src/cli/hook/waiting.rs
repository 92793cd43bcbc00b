//! The queued commands of a session, which the read models do not have yet.

use crate::cli::Context;
use crate::domain::command::{Command, RecordTurn};
use crate::domain::event::Guard;
use crate::domain::ids::{ClaimId, SessionId};
use crate::domain::session::Role;
use crate::domain::text::CommandLine;
use crate::spool::Spool;

/// The queued commands of a session.
pub(super) struct Waiting {
    /// Whether its start is queued.
    pub(super) is_started: bool,
    /// Whether a prompt is queued. Then all committed warnings belong to an earlier turn.
    pub(super) is_new_turn: bool,
    /// The matches of warnings since the last prompt.
    pub(super) fired: Vec<Guard>,
    /// The claims of warnings, with their matches.
    pub(super) told: Vec<(ClaimId, CommandLine)>,
    /// Firings that get an outcome, since the last prompt.
    spoken: usize,
    /// The errors of which the session was told what is known.
    errors: Vec<CommandLine>,
    /// Whether the spool cannot be read.
    pub(super) is_unknown: bool,
}

impl Waiting {
    pub(super) fn of(context: &Context, session: &SessionId) -> Self {
        let mut waiting = Self {
            is_started: false,
            is_new_turn: false,
            fired: Vec::new(),
            told: Vec::new(),
            spoken: 0,
            errors: Vec::new(),
            is_unknown: false,
        };
        let Some(submissions) = Spool::of(&context.workspace).submissions() else {
            return Self { is_unknown: true, ..waiting };
        };
        for submission in submissions.iter().filter(|queued| queued.session.as_ref() == Some(session)) {
            if let Command::RecordTurn(RecordTurn { role: Role::User, .. }) = submission.command {
                waiting.is_new_turn = true;
                waiting.fired.clear();
                waiting.spoken = 0;
            } else if let Command::StartSession(_) = submission.command {
                waiting.is_started = true;
            } else if let Command::RecordFiring(firing) = &submission.command {
                waiting.fired.push(firing.guard);
                waiting.spoken += usize::from(firing.did.is_some());
                if let Guard::Fix(_) = firing.guard {
                    waiting.errors.push(firing.matched.clone());
                }
                if let Guard::Claim(id) = firing.guard {
                    waiting.told.push((id, firing.matched.clone()));
                }
            }
        }
        waiting
    }

    pub(super) fn has_fired(&self, guard: Guard) -> bool {
        self.is_unknown || self.fired.contains(&guard)
    }

    /// The number of guards and dead ends that spoke at an action since the last prompt.
    pub(super) fn guards_spoken(&self) -> usize {
        self.spoken
    }

    pub(super) fn has_told_of_error(&self, error: &CommandLine) -> bool {
        self.is_unknown || self.errors.contains(error)
    }

    pub(super) fn has_told_of_edit(&self, claim: ClaimId, path: &CommandLine) -> bool {
        self.is_unknown || self.told.iter().any(|(told, matched)| *told == claim && matched == path)
    }
}
