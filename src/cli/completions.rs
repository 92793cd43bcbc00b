//! `hm completions`: the script with which a shell completes verbs and options.

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::aot::{Bash, Fish, Zsh, generate};
use serde_json::json;

use super::output::{self, Failure};
use super::{Cli, Global};

/// Help text below the arguments.
pub(super) const HELP: &str = "\
Make the directory first where it is missing: mkdir -p DIRECTORY.

Examples:
  hm completions bash > ~/.local/share/bash-completion/completions/hm
  hm completions zsh > ~/.zfunc/_hm  # fpath+=~/.zfunc before compinit in ~/.zshrc
  hm completions fish > ~/.config/fish/completions/hm.fish";

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Completions {
    pub(super) fn run(&self, global: &Global) -> Result<(), Failure> {
        let (mut command, mut script) = (Cli::command(), Vec::new());
        match self.shell {
            Shell::Bash => generate(Bash, &mut command, "hm", &mut script),
            Shell::Zsh => generate(Zsh, &mut command, "hm", &mut script),
            Shell::Fish => generate(Fish, &mut command, "hm", &mut script),
        }
        let script = String::from_utf8(script).map_err(Failure::internal)?;
        output::print(global.json, &script, &json!({ "script": script }))
    }
}
