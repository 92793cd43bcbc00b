//! Reasons, and several names in one call: an agent types `hm claim challenge C47 "the limit is 50"`.

use clap::Args;

use super::names::Called;
use super::output::{self, Failure};
use super::{Context, REASON_TOO, parse, parse_optional};
use crate::domain::rejection::{Code, Rejection};

/// The fewest letters that may be the end of an id without a digit.
const MIN_ID_CHARS: usize = 8;

/// A reason that a verb needs.
#[derive(Debug, Args)]
pub(super) struct Because {
    /// Why; always needed (or --reason TEXT)
    #[arg(value_name = "REASON", required_unless_present = "reason", conflicts_with = "reason")]
    words: Option<String>,
    /// Why
    #[arg(long, hide = true, aliases = REASON_TOO, value_name = "TEXT")]
    reason: Option<String>,
}

impl Because {
    pub(super) fn reason<T>(&self) -> Result<T, Rejection>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
    {
        parse("reason", self.words.as_deref().or(self.reason.as_deref()).unwrap_or_default())
    }
}

/// Several claims, and a reason that may follow them.
#[derive(Debug, Args)]
pub(super) struct Several {
    /// The claims, and a reason in quotes (or --reason TEXT)
    #[arg(required = true, value_name = "CLAIM")]
    claims: Vec<Called>,
    /// Why
    #[arg(long, hide = true, aliases = REASON_TOO, value_name = "TEXT")]
    reason: Option<String>,
}

impl Several {
    /// The reason: that of the option, or the last words if no claim can be called so.
    pub(super) fn reason<T>(&self) -> Result<Option<T>, Rejection>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
    {
        parse_optional("reason", self.reason.as_deref().or(self.said()))
    }

    /// The reason of a verb that needs one.
    pub(super) fn needed_reason<T>(&self, verb: &str) -> Result<T, Rejection>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
    {
        let claims: Vec<&str> = self.claims.iter().map(|claim| &**claim).collect();
        let line = format!("hm claim {verb} {} --reason WHY", claims.join(" "));
        let hint = format!("fill in the word in capitals: {line}");
        self.reason()?.ok_or_else(|| Rejection::new(Code::InvalidArgument, "reason is missing", hint))
    }

    /// Whether it names more than one claim.
    pub(super) fn are_several(&self) -> bool {
        self.claims.len() - usize::from(self.said().is_some()) > 1
    }

    fn said(&self) -> Option<&str> {
        let last = self.claims.last().filter(|_| self.reason.is_none() && self.claims.len() > 1)?;
        let words = last.trim();
        // A name has digits. The end of an id, which may have none, is longer than such a word as `add`.
        let may_be_id = words.len() >= MIN_ID_CHARS && words.chars().all(|letter| letter.is_ascii_hexdigit());
        let is_word = words.chars().all(char::is_alphabetic) && !may_be_id;
        (words.contains(char::is_whitespace) || is_word).then_some(&**last)
    }

    /// Runs a command for each claim. A refusal does not stop those that follow; the exit code is the highest one.
    pub(super) fn each(
        &self,
        context: &Context,
        submit: impl FnMut(&Called) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let claims = &self.claims[..self.claims.len() - usize::from(self.said().is_some())];
        each_of(context, "receipts", claims, submit)
    }
}

/// Runs a command for each name. A refusal does not stop those that follow; the exit code is the highest one. With `--json`
/// the answers for several names are one list, called `list`.
pub(super) fn each_of(
    context: &Context,
    list: &str,
    names: &[Called],
    mut run: impl FnMut(&Called) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if let [name] = names {
        return run(name);
    }
    output::as_one(context.global.json, list, || {
        let mut worst = 0;
        // What was typed twice is done once.
        let is_again = |at: usize| names[..at].iter().any(|before| before == &names[at]);
        for (_, name) in names.iter().enumerate().filter(|(at, _)| !is_again(*at)) {
            match run(name) {
                Ok(()) => {}
                Err(Failure::Unheard) => return Err(Failure::Unheard),
                Err(failure) => {
                    worst = worst.max(output::said_of(name, context.guarded(failure), context.global.json));
                }
            }
        }
        if worst == 0 { Ok(()) } else { Err(Failure::Several(worst)) }
    })
}
