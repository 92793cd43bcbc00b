//! The team's own patterns from config.toml.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

/// Size limit of one compiled pattern in bytes: a mistake such as `\w{1000000}` is reported and not run.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// A pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// The pattern does not compile.
    #[error("[privacy] patterns: `{pattern}` is no regular expression: {problem}")]
    Syntax {
        /// The pattern as written.
        pattern: String,
        /// The error of the regex parser.
        problem: String,
    },
    /// The pattern matches the empty text, so it would refuse every text.
    #[error("[privacy] patterns: `{0}` matches the empty text, and so would refuse everything")]
    Empty(String),
}

/// The own patterns in configuration order; their rules are `own-1`, `own-2` and so on.
#[derive(Debug, Clone, Default)]
pub struct Own {
    rules: Vec<(String, Regex)>,
}

impl Own {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// [`BadPattern`] for the first unusable pattern.
    pub fn new(patterns: &[String]) -> Result<Self, BadPattern> {
        let compiled = patterns.iter().enumerate().map(|(index, pattern)| {
            let regex =
                RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).build().map_err(|problem| {
                    BadPattern::Syntax { pattern: pattern.clone(), problem: last_line(&problem) }
                })?;
            if regex.is_match("") {
                return Err(BadPattern::Empty(pattern.clone()));
            }
            Ok((format!("own-{}", index + 1), regex))
        });
        Ok(Self { rules: compiled.collect::<Result<_, _>>()? })
    }

    pub(super) fn find(&self, text: &str, mut found: impl FnMut(&str, Range<usize>)) {
        for (rule, regex) in &self.rules {
            for hit in regex.find_iter(text) {
                found(rule, hit.range());
            }
        }
    }
}

/// The last line of a regex error, which holds the problem. The lines before it draw the pattern.
fn last_line(problem: &regex::Error) -> String {
    let text = problem.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        let patterns = |own: &Self| own.rules.iter().map(|(_, regex)| regex.to_string()).collect::<Vec<_>>();
        patterns(self) == patterns(other)
    }
}

impl Eq for Own {}
