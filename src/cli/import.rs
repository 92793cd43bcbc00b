//! `hm import`: the writer appends the events of an export to this ledger. Into a memory that has or had
//! events, and under `human_only`, that is a verb of the operator.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::output::{self, Failure};
use super::{Context, block_on};
use crate::domain::agent::AgentId;
use crate::domain::policy::TrustMode;

#[derive(Debug, Args)]
pub(super) struct Import {
    /// File written by hm export
    file: PathBuf,
    /// Keep texts that look like secrets; for the operator only
    #[arg(long)]
    as_is: bool,
}

impl Import {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let shown = self.file.display();
        let file = self
            .file
            .canonicalize()
            .map_err(|error| Failure::Usage(format!("cannot read {shown}: {error}")))?;
        // The writer opens the file by its path, so a pipe or descriptor of this process does not work.
        if !file.is_file() {
            return Err(Failure::Usage(format!("{shown} is no regular file: write the export to one first")));
        }
        let mut reads = context.reads()?;
        // A ledger that lost all of its events had some.
        let has_lost = reads.standing()?.damage.is_some_and(|damage| damage.stops_writes());
        let is_empty = !has_lost
            && match reads.ledger()? {
                Some(ledger) => ledger.head()?.seq == 0,
                None => true,
            };
        let verb = if self.as_is {
            Some("import --as-is")
        } else {
            // The file may hold decisions. A pane could vote under another name elsewhere and bring that back.
            (!is_empty || context.config.memory.trust == TrustMode::HumanOnly).then_some("import")
        };
        // The record of an override is an event, and a ledger with an event of its own no longer takes what follows.
        let is_recorded_after = context.global.operator_override.is_some();
        match verb {
            Some(_) if is_recorded_after => {
                context.no_agent(context.global.agent.as_deref())?;
                context.check_override()?;
            }
            Some(verb) => context.operator(verb)?,
            None => {}
        }
        let front = context.front()?;
        let bar = output::progress("importing", 0);
        let imported = block_on(async {
            Ok(front
                .import(file, self.as_is, |seq| {
                    bar.set_length(seq);
                    bar.set_position(seq);
                })
                .await?)
        });
        bar.finish_and_clear();
        let (added, present, authors) = imported?;
        if let Some(verb) = verb.filter(|_| is_recorded_after) {
            context.human(verb)?;
        }
        let mut text = format!("imported {added} events from {shown}; {present} were here already\n");
        if !authors.is_empty() {
            let named: Vec<String> = authors.iter().map(named).collect();
            text.push_str(&format!(
                "they are shown as imported, and the file alone says who wrote them: {}\n",
                named.join(", ")
            ));
        }
        let authors: Vec<Value> = authors
            .iter()
            .map(|author| json!({ "agent": author, "is_privileged": is_privileged(author) }))
            .collect();
        let json = json!({ "added": added, "present": present, "authors": authors });
        output::print(context.global.json, &output::fitted(&text), &json)
    }
}

/// Whether the name means more than an agent in this workspace: the human at the terminal, or the writer.
fn is_privileged(author: &AgentId) -> bool {
    [AgentId::operator(), AgentId::system()].contains(author)
}

/// The author's name for the receipt. The operator of the file has no rights in this workspace.
fn named(author: &AgentId) -> String {
    if is_privileged(author) {
        format!("{author} (of the file, not of this workspace)")
    } else {
        author.to_string()
    }
}
