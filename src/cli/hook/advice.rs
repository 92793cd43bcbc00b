//! The advice of a hook about an action: dead ends, locks of other agents, and edits that the session was not told of.

use super::Hooked;
use super::waiting::Waiting;
use crate::cli::output::Failure;
use crate::domain::action::{Action, MAX_TOLD, advise, edited_since, is_own_call};
use crate::domain::command::{Command, RecordFiring};
use crate::domain::event::Guard;
use crate::domain::lock::{MACHINE, Notice, is_same_thing};
use crate::domain::privacy;
use crate::domain::scope::Scope;
use crate::domain::text::{CommandLine, Worktree};
use crate::domain::time::Timestamp;
use crate::hooks::{Answer, Moment};
use crate::store::{EditBehind, LockView, Myself};
use crate::system;
use crate::views;

impl Hooked {
    /// Dead ends, once a session, and locks, once a turn. In case of doubt the advice is not repeated.
    pub(super) fn advice(&mut self, action: &Action) -> Result<(Answer, Vec<Command>), Failure> {
        let Some(session) = self.session.clone() else { return Ok((Answer::Silence, Vec::new())) };
        let known = self.known()?;
        let since = known.as_ref().map_or(0, |session| session.prompt_seq);
        let agent = self.me(known.as_ref());
        let is_seated = self.speaker.unpinned.is_some();
        let me = Myself { agent: agent.as_str(), session: session.as_str(), is_seated };
        let waiting = Waiting::of(&self.context, &session);
        let now = system::now();
        let here = self.context.workspace.worktree();
        let loads_machine = self.loads_machine(action);
        let found = self.store(|store| {
            let fresh = |guard: Guard| -> Result<bool, crate::store::StoreError> {
                Ok(!waiting.has_fired(guard)
                    && (waiting.is_new_turn
                        || !store.has_fired(session.as_str(), &guard.uuid().to_string(), since)?))
            };
            let mut dead_ends = Vec::new();
            for dead_end in store.dead_ends_for(action)? {
                let id = dead_end.claim_id;
                let is_own = me.said(&dead_end.owner, dead_end.session.as_deref());
                if !is_own && !waiting.has_told(id) && !store.was_told(me, id)? {
                    dead_ends.push(dead_end);
                }
            }
            let mut held: Vec<(Guard, String, LockView)> = Vec::new();
            for lock in store.locks()? {
                let is_known = |guard| held.iter().any(|(told, ..)| *told == guard);
                let guard = lock.guard;
                if is_known(guard) {
                    continue;
                }
                if lock.session != session.as_str()
                    && let Some(met) = met(&lock, action, loads_machine)
                    && fresh(guard)?
                {
                    held.push((guard, met, lock));
                }
            }
            let mut edits = Vec::new();
            for path in &action.paths {
                edits.extend(store.edits_behind(me, here.as_ref(), path)?);
            }
            Ok((dead_ends, held, edits))
        })?;
        let Some((mut dead_ends, mut held, edits)) = found else { return Ok((Answer::Silence, Vec::new())) };
        let edits = self.news_of(edits, me, &waiting)?;
        // The rest is told the next time.
        dead_ends.truncate(MAX_TOLD);
        held.truncate(MAX_TOLD);
        let mut said = advise(&dead_ends, now);
        let mut fired: Vec<(Guard, String)> =
            dead_ends.into_iter().map(|dead_end| (Guard::Claim(dead_end.claim_id), dead_end.met)).collect();
        for (guard, met, lock) in held {
            if !said.is_empty() {
                said.push('\n');
            }
            said.push_str(&held_line(&lock, &met, here.as_ref(), now));
            fired.push((guard, met));
        }
        for (edit, at) in edits {
            if !said.is_empty() {
                said.push('\n');
            }
            let claim = (edit.claim_id, edit.statement.as_str());
            let edited = edited_since(&edit.path, (&edit.by, at), claim, now);
            said.push_str(&format!("hivemind: {edited}: read the file again before you change it."));
            fired.push((Guard::Claim(edit.claim_id), edit.path));
        }
        let commands = fired.into_iter().filter_map(|(guard, matched)| {
            let matched = self.matched(&matched)?;
            Some(Command::RecordFiring(RecordFiring { guard, matched }))
        });
        let commands = commands.collect();
        Ok((if said.is_empty() { Answer::Silence } else { Answer::Warning(said) }, commands))
    }

    /// Whether a command will load the machine. After a command the lock comes too late, and a notice would use up
    /// that of this turn. A call of `hm` loads no machine.
    fn loads_machine(&self, action: &Action) -> bool {
        let tool = match &self.call.moment {
            Moment::BeforeTool(tool) => tool,
            Moment::AfterTool(tool, _) if !self.call.hears_before_tools() => tool,
            Moment::AfterTool(..)
            | Moment::SessionStart { .. }
            | Moment::Prompt { .. }
            | Moment::Stop { .. }
            | Moment::SessionEnd { .. }
            | Moment::Other => return false,
        };
        !action.commands.is_empty() && !tool.command.as_deref().is_some_and(is_own_call)
    }

    /// The recorded match, without secrets.
    fn matched(&self, text: &str) -> Option<CommandLine> {
        let text: String = text.chars().take(CommandLine::MAX_CHARS).collect();
        CommandLine::try_from(privacy::redacted(&text, &self.context.secrets())).ok()
    }

    /// The edits that the session was not told of, each with its time: at most as many as one message has.
    fn news_of(
        &mut self,
        edits: Vec<EditBehind>,
        me: Myself<'_>,
        waiting: &Waiting,
    ) -> Result<Vec<(EditBehind, Timestamp)>, Failure> {
        let mut news = Vec::new();
        for edit in edits {
            let Some(matched) = self.matched(&edit.path) else { continue };
            if waiting.has_told_of_edit(edit.claim_id, &matched) {
                continue;
            }
            let was_told = self.store(|store| store.was_told_of_edit(me, &edit, matched.as_str()))?;
            // Only the ledger has the time. Without it the edit is left out.
            let ledger = self.reads.readable_ledger();
            let at = ledger.and_then(|ledger| ledger.at(edit.seq).ok().flatten());
            if let (Some(false), Some(at)) = (was_told, at) {
                news.push((edit, at));
            }
            if news.len() == MAX_TOLD {
                break;
            }
        }
        Ok(news)
    }
}

/// The line about a lock that an action meets.
fn held_line(lock: &LockView, met: &str, here: Option<&Worktree>, now: Timestamp) -> String {
    let LockView { agent, until, worktree: there, .. } = lock;
    let there = there.as_deref();
    let is_here =
        lock.scope.parse().is_ok_and(|scope| is_same_thing(&scope, here.map(Worktree::as_str), there));
    let (holder, what) = (views::inline(agent, 40), views::inline(met, 200));
    let there = there.map(|name| views::inline(name, 120));
    let notice = Notice {
        holder: &holder,
        what: &what,
        purpose: lock.purpose(),
        until: Timestamp::from_ms(*until),
        elsewhere: (!is_here).then_some(there.as_deref()),
    };
    format!("hivemind: {}.", notice.sentence(now))
}

/// The part of an action that a lock is against: a path that it changes, or, for a lock that asks for a quiet machine,
/// the command itself.
fn met(lock: &LockView, action: &Action, loads_machine: bool) -> Option<String> {
    let scope = lock.scope.parse::<Scope>().ok()?;
    if scope.as_str() == MACHINE {
        return loads_machine.then(|| scope.to_string());
    }
    action.paths.iter().find(|path| scope.covers(path)).map(ToString::to_string)
}
