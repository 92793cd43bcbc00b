//! What a text says about places: the paths, symbols, targets and tags that people name in prompts.

use super::{PREFIXES, Scope};

/// The most places that are taken from texts; a long prompt names some ten.
const MAX_PLACES: usize = 40;
/// The longest ending of a file name, such as `ipynb`.
const MAX_ENDING_CHARS: usize = 6;
/// Names of targets that are shorter are parts of too many sentences.
const MIN_TARGET_CHARS: usize = 3;

/// The places that texts name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mentioned {
    places: Vec<Scope>,
    /// The texts in small letters.
    text: String,
}

impl Mentioned {
    /// The places that these texts name. `root` is the root of the workspace, so that a path below it is known.
    pub fn in_texts<'t>(texts: impl Iterator<Item = &'t str>, root: &str) -> Self {
        let mut all = Self::default();
        for text in texts {
            for word in text.split(|c: char| c.is_whitespace() || "`'\"()[]{}<>,;|".contains(c)) {
                let place = place_of(word, root).filter(|place| !all.places.contains(place));
                all.places.extend(place.filter(|_| all.places.len() < MAX_PLACES));
            }
            all.text.push_str(&text.to_lowercase());
            all.text.push('\n');
        }
        all
    }

    /// The places, in the order in which the texts name them.
    pub fn into_places(self) -> Vec<Scope> {
        self.places
    }

    /// Whether the texts name a scope: a place that overlaps it, or a target by its bare name.
    pub fn names(&self, scope: &Scope) -> bool {
        if scope.is_whole() {
            return false;
        }
        // A file that is named without its directory may lie anywhere.
        let file = scope.as_str().rsplit('/').next().filter(|file| is_file_name(file));
        scope.is_at(&self.places)
            || file.is_some_and(|file| self.places.iter().any(|place| place.as_str() == file))
            || (scope.is_target() && self.says(scope.name()))
    }

    /// Whether a name stands in the texts as a word.
    fn says(&self, name: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        name.chars().count() >= MIN_TARGET_CHARS
            && self.text.match_indices(name).any(|(at, _)| {
                !self.text[..at].ends_with(is_part) && !self.text[at + name.len()..].starts_with(is_part)
            })
    }
}

/// The place that a word of a text names: none for most.
fn place_of(word: &str, root: &str) -> Option<Scope> {
    let word = word.trim_end_matches(['.', ':', '!', '?', '…']);
    let scope = Scope::parse(word, root).ok().filter(|scope| !scope.is_whole())?;
    let lower = word.to_ascii_lowercase();
    if PREFIXES.iter().any(|prefix| lower.starts_with(prefix)) {
        return Some(scope);
    }
    let path = scope.as_str();
    let is_plain = |c: char| c.is_alphanumeric() || "_-./*".contains(c);
    // A directory of its own says too little: `src/` is where everything is.
    let is_place = path.chars().all(is_plain)
        && path.chars().any(char::is_alphabetic)
        && (path.contains('/') || is_file_name(path));
    is_place.then_some(scope)
}

/// Whether a word looks like the name of a file, such as `limitutils.py`.
fn is_file_name(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(stem, ending)| {
        stem.chars().count() > 1
            && ending.len() <= MAX_ENDING_CHARS
            && ending.starts_with(|c: char| c.is_ascii_alphabetic())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::Mentioned;

    #[test]
    fn a_prompt_names_places_and_most_of_its_words_are_none() {
        let prompt = "Add a limiter in `boltons/limitutils.py` (see /home/ana/shop/docs/limit.md:12, tag:CPU). \
                      Then run pytest, e.g. on src/, and decide the cache backend; https://example.org/a/b is old. \
                      Touch conf.toml.";
        let mentioned = Mentioned::in_texts([prompt].into_iter(), "/home/ana/shop");
        let names = |scope: &str| mentioned.names(&scope.parse().expect("a scope"));
        for scope in [
            "boltons/limitutils.py",
            "boltons",
            "docs/limit.md",
            "tag:cpu",
            "target:cache backend",
            "conf.toml",
            "etc/conf.toml",
        ] {
            assert!(names(scope), "{scope}: {mentioned:?}");
        }
        for scope in
            [".", "src/db.rs", "a/b", "tag:gpu", "target:cache", "target:backends", "boltons/iterutils.py"]
        {
            let is_word = scope == "target:cache";
            assert_eq!(names(scope), is_word, "{scope}: {mentioned:?}");
        }
    }
}
