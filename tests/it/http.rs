//! Streamable HTTP through the real binary and real sockets: both eras, who gets in, and who does not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use hivemind::mcp::Era;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::terminal::by_a_human;

/// How long an answer may take; slow machines run the tests too.
const PATIENCE: Duration = Duration::from_secs(30);

/// A `hm serve --http` on a free port, ended with its test.
pub(crate) struct Served {
    child: Child,
    port: u16,
    /// The line about the pages.
    pages: String,
}

impl Served {
    pub(crate) fn start(root: &Path, options: &[&str]) -> Self {
        Self::start_by(hm(root), options)
    }

    /// [`Served::start`] by a command of which only the arguments are missing.
    pub(crate) fn start_by(mut process: Command, options: &[&str]) -> Self {
        process.args(["serve", "--http", "127.0.0.1:0"]).args(options);
        let mut child = process.stdout(Stdio::piped()).spawn().expect("a server to start");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("its output"));
        stdout.read_line(&mut line).expect("a line");
        let mut pages = String::new();
        stdout.read_line(&mut pages).expect("a line");
        let port = line.trim().trim_end_matches("/mcp").rsplit(':').next().and_then(|port| port.parse().ok());
        Self { child, port: port.unwrap_or_else(|| panic!("no address in {line:?}")), pages }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn pages(&self) -> &str {
        &self.pages
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child to ask for").is_none()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// One request on a connection of its own.
    pub(crate) fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.send_to("/mcp", method, headers, body)
    }

    pub(crate) fn send_to(&self, path: &str, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = self.connect();
        self.write_to(path, &mut stream, method, &[headers, &[("connection", "close")]].concat(), body);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Answer::parse(&bytes)
    }

    pub(crate) fn write(&self, stream: &mut TcpStream, method: &str, headers: &[(&str, &str)], body: &str) {
        self.write_to("/mcp", stream, method, headers, body);
    }

    pub(crate) fn write_to(
        &self,
        path: &str,
        stream: &mut TcpStream,
        method: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        let host = format!("127.0.0.1:{}", self.port);
        let usual = [
            ("host", host.as_str()),
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
        ];
        let named = |name: &str| headers.iter().any(|(given, _)| *given == name);
        for (name, value) in usual.iter().filter(|(name, _)| !named(name)).chain(headers) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes()).expect("a request to send");
        // A server that has seen enough stops reading.
        let _ = stream.write_all(body.as_bytes());
    }

    pub(crate) fn post(&self, headers: &[(&str, &str)], body: &Value) -> Answer {
        self.send("POST", headers, &body.to_string())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hm(root: &Path) -> Command {
    let mut process = Command::new(env!("CARGO_BIN_EXE_hm"));
    process.arg("--dir").arg(root).env_remove("HM_AGENT").env_remove("HM_DIR").env_remove("HM_LOG");
    process.stdin(Stdio::null());
    process
}

/// Runs a verb; a human at a terminal types it.
fn run(root: &Path, arguments: &[&str]) -> Output {
    by_a_human(hm(root).args(arguments))
}

/// The Authorization header of a new token.
pub(crate) fn token(bench: &Bench, agent: &str, role: &str) -> String {
    let output = run(bench.root(), &["token", "add", "--agent", agent, "--role", role, "--json"]);
    let made: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    format!("Bearer {}", made["token"].as_str().expect("a token"))
}

/// A response, its body put together again.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response in {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        assert!(
            !headers.iter().any(|(name, _)| name.starts_with("access-control")),
            "no page of another origin may read an answer: {headers:?}"
        );
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if chunked { unchunked(body.as_bytes()) } else { body.to_owned() };
        Self { status: status.expect("a status"), headers, body }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// The JSON-RPC message: the body, or what the event stream carried.
    pub(crate) fn message(&self) -> Value {
        let mut data = self.body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
        let message = data.rfind(|data| data.starts_with('{')).unwrap_or(&self.body);
        serde_json::from_str(message).unwrap_or_else(|_| panic!("no message in {self:?}"))
    }

    /// What a tool call came to: the state of its receipt, or the code of its refusal.
    pub(crate) fn outcome(&self) -> String {
        let message = self.message();
        let content = &message["result"]["structuredContent"];
        let word = content["state"].as_str().or_else(|| content["code"].as_str());
        word.unwrap_or_else(|| panic!("no outcome in {message}")).to_owned()
    }
}

fn unchunked(mut bytes: &[u8]) -> String {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") {
        let size =
            std::str::from_utf8(&bytes[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let Some(size) = size.filter(|size| *size > 0) else { break };
        let start = end + 2;
        body.extend_from_slice(&bytes[start..bytes.len().min(start + size)]);
        bytes = bytes.get(start + size + 2..).unwrap_or_default();
    }
    String::from_utf8_lossy(&body).into_owned()
}

pub(crate) fn initialize() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    }})
}

pub(crate) fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params })
}

pub(crate) fn creation(agent: Option<&str>, statement: &str) -> Value {
    let mut arguments = json!({ "statement": statement, "claim_type": "fact", "scopes": ["src"] });
    if let Some(agent) = agent {
        arguments["agent"] = json!(agent);
    }
    json!({ "name": "create_claim", "arguments": arguments })
}

/// A session of the older era.
pub(crate) struct Session<'a> {
    served: &'a Served,
    pub(crate) id: String,
    auth: Option<&'a str>,
}

impl<'a> Session<'a> {
    pub(crate) fn open(served: &'a Served, auth: Option<&'a str>) -> Self {
        let headers: Vec<(&str, &str)> = auth.map(|auth| ("authorization", auth)).into_iter().collect();
        let answer = served.post(&headers, &initialize());
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.message()["result"]["serverInfo"]["name"], "hivemind");
        let id = answer.header("mcp-session-id").expect("a session").to_owned();
        let session = Self { served, id, auth };
        let noted = session.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(noted.status, 202);
        session
    }

    pub(crate) fn post(&self, body: &Value) -> Answer {
        self.post_as(self.auth, body)
    }

    fn post_as(&self, auth: Option<&str>, body: &Value) -> Answer {
        let mut headers = vec![("mcp-session-id", self.id.as_str()), ("mcp-protocol-version", "2025-06-18")];
        headers.extend(auth.map(|auth| ("authorization", auth)));
        self.served.post(&headers, body)
    }

    pub(crate) fn ask(&self, method: &str, params: Value) -> Answer {
        self.post(&request(method, params))
    }
}

/// A request of the newer era: no session, everything in its headers and `_meta`.
pub(crate) fn modern(served: &Served, auth: Option<&str>, method: &str, params: Value) -> Answer {
    let name = params["name"].as_str().or_else(|| params["uri"].as_str()).map(str::to_owned);
    let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
    headers.extend(auth.map(|auth| ("authorization", auth)));
    served.post(&headers, &modern_body(method, params))
}

pub(crate) fn modern_body(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request(method, params)
}

#[tokio::test]
async fn both_eras_share_the_memory_of_a_stdio_pane() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &[]);

    let session = Session::open(&served, None);
    let made = session.ask("tools/call", creation(None, "the pool holds 20 connections"));
    assert_eq!(made.outcome(), "committed");
    let read = session.ask("resources/read", json!({ "uri": "hivemind://claims" }));
    assert!(
        read.message()["result"]["contents"][0]["text"].as_str().expect("text").contains("20 connections")
    );
    // Each session is an agent of its own, and no other by its own word.
    let other = Session::open(&served, None);
    let made = other.ask("tools/call", creation(Some("pane-2"), "the cache is cold"));
    assert_eq!(made.outcome(), "committed");
    assert_eq!(other.ask("tools/call", creation(Some("devops"), "else")).outcome(), "agent_mismatch");
    let context = other.ask("resources/read", json!({ "uri": "hivemind://context" })).message();
    let context = context["result"]["contents"][0]["text"].as_str().expect("text").to_owned();
    assert!(context.contains("agent=\"pane-2\""), "{context}");

    let discovered = modern(&served, None, "server/discover", json!({}));
    assert_eq!(discovered.status, 200, "{discovered:?}");
    assert!(discovered.header("mcp-session-id").is_none());
    let versions = &discovered.message()["result"]["supportedVersions"];
    assert!(versions.as_array().expect("versions").contains(&json!("2026-07-28")), "{versions}");
    let made = modern(&served, None, "tools/call", creation(None, "the queue is bounded"));
    assert_eq!(made.outcome(), "committed");
    let read = modern(&served, None, "resources/read", json!({ "uri": "hivemind://claims" }));
    assert!(read.message()["result"]["contents"][0]["text"].as_str().expect("text").contains("bounded"));

    let pane = bench.pane(Some("reviewer"), Era::Modern).await;
    let seen = pane.read("hivemind://claims").await.expect("claims");
    assert!(seen.contains("20 connections") && seen.contains("the queue is bounded"), "{seen}");
    // Calls of one session are filed under one name, which is not its id.
    let log = String::from_utf8(run(bench.root(), &["log", "--json"]).stdout).expect("text");
    assert!(log.contains("\"http-") && !log.contains(&session.id), "{log}");
}

#[test]
fn every_list_is_one_page_and_takes_no_other_cursor() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &[]);
    let session = Session::open(&served, None);
    for (method, list) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        type Ask<'a> = &'a dyn Fn(Value) -> Answer;
        let legacy: Ask = &|params| session.ask(method, params);
        let newer: Ask = &|params| modern(&served, None, method, params);
        for ask in [legacy, newer] {
            let page = ask(json!({ "cursor": "" })).message();
            assert!(!page["result"][list].as_array().expect("a list").is_empty(), "{page}");
            assert!(page["result"].get("nextCursor").is_none(), "{page}");
            for cursor in ["2", "bm90aGluZw=="] {
                let refused = ask(json!({ "cursor": cursor })).message();
                assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
            }
        }
    }
}

/// Reads an open stream until something was said on it.
pub(crate) fn hear(stream: &mut TcpStream, what: &str) -> String {
    let mut heard = Vec::new();
    let mut bytes = [0; 4_096];
    while !String::from_utf8_lossy(&heard).contains(what) {
        let read = match stream.read(&mut bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            read => read.expect("something to hear"),
        };
        assert!(read > 0, "the stream ended before {what}: {}", String::from_utf8_lossy(&heard));
        heard.extend_from_slice(&bytes[..read]);
    }
    String::from_utf8_lossy(&heard).into_owned()
}

/// Reads an open stream to its end; one that goes on says something every 15 s.
pub(crate) fn ends(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    stream.read_to_end(&mut Vec::new()).expect("the stream ends");
}

#[test]
fn subscribers_of_both_eras_hear_of_a_change() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &["--agent", "devops"]);
    let session = Session::open(&served, None);
    assert_eq!(session.ask("tools/call", creation(None, "the first")).outcome(), "committed");

    let mut legacy = served.connect();
    served.write(&mut legacy, "GET", &[("mcp-session-id", &session.id)], "");
    hear(&mut legacy, "200 OK");
    assert_eq!(session.ask("resources/subscribe", json!({ "uri": "hivemind://claims" })).status, 200);

    let mut listener = served.connect();
    let listen = modern_body(
        "subscriptions/listen",
        json!({ "notifications": { "resourceSubscriptions": ["hivemind://claims"] } }),
    );
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")];
    served.write(&mut listener, "POST", &headers, &listen.to_string());
    hear(&mut listener, "notifications/subscriptions/acknowledged");

    assert_eq!(session.ask("tools/call", creation(None, "the second")).outcome(), "committed");
    hear(&mut legacy, "notifications/resources/updated");
    hear(&mut listener, "notifications/resources/updated");
}

#[test]
fn what_is_offered_is_what_is_kept() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &[]);
    // No list ever changes while a server runs, so no change of one is promised.
    let offered = json!({
        "completions": {}, "prompts": {}, "resources": { "subscribe": true }, "tools": {},
        "extensions": { "io.modelcontextprotocol/skills": {} },
    });
    assert_eq!(served.post(&[], &initialize()).message()["result"]["capabilities"], offered);
    let discovered = modern(&served, None, "server/discover", json!({})).message();
    assert_eq!(discovered["result"]["capabilities"], offered);

    let mut listener = served.connect();
    let asked = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["hivemind://claims", "hivemind://nothing", "file:///etc/passwd"],
    });
    let listen = modern_body("subscriptions/listen", json!({ "notifications": asked }));
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")];
    served.write(&mut listener, "POST", &headers, &listen.to_string());
    let heard = hear(&mut listener, "notifications/subscriptions/acknowledged\"");
    let heard = if heard.contains("\n\n") { heard } else { heard + &hear(&mut listener, "\n\n") };
    let data =
        heard.lines().find_map(|line| line.strip_prefix("data: ").filter(|data| data.starts_with('{')));
    let acknowledged: Value = serde_json::from_str(data.expect("a message")).expect("JSON");
    assert_eq!(
        acknowledged["params"]["notifications"],
        json!({ "resourceSubscriptions": ["hivemind://claims"] }),
        "{acknowledged}"
    );
}

#[test]
fn a_pinned_front_speaks_for_its_agent() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &["--agent", "devops"]);
    let session = Session::open(&served, None);
    assert_eq!(session.ask("tools/call", creation(None, "pinned")).outcome(), "committed");
    assert_eq!(session.ask("tools/call", creation(Some("analyst"), "other")).outcome(), "agent_mismatch");
}

#[test]
fn other_names_and_pages_are_turned_away() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &["--allow-host", "memory.example"]);
    let status = |headers: &[(&str, &str)]| served.post(headers, &initialize()).status;
    assert_eq!(status(&[("host", "evil.example")]), 403);
    assert_eq!(status(&[("host", "127.0.0.1"), ("origin", "https://evil.example")]), 403);
    assert_eq!(status(&[("origin", "null")]), 403);
    assert_eq!(status(&[("origin", "http://localhost:3000")]), 200);
    assert_eq!(status(&[("host", "memory.example"), ("origin", "https://memory.example")]), 200);
    let preflight = served.send("OPTIONS", &[("origin", "http://localhost:3000")], "");
    assert_eq!(preflight.status, 405);
}

#[test]
fn a_token_says_who_speaks_and_what_they_may() {
    let bench = Bench::new();
    let (devops, viewer) = (token(&bench, "infra", "agent"), token(&bench, "reviewer", "viewer"));
    let served = Served::start(bench.root(), &[]);

    for auth in [None, Some("Bearer hm_00"), Some("Basic eDp5"), Some("Bearer")] {
        let headers: Vec<(&str, &str)> = auth.map(|auth| ("authorization", auth)).into_iter().collect();
        let refused = served.post(&headers, &initialize());
        assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")), "{auth:?}");
    }

    let session = Session::open(&served, Some(&devops));
    assert_eq!(session.ask("tools/call", creation(None, "by token")).outcome(), "committed");
    assert_eq!(session.ask("tools/call", creation(Some("ops"), "by alias")).outcome(), "committed");
    assert_eq!(session.ask("tools/call", creation(Some("analyst"), "other")).outcome(), "agent_mismatch");
    let other = modern(&served, Some(&devops), "tools/call", creation(Some("analyst"), "other"));
    assert_eq!(other.outcome(), "agent_mismatch");

    let reader = Session::open(&served, Some(&viewer));
    assert_eq!(reader.ask("tools/call", creation(None, "no")).outcome(), "not_allowed");
    let refused = modern(&served, Some(&viewer), "tools/call", creation(None, "no"));
    assert_eq!(refused.outcome(), "not_allowed");
    let read = reader.ask("resources/read", json!({ "uri": "hivemind://claims" }));
    assert!(read.message()["result"]["contents"][0]["text"].as_str().expect("text").contains("by token"));

    // A session id is no token, and another's session is nobody's.
    let read = request("resources/read", json!({ "uri": "hivemind://claims" }));
    assert_eq!(session.post_as(None, &read).status, 401);
    assert_eq!(session.post_as(Some(&viewer), &read).status, 404);
    assert_eq!(session.post_as(Some(&devops), &read).status, 200);
}

/// Every tool and every other request, asked with a token of each role: the table says what is refused.
#[test]
fn each_role_may_do_what_the_table_says() {
    let bench = Bench::new();
    let roles = ["viewer", "agent", "admin"];
    let tokens = [("analyst", "viewer"), ("devops", "agent"), ("operator", "admin")]
        .map(|(agent, role)| token(&bench, agent, role));
    let served = Served::start(bench.root(), &["--toolsets", "all"]);
    let table: Value = serde_json::from_slice(&run(bench.root(), &["--json", "roles"]).stdout).expect("JSON");
    let mut tried = 0;
    for (rank, auth) in tokens.iter().enumerate() {
        let session = Session::open(&served, Some(auth));
        let ask = |method: &str, params: Value| loop {
            let answer = session.ask(method, params.clone());
            // A token may ask only so often a second.
            if answer.status != 429 {
                return answer;
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        for request in table["requests"].as_array().expect("requests") {
            let name = request["request"].as_str().expect("a name");
            let needed = roles.iter().position(|role| request["role"] == *role).expect("a role");
            let answer = match name {
                "resources" => ask("resources/read", json!({ "uri": "hivemind://claims" })),
                "subscriptions" => ask("resources/subscribe", json!({ "uri": "hivemind://claims" })),
                "prompts" => ask("prompts/get", json!({ "name": "session-start" })),
                "completions" => session.ask(
                    "completion/complete",
                    json!({
                        "ref": { "type": "ref/resource", "uri": "hivemind://claims/{id}" },
                        "argument": { "name": "id", "value": "C" }
                    }),
                ),
                // Without its arguments, a tool that may be called says what is missing.
                tool => ask("tools/call", json!({ "name": tool, "arguments": {} })),
            };
            let is_refused = answer.message().to_string().contains("not_allowed");
            let is_unknown = answer.message()["error"]["code"] == -32601;
            assert_eq!(
                (is_refused, is_unknown),
                (rank < needed, false),
                "{name} as {}: {}",
                roles[rank],
                answer.body
            );
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried} were tried");
}

#[test]
fn a_token_counts_from_when_it_is_made_until_it_is_removed() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &[]);
    let session = Session::open(&served, None);
    let read = request("resources/read", json!({ "uri": "hivemind://claims" }));
    assert_eq!(session.post(&read).status, 200);
    let auth = token(&bench, "devops", "agent");
    assert_eq!(session.post(&read).status, 401, "without a token nobody comes in any more");

    let session = Session::open(&served, Some(&auth));
    assert_eq!(session.post(&read).status, 200);
    assert!(run(bench.root(), &["token", "remove", "devops"]).status.success());
    assert_eq!(session.post(&read).status, 401);
    assert_eq!(served.post(&[], &initialize()).status, 401, "taking the last token back opens nothing");
    let restarted = Served::start(bench.root(), &[]);
    assert_eq!(restarted.post(&[], &initialize()).status, 200);
    assert_eq!(restarted.post(&[("authorization", &auth)], &initialize()).status, 401);
}

#[test]
fn a_removed_token_loses_its_open_stream() {
    let bench = Bench::new();
    let (gone, _stays) = (token(&bench, "devops", "agent"), token(&bench, "analyst", "agent"));
    let served = Served::start(bench.root(), &[]);
    let session = Session::open(&served, Some(&gone));
    let mut stream = served.connect();
    let headers =
        [("authorization", gone.as_str()), ("mcp-session-id", &session.id), ("connection", "close")];
    served.write(&mut stream, "GET", &headers, "");
    hear(&mut stream, "200 OK");
    assert!(run(bench.root(), &["token", "remove", "devops"]).status.success());
    ends(&mut stream);
}

#[test]
fn the_list_shows_no_secret_and_the_file_keeps_none() {
    let bench = Bench::new();
    let auth = token(&bench, "devops", "agent");
    let secret = auth.strip_prefix("Bearer ").expect("a bearer token");
    assert_eq!(secret.len(), 3 + 64);
    for arguments in [&["token", "list"][..], &["token", "list", "--json"]] {
        let listed = String::from_utf8(run(bench.root(), arguments).stdout).expect("text");
        assert!(
            listed.contains("devops") && !listed.contains(secret) && !listed.contains("sha256"),
            "{listed}"
        );
    }
    let path = bench.workspace().tokens();
    assert!(!std::fs::read_to_string(&path).expect("the tokens").contains(secret));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).expect("the tokens").permissions().mode() & 0o777, 0o600);
    }
    let said = |arguments: &[&str]| {
        let output = run(bench.root(), arguments);
        (output.status.code(), String::from_utf8(output.stderr).expect("text"))
    };
    assert_eq!(said(&["token", "add", "--agent", "devops", "--name", "devops"]).0, Some(2));
    assert_eq!(said(&["token", "add"]).0, Some(2));
    assert_eq!(said(&["token", "add", "--agent", "operator"]).0, Some(1));
    assert_eq!(said(&["token", "add", "--agent", "devops", "--role", "root"]).0, Some(2));
    assert_eq!(said(&["token", "remove", "nobody"]).0, Some(2));
    // The ledger knows nothing of tokens.
    assert!(!bench.workspace().ledger().exists());
}

#[test]
fn other_machines_need_a_token() {
    let bench = Bench::new();
    let output = run(bench.root(), &["serve", "--http", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("can be reached from other machines and there is no token"), "{said}");
    assert!(said.contains("hm token add"), "{said}");
}

#[test]
fn unreadable_tokens_let_nobody_in() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &[]);
    std::fs::write(bench.workspace().tokens(), "{").expect("a broken file");
    assert_eq!(served.post(&[], &initialize()).status, 500);
}

#[test]
fn too_much_is_refused_and_the_next_is_served() {
    let bench = Bench::new();
    let auth = token(&bench, "devops", "agent");
    let served = Served::start(bench.root(), &[]);
    let with = [("authorization", auth.as_str())];

    let mut body = initialize();
    body["params"]["clientInfo"]["name"] = json!("x".repeat(1 << 20));
    assert_eq!(served.post(&with, &body).status, 413);
    assert_eq!(served.post(&with, &initialize()).status, 200);

    // Every connection of a token counts.
    let answers: Vec<Answer> = (0..60).map(|_| served.send("DELETE", &with, "")).collect();
    let refused = answers.iter().find(|answer| answer.status == 429).expect("a limit");
    assert_eq!(refused.header("retry-after"), Some("1"));
    std::thread::sleep(Duration::from_millis(1_100));
    assert_eq!(served.post(&with, &initialize()).status, 200);
}

#[test]
fn the_connection_too_many_is_told_so() {
    let bench = Bench::new();
    let tokens = ["devops", "analyst", "reviewer", "frontend"].map(|agent| token(&bench, agent, "agent"));
    let served = Served::start(bench.root(), &[]);
    // Every place is taken by a request under way: its body is still to come.
    let mut held: Vec<TcpStream> = Vec::new();
    for auth in &tokens {
        for _ in 0..16 {
            let mut stream = served.connect();
            let head = format!(
                "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: {auth}\r\nexpect: 100-continue\r\n\
                 content-length: 10\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).expect("a head");
            hear(&mut stream, "100 Continue");
            held.push(stream);
        }
    }
    let with = [("authorization", tokens[0].as_str())];
    for _ in 0..20 {
        // It hears so though what it asked is not read.
        let refused = served.post(&with, &initialize());
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("5")), "{refused:?}");
        assert!(refused.body.starts_with("64 connections are open"), "{refused:?}");
    }
    held.clear();
    crate::harness::wait_until("a place is free", || served.post(&with, &initialize()).status == 200);
}

#[test]
fn a_crowd_of_panes_that_only_ask_now_and_then_finds_a_place() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &["--agent", "devops"]);
    // Each keeps its connection open for as long as the server lets it.
    let mut panes = Vec::new();
    for pane in 0..150 {
        let mut stream = served.connect();
        served.write(&mut stream, "POST", &[], &initialize().to_string());
        let mut heard = hear(&mut stream, "\"serverInfo\"");
        heard.make_ascii_lowercase();
        assert!(heard.starts_with("http/1.1 200"), "pane {pane}: {heard}");
        let id = heard.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).map(str::to_owned);
        panes.push((stream, id.expect("a session")));
    }
    // The first half of the places is held by whoever came first, which is no harm to the others.
    let open = panes.iter().filter(|(stream, _)| is_open(stream)).count();
    assert!((1..=33).contains(&open), "{open} of 150 idle panes hold a connection");
    let (_, last) = panes.last().expect("panes");
    let session = Session { served: &served, id: last.clone(), auth: None };
    assert_eq!(session.ask("tools/call", creation(None, "from the last pane")).outcome(), "committed");
}

/// Whether the other side still holds a connection; whatever it says is read.
fn is_open(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    let mut bytes = [0; 1_024];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn all_subscribers_follow_the_writer_over_one_connection() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &["--agent", "devops"]);
    let sockets = || {
        let open = std::fs::read_dir(format!("/proc/{}/fd", served.child.id())).expect("its files");
        let targets = open.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    };
    let subscribe = || {
        let session = Session::open(&served, None);
        let uri = json!({ "uri": "hivemind://claims" });
        assert_eq!(session.ask("resources/subscribe", uri).status, 200);
        session
    };
    let first = subscribe();
    assert_eq!(first.ask("tools/call", creation(None, "the first")).outcome(), "committed");
    let mut stream = served.connect();
    served.write(&mut stream, "GET", &[("mcp-session-id", &first.id)], "");
    hear(&mut stream, "notifications/resources/updated");
    let before = sockets();
    let others: Vec<Session<'_>> = (0..20).map(|_| subscribe()).collect();
    crate::harness::wait_until("answered connections are closed", || sockets() <= before);
    // Who comes late hears all the same.
    let mut late = served.connect();
    served.write(&mut late, "GET", &[("mcp-session-id", &others[19].id)], "");
    hear(&mut late, "200 OK");
    assert_eq!(first.ask("tools/call", creation(None, "the second")).outcome(), "committed");
    hear(&mut late, "notifications/resources/updated");
    crate::harness::wait_until("nothing but the two streams is open", || sockets() <= before + 1);
}

#[cfg(unix)]
#[test]
fn it_leaves_when_told_to_though_a_stream_is_open() {
    let bench = Bench::new();
    let mut served = Served::start(bench.root(), &[]);
    let id = Session::open(&served, None).id;
    let mut stream = served.connect();
    served.write(&mut stream, "GET", &[("mcp-session-id", &id)], "");
    hear(&mut stream, "200 OK");
    let pid = rustix::process::Pid::from_child(&served.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a child to signal");
    assert!(served.child.wait().expect("it ends").success());
    ends(&mut stream);
}

/// A session of HTTP+SSE: what it is told comes on its stream.
struct SseSession<'a> {
    served: &'a Served,
    stream: BufReader<TcpStream>,
    endpoint: String,
    auth: Option<&'a str>,
}

impl<'a> SseSession<'a> {
    fn open(served: &'a Served, auth: Option<&'a str>) -> Self {
        let mut stream = served.connect();
        let mut headers = vec![("connection", "close")];
        headers.extend(auth.map(|auth| ("authorization", auth)));
        served.write_to("/sse", &mut stream, "GET", &headers, "");
        let mut session = Self { served, stream: BufReader::new(stream), endpoint: String::new(), auth };
        let (event, endpoint) = session.event();
        assert_eq!((event.as_str(), endpoint.starts_with("/messages?session_id=")), ("endpoint", true));
        session.endpoint = endpoint;
        let answer = session.ask(&initialize());
        assert_eq!(answer["result"]["serverInfo"]["name"], "hivemind");
        let noted = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(session.post(auth, &noted.to_string()).status, 202);
        session
    }

    /// The next event on the stream: its name and its data.
    fn event(&mut self) -> (String, String) {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            assert!(self.stream.read_line(&mut line).expect("a line") > 0, "the stream has ended");
            if let Some(event) = line.strip_prefix("event: ") {
                name = event.trim().to_owned();
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return (name, data.trim().to_owned());
            }
        }
    }

    fn message(&mut self) -> Value {
        let (name, data) = self.event();
        assert_eq!(name, "message");
        serde_json::from_str(&data).expect("JSON")
    }

    fn post(&self, auth: Option<&str>, body: &str) -> Answer {
        let headers: Vec<(&str, &str)> = auth.map(|auth| ("authorization", auth)).into_iter().collect();
        self.served.send_to(&self.endpoint, "POST", &headers, body)
    }

    fn ask(&mut self, body: &Value) -> Value {
        // Written over several lines, as some clients do.
        let answer = self.post(self.auth, &serde_json::to_string_pretty(body).expect("JSON"));
        assert_eq!((answer.status, answer.body.as_str()), (202, ""), "{answer:?}");
        self.message()
    }

    fn outcome(&mut self, call: Value) -> String {
        let message = self.ask(&request("tools/call", call));
        let content = &message["result"]["structuredContent"];
        let word = content["state"].as_str().or_else(|| content["code"].as_str());
        word.unwrap_or_else(|| panic!("no outcome in {message}")).to_owned()
    }
}

#[test]
fn clients_of_http_and_sse_are_served_when_asked_for() {
    let bench = Bench::new();
    let plain = Served::start(bench.root(), &[]);
    assert_eq!(plain.send_to("/sse", "GET", &[], "").status, 404);
    assert_eq!(plain.send_to("/messages", "POST", &[], "{}").status, 404);

    let served = Served::start(bench.root(), &["--legacy-sse", "--agent", "devops"]);
    let mut session = SseSession::open(&served, None);
    assert_eq!(session.outcome(creation(None, "over the old transport")), "committed");
    let subscribed = session.ask(&request("resources/subscribe", json!({ "uri": "hivemind://claims" })));
    assert_eq!(subscribed["result"], json!({}));
    assert_eq!(
        Session::open(&served, None).ask("tools/call", creation(None, "over the new")).outcome(),
        "committed"
    );
    assert_eq!(session.message()["method"], "notifications/resources/updated");
    let read = session.ask(&request("resources/read", json!({ "uri": "hivemind://claims" })));
    let text = read["result"]["contents"][0]["text"].as_str().expect("text").to_owned();
    assert!(text.contains("over the old transport") && text.contains("over the new"), "{text}");
    let log = String::from_utf8(run(bench.root(), &["log", "--json"]).stdout).expect("text");
    let id = session.endpoint.rsplit('=').next().expect("an id");
    assert!(
        log.contains("\"http-") && !log.contains(id),
        "calls are filed under a name that is no session id"
    );

    // Two clients at once hear each what is theirs.
    let mut other = SseSession::open(&served, None);
    let tools = other.ask(&request("tools/list", json!({})));
    assert!(tools["result"]["tools"].is_array());
    assert!(session.ask(&request("ping", json!({})))["result"].is_object());

    let endpoint = session.endpoint.clone();
    let status = |path: &str, method: &str, headers: &[(&str, &str)], body: &str| {
        served.send_to(path, method, headers, body).status
    };
    assert_eq!(status("/sse", "POST", &[], "{}"), 405);
    assert_eq!(status("/messages", "GET", &[], ""), 405);
    let ping = request("ping", json!({})).to_string();
    assert_eq!(status("/messages?session_id=0", "POST", &[], &ping), 404);
    assert_eq!(status(&endpoint, "POST", &[], "{"), 400);
    assert_eq!(status(&endpoint, "POST", &[("content-type", "text/plain")], "{}"), 415);
    assert_eq!(status(&endpoint, "POST", &[], &"x".repeat((1 << 20) + 1)), 413);
    for path in ["/sse", endpoint.as_str()] {
        assert_eq!(status(path, "POST", &[("host", "evil.example")], "{}"), 403);
        assert_eq!(status(path, "GET", &[("origin", "https://evil.example")], ""), 403);
    }
    // A stream that ends takes its session along.
    drop(session);
    crate::harness::wait_until("the session is gone", || {
        std::thread::sleep(Duration::from_millis(200));
        status(&endpoint, "POST", &[], &request("ping", json!({})).to_string()) == 404
    });
}

#[test]
fn a_session_of_http_and_sse_is_no_token() {
    let bench = Bench::new();
    let (devops, viewer) = (token(&bench, "devops", "agent"), token(&bench, "reviewer", "viewer"));
    let served = Served::start(bench.root(), &["--legacy-sse"]);
    assert_eq!(served.send_to("/sse", "GET", &[], "").status, 401);
    let mut session = SseSession::open(&served, Some(&devops));
    assert_eq!(session.outcome(creation(None, "by token")), "committed");
    assert_eq!(session.outcome(creation(Some("analyst"), "other")), "agent_mismatch");
    let ping = request("ping", json!({})).to_string();
    assert_eq!(session.post(None, &ping).status, 401);
    assert_eq!(session.post(Some("Bearer hm_00"), &ping).status, 401);
    assert_eq!(session.post(Some(&viewer), &ping).status, 404, "another's session is nobody's");
    assert_eq!(session.post(Some(&devops), &ping).status, 202);
    let mut reader = SseSession::open(&served, Some(&viewer));
    assert_eq!(reader.outcome(creation(None, "no")), "not_allowed");

    assert!(run(bench.root(), &["token", "remove", "devops"]).status.success());
    ends(session.stream.get_mut());
    assert_eq!(session.post(Some(&devops), &ping).status, 401);
}
