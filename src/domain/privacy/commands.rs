//! Commands that may hold a secret in any form: what a line for the shell tells about its own words.
//!
//! The other rules find a secret and mask it. This one only says that a line is one to keep to oneself: a password of
//! ordinary words looks like any argument. It judges what is advised to other agents, so in doubt it says yes.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::random::is_placeholder;

/// Words for a secret with a value behind `=` or `:`: a variable, a key of a text or of an address. A few stand at the end of
/// longer names too: `dbPassword`, `PGPASSWORD`, `DBPIN`.
static SET: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r#"(?i)(?:(?:^|[\s"'`?&;,{(<=_-])(?:[a-z0-9]*[_-])*(?:pass|passwd|password|passphrase|passin|passout|passwort|pwd|pw|pin|otp|mfa"#,
        r"|secrets?|tokens?|sas|(?:access|account|api|master|private|secret|signing|license)[_-]?key|key|sig|signature",
        r"|creds?|credentials?|authorization|auth|bearer|cookie)[a-z0-9_-]*",
        r#"|(?:pass|passwd|password|passphrase|pwd|pin|secret|token|apikey)(?:[_-][a-z0-9_-]*)?)["'`]*[\t ]*[:=][\t ]*\S"#,
    ))
});
/// Words for a secret with a value behind a space: options, and names that hardly mean anything else.
static GIVEN: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)(?:(?:^|[\s`(])--?(?:[a-z0-9]*[_-])*[a-z]*(?:pass|passwd|password|passphrase|passin|passout|passwort|pwd|pw|pin|otp|mfa",
        r"|secrets?|tokens?|sas|key|creds?|credentials?|auth|bearer|cookie)(?:[_-][a-z0-9_-]*)?",
        r#"|(?:login|log_in|sign_in|create_user|createuser|authenticate)\(["'`a-z]+\S*\(?|pypi-token\.\S*|http-basic\.\S*|alias[\t ]+set"#,
        r#"|(?:^|[\s"'`/:_])(?:[a-z0-9]*[_-])*(?:passwd|password|passphrase|passwort|secret|identified[\t ]+by"#,
        r#"|_?auth[_-]?token|(?:access|account|api|private|secret|signing)[_-]?(?:key|token)))["'`]*[\t ]+[^-\s|;&]"#,
    ))
});
/// A call that logs in with what stands between quotes.
static LOGS_IN: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"(?i)\b(?:login|log_in|sign_in|create_user|createuser|authenticate|auth)\(["'`][^)"'`]"#)
});
/// The user of an address, with or without a password: a token stands in both places.
static USER_OF_ADDRESS: LazyLock<Regex> = LazyLock::new(|| regex(r"://([^\s/@]+)@"));
/// A long word of both cases and digits.
static RUN: LazyLock<Regex> = LazyLock::new(|| regex(r"[A-Za-z0-9+=_-]{16,}"));
/// What stands in the place of a secret that was masked.
const MASKED: &str = "[redacted:";
/// Programs that are about passwords and keys, whatever their arguments are.
const ABOUT_SECRETS: [&str; 40] = [
    "ssh-keygen",
    "keyring",
    "impacket",
    "exp",
    "bw",
    "borg",
    "ansible-vault",
    "chpasswd",
    "cryptsetup",
    "doveadm",
    "expdp",
    "expect",
    "gpg-preset-passphrase",
    "htpasswd",
    "impdp",
    "jarsigner",
    "keyctl",
    "keytool",
    "kinit",
    "ldappasswd",
    "login",
    "mkpasswd",
    "mosquitto_passwd",
    "net",
    "op",
    "openssl",
    "pass",
    "passwd",
    "rabbitmqctl",
    "rman",
    "secret-tool",
    "security",
    "smbpasswd",
    "sqlplus",
    "sshpass",
    "su",
    "vault",
    "vncpasswd",
    "wpa_passphrase",
    "wpa_supplicant",
];
/// Programs, and the options with which they take a password.
const WITH_OPTIONS: [(&str, &[&str]); 33] = [
    ("7z", &["-p"]),
    ("7za", &["-p"]),
    ("bcp", &["-P"]),
    ("curl", &["-u", "-U", "-b", "--user", "--proxy-user", "--oauth2-bearer"]),
    ("freetds", &["-P"]),
    ("gh", &["-b", "--body"]),
    ("http", &["-a", "--auth"]),
    ("https", &["-a", "--auth"]),
    ("ipmitool", &["-P", "-K"]),
    ("isql", &["-P"]),
    ("ldapadd", &["-w"]),
    ("ldapdelete", &["-w"]),
    ("ldapmodify", &["-w"]),
    ("ldapsearch", &["-w"]),
    ("ldapwhoami", &["-w"]),
    ("lftp", &["-u"]),
    ("mosquitto_pub", &["-P"]),
    ("mosquitto_sub", &["-P"]),
    ("mount", &["-o"]),
    ("ncftpget", &["-p"]),
    ("osql", &["-P"]),
    ("rar", &["-p", "-hp"]),
    ("redis-cli", &["-a", "--pass", "--user"]),
    ("rpcclient", &["-U"]),
    ("smbclient", &["-U"]),
    ("snmpget", &["-c", "-A", "-X"]),
    ("snmpwalk", &["-c", "-A", "-X"]),
    ("sqlcmd", &["-P"]),
    ("tsql", &["-P"]),
    ("unrar", &["-p"]),
    ("unzip", &["-P"]),
    ("useradd", &["-p"]),
    ("zip", &["-P"]),
];
/// Programs of which any option that begins with `-p` may be a password.
const WITH_P: [&str; 12] = [
    "docker",
    "helm",
    "mariadb",
    "mariadb-dump",
    "mongo",
    "mongodump",
    "mongorestore",
    "mongosh",
    "mysql",
    "mysqladmin",
    "mysqldump",
    "podman",
];
/// Verbs after which a program is told who it works for.
const VERBS: [&str; 9] = [
    "adduser",
    "auth",
    "authenticate",
    "createuser",
    "login",
    "requirepass",
    "secrets",
    "set-password",
    "signin",
];

/// Programs that build, test or look, and never log in.
const OF_WORK: [&str; 26] = [
    "bazel",
    "cat",
    "cp",
    "deno",
    "docker-compose",
    "git",
    "go",
    "gradle",
    "gradlew",
    "grep",
    "jest",
    "just",
    "ls",
    "make",
    "mkdir",
    "mv",
    "mvn",
    "npx",
    "pytest",
    "python",
    "python3",
    "rg",
    "rm",
    "touch",
    "tox",
    "vitest",
];

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of our own, used by the tests below")
}

/// What other agents are shown of a line for the shell: of one that may hold a secret the program alone, without variables
/// before it.
pub fn shown(line: &str) -> Cow<'_, str> {
    if !may_hold_secret(line) {
        return Cow::Borrowed(line);
    }
    let is_variable = |word: &&str| word.contains('=') || word.contains(['"', '\'', '$', '(']);
    let program = line.split_whitespace().next().filter(|word| !is_variable(word));
    Cow::Owned(program.map_or_else(|| "…".to_owned(), |program| format!("{program} …")))
}

/// Whether a line for the shell may hold a secret, masked or not.
pub fn may_hold_secret(line: &str) -> bool {
    line.contains(MASKED)
        || SET.is_match(line)
        || GIVEN.is_match(line)
        || LOGS_IN.is_match(line)
        || USER_OF_ADDRESS.captures_iter(line).any(|found| &found[1] != "git")
        || RUN.find_iter(line).any(|run| is_mixed(run.as_str()))
        || line
            .split(['|', ';', '&', '\n', '(', '`'])
            .any(|command| takes_secret(command, line.contains(['|', '<'])))
}

/// Whether one command of a line takes a secret by an option or by its input, which may be of the line.
fn takes_secret(command: &str, is_fed: bool) -> bool {
    let words: Vec<&str> = command
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| "\"'`()".contains(c)))
        .filter(|word| !word.is_empty())
        .collect();
    let has = |options: &[&str]| {
        words.iter().any(|word| {
            // The value may follow without a space.
            options.iter().any(|option| {
                word.strip_prefix(option)
                    .is_some_and(|rest| !option.starts_with("--") || rest.is_empty() || rest.starts_with('='))
            })
        })
    };
    words.iter().enumerate().any(|(at, word)| {
        let program = word.rsplit('/').next().unwrap_or(word);
        let is_last = at + 1 == words.len();
        let options = WITH_OPTIONS.iter().find(|(known, _)| *known == program);
        // Of `sudo -S` the password comes from its input.
        (["sudo", "doas"].contains(&program) && has(&["-S", "--stdin", "-kS", "-Sk"]))
            || ABOUT_SECRETS.contains(&program) && is_begun(&words[..at]) && (is_fed || !is_last)
            || options.is_some_and(|(_, options)| has(options))
            || WITH_P.contains(&program)
                && words[at..].iter().any(|word| {
                    word.starts_with("-p")
                        && (!["docker", "podman"].contains(&program) || words.contains(&"login"))
                })
            // The name of a user stands beside that of a password.
            || at == 0 && has(&["-u", "-U", "--user", "--username", "/u:"]) && has(&["-p", "-P", "/p:"])
            || (1..=2).contains(&at) && VERBS.contains(word) && !is_work(&words)
            || at == 0 && !is_last && ["login", "passwd", "auth"].iter().any(|part| program.contains(part))
    })
}

/// Whether words before a program are variables and programs that only run it.
fn is_begun(before: &[&str]) -> bool {
    const RUNNING: [&str; 8] = ["doas", "env", "exec", "nohup", "ssh", "sudo", "time", "xargs"];
    before.first().is_none_or(|word| word.contains('=') || RUNNING.contains(word))
}

/// Whether a command builds, tests, starts or looks: its words are names of parts of the work, such as `auth`.
fn is_work(words: &[&str]) -> bool {
    let [program, verb, ..] = words else { return false };
    let program = program.rsplit('/').next().unwrap_or(program);
    match program {
        "cargo" | "npm" | "yarn" | "pnpm" => !VERBS.contains(verb),
        "docker" | "podman" => *verb == "compose",
        _ => OF_WORK.contains(&program),
    }
}

/// Whether a run of letters and digits looks like drawn by chance.
fn is_mixed(run: &str) -> bool {
    let count = |is: fn(&u8) -> bool| run.bytes().filter(is).count();
    count(u8::is_ascii_digit) >= 2
        && count(u8::is_ascii_lowercase) >= 2
        && count(u8::is_ascii_uppercase) >= 2
        && !is_placeholder(run)
}

#[cfg(test)]
mod tests {
    use super::{may_hold_secret, shown};

    #[test]
    fn of_a_command_that_may_hold_a_secret_others_are_shown_the_program() {
        for (line, said) in [
            ("cargo test pool", "cargo test pool"),
            ("docker login -u me -p sunshine", "docker …"),
            ("./login.sh me sunshine", "./login.sh …"),
            // Red before: the first word was shown.
            ("KEY=sunshine ./x.sh", "…"),
            ("CREDS=bob:sunshine", "…"),
            ("OTP=123456 A=b ./x.sh", "…"),
            ("'PIN=1 2' x", "…"),
        ] {
            assert_eq!(shown(line), said);
        }
    }

    #[test]
    fn a_command_that_may_hold_a_secret_is_told_from_others() {
        for line in [
            "mysql -uroot -pHunter2Zq9 app < x.sql",
            "mysql -p hunter app",
            "export PGPASSWORD=abcdef12; psql -c 'x'",
            "PGPASSWORD=sunshine psql",
            // Red before: only a word behind a separator counted.
            "dbPassword=sunshine ./fix.sh",
            "userToken=sunshine ./fix.sh",
            "DBPIN=4711 ./v.sh",
            "OTP=123456 ./x.sh",
            // Red before: a program at the end of a line takes what comes through the pipe.
            "echo bob:sunshine | sudo chpasswd",
            "printf 'sunshine\\nsunshine\\n' | passwd",
            "echo sunshine | kinit",
            "jarsigner -storepass sunshine a.jar x",
            "ansible-vault encrypt_string sunshine",
            "net user bob sunshine /add",
            "impdp scott/sunshine directory=x",
            "xfreerdp /u:bob /p:sunshine /v:h",
            "rdesktop -u bob -p sunshine h",
            "cqlsh -u bob -p sunshine",
            "mssql-cli -U sa -P sunshine",
            "az storage blob upload --sas sunshine",
            "ssh-keygen -t rsa -N sunshine -f k",
            "fly secrets set X=sunshine",
            "bw unlock sunshine",
            "poetry config pypi-token.pypi sunshine",
            "poetry config http-basic.x bob sunshine",
            "mc alias set m http://h admin sunshine",
            "python -c \"x.login('bob', 'sunshine')\"",
            "python -c \"x.login('bob','sunshine')\"",
            "mongosh shop --eval \"db.auth('bob','sunshine')\"",
            "curl -u admin:Sup3rPw9 https://x/reset",
            "curl --user=admin:pw https://x",
            "curl https://admin:pw@x.io/reset",
            "curl 'https://x/?token=Qt0k3nQQ11zz'",
            "curl 'https://x/?a=1&access_token=abc'",
            "curl -d '{\"password\":\"J5onPw99\"}' https://x/login",
            "curl -H 'X-Api-Key: {hash}' https://x",
            "curl -H 'Authorization: Bearer abc' https://x",
            "sshpass -p Tr0ub4dor ssh host reset",
            "echo Tr0ub4dorX | sudo -S systemctl restart x",
            "sudo -S true <<< correcthorse",
            "aws configure set aws_secret_access_key wJalrXUtnFEMI",
            "psql postgres://u:S3cretPw77@h/db -c 'create role'",
            "psql -c \"ALTER ROLE x PASSWORD 'sunshine'\"",
            "mysql -e \"CREATE USER x IDENTIFIED BY 'sunshine'\"",
            "redis-cli -a sunshine AUTH",
            "docker login -u me -p sunshine reg.io",
            "cat pw | docker login --password-stdin",
            "gh auth login --with-token < t",
            "openssl enc -aes-256-cbc -k sunshine -in a",
            "openssl rsa -passin pass:sunshine -in k -passout pass:moon",
            "vault write secret/x password=sunshine",
            "vault kv put secret/x a=sunshine",
            "kubectl create secret generic s --from-literal=a=sunshine",
            "git clone https://glpat@gitlab.com/x",
            "htpasswd -b f user sunshine",
            "az login --service-principal -u a -p sunshine --tenant t",
            "PASS=sunshine ./fix.sh",
            "ldapsearch -x -D cn=admin -w sunshine",
            "unzip -P sunshine a.zip",
            "7z x -psunshine a.7z",
            "smbclient //h/s -U me%sunshine",
            "printf 'machine x login y password sunshine' > ~/.netrc",
            "rclone config create r s3 secret_access_key sunshine",
            "gpg --batch --passphrase sunshine -d a",
            "./login.sh me sunshine",
            "npm config set //r/:_authToken sunshine",
            "kinit me <<< sunshine",
            "snmpwalk -v2c -c sunshine host",
            "sqlplus me/sunshine@db",
            "deploy Qt0k3nQQ11zzABcd",
            "tool signin me sunshine",
            "login.sh --password [redacted:secret-assignment]",
        ] {
            assert!(may_hold_secret(line), "{line}");
        }
        for line in [
            "cargo add serde-json",
            "apt-get install -y libpq-dev zlib1g-dev",
            "createuser pooluser",
            "./scripts/renew-token.sh",
            "cp .env.example .env",
            "git pull --rebase",
            "git clone git@github.com:x/y.git",
            "git clone ssh://git@github.com/x/y.git",
            "export NET_HOST=db1",
            "export DATABASE_HOST=localhost PORT=5432",
            "docker compose up -d db",
            "docker run -p 8080:80 web",
            "docker restart redis",
            "npm i -D @types/node",
            "cd infra && terraform apply -auto-approve",
            "sudo systemctl restart postgresql",
            "kill 4711",
            "chmod +x run.sh",
            "unzip -o a.zip -d out",
            "mysql -uroot app < schema.sql",
            "curl -fsSL https://sh.rustup.rs -o rustup.sh",
            "git checkout 1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d",
            "cargo install mdbook --version 0.4.40",
            "rm -rf target/debug/deps/pool-1a2b3c4d5e6f7a8b",
            "pip install -r requirements.txt",
            "mkdir -p target/tmp && touch target/tmp/a",
            "make tokens",
            // Red before: each word such as `auth` with another one behind it was a secret.
            "pytest -k auth tests/b.py",
            "cargo test auth -- --nocapture",
            "cargo test --test login pool",
            "go test ./auth -run Token ./x",
            "npx jest login src",
            "docker compose up auth db",
            "npm test auth server",
            "make auth deploy2",
            "./gradlew :auth:test --tests Login",
            "git commit -m {quoted}",
            "git checkout -b auth tokens",
            "cat src/login.rs src/pool.rs",
            "signin",
        ] {
            assert!(!may_hold_secret(line), "{line}");
        }
    }
}
