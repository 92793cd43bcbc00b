//! Models that give texts a meaning for search: whether a person allows the one that config.toml names, and the model
//! itself.

mod endpoint;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};

pub use self::endpoint::Problem;
use crate::config::{Config, Endpoint, Source};
use crate::domain::encoder::{BadModel, Encoder};
use crate::domain::privacy::{Known, Secrets};
use crate::domain::vectors::Meaning;
use crate::system;
use crate::workspace::Workspace;

/// The most bytes of a file of a model.
const MAX_FILE_BYTES: u64 = 1024 * 1024 * 1024;
/// The files of a model: configuration, vocabulary, tensors.
const FILES: [&str; 3] = ["config.json", "vocab.txt", "model.safetensors"];
/// Hex digits of the hash in a model's name.
const HASH_DIGITS: usize = 16;

/// How long a search waits for the meaning of its question.
const QUESTION_WITHIN: Duration = Duration::from_secs(2);
/// How long the writer waits for the meanings of claims. The end of the writer may wait as long.
const CLAIMS_WITHIN: Duration = Duration::from_secs(10);

/// The step that allows a model.
pub const ALLOW_IT: &str = "a person allows it with `hm trust --vectors`";

/// Why a model cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// No person has allowed it.
    #[error("nobody allowed {0} here")]
    Untrusted(String),
    /// A file of the model cannot be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The path of the file.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The files are not those of a model.
    #[error("no model in {dir}: {source}")]
    Model {
        /// The directory.
        dir: String,
        /// What is wrong.
        source: BadModel,
    },
    /// The endpoint gave no meanings.
    #[error("{model} gives no meanings: {problem}")]
    Endpoint {
        /// The text in config.toml.
        model: String,
        /// What is wrong.
        problem: Problem,
    },
}

impl Unavailable {
    /// The step that a search names. It is short: `hm doctor` says more.
    pub const fn way(&self) -> &'static str {
        match self {
            Self::Untrusted(_) => ALLOW_IT,
            Self::Endpoint { problem: Problem::Secret(_), .. } => "ask without it",
            Self::Io { .. } | Self::Model { .. } | Self::Endpoint { .. } => "see `hm doctor`",
        }
    }
}

/// A model that can be asked.
#[derive(Debug, Clone)]
pub struct Model {
    /// Its kind and the hash of its files, or of the text in config.toml.
    pub id: String,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Encoder(Arc<Encoder>),
    Endpoint(Arc<endpoint::Allowed>),
}

/// The model that this process loaded last.
static LOADED: Mutex<Option<(Vec<Seen>, Model)>> = Mutex::new(None);

/// A file as it was when it was read. Another file under its path differs in one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    path: PathBuf,
    bytes: u64,
    modified: Option<std::time::Duration>,
}

/// The model that the configuration names. `None` if it names none.
///
/// # Errors
/// [`Unavailable`], for one that no person allowed too.
pub fn model(workspace: &Workspace, config: &Config) -> Result<Option<Model>, Unavailable> {
    let Some(source) = &config.model else { return Ok(None) };
    if !workspace.allows_model(source) {
        return Err(Unavailable::Untrusted(source.to_string()));
    }
    match source {
        Source::Directory(dir) => loaded(dir).map(Some),
        Source::Endpoint(endpoint) => Ok(Some(behind(endpoint, source, workspace, config))),
    }
}

fn behind(endpoint: &Endpoint, source: &Source, workspace: &Workspace, config: &Config) -> Model {
    let key = workspace.allows_key(source).then(system::embeddings_key).flatten().map(endpoint::Key);
    let known = Known::from_variables(system::variables());
    let secrets = Secrets { own: config.own_secrets.clone(), known, ..Secrets::default() };
    let id = format!("openai-{}", &hex::encode(Sha256::digest(source.to_string()))[..HASH_DIGITS]);
    let allowed = endpoint::Allowed { endpoint: endpoint.clone(), key, secrets };
    Model { id, kind: Kind::Endpoint(Arc::new(allowed)) }
}

fn loaded(dir: &Path) -> Result<Model, Unavailable> {
    let paths = FILES.map(|file| dir.join(file));
    let seen: Vec<Seen> = paths.iter().map(|path| seen(path)).collect::<Result<_, _>>()?;
    let mut kept = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, model)) = kept.as_ref().filter(|(before, _)| *before == seen) {
        return Ok(model.clone());
    }
    let [config, vocabulary, tensors] = [read(&paths[0])?, read(&paths[1])?, read(&paths[2])?];
    let mut hash = Sha256::new();
    for content in [&config, &vocabulary, &tensors] {
        hash.update(Sha256::digest(content));
    }
    let text = String::from_utf8_lossy(&vocabulary);
    let encoder = Encoder::new(&config, &text, &tensors)
        .map_err(|source| Unavailable::Model { dir: dir.display().to_string(), source })?;
    let id = format!("minilm-{}", &hex::encode(hash.finalize())[..HASH_DIGITS]);
    let model = Model { id, kind: Kind::Encoder(Arc::new(encoder)) };
    *kept = Some((seen, model.clone()));
    Ok(model)
}

fn unreadable(path: &Path, source: io::Error) -> Unavailable {
    Unavailable::Io { path: path.display().to_string(), source }
}

fn seen(path: &Path) -> Result<Seen, Unavailable> {
    let about = std::fs::metadata(path).map_err(|source| unreadable(path, source))?;
    if !about.is_file() || about.len() > MAX_FILE_BYTES {
        let problem = "it is no file of at most 1 GiB";
        return Err(unreadable(path, io::Error::new(io::ErrorKind::InvalidInput, problem)));
    }
    let modified = about.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    Ok(Seen { path: path.to_owned(), bytes: about.len(), modified })
}

fn read(path: &Path) -> Result<Vec<u8>, Unavailable> {
    let mut content = Vec::new();
    let file = File::open(path).map_err(|source| unreadable(path, source))?;
    file.take(MAX_FILE_BYTES).read_to_end(&mut content).map_err(|source| unreadable(path, source))?;
    Ok(content)
}

impl Model {
    /// The meaning of a question.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub fn meaning(&self, question: &str) -> Result<Meaning, Unavailable> {
        match &self.kind {
            Kind::Encoder(encoder) => Ok(encoder.meaning(question)),
            Kind::Endpoint(allowed) => {
                allowed.meaning(question, QUESTION_WITHIN).map_err(|problem| unanswered(allowed, problem))
            }
        }
    }

    /// The meanings of statements, in their order.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub fn meanings(&self, statements: &[&str]) -> Result<Vec<Meaning>, Unavailable> {
        match &self.kind {
            Kind::Encoder(encoder) => Ok(statements.iter().map(|text| encoder.meaning(text)).collect()),
            Kind::Endpoint(allowed) => {
                allowed.meanings(statements, CLAIMS_WITHIN).map_err(|problem| unanswered(allowed, problem))
            }
        }
    }

    /// How many texts to store at once, so that a job can stop and others get their turn.
    pub const fn at_once(&self) -> usize {
        match self.kind {
            Kind::Encoder(_) => 32,
            Kind::Endpoint(_) => 16,
        }
    }

    /// How many texts to ask about at once.
    pub const fn asked_at_once(&self) -> usize {
        match self.kind {
            Kind::Encoder(_) => 1,
            Kind::Endpoint(_) => 16,
        }
    }
}

fn unanswered(allowed: &endpoint::Allowed, problem: Problem) -> Unavailable {
    Unavailable::Endpoint { model: Source::Endpoint(allowed.endpoint.clone()).to_string(), problem }
}
