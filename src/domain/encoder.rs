//! The meaning of a text by a sentence model of the BERT family, such as all-MiniLM-L6-v2: word pieces, the layers of the
//! encoder, the mean over the pieces.
//!
//! Each text is computed by itself. Sums have one order and no step calls the mathematics of the system, so a model and a
//! text give the same bytes on every machine.

mod layers;
mod pieces;
mod tensors;

use serde::Deserialize;

use self::layers::{Layer, Norm};
use self::pieces::Pieces;
use self::tensors::Tensors;
use super::vectors::Meaning;

/// The most pieces of a text that are read, with the two marks around them.
pub const MAX_PIECES: usize = 256;
/// The largest width of a model.
const MAX_WIDTH: usize = 1_024;
/// The most layers of a model.
const MAX_LAYERS: usize = 48;

/// Why a model cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadModel {
    /// The configuration does not parse, or names another kind of model.
    #[error("config.json is not that of a sentence model of the BERT family: {0}")]
    Config(String),
    /// A mark that every text needs is missing.
    #[error("vocab.txt has no piece `{0}`")]
    Vocabulary(&'static str),
    /// The header of the file of tensors does not parse.
    #[error("model.safetensors has no header that can be read")]
    Header,
    /// A tensor is missing, has another size, or is not made of 32-bit numbers.
    #[error("model.safetensors has no tensor `{name}` of {count} numbers of 32 bits")]
    Tensor {
        /// The name of the tensor.
        name: String,
        /// The count of its numbers.
        count: usize,
    },
    /// A table of vectors has no row, or rows of another width.
    #[error("model.safetensors has no table `{0}` of the width of the model")]
    Table(&'static str),
}

/// What is read of `config.json`.
#[derive(Debug, Deserialize)]
struct Shape {
    hidden_size: usize,
    intermediate_size: usize,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    layer_norm_eps: f32,
    hidden_act: String,
}

/// A model, ready to encode.
#[derive(Debug)]
pub struct Encoder {
    pieces: Pieces,
    width: usize,
    words: Vec<f32>,
    positions: Vec<f32>,
    kind: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

impl Encoder {
    /// A model from the contents of its files `config.json`, `vocab.txt` and `model.safetensors`.
    ///
    /// # Errors
    /// [`BadModel`].
    pub fn new(config: &[u8], vocabulary: &str, tensors: &[u8]) -> Result<Self, BadModel> {
        let shape = Shape::of(config)?;
        let tensors = Tensors::of(tensors)?;
        let width = shape.hidden_size;
        let pieces = Pieces::of(vocabulary)?;
        let table = |name: &'static str, rows: usize| {
            let numbers = tensors.read_all(name)?;
            if numbers.len() >= rows * width && numbers.len().is_multiple_of(width) {
                Ok(numbers)
            } else {
                Err(BadModel::Table(name))
            }
        };
        let kinds = table("embeddings.token_type_embeddings.weight", 1)?;
        Ok(Self {
            words: table("embeddings.word_embeddings.weight", pieces.count())?,
            positions: table("embeddings.position_embeddings.weight", 2)?,
            kind: kinds[..width].to_vec(),
            norm: Norm::of(&tensors, "embeddings.LayerNorm", width, shape.layer_norm_eps)?,
            layers: (0..shape.num_hidden_layers)
                .map(|layer| {
                    let widths = (width, shape.intermediate_size, shape.num_attention_heads);
                    Layer::of(&tensors, layer, widths, shape.layer_norm_eps)
                })
                .collect::<Result<_, _>>()?,
            width,
            pieces,
        })
    }

    /// The numbers of a vector.
    pub const fn dimensions(&self) -> usize {
        self.width
    }

    /// The meaning of a text.
    pub fn meaning(&self, text: &str) -> Meaning {
        Meaning::of(&self.numbers(text))
    }

    /// The mean over the pieces of a text.
    pub fn numbers(&self, text: &str) -> Vec<f32> {
        let width = self.width;
        let most = MAX_PIECES.min(self.positions.len() / width);
        let ids = self.pieces.of_text(text, most);
        let mut rows = Vec::with_capacity(ids.len() * width);
        for (at, id) in ids.iter().enumerate() {
            let (word, place) = (&self.words[id * width..], &self.positions[at * width..]);
            rows.extend((0..width).map(|column| word[column] + self.kind[column] + place[column]));
        }
        self.norm.apply(&mut rows);
        for layer in &self.layers {
            layer.apply(&mut rows);
        }
        let mut mean = vec![0.0_f32; width];
        for row in rows.chunks_exact(width) {
            mean.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
        }
        let count = ids.len() as f32;
        mean.iter_mut().for_each(|sum| *sum /= count);
        mean
    }
}

impl Shape {
    fn of(config: &[u8]) -> Result<Self, BadModel> {
        let shape: Self =
            serde_json::from_slice(config).map_err(|error| BadModel::Config(error.to_string()))?;
        let Self { hidden_size: width, num_attention_heads: heads, num_hidden_layers: layers, .. } = shape;
        let is_possible = (1..=MAX_WIDTH).contains(&width)
            && (1..=width).contains(&heads)
            && width.is_multiple_of(heads)
            && (1..=MAX_LAYERS).contains(&layers)
            && (1..=8 * MAX_WIDTH).contains(&shape.intermediate_size);
        match (is_possible, shape.hidden_act.as_str()) {
            (true, "gelu") => Ok(shape),
            (true, other) => Err(BadModel::Config(format!("its activation is `{other}`, not `gelu`"))),
            (false, _) => Err(BadModel::Config("its sizes are out of range".to_owned())),
        }
    }
}
