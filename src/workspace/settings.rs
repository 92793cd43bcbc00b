//! The settings of a workspace, and the secret patterns that outlive `config.toml`.

use std::io;
use std::path::PathBuf;

use super::{MARKER, Workspace};
use crate::config::{Config, ConfigError, Source};
use crate::domain::decide::Policy;
use crate::domain::policy::MemoryPolicy;
use crate::private;

/// The file of the kept patterns, as a JSON list.
const KEPT: &str = "secret-patterns.json";
/// The file with the model for search that a person allowed.
const ALLOWED_MODEL: &str = "search-model";
/// The file with the looser rules that a person allowed.
const ALLOWED_RULES: &str = "rules";
/// The line of that file after the model, if the model gets the key of the environment.
const WITH_KEY: &str = "with key";

/// The line of the file of allowed rules after the rules, if guards may stop tools.
const WITH_BLOCK: &str = "guards block";

/// Rules of config.toml that wait until a person allows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingRules {
    /// The rules of the file.
    pub wanted: Policy,
    /// The stricter ones that hold until then.
    pub in_force: Policy,
    /// Whether the file lets guards block, and no person allowed that yet.
    pub block: bool,
}

impl WaitingRules {
    /// The command by which a person allows them.
    pub const ALLOW: &str = "hm trust --rules";
}

impl std::fmt::Display for WaitingRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { wanted, in_force, block } = self;
        let is_looser = wanted != in_force;
        if is_looser {
            write!(
                f,
                "config.toml asks for looser rules, which wait for a person: {wanted}; in force: {in_force}"
            )?;
        }
        if *block {
            let between = if is_looser { "; " } else { "" };
            write!(
                f,
                "{between}config.toml lets guards stop tools ([guards] allow_block = true), which waits for a person; until then \
                 they only warn"
            )?;
        }
        Ok(())
    }
}

impl Workspace {
    /// The settings of `config.toml`. While the file says nothing, the last secret patterns stay in force.
    ///
    /// # Errors
    /// As for [`Config::load`].
    pub fn settings(&self) -> Result<Config, ConfigError> {
        let config = Config::load(&self.config())?;
        Ok(if config.silence.is_some() { config.refusing(self.kept_patterns()) } else { config })
    }

    /// The path of the `config.toml` whose policy is in force: that of the main work tree, or of this one.
    pub fn ruling_config(&self) -> PathBuf {
        self.rules().join(MARKER).join("config.toml")
    }

    /// The policy of the main work tree, which is in force in all of them. None in that work tree itself, and while its
    /// file says nothing or has a fault.
    pub fn ruling_policy(&self) -> Option<MemoryPolicy> {
        let file = self.ruling_config();
        if self.config() == file {
            return None;
        }
        let ruling = Config::load(&file).ok()?;
        ruling.silence.is_none().then_some(ruling.memory)
    }

    /// The `config.toml` of this linked work tree, if its policy is not the one in force.
    pub fn idle_config(&self, in_force: &MemoryPolicy) -> Option<PathBuf> {
        let file = self.config();
        let is_idle = file != self.ruling_config()
            && Config::load(&file)
                .is_ok_and(|config| config.silence.is_none() && config.memory.hash() != in_force.hash());
        is_idle.then_some(file)
    }

    /// Keeps the own secret patterns of a configuration. They lie outside the memory: an export takes them nowhere.
    ///
    /// # Errors
    /// The error of the file system.
    pub(crate) fn keep_patterns(&self, patterns: &[String]) -> io::Result<()> {
        let Some(file) = self.kept_patterns_file() else { return Ok(()) };
        if self.kept_patterns() == patterns {
            return Ok(());
        }
        private::create_dir_all(file.parent().unwrap_or(&file))?;
        private::replace(&file, &serde_json::to_vec(patterns)?)
    }

    /// Whether a person allowed exactly this model for search. The record lies outside the repository, because
    /// config.toml may come with a clone.
    pub fn allows_model(&self, source: &Source) -> bool {
        self.allowed_model().lines().next() == Some(source.to_string().as_str())
    }

    /// Whether a person allowed that this model gets the key of the environment, too.
    pub fn allows_key(&self, source: &Source) -> bool {
        self.allows_model(source) && self.allowed_model().lines().nth(1) == Some(WITH_KEY)
    }

    /// Allows this model for search, and no other one. `None` ends the permission.
    ///
    /// # Errors
    /// The error of the file system; `NotFound` when the workspace has no memory yet.
    pub fn allow_model(&self, source: Option<&Source>, with_key: bool) -> io::Result<()> {
        let nowhere = "there is no memory yet to allow it for: run `hm init` first";
        let dir = self.own_state().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, nowhere))?;
        private::create_dir_all(&dir)?;
        let key = if with_key { format!("{WITH_KEY}\n") } else { String::new() };
        let text = source.map(|source| format!("{source}\n{key}")).unwrap_or_default();
        private::replace(&dir.join(ALLOWED_MODEL), text.as_bytes())
    }

    fn allowed_model(&self) -> String {
        let text = self.own_state().and_then(|dir| private::read_to_string(&dir.join(ALLOWED_MODEL)).ok());
        text.unwrap_or_default()
    }

    /// The rules that hold where config.toml asks for `wanted`, after those `recorded` last: a rule that is looser than
    /// its default, or than the recorded one, holds only if a person allowed these rules, or allowed looser ones that held
    /// last.
    pub fn rules_in_force(&self, wanted: Policy, recorded: &Policy) -> Policy {
        let allowed = self.allowed_rules_file().and_then(|file| private::read_to_string(&file).ok());
        let allowed = allowed.map(|allowed| Policy::recorded(allowed.lines().next().unwrap_or_default()));
        let is_within = |limit: &Policy| !wanted.is_looser_than(limit);
        if allowed.is_some_and(|allowed| allowed == wanted || is_within(&allowed) && is_within(recorded)) {
            return wanted;
        }
        wanted.tightened_by(recorded).tightened_by(&Policy::default())
    }

    /// The rules of config.toml that wait for a person, if any do, with those that hold until then.
    pub fn waiting_rules(&self, recorded: Policy) -> Option<WaitingRules> {
        let config = Config::load(&self.config()).ok()?;
        let wanted = if config.silence.is_some() { recorded } else { config.policy };
        let in_force = self.rules_in_force(wanted, &recorded);
        let block = config.allow_block && !self.allows_block();
        (in_force != wanted || block).then_some(WaitingRules { wanted, in_force, block })
    }

    /// Whether a person allowed that guards stop tools.
    pub fn allows_block(&self) -> bool {
        let allowed = self.allowed_rules_file().and_then(|file| private::read_to_string(&file).ok());
        allowed.is_some_and(|allowed| allowed.lines().nth(1) == Some(WITH_BLOCK))
    }

    /// Whether guards stop tools here: the configuration says so, and a person allowed it.
    pub fn blocks(&self, config: &Config) -> bool {
        config.allow_block && self.allows_block()
    }

    /// Allows these rules, and no other ones that are looser; with `block`, also that guards stop tools.
    ///
    /// # Errors
    /// The error of the file system; `NotFound` when the workspace has no memory yet.
    pub fn allow_rules(&self, rules: &Policy, block: bool) -> io::Result<()> {
        let nowhere = "there is no memory yet to allow them for: run `hm init` first";
        let file =
            self.allowed_rules_file().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, nowhere))?;
        private::create_dir_all(file.parent().unwrap_or(&file))?;
        let block = if block { format!("{WITH_BLOCK}\n") } else { String::new() };
        private::replace(&file, format!("{rules}\n{block}").as_bytes())
    }

    /// The file with the rules that a person allowed.
    pub(crate) fn allowed_rules_file(&self) -> Option<PathBuf> {
        Some(self.own_state()?.join(ALLOWED_RULES))
    }

    fn kept_patterns(&self) -> Vec<String> {
        let kept = self.kept_patterns_file().and_then(|file| private::read(&file).ok());
        kept.and_then(|kept| serde_json::from_slice(&kept).ok()).unwrap_or_default()
    }

    fn kept_patterns_file(&self) -> Option<PathBuf> {
        Some(self.own_state()?.join(KEPT))
    }
}
