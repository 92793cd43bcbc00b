//! Models for search: the forward pass against a reference, hostile files, and searches that ask a model.
//!
//! `tests/fixtures/encoder/` holds a small model with random numbers, and what an independent program (numpy, and the
//! tokenizer of Hugging Face) computes with it and with all-MiniLM-L6-v2. To compare with the latter:
//! HM_MINILM_DIR=DIR cargo test --test it -- --ignored models::

use std::path::{Path, PathBuf};

use expect_test::expect;
use hivemind::config::{Config, Source};
use hivemind::domain::claim::SearchMode;
use hivemind::domain::command::Command;
use hivemind::domain::encoder::{BadModel, Encoder};
use hivemind::domain::ranking::Vectors;
use hivemind::meanings;
use hivemind::reads::Reads;
use hivemind::store::{ClaimFilter, Search, SearchPage, Seen};
use hivemind::system;
use hivemind::views;
use hivemind::writer::{Committer, read_claims};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::harness::{TempWorkspace, fact, request};
use crate::shell::Shell;

/// A text and its meaning, as the reference has it.
#[derive(Deserialize)]
struct Expected {
    text: String,
    vector: Vec<f64>,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/encoder")
}

fn encoder(dir: &Path) -> Encoder {
    let read = |file: &str| std::fs::read(dir.join(file)).expect("a file of the model");
    let vocabulary = String::from_utf8(read("vocab.txt")).expect("a vocabulary");
    Encoder::new(&read("config.json"), &vocabulary, &read("model.safetensors")).expect("a model")
}

fn is_as_expected(encoder: &Encoder, expected: &str) {
    let mut count = 0;
    for line in expected.lines() {
        let Expected { text, vector } = serde_json::from_str(line).expect("a line of the reference");
        let found: Vec<f64> = encoder.numbers(&text).into_iter().map(f64::from).collect();
        assert_eq!(found.len(), vector.len());
        let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
        let cosine = dot(&found, &vector) / (dot(&found, &found) * dot(&vector, &vector)).sqrt();
        assert!(cosine > 0.999_9, "{cosine}: {text}");
        count += 1;
    }
    assert_eq!(count, 20);
}

#[test]
fn a_small_model_computes_what_the_reference_computes() {
    is_as_expected(&encoder(&fixtures()), include_str!("../fixtures/encoder/tiny.jsonl"));
}

#[test]
#[ignore = "needs HM_MINILM_DIR, a directory with all-MiniLM-L6-v2"]
fn minilm_computes_what_the_reference_computes() {
    let dir = crate::harness::switch("HM_MINILM_DIR").expect("HM_MINILM_DIR");
    is_as_expected(&encoder(Path::new(&dir)), include_str!("../fixtures/encoder/minilm.jsonl"));
}

/// The bytes are those of every build and every machine.
#[test]
fn a_meaning_is_the_same_bytes_everywhere() {
    let (encoder, mut hash) = (encoder(&fixtures()), Sha256::new());
    for line in include_str!("../fixtures/encoder/tiny.jsonl").lines() {
        let Expected { text, .. } = serde_json::from_str(line).expect("a line of the reference");
        let bits: Vec<u8> = encoder.numbers(&text).into_iter().flat_map(f32::to_le_bytes).collect();
        hash.update(bits);
        let meaning: Vec<u8> = encoder.meaning(&text).bytes().collect();
        hash.update(meaning);
    }
    expect!["9e4320bff4145172"].assert_eq(&hex::encode(hash.finalize())[..16]);
}

#[test]
fn a_file_that_is_no_model_is_refused() {
    let read = |file: &str| std::fs::read(fixtures().join(file)).expect("a file of the model");
    let (config, vocabulary) = (read("config.json"), String::from_utf8(read("vocab.txt")).expect("text"));
    let tensors = read("model.safetensors");
    let refused = |config: &[u8], vocabulary: &str, tensors: &[u8]| {
        Encoder::new(config, vocabulary, tensors).expect_err("it is no model")
    };
    for length in [0, 7, 8, 9, 100, tensors.len() - 1] {
        refused(&config, &vocabulary, &tensors[..length]);
    }
    let header = |header: &str| {
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(header.as_bytes());
        refused(&config, &vocabulary, &file)
    };
    assert_eq!(refused(&config, &vocabulary, &[0xff; 64]), BadModel::Header);
    assert_eq!(header("[]"), BadModel::Header);
    for offsets in ["[0,18446744073709551615]", "[9,3]", "[18446744073709551614,18446744073709551615]"] {
        let name = "embeddings.token_type_embeddings.weight";
        let told = header(&format!(r#"{{"{name}":{{"dtype":"F32","data_offsets":{offsets}}}}}"#));
        assert!(matches!(told, BadModel::Tensor { .. }), "{told}");
    }
    assert_eq!(refused(&config, "[CLS]\n[SEP]\n", &tensors), BadModel::Vocabulary("[UNK]"));
    for sizes in [
        r#"{"hidden_size":0,"intermediate_size":1,"num_attention_heads":1,"num_hidden_layers":1,"layer_norm_eps":1,"hidden_act":"gelu"}"#,
        r#"{"hidden_size":24,"intermediate_size":40,"num_attention_heads":5,"num_hidden_layers":2,"layer_norm_eps":1,"hidden_act":"gelu"}"#,
        r#"{"hidden_size":24,"intermediate_size":40,"num_attention_heads":3,"num_hidden_layers":2,"layer_norm_eps":1,"hidden_act":"relu"}"#,
    ] {
        assert!(matches!(refused(sizes.as_bytes(), &vocabulary, &tensors), BadModel::Config(_)));
    }
    let more = vocabulary.clone() + &"x\n".repeat(500);
    let told = refused(&config, &more, &tensors);
    assert_eq!(told, BadModel::Table("embeddings.word_embeddings.weight"));
}

/// A workspace whose claims a model reads.
struct Team {
    workspace: TempWorkspace,
    committer: Committer,
    config: Config,
}

impl Team {
    fn of(source: Source) -> Self {
        let workspace = TempWorkspace::new();
        let committer = workspace.committer(16);
        let config = Config { vectors: Vectors::Static, model: Some(source), ..Config::defaults() };
        Self { workspace, committer, config }
    }

    fn claim(&mut self, statement: &str) {
        let made = self
            .committer
            .commit(&[request("devops", Command::CreateClaim(fact(statement)))])
            .expect("a commit");
        assert!(made[0].is_ok(), "{made:?}");
    }

    fn search(&self, query: &str) -> SearchPage {
        let search = Search {
            query: query.to_owned(),
            mode: SearchMode::Balanced,
            filter: ClaimFilter { limit: 10, ..ClaimFilter::default() },
            seen: Seen::default(),
            explain: true,
        };
        let mut reads = Reads::of(self.workspace.clone());
        views::search((&mut reads, &self.config), &search, None, system::now()).expect("an answer").page
    }

    /// The cosine of the best answer.
    fn cosine(&self, query: &str) -> Option<f64> {
        self.search(query).hits.first()?.why.as_ref()?.cosine
    }
}

#[test]
fn a_search_asks_an_allowed_model_about_the_claims_that_it_read() {
    let mut team = Team::of(Source::Directory(fixtures()));
    let source = team.config.model.clone().expect("a model");
    std::fs::write(team.workspace.config(), format!("[search]\nvectors = \"{source}\"\n")).expect("written");
    team.claim("the pool holds 20 connections");
    let by_table = team.cosine("connections pool").expect("a cosine");
    let untrusted = team.search("connections pool").note.expect("a note");
    assert!(untrusted.contains("nobody allowed") && untrusted.contains("hm trust --vectors"), "{untrusted}");
    assert!(read_claims(&mut team.committer).is_err(), "nobody allowed the model");

    team.workspace.allow_model(Some(&source), false).expect("allowed");
    let waiting = team.search("connections pool");
    assert!(waiting.note.expect("a note").contains("has not read 1 claim"));
    assert_eq!(team.cosine("connections pool"), Some(by_table), "the table stands in");
    assert_eq!(read_claims(&mut team.committer).expect("read"), 1);
    assert_eq!(team.search("connections pool").note, None);
    let by_model = team.cosine("connections pool").expect("a cosine");
    assert!((by_model - by_table).abs() > 0.001, "{by_model} {by_table}");
    // The same text has the same meaning. Some numbers of so narrow a model do not fit into a byte.
    assert!(team.cosine("the pool holds 20 connections") > Some(0.9));

    // More claims than fit a block, each read once.
    for number in 0..200 {
        team.claim(&format!("the cafe holds {number} pools"));
    }
    assert_eq!(read_claims(&mut team.committer).expect("read"), 200);
    assert_eq!(read_claims(&mut team.committer).expect("read"), 0);
    for text in ["the pool holds 20 connections", "the cafe holds 3 pools", "the cafe holds 199 pools"] {
        assert!(team.cosine(text) > Some(0.9), "{text}");
    }
    // A rebuild drops what the model read. It reads again.
    team.committer.rebuild(|_| ()).expect("rebuilt");
    assert_eq!(team.cosine("connections pool"), Some(by_table));
    assert_eq!(read_claims(&mut team.committer).expect("read"), 201);
}

/// One memory's model reads each claim alone, the other's reads all at once.
#[test]
fn what_a_model_reads_in_any_batches_gives_the_same_order() {
    let teams = [true, false].map(|reads_each| {
        let mut team = Team::of(Source::Directory(fixtures()));
        let source = team.config.model.clone().expect("a model");
        std::fs::write(team.workspace.config(), format!("[search]\nvectors = \"{source}\"\n"))
            .expect("written");
        team.workspace.allow_model(Some(&source), false).expect("allowed");
        for number in 0..140 {
            team.claim(&format!("the pool {} holds {number} connections", number % 9));
            if reads_each {
                assert_eq!(read_claims(&mut team.committer).expect("read"), 1);
            }
        }
        read_claims(&mut team.committer).expect("read");
        team
    });
    for query in ["connections pool", "the cafe holds 3 pools", "pool 4", "what holds 77"] {
        let [one, other] = teams.each_ref().map(|team| {
            let page = team.search(query);
            assert_eq!(page.note, None);
            let shown = |hit: &hivemind::store::Hit| (hit.claim.statement.to_string(), hit.score);
            page.hits.iter().map(shown).collect::<Vec<_>>()
        });
        assert!(!one.is_empty() && one == other, "{query}: {one:?} {other:?}");
    }
}

#[test]
fn another_model_reads_all_claims_again() {
    let dir = tempfile::tempdir().expect("a directory");
    for file in ["config.json", "vocab.txt", "model.safetensors"] {
        std::fs::copy(fixtures().join(file), dir.path().join(file)).expect("copied");
    }
    let mut team = Team::of(Source::Directory(dir.path().to_owned()));
    let source = team.config.model.clone().expect("a model");
    std::fs::write(team.workspace.config(), format!("[search]\nvectors = \"{source}\"\n")).expect("written");
    team.claim("the pool holds 20 connections");
    team.workspace.allow_model(Some(&source), false).expect("allowed");
    assert_eq!(read_claims(&mut team.committer).expect("read"), 1);
    let config = std::fs::read_to_string(dir.path().join("config.json")).expect("a configuration");
    std::fs::write(dir.path().join("config.json"), config.replace("1e-12", "0.5")).expect("written");
    assert!(team.search("pool").note.expect("a note").contains("has not read 1 claim"));
    assert_eq!(read_claims(&mut team.committer).expect("read"), 1);
    assert_eq!(team.search("pool").note, None);

    // A model that is gone: the table stands in, and the answer says so.
    std::fs::remove_file(dir.path().join("vocab.txt")).expect("removed");
    let gone = team.search("pool");
    assert_eq!(gone.hits.len(), 1);
    assert!(gone.note.expect("a note").contains("vocab.txt"));
    assert!(meanings::model(&team.workspace, &team.config).is_err());
}

#[test]
fn a_person_allows_the_model_that_config_names() {
    let mut shell = Shell::new();
    let config = shell.workspace().config();
    std::fs::write(&config, format!("[search]\nvectors = \"minilm:{}\"\n", fixtures().display()))
        .expect("a configuration");
    assert!(shell.run("hm --agent devops claim create pools --scope src").status.success());
    let told = |line: &str, shell: &mut Shell| {
        let output = shell.run(line);
        let text =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        // A line ends where the path of the model leaves no room for the next word.
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let key = told("hm trust --vectors --key --operator-override test", &mut shell);
    assert!(key.contains("--key is for an endpoint, and [search] vectors names minilm:"), "{key}");
    assert!(told("hm claim search pools", &mut shell).contains("nobody allowed minilm:"));
    assert!(told("hm doctor", &mut shell).contains("nobody allowed minilm:"));
    assert!(!shell.run("hm trust --vectors").status.success(), "no human is here");
    assert!(told("hm claim search pools", &mut shell).contains("nobody allowed minilm:"));
    let allowed = told("hm trust --vectors --operator-override test", &mut shell);
    assert!(allowed.contains("nothing leaves this machine"), "{allowed}");
    assert!(!told("hm claim search pools", &mut shell).contains("nobody"));
    assert!(told("hm doctor", &mut shell).contains("answers as minilm-"));
    // Another text in the file needs another permission.
    std::fs::write(&config, "[search]\nvectors = \"minilm:/nowhere\"\n").expect("a configuration");
    let told = told("hm --json claim search pools", &mut shell);
    assert!(told.contains("nobody allowed minilm:/nowhere") && told.contains("\"note\""), "{told}");
}
