//! `hm hook`: what a client's hooks run. It records what happened, says what is worth saying, and never fails.

mod advice;
mod seen;
mod waiting;

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;

use seen::{is_our_own, stamped};
use waiting::Waiting;

use super::news::knows;
use super::output::{self, Failure};
use super::{Context, Global, block_on};
use crate::client_session::ClientSession;
use crate::clients::{self, Mark, Places};
use crate::config::Config;
use crate::domain::action::Action;
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::command::{Command, EndSession, RecordFiring, RecordTurn, StartSession, Submission};
use crate::domain::event::Guard;
use crate::domain::ids::{CommandId, SessionId};
use crate::domain::plan::TaskStatus;
use crate::domain::privacy;
use crate::domain::receipt::{Acceptance, Receipt, WarningCode};
use crate::domain::session::{Role, Source};
use crate::domain::text::{Said, ToolName};
use crate::domain::versions::Versions;
use crate::hooks::{Answer, Call, Client, Moment, ToolCall, ToolOutcome};
use crate::identity::Speaker;
use crate::pack::{self, Occasion, Told};
use crate::reads::Reads;
use crate::session_home::SessionHome;
use crate::session_news::SessionNews;
use crate::store::SessionView;
use crate::system::{self, Environment};
use crate::views::{self, ContextOf, Format, Known, UNSEATED, View, ViewError};
use crate::workspace::{Workspace, WorkspaceError};

/// A hook never holds its client up for longer: 900 ms. A client notices one second, and the process needs some of it.
fn within() -> Duration {
    system::patience() * 9 / 10
}

/// How long the start of a session waits for the writer: most of what it has, 500 ms.
fn writer_within() -> Duration {
    system::patience() / 2
}

/// What is said where no context can be.
const NOT_YET: &str = "The shared memory cannot be read at this moment, which does not mean that it is empty: read \
     hivemind://context before you start, and tell the human if that fails too.";

/// What is said at the start about news.
const ABOUT_NEWS: &str = "hivemind: `hm news` says what is new for you; to wait for the others use `hm news --wait 5m` \
     instead of polling a list.";

/// The largest payload that is read: a tool's output may be anything.
const MAX_PAYLOAD_BYTES: u64 = 16 * 1024 * 1024;
/// What a reminder at the end of a turn matched.
const END_OF_TURN: &str = "end of turn";
/// The longest context all clients let through, in characters; Codex counts bytes.
const MAX_CONTEXT: usize = pack::DEFAULT_BUDGET_CHARS;

/// One call of a client's hook.
#[derive(Debug, Args)]
pub(super) struct Hook {
    /// claude, codex, gemini, cursor, copilot, vscode, qwen or opencode
    client: Client,
}

impl Hook {
    /// Reads the payload from stdin and answers on stdout; always a success, and silent where anything is in doubt.
    pub(super) fn run(&self, global: Global) -> Result<(), Failure> {
        let client = self.client;
        let in_copilot = Environment::read().in_copilot;
        let answering = Arc::new(AtomicBool::new(false));
        let late = Arc::clone(&answering);
        // A client may leave the pipe open, or a disk may hang. The work is done on the first thread, whose memory costs
        // least (glibc grows that of other threads page by page), and so it is the clock that runs beside it.
        std::thread::spawn(move || {
            std::thread::sleep(within());
            if !late.swap(true, Ordering::SeqCst) {
                say(&Call::parse(client, in_copilot, ""), &Answer::Silence);
                std::process::exit(0);
            }
        });
        let mut payload = Vec::new();
        // What could not be read is no payload.
        let _ = std::io::stdin().lock().take(MAX_PAYLOAD_BYTES).read_to_end(&mut payload);
        let call = Call::parse(client, in_copilot, &String::from_utf8_lossy(&payload));
        let hooked = Hooked::of(call.clone(), global.clone());
        let answer = hooked.and_then(|hooked| match hooked {
            Some(mut hooked) => {
                let answer = hooked.answer()?;
                let patterns = hooked.news().map(|news| (news, std::mem::take(&mut hooked.patterns)));
                Ok((answer, hooked.told, patterns))
            }
            None => Ok((Answer::Silence, None, None)),
        });
        let (answer, told, patterns) = answer.unwrap_or_else(|failure| {
            tracing::info!(?failure, "a hook has nothing to say");
            (unopened(&call, &global).map_or(Answer::Silence, Answer::Context), None, None)
        });
        if answering.swap(true, Ordering::SeqCst) {
            // It is too late, and the other thread ends the process.
            loop {
                std::thread::park();
            }
        }
        say(&call, &answer);
        if let Some((news, patterns)) = patterns {
            let _ = news.open(&patterns, 0);
        }
        // What was not said in time was not told.
        if let Some(Telling { news, told, opened }) = told {
            // Without it the session hears some of it twice.
            let _ = news.tell(&told);
            let _ = news.open(&opened, told.seq);
        }
        Ok(())
    }
}

fn say(call: &Call, answer: &Answer) {
    if let Some(line) = call.answer(answer) {
        output::line(&line);
    }
}

/// What is said at the start of a session whose memory is there and not opened: once, so that somebody sees to it.
fn unopened(call: &Call, global: &Global) -> Option<String> {
    let Moment::SessionStart { .. } = call.moment else { return None };
    let here = call.cwd.as_ref().map_or_else(|| ".".into(), std::path::PathBuf::from);
    match Workspace::find(global.dir.as_deref(), &here, &Environment::read()) {
        Err(error @ (WorkspaceError::Foreign { .. } | WorkspaceError::NoRepository { .. })) => {
            Some(format!("hivemind: this session has no shared memory. {error}"))
        }
        Err(_) => None,
        Ok(workspace) => Config::load(&workspace.config()).err().map(|error| {
            format!(
                "hivemind: this session has no shared memory: {}. Tell the human: `hm doctor` says what to mend.",
                error.place()
            )
        }),
    }
}

/// A call, and where and for whom it is.
struct Hooked {
    call: Call,
    context: Context,
    /// Who speaks; of a pane that is not pinned, the writer says who that is.
    speaker: Speaker,
    session: Option<SessionId>,
    reads: Reads,
    /// What the session is told with the answer, kept once that was given.
    told: Option<Telling>,
    /// The patterns that the answer tells of.
    patterns: Vec<String>,
}

/// What a session is told.
struct Telling {
    news: SessionNews,
    told: Told,
    /// What it knows from then on.
    opened: Vec<String>,
}

impl Hooked {
    /// None where the client's own settings run another hook of ours for it.
    fn of(call: Call, global: Global) -> Result<Option<Self>, Failure> {
        let is_start = matches!(call.moment, Moment::SessionStart { .. });
        let context = Self::context(&call, global, is_start)?;
        let calling = clients::Client::named(call.client.as_str()).filter(|_| call.client != call.named);
        if let Some(calling) = calling {
            let places = Places::new(context.workspace.root(), &context.environment);
            if calling.has_other_hooks(&places, &format!("hm hook {}", call.named)) {
                return Ok(None);
            }
        }
        if is_start {
            // What a pane leaves word in is there from its first moment on; without it all it says is queued nowhere.
            let _ = context.workspace.ensure();
        }
        let call = call.spelled(|path| context.workspace.spelled(path));
        // That it ran is all it says.
        let _ = Mark::leave(&context.workspace, call.client.as_str(), call.configured_event());
        let caller = context.caller()?;
        if caller.pinned() == Some(&AgentId::operator()) {
            // What happens in a client's session is its agent's.
            context.human("hook")?;
        }
        let caller = caller.seated_by(context.config.clients.clone(), context.workspace.worktree().as_ref());
        let speaker = caller.speaks_for(None, Some(call.client.as_str()))?;
        let named = context.environment.own_session.as_ref().or(call.session.as_ref());
        let session = named.and_then(|session| session.parse().ok());
        let reads = if is_start { context.present() } else { context.present().quick() };
        let mut hooked = Self { call, context, speaker, session, reads, told: None, patterns: Vec::new() };
        hooked.go_on();
        Ok(Some(hooked))
    }

    /// A client in its next session is the pane that it was in the one before. A session that is known stays the pane it
    /// is, and Codex runs many panes in one process.
    fn go_on(&mut self) {
        if self.speaker.unpinned.is_none() || self.context.environment.own_session.is_some() {
            return;
        }
        let process = system::client_process().map(|client| self.context.pane_process(client));
        let Some(process) = process.filter(|process| system::client_program(*process) != Some("codex"))
        else {
            return;
        };
        let before = ClientSession::of(&self.context.workspace, process).last();
        let before = before.filter(|before| self.session.as_ref().is_some_and(|session| session != before));
        if before.is_none() || !matches!(self.known(), Ok(None)) {
            return;
        }
        if let Some(unpinned) = &mut self.speaker.unpinned {
            unpinned.pane = before;
        }
    }

    /// Where the call is: in the work tree its agent is in, if that is of the session's own memory, else where the
    /// session began.
    fn context(call: &Call, global: Global, is_start: bool) -> Result<Context, Failure> {
        let Some(cwd) = call.cwd.as_ref().filter(|_| global.dir.is_none()) else {
            return Context::find(global);
        };
        let state_home = Environment::read().state_home;
        let home = state_home.zip(call.session.as_deref().and_then(|session| session.parse().ok()));
        let home = home.map(|(state, session)| SessionHome::of(&state, call.client.as_str(), &session));
        // A compaction starts no session: its agent may stand anywhere by then.
        let is_compaction =
            matches!(&call.moment, Moment::SessionStart { source } if source.as_deref() == Some("compact"));
        let began = home.as_ref().filter(|_| !is_start || is_compaction).and_then(SessionHome::get);
        let here = Context::at(global.clone(), cwd.as_ref());
        match began {
            Some((root, memory)) => match here {
                Ok(here) if here.workspace.memory() == memory => Ok(here),
                _ => Context::at(global, &root),
            },
            None => {
                let here = here?;
                if let Some(home) = home {
                    // Without it the next hook goes by its directory again.
                    let _ = home.enter(&here.workspace);
                }
                Ok(here)
            }
        }
    }

    fn answer(&mut self) -> Result<Answer, Failure> {
        let said = self.said_to_it()?;
        Ok(match self.with_patterns(said) {
            Answer::Silence => Answer::Silence,
            Answer::Context(text) => Answer::Context(views::shortened(&mut self.reads, &text).into_owned()),
            Answer::Warning(text) => Answer::Warning(views::shortened(&mut self.reads, &text).into_owned()),
        })
    }

    /// An answer with the patterns that the session was not told of. A warning is for the human too, so they wait.
    fn with_patterns(&mut self, said: Answer) -> Answer {
        let in_turn = matches!(self.call.moment, Moment::BeforeTool(_) | Moment::AfterTool(..));
        let is_moment = in_turn || matches!(self.call.moment, Moment::Prompt { .. });
        if !is_moment || !self.call.is_heard() || matches!(said, Answer::Warning(_)) {
            return said;
        }
        // Without a place for what a session knows, it would be told at each hook.
        let (Some(session), Some(news)) = (self.session.clone(), self.news()) else { return said };
        if news.told().is_none() {
            return said;
        }
        let agent = self.reader();
        let opened = news.opened();
        let of = (agent.as_str(), session.as_str());
        let found =
            self.store(|store| views::untold_patterns(store, of, in_turn, |id| opened.contains_key(id)));
        let (text, ids) = found.ok().flatten().unwrap_or_default();
        if ids.is_empty() {
            return said;
        }
        self.patterns = ids;
        match said {
            Answer::Context(other) => Answer::Context(text + &other),
            Answer::Silence | Answer::Warning(_) => Answer::Context(text),
        }
    }

    fn said_to_it(&mut self) -> Result<Answer, Failure> {
        match self.call.moment.clone() {
            Moment::SessionStart { source } => self.start(source.as_deref()),
            Moment::Prompt { text } => self.prompt(&text),
            Moment::BeforeTool(tool) => self.before(&tool),
            Moment::AfterTool(tool, outcome) => self.after(&tool, &outcome),
            Moment::Stop { said, .. } => self.stop(said.as_deref()),
            Moment::SessionEnd { .. } => self.end(),
            Moment::Other => Ok(Answer::Silence),
        }
    }

    /// Records that the client is in this session, if `may_replace` allows it for the client's record. Without a record the
    /// server opens a session of its own, and the pane is two agents.
    fn enter(&self, session: &SessionId, may_replace: impl Fn(&ClientSession) -> bool) {
        // Its name goes into a file: what the gate will refuse is not written there either.
        let passes = || privacy::scan(session.as_str(), &self.context.secrets()).is_empty();
        let client =
            system::client_process().map(|client| ClientSession::of(&self.context.workspace, client));
        if let Some(client) = client.filter(may_replace).filter(|_| passes())
            && !client.is_elsewhere(session)
        {
            let _ = client.enter(session);
        }
    }

    /// The session is known from now on; its agent gets to know what it should.
    fn start(&mut self, source: Option<&str>) -> Result<Answer, Failure> {
        let Some(session) = self.session.clone() else { return Ok(Answer::Silence) };
        self.enter(&session, |_| true);
        self.news().iter().for_each(SessionNews::begin_turn);
        let started = self.submissions(vec![self.started(source.unwrap_or_default())?]);
        // The first pane starts the writer, which makes the read models; what it cannot wait for is queued.
        let front = self.context.front()?;
        let submitted = block_on(async { Ok(front.submit_within(writer_within(), started).await?) });
        let moved = match &submitted {
            Ok(receipts) => moved(receipts),
            Err(failure) => {
                // What can be read, or why not, is to be said all the same.
                tracing::info!(?failure, "the start of the session is not recorded");
                String::new()
            }
        };
        let split = self.store(|store| store.split_into(session.as_str())).ok().flatten().flatten();
        let goes_on = split.map(|split| {
            format!(
                "\nYou go on from session {}: read hivemind://sessions/{session}/turn0 for what was said there.",
                views::inline(&split.parent, 128)
            )
        });
        Ok(self.told_all(&(moved + &goes_on.unwrap_or_default())))
    }

    fn started(&self, source: &str) -> Result<Command, Failure> {
        let client =
            Some(ToolName::try_from(self.call.client.as_str().to_owned()).map_err(Failure::internal)?);
        let source = source.parse().unwrap_or(Source::Startup);
        Ok(Command::StartSession(StartSession { source, client, parent_session: None }))
    }

    fn banner(&mut self) -> String {
        let agent = self.reader().to_string();
        // Who one is can be said whatever else there is to read.
        let presence = self.store(|store| views::presence(store, &agent)).ok().flatten();
        let presence = presence.unwrap_or(pack::Presence { agent, ..Default::default() });
        let checkout = self.context.workspace.checkout();
        let mut banner = pack::banner(&pack::Presence { checkout, ..presence });
        if self.speaker.unpinned.is_some() {
            banner.push_str(" (seat of this session)");
        }
        banner
    }

    /// Who the pane is: of one that is not pinned, the agent of its session.
    fn reader(&mut self) -> AgentId {
        // Of a pinned pane nothing needs to be read.
        let known = if self.speaker.unpinned.is_some() { self.known().ok().flatten() } else { None };
        self.me(known.as_ref())
    }

    /// [`Hooked::reader`], with the session as the read models know it.
    fn me(&self, known: Option<&SessionView>) -> AgentId {
        if self.speaker.unpinned.is_none() {
            return self.speaker.agent.clone();
        }
        AgentId::recorded(known.map_or(UNSEATED, |session| &session.agent))
    }

    /// The context in so many characters; in so many bytes for a client that counts those.
    fn pack(&mut self, room: usize) -> Result<String, Failure> {
        let mut budget = room;
        loop {
            let view = View::Context(self.context_of(budget));
            let (config, now) = (&self.context.config, system::now());
            let text = views::answer(&mut self.reads, config, &view, now, Format::Text)?.into_text();
            let over = text.len().saturating_sub(room);
            if over == 0 || self.call.client != Client::Codex || budget < 400 {
                return Ok(text);
            }
            // Every character too many takes at most four bytes.
            budget = budget.saturating_sub((over / 4).max(100));
        }
    }

    fn context_of(&mut self, budget: usize) -> ContextOf {
        let session = self.session.as_ref().map(ToString::to_string);
        ContextOf { agent: self.reader(), session, intent: None, budget, window: None }
    }

    /// A turn begins: what others did since the last one is said, and what is asked for is kept.
    fn prompt(&mut self, text: &str) -> Result<Answer, Failure> {
        let Some(session) = self.session.clone() else { return Ok(Answer::Silence) };
        // A start that gave up, or came before the hooks were installed, left no record.
        self.enter(&session, |client| client.last().is_none());
        // Qwen Code says that a prompt is submitted whenever its model gets the result of a tool.
        if text.trim().is_empty() {
            return Ok(Answer::Silence);
        }
        self.news().iter().for_each(SessionNews::begin_turn);
        let waiting = Waiting::of(&self.context, &session);
        let known = self.known();
        let (mut answer, mut told) = (Answer::Silence, None);
        match &known {
            // The start or the prompt before waits: what is new is told once those are there.
            _ if waiting.is_started || waiting.is_new_turn || waiting.is_unknown => {}
            Ok(Some(session)) if session.ended_at.is_none() && session.told_seq > 0 => {
                let of = self.context_of(MAX_CONTEXT);
                if let Some((news, known)) = self.knows(session)
                    && let Ok(delta) =
                        views::delta_with(Occasion::Prompt, &mut self.reads, &of, &known, system::now())
                {
                    let (opened, views::Delta { text: delta, told: now_told, .. }) = (delta.opened(), delta);
                    let (since, until) = (known.told.prompted(), now_told.seq);
                    let root = self.context.workspace.root().to_owned();
                    let due = self.store(|store| views::unproven(store, &of, &root, (since, until)));
                    let due = pack::evidence_due(&due.ok().flatten().unwrap_or_default());
                    // What is said now may be too late: the ledger learns of it with the next prompt.
                    told = Some(if known.is_kept { known.told.position() } else { until });
                    answer = Answer::Context(delta + &due);
                    self.told = news.map(|news| Telling { news, told: now_told, opened });
                }
            }
            // It was closed while nobody spoke, began before its hooks were there, or was split off.
            Ok(_) => {
                let mut commands = vec![self.started("resume")?];
                commands.extend(self.said(Role::User, text, None));
                let moved = moved(&self.submit(commands)?);
                return Ok(self.told_all(&moved));
            }
            Err(_) => {}
        }
        self.submit(self.said(Role::User, text, told).into_iter().collect())?;
        Ok(answer)
    }

    /// What touches or asks the session since it was last told; empty without a place where it is kept what it was told.
    fn news_after_command(&mut self) -> Result<String, Failure> {
        // A session that was told nothing yet starts with its prompt.
        if !self.call.is_heard() || self.news().is_none_or(|news| news.told().is_none()) {
            return Ok(String::new());
        }
        let Some(session) = self.known()?.filter(|session| session.ended_at.is_none()) else {
            return Ok(String::new());
        };
        let of = self.context_of(MAX_CONTEXT);
        let Some((Some(news), known)) = self.knows(&session) else { return Ok(String::new()) };
        let delta = views::delta_with(Occasion::Command, &mut self.reads, &of, &known, system::now())?;
        let opened = delta.opened();
        if delta.told != known.told {
            self.told = Some(Telling { news, told: delta.told, opened });
        }
        Ok(delta.text)
    }

    /// What the session knows, and where that is kept. None while another hook tells it something.
    fn knows(&mut self, session: &SessionView) -> Option<(Option<SessionNews>, Known)> {
        let mut news = self.news();
        if news.as_mut().is_some_and(|news| !news.take_turn()) {
            return None;
        }
        let known = knows(&mut self.reads, news.as_ref(), Some(session), session.told_seq);
        Some((news, known))
    }

    /// Where it is kept what the session knows; none for a user without a state directory.
    fn news(&self) -> Option<SessionNews> {
        let state_home = self.context.environment.state_home.as_deref()?;
        Some(SessionNews::of(state_home, &self.context.workspace, self.session.as_ref()?))
    }

    /// Who the pane is, what else is to be said first, and its whole context.
    fn told_all(&mut self, besides: &str) -> Answer {
        let said = format!("{}{besides}\n{ABOUT_NEWS}\n", self.banner());
        let room = MAX_CONTEXT.saturating_sub(said.chars().count());
        if let Some(news) = self.news().filter(|news| news.told().is_none()) {
            // From now on it is kept what the session opens.
            self.told = Some(Telling { news, told: Told::default(), opened: Vec::new() });
        }
        let pack = self.pack(room).unwrap_or_else(|failure| {
            tracing::info!(?failure, "a session starts without its memory");
            format!("{NOT_YET} Why: {}.", output::inline(&failure))
        });
        Answer::Context(said + &pack)
    }

    /// What was said, without secrets; nothing for white space.
    fn said(&self, role: Role, text: &str, told: Option<u64>) -> Option<Command> {
        self.session.as_ref()?;
        let text = Said::cut(&privacy::redacted(text, &self.context.secrets()))?;
        Some(Command::RecordTurn(RecordTurn { role, text, told }))
    }

    fn before(&mut self, tool: &ToolCall) -> Result<Answer, Failure> {
        if let Some(news) = self.news() {
            news.begin_call(&called(tool), system::now());
        }
        // Where nothing is heard before a tool, it is said after it.
        if is_our_own(tool) {
            return Ok(Answer::Silence);
        }
        if let Some((news, files)) = self.news().zip(self.named_files(tool)) {
            // Without it nothing is known of what the command changes.
            let _ = news.about_to_run(&stamped(&files));
        }
        if !self.call.is_heard() {
            return Ok(Answer::Silence);
        }
        let Some(action) = self.action() else { return Ok(Answer::Silence) };
        let (advice, firings) = self.advice(&action)?;
        self.submit(firings)?;
        Ok(advice)
    }

    fn after(&mut self, tool: &ToolCall, outcome: &ToolOutcome) -> Result<Answer, Failure> {
        let (mut answer, mut commands) = (Answer::Silence, Vec::new());
        if let Some(news) = self.news() {
            news.end_call(&called(tool));
        }
        if !is_our_own(tool) {
            let action = self.action();
            commands = self.observed(tool, outcome, action.as_ref());
            // What was seen is kept, whatever can be said about it.
            if let Some(action) = action.filter(|_| self.call.is_heard())
                && let Ok((advice, firings)) = self.advice(&action)
            {
                commands.extend(firings);
                answer = advice;
            }
        }
        // A warning is for the human too, and news is not: it waits for the next command.
        if answer == Answer::Silence
            && let Ok(news) = self.news_after_command()
        {
            answer = Answer::Context(news);
        }
        self.submit(commands)?;
        Ok(answer)
    }

    fn action(&self) -> Option<Action> {
        self.call.action(&self.context.workspace.root().to_string_lossy()).filter(|action| !action.is_empty())
    }

    /// A turn ends. What the client hears now costs a request to its model, so each task is told once a session.
    fn stop(&mut self, said: Option<&str>) -> Result<Answer, Failure> {
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

    /// The tasks that this session holds and was not reminded of, and the commands that record the reminder.
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
            firings.push(Command::RecordFiring(RecordFiring { guard: Guard::Task(id), matched }));
            let is_active = task.status == TaskStatus::Active;
            if is_active { &mut gate.active_tasks } else { &mut gate.leases }.push(task.name);
        }
        Ok((gate, firings))
    }

    fn end(&mut self) -> Result<Answer, Failure> {
        let Some(session) = &self.session else { return Ok(Answer::Silence) };
        if let Some(client) = system::client_process() {
            let _ = ClientSession::of(&self.context.workspace, client).leave(session);
        }
        if let Some(state_home) = &self.context.environment.state_home {
            SessionHome::of(state_home, self.call.client.as_str(), session).leave();
        }
        if let Some(news) = self.news() {
            news.leave();
        }
        self.submit(vec![Command::EndSession(EndSession {})])?;
        Ok(Answer::Silence)
    }

    /// The session as the read models know it.
    fn known(&mut self) -> Result<Option<SessionView>, Failure> {
        let Some(session) = self.session.clone() else { return Ok(None) };
        Ok(self.store(|store| store.session(session.as_str()))?.flatten())
    }

    fn store<T>(
        &mut self,
        question: impl FnOnce(&crate::store::Reader) -> Result<T, crate::store::StoreError>,
    ) -> Result<Option<T>, Failure> {
        let (answer, _) = self.reads.ask(system::now(), question).map_err(ViewError::from)?;
        Ok(answer)
    }

    fn submit(&self, commands: Vec<Command>) -> Result<Vec<Receipt>, Failure> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let front = self.context.front()?;
        let submissions = self.submissions(commands);
        block_on(async {
            let receipts = front.submit_in_a_hurry(submissions).await?;
            // Once a turn is often enough for who has nobody else to start it.
            let is_prompt = matches!(self.call.moment, Moment::Prompt { .. });
            if is_prompt && receipts.iter().any(|receipt| receipt.state == Acceptance::Queued) {
                front.wake_writer().await;
            }
            Ok(receipts)
        })
    }

    fn submissions(&self, commands: Vec<Command>) -> Vec<Submission> {
        let submission = |command| Submission {
            command_id: CommandId::from_uuid(system::new_id()),
            agent: self.speaker.agent.clone(),
            unpinned: self.speaker.unpinned.clone(),
            session: self.session.clone(),
            trace_id: None,
            idempotency_key: None,
            checkout: Checkout::default(),
            versions: Versions::new(),
            command,
        };
        commands.into_iter().map(submission).collect()
    }
}

/// A tool call by what its client says of it both before and after it.
fn called(tool: &ToolCall) -> String {
    tool.command.clone().unwrap_or_else(|| format!("{} {}", tool.name, tool.paths.join(" ")))
}

/// What a session is told whose seat another pane took while it was away; nothing for any other.
fn moved(receipts: &[Receipt]) -> String {
    let warnings = receipts.iter().flat_map(|receipt| &receipt.warnings);
    let moved = warnings.filter(|warning| warning.code == WarningCode::SeatTaken);
    moved.map(|warning| format!("\nhivemind: {}.", warning.message)).collect()
}
