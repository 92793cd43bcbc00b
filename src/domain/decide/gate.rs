//! The gate before the rules: whether the policy of the memory lets a command through. Privacy comes before it.
//!
//! The order is trust, write policy, event type, border of a space, conflict. The operator passes the first and the last.

use serde_json::json;

use super::spaces::MAX_ID_CHARS;
use super::{FoundItem, Speaker};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Position, ReportKind};
use crate::domain::clean;
use crate::domain::command::{
    Command, CreateClaim, PromoteItem, RecordDecision, RetireAnchor, SaveAnchor, Seen,
};
use crate::domain::event::{AnchorSaved, Attempted, Event, MemoryDenied};
use crate::domain::ids::ClaimId;
use crate::domain::memory::{Authority, MemoryEvent, MemoryKind, Source, Space, importance};
use crate::domain::policy::{MemoryPolicy, TrustMode};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::spaces::BorderReason;
use crate::domain::state::{Claim, State};
use crate::domain::text::{AnchorKey, Label, Statement, UserName};
use crate::domain::way;

/// How the operator may let agents replace what the operator said.
const GRANT: &str = "; [trust] of config.toml can let agents do it";

/// What stands between the words of a proposed decision and its rationale, which a bracket ends.
const BECAUSE: &str = " (because: ";

/// What a command writes, for the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writes<'c> {
    /// A new item.
    Item(Item<'c>),
    /// Work of the team, or a judgement on an item that exists. It is refused only if nothing may be written.
    Work,
    /// It erases, stops, or records a refusal. No policy refuses it.
    Nothing,
}

/// A new item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Item<'c> {
    /// None for observations and messages, which are evidence and no item of the contract.
    kind: Option<MemoryKind>,
    event: MemoryEvent,
    source: Source,
    field: &'static str,
    text: &'c str,
}

/// A refusal by the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// The refusal.
    pub rejection: Rejection,
    /// Its record.
    pub event: MemoryDenied,
}

/// The refusal of a command by the policy. None if the policy lets it through. `copy` is the copy that a promotion makes,
/// with its event type: it is a write of its kind.
pub fn denied(
    state: &State,
    speaker: Speaker<'_>,
    (command, copy): (&Command, Option<(&FoundItem, MemoryEvent)>),
    policy: &MemoryPolicy,
) -> Option<Denied> {
    let writes = match copy {
        Some((found, event)) => {
            let (kind, source) = (Some(MemoryKind::Profile), found.source);
            Writes::Item(Item { kind, event, source, field: "item", text: found.text.as_str() })
        }
        None => writes(speaker.0, command),
    };
    if writes == Writes::Nothing {
        return None;
    }
    let unwritten = unwritten(writes, policy);
    let rejection = untrusted(state, speaker, command, policy)
        .map(|untrusted| without_way(untrusted, unwritten.as_ref()))
        .or(unwritten)
        .or_else(|| outside(command, policy))
        .or_else(|| outranked(state, speaker.0, command))?;
    Some(Denied { event: record(command.name(), writes, rejection.code, policy), rejection })
}

/// The refusal of an event from another ledger by the policy, for imports.
pub fn denied_event(agent: &AgentId, event: &Event, policy: &MemoryPolicy) -> Option<Rejection> {
    unwritten(recorded(agent, event), policy).or_else(|| crossed(event, policy))
}

/// The refusal of a recorded write into the space of a person, or of a recorded promotion, by the borders of this memory.
fn crossed(event: &Event, policy: &MemoryPolicy) -> Option<Rejection> {
    if let Event::AnchorSaved(AnchorSaved { key, value, user: Some(_) }) = event {
        not_taken(key, value.as_str(), policy)
    } else if let Event::MemoryPromoted(of) = event {
        let crossing = policy.promotion.check(of.from_space, of.to_space, of.event_type, of.authority_used);
        if crossing.is_allowed {
            return None;
        }
        let is_low = crossing.reason == BorderReason::AuthorityTooLow;
        let code = if is_low { Code::AuthorityTooLow } else { Code::BorderClosed };
        let message = format!(
            "it promotes {} from {} to {} with the authority {}, which the policy does not let cross",
            of.event_type, of.from_space, of.to_space, of.authority_used
        );
        let hint = "a human changes [policy.promotion] in config.toml, `hm policy show` says what it is";
        Some(Rejection::new(code, message, hint))
    } else {
        None
    }
}

const fn event_of_report(kind: ReportKind) -> MemoryEvent {
    match kind {
        ReportKind::Finding | ReportKind::Blocker => MemoryEvent::Fact,
        ReportKind::Decision => MemoryEvent::Decision,
        ReportKind::FileEdited | ReportKind::CommandRan => MemoryEvent::Execution,
        ReportKind::Note => MemoryEvent::Context,
    }
}

/// What a command writes: one line for each command.
fn writes<'c>(agent: &AgentId, command: &'c Command) -> Writes<'c> {
    let source = Source::of(agent);
    let semantic = Some(MemoryKind::Semantic);
    let item = |kind, event, source, (field, text)| Writes::Item(Item { kind, event, source, field, text });
    let run = |field: &'static str, text| item(None, MemoryEvent::Execution, source, (field, text));
    match command {
        Command::CreateClaim(create) => {
            let derived = || MemoryEvent::of_claim(create.claim_type, source);
            let event = create.event_type.unwrap_or_else(derived);
            item(semantic, event, source, ("statement", create.statement.as_str()))
        }
        Command::RecordDecision(record) => {
            let text = match &record.statement {
                Some(statement) => ("statement", statement.as_str()),
                None => ("rationale", record.rationale.as_str()),
            };
            item(semantic, MemoryEvent::Decision, source, text)
        }
        Command::ReportEvent(report) => {
            item(None, event_of_report(report.kind), source, ("summary", report.summary.as_str()))
        }
        Command::Observe(observed) => {
            let text = match &observed.seen {
                Seen::Command(ran) => ran.command.as_str(),
                // Names of tools and files are no text of an item.
                Seen::Tool(_) | Seen::Files(_) => "",
            };
            item(None, MemoryEvent::Execution, Source::Tool, ("seen", text))
        }
        Command::RecordMessage(message) => {
            item(None, MemoryEvent::Context, source, ("text", message.text.as_str()))
        }
        Command::RecordTurn(turn) => {
            let source = Source::of_role(turn.role);
            let kind = Some(MemoryKind::ShortTerm);
            item(kind, MemoryEvent::of_kind(MemoryKind::ShortTerm), source, ("text", turn.text.as_str()))
        }
        Command::SaveAnchor(anchor) => {
            let kind = Some(MemoryKind::Profile);
            item(kind, MemoryEvent::of_kind(MemoryKind::Profile), source, ("value", anchor.value.as_str()))
        }
        Command::RunExperiment(asked) => run("profile", asked.profile.as_str()),
        Command::RecordExperiment(done) => run("command", done.command.as_str()),
        Command::SpawnResearcher(spawn) => run("prompt", spawn.prompt.as_str()),
        Command::TakePosition(_)
        | Command::AffirmClaim(_)
        | Command::AddEvidence(_)
        | Command::RetractEvidence(_)
        | Command::DeprecateClaim(_)
        | Command::KeepClaim(_)
        | Command::RecordOutcome(_)
        | Command::AliasTarget(_)
        | Command::PartTarget(_)
        | Command::AttachExperiment(_)
        | Command::CitePlace(_)
        | Command::AddPlan(_)
        | Command::AbandonPlan(_)
        | Command::RenamePlan(_)
        | Command::AddPhase(_)
        | Command::AddTask(_)
        | Command::ClaimTask(_)
        | Command::UpdateTask(_)
        | Command::LockScopes(_)
        | Command::ReleaseScopes(_)
        | Command::DeclareIntent(_)
        | Command::StartSession(_)
        | Command::EndSession(_)
        | Command::RecordRecall(_)
        | Command::SplitSession(_)
        | Command::RetireAnchor(_)
        | Command::SnapshotBeliefs(_)
        | Command::RecordFiring(_)
        | Command::RecordOverride(_)
        | Command::SeeAttention(_)
        | Command::DismissPattern(_)
        | Command::AcceptGuard(_)
        | Command::MuteGuard(_)
        | Command::AcceptPlaybook(_)
        | Command::DismissPlaybook(_)
        | Command::AcceptMerge(_)
        | Command::DeclineMerge(_)
        | Command::PromoteItem(_)
        | Command::StartPhase(_) => Writes::Work,
        Command::CancelExperiment(_)
        | Command::DenyRecord(_)
        | Command::AcceptLoss(_)
        | Command::Forget(_)
        | Command::ForgetMany(_) => Writes::Nothing,
    }
}

/// What an event of another ledger brings. Events about the items of that ledger follow them, and are no items.
fn recorded<'e>(agent: &AgentId, event: &'e Event) -> Writes<'e> {
    let source = Source::of(agent);
    let (kind, event, source) = if let Event::ClaimCreated(created) = event {
        (Some(MemoryKind::Semantic), MemoryEvent::of_created(created, agent), source)
    } else if let Event::TurnRecorded(turn) = event {
        let kind = MemoryKind::ShortTerm;
        (Some(kind), MemoryEvent::of_kind(kind), Source::of_role(turn.role))
    } else if let Event::AnchorSaved(_) = event {
        (Some(MemoryKind::Profile), MemoryEvent::of_kind(MemoryKind::Profile), source)
    } else if let Event::MemoryPromoted(of) = event {
        (Some(MemoryKind::Profile), of.event_type, of.source)
    } else if let Event::EventReported(reported) = event {
        (None, event_of_report(reported.kind), source)
    } else if let Event::MessageSent(_) = event {
        (None, MemoryEvent::Context, source)
    } else if let Event::CommandRan(_) | Event::FileEdited(_) | Event::ToolUsed(_) = event {
        (None, MemoryEvent::Execution, Source::Tool)
    } else if let Event::ExperimentQueued(_) = event {
        (None, MemoryEvent::Execution, source)
    } else {
        return Writes::Work;
    };
    Writes::Item(Item { kind, event, source, field: "", text: "" })
}

/// The refusal by the trust mode.
fn untrusted(
    state: &State,
    (agent, session): Speaker<'_>,
    command: &Command,
    policy: &MemoryPolicy,
) -> Option<Rejection> {
    match policy.trust {
        TrustMode::AgentWithIntent => return None,
        TrustMode::HumanOnly => {}
    }
    if *agent == AgentId::operator() {
        return None;
    }
    let is_own = |id: ClaimId| state.claim(id).is_some_and(|claim| state.owns(agent, session, claim));
    let confirm = "leave the claim proposed, and cite what you saw: `add_evidence`; the operator confirms it";
    let (does, hint) = if let Command::RecordDecision(record) = command {
        ("records a decision", proposal(state, record))
    } else if let Command::TakePosition(take) = command {
        if take.position != Position::Support {
            return None;
        }
        ("confirms a claim", confirm.to_owned())
    } else if let Command::AffirmClaim(affirm) = command {
        if is_own(affirm.claim_id) {
            return None;
        }
        ("confirms a claim", confirm.to_owned())
    } else if let Command::DeprecateClaim(deprecate) = command {
        if is_own(deprecate.claim_id) {
            return None;
        }
        let claim = json!({ "claim_id": deprecate.claim_id, "reason": way::REASON });
        ("ends a claim of another", way::call("challenge", &claim))
    } else if let Command::CreateClaim(CreateClaim { unless_objection_minutes: Some(_), .. }) = command {
        ("lets silence confirm a claim", "leave out `unless_objection_minutes`".to_owned())
    } else if let Command::AcceptPlaybook(_) = command {
        ("puts a playbook in force", "tell the operator why it helps: `report_event`".to_owned())
    } else if let Command::AcceptGuard(_) = command {
        ("puts a guard in force", "tell the operator what to warn of and why: `report_event`".to_owned())
    } else if let Command::PromoteItem(promote) = command {
        ("promotes an item", format!("ask the operator to do it at a terminal: {}", promotion(promote)))
    } else {
        return None;
    };
    let message = format!("with trust = human_only only the operator {does}, and you are {agent}");
    Some(Rejection::new(Code::TrustHumanOnly, message, hint))
}

/// A refusal by trust. If the policy refuses the write from every agent, the same text is refused in another command too.
fn without_way(untrusted: Rejection, unwritten: Option<&Rejection>) -> Rejection {
    match unwritten {
        Some(refused) => Rejection { hint: format!("{}; {}", refused.message, refused.hint), ..untrusted },
        None => untrusted,
    }
}

/// The line with which the operator promotes an item.
fn promotion(promote: &PromoteItem) -> String {
    let item = clean::cut_line(&promote.item.to_string(), MAX_ID_CHARS);
    format!("`hm memory promote {item} --to {} --reason TEXT`", promote.to)
}

/// The way in which an agent proposes a decision: a claim about the same, with the rationale in its words.
fn proposal(state: &State, record: &RecordDecision) -> String {
    if state.proposals(record.claim_id).next().is_some() {
        return "it is proposed, and the operator decides: `hivemind://attention`".to_owned();
    }
    let known = state.claim(record.claim_id).map(Claim::statement);
    let statement = record.statement.as_ref().map(|statement| statement.as_str()).or(known);
    let statement = statement.unwrap_or(way::STATEMENT);
    let mut why = record.rationale.as_str().to_owned();
    let room = Statement::MAX_CHARS.saturating_sub(statement.chars().count() + BECAUSE.len() + 1);
    if let Some((end, _)) = why.char_indices().nth(room) {
        why.truncate(end);
    }
    let why = if why.trim().is_empty() { why } else { format!("{BECAUSE}{why})") };
    let mut scopes: Vec<&Scope> = record.scopes.iter().chain(&record.target).collect();
    let whole = ".".parse::<Scope>();
    if scopes.is_empty() {
        scopes.extend(&whole);
    }
    let claim =
        json!({ "statement": format!("{statement}{why}"), "claim_type": "decision", "scopes": scopes });
    format!("propose it, and the operator decides: {}", way::call("create_claim", &claim))
}

/// The refusal at the border of a person's space.
fn outside(command: &Command, policy: &MemoryPolicy) -> Option<Rejection> {
    let (key, value) = if let Command::SaveAnchor(SaveAnchor { key, value, user: Some(_) }) = command {
        (key, value.as_str())
    } else if let Command::PromoteItem(PromoteItem { to: Space::User, key: Some(key), .. }) = command {
        (key, "VALUE")
    } else {
        return None;
    };
    not_taken(key, value, policy)
}

/// The refusal of a key that the space of a person does not take.
fn not_taken(key: &AnchorKey, value: &str, policy: &MemoryPolicy) -> Option<Rejection> {
    if policy.spaces.takes(key) {
        return None;
    }
    let save = way::call("save_anchor", &json!({ "key": key, "value": value }));
    let hint = format!(
        "keep it for the whole team: {save}; or a human adds the key to user_keys of [policy.spaces] in config.toml"
    );
    let message = format!("the space of a user takes no fact under the key {key}");
    Some(Rejection::new(Code::UserKeyDenied, message, hint))
}

/// The refusal of an anchor whose key holds the word of a higher authority: of two items under one key, that one holds.
fn outranked(state: &State, agent: &AgentId, command: &Command) -> Option<Rejection> {
    let word = |key: &AnchorKey| shell_words::quote(key.as_str()).into_owned();
    let (key, user, does) = if let Command::SaveAnchor(SaveAnchor { key, user, .. }) = command {
        (key, user, format!("hm anchor save {} VALUE", word(key)))
    } else if let Command::RetireAnchor(RetireAnchor { key, user }) = command {
        (key, user, format!("hm anchor retire {}", word(key)))
    } else {
        return None;
    };
    let space = if user.is_some() { " --space user" } else { "" };
    let hint = format!("use another key, or ask the operator to change it at a terminal: `{does}{space}`");
    let (code, message) = above(state, agent, (user.as_ref(), key))?;
    Some(Rejection::new(code, message, hint + GRANT))
}

/// The refusal of a promotion that moves the word of a higher authority, or takes its place: the copy of a message that an
/// agent recorded as of a user proves nothing.
pub(super) fn outranked_copy(
    state: &State,
    agent: &AgentId,
    promote: &PromoteItem,
    found: &FoundItem,
) -> Option<Rejection> {
    let user = |space| promote.user.as_ref().filter(|_| space == Space::User);
    let from = found.key.as_ref().map(|key| (user(promote.item.space), key));
    let to = promote.key.as_ref().or(found.key.as_ref()).map(|key| (user(promote.to), key));
    let (code, message) = from.into_iter().chain(to).find_map(|place| above(state, agent, place))?;
    let other = if promote.item.space == Space::Session { "use another key, or " } else { "" };
    let hint = format!("{other}ask the operator to do it at a terminal: {}", promotion(promote));
    Some(Rejection::new(code, message, hint + GRANT))
}

/// The refusal of a change of an anchor that holds the word of a higher authority.
fn above(
    state: &State,
    agent: &AgentId,
    (user, key): (Option<&UserName>, &AnchorKey),
) -> Option<(Code, String)> {
    let holds = state.work().authority_of_anchor(user, key)?;
    let is_free = *agent == AgentId::operator() || state.policy().agents_may_override_operator;
    if is_free || holds <= Authority::of_speaker(agent) {
        return None;
    }
    let message = format!("{key} holds what the operator or a user said, and the word of an agent is less");
    Some((Code::AuthorityTooLow, message))
}

/// The refusal by the write policy or by the event types.
fn unwritten(writes: Writes<'_>, policy: &MemoryPolicy) -> Option<Rejection> {
    let told = "; a human changes [policy] in config.toml, `hm policy show` says what it is";
    let refusal =
        |code, message: String| Some(Rejection::new(code, message, format!("keep it to yourself{told}")));
    if let Some(code) = policy.closed() {
        let is_off = code == Code::WritePolicyNone;
        let why = if is_off { "write_policy = none" } else { "no event type is allowed" };
        let message = format!("nothing is written into this memory: {why}");
        return (writes != Writes::Nothing)
            .then(|| Rejection::new(code, message, format!("go on without it{told}")));
    }
    let Writes::Item(Item { event, source, .. }) = writes else { return None };
    let importance = importance(event, source);
    if policy.write_policy.least().is_none_or(|least| importance.points < least) {
        let least = policy.write_policy.least().unwrap_or_default();
        let message = format!(
            "write_policy = {} keeps what has importance {least} or more, and this has {} ({})",
            policy.write_policy,
            importance.points,
            importance.reasons.join(", ")
        );
        return refusal(policy.write_policy.code(), message);
    }
    if !policy.allows(event) {
        let list = if policy.deny_event_types.contains(&event) {
            "in deny_event_types"
        } else {
            "not in allow_event_types"
        };
        return refusal(Code::EventTypeDenied, format!("its event type is {event}, which is {list}"));
    }
    None
}

/// The record of a refusal. It holds the length of the text and nothing of its words: a refused text is not kept.
fn record(command: &str, writes: Writes<'_>, code: Code, policy: &MemoryPolicy) -> MemoryDenied {
    let (field, attempted) = match writes {
        Writes::Item(Item { kind, event, source, field, text }) => {
            let text = format!("[redacted: {} characters]", text.chars().count());
            (
                field,
                Some(Attempted {
                    kind,
                    event_type: event,
                    source,
                    importance: importance(event, source).points,
                    text,
                }),
            )
        }
        Writes::Work | Writes::Nothing => ("command", None),
    };
    MemoryDenied {
        rule: Label::of(code.as_str()),
        field: Label::of(field),
        command: Label::of(command),
        reason: Some(code),
        policy: Some(policy.hash()),
        attempted,
    }
}
