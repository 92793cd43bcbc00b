//! `hm guard`: what warns before an action, what came of it, and why it is silent.

use clap::{Args, Subcommand};
use serde_json::json;

use super::output::{self, Failure};
use super::{Context, names, parse, parse_moment};
use crate::domain::action::{Action, Attempt};
use crate::domain::claim::{ClaimType, Status};
use crate::domain::command::{AcceptGuard, Command, MuteGuard};
use crate::domain::event::Guard;
use crate::domain::guard::{Condition, Effect, Moment as GuardMoment};
use crate::domain::ids::{ClaimId, GuardId};
use crate::domain::names::{Name, Named, Sort, pasted};
use crate::domain::pattern::PatternKind;
use crate::domain::rejection::Rejection;
use crate::domain::time::{Moment, Timestamp};
use crate::system;
use crate::views::{self, View};

#[derive(Debug, Subcommand)]
pub(super) enum GuardVerb {
    /// List guards and dead ends with triggers: fired, followed, ignored, wrong
    #[command(after_help = "Example: hm guard list")]
    List,
    /// Show one guard or dead end with its last firings
    #[command(after_help = "Example: hm guard show G1")]
    Show {
        /// Guard or dead end
        guard: String,
    },
    /// Show which guards were looked at for the last action of a session, or for a command, and why they were silent
    #[command(after_help = "Examples:\n  hm guard why\n  hm guard why -- cargo test --all")]
    Why {
        /// Session, instead of this one
        #[arg(long, value_name = "SESSION")]
        session: Option<String>,
        /// Command that would run in this directory
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Put a guard in force; for the architect and the operator
    #[command(
        after_help = "All conditions that are given must be met.\n\nExample: hm guard accept --command \"cargo publish\" --text \"ask the operator first\""
    )]
    Accept(Box<Accept>),
    /// Silence a guard or a dead end; for the operator only
    #[command(after_help = "Examples:\n  hm guard mute G1\n  hm guard mute C5 --scope src/db --until 2h")]
    Mute {
        /// Guard or dead end
        guard: String,
        /// Only for actions there
        #[arg(long, value_name = "SCOPE")]
        scope: Option<String>,
        /// End of the silence: 2h or 3d from now, or a time
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(super) struct Accept {
    /// What the guard says
    #[arg(long)]
    text: String,
    /// warn, suggest, escalate or block
    #[arg(long, default_value = "warn", value_name = "ACTION")]
    action: String,
    /// Command that the action runs, with any arguments after it; of programs such as git name the command too;
    /// repeatable
    #[arg(long, value_name = "COMMAND")]
    command: Vec<String>,
    /// Path or glob that the action changes; repeatable
    #[arg(long, value_name = "PATH")]
    path: Vec<String>,
    /// Place that the action changes or names, or scope of the claim
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// Text in the error with which the action ends: two words, or one long word or code. What it names in quotes, a path,
    /// a host or a port must be the same
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Phrase in the command, the written text or the statement
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    includes: Option<String>,
    /// Event: command.ran, file.edited, claim.created, decision.recorded, experiment.queued or position.taken;
    /// repeatable
    #[arg(long, value_name = "TYPE")]
    event: Vec<String>,
    /// Type of the claim that is written
    #[arg(long = "claim-type", value_name = "TYPE")]
    claim_type: Option<String>,
    /// Status of the claim that the command is about
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Type of a pattern that is open in the session: loop, handoff_loop, escalation_spiral, stall,
    /// contradiction_cluster or unstable_proof
    #[arg(long, value_name = "TYPE")]
    pattern: Option<String>,
    /// Profile of a guard with the action block: its run settles a contested claim that the guard meets
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Claim or decision behind the guard
    #[arg(long, value_name = "CLAIM")]
    claim: Option<names::Called>,
    /// End of the guard: 2h or 3d from now, or a time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

impl GuardVerb {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::List => context.show(&View::Guards),
            Self::Show { guard } => context.show(&View::Guard(context.guard_named(guard)?.uuid())),
            Self::Why { session, command } => why(context, session.as_deref(), command),
            Self::Accept(accept) => {
                let command = accept.command(context)?;
                context.submit("guard accepted", command, None)
            }
            Self::Mute { guard, scope, until, reason } => {
                let guard = context.guard_named(guard)?;
                let scope = scope.as_deref().map(|scope| context.scope("scope", scope)).transpose()?;
                let until = until.as_deref().map(|text| later("until", text)).transpose()?;
                let reason = reason.as_deref().map(|text| parse("reason", text)).transpose()?;
                context.operator("guard-mute")?;
                let mute = MuteGuard { guard, scope, until, reason };
                context.submit("guard muted", Command::MuteGuard(mute), None)
            }
        }
    }
}

impl Accept {
    fn command(&self, context: &Context) -> Result<Command, Failure> {
        let paths = self.path.iter().map(|path| context.scope("path", path)).collect::<Result<_, _>>()?;
        let commands = self.command.iter().map(|line| parse("command", line)).collect::<Result<_, _>>()?;
        let event_types =
            self.event.iter().map(|of| parse::<GuardMoment>("event", of)).collect::<Result<_, _>>()?;
        let condition = Condition {
            scope: self.scope.as_deref().map(|scope| context.scope("scope", scope)).transpose()?,
            paths,
            commands,
            event_types,
            claim_type: self
                .claim_type
                .as_deref()
                .map(|of| parse::<ClaimType>("claim-type", of))
                .transpose()?,
            status: self.status.as_deref().map(|of| parse::<Status>("status", of)).transpose()?,
            pattern_type: self
                .pattern
                .as_deref()
                .map(|of| parse::<PatternKind>("pattern", of))
                .transpose()?,
            error_signature: self.error.as_deref().map(|of| parse("error", of)).transpose()?,
            text_includes: self.includes.as_deref().map(|of| parse("includes", of)).transpose()?,
        };
        Ok(Command::AcceptGuard(AcceptGuard {
            guard_id: GuardId::from_uuid(system::new_id()),
            condition,
            action: parse::<Effect>("action", &self.action)?,
            text: parse("text", &self.text)?,
            source_claim: context.any_claim_named(self.claim.as_deref())?,
            source_pattern: None,
            until: self.until.as_deref().map(|text| later("until", text)).transpose()?,
            profile: self.profile.as_deref().map(|name| parse("profile", name)).transpose()?,
        }))
    }
}

impl Context {
    /// Resolves the name of a guard, or of the claim of a dead end.
    fn guard_named(&self, text: &str) -> Result<Guard, Failure> {
        let is_claim = pasted(text).parse::<Name>().is_ok_and(|name| name.of == Named::Claim);
        if is_claim {
            return Ok(Guard::Claim(self.claim_named(text)?));
        }
        match self.named(Sort::Guard, text) {
            // A whole id may be that of a guard or of a claim.
            Ok(id) => {
                let is_guard = views::is_guard(&mut self.models()?, id)?;
                Ok(if is_guard {
                    Guard::Rule(GuardId::from_uuid(id))
                } else {
                    Guard::Claim(ClaimId::from_uuid(id))
                })
            }
            Err(refused) => self.claim_named(text).map(Guard::Claim).map_err(|_| refused),
        }
    }
}

fn why(context: &Context, session: Option<&str>, command: &[String]) -> Result<(), Failure> {
    let mut reads = context.models()?;
    let session = match context.session_named(session)? {
        Some(session) => session,
        None => context.caller()?.session().to_string(),
    };
    let agent = context.reader()?.map(|agent| agent.to_string()).unwrap_or_default();
    let root = context.workspace.root().to_string_lossy().into_owned();
    let about = if command.is_empty() {
        views::last_action(&mut reads, &session)?
    } else {
        let line = command.join(" ");
        let cwd = std::env::current_dir().map_or(root.clone(), |cwd| cwd.to_string_lossy().into_owned());
        let attempt = Attempt { command: Some(&line), ..Attempt::default() };
        Some((Action::of(attempt, &cwd, &root), line))
    };
    let Some((action, line)) = about else {
        return Err(Rejection::invalid(
            "session",
            format!("no hook saw an action of session {session}: name a command, `hm guard why -- COMMAND`"),
        )
        .into());
    };
    let looked = views::silences(&mut reads, (&agent, &session), (&action, &line), system::now())?;
    let json = json!({ "about": line, "session": session, "guards": looked });
    output::print(context.global.json, &views::silences_text(&line, &looked), &json)
}

/// A later time: a length from now, such as 90s or 2h, or a moment. A number alone is in minutes.
fn later(argument: &str, text: &str) -> Result<Timestamp, Rejection> {
    if let Some(seconds) = super::length(text, &[('m', 60), ('s', 1), ('h', 3_600), ('d', 86_400)]) {
        let ms = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000);
        return Ok(Timestamp::from_ms(system::now().ms().saturating_add(ms)));
    }
    match parse_moment(argument, Some(text))? {
        Some(Moment::Time(at)) => Ok(at),
        _ => Err(Rejection::invalid(argument, "name a time, or a length such as 2h or 3d")),
    }
}
