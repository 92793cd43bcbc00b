//! `hm watch`: shows the memory in a terminal.

use clap::Args;

use super::Context;
use super::output::{self, Failure};
use crate::watch::{self, Memory};

/// Help text below the arguments.
pub(super) const HELP: &str = "\
Left is who works on what, in the middle what needs somebody, right what happens. ? shows the keys. A human at a terminal
also acts there as the operator: each key shows its command and asks first. The screen follows the ledger.

Examples:
  hm watch
  hm watch --at 2h";

#[derive(Debug, Args)]
pub(super) struct Watch {
    /// Show no colours (env NO_COLOR)
    #[arg(long)]
    no_color: bool,
}

impl Watch {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        if context.global.json {
            return Err(Failure::usage(
                "hm watch is for people: `hm attention --json` and `hm log --json` are for programs",
            ));
        }
        if !output::can_ask() {
            return Err(Failure::usage(
                "hm watch needs a terminal: type it in one, or read hm status, hm attention and hm log --follow",
            ));
        }
        // Who may not act may look. An override whose record fails is an error.
        let may_act = context.operator("watch");
        if let (Err(_), true) = (&may_act, context.global.operator_override.is_some()) {
            return may_act;
        }
        // A moment that nobody knows is refused before the screen opens.
        drop(context.models()?);
        let program = std::env::current_exe().map_err(Failure::internal)?;
        let why = context.global.operator_override.clone();
        let memory = Memory {
            workspace: context.workspace.clone(),
            config: context.config.clone(),
            state_home: context.environment.state_home.clone(),
            user: context.user(),
            acts: may_act.is_ok().then_some((program, why)),
            at: context.global.at.clone(),
            colours: !self.no_color && !context.environment.no_color,
        };
        watch::run(memory, context.front()?).map_err(Failure::internal)
    }
}
