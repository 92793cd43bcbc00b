//! Steps that hints name, as the command line types them: for each tool its verb, for each address the verb that
//! shows it.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::domain::scope::{FROM_ROOT, Scope};

/// How an argument of a tool is given to its verb.
#[derive(Debug, Clone, Copy)]
pub(crate) enum As {
    /// By its place, in the order of the table.
    Place,
    /// After this option, which is repeated for each entry of a list.
    Option(&'static str),
    /// As this flag.
    Flag(&'static str),
}

use As::{Flag, Option as After, Place};

pub(crate) type Verb = (&'static str, &'static str, &'static [(&'static str, As)]);

const POSITION: &[(&str, As)] =
    &[("claim_id", Place), ("reason", After("--reason")), ("evidence_ref", After("--evidence"))];

/// A tool, its verb, and the arguments that hints give.
pub(crate) const VERBS: &[Verb] = &[
    ("abstain", "claim abstain", POSITION),
    ("accept_playbook", "playbook accept", &[("playbook_id", Place)]),
    (
        "add_evidence",
        "claim evidence",
        &[("claim_id", Place), ("evidence_ref", After("--ref")), ("relation", After("--relation"))],
    ),
    ("add_phase", "phase add", &[("title", Place), ("plan_id", After("--plan"))]),
    ("add_plan", "plan add", &[("title", Place)]),
    ("add_task", "task add", &[("title", Place), ("phase_id", After("--phase"))]),
    ("alias_target", "target alias", &[("target", Place), ("alias", Place)]),
    ("attach_experiment", "experiment attach", &[("run_id", Place), ("claim_id", Place)]),
    ("cancel_experiment", "experiment cancel", &[("run_id", Place)]),
    ("challenge", "claim challenge", POSITION),
    ("claim_task", "task claim", &[("task_id", Place)]),
    (
        "create_claim",
        "claim create",
        &[
            ("statement", Place),
            ("claim_type", After("--type")),
            ("scopes", After("--scope")),
            ("supersedes", After("--supersedes")),
            ("mends", Flag("--mends")),
            ("origin_task_id", After("--task")),
            ("trigger.commands", After("--trigger-command")),
            ("trigger.error_signature", After("--trigger-error")),
            ("trigger.paths", After("--trigger-path")),
        ],
    ),
    (
        "declare_intent",
        "intent",
        &[("intent", Place), ("plan_id", After("--plan")), ("team", Flag("--team"))],
    ),
    ("deprecate_claim", "claim deprecate", &[("claim_id", Place), ("reason", After("--reason"))]),
    ("dismiss_playbook", "playbook dismiss", &[("playbook_id", Place), ("reason", After("--reason"))]),
    (
        "lock",
        "lock",
        &[
            ("release", Flag("--release")),
            ("scopes", Place),
            ("minutes", After("--for")),
            ("why", After("--why")),
        ],
    ),
    (
        "promote_item",
        "memory promote",
        &[
            ("item", Place),
            ("to", After("--to")),
            ("key", After("--key")),
            ("event_type", After("--as")),
            ("reason", After("--reason")),
        ],
    ),
    (
        "record_decision",
        "decision record",
        &[
            ("statement", Place),
            ("claim_id", After("--claim")),
            ("target", After("--target")),
            ("scopes", After("--scope")),
            ("rationale", After("--rationale")),
            ("context", After("--context")),
            ("alternatives", After("--not-chosen")),
            ("supersedes", After("--supersedes")),
            ("mends", Flag("--mends")),
            ("asks", After("--ask")),
            ("unless_objection_minutes", After("--unless-objection-minutes")),
        ],
    ),
    ("record_outcome", "decision outcome", &[("decision_id", Place), ("outcome", Place)]),
    ("retire_anchor", "anchor retire", &[("key", Place), ("space", After("--space"))]),
    (
        "retract_evidence",
        "claim retract-evidence",
        &[("claim_id", Place), ("evidence_ref", Place), ("reason", After("--reason"))],
    ),
    (
        "run_experiment",
        "experiment run",
        &[
            ("profile", Place),
            ("args", After("--arg")),
            ("cwd", After("--cwd")),
            ("claim_id", After("--claim")),
            ("blocking", Flag("--blocking")),
            ("prediction", After("--prediction")),
            ("repeat", After("--repeat")),
        ],
    ),
    ("save_anchor", "anchor save", &[("key", Place), ("value", Place)]),
    ("snapshot_beliefs", "belief snapshot", &[]),
    ("spawn_researcher", "session spawn", &[("profile", Place), ("prompt", Place)]),
    ("split_session", "session split", &[("reason", Place)]),
    (
        "start_phase",
        "memory phase start",
        &[("name", Place), ("space", After("--space")), ("reason", After("--reason"))],
    ),
    ("still", "claim still", &[("claim_id", Place)]),
    ("support", "claim support", POSITION),
    (
        "update_task",
        "task update",
        &[
            ("task_id", Place),
            ("status", Place),
            ("note", After("--note")),
            ("fencing_token", After("--token")),
        ],
    ),
];

/// The argument of `record_decision` that makes it an amendment.
const REPLACES: &str = "replace";
/// An amendment has a verb of its own.
const AMENDS: Verb = (
    "record_decision",
    "decision amend",
    &[
        ("supersedes", Place),
        (REPLACES, After("--replace")),
        ("statement", After("--with")),
        ("rationale", After("--rationale")),
        ("asks", After("--ask")),
    ],
);

/// What the parts of an address lead to. `*` is one part, which the verb takes.
pub(crate) const ADDRESSES: &[(&str, &str)] = &[
    ("anchors", "anchor list"),
    ("attention", "attention"),
    ("calibration", "calibration"),
    ("claims", "claim list"),
    ("claims/*", "claim show"),
    ("context", "context"),
    ("contradictions", "contradictions"),
    ("contradictions/*", "contradictions show"),
    ("decisions", "decision list"),
    ("events", "log"),
    ("experiments", "experiment list"),
    ("experiments/*", "experiment show --wait"),
    ("experiments/*/stderr", "experiment show --stderr"),
    ("experiments/*/stdout", "experiment show --stdout"),
    ("guards", "guard list"),
    ("guards/*", "guard show"),
    ("memory", "memory list"),
    ("negative", "claim list --type negative"),
    ("patterns", "pattern list"),
    ("patterns/*", "pattern show"),
    ("plan", "plan show"),
    ("playbooks", "playbook list"),
    ("playbooks/*", "playbook show"),
    ("profiles", "profile list"),
    ("sessions", "session list"),
    ("sessions/*", "session show"),
    ("sessions/*/turn0", "session turn0"),
    ("status", "status"),
    ("targets", "target list"),
    ("tasks", "task list"),
    ("tasks/*", "task show"),
    ("tasks/ready", "task ready"),
    ("traces", "trace list"),
    ("traces/*", "trace show"),
];

/// Members of answers that hold a sentence of ours, or nothing but steps.
const HINTS: [&str; 6] = ["hint", "meaning", "message", "moves", "next", "settle"];

/// Which steps are given as lines of a shell, by the word that they begin with, and what is said before each.
struct Lines<'a> {
    are_wanted: &'a dyn Fn(&str) -> bool,
    lead: &'a str,
    /// What stands before a path, which begins at the root of the workspace.
    root: &'a str,
}

impl Lines<'_> {
    /// [`step`], where it is wanted.
    fn step(&self, text: &str) -> Option<(String, usize)> {
        let word = text.split([' ', '`']).next().filter(|word| (self.are_wanted)(word));
        word.and_then(|_| step(text, self.root))
    }
}

/// The lines of a shell that is at the root of the workspace, or below it.
fn lines(is_below_root: bool) -> Lines<'static> {
    Lines { are_wanted: &|_| true, lead: "", root: if is_below_root { FROM_ROOT } else { "" } }
}

/// [`in_shell_of`] a shell at the root of the workspace.
pub(crate) fn in_shell(text: &str) -> Cow<'_, str> {
    in_shell_of(text, false)
}

/// A text whose steps between back-quotes are those of a shell, and the addresses that a pack names to read more. Below the
/// root of the workspace, where a plain path would mean another file, paths are written so that they mean the same anywhere.
pub(crate) fn in_shell_of(text: &str, is_below_root: bool) -> Cow<'_, str> {
    let lines = lines(is_below_root);
    let shown = with_lines(text, &lines);
    if !shown.contains(TO_READ) {
        return shown;
    }
    let mut parts = shown.split(TO_READ);
    let mut read = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let line = part.split_once('"').and_then(|(address, rest)| Some((shows(address, lines.root)?, rest)));
        read.push_str(&match line {
            Some((line, rest)) => format!("read=\"{line}\"{rest}"),
            None => format!("{TO_READ}{part}"),
        });
    }
    Cow::Owned(read)
}

/// The beginning of an attribute of a pack that names the address of more.
const TO_READ: &str = "read=\"hivemind://";

/// A text whose steps by tools that a client is not offered are those of a shell, and are said to be.
pub(crate) fn where_not_offered<'t>(text: &'t str, is_offered: &dyn Fn(&str) -> bool) -> Cow<'t, str> {
    with_lines(
        text,
        &Lines { are_wanted: &|word| is_not_offered(word, is_offered), lead: IN_A_SHELL, root: "" },
    )
}

/// [`where_not_offered`] for programs: the members that hold hints, and no stored text.
pub(crate) fn where_not_offered_json(value: &Value, is_offered: &dyn Fn(&str) -> bool) -> Value {
    with_lines_json(
        value,
        &Lines { are_wanted: &|word| is_not_offered(word, is_offered), lead: IN_A_SHELL, root: "" },
    )
}

/// What is said before a line of a shell where tools are spoken of.
const IN_A_SHELL: &str = "in a shell: ";

fn is_not_offered(word: &str, is_offered: &dyn Fn(&str) -> bool) -> bool {
    VERBS.iter().any(|(tool, ..)| *tool == word) && !is_offered(word)
}

/// A text whose steps between back-quotes name their tools without the arguments. Runs keep theirs: no schema tells the
/// profile that settles a claim.
pub(crate) fn without_arguments(text: &str) -> Cow<'_, str> {
    with_steps(text, "", |from| {
        let ((tool, ..), _, length) = called(from)?;
        (*tool != "run_experiment").then(|| ((*tool).to_owned(), length))
    })
}

fn with_lines<'t>(text: &'t str, lines: &Lines<'_>) -> Cow<'t, str> {
    with_steps(text, lines.lead, |from| lines.step(from))
}

/// A text with other words for its steps between back-quotes. `said` has the words for the step that a text begins with, and
/// how many bytes the step takes there. `lead` is said before each.
fn with_steps<'t>(text: &'t str, lead: &str, said: impl Fn(&str) -> Option<(String, usize)>) -> Cow<'t, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        let (before, from) = rest.split_at(at + 1);
        shown.push_str(before);
        rest = from;
        let step = said(from).filter(|(_, length)| from[*length..].starts_with('`'));
        if let Some((line, length)) = step {
            shown.insert_str(shown.len() - 1, lead);
            shown.push_str(&line);
            shown.push('`');
            rest = &from[length + 1..];
        }
    }
    if shown.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(shown + rest) }
}

/// [`in_shell_of`] for programs: the members that hold hints, and no stored text.
pub(crate) fn in_shell_json(value: &Value, is_below_root: bool) -> Value {
    with_lines_json(value, &lines(is_below_root))
}

fn with_lines_json(value: &Value, lines: &Lines<'_>) -> Value {
    match value {
        Value::Array(values) => values.iter().map(|value| with_lines_json(value, lines)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| {
                let is_hint = HINTS.contains(&name.as_str());
                (name.clone(), if is_hint { hints(value, lines) } else { with_lines_json(value, lines) })
            })
            .collect(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn hints(value: &Value, lines: &Lines<'_>) -> Value {
    match value {
        Value::String(text) => match lines.step(text) {
            Some((line, length)) if length == text.len() => format!("{}{line}", lines.lead).into(),
            _ => with_lines(text, lines).into(),
        },
        Value::Array(values) => values.iter().map(|value| hints(value, lines)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), hints(value, lines))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The tool that a text begins with, the arguments that it is called with, and how many bytes the call takes there.
fn called(text: &str) -> Option<(&'static Verb, Map<String, Value>, usize)> {
    let (tool, rest) = text.split_once(' ')?;
    let verb = VERBS.iter().find(|(name, ..)| *name == tool)?;
    let mut given = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
    let arguments = given.next()?.ok()?;
    Some((verb, arguments, tool.len() + 1 + given.byte_offset()))
}

/// The command line of the step that a text begins with, and how many bytes the step takes there.
fn step(text: &str, root: &str) -> Option<(String, usize)> {
    if let Some(address) = text.strip_prefix("hivemind://") {
        let length = address.find(['`', ' ', ',', ';']).unwrap_or(address.len());
        return Some((shows(&address[..length], root)?, text.len() - address.len() + length));
    }
    let (named, arguments, length) = called(text)?;
    let arguments = flattened(arguments);
    let (_, verb, takes) = if arguments.contains_key(REPLACES) { &AMENDS } else { named };
    if arguments.keys().any(|name| !takes.iter().any(|(known, _)| known == name)) {
        return None;
    }
    // The last step of a task has a verb of its own.
    let ends_task = *verb == "task update" && arguments.get("status").is_some_and(|status| status == "done");
    let mut line = if ends_task { "hm task done".to_owned() } else { format!("hm {verb}") };
    for (name, way) in takes.iter().filter(|(name, _)| !(ends_task && *name == "status")) {
        // A shell names no claim as an alternative.
        let is_said = |value: &&Value| *name != "alternatives" || value["statement"].is_string();
        for value in arguments.get(*name).into_iter().flat_map(listed).filter(is_said) {
            let word = || match value.as_str().filter(|_| *name == SCOPES) {
                Some(scope) => shell_words::quote(&anywhere(scope, root)).into_owned(),
                None => word(value),
            };
            match way {
                Place => line.push_str(&format!(" {}", word())),
                After(option) => line.push_str(&format!(" {option} {}", word())),
                Flag(flag) if *value == Value::Bool(true) => line.push_str(&format!(" {flag}")),
                Flag(_) => {}
            }
        }
    }
    Some((line, length))
}

/// Arguments with the fields of an object as arguments of their own: `trigger.commands`.
fn flattened(arguments: Map<String, Value>) -> Map<String, Value> {
    let fields = |(name, value): (String, Value)| match value.as_object() {
        Some(fields) => {
            fields.iter().map(|(field, value)| (format!("{name}.{field}"), value.clone())).collect()
        }
        None => vec![(name, value)],
    };
    arguments.into_iter().flat_map(fields).collect()
}

fn listed(value: &Value) -> &[Value] {
    value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice)
}

/// A value as one word of a shell. A rejected alternative is its statement and the reason.
fn word(value: &Value) -> String {
    if let (Some(what), Some(why)) = (value["statement"].as_str(), value["rejection_reason"].as_str()) {
        return shell_words::quote(&format!("{what}: {why}")).into_owned();
    }
    value.as_str().map_or_else(|| value.to_string(), |text| shell_words::quote(text).into_owned())
}

/// The argument of tools that holds scopes.
const SCOPES: &str = "scopes";

/// Stands for a scope that the reader fills in.
const PLACEHOLDER: &str = "SCOPE";

/// A scope of a step with the root before it. A name is the same anywhere, and a placeholder is no path.
fn anywhere<'t>(scope: &'t str, root: &str) -> Cow<'t, str> {
    let is_path = scope != PLACEHOLDER && scope.parse().is_ok_and(|scope: Scope| scope.is_path());
    if is_path && !root.is_empty() { format!("{root}{scope}").into() } else { scope.into() }
}

/// The verb that shows an address.
fn shows(address: &str, root: &str) -> Option<String> {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |pattern: &str| {
        let wanted: Vec<&str> = pattern.split('/').collect();
        wanted.len() == parts.len() && wanted.iter().zip(&parts).all(|(one, part)| one == part || *one == "*")
    };
    let exact = ADDRESSES.iter().find(|(pattern, _)| *pattern == path);
    let (pattern, verb) = exact.or_else(|| ADDRESSES.iter().find(|(pattern, _)| fits(pattern)))?;
    let mut line = format!("hm {verb}");
    for (_, part) in pattern.split('/').zip(&parts).filter(|(one, part)| *one == "*" && !part.is_empty()) {
        line.push_str(&format!(" {}", shell_words::quote(part)));
    }
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        match value {
            "json" if name == "format" => line.push_str(" --json"),
            "all" if path == "patterns" => line.push_str(" --all"),
            "true" => line.push_str(&format!(" --{name}")),
            value => {
                let value = if name == "scope" { anywhere(value, root) } else { value.into() };
                line.push_str(&format!(" --{name} {}", shell_words::quote(&value)));
            }
        }
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::{in_shell, in_shell_json};
    use crate::domain::way;

    #[test]
    fn a_call_becomes_the_line_that_does_the_same() {
        let check = |text: &str, expected: expect_test::Expect| expected.assert_eq(&in_shell(text));
        let reason = json!({ "claim_id": "C12", "reason": way::REASON });
        check(
            &format!("either {} or `hivemind://claims/C12`", way::call("challenge", &reason)),
            expect!["either `hm claim challenge C12 --reason 'WHY, IN A SENTENCE'` or `hm claim show C12`"],
        );
        let decision = json!({
            "statement": "it's `done`", "target": "data base", "rationale": "REASON",
            "supersedes": ["C1", "C2"], "mends": true
        });
        check(
            &way::call("record_decision", &decision),
            expect![[
                r#"`hm decision record 'it'\''s `done`' --target 'data base' --rationale REASON --supersedes C1 --supersedes C2 --mends`"#
            ]],
        );
        let run =
            json!({ "profile": "chk", "args": ["file=a"], "claim_id": "C1", "blocking": true, "repeat": 3 });
        check(
            &way::call("run_experiment", &run),
            expect!["`hm experiment run chk --arg 'file=a' --claim C1 --blocking --repeat 3`"],
        );
        check(
            "`hivemind://claims?status=contested`, `hivemind://tasks/ready`, `hivemind://sessions/s1/turn0`",
            expect!["`hm claim list --status contested`, `hm task ready`, `hm session turn0 s1`"],
        );
        check("<a read=\"hivemind://negative\">", expect!["<a read=\"hm claim list --type negative\">"]);
        check("`hivemind://claims/C1?format=json`", expect!["`hm claim show C1 --json`"]);
        check("`hivemind://patterns?status=all`", expect!["`hm pattern list --all`"]);
    }

    #[test]
    fn a_step_without_its_arguments_is_the_tool() {
        let text = "a `b`; next: cite it: `add_evidence {\"claim_id\":\"C1\",\"note\":\"a ` in it\"}`, or `shrug {}`";
        assert_eq!(super::without_arguments(text), "a `b`; next: cite it: `add_evidence`, or `shrug {}`");
        let run = "run it: `run_experiment {\"profile\":\"t\"}`";
        assert_eq!(super::without_arguments(run), run);
    }

    #[test]
    fn what_is_no_step_of_ours_stays() {
        for text in [
            "`cargo test {\"a\":1}`",
            "`support {\"claim\":1}`",
            "`support {`",
            "`",
            "",
            "a `b` hivemind://claims",
        ] {
            assert_eq!(in_shell(text), text);
        }
        // Members that hold stored text stay, whatever it says.
        let said = json!({ "statement": "`hivemind://claims`", "hint": "`hivemind://claims`" });
        assert_eq!(
            in_shell_json(&said, false),
            json!({ "statement": "`hivemind://claims`", "hint": "`hm claim list`" })
        );
    }
}
