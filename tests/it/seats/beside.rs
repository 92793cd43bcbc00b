//! The servers of one client process are one pane, and so is its shell beside them.

use super::*;

/// Runs its first server, which may end by a line, then a second one, each with variables and options, then a line in its
/// shell.
const CLIENT: &str = r#"dir=$1; hm=$3; cd "$2"
mkfifo "$dir/in1" "$dir/in2"
sh -c "exec 4>&-; $4" "$hm" <"$dir/in1" >"$dir/out1" 2>/dev/null &
exec 3>"$dir/in1"; cat "$dir/creates" >&3
until grep -q structuredContent "$dir/out1"; do sleep 0.1; done
server=$!; eval "$7"
if [ -n "$5" ]; then
    sh -c "$5" "$hm" <"$dir/in2" >"$dir/out2" 2>/dev/null 3>&- &
    exec 4>"$dir/in2"; cat "$dir/supports" >&4
    until grep -q structuredContent "$dir/out2"; do sleep 0.1; done
    cat "$dir/out2"
fi
(sh -c "$6" "$hm"; :) 3>&- 4>&-
exec 3>&- 4>&-; wait
"#;

/// What a client without hooks prints. Its first server creates claim C1, and its second one supports it.
struct Client<'s> {
    shell: &'s Shell,
    name: &'static str,
    /// The name that it gives to its second server.
    calls_itself: &'static str,
    /// The agent that it names in its first call.
    names: Option<&'static str>,
    /// How its first server ends before anything else happens.
    ends: &'static str,
}

impl Client<'_> {
    fn runs(&self, [first, second, line]: [&str; 3]) -> String {
        let dir = tempfile::tempdir().expect("a directory");
        let client = dir.path().join(self.name);
        std::fs::write(&client, CLIENT).expect("a client");
        let statement = "the pool holds 20 connections";
        let create =
            json!({ "statement": statement, "claim_type": "fact", "scopes": ["src"], "agent": self.names });
        for (file, client, tool, arguments) in [
            ("creates", self.name, "create_claim", create),
            ("supports", self.calls_itself, "support", json!({ "claim_id": "C1" })),
        ] {
            let mut hello = initialize();
            hello["params"]["clientInfo"]["name"] = client.into();
            let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            let asks = [hello, ready, call("tools/call", json!({ "name": tool, "arguments": arguments }))];
            let asks: String = asks.iter().map(|ask| format!("{ask}\n")).collect();
            std::fs::write(dir.path().join(file), asks).expect("questions");
        }
        let mut typed = in_shell(self.shell, "sh \"$1\" \"$2\" \"$3\" \"$0\" \"$4\" \"$5\" \"$6\" \"$7\"");
        typed.arg(client).arg(dir.path()).arg(self.shell.workspace().root());
        typed.args([first, second, line].map(|line| line.replace("hm ", "\"$0\" "))).arg(self.ends);
        let output = typed.env_remove("HM_AGENT").env_remove("HM_SESSION").output().expect("a client");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }
}

/// Red before: two entries for one client made two agents of it, and the second one confirmed what the first one said.
#[test]
#[cfg(target_os = "linux")]
fn two_servers_of_one_client_are_one_pane() {
    let plain = "exec hm serve";
    for (calls_itself, first, second) in [
        ("claude-code", plain, plain),
        ("codex", plain, plain),
        ("claude-code", plain, "exec hm serve --agent devops"),
        ("claude-code", plain, "HM_AGENT=analyst exec hm serve"),
        ("claude-code", "exec hm serve --agent analyst", plain),
        ("claude-code", "exec hm serve --agent architect", "exec hm serve --agent devops"),
        // A launcher is between the client and its server.
        ("claude-code", "hm serve; :", "hm serve; :"),
    ] {
        let shell = Shell::new();
        let said = Client { shell: &shell, name: "claude", calls_itself, names: None, ends: "" }
            .runs([first, second, ":"]);
        assert!(said.contains("\"own_claim\""), "{calls_itself}, {first}, {second}: {said}");
        assert_eq!(status(&shell, "C1"), "proposed");
    }
    // One process of Codex runs many panes.
    let shell = Shell::new();
    let said = Client { shell: &shell, name: "codex", calls_itself: "codex", names: None, ends: "" }
        .runs([plain, plain, ":"]);
    assert_eq!(status(&shell, "C1"), "confirmed", "{said}");
}

/// Red before: the shell of a client that was on no list spoke under any name, and so did a shell beside a pinned server or
/// one with a launcher.
#[test]
#[cfg(target_os = "linux")]
fn the_shell_of_every_client_of_agents_is_its_pane() {
    let plain = "exec hm serve";
    let named = ["goose", "crush", "amp", "droid", "kilo", "auggie", "cn"].map(|name| (name, plain));
    let served = [("claude", "hm serve; :"), ("claude", "exec hm serve --agent devops")];
    for (name, first) in named.into_iter().chain(served) {
        let shell = Shell::new();
        let client = Client { shell: &shell, name, calls_itself: name, names: None, ends: "" };
        let supports = "hm claim support C1 --agent reviewer; hm claim support C1 --agent operator";
        let said = client.runs([first, "", supports]);
        assert!(said.contains("this shell belongs to the pane of"), "{name}, {first}: {said}");
        assert!(said.contains("only a human at a terminal is the operator"), "{name}, {first}: {said}");
        assert_eq!(status(&shell, "C1"), "proposed");
    }
}

/// Two servers that write for the first time at once: at least one of them finds the other, because each is known before it
/// looks. Here the first call is refused after that. Red before: a server looked first, so that both could miss each other.
#[test]
#[cfg(target_os = "linux")]
fn a_server_is_known_before_it_looks_for_the_others() {
    let shell = Shell::new();
    let client = Client {
        shell: &shell,
        name: "claude",
        calls_itself: "claude-code",
        names: Some("reviewer"),
        ends: "",
    };
    let line = "hm claim create 'the pool leaks' --type fact --scope src --agent reviewer";
    let said = client.runs(["exec hm serve --agent devops", "", line]);
    assert!(said.contains("this shell belongs to the pane of devops"), "{said}");
}

/// Red before: once its server had ended, a client confirmed its own claim, in its shell and by another server.
#[test]
#[cfg(target_os = "linux")]
fn a_client_is_its_pane_after_its_server_has_ended() {
    let ended = ["exec 3>&-; wait $server", "kill -9 $server; wait $server"];
    for (ends, first) in ended
        .into_iter()
        .flat_map(|ends| ["exec hm serve --agent devops", "exec hm serve"].map(|first| (ends, first)))
    {
        let shell = Shell::new();
        let client = Client { shell: &shell, name: "claude", calls_itself: "claude-code", names: None, ends };
        // The second write of another pane forgets the records of processes that have ended.
        let others =
            "hm claim create 'the cache is cold' --scope src --agent operator --operator-override test";
        let supports =
            "HM_AGENT=analyst hm claim support C1; hm claim support C1 --agent analyst; hm claim support C1";
        let said = client.runs([first, "", &format!("{others} >/dev/null; {supports}")]);
        assert_eq!(said.matches("this shell belongs to the pane of").count(), 2, "{ends}, {first}: {said}");
        assert!(said.contains("claim C1 is your own"), "{ends}, {first}: {said}");
        assert_eq!(status(&shell, "C1"), "proposed", "{ends}, {first}");
        // A client that starts anew is another pane.
        let again = client.runs(["exec hm serve --agent reviewer", "", "hm claim support C1"]);
        assert_eq!(status(&shell, "C1"), "confirmed", "{ends}, {first}: {again}");

        let shell = Shell::new();
        let client = Client { shell: &shell, name: "claude", calls_itself: "claude-code", names: None, ends };
        let said =
            client.runs([first, "exec hm serve --agent analyst", "HM_AGENT=reviewer hm claim support C1"]);
        assert!(said.contains("\"own_claim\""), "{ends}, {first}: {said}");
        assert_eq!(said.matches("this shell belongs to the pane of").count(), 1, "{ends}, {first}: {said}");
        assert_eq!(status(&shell, "C1"), "proposed", "{ends}, {first}");
    }
}
