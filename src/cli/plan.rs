//! `hm intent`, `hm plan`, `hm phase`, `hm task`, `hm anchor`: intents, plans, tasks and kept facts.

use clap::{Args, Subcommand};

use super::because::{Because, each_of};
use super::names::Called;
use super::output::{self, Failure};
use super::{Context, NOTE_TOO, parse, parse_all, parse_optional};
use crate::domain::agent::AgentId;
use crate::domain::command::{
    AbandonPlan, AddPhase, AddPlan, AddTask, ClaimTask, Command, DeclareIntent, RenamePlan, RetireAnchor,
    SaveAnchor, UpdateTask,
};
use crate::domain::ids::{PhaseId, PlanId, TaskId};
use crate::domain::names::{Reference, Sort};
use crate::domain::plan::{TaskStatus, Trajectory};
use crate::domain::rejection::Rejection;
use crate::domain::scope::Scope;
use crate::domain::spaces::spaced;
use crate::domain::text::Title;
use crate::store::TaskFilter;
use crate::system;
use crate::views::{self, MAX_LIMIT, View};

#[derive(Debug, Args)]
pub(super) struct Intent {
    /// Intent, in your words
    intent: String,
    /// Plan
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// Phase, also of new tasks
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
    /// Task; may be repeated
    #[arg(long = "task", value_name = "TASK")]
    tasks: Vec<String>,
    /// For the whole team, not this session alone; the operator always speaks for the team
    #[arg(long)]
    team: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Plan {
    /// Add a plan
    #[command(aliases = ["create", "new"], after_help = "Example: hm plan add \"Ship 1.0\" --path docs/plan.md")]
    Add {
        /// Title of the plan
        title: String,
        /// Details beyond the title
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// File that holds the plan itself
        #[arg(long, value_name = "PATH")]
        path: Option<String>,
    },
    /// Rename a plan
    #[command(after_help = "Example: hm plan rename P1 \"Ship 1.1\"")]
    Rename {
        /// Plan
        id: Called,
        /// New title
        title: String,
    },
    /// Abandon a plan for good: its open tasks are invalidated and their leases end
    #[command(after_help = "Example: hm plan abandon P1 \"1.1 comes first\"")]
    Abandon {
        /// Plan
        id: Called,
        #[command(flatten)]
        because: Because,
    },
    /// Show the intent, the plans, their phases and tasks; or one plan
    #[command(alias = "list", after_help = "Examples:\n  hm plan show\n  hm plan show P1")]
    Show {
        /// Plan; default: all of them
        #[arg(value_name = "PLAN")]
        id: Option<Called>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum Phase {
    /// Add a phase to a plan
    #[command(aliases = ["create", "new"], after_help = "Example: hm phase add \"Storage\" --plan P1")]
    Add {
        /// Title of the phase
        title: String,
        /// Plan of the phase; default: the only open one
        #[arg(long, value_name = "PLAN")]
        plan: Option<String>,
        /// Position in the plan, from 0; default: the last
        #[arg(long, value_name = "N")]
        order: Option<u32>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum Task {
    /// Add a task for anyone to take
    #[command(aliases = ["create", "new"], after_help = "Example: hm task add \"Mend the pool\" --scope src/db")]
    Add(Add),
    /// List tasks of every status, oldest first
    #[command(after_help = "Example: hm task list --status open,blocked --phase P2")]
    List(List),
    /// Show tasks: their descriptions, prerequisites and claims
    #[command(after_help = "Example: hm task show T7 T8")]
    Show {
        /// Tasks
        #[arg(required = true, value_name = "TASK")]
        ids: Vec<Called>,
    },
    /// List the tasks that can be taken now
    #[command(after_help = "Example: hm task ready --json")]
    Ready,
    /// Take tasks: a session holds them as long as it writes from time to time
    #[command(aliases = ["take", "start"], after_help = "Example: hm task claim T7 --lock src/db")]
    Claim {
        /// Tasks
        #[arg(required = true, value_name = "TASK")]
        ids: Vec<Called>,
        /// Minutes the hold lasts after each write of the session
        #[arg(long, value_name = "MINUTES")]
        lease: Option<u32>,
        /// Scope to leave alone: a path, a glob, tag:NAME or target:NAME; repeatable
        #[arg(long = "lock", value_name = "SCOPE")]
        locks: Vec<String>,
    },
    /// Set the status of a task
    #[command(after_help = "Example: hm task update T7 done --note \"42 tests\"")]
    Update {
        /// Task
        id: Called,
        /// open, active, blocked, done or invalidated
        status: String,
        /// Progress, or reason
        #[arg(value_name = "NOTE", conflicts_with = "note")]
        words: Option<String>,
        /// Progress, or reason
        #[arg(long, aliases = NOTE_TOO, value_name = "TEXT")]
        note: Option<String>,
        /// Number of the hold, from its receipt
        #[arg(long, value_name = "N")]
        token: Option<u64>,
    },
    /// Set the status of tasks to done, as hm task update does
    #[command(hide = true, aliases = ["finish", "close", "complete"], after_help = "Example: hm task done T7 \"42 tests\"")]
    Done {
        #[command(flatten)]
        tasks: Tasks,
        /// Number of the hold, from its receipt
        #[arg(long, value_name = "N")]
        token: Option<u64>,
    },
}

/// Several tasks, and a note that may follow them.
#[derive(Debug, Args)]
pub(super) struct Tasks {
    /// Tasks, and what came of them in quotes
    #[arg(required = true, value_name = "TASK")]
    ids: Vec<Called>,
    /// What came of them
    #[arg(long, aliases = NOTE_TOO, value_name = "TEXT")]
    note: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Add {
    /// Title of the task, at most 200 characters; more goes into --description
    title: String,
    /// Details beyond the title
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Phase of the task; default: the phase of the team's focus, else the only open one
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
    /// Parent task
    #[arg(long, value_name = "TASK")]
    parent: Option<String>,
    /// Task that must be done or invalidated first; may be repeated
    #[arg(long = "after", value_name = "TASK")]
    after: Vec<String>,
    /// Scope of the task; repeatable
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Agent it is meant for, which hears of it in its next news
    #[arg(long = "for", value_name = "AGENT")]
    meant_for: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// open, active, blocked, done or invalidated; several with commas
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    status: Vec<String>,
    /// Plan
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// Phase
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
    /// Agent holding it
    #[arg(long, alias = "owner", value_name = "NAME")]
    holder: Option<String>,
    /// Maximum count
    #[arg(long, value_name = "N", default_value_t = MAX_LIMIT as u64,
        value_parser = clap::value_parser!(u64).range(1..=MAX_LIMIT as u64))]
    limit: u64,
}

#[derive(Debug, Subcommand)]
pub(super) enum Anchor {
    /// Retire an anchor; its history stays
    #[command(after_help = "Example: hm anchor retire DB_SCHEMA")]
    Retire {
        /// Key
        key: String,
        /// user (yours alone) or project
        #[arg(long, value_name = "SPACE", default_value = "project")]
        space: String,
    },
    /// Keep a fact where no compaction loses it; the same key again replaces it
    #[command(aliases = ["add", "create", "set", "new"], after_help = "Examples:\n  hm anchor save DB_SCHEMA \"v7, see migrations/\"\n  hm anchor save EDITOR helix --space user")]
    Save {
        /// Key
        key: String,
        /// The fact
        value: String,
        /// project (the whole team reads it) or user (you alone do, in every session of yours)
        #[arg(long, value_name = "SPACE", default_value = "project")]
        space: String,
    },
    /// List the anchors
    #[command(after_help = "Example: hm anchor list")]
    List,
}

impl Intent {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let trajectory = Trajectory {
            intent: parse("intent", &self.intent)?,
            plan_id: context.plan_named(self.plan.as_deref())?,
            phase_id: context.phase_named(self.phase.as_deref())?,
            task_ids: context.tasks_named(&self.tasks)?,
        };
        let command = Command::DeclareIntent(DeclareIntent { trajectory, team: self.team });
        let name = command.name();
        let mut submission = context.submission(command, None)?;
        // An intent for the team without a named session applies to every session. The session of this shell must not
        // count here. Some clients (Gemini CLI, Cursor) name no session in the shells of their agents.
        if self.team || submission.agent == AgentId::operator() {
            submission.session = context.given_session();
        }
        let receipt = context.sent(&context.front()?, submission)?;
        let json = views::receipt_json(&receipt, name);
        output::print(context.global.json, &output::receipt("intent declared", &receipt), &json)
    }
}

impl Tasks {
    /// Runs a command for each task, with the note. After the first one only a short name or a whole id is a task: the end of
    /// an id may be the hash of a commit, which is a note.
    fn each(
        &self,
        context: &Context,
        mut run: impl FnMut(&Called, Option<&str>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let is_task = |word: &&Called| {
            matches!(Reference::read(Sort::Task, word), Reference::Id(_) | Reference::Number(_))
        };
        let count = 1 + self.ids.iter().skip(1).take_while(is_task).count();
        let words: Vec<&str> = self.ids[count..].iter().map(|word| &**word).collect();
        let note = match (words.as_slice(), &self.note) {
            ([], note) => note.clone(),
            (words, None) => Some(words.join(" ")),
            (_, Some(_)) => return Err(Failure::usage("there are two notes: leave one out")),
        };
        each_of(context, "receipts", &self.ids[..count], |id| run(id, note.as_deref()))
    }
}

impl Plan {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Add { title, description, path } => {
                let command = AddPlan {
                    plan_id: PlanId::from_uuid(system::new_id()),
                    title: parse("title", title)?,
                    description: parse_optional("description", description.as_deref())?,
                    sot_path: path.as_deref().map(|path| context.scope("path", path)).transpose()?,
                };
                context.submit("plan added", Command::AddPlan(command), None)
            }
            Self::Rename { id, title } => {
                let plan_id = PlanId::from_uuid(context.named(Sort::Plan, id)?);
                let command = RenamePlan { plan_id, title: parse("title", title)? };
                context.submit("plan renamed", Command::RenamePlan(command), None)
            }
            Self::Abandon { id, because } => {
                let plan_id = PlanId::from_uuid(context.named(Sort::Plan, id)?);
                let command = AbandonPlan { plan_id, reason: because.reason()? };
                context.submit("plan abandoned", Command::AbandonPlan(command), None)
            }
            Self::Show { id: Some(id) } => {
                context.show(&View::OnePlan(PlanId::from_uuid(context.named(Sort::Plan, id)?)))
            }
            Self::Show { id: None } => context.show(&View::Plan(context.given_session().map(String::from))),
        }
    }
}

impl Phase {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let Self::Add { title, plan, order } = self;
        let command = AddPhase {
            phase_id: PhaseId::from_uuid(system::new_id()),
            plan_id: context.plan_named(plan.as_deref())?,
            title: parse("title", title)?,
            order: *order,
        };
        context.submit("phase added", Command::AddPhase(command), None)
    }
}

impl Task {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Add(add) => context.submit("task added", Command::AddTask(add.command(context)?), None),
            Self::List(list) => context.show(&View::Tasks(list.filter(context)?)),
            Self::Show { ids } => each_of(context, "tasks", ids, |id| {
                context.show(&View::Task(TaskId::from_uuid(context.named(Sort::Task, id)?)))
            }),
            Self::Ready => context.show(&View::ReadyTasks),
            Self::Claim { ids, lease, locks } => each_of(context, "receipts", ids, |id| {
                let command = ClaimTask {
                    task_id: TaskId::from_uuid(context.named(Sort::Task, id)?),
                    lease_minutes: *lease,
                    file_locks: scopes(context, "lock", locks)?,
                };
                context.submit("task claimed", Command::ClaimTask(command), None)
            }),
            Self::Update { id, status, words, note, token } => {
                updated(context, id, parse("status", status)?, words.as_deref().or(note.as_deref()), *token)
            }
            Self::Done { tasks, token } => {
                tasks.each(context, |id, note| updated(context, id, TaskStatus::Done, note, *token))
            }
        }
    }
}

fn updated(
    context: &Context,
    id: &Called,
    status: TaskStatus,
    note: Option<&str>,
    token: Option<u64>,
) -> Result<(), Failure> {
    let command = UpdateTask {
        task_id: TaskId::from_uuid(context.named(Sort::Task, id)?),
        status,
        note: parse_optional("note", note)?,
        fencing_token: token,
    };
    context.submit("task updated", Command::UpdateTask(command), None)
}

impl Add {
    fn command(&self, context: &Context) -> Result<AddTask, Failure> {
        Ok(AddTask {
            task_id: TaskId::from_uuid(system::new_id()),
            title: parse("title", &self.title).map_err(|refused: Rejection| {
                if self.title.chars().count() <= Title::MAX_CHARS {
                    return refused;
                }
                let hint = "shorten it, and say the rest with --description".to_owned();
                Rejection { hint, ..refused }
            })?,
            description: parse_optional("description", self.description.as_deref())?,
            phase_id: context.phase_named(self.phase.as_deref())?,
            parent_task_id: context.task_named(self.parent.as_deref())?,
            depends_on: context.tasks_named(&self.after)?,
            scopes: scopes(context, "scope", &self.scopes)?,
            meant_for: self.meant_for.as_deref().map(|name| context.agent("for", name)).transpose()?,
        })
    }
}

impl List {
    fn filter(&self, context: &Context) -> Result<TaskFilter, Failure> {
        Ok(TaskFilter {
            status: parse_all("status", &self.status)?,
            plan: context.plan_named(self.plan.as_deref())?,
            phase: context.phase_named(self.phase.as_deref())?,
            holder: self.holder.as_deref().map(|name| context.agent("holder", name)).transpose()?,
            limit: usize::try_from(self.limit).unwrap_or(MAX_LIMIT),
        })
    }
}

impl Anchor {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Save { key, value, space } => {
                let user = spaced(parse("space", space)?, context.user())?;
                let command = SaveAnchor { key: parse("key", key)?, value: parse("value", value)?, user };
                context.submit("anchor saved", Command::SaveAnchor(command), None)
            }
            Self::Retire { key, space } => {
                let user = spaced(parse("space", space)?, context.user())?;
                let command = RetireAnchor { key: parse("key", key)?, user };
                context.submit("anchor retired", Command::RetireAnchor(command), None)
            }
            Self::List => context.show(&View::Anchors),
        }
    }
}

fn scopes(context: &Context, argument: &str, texts: &[String]) -> Result<Vec<Scope>, Rejection> {
    texts.iter().map(|text| context.scope(argument, text)).collect()
}
