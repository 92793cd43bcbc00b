//! Commands that may hold a secret in any form: what a line for the shell tells about its own words.
//!
//! The other rules find a secret and mask it. This one only says that a line is one to keep to oneself: a password of
//! ordinary words looks like any argument. It judges what is advised to other agents, so in doubt it says yes.

use std::sync::LazyLock;

use regex::Regex;

use super::random::is_placeholder;

/// Words for a secret: as an option, a name, a key of a text or of an address. What follows may be the secret.
static SAID: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r#"(?i)(?:^|[\s"'`?&;,:{(<=_-])(?:[a-z0-9]*[_-])*(?:pass|passwd|password|passphrase|passin|passout|passwort|pwd|pw|pin|otp|mfa"#,
        r"|secrets?|tokens?|api[_-]?key|(?:access|account|master|private|secret|signing|license)[_-]?key|key|sig|signature",
        r#"|creds?|credentials?|authorization|auth|bearer|cookie|identified[\t ]+by)[a-z0-9_-]*["'`]*(?:[\t ]*[:=]|[\t ]+)[\t ]*\S"#,
    ))
});
/// The user of an address, with or without a password: a token stands in both places.
static USER_OF_ADDRESS: LazyLock<Regex> = LazyLock::new(|| regex(r"://([^\s/@]+)@"));
/// A long word of both cases and digits.
static RUN: LazyLock<Regex> = LazyLock::new(|| regex(r"[A-Za-z0-9+=_-]{16,}"));
/// What stands in the place of a secret that was masked.
const MASKED: &str = "[redacted:";
/// Programs that are about passwords and keys, whatever their arguments are.
const ABOUT_SECRETS: [&str; 29] = [
    "chpasswd",
    "cryptsetup",
    "doveadm",
    "expect",
    "gpg-preset-passphrase",
    "htpasswd",
    "keyctl",
    "keytool",
    "kinit",
    "ldappasswd",
    "login",
    "mkpasswd",
    "mosquitto_passwd",
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
const VERBS: [&str; 7] =
    ["adduser", "auth", "authenticate", "login", "requirepass", "signin", "set-password"];

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of our own, used by the tests below")
}

/// Whether a line for the shell may hold a secret, masked or not.
pub fn may_hold_secret(line: &str) -> bool {
    line.contains(MASKED)
        || SAID.is_match(line)
        || USER_OF_ADDRESS.captures_iter(line).any(|found| &found[1] != "git")
        || RUN.find_iter(line).any(|run| is_mixed(run.as_str()))
        || line.split(['|', ';', '&', '\n', '(', '`']).any(takes_secret)
}

/// Whether one command of a line takes a secret by an option or by its input.
fn takes_secret(command: &str) -> bool {
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
            || ABOUT_SECRETS.contains(&program) && !is_last
            || options.is_some_and(|(_, options)| has(options))
            || WITH_P.contains(&program)
                && words[at..].iter().any(|word| {
                    word.starts_with("-p")
                        && (!["docker", "podman"].contains(&program) || words.contains(&"login"))
                })
            || at > 0 && VERBS.contains(word)
            || at == 0 && !is_last && ["login", "passwd", "auth"].iter().any(|part| program.contains(part))
    })
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
    use super::may_hold_secret;

    #[test]
    fn a_command_that_may_hold_a_secret_is_told_from_others() {
        for line in [
            "mysql -uroot -pHunter2Zq9 app < x.sql",
            "mysql -p hunter app",
            "export PGPASSWORD=abcdef12; psql -c 'x'",
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
            "cat src/login.rs src/pool.rs",
            "signin",
        ] {
            assert!(!may_hold_secret(line), "{line}");
        }
    }
}
