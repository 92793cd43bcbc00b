//! `hm hook`: the command that the clients' hooks run. It records the event, tells the session its news and warnings,
//! and never fails.

mod advice;
mod seen;
mod stop;
mod tool;
mod waiting;

use std::cell::{LazyCell, OnceCell};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;

use waiting::Waiting;

use super::news::knows;
use super::output::{self, Failure};
use super::{Context, Global, block_on, damage_note};
use crate::client_session::ClientSession;
use crate::clients::{self, Mark, Places};
use crate::config::Config;
use crate::domain::agent::AgentId;
use crate::domain::checkout::Checkout;
use crate::domain::command::{Command, EndSession, RecordTurn, StartSession, Submission};
use crate::domain::ids::{CommandId, SessionId};
use crate::domain::privacy;
use crate::domain::receipt::{Acceptance, Receipt, WarningCode};
use crate::domain::session::{Role, Source};
use crate::domain::text::{Said, ToolName};
use crate::domain::versions::Versions;
use crate::hooks::{Answer, Call, Client, Moment};
use crate::identity::Speaker;
use crate::pack::{self, Occasion, Told};
use crate::reads::Reads;
use crate::session_home::SessionHome;
use crate::session_news::SessionNews;
use crate::store::SessionView;
use crate::system::{self, Environment};
use crate::views::{self, ContextOf, Format, Known, UNSEATED, View, ViewError};
use crate::workspace::{Workspace, WorkspaceError};
use crate::writer::Front;

/// The maximum duration of a hook: 900 ms. A user notices one second, and the process itself needs some of it.
fn within() -> Duration {
    system::patience() * 9 / 10
}

/// How long the start of a session waits for the writer: 500 ms, most of the time that it has.
fn writer_within() -> Duration {
    system::patience() / 2
}

/// The text in place of a context that cannot be read.
const NOT_YET: &str = "The shared memory cannot be read at this moment, which does not mean that it is empty: read \
     hivemind://context before you start, and tell the human if that fails too.";

/// The hint about help and news at the start of a session.
const ABOUT_NEWS: &str = "hivemind: `hm help agent` is all the help you need, on one page; `hm claim show C1` shows a claim \
     whole; `hm news` says what is new for you, and `hm news --wait 5m` waits for the others (poll no list).";

/// The size limit of a payload, in bytes. It may contain any output of a tool.
const MAX_PAYLOAD_BYTES: u64 = 16 * 1024 * 1024;
/// The longest context that all clients accept, in characters. Codex counts bytes.
const MAX_CONTEXT: usize = pack::DEFAULT_BUDGET_CHARS;
/// The longest text about the error of a failed command, in characters. Longer ones are read past.
const MAX_ABOUT_ERROR: usize = 600;

/// One call of a client's hook.
#[derive(Debug, Args)]
pub(super) struct Hook {
    /// claude, codex, gemini, cursor, copilot, vscode, qwen or opencode
    client: Client,
}

impl Hook {
    /// Reads the payload from stdin and answers on stdout. It always succeeds, and prints nothing in case of doubt.
    pub(super) fn run(&self, global: Global) -> Result<(), Failure> {
        let client = self.client;
        let in_copilot = Environment::read().in_copilot;
        let answering = Arc::new(AtomicBool::new(false));
        let late = Arc::clone(&answering);
        // A client may leave the pipe open, or a disk may hang, so a clock runs beside the work. The work runs on the
        // first thread, which needs the least memory: glibc grows that of other threads page by page.
        std::thread::spawn(move || {
            std::thread::sleep(within());
            if !late.swap(true, Ordering::SeqCst) {
                say(&Call::parse(client, in_copilot, ""), &Answer::Silence);
                std::process::exit(0);
            }
        });
        let mut payload = Vec::new();
        // An unreadable payload counts as empty.
        let _ = std::io::stdin().lock().take(MAX_PAYLOAD_BYTES).read_to_end(&mut payload);
        let call = Call::parse(client, in_copilot, &String::from_utf8_lossy(&payload));
        let hooked = Hooked::of(call.clone(), global.clone());
        let answer = hooked.and_then(|hooked| match hooked {
            Some(mut hooked) => {
                let answer = hooked.answer()?;
                Ok((answer, Some(hooked)))
            }
            None => Ok((Answer::Silence, None)),
        });
        let (answer, hooked) = answer.unwrap_or_else(|failure| {
            tracing::info!(?failure, "a hook has nothing to say");
            (unopened(&call, &global).map_or(Answer::Silence, Answer::Context), None)
        });
        if answering.swap(true, Ordering::SeqCst) {
            // The time is over, and the other thread ends the process.
            loop {
                std::thread::park();
            }
        }
        say(&call, &answer);
        if let Some(mut hooked) = hooked {
            hooked.was_said();
            // The process ends: closing the databases and freeing what was read would only keep the client waiting.
            std::mem::forget(hooked);
        }
        Ok(())
    }
}

fn say(call: &Call, answer: &Answer) {
    if let Some(line) = call.answer(answer) {
        output::line(&line);
    }
}

/// The message at the start of a session whose memory cannot be opened. It tells the agent once, so that the human can
/// mend the cause.
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

/// A call with its workspace, its session and its agent.
struct Hooked {
    call: Call,
    context: Context,
    /// The agent of the call. For an unpinned pane the writer decides it.
    speaker: Speaker,
    session: Option<SessionId>,
    reads: Reads,
    /// The way to the writer, once something goes there.
    front: OnceCell<Front>,
    /// The news in the answer. It is recorded after the answer was printed.
    told: Option<Telling>,
    /// The patterns that the answer tells of.
    patterns: Vec<String>,
    /// The items of the memory that the answer shows at the start of a session.
    recall: views::Recall,
}

/// The news in an answer.
struct Telling {
    news: SessionNews,
    told: Told,
    /// The ids whose texts the session knows from then on.
    opened: Vec<String>,
    /// The ledger position of that text.
    as_of: u64,
}

impl Hooked {
    /// `None` if the client's own settings also run one of our hooks for this event.
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
            // The directory must exist from the first moment of a pane: without it no command can be queued.
            let _ = context.workspace.ensure();
        }
        let call = call.spelled(|path| context.workspace.spelled(path));
        // The mark only records that the hook ran.
        let _ = Mark::leave(&context.workspace, call.client.as_str(), call.configured_event());
        let caller = context.caller()?;
        if caller.pinned() == Some(&AgentId::operator()) {
            // A client's session belongs to its agent, and not to the operator.
            context.human("hook")?;
        }
        let caller = caller.seated_by(context.config.clients.clone(), context.workspace.worktree().as_ref());
        let caller = context.below_panes(context.in_known_pane(caller), system::client_process());
        let speaker = caller.speaks_for(None, Some(call.client.as_str()))?;
        let named = context.environment.own_session.as_ref().or(call.session.as_ref());
        let session = named.and_then(|session| session.parse().ok());
        let reads = if is_start { context.present() } else { context.present().quick() };
        let (front, told, patterns, recall) = Default::default();
        let mut hooked = Self { call, context, speaker, session, reads, front, told, patterns, recall };
        hooked.go_on();
        Ok(Some(hooked))
    }

    /// A client that begins another session stays the same pane. A session that the read models know keeps its pane, and
    /// the writer is told where the client was before. Servers of the client that spoke before its first hook belong to
    /// the pane too. Codex is excluded: one process of it runs many panes.
    fn go_on(&mut self) {
        if self.speaker.unpinned.is_none() || self.context.environment.own_session.is_some() {
            return;
        }
        let process = system::client_process().map(|client| self.context.pane_process(client));
        let Some(process) = process.filter(|process| system::client_program(*process) != Some("codex"))
        else {
            return;
        };
        let Some(session) = self.session.clone() else { return };
        let before = ClientSession::of(&self.context.workspace, process).last();
        let before = before.filter(|before| *before != session);
        let is_turn = matches!(self.call.moment, Moment::SessionStart { .. } | Moment::Prompt { .. });
        let mut servers: Vec<SessionId> = Vec::new();
        if is_turn {
            servers.extend(ClientSession::of_servers_below(&self.context.workspace, process));
            servers.retain(|server| *server != session);
        }
        if before.is_none() && servers.is_empty() {
            return;
        }
        let Ok(known) = self.known() else { return };
        let Some(unpinned) = &mut self.speaker.unpinned else { return };
        if known.is_some() {
            unpinned.came_from = before;
        } else {
            unpinned.pane = before.or_else(|| servers.drain(..1).next());
        }
        unpinned.servers = servers;
    }

    /// The context of the call: the work tree of the agent if it has the same memory as the session, or else the
    /// place where the session began.
    fn context(call: &Call, global: Global, is_start: bool) -> Result<Context, Failure> {
        let Some(cwd) = call.cwd.as_ref().filter(|_| global.dir.is_none()) else {
            return Context::find(global);
        };
        let state_home = Environment::read().state_home;
        let home = state_home.zip(call.session.as_deref().and_then(|session| session.parse().ok()));
        let home = home.map(|(state, session)| SessionHome::of(&state, call.client.as_str(), &session));
        // A compaction does not start a session, and its agent may be in any directory by then.
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
                    // If this fails, the next hook uses its own directory.
                    let _ = home.enter(&here.workspace);
                }
                Ok(here)
            }
        }
    }

    /// The answer was printed in time: records what it told. A failure costs the record only.
    fn was_said(&mut self) {
        if let Some(news) = self.news() {
            let _ = news.open(&self.patterns, 0);
        }
        if let Some(Telling { news, told, opened, as_of }) = self.told.take() {
            // If this fails, the session gets some news twice.
            let _ = news.tell(&told);
            let _ = news.open(&opened, as_of);
        }
        let recall = std::mem::take(&mut self.recall);
        // A policy that refuses everything would record one refusal more.
        if self.context.config.memory.closed().is_none()
            && let Some(recall) = recall.record(&self.context.secrets())
            && let Err(failure) = self.leave(Command::RecordRecall(recall))
        {
            tracing::info!(?failure, "what the context brought is not recorded");
        }
    }

    fn answer(&mut self) -> Result<Answer, Failure> {
        let said = self.said_to_it()?;
        Ok(match self.with_patterns(said) {
            Answer::Silence => Answer::Silence,
            Answer::Context(text) => Answer::Context(views::shortened(&mut self.reads, &text).into_owned()),
            Answer::Warning(text) => Answer::Warning(views::shortened(&mut self.reads, &text).into_owned()),
            Answer::Deny(text) => Answer::Deny(views::shortened(&mut self.reads, &text).into_owned()),
        })
    }

    /// An answer with the patterns that the session was not told of. A warning is for the human too, so they wait.
    fn with_patterns(&mut self, said: Answer) -> Answer {
        let in_turn = matches!(self.call.moment, Moment::BeforeTool(_) | Moment::AfterTool(..));
        let is_moment = in_turn || matches!(self.call.moment, Moment::Prompt { .. });
        if !is_moment || !self.call.is_heard() || matches!(said, Answer::Warning(_) | Answer::Deny(_)) {
            return said;
        }
        // Without a place for what a session knows, it would be told at each hook.
        let (Some(session), Some(news)) = (self.session.clone(), self.news()) else { return said };
        if news.told().is_none() {
            return said;
        }
        let agent = self.reader();
        // Few hooks find a pattern, so the file is read for those only.
        let opened = LazyCell::new(|| news.opened());
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
            Answer::Silence | Answer::Warning(_) | Answer::Deny(_) => Answer::Context(text),
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

    /// Records that the client is in this session, if `may_replace` accepts the client's record. Without a record the
    /// server opens a session of its own, and the pane becomes two agents.
    fn enter(&self, session: &SessionId, may_replace: impl Fn(&ClientSession) -> bool) {
        // The file holds the name of the session, so the gate checks the name first.
        let passes = || privacy::scan(session.as_str(), &self.context.secrets()).is_empty();
        let client =
            system::client_process().map(|client| ClientSession::of(&self.context.workspace, client));
        if let Some(client) = client.filter(may_replace).filter(|_| passes())
            && !client.is_elsewhere(session)
        {
            let _ = client.enter(session);
        }
    }

    /// A session starts: records it and answers with the whole context.
    fn start(&mut self, source: Option<&str>) -> Result<Answer, Failure> {
        let Some(session) = self.session.clone() else { return Ok(Answer::Silence) };
        self.enter(&session, |_| true);
        self.news().iter().for_each(SessionNews::begin_turn);
        let started = self.submissions(vec![self.started(source.unwrap_or_default())?]);
        // The first pane starts the writer, which makes the read models. A command that would wait too long is
        // queued.
        let front = self.front()?;
        let reads = &mut self.reads;
        let submitted = std::thread::scope(|scope| {
            // Reading the schemas takes as long as a commit. What cannot be opened yet is opened again below.
            let opener = std::thread::Builder::new();
            let _ = opener.spawn_scoped(scope, || reads.store().is_ok());
            block_on(async { Ok(front.submit_within(writer_within(), started).await?) })
        });
        let moved = match &submitted {
            Ok(receipts) => moved(receipts),
            Err(failure) => {
                // The answer still has the context, or the reason why it cannot be read.
                tracing::info!(?failure, "the start of the session is not recorded");
                String::new()
            }
        };
        // What cannot be read is said below, by whatever asks for it.
        self.reads.settle();
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
        // The banner always names the agent, even if nothing else can be read.
        let presence = self.store(|store| views::presence(store, &agent, system::now())).ok().flatten();
        let presence = presence.unwrap_or(pack::Presence { agent, ..Default::default() });
        let checkout = self.context.workspace.checkout();
        let mut banner = pack::banner(&pack::Presence { checkout, ..presence });
        if self.speaker.unpinned.is_some() {
            banner.push_str(" (seat of this session)");
        }
        banner
    }

    /// The agent of the pane. An unpinned pane has the agent of its session.
    fn reader(&mut self) -> AgentId {
        // A pinned pane needs no query.
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

    /// The context within `room` characters, or bytes for a client that counts bytes.
    fn pack(&mut self, room: usize) -> Result<views::Answer, Failure> {
        let mut budget = room;
        loop {
            let view = View::Context(self.context_of(budget));
            let (config, now) = (&self.context.config, system::now());
            let answer = views::answer(&mut self.reads, config, &view, now, Format::Text)?;
            let over = answer.text().len().saturating_sub(room);
            if over == 0 || self.call.client != Client::Codex || budget < 400 {
                return Ok(answer);
            }
            // A character takes at most four bytes.
            budget = budget.saturating_sub((over / 4).max(100));
        }
    }

    fn context_of(&mut self, budget: usize) -> ContextOf {
        let session = self.session.as_ref().map(ToString::to_string);
        ContextOf { budget, ..ContextOf::new(self.reader(), session) }
    }

    /// A turn begins: answers with the news since the last turn, and records the prompt.
    fn prompt(&mut self, text: &str) -> Result<Answer, Failure> {
        let Some(session) = self.session.clone() else { return Ok(Answer::Silence) };
        // If the hook of the start timed out, or was installed later, there is no record yet.
        self.enter(&session, |client| client.last().is_none());
        // Qwen Code also reports a prompt whenever its model gets the result of a tool.
        if text.trim().is_empty() {
            return Ok(Answer::Silence);
        }
        self.news().iter().for_each(SessionNews::begin_turn);
        let waiting = Waiting::of(&self.context, &session);
        let known = self.known();
        let (mut answer, mut told) = (Answer::Silence, None);
        match &known {
            // The start or the last prompt is still queued. The news comes once it is committed.
            _ if waiting.is_started || waiting.is_new_turn || waiting.is_unknown => {}
            Ok(Some(session)) if session.ended_at.is_none() && session.told_seq > 0 => {
                let of = self.context_of(MAX_CONTEXT);
                if let Some((news, known)) = self.knows(session)
                    && let Ok(delta) =
                        views::delta_with(Occasion::Prompt, &mut self.reads, &of, &known, system::now())
                {
                    let opened = delta.opened();
                    let views::Delta { text: delta, told: mut now_told, .. } = delta;
                    let (since, until) = (known.told.prompted(), now_told.seq);
                    let root = self.context.workspace.root().to_owned();
                    let mut due = Vec::new();
                    if !now_told.is_reminded {
                        let asked = self.store(|store| views::unproven(store, &of, &root, (since, until)));
                        due = asked.ok().flatten().unwrap_or_default();
                        now_told.is_reminded = !due.is_empty();
                    }
                    let agent = of.agent.to_string();
                    let proposals = self.store(|store| views::proposals_due(store, &agent, since));
                    let due = pack::evidence_due(&due) + &proposals.ok().flatten().unwrap_or_default();
                    // This answer may be too late, so the next prompt records it in the ledger.
                    told = Some(if known.is_kept { known.told.position() } else { until });
                    answer = Answer::Context(delta + &due);
                    self.told = news.map(|news| Telling { news, told: now_told, opened, as_of: until });
                }
            }
            // The session expired in silence, began before its hooks were installed, or was split off.
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

    /// The urgent news since the session was last told. Empty without a file that records it.
    fn news_after_command(&mut self) -> Result<String, Failure> {
        // A session gets its first news with a prompt.
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
            let as_of = delta.told.seq;
            self.told = Some(Telling { news, told: delta.told, opened, as_of });
        }
        Ok(delta.text)
    }

    /// The knowledge of the session, and its file. `None` while another hook tells it news.
    fn knows(&mut self, session: &SessionView) -> Option<(Option<SessionNews>, Known)> {
        let mut news = self.news();
        if news.as_mut().is_some_and(|news| !news.take_turn()) {
            return None;
        }
        let known = knows(&mut self.reads, news.as_ref(), Some(session), session.told_seq);
        Some((news, known))
    }

    /// The file of the session's knowledge. `None` for a user without a state directory.
    fn news(&self) -> Option<SessionNews> {
        let state_home = self.context.environment.state_home.as_deref()?;
        Some(SessionNews::of(state_home, &self.context.workspace, self.session.as_ref()?))
    }

    /// The banner, `besides`, and the whole context.
    fn told_all(&mut self, besides: &str) -> Answer {
        let damaged =
            damage_note(&mut self.reads).map_or_else(String::new, |note| format!("\nDamaged: {note}"));
        let said = format!("{}{besides}{damaged}\n{ABOUT_NEWS}\n", self.banner());
        let room = MAX_CONTEXT.saturating_sub(said.chars().count());
        let (pack, opened, seq) = match self.pack(room) {
            Ok(answer) => {
                let pack = answer.text().to_owned();
                self.recall = answer.recall;
                (pack, answer.opened, answer.seq)
            }
            Err(failure) => {
                tracing::info!(?failure, "a session starts without its memory");
                (format!("{NOT_YET} Why: {}.", output::inline(&failure)), Vec::new(), 0)
            }
        };
        if let Some(news) = self.news() {
            // From its first start on, the file records the ids that the session opens.
            let mut told = news.told().unwrap_or_default();
            if matches!(&self.call.moment, Moment::SessionStart { source } if forgets(source.as_deref())) {
                // If this fails, a context leaves out texts that the session no longer has.
                let _ = news.forget_texts();
                told.edits.clear();
            }
            self.told = Some(Telling { news, told, opened, as_of: seq });
        }
        Answer::Context(said + &pack)
    }

    /// A message without its secrets. `None` for white space.
    fn said(&self, role: Role, text: &str, told: Option<u64>) -> Option<Command> {
        self.session.as_ref()?;
        let text = Said::cut(&privacy::redacted(text, &self.context.secrets()))?;
        Some(Command::RecordTurn(RecordTurn { role, text, told }))
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

    /// The way to the writer. What it reads of the processes above, it reads once.
    fn front(&self) -> Result<Front, Failure> {
        if let Some(front) = self.front.get() {
            return Ok(front.clone());
        }
        let front = self.context.front()?;
        Ok(self.front.get_or_init(|| front).clone())
    }

    fn submit(&self, commands: Vec<Command>) -> Result<Vec<Receipt>, Failure> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let front = self.front()?;
        let submissions = self.submissions(commands);
        block_on(async {
            let receipts = front.submit_in_a_hurry(submissions).await?;
            // One start of a writer a turn is enough for a session without an MCP server.
            let is_prompt = matches!(self.call.moment, Moment::Prompt { .. });
            if is_prompt && receipts.iter().any(|receipt| receipt.state == Acceptance::Queued) {
                front.wake_writer().await;
            }
            Ok(receipts)
        })
    }

    /// Records something without waiting for the writer: the client waits for the end of this process.
    fn leave(&self, command: Command) -> Result<(), Failure> {
        let front = self.front()?;
        block_on(async {
            for submission in self.submissions(vec![command]) {
                front.leave(submission).await?;
            }
            Ok(())
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

/// Whether a session that starts like this has lost what it was told.
fn forgets(source: Option<&str>) -> bool {
    matches!(source, Some("compact" | "clear"))
}

/// The message to a session whose seat another pane took in its absence. Empty for other sessions.
fn moved(receipts: &[Receipt]) -> String {
    let warnings = receipts.iter().flat_map(|receipt| &receipt.warnings);
    let moved = warnings.filter(|warning| warning.code == WarningCode::SeatTaken);
    moved.map(|warning| format!("\nhivemind: {}.", warning.message)).collect()
}
