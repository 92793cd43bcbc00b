//! The profiles there are: those of the binary, and those of the project, which run once a human has trusted them.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

pub use super::file::Problem;
use super::{Profile, ProfileName};
use crate::trusted::{Trust, TrustedProfiles};

/// Where a project keeps its profiles, below `.hivemind`.
pub const PROFILE_DIR: &str = "profiles";
/// The largest profile; a hundred times the longest that ships.
const MAX_FILE_BYTES: u64 = 64 << 10;

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../profiles/", $name, ".toml")))),+]
    };
}

/// The profiles of the binary.
const SHIPPED: &[(&str, &str)] = shipped![
    "cargo-check",
    "cargo-clippy",
    "cargo-test",
    "cargo-test-one",
    "eslint-file",
    "git-grep",
    "git-grep-count",
    "go-test",
    "jest-file",
    "make-target",
    "npm-test",
    "pytest",
    "pytest-file",
    "researcher-claude",
    "researcher-codex",
];

/// Where a profile comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It ships in the binary.
    BuiltIn,
    /// A file of the project.
    Project(PathBuf),
}

/// A profile that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", .file.display())]
pub struct BadProfile {
    /// Which file.
    pub file: PathBuf,
    /// What is wrong.
    pub problem: LoadProblem,
}

/// Why a file gives no profile.
#[derive(Debug, thiserror::Error)]
pub enum LoadProblem {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// It is too large.
    #[error("is larger than {MAX_FILE_BYTES} bytes: a profile is one command")]
    TooLarge,
    /// It is a directory, a pipe or a device.
    #[error("is no regular file")]
    NoFile,
    /// It has the name of a profile of the binary.
    #[error("takes the name of a built-in profile, which stays in force: rename the file")]
    BuiltInName,
    /// It is wrong.
    #[error(transparent)]
    Wrong(#[from] Problem),
}

/// A profile and where it comes from.
#[derive(Debug)]
pub struct Known {
    /// The profile.
    pub profile: Profile,
    /// Its file.
    pub origin: Origin,
    /// SHA-256 of its text, hex.
    pub sha256: String,
    /// Whether it may run.
    pub trust: Trust,
}

impl Known {
    /// Whether it may run.
    pub fn is_trusted(&self) -> bool {
        self.trust == Trust::Trusted
    }
}

/// A file read once: its text is what was hashed and what was parsed.
#[derive(Debug)]
pub struct Loaded {
    /// The profile.
    pub profile: Profile,
    /// The file as it is.
    pub text: String,
    /// Its SHA-256, hex.
    pub sha256: String,
}

/// Every profile by its name. No file of the project takes the name of a built-in profile.
#[derive(Debug)]
pub struct Catalog {
    known: BTreeMap<ProfileName, Known>,
    broken: Vec<BadProfile>,
}

impl Catalog {
    /// The built-in profiles, and those of a project: `.hivemind/profiles/*.toml`.
    pub fn load(marker_dir: &Path, trusted: &TrustedProfiles) -> Self {
        let mut known = BTreeMap::new();
        for (name, text) in SHIPPED {
            let name: ProfileName = name.parse().expect("the name of a profile of our own");
            let profile =
                Profile::parse(name.clone(), text).expect("a profile of our own, parsed in the tests");
            let sha256 = hex::encode(Sha256::digest(text));
            known.insert(name, Known { profile, origin: Origin::BuiltIn, sha256, trust: Trust::Trusted });
        }
        let mut broken = Vec::new();
        let dir = marker_dir.join(PROFILE_DIR);
        for file in files(&dir, &mut broken) {
            match load_file(&file) {
                Ok(Loaded { profile, sha256, .. }) => {
                    let name = profile.name.clone();
                    let trust = trusted.standing(&name, &sha256);
                    known.insert(name, Known { profile, origin: Origin::Project(file), sha256, trust });
                }
                Err(bad) => broken.push(bad),
            }
        }
        Self { known, broken }
    }

    /// Every profile that parses, trusted or not, by name.
    pub fn profiles(&self) -> impl Iterator<Item = &Known> {
        self.known.values()
    }

    /// The files that give none, and why.
    pub fn broken(&self) -> &[BadProfile] {
        &self.broken
    }

    /// The profile of this name.
    pub fn find(&self, name: &ProfileName) -> Option<&Known> {
        self.known.get(name)
    }

    /// The profiles that may run, by name.
    pub fn trusted(&self) -> impl Iterator<Item = &Profile> {
        self.known.values().filter(|known| known.is_trusted()).map(|known| &known.profile)
    }
}

/// Reads one file as a profile.
///
/// # Errors
/// [`BadProfile`], naming the file.
pub fn load_file(file: &Path) -> Result<Loaded, BadProfile> {
    let load = || {
        let name = name_of(file)?;
        if SHIPPED.iter().any(|(shipped, _)| *shipped == name.as_str()) {
            return Err(LoadProblem::BuiltInName);
        }
        // To open a pipe would wait for its other end.
        if !std::fs::metadata(file)?.is_file() {
            return Err(LoadProblem::NoFile);
        }
        let mut text = String::new();
        std::fs::File::open(file)?.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(LoadProblem::TooLarge);
        }
        let profile = Profile::parse(name, &text)?;
        let sha256 = hex::encode(Sha256::digest(&text));
        Ok(Loaded { profile, text, sha256 })
    };
    load().map_err(|problem| BadProfile { file: file.to_owned(), problem })
}

fn name_of(file: &Path) -> Result<ProfileName, Problem> {
    Ok(file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().parse()?)
}

/// The TOML files of a directory in the order of their names; a directory that is not there has none.
fn files(dir: &Path, broken: &mut Vec<BadProfile>) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(dir).and_then(|entries| {
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>()
    });
    match listed {
        Ok(mut files) => {
            files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
            files.sort();
            files
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            broken.push(BadProfile { file: dir.to_owned(), problem: error.into() });
            Vec::new()
        }
    }
}
