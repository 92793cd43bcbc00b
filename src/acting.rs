//! What the operator does on a page or a screen: the command of each deed, and the process that runs it.

use std::path::Path;
use std::process::{Command, Output};

use crate::domain::agent::AgentId;
use crate::domain::ids::ClaimId;
use crate::domain::names::Sort;
use crate::domain::rejection::Rejection;
use crate::domain::way;
use crate::reads::Reads;
use crate::system;
use crate::views::{self, ViewError};

/// The longest receipt, in characters.
const SAID_CHARS: usize = 2_000;
/// Variables that name another speaker than the operator.
const OURS: [&str; 4] = ["HM_AGENT", "HM_DIR", "HM_SESSION", "HM_TASK"];

/// What a button or a key asks for.
pub(crate) struct Asked {
    /// The verb.
    pub(crate) deed: String,
    /// The claim, the playbook or the key of the proposal.
    pub(crate) about: String,
    /// The reason; empty without one.
    pub(crate) reason: String,
}

/// A command of the operator in this workspace, without the words of this process about its speaker.
pub(crate) fn command(program: &Path, root: &Path, words: &[String]) -> Command {
    let mut command = Command::new(program);
    command.arg("--dir").arg(root).args(["--agent", AgentId::operator().as_str()]);
    command.args(words).current_dir(root);
    for variable in OURS.iter().chain(&system::SESSION_VARIABLES) {
        command.env_remove(variable);
    }
    command
}

/// What a command said: its receipt, or why nothing was done.
pub(crate) fn said(output: std::io::Result<Output>) -> String {
    let output = match output {
        Ok(output) => output,
        Err(error) => return format!("nothing was done: hm does not start: {error}"),
    };
    let said = if output.status.success() { output.stdout } else { output.stderr };
    String::from_utf8_lossy(&said).trim().chars().take(SAID_CHARS).collect()
}

/// The words of the command for what a button or a key asks for.
///
/// # Errors
/// [`Rejection`], where it is no action of ours, its subject is gone, or it needs a reason.
pub(crate) fn planned(reads: &mut Reads, asked: &Asked) -> Result<Vec<String>, Rejection> {
    let needed = || Rejection::invalid("reason", "this needs a reason");
    let with_reason = |mut words: Vec<String>, is_needed: bool| match asked.reason.as_str() {
        "" if is_needed => Err(needed()),
        "" => Ok(words),
        reason => {
            words.push(format!("--reason={reason}"));
            Ok(words)
        }
    };
    match asked.deed.as_str() {
        verb @ ("support" | "abstain" | "challenge" | "deprecate") => {
            let claim = ClaimId::from_uuid(views::resolve(reads, Sort::Claim, &asked.about)?);
            let words = ["claim", verb, &claim.to_string()].map(str::to_owned);
            with_reason(words.into(), !["support", "abstain"].contains(&verb))
        }
        verb @ ("accept-playbook" | "dismiss-playbook") => {
            let playbook = views::resolve(reads, Sort::Playbook, &asked.about)?;
            let verb = verb.trim_end_matches("-playbook");
            let words = ["playbook", verb, &playbook.to_string()].map(str::to_owned);
            if verb == "accept" { Ok(words.into()) } else { with_reason(words.into(), true) }
        }
        verb @ ("accept" | "decline") => {
            let now = system::now();
            let waiting = reads.ask(now, |store| views::waiting(store, now)).map_err(ViewError::from)?.0;
            let entry = waiting.unwrap_or_default().into_iter().find(|entry| entry.key() == asked.about);
            let gone = || Rejection::invalid("about", "the proposal was answered meanwhile, or it changed");
            let entry = entry.ok_or_else(gone)?;
            let step = if verb == "accept" { &entry.accept } else { &entry.decline };
            filled(&entry.words(step), &asked.reason).ok_or_else(needed)
        }
        _ => Err(Rejection::invalid("do", "there is no such action")),
    }
}

/// The words after `hm`, with the reason in its place. None if it is needed and missing.
fn filled(words: &[String], reason: &str) -> Option<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    for word in words.iter().skip(1) {
        if !is_reason(word) {
            all.push(word.clone());
        } else if reason.is_empty() {
            return None;
        } else if all.last().is_some_and(|option| option.starts_with("--")) {
            let option = all.pop().unwrap_or_default();
            all.push(format!("{option}={reason}"));
        } else {
            all.push(reason.to_owned());
        }
    }
    Some(all)
}

pub(crate) fn is_reason(word: &str) -> bool {
    word == way::REASON || word == "REASON"
}

#[cfg(test)]
mod tests {
    use super::filled;

    #[test]
    fn a_reason_is_one_word_of_the_command_whatever_it_says() {
        let words = ["hm", "claim", "keep", "C1", "--reason", "REASON"].map(str::to_owned);
        let expected = ["claim", "keep", "C1", "--reason=--dir /tmp; rm"].map(str::to_owned);
        assert_eq!(filled(&words, "--dir /tmp; rm").as_deref(), Some(&expected[..]));
        assert_eq!(filled(&words, ""), None);
    }
}
