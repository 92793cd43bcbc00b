//! `hm playbook`: sequences of steps that ended well, to accept, to read and to export as skills. `hm calibration`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::json;

use super::output::{self, Failure};
use super::{Context, REASON_TOO};
use crate::domain::command::{AcceptPlaybook, Command, DismissPlaybook};
use crate::domain::ids::PlaybookId;
use crate::domain::names::Sort;
use crate::domain::rejection::{Code, Rejection};
use crate::domain::text::Reason;
use crate::system;
use crate::views::{self, Skill, View};

/// The file of a skill.
const FILE: &str = "SKILL.md";

#[derive(Debug, Subcommand)]
pub(super) enum Playbook {
    /// List proposed, accepted and dismissed playbooks
    #[command(after_help = "Example: hm playbook list")]
    List,
    /// Show one playbook with its steps and its evidence
    #[command(after_help = "Example: hm playbook show B1")]
    Show {
        /// Playbook
        playbook: String,
    },
    /// Accept a playbook: contexts of like tasks show it from now on
    #[command(after_help = "Example: hm playbook accept B1")]
    Accept {
        /// Playbook
        playbook: String,
    },
    /// Dismiss a playbook; it is not proposed again
    #[command(after_help = "Example: hm playbook dismiss B1 --reason \"the script does all of it\"")]
    Dismiss {
        /// Playbook
        playbook: String,
        /// Reason, kept on record
        #[arg(long, value_name = "TEXT", aliases = REASON_TOO)]
        reason: String,
    },
    /// Write accepted playbooks as skills: a directory with a SKILL.md each
    #[command(after_help = "Example: hm playbook export --to .claude/skills")]
    Export {
        /// Directory of the skills; it is made if needed
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
    },
}

impl Playbook {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        let named = |text: &str| context.named(Sort::Playbook, text).map(PlaybookId::from_uuid);
        match self {
            Self::List => context.show(&View::Playbooks),
            Self::Show { playbook } => context.show(&View::Playbook(named(playbook)?)),
            Self::Accept { playbook } => {
                let command = AcceptPlaybook { playbook_id: named(playbook)? };
                context.submit("accepted playbook", Command::AcceptPlaybook(command), None)
            }
            Self::Dismiss { playbook, reason } => {
                let reason: Reason =
                    reason.parse().map_err(|problem| Rejection::invalid("reason", problem))?;
                let command = DismissPlaybook { playbook_id: named(playbook)?, reason };
                context.submit("dismissed playbook", Command::DismissPlaybook(command), None)
            }
            Self::Export { to } => export(context, to),
        }
    }
}

fn export(context: &Context, to: &Path) -> Result<(), Failure> {
    let skills = views::skills(&mut context.models()?, system::now())?;
    let (skills, former): (Vec<Skill>, Vec<Skill>) = skills.into_iter().partition(|skill| skill.is_in_use);
    let files: Vec<PathBuf> = skills.iter().map(|skill| to.join(&skill.name).join(FILE)).collect();
    // All files are checked before the first is written.
    for (file, skill) in files.iter().zip(&skills) {
        check(file, skill)?;
    }
    for (file, skill) in files.iter().zip(&skills) {
        write(file, &skill.text).map_err(|error| {
            Rejection::new(
                Code::Unavailable,
                format!("cannot write {}: {error}", file.display()),
                "check the directory and try again: files that were written stay",
            )
        })?;
    }
    let removed: Vec<String> = former.iter().filter_map(|skill| removed(to, skill)).collect();
    let shown: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let mut text = match shown.as_slice() {
        [] => "no playbook is accepted and in use: `hm playbook list` shows them all\n".to_owned(),
        shown => shown.iter().map(|file| format!("wrote {file}\n")).collect(),
    };
    text.extend(removed.iter().map(|file| format!("removed {file}: its playbook is not in use any more\n")));
    output::print(context.global.json, &text, &json!({ "written": shown, "removed": removed }))
}

/// Removes the file of a playbook that is not in use, if we wrote it, and its directory if nothing else is in it.
fn removed(to: &Path, skill: &Skill) -> Option<String> {
    let file = to.join(&skill.name).join(FILE);
    if !file.is_file() || check(&file, skill).is_err() {
        return None;
    }
    fs::remove_file(&file).ok()?;
    // Other files of the directory are not ours.
    let _ = file.parent().map(fs::remove_dir);
    Some(file.display().to_string())
}

/// Refuses to write over a file of another origin, and over a link.
fn check(file: &Path, skill: &Skill) -> Result<(), Failure> {
    let other = |why: &str| -> Failure {
        let message = format!("{} {why}: nothing was written", file.display());
        Rejection::new(Code::NotAllowed, message, "move it away, or export to another directory").into()
    };
    for path in [file, file.parent().unwrap_or(file)] {
        if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
            return Err(other("is a link or below one"));
        }
    }
    match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(_) => Err(other("cannot be read")),
        Ok(text) if text.contains(&format!("hivemind-playbook: \"{}\"", skill.id)) => Ok(()),
        Ok(_) => Err(other("was not written by hm for this playbook")),
    }
}

fn write(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(file, text)
}
