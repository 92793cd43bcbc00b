//! What a short name means, for fronts: commands carry ids.

use uuid::Uuid;

use super::ViewError;
use crate::domain::names::{Reference, Sort};
use crate::domain::rejection::Rejection;
use crate::reads::Reads;

/// The id of what a name, an id or its end means. A whole id is taken as it is: what is only queued is in no read
/// model.
///
/// # Errors
/// [`Rejection`], where it means none or several.
pub fn resolve(reads: &mut Reads, sort: Sort, text: &str) -> Result<Uuid, Rejection> {
    if let Reference::Id(id) = Reference::read(sort, text) {
        return Ok(id);
    }
    match reads.store().map_err(ViewError::from)? {
        Some(store) => store.resolve(sort, text).map_err(ViewError::from)?,
        None => {
            let given: String = text.trim().chars().take(60).collect();
            Err(sort.unknown(format!("no {} is called `{given}`", sort.noun()), &[]))
        }
    }
}
