//! The layers of the encoder: attention, and two linear maps with an activation between them.

use super::BadModel;
use super::tensors::Tensors;

/// Sums that are computed side by side and added at the end, so that a compiler can use wide registers.
const LANES: usize = 8;
/// Rows that go through a linear map together. Each has sums of its own.
const ROWS: usize = 4;

/// Brings rows to a mean of 0 and a variance of 1, and then to the learned ones.
#[derive(Debug)]
pub(super) struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl Norm {
    pub(super) fn of(
        tensors: &Tensors<'_>,
        name: &str,
        width: usize,
        epsilon: f32,
    ) -> Result<Self, BadModel> {
        let weight = tensors.read(&format!("{name}.weight"), width)?;
        Ok(Self { weight, bias: tensors.read(&format!("{name}.bias"), width)?, epsilon })
    }

    pub(super) fn apply(&self, rows: &mut [f32]) {
        let width = self.weight.len();
        for row in rows.chunks_exact_mut(width) {
            let mean = row.iter().sum::<f32>() / width as f32;
            row.iter_mut().for_each(|number| *number -= mean);
            let variance = row.iter().map(|number| number * number).sum::<f32>() / width as f32;
            let scale = 1.0 / (variance + self.epsilon).sqrt();
            for ((number, weight), bias) in row.iter_mut().zip(&self.weight).zip(&self.bias) {
                *number = *number * scale * weight + bias;
            }
        }
    }
}

/// A linear map.
#[derive(Debug)]
struct Linear {
    /// A row for each number of the result.
    weight: Vec<f32>,
    bias: Vec<f32>,
    width: usize,
}

impl Linear {
    fn of(tensors: &Tensors<'_>, name: &str, width: usize, result: usize) -> Result<Self, BadModel> {
        let weight = tensors.read(&format!("{name}.weight"), width * result)?;
        Ok(Self { weight, bias: tensors.read(&format!("{name}.bias"), result)?, width })
    }

    fn apply(&self, rows: &[f32]) -> Vec<f32> {
        let result = self.bias.len();
        let mut mapped = vec![0.0; rows.len() / self.width * result];
        let (groups, into) = (rows.chunks(ROWS * self.width), mapped.chunks_mut(ROWS * result));
        for (group, into) in groups.zip(into) {
            for (column, weight) in self.weight.chunks_exact(self.width).enumerate() {
                let mut set = |row: usize, sum: f32| into[row * result + column] = sum + self.bias[column];
                if group.len() == ROWS * self.width {
                    let rows = std::array::from_fn(|row| &group[row * self.width..(row + 1) * self.width]);
                    let sums: [f32; ROWS] = products(weight, rows);
                    sums.into_iter().enumerate().for_each(|(row, sum)| set(row, sum));
                } else {
                    let rows = group.chunks_exact(self.width).enumerate();
                    rows.for_each(|(row, numbers)| set(row, product(weight, numbers)));
                }
            }
        }
        mapped
    }
}

/// The product of two lists of numbers.
fn product(one: &[f32], other: &[f32]) -> f32 {
    let [sum] = products(one, [other]);
    sum
}

/// The products of a list of numbers with others of the same length. The order of the additions does not depend on `N`.
fn products<const N: usize>(one: &[f32], others: [&[f32]; N]) -> [f32; N] {
    let mut sums = [[0.0_f32; LANES]; N];
    let (chunks, rest) = one.as_chunks::<LANES>();
    let others_in_chunks = others.map(|other| other.as_chunks::<LANES>().0);
    for (at, chunk) in chunks.iter().enumerate() {
        for (sums, other) in sums.iter_mut().zip(&others_in_chunks) {
            let other = &other[at];
            for lane in 0..LANES {
                sums[lane] += chunk[lane] * other[lane];
            }
        }
    }
    let first_of_rest = one.len() - rest.len();
    std::array::from_fn(|n| {
        let [a, b, c, d, e, f, g, h] = sums[n];
        let sum = ((a + e) + (b + f)) + ((c + g) + (d + h));
        rest.iter().zip(&others[n][first_of_rest..]).fold(sum, |sum, (one, other)| sum + one * other)
    })
}

/// One layer of the encoder.
#[derive(Debug)]
pub(super) struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    joined: Linear,
    after_attention: Norm,
    wide: Linear,
    narrow: Linear,
    last: Norm,
    heads: usize,
}

impl Layer {
    /// The layer with this number. `widths` are the width of the model, the one between the linear maps, and the number
    /// of heads.
    pub(super) fn of(
        tensors: &Tensors<'_>,
        number: usize,
        (width, between, heads): (usize, usize, usize),
        epsilon: f32,
    ) -> Result<Self, BadModel> {
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        let square = |part: &str| Linear::of(tensors, &name(part), width, width);
        Ok(Self {
            query: square("attention.self.query")?,
            key: square("attention.self.key")?,
            value: square("attention.self.value")?,
            joined: square("attention.output.dense")?,
            after_attention: Norm::of(tensors, &name("attention.output.LayerNorm"), width, epsilon)?,
            wide: Linear::of(tensors, &name("intermediate.dense"), width, between)?,
            narrow: Linear::of(tensors, &name("output.dense"), between, width)?,
            last: Norm::of(tensors, &name("output.LayerNorm"), width, epsilon)?,
            heads,
        })
    }

    pub(super) fn apply(&self, rows: &mut [f32]) {
        add(rows, &self.joined.apply(&self.attention(rows)));
        self.after_attention.apply(rows);
        let mut wide = self.wide.apply(rows);
        wide.iter_mut().for_each(|number| *number = gelu(*number));
        add(rows, &self.narrow.apply(&wide));
        self.last.apply(rows);
    }

    /// What each row takes over from the others.
    fn attention(&self, rows: &[f32]) -> Vec<f32> {
        let width = self.query.width;
        let [queries, keys, values] = [&self.query, &self.key, &self.value].map(|map| map.apply(rows));
        let part = width / self.heads;
        let scale = 1.0 / (part as f32).sqrt();
        let mut taken = vec![0.0; rows.len()];
        for head in 0..self.heads {
            let of = |row: usize| row * width + head * part..row * width + (head + 1) * part;
            let count = rows.len() / width;
            for row in 0..count {
                let query = &queries[of(row)];
                let mut weights: Vec<f32> =
                    (0..count).map(|other| product(query, &keys[of(other)]) * scale).collect();
                softmax(&mut weights);
                let into = &mut taken[of(row)];
                for (other, weight) in weights.into_iter().enumerate() {
                    into.iter_mut().zip(&values[of(other)]).for_each(|(sum, value)| *sum += weight * value);
                }
            }
        }
        taken
    }
}

fn add(rows: &mut [f32], more: &[f32]) {
    rows.iter_mut().zip(more).for_each(|(number, more)| *number += more);
}

fn softmax(numbers: &mut [f32]) {
    let greatest = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    numbers.iter_mut().for_each(|number| *number = exp(f64::from(*number - greatest)) as f32);
    let sum: f32 = numbers.iter().sum();
    numbers.iter_mut().for_each(|number| *number /= sum);
}

fn gelu(number: f32) -> f32 {
    let wide = f64::from(number);
    (0.5 * wide * (1.0 + erf(wide * std::f64::consts::FRAC_1_SQRT_2))) as f32
}

/// The error function to seven digits, by formula 7.1.26 of Abramowitz and Stegun.
fn erf(number: f64) -> f64 {
    const TERMS: [f64; 5] = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let size = number.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * size);
    let sum = TERMS.iter().fold(0.0, |sum, term| (sum + term) * t);
    (1.0 - sum * exp(-size * size)).copysign(number)
}

/// The exponential of a number that is not positive. The system's own differs between systems.
fn exp(number: f64) -> f64 {
    // Below, the result is smaller than any 32-bit number.
    if number.is_nan() || number < -120.0 {
        return 0.0;
    }
    let halvings = (number * std::f64::consts::LOG2_E).round();
    let rest = number - halvings * std::f64::consts::LN_2;
    // At most ln(2)/2, so that twelve terms are exact to the last digits.
    let sum = (1..=12).rev().fold(1.0, |sum, term| 1.0 + sum * rest / f64::from(term));
    let power = (1023 + halvings as i64).clamp(0, 2046).cast_unsigned();
    sum * f64::from_bits(power << 52)
}
