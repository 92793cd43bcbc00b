//! The programs that a shell reads from its input: a here-document, a here-string, or what a command prints into a pipe.

use super::normal::{SHELLS, after_keywords, line_for_shell, name, script_of, unwrapped};

/// What ends a word of the shell outside of quotes.
const ENDS_WORD: &str = ";|&<>()";

/// The lines that a shell reads, and what stands after them: of the text of a command that begins with them, as in
/// `bash <<EOF`, `cat <<EOF | bash` and `bash <<< ls`. `None` where another program reads them, or the shell runs a script.
pub(super) fn for_shell(text: &str) -> Option<(String, String)> {
    let (command, from) = text.split_once("<<").filter(|(command, _)| !command.contains('\n'))?;
    let words = shell_words::split(command).ok()?;
    if let Some(from) = from.strip_prefix('<') {
        return is_for_shell(&words).then(|| said(from))?;
    }
    let (first, below) = from.split_once('\n')?;
    let is_read = is_for_shell(&words) || is_printer(&words) && leads_to_shell(first);
    if !is_read {
        return None;
    }
    let (end, after) = end_and_rest(first);
    let mut lines = below.lines();
    let document: Vec<&str> =
        lines.by_ref().take_while(|line| line.trim_start_matches('\t') != end).collect();
    let after = std::iter::once(after).chain(lines).collect::<Vec<_>>().join("\n");
    (!end.is_empty()).then(|| (document.join("\n"), next(&after)))
}

/// The lines below a here-document for another program, of the text of a command that begins with it, as in
/// `python - <<EOF`. `None` where something stands behind the word of its end: it may depend on how the program ends.
pub(super) fn below_program(text: &str) -> Option<String> {
    let (command, from) = text.split_once("<<").filter(|(command, _)| !command.contains(['\n', '`', '$']))?;
    let words = shell_words::split(command).ok()?;
    let (first, below) = from.split_once('\n').filter(|(first, _)| !first.starts_with('<'))?;
    let (end, after) = end_and_rest(first);
    if unwrapped(after_keywords(&words))?.is_empty()
        || is_for_shell(&words)
        || end.is_empty()
        || !after.trim().is_empty()
    {
        return None;
    }
    let mut lines = below.lines().skip_while(|line| line.trim_start_matches('\t') != end);
    lines.next()?;
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// The word that ends a here-document, and what stands behind it on the line that begins with it.
fn end_and_rest(first: &str) -> (&str, &str) {
    let from = first.strip_prefix('-').unwrap_or(first).trim_start();
    let length = from.find(|c: char| c.is_whitespace() || ENDS_WORD.contains(c)).unwrap_or(from.len());
    let (end, after) = from.split_at(length);
    (end.trim_matches(|c| c == '\'' || c == '"').trim_start_matches('\\'), after)
}

/// Whether a command is a shell that reads its program from its input.
pub(super) fn is_for_shell(words: &[String]) -> bool {
    let Some([program, arguments @ ..]) = unwrapped(after_keywords(words)) else { return false };
    SHELLS.contains(&name(program)) && line_for_shell(arguments).is_none() && script_of(arguments).is_none()
}

/// Whether the pipe on the rest of a line leads into a shell that reads its program from it.
pub(super) fn leads_to_shell(rest: &str) -> bool {
    let line = rest.lines().next().unwrap_or_default();
    let Some((before, next)) = line.split_once('|') else { return false };
    let next = next.strip_prefix('&').unwrap_or(next);
    let command = next.split(|c| ENDS_WORD.contains(c)).next().unwrap_or_default();
    !before.contains([';', '(', ')']) && shell_words::split(command).is_ok_and(|words| is_for_shell(&words))
}

/// What a command prints that is known from its words, one command a line: of `echo` and `printf`, and of `cat` and `tee` what they
/// get.
pub(super) fn printed(words: &[String], piped: Option<String>) -> Option<String> {
    let (program, arguments) = unwrapped(words)?.split_first()?;
    match name(program) {
        "cat" | "tee" => piped,
        "echo" => {
            let words =
                arguments.iter().skip_while(|word| ["-e", "-n", "-ne", "-en"].contains(&word.as_str()));
            Some(words.map(String::as_str).collect::<Vec<_>>().join(" ").replace("\\n", "\n"))
        }
        "printf" => {
            let (format, values) = arguments.split_first()?;
            let lines = if format.contains('%') { values.join("\n") } else { format.replace("\\n", "\n") };
            Some(lines)
        }
        _ => None,
    }
}

fn is_printer(words: &[String]) -> bool {
    after_keywords(words).first().is_some_and(|program| program == "cat" || program == "tee")
}

/// The word at the beginning of a text without its quotes, and what stands after it. A word that only the shell knows is empty.
fn said(text: &str) -> Option<(String, String)> {
    let text = text.trim_start_matches([' ', '\t']);
    let mut chars = text.char_indices();
    let mut quote = None;
    let mut end = text.len();
    while let Some((at, c)) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => drop(chars.next()),
            (c, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"', None) => quote = Some(c),
            (c, None) if c.is_whitespace() || ENDS_WORD.contains(c) => {
                end = at;
                break;
            }
            (_, None) => {}
        }
    }
    let (word, after) = text.split_at(end);
    let [word] = shell_words::split(word).ok()?.try_into().unwrap_or_default();
    Some((word, next(after)))
}

/// The commands after a program, without the operator before them.
fn next(after: &str) -> String {
    after.trim_start_matches([' ', ';', '&', '|']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::for_shell;
    use crate::domain::action::normalise;

    #[test]
    fn the_lines_that_a_shell_reads_end_where_the_shell_ends_them() {
        let read = |text: &str| for_shell(text).map(|(lines, after)| format!("{lines}|{after}"));
        for (text, expected) in [
            ("bash <<EOF\nmake migrate\nEOF\nls", "make migrate|\nls"),
            ("bash <<EOF; ls\nmake migrate\nEOF", "make migrate|ls\n"),
            ("sh -s <<-'END'\n\tmake migrate\n\tEND\n", "\tmake migrate|"),
            ("sh <<\"END\"\nmake\nEND", "make|"),
            ("sh <<\\END\nmake\nEND", "make|"),
            ("then bash -o pipefail <<EOF\nmake\nEOF\nfi", "make|\nfi"),
            ("then cat <<EOF | bash\nmake\nEOF\nfi", "make|bash\nfi"),
            ("cat <<EOF | bash -x && ls\nmake\nEOF", "make|bash -x && ls\n"),
            ("bash <<< \"make 'a' \\\"b\\\"\" && ls", "make 'a' \"b\"|ls"),
            ("bash <<<make; ls\npwd", "make|ls\npwd"),
            ("tee a.sh <<EOF | sh\nmake\nEOF", "make|sh"),
        ] {
            assert_eq!(read(text).as_deref().map(str::trim_end), Some(expected.trim_end()), "{text}");
        }
        for text in [
            "cat <<EOF\nmake migrate\nEOF",
            "cat <<EOF | grep make\nmake migrate\nEOF",
            "cat <<EOF || bash\nmake migrate\nEOF",
            "grep make <<EOF | bash\nmake migrate\nEOF",
            "bash run.sh <<EOF\nyes\nEOF",
            "bash -c ls <<EOF\nyes\nEOF",
            "bash <<EOF",
            "bash run.sh <<< yes",
            "cat <<< make",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    /// Red before: nothing was known of what ran behind a program that edits files, which agents write so.
    #[test]
    fn what_stands_below_a_program_is_read() {
        let runs = |line: &str| -> Vec<String> {
            normalise(line, "/w", "/w").iter().map(ToString::to_string).collect()
        };
        for line in [
            "python - <<'EOF'\nimport re\nr('a''b', \"it's\")\nEOF\nmake test",
            "cd src && python3 <<EOF\nprint(1)\nEOF\ncd ..; make test",
            "psql shop <<-EOF\n\tselect 1\n\tEOF\nmake test",
            "python - <<'A'\nx\nA\nnode <<\"B\"\ny\nB\nmake test",
        ] {
            assert_eq!(runs(line), ["make test"], "{line}");
        }
        for line in [
            "python - <<'EOF' && make test\nx\nEOF",
            "python - <<'EOF' | make test\nx\nEOF",
            "python - <<'EOF'\nx\nmake test",
            "<<'EOF'\nx\nEOF\nmake test",
            "python - <<\nx\n\nmake test",
        ] {
            assert!(runs(line).is_empty(), "{line}: {:?}", runs(line));
        }
    }

    /// Red before: a guard on `git push` met none of these.
    #[test]
    fn a_program_for_a_shell_is_read_however_it_gets_there() {
        let runs = |line: &str| {
            let commands: Vec<String> = normalise(line, "/w", "/w").iter().map(ToString::to_string).collect();
            commands
        };
        for line in [
            "bash <<< \"git push\"",
            "cd web && sudo bash -e <<<'git push' > log && ls",
            "cat <<EOF | bash\ngit push\nEOF",
            "cat <<'EOF' | sh -s a && ls\ngit push\nEOF\nls",
            "echo \"git push\" | sh",
            "echo -e 'set -e\\ngit push' | tee a.sh | bash -x",
            "printf 'git push\\n' | bash",
            "printf '%s\\n' 'git push' | bash",
            "if true; then bash <<EOF\ngit push\nEOF\nfi",
        ] {
            assert!(runs(line).iter().any(|run| run.ends_with("git push")), "{line}: {:?}", runs(line));
        }
        for line in [
            "echo 'git push' | cat",
            "echo 'git push' | bash run.sh",
            "echo 'git push'; ls | sh",
            "cat <<EOF | tee a.sh\ngit push\nEOF",
            "python3 <<< 'git push'",
            "bash run.sh <<< 'git push'",
        ] {
            assert!(!runs(line).iter().any(|run| run.ends_with("git push")), "{line}: {:?}", runs(line));
        }
        // What follows is read too.
        for line in
            ["bash <<< $X && git push", "bash <<< 'ls'; git push", "cat <<EOF | bash\nls\nEOF\ngit push"]
        {
            assert!(runs(line).contains(&"git push".to_owned()), "{line}: {:?}", runs(line));
        }
    }
}
