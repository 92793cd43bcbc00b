//! Options that a program takes before its subcommand, such as those of `git -C web push`. Pure.

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
/// Options with which a program only tells something: help, or what it would do.
const DOES_NOTHING: [&str; 13] = [
    "-h",
    "-help",
    "--help",
    "-version",
    "--version",
    "--",
    "-n",
    "--dry-run",
    "--just-print",
    "--no-act",
    "--question",
    "--recon",
    "--simulate",
];
/// The same of one program, where the option means something else to others.
const DOES_NOTHING_IN: [(&str, &str); 3] = [("apt", "-s"), ("apt-get", "-s"), ("gradle", "-m")];
/// Options of git that name the repository.
const OF_REPOSITORY: [&str; 3] = ["-C", "--git-dir", "--work-tree"];

/// The words of a command in normal form without the options before its subcommand. `None` if there are none, and where
/// they make another command of it: a question for help, a dry run, or a repository outside of the workspace.
pub(super) fn without(words: &[String]) -> Option<Vec<String>> {
    let (program, rest) = words.split_first()?;
    let (_, with_value) = WITH_VALUE.iter().find(|(known, _)| *known == name(program))?;
    let is_idle = |word: &String| DOES_NOTHING_IN.contains(&(name(program), word.as_str()));
    if rest.iter().take_while(|word| word.starts_with('-')).any(is_idle) {
        return None;
    }
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
        if !with_value.contains(&option.as_str()) && DOES_NOTHING.contains(&option.as_str()) {
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
        ] {
            assert!(meets(trigger, line), "{trigger}: {line}");
        }
        for (trigger, line) in [
            ("git push", "git -C web pull"),
            ("git push", "git -C push status"),
            ("git push", "git --help push"),
            ("git push", "git -C /elsewhere push"),
            ("make deploy", "make -n deploy"),
            ("cargo publish", "cargo +nightly publish"),
            ("git", "git --no-pager push"),
            ("python -m pytest", "python -u -m pytest"),
            ("kubectl delete", "kubectl -n delete get pods"),
            ("git -C web push", "git push"),
        ] {
            assert!(!meets(trigger, line), "{trigger}: {line}");
        }
    }
}
