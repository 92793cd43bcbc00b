//! The experiment runner with real programs: what reaches them, what they leave, and that nothing of them stays.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hivemind::domain::privacy::{Secrets, redacted};
use hivemind::domain::time::Timestamp;
use hivemind::runner::artifacts::{self, Broken};
use hivemind::runner::capture::{Captured, recorded};
use hivemind::runner::helper::Helper;
use hivemind::runner::order::{Message, StreamKey};
use hivemind::runner::profile::{Expect, Profile, Request};
use hivemind::runner::provenance::Host;
use hivemind::runner::report::{Relation, Report, State};
use hivemind::runner::result::{ExperimentResult, Record, Subject};
use hivemind::runner::{Order, Plan, tree};
use hivemind::system;
use serde_json::Value;
use uuid::Uuid;

use crate::harness::{HM, long, wait_until};
use crate::privacy::telling_parts;
use crate::secrets::{Random, planted, secret};

/// Spec 10: what a run may take beyond its timeout; the rest is a slow machine starting processes.
const AFTER_TIMEOUT: Duration = Duration::from_secs(2);
const SLOW_MACHINE: Duration = Duration::from_secs(1);

/// A directory to run in, and the runs' own.
struct Lab {
    dir: tempfile::TempDir,
}

impl Lab {
    fn new() -> Self {
        let lab = Self { dir: tempfile::tempdir().expect("a temporary directory") };
        fs::create_dir(lab.cwd()).expect("a directory to run in");
        lab
    }

    fn cwd(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("its real path").join("shop")
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.cwd().join(name);
        fs::write(&path, text).expect("a file");
        path
    }

    /// What a human would type; it must end within 20 s.
    fn typed(&self, argv: &[&str]) -> Plan {
        let argv = argv.iter().map(|text| (*text).to_owned()).collect();
        Plan::typed(argv, self.cwd(), 20_000).expect("a command")
    }

    /// A line for a shell: the shell is the program under test, not ours.
    fn sh(&self, script: &str) -> Plan {
        self.typed(&["sh", "-c", script])
    }

    fn order(&self, plan: Plan) -> Order {
        let run_id = system::new_id();
        Order {
            run_id,
            plan,
            artifacts: self.dir.path().join("experiments").join(run_id.to_string()),
            key: StreamKey::new([7; 32]),
            secret_patterns: Vec::new(),
            subject: None,
            about: None,
        }
    }

    async fn run(&self, plan: Plan) -> Report {
        finished(&self.order(plan)).await
    }
}

async fn finished(order: &Order) -> Report {
    let mut helper = Helper::start(Path::new(HM), order).await.expect("a helper");
    report(&mut helper).await
}

async fn report(helper: &mut Helper) -> Report {
    loop {
        match helper.next().await.expect("a report before the end") {
            Message::Progress(_) => {}
            Message::Finished(report) => return *report,
            Message::Lost(problem) => panic!("no report: {problem}"),
        }
    }
}

fn stored(report: &Report, name: &str) -> String {
    fs::read_to_string(report.artifacts.join(name)).expect("a stored file")
}

/// The processes of a run that are alive after its report. Its helper reports first and ends then.
fn left(run: Uuid, mark: &str) -> Vec<String> {
    alive(run, mark).into_iter().filter(|process| !process.trim_end().ends_with("hm runner")).collect()
}

/// Processes that this run marked, or whose command line holds a text.
fn alive(run: Uuid, text: &str) -> Vec<String> {
    let mark = format!("{}={run}", tree::RUN_VARIABLE);
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("a list of processes").flatten() {
        let read = |name: &str| {
            String::from_utf8_lossy(&fs::read(entry.path().join(name)).unwrap_or_default()).into_owned()
        };
        let command = read("cmdline").replace('\0', " ");
        if read("environ").split('\0').any(|line| line == mark) || !text.is_empty() && command.contains(text)
        {
            found.push(format!("{} {command}", entry.file_name().display()));
        }
    }
    found
}

#[tokio::test]
async fn a_run_leaves_its_streams_its_facts_and_its_hashes() {
    let lab = Lab::new();
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "x"],
    ] {
        let status = Command::new("git").args(args).current_dir(lab.cwd()).status().expect("git runs");
        assert!(status.success());
    }
    let plan = Plan {
        expect: Some(Expect { exit: 3, fails: BTreeSet::new(), ran: None, failed: None }),
        ..lab.sh("echo out; echo err >&2; pwd; exit 3")
    };
    let clean = lab.run(plan.clone()).await;
    assert_eq!((clean.meta.state, clean.meta.exit.code), (State::Succeeded, Some(3)));
    assert_eq!(clean.meta.relation(), Some(Relation::Supports));
    assert_eq!(stored(&clean, artifacts::STDOUT), format!("out\n{}\n", lab.cwd().display()));
    assert_eq!(stored(&clean, artifacts::STDERR), "err\n");
    let git = clean.meta.git.clone().expect("a repository");
    assert_eq!(
        (git.branch.as_deref(), git.dirty, git.sha.map_or(0, |sha| sha.len())),
        (Some("main"), false, 40)
    );
    let program = clean.meta.program.clone().expect("a program");
    assert_eq!(program.sha256, artifacts::hash_file(&program.path).ok());
    for (name, mode) in
        [("", 0o700), (artifacts::STDOUT, 0o600), (artifacts::META, 0o600), (artifacts::RESULT, 0o600)]
    {
        let meta = fs::metadata(clean.artifacts.join(name)).expect("an artifact");
        assert_eq!(meta.permissions().mode() & 0o777, mode, "{name}");
    }
    assert_eq!(fs::read_dir(&clean.artifacts).expect("the directory").count(), 4);
    assert_eq!(artifacts::read_meta(&clean.artifacts).as_ref(), Ok(&clean.meta));

    lab.file("new.rs", "fn main() {}");
    let dirty = lab
        .run(Plan {
            expect: Some(Expect { exit: 0, fails: BTreeSet::new(), ran: None, failed: None }),
            ..plan
        })
        .await;
    assert_eq!((dirty.meta.state, dirty.meta.relation()), (State::Failed, Some(Relation::Contradicts)));
    assert_eq!(dirty.meta.git.as_ref().expect("a repository").status_porcelain, ["?? new.rs"]);
    assert!(clean.meta.is_reproducible() && !dirty.meta.is_reproducible());
    assert_eq!(dirty.meta.stdout.raw_hmac_sha256, clean.meta.stdout.raw_hmac_sha256);
    assert_eq!(dirty.meta.env_fingerprint, clean.meta.env_fingerprint);
}

#[tokio::test]
async fn a_changed_artifact_is_named() {
    let lab = Lab::new();
    let report = lab.run(lab.sh("echo out; echo err >&2")).await;
    let verify = || artifacts::verify(&report.artifacts, &report.meta_sha256);
    assert_eq!(verify(), []);
    for name in [artifacts::STDOUT, artifacts::STDERR, artifacts::RESULT, artifacts::META] {
        let path = report.artifacts.join(name);
        let whole = fs::read(&path).expect("an artifact");
        for at in (0..whole.len()).step_by(whole.len().div_ceil(25)) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            fs::write(&path, flipped).expect("a change");
            let first = verify().into_iter().next();
            assert!(
                matches!(&first, Some(Broken::Changed { file, .. }) if file == name),
                "{name} {at}: {first:?}"
            );
        }
        fs::remove_file(&path).expect("it can be removed");
        let first = verify().into_iter().next();
        assert!(matches!(&first, Some(Broken::Unreadable { file, .. }) if file == name), "{name}: {first:?}");
        fs::write(&path, whole).expect("as it was");
    }
    assert_eq!(verify(), []);
}

/// Texts that mean something to a shell, an option parser, a path or a terminal.
fn injections() -> Vec<String> {
    let mut random = Random(500);
    let parts = [
        "; touch canary",
        "$(touch canary)",
        "`touch canary`",
        "| touch canary",
        "&& touch canary",
        "\n touch canary",
        "> canary",
        "'",
        "\"",
        "\\",
        "-rf",
        "--exec=touch canary",
        "-",
        "..",
        "../../canary",
        "/etc/passwd",
        "\0",
        "${HOME}",
        "$IFS",
        "*",
        "?",
        "~",
        "%s%n",
        "{n}",
        "{0}",
        "#",
        "!",
        "é",
        "日本",
        "\u{202e}",
        "\x1b[2J",
        "\r",
        " ",
        "\t",
        "a",
        "src/pool.rs",
        "%0a",
        "\u{feff}",
        "=",
        "\u{7f}",
    ];
    let mut texts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
    while texts.len() < 500 {
        texts.push((0..1 + random.below(4)).map(|_| random.one(&parts)).collect());
    }
    texts
}

#[tokio::test]
async fn five_hundred_injections_become_one_argument_or_nothing() {
    let lab = Lab::new();
    fs::create_dir(lab.cwd().join("src")).expect("a directory");
    lab.file("src/pool.rs", "");
    let of_kind = |kind: &str| {
        let text = format!(
            "description = 'x'\nargv = ['printf', '[%s]', 'first', '{{v}}', 'a{{v}}z', 'last']\ntimeout_ms = 20000\n[params.v]\n{kind}"
        );
        Profile::parse("p".parse().expect("a name"), &text).expect("a profile")
    };
    let (any, path) = (of_kind("kind = 'regex'\npattern = '(?s).*'"), of_kind("kind = 'path'"));
    let (mut ran, mut refused) = (0, 0);
    let request = |text: &String| Request {
        args: BTreeMap::from([("v".to_owned(), text.clone())]),
        ..Request::default()
    };
    for text in injections() {
        // Of paths only what is there passes, and it is one file.
        if let Ok(plan) = path.plan(&request(&text), &lab.cwd()) {
            let below = lab.cwd().join(&plan.argv[3]).canonicalize().expect("a file that is there");
            assert!(below.starts_with(lab.cwd()), "{text:?} became {below:?}");
        }
        let Ok(plan) = any.plan(&request(&text), &lab.cwd()) else {
            assert!(
                text.starts_with('-') || text.chars().any(char::is_control),
                "refused without need: {text:?}"
            );
            refused += 1;
            continue;
        };
        ran += 1;
        assert_eq!(
            plan.argv[2..],
            ["first".to_owned(), text.clone(), format!("a{text}z"), "last".to_owned()]
        );
        // Every fifth is enough to show that what is in the plan is what arrives.
        if ran % 5 == 0 {
            let report = lab.run(plan).await;
            let (shown, _) = recorded(
                format!("[first][{text}][a{text}z][last]").as_bytes(),
                &Secrets::default(),
                &[0; 32],
            );
            assert_eq!(stored(&report, artifacts::STDOUT), shown);
        }
    }
    assert!(ran > 150 && refused > 150, "{ran} ran, {refused} were refused");
    assert!(!lab.cwd().join("canary").exists(), "something was executed");
}

#[tokio::test]
async fn only_what_is_allowed_is_inherited() {
    let lab = Lab::new();
    let text =
        "description = 'x'\nargv = ['env']\ntimeout_ms = 20000\n[env]\npass = ['XDG_STATE_HOME', 'NOT_SET']";
    let profile = Profile::parse("p".parse().expect("a name"), text).expect("a profile");
    let report = lab.run(profile.plan(&Request::default(), &lab.cwd()).expect("a plan")).await;
    let shown = stored(&report, artifacts::STDOUT);
    let mut names: Vec<&str> =
        shown.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    let allowed = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "XDG_STATE_HOME", "HM_RUN_ID"];
    assert!(
        names.contains(&"XDG_STATE_HOME") && names.iter().all(|name| allowed.contains(name)),
        "{names:?}"
    );
    assert!(!shown.contains("CARGO"), "cargo sets a dozen variables for this test");
    let inherited = lab.run(lab.typed(&["env"])).await;
    assert!(
        stored(&inherited, artifacts::STDOUT).contains("CARGO_MANIFEST_DIR="),
        "a human's own environment"
    );
}

#[tokio::test]
async fn what_cannot_start_is_aborted_and_says_why() {
    let lab = Lab::new();
    let script = lab.file("script", "echo a shell read this\n");
    let plain = lab.file("plain.txt", "#!/bin/sh\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its mode");
    let orphan = lab.file("orphan", "#!/no/such/interpreter\n");
    fs::set_permissions(&orphan, fs::Permissions::from_mode(0o755)).expect("its mode");
    for (program, why) in [
        ("no-such-program", "is not on the PATH"),
        ("./no-such-file", "is not on the PATH"),
        (script.to_str().expect("text"), "neither a binary nor a script"),
        (plain.to_str().expect("text"), "no executable file"),
        ("./orphan", "could not be started"),
        (".", "is not on the PATH"),
        ("./", "no executable file"),
    ] {
        let plan = Plan {
            expect: Some(Expect { exit: 0, fails: BTreeSet::new(), ran: None, failed: None }),
            ..lab.typed(&[program])
        };
        let report = lab.run(plan).await;
        let problem = report.meta.problem.clone().unwrap_or_default();
        assert!(report.meta.state == State::Aborted && problem.contains(why), "{program}: {problem}");
        assert_eq!((report.meta.relation(), report.meta.stdout.total_bytes), (None, 0));
        assert_eq!(artifacts::verify(&report.artifacts, &report.meta_sha256), []);
    }
}

/// Runs a script for half a second, and says how long it took beyond that.
async fn timed_out(lab: &Lab, plan: Plan) -> (Report, Duration) {
    let timeout = Duration::from_millis(500);
    let order = lab.order(Plan { timeout_ms: 500, ..plan });
    let started = system::instant();
    let report = finished(&order).await;
    (report, started.elapsed().saturating_sub(timeout))
}

#[tokio::test]
async fn a_daemonising_grandchild_does_not_outlive_its_run() {
    let lab = Lab::new();
    // It leaves session, group and parents, forgets its environment, ignores what asks it to leave, and holds
    // both pipes open.
    let mark = format!("31{:09}", system::now().ms() % 1_000_000_000);
    let daemon = format!("(setsid env -i sh -c 'trap \"\" TERM HUP INT; sleep {mark}; sleep {mark}' &) ");
    let (report, beyond) = timed_out(&lab, lab.sh(&format!("{daemon}; echo started; sleep 60"))).await;
    assert_eq!((report.meta.state, report.meta.left_behind), (State::TimedOut, 0));
    assert!(beyond < AFTER_TIMEOUT + SLOW_MACHINE, "it took {beyond:?} beyond its timeout");
    assert_eq!(left(report.meta.run_id, &mark), [""; 0]);
    assert_eq!(stored(&report, artifacts::STDOUT), "started\n");

    // The first process leaves at once: the run is over, and so is the daemon.
    let started = system::instant();
    let report = lab.run(lab.sh(&format!("{daemon}; echo started"))).await;
    assert_eq!((report.meta.state, report.meta.stdout.cut_off), (State::Succeeded, false));
    assert!(started.elapsed() < AFTER_TIMEOUT + SLOW_MACHINE, "{:?}", started.elapsed());
    assert_eq!(left(report.meta.run_id, &mark), [""; 0]);
}

#[tokio::test]
async fn a_crowd_that_keeps_starting_more_is_ended() {
    let lab = Lab::new();
    let mark = format!("32{:09}", system::now().ms() % 1_000_000_000);
    let crowd = format!(
        "trap '' TERM; while :; do for i in 1 2 3; do (setsid sleep {mark} &); done; sleep 0.02; done"
    );
    let (report, beyond) = timed_out(&lab, lab.sh(&crowd)).await;
    assert_eq!((report.meta.state, report.meta.left_behind), (State::TimedOut, 0));
    assert!(beyond < AFTER_TIMEOUT + SLOW_MACHINE, "it took {beyond:?} beyond its timeout");
    assert_eq!(left(report.meta.run_id, &mark), [""; 0]);
}

#[tokio::test]
async fn a_program_that_minds_the_signal_leaves_in_its_own_way() {
    let lab = Lab::new();
    let script = "trap 'echo cleaned up; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let (report, beyond) = timed_out(&lab, lab.sh(script)).await;
    assert_eq!((report.meta.state, report.meta.exit.code), (State::TimedOut, Some(9)));
    assert_eq!(stored(&report, artifacts::STDOUT), "ready\ncleaned up\n");
    assert!(beyond < tree::GRACE, "nobody waits for what has left: {beyond:?}");
    let (report, _) = timed_out(&lab, lab.typed(&["sleep", "60"])).await;
    let result: Value = serde_json::from_str(&stored(&report, artifacts::RESULT)).expect("JSON");
    assert_eq!((result["exit_code"].as_i64(), &result["status"]), (Some(124), &"blocked".into()));
}

#[tokio::test]
async fn cancelling_ends_the_run_and_keeps_what_it_said() {
    let lab = Lab::new();
    let order = lab.order(lab.sh("echo one; echo two >&2; sleep 60"));
    let mut helper = Helper::start(Path::new(HM), &order).await.expect("a helper");
    let progress = loop {
        match helper.next().await.expect("progress") {
            // Each stream has its own reader: what stderr said may be counted first.
            Message::Progress(progress) if progress.stdout_bytes > 0 && progress.stderr_bytes > 0 => {
                break progress;
            }
            Message::Progress(_) => {}
            other @ (Message::Finished(_) | Message::Lost(_)) => panic!("{other:?}"),
        }
    };
    assert_eq!((progress.stdout_bytes, progress.last_line.as_deref()), (4, Some("one")));
    let asked = system::instant();
    helper.cancel();
    let report = report(&mut helper).await;
    assert_eq!((report.meta.state, report.meta.relation()), (State::Canceled, None));
    assert!(asked.elapsed() < AFTER_TIMEOUT, "{:?}", asked.elapsed());
    assert_eq!(stored(&report, artifacts::STDOUT), "one\n");
    assert_eq!(artifacts::verify(&report.artifacts, &report.meta_sha256), []);
    // The helper itself carries the mark of the run and ends after its report.
    wait_until("nothing of it is left", || alive(order.run_id, "").is_empty());
}

#[tokio::test]
async fn a_run_does_not_outlive_whoever_started_it() {
    let lab = Lab::new();
    let order = lab.order(lab.sh("(setsid sleep 61 &); sleep 61"));
    let helper = Helper::start(Path::new(HM), &order).await.expect("a helper");
    wait_until("both sleep", || alive(order.run_id, "").len() >= 2);
    drop(helper);
    wait_until("nothing of it is left", || alive(order.run_id, "").is_empty());
    wait_until("it is written down", || order.artifacts.join(artifacts::META).exists());

    // A helper that is killed can end nothing itself: the mark finds what it left.
    let order = lab.order(lab.sh("(setsid sleep 62 &); exec sleep 62"));
    let helper = Helper::start(Path::new(HM), &order).await.expect("a helper");
    // Both are past the shell that started them.
    let sleeps =
        |found: &String| found.split_once(' ').is_some_and(|(_, command)| command.starts_with("sleep "));
    wait_until("both sleep", || alive(order.run_id, "").iter().filter(|found| sleeps(found)).count() == 2);
    let pid =
        helper.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())).expect("its process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it can be killed");
    wait_until("the program died with it", || alive(order.run_id, "").len() == 1);
    assert_eq!(tree::end_marked(order.run_id), 1);
    wait_until("nothing of it is left", || alive(order.run_id, "").is_empty());
}

#[test]
fn a_workspace_has_one_stream_key() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("stream.key");
    let keys: Vec<StreamKey> = std::thread::scope(|scope| {
        let makers: Vec<_> = (0..8).map(|_| scope.spawn(|| StreamKey::of(&file).expect("a key"))).collect();
        makers.into_iter().map(|maker| maker.join().expect("it ends")).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]) && StreamKey::of(&file).expect("a key") == keys[0]);
    assert_eq!(fs::metadata(&file).expect("the file").permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(dir.path()).expect("the directory").count(), 1);
    assert!(!format!("{:?}", keys[0]).contains(&fs::read_to_string(&file).expect("hex")[..8]));
    fs::write(&file, "no key").expect("a change");
    assert!(StreamKey::of(&file).is_err(), "a broken key is not replaced: old hashes would mean nothing");
}

/// The most memory a process ever had resident, in bytes, watched until it is gone.
fn watched_peak(pid: u32) -> (Arc<AtomicU64>, Arc<AtomicBool>) {
    let (peak, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (peak_seen, over_seen) = (peak.clone(), over.clone());
    std::thread::spawn(move || {
        while let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status"))
            && !over_seen.load(Ordering::Relaxed)
        {
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            if let Some(kb) = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()) {
                peak_seen.fetch_max(kb * 1_024, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    (peak, over)
}

#[tokio::test]
async fn long_output_is_hashed_whole_and_stored_at_both_ends_in_little_memory() {
    let lab = Lab::new();
    let mib: u64 = if long() { 1_024 } else { 32 };
    let line = "0123456789abcdef 0123456789abcdef 0123456789abcdef 0123456789ab\n";
    let bytes = mib << 20;
    let script = format!("echo the beginning; yes '{}' | head -c {bytes}; echo the end", line.trim_end());
    let plan = Plan { timeout_ms: 1_200_000, ..lab.sh(&script) };
    let order = lab.order(plan);
    let started = system::instant();
    let mut helper = Helper::start(Path::new(HM), &order).await.expect("a helper");
    let (peak, over) = watched_peak(helper.id().expect("a process"));
    let report = report(&mut helper).await;
    over.store(true, Ordering::Relaxed);
    let took = started.elapsed();
    let Captured { total_bytes, stored_bytes, truncated, raw_hmac_sha256, .. } = report.meta.stdout.clone();
    let peak = peak.load(Ordering::Relaxed);
    eprintln!("runner: {mib} MiB in {took:?}, at most {} MiB resident", peak >> 20);
    assert_eq!((total_bytes, truncated), (bytes + 22, true));
    assert!(peak > 0 && peak < 64 << 20, "{peak} bytes resident");
    let text = stored(&report, artifacts::STDOUT);
    let cap = order.plan.limits.output_cap_bytes;
    assert!(
        stored_bytes <= cap && stored_bytes > cap * 9 / 10 && stored_bytes == text.len() as u64,
        "{stored_bytes}"
    );
    assert!(text.starts_with("the beginning\n0123") && text.ends_with("the end\n"), "both ends are kept");
    let whole = text.lines().filter(|stored| *stored == line.trim_end()).count();
    let gap = format!("[... {total_bytes} bytes in all, only the beginning and the end are stored ...]");
    assert!(text.contains(&gap) && whole > text.lines().count() - 8, "lines are kept whole");
    assert_eq!(artifacts::verify(&report.artifacts, &report.meta_sha256), []);
    // The hash is over every byte as it came.
    let repeated = line.as_bytes().iter().copied().cycle().take(usize::try_from(bytes).expect("it fits"));
    let whole = b"the beginning\n".iter().copied().chain(repeated).chain(*b"the end\n");
    assert_eq!(raw_hmac_sha256, hmac(whole, &[7; 32]));
}

/// HMAC-SHA-256 as OpenSSL computes it would need a 1 GiB file; this streams the same bytes.
fn hmac(bytes: impl Iterator<Item = u8>, key: &[u8; 32]) -> String {
    use hmac::{Hmac, KeyInit, Mac};
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(key).expect("a key");
    let mut bytes = bytes.peekable();
    while bytes.peek().is_some() {
        let chunk: Vec<u8> = bytes.by_ref().take(1 << 16).collect();
        mac.update(&chunk);
    }
    hex::encode(mac.finalize().into_bytes())
}

/// Fails if a telling part of a value stands in a file of the run.
fn assert_nowhere(report: &Report, values: &[String]) {
    for entry in fs::read_dir(&report.artifacts).expect("artifacts").flatten() {
        let text = fs::read_to_string(entry.path()).expect("text").to_lowercase();
        for part in values.iter().flat_map(|value| telling_parts(value)) {
            assert!(!text.contains(&part), "{} holds {part}", entry.file_name().display());
        }
    }
}

#[tokio::test]
async fn a_secret_of_every_rule_is_redacted_wherever_it_stands() {
    let lab = Lab::new();
    let mut random = Random(7);
    // Stored whole: secrets across every place where the runner reads, cleans or redacts in steps.
    let mut text = String::new();
    let mut values = Vec::new();
    for (index, rule) in planted().into_iter().enumerate() {
        let secret = secret(rule, &mut random);
        let step = (index + 1) * (4 << 10);
        let before = random.below(secret.text.len()) + 5;
        while text.len() + before < step {
            let line = "a line of ordinary output, as programs write it";
            let _ = writeln!(text, "{}", &line[..line.len().min(step - before - text.len()).max(1) - 1]);
        }
        let _ = writeln!(text, "see {} there", secret.text);
        values.push(secret.value);
    }
    let out = lab.file("out.txt", &text);
    let report = lab.run(lab.typed(&["cat", out.to_str().expect("text")])).await;
    assert_eq!(report.meta.stdout.total_bytes, text.len() as u64);
    assert!(!report.meta.stdout.truncated && report.meta.stdout.redacted >= values.len() as u64);
    let (shown, wanted) = (stored(&report, artifacts::STDOUT), redacted(&text, &Secrets::default()));
    let differs = shown.lines().zip(wanted.lines()).find(|(shown, wanted)| shown != wanted);
    assert_eq!((differs, shown.len()), (None, wanted.len()));
    assert_nowhere(&report, &values);

    // Stored in part: secrets at both seams, at every distance, coloured, and in arguments.
    let mut text = String::new();
    let mut values = Vec::new();
    for index in 0..400 {
        let rules = planted();
        let secret = secret(rules[index % rules.len()], &mut random);
        let _ = writeln!(text, "{} \x1b[3{}m{}\x1b[0m", "x".repeat(random.below(90)), index % 8, secret.text);
        values.push(secret.value);
    }
    let out = lab.file("out.txt", &text);
    let limits = hivemind::runner::profile::Limits { output_cap_bytes: 8_192, ..Default::default() };
    let token = secret("github-token", &mut random).value;
    values.push(token.clone());
    let plan = Plan { limits, ..lab.sh("cat \"$0\"; echo \"$1\" >&2") };
    let argv = plan.argv.iter().cloned().chain([out.display().to_string(), token]).collect();
    let report = lab.run(Plan { argv, ..plan }).await;
    assert!(report.meta.stdout.truncated && report.meta.stdout.stored_bytes <= 8_192);
    assert_eq!(stored(&report, artifacts::STDERR), "[redacted:github-token]\n");
    assert_nowhere(&report, &values);
}

#[tokio::test]
async fn a_terminal_is_one_and_changes_no_byte() {
    let lab = Lab::new();
    let script = "test -t 0 && test -t 1 && ! test -t 2 && echo a terminal; tty >/dev/tty; printf 'a\\nb\\tc\\n'; echo err >&2";
    let on_terminal = lab.run(Plan { pty: true, ..lab.sh(script) }).await;
    let shown = stored(&on_terminal, artifacts::STDOUT);
    assert!(shown.starts_with("a terminal\n/dev/") && shown.ends_with("\na\nb\tc\n"), "{shown:?}");
    assert_eq!(stored(&on_terminal, artifacts::STDERR), "err\n");
    assert_eq!((on_terminal.meta.state, on_terminal.meta.stdout.cut_off), (State::Succeeded, false));
    let on_pipes = lab.run(lab.sh("test -t 1 || echo pipes; cat")).await;
    assert_eq!(stored(&on_pipes, artifacts::STDOUT), "pipes\n");
    let (report, beyond) =
        timed_out(&lab, Plan { pty: true, ..lab.sh("trap '' HUP TERM; cat; sleep 60") }).await;
    assert_eq!((report.meta.state, report.meta.left_behind), (State::TimedOut, 0));
    assert!(beyond < AFTER_TIMEOUT + SLOW_MACHINE, "{beyond:?}");
}

#[tokio::test]
async fn limits_are_in_force() {
    let lab = Lab::new();
    let limits = hivemind::runner::profile::Limits {
        open_files: 64,
        file_bytes: 1_048_576,
        cpu_seconds: 77,
        ..Default::default()
    };
    let script =
        "ulimit -c; ulimit -n; ulimit -t; grep NoNewPrivs /proc/self/status; head -c 2000000 /dev/zero > big";
    let report = lab.run(Plan { limits, ..lab.sh(script) }).await;
    assert_eq!(stored(&report, artifacts::STDOUT), "0\n64\n77\nNoNewPrivs:\t1\n");
    assert_eq!(fs::metadata(lab.cwd().join("big")).expect("its file").len(), 1_048_576);
    assert_eq!(report.meta.state, State::Failed);
}

/// Fails unless a result follows the committed schema of results.
pub(crate) fn assert_valid(result: &Value) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/experiment_result_v0.1.schema.json");
    let mut schemas = boon::Schemas::new();
    let schema = boon::Compiler::new().compile(path.to_str().expect("text"), &mut schemas).expect("a schema");
    if let Err(error) = schemas.validate(result, schema) {
        panic!("{error:#}");
    }
}

#[tokio::test]
async fn results_are_what_the_seed_says() {
    let lab = Lab::new();
    let subject = Subject { thread_id: "RS-20251231-example".into(), test_id: "T1".into() };
    for (script, timeout_ms, status) in
        [("echo fine", 20_000, "passed"), ("exit 4", 20_000, "failed"), ("sleep 9", 200, "blocked")]
    {
        let plan = Plan { timeout_ms, ..lab.sh(script) };
        let report = finished(&Order { subject: Some(subject.clone()), ..lab.order(plan) }).await;
        let result: Value = serde_json::from_str(&stored(&report, artifacts::RESULT)).expect("JSON");
        assert_valid(&result);
        assert_eq!(
            (&result["status"], &result["thread_id"]),
            (&status.into(), &"RS-20251231-example".into())
        );
    }
    let text = recorded(b"\x1b[1mbold\x1b[0m \xff", &Secrets::default(), &[0; 32]);
    assert_eq!(text.0, "bold \\xff");
    let record = Record {
        result_id: system::new_id(),
        subject,
        created_at: Timestamp::from_ms(1_767_150_000_000),
        cwd: lab.cwd(),
        argv: None,
        exit_code: 1,
        stdout: text.clone(),
        stderr: text,
        git: None,
        host: Host::here(),
    };
    let result = serde_json::to_value(ExperimentResult::of_record(record)).expect("JSON");
    assert_valid(&result);
    assert!(result["argv"].is_null() && result["duration_ms"].is_null() && result.get("git").is_none());
    let mut wrong = result;
    wrong["created_at"] = "yesterday".into();
    assert!(std::panic::catch_unwind(|| assert_valid(&wrong)).is_err(), "the schema can say no");
}
