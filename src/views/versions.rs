//! How a claim's files differ from what it is about, in the work tree of the reader.

use crate::store::{Changed, ClaimView, Reader, StoreError};
use crate::versions::look;
use crate::workspace::Workspace;

/// Looks at the files of one claim that is shown whole. Nothing is written.
pub(super) fn compare(
    workspace: &Workspace,
    store: &Reader,
    claim: &mut ClaimView,
) -> Result<(), StoreError> {
    let since = claim.affirmed_seq.unwrap_or(claim.summary.created_seq);
    let worktree = workspace.checkout().worktree;
    for scope in &claim.summary.scopes {
        // Stored scopes are in their normal form.
        let Ok(scope) = scope.parse() else { continue };
        let holds = look(workspace.root(), &scope);
        match claim.versions.get(&scope) {
            Some(saw) if holds.as_ref() == Ok(saw) => {}
            Some(_) => {
                let by = store.editor(worktree.as_ref(), scope.as_str(), since)?;
                claim.summary.changed_since.push(Changed { path: scope.as_str().to_owned(), by });
            }
            None => {
                let why =
                    holds.err().map_or_else(|| "had none when it was said".to_owned(), |why| why.to_string());
                claim.unversioned.push((scope.as_str().to_owned(), why));
            }
        }
    }
    Ok(())
}

/// What changed, in a few words; none where nothing did.
pub(super) fn changed(changed: &[Changed]) -> Option<String> {
    let said = changed.iter().map(|changed| {
        let path = super::inline(&changed.path, 200);
        let by = changed.by.as_deref().map(|by| format!(" by {}", super::markdown::name(by)));
        format!("`{path}`{}", by.unwrap_or_default())
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join(", "))
}
