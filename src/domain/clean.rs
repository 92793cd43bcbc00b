//! Cleans stored text for display. The ledger and the read models keep each text as it was written; every output
//! (resources, packs, hooks, prompts, terminal) passes it through these functions.
//!
//! The rule has three outcomes. Invisible characters with an honest use (soft hyphen, zero-width space, joiners,
//! variation selectors, fillers) are removed. Characters that drive a terminal, reorder a line or carry hidden text
//! (ESC and other controls, bidirectional controls, tags, non-characters) become one U+FFFD for each run. All line
//! breaks become `\n`. A joiner or a selector that belongs to an emoji stays.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The replacement for a run of dangerous characters.
const REPLACEMENT: char = '\u{fffd}';

/// How a character is displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    AsItIs,
    Break,
    /// Removed, unless it belongs to an emoji.
    LeftOut,
    Replaced,
}

const fn shown(c: char) -> Shown {
    match c {
        ' '..='~' | '\t' => Shown::AsItIs,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Shown::Break,
        // The default ignorable code points of Unicode 17 that occur in ordinary text.
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2064}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}' => Shown::LeftOut,
        '\0'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2065}'..='\u{206f}'
        | '\u{fdd0}'..='\u{fdef}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => Shown::Replaced,
        // The last two code points of each plane are non-characters.
        c if c as u32 & 0xfffe == 0xfffe => Shown::Replaced,
        _ => Shown::AsItIs,
    }
}

/// Whether a character drives a terminal, reorders a line or is invisible. Tab and line feed are allowed.
pub fn is_hidden(c: char) -> bool {
    c != '\n' && shown(c) != Shown::AsItIs
}

/// Whether variation selectors and joiners may follow: the pictographs of Unicode 17, and the signs among them.
const fn is_emoji(c: char) -> bool {
    matches!(
        c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2194}'..='\u{21aa}'
            | '\u{231a}'..='\u{23ff}' | '\u{24c2}' | '\u{25aa}'..='\u{25fe}' | '\u{2600}'..='\u{27bf}'
            | '\u{2934}' | '\u{2935}' | '\u{2b05}'..='\u{2b55}' | '\u{3030}' | '\u{303d}' | '\u{3297}'
            | '\u{3299}' | '\u{1f000}'..='\u{1faff}'
    )
}

/// The kind of the last displayed character. It determines whether a joiner or selector may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Emoji,
    /// An emoji with its variation selector.
    Selected,
    Replaced,
    Other,
}

/// The kind of a joiner or a selector that belongs to the emoji before it. None for any other character.
fn of_emoji(c: char, last: Last, next: Option<char>) -> Option<Last> {
    match (c, last) {
        ('\u{fe0e}' | '\u{fe0f}', Last::Emoji) => Some(Last::Selected),
        ('\u{200d}', Last::Emoji | Last::Selected) if next.is_some_and(is_emoji) => Some(Last::Other),
        _ => None,
    }
}

/// Cleans text and keeps its line breaks.
pub fn cleaned(text: &str) -> Cow<'_, str> {
    // Fast path: most text is plain ASCII and needs no cleaning.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'));
    if is_plain || !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut last = Last::Other;
    while let Some(c) = chars.next() {
        let (kept, then) = match (shown(c), c, last) {
            (Shown::AsItIs, _, _) => (Some(c), if is_emoji(c) { Last::Emoji } else { Last::Other }),
            (Shown::Break, '\r', _) if chars.peek() == Some(&'\n') => (None, last),
            (Shown::Break, _, _) => (Some('\n'), Last::Other),
            (Shown::LeftOut, ..) => match of_emoji(c, last, chars.peek().copied()) {
                Some(then) => (Some(c), then),
                None => (None, last),
            },
            (Shown::Replaced, _, Last::Replaced) => (None, last),
            (Shown::Replaced, ..) => (Some(REPLACEMENT), Last::Replaced),
        };
        clean.extend(kept);
        last = then;
    }
    Cow::Owned(clean)
}

/// The text with every hidden character as a visible escape, such as `\u{202e}`, for a human who approves it. A joiner or a
/// selector that belongs to an emoji stays.
pub fn revealed(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut whole = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut last = Last::Other;
    while let Some(c) = chars.next() {
        let belongs = of_emoji(c, last, chars.peek().copied());
        if is_hidden(c) && belongs.is_none() {
            whole.extend(c.escape_unicode());
        } else {
            whole.push(c);
        }
        last = belongs.unwrap_or(if is_emoji(c) { Last::Emoji } else { Last::Other });
    }
    Cow::Owned(whole)
}

/// Cleans text for one line: white space and line breaks become single spaces.
pub fn one_line(text: &str) -> String {
    let clean = cleaned(text);
    let mut line = String::with_capacity(clean.len());
    for word in clean.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// [`one_line`], cut to `max_chars` characters; an ellipsis marks the cut.
pub fn cut_line(text: &str, max_chars: usize) -> String {
    let mut line = one_line(text);
    cut_to(&mut line, max_chars);
    line
}

/// Cuts a line, and returns whether it was too long.
fn cut_to(line: &mut String, max_chars: usize) -> bool {
    let Some((end, _)) = line.char_indices().nth(max_chars) else { return false };
    let last = line[..end].char_indices().next_back().map_or(0, |(at, _)| at);
    line.truncate(last);
    line.push('…');
    true
}

/// A line as code of Markdown, as it was typed: behind more backticks than stand together in it. `None` for one that would have to be
/// changed, because it has several lines or spaces, hidden characters, what opens a tag, or more than `max_chars` characters.
pub fn as_code(line: &str, max_chars: usize) -> Option<String> {
    let line = line.trim();
    let is_plain = !line.is_empty() && one_line(line) == line && matches!(untagged(line), Cow::Borrowed(_));
    if !is_plain || line.chars().count() > max_chars {
        return None;
    }
    let runs = line.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default() + 1);
    let space = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    Some(format!("{fence}{space}{line}{space}{fence}"))
}

/// Like [`cut_line`], but cuts between words if there is a space in the last third of the result.
pub fn cut_words(text: &str, max_chars: usize) -> String {
    let mut line = one_line(text);
    cut_between_words(&mut line, max_chars);
    line
}

fn cut_between_words(line: &mut String, max_chars: usize) -> bool {
    if !cut_to(line, max_chars) {
        return false;
    }
    let kept = line.strip_suffix('…').unwrap_or(line);
    if let Some(at) = kept.rfind(' ').filter(|at| at * 3 >= kept.len() * 2) {
        line.truncate(at);
        line.push('…');
    }
    true
}

/// Like [`cut_words`], but cuts after a sentence if one ends in the last third of the result.
pub fn cut_sentences(text: &str, max_chars: usize) -> String {
    let mut line = one_line(text);
    if !cut_between_words(&mut line, max_chars) {
        return line;
    }
    let kept = line.strip_suffix('…').unwrap_or(&line);
    let ends = [". ", "; "].iter().filter_map(|end| kept.rfind(end));
    match ends.max().filter(|at| at * 3 >= kept.len() * 2) {
        Some(at) => format!("{} …", &kept[..=at]),
        None => line,
    }
}

/// Text in which no `<` opens a tag: `<system-reminder>` becomes `&lt;system-reminder>`. Comparisons, formats and the
/// parameters of a type stay as they were written: `a < b`, `<IIQII`, `Vec<T>`.
pub fn untagged(text: &str) -> Cow<'_, str> {
    let opens = |at: usize| opens_tag(&text[..at], &text[at + 1..]);
    if !text.match_indices('<').any(|(at, _)| opens(at)) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 12);
    let mut shown = 0;
    for (at, _) in text.match_indices('<').filter(|(at, _)| opens(*at)) {
        plain.push_str(&text[shown..at]);
        plain.push_str("&lt;");
        shown = at + 1;
    }
    plain.push_str(&text[shown..]);
    Cow::Owned(plain)
}

/// Undoes [`untagged`] for a human, who takes no tag for an instruction: `&lt;header>` becomes `<header>` again.
pub fn tagged(text: &str) -> Cow<'_, str> {
    const ESCAPED: &str = "&lt;";
    let opens = |at: usize| opens_tag(&text[..at], &text[at + ESCAPED.len()..]);
    if !text.match_indices(ESCAPED).any(|(at, _)| opens(at)) {
        return Cow::Borrowed(text);
    }
    let mut typed = String::with_capacity(text.len());
    let mut shown = 0;
    for (at, _) in text.match_indices(ESCAPED).filter(|(at, _)| opens(*at)) {
        typed.push_str(&text[shown..at]);
        typed.push('<');
        shown = at + ESCAPED.len();
    }
    typed.push_str(&text[shown..]);
    Cow::Owned(typed)
}

/// One-word tags that frame a dialogue. They are no parameters of a type either.
const FRAMES: [&str; 9] =
    ["system", "user", "human", "assistant", "tool", "invoke", "instructions", "claim", "important"];

/// Whether the `<` between two texts opens or ends a tag, a comment, a section or a document.
fn opens_tag(before: &str, after: &str) -> bool {
    if after.starts_with(['!', '?']) {
        return true;
    }
    let tag = after.strip_prefix('/').unwrap_or(after);
    let end = tag.find(|c: char| !c.is_alphanumeric() && !"-_:.".contains(c)).unwrap_or(tag.len());
    let (name, rest) = tag.split_at(end);
    if !name.starts_with(char::is_alphabetic) {
        return after.starts_with('/');
    }
    let is_whole = rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || matches!(c, '/' | '>'));
    let is_frame = name.contains(['-', '_']) || FRAMES.contains(&&*name.to_ascii_lowercase());
    let inside = rest.split_once('>').map_or(rest, |(inside, _)| inside);
    let is_parameter = before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':'))
        && !after.starts_with('/')
        && !inside.contains(['=', '"']);
    is_whole && (is_frame || !is_parameter)
}

/// Serialised JSON with every hidden character escaped as `\uXXXX`. A parser reads the same strings. The JSON
/// standard requires escapes only for U+0000 to U+001F.
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 24);
    for c in json.chars() {
        if is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(c);
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::{as_code, cleaned, cut_line, escaped_json, is_hidden, one_line, tagged, untagged};

    #[test]
    fn what_acts_or_hides_is_not_shown() {
        let cases = [
            ("plain\ttext\nsecond", "plain\ttext\nsecond"),
            ("\u{1b}[2J\u{1b}[31mred\u{9b}0m", "\u{fffd}[2J\u{fffd}[31mred\u{fffd}0m"),
            ("bell\u{7}\u{8}\0.", "bell\u{fffd}."),
            ("a\r\nb\rc\u{2028}d\u{85}e\u{b}f", "a\nb\nc\nd\ne\nf"),
            ("hi\u{e0069}\u{e0067}\u{e006e}\u{e007f}!", "hi\u{fffd}!"),
            ("a\u{e0100}\u{e01ef}b", "a\u{fffd}b"),
            ("ig\u{200b}no\u{ad}re\u{2060} \u{feff}me\u{3164}", "ignore me"),
            ("\u{202e}txt.exe\u{202c} \u{2066}x\u{200f}", "\u{fffd}txt.exe\u{fffd} \u{fffd}x\u{fffd}"),
            ("\u{fffe}\u{10ffff}\u{fdd0}", "\u{fffd}"),
            // Letters keep their shapes without joiners, and a hidden character does not hide a replacement.
            ("می\u{200c}خواهم क\u{94d}\u{200d}ष", "میخواهم क\u{94d}ष"),
            ("\u{1b}\u{200b}\u{1b}", "\u{fffd}"),
            (
                "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥 👍🏽 ☎\u{fe0e}",
                "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥 👍🏽 ☎\u{fe0e}",
            ),
            // Selectors and joiners outside of emoji, or more of them than an emoji has.
            ("a\u{fe0f}b\u{200d}c 👩\u{200d}x ❤\u{fe0f}\u{fe0e}\u{fe0f}.", "abc 👩x ❤\u{fe0f}."),
            ("プール отчет 🙂 e\u{301} \u{e000}", "プール отчет 🙂 e\u{301} \u{e000}"),
        ];
        for (text, clean) in cases {
            assert_eq!(cleaned(text), clean, "{text:?}");
            assert_eq!(cleaned(clean), clean, "what is clean stays: {clean:?}");
        }
    }

    #[test]
    fn a_line_is_one_line_and_opens_no_tag() {
        assert_eq!(one_line(" a \u{2028}\n# b\u{200b}\t c "), "a # b c");
        assert_eq!(cut_line("abcdef", 6), "abcdef");
        assert_eq!(cut_line("abcdéfg", 6), "abcdé…");
        assert_eq!(cut_line("abc", 0), "…");
        let tags = "<system-reminder></b><!--<?a <é> a<invoke name=\"x\">b<system>c<hivemind_state> </ x><b x='1'> <user";
        let plain = "&lt;system-reminder>&lt;/b>&lt;!--&lt;?a &lt;é> a&lt;invoke name=\"x\">b&lt;system>c&lt;hivemind_state> &lt;/ x>&lt;b x='1'> &lt;user";
        assert_eq!(untagged(tags), plain);
        assert_eq!(tagged(plain), tags);
        // Red before: a claim about a format or a type was shown with `&lt;`.
        let code = "a < b <= c << 1 <- x Vec<T> Map<String, Vec<u8>> <IIQII, <2sBBIQII; read(from <first_position) > 1";
        assert_eq!(untagged(code), code);
    }

    /// Red before: quotes became `'` and `<` became `&lt;`, so that a shell did something else.
    #[test]
    fn code_stays_as_it_was_typed_or_is_not_shown() {
        for (line, code) in [
            ("make", "`make`"),
            ("cp \"$HOME/.env.example\" .env", "`cp \"$HOME/.env.example\" .env`"),
            ("touch `date +%F`.ok", "``touch `date +%F`.ok``"),
            ("echo ``` `date`", "```` echo ``` `date` ````"),
            ("psql shop < schema.sql", "`psql shop < schema.sql`"),
            ("a <<< b | Map<String>", "`a <<< b | Map<String>`"),
            (" é ", "`é`"),
        ] {
            assert_eq!(as_code(line, 40).as_deref(), Some(code), "{line}");
        }
        for line in [
            "",
            "npm run build <in.txt",
            "echo '</b>'",
            "a\nb",
            "a  b",
            "a\tb",
            "a\u{1b}[2J",
            "a\u{200b}",
            &"a".repeat(41),
        ] {
            assert_eq!(as_code(line, 40), None, "{line}");
        }
    }

    #[test]
    fn json_keeps_its_strings_and_shows_no_hidden_character() {
        let hidden: String = "a\u{1b}\u{9b}\u{202e}\u{200d}\u{e0041}\u{fffe}\u{ad}é🙂\n".repeat(2);
        let json = serde_json::Value::from(hidden).to_string();
        let escaped = escaped_json(&json);
        assert!(!escaped.contains(is_hidden), "{escaped}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&escaped).expect("JSON").to_string(),
            json,
            "{escaped}"
        );
    }
}
