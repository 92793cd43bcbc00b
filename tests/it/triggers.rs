//! Dead ends in the way of an action, asked of the read models: while in force, by key, and fast.

use std::time::Duration;

use hivemind::domain::action::{Action, Attempt, DeadEnd, Kind};
use hivemind::domain::claim::{ClaimType, Position, Trigger};
use hivemind::domain::command::{Command, CreateClaim, DeprecateClaim, Submission};
use hivemind::domain::ids::ClaimId;
use hivemind::domain::receipt::Receipt;
use hivemind::domain::rejection::Rejection;
use hivemind::store::Reader;
use hivemind::system;

use crate::harness::{TempWorkspace, claim_of, dump, fact, long, position, request};

fn dead_end(statement: &str, command: &str, path: Option<&str>) -> Submission {
    let trigger = Trigger {
        commands: vec![command.parse().expect("a command line")],
        paths: path.iter().map(|path| path.parse().expect("a path")).collect(),
        ..Trigger::default()
    };
    let claim = CreateClaim { claim_type: ClaimType::Negative, trigger: Some(trigger), ..fact(statement) };
    request("devops", Command::CreateClaim(claim))
}

fn deprecate(claim_id: ClaimId) -> Submission {
    let reason = "it works now".parse().expect("a reason");
    request("devops", Command::DeprecateClaim(DeprecateClaim { claim_id, reason }))
}

fn in_the_way(workspace: &TempWorkspace, line: &str, path: &str) -> Vec<DeadEnd> {
    let attempt = Attempt { command: Some(line), paths: &[path.to_owned()], ..Attempt::default() };
    let reader = Reader::open(&workspace.team_memory()).expect("read models").expect("a file");
    reader.dead_ends_for(&Action::of(attempt, "/ws", "/ws")).expect("an answer")
}

#[test]
fn a_dead_end_warns_while_it_is_in_force() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let vendor = dead_end("vendoring openssl breaks musl", "cargo vendor", Some("vendor"));
    let pool = dead_end("the pool is not to be touched", "make pool", Some("vendor/pool"));
    let scoped = CreateClaim {
        claim_type: ClaimType::Negative,
        scopes: vec!["vendor".parse().expect("a scope")],
        ..fact("a scope alone warns nobody")
    };
    let scoped = request("devops", Command::CreateClaim(scoped));
    let mut commit = |group: &[Submission]| {
        for outcome in committer.commit(group).expect("a ledger") {
            outcome.expect("an accepted command");
        }
    };
    commit(&[vendor.clone(), pool.clone(), scoped]);

    let met = in_the_way(&workspace, "cd /ws && cargo vendor --locked", "vendor/pool/a.rs");
    let told: Vec<_> = met.iter().map(|end| (end.claim_id, end.kind, end.met.as_str())).collect();
    let (vendor, pool) = (claim_of(&vendor), claim_of(&pool));
    // The command says more than the path, although the other claim is newer.
    assert_eq!(told, [(vendor, Kind::Command, "cargo vendor"), (pool, Kind::Path, "vendor/pool")]);
    assert_eq!(met[0].statement, "vendoring openssl breaks musl");
    assert_eq!(in_the_way(&workspace, "cargo build", "src/a.rs"), []);

    // Contested it still warns, and says so; deprecated it is gone.
    commit(&[position("analyst", pool, Position::Challenge)]);
    assert_eq!(in_the_way(&workspace, "make pool", "x")[0].status.as_str(), "contested");
    commit(&[deprecate(pool), deprecate(vendor)]);
    assert_eq!(in_the_way(&workspace, "cargo vendor; make pool", "vendor/pool"), []);

    commit(&[dead_end("and again", "cargo vendor", None)]);
    let folded = dump(&workspace.team_memory());
    committer.rebuild(|_| ()).expect("a rebuild");
    assert_eq!(dump(&workspace.team_memory()), folded);
    assert_eq!(in_the_way(&workspace, "cargo vendor", "x").len(), 1);
}

#[test]
fn a_dead_end_is_where_its_globs_are_and_one_that_is_nowhere_is_refused() {
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    let mut warns = |statement: &str, trigger: Trigger| {
        let trigger = Some(trigger);
        let claim = CreateClaim { claim_type: ClaimType::Negative, trigger, ..fact(statement) };
        committer.commit(&[request("devops", Command::CreateClaim(claim))]).expect("a ledger").remove(0)
    };
    let at = |paths: &[&str]| {
        let paths = paths.iter().map(|path| path.parse().expect("a path")).collect();
        Trigger { paths, ..Trigger::default() }
    };
    for (number, path) in ["src/lock/**", "*.lock", "**/schema.sql", "app/[id]"].into_iter().enumerate() {
        warns(&format!("place{number} breaks"), at(&[path])).expect("an accepted claim");
    }
    let met = |path: &str| -> Vec<String> {
        in_the_way(&workspace, "true", path).into_iter().map(|dead_end| dead_end.met).collect()
    };
    assert_eq!(met("src/lock/a/b.rs"), ["src/lock/**"]);
    assert_eq!(met("Cargo.lock"), ["*.lock"]);
    assert_eq!(met("web/db/schema.sql"), ["**/schema.sql"]);
    assert_eq!(met("app/[id]/page.tsx"), ["app/[id]"]);
    assert_eq!(met("src/locks/a.rs"), Vec::<String>::new());

    let refused = |outcome: Result<Receipt, Rejection>| outcome.expect_err("a refusal").message;
    let glob = refused(warns("no glob", at(&["src/[a"])));
    assert!(glob.contains("`src/[a` is no glob"), "{glob}");
    // Not every glob that can be read can be matched with.
    let deep = "{".repeat(251) + "x" + &"}".repeat(251);
    let glob = refused(warns("too deep", at(&[&deep])));
    assert!(glob.contains("is no glob: it has too many parts"), "{glob}");
    for nowhere in [&[] as &[&str], &["."], &["tag:auth"]] {
        let said = refused(warns("nowhere at all", at(nowhere)));
        assert!(said.contains("never warn"), "{said}");
    }
    // Red before: a symbol that may be any word was accepted beside other triggers, and never met.
    for plain in ["crank", "add()", "W.crank"] {
        let symbols = vec!["conn_pool".parse().expect("a symbol"), plain.parse().expect("a symbol")];
        let said = refused(warns("a crank", Trigger { symbols, ..at(&["src"]) }));
        assert!(said.contains(&format!("`{plain}` may be any word")), "{said}");
    }
}

#[test]
fn of_ten_thousand_dead_ends_those_in_the_way_are_found() {
    let claims = if long() { 10_000 } else { 1_000 };
    let workspace = TempWorkspace::new();
    let mut committer = workspace.committer(1);
    // All of them begin with the same word, and a third with the same two.
    let ends: Vec<Submission> = (0..claims)
        .map(|index| {
            let command = match index % 3 {
                0 => format!("cargo test part{index}"),
                _ => format!("cargo job{index} --all"),
            };
            dead_end(
                &format!("part{index} fails in place{}", index % 97),
                &command,
                Some(&format!("src/part{index}")),
            )
        })
        .collect();
    for group in ends.chunks(250) {
        for outcome in committer.commit(group).expect("a ledger") {
            outcome.expect("an accepted command");
        }
    }
    let line = format!("cd src && cargo job{} --all", claims - 2);
    let asked = system::instant();
    let met = in_the_way(&workspace, &line, &format!("src/part{}/a.rs", claims / 2));
    let took = asked.elapsed();
    assert_eq!(met.len(), 2);
    assert_eq!(
        in_the_way(&workspace, &format!("cargo test part{}", claims - 1), "x").len(),
        usize::from(claims % 3 == 1)
    );
    eprintln!("{claims} dead ends: {took:?}, opening included");
    // Unoptimised, on a machine that does other things beside.
    assert!(took < Duration::from_millis(200), "{took:?}");
}
