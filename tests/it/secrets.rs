//! Secrets as they are shaped, made anew in every run: none stands in the source in one piece.

use hivemind::domain::privacy;

/// The same numbers for the same seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        // SplitMix64, the generator of Steele, Lea and Flood.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % end as u64).expect("below a usize")
    }

    pub(crate) fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    pub(crate) fn run(&mut self, alphabet: &str, chars: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        (0..chars).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }
}

pub(crate) const HEX: &str = "0123456789abcdef";
pub(crate) const DIGITS: &str = "0123456789";
pub(crate) const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
pub(crate) const ALNUM: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

/// What is planted, and the part of it that must stay nowhere.
pub(crate) struct Secret {
    pub(crate) rule: &'static str,
    pub(crate) text: String,
    pub(crate) value: String,
}

/// 30 characters and their CRC-32 in base 62.
fn checked(random: &mut Random) -> String {
    let body = random.run(ALNUM, 30);
    let crc = !body.bytes().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1)))
    });
    let digits: Vec<char> = ALNUM.chars().collect();
    let suffix = (0..6).rev().map(|place| digits[(u64::from(crc) / 62_u64.pow(place) % 62) as usize]);
    format!("{body}{}", suffix.collect::<String>())
}

fn jwt(random: &mut Random) -> String {
    let part = |random: &mut Random, chars| format!("ey{}{}", "J", random.run(URL, chars));
    format!("{}.{}.{}", part(random, 33), part(random, 120), random.run(URL, 43))
}

fn pem(random: &mut Random) -> String {
    let kind = random.one(&["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "]);
    let lines: Vec<String> = (0..8).map(|_| random.run(BASE64, 64)).collect();
    let end = random.one(&["\n", "\\n"]);
    format!(
        "-----{} {kind}{} KEY-----{end}{}{end}-----END {kind}PRIVATE KEY-----",
        "BEGIN",
        "PRIVATE",
        lines.join(end)
    )
}

/// The rules that are planted: all but those that need an environment, or a command beside its output.
pub(crate) fn planted() -> Vec<&'static str> {
    let needs_more = [privacy::ENVIRONMENT_RULE, privacy::COMMAND_RULE];
    privacy::rules().into_iter().filter(|rule| !needs_more.contains(rule)).collect()
}

/// A fresh secret of a rule. A new rule needs a line here: without one the tests fail.
pub(crate) fn secret(rule: &'static str, r: &mut Random) -> Secret {
    // The prefix, the rest, and what goes before and behind.
    let token = |prefix: &str, rest: String| Secret {
        rule,
        text: format!("{prefix}{rest}"),
        value: format!("{prefix}{rest}"),
    };
    let inside = |before: String, value: String, after: &str| Secret {
        rule,
        text: format!("{before}{value}{after}"),
        value,
    };
    match rule {
        "aws-key" => token(r.one(&["AKIA", "ASIA"]), r.run(BASE32, 16)),
        "aws-secret-key" => inside(format!("aws_{}_access_key = ", "secret"), r.run(BASE64, 40), ""),
        "azure-storage-key" => inside(
            format!("DefaultEndpointsProtocol=https;AccountName=shop;Account{}=", "Key"),
            format!("{}==", r.run(BASE64, 86)),
            ";EndpointSuffix=core.windows.net",
        ),
        "azure-sas" => inside(
            "https://shop.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig=".to_owned(),
            format!("{}%3D", r.run(ALNUM, 43)),
            "",
        ),
        "google-api-key" => token("AIza", r.run(URL, 35)),
        "google-oauth" => match r.below(3) {
            0 => token("GOCSPX-", r.run(URL, 28)),
            1 => token("ya29.", r.run(URL, 120)),
            _ => token("1//0", r.run(URL, 60)),
        },
        "digitalocean-token" => token(r.one(&["dop_v1_", "doo_v1_", "dor_v1_"]), r.run(HEX, 64)),
        "vault-token" if r.below(2) == 0 => {
            inside("vault login ".to_owned(), format!("{}7k", r.run(ALNUM, 10)), " shop")
        }
        "vault-token" => token("hvs.", r.run(URL, 90)),
        "terraform-token" => token(&r.run(ALNUM, 14), format!(".atlasv1.{}", r.run(ALNUM, 67))),
        "databricks-token" => token("dapi", r.run(HEX, 32)),
        "grafana-token" => token("glsa_", format!("{}_{}", r.run(ALNUM, 32), r.run(HEX, 8))),
        "newrelic-key" => token("NRAK-", r.run(BASE32, 27)),
        "supabase-token" => token("sbp_", r.run(HEX, 40)),
        "planetscale-token" => token("pscale_tkn_", r.run(URL, 43)),
        "github-token" => token(r.one(&["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]), checked(r)),
        "github-fine-grained" => token("github_pat_", format!("{}_{}", r.run(ALNUM, 22), r.run(ALNUM, 59))),
        "gitlab-token" => match r.below(2) {
            0 => token("glpat-", r.run(URL, 20)),
            _ => token("glpat-", format!("{}.01.{}", r.run(URL, 27), r.run("0123456789abcdefghij", 9))),
        },
        "npm-token" => token("npm_", checked(r)),
        "pypi-token" => token("pypi-AgE", r.run(URL, 150)),
        "rubygems-key" => token("rubygems_", r.run(HEX, 48)),
        "crates-io-token" => token("cio", r.run(ALNUM, 32)),
        "docker-token" => token("dckr_pat_", r.run(URL, 27)),
        "atlassian-token" => token("ATATT3", r.run(URL, 186)),
        "slack-token" => match r.below(2) {
            0 => token("xoxb-", format!("{}-{}-{}", r.run(DIGITS, 12), r.run(DIGITS, 13), r.run(ALNUM, 24))),
            _ => token("xapp-1-A", format!("{}-{}-{}", r.run(BASE32, 10), r.run(DIGITS, 13), r.run(HEX, 64))),
        },
        "slack-webhook" => inside(
            format!("https://hooks.slack.com/services/T{}/B{}/", r.run(BASE32, 8), r.run(BASE32, 10)),
            r.run(ALNUM, 24),
            "",
        ),
        "discord-token" => token("M", format!("{}.{}.{}", r.run(ALNUM, 25), r.run(URL, 6), r.run(URL, 38))),
        "discord-webhook" => {
            inside(format!("https://discord.com/api/webhooks/1{}/", r.run(DIGITS, 18)), r.run(URL, 68), "")
        }
        "telegram-token" => token(&format!("7{}", r.run(DIGITS, 9)), format!(":AA{}", r.run(URL, 33))),
        "sendgrid-key" => token("SG.", format!("{}.{}", r.run(URL, 22), r.run(URL, 43))),
        "twilio-key" => token("SK", r.run(HEX, 32)),
        "mailchimp-key" => token(&r.run(HEX, 32), format!("-us{}", 1 + r.below(20))),
        "stripe-key" => match r.below(3) {
            0 => token("whsec_", r.run(ALNUM, 32)),
            1 => token("sk_live_", r.run(ALNUM, 99)),
            _ => token(r.one(&["sk_test_", "rk_live_"]), r.run(ALNUM, 24)),
        },
        "square-token" => token(r.one(&["sq0atp-", "sq0csp-"]), r.run(URL, 43)),
        "shopify-token" => token("shpat_", r.run(HEX, 32)),
        "anthropic-key" => token("sk-ant-", format!("api03-{}AA", r.run(URL, 93))),
        "openai-key" => match r.below(2) {
            0 => token("sk-proj-", r.run(URL, 156)),
            _ => token("sk-", format!("{}T3BlbkFJ{}", r.run(ALNUM, 20), r.run(ALNUM, 20))),
        },
        "openrouter-key" => token("sk-or-v1-", r.run(HEX, 64)),
        "hugging-face-token" => token("hf_", r.run(LETTERS, 34)),
        "groq-key" => token("gsk_", r.run(ALNUM, 52)),
        "xai-key" => token("xai-", r.run(ALNUM, 80)),
        "perplexity-key" => token("pplx-", r.run(ALNUM, 48)),
        "replicate-token" => token("r8_", r.run(ALNUM, 37)),
        "linear-key" => token("lin_api_", r.run(ALNUM, 40)),
        "notion-token" => token("ntn_", r.run(ALNUM, 46)),
        "postman-key" => token("PMAK-", format!("{}-{}", r.run(HEX, 24), r.run(HEX, 34))),
        "sentry-token" => match r.below(2) {
            0 => token("sntryu_", r.run(HEX, 64)),
            _ => token("sntrys_", r.run(BASE64, 120)),
        },
        "age-key" => token("AGE-SECRET-KEY-1", r.run("023456789ACDEFGHJKLMNPQRSTUVWXYZ", 58)),
        "private-key" => inside(String::new(), pem(r), ""),
        "jwt" => inside(String::new(), jwt(r), ""),
        "database-url" => inside(
            format!(
                "{}://shop:",
                r.one(&[
                    "postgres",
                    "postgresql",
                    "mysql",
                    "mongodb+srv",
                    "amqp",
                    "oracle",
                    "snowflake",
                    "elasticsearch"
                ])
            ),
            r.run(ALNUM, 12),
            "@db.internal:5432/shop",
        ),
        "url-password" => inside("https://deploy:".to_owned(), r.run(ALNUM, 16), "@git.internal/shop.git"),
        "authorization-header" => {
            inside(format!("Authorization: {} ", r.one(&["Bearer", "Basic"])), r.run(ALNUM, 40), "")
        }
        "curl-password" => {
            inside("curl -s -u deploy:".to_owned(), r.run(ALNUM, 14), " https://api.internal/v1")
        }
        "option-password" => {
            let before = r.one(&[
                "sshpass -p ",
                "mysql -u shop -p",
                "mysqldump --single -h db -p",
                "sshpass -e -p '",
                "docker login -u me -p ",
                "az login --service-principal -u app -p ",
                "helm registry login -u me --password=",
                "twine upload -u __token__ -p ",
                "redis-cli -h db -a ",
                "redis-cli AUTH default ",
                "127.0.0.1:6379> AUTH ",
                "redis-cli <<< 'AUTH ",
                "mongosh -u shop -p ",
                "sqlcmd -S db -U sa -P ",
                "gh secret set NAME --body ",
            ]);
            inside(before.to_owned(), format!("{}7k", r.run(ALNUM, 10)), " shop")
        }
        "sql-password" => {
            let before = r.one(&[
                "psql -c \"ALTER ROLE app WITH PASSWORD '",
                "mysql -e \"CREATE USER 'app'@'%' IDENTIFIED BY '",
                "create login app with password = '",
            ]);
            inside(before.to_owned(), r.run(&LETTERS[26..], 9), "'")
        }
        "piped-password" => {
            let (before, after) = *r.one(&[
                &("echo ", " | docker login -u me --password-stdin"),
                &("printf '%s' ", "|gh auth login --with-token"),
                &("echo -n '", "' | gh secret set NAME"),
                &("docker login --password-stdin <<< ", ""),
                &("echo \"AUTH default ", "\" | redis-cli -h db"),
            ]);
            inside(before.to_owned(), format!("{}7k", r.run(ALNUM, 10)), after)
        }
        "npmrc-password" => {
            let before = r.one(&[
                "//registry.npmjs.org/:_password=",
                "//registry.internal/npm/:_auth = \"",
                "npm config set _auth ",
                "npm config set '//registry.internal/:_password' ",
            ]);
            inside(before.to_owned(), format!("{}==", r.run(BASE64, 22)), "")
        }
        "netrc-password" => {
            let before = r.one(&["machine git.internal login deploy password ", "login deploy  password "]);
            inside(before.to_owned(), format!("{}7k", r.run(ALNUM, 10)), "")
        }
        "session-cookie" => {
            let before = r.one(&[
                "Cookie: session=",
                "set-cookie: a=b; app_sid=",
                "\"Cookie\": \"theme=dark; auth_token=",
            ]);
            inside(before.to_owned(), r.run(ALNUM, 32), "; path")
        }
        "secret-in-words" => {
            let before = r.one(&["the API key for prod ", "token is ", "private key of the signer: "]);
            inside(before.to_owned(), format!("{}aB3", r.run(ALNUM, 40)), "")
        }
        "secret-assignment" if r.below(4) == 0 => {
            let (before, after) = *r.one(&[
                &("DB_PASSWORD='", "' ./run.sh"),
                &("psql --password \"", "\" -h db"),
                &("export app_secret=\"", "\""),
            ]);
            let words = [6, 3, 7].map(|chars| r.run(&LETTERS[26..], chars)).join(" ");
            let value = if r.below(2) == 0 { words } else { r.run(&LETTERS[26..], 9) };
            inside(before.to_owned(), value, after)
        }
        "secret-assignment" => {
            let value = match r.below(3) {
                0 => r.run(HEX, 32),
                1 => format!("{}==", r.run(BASE64, 42)),
                _ => r.run(ALNUM, 28),
            };
            let before = r.one(&[
                "DB_PASSWORD=",
                "api_key: ",
                "client_secret = \"",
                "\"accessToken\": \"",
                "--auth-token ",
                "let signing_key: &str = \"",
                "SECRET_KEY_BASE='",
                "export STAGING_API_TOKEN=",
            ]);
            inside(before.to_owned(), value, if before.ends_with('"') { "\"" } else { "" })
        }
        unknown => panic!("rule `{unknown}` has no sample: add a line to tests/it/secrets.rs"),
    }
}

/// What looks like a secret of a rule and is none.
pub(crate) fn near_misses(rule: &str) -> &'static [&'static str] {
    match rule {
        "aws-key" => &["AKIAIOSFODNN7EXAMPLE", "AKIA is the prefix of a key id", "AKIAXXXXXXXXXXXXXXXX"],
        "aws-secret-key" => {
            &["aws_secret_access_key = ${AWS_SECRET_ACCESS_KEY}", "the aws secret key rotates"]
        }
        "azure-storage-key" => &["AccountKey=<key>;EndpointSuffix=core.windows.net", "AccountKey=..."],
        "azure-sas" => &["https://shop.blob.core.windows.net/c/f?sv=2022-11-02&sig=<signature>"],
        "google-api-key" => &["keys start with AIza", "AIzaXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX"],
        "google-oauth" => &["ya29.xxxx", "GOCSPX-your-client-secret-goes-here", "a // comment 1//0"],
        "digitalocean-token" => &["dop_v1_ and 64 hex digits"],
        "vault-token" => &["hvs.EXAMPLE_TOKEN_FOR_THE_DOCUMENTATION"],
        "terraform-token" => &["abc.atlasv1.xyz"],
        "databricks-token" => &["dapi + 32 hex", "dapiserver_handles_the_requests_of_the_web"],
        "grafana-token" => &["glsa_<token>", "glc_calls"],
        "newrelic-key" => &["NRAK-XXXXXXXXXXXXXXXXXXXXXXXXXXX"],
        "supabase-token" => &["sbp_0000000000000000000000000000000000000000"],
        "planetscale-token" => &["pscale_tkn_ goes into the vault"],
        "github-token" => {
            &["ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "ghp_ tokens have 40 characters", "ghs_short"]
        }
        "github-fine-grained" => &["github_pat_<token>", "github_pat_is_the_new_prefix"],
        "gitlab-token" => &["glpat-xxxxxxxxxxxxxxxxxxxx", "glpat-your-token"],
        "npm-token" => &["npm_config_registry=https://registry.internal", "npm_lifecycle_event"],
        "pypi-token" => &["pypi-AgE is how they start", "pypi-server"],
        "rubygems-key" => &["rubygems_api_key is set in CI", "rubygems_version"],
        "crates-io-token" => &["cio", "ciosomething", "precioushandlersofthewebapplicationslayer"],
        "docker-token" => &["dckr_pat_<token>"],
        "atlassian-token" => &["ATATT3xFfGF0 and so on"],
        "slack-token" => &["xoxb-your-token-here-your-token", "xoxb-<token>", "xoxb-123"],
        "slack-webhook" => &["https://hooks.slack.com/services/T000/B000/XXXXXXXXXXXXXXXXXXXXXXXX"],
        "discord-token" => {
            &["node_modules_of_the_frontend.config.production_settings_of_the_web", "Mxx.yy.zz"]
        }
        "discord-webhook" => &["https://discord.com/api/webhooks/<id>/<token>"],
        "telegram-token" => &["123456:ABC-DEF", "at 10:30 AAA batteries"],
        "sendgrid-key" => &["SG.<key>", "SG.settings.default"],
        "twilio-key" => &["SK and 32 hex digits", "AC0123 is an account"],
        "mailchimp-key" => &["the key ends in -us21", "eu-west-1 and us-east-1"],
        "stripe-key" => &["sk_live_...", "sk_test_your_key_goes_here", "whsec_<secret>"],
        "square-token" => &["sq0atp-"],
        "shopify-token" => &["shpat_ and 32 hex digits"],
        "anthropic-key" => &["sk-ant-api03-your-key-goes-here-xxxxxxxxxxxxxxxxxxxxxxxx", "sk-ant-..."],
        "openai-key" => &[
            "sk-proj-...",
            "task-0190b2c47d1e7c3a9f003b1f5a2e8d47aabbccdd",
            "risk-assessment-of-the-whole-project-plan",
            "sk-learn is scikit-learn",
        ],
        "openrouter-key" => &["sk-or-v1-<key>"],
        "hugging-face-token" => &["hf_hub_download", "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"],
        "groq-key" => &["gsk_<key>"],
        "xai-key" => &["xai-org/grok"],
        "perplexity-key" => &["pplx-api"],
        "replicate-token" => &["r8_ and 37 characters"],
        "linear-key" => &["lin_api_<key>"],
        "notion-token" => &["ntn_<token>"],
        "postman-key" => &["PMAK-<key>"],
        "sentry-token" => &["sntryu_<token>", "sntrys_..."],
        "age-key" => &["AGE-SECRET-KEY-1..."],
        "private-key" => &[
            "the file starts with -----BEGIN PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEabcd1234abcd1234abcd1234abcd1234",
        ],
        "jwt" => &["eyJ is how a JWT starts", "eyJhbGciOiJIUzI1NiJ9 alone is a header"],
        "database-url" => &[
            "postgres://localhost:5432/shop",
            "postgres://postgres:postgres@localhost/shop",
            "mysql://user:password@host/db",
            "postgres://shop:${DB_PASSWORD}@db/shop",
            "redis://cache:6379/0",
            "postgres://user:<password>@host/db",
            "oracle://scott:***@db/shop",
            "snowflake://shop:$SNOWFLAKE_PASSWORD@account/db",
            "elasticsearch://user:password@es:9200",
        ],
        "url-password" => &[
            "https://example.com:8443/a@b",
            "git@github.com:org/repo.git",
            "ssh://git@github.com:22/org/repo",
            r#"{"url":"https://x.internal","email":"bob@x.internal"}"#,
            "https://user:pass@host/",
        ],
        "authorization-header" => &[
            "Authorization: Bearer <token>",
            "authorization: bearer token is checked first",
            "Authorization: Basic $CREDENTIALS",
            "Authorization: Bearer your-token-goes-here",
        ],
        "curl-password" => &["curl -u \"$USER:$PASSWORD\" https://api", "curl -u user:password https://api"],
        "option-password" => &[
            "mkdir -p src/db2 && mysql -h db -P3306",
            "mysql -u root -p shop",
            "mysqldump -ppassword shop",
            "sshpass -p $SSHPASS ssh host",
            "unzip -p a1.zip b2.txt",
            "unzip -P $PW2 a.zip",
            "htpasswd -c file1 user1",
            "openssl x509 -in cert1.pem -key k1.pem",
            "ldapsearch -W -x host2",
            "echo y2 | sudo tee /etc/a1",
            "ssh -p 2222 host",
            "docker run -p 8080:80 mysql",
            "docker login -u me && docker run -p 8080:80a mysql",
            "docker login -u me -p $PW2 reg.example.com; mkdir -p src/db2",
            "docker login --password-stdin reg2.example.com",
            "az login | cut -d2 -f3",
            "redis-cli -p 6379 -h db2",
            "mongodump --port 27017 --db shop2",
            "docker run -d --name mongo -p 27017:27017/tcp mongo:7",
            "docker compose up mongo -p shop2",
            "vault login -method=aws role=dev-role-1",
            "the vault login endpoint2 is down",
            "vault login -method=oidc",
            "gh secret set NAME2 --body \"$VALUE2\"",
            "the twine login page takes -p or two",
            "az login fails, use -p proxy2 instead",
            "docker login -u me fails when -p x1y2z3 is given",
            "redis-cli fails, so use -a proxy2 there",
            "mysql is down, and ssh -p2222x is too",
            "redis-cli AUTH fails on redis6",
            "gh secret set fails, pass -b proxy2",
            "redis-cli -a $REDIS_PASSWORD2 ping",
            "the prompt 6379> AUTH <password>",
        ],
        "sql-password" => &[
            "alter role app password null",
            "create user app with password 'password'",
            "create user app with password '${DB_PASSWORD}'",
            "the password of a role is set by alter role",
            "create table users (password text default 'none')",
        ],
        "piped-password" => &[
            "echo $TOKEN2 | docker login -u me --password-stdin",
            "echo done | tee login.txt",
            "echo $PW | sudo -S true",
            "cat token2.txt | gh auth login --with-token",
            "echo ready4 | tee login.txt",
        ],
        "npmrc-password" => &[
            "//registry.npmjs.org/:_password=${NPM_PASSWORD}",
            "_auth=<base64 of user and password>",
            "let user_auth = session2.token;",
            "the field _auth holds user2 and password2",
            "npm config set _auth $NPM_AUTH2",
        ],
        "netrc-password" => &[
            "the login page password field",
            "login deploy password <password>",
            "login form password reset",
        ],
        "session-cookie" => &[
            "Cookie: session=<session>",
            "the cookie: auth_token=token_of_the_session_store",
            "cookie: theme=dark; lang=en",
        ],
        "secret-in-words" => &[
            "the API key for prod is in the vault",
            "the token change landed in 8f14e45fceea167a5a36dedd4bea25438f14e45f",
            "token counting in src/domain/privacy/assignments_of_values_V2.rs",
            "password of 550e8400-e29b-41d4-a716-446655440000",
        ],
        "secret-assignment" => &[
            "password: argon2id",
            "password = sha256",
            "password_hash: bcrypt12",
            "token = parse_token_v2(input, 1234567890)",
            "password: config.database.password_v2_from_vault",
            "the tokenizer splits on spaces",
            "password policy: 16 characters at least",
            "token_budget = 4000",
            "API_KEY=<your key>",
            "api_key: ${API_KEY}",
            "SECRET_KEY=changeme-changeme-1",
            "secret: xxxxxxxxxxxxxxxx1",
            "let token: String = String::new();",
            "token: src/parser/token_stream_v2.rs",
            "password = \"hello world\"",
            "cache_key = 8f14e45fceea167a5a36dedd4bea2543",
            "secret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:db",
            "password: ^[A-Za-z0-9!@#$%]{8,}$",
            "PASSWORD=required",
            "DB_PASSWORD: the one of the vault",
            "POSTGRES_PASSWORD: ${POSTGRES_PASSWORD}",
            "PASSWORD='${PASSWORD:-some default}'",
            "export DB_PASSWORD=\"$(pass show db prod)\"",
            "the flag --password takes a value",
            "use --password instead of --password-file",
            "psql --password PASS",
            "docker service create --secret dbpass shop",
            "kubectl run shop --image-pull-secret regcred",
            "mytool --client-secret SECRET --user NAME",
            "const PASSWORD: &str = \"two words\";",
            "ERR_PASSWORD=\"too short by far\"",
            "MSG_BAD_PASSWORD=\"wrong user or password\"",
            "assert client_secret == \"two words\"",
            "token: https://auth.internal/oauth2/v1/token",
            "--token-file /run/secrets/token1",
            "password: see ticket OPS-1234",
            "next_token: 2026-11-21T02:32:18.123Z",
        ],
        unknown => panic!("rule `{unknown}` has no near misses: add a line to tests/it/secrets.rs"),
    }
}
