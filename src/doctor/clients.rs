//! The checks of one client: its settings, its server and hooks, its trust, and the last runs of its hooks.

use std::collections::HashMap;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::{Check, Doctor, Verdict};
use crate::clients::{self, CLIENTS, Client, ConfigFile, Entry, Hooks, Level, Mark, Standing, Trust};
use crate::domain::time::Timestamp;
use crate::mcp::{Era, Pane};
use crate::system;

/// How long a server may take from its start to its list of tools. Clients wait 10 s and more.
const SERVER_WITHIN: Duration = Duration::from_secs(10);
/// How long a hook may take: the time that our entries ask clients to wait.
const HOOK_WITHIN: Duration = Duration::from_secs(5);

/// The result of each server command: the number of its tools, or the reason why there are none.
#[derive(Debug, Default)]
pub(super) struct Servers {
    tried: HashMap<Vec<String>, Result<usize, String>>,
}

/// The configuration of a client.
#[derive(Debug, Default)]
struct Found {
    /// Each file with an entry of ours or with another server in its place.
    files: Vec<String>,
    problems: Vec<Check>,
    server: bool,
    of_project: bool,
    /// Whether one of the files belongs to this client alone. A shared file may have been written for the other client.
    has_own: bool,
    argv: Vec<Vec<String>>,
    /// Each command that runs our hook, with its events.
    hooked: Vec<(String, Vec<&'static str>)>,
}

impl Found {
    fn runs_hook_at(&self, event: &str) -> bool {
        self.hooked.iter().any(|(_, events)| events.contains(&event))
    }
}

impl Doctor<'_> {
    /// Whether a client is configured for this workspace, or has settings that cannot be read.
    pub(super) fn is_anybody_configured(&self) -> bool {
        CLIENTS
            .iter()
            .map(|client| self.configured(client))
            .any(|found| !found.files.is_empty() || !found.problems.is_empty())
    }

    pub(super) async fn client(&self, client: &'static Client, servers: &mut Servers) -> Vec<Check> {
        let mut found = self.configured(client);
        let mut checks = std::mem::take(&mut found.problems);
        if !found.has_own && found.hooked.is_empty() {
            found.files.clear();
        }
        if found.files.is_empty() {
            if checks.is_empty() && client.is_found(&self.places) {
                let message = format!("{} is here and not configured", client.title);
                let user = if client.files(Level::Project, &self.places).is_empty() { " --user" } else { "" };
                let fix = format!("hm init{user} --clients {}", client.name);
                checks.push(Check::note(format!("{} config", client.name), message).fixed_by(fix));
            }
            return checks;
        }
        if !client.is_installed(&self.places) {
            let message = format!("{}; {} is not on this machine", found.files.join(", "), client.title);
            checks.push(Check::note(format!("{} config", client.name), message));
            return checks;
        }
        checks.push(config(client, &found));
        for argv in &found.argv {
            checks.push(self.server(client, argv, servers).await);
        }
        if let Some(hooks) = client.hooks() {
            checks.extend(unhooked(client, hooks, &found));
            for (command, events) in &found.hooked {
                checks.push(self.hook(client, hooks, command, events).await);
            }
            if !found.hooked.is_empty() {
                checks.push(self.fired(client, hooks));
            }
        }
        let about = format!("{} trust", client.name);
        let trust = clients::trust(client, &self.places, found.of_project);
        checks.extend(trust.into_iter().map(|trust| match trust {
            Trust::Given(how) => Check::ok(&about, how),
            Trust::Missing { what, fix } => Check::fault(&about, what, fix),
            Trust::Waiting { what, fix } => Check::waiting(&about, what, fix),
            Trust::Unknown(why) => Check::note(&about, why),
        }));
        checks
    }

    fn configured(&self, client: &'static Client) -> Found {
        let mut found = Found::default();
        for level in [Level::Project, Level::User] {
            for file in client.files(level, &self.places) {
                if let Err(problem) = self.look(&mut found, client, level, &file) {
                    let shown = file.path.display();
                    found.problems.push(Check::fault(
                        format!("{} config", client.name),
                        format!("{shown}: {problem}"),
                        "mend the file: the client does not read it, and hm init leaves it alone",
                    ));
                }
            }
        }
        found
    }

    fn look(
        &self,
        found: &mut Found,
        client: &Client,
        level: Level,
        file: &ConfigFile,
    ) -> Result<(), String> {
        let text = file.text().map_err(|error| error.to_string())?;
        let Some(text) = text else { return Ok(()) };
        let message = |problem: clients::Problem| problem.to_string();
        let standings = clients::standings(file, &text).map_err(message)?;
        let path = file.path.strip_prefix(self.places.root()).unwrap_or(&file.path).display();
        for (entry, standing) in file.entries.iter().zip(standings) {
            let remark = match standing {
                Standing::Absent => match entry {
                    Entry::Hooks(hooks) if is_begun(hooks, file, &text) => " (not every hook)",
                    Entry::Hooks(_) | Entry::Server(_) | Entry::StatusLine | Entry::AllowRule => continue,
                },
                Standing::Ours => "",
                Standing::Adapted => " (customised)",
                Standing::Foreign => " (a server of your own)",
            };
            let shown = format!("{path}{remark}");
            if !found.files.contains(&shown) {
                found.files.push(shown);
            }
            found.of_project |= level == Level::Project;
            let others = CLIENTS.iter().filter(|other| other.name != client.name);
            let mut theirs = others.flat_map(|other| other.files(level, &self.places));
            found.has_own |= !theirs.any(|other| other.path == file.path);
            found.server |= matches!(entry, Entry::Server(_));
        }
        found
            .argv
            .extend(clients::argv(file, &text).map_err(message)?.filter(|argv| !found.argv.contains(argv)));
        for event in client.hooks().into_iter().flat_map(|hooks| hooks.events) {
            for (command, ..) in clients::hook_commands(file, &text, event.name).map_err(message)? {
                match found.hooked.iter_mut().find(|(known, _)| *known == command) {
                    Some((_, events)) if events.contains(&event.name) => {}
                    Some((_, events)) => events.push(event.name),
                    None => found.hooked.push((command, vec![event.name])),
                }
            }
        }
        Ok(())
    }

    /// Starts a server as the client would, and lists its tools.
    async fn server(&self, client: &Client, argv: &[String], servers: &mut Servers) -> Check {
        let about = format!("{} server", client.name);
        let tried = match servers.tried.get(argv) {
            Some(tried) => tried.clone(),
            None => {
                // Claude Code and Copilot CLI use the newer protocol, the others the older one.
                let era = match client.name {
                    "claude" | "copilot" => Era::Modern,
                    _ => Era::Legacy,
                };
                let tried = self.tools(argv, era).await;
                servers.tried.insert(argv.to_owned(), tried.clone());
                tried
            }
        };
        let line = argv.join(" ");
        match tried {
            Ok(tools) => Check::ok(about, format!("`{line}` answers and lists {tools} tools"))
                .with(json!({ "tools": tools })),
            Err(why) => {
                let dir = self.workspace.root().display();
                let fix = format!(
                    "run `{line}` in {dir}: it should wait for input; its output shows why it does not"
                );
                Check::fault(about, format!("`{line}` {why}"), fix)
            }
        }
    }

    async fn tools(&self, argv: &[String], era: Era) -> Result<usize, String> {
        let [name, args @ ..] = argv else { return Err("names no program".to_owned()) };
        let program =
            self.places.program(name).ok_or_else(|| format!("cannot start: no `{name}` on the PATH"))?;
        let mut command = tokio::process::Command::new(program);
        command.args(args).current_dir(self.workspace.root());
        let listed = async {
            let pane = Pane::run(command, era).await.map_err(|error| error.to_string())?;
            let tools = pane.tools().await.map_err(|error| error.to_string());
            pane.close().await;
            tools
        };
        let slow = || format!("does not answer within {} s", SERVER_WITHIN.as_secs());
        let tools = tokio::time::timeout(SERVER_WITHIN, listed).await.map_err(|_| slow())??;
        if tools.is_empty() { Err("lists no tools".to_owned()) } else { Ok(tools.len()) }
    }

    /// Runs a hook as the client would before it reads a file. No rule objects to reading one.
    async fn hook(&self, client: &Client, hooks: &Hooks, command: &str, events: &[&str]) -> Check {
        let about = format!("{} hooks", client.name);
        let when = if events.len() == hooks.events.len() { "every event" } else { &events.join(", ") };
        let mark = Mark::of(self.workspace, client, hooks.before_tool);
        match mark.untouched(self.rehearsed(client, command, hooks.before_tool)).await {
            Ok(took) => Check::ok(about, format!("`{command}` answers in {} ms", took.as_millis())),
            Err(why) => Check::fault(
                about,
                format!("`{command}` ({when}) {why}"),
                format!("run `echo '{{}}' | {command}`: it should print nothing or JSON, and end with 0"),
            ),
        }
    }

    async fn rehearsed(&self, client: &Client, command: &str, event: &str) -> Result<Duration, String> {
        let root = self.workspace.root();
        let file = root.join("README.md");
        let payload = match client.name {
            // The two clients can run the same command; the form of the payload tells them apart.
            "copilot" => json!({
                "sessionId": "hm-doctor", "cwd": root, "toolName": "view", "toolArgs": { "path": file },
            }),
            _ => json!({
                "session_id": "hm-doctor", "cwd": root, "hook_event_name": event,
                "tool_name": "Read", "tool_input": { "file_path": file },
            }),
        };
        let mut shell = if cfg!(windows) {
            let mut shell = tokio::process::Command::new("cmd");
            shell.arg("/C");
            shell
        } else {
            let mut shell = tokio::process::Command::new("sh");
            shell.arg("-c");
            shell
        };
        shell.arg(command).current_dir(root).kill_on_drop(true);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = system::instant();
        let mut child = shell.spawn().map_err(|error| format!("cannot be started: {error}"))?;
        let run = async {
            if let Some(mut stdin) = child.stdin.take() {
                // A hook may ignore its input: only its exit counts.
                let _ = stdin.write_all(payload.to_string().as_bytes()).await;
            }
            child.wait_with_output().await
        };
        let slow = || format!("does not end within {} s", HOOK_WITHIN.as_secs());
        let output = tokio::time::timeout(HOOK_WITHIN, run).await.map_err(|_| slow())?;
        let output = output.map_err(|error| format!("cannot be waited for: {error}"))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let line = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
            return Err(format!("fails ({}): {line}", output.status));
        }
        let answer = output.stdout.trim_ascii();
        if !answer.is_empty() && serde_json::from_slice::<Value>(answer).is_err() {
            return Err("prints something other than JSON".to_owned());
        }
        Ok(started.elapsed())
    }

    /// The time of each hook's last run.
    fn fired(&self, client: &Client, hooks: &Hooks) -> Check {
        let now = system::now();
        let fired = |name: &str| Mark::of(self.workspace, client, name).at();
        let all: Vec<_> = hooks.events.iter().map(|event| (event.name, fired(event.name))).collect();
        let shown: Vec<_> = all
            .iter()
            .map(|(name, at)| match at {
                Some(at) => format!("{name} {} ago", age(*at, now)),
                None => format!("{name} never"),
            })
            .collect();
        let data: Value =
            all.iter().map(|(name, at)| ((*name).to_owned(), json!(at.map(|at| at.ms())))).collect();
        let verdict = if all.iter().any(|(_, at)| at.is_some()) { Verdict::Ok } else { Verdict::Note };
        let about = format!("{} last fired", client.name);
        let shown = if verdict == Verdict::Ok { shown.join(", ") } else { "not used here yet".to_owned() };
        Check { verdict, ..Check::ok(about, shown).with(data) }
    }
}

fn config(client: &Client, found: &Found) -> Check {
    let about = format!("{} config", client.name);
    let files = found.files.join(", ");
    if found.server {
        return Check::ok(about, files);
    }
    Check::note(about, format!("{files}; without the server")).fixed_by(init(client, found))
}

/// Reports the events at which a configured client runs no hook of ours.
fn unhooked(client: &Client, hooks: &Hooks, found: &Found) -> Option<Check> {
    let names = hooks.events.iter().map(|event| event.name);
    let silent: Vec<_> = names.filter(|name| !found.runs_hook_at(name)).collect();
    (!silent.is_empty()).then(|| {
        Check::fault(
            format!("{} hooks", client.name),
            format!("nothing runs `{}` at {}", hooks.command, silent.join(", ")),
            format!(
                "`{}` adds it; if another command is in its place, remove that first",
                init(client, found)
            ),
        )
    })
}

/// The command that writes the settings at the level where the client has some.
fn init(client: &Client, found: &Found) -> String {
    let level = if found.of_project { "" } else { " --user" };
    format!("hm init{level} --clients {}", client.name)
}

/// Whether a file has some of our hooks.
fn is_begun(hooks: &Hooks, file: &ConfigFile, text: &str) -> bool {
    let runs = |event: &str| clients::hook_commands(file, text, event).is_ok_and(|found| !found.is_empty());
    hooks.events.iter().any(|event| runs(event.name))
}

/// The time since `at`, in its largest unit.
fn age(at: Timestamp, now: Timestamp) -> String {
    let seconds = (now.ms() - at.ms()).max(0) / 1_000;
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}
