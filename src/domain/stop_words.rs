//! Words that carry no topic.

/// The 33 English stop words of Lucene without its two negations, and the question words. Negations stay, because
/// "works" and "does not work" differ. Sorted, in folded form.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "did", "do", "does", "for",
    "from", "had", "has", "have", "he", "how", "i", "if", "in", "into", "is", "it", "its", "of", "on", "or",
    "our", "she", "should", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to",
    "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "you", "your",
];

/// Whether a folded word is a stop word.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::STOP_WORDS;

    #[test]
    fn the_list_is_sorted_and_keeps_negations() {
        assert!(STOP_WORDS.is_sorted());
        assert!(["no", "not", "never", "without"].iter().all(|word| !STOP_WORDS.contains(word)));
    }
}
