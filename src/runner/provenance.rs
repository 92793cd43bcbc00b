//! Where a run ran: the repository, the program, the environment, the machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::artifacts::hash_file;

/// The most lines of `git status` that are kept; more are counted.
const MAX_STATUS_LINES: usize = 200;
/// The largest program that is hashed, in bytes: hashing must not outlast the run.
const MAX_PROGRAM_BYTES: u64 = 64 << 20;

/// A repository before a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Git {
    /// The commit; none before the first one.
    pub sha: Option<String>,
    /// The branch; none when detached.
    pub branch: Option<String>,
    /// Whether anything differs from the commit, files git does not know included.
    pub dirty: bool,
    /// What `git status --porcelain` says, at most 200 lines.
    pub status_porcelain: Vec<String>,
    /// Lines left out of it.
    pub status_omitted: usize,
}

impl Git {
    /// What git says of a directory; nothing outside a repository or without git.
    pub fn of(dir: &Path, environment: &BTreeMap<String, String>) -> Option<Self> {
        let mut command = Command::new("git");
        command
            // A monitor is a program of the repository's choosing, and a status must not write.
            .args([
                "-c",
                "core.fsmonitor=false",
                "--no-optional-locks",
                "status",
                "--porcelain=v2",
                "--branch",
            ])
            .current_dir(dir)
            .env_clear()
            .envs(environment.iter().filter(|(name, _)| ["PATH", "HOME"].contains(&name.as_str())))
            .stdin(Stdio::null());
        let output = command.output().ok().filter(|output| output.status.success())?;
        Some(Self::parse(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Reads the second form of `git status`, and writes its lines in the first, which people know.
    fn parse(text: &str) -> Self {
        let mut git = Self::default();
        for line in text.lines() {
            let mut words = line.splitn(3, ' ');
            match (words.next(), words.next(), words.next()) {
                (Some("#"), Some("branch.oid"), Some(sha)) if sha != "(initial)" => {
                    git.sha = Some(sha.to_owned())
                }
                (Some("#"), Some("branch.head"), Some(head)) if head != "(detached)" => {
                    git.branch = Some(head.to_owned());
                }
                (Some("#"), ..) => {}
                (Some("?"), ..) => git.changed(format!("?? {}", line.get(2..).unwrap_or_default())),
                // What follows the state: 6 fields, 7 of a rename, 8 of a conflict, then the path.
                (Some(kind @ ("1" | "2" | "u")), Some(state), Some(rest)) => {
                    let fields = match kind {
                        "1" => 7,
                        "2" => 8,
                        _ => 9,
                    };
                    let path = rest.splitn(fields, ' ').last().unwrap_or_default();
                    git.changed(format!("{} {}", state.replace('.', " "), path.replace('\t', " <- ")));
                }
                _ => {}
            }
        }
        git
    }

    fn changed(&mut self, line: String) {
        self.dirty = true;
        if self.status_porcelain.len() < MAX_STATUS_LINES {
            self.status_porcelain.push(line);
        } else {
            self.status_omitted += 1;
        }
    }
}

/// A program as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Where it lies.
    pub path: PathBuf,
    /// SHA-256 of the file, hex; none of a very large one.
    pub sha256: Option<String>,
}

impl Program {
    pub(super) fn at(path: PathBuf) -> Self {
        let small = std::fs::metadata(&path).is_ok_and(|meta| meta.len() <= MAX_PROGRAM_BYTES);
        let sha256 = small.then(|| hash_file(&path).ok()).flatten();
        Self { path, sha256 }
    }
}

/// The machine and what ran the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The operating system, such as `linux`.
    pub platform: String,
    /// The processor, in the names of seed 004: `x64`, `arm64`.
    pub arch: String,
    /// The version of the kernel.
    pub kernel: String,
    /// How many processors a run may use.
    pub cores: usize,
    /// The version of Hivemind.
    pub hivemind: String,
}

impl Host {
    /// This machine.
    pub fn here() -> Self {
        let arch = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        #[cfg(unix)]
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        #[cfg(not(unix))]
        let kernel = String::new();
        Self {
            platform: std::env::consts::OS.to_owned(),
            arch: arch.to_owned(),
            kernel,
            cores: cores(),
            hivemind: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// How many processors there are to run on, at least 1.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// One value for one environment: HMAC-SHA-256 of its sorted `NAME=value` lines. Keyed, because a plain hash of
/// few unknown values can be guessed at.
pub(super) fn fingerprint(environment: &BTreeMap<String, String>, key: &[u8; 32]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    for (name, value) in environment {
        for part in [name.as_bytes(), b"=", value.as_bytes(), b"\0"] {
            mac.update(part);
        }
    }
    hex::encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::Git;

    #[test]
    fn a_status_is_read() {
        let status = "# branch.oid 5f3c1e\n# branch.head main\n# branch.upstream origin/main\n\
            1 .M N... 100644 100644 100644 aaaa bbbb src/a file.rs\n\
            2 R. N... 100644 100644 100644 aaaa bbbb R100 new.rs\told.rs\n\
            u UU N... 100644 100644 100644 100644 aaaa bbbb cccc both.rs\n? notes.txt\n";
        expect![[r#"
            Git {
                sha: Some(
                    "5f3c1e",
                ),
                branch: Some(
                    "main",
                ),
                dirty: true,
                status_porcelain: [
                    " M src/a file.rs",
                    "R  new.rs <- old.rs",
                    "UU both.rs",
                    "?? notes.txt",
                ],
                status_omitted: 0,
            }
        "#]]
        .assert_debug_eq(&Git::parse(status));
        let empty = Git::parse("# branch.oid (initial)\n# branch.head (detached)\n");
        assert_eq!(empty, Git::default());
    }
}
