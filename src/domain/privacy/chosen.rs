//! Passwords that a person chose, of a word, of a word and digits or of several words: nothing in them shows that they
//! are some. They count where a command passes them as an option, or where a variable of the environment has them.

use std::ops::{Range, RangeInclusive};

use super::formats::IDLE_PASSWORDS;
use super::names;
use super::random::is_placeholder;

/// Least and greatest length of a password of letters.
const WORD_CHARS: RangeInclusive<usize> = 4..=64;
/// Least and greatest length of a password of several words.
const PHRASE_CHARS: RangeInclusive<usize> = 8..=128;

/// What stands in the place of a password and is none: settings, and words of manuals.
const ORDINARY: &str = "argument auth authentication change changed check default disabled empty enabled false field file \
    flag flags generated hash hidden input length login masked missing must none null option optional \
    options parameter policy prompt prompts random required reset rotation stdin string support text \
    true undefined unset value";

/// Options that pass variables or settings, several of them in quotes or behind commas.
const SETS: [&str; 8] =
    ["-e", "--env", "-var", "--set", "--set-string", "--build-arg", "--from-literal", "--extra-vars"];
/// Bytes before a name among which such an option is looked for.
const NEAR_BYTES: usize = 512;

/// Words of sentences that commands hardly have.
const OF_SENTENCES: &str = "a also an and are as be because been but can cannot does fails for from has have here in instead is \
    it its may must needs never not now of on only or requires should since takes than that the then \
    there they this to use used uses using want wants was we were when which will with without you";

/// The words on each side of a password that tell whether it stands in a sentence.
const NEAR_WORDS: usize = 30;

/// The password that starts at a byte, after the name of one.
pub(super) fn value(text: &str, name: Range<usize>, start: usize) -> Option<Range<usize>> {
    let (before, named, between) = (&text[..name.start], &text[name.clone()], &text[name.end..start]);
    // Docker and Kubernetes take the name of a secret by these.
    let names_one = || named == "secret" || named.ends_with("pull-secret");
    let is_option = before.ends_with("--");
    let is_password = names::is_chosen(named) || is_option && names::is_short(named);
    if !is_password || is_option && names_one() {
        return None;
    }
    let is_constant =
        || named.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let is_part = || before.ends_with(|c: char| c.is_alphanumeric() || "_-.$".contains(c));
    let is_given = || is_passed(before);
    let is_variable = !is_option && (is_constant() && !is_part() || is_given());
    let is_set = between == "=";
    let is_apart = is_option && !between.is_empty() && between.trim().is_empty();
    let is_field = is_variable
        && between
            .trim_start_matches(['"', '\''])
            .strip_prefix(':')
            .is_some_and(|blanks| !blanks.is_empty() && blanks.trim().is_empty());
    if !(is_apart || is_field || is_set && (is_option || is_variable)) {
        return None;
    }
    let is_text = || !is_option && names::is_of_text(named);
    let rest = &text[start..];
    if let Some(quote) = rest.chars().next().filter(|c| "\"'".contains(*c)) {
        let body = &rest[1..];
        let len = body.find(|c: char| c == quote || "\n\r\\".contains(c))?;
        let value = &body[..len];
        let counts = match value.contains(' ') {
            true => is_phrase(value) && !is_text(),
            false => is_word(value) && !(names::is_fault(value) && is_text()),
        };
        return (counts && body[len..].starts_with(quote)).then(|| start + 1..start + 1 + len);
    }
    let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-_!@#%^*?~+".contains(c));
    let (value, after) = rest.split_at(len.unwrap_or(rest.len()));
    let after = after.strip_prefix(['.', ',']).unwrap_or(after);
    let is_whole =
        after.is_empty() || after.starts_with(|c: char| c.is_whitespace() || "\"'`;|&)".contains(c));
    let is_last = || after.lines().next().is_none_or(|line| line.trim().is_empty());
    let span = start..start + value.len();
    // `ParserQueue` is the name of something.
    let is_name = || value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    (is_whole
        && (is_word(value) || is_word_with_digits(value))
        && !(names::is_fault(value) && is_text())
        && (!is_field || is_last())
        && (!is_apart || !is_name() && !is_sentence(text, name.start..span.end)))
    .then_some(span)
}

/// Whether a name with its value is passed by what stands before it: as a variable, as a setting with a dotted name, or as a
/// part of the words that a client connects with, as in `psql "host=db password=…"`.
fn is_passed(before: &str) -> bool {
    if ["export ", "env "].iter().any(|word| before.ends_with(word)) {
        return true;
    }
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(NEAR_BYTES))..];
    let quoted = near.rsplit(['"', '\'']).next().unwrap_or_default();
    let sets = |option: &str| {
        near.rmatch_indices(option).any(|(at, _)| {
            let rest = &near[at + option.len()..];
            let settings = rest.trim_start_matches([' ', '=']);
            let is_apart = settings.len() < rest.len();
            // In quotes there may be several, with blanks between.
            let is_one = match settings.strip_prefix(['"', '\'']) {
                Some(open) => !open.contains(&settings[..1]),
                None => !settings.contains(char::is_whitespace),
            };
            (near[..at].is_empty() || near[..at].ends_with(char::is_whitespace)) && is_apart && is_one
        })
    };
    ["host=", "user=", "dbname="].iter().any(|word| quoted.contains(word))
        || SETS.iter().any(|option| sets(option))
}

/// Whether the word behind an option or a pipe may be a password of letters, and no word of a sentence.
pub(super) fn is_given_word(text: &str, span: Range<usize>) -> bool {
    is_word(&text[span.clone()]) && !is_sentence(text, span)
}

fn is_word_with_digits(value: &str) -> bool {
    WORD_CHARS.contains(&value.len())
        && value.starts_with(|c: char| c.is_ascii_alphanumeric())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && !is_idle(value)
        && !is_placeholder(value)
}

/// Whether a word is one of manuals or a harmless password of examples.
fn is_idle(value: &str) -> bool {
    let is = |known: &str| known.eq_ignore_ascii_case(value);
    ORDINARY.split(' ').chain(IDLE_PASSWORDS.iter().copied()).any(is)
}

fn is_word(value: &str) -> bool {
    // What is all upper case stands for a value, as in the synopsis of a command.
    WORD_CHARS.contains(&value.len())
        && value.bytes().all(|byte| byte.is_ascii_alphabetic())
        && value.bytes().any(|byte| byte.is_ascii_lowercase())
        && !is_idle(value)
        && !is_placeholder(value)
}

fn is_phrase(value: &str) -> bool {
    PHRASE_CHARS.contains(&value.len())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !value.contains(['$', '<', '{', '('])
        && !value.to_ascii_lowercase().contains("your ")
        && !is_placeholder(value)
}

/// Whether the words around a part of a text are those of a sentence and of no command.
fn is_sentence(text: &str, part: Range<usize>) -> bool {
    const ENDS: [char; 8] = ['\n', '`', ';', '|', '&', '"', '(', ')'];
    let start = text[..part.start].rfind(ENDS).map_or(0, |at| at + 1);
    let end = text[part.end..].find(ENDS).map_or(text.len(), |len| part.end + len);
    // The part may be the end of a word, as in `pass:word`.
    let before = text[start..part.start].trim_end_matches(|c: char| !c.is_whitespace());
    let before = unquoted(before);
    // The words far away are those of another sentence, and a line may give a thousand passwords.
    let near = before.split_whitespace().rev().take(NEAR_WORDS);
    near.chain(text[part.start..end].split_whitespace().take(NEAR_WORDS)).any(is_of_sentence)
}

/// The words of a command with each text in quotes left empty: an argument such as a query is no part of a sentence
/// around it. A quote opens at the beginning of a word or of a value, so that an apostrophe is none.
pub(super) fn unquoted(words: &str) -> String {
    let mut left = String::with_capacity(words.len());
    let mut rest = words;
    while let Some(at) = rest.find(['"', '\'']) {
        // The quotes of a command in JSON have a backslash before them, and the end has as many as the beginning.
        let slashes = |text: &str| text.len() - text.trim_end_matches('\\').len();
        let depth = slashes(&rest[..at]);
        let (before, quote, after) = (&rest[..at - depth], &rest[at - depth..=at], &rest[at + 1..]);
        let opens = if before.is_empty() {
            left.is_empty()
        } else {
            before.ends_with(|c: char| c.is_whitespace() || "=([".contains(c))
        };
        let mut ends = after.match_indices(&rest[at..=at]).map(|(end, _)| end).take_while(|_| opens);
        match ends.find(|end| slashes(&after[..*end]) == depth) {
            Some(end) => {
                left.extend([before, quote, quote]);
                rest = &after[end + 1..];
            }
            None => {
                left.push_str(&rest[..=at]);
                rest = after;
            }
        }
    }
    left.push_str(rest);
    left
}

/// Whether a word belongs to a sentence and hardly to a command: by itself, or by what ends it.
pub(super) fn is_of_sentence(word: &str) -> bool {
    let bare = word.trim_end_matches([',', '.', ':', '?', '!']);
    bare.len() < word.len() && bare.ends_with(|c: char| c.is_alphabetic())
        || OF_SENTENCES.split(' ').any(|known| known.eq_ignore_ascii_case(bare))
}

#[cfg(test)]
mod tests {
    use super::unquoted;
    use crate::domain::privacy::{Secrets, scan};

    #[test]
    fn a_chosen_password_counts_in_a_command_and_in_a_variable() {
        for (text, value) in [
            ("mytool login --password \"two words here\" -v", "two words here"),
            ("PASSWORD='two words' ./run.sh", "two words"),
            ("psql --password hunter -h db", "hunter"),
            ("deploy --db-password=hunter", "hunter"),
            // Red before: too short for a random value, and a digit made it no word.
            ("npm login --password tulip5", "tulip5"),
            ("npm login --password=tulip-5 -v", "tulip-5"),
            ("DB_PASSWORD=tulip5 ./run.sh", "tulip5"),
            ("DB_PASS=tulip ./run.sh", "tulip"),
            ("ansible-playbook -e ansible_become_pass=tulip5 site.yml", "tulip5"),
            // Red before: as people quote it, and as other programs pass it.
            ("ansible-playbook -e \"ansible_become_pass=tulip5\" site.yml", "tulip5"),
            ("docker run -e 'db_password=tulip5' img", "tulip5"),
            ("helm upgrade a b --set db.password=tulip", "tulip"),
            ("terraform apply -var 'db_password=tulip5'", "tulip5"),
            ("kubectl create secret generic s --from-literal=password=tulip", "tulip"),
            ("docker build --build-arg db_password=tulip5 .", "tulip5"),
            ("psql \"host=h password=tulip5\"", "tulip5"),
            ("terraform apply -var='db_password=tulip'", "tulip"),
            ("terraform apply -var=db_password=tulip", "tulip"),
            ("helm install x ./x --set=auth.password=tulip", "tulip"),
            ("helm upgrade db ./db --set a=b,auth.password=tulip", "tulip"),
            ("helm upgrade db ./db --set-string 'auth.password=tulip'", "tulip"),
            ("ansible-playbook a.yml -e \"a=1 db_password=tulip\"", "tulip"),
            ("ansible-playbook a.yml --extra-vars 'db_password=tulip'", "tulip"),
            ("rclone lsd --pass tulip", "tulip"),
            ("./deploy.sh --pw=tulip5", "tulip5"),
            ("docker login -u me -p tulip reg.io", "tulip"),
            ("mysql -uroot -ptulip shop", "tulip"),
            ("mysqldump -u root -ptulip shop > x.sql", "tulip"),
            ("redis-cli -h db -a tulip ping", "tulip"),
            ("sshpass -p tulip ssh host", "tulip"),
            ("unzip -P tulip a.zip", "tulip"),
            ("openssl rsa -passin pass:tulip -in k.pem", "tulip"),
            ("ldapsearch -x -D cn=admin -w tulip", "tulip"),
            ("htpasswd -b users.txt me tulip", "tulip"),
            ("echo tulip | sudo -S systemctl restart x", "tulip"),
            ("echo tulip | docker login -u me --password-stdin", "tulip"),
            ("psql -c \"ALTER ROLE app PASSWORD 'tulip'\"", "tulip"),
            ("psql -c \"create user app with login password 'tulip bulb'\"", "tulip bulb"),
            ("mysql -e \"CREATE USER app IDENTIFIED BY 'tulip5'\"", "tulip5"),
            ("POSTGRES_PASSWORD=hunter docker compose up", "hunter"),
            ("docker run -e db_password=hunter postgres", "hunter"),
            ("env:\n  MYSQL_ROOT_PASSWORD: hunter\n  MYSQL_DATABASE: shop", "hunter"),
            ("we ran `psql --password hunter` and it worked", "hunter"),
            // Red before: a word for texts anywhere in the name made the value a text.
            ("MESSAGE_BROKER_PASSWORD=hunter ./run.sh", "hunter"),
            ("MSG_QUEUE_PASSWORD='two words here' ./run.sh", "two words here"),
            ("export PROMPT_DB_PASSWORD=hunter", "hunter"),
            ("TEXT_API_SECRET=hunter ./x", "hunter"),
            ("LABEL_PRINTER_PASSWORD=hunter lp x", "hunter"),
            ("deploy --title-db-password=hunter", "hunter"),
            ("deploy --prompt-password 'two words'", "two words"),
            ("ERR_PASSWORD=hunter ./run.sh", "hunter"),
            ("MSG_BAD_DB_PASSWORD='two words' ./run.sh", "two words"),
            ("DB_MSG_PASSWORD='two words' ./run.sh", "two words"),
            ("TEXT_DBPASSWORD='two words' ./run.sh", "two words"),
            // Red before: the words of a text in quotes were taken for those of a sentence.
            ("psql -c 'select a from b where c is not null' --password hunter", "hunter"),
        ] {
            let found: Vec<&str> =
                scan(text, &Secrets::default()).iter().map(|one| &text[one.span.clone()]).collect();
            assert_eq!(found, [value], "{text}");
        }
    }

    #[test]
    fn a_text_in_quotes_has_no_words_of_the_command_around_it() {
        for (text, left) in [
            ("-e \"select a from b\" -p", "-e \"\" -p"),
            ("-e 'it is' -f \"a 'b' c\"", "-e '' -f \"\""),
            (r#"-e \"select \\"a\\" from b\" -p"#, r#"-e \"\" -p"#),
            ("--sql='a is b' x", "--sql='' x"),
            ("it's what the user's client does", "it's what the user's client does"),
            ("an \"open one", "an \"open one"),
        ] {
            assert_eq!(unquoted(text), left);
        }
    }

    #[test]
    fn words_of_a_sentence_are_no_password() {
        for text in [
            "the flag --password takes a value",
            "use --password instead of the file",
            "psql fails, pass --password again",
            "--password must not be empty",
            "psql --password PASS",
            "./run --settings password=tulip5",
            "./run a--set password=tulip5",
            "docker login -p is not safe",
            "we gave docker login -p only once",
            "mysql -pPASSWORD shop",
            "docker run -p 8080:80 --name mysql web",
            "vault login successfully renewed",
            "create role app with a password",
            "alter user app password 'password'",
            "assert --password v1",
            "tests_pass=many",
            "first_pass=fast second_pass=slow",
            "PASS: tulip",
            "ffmpeg -i a.mp4 --pass 2",
            "let pass = tulip5",
            "docker run -e pass=tulip img",
            "docker service create --secret tulip img",
            "cargo test --test pooled",
            "docker login -u me -p hunter2",
            "tool --password +abc1",
            "BUILD_TOKEN=abcde12345 ./x",
            "tool --password THEIRS",
            "tool --password a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1",
            "PASSWORD=required",
            "ERR_PASSWORD=invalid",
            "PROMPT_FOR_PASSWORD='type it again'",
            "DB_PASSWORD: the one of the vault",
            "DB_PASSWORD='${DB_PASSWORD:-some default}'",
            "--password \"$(pass show db prod)\"",
            "PASSWORD='<your password>'",
            "const PASSWORD: &str = \"two words\";",
            "assert password == \"two words\"",
            "password=hunter",
            "ERR_PASSWORD=\"too short by far\"",
            "MSG_BAD_PASSWORD='wrong user or password'",
            "PASSWORD_PROMPT='Enter your password:'",
            "PASSWORD_HINT_TEXT=\"the name of a pet\"",
            "the 'psql' client fails, pass --password again",
        ] {
            assert_eq!(scan(text, &Secrets::default()), [], "{text}");
        }
    }
}
