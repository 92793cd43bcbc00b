//! `hm rebuild`: the writer makes the read models anew.

use serde_json::json;

use super::output::{self, Failure};
use super::{Context, block_on};

pub(super) fn run(context: &Context) -> Result<(), Failure> {
    let front = context.front()?;
    let bar = output::progress("folding", 0);
    let rebuilt = block_on(async {
        Ok(front
            .rebuild(|seq, of| {
                bar.set_length(of);
                bar.set_position(seq);
            })
            .await?)
    });
    bar.finish_and_clear();
    let seq = rebuilt?;
    let text = format!("rebuilt: the read models hold {seq} events\n");
    output::print(context.global.json, &text, &json!({ "folded_seq": seq }))
}
