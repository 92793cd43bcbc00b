//! `hm runner`: the process around a run. The writer starts it; no user does.

use super::output::Failure;
use crate::runner::helper;

pub(super) fn run() -> Result<(), Failure> {
    Ok(helper::serve()?)
}
