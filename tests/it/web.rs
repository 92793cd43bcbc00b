//! `hm web` through the real binary: who gets in, what the pages say, and what a button does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hivemind::mcp::Era;
use serde_json::json;

use crate::bench::Bench;
use crate::doubted::scene;
use crate::harness::HM;
use crate::hook::within;
use crate::http::Answer;
use crate::shell::Shell;
use crate::terminal::{AS_OPERATOR, Screen};
use crate::watch::disputes;

/// How long an answer may take; slow machines run the tests too.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pages of the menu.
pub(crate) const PAGES: [&str; 13] = [
    "/",
    "/claims",
    "/disagreements",
    "/decisions",
    "/dead-ends",
    "/plan",
    "/sessions",
    "/runs",
    "/rules",
    "/told?agent=devops",
    "/ledger",
    "/policy",
    "/spaces",
];

/// A running `hm web`, ended with its test, and the browser that opened it.
pub(crate) struct Pages {
    child: Child,
    port: u16,
    token: String,
    cookie: String,
}

impl Pages {
    /// The pages of a workspace, not opened yet.
    pub(crate) fn start(mut command: Command) -> Self {
        for variable in ["HM_AGENT", "HM_DIR", "HM_SESSION"] {
            command.env_remove(variable);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("hm web to start");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let (address, token) = line.trim().split_once("/?token=").unwrap_or_else(|| panic!("{line:?}"));
        let port = address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        assert_eq!(address, format!("http://127.0.0.1:{port}"));
        Self { child, port, token: token.to_owned(), cookie: String::new() }
    }

    /// The pages of a workspace, opened by the operator.
    fn of(root: &Path) -> Self {
        let mut command = Command::new(HM);
        command.args(AS_OPERATOR).arg("--dir").arg(root).args(["web", "--no-open"]);
        Self::start(command).opened()
    }

    pub(crate) fn opened(mut self) -> Self {
        let answer = self.send("GET", &format!("/?token={}", self.token), &[], "");
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{answer:?}");
        let cookie = answer.header("set-cookie").expect("a cookie");
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
        self.cookie = cookie.split(';').next().expect("a pair").to_owned();
        self
    }

    fn connect(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let host = format!("127.0.0.1:{}", self.port);
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head.push_str(&format!("host: {host}\r\n"));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        stream.write_all(head.as_bytes()).expect("a request to send");
        stream
    }

    /// A request without the cookie.
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut bytes = Vec::new();
        let _ = self.connect(method, path, headers, body).read_to_end(&mut bytes);
        let answer = Answer::parse(&bytes);
        let policy = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
        assert_eq!(answer.header("content-security-policy"), Some(policy), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        answer
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[("cookie", &self.cookie)], "")
    }

    /// The text of a page that is there.
    pub(crate) fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    /// Sends a form as a browser does that shows this page.
    pub(crate) fn post(&self, fields: &[(&str, &str)], more: &[(&str, &str)]) -> Answer {
        let mut text = url::form_urlencoded::Serializer::new(String::new());
        let body = text.extend_pairs(fields).finish();
        let origin = format!("http://127.0.0.1:{}", self.port);
        let usual = [
            ("cookie", self.cookie.as_str()),
            ("origin", &origin),
            ("sec-fetch-site", "same-origin"),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        let named = |name: &str| more.iter().any(|(given, _)| *given == name);
        let headers: Vec<(&str, &str)> =
            usual.into_iter().filter(|(name, _)| !named(name)).chain(more.iter().copied()).collect();
        self.send("POST", "/act", &headers, &body)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // A stop signal lets it remove the workspace of a demo.
        let process = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

/// The value of the first hidden field of this name.
pub(crate) fn hidden<'p>(page: &'p str, name: &str) -> &'p str {
    let from = page.split(&format!("name=\"{name}\" value=\"")).nth(1);
    from.and_then(|rest| rest.split('"').next()).unwrap_or_else(|| panic!("no field {name} in {page}"))
}

#[test]
fn one_browser_of_this_machine_gets_in() {
    let bench = Bench::new();
    let mut pages = Pages::of(bench.root());
    let token = format!("/?token={}", pages.token);
    assert_eq!(pages.send("GET", &token, &[], "").status, 401, "the address works once");
    assert_eq!(pages.get(&token).status, 303, "the browser that has access goes on");
    for path in PAGES {
        let answer = pages.send("GET", path, &[], "");
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.body.contains("open the address that `hm web` printed"), "{}", answer.body);
        assert_eq!(pages.send("GET", path, &[("cookie", "hm_web_1=a")], "").status, 401);
        assert!(pages.page(path).contains("<main id=\"main\""), "an empty memory has the page {path}");
    }
    let cookie = pages.cookie.clone();
    for (host, status) in [
        (format!("localhost:{}", pages.port), 200),
        (format!("[::1]:{}", pages.port), 200),
        (format!("evil.example:{}", pages.port), 403),
        ("127.0.0.1".to_owned(), 403),
        (format!("127.0.0.1.evil.example:{}", pages.port), 403),
    ] {
        assert_eq!(
            pages.send("GET", "/", &[("cookie", &cookie), ("host", &host)], "").status,
            status,
            "{host}"
        );
    }
    for path in ["/sign-in", "/sign-out"] {
        let own = format!("http://127.0.0.1:{}", pages.port);
        let refused = pages.send("POST", path, &[("origin", &own)], "token=hm_00");
        assert_eq!(refused.status, 401, "{path}: nobody signs in here");
    }
    assert_eq!(pages.get("/nowhere").status, 404);
    assert_eq!(pages.get("/claim/C99").status, 404);
    assert_eq!(pages.get("/claims?at=99").status, 400);
    let page = pages.page("/");
    assert!(!page.contains(&pages.token), "the token is no part of a page");
    for (start, kind) in [("href=\"/style-", "text/css"), ("src=\"/live-", "text/javascript")] {
        let path = page.split(start).nth(1).and_then(|rest| rest.split('"').next()).expect("an asset");
        let path = format!("{}{path}", &start[start.find('/').expect("a path")..]);
        assert_eq!(pages.send("GET", &path, &[], "").status, 401, "{path}");
        let file = pages.get(&path);
        assert!(
            file.status == 200 && file.header("content-type").is_some_and(|given| given.starts_with(kind))
        );
        assert!(file.header("cache-control").is_some_and(|rule| rule.contains("immutable")), "{file:?}");
    }
    assert!(pages.child.try_wait().expect("a child").is_none(), "it serves until it is ended");
}

#[tokio::test]
async fn a_button_does_what_its_command_does() {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    bench.claim(&pane, "the pool holds 20 connections", "src/db").await;
    let pages = Pages::of(bench.root());
    let page = pages.page("/claim/C1");
    assert!(page.contains("hm claim challenge C1 --reason REASON"), "{page}");
    let form = hidden(&page, "form").to_owned();
    let challenge = [
        ("form", &*form),
        ("do", "challenge"),
        ("about", "C1"),
        ("reason", "it is 50"),
        ("back", "/claim/C1"),
    ];
    // Nothing acts by GET, and no form of another page acts.
    assert_eq!(pages.get(&format!("/act?form={form}&do=challenge&about=C1&reason=no")).status, 404);
    for more in [
        [("origin", "https://evil.example")].as_slice(),
        &[("origin", "null"), ("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("origin", "http://127.0.0.1:1")],
    ] {
        assert_eq!(pages.post(&challenge, more).status, 403, "{more:?}");
    }
    assert_eq!(pages.post(&challenge, &[("cookie", "a=b")]).status, 401);
    assert_eq!(pages.post(&challenge[1..], &[]).status, 403, "without the token of the form");
    assert!(!pages.page("/ledger?type=position.taken").contains("it is 50"), "nothing was written");
    let answer = pages.post(&challenge, &[("origin", "null")]);
    let back = answer.header("location").expect("a page to go back to").to_owned();
    assert!(answer.status == 303 && back.starts_with("/claim/C1?said="), "{answer:?}");
    let page = pages.page(&back);
    assert!(page.contains("challenged C1: committed at seq"), "{page}");
    assert!(page.contains("it is 50") && page.contains("contested"), "{page}");
    let ledger = pages.page("/ledger?type=position.taken");
    assert!(ledger.contains("operator") && ledger.contains("it is 50"), "{ledger}");
    // A reason that looks like an option stays a reason, and a missing one is asked for.
    let odd = [
        ("form", &*form),
        ("do", "deprecate"),
        ("about", "C1"),
        ("reason", "--help"),
        ("back", "//evil.example"),
    ];
    let answer = pages.post(&odd, &[]);
    assert!(answer.header("location").is_some_and(|back| back.starts_with("/?said=")), "{answer:?}");
    assert!(pages.page("/claim/C1").contains("--help"));
    let missing = [("form", &*form), ("do", "challenge"), ("about", "C1"), ("reason", " ")];
    let back = pages.post(&missing, &[]).header("location").expect("a page").to_owned();
    assert!(pages.page(&back).contains("this needs a reason"));
}

/// Red before: the page of the policy named `hivemind://events?type=memory.denied`.
#[test]
fn a_page_names_verbs_and_no_addresses_of_mcp() {
    let shell = Shell::new();
    let secret = "hm --agent devops claim create \"the key is AKIAQ7XK2MZP4RVT9LWE\" --scope src";
    assert!(!shell.run(secret).status.success());
    let pages = Pages::start(shell.command("hm --operator-override \"a test\" web --no-open")).opened();
    let page = pages.page("/policy");
    assert!(page.contains("hm log --type memory.denied") && !page.contains("hivemind://"), "{page}");
}

#[test]
fn the_first_page_counts_all_that_needs_somebody_and_shows_who_is_at_work() {
    let shell = disputes();
    assert!(shell.run("hm --agent devops task add \"mend the pool\"").status.success());
    within(&shell, "s-9", "hm --json --agent analyst task claim T1");
    let pages = Pages::start(shell.command("hm --operator-override \"a test\" web --no-open")).opened();
    let page = pages.page("/");
    assert!(page.contains("data-attention=\"24\""), "{page}");
    assert!(
        page.contains("3 more of contradiction: <code class=\"command\">hm contradictions</code>"),
        "{page}"
    );
    let at_work = page.split("What needs somebody").next().expect("a start");
    assert!(at_work.contains("T1") && at_work.contains("analyst"), "{at_work}");
    assert!(!page.contains("No session is open."), "{page}");
}

#[test]
fn the_page_of_a_proved_claim_says_that_its_challenge_is_answered() {
    let (shell, _linked, _place) = scene();
    let pages = Pages::start(shell.command("hm --operator-override \"a test\" web --no-open")).opened();
    let page = pages.page("/claim/C1");
    assert!(page.contains("0 for, 1 against, settled"), "{page}");
    let against = page.split("<h3>Against</h3>").nth(1).and_then(|rest| rest.split("</div>").next());
    assert!(against.is_some_and(|against| against.contains(", answered by R1")), "{page}");
    // A challenge that the operator outvotes is settled too.
    for line in [
        "hm --agent devops claim create \"the cache is small\" --scope src/cache.py",
        "hm --agent analyst claim challenge C2 \"I saw 4 GB\"",
        "hm --agent operator claim support C2",
    ] {
        assert!(shell.run(line).status.success(), "{line}");
    }
    let page = pages.page("/claim/C2");
    let against = page.split("<h3>Against</h3>").nth(1).and_then(|rest| rest.split("</div>").next());
    let stands = "the operator stands by the claim";
    assert!(against.is_some_and(|against| against.contains(stands)), "{page}");
    let page = pages.page("/disagreements");
    assert!(page.contains(&format!("settled: {stands}")), "{page}");
}

/// Red before: the challenge of a claim that waits for a second support was contested on the pages, though the operator had
/// outvoted it.
#[test]
fn an_outvoted_challenge_of_a_proposed_claim_is_settled() {
    let shell = Shell::new();
    std::fs::write(shell.workspace().config(), "[quorum]\nsupports = 2\n").expect("a configuration");
    for line in [
        "hm --agent devops claim create \"the cache is small\" --scope src/cache.py",
        "hm --agent analyst claim challenge C1 \"I saw 4 GB\"",
        "hm --agent operator claim support C1",
    ] {
        assert!(shell.run(line).status.success(), "{line}");
    }
    let pages = Pages::start(shell.command("hm --operator-override \"a test\" web --no-open")).opened();
    let stands = "the operator stands by the claim";
    let page = pages.page("/claim/C1");
    assert!(page.contains("proposed") && page.contains("1 for, 1 against, settled"), "{page}");
    let against = page.split("<h3>Against</h3>").nth(1).and_then(|rest| rest.split("</div>").next());
    assert!(against.is_some_and(|against| against.contains(stands)), "{page}");
    let page = pages.page("/disagreements");
    assert!(page.contains(&format!("settled: {stands}")) && !page.contains("≠"), "{page}");
    let mut screen = Screen::open(&shell.command("hm watch"), (40, 120));
    screen.wait_for("q end");
    screen.press("/cache\r");
    screen.wait_for("C1 fact proposed, 1 for, 1 against, settled, devops");
    screen.press("\r");
    let page = screen.wait_for("History");
    assert!(page.contains("challenge, analyst at") && page.contains(stands), "{page}");
    // The word of the operator is taken back.
    assert!(shell.run("hm --agent operator claim abstain C1").status.success());
    let page = pages.page("/disagreements");
    assert!(!page.contains(stands) && page.contains("≠"), "{page}");
}

/// Red before: its client was unknown in the list, and empty on the pages.
#[test]
fn a_researcher_that_wrote_nothing_is_shown_with_its_profile_and_its_run() {
    let shell = Shell::new();
    let profiles = shell.workspace().marker_dir().join("profiles");
    std::fs::create_dir_all(&profiles).expect("a directory");
    let profile = "description = 'a test'\nargv = ['/bin/sh', '-c', 'sleep 30', '{prompt}']\ntimeout_ms = 60000\n[agent]\nname = 'Ana'\n";
    std::fs::write(profiles.join("scout.toml"), profile).expect("a profile");
    let trusted = shell.run("hm --agent operator profile trust scout --yes");
    assert!(trusted.status.success(), "{trusted:?}");
    within(&shell, "s-1", "hm --json --agent architect session spawn scout \"who holds a connection?\"");
    let listed = shell.run("hm session list");
    let listed = String::from_utf8_lossy(&listed.stdout).replace("\n    ", " ");
    assert!(listed.contains("analyst, researcher by profile scout (run `R1`)"), "{listed}");
    assert!(!listed.contains("unknown"), "{listed}");
    let pages = Pages::start(shell.command("hm --operator-override \"a test\" web --no-open")).opened();
    for path in ["/", "/sessions"] {
        let page = pages.page(path);
        assert!(page.contains("researcher by profile scout (R1)"), "{path}: {page}");
    }
    let screen = Screen::open(&shell.command("hm watch"), (40, 200));
    screen.wait_for("analyst, researcher by profile scout (R1)");
    shell.run("hm --agent architect experiment cancel R1");
}

#[tokio::test]
async fn a_proposal_is_declined_on_the_first_page() {
    let bench = Bench::new();
    let mut record = Command::new(HM);
    record.args(AS_OPERATOR).arg("--dir").arg(bench.root()).args(["--agent", "operator"]).args([
        "decision",
        "record",
        "one file holds it",
        "--target",
        "storage",
        "--rationale",
        "no server to run",
    ]);
    assert!(record.output().expect("hm runs").status.success());
    let pane = bench.pane(Some("architect"), Era::Modern).await;
    let gone = json!({ "claim_id": "C1", "reason": "a server is there now" });
    bench.accepted(&pane, "deprecate_claim", gone).await;
    let pages = Pages::of(bench.root());
    let page = pages.page("/");
    // Red before: what waits for approval stood below a second time.
    assert_eq!(page.matches("a server is there now").count(), 1, "{page}");
    let (form, about) = (hidden(&page, "form"), hidden(&page, "about"));
    let decline =
        [("form", form), ("do", "decline"), ("about", about), ("reason", "one file it is"), ("back", "/")];
    let back = pages.post(&decline, &[]).header("location").expect("a page").to_owned();
    let page = pages.page(&back);
    assert!(page.contains("committed at seq") && page.contains("Nothing waits for approval."), "{page}");
    assert!(!pages.page("/claim/C1").contains("deprecated"), "the decision stands");
    let back = pages.post(&decline, &[]).header("location").expect("a page").to_owned();
    assert!(pages.page(&back).contains("was answered meanwhile"), "a button of an old page does nothing");
}

#[tokio::test]
async fn who_is_no_operator_looks_and_does_not_act() {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    bench.claim(&pane, "the pool holds 20 connections", "src/db").await;
    let mut command = Command::new(HM);
    command.arg("--dir").arg(bench.root()).args(["--agent", "devops", "web", "--no-open"]);
    let pages = Pages::start(command).opened();
    let page = pages.page("/claim/C1");
    assert!(page.contains("the pool holds 20 connections") && !page.contains("method=\"post\""), "{page}");
    assert!(page.contains("hm claim support C1"), "the command is shown all the same");
    let answer = pages.post(&[("do", "support"), ("about", "C1"), ("form", "guessed")], &[]);
    assert_eq!(answer.status, 403);
}

#[tokio::test]
async fn texts_of_agents_stay_texts() {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    let forms = [
        "<script>alert(N)</script>",
        "\"><script src=//evil.example/N></script>",
        "</main></body><script>N</script>",
        "<img src=x onerror=alert(N)>",
        "'\"><svg onload=alert(N)>",
        "<a href=javascript:alert(N)>N</a>",
        "[N](javascript:alert(N)) ![N](https://evil.example/N)",
        "]]><!--N--><style>*{display:none}</style>",
        "right \u{202e}N\u{202c} to left, and \u{200b}nothing\u{feff} N",
        "{{N}} ${N} &lt;script&gt;N &#60;script&#62;",
    ];
    for number in 0..20 {
        for form in forms {
            let long = "x".repeat(number * 40);
            let statement = format!("{} {long} {number}", form.replace('N', &number.to_string()));
            let kind = if number % 2 == 0 { "fact" } else { "negative" };
            let scope = format!("src/<b>{number}");
            let arguments = json!({ "statement": statement, "claim_type": kind, "scopes": [scope] });
            let answer = pane.call("create_claim", arguments).await.expect("an answer");
            assert!(!answer.refused, "{answer:?}");
        }
    }
    let add = json!({ "title": "<script>alert(1)</script>", "scopes": ["src/<i>"] });
    bench.accepted(&pane, "add_task", add).await;
    let pages = Pages::of(bench.root());
    let claims = (1..=200).map(|number| format!("/claim/C{number}"));
    let searches = ["/claims?q=%3Cscript%3E", "/ledger?after=0", "/event/3", "/claims?at=%22%3E%3Cscript%3E"];
    let all = PAGES.into_iter().chain(searches).map(str::to_owned).chain(claims);
    for path in all {
        let page = pages.get(&path).body;
        let scripts: Vec<&str> = page.match_indices("<script").map(|(at, _)| &page[at..]).collect();
        let is_ours = |script: &&str| script.starts_with("<script src=\"/live-");
        assert!(scripts.len() == 1 && scripts.iter().all(is_ours), "{path}: {page}");
        for tag in [
            "<img",
            "<svg o",
            "<style",
            "<!--",
            "<a href=javascript",
            "href=\"javascript",
            "evil.example/N\"",
            "<b>",
            "<i>",
        ] {
            assert!(!page.contains(tag), "{path} has {tag}");
        }
        assert!(!page.contains(['\u{202e}', '\u{200b}', '\u{feff}']), "{path} hides a character");
        let (opened, ended) = (page.matches("<main").count(), page.matches("</main>").count());
        assert_eq!((opened, ended), (1, 1), "{path}");
    }
    assert!(pages.page("/claims").contains("\\u{202e}"), "a hidden character is shown");
}

#[tokio::test]
async fn an_open_page_hears_of_each_write() {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    bench.claim(&pane, "the pool holds 20 connections", "src/db").await;
    let pages = Pages::of(bench.root());
    let stream = pages.connect("GET", "/events", &[("cookie", &pages.cookie)], "");
    let mut lines = BufReader::new(stream).lines();
    let mut head = |above: u64| loop {
        let line = lines.next().expect("the stream goes on").expect("a line");
        let found = line.strip_prefix("data: ").and_then(|head| head.parse::<u64>().ok());
        if let Some(head) = found.filter(|head| *head > above) {
            break head;
        }
    };
    let first = head(0);
    bench.claim(&pane, "the pool is closed at night", "src/db").await;
    assert!(head(first) > first);
    assert!(pages.page("/claims").contains("the pool is closed at night"));
}

/// Red before: a browser that kept six left pages with their streams had no connection for the next page.
#[tokio::test]
async fn the_stream_of_the_oldest_page_of_a_browser_ends_with_the_fourth() {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    bench.claim(&pane, "the pool holds 20 connections", "src/db").await;
    let pages = Pages::of(bench.root());
    let heard = |lines: &mut std::io::Lines<BufReader<TcpStream>>, above: u64| loop {
        let line = lines.next().expect("the stream goes on").expect("a line");
        let found = line.strip_prefix("data: ").and_then(|head| head.parse::<u64>().ok());
        if let Some(head) = found.filter(|head| *head > above) {
            break head;
        }
    };
    let mut first = 0;
    let mut streams = Vec::new();
    for _ in 0..4 {
        let stream = pages.connect("GET", "/events", &[("cookie", &pages.cookie)], "");
        // Shorter than the time after which an open stream says that it is there.
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        let mut lines = BufReader::new(stream).lines();
        first = heard(&mut lines, 0);
        streams.push(lines);
    }
    for line in streams.remove(0) {
        line.expect("the oldest stream ends");
    }
    bench.claim(&pane, "the pool is closed at night", "src/db").await;
    for mut lines in streams {
        assert!(heard(&mut lines, first) > first);
    }
}

/// What the story of the demo leaves: the questions of a human who comes back.
#[test]
fn the_pages_of_the_demo_answer_four_questions() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let mut command = Command::new(HM);
    command.args(AS_OPERATOR).args(["web", "--demo", "--no-open"]);
    command.env("TMPDIR", temporary.path()).env("XDG_STATE_HOME", temporary.path().join("state"));
    let pages = Pages::start(command).opened();
    for path in PAGES {
        pages.page(path);
        let past = format!("{path}{}at=20", if path.contains('?') { '&' } else { '?' });
        assert!(pages.page(&past).contains("You see the memory as it was at"), "{past}");
    }
    // What needs somebody, with commands as they are typed in a shell.
    let first = pages.page("/");
    for said in ["hm claim support C3", "hm guard accept --error", "--seen &#39;#", "hm pattern dismiss L"] {
        assert!(first.contains(said) || first.contains(&said.replace("&#39;", "'")), "{said}: {first}");
    }
    // Who disagrees about the pool?
    let ended = pages.page("/disagreements?show=ended");
    for said in ["claude-2", "the pool test hangs with one", "architect", "is it the connections at all?"] {
        assert!(ended.contains(said), "{said}: {ended}");
    }
    // What proved it?
    let proved = pages.page("/claim/C3");
    for said in [
        "each worker needs its own DB connection",
        "(proved)",
        "pool-check",
        "sh check-pool.sh",
        "nobody waited",
    ] {
        assert!(proved.contains(said), "{said}: {proved}");
    }
    assert!(proved.contains("<svg") && proved.contains("/claim/C2"), "the chain: {proved}");
    // What was believed before step 9, in which a better claim replaced the first one?
    let ledger = pages.page("/ledger?type=claim.superseded");
    let seq =
        ledger.split("href=\"/event/").nth(1).and_then(|rest| rest.split('"').next()).expect("an event");
    let before = seq.parse::<u64>().expect("a position") - 2;
    let past = pages.page(&format!("/claims?at={before}"));
    assert!(past.contains("one DB connection is enough for all") && past.contains("contested"), "{past}");
    assert!(!past.contains("each worker needs its own"), "{past}");
    let now = pages.page("/claims");
    assert!(now.contains("each worker needs its own") && !now.contains("is enough for all"), "{now}");
    // What failed at that path?
    let failed = pages.page("/dead-ends?scope=src%2Fdb%2Fpool.rs");
    for said in ["sharing one DB connection between workers deadlocks", "fired 1, followed 1"] {
        assert!(failed.contains(said), "{said}: {failed}");
    }
    let whole = pages.page("/ledger?verify=yes");
    assert!(whole.contains("events stands"), "{whole}");
    let root = std::fs::read_dir(temporary.path()).expect("a directory").flatten();
    let is_story = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("hivemind-demo-");
    assert_eq!(root.filter(|entry| is_story(&entry.file_name())).count(), 1);
    drop(pages);
    let root = std::fs::read_dir(temporary.path()).expect("a directory").flatten();
    assert_eq!(root.filter(|entry| is_story(&entry.file_name())).count(), 0, "nothing is left");
}

#[test]
fn a_decision_says_what_was_not_chosen_and_a_phase_has_its_name() {
    let shell = Shell::new();
    for line in [
        "hm decision record \"plain scripts\" --target frontend --rationale \"no build step\" \
            --not-chosen \"React: it needs a build step\" --agent frontend",
        "hm plan add Shop --agent architect",
        "hm phase add Storage --plan P1 --agent architect",
        "hm task add \"mend the pool\" --phase P2 --scope src/db --agent architect",
    ] {
        let done = shell.run(line);
        assert!(done.status.success(), "{line}: {done:?}");
    }
    let pages = Pages::start(shell.command("hm --operator-override \"a test\" web --no-open")).opened();
    let text = |path: &str| {
        regex::Regex::new("<[^>]*>").expect("a pattern").replace_all(&pages.page(path), "").into_owned()
    };
    let decisions = text("/decisions");
    assert!(decisions.contains("Not chosen: React: it needs a build step"), "{decisions}");
    let plan = text("/plan");
    assert!(plan.contains("P1 Shop") && plan.contains("P2 Storage"), "{plan}");
}

#[tokio::test]
async fn a_plan_is_drawn_beside_a_table_with_the_same_tasks() {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    let mut names = Vec::new();
    for (title, after) in
        [("measure the pool", vec![]), ("size the <pool>", vec![0]), ("write it down", vec![0, 1])]
    {
        let after: Vec<&str> = after.into_iter().map(|at: usize| names[at]).collect();
        let add = json!({ "title": title, "scopes": ["src/db"], "depends_on": after });
        bench.accepted(&pane, "add_task", add).await;
        names.push(["T1", "T2", "T3"][names.len()]);
    }
    bench.accepted(&pane, "add_task", json!({ "title": "on its own", "scopes": ["src/ui"] })).await;
    let pages = Pages::of(bench.root());
    let plan = pages.page("/plan");
    let (_, drawn) = plan.split_once("What comes before what").unwrap_or_else(|| panic!("{plan}"));
    let (drawing, table) = drawn.split_once("</svg>").expect("a drawing and a table");
    assert_eq!(drawing.matches("<rect").count(), 3, "{drawing}");
    assert_eq!(drawing.matches("class=\"arrow\"").count(), 3, "{drawing}");
    assert_eq!(table.matches("<tr>").count(), 4, "a head and three rows: {table}");
    for text in ["measure the pool", "size the &lt;pool&gt;", "write it down"] {
        assert!(drawing.contains(text) && table.contains(text), "{text}: {drawn}");
    }
    assert!(!drawn.contains("on its own"), "{drawn}");
    assert!(table.contains("T1, T2"), "{table}");
}

#[tokio::test]
async fn the_filters_of_claims_say_how_many_each_choice_has() {
    let bench = Bench::new();
    let (devops, analyst) =
        (bench.pane(Some("devops"), Era::Modern).await, bench.pane(Some("analyst"), Era::Modern).await);
    let claims = [
        (&devops, "the pool holds 20", "fact", "src/db"),
        (&devops, "a retry deadlocks", "negative", "src/db"),
        (&analyst, "the cache is cold at night", "fact", "src/cache"),
    ];
    for (pane, statement, kind, scope) in claims {
        let create = json!({ "statement": statement, "claim_type": kind, "scopes": [scope] });
        bench.accepted(pane, "create_claim", create).await;
    }
    bench.accepted(&analyst, "challenge", json!({ "claim_id": "C1", "reason": "it holds 10" })).await;
    let pages = Pages::of(bench.root());
    let counts = |path: &str| -> Vec<String> {
        let page = pages.page(path);
        let facets = page.split_once("<dl class=\"facets\">").and_then(|(_, rest)| rest.split_once("</dl>"));
        let (facets, _) = facets.unwrap_or_else(|| panic!("no counts: {page}"));
        let texts = facets.split("<li>").skip(1).map(|item| {
            let item = item.split("</li>").next().expect("an entry");
            let words: String =
                item.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect();
            words.trim().to_owned()
        });
        texts.collect()
    };
    let all = [
        "in force 3",
        "all 3",
        "proposed 2",
        "contested 1",
        "any 3",
        "fact 2",
        "dead end 1",
        "any 3",
        "devops 2",
        "analyst 1",
    ];
    assert_eq!(counts("/claims"), all);
    // The counts of a filter are those of the others: what another choice would show.
    let facts = [
        "in force 2",
        "all 2",
        "proposed 1",
        "contested 1",
        "any 3",
        "fact 2",
        "dead end 1",
        "any 2",
        "analyst 1",
        "devops 1",
    ];
    assert_eq!(counts("/claims?type=fact"), facts);
    let there = [
        "in force 2",
        "all 2",
        "proposed 1",
        "contested 1",
        "any 2",
        "fact 1",
        "dead end 1",
        "any 2",
        "devops 2",
    ];
    assert_eq!(counts("/claims?scope=src/db"), there);
    assert!(pages.page("/claims?type=fact").contains("href=\"/claims?type=fact&amp;status=contested\""));
}

#[tokio::test]
async fn the_ledger_is_read_in_both_directions_to_its_ends() {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    for number in 0..120 {
        let create = json!({ "statement": format!("finding {number} of the pool"), "claim_type": "fact", "scopes": ["src/db"] });
        bench.accepted(&pane, "create_claim", create).await;
    }
    let pages = Pages::of(bench.root());
    let events = |page: &str| -> Vec<u64> {
        let table =
            page.split_once("<tbody>").and_then(|(_, rest)| rest.split_once("</tbody>")).expect("a table").0;
        let found = table.split("<th scope=\"row\"><a href=\"/event/").skip(1);
        found.map(|rest| rest.split('"').next().and_then(|seq| seq.parse().ok()).expect("a number")).collect()
    };
    let link = |page: &str, way: &str| -> Option<String> {
        let (_, rest) = page.split_once(&format!("rel=\"{way}\" href=\""))?;
        Some(rest.split_once('"')?.0.replace("&amp;", "&"))
    };
    // From the newest back to the first, and forward again; with a filter and without one.
    for start in ["/ledger", "/ledger?type=claim.created"] {
        let mut page = pages.page(start);
        let mut back = events(&page);
        while let Some(address) = link(&page, "prev") {
            page = pages.page(&address);
            back.splice(0..0, events(&page));
        }
        assert!(back.len() >= 120 && back.is_sorted(), "{start}: {back:?}");
        page = pages.page(
            &link(&page, "first")
                .unwrap_or_else(|| format!("{start}{}after=0", if start.contains('?') { '&' } else { '?' })),
        );
        let mut onward = events(&page);
        while let Some(address) = link(&page, "next") {
            page = pages.page(&address);
            if page.contains("No event matches") {
                break;
            }
            onward.extend(events(&page));
        }
        assert_eq!(onward, back, "{start}");
    }
}

#[tokio::test]
async fn the_spaces_say_what_may_cross_and_what_is_kept_there() {
    let bench = Bench::new();
    let mut save = Command::new(HM);
    save.args(["--agent", "devops", "--dir"]).arg(bench.root()).args([
        "anchor",
        "save",
        "BUILD",
        "make <all>",
    ]);
    let saved = save.output().expect("hm to run");
    assert!(saved.status.success(), "{saved:?}");
    let pages = Pages::of(bench.root());
    let spaces = pages.page("/spaces");
    for text in
        ["session to project", "tool verified", "BUILD", "make &lt;all&gt;", "hm memory list --space user"]
    {
        assert!(spaces.contains(text), "{text}: {spaces}");
    }
}
