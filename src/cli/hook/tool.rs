//! The hooks before and after a tool of the client.

use super::seen::{is_our_own, stamps_of};
use super::{Failure, Hooked, MAX_ABOUT_ERROR};
use crate::domain::action::Action;
use crate::domain::clean;
use crate::domain::command::{Command, Observe, Seen};
use crate::domain::text::OutputTail;
use crate::hooks::{Answer, ToolCall, ToolOutcome};
use crate::system;

impl Hooked {
    /// A tool is about to run.
    pub(super) fn before(&mut self, tool: &ToolCall) -> Result<Answer, Failure> {
        if let Some(news) = self.news() {
            news.begin_call(&called(tool), system::now());
        }
        // If the client ignores messages before a tool, the message comes after it.
        if is_our_own(tool) {
            return Ok(Answer::Silence);
        }
        if let Some((news, files)) = self.news().zip(self.named_files(tool)) {
            // If this fails, the changes of the command stay unknown.
            let _ = news.about_to_run(&stamps_of(tool, &files));
        }
        let Some(action) = self.action() else { return Ok(Answer::Silence) };
        if !self.call.is_heard() && !self.context.config.allow_block {
            return Ok(Answer::Silence);
        }
        let (advice, firings) = self.advice(&action)?;
        // A client that ignores messages before a tool still obeys a refusal.
        if !self.call.is_heard() && !matches!(advice, Answer::Deny(_)) {
            return Ok(Answer::Silence);
        }
        self.record(firings);
        Ok(advice)
    }

    /// A tool has run.
    pub(super) fn after(&mut self, tool: &ToolCall, outcome: &ToolOutcome) -> Result<Answer, Failure> {
        let (mut answer, mut commands) = (Answer::Silence, Vec::new());
        let began = self.news().and_then(|news| {
            let began = news.began(&called(tool));
            news.end_call(&called(tool));
            began
        });
        if !is_our_own(tool) && !outcome.refused {
            let action = self.action();
            commands = self.observed(tool, outcome, action.as_ref(), began);
            // The observation is recorded even if the advice fails.
            if let Some(action) = action.filter(|_| self.call.is_heard())
                && let Ok((advice, firings)) = self.advice(&action)
            {
                commands.extend(firings);
                answer = advice;
                // If this fails, the observation and the advice stay.
                let tail = tail_of(&commands);
                let fix = self.known_fix(&action, tail.as_ref().map(OutputTail::as_str)).ok().flatten();
                let (fix, told) = fix.unzip();
                commands.extend(told);
                if action.error.is_some() {
                    answer = about_error(fix, answer);
                }
            }
        }
        // The human also sees a warning, but not news. News waits for the next command.
        if answer == Answer::Silence
            && let Ok(news) = self.news_after_command()
        {
            answer = Answer::Context(news);
        }
        self.record(commands);
        Ok(answer)
    }

    /// Records what was seen and said. The answer holds even if this fails, as where the memory takes nothing.
    fn record(&self, commands: Vec<Command>) {
        if let Err(failure) = self.submit(commands) {
            tracing::info!(?failure, "a hook answers without a record");
        }
    }

    fn action(&self) -> Option<Action> {
        let root = self.context.workspace.root().to_string_lossy();
        self.call.action(&root, &self.context.secrets()).filter(|action| !action.is_empty())
    }
}

/// What is known of an error, the mend before the advice, within the room that a failed command has.
fn about_error(fix: Option<String>, advice: Answer) -> Answer {
    let advice = match advice {
        Answer::Context(known) | Answer::Warning(known) | Answer::Deny(known) => Some(known),
        Answer::Silence => None,
    };
    let said: Vec<String> = fix.into_iter().chain(advice).collect();
    if said.is_empty() {
        return Answer::Silence;
    }
    let said = said.join("\n");
    let is_short = said.chars().count() <= MAX_ABOUT_ERROR;
    Answer::Warning(if is_short { said } else { clean::cut_words(&said, MAX_ABOUT_ERROR) })
}

/// The end of the output, as it is recorded.
fn tail_of(commands: &[Command]) -> Option<OutputTail> {
    commands.iter().find_map(|command| {
        let Command::Observe(Observe { seen: Seen::Command(ran), .. }) = command else { return None };
        ran.tail.clone()
    })
}

/// A tool call by the description that its client sends both before and after it.
fn called(tool: &ToolCall) -> String {
    tool.command.clone().unwrap_or_else(|| format!("{} {}", tool.name, tool.paths.join(" ")))
}
