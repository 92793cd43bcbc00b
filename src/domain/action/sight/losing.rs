//! Lines that delete something or throw changes away, and lines that may do so because they are not understood.

use super::super::looks::command_of_git;
use super::super::normal::{
    MAX_DEPTH, SHELLS, after_keywords, is_assignment, line_for_shell, name, unwrapped,
};
use super::super::shell::{self, Joint, Step, VALUE};

/// Programs that delete, move away or overwrite, also where another program runs them.
const DELETING: [&str; 22] = [
    "crontab",
    "dd",
    "del",
    "dropdb",
    "dropuser",
    "fuser",
    "kill",
    "kill-port",
    "killall",
    "lvremove",
    "mv",
    "pkill",
    "rimraf",
    "rm",
    "rmdir",
    "shred",
    "srm",
    "trash",
    "truncate",
    "unlink",
    "userdel",
    "wipefs",
];
/// Words with which other programs delete: verbs, options, and words of SQL.
const DELETES: [&str; 33] = [
    "distclean",
    "downgrade",
    "drain",
    "dropdatabase",
    "abandon",
    "expunge",
    "flush",
    "fresh",
    "halt",
    "reboot",
    "revert",
    "shutdown",
    "taint",
    "rb",
    "rmsync",
    "rollback",
    "undo",
    "uninstall",
    "xdelete",
    "delete",
    "destroy",
    "drop",
    "erase",
    "flushall",
    "flushdb",
    "prune",
    "purge",
    "remove",
    "reset",
    "rm",
    "rmi",
    "rmtree",
    "wipe",
];
/// Programs that run containers.
const RUN_CONTAINERS: [&str; 5] = ["docker", "docker-compose", "podman", "podman-compose", "nerdctl"];
/// Commands of git that throw away what is in no commit, or commits, and the words with which they do. Without words, always.
const GIVING_UP: [(&str, &[&str]); 9] = [
    ("branch", &["-D", "-d", "-f"]),
    ("checkout", &["-f", "--force", "-B"]),
    ("clean", &[]),
    ("push", &["-f", "-d", "--force", "--force-with-lease", "--mirror"]),
    ("reset", &["--hard", "--merge", "--keep"]),
    ("restore", &[]),
    ("stash", &["drop", "clear"]),
    ("switch", &["-f", "--force", "--discard-changes", "-C"]),
    ("tag", &["-d", "-f"]),
];

/// Whether a line deletes something or throws changes away. In doubt it does.
pub(super) fn loses(line: &str) -> bool {
    may_lose(line, MAX_DEPTH)
}

fn may_lose(line: &str, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return true };
    let (steps, is_whole) = shell::read(line);
    // A redirection without a command empties its file. Only the strict reading tells it.
    if !is_whole || shell::read_whole(line).is_none() {
        return true;
    }
    let writes = steps.iter().any(|step| matches!(step, Step::Write(_)));
    steps.iter().any(|step| match step {
        Step::Within(line) => may_lose(line, depth),
        Step::Enter | Step::Leave | Step::Write(_) => false,
        Step::Run { text, before, .. } => command_loses(text, *before, writes, depth),
    })
}

fn command_loses(text: &str, before: Joint, writes: bool, depth: usize) -> bool {
    let Ok(words) = shell_words::split(text) else { return true };
    let words = after_keywords(&words);
    let Some(command) = unwrapped(words) else {
        // Only assignments stand there; of an unknown wrapper it is open what it runs.
        return !words.iter().all(|word| is_assignment(word));
    };
    let [program, arguments @ ..] = command else { return false };
    let program = name(program);
    if SHELLS.contains(&program) {
        // Without a line and without a script it reads what the pipe brings.
        let reads_pipe = before == Joint::Pipe && arguments.iter().all(|word| word.starts_with('-'));
        return line_for_shell(arguments).map_or(reads_pipe, |line| may_lose(line, depth));
    }
    if program == "eval" {
        return may_lose(&arguments.join(" "), depth);
    }
    if program.contains('$') || program.contains(VALUE) || program == "trap" {
        return true;
    }
    // What prints nothing empties the file that it writes.
    let prints_nothing = match program {
        ":" | "true" => true,
        "echo" | "printf" => arguments.iter().all(|word| word.is_empty() || word.starts_with('-')),
        _ => arguments.iter().any(|word| word == "/dev/null"),
    };
    (writes && prints_nothing)
        || program == "cp" && arguments.iter().any(|word| word == "/dev/null")
        || DELETING.contains(&program)
        || program.starts_with("mkfs")
        || command.iter().any(|word| deletes(program, word))
        || program == "git" && command_of_git(arguments).is_some_and(gives_up)
        || takes_volumes(program, arguments)
}

/// Whether a word tells that a program deletes: `docker rm`, `find -delete`, `rails db:drop`, `xargs rm`, `psql -c 'drop table x'`.
fn deletes(program: &str, word: &str) -> bool {
    let typed = word.to_lowercase();
    let word = typed.as_str();
    if word.contains(|c: char| c.is_whitespace() || c == '(') {
        let parts = word.split(|c: char| !c.is_alphanumeric());
        return parts.into_iter().any(|part| DELETING.contains(&part) || DELETES.contains(&part));
    }
    let word = word.trim_start_matches('-');
    let word = word.split('=').next().unwrap_or_default();
    // What `git reset` does depends on its options, and `git revert` adds a commit.
    let is_of_git = |part: &str| program == "git" && (part == "reset" || part == "revert");
    let is_verb = |part: &str| DELETES.contains(&part) && !is_of_git(part);
    // A container that is removed when it ends takes nothing with it.
    let is_container = word == "rm" && typed == "--rm" && RUN_CONTAINERS.contains(&program);
    let loads = word.contains("schema:load");
    !is_container
        && (loads || DELETING.contains(&name(word)) || word.split([':', '.', '-', '_', '/']).any(is_verb))
}

/// Whether a command of git, from its verb on, throws something away.
fn gives_up(command: &[String]) -> bool {
    let [verb, rest @ ..] = command else { return false };
    let says = |words: &[&str]| rest.iter().any(|word| words.contains(&word.as_str()));
    let is_known = GIVING_UP.iter().any(|(known, with)| known == verb && (with.is_empty() || says(with)));
    let is_path = |word: &String| word.contains(['/', '.']) || word == "--";
    let makes_branch = says(&["-b", "-t", "--track", "--orphan"]);
    let names = rest.iter().filter(|word| !word.starts_with('-')).count();
    let takes_files = verb == "checkout" && !makes_branch && (names > 1 || rest.iter().any(is_path));
    // `+main` and `:main` force and delete, as options do.
    let is_forced = verb == "push" && rest.iter().any(|word| word.starts_with(['+', ':']));
    is_known || takes_files || is_forced
}

/// Whether a command for containers takes the volumes or images away with them.
fn takes_volumes(program: &str, arguments: &[String]) -> bool {
    let has = |known: &[&str]| arguments.iter().any(|word| known.contains(&word.as_str()));
    RUN_CONTAINERS.contains(&program)
        && has(&["down"])
        && (has(&["-v", "--volumes"]) || arguments.iter().any(|word| word.starts_with("--rmi")))
}

#[cfg(test)]
mod tests {
    use super::loses;

    /// Red before: most of these were told as what had helped.
    #[test]
    fn what_deletes_is_told_from_what_does_not() {
        for line in [
            "docker compose down -v",
            "php artisan migrate:fresh",
            "./scripts/reset-db.sh",
            "python manage.py reset_db",
            "bazel clean --expunge",
            "jj abandon",
            "svn revert -R .",
            "docker compose rm web",
            "terraform taint x",
            "npx prisma db push --force-reset",
            "mix ecto.drop",
            "bin/rails db:schema:load",
            "npx knex migrate:rollback",
            "npx sequelize db:migrate:undo:all",
            "aws s3 rb s3://shop --force",
            "cp /dev/null data.db",
            "kill -9 4242",
            "npx kill-port 3000",
            "docker-compose -f a.yml down --volumes",
            "docker system prune -f",
            "dropdb shop",
            "unlink a.lock",
            "git checkout src/a.rs",
            "git checkout main src",
            "git checkout .",
            "mv src old",
            "> data.db",
            "make gen; > data.db",
            ": > data.db",
            "cat /dev/null > data.db",
            "echo -n > data.db",
            "git -C . reset --hard",
            "git --no-pager clean -fdx",
            "git -c a=b branch -D wip",
            "npm ci && git push --force",
            "git push origin :wip",
            "make gen <<EOF\nx\nEOF\nrm -rf data",
            "psql shop <<EOF\ndrop table x;\nEOF",
            "npm ci && A=$(rm -rf x; echo 1) make gen",
            "make gen; f() { rm -rf x; }; f",
            "bash -c 'npm ci; rm -rf x'",
            "eval \"rm -rf x\"",
            "if true; then rm x; fi",
            "sudo env A=1 rm x",
            "find . -name '*.lock' -delete",
            "find . -name a -exec rm {} +",
            "ls *.lock | xargs rm -f",
            "ssh h 'rm -rf /srv/x'",
            "psql -c 'DROP TABLE users'",
            "python -c 'import shutil; shutil.rmtree(\"x\")'",
            "kubectl delete pod x",
            "terraform destroy",
            "bin/rails db:drop",
            "npx prisma migrate reset",
            "rsync -a --delete a/ b/",
            "curl -s https://x.io/a.sh | sh",
            "$CLEANER data",
            "make 'gen",
            "mongosh --eval 'db.dropDatabase()'",
            "python manage.py flush --noinput",
            "alembic downgrade base",
            "curl -XDELETE http://es:9200/idx",
            "node -e \"fs.rmSync('dist')\"",
            "npx rimraf dist",
            "helm uninstall x",
            "pip uninstall -y foo",
            "make distclean",
            "pkill server",
        ] {
            assert!(loses(line), "{line}");
        }
        for line in [
            "npm ci",
            "make gen > gen.log 2>&1",
            "cp .env.example .env",
            "echo 'A=1' >> .env",
            "git checkout main",
            "git checkout -b fix/a",
            "git stash",
            "git reset HEAD~1",
            "git -C web pull --rebase",
            "docker compose down",
            "docker compose up -d",
            "bash scripts/fix.sh",
            "cat a.txt | bash scripts/fix.sh",
            "git push -u origin main",
            "docker run -v .:/w img",
            "source .venv/bin/activate && pip install -r requirements.txt",
            "psql -c \"insert into t values ('a')\"",
            "cat schema.sql | psql shop",
            "cat > .env <<EOF\nA=1\nEOF",
            "touch `date +%F`.ok",
            "(cd web && npm ci) > log",
            "for f in a b; do make $f; done",
            "cargo clean",
            "docker run --rm -v a:/a img make gen",
            "git revert HEAD",
            "docker compose run --rm web ./migrate.sh",
        ] {
            assert!(!loses(line), "{line}");
        }
    }
}
