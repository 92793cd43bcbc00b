//! Fits a text into a budget: fixed parts, as many entries of each section as possible, and the counts of omitted
//! entries.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::items::confidence;
use super::xml::{Tag, chars, line};
use super::{Claim, MAX_ID_CHARS, Names};
use crate::domain::time::Timestamp;

/// Number of entries of a section that may fail to fit before the rest of the section is skipped. It limits the work: a
/// pack over ten thousand claims renders the shown ones and a few more.
const TRIES: usize = 32;
/// The most omitted entries that get a line of their own.
const MAX_LINES: usize = 5;
/// Maximum length of an entry's text in such a line, in characters.
const MAX_LINE_CHARS: usize = 80;
/// Maximum length of one such line, in characters, with the end tag of its element.
pub(super) const ONE_LINE_CHARS: usize = 230;

/// The data for the line of an omitted entry.
pub(super) struct Glance<'a> {
    /// Lines with a higher order come first.
    order: u64,
    /// The claim, for its owner and confidence. None for other entries.
    claim: Option<&'a Claim>,
    /// The text of the line.
    text: Cow<'a, str>,
}

impl<'a> Glance<'a> {
    /// The line of a claim. The newest claims come first.
    pub(super) fn of_claim(claim: &'a Claim) -> Self {
        Self { order: claim.seq, claim: Some(claim), text: Cow::Borrowed(&claim.statement) }
    }

    /// The line of an entry that asks for an action. It comes before claims.
    pub(super) fn of_act(text: impl Into<Cow<'a, str>>) -> Self {
        Self { order: u64::MAX, claim: None, text: text.into() }
    }

    /// The line of a claim that asks for an action.
    pub(super) fn of_claim_in_need(claim: &'a Claim) -> Self {
        Self { order: u64::MAX, ..Self::of_claim(claim) }
    }
}

/// The counts in the start tag of a section, besides the shown entries.
#[derive(Clone, Copy)]
enum Count {
    Nothing,
    /// The omitted entries: those of spare room, and the others.
    LeftOut,
    /// The omitted entries of spare room, and the address that lists all of them.
    More(&'static str),
}

/// When a section gets its room.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Its share first, then what is left by rank.
    Shared,
    /// The same, but all of its entries come before the other sections' entries beyond their shares.
    Kept,
    /// What the kept sections leave.
    Late,
}

/// Entries of one kind, as many as fit.
pub(super) struct Section<'a> {
    name: &'static str,
    /// The word for the entries in counts.
    noun: &'static str,
    len: usize,
    /// Entries from this index on only fill spare room.
    spare: usize,
    xml: Box<dyn Fn(usize) -> String + 'a>,
    id: Box<dyn Fn(usize) -> &'a str + 'a>,
    glance: Box<dyn Fn(usize) -> Glance<'a> + 'a>,
    /// The rank of each entry. Sections with ranks share the room left by the shares, in order of rank.
    ranks: Vec<f64>,
    /// The share of the budget in percent, before the other sections get the rest.
    share: usize,
    /// The position of the section in the text.
    place: usize,
    turn: Turn,
    count: Count,
    /// The number of entries that are omitted and not passed to this section.
    unseen: usize,
    misses: usize,
    /// The lengths of entries that did not fit, in characters.
    too_long: BTreeMap<usize, usize>,
    shown: BTreeMap<usize, String>,
    /// Entries that were rendered and are not shown.
    rendered: BTreeMap<usize, String>,
}

impl<'a> Section<'a> {
    /// A section of entries, the most important first.
    pub(super) fn of<T>(
        name: &'static str,
        entries: Vec<&'a T>,
        id: impl Fn(&'a T) -> &'a str + 'a,
        glance: impl Fn(&'a T) -> Glance<'a> + 'a,
        xml: impl Fn(&T) -> String + 'a,
    ) -> Self {
        let (ids, glances) = (entries.clone(), entries.clone());
        Self {
            name,
            noun: name,
            len: entries.len(),
            spare: entries.len(),
            xml: Box::new(move |at| xml(entries[at])),
            id: Box::new(move |at| id(ids[at])),
            glance: Box::new(move |at| glance(glances[at])),
            ranks: Vec::new(),
            share: 100,
            place: 0,
            turn: Turn::Shared,
            count: Count::Nothing,
            unseen: 0,
            misses: 0,
            too_long: BTreeMap::new(),
            shown: BTreeMap::new(),
            rendered: BTreeMap::new(),
        }
    }

    /// Replaces the ids in entries by short names first, so that the length of an entry is its length in the text.
    fn name_ids(&mut self, names: Names<'a>) {
        let xml = std::mem::replace(&mut self.xml, Box::new(|_| String::new()));
        self.xml = Box::new(move |at| names(&xml(at)));
    }

    /// Sets the share of the budget in percent, before the other sections get the rest. The first entry that fits into
    /// the budget is shown even if it exceeds the share.
    pub(super) fn share(self, share: usize) -> Self {
        Self { share, ..self }
    }

    pub(super) fn place(self, place: usize) -> Self {
        Self { place, ..self }
    }

    pub(super) fn turn(self, turn: Turn) -> Self {
        Self { turn, ..self }
    }

    pub(super) fn called(self, noun: &'static str) -> Self {
        Self { noun, ..self }
    }

    /// Sets the rank of each entry, in the order of the entries.
    pub(super) fn ranked(self, ranks: Vec<f64>) -> Self {
        Self { ranks, ..self }
    }

    /// Entries from this index on only fill the room that all other entries leave.
    pub(super) fn spare_from(self, spare: usize) -> Self {
        Self { spare: spare.min(self.len), ..self }
    }

    /// Counts omitted entries in the start tag. `unseen` entries were not passed to this section.
    pub(super) fn counted(self, unseen: usize) -> Self {
        Self { count: Count::LeftOut, unseen, ..self }
    }

    /// Names in the start tag the number of omitted entries of spare room, with `unseen` further ones, and their
    /// address.
    pub(super) fn more(self, unseen: usize, read: &'static str) -> Self {
        Self { count: Count::More(read), unseen, ..self }
    }

    fn tag(&self, shown: usize, left_out: usize, spare: usize) -> Tag {
        let tag = Tag::open(self.name).with("n", shown);
        let some = |number: usize| Some(number).filter(|number| *number > 0);
        match self.count {
            Count::Nothing => tag,
            Count::LeftOut => {
                tag.with_any("stale_dropped", some(spare)).with_any("budget_dropped", some(left_out))
            }
            Count::More(_) if spare == 0 => tag,
            Count::More(read) => tag.with("more", spare).with("read", read),
        }
    }

    /// The maximum length of the section's own tags, in characters.
    fn frame(&self) -> usize {
        let spare = match self.count {
            Count::More(_) => self.len - self.spare + self.unseen,
            Count::Nothing | Count::LeftOut => self.len - self.spare,
        };
        chars(&self.tag(self.len, self.spare + self.unseen, spare).start()) + self.end().len()
    }

    fn end(&self) -> String {
        format!("</{}>\n", self.name)
    }

    /// The length of the tags if they appear even without a shown entry. Otherwise 0.
    fn fixed(&self) -> usize {
        let is_said = match self.count {
            Count::Nothing => false,
            Count::LeftOut => self.len + self.unseen > 0,
            Count::More(_) => self.len - self.spare + self.unseen > 0,
        };
        if is_said { self.frame() } else { 0 }
    }

    /// Shows an entry if it fits into `allowance` and into the rest of the budget. Returns its length.
    fn try_one(&mut self, at: usize, allowance: usize, left: &mut usize) -> Option<usize> {
        let first = self.shown.is_empty();
        let frame = if first && self.fixed() == 0 { self.frame() } else { 0 };
        let fits = |chars: usize| chars + frame <= *left && (chars + frame <= allowance || first);
        if self.too_long.get(&at).is_some_and(|chars| !fits(*chars)) {
            return None;
        }
        let xml = self.rendered.remove(&at).unwrap_or_else(|| (self.xml)(at));
        let length = chars(&xml);
        if !fits(length) {
            self.too_long.insert(at, length);
            self.rendered.insert(at, xml);
            return None;
        }
        let cost = length + frame;
        *left -= cost;
        self.shown.insert(at, xml);
        Some(cost)
    }

    /// Shows the entries that fit into the share and into the rest of the budget.
    fn fill_share(&mut self, mut allowance: usize, left: &mut usize) {
        let mut misses = 0;
        for at in 0..self.spare {
            match self.try_one(at, allowance, left) {
                Some(cost) => allowance = allowance.saturating_sub(cost),
                None => misses += 1,
            }
            if misses == TRIES || allowance == 0 {
                break;
            }
        }
    }

    /// Shows an entry if it fits, unless too many entries before it did not fit.
    fn fill_one(&mut self, at: usize, left: &mut usize) {
        if self.misses < TRIES
            && !self.shown.contains_key(&at)
            && self.try_one(at, usize::MAX, left).is_none()
        {
            self.misses += 1;
        }
    }

    /// The name of the section, and the length of each entry in characters.
    pub(super) fn sizes(&self) -> (&'static str, Vec<usize>) {
        (self.name, (0..self.len).map(|at| chars(&(self.xml)(at))).collect())
    }

    /// The number of entries that count as omitted if they are not shown, passed to this section or not.
    pub(super) fn eligible(&self) -> usize {
        match self.count {
            Count::More(_) => self.spare,
            Count::Nothing | Count::LeftOut => self.len.saturating_add(self.unseen),
        }
    }

    fn shown_of_spare(&self) -> usize {
        self.shown.range(self.spare..).count()
    }

    /// The numbers of omitted entries: without room, of spare room without room, and not passed to this section.
    fn left_out(&self) -> [usize; 3] {
        let spare = self.shown_of_spare();
        let wanted = self.spare - (self.shown.len() - spare);
        match self.count {
            Count::More(_) => [wanted, 0, 0],
            Count::Nothing | Count::LeftOut => [wanted, self.len - self.spare - spare, self.unseen],
        }
    }

    fn write(&self, text: &mut String) {
        let [wanted, spare, unseen] = self.left_out();
        let spare = match self.count {
            Count::More(_) => self.len - self.spare - self.shown_of_spare() + self.unseen,
            Count::Nothing | Count::LeftOut => spare,
        };
        let tag = self.tag(self.shown.len(), wanted + unseen, spare);
        if !self.shown.is_empty() {
            text.push_str(&tag.start());
            text.extend(self.shown.values().map(String::as_str));
            text.push_str(&self.end());
        } else if self.fixed() > 0 {
            text.push_str(&tag.empty());
        }
    }
}

/// The fixed parts of a text. `start` renders the start tag of the root from the number of used characters.
pub(super) struct Fixed<'n, F> {
    pub(super) root: &'static str,
    pub(super) start: F,
    pub(super) before: String,
    /// The text after the sections. It has its own room: the shares refer to the rest of the budget.
    pub(super) dialogue: String,
    pub(super) after: String,
    /// The room kept for lines about omitted entries if not all entries fit, in characters.
    pub(super) for_lines: usize,
    pub(super) now: Timestamp,
    /// Replaces ids by short names.
    pub(super) names: Names<'n>,
}

/// The fitted text and its entries.
pub(super) struct Fitted {
    pub(super) text: String,
    /// The indexes of the shown entries, by the name of their section.
    pub(super) shown: BTreeMap<&'static str, Vec<usize>>,
}

/// A text of at most `budget` characters: the fixed parts, then the entries within their sections' shares, then the
/// others by rank and in order, then those of spare room. None if the fixed parts do not fit.
pub(super) fn fit<'a>(
    fixed: &Fixed<'a, impl Fn(usize) -> String>,
    mut sections: Vec<Section<'a>>,
    budget: usize,
) -> Option<Fitted> {
    let Fixed { root, start, before, dialogue, after, for_lines, now, names } = fixed;
    let [before, dialogue, after] = &[before, dialogue, after].map(|text| names(text));
    let start = |used: usize| names(&start(used));
    for section in &mut sections {
        section.name_ids(*names);
    }
    let end = format!("</{root}>\n");
    let always =
        [&start(budget), before, dialogue, after, &end].map(|text| chars(text)).iter().sum::<usize>()
            + sections.iter().map(Section::fixed).sum::<usize>();
    // Reserves room for the longest possible count of omitted entries.
    let number = match Dropped::at_most(&sections) {
        Dropped { total: 0, .. } => 0,
        all => chars(&all.tag().empty()),
    };
    let room = budget.checked_sub(always + number)?;
    let shared = budget - chars(dialogue);
    let mut left = fill(&mut sections, shared, room);
    if *for_lines > 0 && sections.iter().any(|section| section.left_out().iter().any(|left| *left > 0)) {
        for section in &mut sections {
            section.rendered.append(&mut section.shown);
            section.misses = 0;
        }
        let kept = room.min(*for_lines);
        left = fill(&mut sections, shared, room - kept) + kept;
    }
    sections.sort_by_key(|section| section.place);
    let mut body = before.clone();
    for section in &sections {
        section.write(&mut body);
    }
    body.push_str(dialogue);
    body.push_str(after);
    body.push_str(&names(&dropped(&sections, left + number, *now)));
    body.push_str(&end);
    let text = start(used(chars(&start(0)) - 1 + chars(&body))) + &body;
    let shown = sections.iter().map(|section| (section.name, section.shown.keys().copied().collect()));
    Some(Fitted { text, shown: shown.collect() })
}

/// Shows the entries within the shares of their sections, then all others that fit. Returns the rest of the room.
fn fill(sections: &mut [Section<'_>], shared: usize, room: usize) -> usize {
    let mut left = room;
    let share = |section: &Section<'_>| shared / 100 * section.share + shared % 100 * section.share / 100;
    let is_late = |section: &&mut Section<'_>| section.turn == Turn::Late;
    for section in sections.iter_mut().filter(|section| !is_late(section)) {
        section.fill_share(share(section), &mut left);
    }
    fill_by_rank(sections, |turn| turn == Turn::Kept, &mut left);
    for section in sections.iter_mut().filter(is_late) {
        section.fill_share(share(section), &mut left);
    }
    fill_by_rank(sections, |_| true, &mut left);
    for section in sections.iter_mut().filter(|section| section.ranks.is_empty()) {
        (0..section.spare).for_each(|at| section.fill_one(at, &mut left));
    }
    for section in sections {
        (section.spare..section.len).for_each(|at| section.fill_one(at, &mut left));
    }
    left
}

/// Shows the entries that fit, by rank, of the sections with some turns.
fn fill_by_rank(sections: &mut [Section<'_>], turns: impl Fn(Turn) -> bool, left: &mut usize) {
    let mut by_rank: Vec<(f64, usize, usize)> = Vec::new();
    for (number, section) in sections.iter().enumerate().filter(|(_, section)| turns(section.turn)) {
        let ranks = section.ranks.iter().take(section.spare).enumerate();
        by_rank.extend(ranks.map(|(at, rank)| (*rank, number, at)));
    }
    // The ranks of a section fall, so its entries keep their order.
    by_rank.sort_by(|(left, ..), (right, ..)| right.total_cmp(left));
    for (_, number, at) in by_rank {
        sections[number].fill_one(at, left);
    }
}

/// The length of a text that contains its own length. `rest` is the length without that number.
pub(super) fn used(rest: usize) -> usize {
    let digits = |number: usize| number.to_string().len();
    (1..).map(|width| rest + width).find(|used| rest + digits(*used) <= *used).unwrap_or(rest)
}

/// The numbers of omitted entries, by reason and kind.
struct Dropped {
    total: usize,
    /// Entries without room.
    no_room: Vec<(&'static str, usize)>,
    /// Old entries without room.
    untouched: Vec<(&'static str, usize)>,
    /// Entries not passed to a section: others were more relevant.
    not_looked_at: Vec<(&'static str, usize)>,
}

impl Dropped {
    fn of(sections: &[Section<'_>]) -> Self {
        Self::counted(sections, |section| section.left_out())
    }

    /// The largest possible numbers of omitted entries.
    fn at_most(sections: &[Section<'_>]) -> Self {
        Self::counted(sections, |section| match section.count {
            Count::More(_) => [section.spare, 0, 0],
            Count::Nothing | Count::LeftOut => [section.spare, section.len - section.spare, section.unseen],
        })
    }

    fn counted(sections: &[Section<'_>], left_out: impl Fn(&Section<'_>) -> [usize; 3]) -> Self {
        let counts: Vec<(&'static str, [usize; 3])> =
            sections.iter().map(|section| (section.noun, left_out(section))).collect();
        let of = |reason: usize| {
            let of_reason = counts.iter().map(|(noun, counts)| (*noun, counts[reason]));
            of_reason.filter(|(_, number)| *number > 0).collect()
        };
        let total = counts.iter().flat_map(|(_, counts)| counts).sum();
        Self { total, no_room: of(0), untouched: of(1), not_looked_at: of(2) }
    }

    fn tag(&self) -> Tag {
        let said = |counts: &[(&str, usize)]| {
            let said: Vec<String> = counts.iter().map(|(noun, number)| format!("{noun} {number}")).collect();
            (!said.is_empty()).then(|| said.join(", "))
        };
        Tag::open("dropped")
            .with("n", self.total)
            .with_any("no_room", said(&self.no_room))
            .with_any("untouched", said(&self.untouched))
            .with_any("not_looked_at", said(&self.not_looked_at))
    }
}

/// The omitted entries: counts by reason and kind, then the newest few in one line each, as far as they fit into
/// `room`.
fn dropped(sections: &[Section<'_>], room: usize, now: Timestamp) -> String {
    let left_out = Dropped::of(sections);
    if left_out.total == 0 {
        return String::new();
    }
    let mut named: Vec<(u64, &str, Glance<'_>)> = Vec::new();
    for section in sections {
        let until = match section.count {
            Count::More(_) => section.spare,
            Count::Nothing | Count::LeftOut => section.len,
        };
        for at in (0..until).filter(|at| !section.shown.contains_key(at)) {
            let glance = (section.glance)(at);
            named.push((glance.order, (section.id)(at), glance));
        }
    }
    named.sort_by(|(left, ..), (right, ..)| right.cmp(left));
    let (start, end) = (left_out.tag().start(), "</dropped>\n");
    let mut lines = String::new();
    for (_, id, Glance { claim, text, .. }) in
        named.iter().filter(|(_, id, _)| !id.is_empty()).take(MAX_LINES)
    {
        let id: String = id.chars().take(MAX_ID_CHARS).collect();
        let told = Tag::open("left")
            .with("id", id)
            .with_any("status", claim.map(|claim| claim.status))
            .with_any("confidence", claim.and_then(confidence))
            .with_any("by", claim.map(|claim| &claim.by))
            .with_any("age", claim.map(|claim| claim.created_at.age(now)))
            .escaped(&line(text, MAX_LINE_CHARS));
        if chars(&start) + chars(&lines) + chars(&told) + end.len() <= room {
            lines.push_str(&told);
        }
    }
    if lines.is_empty() { left_out.tag().empty() } else { start + &lines + end }
}
