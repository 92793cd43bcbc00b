//! Help pages. Each fits a screen: `-h` shows what most calls need, `--help` all of a verb. The options of every verb
//! stand on the page of `hm`.

mod fit;

use std::ffi::OsString;
use std::io::IsTerminal;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Args, Command, CommandFactory, FromArgMatches};

use super::{Cli, Global, mistakes, output, roles};
use crate::system;

/// The page of `hm` itself: its verbs, grouped by purpose.
pub(super) const VERBS: &str = "\
{about}
Usage: hm <VERB>; more: hm VERB -h, --help. Agents start with: hm help agent
Know
  context         What an agent should know; attention: what needs you; status
  news            What is new for you, or comes next (--wait 5m); watch: live
Claims
  claim           State, find (search, list, show, why) and answer claims
  decision        Record decisions and how they ended; target: their subjects
  contradictions  What contradicts what; belief, calibration: what agents held
  experiment      Settle a claim by a run; profile: what may be run
Work
  task            Take tasks, say how they go; plan, phase: what they belong to
  lock            Ask the others to leave a path, a tag or the machine alone
  intent          Say what is wanted now; anchor: keep facts under keys
  session         What sessions did; log: events; pattern, guard, playbook
Set up
  init, uninit, import-notes, doctor, demo, trust, policy, serve, web, token
  hook, writer, statusline, completions
Look after
  verify, rebuild, backup, export, import, mirror, backfill, forget, memory
  trace, review, repair
For every verb: --json, --agent NAME, --dir PATH, --at TIME (hm help options)
Example: hm claim search connection pool; in a new project: hm init, hm demo
";

/// The page of [`agent`].
const AGENT: &str = "\
hm is the memory of your team. C47 is a claim, T7 a task, R11 a run: each name goes into any verb.

Know    hm news  what is new for you; hm news --wait 5m (poll no list)
        hm context --intent \"mend the pool\"  what the team knows about it
Find    hm claim search connection pool
        hm claim show C47 C48  whole, with reasons; hm claim list --scope src/db
        hm decision list  the design in force; hm claim list --status deprecated  what is over
Say     hm claim create \"the pool holds 20\" --scope src/db/pool.rs --ask NAME  asks for its position
        hm claim create \"merged, 42 tests pass\" --tell NAME  told at once, no answer wanted
        hm claim create \"a retry deadlocks\" --type negative --scope src/db --trigger-path src/db/retry.rs
        hm claim create \"it no longer leaks\" --supersedes C47 --mends
Answer  hm claim support C47 C48 \"I counted\"
        hm claim challenge C47 \"it is 50 since v2\" --evidence last
        hm claim withdraw C47 \"I misread\"  your own claim, or your position on another
Decide  hm decision record \"one file\" --target storage --rationale \"no server to run\" --not-chosen \"Postgres: a server\"
        hm decision amend C12 --replace \"5 s\" --with \"2 s\" --rationale \"5 s blocks the page\"
Work    hm task add \"mend the pool\" --scope src/db --for NAME
        hm task claim T7  hold it; then hm task done T7 \"42 tests\"
        hm lock src/db tag:cpu --for 10m --why \"a migration\"; hm lock --release tag:cpu
Prove   hm profile list; hm experiment run PROFILE --claim C47
Open    hm attention  what waits for you, and the command that settles each

The last command or run is the evidence `last`, and `last:WORD` the last command with that word.
More options: create and record --scope, --ask NAME, --supersedes C47, each also repeated; record --not-chosen,
repeated; task add --description, --after T3; create, support, challenge --evidence last.
";

/// What the usage on a page begins with.
const USAGE: &str = "Usage: ";

/// The page of any other verb.
const PAGE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{all-args}{after-help}
";

/// The verb and options of this command line.
pub(super) fn parsed(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let words: Vec<OsString> = words.into_iter().collect();
    let width = output::page_columns();
    let mut command = with_pages_of(&words, width, None);
    let again = |problem: clap::Error, width: usize, usage: Option<&str>| {
        with_pages_of(&words, width, usage).try_get_matches_from(&words).err().unwrap_or(problem)
    };
    let mut matches = match command.try_get_matches_from_mut(&words) {
        Ok(matches) => matches,
        Err(problem) if problem.kind() == ErrorKind::DisplayHelp && width > 0 => {
            let page = problem.to_string();
            let usage = page.lines().find_map(|line| line.strip_prefix(USAGE));
            let Some(usage) = usage.filter(|usage| USAGE.len() + usage.len() > width) else {
                return Err(problem);
            };
            let usage = output::wrapped_in(width, USAGE, "    ", usage);
            return Err(again(problem, width, usage.trim_end().strip_prefix(USAGE)));
        }
        // The page of a verb that lacks its own verb goes to stderr.
        Err(problem)
            if problem.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                && width == 0
                && std::io::stderr().is_terminal() =>
        {
            return Err(again(problem, output::stderr_columns(), None));
        }
        Err(problem) => return Err(mistakes::with_line(problem, &words, &command)),
    };
    Cli::from_arg_matches_mut(&mut matches).map_err(|problem| problem.format(&mut command))
}

/// The verbs with the help pages that a command line can ask for, `width` columns wide. `usage` takes the place of the usage
/// that it has lines for, because clap wraps none.
fn with_pages_of(words: &[OsString], width: usize, usage: Option<&str>) -> Command {
    let is_brief = words.iter().take_while(|word| *word != "--").any(|word| word == "-h");
    let mut command = with_pages(Cli::command(), "hm", &Asked { words, is_brief, width, usage })
        .help_template(first_page(width))
        .term_width(width);
    // These pages cost more than a verb that does not show them.
    let pages = ["roles", "options", "verbs", "agent"];
    for name in pages.into_iter().filter(|name| words.iter().any(|word| word == name)) {
        let page = match name {
            "roles" => roles::page(),
            "options" => options(),
            "verbs" => verbs(),
            _ => agent(),
        };
        command = command.mut_subcommand(name, |verb| verb.override_help(page));
    }
    command
}

/// The page that a command line can ask for.
struct Asked<'w> {
    words: &'w [OsString],
    is_brief: bool,
    /// Columns of the terminal. 0 without one.
    width: usize,
    /// The usage in lines that fit, if it has several.
    usage: Option<&'w str>,
}

/// The page of `hm`: in the shell of a client of agents that of an agent, which would open that page next.
fn first_page(width: usize) -> String {
    if system::session_variable().is_none() {
        return fit::fitted(VERBS, width);
    }
    format!("This is `hm help agent`; verbs for people: hm help verbs\n{}", fit::fitted(AGENT, width))
}

/// All verbs, grouped by purpose.
pub(super) fn verbs() -> String {
    let about = Cli::command().get_about().map(ToString::to_string).unwrap_or_default();
    fit::fitted(&VERBS.replace("{about}", &about), output::page_columns())
}

/// What an agent needs, on one page.
pub(super) fn agent() -> String {
    fit::fitted(AGENT, output::page_columns())
}

/// Gives a command and its subcommands our help pages. No page spends a line on `--help`, and long pages have the
/// form of short ones: an option in a line. The page of a group has one short line for each verb: only a verb among the
/// `words` of the command line says more.
fn with_pages(command: Command, line: &str, asked: &Asked<'_>) -> Command {
    let Asked { words, is_brief, width, usage } = *asked;
    let help =
        Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).hide(true).help("Print help");
    let command = command.disable_help_flag(true).disable_help_subcommand(line != "hm");
    let is_cut = command.get_long_about().is_some()
        || command.get_after_long_help().is_some()
        || command.get_arguments().any(Arg::is_hide_short_help_set);
    let is_named = |name: &str| line == "hm" || words.iter().any(|word| word == name);
    let is_listed = !is_named(command.get_name()) && !command.get_all_aliases().any(is_named);
    let command = match is_brief {
        _ if is_listed => command.long_about(None::<&'static str>).help_template(PAGE),
        true if is_cut => command.help_template(format!("{PAGE}All of it: {line} --help\n")),
        true => command.help_template(PAGE),
        false => whole(command.help_template(PAGE)),
    };
    let command = match command
        .get_after_help()
        .filter(|_| width > 0)
        .map(|text| fit::fitted(&text.to_string(), width))
    {
        Some(after) => command.after_help(after),
        None => command,
    };
    let command = match usage.filter(|usage| usage.starts_with(&format!("{line} "))) {
        Some(usage) => command.override_usage(usage.to_owned()),
        None => command,
    };
    command.arg(help).mut_subcommands(|verb| {
        let line = format!("{line} {}", verb.get_name());
        with_pages(verb, &line, asked)
    })
}

/// A command whose page shows all its arguments and texts. What follows the first paragraph of its text takes the place
/// of that paragraph.
fn whole(command: Command) -> Command {
    let about = command.get_long_about().map(ToString::to_string);
    let about = about.and_then(|about| Some(about.split_once("\n\n")?.1.to_owned()));
    let more = command.get_after_long_help().map(|more| match command.get_after_help() {
        Some(example) => format!("{more}\n{example}"),
        None => more.to_string(),
    });
    let none = None::<&'static str>;
    let mut command =
        command.long_about(none).after_long_help(none).mut_args(|argument| argument.hide_short_help(false));
    if let Some(about) = about {
        command = command.about(about);
    }
    if let Some(more) = more {
        command = command.after_help(more);
    }
    command
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
    page.push_str("  -h, --help\n      Show what a verb does, and its own options\n");
    fit::fitted(&page, output::page_columns())
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::{AGENT, VERBS, options};
    use crate::cli::Cli;

    /// Every line of the agent's page parses.
    #[test]
    fn the_page_of_an_agent_is_short_and_its_lines_parse() {
        assert!(AGENT.chars().count() <= 2_000, "{}", AGENT.chars().count());
        let lines = AGENT.lines().flat_map(|line| line.split_inclusive("; ")).filter_map(|line| {
            let line = line.split_once("hm ").filter(|_| !line.starts_with(['h', 'T']))?.1;
            Some(line.split("  ").next().unwrap_or_default().trim_end_matches([' ', ';']))
        });
        let mut count = 0;
        for line in lines {
            let line = line.split(" (").next().unwrap_or_default();
            let words = shell_words::split(&format!("hm {line}")).expect("words");
            assert!(Cli::try_parse_from(&words).is_ok(), "{line}");
            count += 1;
        }
        assert!(count >= 18, "{count}");
    }

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
