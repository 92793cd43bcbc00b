//! A here-document that a shell reads as its program.

use super::normal::{SHELLS, line_for_shell, name, unwrapped};

/// The lines of a here-document, and what stands after them: of the text of a command that begins with one, as in
/// `bash <<EOF`. `None` where another program reads it, or the shell runs a script.
pub(super) fn for_shell(text: &str) -> Option<(String, String)> {
    let (line, below) = text.split_once('\n')?;
    let (command, from) = line.split_once("<<")?;
    let words = shell_words::split(command).ok()?;
    let [program, options @ ..] = unwrapped(&words)? else { return None };
    let reads_input = options.iter().all(|word| word.starts_with('-')) && line_for_shell(options).is_none();
    if !SHELLS.contains(&name(program)) || !reads_input {
        return None;
    }
    let from = from.strip_prefix('-').unwrap_or(from).trim_start();
    let length = from.find(|c: char| c.is_whitespace() || ";|&<>()".contains(c)).unwrap_or(from.len());
    let (end, after) = from.split_at(length);
    let end = end.trim_matches(|c| c == '\'' || c == '"').trim_start_matches('\\');
    let mut lines = below.lines();
    let document: Vec<&str> =
        lines.by_ref().take_while(|line| line.trim_start_matches('\t') != end).collect();
    let after = std::iter::once(after).chain(lines).collect::<Vec<_>>().join("\n");
    (!end.is_empty()).then(|| (document.join("\n"), after.trim_start_matches([' ', ';', '&']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::for_shell;

    #[test]
    fn the_lines_that_a_shell_reads_end_where_the_shell_ends_them() {
        let read = |text: &str| for_shell(text).map(|(lines, after)| format!("{lines}|{after}"));
        for (text, expected) in [
            ("bash <<EOF\nmake migrate\nEOF\nls", "make migrate|\nls"),
            ("bash <<EOF; ls\nmake migrate\nEOF", "make migrate|ls\n"),
            ("sh -s <<-'END'\n\tmake migrate\n\tEND\n", "\tmake migrate|"),
            ("sh <<\"END\"\nmake\nEND", "make|"),
            ("sh <<\\END\nmake\nEND", "make|"),
        ] {
            assert_eq!(read(text).as_deref().map(str::trim_end), Some(expected.trim_end()), "{text}");
        }
        for text in [
            "cat <<EOF\nmake migrate\nEOF",
            "bash run.sh <<EOF\nyes\nEOF",
            "bash -c ls <<EOF\nyes\nEOF",
            "bash <<EOF",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
