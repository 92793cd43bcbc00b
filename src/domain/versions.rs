//! What the files of a claim's scopes held when something was said about the claim: a claim is about a version.

mod witness;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::agent::AgentId;
use super::checkout::Checkout;
use super::claim::{Position, ReportKind};
use super::commit::CommitName;
use super::event::{ClaimCreated, Event, EventReported, FileEdited, PositionTaken, Recorded};
use super::experiment::{Disturbed, RunOutcome};
use super::ids::{RunId, SessionId};
use super::scope::Scope;
use super::state::{Claim, Run, State};
use super::text::Worktree;
use super::time::Timestamp;

pub use self::witness::{
    Looks, MeantAgain, NO_FILE, Unlike, instead_of_a_run, unlike_claim, unlike_new, way_forward, witnessed,
};

/// The largest file that has a version, in bytes, and the most bytes of large files that are read for one claim: reading
/// them takes some 50 ms.
pub const MAX_FILE_BYTES: u64 = 64 << 20;
/// How a missing file is written down.
const ABSENT: &str = "absent";

/// What a file held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Content {
    /// There was no such file.
    Absent,
    /// The SHA-256 of its bytes.
    Sha256([u8; 32]),
}

/// Text that is no content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a version is `{ABSENT}` or a SHA-256 in hex")]
pub struct BadContent;

impl TryFrom<String> for Content {
    type Error = BadContent;

    fn try_from(text: String) -> Result<Self, BadContent> {
        if text == ABSENT {
            return Ok(Self::Absent);
        }
        let mut hash = [0; 32];
        hex::decode_to_slice(text, &mut hash).map_err(|_| BadContent)?;
        Ok(Self::Sha256(hash))
    }
}

impl From<Content> for String {
    fn from(content: Content) -> Self {
        match content {
            Content::Absent => ABSENT.to_owned(),
            Content::Sha256(hash) => hex::encode(hash),
        }
    }
}

/// What the files of some scopes held. A scope that is a directory, a symbol or a tag has no version and is not in it.
pub type Versions = BTreeMap<Scope, Content>;

/// What was seen of the files at a position of the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sight {
    /// The position.
    pub seq: u64,
    /// What the files held.
    pub versions: Versions,
    /// The work tree in which a front looked at them, where that is known.
    pub seen_in: Option<Checkout>,
}

impl Sight {
    /// Whether the files were looked at in another work tree than this one.
    fn is_of_other_tree(&self, worktree: Option<&Worktree>) -> bool {
        self.seen_in.as_ref().is_some_and(|there| there.worktree.as_ref() != worktree)
    }
}

/// What was seen of a claim's files by the agents that speak about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sights {
    created: Sight,
    challenges: BTreeMap<AgentId, Sight>,
    supports: BTreeMap<AgentId, Sight>,
    /// The last time that its owner or a challenger said that it is still meant.
    still: Option<Sight>,
}

impl Sights {
    /// A new claim.
    pub(super) fn of(seq: u64, created: &ClaimCreated) -> Self {
        let (versions, seen_in) = (created.versions.clone(), created.seen_in.clone());
        Self { created: Sight { seq, versions, seen_in }, ..Self::default() }
    }

    /// A position was taken, or said to be still meant.
    pub(super) fn took(&mut self, seq: u64, agent: &AgentId, taken: &PositionTaken) {
        let sight = Sight { seq, versions: taken.versions.clone(), seen_in: taken.seen_in.clone() };
        if taken.still {
            // No agent moves the challenge of another one.
            for name in taken.speaks_for(agent) {
                if let Some(own) = self.challenges.get_mut(name) {
                    own.clone_from(&sight);
                }
            }
            if !taken.aside {
                self.still = Some(sight);
            }
            return;
        }
        match taken.position {
            Position::Challenge => self.challenges.insert(agent.clone(), sight),
            Position::Support => self.supports.insert(agent.clone(), sight),
            Position::Abstain => None,
        };
    }

    /// An agent takes another position.
    pub(super) fn forget(&mut self, agent: &AgentId) {
        self.challenges.remove(agent);
        self.supports.remove(agent);
    }

    /// Where the ledger has the last word of its owner, or of a challenger, on what the claim means.
    pub(super) fn last_meant(&self) -> u64 {
        self.still.as_ref().map_or(0, |still| still.seq).max(self.created.seq)
    }

    /// Whether an agent supported the claim before the last `still`, and saw other content.
    pub(super) fn is_before_change(&self, agent: &AgentId) -> bool {
        let (Some(still), Some(saw)) = (&self.still, self.supports.get(agent)) else { return false };
        saw.seq < still.seq && differ(&saw.versions, &still.versions)
    }

    /// Whether the content that an agent supported differs from this.
    pub(super) fn saw_other(&self, agent: &AgentId, versions: &Versions) -> bool {
        self.supports.get(agent).is_some_and(|saw| differ(&saw.versions, versions))
    }

    /// What the files held when the claim was made, or last said to be still meant.
    pub(super) fn last_versions(&self) -> &Versions {
        &self.meant().0.versions
    }

    /// What a run must have seen to say something about the claim.
    fn meant(&self) -> (&Sight, Since) {
        self.still.as_ref().map_or((&self.created, Since::Claim), |still| (still, Since::Still))
    }

    /// Whether the claim is meant of the files of another work tree than this one.
    pub(super) fn is_meant_elsewhere(&self, worktree: Option<&Worktree>) -> bool {
        self.meant().0.is_of_other_tree(worktree)
    }

    /// What a run must have seen to answer the challenges that stood at a position of the ledger, the latest first.
    fn open(&self, answered: &BTreeSet<AgentId>, until: u64) -> Vec<(&AgentId, &Sight, Since)> {
        let open = self.challenges.iter();
        let open = open.filter(|(agent, sight)| !answered.contains(*agent) && sight.seq <= until);
        let mut open: Vec<(&AgentId, &Sight)> = open.collect();
        open.sort_by_key(|(_, sight)| std::cmp::Reverse(sight.seq));
        let since = |(agent, sight): (&AgentId, &'_ Sight)| {
            let is_still = self.still.as_ref().is_some_and(|still| still.seq == sight.seq);
            if is_still { Since::Still } else { Since::Challenge(agent.clone()) }
        };
        open.into_iter().map(|(agent, sight)| (agent, sight, since((agent, sight)))).collect()
    }

    /// The position of the first challenge that no proof answered.
    pub(super) fn first_open_challenge(&self, answered: &BTreeSet<AgentId>) -> Option<u64> {
        let open = self.challenges.iter().filter(|(agent, _)| !answered.contains(*agent));
        open.map(|(_, sight)| sight.seq).min()
    }

    /// The work tree in which an agent looked when it last challenged the claim, where that is known.
    pub(super) fn challenged_in(&self, agent: &AgentId) -> Option<&Checkout> {
        self.challenges.get(agent)?.seen_in.as_ref()
    }

    /// Whether an agent challenged the claim, or said that its challenge is still meant, after a position of the ledger.
    pub(super) fn is_challenged_after(&self, agent: &AgentId, seq: u64) -> bool {
        self.challenges.get(agent).is_some_and(|sight| sight.seq > seq)
    }
}

/// Whether a file of both holds something else.
pub fn differ(before: &Versions, now: &Versions) -> bool {
    before.iter().any(|(scope, content)| now.get(scope).is_some_and(|holds| holds != content))
}

/// The files of a claim that are not there, as the beginning of a sentence. `None` if all are.
pub fn missing(versions: &Versions) -> Option<String> {
    let missing = versions.iter().filter(|(_, content)| **content == Content::Absent);
    let missing: Vec<String> = missing.map(|(scope, _)| format!("`{scope}`")).collect();
    match missing.len() {
        0 => None,
        1 => Some(format!("{} does not exist", missing[0])),
        _ => Some(format!("{} do not exist", missing.join(", "))),
    }
}

/// The last edit of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Its ledger position.
    pub seq: u64,
    /// The agent that made it.
    pub agent: AgentId,
    /// The session it was made in.
    pub session: Option<SessionId>,
    /// When it was recorded.
    pub at: Timestamp,
    /// The commit that brought it; none for an edit that an agent reported or a hook saw.
    pub commit: Option<CommitName>,
}

impl Edit {
    /// Its agent, or its commit.
    pub fn by(&self) -> String {
        self.commit.as_ref().map_or_else(|| self.agent.to_string(), CommitName::to_string)
    }
}

/// Who last edited each file, in each work tree, and what the ledger was told that the file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edits {
    last: BTreeMap<Option<Worktree>, BTreeMap<Scope, Edit>>,
    told: BTreeMap<Option<Worktree>, Versions>,
}

impl Edits {
    /// Folds an event that may say that files were edited, or what they hold.
    pub(super) fn evolve(&mut self, recorded: &Recorded) {
        let Some(event) = &recorded.event else { return };
        if let Event::FileEdited(FileEdited { checkout, paths, versions, .. }) = event {
            self.edit(recorded, checkout, paths, None);
            self.tell(paths, checkout.worktree.as_ref(), versions);
        } else if let Event::EventReported(report) = event
            && report.kind == ReportKind::FileEdited
        {
            let EventReported { checkout, paths, versions, .. } = report;
            self.edit(recorded, checkout, paths, None);
            self.tell(paths, checkout.worktree.as_ref(), versions);
        } else if let Event::CommitSeen(commit) = event {
            self.edit(recorded, &commit.checkout, &commit.changed, Some(&CommitName::of(commit)));
            self.tell(&commit.changed, commit.checkout.worktree.as_ref(), &commit.versions);
        } else if let Event::ClaimCreated(ClaimCreated { versions, seen_in, .. })
        | Event::PositionTaken(PositionTaken { versions, seen_in, .. }) = event
        {
            let worktree = seen_in.as_ref().and_then(|seen_in| seen_in.worktree.as_ref());
            self.tell(&[], worktree, versions);
        }
    }

    fn edit(
        &mut self,
        recorded: &Recorded,
        checkout: &Checkout,
        paths: &[Scope],
        commit: Option<&CommitName>,
    ) {
        let files = self.last.entry(checkout.worktree.clone()).or_default();
        for path in paths.iter().filter(|path| path.is_path()) {
            let Recorded { seq, at, agent, session, .. } = recorded;
            let (agent, session, commit) = (agent.clone(), session.clone(), commit.cloned());
            files.insert(path.clone(), Edit { seq: *seq, agent, session, at: *at, commit });
        }
    }

    /// These files hold this now. Of a changed file without a version it is not known.
    fn tell(&mut self, changed: &[Scope], worktree: Option<&Worktree>, versions: &Versions) {
        let told = self.told.entry(worktree.cloned()).or_default();
        told.retain(|path, _| !changed.contains(path));
        told.extend(versions.iter().map(|(path, content)| (path.clone(), *content)));
    }

    /// What the ledger was last told that a file of a work tree holds.
    pub(super) fn told(&self, worktree: Option<&Worktree>, path: &Scope) -> Option<Content> {
        self.told.get(&worktree.cloned())?.get(path).copied()
    }

    /// The last edit of a file, where it comes after a position of the ledger.
    pub(super) fn after(&self, seq: u64, worktree: Option<&Worktree>, path: &Scope) -> Option<&Edit> {
        self.last.get(&worktree.cloned())?.get(path).filter(|edit| edit.seq > seq)
    }

    /// Who last edited a file at or below a scope after a position of the ledger.
    fn below(&self, seq: u64, worktree: Option<&Worktree>, scope: &Scope) -> Option<String> {
        let files = self.last.get(&worktree.cloned())?;
        let mut below = files.iter().filter(|(path, edit)| edit.seq > seq && scope.covers(path));
        below.next().map(|(_, edit)| edit.by())
    }
}

/// Since when a file holds something else.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Since {
    Claim,
    Challenge(AgentId),
    /// The challenge of this agent is about other content than the claim had before and has now.
    Elsewhere(AgentId),
    /// The claim is about other content, in another work tree.
    ClaimElsewhere,
    /// The claim was said to be still meant of other content, in another work tree.
    StillElsewhere,
    /// The challenge of this agent is about a directory or pattern in another work tree, without a version.
    OtherTree(AgentId),
    Still,
    Queueing,
    /// The file may hold what it held when the run began.
    Run,
    /// A directory above the files was moved while the run was under way, and may be back.
    Moved,
    /// A directory above the files may have been moved while the run was under way.
    Touched,
    /// The file may have been written while the run was under way.
    FileTouched,
}

/// The end of a reason that another run settles, because the files may be as they were.
const RUN_AGAIN: &str = ": run it again";

/// Whether another run settles what a run left open for this reason.
pub fn is_to_run_again(undecided: &str) -> bool {
    undecided.ends_with(RUN_AGAIN)
}

/// The end of a reason where no scope of the claim has a version any more.
const UNVERSIONED_NOW: &str = ", and no scope of the claim has a version now";

/// The reason why a run says nothing about its claim. It tells if no scope has a version any more, so that `still` is no way
/// forward.
pub(super) fn why_undecided(change: &Change, run: &Run, claim: &Claim) -> String {
    let why = change.to_string();
    let had_version = !claim.sights.meant().0.versions.is_empty();
    let is_lost = had_version && run.saw.versions.is_empty() && !is_to_run_again(&why);
    if is_lost { why + UNVERSIONED_NOW } else { why }
}

/// Whether no scope of the claim had a version any more when a run was queued that was left undecided for this reason.
pub fn is_unversioned_now(undecided: &str) -> bool {
    undecided.ends_with(UNVERSIONED_NOW)
}

/// A file that holds something else than was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    scope: Scope,
    /// How many other files do.
    others: usize,
    by: Option<String>,
    since: Since,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope, others, by, since } = self;
        if let Since::Elsewhere(challenger) = since {
            write!(f, "the challenge by {challenger} saw other content of ")?;
        } else if let Since::OtherTree(challenger) = since {
            write!(f, "the challenge by {challenger} saw ")?;
        } else if *since == Since::ClaimElsewhere {
            f.write_str("the claim saw other content of ")?;
        } else if matches!(since, Since::Moved | Since::Touched) {
            f.write_str("the directory ")?;
        } else if *since == Since::StillElsewhere {
            f.write_str("the claim was said to be still meant of other content of ")?;
        }
        write!(f, "`{scope}`")?;
        match others {
            0 => {}
            1 => f.write_str(" and 1 more file")?,
            _ => write!(f, " and {others} more files")?,
        }
        let (changed, since) = match since {
            Since::Elsewhere(_) => return Ok(()),
            Since::ClaimElsewhere | Since::StillElsewhere => return f.write_str(" in another work tree"),
            Since::OtherTree(_) => return f.write_str(" in another work tree, and a run there answers it"),
            Since::Claim => (" changed", " since the claim"),
            Since::Challenge(_) => (" changed", " since the challenge"),
            Since::Still => (" changed", " since the claim was said to be still meant"),
            Since::Queueing => (" changed", " during the run"),
            Since::Run => (" was written", " during the run"),
            Since::Moved => (" was moved", " during the run"),
            Since::Touched => (" was touched", " during the run and may have been moved"),
            Since::FileTouched => (" was touched", " during the run and may have been written"),
        };
        f.write_str(changed)?;
        if let Some(agent) = by {
            write!(f, " by {agent}")?;
        }
        f.write_str(since)?;
        let is_during = matches!(self.since, Since::Run | Since::Moved | Since::Touched | Since::FileTouched);
        f.write_str(if is_during { RUN_AGAIN } else { "" })
    }
}

/// The first of the files that do not hold what was seen.
fn change(
    state: &State,
    worktree: Option<&Worktree>,
    (before, since): (&Sight, Since),
    now: &Versions,
) -> Option<Change> {
    // Earlier releases took a glob for the name of a file that is not there.
    let is_none = |(scope, content): &(&Scope, &Content)| scope.is_glob() && **content == Content::Absent;
    let differs = |seen: &(&Scope, &Content)| !is_none(seen) && now.get(seen.0) != Some(seen.1);
    // A front that looked found no version: it was a directory, say, or too large.
    let is_new = |scope: &&Scope| before.seen_in.is_some() && !before.versions.contains_key(*scope);
    let changed = before.versions.iter().filter(differs).map(|(scope, _)| scope);
    let mut changed = changed.chain(now.keys().filter(is_new));
    let scope = changed.next()?;
    let by = state.edits().after(before.seq, worktree, scope).map(Edit::by);
    Some(Change { scope: scope.clone(), others: changed.count(), by, since })
}

/// How the files that a run saw when it was queued differ from those of a claim, or from those of the challenge that a
/// claim which waits for the run has to answer. None where nothing was seen before: an older claim, or scopes without a version.
pub fn changed_since(
    state: &State,
    claim: &Claim,
    waits: Option<u64>,
    saw: &Versions,
    worktree: Option<&Worktree>,
) -> Option<Change> {
    let mut challenged =
        waits.into_iter().flat_map(|until| changed_challenges(state, claim, until, saw, worktree));
    let meant = || {
        let (sight, since) = claim.sights.meant();
        let mut change = change(state, worktree, (sight, since.clone()), saw)?;
        if change.by.is_none() && sight.is_of_other_tree(worktree) {
            let is_still = since == Since::Still;
            change.since = if is_still { Since::StillElsewhere } else { Since::ClaimElsewhere };
        }
        Some(change)
    };
    challenged.next().map(|(_, change)| change).or_else(meant)
}

/// How what a challenger saw differs from these files, for each open challenge that stood at a position of the ledger.
fn changed_challenges<'a>(
    state: &'a State,
    claim: &'a Claim,
    until: u64,
    saw: &'a Versions,
    worktree: Option<&'a Worktree>,
) -> impl Iterator<Item = (&'a AgentId, Change)> {
    let open = claim.sights.open(&claim.answered, until).into_iter();
    open.filter_map(move |(challenger, sight, since)| {
        let seen = (challenger, sight, since);
        Some((challenger, changed_challenge(state, claim, seen, saw, worktree)?))
    })
}

/// How what one challenger saw differs from these files.
fn changed_challenge(
    state: &State,
    claim: &Claim,
    (challenger, sight, since): (&AgentId, &Sight, Since),
    saw: &Versions,
    worktree: Option<&Worktree>,
) -> Option<Change> {
    let created = &claim.sights.created;
    let below = unversioned_change(state, worktree, claim, (sight, since.clone()));
    let Some(mut change) = change(state, worktree, (sight, since.clone()), saw).or(below) else {
        return unversioned_elsewhere(worktree, claim, (sight, since));
    };
    // A challenger in another work tree sees other content there. The files of this one did not change.
    let did_not_change = || {
        sight.is_of_other_tree(worktree)
            || matches!(since, Since::Challenge(_))
                && self::change(state, worktree, (created, Since::Claim), saw).is_none()
    };
    if change.by.is_none() && did_not_change() {
        change.since = Since::Elsewhere(challenger.clone());
    }
    Some(change)
}

/// The challengers of a claim whose open challenges are of other content than these files: a run that sees them answers
/// none of those.
pub(super) fn challengers_of_other<'a>(
    state: &'a State,
    claim: &'a Claim,
    versions: &'a Versions,
    worktree: Option<&'a Worktree>,
) -> impl Iterator<Item = &'a AgentId> {
    changed_challenges(state, claim, u64::MAX, versions, worktree).map(|(challenger, _)| challenger)
}

/// The first directory or pattern of a claim that a challenger saw in another work tree than this one. What it holds there
/// and here is not known.
fn unversioned_elsewhere(
    worktree: Option<&Worktree>,
    claim: &Claim,
    (sight, since): (&Sight, Since),
) -> Option<Change> {
    let Since::Challenge(challenger) = since else { return None };
    let mut open = unversioned(claim, sight);
    let scope = open.next().filter(|_| sight.is_of_other_tree(worktree))?;
    Some(Change { scope: scope.clone(), others: open.count(), by: None, since: Since::OtherTree(challenger) })
}

/// The paths of a claim that had no version at a sight.
fn unversioned<'a>(claim: &'a Claim, sight: &'a Sight) -> impl Iterator<Item = &'a Scope> {
    claim.scopes.iter().filter(|scope| scope.is_path() && !sight.versions.contains_key(*scope))
}

/// Whether the run that proves a claim saw what is meant of its files now, as far as is known.
pub(super) fn is_proof_of_meant(state: &State, claim: &Claim) -> bool {
    let (meant, _) = claim.sights.meant();
    let run = claim.proof.and_then(|run| state.run(run));
    run.is_none_or(|run| !differ(&run.saw.versions, &meant.versions))
}

/// The first directory or pattern of a claim below which a file was edited since.
fn unversioned_change(
    state: &State,
    worktree: Option<&Worktree>,
    claim: &Claim,
    (sight, since): (&Sight, Since),
) -> Option<Change> {
    unversioned(claim, sight).find_map(|scope| {
        let by = Some(state.edits().below(sight.seq, worktree, scope)?);
        Some(Change { scope: scope.clone(), others: 0, by, since: since.clone() })
    })
}

/// The first directory above the files of a claim that was moved while a run was under way, or what may have been moved or
/// written then.
fn moved(run: &Run, outcome: &RunOutcome) -> Option<Change> {
    let moved = outcome.moved.first().map(|dir| (dir, Since::Moved));
    let touched = outcome.touched.first().map(|scope| {
        let is_file = run.saw.versions.contains_key(scope);
        (scope, if is_file { Since::FileTouched } else { Since::Touched })
    });
    let (scope, since) = moved.or(touched)?;
    Some(Change { scope: scope.clone(), others: 0, by: None, since })
}

/// The first file of a claim that was written while a run was under way. `found` are those that the writer found.
fn written(state: &State, run: &Run, claim: &Claim, found: &BTreeSet<Scope>) -> Option<Change> {
    let by = |scope: &Scope| {
        let started = run.started?;
        state.edits().below(started, run.worktree.as_ref(), scope)
    };
    let is_path = |scope: &&Scope| scope.is_path();
    let mut touched = claim.scopes.iter().filter(is_path).filter_map(|scope| {
        let by = by(scope);
        (by.is_some() || found.contains(scope)).then(|| (scope.clone(), by))
    });
    let (scope, by) = touched.next()?;
    Some(Change { scope, others: touched.count(), by, since: Since::Run })
}

/// Why a run says nothing about any claim: files that its profile covers were written while it was under way.
pub(super) fn disturbed_by(state: &State, run: &Run, disturbed: &Disturbed) -> String {
    let Disturbed { file, others, touched } = disturbed;
    let by = run.started.and_then(|at| state.edits().after(at, run.worktree.as_ref(), file)).map(Edit::by);
    let since = if *touched && by.is_none() { Since::FileTouched } else { Since::Run };
    let is_by_somebody = by.is_some();
    let why = Change { scope: file.clone(), others: *others, by, since }.to_string();
    let named = format!("`{file}`");
    let is_before = |earlier: &Run| {
        let is_it = earlier.check.is_some() && earlier.check == run.check && earlier.ended < run.started;
        is_it && earlier.undecided.as_ref().is_some_and(|why| why.as_str().starts_with(&named))
    };
    if is_by_somebody || !state.runs().any(|(_, earlier)| is_before(earlier)) {
        return why;
    }
    let why = why.trim_end_matches(RUN_AGAIN);
    format!(
        "{why}, as during an earlier one; if the check itself writes it, no run of it decides: take another check, or let it \
         write elsewhere. If not{RUN_AGAIN}"
    )
}

/// Why nothing settles a claim whose files are named and not there. `None` if one of its paths is there, or may be: the
/// front did not look, or it is a pattern.
pub(super) fn no_file_of(claim: &Claim, saw: &Versions) -> Option<String> {
    let mut paths = claim.scopes.iter().filter(|scope| scope.is_path()).peekable();
    paths.peek()?;
    let is_missing = |scope: &Scope| saw.get(scope) == Some(&Content::Absent) && scope.looks_like_file();
    paths.all(is_missing).then(|| missing(saw)).flatten()
}

/// Why a run that ended says nothing about its claim: its files differ from those of the claim, now or when the run was
/// queued, or do not hold any more what they held then, or were written or moved meanwhile. `now` is what they hold after
/// its end.
pub fn changed_for(
    state: &State,
    (run_id, run): (RunId, &Run),
    claim: &Claim,
    now: &Versions,
    outcome: &RunOutcome,
) -> Option<Change> {
    let (saw, worktree) = (&run.saw, run.worktree.as_ref());
    let differed = || run.differed.clone();
    let waits = (claim.pending_run == Some(run_id)).then_some(saw.seq);
    changed_since(state, claim, waits, &saw.versions, worktree)
        .or_else(differed)
        .or_else(|| change(state, worktree, (saw, Since::Queueing), now))
        .or_else(|| written(state, run, claim, &outcome.written))
        .or_else(|| moved(run, outcome))
}
