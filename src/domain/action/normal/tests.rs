//! The normal form of commands, by examples and by law.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::normalise;

fn check(lines: &[&str], expected: Expect) {
    let told: Vec<String> = lines
        .iter()
        .map(|line| {
            let commands: Vec<String> =
                normalise(line, "/ws/web", "/ws").iter().map(ToString::to_string).collect();
            format!("{line} -> {}", commands.join(" | "))
        })
        .collect();
    expected.assert_eq(&told.join("\n"));
}

#[test]
fn what_only_runs_a_command_is_dropped() {
    check(
        &[
            "FOO=1 BAR='a b' npm test",
            "sudo -u postgres psql -c 'select 1'",
            "sudo -E env PATH=/x:$PATH nice -n 5 timeout -s KILL 5m cargo test pool",
            "time -p nohup make -j4 &",
            "env",
            "env -S 'a b'",
            "command -v cargo",
            "bash -lc 'cd .. && cargo vendor --locked | tail -3'",
            "bash scripts/run.sh -c x",
            "sh -c",
            "/usr/local/bin/cargo build",
            "./node_modules/.bin/tsc -p .",
            "../gradlew build",
            "./run.sh",
            "xargs rm",
        ],
        expect![[r#"
            FOO=1 BAR='a b' npm test -> cd web && npm test
            sudo -u postgres psql -c 'select 1' -> cd web && psql -c 'select 1'
            sudo -E env PATH=/x:$PATH nice -n 5 timeout -s KILL 5m cargo test pool -> cd web && cargo test pool
            time -p nohup make -j4 & -> cd web && make -j4
            env -> 
            env -S 'a b' -> 
            command -v cargo -> 
            bash -lc 'cd .. && cargo vendor --locked | tail -3' -> cargo vendor --locked
            bash scripts/run.sh -c x -> bash web/scripts/run.sh -c x
            sh -c -> cd web && sh -c
            /usr/local/bin/cargo build -> cd web && cargo build
            ./node_modules/.bin/tsc -p . -> tsc -p web
            ../gradlew build -> gradlew build
            ./run.sh -> web/run.sh
            xargs rm -> cd web && xargs rm"#]],
    );
}

#[test]
fn the_directory_is_part_of_a_command_unless_its_words_say_it() {
    check(
        &[
            "npm test",
            "cd .. && npm test",
            "cd /ws/api; npm test",
            "cd ../api && node src/main.js && cd .. && node main.js",
            "(cd ../api && npm ci) && npm ci",
            "cd api | npm test",
            "cd nowhere || npm test; npm ci",
            "cd \"$DIR\" && npm test",
            "cd .. && cd - && npm test",
            "cd && npm test",
            "if cd ..; then npm test; fi; npm test",
            "for d in a b; do (cd $d && npm test); done; npm ci",
            "cd /tmp/x1 && python bench.py",
            "cd /tmp/x1 && cargo test",
            "cd /elsewhere && cargo test",
            "pushd .. && npm test && popd && npm test",
        ],
        expect![[r#"
            npm test -> cd web && npm test
            cd .. && npm test -> npm test
            cd /ws/api; npm test -> cd api && npm test
            cd ../api && node src/main.js && cd .. && node main.js -> node api/src/main.js | node main.js
            (cd ../api && npm ci) && npm ci -> cd api && npm ci | cd web && npm ci
            cd api | npm test -> cd web && npm test
            cd nowhere || npm test; npm ci -> cd web/nowhere && npm ci
            cd "$DIR" && npm test -> 
            cd .. && cd - && npm test -> 
            cd && npm test -> 
            if cd ..; then npm test; fi; npm test -> 
            for d in a b; do (cd $d && npm test); done; npm ci -> cd web && npm ci
            cd /tmp/x1 && python bench.py -> python {tmp}/bench.py
            cd /tmp/x1 && cargo test -> cd {tmp} && cargo test
            cd /elsewhere && cargo test -> cd /elsewhere && cargo test
            pushd .. && npm test && popd && npm test -> npm test"#]],
    );
}

#[test]
fn what_cannot_be_told_is_left_out() {
    check(
        &[
            "$CMD test && npm test",
            "$(which npm) test",
            "out=$(npm test 2>&1) && echo $out",
            "git checkout $(git merge-base main HEAD)",
            "npm test && echo 'open",
            "cat > a <<EOF\nnpm test\nEOF\nnpm ci",
            "eval \"npm test\"",
            "[[ -f a && -d b ]] && npm test",
            "case a in a) npm test;; esac",
            "while ! nc -z localhost 5432; do sleep 1; done",
            "",
            "   ",
            "# only this",
        ],
        expect![[r#"
            $CMD test && npm test -> cd web && npm test
            $(which npm) test -> cd web && which npm
            out=$(npm test 2>&1) && echo $out -> cd web && npm test
            git checkout $(git merge-base main HEAD) -> cd web && git merge-base main HEAD | cd web && git checkout {value}
            npm test && echo 'open -> cd web && npm test
            cat > a <<EOF
            npm test
            EOF
            npm ci -> cd web && cat | cd web && npm ci
            eval "npm test" -> cd web && npm test
            [[ -f a && -d b ]] && npm test -> cd web && npm test
            case a in a) npm test;; esac -> 
            while ! nc -z localhost 5432; do sleep 1; done -> cd web && nc -z localhost 5432
             -> 
                -> 
            # only this -> "#]],
    );
}

/// Lines made of pieces that people type, and of pieces with typical mistakes.
fn lines() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "cargo",
        "test",
        "cd",
        "..",
        "web",
        "/ws/web/a.ts",
        "./b.sh",
        "../ws/x",
        "/tmp/q/y.py",
        "/tmp/z",
        "&&",
        "||",
        ";",
        "|",
        "&",
        "\n",
        "(",
        ")",
        "{",
        "}",
        "'",
        "\"",
        "`",
        "$(",
        "${",
        "$X",
        "\\",
        ">",
        "2>&1",
        "<<",
        "<<<",
        "<(",
        "#",
        "FOO=1",
        "sudo",
        "-u",
        "env",
        "bash",
        "-c",
        "-lc",
        "'a b'",
        "kill",
        "1234567",
        "1a2b3c4d5e",
        "--port",
        "3000",
        "localhost:80",
        "2026-11-20T10:00:00Z",
        "if",
        "then",
        "fi",
        "for",
        "done",
        "é",
        "--x=./y",
        "a.rs::b",
        "{tmp}",
        "{value}",
        "~",
        "=",
        "*",
    ]);
    prop::collection::vec((pieces, prop::bool::weighted(0.8)), 0..24).prop_map(|pieces| {
        pieces.into_iter().map(|(piece, spaced)| piece.to_owned() + if spaced { " " } else { "" }).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn a_normal_form_is_its_own_normal_form(line in prop_oneof![lines(), any::<String>()]) {
        for command in normalise(&line, "/ws/web", "/ws") {
            let again = normalise(&command.to_string(), "/ws", "/ws");
            prop_assert_eq!(again, vec![command.clone()], "{}", command);
            prop_assert!(command.covers(&command));
            prop_assert!(command.keys_of_triggers().contains(&command.key()));
        }
    }
}
