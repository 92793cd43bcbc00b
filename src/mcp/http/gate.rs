//! Admits browsers to the pages: a person signs in with a token, and the browser gets a session in its place.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::connections::{Places, Seat};
use super::door::{Door, Refusal};
use super::entrances::{Entrance, Share};
use super::hosts::Hosts;
use crate::mcp::heads::Heads;
use crate::system;
use crate::tokens::{self, Token};

/// Time after which a person signs in again: a working day, and no night.
const SIGNED_IN_FOR: Duration = Duration::from_secs(12 * 60 * 60);
/// Sessions of browsers at a time. A new one above the limit replaces the oldest.
const MAX_BROWSERS: usize = 256;
/// Of them, those of one token.
const MAX_OF_TOKEN: usize = 16;

/// The sessions of browsers, by the fingerprints of their secrets.
#[derive(Default)]
pub(super) struct Browsers(Mutex<HashMap<String, SignedIn>>);

struct SignedIn {
    token: Token,
    since: Instant,
    /// Ends the streams of the session.
    stop: CancellationToken,
}

impl Browsers {
    fn locked(&self) -> MutexGuard<'_, HashMap<String, SignedIn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, secret: &str, token: Token, stop: CancellationToken, since: Instant) {
        let mut browsers = self.locked();
        // One token ends its own sessions before those of others.
        let own = browsers.values().filter(|one| one.token == token).count();
        if browsers.len() >= MAX_BROWSERS || own >= MAX_OF_TOKEN {
            let candidates = browsers.iter().filter(|(_, one)| own < MAX_OF_TOKEN || one.token == token);
            let oldest = candidates.min_by_key(|(_, one)| one.since).map(|(id, _)| id.clone());
            if let Some(oldest) = oldest.and_then(|id| browsers.remove(&id)) {
                oldest.stop.cancel();
            }
        }
        browsers.insert(tokens::fingerprint(secret), SignedIn { token, since, stop });
    }

    fn find(&self, secret: &str) -> Option<(Token, CancellationToken)> {
        let browsers = self.locked();
        let found = browsers.get(&tokens::fingerprint(secret))?;
        Some((found.token.clone(), found.stop.clone()))
    }

    fn end(&self, secret: &str) {
        if let Some(ended) = self.locked().remove(&tokens::fingerprint(secret)) {
            ended.stop.cancel();
        }
    }

    /// Ends the sessions of removed or changed tokens, and those that are too old.
    pub(super) fn end_all_but(&self, tokens: &[Token], now: Instant) {
        self.locked().retain(|_, one| {
            let is_young = now.saturating_duration_since(one.since) < SIGNED_IN_FOR;
            let stays = is_young && tokens.contains(&one.token);
            if !stays {
                one.stop.cancel();
            }
            stays
        });
    }
}

/// The checks of an HTTP front for its pages.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(super) door: Arc<Door>,
    pub(super) places: Places,
    pub(super) port: u16,
}

/// A browser that signed in.
pub(crate) struct Browser {
    token: Token,
    entrance: Entrance,
    stop: CancellationToken,
}

impl Gate {
    /// The path of the pages.
    pub(crate) const PATH: &'static str = "/web";

    pub(crate) fn hosts(&self) -> &Hosts {
        &self.door.hosts
    }

    pub(crate) const fn places(&self) -> &Places {
        &self.places
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// The head of the ledger, which all streams of this front follow.
    pub(crate) fn heads(&self) -> &Heads {
        self.door.entrances.heads()
    }

    /// Seconds after which a session ends.
    pub(crate) const fn signed_in_for_secs(&self) -> u64 {
        SIGNED_IN_FOR.as_secs()
    }

    /// Counts a request, and returns the browser whose session has one of these secrets, with the secret. Its token is
    /// looked up again each time.
    ///
    /// # Errors
    /// [`Refusal`] at a rate limit, when the tokens cannot be read, and when the agent is not on the roster any more.
    pub(crate) fn browser<'s>(
        &self,
        seat: &Seat,
        mut secrets: impl Iterator<Item = &'s str>,
    ) -> Result<Option<(&'s str, Browser)>, Refusal> {
        let tokens = self.door.tokens.load()?;
        self.door.browsers.end_all_but(&tokens, system::instant());
        let found = secrets.find_map(|secret| Some((secret, self.door.browsers.find(secret)?)));
        self.door.count(seat, found.as_ref().map(|(_, (token, _))| token))?;
        let Some((secret, (token, stop))) = found else { return Ok(None) };
        let entrance = self.door.entrances.of(Some(&token))?;
        Ok(Some((secret, Browser { token, entrance, stop })))
    }

    /// Counts a request without a token, and opens a session for the token that it presents. Returns the secret of the
    /// session; `None` for an unknown token.
    ///
    /// # Errors
    /// Those of [`Gate::browser`].
    pub(crate) fn sign_in(&self, seat: &Seat, presented: &str) -> Result<Option<String>, Refusal> {
        self.door.count(seat, None)?;
        let tokens = self.door.tokens.load()?;
        let Some(token) = tokens::find(&tokens, presented) else { return Ok(None) };
        let stop = self.door.entrances.of(Some(token))?.until_it_ends();
        let secret = hex::encode(system::entropy());
        self.door.browsers.add(&secret, token.clone(), stop, system::instant());
        Ok(Some(secret))
    }

    /// Ends a session and its streams.
    pub(crate) fn sign_out(&self, secret: &str) {
        self.door.browsers.end(secret);
    }
}

impl Browser {
    pub(crate) const fn token(&self) -> &Token {
        &self.token
    }

    /// A permit of the token for one more request.
    ///
    /// # Errors
    /// [`Refusal::TooManyRequests`].
    pub(crate) fn request(&self) -> Result<Share, Refusal> {
        self.entrance.request()
    }

    /// A permit of the token for one more stream.
    ///
    /// # Errors
    /// [`Refusal::TooManyStreams`].
    pub(crate) fn stream(&self) -> Result<Share, Refusal> {
        self.entrance.stream()
    }

    /// Fires when the session ends.
    pub(crate) const fn stop(&self) -> &CancellationToken {
        &self.stop
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::{Browsers, MAX_BROWSERS, MAX_OF_TOKEN, SIGNED_IN_FOR};
    use crate::domain::agent::AgentId;
    use crate::domain::time::Timestamp;
    use crate::identity::Role;
    use crate::system;
    use crate::tokens::{Token, Tokens};
    use crate::workspace::Workspace;

    fn two_tokens() -> [Token; 2] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let workspace = Workspace::init(dir.path(), &system::Environment::read()).expect("a workspace");
        let tokens = Tokens::of(&workspace);
        ["devops", "analyst"].map(|agent| {
            let agent = AgentId::recorded(agent);
            let made = tokens.add(None, agent, Role::Viewer, Timestamp::from_ms(0), system::entropy());
            made.expect("a token").0
        })
    }

    #[test]
    fn a_session_ends_with_its_token_and_after_its_time() {
        let (browsers, now, [devops, analyst]) = (Browsers::default(), system::instant(), two_tokens());
        let stops = [CancellationToken::new(), CancellationToken::new()];
        browsers.add("a", devops.clone(), stops[0].clone(), now);
        browsers.add("b", analyst.clone(), stops[1].clone(), now);
        let both = [devops.clone(), analyst.clone()];
        browsers.end_all_but(&both, now + SIGNED_IN_FOR / 2);
        assert!(browsers.find("a").is_some_and(|(token, _)| token == devops));
        assert!(browsers.find("c").is_none());
        // A token of the same name that is another one.
        let mut changed = devops;
        changed.role = Role::Admin;
        browsers.end_all_but(&[changed, analyst.clone()], now);
        assert!(browsers.find("a").is_none() && stops[0].is_cancelled());
        assert!(browsers.find("b").is_some() && !stops[1].is_cancelled());
        browsers.end_all_but(&both, now + SIGNED_IN_FOR);
        assert!(browsers.find("b").is_none() && stops[1].is_cancelled());
    }

    #[test]
    fn a_token_with_too_many_sessions_ends_its_own_oldest() {
        let (browsers, now, [devops, analyst]) = (Browsers::default(), system::instant(), two_tokens());
        let add = |secret: &str, token: &Token, after_secs: usize| {
            let since = now + std::time::Duration::from_secs(after_secs as u64);
            browsers.add(secret, token.clone(), CancellationToken::new(), since);
        };
        add("other", &analyst, 0);
        for number in 0..=MAX_OF_TOKEN {
            add(&number.to_string(), &devops, number + 1);
        }
        assert!(browsers.find("0").is_none() && browsers.find("1").is_some());
        assert!(browsers.find("other").is_some(), "it was older, and of another token");
    }

    #[test]
    fn a_session_too_many_replaces_the_oldest() {
        let (browsers, now, [devops, _]) = (Browsers::default(), system::instant(), two_tokens());
        for number in 0..=MAX_BROWSERS {
            let since = now + std::time::Duration::from_secs(number as u64);
            let mut token = devops.clone();
            token.name = format!("token {number}");
            browsers.add(&number.to_string(), token, CancellationToken::new(), since);
        }
        assert!(browsers.find("0").is_none() && browsers.find("1").is_some());
    }
}
