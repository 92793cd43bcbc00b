//! Read-only handles on both databases, opened when first needed and again when a file was replaced.

mod past;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::text::UserName;
use crate::domain::time::{Moment, Timestamp};
use crate::imports::Imports;
use crate::ledger;
use crate::standing::{self, Standing};
use crate::store::{self, LeftOut, StoreError};
use crate::workspace::Workspace;

use self::past::Folded;
pub use self::past::Pasts;

/// What a front reads from. Reading never writes and never waits for the writer.
#[derive(Debug)]
pub struct Reads {
    workspace: Workspace,
    /// The id of the memory that is read; none while there is none.
    memory: Option<String>,
    state_home: Option<PathBuf>,
    /// The person who reads: the only one whose space is read.
    user: Option<UserName>,
    /// Whether what is folded is enough, and nothing is compared with the ledger.
    is_quick: bool,
    /// How the ledger stands, if that was looked at for good.
    standing: Option<Standing>,
    /// Whether it serves many searches.
    is_lasting: bool,
    ledger: Option<(FileId, ledger::Reader)>,
    store: Option<(FileId, store::Reader)>,
    past: Option<Past>,
}

/// A moment in the past, and its read models.
#[derive(Debug)]
struct Past {
    folded: Arc<Folded>,
    seq: u64,
    /// What the clock showed then.
    at: Timestamp,
    /// The moment that was asked for.
    moment: Moment,
}

/// Why there is no going back.
#[derive(Debug, thiserror::Error)]
pub enum TravelError {
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] ledger::LedgerError),
    /// The past cannot be folded.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no room for it.
    #[error("cannot fold the past in a temporary directory: {0}")]
    Io(#[from] std::io::Error),
    /// Nothing is known of that moment.
    #[error(transparent)]
    Unknown(#[from] UnknownMoment),
}

/// A moment of which nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnknownMoment {
    /// There is no such event yet.
    #[error("the ledger ends at event {head}: there is no event {seq}")]
    BeyondHead {
        /// The event that was asked for.
        seq: u64,
        /// The last one.
        head: u64,
    },
    /// The ledger begins later.
    #[error("the ledger begins at {first}: nothing is known of {at}")]
    BeforeFirst {
        /// The time that was asked for.
        at: Timestamp,
        /// When its first event happened.
        first: Timestamp,
    },
    /// It is yet to come.
    #[error("{at} is yet to come: it is {now}")]
    Future {
        /// The time that was asked for.
        at: Timestamp,
        /// The time now.
        now: Timestamp,
    },
    /// Nothing was ever written.
    #[error("the ledger holds no event: it has no past")]
    Empty,
}

/// The file, and whether it has a log: a handle opened where none could be looked into would never see one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64, bool);

impl Reads {
    /// Nothing is opened yet.
    pub fn of(workspace: Workspace) -> Self {
        let memory = workspace.id();
        Self {
            workspace,
            memory,
            state_home: None,
            user: None,
            is_quick: false,
            standing: None,
            is_lasting: false,
            ledger: None,
            store: None,
            past: None,
        }
    }

    /// Also knows what this machine has sealed; `state_home` is [`crate::system::Environment::state_home`].
    #[must_use]
    pub fn knowing(self, state_home: Option<PathBuf>) -> Self {
        Self { state_home, ..self }
    }

    /// Also reads the space of this person. Without one, no space of a person is read.
    #[must_use]
    pub fn seen_by(self, user: Option<UserName>) -> Self {
        Self { user, ledger: None, store: None, ..self }
    }

    /// The person who reads.
    pub const fn user(&self) -> Option<&UserName> {
        self.user.as_ref()
    }

    /// Answers from what is folded without a look at the ledger: for hooks before and after a tool, which a client waits
    /// for each time. That the ledger is ahead of the read models for good, a session hears at its start.
    #[must_use]
    pub fn quick(self) -> Self {
        Self { is_quick: true, ..self }
    }

    /// Looks at the ledger once more, and answers from what is folded from then on: for the start of a session, which has
    /// many questions at one moment. What cannot be read is looked at each time.
    pub fn settle(&mut self) {
        if matches!(self.store(), Ok(Some(_))) {
            self.standing = self.standing().ok();
            self.is_quick = true;
        }
    }

    /// Keeps in memory what many searches need: for a front that lives as long as its client.
    #[must_use]
    pub fn lasting(self) -> Self {
        Self { is_lasting: true, store: None, ..self }
    }

    /// The directory of the user's state, where it is known.
    pub fn state_home(&self) -> Option<&Path> {
        self.state_home.as_deref()
    }

    /// How the ledger stands against what was seen of it; of the past nothing is known.
    ///
    /// # Errors
    /// [`ledger::LedgerError`] when the ledger cannot be read.
    pub fn standing(&mut self) -> Result<Standing, ledger::LedgerError> {
        if self.past.is_some() {
            return Ok(Standing::default());
        }
        if let Some(standing) = &self.standing {
            return Ok(standing.clone());
        }
        let folded = standing::folded(self.store().ok().flatten());
        let (workspace, state_home) = (self.workspace.clone(), self.state_home.clone());
        Standing::between(folded, self.ledger()?, &workspace, state_home.as_deref())
    }

    /// The same workspace as it was then, on the clock of then: the ledger is folded up to there into a temporary
    /// database. A position in the middle of a command's events means the last of them.
    ///
    /// # Errors
    /// [`TravelError`].
    pub fn at(&mut self, moment: Moment, now: Timestamp) -> Result<Self, TravelError> {
        let (seq, at) = self.place_of(moment, now)?;
        let folded = Arc::new(Folded::until(self.ledger()?, seq, None)?);
        Ok(self.showing(Past { folded, seq, at, moment }))
    }

    /// [`Reads::at`], folded from the nearest state that was kept.
    ///
    /// # Errors
    /// [`TravelError`].
    pub fn at_from(&mut self, pasts: &Pasts, moment: Moment, now: Timestamp) -> Result<Self, TravelError> {
        let (seq, at) = self.place_of(moment, now)?;
        let folded = pasts.at(self, seq)?;
        Ok(self.showing(Past { folded, seq, at, moment }))
    }

    fn showing(&self, past: Past) -> Self {
        Self {
            workspace: self.workspace.clone(),
            memory: self.memory.clone(),
            state_home: self.state_home.clone(),
            user: self.user.clone(),
            is_quick: false,
            standing: None,
            is_lasting: false,
            ledger: None,
            store: None,
            past: Some(past),
        }
    }

    /// The last event at a moment, and what the clock showed then.
    fn place_of(&mut self, moment: Moment, now: Timestamp) -> Result<(u64, Timestamp), TravelError> {
        self.check(moment)?;
        let first = match self.ledger()? {
            Some(ledger) => ledger.at(1)?,
            None => None,
        };
        let (ledger, first) = match (self.ledger()?, first) {
            (Some(ledger), Some(first)) => (ledger, first),
            _ if moment == Moment::Seq(0) => return Ok((0, now)),
            _ => return Err(UnknownMoment::Empty.into()),
        };
        match moment {
            Moment::Seq(0) => Ok((0, first)),
            Moment::Seq(seq) => {
                let seq = ledger.end_of_batch(seq)?;
                Ok((seq, ledger.at(seq)?.unwrap_or(now)))
            }
            Moment::Time(at) if at > now => Err(UnknownMoment::Future { at, now }.into()),
            Moment::Time(at) if at < first => Err(UnknownMoment::BeforeFirst { at, first }.into()),
            Moment::Time(at) => Ok((ledger.seq_at(at)?, at)),
        }
    }

    /// Refuses a position that the ledger does not have. Any time is a bound of a list; what is asked as of then is
    /// looked at more closely.
    ///
    /// # Errors
    /// [`TravelError`].
    pub fn check(&mut self, moment: Moment) -> Result<(), TravelError> {
        let Moment::Seq(seq) = moment else { return Ok(()) };
        let head = self.events()?;
        if seq > head { Err(UnknownMoment::BeyondHead { seq, head }.into()) } else { Ok(()) }
    }

    /// Asks one state of the read models, on the clock of what is read; no answer while nothing was ever written.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn ask<T>(
        &mut self,
        now: Timestamp,
        questions: impl FnOnce(&store::Reader) -> Result<T, StoreError>,
    ) -> Result<(Option<T>, LeftOut), StoreError> {
        let now = self.clock(now);
        let Some(store) = self.store()? else { return Ok((None, LeftOut::default())) };
        store.snapshot(now, questions).map(|(answer, left_out)| (Some(answer), left_out))
    }

    /// What the clock shows: `now`, or the time of the past that is read.
    pub fn clock(&self, now: Timestamp) -> Timestamp {
        self.past.as_ref().map_or(now, |past| past.at)
    }

    /// The last event these reads may show; `None` for the present.
    pub fn horizon(&self) -> Option<u64> {
        self.past.as_ref().map(|past| past.seq)
    }

    /// The event that was asked for and the one that is shown, where the first is in the middle of a command's events.
    pub fn moved(&self) -> Option<(u64, u64)> {
        let past = self.past.as_ref()?;
        match past.moment {
            Moment::Seq(asked) if asked != past.seq => Some((asked, past.seq)),
            Moment::Seq(_) | Moment::Time(_) => None,
        }
    }

    /// The workspace read from.
    pub const fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The ledger; `None` while nothing was ever written.
    ///
    /// # Errors
    /// [`ledger::LedgerError`] when the file is there and cannot be read.
    pub fn ledger(&mut self) -> Result<Option<&ledger::Reader>, ledger::LedgerError> {
        let path = self.workspace.ledger();
        let id = file_id(&path);
        if self.memory.is_none() {
            self.memory = self.workspace.id();
        } else if self.memory != self.workspace.id() {
            // What may not be looked at says so. Else another one may lie there by now, and what it says is not what was
            // asked for.
            ledger::Reader::open(&path)?;
            return Err(ledger::LedgerError::Gone { path: self.workspace.memory().display().to_string() });
        }
        // Without an id it is not there, or may not be looked at: opening says which.
        if id.is_none() || self.ledger.as_ref().map(|(opened, _)| *opened) != id {
            let user = self.user.clone();
            self.ledger = id.zip(ledger::Reader::open(&path)?.map(|reader| reader.seen_by(user)));
        }
        Ok(self.ledger.as_ref().map(|(_, reader)| reader))
    }

    /// The ledger where it can be read: for what an answer from the read models shows beside the claims, and goes
    /// without where the ledger is damaged.
    pub fn readable_ledger(&mut self) -> Option<&ledger::Reader> {
        self.ledger().ok().flatten()
    }

    /// The read models; `None` while nothing was ever written.
    ///
    /// # Errors
    /// [`StoreError`] when they cannot be read, are not there although events are, or hold less than the ledger for
    /// good, because only a newer version can fold what follows.
    pub fn store(&mut self) -> Result<Option<&store::Reader>, StoreError> {
        let path = match &self.past {
            Some(past) => past.folded.store(),
            None => self.workspace.team_memory(),
        };
        let id = file_id(&path);
        if id.is_none() || self.store.as_ref().map(|(opened, _)| *opened) != id {
            self.store = None;
            match store::Reader::open(&path) {
                // Tables that nothing was ever folded into are those of a writer that is just starting.
                Err(StoreError::Unmade) if self.events()? == 0 => return Ok(None),
                opened => {
                    let user = self.user.clone();
                    let lasts = |reader: store::Reader| {
                        if self.is_lasting { reader.for_many_searches() } else { reader }
                    };
                    self.store = id.zip(opened?.map(|reader| lasts(reader.seen_by(user))));
                }
            }
        }
        if self.past.is_none() && !self.is_quick {
            let folded = self.store.as_ref().map(|(_, store)| store.folded()).transpose()?;
            let folded = folded.map_or(0, |folded| folded.seq);
            let events = match self.events() {
                // What is folded can be read, whatever befell the ledger since.
                Err(error)
                    if folded > 0
                        && !matches!(
                            error,
                            ledger::LedgerError::Newer { .. } | ledger::LedgerError::Gone { .. }
                        ) =>
                {
                    folded
                }
                events => events?,
            };
            if folded < events {
                if let Some(ledger) = self.ledger()? {
                    ledger.check_known(folded)?;
                }
                if folded == 0 {
                    return Err(StoreError::Unmade);
                }
            }
        }
        if let Some((_, reader)) = &self.store {
            reader.mark(Imports::load(&self.workspace.imports()));
        }
        Ok(self.store.as_ref().map(|(_, reader)| reader))
    }

    /// How many events there are.
    fn events(&mut self) -> Result<u64, ledger::LedgerError> {
        Ok(self.ledger()?.map(ledger::Reader::head).transpose()?.map_or(0, |head| head.seq))
    }
}

/// Tells a file from another one put in its place.
fn file_id(path: &Path) -> Option<FileId> {
    let metadata = std::fs::metadata(path).ok()?;
    let has_log = crate::sqlite::has_log(path);
    #[cfg(unix)]
    return {
        use std::os::unix::fs::MetadataExt;
        Some(FileId(metadata.dev(), metadata.ino(), has_log))
    };
    #[cfg(not(unix))]
    return Some(FileId(0, metadata.created().ok()?.elapsed().map_or(0, |age| age.as_secs()), has_log));
}
