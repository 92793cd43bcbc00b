//! Hostile frames: whatever arrives on standard input, on the writer's socket or over HTTP, nobody falls over,
//! and the next valid call is answered.
//!
//! ```text
//! cargo test --test it frames                             # 200 frames at each door
//! HM_LONG=1 cargo test --test it frames -- --nocapture    # 10,000 in all
//! HM_SEED=7 cargo test --test it frames                   # the frames of another run again
//! ```
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use hivemind::mcp::Era;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{self, Dice, HM, TempWorkspace, block_on, committed, creation, long, wait_until};
use crate::http::{self, Served};

/// How long a valid call may take; slow machines run the tests too.
const PATIENCE: Duration = Duration::from_secs(30);
/// Hostile frames between two valid calls.
const BETWEEN: usize = 20;

/// How many hostile frames each of the three doors gets.
fn frames() -> usize {
    if long() { 3_400 } else { 200 }
}

/// Numbers that do not fit.
const NUMBERS: [&str; 4] = ["1e999", "-0", "99999999999999999999", "1.5"];
/// Bytes that are no UTF-8, and an escape that is no character.
const NO_TEXT: [&[u8]; 4] = [b"\xff\xfe", b"\xc0\xaf", b"\xed\xa0\x80", b"\\ud800"];

/// What a hostile client makes of a valid frame.
fn hostile(valid: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut frame = valid[dice.below(valid.len())].clone();
    let at = dice.below(frame.len());
    let insert = |frame: &mut Vec<u8>, bytes: &[u8]| drop(frame.splice(at..at, bytes.iter().copied()));
    match dice.below(11) {
        0 => frame.truncate(at),
        1 => (0..=dice.below(8)).for_each(|_| {
            let at = dice.below(frame.len());
            frame[at] ^= 1 << dice.below(8);
        }),
        2 => insert(&mut frame, &b"[{\"a\":"[..1 + dice.below(6)].repeat(1 + dice.below(20_000))),
        3 => frame = in_place_of_digits(&frame, NUMBERS[dice.below(NUMBERS.len())]),
        4 => insert(&mut frame, b"\"id\":7,\"id\":8,\"method\":\"ping\","),
        5 => insert(&mut frame, NO_TEXT[dice.below(NO_TEXT.len())]),
        6 => insert(&mut frame, &b"\0".repeat(1 + dice.below(100))),
        7 => {
            let other = &valid[dice.below(valid.len())];
            frame.truncate(at);
            frame.extend(&other[dice.below(other.len())..]);
        }
        8 => frame = (0..dice.below(300)).map(|_| dice.below(256) as u8).collect(),
        9 => insert(&mut frame, &b"x".repeat(dice.below(200_000))),
        _ => {
            let other = *dice.pick(&["null", "[]", "{}", "true", "\"\"", "\"\\u0000\""]);
            let text = String::from_utf8(frame.clone()).expect("valid frames are text");
            let values: Vec<usize> = text.match_indices(':').map(|(at, _)| at + 1).collect();
            let from = *dice.pick(&values);
            let to = text[from..].find([',', '}']).map_or(text.len(), |len| from + len);
            frame.splice(from..to, other.bytes());
        }
    }
    frame
}

fn in_place_of_digits(frame: &[u8], number: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(frame);
    let from = text.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    let len = text[from..].find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    [&text[..from], number, &text[from + len..]].concat().into_bytes()
}

/// Valid requests, as a client sends them.
fn requests() -> Vec<Value> {
    let call = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 12, "method": method, "params": params });
    let create = json!({ "statement": "the pool holds 20", "claim_type": "fact", "scopes": ["src"],
                         "confidence": 0.5, "idempotency_key": "k" });
    vec![
        call("ping", json!({})),
        call("tools/list", json!({ "cursor": "7" })),
        call("tools/call", json!({ "name": "create_claim", "arguments": create })),
        call(
            "tools/call",
            json!({ "name": "report_event", "arguments": { "kind": "note", "summary": "seen" } }),
        ),
        call("resources/read", json!({ "uri": "hivemind://claims?limit=3&since=2026-01-01" })),
        call("resources/read", json!({ "uri": "hivemind://search?q=pool" })),
        call("resources/subscribe", json!({ "uri": "hivemind://status" })),
        call("prompts/get", json!({ "name": "session-start", "arguments": {} })),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 12 } }),
    ]
}

/// A pane whose client writes what it likes.
struct RawPane {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl RawPane {
    fn start(bench: &Bench) -> Self {
        let mut process = Command::new(HM);
        process.args(["serve", "--agent", "devops", "--dir"]).arg(bench.root());
        process.env_remove("HM_AGENT").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = process.spawn().expect("a pane to start");
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        let (told, lines) = channel();
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).for_each(|line| drop(told.send(line)));
        });
        let mut pane = Self { stdin: child.stdin.take().expect("its input"), child, lines };
        pane.ask(http::initialize());
        pane.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        pane
    }

    fn send(&mut self, frame: &[u8]) {
        self.stdin.write_all(&[frame, b"\n"].concat()).expect("the pane listens");
        self.stdin.flush().expect("the pane listens");
    }

    /// The answer to a valid request. Whatever else stands on standard output is a message as well.
    fn ask(&mut self, mut request: Value) -> Value {
        let id = format!("valid-{}", hivemind::system::new_id());
        request["id"] = json!(id);
        self.send(request.to_string().as_bytes());
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("an answer");
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line}"));
            if message["id"] == json!(id) {
                return message["result"].clone();
            }
        }
    }
}

impl Drop for RawPane {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_pane_survives_hostile_lines() {
    let seed = harness::seed("hostile lines");
    let mut dice = Dice::new(seed);
    let bench = Bench::new();
    let mut pane = RawPane::start(&bench);
    let valid: Vec<Vec<u8>> = requests().iter().map(|request| request.to_string().into_bytes()).collect();
    for number in 1..=frames() {
        pane.send(&hostile(&valid, &mut dice));
        if number % BETWEEN == 0 {
            let arguments = json!({ "kind": "note", "summary": format!("frame {number}") });
            let params = json!({ "name": "report_event", "arguments": arguments });
            let answer = pane.ask(http::request("tools/call", params));
            let receipt = &answer["structuredContent"];
            assert_eq!(receipt["state"], "committed", "HM_SEED={seed} frame {number}: {answer}");
        }
    }
    // Longer than any message may be.
    pane.send(&b"x".repeat(3 << 20));
    assert!(pane.ask(http::request("tools/list", json!({})))["tools"].is_array(), "HM_SEED={seed}");
}

/// A frame of the writer's socket.
fn framed(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_le_bytes(), body].concat()
}

#[test]
fn the_writer_survives_hostile_frames() {
    let seed = harness::seed("hostile frames");
    let mut dice = Dice::new(seed);
    let workspace = TempWorkspace::new();
    let front = workspace.front();
    let mut writer = workspace.writer(&[]);
    wait_until("the writer listens", || block_on(front.writer_is_up()));
    let hello = br#"{"protocol":3,"version":"0.1.0"}"#.to_vec();
    let submit = json!({ "ask": "submit", "id": 7, "submission": creation("devops", "the pool holds 20") });
    let import = json!({ "ask": "import", "file": "/nowhere" });
    let mut valid: Vec<Vec<u8>> =
        [submit, import, json!({ "ask": "watch" })].map(|ask| ask.to_string().into_bytes()).into();
    valid.push(hello.clone());
    // Clients that stop in the middle and stay.
    let mut staying = Vec::new();
    for number in 1..=frames() {
        let mut stream =
            UnixStream::connect(workspace.socket().expect("an address")).expect("the writer listens");
        let mut bytes = if dice.below(4) == 0 { Vec::new() } else { framed(&hello) };
        let body = hostile(&valid, &mut dice);
        match dice.below(6) {
            0 => bytes.extend(framed(&body)[..dice.below(body.len() + 4)].iter()),
            1 => bytes.extend([u32::MAX.to_le_bytes(), (1_u32 << 20).to_le_bytes()].concat()),
            2 => bytes.extend([&0_u32.to_le_bytes()[..], &body].concat()),
            _ => bytes.extend(framed(&body)),
        }
        // A writer that has seen enough closes.
        let _ = stream.write_all(&bytes);
        if dice.below(8) == 0 {
            staying.push(stream);
        }
        if number % BETWEEN == 0 {
            let submission = creation("devops", &format!("fact {number} holds"));
            let receipt = block_on(committed(&workspace.front(), &submission)).expect("a receipt");
            assert_eq!(receipt.command_id, submission.command_id, "HM_SEED={seed} frame {number}");
            staying.clear();
        }
    }
    assert!(writer.is_running(), "HM_SEED={seed}: the writer died");
    drop(writer);
    workspace.assert_sound();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_survives_hostile_requests() {
    let seed = harness::seed("hostile requests");
    let mut dice = Dice::new(seed);
    let bench = Bench::new();
    // Each token may ask twenty times at once, and ten times a second.
    let tokens: Vec<String> = (0..frames() / 20).map(|_| http::token(&bench, "devops", "agent")).collect();
    let mut served = Served::start(bench.root(), &[]);
    let host = format!("127.0.0.1:{}", served.port());
    let mut reached = 0;
    for number in 1..=frames() {
        let token = &tokens[number % tokens.len()];
        let bodies: Vec<Vec<u8>> =
            requests().iter().map(|request| request.to_string().into_bytes()).collect();
        let head = |len: usize| {
            format!(
                "POST /mcp HTTP/1.1\r\nhost: {host}\r\naccept: application/json, text/event-stream\r\n\
                 content-type: application/json\r\nauthorization: {token}\r\nmcp-protocol-version: 2025-06-18\r\n\
                 connection: close\r\ncontent-length: {len}\r\n\r\n"
            )
        };
        let request = if dice.below(2) == 0 {
            let body = hostile(&bodies, &mut dice);
            [head(body.len()).into_bytes(), body].concat()
        } else {
            let body = dice.pick(&bodies).clone();
            hostile(&[[head(body.len()).into_bytes(), body].concat()], &mut dice)
        };
        let mut stream = served.connect();
        let _ = stream.write_all(&request);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        reached += usize::from(answer.starts_with(b"HTTP/1.1 ") && !answer.starts_with(b"HTTP/1.1 429"));
        if number % BETWEEN == 0 {
            let listed = http::modern(&served, Some(token), "tools/list", json!({}));
            // Frames that were well-formed enough have used up the token.
            assert!([200, 429].contains(&listed.status), "HM_SEED={seed} request {number}: {listed:?}");
        }
    }
    assert!(reached * 4 > frames(), "HM_SEED={seed}: only {reached} were looked at");
    let token = http::token(&bench, "analyst", "agent");
    let listed = http::modern(&served, Some(&token), "tools/list", json!({}));
    assert!(listed.message()["result"]["tools"].is_array(), "HM_SEED={seed}: {listed:?}");
    assert!(served.is_running(), "HM_SEED={seed}: the server died");
    let pane = bench.pane(Some("analyst"), Era::Modern).await;
    bench.claim(&pane, "it still stands", "src").await;
}
