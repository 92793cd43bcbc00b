//! The gate: scans every text of a submission before it is written, logged or hashed.

use super::{Secrets, scan};
use crate::domain::command::Submission;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::text::Label;

/// A denial without the secret itself: rule, field and command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The rule, such as `aws-key`.
    pub rule: Label,
    /// The field, such as `statement`, or `scopes.2` for the second of several.
    pub field: Label,
    /// The kind of command, such as `create_claim`.
    pub command: Label,
}

/// Scans every text of a submission; the first secret is the denial.
pub fn deny(submission: &Submission, secrets: &Secrets) -> Option<Denial> {
    let mut denial = None;
    submission.each_text(|field, text| {
        if denial.is_none() {
            denial = denied(submission.command.name(), field, text, secrets);
        }
    });
    denial
}

/// Scans named texts; the first secret is the denial.
pub fn deny_texts<'t>(
    command: &str,
    mut texts: impl Iterator<Item = (&'t str, &'t str)>,
    secrets: &Secrets,
) -> Option<Denial> {
    texts.find_map(|(field, text)| denied(command, field, text, secrets))
}

fn denied(command: &str, field: &str, text: &str, secrets: &Secrets) -> Option<Denial> {
    let rule = scan(text, secrets).into_iter().next()?.rule;
    // A name in other letters is none.
    let is_name = |field: &Label| !field.as_str().is_empty();
    let field = Some(Label::of(field)).filter(is_name).unwrap_or_else(|| Label::of("arguments"));
    Some(Denial { rule: Label::of(&rule), field, command: Label::of(command) })
}

impl From<Denial> for Rejection {
    fn from(Denial { rule, field, .. }: Denial) -> Self {
        let is_numbered = field.as_str().split('.').any(|part| part.parse::<usize>().is_ok());
        let counted = if is_numbered { " (counted from 1)" } else { "" };
        Self::new(
            Code::PrivacyDenySensitive,
            format!(
                "`{field}`{counted} holds what looks like a secret (rule {rule}); nothing of it was kept"
            ),
            "leave the secret out and name where it is kept instead, such as the variable or the vault path",
        )
        .with("rule", rule)
        .with("field", field)
    }
}
