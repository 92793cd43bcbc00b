//! What makes a run show nothing although its check ended by itself: files that the profile covers are written meanwhile, or
//! a file of the work tree runs in place of the tool.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::order::About;
use super::profile::Plan;
use super::provenance;
use crate::domain::action::bare;
use crate::domain::experiment::Disturbed;
use crate::domain::versions::Versions;
use crate::versions::{self, Marks};

/// The most covered files that git does not know and that are read: a test writes some of them anew each time, so that only
/// what they hold tells.
const MAX_UNKNOWN: usize = 500;
/// What a module of Python imports first, by the name after `-m`. A file in the working directory comes before them.
const IMPORTED: [(&str, &[&str]); 2] =
    [("pytest", &["pytest", "_pytest", "pluggy", "iniconfig"]), ("unittest", &["unittest"])];
/// The ends of a file that Python takes for a module. An extension has its platform before it.
const OF_MODULES: [&str; 3] = [".py", ".pyc", ".so"];

/// The files that a profile covers, as they are before a run.
pub(super) struct Covered {
    root: PathBuf,
    marks: Marks,
    /// What those hold that git does not know.
    unknown: Versions,
}

impl Covered {
    pub(super) fn of(about: &About, environment: &BTreeMap<String, String>, globs: &[String]) -> Self {
        let root = about.root.clone();
        let [tracked, unknown] = provenance::covered(&root, environment, globs);
        let marks = versions::quick_marks(&root, tracked.iter());
        let unknown = unknown.into_iter().take(MAX_UNKNOWN);
        let unknown = unknown.filter_map(|file| Some((file.clone(), versions::look_small(&root, &file)?)));
        Self { unknown: unknown.collect(), marks, root }
    }

    /// The files that were written since. A new file is none of them.
    pub(super) fn disturbed(&self) -> Option<Disturbed> {
        let now = versions::quick_marks(&self.root, self.marks.keys());
        let mut written = versions::written(&self.marks, &now);
        let holds_other =
            |(file, content): &(&_, &_)| versions::look_small(&self.root, file).as_ref() != Some(*content);
        written.extend(self.unknown.iter().filter(holds_other).map(|(file, _)| file.clone()));
        let touched = versions::touched(&self.marks, &now);
        let others = (written.len() + touched.len()).checked_sub(1)?;
        let is_touched = written.is_empty();
        let file = written.into_iter().chain(touched).next()?;
        Some(Disturbed { file, others, touched: is_touched })
    }
}

/// The file of the work tree that would run in place of the module that a command names: `python3 -m pytest` looks into the
/// working directory first.
pub(super) fn stand_in(plan: &Plan) -> Option<String> {
    let words = bare(&plan.argv);
    let (program, words) = words.split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let is_python = program.starts_with("python") && plan.profile.is_some();
    let at = words.iter().position(|word| word == "-m").filter(|_| is_python)?;
    let module = words.get(at + 1)?;
    let (_, names) = IMPORTED.iter().find(|(name, _)| name == module)?;
    let entries = std::fs::read_dir(&plan.cwd).ok()?.flatten();
    let mut found: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let stem = name.split('.').next().filter(|stem| names.contains(stem))?;
            let is_it = if stem == name { is_package(&entry.path()) } else { is_module(&name) };
            is_it.then_some(name)
        })
        .collect();
    found.sort();
    found.into_iter().next()
}

fn is_module(name: &str) -> bool {
    OF_MODULES.iter().any(|end| name.ends_with(end))
}

/// A directory without `__init__` gives way to a package elsewhere.
fn is_package(dir: &Path) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.any(|name| name.starts_with("__init__.") && is_module(&name))
}
