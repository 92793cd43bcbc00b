//! The pages of `hm serve --http` through the real binary: who signs in, what each role may do, and how access ends.

use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use hivemind::mcp::Era;

use crate::bench::Bench;
use crate::harness::HM;
use crate::http::{Answer, Served, ends, hear, token};
use crate::terminal::AS_OPERATOR;
use crate::web::{PAGES, hidden};

/// The type of what a form sends.
const OF_A_FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// The origin of a page of ours. Off this machine, a browser says no more.
fn own(served: &Served) -> String {
    format!("http://127.0.0.1:{}", served.port())
}

/// Sends a form, as a page of ours or with other headers of the same names.
fn post(served: &Served, path: &str, cookie: &str, fields: &[(&str, &str)], more: &[(&str, &str)]) -> Answer {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let named = |name: &str| more.iter().any(|(given, _)| *given == name);
    let own = own(served);
    let usual = [("origin", own.as_str()), OF_A_FORM, ("cookie", cookie)].into_iter();
    let headers: Vec<(&str, &str)> =
        usual.filter(|(name, _)| !named(name)).chain(more.iter().copied()).collect();
    in_time(|| served.send_to(path, "POST", &headers, &body))
}

/// The answer to a request that is sent again where a token asks too often.
fn in_time(send: impl Fn() -> Answer) -> Answer {
    loop {
        let answer = send();
        if answer.status != 429 {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// A browser in which a person signed in.
struct Browser<'s> {
    served: &'s Served,
    cookie: String,
}

impl<'s> Browser<'s> {
    fn signed_in(served: &'s Served, auth: &str) -> Self {
        let answer = post(served, "/web/sign-in", "", &[("token", secret(auth)), ("back", "/web/")], &[]);
        assert_eq!((answer.status, answer.header("location")), (303, Some("/web/")), "{answer:?}");
        let cookie = answer.header("set-cookie").expect("a cookie");
        Self { served, cookie: cookie.split(';').next().expect("a pair").to_owned() }
    }

    fn get(&self, path: &str) -> Answer {
        let answer = in_time(|| self.served.send_to(path, "GET", &[("cookie", &self.cookie)], ""));
        let policy = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
        assert_eq!(answer.header("content-security-policy"), Some(policy), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"), "{path}");
        answer
    }

    fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    fn post(&self, path: &str, fields: &[(&str, &str)], more: &[(&str, &str)]) -> Answer {
        post(self.served, path, &self.cookie, fields, more)
    }

    /// The stream of news, after its first event.
    fn follow(&self) -> TcpStream {
        let mut stream = self.served.connect();
        let headers = [("cookie", self.cookie.as_str()), ("connection", "close")];
        self.served.write_to("/web/events", &mut stream, "GET", &headers, "");
        hear(&mut stream, "data: ");
        stream
    }
}

fn secret(auth: &str) -> &str {
    auth.strip_prefix("Bearer ").expect("a bearer token")
}

fn remove(bench: &Bench, name: &str) {
    let mut command = Command::new(HM);
    command.args(AS_OPERATOR).arg("--dir").arg(bench.root()).args(["token", "remove", name]);
    command.env_remove("HM_AGENT").env_remove("HM_DIR").env_remove("HM_SESSION");
    let removed = command.output().expect("hm to run");
    assert!(removed.status.success(), "{removed:?}");
}

/// A workspace with one claim.
async fn with_a_claim() -> Bench {
    let bench = Bench::new();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    bench.claim(&pane, "the pool holds 20 connections", "src/db").await;
    bench
}

#[tokio::test]
async fn a_viewer_reads_every_page_and_changes_nothing() {
    let bench = with_a_claim().await;
    let (viewer, agent) = (token(&bench, "reviewer", "viewer"), token(&bench, "analyst", "agent"));
    let admin = token(&bench, "frontend", "admin");
    // The person who starts the server has a space of their own.
    let of_ada = || {
        let mut command = Command::new(HM);
        command.arg("--dir").arg(bench.root()).env("HM_USER", "ada").stdin(Stdio::null());
        command.env_remove("HM_AGENT").env_remove("HM_DIR").env_remove("HM_SESSION");
        command
    };
    let served = Served::start_by(of_ada(), &[]);
    let mut save = of_ada();
    save.args(["--agent", "devops", "anchor", "save", "EDITOR", "helix", "--space", "user"]);
    let saved = save.output().expect("hm to run");
    assert!(saved.status.success(), "{saved:?}");

    let browser = Browser::signed_in(&served, &viewer);
    for path in PAGES {
        let address = format!("/web{path}");
        let page = browser.page(&address);
        assert!(page.contains("<main id=\"main\"") && !page.contains("/web/act"), "{path}: {page}");
        let past = format!("{address}{}at=1", if path.contains('?') { '&' } else { '?' });
        assert!(browser.page(&past).contains("You see the memory as it was at"), "{past}");
        // Every link stays below the path of the pages.
        for start in ["href=\"/", "src=\"/", "action=\"/"] {
            for (at, _) in page.match_indices(start) {
                let link = &page[at + start.len() - 1..];
                assert!(link.starts_with("/web/"), "{path}: {}", link.split('"').next().unwrap_or_default());
            }
        }
    }
    let claim = browser.page("/web/claim/C1");
    assert!(claim.contains("hm claim support C1") && claim.contains("the pool holds 20"), "{claim}");
    assert!(claim.contains("reviewer") && claim.contains("Sign out"), "{claim}");
    // Red before: a human who starts `hm web`.
    assert!(claim.contains("Your token only reads. One of the operator acts here"), "{claim}");
    assert!(!browser.page("/web/spaces").contains("helix"), "a person's own fact");
    assert_eq!(browser.get("/web/nowhere").status, 404);
    assert_eq!(browser.get("/web").status, 200);
    let style = claim.split("href=\"/web/style-").nth(1).and_then(|rest| rest.split('"').next());
    assert_eq!(browser.get(&format!("/web/style-{}", style.expect("a style"))).status, 200);

    let before = browser.page("/web/ledger");
    for auth in [&viewer, &agent, &admin] {
        let browser = Browser::signed_in(&served, auth);
        let page = browser.page("/web/claim/C1");
        assert!(!page.contains("/web/act"), "{page}");
        let form = hidden(&page, "form").to_owned();
        let support = [("form", &*form), ("do", "support"), ("about", "C1"), ("back", "/web/")];
        let refused = browser.post("/web/act", &support, &[]);
        assert_eq!(refused.status, 403, "{refused:?}");
        let way = "only a token of the operator acts: sign in with one (hm token add --agent operator --role admin)";
        assert!(refused.body.contains(way), "{refused:?}");
    }
    let rows = |page: &str| page.matches("<tr>").count();
    assert_eq!(rows(&browser.page("/web/ledger")), rows(&before), "nothing was written");
}

#[tokio::test]
async fn the_operator_acts_and_the_ledger_has_the_name_of_the_token() {
    let bench = with_a_claim().await;
    let served = Served::start(bench.root(), &[]);
    let auth = token(&bench, "operator", "admin");
    let (browser, other) = (Browser::signed_in(&served, &auth), Browser::signed_in(&served, &auth));
    let page = browser.page("/web/claim/C1");
    let form = hidden(&page, "form").to_owned();
    assert_ne!(form, hidden(&other.page("/web/claim/C1"), "form"), "a form is of one session");
    let challenge = |form: &str, more: &[(&str, &str)]| {
        let reason = ("reason", "it is 50");
        let fields =
            [("form", form), ("do", "challenge"), ("about", "C1"), reason, ("back", "/web/claim/C1")];
        browser.post("/web/act", &fields, more)
    };
    for more in [
        [("origin", "https://evil.example")].as_slice(),
        // Red before: a page of another port, to which the browser sends the cookie too.
        &[("origin", "http://127.0.0.1:1")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("host", "evil.example")],
    ] {
        assert_eq!(challenge(&form, more).status, 403, "{more:?}");
    }
    assert_eq!(challenge(hidden(&other.page("/web/claim/C1"), "form"), &[]).status, 403);
    assert_eq!(challenge("", &[]).status, 403);
    assert_eq!(challenge(&form, &[("cookie", "")]).status, 401);
    assert_eq!(browser.get(&format!("/web/act?form={form}&do=support&about=C1")).status, 404);
    assert!(!browser.page("/web/ledger?type=position.taken").contains("it is 50"), "nothing was written");

    let answer = challenge(&form, &[("origin", "null"), ("sec-fetch-site", "same-origin")]);
    let back = answer.header("location").expect("a page to go back to").to_owned();
    assert!(answer.status == 303 && back.starts_with("/web/claim/C1?said="), "{answer:?}");
    let page = browser.page(&back);
    assert!(page.contains("challenged C1: committed at seq") && page.contains("contested"), "{page}");
    let taken = browser.page("/web/ledger?type=position.taken");
    assert!(taken.contains("operator") && taken.contains("it is 50"), "{taken}");
    let by = browser.page("/web/ledger?type=operator.overridden");
    assert!(by.contains("a button in the pages of hm serve, signed in as operator"), "{by}");
    let past = browser.page("/web/claim/C1?at=3");
    assert!(!past.contains("/web/act"), "nothing acts on the past: {past}");
}

#[tokio::test]
async fn a_removed_token_ends_the_access_at_once() {
    let bench = with_a_claim().await;
    let (gone, stays) = (token(&bench, "reviewer", "viewer"), token(&bench, "analyst", "viewer"));
    let served = Served::start(bench.root(), &[]);
    let (browser, other) = (Browser::signed_in(&served, &gone), Browser::signed_in(&served, &stays));
    let mut stream = browser.follow();
    let mut going_on = other.follow();
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    bench.claim(&pane, "the pool is closed at night", "src/db").await;
    hear(&mut going_on, "data: ");
    assert!(browser.page("/web/claims").contains("closed at night"));

    remove(&bench, "reviewer");
    assert_eq!(browser.get("/web/claims").status, 401);
    assert!(!browser.get("/web/claims").body.contains("the pool"));
    ends(&mut stream);
    assert_eq!(browser.post("/web/sign-in", &[("token", secret(&gone))], &[]).status, 401);
    assert_eq!(other.get("/web/claims").status, 200);
    bench.claim(&pane, "the pool opens at six", "src/db").await;
    hear(&mut going_on, "data: ");
    // The last token taken back opens nothing.
    remove(&bench, "analyst");
    assert_eq!(other.get("/web/claims").status, 401);
    ends(&mut going_on);
}

#[test]
fn a_session_is_a_cookie_that_is_no_token() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &[]);
    // Where clients need no token yet, people need one for the pages.
    for path in ["/web", "/web/", "/web/claims?q=a", "/web/events", "/web/nowhere"] {
        let answer = served.send_to(path, "GET", &[], "");
        assert!(answer.status == 401 && answer.body.contains("hm token add"), "{path}: {answer:?}");
        assert!(answer.body.contains("action=\"/web/sign-in\""), "{answer:?}");
    }
    assert_eq!(hidden(&served.send_to("/web/claims?q=a", "GET", &[], "").body, "back"), "/web/claims?q=a");
    let refused = post(&served, "/web/act", "", &[], &[]);
    assert_eq!((refused.status, hidden(&refused.body, "back")), (401, "/"), "{refused:?}");

    let auth = token(&bench, "reviewer", "viewer");
    let sign_in =
        |fields: &[(&str, &str)], more: &[(&str, &str)]| post(&served, "/web/sign-in", "", fields, more);
    let right = ("token", secret(&auth));
    let answer = sign_in(&[right, ("back", "/web/claims?q=a")], &[]);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/web/claims?q=a")), "{answer:?}");
    let cookie = answer.header("set-cookie").expect("a cookie");
    let (pair, attributes) = cookie.split_once("; ").expect("attributes");
    assert_eq!(attributes, "HttpOnly; SameSite=Strict; Path=/web; Max-Age=43200");
    let name = format!("hm_web_{}=", served.port());
    let value = pair.strip_prefix(&name).expect("its name");
    assert!(value.len() == 64 && !cookie.contains(secret(&auth)) && !cookie.contains("hm_0"), "{cookie}");
    let behind_tls = sign_in(&[right], &[("x-forwarded-proto", "https")]);
    assert!(
        behind_tls.header("set-cookie").is_some_and(|cookie| cookie.ends_with("; Secure")),
        "{behind_tls:?}"
    );
    for foreign in ["https://evil.example/", "//evil.example", "/web//evil.example", "/mcp"] {
        assert_eq!(sign_in(&[right, ("back", foreign)], &[]).header("location"), Some("/web/"), "{foreign}");
    }

    // The session is no token, and the token no session.
    let bearer = format!("Bearer {value}");
    assert_eq!(served.post(&[("authorization", &bearer)], &crate::http::initialize()).status, 401);
    let token_as_cookie = format!("{name}{}", secret(&auth));
    assert_eq!(served.send_to("/web/", "GET", &[("cookie", &token_as_cookie)], "").status, 401);
    assert_eq!(served.send_to("/web/", "GET", &[("cookie", pair), ("host", "evil.example")], "").status, 403);
    let foreign = [("cookie", pair), ("origin", "https://evil.example")];
    assert_eq!(served.send_to("/web/", "GET", &foreign, "").status, 403);
    for more in
        [[("origin", "https://evil.example")], [("host", "evil.example")], [("sec-fetch-site", "cross-site")]]
    {
        assert_eq!(sign_in(&[right], &more).status, 403, "{more:?}");
    }

    // Signing out ends this session and no other, on a form of its own page alone.
    let (browser, other) = (Browser::signed_in(&served, &auth), Browser::signed_in(&served, &auth));
    let form = hidden(&browser.page("/web/"), "form").to_owned();
    let mut stream = browser.follow();
    assert_eq!(other.post("/web/sign-out", &[("form", &form)], &[]).status, 403);
    let left = browser.post("/web/sign-out", &[("form", &form)], &[]);
    assert_eq!((left.status, left.header("location")), (303, Some("/web/")), "{left:?}");
    assert!(
        left.header("set-cookie")
            .is_some_and(|cookie| cookie.contains("=; ") && cookie.ends_with("Max-Age=0"))
    );
    assert_eq!(browser.get("/web/").status, 401);
    ends(&mut stream);
    assert_eq!(other.get("/web/").status, 200);
}

#[test]
fn who_guesses_tokens_is_slowed_down() {
    let bench = Bench::new();
    let auth = token(&bench, "reviewer", "viewer");
    let served = Served::start(bench.root(), &[]);
    let own = own(&served);
    let own_form = [("origin", own.as_str()), OF_A_FORM];
    let wrong = served.send_to("/web/sign-in", "POST", &own_form, "token=hm_00&back=%2Fweb%2F");
    assert!(wrong.status == 401 && wrong.body.contains("There is no such token"), "{wrong:?}");
    assert!(wrong.header("set-cookie").is_none(), "{wrong:?}");
    let mut stream = served.connect();
    let slowed = (0..60).any(|_| {
        served.write_to("/web/sign-in", &mut stream, "POST", &own_form, "token=hm_00");
        hear(&mut stream, "\n").contains(" 429 ")
    });
    assert!(slowed, "60 guesses on one connection");
    Browser::signed_in(&served, &auth);
}

#[test]
fn people_are_told_where_the_pages_are() {
    let bench = Bench::new();
    let served = Served::start(bench.root(), &[]);
    let said = format!("and pages for people at http://127.0.0.1:{}/web/\n", served.port());
    assert_eq!(served.pages(), said);
    let lost = served.send_to("/", "GET", &[], "");
    assert!(lost.status == 404 && lost.body.contains("/web/ for browsers"), "{lost:?}");
    token(&bench, "reviewer", "viewer");
    let lost = served.send_to("/", "GET", &[], "");
    assert!(lost.status == 401 && lost.body.contains("a browser signs in at /web/"), "{lost:?}");
}
