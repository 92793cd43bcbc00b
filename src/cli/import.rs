//! `hm import`: what an export holds, into this ledger, by the one process that may write it.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::output::{self, Failure};
use super::{Context, block_on};
use crate::domain::agent::AgentId;

/// Where from.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// A file that `hm export` wrote
    file: PathBuf,
    /// Take its texts as they are, also what looks like a secret; for the operator only
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
        // The writer opens it by its name: what only this process can read is no file to it.
        if !file.is_file() {
            return Err(Failure::Usage(format!("{shown} is no regular file: write the export to one first")));
        }
        if self.as_is {
            context.operator("import --as-is")?;
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

/// Whether a name stands here for more than an agent: for the human at the terminal, or the writer.
fn is_privileged(author: &AgentId) -> bool {
    [AgentId::operator(), AgentId::system()].contains(author)
}

/// An author as the receipt names it: an operator of a file is none of this workspace.
fn named(author: &AgentId) -> String {
    if is_privileged(author) {
        format!("{author} (of the file, not of this workspace)")
    } else {
        author.to_string()
    }
}
