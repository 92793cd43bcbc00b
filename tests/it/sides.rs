//! Names right in any history: who owns and who holds each side of what is shown, against a small oracle that reads
//! the raw events and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use hivemind::config::Config;
use hivemind::domain::claim::{ClaimType, ContradictionKind, Position, Status};
use hivemind::domain::command::{
    AddEvidence, Command, CreateClaim, DeprecateClaim, Submission, TakePosition,
};
use hivemind::domain::event::{Event, Side};
use hivemind::domain::ids::ClaimId;
use hivemind::reads::Reads;
use hivemind::store::{Contradiction, ContradictionFilter};
use hivemind::views::View;
use serde_json::Value;

use crate::answers::answer;
use crate::harness::{Dice, TempWorkspace, agent, body, claim_of, fact, request, seed};

/// Histories, and how many of them share a workspace: each has its own scope and words, so that none meets another.
const HISTORIES: usize = 1_000;
const IN_ONE: usize = 20;
/// Commands of a history.
const STEPS: usize = 14;
const AGENTS: [&str; 4] = ["architect", "devops", "analyst", "reviewer"];

/// What the raw events say.
#[derive(Default)]
struct Oracle {
    /// Who made each claim, and what it says.
    owner: BTreeMap<String, (String, String)>,
    positions: BTreeMap<(String, String), Position>,
    /// Open contradictions by the ids of their events: kind, and the sides' claims and holders.
    open: BTreeMap<String, (ContradictionKind, [(String, String); 2])>,
    successor: BTreeMap<String, String>,
    deprecated: BTreeSet<String>,
}

impl Oracle {
    fn of(workspace: &TempWorkspace) -> Self {
        let mut oracle = Self::default();
        for event in workspace.events() {
            let by = event.agent.to_string();
            let event_id = event.id.to_string();
            let event = body(&event);
            if let Event::ClaimCreated(made) = event {
                oracle.owner.insert(made.claim_id.to_string(), (by, made.statement.to_string()));
            } else if let Event::PositionTaken(taken) = event {
                oracle.positions.insert((taken.claim_id.to_string(), by), taken.position);
            } else if let Event::ClaimSuperseded(link) = event {
                oracle.successor.insert(link.claim_id.to_string(), link.superseded_by.to_string());
            } else if let Event::StatusChanged(change) = event {
                if change.to == Status::Deprecated {
                    oracle.deprecated.insert(change.claim_id.to_string());
                }
            } else if let Event::ContradictionDetected(found) = event {
                oracle.open.insert(event_id, (found.kind, [&found.left, &found.right].map(side)));
            } else if let Event::ContradictionResolved(over) = event {
                let sides = [&over.left, &over.right].map(side);
                oracle.open.retain(|_, open| *open != (over.kind, sides.clone()));
            }
        }
        oracle
    }

    fn owner_of(&self, claim: &str) -> &str {
        &self.owner[claim].0
    }

    /// The agents that a contradiction may name as holders of its sides, by its kind and the positions alone.
    fn check(&self, both: &Contradiction) {
        let (kind, sides) = &self.open[&both.id.to_string()];
        assert_eq!(both.kind, *kind);
        for (side, (claim, holder)) in [&both.left, &both.right].into_iter().zip(sides) {
            assert_eq!((&side.claim_id.to_string(), &side.agent), (claim, holder), "{both:?}");
            assert_eq!(side.owner.as_deref(), Some(self.owner_of(claim)), "the owner made it: {both:?}");
            assert_eq!(side.statement.as_deref(), Some(self.owner[claim].1.as_str()));
        }
        let held = |claim: &str, by: &str| self.positions.get(&(claim.to_owned(), by.to_owned())).copied();
        let [(left, left_agent), (right, right_agent)] = sides;
        match kind {
            ContradictionKind::Position => {
                assert_eq!((left, left_agent.as_str()), (right, self.owner_of(left)));
                assert_eq!(held(right, right_agent), Some(Position::Challenge), "{both:?}");
            }
            ContradictionKind::Supersession => {
                assert_eq!(held(left, left_agent), Some(Position::Support), "{both:?}");
                assert_ne!(self.owner_of(left), self.owner_of(right), "no quarrel over an own successor");
                assert_eq!(self.successor.get(left), Some(right));
                assert_eq!(right_agent, self.owner_of(right));
            }
            ContradictionKind::Polarity
            | ContradictionKind::Value
            | ContradictionKind::Target
            | ContradictionKind::Explicit => {
                assert_eq!(left_agent, self.owner_of(left));
                assert_eq!(right_agent, self.owner_of(right));
            }
        }
        assert_eq!(both.is_own, left_agent == right_agent, "{both:?}");
    }

    /// Whose move each open contradiction is.
    fn movers(&self, id: &str) -> BTreeSet<String> {
        let (kind, [(left, left_agent), (right, _)]) = &self.open[id];
        match kind {
            ContradictionKind::Position => [self.owner_of(left).to_owned()].into(),
            ContradictionKind::Supersession => [left_agent.clone()].into(),
            ContradictionKind::Polarity
            | ContradictionKind::Value
            | ContradictionKind::Target
            | ContradictionKind::Explicit => {
                [left, right].map(|claim| self.owner_of(claim).to_owned()).into()
            }
        }
    }
}

fn side(side: &Side) -> (String, String) {
    (side.claim_id.to_string(), side.agent.to_string())
}

/// One command of a history; what is refused changes nothing.
fn step(dice: &mut Dice, history: usize, claims: &mut Vec<ClaimId>) -> Submission {
    let by = *dice.pick(&AGENTS);
    let known = (!claims.is_empty()).then(|| *dice.pick(claims));
    let what = dice.below(10);
    let Some(claim_id) = known.filter(|_| what > 3) else {
        let pool = format!("pool{history}");
        let value = dice.below(40);
        let statement = match dice.below(4) {
            0 => format!("the {pool} does not give connections back"),
            1 => format!("the {pool} gives connections back"),
            _ => format!("the {pool} size is {value}"),
        };
        let create = CreateClaim {
            scopes: vec![format!("src/{pool}").parse().expect("a scope")],
            claim_type: *dice.pick(&[ClaimType::Fact, ClaimType::Fact, ClaimType::Negative]),
            supersedes: known.filter(|_| dice.below(2) == 0),
            ..fact(&statement)
        };
        let made = request(by, Command::CreateClaim(create));
        claims.push(claim_of(&made));
        return made;
    };
    let reason = || Some("seen otherwise".parse().expect("a reason"));
    let command = match what {
        4..=8 => Command::TakePosition(TakePosition {
            claim_id,
            position: *dice.pick(&[
                Position::Support,
                Position::Support,
                Position::Challenge,
                Position::Challenge,
                Position::Abstain,
            ]),
            reason: reason(),
            evidence_ref: None,
        }),
        _ if dice.below(2) == 0 => {
            Command::DeprecateClaim(DeprecateClaim { claim_id, reason: "no more".parse().expect("a reason") })
        }
        _ => Command::AddEvidence(AddEvidence {
            claim_id,
            evidence_ref: dice.pick(claims).creation_event().into(),
            relation: hivemind::domain::claim::Relation::Contradicts,
            weight: hivemind::domain::claim::Share::FULL,
            note: None,
        }),
    };
    request(by, command)
}

#[test]
fn names_are_right_in_a_thousand_histories() {
    let seed = seed("names");
    let mut dice = Dice::new(seed);
    let mut seen: BTreeMap<ContradictionKind, usize> = BTreeMap::new();
    let mut questions = 0;
    for first in (0..HISTORIES).step_by(IN_ONE) {
        let workspace = TempWorkspace::new();
        let mut committer = workspace.committer(first as u64 + 1);
        let mut commands = Vec::new();
        for history in first..first + IN_ONE {
            let mut claims = Vec::new();
            commands.extend((0..STEPS).map(|_| step(&mut dice, history, &mut claims)));
        }
        for group in commands.chunks(200) {
            drop(committer.commit(group).expect("a group"));
        }
        let oracle = Oracle::of(&workspace);
        let mut reads = Reads::of((*workspace).clone());
        let now = workspace.events().last().expect("events").at;
        let mut shown = BTreeSet::new();
        for weak in [false, true] {
            let all = ContradictionFilter { weak, limit: 10_000, ..ContradictionFilter::default() };
            let (found, _) = reads.ask(now, |store| store.contradictions(&all)).expect("an answer");
            for both in found.expect("a page").contradictions {
                oracle.check(&both);
                *seen.entry(both.kind).or_default() += 1;
                shown.insert(both.id.to_string());
            }
        }
        assert_eq!(shown, oracle.open.keys().cloned().collect(), "HM_SEED={seed}: what is open is shown");
        questions += check_attention(&workspace, &oracle, &mut reads);
    }
    for kind in [
        ContradictionKind::Position,
        ContradictionKind::Polarity,
        ContradictionKind::Value,
        ContradictionKind::Explicit,
        ContradictionKind::Supersession,
    ] {
        assert!(seen.get(&kind).is_some_and(|times| *times > 20), "HM_SEED={seed}: {kind} came up: {seen:?}");
    }
    assert!(questions > 50, "HM_SEED={seed}: {questions} questions");
}

/// What attention says of moves; the number of questions.
fn check_attention(workspace: &TempWorkspace, oracle: &Oracle, reads: &mut Reads) -> usize {
    let config = Config::load(&workspace.config()).expect("a configuration");
    let now = workspace.events().last().expect("events").at;
    let mut questions = 0;
    for whom in AGENTS {
        let shown = answer(reads, &config, &View::Attention(Some(agent(whom))), now).expect("an answer");
        for need in shown.json["needs"].as_array().expect("needs") {
            let word = |value: &Value| value.as_str().expect("a text").to_owned();
            let asked: BTreeSet<String> = need["asked"].as_array().expect("names").iter().map(word).collect();
            let ids: Vec<String> = need["ids"].as_array().expect("ids").iter().map(word).collect();
            match need["kind"].as_str() {
                Some("contradiction") => {
                    for id in ids.iter().filter(|id| oracle.open.contains_key(*id)) {
                        assert_eq!(asked, oracle.movers(id), "{need}");
                    }
                    let claims = ids.iter().filter(|id| oracle.owner.contains_key(*id));
                    for claim in claims {
                        let (owner, statement) = &oracle.owner[claim];
                        let says = |what: &Value| {
                            let what = word(what);
                            what.starts_with(owner.as_str()) && what.ends_with(statement.as_str())
                        };
                        let what = need["what"].as_array().expect("texts");
                        assert!(what.iter().any(says), "{owner} said {statement}: {need}");
                    }
                }
                Some("question") => {
                    questions += 1;
                    let (new, old) = match ids.as_slice() {
                        [new, old] => (new, old),
                        // The old claim ended meanwhile: its owner is still asked about the new one.
                        [new] => {
                            assert!(!asked.contains(oracle.owner_of(new)), "{need}");
                            continue;
                        }
                        _ => panic!("{need}"),
                    };
                    // The challengers of a replaced claim are asked about its successor, whoever owns it.
                    let position = |name: &String| oracle.positions.get(&(old.clone(), name.clone()));
                    let asked: BTreeSet<String> = asked
                        .into_iter()
                        .filter(|name| position(name) != Some(&Position::Challenge))
                        .collect();
                    if asked.is_empty() {
                        continue;
                    }
                    // Another agent's successor waits: the owner of the old claim is asked, and did not answer.
                    if !oracle.successor.contains_key(old) {
                        assert_ne!(oracle.owner_of(old), oracle.owner_of(new), "{need}");
                        assert!(asked.iter().all(|name| name == oracle.owner_of(old)), "{need}");
                        for name in &asked {
                            let held = oracle.positions.get(&(new.clone(), name.clone()));
                            assert_eq!(held, None, "{need}");
                        }
                        continue;
                    }
                    assert_eq!(oracle.successor.get(old), Some(new), "{need}");
                    assert_eq!(oracle.owner_of(old), oracle.owner_of(new), "{need}");
                    assert!(!oracle.deprecated.contains(new), "{need}");
                    for name in &asked {
                        let held = |claim: &str| oracle.positions.get(&(claim.to_owned(), name.clone()));
                        assert_eq!((held(old), held(new)), (Some(&Position::Support), None), "{need}");
                    }
                }
                Some("contested") => {
                    assert_eq!(asked, [oracle.owner_of(&ids[0]).to_owned()].into(), "{need}");
                }
                other => panic!("{other:?}: {need}"),
            }
        }
    }
    questions
}
