//! `hm doctor`: checks the set-up. It prints one line per problem, with the fix.

use serde_json::json;

use super::output::{self, Failure};
use super::{Context, block_on};
use crate::clients::Places;
use crate::config::ConfigError;
use crate::doctor::{Check, Doctor, Verdict};

pub(super) fn run(context: &Context, fault: Option<&ConfigError>) -> Result<(), Failure> {
    let doctor = Doctor {
        workspace: &context.workspace,
        config: &context.config,
        config_fault: fault,
        waiting_rules: context.waiting_rules(&mut context.present()),
        state_home: context.environment.state_home.as_deref(),
        places: Places::new(context.workspace.root(), &context.environment),
        front: context.front()?,
        agent: context.environment.agent.clone(),
        binary: std::env::current_exe().map_err(Failure::internal)?,
    };
    let checks = block_on(async { Ok(doctor.examine().await) })?;
    let count = |verdict: Verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    let (faults, waiting) = (count(Verdict::Fault), count(Verdict::Waiting));
    let width = checks.iter().map(|check| check.about.len()).max().unwrap_or_default();
    let mut text: String = checks.iter().map(|check| line(check, width)).collect();
    text.push_str(&match faults {
        0 => "no faults".to_owned(),
        1 => "1 fault".to_owned(),
        many => format!("{many} faults"),
    });
    text.push_str(&match waiting {
        0 => "\n".to_owned(),
        1 => "; 1 dialog waits for you\n".to_owned(),
        many => format!("; {many} dialogs wait for you\n"),
    });
    output::print(
        context.global.json,
        &text,
        &json!({ "checks": checks, "faults": faults, "waiting": waiting }),
    )?;
    if faults == 0 { Ok(()) } else { Err(Failure::Broken) }
}

fn line(check: &Check, width: usize) -> String {
    let Check { about, message, fix, verdict, .. } = check;
    let verdict = match verdict {
        Verdict::Ok => "ok",
        Verdict::Note => "note",
        Verdict::Waiting => "waits",
        Verdict::Fault => "FAULT",
    };
    // Output of a program may not look like a check of its own, so its line breaks go.
    let message = message.replace('\n', " ");
    let first = format!("{verdict:5}  {about:width$}  ");
    let below = " ".repeat(first.len());
    let fix =
        fix.as_ref().map(|fix| output::wrapped("       fix: ", "            ", fix)).unwrap_or_default();
    output::wrapped(&first, &below, &message) + &fix
}
