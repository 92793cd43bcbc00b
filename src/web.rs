//! The memory in a browser, for the human beside the agents: `hm web` on this machine, and `hm serve --http` behind its
//! tokens.

mod acting;
mod claim;
mod claims;
mod dead_ends;
mod disputes;
mod door;
mod graph;
mod ledger;
mod now;
mod page;
mod rules;
mod sign_in;
mod spaces;
mod streams;
mod told;
mod work;

use std::convert::Infallible;
use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

use self::acting::Actor;
use self::door::{Door, Refusal, Visitor};
use self::page::{Page, Shown};
use self::streams::Streams;
use crate::config::Config;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::text::UserName;
use crate::domain::time::{Moment, Timestamp};
use crate::mcp::{Gate, Heads, Limited, Places, Seat, while_it_lasts};
use crate::reads::{Pasts, Reads};
use crate::steps::in_shell;
use crate::system;
use crate::views::ViewError;
use crate::workspace::Workspace;
use crate::writer::Front;

/// The pages of the menu.
const PAGES: &[(&str, &str)] = &[
    ("/", "Now"),
    ("/claims", "Claims"),
    ("/disagreements", "Disagreements"),
    ("/decisions", "Decisions"),
    ("/dead-ends", "Dead ends"),
    ("/plan", "Plan"),
    ("/sessions", "Sessions"),
    ("/runs", "Runs"),
    ("/rules", "Patterns and guards"),
    ("/told", "What an agent is told"),
    ("/ledger", "Ledger"),
    ("/policy", "Policy"),
    ("/spaces", "Spaces"),
];
/// The longest form. A reason has a tenth of it.
const MAX_FORM_BYTES: usize = 65_536;
/// Time for a form to come in.
const FORM_WITHIN: Duration = Duration::from_secs(10);
/// Time between two comments on a stream without news. A connection without any byte is closed after a minute.
const STILL_THERE: Duration = Duration::from_secs(15);
/// Time between two looks for states of the past that are missing.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// What a browser may do with an answer.
static HEADERS: [(header::HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
];

/// The files of the pages. Their names change with their content.
static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets {
    style: Asset::new("style", "css", "text/css; charset=utf-8", include_str!("web/style.css")),
    script: Asset::new("live", "js", "text/javascript; charset=utf-8", include_str!("web/live.js")),
    icon: Asset::new("icon", "svg", "image/svg+xml", include_str!("web/icon.svg")),
});

struct Assets {
    style: Asset,
    script: Asset,
    icon: Asset,
}

struct Asset {
    name: String,
    kind: &'static str,
    text: &'static str,
}

impl Asset {
    fn new(name: &str, end: &str, kind: &'static str, text: &'static str) -> Self {
        let hash = hex::encode(&Sha256::digest(text)[..8]);
        Self { name: format!("/{name}-{hash}.{end}"), kind, text }
    }
}

/// What the pages show, and who may act there.
#[derive(Debug, Clone)]
pub struct Memory {
    /// The workspace.
    pub workspace: Workspace,
    /// Its settings.
    pub config: Config,
    /// The directory of the user's state.
    pub state_home: Option<PathBuf>,
    /// The person at this machine.
    pub user: Option<UserName>,
    /// The program that acts for the operator; none if the pages only show.
    pub acts: Option<PathBuf>,
}

/// The pages, bound to a port of this machine.
pub struct Web {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
    site: Arc<Site>,
}

/// What the pages are made of.
struct Site {
    /// The path above all pages; empty where they have a listener of their own.
    base: &'static str,
    workspace: Workspace,
    config: Config,
    state_home: Option<PathBuf>,
    user: Option<UserName>,
    door: Door,
    actor: Option<Actor>,
    heads: Heads,
    streams: Streams,
    is_preparing: AtomicBool,
    /// States of the past: folding one from the first event costs more than a page.
    pasts: Pasts,
}

impl Web {
    /// Binds a port of this machine, and follows the ledger. Port 0 means any free one.
    ///
    /// # Errors
    /// The error of the operating system when the port is taken.
    pub async fn bind(memory: Memory, port: u16, front: Front) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let [token, secret] = [system::entropy(), system::entropy()].map(hex::encode);
        let door = Door::printed(address.port(), &token, secret);
        let site = Site::new(memory, "", door, Heads::of(front));
        site.prepare();
        Ok(Self { listener, address, token, site })
    }

    /// The address with the token, which works once.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.address, self.token)
    }

    /// Serves until the process gets a stop signal.
    ///
    /// # Errors
    /// The error of the operating system.
    pub async fn serve(self) -> std::io::Result<()> {
        let places = Places::new();
        let routes = Router::new().fallback(answer).with_state((self.site, places.clone()));
        let serving = axum::serve(
            Limited::new(self.listener, places),
            routes.into_make_service_with_connect_info::<Seat>(),
        );
        tokio::select! {
            served = async { serving.await } => served,
            // Every action is a process of its own, and is finished without this one.
            () = system::stop_signal() => Ok(()),
            // The states of the past are in temporary files, which go with the process only if it ends by itself.
            () = system::hang_up(), if std::io::stdin().is_terminal() => Ok(()),
        }
    }
}

/// The pages of an HTTP front, below [`Gate::PATH`].
pub(crate) fn behind(gate: Gate, memory: Memory) -> Router {
    let (heads, places) = (gate.heads().clone(), gate.places().clone());
    let site = Site::new(memory, Gate::PATH, Door::of_tokens(gate), heads);
    let paths = ["", "/", "/{*page}"].map(|path| format!("{}{path}", Gate::PATH));
    let routes = paths.iter().fold(Router::new(), |routes, path| routes.route(path, any(answer)));
    routes.with_state((site, places))
}

/// Prepares states of the past, and more of them as the ledger grows. One at a time, so that the process can end between
/// two.
async fn prepared(site: Weak<Site>, heads: Heads) {
    let mut head = heads.follow();
    loop {
        let Some(site) = site.upgrade() else { return };
        let one = tokio::task::spawn_blocking(move || site.pasts.prepare(&mut site.reads()));
        match one.await {
            Ok(Ok(true)) => continue,
            Ok(Ok(false)) => {}
            // The page of such a moment says it.
            Ok(Err(error)) => tracing::debug!(%error, "cannot prepare the past"),
            Err(_) => return,
        }
        if head.changed().await.is_err() {
            return;
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

impl Site {
    fn new(memory: Memory, base: &'static str, door: Door, heads: Heads) -> Arc<Self> {
        let Memory { workspace, config, state_home, user, acts } = memory;
        let actor = acts.map(|program| Actor::new(program, workspace.root().to_owned()));
        let (is_preparing, pasts, streams) = (AtomicBool::new(false), Pasts::default(), Streams::default());
        Arc::new(Self {
            base,
            workspace,
            config,
            state_home,
            user,
            door,
            actor,
            heads,
            streams,
            is_preparing,
            pasts,
        })
    }

    /// Begins to prepare states of the past, once.
    fn prepare(self: &Arc<Self>) {
        if !self.is_preparing.swap(true, Ordering::Relaxed) {
            tokio::spawn(prepared(Arc::downgrade(self), self.heads.clone()));
        }
    }

    /// The command that serves these pages.
    const fn verb(&self) -> &'static str {
        if self.base.is_empty() { "hm web" } else { "hm serve" }
    }

    /// The memory at the present moment.
    fn reads(&self) -> Reads {
        Reads::of(self.workspace.clone()).knowing(self.state_home.clone()).seen_by(self.user.clone())
    }

    /// The memory at a moment.
    fn past(&self, mut present: Reads, moment: Moment, now: Timestamp) -> Result<Reads, Rejection> {
        Ok(present.at_from(&self.pasts, moment, now).map_err(ViewError::from)?)
    }

    /// The hidden field of forms; none if the pages only show.
    fn forms(&self, visitor: &Visitor) -> Option<String> {
        self.actor.as_ref().filter(|_| visitor.right().is_ok()).map(|_| visitor.form_token())
    }
}

async fn answer(
    State((site, places)): State<(Arc<Site>, Places)>,
    ConnectInfo(seat): ConnectInfo<Seat>,
    request: Request,
) -> Response {
    let answering = seat.answering();
    let mut response = match served(&site, &places, &seat, request).await {
        Ok(response) => while_it_lasts(response, answering),
        Err(refusal) => refusal.into_response(),
    };
    if !site.base.is_empty() {
        // Without any referrer, a browser hides the origin of a form, and off this machine it says nothing in its place
        // unless it speaks TLS.
        let same_origin = HeaderValue::from_static("same-origin");
        response.headers_mut().insert(header::REFERRER_POLICY, same_origin);
    }
    for (name, value) in &HEADERS {
        response.headers_mut().entry(name.clone()).or_insert(HeaderValue::from_static(value));
    }
    if places.are_scarce() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn served(
    site: &Arc<Site>,
    places: &Places,
    seat: &Seat,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    site.door.check(&parts.method, &parts.headers)?;
    let path = parts.uri.path().strip_prefix(site.base).filter(|path| !path.is_empty());
    let (path, query) = (path.unwrap_or("/").to_owned(), parts.uri.query().unwrap_or_default().to_owned());
    let asked = (&parts.method, path.as_str());
    if site.door.signs_in() && asked == (&Method::POST, "/sign-in") {
        site.door.form(&parts.headers)?;
        return signed_in(site, seat, &parts.headers, form(body).await?);
    }
    let token = page::pairs(&query).into_iter().find(|(name, _)| name == "token");
    if let Some((_, token)) = token.filter(|_| asked == (&Method::GET, "/"))
        && let Some(cookie) = site.door.enter(&token)
    {
        return Ok(redirect(site, "/", Some(cookie)));
    }
    let Some(visitor) = site.door.visitor(seat, &parts.headers)? else {
        // A token that somebody put into the address goes into no page.
        let is_page = parts.method == Method::GET && asked.1 != "/events" && !query.contains("token=");
        let back = parts.uri.path_and_query().filter(|_| is_page);
        let back = back.map_or("/", |asked| asked.as_str());
        return Ok(match asked {
            // The page to sign in has the same style and icon.
            (&Method::GET, path) if path == ASSETS.style.name => file(&ASSETS.style),
            (&Method::GET, path) if path == ASSETS.icon.name => file(&ASSETS.icon),
            _ => unknown(site, back, None),
        });
    };
    seat.prove();
    site.prepare();
    if parts.method == Method::POST {
        site.door.form(&parts.headers)?;
    }
    let is_stream = asked == (&Method::GET, "/events");
    let permit = visitor.permit(is_stream)?;
    match asked {
        _ if is_stream => {
            let stream = places.stream().ok_or(Refusal::TooManyStreams)?;
            let stop = site.streams.opened(visitor.session(), &visitor.stop());
            Ok(while_it_lasts(news(site, stop), (permit, stream)))
        }
        // The address of `hm web` with its token, opened again.
        (&Method::GET, "/") if page::pairs(&query).iter().any(|(name, _)| name == "token") => {
            Ok(redirect(site, "/", None))
        }
        (&Method::GET, path) => {
            match [&ASSETS.style, &ASSETS.script, &ASSETS.icon].into_iter().find(|asset| asset.name == path) {
                Some(asset) => Ok(file(asset)),
                None => Ok(shown(site, visitor, path.to_owned(), query).await),
            }
        }
        (&Method::POST, "/act") => acted(site, &visitor, form(body).await?).await,
        (&Method::POST, "/sign-out") => {
            visitor.sent(field(&form(body).await?, "form"))?;
            Ok(redirect(site, "/", Some(site.door.sign_out(&visitor)?)))
        }
        (&Method::POST, _) => visitor.right().and(Err(Refusal::WrongMethod)),
        _ => Err(Refusal::WrongMethod),
    }
}

/// Reads the fields of a form.
async fn form(body: Body) -> Result<Vec<(String, String)>, Refusal> {
    let body = tokio::time::timeout(FORM_WITHIN, to_bytes(body, MAX_FORM_BYTES)).await;
    let Ok(Ok(body)) = body else { return Err(Refusal::LongForm) };
    Ok(page::pairs(&String::from_utf8_lossy(&body)))
}

/// The value of a field; empty without one.
fn field<'f>(form: &'f [(String, String)], name: &str) -> &'f str {
    form.iter().find(|(given, _)| given == name).map_or("", |(_, value)| value.trim())
}

/// Sends the browser on to a page, with what it shall keep.
fn redirect(site: &Site, path: &str, cookie: Option<HeaderValue>) -> Response {
    let to = HeaderValue::from_str(&acting::ours(site.base, path)).expect("its characters were checked");
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response();
    response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

/// The page for a browser that is not signed in.
fn unknown(site: &Site, back: &str, problem: Option<&str>) -> Response {
    html(StatusCode::UNAUTHORIZED, sign_in::page(site, back, problem).into_string())
}

/// Opens a session for the token of a form.
fn signed_in(
    site: &Arc<Site>,
    seat: &Seat,
    headers: &HeaderMap,
    form: Vec<(String, String)>,
) -> Result<Response, Refusal> {
    let back = field(&form, "back");
    let Some(cookie) = site.door.sign_in(seat, headers, field(&form, "token"))? else {
        let problem = "There is no such token: it was removed, or it is mistyped.";
        return Ok(unknown(site, back, Some(problem)));
    };
    seat.prove();
    Ok(redirect(site, back, Some(cookie)))
}

fn file(asset: &Asset) -> Response {
    let headers =
        [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, "private, max-age=31536000, immutable")];
    (headers, asset.text).into_response()
}

/// The head of the ledger, each time it moves, until the stream is stopped. A stream that ends counts as stopped.
fn news(site: &Site, stop: CancellationToken) -> Response {
    let (sender, receiver) = mpsc::channel(1);
    let mut head = site.heads.follow();
    tokio::spawn(async move {
        let _ended = stop.clone().drop_guard();
        loop {
            let newest = *head.borrow_and_update();
            if sender.send(newest).await.is_err() {
                return;
            }
            tokio::select! {
                changed = head.changed() => if changed.is_err() { return },
                () = sender.closed() => return,
                () = stop.cancelled() => return,
            }
        }
    });
    let events = ReceiverStream::new(receiver)
        .map(|head| Ok::<_, Infallible>(Event::default().data(head.to_string())));
    Sse::new(events).keep_alive(KeepAlive::new().interval(STILL_THERE)).into_response()
}

/// A page. Reading waits for files, so it has a thread of its own.
async fn shown(site: &Arc<Site>, visitor: Visitor, path: String, query: String) -> Response {
    let site = Arc::clone(site);
    let made = tokio::task::spawn_blocking(move || made(&site, &visitor, &path, &query)).await;
    made.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

fn made(site: &Site, visitor: &Visitor, path: &str, query: &str) -> Response {
    let found = Page::of(site, visitor, path, query).and_then(|page| finished(site, page));
    match found {
        Ok(document) => html(StatusCode::OK, document),
        Err(refused) => {
            let status = if refused.code == Code::Unavailable {
                StatusCode::SERVICE_UNAVAILABLE
            } else if refused.code == Code::InvalidArgument {
                StatusCode::BAD_REQUEST
            } else {
                StatusCode::NOT_FOUND
            };
            // The frame of the present, whatever moment was asked for.
            let problem = Page::of(site, visitor, path, "").map(|page| {
                page.document(
                    &Shown::new("Nothing to show", page::said(&in_shell(&refused.to_string()))),
                    None,
                )
            });
            match problem {
                Ok(document) => html(status, document.into_string()),
                Err(_) => (status, format!("{}\n", in_shell(&refused.to_string()))).into_response(),
            }
        }
    }
}

fn finished(site: &Site, mut page: Page<'_>) -> Result<String, Rejection> {
    let shown = found(&mut page)?;
    let said = page.said.as_deref().and_then(|key| site.actor.as_ref()?.said(key));
    Ok(page.document(&shown, said.as_deref()).into_string())
}

/// The page at an address.
fn found(page: &mut Page<'_>) -> Result<Shown, Rejection> {
    let path = page.path.clone();
    let (head, name) =
        path.trim_start_matches('/').split_once('/').unwrap_or((path.trim_start_matches('/'), ""));
    match (head, name) {
        ("", "") => now::show(page),
        ("claims", "") => claims::show(page),
        ("claim", name) => claim::show(page, name),
        ("disagreements", "") => disputes::show(page),
        ("decisions", "") => disputes::decisions(page),
        ("dead-ends", "") => dead_ends::show(page),
        ("plan", "") => work::plan(page),
        ("sessions", "") => work::sessions(page),
        ("runs", "") => work::runs(page),
        ("run", name) => work::run(page, name),
        ("rules", "") => rules::show(page),
        ("policy", "") => rules::policy(page),
        ("spaces", "") => spaces::show(page),
        ("told", "") => told::show(page),
        ("ledger", "") => ledger::show(page),
        ("event", name) => ledger::event(page, name),
        _ => Err(Rejection::new(Code::UnknownMemory, "there is no such page", "the menu has all pages")),
    }
}

fn html(status: StatusCode, document: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], Body::from(document)).into_response()
}

/// Does what a button asks for, and shows the page again with the receipt.
async fn acted(
    site: &Arc<Site>,
    visitor: &Visitor,
    form: Vec<(String, String)>,
) -> Result<Response, Refusal> {
    let right = visitor.right()?;
    visitor.sent(field(&form, "form"))?;
    let actor = site.actor.as_ref().ok_or(Refusal::ForeignForm)?;
    let asked = crate::acting::Asked {
        deed: field(&form, "do").to_owned(),
        about: field(&form, "about").to_owned(),
        reason: field(&form, "reason").to_owned(),
    };
    let reading = Arc::clone(site);
    let planned =
        tokio::task::spawn_blocking(move || crate::acting::planned(&mut reading.reads(), &asked)).await;
    let said = match planned {
        Ok(Ok(words)) => actor.act(&words, &right).await,
        Ok(Err(refused)) => in_shell(&refused.to_string()).into_owned(),
        Err(_) => "the action was not done: the page failed".to_owned(),
    };
    Ok(redirect(site, &acting::back(site.base, field(&form, "back"), &actor.keep(said)), None))
}
