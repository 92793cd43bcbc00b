//! Splits a shell line into its simple commands: quotes, operators, redirections, substitutions.

use super::document;

/// The mask for a value that only the shell knows: of a substitution, or of a parameter with operators.
pub(super) const VALUE: &str = "{value}";
/// The words of the shell that stand before a bracket.
const BEFORE_A_BRACKET: [&str; 10] = ["!", "do", "elif", "else", "if", "then", "time", "until", "while", "{"];
/// How deep nested substitutions are followed. People write two levels.
const MAX_NESTING: usize = 8;

/// The operator between two commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// `&&`, or the end of the line or of a subshell.
    Next,
    /// `;` or a new line.
    Then,
    /// `||`
    Else,
    /// `|`
    Pipe,
    /// `&`
    Aside,
}

/// A step of the shell, in execution order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A simple command without its redirections and comments, still quoted.
    Run {
        /// The text as written, with [`VALUE`] in place of substitutions.
        text: String,
        /// The operator before it.
        before: Joint,
        /// The operator after it.
        after: Joint,
    },
    /// The line inside a substitution. It comes before the command that contains the substitution.
    Within(String),
    /// A redirection writes this file, still quoted. It comes before its command, and after its subshell.
    Write(String),
    /// A subshell begins.
    Enter,
    /// A subshell ends.
    Leave,
}

/// Splits a line, and tells whether the whole line was understood. Nothing is returned from the first unclear part on (an open
/// quote, a function), because a shell may read the rest differently.
pub(super) fn read(line: &str) -> (Vec<Step>, bool) {
    let (steps, rest) = read_with_rest(line);
    (steps, rest.is_none())
}

/// Like [`read`], with the text that was not understood, from the beginning of its command on.
pub(super) fn read_with_rest(line: &str) -> (Vec<Step>, Option<String>) {
    let mut cutter = Cutter::of(line);
    // `None` keeps the steps that were understood before.
    let rest = cutter.run().is_none().then(|| cutter.text + &line[cutter.at..]);
    (cutter.steps, rest)
}

/// Like [`read`], but passes over no here-document.
pub(super) fn read_without_documents(line: &str) -> (Vec<Step>, bool) {
    let mut cutter = Cutter { follows: Documents::None, ..Cutter::of(line) };
    let is_whole = cutter.run().is_some();
    (cutter.steps, is_whole)
}

/// Like [`read`] of a line that is understood as a whole, with every here-document passed over. Besides, an operator at the end
/// that no command follows.
pub(super) fn read_whole(line: &str) -> Option<(Vec<Step>, Option<Joint>)> {
    let mut cutter = Cutter { follows: Documents::All, ..Cutter::of(line) };
    cutter.run()?;
    Some((cutter.steps, cutter.open))
}

/// Whether a quote or a back-quote of the line is never closed, so that no shell can read it. In a here-document of a
/// substitution it may stand alone.
pub(super) fn is_open(line: &str) -> bool {
    let mut cutter = Cutter::of(line);
    if cutter.run().is_some() {
        return false;
    }
    let rest = &line[cutter.at..];
    let has_document = || {
        let substitution = rest.find('`').into_iter().chain(rest.find("$(")).min();
        substitution.is_some_and(|at| rest[at..].contains("<<"))
    };
    rest.starts_with('\'') || rest.starts_with("$'") || rest.starts_with(['"', '`']) && !has_document()
}

struct Cutter<'l> {
    line: &'l str,
    /// Bytes read so far; always on a character boundary.
    at: usize,
    /// The text of the current command.
    text: String,
    within: Vec<String>,
    before: Joint,
    subshells: usize,
    /// The here-documents whose text begins on the next line.
    documents: Vec<Document>,
    follows: Documents,
    /// The operator that no command follows yet.
    open: Option<Joint>,
    steps: Vec<Step>,
}

/// The most here-documents that begin on one line.
const MAX_DOCUMENTS: usize = 16;

/// The longest command that is looked at for a shell, in bytes. It is taken apart at each here-string of a line.
const MAX_SHELL_BYTES: usize = 1_024;

/// The here-documents that are passed over. A line with another one is unclear from there on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Documents {
    None,
    /// Those that are only written to a file or printed: by `cat` and `tee`.
    Written,
    All,
}

/// A here-document: the word at its end, whether it is taken as it is, and whether tabs before its lines are not part of it.
struct Document {
    end: String,
    is_quoted: bool,
    has_tabs: bool,
}

impl<'l> Cutter<'l> {
    const fn of(line: &'l str) -> Self {
        Self {
            line,
            at: 0,
            text: String::new(),
            within: Vec::new(),
            before: Joint::Next,
            subshells: 0,
            documents: Vec::new(),
            follows: Documents::Written,
            open: None,
            steps: Vec::new(),
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.line.as_bytes().get(self.at + ahead).copied()
    }

    fn run(&mut self) -> Option<()> {
        loop {
            if self.byte(0) == Some(b'#') && self.is_between_words() {
                self.at += self.line[self.at..].find('\n').unwrap_or(self.line.len() - self.at);
            }
            if self.piece()? {
                continue;
            }
            let Some(byte) = self.byte(0) else {
                self.end(Joint::Next);
                return (self.subshells == 0).then_some(());
            };
            match (byte, self.byte(1)) {
                (b'&', Some(b'&')) => self.join(2, Joint::Next),
                (b'&', Some(b'>')) => self.redirection()?,
                (b'&', _) => self.join(1, Joint::Aside),
                (b'|', Some(b'|')) => self.join(2, Joint::Else),
                (b'|', Some(b'&')) => self.join(2, Joint::Pipe),
                (b'|', _) => self.join(1, Joint::Pipe),
                // The end of a branch of `case`.
                (b';', Some(b';' | b'&')) => return None,
                // A command may continue on the next line after `&&`, `||` and `|`.
                (b'\n', _)
                    if self.text.trim().is_empty()
                        && (matches!(self.open, Some(Joint::Next | Joint::Else | Joint::Pipe))
                            || !matches!(self.steps.last(), Some(Step::Leave | Step::Write(_)))) =>
                {
                    self.at += 1;
                    self.skip_documents()?;
                }
                (b'\n', _) => {
                    self.join(1, Joint::Then);
                    self.skip_documents()?;
                }
                (b';', _) => self.join(1, Joint::Then),
                (b'<' | b'>', _) => self.redirection()?,
                // Arithmetic.
                (b'(', Some(b'(')) => return None,
                (b'(', _) if self.text.split_whitespace().all(|word| BEFORE_A_BRACKET.contains(&word)) => {
                    if !self.text.trim().is_empty() {
                        self.end(Joint::Next);
                    }
                    self.at += 1;
                    self.subshells += 1;
                    self.open = None;
                    self.steps.push(Step::Enter);
                }
                (b'(', _) if self.is_array() => {
                    let end = closing(self.line.as_bytes(), self.at + 1, b')', MAX_NESTING)?;
                    if has_substitution(&self.line[self.at..end]) {
                        return None;
                    }
                    self.text.push_str(VALUE);
                    self.at = end + 1;
                }
                // A function definition.
                (b'(', _) => return None,
                // What runs in the background is a bracket, for which the steps have no place.
                (b')', _)
                    if self.is_strict() && self.open == Some(Joint::Aside) && self.text.trim().is_empty() =>
                {
                    return None;
                }
                (b')', _) => {
                    self.end(Joint::Next);
                    self.at += 1;
                    self.subshells = self.subshells.checked_sub(1)?;
                    self.open = None;
                    self.steps.push(Step::Leave);
                }
                _ => {
                    self.text.push(' ');
                    self.at += 1;
                }
            }
        }
    }

    /// Whether the line is read for its structure.
    fn is_strict(&self) -> bool {
        self.follows == Documents::All
    }

    /// Whether the text so far is the name of an array and `=`.
    fn is_array(&self) -> bool {
        let last = self.text.split_whitespace().next_back().filter(|_| !self.text.ends_with(' '));
        last.and_then(|word| word.strip_suffix('=')).is_some_and(|name| is_name(name.trim_end_matches('+')))
    }

    /// Skips the here-documents of the line before. `None` where a shell would run something in one of them.
    fn skip_documents(&mut self) -> Option<()> {
        for Document { end, is_quoted, has_tabs } in std::mem::take(&mut self.documents) {
            loop {
                let rest = &self.line[self.at..];
                if rest.is_empty() {
                    break;
                }
                let (line, length) =
                    rest.split_once('\n').map_or((rest, rest.len()), |(line, _)| (line, line.len() + 1));
                self.at += length;
                if (if has_tabs { line.trim_start_matches('\t') } else { line }) == end {
                    break;
                }
                if !is_quoted && has_substitution(line) {
                    return None;
                }
            }
        }
        Some(())
    }

    /// Whether the command so far is a shell that reads its program from its input.
    fn is_for_shell(&self) -> bool {
        let command = self.text.trim();
        command.len() <= MAX_SHELL_BYTES
            && shell_words::split(command).is_ok_and(|words| document::is_for_shell(&words))
    }

    fn is_between_words(&self) -> bool {
        self.text.is_empty() || self.text.ends_with(' ') && !self.text.ends_with("\\ ")
    }

    fn join(&mut self, bytes: usize, joint: Joint) {
        self.end(joint);
        self.open = Some(joint);
        self.at += bytes;
    }

    /// Ends the current command.
    fn end(&mut self, after: Joint) {
        self.steps.extend(self.within.drain(..).map(Step::Within));
        let text = std::mem::take(&mut self.text);
        if !text.trim().is_empty() {
            self.steps.push(Step::Run { text, before: self.before, after });
            self.open = None;
        }
        self.before = after;
    }

    /// Reads one piece of a word; false at the end of the word.
    fn piece(&mut self) -> Option<bool> {
        let rest = &self.line[self.at..];
        match rest.as_bytes() {
            [] | [b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>', ..] => {
                return Some(false);
            }
            [b'\\', b'\n', ..] => self.at += 2,
            [b'\\', ..] => {
                let escaped = rest[1..].chars().next()?;
                self.take(1 + escaped.len_utf8());
            }
            [b'\'', after @ ..] => {
                let length = after.iter().position(|byte| *byte == b'\'')?;
                self.take(length + 2);
            }
            [b'"', ..] => self.double_quoted()?,
            [b'$', b'\'', ..] => self.escaped()?,
            _ if self.substitution()? => {}
            _ => self.take(rest.chars().next()?.len_utf8()),
        }
        Some(true)
    }

    /// Copies this many bytes unchanged.
    fn take(&mut self, bytes: usize) {
        self.text.push_str(&self.line[self.at..self.at + bytes]);
        self.at += bytes;
    }

    fn double_quoted(&mut self) -> Option<()> {
        let end = closing(self.line.as_bytes(), self.at + 1, b'"', MAX_NESTING)?;
        self.take(1);
        while self.at < end {
            if self.byte(0) == Some(b'\\') {
                self.take(1);
            } else if self.substitution()? {
                continue;
            }
            self.take(self.line[self.at..].chars().next()?.len_utf8());
        }
        self.take(1);
        Some(())
    }

    /// Reads `$'…'`, in which a backslash escapes, and writes it as a quote that has no escapes.
    fn escaped(&mut self) -> Option<()> {
        let (first, end) = (self.at + 2, after_escapes(self.line.as_bytes(), self.at + 2)?);
        let mut said = String::new();
        let mut chars = self.line[first..end].chars();
        while let Some(c) = chars.next() {
            if c != '\\' {
                said.push(c);
                continue;
            }
            match chars.next() {
                Some('n') => said.push('\n'),
                Some('t') => said.push('\t'),
                Some(c @ ('\\' | '\'' | '"' | '?')) => said.push(c),
                // Which character a number stands for does not matter here.
                other => said.extend(std::iter::once('\\').chain(other)),
            }
        }
        self.text.push_str(&format!("'{}'", said.replace('\'', r"'\''")));
        self.at = end + 1;
        Some(())
    }

    /// Reads `$(…)`, backticks or `${…}`; false when the text here is none of them.
    fn substitution(&mut self) -> Option<bool> {
        let (first, close) = match (self.byte(0), self.byte(1)) {
            (Some(b'`'), _) => (self.at + 1, b'`'),
            (Some(b'$'), Some(b'(')) => (self.at + 2, b')'),
            (Some(b'$'), Some(b'{')) => (self.at + 2, b'}'),
            _ => return Some(false),
        };
        let end = closing(self.line.as_bytes(), first, close, MAX_NESTING)?;
        let within = &self.line[first..end];
        match close {
            b'}' if is_name(within) => {
                self.text.push('$');
                self.text.push_str(within);
            }
            // Arithmetic runs nothing.
            b')' if within.starts_with('(') => self.text.push_str(VALUE),
            b'}' => self.text.push_str(VALUE),
            _ => {
                self.within.push(within.to_owned());
                self.text.push_str(VALUE);
            }
        }
        self.at = end + 1;
        Some(true)
    }

    /// Skips `>file`, `2>&1` and the like.
    fn redirection(&mut self) -> Option<()> {
        let number = self.text.trim_end_matches(|c: char| c.is_ascii_digit());
        if number.is_empty() || number.ends_with(' ') {
            self.text.truncate(number.len());
        }
        // The steps have no place for a redirection without a command.
        let is_first = self.text.trim().is_empty()
            && (self.open.is_some() || !matches!(self.steps.last(), Some(Step::Leave | Step::Write(_))));
        if self.is_strict() && is_first {
            return None;
        }
        let operator = self.line[self.at..].find(|c| !matches!(c, '<' | '>' | '&' | '|'));
        let operator = &self.line[self.at..operator.map_or(self.line.len(), |length| self.at + length)];
        match operator {
            "<<" => {
                let is_written = || {
                    self.text.split_whitespace().next().is_some_and(|it| it == "cat" || it == "tee")
                        && !document::leads_to_shell(&self.line[self.at..])
                };
                if match self.follows {
                    Documents::None => true,
                    Documents::Written => !is_written(),
                    Documents::All => false,
                } {
                    return None;
                }
                self.at += 2;
                let has_tabs = self.byte(0) == Some(b'-');
                self.at += usize::from(has_tabs);
                while matches!(self.byte(0), Some(b' ' | b'\t')) {
                    self.at += 1;
                }
                let (first, command) = (self.at, std::mem::take(&mut self.text));
                while self.piece()? {}
                self.text = command;
                let word = &self.line[first..self.at];
                let [end] = shell_words::split(word).ok()?.try_into().ok()?;
                if self.documents.len() == MAX_DOCUMENTS {
                    return None;
                }
                self.documents.push(Document { end, is_quoted: word.contains(['\'', '"', '\\']), has_tabs });
                self.text.push(' ');
                return Some(());
            }
            // The program of a shell.
            "<<<" if !self.is_strict() && self.is_for_shell() => return None,
            "<" | ">" if self.byte(1) == Some(b'(') => {
                let end = closing(self.line.as_bytes(), self.at + 2, b')', MAX_NESTING)?;
                self.within.push(self.line[self.at + 2..end].to_owned());
                self.text.push_str(VALUE);
                self.at = end + 1;
                return Some(());
            }
            "<" | ">" | ">>" | "<<<" | "<>" | ">|" | ">&" | "<&" | "&>" | "&>>" => self.at += operator.len(),
            _ => return None,
        }
        while matches!(self.byte(0), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let command = std::mem::take(&mut self.text);
        while self.piece()? {}
        let target = std::mem::replace(&mut self.text, command);
        let is_descriptor =
            operator == ">&" && target.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if operator.contains('>') && !is_descriptor {
            self.steps.push(Step::Write(target));
        }
        self.text.push(' ');
        Some(())
    }
}

/// The position where the quote, bracket or backtick opened before `at` is closed.
fn closing(bytes: &[u8], mut at: usize, close: u8, nesting: usize) -> Option<usize> {
    let nesting = nesting.checked_sub(1)?;
    loop {
        let byte = *bytes.get(at)?;
        at = match byte {
            _ if byte == close => return Some(at),
            b'\\' => at + 1,
            b'\'' if close != b'"' && bytes[at - 1] == b'$' => after_escapes(bytes, at + 1)?,
            b'\'' if close != b'"' => at + 1 + bytes[at + 1..].iter().position(|byte| *byte == b'\'')?,
            b'"' => closing(bytes, at + 1, b'"', nesting)?,
            b'(' if close == b')' || bytes[at - 1] == b'$' => closing(bytes, at + 1, b')', nesting)?,
            _ => at,
        } + 1;
    }
}

/// The position of the quote that ends a text with escapes.
fn after_escapes(bytes: &[u8], mut at: usize) -> Option<usize> {
    while *bytes.get(at)? != b'\'' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    Some(at)
}

/// Whether a text runs a command where it is substituted.
fn has_substitution(text: &str) -> bool {
    text.contains('`') || text.contains("$(")
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{Step, read};

    fn check(lines: &[&str], expected: Expect) {
        let mut told = String::new();
        for line in lines {
            told.push_str(&format!("{line:?}\n"));
            for step in read(line).0 {
                told.push_str(&match step {
                    Step::Run { text, before, after } => format!("    {before:?} [{text}] {after:?}\n"),
                    Step::Within(line) => format!("    within [{line}]\n"),
                    Step::Write(file) => format!("    write [{file}]\n"),
                    Step::Enter => "    enter\n".to_owned(),
                    Step::Leave => "    leave\n".to_owned(),
                });
            }
        }
        expected.assert_eq(&told);
    }

    #[test]
    fn operators_cut_outside_quotes_only() {
        check(
            &[
                "cd web && npm test; echo done || exit 1",
                "git commit -m 'a && b; c' \"d | e\" f\\;g",
                "(cd a && make) | tail -5 & wait",
                "cargo test \\\n  --all # && not this\nls",
                "grep -c x 2>/dev/null <in >out 2>&1 &> all >> more && echo 2",
                "cat <<< 'one line' && ls",
            ],
            expect![[r#"
                "cd web && npm test; echo done || exit 1"
                    Next [cd web ] Next
                    Next [ npm test] Then
                    Then [ echo done ] Else
                    Else [ exit 1] Next
                "git commit -m 'a && b; c' \"d | e\" f\\;g"
                    Next [git commit -m 'a && b; c' "d | e" f\;g] Next
                "(cd a && make) | tail -5 & wait"
                    enter
                    Next [cd a ] Next
                    Next [ make] Next
                    leave
                    Pipe [ tail -5 ] Aside
                    Aside [ wait] Next
                "cargo test \\\n  --all # && not this\nls"
                    Next [cargo test   --all ] Then
                    Then [ls] Next
                "grep -c x 2>/dev/null <in >out 2>&1 &> all >> more && echo 2"
                    write [/dev/null]
                    write [out]
                    write [all]
                    write [more]
                    Next [grep -c x             ] Next
                    Next [ echo 2] Next
                "cat <<< 'one line' && ls"
                    Next [cat   ] Next
                    Next [ ls] Next
            "#]],
        );
    }

    /// Red before: nothing of such a line was read from there on.
    #[test]
    fn a_quote_with_escapes_is_one_word() {
        check(
            &[
                r"echo $'it\'s'; pytest -q",
                r"echo $'a\tb\\'$'\x41' && ls",
                r"echo $(printf $'it\'s)') && ls",
                "echo \"$'a\" b '; ls",
                r"ls; echo $'it\'s",
            ],
            expect![[r#"
                "echo $'it\\'s'; pytest -q"
                    Next [echo 'it'\''s'] Then
                    Then [ pytest -q] Next
                "echo $'a\\tb\\\\'$'\\x41' && ls"
                    Next [echo 'a	b\''\x41' ] Next
                    Next [ ls] Next
                "echo $(printf $'it\\'s)') && ls"
                    within [printf $'it\'s)']
                    Next [echo {value} ] Next
                    Next [ ls] Next
                "echo \"$'a\" b '; ls"
                "ls; echo $'it\\'s"
                    Next [ls] Then
            "#]],
        );
    }

    #[test]
    fn what_is_substituted_is_a_line_of_its_own() {
        check(
            &[
                "out=$(cargo test 2>&1 | tail) && echo \"got $(wc -l < \"a b\") of `ls`\"",
                "diff <(sort a) <(sort b)",
                "echo ${HOME}/x ${A:-b c} $((1 + 2)) $HOME",
                "a=$(echo $(echo $(echo x)))",
            ],
            expect![[r#"
                "out=$(cargo test 2>&1 | tail) && echo \"got $(wc -l < \"a b\") of `ls`\""
                    within [cargo test 2>&1 | tail]
                    Next [out={value} ] Next
                    within [wc -l < "a b"]
                    within [ls]
                    Next [ echo "got {value} of {value}"] Next
                "diff <(sort a) <(sort b)"
                    within [sort a]
                    within [sort b]
                    Next [diff {value} {value}] Next
                "echo ${HOME}/x ${A:-b c} $((1 + 2)) $HOME"
                    Next [echo $HOME/x {value} {value} $HOME] Next
                "a=$(echo $(echo $(echo x)))"
                    within [echo $(echo $(echo x))]
                    Next [a={value}] Next
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_understood_gives_nothing_from_there_on() {
        check(
            &[
                "ls && echo 'open",
                "ls && echo \"open",
                "ls; cat <<EOF\nrm -rf x\nEOF",
                "ls; f() { rm x; }",
                "ls; a=(1 2)",
                "ls && (cd a",
                "ls) && rm x",
                "case $x in a) ls;; esac",
                "ls; echo $(echo",
                "ls \\",
            ],
            expect![[r#"
                "ls && echo 'open"
                    Next [ls ] Next
                "ls && echo \"open"
                    Next [ls ] Next
                "ls; cat <<EOF\nrm -rf x\nEOF"
                    Next [ls] Then
                    Then [ cat  ] Then
                "ls; f() { rm x; }"
                    Next [ls] Then
                "ls; a=(1 2)"
                    Next [ls] Then
                    Then [ a={value}] Next
                "ls && (cd a"
                    Next [ls ] Next
                    enter
                    Next [ cd a] Next
                "ls) && rm x"
                    Next [ls] Next
                "case $x in a) ls;; esac"
                    Next [case $x in a] Next
                "ls; echo $(echo"
                    Next [ls] Then
                "ls \\"
            "#]],
        );
    }
}
