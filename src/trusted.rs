//! The profiles of a project that a person trusted, by the hash of their files. The list lies outside the
//! repository.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::domain::experiment::ProfileName;
use crate::private;

/// The decision of a person about the current file of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// It may run: the binary contains it, or a person trusted exactly this file.
    Trusted,
    /// No person has trusted it.
    Untrusted,
    /// A person trusted another version of its file.
    Changed,
}

/// The trusted profiles of one memory: a directory with one file for each, which contains the hash.
#[derive(Debug, Clone)]
pub struct TrustedProfiles {
    dir: Option<PathBuf>,
}

impl TrustedProfiles {
    /// The profiles trusted in a directory. The directory may be missing.
    pub fn of(dir: &Path) -> Self {
        Self { dir: Some(dir.join("profiles")) }
    }

    /// Those of a memory that does not exist yet: none, and none can be trusted.
    pub fn nowhere() -> Self {
        Self { dir: None }
    }

    /// The decision about a profile whose file has this hash. A record that cannot be read means no trust.
    pub fn standing(&self, name: &ProfileName, sha256: &str) -> Trust {
        let known = self.file(name).and_then(|file| private::read_to_string(&file).ok());
        match known {
            Some(known) if known.trim() == sha256 => Trust::Trusted,
            Some(_) => Trust::Changed,
            None => Trust::Untrusted,
        }
    }

    /// Trusts a profile as long as its file has this hash.
    ///
    /// # Errors
    /// The error of the file system; `NotFound` when the workspace has no memory yet.
    pub fn trust(&self, name: &ProfileName, sha256: &str) -> io::Result<()> {
        let nowhere = "there is no memory yet to trust it for: run `hm init` first";
        let dir = self.dir.as_ref().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, nowhere))?;
        private::create_dir_all(dir)?;
        private::replace(&dir.join(name.as_str()), format!("{sha256}\n").as_bytes())
    }

    /// Ends the trust in a profile. False when there was none.
    pub fn untrust(&self, name: &ProfileName) -> io::Result<bool> {
        let Some(file) = self.file(name) else { return Ok(false) };
        match std::fs::remove_file(file) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn file(&self, name: &ProfileName) -> Option<PathBuf> {
        // A profile's name has neither dots nor slashes.
        self.dir.as_ref().map(|dir| dir.join(name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Trust, TrustedProfiles};

    #[test]
    fn a_hash_is_trusted_in_one_place_until_it_is_taken_back() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let here = TrustedProfiles::of(&dir.path().join("here"));
        let there = TrustedProfiles::of(&dir.path().join("there"));
        let name = "smoke".parse().expect("a name");
        assert_eq!(here.standing(&name, "aa"), Trust::Untrusted);
        here.trust(&name, "aa").expect("a place to keep it");
        assert_eq!(
            [here.standing(&name, "aa"), here.standing(&name, "ab")],
            [Trust::Trusted, Trust::Changed]
        );
        assert_eq!(there.standing(&name, "aa"), Trust::Untrusted);
        assert!(here.untrust(&name).expect("it can go") && !here.untrust(&name).expect("it is gone"));
        assert_eq!(here.standing(&name, "aa"), Trust::Untrusted);
    }
}
