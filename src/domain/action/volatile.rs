//! Masks the parts that differ between two runs of the same command: directory, hashes, temporary files, ports,
//! times.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Directories for temporary files.
const TEMPORARY: [&str; 8] = [
    "/tmp/",
    "/var/tmp/",
    "/private/tmp/",
    "/var/folders/",
    "/private/var/folders/",
    "/dev/shm/",
    "$TMPDIR/",
    "$TMP/",
];
/// The fewest hex digits of a hash; git shortens hashes to this length.
const SHORTEST_HASH: usize = 7;
/// The fewest digits of a date.
const DIGITS_OF_A_DATE: usize = 8;
/// The longest extension of a file name, such as `.jsonl` and `.sqlite`.
const LONGEST_EXTENSION: usize = 6;

/// A date with or without a time, with or without separators. Epoch seconds and milliseconds are handled in
/// [`run`].
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\d{4}-[01]\d-[0-3]\d(?:[T_ -]?[0-2]\d[:.h-]?[0-5]\d(?:[:.m-]?[0-5]\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?|20\d\d[01]\d[0-3]\d[T_-][0-2]\d[0-5]\d(?:[0-5]\d)?Z?",
    )
});
static UUID: LazyLock<Regex> =
    LazyLock::new(|| regex("(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
/// A port after a host.
static HOST_PORT: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(://[^/:\s]+|localhost|\d\.\d{1,3}\.\d{1,3}|\]):\d{1,5}"));
/// A port after any other name. A number of up to three digits may be the tag of an image or a line number.
static PORT: LazyLock<Regex> = LazyLock::new(|| regex(r":\d{4,5}([/:]|$)"));
/// A port mapping of a container.
static PORTS: LazyLock<Regex> = LazyLock::new(|| regex(r"^\d{2,5}:\d{2,5}$"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of our own, used by the tests below")
}

/// Absolute paths: the directory of a command, and the root of its workspace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'p> {
    pub(super) cwd: &'p str,
    pub(super) root: &'p str,
}

impl Place<'_> {
    /// The normal form of a path: relative to the root if it lies in the workspace, else absolute.
    pub(super) fn path(self, path: &str) -> String {
        let path = absolute(path, self.cwd);
        below(&path, self.root).map_or(path.clone(), str::to_owned)
    }

    /// Whether the normal form of a path shows the directory of the command: the path lies in the workspace or is
    /// relative to the directory.
    pub(super) fn says(self, path: &str) -> bool {
        !path.starts_with('/') || below(&absolute(path, self.cwd), self.root).is_some()
    }
}

/// An absolute path without `.`, `..` and doubled slashes.
pub(super) fn absolute(path: &str, cwd: &str) -> String {
    let from = if path.starts_with('/') { "" } else { cwd };
    let mut parts: Vec<&str> = Vec::new();
    for part in from.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

/// A path relative to a directory above it; the directory itself is `.`.
pub(super) fn below<'p>(path: &'p str, root: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    if rest.is_empty() { Some(".") } else { rest.strip_prefix('/').filter(|_| !root.is_empty()) }
}

/// The normal form of a word of a command, and whether it shows the directory of the command.
pub(super) fn word(word: &str, place: Place<'_>) -> (String, bool) {
    // `--config=./a.toml`, `OUT=./target`: only the value is masked.
    if let Some((name, value)) = word.split_once('=')
        && !value.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    {
        let (value, says_where) = self::word(value, place);
        let value = if is_port_option(name) { port(&value) } else { value };
        return (format!("{name}={value}"), says_where);
    }
    let word = varying_masked(word);
    // `tests/test_pool.py::test_get`
    let path = word.split_once("::").map_or(word.as_str(), |(path, _)| path);
    let rest = &word[path.len()..];
    if is_path(path) {
        (masked(&format!("{}{rest}", place.path(path))), place.says(path))
    } else {
        (masked(&word), false)
    }
}

/// The value of an option for ports.
pub(super) fn port(value: &str) -> String {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { "{port}".to_owned() } else { value.to_owned() }
}

/// Whether the word after this one is a port.
pub(super) fn is_port_option(option: &str) -> bool {
    option.starts_with('-') && option.to_ascii_lowercase().ends_with("port")
}

/// Whether a word looks like a file name.
fn is_path(word: &str) -> bool {
    if word.starts_with(['-', '@', '~', '$', '{'])
        || word.contains(|c: char| c.is_whitespace() || matches!(c, '@' | ':' | '='))
    {
        return false;
    }
    if word == "." || word == ".." || word.contains('/') {
        return true;
    }
    has_extension(word)
}

fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        stem.bytes().any(|byte| byte.is_ascii_alphabetic())
            && (1..=LONGEST_EXTENSION).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            && extension.bytes().any(|byte| byte.is_ascii_lowercase())
    })
}

/// Hex digits in an address from which on they may be a key.
const KEY_DIGITS: usize = 32;

/// The text without the parts that differ between runs.
pub(super) fn masked(text: &str) -> String {
    let is_temporary =
        |directory: &str| text.starts_with(directory) || text == directory.trim_end_matches('/');
    if TEMPORARY.into_iter().any(is_temporary) {
        // A script keeps its name, because the name tells what runs. Other temporary names are generated.
        let name = text.rsplit('/').next().unwrap_or_default();
        let named = has_extension(name) && !name.starts_with("tmp.");
        return if named { format!("{{tmp}}/{}", masked(name)) } else { "{tmp}".to_owned() };
    }
    let parts: Vec<&str> =
        text.split('/').map(|part| if is_made_up(part) { "{tmp}" } else { part }).collect();
    varying_masked(&parts.join("/"))
}

/// The record of a line with the values that its masks hide and the agent chose: another commit, another port, another date. A
/// generated name stays masked, and so does a long number that may be a key.
pub fn restored(record: &str, line: &str) -> String {
    let mut restored = record.to_owned();
    let mut before = "";
    for word in line.split(|c: char| c.is_whitespace() || "\"'`".contains(c)) {
        let is_written = before.ends_with('>') || word.contains('>');
        let is_port = is_port_option(before);
        before = word;
        let hidden = if is_port { port(word) } else { varying_masked(word) };
        let is_generated = masked(word).contains("{tmp}") || may_be_key(word);
        if hidden == word || is_written || is_generated {
            continue;
        }
        match restored.find(&hidden) {
            Some(at) => restored.replace_range(at..at + hidden.len(), word),
            None => {
                restored.push(' ');
                restored.push_str(word);
            }
        }
    }
    restored
}

/// Whether a word holds as many hex digits in a row as a key, and more than an id of a commit is usually typed with.
fn may_be_key(word: &str) -> bool {
    word.contains("://") && word.split(|c: char| !c.is_ascii_hexdigit()).any(|run| run.len() >= KEY_DIGITS)
}

/// Masks hashes, times and ports anywhere in a text.
fn varying_masked(text: &str) -> String {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 {
        return text.to_owned();
    }
    // A hook lives for milliseconds and compiling a pattern takes one, so only patterns that may match are
    // compiled.
    let mut text = Cow::Borrowed(text);
    if text.contains('-') {
        text = UUID.replace_all(&text, "{uuid}").into_owned().into();
    }
    if digits >= DIGITS_OF_A_DATE {
        text = TIME.replace_all(&text, "{time}").into_owned().into();
    }
    if text.contains(':') {
        text = PORTS.replace_all(&text, "{port}:{port}").into_owned().into();
        text = HOST_PORT.replace_all(&text, "${1}:{port}").into_owned().into();
        text = PORT.replace_all(&text, ":{port}${1}").into_owned().into();
    }
    runs_masked(&text)
}

/// Masks each run of letters and digits that is a hash or a time.
fn runs_masked(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        masked.push_str(run(word).unwrap_or(word));
        let next = after.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(after.len());
        masked.push_str(&after[..next]);
        rest = &after[next..];
    }
    masked
}

/// The mask for a run of letters and digits that differs between runs.
fn run(word: &str) -> Option<&'static str> {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    if digits == word.len() {
        // Dates, and epoch seconds and milliseconds of 2001 to 2033.
        let is_epoch = matches!(digits, 10 | 13) && word.starts_with('1');
        let is_date =
            digits == 8 && word.starts_with("20") && (1..=12).contains(&word[4..6].parse().unwrap_or(0));
        return (is_epoch || is_date).then_some("{time}");
    }
    let is_hash =
        word.len() >= SHORTEST_HASH && digits > 0 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some("{hash}")
}

/// Whether a tool such as `mktemp` generated a name: `tmp.Ab3dE9`, `.tmpx81Qz2`.
fn is_made_up(name: &str) -> bool {
    let name = name.strip_prefix('.').unwrap_or(name);
    name.strip_prefix("tmp").map(|rest| rest.trim_start_matches(['.', '-', '_'])).is_some_and(|rest| {
        rest.len() >= 6
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && rest.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{Place, word};

    #[test]
    fn words_are_spelled_alike_wherever_and_whenever() {
        let place = Place { cwd: "/ws/web", root: "/ws" };
        let words = [
            "./a.ts",
            "../web/a.ts",
            "/ws/web/a.ts",
            "/ws/web//a.ts",
            "a.ts",
            "src/",
            ".",
            "..",
            "../../other/x.rs",
            "/wsx/a.ts",
            "/etc/hosts",
            "build",
            "--config=./a.toml",
            "OUT=/ws/out",
            "--",
            "-Wall",
            "@types/node",
            "origin/main",
            "HEAD~3",
            "https://host:8080/x",
            "localhost:3000",
            "127.0.0.1:80",
            "host:5432/db",
            "8080:80",
            "postgres:16",
            "ubuntu:22.04",
            "--port=3000",
            "--jobs=3000",
            "a.rs:12",
            "t/test_a.py::test_b",
            "/tmp/tmp.Ab3dE9/out",
            "/tmp/x/bench.py",
            "$TMPDIR/a",
            "/var/folders/zz/T/x",
            "/dev/null",
            "tmp.Ab3dE9xYz1",
            ".tmpx81Qz2",
            "tmpfiles",
            "1a2b3c4",
            "defaced",
            "1234567",
            "x86_64",
            "sha256",
            "deps/foo-1a2b3c4d5e6f7a8b",
            "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d48",
            "2026-11-20",
            "2026-11-20T22:10:00Z",
            "log-20261120-221000.txt",
            "1763672400",
            "backup_1763672400123.tar",
            "20261120",
            "12345678",
            "v1.2.3",
            "3.12",
            "{tmp}/bench.py",
            "",
        ];
        let lines: Vec<String> = words
            .iter()
            .map(|given| {
                let (normal, says_where) = word(given, place);
                format!("{given} -> {normal}{}", if says_where { " (says where)" } else { "" })
            })
            .collect();
        expect![[r#"
            ./a.ts -> web/a.ts (says where)
            ../web/a.ts -> web/a.ts (says where)
            /ws/web/a.ts -> web/a.ts (says where)
            /ws/web//a.ts -> web/a.ts (says where)
            a.ts -> web/a.ts (says where)
            src/ -> web/src (says where)
            . -> web (says where)
            .. -> . (says where)
            ../../other/x.rs -> /other/x.rs (says where)
            /wsx/a.ts -> /wsx/a.ts
            /etc/hosts -> /etc/hosts
            build -> build
            --config=./a.toml -> --config=web/a.toml (says where)
            OUT=/ws/out -> OUT=out (says where)
            -- -> --
            -Wall -> -Wall
            @types/node -> @types/node
            origin/main -> web/origin/main (says where)
            HEAD~3 -> HEAD~3
            https://host:8080/x -> https://host:{port}/x
            localhost:3000 -> localhost:{port}
            127.0.0.1:80 -> 127.0.0.1:{port}
            host:5432/db -> host:{port}/db
            8080:80 -> {port}:{port}
            postgres:16 -> postgres:16
            ubuntu:22.04 -> ubuntu:22.04
            --port=3000 -> --port={port}
            --jobs=3000 -> --jobs=3000
            a.rs:12 -> a.rs:12
            t/test_a.py::test_b -> web/t/test_a.py::test_b (says where)
            /tmp/tmp.Ab3dE9/out -> {tmp}
            /tmp/x/bench.py -> {tmp}/bench.py
            $TMPDIR/a -> {tmp}
            /var/folders/zz/T/x -> {tmp}
            /dev/null -> /dev/null
            tmp.Ab3dE9xYz1 -> {tmp}
            .tmpx81Qz2 -> {tmp}
            tmpfiles -> tmpfiles
            1a2b3c4 -> {hash}
            defaced -> defaced
            1234567 -> 1234567
            x86_64 -> x86_64
            sha256 -> sha256
            deps/foo-1a2b3c4d5e6f7a8b -> web/deps/foo-{hash} (says where)
            0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d48 -> {uuid}
            2026-11-20 -> {time}
            2026-11-20T22:10:00Z -> {time}
            log-20261120-221000.txt -> web/log-{time}.txt (says where)
            1763672400 -> {time}
            backup_1763672400123.tar -> web/backup_{time}.tar (says where)
            20261120 -> {time}
            12345678 -> 12345678
            v1.2.3 -> v1.2.3
            3.12 -> 3.12
            {tmp}/bench.py -> {tmp}/bench.py
             -> "#]]
        .assert_eq(&lines.join("\n"));
    }

    /// The record of a line as a loop compares it.
    fn compared(line: &str) -> String {
        use super::super::{normalise, record, restored};
        let runs: Vec<String> = normalise(line, "/w", "/w").iter().map(ToString::to_string).collect();
        restored(&record(line, &runs.join(" ; ")), line)
    }

    /// Red before: whatever else varied in a line with a commit, a port or a time, it was another command.
    #[test]
    fn a_command_keeps_its_commit_or_port_however_its_output_is_cut() {
        for (command, expected) in [
            ("pytest a.py --base http://localhost:8001", "pytest a.py --base http://localhost:8001"),
            ("git cherry-pick a1b2c3d4e5", "git cherry-pick a1b2c3d4e5"),
            ("pytest b.py --since 2026-01-01T10:00:00Z", "pytest b.py --since 2026-01-01T10:00:00Z"),
            ("./v --port 8001", "v --port 8001"),
            ("./v main --out /tmp/tmp.a1b2c3d4e5", "v main --out {tmp}"),
        ] {
            for cut in ["", " 2>&1 | tail -5", " | head -40", " > run-2026-01-02.log"] {
                assert_eq!(compared(&format!("{command}{cut}")), expected, "{cut}");
            }
            assert_eq!(compared(&format!("cd . && {command}")), expected);
        }
        // The end of an address that a service gave out is a key.
        let hook = "curl -f https://hooks.example.com/s/0123456789abcdef0123456789abcdef -d x";
        assert!(!compared(hook).contains("0123456789abcdef"), "{}", compared(hook));
    }
}
