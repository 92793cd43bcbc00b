//! The structure of a line for a shell: its lists, pipes, groups, conditions and loops.

use super::super::shell::{self, Joint, Step, VALUE};

/// A command of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Simple(Simple),
    /// `{ …; }`
    Group(Vec<Item>),
    /// `( … )`
    Subshell(Vec<Item>),
    /// The conditions with what follows each, and what follows if none holds.
    If(Vec<(Vec<Item>, Vec<Item>)>, Vec<Item>),
    /// `while`, or `until` if it ends by success.
    Loop {
        until: bool,
        condition: Vec<Item>,
        body: Vec<Item>,
    },
    /// A loop over words.
    For(Over, Vec<Item>),
}

/// The variable of a loop over words, and how many turns it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Over {
    pub(super) variable: String,
    pub(super) least: usize,
    /// Whether it may have more.
    pub(super) is_open: bool,
}

/// A simple command, still quoted, with the lines of its substitutions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) text: String,
    pub(super) within: Vec<String>,
}

/// Commands joined by `|`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pipeline {
    /// Whether `!` stands before it.
    pub(super) is_negated: bool,
    pub(super) commands: Vec<Node>,
}

/// Pipelines joined by `&&` and `||`: before the first one stands `&&`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) pipelines: Vec<(Joint, Pipeline)>,
    /// Whether it runs in the background.
    pub(super) is_aside: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Open,
    Close,
    Word(&'static str),
    Over(Over),
    Command(Simple),
    Joined(Joint),
}

/// The words of the shell that may stand before a command or alone.
const WORDS: [&str; 13] =
    ["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!", "time"];

/// The structure of a line; `None` where it is unclear.
pub(super) fn parsed(line: &str) -> Option<Vec<Item>> {
    // For a shell, a carriage return is part of the word before it.
    if line.contains('\r') {
        return None;
    }
    let (steps, open) = shell::read_whole(line)?;
    let mut tokens = tokens(&steps)?;
    // An operator behind the last bracket.
    if open == Some(Joint::Aside) && tokens.last() == Some(&Token::Close) {
        tokens.push(Token::Joined(Joint::Aside));
    }
    tokens.reverse();
    let mut parser = Parser { tokens, depth: 0 };
    let items = parser.list()?;
    parser.tokens.is_empty().then_some(items)
}

fn tokens(steps: &[Step]) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut within = Vec::new();
    // A test in double brackets, which may hold operators of its own.
    let mut test: Option<String> = None;
    // The operator before the next command, at each step.
    let mut nexts = vec![None; steps.len()];
    let mut next = None;
    for (at, step) in steps.iter().enumerate().rev() {
        if let Step::Run { before, .. } = step {
            next = Some(*before);
        }
        nexts[at] = next;
    }
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Within(line) => within.push(line.clone()),
            Step::Write(_) => {}
            Step::Enter => {
                if needs_joint(&tokens) {
                    tokens.push(Token::Joined(nexts[at]?));
                }
                tokens.push(Token::Open);
            }
            Step::Leave => tokens.push(Token::Close),
            Step::Run { text, before, after } => {
                if let Some(open) = test.as_mut() {
                    open.push_str(text);
                    if text.trim_end().ends_with("]]") {
                        let text = test.take().unwrap_or_default();
                        tokens.push(Token::Command(Simple { text, within: std::mem::take(&mut within) }));
                    }
                    continue;
                }
                if needs_joint(&tokens) {
                    tokens.push(Token::Joined(*before));
                }
                let rest = words(&mut tokens, text.trim())?;
                // What is read from another command: `done < <(git ls-files)`.
                if !rest.is_empty() && matches!(tokens.last(), Some(Token::Word("fi" | "done" | "}"))) {
                    return None;
                }
                if rest.is_empty()
                    && !needs_joint(&tokens)
                    && matches!(after, Joint::Else | Joint::Pipe | Joint::Aside)
                {
                    tokens.push(Token::Command(Simple { text: String::new(), within: Vec::new() }));
                }
                if rest.starts_with("[[ ") && !rest.ends_with("]]") {
                    test = Some(rest.to_owned());
                } else if !rest.is_empty() {
                    let within = std::mem::take(&mut within);
                    tokens.push(Token::Command(Simple { text: rest.to_owned(), within }));
                }
                // The end of the line, and that of a bracket, has the joint of `&&`.
                let is_end = matches!(steps.get(at + 1), None | Some(Step::Leave));
                if is_end && matches!(after, Joint::Aside | Joint::Then) {
                    tokens.push(Token::Joined(*after));
                }
            }
        }
    }
    test.is_none().then_some(tokens)
}

/// Whether something that may stand before an operator is before the next command.
fn needs_joint(tokens: &[Token]) -> bool {
    matches!(
        tokens.last(),
        Some(Token::Command(_) | Token::Close | Token::Over(_) | Token::Word("fi" | "done" | "}"))
    )
}

/// Takes the words of the shell off the beginning of a command; `None` for those that are not followed here.
fn words<'t>(tokens: &mut Vec<Token>, mut text: &'t str) -> Option<&'t str> {
    loop {
        let first = text.split_whitespace().next().unwrap_or_default();
        match first {
            "for" | "select" => {
                let words: Vec<&str> = text.split_whitespace().collect();
                let ["for", variable, "in", over @ ..] = words.as_slice() else { return None };
                // A pattern without a match stands for itself.
                let is_pattern = |word: &str| word.contains(['*', '?', '[', '{']);
                let is_value = |word: &str| word.contains('$') || word.contains(VALUE);
                let least = over.iter().filter(|word| !is_value(word)).count();
                let is_open = over.iter().any(|word| is_pattern(word) || is_value(word));
                tokens.push(Token::Over(Over { variable: (*variable).to_owned(), least, is_open }));
                return Some("");
            }
            "case" | "esac" | "function" | "coproc" | "end" | "foreach" | "repeat" => return None,
            _ => {}
        }
        let Some(word) = WORDS.into_iter().find(|word| *word == first) else { return Some(text) };
        tokens.push(Token::Word(word));
        text = text[first.len()..].trim_start();
        if word == "time" {
            text = text.strip_prefix("-p ").unwrap_or(text).trim_start();
        }
    }
}

/// How deep groups, conditions and loops are followed.
const MAX_NESTING: usize = 30;

struct Parser {
    /// The last one is read first.
    tokens: Vec<Token>,
    depth: usize,
}

impl Parser {
    fn is_next(&self, word: &str) -> bool {
        matches!(self.tokens.last(), Some(Token::Word(next)) if *next == word)
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.is_next(word).then(|| drop(self.tokens.pop()))
    }

    fn joint(&mut self, which: impl Fn(Joint) -> bool) -> Option<Joint> {
        match self.tokens.last() {
            Some(Token::Joined(joint)) if which(*joint) => {
                let joint = *joint;
                self.tokens.pop();
                Some(joint)
            }
            _ => None,
        }
    }

    /// Commands up to a word or bracket that ends them.
    fn list(&mut self) -> Option<Vec<Item>> {
        self.depth += 1;
        let items = (self.depth <= MAX_NESTING).then(|| self.items())?;
        self.depth -= 1;
        items
    }

    fn items(&mut self) -> Option<Vec<Item>> {
        const ENDS: [&str; 7] = ["then", "elif", "else", "fi", "do", "done", "}"];
        let mut items = Vec::new();
        loop {
            // `&&` at the beginning comes from the end of a bracket.
            while self.joint(|joint| matches!(joint, Joint::Then | Joint::Next)).is_some() {}
            match self.tokens.last() {
                None | Some(Token::Close) => return Some(items),
                Some(Token::Word(word)) if ENDS.contains(word) => return Some(items),
                Some(_) => {}
            }
            let mut pipelines = vec![(Joint::Next, self.pipeline()?)];
            while let Some(joint) = self.joint(|joint| matches!(joint, Joint::Next | Joint::Else)) {
                if matches!(self.tokens.last(), None | Some(Token::Close)) {
                    break;
                }
                pipelines.push((joint, self.pipeline()?));
            }
            let is_aside = self.joint(|joint| joint == Joint::Aside).is_some();
            items.push(Item { pipelines, is_aside });
        }
    }

    fn pipeline(&mut self) -> Option<Pipeline> {
        let mut is_negated = false;
        loop {
            if self.word("!").is_some() {
                is_negated = !is_negated;
            } else if self.word("time").is_none() {
                break;
            }
        }
        let mut commands = vec![self.command()?];
        while self.joint(|joint| joint == Joint::Pipe).is_some() {
            commands.push(self.command()?);
        }
        Some(Pipeline { is_negated, commands })
    }

    fn command(&mut self) -> Option<Node> {
        match self.tokens.pop()? {
            Token::Command(simple) => Some(Node::Simple(simple)),
            Token::Open => {
                let items = self.list()?;
                (self.tokens.pop()? == Token::Close).then_some(Node::Subshell(items))
            }
            Token::Word("{") => {
                let items = self.list()?;
                self.word("}")?;
                Some(Node::Group(items))
            }
            Token::Word("if") => {
                let mut branches = Vec::new();
                let mut otherwise = Vec::new();
                loop {
                    let condition = self.list()?;
                    self.word("then")?;
                    branches.push((condition, self.list()?));
                    if self.word("elif").is_some() {
                        continue;
                    }
                    if self.word("else").is_some() {
                        otherwise = self.list()?;
                    }
                    self.word("fi")?;
                    return Some(Node::If(branches, otherwise));
                }
            }
            Token::Word(word @ ("while" | "until")) => {
                let condition = self.list()?;
                let body = self.body()?;
                Some(Node::Loop { until: word == "until", condition, body })
            }
            Token::Over(words) => {
                while self.joint(|joint| joint == Joint::Then).is_some() {}
                let body = self.body()?;
                Some(Node::For(words, body))
            }
            Token::Word(_) | Token::Close | Token::Joined(_) => None,
        }
    }

    fn body(&mut self) -> Option<Vec<Item>> {
        self.word("do")?;
        let body = self.list()?;
        self.word("done")?;
        Some(body)
    }
}
