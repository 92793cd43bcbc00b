//! The profiles there are: those of the binary, and those of the project, which add and override.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

pub use super::file::Problem;
use super::{Profile, ProfileName};
use crate::domain::scope::Scope;

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
}

/// Every profile by its name. A broken file of the project hides the built-in profile it was to replace, so
/// that nobody runs what the project did not want.
#[derive(Debug)]
pub struct Catalog {
    known: BTreeMap<ProfileName, Known>,
    broken: Vec<BadProfile>,
}

impl Catalog {
    /// The built-in profiles, and those of a project: `.hivemind/profiles/*.toml`.
    pub fn load(marker_dir: &Path) -> Self {
        let mut known = BTreeMap::new();
        for (name, text) in SHIPPED {
            let name: ProfileName = name.parse().expect("the name of a profile of our own");
            let profile =
                Profile::parse(name.clone(), text).expect("a profile of our own, parsed in the tests");
            known.insert(name, Known { profile, origin: Origin::BuiltIn });
        }
        let mut broken = Vec::new();
        let dir = marker_dir.join(PROFILE_DIR);
        for file in files(&dir, &mut broken) {
            match load_file(&file) {
                Ok(profile) => {
                    known.insert(profile.name.clone(), Known { profile, origin: Origin::Project(file) });
                }
                Err(bad) => {
                    if let Ok(name) = name_of(&file) {
                        known.remove(&name);
                    }
                    broken.push(bad);
                }
            }
        }
        Self { known, broken }
    }

    /// The profiles that can be used, by name.
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

    /// The profiles whose runs can say something about these scopes; those that name scopes first.
    pub fn speaking_to(&self, scopes: &[Scope]) -> Vec<&Profile> {
        let fit = self.known.values().map(|known| &known.profile);
        let mut fit: Vec<&Profile> = fit.filter(|profile| profile.speaks_to(scopes)).collect();
        fit.sort_by_key(|profile| profile.scopes.is_empty());
        fit
    }
}

/// Reads one file as a profile.
///
/// # Errors
/// [`BadProfile`], naming the file.
pub fn load_file(file: &Path) -> Result<Profile, BadProfile> {
    let load = || {
        if std::fs::metadata(file)?.len() > MAX_FILE_BYTES {
            return Err(LoadProblem::TooLarge);
        }
        let text = std::fs::read_to_string(file)?;
        Ok(Profile::parse(name_of(file)?, &text)?)
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
