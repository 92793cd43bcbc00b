//! A shim between a process and the kernel: what it recorded of a process, and which of its calls fail.
#![cfg(target_os = "linux")]

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::OnceLock;

/// The calls of the shim, as it numbers them.
const WRITE: u32 = 1;
const SYNC: u32 = 2;
const TRUNCATE: u32 = 3;
const RENAME: u32 = 4;
const UNLINK: u32 = 5;
const CREATE: u32 = 6;
const LINK: u32 = 7;
/// Not a call: what a test noted between them.
const NOTE: u32 = 100;

/// The shim, compiled once for this run of the tests. Bundled SQLite needs the same compiler.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/faults/shim.c");
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
        std::fs::create_dir_all(dir).expect("a directory for what tests make");
        // Several runs of the tests may build it at once; each puts a whole file in place.
        let made = dir.join(format!("shim-{}.so", std::process::id()));
        let mut compiler = Process::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&made).arg(source).arg("-lpthread");
        let output = compiler.output().expect("a C compiler called cc");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let library = dir.join("shim.so");
        std::fs::rename(&made, &library).expect("a directory to rename in");
        library
    })
}

/// What the shim is told, and where it answers. Everything lies in a directory of its own, next to nothing
/// that is looked at.
pub(crate) struct Shim {
    below: PathBuf,
    dir: tempfile::TempDir,
    plan: Option<Plan>,
}

/// Which call fails, and how.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// `write`, `sync`, `truncate`, `rename`, `unlink` or `open`.
    pub call: String,
    /// With what; 0 kills the process.
    pub error: i32,
    /// The first one to fail, counted in each process from 1.
    pub nth: u32,
    /// Whether all after it fail as well.
    pub forever: bool,
    /// How the path ends; `*` is any.
    pub file: String,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, error, nth, forever, file } = self;
        let times = if *forever { "forever" } else { "once" };
        write!(f, "{call} {} {nth} {times} {file}", error)
    }
}

impl std::str::FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no plan: CALL ERRNO NTH TIMES FILE");
        let [call, error, nth, times, file] = *text.split(' ').collect::<Vec<_>>() else {
            return Err(wrong());
        };
        Ok(Self {
            call: call.to_owned(),
            error: error.parse().map_err(|_| wrong())?,
            nth: nth.parse().map_err(|_| wrong())?,
            forever: times == "forever",
            file: file.to_owned(),
        })
    }
}

impl Shim {
    /// A shim that looks at the files below a directory.
    pub(crate) fn below(dir: &Path, plan: Option<Plan>) -> Self {
        let below = dir.canonicalize().expect("a directory to look at");
        Self { below, dir: tempfile::tempdir().expect("a temporary directory"), plan }
    }

    /// Puts the shim between a process, and all that it starts, and the kernel.
    pub(crate) fn around(&self, process: &mut Process, records: bool) {
        process.env("LD_PRELOAD", library()).env("HM_SHIM_BELOW", &self.below);
        process.env("HM_SHIM_FIRED", self.fired_file()).env("HM_SHIM_LIFTED", self.lifted_file());
        if records {
            process.env("HM_SHIM_RECORD", self.recording());
        }
        if let Some(plan) = &self.plan {
            process.env("HM_SHIM_PLAN", plan.to_string());
        }
    }

    fn fired_file(&self) -> PathBuf {
        self.dir.path().join("fired")
    }

    fn lifted_file(&self) -> PathBuf {
        self.dir.path().join("lifted")
    }

    /// Where calls are recorded.
    pub(crate) fn recording(&self) -> PathBuf {
        self.dir.path().join("recording")
    }

    /// The file whose call failed first; `None` when the fault never fired.
    pub(crate) fn fired(&self) -> Option<String> {
        std::fs::read_to_string(self.fired_file()).ok()
    }

    /// From now on nothing fails.
    pub(crate) fn lift(&self) {
        File::create(self.lifted_file()).expect("a directory to write in");
    }
}

/// What was recorded, in order.
pub(crate) fn calls(recording: &Path) -> Vec<Call> {
    let bytes = std::fs::read(recording).expect("a recording");
    let mut rest = &bytes[..];
    std::iter::from_fn(|| Call::next(&mut rest)).collect()
}

/// Adds a note to a recording: everything above it came before.
pub(crate) fn note(recording: &Path, text: &str) {
    let mut record: Vec<u8> = [NOTE, 0, 0, text.len() as u32].iter().flat_map(|n| n.to_le_bytes()).collect();
    record.extend([0; 8]);
    record.extend(text.as_bytes());
    let mut file = File::options().append(true).open(recording).expect("a recording");
    file.lock().expect("the lock of the shim");
    file.write_all(&record).expect("a recording that grows");
}

/// Something that took place. Paths are relative to the directory looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    Write { path: String, offset: usize, data: Vec<u8> },
    Sync { path: String, failed: bool },
    Truncate { path: String, len: usize },
    Rename { from: String, to: String },
    Unlink { path: String },
    Create { path: String },
    Link { from: String, to: String },
    Note(String),
}

impl Call {
    /// The file whose content it writes or syncs; none is "".
    pub(crate) fn touches(&self) -> &str {
        if let Self::Write { path, .. } | Self::Sync { path, .. } = self { path } else { "" }
    }

    /// What a test noted here.
    pub(crate) fn note(&self) -> Option<&str> {
        if let Self::Note(text) = self { Some(text) } else { None }
    }

    /// Layout: `note` in `faults/shim.c`.
    fn next(rest: &mut &[u8]) -> Option<Self> {
        let mut take = |len: usize| -> Option<&[u8]> {
            let (taken, left) = rest.split_at_checked(len)?;
            *rest = left;
            Some(taken)
        };
        let head = take(24)?;
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let offset = u64::from_le_bytes(head[16..].try_into().expect("eight bytes")) as usize;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("paths of tests are text");
        let path = text(take(word(8) as usize)?);
        let data = take(word(12) as usize)?.to_vec();
        Some(match word(0) {
            WRITE => Self::Write { path, offset, data },
            SYNC => Self::Sync { path, failed: word(4) != 0 },
            TRUNCATE => Self::Truncate { path, len: offset },
            RENAME => Self::Rename { from: path, to: text(&data) },
            UNLINK => Self::Unlink { path },
            CREATE => Self::Create { path },
            LINK => Self::Link { from: path, to: text(&data) },
            NOTE => Self::Note(text(&data)),
            other => panic!("no call has the number {other}"),
        })
    }
}
