//! What a verb does in its workspace: it submits a command or answers a question.

use std::sync::Once;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Context, Failure, block_on, names, note_damage, output, parse_moment};
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::command::{Command, Submission};
use crate::domain::ids::{CommandId, IdempotencyKey, SessionId};
use crate::domain::privacy::{Known, Secrets};
use crate::domain::receipt::Receipt;
use crate::domain::text::UserName;
use crate::domain::versions::Versions;
use crate::identity::Speaker;
use crate::reads::Reads;
use crate::session_news::SessionNews;
use crate::store::{ClaimFilter, StoreError};
use crate::system;
use crate::views::{self, Answer, Body, Format, RowReader, View, ViewError};
use crate::writer::Front;

/// How long a verb waits for the writer to rebuild the read models. A large ledger needs longer.
const MADE_WITHIN: Duration = Duration::from_secs(2);
/// Time between two checks of the rebuilt read models.
const MADE_POLL: Duration = Duration::from_millis(10);

/// Whether a command has the whole text of a new claim. An amendment has the changed words.
fn says_all(command: &Command) -> bool {
    if let Command::RecordDecision(record) = command {
        return record.statement.is_some() && record.supersedes.is_empty();
    }
    matches!(command, Command::CreateClaim(_))
}

impl Context {
    /// Wraps a command with its speaker, session and task.
    pub(super) fn submission(
        &self,
        command: Command,
        key: Option<IdempotencyKey>,
    ) -> Result<Submission, Failure> {
        let (agent, session) = self.speaker(command.name())?;
        Ok(self.submission_of(agent, Some(session), command, key))
    }

    pub(super) fn submission_of(
        &self,
        agent: AgentId,
        session: Option<SessionId>,
        command: Command,
        idempotency_key: Option<IdempotencyKey>,
    ) -> Submission {
        let command_id = CommandId::from_uuid(system::new_id());
        // `Front::submit` fills in both.
        let (checkout, versions) = (Checkout::default(), Versions::new());
        let Speaker { agent, unpinned } = self.speaks(agent);
        Submission {
            command_id,
            agent,
            unpinned,
            session,
            trace_id: None,
            idempotency_key,
            checkout,
            versions,
            command,
        }
    }

    /// Submits a command and returns its receipt.
    pub(super) fn submitted(
        &self,
        command: Command,
        key: Option<IdempotencyKey>,
    ) -> Result<Receipt, Failure> {
        if self.global.at.is_some() {
            return Err(Failure::usage("the past is not written: leave out --at"));
        }
        let (name, is_own_text) = (command.name(), says_all(&command));
        let submission = self.submission(command, key)?;
        let agent = submission.agent.clone();
        let mut receipt = self.sent(&self.front()?, submission)?;
        receipt.warnings.extend(self.told.take());
        views::mark_at_now(&mut self.present(), &mut receipt, Some(&agent), system::now());
        if let Some(seq) = receipt.seq
            && let Some(news) = self.session_news()
        {
            let opened = news.opened();
            views::without_known(&mut receipt, &opened);
            let mut told = views::told_by(&receipt);
            told.extend(views::without_known_hint(&mut receipt, name, &opened));
            // Who wrote a text has it.
            told.extend(
                receipt.entity_id.filter(|_| is_own_text).map(|id| SessionNews::whole(&id.to_string())),
            );
            // If this fails, the session sees the claims once more.
            let _ = news.open(&told, seq);
        }
        Ok(receipt)
    }

    /// Submits what the speaker of this shell writes.
    pub(super) fn sent(&self, front: &Front, submission: Submission) -> Result<Receipt, Failure> {
        let agent = submission.agent.clone();
        output::submits();
        let receipt = block_on(async { Ok(front.submit(submission).await?) })?;
        self.bind_client(&agent);
        Ok(receipt)
    }

    /// Submits a command and prints its receipt.
    pub(super) fn submit(
        &self,
        done: &str,
        command: Command,
        key: Option<IdempotencyKey>,
    ) -> Result<(), Failure> {
        let name = command.name();
        let receipt = self.submitted(command, key)?;
        let json = views::receipt_json(&receipt, name);
        output::print(self.global.json, &output::receipt(done, &receipt), &json)
    }

    /// Prints the answer of a view.
    pub(super) fn show(&self, view: &View) -> Result<(), Failure> {
        let mut reads = self.models()?;
        let answer = views::answer(&mut reads, &self.config, view, system::now(), self.format())?;
        let Answer { seq, opened, next, .. } = &answer;
        let next = next.as_ref().map(|next| output::more(next.parameter, &next.value)).unwrap_or_default();
        match &answer.body {
            Body::Json(json) => output::print_json(json)?,
            // The output of a program stays as it is.
            Body::Markdown(text) if matches!(view, View::Output(..)) => {
                output::print_text(&(text.clone() + &next))?
            }
            Body::Markdown(text) => output::print_text(&(output::fitted(text) + &next))?,
            // Line breaks in XML are kept.
            Body::Xml(text) => output::print_text(&(names::shortened(&names::in_shell(text)) + &*next))?,
        }
        self.opened(opened, *seq);
        note_damage(&mut reads);
        Ok(())
    }

    /// Prints all claims of a filter for programs, as one page.
    pub(super) fn show_all(&self, mut filter: ClaimFilter) -> Result<(), Failure> {
        let mut reads = self.models()?;
        let (mut claims, mut left_out) = (Vec::new(), 0);
        loop {
            let view = View::Claims(filter.clone());
            let answer = views::answer(&mut reads, &self.config, &view, system::now(), Format::Json)?;
            left_out += answer.left_out;
            if let Body::Json(mut page) = answer.body
                && let Value::Array(more) = page["claims"].take()
            {
                claims.extend(more);
            }
            filter.before = answer.next.and_then(|next| next.value.parse().ok());
            if filter.before.is_none() {
                break;
            }
        }
        let mut all = json!({ "claims": claims });
        if left_out > 0 {
            all["left_out"] = left_out.into();
        }
        output::print_json(&all)?;
        note_damage(&mut reads);
        Ok(())
    }

    /// The format that the call asks for.
    pub(super) fn format(&self) -> Format {
        if self.global.json { Format::Json } else { Format::Text }
    }

    /// Marks claims as read by the client's session, so that later deltas omit them. A view of the past marks none.
    pub(super) fn opened(&self, ids: &[String], as_of: u64) {
        let is_past = self.global.at.is_some();
        if let Some(news) = if ids.is_empty() || is_past { None } else { self.session_news() } {
            // If this fails, the session sees the claim once more.
            let _ = news.open(ids, as_of);
        }
    }

    /// Marks a run as one whose end the client's session saw.
    pub(super) fn saw_end(&self, run: &str, as_of: u64) {
        if let Some(news) = self.session_news() {
            // If this fails, the end of the run is news to the session.
            let _ = news.saw_end(run, as_of);
        }
    }

    /// The record of what the client's session was shown. `None` without a session or a state directory.
    fn session_news(&self) -> Option<SessionNews> {
        let state_home = self.environment.state_home.as_deref()?;
        Some(SessionNews::of(state_home, &self.workspace, &self.client_session()?))
    }

    /// An agent as the reader of a list, with the claims that its session was shown whole.
    pub(super) fn row_reader(&self, agent: Option<AgentId>) -> RowReader {
        let shown = self.session_news().and_then(|news| news.shown()).unwrap_or_default();
        RowReader { agent, has_whole: shown.whole.into_keys().collect(), searched: Vec::new() }
    }

    pub(super) fn reads(&self) -> Result<Reads, Failure> {
        let mut present = self.present();
        match parse_moment("at", self.global.at.as_deref())? {
            None => Ok(present),
            Some(moment) => {
                let past = present.at(moment, system::now()).map_err(ViewError::from)?;
                if let Some((asked, shown)) = past.moved() {
                    static IS_SAID: Once = Once::new();
                    IS_SAID.call_once(|| output::note(&views::moved(asked, shown)));
                }
                Ok(past)
            }
        }
    }

    /// The person at this machine. None if the system has no name for them.
    pub(super) fn user(&self) -> Option<UserName> {
        self.environment.user.as_deref()?.parse().ok()
    }

    /// The memory at the present moment, whatever `--at` says.
    pub(super) fn present(&self) -> Reads {
        Reads::of(self.workspace.clone()).knowing(self.environment.state_home.clone()).seen_by(self.user())
    }

    /// Like [`Context::reads`], but the writer first rebuilds read models of an older version.
    pub(super) fn models(&self) -> Result<Reads, Failure> {
        let mut reads = self.reads()?;
        if !matches!(reads.store(), Err(StoreError::Unmade)) {
            return Ok(reads);
        }
        output::note(
            "the read models are not made yet, or by an older version of hm: the writer makes them anew",
        );
        let front = self.front()?;
        block_on(async { Ok(front.submit_within(MADE_WITHIN, Vec::new()).await?) })?;
        let deadline = system::instant() + MADE_WITHIN;
        while matches!(reads.store(), Err(StoreError::Unmade)) && system::instant() < deadline {
            std::thread::sleep(MADE_POLL);
        }
        Ok(reads)
    }

    /// The secrets that no write of this process may contain.
    pub(super) fn secrets(&self) -> Secrets {
        let known = self.known.get_or_init(|| Known::from_variables(system::variables()));
        Secrets { own: self.config.own_secrets.clone(), known: known.clone(), ..Secrets::default() }
    }

    pub(super) fn front(&self) -> Result<Front, Failure> {
        let binary = std::env::current_exe().map_err(Failure::internal)?;
        Ok(Front::guarding(self.workspace.clone(), binary, self.secrets()))
    }
}
