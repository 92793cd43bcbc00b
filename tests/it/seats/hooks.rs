//! A hook that a pane runs in its shell: whatever name and session it is given, the pane stays the agent that it was.

use super::*;

/// Client processes. Each first runs the hook of its start, unless its session is `none`, and then lines of its shell. `start`
/// in a line prints the payload of a session's start.
struct Clients<'s> {
    shell: &'s Shell,
    dir: tempfile::TempDir,
}

impl<'s> Clients<'s> {
    fn new(shell: &'s Shell) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let script = "PATH=$(dirname \"$0\"):$PATH\n\
             event() { printf '{\"hook_event_name\":\"%s\",\"session_id\":\"%s\",\"cwd\":\"%s\",\"prompt\":\"x\"}' \"$1\" \"$2\" \"$PWD\"; }\n\
             start() { event SessionStart \"$1\"; }\n\
             [ \"$2\" = none ] || start \"$2\" | hm hook claude >/dev/null\neval \"$1\"\n";
        std::fs::write(dir.path().join("claude"), script).expect("a client");
        let hm = shell.command("hm status");
        std::os::unix::fs::symlink(hm.get_program(), dir.path().join("hm")).expect("a link");
        Self { shell, dir }
    }

    /// What the lines print in the shell of a new client process, which is started with `given`.
    fn types(&self, session: &str, given: &[(&str, &str)], lines: &str) -> String {
        let mut client = in_shell(self.shell, "sh \"$1\" \"$2\" \"$3\"");
        client.arg(self.dir.path().join("claude")).args([lines, session]);
        client.env_remove("HM_AGENT").env_remove("HM_SESSION").env_remove("CLAUDE_PID");
        let output = client.envs(given.iter().copied()).output().expect("a client");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }
}

/// Every way to write after a hook in session `zz` under the name of devops.
const SUPPORTS: &str = "hm claim support $C; HM_SESSION=zz hm claim support $C; HM_AGENT=devops hm claim support $C; \
     HM_AGENT=devops HM_SESSION=zz hm claim support $C; HM_AGENT=devops HM_SESSION=new hm claim support $C";

/// Red before: a session start under another name, in the shell of a pane, made the pane that agent, which confirmed the
/// pane's own claim.
#[test]
#[cfg(target_os = "linux")]
fn a_hook_under_another_name_makes_no_other_agent_of_the_pane() {
    let create = "hm claim create \"one pane says $C\" --scope src/$C";
    let first = format!("HM_AGENT=architect {create}");
    for (session, create, hooks) in [
        ("s1", create, "start zz | HM_AGENT=devops hm hook claude"),
        ("s1", create, "start zz | HM_AGENT=devops hm hook codex"),
        ("s1", create, "start zz | HM_AGENT=frontend hm hook gemini"),
        ("s1", create, "start zz | hm hook claude --agent devops"),
        ("s1", create, "start s1 | HM_AGENT=devops hm hook claude"),
        ("s1", create, "start zz | HM_SESSION=zz HM_AGENT=devops hm hook claude"),
        ("s1", create, "start zz | CLAUDE_PID=1 HM_AGENT=devops hm hook claude"),
        (
            "s1",
            create,
            "event UserPromptSubmit zz | HM_AGENT=devops hm hook claude; start zz | hm hook claude",
        ),
        ("s1", create, "event SessionEnd s1 | hm hook claude; start zz | HM_AGENT=devops hm hook claude"),
        (
            "s1",
            create,
            "start yy | HM_AGENT=architect hm hook claude; start zz | HM_AGENT=devops hm hook claude",
        ),
        ("none", &first, "start zz | HM_AGENT=devops hm hook claude"),
    ] {
        let shell = Shell::new();
        let clients = Clients::new(&shell);
        let lines = format!("C=C1; {create}; {{ {hooks}; }} >/dev/null; {SUPPORTS}");
        let said = clients.types(session, &[], &lines);
        let shown = shell.json("hm claim show C1 --json");
        assert_eq!(
            (&shown["status"], &shown["owner"]),
            (&json!("proposed"), &json!("architect")),
            "{hooks}: {said}"
        );
        assert_eq!(shown["positions"], json!([]), "{hooks}: {said}");
        assert!(said.contains("is your own"), "{hooks}: {said}");
        // What it says from then on is the word of the same agent, and another process of the client is another pane.
        let beside = clients.types("s-beside", &[("HM_AGENT", "reviewer")], "hm claim support C1 --json");
        assert!(beside.contains("committed"), "{hooks}: {beside}");
        assert_eq!(status(&shell, "C1"), "confirmed");
    }
}

/// Red before: the same with the session of a pinned pane that left, which is an agent by its name alone.
#[test]
#[cfg(target_os = "linux")]
fn a_client_in_the_session_of_a_pinned_pane_is_one_agent_with_it() {
    for hook in [
        "start zz | hm hook claude",
        "start zz | HM_SESSION=zz hm hook claude",
        "start zz | HM_AGENT=devops hm hook claude",
    ] {
        let shell = Shell::new();
        let clients = Clients::new(&shell);
        clients.types(
            "zz",
            &[("HM_AGENT", "devops")],
            "hm claim create 'the queue is short' --scope src/queue",
        );
        let lines = format!(
            "C=C2; hm claim create 'the pool holds 20' --scope src/pool; {hook} >/dev/null; {SUPPORTS}"
        );
        let said = clients.types("s1", &[], &lines);
        assert_eq!(status(&shell, "C2"), "proposed", "{hook}: {said}");
        assert!(said.contains("is your own"), "{hook}: {said}");
    }
}

/// What a client is told at the start of a session: who it is.
fn agents_of(shell: &Shell) -> BTreeMap<String, String> {
    let sessions = shell.json("hm session list --json")["sessions"].as_array().expect("sessions").clone();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    sessions.iter().map(|session| (text(&session["session"]), text(&session["agent"]))).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_client_keeps_its_agent_in_its_next_session_and_another_process_may_be_another_one() {
    let shell = Shell::new();
    let clients = Clients::new(&shell);
    let next = |session: &str| {
        format!(
            "start {session} | hm hook claude >/dev/null; hm claim create 'in {session}' --scope src/{session}"
        )
    };
    // `/clear`, unpinned, pinned at its start, and pinned by the command line of its hooks.
    clients.types("s-one", &[], &next("s-two"));
    clients.types("p-one", &[("HM_AGENT", "devops")], &next("p-two"));
    let by_settings =
        "start q-one | HM_AGENT=analyst hm hook claude; start q-two | HM_AGENT=analyst hm hook claude";
    clients.types("none", &[], by_settings);
    let agents = agents_of(&shell);
    let of = |session: &str| agents[session].as_str();
    assert_eq!(
        ["s-one", "s-two", "p-one", "p-two", "q-one", "q-two"].map(of),
        ["architect", "architect", "devops", "devops", "analyst", "analyst"]
    );
    assert_eq!(
        ["C1", "C2"].map(|claim| shell.json(&format!("hm claim show {claim} --json"))["owner"].clone()),
        ["architect", "devops"]
    );
    // A human starts the client again under another name, in a session that it was in before.
    let again = clients.types(
        "p-two",
        &[("HM_AGENT", "frontend")],
        "hm claim support C1 --json; hm claim create 'again' --scope src/again",
    );
    assert!(again.contains("committed"), "{again}");
    assert_eq!(agents_of(&shell)["p-two"], "frontend", "{again}");
    assert_eq!(shell.json("hm claim show C3 --json")["owner"], "frontend", "{again}");
}

/// Red before: a client whose process id another one had before was taken for that one.
#[test]
#[cfg(target_os = "linux")]
fn the_record_of_a_client_does_not_count_for_another_process_with_its_id() {
    let shell = Shell::without_writer();
    let record = ClientSession::of(&shell.workspace(), std::process::id());
    record.enter(&session("s-one")).expect("word is left");
    assert_eq!(record.last(), Some(session("s-one")));
    let file = shell.workspace().client_sessions().join(std::process::id().to_string());
    let text = std::fs::read_to_string(&file).expect("a record");
    let own = system::name_of(std::process::id());
    assert!(text.contains(&own), "{text}");
    std::fs::write(&file, text.replace(&own, &format!("{}-1", std::process::id()))).expect("a record");
    assert_eq!((record.current(), record.last()), (None, None));
    // Releases before wrote the session alone.
    std::fs::write(&file, "s-one").expect("a record");
    assert_eq!(record.current(), Some(session("s-one")));
}
