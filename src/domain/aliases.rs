//! Names and abbreviations of one thing, by which a search finds claims that use another one: `arm` finds `aarch64`. The
//! static table knows words of prose, and of these hardly more than that they are technical.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::tokens::tokens;

/// Names of one thing, each name in one group. Only what means the same wherever developers write it: `min` (minimum,
/// minute) and `res` (response, result, resource) are in no group.
const GROUPS: &[&[&str]] = &[
    &["aarch64", "arm64", "arm"],
    &["addr", "address"],
    &["admin", "administrator"],
    &["allowlist", "whitelist"],
    &["app", "application"],
    &["arg", "argument"],
    &["async", "asynchronous"],
    &["attr", "attribute"],
    &["auth", "authentication"],
    &["authz", "authorization"],
    &["avg", "average"],
    &["cert", "certificate"],
    &["cfg", "config", "configuration"],
    &["cmd", "command"],
    &["conn", "connection"],
    &["ctx", "context"],
    &["db", "database"],
    &["denylist", "blacklist", "blocklist"],
    &["dep", "dependency"],
    &["dev", "development"],
    &["dir", "directory", "folder"],
    &["docs", "documentation"],
    &["env", "environment"],
    &["err", "error"],
    &["exec", "execute"],
    &["fn", "func", "function"],
    &["i18n", "internationalization"],
    &["impl", "implementation"],
    &["init", "initialize"],
    &["js", "javascript"],
    &["k8s", "kubernetes"],
    &["l10n", "localization"],
    &["lang", "language"],
    &["lib", "library"],
    &["macos", "osx"],
    &["max", "maximum"],
    &["mem", "memory"],
    &["msg", "message"],
    &["param", "parameter"],
    &["perf", "performance"],
    &["perm", "permission"],
    &["pkg", "package"],
    &["postgres", "postgresql", "pg"],
    &["proc", "process"],
    &["prod", "production"],
    &["py", "python"],
    &["regex", "regexp"],
    &["repo", "repository"],
    &["req", "request"],
    &["resp", "response"],
    &["sigterm", "terminate"],
    &["src", "source"],
    &["sync", "synchronous"],
    &["tls", "ssl"],
    &["tmp", "temp", "temporary"],
    &["ts", "typescript"],
    &["x86_64", "amd64", "x64"],
];

/// The other names of what each token names.
static OTHERS: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut others = HashMap::new();
    for group in GROUPS {
        // The joined form of a name in parts comes last.
        let names: Vec<String> = group.iter().filter_map(|name| tokens(name).pop()).collect();
        for name in &names {
            others.insert(name.clone(), names.iter().filter(|other| *other != name).cloned().collect());
        }
    }
    others
});

/// The tokens of other names for what this token names.
pub fn aliases(token: &str) -> &'static [String] {
    OTHERS.get(token).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{GROUPS, OTHERS, aliases};
    use crate::domain::tokens::tokens;

    #[test]
    fn a_name_leads_to_the_others_of_its_thing_in_the_form_that_claims_are_indexed_by() {
        let of = |name: &str| aliases(&tokens(name).pop().expect("a token")).join(" ");
        assert_eq!(of("arm"), "aarch64 arm64");
        assert_eq!(of("AArch64"), "arm64 arm");
        assert_eq!(of("configurations"), "cfg config");
        assert_eq!(of("x86-64"), "amd64 x64");
        assert_eq!(of("allow-list"), "whitelist");
        assert_eq!(of("pool"), "");
    }

    #[test]
    fn each_name_is_of_one_thing_and_has_another() {
        let names: Vec<String> = GROUPS.concat().iter().filter_map(|name| tokens(name).pop()).collect();
        let distinct: HashSet<&String> = names.iter().collect();
        assert_eq!(names.len(), distinct.len());
        assert!(OTHERS.values().all(|others| !others.is_empty()));
    }
}
