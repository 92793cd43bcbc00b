//! A challenge whose pane left: which pane takes it over with the seat, and which one moves or ends it never.

use super::*;

/// Submits from a work tree of a repository.
fn beside(worktree: Option<&str>, submission: Submission) -> Submission {
    let worktree = worktree.map(|name| name.parse().expect("a name"));
    Submission { checkout: Checkout { worktree, branch: "main".parse().ok() }, ..submission }
}

fn here(submission: Submission) -> Submission {
    beside(None, submission)
}

fn still(session: &str, claim_id: ClaimId) -> Submission {
    let holds = Content::Sha256([1; 32]);
    let versions = Versions::from([("src/a.rs".parse().expect("a scope"), holds)]);
    let command = Command::AffirmClaim(AffirmClaim { claim_id, reason: None });
    Submission { versions, ..here(unpinned(session, command)) }
}

fn about_a_file(statement: &str) -> CreateClaim {
    CreateClaim { scopes: vec!["src/a.rs".parse().expect("a scope")], ..fact(statement) }
}

/// What each submission came to: `done` with what is told, or the refusal.
fn told(committer: &mut hivemind::writer::Committer, submission: Submission) -> String {
    match committer.commit(&[submission]).expect("a ledger").remove(0) {
        Ok(receipt) => {
            let warnings = receipt.warnings.iter().map(|warning| format!("; {}", warning.message));
            let next = receipt.next.map(|next| format!("; next: {next}"));
            format!("done{}", warnings.chain(next).collect::<String>())
        }
        Err(no) => format!("{}: {}; {}", no.code.as_str(), no.message, no.hint),
    }
}

/// Session `one` is architect and owns the claim; `two` is claude-2, challenges it and leaves.
fn challenged() -> (TempWorkspace, hivemind::writer::Committer, ClaimId) {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let claim = about_a_file("the pool holds 20");
    let id = claim.claim_id;
    let challenge = here(takes("two", id, Position::Challenge));
    let group = [
        here(starts("one")),
        here(unpinned("one", Command::CreateClaim(claim))),
        here(starts("two")),
        challenge,
    ];
    for submission in group {
        let said = told(&mut committer, submission);
        assert!(said.starts_with("done"), "{said}");
    }
    (workspace, committer, id)
}

fn held(committer: &hivemind::writer::Committer, id: ClaimId) -> Vec<String> {
    let claim = committer.state().claim(id).expect("a claim");
    claim.positions.iter().map(|(agent, held)| format!("{agent} {held}")).collect()
}

/// Red before: each restart took another seat, and the challenge under the seat before stood for ever.
#[test]
fn a_client_that_starts_anew_takes_over_its_challenge() {
    let (workspace, mut committer, id) = challenged();
    for (before, after) in [("two", "three"), ("three", "four"), ("four", "five")] {
        told(&mut committer, here(unpinned(before, ends())));
        let said = told(&mut committer, here(starts(after)));
        assert!(
            said.contains("you are claude-2 here") && said.contains("challenges claim"),
            "{after}: {said}"
        );
    }
    assert!(told(&mut committer, still("five", id)).starts_with("done"));
    let said = told(&mut committer, here(takes("five", id, Position::Abstain)));
    assert!(said.contains("the challenge by claude-2, made in another session (two), is over"), "{said}");
    assert_eq!(held(&committer, id), ["claude-2 abstain"]);
    assert_eq!(committer.state().claim(id).expect("a claim").status, Status::Proposed);
    drop(committer);
    workspace.assert_sound();
}

/// The owner in a new session is no heir of the challenge: of its own name while that is free, and of none beyond it.
#[test]
fn an_owner_in_a_new_session_takes_over_no_challenge_of_its_claim() {
    let (workspace, mut committer, id) = challenged();
    for gone in ["one", "two"] {
        told(&mut committer, here(unpinned(gone, ends())));
    }
    // In another work tree a pane is not the challenger.
    let said = told(&mut committer, beside(Some("wt"), starts("owner-again")));
    assert!(said.contains("you are architect here"), "{said}");
    told(&mut committer, here(unpinned("owner-again", ends())));
    let said = told(&mut committer, beside(Some("wt"), of_codex(starts("cx"))));
    assert!(said.contains("you are devops here"), "{said}");
    // The first seat is blocked by nothing, and so the owner gets it: its claim goes by the name.
    told(&mut committer, here(starts("again")));
    let said = told(&mut committer, here(takes("again", id, Position::Support)));
    assert!(said.starts_with("own_claim"), "{said}");
    assert_eq!(held(&committer, id), ["claude-2 challenge"]);
    let said = told(&mut committer, beside(Some("wt"), starts("other")));
    assert!(said.contains("you are claude-3 here") && !said.contains("challenges claim"), "{said}");
    // What it says of the claim is its own, and it is told who ends the challenge.
    let said = told(&mut committer, beside(Some("wt"), takes("other", id, Position::Abstain)));
    let way = format!("`hm claim abstain {id} --agent claude-2`");
    assert!(
        said.contains("it ends no challenge; still challenged by claude-2") && said.contains(&way),
        "{said}"
    );
    let refused = told(&mut committer, still("other", id));
    assert!(refused.contains(&format!("`hm claim still {id} --agent claude-2`")), "{refused}");
    // The way is open to a human in a shell of no pane.
    let typed = position("claude-2", id, Position::Abstain);
    let said = told(&mut committer, Submission { session: "a-shell".parse().ok(), ..typed });
    assert!(said.contains("the challenge by claude-2, made in another session (two), is over"), "{said}");
    drop(committer);
    workspace.assert_sound();
}

/// Red before: the pane that took the first seat withdrew the challenge of the pane before, and confirmed its own claim.
#[test]
fn the_first_seat_comes_without_the_challenge_of_another_pane() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let (claim, other) = (about_a_file("the pool holds 20"), about_a_file("the cache is cold"));
    let (id, others) = (claim.claim_id, other.claim_id);
    for submission in [
        here(starts("one")),
        here(starts("two")),
        here(unpinned("two", Command::CreateClaim(claim))),
        here(takes("one", id, Position::Challenge)),
        here(unpinned("one", ends())),
        here(unpinned("two", ends())),
        here(starts("two-again")),
    ] {
        let said = told(&mut committer, submission);
        assert!(said.starts_with("done") && !said.contains("take over"), "{said}");
    }
    assert_eq!(agents(&workspace)["two-again"], "architect");
    for held in [Position::Abstain, Position::Support, Position::Challenge] {
        let said = told(&mut committer, here(takes("two-again", id, held)));
        assert!(said.starts_with("not_allowed") && said.contains("--agent architect"), "{held}: {said}");
    }
    assert!(told(&mut committer, still("two-again", id)).starts_with("not_allowed"));
    // Nor in its shell, under that name or another.
    let typed = position("architect", id, Position::Abstain);
    let said = told(&mut committer, Submission { session: "two-again".parse().ok(), ..typed });
    assert!(said.starts_with("not_allowed"), "{said}");
    assert_eq!(held(&committer, id), ["architect challenge"]);
    // The session that made it comes back, and ends it.
    told(&mut committer, here(unpinned("two-again", Command::CreateClaim(other))));
    let said = told(&mut committer, here(takes("one", id, Position::Abstain)));
    assert!(said.contains("the challenge by architect is over"), "{said}");
    assert!(told(&mut committer, here(takes("one", others, Position::Support))).starts_with("done"));
    drop(committer);
    workspace.assert_sound();
}

/// Red before: the owner, as its shell named it, withdrew the challenge of its claim.
#[test]
fn an_owner_withdraws_no_challenge_of_its_claim_under_another_name() {
    let (workspace, mut committer, id) = challenged();
    let typed = position("claude-2", id, Position::Abstain);
    let said = told(&mut committer, Submission { session: "one".parse().ok(), ..typed });
    assert!(said.starts_with("not_allowed"), "{said}");
    assert_eq!(held(&committer, id), ["claude-2 challenge"]);
    drop(committer);
    workspace.assert_sound();
}

/// Red before: a challenge of a claim that is over kept its seat from every other pane.
#[test]
fn a_challenge_of_a_claim_that_is_over_blocks_no_seat() {
    let workspace = TempWorkspace::new();
    let clock = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(1_800_000_000_000));
    let mut committer = hivemind::writer::Committer::open(&workspace, Policy::default(), sources(&clock))
        .expect("a workspace");
    let claim =
        CreateClaim { ttl_hours: Some(hivemind::domain::time::Hours(1)), ..fact("the pool holds 20") };
    let id = claim.claim_id;
    for submission in [
        starts("one"),
        unpinned("one", Command::CreateClaim(claim)),
        starts("two"),
        takes("two", id, Position::Challenge),
        unpinned("two", ends()),
    ] {
        told(&mut committer, submission);
    }
    assert!(told(&mut committer, starts("three")).contains("you are claude-3 here"));
    told(&mut committer, unpinned("three", ends()));
    clock.fetch_add(2 * 3_600_000, std::sync::atomic::Ordering::Relaxed);
    assert!(told(&mut committer, starts("four")).contains("you are claude-2 here"));
    drop(committer);
    workspace.assert_sound();
}
