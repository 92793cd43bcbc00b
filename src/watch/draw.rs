//! The drawing of the screen: it shows the state and the data, and decides nothing.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;

use super::data::{Data, Line, Tone};
use super::state::{Field, Mode, Page, State};

/// A screen of this many columns has three columns of text.
const WIDE: u16 = 110;
/// The smallest screen that shows anything.
const LEAST: (u16, u16) = (40, 10);
/// The most lines of a note.
const NOTE_LINES: usize = 4;

/// The page of keys.
const KEYS: [(&str, &str); 13] = [
    ("Up, Down, k, j", "select an entry; scroll a claim"),
    ("Page Up, Page Down", "the same, by ten"),
    ("Enter", "open the claim of the entry"),
    ("Esc", "back; from the past to now"),
    ("/", "search the claims"),
    ("t", "show the memory as it was: 2h, 3d, 2026-11-20, #57; empty for now"),
    ("s", "support the claim"),
    ("c", "challenge the claim, with a reason"),
    ("d", "deprecate the claim, with a reason; decline a proposal"),
    ("a", "accept a proposal"),
    ("r", "run the profile that can settle the claim"),
    ("?", "these keys"),
    ("q, Ctrl-C", "end"),
];

/// How the screen looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) has_colours: bool,
}

impl Look {
    fn of(self, tone: Tone) -> Style {
        let colour = |style: Style, colour| if self.has_colours { style.fg(colour) } else { style };
        match tone {
            Tone::Plain => Style::new(),
            Tone::Strong => Style::new().add_modifier(Modifier::BOLD),
            Tone::Faint => Style::new().add_modifier(Modifier::DIM),
            Tone::Command => colour(Style::new(), Color::Cyan),
            Tone::Alarm => colour(Style::new().add_modifier(Modifier::BOLD), Color::Yellow),
        }
    }
}

/// The whole screen.
pub(super) fn screen(frame: &mut Frame<'_>, state: &State, data: &Data, look: Look) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        write(frame, area, &wrapped(&line(Tone::Plain, "this terminal is too small"), area.width), look);
        return;
    }
    let notes = notes(state, area.width);
    let below = u16::try_from(notes.len()).unwrap_or(u16::MAX);
    let rows = Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(below)]);
    let [top, middle, bottom] = rows.areas(area);
    frame.buffer_mut().set_style(top, Style::new().add_modifier(Modifier::REVERSED));
    write(frame, top, &[line(Tone::Plain, &header(data))], look);
    match (&state.mode, state.page()) {
        (Mode::Keys, _) => keys(frame, middle, look),
        (_, Page::Board) => board(frame, middle, state, data, look),
        (_, Page::Found(query)) => {
            let title = counted(&format!("Search: {query}"), data, data.items.len());
            list(frame, middle, &title, (state, data, "No claim matches."), look);
        }
        (_, Page::Claim(name)) => {
            let inner = titled(frame, middle, &format!("Claim {name}"), look);
            let lines: Vec<Line> = data.text.iter().flat_map(|line| wrapped(line, inner.width)).collect();
            let most = lines.len().saturating_sub(usize::from(inner.height));
            write(frame, inner, &lines[state.place.scroll.min(most)..], look);
        }
    }
    write(frame, bottom, &notes, look);
}

fn header(data: &Data) -> String {
    let Some(now) = data.now else { return "hivemind".to_owned() };
    let parts = [Some(data.name.as_str()), Some(data.glance.as_str()).filter(|glance| !glance.is_empty())];
    let parts = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let now = now.to_string();
    let time = now.get(11..16).unwrap_or_default();
    let day = now.get(..10).unwrap_or_default();
    if data.is_past {
        let asked = data.asked.map(|asked| format!(" (#{asked} is within it)")).unwrap_or_default();
        format!(" THE PAST, #{}{asked} of {day} {time} UTC · {parts}", data.head)
    } else {
        format!(" hivemind · {parts} · #{} at {time} UTC", data.head)
    }
}

/// The lines at the bottom: a question, a typed text, a note, or the keys.
fn notes(state: &State, width: u16) -> Vec<Line> {
    let said = match (&state.mode, &state.note, &state.running) {
        (Mode::Ask(order), ..) => {
            line(Tone::Alarm, &format!("{}    y does it, any other key does not", order.line))
        }
        (Mode::Type(Field::Search, text), ..) => line(Tone::Alarm, &format!("Search: {text}_")),
        (Mode::Type(Field::Moment, text), ..) => {
            line(Tone::Alarm, &format!("Show the memory as of (2h, 2026-11-20, #57, empty for now): {text}_"))
        }
        (Mode::Type(Field::Reason(order), text), ..) => {
            line(Tone::Alarm, &format!("{}    Enter does it, Esc does not. Reason: {text}_", order.line))
        }
        (Mode::Look | Mode::Keys, Some(note), _) => line(Tone::Alarm, &super::data::plain(note)),
        (Mode::Look | Mode::Keys, None, Some(running)) => line(Tone::Alarm, &format!("{running} ...")),
        (Mode::Look | Mode::Keys, None, None) => {
            let acts = if state.acts { "  s c d a r settle" } else { "" };
            line(Tone::Faint, &format!("Enter open  Esc back  / search  t time{acts}  ? keys  q end"))
        }
    };
    let mut lines = wrapped(&said, width);
    // The end of a typed text is where its writer looks.
    if matches!(state.mode, Mode::Type(..)) {
        lines.drain(..lines.len().saturating_sub(NOTE_LINES));
    }
    lines.truncate(NOTE_LINES);
    lines
}

fn board(frame: &mut Frame<'_>, area: Rect, state: &State, data: &Data, look: Look) {
    let [left, middle, right] = if area.width >= WIDE {
        let columns = [Constraint::Percentage(24), Constraint::Percentage(46), Constraint::Fill(1)];
        Layout::horizontal(columns).spacing(1).areas(area)
    } else {
        let [left, rest] =
            Layout::horizontal([Constraint::Length(24), Constraint::Fill(1)]).spacing(1).areas(area);
        let [middle, right] = Layout::vertical([Constraint::Percentage(62), Constraint::Fill(1)]).areas(rest);
        [left, middle, right]
    };
    let inner = titled(frame, left, "Who", look);
    let who: Vec<Line> = data.who.iter().flat_map(|line| wrapped(line, inner.width)).collect();
    write(frame, inner, &who, look);
    let title = counted("Needs somebody", data, data.needs);
    list(frame, middle, &title, (state, data, "Nothing needs anybody."), look);
    let inner = titled(frame, right, "Feed", look);
    let feed: Vec<Line> = data.feed.iter().flat_map(|line| wrapped(line, inner.width)).collect();
    write(frame, inner, &feed, look);
}

fn keys(frame: &mut Frame<'_>, area: Rect, look: Look) {
    let inner = titled(frame, area, "Keys", look);
    let lines: Vec<Line> = KEYS
        .iter()
        .flat_map(|(key, does)| wrapped(&line(Tone::Plain, &format!("{key:<20}{does}")), inner.width))
        .collect();
    write(frame, inner, &lines, look);
}

/// A title with a rule, and the area below it.
fn titled(frame: &mut Frame<'_>, area: Rect, title: &str, look: Look) -> Rect {
    let width = usize::from(area.width);
    let shown: String = title.chars().take(width.saturating_sub(4)).collect();
    let rule = "─".repeat(width.saturating_sub(Span::raw(&*shown).width() + 2));
    let [top, inner] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    write(frame, top, &[line(Tone::Strong, &format!("{shown} {rule}"))], look);
    inner
}

/// The title of a list, with the number of its entries where it could be read.
fn counted(title: &str, data: &Data, count: usize) -> String {
    if data.page.is_some() { format!("{title} ({count})") } else { title.to_owned() }
}

/// A list with its selected entry in sight.
fn list(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    (state, data, nothing): (&State, &Data, &str),
    look: Look,
) {
    let inner = titled(frame, area, title, look);
    let items = &data.items;
    if items.is_empty() {
        let nothing = if data.page.is_some() { nothing } else { "" };
        write(frame, inner, &[line(Tone::Faint, nothing)], look);
        return;
    }
    let room = usize::from(inner.height);
    // The list may be an older one: the place of another page was restored, and the memory cannot be read.
    let selected = state.place.selected.min(items.len() - 1);
    let entry = |at: usize| -> Vec<Line> {
        let marker = if at == selected { "> " } else { "  " };
        let body = inner.width.saturating_sub(2);
        let lines = items[at].lines.iter().flat_map(|line| wrapped(line, body));
        let marked = |(row, line): (usize, Line)| {
            let lead = if row == 0 { marker } else { "  " };
            Line { text: format!("{lead}{}", line.text), ..line }
        };
        lines.enumerate().map(marked).collect()
    };
    // The first entry that leaves room for the selected one.
    let (mut first, mut height) = (selected, entry(selected).len());
    while first > 0 {
        height += entry(first - 1).len();
        if height > room {
            break;
        }
        first -= 1;
    }
    let mut lines = Vec::new();
    let mut at = first;
    while at < items.len() && lines.len() < room {
        lines.extend(entry(at));
        at += 1;
    }
    write(frame, inner, &lines, look);
}

/// Writes lines from the top of an area, as many as fit.
fn write(frame: &mut Frame<'_>, area: Rect, lines: &[Line], look: Look) {
    for (row, line) in (area.top()..area.bottom()).zip(lines) {
        let width = usize::from(area.width);
        frame.buffer_mut().set_stringn(area.x, row, &line.text, width, look.of(line.tone));
    }
}

fn line(tone: Tone, text: &str) -> Line {
    Line { tone, indent: 0, text: text.to_owned() }
}

/// A line in parts that fit, each with its indent in its text. A word that is too long is cut.
fn wrapped(line: &Line, width: u16) -> Vec<Line> {
    let lead = " ".repeat(usize::from(line.indent.min(width / 2)));
    let room = usize::from(width).saturating_sub(lead.len()).max(1);
    let mut rows: Vec<String> = vec![String::new()];
    let mut used = 0;
    // A double space keeps its width, as in the line of keys.
    for word in line.text.split_inclusive(' ') {
        let wide = Span::raw(word.trim_end()).width();
        if used > 0 && used + wide > room {
            rows.push(String::new());
            used = 0;
        }
        for c in word.chars() {
            let mut bytes = [0; 4];
            let wide = Span::raw(&*c.encode_utf8(&mut bytes)).width();
            if used + wide > room {
                if c == ' ' {
                    continue;
                }
                rows.push(String::new());
                used = 0;
            }
            if let Some(row) = rows.last_mut() {
                row.push(c);
            }
            used += wide;
        }
    }
    let shown = |text: String| Line { text: format!("{lead}{text}"), ..line.clone() };
    rows.into_iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::{line, wrapped};
    use crate::watch::data::Tone;

    fn rows(text: &str, width: u16) -> Vec<String> {
        wrapped(&line(Tone::Plain, text), width)
            .into_iter()
            .map(|line| line.text.trim_end().to_owned())
            .collect()
    }

    #[test]
    fn a_line_is_wrapped_by_words_and_a_long_word_is_cut() {
        assert_eq!(rows("the pool holds 20", 8), ["the pool", "holds 20"]);
        assert_eq!(rows("aaaaaaaaaaaa b", 5), ["aaaaa", "aaaaa", "aa b"]);
        assert_eq!(rows("日本語 日本", 6), ["日本語", "日本"]);
        assert_eq!(rows("", 6), [""]);
    }
}
