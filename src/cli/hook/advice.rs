//! The advice of a hook about an action: dead ends, locks of other agents, and edits that the session was not told of.

use super::Hooked;
use super::waiting::Waiting;
use crate::cli::output::Failure;
use crate::domain::action::{
    Action, Kind, MAX_TOLD, advise, age, edited_since, fault, is_own_call, is_same_tool, may_mend, quoted,
    targets_of,
};
use crate::domain::clean;
use crate::domain::command::{Command, RecordFiring};
use crate::domain::event::{Event, Guard};
use crate::domain::guard::{Effect, MAX_A_TURN, Rule, Subject};
use crate::domain::ids::EventId;
use crate::domain::lock::{MACHINE, Notice, is_same_thing};
use crate::domain::privacy;
use crate::domain::scope::Scope;
use crate::domain::text::{CommandLine, ErrorSignature, Worktree};
use crate::domain::time::Timestamp;
use crate::hooks::{Answer, Moment};
use crate::ledger::Stored;
use crate::store::{EditBehind, Fix, LockView, Myself};
use crate::system;
use crate::views;

/// The most events of all sessions between a failure and a success that came at once.
const MAX_BETWEEN: u64 = 100;

impl Hooked {
    /// Guards, dead ends and locks, once a turn. In case of doubt the advice is not repeated.
    pub(super) fn advice(&mut self, action: &Action) -> Result<(Answer, Vec<Command>), Failure> {
        let Some(session) = self.session.clone() else { return Ok((Answer::Silence, Vec::new())) };
        let known = self.known()?;
        let since = known.as_ref().map_or(0, |session| session.prompt_seq);
        let agent = self.me(known.as_ref());
        let is_seated = self.speaker.unpinned.is_some();
        let me = Myself { agent: agent.as_str(), session: session.as_str(), is_seated };
        let waiting = Waiting::of(&self.context, &session);
        // All committed warnings belong to an earlier turn while a prompt is queued.
        let turn = if waiting.is_new_turn { u64::MAX } else { since };
        let may_block = self.context.config.allow_block && matches!(self.call.moment, Moment::BeforeTool(_));
        let mut subject = Subject::of_action(action, self.written());
        let now = system::now();
        let here = self.context.workspace.worktree();
        let loads_machine = self.loads_machine(action);
        let found = self.store(|store| {
            subject.patterns = store.open_kinds(me.agent, me.session)?;
            let fresh = |guard: Guard| -> Result<bool, crate::store::StoreError> {
                Ok(!waiting.has_fired(guard)
                    && (waiting.is_new_turn
                        || !store.has_fired(session.as_str(), &guard.uuid().to_string(), since)?))
            };
            let mut dead_ends = Vec::new();
            for mut dead_end in store.dead_ends_for(action)? {
                let id = dead_end.claim_id;
                let is_own = me.said(&dead_end.owner, dead_end.session.as_deref());
                if !is_own
                    && !waiting.has_fired(Guard::Claim(id))
                    && !store.knows_dead_end(me, id, turn)?
                    && !store.is_muted(&id.to_string(), (dead_end.kind, &subject), now)?
                {
                    dead_end.doubt = store.doubt_of_dead_end(id, here.as_ref())?;
                    dead_ends.push(dead_end);
                }
            }
            let mut rules = Vec::new();
            let mut refusal = None;
            for (rule, met) in store.guards_for(&subject)? {
                let Ok((kind, met)) = met else { continue };
                let is_over = rule.until.is_some_and(|until| until <= now);
                if is_over || store.is_muted(&rule.id.to_string(), (kind, &subject), now)? {
                    continue;
                }
                let is_fresh = fresh(Guard::Rule(rule.id))?;
                if may_block && rule.effect == Effect::Block {
                    refusal.get_or_insert((rule, kind, met, is_fresh));
                } else if is_fresh {
                    rules.push((rule, kind, met));
                }
            }
            // What stops an action is said before what only advises.
            rules.sort_by_key(|(rule, ..)| std::cmp::Reverse(rule.effect));
            let spoken =
                if waiting.is_new_turn { 0 } else { store.guards_spoken(session.as_str(), since)? };
            let room = MAX_A_TURN.saturating_sub(spoken + waiting.guards_spoken());
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
            Ok((refusal, rules, dead_ends, room, held, edits))
        })?;
        let Some((refusal, mut rules, mut dead_ends, room, mut held, edits)) = found else {
            return Ok((Answer::Silence, Vec::new()));
        };
        // A refusal holds for each attempt, and is recorded once a turn.
        if let Some((rule, kind, met, is_fresh)) = refusal {
            let firing = self.firing(Guard::Rule(rule.id), (kind, &met), action);
            return Ok((
                Answer::Deny(refusal_of(&rule, &action.shown(kind, &met))),
                firing.filter(|_| is_fresh).into_iter().collect(),
            ));
        }
        let edits = self.news_of(edits, me, &waiting)?;
        // The rest is told the next time.
        rules.truncate(room);
        dead_ends.truncate(room - rules.len());
        held.truncate(MAX_TOLD);
        let mut firings = Vec::new();
        for (rule, kind, met) in &rules {
            firings.extend(self.firing(Guard::Rule(rule.id), (*kind, met), action));
        }
        for dead_end in &dead_ends {
            let guard = Guard::Claim(dead_end.claim_id);
            firings.extend(self.firing(guard, (dead_end.kind, &dead_end.met), action));
        }
        for dead_end in &mut dead_ends {
            dead_end.met = action.shown(dead_end.kind, &dead_end.met);
        }
        let lines = rules.iter().map(|(rule, kind, met)| line_of(rule, &action.shown(*kind, met)) + "\n");
        let mut said: String = lines.collect();
        said.push_str(&advise(&dead_ends, now));
        said.truncate(said.trim_end().len());
        let mut fired: Vec<(Guard, String)> = Vec::new();
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
            Some(Command::RecordFiring(RecordFiring::told(guard, matched)))
        });
        firings.extend(commands);
        Ok((if said.is_empty() { Answer::Silence } else { Answer::Warning(said) }, firings))
    }

    /// The command line of the call, or the text that it writes.
    fn written(&self) -> &str {
        let tool = match &self.call.moment {
            Moment::BeforeTool(tool) | Moment::AfterTool(tool, _) => tool,
            Moment::SessionStart { .. }
            | Moment::Prompt { .. }
            | Moment::Stop { .. }
            | Moment::SessionEnd { .. }
            | Moment::Other => return "",
        };
        tool.command.as_deref().or(tool.text.as_deref()).unwrap_or_default()
    }

    /// The record of a firing that gets an outcome.
    fn firing(&self, guard: Guard, (kind, met): (Kind, &str), action: &Action) -> Option<Command> {
        // A hook sees which files an edit changes, and not which symbols.
        let did = match kind {
            Kind::Symbol => action.paths.first().map_or(met, Scope::as_str),
            Kind::Command | Kind::Error | Kind::Path | Kind::Write => met,
        };
        let (matched, did) = (self.matched(met)?, self.matched(did));
        Some(Command::RecordFiring(RecordFiring { guard, matched, kind: did.as_ref().map(|_| kind), did }))
    }

    /// What another session found out about the error of a failed command, once a session.
    pub(super) fn known_fix(
        &mut self,
        action: &Action,
        tail: Option<&str>,
    ) -> Result<Option<(String, Command)>, Failure> {
        let (Some(session), Some(error)) = (self.session.clone(), &action.error) else { return Ok(None) };
        let Some(matched) = self.matched(error.as_str()) else { return Ok(None) };
        let waiting = Waiting::of(&self.context, &session);
        if waiting.has_told_of_error(&matched) {
            return Ok(None);
        }
        let lines: Vec<CommandLine> =
            action.commands.iter().filter_map(|run| run.to_string().parse().ok()).collect();
        let (targets, fault) = (targets_of(&lines), fault(error.as_str(), tail));
        let fix = self.store(|store| {
            if store.was_told_of_error(session.as_str(), matched.as_str())? {
                return Ok(None);
            }
            store.fix_of(&fault, &targets, session.as_str())
        })?;
        // Another agent is told no command that may hold a secret, and of other commands than its own none that deletes.
        let is_own = |line: &str| lines.iter().any(|own| is_same_tool(own.as_str(), line));
        let may_tell = |fix: &Fix| {
            !privacy::may_hold_secret(&fix.command) && (is_own(&fix.command) || may_mend(&fix.command))
        };
        let Some(mut fix) = fix.flatten().filter(may_tell) else { return Ok(None) };
        if let Some(cure) = &mut fix.cure {
            // As it was typed: `./fix.sh` is no program of the search path. The typed line may do more than its normal form.
            match self.typed(cure.seq) {
                Some(line) if !privacy::may_hold_secret(&line) && may_mend(&line) => cure.line = line,
                // Without the step that helped, the sentence says nothing.
                _ => return Ok(None),
            }
        }
        // Where steps lie between that are not told, the sentence only invites to run it again.
        if fix.path.is_none() && fix.cure.is_none() && !self.passed_at_once(fix.id, error) {
            return Ok(None);
        }
        let record = RecordFiring::told(Guard::Fix(fix.id), matched);
        Ok(Some((line_of_fix(&fix, system::now()), Command::RecordFiring(record))))
    }

    /// The line of a command that a hook saw, as it was typed. Only the ledger has it.
    fn typed(&mut self, seq: u64) -> Option<String> {
        let stored = self.reads.readable_ledger()?.event_at(seq).ok()??;
        let Event::CommandRan(ran) = stored.recorded().ok()?.event? else { return None };
        Some(ran.command.into())
    }

    /// Whether a success was the next command of its session after a failure with an error.
    fn passed_at_once(&mut self, success: EventId, error: &ErrorSignature) -> bool {
        let Some(ledger) = self.reads.readable_ledger() else { return false };
        let recorded = |stored: Option<Stored>| stored?.recorded().ok();
        let Some(success) = ledger.event(success).ok().and_then(recorded) else { return false };
        let mut before = (success.seq.saturating_sub(MAX_BETWEEN)..success.seq).rev();
        let last = before.find_map(|seq| {
            let event =
                recorded(ledger.event_at(seq).ok()?).filter(|event| event.session == success.session)?;
            let Some(Event::CommandRan(ran)) = event.event else { return None };
            Some(ran)
        });
        last.is_some_and(|ran| ran.failed && ran.error_signature.as_ref() == Some(error))
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

/// The line of a guard that an action meets.
fn line_of(rule: &Rule, met: &str) -> String {
    let says = match rule.effect {
        Effect::Suggest => "suggests",
        Effect::Warn | Effect::Escalate | Effect::Block => "warns",
    };
    let (text, met) = (quoted(rule.text.as_str(), 400), quoted(met, 120));
    format!("hivemind: guard {} {says}: {text} (it is about `{met}`).", rule.id)
}

/// The line of a guard that stops an action.
fn refusal_of(rule: &Rule, met: &str) -> String {
    let (text, met) = (quoted(rule.text.as_str(), 400), quoted(met, 120));
    format!(
        "hivemind: blocked by guard {}: {text} (it is about `{met}`). Ask the operator or the architect.",
        rule.id
    )
}

/// The line about the command that succeeded where this one failed. A command that cannot be shown as it was typed is named by
/// its event.
fn line_of_fix(fix: &Fix, now: Timestamp) -> String {
    let changed = fix.path.as_deref().map(|path| format!(" after a change of {}", quoted(path, 120)));
    let command = |line: &str, max_chars, event: String| {
        clean::as_code(line, max_chars).unwrap_or_else(|| format!("the command of event {event}"))
    };
    let cured = || {
        fix.cure
            .as_ref()
            .map(|cure| " after ".to_owned() + &command(&cure.line, 120, format!("#{}", cure.seq)))
    };
    format!(
        "hivemind: the same error was here before, and then {} succeeded{} ({}, {}).",
        command(&fix.command, 160, fix.id.to_string()),
        changed.or_else(cured).unwrap_or_default(),
        quoted(&fix.agent, 40),
        age(Timestamp::from_ms(fix.at), now),
    )
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

#[cfg(test)]
mod tests {
    use super::line_of_fix;
    use crate::domain::time::Timestamp;
    use crate::store::{Cure, Fix};

    /// Red before: a line was told with other quotes than it has, and cut.
    #[test]
    fn a_fix_is_told_as_it_can_be_typed_or_by_its_event() {
        let id = "0190b2c4-7d1e-7c3a-9f00-3b1f5a2e8d48";
        let told = |command: &str, cure: &str| {
            let cure = Some(Cure { seq: 12, line: cure.to_owned() });
            let (id, agent) = (id.parse().expect("an id"), "ana".to_owned());
            let fix = Fix { id, agent, command: command.to_owned(), path: None, cure, at: 0 };
            line_of_fix(&fix, Timestamp::from_ms(1_000))
        };
        let said = told("psql -c \"insert into t values ('a')\"", "touch `date +%F`.ok");
        assert_eq!(
            said,
            "hivemind: the same error was here before, and then `psql -c \"insert into t values ('a')\"` succeeded after \
             ``touch `date +%F`.ok`` (ana, 1 s ago)."
        );
        let said = told("make <in.txt", "npm ci\nmake gen");
        assert_eq!(
            said,
            format!(
                "hivemind: the same error was here before, and then the command of event {id} succeeded after the command of \
                 event #12 (ana, 1 s ago)."
            )
        );
    }
}
