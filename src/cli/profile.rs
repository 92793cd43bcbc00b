//! `hm profile`: lists the commands that agents may run, and checks the project's own profile files.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::output::{self, Failure};
use super::{Context, parse, parse_all};
use crate::domain::clean::cut_words;
use crate::domain::coverage::covers_any;
use crate::domain::experiment::Prediction;
use crate::domain::experiment::ProfileName;
use crate::domain::ids::ClaimId;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::runner::cleaned;
use crate::runner::profile::{
    BadProfile, Catalog, Known, Loaded, Origin, PROFILE_DIR, load_below, load_file,
};
use crate::trusted::{Trust, TrustedProfiles};
use crate::views;

/// Maximum length of a command in the list, in characters. `hm profile show` has the rest.
const ARGV_CHARS: usize = 96;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// List the profiles, or those that fit some scopes
    #[command(after_help = "Examples:\n  hm profile list\n  hm profile list --scope src/db/pool.rs --json")]
    List(List),
    /// Show one profile: its command, and what it can settle
    #[command(after_help = "Example: hm profile show pytest-file --claim C47")]
    Show {
        /// Profile
        name: String,
        /// Show whether a run can settle this claim
        #[arg(long, value_name = "CLAIM")]
        claim: Option<String>,
    },
    /// Check profile files; default: all of .hivemind/profiles
    #[command(after_help = "Example: hm profile check .hivemind/profiles/smoke.toml")]
    Check(Check),
    /// Show a profile file of the project, and let agents run this version; for the operator only
    #[command(
        after_help = "A change of the file ends the trust. It holds for this workspace, on this machine.\n\n\
        Example: hm profile trust smoke"
    )]
    Trust(TrustProfile),
    /// Withdraw the trust in a profile file
    #[command(after_help = "Example: hm profile untrust smoke")]
    Untrust {
        /// Profile
        name: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct TrustProfile {
    /// Profile
    name: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Profiles for this path, symbol:, target: or tag:; repeatable
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Whole, also those that need a file which is not in this workspace
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Args)]
pub(super) struct Check {
    /// Profile files
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Verb {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        if matches!(self, Self::Trust(_)) {
            // Trust belongs to a memory, which must exist.
            context.workspace.ensure().map_err(Failure::usage)?;
        }
        let trusted = context.workspace.trusted_profiles();
        let catalog = Catalog::load(&context.workspace.marker_dir(), &trusted);
        match self {
            Self::List(args) => args.run(context, &catalog),
            Self::Show { name, claim } => {
                let claim = context.any_claim_named(claim.as_deref())?;
                show(context, &catalog, &name, claim)
            }
            Self::Check(args) => args.run(context, &catalog),
            Self::Trust(args) => args.run(context, &catalog, &trusted),
            Self::Untrust { name } => untrust(context, &parse("name", &name)?, &trusted),
        }
    }
}

impl TrustProfile {
    fn run(self, context: &Context, catalog: &Catalog, trusted: &TrustedProfiles) -> Result<(), Failure> {
        let name: ProfileName = parse("name", &self.name)?;
        context.operator("profile-trust")?;
        // Reads the file once, so that the shown, the hashed and the trusted text are the same.
        let file = context.workspace.marker_dir().join(PROFILE_DIR).join(format!("{name}.toml"));
        if !file.exists() && catalog.find(&name).is_some() {
            return Err(Failure::usage(format!("profile `{name}` ships with hm and needs no trust")));
        }
        let Loaded { profile, text, sha256 } =
            load_below(&context.workspace.marker_dir(), &file).map_err(Failure::usage)?;
        let argv = cleaned(&json!(profile.template()).to_string());
        let json = json!({ "name": name, "file": file.display().to_string(), "argv": profile.template(),
            "sha256": sha256, "trust": Trust::Trusted, "warning": profile.hidden() });
        let whole = format!(
            "{}\n\n{}\n\nprofile: {name}\nargv:    {argv}\nsha256:  {sha256}\n",
            file.display(),
            cleaned(&text).trim_end()
        );
        let whole = match profile.hidden() {
            Some(why) => format!("{whole}warning: it settles nothing: {}\n", cleaned(&why)),
            None => whole,
        };
        if !context.global.json {
            output::print(false, &whole, &json)?;
        }
        if !self.yes {
            let question = "\nMay agents run it, with the rights of this user, as often as they ask?";
            match output::agreed(question)? {
                Some(true) => {}
                Some(false) => {
                    return output::print(context.global.json, "not trusted\n", &json!({ "trust": null }));
                }
                None => {
                    return Err(Failure::usage(
                        "there is no terminal to ask at: look at the file, then add --yes",
                    ));
                }
            }
        }
        trusted.trust(&name, &sha256).map_err(Failure::internal)?;
        output::print(context.global.json, "trusted, as long as the file stays as it is\n", &json)
    }
}

fn untrust(context: &Context, name: &ProfileName, trusted: &TrustedProfiles) -> Result<(), Failure> {
    context.operator("profile-untrust")?;
    if !trusted.untrust(name).map_err(Failure::internal)? {
        return Err(Rejection::new(
            Code::UnknownProfile,
            format!("no profile `{name}` is trusted here"),
            "nothing to do: hm profile list shows which are",
        )
        .into());
    }
    let json = json!({ "name": name, "trust": Trust::Untrusted });
    output::print(context.global.json, &format!("agents cannot run {name} any more\n"), &json)
}

fn show(context: &Context, catalog: &Catalog, name: &str, claim: Option<ClaimId>) -> Result<(), Failure> {
    let found = name.parse::<ProfileName>().ok().and_then(|name| catalog.find(&name));
    let Some(known) = found else {
        let hint = "`hm profile list` shows those there are, `hm profile check` what is wrong with others";
        let unknown = format!("no profile is called `{}`", views::inline(name, 60));
        return Err(Rejection::new(Code::UnknownProfile, unknown, hint).into());
    };
    let mut json = shown(known);
    let mut text = String::new();
    let mut fact = |what: &str, value: String| {
        let _ = writeln!(text, "{what:<9} {}", cleaned(&value));
    };
    let Known { profile, origin, sha256, trust } = known;
    fact("profile", format!("{name}: {}", profile.description));
    fact(
        "origin",
        match origin {
            Origin::BuiltIn => "ships with hm".to_owned(),
            Origin::Project(file) => format!("{} ({})", file.display(), trust_word(*trust)),
        },
    );
    fact("sha256", sha256.clone());
    fact("argv", json!(profile.template()).to_string());
    for (name, param) in &profile.params {
        fact("arg", format!("{name}: {}", json!(param)));
    }
    if profile.selects_tests() {
        let when =
            "it settles a claim about a file only if the path is in the claim's scopes, or names the file";
        fact("selects", when.to_owned());
    }
    let list = |all: &[String], none: &str| if all.is_empty() { none.to_owned() } else { all.join(", ") };
    fact("scopes", list(&profile.scopes, "none, so it settles nothing"));
    fact(
        "expect",
        profile.expect.as_ref().map_or_else(
            || "nothing, so it settles nothing".to_owned(),
            |expect| cleaned(&expect.to_string()),
        ),
    );
    if let Some(why) = profile.hidden() {
        fact("warning", format!("it settles nothing: {}", cleaned(&why)));
    }
    fact("needs", list(&profile.needs, "nothing"));
    fact("version", list(&profile.version, "none, the program's hash stands for it"));
    let limits = profile.limits;
    fact(
        "limits",
        format!(
            "{} ms, {} bytes of each stream, {} open files, files of {} bytes",
            profile.timeout_ms, limits.output_cap_bytes, limits.open_files, limits.file_bytes
        ),
    );
    fact("passes on", list(&profile.env_pass.iter().cloned().collect::<Vec<_>>(), "no variables of its own"));
    if let Some(id) = claim {
        let mut reads = context.reads()?;
        let found = reads.store()?.map(|store| store.claim(id)).transpose()?.flatten();
        let Some(found) = found else {
            let hint = "take the id from a receipt or from hm claim list";
            return Err(Rejection::new(Code::UnknownClaim, format!("no claim has the id {id}"), hint).into());
        };
        let scopes: Vec<Scope> = parse_all("scope", &found.summary.scopes)?;
        let why = profile.cannot_settle(&scopes, Prediction::Passes);
        let covered = |scope: &&Scope| covers_any(&profile.scopes, std::slice::from_ref(*scope));
        let covered: Vec<&Scope> = scopes.iter().filter(covered).collect();
        json["claim"] =
            json!({ "claim_id": id, "covered_scopes": covered, "can_settle": why.is_none(), "why_not": why });
        let names: Vec<String> = covered.iter().map(ToString::to_string).collect();
        fact(
            "claim",
            match why {
                None => format!("{id}: a run can settle it, by its scopes {}", names.join(", ")),
                Some(why) => format!("{id}: a run only mentions it: {why}"),
            },
        );
    }
    output::print(context.global.json, &output::fitted(&text), &json)
}

const fn trust_word(trust: Trust) -> &'static str {
    match trust {
        Trust::Trusted => "trusted",
        Trust::Untrusted => "untrusted",
        Trust::Changed => "changed since it was trusted",
    }
}

impl List {
    fn run(self, context: &Context, catalog: &Catalog) -> Result<(), Failure> {
        let scopes = self.scopes.iter().map(|text| context.scope("scope", text));
        let scopes: Vec<Scope> = scopes.collect::<Result<_, _>>()?;
        let fits = |known: &&Known| scopes.is_empty() || known.profile.speaks_to(&scopes);
        let listed: Vec<&Known> = catalog.profiles().filter(fits).collect();
        let mut text = String::new();
        // A profile of the project says itself what it is for.
        let root = context.workspace.root();
        let can_run = |known: &Known| {
            let needs = &known.profile.needs;
            !matches!(known.origin, Origin::BuiltIn) || needs.iter().all(|need| root.join(need).exists())
        };
        let is_whole = self.all || !scopes.is_empty();
        let (shown_whole, others): (Vec<&Known>, Vec<&Known>) =
            listed.iter().copied().partition(|known| is_whole || can_run(known));
        for Known { profile, origin, trust, .. } in shown_whole {
            let own = match (origin, trust) {
                (Origin::BuiltIn, _) => "",
                (Origin::Project(_), Trust::Trusted) => " (project)",
                (Origin::Project(_), Trust::Untrusted) => " (project, untrusted)",
                (Origin::Project(_), Trust::Changed) => " (project, changed)",
            };
            let _ = writeln!(text, "{}{own}: {}", profile.name, cleaned(&profile.description));
            let argv = cleaned(&profile.template().join(" "));
            let _ = writeln!(text, "    {}", if is_whole { argv } else { cut_words(&argv, ARGV_CHARS) });
            if *trust != Trust::Trusted {
                let _ = writeln!(
                    text,
                    "    not run until you have looked at it: hm profile trust {}",
                    profile.name
                );
            }
        }
        if !others.is_empty() {
            let names: Vec<String> = others.iter().map(|known| known.profile.name.to_string()).collect();
            let _ = writeln!(
                text,
                "{} more need a file that is not here (hm profile list --all): {}",
                names.len(),
                names.join(", ")
            );
        }
        for bad in catalog.broken() {
            let _ = writeln!(text, "broken: {bad}");
        }
        let json = json!({
            "profiles": listed.iter().map(|known| shown(known)).collect::<Vec<_>>(),
            "broken": catalog.broken().iter().map(broken).collect::<Vec<_>>(),
        });
        output::print(context.global.json, &output::fitted(&text), &json)
    }
}

impl Check {
    fn run(self, context: &Context, catalog: &Catalog) -> Result<(), Failure> {
        let from_files: Vec<(PathBuf, Result<Loaded, BadProfile>)> =
            self.files.iter().map(|file| (file.clone(), load_file(file))).collect();
        // Each with what its exit code hides.
        let mut good: Vec<(String, Option<String>)> = Vec::new();
        let mut bad: Vec<&BadProfile> = Vec::new();
        for (file, loaded) in &from_files {
            match loaded {
                Ok(loaded) => good.push((file.display().to_string(), loaded.profile.hidden())),
                Err(problem) => bad.push(problem),
            }
        }
        if self.files.is_empty() {
            good.extend(catalog.profiles().filter_map(|known| match &known.origin {
                Origin::Project(file) => Some((file.display().to_string(), known.profile.hidden())),
                Origin::BuiltIn => None,
            }));
            bad.extend(catalog.broken());
        }
        let mut text = String::new();
        for (file, hidden) in &good {
            let _ = writeln!(text, "ok      {file}");
            if let Some(why) = hidden {
                let _ = writeln!(text, "warning {file}: it settles nothing: {}", cleaned(why));
            }
        }
        for problem in &bad {
            let _ = writeln!(text, "broken  {problem}");
        }
        if text.is_empty() {
            text.push_str("no profiles of the project's own\n");
        }
        let warning =
            |(file, why): &(String, Option<String>)| Some(json!({ "file": file, "problem": why.as_ref()? }));
        let warnings: Vec<Value> = good.iter().filter_map(warning).collect();
        let good: Vec<&String> = good.iter().map(|(file, _)| file).collect();
        let json = json!({ "ok": good, "warnings": warnings, "broken": bad.iter().map(|bad| broken(bad)).collect::<Vec<_>>() });
        output::print(context.global.json, &text, &json)?;
        if bad.is_empty() { Ok(()) } else { Err(Failure::Broken) }
    }
}

fn shown(Known { profile, origin, sha256, trust }: &Known) -> Value {
    json!({
        "name": profile.name,
        "origin": origin,
        "sha256": sha256,
        "trust": trust,
        "description": profile.description,
        "argv": profile.template(),
        "scopes": profile.scopes,
        "needs": profile.needs,
        "version": profile.version,
        "params": profile.params,
        "expect": profile.expect,
        "timeout_ms": profile.timeout_ms,
        "limits": profile.limits,
        "env_pass": profile.env_pass,
        "pty": profile.pty,
        "cwd": profile.cwd,
        "agent": profile.agent,
    })
}

fn broken(bad: &BadProfile) -> Value {
    json!({ "file": bad.file.display().to_string(), "problem": bad.problem.to_string() })
}
