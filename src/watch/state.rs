//! The state of the screen, pure: a state, a key and what is shown give the next state and an action.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::data::{Data, Item, Subject};
use crate::domain::time::Timestamp;
use crate::domain::way;

/// The longest typed text, in characters.
const TYPED_CHARS: usize = 2_000;
/// Entries that a page key moves by.
const PAGE: usize = 10;

/// What is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Page {
    /// Who is there, what needs somebody, and the feed.
    Board,
    /// The hits of a search.
    Found(String),
    /// One claim, by its name.
    Claim(String),
}

/// What the operator does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Deed {
    Support,
    Challenge,
    Deprecate,
    Accept,
    Decline,
    /// A run, with the words of its command.
    Run(Vec<String>),
}

impl Deed {
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Support => "support",
            Self::Challenge => "challenge",
            Self::Deprecate => "deprecate",
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Run(_) => "run",
        }
    }
}

/// An action before it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) deed: Deed,
    /// The name of the claim, or the key of the proposal.
    pub(super) about: String,
    /// The command, as it would be typed.
    pub(super) line: String,
    /// The typed reason; empty without one.
    pub(super) reason: String,
}

impl Order {
    fn needs_reason(&self) -> bool {
        self.line.contains(way::REASON) || self.line.split(' ').any(|word| word == "REASON")
    }
}

/// What a typed text is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    Search,
    Moment,
    Reason(Order),
}

/// What the keys mean now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Look,
    /// The page of keys.
    Keys,
    /// An order waits for `y`.
    Ask(Order),
    /// A text is typed.
    Type(Field, String),
}

/// What the program does after a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    /// Read the page that is looked at.
    Load,
    /// Find the run that can settle a claim.
    Fit(String),
    Do(Order),
    Quit,
}

/// The place in a page.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    /// The position of the selected entry, and its id: entries move while others write.
    pub(super) selected: usize,
    id: Option<String>,
    /// Lines of a claim above the screen.
    pub(super) scroll: usize,
}

/// The state of the screen.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// The open pages above the board, the last on top, each with the place to come back to.
    pages: Vec<(Page, Place)>,
    pub(super) mode: Mode,
    pub(super) place: Place,
    /// What the last action said, or a problem.
    pub(super) note: Option<String>,
    /// The moment that is shown, as it was typed, and when it was typed.
    moment: Option<(String, Timestamp)>,
    /// Whether the keys act.
    pub(super) acts: bool,
    /// The command that runs.
    pub(super) running: Option<String>,
}

impl State {
    pub(super) fn new(acts: bool, at: Option<String>, now: Timestamp) -> Self {
        Self { acts, moment: at.map(|at| (at, now)), ..Self::default() }
    }

    pub(super) fn page(&self) -> &Page {
        self.pages.last().map_or(&Page::Board, |(page, _)| page)
    }

    pub(super) fn moment(&self) -> Option<&str> {
        self.moment.as_ref().map(|(moment, _)| moment.as_str())
    }

    pub(super) fn typed_at(&self) -> Option<Timestamp> {
        self.moment.as_ref().map(|(_, at)| *at)
    }

    /// New content: the same entry stays selected.
    pub(super) fn arrived(&mut self, data: &Data) {
        let kept = data.items.iter().position(|item| Some(&item.id) == self.place.id.as_ref());
        self.select(kept.unwrap_or(self.place.selected), data);
    }

    /// The page could not be read. A moment that is unknown is left again.
    pub(super) fn failed(&mut self, problem: &str) {
        self.note = Some(problem.to_owned());
        self.moment = None;
    }

    /// What an action said at its end.
    pub(super) fn done(&mut self, said: &str) {
        self.running = None;
        self.note = Some(said.to_owned());
    }

    /// The run that fits a claim, or why there is none.
    pub(super) fn fitted(&mut self, claim: String, fitting: Result<(String, Vec<String>), String>) {
        match fitting {
            Ok((line, words)) => {
                let order = Order { deed: Deed::Run(words), about: claim, line, reason: String::new() };
                self.mode = Mode::Ask(order);
            }
            Err(problem) => self.note = Some(problem),
        }
    }

    /// The next state after a key, and what is to be done.
    pub(super) fn pressed(mut self, key: KeyEvent, data: &Data, now: Timestamp) -> (Self, Action) {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return (self, Action::Quit);
        }
        let action = match std::mem::take(&mut self.mode) {
            Mode::Look => {
                self.note = None;
                self.looked(key.code, data)
            }
            Mode::Keys => Action::Nothing,
            Mode::Ask(order) if matches!(key.code, KeyCode::Char('y' | 'Y')) => self.ordered(order),
            Mode::Ask(_) => {
                self.note = Some("nothing was done".to_owned());
                Action::Nothing
            }
            Mode::Type(field, text) => self.typed(key.code, field, text, now),
        };
        (self, action)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "other keys do nothing")]
    fn looked(&mut self, key: KeyCode, data: &Data) -> Action {
        match key {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Char('?') => self.mode = Mode::Keys,
            KeyCode::Char('/') => self.mode = Mode::Type(Field::Search, String::new()),
            KeyCode::Char('t') => self.mode = Mode::Type(Field::Moment, String::new()),
            KeyCode::Enter => return self.open(data),
            KeyCode::Esc => return self.back(),
            KeyCode::Char(letter @ ('s' | 'c' | 'd' | 'a' | 'r')) => return self.deed(letter, data),
            KeyCode::Up | KeyCode::Char('k') => self.go(-1, data),
            KeyCode::Down | KeyCode::Char('j') => self.go(1, data),
            KeyCode::PageUp => self.go(-(PAGE as isize), data),
            KeyCode::PageDown => self.go(PAGE as isize, data),
            KeyCode::Home => self.go(isize::MIN / 2, data),
            KeyCode::End => self.go(isize::MAX / 2, data),
            _ => {}
        }
        Action::Nothing
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "other keys type nothing")]
    fn typed(&mut self, key: KeyCode, field: Field, mut text: String, now: Timestamp) -> Action {
        match key {
            KeyCode::Esc => return Action::Nothing,
            KeyCode::Enter => return self.entered(field, text.trim().to_owned(), now),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(c) if !c.is_control() && text.chars().count() < TYPED_CHARS => text.push(c),
            _ => {}
        }
        self.mode = Mode::Type(field, text);
        Action::Nothing
    }

    fn entered(&mut self, field: Field, text: String, now: Timestamp) -> Action {
        match field {
            Field::Search if text.is_empty() => return Action::Nothing,
            Field::Search => self.show(Page::Found(text)),
            Field::Moment => {
                self.moment = Some((text, now)).filter(|(text, _)| !text.is_empty());
                self.place.scroll = 0;
            }
            Field::Reason(_) if text.is_empty() => {
                self.note = Some("nothing was done: this needs a reason".to_owned());
                return Action::Nothing;
            }
            Field::Reason(order) => return self.ordered(Order { reason: text, ..order }),
        }
        Action::Load
    }

    fn ordered(&mut self, order: Order) -> Action {
        self.running = Some(order.line.clone());
        Action::Do(order)
    }

    fn show(&mut self, page: Page) {
        self.pages.push((page, std::mem::take(&mut self.place)));
    }

    fn open(&mut self, data: &Data) -> Action {
        let claim = self.subject(data).and_then(|subject| subject.claim.clone());
        match claim.filter(|_| !matches!(self.page(), Page::Claim(_))) {
            Some(claim) => {
                self.show(Page::Claim(claim));
                Action::Load
            }
            None => {
                self.note = Some("there is no claim to open here".to_owned());
                Action::Nothing
            }
        }
    }

    fn back(&mut self) -> Action {
        match self.pages.pop() {
            Some((_, below)) => self.place = below,
            None if self.moment.take().is_none() => return Action::Nothing,
            // The same entry stays selected, as on the way into the past.
            None => {}
        }
        Action::Load
    }

    fn subject<'d>(&self, data: &'d Data) -> Option<&'d Subject> {
        match self.page() {
            Page::Claim(_) => data.subject.as_ref(),
            Page::Board | Page::Found(_) => data.items.get(self.place.selected).map(|item| &item.subject),
        }
    }

    /// A key that acts: it asks first.
    fn deed(&mut self, letter: char, data: &Data) -> Action {
        let refused = if !self.acts {
            Some("only the operator acts here: a human who starts hm watch in a terminal of their own")
        } else if self.moment.is_some() {
            Some("the past is not changed: Esc comes back to now")
        } else if self.running.is_some() {
            Some("wait for the end of the last action")
        } else {
            None
        };
        let subject = self.subject(data);
        let order = |deed: Deed, about: &str, line: String| Order {
            deed,
            about: about.to_owned(),
            line,
            reason: String::new(),
        };
        let found = subject.and_then(|subject| match (letter, &subject.proposal, &subject.claim) {
            ('a', Some(asked), _) => Some(order(Deed::Accept, &asked.key, asked.accept.clone())),
            ('d', Some(asked), _) => Some(order(Deed::Decline, &asked.key, asked.decline.clone())),
            ('s', _, Some(claim)) => Some(order(Deed::Support, claim, format!("hm claim support {claim}"))),
            ('c', _, Some(claim)) => {
                Some(order(Deed::Challenge, claim, format!("hm claim challenge {claim} --reason REASON")))
            }
            ('d', _, Some(claim)) => {
                Some(order(Deed::Deprecate, claim, format!("hm claim deprecate {claim} --reason REASON")))
            }
            _ => None,
        });
        let run = subject.and_then(|subject| subject.claim.clone()).filter(|_| letter == 'r');
        match (refused, found, run) {
            (Some(refused), ..) => self.note = Some(refused.to_owned()),
            (None, Some(order), _) if order.needs_reason() => {
                self.mode = Mode::Type(Field::Reason(order), String::new());
            }
            (None, Some(order), _) => self.mode = Mode::Ask(order),
            (None, None, Some(claim)) => return Action::Fit(claim),
            (None, None, None) => self.note = Some("this key settles nothing here".to_owned()),
        }
        Action::Nothing
    }

    fn go(&mut self, by: isize, data: &Data) {
        if matches!(self.page(), Page::Claim(_)) {
            self.place.scroll = self.place.scroll.saturating_add_signed(by).min(data.text.len() * 2);
        } else {
            self.select(self.place.selected.saturating_add_signed(by), data);
        }
    }

    fn select(&mut self, at: usize, data: &Data) {
        self.place.selected = at.min(data.items.len().saturating_sub(1));
        self.place.id = data.items.get(self.place.selected).map(|item: &Item| item.id.clone());
    }
}
