//! Secrets stay out: every rule alone, a thousand planted tokens, ordinary notes, and every file afterwards.

use std::fmt::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hivemind::domain::privacy::{Finding, Own, Secrets, redacted, rules, scan};
use hivemind::domain::rejection::Code;
use hivemind::mcp::Era;
use hivemind::spool::Spool;
use hivemind::system;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::harness::{TempWorkspace, creation, with_key};
use crate::notes;
use crate::secrets::{Random, near_misses, planted, secret};
use crate::shell::Shell;

/// Planted tokens, and the share that must be found.
const PLANTED: usize = 1_000;
const FOUND_AT_LEAST: f64 = 0.99;
/// Ordinary notes, and the share that may be refused.
const NOTES: usize = 2_000;
const REFUSED_AT_MOST: f64 = 0.005;

fn scanned(text: &str) -> Vec<Finding> {
    scan(text, &Secrets::default())
}

#[test]
fn every_rule_finds_its_own_and_lets_near_misses_pass() {
    let mut random = Random(1);
    let mut wrong = String::new();
    for rule in planted() {
        for _ in 0..20 {
            let secret = secret(rule, &mut random);
            let text = format!("see {} there", secret.text);
            let found = scanned(&text);
            let right =
                matches!(&found[..], [one] if one.rule == rule && text[one.span.clone()] == secret.value);
            if !right {
                let _ = writeln!(wrong, "{rule}: {:?} in {text}", found);
            }
        }
        for text in near_misses(rule) {
            for found in scanned(text) {
                let _ = writeln!(wrong, "{rule}: {} refuses {text}", found.rule);
            }
        }
    }
    assert_eq!(wrong, "");
    assert!(rules().len() >= 25);
}

/// Each way in which a token gets another spelling by accident, or a little on purpose.
fn respelled(token: &str) -> Vec<(&'static str, String)> {
    let half = token.len() / 2;
    let with = |between: &str| format!("{}{between}{}", &token[..half], &token[half..]);
    let each = |spell: &dyn Fn(char) -> String| token.chars().map(spell).collect::<String>();
    let odd = |spell: &'static dyn Fn(char) -> String| {
        each(&move |c| if c.is_ascii_alphanumeric() { c.to_string() } else { spell(c) })
    };
    vec![
        ("wrapped", with("\n")),
        ("wrapped and indented", with("\r\n  ")),
        ("wrapped twice", format!("{}\n{}\n{}", &token[..9], &token[9..15], &token[15..])),
        ("zero width", with("\u{200b}")),
        ("soft hyphen", with("\u{ad}")),
        ("escape byte", with("\u{1b}")),
        ("tag", with("\u{e0041}")),
        ("percent", each(&|c| format!("%{:02X}", u32::from(c)))),
        ("percent of the odd", odd(&|c| format!("%{:02x}", u32::from(c)))),
        ("json escapes", odd(&|c| format!("\\u{:04x}", u32::from(c)))),
        ("rust escapes", odd(&|c| format!("\\u{{{:x}}}", u32::from(c)))),
        ("entities", odd(&|c| format!("&#{};", u32::from(c)))),
        ("hex entities", odd(&|c| format!("&#x{:x};", u32::from(c)))),
        ("full width", each(&|c| char::from_u32(u32::from(c) + 0xfee0).unwrap_or(c).to_string())),
        ("base64", STANDARD.encode(token)),
        ("base64 of a line", STANDARD.encode(format!("GITHUB_TOKEN={token}\n"))),
        ("base64url", URL_SAFE_NO_PAD.encode(token)),
        ("hex", hex::encode(token)),
        ("wrapped and percent", format!("{}%0A{}", &token[..half], &token[half..])),
    ]
}

#[test]
fn a_secret_in_another_spelling_is_the_same_secret() {
    let mut random = Random(17);
    for rule in ["github-token", "anthropic-key", "stripe-key", "gitlab-token", "aws-key"] {
        let token = secret(rule, &mut random).value;
        for (how, spelled) in respelled(&token) {
            let text = format!("note \u{e9}: the deploy used {spelled} yesterday");
            let found = scanned(&text);
            assert!(found.iter().any(|one| one.rule == rule), "{rule} {how}: {found:?} in {text:?}");
            let kept = redacted(&text, &Secrets::default());
            for part in spelled.split(['\n', ' ', '\r']).filter(|part| part.len() > 3) {
                assert!(!kept.contains(part), "{rule} {how}: {kept}");
            }
            assert!(
                kept.starts_with("note \u{e9}: the deploy used ") && kept.ends_with(" yesterday"),
                "{kept}"
            );
        }
    }
}

#[test]
fn passwords_as_people_type_them_are_found() {
    let typed = [
        "host=db user=shop password=Tr0ub4dor3xyz dbname=shop",
        "password: hunter2hunter",
        "DB_PASSWORD=qwertzui12",
        "password=Sommer24",
        "restore with --password hunter2hunter now",
        "sshpass -p hunter22 ssh deploy@host",
        "echo Tr0ub4dorX | sudo -S systemctl restart x",
        "unzip -P Z1pPw99x a.zip",
        "htpasswd -b f user Ht4Pw99x",
        "openssl enc -aes-256-cbc -k MyPassphrase1 -in a",
        "openssl rsa -passin pass:Op3nPw99 -in k",
        "ldapsearch -x -D 'cn=admin' -w LdPw99xx",
        "smbclient //h/s -U 'me%SmbPw99x'",
        "sshpass -p'S3cret' ssh deploy@host",
        "mysql -u shop -phunter22 shop",
        "machine git.internal\n  login deploy\n  password hunter22",
        "curl -H 'Cookie: session=8f14e45fceea167a5a36dedd4bea2543'",
        "API key for prod q7Zx2Lk9PwV4tB8nR3mY6cJ1hF5dG0sA2eK8uT4i",
        "aws configure set aws_secret_access_key q7Zx2Lk9PwV4tB8nR3mY6cJ7",
        "npm config set //registry.npmjs.org/:_authToken q7Zx2Lk9PwV4tB8n",
        "npm config set //registry.npmjs.org/:_authToken hunter2hunter",
        "heroku config set 'db_password' 'Sommer24!'",
        "the login sent api_token q7Zx2Lk9PwV4tB8n to the log",
        "mytool login --password \"two words\" -v",
        "PASSWORD='two words' ./run.sh",
        "psql --password hunter -h db",
        "we ran `psql --password hunter` twice",
        "deploy --db-password=hunter",
        "POSTGRES_PASSWORD=hunter docker compose up",
        "docker run -e db_password=hunter postgres",
        "env:\n  MYSQL_ROOT_PASSWORD: hunter\n  MYSQL_DATABASE: shop",
        "redis-cli AUTH shop hunter22",
        "redis-cli AUTH hunter22",
        "127.0.0.1:6379> AUTH hunter22",
        // Red before: a value of an option, or a name, was taken for a word of a sentence.
        "docker login localhost -u ci -p hunter22",
        "docker login myregistry -u ci -p hunter22",
        "docker login -u it -p hunter22",
        "docker login -u a -p hunter22",
        "twine upload dist -u me -p hunter22",
        "twine upload dist build -u me -p hunter22",
        "helm registry login harbor -u me -p hunter22",
        "mysql -u a -h db -phunter22",
        "mysql -h db.local. -u root -phunter22",
        "redis-cli -h on -a hunter22",
        "az login -u app@acme.com. -p hunter22",
        "docker login -u me fails when -p S3cretPass99 is given",
        // Red before: a text in quotes before the option was taken for the words of a sentence.
        "mysql -u root -e \"select id from users where a is not null\" -phunter22",
        "mysql shop -e 'is this it, or is it not' -u root -phunter22",
        "sqlcmd -S db -Q \"select a from t where b is not null\" -U sa -P hunter22",
        "{\"command\": \"mysql -e \\\"select id from users where a is not null\\\" -phunter22\"}",
        // Red before: a word for texts anywhere in the name of a variable made its value a text.
        "MESSAGE_BROKER_PASSWORD=hunter ./run.sh",
        "MSG_QUEUE_PASSWORD='two words here' ./run.sh",
        "//registry.npmjs.org/:_password=aHVudGVyMjI=",
        "_auth=ZGVwbG95Omh1bnRlcjIy",
    ];
    for text in typed {
        assert!(!scanned(text).is_empty(), "{text}");
    }
}

#[test]
fn a_name_of_a_secret_with_a_blank_is_no_secret() {
    for text in [
        "we set the token budget to 4000x and the password policy to v2",
        "npm config set registry https://registry.npmjs.org/2",
        "git config set credential.helper store2day",
        "the column access_token 0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47 is a uuid",
        "gh secret set API_KEY < key2.txt",
        "set api_key to the value of the vault",
        "rename access_token tokens_of_the_day_2024_or_so",
    ] {
        assert_eq!(scanned(text), [], "{text}");
    }
}

#[test]
fn redaction_names_the_rule_and_keeps_the_rest() {
    let key = secret("aws-key", &mut Random(2)).value;
    let own =
        Secrets { own: Own::new(&["CORP-[0-9]{6}".to_owned()]).expect("a pattern"), ..Secrets::default() };
    let text = format!("key={key}, “{key}” and CORP-123456 é");
    assert_eq!(redacted(&text, &own), "key=[redacted:aws-key], “[redacted:aws-key]” and [redacted:own-1] é");
    assert_eq!(redacted("nothing here", &own), "nothing here");
}

#[test]
fn planted_tokens_are_found_in_sentences_and_code() {
    let mut random = Random(20_261_121);
    let rules = planted();
    let mut missed = Vec::new();
    for index in 0..PLANTED {
        let secret = secret(rules[index % rules.len()], &mut random);
        let text = notes::around(&secret.text, &mut random);
        let hit =
            |found: &Finding| text[found.span.clone()].contains(&secret.value[secret.value.len() / 2..]);
        if !scanned(&text).iter().any(hit) {
            missed.push(format!("{}: {text}", secret.rule));
        }
    }
    let found = 1.0 - missed.len() as f64 / PLANTED as f64;
    eprintln!("privacy: {found:.4} of {PLANTED} planted tokens found, {} rules", rules.len());
    assert!(found >= FOUND_AT_LEAST, "{}", missed.join("\n"));
}

#[test]
fn ordinary_notes_pass() {
    let mut random = Random(42);
    let start = system::instant();
    assert_eq!(scanned("a first text"), []);
    eprintln!("privacy: {:?} to compile the rules", start.elapsed());
    let notes: Vec<String> = (0..NOTES).map(|_| notes::ordinary(600, &mut random)).collect();
    let refused: Vec<String> = notes
        .iter()
        .flat_map(|note| {
            scanned(note).into_iter().map(|found| format!("{}: {}", found.rule, &note[found.span]))
        })
        .collect();
    let share = refused.len() as f64 / NOTES as f64;
    let start = system::instant();
    let findings: usize = notes.iter().map(|note| scanned(note).len()).sum();
    let each = start.elapsed() / NOTES as u32;
    eprintln!(
        "privacy: {share:.4} of {NOTES} ordinary notes refused; {each:?} to scan one; {findings} findings: {refused:?}"
    );
    assert!(share <= REFUSED_AT_MOST, "{}", refused.join("\n"));
}

#[test]
fn our_own_sources_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The rules are tested on secrets.
    let samples = notes::files_below(&root.join("src/domain/privacy"));
    let mut chunks = 0;
    let mut refused = Vec::new();
    for dir in ["src", "tests", "prompts", "migrations", "tool-schemas"] {
        for text in notes::files_below(&root.join(dir)).into_iter().filter(|text| !samples.contains(text)) {
            let chars: Vec<char> = text.chars().collect();
            for chunk in chars.chunks(600) {
                chunks += 1;
                let chunk: String = chunk.iter().collect();
                refused.extend(
                    scanned(&chunk).iter().map(|f| format!("{}: {}", f.rule, &chunk[f.span.clone()])),
                );
            }
        }
    }
    eprintln!("privacy: {} findings in {chunks} pieces of this repository", refused.len());
    assert!(refused.len() as f64 <= REFUSED_AT_MOST * f64::from(chunks), "{}", refused.join("\n"));
}

/// Fails if a byte of a value, in any case, stands in a file of the workspace's runtime.
fn assert_nowhere(runtime: &Path, values: &[String]) {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(runtime).expect("a runtime directory") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            files.push((path.display().to_string(), std::fs::read(&path).expect("a readable file")));
        }
    }
    assert!(files.iter().any(|(_, bytes)| !bytes.is_empty()));
    for (name, bytes) in files {
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        for value in values {
            for part in telling_parts(value) {
                assert!(!text.contains(&part), "{name} holds a part of a secret");
            }
        }
    }
}

/// The beginning and the end of a value, in lower case, long enough to tell.
pub(crate) fn telling_parts(value: &str) -> [String; 2] {
    let lower = value.replace('\n', "\\n").to_lowercase();
    let part = lower.len().min(14);
    // A key block begins and ends like every other: its body is what tells.
    let (from, to) = if lower.starts_with("-----") { (40, lower.len() - 40) } else { (0, lower.len()) };
    [lower[from..from + part].to_owned(), lower[to - part..to].to_owned()]
}

/// Where a secret may be put in a tool call, one field after the other.
fn call_with(index: usize, text: &str) -> (&'static str, Value) {
    let claim = "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47";
    let line = text.replace('\n', " ");
    let fact =
        json!({ "statement": format!("the pool uses {text}"), "claim_type": "fact", "scopes": ["src"] });
    match index % 10 {
        0 | 1 => ("create_claim", fact),
        2 => (
            "create_claim",
            json!({ "statement": "x", "claim_type": "fact", "scopes": [format!("tag:{line}")] }),
        ),
        3 => ("report_event", json!({ "kind": "note", "summary": format!("seen {text}, twice") })),
        4 => ("report_event", json!({ "kind": "command_ran", "summary": "ran", "command": line })),
        5 => ("challenge", json!({ "claim_id": claim, "reason": text })),
        6 => ("deprecate_claim", json!({ "claim_id": claim, "reason": text })),
        7 => (
            "create_claim",
            json!({ "statement": "x", "claim_type": "negative", "scopes": ["src"],
                "trigger": { "commands": [line] } }),
        ),
        // These do not even parse: the error must not say them back.
        8 => ("create_claim", json!({ "statement": "x", "claim_type": line, "scopes": ["src"] })),
        _ => ("support", json!({ "claim_id": line })),
    }
}

async fn planted_through_a_pane(bench: &Bench, index_from: usize) -> Vec<String> {
    let pane = bench.pane_of_a_user("devops").await;
    let mut random = Random(index_from as u64);
    let mut values = Vec::new();
    for (index, rule) in planted().into_iter().enumerate() {
        let secret = secret(rule, &mut random);
        let (tool, arguments) = call_with(index + index_from, &secret.text);
        let answer = pane.call(tool, arguments.clone()).await.expect("an answer");
        assert_eq!(answer.body["code"], "privacy_deny_sensitive", "{rule} {arguments}: {answer:?}");
        assert_eq!(answer.body["rule"], rule, "{answer:?}");
        let shown = format!("{} {}", answer.text, answer.body).to_lowercase();
        for part in telling_parts(&secret.value) {
            assert!(!shown.contains(&part), "the answer holds a part of the secret: {shown}");
        }
        values.push(secret.value);
    }
    for name in ["session", "idempotency_key"] {
        let key = secret("github-token", &mut random).value;
        let answer = pane.call("report_event", json!({ "kind": "note", "summary": "x", name: key })).await;
        assert_eq!(answer.expect("an answer").body["field"], name);
        values.push(key);
    }
    pane.close().await;
    values
}

#[tokio::test]
async fn secrets_through_mcp_stay_nowhere() {
    let bench = Bench::new();
    let mut values = Vec::new();
    for shift in 0..3 {
        values.extend(planted_through_a_pane(&bench, shift * 3).await);
    }
    let pane = bench.pane(Some("devops"), Era::Modern).await;
    bench.accepted(&pane, "report_event", json!({ "kind": "note", "summary": "the last" })).await;
    let status: Value =
        serde_json::from_str(&pane.read("hivemind://status?format=json").await.expect("a status"))
            .expect("JSON");
    assert_eq!(status["denials"], values.len());
    pane.close().await;
    assert_nowhere(bench.workspace().memory(), &values);
}

#[tokio::test]
async fn secrets_stay_nowhere_while_the_writer_is_away() {
    let bench = Bench::new();
    let lock = bench.hold_writer_lock();
    let values = planted_through_a_pane(&bench, 0).await;
    let spooled = Spool::of(bench.workspace()).waiting();
    assert_eq!(spooled, values.len() as u64, "each denial waits like any command");
    assert_nowhere(bench.workspace().memory(), &values);
    drop(lock);
    bench.rebuild();
    let pane = bench.pane(Some("devops"), Era::Legacy).await;
    bench.accepted(&pane, "report_event", json!({ "kind": "note", "summary": "the last" })).await;
    let denied =
        pane.read("hivemind://events?type=memory.denied&limit=500&format=json").await.expect("events");
    let denied: Value = serde_json::from_str(&denied).expect("JSON");
    assert_eq!(denied["events"].as_array().map(Vec::len), Some(values.len()));
    assert_eq!(denied["events"][0]["agent"], "devops");
    pane.close().await;
    assert_nowhere(bench.workspace().memory(), &values);
}

#[test]
fn secrets_on_the_command_line_stay_nowhere() {
    let shell = Shell::new();
    let mut random = Random(7);
    let mut values = Vec::new();
    for (index, rule) in planted().into_iter().enumerate() {
        let secret = secret(rule, &mut random);
        let mut command = shell.command("hm --agent devops --json claim create");
        match index % 4 {
            0 | 1 => command.args(["--scope", "src", &format!("it uses {}", secret.text)]),
            2 => command.args([
                "--scope",
                "src",
                "a claim",
                &format!("--key={}", secret.text.replace('\n', "\\n")),
            ]),
            _ => command.args(["--scope", "src", "a claim", &format!("--type={}", secret.text)]),
        };
        let output = command.output().expect("hm runs");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).to_lowercase();
        assert_eq!(output.status.code(), Some(1), "{rule}: {said}");
        assert!(said.contains("privacy_deny_sensitive") && said.contains(rule), "{said}");
        for part in telling_parts(&secret.value) {
            assert!(!said.contains(&part), "{said}");
        }
        values.push(secret.value);
    }
    let status = shell.json("hm --json status");
    assert_eq!(status["denials"], values.len());
    assert_nowhere(shell.workspace().memory(), &values);
}

/// Fails if a file below a directory, or its name, holds a byte run of a value.
fn assert_nowhere_below(root: &Path, value: &str) -> usize {
    let mut dirs = vec![root.to_path_buf()];
    let mut files = 0;
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            assert!(!path.to_string_lossy().contains(value), "{} is called so", path.display());
            if path.is_dir() {
                dirs.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                files += 1;
                let text = String::from_utf8_lossy(&bytes);
                assert!(!text.contains(value), "{} holds the secret", path.display());
            }
        }
    }
    files
}

#[test]
fn no_file_is_written_before_the_gate() {
    let shell = Shell::new();
    let root = shell.workspace().root().to_path_buf();
    let mut random = Random(11);
    let mut refused = |line: &str, field: &str| {
        let key = secret("aws-key", &mut random).value;
        let mut command = shell.command("hm --agent operator --operator-override test --json experiment");
        command.args(line.replace("KEY", &key).split_whitespace());
        let output = command.output().expect("hm runs");
        let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(said["code"], "privacy_deny_sensitive", "{line}: {said}");
        assert_eq!(said["field"], field, "{line}");
        assert!(assert_nowhere_below(&root, &key) > 3);
        assert_nowhere_below(shell.state_home(), &key);
    };
    refused("record --exit-code 0 --thread-id t --test-id t --command curl,KEY", "command");
    refused("record --exit-code 0 --thread-id KEY --test-id t", "thread_id");
    refused("record --exit-code 0 --thread-id t --test-id KEY", "test_id");
    refused("record --exit-code 0 --thread-id t --test-id t --out-file out/KEY.json", "out_file");
    refused("run --thread-id t --test-id KEY -- true", "test_id");
    refused("run --thread-id KEY --test-id t -- true", "thread_id");
    refused("run --thread-id t --test-id t -- touch KEY", "command");
    assert_eq!(shell.json("hm --json status")["denials"], 7);

    // A client's session that is a secret stands in no file either.
    let key = secret("aws-key", &mut Random(12)).value;
    let mut hook = shell
        .command("hm hook claude")
        .env("HM_AGENT", "devops")
        .env("CLAUDE_PID", std::process::id().to_string())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("hm starts");
    let payload =
        json!({ "hook_event_name": "SessionStart", "session_id": key, "cwd": root, "source": "startup" });
    let mut stdin = hook.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, payload.to_string().as_bytes()).expect("a hook that reads");
    drop(stdin);
    assert!(hook.wait().expect("a hook that ends").success());
    assert_nowhere_below(&root, &key);
}

#[test]
fn values_of_the_environment_and_own_patterns_are_refused() {
    let shell = Shell::new();
    let config = shell.workspace().config();
    let text = std::fs::read_to_string(&config)
        .expect("a config")
        .replace("# patterns = []", "patterns = ['CORP-[0-9]{6}']");
    std::fs::write(&config, text).expect("a writable config");
    let value = Random(3).run("abcdefgh", 11) + "-7";
    let run = |statement: &str| {
        let mut command = shell.command("hm --agent devops --json claim create --scope src");
        let output = command.arg(statement).env("SHOP_DB_PASSWORD", &value).output().expect("hm runs");
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    assert_eq!(run(&format!("the pool logs in with {value} at night"))["rule"], "environment-value");
    for form in [
        value.to_uppercase(),
        value.replace('-', "%2D"),
        STANDARD.encode(&value),
        STANDARD.encode(format!("{value}\n")),
        STANDARD.encode(format!("deploy:{value}")),
    ] {
        assert_eq!(
            run(&format!("the pool logs in with {form} at night"))["rule"],
            "environment-value",
            "{form}"
        );
    }
    assert_eq!(run("badge CORP-123456 opens it")["rule"], "own-1");
    assert_eq!(run("the badge opens it")["state"], "committed");
    assert_nowhere(shell.workspace().memory(), &[value, "CORP-123456".to_owned()]);
    assert_eq!(shell.run("hm serv CORP").status.code(), Some(2));
    let key = secret("aws-key", &mut Random(5)).value;
    let output = shell.run(&format!("hm claim create --no-such-option {key}"));
    assert_eq!(output.status.code(), Some(2));
    assert!(!String::from_utf8_lossy(&output.stderr).contains(&key));
}

#[test]
fn the_writer_has_a_gate_of_its_own() {
    let workspace = TempWorkspace::new();
    let key = secret("aws-key", &mut Random(4)).value;
    let said = creation("devops", &format!("the key is {key}"));
    let mut committer = workspace.committer(1);
    let refused = committer.commit(&[said.clone(), creation("devops", "no key")]).expect("a group");
    assert_eq!(refused[0].as_ref().map_err(|no| no.code), Err(Code::PrivacyDenySensitive));
    assert_eq!(refused[1].as_ref().map(|receipt| receipt.seq), Ok(Some(2)));
    assert_eq!(workspace.events()[0].kind, "memory.denied");

    // As a front of an older release would have spooled it.
    let spool = Spool::of(&workspace);
    spool.append(&with_key(said.clone(), "again")).expect("a writable spool");
    std::fs::OpenOptions::new()
        .append(true)
        .open(spool.path())
        .and_then(|mut file| {
            std::io::Write::write_all(&mut file, format!("{{\"not\": \"{key}\"}}\n").as_bytes())
        })
        .expect("a writable spool");
    hivemind::writer::replay(&mut committer, &spool).expect("a replay");
    let kinds: Vec<String> = workspace.events().into_iter().map(|event| event.kind).collect();
    assert_eq!(
        kinds,
        ["memory.denied", "claim.created", "memory.denied", "command.rejected", "spool.flushed"]
    );
    assert_nowhere(workspace.memory(), &[key]);
    workspace.assert_sound();
}
