//! What receipts, pages and lists say about runs, positions and seats is true, and what they print can be run.

use std::process::Output;

use crate::hints::assert_typeable;
use crate::proof::git;
use crate::shell::Shell;
use crate::terminal::by_a_human;

/// A repository with a profile that runs a script with `sh`. The scripts lie outside of what the profile covers.
fn scene() -> Shell {
    let shell = Shell::new();
    let root = shell.workspace().root().to_owned();
    for (file, holds) in [("src/a.rs", "fine\n"), ("no.sh", "exit 1\n")] {
        let file = root.join(file);
        std::fs::create_dir_all(file.parent().expect("below the root")).expect("a directory");
        std::fs::write(file, holds).expect("a file");
    }
    let profiles = shell.workspace().marker_dir().join("profiles");
    std::fs::create_dir_all(&profiles).expect("a directory");
    let profile = "description = \"a test\"\nargv = [\"sh\", \"{file}\"]\nscopes = [\"src/**\"]\ntimeout_ms = 60000\n\
         [params.file]\nkind = \"regex\"\npattern = \"[a-z_./]+\"\n[expect]\nexit = 0\nfails = [1]\n";
    std::fs::write(profiles.join("chk.toml"), profile).expect("a profile");
    git(&root, &["init", "-q"]);
    git(&root, &["add", "no.sh", "src"]);
    git(&root, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"]);
    let trusted = by_a_human(&shell.command("hm profile trust chk --yes"));
    assert!(trusted.status.success(), "{trusted:?}");
    shell
}

/// Writes `t.sh`, which does `first` and fails when it runs for the first time, and passes later.
fn fails_once(shell: &Shell, first: &str) {
    let count = shell.state_home().join("count");
    let script = format!("test -e {0} && exit 0\n{first}\necho FAIL\n: >{0}\nexit 1\n", count.display());
    std::fs::write(shell.workspace().root().join("t.sh"), script).expect("a script");
}

fn said(output: &Output) -> String {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a line prints, on one line; it must succeed. No word in single quotes has a space.
fn told(shell: &Shell, line: &str) -> String {
    let output = shell.run(&line.replace('\'', ""));
    assert!(output.status.success(), "{line}: {output:?}");
    let said = said(&output);
    assert_typeable(shell, line, &said);
    said
}

/// A claim of devops about the file, challenged by analyst.
fn contested(shell: &Shell, scope: &str) {
    told(shell, &format!("hm claim create \"the pool is fine\" --scope {scope} --agent devops"));
    told(shell, "hm claim challenge C1 --reason \"it leaks\" --agent analyst");
}

const BLOCKING: &str = "hm experiment run chk --arg file=t.sh --claim C1 --blocking --agent devops";

/// Red before: the receipt of five runs counted the outcomes up to the first of them.
#[test]
fn a_receipt_of_several_runs_counts_all_of_them() {
    let shell = scene();
    fails_once(&shell, "");
    contested(&shell, "src/a.rs");
    told(&shell, BLOCKING);
    let receipt = told(&shell, &format!("{BLOCKING} --repeat 5"));
    let all = "unstable: 5 passed, 1 failed on the same content";
    assert!(receipt.contains("0 of 5 failed") && receipt.contains(all), "{receipt}");
    assert!(!receipt.contains("1 passed"), "{receipt}");
    // Red before: the rate was that of these five runs, beside a count of all six.
    assert!(!receipt.contains("rate below"), "{receipt}");
    // Red before: the receipt was silent on what clears the test, and the page of the run too.
    let clears = "5 equal runs clear it once the content is another (repeat: 5)";
    assert!(receipt.contains(clears) && receipt.contains("claim C1 is not settled by it"), "{receipt}");
    assert!(told(&shell, "hm experiment show R2").contains(clears));
    let page = told(&shell, "hm claim show C1");
    assert!(page.contains(all), "{page}");
}

/// Red before: it promised a proof that the failure on record ruled out.
#[test]
fn a_predicted_failure_that_was_known_is_said_before_the_run() {
    let shell = scene();
    told(&shell, "hm experiment run chk --arg file=no.sh --agent analyst");
    contested(&shell, "src/a.rs");
    let fails = BLOCKING.replace("t.sh", "no.sh");
    let receipt = told(&shell, &format!("{fails} --prediction fails"));
    let known = "unless run R1 of the same check, which failed before, had the same content: then it was no prediction";
    assert!(receipt.contains(known), "{receipt}");
}

/// Red before: the page of the last run showed the output of the first one, and its reason as its own.
#[test]
fn the_page_of_a_run_shows_its_own_output_and_names_the_run_that_says_nothing() {
    let shell = scene();
    fails_once(&shell, "touch src/a.rs");
    contested(&shell, "src/a.rs");
    let receipt = told(&shell, &format!("{BLOCKING} --repeat 3"));
    assert!(receipt.contains("FAIL"), "{receipt}");
    let last = told(&shell, "hm experiment show R3");
    assert!(!last.contains("FAIL"), "{last}");
    let why = "run R1 of the same request: `src/a.rs` was written during the run: run it again";
    assert!(last.contains(why), "{last}");
    let first = told(&shell, "hm experiment show R1");
    assert!(first.contains("end of stdout.log: FAIL"), "{first}");
}

/// Red before: a run about no claim was said to have come out against what was predicted of it.
#[test]
fn a_run_that_is_tied_to_a_claim_afterwards_was_not_predicted() {
    let shell = scene();
    told(&shell, "hm claim create \"the pool is fine\" --scope src/a.rs --agent devops");
    told(&shell, "hm experiment run chk --arg file=no.sh --agent analyst");
    told(&shell, "hm claim evidence C1 --ref R1 --relation contradicts --agent analyst");
    for line in ["hm claim show C1", "hm claim why C1"] {
        let page = told(&shell, line);
        assert!(page.contains("by a failing run that was not queued about this claim"), "{page}");
        assert!(!page.contains("predicted"), "{page}");
    }
    told(&shell, "hm experiment run chk --arg file=no.sh --claim C1 --agent analyst");
    let page = told(&shell, "hm claim show C1");
    assert!(page.contains("by a failing run (predicted: passes)"), "{page}");
}

/// Red before: a claim whose proof is a failure, as its owner predicted, was said to have failed since when another agent
/// ran the same test under the other prediction. And what attention printed for a real one left out the argument and the
/// prediction.
#[test]
fn the_same_outcome_under_another_prediction_is_no_failure_since() {
    let shell = scene();
    let root = shell.workspace().root().to_owned();
    contested(&shell, "src/a.rs");
    let run = "hm experiment run chk --arg file=no.sh --claim C1";
    told(&shell, &format!("{run} --blocking --prediction fails --agent devops"));
    told(&shell, &format!("{run} --agent analyst"));
    let list = told(&shell, "hm claim list");
    assert!(list.contains("proved") && !list.contains("failed since"), "{list}");
    assert!(told(&shell, "hm attention --all").contains("Nothing needs anybody"));
    // The other outcome contradicts the claim. Red before: a run that passed was said to have failed since.
    std::fs::write(root.join("yes.sh"), "exit 0\n").expect("a script");
    told(&shell, "hm experiment run chk --arg file=yes.sh --claim C1 --prediction fails --agent analyst");
    let list = told(&shell, "hm claim list");
    assert!(list.contains("passed since (R3)") && !list.contains("failed since"), "{list}");
    let context = told(&shell, "hm context --agent devops");
    assert!(context.contains("passed_since=\"R3\"") && !context.contains("failed_since"), "{context}");
    let needs = told(&shell, "hm attention --all");
    assert!(needs.contains("passed since (R3)") && !needs.contains("failed since"), "{needs}");
    let again = "hm experiment run chk --arg 'file=yes.sh' --claim C1 --prediction fails";
    assert!(needs.contains(&format!("`{again}`")), "{needs}");
    std::fs::write(root.join("yes.sh"), "exit 1\n").expect("a script");
    told(&shell, &format!("{again} --agent devops"));
    let needs = told(&shell, "hm attention --all");
    let again = format!("{again} --repeat 5");
    assert!(needs.contains(&format!("or 5 equal runs once the content is another: `{again}`")), "{needs}");
    std::fs::write(root.join("src/b.rs"), "other\n").expect("a file");
    told(&shell, &format!("{again} --agent devops"));
    assert_only_patterns(&told(&shell, "hm attention --all"));
}

/// Red before: a decision lost its proof by a challenge that was taken back, because another decision was on its target.
#[test]
fn a_proved_decision_stays_proved_after_a_challenge_beside_another_one() {
    let shell = scene();
    std::fs::write(shell.workspace().root().join("yes.sh"), "exit 0\n").expect("a script");
    let why = "--rationale \"it was measured so\"";
    for line in [
        format!(
            "hm decision record \"the pool is fine\" --target pool --scope src/a.rs {why} --agent devops"
        ),
        "hm claim challenge C1 --reason \"it leaks\" --agent analyst".to_owned(),
        "hm experiment run chk --arg file=yes.sh --claim C1 --blocking --agent devops".to_owned(),
        format!(
            "hm decision record \"queues are fine\" --target queue --scope src/b.rs {why} --agent frontend"
        ),
        "hm target alias pool queue --agent operator".to_owned(),
        "hm claim challenge C1 --reason \"it still leaks\" --agent reviewer".to_owned(),
        "hm claim abstain C1 --agent reviewer".to_owned(),
    ] {
        told(&shell, &line);
    }
    let list = told(&shell, "hm claim list");
    assert!(list.contains("the pool is fine (decision, confirmed, proved"), "{list}");
}

/// Nothing needs an agent, except that a pattern is open: it rests on what happened.
fn assert_only_patterns(needs: &str) {
    let mut entries = needs.lines().filter(|line| line.starts_with("- "));
    assert!(entries.all(|line| line.starts_with("- pattern,")), "{needs}");
}

/// Red before: nothing needed any agent when the test behind a proof passed and failed on the same content.
#[test]
fn attention_names_a_proof_that_became_unstable() {
    let shell = scene();
    fails_once(&shell, "");
    std::fs::write(shell.state_home().join("count"), "").expect("a file");
    contested(&shell, "src/a.rs");
    told(&shell, BLOCKING);
    std::fs::remove_file(shell.state_home().join("count")).expect("a file");
    told(&shell, "hm experiment run chk --arg file=t.sh --claim C1 --agent analyst");
    let needs = told(&shell, "hm attention --agent devops");
    let what = "the pool is fine | its test passed and failed on the same content";
    assert!(needs.contains("unstable proof, devops's move") && needs.contains(what), "{needs}");
    let again = "hm experiment run chk --arg 'file=t.sh' --claim C1 --repeat 5";
    assert!(needs.contains(&format!("`{again}`")), "{needs}");
    // Red before: the count of the pattern was that of when it was found, and nothing said so.
    told(&shell, "hm experiment run chk --arg file=t.sh --claim C1 --agent analyst");
    for line in ["hm attention --all", "hm pattern list"] {
        let patterns = told(&shell, line);
        assert!(
            patterns.contains("(2 runs), so it settles nothing; counted when it was found"),
            "{patterns}"
        );
    }
    // Five equal runs on other content clear the test, if the claim's own file is the same.
    std::fs::write(shell.workspace().root().join("src/b.rs"), "mended\n").expect("a file");
    told(&shell, &format!("{again} --agent devops"));
    // They are about the content of the claim's file, so they also answer the failure.
    let needs = told(&shell, "hm attention --all");
    assert!(!needs.contains("failed since") && !needs.contains("unstable"), "{needs}");
}

/// Red before: the claim was said to be still meant, and only its challenger had said so, of the challenge.
#[test]
fn a_challenge_that_is_still_meant_is_the_challengers_word() {
    let shell = scene();
    contested(&shell, "src/a.rs");
    std::fs::write(shell.workspace().root().join("src/a.rs"), "other\n").expect("a file");
    told(&shell, "hm claim still C1 --agent analyst");
    let page = told(&shell, "hm claim show C1");
    assert!(page.contains("- challenge still meant: said by analyst, as of event"), "{page}");
    let list = told(&shell, "hm claim list");
    assert!(list.contains("challenge still meant, said by"), "{list}");
    told(&shell, "hm claim still C1 --agent devops");
    let page = told(&shell, "hm claim show C1");
    assert!(page.contains("- still meant: said by devops, as of event"), "{page}");
    let list = told(&shell, "hm claim list");
    assert!(!list.contains("challenge still meant"), "{list}");
}

/// Red before: a file of 2 MB was called one that cannot be read.
#[test]
fn still_says_which_scopes_have_no_version() {
    let shell = scene();
    told(&shell, "hm claim create \"the pool is fine\" --scope src --agent devops");
    let refused = shell.run("hm claim still C1 --agent devops");
    assert!(!refused.status.success(), "{refused:?}");
    let refused = said(&refused);
    let why = "no scope of it has a version: a directory, a pattern and a file that is too large have none";
    assert!(refused.contains(why) && !refused.contains("can be read"), "{refused}");
}

/// Red before: the command was printed as a tool call, `run_experiment {...}`, which no shell knows.
#[test]
fn a_claim_that_stays_contested_prints_a_command_of_the_shell() {
    let shell = scene();
    fails_once(&shell, "");
    contested(&shell, "src");
    told(&shell, BLOCKING);
    std::fs::write(shell.workspace().root().join("src/b.rs"), "new\n").expect("a file");
    let receipt = told(&shell, BLOCKING);
    let again = "hm experiment run chk --arg 'file=t.sh' --claim C1 --blocking --repeat 3";
    assert!(receipt.contains(&format!("`{again}`")) && !receipt.contains("run_experiment"), "{receipt}");
    let page = told(&shell, "hm claim show C1");
    assert!(page.contains(&format!("`{again}`")) && !page.contains("run_experiment"), "{page}");
    told(&shell, &format!("{again} --agent devops"));
    let page = told(&shell, "hm claim show C1");
    assert!(page.contains("# confirmed (proved"), "{page}");
}

/// Red before: the result said `hm claim still`, which was refused to both sides.
#[test]
fn a_run_about_a_file_that_lost_its_version_names_a_way_that_is_open() {
    let shell = scene();
    fails_once(&shell, "");
    contested(&shell, "src/a.rs");
    let file = shell.workspace().root().join("src/a.rs");
    std::fs::remove_file(&file).expect("a file");
    std::fs::create_dir(&file).expect("a directory");
    let receipt = told(&shell, BLOCKING);
    for by in ["devops", "analyst"] {
        assert!(!shell.run(&format!("hm claim still C1 --agent {by}")).status.success(), "{receipt}");
    }
    assert!(receipt.contains("no scope of the claim has a version now"), "{receipt}");
    // A new challenge would not help: the claim is about a file.
    for text in [receipt, told(&shell, "hm experiment show R1")] {
        assert!(!text.contains("hm claim still") && !text.contains("hm claim challenge"), "{text}");
        assert!(text.contains("state what holds now: `hm claim create STATEMENT"), "{text}");
    }
    let mended = "hm claim create \"the pool leaks\" --type fact --scope src/a.rs --supersedes C1 --mends";
    told(&shell, &format!("{mended} --agent devops"));
    let needs = told(&shell, "hm attention --all");
    assert!(needs.matches("- ").count() > 0 && needs.contains("your challenge ended with it"), "{needs}");
}

/// Red before: evidence that an asked agent tied against the claim was no objection, the receipt did not say so, and the
/// claim was confirmed with "no objection" of that agent.
#[test]
fn evidence_that_only_mentions_a_claim_is_said_to_be_no_objection() {
    let shell = scene();
    told(&shell, "hm experiment run chk --arg file=no.sh --agent reviewer");
    let line =
        "hm claim create \"the pool is fine\" --scope src/a.rs --unless-objection-minutes 60 --ask reviewer";
    told(&shell, &format!("{line} --agent devops"));
    let receipt = told(&shell, "hm claim evidence C1 --ref R1 --relation contradicts --agent reviewer");
    let way = "this is no objection, and silence still confirms the claim; to object: `hm claim challenge C1";
    assert!(receipt.contains(way), "{receipt}");
}

/// Red before: a run proved a claim about a file that is not there, and no sentence said so.
#[test]
fn a_run_about_a_file_that_is_not_there_says_so() {
    let shell = scene();
    std::fs::write(shell.workspace().root().join("yes.sh"), "exit 0\n").expect("a script");
    contested(&shell, "src/none.rs");
    let missing = "`src/none.rs` does not exist in the tree of";
    let receipt = told(&shell, "hm experiment run chk --arg file=yes.sh --claim C1 --agent devops");
    assert!(receipt.contains(&format!("warning: {missing} this run")), "{receipt}");
    assert!(receipt.contains(&format!("supports claim C1 (observed): {missing} the run")), "{receipt}");
    let page = told(&shell, "hm claim show C1");
    assert!(page.contains(&format!("{missing} the run")), "{page}");
    // A file that is there needs no word.
    told(&shell, "hm claim create \"the pool is warm\" --scope src/a.rs --agent devops");
    let receipt = told(&shell, "hm experiment run chk --arg file=yes.sh --claim C2 --agent devops");
    assert!(!receipt.contains("does not exist"), "{receipt}");
}

/// Red before: the same outcome supported a claim under one prediction and contradicted it under the other.
#[test]
fn one_outcome_under_both_predictions_decides_nothing() {
    let shell = scene();
    told(&shell, "hm claim create \"the pool is full\" --scope src/a.rs --agent devops");
    let run = "hm experiment run chk --arg file=no.sh --claim C1";
    let receipt = told(&shell, &format!("{run} --prediction fails --agent devops"));
    assert!(receipt.contains("supports claim C1 (observed)"), "{receipt}");
    let receipt = told(&shell, &format!("{run} --prediction passes --agent devops"));
    let same = "of the same check had the same outcome on the same content under the other prediction, so neither decides";
    assert!(receipt.contains(&format!("mentions claim C1 (asserted): run R1 {same}")), "{receipt}");
    let page = told(&shell, "hm claim show C1");
    assert!(page.contains(&format!("run R1 {same}")) && page.contains(&format!("run R2 {same}")), "{page}");
    // It settles nothing either, and a run on other content counts again. What a challenger holds counts too.
    told(&shell, "hm claim challenge C1 --reason \"it does not\" --agent reviewer");
    let receipt = told(&shell, &format!("{run} --blocking --prediction fails --agent devops"));
    assert!(receipt.contains("mentions claim C1"), "{receipt}");
    assert!(told(&shell, "hm claim list").contains("contested"));
}

/// Red before: a run of another agent, before the owner had said what a check shows, kept every run from proving the claim, also
/// one by the operator, and attention named none.
#[test]
fn the_operator_says_what_a_claim_predicts() {
    let shell = scene();
    told(&shell, "hm claim create \"the pool is full\" --scope src/a.rs --agent devops");
    let run = "hm experiment run chk --arg file=no.sh --claim C1";
    let receipt = told(&shell, &format!("{run} --agent analyst"));
    assert!(receipt.contains("contradicts claim C1"), "{receipt}");
    told(&shell, "hm claim challenge C1 --reason \"it does not\" --agent analyst");
    let failing = format!("{run} --blocking --prediction fails");
    let receipt = told(&shell, &format!("{failing} --agent devops"));
    assert!(receipt.contains("so neither decides; a run by the operator would"), "{receipt}");
    let needs = told(&shell, "hm attention --all");
    let its_own = "the operator says by a run of its own that it fails: `hm experiment run chk --arg 'file=no.sh' --claim C1 \
                   --blocking --prediction fails`";
    assert!(needs.contains(its_own), "{needs}");
    let proved = by_a_human(&shell.command(&format!("{failing} --agent operator")));
    assert!(proved.status.success(), "{proved:?}");
    let page = told(&shell, "hm claim show C1");
    assert!(page.contains("# confirmed (proved by R3"), "{page}");
}

/// Red before: the receipt of a challenge printed the run under the default prediction, and a pass by the challenger proved that
/// the check does not pass. The owner proved so too, without a word on what it predicts.
#[test]
fn the_owner_of_a_claim_that_something_fails_says_what_shows_it() {
    let shell = scene();
    std::fs::write(shell.workspace().root().join("ok.sh"), "exit 0\n").expect("a script");
    told(&shell, "hm claim create \"the suite of the pool does not pass\" --scope src/a.rs --agent devops");
    let receipt = told(&shell, "hm claim challenge C1 --reason \"it does\" --agent analyst");
    let fails = "devops says by a run which outcome shows it, as with `hm experiment run chk --arg 'file=FILE' --claim C1 \
                 --blocking --prediction fails`";
    assert!(receipt.contains(fails), "{receipt}");
    let needs = told(&shell, "hm attention --all");
    assert!(needs.contains(fails), "{needs}");
    let run = "hm experiment run chk --arg file=ok.sh --claim C1 --blocking";
    for (line, why) in [
        (
            format!("{run} --agent analyst"),
            "this run would settle nothing: claim C1 says that something fails",
        ),
        (
            format!("{run} --agent devops"),
            "claim C1 says that something fails: say which outcome of this check shows it",
        ),
    ] {
        let refused = shell.run(&line);
        assert!(!refused.status.success() && said(&refused).contains(why), "{line}: {refused:?}");
    }
    let receipt = told(&shell, &format!("{run} --prediction fails --agent devops"));
    assert!(receipt.contains("it contradicts claim C1"), "{receipt}");
    assert!(told(&shell, "hm claim list").contains("contested"));
    // Once the owner has said it, its word counts for the runs of others.
    let failing =
        told(&shell, "hm experiment run chk --arg file=no.sh --claim C1 --prediction fails --agent devops");
    assert!(failing.contains("it supports claim C1"), "{failing}");
}

/// Red before: a line that only wraps the check that failed proved by one pass, and `cd x` without `x` proved that a check fails.
#[test]
fn a_line_with_a_check_that_failed_does_not_prove_by_one_pass() {
    let shell = scene();
    let count = shell.state_home().join("count").display().to_string();
    let (flaky, line) = (format!("test -e {count} && exit 0; : > {count}; exit 1\n"), "sh flaky.sh");
    std::fs::write(shell.workspace().root().join("flaky.sh"), flaky).expect("a script");
    let profile = |name: &str, line: &str| {
        let argv = serde_json::json!(["bash", "-c", line]);
        let text = format!(
            "description = \"a test\"\nargv = {argv}\nscopes = [\"src/**\"]\ntimeout_ms = 60000\n[expect]\nexit = 0\nfails = [1]\n"
        );
        std::fs::write(shell.workspace().marker_dir().join(format!("profiles/{name}.toml")), text)
            .expect("a profile");
        let trusted = by_a_human(&shell.command(&format!("hm profile trust {name} --yes")));
        assert!(trusted.status.success(), "{trusted:?}");
    };
    profile("plain", line);
    profile("wrapped", &format!("mkdir -p out; {line} > out/log 2>&1 || {{ cat out/log; exit 1; }}"));
    profile("there", &format!("cd out && {line}"));
    contested(&shell, "src/a.rs");
    let receipt = told(&shell, "hm experiment run plain --claim C1 --blocking --agent devops");
    assert!(receipt.contains("it contradicts claim C1"), "{receipt}");
    told(&shell, "hm claim create \"the suite of the pool passes\" --scope src/a.rs --agent devops");
    told(&shell, "hm claim challenge C2 --reason \"it does not\" --agent analyst");
    told(&shell, "hm experiment run wrapped --claim C2 --blocking --agent devops");
    let page = told(&shell, "hm claim show C2");
    assert!(page.contains("one run proves nothing, because run R1 of the same check"), "{page}");
    let refused =
        shell.run("hm experiment run there --claim C2 --blocking --prediction fails --agent devops");
    let why = "the line of profile `there` may fail though its check did not, so a failure shows nothing";
    assert!(said(&refused).contains(why), "{refused:?}");
}

/// Red before: the run that had no outcome, because its tool was missing or because the check broke off, kept every later one
/// from proving the claim. One that broke off may have found what the claim denies, so that one pass is not enough.
#[test]
fn a_run_without_an_outcome_asks_for_several() {
    let shell = scene();
    let profile = shell.workspace().marker_dir().join("profiles/chk.toml");
    let text = std::fs::read_to_string(&profile).expect("a profile");
    std::fs::write(&profile, text + "ran = \"tests ran\"\n").expect("a profile");
    let trusted = by_a_human(&shell.command("hm profile trust chk --yes"));
    assert!(trusted.status.success(), "{trusted:?}");
    let script = shell.workspace().root().join("t.sh");
    std::fs::write(&script, "echo No module named pytest\nexit 1\n").expect("a script");
    contested(&shell, "src/a.rs");
    let receipt = told(&shell, BLOCKING);
    assert!(receipt.contains("aborted"), "{receipt}");
    std::fs::write(&script, "echo 3 tests ran\n").expect("a script");
    let receipt = told(&shell, BLOCKING);
    assert!(
        receipt.contains("one run proves nothing, because run R1 of the same command ended"),
        "{receipt}"
    );
    told(&shell, &format!("{BLOCKING} --repeat 3"));
    let page = told(&shell, "hm claim show C1");
    assert!(page.contains("# confirmed (proved by R5"), "{page}");
}

/// Red before: the sentence named the placeholder PROFILE, also where no profile fits.
#[test]
fn attention_names_a_run_that_can_decide_or_none() {
    let shell = scene();
    contested(&shell, "src/a.rs");
    let needs = told(&shell, "hm attention --all");
    let run = "a run may decide instead: `hm experiment run chk --arg 'file=FILE' --claim C1 --blocking`";
    assert!(needs.contains(run), "{needs}");
    // Red before: the run was named after a change, when it could decide nothing.
    std::fs::write(shell.workspace().root().join("src/a.rs"), "something else\n").expect("a file");
    let needs = told(&shell, "hm attention --all");
    assert!(!needs.contains("a run may decide"), "{needs}");
    assert!(needs.contains("a run decides nothing now") && needs.contains("`hm claim still C1`"), "{needs}");
    told(&shell, "hm claim deprecate C1 --reason over --agent devops");
    told(&shell, "hm claim create \"the page is old\" --scope docs/a.md --agent devops");
    told(&shell, "hm claim challenge C2 --reason \"it is new\" --agent analyst");
    let needs = told(&shell, "hm attention --all");
    assert!(needs.contains("the page is old") && !needs.contains("a run may decide"), "{needs}");
}
