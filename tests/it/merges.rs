//! Merge proposals: claims that say the same are proposed, and nothing merges itself.

use std::cell::Cell;
use std::collections::BTreeSet;

use hivemind::domain::claim::{ClaimType, Position, Relation, Share, Status};
use hivemind::domain::command::{AcceptMerge, AddEvidence, Command, DeclineMerge, Submission};
use hivemind::domain::decide::Policy;
use hivemind::domain::event::Event;
use hivemind::domain::ids::ClaimId;
use hivemind::domain::memory::MemoryEvent;
use hivemind::domain::merge::{Stated, twins};
use hivemind::domain::pairs::{Reading, is_paraphrase};
use hivemind::domain::policy::{Length, MemoryPolicy, Retention, Term};
use hivemind::domain::rejection::Code;
use hivemind::writer::{Committer, Miner, propose};
use serde_json::Value;
use uuid::Uuid;

use crate::bench::Bench;
use crate::harness::{TempWorkspace, body, claim_of, creation, fixed_sources, position, request};

/// Records claims of one agent, and returns their ids.
fn state(committer: &mut Committer, by: &str, statements: &[String]) -> Vec<ClaimId> {
    let requests: Vec<Submission> = statements.iter().map(|said| creation(by, said)).collect();
    for group in requests.chunks(100) {
        for outcome in committer.commit(group).expect("a group") {
            outcome.expect("accepted");
        }
    }
    requests.iter().map(claim_of).collect()
}

fn outcome(committer: &mut Committer, by: &str, command: Command) -> Result<(), Code> {
    let outcome = committer.commit(&[request(by, command)]).expect("a group").remove(0);
    outcome.map(|_| ()).map_err(|refused| refused.code)
}

fn does(committer: &mut Committer, submission: Submission) {
    committer.commit(&[submission]).expect("a group").remove(0).expect("accepted");
}

/// Statements that differ in a name, a number, a negation, a unit or a direction: 120 pairs of each.
fn near_twins() -> Vec<String> {
    let greek = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda",
        "mu", "nu", "xi", "omicron", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
    ];
    let parts = ["reader", "writer", "loader", "parser", "mailer"];
    let names: Vec<String> =
        greek.iter().flat_map(|name| parts.iter().map(move |part| format!("{name} {part}"))).collect();
    let mut all = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let other = &names[(at + 5) % names.len()];
        let port = 8_000 + at;
        all.extend([
            format!("service {name} uses port {port}"),
            format!("service {other} uses port {}", port + 1),
            format!("the {name} pool holds {} connections", 20 + at),
            format!("the {name} pool holds {} connections", 21 + at),
            format!("the {name} cache is shared between workers"),
            format!("the {name} cache is not shared between workers"),
            format!("the {name} timeout is {} seconds", 5 + at),
            format!("the {name} timeout is {} minutes", 5 + at),
            format!("data flows from the {name} to the ledger index"),
            format!("data flows from the ledger index to the {name}"),
        ]);
    }
    all
}

#[test]
fn twelve_hundred_near_twins_give_no_proposal_and_no_supersession() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(7);
    let statements = near_twins();
    assert_eq!(statements.len(), 1_200);
    state(&mut committer, "devops", &statements);
    assert_eq!(propose(&mut committer, Miner::Merges).expect("mined"), 0, "no proposal");
    let superseded = committer.state().claims().filter(|(_, claim)| claim.superseded_by.is_some()).count();
    assert_eq!(superseded, 0, "no supersession");
    // The same memory does propose a paraphrase.
    state(&mut committer, "analyst", &["The service alpha reader uses the port 8000.".to_owned()]);
    assert_eq!(propose(&mut committer, Miner::Merges).expect("mined"), 1, "a paraphrase is proposed");
    let superseded = committer.state().claims().filter(|(_, claim)| claim.superseded_by.is_some()).count();
    assert_eq!(superseded, 0, "a proposal supersedes nothing");
}

/// A writer that is asked to end does not wait for the comparison of a large memory.
#[test]
fn a_search_for_twins_ends_where_it_is_stopped() {
    let stated = |number: u128, statement: &str| Stated {
        id: ClaimId::from_uuid(Uuid::from_u128(number)),
        claim_type: ClaimType::Fact,
        statement: statement.to_owned(),
        scopes: vec!["src".parse().expect("a scope")],
        is_known: false,
    };
    let claims = [stated(1, "the reader uses port 8000"), stated(2, "The reader uses the port 8000.")];
    assert_eq!(twins(&claims, || false), Some(vec![(claims[0].id, claims[1].id)]));
    let asked = Cell::new(0);
    let stops = || {
        asked.set(asked.get() + 1);
        asked.get() == 2
    };
    assert_eq!(twins(&claims, stops), None, "asked before each claim");
}

#[test]
fn labelled_pairs_that_differ_are_no_paraphrases() {
    let corpora = [
        include_str!("../corpora/contradictions.jsonl"),
        include_str!("../corpora/fresh_contradictions.jsonl"),
    ];
    let (mut same, mut found, mut opposites, mut others) = (0, 0, 0, 0);
    for line in corpora.iter().flat_map(|corpus| corpus.lines()) {
        let pair: Value = serde_json::from_str(line).expect("a line of the corpus");
        let text = |side: &str| pair[side].as_str().expect("a statement").to_owned();
        let is_found = is_paraphrase(&Reading::of(&text("a")), &Reading::of(&text("b")));
        match pair["label"].as_str().expect("a label") {
            "duplicate" => {
                same += 1;
                found += u32::from(is_found);
            }
            "none" => others += u32::from(is_found),
            _ => opposites += u32::from(is_found),
        }
        if is_found && pair["label"] != "duplicate" {
            eprintln!("{}: {} | {}", pair["label"], text("a"), text("b"));
        }
    }
    eprintln!("recall {found} of {same} duplicates; {others} unlabelled, {opposites} opposites");
    assert_eq!(opposites, 0);
    // The labels call a value in another unit no contradiction, and it is the same.
    assert_eq!(others, 4);
}

const TWINS: [&str; 2] = ["The pool holds at most 20 connections.", "The pool has at most 20 connections."];

/// Red before: each pair was proposed.
#[test]
fn what_a_negation_denies_is_not_taken_for_the_same() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(7);
    for (one, other) in [
        (
            "users who are not admins can read the audit log",
            "users who are admins can not read the audit log",
        ),
        ("not all tests need the database", "all tests need not the database"),
        (
            "with admin rights a reset runs without approval",
            "without admin rights a reset runs with approval",
        ),
    ] {
        state(&mut committer, "devops", &[one.to_owned()]);
        state(&mut committer, "analyst", &[other.to_owned()]);
        assert_eq!(propose(&mut committer, Miner::Merges).expect("mined"), 0, "{one} | {other}");
    }
}

#[test]
fn an_accepted_merge_supersedes_one_claim_and_asks_its_supporters() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(7);
    let older = state(&mut committer, "devops", &[TWINS[0].to_owned()])[0];
    let newer = state(&mut committer, "analyst", &[TWINS[1].to_owned()])[0];
    does(&mut committer, position("frontend", newer, Position::Support));
    assert_eq!(propose(&mut committer, Miner::Merges).expect("mined"), 1);
    assert_eq!(propose(&mut committer, Miner::Merges).expect("mined"), 0, "once");
    let accept = || Command::AcceptMerge(AcceptMerge { claim_id: older, other: newer });
    assert_eq!(outcome(&mut committer, "system", accept()), Err(Code::NotAllowed), "nothing merges itself");
    assert_eq!(outcome(&mut committer, "frontend", accept()), Err(Code::NotAllowed), "nor a third agent");
    outcome(&mut committer, "devops", accept()).expect("the owner of the claim that goes");
    let claims = committer.state();
    let (kept, merged) = (claims.claim(newer).expect("kept"), claims.claim(older).expect("merged"));
    assert_eq!((kept.status, merged.status), (Status::Confirmed, Status::Deprecated), "more support stays");
    assert_eq!(merged.superseded_by, Some(newer));
    assert!(kept.evidence.iter().any(|(event, _)| event.as_claim() == older), "its reasons are linked");
    let supports: BTreeSet<String> = kept.positions.keys().map(ToString::to_string).collect();
    assert_eq!(supports, BTreeSet::from(["frontend".to_owned()]), "no support counts for another text");
    assert_eq!(outcome(&mut committer, "architect", accept()), Err(Code::InvalidTransition), "once");
}

#[test]
fn equal_support_keeps_the_older_and_its_reader_is_asked() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(7);
    let older = state(&mut committer, "devops", &[TWINS[0].to_owned()])[0];
    let newer = state(&mut committer, "analyst", &[TWINS[1].to_owned()])[0];
    for claim in [older, newer] {
        does(&mut committer, position("frontend", claim, Position::Support));
    }
    does(&mut committer, position("reviewer", newer, Position::Support));
    does(&mut committer, position("reviewer", newer, Position::Abstain));
    propose(&mut committer, Miner::Merges).expect("mined");
    let accept = Command::AcceptMerge(AcceptMerge { claim_id: newer, other: older });
    outcome(&mut committer, "architect", accept).expect("accepted");
    let events = workspace.events();
    let asked = events.iter().rev().find_map(|stored| {
        let Event::ClaimSuperseded(link) = body(stored) else { return None };
        Some((link.claim_id, link.superseded_by, link.asks))
    });
    let (merged, kept, asks) = asked.expect("a supersession");
    assert_eq!((merged, kept), (newer, older));
    assert_eq!(asks.iter().map(ToString::to_string).collect::<Vec<_>>(), ["analyst"], "its owner alone");
}

/// Red before: the claim that stays got the reasons of the other as support, and attention named its owner as who merged.
#[test]
fn reasons_against_the_merged_claim_support_nothing_and_a_merge_is_told_as_one() {
    let bench = Bench::new();
    let mut committer = Committer::open(bench.workspace(), Policy::default(), fixed_sources(7))
        .expect("a workspace to write in");
    let older = state(&mut committer, "devops", &[TWINS[0].to_owned()])[0];
    let newer = state(&mut committer, "analyst", &[TWINS[1].to_owned()])[0];
    let third = state(&mut committer, "reviewer", &["the parser reads its configuration once".to_owned()])[0];
    let against = AddEvidence {
        claim_id: newer,
        evidence_ref: third.creation_event().into(),
        relation: Relation::Contradicts,
        weight: Share::FULL,
        note: None,
    };
    does(&mut committer, request("reviewer", Command::AddEvidence(against)));
    assert_eq!(propose(&mut committer, Miner::Merges).expect("mined"), 1);
    let accept = Command::AcceptMerge(AcceptMerge { claim_id: newer, other: older });
    outcome(&mut committer, "architect", accept).expect("accepted");
    drop(committer);
    let text = |arguments: &[&str]| {
        let output = bench.hm(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        let text = String::from_utf8(output.stdout).expect("text");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let kept = text(&["claim", "show", "C1"]);
    assert!(kept.contains("event `C2` mentions (asserted, by architect)"), "{kept}");
    let asked = text(&["attention", "--agent", "analyst"]);
    assert!(asked.contains(&format!("C2 was merged into devops's claim: {}", TWINS[0])), "{asked}");
}

#[test]
fn a_declined_pair_is_never_proposed_again() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(7);
    let claims = state(&mut committer, "devops", &TWINS.map(str::to_owned));
    assert_eq!(propose(&mut committer, Miner::Merges).expect("mined"), 1);
    let decline = DeclineMerge {
        claim_id: claims[1],
        other: claims[0],
        reason: "two pools".parse().expect("a reason"),
    };
    // Red before: an agent without a claim in the pair settled it for good.
    let by_another = outcome(&mut committer, "analyst", Command::DeclineMerge(decline.clone()));
    assert_eq!(by_another, Err(Code::NotAllowed));
    outcome(&mut committer, "devops", Command::DeclineMerge(decline)).expect("declined");
    drop(committer);
    let mut committer = workspace.committer(8);
    assert_eq!(propose(&mut committer, Miner::Merges).expect("mined"), 0, "after a restart");
    let accept = Command::AcceptMerge(AcceptMerge { claim_id: claims[0], other: claims[1] });
    assert_eq!(outcome(&mut committer, "devops", accept), Err(Code::InvalidTransition));
    workspace.assert_sound();
}

#[test]
fn a_disputed_pair_and_one_elsewhere_are_not_proposed() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(7);
    let claims = state(&mut committer, "devops", &TWINS.map(str::to_owned));
    let mut challenge = position("analyst", claims[0], Position::Challenge);
    if let Command::TakePosition(take) = &mut challenge.command {
        take.reason = Some("it is 30".parse().expect("a reason"));
    }
    does(&mut committer, challenge);
    let mut elsewhere = creation("devops", TWINS[0]);
    if let Command::CreateClaim(create) = &mut elsewhere.command {
        create.scopes = vec!["tag:other".parse().expect("a scope")];
    }
    does(&mut committer, elsewhere);
    let proposed = propose(&mut committer, Miner::Merges).expect("mined");
    assert_eq!(proposed, 0, "{claims:?}");
}

#[test]
fn attention_and_review_show_both_texts_and_the_command_that_settles_it() {
    let bench = Bench::new();
    for (agent, said) in ["devops", "analyst"].iter().zip(TWINS) {
        let made = bench.hm(&["claim", "create", said, "--scope", "src/db", "--agent", agent]);
        assert!(made.status.success(), "{made:?}");
    }
    bench.kill_writer();
    let mut committer = Committer::open(bench.workspace(), Policy::default(), fixed_sources(7))
        .expect("a workspace to write in");
    assert_eq!(propose(&mut committer, Miner::Merges).expect("mined"), 1);
    drop(committer);
    let text = |arguments: &[&str]| {
        let output = bench.hm(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    for page in [
        text(&["attention", "--agent", "architect"]),
        text(&["attention", "--agent", "analyst"]),
        text(&["review", "--list"]),
    ] {
        for said in TWINS.into_iter().chain(["hm claim merge C1 C2", "hm claim apart C1 C2"]) {
            let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(page.contains(said), "{said}: {page}");
        }
    }
    let of_the_other = text(&["attention", "--agent", "devops"]);
    assert!(of_the_other.contains("hm claim apart C1 C2"), "{of_the_other}");
    assert!(!of_the_other.contains("hm claim merge"), "its claim stays: {of_the_other}");
    text(&["claim", "merge", "C1", "C2", "--agent", "architect"]);
    assert!(!text(&["attention", "--agent", "architect"]).contains("claim merge"));
    assert!(text(&["claim", "show", "C2"]).contains("C1"), "the merged claim names the one that stays");
}

/// Red before: the proposal was an event about both claims, and their terms began anew.
#[test]
fn a_proposal_does_not_start_the_term_of_its_claims_anew() {
    let workspace = TempWorkspace::new();
    let retention = Retention::of([(MemoryEvent::Fact, Term::Decay(Length::Sessions(4)))]);
    let mut committer =
        workspace.committer(7).governed(MemoryPolicy { retention, ..MemoryPolicy::default() });
    let claims = state(&mut committer, "devops", &TWINS.map(str::to_owned));
    for number in [1, 2, 3] {
        does(&mut committer, crate::policy::session(number));
    }
    assert_eq!(propose(&mut committer, Miner::Merges).expect("mined"), 1);
    let memory = rusqlite::Connection::open(workspace.team_memory()).expect("read models");
    let kept: u32 = memory
        .query_row("SELECT count(*) FROM claims WHERE kept_seq = created_seq", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(kept, 2);
    for number in [4, 5] {
        does(&mut committer, crate::policy::session(number));
    }
    assert_eq!(hivemind::writer::forget(&mut committer).expect("a sweep"), 2, "{claims:?}");
    workspace.assert_sound();
}
