//! The table of public secret formats, from the issuers' own documentation, and the search for them.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use super::random::{MIN_UNWORDLY_CHARS, has_crc32_suffix, is_placeholder, unwordly_chars};
use super::{assignment, chosen};

use Alphabet::{Alnum, Dotted, Hex, Url, Word};

/// The characters after a prefix. Case is ignored, because tags and targets are stored in lower case.
#[derive(Debug, Clone, Copy)]
enum Alphabet {
    Hex,
    Alnum,
    /// Letters, digits, `_`.
    Word,
    /// Letters, digits, `_`, `-`: base64url.
    Url,
    /// Letters, digits, `_`, `-`, `.`.
    Dotted,
}

impl Alphabet {
    const fn has(self, byte: u8) -> bool {
        match self {
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
        }
    }
}

#[derive(Debug)]
enum Shape {
    /// One of these prefixes, then this many characters of an alphabet, and no further one.
    Run { prefixes: &'static [&'static str], alphabet: Alphabet, chars: RangeInclusive<usize> },
    /// A run that ends in a CRC-32. A valid checksum proves a secret whatever the rest looks like. An invalid one
    /// proves nothing, because issuers change their schemes and texts change case.
    Checked { prefixes: &'static [&'static str], chars: RangeInclusive<usize> },
    /// Any other format: words of which the text must contain one, a cheap hint pattern, and the full pattern. The
    /// first group is the secret, or the whole match if there is no group.
    Pattern { words: &'static [&'static str], hint: &'static str, pattern: &'static str },
}

/// One entry of the table.
#[derive(Debug)]
pub(super) struct Format {
    /// The rule's name; several entries may share one.
    pub rule: &'static str,
    shape: Shape,
}

const fn run(
    rule: &'static str,
    prefixes: &'static [&'static str],
    alphabet: Alphabet,
    chars: RangeInclusive<usize>,
) -> Format {
    Format { rule, shape: Shape::Run { prefixes, alphabet, chars } }
}

const fn checked(
    rule: &'static str,
    prefixes: &'static [&'static str],
    chars: RangeInclusive<usize>,
) -> Format {
    Format { rule, shape: Shape::Checked { prefixes, chars } }
}

const fn pattern(
    rule: &'static str,
    words: &'static [&'static str],
    hint: &'static str,
    pattern: &'static str,
) -> Format {
    Format { rule, shape: Shape::Pattern { words, hint, pattern } }
}

/// Every known format. Upper limits leave room for growth where the issuer announced none.
pub(super) static FORMATS: &[Format] = &[
    // Cloud and infrastructure.
    run("aws-key", &["AKIA", "ASIA", "ABIA", "ACCA"], Alnum, 16..=16),
    pattern(
        "aws-secret-key",
        &["aws"],
        r"aws[a-z0-9_.-]*secret",
        r#"aws[a-z0-9_.-]{0,24}secret[a-z0-9_.-]{0,24}["'`\]]{0,2}[\t ]*(?::=|=>|[:=])[\t ]*["'`]?([a-z0-9/+]{40})"#,
    ),
    pattern("azure-storage-key", &["accountkey="], r"accountkey=", r"accountkey=([a-z0-9+/]{86}==)"),
    pattern(
        "azure-sas",
        &["?sig=", "&sig="],
        r"[?&]sig=",
        r"[?&]sig=([a-z0-9+/]{20}[a-z0-9+/%]{16,60}(?:=|%3d))",
    ),
    run("google-api-key", &["AIza"], Url, 35..=35),
    run("google-oauth", &["GOCSPX-"], Url, 20..=64),
    run("google-oauth", &["ya29."], Dotted, 30..=2_048),
    run("google-oauth", &["1//0"], Url, 40..=256),
    run("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], Hex, 64..=64),
    run("vault-token", &["hvs.", "hvb.", "hvr."], Url, 24..=512),
    pattern("terraform-token", &[".atlasv1."], r"\.atlasv1\.", r"[a-z0-9]{14}\.atlasv1\.[a-z0-9_=-]{60,70}"),
    run("databricks-token", &["dapi"], Hex, 32..=32),
    run("grafana-token", &["glsa_"], Word, 41..=41),
    run("grafana-token", &["glc_"], Alnum, 32..=400),
    run("newrelic-key", &["NRAK-"], Alnum, 27..=27),
    run("supabase-token", &["sbp_"], Hex, 40..=40),
    run("planetscale-token", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], Dotted, 32..=64),
    // Forges and package registries.
    checked("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], 36..=255),
    run("github-fine-grained", &["github_pat_"], Word, 70..=255),
    pattern(
        "gitlab-token",
        &["glpat-", "gldt-", "glrt-", "glptt-", "gloas-", "glft-", "glsoat-", "glcbt-", "glagent-", "glimt-"],
        r"gl(?:pat|dt|rt|ptt|oas|ft|soat|cbt|agent|imt)-",
        r"gl(?:pat|dt|rt|ptt|oas|ft|soat|cbt|agent|imt)-[a-z0-9_-]{20,300}(?:\.[a-z0-9]{2}\.[a-z0-9]{7,12})?",
    ),
    checked("npm-token", &["npm_"], 36..=36),
    run("pypi-token", &["pypi-AgE"], Url, 50..=512),
    run("rubygems-key", &["rubygems_"], Hex, 48..=48),
    run("crates-io-token", &["cio"], Alnum, 32..=32),
    run("docker-token", &["dckr_pat_", "dckr_oat_"], Url, 27..=64),
    run("atlassian-token", &["ATATT3", "ATCTT3", "ATBB"], Url, 28..=300),
    // Chat and mail.
    run(
        "slack-token",
        &["xoxb-", "xoxp-", "xoxa-", "xoxo-", "xoxr-", "xoxs-", "xoxe-", "xoxe.xoxp-", "xoxe.xoxb-"],
        Url,
        20..=255,
    ),
    run("slack-token", &["xapp-"], Url, 40..=255),
    pattern(
        "slack-webhook",
        &["hooks.slack.com/"],
        r"hooks\.slack\.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[a-z0-9]+/[a-z0-9]+/([a-z0-9/]{18,64})",
    ),
    pattern(
        "discord-token",
        &["."],
        r"\.[a-z0-9_-]{6}\.[a-z0-9_-]{8}",
        r"[mno][a-z0-9_-]{23,27}\.[a-z0-9_-]{6}\.[a-z0-9_-]{27,38}",
    ),
    pattern(
        "discord-webhook",
        &["/webhooks/"],
        r"/webhooks/[0-9]",
        r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{17,20}/([a-z0-9_-]{60,72})",
    ),
    pattern("telegram-token", &[":aa"], r"[0-9]:aa[a-z0-9_-]", r"[0-9]{8,10}:aa[a-z0-9_-]{33}"),
    pattern("sendgrid-key", &["sg."], r"sg\.[a-z0-9_-]{8}", r"sg\.[a-z0-9_-]{22}\.[a-z0-9_-]{43}"),
    run("twilio-key", &["SK"], Hex, 32..=32),
    pattern("mailchimp-key", &["-us"], r"[0-9a-f]-us[0-9]", r"[0-9a-f]{32}-us[0-9]{1,2}"),
    // Payment and commerce.
    run("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], Alnum, 20..=247),
    run("stripe-key", &["whsec_"], Alnum, 32..=64),
    run("square-token", &["sq0atp-", "sq0csp-"], Url, 22..=64),
    run("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], Hex, 32..=32),
    // Model providers.
    run("anthropic-key", &["sk-ant-"], Url, 40..=255),
    run("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], Url, 40..=255),
    run("openai-key", &["sk-"], Alnum, 40..=64),
    run("openrouter-key", &["sk-or-v1-"], Hex, 64..=64),
    run("hugging-face-token", &["hf_", "api_org_"], Alnum, 34..=40),
    run("groq-key", &["gsk_"], Alnum, 52..=52),
    run("xai-key", &["xai-"], Alnum, 80..=80),
    run("perplexity-key", &["pplx-"], Alnum, 48..=56),
    run("replicate-token", &["r8_"], Alnum, 37..=37),
    // Work tools.
    run("linear-key", &["lin_api_", "lin_oauth_"], Alnum, 40..=64),
    run("notion-token", &["ntn_"], Alnum, 40..=64),
    pattern("postman-key", &["pmak-"], r"pmak-", r"pmak-[0-9a-f]{24}-[0-9a-f]{34}"),
    run("sentry-token", &["sntryu_"], Hex, 64..=64),
    pattern("sentry-token", &["sntrys_"], r"sntrys_", r"sntrys_[a-z0-9+/=_-]{60,400}"),
    run("age-key", &["AGE-SECRET-KEY-1"], Alnum, 58..=58),
    // Formats of any issuer.
    pattern(
        "private-key",
        &["-----begin "],
        r"-----begin ",
        r"-----begin (?:[a-z0-9]+ ){0,4}private key(?: block)?-----(?:\\[nr]|[\t\n\r -~]){0,240}?[a-z0-9+/]{32}(?:[a-z0-9+/=\s]|\\[nr])*(?:-----end (?:[a-z0-9]+ ){0,4}private key(?: block)?-----)?",
    ),
    pattern(
        "jwt",
        &["eyj"],
        r"eyj[a-z0-9_-]+\.eyj",
        r"eyj[a-z0-9_-]{10,}\.eyj[a-z0-9_-]{8,}\.[a-z0-9_-]{16,}",
    ),
    pattern(
        "database-url",
        &["://"],
        r"://[!-9;-~]*:[!-~]+@",
        r"(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|clickhouse|cockroachdb|nats|oracle|snowflake|redshift|db2|elasticsearch|opensearch|neo4j|bolt|cassandra|couchdb|couchbase|influxdb|trino|presto|hive|vertica|kafka|mqtts?|stomp|memcached?|jdbc:[a-z]+)(?:\+[a-z0-9]+)?://[!#-&(-+.0-9;=?A-_a-~-]{0,64}:([!#-&(-.0-9:;=?A-_a-~]{3,128})@",
    ),
    pattern(
        "url-password",
        &["://"],
        r"://[!-9;-~]*:[!-~]+@",
        r"(?:https?|ftps?|sftp|ssh|git|wss?|smtps?|imaps?|pop3s?|ldaps?|socks[45][ah]?|svn|rsync|smb|davs?|telnet|vnc|rdp)(?:\+[a-z0-9]+)?://[!#-&(-+.0-9;=?A-_a-~-]{0,64}:([!#-&(-.0-9:;=?A-_a-~]{3,255})@",
    ),
    pattern(
        "authorization-header",
        &["authorization"],
        r"authorization",
        r#"authorization["'`\]]{0,2}[\t ]*(?:,|=>|[:=])[\t ]*["'`]?(?:bearer|basic|token)[\t ]+([a-z0-9._~+/=-]{16,})"#,
    ),
    pattern(
        "curl-password",
        &["curl"],
        r"curl[\t -~]*-u",
        r#"curl[\t ][\t -~]{0,160}?(?:-u|--user)[\t =]["'`]?[a-z0-9._@-]{1,64}:([!#-&(-;=?-_a-~]{6,128})"#,
    ),
    pattern(
        "option-password",
        &["sshpass"],
        r"sshpass[\t ]",
        r#"sshpass[\t ]+(?:-[a-oq-z]+[\t ]+){0,3}-p[\t ]*["'`]?([!#-&(-;=?-_a-~]{4,128})"#,
    ),
    pattern(
        "option-password",
        &["mysql", "mariadb"],
        r"(?:mysql|mariadb)[\t -~]*[\t ]-p",
        r#"(?:mysql|mariadb)(?:-?(?:admin|dump|import|check|show))?(?:[\t ][\t -~]{0,160}?)?[\t ]-p["'`]?([!#-&(-;=?-_a-~]{4,128})"#,
    ),
    // Options and arguments of programs that take a password or a token. Between program and option stands no other command,
    // and no sentence: see `is_sentence`.
    pattern(
        "option-password",
        &[
            "login",
            "twine",
            "mongosh",
            "mongodump",
            "mongorestore",
            "mongoexport",
            "mongoimport",
            "sqlcmd",
            "osql",
        ],
        r"(?:login|twine|mongo(?:sh|dump|restore|export|import)|sqlcmd|osql)[\t -~]*[\t ]-(?:p|-password)",
        r#"(?:(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|az|oc|cf|snyk)(?:[\t ]+[!-~]{1,64}){0,3}?[\t ]+login|twine[\t ]+upload|mongo(?:sh|dump|restore|export|import)|sqlcmd|osql)(?:[\t ][\t -%\x27-:<-{}~]{0,160}?)?[\t ](?:-p|--password)[\t =]*["'`]?([!#-&(-;=?-_a-~]{4,128})"#,
    ),
    pattern(
        "option-password",
        &["redis-cli", "> auth", ">auth"],
        r"(?:redis-cli[\t -~]*[\t ][\x22'`]?(?:-a|--pass|auth|requirepass)|(?:[0-9]{4,5}|redis)> ?auth)[\t =]",
        r#"(?:redis-cli(?:[\t ][\t -%\x27-:<-{}~]{0,160}?)?[\t ]["'`]?(?:-a|--pass|auth|requirepass)|(?:[0-9]{4,5}|redis)> ?auth)[\t =]+["'`]?([!#-&(-;=?-_a-~]{4,128})"#,
    ),
    pattern(
        "option-password",
        &["zip", "ldap", "openssl"],
        r"(?:zip|ldap[a-z]+|openssl)[\t -~]*[\t ]-(?:p|w|k)",
        r#"(?:(?:un)?zip(?:[\t ][\t -%\x27-:<-{}~]{0,160}?)?[\t ](?-i:-P)|ldap(?:search|add|modify|delete|passwd|whoami)(?:[\t ][\t -%\x27-:<-{}~]{0,160}?)?[\t ](?-i:-w)|openssl[\t ](?:[\t -%\x27-:<-{}~]{0,160}?[\t ])?-k[\t ])[\t ]*["'`]?([!#-&(-;=?-_a-~]{4,128})"#,
    ),
    pattern(
        "option-password",
        &["openssl"],
        r"openssl[\t -~]*pass:",
        r#"openssl[\t ](?:[\t -%\x27-:<-{}~]{0,160}?[\t ])?-pass(?:in|out)?[\t ]+["'`]?pass:([!#-&(-;=?-_a-~]{4,128})"#,
    ),
    pattern(
        "option-password",
        &["htpasswd"],
        r"htpasswd[\t ]+-",
        r#"htpasswd[\t ]+(?:-[a-z0-9]+[\t ]+){0,2}-[a-z]{0,4}b[a-z]{0,4}[\t ]+(?:-[a-z0-9]+[\t ]+){0,2}(?:[!-~]{1,160}[\t ]+){1,2}["'`]?([!#-&(-;=?-_a-~]{4,128})"#,
    ),
    pattern(
        "option-password",
        &["smbclient", "rpcclient", "smbget"],
        r"(?:smbclient|rpcclient|smbget)[\t -~]*%",
        r#"(?:smbclient|rpcclient|smbget)(?:[\t ][\t -%\x27-:<-{}~]{0,160}?)?[\t ](?:-U|--user)[\t =]*["'`]?[a-z0-9._@/\\-]{1,64}%([!#-&(-;=?-_a-~]{4,128})"#,
    ),
    pattern(
        "piped-password",
        &["sudo"],
        r"(?:echo|printf)[\t -~]*\|[\t ]*sudo[\t ]",
        r#"(?:echo|printf)[\t ]+(?:(?:-[a-z]+|["']?%s(?:\\n)?["']?)[\t ]+){0,2}["'`]?([!#-&(-;=?-_a-~]{4,128})["'`]?[\t ]*\|[\t ]*sudo[\t ]+(?:-[a-z]+[\t ]+){0,3}-[a-z]{0,4}(?-i:S)"#,
    ),
    pattern(
        "sql-password",
        &["create", "alter"],
        r"(?:create|alter)[\t ]+(?:role|user|login)[\t -~]*(?:password|identified[\t ]+by)",
        r#"(?:create|alter)[\t ]+(?:role|user|login)[\t ][\t -~]{0,160}?[\t ](?:password|identified[\t ]+by)[\t ]*=?[\t ]*[\\'"]{1,4}([ !#-&(-\[\]-~]{4,128}?)[\\'"]"#,
    ),
    // With the name of a user before the password.
    pattern(
        "option-password",
        &["redis-cli", "> auth", ">auth"],
        r"(?:redis-cli[\t -~]*[\t ][\x22'`]?|(?:[0-9]{4,5}|redis)> ?)auth[\t ]+[!-~]+[\t ]",
        r#"(?:redis-cli(?:[\t ][\t -%\x27-:<-{}~]{0,160}?)?[\t ]["'`]?|(?:[0-9]{4,5}|redis)> ?)auth[\t ]+["'`]?[!-:<-{}~]{1,64}[\t ]+["'`]?([!#-&(-;=?-_a-~]{4,128})"#,
    ),
    pattern(
        "vault-token",
        &["vault"],
        r"vault[\t ]+login[\t ]",
        r#"vault[\t ]+login[\t ]+(?:-[!-~]{1,64}[\t ]+){0,4}["'`]?([!#-&(-,.-;?-_a-~][!#-&(-;?-_a-~]{11,128})"#,
    ),
    pattern(
        "option-password",
        &["secret"],
        r"gh[\t ]+secret[\t ]+set[\t ]",
        r#"gh[\t ]+secret[\t ]+set(?:[\t ][\t -%\x27-:<-{}~]{0,160}?)?[\t ](?:-b|--body)[\t =]*["'`]?([!#-&(-;=?-_a-~]{4,128})"#,
    ),
    pattern(
        "piped-password",
        &["password-stdin", "with-token", "secret", "login"],
        r"(?:echo|printf)[\t -~]*\|[\t -~]*(?:password-stdin|with-token|secret[\t ]+(?:set|put)|vault[\t ]+login)",
        r#"(?:echo|printf)[\t ]+(?:(?:-[a-z]+|["']?%s(?:\\n)?["']?)[\t ]+){0,2}["'`]?([!#-&(-;=?-_a-~]{4,128})["'`]?[\t ]*\|[\t -~]{0,160}?(?:--password-stdin|--with-token|secret[\t ]+(?:set|put)|vault[\t ]+login)"#,
    ),
    pattern(
        "piped-password",
        &["redis-cli"],
        r"(?:echo|printf)[\t -~]*auth[\t -~]*\|[\t ]*redis-cli",
        r#"(?:echo|printf)[\t ]+(?:-[a-z]+[\t ]+)?["'`]?auth[\t ]+(?:[!-:<-{}~]{1,64}[\t ]+)?([!#-&(-;=?-_a-~]{4,128})["'`]?[\t ]*\|[\t ]*redis-cli"#,
    ),
    pattern(
        "piped-password",
        &["password-stdin", "with-token"],
        r"(?:password-stdin|with-token)[\t -~]*<<<",
        r#"--(?:password-stdin|with-token)[\t -~]{0,80}?<<<[\t ]*["'`]?([!#-&(-;=?-_a-~]{4,128})"#,
    ),
    // `.npmrc`, and the command that writes it.
    pattern(
        "npmrc-password",
        &["_auth", "_password"],
        r"_(?:auth|password)[\x22']?[\t =]",
        r#"_(?:auth|password)["']?(?:[\t ]*=[\t ]*|[\t ]+)["'`]?([a-z0-9+/=._~!@#%^&*-]{4,512})"#,
    ),
    pattern(
        "netrc-password",
        &["login"],
        r"login[\t\n\r ]+[!-~]+[\t\n\r ]+password[\t\n\r ]",
        r"login[\t\n\r ]{1,8}[!-~]{1,64}[\t\n\r ]{1,8}password[\t\n\r ]{1,8}([!-~]{4,128})",
    ),
    pattern(
        "session-cookie",
        &["cookie"],
        r"cookie",
        r#"cookie["'`\]]{0,2}[\t ]*[:=,][\t ]*["'`]?(?:[\t -~]{0,200}?[; ])?[a-z0-9_.-]{0,40}(?:sess|sid|auth|token|jwt|login)[a-z0-9_.-]{0,40}=([a-z0-9._~+/%=-]{16,512})"#,
    ),
];

/// Harmless passwords that local examples use.
pub(super) const IDLE_PASSWORDS: &[&str] = &[
    "admin", "guest", "pass", "passwd", "password", "postgres", "root", "secret", "test", "user", "username",
    "pw", "pwd", "mysql", "redis", "changeit", "hunter2", "token", "apikey", "api_key",
];

/// The words of all formats and of assignments. This search is built a hundred times faster than a set of patterns;
/// a short-lived process could not afford the latter.
static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let of_formats = FORMATS
        .iter()
        .enumerate()
        .flat_map(|(at, format)| format.words().iter().map(move |word| (*word, at)));
    let of_assignments = assignment::WORDS.iter().map(|word| (*word, FORMATS.len()));
    let (words, of): (Vec<&str>, Vec<usize>) = of_formats.chain(of_assignments).unzip();
    let any = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::NoncontiguousNFA))
        .build(words)
        .expect("a few short words");
    Words { any, of }
});
/// The hints and patterns that were compiled so far.
static COMPILED: LazyLock<Vec<[OnceLock<Regex>; 2]>> =
    LazyLock::new(|| FORMATS.iter().map(|_| Default::default()).collect());

struct Words {
    any: AhoCorasick,
    /// The index of each word in the table of formats; an index past its end stands for assignments.
    of: Vec<usize>,
}

/// The rules that may match a text, from one pass over it.
pub(super) struct Maybe<'t> {
    text: &'t str,
    named: BTreeSet<usize>,
}

/// Tests all rules in one pass.
pub(super) fn prefilter(text: &str) -> Maybe<'_> {
    let Words { any, of } = &*WORDS;
    let named = any.find_overlapping_iter(text).map(|word| of[word.pattern().as_usize()]).collect();
    Maybe { text, named }
}

impl Maybe<'_> {
    /// The formats that are worth a full search.
    pub(super) fn formats(&self) -> impl Iterator<Item = &'static Format> {
        let named = self.named.iter().filter_map(|at| FORMATS.get(*at));
        named.filter(|format| format.hint().is_none_or(|hint| hint.is_match(self.text)))
    }

    /// Whether the text contains a word for a secret.
    pub(super) fn says_secret(&self) -> bool {
        self.named.contains(&FORMATS.len())
    }

    /// Whether the text may assign something to a secret name.
    pub(super) fn assigns(&self) -> bool {
        self.says_secret() && assignment::HINT.is_match(self.text)
    }
}

impl Format {
    /// Every match of this format contains one of these words.
    const fn words(&self) -> &'static [&'static str] {
        match self.shape {
            Shape::Run { prefixes: words, .. }
            | Shape::Checked { prefixes: words, .. }
            | Shape::Pattern { words, .. } => words,
        }
    }

    /// Whether secrets of this format are one run of characters that is recognisable without context.
    pub(super) fn is_one_run(&self) -> bool {
        matches!(self.shape, Shape::Run { .. } | Shape::Checked { .. })
            || matches!(
                self.rule,
                "jwt" | "gitlab-token" | "terraform-token" | "sentry-token" | "postman-key"
            )
    }

    /// A pattern that matches wherever the format does. It is faster to compile and to run.
    fn hint(&'static self) -> Option<&'static Regex> {
        let Shape::Pattern { hint, .. } = &self.shape else { return None };
        self.compiled(0, hint)
    }

    fn compiled(&'static self, which: usize, pattern: &str) -> Option<&'static Regex> {
        let index = FORMATS.iter().position(|format| std::ptr::eq(format, self))?;
        let compile =
            || Regex::new(&format!("(?i-u){pattern}")).expect("a pattern of our own, compiled in the tests");
        Some(COMPILED.get(index)?[which].get_or_init(compile))
    }

    /// Calls `found` with each secret of this format.
    pub(super) fn find(&'static self, text: &str, mut found: impl FnMut(Range<usize>)) {
        match &self.shape {
            Shape::Run { prefixes, alphabet, chars } => {
                runs(text, prefixes, *alphabet, chars, |body, span| {
                    if !is_placeholder(body) {
                        found(span);
                    }
                });
            }
            Shape::Checked { prefixes, chars } => {
                runs(text, prefixes, Alnum, chars, |body, span| {
                    if has_crc32_suffix(body) || !is_placeholder(body) {
                        found(span);
                    }
                });
            }
            Shape::Pattern { .. } => self.find_pattern(text, found),
        }
    }

    fn find_pattern(&'static self, text: &str, mut found: impl FnMut(Range<usize>)) {
        let Some(regex) = self.regex() else { return };
        let mut at = 0;
        while let Some(hit) = regex.captures_at(text, at) {
            let Some(whole) = hit.get(0) else { break };
            let secret = hit.get(1).unwrap_or(whole);
            if starts_word(text, whole.start()) && self.counts(text, whole.start(), secret.range()) {
                found(secret.range());
                at = whole.end();
            } else {
                // The matches of these patterns start with ASCII, so the next byte starts a character.
                at = whole.start() + 1;
            }
        }
    }

    /// Checks that a pattern cannot express, for a secret in a match that starts at a byte.
    fn counts(&self, text: &str, start: usize, span: Range<usize>) -> bool {
        let secret = &text[span.clone()];
        match self.rule {
            "private-key" => true,
            "database-url" | "url-password" | "curl-password" => {
                // `redis:redis@`, `user:password@`: the password equals the user's name, or is a placeholder word.
                let user = text[..span.start].trim_end_matches(':').rsplit(['/', ' ', '"', '\'']).next();
                let same = user.is_some_and(|user| user.eq_ignore_ascii_case(secret));
                let idle = IDLE_PASSWORDS.iter().any(|idle| idle.eq_ignore_ascii_case(secret));
                !same && !idle && !is_placeholder(secret)
            }
            "option-password" | "piped-password" | "netrc-password" => {
                let idle = IDLE_PASSWORDS.iter().any(|idle| idle.eq_ignore_ascii_case(secret));
                let is_prose = || {
                    self.rule != "netrc-password"
                        && !assignment::has_three_classes(secret)
                        && is_sentence(&text[start..span.start])
                };
                let is_typed = || assignment::is_typed(secret) && !is_prose();
                !idle && !is_placeholder(secret) && (is_typed() || chosen::is_given_word(text, span))
            }
            "vault-token" => {
                !is_placeholder(secret)
                    && assignment::is_typed(secret)
                    && (assignment::has_three_classes(secret) || !is_sentence(&text[start..span.start]))
            }
            "sql-password" => !IDLE_PASSWORDS.contains(&secret) && !is_placeholder(secret),
            "npmrc-password" => {
                let before = &text[..start];
                let is_name = !before.ends_with(|c: char| c.is_alphanumeric() || "_-.$".contains(c));
                let is_set = text[start..span.start].contains('=')
                    || before
                        .rsplit(['\n', ';', '|', '&'])
                        .next()
                        .is_some_and(|line| line.contains("config set "));
                let is_typed = assignment::is_typed(secret) || secret.ends_with('=');
                is_name && is_set && is_typed && !is_placeholder(secret)
            }
            "session-cookie" | "authorization-header" | "discord-token" => {
                !is_placeholder(secret) && unwordly_chars(secret) >= MIN_UNWORDLY_CHARS
            }
            _ => !is_placeholder(secret),
        }
    }

    fn regex(&'static self) -> Option<&'static Regex> {
        let Shape::Pattern { pattern, .. } = &self.shape else { return None };
        self.compiled(1, pattern)
    }
}

/// Calls `found` with the body and the whole span of each prefix and run.
fn runs(
    text: &str,
    prefixes: &[&str],
    alphabet: Alphabet,
    chars: &RangeInclusive<usize>,
    mut found: impl FnMut(&str, Range<usize>),
) {
    let bytes = text.as_bytes();
    for prefix in prefixes {
        let Some(last) = bytes.len().checked_sub(prefix.len()) else { continue };
        for start in 0..=last {
            let body = start + prefix.len();
            if !bytes[start..body].eq_ignore_ascii_case(prefix.as_bytes()) || !starts_word(text, start) {
                continue;
            }
            let run = bytes[body..].iter().take_while(|byte| alphabet.has(**byte)).count();
            // A trailing full stop ends the sentence and is no part of the token.
            let run = text[body..body + run].trim_end_matches('.').len();
            if chars.contains(&run) {
                found(&text[body..body + run], start..body + run);
            }
        }
    }
}

/// Whether the words from a program up to the value of its option are those of a sentence that only names the program: two
/// signs of that, of which one is a word of sentences. The other may be a bare word behind `login`, `set` or `upload`, where
/// commands have at most one name. The value of an option is any word, and a text in quotes none of the sentence.
fn is_sentence(words: &str) -> bool {
    let (mut of_sentences, mut bare) = (0, 0);
    let (mut is_value, mut is_behind) = (false, false);
    for word in chosen::unquoted(words).split_whitespace() {
        let is_option = word.starts_with('-');
        if !is_option && !is_value {
            if chosen::is_of_sentence(word) {
                of_sentences += 1;
            } else if is_behind && word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
                bare += 1;
            }
            is_behind |= ["login", "set", "upload"].contains(&word.to_ascii_lowercase().as_str());
        }
        is_value = is_option && !word.contains('=');
    }
    of_sentences > 0 && of_sentences + bare > 1
}

/// Whether a token may start here: not inside a word, but after an escape such as `\n` or `%3D`.
fn starts_word(text: &str, at: usize) -> bool {
    let (before, here) = text.as_bytes().split_at(at);
    let inside = here.first().is_some_and(u8::is_ascii_alphanumeric)
        && before.last().is_some_and(u8::is_ascii_alphanumeric);
    let escaped = matches!(before, [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'])
        || matches!(before, [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit());
    !inside || escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::string::string_regex;
    use proptest::test_runner::{Config, RngSeed, TestRunner};

    use super::{FORMATS, Shape, prefilter};

    /// Every match of a pattern contains one of its words and matches its hint.
    #[test]
    fn no_pattern_matches_what_is_not_searched() {
        let config = Config {
            cases: 200,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(1),
            ..Config::default()
        };
        for format in FORMATS {
            let Shape::Pattern { pattern, .. } = &format.shape else { continue };
            let (rule, some) = (format.rule, string_regex(pattern).expect("a pattern of strings"));
            TestRunner::new(config.clone())
                .run(&("[ -~]{0,20}", some, any::<bool>()), |(before, secret, upper)| {
                    let secret = if upper { secret.to_ascii_uppercase() } else { secret };
                    let text = format!("{before}{secret}");
                    let found = prefilter(&text).formats().any(|found| std::ptr::eq(found, format));
                    prop_assert!(found, "{rule}: {text}");
                    Ok(())
                })
                .unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
