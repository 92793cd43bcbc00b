//! What a session learns that was not there: its first context tells what was decided, found out and measured, and what is
//! open.

use hivemind::domain::claim::{ClaimType, Position};
use hivemind::domain::command::{
    Alternative, ClaimTask, Command, CreateClaim, DeprecateClaim, RecordDecision, Submission, TakePosition,
    UpdateTask,
};
use hivemind::domain::decide::Policy;
use hivemind::domain::ids::{ClaimId, CommandId};
use hivemind::domain::plan::TaskStatus;
use hivemind::domain::time::Timestamp;
use hivemind::reads::Reads;
use hivemind::system;
use hivemind::views::{ContextOf, View, shortened};
use hivemind::writer::Committer;
use roxmltree::{Document, Node};

use crate::answers::answer;
use crate::context::config;
use crate::harness::{TempWorkspace, added_task, agent, fact, fixed_sources, request};

struct Finished {
    workspace: TempWorkspace,
    committer: Committer,
}

impl Finished {
    fn new() -> Self {
        let workspace = TempWorkspace::new();
        let committer =
            Committer::open(&workspace, Policy::default(), fixed_sources(1)).expect("a workspace");
        Self { workspace, committer }
    }

    fn does(&mut self, who: &str, command: Command) {
        let submission = Submission {
            command_id: CommandId::from_uuid(system::new_id()),
            session: Some(format!("s-{who}").parse().expect("a session")),
            ..request(who, command)
        };
        let answers = self.committer.commit(&[submission]).expect("a ledger");
        answers.into_iter().for_each(|answer| drop(answer.expect("an accepted command")));
    }

    fn claims(&mut self, who: &str, statement: &str, change: impl FnOnce(&mut CreateClaim)) -> ClaimId {
        let mut create = CreateClaim {
            claim_id: ClaimId::from_uuid(system::new_id()),
            scopes: vec!["src/pool.rs".parse().expect("a scope")],
            ..fact(statement)
        };
        change(&mut create);
        let id = create.claim_id;
        self.does(who, Command::CreateClaim(create));
        id
    }

    fn decides(&mut self, who: &str, statement: &str, supersedes: Vec<ClaimId>) -> ClaimId {
        let claim_id = ClaimId::from_uuid(system::new_id());
        let decision = RecordDecision {
            claim_id,
            statement: Some(statement.parse().expect("a statement")),
            rationale: "the analyst measured it under load".parse().expect("a rationale"),
            context: None,
            target: None,
            scopes: vec!["src/pool.rs".parse().expect("a scope")],
            alternatives: Vec::new(),
            supersedes,
            mends: false,
            evidence_refs: Vec::new(),
            decided_at: None,
            asks: Vec::new(),
            unless_objection_minutes: None,
        };
        self.does(who, Command::RecordDecision(decision));
        claim_id
    }

    fn supports(&mut self, who: &str, claim_id: ClaimId, reason: &str) {
        let reason = Some(reason.parse().expect("a reason"));
        let position = TakePosition { claim_id, position: Position::Support, reason, evidence_ref: None };
        self.does(who, Command::TakePosition(position));
    }

    /// A task from its beginning to its end.
    fn does_task(&mut self, who: &str, title: &str, result: &str) {
        let add = added_task(title);
        let task_id = add.task_id;
        self.does(who, Command::AddTask(add));
        self.does(
            who,
            Command::ClaimTask(ClaimTask { task_id, lease_minutes: None, file_locks: Vec::new() }),
        );
        let (note, status) = (Some(result.parse().expect("a note")), TaskStatus::Done);
        self.does(who, Command::UpdateTask(UpdateTask { task_id, status, note, fencing_token: None }));
    }

    fn name(&self, id: ClaimId) -> String {
        shortened(&mut Reads::of(self.workspace.clone()), &id.to_string()).into_owned()
    }

    fn page(&self, view: &View) -> String {
        let now = (fixed_sources(1).clock)();
        let mut reads = Reads::of(self.workspace.clone());
        answer(&mut reads, &config(), view, Timestamp::from_ms(now.ms() + 1)).expect("a page").text
    }

    fn context(&self, who: &str, session: &str) -> String {
        let of = ContextOf {
            intent: Some("how the pool in src/pool.rs works, which bugs it had, and what is open".to_owned()),
            ..ContextOf::new(agent(who), Some(session.to_owned()))
        };
        let now = (fixed_sources(1).clock)();
        let mut reads = Reads::of(self.workspace.clone());
        answer(&mut reads, &config(), &View::Context(of), Timestamp::from_ms(now.ms() + 1))
            .expect("a context")
            .text
    }
}

/// The claims of one part of a context.
fn part<'d>(context: &'d Document<'_>, name: &str) -> Vec<Node<'d, 'd>> {
    let part = context.descendants().find(|node| node.has_tag_name(name));
    part.into_iter().flat_map(|part| part.children().filter(Node::is_element)).collect()
}

fn claim<'d>(of: &[Node<'d, 'd>], id: &str) -> Node<'d, 'd> {
    let found = of.iter().find(|node| node.attribute("id") == Some(id));
    *found.unwrap_or_else(|| panic!("no {id} in {of:?}"))
}

#[test]
fn many_questions_leave_the_first_context_to_what_they_are_about() {
    let mut team = Finished::new();
    let asks = |claim: &mut CreateClaim| claim.asks = vec![agent("newcomer")];
    let chatter = "devops: please commit what you have now, rough or not, and say so here; I merge at noon. ";
    let mut asked = Vec::new();
    for number in 1..=6 {
        let statement = format!("{number}: {}", chatter.repeat(8));
        asked.push(team.claims("devops", &statement, asks));
    }
    let figure = team.claims("analyst", "take() costs 95 ns, give() 90 ns, under 16 threads 0.4 us", asks);
    let bug = team.claims("analyst", "I reviewed the pool: it gives a slot out twice after a panic", asks);
    let named = team.name(bug);
    team.claims("devops", &format!("the panic of {named} is handled, 31 tests pass"), |_| ());

    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(!text.contains("<question"), "{text}");
    let names = context.descendants().find(|node| node.has_tag_name("asked")).and_then(|node| node.text());
    let names: Vec<&str> = names.unwrap_or_default().split_whitespace().collect();
    for id in asked.iter().chain([&figure, &bug]) {
        assert!(names.contains(&team.name(*id).as_str()), "{text}");
    }
    claim(&part(&context, "figures"), &team.name(figure));
    let findings = part(&context, "findings");
    claim(&findings, &named);
    assert!(
        findings.iter().any(|node| node.text().is_some_and(|text| text.contains("31 tests pass"))),
        "{text}"
    );

    // Few questions are shown whole.
    let mut few = Finished::new();
    few.claims("devops", chatter, asks);
    assert!(few.context("newcomer", "s-new").contains("<question "));
}

#[test]
fn a_decision_that_refers_to_its_predecessor_tells_what_that_said() {
    let mut team = Finished::new();
    let first = "errors: the caller that opens the slot raises the original error, and all callers that wait for the \
                 slot get a copy of it with the original as its cause";
    let replaced = team.decides("architect", first, Vec::new());
    let named = team.name(replaced);
    team.decides("architect", &format!("errors: as {named}, but without a copy"), vec![replaced]);
    let text = team.context("newcomer", "s-new");
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(first), "{text}");
}

#[test]
fn the_first_context_tells_decisions_findings_figures_and_what_is_open() {
    let mut team = Finished::new();
    let decided = ClaimId::from_uuid(system::new_id());
    team.does(
        "architect",
        Command::RecordDecision(RecordDecision {
            claim_id: decided,
            statement: Some("the pool is a ring of slots".parse().expect("a statement")),
            rationale: "a slot is found without a lock".parse().expect("a rationale"),
            context: None,
            target: None,
            scopes: vec!["src/pool.rs".parse().expect("a scope")],
            alternatives: vec![Alternative {
                claim_id: ClaimId::from_uuid(system::new_id()),
                statement: Some("a free list".parse().expect("a statement")),
                rejection_reason: "one lock for all threads".parse().expect("a reason"),
            }],
            supersedes: Vec::new(),
            mends: false,
            evidence_refs: Vec::new(),
            decided_at: None,
            asks: Vec::new(),
            unless_objection_minutes: None,
        }),
    );
    let bug = team.claims("analyst", "BUG: a slot that is closed twice is given out twice", |_| ());
    let other = team.claims("analyst", "Regression: the pool leaks a slot when a handler panics", |_| ());
    let named = team.name(bug);
    team.supports("architect", other, "seen in the log of the last night: 14 of 2,000 slots");
    team.claims("devops", &format!("close() marks the slot now, so {named} is fixed (3f2a901)"), |_| ());
    let first = "take() costs 210 ns, give() 180 ns, under 16 threads 1.9 us and 1.7 us";
    let measured = team.claims("analyst", first, |_| ());
    let again = "take() costs 95 ns, give() 90 ns, under 16 threads 0.4 us and 0.3 us";
    let last = team.claims("analyst", again, |claim| claim.supersedes = Some(measured));
    let guess = team.claims("devops", "a ring of 64 slots is enough for all", |claim| {
        claim.claim_type = ClaimType::Hypothesis;
    });

    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let decision = claim(&part(&context, "decisions"), &team.name(decided));
    assert_eq!(
        decision.text(),
        Some(
            "the pool is a ring of slots; why: a slot is found without a lock; rejected: a free list (one lock for \
             all threads)"
        )
    );
    assert_eq!(text.matches("a free list").count(), 1, "{text}");
    let findings = part(&context, "findings");
    let state = claim(&findings, &named).attribute("state").expect("a state");
    assert!(state.starts_with("mended: C"), "{text}");
    let open = claim(&findings, &team.name(other));
    assert_eq!(open.attribute("state"), Some("no mend on record"), "{text}");
    assert!(text.contains("architect support: seen in the log of the last night"), "{text}");
    let figures = part(&context, "figures");
    assert_eq!(figures.len(), 1, "{text}");
    let figure = claim(&figures, &team.name(last)).text().unwrap_or_default();
    assert!(
        figure.starts_with(again) && figure.ends_with(&format!("; instead of {}", team.name(measured))),
        "{text}"
    );
    claim(&part(&context, "open"), &team.name(guess));

    // The session that claims something works here, and what it asks for is sorted by relevance alone.
    let at_work = team.context("devops", "s-devops");
    assert!(at_work.contains("<relevant_claims n=") && !at_work.contains("<decisions"), "{at_work}");
}

/// The words of an element, without the breaks of long lines.
fn words_of(node: Node<'_, '_>) -> String {
    node.text().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Red before: a dead end took a paragraph, and those elsewhere only spare room.
#[test]
fn each_dead_end_is_one_line_with_what_to_do_instead() {
    let mut team = Finished::new();
    let middle =
        "It was tried with two kernels and with three file systems, each time with the same end. ".repeat(4);
    let mut failed = Vec::new();
    for number in 1..=6 {
        let statement =
            format!("attempt {number} with mmap ends in SIGBUS. {middle}Use pread number {number} instead.");
        failed.push(team.claims("devops", &statement, |claim| {
            claim.claim_type = ClaimType::Negative;
            claim.scopes = vec![format!("lib/part{number}.rs").parse().expect("a scope")];
        }));
    }
    for number in 1..=12 {
        team.claims("architect", &format!("rule {number} of the pool: BUG {}", "word ".repeat(150)), |_| ());
    }
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let lines = part(&context, "anti_patterns");
    assert_eq!(lines.len(), failed.len(), "{text}");
    for (line, number) in lines.iter().rev().zip(1..) {
        let words = words_of(*line);
        assert!(words.starts_with(&format!("attempt {number} with mmap ends in SIGBUS.")), "{words}");
        assert!(words.ends_with(&format!("Use pread number {number} instead.")), "{words}");
        assert!(words.chars().count() < 310, "{words}");
    }
}

/// Red before: an amendment with figures stood among the figures, and an answer far from its request.
#[test]
fn a_claim_that_amends_another_one_stands_right_behind_it() {
    let mut team = Finished::new();
    let decides = |claim: &mut CreateClaim| claim.claim_type = ClaimType::Decision;
    let first = team.claims("architect", "frames: at most 16 MiB, then the payload", decides);
    let second = team.claims("architect", "retries: three, then the caller gets the error", decides);
    let amends = format!("{} amended: 64 MiB, not 16 MiB, for frames of 40 MiB", team.name(first));
    let amends = team.claims("architect", &amends, |_| ());
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let ids: Vec<String> = part(&context, "decisions")
        .iter()
        .filter_map(|node| Some(node.attribute("id")?.to_owned()))
        .collect();
    let at = |id: ClaimId| ids.iter().position(|shown| *shown == team.name(id)).expect("a decision");
    assert_eq!(at(amends), at(first) + 1, "{ids:?}");
    assert_eq!(ids.len(), 3, "{ids:?}");
    assert!(at(second) < 3, "{ids:?}");
}

/// Red before: the text of a superseded decision stood behind its successor as if both held.
#[test]
fn the_text_of_what_was_replaced_is_left_out_or_in_quotes() {
    let mut team = Finished::new();
    team.claims("analyst", "BUG: a slot leaks", |_| ());
    let timeout = team.claims("architect", "timeout: one watchdog thread for each call", |_| ());
    let retries = team.claims("architect", "retries: three attempts with a wait of 50 ms", |_| ());
    team.claims("architect", "timeout: for the whole call, without a thread", |claim| {
        claim.supersedes = Some(timeout);
    });
    let named = team.name(retries);
    team.claims("architect", &format!("retries: not for a full disk; rest of {named} stands"), |claim| {
        claim.supersedes = Some(retries);
    });
    let text = team.context("newcomer", "s-new").replace("\n    ", " ");
    assert!(!text.contains("watchdog"), "{text}");
    assert!(text.contains(&format!("without a thread; instead of {}<", team.name(timeout))), "{text}");
    let was = format!("instead of {named} (was: \"retries: three attempts with a wait of 50 ms\")");
    assert!(text.contains(&was), "{text}");
}

/// Red before: of a decision that another one superseded there was only the name, and others may have built what it said.
#[test]
fn a_decision_tells_what_the_one_before_it_said() {
    let mut team = Finished::new();
    let both = "frames: length before payload.";
    let first = team.decides("architect", &format!("{both} Lengths are 16 bit, big endian"), Vec::new());
    team.decides("architect", &format!("{both} They are varints from now on"), vec![first]);
    let text = team.context("newcomer", "s-new").replace("\n    ", " ");
    let was = format!("instead of {} (was: \"Lengths are 16 bit, big endian\")", team.name(first));
    assert!(text.contains(&was), "{text}");
}

/// Red before: reviews and acceptances had a state, and a mended bug did not say how.
#[test]
fn a_bug_says_how_it_was_mended_and_a_review_has_no_state() {
    let mut team = Finished::new();
    let bug = team.claims("analyst", "BUG: take() deadlocks when a handler gives back", |_| ());
    let review = team.claims("architect", "Review of src/pool.rs: the count is never reset", |_| ());
    let accepted = team.claims("architect", "Accepted at 3f2a901: no deadlock is left", |_| ());
    let (bug, review) = (team.name(bug), team.name(review));
    let mend = team.claims("devops", &format!("{bug} fixed: the handler runs after the release"), |_| ());
    team.claims("devops", &format!("the point of {review} is done: give() resets it"), |_| ());
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let findings = part(&context, "findings");
    let line = claim(&findings, &bug);
    assert_eq!(line.attribute("state"), Some(format!("mended: {}", team.name(mend)).as_str()), "{text}");
    let how = format!("; mended by devops: {bug} fixed: the handler runs after the release");
    assert!(words_of(line).ends_with(&how), "{text}");
    assert_eq!(text.matches("runs after the release").count(), 1, "{text}");
    for id in [&review, &team.name(accepted)] {
        assert_eq!(claim(&findings, id).attribute("state"), None, "{text}");
    }
}

/// Red before: a request stayed open until the asked agent itself took a position on it.
#[test]
fn a_request_that_was_met_is_not_open() {
    let mut team = Finished::new();
    let asks = |claim: &mut CreateClaim| claim.asks = vec![agent("devops")];
    team.claims("analyst", "BUG: a slot leaks", |_| ());
    let by_name = team.claims("analyst", "devops: may two threads take at once?", asks);
    let by_support = team.claims("analyst", "devops: print the number of slots in stats()", asks);
    let waits = team.claims("analyst", "devops: delete the old worktree", asks);
    team.claims("architect", &format!("{}: yes, they may", team.name(by_name)), |_| ());
    let answer = team.claims("devops", "stats() has the number of slots now", |_| ());
    let (met, supported) = (team.name(by_support), "that is what I asked for in");
    team.supports("analyst", answer, &format!("{supported} {met}"));
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let open: Vec<&str> = part(&context, "open").iter().filter_map(|node| node.attribute("id")).collect();
    assert_eq!(open, [team.name(waits)], "{text}");
}

/// Red before: in a history of this size nothing was grouped, and the last ones were counted.
#[test]
fn one_line_of_everything_comes_before_the_long_form_of_anything() {
    let mut team = Finished::new();
    let long = "The reason is that the number of slots was measured under load, and each one took longer. "
        .repeat(7);
    let mut ids = Vec::new();
    for number in 1..=24 {
        ids.push(team.claims("analyst", &format!("BUG {number}: slot {number} leaks. {long}"), |_| ()));
    }
    let last = team.claims("devops", &format!("Do not rename a field of the slot. {long}"), |_| ());
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let findings = part(&context, "findings");
    for id in ids {
        claim(&findings, &team.name(id));
    }
    claim(&part(&context, "relevant_claims"), &team.name(last));
    assert!(text.chars().count() > 6_000, "the room is used: {}", text.chars().count());
}

/// The ids of the claims of one part.
fn ids(context: &Document<'_>, name: &str) -> Vec<String> {
    part(context, name).iter().filter_map(|node| Some(node.attribute("id")?.to_owned())).collect()
}

/// Red before: the list was a defect with `no mend on record`, and a rule that names a failure too.
#[test]
fn a_list_of_tests_is_no_defect() {
    let mut team = Finished::new();
    let bug = team.claims("analyst", "BUG: take() deadlocks when a handler gives back", |_| ());
    let tests =
        "tests/pool.rs has 34 tests: a restart after a crash, a write that fails, a handler that hangs";
    let list = team.claims("devops", tests, |_| ());
    let rule = team.claims("architect", "the caller tries again if a write fails", |_| ());
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let findings = part(&context, "findings");
    assert_eq!(claim(&findings, &team.name(bug)).attribute("state"), Some("no mend on record"), "{text}");
    assert_eq!(text.matches("no mend on record").count(), 1, "{text}");
    let others = part(&context, "relevant_claims");
    for id in [list, rule] {
        assert_eq!(claim(&others, &team.name(id)).attribute("state"), None, "{text}");
    }
}

/// Red before: facts that name a decision stood among the decisions, and an announcement among the figures.
#[test]
fn decisions_are_decisions_and_figures_are_measured() {
    let mut team = Finished::new();
    let decided = team.decides("architect", "frames: at most 16 MiB, then the payload", Vec::new());
    let named = team.name(decided);
    let built = team.claims("devops", &format!("{named} is built in 3f2a901, 31 tests pass"), |_| ());
    let amends = team.claims("architect", &format!("{named} amended: 64 MiB, not 16 MiB"), |_| ());
    let ready = "ready for all: release 0.3 starts in 3 s, takes 12 MB and 40 ms; please look";
    let ready = team.claims("devops", ready, |_| ());
    let scores = team.claims("analyst", "the orders have the scores 0.62, 0.71 and 0.8", |_| ());
    let figure = team.claims("analyst", "take() costs 95 ns, give() 90 ns, under 16 threads 0.4 us", |_| ());
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(ids(&context, "decisions"), [named.clone(), team.name(amends)], "{text}");
    let decisions = part(&context, "decisions");
    assert_eq!(claim(&decisions, &team.name(amends)).attribute("type"), Some("fact"), "{text}");
    assert_eq!(ids(&context, "figures"), [team.name(figure)], "{text}");
    for id in [built, ready, scores] {
        claim(&part(&context, "relevant_claims"), &team.name(id));
    }
}

/// Red before: of several predecessors the last one was shown, though the text amends or names another.
#[test]
fn a_successor_of_several_is_shown_with_the_one_that_it_amends() {
    let mut team = Finished::new();
    let retries =
        team.decides("architect", "retries: three attempts, 0.5 s apart, for the whole call", Vec::new());
    let errors = team.decides("architect", "errors: the caller gets the original error", Vec::new());
    let (named, other) = (team.name(retries), team.name(errors));
    let new =
        format!("retries: 0.25 s apart ({named} said 0.5 s; the rest of it holds), and no copy of an error");
    team.decides("architect", &new, vec![retries, errors]);
    let text = team.context("newcomer", "s-new").replace("\n    ", " ");
    assert!(
        text.contains(&format!("instead of {named} (was: \"retries: three attempts, 0.5 s apart")),
        "{text}"
    );
    assert!(text.contains(&format!(", and of {other}")), "{text}");
}

/// Red before: a successor named the decision alone, or its first characters.
#[test]
fn what_a_replaced_decision_demanded_is_told_with_its_successor() {
    let mut team = Finished::new();
    team.claims("analyst", "BUG: a slot leaks", |_| ());
    let long = "The format was compared with three others under load, and each of them took longer to read. ";
    let musts = "Records MUST be sorted. A reader MUST skip an unknown field.";
    let format = team.decides("architect", &format!("format: lines. {} {musts}", long.repeat(6)), Vec::new());
    let wire = team.decides("architect", "wire: one frame. A frame MUST end with its length.", Vec::new());
    let (format_name, wire_name) = (team.name(format), team.name(wire));
    team.decides("architect", &format!("format: one table; the rest of {format_name} stands"), vec![format]);
    team.decides("architect", "wire: many frames, each with a length before it", vec![wire]);
    let text = team.context("newcomer", "s-new").replace("\n    ", " ");
    assert!(text.contains(&format!("instead of {format_name} (which demanded: \"{musts}\")")), "{text}");
    let over = format!("instead of {wire_name}, and over with it: \"A frame MUST end with its length.\"");
    assert!(text.contains(&over), "{text}");
}

/// Red before: a review had no state, whatever it asked for.
#[test]
fn the_must_of_a_review_is_open_until_it_is_said_to_be_done() {
    let mut team = Finished::new();
    let done = team.claims("architect", "Review of 8af13c2: good. ONE must: give() resets the count", |_| ());
    let open = team.claims("architect", "Review of 9c2e11a: two fixed. ONE must: close the socket", |_| ());
    let none = team.claims("architect", "Review of 77aa001: no MUST, two ideas", |_| ());
    let mend =
        team.claims("devops", &format!("the must of {} is done: it resets it", team.name(done)), |_| ());
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let findings = part(&context, "findings");
    let state = |id: ClaimId| claim(&findings, &team.name(id)).attribute("state").map(str::to_owned);
    assert_eq!(state(done), Some(format!("mended: {}", team.name(mend))), "{text}");
    assert_eq!(state(open).as_deref(), Some("no mend on record"), "{text}");
    assert_eq!(state(none), None, "{text}");
}

/// Red before: the report that something is done stood behind a claim as if it were a reason.
#[test]
fn a_support_that_only_reports_what_is_done_is_no_reason() {
    let mut team = Finished::new();
    let decided = team.decides("architect", "frames: at most 16 MiB, then the payload", Vec::new());
    let named = team.name(decided);
    team.supports("devops", decided, &format!("done: {named}, {named}, e3756ff, 8af13c2, 9c2e11a, 77aa001"));
    let other = team.decides("architect", "the pool is a ring of slots", Vec::new());
    team.supports("devops", other, "a ring of 64 slots held in the run of the last night");
    let text = team.context("newcomer", "s-new");
    assert!(!text.contains("e3756ff") && text.contains("held in the run"), "{text}");
}

/// Red before: a bug did not say how a support mended it, and that a task's result or a later claim names it.
#[test]
fn a_bug_says_each_mend_on_record_and_which_claim_may_be_one() {
    let mut team = Finished::new();
    let supported = team.claims("analyst", "BUG: take() holds the lock while a handler runs", |_| ());
    let named = team.claims("analyst", "BUG: a slot leaks if take() is cancelled", |_| ());
    let done = team.claims("analyst", "BUG: close() closes a slot twice", |_| ());
    let open = team.claims("analyst", "BUG: give() loses a slot", |_| ());
    team.supports("devops", supported, "true; fixed: the lock is released before the handler runs");
    let (called, done_name) = (team.name(named), team.name(done));
    let maybe = team.claims("devops", &format!("a cancelled take() gives back its slot ({called})"), |_| ());
    team.claims("devops", &format!("BUG: as {}, give_all() loses one", team.name(open)), |_| ());
    team.claims("devops", &format!("who looks at {}?", team.name(open)), |_| ());
    team.does_task("devops", "mend close()", &format!("{done_name} fixed: a slot knows that it is closed"));
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let findings = part(&context, "findings");
    let state =
        |id: ClaimId| claim(&findings, &team.name(id)).attribute("state").unwrap_or_default().to_owned();
    assert_eq!(state(supported), "mended: devops", "{text}");
    let how = "; mended by devops: true; fixed: the lock is released before the handler runs";
    assert!(words_of(claim(&findings, &team.name(supported))).ends_with(how), "{text}");
    assert_eq!(state(named), format!("perhaps mended: {} names it", team.name(maybe)), "{text}");
    assert_eq!(state(done), "mended: T1", "{text}");
    let how = format!("; mended by devops: {done_name} fixed: a slot knows that it is closed");
    assert!(words_of(claim(&findings, &done_name)).ends_with(&how), "{text}");
    assert_eq!(state(open), "no mend on record", "{text}");
}

/// Red before: a task that was done had no result, and a defect that was told as a dead end was one for ever.
#[test]
fn a_task_tells_what_came_of_it_and_a_defect_among_the_dead_ends_that_it_is_mended() {
    let mut team = Finished::new();
    let dead_end = |claim: &mut CreateClaim| claim.claim_type = ClaimType::Negative;
    let bugs = ["hangs when the timer raises", "leaks a frame", "runs a handler twice", "loses a slot"];
    let [first, second, third, open] = bugs.map(|bug| {
        let bug = team.claims("analyst", &format!("in tree-two take() {bug}"), dead_end);
        team.supports("devops", bug, "right, I look at it now");
        bug
    });
    let ends = format!("{} to {}", team.name(first), team.name(third));
    team.does_task("devops", "build the pool", &format!("branch two: pool.rs; {ends} mended; needs a merge"));
    let both = format!("{} to {}", team.name(second), team.name(third));
    let later = team.claims("devops", &format!("{both} are fixed in 8af13c2"), |_| ());
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let tasks = part(&context, "done_tasks");
    let result = format!("branch two: pool.rs; {ends} mended; needs a merge");
    assert_eq!(claim(&tasks, "T1").attribute("result"), Some(result.as_str()), "{text}");
    let avoid = part(&context, "anti_patterns");
    let of = |id: ClaimId| {
        let name = team.name(id);
        *avoid.iter().find(|node| node.attribute("claim") == Some(&name)).expect("a dead end")
    };
    let later = format!("mended: {}", team.name(later));
    for (id, state) in [(first, "mended: T1"), (second, later.as_str()), (third, later.as_str())] {
        assert_eq!(of(id).attribute("state"), Some(state), "{text}");
        assert!(!words_of(of(id)).contains("I look at it now"), "{text}");
    }
    assert_eq!(of(open).attribute("state"), None, "{text}");
    assert!(words_of(of(open)).ends_with("because right, I look at it now"), "{text}");
    // Red before: its own page said no word of it.
    let page = |id: ClaimId| team.page(&View::Claim(id));
    assert!(page(first).contains("- mended: so says `T1`\n"), "{}", page(first));
    assert!(!page(open).contains("- mended:"), "{}", page(open));
}

/// Red before: the note of an earlier state was the result, and signs of markup were escaped twice.
#[test]
fn the_result_of_a_task_is_the_note_of_its_end_as_it_was_written() {
    let mut team = Finished::new();
    team.claims("analyst", "BUG: take() deadlocks when a handler gives back", |_| ());
    team.does_task("devops", "build the pool", "Vec<Slot> & no \"lock\" in it");
    let add = added_task("rotate the tokens");
    let task_id = add.task_id;
    team.does("devops", Command::AddTask(add));
    let claim_it = || Command::ClaimTask(ClaimTask { task_id, lease_minutes: None, file_locks: Vec::new() });
    let to = |status, note: Option<&str>| {
        let note = note.map(|note| note.parse().expect("a note"));
        Command::UpdateTask(UpdateTask { task_id, status, note, fencing_token: None })
    };
    team.does("devops", claim_it());
    team.does("devops", to(TaskStatus::Blocked, Some("waits for the host from ops")));
    team.does("devops", claim_it());
    team.does("devops", to(TaskStatus::Done, None));
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let tasks = part(&context, "done_tasks");
    assert_eq!(claim(&tasks, "T1").attribute("result"), Some("Vec<Slot> & no \"lock\" in it"), "{text}");
    assert_eq!(claim(&tasks, "T2").attribute("result"), None, "{text}");
}

/// Red before: a reader who asked what is no longer true had to gather it from the texts of what replaced it.
#[test]
fn what_is_no_longer_true_is_named_with_what_holds_instead() {
    let mut team = Finished::new();
    let first = team.decides("architect", "frames: the length is 16 bit", Vec::new());
    let now = team.decides("architect", "frames: the length is a varint", vec![first]);
    let measured = team.claims("analyst", "take() costs 95 ns, give() 90 ns", |_| ());
    let again = team.claims("analyst", "take() costs 60 ns, give() 55 ns", |claim| {
        claim.supersedes = Some(measured);
    });
    let text = team.page(&View::Context(ContextOf::new(agent("newcomer"), Some("s-new".to_owned()))));
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let replaced =
        context.descendants().find(|node| node.has_tag_name("replaced")).expect("what is replaced");
    let pair = |old, new| format!("{} by {}", team.name(old), team.name(new));
    for pair in [pair(first, now), pair(measured, again)] {
        assert!(words_of(replaced).split(", ").any(|told| told == pair), "{pair}: {text}");
    }
    // Its room belongs to the answers to a question.
    assert!(!team.context("newcomer", "s-new").contains("<replaced>"));
}

/// Red before: in a budget that holds most decisions, the last ones were only counted.
#[test]
fn decisions_are_shorter_before_one_is_left_out() {
    let mut team = Finished::new();
    let long = "each part of it was measured under load, and it holds for the whole release. ".repeat(6);
    let decisions: Vec<ClaimId> =
        (1..=24).map(|at| team.decides("architect", &format!("part {at}: {long}"), Vec::new())).collect();
    team.supports(
        "devops",
        decisions[0],
        "I can build it as it is written there, and I measure the rest of it later",
    );
    let text = team.context("newcomer", "s-new");
    // Who agrees has no room beside decisions that are cut.
    assert!(!text.contains("I measure the rest"), "{text}");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let shown = ids(&context, "decisions");
    for id in decisions {
        assert!(shown.contains(&team.name(id)), "{text}");
    }
}

/// Red before: the first was a figure, the second a defect without a mend.
#[test]
fn an_announcement_is_no_figure_and_what_did_not_happen_is_no_defect() {
    let mut team = Finished::new();
    team.claims("analyst", "BUG: a slot leaks", |_| ());
    let announced =
        "devops: version one is in the pool, I must accept reviews by 09:19; 12 tests take 3 s, 40 ms, 12 MB";
    let announced = team.claims("devops", announced, |_| ());
    let clean = team.claims("analyst", "16 threads on one pool: 0 deadlocks in 10,000 calls", |_| ());
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let others = ids(&context, "relevant_claims");
    for id in [announced, clean] {
        assert!(others.contains(&team.name(id)), "{text}");
    }
    assert_eq!(text.matches("no mend on record").count(), 1, "{text}");
}

/// Red before: no part told a claim that its owner withdrew.
#[test]
fn what_is_no_longer_true_is_told_with_the_reason() {
    let mut team = Finished::new();
    team.claims("analyst", "BUG: a slot leaks", |_| ());
    let replaced = team.claims("architect", "timeout: one watchdog thread for each call", |_| ());
    team.claims("architect", "timeout: for the whole call, without a thread", |claim| {
        claim.supersedes = Some(replaced);
    });
    let wrong = team.claims("analyst", "a copy of the pool shares its slots", |_| ());
    let reason = "copy() makes slots of its own since 3f2a901".parse().expect("a reason");
    team.does("analyst", Command::DeprecateClaim(DeprecateClaim { claim_id: wrong, reason }));
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    // The successor of the other one tells it.
    assert_eq!(ids(&context, "no_longer_true"), [team.name(wrong)], "{text}");
    let over = claim(&part(&context, "no_longer_true"), &team.name(wrong));
    let was = "was: \"a copy of the pool shares its slots\"; over because copy() makes slots of its own since 3f2a901";
    assert_eq!(words_of(over), was, "{text}");
}

/// Red before: the last sentences of a decision were cut while requests of days before had room.
#[test]
fn decisions_are_whole_where_half_of_the_rest_still_has_room() {
    let mut team = Finished::new();
    let rule = |at: usize| {
        format!("Rule {at}: what part {at} of the pool takes, it gives back before the next one. ")
    };
    let decided = |part: &str, rules: usize| format!("{part} {}", (1..=rules).map(rule).collect::<String>());
    let long = team.decides("architect", &decided("The pool has rules.", 9), Vec::new());
    let other = team.decides("architect", &decided("The queue has them too.", 6), Vec::new());
    let table = (1..=40).map(|at| format!("pool {at} takes {}.5 ms; ", at * 7)).collect::<String>();
    let measured =
        team.claims("analyst", &format!("measured on 2 cores: {table}the last one 999 ms"), |_| ());
    let rest: Vec<ClaimId> = (1..=36)
        .map(|at| {
            let note = format!(
                "the branch of src/pool.rs with number {at} is merged into the one of devops, who builds the pool \
                 from it and takes no other one until the day of the release, whoever asks for it by then"
            );
            team.claims("devops", &note, |_| ())
        })
        .collect();
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    for (id, rules) in [(long, 9), (other, 6)] {
        let words = words_of(claim(&part(&context, "decisions"), &team.name(id)));
        assert!(words.contains(rule(rules).trim()) && !words.contains('…'), "{text}");
    }
    let words = words_of(claim(&part(&context, "figures"), &team.name(measured)));
    assert!(words.contains("the last one 999 ms"), "{text}");
    let shown = ids(&context, "relevant_claims");
    let left = rest.iter().filter(|id| shown.contains(&team.name(**id))).count();
    assert!((6..rest.len()).contains(&left), "{left}: {text}");
}

/// Red before: each claim named the one file that all were about, and three decisions told the same words of who agrees.
#[test]
fn a_scope_of_most_claims_is_named_once_and_decisions_come_before_who_agrees() {
    let mut team = Finished::new();
    let place = |scope: &str| vec![scope.parse().expect("a scope")];
    let claims: Vec<ClaimId> = (1..=5)
        .map(|at| {
            let what = format!("the ring of part {at} holds what it took until the reader has it");
            team.claims("devops", &what, |create| create.scopes = place("lib/the ring.rs"))
        })
        .collect();
    let other = team.claims("devops", "the page of rings has rows of two lines", |create| {
        create.scopes = place("web/rings.ts");
    });
    let decided = team.decides("architect", "rings are given back by their readers", Vec::new());
    team.supports(
        "devops",
        decided,
        "I can build it as it is written there, and I measure the rest of it later",
    );
    let text = team.context("newcomer", "s-new");
    let context = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(context.root_element().attribute("usual_scope"), Some("lib/the ring.rs"), "{text}");
    let rest = part(&context, "relevant_claims");
    for id in claims {
        assert_eq!(claim(&rest, &team.name(id)).attribute("scope"), None, "{text}");
    }
    assert_eq!(claim(&rest, &team.name(other)).attribute("scope"), Some("web/rings.ts"), "{text}");
}
