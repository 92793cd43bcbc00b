//! The observations of a hook: a command with its outcome, the changed files, or the name of a tool.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Hooked;
use crate::domain::action::{Action, is_own_call, piped};
use crate::domain::checkout::Checkout;
use crate::domain::command::{Command, Observe, Seen};
use crate::domain::event::{CommandRan, FileEdited, ToolUsed};
use crate::domain::ids::EventId;
use crate::domain::privacy;
use crate::domain::scope::Scope;
use crate::domain::text::{CommandLine, ToolName};
use crate::domain::versions::Versions;
use crate::hooks::{ToolCall, ToolOutcome, masked_end};
use crate::system;

/// The maximum number of commands of one line that are kept in normal form. People write two or three.
const MAX_RUNS: usize = 8;

impl Hooked {
    /// The observation of the hook, without secrets. The ledger already has the effects of a call of `hm`.
    pub(super) fn observed(
        &self,
        tool: &ToolCall,
        outcome: &ToolOutcome,
        action: Option<&Action>,
    ) -> Vec<Command> {
        if tool.command.as_deref().is_some_and(is_own_call) {
            return Vec::new();
        }
        let mut seen = Vec::new();
        let paths = action.map(|action| action.paths.clone()).unwrap_or_default();
        let clean = |text: &str| privacy::redacted(text, &self.context.secrets());
        if !paths.is_empty() && tool.command.is_none() && !outcome.failed {
            seen.push(Seen::Files(FileEdited {
                paths,
                versions: Versions::new(),
                checkout: Checkout::default(),
            }));
        }
        if let Some(line) = &tool.command {
            let cut: String = clean(line).chars().take(CommandLine::MAX_CHARS).collect();
            if let Ok(command) = cut.parse() {
                let error_signature = action.and_then(|action| action.error.clone());
                let exit_code = outcome.exit.and_then(|exit| i32::try_from(exit).ok());
                let failed = outcome.failed;
                let checkout = Checkout::default();
                let of_last = piped(line).is_some();
                let commands = action.map(|action| action.commands.as_slice()).unwrap_or_default();
                let runs = commands.iter().filter_map(|run| clean(&run.to_string()).parse().ok());
                let runs = runs.take(MAX_RUNS).collect();
                let end = outcome.output_end.as_deref();
                let end = end.and_then(|output| masked_end(output, &self.context.secrets()));
                let (tail, output_sha256) = end.map(|end| (end.tail, end.sha256)).unzip();
                seen.push(Seen::Command(CommandRan {
                    command,
                    exit_code,
                    error_signature,
                    failed,
                    of_last,
                    unseen: outcome.unseen,
                    runs,
                    tail,
                    output_sha256,
                    checkout,
                }));
            }
        }
        let changed = self.changed_by(tool);
        if !changed.is_empty() {
            seen.push(Seen::Files(FileEdited {
                paths: changed,
                versions: Versions::new(),
                checkout: Checkout::default(),
            }));
        }
        if seen.is_empty()
            && let Ok(tool) = ToolName::try_from(clean(&tool.name))
        {
            seen.push(Seen::Tool(ToolUsed { tool, failed: outcome.failed }));
        }
        let observe =
            |seen| Command::Observe(Observe { event_id: EventId::from_uuid(system::new_id()), seen });
        seen.into_iter().map(observe).collect()
    }

    /// The files in a command line that it may change. A call of `hm` changes none.
    pub(super) fn named_files(&self, tool: &ToolCall) -> Option<Vec<(Scope, PathBuf)>> {
        let line = tool.command.as_deref().filter(|line| !is_own_call(line))?;
        let here = PathBuf::from(self.call.cwd.as_deref()?).join(tool.dir.as_deref().unwrap_or_default());
        let files = crate::hooks::files_named(line).into_iter().filter_map(|name| {
            let scope = self.context.workspace.scope_in(&here, name).ok().filter(Scope::is_path)?;
            Some((scope, here.join(name)))
        });
        Some(files.collect::<Vec<_>>()).filter(|files| !files.is_empty())
    }

    /// The files in a command line that changed while it ran.
    pub(super) fn changed_by(&self, tool: &ToolCall) -> Vec<Scope> {
        let Some((news, files)) = self.news().zip(self.named_files(tool)) else { return Vec::new() };
        let Some(before) = news.ran() else { return Vec::new() };
        let now = stamped(&files);
        let changed = |file: &Scope| {
            let (was, is) = (before.get(file.as_str()), now.get(file.as_str()));
            was.is_some_and(|was| is.is_some_and(|is| is != was && *is != 0))
        };
        let mut changed: Vec<Scope> = files.into_iter().map(|(file, _)| file).filter(changed).collect();
        changed.sort();
        changed.dedup();
        changed
    }
}

/// The time of the last change of each file, in nanoseconds. 0 for a path without a file.
pub(super) fn stamped(files: &[(Scope, PathBuf)]) -> BTreeMap<String, u64> {
    let at = |path: &PathBuf| {
        let file = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        let since = file.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        u64::try_from(since.as_nanos()).ok()
    };
    files.iter().map(|(file, path)| (file.to_string(), at(path).unwrap_or(0))).collect()
}

/// Whether a tool is one of ours: the ledger already has its effects.
pub(super) fn is_our_own(tool: &ToolCall) -> bool {
    ["mcp__hivemind__", "mcp_hivemind_", "hivemind-", "hivemind_"]
        .iter()
        .any(|prefix| tool.name.starts_with(prefix))
}
