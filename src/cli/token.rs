//! `hm token`: the tokens of clients that connect over HTTP.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::output::{self, Failure};
use super::{Context, parse, roles};
use crate::domain::agent::AgentId;
use crate::domain::rejection::{Code, Rejection};
use crate::identity::{Caller, Role};
use crate::system;
use crate::tokens::{Token as Kept, TokenError, Tokens};

#[derive(Debug, Subcommand)]
pub(super) enum Token {
    /// Make a token for the agent named by --agent; it is shown once
    #[command(
        after_help = "Examples:\n  hm token add --agent devops --role agent\n  hm token add --agent operator --role admin"
    )]
    Add(Add),
    /// List the tokens without secrets
    #[command(after_help = "Example: hm token list")]
    List,
    /// Revoke a token and end its sessions
    #[command(after_help = "Example: hm token remove devops")]
    Remove {
        /// Name of the token, as listed
        name: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct Add {
    /// Role: viewer (reads), agent (all but the operator's tools), admin
    #[arg(long, default_value = "agent")]
    role: String,
    /// Name of the token; default: the name of its agent
    #[arg(long)]
    name: Option<String>,
}

impl Token {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let tokens = Tokens::of(&context.workspace);
        context.workspace.ensure().map_err(Failure::internal)?;
        match self {
            Self::Add(args) => args.run(context, &tokens),
            Self::List => list(context, &tokens),
            Self::Remove { name } => {
                context.operator("token-remove")?;
                let removed = tokens.remove(&name)?;
                let text = format!("removed {}\n", removed.name);
                output::print(context.global.json, &text, &shown(&removed))
            }
        }
    }
}

impl Add {
    fn run(self, context: &Context, tokens: &Tokens) -> Result<(), Failure> {
        let Some(named) = context.global.agent.as_deref() else {
            return Err(Failure::usage("say whose token it is: hm token add --agent NAME"));
        };
        let caller = Caller::new(context.config.roster.clone(), Some(named), context.session())?;
        let agent = caller.pinned().expect("a named agent is pinned").clone();
        let role: Role = parse("role", &self.role)?;
        if agent == AgentId::operator() && role == Role::Agent {
            let refusal = Rejection::new(
                Code::NotAllowed,
                "an agent's token cannot speak as the operator",
                "use --role admin for yourself, or the name of the agent it is for",
            );
            return Err(refusal.into());
        }
        // Here `--agent` names the agent that gets the token, not the caller.
        context.operator_named(None, "token-add")?;
        let (kept, secret) =
            tokens.add(self.name.as_deref(), agent, role, system::now(), system::entropy())?;
        let text = format!(
            "{secret}\n\nIt is shown only now: token `{}`, agent {}, role {}.\n\
             Clients send the header: Authorization: Bearer TOKEN\n\
             A person signs in with it at /web/ of hm serve --http\n",
            kept.name,
            kept.agent,
            kept.role.as_str()
        );
        let mut json = shown(&kept);
        json["token"] = json!(secret);
        output::print(context.global.json, &text, &json)
    }
}

fn list(context: &Context, tokens: &Tokens) -> Result<(), Failure> {
    let kept = tokens.load()?;
    let mut text: String = kept
        .iter()
        .map(|token| {
            let may = roles::of_token(token.role);
            output::row(&format!("{:<24} {:<14} {:<8} {may}", token.name, token.agent, token.role.as_str()))
        })
        .collect();
    if text.is_empty() {
        text.push_str("no tokens: over HTTP everybody on this machine comes in, and nobody else\n");
    }
    if !kept.is_empty() {
        text.push_str("everything by role: hm help roles\n");
    }
    let json = json!({ "tokens": kept.iter().map(shown).collect::<Vec<_>>() });
    output::print(context.global.json, &text, &json)
}

/// The fields of a token that may be shown.
fn shown(token: &Kept) -> Value {
    json!({ "name": token.name, "agent": token.agent, "role": token.role, "created": token.created })
}

impl From<TokenError> for Failure {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::BadName(_) | TokenError::Taken(_) | TokenError::Unknown(_) => Self::usage(error),
            TokenError::Io { .. } | TokenError::Syntax { .. } | TokenError::SetAside(_) => {
                Self::internal(error)
            }
        }
    }
}
