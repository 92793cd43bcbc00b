//! How often a search finds what was asked for.

use hivemind::domain::claim::ClaimType;
use hivemind::domain::ranking::Vectors;
use rusqlite::Connection;

use super::{Library, Line, ask, corpus, questions};
use crate::harness::Dice;

/// Found among the first ten, and one over the rank of the first that is right; means over the questions.
fn quality(answers: &[(Vec<&str>, &[String])]) -> (f64, f64) {
    let (mut recall, mut rank) = (0.0, 0.0);
    for (found, right) in answers {
        let hits = right.iter().filter(|key| found.iter().take(10).any(|found| found == key)).count();
        recall += hits as f64 / right.len() as f64;
        let first = found.iter().take(10).position(|found| right.iter().any(|key| key == found));
        rank += first.map_or(0.0, |at| 1.0 / (at + 1) as f64);
    }
    (recall / answers.len() as f64, rank / answers.len() as f64)
}

/// FTS5 as anybody would set it up: Porter stems, the words of the question joined by OR.
fn plain_bm25(corpus: &[Line], query: &str) -> Vec<String> {
    let db = Connection::open_in_memory().expect("a database");
    db.execute_batch("CREATE VIRTUAL TABLE f USING fts5(k UNINDEXED, t, tokenize = 'porter unicode61')")
        .expect("an index");
    for line in corpus {
        db.execute("INSERT INTO f (k, t) VALUES (?1, ?2)", [&line.key, &line.statement]).expect("a row");
    }
    let words: Vec<String> = query
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(|word| format!("\"{word}\""))
        .collect();
    db.prepare("SELECT k FROM f WHERE f MATCH ?1 ORDER BY rank, rowid LIMIT 10")
        .and_then(|mut rows| rows.query_map([words.join(" OR ")], |row| row.get(0))?.collect())
        .expect("an answer")
}

#[test]
fn quality_is_above_plain_bm25() {
    let mut library = Library::of(&corpus());
    for vectors in [Vectors::Off, Vectors::Static] {
        library.vectors = vectors;
        check_quality(&library, &corpus());
    }
}

fn check_quality(library: &Library, corpus: &[Line]) {
    let questions = questions();
    let ours: Vec<(Vec<&str>, &[String])> =
        questions.iter().map(|asked| (library.found(&ask(&asked.q)), &asked.finds[..])).collect();
    let plain: Vec<Vec<String>> = questions.iter().map(|asked| plain_bm25(corpus, &asked.q)).collect();
    let plain: Vec<(Vec<&str>, &[String])> = plain
        .iter()
        .zip(&questions)
        .map(|(found, asked)| (found.iter().map(String::as_str).collect(), &asked.finds[..]))
        .collect();
    let ((recall, rank), (plain_recall, plain_rank)) = (quality(&ours), quality(&plain));
    eprintln!(
        "{:?}: recall@10 {recall:.3} (plain {plain_recall:.3}), MRR {rank:.3} (plain {plain_rank:.3})",
        library.vectors
    );
    for (asked, (found, _)) in questions
        .iter()
        .zip(&ours)
        .filter(|(asked, (found, _))| found.first() != asked.finds.first().map(String::as_str).as_ref())
    {
        eprintln!("not first: {:?} wants {:?}, got {:?}", asked.q, asked.finds, &found[..found.len().min(3)]);
    }
    // The quality that search promises.
    assert!(recall >= 0.72 && recall >= 1.05 * plain_recall);
    assert!(rank >= 0.58 && rank >= 1.05 * plain_rank);
}

#[test]
fn identifiers_are_found_in_every_convention() {
    const WORDS: [&str; 24] = [
        "order", "queue", "retry", "token", "cache", "batch", "index", "merge", "parse", "event", "claim",
        "scope", "ledger", "writer", "reader", "handler", "limit", "backoff", "session", "socket", "buffer",
        "window", "policy", "budget",
    ];
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    let conventions: [fn(&[String]) -> String; 4] = [
        |words| words.join("_"),
        |words| words.join("-"),
        |words| words.concat(),
        |words| words.join("_").to_uppercase(),
    ];
    let written = |words: &[&str], convention: usize| {
        let plain: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let camel: Vec<String> = words.iter().map(|word| capital(word)).collect();
        conventions[convention](if convention == 2 { &camel } else { &plain })
    };
    let mut dice = Dice::new(12);
    let mut names: Vec<Vec<&str>> = Vec::new();
    while names.len() < 300 {
        let mut words: Vec<&str> = Vec::new();
        while words.len() < 2 + names.len() % 3 {
            let word = WORDS[dice.below(WORDS.len())];
            if !words.contains(&word) {
                words.push(word);
            }
        }
        if !names.contains(&words) {
            names.push(words);
        }
    }
    let lines: Vec<Line> = names
        .iter()
        .enumerate()
        .map(|(index, words)| Line {
            key: index.to_string(),
            statement: format!(
                "{} is called before the {} is",
                written(words, index % 4),
                WORDS[dice.below(24)]
            ),
            scopes: vec!["src".to_owned()],
            claim_type: ClaimType::Fact,
            owner: "devops".to_owned(),
            session: format!("s{index}"),
            supersedes: None,
            deprecated: false,
        })
        .collect();
    let mut library = Library::of(&lines);
    for vectors in [Vectors::Off, Vectors::Static] {
        library.vectors = vectors;
        let found = |query: &str, index: usize| library.found(&ask(query)).contains(&&*index.to_string());
        let share = |asked: &dyn Fn(usize) -> String| {
            (0..names.len()).filter(|index| found(&asked(*index), *index)).count() as f64 / names.len() as f64
        };
        let exact = share(&|index| written(&names[index], index % 4));
        let across = share(&|index| written(&names[index], (index + 1 + index / 4 % 3) % 4));
        let by_words = share(&|index| names[index].join(" "));
        eprintln!(
            "{vectors:?}, identifiers: exact {exact:.3}, across conventions {across:.3}, by words {by_words:.3}"
        );
        assert!(exact >= 0.99 && across >= 0.99 && by_words >= 0.95, "{exact} {across} {by_words}");
    }
}
