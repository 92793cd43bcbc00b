//! Who may do what: one table of requests over MCP and of verbs, by role. The page of `hm help roles`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::output;
use crate::identity::Role;
use crate::mcp;

/// Who may use a verb. A shell has no token, so its roles are those of its speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    /// Every process of the user: it reads, or it changes files that the user can change anyway.
    Anyone,
    /// A speaker: an agent, or the operator.
    Agent,
    /// A human at a terminal, or a script with a reason on record (`--operator-override`).
    Operator,
}

impl Who {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Anyone => "anyone",
            Self::Agent => "agent",
            Self::Operator => "operator",
        }
    }
}

use Who::{Agent, Anyone, Operator};

/// Every verb and who may use it. A second line of a verb names the option that needs more.
pub(super) const VERBS: &[(&str, Who)] = &[
    ("init", Anyone),
    ("uninit", Anyone),
    ("doctor", Anyone),
    ("demo", Anyone),
    ("serve", Anyone),
    ("serve --agent operator", Operator),
    ("web", Anyone),
    ("completions", Anyone),
    ("token add", Operator),
    ("token list", Anyone),
    ("token remove", Operator),
    ("trust", Operator),
    ("writer", Anyone),
    ("runner", Anyone),
    ("status", Anyone),
    ("statusline", Anyone),
    ("watch", Anyone),
    ("context", Anyone),
    ("context --trace", Agent),
    ("news", Anyone),
    ("attention", Anyone),
    ("attention --seen", Agent),
    ("review", Anyone),
    ("claim create", Agent),
    ("claim show", Anyone),
    ("claim why", Anyone),
    ("claim list", Anyone),
    ("claim search", Anyone),
    ("claim support", Agent),
    ("claim challenge", Agent),
    ("claim still", Agent),
    ("claim abstain", Agent),
    ("claim deprecate", Agent),
    ("claim keep", Operator),
    ("claim evidence", Agent),
    ("claim mended", Agent),
    ("claim merge", Agent),
    ("claim apart", Agent),
    ("claim withdraw", Agent),
    ("claim retract-evidence", Agent),
    ("decision amend", Agent),
    ("decision record", Agent),
    ("decision outcome", Agent),
    ("decision show", Anyone),
    ("decision list", Anyone),
    ("contradictions", Anyone),
    ("contradictions show", Anyone),
    ("pattern list", Anyone),
    ("pattern show", Anyone),
    ("pattern dismiss", Agent),
    ("target alias", Operator),
    ("target part", Operator),
    ("target list", Anyone),
    ("guard list", Anyone),
    ("guard show", Anyone),
    ("guard why", Anyone),
    ("guard accept", Agent),
    ("guard mute", Operator),
    ("intent", Agent),
    ("plan add", Agent),
    ("plan rename", Agent),
    ("plan abandon", Agent),
    ("plan show", Anyone),
    ("phase add", Agent),
    ("task add", Agent),
    ("task list", Anyone),
    ("task show", Anyone),
    ("task ready", Anyone),
    ("task claim", Agent),
    ("task update", Agent),
    ("task done", Agent),
    ("lock", Agent),
    ("anchor save", Agent),
    ("anchor retire", Agent),
    ("anchor list", Anyone),
    ("memory list", Anyone),
    ("memory show", Anyone),
    ("memory promote", Agent),
    ("memory phase start", Agent),
    ("memory diff", Anyone),
    ("trace list", Anyone),
    ("trace show", Anyone),
    ("playbook list", Anyone),
    ("playbook show", Anyone),
    ("playbook accept", Agent),
    ("playbook dismiss", Agent),
    ("playbook export", Anyone),
    ("calibration", Anyone),
    ("policy show", Anyone),
    ("policy check", Anyone),
    ("session start", Agent),
    ("session end", Agent),
    ("session turn", Agent),
    ("session split", Agent),
    ("session spawn", Agent),
    ("session list", Anyone),
    ("session show", Anyone),
    ("session turn0", Anyone),
    ("belief snapshot", Agent),
    ("belief show", Anyone),
    ("hook", Agent),
    ("experiment run", Agent),
    ("experiment run --thread-id", Operator),
    ("experiment record", Operator),
    ("experiment list", Anyone),
    ("experiment show", Anyone),
    ("experiment attach", Agent),
    ("experiment cancel", Agent),
    ("profile list", Anyone),
    ("profile show", Anyone),
    ("profile check", Anyone),
    ("profile trust", Operator),
    ("profile untrust", Operator),
    ("log", Anyone),
    ("verify", Anyone),
    ("rebuild", Anyone),
    ("export", Anyone),
    ("mirror", Anyone),
    ("mirror diff", Anyone),
    ("mirror diff --propose", Operator),
    // Anyone fills an empty memory.
    ("import", Operator),
    ("import --as-is", Operator),
    ("import-notes", Agent),
    ("import-notes --dry-run", Anyone),
    ("backfill", Operator),
    ("forget", Operator),
    ("repair", Operator),
    ("backup", Anyone),
    ("options", Anyone),
    ("agent", Anyone),
    ("roles", Anyone),
    ("verbs", Anyone),
];

/// What the token of a role may do, in one line.
pub(super) fn of_token(role: Role) -> String {
    let above: Vec<&str> = match role {
        Role::Viewer => return "reads".to_owned(),
        Role::Agent => {
            mcp::requests().iter().filter(|(_, needed)| *needed > role).map(|(name, _)| *name).collect()
        }
        Role::Admin => Vec::new(),
    };
    let but = if above.is_empty() { String::new() } else { format!(" but {}", above.join(", ")) };
    format!("reads, and calls every tool{but}")
}

/// The verbs of a shell by who may use them, in the order of the table.
fn by_who() -> BTreeMap<Who, Vec<&'static str>> {
    VERBS.iter().fold(BTreeMap::new(), |mut all: BTreeMap<_, Vec<_>>, (verb, who)| {
        all.entry(*who).or_default().push(*verb);
        all
    })
}

/// The page.
pub(super) fn page() -> String {
    // A verb of two words stays on its line.
    let wrapped = |lead: &str, names: &[&str]| {
        let names = names.join(",\n").replace(' ', "\u{a0}").replace('\n', " ");
        output::wrapped(lead, "            ", &names).replace('\u{a0}', " ")
    };
    let said = |text: &str| output::wrapped("", "", text);
    let mut page = said(
        "Over MCP and HTTP, by the role of the token (hm token add --role); a pane without a token is an agent, and one \
         of the operator an admin. A role may also do what the roles above it may.",
    );
    for role in [Role::Viewer, Role::Agent, Role::Admin] {
        let names: Vec<&str> =
            mcp::requests().into_iter().filter(|(_, needed)| *needed == role).map(|(name, _)| name).collect();
        page.push_str(&wrapped(&format!("  {:<10}", role.as_str()), &names));
    }
    page.push('\n');
    page.push_str(&said(
        "On the pages for people (hm serve --http, at /web/) every token reads, and one of the operator (role admin) acts.",
    ));
    page.push('\n');
    page.push_str(&said(
        "In a shell, by who speaks (--agent, HM_AGENT, the session of a client). The operator is a human at a terminal, \
         or a script that gives a reason (--operator-override), which goes on record.",
    ));
    for (who, verbs) in by_who() {
        page.push_str(&wrapped(&format!("  {:<10}", who.as_str()), &verbs));
    }
    page.push('\n');
    page.push_str(&said(
        "What the operator decided, agents can only propose to change: hm review. Guards are accepted by the architect \
         and the operator.",
    ));
    page
}

/// The table for programs.
pub(super) fn json() -> Value {
    let requests: Vec<Value> = mcp::requests()
        .into_iter()
        .map(|(name, needed)| json!({ "request": name, "role": needed }))
        .collect();
    let verbs: Vec<Value> =
        VERBS.iter().map(|(verb, who)| json!({ "verb": verb, "who": who.as_str() })).collect();
    json!({ "requests": requests, "verbs": verbs })
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};
    use expect_test::expect;

    use super::{VERBS, of_token};
    use crate::cli::Cli;
    use crate::identity::Role;

    fn leaves(command: &Command, path: &str, found: &mut Vec<String>) {
        let verbs: Vec<&Command> = command.get_subcommands().collect();
        if verbs.is_empty() || !command.is_subcommand_required_set() {
            found.push(path.trim_start().to_owned());
        }
        for verb in verbs {
            leaves(verb, &format!("{path} {}", verb.get_name()), found);
        }
    }

    #[test]
    fn the_table_has_every_verb_and_no_other() {
        let mut found = Vec::new();
        leaves(&Cli::command(), "", &mut found);
        let mut listed: Vec<String> = VERBS
            .iter()
            .filter(|(verb, _)| !verb.contains(" --"))
            .map(|(verb, _)| (*verb).to_owned())
            .collect();
        found.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, found);
        for (verb, _) in VERBS {
            let (verb, option) = verb.split_once(" --").unwrap_or((verb, ""));
            assert!(option.is_empty() || found.iter().any(|leaf| leaf == verb), "{verb}");
        }
    }

    #[test]
    fn a_token_is_described_by_the_table() {
        let told = [Role::Viewer, Role::Agent, Role::Admin].map(of_token);
        expect![[r#"
            reads
            reads, and calls every tool but alias_target, part_target
            reads, and calls every tool"#]]
        .assert_eq(&told.join("\n"));
    }
}
