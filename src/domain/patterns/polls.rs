//! Commands that wait for something: their repetition is no loop.

use crate::domain::action::{failures_counted, only_looks};

/// Programs that look at something outside that changes by itself.
const PROGRAMS: [&str; 27] = [
    "at",
    "df",
    "free",
    "hm",
    "htop",
    "jobs",
    "lsof",
    "nc",
    "netstat",
    "nvidia-smi",
    "pg_isready",
    "pgrep",
    "ping",
    "ps",
    "qstat",
    "squeue",
    "sleep",
    "ss",
    "tail",
    "timeout",
    "top",
    "uptime",
    "wait",
    "watch",
    "wait-for-it",
    "wait-on",
    "w",
];
/// Words of a command that say that it watches or waits. A word counts between separators too: `deploy-status.sh`.
const WORDS: [&str; 21] = [
    "follow",
    "health",
    "healthcheck",
    "healthz",
    "livez",
    "log",
    "logs",
    "monitor",
    "ping",
    "poll",
    "ps",
    "queue",
    "ready",
    "readyz",
    "rollout",
    "runs",
    "status",
    "tail",
    "wait",
    "watch",
    "progress",
];
/// Words that look at something outside only beside certain programs.
const OF_PROGRAM: [(&str, &[&str]); 10] = [
    ("kubectl", &["get", "describe", "top", "events"]),
    ("gh", &["run", "checks", "view"]),
    ("glab", &["ci", "view"]),
    ("docker", &["inspect", "stats", "events", "top"]),
    ("podman", &["inspect", "stats", "events", "top"]),
    ("aws", &["describe-stacks", "describe-tasks", "describe-services", "ls"]),
    ("npm", &["view", "info"]),
    ("cargo", &["search"]),
    ("terraform", &["show"]),
    ("systemctl", &["is-active", "show"]),
];
/// Of git, `log` and `status` read the work tree, and nothing changes it by itself but other agents.
const NO_POLLS: [&str; 1] = ["git log"];
/// How many words of a command are looked at.
const WORDS_READ: usize = 6;
/// Programs that ask something over the network.
const ASKING: [&str; 6] = ["curl", "wget", "http", "nc", "dig", "telnet"];
/// Programs that search, and fail where they find nothing.
const SEARCHING: [&str; 8] = ["[", "cmp", "diff", "egrep", "grep", "rg", "test", "wc"];

/// Programs that look whether a file is there or how long it is: an agent that waits for another program looks so by hand.
const LOOKING_AT_A_FILE: [&str; 5] = ["[", "[[", "stat", "test", "wc"];

/// Commands whose end is the answer to a question, and what they begin with.
const QUESTIONS: [&str; 15] = [
    "cmp ",
    "command -v ",
    "diff ",
    "git diff --exit-code",
    "git diff --quiet",
    "git ls-files --error-unmatch",
    "git merge-base --is-ancestor",
    "git rev-parse --verify",
    "git show-ref --verify",
    "grep -q ",
    "jq -e ",
    "kill -0 ",
    "rg -q ",
    "terraform plan -detailed-exitcode",
    "which ",
];
/// What a failure says that may pass while the agent waits: a server that is not up, a network, a lock that somebody
/// holds, a limit on requests. In lower case.
const PASSING: [&str; 35] = [
    "429 too many",
    "502 bad gateway",
    "503 service",
    "504 gateway",
    "acquiring the state lock",
    "connection refused",
    "connection reset",
    "connection timed out",
    "connectionrefused",
    "connecttimeout",
    "could not connect",
    "could not get lock",
    "could not resolve host",
    "database is locked",
    "eai_again",
    "econnrefused",
    "econnreset",
    "error 502",
    "error 503",
    "error 504",
    "etimedout",
    "index.lock",
    "is not running",
    "is starting up",
    "name resolution",
    "network is unreachable",
    "no route to host",
    "rate limit",
    "operation timed out",
    "text file busy",
    "timed out waiting",
    "timeout was reached",
    "toomanyrequests",
    "usage limit",
    "waiting for file lock",
];
/// What the output of a test says that failed.
const OF_A_TEST: [&str; 3] = ["assert", "expected:", "panicked at"];
/// Exit codes of programs that ask over the network: no name, no connection, no answer in time.
const EXITS_OF_ASKING: [i32; 4] = [4, 6, 7, 28];

/// Whether a command only waits for something outside to change. `line` is the line as typed, `command` its normal form.
pub(super) fn is_poll(line: &str, command: &str) -> bool {
    let typed: Vec<&str> = line.split(|c: char| c.is_whitespace() || ";|&()".contains(c)).collect();
    if typed.iter().any(|word| ["sleep", "watch", "until"].contains(word)) {
        return true;
    }
    command.split(" ; ").all(is_poll_alone)
}

fn is_poll_alone(command: &str) -> bool {
    if NO_POLLS.iter().any(|other| command.starts_with(other)) {
        return false;
    }
    let command = command.rsplit(" && ").next().unwrap_or(command);
    if QUESTIONS.iter().any(|question| command.starts_with(question)) {
        return true;
    }
    let words: Vec<&str> = command.split_whitespace().take(WORDS_READ).collect();
    let Some((program, arguments)) = words.split_first() else { return false };
    let program = program.rsplit('/').next().unwrap_or(program);
    let beside = OF_PROGRAM.iter().find(|(name, _)| *name == program).map(|(_, words)| *words);
    let says = |word: &str| {
        let mut parts = word.split(|c: char| !c.is_ascii_alphanumeric());
        parts.any(|part| WORDS.contains(&part.to_ascii_lowercase().as_str()))
    };
    // A test or a file may have such a word in its name: of an argument only a bare word and an address count.
    let asks = ASKING.contains(&program);
    let is_plain = |word: &&&str| {
        if asks {
            return true;
        }
        !word.starts_with('-') && (word.contains("://") || !word.contains(['/', '.', ':', '_']))
    };
    let reads_a_log = || only_looks(command) && arguments.iter().any(|word| is_log(word));
    PROGRAMS.contains(&program)
        || LOOKING_AT_A_FILE.contains(&program)
        || reads_a_log()
        || says(program)
        || arguments.iter().any(|word| beside.is_some_and(|words| words.contains(word)))
        || arguments.iter().take(3).filter(is_plain).any(|word| says(word))
            && !["cargo", "pytest", "python", "python3", "go", "jest", "vitest", "node", "grep", "rg"]
                .contains(&program)
}

/// Whether a file is written by a program that runs elsewhere.
fn is_log(word: &str) -> bool {
    word.ends_with(".log") || word.ends_with(".out") || word.starts_with("logs/") || word.contains("/logs/")
}

/// Whether a command that fails says nothing but that it found nothing, or that something is not there yet.
pub(super) fn searches(command: &str) -> bool {
    let command = command.rsplit(" && ").next().unwrap_or(command);
    command.split_whitespace().next().is_some_and(|program| SEARCHING.contains(&program))
}

/// Whether a failure may pass without a change by the agent. `said` is the end of the output, `command` the normal form.
pub(super) fn may_pass_by_itself(line: &str, command: &str, exit: Option<i32>, said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    let program = command.rsplit(" && ").next().unwrap_or(command).split_whitespace().next();
    let is_asking = program.is_some_and(|program| ASKING.contains(&program));
    // A test that failed may speak of any of them.
    let is_test = OF_A_TEST.iter().any(|word| said.contains(word)) || failures_counted(&said).is_some();
    !is_test && PASSING.iter().any(|passing| said.contains(passing))
        || is_asking && exit.is_some_and(|exit| EXITS_OF_ASKING.contains(&exit))
        // Who looks at a file that is not there waits for it.
        || only_looks(line) && said.contains("no such file or directory")
}

/// Whether a session that waits for a child of its own may run this command again and again.
pub(super) fn waits_for_a_child(line: &str, command: &str) -> bool {
    let program = command.split_whitespace().next().unwrap_or_default();
    only_looks(line) || searches(command) || ASKING.contains(&program)
}

#[cfg(test)]
mod tests {
    use super::{is_poll, may_pass_by_itself, searches, waits_for_a_child};

    /// Red before: a test that spoke of a limit was a wait.
    #[test]
    fn what_a_test_says_does_not_pass_by_itself() {
        for said in [
            "thread 'a' panicked at src/a.rs:3: rate limit not applied",
            "AssertionError: worker 3 is not running",
            "connection refused\n2 failed, 3 passed in 2s",
        ] {
            assert!(!may_pass_by_itself("pytest -q", "pytest -q", Some(1), said), "{said}");
        }
        for said in ["connect ECONNREFUSED 127.0.0.1:5432", "getaddrinfo EAI_AGAIN db"] {
            assert!(may_pass_by_itself("npm start", "npm start", Some(1), said), "{said}");
        }
    }

    #[test]
    fn a_failure_that_may_pass_by_itself_is_told_from_one_of_the_work() {
        for (line, exit, said) in [
            ("ssh build01 true", 255, "ssh: connect to host build01 port 22: Connection refused"),
            ("docker pull reg/img", 1, "Error response from daemon: toomanyrequests: rate limit"),
            ("apt-get install x", 100, "E: Could not get lock /var/lib/dpkg/lock-frontend"),
            ("git commit -m x", 128, "fatal: Unable to create '/r/.git/index.lock': File exists."),
            ("git push", 128, "fatal: unable to access: Could not resolve host: github.com"),
            ("sqlite3 a.db 'select 1'", 1, "Error: database is locked"),
            ("pip install foo", 1, "ERROR: HTTP error 503 while getting https://pypi.org/"),
            ("pytest -q", 1, "requests.exceptions.ConnectTimeout"),
            ("cargo build", 101, "Blocking waiting for file lock on build directory"),
            ("wget -q http://localhost:1/", 4, ""),
            ("cd x && curl -s localhost", 7, ""),
            ("ls out/result.json", 2, "ls: cannot access 'out/result.json': No such file or directory"),
        ] {
            assert!(may_pass_by_itself(line, line, Some(exit), said), "{line}");
        }
        for (line, exit, said) in [
            ("cargo build", 101, "error[E0308]: mismatched types"),
            ("pytest -q", 1, "1 failed, 2 passed"),
            ("pytest -q", 4, "file or directory not found: tests/x.py"),
            ("python run.py", 1, "FileNotFoundError: [Errno 2] No such file or directory: 'a.csv'"),
            ("curl -s localhost", 22, ""),
            ("make", 7, ""),
            ("timeout 5 make test", 124, ""),
            ("pytest -q", 1, "FAILED tests/a.py: Timed out after 5 s"),
        ] {
            assert!(!may_pass_by_itself(line, line, Some(exit), said), "{line}");
        }
    }

    #[test]
    fn searches_and_questions_to_a_server_wait_for_a_child_and_work_does_not() {
        assert!(searches("cd src && rg pool"));
        assert!(!searches("cargo build"));
        assert!(waits_for_a_child("cargo build", "rg pool"));
        assert!(waits_for_a_child("curl localhost", "curl localhost"));
        assert!(!waits_for_a_child("cargo build", "cargo build"));
    }

    #[test]
    fn what_waits_is_told_from_what_works() {
        for line in [
            "git status",
            "git status --short",
            "sleep 30 && cargo test",
            "tail -n 20 build.out",
            "ps aux",
            "watch -n 2 ls",
            "kubectl get pods",
            "kubectl rollout status deploy/shop",
            "gh run view 1234",
            "gh run watch 1234",
            "gh pr checks 12",
            "docker ps",
            "docker logs shop-db",
            "docker compose ps",
            "docker inspect db",
            "systemctl status shop",
            "curl -s http://localhost:8080/health",
            "curl -s localhost:8080/healthz",
            "cat build.log",
            "systemctl is-active shop",
            "./scripts/deploy-status.sh staging",
            "npm run status",
            "hm news",
            "make logs",
            "journalctl status",
            "terraform show",
            // Red before: who looked for the end of a job by hand was in a loop.
            "test -f target/done",
            "[ -e target/done ]",
            "wc -l out.csv",
            "stat out.csv",
            "kill -0 4242",
            "git diff --quiet",
            "diff a.txt b.txt",
            "grep -q ready server.log",
            "git rev-parse --verify x",
            "jq -e .done state.json",
            "npm view foo@2.0.0 version",
            "aws s3 ls s3://b/x",
            "terraform plan -detailed-exitcode",
        ] {
            assert!(is_poll(line, line), "{line}");
        }
        for line in [
            "cargo test",
            "cargo test status",
            "pytest tests/test_status.py",
            "npm test",
            "git push origin main",
            "git log --oneline",
            "git diff",
            "npm install left-pad",
            "curl -s http://localhost:8080/api/cart",
            "cat src/status.rs",
            "sed -n 1,40p src/health.rs",
            "docker build .",
            "kubectl apply -f shop.yaml",
            "python status.py",
            "go test ./status/...",
        ] {
            assert!(!is_poll(line, line), "{line}");
        }
    }
}
