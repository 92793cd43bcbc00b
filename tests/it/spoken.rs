//! What receipts, refusals and hints say of a cited run, a surplus name, a text of several lines, and a long path; and what
//! a run does not get from the pane that started its writer.

use crate::shell::Shell;

/// A profile runs this file. It passes if a module can be imported.
const PYTEST: &str = "import importlib.util, sys\n\
    if '--version' in sys.argv: sys.exit(print('pytest 8.0.0'))\n\
    found = importlib.util.find_spec('mended') is not None\n\
    print('1 passed in 0.01s' if found else '1 failed in 0.01s')\n\
    sys.exit(0 if found else 1)\n";

fn text(output: &std::process::Output) -> String {
    let both = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&both).replace("\n    ", " ")
}

/// Red before: the run imported what PYTHONPATH of the pane that started the writer named.
#[test]
fn a_run_gets_no_path_of_modules_from_the_pane_that_started_its_writer() {
    let shell = Shell::without_writer();
    let root = shell.workspace().root().to_owned();
    std::fs::create_dir(root.join("elsewhere")).expect("a directory");
    for (path, text) in [("check.py", PYTEST), ("elsewhere/mended.py", "")] {
        std::fs::write(root.join(path), text).expect("a file");
    }
    let profiles = shell.workspace().marker_dir().join("profiles");
    std::fs::create_dir_all(&profiles).expect("a directory");
    let own = "description = 'own'\nargv = ['python3', 'check.py']\nscopes = ['**/*.py']\ntimeout_ms = 20000\n[expect]\nexit = 0\n";
    std::fs::write(profiles.join("own.toml"), own).expect("a profile");
    let trusted = crate::terminal::by_a_human(&shell.command("hm profile trust own --yes"));
    assert!(trusted.status.success(), "{trusted:?}");
    let mut first = shell.command("hm --agent analyst claim create \"it is mended\" --scope check.py");
    let first = first.env("PYTHONPATH", root.join("elsewhere")).output().expect("hm can be run");
    assert!(first.status.success(), "{first:?}");
    let ran = shell.run("hm --agent analyst experiment run own");
    assert!(text(&ran).contains("1 failed"), "{}", text(&ran));
}

/// Red before: neither receipt said that the cited run had failed.
#[test]
fn a_receipt_says_what_a_cited_run_showed() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_owned();
    std::fs::write(root.join("calc.py"), "1\n").expect("a file");
    crate::akin::shell_with_pytest(&shell, PYTEST);
    assert!(text(&shell.run("hm --agent analyst experiment run suite")).contains("1 failed"));
    shell.run("hm --agent devops claim create \"it is mended\" --scope calc.py");
    let tied = text(&shell.run("hm --agent devops claim evidence C1 --ref R1 --relation supports"));
    assert!(tied.contains("run R1 failed with exit code 1, and only mentions it"), "{tied}");
    let position = text(&shell.run("hm --agent analyst claim support C1 \"see the run\" --evidence R1"));
    assert!(position.contains("run R1 failed with exit code 1"), "{position}");
}

/// Red before: the line that a usage error named made the second claim a part of the reason.
#[test]
fn a_hint_keeps_names_apart_from_texts_and_is_one_line() {
    let shell = Shell::new();
    for word in ["one", "two"] {
        shell.run(&format!("hm --agent devops claim create \"point {word}\" --scope a.py"));
    }
    let told = text(&shell.run("hm --agent devops claim challenge C1 C2 \"I misread it\""));
    assert!(told.contains("unexpected argument 'I misread it'") && !told.contains("C2 I misread"), "{told}");
    let mut lines = shell.command("hm --agent devops claim create");
    assert!(lines.arg("first\nsecond line").output().expect("hm can be run").status.success());
    let told = shell.run("hm claim show second");
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.contains("first second line"), "{told}");
}

/// Red before: the memory was made, and every write waited for ever.
#[test]
fn a_memory_whose_path_is_too_long_for_a_database_is_refused() {
    let shell = Shell::without_writer();
    let root = shell.workspace().root().to_owned();
    // Below a directory without a memory of its own.
    for (memory_bytes, works) in [(200, true), (470, true), (471, false)] {
        let mut project = root.join(format!("to{memory_bytes}"));
        let is_long = |project: &std::path::Path| project.join(".hivemind/runtime").as_os_str().len();
        while is_long(&project) + 60 < memory_bytes {
            project.push("d".repeat(50));
        }
        let missing = memory_bytes - is_long(&project);
        project.push("d".repeat(missing - 1));
        assert_eq!(is_long(&project), memory_bytes);
        std::fs::create_dir_all(&project).expect("a directory");
        let made =
            shell.command("hm init --yes --clients claude").current_dir(&project).output().expect("hm");
        assert_eq!(made.status.success(), works, "{memory_bytes}: {}", text(&made));
        if works {
            let mut create = shell.command("hm --agent devops claim create \"a deep place\" --scope a.py");
            let created = create.current_dir(&project).output().expect("hm can be run");
            assert!(text(&created).contains("committed at seq"), "{memory_bytes}: {}", text(&created));
            let status = shell.command("hm rebuild").current_dir(&project).output().expect("hm can be run");
            assert!(status.status.success(), "{memory_bytes}: {}", text(&status));
        } else {
            assert!(text(&made).contains("its path has 471 bytes"), "{}", text(&made));
        }
    }
}
