//! `hm import`: what an export holds, into this ledger, by the one process that may write it.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::output::{self, Failure};
use super::{Context, block_on};

/// Where from.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// A file that `hm export` wrote
    file: PathBuf,
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
        let front = context.front()?;
        let bar = output::progress("importing", 0);
        let imported = block_on(async {
            Ok(front
                .import(file, |seq| {
                    bar.set_length(seq);
                    bar.set_position(seq);
                })
                .await?)
        });
        bar.finish_and_clear();
        let (added, present) = imported?;
        let text = format!("imported {added} events from {shown}; {present} were here already\n");
        output::print(context.global.json, &text, &json!({ "added": added, "present": present }))
    }
}
