//! Help pages. Each fits a screen; the options of every verb have a page of their own.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Args, Command, CommandFactory, FromArgMatches};

use super::{Cli, Global};

/// The page of `hm` itself: its verbs, grouped by purpose.
pub(super) const VERBS: &str = "\
{about}

Usage: hm <VERB>; of one verb: hm VERB --help; options of every verb: hm help options

Know
  context         What an agent should know now; attention: what needs you; status: how the workspace is doing
  news            What is new for you, or with --wait 5m what comes next (poll no list)
Claims
  claim           State claims, find them (search, list, show, why), take positions on them
  decision        Record decisions and what became of them; target: what they are about
  contradictions  What contradicts what; belief: what agents held to be right
  experiment      Settle a claim by a run; profile: the commands that may be run
Work
  task            Take tasks and say how they go; plan, phase: what the tasks belong to
  lock            Ask the others to leave a path, a tag or the machine alone for some minutes
  intent          Say what is wanted now; anchor: keep facts where no compaction loses them
  session         What sessions did and said; log: every event; pattern, guard: loops, warnings
Set up
  init, uninit, doctor, demo, trust, policy, serve, token, hook, writer
Look after
  verify, rebuild, backup, export, import, backfill, forget, repair

Example: hm claim search connection pool
Start with: hm init, then hm demo
";

/// The page of any other verb.
const PAGE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{all-args}{after-help}
Options of every verb: hm help options
";

/// The verb and options of this command line.
pub(super) fn parsed(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = with_pages(Cli::command()).help_template(VERBS);
    let mut matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|problem| problem.format(&mut command))
}

/// Gives a command and its subcommands our help pages. No page spends a line on `--help`.
fn with_pages(command: Command) -> Command {
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help).hide(true).help("Print help");
    let command = command.help_template(PAGE).disable_help_flag(true).arg(help);
    command.mut_subcommands(with_pages)
}

/// The page of the options that every verb takes.
pub(super) fn options() -> String {
    let mut page = "Options of every verb:\n".to_owned();
    for option in Global::augment_args(Command::new("hm")).get_arguments() {
        let name = option.get_long().unwrap_or_default();
        let value = option.get_value_names().filter(|_| option.get_action().takes_values());
        let value = value.and_then(<[_]>::first).map(|value| format!(" <{value}>")).unwrap_or_default();
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        page.push_str(&format!("  --{name}{value}\n      {help}\n"));
    }
    page + "  -h, --help\n      Show what a verb does, and its own options\n"
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{VERBS, options};
    use crate::cli::Cli;

    /// The page of `hm` lists verbs by hand.
    #[test]
    fn the_first_page_names_every_verb() {
        let command = Cli::command();
        let named: Vec<&str> = VERBS.split([' ', ',', ':', ';', '\n']).collect();
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            assert!(named.contains(&verb.get_name()), "{} is missing", verb.get_name());
        }
        for option in command.get_arguments().filter(|option| option.is_global_set()) {
            let name = option.get_long().expect("a name");
            assert!(options().contains(&format!("--{name}")), "{name} is missing");
        }
    }
}
