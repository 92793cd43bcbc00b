//! Parses a statement into the words and values that are compared, in one pass over its words.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use super::classes::{Classes, class_of};
use super::quantity::{number, plain, quantity, rate, rate_unit, time_of_day, unit_of};
use super::raw::{Break, Raw, raws};
use super::shape::{
    NUMBER_WORDS, Shape, is_digits, is_flag, is_name, is_negation, is_path, is_preposition, is_verb,
    is_word_in_capitals, name_of, shape,
};
use super::words::{
    CHOOSING_STEMS, FAILURE_STEMS, OPEN_VERB_STEMS, PLACING_STEMS, REMEDY_STEMS, Role, Roles, TELLING_STEMS,
    VERB_STEMS,
};
use crate::domain::stop_words::is_stop_word;
use crate::domain::tokens::{stemmer, tokens};

/// The length limit of words that spell a number or a unit.
const LONGEST_VALUE_WORD: usize = 12;
/// The fewest items of a clause that is compared by itself.
const MIN_LEAD: usize = 2;
/// The most words that belong to a contrast (`not X`).
const MAX_CONTRAST: usize = 4;

/// A statement, parsed for comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub(super) whole: Clause,
    /// The part before the first reason or second sentence, without parentheses; `None` if that is everything.
    pub(super) lead: Option<Clause>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Clause {
    pub(super) content: Vec<Item>,
    /// The things that the statement excludes: `SQLite, not Postgres`.
    pub(super) excluded: Vec<Item>,
    pub(super) is_negated: bool,
    /// The statement says that something is unknown.
    pub(super) is_open: bool,
    /// The statement is true of several things at once, so another name is no different value.
    pub(super) is_among: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) what: What,
    /// The stem of a word, or the canonical text of a value.
    pub(super) text: String,
    /// The second reading of a quantity: 2 GB are 2,000 or 2,048 MB.
    binary: Option<String>,
    /// The word as written, in lower case.
    pub(super) word: String,
    /// The item tells what the statement is about, as in `shard 2` or `Python 3.11 supports`. Another item there
    /// means another thing.
    pub(super) names: bool,
    /// Stands in a negated clause.
    pub(super) is_negated: bool,
    /// Stands after `when`, `if` and the like.
    pub(super) is_condition: bool,
    /// Stands before the verb, as its subject.
    pub(super) is_subject: bool,
    /// Stands in back-ticks.
    is_code: bool,
    /// Is a lower bound. A higher lower bound implies it.
    is_floor: bool,
    pub(super) roles: Roles,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Word,
    Number,
    Quantity,
    Rate,
    Version,
    Time,
    Port,
    Path,
    Boolean,
    Code,
    Flag,
    Class(Classes),
}

impl What {
    /// Whether the item is a name. Names compare by their text, however they are marked.
    const fn is_name(self) -> bool {
        matches!(self, Self::Word | Self::Code | Self::Path | Self::Class(_))
    }
}

impl Item {
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let kind = self.what == other.what || (self.what.is_name() && other.what.is_name());
        kind && (self.text == other.text
            || [(&self.binary, &other.text), (&other.binary, &self.text)]
                .iter()
                .any(|(binary, text)| binary.as_ref() == Some(text))
            || (self.binary.is_some() && self.binary == other.binary))
    }

    /// Whether another item in the same place is a different value of the same kind.
    pub(super) fn is_kind_of(&self, other: &Self) -> bool {
        match (self.what, other.what) {
            // Of two lower bounds, one implies the other.
            _ if self.is_floor && other.is_floor => false,
            (What::Class(one), What::Class(other)) if one.share(other) => true,
            (What::Class(_) | What::Code | What::Path, What::Class(_) | What::Code | What::Path)
                if self.is_code && other.is_code =>
            {
                true
            }
            (one, other) => one == other && !matches!(one, What::Word | What::Class(_)),
        }
    }

    pub(super) fn is_value(&self) -> bool {
        self.what != What::Word
    }
}

impl Reading {
    /// Parses a statement as written.
    pub fn of(statement: &str) -> Self {
        if statement.is_ascii() { read(statement) } else { read(&statement.nfkc().collect::<String>()) }
    }

    /// The compared words and values, for an index of candidates.
    pub fn content(&self) -> impl Iterator<Item = &str> {
        self.whole.content.iter().chain(&self.whole.excluded).map(|item| item.text.as_str())
    }

    /// The words and names that a statement is about: no values, and no words that report a failure.
    pub(in crate::domain) fn subjects(&self) -> impl Iterator<Item = &str> {
        let named = |item: &&Item| {
            item.what.is_name()
                && !item.roles.has(Role::Light)
                && ![&FAILURE_STEMS, &TELLING_STEMS, &REMEDY_STEMS].iter().any(|told| told.has(&item.text))
        };
        self.whole.content.iter().filter(named).map(|item| item.text.as_str())
    }

    pub(super) fn lead(&self) -> &Clause {
        self.lead.as_ref().unwrap_or(&self.whole)
    }
}

/// The state of the current clause.
struct Reader<'a, S> {
    raws: &'a [Raw<'a>],
    stem: S,
    whole: Clause,
    /// The number of items in the lead, once the lead has ended.
    lead: Option<usize>,
    /// Which items stand in parentheses.
    asides: Vec<bool>,
    excluded_in_lead: usize,
    segment: usize,
    negations: usize,
    /// The number of items before the verb of the segment, once the verb has come.
    said: Option<usize>,
    is_condition: bool,
    /// The condition has a verb of its own.
    is_clause: bool,
    /// The remaining words of a contrast.
    contrast: usize,
    linked: bool,
}

fn read(statement: &str) -> Reading {
    let raws = raws(statement);
    let mut reader = Reader {
        raws: &raws,
        stem: stemmer(),
        whole: Clause::default(),
        lead: None,
        asides: Vec::new(),
        excluded_in_lead: 0,
        segment: 0,
        negations: 0,
        said: None,
        is_condition: false,
        is_clause: false,
        contrast: 0,
        linked: false,
    };
    reader.run();
    reader.end_segment();
    reader.finish()
}

impl<S: Fn(&str) -> String> Reader<'_, S> {
    fn run(&mut self) {
        let (mut at, mut skipped) = (0, usize::MAX);
        while at < self.raws.len() {
            if at == skipped {
                at += 2;
                continue;
            }
            self.boundary(at);
            let raws = self.raws;
            let (raw, word, roles) = (&raws[at], raws[at].lower.as_ref(), raws[at].roles);
            let is_plain = !raw.is_code && !raw.is_quoted;
            if is_plain && let Some(taken) = self.contrast_at(at, word) {
                self.contrast = MAX_CONTRAST;
                at += taken;
                continue;
            }
            if is_plain && is_negation(word, roles) {
                at += self.negation(at, word);
                continue;
            }
            at += 1;
            self.linked |= roles.has(Role::Link);
            if is_plain && roles.has(Role::Condition) {
                self.is_condition = true;
                self.is_clause = !is_preposition(word);
            }
            self.whole.is_among |= is_plain && roles.has(Role::Among);
            if roles.has(Role::Copula) {
                self.say();
                self.whole.is_among |= roles.has(Role::Open);
            }
            if is_plain && self.contrast < MAX_CONTRAST && is_preposition(word) {
                self.contrast = 0;
            }
            if let Some((mut item, taken, skip)) = self.value(at - 1, word) {
                if let Some(skip) = skip {
                    skipped = skip;
                }
                at += taken;
                let before = at.checked_sub(taken + 2).map(|at| raws[at].roles);
                let is_subject = !self.linked && self.whole.content.len() <= 1 && at < self.raws.len();
                let labelled = before.is_some_and(|before| before.has(Role::Label));
                item.is_code = raw.is_code;
                item.is_floor = self.is_floor(at - taken - 1);
                item.names = if matches!(item.what, What::Path) {
                    self.is_topic(at - taken - 1, item.what)
                } else {
                    // With a unit the number is an amount; without one it may be an identifier.
                    (labelled || is_subject)
                        && !matches!(item.what, What::Port | What::Quantity | What::Rate | What::Time)
                };
                self.push(item, at - 1);
                continue;
            }
            self.word(at - 1, word, roles);
        }
    }

    /// Ends the segment, and possibly the lead, if the word at `at` starts a new one.
    fn boundary(&mut self, at: usize) {
        let raw = &self.raws[at];
        if raw.is_code || at == 0 {
            return;
        }
        let roles = raw.roles;
        let follower = self.raws.get(at + 1);
        let next = follower.map(|next| next.lower.as_ref());
        let before = raw.before;
        let is_clause =
            roles.has(Role::Clause) && (raw.lower != "so" || before == Break::Comma || next == Some("that"));
        let joins = matches!(raw.lower.as_ref(), "and" | "so" | "it" | "they" | "as" | "then");
        let joins_clause = raw.lower == "and"
            && follower.is_some_and(|next| {
                next.roles.has(Role::Negation)
                    || matches!(
                        next.lower.as_ref(),
                        "is" | "are" | "it" | "they" | "does" | "do" | "defaults" | "was"
                    )
            });
        let drops = raw.lower == "see"
            || (raw.lower == "and" && matches!(next, Some("defaults")))
            || (raw.lower == "set" && matches!(next, Some("in" | "by" | "via")));
        let negates_after_comma =
            before == Break::Comma && is_negation(&raw.lower, roles) && raw.lower != "not";
        // ", enforced in upload.ts", ", leaving the rest", ", only new ones are checked"
        let adds = before == Break::Comma
            && (raw.lower == "only"
                || raw.lower.ends_with("ing")
                || (raw.lower.ends_with("ed") && next.is_some_and(is_preposition)));
        let ends_segment = before == Break::Stop
            || adds
            || is_clause
            || drops
            || joins_clause
            || (before == Break::Comma && joins)
            || negates_after_comma
            || matches!(raw.lower.as_ref(), "when" | "if" | "where" | "except");
        let ends_lead = before == Break::Stop
            || adds
            || (is_clause && (raw.lower != "unless"))
            || drops
            || (before == Break::Comma && joins);
        if ends_lead && self.lead.is_none() && self.whole.content.len() >= MIN_LEAD {
            self.lead = Some(self.whole.content.len());
            self.excluded_in_lead = self.whole.excluded.len();
        }
        if ends_segment {
            self.end_segment();
        } else if before == Break::Comma {
            self.contrast = 0;
            self.is_condition = false;
        }
    }

    /// Handles the verb of the segment.
    fn say(&mut self) {
        self.said.get_or_insert(self.whole.content.len());
        // "The limit for uploads is": the verb ends a prepositional phrase.
        self.is_condition &= self.is_clause;
    }

    fn end_segment(&mut self) {
        let is_negated = self.negations % 2 == 1;
        let said = self.said.unwrap_or_default();
        for (at, item) in self.whole.content.iter_mut().enumerate().skip(self.segment) {
            item.is_negated = is_negated;
            item.is_subject = at < said;
        }
        self.segment = self.whole.content.len();
        (self.negations, self.said, self.is_condition, self.is_clause, self.contrast) =
            (0, None, false, false, 0);
    }

    /// The number of words that introduce an exclusion: `not`, `rather than`, `instead of`.
    fn contrast_at(&self, at: usize, word: &str) -> Option<usize> {
        let lower = |at: usize| self.raws.get(at).map_or("", |raw| raw.lower.as_ref());
        match (word, lower(at + 1)) {
            ("rather", "than") | ("instead", "of") | ("opposed", "to") => Some(2),
            ("in", "place") if lower(at + 2) == "of" => Some(3),
            ("not", next) if !self.whole.content.is_empty() => {
                let follows = self.raws[at].before == Break::Comma
                    || (at > 0 && matches!(lower(at - 1), "but" | "and") && self.said.is_some());
                let is_verb = self.raws.get(at + 1).is_some_and(|next| next.roles.has(Role::Known))
                    || matches!(
                        next,
                        "only" | "yet" | "even" | "just" | "be" | "been" | "to" | "all" | "every"
                    );
                (follows && !is_verb).then_some(1)
            }
            _ => None,
        }
    }

    /// Counts a negation; returns the number of its words.
    fn negation(&mut self, at: usize, word: &str) -> usize {
        let lower = |at: usize| self.raws.get(at).map_or("", |raw| raw.lower.as_ref());
        let next = lower(at + 1);
        match (word, next) {
            // "not only" adds something and negates nothing.
            ("not", "only") => return 2,
            ("no", "longer" | "more") => {
                self.negations += 1;
                return 2;
            }
            _ => {}
        }
        // "not yet known whether" marks an open question.
        let known =
            (1..=3).find(|step| self.raws.get(at + step).is_some_and(|raw| raw.roles.has(Role::Known)));
        let asks = |from: usize| {
            (1..=2).any(|step| {
                matches!(lower(from + step), "whether" | "if" | "how" | "why" | "which" | "what" | "that")
            })
        };
        if let Some(step) = known
            && (asks(at + step) || matches!(word, "no"))
        {
            self.whole.is_open = true;
            return step + 1;
        }
        self.negations += 1;
        1
    }

    fn push(&mut self, mut item: Item, at: usize) {
        item.is_condition = self.is_condition;
        if self.contrast > 0 {
            self.contrast -= 1;
            self.whole.excluded.push(item);
            return;
        }
        self.asides.push(self.raws[at].is_aside);
        self.whole.content.push(item);
    }

    /// Whether a name at `at` is the topic of the statement rather than a value.
    fn is_topic(&self, at: usize, what: What) -> bool {
        let lower = |at: usize| self.raws.get(at).map_or("", |raw| raw.lower.as_ref());
        let back = |steps: usize| at.checked_sub(steps).map_or("", lower);
        // Determiners stand between a preposition and its name.
        let steps = if matches!(back(1), "the" | "a" | "an" | "our" | "its" | "your") { 2 } else { 1 };
        let is_placed = || {
            let verb = back(steps + 1);
            PLACING_STEMS.has(&(self.stem)(verb))
        };
        let is_platform = matches!(what, What::Class(classes) if classes.is_platform());
        // "Redis is the session store" identifies a thing.
        let identifies = !self.is_condition
            && self.said.is_none()
            && matches!(lower(at + 1), "is" | "are" | "was")
            && matches!(lower(at + 2), "the" | "our");
        if identifies {
            return false;
        }
        let list = if is_preposition(back(steps)) { steps + 1 } else { steps };
        self.said.is_none()
            || self.is_condition
            || matches!(back(list), "and" | "or" | "plus")
            || match back(steps) {
                "for" | "of" | "during" | "under" | "when" | "before" | "after" | "between" | "like"
                | "than" | "inside" | "within" | "per" => true,
                "in" if is_platform => true,
                "in" => matches!(what, What::Path | What::Code) && !is_placed(),
                "on" if is_platform => !matches!(
                    (self.stem)(back(steps + 1)).as_str(),
                    "run" | "deploy" | "host" | "base" | "build" | "built" | "is" | "are" | "execut" | "ship"
                ),
                // "guards `state`" may guard more things; "returns `None`" returns one.
                verb => {
                    what == What::Code && {
                        let verb = (self.stem)(verb);
                        VERB_STEMS.has(&verb) && !CHOOSING_STEMS.has(&verb)
                    }
                }
            }
    }

    /// The value at `at`, the number of following words that belong to it, and the position of two further ones.
    fn value(&self, at: usize, word: &str) -> Option<(Item, usize, Option<usize>)> {
        let lower = |at: usize| self.raws.get(at).map(|raw| raw.lower.as_ref());
        let before = at.checked_sub(1).and_then(lower);
        let next = lower(at + 1);
        let found = |what, text: String, taken| Some((item(what, text, word), taken, None));
        let is_plain = word.bytes().all(|byte| byte.is_ascii_lowercase());
        if is_plain && word.len() > LONGEST_VALUE_WORD {
            return None;
        }
        if let (Some("per" | "every" | "each"), Some(unit)) = (before, unit_of(word))
            && word.len() > 1
        {
            return found(What::Quantity, quantity("1", unit).text, 0);
        }
        if matches!(word, "true" | "false") {
            return found(What::Boolean, word.to_owned(), 0);
        }
        let spelled = is_plain.then(|| NUMBER_WORDS.iter().position(|spelled| *spelled == word)).flatten();
        if is_plain && spelled.is_none() {
            return None;
        }
        if word.starts_with(|c: char| c.is_ascii_digit())
            && let Some(time) = time_of_day(word)
        {
            return found(What::Time, time, 0);
        }
        if let Some((host, port)) = word.rsplit_once(':').filter(|(_, port)| is_digits(port)) {
            // A line number of a file is a hint and no port.
            if is_path(host) {
                return found(What::Path, host.to_owned(), 0);
            }
            // `debian:12` is a name with a version.
            if host == "localhost" || !is_name(host) {
                return found(What::Port, port.to_owned(), 0);
            }
            return None;
        }
        let version = word.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let digits = version.or_else(|| word.strip_prefix('#')).unwrap_or(word);
        let digits = spelled.map_or(Cow::Borrowed(digits), |number| Cow::Owned(number.to_string()));
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return if is_path(word) { found(What::Path, word.to_owned(), 0) } else { None };
        }
        let end = digits
            .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '_'))
            .unwrap_or(digits.len());
        let (figures, suffix) = digits.split_at(end);
        let figures = figures.replace([',', '_'], "");
        if version.is_some() || figures.matches('.').count() > 1 {
            return found(What::Version, digits.into_owned(), 0);
        }
        let measured = |quantity: super::quantity::Quantity, what, taken, skip| {
            let binary = quantity.binary;
            Some((Item { binary, ..item(what, quantity.text, word) }, taken, skip))
        };
        // 10 MB/s, 10 req/s, 10rps
        let suffix_or_next = if suffix.is_empty() { next.unwrap_or_default() } else { suffix };
        let own = usize::from(suffix.is_empty());
        if let Some((counted, time)) = rate_unit(suffix_or_next)
            && let Some(found) = rate(&figures, unit_of(counted), time)
        {
            return measured(found, What::Rate, own, None);
        }
        let unit = if suffix.is_empty() { None } else { unit_of(suffix) };
        // `5M` is five millions; only a small `m` is minutes.
        let millions = suffix == "m" && self.raws[at].word.ends_with('M');
        let (unit, taken) = match (unit, next.and_then(unit_of)) {
            _ if millions => (None, 0),
            (Some(unit), _) => (Some(unit), 0),
            (None, Some(unit)) if suffix.is_empty() => (Some(unit), 1),
            (None, _) => (None, 0),
        };
        // 600 requests per minute, 5 MB per second, 10 times a day
        for noun in 0..=usize::from(taken == 0 || unit == Some("x")) {
            let per = at + 1 + if noun == 1 { 1 } else { taken };
            let is_per = matches!(lower(per), Some("per" | "a" | "an" | "each" | "every"));
            if let (true, Some(time)) = (is_per, lower(per + 1).and_then(unit_of))
                && let Some(found) = rate(&figures, unit.filter(|unit| *unit != "x"), time)
            {
                return if noun == 1 && unit != Some("x") {
                    measured(found, What::Rate, 0, Some(per))
                } else {
                    measured(found, What::Rate, per + 1 - at, None)
                };
            }
        }
        match unit {
            Some(unit) => measured(quantity(&figures, unit), What::Quantity, taken, None),
            None if !suffix.is_empty() => {
                let large = number(&figures, if millions { "M" } else { suffix });
                match large {
                    Some(number) => found(What::Number, number, 0),
                    None if is_path(word) => found(What::Path, word.to_owned(), 0),
                    // A date, a range, or `5xx`.
                    None if digits
                        .bytes()
                        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b':')) =>
                    {
                        found(What::Version, digits.into_owned(), 0)
                    }
                    None => None,
                }
            }
            None if matches!(before, Some("port" | "ports")) => found(What::Port, figures, 0),
            None => found(What::Number, plain(&figures).to_owned(), 0),
        }
    }

    /// Whether the words before a value make it a lower bound: `at least 3`, `no fewer than 3`. `more than 3` does
    /// not count: it is often the threshold of a rule, and a rule has one threshold.
    fn is_floor(&self, at: usize) -> bool {
        let back = |steps: usize| at.checked_sub(steps).map_or("", |at| self.raws[at].lower.as_ref());
        matches!((back(3), back(2), back(1)), (_, "at", "least") | ("no" | "not", "fewer" | "less", "than"))
    }

    /// Handles a word that is no value: a name, or its parts.
    fn word(&mut self, at: usize, word: &str, roles: Roles) {
        let raw = &self.raws[at];
        let (is_code, as_written) = (raw.is_code, raw.word);
        if is_flag(word) {
            let names = self.is_topic(at, What::Flag);
            return self.push(Item { names, is_code, ..item(What::Flag, word.to_owned(), word) }, at);
        }
        if !word.is_ascii() {
            for token in tokens(word) {
                self.push(item(What::Word, token.clone(), &token), at);
            }
            return;
        }
        let negated_name = word.strip_prefix("non-").filter(|rest| !rest.is_empty() && !is_code);
        if negated_name.is_some() {
            self.negations += 1;
        }
        let word = negated_name.unwrap_or(word);
        let starts_sentence = at == 0 || raw.before == Break::Stop;
        let is_capital = as_written.starts_with(|c: char| c.is_ascii_uppercase()) && !starts_sentence;
        let shape = shape(as_written);
        let is_marked = is_code || is_capital || shape == Shape::Screaming;
        let is_surroundings = roles.has(Role::Surroundings);
        let named = if !is_code && is_stop_word(word) {
            None
        } else {
            class_of(word, is_marked).map(|(classes, name)| (What::Class(classes), name.to_owned()))
        };
        let named = named.or_else(|| {
            let screams = shape == Shape::Screaming && is_word_in_capitals(word, roles);
            ((is_code && word.bytes().any(|byte| byte.is_ascii_alphabetic()))
                || (shape != Shape::Plain && !screams))
                .then(|| (What::Code, name_of(word, &self.stem)))
        });
        if let Some((what, text)) = named {
            let names = self.is_topic(at, what);
            return self.push(Item { names, is_code, roles, ..item(what, text, word) }, at);
        }
        let raws = self.raws;
        let before = at.checked_sub(1).map(|at| &raws[at]);
        // "is on" and "is off", but not "is on the list".
        let ends =
            raws.get(at + 1).is_none_or(|next| next.before != Break::None || is_preposition(&next.lower));
        let is_switch =
            |part: &str| part == "on" && ends && before.is_some_and(|before| before.roles.has(Role::Link));
        // `ubuntu-24.04`, `debian:12`: a name and its version.
        if let Some((name, version)) = word.rsplit_once(['-', ':'])
            && version.starts_with(|c: char| c.is_ascii_digit())
            && is_name(name)
        {
            let (what, text) = match class_of(name, true) {
                Some((classes, canonical)) => (What::Class(classes), canonical.to_owned()),
                None => (What::Word, (self.stem)(name)),
            };
            let names = what != What::Word && self.is_topic(at, what);
            self.push(Item { names, ..item(what, text, name) }, at);
            return self.push(item(What::Version, version.to_owned(), version), at);
        }
        let mut parts =
            word.split(|c: char| !c.is_ascii_alphanumeric() && c != '\'').filter(|part| !part.is_empty());
        let first = parts.next();
        let is_whole = first == Some(word);
        for part in first.into_iter().chain(parts) {
            let part_roles = if is_whole { roles } else { Roles::of(part) };
            // `opt-in` and `opt-out` differ in their particle.
            let is_particle = !is_whole && matches!(part, "in" | "on" | "by" | "to");
            if (is_stop_word(part) || part_roles.has(Role::Filler)) && !is_switch(part) && !is_particle {
                continue;
            }
            let text = (self.stem)(part);
            if is_whole
                && self.said.is_none()
                && is_verb(part, &text, (at, raws), self.whole.content.len() > self.segment)
            {
                self.say();
                self.whole.is_among |= OPEN_VERB_STEMS.has(&text);
            }
            if part.bytes().all(|byte| byte.is_ascii_digit()) {
                self.push(item(What::Number, part.to_owned(), part), at);
                continue;
            }
            let found = Item { names: is_surroundings, roles: part_roles, ..item(What::Word, text, part) };
            self.push(found, at);
        }
    }

    fn finish(mut self) -> Reading {
        self.lists();
        self.whole.is_negated = self.whole.content.iter().any(|item| item.is_negated);
        let has_asides = self.asides.iter().any(|aside| *aside);
        let lead = match (self.lead, has_asides) {
            (None, false) => None,
            (end, _) => {
                let end = end.unwrap_or(self.whole.content.len());
                let content = self.whole.content[..end].iter().zip(&self.asides);
                let content: Vec<Item> =
                    content.filter(|(_, aside)| !**aside).map(|(item, _)| item.clone()).collect();
                let excluded = match self.lead {
                    Some(_) => self.whole.excluded[..self.excluded_in_lead].to_vec(),
                    None => self.whole.excluded.clone(),
                };
                (content.len() >= MIN_LEAD).then(|| Clause {
                    is_negated: content.iter().any(|item| item.is_negated),
                    content,
                    excluded,
                    ..self.whole.clone()
                })
            }
        };
        Reading { whole: self.whole, lead }
    }

    /// Adjacent names are members of a list; another member is no different value.
    fn lists(&mut self) {
        let content = &mut self.whole.content;
        for at in 1..content.len() {
            let (one, other) = (&content[at - 1], &content[at]);
            let is_list = one.what.is_name()
                && one.is_value()
                && one.is_kind_of(other)
                && !matches!(one.what, What::Code);
            if is_list {
                content[at - 1].names = true;
                content[at].names = true;
            }
        }
    }
}

fn item(what: What, text: String, word: &str) -> Item {
    Item {
        what,
        text,
        binary: None,
        word: word.to_owned(),
        names: false,
        is_negated: false,
        is_condition: false,
        is_subject: false,
        is_code: false,
        is_floor: false,
        roles: Roles::default(),
    }
}
