//! Agent names: the canonical form, and the roster that resolves aliases.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A canonical agent name as stored. Only [`Roster::resolve`] and reads of the ledger create one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentId(String);

impl AgentId {
    /// The human at the terminal.
    pub fn operator() -> Self {
        Self("operator".to_owned())
    }

    /// The writer, as the author of background work.
    pub fn system() -> Self {
        Self("system".to_owned())
    }

    /// The agent that decides escalated disagreements and may deprecate any claim.
    pub fn architect() -> Self {
        Self("architect".to_owned())
    }

    /// A name read from the ledger, which holds only canonical names.
    pub fn recorded(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Whether the name is reserved for the human or the writer, so that no pane can have it.
    pub fn is_reserved(&self) -> bool {
        [Self::operator(), Self::system()].contains(self)
    }

    /// The seat of this number for panes of a client, such as `claude-2`.
    pub fn seat(word: &str, number: u32) -> Self {
        Self(format!("{word}-{number}"))
    }

    /// Whether the name is that of a seat. Seats are on no roster.
    pub fn is_seat(&self) -> bool {
        seat_of(&spelled(&self.0)).as_ref() == Some(self)
    }

    /// Whether the name is canonical: 1 to 40 of a-z, 0-9 and `_`, or a seat. A file from elsewhere may hold any
    /// text as a name.
    pub fn is_canonical(&self) -> bool {
        is_canonical(&self.0) || self.is_seat()
    }

    /// The name, for storage and display.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The agents of a workspace and their aliases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    agents: Vec<AgentId>,
    aliases: BTreeMap<String, AgentId>,
}

/// A name that the roster does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no agent is called `{given}`; {here}the roster is: {roster}")]
pub struct UnknownAgent {
    given: String,
    roster: String,
    /// The agents that are there, with the end of that part of the sentence. May be empty.
    here: String,
}

impl UnknownAgent {
    /// The same, with the names of the agents that are there.
    #[must_use]
    pub fn beside(self, here: &[String]) -> Self {
        let here = if here.is_empty() { String::new() } else { format!("here are: {}; ", here.join(", ")) };
        Self { here, ..self }
    }
}

/// A roster that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRoster {
    /// An alias for a name that is not on the roster.
    #[error("alias `{alias}` points at `{agent}`, which is not on the roster: add it or mend the alias")]
    DanglingAlias {
        /// The alias in the configuration.
        alias: String,
        /// The missing name.
        agent: String,
    },
    /// A name that cannot be canonical.
    #[error("`{0}` cannot be an agent name: use 1 to 40 of a-z, 0-9, `_` and `-`")]
    BadName(String),
}

impl Roster {
    /// Canonical agents of every workspace, unless its configuration names others.
    pub const DEFAULT_AGENTS: [&'static str; 5] = ["architect", "devops", "analyst", "frontend", "reviewer"];
    /// Default aliases: other names that people use for the same roles.
    pub const DEFAULT_ALIASES: [(&'static str, &'static str); 16] = [
        ("arch", "architect"),
        ("lead", "architect"),
        ("director", "architect"),
        ("infra", "devops"),
        ("backend", "devops"),
        ("orchestrator", "devops"),
        ("ops", "devops"),
        ("ana", "analyst"),
        ("investigator", "analyst"),
        ("front", "frontend"),
        ("ui", "frontend"),
        ("review", "reviewer"),
        ("qa", "reviewer"),
        ("human", "operator"),
        ("user", "operator"),
        ("me", "operator"),
    ];

    /// Builds a roster; `operator` and `system` are always on it.
    ///
    /// # Errors
    /// [`BadRoster`] for a name that cannot be canonical, or an alias of a missing name.
    pub fn new<'a>(
        agents: impl IntoIterator<Item = &'a str>,
        aliases: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, BadRoster> {
        let mut names: Vec<AgentId> = Vec::new();
        for name in agents.into_iter().chain(["operator", "system"]) {
            let name = spelled(name);
            if !is_canonical(&name) {
                return Err(BadRoster::BadName(name));
            }
            if !names.iter().any(|known| known.0 == name) {
                names.push(AgentId(name));
            }
        }
        let mut by_alias = BTreeMap::new();
        for (alias, agent) in aliases {
            let Some(known) = names.iter().find(|known| known.0 == spelled(agent)) else {
                return Err(BadRoster::DanglingAlias { alias: alias.to_owned(), agent: agent.to_owned() });
            };
            by_alias.insert(spelled(alias), known.clone());
        }
        Ok(Self { agents: names, aliases: by_alias })
    }

    /// Resolves any spelling of a name to the canonical agent. Case, outer spaces, `-` and `_` are ignored.
    ///
    /// # Errors
    /// [`UnknownAgent`] with the roster. An unknown name never resolves to another agent.
    pub fn resolve(&self, name: &str) -> Result<AgentId, UnknownAgent> {
        let wanted = spelled(name);
        self.agents
            .iter()
            .find(|known| known.0 == wanted)
            .or_else(|| self.aliases.get(&wanted))
            .cloned()
            .or_else(|| seat_of(&wanted))
            .ok_or_else(|| UnknownAgent {
                given: name.trim().chars().take(60).collect(),
                roster: self.names().collect::<Vec<_>>().join(", "),
                here: String::new(),
            })
    }

    /// The canonical names in roster order; `operator` and `system` come last.
    pub fn agents(&self) -> &[AgentId] {
        &self.agents
    }

    /// The agents that a pane can be: all except `operator` and `system`.
    pub fn panes(&self) -> impl Iterator<Item = &AgentId> {
        self.agents.iter().filter(|agent| ![AgentId::operator(), AgentId::system()].contains(agent))
    }

    /// The aliases of `agent`, sorted.
    pub fn aliases_of(&self, agent: &AgentId) -> impl Iterator<Item = &str> {
        self.aliases.iter().filter(move |(_, known)| *known == agent).map(|(alias, _)| alias.as_str())
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.agents.iter().map(AgentId::as_str).filter(|name| *name != "system")
    }
}

impl Default for Roster {
    fn default() -> Self {
        Self::new(Self::DEFAULT_AGENTS, Self::DEFAULT_ALIASES)
            .expect("the default aliases name default agents")
    }
}

/// The seat word for panes of clients without a `[clients]` entry: see [`AgentId::seat`].
pub const PANE: &str = "pane";
/// The words in the names of seats. Another name with a number is unknown.
const SEAT_WORDS: [&str; 5] = ["claude", "codex", "gemini", "cursor", PANE];

/// The seat with this normal form.
fn seat_of(key: &str) -> Option<AgentId> {
    let (word, number) = key.rsplit_once('_')?;
    let number = number.parse().ok().filter(|read: &u32| *read > 0 && read.to_string() == number)?;
    SEAT_WORDS.contains(&word).then(|| AgentId::seat(word, number))
}

fn is_canonical(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (1..=40).contains(&name.len()) && name.chars().all(plain)
}

/// A name as names are compared: case, outer space, `-` and `_` do not matter.
pub fn spelled(name: &str) -> String {
    name.trim().to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::Roster;

    #[test]
    fn names_are_resolved_once_and_unknown_ones_never_become_an_agent() {
        let roster = Roster::default();
        let names = [
            "Devops", " arch ", "QA", "me", "data-eng", "system ", "Claude_2", "pane-1", "claude-0", "ops-2",
        ];
        let resolved: Vec<String> = names
            .iter()
            .map(|name| match roster.resolve(name) {
                Ok(agent) => format!("{name:?} -> {agent}"),
                Err(error) => format!("{name:?} -> {error}"),
            })
            .collect();
        expect![[r#"
            "Devops" -> devops
            " arch " -> architect
            "QA" -> reviewer
            "me" -> operator
            "data-eng" -> no agent is called `data-eng`; the roster is: architect, devops, analyst, frontend, reviewer, operator
            "system " -> system
            "Claude_2" -> claude-2
            "pane-1" -> pane-1
            "claude-0" -> no agent is called `claude-0`; the roster is: architect, devops, analyst, frontend, reviewer, operator
            "ops-2" -> no agent is called `ops-2`; the roster is: architect, devops, analyst, frontend, reviewer, operator"#]]
        .assert_eq(&resolved.join("\n"));
    }

    #[test]
    fn dashes_and_underscores_are_alike() {
        let roster = Roster::new(["data-eng"], [("etl", "data_eng")]).expect("a valid roster");
        assert_eq!(roster.resolve("DATA_ENG"), roster.resolve("etl"));
        assert_eq!(
            Roster::new(["a"], [("b", "c")]).expect_err("c is unknown").to_string(),
            "alias `b` points at `c`, which is not on the roster: add it or mend the alias"
        );
    }
}
