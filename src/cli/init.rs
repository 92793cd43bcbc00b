//! `hm init` makes a directory a workspace and configures its clients; `hm uninit` takes the configuration out again.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::export::section;
use super::output::{self, Failure};
use super::{Global, surroundings};
use crate::clients::{
    self, CLIENTS, Change, Client, ConfigFile, Edit, Entry, Extras, InstallError, Installed, Level, Places,
    Standing, Trust,
};
use crate::domain::agent::AgentId;
use crate::domain::decide::Loss;
use crate::ledger::LedgerError;
use crate::mirror;
use crate::standing::{self, Damage};
use crate::system::Environment;
use crate::workspace::{self, MARKER, Workspace};

/// The options of both verbs.
#[derive(Debug, Args)]
struct Choice {
    /// Clients: claude, codex, gemini, antigravity, opencode, vscode, cursor, copilot, qwen, cline; several with commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    clients: Vec<String>,
    /// Files of this project, shared by its team (default)
    #[arg(long, conflicts_with = "user")]
    project: bool,
    /// Your own files, used in every project on this machine
    #[arg(long)]
    user: bool,
    /// Write without asking
    #[arg(long, short, conflicts_with = "dry_run")]
    yes: bool,
    /// Show the changes, and write nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
pub(super) struct Init {
    #[command(flatten)]
    choice: Choice,
    /// Every client, found or not
    #[arg(long, conflicts_with = "clients")]
    all: bool,
    /// Let Claude Code show `hm statusline` below its prompt; a status line that is there stays
    #[arg(long)]
    statusline: bool,
    /// Let Claude Code call the tools of Hivemind without asking; they only write to the memory
    #[arg(long)]
    allow: bool,
    /// Print the entries for a client, also for one not in the list above; write nothing
    #[arg(long, value_name = "CLIENT", conflicts_with_all = ["clients", "all", "yes", "user"])]
    print: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Uninit {
    #[command(flatten)]
    choice: Choice,
}

/// One run of `hm init` or `hm uninit`.
struct Setup<'a> {
    choice: &'a Choice,
    global: &'a Global,
    places: Places,
    /// Whether the run makes the directory a workspace.
    is_new: bool,
    /// The environment, which decides the place of the socket.
    environment: &'a Environment,
    level: Level,
    installed: Installed,
    changes: Vec<(Change, ConfigFile)>,
    /// The clients that were not named.
    others: Vec<&'static Client>,
    /// Whether entries are removed.
    removes: bool,
    /// What stays for a client that was not named.
    kept: Vec<(Change, &'static Client)>,
    /// The first failure of the output. The work does not end with it.
    unsaid: Option<Failure>,
}

impl Init {
    pub(super) fn run(&self, global: &Global) -> Result<(), Failure> {
        let environment = Environment::read();
        let here = super::current_dir()?;
        let root = global.dir.clone().or_else(|| environment.dir.clone()).unwrap_or(here);
        let named = named(&self.choice.clients)?;
        let root = workspace::project_of(&root);
        let root = root.canonicalize().or_else(|_| std::path::absolute(root)).map_err(Failure::internal)?;
        if let Some(client) = &self.print {
            return print(client.trim(), &Places::new(&root, &environment), global.json);
        }
        let mut run = Setup::new(&self.choice, global, &root, &environment)?;
        let level = run.level;
        run.is_new = !root.join(MARKER).join("config.toml").exists();
        let shown = root.display();
        let mut text = if run.is_new {
            output::fitted(&format!(
                "{shown} becomes a workspace: .hivemind/ with config.toml, its settings (commit it), and .gitignore.\n"
            ))
        } else {
            format!("{shown} is a workspace already.\n")
        };
        let above = root.ancestors().skip(1).find(|dir| dir.join(MARKER).is_dir()).filter(|_| run.is_new);
        if let Some(above) = above {
            let above = above.display();
            text.push_str(&format!(
                "It starts with an empty memory and hides that of {above}, in which it lies.\n\
                 To share that one, run `hm init --dir {above}` instead.\n"
            ));
        }
        let wanted = |client: &&Client| match named.as_slice() {
            [] => self.all || client.is_found(&run.places),
            named => named.contains(&client.name),
        };
        let clients: Vec<&'static Client> = CLIENTS.iter().filter(wanted).collect();
        for client in &clients {
            // With the plugin and our entries, each hook would run twice. A person who names the client wants both.
            if named.is_empty() && clients::has_plugin(client, &run.places) {
                text.push_str(&with_plugin(client));
                continue;
            }
            let files = client.files(run.level, &run.places);
            if files.is_empty() && run.level == Level::Project {
                text.push_str(&format!(
                    "{} reads no file of a project: run `hm init --user --clients {}`\n",
                    client.title, client.name
                ));
            }
            // Clients that share a file also share its entries.
            for file in files.into_iter().filter(|file| !run.plans(file)).collect::<Vec<_>>() {
                let file = file.with(self.extras());
                let change = run.installed.plan_add(client, &file);
                if file.has_other_status_line(change.before.as_deref().unwrap_or_default()) {
                    let path = run.path(&change);
                    text.push_str(&format!("{path} has a status line already, which is left as it is\n"));
                }
                run.changes.push((change, file));
            }
        }
        let nobody = "no client was found: name them with --clients, or take --all\n";
        let none = if clients.is_empty() { nobody } else { "nothing to do: every client is configured\n" };
        let done = "next: start the clients anew, then `hm doctor` says what still waits for you\n";
        let next = |client: &Client, places: &Places| {
            let mut steps = steps(client, places, self.choice.user);
            steps.extend(offers(client, level, places));
            steps
        };
        run.finish(text, none, done, next, |installed, change, file| installed.add(change, file))
    }

    fn extras(&self) -> Extras {
        Extras { status_line: self.statusline, allow_rule: self.allow }
    }
}

impl Uninit {
    pub(super) fn run(&self, global: &Global) -> Result<(), Failure> {
        let environment = Environment::read();
        let here = super::current_dir()?;
        let dir = global.dir.clone().or_else(|| environment.dir.clone());
        let workspace = Workspace::find(dir.as_deref(), &here, &environment);
        let state = environment.state_home.as_ref().map(|home| home.join("hivemind"));
        let stays = workspace.as_ref().map(|found| stays(found, state.as_deref())).unwrap_or_default();
        // The entries of another person's `hm init` can be removed without a workspace.
        let root = workspace.map_or(dir.unwrap_or(here), |workspace| workspace.root().to_owned());
        let mut run = Setup::new(&self.choice, global, &root, &environment)?;
        run.plan_removal();
        let nothing = if run.kept.is_empty() { run.elsewhere() } else { "nothing else to do\n".to_owned() };
        run.finish(
            stays,
            &nothing,
            "`hm init` puts it back\n",
            |_, _| Vec::new(),
            |installed, change, _| installed.remove(change),
        )
    }
}

impl<'a> Setup<'a> {
    fn new(
        choice: &'a Choice,
        global: &'a Global,
        root: &Path,
        environment: &'a Environment,
    ) -> Result<Self, Failure> {
        let places = Places::new(root, environment);
        let level = if choice.user { Level::User } else { Level::Project };
        let installed = Installed::load(level, &places, environment.state_home.as_deref())?;
        let (changes, kept, unsaid) = (Vec::new(), Vec::new(), None);
        let names = named(&choice.clients)?;
        let is_other = |client: &&Client| !names.is_empty() && !names.contains(&client.name);
        let others = CLIENTS.iter().filter(is_other).collect();
        Ok(Self {
            choice,
            global,
            places,
            is_new: false,
            environment,
            level,
            installed,
            changes,
            others,
            removes: false,
            kept,
            unsaid,
        })
    }

    /// Plans to remove our entries for the named clients. A file that another configured client reads stays.
    fn plan_removal(&mut self) {
        self.removes = true;
        let is_other = |client: &Client| self.others.iter().any(|other| other.name == client.name);
        for client in CLIENTS.iter().filter(|client| !is_other(client)) {
            for file in client.every_file(self.level, &self.places) {
                let file = file.with(Extras::ALL);
                if self.plans(&file) {
                    continue;
                }
                let change = self.installed.plan_remove(client, &file);
                let beside =
                    |other: &&Client| other.is_configured_beside(&file.path, self.level, &self.places);
                match self.other_readers(&change).into_iter().find(beside) {
                    Some(other) if change.is_wanted() => self.kept.push((change, other)),
                    _ => self.changes.push((change, file)),
                }
            }
        }
    }

    /// The clients that were not named and read the file of a change.
    fn other_readers(&self, change: &Change) -> Vec<&'static Client> {
        self.readers(change, self.others.iter().copied())
    }

    /// Those of some clients that read the file of a change, besides its own.
    fn readers(&self, change: &Change, of: impl Iterator<Item = &'static Client>) -> Vec<&'static Client> {
        of.filter(|client| client.name != change.client.name)
            .filter(|client| client.reads(&change.path, self.level, &self.places))
            .collect()
    }

    /// Says that nothing is to be removed here, and where it would be.
    fn elsewhere(&self) -> String {
        let nothing = "nothing to do: no client is configured by hm init";
        let (level, option, whose) = match self.level {
            Level::Project => (Level::User, " --user", "for you, in all projects"),
            Level::User => (Level::Project, "", "in this project"),
        };
        let Ok(installed) = Installed::load(level, &self.places, self.environment.state_home.as_deref())
        else {
            return format!("{nothing}\n");
        };
        let is_other = |client: &Client| self.others.iter().any(|other| other.name == client.name);
        let is_there = |client: &&'static Client| {
            let mut files = client.every_file(level, &self.places).into_iter();
            files.any(|file| installed.plan_remove(client, &file.with(Extras::ALL)).is_wanted())
        };
        let there: Vec<&Client> =
            CLIENTS.iter().filter(|client| !is_other(client)).filter(is_there).collect();
        if there.is_empty() {
            return format!("{nothing}\n");
        }
        let titles: Vec<&str> = there.iter().map(|client| client.title).collect();
        let only = match self.others.is_empty() {
            true => String::new(),
            false => {
                let names: Vec<&str> = there.iter().map(|client| client.name).collect();
                format!(" --clients {}", names.join(","))
            }
        };
        let here = if level == Level::User { "in this project" } else { "for you" };
        output::fitted(&format!(
            "{nothing} {here}; configured {whose}: {}; `hm uninit{option}{only}` removes that\n",
            titles.join(", ")
        ))
    }

    fn plans(&self, file: &ConfigFile) -> bool {
        self.changes.iter().any(|(change, _)| change.path == file.path)
    }

    /// Shows every change, asks, makes the changes, and reports the result of each.
    fn finish(
        mut self,
        opening: String,
        nothing: &str,
        done: &str,
        next: impl Fn(&Client, &Places) -> Vec<String>,
        make: impl Fn(&mut Installed, &Change, &ConfigFile) -> Result<(), InstallError>,
    ) -> Result<(), Failure> {
        let wanted = self.changes.iter().filter(|(change, _)| change.is_wanted()).count();
        let refused = self.changes.iter().any(|(change, _)| matches!(change.edit, Edit::Refused(_)));
        let mut text = opening;
        text.push_str(&if self.writes() { self.table() } else { self.diffs() });
        text.push_str(&self.left_alone());
        if wanted == 0 && !refused {
            text.push_str(nothing);
        }
        self.say(&text);
        let is_needed = self.is_new || wanted > 0;
        let agreed = is_needed && self.is_agreed(wanted)?;
        let mut failed = Vec::new();
        let mut damage = None;
        if agreed && self.is_new {
            let workspace = Workspace::init(self.places.root(), self.environment).map_err(Failure::usage)?;
            self.say("the workspace is made\n");
            damage = self.tell_loss(&workspace)?;
        }
        if agreed && wanted > 0 {
            let mut changed = 0;
            for (change, file) in &self.changes {
                match make(&mut self.installed, change, file) {
                    Ok(()) => changed += usize::from(change.is_wanted()),
                    Err(error) => failed.push(error.to_string()),
                }
            }
            self.say(&format!("{changed} of {wanted} files changed\n"));
            self.say(&self.next_steps(next));
            self.say(done);
        } else if is_needed && !agreed && !self.choice.dry_run {
            self.say("nothing was written: say y on a terminal, or pass --yes\n");
        }
        if self.global.json {
            let root = self.places.root().display().to_string();
            let files: Vec<Value> = self.changes.iter().map(|(change, _)| self.json(change)).collect();
            let written = agreed && failed.is_empty();
            let mut whole = json!({
                "workspace": root, "is_new": self.is_new, "written": written, "files": files, "failed": failed,
                "damage": damage,
            });
            let kept = self
                .kept
                .iter()
                .map(|(change, other)| json!({ "path": self.path(change), "for": other.name }));
            if self.removes {
                whole["kept"] = kept.collect();
            }
            output::print_json(&whole)?;
        } else if !failed.is_empty() {
            return Err(Failure::internal(failed.join("; ")));
        }
        match self.unsaid {
            _ if !failed.is_empty() || refused => Err(Failure::Broken),
            Some(unsaid) => Err(unsaid),
            None => Ok(()),
        }
    }

    /// Tells what is missing of the memory that lay here, and returns it. Where all of it is missing, the operator begins
    /// anew: the settings were removed too.
    fn tell_loss(&mut self, workspace: &Workspace) -> Result<Option<String>, Failure> {
        let lost = || {
            let standing = standing::Standing::of(workspace, self.environment.state_home.as_deref())?;
            Ok::<_, LedgerError>(standing.damage.filter(Damage::stops_writes).map(|damage| damage.loss))
        };
        let Some(Loss { from, fault, .. }) = lost()? else { return Ok(None) };
        let may_begin = from == 0 && self.is_operator();
        if may_begin && workspace.begin_anew().map_err(Failure::usage)? && lost()?.is_none() {
            self.say(&output::fitted(&format!("{fault}; a new one begins\n")));
            return Ok(None);
        }
        self.say(&output::fitted(&format!("{fault}; writes wait in the spool: {}\n", Damage::FIX)));
        Ok(Some(fault))
    }

    /// Whether a human at a terminal types it, and nothing names an agent.
    fn is_operator(&self) -> bool {
        let named = [self.global.agent.as_deref(), self.environment.agent.as_deref()];
        let is_agent = |name: &str| name != AgentId::operator().as_str();
        !named.into_iter().flatten().any(is_agent) && surroundings().human().is_ok()
    }

    /// Prints a text, unless the output has failed: the reader may be `head`.
    fn say(&mut self, text: &str) {
        if !self.global.json && self.unsaid.is_none() {
            self.unsaid = output::print_text(text).err();
        }
    }

    /// The next steps of each changed client, one line each.
    fn next_steps(&self, next: impl Fn(&Client, &Places) -> Vec<String>) -> String {
        let mut clients: Vec<&Client> = Vec::new();
        for (change, _) in self.changes.iter().filter(|(change, _)| change.is_wanted()) {
            if !clients.iter().any(|client| client.name == change.client.name) {
                clients.push(change.client);
            }
        }
        let of = |client: &&Client| {
            let steps = next(client, &self.places);
            steps
                .into_iter()
                .map(|step| output::fitted(&format!("- {}: {step}\n", client.title)))
                .collect::<String>()
        };
        clients.iter().map(of).collect()
    }

    /// The changes as a table, one row a file.
    fn table(&self) -> String {
        let mut rows: Vec<[String; 4]> = Vec::new();
        for (change, file) in self.changes.iter().filter(|(change, _)| change.is_wanted()) {
            let holds: Vec<&str> = changed(change, file).into_iter().map(held).collect();
            rows.push([change.client.title.to_owned(), self.path(change), holds.join(", "), change.lines()]);
        }
        if rows.is_empty() {
            return String::new();
        }
        rows.insert(0, ["client", "file", "what", "change"].map(str::to_owned));
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (first, second, third) = (width(0), width(1), width(2));
        let mut text = String::new();
        let mut above = String::new();
        for [client, path, holds, lines] in rows {
            let shown = if client == above { "" } else { client.as_str() };
            text.push_str(&format!("{shown:first$}  {path:second$}  {holds:third$}  {lines}\n"));
            above = client;
        }
        text
    }

    /// The changes line by line.
    fn diffs(&self) -> String {
        let wanted = self.changes.iter().map(|(change, _)| change).filter(|change| change.is_wanted());
        let shown = |change: &Change| {
            let path = self.path(change);
            format!("\n{}: {path}\n{}", change.client.title, change.diff(&path).replace("\r\n", "\n"))
        };
        wanted.map(shown).collect()
    }

    /// What is not changed, and why.
    fn left_alone(&self) -> String {
        let mut text = self.shared();
        for (change, _) in &self.changes {
            let (title, path) = (change.client.title, self.path(change));
            if let Edit::Refused(problem) = &change.edit {
                text.push_str(&format!("\n{title}: {path} is left alone: {problem}\n"));
            }
            if change.is_taken {
                text.push_str(&format!(
                    "{title}: {path} has a server `hivemind` of your own, which is left as it is\n"
                ));
            }
        }
        text
    }

    /// The files that other clients read too, and what becomes of them.
    fn shared(&self) -> String {
        let mut text = String::new();
        for (change, other) in &self.kept {
            let (path, title) = (self.path(change), other.title);
            let names = format!("{},{}", change.client.name, other.name);
            let user = if self.level == Level::User { " --user" } else { "" };
            text.push_str(&output::fitted(&format!(
                "{path} stays: {title} reads it too; `hm uninit{user} --clients {names}` removes it\n"
            )));
        }
        for (change, _) in self.changes.iter().filter(|(change, _)| change.is_wanted()) {
            let (readers, loses) = match self.removes {
                true => (self.other_readers(change), ", and loses Hivemind there"),
                false => (self.readers(change, CLIENTS.iter()), ""),
            };
            let titles: Vec<&str> = readers.iter().map(|other| other.title).collect();
            if !titles.is_empty() {
                text.push_str(&format!("{} reads {} too{loses}\n", titles.join(" and "), self.path(change)));
            }
        }
        text
    }

    fn json(&self, change: &Change) -> Value {
        let (edit, problem) = match &change.edit {
            Edit::Write(_) => ("write", None),
            Edit::Delete => ("delete", None),
            Edit::Nothing => ("nothing", None),
            Edit::Refused(problem) => ("refused", Some(problem)),
        };
        let path = self.path(change);
        json!({
            "client": change.client.name, "diff": change.diff(&path), "path": path, "outcome": edit,
            "problem": problem, "taken": change.is_taken,
        })
    }

    /// The path of a change, relative to the project if it lies there.
    fn path(&self, change: &Change) -> String {
        change.path.strip_prefix(self.places.root()).unwrap_or(&change.path).display().to_string()
    }

    /// Whether the run may write, because a person agreed or can be asked.
    fn writes(&self) -> bool {
        self.choice.yes || !self.choice.dry_run && output::can_ask()
    }

    fn is_agreed(&self, wanted: usize) -> Result<bool, Failure> {
        if self.choice.yes || self.choice.dry_run || self.global.json {
            return Ok(self.choice.yes);
        }
        let files = if wanted == 1 { "this file".to_owned() } else { format!("these {wanted} files") };
        let question = match (self.is_new, wanted) {
            (true, 0) => "\nMake this workspace?".to_owned(),
            (true, _) => format!("\nMake this workspace and change {files}?"),
            (false, _) => format!("\nChange {files}?"),
        };
        let shows = |answer: &str| (answer == "d").then(|| self.diffs());
        Ok(output::agreed_after(&question, "y/N/d, d shows each line", shows)?.unwrap_or(false))
    }
}

/// What `hm uninit` leaves, and what to delete to be rid of it. In a repository the memory lies in the git directory.
fn stays(workspace: &Workspace, state: Option<&Path>) -> String {
    let root = workspace.root();
    let is_here = std::env::current_dir().is_ok_and(|here| here == root);
    let place =
        |path: &Path| path.strip_prefix(root).ok().filter(|_| is_here).unwrap_or(path).display().to_string();
    let (settings, memory) = (workspace.marker_dir(), workspace.memory());
    let mut text = match memory.starts_with(&settings) {
        true => format!("The memory and its settings stay in {}/.\n", place(&settings)),
        false => {
            format!("The memory stays in {}/ and its settings in {}/.\n", place(memory), place(&settings))
        }
    };
    let artifacts = root.join("artifacts");
    if workspace.experiments().is_dir() && artifacts.is_dir() {
        text.push_str(&format!("{}/ has the results of its runs.\n", place(&artifacts)));
    }
    for mirror in mirror::known(workspace).unwrap_or_default() {
        text.push_str(&format!("Its mirror {mirror} stays.\n"));
    }
    for file in workspace.files_with_a_section(&section::NAMES) {
        text.push_str(&format!("The section of `hm export` stays in {}.\n", place(&file)));
    }
    text.push_str("To forget everything, delete these.\n");
    if let Some(state) = state.filter(|state| state.is_dir()) {
        let state = state.display();
        text.push_str(&format!(
            "{state}/ has the keys and seals of all your memories, of this one too: keep it.\n"
        ));
    }
    output::fitted(&text)
}

/// The parts of a file that a change adds, alters or takes out.
fn changed<'f>(change: &Change, file: &'f ConfigFile) -> Vec<&'f Entry> {
    let before = change.before.as_deref().unwrap_or_default();
    let after = match &change.edit {
        Edit::Write(text) => text,
        Edit::Delete => "",
        Edit::Nothing | Edit::Refused(_) => before,
    };
    let [Ok(before), Ok(after)] = [before, after].map(|text| clients::standings(file, text)) else {
        return file.entries.iter().collect();
    };
    let stood = before.into_iter().zip(after);
    file.entries
        .iter()
        .zip(stood)
        .filter(|(_, (before, after))| before != after)
        .map(|(entry, _)| entry)
        .collect()
}

/// A part of a file, in one word or two.
fn held(entry: &Entry) -> &'static str {
    match entry {
        Entry::Server(_) => "server",
        Entry::Hooks(_) => "hooks",
        Entry::StatusLine => "status line",
        Entry::AllowRule => "allow rule",
    }
}

/// What a person may ask `hm init` for, beside what it wrote.
fn offers(client: &Client, level: Level, places: &Places) -> Vec<String> {
    let wanted = |file: ConfigFile| {
        let text = file.text().ok()??;
        let file = file.with(Extras::ALL);
        Some(file.entries.iter().zip(clients::standings(&file, &text).ok()?).collect::<Vec<_>>())
    };
    let found = client.files(level, places).into_iter().filter_map(wanted).flatten();
    let absent = found.filter(|(_, standing)| *standing == Standing::Absent);
    let offer = |(entry, _): (&Entry, Standing)| match entry {
        Entry::AllowRule => Some(
            "it asks before each tool of Hivemind, which only write to the memory: `hm init --allow` ends that",
        ),
        Entry::StatusLine => Some("`hm init --statusline` shows the team below its prompt"),
        Entry::Server(_) | Entry::Hooks(_) => None,
    };
    absent.filter_map(offer).map(str::to_owned).collect()
}

/// The sentence about a client that has the plugin.
fn with_plugin(client: &Client) -> String {
    output::fitted(&format!(
        "{}: its plugin `hivemind` has server and hooks, so nothing is written for it; to write its files all the same, \
         for colleagues without the plugin, run `hm init --clients {}`\n",
        client.title, client.name
    ))
}

/// The steps that a person must take before the client serves the memory.
fn steps(client: &Client, places: &Places, of_user: bool) -> Vec<String> {
    let wanted = |trust: Trust| match trust {
        Trust::Waiting { what, fix } | Trust::Missing { what, fix } => Some(format!("{what}: {fix}")),
        Trust::Unknown(why) => Some(why),
        Trust::Given(_) => None,
    };
    clients::trust(client, places, !of_user).into_iter().filter_map(wanted).collect()
}

/// Prints the entries for a client of any name.
fn print(client: &str, places: &Places, json: bool) -> Result<(), Failure> {
    let (title, snippets) = clients::printed(client, places);
    let mut text = format!("{title}: add to what is there already\n");
    for clients::Snippet { place, text: held } in &snippets {
        text.push_str(&format!("\n{place}:\n{held}"));
    }
    let files: Vec<Value> =
        snippets.iter().map(|file| json!({ "place": file.place, "text": file.text })).collect();
    output::print(json, &text, &json!({ "client": title, "files": files }))
}

fn named(names: &[String]) -> Result<Vec<&'static str>, Failure> {
    let known = || CLIENTS.iter().map(|client| client.name).collect::<Vec<_>>().join(", ");
    let find = |name: &String| {
        Client::named(name.trim())
            .map(|client| client.name)
            .ok_or_else(|| {
                Failure::usage(format!(
                    "no client is called `{name}`; there are: {}; for any other one `hm init --print {name}` says what \
                     goes where",
                    known()
                ))
            })
    };
    names.iter().map(find).collect()
}

impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        match error {
            InstallError::NoHome | InstallError::Record { .. } | InstallError::Changed(_) => {
                Self::usage(error)
            }
            InstallError::Io { .. } => Self::internal(error),
        }
    }
}
