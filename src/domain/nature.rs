//! What a claim turned out to be, in words that people search for.

/// What a claim turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nature {
    /// A failure, fixed or not.
    Bug,
    /// An alternative that a decision rejected.
    Rejected,
    /// A claim that a reviewer challenged.
    Challenged,
}

impl Nature {
    /// The nature that a word of a question names.
    pub fn named(word: &str) -> Option<Self> {
        let named: &[(Self, &[&str])] = &[
            (Self::Bug, &["bug", "bugs", "defect", "defects", "mended"]),
            (Self::Rejected, &["rejected", "rejection", "alternatives"]),
            (Self::Challenged, &["review", "reviews", "challenged", "objection", "objections"]),
        ];
        let is_named = |words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(word));
        named.iter().find(|(_, words)| is_named(words)).map(|(nature, _)| *nature)
    }
}
