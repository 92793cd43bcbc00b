//! Two panes that turn out to be one agent: a server that spoke before the first hook of its client, and a client that
//! resumes the session of another pane.

use super::*;

/// The same submission by a client that was in session `from` before.
fn from(from: &str, submission: Submission) -> Submission {
    let came_from = from.parse().ok();
    let unpinned = submission.unpinned.map(|unpinned| Unpinned { came_from, ..unpinned });
    Submission { unpinned, ..submission }
}

/// The same submission by a client whose server spoke in session `server`.
fn beside_server(server: &str, submission: Submission) -> Submission {
    let servers = vec![session(server)];
    let unpinned = submission.unpinned.map(|unpinned| Unpinned { servers, ..unpinned });
    Submission { unpinned, ..submission }
}

/// The same submission by a server whose client has another one, in session `server`.
fn beside_another(server: &str, submission: Submission) -> Submission {
    let above = vec![session(server)];
    let unpinned = submission.unpinned.map(|unpinned| Unpinned { above, ..unpinned });
    Submission { unpinned, ..submission }
}

/// What a submission came to: `done` with the warnings, or the code of the refusal with its message.
fn outcome(committer: &mut hivemind::writer::Committer, submission: Submission) -> String {
    match committer.commit(&[submission]).expect("a ledger").remove(0) {
        Ok(receipt) => {
            let warnings = receipt.warnings.iter().map(|warning| format!("; {}", warning.message));
            format!("done{}", warnings.collect::<String>())
        }
        Err(no) => format!("{}: {}; {}", no.code.as_str(), no.message, no.hint),
    }
}

fn status_of(committer: &hivemind::writer::Committer, id: ClaimId) -> Status {
    committer.state().claim(id).expect("a claim").status
}

/// Red before: the server of a client that was started anew was another agent, and confirmed the pane's own claim.
#[test]
fn a_server_that_speaks_before_the_first_hook_is_the_pane_of_its_client() {
    let shell = Shell::new();
    let mut pane = Pane::start(&shell, "s-one", "");
    assert_eq!(pane.is("startup"), "architect");
    let claim = pane.creates("the pool holds 20 connections");
    pane.leaves();
    let mut again = Pane::start(&shell, "s-one", "");
    assert_eq!(again.supports(&claim), "done");
    assert_eq!(status(&shell, &claim), "confirmed");
    let told = again.starts("resume");
    assert!(told.contains("you are architect here, and spoke as pane-1 before"), "{told}");
    assert_eq!(status(&shell, &claim), "proposed");
    let page = String::from_utf8(shell.run(&format!("hm claim show {claim}")).stdout).expect("text");
    assert!(page.contains("turned out to be one agent"), "{page}");
    assert_eq!(again.supports(&claim), "own_claim");
    // It is told once.
    let told = again.starts("resume");
    assert!(!told.contains("spoke as pane-1"), "{told}");
    again.leaves();
}

/// Red before: the first hook of a new client got another seat than the server that had spoken.
#[test]
fn the_first_hook_of_a_client_gets_the_seat_of_its_server() {
    let shell = Shell::new();
    let mut pane = Pane::start(&shell, "s-one", "");
    let claim = pane.creates("the pool holds 20 connections");
    assert_eq!(pane.is("startup"), "pane-1");
    assert_eq!(pane.supports(&claim), "own_claim");
    assert_eq!(status(&shell, &claim), "proposed");
    pane.leaves();
}

/// Red before: the pane lost its seat to its own server.
#[test]
fn a_server_takes_no_seat_from_the_pane_of_its_client() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let (own, other) = (fact("the pool holds 20"), fact("the cache is cold"));
    let (own_id, other_id) = (own.claim_id, other.claim_id);
    for submission in [
        starts("one"),
        starts("two"),
        unpinned("two", Command::CreateClaim(other)),
        unpinned("one", ends()),
        unpinned("hm-1", Command::CreateClaim(own)),
        takes("hm-1", other_id, Position::Challenge),
        beside_server("hm-1", starts("one")),
        // What the server said is the pane's own to replace.
        takes("one", other_id, Position::Support),
    ] {
        let said = outcome(&mut committer, submission);
        assert!(said.starts_with("done"), "{said}");
    }
    let last = agents(&workspace);
    assert_eq!(["one", "two"].map(|pane| last[pane].as_str()), ["architect", "claude-2"]);
    assert_eq!(status_of(&committer, other_id), Status::Confirmed);
    assert!(outcome(&mut committer, takes("one", own_id, Position::Support)).starts_with("own_claim"));
    assert_eq!(folded(&workspace.events()), *committer.state());
    drop(committer);
    workspace.assert_sound();
}

/// Two servers of one client write for the first time at once, and only the first one found the other. Red before: the second
/// one confirmed what the first one said, because it was not known when the first one wrote.
#[test]
fn a_server_joins_another_one_that_has_not_written_yet() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let claim = fact("the pool holds 20");
    let claim_id = claim.claim_id;
    let first = beside_another("hm-2", unpinned("hm-1", Command::CreateClaim(claim)));
    assert!(outcome(&mut committer, first).starts_with("done"));
    let supports = takes("hm-2", claim_id, Position::Support).command;
    let said = outcome(&mut committer, pinned("devops", "hm-2", supports));
    assert!(said.starts_with("own_claim"), "{said}");
    assert_eq!(folded(&workspace.events()), *committer.state());
    drop(committer);
    workspace.assert_sound();
}

/// Red before: the client of the owner resumed the session of the challenger, and confirmed its own claim.
#[test]
fn a_client_in_the_session_of_another_pane_is_one_agent_with_it() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let claims = ["the pool holds 20", "the cache is cold", "the queue is short"].map(fact);
    let [challenged, supported, both] = [0, 1, 2].map(|nth: usize| claims[nth].claim_id);
    let [first, second, third] = claims.map(Command::CreateClaim);
    for submission in [
        starts("one"),
        starts("two"),
        starts("three"),
        unpinned("one", first),
        unpinned("one", second),
        unpinned("three", third),
        takes("two", challenged, Position::Challenge),
        takes("two", supported, Position::Support),
        takes("one", both, Position::Support),
        takes("two", both, Position::Support),
    ] {
        let said = outcome(&mut committer, submission);
        assert!(said.starts_with("done"), "{said}");
    }
    assert_eq!(status_of(&committer, supported), Status::Confirmed);
    let said = outcome(&mut committer, from("one", starts("two")));
    assert!(said.contains("you are claude-2 here, and spoke as architect before"), "{said}");
    assert_eq!(outcome(&mut committer, from("one", starts("two"))), "done", "it is told once");
    let all = [challenged, supported, both].map(|id| status_of(&committer, id));
    assert_eq!(all, [Status::Contested, Status::Proposed, Status::Confirmed]);
    // Neither confirms what the other said, and the owner ends no challenge under the other seat.
    for (who, claim, held, code) in [
        ("two", challenged, Position::Support, "own_claim"),
        ("two", challenged, Position::Abstain, "not_allowed"),
        ("two", supported, Position::Support, "own_claim"),
        ("one", challenged, Position::Support, "own_claim"),
    ] {
        let said = outcome(&mut committer, takes(who, claim, held));
        assert!(said.starts_with(code), "{who} {held}: {said}");
    }
    assert_eq!(outcome(&mut committer, takes("one", challenged, Position::Abstain)), "done");
    assert_eq!(status_of(&committer, challenged), Status::Contested);
    // Another pane still confirms it.
    assert_eq!(outcome(&mut committer, takes("three", supported, Position::Support)), "done");
    assert_eq!(status_of(&committer, supported), Status::Confirmed);
    assert_eq!(folded(&workspace.events()), *committer.state());
    drop(committer);
    workspace.assert_sound();
}

/// Red before: two seats of one agent were the two supports that the team asks for.
#[test]
fn two_seats_of_one_agent_are_one_support() {
    let workspace = TempWorkspace::new();
    let policy = Policy { quorum: Quorum { supports: 2, ..Quorum::default() }, ..Policy::default() };
    let clock = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(1_800_000_000_000));
    let mut committer =
        hivemind::writer::Committer::open(&workspace, policy, sources(&clock)).expect("a workspace");
    let claim = fact("the pool holds 20");
    let id = claim.claim_id;
    for submission in [
        starts("one"),
        starts("two"),
        starts("three"),
        unpinned("three", Command::CreateClaim(claim)),
        takes("one", id, Position::Support),
        takes("two", id, Position::Support),
    ] {
        let said = outcome(&mut committer, submission);
        assert!(said.starts_with("done"), "{said}");
    }
    assert_eq!(status_of(&committer, id), Status::Confirmed);
    outcome(&mut committer, from("one", starts("two")));
    assert_eq!(status_of(&committer, id), Status::Proposed);
}
