//! Claims that are found by what they mean, with other words than the question has.

use std::collections::BTreeSet;

use expect_test::expect;
use hivemind::domain::claim::{ClaimType, SearchMode, Status};
use hivemind::domain::decide::Policy;
use hivemind::domain::ranking::Vectors;
use hivemind::domain::time::{Moment, Timestamp};
use hivemind::domain::vectors::vector;
use hivemind::store::{ClaimFilter, Reader, Search, StoreError};
use hivemind::writer::Committer;
use rusqlite::Connection;
use sha2::{Digest, Sha256};

use super::{Library, Line, ask, corpus, fixed, in_mode, limited, questions};
use crate::harness::dump;

/// Vectors of a block in the read models.
const BLOCK: usize = 15;

fn line(key: &str, statement: &str) -> Line {
    Line {
        key: key.to_owned(),
        statement: statement.to_owned(),
        scopes: vec!["src/build".to_owned()],
        claim_type: ClaimType::Fact,
        owner: "devops".to_owned(),
        session: key.to_owned(),
        supersedes: None,
        deprecated: false,
    }
}

/// Claims that share no word with the questions about them.
fn library() -> Library {
    let mut library = Library::of(&[
        line("image", "the picture is too big for the browser"),
        line("kill", "the supervisor kills a worker that hangs"),
        line("queue", "an empty queue wakes nobody"),
        line("kitchen", "invoices are rounded to two decimals"),
    ]);
    library.vectors = Vectors::Static;
    library
}

#[test]
fn other_words_for_the_same_thing_find_a_claim() {
    let mut library = library();
    let asked = [("huge photo", "image"), ("large image", "image")];
    for (question, key) in asked {
        assert_eq!(library.found(&ask(question)).first(), Some(&key), "{question}");
    }
    for about_nothing_here in ["zebra crossing", "is it the", "🙂 -- ???", "who won the football match"] {
        assert!(library.found(&ask(about_nothing_here)).is_empty(), "{about_nothing_here}");
    }
    library.vectors = Vectors::Off;
    for (question, _) in asked {
        assert!(library.found(&ask(question)).is_empty(), "{question}");
    }
}

/// Red before: nothing was found, as the table knows of these names hardly more than that they are technical.
#[test]
fn another_name_of_the_same_thing_finds_a_claim() {
    let mut library = Library::of(&[
        line("build", "the release binaries are built for aarch64 on the runner in the cellar"),
        line("deploy", "every deployment to Kubernetes waits for the schema"),
        line("rows", "a database row of a parcel is never deleted"),
    ]);
    for vectors in [Vectors::Off, Vectors::Static] {
        library.vectors = vectors;
        for (question, key) in
            [("arm", "build"), ("ARM64 support", "build"), ("k8s", "deploy"), ("db", "rows")]
        {
            assert_eq!(library.found(&ask(question)).first(), Some(&key), "{question}");
        }
    }
}

/// Red before with meanings: the claim with the words of the identifier was first.
#[test]
fn a_claim_with_the_identifier_comes_before_one_with_its_words() {
    let mut library = Library::of(&[
        line("get", "getUserById caches for 5 seconds"),
        line("users", "users are fetched by their id and the user is cached by the id"),
        line("scan", "dedupe_scan runs in the ingest worker"),
        line(
            "scans",
            "scanning duplicates again makes the duplicate scans detection remove each duplicate scan",
        ),
        line("slow", "slow: getRowByKey"),
        line("row", "get the row by key from the api when a row is looked up by key"),
        line("dsn", "the variable COURIER_DSN names the database"),
        line(
            "string",
            "the database connection string of the courier service is read from the environment at start",
        ),
    ]);
    for vectors in [Vectors::Off, Vectors::Static] {
        library.vectors = vectors;
        for (question, key) in [
            ("getUserById", "get"),
            ("are users cached by get_user_by_id", "get"),
            ("what does getRowByKey do when a row is looked up by key from the api", "slow"),
            ("how does dedupe_scan find duplicate scans", "scan"),
            ("which database connection string is in COURIER_DSN at start", "dsn"),
        ] {
            assert_eq!(library.found(&ask(question)).first(), Some(&key), "{question}");
        }
    }
}

#[test]
fn filters_hold_for_claims_that_are_found_by_their_meaning() {
    let mut library = library();
    let other = Line {
        scopes: vec!["src/net".to_owned()],
        owner: "analyst".to_owned(),
        ..line("net", "a photograph of such size is refused")
    };
    library.create(&other);
    let asked = |limit: &dyn Fn(&mut ClaimFilter)| -> BTreeSet<String> {
        let found = library.search(&limited("large image", limit));
        found.hits.iter().map(|hit| library.names[&hit.claim.id].clone()).collect()
    };
    let set = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(asked(&|_| ()), set(&["image", "net"]));
    assert_eq!(asked(&|filter| filter.scope = Some("src/net".parse().expect("a scope"))), set(&["net"]));
    assert_eq!(asked(&|filter| filter.owner = Some("devops".to_owned())), set(&["image"]));
    assert_eq!(asked(&|filter| filter.claim_type = Some(ClaimType::Negative)), set(&[]));
    assert_eq!(asked(&|filter| filter.status = vec![Status::Confirmed]), set(&[]));
    assert_eq!(asked(&|filter| filter.status = vec![Status::Proposed]), set(&["image", "net"]));
    assert_eq!(asked(&|filter| filter.until = Some(Moment::Seq(2))), set(&["image"]));
    assert_eq!(asked(&|filter| filter.id = Some(library.ids["net"])), set(&["net"]));
}

#[test]
fn a_superseded_claim_that_is_alike_leads_to_its_successor() {
    let mut library = library();
    let next =
        Line { supersedes: Some("image".to_owned()), ..line("next", "uploads are compressed by a job") };
    library.create(&next);
    for mode in [SearchMode::Strict, SearchMode::Balanced] {
        let found = library.search(&Search { explain: true, ..in_mode("photo size", mode) }).hits;
        assert_eq!(found[0].claim.id, library.ids["next"]);
        assert_eq!(found[0].found_through, [library.ids["image"]]);
        assert_eq!(found[0].why.as_ref().expect("grounds").compared, library.ids["image"]);
    }
}

/// The script that makes the table knows the same bytes.
#[test]
fn the_table_is_what_the_script_makes() {
    let table = include_bytes!("../../../src/domain/vectors/table.bin");
    let script = include_str!("../../../benches/distil.py");
    assert!(script.contains(&hex::encode(Sha256::digest(table))), "run benches/distil.py");
}

/// A change of these bytes changes stored vectors: another table needs another name, and another way to make vectors a
/// new `store::FOLD_VERSION`.
#[test]
fn texts_have_the_same_vectors_everywhere() {
    let texts = [
        "The pool holds 20 connections",
        "OrderedExecution unparseable aarch64 SIGTERM whitelist",
        "Über café naïve",
    ];
    let mut hash = Sha256::new();
    texts.iter().for_each(|text| hash.update(vector(text).expect("a text with words").bytes()));
    expect!["bccc0baeecf311b126ea03a133050a3cccc49ddf7a011ad05d31b45ffba276e2"]
        .assert_eq(&hex::encode(hash.finalize()));
    // The model knows no words of other scripts.
    for text in ["", "is it the", "🙂 -- ???", "接続プール", "пул соединений"] {
        assert_eq!(vector(text), None, "{text}");
    }
}

#[test]
fn other_words_for_the_same_thing_are_alike() {
    let cosine = |one: &str, other: &str| {
        let [one, other] = [one, other].map(|text| vector(text).expect("a text with words"));
        one.cosine(&other.bytes())
    };
    for (text, alike, other) in [
        ("terminate the process", "kill the program", "paint the kitchen"),
        ("the picture is too large", "the image is too big", "the queue is empty"),
    ] {
        assert!(cosine(text, alike) > cosine(text, other) + 0.1, "{text}");
        assert!((cosine(text, text) - 1.0).abs() < 0.03, "{text}");
    }
    assert_eq!(vector("kill the worker"), vector("worker: kill"));
}

/// Claims enough for nineteen blocks and a row, in many scopes.
fn many() -> Library {
    let mut library = Library::of(&[]);
    for (number, claim) in corpus().iter().cycle().take(19 * BLOCK + 1).enumerate() {
        library.create(&Line {
            key: format!("{}-{number}", claim.key),
            statement: format!("{}, as of revision {number}", claim.statement),
            session: format!("s{number}"),
            supersedes: None,
            ..claim.clone()
        });
    }
    library.vectors = Vectors::Static;
    library
}

fn rows_of(library: &Library, table: &str) -> usize {
    let db = Connection::open(library.workspace.team_memory()).expect("the read models");
    db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).expect("a count")
}

#[test]
fn a_scan_compares_every_claim_exactly() {
    let library = many();
    assert_eq!((rows_of(&library, "vector_blocks"), rows_of(&library, "vectors")), (19, 1));
    for claim_type in [None, Some(ClaimType::Negative)] {
        compares_exactly(&library, claim_type);
    }
}

fn compares_exactly(library: &Library, claim_type: Option<ClaimType>) {
    let all = limited("pool", |filter| (filter.limit, filter.claim_type) = (400, claim_type));
    for asked in questions() {
        let search = Search { query: asked.q.clone(), explain: true, ..all.clone() };
        let question = vector(&asked.q);
        let cosine = |statement: &str| {
            let claim = vector(statement).map(|claim| claim.bytes());
            question.zip(claim).map_or(0.0, |(question, claim)| question.cosine(&claim))
        };
        let hits = library.search(&search).hits;
        for hit in &hits {
            let why = hit.why.as_ref().expect("grounds");
            let expected = question.map(|_| (cosine(&hit.claim.statement) * 1_000.0).round() / 1_000.0);
            assert_eq!(why.cosine, expected, "{}: {}", asked.q, hit.claim.statement);
            assert!(!why.words.is_empty() || why.cosine >= Some(0.33), "{}: {why:?}", asked.q);
        }
        let found: BTreeSet<_> = hits.iter().map(|hit| hit.claim.id).collect();
        let reader = library.reader();
        let filter = ClaimFilter { limit: 1_000, claim_type, ..ClaimFilter::default() };
        let page = reader.claims(&filter).expect("claims");
        assert!(!page.claims.is_empty());
        let alike = page.claims.iter().filter(|claim| cosine(&claim.statement) > 0.331);
        let alike: Vec<_> = alike.collect();
        assert!(alike.len() > 100 || alike.iter().all(|claim| found.contains(&claim.id)), "{}", asked.q);
    }
}

/// What a reader answers to questions, everywhere and in one scope, and the number of rows that it left out.
fn answers_of(reader: &Reader) -> Vec<String> {
    reader.compare(Vectors::Static);
    let scopes = [None, Some("src/db"), Some("src")];
    let pages =
        questions().into_iter().step_by(5).flat_map(|asked| scopes.map(|scope| (asked.q.clone(), scope)));
    let answer = |(asked, scope): (String, Option<&str>)| {
        let search =
            limited(&asked, |filter| filter.scope = scope.map(|scope| scope.parse().expect("a scope")));
        let found = reader.snapshot(Timestamp::from_ms(1_000_000), |reader| reader.search(&search));
        let (page, left_out) = found.expect("an answer");
        format!("{} {}", serde_json::to_string(&page).expect("JSON"), left_out.count())
    };
    pages.map(answer).collect()
}

#[test]
fn a_reader_of_many_searches_answers_like_one_of_few() {
    let mut library = many();
    let path = library.workspace.team_memory();
    let open = || Reader::open(&path).expect("read models").expect("some");
    let lasting = open().for_many_searches();
    let is_alike = |when: &str| assert_eq!(answers_of(&lasting), answers_of(&open()), "{when}");
    is_alike("at first");
    is_alike("again");
    for number in 0..40 {
        library.create(&nth(number));
    }
    is_alike("after two more blocks");
    library.committer.rebuild(|_| ()).expect("a rebuild");
    is_alike("after a rebuild");
    let before = answers_of(&lasting);
    let other = Connection::open(&path).expect("the read models");
    // As a rebuild does: other rows, and an index anew.
    let anew = "BEGIN; UPDATE vector_blocks SET vectors = zeroblob(length(vectors)); \
         CREATE INDEX anew ON claims (owner); DROP INDEX anew; COMMIT";
    other.execute_batch(anew).expect("other vectors");
    is_alike("after other rows");
    assert_ne!(answers_of(&lasting), before, "the blocks count");
    let damage = "UPDATE vector_blocks SET vectors = x'00' WHERE first_seq = (SELECT max(first_seq) FROM vector_blocks)";
    other.execute_batch(&format!("{damage}; {anew}")).expect("damage");
    is_alike("with a damaged block");
    is_alike("and again");
}

#[test]
fn a_rebuild_makes_the_same_vectors() {
    let mut library = many();
    let rows = dump(&library.workspace.team_memory());
    library.committer.rebuild(|_| ()).expect("a rebuild");
    assert_eq!(dump(&library.workspace.team_memory()), rows);
}

/// One memory folds each event when it is written. The other has the read models of the first hundred claims, and folds
/// the rest of the same ledger at once. Deprecated claims and successors are among them.
#[test]
fn one_ledger_gives_one_order_whenever_and_in_whatever_batches_it_is_folded() {
    let lines: Vec<Line> = corpus().into_iter().chain((0..150).map(nth)).collect();
    let asked: Vec<String> = questions()
        .into_iter()
        .map(|asked| asked.q)
        .chain((0..20).map(|n| format!("where does worker {n} look")))
        .collect();
    let answers = |library: &Library| -> Vec<String> {
        let modes = [SearchMode::Strict, SearchMode::Balanced, SearchMode::Audit];
        let pages = asked.iter().flat_map(|asked| modes.map(|mode| in_mode(asked, mode)));
        pages.map(|search| serde_json::to_string(&library.search(&search)).expect("JSON")).collect()
    };
    let mut library = Library::empty();
    library.vectors = Vectors::Static;
    let path = library.workspace.team_memory();
    let early = path.with_extension("early");
    for (at, line) in lines.iter().enumerate() {
        library.create(line);
        if at == 100 {
            let models = Connection::open(&path).expect("the read models");
            models.execute("VACUUM INTO ?1", [early.to_str().expect("a path")]).expect("a copy");
        }
    }
    let live = answers(&library);
    assert!(
        live.iter().filter(|page| page.contains("\"score\"")).count() > live.len() / 2,
        "questions are answered"
    );
    let Library { _dir, workspace, committer, ids, names, vectors } = library;
    drop(committer);
    for end in ["-wal", "-shm"] {
        drop(std::fs::remove_file(format!("{}{end}", path.display())));
    }
    std::fs::rename(&early, &path).expect("the early read models");
    let claims = || -> u64 {
        let models = Connection::open(&path).expect("the read models");
        models.query_row("SELECT count(*) FROM claims", [], |row| row.get(0)).expect("a count")
    };
    assert_eq!(claims(), 101);
    let committer = Committer::open(&workspace, Policy::default(), fixed()).expect("a committer");
    assert_eq!(claims(), lines.len() as u64);
    let mut library = Library { _dir, workspace, committer, ids, names, vectors };
    assert_eq!(answers(&library), live);
    library.committer.rebuild(|_| ()).expect("a rebuild");
    assert_eq!(answers(&library), live);
}

fn nth(number: usize) -> Line {
    line(&format!("n{number}"), &format!("worker {number} reads the queue of host {}", number % 7))
}

#[test]
fn vectors_of_another_table_are_made_anew() {
    let library = many();
    let (path, workspace) = (library.workspace.team_memory(), library.workspace.clone());
    let rows = dump(&path);
    let Library { _dir, committer, .. } = library;
    drop(committer);
    let other = Connection::open(&path).expect("the read models");
    other.execute_batch("UPDATE projection SET model = 'another'").expect("another table");
    drop(other);
    assert!(matches!(Reader::open(&path), Err(StoreError::Unmade)));
    drop(Committer::open(&workspace, Policy::default(), fixed()).expect("a committer"));
    assert_eq!(dump(&path), rows);
}

#[test]
fn a_damaged_block_is_left_out() {
    let library = many();
    let other = Connection::open(library.workspace.team_memory()).expect("the read models");
    let first = "(SELECT min(first_seq) FROM vector_blocks)";
    other
        .execute_batch(&format!("UPDATE vector_blocks SET vectors = x'00' WHERE first_seq = {first}"))
        .expect("damage");
    let now = Timestamp::from_ms(1_000_000);
    let (page, left_out) =
        library.reader().snapshot(now, |reader| reader.search(&ask("connection pool"))).expect("an answer");
    assert!(!page.hits.is_empty());
    assert_eq!(left_out.count(), 1);
}
