//! `hm news`: what is new for this agent's session since it was last told, by a hook or by this verb.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::output::{self, Failure};
use super::{Context, block_on};
use crate::domain::agent::AgentId;
use crate::domain::ids::SessionId;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::time::{Hours, Timestamp};
use crate::pack::{self, About, Body, Concern, DeadEnd, Occasion, Told};
use crate::reads::Reads;
use crate::session_news::SessionNews;
use crate::store::SessionView;
use crate::system;
use crate::views::{self, ContextOf, Delta, Known, UNSEATED};

/// The longest wait, in seconds: clients end commands that take longer.
const MAX_WAIT_SECONDS: u64 = 10 * 60;
/// How often a wait looks where no writer announces anything.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How soon a wait looks again where a hook of the session is telling it something.
const AGAIN_SOON: Duration = Duration::from_millis(200);
/// Number of items that "nothing since" names.
const MAX_LAST: usize = 5;
/// Maximum length of a piece of news for a human, in characters.
const LINE_CHARS: usize = 400;
/// What is new to a reader that was told nothing yet.
const LOOK_BACK: Hours = Hours(1);

pub(super) const HELP: &str = "Each item is told once, here or by the hooks. Use --wait instead of polling a list: it \
    returns as soon\nas something touches or asks you, or a claim is new. A new status or a lease does not end it. \
    Without a\nsession: what is new since an hour, told to nobody,\nso that the next call says it again. A human at a terminal reads it as lines, an agent as XML.\n\n\
    Examples:\n  hm news\n  hm news --wait 5m";

/// How long to wait for news.
#[derive(Debug, Args)]
pub(super) struct News {
    /// Where nothing is new, wait for it: 30s, 5m, at most 10m
    #[arg(long, value_name = "LENGTH")]
    wait: Option<String>,
}

impl News {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let wait = self.wait.as_deref().map(seconds).transpose()?;
        let mut recipient = Recipient::of(context)?;
        let mut found = recipient.look()?;
        let wait_for = match (&found, wait) {
            (_, Some(seconds)) => Duration::from_secs(seconds),
            // A hook has told its session by then.
            (None, None) => system::patience() * 2,
            (Some(_), None) => Duration::ZERO,
        };
        if found.as_ref().is_none_or(|found| goes_on(found, wait.is_some())) && !wait_for.is_zero() {
            found = block_on(recipient.wait(wait_for, wait.is_some(), found))?;
        }
        let Some((news, delta)) = found else {
            return Err(Rejection::new(
                Code::Unavailable,
                "another process is telling this session its news",
                "run hm news again",
            )
            .into());
        };
        let mut text = match self.wait.as_deref() {
            // A model reads XML. For a human each piece of news is a line.
            _ if !delta.text.is_empty() && output::is_read_by_a_human() => lines(&delta, news.is_some()),
            _ if !delta.text.is_empty() => delta.text.clone(),
            Some(wait) => format!("nothing new in {}\n", wait.trim()),
            None => super::names::shortened(&nothing_since(&delta.told.last)).into_owned(),
        };
        // Without news a reader wonders whether the others still work.
        let mut json = recipient.json(&delta);
        if delta.text.is_empty() {
            let peers = views::peers(&mut recipient.reads, recipient.agent.as_str(), system::now())?;
            let alone = views::alone(&mut recipient.reads, recipient.agent.as_str(), system::now())?;
            text.extend(peers.iter().chain(&alone).map(|line| format!("{line}\n")));
            json["peers"] = json!(peers);
            json["alone"] = json!(alone);
        }
        output::print(context.global.json, &text, &json)?;
        if let Some(news) = news {
            // Without it the session hears some of it twice.
            let _ = news.tell(&delta.told);
            let _ = news.open(&delta.opened(), delta.told.seq);
        }
        Ok(())
    }
}

/// What a look found: where it is kept what the reader was told, and its news.
type Found = (Option<SessionNews>, Delta);

/// The answer without news. It names the items that the reader was told last, because "nothing new" right after a hook
/// told something reads like a contradiction.
fn nothing_since(last: &[About]) -> String {
    if last.is_empty() {
        return "nothing new\n".to_owned();
    }
    let names: Vec<String> = last.iter().take(MAX_LAST).map(About::called).collect();
    let more = if last.len() > MAX_LAST { ", …" } else { "" };
    format!("nothing since what you were told last ({}{more})\n", names.join(", "))
}

/// The news as lines for a human. `is_kept` says whether the reader is told each piece of news once.
fn lines(delta: &Delta, is_kept: bool) -> String {
    let mut news: Vec<&pack::News> = delta.shown.iter().collect();
    news.sort_by_key(|news| (news.waiting.concern, news.rank, news.waiting.since));
    let mut text = String::new();
    let mut above = None;
    for news in news {
        let concern = news.waiting.concern;
        if above.replace(concern) != Some(concern) {
            text.push_str(heading(concern));
        }
        let about = match &news.waiting.about {
            About::Intent => "the intent: ".to_owned(),
            // What they say begins with their names.
            About::Commit(_)
            | About::Anchor(_)
            | About::Locks(_)
            | About::Unlocked(_)
            | About::Peer(_)
            | About::Merged { .. } => String::new(),
            about @ (About::Claim(_)
            | About::Question(_)
            | About::Contradiction(_)
            | About::Run(_)
            | About::Task(_)
            | About::Edits { .. }) => format!("`{}` ", about.called()),
        };
        let is = if let Body::Claim(claim) | Body::DeadEnd(DeadEnd { claim, .. }) = &news.body {
            format!(" ({}, by {})", claim.status.as_str().replace('_', " "), claim.by)
        } else {
            String::new()
        };
        text.push_str(&format!("- {about}{}{is}\n", views::inline(&news.body.gist(), LINE_CHARS)));
    }
    let waiting = delta.told.waiting.len();
    if waiting > 0 {
        text.push_str(&format!("{waiting} more: `hm news` again\n"));
    }
    if !is_kept {
        text.push_str(
            "That is of the last hour. Without a session it counts as told to nobody; all: `hm log`\n",
        );
    }
    output::fitted(&text)
}

const fn heading(concern: Concern) -> &'static str {
    match concern {
        Concern::Touches => "Touches your work:\n",
        Concern::Asks => "Asks you:\n",
        Concern::Found => "For your intent:\n",
        Concern::Other => "New:\n",
    }
}

/// Whether a reader goes on waiting after a look: nothing is new, or only what ends no wait for news.
fn goes_on((_, delta): &Found, is_for_news: bool) -> bool {
    let ends = || delta.shown.iter().any(pack::News::ends_wait) || !delta.told.waiting.is_empty();
    delta.text.is_empty() || (is_for_news && !ends())
}

/// A reader that asks for its news.
struct Recipient<'c> {
    context: &'c Context,
    agent: AgentId,
    /// The client's session.
    session: Option<SessionId>,
    /// The session under which it is kept what the reader was told: of a pinned agent without a session, its name.
    kept_as: Option<SessionId>,
    reads: Reads,
    /// From where on a reader hears that was told nothing.
    since: u64,
}

impl<'c> Recipient<'c> {
    fn of(context: &'c Context) -> Result<Self, Failure> {
        let agent = match context.who() {
            Err(Failure::Rejected(refused)) if refused.code == Code::AgentRequired => {
                AgentId::recorded(UNSEATED)
            }
            who => who?.0,
        };
        let session = context.client_session();
        let is_agent = context.is_named() && agent != AgentId::operator();
        let named = || format!("agent-{agent}").parse().ok().filter(|_| is_agent);
        let kept_as = session.clone().or_else(named);
        let mut reads = context.models()?;
        let hour_ago = Timestamp::from_ms(system::now().ms() - LOOK_BACK.ms());
        let ledger = reads.readable_ledger();
        let since = ledger.map(|ledger| ledger.seq_at(hour_ago)).transpose();
        let since = since.map_err(Failure::internal)?.unwrap_or_default();
        Ok(Self { context, agent, session, kept_as, reads, since })
    }

    /// What is new now; none while a hook of the session tells it something.
    fn look(&mut self) -> Result<Option<Found>, Failure> {
        let context = self.context;
        let state_home = context.environment.state_home.as_deref();
        let kept_as = self.kept_as.as_ref().zip(state_home);
        let mut news = kept_as.map(|(session, home)| SessionNews::of(home, &context.workspace, session));
        if news.as_mut().is_some_and(|news| !news.take_turn()) {
            return Ok(None);
        }
        let session = self.session.as_ref().map(ToString::to_string);
        let known = session.as_deref().map(|id| self.reads.ask(system::now(), |store| store.session(id)));
        let known = known.transpose().map_err(views::ViewError::from)?.and_then(|(found, _)| found.flatten());
        let since = known.as_ref().map_or(self.since, |session| match session.told_seq {
            0 => session.started_seq,
            told => told,
        });
        let known = knows(&mut self.reads, news.as_ref(), known.as_ref(), since);
        let of = ContextOf { budget: 0, ..ContextOf::new(self.agent.clone(), session) };
        let delta = views::delta_with(Occasion::Asked, &mut self.reads, &of, &known, system::now())?;
        if delta.text.is_empty()
            && let Some(news) = news.as_ref().filter(|_| delta.told != known.told)
        {
            // What is none of the reader's business is not looked at again.
            let _ = news.tell(&delta.told);
        }
        Ok(Some((news, delta)))
    }

    /// Looks again whenever the ledger grows, until there is something or the time is over; where news is not waited for,
    /// until this process has the turn to tell.
    async fn wait(
        &mut self,
        length: Duration,
        is_for_news: bool,
        mut found: Option<Found>,
    ) -> Result<Option<Found>, Failure> {
        let deadline = system::instant() + length;
        let mut watch = self.context.front()?.watch();
        while found.as_ref().is_none_or(|found| is_for_news && goes_on(found, is_for_news)) {
            let left = deadline.saturating_duration_since(system::instant());
            if left.is_zero() {
                break;
            }
            // A turn that is taken is given back while nothing happens.
            let is_taken = found.take().is_none();
            if is_taken {
                tokio::time::sleep(left.min(AGAIN_SOON)).await;
            } else {
                let _ = tokio::time::timeout(left.min(LOOK_EVERY), watch.changed()).await;
            }
            found = self.look()?;
        }
        Ok(found)
    }

    fn json(&self, delta: &Delta) -> serde_json::Value {
        let shown = delta.shown.iter().map(|news| {
            json!({
                "concern": news.waiting.concern,
                "about": news.waiting.about,
                "was": news.waiting.was,
                "text": news.body.gist(),
            })
        });
        let waiting = delta.told.waiting.iter().map(|waiting| &waiting.about);
        json!({
            "agent": self.agent,
            "session": self.session,
            "seq": delta.told.seq,
            "news": shown.collect::<Vec<_>>(),
            "waiting": waiting.collect::<Vec<_>>(),
        })
    }
}

/// What a session knows. `since` is from where on it hears where nothing is kept of that.
pub(super) fn knows(
    reads: &mut Reads,
    news: Option<&SessionNews>,
    session: Option<&SessionView>,
    since: u64,
) -> Known {
    let head = reads.readable_ledger().and_then(|ledger| ledger.head().ok());
    let head = head.map_or(0, |head| head.seq);
    let told = news.and_then(SessionNews::told);
    // A ledger that was put back from a backup goes on before what was told.
    let told = told.filter(|told| (1..=head).contains(&told.seq));
    Known {
        told: told.unwrap_or_else(|| Told::up_to(since)),
        opened: news.map(SessionNews::opened).unwrap_or_default(),
        started_at: session.map_or(0, |session| session.seq),
        is_kept: news.is_some(),
    }
}

/// The seconds of a length of time such as `30s` or `5m`; a bare number is of minutes.
fn seconds(text: &str) -> Result<u64, Rejection> {
    let seconds = super::length(text, &[('m', 60), ('s', 1)]);
    let seconds = seconds.filter(|seconds| (1..=MAX_WAIT_SECONDS).contains(seconds));
    seconds.ok_or_else(|| {
        let given: String = text.trim().chars().take(40).collect();
        Rejection::invalid("wait", format!("`{given}` is no length of time up to 10m: write 30s, 5m, or 10m"))
    })
}
