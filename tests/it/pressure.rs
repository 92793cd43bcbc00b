//! The fronts under pressure: slow clients, many clients, requests that are none, and errors that quote secrets.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hivemind::mcp::Era;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::http::{Answer, Served, Session, creation, hear, initialize, modern, modern_body, request, token};
use crate::secrets::{Random, secret};

/// The pace of a client that sends a request byte by byte.
const TRICKLE: Duration = Duration::from_millis(100);
/// A token has ten requests a second; a client that asks at this pace is never refused for its rate.
const PACE: Duration = Duration::from_millis(120);

/// Sends byte after byte until the server ends the connection; false when it still takes bytes after `bytes` of them.
fn is_cut_off(mut stream: &TcpStream, bytes: usize) -> bool {
    (0..bytes).any(|_| {
        std::thread::sleep(TRICKLE);
        stream.write_all(b"a").is_err()
    })
}

/// Everything the server says before it ends the connection.
fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A connection that is cut off may be reset, too.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_request_that_trickles_in_is_cut_off() {
    let bench = Bench::new();
    let auth = token(&bench, "devops", "agent");
    let served = Served::start(bench.root(), &[]);
    let host = format!("127.0.0.1:{}", served.port());
    let mut kept = served.connect();
    let with = [("authorization", auth.as_str())];
    served.write(&mut kept, "GET", &with, "");
    hear(&mut kept, "Session ID is required");

    std::thread::scope(|scope| {
        let head = scope.spawn(|| {
            let mut stream = served.connect();
            stream
                .write_all(format!("POST /mcp HTTP/1.1\r\nhost: {host}\r\nx: ").as_bytes())
                .expect("a head");
            assert!(is_cut_off(&stream, 300), "a head that never ends holds its connection");
        });
        let body = scope.spawn(|| {
            let mut stream = served.connect();
            let head = format!(
                "POST /mcp HTTP/1.1\r\nhost: {host}\r\nauthorization: {auth}\r\n\
                 accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n\
                 content-length: 1000000\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).expect("a head");
            assert!(is_cut_off(&stream, 600), "a body that never ends holds its connection");
            assert!(rest(&mut stream).starts_with("HTTP/1.1 408"), "a body that is late is told so");
        });
        head.join().expect("the head was cut off");
        // A connection that waited for as long between two requests is served all the same.
        served.write(&mut kept, "GET", &with, "");
        hear(&mut kept, "Session ID is required");
        body.join().expect("the body was cut off");
    });
}

/// A client that holds a connection with half a head, and comes back when it is cut off.
fn trickle(served: &Served, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", served.port())) else { continue };
        let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\nx: ");
        while !stop.load(Ordering::Relaxed) && stream.write_all(b"a").is_ok() {
            std::thread::sleep(TRICKLE);
        }
    }
}

/// Tells the tricklers to go, also when the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Opens the stream of a session; what the server says instead when there is none to be had.
fn open_stream(served: &Served, auth: &str, session: &Session<'_>) -> Result<TcpStream, String> {
    let mut stream = served.connect();
    let headers = [("authorization", auth), ("mcp-session-id", &session.id)];
    served.write(&mut stream, "GET", &headers, "");
    let mut start = [0; 12];
    stream.read_exact(&mut start).expect("an answer");
    if start == *b"HTTP/1.1 200" {
        return Ok(stream);
    }
    stream.shutdown(Shutdown::Write).expect("the end of the request");
    Err(String::from_utf8_lossy(&start).into_owned() + &rest(&mut stream))
}

#[test]
fn a_pane_with_a_token_gets_in_through_tricklers_and_streams() {
    let bench = Bench::new();
    let (devops, viewer) = (token(&bench, "devops", "agent"), token(&bench, "reviewer", "viewer"));
    let served = Served::start(bench.root(), &[]);
    let watcher = Session::open(&served, Some(&viewer));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        for _ in 0..64 {
            scope.spawn(|| trickle(&served, &stop));
        }
        let opening = [(); 4].map(|()| {
            scope.spawn(|| {
                let try_again = |_| {
                    std::thread::sleep(4 * PACE);
                    open_stream(&served, &viewer, &watcher)
                };
                (0..16).map(try_again).collect::<Vec<_>>()
            })
        });
        // Another pane is served all the while, over connections of its own and over one that it keeps.
        let pane = Session::open(&served, Some(&devops));
        for number in 0..10 {
            std::thread::sleep(PACE);
            let made = pane.ask("tools/call", creation(None, &format!("fact {number} holds")));
            assert_eq!(made.outcome(), "committed");
        }
        let mut kept = served.connect();
        for _ in 0..30 {
            std::thread::sleep(PACE);
            served.write(&mut kept, "GET", &[("authorization", &devops)], "");
            hear(&mut kept, "Session ID is required");
        }
        let opened = opening.map(|opening| opening.join().expect("64 streams are asked for"));
        let (mut open, refused): (Vec<_>, Vec<_>) = opened.into_iter().flatten().partition(Result::is_ok);
        assert_eq!(open.len(), 8, "streams of one token");
        for refused in refused {
            let told = refused.expect_err("a refusal");
            assert!(told.starts_with("HTTP/1.1 429") && told.contains("8 streams"), "{told}");
        }
        // The token whose streams are all in use is served as well.
        std::thread::sleep(PACE);
        assert_eq!(watcher.ask("resources/read", json!({ "uri": "hivemind://claims" })).status, 200);
        // A stream that ends makes room for another one.
        drop(open.pop());
        crate::harness::wait_until("a stream can be opened again", || {
            std::thread::sleep(PACE);
            open_stream(&served, &viewer, &watcher).is_ok()
        });
    });
}

#[test]
fn a_crowd_that_comes_at_once_is_served() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &[]);
    std::thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                crate::harness::wait_until("it is served", || {
                    let answer = served.post(&[], &initialize());
                    // Where all places are taken at that moment it is told when to come again.
                    assert!(answer.status == 200 || answer.header("retry-after").is_some(), "{answer:?}");
                    answer.status == 200
                });
            });
        }
    });
}

#[test]
fn one_token_takes_a_quarter_of_the_places_at_most() {
    let bench = Bench::new();
    let auth = token(&bench, "devops", "agent");
    let served = Served::start(bench.root(), &[]);
    let host = format!("127.0.0.1:{}", served.port());
    // Requests whose bodies do not come.
    let mut held: Vec<TcpStream> = Vec::new();
    for _ in 0..17 {
        std::thread::sleep(PACE);
        let mut stream = served.connect();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {host}\r\nauthorization: {auth}\r\ncontent-length: 10\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("a head");
        held.push(stream);
    }
    let refused = rest(held.last_mut().expect("the last"));
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("16 requests"), "{refused}");
    held.clear();
    crate::harness::wait_until("they are over", || {
        std::thread::sleep(PACE);
        served.post(&[("authorization", &auth)], &initialize()).status == 200
    });
}

#[test]
fn the_session_that_was_silent_longest_gives_way() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &["--agent", "devops"]);
    let listening = Session::open(&served, None);
    let mut stream = served.connect();
    served.write(&mut stream, "GET", &[("mcp-session-id", &listening.id)], "");
    hear(&mut stream, "200 OK");
    let (silent, used) = (Session::open(&served, None), Session::open(&served, None));
    let ping = |session: &Session<'_>| session.post(&request("ping", json!({}))).status;
    for number in 0..1_000 {
        assert_eq!(served.post(&[], &initialize()).status, 200, "session {number}");
        if number == 500 {
            assert_eq!(ping(&used), 200);
        }
    }
    assert_eq!(ping(&silent), 404, "it made room");
    assert_eq!((ping(&used), ping(&listening)), (200, 200), "one was used since, one has an open stream");
    let pane = Session::open(&served, None);
    assert_eq!(pane.ask("tools/call", creation(None, "the next pane gets in")).outcome(), "committed");
}

/// Twenty requests in one go on a new connection: what each came to.
fn burst(served: &Served) -> Vec<u16> {
    let mut stream = served.connect();
    for number in 0..20 {
        let last = [("connection", "close")];
        served.write(&mut stream, "DELETE", if number == 19 { &last } else { &[] }, "");
    }
    let said = rest(&mut stream);
    said.split("HTTP/1.1 ").skip(1).filter_map(|answer| answer.get(..3)?.parse().ok()).collect()
}

#[test]
fn new_connections_do_not_escape_the_limit() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &[]);
    let mut kept = served.connect();
    for _ in 0..20 {
        served.write(&mut kept, "DELETE", &[], "");
        hear(&mut kept, "Session ID is required");
    }
    // The first connections of a crowd are served, and those of a flood are not.
    assert!(burst(&served).iter().all(|status| *status == 400));
    assert!((0..2_000).any(|_| burst(&served).contains(&429)), "a flood of new connections is never refused");
    // A pane that keeps its connection does not notice; ten requests a second are its own.
    std::thread::sleep(Duration::from_millis(500));
    served.write(&mut kept, "DELETE", &[], "");
    hear(&mut kept, "Session ID is required");
    crate::harness::wait_until("new ones are served again", || {
        std::thread::sleep(PACE);
        served.post(&[], &initialize()).status == 200
    });
}

/// The answer to bytes that are no whole request, or are more than one.
fn raw(served: &Served, head: &str, body: &[u8]) -> Answer {
    let mut stream = served.connect();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json, text/event-stream\r\n\
         content-type: application/json\r\nconnection: close\r\n{head}\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat()).expect("a request to send");
    stream.shutdown(Shutdown::Write).expect("the end of it");
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    Answer::parse(&bytes)
}

#[test]
fn a_body_that_is_no_message_is_told_so() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &[]);
    let told = |body: &str| {
        let answer = served.send("POST", &[], body);
        let message = answer.message();
        assert_eq!(
            (&message["jsonrpc"], answer.header("content-type")),
            (&json!("2.0"), Some("application/json"))
        );
        (answer.status, message["error"]["code"].as_i64(), message["id"].clone())
    };
    for body in ["", "{", "{\"jsonrpc\":\"2.0\",}", "\u{1}", "nothing"] {
        assert_eq!(told(body), (400, Some(-32700), Value::Null), "{body}");
    }
    for body in ["7", "[]", "{}", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}"] {
        assert_eq!((told(body).0, told(body).1), (400, Some(-32600)), "{body}");
    }
    assert_eq!(told("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":[]}"), (400, Some(-32600), json!(7)));
    assert_eq!(raw(&served, "transfer-encoding: chunked", b"zz\r\nping\r\n0\r\n\r\n").status, 400);
    assert_eq!(served.send("POST", &[("content-type", "text/plain")], "{").status, 415);
    assert_eq!(served.post(&[], &initialize()).status, 200);
}

/// As many addresses as are asked for, no two of which are the same.
fn addresses(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("hivemind://events?after={number}")).collect()
}

#[tokio::test]
async fn subscriptions_of_a_session_are_capped() {
    let bench = Bench::new();
    let mut pane = bench.pane(Some("devops"), Era::Legacy).await;
    let addresses = addresses(513);
    let wanted: Vec<&str> = addresses.iter().map(String::as_str).collect();
    pane.subscribe(&wanted[..512]).await.expect("512 subscriptions");
    pane.subscribe(&wanted[..1]).await.expect("one that is there already");
    let refused = pane.subscribe(&wanted[512..]).await.expect_err("one too many").to_string();
    assert!(refused.contains("512"), "{refused}");
    bench.claim(&pane, "it is written all the same", "src").await;
    assert!(pane.updated(Duration::from_secs(30)).await.is_some(), "and heard of");
}

#[test]
fn a_listener_hears_which_addresses_it_has() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &[]);
    let mut listener = served.connect();
    let asked = json!({ "notifications": { "resourceSubscriptions": addresses(600) } });
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")];
    served.write(&mut listener, "POST", &headers, &modern_body("subscriptions/listen", asked).to_string());
    let heard = hear(&mut listener, "after=511\"");
    assert!(heard.contains("acknowledged") && !heard.contains("after=512\""), "{heard}");
}

/// What a client asks that may stand in the error: the address, the argument, the name.
fn quoting(secret: &str) -> Vec<(&'static str, Value)> {
    let encoded: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let uris = [
        secret.to_owned(),
        format!("hivemind://nothing/{secret}"),
        format!("hivemind://{secret}"),
        format!("hivemind://claims/{secret}"),
        format!("hivemind://nothing/{}/{secret}", "x".repeat(160)),
        format!("hivemind://claims?{secret}=1"),
        format!("hivemind://claims?type={secret}"),
        format!("hivemind://claims?type={encoded}"),
        format!("hivemind://claims?owner={secret}"),
        format!("hivemind://context/{secret}"),
        format!("hivemind://events/{secret}"),
        format!("hivemind://experiments/{secret}"),
        format!("hivemind://sessions/{secret}/turn0"),
        format!("hivemind://status?at={secret}"),
        format!("hivemind://{secret}@claims"),
    ];
    let mut asked: Vec<(&str, Value)> = Vec::new();
    for uri in &uris {
        asked.push(("resources/read", json!({ "uri": uri })));
        asked.push(("resources/subscribe", json!({ "uri": uri })));
        let argument = json!({ "name": "id", "value": "" });
        asked.push((
            "completion/complete",
            json!({ "ref": { "type": "ref/resource", "uri": uri }, "argument": argument }),
        ));
    }
    let argument = json!({ "name": secret, "value": secret });
    asked.push((
        "completion/complete",
        json!({ "ref": { "type": "ref/prompt", "name": "hand-off" }, "argument": argument }),
    ));
    asked.push((
        "completion/complete",
        json!({ "ref": { "type": "ref/prompt", "name": secret }, "argument": argument }),
    ));
    asked.push(("prompts/get", json!({ "name": secret })));
    asked.push(("prompts/get", json!({ "name": "hand-off", "arguments": { "to": secret } })));
    asked.push(("prompts/get", json!({ "name": "review-claim", "arguments": { "claim": secret } })));
    asked.push(("prompts/get", json!({ "name": "session-start", "arguments": { "agent": secret } })));
    asked.push(("tools/call", json!({ "name": secret, "arguments": {} })));
    asked.push(("tools/call", json!({ "name": "claim_task", "arguments": { "task_id": secret } })));
    asked.push(("tools/list", json!({ "cursor": secret })));
    asked
}

#[test]
fn no_error_quotes_a_secret() {
    let bench = Bench::new();
    let viewer = token(&bench, "reviewer", "viewer");
    let served = Served::start(bench.root(), &[]);
    let open = Bench::new();
    let open_served = Served::start(open.root(), &[]);
    let session = Session::open(&open_served, None);
    let secret = secret("github-token", &mut Random(7)).value;
    // What is no secret is quoted: the error says what was wrong.
    let plain = session.ask("resources/read", json!({ "uri": "hivemind://nothing" }));
    assert!(plain.body.contains("no resource has the address hivemind://nothing"), "{plain:?}");
    let mut refused = 0;
    for (method, params) in quoting(&secret) {
        let answer = session.ask(method, params.clone());
        let message = answer.message();
        let is_refused = message["error"].is_object() || message["result"]["isError"] == json!(true);
        // No secret is told in part either.
        if is_refused {
            assert!(!answer.body.contains(&secret[..12]), "{method} {params}: {}", answer.body);
            refused += 1;
        }
    }
    assert!(refused > 40, "{refused} were refused");
    let unknown = open_served.post(&[("mcp-session-id", &session.id)], &request(&secret, json!({})));
    assert!(!unknown.body.contains(&secret[..12]), "{unknown:?}");
    // A viewer may call no tool; the name of one is not quoted to it.
    let call = modern(&served, Some(&viewer), "tools/call", json!({ "name": secret, "arguments": {} }));
    assert!(!call.body.contains(&secret[..12]), "{call:?}");
}
