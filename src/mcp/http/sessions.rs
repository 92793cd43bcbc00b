//! The session registry of an entrance: when each session was last used. The session that was silent longest is
//! closed first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rmcp::transport::common::server_side_http::SessionId;

use crate::system;

/// The sessions of one entrance, by their ids.
#[derive(Clone, Default)]
pub(super) struct Sessions(Arc<Mutex<HashMap<String, Used>>>);

struct Used {
    last: Instant,
    /// Requests and streams in progress.
    open: usize,
}

impl Sessions {
    fn locked(&self) -> MutexGuard<'_, HashMap<String, Used>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a new session.
    pub(super) fn add(&self, id: &str, now: Instant) {
        self.locked().insert(id.to_owned(), Used { last: now, open: 0 });
    }

    /// Marks a session as used until the guard is dropped; `None` for an unknown session.
    pub(super) fn used(&self, id: &str) -> Option<InUse> {
        self.locked().get_mut(id)?.open += 1;
        Some(InUse { sessions: self.clone(), id: id.into() })
    }

    /// Removes and returns the session that was silent longest. A session in use is taken only when all are in use.
    pub(super) fn take_silent_longest(&self) -> Option<String> {
        let mut sessions = self.locked();
        let (id, _) = sessions.iter().min_by_key(|(_, used)| (used.open > 0, used.last))?;
        let id = id.clone();
        sessions.remove(&id);
        Some(id)
    }

    /// Removes and returns the sessions without use since a moment.
    pub(super) fn take_silent_since(&self, moment: Instant) -> Vec<String> {
        let mut sessions = self.locked();
        let silent = sessions.extract_if(|_, used| used.open == 0 && used.last <= moment);
        silent.map(|(id, _)| id).collect()
    }

    /// Removes the sessions that have ended.
    pub(super) fn retain(&self, is_open: impl Fn(&str) -> bool) {
        self.locked().retain(|id, _| is_open(id));
    }
}

/// Guard of a session in use.
pub(super) struct InUse {
    sessions: Sessions,
    id: SessionId,
}

impl Drop for InUse {
    fn drop(&mut self) {
        if let Some(used) = self.sessions.locked().get_mut(&*self.id) {
            used.open -= 1;
            used.last = system::instant();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Sessions;
    use crate::system;

    #[test]
    fn the_silent_go_first_and_those_in_use_last() {
        let (sessions, now) = (Sessions::default(), system::instant());
        let hours = |hours: u64| now + Duration::from_secs(hours * 3_600);
        for (id, hour) in [("listens", 0), ("old", 1), ("new", 2)] {
            sessions.add(id, hours(hour));
        }
        let listens = sessions.used("listens");
        assert!(listens.is_some() && sessions.used("unknown").is_none());
        assert_eq!(sessions.take_silent_since(hours(1)), ["old"]);
        assert_eq!(sessions.take_silent_longest().as_deref(), Some("new"));
        assert_eq!(sessions.take_silent_longest().as_deref(), Some("listens"), "when all are in use");
        drop(listens);
        assert_eq!(sessions.take_silent_longest(), None);
        sessions.add("ended", now);
        sessions.retain(|id| id != "ended");
        assert_eq!(sessions.take_silent_longest(), None);
    }

    #[test]
    fn a_session_is_silent_from_the_end_of_its_last_use() {
        let (sessions, now) = (Sessions::default(), system::instant());
        sessions.add("a", now);
        drop(sessions.used("a"));
        assert!(sessions.take_silent_since(now).is_empty());
        assert_eq!(sessions.take_silent_since(system::instant()), ["a"]);
    }
}
