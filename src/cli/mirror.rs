//! `hm mirror`: keeps a copy of claims and decisions in Git, and proposes what people edited there.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::output::{self, Failure};
use super::{Context, block_on};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Relation, Share};
use crate::domain::clean;
use crate::domain::command::{AddEvidence, Command, CreateClaim};
use crate::domain::ids::{ClaimId, IdempotencyKey};
use crate::domain::notes;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::text::Statement;
use crate::mirror::{self, Edit, Edited, MirrorError, Place, Wish};
use crate::system;
use crate::writer::Front;

/// Help text below the arguments.
pub(super) const HELP: &str = "\
Each claim is a Markdown file, and each change of the ledger a commit of the agent that made it. A later run goes on
where the last one ended, and so does one after a run that was killed. What is in the space of a user stays out.
With [mirror] in config.toml the writer goes on with a mirror by itself, once this verb began it.
A mirror that people edited is left as it is: hm mirror diff shows the edits, and --set-aside keeps them on a branch.

Examples:
  hm mirror --to ../team-memory && git -C ../team-memory log
  hm mirror --branch memory
  hm mirror diff --to ../team-memory";

/// Help text of `hm mirror diff`.
const DIFF_HELP: &str = "\
With --propose each edited statement becomes a hypothesis of the operator about the same scopes, which names the claim
as its origin. The same edit becomes one proposal, however often it is proposed.
Example: hm mirror diff --to ../team-memory --propose";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Mirror {
    #[command(flatten)]
    at: At,
    /// Write the history anew, without what was erased from the memory since
    #[arg(long)]
    rewrite: bool,
    /// Keep edits of people on a branch of their own, and go on
    #[arg(long)]
    set_aside: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// The place of a mirror.
#[derive(Debug, Args)]
struct At {
    /// A directory of its own; it is made if needed
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// A branch of this repository that nobody works on; it is made if needed
    #[arg(long, value_name = "NAME", conflicts_with = "to")]
    branch: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show what people edited in a mirror; the memory takes nothing from it by itself
    #[command(after_help = DIFF_HELP)]
    Diff {
        #[command(flatten)]
        at: At,
        /// Propose the edited statements as hypotheses; for the operator only
        #[arg(long)]
        propose: bool,
    },
}

impl From<MirrorError> for Failure {
    fn from(error: MirrorError) -> Self {
        let code = if error.needs_a_person() { Code::NotAllowed } else { Code::Unavailable };
        let way = error.way();
        if let MirrorError::Ledger(error) = error {
            return error.into();
        }
        Rejection::new(code, error.to_string(), way).into()
    }
}

impl At {
    /// The place that the options name, or else the only mirror of this memory, or the one of the configuration.
    fn place(&self, context: &Context) -> Result<Place, Failure> {
        match (&self.to, &self.branch) {
            (Some(to), _) => Ok(Place::dir(&context.here.join(to))),
            (None, Some(branch)) => Ok(Place::Branch(branch.clone())),
            (None, None) => {
                let mut places = mirror::known(&context.workspace)?;
                if places.is_empty() {
                    places = mirror::named(&context.config, &context.workspace);
                }
                match places.as_slice() {
                    [only] => Ok(only.clone()),
                    [] => Err(Failure::usage("name a place: --to DIR or --branch NAME")),
                    several => {
                        let options: Vec<String> = several.iter().map(Place::option).collect();
                        Err(Failure::usage(format!("name one of the mirrors: {}", options.join(", "))))
                    }
                }
            }
        }
    }
}

impl Mirror {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        if let Some(Verb::Diff { at, propose }) = &self.verb {
            return diff(context, &at.place(context)?, *propose);
        }
        let place = self.at.place(context)?;
        let wish = Wish { rewrite: self.rewrite, set_aside: self.set_aside };
        let ran = mirror::run(&context.workspace, &place, wish, || false)?;
        let mut text = match ran.commits {
            0 => format!("{place} is up to date, at event {}\n", ran.seq),
            1 => format!("1 new commit in {place}, up to event {}\n", ran.seq),
            commits => format!("{commits} new commits in {place}, up to event {}\n", ran.seq),
        };
        if let Some(aside) = &ran.aside {
            let _ = writeln!(text, "the edits are on the branch {aside}");
        }
        if self.rewrite {
            text.push_str("copies of the old history, and branches with edits, keep what was erased\n");
        }
        let mut json = json!(ran);
        json["mirror"] = json!(place);
        output::print(context.global.json, &output::fitted(&text), &json)
    }
}

/// Shows the edits of a mirror, and proposes them if that is asked.
fn diff(context: &Context, place: &Place, propose: bool) -> Result<(), Failure> {
    if propose {
        context.operator("mirror diff --propose")?;
    }
    let edits = mirror::edits(&context.workspace, place)?;
    let mut text: String = edits.iter().map(shown).collect();
    let mut proposed = Vec::new();
    let mut refusal = None;
    let statements = edits.iter().filter(|edit| edit.edited == Edited::Statement).count();
    if propose {
        let front = context.front()?;
        for edit in &edits {
            let Some((claim, statement)) = edit.claim_id.zip(edit.is.as_deref()) else { continue };
            let (line, value) = match proposal(context, &front, claim, statement) {
                // One edit that is refused keeps no other from being proposed.
                Err(Failure::Rejected(refused)) => {
                    refusal.get_or_insert(Failure::Several(1));
                    let line = format!("{claim}: not proposed: {}; {}\n", refused.message, refused.hint);
                    (line, json!({ "origin": claim, "state": "refused", "code": refused.code }))
                }
                proposed => proposed?,
            };
            text.push_str(&line);
            proposed.push(value);
        }
    } else if statements > 0 {
        let noun = if statements == 1 { "it" } else { "them" };
        let _ = writeln!(text, "to propose {noun}: hm mirror diff {} --propose", place.option());
    }
    if edits.is_empty() {
        text.push_str("nobody edited the mirror\n");
    } else {
        let _ = writeln!(text, "to go on without the edits: hm mirror {} --set-aside", place.option());
    }
    let json = json!({ "mirror": place, "edits": edits, "proposed": proposed });
    output::print(context.global.json, &output::fitted(&text), &json)?;
    refusal.map_or(Ok(()), Err)
}

/// An edit as lines. A human may approve it, so that invisible characters are shown.
fn shown(edit: &Edit) -> String {
    let mut text = match edit.edited {
        Edited::Statement => format!("{}\n", edit.path),
        Edited::Added => format!("{}: new, not proposed\n", edit.path),
        Edited::Removed => format!("{}: removed, not proposed\n", edit.path),
        Edited::Other => format!("{}: changed beside the statement, not proposed\n", edit.path),
    };
    for (sign, said) in [('-', &edit.was), ('+', &edit.is)] {
        for line in said.iter().flat_map(|said| said.lines()) {
            let _ = writeln!(text, "  {sign} {}", clean::revealed(line));
        }
    }
    for line in &edit.lines {
        let _ = writeln!(text, "  {}", clean::revealed(line));
    }
    text
}

/// Proposes an edited statement: a hypothesis of the operator that came from the claim. A line about it, and the same for
/// programs.
fn proposal(
    context: &Context,
    front: &Front,
    origin: ClaimId,
    statement: &str,
) -> Result<(String, Value), Failure> {
    let statement: Statement =
        statement.parse().map_err(|problem| Rejection::invalid("statement", problem))?;
    let mut reads = context.models()?;
    let (known, _) = reads.ask(system::now(), |store| store.claim(origin))?;
    let Some(claim) = known.flatten() else {
        let problem = format!("{origin}: the claim is gone, and so is its place: not proposed\n");
        return Ok((problem, json!({ "origin": origin, "state": "gone" })));
    };
    let scopes = notes::untagged(&claim.summary.scopes);
    let digest = hex::encode(Sha256::digest(format!("{origin}\n{statement}")));
    let key = |what: &str| -> IdempotencyKey {
        format!("mirror:{what}:{digest}").parse().expect("a hash is a short line")
    };
    let create = Command::CreateClaim(CreateClaim {
        claim_id: ClaimId::from_uuid(system::new_id()),
        statement,
        claim_type: ClaimType::Hypothesis,
        event_type: None,
        scopes,
        confidence: Share::FULL,
        supersedes: None,
        ttl_hours: None,
        evidence_refs: Vec::new(),
        trigger: None,
        origin_task_id: None,
        mends: false,
        asks: Vec::new(),
        tells: Vec::new(),
        unless_objection_minutes: None,
    });
    let submit = |command: Command, key: IdempotencyKey| {
        let submission =
            context.submission_of(AgentId::operator(), Some(context.session()), command, Some(key));
        block_on(async { Ok(front.submit_unqueued(submission).await?) })
    };
    let made = match submit(create, key("claim")) {
        Ok(receipt) => receipt,
        Err(Failure::Rejected(refused)) if refused.code == Code::DuplicateClaim => {
            let line = format!("{origin}: {}\n", refused.message);
            return Ok((line, json!({ "origin": origin, "state": "duplicate" })));
        }
        Err(failure) => return Err(failure),
    };
    let Some(made_id) = made.entity_id.map(ClaimId::from_uuid) else {
        return Err(Failure::internal("the receipt of a new claim names no claim"));
    };
    let link = Command::AddEvidence(AddEvidence {
        claim_id: made_id,
        evidence_ref: origin.creation_event().into(),
        relation: Relation::CausedBy,
        weight: Share::FULL,
        note: Some("edited in the mirror".parse().expect("a short text")),
    });
    submit(link, key("origin"))?;
    let (state, what) = match made.duplicate {
        true => ("known", "was proposed before, as"),
        false => ("proposed", "is proposed as"),
    };
    let line = format!("the edit of {origin} {what} {made_id}\n");
    Ok((line, json!({ "origin": origin, "claim_id": made_id, "state": state })))
}
