//! The parts of a line for the shell that may change files. A file that only a reading command names was changed by
//! another one.

use super::normal::{FILTERS, MAX_DEPTH, SETUP, SHELLS, after_keywords, line_for_shell, name, unwrapped};
use super::own::BETWEEN;
use super::shell::{self, Joint, Step};

/// Programs that change no file that an argument names. `awk` and `tee` are none, and `sort` and `sed` only without
/// some options.
const READING: [&str; 45] = [
    "b2sum",
    "basename",
    "bat",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "column",
    "cut",
    "df",
    "diff",
    "dirname",
    "du",
    "egrep",
    "fgrep",
    "file",
    "find",
    "grep",
    "head",
    "jq",
    "less",
    "ls",
    "md5sum",
    "more",
    "mypy",
    "nl",
    "od",
    "py.test",
    "pyright",
    "pytest",
    "readlink",
    "realpath",
    "rg",
    "sed",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "sort",
    "stat",
    "tail",
    "test",
    "tree",
    "wc",
    "which",
    "xxd",
];
/// Commands of git that only read, where no option names an output.
const GIT_READS: [&str; 10] =
    ["blame", "diff", "grep", "log", "ls-files", "rev-list", "rev-parse", "shortlog", "show", "status"];
/// Commands of git that change no file of the work tree.
const GIT_ADDS: [&str; 3] = ["add", "commit", "push"];
/// Modules that `python -m` runs and that only read.
const MODULES: [&str; 3] = ["mypy", "py_compile", "pytest"];
/// Programs besides Python and shells that run a script, which is their first argument.
const RUN_SCRIPTS: [&str; 4] = ["node", "perl", "ruby", "tsx"];
/// What in an argument tells that a command may change files: those of `sed -i`, `ruff --fix`, `find -exec` and
/// `-delete`, `git diff --output`, `pytest --snapshot-update` and the like, and `w file` of `sed`.
const MAY_WRITE: [&str; 10] =
    ["--fix", "--in-place", "--output", "-delete", "-exec", "-fprint", "-ok", "update", "w ", "write"];

/// A line without the simple commands that only read. The targets of redirections stay, and so do commands whose output
/// goes into one that does not only read, such as `xargs`. In doubt the line stays as it is.
pub fn without_reading(line: &str) -> String {
    changing(line, MAX_DEPTH).unwrap_or_else(|| line.to_owned())
}

/// The parts of a line that may change files; `None` in doubt.
fn changing(line: &str, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    // A here-document may be a program that changes any file.
    let (steps, is_whole) = shell::read_without_documents(line);
    let steps = is_whole.then_some(steps)?;
    let mut kept = Vec::new();
    // Backwards, because a command that reads changes files through the one that gets its output.
    let mut feeds_change = false;
    let mut is_in_change = false;
    for step in steps.into_iter().rev() {
        match step {
            Step::Enter => {}
            Step::Write(file) => kept.push(file),
            // The output of the subshell goes on.
            Step::Leave if feeds_change => return None,
            Step::Leave => is_in_change = false,
            Step::Within(line) if is_in_change => kept.push(line),
            Step::Within(line) => kept.push(changing(&line, depth)?),
            Step::Run { text, before, .. } => {
                let reads = !feeds_change && reads(&text, before);
                is_in_change = !reads;
                let words = shell_words::split(&text).ok()?;
                // It may change files that other commands name.
                if !reads
                    && words.iter().any(|word| word == "git")
                    && !words.iter().any(|word| GIT_ADDS.contains(&word.as_str()))
                {
                    return None;
                }
                let writes_its_input = words.first().is_some_and(|program| name(program) == "tee");
                feeds_change = before == Joint::Pipe && !reads && !writes_its_input;
                match line_within(&words) {
                    _ if reads => {}
                    Some(line) if before != Joint::Pipe && !feeds_change => kept.push(changing(line, depth)?),
                    _ => kept.push(without_script(&words).unwrap_or(text)),
                }
            }
        }
    }
    Some(kept.join("\n"))
}

/// A command without the script that it runs: an interpreter reads it. `None` if it runs none, or one from its input.
fn without_script(words: &[String]) -> Option<String> {
    let [program, arguments @ ..] = unwrapped(words)? else { return None };
    let program = name(program);
    let runs_scripts =
        program.starts_with("python") || SHELLS.contains(&program) || RUN_SCRIPTS.contains(&program);
    let script = arguments.iter().position(|word| !word.starts_with('-')).filter(|_| runs_scripts)?;
    // After `-c` and `-m` comes no script, and `perl -i` changes the files that follow.
    let plain = |option: &String| option.len() <= 3 && !option.contains(['c', 'm', 'i', 'e', 'p']);
    let is_input = |option: &String| option == "-" || SHELLS.contains(&program) && is_short(option, 's');
    if !arguments[..script].iter().all(|option| plain(option) && !is_input(option)) {
        return None;
    }
    Some(shell_words::join(arguments.iter().skip(script + 1)))
}

/// The line that `bash -c` runs.
fn line_within(words: &[String]) -> Option<&str> {
    let [program, arguments @ ..] = unwrapped(words)? else { return None };
    SHELLS.contains(&name(program)).then(|| line_for_shell(arguments)).flatten()
}

/// Whether a simple command changes no file that it names.
fn reads(text: &str, before: Joint) -> bool {
    let Ok(words) = shell_words::split(text) else { return false };
    let words = after_keywords(&words);
    let Some([program, arguments @ ..]) = unwrapped(words) else { return words.is_empty() };
    let says = |told: &[&str]| {
        let mut words = arguments.iter().map(String::as_str).skip_while(|word| word.starts_with('-'));
        words.next().is_some_and(|verb| told.contains(&verb))
    };
    let may_write = |word: &String| MAY_WRITE.iter().any(|part| word.contains(part));
    match name(program) {
        _ if arguments.iter().any(may_write) => false,
        "git" => says(&GIT_READS),
        "ruff" => says(&["check"]),
        "cargo" => says(&["check", "test"]),
        program if program.starts_with("python") => {
            matches!(arguments, [option, module, ..] if option == "-m" && MODULES.contains(&module.as_str()))
        }
        // Options of one letter may stand together: `-ni`.
        "sed" => !arguments.iter().any(|word| is_short(word, 'i')),
        "sort" => !arguments.iter().any(|word| is_short(word, 'o')),
        program if BETWEEN.contains(&program) => !["for", "esac"].contains(&program),
        "." | "source" | "trap" | "export" => false,
        program => {
            READING.contains(&program)
                || SETUP.contains(&program) && before != Joint::Pipe
                || program == "["
                || FILTERS.contains(&program) && !["awk", "tee"].contains(&program)
        }
    }
}

/// Whether a word has an option of one letter.
fn is_short(word: &str, option: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(option)
}

#[cfg(test)]
mod tests {
    use super::without_reading;

    fn names(line: &str, file: &str) -> bool {
        without_reading(line).contains(file)
    }

    #[test]
    fn what_a_command_only_reads_is_not_among_what_it_changes() {
        for line in [
            "sha1sum a.py; (pytest -q 2>&1 | tail -3) ; python3 /tmp/x.py; sha1sum a.py",
            "cat a.py | head -20 > /tmp/out.txt",
            "sed -n 1,40p a.py && git diff a.py && git show HEAD:a.py",
            "python -m pytest a.py -q; pytest a.py::test_b; ruff check a.py",
            "grep -n x a.py | wc -l; stat a.py; diff a.py /tmp/b.py; cmp a.py c.py",
            "for i in 1 2; do cat a.py; done",
            "echo $(cat a.py); bash -c 'cat a.py; wc -l a.py'",
            "cat a.py | tee /tmp/b.txt",
            "git add a && cat a.py && git commit -m x",
            "git -P log -3 -- a.py",
            "python gen.py < a.py",
            "timeout 20 cat a.py",
            "if grep -q x a.py; then echo yes; fi",
            "python a.py",
            "time timeout 100 python3 -u a.py q2",
            "python3 -s a.py",
            "bash a.py && node a.py --port 3; sh -x a.py",
        ] {
            assert!(!names(line, "a.py"), "{line}: {}", without_reading(line));
        }
    }

    #[test]
    fn what_a_command_may_change_stays() {
        for line in [
            "sed -i s/a/b/ a.py",
            "sed -ni 1p a.py",
            "sed -n 'w a.py' b.py",
            "cat b.py > a.py",
            "cat b.py &>> 'a.py'",
            "cat b.py | tee a.py",
            "ls a.py | xargs sed -i s/a/b/",
            "(ls a.py) | xargs rm",
            "for f in a.py b.py; do sed -i s/a/b/ $f; done",
            "sed -i s/a/b/ $(grep -l x a.py)",
            "F=a.py; sed -i s/a/b/ $F",
            "ruff check --fix a.py",
            "ruff format a.py",
            "python b.py a.py",
            "python -m black a.py",
            // Red before.
            "python3 - a.py < gen.py",
            "bash -s a.py < fix.sh",
            "sh -es a.py < fix.sh",
            "cat gen.py | python3 - a.py",
            "perl -pi a.py b.py",
            "python gen.py > a.py",
            "git checkout -- a.py",
            "git diff --output=a.py",
            "mv b.py a.py",
            "cat <<EOF > /tmp/x\nEOF\ncat a.py",
            "python3 - <<EOF\nopen('a.py', 'w')\nEOF\n",
            "bash -c 'cat b.py; rm a.py'",
            "sort -o a.py a.py",
            "find . -name a.py -delete",
            "echo x | awk '{print > \"a.py\"}'",
            "black a.py; cat a.py",
            "cat a.py | while read f; do rm $f; done",
            "sudo -i cat a.py | sh",
            "git merge -q other && cat a.py",
        ] {
            assert!(names(line, "a.py"), "{line}: {}", without_reading(line));
        }
    }
}
