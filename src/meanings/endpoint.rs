//! A model behind an OpenAI-compatible address. A text goes there only after the rules about secrets passed it.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use ureq::Agent;

use crate::config::Endpoint;
use crate::domain::privacy::{Secrets, scan};
use crate::domain::vectors::Meaning;
use crate::system;

/// The most bytes of an answer: 16 texts of 4,096 numbers, with room to spare.
const MAX_ANSWER_BYTES: u64 = 4 * 1024 * 1024;
/// Statuses by which an endpoint refuses a text: too long, or nothing for its model.
const REFUSES_A_TEXT: [u16; 3] = [400, 413, 422];
/// Stands for a text that the rules about secrets hold back.
const WITHHELD: &str = "-";

/// Why an endpoint gave no meanings. Nothing of what it answered is shown: the text would reach agents.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The request failed.
    #[error("{0}")]
    Request(#[from] ureq::Error),
    /// Another status than 200. Redirects are not followed.
    #[error("it answers with status {0}")]
    Status(u16),
    /// The answer is no list of embeddings.
    #[error("its answer is no list of embeddings")]
    Answer,
    /// The answer has embeddings for more or fewer texts than were sent.
    #[error("it answers with {found} embeddings for {asked} texts")]
    Count {
        /// Texts.
        asked: usize,
        /// Embeddings.
        found: usize,
    },
    /// The embeddings have no numbers, too many, or differ in their count.
    #[error("its embeddings do not all have the same count of numbers, 1 to {}", Meaning::MAX_DIMENSIONS)]
    Dimensions,
    /// The rules about secrets hold the text back.
    #[error("the text holds what looks like a secret (rule {0}), so it was not sent")]
    Secret(String),
}

impl Problem {
    /// Whether the endpoint refuses a text, and not the request.
    fn is_of_a_text(&self) -> bool {
        matches!(self, Self::Status(status) if REFUSES_A_TEXT.contains(status))
    }
}

/// The time until then. A request without any fails at once.
fn left(until: Instant) -> Duration {
    until.saturating_duration_since(system::instant()).max(Duration::from_millis(1))
}

/// A key. No log and no message shows it.
#[derive(Clone)]
pub(super) struct Key(pub(super) String);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

/// An endpoint that a person allowed.
#[derive(Debug, Clone)]
pub(super) struct Allowed {
    pub(super) endpoint: Endpoint,
    /// What goes into the header `Authorization`.
    pub(super) key: Option<Key>,
    pub(super) secrets: Secrets,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    embedding: Vec<f32>,
    index: Option<usize>,
}

impl Allowed {
    /// The meaning of one text. A text with a secret is an error.
    pub(super) fn meaning(&self, text: &str, within: Duration) -> Result<Meaning, Problem> {
        if let Some(finding) = scan(text, &self.secrets).into_iter().next() {
            return Err(Problem::Secret(finding.rule));
        }
        self.ask(&[text], within)?.pop().ok_or(Problem::Answer)
    }

    /// The meanings of texts, in their order. A text with a secret stays here and is like no other one.
    pub(super) fn meanings(&self, texts: &[&str], within: Duration) -> Result<Vec<Meaning>, Problem> {
        let is_held: Vec<bool> = texts.iter().map(|text| !scan(text, &self.secrets).is_empty()).collect();
        let sent: Vec<&str> =
            texts.iter().zip(&is_held).map(|(text, held)| if *held { WITHHELD } else { text }).collect();
        let mut meanings = self.of_each(&sent, within)?;
        for (meaning, _) in meanings.iter_mut().zip(&is_held).filter(|(_, held)| **held) {
            *meaning = Meaning::none(meaning.dimensions());
        }
        Ok(meanings)
    }

    /// The meanings of texts. A text that the endpoint refuses, such as one that is too long for its model, is like no
    /// other one and keeps no other text from its meaning.
    fn of_each(&self, texts: &[&str], within: Duration) -> Result<Vec<Meaning>, Problem> {
        let until = system::instant() + within;
        let refused = match self.ask(texts, within) {
            Err(refused) if refused.is_of_a_text() => refused,
            answer => return answer,
        };
        // Where it refuses every text, the cause is no text.
        let Some(plain) = self.ask(&[WITHHELD], left(until)).ok().and_then(|mut plain| plain.pop()) else {
            return Err(refused);
        };
        self.without_refused(texts, plain.dimensions(), until)
    }

    /// The meanings of texts of which at least one is refused.
    fn without_refused(
        &self,
        texts: &[&str],
        dimensions: usize,
        until: Instant,
    ) -> Result<Vec<Meaning>, Problem> {
        if texts.len() == 1 {
            return Ok(vec![Meaning::none(dimensions)]);
        }
        let (first, second) = texts.split_at(texts.len() / 2);
        let mut meanings = Vec::with_capacity(texts.len());
        for half in [first, second] {
            meanings.extend(match self.ask(half, left(until)) {
                Err(refused) if refused.is_of_a_text() => self.without_refused(half, dimensions, until)?,
                answer => answer?,
            });
        }
        Ok(meanings)
    }

    fn ask(&self, texts: &[&str], within: Duration) -> Result<Vec<Meaning>, Problem> {
        let request = Request { model: &self.endpoint.model, input: texts };
        let body = serde_json::to_vec(&request).map_err(|_| Problem::Answer)?;
        let config =
            Agent::config_builder().timeout_global(Some(within)).http_status_as_error(false).max_redirects(0);
        // A proxy of the environment is another machine.
        let config = if self.endpoint.is_here() { config.proxy(None) } else { config };
        let agent = Agent::new_with_config(config.build());
        let mut call = agent.post(self.endpoint.url.as_str()).content_type("application/json");
        if let Some(Key(key)) = &self.key {
            call = call.header("authorization", format!("Bearer {key}"));
        }
        let mut response = call.send(&body)?;
        if response.status() != 200 {
            return Err(Problem::Status(response.status().as_u16()));
        }
        let answer = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec()?;
        read(&answer, texts.len())
    }
}

/// The meanings in an answer for so many texts.
fn read(answer: &[u8], asked: usize) -> Result<Vec<Meaning>, Problem> {
    let Answer { mut data } = serde_json::from_slice(answer).map_err(|_| Problem::Answer)?;
    if data.len() != asked {
        return Err(Problem::Count { asked, found: data.len() });
    }
    // Without places the order is that of the texts.
    data.sort_by_key(|embedding| embedding.index);
    if data.iter().enumerate().any(|(place, embedding)| embedding.index.is_some_and(|index| index != place)) {
        return Err(Problem::Answer);
    }
    let dimensions = data.first().map_or(0, |first| first.embedding.len());
    let is_good = |embedding: &Embedding| embedding.embedding.len() == dimensions;
    if !(1..=Meaning::MAX_DIMENSIONS).contains(&dimensions) || !data.iter().all(is_good) {
        return Err(Problem::Dimensions);
    }
    Ok(data.iter().map(|embedding| Meaning::of(&embedding.embedding)).collect())
}
