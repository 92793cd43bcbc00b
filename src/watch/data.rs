//! What the screen shows, read from the views. Every text is one line without hidden characters.

use uuid::Uuid;

use super::feed;
use super::state::Page;
use crate::config::Config;
use crate::domain::claim::{SearchMode, Status};
use crate::domain::clean;
use crate::domain::digest::says_failure;
use crate::domain::experiment::Prediction;
use crate::domain::ids::{ClaimId, RunId};
use crate::domain::names::Sort;
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::facts::at_work::AtWork;
use crate::facts::{self, Attention, Claim, Hits, Need, Output, Run, Session, Whole};
use crate::reads::Reads;
use crate::runner::profile::{Catalog, Fitting};
use crate::steps::in_shell;
use crate::store::{ClaimFilter, Search, Seen};
use crate::system;
use crate::views::{self, Stream, View, ViewError, Waiting};
use crate::workspace::Workspace;

/// Entries that need somebody, and hits of a search.
const ENTRIES: usize = 100;
/// Maximum length of a text in an entry, in characters. Its claim has the whole text.
const GLANCE_CHARS: usize = 240;
/// How far from now a time is shown with its day.
const HALF_A_DAY_MS: u64 = 12 * 60 * 60 * 1_000;
/// Characters at the end of an output that the page of a claim shows.
const OUTPUT_CHARS: usize = 1_000;

/// How a line looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    Strong,
    Faint,
    Command,
    Alarm,
}

/// A line before it is wrapped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) tone: Tone,
    pub(super) indent: u16,
    pub(super) text: String,
}

impl Line {
    fn new(tone: Tone, indent: u16, text: &str) -> Self {
        Self { tone, indent, text: plain(text) }
    }
}

/// What the keys of an entry act on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Subject {
    /// The claim, by its name.
    pub(super) claim: Option<String>,
    pub(super) proposal: Option<Proposal>,
}

/// A proposal with the commands that answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Proposal {
    pub(super) key: String,
    pub(super) accept: String,
    pub(super) decline: String,
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    /// Stays the same while the entry moves in the list.
    pub(super) id: String,
    pub(super) lines: Vec<Line>,
    pub(super) subject: Subject,
}

/// What a page shows.
#[derive(Debug, Default)]
pub(super) struct Data {
    /// The page that was read; none if it could not be read.
    pub(super) page: Option<Page>,
    /// The last event of the ledger, or of the past that is shown.
    pub(super) head: u64,
    /// The time of what is shown; none before the first look.
    pub(super) now: Option<Timestamp>,
    pub(super) is_past: bool,
    /// The event that was asked for, in the middle of what one command wrote.
    pub(super) asked: Option<u64>,
    /// The name of the workspace.
    pub(super) name: String,
    /// The workspace at a glance.
    pub(super) glance: String,
    pub(super) who: Vec<Line>,
    /// What needs somebody, or the hits of a search.
    pub(super) items: Vec<Item>,
    /// Number of entries that need somebody, shown or not.
    pub(super) needs: usize,
    pub(super) feed: Vec<Line>,
    /// The page of a claim.
    pub(super) text: Vec<Line>,
    pub(super) subject: Option<Subject>,
}

/// One line of stored text. What is hidden in it is shown.
pub(super) fn plain(text: &str) -> String {
    clean::one_line(&clean::revealed(text))
}

/// The run that can settle a claim: its command, and the words of it after `hm`.
pub(super) fn fitting(
    reads: &mut Reads,
    workspace: &Workspace,
    claim: &str,
) -> Result<(String, Vec<String>), String> {
    let id = views::resolve(reads, Sort::Claim, claim)
        .map_err(|refused| in_shell(&refused.to_string()).into_owned())?;
    let id = ClaimId::from_uuid(id);
    let (found, _) = reads.ask(system::now(), |store| store.claim(id)).map_err(|error| error.to_string())?;
    let found = found.flatten().ok_or("the claim is gone")?.summary;
    let (said, _) =
        reads.ask(system::now(), |store| Ok(store.last_prediction(id))).map_err(|error| error.to_string())?;
    let of_statement = if says_failure(&found.statement) { Prediction::Fails } else { Prediction::Passes };
    let prediction = said.flatten().map_or(of_statement, |(_, prediction)| prediction);
    let scopes: Vec<Scope> = found.scopes.iter().filter_map(|scope| scope.parse().ok()).collect();
    let catalog = Catalog::load(&workspace.marker_dir(), &workspace.trusted_profiles());
    let settling =
        Fitting::of(workspace.root(), catalog).settling((id, found.claim_type), &scopes, prediction);
    let none = || format!("no profile can settle {claim} here: hm profile list shows what each is about");
    let step = in_shell(&settling.ok_or_else(none)?.run).trim_matches('`').to_owned();
    let line = views::shortened(reads, &step).into_owned();
    if step.contains(" --arg ") {
        return Err(format!("this run needs arguments: {}", plain(&line)));
    }
    let words = shell_words::split(&step).map_err(|_| none())?;
    Ok((plain(&line), words.into_iter().skip(1).collect()))
}

impl Data {
    /// After this page could not be read: what another one showed is not its content.
    pub(super) fn keep_for(&mut self, page: &Page) {
        if self.page.as_ref() != Some(page) {
            let Self { head, now, is_past, asked, name, glance, .. } = std::mem::take(self);
            *self = Self { head, now, is_past, asked, name, glance, ..Self::default() };
        }
    }

    /// Reads what a page shows.
    pub(super) fn load(
        reads: &mut Reads,
        config: &Config,
        page: &Page,
        now: Timestamp,
    ) -> Result<Self, Rejection> {
        let head = match reads.horizon() {
            Some(seq) => seq,
            None => {
                let head = reads.ledger().map_err(ViewError::from)?.map(|ledger| ledger.head()).transpose();
                head.map_err(ViewError::from)?.map_or(0, |head| head.seq)
            }
        };
        let now = reads.clock(now);
        let glance = views::glance(reads, (None, None), now)?.unwrap_or_default().line();
        let root = reads.workspace().root();
        let name =
            root.file_name().map_or_else(|| root.display().to_string(), |name| name.to_string_lossy().into());
        let mut data = Self {
            page: Some(page.clone()),
            head,
            now: Some(now),
            is_past: reads.horizon().is_some(),
            asked: reads.moved().map(|(asked, _)| asked),
            name: plain(&name),
            glance,
            ..Self::default()
        };
        let mut asker = Asker { reads, config, now };
        match page {
            Page::Board => {
                data.who = asker.who()?;
                (data.items, data.needs) = asker.needs()?;
                let told = feed::last(asker.reads)?.into_iter();
                data.feed =
                    told.map(|(seq, said)| Line::new(Tone::Plain, 0, &format!("#{seq} {said}"))).collect();
            }
            Page::Found(query) => data.items = asker.found(query)?,
            Page::Claim(name) => {
                data.text = asker.claim(name)?;
                data.subject = Some(Subject { claim: Some(name.clone()), proposal: None });
            }
        }
        Ok(data)
    }
}

/// The questions of a page to one state of the memory.
struct Asker<'a> {
    reads: &'a mut Reads,
    config: &'a Config,
    now: Timestamp,
}

impl Asker<'_> {
    fn ask<T: serde::de::DeserializeOwned>(&mut self, view: &View) -> Result<T, Rejection> {
        Ok(facts::asked(self.reads, self.config, view, self.now)?.0)
    }

    /// A text with names in place of ids.
    fn named(&mut self, text: &str) -> String {
        views::shortened(self.reads, text).into_owned()
    }

    fn line(&mut self, tone: Tone, indent: u16, text: &str) -> Line {
        Line::new(tone, indent, &self.named(text))
    }

    /// A text that an entry quotes.
    fn quoted(&mut self, tone: Tone, text: &str) -> Line {
        let text = plain(&self.named(text));
        Line::new(tone, 2, &clean::cut_words(&text, GLANCE_CHARS))
    }

    fn who(&mut self) -> Result<Vec<Line>, Rejection> {
        let at_work = AtWork::read(self.reads, self.config, self.now)?;
        let mut lines = Vec::new();
        for worker in at_work.workers() {
            let called = match worker.opened {
                Some(session) => who(worker.agent, session),
                None => worker.agent.to_owned(),
            };
            lines.push(self.line(Tone::Strong, 0, &called));
            for task in worker.tasks {
                lines.push(Line::new(Tone::Plain, 2, &format!("{} {}", task.name, task.title)));
                lines.extend(
                    task.file_locks.iter().map(|path| Line::new(Tone::Faint, 2, &format!("holds {path}"))),
                );
            }
            for lock in worker.locks {
                let why = lock.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                let text = format!("holds {} until {}{why}", lock.scope, shown(self.now, lock.until));
                lines.push(Line::new(Tone::Faint, 2, &text));
            }
            for run in worker.runs {
                let does = run.profile.as_deref().unwrap_or("a command");
                lines.push(Line::new(Tone::Plain, 2, &format!("{} {does}, {}", run.called(), run.status)));
            }
            if let Some(session) = worker.opened {
                lines.push(Line::new(
                    Tone::Faint,
                    2,
                    &format!("seen {}", shown(self.now, session.last_seen_at)),
                ));
            }
        }
        if lines.is_empty() {
            lines.push(Line::new(Tone::Faint, 0, "No session is open. hm init connects a client."));
        }
        Ok(lines)
    }

    /// The entries that need somebody, and the number of all. What is not shown has an entry that names the list.
    fn needs(&mut self) -> Result<(Vec<Item>, usize), Rejection> {
        let now = self.now;
        let waiting = self.reads.ask(now, |store| views::waiting(store, now)).map_err(ViewError::from)?.0;
        let waiting = waiting.unwrap_or_default();
        let attention: Attention = self.ask(&View::Attention(None))?;
        let is_other = |kind: &str| !facts::PROPOSED.contains(&kind);
        let mut items: Vec<Item> = waiting.iter().take(ENTRIES).map(|entry| self.proposal(entry)).collect();
        let needs: Vec<&Need> = attention.needs.iter().filter(|need| is_other(&need.kind)).collect();
        for need in needs.iter().take(ENTRIES) {
            items.push(self.need(need));
        }
        let mut rest: Vec<(usize, String, &str)> = Vec::new();
        for (heading, more) in &attention.more {
            let Some((kind, list)) = views::attention_list(heading) else { continue };
            if is_other(kind) {
                rest.push((*more, format!(" of {}", heading.replace('_', " ")), list));
            }
        }
        let hidden: usize = rest.iter().map(|(more, ..)| more).sum();
        let count = waiting.len() + needs.len() + hidden;
        let cut = [(waiting.len(), "hm review"), (needs.len(), "hm attention")];
        let cut = cut.into_iter().filter(|(all, _)| *all > ENTRIES);
        rest.extend(cut.map(|(all, list)| (all - ENTRIES, String::new(), list)));
        for (more, of, list) in rest {
            let head = match list == views::ATTENTION {
                true => format!("{more} more{of}, once some of these are settled"),
                false => format!("{more} more{of}: {}", in_shell(&format!("`{list}`")).trim_matches('`')),
            };
            let lines = vec![Line::new(Tone::Strong, 0, &head)];
            items.push(Item { id: format!("more{of} {list}"), lines, subject: Subject::default() });
        }
        Ok((items, count))
    }

    fn proposal(&mut self, entry: &Waiting) -> Item {
        let ids: Vec<String> = entry.ids.iter().map(|id| self.named(id)).collect();
        let head = format!("{} {} since {}", entry.kind, ids.join(" "), shown(self.now, entry.since));
        let mut lines = vec![Line::new(Tone::Strong, 0, &head)];
        lines.extend(entry.said.iter().map(|said| self.quoted(Tone::Plain, said)).collect::<Vec<_>>());
        let typed = |asker: &mut Self, step: &str| {
            plain(&shell_words::join(entry.words(step).iter().map(|word| asker.named(word))))
        };
        let proposal = Proposal {
            key: entry.key(),
            accept: typed(self, &entry.accept),
            decline: typed(self, &entry.decline),
        };
        lines.push(Line::new(Tone::Command, 2, &format!("a: {}", proposal.accept)));
        lines.push(Line::new(Tone::Command, 2, &format!("d: {}", proposal.decline)));
        Item { id: entry.key(), lines, subject: Subject { claim: claim_of(&ids), proposal: Some(proposal) } }
    }

    fn need(&mut self, need: &Need) -> Item {
        let ids: Vec<String> = need.ids.iter().map(|id| self.named(id)).collect();
        let (title, asked) = (need.title(&ids), need.asked.join(", "));
        let head = format!("{title} since {}, move of {asked}", shown(self.now, need.since));
        let tone = if need.kind == "fault" { Tone::Alarm } else { Tone::Strong };
        let mut lines = vec![Line::new(tone, 0, &head)];
        lines.extend(need.what.iter().map(|text| self.quoted(Tone::Plain, text)).collect::<Vec<_>>());
        for step in &need.settle {
            let line = in_shell(&format!("`{step}`")).trim_matches('`').to_owned();
            lines.push(self.quoted(Tone::Command, &line));
        }
        let id = format!("{} {}", need.kind, need.ids.join(" "));
        Item { id, lines, subject: Subject { claim: claim_of(&ids), proposal: None } }
    }

    fn found(&mut self, query: &str) -> Result<Vec<Item>, Rejection> {
        let filter = ClaimFilter { limit: ENTRIES, ..ClaimFilter::default() };
        let (mode, seen) = (SearchMode::Balanced, Seen::default());
        let search = Search { query: query.to_owned(), mode, filter, seen, explain: false };
        let hits: Hits = self.ask(&View::Search(search))?;
        let item = |claim: &Claim| {
            let name = claim.called().to_owned();
            let head = format!("{name} {} {}, {}", claim.kind, state(claim), claim.owner);
            let statement = clean::cut_words(&plain(&claim.statement), GLANCE_CHARS);
            let lines =
                vec![Line::new(tone_of(&claim.status), 0, &head), Line::new(Tone::Plain, 2, &statement)];
            Item { id: claim.id.clone(), lines, subject: Subject { claim: Some(name), proposal: None } }
        };
        Ok(hits.hits.iter().map(item).collect())
    }

    fn claim(&mut self, name: &str) -> Result<Vec<Line>, Rejection> {
        let id: Uuid = views::resolve(self.reads, Sort::Claim, name)?;
        let whole: Whole = self.ask(&View::Claim(ClaimId::from_uuid(id)))?;
        let claim = &whole.claim;
        let mut lines = vec![
            self.line(Tone::Strong, 0, &claim.statement),
            Line::new(tone_of(&claim.status), 0, &format!("{} {}", claim.kind, state(claim))),
            Line::new(
                Tone::Plain,
                0,
                &format!("by {} at {}", claim.owner, shown(self.now, claim.created_at)),
            ),
            Line::new(Tone::Plain, 0, &format!("about {}", claim.scopes.join(", "))),
        ];
        if let Some(decision) = &whole.decision {
            lines.push(self.line(Tone::Plain, 0, &format!("because {}", decision.summary.rationale)));
            for other in &decision.alternatives {
                let text = format!("not chosen: {} ({})", other.statement, other.rejection_reason);
                lines.push(self.line(Tone::Plain, 0, &text));
            }
        }
        self.positions(&whole, &mut lines);
        self.evidence(&whole, &mut lines);
        self.proof(&whole, &mut lines);
        lines.push(heading("History"));
        for change in whole.history.iter().rev() {
            let why = change.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let (at, to) = (shown(self.now, change.at), change.to.replace('_', " "));
            let text = format!("#{} {at} {to} by {}{why}", change.seq, change.by());
            lines.push(self.line(Tone::Plain, 2, &text));
        }
        Ok(lines)
    }

    fn positions(&mut self, whole: &Whole, lines: &mut Vec<Line>) {
        lines.push(heading("Positions"));
        if whole.positions.is_empty() {
            lines.push(Line::new(Tone::Faint, 2, "None besides the owner's."));
        }
        for held in &whole.positions {
            let why = held.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let before = if held.before_change { ", before the last change" } else { "" };
            let settled = whole.settled(held);
            let over = settled.as_ref().map(|end| format!(", {end}")).unwrap_or_default();
            let at = shown(self.now, held.at);
            let text = format!("{}, {} at {at}{before}{over}{why}", held.position, held.agent);
            let is_open = held.position == "challenge" && settled.is_none();
            lines.push(self.line(if is_open { Tone::Alarm } else { Tone::Plain }, 2, &text));
        }
        for both in &whole.contradictions {
            if both.is_challenge() {
                let agent = &both.right.agent;
                let is_held =
                    whole.positions.iter().any(|held| held.position == "challenge" && held.agent == *agent);
                if let Some(cause) = both.cause.as_ref().filter(|_| !is_held) {
                    let text = format!("challenged by {agent}, over: {}", cause.replace('_', " "));
                    lines.push(self.line(Tone::Plain, 2, &text));
                }
                continue;
            }
            let other = if both.left.claim_id == whole.claim.id { &both.right } else { &both.left };
            let ended = both.cause.as_ref().map(|cause| format!(", ended: {cause}")).unwrap_or_default();
            let said = other.statement.as_deref().unwrap_or("(erased)");
            let text = format!("contradicts {} ({}{ended}): {said}", other.claim_id, both.kind);
            lines.push(self.line(Tone::Plain, 2, &text));
        }
    }

    fn evidence(&mut self, whole: &Whole, lines: &mut Vec<Line>) {
        lines.push(heading("Evidence"));
        if whole.evidence_items.is_empty() {
            lines.push(Line::new(Tone::Faint, 2, "None: it is asserted."));
        }
        for item in &whole.evidence_items {
            let run = [&item.run_id, &item.ran, &item.outcome];
            let run: String = run.into_iter().flatten().map(|part| format!(" {part}")).collect();
            let note = item.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            let stale = if item.stale_since.is_some() { ", its files were edited since" } else { "" };
            let text = format!(
                "{} {}, {}{run}{stale}, by {} at {}{note}",
                item.evidence_ref,
                item.relation,
                item.grade,
                item.added_by,
                shown(self.now, item.at)
            );
            lines.push(self.line(Tone::Plain, 2, &text));
        }
    }

    /// The run that proved it, and the end of its output.
    fn proof(&mut self, whole: &Whole, lines: &mut Vec<Line>) {
        let Some(id) = whole.claim.proof.as_ref().and_then(|proof| proof.run_id.parse::<RunId>().ok()) else {
            return;
        };
        lines.push(heading("What proved it"));
        // A run whose files are gone has less to show.
        if let Ok(run) = self.ask::<Run>(&View::Experiment(id)) {
            let command = run.command.as_ref().map(|command| format!(": {command}")).unwrap_or_default();
            lines.push(self.line(Tone::Plain, 2, &format!("{} {}{command}", run.called(), run.status)));
        }
        for stream in [Stream::Stdout, Stream::Stderr] {
            let end =
                self.ask::<Output>(&View::Output(id, stream)).map(|output| output.end).unwrap_or_default();
            let skipped = end.chars().count().saturating_sub(OUTPUT_CHARS);
            let end: String = end.chars().skip(skipped).collect();
            lines.extend(end.lines().map(|line| Line::new(Tone::Faint, 4, line)));
        }
    }
}

fn heading(text: &str) -> Line {
    Line::new(Tone::Strong, 0, text)
}

/// The first claim among some names.
fn claim_of(names: &[String]) -> Option<String> {
    let is_claim = |name: &&String| {
        let number = name.strip_prefix('C').unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    names.iter().find(is_claim).cloned()
}

fn who(agent: &str, session: &Session) -> String {
    let client = session.client.as_deref().map(|client| format!(" in {client}")).unwrap_or_default();
    let sent = session.sent_out().map(|sent| format!(", {sent}")).unwrap_or_default();
    let tree = session.worktree.as_deref().map(|tree| format!(", {tree}")).unwrap_or_default();
    format!("{agent}{client}{sent}{tree}")
}

/// The state of a claim in words.
fn state(claim: &Claim) -> String {
    let basis = claim.basis.as_ref().map(|basis| format!(" ({basis})")).unwrap_or_default();
    let status = claim.status.replace('_', " ");
    format!("{status}{basis}, {}", claim.votes())
}

fn tone_of(status: &str) -> Tone {
    if status == Status::Contested.as_str() { Tone::Alarm } else { Tone::Strong }
}

/// A time for people: the time of the day, with the day before it where half a day or more lies between.
fn shown(now: Timestamp, at_ms: i64) -> String {
    let at = Timestamp::from_ms(at_ms).to_string();
    let (day, time) = (at.get(..10).unwrap_or(&at), at.get(11..16).unwrap_or_default());
    if at_ms.abs_diff(now.ms()) < HALF_A_DAY_MS { time.to_owned() } else { format!("{day} {time}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_near_midnight_is_shown_without_its_day() {
        let now = Timestamp::from_ms(1_795_477_800_000);
        let after = |minutes: i64| shown(now, now.ms() + minutes * 60_000);
        assert_eq!(now.to_string(), "2026-11-23T23:50:00Z");
        assert_eq!(after(25), "00:15");
        assert_eq!(after(-719), "11:51");
        assert_eq!(after(-720), "2026-11-23 11:50");
        assert_eq!(after(720), "2026-11-24 11:50");
    }
}
