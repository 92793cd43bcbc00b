//! Evidence: the resolution of its names, its grade for a claim, and its links.

use serde_json::json;

use super::experiment::Said;
use super::{Accepted, Speaker, against, contradiction, experiment, known_claim};
use crate::domain::action::{piped, quoted, scope_named, trigger_run};
use crate::domain::agent::AgentId;
use crate::domain::claim::{ClaimType, Grade, Relation, Status, Trigger};
use crate::domain::command::{AddEvidence, Command, RetractEvidence};
use crate::domain::event::{EvidenceAdded, EvidenceRetracted, RunBehind};
use crate::domain::evidence::{EvidenceName, IdEnd};
use crate::domain::ids::{ClaimId, CommandId, EventId, RunId, SessionId};
use crate::domain::receipt::Cited;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::Scope;
use crate::domain::state::{Claim, Deed, Run, State};
use crate::domain::text::CommandLine;
use crate::domain::time::{Span, Timestamp};
use crate::domain::versions::Versions;
use crate::domain::way;

/// Length of a command in a receipt, in characters.
const MAX_QUOTED_CHARS: usize = 120;
/// The most ids that a refusal lists.
const MAX_CANDIDATES: usize = 5;

/// The claim for which evidence is judged.
pub(super) struct About<'a> {
    pub(super) claim_id: ClaimId,
    pub(super) claim_type: ClaimType,
    pub(super) scopes: &'a [Scope],
    pub(super) trigger: Option<&'a Trigger>,
    /// The session that cites the evidence.
    pub(super) session: Option<&'a SessionId>,
}

/// Resolves a name to an event. A run resolves to the event that ended it.
pub(super) fn named(
    state: &State,
    session: Option<&SessionId>,
    name: &EvidenceName,
) -> Result<EventId, Rejection> {
    match name {
        EvidenceName::Id(id) => {
            super::known_event(state, *id)?;
            ended(state, *id)
        }
        EvidenceName::Last => ended(state, last(state, session)?),
        EvidenceName::LastWith(word) => last_with(state, session, word),
        EvidenceName::At(place) => Err(Rejection::new(
            Code::UnknownEvidence,
            format!("{place} is no event of the ledger"),
            "name the event that cites the lines: the page of the claim lists its evidence",
        )),
        EvidenceName::End(end) => {
            let all: Vec<EventId> = state.event_ids().filter(|id| end.ends(*id)).collect();
            only(state, *end, &all)
        }
    }
}

/// Resolves all names of a command. One pass over the ledger resolves all ends of ids.
pub(super) fn all_named(
    state: &State,
    session: Option<&SessionId>,
    names: &[EvidenceName],
) -> Result<Vec<EventId>, Rejection> {
    let end = |name: &EvidenceName| if let EvidenceName::End(end) = name { Some(*end) } else { None };
    let mut ends: Vec<(IdEnd, Vec<EventId>)> =
        names.iter().filter_map(end).map(|end| (end, Vec::new())).collect();
    if !ends.is_empty() {
        for id in state.event_ids() {
            ends.iter_mut().filter(|(end, _)| end.ends(id)).for_each(|(_, found)| found.push(id));
        }
    }
    let mut ends = ends.into_iter();
    let event = |name: &EvidenceName| match end(name).and_then(|_| ends.next()) {
        Some((end, found)) => only(state, end, &found),
        None => named(state, session, name),
    };
    names.iter().map(event).collect()
}

/// The only event whose id has this end.
fn only(state: &State, end: IdEnd, all: &[EventId]) -> Result<EventId, Rejection> {
    match all {
        [only] => ended(state, *only),
        [] => Err(Rejection::new(
            Code::UnknownEvidence,
            format!("no event in the ledger has an id that ends in {end}"),
            "`hivemind://events` lists events with their ids; `last` is the last command or run of your session",
        )),
        several => Err(ambiguous(&end.to_string(), several)),
    }
}

fn ambiguous(end: &str, ids: &[EventId]) -> Rejection {
    let shown: Vec<String> = ids.iter().take(MAX_CANDIDATES).map(ToString::to_string).collect();
    let shown = shown.join(", ");
    Rejection::new(
        Code::AmbiguousEvidence,
        format!("{} events have an id that ends in {end}", ids.len()),
        format!("give more of the id; the first are {shown}"),
    )
    .with("candidates", shown)
}

fn last(state: &State, session: Option<&SessionId>) -> Result<EventId, Rejection> {
    let hint =
        "name the event: `hivemind://events` lists events with their ids, and the end of an id is enough";
    let Some(session) = session else {
        return Err(Rejection::new(
            Code::UnknownEvidence,
            "`last` needs a session, and this call has none",
            hint,
        ));
    };
    state.last_done(session).ok_or_else(|| {
        Rejection::new(
            Code::UnknownEvidence,
            format!(
                "session {session} started no run, and no hook saw a command of it that can show something: `last` \
                 means nothing here, as what only reads or lists (ls, cat, git log) and hm itself do not count"
            ),
            hint,
        )
    })
}

/// The last command of the session whose line contains a text.
fn last_with(state: &State, session: Option<&SessionId>, word: &str) -> Result<EventId, Rejection> {
    let last = last(state, session)?;
    let done = session.map(|session| state.commands(session)).unwrap_or_default();
    let found = done.iter().find(|(_, line, runs)| has_word(line, runs, word));
    found.map(|(id, ..)| *id).ok_or_else(|| {
        let lines: Vec<String> = done
            .iter()
            .take(MAX_CANDIDATES)
            .map(|(_, line, _)| quoted(line.as_str(), MAX_QUOTED_CHARS))
            .collect();
        let lines = if lines.is_empty() { last.to_string() } else { lines.join(", ") };
        Rejection::new(
            Code::UnknownEvidence,
            format!("no command of this session that can show something contains `{word}`"),
            format!("its last ones: {lines}"),
        )
    })
}

/// Whether a line contains a text, as it was typed or in one of its commands: of a long line, the record has the beginning.
fn has_word(line: &CommandLine, runs: &[CommandLine], word: &str) -> bool {
    std::iter::once(line).chain(runs).any(|line| line.as_str().contains(word))
}

/// The event that ended the run, if `id` queued a run. Otherwise the event itself.
fn ended(state: &State, id: EventId) -> Result<EventId, Rejection> {
    let run_id = RunId::from_uuid(id.uuid());
    let Some(run) = state.run(run_id) else { return Ok(id) };
    run.completed.ok_or_else(|| {
        Rejection::new(
            Code::NotAttachable,
            format!("run {run_id} is {}, and not over", run.state),
            format!(
                "wait for its end, `hivemind://experiments/{run_id}` shows how it goes, then cite it again"
            ),
        )
        .with("run_state", run.state)
    })
}

/// Refuses `last` in a queued command if the session has done more since. `last` means the last event at the time of
/// the call.
///
/// # Errors
/// `unknown_evidence`.
pub fn check_last(
    state: &State,
    session: Option<&SessionId>,
    command: &Command,
    said: CommandId,
) -> Result<(), Rejection> {
    let names = command.evidence_names();
    let Some(name) = names.iter().find(|name| name.is_last()) else { return Ok(()) };
    let done = named(state, session, name)?;
    match (ms(done.uuid()), ms(said.uuid())) {
        (Some(done_ms), Some(said_ms)) if done_ms > said_ms => Err(Rejection::new(
            Code::UnknownEvidence,
            "the session did more since `last` was said: the command had waited in the queue",
            format!("name the event; the last one is {done} by now"),
        )),
        _ => Ok(()),
    }
}

/// The grade of an event as evidence for a claim, with the reason. No grade means asserted.
fn judged(state: &State, event: EventId, about: &About<'_>) -> Cited {
    let cited = |grade: Option<Grade>, why: String| Cited { evidence_ref: event, grade, why, failed: None };
    let stays = |why: &str| cited(Some(Grade::Asserted), format!("stays asserted: {why}"));
    let Some(deed) = state.deed(event) else { return stays("no hook saw it and no run made it") };
    match deed {
        Deed::Tool => stays("the call of a tool names no file and no command"),
        Deed::Files(paths) => {
            match about.scopes.iter().find(|scope| paths.iter().any(|path| scope.covers(path))) {
                Some(scope) => cited(Some(Grade::Observed), format!("a hook saw an edit in {scope}")),
                None => stays("the edit is outside of the claim's scopes"),
            }
        }
        Deed::Command { of_last: true, line, .. } if piped(line.as_str()).is_some() => stays(
            "its exit code is that of the end of a pipe or line; run it alone, or as `bash -o pipefail -c '…'`",
        ),
        Deed::Command { of_last: true, .. } => stays(
            "no hook saw how it ended: it ran on in the background, was interrupted, or the client reports no exit code; \
             the run of a profile shows that",
        ),
        Deed::Command { lines, .. } => {
            let run = about.trigger.and_then(|trigger| trigger_run(lines, trigger));
            match (scope_named(lines, about.scopes), run) {
                (Some(scope), _) => cited(Some(Grade::Observed), format!("the command names {scope}")),
                (None, Some(_)) => {
                    cited(Some(Grade::Observed), "the command is that of its trigger".to_owned())
                }
                // The hint on a better grade appears once per session.
                (None, None) if about.session.is_some_and(|session| state.has_cited_beside(session)) => {
                    cited(Some(Grade::Asserted), String::new())
                }
                (None, None) => stays(&beside(about)),
            }
        }
    }
}

/// The reason for `asserted`: the command names no scope of the claim. It says how to get a better grade.
fn beside(about: &About<'_>) -> String {
    let file = about.scopes.iter().find(|scope| scope.is_path() && !scope.is_whole());
    let one = file.map_or_else(String::new, |file| format!("one that names {file} is observed, "));
    let run = way::call("run_experiment", &json!({ "profile": "PROFILE", "claim_id": about.claim_id }));
    format!("the command names no scope of the claim; {one}the run of a profile proves: {run}")
}

/// Refuses a failed command as support. Only a dead end can have a failed command as support.
pub(super) fn check_support(
    state: &State,
    event: EventId,
    (claim_id, claim): (ClaimId, &Claim),
) -> Result<(), Rejection> {
    let failure = state.deed(event).and_then(Deed::failure);
    let Some(failure) = failure.filter(|_| claim.claim_type != ClaimType::Negative) else { return Ok(()) };
    let said = called(state, event).unwrap_or_default();
    let tie = json!({ "claim_id": claim_id, "evidence_ref": event, "relation": "contradicts" });
    Err(Rejection::new(
        Code::NotAttachable,
        format!("it {failure}: it does not support claim {claim_id}, for which {said} was cited"),
        format!(
            "if it shows that the claim is wrong: {}; if the claim is that it fails, the relation is mentions; else cite the \
             command that succeeded, by its event: `hivemind://events`",
            way::call("add_evidence", &tie)
        ),
    ))
}

/// The command line that a hook saw, or that of a run, in back-quotes.
fn called(state: &State, event: EventId) -> Option<String> {
    let line = match state.deed(event) {
        Some(Deed::Command { line, .. }) => line.as_str(),
        _ => state.run_that_ended_with(event)?.1.command.as_str(),
    };
    Some(format!("`{}`", quoted(line, MAX_QUOTED_CHARS)))
}

/// The time in an id, epoch ms. Only an id of version 7 has one; tests use other ids.
fn ms(id: uuid::Uuid) -> Option<u128> {
    (id.get_version_num() == 7).then(|| id.as_u128() >> 80)
}

/// The age of an event, from the time in its id.
fn age(event: EventId, now: Timestamp) -> Option<Span> {
    let ms = i64::try_from(ms(event.uuid())?).ok()?;
    Some(Timestamp::from_ms(ms).age(now))
}

/// How a receipt says that `last:WORD` meant one of several commands.
fn of_several(state: &State, session: Option<&SessionId>, name: &EvidenceName) -> Option<String> {
    let EvidenceName::LastWith(word) = name else { return None };
    let done = state.commands(session?);
    let all = done.iter().filter(|(_, line, runs)| has_word(line, runs, word.as_str())).count();
    (all > 1)
        .then(|| format!(", the newest of {all} that contain `{}`", quoted(word.as_str(), MAX_QUOTED_CHARS)))
}

/// Quotes in the receipt the commands that `last` and `last:WORD` meant, each with its age: a hook may be late, and another
/// command is the last one then.
pub(super) fn quote_last(
    state: &State,
    session: Option<&SessionId>,
    command: &Command,
    now: Timestamp,
    decision: &mut Accepted,
) {
    if decision.cited.is_empty() {
        return;
    }
    for name in command.evidence_names().into_iter().filter(|name| name.is_last()) {
        let Ok(event) = named(state, session, name) else { continue };
        let Some(called) = called(state, event) else { continue };
        let mut aged = age(event, now).map_or_else(|| called.clone(), |age| format!("{called}, {age} ago"));
        if let Some(more) = of_several(state, session, name) {
            aged.push_str(&more);
        }
        for cited in decision.cited.iter_mut().filter(|cited| cited.evidence_ref == event) {
            cited.why = match cited.why.as_str() {
                "" => aged.clone(),
                why if why.contains(&called) => why.replacen(&called, &aged, 1),
                why => format!("{aged}: {why}"),
            };
        }
    }
}

/// The link of an event to a claim.
pub(super) struct Tied {
    pub(super) relation: Relation,
    /// The grade in the form of the link's event.
    pub(super) grade: Option<Grade>,
    pub(super) run: Option<RunBehind>,
    /// The text for the receipt.
    pub(super) cited: Cited,
    pub(super) meaning: Option<String>,
}

impl Tied {
    fn by_run(state: &State, event: EventId, said: Said) -> Self {
        let Said { relation, grade, run, meaning, why } = said;
        let why = match (state.run_that_ended_with(event), grade, relation) {
            (_, _, Relation::Mentions) => format!("stays asserted: the run {why}"),
            (Some((_, run)), Some(Grade::Observed | Grade::Reproduced), _) => {
                format!("run of `{}`, {}", run.command, run.state)
            }
            _ => "stays asserted: only the word of its recorder says that it ran".to_owned(),
        };
        Self { relation, grade, run, cited: Cited { evidence_ref: event, grade, why, failed: None }, meaning }
    }

    /// Evidence cited by the author supports the new claim. Failed evidence is only mentioned.
    fn by_creator(state: &State, event: EventId, about: &About<'_>) -> Self {
        let failure = state.deed(event).and_then(Deed::failure);
        match failure.filter(|_| about.claim_type != ClaimType::Negative) {
            None => Self::by_word(state, event, about, Relation::Supports),
            Some(failure) => {
                let grade = Some(Grade::Asserted);
                let why = "the claim mentions it".to_owned();
                let cited = Cited { evidence_ref: event, grade, why, failed: Some(failure) };
                Self { relation: Relation::Mentions, grade: None, run: None, cited, meaning: None }
            }
        }
    }

    fn by_word(state: &State, event: EventId, about: &About<'_>, relation: Relation) -> Self {
        let cited = judged(state, event, about);
        Self { relation, grade: on_record(cited.grade), run: None, cited, meaning: None }
    }
}

/// Links an event to the new claim that cites it.
///
/// # Errors
/// `not_attachable` for a run without an outcome.
pub(super) fn cited(
    state: &State,
    event: EventId,
    about: &About<'_>,
    versions: &Versions,
    now: Timestamp,
) -> Result<Tied, Rejection> {
    let run = experiment::cited(state, event, (about.claim_id, about.scopes), versions, now)?;
    Ok(match run {
        Some(said) => Tied::by_run(state, event, said),
        None => Tied::by_creator(state, event, about),
    })
}

/// The grade in the form of an event, which omits asserted.
fn on_record(grade: Option<Grade>) -> Option<Grade> {
    grade.filter(|grade| *grade != Grade::Asserted)
}

pub(super) fn add(
    state: &State,
    (agent, session): Speaker<'_>,
    add: &AddEvidence,
    now: Timestamp,
) -> Result<Accepted, Rejection> {
    let AddEvidence { claim_id, relation, weight, ref note, .. } = *add;
    let claim = known_claim(state, claim_id)?;
    let evidence_ref = named(state, session, &add.evidence_ref)?;
    if evidence_ref == claim_id.creation_event() {
        return Err(Rejection::invalid("evidence_ref", "a claim is no evidence for itself"));
    }
    if relation == Relation::Supports {
        check_support(state, evidence_ref, (claim_id, claim))?;
    }
    let (claim_type, scopes, trigger) = (claim.claim_type, claim.scopes.as_slice(), claim.trigger());
    let about = About { claim_id, claim_type, scopes, trigger, session };
    let run = experiment::tied(state, (evidence_ref, relation), (claim_id, claim), now)?;
    let tied = match run {
        Some(said) => Tied::by_run(state, evidence_ref, said),
        None => Tied::by_word(state, evidence_ref, &about, relation),
    };
    let Tied { relation, grade, run, cited, meaning } = tied;
    let is_same =
        |(event, said): &(EventId, Relation)| *said == relation && state.are_one_event(*event, evidence_ref);
    if claim.evidence.iter().any(is_same) {
        return Err(Rejection::new(
            Code::DuplicateEvidence,
            format!("event {evidence_ref} already {relation} claim {claim_id}"),
            "nothing to do: it is on record",
        ));
    }
    let note = note.clone();
    let mut events =
        vec![EvidenceAdded { claim_id, evidence_ref, relation, weight, note, grade, run }.into()];
    if relation == Relation::Contradicts {
        events.extend(contradiction::on_link(state, (claim_id, claim), evidence_ref));
    }
    let is_silent = claim.status == Status::Proposed && claim.silent_at.is_some_and(|until| until > now);
    let is_no_objection = add.relation == Relation::Contradicts && relation != Relation::Contradicts;
    let next = (is_silent && is_no_objection && !state.is_own(agent, session, claim)).then(|| {
        format!(
            "this is no objection, and silence still confirms the claim; to object: {}",
            challenge(claim_id)
        )
    });
    Ok(Accepted { events, cited: vec![cited], meaning, next, ..Accepted::default() })
}

/// Retracts a link. Its agent, its session and the operator may do so.
pub(super) fn retract(
    state: &State,
    agent: &AgentId,
    session: Option<&SessionId>,
    retract: &RetractEvidence,
) -> Result<Accepted, Rejection> {
    let RetractEvidence { claim_id, ref evidence_ref, relation, ref reason } = *retract;
    let claim = known_claim(state, claim_id)?;
    let evidence_ref = tied(state, session, claim_id, evidence_ref)?;
    let links: Vec<(EventId, Relation)> = claim
        .evidence
        .iter()
        .filter(|(event, _)| state.are_one_event(*event, evidence_ref))
        .filter(|(_, said)| relation.is_none_or(|wanted| wanted == *said))
        .copied()
        .collect();
    let (evidence_ref, relation) = match links.as_slice() {
        [only] => *only,
        [] => {
            return Err(Rejection::new(
                Code::UnknownEvidence,
                format!("event {evidence_ref} is no evidence of claim {claim_id}"),
                format!("`hivemind://claims/{claim_id}` lists its evidence"),
            ));
        }
        several => {
            let words: Vec<&str> = several.iter().map(|(_, said)| said.as_str()).collect();
            let problem = format!("event {evidence_ref} stands in {} relations to the claim", several.len());
            return Err(Rejection::invalid(
                "relation",
                format!("{problem}: name one of {}", words.join(", ")),
            ));
        }
    };
    let ended = state.run_that_ended_with(evidence_ref);
    let is_owners =
        |run: &Run| run.claim == Some(claim_id) && state.owns(&run.requested_by, run.session.as_ref(), claim);
    // Of a claim that no run proved, the prediction may have been the mistake.
    let is_proved = claim.is_proven;
    let refuting = ended.filter(|(_, run)| is_proved && relation == Relation::Contradicts && is_owners(run));
    if let Some((id, run)) = refuting.filter(|_| *agent != AgentId::operator()) {
        let end = json!({ "claim_id": claim_id, "reason": way::REASON });
        return Err(Rejection::new(
            Code::NotAllowed,
            format!(
                "run {id} of its owner contradicts claim {claim_id}, which a run proved: its result is not taken back"
            ),
            format!(
                "a later run that comes out right ends that: {}; or end the claim: {}",
                against::repeated(claim_id, run, &[]),
                way::call("deprecate_claim", &end)
            ),
        ));
    }
    if let Some((id, run)) = ended.filter(|(id, _)| claim.proof == Some(*id)) {
        let hint = if claim.status == Status::Deprecated {
            "nothing to do: the claim is out of force".to_owned()
        } else {
            format!(
                "{} shows whether it still holds: if that comes out otherwise, the proof is in doubt, and a challenge \
                 may cite it",
                against::repeated(claim_id, run, &[])
            )
        };
        let message = format!("run {id} proved claim {claim_id}: its result is not taken back");
        return Err(Rejection::new(Code::NotAllowed, message, hint));
    }
    let tied = claim.tied_by.get(&(evidence_ref, relation));
    let is_own =
        tied.is_some_and(|(by, within)| by == agent || (within.is_some() && within.as_ref() == session));
    if !is_own && *agent != AgentId::operator() {
        let by = tied.map_or_else(|| "another agent".to_owned(), |(by, _)| by.to_string());
        return Err(Rejection::new(
            Code::NotAllowed,
            format!("{by} tied event {evidence_ref} to claim {claim_id}, and you are {agent}"),
            format!(
                "ask {by} or the operator; or say what is wrong with the evidence: {}",
                challenge(claim_id)
            ),
        ));
    }
    let (reason, by_operator) = (reason.clone(), *agent == AgentId::operator());
    let still_counts = !by_operator
        && relation == Relation::Contradicts
        && ended.is_some_and(|(_, run)| run.claim == Some(claim_id));
    let next = still_counts.then(|| {
        "its run was about the claim: on the same content it still keeps another run from proving the claim".to_owned()
    });
    let events = vec![EvidenceRetracted { claim_id, evidence_ref, relation, reason, by_operator }.into()];
    Ok(Accepted { events, next, ..Accepted::default() })
}

fn challenge(claim_id: ClaimId) -> String {
    way::call("challenge", &json!({ "claim_id": claim_id, "reason": way::REASON }))
}

/// The event that a name means among the evidence of a claim. Here an end of an id is enough if it is unique.
fn tied(
    state: &State,
    session: Option<&SessionId>,
    claim_id: ClaimId,
    name: &EvidenceName,
) -> Result<EventId, Rejection> {
    let EvidenceName::End(end) = name else { return named(state, session, name) };
    let evidence = &known_claim(state, claim_id)?.evidence;
    let mut ids: Vec<EventId> = evidence.iter().map(|(event, _)| *event).filter(|id| end.ends(*id)).collect();
    ids.dedup();
    match ids.as_slice() {
        [only] => Ok(*only),
        [] => named(state, session, name),
        several => Err(ambiguous(&end.to_string(), several)),
    }
}
