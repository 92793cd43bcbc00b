//! Rules that the writer keeps whatever the way in: proposals, duplicates, links that come again, hints that help.

use hivemind::domain::claim::{ClaimType, Position, Relation};
use hivemind::domain::command::{
    AddEvidence, AffirmClaim, Command, CreateClaim, DeprecateClaim, KeepClaim, RecordDecision,
    RetractEvidence, Submission,
};
use hivemind::domain::ids::ClaimId;
use hivemind::domain::receipt::Receipt;
use hivemind::domain::rejection::{Code, Rejection};
use hivemind::domain::scope::Scope;
use hivemind::domain::versions::Content;
use hivemind::store::Reader;
use hivemind::system;
use hivemind::writer::Committer;

use crate::harness::{TempWorkspace, claim_of, fact, folded, position, request};

pub(crate) fn hands_in(committer: &mut Committer, submission: Submission) -> Result<Receipt, Rejection> {
    committer.commit(&[submission]).expect("a ledger").remove(0)
}

fn claims(committer: &mut Committer, by: &str, create: CreateClaim) -> ClaimId {
    let made = request(by, Command::CreateClaim(create));
    hands_in(committer, made.clone()).expect("a claim");
    claim_of(&made)
}

pub(crate) fn decides(statement: &str, target: &str, supersedes: Vec<ClaimId>) -> RecordDecision {
    RecordDecision {
        mends: false,
        evidence_refs: Vec::new(),
        decided_at: None,
        claim_id: ClaimId::from_uuid(system::new_id()),
        statement: Some(statement.parse().expect("a statement")),
        rationale: "it is the smaller one of the two".parse().expect("a rationale"),
        context: None,
        target: Some(Scope::target(target).expect("a target")),
        scopes: Vec::new(),
        alternatives: Vec::new(),
        supersedes,
        asks: Vec::new(),
        unless_objection_minutes: None,
    }
}

/// Red before: the rules forgot the proposal, and the read models did not.
#[test]
fn a_claim_affirmed_by_the_operator_keeps_what_was_proposed_against_it() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let log: Scope = "log.txt".parse().expect("a scope");
    let create = CreateClaim { scopes: vec![log.clone()], ..fact("the log stays") };
    let claim_id = claims(&mut committer, "operator", create);
    hands_in(&mut committer, position("analyst", claim_id, Position::Challenge)).expect("a proposal");
    let still = AffirmClaim { claim_id, reason: None };
    let versions = [(log, Content::Absent)].into();
    let still = Submission { versions, ..request("operator", Command::AffirmClaim(still)) };
    hands_in(&mut committer, still).expect("it is affirmed");
    let reader = Reader::open(&workspace.team_memory()).expect("read models").expect("a memory");
    let shown = reader.proposals(9).expect("an answer").len();
    assert_eq!((committer.state().proposals(claim_id).count(), shown), (1, 1));
    let keep = KeepClaim { claim_id, reason: None };
    hands_in(&mut committer, request("operator", Command::KeepClaim(keep))).expect("it is dismissed");
    assert_eq!(folded(&workspace.events()), *committer.state());
}

/// Red before: a link that was taken back and made again contradicted nothing any more.
#[test]
fn a_link_that_is_made_again_contradicts_again() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let claim_id = claims(&mut committer, "devops", fact("the pool holds 20"));
    let other = claims(&mut committer, "analyst", fact("vendoring is slow"));
    let evidence_ref = other.creation_event();
    let link = || {
        let (relation, weight) = (Relation::Contradicts, hivemind::domain::claim::Share::FULL);
        let add = AddEvidence { claim_id, evidence_ref: evidence_ref.into(), relation, weight, note: None };
        request("reviewer", Command::AddEvidence(add))
    };
    let open = |committer: &Committer| committer.state().contradictions_of(claim_id).count();
    hands_in(&mut committer, link()).expect("a link");
    assert_eq!(open(&committer), 1);
    let reason = "the wrong one".parse().expect("a reason");
    let retract = RetractEvidence { claim_id, evidence_ref: evidence_ref.into(), relation: None, reason };
    hands_in(&mut committer, request("reviewer", Command::RetractEvidence(retract))).expect("no link");
    assert_eq!(open(&committer), 0);
    hands_in(&mut committer, link()).expect("a link");
    assert_eq!(open(&committer), 1);
    assert_eq!(folded(&workspace.events()), *committer.state());
}

/// Red before: the operator found the same proposal as often as the agent recorded it.
#[test]
fn a_decision_is_proposed_to_the_operator_once() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let decided = decides("we keep SQLite", "database", Vec::new());
    let old = decided.claim_id;
    hands_in(&mut committer, request("operator", Command::RecordDecision(decided))).expect("a decision");
    let mut propose = |by: &str, statement: &str| {
        let record = decides(statement, "database", vec![old]);
        hands_in(&mut committer, request(by, Command::RecordDecision(record)))
    };
    propose("analyst", "we take Postgres").expect("a proposal");
    let refused = propose("analyst", "we take Postgres").expect_err("it is proposed already");
    assert_eq!(refused.code, Code::Duplicate, "{refused}");
    propose("analyst", "we take DuckDB").expect("another proposal");
    propose("devops", "we take Postgres").expect("another agent's");
}

/// Red before: both hints named verbs that refuse a decision.
#[test]
fn a_hint_about_a_decision_names_what_works() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let decided = decides("we keep SQLite", "database", Vec::new());
    let claim_id = decided.claim_id;
    hands_in(&mut committer, request("devops", Command::RecordDecision(decided))).expect("a decision");
    let own = hands_in(&mut committer, position("devops", claim_id, Position::Challenge));
    let own = own.expect_err("an own claim");
    assert_eq!(own.code, Code::OwnClaim);
    let anew = format!("\"supersedes\":[\"{claim_id}\"],\"target\":\"database\"");
    assert!(own.hint.starts_with("decide anew: `record_decision {") && own.hint.contains(&anew), "{own}");
    let reason = "it is slow".parse().expect("a reason");
    let end = DeprecateClaim { claim_id, reason };
    let other = hands_in(&mut committer, request("analyst", Command::DeprecateClaim(end)));
    let other = other.expect_err("another agent's claim");
    assert_eq!(other.code, Code::NotAllowed);
    assert!(other.hint.starts_with("`challenge {") && !other.hint.contains("record_decision"), "{other}");
    assert!(other.hint.ends_with("or ask devops or the architect to end it"), "{other}");
    // Red before: an agent that may not replace the decision was told to.
    let second = decides("we take Postgres", "database", Vec::new());
    let refused = hands_in(&mut committer, request("analyst", Command::RecordDecision(second.clone())));
    let refused = refused.expect_err("one decision for each target");
    assert_eq!(refused.code, Code::TargetConflict);
    assert!(refused.hint.contains("`challenge {") && !refused.hint.contains("record_decision"), "{refused}");
    let refused = hands_in(&mut committer, request("devops", Command::RecordDecision(second)));
    let refused = refused.expect_err("one decision for each target");
    assert!(refused.hint.contains("`record_decision {") && refused.hint.contains(&anew), "{refused}");
}

/// Red before: a fact could not be recorded where a dead end of the same words stood (the type counts).
#[test]
fn a_dead_end_and_a_fact_of_the_same_words_are_two_claims() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let dead_end = CreateClaim { claim_type: ClaimType::Negative, ..fact("vendoring is slow") };
    claims(&mut committer, "devops", dead_end.clone());
    claims(&mut committer, "devops", fact("vendoring is slow"));
    let again = CreateClaim { claim_id: ClaimId::from_uuid(system::new_id()), ..dead_end };
    let refused = hands_in(&mut committer, request("analyst", Command::CreateClaim(again)));
    assert_eq!(refused.expect_err("a duplicate").code, Code::DuplicateClaim);
    assert_eq!(folded(&workspace.events()), *committer.state());
}
