//! Asking for positions, and what silence makes of a claim.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use hivemind::config::Config;
use hivemind::domain::claim::{ClaimType, Outcome, Position, Relation, ReportKind, Share, Status};
use hivemind::domain::command::{
    AddEvidence, AffirmClaim, AliasTarget, Command, CreateClaim, DeprecateClaim, KeepClaim, RecordDecision,
    RecordOutcome, ReportEvent, StartSession, Submission,
};
use hivemind::domain::decide::{self, Policy, Quorum};
use hivemind::domain::event::{Event, Recorded, StatusChanged};
use hivemind::domain::ids::{ClaimId, CommandId, EventId};
use hivemind::domain::receipt::Receipt;
use hivemind::domain::rejection::{Code, Rejection};
use hivemind::domain::scope::Scope;
use hivemind::domain::session::Source;
use hivemind::domain::time::{Hours, Moment, Timestamp};
use hivemind::domain::versions::Content;
use hivemind::mcp::Era;
use hivemind::reads::Reads;
use hivemind::spool::Spool;
use hivemind::store::{ClaimView, Question};
use hivemind::system::{self, Sources};
use hivemind::views::{ContextOf, Known, View, delta};
use hivemind::writer::Committer;
use serde_json::{Value, json};

use crate::answers::answer;
use crate::bench::Bench;
use crate::harness::{
    TempWorkspace, agent, body, claim_of, dump, fact, fixed_sources, folded, position, request, wait_until,
};
use crate::shell::Shell;

const START_MS: i64 = 1_800_000_000_000;

/// A workspace with a writer whose clock the test sets, in minutes.
struct Team {
    workspace: TempWorkspace,
    clock: Arc<AtomicI64>,
    committer: Option<Committer>,
}

impl Team {
    /// Some agents are there from the start.
    fn new() -> Self {
        let mut team = Self::alone();
        for who in ["architect", "analyst", "reviewer", "frontend", "operator"] {
            team.comes(who);
        }
        team
    }

    fn alone() -> Self {
        let clock = Arc::new(AtomicI64::new(START_MS));
        let mut team = Self { workspace: TempWorkspace::new(), clock, committer: None };
        team.writer_comes(1);
        team
    }

    /// An agent opens a session.
    fn comes(&mut self, who: &str) {
        let start = StartSession { source: Source::Startup, client: None, parent_session: None };
        let session = format!("of-{who}").parse().ok();
        self.does(&Submission { session, ..request(who, Command::StartSession(start)) });
    }

    /// A claim as people see it.
    fn shows(&self, claim: ClaimId) -> String {
        let config = Config::load(&self.workspace.config()).expect("a configuration");
        let view = View::Claim(claim);
        answer(&mut self.reads(), &config, &view, self.now()).expect("an answer").text
    }

    /// A writer starts; its ids are those of `seed`.
    fn writer_comes(&mut self, seed: u64) {
        self.committer = None;
        let clock = Arc::clone(&self.clock);
        let sources = Sources {
            clock: Box::new(move || Timestamp::from_ms(clock.load(Ordering::Relaxed))),
            ..fixed_sources(seed)
        };
        let committer = Committer::open(&self.workspace, Policy::default(), sources);
        self.committer = Some(committer.expect("a workspace"));
    }

    fn writer(&mut self) -> &mut Committer {
        self.committer.as_mut().expect("a writer")
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.clock.load(Ordering::Relaxed))
    }

    fn at_minute(&self, minute: i64) {
        self.clock.store(START_MS + minute * 60_000, Ordering::Relaxed);
    }

    fn hands_in(&mut self, submission: &Submission) -> Result<Receipt, Rejection> {
        self.writer().commit(std::slice::from_ref(submission)).expect("a commit").remove(0)
    }

    fn does(&mut self, submission: &Submission) -> Receipt {
        self.hands_in(submission).expect("it passes")
    }

    fn takes(&mut self, by: &str, claim: ClaimId, held: Position) -> Receipt {
        self.does(&position(by, claim, held))
    }

    fn agrees(&mut self) -> usize {
        hivemind::writer::agree(self.writer()).expect("a look at the clock")
    }

    /// Every sweep of the writer, twice: the second changes nothing.
    fn sweeps(&mut self) -> usize {
        let agreed = self.agrees();
        assert_eq!(self.agrees(), 0, "n sweeps are one");
        agreed
    }

    fn reads(&self) -> Reads {
        Reads::of((*self.workspace).clone())
    }

    fn claim(&self, id: ClaimId) -> ClaimView {
        let (found, _) = self.reads().ask(self.now(), |store| store.claim(id)).expect("an answer");
        found.flatten().expect("a claim")
    }

    fn status(&self, id: ClaimId) -> Status {
        self.claim(id).summary.status
    }

    fn asked(&self, whom: &str) -> Vec<Question> {
        let (found, _) =
            self.reads().ask(self.now(), |store| store.questions(Some(whom), 50)).expect("an answer");
        found.unwrap_or_default()
    }

    fn kinds(&self) -> Vec<String> {
        self.workspace.events().into_iter().map(|event| event.kind).collect()
    }
}

impl Drop for Team {
    /// What was folded live is what a rebuild makes.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let live = dump(&self.workspace.team_memory());
        self.writer().rebuild(|_| ()).expect("a rebuild");
        assert_eq!(dump(&self.workspace.team_memory()), live, "rebuild equals live");
    }
}

fn names(names: &[&str]) -> Vec<hivemind::domain::agent::AgentId> {
    names.iter().map(|name| agent(name)).collect()
}

/// A fact of devops about the whole workspace.
fn asking(statement: &str, asks: &[&str], minutes: Option<u32>) -> Submission {
    let create = CreateClaim { asks: names(asks), unless_objection_minutes: minutes, ..fact(statement) };
    request("devops", Command::CreateClaim(create))
}

/// Red before: silence that had agreed to older content was shown like any other.
#[test]
fn silence_that_agreed_to_older_content_is_shown_as_that() {
    let holds = |byte: u8| [("log.txt".parse().expect("a scope"), Content::Sha256([byte; 32]))].into();
    let mut team = Team::new();
    let create = CreateClaim {
        scopes: vec!["log.txt".parse().expect("a scope")],
        unless_objection_minutes: Some(30),
        ..fact("the log stays")
    };
    let made = Submission { versions: holds(1), ..request("devops", Command::CreateClaim(create)) };
    team.does(&made);
    let claim = claim_of(&made);
    team.at_minute(30);
    assert_eq!(team.sweeps(), 1);
    let still = |byte| {
        let still = Command::AffirmClaim(AffirmClaim { claim_id: claim, reason: None });
        Submission { versions: holds(byte), ..request("devops", still) }
    };
    team.does(&still(1));
    assert_eq!(team.claim(claim).summary.standing(), "confirmed (agreed by silence)");
    team.does(&still(2));
    assert_eq!(team.claim(claim).summary.standing(), "confirmed (agreed by silence), before the change");
    let supports = Submission { versions: holds(2), ..position("analyst", claim, Position::Support) };
    team.does(&supports);
    assert_eq!(team.claim(claim).summary.standing(), "confirmed (agreed)");
}

#[test]
fn silence_confirms_once_at_its_time_and_a_later_challenge_reopens() {
    let mut team = Team::new();
    let made = asking("I build it with a heap", &["reviewer", "analyst"], Some(30));
    let receipt = team.does(&made);
    assert_eq!(
        receipt.next.as_deref(),
        Some(
            "agreed by silence in 30 min unless analyst or reviewer challenges it; a support confirms it at once"
        )
    );
    let claim = claim_of(&made);
    team.at_minute(29);
    assert_eq!((team.sweeps(), team.status(claim)), (0, Status::Proposed));
    assert_eq!(team.claim(claim).objection_until, Some(START_MS + 30 * 60_000));
    let before = team.now();
    let confidence = team.claim(claim).summary.confidence;
    team.at_minute(30);
    assert_eq!(team.sweeps(), 1);
    let seen = team.claim(claim);
    assert_eq!((seen.summary.status, seen.summary.agreed_by_silence), (Status::Confirmed, true));
    assert_eq!(seen.summary.supports, 0);
    // Silence adds nothing to what its owner said.
    assert!((seen.summary.effective_confidence(team.now()) - confidence).abs() < 1e-9, "no support");
    let step = seen.history.last().expect("a step");
    assert_eq!(
        (step.by.as_str(), step.reason.as_deref()),
        ("system", Some("agreed by silence: no challenge by analyst, reviewer until 2027-01-15T08:30:00Z"))
    );
    // The past is what it was.
    let mut then = team.reads().at(Moment::Time(before), team.now()).expect("the past");
    let (then, _) = then.ask(team.now(), |store| store.claim(claim)).expect("an answer");
    assert_eq!(then.flatten().expect("a claim").summary.status, Status::Proposed);
    // It is shown as what it is.
    let config = Config::load(&team.workspace.config()).expect("a configuration");
    for (view, says) in [
        (View::Claim(claim), "# confirmed (agreed by silence) fact"),
        (
            View::Claims(hivemind::store::ClaimFilter { limit: 5, ..Default::default() }),
            "(confirmed, agreed by silence, by devops",
        ),
        (
            View::Context(ContextOf::new(agent("architect"), None)),
            "status=\"confirmed\" basis=\"agreed by silence\"",
        ),
    ] {
        let said = answer(&mut team.reads(), &config, &view, team.now()).expect("an answer");
        assert!(said.text.contains(says), "{}", said.text);
    }
    // A support is more: it is silence no more. Withdrawn, silence still stands.
    let receipt = team.takes("analyst", claim, Position::Support);
    assert_eq!(receipt.next.as_deref(), Some("confirmed: agreed by analyst"));
    assert!(!team.claim(claim).summary.agreed_by_silence);
    team.takes("analyst", claim, Position::Abstain);
    assert!(team.claim(claim).summary.agreed_by_silence);
    // An objection reopens it, for good: withdrawn, it is a proposal.
    team.at_minute(40);
    team.takes("frontend", claim, Position::Challenge);
    assert_eq!(team.status(claim), Status::Contested);
    team.takes("frontend", claim, Position::Abstain);
    assert_eq!((team.sweeps(), team.status(claim)), (0, Status::Proposed));
}

/// Red before: one support of the two that were needed made it a claim like any other that the team agreed to.
#[test]
fn too_few_supports_leave_a_claim_agreed_by_silence() {
    let quorum = Quorum { supports: 2, ..Quorum::default() };
    let shell = Shell::new();
    agreed_by_silence(&shell, quorum);
    let next = |line: &str| said(&shell, line);
    let supported = next("hm claim support C2 --agent analyst");
    let wanted = "confirmed: agreed by silence, and supported by analyst; with 1 more support it is agreed";
    assert!(supported.contains(wanted), "{supported}");
    let lists = ["hm claim list", "hm decision list", "hm claim search log"];
    for line in lists.into_iter().chain(["hm claim show C2"]) {
        let listed = next(line);
        assert!(listed.contains("agreed by silence"), "{line}: {listed}");
    }
    let supported = next("hm claim support C2 --agent reviewer");
    assert!(supported.contains("confirmed: agreed by analyst, reviewer"), "{supported}");
    for line in lists {
        let listed = next(line);
        assert!(listed.contains("agreed") && !listed.contains("by silence"), "{line}: {listed}");
    }
}

/// Red before: the lists went on to say `agreed by silence` of what the receipt called agreed.
#[test]
fn an_owner_who_counts_ends_the_agreement_by_silence() {
    let shell = Shell::new();
    agreed_by_silence(&shell, Quorum { supports: 2, owner_counts: true, ..Quorum::default() });
    let is_by_silence = |line: &str| said(&shell, line).contains("by silence");
    let lists = ["hm claim list", "hm decision list"];
    let basis = || shell.json("hm claim show C2 --json")["basis"].clone();
    said(&shell, "hm claim support C2 --agent analyst");
    assert_eq!((lists.map(is_by_silence), basis()), ([true; 2], json!("agreed by silence")));
    let supported = said(&shell, "hm claim support C2 --agent devops");
    assert!(supported.contains("confirmed: agreed by analyst, devops"), "{supported}");
    assert_eq!((lists.map(is_by_silence), basis()), ([false; 2], json!("agreed")));
}

/// Silence agreed to the decision C2 of devops under this quorum.
fn agreed_by_silence(shell: &Shell, quorum: Quorum) {
    let rules = quorum.to_string().replace(", ", "\n");
    std::fs::write(shell.workspace().config(), format!("[quorum]\n{rules}\n")).expect("settings");
    if quorum.owner_counts {
        shell.allow_rules();
    }
    // The writer records its rules.
    assert!(shell.run("hm claim create \"the ring holds 5\" --scope src --agent devops").status.success());
    shell.end_writer();
    let clock = Arc::new(AtomicI64::new(system::now().ms()));
    let now = Arc::clone(&clock);
    let sources = Sources {
        clock: Box::new(move || Timestamp::from_ms(now.load(Ordering::Relaxed))),
        ..fixed_sources(9)
    };
    let policy = Policy { quorum, ..Policy::default() };
    let mut writer = Committer::open(&shell.workspace(), policy, sources).expect("a workspace");
    let mut does = |said: &Submission| writer.commit(std::slice::from_ref(said)).expect("a commit").remove(0);
    let start = StartSession { source: Source::Startup, client: None, parent_session: None };
    let session = "of-analyst".parse().ok();
    does(&Submission { session, ..request("analyst", Command::StartSession(start)) }).expect("a session");
    let (_, made) = decision("devops", "the log stays", "log", Some(30));
    does(&made).expect("a decision");
    clock.fetch_add(31 * 60_000, Ordering::Relaxed);
    assert_eq!(hivemind::writer::agree(&mut writer).expect("a look at the clock"), 1);
    drop(writer);
}

fn said(shell: &Shell, line: &str) -> String {
    let done = shell.run(line);
    assert!(done.status.success(), "{line}: {done:?}");
    String::from_utf8_lossy(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn in_a_contradiction_a_side_is_agreed_by_silence_until_another_agent_supports_it() {
    let mut team = Team::new();
    let made = asking("the pool size is 20", &["reviewer"], Some(30));
    team.does(&made);
    team.at_minute(30);
    assert_eq!(team.sweeps(), 1);
    team.does(&request("analyst", Command::CreateClaim(fact("the pool size is 50"))));
    let basis = |team: &Team| {
        let both = team.claim(claim_of(&made)).contradictions.remove(0);
        both.left.basis.map(|basis| basis.to_string())
    };
    assert_eq!(basis(&team).as_deref(), Some("agreed by silence"));
    team.takes("reviewer", claim_of(&made), Position::Support);
    assert_eq!(basis(&team).as_deref(), Some("agreed"));
}

#[test]
fn a_writer_that_comes_late_agrees_then_and_once() {
    let mut team = Team::new();
    let made = asking("I build it with a heap", &[], Some(30));
    team.does(&made);
    // What was queued in time counts, however late it is read.
    let objected = asking("I drop the cache", &["analyst"], Some(30));
    team.does(&objected);
    team.committer = None;
    let spool = Spool::of(&team.workspace);
    let objection = position("analyst", claim_of(&objected), Position::Challenge);
    assert_eq!(spool.append(&objection).expect("a spool"), None);
    team.at_minute(600);
    team.writer_comes(2);
    hivemind::writer::replay(team.writer(), &spool).expect("a replay");
    assert_eq!((team.sweeps(), team.status(claim_of(&made))), (1, Status::Confirmed));
    assert_eq!(team.status(claim_of(&objected)), Status::Contested);
    team.writer_comes(3);
    assert_eq!(team.sweeps(), 0, "the next writer finds it done");
    let by_silence = |event: Event| matches!(event, Event::StatusChanged(change) if change.by_silence);
    assert_eq!(team.workspace.events().iter().filter(|event| by_silence(body(event))).count(), 1);
}

#[test]
fn silence_confirms_nothing_that_anything_stands_against() {
    let mut team = Team::new();
    let make = |team: &mut Team, statement: &str, asks: &[&str]| {
        let made = asking(statement, asks, Some(30));
        team.does(&made);
        claim_of(&made)
    };
    let contested = make(&mut team, "it is contested", &["analyst"]);
    team.takes("reviewer", contested, Position::Challenge);
    let withdrawn = make(&mut team, "an objection was withdrawn", &["analyst"]);
    team.takes("analyst", withdrawn, Position::Challenge);
    team.takes("analyst", withdrawn, Position::Abstain);
    let not_asked = make(&mut team, "an agent that was not asked withdrew", &["analyst"]);
    team.takes("reviewer", not_asked, Position::Challenge);
    team.takes("reviewer", not_asked, Position::Abstain);
    let gone = make(&mut team, "it is gone", &[]);
    let reason = "no more".parse().expect("a reason");
    team.does(&request("devops", Command::DeprecateClaim(DeprecateClaim { claim_id: gone, reason })));
    let abstained = make(&mut team, "the agent that was asked abstains", &["analyst"]);
    team.takes("analyst", abstained, Position::Abstain);
    // Red before: an answer in words was silence.
    let answered = make(&mut team, "the limit is 3", &["analyst"]);
    let answer = format!("C{} is wrong, it is 5", 6);
    team.does(&request("analyst", Command::CreateClaim(fact(&answer))));
    let agreed_after = make(&mut team, "the pool is 4", &["analyst"]);
    team.does(&request("analyst", Command::CreateClaim(fact("C8 is more than I thought"))));
    team.takes("analyst", agreed_after, Position::Abstain);
    let supported = make(&mut team, "it has a support", &["analyst"]);
    team.takes("analyst", supported, Position::Support);
    team.at_minute(30);
    assert_eq!(team.sweeps(), 3);
    let of = |team: &Team, id| (team.status(id), team.claim(id).summary.agreed_by_silence);
    assert_eq!(of(&team, contested), (Status::Contested, false));
    assert_eq!(of(&team, withdrawn), (Status::Proposed, false), "it did object");
    assert_eq!(of(&team, not_asked), (Status::Confirmed, true), "those asked did not");
    assert_eq!(of(&team, gone), (Status::Deprecated, false));
    assert_eq!(of(&team, abstained), (Status::Confirmed, true), "no objection");
    assert_eq!(of(&team, answered), (Status::Proposed, false), "it was answered");
    assert_eq!(of(&team, agreed_after), (Status::Confirmed, true), "its answer was followed by a position");
    assert_eq!(of(&team, supported), (Status::Confirmed, false));
    // What ended otherwise after the time stays so.
    team.takes("analyst", supported, Position::Abstain);
    assert_eq!((team.sweeps(), of(&team, supported)), (0, (Status::Proposed, false)));
    team.takes("reviewer", contested, Position::Abstain);
    assert_eq!((team.sweeps(), of(&team, contested)), (0, (Status::Proposed, false)));
}

fn decision(by: &str, statement: &str, target: &str, minutes: Option<u32>) -> (ClaimId, Submission) {
    let claim_id = ClaimId::from_uuid(system::new_id());
    let record = RecordDecision {
        mends: false,
        evidence_refs: Vec::new(),
        decided_at: None,
        claim_id,
        statement: Some(statement.parse().expect("a statement")),
        rationale: "it is the smaller one".parse().expect("a rationale"),
        context: None,
        target: Some(Scope::target(target).expect("a target")),
        scopes: Vec::new(),
        alternatives: Vec::new(),
        supersedes: Vec::new(),
        asks: Vec::new(),
        unless_objection_minutes: minutes,
    };
    (claim_id, request(by, Command::RecordDecision(record)))
}

#[test]
fn silence_lets_no_two_decisions_on_one_target_through() {
    let mut team = Team::new();
    let (alone, made) = decision("devops", "we queue with Redis", "queue", Some(30));
    team.does(&made);
    let (first, made) = decision("devops", "we keep SQLite", "database", Some(30));
    team.does(&made);
    let (second, made) = decision("analyst", "we take Postgres", "store", Some(30));
    team.does(&made);
    let target = |name| Scope::target(name).expect("a target");
    let alias = AliasTarget { target: target("database"), alias: target("store") };
    team.does(&request("architect", Command::AliasTarget(alias)));
    team.at_minute(30);
    assert_eq!(team.sweeps(), 1);
    assert_eq!(team.status(alone), Status::Confirmed);
    assert_eq!([first, second].map(|id| team.status(id)), [Status::Proposed; 2]);
    // Nobody ends one of them without a decision in its place.
    let reason = "SQLite does".parse().expect("a reason");
    let ends = request("operator", Command::DeprecateClaim(DeprecateClaim { claim_id: second, reason }));
    assert_eq!(team.hands_in(&ends).expect_err("a refusal").code, Code::RationaleRequired);
    assert_eq!((team.sweeps(), team.status(first)), (0, Status::Proposed));
}

#[test]
fn silence_replaces_a_claim_of_who_was_asked_and_never_the_operators() {
    let mut team = Team::new();
    let old = request("analyst", Command::CreateClaim(fact("the cache holds 20 entries")));
    team.does(&old);
    let replaces = |old: ClaimId, statement: &str, asks: &[&str]| {
        let Command::CreateClaim(create) = asking(statement, asks, Some(30)).command else { panic!() };
        request("devops", Command::CreateClaim(CreateClaim { supersedes: Some(old), ..create }))
    };
    let refused = team.hands_in(&replaces(claim_of(&old), "the cache is gone", &["reviewer"]));
    let refused = refused.expect_err("its owner was not asked");
    assert!(refused.message.contains("add analyst to asks"), "{refused}");
    let new = replaces(claim_of(&old), "the cache is gone for good", &["analyst"]);
    team.does(&new);
    let said = request("operator", Command::CreateClaim(fact("the log stays")));
    team.does(&said);
    let against = replaces(claim_of(&said), "no log any more", &["operator"]);
    team.does(&against);
    team.at_minute(30);
    assert_eq!(team.sweeps(), 1);
    assert_eq!(team.status(claim_of(&old)), Status::Deprecated);
    assert_eq!(team.claim(claim_of(&old)).summary.superseded_by, Some(claim_of(&new)));
    assert_eq!(team.status(claim_of(&said)), Status::Proposed);
    assert_eq!(team.status(claim_of(&against)), Status::Proposed, "the operator's word stands");
}

#[test]
fn what_is_asked_wrongly_is_refused_with_a_way_forward() {
    let mut team = Team::new();
    let many = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"];
    for (asks, minutes, why) in [
        (&many[..], None, "asks at most 8 agents"),
        (&["devops"][..], None, "leave yourself out"),
        (&["system"][..], None, "name an agent of the roster"),
        (&[][..], Some(0), "1 to 10080 minutes"),
        (&[][..], Some(10_081), "1 to 10080 minutes"),
    ] {
        let refused = team.hands_in(&asking("it is so", asks, minutes)).expect_err("refused");
        assert!(refused.to_string().contains(why), "{refused}");
    }
    let known = request(
        "devops",
        Command::CreateClaim(CreateClaim { claim_type: ClaimType::Decision, ..fact("we keep SQLite") }),
    );
    team.does(&known);
    let (_, mut recorded) = decision("devops", "x", "database", Some(30));
    if let Command::RecordDecision(record) = &mut recorded.command {
        record.statement = None;
        record.claim_id = claim_of(&known);
    }
    let refused = team.hands_in(&recorded).expect_err("refused");
    assert!(refused.to_string().contains("give the statement in place of the claim"), "{refused}");
}

#[test]
fn a_question_is_shown_whole_until_it_is_answered_or_ends_with_its_claim() {
    let mut team = Team::new();
    let long = format!("I mean it: {}", ["really"; 280].join(" "));
    let made = asking(&long, &["analyst", "reviewer", "frontend"], Some(30));
    let told = team.writer().head().seq;
    team.does(&made);
    let other = asking("another one", &["analyst"], None);
    team.does(&other);
    let of = ContextOf::new(agent("analyst"), Some("s-9".into()));
    let (said, told) = delta(&mut team.reads(), &of, &Known::up_to(told), team.now()).expect("a delta");
    let first = said.lines().nth(2).expect("a line");
    assert!(first.starts_with("<question claim=\"") && first.contains("by=\"devops\""), "{said}");
    assert!(said.replace("\n    ", " ").contains(&long), "whole: {said}");
    assert!(!said.contains("<claim "), "and once: {said}");
    let known = Known { told, is_kept: true, ..Known::default() };
    assert_eq!(delta(&mut team.reads(), &of, &known, team.now()).expect("a delta").0, "", "told once");
    let config = Config::load(&team.workspace.config()).expect("a configuration");
    let needs = |team: &Team, whom: &str| {
        let view = View::Attention(Some(agent(whom)));
        answer(&mut team.reads(), &config, &view, team.now()).expect("an answer")
    };
    let shown = needs(&team, "analyst");
    assert!(shown.text.contains(&long), "{}", shown.text);
    assert!(shown.text.contains("agreed by silence in 30m"), "{}", shown.text);
    let pack = answer(&mut team.reads(), &config, &View::Context(of), team.now()).expect("a pack").text;
    assert!(pack.replace("\n    ", " ").contains(&long), "{pack}");
    for (whom, held) in
        [("reviewer", Position::Challenge), ("analyst", Position::Support), ("frontend", Position::Abstain)]
    {
        let open = team.asked(whom).len();
        team.takes(whom, claim_of(&made), held);
        assert_eq!(team.asked(whom).len(), open - 1, "{whom} answered");
    }
    assert_eq!(team.asked("analyst").len(), 1);
    let reason = "no more".parse().expect("a reason");
    let end = DeprecateClaim { claim_id: claim_of(&other), reason };
    team.does(&request("devops", Command::DeprecateClaim(end)));
    assert_eq!(team.asked("analyst"), []);
    assert_eq!(needs(&team, "analyst").text, "Nothing needs analyst now.\n");
}

/// Red before: attention left the question out, and contexts, news and deltas went on to ask it.
#[test]
fn what_others_confirmed_asks_no_agent_anywhere() {
    let mut team = Team::new();
    let known = Known::up_to(team.writer().head().seq);
    let made = asking("the pool holds 20", &["analyst", "reviewer"], None);
    team.does(&made);
    assert_eq!(team.asked("analyst").len(), 1);
    team.takes("reviewer", claim_of(&made), Position::Support);
    assert_eq!(team.asked("analyst"), []);
    let of = ContextOf::new(agent("analyst"), Some("s-9".into()));
    let (news, _) = delta(&mut team.reads(), &of, &known, team.now()).expect("a delta");
    assert!(!news.contains("<question") && news.contains("the pool holds 20"), "{news}");
    let config = Config::load(&team.workspace.config()).expect("a configuration");
    let pack = answer(&mut team.reads(), &config, &View::Context(of), team.now()).expect("a pack").text;
    assert!(!pack.contains("<question") && pack.contains("the pool holds 20"), "{pack}");
    let attention = View::Attention(Some(agent("analyst")));
    let needs = answer(&mut team.reads(), &config, &attention, team.now()).expect("an answer");
    assert_eq!(needs.text, "Nothing needs analyst now.\n");
}

/// Red before: an owner's own successor opened a contradiction that named the supporter as the old claim's author.
#[test]
fn an_owner_that_supersedes_asks_the_supporters_and_quarrels_with_none() {
    let mut team = Team::new();
    let old = request("devops", Command::CreateClaim(fact("the pool holds 20 connections")));
    team.does(&old);
    for supporter in ["analyst", "reviewer"] {
        team.takes(supporter, claim_of(&old), Position::Support);
    }
    let told = team.writer().head().seq;
    let create = CreateClaim { supersedes: Some(claim_of(&old)), ..fact("the pool holds 30 connections") };
    let new = request("devops", Command::CreateClaim(create));
    team.does(&new);
    assert!(!team.kinds().contains(&"contradiction.detected".to_owned()), "{:?}", team.kinds());
    let asked = team.asked("analyst");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].instead_of, Some(claim_of(&old)));
    let of = ContextOf::new(agent("analyst"), Some("s-9".into()));
    let (said, _) = delta(&mut team.reads(), &of, &Known::up_to(told), team.now()).expect("a delta");
    assert!(said.contains("<question claim=") && said.contains("instead_of="), "{said}");
    team.takes("analyst", claim_of(&new), Position::Support);
    assert_eq!((team.asked("analyst").len(), team.asked("reviewer").len()), (0, 1));
    // Another's successor contradicts whom it leaves behind: the holder is named as holder.
    let theirs = CreateClaim { supersedes: Some(claim_of(&new)), ..fact("the pool is gone") };
    team.does(&request("architect", Command::CreateClaim(theirs)));
    let found = team.workspace.events().into_iter().filter_map(|event| {
        let Event::ContradictionDetected(found) = body(&event) else { return None };
        Some((found.left.agent, found.right.agent))
    });
    assert_eq!(found.collect::<Vec<_>>(), [(agent("analyst"), agent("architect"))]);
    let config = Config::load(&team.workspace.config()).expect("a configuration");
    for (view, says) in [
        (View::Attention(None), "devops, held by analyst: the pool holds 30 connections"),
        (
            View::Context(ContextOf::new(agent("architect"), None)),
            "A (devops, deprecated, 0s, held by analyst) the pool holds 30 connections",
        ),
        (
            View::Contradictions(hivemind::store::ContradictionFilter { limit: 9, ..Default::default() }),
            "devops deprecated, held by analyst",
        ),
    ] {
        let said = answer(&mut team.reads(), &config, &view, team.now()).expect("an answer").text;
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn a_support_says_what_it_made_and_what_is_lacking() {
    let mut team = Team::new();
    let made = request("devops", Command::CreateClaim(fact("it is so")));
    team.does(&made);
    let claim = claim_of(&made);
    let next = |receipt: Receipt| receipt.next.unwrap_or_default();
    let own = team.hands_in(&position("devops", claim, Position::Support)).expect_err("an own claim");
    assert_eq!(own.code, Code::OwnClaim);
    assert_eq!(next(team.takes("analyst", claim, Position::Support)), "confirmed: agreed by analyst");
    assert_eq!(
        next(team.takes("reviewer", claim, Position::Support)),
        "confirmed: agreed by analyst, reviewer"
    );
    team.takes("frontend", claim, Position::Challenge);
    assert_eq!(
        next(team.takes("architect", claim, Position::Support)),
        "still challenged by frontend: each challenger must support or abstain"
    );
}

#[test]
fn the_writer_agrees_unasked_and_the_command_line_says_so() {
    let mut team = Team::new();
    // Two hours ago.
    team.clock.store(system::now().ms() - 2 * 3_600_000, Ordering::Relaxed);
    team.comes("analyst");
    let made = asking("I build it with a heap", &["analyst"], Some(30));
    team.does(&made);
    let held = asking("the pool size is 20", &[], Some(30));
    team.does(&held);
    team.does(&request("analyst", Command::CreateClaim(fact("the pool size is 50"))));
    team.committer = None;
    {
        let _writer = team.workspace.writer(&[]);
        let moves = || team.kinds().iter().filter(|kind| *kind == "claim.status_changed").count();
        wait_until("the writer looks at both", || moves() == 2);
        let mut shown = std::process::Command::new(crate::harness::HM);
        shown.args(["claim", "show", &claim_of(&held).to_string(), "--dir"]).arg(team.workspace.root());
        let shown = String::from_utf8(shown.output().expect("hm can be run").stdout).expect("UTF-8");
        assert!(shown.starts_with("# proposed") && shown.contains("silence: held"), "{shown}");
        let mut shown = std::process::Command::new(crate::harness::HM);
        shown.args(["claim", "list", "--json", "--dir"]).arg(team.workspace.root());
        let shown = shown.output().expect("hm can be run");
        let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
        let claim = &shown["claims"][2];
        assert_eq!((&claim["status"], &claim["agreed_by_silence"]), (&json!("confirmed"), &json!(true)));
    }
    team.writer_comes(2);
    assert_eq!(team.sweeps(), 0);
}

#[tokio::test]
async fn panes_and_the_command_line_ask_and_answer() {
    let bench = Bench::new();
    let devops = bench.pane(Some("devops"), Era::Modern).await;
    let mut analyst = bench.pane(Some("analyst"), Era::Legacy).await;
    analyst.subscribe(&["hivemind://attention"]).await.expect("a subscription");
    let asked = json!({
        "statement": "I build it with a heap", "claim_type": "decision", "scopes": ["src"],
        "asks": ["ana"], "unless_objection_minutes": 5
    });
    let claim = bench.accepted(&devops, "create_claim", asked).await.field("claim_id").to_owned();
    let heard = analyst.updated(std::time::Duration::from_secs(10)).await;
    assert_eq!(heard.as_deref(), Some("hivemind://attention"));
    let told = analyst.read("hivemind://attention?format=json").await.expect("it");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["needs"][0]["kind"], "question");
    assert_eq!(told["needs"][0]["settle"][0], format!("support {}", json!({ "claim_id": claim })));
    let decided = json!({
        "statement": "we keep SQLite", "rationale": "one file, no server", "target": "database",
        "asks": ["analyst", "reviewer"]
    });
    bench.accepted(&devops, "record_decision", decided).await;
    let unknown = json!({
        "statement": "x y", "claim_type": "fact", "scopes": ["src"], "asks": ["sage"]
    });
    let refused = devops.call("create_claim", unknown).await.expect("an answer");
    assert!(refused.refused, "{refused:?}");
    let shell = |words: &[&str]| bench.hm(words);
    let made = shell(&[
        "claim",
        "create",
        "the heap is fast",
        "--scope",
        "src",
        "--ask",
        "analyst",
        "--unless-objection-minutes",
        "60",
        "--agent",
        "devops",
    ]);
    assert!(made.status.success(), "{made:?}");
    let listed = analyst.read("hivemind://attention").await.expect("it");
    assert_eq!(listed.matches("- question, analyst's move").count(), 3, "{listed}");
}

#[test]
fn the_id_of_a_contradiction_can_be_opened() {
    let mut shell = Shell::new();
    shell.transcript("hm claim create \"the pool size is 20\" --scope src --agent devops");
    shell.transcript("hm claim create \"the pool size is 50\" --scope src --agent analyst");
    let listed = shell.json("hm contradictions --json");
    let id = listed["contradictions"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(
        listed["contradictions"][0]["moves"].as_object().expect("moves").keys().collect::<Vec<_>>(),
        ["analyst", "devops"]
    );
    let shown = shell.run("hm contradictions show x1");
    let shown = String::from_utf8(shown.stdout).expect("text");
    assert!(shown.contains("the pool size is 20") && shown.contains("devops's move"), "{shown}");
    let wrong = shell.run(&format!("hm claim show {id}"));
    let wrong = String::from_utf8(wrong.stderr).expect("text");
    assert!(!wrong.contains("no claim has the id") && wrong.contains("hm contradictions show X1"), "{wrong}");
}

/// Red before: where the operator stands by a claim, an objection is only proposed, and silence agreed over it.
#[test]
fn silence_agrees_over_no_objection_that_waits_for_the_operator() {
    let mut team = Team::new();
    let make = |team: &mut Team, statement: &str| {
        let made = Submission { agent: agent("operator"), ..asking(statement, &["analyst"], Some(30)) };
        team.does(&made);
        claim_of(&made)
    };
    let dismiss = |team: &mut Team, claim_id| {
        team.does(&request("operator", Command::KeepClaim(KeepClaim { claim_id, reason: None })));
    };
    let silent = make(&mut team, "nothing stands against it");
    let waits = make(&mut team, "an objection waits");
    team.takes("analyst", waits, Position::Challenge);
    let dismissed = make(&mut team, "an objection was dismissed");
    team.takes("analyst", dismissed, Position::Challenge);
    dismiss(&mut team, dismissed);
    let not_asked = make(&mut team, "an agent that was not asked objects");
    team.takes("reviewer", not_asked, Position::Challenge);
    let end = make(&mut team, "the architect would end it");
    let reason = "it grew".parse().expect("a reason");
    team.does(&request("architect", Command::DeprecateClaim(DeprecateClaim { claim_id: end, reason })));
    let until = Some(START_MS + 30 * 60_000);
    assert_eq!(
        [silent, waits, dismissed, not_asked, end].map(|id| team.claim(id).objection_until),
        [until, None, None, until, until]
    );
    team.at_minute(30);
    assert_eq!(team.sweeps(), 1);
    assert_eq!(
        [silent, waits, dismissed, not_asked, end].map(|id| team.status(id)),
        [Status::Confirmed, Status::Proposed, Status::Proposed, Status::Proposed, Status::Proposed]
    );
    // What stood against it when its time was over ended the silence, and is shown. Settled later, it stays a proposal.
    assert!(team.shows(not_asked).contains("reviewer asked the operator to challenge it"));
    dismiss(&mut team, not_asked);
    assert_eq!((team.sweeps(), team.status(not_asked)), (0, Status::Proposed));
}

/// Red before: with nobody asked, any agent took a claim out of force by waiting.
#[test]
fn silence_replaces_nothing_of_an_owner_that_was_not_asked() {
    let mut team = Team::new();
    let old = request("analyst", Command::CreateClaim(fact("the cache holds 20 entries")));
    team.does(&old);
    let create = CreateClaim {
        supersedes: Some(claim_of(&old)),
        unless_objection_minutes: Some(30),
        ..fact("the cache is gone")
    };
    let refused = team.hands_in(&request("devops", Command::CreateClaim(create.clone())));
    let refused = refused.expect_err("its owner was not asked");
    assert!(refused.message.contains("add analyst to asks"), "{refused}");
    // The owner itself takes nothing from another agent.
    team.does(&request("analyst", Command::CreateClaim(create)));
}

/// Red before: silence put a claim in the place of one that a run has shown.
#[test]
fn silence_replaces_no_proved_claim() {
    let mut team = Team::new();
    let old = request("analyst", Command::CreateClaim(fact("the cache holds 20 entries")));
    team.does(&old);
    let Command::CreateClaim(create) = asking("the cache is gone", &["analyst"], Some(30)).command else {
        panic!()
    };
    let new = CreateClaim { supersedes: Some(claim_of(&old)), ..create };
    let new = request("devops", Command::CreateClaim(new));
    team.does(&new);
    let mut state = folded(&team.workspace.events());
    let later = team.now().plus_minutes(30);
    let is_link = |event: &Event| matches!(event, Event::ClaimSuperseded(_));
    let agreed = |state: &hivemind::domain::state::State| {
        let events = decide::agree(state, claim_of(&new), later);
        assert!(matches!(&events[0], Event::StatusChanged(change) if change.by_silence), "{events:?}");
        events
    };
    assert!(agreed(&state).iter().any(is_link));
    let recorded = |seq: u64, by: &str, event: Event| Recorded {
        seq,
        id: EventId::from_uuid(system::new_id()),
        agent: agent(by),
        session: None,
        causation: CommandId::from_uuid(system::new_id()),
        at: later,
        event: Some(event),
        erased: None,
    };
    let proof = StatusChanged {
        claim_id: claim_of(&old),
        from: Status::PendingProof,
        to: Status::Confirmed,
        reason: "proof".parse().expect("a reason"),
        by_silence: false,
        keeps_proof: false,
        leaves_open: Vec::new(),
    };
    state.evolve(&recorded(1_000, "system", proof.into()));
    let events = agreed(&state);
    assert!(!events.iter().any(is_link), "it is agreed, and the proved claim stands");
    // Red before: nothing said that it stands.
    let Event::StatusChanged(agreement) = &events[0] else { panic!("{events:?}") };
    assert!(agreement.reason.as_str().contains("was shown by a run"), "{}", agreement.reason);
    for (seq, event) in (1_001..).zip(events) {
        state.evolve(&recorded(seq, "system", event));
    }
    // Red before: after silence had left it, an abstention replaced it, the owner's own included.
    let takes = |by: &str, held| {
        let taken = position(by, claim_of(&new), held);
        let policy = Policy::default();
        decide::decide(&state, &taken.agent, None, &decide::Facts::default(), &taken.command, later, &policy)
            .expect("it")
    };
    // Nor does a vote, unless it is the operator's.
    for (by, held, replaces) in [
        ("devops", Position::Abstain, false),
        ("reviewer", Position::Abstain, false),
        ("reviewer", Position::Support, false),
        ("operator", Position::Support, true),
    ] {
        let decided = takes(by, held);
        assert_eq!(decided.events.iter().any(is_link), replaces, "{by}: {:?}", decided.events);
    }
}

/// Red before: once the operator stood by the old claim no more, any agent that abstained put it out of force.
#[test]
fn an_abstention_replaces_nothing() {
    let mut team = Team::new();
    let old = request("analyst", Command::CreateClaim(fact("the cache holds 20 entries")));
    team.does(&old);
    team.takes("operator", claim_of(&old), Position::Support);
    let create = CreateClaim { supersedes: Some(claim_of(&old)), ..fact("the cache is gone") };
    let new = request("devops", Command::CreateClaim(create));
    team.does(&new);
    team.takes("reviewer", claim_of(&new), Position::Support);
    let proposed = |team: &Team| team.kinds().iter().filter(|kind| *kind == "override.proposed").count();
    let before = proposed(&team);
    team.takes("frontend", claim_of(&new), Position::Abstain);
    assert_eq!(proposed(&team), before);
    team.takes("operator", claim_of(&old), Position::Abstain);
    team.takes("frontend", claim_of(&new), Position::Abstain);
    assert_eq!((proposed(&team), team.status(claim_of(&old))), (before, Status::Proposed));
    team.takes("architect", claim_of(&new), Position::Support);
    assert_eq!(team.status(claim_of(&old)), Status::Deprecated, "a support that counts does");
}

/// Red before: the receipt promised silence in 30 min, and attention in 0s for ever.
#[test]
fn silence_is_not_promised_where_the_operator_is_waited_for() {
    let mut team = Team::new();
    let word = request("operator", Command::CreateClaim(fact("the log stays")));
    team.does(&word);
    let Command::CreateClaim(create) = asking("no log", &["analyst", "operator"], Some(30)).command else {
        panic!()
    };
    let new = CreateClaim { supersedes: Some(claim_of(&word)), ..create };
    let new = request("devops", Command::CreateClaim(new));
    let next = team.does(&new).next.expect("what is next");
    assert!(next.contains("waits for the operator") && !next.contains("in 30 min"), "{next}");
    let config = Config::load(&team.workspace.config()).expect("a configuration");
    for minute in [1, 40] {
        team.at_minute(minute);
        assert_eq!(team.sweeps(), 0);
        assert_eq!(team.claim(claim_of(&new)).objection_until, None);
        let view = View::Attention(Some(agent("analyst")));
        let shown = answer(&mut team.reads(), &config, &view, team.now()).expect("an answer").text;
        assert!(
            shown.contains("question, analyst's move") && !shown.contains("agreed by silence in"),
            "{shown}"
        );
        assert!(shown.contains("waits for the operator"), "{shown}");
    }
    // The operator stands by it no more: silence goes on.
    team.takes("operator", claim_of(&new), Position::Support);
    assert_eq!(team.status(claim_of(&word)), Status::Deprecated);
}

/// Red before: a writer that came late agreed to a claim whose time was over, and then ended it.
#[test]
fn silence_agrees_to_nothing_whose_time_is_over() {
    let mut team = Team::new();
    let brief = |statement: &str, minutes| {
        let Command::CreateClaim(create) = asking(statement, &[], Some(minutes)).command else { panic!() };
        request("devops", Command::CreateClaim(CreateClaim { ttl_hours: Some(Hours(1)), ..create }))
    };
    let made = brief("the port is free for an hour", 59);
    team.does(&made);
    team.at_minute(60);
    assert_eq!(team.sweeps(), 0);
    assert_eq!(team.claim(claim_of(&made)).history.len(), 1, "nothing but its creation");
}

/// Red before: the time for objections could end after the claim.
#[test]
fn the_time_for_objections_ends_before_the_claim() {
    let mut team = Team::new();
    let Command::CreateClaim(create) = asking("the port is free", &[], Some(60)).command else { panic!() };
    let brief = CreateClaim { ttl_hours: Some(Hours(1)), ..create.clone() };
    let refused = team.hands_in(&request("devops", Command::CreateClaim(brief))).expect_err("refused");
    assert!(refused.to_string().contains("its time ends after 60 minutes"), "{refused}");
    // A hypothesis lives for a week, said or not: as long as the longest time for objections.
    let guess = CreateClaim {
        claim_type: ClaimType::Hypothesis,
        unless_objection_minutes: Some(10_080),
        ..create.clone()
    };
    team.hands_in(&request("devops", Command::CreateClaim(guess))).expect_err("refused");
    team.does(&request("devops", Command::CreateClaim(CreateClaim { ttl_hours: Some(Hours(2)), ..create })));
}

/// Red before: a claim said `agreed by silence at` after an objection had ended the silence for good.
#[test]
fn no_read_promises_a_silence_that_is_over() {
    let mut team = Team::new();
    let make = |team: &mut Team, statement: &str, asks: &[&str]| {
        let made = asking(statement, asks, Some(30));
        team.does(&made);
        claim_of(&made)
    };
    let asked = make(&mut team, "an agent that was asked withdrew", &["analyst", "reviewer"]);
    let any = make(&mut team, "any agent was asked", &[]);
    let other = make(&mut team, "a bystander objected for a while", &["reviewer"]);
    for claim in [asked, any, other] {
        team.takes("analyst", claim, Position::Challenge);
        team.takes("analyst", claim, Position::Abstain);
    }
    let until = Some(START_MS + 30 * 60_000);
    assert_eq!([asked, any, other].map(|id| team.claim(id).objection_until), [None, None, until]);
    let questions: Vec<_> = team.asked("reviewer").into_iter().map(|question| question.until).collect();
    assert_eq!(questions, [None, until]);
    team.at_minute(30);
    assert_eq!(team.sweeps(), 1);
    assert_eq!(team.claim(other).objection_until, None, "it is agreed");
}

fn report(by: &str, kind: ReportKind, paths: &[&str]) -> (EventId, Submission) {
    let event_id = EventId::from_uuid(system::new_id());
    let report = ReportEvent {
        event_id,
        kind,
        summary: "what was seen".parse().expect("a summary"),
        paths: paths.iter().map(|path| path.parse().expect("a path")).collect(),
        command: None,
        exit_code: None,
        error_signature: None,
    };
    (event_id, request(by, Command::ReportEvent(report)))
}

/// Red before: all but the first were agreed by silence while that stood against them.
#[test]
fn silence_confirms_nothing_while_something_stands_against_it() {
    let mut team = Team::new();
    let make = |team: &mut Team, statement: &str, scope: &str| {
        let Command::CreateClaim(create) = asking(statement, &[], Some(30)).command else { panic!() };
        let scopes = vec![scope.parse().expect("a scope")];
        let made = request("devops", Command::CreateClaim(CreateClaim { scopes, ..create }));
        team.does(&made);
        claim_of(&made)
    };
    let free = make(&mut team, "nothing stands against it", "src/free.py");
    let size = make(&mut team, "the core limit is 20", "src/core.py");
    let other =
        CreateClaim { scopes: vec!["src/core.py".parse().expect("a scope")], ..fact("the core limit is 30") };
    team.does(&request("analyst", Command::CreateClaim(other)));
    let evidence = make(&mut team, "the cache is warm at noon", "src/cache.py");
    let (seen, reported) = report("analyst", ReportKind::Finding, &[]);
    team.does(&reported);
    let against = AddEvidence {
        claim_id: evidence,
        evidence_ref: seen.into(),
        relation: Relation::Contradicts,
        weight: Share::FULL,
        note: None,
    };
    team.does(&request("analyst", Command::AddEvidence(against)));
    let rival = make(&mut team, "vendoring takes an hour", "src/vendor.py");
    let successor = CreateClaim {
        scopes: vec!["src/vendor.py".parse().expect("a scope")],
        supersedes: Some(rival),
        ..fact("nothing is vendored any more")
    };
    team.does(&request("analyst", Command::CreateClaim(successor)));
    let edited = make(&mut team, "the parser reads one pass", "src/parser.py");
    team.does(&report("analyst", ReportKind::FileEdited, &["src/parser.py"]).1);
    let (failed, made) = decision("devops", "we queue with Redis", "queue", Some(30));
    team.does(&made);
    let outcome = RecordOutcome { decision_id: failed, outcome: Outcome::Failure, notes: None };
    team.does(&request("analyst", Command::RecordOutcome(outcome)));
    let operators = make(&mut team, "the port is 7001", "src/port.py");
    let said =
        CreateClaim { scopes: vec!["src/port.py".parse().expect("a scope")], ..fact("the port is 7009") };
    team.does(&request("operator", Command::CreateClaim(said)));
    // What stood against it is gone in time.
    let mended = make(&mut team, "the retry limit is 3", "src/retry.py");
    let wrong = CreateClaim {
        scopes: vec!["src/retry.py".parse().expect("a scope")],
        ..fact("the retry limit is 5")
    };
    let wrong = request("analyst", Command::CreateClaim(wrong));
    team.does(&wrong);
    let reason = "I misread it".parse().expect("a reason");
    team.does(&request(
        "analyst",
        Command::DeprecateClaim(DeprecateClaim { claim_id: claim_of(&wrong), reason }),
    ));
    assert!(team.shows(size).contains("silence: held"), "{}", team.shows(size));
    assert!(team.shows(free).contains("silence: agreed at"), "{}", team.shows(free));

    team.at_minute(30);
    assert_eq!(team.sweeps(), 2);
    assert_eq!([free, mended].map(|id| team.status(id)), [Status::Confirmed; 2]);
    for (claim, why) in [
        (size, "a contradiction with"),
        (evidence, "evidence contradicts it"),
        (rival, "is to take its place"),
        (edited, "`src/parser.py` was changed by analyst"),
        (failed, "its outcome is failure"),
        (operators, "a contradiction with"),
    ] {
        let view = team.claim(claim);
        assert_eq!(view.summary.status, Status::Proposed, "{why}");
        let shown = team.shows(claim);
        assert!(shown.contains("silence: held") && shown.contains(why), "{why}: {shown}");
        assert_eq!(view.objection_until, None, "{why}");
    }
}

/// Red before: a pane that was alone had its own claims confirmed by a silence of no agent.
#[test]
fn the_silence_of_no_agent_agrees_to_nothing() {
    let mut team = Team::alone();
    team.comes("devops");
    let make = |team: &mut Team, statement: &str, asks: &[&str]| {
        let made = asking(statement, asks, Some(30));
        team.does(&made);
        claim_of(&made)
    };
    let any = make(&mut team, "I build it with a heap", &[]);
    let asked = make(&mut team, "I drop the cache", &["analyst"]);
    // A command of the operator shows no agent that reads.
    team.comes("operator");
    team.at_minute(31);
    assert_eq!(team.sweeps(), 0);
    for claim in [any, asked] {
        assert_eq!(team.status(claim), Status::Proposed);
    }
    assert!(team.shows(any).contains("no other agent was there"), "{}", team.shows(any));
    assert!(team.shows(asked).contains("analyst was not there"), "{}", team.shows(asked));
    // One that comes in time is there, and one that comes late is not. Who was not asked does not count for who was.
    let any = make(&mut team, "I build it with a tree", &[]);
    let asked = make(&mut team, "I keep the log", &["analyst"]);
    team.at_minute(40);
    team.comes("reviewer");
    team.at_minute(62);
    team.comes("analyst");
    assert_eq!(team.sweeps(), 1);
    assert_eq!([any, asked].map(|id| team.status(id)), [Status::Confirmed, Status::Proposed]);
    // A session that is still open counts.
    let later = make(&mut team, "I drop the log", &["analyst"]);
    team.at_minute(100);
    assert_eq!((team.sweeps(), team.status(later)), (1, Status::Confirmed));
}

/// Red before: another agent that was asked too was enough, and the owner never heard of it.
#[test]
fn silence_replaces_nothing_of_an_owner_that_was_not_there() {
    let mut team = Team::alone();
    team.comes("reviewer");
    let old = request("analyst", Command::CreateClaim(fact("the cache holds 20 entries")));
    team.does(&old);
    let replaces = |statement: &str| {
        let asked = asking(statement, &["analyst", "reviewer"], Some(30));
        let Command::CreateClaim(create) = asked.command else { panic!() };
        request("devops", Command::CreateClaim(CreateClaim { supersedes: Some(claim_of(&old)), ..create }))
    };
    let new = replaces("the cache is gone");
    team.does(&new);
    team.at_minute(30);
    assert_eq!(team.sweeps(), 0);
    assert_eq!([&old, &new].map(|made| team.status(claim_of(made))), [Status::Proposed; 2]);
    let shown = team.shows(claim_of(&new));
    assert!(shown.contains("analyst, whose claim it would replace, was not there"), "{shown}");
    let again = replaces("the cache is gone for good");
    team.does(&again);
    team.at_minute(40);
    team.comes("analyst");
    team.at_minute(60);
    assert_eq!(team.sweeps(), 1);
    assert_eq!(team.status(claim_of(&old)), Status::Deprecated);
}

/// Red before: the second replacement asked nobody, and silence confirmed it.
#[test]
fn a_challenger_that_did_not_answer_is_asked_about_each_successor() {
    let shell = Shell::new();
    let hm = |line: &str| shell.run(&format!("hm {line}"));
    let done = |line: &str| {
        let output = hm(line);
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8").replace("\n    ", " ")
    };
    done("--agent devops claim create \"the retry is safe\" --scope src/calc.py");
    done("--agent reviewer claim challenge C1 \"it charges twice\"");
    done("--agent devops claim create \"the retry is safe, really\" --scope src/calc.py --supersedes C1");
    let silent = hm(
        "--agent devops claim create \"the retry is safe, and so on\" --scope src/calc.py --supersedes C2 \
        --unless-objection-minutes 1 --ask analyst",
    );
    let refusal = String::from_utf8(silent.stderr).expect("UTF-8");
    assert!(refusal.contains("reviewer challenges claim C1, and silence does not end"), "{refusal}");
    done("--agent devops claim create \"the retry is safe, and so on\" --scope src/calc.py --supersedes C2");
    let asked = done("--agent reviewer attention");
    assert!(
        asked.contains(
            "`C3` `C1` devops replaced a claim that you challenged, and your challenge ended with it"
        ),
        "{asked}"
    );
    done("--agent reviewer claim abstain C3");
    done(
        "--agent devops claim create \"the retry is safe, that is all\" --scope src/calc.py --supersedes C3",
    );
    assert!(done("--agent reviewer attention").starts_with("Nothing needs reviewer now."), "it has answered");
    shell.assert_rebuilds_to_the_same();
}
