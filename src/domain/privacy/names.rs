//! Decides which names announce that their value is a secret.

/// A name that ends in one of these is secret, also when joined as in `dbpassword`.
const SECRET_WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "credential",
    "credentials",
    "apikey",
    "secretkey",
    "accesskey",
    "privatekey",
];
/// Words that make a `key` secret. A cache key or a primary key is not.
const SECRET_KEYS: &[&str] = &[
    "access",
    "account",
    "admin",
    "api",
    "app",
    "auth",
    "client",
    "encryption",
    "license",
    "master",
    "private",
    "root",
    "secret",
    "service",
    "signing",
    "storage",
    "subscription",
    "webhook",
];
/// Words that make a `pass` secret. One of tests or of a compiler is not.
const SECRET_PASSES: &[&str] = &[
    "admin", "auth", "become", "database", "db", "ftp", "key", "keystore", "ldap", "login", "mail", "mongo",
    "mysql", "pg", "postgres", "proxy", "redis", "root", "smtp", "ssh", "ssl", "store", "sudo", "user",
    "vault", "wifi",
];
/// First words of names whose value may be a text about a password: `ERR_PASSWORD`.
const OF_TEXTS: &[&str] = &[
    "err", "error", "help", "hint", "invalid", "label", "message", "msg", "prompt", "text", "title",
    "warning",
];
/// What such a text may say of the password: `MSG_BAD_PASSWORD`. Any other word there names what the password is for, as in
/// `MSG_QUEUE_PASSWORD`.
const FAULTS: &[&str] =
    &["bad", "empty", "expired", "incorrect", "invalid", "missing", "no", "short", "weak", "wrong"];
/// Other words there that name no place: `PROMPT_FOR_PASSWORD`.
const OF_TALK: &[&str] = &["enter", "for", "new", "reset", "set"];
/// Words that may follow without changing the meaning, as in Rails' `SECRET_KEY_BASE`.
const NEUTRAL: &[&str] = &["base", "dev", "live", "prod", "production", "staging", "test", "value"];

/// Whether a name such as `DB_PASSWORD`, `apiKey` or `client-secret` announces a secret. `token_budget`,
/// `password_policy` and `tokenizer` do not.
pub(super) fn is_secret(name: &str) -> bool {
    let words = words(name);
    let mut words = words.iter().rev().map(String::as_str);
    let Some(last) = words.find(|word| !NEUTRAL.contains(word) && !word.bytes().all(|b| b.is_ascii_digit()))
    else {
        return false;
    };
    match last {
        "key" => words.next().is_some_and(|before| SECRET_KEYS.contains(&before)),
        "pass" => words.next().is_some_and(|before| SECRET_PASSES.contains(&before)),
        "pat" => true,
        _ => SECRET_WORDS.iter().any(|secret| last.ends_with(secret)),
    }
}

/// Whether the name is that of a secret which a person types.
pub(super) fn is_password(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    is_secret(name)
        && ["passw", "passphrase", "pwd", "_pass", "-pass"].iter().any(|word| lower.contains(word))
}

/// Whether an option of this name alone takes a password: of other names these words are no sign.
pub(super) fn is_short(option: &str) -> bool {
    ["pass", "pw"].contains(&option)
}

/// Whether the name is that of a secret which a person may have chosen: a password, or what is called a secret and no key.
pub(super) fn is_chosen(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    is_password(name) || is_secret(name) && lower.contains("secret") && !lower.contains("key")
}

/// Whether the name of a secret may be that of a text about one: a word for texts begins it, and the word for the secret
/// follows at once or behind a fault. In doubt it is none, because a masked text is the smaller harm.
pub(super) fn is_of_text(name: &str) -> bool {
    let words = words(name);
    let [first, faults @ .., last] = words.as_slice() else { return false };
    let is = |known: &[&str], word: &String| known.contains(&word.as_str());
    is(OF_TEXTS, first)
        && faults.iter().all(|word| is(FAULTS, word) || is(OF_TALK, word))
        && is(SECRET_WORDS, last)
}

/// Whether a word says what is wrong with a password: `ERR_PASSWORD=invalid`.
pub(super) fn is_fault(word: &str) -> bool {
    FAULTS.contains(&word)
}

/// The words of a name in lower case, split at non-alphanumeric characters and at camel case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let starts = !c.is_ascii_alphanumeric() || c.is_ascii_uppercase() && before.is_ascii_lowercase();
        if starts {
            words.push(String::new());
        }
        if c.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::{is_of_text, is_secret};

    #[test]
    fn a_text_about_a_secret_is_told_from_the_secret_of_a_service_for_texts() {
        for name in
            ["ERR_PASSWORD", "msgBadPassword", "INVALID_PASSWORD", "prompt-password", "PROMPT_FOR_PASSWORD"]
        {
            assert!(is_of_text(name), "{name}");
        }
        for name in [
            "MESSAGE_BROKER_PASSWORD",
            "MSG_QUEUE_PASSWORD",
            "PROMPT_DB_PASSWORD",
            "DB_MSG_PASSWORD",
            "MSG_BAD_DB_PASSWORD",
            "TEXT_API_SECRET",
            "ERR_PASSWORD_TEST",
            "PASSWORD",
        ] {
            assert!(!is_of_text(name), "{name}");
        }
    }

    #[test]
    fn a_name_is_judged_by_how_it_ends() {
        let secret = [
            "DB_PASSWORD",
            "apiKey",
            "client-secret",
            "AWS_SECRET_ACCESS_KEY",
            "SECRET_KEY_BASE",
            "dbpasswd",
            "x-api-key",
            "GITHUB_TOKEN_2",
            "refreshToken",
            "GITHUB_PAT",
            "stripe.secret",
            "DB_PASS",
            "ansible_become_pass",
        ];
        let ordinary = [
            "token_budget",
            "password_policy",
            "tokenizer",
            "max_tokens",
            "cache_key",
            "primaryKey",
            "key",
            "secret_name",
            "TOKEN_URL",
            "AWS_ACCESS_KEY_ID",
            "path",
            "passed",
            "first_pass",
            "pass",
            "2",
        ];
        assert_eq!(secret.iter().filter(|name| !is_secret(name)).collect::<Vec<_>>(), [&""; 0]);
        assert_eq!(ordinary.iter().filter(|name| is_secret(name)).collect::<Vec<_>>(), [&""; 0]);
    }
}
