//! `hm export --to`: the confirmed facts and decisions as a section of a file of notes, such as AGENTS.md.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde_json::json;

use super::super::output::{self, Failure};
use super::Context;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::{BadScope, Scope};
use crate::domain::section::{section, with_section};
use crate::system;
use crate::versions::text_of;
use crate::views;

/// The extensions of files of notes.
const NOTES: [&str; 4] = ["md", "mdc", "markdown", "txt"];
/// Files of notes without an extension.
const RULES: [&str; 3] = [".cursorrules", ".clinerules", ".windsurfrules"];

/// The patterns of the names of such files.
pub(in crate::cli) const NAMES: [&str; 7] =
    ["*.md", "*.mdc", "*.markdown", "*.txt", "*.cursorrules", "*.clinerules", "*.windsurfrules"];

/// Writes the section, if the file does not have it already.
pub(super) fn run(context: &Context, to: &str, budget: usize) -> Result<(), Failure> {
    let refused = |why: String, hint: &str| -> Failure {
        Rejection::new(Code::NotAllowed, format!("{to} {why}: nothing was written"), hint).into()
    };
    let inside = "name a file of this project, which no link leads out of";
    let workspace = &context.workspace;
    let scope = workspace.scope_in(&context.here, to).map_err(|bad| {
        let is_outside = matches!(bad, BadScope::Outside(_));
        let why = if is_outside {
            "lies outside of the workspace".to_owned()
        } else {
            format!("is no path of a file: {bad}")
        };
        refused(why, inside)
    })?;
    if !is_notes(&scope) {
        let hint =
            "name a file of notes, such as AGENTS.md or .cursorrules; `hm export FILE` writes the ledger";
        return Err(refused("is no file of notes".to_owned(), hint));
    }
    let root = workspace.root();
    let before = text_of(root, &scope).map_err(|why| refused(why.to_string(), inside))?;
    let ask = |store: &crate::store::Reader| views::exported(store, workspace, &scope);
    let (entries, doubted) = context.models()?.ask(system::now(), ask)?.0.unwrap_or_default();
    let (section, count) = section(&entries, doubted, budget);
    let left_out = entries.len() - count;
    let text = before.clone().unwrap_or_default();
    let hint =
        "put one line with each marker, <!-- hivemind:begin --> and below it <!-- hivemind:end -->, or none";
    let after =
        with_section(&text, &section).map_err(|why| refused(format!("cannot be changed: {why}"), hint))?;
    let is_new = before.as_ref() != Some(&after);
    if is_new {
        replace(root, &scope, &after)
            .map_err(|error| refused(format!("cannot be written: {error}"), inside))?;
    }
    let wrote = if is_new { "wrote" } else { "nothing new in" };
    let mut said = format!("{wrote} {scope}: {count} confirmed facts and decisions\n");
    if left_out > 0 {
        said.push_str(&format!("{left_out} more do not fit into {budget} characters: raise --budget\n"));
    }
    let json =
        json!({ "file": scope, "written": is_new, "count": count, "left_out": left_out, "doubted": doubted });
    output::print(context.global.json, &said, &json)
}

/// Whether a file is one that clients read as notes. Settings and files of Git break by a section of text.
fn is_notes(scope: &Scope) -> bool {
    let path = Path::new(scope.as_str());
    let is_inside = |dir: &str| path.components().any(|part| part.as_os_str() == dir);
    let extension = path.extension().and_then(|extension| extension.to_str());
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    !is_inside(".git")
        && !is_inside(".hivemind")
        && (extension.is_some_and(|extension| NOTES.contains(&extension)) || RULES.contains(&name))
}

/// Replaces a file in one step, with the permissions that it has. A reader sees the old text or the new one.
fn replace(root: &Path, scope: &Scope, text: &[u8]) -> io::Result<()> {
    let path = root.join(scope.as_str());
    let permissions = fs::symlink_metadata(&path).ok().map(|found| found.permissions());
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = path.with_file_name(format!(".{name}.{}", system::new_id()));
    let written = File::create_new(&beside).and_then(|mut file| {
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&beside, &path)
    });
    if written.is_err() {
        // The caller gets the first error.
        let _ = fs::remove_file(&beside);
    }
    written
}
