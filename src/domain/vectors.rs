//! The meaning of a text as a vector: the mean of the rows that a static table has for its word pieces. Integers only,
//! so that every machine computes the same numbers.
//!
//! `benches/distil.py` makes the table and describes its format. A change of the table needs a new name ([`MODEL`]), and
//! one of [`vector`] a new `store::FOLD_VERSION`: read models are folded anew then.

use super::tokens::words;

/// The table: the number of pieces, where each piece ends, the pieces in the order of their bytes, and a row for each: a
/// factor, and two numbers in each byte.
static TABLE: &[u8] = include_bytes!("vectors/table.bin");
/// The name of the table, stored beside the vectors that were made with it.
pub const MODEL: &str = "static-minilm-l6-v2-3";
/// Numbers of a vector.
pub const DIMENSIONS: usize = 256;
/// Bytes of a row of the table.
const ROW_BYTES: usize = 1 + DIMENSIONS / 2;
/// The length of every vector. With it, the numbers of nearly all texts fit into a byte.
const LENGTH: i64 = 400;
/// Bytes before the places where the pieces end.
const HEAD_BYTES: usize = 4;
/// What a piece inside of a word begins with.
const INSIDE: &str = "##";

/// The meaning of a text, of length [`LENGTH`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vector([i8; DIMENSIONS]);

impl Vector {
    /// The bytes to store.
    pub fn bytes(&self) -> [u8; DIMENSIONS] {
        self.0.map(|number| number.to_le_bytes()[0])
    }

    /// How alike two meanings are, from -1 to 1. `stored` is the other one's [`Vector::bytes`].
    pub fn cosine(&self, stored: &[u8; DIMENSIONS]) -> f64 {
        cosine(self.dot(stored))
    }

    /// The product with a stored vector: the more, the more alike.
    pub fn dot(&self, stored: &[u8; DIMENSIONS]) -> i32 {
        product_of(&self.0, stored)
    }
}

/// The meaning of a text as a model has it, of length [`LENGTH`]. Models differ in the count of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meaning(Vec<i8>);

impl Meaning {
    /// The most numbers of a meaning.
    pub const MAX_DIMENSIONS: usize = 4_096;

    /// The meaning with these numbers, brought to the length of all. Numbers without a direction are like no others.
    pub fn of(numbers: &[f32]) -> Self {
        let length = numbers.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
        let scale = if length.is_normal() { LENGTH as f64 / length } else { 0.0 };
        let bounds = (f64::from(i8::MIN + 1), f64::from(i8::MAX));
        let scaled = |number: &f32| (f64::from(*number) * scale).round().clamp(bounds.0, bounds.1) as i8;
        Self(numbers.iter().map(scaled).collect())
    }

    /// A meaning that is like no other one.
    pub fn none(dimensions: usize) -> Self {
        Self(vec![0; dimensions])
    }

    /// The bytes to store.
    pub fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        self.0.iter().map(|number| number.to_le_bytes()[0])
    }

    /// The count of its numbers.
    pub const fn dimensions(&self) -> usize {
        self.0.len()
    }

    /// The product with a stored meaning of as many numbers: the more, the more alike.
    pub fn dot(&self, stored: &[u8]) -> i32 {
        product_of(&self.0, stored)
    }
}

/// The sum of the products of two vectors' numbers. Products of two bytes fit into 16 bits, and of so many at a time
/// processors multiply and add several at once: a third of the time of one at a time.
#[inline]
fn product_of(one: &[i8], stored: &[u8]) -> i32 {
    const AT_A_TIME: usize = 32;
    let product =
        |(one, other): (&i8, &u8)| i32::from(i16::from(*one) * i16::from(i8::from_le_bytes([*other])));
    let ((ones, last), (others, last_stored)) =
        (one.as_chunks::<AT_A_TIME>(), stored.as_chunks::<AT_A_TIME>());
    let whole =
        ones.iter().zip(others).map(|(ones, others)| ones.iter().zip(others).map(product).sum::<i32>());
    whole.sum::<i32>() + last.iter().zip(last_stored).map(product).sum::<i32>()
}

/// The cosine of a product of two vectors.
pub fn cosine(dot: i32) -> f64 {
    f64::from(dot) / (LENGTH * LENGTH) as f64
}

/// The product of two vectors with this cosine.
pub const fn product(cosine: f64) -> i32 {
    (cosine * (LENGTH * LENGTH) as f64) as i32
}

/// The meaning of a text. `None` for a text without words, or with words of unknown characters only.
pub fn vector(text: &str) -> Option<Vector> {
    let table = Table::built_in();
    let mut sums = [0_i64; DIMENSIONS];
    let mut found = Vec::new();
    for word in words(text) {
        table.pieces(&word, &mut found);
        found.drain(..).for_each(|piece| table.add(piece, &mut sums));
    }
    let length = sums.iter().map(|sum| sum.unsigned_abs().pow(2)).sum::<u64>().isqrt().cast_signed();
    (length > 0).then(|| Vector(sums.map(|sum| scaled(sum, length))))
}

/// A number of a vector of this length, rounded, for a vector of [`LENGTH`].
fn scaled(number: i64, length: i64) -> i8 {
    let doubled = 2 * number * LENGTH + number.signum() * length;
    let bounds = i64::from(i8::MIN + 1)..=i64::from(i8::MAX);
    let number = (doubled / (2 * length)).clamp(*bounds.start(), *bounds.end());
    i8::try_from(number).unwrap_or_default()
}

/// The parts of [`TABLE`].
#[derive(Debug, Clone, Copy)]
struct Table {
    ends: &'static [u8],
    texts: &'static [u8],
    rows: &'static [u8],
}

impl Table {
    fn built_in() -> Self {
        let count = number(TABLE, 0);
        let (ends, rest) = TABLE[HEAD_BYTES..].split_at(4 * count);
        let (texts, rows) = rest.split_at(rest.len() - count * ROW_BYTES);
        Self { ends, texts, rows }
    }

    const fn count(self) -> usize {
        self.rows.len() / ROW_BYTES
    }

    fn text(self, piece: usize) -> &'static [u8] {
        let start = piece.checked_sub(1).map_or(0, |before| number(self.ends, before));
        &self.texts[start..number(self.ends, piece)]
    }

    /// Adds the numbers of a piece to these.
    fn add(self, piece: usize, to: &mut [i64; DIMENSIONS]) {
        let row = &self.rows[piece * ROW_BYTES..(piece + 1) * ROW_BYTES];
        let Some((factor, numbers)) = row.split_first() else { return };
        let number = |upper: u8| i64::from(upper.cast_signed() >> 4) * i64::from(*factor);
        for (two, byte) in to.as_chunks_mut::<2>().0.iter_mut().zip(numbers) {
            *two = [two[0] + number(byte << 4), two[1] + number(*byte)];
        }
    }

    /// The number of pieces that come before this text or are equal to it.
    fn up_to(self, text: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.text(middle) <= text { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The longest piece that a text begins with, and its bytes. The last piece up to the text begins with that piece too,
    /// so the text is cut to what both have in common until they are equal.
    fn longest(self, mut text: &[u8]) -> Option<(usize, usize)> {
        loop {
            let last = self.up_to(text).checked_sub(1)?;
            let piece = self.text(last);
            if text.starts_with(piece) {
                return Some((last, piece.len()));
            }
            let common = piece.iter().zip(text).take_while(|(one, other)| one == other).count();
            text = &text[..common];
        }
    }

    /// Adds the pieces of a word: the longest known beginning first, then the longest known piece of the rest. Nothing
    /// if a part is unknown.
    fn pieces(self, word: &str, into: &mut Vec<usize>) {
        let known = into.len();
        let mut rest = word.as_bytes();
        let mut inside = Vec::new();
        while !rest.is_empty() {
            let is_first = rest.len() == word.len();
            let text = if is_first {
                rest
            } else {
                inside.clear();
                inside.extend_from_slice(INSIDE.as_bytes());
                inside.extend_from_slice(rest);
                &inside
            };
            let mark = text.len() - rest.len();
            let Some((piece, bytes)) = self.longest(text).filter(|(_, bytes)| *bytes > mark) else {
                into.truncate(known);
                return;
            };
            into.push(piece);
            rest = &rest[bytes - mark..];
        }
    }
}

/// The number at this place of a list of numbers of four bytes each.
fn number(list: &[u8], at: usize) -> usize {
    let bytes = list[4 * at..].first_chunk().copied().unwrap_or_default();
    u32::from_le_bytes(bytes) as usize
}
