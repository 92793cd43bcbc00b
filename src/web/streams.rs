//! The open event streams of each browser session: few enough that the browser keeps connections for its pages.

use std::sync::{Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// Event streams of a session at a time. A browser opens six connections to a host, and a page that it keeps for its back
/// button may keep its stream: six such pages would leave no connection for the next one.
const OF_A_SESSION: usize = 3;

/// The open streams, oldest first: the session of each, and what stops it.
#[derive(Default)]
pub(super) struct Streams(Mutex<Vec<(String, CancellationToken)>>);

impl Streams {
    /// Counts a new stream of a session, and stops the oldest ones beyond the limit. Returns what stops the new one: it
    /// fires with `access`, and when the session opened enough newer streams. The stream cancels it at its end.
    pub(super) fn opened(&self, session: String, access: &CancellationToken) -> CancellationToken {
        let stop = access.child_token();
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, stop)| !stop.is_cancelled());
        open.push((session.clone(), stop.clone()));
        let own = || open.iter().filter(|(of, _)| *of == session);
        let beyond = own().count().saturating_sub(OF_A_SESSION);
        for (_, oldest) in own().take(beyond) {
            oldest.cancel();
        }
        stop
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::{OF_A_SESSION, Streams};

    #[test]
    fn the_oldest_stream_of_a_session_gives_way_and_one_that_ended_does_not_count() {
        let (streams, access) = (Streams::default(), CancellationToken::new());
        let open = |session: &str| streams.opened(session.to_owned(), &access);
        let other = open("other");
        let own: Vec<CancellationToken> = (0..OF_A_SESSION).map(|_| open("own")).collect();
        // The page of one was left.
        own[1].cancel();
        let newer = open("own");
        assert!([&own[0], &own[2], &newer, &other].iter().all(|stop| !stop.is_cancelled()));
        let newest = open("own");
        assert!(own[0].is_cancelled());
        assert!([&own[2], &newer, &newest, &other].iter().all(|stop| !stop.is_cancelled()));
        access.cancel();
        assert!([&newest, &other].iter().all(|stop| stop.is_cancelled()));
    }
}
