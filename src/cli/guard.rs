//! What was typed is quoted in many errors; where it holds a secret, the refusal says so instead.

use super::output::Failure;
use super::{Context, block_on};
use crate::domain::privacy::{Denial, Secrets, deny_texts};
use crate::domain::rejection::{Code, Rejection};

/// The secret in the arguments of this process, if one is there.
pub(super) fn typed(secrets: &Secrets) -> Option<Denial> {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    deny_texts("hm", arguments.iter().map(|argument| ("arguments", argument.as_str())), secrets)
}

impl Context {
    /// The failure as it may be shown. A denial that no gate has seen is put on record.
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
