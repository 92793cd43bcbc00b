//! The observations of a hook: a command with its outcome, the changed files, or the name of a tool.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::Hooked;
use crate::domain::action::{Action, is_own_call, without_reading};
use crate::domain::command::{Command, Observe, Seen};
use crate::domain::ids::EventId;
use crate::domain::scope::Scope;
use crate::domain::text::Branch;
use crate::domain::time::Timestamp;
use crate::hooks::{self, Changed, ToolCall, ToolOutcome};
use crate::system;

/// Directories in which tools keep what they make.
const WRITTEN_BY_TOOLS: [&str; 11] = [
    ".git",
    ".hivemind",
    ".next",
    "__pycache__",
    "build",
    "coverage",
    "dist",
    "node_modules",
    "out",
    "target",
    "test-results",
];

impl Hooked {
    /// The observation of the hook, without secrets, of a tool that began at this time, if it is known. The ledger already has the
    /// effects of a call of `hm`.
    pub(super) fn observed(
        &self,
        tool: &ToolCall,
        outcome: &ToolOutcome,
        action: Option<&Action>,
        began: Option<Timestamp>,
    ) -> Vec<Command> {
        let changed = self.apart(tool, self.changed_by(tool));
        let mut seen = hooks::seen(tool, outcome, action, changed, &self.context.secrets());
        for seen in &mut seen {
            if let Seen::Command(ran) = seen
                && let Some(tail) = ran.tail.as_ref().filter(|_| ran.failed)
            {
                ran.files_sha256 = self.files_told(tail.as_str(), tool, began);
            }
        }
        let observe =
            |seen| Command::Observe(Observe { event_id: EventId::from_uuid(system::new_id()), seen });
        seen.into_iter().map(observe).collect()
    }

    /// When the files were saved that an output names, as a hash: another one at the next failure tells that a human, a script or
    /// another agent changed them. What tools write themselves says nothing, as the report that the command wrote.
    /// `None` without such a file.
    fn files_told(&self, output: &str, tool: &ToolCall, began: Option<Timestamp>) -> Option<String> {
        let here = PathBuf::from(self.call.cwd.as_deref()?).join(tool.dir.as_deref().unwrap_or_default());
        let root = self.context.workspace.root();
        let files =
            hooks::files_named(output).into_iter().filter(|name| !is_of_tools(name)).filter_map(|name| {
                let scope = self.context.workspace.scope_in(&here, name).ok().filter(Scope::is_path)?;
                // Paths below the root are told from there.
                let path = [here.join(name), root.join(name)].into_iter().find(|path| path.is_file())?;
                Some((scope, path))
            });
        let stamps = stamped(&files.collect::<Vec<_>>());
        let stamps = stamps.iter().filter(|(_, at)| was_there(**at, began));
        let told: Vec<String> = stamps.map(|(file, at)| format!("{file} {at}")).collect();
        (!told.is_empty()).then(|| hex::encode(Sha256::digest(told.join("\n"))))
    }

    /// Changed files, those apart that git brought: their content is that of a commit, so an agent wrote it before.
    fn apart(&self, tool: &ToolCall, mut changed: Vec<Scope>) -> Vec<Changed> {
        let mut apart = Vec::new();
        let brought = tool.command.as_deref().map(Brought::by).unwrap_or_default();
        for from in &brought.from {
            let Some(other) =
                self.context.workspace.differing(from, &changed).filter(|_| !changed.is_empty())
            else {
                continue;
            };
            let (paths, rest) = changed.into_iter().partition(|path| !other.contains(path.as_str()));
            changed = rest;
            apart.push(Changed { paths, merged: brought.called(from) });
        }
        apart.push(Changed { paths: changed, merged: None });
        apart.retain(|changed| !changed.paths.is_empty());
        apart
    }

    /// The files in a command line that it may change. A call of `hm` changes none.
    pub(super) fn named_files(&self, tool: &ToolCall) -> Option<Vec<(Scope, PathBuf)>> {
        let line = tool.command.as_deref().filter(|line| !is_own_call(line))?;
        let here = PathBuf::from(self.call.cwd.as_deref()?).join(tool.dir.as_deref().unwrap_or_default());
        let line = without_reading(line);
        let files = hooks::files_named(&line).into_iter().filter_map(|name| {
            let scope = self.context.workspace.scope_in(&here, name).ok().filter(Scope::is_path)?;
            Some((scope, here.join(name)))
        });
        Some(files.collect::<Vec<_>>()).filter(|files| !files.is_empty())
    }

    /// The files in a command line that changed while it ran.
    pub(super) fn changed_by(&self, tool: &ToolCall) -> Vec<Scope> {
        let Some((news, files)) = self.news().zip(self.named_files(tool)) else { return Vec::new() };
        let Some(before) = news.ran() else { return Vec::new() };
        let now = stamps_of(tool, &files);
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

/// Whether a tool keeps a file for itself.
fn is_of_tools(name: &str) -> bool {
    name.split('/').any(|part| WRITTEN_BY_TOOLS.contains(&part)) || name.ends_with(".log")
}

/// Whether a file was last saved, at this time in nanoseconds, before a command began: then the command itself did not write it.
fn was_there(saved: u64, began: Option<Timestamp>) -> bool {
    began.is_none_or(|began| i64::try_from(saved / 1_000_000).is_ok_and(|saved| saved < began.ms()))
}

/// What tells before and after a command whether it changed these files: the time of the last change of each, or its content
/// where the line may put a file back.
pub(super) fn stamps_of(tool: &ToolCall, files: &[(Scope, PathBuf)]) -> BTreeMap<String, u64> {
    let may_put_back = tool.command.as_deref().is_some_and(may_put_back);
    if may_put_back && files.len() <= MAX_COMPARED { contents(files) } else { stamped(files) }
}

/// Whether a git command of a line may give a file the content that it had before the line: `git show old:f > f; …;
/// git checkout f`.
fn may_put_back(line: &str) -> bool {
    git_commands(line).any(|(verb, _)| matches!(verb, "checkout" | "restore" | "stash"))
}

/// The git commands of a line: the verb of each, and the words behind it.
fn git_commands(line: &str) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>)> {
    line.split(['\n', ';', '|', '&']).filter_map(|command| {
        let mut words = command.split_whitespace().skip_while(|word| *word != "git").skip(1);
        let verb = words.find(|word| !word.starts_with('-'))?;
        Some((verb, words))
    })
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

/// A digest of the content of each file, never 0. 0 for a path without a file, and the time of the last change of a large one.
fn contents(files: &[(Scope, PathBuf)]) -> BTreeMap<String, u64> {
    let is_small = |path: &PathBuf| {
        // To read a pipe is to wait.
        std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= MAX_COMPARED_BYTES)
    };
    let (small, others): (Vec<_>, Vec<_>) = files.iter().cloned().partition(|(_, path)| is_small(path));
    let digest = |path: &PathBuf| {
        let digest = Sha256::digest(std::fs::read(path).ok()?);
        let first = digest.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*first).max(1))
    };
    let small = small.iter().map(|(file, path)| (file.to_string(), digest(path).unwrap_or(0)));
    stamped(&others).into_iter().chain(small).collect()
}

/// The size up to which contents are compared, in bytes. Sources are smaller, and a hook must not read for long.
const MAX_COMPARED_BYTES: u64 = 1 << 20;
/// The most files of a line whose contents are compared. Lines name a few.
const MAX_COMPARED: usize = 32;
/// The head of a work tree, as git names it.
const HEAD: &str = "HEAD";
/// The most names of a command line that are looked up in git.
const MAX_NAMES: usize = 4;

/// What the git commands of a line may bring into a work tree.
#[derive(Debug, Default)]
struct Brought {
    /// Names that may be of commits or branches, then the head if the line makes no commit itself.
    from: Vec<String>,
}

impl Brought {
    fn by(line: &str) -> Self {
        let mut from: Vec<String> = Vec::new();
        let (mut brings, mut commits) = (false, false);
        for (verb, words) in git_commands(line) {
            commits |= matches!(verb, "commit" | "am");
            if !matches!(verb, "merge" | "rebase" | "pull" | "checkout" | "switch" | "reset" | "cherry-pick")
            {
                continue;
            }
            brings = true;
            let is_name = |word: &&str| {
                !word.starts_with('-') && word.chars().all(|c| c.is_alphanumeric() || "._-/~^@{}".contains(c))
            };
            from.extend(words.take_while(|word| *word != "--").filter(is_name).map(str::to_owned));
        }
        from.truncate(MAX_NAMES);
        if brings && !commits {
            from.push(HEAD.to_owned());
        }
        Self { from }
    }

    /// What git brought, by the name in the line.
    fn called(&self, from: &str) -> Option<Branch> {
        let named = self.from.iter().find(|name| *name != HEAD).filter(|_| from == HEAD);
        named.map_or(from, String::as_str).parse().ok()
    }
}

/// Whether a tool is one of ours: the ledger already has its effects.
pub(super) fn is_our_own(tool: &ToolCall) -> bool {
    ["mcp__hivemind__", "mcp_hivemind_", "hivemind-", "hivemind_"]
        .iter()
        .any(|prefix| tool.name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::{is_of_tools, was_there};
    use crate::domain::time::Timestamp;

    /// Red before: a report that the failing command wrote itself was a change by others at each failure.
    #[test]
    fn what_a_command_writes_itself_is_no_change_by_others() {
        for name in
            ["coverage/lcov.info", "web/.next/trace", "test-results/a/trace.zip", "target/a.d", "a.log"]
        {
            assert!(is_of_tools(name), "{name}");
        }
        for name in ["src/coverage.rs", "report.xml", "tests/results.rs"] {
            assert!(!is_of_tools(name), "{name}");
        }
        let began = Some(Timestamp::from_ms(2_000));
        assert!(was_there(1_999_999_999, began) && was_there(9_000_000_000, None));
        assert!(!was_there(2_000_000_000, began) && !was_there(2_500_000_000, began));
    }
}
