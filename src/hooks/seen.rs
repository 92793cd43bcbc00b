//! What a hook saw, as observations: a command with its outcome, the files that were changed, or the name of a tool.

use super::output::empty_answer;
use super::{ToolCall, ToolOutcome, masked_end};
use crate::domain::action::{Action, is_broken_own_call, is_own_call, is_reading_tool, piped};
use crate::domain::checkout::Checkout;
use crate::domain::command::Seen;
use crate::domain::event::{CommandRan, FileEdited, ToolUsed};
use crate::domain::privacy::{self, Secrets};
use crate::domain::scope::Scope;
use crate::domain::text::{Branch, CommandLine, Subagent, ToolName};
use crate::domain::versions::Versions;

/// The most commands of one line that are kept in normal form; people write two or three.
const MAX_RUNS: usize = 8;

/// Files that a command changed while it ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The files. Never empty.
    pub paths: Vec<Scope>,
    /// The commit or branch from which git brought them.
    pub merged: Option<Branch>,
}

/// The most characters of the words about what a reading tool is asked for.
const MAX_TARGET_CHARS: usize = 240;

/// What the hook saw, without secrets. The ledger already holds what a call of `hm` did. `changed` are the files that
/// the command changed while it ran.
pub fn seen(
    call: &ToolCall,
    outcome: &ToolOutcome,
    action: Option<&Action>,
    changed: Vec<Changed>,
    secrets: &Secrets,
) -> Vec<Seen> {
    if call.command.as_deref().is_some_and(is_own_call) {
        return Vec::new();
    }
    // The end of such a line tells nothing, and files may have changed while it ran.
    let is_broken = outcome.failed && call.command.as_deref().is_some_and(is_broken_own_call);
    let mut seen = Vec::new();
    let paths = action.map(|action| action.paths.clone()).unwrap_or_default();
    let clean = |text: &str| privacy::redacted(text, secrets);
    let subagent: Option<Subagent> = call.subagent.as_deref().and_then(|id| clean(id).parse().ok());
    if !paths.is_empty() && call.command.is_none() && !outcome.failed {
        seen.push(Seen::Files(FileEdited {
            paths,
            versions: Versions::new(),
            merged: None,
            checkout: Checkout::default(),
        }));
    }
    if let Some(line) = call.command.as_ref().filter(|_| !is_broken) {
        // The normal form has other quotes, behind which no rule may find what it finds in the line.
        let own = secrets.with_those_of(line);
        let clean = |text: &str| privacy::redacted(text, &own);
        let cut: String = clean(line).chars().take(CommandLine::MAX_CHARS).collect();
        if let Ok(command) = cut.parse() {
            let commands = action.map(|action| action.commands.as_slice()).unwrap_or_default();
            let runs = commands.iter().filter_map(|run| clean(&run.to_string()).parse().ok());
            let root = action.map(|action| action.root.as_str()).unwrap_or_default();
            let end = outcome.output_end.as_deref().and_then(|output| masked_end(output, &own, root));
            let answer_sha256 = end.as_ref().map(|end| end.answer_sha256.clone());
            let (tail, output_sha256) = end.map(|end| (end.tail, end.sha256)).unzip();
            seen.push(Seen::Command(CommandRan {
                command,
                exit_code: outcome.exit.and_then(|exit| i32::try_from(exit).ok()),
                error_signature: action.filter(|_| outcome.failed).and_then(|action| action.error.clone()),
                failed: outcome.failed,
                of_last: outcome.untold || piped(line).is_some(),
                unseen: outcome.unseen,
                runs: runs.take(MAX_RUNS).collect(),
                tail,
                output_sha256,
                answer_sha256,
                files_sha256: None,
                took_ms: outcome.took_ms,
                subagent: subagent.clone(),
                checkout: Checkout::default(),
            }));
        }
    }
    for Changed { paths, merged } in changed {
        let (versions, checkout) = (Versions::new(), Checkout::default());
        seen.push(Seen::Files(FileEdited { paths, versions, merged, checkout }));
    }
    if seen.is_empty()
        && !is_broken
        && let Ok(tool) = ToolName::try_from(clean(&call.name))
    {
        let end = outcome.output_end.as_deref().and_then(|output| masked_end(output, secrets, ""));
        let input_sha256 = call.input_sha256.clone();
        let is_empty = outcome.answered && is_reading_tool(&call.name);
        let answer_sha256 = end.map(|end| end.answer_sha256).or_else(|| is_empty.then(empty_answer));
        // A cut before it is clean would leave a half of a secret, which no rule recognises.
        let cut = |target: &str| clean(target).chars().take(MAX_TARGET_CHARS).collect::<String>();
        let target = call.target.as_deref().and_then(|target| cut(target).parse().ok());
        let failed = outcome.failed;
        seen.push(Seen::Tool(ToolUsed { tool, failed, input_sha256, answer_sha256, target, subagent }));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::seen;
    use crate::domain::action::{Action, Attempt};
    use crate::domain::command::Seen;
    use crate::domain::privacy::Secrets;
    use crate::hooks::{ToolCall, ToolOutcome};

    /// Red before: the normal form puts other quotes around a word, and the password in it stayed.
    #[test]
    fn no_normal_form_keeps_what_the_line_hides() {
        for line in [
            "docker run -e db_password=tulip5 img",
            "ansible-playbook -e ansible_become_pass=tulip5 site.yml",
            "npm login --password tulip5 && make tulip5",
        ] {
            let call = ToolCall { command: Some(line.to_owned()), ..ToolCall::default() };
            let action = Action::of(Attempt { command: Some(line), ..Attempt::default() }, "/w", "/w");
            let seen = seen(&call, &ToolOutcome::default(), Some(&action), Vec::new(), &Secrets::default());
            let [Seen::Command(ran)] = seen.as_slice() else { panic!("{seen:?}") };
            assert!(!ran.runs.is_empty() && !format!("{ran:?}").contains("tulip5"), "{ran:?}");
        }
    }
}
