//! Many errors quote the command line. If it contains a secret, a refusal replaces the error.

use super::output::Failure;
use super::{Context, block_on};
use crate::domain::privacy::{Denial, Secrets, deny_texts, scan};
use crate::domain::rejection::{Code, Rejection};

/// The secret in the arguments of this process, if there is one.
pub(super) fn typed(secrets: &Secrets) -> Option<Denial> {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let fields: Vec<String> = (0..arguments.len()).map(|at| field(&arguments, at, secrets)).collect();
    deny_texts("hm", fields.iter().map(String::as_str).zip(arguments.iter().map(String::as_str)), secrets)
}

/// The option of an argument, or its number from 1. A name that holds a secret itself is none.
fn field(arguments: &[String], at: usize, secrets: &Secrets) -> String {
    let own = arguments[at].split_once('=').map(|(name, _)| name);
    let above = at.checked_sub(1).map(|above| arguments[above].as_str()).filter(|above| !above.contains('='));
    let option = own.filter(|own| own.starts_with("--")).or(above).and_then(|name| name.strip_prefix("--"));
    let is_clean = |name: &&str| !name.is_empty() && scan(name, secrets).is_empty();
    option.filter(is_clean).map_or_else(|| format!("arguments.{}", at + 1), str::to_owned)
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
