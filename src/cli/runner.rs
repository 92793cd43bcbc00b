//! `hm runner`: the process that a run lives in; started by the writer, never by hand.

use super::output::Failure;
use crate::runner::helper;

pub(super) fn run() -> Result<(), Failure> {
    Ok(helper::serve()?)
}
