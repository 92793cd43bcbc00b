//! The schedule of the writer: every job runs, says how it went, and one that fails stops nothing.

use hivemind::schedule::{JobOutcome, JobRuns};
use hivemind::workspace::Workspace;

use crate::harness::{TempWorkspace, block_on, committed, creation, wait_until};
use crate::shell::Shell;

/// What the writer has written down, once every job has run.
pub(crate) fn all_ran(workspace: &Workspace) -> JobRuns {
    let mut runs = JobRuns::default();
    wait_until("every job has run", || {
        runs = JobRuns::load(&workspace.schedule());
        runs.0.len() == 13
    });
    runs
}

#[test]
fn status_shows_what_the_writer_does_unasked() {
    let shell = Shell::new();
    let workspace = shell.workspace();
    let runs = all_ran(&workspace);
    assert_eq!(
        runs.0.keys().collect::<Vec<_>>(),
        [
            "erasure",
            "git",
            "health",
            "integrity",
            "meanings",
            "merges",
            "mirror",
            "patterns",
            "playbooks",
            "reflection",
            "sessions",
            "silence",
            "ttl_sweep"
        ]
    );
    let status = shell.json("hm --json status");
    for (name, run) in &runs.0 {
        assert_eq!(run.outcome, JobOutcome::Ok, "{name}: {}", run.detail);
        assert_eq!(status["jobs"][name]["last_run_at"].as_i64(), Some(run.last_run_at.ms()), "{status}");
    }
    let text = String::from_utf8(shell.run("hm status").stdout).expect("text");
    assert!(text.lines().count() == 5 && !text.contains("erasure"), "{text}");
    let past = shell.json("hm --json --at 0 status");
    assert_eq!(past["jobs"], serde_json::json!({}), "what runs now did not run then");
}

#[test]
fn a_miner_that_is_switched_off_finds_nothing() {
    let shell = Shell::new();
    crate::playbooks::with_tasks(&shell);
    let workspace = shell.workspace();
    std::fs::write(workspace.config(), "[mining]\nplaybooks = false\nreflection = false\n")
        .expect("a configuration");
    std::fs::remove_file(workspace.schedule()).ok();
    shell.run("hm claim create \"the writer runs\" --agent devops --scope src");
    let runs = all_ran(&workspace);
    for name in ["playbooks", "reflection"] {
        assert_eq!(runs.0[name].detail, format!("off: [mining] {name} = false"));
    }
    assert!(!String::from_utf8_lossy(&shell.run("hm playbook list").stdout).contains("B1"));
}

/// Red before: the miners recorded what they found.
#[test]
fn under_a_closed_policy_no_job_records_what_it_finds() {
    let shell = Shell::new();
    crate::playbooks::with_tasks(&shell);
    let workspace = shell.workspace();
    std::fs::write(workspace.config(), "[policy]\nwrite_policy = \"none\"\n").expect("a configuration");
    std::fs::remove_file(workspace.schedule()).ok();
    shell.run("hm claim create \"the writer runs\" --agent devops --scope src");
    let runs = all_ran(&workspace);
    for name in ["playbooks", "reflection", "git"] {
        assert_eq!(runs.0[name].detail, "off: [policy] lets nothing be written", "{name}");
    }
    assert!(!String::from_utf8_lossy(&shell.run("hm playbook list").stdout).contains("B1"));
}

#[test]
fn a_job_that_fails_stops_nothing() {
    let workspace = TempWorkspace::new();
    // A log that cannot be written.
    std::fs::create_dir_all(workspace.integrity_log()).expect("a directory in its place");
    let front = workspace.front();
    let _writer = workspace.writer(&[]);
    wait_until("the writer listens", || block_on(front.writer_is_up()));
    let runs = all_ran(&workspace);
    assert_eq!(runs.0["integrity"].outcome, JobOutcome::Failed, "{runs:?}");
    assert_eq!(runs.0["health"].outcome, JobOutcome::Ok, "{runs:?}");
    let failed_at = runs.0["integrity"].last_run_at;
    for nth in 0..50 {
        let receipt = block_on(front.submit(creation("devops", &format!("fact {nth}")))).expect("a receipt");
        assert!(receipt.seq.is_some(), "{receipt:?}");
    }
    assert_eq!(JobRuns::load(&workspace.schedule()).0["integrity"].last_run_at, failed_at, "it backs off");
    let mut reads = hivemind::reads::Reads::of(workspace.clone());
    let config = hivemind::config::Config::load(&workspace.config()).expect("a configuration");
    let view = hivemind::views::View::Status;
    let status =
        crate::answers::answer(&mut reads, &config, &view, hivemind::system::now()).expect("a status");
    assert!(status.text.contains("attention: integrity: cannot write the integrity log"), "{}", status.text);
    // The next writer finds its place again.
    workspace.end_writer();
    std::fs::remove_dir(workspace.integrity_log()).expect("an empty directory");
    std::fs::remove_file(workspace.schedule()).expect("a schedule");
    block_on(committed(&front, &creation("devops", "one more"))).expect("a receipt");
    assert_eq!(all_ran(&workspace).0["integrity"].outcome, JobOutcome::Ok);
    assert!(std::fs::read_to_string(workspace.integrity_log()).expect("a log").contains("\"findings\":0"));
}
