//! Options that a program takes before its subcommand, such as those of `git -C web push`, and other words around the ones
//! that a trigger names. Pure.

use super::normal::name;

/// Programs with subcommands, each with the options before the subcommand that take the next word as their value. Any
/// other word with a leading dash is an option without a value, or has it after `=`.
const WITH_VALUE: &[(&str, &[&str])] = &[
    ("apt", &["-o", "-c", "-t"]),
    ("apt-get", &["-o", "-c", "-t"]),
    ("aws", &["--profile", "--region", "--output", "--endpoint-url", "--color", "--query", "--ca-bundle"]),
    ("az", &["-o", "--output", "--query", "--subscription"]),
    ("brew", &[]),
    ("bun", &["--cwd"]),
    ("bundle", &[]),
    ("cargo", &["--config", "--color", "-C", "-Z"]),
    ("composer", &["-d", "--working-dir"]),
    ("docker", &["-H", "--host", "-c", "--context", "--config", "-l", "--log-level"]),
    ("docker-compose", COMPOSE),
    ("dotnet", &[]),
    ("flyctl", &["-a", "-c", "-t"]),
    ("gcloud", &["--project", "--account", "--configuration", "--format", "--verbosity"]),
    ("gh", &["-R", "--repo"]),
    ("git", &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"]),
    ("glab", &["-R", "--repo"]),
    ("go", &["-C"]),
    ("gradle", &["-p", "--project-dir", "-b", "-I"]),
    ("helm", &["-n", "--namespace", "--kube-context", "--kubeconfig", "--kube-apiserver", "--kube-token"]),
    ("just", &["-f", "--justfile", "-d", "--working-directory"]),
    ("kubectl", KUBECTL),
    ("make", &["-C", "-f", "-I", "-o", "-W", "--directory", "--file", "--makefile"]),
    ("mvn", &["-f", "--file", "-P", "-s", "-pl"]),
    ("npm", &["-C", "--prefix", "-w", "--workspace", "--loglevel"]),
    ("oc", KUBECTL),
    ("pip", &["--log", "--proxy", "--cache-dir"]),
    ("pip3", &["--log", "--proxy", "--cache-dir"]),
    ("pnpm", &["-C", "--dir", "-F", "--filter"]),
    ("podman", &["-c", "--connection", "--url", "--log-level"]),
    ("poetry", &["-C", "--directory", "-P", "--project"]),
    ("pulumi", &["-C", "--cwd", "--color"]),
    ("systemctl", &["-H", "--host", "-M", "--machine", "-t", "--type", "-p", "--property"]),
    ("terraform", &[]),
    ("uv", &["--directory", "--project", "--color", "--config-file", "--cache-dir"]),
    ("yarn", &["--cwd"]),
];
const COMPOSE: &[&str] =
    &["-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory"];
const KUBECTL: &[&str] = &[
    "-n",
    "--namespace",
    "--context",
    "--cluster",
    "--user",
    "--kubeconfig",
    "-s",
    "--server",
    "--token",
    "--as",
    "--as-group",
    "--as-uid",
    "--cache-dir",
    "--certificate-authority",
    "--client-certificate",
    "--client-key",
    "--request-timeout",
    "--tls-server-name",
    "--username",
    "--password",
    "-v",
];
/// Options with which a program only tells something.
const ONLY_TELLS: [&str; 7] = ["-h", "-help", "--help", "-version", "--version", "--", "-n"];
/// Options with which a program only says what it would do.
const ONLY_TRIES: [&str; 10] = [
    "--collect-only",
    "--dry-run",
    "--dryrun",
    "--just-print",
    "--no-act",
    "--no-run",
    "--question",
    "--recon",
    "--simulate",
    "--syntax-check",
];
/// The same of some programs, where the option means something else to others.
const ONLY_TRIES_IN: [(&str, &str); 13] = [
    ("ansible-playbook", "--check"),
    ("apt", "-s"),
    ("apt-get", "-s"),
    ("black", "--check"),
    ("git add", "-n"),
    ("git apply", "--check"),
    ("git clean", "-n"),
    ("git push", "-n"),
    ("git rm", "-n"),
    ("gradle", "-m"),
    ("make", "-q"),
    ("prettier", "--check"),
    ("pytest", "--co"),
];
/// Options of git that name the repository.
const OF_REPOSITORY: [&str; 3] = ["-C", "--git-dir", "--work-tree"];

/// Whether a word is an option with which a program does nothing.
fn does_nothing(word: &str) -> bool {
    ONLY_TELLS.contains(&word) || ONLY_TRIES.contains(&word)
}

/// Whether a command only says what it would do, by an option that is not among the words `besides`.
pub fn only_tries(command: &str, besides: &str) -> bool {
    let mut words = command.split_whitespace();
    let program = words.next().map(name).unwrap_or_default();
    let with_verb = format!("{program} {}", words.clone().next().unwrap_or_default());
    let is_try = |word: &str| {
        // The normal form quotes a word with `=`.
        let word = word.trim_matches('\'');
        let (option, value) = word.split_once('=').unwrap_or((word, ""));
        // Short options stand together: `rsync -avn`, `make -nB`.
        let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with('-')).unwrap_or_default();
        let is_among = ["make", "rsync"].contains(&program) && flags.contains('n');
        let is_of = |of: &str| ONLY_TRIES_IN.contains(&(of, option));
        !["false", "none"].contains(&value)
            && (ONLY_TRIES.contains(&option) || is_among || is_of(program) || is_of(&with_verb))
    };
    let is_new = |word: &&str| !besides.split_whitespace().any(|other| other == *word);
    words.filter(is_new).any(is_try)
}

/// Programs that run another command in an environment of the project, and their own words before it.
const RUNNERS: [(&str, &str, usize); 10] = [
    ("bundle", "exec", 0),
    ("direnv", "exec", 1),
    ("hatch", "run", 0),
    ("mise", "exec", 0),
    ("pdm", "run", 0),
    ("pipenv", "run", 0),
    ("poetry", "run", 0),
    ("rustup", "run", 1),
    ("rye", "run", 0),
    ("uv", "run", 0),
];
/// Options of these programs that take the next word as their value.
const OF_RUNNERS: [&str; 10] = [
    "--directory",
    "--env-file",
    "--extra",
    "--group",
    "--package",
    "--project",
    "--python",
    "--with",
    "-p",
    "--only-group",
];
/// Programs whose arguments are goals, each of which they reach.
const OF_GOALS: [&str; 7] = ["gmake", "gradle", "gradlew", "make", "mvn", "ninja", "rake"];

/// The program of a command in a `bin` below the home directory, where programs are installed, by its name. Others as they
/// are: `~/elsewhere/deploy.sh` is a script of another project.
pub(super) fn installed(program: &str) -> &str {
    let is_at_home = program.starts_with("~/") || program.starts_with("$HOME/");
    let is_in_bin = program.rsplit('/').nth(1) == Some("bin");
    if is_at_home && is_in_bin { name(program) } else { program }
}

/// Other words for a command in normal form, by which a trigger may name it: without options before its subcommand, without
/// a program that only runs it in an environment, and each of several goals alone.
pub(super) fn spellings(words: &[String]) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = inside(words).into_iter().map(<[String]>::to_vec).collect();
    let bare: Vec<_> =
        std::iter::once(words).chain(all.iter().map(Vec::as_slice)).filter_map(without).collect();
    all.extend(bare);
    let goals: Vec<_> = std::iter::once(words).chain(all.iter().map(Vec::as_slice)).flat_map(goals).collect();
    all.extend(goals);
    all
}

/// The command that a program runs: of `uv run pytest` and `python -m pytest` the part from `pytest` on.
fn inside(words: &[String]) -> Option<&[String]> {
    let [program, verb, rest @ ..] = words else { return None };
    if verb == "-m" && ["python", "python3"].contains(&name(program)) {
        return (!rest.is_empty()).then_some(rest);
    }
    let (.., own) = RUNNERS.iter().find(|(known, of, _)| *known == name(program) && of == verb)?;
    let mut rest = rest;
    while let Some(option) = rest.first().filter(|word| word.starts_with('-') && *word != "--") {
        rest = rest.get(if OF_RUNNERS.contains(&option.as_str()) { 2 } else { 1 }..)?;
    }
    let rest = rest.get(*own..)?;
    let rest = rest.strip_prefix(&["--".to_owned()]).unwrap_or(rest);
    (!rest.is_empty()).then_some(rest)
}

/// The goals of a command after the first, each as a command of its own.
fn goals(words: &[String]) -> Vec<Vec<String>> {
    let [program, first, rest @ ..] = words else { return Vec::new() };
    let is_idle = |word: &String| does_nothing(word);
    if !OF_GOALS.contains(&name(program)) || first.starts_with('-') || rest.iter().any(is_idle) {
        return Vec::new();
    }
    let is_goal = |word: &str| !word.starts_with('-') && !word.contains('=');
    let mut before = first;
    let mut found = Vec::new();
    for word in rest {
        // The word after an option may be its value.
        if is_goal(word) && is_goal(before) {
            found.push(vec![program.clone(), word.clone()]);
        }
        before = word;
    }
    found
}

/// The words of a command in normal form without the options before its subcommand. `None` if there are none, and where
/// they make another command of it: a question for help, a dry run, or a repository outside of the workspace.
fn without(words: &[String]) -> Option<Vec<String>> {
    let (program, rest) = words.split_first()?;
    let (_, with_value) = WITH_VALUE.iter().find(|(known, _)| *known == name(program))?;
    let is_idle = |word: &String| ONLY_TRIES_IN.contains(&(name(program), word.as_str()));
    if rest.iter().take_while(|word| word.starts_with('-')).any(is_idle) {
        return None;
    }
    // `cargo +nightly` runs cargo of another toolchain.
    let rest = match rest {
        [toolchain, rest @ ..] if name(program) == "cargo" && toolchain.starts_with('+') => rest,
        rest => rest,
    };
    let mut bare = vec![program.clone()];
    let mut rest = skipped(rest, with_value)?;
    if matches!(name(program), "docker" | "podman") && rest.first().is_some_and(|word| word == "compose") {
        bare.push("compose".to_owned());
        rest = skipped(&rest[1..], COMPOSE)?;
    }
    bare.extend_from_slice(rest);
    (bare.len() < words.len()).then_some(bare)
}

/// The words from the subcommand on.
fn skipped<'w>(mut words: &'w [String], with_value: &[&str]) -> Option<&'w [String]> {
    while let [option, rest @ ..] = words {
        if !option.starts_with('-') {
            break;
        }
        if !with_value.contains(&option.as_str()) && does_nothing(option) {
            return None;
        }
        let (option, value) =
            option.split_once('=').map_or((option.as_str(), None), |(option, value)| (option, Some(value)));
        let takes_next = value.is_none() && with_value.contains(&option);
        let value = value.or_else(|| rest.first().filter(|_| takes_next).map(String::as_str));
        // A variable may lead anywhere, here included.
        let is_outside = |value: &str| value.starts_with('/');
        if OF_REPOSITORY.contains(&option) && value.is_some_and(is_outside) {
            return None;
        }
        words = rest.get(usize::from(takes_next)..)?;
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::super::normalise;
    use super::only_tries;

    /// Red before: a guard on `mypy` did not meet `python -m mypy`.
    #[test]
    fn a_module_that_runs_is_the_program() {
        let meets = |line: &str| {
            let runs = normalise(line, "/w", "/w");
            runs.iter().flat_map(|run| run.keys_of_triggers()).any(|key| key == "mypy")
        };
        for line in ["python -m mypy src", "python3 -m mypy", ".venv/bin/python -m mypy src"] {
            assert!(meets(line), "{line}");
        }
        for line in ["python -c mypy", "perl -m mypy", "python mypy", "python -m"] {
            assert!(!meets(line), "{line}");
        }
    }

    /// Red before: `-h db` of a client was a dry run, and `--dry-run=client` was none.
    #[test]
    fn a_dry_run_is_told_from_a_run() {
        for line in [
            "kubectl apply -f a.yml --dry-run=client",
            "kubectl apply -f a.yml '--dry-run=server'",
            "make -nB ship",
            "pytest tests/a.py --co",
            "make migrate -n",
            "make --recon migrate",
            "git push -n",
            "rsync -avn a b",
            "rsync -n a b",
            "ansible-playbook --check a.yml",
            "pytest --collect-only",
            "apt-get -s install x",
        ] {
            assert!(only_tries(line, ""), "{line}");
            assert!(!only_tries(line, line), "{line}");
        }
        for line in [
            "psql shop -h db -c x",
            "kubectl apply -f a.yml '--dry-run=none'",
            "docker run -h web img",
            "sha256sum --check sums.txt",
            "git commit -n -m x",
            "kubectl get pods -n shop",
            "rsync --numeric-ids a b",
            "make",
        ] {
            assert!(!only_tries(line, ""), "{line}");
        }
    }

    /// Red before: a global option before the subcommand passed every guard.
    #[test]
    fn a_trigger_meets_its_command_after_global_options() {
        let meets = |trigger: &str, line: &str| {
            let (wanted, runs) = (normalise(trigger, "/w", "/w"), normalise(line, "/w", "/w"));
            let keys: Vec<String> = runs.iter().flat_map(|run| run.keys_of_triggers()).collect();
            let is_met = wanted.iter().all(|wanted| runs.iter().any(|run| wanted.covers(run)));
            assert!(!is_met || wanted.iter().all(|wanted| keys.contains(&wanted.key())), "{line}");
            is_met
        };
        for (trigger, line) in [
            ("git push", "git push --force"),
            ("git push", "git -C . push --force"),
            ("git push", "git -C /w/web push"),
            ("git push", "git --no-pager push"),
            ("git push", "git -c push.default=current -c a=b push"),
            ("git push", "sudo git --git-dir=.git push origin"),
            ("git -C . push", "git -C . push"),
            ("kubectl delete", "kubectl -n prod delete pod x"),
            ("kubectl delete", "kubectl --context prod --namespace=a delete pod x"),
            ("docker compose down", "docker --context prod compose -f a.yml down -v"),
            ("npm publish", "npm --prefix web publish"),
            ("make deploy", "make -C web -j4 deploy"),
            ("terraform destroy", "terraform -chdir=prod destroy"),
            // Red before: other spellings of the same command passed every guard.
            ("cargo publish", "cargo +nightly publish"),
            ("cargo publish", "cargo +1.80 --locked publish"),
            ("cargo publish", "~/.cargo/bin/cargo publish"),
            ("cargo publish", "\"$HOME/.cargo/bin/cargo\" publish"),
            ("cargo publish", "rustup run nightly cargo publish"),
            ("make deploy", "make lint deploy"),
            ("make deploy", "make -j4 lint test deploy ENV=prod"),
            ("make deploy", "uv run make deploy"),
            ("make deploy", "uv run --with x make lint deploy"),
            ("make deploy", "mise exec -- make deploy"),
            ("uv run make", "uv run make deploy"),
            ("make deploy", "eval \"make deploy\""),
            ("make deploy", "eval make deploy"),
            ("make deploy", "bash <<EOF\nmake deploy\nEOF"),
            ("make deploy", "sudo bash -es <<'END' && echo done\ncd web\nmake deploy\nEND"),
            ("make deploy", "sh <<-EOF\n\tls\n\tEOF\nmake deploy"),
        ] {
            assert!(meets(trigger, line), "{trigger}: {line}");
        }
        for (trigger, line) in [
            ("git push", "git -C web pull"),
            ("git push", "git -C push status"),
            ("git push", "git --help push"),
            ("git push", "git -C /elsewhere push"),
            ("make deploy", "make -n deploy"),
            ("git", "git --no-pager push"),
            ("python -m pytest", "python -u -m pytest"),
            ("kubectl delete", "kubectl -n delete get pods"),
            ("git -C web push", "git push"),
            ("cargo publish", "cargo help publish"),
            ("deploy.sh", "~/elsewhere/deploy.sh"),
            ("cargo +nightly publish", "cargo publish"),
            ("make deploy", "make lint -n deploy"),
            ("make deploy", "make -C deploy lint"),
            ("make deploy", "make lint -f deploy"),
            ("make deploy", "uv run deploy"),
            ("make deploy", "cat <<EOF\nmake deploy\nEOF"),
            ("make deploy", "python3 <<EOF\nmake deploy\nEOF"),
            ("make deploy", "bash x.sh <<EOF\nmake deploy\nEOF"),
            ("npm run deploy", "npm run lint deploy"),
        ] {
            assert!(!meets(trigger, line), "{trigger}: {line}");
        }
    }
}
