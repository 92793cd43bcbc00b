//! Places in files that a command cites: the front reads their lines, and records each as an event of its own first.

use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use super::Front;
use crate::domain::command::{CitePlace, Command, Submission};
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::{CommandId, EventId};
use crate::domain::place::{self, Place, Span};
use crate::domain::privacy;
use crate::domain::rejection::{Code, Rejection};
use crate::versions::{Unversioned, text_of};

impl Front {
    /// The submission with events in place of the places that it cites.
    pub(super) async fn citing(&self, mut submission: Submission) -> Result<Submission, Rejection> {
        let mut command = submission.command.clone();
        for name in command.citable_names_mut() {
            let EvidenceName::At(place) = name else { continue };
            let span = self.span(place)?;
            let id = id_of(&submission, &span);
            let cite = Submission {
                // A retry cites the same event, also without a key.
                command_id: CommandId::from_uuid(id),
                idempotency_key: None,
                command: Command::CitePlace(CitePlace { event_id: EventId::from_uuid(id), span }),
                ..submission.clone()
            };
            self.pass(cite).await?;
            *name = EvidenceName::Id(EventId::from_uuid(id));
        }
        submission.command = command;
        Ok(submission)
    }

    /// The lines of a place as they are now.
    fn span(&self, place: &Place) -> Result<Span, Rejection> {
        let uncitable = |why: String| {
            Rejection::new(
                Code::UnknownEvidence,
                format!("{place} cannot be cited: {why}"),
                "cite lines that are there, as path:line or path:from-to, or an event: `hivemind://events`",
            )
        };
        let workspace = &self.shared.workspace;
        let path = workspace.scope(&place.path).map_err(|bad| uncitable(bad.to_string()))?;
        let text = match text_of(workspace.root(), &path) {
            Ok(Some(text)) => text,
            Ok(None) => return Err(uncitable("there is no such file".to_owned())),
            Err(Unversioned::Name) => return Err(uncitable("it is no file".to_owned())),
            Err(why) => return Err(uncitable(format!("it {why}"))),
        };
        let lines = place::lines_of(&text, place.from, place.to).map_err(|why| uncitable(why.to_string()))?;
        // The hash of a short text can be guessed.
        if !privacy::scan(&String::from_utf8_lossy(&lines), &self.shared.secrets).is_empty() {
            return Err(uncitable("the lines hold a secret".to_owned()));
        }
        Ok(Span { path, from: place.from, to: place.to, sha256: place::hash(&lines) })
    }
}

/// The id of a citation: the same for the same lines, cited by the same agent in the same session.
fn id_of(submission: &Submission, span: &Span) -> Uuid {
    let session = submission.session.as_ref().map(ToString::to_string).unwrap_or_default();
    let said = [submission.agent.to_string(), session, span.to_string(), String::from(span.sha256)];
    let hash: [u8; 32] = Sha256::digest(said.join("\0")).into();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    Builder::from_custom_bytes(bytes).into_uuid()
}
