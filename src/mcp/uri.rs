//! Resource addresses: parses `hivemind://…` into a view and a format.

use url::Url;
use uuid::Uuid;

use crate::domain::agent::{AgentId, Roster};
use crate::domain::claim::{SearchMode, Status, Tier};
use crate::domain::ids::{
    ClaimId, EventId, PatternId, PhaseId, PlanId, PlaybookId, RunId, SessionId, TaskId,
};
use crate::domain::memory::{MemoryId, Owner, Space};
use crate::domain::names::Sort;
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::domain::time::{Moment, Timestamp};
use crate::ledger;
use crate::pack;
use crate::store::{ClaimFilter, ContradictionFilter, DecisionFilter, ExperimentFilter, Search, TaskFilter};
use crate::views::{
    ContextOf, DEFAULT_LIMIT, Format, MAX_LIMIT, MemoryFilter, Next, PhaseDiff, Stream, TraceFilter,
    UNSEATED, View,
};

/// A parsed address.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Address {
    /// The question that the address asks.
    pub view: View,
    /// `?format=json`, or the format for a model.
    pub format: Format,
    /// The moment to read the memory at; `None` for now.
    pub moment: Option<Moment>,
}

/// Why an address shows nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadAddress {
    /// No such resource.
    #[error("no resource has the address {0}: see resources/list and resources/templates/list")]
    Unknown(String),
    /// The parts of a web address are not quoted in the message, because passwords stand there.
    #[error(
        "an address has no user, no port and no fragment: see resources/list and resources/templates/list"
    )]
    NotPlain,
    /// A parameter that does not parse, or that the resource does not know.
    #[error("{name}: {problem}")]
    Parameter { name: String, problem: String },
}

/// The reader of an address.
pub(super) struct Reader<'r> {
    pub(super) roster: &'r Roster,
    pub(super) session: &'r SessionId,
    /// The agent of the reader; `None` before its session has a seat. A call queries the read models.
    pub(super) me: &'r dyn Fn() -> Option<AgentId>,
    /// Finds the event that a text names.
    pub(super) event: &'r dyn Fn(&str) -> Result<EventId, Rejection>,
}

/// Parses an address for a reader: `hivemind://context` is the reader's own context, and `3d` means three days
/// before `now`. `names` resolves short names.
pub(super) fn parse(
    text: &str,
    caller: &Reader<'_>,
    root: &str,
    now: Timestamp,
    names: Names<'_>,
) -> Result<Address, BadAddress> {
    let unknown = || BadAddress::Unknown(text.chars().take(200).collect());
    let url = Url::parse(text).map_err(|_| unknown())?;
    if url.scheme() != "hivemind" {
        return Err(unknown());
    }
    let has_more = !url.username().is_empty()
        || url.password().is_some()
        || url.port().is_some()
        || url.fragment().is_some();
    if has_more {
        return Err(BadAddress::NotPlain);
    }
    let kind = url.host_str().ok_or_else(unknown)?;
    let id = url.path().trim_matches('/');
    let mut parameters = Parameters::of(&url);
    let format = match parameters.take("format").as_deref() {
        None | Some("markdown" | "xml") => Format::Text,
        Some("json") => Format::Json,
        Some(_) => return Err(bad("format", "use json, or leave it out")),
    };
    let moment = parameters.moment("at", now)?;
    let named = |name: &str, sort: Sort, text: &str| names(sort, text).map_err(|refused| bad(name, refused));
    let view = match (kind, id) {
        ("claims", "") => View::Claims(claim_filter(&mut parameters, caller, (root, now), names)?),
        ("claims", id) => View::Claim(ClaimId::from_uuid(named("id", Sort::Claim, id)?)),
        ("search", "") => View::Search(search(&mut parameters, root, now)?),
        ("negative", "") => View::Negative(scope(&mut parameters, root)?, parameters.parse("cursor")?),
        ("guards", "") => View::Guards,
        ("guards", id) => View::Guard(
            named("id", Sort::Guard, id)
                .or_else(|refused| named("id", Sort::Claim, id).map_err(|_| refused))?,
        ),
        ("decisions", "") => View::Decisions(decision_filter(&mut parameters)?),
        ("contradictions", "") => View::Contradictions(contradiction_filter(&mut parameters)?),
        ("contradictions", id) => {
            View::Contradiction(EventId::from_uuid(named("id", Sort::Contradiction, id)?))
        }
        ("patterns", "") => {
            let all = match parameters.take("status").as_deref() {
                None | Some("open") => false,
                Some("all") => true,
                Some(_) => return Err(bad("status", "use open or all")),
            };
            View::Patterns(all, parameters.parse("cursor")?)
        }
        ("patterns", id) => View::Pattern(PatternId::from_uuid(named("id", Sort::Pattern, id)?)),
        ("targets", "") => View::Targets,
        ("experiments", "") => View::Experiments(experiment_filter(&mut parameters, now, names)?),
        ("experiments", path) => run_view(path, names)?,
        ("profiles", "") => View::Profiles,
        ("agents", "") => View::Agents,
        ("events", "") => View::Events(event_filter(&mut parameters, caller)?),
        ("events", id) => View::Event((caller.event)(id).map_err(|refused| bad("id", refused))?),
        ("status", "") => View::Status,
        ("plan", "") => {
            let session = parameters.take("session");
            View::Plan(session.or_else(|| Some(caller.session.to_string())))
        }
        ("tasks", "ready") => View::ReadyTasks,
        ("tasks", "") => View::Tasks(task_filter(&mut parameters, caller, names)?),
        ("tasks", id) => View::Task(TaskId::from_uuid(named("task", Sort::Task, id)?)),
        ("sessions", "") => View::Sessions(parameters.parse("cursor")?, limit(&mut parameters)?),
        ("sessions", path) => session_view(path)?,
        ("anchors", "") => View::Anchors,
        ("playbooks", "") => View::Playbooks,
        ("playbooks", id) => View::Playbook(PlaybookId::from_uuid(named("id", Sort::Playbook, id)?)),
        ("calibration", "") => View::Calibration,
        ("beliefs", name) if !name.is_empty() => {
            View::Beliefs(agent(caller, name)?, parameters.take("session"))
        }
        ("context", "") => {
            // A session has no agent before its first write. The receipt of that write names the agent.
            let agent = (caller.me)().unwrap_or_else(|| AgentId::recorded(UNSEATED));
            let session = Some(caller.session.to_string());
            context(&mut parameters, agent, session)?
        }
        ("memory", path) => memory(path, &mut parameters, caller, (root, now))?,
        ("phases", path) => phases(path, &mut parameters)?,
        ("traces", "") => View::Traces(TraceFilter {
            session: parameters.take("session"),
            trace: parameters.parse("type")?,
            since: parameters.moment("since", now)?,
            before: parameters.parse("cursor")?,
            limit: limit(&mut parameters)?,
        }),
        ("traces", seq) => View::Trace(seq.parse().map_err(|_| bad("seq", "a position is a number"))?),
        ("attention", "") => {
            let named = parameters.take("agent").map(|name| agent(caller, &name)).transpose()?;
            View::Attention(named.or_else(|| (caller.me)()))
        }
        ("context", name) => context(&mut parameters, agent(caller, name)?, None)?,
        _ => return Err(unknown()),
    };
    match parameters.0.first() {
        None => Ok(Address { view, format, moment }),
        Some((name, _)) => Err(bad(name, "this resource has no such parameter")),
    }
}

/// The address of the page after the one at `address`.
pub(super) fn next_page(address: &str, next: &Next) -> String {
    let Ok(mut url) = Url::parse(address) else { return address.to_owned() };
    let kept: Vec<_> = url.query_pairs().filter(|(name, _)| name != next.parameter).collect();
    let kept: Vec<(String, String)> =
        kept.into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    url.query_pairs_mut().clear().extend_pairs(kept).append_pair(next.parameter, &next.value);
    url.into()
}

/// Resolves a name, an id, or the end of an id.
pub(super) type Names<'a> = &'a dyn Fn(Sort, &str) -> Result<Uuid, Rejection>;

/// The query parameters that are not parsed yet.
struct Parameters(Vec<(String, String)>);

impl Parameters {
    fn of(url: &Url) -> Self {
        Self(url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// Takes the value of a parameter; an empty value counts as left out.
    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1).filter(|value| !value.is_empty())
    }

    fn parse<T: std::str::FromStr>(&mut self, name: &str) -> Result<Option<T>, BadAddress>
    where
        T::Err: std::fmt::Display,
    {
        self.take(name).map(|value| value.parse().map_err(|problem| bad(name, problem))).transpose()
    }

    /// The id of the entity that a parameter names.
    fn named(&mut self, sort: Sort, names: Names<'_>) -> Result<Option<Uuid>, BadAddress> {
        let name = self.take(sort.noun());
        name.map(|text| names(sort, &text).map_err(|refused| bad(sort.noun(), refused))).transpose()
    }

    fn moment(&mut self, name: &str, now: Timestamp) -> Result<Option<Moment>, BadAddress> {
        let moment = self.take(name).map(|value| Moment::parse(&value, now));
        moment.transpose().map_err(|problem| bad(name, problem))
    }
}

fn bad(name: &str, problem: impl ToString) -> BadAddress {
    BadAddress::Parameter { name: name.to_owned(), problem: problem.to_string() }
}

fn agent(caller: &Reader<'_>, name: &str) -> Result<AgentId, BadAddress> {
    caller.roster.resolve(name).map_err(|problem| bad("agent", problem))
}

fn scope(parameters: &mut Parameters, root: &str) -> Result<Option<Scope>, BadAddress> {
    let scope = parameters.take("scope");
    scope.map(|scope| Scope::parse(&scope, root).map_err(|problem| bad("scope", problem))).transpose()
}

fn limit(parameters: &mut Parameters) -> Result<usize, BadAddress> {
    match parameters.parse::<usize>("limit")? {
        None => Ok(DEFAULT_LIMIT),
        Some(limit) if (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
        Some(limit) => Err(bad("limit", format!("{limit} is outside 1 to {MAX_LIMIT}"))),
    }
}

/// Parses the parameters of a context. `context_window` (tokens) raises the budget; with `used_tokens` the context
/// also tells when to split the session. `all` includes what the session was told. `explain` asks why the context shows its entries, `why` asks about one
/// claim.
fn context(parameters: &mut Parameters, agent: AgentId, session: Option<String>) -> Result<View, BadAddress> {
    let window_tokens = parameters.parse("context_window")?;
    let used_tokens: Option<u64> = parameters.parse("used_tokens")?;
    let budget = parameters.parse("budget")?.unwrap_or_else(|| pack::budget_for(window_tokens));
    let window = used_tokens.zip(window_tokens);
    let other = parameters.take("session");
    let is_all = parameters.parse("all")?.unwrap_or(false) || other.is_some();
    let of = ContextOf {
        agent,
        session: other.or(session),
        intent: parameters.take("intent"),
        budget,
        window: window.map(|(used_tokens, window_tokens)| pack::Window { used_tokens, window_tokens }),
    };
    let (explain, why) = (parameters.parse("explain")?.unwrap_or(false), parameters.parse("why")?);
    Ok(match (explain || why.is_some(), is_all) {
        (true, _) => View::Explained(of, why),
        (false, true) => View::Context(of),
        (false, false) => View::Rest(of),
    })
}

fn statuses(parameters: &mut Parameters) -> Result<Vec<Status>, BadAddress> {
    let words = parameters.take("status").unwrap_or_default();
    let parsed: Result<_, _> = words.split(',').filter(|word| !word.is_empty()).map(str::parse).collect();
    parsed.map_err(|problem| bad("status", problem))
}

fn search(parameters: &mut Parameters, root: &str, now: Timestamp) -> Result<Search, BadAddress> {
    let query = parameters.take("q").ok_or_else(|| bad("q", "say what to look for, in any words"))?;
    let filter = ClaimFilter {
        status: statuses(parameters)?,
        claim_type: parameters.parse("type")?,
        scope: scope(parameters, root)?,
        since: parameters.moment("since", now)?,
        until: parameters.moment("until", now)?,
        limit: limit(parameters)?,
        ..ClaimFilter::default()
    };
    let mode = parameters.parse("mode")?.unwrap_or(SearchMode::Balanced);
    let seen = parameters.parse("cursor")?.unwrap_or_default();
    Ok(Search { query, mode, filter, seen, explain: false })
}

fn claim_filter(
    parameters: &mut Parameters,
    caller: &Reader<'_>,
    (root, now): (&str, Timestamp),
    names: Names<'_>,
) -> Result<ClaimFilter, BadAddress> {
    let task = parameters.named(Sort::Task, names)?.map(TaskId::from_uuid);
    let owner = parameters.take("owner").map(|name| agent(caller, &name)).transpose()?;
    Ok(ClaimFilter {
        status: statuses(parameters)?,
        claim_type: parameters.parse("type")?,
        scope: scope(parameters, root)?,
        owner: owner.map(|agent| agent.to_string()),
        session: parameters.take("session"),
        task,
        since: parameters.moment("since", now)?,
        until: parameters.moment("until", now)?,
        limit: limit(parameters)?,
        before: parameters.parse("cursor")?,
        ..ClaimFilter::default()
    })
}

fn task_filter(
    parameters: &mut Parameters,
    caller: &Reader<'_>,
    names: Names<'_>,
) -> Result<TaskFilter, BadAddress> {
    let words = parameters.take("status").unwrap_or_default();
    let status: Result<_, _> = words.split(',').filter(|word| !word.is_empty()).map(str::parse).collect();
    Ok(TaskFilter {
        status: status.map_err(|problem| bad("status", problem))?,
        plan: parameters.named(Sort::Plan, names)?.map(PlanId::from_uuid),
        phase: parameters.named(Sort::Phase, names)?.map(PhaseId::from_uuid),
        holder: parameters.take("holder").map(|name| agent(caller, &name)).transpose()?,
        limit: limit(parameters)?,
    })
}

fn decision_filter(parameters: &mut Parameters) -> Result<DecisionFilter, BadAddress> {
    let target = parameters.take("target");
    let target = target.map(|name| Scope::target(&name).map_err(|problem| bad("target", problem)));
    Ok(DecisionFilter {
        target: target.transpose()?,
        scope: parameters.parse("scope")?,
        before: parameters.parse("cursor")?,
        limit: limit(parameters)?,
        ..DecisionFilter::default()
    })
}

/// Nothing, `SPACE`, `SPACE/OWNER` or `SPACE/OWNER/KIND/NUMBER`; the owner is percent-encoded where a client's id needs
/// it.
fn memory(
    path: &str,
    parameters: &mut Parameters,
    caller: &Reader<'_>,
    (root, now): (&str, Timestamp),
) -> Result<View, BadAddress> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let space = |text: &str| text.parse::<Space>().map_err(|problem| bad("space", problem));
    let named = |text: &str| decoded(text).map(Owner::called);
    let (in_space, owner) = match parts[..] {
        [] => (parameters.parse("space")?, parameters.take("owner").map(Owner::called)),
        [of] => (Some(space(of)?), None),
        [of, owner] => (Some(space(of)?), Some(named(owner)?)),
        [of, owner, kind, n] => {
            let kind = kind.parse().map_err(|problem| bad("kind", problem))?;
            let n = n.parse().map_err(|problem| bad("n", problem))?;
            return Ok(View::MemoryItem(MemoryId { space: space(of)?, owner: named(owner)?, kind, n }));
        }
        _ => return Err(bad("memory", "an item has the address memory/SPACE/OWNER/KIND/NUMBER")),
    };
    let by = parameters.take("agent").map(|name| agent(caller, &name)).transpose()?;
    Ok(View::Memory(MemoryFilter {
        kind: parameters.parse("kind")?,
        space: in_space,
        owner,
        agent: by,
        session: parameters.take("session"),
        scope: scope(parameters, root)?,
        older_than: parameters.moment("older_than", now)?,
        never_used: parameters.parse("never_used")?.unwrap_or(false),
        before: parameters.parse("cursor")?,
        limit: limit(parameters)?,
    }))
}

/// `SPACE/OWNER/diff`; the owner is percent-encoded where a client's id needs it.
fn phases(path: &str, parameters: &mut Parameters) -> Result<View, BadAddress> {
    let [space, owner, "diff"] = path.split('/').collect::<Vec<_>>()[..] else {
        return Err(bad("phases", "a diff has the address phases/SPACE/OWNER/diff"));
    };
    Ok(View::PhaseDiff(PhaseDiff {
        space: space.parse().map_err(|problem| bad("space", problem))?,
        owner: Some(Owner::called(decoded(owner)?)),
        from: parameters.parse("from")?,
        to: parameters.parse("to")?,
    }))
}

fn decoded(text: &str) -> Result<String, BadAddress> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|problem| bad("id", problem))
}

/// `SESSION` or `SESSION/turn0`, percent-encoded where a client's id needs it.
fn session_view(path: &str) -> Result<View, BadAddress> {
    match path.rsplit_once('/') {
        Some((id, "turn0")) => Ok(View::Turn0(decoded(id)?)),
        _ => Ok(View::Session(decoded(path)?)),
    }
}

/// `RUN`, `RUN/stdout` or `RUN/stderr`.
fn run_view(path: &str, names: Names<'_>) -> Result<View, BadAddress> {
    let (id, part) = path.split_once('/').unwrap_or((path, ""));
    let id = RunId::from_uuid(names(Sort::Run, id).map_err(|refused| bad("run", refused))?);
    match part {
        "" => Ok(View::Experiment(id)),
        "stdout" => Ok(View::Output(id, Stream::Stdout)),
        "stderr" => Ok(View::Output(id, Stream::Stderr)),
        _ => Err(bad("run", "a run has stdout and stderr")),
    }
}

fn experiment_filter(
    parameters: &mut Parameters,
    now: Timestamp,
    names: Names<'_>,
) -> Result<ExperimentFilter, BadAddress> {
    Ok(ExperimentFilter {
        status: parameters.parse("status")?,
        profile: parameters.parse("profile")?,
        claim: parameters.named(Sort::Claim, names)?.map(ClaimId::from_uuid),
        since: parameters.moment("since", now)?,
        until: parameters.moment("until", now)?,
        before: parameters.parse("cursor")?,
        limit: limit(parameters)?,
    })
}

fn contradiction_filter(parameters: &mut Parameters) -> Result<ContradictionFilter, BadAddress> {
    let resolved = match parameters.take("status").as_deref() {
        None | Some("open") => false,
        Some("resolved") => true,
        Some(_) => return Err(bad("status", "use open or resolved")),
    };
    Ok(ContradictionFilter {
        resolved,
        weak: parameters.parse("tier")? == Some(Tier::Weak),
        before: parameters.parse("cursor")?,
        limit: limit(parameters)?,
    })
}

fn event_filter(parameters: &mut Parameters, caller: &Reader<'_>) -> Result<ledger::Filter, BadAddress> {
    let after: Option<u64> = parameters.parse("after")?;
    let by = parameters.take("agent").map(|name| agent(caller, &name)).transpose()?;
    Ok(ledger::Filter {
        after: after.unwrap_or(0),
        kind: parameters.take("type"),
        agent: by,
        session: None,
        limit: limit(parameters)?,
        until: None,
        // Without a start position the page shows the newest events.
        newest: after.is_none(),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use uuid::Uuid;

    use super::{Format, Reader, parse};
    use crate::domain::agent::Roster;
    use crate::domain::ids::EventId;
    use crate::domain::names::Sort;
    use crate::domain::rejection::Rejection;
    use crate::domain::time::Timestamp;

    fn check(addresses: &[&str], expected: Expect) {
        let (roster, session) = (Roster::default(), "s".parse().expect("a session id"));
        let me = || roster.resolve("ops").ok();
        let event = |text: &str| match text {
            "57" => Ok(EventId::from_uuid(Uuid::from_u128(57))),
            _ => Err(Rejection::invalid("id", format!("no event is called `{text}`"))),
        };
        let caller = Reader { roster: &roster, session: &session, me: &me, event: &event };
        let names = |sort: Sort, text: &str| match text {
            "T7" | "C7" | "R7" | "X7" => Ok(Uuid::from_u128(7)),
            _ => Err(sort.unknown(format!("no {} is called `{text}`", sort.noun()), &[])),
        };
        let lines: Vec<String> = addresses
            .iter()
            .map(|address| {
                match parse(address, &caller, "/shop", Timestamp::from_ms(1_795_309_837_834), &names) {
                    Ok(parsed) => {
                        format!(
                            "{address} -> {:?}{}",
                            parsed.view,
                            if parsed.format == Format::Json { " json" } else { "" }
                        )
                    }
                    Err(problem) => format!("{address} -> {problem}"),
                }
            })
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn addresses_become_views() {
        check(
            &[
                "hivemind://context",
                "hivemind://context/QA?budget=500&format=json",
                "hivemind://context?explain=true",
                "hivemind://context?why=0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47",
                "hivemind://context?explain=loudly",
                "hivemind://context/sage",
                "hivemind://attention",
                "hivemind://attention?agent=ana&format=json",
                "hivemind://attention?agent=sage",
                "hivemind://negative?scope=src%2Fdb",
                "hivemind://negative?scope=../etc",
                "hivemind://claims/7",
                "hivemind://claims?limit=0",
                "hivemind://claims?colour=red",
                "hivemind://search",
                "hivemind://search?q=pool%20size&scope=src&type=fact&status=confirmed,contested&mode=strict&limit=5",
                "hivemind://search?q=%22%29%20OR%20%28&since=1&until=2026-11-22",
                "hivemind://claims?since=90m&until=%2357",
                "hivemind://experiments?since=2d&until=1795309837834",
                "hivemind://status?at=soon",
                "hivemind://search?q=pool&mode=all",
                "hivemind://search?q=pool&cursor=next",
                "hivemind://negative?cursor=7",
                "hivemind://events?after=12&type=claim.created",
                "hivemind://tasks/T7",
                "hivemind://tasks/T8",
                "hivemind://claims/C7",
                "hivemind://experiments/R7/stderr",
                "hivemind://experiments?claim=C7",
                "hivemind://contradictions/X7",
                "hivemind://events/57",
                "hivemind://tasks?status=open,blocked&holder=ana",
                "hivemind://nothing",
                "hivemind://user:pw@claims:80#x",
                "hivemind://user@claims",
                "hivemind://:pw@claims",
                "hivemind://claims:80",
                "hivemind://claims#x",
                "hivemind://claims?type=fact#",
                "file:///etc/passwd",
            ],
            expect![[r#"
                hivemind://context -> Rest(ContextOf { agent: AgentId("devops"), session: Some("s"), intent: None, budget: 9500, window: None })
                hivemind://context/QA?budget=500&format=json -> Rest(ContextOf { agent: AgentId("reviewer"), session: None, intent: None, budget: 500, window: None }) json
                hivemind://context?explain=true -> Explained(ContextOf { agent: AgentId("devops"), session: Some("s"), intent: None, budget: 9500, window: None }, None)
                hivemind://context?why=0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47 -> Explained(ContextOf { agent: AgentId("devops"), session: Some("s"), intent: None, budget: 9500, window: None }, Some(ClaimId(0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d47)))
                hivemind://context?explain=loudly -> explain: provided string was not `true` or `false`
                hivemind://context/sage -> agent: no agent is called `sage`; the roster is: architect, devops, analyst, frontend, reviewer, operator
                hivemind://attention -> Attention(Some(AgentId("devops")))
                hivemind://attention?agent=ana&format=json -> Attention(Some(AgentId("analyst"))) json
                hivemind://attention?agent=sage -> agent: no agent is called `sage`; the roster is: architect, devops, analyst, frontend, reviewer, operator
                hivemind://negative?scope=src%2Fdb -> Negative(Some(Scope("src/db")), None)
                hivemind://negative?scope=../etc -> scope: scope `../etc` leaves the workspace: give a path relative to the workspace root
                hivemind://claims/7 -> id: no claim is called `7`; there is none yet: `hivemind://claims` shows all
                hivemind://claims?limit=0 -> limit: 0 is outside 1 to 500
                hivemind://claims?colour=red -> colour: this resource has no such parameter
                hivemind://search -> q: say what to look for, in any words
                hivemind://search?q=pool%20size&scope=src&type=fact&status=confirmed,contested&mode=strict&limit=5 -> Search(Search { query: "pool size", mode: Strict, filter: ClaimFilter { id: None, status: [Confirmed, Contested], in_force: false, claim_type: Some(Fact), scope: Some(Scope("src")), places: [], owner: None, session: None, task: None, changed_since: None, since: None, until: None, never_used: false, before: None, limit: 5 }, seen: Seen({}), explain: false })
                hivemind://search?q=%22%29%20OR%20%28&since=1&until=2026-11-22 -> Search(Search { query: "\") OR (", mode: Balanced, filter: ClaimFilter { id: None, status: [], in_force: false, claim_type: None, scope: None, places: [], owner: None, session: None, task: None, changed_since: None, since: Some(Seq(1)), until: Some(Time(Timestamp(1795305600000))), never_used: false, before: None, limit: 50 }, seen: Seen({}), explain: false })
                hivemind://claims?since=90m&until=%2357 -> Claims(ClaimFilter { id: None, status: [], in_force: false, claim_type: None, scope: None, places: [], owner: None, session: None, task: None, changed_since: None, since: Some(Time(Timestamp(1795304437834))), until: Some(Seq(57)), never_used: false, before: None, limit: 50 })
                hivemind://experiments?since=2d&until=1795309837834 -> Experiments(ExperimentFilter { status: None, profile: None, claim: None, since: Some(Time(Timestamp(1795137037834))), until: Some(Time(Timestamp(1795309837834))), before: None, limit: 50 })
                hivemind://status?at=soon -> at: `soon` is no moment: give a time (2026-11-20T22:10:00Z), a date (2026-11-20, its beginning in UTC), epoch milliseconds, how long ago (45s, 90m, 2h, 3d, 1w), or a ledger position (#1200)
                hivemind://search?q=pool&mode=all -> mode: `all` is no search mode: use one of strict, balanced, audit
                hivemind://search?q=pool&cursor=next -> cursor: this is no cursor of a search: take it from the page before, as it is
                hivemind://negative?cursor=7 -> Negative(None, Some(7))
                hivemind://events?after=12&type=claim.created -> Events(Filter { after: 12, until: None, kind: Some("claim.created"), agent: None, session: None, limit: 50, newest: false })
                hivemind://tasks/T7 -> Task(TaskId(00000000-0000-0000-0000-000000000007))
                hivemind://tasks/T8 -> task: no task is called `T8`; there is none yet: `hivemind://tasks` shows all
                hivemind://claims/C7 -> Claim(ClaimId(00000000-0000-0000-0000-000000000007))
                hivemind://experiments/R7/stderr -> Output(RunId(00000000-0000-0000-0000-000000000007), Stderr)
                hivemind://experiments?claim=C7 -> Experiments(ExperimentFilter { status: None, profile: None, claim: Some(ClaimId(00000000-0000-0000-0000-000000000007)), since: None, until: None, before: None, limit: 50 })
                hivemind://contradictions/X7 -> Contradiction(EventId(00000000-0000-0000-0000-000000000007))
                hivemind://events/57 -> Event(EventId(00000000-0000-0000-0000-000000000039))
                hivemind://tasks?status=open,blocked&holder=ana -> Tasks(TaskFilter { status: [Open, Blocked], plan: None, phase: None, holder: Some(AgentId("analyst")), limit: 50 })
                hivemind://nothing -> no resource has the address hivemind://nothing: see resources/list and resources/templates/list
                hivemind://user:pw@claims:80#x -> an address has no user, no port and no fragment: see resources/list and resources/templates/list
                hivemind://user@claims -> an address has no user, no port and no fragment: see resources/list and resources/templates/list
                hivemind://:pw@claims -> an address has no user, no port and no fragment: see resources/list and resources/templates/list
                hivemind://claims:80 -> an address has no user, no port and no fragment: see resources/list and resources/templates/list
                hivemind://claims#x -> an address has no user, no port and no fragment: see resources/list and resources/templates/list
                hivemind://claims?type=fact# -> an address has no user, no port and no fragment: see resources/list and resources/templates/list
                file:///etc/passwd -> no resource has the address file:///etc/passwd: see resources/list and resources/templates/list"#]],
        );
    }
}
