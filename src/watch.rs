//! `hm watch`: the memory in a terminal, for the human beside the agents.

mod data;
mod draw;
mod feed;
mod state;

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use self::data::Data;
use self::draw::Look;
use self::state::{Action, Deed, Order, State};
use crate::acting;
use crate::config::Config;
use crate::domain::text::UserName;
use crate::domain::time::{Moment, Timestamp};
use crate::ledger::LedgerError;
use crate::reads::Reads;
use crate::steps::in_shell;
use crate::system;
use crate::views::ViewError;
use crate::workspace::Workspace;
use crate::writer::Front;

/// The shortest time between two looks at a ledger that grows all the time.
const APART: Duration = Duration::from_millis(250);
/// The time between two looks at whether the memory is still there, while no message comes.
const STILL_THERE: Duration = Duration::from_secs(1);

/// What the screen shows, and who may act there.
#[derive(Debug, Clone)]
pub struct Memory {
    /// The workspace.
    pub workspace: Workspace,
    /// Its settings.
    pub config: Config,
    /// The directory of the user's state.
    pub state_home: Option<PathBuf>,
    /// The person at this machine.
    pub user: Option<UserName>,
    /// The program that acts for the operator, and the reason for an override; none if the screen only shows.
    pub acts: Option<(PathBuf, Option<String>)>,
    /// The moment that is shown first, as it was typed; none for the present.
    pub at: Option<String>,
    /// Whether the screen has colours.
    pub colours: bool,
}

/// What the screen waits for.
enum Message {
    /// The ledger ends here now.
    Head(u64),
    /// A key, or another size.
    Terminal(Event),
    /// What an action said.
    Done(String),
    /// A signal, or the end of the terminal.
    Stop,
}

/// The terminal while it shows the screen. Dropping it puts the terminal back, and so does a panic.
struct Screen(DefaultTerminal);

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Shows the memory until the user ends it.
///
/// # Errors
/// The error of the terminal.
pub fn run(memory: Memory, front: Front) -> io::Result<()> {
    let (sender, messages) = channel();
    follow(front, sender.clone());
    let mut screen = Screen(ratatui::try_init()?);
    let keys = sender.clone();
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if keys.send(Message::Terminal(event)).is_err() {
                return;
            }
        }
        let _ = keys.send(Message::Stop);
    });
    Desk::new(memory, sender).serve(&mut screen.0, &messages)
}

/// Follows the ledger's head and the signals on a thread of their own.
fn follow(front: Front, sender: Sender<Message>) {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else {
            let _ = sender.send(Message::Stop);
            return;
        };
        runtime.block_on(async {
            let mut heads = front.watch();
            let follow = async {
                while let Some(head) = heads.changed().await {
                    if sender.send(Message::Head(head)).is_err() {
                        return;
                    }
                }
            };
            tokio::select! {
                () = follow => {}
                () = system::stop_signal() => {}
                () = system::hang_up() => {}
            }
            let _ = sender.send(Message::Stop);
        });
    });
}

/// The state of the screen, and what it shows.
struct Desk {
    memory: Memory,
    sender: Sender<Message>,
    state: State,
    data: Data,
    /// The past that is shown.
    past: Option<(Moment, Reads)>,
    reads: Reads,
    /// When the memory was read last.
    read_at: Instant,
    /// Whether the ledger grew since.
    is_behind: bool,
    /// Whether the memory is gone.
    is_lost: bool,
}

impl Desk {
    fn new(memory: Memory, sender: Sender<Message>) -> Self {
        let state = State::new(memory.acts.is_some(), memory.at.clone(), system::now());
        let reads = reads_of(&memory);
        let (data, past, read_at) = (Data::default(), None, system::instant());
        Self { memory, sender, state, data, past, reads, read_at, is_behind: false, is_lost: false }
    }

    fn serve(&mut self, terminal: &mut DefaultTerminal, messages: &Receiver<Message>) -> io::Result<()> {
        self.refresh();
        loop {
            let look = Look { has_colours: self.memory.colours };
            terminal.draw(|frame| draw::screen(frame, &self.state, &self.data, look))?;
            let mut is_changed = false;
            while !is_changed {
                let Some(message) = self.next(messages) else {
                    self.refresh();
                    break;
                };
                for message in std::iter::once(message).chain(messages.try_iter().collect::<Vec<_>>()) {
                    match self.take(message) {
                        Some(changed) => is_changed |= changed,
                        None => return Ok(()),
                    }
                }
            }
        }
    }

    /// The next message. None when it is time to read the memory again.
    fn next(&mut self, messages: &Receiver<Message>) -> Option<Message> {
        loop {
            let wait =
                if self.is_behind { APART.saturating_sub(self.read_at.elapsed()) } else { STILL_THERE };
            match messages.recv_timeout(wait) {
                Ok(message) => return Some(message),
                Err(RecvTimeoutError::Timeout) if self.is_behind || self.lost_or_found() => return None,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Some(Message::Stop),
            }
        }
    }

    /// Whether the memory is gone, or back again. The past that is shown stays as it is.
    fn lost_or_found(&mut self) -> bool {
        let was_lost = self.is_lost;
        self.is_lost = self.past.is_none() && matches!(self.reads.ledger(), Err(LedgerError::Gone { .. }));
        if was_lost && !self.is_lost {
            self.state.note = None;
        }
        was_lost || self.is_lost
    }

    /// Takes a message, and returns whether the screen changes. None at the end.
    fn take(&mut self, message: Message) -> Option<bool> {
        match message {
            Message::Stop => return None,
            Message::Head(head) => {
                // The past stays as it is.
                self.is_behind |= self.past.is_none() && head != self.data.head;
                return Some(false);
            }
            Message::Done(said) => self.state.done(&said),
            Message::Terminal(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                let (state, action) = std::mem::take(&mut self.state).pressed(key, &self.data, system::now());
                self.state = state;
                match action {
                    Action::Nothing => {}
                    Action::Quit => return None,
                    Action::Load => self.refresh(),
                    Action::Fit(claim) => {
                        let fitting = data::fitting(&mut self.reads, &self.memory.workspace, &claim);
                        self.state.fitted(claim, fitting);
                    }
                    Action::Do(order) => self.act(order),
                }
            }
            Message::Terminal(Event::Resize(..)) => {}
            Message::Terminal(_) => return Some(false),
        }
        Some(true)
    }

    /// Reads what the page shows. After an error the screen says why; the page that was shown stays, another one is empty.
    fn refresh(&mut self) {
        self.is_behind = false;
        let loaded = self.moment().and_then(|moment| {
            let now = system::now();
            let reads = match moment {
                None => {
                    self.past = None;
                    &mut self.reads
                }
                Some(moment) => {
                    if self.past.as_ref().is_none_or(|(shown, _)| *shown != moment) {
                        let past =
                            self.reads.at(moment, now).map_err(|error| ViewError::from(error).to_string())?;
                        self.past = Some((moment, past));
                    }
                    self.past.as_mut().map_or(&mut self.reads, |(_, reads)| reads)
                }
            };
            Data::load(reads, &self.memory.config, self.state.page(), now)
                .map_err(|refused| in_shell(&refused.to_string()).into_owned())
        });
        match loaded {
            Ok(data) => {
                self.data = data;
                self.state.arrived(&self.data);
            }
            Err(problem) => {
                self.is_lost =
                    self.past.is_none() && matches!(self.reads.ledger(), Err(LedgerError::Gone { .. }));
                self.data.keep_for(self.state.page());
                self.state.failed(&problem);
            }
        }
        self.read_at = system::instant();
    }

    /// The moment that is shown; none for the present.
    fn moment(&self) -> Result<Option<Moment>, String> {
        let parsed = self.state.moment().map(|text| Moment::parse(text, self.typed_at())).transpose();
        parsed.map_err(|problem| problem.to_string())
    }

    /// An age is counted from the time at which it was typed, so that the moment stays the same.
    fn typed_at(&self) -> Timestamp {
        self.state.typed_at().unwrap_or_else(system::now)
    }

    /// Runs the command of an order, as the operator typed it.
    fn act(&mut self, order: Order) {
        let Some((program, why)) = self.memory.acts.clone() else { return };
        let (sender, mut reads) = (self.sender.clone(), reads_of(&self.memory));
        let root = self.memory.workspace.root().to_owned();
        std::thread::spawn(move || {
            let planned = match order.deed {
                Deed::Run(words) => Ok(words),
                deed @ (Deed::Support | Deed::Challenge | Deed::Deprecate | Deed::Accept | Deed::Decline) => {
                    let deed = deed.word().to_owned();
                    let asked = acting::Asked { deed, about: order.about, reason: order.reason };
                    acting::planned(&mut reads, &asked)
                }
            };
            let said = match planned {
                Ok(words) => {
                    let overrides = why.into_iter().flat_map(|why| ["--operator-override".to_owned(), why]);
                    let words: Vec<String> = overrides.chain(words).collect();
                    // The terminal as input shows that a human acts.
                    let mut command = acting::command(&program, &root, &words);
                    acting::said(command.stdin(Stdio::inherit()).output())
                }
                Err(refused) => in_shell(&refused.to_string()).into_owned(),
            };
            let _ = sender.send(Message::Done(said));
        });
    }
}

fn reads_of(memory: &Memory) -> Reads {
    Reads::of(memory.workspace.clone()).knowing(memory.state_home.clone()).seen_by(memory.user.clone())
}
