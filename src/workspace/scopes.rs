//! From a path as it was typed to a scope of the workspace.

use std::path::{Path, PathBuf};

use super::Workspace;
use crate::domain::scope::{self, BadScope, Scope};

impl Workspace {
    /// An absolute path in the spelling of this workspace: a path that enters the workspace through a link
    /// outside it gets the root as its beginning. Any other text is unchanged, links inside the workspace included.
    pub fn spelled(&self, path: &str) -> String {
        let given = Path::new(path);
        if !given.is_absolute() || given.starts_with(&self.root) {
            return path.to_owned();
        }
        let ancestors: Vec<&Path> = given.ancestors().collect();
        // Takes the first part that leads into the workspace: below it may be links of the project.
        let parts = ancestors.into_iter().rev();
        let mut real = parts.map_while(|part| Some((part, part.canonicalize().ok()?)));
        let Some((part, inside)) = real.find(|(_, real)| real.starts_with(&self.root)) else {
            return path.to_owned();
        };
        let below = given.strip_prefix(part).expect("a path begins with each of its ancestors");
        inside.join(below).to_string_lossy().into_owned()
    }

    /// A scope as a client wrote it. A path is relative to the root.
    ///
    /// # Errors
    /// [`BadScope`] when the text is no scope, or its path lies outside the workspace.
    pub fn scope(&self, text: &str) -> Result<Scope, BadScope> {
        self.scope_in(&self.root, text)
    }

    /// A scope as a person typed it in the directory `here`. A path is relative to `here`, or to the root when
    /// `here` lies outside the workspace. A path in the form of receipts, which begins at the root, also works
    /// when its first directory exists only at the root, and behind `:/` always. An absolute path and a symbolic link lead to the same scope.
    ///
    /// # Errors
    /// [`BadScope`] when the text is no scope, or its path lies outside the workspace.
    pub fn scope_in(&self, here: &Path, text: &str) -> Result<Scope, BadScope> {
        let Some(path) = self.typed(here, text)? else {
            return Scope::parse(text, &self.root.to_string_lossy());
        };
        let scope = self.inside(&self.real(&path)).map_err(|problem| {
            // Names the text that was typed, which the caller knows.
            if matches!(problem, BadScope::Outside(_)) { BadScope::Outside(text.to_owned()) } else { problem }
        })?;
        scope.check_glob().map(|()| scope)
    }

    /// The scopes of something that is about files, as [`Self::scope_in`] has them. A path through a symbolic link of the
    /// workspace counts twice: as the file that it leads to, and as the path itself, whose version tells where the link
    /// leads. Only as many of the latter are added as a claim can have.
    ///
    /// # Errors
    /// [`BadScope`] when a text is no scope, or its path lies outside the workspace.
    pub fn scopes_and_links(&self, here: &Path, texts: &[String]) -> Result<Vec<Scope>, BadScope> {
        let found: Result<Vec<Scope>, _> = texts.iter().map(|text| self.scope_in(here, text)).collect();
        let mut scopes = found?;
        for text in texts {
            let through = self.through_link(here, text).filter(|through| !scopes.contains(through));
            scopes.extend(through.filter(|_| scopes.len() < scope::MAX_SCOPES));
        }
        Ok(scopes)
    }

    /// A typed path in its normal form without following links, if it leads through a link.
    fn through_link(&self, here: &Path, text: &str) -> Option<Scope> {
        let path = self.typed(here, text).ok()??;
        let through = self.inside(&self.spelled(&path.to_string_lossy())).ok()?;
        let (real, normal) = (self.real(&path), self.root.join(through.as_str()));
        // A link before `..` leads elsewhere than the normal form says.
        let is_link = Path::new(&real) != normal && self.real(&normal) == real;
        (is_link && !through.is_whole()).then_some(through)
    }

    /// The path in a scope that a person typed; `None` for a symbol, a target or a tag.
    fn typed(&self, here: &Path, text: &str) -> Result<Option<PathBuf>, BadScope> {
        let Some(path) = scope::typed_path(text)? else { return Ok(None) };
        let path = path.replace('\\', "/");
        if let Some(path) = path.strip_prefix(scope::FROM_ROOT) {
            return Ok(Some(self.root.join(path.trim_start_matches('/'))));
        }
        let is_of_root = path.split_once('/').is_some_and(|(first, _)| {
            !first.starts_with('.') && !here.join(first).exists() && self.root.join(first).exists()
        });
        let from = if here.starts_with(&self.root) && !is_of_root { here } else { &self.root };
        Ok(Some(from.join(path)))
    }

    /// The scope of an absolute path below the root.
    fn inside(&self, path: &str) -> Result<Scope, BadScope> {
        // The path is text, so the root must be the same text, even if its name is not UTF-8.
        let root = self.root.to_string_lossy();
        let inside =
            Path::new(path).strip_prefix(root.as_ref()).map_err(|_| BadScope::Outside(path.to_owned()))?;
        Scope::as_written(&format!("./{}", inside.to_string_lossy()), "")
    }

    /// The path without symbolic links, so that one file has one path. Only the part that exists can be
    /// resolved. A link that leads out of the workspace stays as it is.
    fn real(&self, path: &Path) -> String {
        let found = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
        match found {
            Some((part, real)) if real.starts_with(&self.root) => {
                let below = path.strip_prefix(part).expect("a path begins with each of its ancestors");
                real.join(below).to_string_lossy().into_owned()
            }
            _ => self.spelled(&path.to_string_lossy()),
        }
    }
}
