//! The part of an output that stays the same when a command does the same again. Durations, clock times, temporary
//! paths, process ids, addresses and rates are masked. Counts stay, because `3 failed` after `2 failed` is progress.

use super::volatile::masked;

/// First words of the lines in which build tools report their own progress. The lines depend on the cache.
const PROGRESS: [&str; 14] = [
    "Blocking",
    "Building",
    "Checking",
    "Compiling",
    "Documenting",
    "Downloaded",
    "Downloading",
    "Fetching",
    "Finished",
    "Fresh",
    "Locking",
    "Resolving",
    "Running",
    "Updating",
];
/// Units of durations, after a number.
const UNITS: [&str; 24] = [
    "ns",
    "us",
    "µs",
    "μs",
    "ms",
    "s",
    "m",
    "h",
    "d",
    "sec",
    "secs",
    "second",
    "seconds",
    "min",
    "mins",
    "minute",
    "minutes",
    "hour",
    "hours",
    "hrs",
    "msec",
    "millis",
    "milliseconds",
    "microseconds",
];
/// Words before a number that identifies a process, a run or a seed.
const BEFORE_IDS: [&str; 14] = [
    "pid", "ppid", "pgid", "tid", "process", "job", "seed", "thread", "worker", "port", "request", "trace",
    "session", "build",
];
/// The fewest digits of a number in brackets that is a process id and no count.
const DIGITS_OF_A_PID: usize = 4;

/// The steady part of an output. Its lines are sorted, because tools that work in parallel print them in any order.
pub fn steady(output: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in output.lines() {
        // A tool that redraws its line separates the states with carriage returns.
        let line = line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or_default().trim();
        if line.is_empty() || line.split_whitespace().next().is_some_and(|word| PROGRESS.contains(&word)) {
            continue;
        }
        lines.push(steady_line(line));
    }
    lines.sort_unstable();
    lines.join("\n")
}

/// One line of an output without the parts that vary.
pub(super) fn steady_line(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut kept: Vec<String> = Vec::with_capacity(words.len());
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let (open, core, close) = parts(word);
        let before = at.checked_sub(1).map_or(String::new(), |at| bare(words[at]));
        let next = words.get(at + 1).map(|next| parts(next));
        let unit = next.filter(|_| is_number(core) && close.is_empty()).filter(|(_, unit, _)| {
            UNITS.contains(unit) && *unit != "m" && *unit != "d" && *unit != "h" || is_rate(unit)
        });
        at += 1;
        if let Some((_, _, after)) = unit {
            at += 1;
            kept.push(format!("{open}{{time}}{after}"));
        } else if is_number(core) && BEFORE_IDS.contains(&before.as_str()) {
            kept.push(format!("{open}{{id}}{close}"));
        } else {
            kept.push(format!("{open}{}{close}", steady_word(core, open, close)));
        }
    }
    kept.join(" ")
}

/// A word between the punctuation around it.
fn parts(word: &str) -> (&str, &str, &str) {
    let is_around = |c: char| "()[]{}<>\"'`,;:!?=|*".contains(c);
    let start = word.find(|c| !is_around(c)).unwrap_or(word.len());
    let end = word
        .rfind(|c| !is_around(c) && c != '.')
        .map_or(start, |at| at + word[at..].chars().next().map_or(0, char::len_utf8));
    let end = end.max(start);
    (&word[..start], &word[start..end], &word[end..])
}

fn steady_word(word: &str, open: &str, close: &str) -> String {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    // The name of a log of npm is the time of the run.
    if word.ends_with("-debug-0.log") {
        return "{log}".to_owned();
    }
    if let Some(at) = ["/tmp/", "/var/folders/"].iter().find_map(|dir| word.find(dir)).filter(|at| *at > 0) {
        return format!("{}{}", &word[..at], masked(&word[at..]));
    }
    if digits == 0 {
        return masked(word);
    }
    if word.split(['-', '_', '/', ':', '=', '.']).any(is_token) {
        let parts = word.split_inclusive(['-', '_', '/', ':', '=', '.']);
        let kept = parts.map(|part| {
            if is_token(part.trim_end_matches(['-', '_', '/', ':', '=', '.'])) { "{id}" } else { part }
        });
        return masked(&kept.collect::<String>());
    }
    let is_bracketed = open.ends_with(['(', '[', '=']) && close.starts_with([')', ']', '=']);
    if is_number(word) && is_bracketed && word.len() >= DIGITS_OF_A_PID {
        return "{id}".to_owned();
    }
    if is_duration(word) || is_clock(word) || is_rate(word) {
        return "{time}".to_owned();
    }
    if let Some((name, _)) = word.split_once(['=', ':']).filter(|(name, value)| {
        !name.is_empty() && (is_duration(value) || is_number(value) && is_id_name(name))
    }) {
        return format!("{name}={{id}}");
    }
    // AddressSanitizer and valgrind write the process as `==12345==`.
    if open.ends_with("==")
        && let Some((number, rest)) = word.split_once("==")
        && is_number(number)
    {
        return format!("{{id}}=={rest}");
    }
    if word.starts_with("0x") || is_address(word) {
        return "{hex}".to_owned();
    }
    masked(word)
}

fn is_id_name(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_lowercase();
    BEFORE_IDS.contains(&name.as_str())
}

fn is_number(word: &str) -> bool {
    !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b',')
        && word.starts_with(|c: char| c.is_ascii_digit())
}

/// `3.21s`, `12ms`, `1m20s`, `1m`, `0:00:03.2`; but no `3d` as in `3d model`, where a bare letter follows no fraction.
fn is_duration(word: &str) -> bool {
    let mut rest = word.trim_start_matches('~').trim_start_matches('+');
    let mut units = 0;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        if number == 0 {
            return false;
        }
        let after = &rest[number..];
        let unit = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        if !UNITS.contains(&&after[..unit]) {
            return false;
        }
        units += 1;
        rest = &after[unit..];
    }
    units > 0
}

/// `12:34`, `12:34:56`, `12:34:56.789`, with or without a zone. A place in a file such as `10:5` is none.
fn is_clock(word: &str) -> bool {
    let word = word.trim_end_matches('Z').split(['+']).next().unwrap_or_default();
    let parts: Vec<&str> = word.split(':').collect();
    let two = |part: &&str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    match parts.as_slice() {
        [hour, minute] => two(hour) && two(minute),
        [hour, minute, second] => {
            let whole = second.split(['.', ',']).next().unwrap_or_default();
            (two(hour) || hour.len() == 1 && hour.bytes().all(|b| b.is_ascii_digit()))
                && two(minute)
                && two(&whole)
        }
        _ => false,
    }
}

/// `12.3MB/s`, `5 it/s`.
fn is_rate(word: &str) -> bool {
    word.strip_suffix("/s").or_else(|| word.strip_suffix("/sec")).is_some_and(|amount| {
        amount.starts_with(|c: char| c.is_ascii_digit()) || amount.len() <= 5 && !amount.is_empty()
    })
}

/// A random token such as `8aX2kQ9zPm`: both cases and two digits at least.
fn is_token(word: &str) -> bool {
    word.len() >= 8
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && word.bytes().filter(u8::is_ascii_digit).count() >= 2
        && word.bytes().any(|byte| byte.is_ascii_lowercase())
        && word.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// An address without `0x`: eight or more hex digits, with letters and digits, or `7f1c2d3e4f5a`.
fn is_address(word: &str) -> bool {
    word.len() >= 12 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A word in lower case without the punctuation around it.
fn bare(word: &str) -> String {
    parts(word).1.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::steady;

    /// Each pair is two outputs of the same thing.
    #[test]
    fn what_varies_from_run_to_run_is_masked() {
        for (one, other) in [
            (
                "test result: FAILED. 3 passed; 1 failed; finished in 0.34s",
                "test result: FAILED. 3 passed; 1 failed; finished in 1.02s",
            ),
            ("2 failed, 3 passed in 4.12 seconds", "2 failed, 3 passed in 11.9 seconds"),
            ("==== 1 failed in 0.45s (0:00:01) ====", "==== 1 failed in 0.51s (0:01:02) ===="),
            ("12:01:07 ERROR pool exhausted", "12:44:59 ERROR pool exhausted"),
            ("2026-11-20T22:10:00Z error", "2026-11-21T01:02:03Z error"),
            ("[4711] connection refused", "[50123] connection refused"),
            ("worker pid 812 died", "worker pid 99120 died"),
            ("open /tmp/tmp.Ab3dE9xYz1/a: no such file", "open /tmp/tmp.Zz9dE9xQq1/a: no such file"),
            ("panic at 0x7ffe1234abcd", "panic at 0x55e01234ffff"),
            ("==12345==ERROR: AddressSanitizer", "==99123==ERROR: AddressSanitizer"),
            (
                "thread 'pool' (81234) panicked at src/a.rs:4:5",
                "thread 'pool' (9100) panicked at src/a.rs:4:5",
            ),
            ("Randomized with seed 12345", "Randomized with seed 777"),
            ("a ok\nb FAILED", "b FAILED\na ok"),
            ("   Compiling shop v0.1.0\nerror: x", "error: x"),
            ("downloaded 12 files 3.1 MB/s", "downloaded 12 files 44.0 MB/s"),
            ("Tests: 1 failed, 4 total\nTime: 1.2 s", "Tests: 1 failed, 4 total\nTime: 3 s"),
            ("took=31ms", "took=4ms"),
            (
                "npm error log: /home/t/.npm/_logs/2026-11-20T22_10_00_123Z-debug-0.log",
                "npm error log: /home/t/.npm/_logs/2026-11-20T22_14_31_777Z-debug-0.log",
            ),
            ("PosixPath('/tmp/pytest-of-t/pytest-12/a0')", "PosixPath('/tmp/pytest-of-t/pytest-13/a0')"),
            ("request req_8aX2kQ9zPm failed", "request req_9bY3lR8wQn failed"),
            ("connect ECONNREFUSED 127.0.0.1:40213", "connect ECONNREFUSED 127.0.0.1:51877"),
            ("Duration  1.31s (transform 91ms, setup 0ms)", "Duration  944ms (transform 80ms, setup 1ms)"),
        ] {
            assert_eq!(steady(one), steady(other));
        }
    }

    #[test]
    fn what_tells_progress_stays() {
        for (one, other) in [
            ("3 failed, 1 passed", "2 failed, 1 passed"),
            ("src/a.rs:4:5: error", "src/a.rs:14:5: error"),
            ("error: mismatched types", "error: unknown field"),
            ("coverage 41%", "coverage 43%"),
            ("(12) errors", "(11) errors"),
            ("left: 10, right: 12", "left: 11, right: 12"),
            ("line 3", "line 5"),
            ("bundle 300 kB", "bundle 200 kB"),
            ("expected 1200 rows", "expected 1300 rows"),
        ] {
            assert_ne!(steady(one), steady(other));
        }
    }
}
