//! A budget, what must be said and sections that may be: as much as fits, and what did not, counted.

use std::collections::BTreeMap;

use super::xml::{Tag, chars, line};
use super::{MAX_ID_CHARS, Names};

/// Entries of a section that are tried and found too long before the rest of it is left out untried. It bounds
/// the work: a pack of ten thousand claims looks at those it shows and a few more.
const TRIES: usize = 32;

/// Entries of one kind that are shown as far as there is room.
pub(super) struct Section<'a> {
    name: &'static str,
    len: usize,
    xml: Box<dyn Fn(usize) -> String + 'a>,
    id: Box<dyn Fn(usize) -> &'a str + 'a>,
    /// Hundredths of the budget that it may take before all others had theirs.
    share: usize,
    /// Where it stands among the sections.
    place: usize,
    /// Entries that are too old to show, where that is said.
    stale: Option<usize>,
    /// Entries that are not here, and left out all the same.
    unseen: usize,
    shown: BTreeMap<usize, String>,
}

impl<'a> Section<'a> {
    /// A section of entries, the most wanted first.
    pub(super) fn of<T>(
        name: &'static str,
        entries: Vec<&'a T>,
        id: impl Fn(&'a T) -> &'a str + 'a,
        xml: impl Fn(&T) -> String + 'a,
    ) -> Self {
        let ids = entries.clone();
        Self {
            name,
            len: entries.len(),
            xml: Box::new(move |at| xml(entries[at])),
            id: Box::new(move |at| id(ids[at])),
            share: 100,
            place: 0,
            stale: None,
            unseen: 0,
            shown: BTreeMap::new(),
        }
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

    /// Says how many entries were too old, and is shown for that alone.
    pub(super) fn stale(self, stale: usize) -> Self {
        Self { stale: Some(stale), ..self }
    }

    /// Counts entries that are not here as left out.
    pub(super) fn unseen(self, unseen: usize) -> Self {
        Self { unseen, ..self }
    }

    fn tag(&self, shown: usize, left_out: usize) -> Tag {
        let tag = Tag::open(self.name).with("n", shown);
        match self.stale {
            Some(stale) => tag.with("stale_dropped", stale).with("budget_dropped", left_out),
            None => tag,
        }
    }

    /// The most characters its own tags can take.
    fn frame(&self) -> usize {
        chars(&self.tag(self.len, self.eligible()).start()) + self.end().len()
    }

    fn end(&self) -> String {
        format!("</{}>\n", self.name)
    }

    /// What is said of it even when none of its entries fits.
    fn fixed(&self) -> usize {
        if self.stale.is_some_and(|stale| stale > 0 || self.eligible() > 0) { self.frame() } else { 0 }
    }

    /// Shows what fits into `allowance` and into what is left of the budget.
    fn fill(&mut self, mut allowance: usize, left: &mut usize, names: Names<'_>) {
        let mut misses = 0;
        for at in (0..self.len).filter(|at| !self.shown.contains_key(at)).collect::<Vec<_>>() {
            let xml = names(&(self.xml)(at));
            let first = self.shown.is_empty();
            let frame = if first && self.stale.is_none() { self.frame() } else { 0 };
            let cost = chars(&xml) + frame;
            if cost > *left || (cost > allowance && !first) {
                misses += 1;
                if misses == TRIES {
                    break;
                }
                continue;
            }
            allowance = allowance.saturating_sub(cost);
            *left -= cost;
            self.shown.insert(at, xml);
        }
    }

    /// Entries there are, here or not.
    pub(super) const fn eligible(&self) -> usize {
        self.len.saturating_add(self.unseen)
    }

    fn left_out(&self) -> usize {
        self.eligible() - self.shown.len()
    }

    fn write(&self, text: &mut String) {
        if self.shown.is_empty() {
            if self.fixed() > 0 {
                text.push_str(&self.tag(0, self.left_out()).empty());
            }
            return;
        }
        text.push_str(&self.tag(self.shown.len(), self.left_out()).start());
        text.extend(self.shown.values().map(String::as_str));
        text.push_str(&self.end());
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
    /// Characters kept for the ids of what is left out, once not everything fits.
    pub(super) for_ids: usize,
    /// Puts names in place of ids.
    pub(super) names: Names<'n>,
}

/// At most `budget` characters: what is fixed, then section after section what their shares allow, then what
/// else there is room for. None when not even what is fixed fits.
pub(super) fn fit(
    fixed: &Fixed<'_, impl Fn(usize) -> String>,
    mut sections: Vec<Section<'_>>,
    budget: usize,
) -> Option<String> {
    let Fixed { root, start, before, dialogue, after, for_ids, names } = fixed;
    let [before, dialogue, after] = &[before, dialogue, after].map(|text| names(text));
    let start = |used: usize| names(&start(used));
    let end = format!("</{root}>\n");
    let total: usize = sections.iter().map(Section::eligible).sum();
    let always =
        [&start(budget), before, dialogue, after, &end].map(|text| chars(text)).iter().sum::<usize>()
            + sections.iter().map(Section::fixed).sum::<usize>();
    // Room to say that all of them were left out is kept, so that it can be said of some.
    let number = if total == 0 { 0 } else { chars(&dropped(std::iter::empty(), total, usize::MAX)) };
    let room = budget.checked_sub(always + number)?;
    let shared = budget - chars(dialogue);
    let mut left = fill(&mut sections, shared, room, *names);
    if *for_ids > 0 && sections.iter().any(|section| section.left_out() > 0) {
        sections.iter_mut().for_each(|section| section.shown.clear());
        let kept = room.min(*for_ids);
        left = fill(&mut sections, shared, room - kept, *names) + kept;
    }
    sections.sort_by_key(|section| section.place);
    let mut body = before.clone();
    for section in &sections {
        section.write(&mut body);
    }
    body.push_str(dialogue);
    body.push_str(after);
    let ids = sections.iter().flat_map(|section| {
        let left_out = (0..section.len).filter(|at| !section.shown.contains_key(at));
        left_out.map(|at| (section.id)(at)).filter(|id| !id.is_empty()).map(names)
    });
    let left_out = sections.iter().map(Section::left_out).sum();
    body.push_str(&dropped(ids, left_out, left + number));
    body.push_str(&end);
    Some(start(used(chars(&start(0)) - 1 + chars(&body))) + &body)
}

/// Shows what the shares of the sections allow, then what else there is room for; how much of it is left.
fn fill(sections: &mut [Section<'_>], shared: usize, room: usize, names: Names<'_>) -> usize {
    let mut left = room;
    for section in &mut *sections {
        section.fill(shared / 100 * section.share + shared % 100 * section.share / 100, &mut left, names);
    }
    for section in &mut *sections {
        section.fill(usize::MAX, &mut left, names);
    }
    left
}

/// The number of characters of a text that holds its own number of characters, given those of the rest.
pub(super) fn used(rest: usize) -> usize {
    let digits = |number: usize| number.to_string().len();
    (1..).map(|width| rest + width).find(|used| rest + digits(*used) <= *used).unwrap_or(rest)
}

/// What was left out: ids while they fit into `room`, then the number of the others.
fn dropped(ids: impl Iterator<Item = String>, left_out: usize, room: usize) -> String {
    if left_out == 0 {
        return String::new();
    }
    let tag = || Tag::open("dropped").with("n", left_out);
    let mut text = String::new();
    let mut rest = left_out;
    // Where the end goes to a line of its own it takes one more.
    let around = chars(&tag().text("")) + 1;
    for id in ids {
        let id = line(&id, MAX_ID_CHARS).replace(' ', "_");
        let others = if rest > 1 { format!(" +{}", rest - 1).len() } else { 0 };
        if around + chars(&text) + 1 + chars(&id) + others > room {
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&id);
        rest -= 1;
    }
    if rest > 0 {
        let space = if text.is_empty() { "" } else { " " };
        text.push_str(&format!("{space}+{rest}"));
    }
    tag().escaped(&text)
}
