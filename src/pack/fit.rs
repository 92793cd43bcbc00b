//! A budget, what must be said and sections that may be: as much as fits, and what did not, counted.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::xml::{Tag, chars, line};
use super::{Claim, MAX_ID_CHARS, Names};
use crate::domain::time::Timestamp;

/// Entries of a section that are tried and found too long before the rest of it is left out untried. It bounds
/// the work: a pack of ten thousand claims looks at those it shows and a few more.
const TRIES: usize = 32;
/// What is left out and told in a line of its own, at most.
const MAX_LINES: usize = 5;
/// What such a line shows of an entry.
const MAX_LINE_CHARS: usize = 80;
/// Characters that one such line takes at most, with the end of the element that holds it.
pub(super) const ONE_LINE_CHARS: usize = 230;

/// What is told of an entry that is left out.
pub(super) struct Glance<'a> {
    /// The higher, the sooner it is told.
    order: u64,
    /// Whose it is and how far it is believed, where it is a claim.
    claim: Option<&'a Claim>,
    /// What it says.
    text: Cow<'a, str>,
}

impl<'a> Glance<'a> {
    /// Of a claim: the newest are told first.
    pub(super) fn of_claim(claim: &'a Claim) -> Self {
        Self { order: claim.seq, claim: Some(claim), text: Cow::Borrowed(&claim.statement) }
    }

    /// Of what asks for an act: it is told before claims.
    pub(super) fn of_act(text: impl Into<Cow<'a, str>>) -> Self {
        Self { order: u64::MAX, claim: None, text: text.into() }
    }

    /// Of a claim that asks for an act.
    pub(super) fn of_claim_in_need(claim: &'a Claim) -> Self {
        Self { order: u64::MAX, ..Self::of_claim(claim) }
    }
}

/// What the start of a section counts besides the entries it shows.
#[derive(Clone, Copy)]
enum Count {
    Nothing,
    /// Entries left out: those of spare room, and the others.
    LeftOut,
    /// Entries of spare room that are not shown, and where all of them stand.
    More(&'static str),
}

/// Entries of one kind that are shown as far as there is room.
pub(super) struct Section<'a> {
    name: &'static str,
    /// What its entries are called where they are counted.
    noun: &'static str,
    len: usize,
    /// Entries from here on fill spare room only.
    spare: usize,
    xml: Box<dyn Fn(usize) -> String + 'a>,
    id: Box<dyn Fn(usize) -> &'a str + 'a>,
    glance: Box<dyn Fn(usize) -> Glance<'a> + 'a>,
    /// How much each entry matters; sections that have it share what others leave, in this order.
    ranks: Vec<f64>,
    /// Hundredths of the budget that it may take before all others had theirs.
    share: usize,
    /// Where it stands among the sections.
    place: usize,
    count: Count,
    /// Entries that are not here, and left out all the same.
    unseen: usize,
    misses: usize,
    shown: BTreeMap<usize, String>,
}

impl<'a> Section<'a> {
    /// A section of entries, the most wanted first.
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
            count: Count::Nothing,
            unseen: 0,
            misses: 0,
            shown: BTreeMap::new(),
        }
    }

    /// Puts names in place of the ids of its entries, so that they cost no more than they show.
    fn name_ids(&mut self, names: Names<'a>) {
        let xml = std::mem::replace(&mut self.xml, Box::new(|_| String::new()));
        self.xml = Box::new(move |at| names(&xml(at)));
    }

    /// What it may take before all others had theirs, in hundredths of the budget. The first entry that fits at
    /// all is shown whatever its share.
    pub(super) fn share(self, share: usize) -> Self {
        Self { share, ..self }
    }

    /// Where it stands among the sections.
    pub(super) fn place(self, place: usize) -> Self {
        Self { place, ..self }
    }

    /// What its entries are called where they are counted.
    pub(super) fn called(self, noun: &'static str) -> Self {
        Self { noun, ..self }
    }

    /// How much each entry matters, in their order.
    pub(super) fn ranked(self, ranks: Vec<f64>) -> Self {
        Self { ranks, ..self }
    }

    /// Entries from this one on fill what room is left when all others had theirs.
    pub(super) fn spare_from(self, spare: usize) -> Self {
        Self { spare: spare.min(self.len), ..self }
    }

    /// Counts what is left out of it in its start, also entries that are not here.
    pub(super) fn counted(self, unseen: usize) -> Self {
        Self { count: Count::LeftOut, unseen, ..self }
    }

    /// Says in its start how many entries of spare room are not shown, also those that are not here, and where they are.
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

    /// The most characters its own tags can take.
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

    /// What is said of it even when none of its entries fits.
    fn fixed(&self) -> usize {
        let is_said = match self.count {
            Count::Nothing => false,
            Count::LeftOut => self.len + self.unseen > 0,
            Count::More(_) => self.len - self.spare + self.unseen > 0,
        };
        if is_said { self.frame() } else { 0 }
    }

    /// Shows an entry, if it fits into `allowance` and into what is left of the budget; how much it took.
    fn try_one(&mut self, at: usize, allowance: usize, left: &mut usize) -> Option<usize> {
        let xml = (self.xml)(at);
        let first = self.shown.is_empty();
        let frame = if first && self.fixed() == 0 { self.frame() } else { 0 };
        let cost = chars(&xml) + frame;
        if cost > *left || (cost > allowance && !first) {
            return None;
        }
        *left -= cost;
        self.shown.insert(at, xml);
        Some(cost)
    }

    /// Shows what fits into its share and into what is left of the budget.
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

    /// Shows an entry if there is room for it, unless too many before it had none.
    fn fill_one(&mut self, at: usize, left: &mut usize) {
        if self.misses < TRIES
            && !self.shown.contains_key(&at)
            && self.try_one(at, usize::MAX, left).is_none()
        {
            self.misses += 1;
        }
    }

    /// Its name, and the characters that each entry takes.
    pub(super) fn sizes(&self) -> (&'static str, Vec<usize>) {
        (self.name, (0..self.len).map(|at| chars(&(self.xml)(at))).collect())
    }

    /// Entries that are counted where they are left out, here or not.
    pub(super) fn eligible(&self) -> usize {
        match self.count {
            Count::More(_) => self.spare,
            Count::Nothing | Count::LeftOut => self.len.saturating_add(self.unseen),
        }
    }

    fn shown_of_spare(&self) -> usize {
        self.shown.range(self.spare..).count()
    }

    /// Entries that were left out for want of room, those of spare room that were, and those that are not here.
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

/// What is always said: the start of the root, given the number of characters used, and what stands around
/// the sections.
pub(super) struct Fixed<'n, F> {
    pub(super) root: &'static str,
    pub(super) start: F,
    pub(super) before: String,
    /// What stands behind the sections and has its own room: shares are of the rest of the budget.
    pub(super) dialogue: String,
    pub(super) after: String,
    /// Characters kept for lines about what is left out, once not everything fits.
    pub(super) for_lines: usize,
    pub(super) now: Timestamp,
    /// Puts names in place of ids.
    pub(super) names: Names<'n>,
}

/// What fitted.
pub(super) struct Fitted {
    pub(super) text: String,
    /// The entries that are shown, by the name of their section and their place in it.
    pub(super) shown: BTreeMap<&'static str, Vec<usize>>,
}

/// At most `budget` characters: what is fixed, then section after section what their shares allow, then by rank and
/// in order what else there is room for, then what is only there to fill it. None when not even what is fixed fits.
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
    // Room to say that all of them were left out is kept, so that it can be said of some.
    let number = match Dropped::at_most(&sections) {
        Dropped { total: 0, .. } => 0,
        all => chars(&all.tag().empty()),
    };
    let room = budget.checked_sub(always + number)?;
    let shared = budget - chars(dialogue);
    let mut left = fill(&mut sections, shared, room);
    if *for_lines > 0 && sections.iter().any(|section| section.left_out().iter().any(|left| *left > 0)) {
        for section in &mut sections {
            section.shown.clear();
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

/// Shows what the shares of the sections allow, then what else there is room for; how much of it is left.
fn fill(sections: &mut [Section<'_>], shared: usize, room: usize) -> usize {
    let mut left = room;
    for section in &mut *sections {
        section.fill_share(shared / 100 * section.share + shared % 100 * section.share / 100, &mut left);
    }
    let mut by_rank: Vec<(f64, usize, usize)> = Vec::new();
    for (number, section) in sections.iter().enumerate() {
        let ranks = section.ranks.iter().take(section.spare).enumerate();
        by_rank.extend(ranks.map(|(at, rank)| (*rank, number, at)));
    }
    // Within a section the order is its own: its ranks fall.
    by_rank.sort_by(|(left, ..), (right, ..)| right.total_cmp(left));
    for (_, number, at) in by_rank {
        sections[number].fill_one(at, &mut left);
    }
    for section in sections.iter_mut().filter(|section| section.ranks.is_empty()) {
        (0..section.spare).for_each(|at| section.fill_one(at, &mut left));
    }
    for section in sections {
        (section.spare..section.len).for_each(|at| section.fill_one(at, &mut left));
    }
    left
}

/// The number of characters of a text that holds its own number of characters, given those of the rest.
pub(super) fn used(rest: usize) -> usize {
    let digits = |number: usize| number.to_string().len();
    (1..).map(|width| rest + width).find(|used| rest + digits(*used) <= *used).unwrap_or(rest)
}

/// How much was left out, by reason and kind.
struct Dropped {
    total: usize,
    /// For want of room.
    no_room: Vec<(&'static str, usize)>,
    /// Nobody touched them for long, and there was no room.
    untouched: Vec<(&'static str, usize)>,
    /// Nobody looked at them: others were more likely.
    not_looked_at: Vec<(&'static str, usize)>,
}

impl Dropped {
    fn of(sections: &[Section<'_>]) -> Self {
        Self::counted(sections, |section| section.left_out())
    }

    /// The most that can be left out.
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

/// What was left out: by reason and kind, then the newest few in a line each while they fit into `room`.
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
            .with_any("confidence", claim.map(|claim| format!("{:.2}", claim.confidence)))
            .with_any("by", claim.map(|claim| &claim.by))
            .with_any("age", claim.map(|claim| claim.created_at.age(now)))
            .escaped(&line(text, MAX_LINE_CHARS));
        if chars(&start) + chars(&lines) + chars(&told) + end.len() <= room {
            lines.push_str(&told);
        }
    }
    if lines.is_empty() { left_out.tag().empty() } else { start + &lines + end }
}
