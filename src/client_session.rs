//! The session that the client of a pane is in. The client's hooks record it under the client's process id, and
//! its server reads it.
//!
//! A client passes its session to every hook, but not to every server. Gemini CLI passes none. Claude Code
//! passes another one after `--continue` and an old one after `/clear` (`tests/clients.sh` shows both).
//!
//! Without hooks, the first accepted write of the client's shell records the session with its agent. The read models know
//! the agent of a session only if the session started or took a seat.
//!
//! A server that no hook gave a session leaves a record of its own, with its client process. The record of an ended server
//! counts for as long as its client runs, because the client is the pane and not the server.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::domain::agent::AgentId;
use crate::domain::ids::SessionId;
use crate::private;
use crate::system;
use crate::workspace::Workspace;

/// Suffix of a file that is being written.
const NEW: &str = ".new";
/// Suffix of a file whose client has ended.
const GONE: &str = ".gone";
/// Suffix of a file whose client left the session and may enter another one.
const LEFT: &str = ".left";
/// How long the record of an ended client is kept.
const FORGOTTEN_AFTER_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// The record of the session of one client process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSession {
    dir: PathBuf,
    client: u32,
}

impl ClientSession {
    /// The record of the client that runs as process `client`. That is the parent of its server and of its
    /// hooks. Claude Code runs hooks below a shell, so it passes its process id in `CLAUDE_PID`.
    pub fn of(workspace: &Workspace, client: u32) -> Self {
        Self { dir: workspace.client_sessions(), client }
    }

    /// Every recorded session of this workspace, and whether one of its clients runs.
    pub fn all(workspace: &Workspace) -> BTreeMap<SessionId, bool> {
        let mut all = BTreeMap::new();
        for entry in fs::read_dir(workspace.client_sessions()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.ends_with(NEW)) else { continue };
            let Some(noted) = Noted::read(&entry.path()) else { continue };
            let is_running = |process| noted.is_of(process) && is_running(process);
            let runs = name.parse().is_ok_and(is_running) || noted.has_client();
            *all.entry(noted.session).or_default() |= runs;
        }
        all
    }

    /// The sessions of servers that a client started, directly or through a launcher, and that are sessions of their own,
    /// because no hook recorded one. Running servers come first, then ended ones.
    pub fn of_servers_below(workspace: &Workspace, client: u32) -> impl Iterator<Item = SessionId> {
        Self::servers_below(workspace, client).into_iter().map(|(_, noted)| noted.session)
    }

    /// Like [`ClientSession::of_servers_below`], without the server that is this process, each with its agent where it is
    /// pinned.
    pub fn of_other_servers(
        workspace: &Workspace,
        client: u32,
    ) -> impl Iterator<Item = (SessionId, Option<AgentId>)> {
        let others = Self::servers_below(workspace, client).into_iter();
        let others = others.filter(|(server, _)| *server != Some(std::process::id()));
        others.map(|(_, noted)| (noted.session, noted.agent))
    }

    /// The records of the servers of a client, each with its process if that runs.
    fn servers_below(workspace: &Workspace, client: u32) -> Vec<(Option<u32>, Noted)> {
        let named = system::name_of(client);
        let is_below = |server: Option<u32>, noted: &Noted| match &noted.client {
            Some(of) => *of == named,
            None => server.is_some_and(|server| system::is_below_client(server, client)),
        };
        let mut below: Vec<(Option<u32>, Noted)> =
            noted_in(workspace).filter(|(server, noted)| is_below(*server, noted)).collect();
        below.sort_by_key(|(server, _)| server.is_none());
        below
    }

    /// The agent of a session, where the first write of a shell or of a pinned server left the record.
    pub fn agent_in(workspace: &Workspace, session: &SessionId) -> Option<AgentId> {
        let mut noted = noted_in(workspace)
            .filter(|(process, noted)| process.is_some() || noted.has_client())
            .map(|(_, noted)| noted);
        noted.find(|noted| noted.agent.is_some() && noted.session == *session)?.agent
    }

    /// The session that the client is in; `None` when there is no record of one.
    pub fn current(&self) -> Option<SessionId> {
        Some(self.read(&self.file())?.session)
    }

    /// The session that the first write of the client's shell recorded, with its agent.
    pub fn named(&self) -> Option<(SessionId, Option<AgentId>)> {
        let noted = self.read(&self.file())?;
        Some((noted.session, Some(noted.agent?)))
    }

    /// The session that the client is in, or was in last.
    pub fn last(&self) -> Option<SessionId> {
        self.current().or_else(|| Some(self.read(&self.left())?.session))
    }

    fn read(&self, file: &Path) -> Option<Noted> {
        Noted::read(file).filter(|noted| noted.is_of(self.client))
    }

    /// Whether another running client is in a session.
    pub fn is_elsewhere(&self, session: &SessionId) -> bool {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let clients = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut others = clients.filter(|client| *client != self.client && is_running(*client));
        others.any(|client| Self { dir: self.dir.clone(), client }.current().as_ref() == Some(session))
    }

    /// Records that the client is now in this session, and marks the records of ended clients.
    pub fn enter(&self, session: &SessionId) -> io::Result<()> {
        self.record(&format!("{session}\n\n{}", system::name_of(self.client)))
    }

    /// Like [`ClientSession::enter`], with the agent of the session.
    pub fn enter_as(&self, session: &SessionId, agent: &AgentId) -> io::Result<()> {
        self.record(&format!("{session}\n{agent}\n{}", system::name_of(self.client)))
    }

    /// Records the session of a server, with its agent if it is pinned. `client` is the process of its client.
    pub fn enter_below(&self, session: &SessionId, agent: Option<&AgentId>, client: u32) -> io::Result<()> {
        let agent = agent.map_or("", AgentId::as_str);
        let (own, client) = (system::name_of(self.client), system::name_of(client));
        self.record(&format!("{session}\n{agent}\n{own}\n{client}"))
    }

    fn record(&self, text: &str) -> io::Result<()> {
        // It does not make the memory's directory when that is missing.
        private::create_dir_in(&self.dir)?;
        self.forget_the_dead()?;
        let beside = self.dir.join(format!("{}{NEW}", self.client));
        let mut file = private::options().write(true).create(true).truncate(true).open(&beside)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&beside, self.file())
    }

    /// Records that the client left this session. A session that it entered meanwhile stays.
    pub fn leave(&self, session: &SessionId) -> io::Result<()> {
        if self.current().is_some_and(|current| current != *session) {
            return Ok(());
        }
        match fs::rename(self.file(), self.left()) {
            Err(problem) if problem.kind() != io::ErrorKind::NotFound => Err(problem),
            _ => Ok(()),
        }
    }

    fn file(&self) -> PathBuf {
        self.dir.join(self.client.to_string())
    }

    fn left(&self) -> PathBuf {
        self.dir.join(format!("{}{LEFT}", self.client))
    }

    /// Marks the records of ended clients: a killed client leaves its record, and the system reuses its process
    /// id. The mark is kept for a while, to tell that the session has no running client.
    fn forget_the_dead(&self) -> io::Result<()> {
        let now = system::now();
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // Another hook may have removed the file first.
            if name.ends_with(GONE) {
                if system::modified(&path).is_some_and(|at| now.ms() - at.ms() > FORGOTTEN_AFTER_MS) {
                    let _ = fs::remove_file(path);
                }
                continue;
            }
            // Takes only the names that this module gives: a number, alone or with `.new` or `.left`.
            let is_whole = !name.ends_with(NEW) && !name.ends_with(LEFT);
            let number = name.strip_suffix(NEW).or_else(|| name.strip_suffix(LEFT)).unwrap_or(name);
            let client = number.parse().ok();
            let is_over = || Noted::read(&path).is_none_or(|noted| !noted.has_client());
            if client.is_some_and(|client| client != self.client && !is_running(client)) && is_over() {
                let _ = match !is_whole {
                    true => fs::remove_file(path),
                    false => fs::rename(&path, self.dir.join(format!("{name}{GONE}"))),
                };
            }
        }
        Ok(())
    }
}

/// The records of running processes, each with its process, and those that a process which ended or left its session has
/// left behind.
fn noted_in(workspace: &Workspace) -> impl Iterator<Item = (Option<u32>, Noted)> {
    let entries = fs::read_dir(workspace.client_sessions()).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name();
        let name = name.to_str()?;
        let number = name.strip_suffix(LEFT).unwrap_or(name);
        let process: u32 = number.parse().ok()?;
        let noted = Noted::read(&entry.path())?;
        let is_there = number == name && noted.is_of(process) && is_running(process);
        Some((is_there.then_some(process), noted))
    })
}

/// What a record says.
#[derive(Debug)]
struct Noted {
    session: SessionId,
    /// The agent of the write that left the record.
    agent: Option<AgentId>,
    /// The name of the process, so that the record does not count for another process with the same id. Records of older
    /// releases have none.
    process: Option<String>,
    /// The name of the process of the client that started this server.
    client: Option<String>,
}

impl Noted {
    fn read(file: &Path) -> Option<Self> {
        let text = private::read_to_string(file).ok()?;
        let recorded = |agent: &str| (!agent.is_empty()).then(|| AgentId::recorded(agent));
        let owned = |name: &str| Some(name.to_owned());
        let (session, agent, process, client) = match text.lines().collect::<Vec<&str>>()[..] {
            [session] => (session, None, None, None),
            [session, agent, process] => (session, recorded(agent), owned(process), None),
            [session, agent, process, client] => (session, recorded(agent), owned(process), owned(client)),
            _ => return None,
        };
        Some(Self { session: session.parse().ok()?, agent, process, client })
    }

    /// Whether this is the record of a server whose client runs.
    fn has_client(&self) -> bool {
        self.client.as_ref().is_some_and(|client| {
            let process = client.split('-').next().and_then(|process| process.parse().ok());
            process.is_some_and(|process| system::name_of(process) == *client)
        })
    }

    fn is_of(&self, process: u32) -> bool {
        self.process.as_ref().is_none_or(|named| *named == system::name_of(process))
    }
}

#[cfg(unix)]
fn is_running(process: u32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    // A process that this user may not signal exists.
    process.is_some_and(|process| test_kill_process(process) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_running(_: u32) -> bool {
    true
}
