//! Search through the store: a committed corpus, its questions, and what must hold for any question.

mod meanings;
mod quality;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::Path;

use expect_test::{Expect, expect};
use hivemind::domain::agent::AgentId;
use hivemind::domain::checkout::Checkout;
use hivemind::domain::claim::{ClaimType, Position, Relation, SearchMode, Share, Status};
use hivemind::domain::command::{
    AddEvidence, Command, CreateClaim, DeprecateClaim, Submission, TakePosition,
};
use hivemind::domain::decide::Policy;
use hivemind::domain::ids::{ClaimId, CommandId, EventId};
use hivemind::domain::ranking::Vectors;
use hivemind::domain::time::{Moment, Timestamp};
use hivemind::domain::tokens::tokens;
use hivemind::domain::versions::Versions;
use hivemind::store::{ClaimFilter, Reader, Search, SearchPage, Seen};
use hivemind::system::Sources;
use hivemind::workspace::Workspace;
use hivemind::writer::Committer;
use rusqlite::Connection;
use serde::Deserialize;
use tempfile::TempDir;
use uuid::Uuid;

use crate::harness::{Dice, TempWorkspace, claim_of, creation, dump, long, position};

/// A claim of the corpus.
#[derive(Debug, Clone, Deserialize)]
struct Line {
    key: String,
    statement: String,
    scopes: Vec<String>,
    #[serde(rename = "type")]
    claim_type: ClaimType,
    owner: String,
    session: String,
    supersedes: Option<String>,
    #[serde(default)]
    deprecated: bool,
}

/// A question and the claims that answer it.
#[derive(Debug, Deserialize)]
struct Asked {
    q: String,
    finds: Vec<String>,
}

fn lines<T: for<'de> Deserialize<'de>>(text: &str) -> Vec<T> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of the corpus")).collect()
}

fn corpus() -> Vec<Line> {
    lines(include_str!("../corpora/coding_claims.jsonl"))
}

fn questions() -> Vec<Asked> {
    lines(include_str!("../corpora/coding_queries.jsonl"))
}

/// A workspace whose claims have names, at times and with ids that are the same in every run.
struct Library {
    _dir: TempDir,
    workspace: Workspace,
    committer: Committer,
    ids: BTreeMap<String, ClaimId>,
    names: HashMap<ClaimId, String>,
    /// What its searches compare: words only, unless a test says otherwise.
    vectors: Vectors,
}

fn fixed() -> Sources {
    let (mut ms, mut id) = (0, 1_u128 << 64);
    Sources {
        clock: Box::new(move || {
            ms += 1_000;
            Timestamp::from_ms(ms)
        }),
        ids: Box::new(move || {
            id += 1;
            Uuid::from_u128(id)
        }),
        entropy: Box::new(|| [7; 32]),
    }
}

impl Library {
    fn empty() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let workspace =
            Workspace::init(dir.path(), &hivemind::system::Environment::read()).expect("a workspace");
        let committer = Committer::open(&workspace, Policy::default(), fixed()).expect("a committer");
        let (ids, names) = Default::default();
        Self { _dir: dir, workspace, committer, ids, names, vectors: Vectors::Off }
    }

    fn of(corpus: &[Line]) -> Self {
        let mut library = Self::empty();
        for line in corpus {
            library.create(line);
            if line.deprecated {
                let claim_id = library.ids[&line.key];
                let reason = "gone".parse().expect("a reason");
                library.submit(
                    &line.owner,
                    None,
                    Command::DeprecateClaim(DeprecateClaim { claim_id, reason }),
                );
            }
        }
        library
    }

    fn create(&mut self, line: &Line) {
        let claim_id = ClaimId::from_uuid(Uuid::from_u128(self.ids.len() as u128 + 1));
        self.ids.insert(line.key.clone(), claim_id);
        self.names.insert(claim_id, line.key.clone());
        let create = CreateClaim {
            event_type: None,
            mends: false,
            claim_id,
            statement: line.statement.parse().expect("a statement"),
            claim_type: line.claim_type,
            scopes: line.scopes.iter().map(|scope| scope.parse().expect("a scope")).collect(),
            confidence: Default::default(),
            supersedes: line.supersedes.as_ref().map(|key| self.ids[key]),
            ttl_hours: None,
            evidence_refs: Vec::new(),
            origin_task_id: None,
            asks: Vec::new(),
            tells: Vec::new(),
            unless_objection_minutes: None,
            trigger: None,
        };
        self.submit(&line.owner, Some(&line.session), Command::CreateClaim(create));
    }

    fn submit(&mut self, agent: &str, session: Option<&str>, command: Command) {
        let submission = Submission {
            command_id: CommandId::from_uuid(Uuid::from_u128(
                (2_u128 << 64) + u128::from(self.committer.head().seq),
            )),
            agent: AgentId::recorded(agent),
            session: session.map(|session| session.parse().expect("a session")),
            unpinned: None,
            trace_id: None,
            idempotency_key: None,
            checkout: Checkout::default(),
            versions: Versions::new(),
            command,
        };
        let receipts = self.committer.commit(&[submission]).expect("a commit");
        assert!(receipts[0].is_ok(), "{receipts:?}");
    }

    fn reader(&self) -> Reader {
        let reader = Reader::open(&self.workspace.team_memory()).expect("readable").expect("read models");
        reader.compare(self.vectors);
        reader
    }

    fn search(&self, search: &Search) -> SearchPage {
        self.reader().search(search).expect("an answer or none")
    }

    /// The names of what answers, best first.
    fn found(&self, search: &Search) -> Vec<&str> {
        self.search(search).hits.iter().map(|hit| self.names[&hit.claim.id].as_str()).collect()
    }

    /// The answers to some searches, as people would note them.
    fn shown(&self, searches: &[(&str, Search)]) -> String {
        let mut text = String::new();
        for (title, search) in searches {
            let _ = writeln!(text, "{title}");
            for hit in self.search(search).hits {
                let _ = write!(text, "  {:.6} {} {}", hit.score, hit.claim.status, self.names[&hit.claim.id]);
                let through: Vec<&str> = hit.found_through.iter().map(|id| self.names[id].as_str()).collect();
                if !through.is_empty() {
                    let _ = write!(text, " through {}", through.join(", "));
                }
                text.push('\n');
            }
        }
        text
    }

    fn check(&self, searches: &[(&str, Search)], expected: Expect) {
        expected.assert_eq(&self.shown(searches));
    }
}

fn ask(query: &str) -> Search {
    let filter = ClaimFilter { limit: 10, ..ClaimFilter::default() };
    Search {
        query: query.to_owned(),
        mode: SearchMode::Balanced,
        filter,
        seen: Seen::default(),
        explain: false,
    }
}

fn limited(query: &str, limit: impl FnOnce(&mut ClaimFilter)) -> Search {
    let mut search = ask(query);
    limit(&mut search.filter);
    search
}

fn in_mode(query: &str, mode: SearchMode) -> Search {
    Search { mode, ..ask(query) }
}

#[test]
fn words_identifiers_and_other_scripts_are_found() {
    let three = |query: &str| limited(query, |filter| filter.limit = 3);
    let questions = [
        "how many connections does the pool hold",
        "ordered_execution",
        "ordered-execution",
        "OrderedExecution",
        "retryWithBackoff jitter",
        "プールの上限",
        "工具链",
        "отчет",
        "มิลลิวินาที",
        "विफल",
        "GROSSE",
        "zebra crossing",
        "is it the",
        "🙂 -- ???",
    ];
    let searches: Vec<(&str, Search)> = questions.iter().map(|query| (*query, three(query))).collect();
    Library::of(&corpus()).check(
        &searches,
        expect![[r#"
            how many connections does the pool hold
              1.203880 proposed pool-20
              0.907760 proposed pool-timeout
              0.395921 proposed pool-leak
            ordered_execution
              1.719623 proposed ordered-exec
              1.039246 proposed exec-queue
              0.947750 proposed migrations-order
            ordered-execution
              1.119623 proposed ordered-exec
              0.739246 proposed exec-queue
              0.647750 proposed migrations-order
            OrderedExecution
              1.719623 proposed ordered-exec
              1.039246 proposed exec-queue
              0.947750 proposed migrations-order
            retryWithBackoff jitter
              1.600000 proposed retry-backoff
              0.161085 proposed retry-post
            プールの上限
              1.000000 proposed ja-pool
            工具链
              1.000000 proposed zh-cache
            отчет
              1.000000 proposed ru-index
            มิลลิวินาที
              1.000000 proposed th-store
            विफल
              1.000000 proposed hi-test
            GROSSE
              1.000000 proposed de-gross
            zebra crossing
            is it the
            🙂 -- ???
        "#]],
    );
}

#[test]
fn a_superseded_claim_leads_to_what_holds_now() {
    Library::of(&corpus()).check(
        &[
            ("balanced", ask("upload limit MB")),
            ("strict", in_mode("upload limit MB", SearchMode::Strict)),
            ("audit", in_mode("upload limit MB", SearchMode::Audit)),
            ("balanced, gone", ask("CDN bucket")),
            ("strict, gone", in_mode("CDN bucket", SearchMode::Strict)),
            ("deprecated only", limited("upload limit", |f| f.status = vec![Status::Deprecated])),
        ],
        expect![[r#"
            balanced
              1.250697 proposed limit-new through limit-old, limit-mid
              0.200973 proposed login-rate
              0.179245 proposed docker-size
              0.175716 proposed admin-bypass
            strict
              1.250697 proposed limit-new through limit-old, limit-mid
              0.200973 proposed login-rate
              0.179245 proposed docker-size
              0.175716 proposed admin-bypass
            audit
              1.250697 proposed limit-new through limit-old, limit-mid
              1.250697 deprecated limit-old
              1.001394 deprecated limit-mid
              0.200973 proposed login-rate
              0.179245 proposed docker-size
              0.175716 proposed admin-bypass
            balanced, gone
              1.000000 deprecated cdn-gone
            strict, gone
            deprecated only
              1.182172 deprecated limit-old
              0.864344 deprecated limit-mid
        "#]],
    );
}

/// However often a claim was replaced, what holds now answers.
#[test]
fn a_long_chain_leads_to_its_end() {
    let mut library = Library::empty();
    let line = |number: usize, statement: String| Line {
        key: format!("rev-{number}"),
        statement,
        scopes: vec!["src/quokka".to_owned()],
        claim_type: ClaimType::Fact,
        owner: "devops".to_owned(),
        session: "s1".to_owned(),
        supersedes: number.checked_sub(1).map(|before| format!("rev-{before}")),
        deprecated: false,
    };
    library.create(&line(0, "the quokka threshold is a constant".to_owned()));
    for number in 1..=40 {
        library.create(&line(number, format!("it became a setting, revision {number}")));
    }
    for mode in [SearchMode::Strict, SearchMode::Balanced] {
        assert_eq!(library.found(&in_mode("quokka threshold", mode)), ["rev-40"], "{mode}");
    }
}

/// Letters and digits are looked for apart and together, and words by their stems.
#[test]
fn other_spellings_of_a_name_and_other_forms_of_a_word_are_found() {
    let mut library = Library::empty();
    let texts = [
        ("http3", "the edge speaks http3 to browsers"),
        ("sha", "artifacts are named by their SHA-256"),
        ("deploy", "deployments are frozen on Fridays"),
    ];
    for (key, statement) in texts {
        library.create(&Line {
            key: key.to_owned(),
            statement: statement.to_owned(),
            scopes: vec!["src".to_owned()],
            claim_type: ClaimType::Fact,
            owner: "devops".to_owned(),
            session: key.to_owned(),
            supersedes: None,
            deprecated: false,
        });
    }
    for (query, key) in [("HTTP/3", "http3"), ("HTTP 3", "http3"), ("sha256", "sha"), ("deploy", "deploy")] {
        assert_eq!(library.found(&ask(query)).first(), Some(&key), "{query}");
    }
}

#[test]
fn filters_decide_which_claims_may_answer() {
    let library = Library::of(&corpus());
    let scope = |text: &str| Some(text.parse().expect("a scope"));
    library.check(
        &[
            ("below src/net", limited("requests connection", |f| f.scope = scope("src/net"))),
            ("around src/db/pool.rs", limited("connection readers", |f| f.scope = scope("src/db/pool.rs"))),
            ("a path beside it", limited("connection", |f| f.scope = scope("src/dbx"))),
            ("a symbol", limited("verify algorithm", |f| f.scope = scope("symbol:verify_token"))),
            ("all of it", limited("bundle", |f| f.scope = scope("."))),
            ("dead ends", limited("memory build", |f| f.claim_type = Some(ClaimType::Negative))),
            ("of one agent", limited("connection", |f| f.owner = Some("analyst".to_owned()))),
            ("of one session", limited("connection", |f| f.session = Some("s2".to_owned()))),
            ("early", limited("connection", |f| f.until = Some(Moment::Time(Timestamp::from_ms(2_000))))),
            ("later", limited("connection", |f| f.since = Some(Moment::Time(Timestamp::from_ms(2_001))))),
            ("confirmed", limited("connection", |f| f.status = vec![Status::Confirmed])),
            (
                "several at once",
                limited("connection", |f| {
                    f.scope = scope("src/db");
                    f.claim_type = Some(ClaimType::Hypothesis);
                    f.status = vec![Status::Proposed, Status::Contested];
                }),
            ),
        ],
        expect![[r#"
            below src/net
              1.000000 proposed max-inflight
              0.868831 proposed retry-post
              0.612953 proposed keepalive
            around src/db/pool.rs
              1.304792 proposed pool-20
              1.109585 proposed pool-timeout
              0.996236 proposed wal
              0.721071 proposed pool-leak
            a path beside it
            a symbol
              1.000000 proposed jwt-alg
            all of it
              1.000000 proposed bundle
            dead ends
              1.000000 proposed metrics-labels
              0.958109 proposed tls-musl
            of one agent
              1.000000 proposed pool-leak
            of one session
              1.000000 proposed pool-leak
            early
              1.304792 proposed pool-20
              1.109585 proposed pool-timeout
            later
              1.000000 proposed pool-leak
              0.879379 proposed keepalive
            confirmed
            several at once
              1.000000 proposed pool-leak
        "#]],
    );
}

#[test]
fn two_runs_and_a_rebuild_give_the_same_bytes() {
    let answers = |library: &Library| -> Vec<String> {
        let modes = [SearchMode::Strict, SearchMode::Balanced, SearchMode::Audit];
        let pages = questions().into_iter().flat_map(|asked| modes.map(|mode| in_mode(&asked.q, mode)));
        pages.map(|search| serde_json::to_string(&library.search(&search)).expect("JSON")).collect()
    };
    let mut one = Library::of(&corpus());
    let live = answers(&one);
    let rows = dump(&one.workspace.team_memory());
    assert!(rows.contains("\"orderedexecut\" | 11 | \"t\" | 2"), "the index is not in the dump");
    assert_eq!(answers(&Library::of(&corpus())), live);
    one.committer.rebuild(|_| ()).expect("a rebuild");
    assert_eq!(answers(&one), live);
    assert_eq!(dump(&one.workspace.team_memory()), rows);
}

#[test]
fn the_best_are_the_best_of_all() {
    let corpus = corpus();
    let mut library = Library::of(&corpus);
    // Evidence moves some claims past others that are nearer.
    let events: Vec<ClaimId> = library.ids.values().copied().take(5).collect();
    for line in corpus.iter().step_by(2) {
        let claim_id = library.ids[&line.key];
        for event in events.iter().filter(|event| **event != claim_id) {
            let add = AddEvidence {
                claim_id,
                evidence_ref: EventId::from_uuid(event.uuid()).into(),
                relation: Relation::Supports,
                weight: Share::FULL,
                note: None,
            };
            library.submit("reviewer", None, Command::AddEvidence(add));
        }
    }
    for asked in questions() {
        let all = library.search(&limited(&asked.q, |filter| filter.limit = 400)).hits;
        for limit in [1, 3, 10] {
            let best = library.search(&limited(&asked.q, |filter| filter.limit = limit)).hits;
            let same = best.iter().zip(&all).all(|(a, b)| a.claim == b.claim && a.score == b.score);
            assert!(same && best.len() == all.len().min(limit), "{}: looking stopped too early", asked.q);
        }
    }
}

/// Of many claims with the words only those are scored that come first, and the ones out of force are no answer: neither a few
/// of them nor most of them hide one.
#[test]
fn claims_out_of_force_hide_none_in_force() {
    let line = |number: usize, deprecated: bool| Line {
        key: format!("{}-{number}", if deprecated { "gone" } else { "held" }),
        statement: format!("the gateway timeout of pool {number} is short{}", " enough".repeat(number % 7)),
        scopes: vec!["src".to_owned()],
        claim_type: ClaimType::Fact,
        owner: "devops".to_owned(),
        session: "one".to_owned(),
        supersedes: None,
        deprecated,
    };
    for (gone, held) in [(900, 7), (450, 450), (100, 900)] {
        // The shortest statements come first by BM25, and all of these are out of force.
        let of = |from: usize, to: usize, is_gone| (from..to).map(move |number| line(number * 7, is_gone));
        let lines: Vec<Line> =
            of(0, gone, true).chain((0..held).map(|number| line(number * 7 + 6, false))).collect();
        let library = Library::of(&lines);
        let mut wanted = in_mode("gateway timeout", SearchMode::Strict);
        wanted.filter.limit = 500;
        let strict = library.search(&wanted).hits;
        assert_eq!(strict.len(), held.min(400), "{gone} out of force");
        assert!(strict.iter().all(|hit| hit.claim.status != Status::Deprecated));
        // The same claims by a filter that is looked at for each match.
        let named = Search {
            filter: ClaimFilter { status: vec![Status::Proposed], ..wanted.filter.clone() },
            ..wanted
        };
        let by_status = library.search(&named).hits;
        assert!(strict.iter().map(|hit| hit.claim.id).eq(by_status.iter().map(|hit| hit.claim.id)));
    }
}

/// Red before (in a change of the same day): pairs of frequent words filled the list of those that are scored. With
/// `HM_LONG=1` only: so many claims take a minute to write.
#[test]
fn a_rare_word_with_a_frequent_one_comes_before_two_frequent_ones() {
    if !long() {
        return;
    }
    let line = |number: usize, statement: String| Line {
        key: format!("line-{number}"),
        statement,
        scopes: vec!["src".to_owned()],
        claim_type: ClaimType::Fact,
        owner: "devops".to_owned(),
        session: format!("s-{number}"),
        supersedes: None,
        deprecated: false,
    };
    let statement = |number: usize| match number {
        0..900 => format!("the pool size of gateway g{number} is kept"),
        900..1_020 => format!("the timeout of handler h{number} is kept"),
        1_020 => "the size of a frame and its timeout are kept as zebra says".to_owned(),
        _ => format!("worker w{number} is kept"),
    };
    let lines: Vec<Line> = (0..5_000).map(|number| line(number, statement(number))).collect();
    let library = Library::of(&lines);
    let hits = library.search(&in_mode("pool size timeout", SearchMode::Strict)).hits;
    assert!(hits[0].claim.statement.contains("zebra"), "{:?}", hits[0].claim.statement);
}

/// Puts read models in place of these as the first version left them: no index, no number, folded to the end.
fn first_version(path: &Path) {
    let kept = path.with_extension("kept");
    std::fs::rename(path, &kept).expect("it can move");
    for log in ["sqlite-wal", "sqlite-shm"] {
        // Nobody has it open, and what it held is in the ledger.
        let _ = std::fs::rename(path.with_extension(log), path.with_extension(log.replace("sqlite", "kept")));
    }
    let db = Connection::open(path).expect("a new file");
    db.execute("ATTACH ?1 AS kept", [kept.to_str()]).expect("the old file");
    db.execute_batch(
        "CREATE TABLE refinery_schema_history (version INT4 PRIMARY KEY, name, applied_on, checksum); \
         INSERT INTO refinery_schema_history SELECT version, name, applied_on, checksum \
         FROM kept.refinery_schema_history WHERE version = 1;",
    )
    .expect("what was applied");
    db.execute_batch(include_str!("../../migrations/team-memory/V1__claims.sql")).expect("its tables");
    db.execute_batch("INSERT INTO projection SELECT id, folded_seq, folded_hash FROM kept.projection")
        .expect("how far it had folded");
}

#[test]
fn read_models_of_an_older_fold_are_made_anew() {
    let library = Library::of(&corpus());
    let (path, workspace) = (library.workspace.team_memory(), library.workspace.clone());
    let rows = dump(&path);
    let Library { _dir, committer, .. } = library;
    drop(committer);
    first_version(&path);
    let refused = Reader::open(&path).expect_err("there is no index yet").to_string();
    expect![[r#"the read models are not made of this ledger yet, or were made by an older version of hm: the writer makes them anew when it starts, nothing is lost"#]]
        .assert_eq(&refused);
    drop(Committer::open(&workspace, Policy::default(), fixed()).expect("a committer"));
    assert_eq!(dump(&path), rows);

    // The same shape of tables, filled by a fold with other tokens.
    let other = Connection::open(&path).expect("the read models");
    other.execute_batch("UPDATE claims SET tokens = 'x'; PRAGMA user_version = 1;").expect("other tokens");
    drop(other);
    drop(Committer::open(&workspace, Policy::default(), fixed()).expect("a committer"));
    assert_eq!(dump(&path), rows);
}

#[test]
fn any_bytes_are_a_question() {
    let library = Library::of(&corpus());
    let reader = library.reader();
    let mut dice = Dice::new(1);
    let pieces =
        ["\"", "*", "^", "NEAR(", " AND ", " OR ", "NOT", ":", "-", "+", "(", ")", "t : ", "\0", "pool", "'"];
    for round in 0..if long() { 10_000 } else { 500 } {
        let query = if round % 2 == 0 {
            let bytes: Vec<u8> = (0..dice.below(200)).map(|_| dice.below(256) as u8).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        } else {
            (0..dice.below(40)).map(|_| pieces[dice.below(pieces.len())]).collect()
        };
        let page = reader.search(&ask(&query)).unwrap_or_else(|error| panic!("{query:?}: {error}"));
        assert!(
            page.hits.is_empty() || !tokens(&query).is_empty(),
            "{query:?} has no words and found something"
        );
    }
    assert!(reader.search(&ask("")).expect("an answer").hits.is_empty());
    let endless = "pool connection ".repeat(50_000);
    assert!(!reader.search(&ask(&endless)).expect("an answer").hits.is_empty());
}

#[test]
fn a_neighbour_of_a_good_answer_rises() {
    let line = |key: &str, statement: &str, session: &str| Line {
        key: key.to_owned(),
        statement: statement.to_owned(),
        scopes: vec!["src".to_owned()],
        claim_type: ClaimType::Fact,
        owner: "devops".to_owned(),
        session: session.to_owned(),
        supersedes: None,
        deprecated: false,
    };
    let library = Library::of(&[
        line("far", "the cache of the gateway is cold", "one"),
        line("good", "the gateway timeout is thirty seconds", "two"),
        line("near", "the gateway cache is warm", "two"),
        line("other", "nothing of the kind", "two"),
    ]);
    library.check(
        &[("gateway timeout", ask("gateway timeout"))],
        expect![[r#"
            gateway timeout
              1.000000 proposed good
              0.500001 proposed near
              0.000001 proposed far
        "#]],
    );
}

#[test]
fn positions_and_evidence_move_a_claim_a_little() {
    let mut library = Library::of(&corpus()[..3]);
    let before = library.search(&ask("connections pool holds")).hits[0].score;
    let claim_id = library.ids["pool-20"];
    let position = Position::Challenge;
    let reason = Some("it is 50".parse().expect("a reason"));
    let take = TakePosition { claim_id, position, reason, evidence_ref: None };
    library.submit("reviewer", None, Command::TakePosition(take));
    let after = library.search(&ask("connections pool holds")).hits[0].score;
    assert!((after / before - 0.98).abs() < 1e-5, "confidence 1.0 -> 0.8 takes 2 %: {before} -> {after}");
}

/// Red before: a name was counted by an `INSERT … SELECT`, before which FTS5 writes what it keeps in memory. So each claim
/// wrote a part of the index, and the parts were merged again: a quarter of the time of a fold.
#[test]
fn claims_of_one_transaction_are_one_part_of_the_index() {
    let workspace = TempWorkspace::new();
    let said = [
        "the pool holds twenty",
        "a worker waits",
        "retries end",
        "caches drop",
        "locks are kept",
        "queues fill",
    ];
    let mut group: Vec<Submission> = said.map(|text| creation("devops", text)).into();
    let claims: Vec<ClaimId> = group.iter().map(claim_of).collect();
    for (at, claim) in claims.iter().enumerate() {
        let how = if at % 3 == 0 { Position::Challenge } else { Position::Support };
        // Each between two claims, as in a busy team.
        group.insert(at * 2 + 1, position("analyst", *claim, how));
    }
    for outcome in workspace.committer(1).commit(&group).expect("a commit") {
        outcome.expect("nothing is refused");
    }
    let db = Connection::open(workspace.team_memory()).expect("read models");
    let parts: u64 = db
        .query_row("SELECT count(DISTINCT segid) FROM claim_index_idx", [], |row| row.get(0))
        .expect("a number");
    assert_eq!(parts, 1);
}
