//! A researcher speaks for the agent that sent it out, also where only a name tells who that is, and neither confirms what the
//! other says.

use super::*;

/// A workspace with a profile `scout` that speaks as analyst and `second` that speaks as frontend. Each runs its lines.
struct Scouts {
    shell: Shell,
}

impl Scouts {
    fn new(scout: &str, second: &str) -> Self {
        let shell = Shell::new();
        let hm = shell.command("hm status");
        let hm = hm.get_program().to_str().expect("text").to_owned();
        let dir = shell.workspace().marker_dir().join("profiles");
        std::fs::create_dir_all(&dir).expect("a directory");
        for (name, agent, lines) in [("scout", "analyst", scout), ("second", "frontend", second)] {
            let script = shell.workspace().root().join(format!("{name}.sh"));
            std::fs::write(&script, format!("hm() {{ \"{hm}\" \"$@\" 2>&1; }}\n{lines}\n"))
                .expect("a script");
            let profile = format!(
                "description = 'reads'\nargv = ['sh', '{}', '{{prompt}}']\ntimeout_ms = 60000\n\
                 env.pass = ['XDG_STATE_HOME', 'XDG_RUNTIME_DIR', 'PATH']\n[agent]\nname = '{agent}'\n",
                script.display()
            );
            std::fs::write(dir.join(format!("{name}.toml")), profile).expect("a profile");
            let trusted = shell.run(&format!("hm profile trust {name} --yes --agent operator"));
            assert!(trusted.status.success(), "{trusted:?}");
        }
        Self { shell }
    }

    /// What an agent gets for a line that it types in a session of its own.
    fn says(&self, agent: &str, line: &str) -> String {
        let session = format!("{agent}-{}", hivemind::system::new_id());
        let mut typed = self.shell.command(line);
        let output = typed.env("HM_AGENT", agent).env("HM_SESSION", session).stdin(Stdio::null()).output();
        let output = output.expect("hm runs");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }

    /// Sends a researcher out and waits for its end. Returns what it printed.
    fn sends(&self, agent: &str, profile: &str, run: &str) -> String {
        let sent = self.says(agent, &format!("hm session spawn {profile} \"look\""));
        assert!(sent.contains("queued as run"), "{sent}");
        self.ends(run)
    }

    fn ends(&self, run: &str) -> String {
        wait_until("the researcher ends", || {
            self.shell.json(&format!("hm experiment show {run} --json"))["completed_at"].is_number()
        });
        String::from_utf8(self.shell.run(&format!("hm experiment show {run} --stdout")).stdout).expect("text")
    }

    fn assert_proposed(&self, claim: &str, said: &str) {
        let shown = self.shell.json(&format!("hm claim show {claim} --json"));
        assert_eq!(
            (&shown["status"], &shown["positions"]),
            (&json!("proposed"), &json!([])),
            "{claim}: {said}"
        );
    }
}

/// Red before: the researcher confirmed the claim of the agent that sent it out, because that agent had made it in another
/// session.
#[test]
#[cfg(target_os = "linux")]
fn a_researcher_confirms_no_claim_of_the_agent_that_sent_it_out() {
    let scouts = Scouts::new(
        "hm claim support C1 ok\nhm claim support C1 --json\n\
         (unset HM_SESSION; hm claim support C1)\nHM_SESSION=another hm claim support C1\nhm claim support C2 --json\n\
         hm claim create 'scout says so' --scope src/scout",
        "hm claim support C3 --json; hm claim support C1 --json; hm claim support C2 --json",
    );
    scouts.says("architect", "hm claim create \"the pool holds 20\" --scope src/pool");
    scouts.says("devops", "hm claim create \"the queue is short\" --scope src/queue");
    let said = scouts.sends("architect", "scout", "R1");
    scouts.assert_proposed("C1", &said);
    assert_eq!(said.matches("is your own").count(), 4, "{said}");
    assert!(said.contains("\"own_claim\"") && said.contains("another agent supports it"), "{said}");
    assert!(said.contains("researchers speak for those that sent them"), "{said}");
    // What others say it judges as before, and what it says is the word of the agent that sent it out.
    assert_eq!(status(&scouts.shell, "C2"), "confirmed", "{said}");
    let own = scouts.says("architect", "hm claim support C3 --json");
    assert!(own.contains("\"own_claim\""), "{own}");
    // Two researchers of one agent are one agent, too.
    let said = scouts.sends("architect", "second", "R2");
    assert_eq!(said.matches("\"own_claim\"").count(), 2, "{said}");
    scouts.assert_proposed("C3", &said);
    let shown = scouts.shell.json("hm claim show C2 --json");
    assert_eq!(shown["status"], "confirmed");
    // Another agent confirms both.
    for claim in ["C1", "C3"] {
        scouts.says("devops", &format!("hm claim support {claim}"));
        assert_eq!(status(&scouts.shell, claim), "confirmed");
    }
}

/// Red before: so did a researcher that a researcher sent out.
#[test]
#[cfg(target_os = "linux")]
fn a_researcher_of_a_researcher_speaks_for_the_first_agent() {
    let scouts = Scouts::new(
        "hm claim create 'scout says so' --scope src/scout\nhm session spawn second look",
        "hm claim support C1 --json; hm claim support C2 --json; hm claim create 'second says so' --scope src/second",
    );
    scouts.says("architect", "hm claim create \"the pool holds 20\" --scope src/pool");
    scouts.sends("architect", "scout", "R1");
    let said = scouts.ends("R2");
    assert_eq!(said.matches("\"own_claim\"").count(), 2, "{said}");
    scouts.assert_proposed("C1", &said);
    scouts.assert_proposed("C2", &said);
    let own = scouts.says("architect", "hm claim support C3 --json");
    assert!(own.contains("\"own_claim\""), "{own}");
    scouts.assert_proposed("C3", &own);
}
