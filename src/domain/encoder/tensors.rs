//! The tensors of a safetensors file. The file may come from anybody, so every place is checked.

use std::collections::HashMap;

use serde::Deserialize;

use super::BadModel;

/// The longest header, in bytes.
const MAX_HEADER_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes before the header: its length.
const LENGTH_BYTES: usize = 8;

/// A file of tensors.
#[derive(Debug)]
pub(super) struct Tensors<'a> {
    about: HashMap<String, About>,
    content: &'a [u8],
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct About {
    dtype: String,
    data_offsets: (usize, usize),
}

impl<'a> Tensors<'a> {
    pub(super) fn of(file: &'a [u8]) -> Result<Self, BadModel> {
        let (length, rest) = file.split_first_chunk::<LENGTH_BYTES>().ok_or(BadModel::Header)?;
        let length = u64::from_le_bytes(*length);
        let length = usize::try_from(length.min(MAX_HEADER_BYTES + 1)).unwrap_or(usize::MAX);
        let (header, content) = rest.split_at_checked(length).ok_or(BadModel::Header)?;
        let about = serde_json::from_slice(header).map_err(|_| BadModel::Header)?;
        Ok(Self { about, content })
    }

    /// The numbers of a tensor that must have so many.
    pub(super) fn read(&self, name: &str, count: usize) -> Result<Vec<f32>, BadModel> {
        let numbers = self.read_all(name)?;
        if numbers.len() == count {
            Ok(numbers)
        } else {
            Err(BadModel::Tensor { name: name.to_owned(), count })
        }
    }

    /// The numbers of a tensor.
    pub(super) fn read_all(&self, name: &str) -> Result<Vec<f32>, BadModel> {
        let about = self.about.get(name).filter(|about| about.dtype == "F32");
        let bytes = about.and_then(|about| self.content.get(about.data_offsets.0..about.data_offsets.1));
        let (numbers, rest) = bytes.unwrap_or_default().as_chunks::<4>();
        if numbers.is_empty() || !rest.is_empty() {
            return Err(BadModel::Tensor { name: name.to_owned(), count: numbers.len() });
        }
        Ok(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }
}
