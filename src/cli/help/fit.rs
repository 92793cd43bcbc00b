//! Help texts for a terminal: sentences are wrapped anew, columns stay columns, and a command stays one that can be pasted.

use crate::cli::output;

/// How much deeper a line that goes on is than its first part.
const DEEPER: usize = 4;
/// What stands before the one example of a page.
const EXAMPLE: &str = "Example: ";

/// A page for a terminal of `width` columns. A text in the source has breaks of its own; its sentences are joined first.
/// Without a terminal (`width` 0) it stays as it is.
pub(super) fn fitted(page: &str, width: usize) -> String {
    if width == 0 {
        return page.to_owned();
    }
    let mut lines: Vec<String> = Vec::new();
    for line in page.lines() {
        match lines.last_mut() {
            Some(last) if is_prose(last.as_str()) && is_prose(line) => *last = format!("{last} {line}"),
            Some(last) if is_list(last.as_str()) && is_list(line) => {
                *last = format!("{last}, {}", line.trim_start())
            }
            _ => lines.push(line.to_owned()),
        }
    }
    let text: String = lines.iter().map(|line| fitted_line(line, width)).collect();
    if page.ends_with('\n') { text } else { text.trim_end_matches('\n').to_owned() }
}

/// Whether a line is part of a list of names, such as those of verbs.
fn is_list(line: &str) -> bool {
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    line.strip_prefix("  ").is_some_and(|names| names.split(", ").all(is_name))
}

/// Whether a line is part of a paragraph.
fn is_prose(line: &str) -> bool {
    !line.is_empty()
        && !line.contains("  ")
        && ![" ", "Usage", "Example"].iter().any(|word| line.starts_with(word))
}

fn fitted_line(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return format!("{line}\n");
    }
    let text = line.trim_start();
    let margin = line.len() - text.len();
    let (lead, indent) = match column(text) {
        _ if text.starts_with(EXAMPLE) => (margin + EXAMPLE.len(), margin + DEEPER),
        Some(column) => (margin + column, margin + column),
        None => (margin, margin),
    };
    let (lead, text) = line.split_at(lead);
    let indent = " ".repeat(indent);
    if !is_command(text) {
        return output::wrapped_in(width, lead, &indent, text);
    }
    let mut first = lead;
    let mut shown = String::new();
    for part in split(text, "; ") {
        shown.push_str(&command(part, (first, &indent), width));
        first = &indent;
    }
    shown
}

/// Where the second column of a line begins. None for a line without columns, and for a command with what it does.
fn column(text: &str) -> Option<usize> {
    let (name, rest) = text.split_once("  ").filter(|_| !is_command(text))?;
    Some(name.len() + 2 + rest.len() - rest.trim_start().len())
}

fn is_command(text: &str) -> bool {
    let is_set = text.split(' ').next().is_some_and(|word| word.contains('='));
    // A sentence may begin with `hm`, too.
    is_set || ["hm ", "cd "].iter().any(|start| text.starts_with(start)) && !text.contains(". ")
}

/// A command, and below it what it does. A command longer than a line goes on in the next one, as a shell takes it.
fn command(text: &str, (first, indent): (&str, &str), width: usize) -> String {
    let whole = format!("{first}{text}");
    if whole.chars().count() <= width {
        return whole + "\n";
    }
    let deeper = if first.starts_with(EXAMPLE) {
        indent.to_owned()
    } else {
        format!("{indent}{}", " ".repeat(DEEPER))
    };
    if let Some((does, what)) = text.split_once("  ").filter(|_| is_command(text)) {
        let what = output::wrapped_in(width, &deeper, &deeper, what.trim_start());
        return command(does, (first, indent), width) + &what;
    }
    if !is_command(text) {
        return output::wrapped_in(width, first, indent, text);
    }
    // The value of an option stays beside it.
    let mut words: Vec<String> = Vec::new();
    for word in split(text, " ") {
        let is_open =
            |last: &&mut String| last.starts_with("--") && !last.contains(' ') && !word.starts_with('-');
        match words.last_mut().filter(is_open) {
            Some(last) => *last = format!("{last} {word}"),
            None => words.push(word.to_owned()),
        }
    }
    let mut lines = vec![first.to_owned()];
    for (at, word) in words.iter().enumerate() {
        let last = lines.last_mut().expect("a first line");
        // ` \` ends the line.
        if at > 0 && last.chars().count() + word.chars().count() + 3 > width {
            lines.push(format!("{deeper}{word}"));
        } else {
            last.push_str(if at == 0 { "" } else { " " });
            last.push_str(word);
        }
    }
    lines.join(" \\\n") + "\n"
}

/// The parts of a command line between separators outside of quotes. A `;` stays with what it ends.
fn split<'t>(text: &'t str, between: &str) -> Vec<&'t str> {
    let (mut parts, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' && text[..at].ends_with([' ', '=']) => quote = Some(c),
            None if at >= start && text[at..].starts_with(between) => {
                parts.push(&text[start..at + between.len() - 1]);
                start = at + between.len();
            }
            Some(_) | None => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::fitted;

    #[test]
    fn a_page_fits_and_its_commands_can_be_pasted() {
        let page = "\
Others are warned of it and not kept from writing; they cannot take a lock
that overlaps it: `hm lock --list`.
Example: hm decision record \"one file\" --target storage --rationale \"no server; nothing to run\"

Know    hm news  what is new for you; hm news --wait 5m (poll no list)
        hm claim show C47 C48  whole, with reasons
Set up
  init, uninit
  hook
  context         What an agent should know; attention: what needs you
";
        expect![[r#"
            Others are warned of it and not kept from
            writing; they cannot take a lock that overlaps
            it: `hm lock --list`.
            Example: hm decision record "one file" \
                --target storage \
                --rationale "no server; nothing to run"

            Know    hm news  what is new for you;
                    hm news --wait 5m (poll no list)
                    hm claim show C47 C48
                        whole, with reasons
            Set up
              init, uninit, hook
              context         What an agent should know;
                              attention: what needs you
        "#]]
        .assert_eq(&fitted(page, 48));
        assert_eq!(fitted(page, 0), page);
    }
}
