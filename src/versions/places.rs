//! The cited lines of files as they are now. What became of them is computed by readers and never written.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::{Found, LARGE_FILE_BYTES, Unversioned, Written, modified_ns, open};
use crate::domain::place::{Fate, Span, fate};
use crate::domain::scope::Scope;

/// The answers that a process keeps. A server asks again about the same places for each read.
const MAX_KEPT: usize = 1_024;

/// A place below a root, and its answer for a file of this size and time.
type Kept = BTreeMap<(std::path::PathBuf, String, String), (Written, Fate)>;

static KEPT: Mutex<Kept> = Mutex::new(Kept::new());

/// The text of a file below the canonical root of a work tree; `None` where there is none.
///
/// # Errors
/// Why it cannot be cited: no regular file inside, or larger than a list reads.
pub fn text_of(root: &Path, scope: &Scope) -> Result<Option<Vec<u8>>, Unversioned> {
    match open(root, scope)? {
        Found::Absent => Ok(None),
        Found::File(_, size) if size > LARGE_FILE_BYTES => Err(Unversioned::TooLarge(size)),
        Found::File(file, _) => {
            let mut text = Vec::new();
            let read = file.take(LARGE_FILE_BYTES).read_to_end(&mut text);
            read.map(|_| Some(text)).map_err(|_| Unversioned::Unreadable)
        }
    }
}

/// What became of cited lines below the canonical root of a work tree; none where the file cannot be read.
pub fn fate_of(root: &Path, span: &Span) -> Option<Fate> {
    let metadata = match open(root, &span.path) {
        Ok(Found::Absent) => return Some(Fate::Orphaned),
        Ok(Found::File(file, _)) => file.metadata().ok()?,
        // Another thing has taken the place of the file.
        Err(Unversioned::Directory | Unversioned::Glob) => return Some(Fate::Orphaned),
        Err(_) => return None,
    };
    let written: Written = (metadata.len(), modified_ns(&metadata));
    let key = (root.join(span.path.as_str()), span.to_string(), String::from(span.sha256));
    let kept = |kept: &Kept| kept.get(&key).filter(|(at, _)| *at == written).map(|(_, fate)| *fate);
    if let Some(fate) = kept(&KEPT.lock().unwrap_or_else(PoisonError::into_inner)) {
        return Some(fate);
    }
    let fate = match text_of(root, &span.path) {
        Ok(Some(text)) => fate(&text, span),
        Ok(None) => Fate::Orphaned,
        // It grew beyond what a list reads.
        Err(Unversioned::TooLarge(_)) => Fate::Drifted,
        Err(_) => return None,
    };
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() >= MAX_KEPT {
        all.clear();
    }
    all.insert(key, (written, fate));
    Some(fate)
}
