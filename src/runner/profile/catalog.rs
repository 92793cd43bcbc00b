//! The catalog of profiles: those of the binary, and those of the project. A project's profile runs only after
//! a person trusted it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

pub use super::file::Problem;
use super::{Profile, ProfileName};
use crate::private;
use crate::trusted::{Trust, TrustedProfiles};

/// The directory of a project's profiles, below `.hivemind`.
pub const PROFILE_DIR: &str = "profiles";
/// The largest profile, in bytes; a hundred times the longest one in the binary.
const MAX_FILE_BYTES: u64 = 64 << 10;

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../profiles/", $name, ".toml")))),+]
    };
}

/// Name and text of the profiles in the binary.
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

/// The origin of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The binary contains it.
    BuiltIn,
    /// The project has it in this file.
    Project(PathBuf),
}

/// A file that gives no usable profile.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", .file.display())]
pub struct BadProfile {
    /// Path of the file.
    pub file: PathBuf,
    /// The reason.
    pub problem: LoadProblem,
}

/// Why a file gives no profile.
#[derive(Debug, thiserror::Error)]
pub enum LoadProblem {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// It is larger than 64 KiB.
    #[error("is larger than {MAX_FILE_BYTES} bytes: a profile is one command")]
    TooLarge,
    /// A link leads to a file elsewhere.
    #[error("leads out of the work tree: put the file itself there")]
    Elsewhere,
    /// It is a directory, a pipe or a device.
    #[error("is no regular file")]
    NoFile,
    /// It has the name of a profile in the binary.
    #[error("takes the name of a built-in profile, which stays in force: rename the file")]
    BuiltInName,
    /// Its content is not a profile.
    #[error(transparent)]
    Wrong(#[from] Problem),
}

/// A profile, its origin, and whether it may run.
#[derive(Debug)]
pub struct Known {
    /// The parsed profile.
    pub profile: Profile,
    /// The binary or a file.
    pub origin: Origin,
    /// SHA-256 of its text, in hex. A person trusts this text only.
    pub sha256: String,
    /// The decision of a person about this text.
    pub trust: Trust,
}

impl Known {
    /// Whether it may run.
    pub fn is_trusted(&self) -> bool {
        self.trust == Trust::Trusted
    }
}

/// A file read once, so that the hash and the profile come from the same text.
#[derive(Debug)]
pub struct Loaded {
    /// The parsed profile.
    pub profile: Profile,
    /// The text of the file.
    pub text: String,
    /// SHA-256 of the text, in hex.
    pub sha256: String,
}

/// All profiles by name. A project cannot replace a profile of the binary.
#[derive(Debug)]
pub struct Catalog {
    known: BTreeMap<ProfileName, Known>,
    broken: Vec<BadProfile>,
}

impl Catalog {
    /// Loads the profiles of the binary and those of a project: `.hivemind/profiles/*.toml`.
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
            match load_below(marker_dir, &file) {
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

    /// Every profile that parses, trusted or not, ordered by name.
    pub fn profiles(&self) -> impl Iterator<Item = &Known> {
        self.known.values()
    }

    /// The files that give no profile, with the reason.
    pub fn broken(&self) -> &[BadProfile] {
        &self.broken
    }

    /// The profile of this name, trusted or not.
    pub fn find(&self, name: &ProfileName) -> Option<&Known> {
        self.known.get(name)
    }

    /// The profiles that may run, ordered by name.
    pub fn trusted(&self) -> impl Iterator<Item = &Profile> {
        self.known.values().filter(|known| known.is_trusted()).map(|known| &known.profile)
    }
}

/// Reads a file of the profiles below `.hivemind`. A link that leads out of the work tree is not followed, and no line of a
/// file elsewhere is quoted.
///
/// # Errors
/// [`BadProfile`] with the file and the reason.
pub fn load_below(marker_dir: &Path, file: &Path) -> Result<Loaded, BadProfile> {
    let is_outside = marker_dir.parent().is_some_and(|tree| private::is_outside(tree, file));
    if is_outside && private::is_outside(marker_dir, file) {
        return Err(BadProfile { file: file.to_owned(), problem: LoadProblem::Elsewhere });
    }
    load_file(file).map_err(|BadProfile { file, mut problem }| {
        if let LoadProblem::Wrong(Problem::Syntax(told)) = &mut problem
            && is_outside
        {
            *told = told.lines().next().unwrap_or_default().to_owned();
        }
        BadProfile { file, problem }
    })
}

/// Reads one file as a profile.
///
/// # Errors
/// [`BadProfile`] with the file and the reason.
pub fn load_file(file: &Path) -> Result<Loaded, BadProfile> {
    let load = || {
        let name = name_of(file)?;
        if SHIPPED.iter().any(|(shipped, _)| *shipped == name.as_str()) {
            return Err(LoadProblem::BuiltInName);
        }
        // Opening a pipe would wait for its other end.
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

/// The TOML files of a directory, ordered by name; empty when the directory is missing.
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
