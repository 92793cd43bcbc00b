//! Lines whose exit code tells of a check, and lines whose does not.

use expect_test::expect;

use super::{fails_alone, piped, printed};

#[test]
fn the_end_of_a_pipe_that_only_prints_is_told_from_one_that_decides() {
    let is_printed = |last: &str| {
        let argv = ["sh", "-c", &format!("pytest -q | {last}")].map(str::to_owned);
        printed(&argv).is_some()
    };
    for last in [
        "tail -1",
        "wc -l",
        "awk 1",
        "tac",
        "fold",
        "fmt",
        "rev",
        "paste",
        "sort -o/tmp/c",
        "sort -k2 --reverse",
    ] {
        assert!(is_printed(last), "{last}");
    }
    for last in ["grep passed", "sort -c", "sort -uC", "sort --check", "awk '/failed/ { exit 1 }'"] {
        assert!(!is_printed(last), "{last}");
    }
}

/// Red before: whatever hid the end of a check below a program counted as its success.
#[test]
fn a_check_below_a_program_is_hidden_as_any_other_one() {
    let below = |check: &str| piped(&format!("python - <<'EOF'\nx = 1\nEOF\n{check}")).is_some();
    for check in ["pytest || true", "pytest | tail -1", "pytest; echo done", "pytest\necho rc=$?"] {
        assert!(below(check) && piped(check).is_some(), "{check}");
    }
    for check in ["pytest", "cd a && pytest -q", "set -o pipefail; pytest | tail -1"] {
        assert!(!below(check), "{check}");
    }
    assert!(piped("pytest\npython - <<'EOF'\nx = 1\nEOF\nls").is_some());
    assert!(piped("sh <<'EOF'\nmake\nEOF\npytest || true").is_some());
    // As many programs as a line holds are read without end of the stack.
    assert!(piped(&format!("{}pytest", "a <<b\nb\n".repeat(100_000))).is_some());
}

/// Red before: a suite that failed proved a claim.
#[test]
fn a_line_that_ends_in_what_always_succeeds_tells_nothing() {
    let is_hidden = |line: &str| printed(&["sh", "-c", line].map(str::to_owned)).is_some();
    let shown: Vec<&str> = [
        "pytest; echo finished",
        "pytest || true",
        "pytest -q || :",
        "pytest\necho finished",
        "pytest & wait",
        "cd a && pytest; date",
        "pytest | cat; echo done",
        "pytest; exit 0",
        "pytest &",
        "(pytest; true)",
        "{ pytest; true; }",
        "{ cd a; { pytest; echo ok; }; }",
        "cd a && bash -c 'pytest; true'",
        "set -e; pytest && ruff check; echo ok",
        // Red before: `set -e` does not see these.
        "set -e; echo \"a: $(pytest)\"; echo ok",
        "set -e; export OUT=$(pytest); echo ok",
        "set -e; out=$(pytest; true); echo ok",
        "set -e; out=$(sh -c 'pytest; true'); echo ok",
        "set -e; sh -c 'pytest | cat'; sh -c 'ruff check; true'; echo ok",
        "set -e; set +e; pytest; echo ok",
        "(set -e; cd a); pytest; echo ok",
        "eval 'pytest; true'",
        // Red before: `exit $?` hid the end, `builtin` was no word of the shell, and `find` tells nothing.
        "pytest; echo ok; exit $?",
        "set -e; builtin set +e; pytest; echo ok",
        "set -e; find . -exec pytest {} \\;; echo ok",
    ]
    .into_iter()
    .filter(|line| !is_hidden(line))
    .collect();
    assert_eq!(shown, [""; 0]);

    for words in [
        &["bash", "-o", "pipefail", "-c", "pytest | cat; echo done"][..],
        &["env", "A=1", "bash", "-c", "pytest; true"],
        &["timeout", "9", "sh", "-c", "pytest; echo done"],
    ] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert!(printed(&words).is_some(), "{words:?}");
    }
    let hidden: Vec<&str> = [
        "pytest && echo ok",
        "set -e; pytest; echo ok",
        "echo begins; pytest",
        "pytest || exit 1",
        "pytest; code=$?; echo ok; exit $code",
        "make",
        "{ pytest; }",
        "(cd a && pytest)",
        "cd a && pytest -q",
        "cd a && bash -c 'pytest'",
        "set -e; out=$(pytest -q 2>&1); echo \"$out\"",
        "set -e; cd \"$(dirname \"$0\")\"; pytest; echo ok",
        "(set -e; cd a; pytest; echo ok)",
        "eval 'pytest -q'",
    ]
    .into_iter()
    .filter(|line| is_hidden(line))
    .collect();
    assert_eq!(hidden, [""; 0]);
}

/// Red before: each proved a claim although the check failed.
#[test]
fn a_line_that_ends_in_a_chore_tells_nothing_of_the_checks_before_it() {
    let is_hidden = |line: &str| printed(&["bash", "-c", line].map(str::to_owned)).is_some();
    let shown: Vec<&str> = [
        "! grep -q bug src/a.rs; rm -f out",
        "pytest; sleep 1",
        "pytest; git status",
        "pytest; touch x",
        "pytest; cd .",
        "pytest; A=1",
        "pytest; export A=1",
        "pytest; code=$?",
        "pytest; kill $PID",
        "pytest\nrm -rf out\n",
        "pytest; rm -f out; exit",
        "pytest; { rm -f out; }",
        "(cd a; pytest); rm -f out",
        "pytest > log; cat log",
        "pytest; cat log | head",
        "pytest; docker compose down",
        "pytest; find . -name '*.pyc' -delete",
        "pytest || rm -f out",
        "pytest; rm -f out || exit 1",
        "pytest | tail; exit $?",
        "pytest & sleep 9",
        "rm -rf out; pytest; rm -rf out",
        "ls a; test -e b; rm c",
        "[ -n $CI ] && pytest; rm -f out",
        "if pytest; then touch ok; fi; rm -f out",
        "touch $(pytest)",
        "cat <(pytest -q)",
        "sh -c 'pytest; rm -f out'",
        "set -e; ! grep -q bug src/a.rs; rm -f out",
        "set -e; pytest && ruff check; rm -f out",
        "bash -c 'trap \"exit 0\" EXIT; pytest' && rm -f out",
        "sh -c 'pytest' &",
    ]
    .into_iter()
    .filter(|line| !is_hidden(line))
    .collect();
    assert_eq!(shown, [""; 0]);

    let hidden: Vec<&str> = [
        "rm -rf out; pytest",
        "cd sub; pytest",
        "sleep 1; pytest",
        "cargo build && cargo test",
        "npm ci && npm test && rm -rf tmp",
        "pytest && rm -f out",
        "pytest || exit 1; rm -f out",
        "pytest; code=$?; rm -f out; exit $code",
        "pytest > log && grep passed log",
        "pytest && git diff --exit-code",
        "! grep -q bug src/a.rs",
        "! grep -q bug src/a.rs && rm -f out",
        "mkdir -p a; cp b a; ls a",
        "set -e; pytest; rm -rf out",
        "set -e; [ -d out ] || mkdir out; pytest; rm -rf out",
        "set -e; [ -n $CI ] && echo ci; pytest; rm -rf out",
        "set -e; if [ -f .env ]; then . ./.env; fi; pytest; rm -rf out",
        "set -e; if ! command -v ruff; then pip install ruff; fi; ruff check; rm -rf out",
        "set -e; until nc -z localhost 80; do sleep 1; done; pytest; rm -rf out",
        "set -e; curl -s localhost | tar xz; pytest; rm -rf out",
        "set -e; export N=$(grep -c a b); pytest; rm -rf out",
        "find . -name '*.pyc' -exec rm {} \\;; pytest",
        "find . -exec protoc {} + && pytest",
    ]
    .into_iter()
    .filter(|line| is_hidden(line))
    .collect();
    assert_eq!(hidden, [""; 0]);

    let errexit = ["bash", "-ec", "cd a; pytest; rm -rf out"].map(str::to_owned);
    assert_eq!(printed(&errexit), None);
}

/// Red before: each proved a claim by its last command, although a check before it failed.
#[test]
fn a_line_tells_only_of_the_checks_that_reach_its_exit_code() {
    let is_hidden = |line: &str| printed(&["bash", "-c", line].map(str::to_owned)).is_some();
    let shown: Vec<&str> = [
        "find . -name '*_t.py' -exec sh -c 'pytest \"$@\"; true' sh {} +",
        "find . -name '*_t.py' -exec sh -c 'pytest \"$@\"' sh {} +",
        "pytest a; pytest b",
        // What is left out by a command that fails, or by a condition.
        "set -e; cd a && pytest; echo ok",
        "set -e; source env && pytest a; echo ok",
        "set -e\ncd a && pytest a\ncd . && pytest b",
        "[ -z $CI ] || pytest",
        // `set -e` passes over what stands before `&&`, `||` and in a condition, also in brackets.
        "(set -e; pytest a; pytest b) || exit 1",
        "set -e; (cd .; pytest a; pytest b) && echo ok",
        "{ set -e; pytest a; pytest b; } || exit 1",
        "set -e; (pytest a; pytest b) || { cat log; exit 1; }",
        "set -e; for t in 1 2; do pytest a; pytest b; done && echo ok; pytest c",
        "set -e; if (pytest a; pytest b); then echo ok; else exit 1; fi",
        "[ -n $CI ] && set -e; pytest a; pytest b",
        // `exit` ends only the subshell.
        "(pytest a || exit 1); pytest b",
        "(cd . && pytest a || exit 1)\n(cd . && pytest b || exit 1)",
        "(for t in 1 2; do pytest a || exit 1; done); pytest b",
        "true | (pytest a || exit 1); pytest b",
        "pytest a || (exit 1); pytest b",
        "pytest a || exit 1 & pytest b",
        // What ends otherwise than it says.
        "ok=1; pytest a || ok=0; [ $ok = 0 ]",
        "ok=1; pytest a || ok=0; . ./env; [ $ok = 1 ]",
        "ok=1; pytest a || ok=0; [ $ok = 1 ] || echo bad",
        "failed=; pytest a || failed=\"$failed a\"; [ -n \"$failed\" ]",
        "failed=; pytest a || failed=\"$failed a\"; [ -n $failed ] && exit 1; exit 0",
        "if pytest a; then rc=0; else echo bad; rc=$?; fi; exit $rc",
        "! pytest a || exit 1",
        "set -e; ! pytest a || exit 1",
        "! pytest a || exit 1; rm -f out",
        "for t in 1 2; do ! pytest a || exit 1; done",
        "pytest a > log || { echo failed; exit; }",
        "pytest a > log || { cat log; exit $?; }",
        "pytest a || false; pytest b",
        "pytest a || exit $rc; rm -f out",
        "pytest a; rc=$?; [ -n \"$CI\" ] || exit 0; exit $rc",
        "pytest a; rc=$?; if [ -f x ]; then exit 0; fi; exit $rc",
        "pytest a; rc=$?; exit 0; exit $rc",
        "pytest a; rc=$?; printf -v rc 0; exit $rc",
        "pytest a; rc=$?; echo $((rc=0)); exit $rc",
        "pytest a; rc=$?; rm -f out && exit 0; exit $rc",
        "e=0; trap 'exit $e' EXIT; pytest",
        "pytest b; eval \"pytest a\"",
        "X='pytest; true'; eval \"$X\"",
        // Here-documents and arrays.
        "cat > t.py <<EOF\nx\nEOF\npytest a || true",
        "pytest a <<'EOF'\nx\nEOF\necho done",
        "pytest a <<'EOF' || true\nEOF",
        "cat > t <<EOF\nset -e\nEOF\npytest a\npytest b",
        "bash <<'EOF'\npytest a\npytest b\nEOF",
        "opts=(-q); pytest a; pytest b",
        "time (pytest a; pytest b)",
        "{ (cd .; pytest a); echo ok; }",
        // Shells that something else starts, and pipes that do not decide.
        "printf '1 2' | xargs -n1 bash -c 'pytest a; true'",
        "docker compose exec app sh -c 'pytest; true'",
        "uv run bash -c 'pytest a; pytest b'",
        "flock x -c 'pytest; true'",
        "printf 'pytest' | sh",
        "pytest | grep -v Traceback",
        "pytest | jq .",
        "pytest | node -e 0",
        "pytest a | grep ok && exec pytest b || test -f x",
        "pytest a | grep ok || [ -f x ]",
        "set -e; pytest a\npytest b || > log; pytest c",
        "! pytest a | grep -q FAILED",
        // Where nothing else checks, what looks does.
        "test -e a || touch a",
        "grep -q nothing src/a.py || echo none",
        "jq . src/a.py > /dev/null; echo ok",
        "test -f dist/app || echo missing",
        "if [ -f dist/app ]; then echo ok; else echo missing; fi",
        "if curl -f x; then echo up; fi",
        "curl -f x | tee log",
        "grep -c TODO src | cat",
        "ls dist/app || true",
        "docker inspect db; true",
        "source ./check.sh | tail",
        ". ./check.sh; echo done",
        // Other shells and other places.
        "(pytest a &)",
        "set -e; (pytest a &); sleep 1",
        "(pytest a) & # note",
        "set -e\n(pytest a) ||\n  echo failed",
        "set -e\n(pytest a) |\n  tail -5",
        "set -e\r\npytest a\r\ntrue",
        "bash -cx 'pytest | tail'",
        "bash -ce 'pytest a || true'",
        "bash -eo pipefail -c 'pytest a || true'",
        "sh -c 'pytest &> log'",
        "fish -c 'set -e FOO; pytest a; pytest b'",
        "fish -c 'not pytest a'",
        "ssh h 'pytest a; true'",
        "docker exec -i c bash <<'EOF'\npytest a; true\nEOF",
        "bash -c \"$X\"",
        // What reads a check and tells nothing of it.
        "pytest a | curl --data-binary @- URL",
        "pytest a | grep -E 'passed|failed'",
        "pytest a | grep ''",
        "[ -z \"$(pytest a)\" ]",
        "test \"$(pytest a | grep -c failed)\" = 0",
        "test -z \"$(gofmt -l .)\"",
        // What the shell does otherwise than it looks.
        "pytest a; > log; rc=$?; exit $rc",
        "pytest a; now=$(date) rc=$?; exit $rc",
        "for a in 1 2; do for b in 1 2; do [ -d . ] && break 2; done; pytest a || exit 1; done",
        "set -- -e x; pytest a; pytest b",
        "set -e; set -u +o errexit; pytest a; pytest b",
        "set -o pipefail; set -e +o pipefail; pytest a | tail",
        "pytest a; rc=$?; for rc in 0; do :; done; exit $rc",
        "pytest a; rc=$?; x=$((rc=0)); exit $rc",
        "pytest a\\ #1; true",
        "trap 'case $? in 1) exit 0;; esac' EXIT; pytest a",
        "trap 'pytest a' EXIT; pytest b",
        "exec {fd}>lock; flock $fd; pytest a; true",
        "exit $?; rm -f out; eval pytest a",
        "set -e; (pytest a; pytest b) && > log; if exit; then pytest c; fi",
        "( ! [ -f x ] && ( pytest a ) &)",
        "> log || pytest a",
        "while IFS= read -r f; do pytest \"$f\" || exit 1; done < <(git ls-files)",
        "out=$(set -e; pytest a; pytest b) || { echo \"$out\"; exit 1; }",
        "git ls-files | xargs -r pytest",
        "script -qec 'pytest || true' /dev/null",
        "setsid pytest",
        "[ \"$(pytest | grep -c E501)\" -le 5 ]",
        "test -n \"$(pytest)\" && echo ok",
        "[ \"$(pytest a; pytest b)\" ]",
        "let x=1<<2; pytest; true",
        "cargo test -p a; cargo test -p b",
        "make lint; make test",
        "pytest a\npytest b\n",
        "pytest a || true; pytest b",
        "pytest a || pytest b",
        "pytest a & pytest b",
        "! pytest",
        "! pytest a && pytest b",
        "cargo build; cargo test",
        "(pytest a; pytest b)",
        "(pytest a); pytest b",
        "{ pytest a; pytest b; }",
        "cd x && { pytest a; pytest b; }",
        "pytest a; pytest b | grep passed",
        "pytest a; pytest b && rm -f out",
        "pytest > log; grep passed log",
        "pytest; git diff --exit-code",
        "pytest; [ -d out ] && rm -rf out",
        "pytest; make clean",
        "pytest; > log",
        "readonly A=$(pytest)",
        "declare A=$(pytest) && rm -f out",
        "set -e; f=$(pytest; true); pytest b",
        "pytest a && pytest b; pytest c",
        "if pytest a; then pytest b; fi; pytest c",
        "for t in a b; do pytest $t; done; pytest c",
        "[ -f x ] || pytest a; pytest b",
        "exit 0; pytest",
        "[ -f x ] || exit 0; pytest",
        "[ -n $CI ] && exit; pytest",
        "exec true; pytest",
        "pytest a; code=$?; pytest b; exit $code",
        "pytest a; code=$?; code=0; exit $code",
        "(pytest a; code=$?); exit $code",
        "for t in a b; do pytest $t; code=$?; done; exit $code",
        "pytest a; code=$?; exit $other",
        "pytest || { cat log; exit 0; }; cat log",
        "pytest || { cat log; }; cat log",
    ]
    .into_iter()
    .filter(|line| !is_hidden(line))
    .collect();
    assert_eq!(shown, [""; 0]);
    let hidden: Vec<&str> = [
        "cat a > b; mv b c",
        "cat said; exit $(cat code)",
        "pytest a && pytest b",
        "pytest a; if [ $? -ne 0 ]; then exit 1; fi",
        "pytest a; rc=$?; rm -f out; [ $rc -eq 0 ]",
        "pytest a; rc=$?; if [ $rc -ne 0 ]; then exit $rc; fi",
        "(pytest a) &&\n  pytest b",
        "time -p pytest a",
        "python a.py | diff - expected",
        "python a.py | jq -e .ok",
        "yes | ./install.sh",
        "bash -eo pipefail -c 'pytest a | tail'",
        "grep -q fine src/a.py",
        "test -f dist/app",
        "docker exec c grep -q a b",
        "rc=0; pytest a || rc=1; pytest b || rc=1; exit $rc",
        "set -e; rc=0; pytest a || rc=$?; pytest b || rc=$?; exit $rc",
        "pytest a; rc=$?; rm -rf src/out; cat src/x; exit $rc",
        "pytest a; rc=$?; [ $rc -eq 0 ] || cat log; exit $rc",
        "pytest a; rc=$?; if [ $rc -ne 0 ]; then cat log; fi; exit $rc",
        "pytest a; rc=$?; (cd .; rm -f out); exit $rc",
        "(pytest a; rc=$?; exit $rc)",
        "pytest || { rc=$?; echo bad; exit $rc; }; rm -f out",
        "rm -f out; pytest && echo ok",
        "git pull; pytest && echo ok",
        "[ -d out ] || mkdir out; pytest && echo ok",
        "python3 -m http.server & sleep 1; pytest a; rc=$?; kill %1; exit $rc",
        "for i in $(seq 30); do pg_isready && break; sleep 1; done; pytest",
        "if ! pytest a; then exit 1; fi; pytest b",
        "if pytest a; then exit 0; else exit 1; fi",
        "[ \"$(pytest)\" = 1 ]",
        "docker compose up -d --wait; pytest",
        "for t in a b; do pytest $t || { echo $t; exit 1; }; done",
        "for t in a b; do (cd . && pytest $t) || exit 1; done",
        "(for t in a b; do pytest $t || exit 1; done)",
        "set -e; pytest a; pytest b; rm -rf out || true",
        "timeout 60 bash -ec 'pytest a; pytest b'",
        "cat > t.py <<EOF\nx\nEOF\npytest t.py",
        "python - <<'EOF'\nassert 1\nEOF",
        "opts=(-q); pytest \"${opts[@]}\"",
        "eval \"$(pyenv init -)\" && pytest",
        "export $(cat .env | xargs) && pytest a",
        "set -e; pytest a; pytest b",
        "set -e\npytest a\npytest b\n",
        "pytest a || exit 1; pytest b",
        "pytest a || exit 1\npytest b || exit 1\nrm -f out",
        "pytest > log || { cat log; exit 1; }; cat log",
        "pytest > log || { cat log >&2; exit 2; }\npytest b",
        "for t in a b; do pytest $t || exit 1; done; echo ok",
        "for t in a b; do pytest $t || exit 1; done; rm -rf out",
        "pytest; code=$?; echo \"code $code\"; rm -f out; exit $code",
        "pytest; code=$?; rm -f out; exit \"$code\"",
        "! grep -q bug src/a.rs && ! grep -q bug src/b.rs",
        "[ -d out ] && rm -rf out; pytest",
        "[ -d out ] || mkdir out; pytest",
        ". venv/bin/activate; pytest",
        "export A=1\ncd sub\npytest -q\n",
        "mkdir -p out; exec pytest",
        "[ -f x ] || exit 1; pytest",
    ]
    .into_iter()
    .filter(|line| is_hidden(line))
    .collect();
    assert_eq!(hidden, [""; 0]);
}

/// Red before: each proved a claim although the check failed.
#[test]
fn what_sets_the_exit_code_of_a_line_is_named() {
    for (words, told) in [
        (
            &["find", ".", "-exec", "pytest", "{}", ";"][..],
            "of `find`, and may be 0 though a command in it failed",
        ),
        (
            &["sh", "-c", "find . -name '*_t.py' -exec pytest {} \\;"],
            "of `find`, and may be 0 though a command in it failed",
        ),
        (
            &["sh", "-c", "find . -exec pytest {} \\; && echo ok"],
            "of `find`, and may be 0 though a command in it failed",
        ),
        (
            &["sh", "-c", "trap 'exit 0' EXIT; pytest"],
            "of `trap`, and may be 0 though a command in it failed",
        ),
        (
            &["sh", "-c", "set -e; trap 'rm -rf out; exit $?' EXIT; pytest"],
            "of `trap`, and may be 0 though a command in it failed",
        ),
        (
            &["sh", "-c", "until pytest; do sleep 1; done"],
            "of `until`, and may be 0 though a command in it failed",
        ),
    ] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(printed(&words).expect("a hidden check").to_string(), told, "{words:?}");
    }
    for words in [
        &["find", ".", "-exec", "pytest", "{}", "+"][..],
        &["find", ".", "-name", "*.pyc", "-exec", "rm", "{}", ";"],
        &["sh", "-c", "trap 'rm -rf out' EXIT; pytest"],
        &["sh", "-c", "trap 'code=$?; rm -rf out; exit $code' EXIT; pytest"],
        &["sh", "-c", "trap 'exit 1' INT TERM; pytest"],
    ] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(printed(&words), None, "{words:?}");
    }
}

/// Red before: a loop of checks proved a claim by the last check alone.
#[test]
fn a_line_that_ends_in_a_compound_command_tells_nothing() {
    let is_hidden = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        printed(&words).is_some()
    };
    let shown: Vec<&str> = [
        "for t in a b; do pytest $t; done",
        "cd x && for t in a b; do pytest $t; done",
        "for ((i = 0; i < 3; i++)); do pytest; done",
        "for t in a b\ndo\n  pytest $t\ndone > log",
        "while read t; do pytest $t; done < list",
        "while pytest; do sleep 1; done",
        "until pytest; do ruff check; done",
        "if pytest; then echo ok; else echo bad; fi",
        "if [ -f a ]; then pytest; fi",
        "case $CI in 1) pytest;; esac",
        "case $CI in (1) pytest;; esac",
        "f() { pytest; true; }; f",
        "function f { pytest; true; }; f",
        "{ for t in a b; do pytest $t; done; }",
        "(for t in a b; do pytest $t; done)",
        "bash -c 'for t in a b; do pytest $t; done'",
        "for t in a b; do pytest $t; done; echo ok",
        // `set -e` passes over these.
        "set -e; for t in a b; do pytest $t && ruff $t; done",
        "set -e; for t in a b; do pytest $t || true; done",
        "set -e; for t in a b; do { pytest $t; true; } || exit 1; done",
        "set -e; (pytest; true) || exit 1; for t in a b; do pytest $t; done",
        "set -e; for t in $(git ls-files); do pytest $t; done",
        "set -e; for t in $TESTS; do pytest $t; done",
        "set -e; set +e; for t in a b; do pytest $t; done",
        "set -e; if pytest; then echo ok; fi",
        "set -e; exit 0; for t in a b; do pytest $t; done",
        "set -e; trap \"set +e\" DEBUG; for t in a b; do pytest $t; done",
        "set -e; trap \"exit 0\" EXIT; for t in a b; do pytest $t; done",
        "pytest; set -e; for t in a b; do ruff $t; done",
        // Red before.
        "set -e; for t in a b; do echo \"$t: $(pytest $t)\"; done",
        "set -e; for t in a b; do set +e; pytest $t; done",
        "set -e; for t in a b; do sh -c \"pytest $t; true\"; done",
        "set -e; for t in a b; do bash -c \"pytest $t | cat\"; done",
        "set -e; for t in a b; do eval \"pytest $t || true\"; done",
        "set -e; for t in a b; do diff <(pytest $t) /dev/null; done",
        "set -e; for t in a b; do break; pytest $t; done",
        "set -e; shopt -s nullglob; for t in a/*.py b/*.py; do pytest $t; done",
        "pytest; until nc -z localhost 5432; do sleep 1; done",
        "(pytest); until nc -z localhost 5432; do sleep 1; done",
        "for t in a b; do pytest $t; done; until test -e c; do sleep 1; done",
        "eval \"for t in a b; do pytest \\$t; done\"",
        // Red before: what follows has the exit code of the loop, or leaves it as it is.
        "for t in a b; do pytest $t; done; exit $?",
        "for t in a b; do pytest $t; done || exit 1",
        "set -e; for t in a b; do pytest $t; done && rm -f out",
        // Red before: `set -e` was lifted, or the loop left.
        "set -e; for t in a b; do command set +e; pytest $t; done",
        "set -e; for t in a b; do builtin set +e; pytest $t; done",
        "set -e; for t in a b; do coproc pytest $t; done",
        "set -e; for t in a b; do exec pytest $t; done",
        "set -e; for t in a b; do find $t -exec pytest {} \\;; done",
        // Red before: a loop that waits until a check passes never fails.
        "until pytest; do sleep 1; done",
        "while ! pytest -q; do sleep 1; done",
        "until [ \"$(pytest)\" = ok ]; do sleep 1; done",
        // `return` ends no line of bash, and these are no failures.
        "for t in a b; do pytest $t || return 1; done",
        "for t in a b; do pytest $t || exit 0; done",
        "for t in a b; do pytest $t || exit 256; done",
        "for t in a b; do pytest $t || exit 1; ruff check $t; done",
        "for t in a b; do pytest $t | cat || exit 1; done",
        "for t in a b; do break; pytest $t || exit 1; done",
        "for t in $TESTS; do pytest $t || exit 1; done",
        "for t in a b; do echo \"$(pytest $t)\" || exit 1; done",
        "for t in a b; do { pytest $t; true; } || exit 1; done",
        "for t in a b; do (pytest $t || exit 1); done",
        "for t in a b; do if test -e $t; then pytest $t || exit 1; fi; done",
        "pytest; for t in a b; do ruff check $t || exit 1; done",
    ]
    .into_iter()
    .filter(|line| !is_hidden(&["sh", "-c", line]))
    .collect();
    assert_eq!(shown, [""; 0]);

    let hidden: Vec<&str> = [
        "set -e; for t in a b; do pytest $t; done",
        "set -eu\nfor t in tests/*.py; do\n  echo $t\n  pytest $t\ndone\necho ok",
        "if [ -f venv/bin/activate ]; then . venv/bin/activate; fi; pytest",
        "until nc -z localhost 5432; do sleep 1; done; pytest",
        "until nc -z localhost 5432; do sleep 1; done",
        "touch a; while ! test -e b; do sleep 1; done",
        "docker compose up -d && until nc -z localhost 5432; do sleep 1; done",
        "set -e; cd \"$(dirname \"$0\")\"; for t in a b; do sh -c \"pytest $t\"; done",
        "pytest -k 'if or for'",
        "cd for && pytest",
        "files=(a b); pytest \"${files[@]}\"",
        "until curl -sf localhost:80; do sleep 1; done && touch up",
        "until [ \"$(docker inspect db)\" = healthy ]; do sleep 1; done",
        "set -e; exec > log; for t in a b; do pytest $t; done",
        "set -e; for t in a b; do pytest $t; done; exit",
        // Red before.
        "set -e; trap \"rm -rf out\" EXIT; for t in a b; do pytest $t; done",
        "set -e; for t in a b; do pytest $t; done; exit 0",
        "set -e; echo \"on $(hostname)\"; for t in a b; do pytest $t; done",
        "set -e; echo \"$(python --version)\"; for t in a b; do pytest $t; done",
        "set -e; pytest; echo \"$(wc -l < src/a.rs) lines\"",
        "set -e; DIR=\"$(cd \"$(dirname \"$0\")\" && pwd)\"; for t in a b; do pytest $t; done",
        "set -e; echo 'a && b'; for t in a b; do pytest $t; done",
        "for t in a b; do pytest $t || exit 1; done",
        "cd x && for t in a b; do echo $t; pytest $t && ruff check $t || exit 2; done",
        "for t in a b\ndo\n  ! grep -q bug $t || exit\ndone",
        "set -e; cd x || exit 1; for t in a b; do pytest $t; done",
        "for a in x y; do for t in a b; do pytest $a/$t || exit $?; done; done",
        "set -e; for t in a b; do pytest $t || exit 1; done",
    ]
    .into_iter()
    .filter(|line| is_hidden(&["sh", "-c", line]))
    .collect();
    assert_eq!(hidden, [""; 0]);

    assert!(!is_hidden(&["bash", "-ec", "for t in a b; do pytest $t; done"]));
    assert!(!is_hidden(&["bash", "-o", "errexit", "-c", "for t in a b; do pytest $t; done"]));
}

#[test]
fn the_exit_code_of_a_pipe_is_said_to_be_that_of_its_last_command() {
    let lines = [
        "pytest tests/test_ttl.py | tail -5",
        "cd /work/x && pytest -q 2>&1 | tee log | tail -5",
        "pytest -q |& tail -5",
        "pytest | tail -5 && echo ok",
        "timeout 60 bash -c 'pytest | tail -5'",
        "bash -lc \"cargo test 2>&1 | grep result\"",
        "out=$(pytest | tail -5)",
        "(cd web && make) | tail -5",
        "if pytest | tail; then echo ok; fi",
        "set -e; pytest | tail",
        "set -o pipefail; set +o pipefail; pytest | tail",
        "git ls-files | wc -l && pytest",
    ];
    let told: Vec<String> = lines
        .iter()
        .map(|line| format!("{line} -> {}", piped(line).expect("a pipe that hides something")))
        .collect();
    expect![[r#"
        pytest tests/test_ttl.py | tail -5 -> of `tail -5`, the last of a pipe: says nothing about `pytest tests/test_ttl.py`
        cd /work/x && pytest -q 2>&1 | tee log | tail -5 -> of `tail -5`, the last of a pipe: says nothing about `pytest -q`
        pytest -q |& tail -5 -> of `tail -5`, the last of a pipe: says nothing about `pytest -q`
        pytest | tail -5 && echo ok -> after a pipe that ends in `tail -5`: says nothing about `pytest`
        timeout 60 bash -c 'pytest | tail -5' -> of `tail -5`, the last of a pipe: says nothing about `pytest`
        bash -lc "cargo test 2>&1 | grep result" -> of `grep result`, the last of a pipe: says nothing about `cargo test`
        out=$(pytest | tail -5) -> of `tail -5`, the last of a pipe: says nothing about `pytest`
        (cd web && make) | tail -5 -> of `tail -5`, the last of a pipe: says nothing about `make`
        if pytest | tail; then echo ok; fi -> after a pipe that ends in `tail`: says nothing about `if pytest`
        set -e; pytest | tail -> of `tail`, the last of a pipe: says nothing about `pytest`
        set -o pipefail; set +o pipefail; pytest | tail -> of `tail`, the last of a pipe: says nothing about `pytest`
        git ls-files | wc -l && pytest -> after a pipe that ends in `wc -l`: says nothing about `git ls-files`"#]]
    .assert_eq(&told.join("\n"));
}

/// Operators and substitutions hide results as pipes do.
#[test]
fn the_exit_code_of_a_line_is_not_that_of_a_command_which_it_passes_over() {
    let lines = [
        "pytest x.py || true",
        "pytest x.py; true",
        "pytest x.py; exit 0",
        "pytest x.py\nls",
        "! pytest x.py",
        "false && pytest x.py; ls",
        "pytest x.py &",
        "pytest x.py & wait",
        "(pytest x.py) &",
        "(pytest x.py) || true",
        "{ pytest x.py; } || :",
        "echo $(pytest x.py)",
        "echo \"`pytest x.py`\"",
        "cat <(pytest x.py)",
        "bash -c 'pytest x.py || true'",
        "eval 'pytest x.py; true'",
        "if pytest x.py; then :; fi",
        "while pytest x.py; do sleep 1; done",
        "if [ -f x ]; then pytest x.py; fi",
        "true || pytest x.py",
        "out=$(pytest x.py); echo $out",
        "export OUT=$(pytest x.py)",
        "pytest x.py && echo ok; ls",
        "pytest x.py; cat <<EOF",
        "pytest x.py || exit 0",
        "set -e; pytest x.py || true",
    ];
    for line in lines {
        let hidden = piped(line).unwrap_or_else(|| panic!("{line}"));
        assert!(hidden.to_string().starts_with("of the whole line: says nothing about"), "{line}: {hidden}");
        assert!(hidden.first.contains("pytest x.py") || line.contains("[ -f"), "{line}: {hidden}");
    }
}

#[test]
fn what_is_no_pipe_or_tells_of_its_failures_hides_nothing() {
    for line in [
        "pytest tests/test_ttl.py",
        "pytest -k 'a | b'",
        "grep \"x | y\" src/a.rs",
        "pytest || exit 1",
        "set -o pipefail; pytest | tail -5",
        "set -euo pipefail && cd x && pytest | tail -5",
        "bash -o pipefail -c 'pytest | tail -5'",
        "bash -eo pipefail -c 'pytest | tail -5'",
        "bash -c 'set -o pipefail; pytest | tail -5'",
        "echo '{\"a\":1}' | pytest tests/test_json.py",
        "pytest --seed $(date | md5sum)",
        "pytest > log # | tail",
        "cd web; pytest",
        "set -e; pytest; ruff check",
        "export A=1; pytest && ruff check",
        "pytest &&\n  ruff check",
        "pytest x.py; exit $?",
        "pytest || exit 2; echo ok",
        "out=$(pytest x.py)",
        "bash -c 'cd web && pytest'",
        "ruff check $(git ls-files)",
        "pytest;",
        "{ pytest x.py; }",
        "python - <<EOF",
    ] {
        assert_eq!(piped(line), None, "{line}");
    }
}

#[test]
fn a_line_tells_by_a_variable_that_keeps_whether_a_check_failed() {
    for line in [
        "ok=1; pytest a || ok=0; pytest b || ok=0; [ $ok = 1 ]",
        "ok=1; pytest a || ok=0; if [ $ok -ne 1 ]; then exit 1; fi",
        "ok=yes; pytest a || ok=no; test \"$ok\" = yes",
        "failed=; pytest a || failed=\"$failed a\"; pytest b || failed=\"$failed b\"; [ -z \"$failed\" ]",
        "failed=\"\"; pytest a || failed=\"$failed a\"; if [ -n \"$failed\" ]; then echo \"$failed\"; exit 1; fi",
        "if pytest a; then rc=0; else rc=$?; fi; rm -f out; exit $rc",
        "pytest a; rc=$?; rm -f out; exit ${rc}",
        "pytest a; rc=$?; [ $rc -gt 0 ] && exit $rc; exit 0",
    ] {
        assert_eq!(printed(&["bash", "-c", line].map(str::to_owned)), None, "{line}");
    }
    let line = "pytest a; rm -f out; pytest b";
    assert_eq!(printed(&["bash", "--norc", "-ec", line].map(str::to_owned)), None);
}

/// Red before: `cd x` without `x`, or a report that could not be copied after the tests had passed, proved that the tests fail.
#[test]
fn a_line_that_may_fail_without_its_check_is_known() {
    let alone = |line: &str| fails_alone(&["bash", "-c", line].map(str::to_owned));
    for line in [
        "cd x && pytest",
        "cd a; pytest",
        "[ -f Makefile ] && make test",
        "set -e; mkdir out; pytest",
        "git pull; cd a || exit 1; pytest",
        "set -e; pytest; cp report.xml /tmp",
        "pytest; rc=$?; [ $rc -ne 0 ] && exit $rc",
        "pytest && [ -f report.xml ]",
        "pytest; exit 1",
        "set -e; trap 'rm out' EXIT; pytest",
        "pytest > build/check.log",
        "pytest < input.txt",
        "out=$(pytest < input.txt) || exit 1",
        "npm ci && pytest",
        "set -o pipefail; pytest | grep -v PASS",
    ] {
        assert!(alone(line), "{line}");
    }
    for line in [
        "pytest",
        "mkdir -p out; pytest",
        "pytest || exit 1; rm -rf out",
        "pytest a > log 2>&1 || { cat log; exit 1; }",
        "pytest > /dev/null 2>&1",
        "set -e; export A=1; pytest",
        "rm -f log && pytest",
        "set -o pipefail; pytest | tee log",
        "pytest; rc=$?; rm -f out; exit $rc",
    ] {
        assert!(!alone(line), "{line}");
    }
    assert!(!fails_alone(&["pytest".to_owned()]));
}
