//! The gates of packs on LoCoMo, whose questions share words with their answers: ten long conversations, each a
//! workspace of its own, with the published observations as claims and one question in three as the intent of a session. What was chosen
//! by figures was chosen on the half `dev`, every second conversation from the first.
//!
//! ```text
//! git clone https://github.com/snap-research/locomo    # CC BY-NC 4.0: no part of it belongs into this repository
//! HM_LOCOMO=locomo/data/locomo10.json cargo test --test it gates::locomo -- --ignored --nocapture
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::Ordering;

use hivemind::domain::command::{Command, CreateClaim};
use hivemind::domain::ids::ClaimId;
use serde::Deserialize;
use uuid::Uuid;

use super::{FIRST, Figures, START, Team, means};
use crate::harness::{fact, switch};

/// One question in so many is an intent.
const ONE_IN: usize = 3;
/// Time between two sessions of a conversation.
const BETWEEN_MS: i64 = 24 * 3_600_000;

#[derive(Debug, Deserialize)]
struct Conversation {
    sample_id: String,
    qa: Vec<Question>,
    /// By the name of the session and the speaker: statements and the turns that they rest on.
    observation: BTreeMap<String, BTreeMap<String, Vec<(String, Turns)>>>,
}

#[derive(Debug, Deserialize)]
struct Question {
    question: String,
    evidence: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Turns {
    One(String),
    Several(Vec<String>),
}

impl Turns {
    /// Some are written as one text.
    fn all(&self) -> Vec<&str> {
        let texts = match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Several(texts) => texts,
        };
        texts.iter().flat_map(|text| turns_in(text)).collect()
    }
}

fn turns_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == ':')).filter(|turn| !turn.is_empty())
}

impl Conversation {
    /// The claims of this conversation, in the order of time, and those that rest on a turn.
    fn written(&self) -> (Team, BTreeMap<&str, Vec<String>>) {
        let mut team = Team::of(&[]);
        let number_of = |name: &String| name.split('_').nth(1).and_then(|number| number.parse::<i64>().ok());
        let mut sessions: Vec<(i64, &BTreeMap<_, _>)> = self
            .observation
            .iter()
            .map(|(name, said)| (number_of(name).expect("the number of a session"), said))
            .collect();
        sessions.sort_by_key(|(number, _)| *number);
        let last = sessions.last().map_or(0, |(number, _)| *number);
        let mut claims_of: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        team.clock.store(START.ms() - (last + 1) * BETWEEN_MS, Ordering::Relaxed);
        for (session, said) in sessions {
            team.clock.fetch_max(START.ms() - (last + 1 - session) * BETWEEN_MS, Ordering::Relaxed);
            for (speaker, (statement, turns)) in
                said.iter().flat_map(|(speaker, all)| all.iter().map(move |one| (speaker, one)))
            {
                let key = team.ids.len();
                let id = Uuid::from_u128(0x0190_0000_0000_7000_9000_0000_0000_0000 + key as u128);
                let claim_id = ClaimId::from_uuid(id);
                let scopes = vec![format!("talks/{}", self.sample_id).parse().expect("a scope")];
                let owner = speaker.to_lowercase();
                let claim = CreateClaim { claim_id, scopes, ..fact(statement) };
                team.does(&owner, &format!("{owner}-{session}"), Command::CreateClaim(claim));
                team.ids.insert(key.to_string(), claim_id);
                for turn in turns.all() {
                    claims_of.entry(turn).or_default().push(key.to_string());
                }
            }
        }
        team.clock.store(START.ms(), Ordering::Relaxed);
        team.name_claims();
        (team, claims_of)
    }
}

/// The share of the turns that a question rests on whose claims are there. Turns without a claim are in no memory.
fn share(gold: &[&Vec<String>], told: impl Fn(&String) -> bool) -> f64 {
    let held = gold.iter().filter(|claims| claims.iter().any(&told)).count();
    held as f64 / gold.len() as f64
}

#[test]
#[ignore = "reads a file that is not ours to give: HM_LOCOMO=locomo10.json"]
fn locomo() {
    let path = switch("HM_LOCOMO").expect("HM_LOCOMO names locomo10.json");
    let text = std::fs::read_to_string(path).expect("a file");
    let conversations: Vec<Conversation> = serde_json::from_str(&text).expect("conversations");
    let mut halves: [BTreeMap<&'static str, Vec<f64>>; 2] = Default::default();
    for (number, conversation) in conversations.iter().enumerate() {
        let sums = &mut halves[number % 2];
        let (mut team, claims_of) = conversation.written();
        let asked = conversation.qa.iter().step_by(ONE_IN).filter_map(|asked| {
            let turns = asked.evidence.iter().flat_map(|turns| turns_in(turns));
            let gold: Vec<&Vec<String>> = turns.filter_map(|turn| claims_of.get(turn)).collect();
            (!gold.is_empty()).then_some((&asked.question, gold))
        });
        for (number, (question, gold)) in asked.enumerate() {
            let found = team.found(question, FIRST);
            let is_first = |key: &String| found.contains(&team.ids[key]);
            sums.entry("claims R@10").or_default().push(share(&gold, is_first));
            let rests =
                |id: &ClaimId| gold.iter().any(|claims| claims.iter().any(|key| team.ids[key] == *id));
            let first = found.iter().position(rests).map_or(0.0, |at| 1.0 / (at + 1) as f64);
            sums.entry("claims MRR").or_default().push(first);
            let session = format!("question-{number}");
            team.declare(&session, question);
            for (name, budget) in [("intent 2000", 2_000), ("intent 5000", 5_000), ("intent 9500", 9_500)] {
                let told = Team::told(&team.pack(&session, budget, 0));
                sums.entry(name).or_default().push(share(&gold, |key| told.contains(&team.names[key])));
            }
            for (name, budget) in [("search 2000", 2_000), ("search 5000", 5_000), ("search 9500", 9_500)] {
                let found = team.searched(question, budget);
                let held = |key: &String| team.is_in(key, &found);
                sums.entry(name).or_default().push(share(&gold, held));
            }
        }
    }
    let mut all = halves[0].clone();
    for (name, shares) in &halves[1] {
        all.entry(name).or_default().extend(shares);
    }
    let questions = all["intent 2000"].len();
    let [dev, test] = halves.map(means);
    let all: Figures = means(all);
    let mut table = String::new();
    for (name, share) in &all {
        let _ = writeln!(table, "{name:26} {share:.3}  dev {:.3}  test {:.3}", dev[name], test[name]);
    }
    println!("{questions} questions\n{table}");
    for (budget, gate) in [("2000", 0.72), ("5000", 0.80), ("9500", 0.84)] {
        let share = all[format!("intent {budget}").as_str()];
        assert!(share >= gate, "at {budget} characters a pack holds less than {gate}:\n{table}");
        let search = all[format!("search {budget}").as_str()];
        assert!(search > 0.0, "no answer of a search was recognised:\n{table}");
    }
}
