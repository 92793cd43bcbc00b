//! `config.toml`: the roster and its aliases, the seats of clients, the quorum, the policy, the writer. Every key has a
//! default.

mod keys;
mod policy;
mod search;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::keys::MirrorKeys;
use self::keys::{Agents, File, QuorumKeys};
pub use self::search::{Endpoint, Source};
use crate::domain::agent::{AgentId, BadRoster, Roster, UnknownAgent};
use crate::domain::checkout::MARKER;
use crate::domain::decide::{Policy, Quorum};
use crate::domain::patterns::PatternPolicy;
use crate::domain::policy::MemoryPolicy;
use crate::domain::privacy::{BadPattern, Own, Secrets, redacted};
use crate::domain::ranking::Vectors;
use crate::domain::relevance::StaleAfter;
use crate::hooks::Client;
use crate::private;

/// The most that is read of a configuration, in bytes: many times the size of a team's file.
const MAX_BYTES: u64 = 256 * 1024;
/// The longest time an idle writer stays: a year, so that no number in the file overflows a clock.
const MAX_IDLE_MINUTES: u64 = 365 * 24 * 60;

/// The file that `hm init` writes: every key with its default, commented out.
pub const TEMPLATE: &str = r#"# Hivemind. Every key has a default; uncomment what you change. Commit this file.

[agents]
# Canonical names; `operator` (you at the terminal) and `system` are always there.
# roster = ["architect", "devops", "analyst", "frontend", "reviewer"]

[agents.aliases]
# Other names agents go by, besides the built-in ones (arch, infra, backend, ana, ui, qa ...).
# data = "analyst"

[clients]
# The first seat of a client's panes where neither --agent nor HM_AGENT names the agent; the next ones are claude-2, ...
# claude = "architect"
# codex = "devops"
# gemini = "analyst"
# cursor = "frontend"

[quorum]
# Supports that confirm a claim, when nobody challenges it.
# supports = 1
# Whether the owner's own support counts.
# owner_counts = false
# Whether every agent seen in the last 24 h, the owner aside, must support.
# all_active = false

[trust]
# Whether agents may deprecate, supersede and outvote what the operator recorded or supports.
# agents_may_override_operator = false

[policy]
# How important an item must be to be written. none: nothing is written. minimal: facts, corrections, and what the
# operator decides or prefers. normal: all but remarks and hypotheses of agents. aggressive: everything.
# write_policy = "aggressive"
# The event types that may be written, and those that may not.
# allow_event_types = ["preference", "decision", "fact", "correction", "execution", "context"]
# deny_event_types = []
# human_only: agents propose, and only the operator records decisions, confirms claims and promotes items. A claim of
# type decision is then a proposal, which waits in the operator's attention.
# trust = "agent_with_intent"

[policy.retention.semantic]
# How long claims are shown, by event type: never ends, ttl N sessions (or hours) since they were made, decay N sessions
# (or hours) since they were last touched. For example decay 12 sessions for context, 18 for execution, 40 for decisions
# and preferences, 45 for corrections, and 60 for facts. What is over stays in the ledger and in audits.
# preference = "never"
# decision = "never"
# fact = "never"
# correction = "never"
# execution = "never"
# context = "never"

[policy.spaces]
# The keys of facts that a user may keep for themselves (hm anchor save --space user); a * stands for any ending.
# user_keys = ["*"]

[policy.promotion]
# The authority that an item needs to cross into another space: user_asserted, tool_verified, system_imposed or never.
# No value is lower than its default. A decision of a session needs less than other items.
# session_to_user = "user_asserted"
# session_to_project = "tool_verified"
# decision_to_project = "user_asserted"
# user_to_project = "user_asserted"

[policy.phase]
# Whether a new phase of the memory begins when the intent of a session or of the team turns to another plan.
# by_plan = true

[stale_after_hours]
# A proposed claim that was not touched for this many hours comes last in contexts, unless it is about the work at hand.
# A decision does so only when a number is set for it; confirmed claims and dead ends never do.
# fact = 72
# hypothesis = 72

[privacy]
# Regular expressions of your own secrets, besides the built-in rules: what matches is refused (own-1, own-2 ...).
# patterns = []

[git]
# Whether the writer records the commits of the repository, so that a pull or a commit of yours counts as an edit.
# index = true

[guards]
# Whether a guard with the action `block` may stop a tool call of an agent, and run its profile about a contested claim.
# Otherwise it only warns. `true` holds once you allowed it with `hm trust --rules`.
# allow_block = false

[workspace]
# A directory for the memory instead of the one in the repository: absolute, or relative to the project's root.
# `hm trust` allows it.
# memory = ""

[writer]
# The writer ends after this many minutes without a client or work; at least 1.
# idle_exit_minutes = 15

[search]
# What searches and contexts compare. off: words only. static: words, and the meaning of texts by a table of word pieces,
# so that a question also finds claims that say the same with other words. minilm:DIR: in searches the meaning by the
# sentence model in this absolute directory (config.json, vocab.txt, model.safetensors), elsewhere the table; a process that
# searches loads the model, about 90 MB, and nothing leaves this machine. openai:URL#MODEL: the same by an OpenAI-compatible
# endpoint with this base address, such as openai:http://127.0.0.1:11434/v1#all-minilm; it gets the statements of claims and
# the words of searches. Neither is asked before a human allows it with `hm trust --vectors`.
# vectors = "off"

[patterns]
# Kinds that are not looked for: loop, handoff_loop, escalation_spiral, stall, contradiction_cluster, unstable_proof.
# off = []
# Commands with one of these words only wait for something, so that their repetition is no loop. The usual ones are known.
# polls = []
# A loop is the same command with the same answer this many times; at least 3. It takes 6 equal failures where a file was
# changed before each of these runs, and 10 equal passes of a command that does more than look.
# loop_repeats = 3
# A session that holds a task and shows no activity for this many minutes is stalled; at least 5, as often as the writer
# looks.
# stall_minutes = 30

[mirror]
# Where the writer keeps a copy of claims and decisions in Markdown, with a commit for each change: a directory of its
# own, absolute or relative to the project's root, or a branch. `hm mirror` begins it; until then these keys do nothing.
# to = ""
# branch = ""

[mining]
# Whether the writer proposes playbooks: steps that ended well in several tasks.
# playbooks = true
# Whether the writer proposes hypotheses about errors that come again.
# reflection = true
# Whether the writer proposes to merge claims that say the same.
# merges = true
"#;

/// The settings of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The agents of the team and their aliases.
    pub roster: Roster,
    /// The agent of a client's first pane when neither --agent nor HM_AGENT names one.
    pub clients: BTreeMap<Client, AgentId>,
    /// The settings that rules depend on.
    pub policy: Policy,
    /// The age at which a proposed claim moves to the end of contexts.
    pub stale_after: StaleAfter,
    /// The team's own secret patterns, compiled.
    pub own_secrets: Own,
    /// The same patterns as text, to pass to other processes.
    pub secret_patterns: Vec<String>,
    /// Whether the writer records the commits of the repository.
    pub git_index: bool,
    /// Whether the writer proposes playbooks.
    pub playbooks: bool,
    /// Whether the writer proposes hypotheses about errors that come again.
    pub reflection: bool,
    /// Where the writer keeps mirrors.
    pub mirror: MirrorKeys,
    /// Whether claims that say the same are proposed for a merge.
    pub merges: bool,
    /// Whether a guard may stop a tool call, and queue a run about a contested claim.
    pub allow_block: bool,
    /// How long an idle writer stays.
    pub idle_exit: Duration,
    /// The settings of the detectors of patterns.
    pub patterns: PatternPolicy,
    /// The policy of the memory.
    pub memory: MemoryPolicy,
    /// Why the file says nothing. Then the last policy on record stays in force.
    pub silence: Option<Silence>,
    /// What searches and contexts compare, whatever `model` does.
    pub vectors: Vectors,
    /// The model whose meanings searches compare besides.
    pub model: Option<Source>,
}

/// Why a file says nothing: no operator chose the defaults with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// It is not there.
    Missing,
    /// It holds no line, or comments only.
    Empty,
}

impl Silence {
    /// The way in which the operator accepts the defaults.
    pub const WAY_OUT: &str = "to accept the defaults, write a line `[policy]` into it";
}

impl std::fmt::Display for Silence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Missing => "missing",
            Self::Empty => "empty",
        })
    }
}

fn says_nothing(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// Path of the file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file is no TOML, or has an unknown key.
    #[error("{path} does not parse: {problem}")]
    Syntax {
        /// Path of the file.
        path: String,
        /// The error of the parser, with its place and the line of the file. What looks like a secret is masked.
        problem: String,
    },
    /// The roster contradicts itself.
    #[error("{path}: {source}")]
    Roster {
        /// Path of the file.
        path: String,
        /// The contradiction.
        source: BadRoster,
    },
    /// A client is assigned to an agent outside the roster.
    #[error("{path}: [clients]: {source}")]
    Client {
        /// Path of the file.
        path: String,
        /// The unknown agent.
        source: UnknownAgent,
    },
    /// Keys of the policy exclude each other.
    #[error("{path} line {line}: [policy] {problem}")]
    Policy {
        /// Path of the file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The keys, and the way out.
        problem: String,
    },
    /// A secret pattern cannot be used.
    #[error("{path}: {source}")]
    Privacy {
        /// Path of the file.
        path: String,
        /// The pattern, and why.
        source: BadPattern,
    },
}

impl ConfigError {
    /// The file and the place of the problem, without the text of the file.
    pub fn place(&self) -> String {
        match self {
            Self::Syntax { path, problem } => {
                // The lines after the first one quote the file.
                let at = problem.lines().next().unwrap_or_default();
                format!("{path} does not parse ({at})")
            }
            Self::Io { path, .. }
            | Self::Roster { path, .. }
            | Self::Client { path, .. }
            | Self::Privacy { path, .. } => format!("{path} cannot be used"),
            // The keys are words of ours.
            Self::Policy { .. } => self.to_string(),
        }
    }
}

impl Config {
    /// The settings of a workspace without a configuration.
    pub fn defaults() -> Self {
        let defaults = Self::of(File::default(), "", "").expect("the defaults fit each other");
        Self { silence: None, ..defaults }
    }

    /// The directory that a configuration names for the memory. `None` when it names none or does not parse;
    /// [`Config::load`] reports the latter.
    pub fn memory_of(path: &Path, root: &Path) -> Option<PathBuf> {
        let text = read(path).ok()?;
        // Most files have this section commented out. Those are parsed only once, by `load`.
        let mut sections = text.match_indices("[workspace]");
        sections.find(|(at, _)| {
            let before = text[..*at].trim_end_matches([' ', '\t']);
            before.is_empty() || before.ends_with('\n')
        })?;
        let file: File = toml::from_str(&text).ok()?;
        Some(file.workspace.memory)
            .filter(|memory| !memory.as_os_str().is_empty())
            .map(|memory| root.join(memory))
    }

    /// Reads a configuration. A missing file means the defaults.
    ///
    /// # Errors
    /// [`ConfigError`] with the file and the place.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let (file, text) = parsed(path)?;
        let silence = if path.exists() { Silence::Empty } else { Silence::Missing };
        let config = Self::of(file, &text, &path.display().to_string())?;
        Ok(Self { silence: config.silence.map(|_| silence), ..config })
    }

    /// The same settings with other secret patterns. Patterns that cannot be used change nothing.
    #[must_use]
    pub fn refusing(self, patterns: Vec<String>) -> Self {
        match Own::new(&patterns) {
            Ok(own_secrets) => Self { own_secrets, secret_patterns: patterns, ..self },
            Err(_) => self,
        }
    }

    /// The line of each key of `[policy]` in a configuration.
    ///
    /// # Errors
    /// As for [`Config::load`].
    pub fn policy_lines(path: &Path) -> Result<BTreeMap<String, usize>, ConfigError> {
        let (file, text) = parsed(path)?;
        Ok(file.policy.lines(&text))
    }

    fn of(file: File, text: &str, path: &str) -> Result<Self, ConfigError> {
        let shown = || path.to_owned();
        let memory = file.policy.policy(text).map_err(|conflict| ConfigError::Policy {
            path: shown(),
            line: conflict.line,
            problem: conflict.problem,
        })?;
        let roster = roster(&file.agents).map_err(|source| ConfigError::Roster { path: shown(), source })?;
        let own_secrets = Own::new(&file.privacy.patterns)
            .map_err(|source| ConfigError::Privacy { path: shown(), source })?;
        let QuorumKeys { supports, owner_counts, all_active } = file.quorum;
        Ok(Self {
            clients: clients(&roster, &file.clients)
                .map_err(|source| ConfigError::Client { path: shown(), source })?,
            roster,
            stale_after: file.stale_after_hours,
            own_secrets,
            allow_block: file.guards.allow_block,
            secret_patterns: file.privacy.patterns,
            policy: Policy {
                quorum: Quorum { supports, owner_counts, all_active },
                agents_may_override_operator: file.trust.agents_may_override_operator,
                ..Policy::default()
            },
            memory,
            silence: says_nothing(text).then_some(Silence::Empty),
            vectors: file.search.vectors.vectors,
            model: file.search.vectors.model,
            git_index: file.git.index,
            playbooks: file.mining.playbooks,
            reflection: file.mining.reflection,
            mirror: file.mirror,
            merges: file.mining.merges,
            // With less, the writer would leave before its first client connects.
            patterns: PatternPolicy {
                off: file.patterns.off,
                polls: file.patterns.polls,
                loop_repeats: file.patterns.loop_repeats.max(3),
                stall_minutes: file.patterns.stall_minutes.max(1),
            },
            idle_exit: Duration::from_secs(file.writer.idle_exit_minutes.clamp(1, MAX_IDLE_MINUTES) * 60),
        })
    }
}

/// Reads and parses a configuration. Also returns its text, empty for a missing file.
fn parsed(path: &Path) -> Result<(File, String), ConfigError> {
    let shown = || path.display().to_string();
    let text = match read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(source) => {
            return Err(ConfigError::Io { path: shown(), source });
        }
    };
    let file = toml::from_str(&text).map_err(|error: toml::de::Error| {
        let problem = redacted(&error.to_string(), &Secrets::default());
        let at = problem.lines().next().unwrap_or_default();
        // Only a file of the work tree is quoted.
        let problem = if place_of(path) == Place::InTree { problem } else { at.to_owned() };
        ConfigError::Syntax { path: shown(), problem }
    })?;
    Ok((file, text))
}

/// Where the file behind a path lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the work tree, or the path is none of a work tree.
    InTree,
    /// In the directory to which `.hivemind` is a link.
    Linked,
    /// Elsewhere, by a link in the place of the file.
    Elsewhere,
}

fn place_of(path: &Path) -> Place {
    let marker = path.parent().filter(|marker| marker.file_name().is_some_and(|name| name == MARKER));
    let Some((marker, tree)) = marker.and_then(|marker| Some((marker, marker.parent()?))) else {
        return Place::InTree;
    };
    let has_link = [path, marker].iter().any(|path| path.is_symlink());
    match has_link && private::is_outside(tree, path) {
        false => Place::InTree,
        true if private::is_outside(marker, path) => Place::Elsewhere,
        true => Place::Linked,
    }
}

/// Reads a configuration. The path comes from the repository and may lead to a device, a pipe or an endless file.
fn read(path: &Path) -> std::io::Result<String> {
    if place_of(path) == Place::Elsewhere {
        let problem = "it leads out of the work tree: put the file itself there";
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, problem));
    }
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "it is no regular file"));
    }
    let mut text = String::with_capacity(metadata.len().min(MAX_BYTES) as usize + 1);
    std::io::Read::read_to_string(
        &mut std::io::Read::take(std::fs::File::open(path)?, MAX_BYTES),
        &mut text,
    )?;
    if text.len() as u64 == MAX_BYTES {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "it is larger than 256 KiB"));
    }
    Ok(text)
}

/// The default agent of each client's first pane.
const CLIENT_AGENTS: [(Client, &str); 4] = [
    (Client::Claude, "architect"),
    (Client::Codex, "devops"),
    (Client::Gemini, "analyst"),
    (Client::Cursor, "frontend"),
];

fn clients(
    roster: &Roster,
    own: &BTreeMap<Client, String>,
) -> Result<BTreeMap<Client, AgentId>, UnknownAgent> {
    // Leaves out a default whose agent this team does not have.
    let defaults = CLIENT_AGENTS.into_iter();
    let mut clients: BTreeMap<Client, AgentId> =
        defaults.filter_map(|(client, name)| Some((client, roster.resolve(name).ok()?))).collect();
    for (client, name) in own {
        clients.insert(*client, roster.resolve(name)?);
    }
    Ok(clients)
}

fn roster(agents: &Agents) -> Result<Roster, BadRoster> {
    let own = agents.aliases.iter().map(|(alias, agent)| (alias.as_str(), agent.as_str()));
    match &agents.roster {
        None => Roster::new(Roster::DEFAULT_AGENTS, Roster::DEFAULT_ALIASES.into_iter().chain(own)),
        Some(names) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            // Leaves out built-in aliases of agents that this team does not have.
            let known = |agent: &str| agent == "operator" || names.contains(&agent);
            let built_in = Roster::DEFAULT_ALIASES
                .into_iter()
                .filter(|(alias, agent)| known(agent) && !names.contains(alias));
            Roster::new(names.iter().copied(), built_in.chain(own))
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{Config, TEMPLATE};
    use crate::domain::memory::MemoryEvent;
    use crate::domain::privacy::{Secrets, redacted};
    use crate::domain::rejection::Code;

    fn load(text: &str) -> Result<Config, String> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("config.toml");
        std::fs::write(&path, text).expect("a config file");
        Config::load(&path)
            .map_err(|error| error.to_string().replace(&path.display().to_string(), "config.toml"))
    }

    #[test]
    fn the_template_says_what_the_defaults_are() {
        assert_eq!(load(TEMPLATE), Ok(Config::defaults()));
        let uncommented: String = TEMPLATE
            .lines()
            .map(|line| line.strip_prefix("# ").filter(|rest| rest.contains(" = ")).unwrap_or(line))
            .filter(|line| !line.starts_with("data"))
            .flat_map(|line| [line, "\n"])
            .collect();
        assert_eq!(load(&uncommented), Ok(Config::defaults()));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let unknown = load("[quorum]\nsuports = 2\n").expect_err("a key nobody reads");
        assert!(unknown.contains("suports") && unknown.contains("line 2"), "{unknown}");
        let dangling = load("[agents.aliases]\ndata = \"sage\"\n").expect_err("an alias to nowhere");
        assert!(dangling.contains("`sage`"), "{dangling}");
    }

    #[test]
    fn own_patterns_are_compiled_and_bad_ones_named() {
        let config = load("[privacy]\npatterns = ['CORP-[0-9]{6}']\n").expect("a valid file");
        let secrets = Secrets { own: config.own_secrets, ..Secrets::default() };
        assert_eq!(redacted("badge CORP-123456 opens it", &secrets), "badge [redacted:own-1] opens it");
        let bad = ["CORP-(", "[a-z]*"]
            .map(|pattern| load(&format!("[privacy]\npatterns = ['x', '{pattern}']\n")).expect_err("bad"));
        expect![[r#"
            config.toml: [privacy] patterns: `CORP-(` is no regular expression: unclosed group
            config.toml: [privacy] patterns: `[a-z]*` matches the empty text, and so would refuse everything"#]].assert_eq(&bad.join("\n"));
    }

    #[test]
    fn mistakes_in_the_policy_are_named_with_line_and_reason() {
        let faults = [
            "[policy]\nwrite_policy = \"some\"\n",
            "[policy]\n\ndeny_event_types = [\"fact\", \"gossip\"]\n",
            "[policy]\nwrite_polcy = \"none\"\n",
            "[policy]\ntrust = 1\n",
            "[policy.retention.semantic]\nfact = \"decay 5 days\"\n",
            "[policy.retention.semantic]\ngossip = \"never\"\n",
            "[policy.retention.profile]\nfact = \"never\"\n",
            "[policy]\nallow_event_types = [\"fact\"]\ndeny_event_types = [\"fact\"]\n",
            "[policy.spaces]\nuser_keys = [\"lang*\", \"a*b\"]\n",
            "[policy.spaces]\nread = []\n",
            "[policy.promotion]\nuser_to_system = \"never\"\n",
            "[policy.promotion]\nuser_to_project = \"anyone\"\n",
            "[policy.promotion]\nuser_to_project = \"never\"\nsession_to_project = \"user_asserted\"\n",
            "[policy.phase]\nby_plan = 1\n",
        ];
        let mut told = String::new();
        for text in faults {
            let error = load(text).expect_err(text);
            let lines: Vec<&str> = error.lines().collect();
            let (first, last) = (lines[0], lines[lines.len() - 1]);
            told += &(if lines.len() > 1 { format!("{first} {last}\n") } else { format!("{first}\n") });
        }
        expect![[r#"
            config.toml does not parse: TOML parse error at line 2, column 16 `some` is no write policy: use one of none, minimal, normal, aggressive
            config.toml does not parse: TOML parse error at line 3, column 20 `gossip` is no event type: use one of preference, decision, fact, correction, execution, context
            config.toml does not parse: TOML parse error at line 2, column 1 unknown field `write_polcy`, expected one of `write_policy`, `allow_event_types`, `deny_event_types`, `trust`, `retention`, `spaces`, `promotion`, `phase`
            config.toml does not parse: TOML parse error at line 2, column 9 invalid type: integer `1`, expected a string
            config.toml does not parse: TOML parse error at line 2, column 8 `decay 5 days` is no term: write never, ttl N sessions, ttl N hours, decay N sessions or decay N hours, with N from 1 to 1000000
            config.toml does not parse: TOML parse error at line 2, column 1 `gossip` is no event type: use one of preference, decision, fact, correction, execution, context
            config.toml does not parse: TOML parse error at line 1, column 19 unknown field `profile`, expected `semantic`
            config.toml line 3: [policy] deny_event_types: `fact` is in allow_event_types too: take it out of one of the two
            config.toml does not parse: TOML parse error at line 2, column 13 `a*b` is no key: write a key of 1 to 64 characters, with a * at its end for every ending
            config.toml does not parse: TOML parse error at line 2, column 1 unknown field `read`, expected `user_keys`
            config.toml does not parse: TOML parse error at line 2, column 1 `user_to_system` is no promotion: use one of session_to_user, session_to_project, decision_to_project, user_to_project
            config.toml does not parse: TOML parse error at line 2, column 19 `anyone` is no authority: write user_asserted, tool_verified, system_imposed or never
            config.toml line 3: [policy] promotion.session_to_project: it is never below tool_verified: write tool_verified or a higher authority, or never
            config.toml does not parse: TOML parse error at line 2, column 11 invalid type: integer `1`, expected a boolean
        "#]]
        .assert_eq(&told);
    }

    #[test]
    fn a_denied_type_need_not_be_left_out_of_the_allowed_ones() {
        let config = load("[policy]\ndeny_event_types = [\"context\"]\n").expect("a valid file");
        assert!(!config.memory.allows(MemoryEvent::Context) && config.memory.allows(MemoryEvent::Fact));
        assert_eq!(
            load("[policy]\nallow_event_types = []\n").expect("a valid file").memory.closed(),
            Some(Code::EventTypeDenied)
        );
    }

    #[test]
    fn a_writer_stays_for_its_first_client() {
        let idle = |minutes: &str| {
            let config = load(&format!("[writer]\nidle_exit_minutes = {minutes}\n")).expect("a valid file");
            config.idle_exit.as_secs() / 60
        };
        assert_eq!([idle("0"), idle("30"), idle("9223372036854775807")], [1, 30, 525_600]);
    }

    #[test]
    fn a_client_is_an_agent_of_the_team() {
        let config = load("[clients]\ncodex = \"qa\"\n").expect("a valid file");
        let of = |client: &str| config.clients[&client.parse().expect("a client")].as_str().to_owned();
        assert_eq!([of("claude"), of("codex"), of("gemini")], ["architect", "reviewer", "analyst"]);
        let unknown = load("[clients]\nclaude = \"sage\"\n").expect_err("nobody");
        assert!(unknown.contains("[clients]") && unknown.contains("sage"), "{unknown}");
        let small = load("[agents]\nroster = [\"devops\"]\n").expect("a valid file");
        assert_eq!(small.clients.len(), 1);
    }

    #[test]
    fn an_own_roster_keeps_the_aliases_that_still_fit() {
        let config = load("[agents]\nroster = [\"devops\", \"sage\"]\n").expect("a valid file");
        assert_eq!(config.roster.resolve("infra").expect("an alias of devops").as_str(), "devops");
        assert!(config.roster.resolve("ana").is_err());
    }
}
