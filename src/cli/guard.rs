//! Many errors quote the command line. If it contains a secret, a refusal replaces the error.

use super::output::Failure;
use super::{Context, block_on};
use crate::domain::privacy::{Denial, Secrets, deny_texts};
use crate::domain::rejection::{Code, Rejection};

/// The secret in the arguments of this process, if there is one.
pub(super) fn typed(secrets: &Secrets) -> Option<Denial> {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    deny_texts("hm", arguments.iter().map(|argument| ("arguments", argument.as_str())), secrets)
}

impl Context {
    /// The failure that may be shown to the caller. Records a denial that no gate has recorded yet.
    pub(super) fn guarded(&self, failure: Failure) -> Failure {
        if matches!(&failure, Failure::Rejected(no) if no.code == Code::PrivacyDenySensitive) {
            return failure;
        }
        let Some(denial) = typed(&self.secrets()) else { return failure };
        let (Ok((agent, session)), Ok(front)) = (self.speaker("refused-secret"), self.front()) else {
            return Rejection::from(denial).into();
        };
        let refused = block_on(async { Ok(front.refuse(denial, self.speaks(agent), Some(session)).await) });
        refused.map_or_else(|failure| failure, Failure::from)
    }
}
