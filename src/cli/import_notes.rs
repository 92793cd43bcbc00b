//! `hm import-notes`: makes proposed claims of the statements in files of notes. A second run adds nothing.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::Context;
use super::output::{self, Failure};
use crate::domain::claim::{ClaimType, Relation, SearchMode, Share};
use crate::domain::clean;
use crate::domain::command::{AddEvidence, Command, CreateClaim, RecordDecision};
use crate::domain::evidence::EvidenceName;
use crate::domain::ids::{ClaimId, IdempotencyKey};
use crate::domain::notes::{self, Found, Known, Note, Step};
use crate::domain::place::Place;
use crate::domain::privacy;
use crate::domain::receipt::{Acceptance, Receipt};
use crate::domain::rejection::{Code, Rejection};
use crate::domain::scope::{Mentioned, Scope};
use crate::domain::text::folded;
use crate::reads::Reads;
use crate::store::{ClaimFilter, ClaimSummary, Search, Seen};
use crate::system;
use crate::versions::text_of;
use crate::workspace::MARKER;
use crate::writer::Front;

/// Help text below the arguments.
pub(super) const HELP: &str = "\
Each list item and each paragraph that states something becomes one proposed claim of yours, with its lines as evidence;
an accepted decision record (one title, and below it a status and a decision) becomes one decision. Nothing is confirmed
by it, an instruction in a file is only quoted, and contexts mark the claims as imported. A claim is about the files that
its text names, or else about the file of notes; all claims of a file: hm claim list --scope tag:imported:claude.md
A second run adds nothing, nor does a copy of the file beside it. An edited line replaces the proposal that held its
earlier text. What is too long, no UTF-8, a secret, or out of the project is refused with its line, and the rest is
imported.

Examples:
  hm import-notes CLAUDE.md AGENTS.md --dry-run
  hm import-notes .cursor/rules docs/decisions";

/// How the names of files of notes end in a directory: Markdown, and the rules of Cursor.
const ENDINGS: [&str; 3] = ["md", "mdc", "markdown"];
/// Claims in one read.
const CHUNK: usize = 500;
/// The most files that a claim is about.
const MAX_FILES: usize = 8;
/// The hits among which the same statement of another file is looked for.
const MAX_TWINS: usize = 10;
/// Characters of a statement in a list.
const SHOWN_CHARS: usize = 200;

#[derive(Debug, Args)]
pub(super) struct ImportNotes {
    /// Files of notes in Markdown, or directories of them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// List the statements and what would become of each, and add nothing
    #[arg(long)]
    dry_run: bool,
}

/// What became of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Became {
    Added,
    Known,
    Queued,
    Refused,
}

/// A statement, or a file, with what became of it.
#[derive(Debug, Serialize)]
struct Line {
    /// `path:line`, or the file.
    place: String,
    became: Became,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    claim_type: Option<ClaimType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statement: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim_id: Option<ClaimId>,
    /// The proposal whose place it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    instead_of: Option<ClaimId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// The directory in a path or a tag of one.
fn directory(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(directory, _)| directory)
}

impl Line {
    fn of(place: String, became: Became) -> Self {
        let (claim_type, statement, claim_id) = (None, None, None);
        Self { place, became, claim_type, statement, claim_id, instead_of: None, code: None, why: None }
    }

    fn refused(place: String, code: Code, why: String) -> Self {
        Self { code: Some(code), why: Some(why), ..Self::of(place, Became::Refused) }
    }
}

/// A file of notes.
struct File {
    path: Scope,
    tag: Scope,
    found: Vec<Found>,
    /// Lines that state nothing.
    left_out: Vec<(u32, u32)>,
}

struct Pass<'c> {
    context: &'c Context,
    front: Front,
    reads: Reads,
    dry_run: bool,
    lines: Vec<Line>,
    /// The places of lines that state nothing.
    left_out: Vec<String>,
}

impl ImportNotes {
    pub(super) fn run(&self, context: &Context) -> Result<(), Failure> {
        if context.global.at.is_some() {
            return Err(Failure::usage("the past is not written: leave out --at"));
        }
        // The writer records the caller's name with each claim, so a name is missed before the first.
        if !self.dry_run {
            context.speaker("import-notes")?;
        }
        let (lines, left_out) = Default::default();
        let (front, reads) = (context.front()?, context.models()?);
        let mut pass = Pass { context, front, reads, dry_run: self.dry_run, lines, left_out };
        let mut is_refused = true;
        for path in self.files.iter().flat_map(|path| notes_in(&context.here, path)) {
            let shown = path.display().to_string();
            match read(context, &shown) {
                Ok(file) => {
                    is_refused = false;
                    pass.import(&file)?;
                }
                Err((code, why)) => pass.lines.push(Line::refused(shown, code, why)),
            }
        }
        pass.say()?;
        // Each file is refused, and said so.
        if is_refused { Err(Failure::Broken) } else { Ok(()) }
    }
}

/// The files of notes that an argument names: itself, or the files in a directory with an ending of [`ENDINGS`], in the
/// order of their names. Directories in it and links are left out.
fn notes_in(here: &Path, path: &Path) -> Vec<PathBuf> {
    let is_notes = |file: &PathBuf| {
        let ends = file.extension().is_some_and(|end| ENDINGS.iter().any(|ending| end == *ending));
        ends && here.join(file).symlink_metadata().is_ok_and(|found| found.is_file())
    };
    let entries = std::fs::read_dir(here.join(path)).into_iter().flatten().flatten();
    let entries = entries.map(|entry| path.join(entry.file_name()));
    let mut files: Vec<PathBuf> = entries.filter(is_notes).collect();
    files.sort_unstable();
    if files.is_empty() { vec![path.to_owned()] } else { files }
}

/// Reads a file of notes inside the project.
fn read(context: &Context, path: &str) -> Result<File, (Code, String)> {
    let refused = |why: String| (Code::InvalidArgument, why);
    let path = context.workspace.scope_in(&context.here, path).map_err(|bad| refused(bad.to_string()))?;
    if path.as_str().split('/').any(|part| part == ".git" || part == MARKER) {
        return Err(refused("it belongs to git or to hm, and is no file of notes".to_owned()));
    }
    let text = match text_of(context.workspace.root(), &path) {
        Ok(Some(text)) => text,
        Ok(None) => return Err(refused("there is no such file".to_owned())),
        Err(why) => return Err(refused(format!("it {why}"))),
    };
    let tag = notes::tag_of(&path).map_err(|bad| refused(bad.to_string()))?;
    Ok(File { path, tag, found: notes::found(&text), left_out: notes::left_out(&text) })
}

impl Pass<'_> {
    fn import(&mut self, file: &File) -> Result<(), Failure> {
        let known = self.known(&file.tag)?;
        let notes: Vec<&Note> = file.found.iter().filter_map(|found| found.note.as_ref().ok()).collect();
        let mut steps = notes::steps(&notes, &known).into_iter();
        let bar = output::progress("importing", file.found.len() as u64);
        for found in &file.found {
            bar.inc(1);
            let place = Place { path: file.path.to_string(), from: found.from, to: found.to };
            let line = match &found.note {
                Err((code, why)) => Line::refused(place.to_string(), *code, why.clone()),
                Ok(note) => {
                    let step = steps.next().unwrap_or(Step::Known(None));
                    let line = self.line(file, note, &place, &step, &known)?;
                    let claim_type = Some(note.claim_type);
                    let statement = Some(note.text.clone()).filter(|_| line.became != Became::Refused);
                    Line { claim_type, statement, ..line }
                }
            };
            self.lines.push(line);
        }
        bar.finish_and_clear();
        let place = |(from, to): &(u32, u32)| Place { path: file.path.to_string(), from: *from, to: *to };
        self.left_out.extend(file.left_out.iter().map(|lines| place(lines).to_string()));
        Ok(())
    }

    /// The claims that earlier imports made of a file, in force or not.
    fn known(&mut self, tag: &Scope) -> Result<Vec<Known>, Failure> {
        let filter = ClaimFilter { scope: Some(tag.clone()), limit: CHUNK, ..ClaimFilter::default() };
        let claims = self.reads.ask(system::now(), |store| store.all_claims(&filter))?.0;
        let is_of_file = |claim: &ClaimSummary| claim.scopes.iter().any(|scope| scope == tag.as_str());
        let known = claims.unwrap_or_default().into_iter().filter(is_of_file).map(|claim| Known {
            claim_id: claim.id,
            owner: claim.owner,
            statement: claim.statement,
            claim_type: claim.claim_type,
            status: claim.status,
            is_superseded: claim.superseded_by.is_some(),
        });
        Ok(known.collect())
    }

    /// The claim in force of another file in the same directory that states the same: teams keep copies of one file for
    /// several clients, and rename it.
    fn beside(&mut self, file: &File, note: &Note) -> Result<Option<ClaimId>, Failure> {
        let search = Search {
            query: note.text.clone(),
            mode: SearchMode::Strict,
            filter: ClaimFilter { limit: MAX_TWINS, ..ClaimFilter::default() },
            seen: Seen::default(),
            explain: false,
        };
        let found = self.reads.ask(system::now(), |store| store.search_by_words(&search))?.0;
        let is_beside =
            |scope: &String| notes::is_tag(scope) && directory(scope) == directory(file.tag.as_str());
        let is_twin = |claim: &ClaimSummary| {
            claim.claim_type == note.claim_type
                && folded(&claim.statement) == folded(&note.text)
                && claim.scopes.iter().any(is_beside)
        };
        let hits = found.unwrap_or_default().hits.into_iter().map(|hit| hit.claim);
        Ok(hits.into_iter().find(is_twin).map(|twin| twin.id))
    }

    /// Whether a dry run would have added the same from a file beside.
    fn was_added(&self, file: &File, note: &Note) -> bool {
        self.lines.iter().any(|line| {
            line.became == Became::Added
                && line.claim_type == Some(note.claim_type)
                && line.statement.as_deref().is_some_and(|other| folded(other) == folded(&note.text))
                && directory(&line.place) == directory(&file.path.to_string())
        })
    }

    /// What becomes of one statement.
    fn line(
        &mut self,
        file: &File,
        note: &Note,
        place: &Place,
        step: &Step,
        known: &[Known],
    ) -> Result<Line, Failure> {
        let shown = place.to_string();
        let instead_of = match step {
            Step::Known(claim_id) => {
                return Ok(Line { claim_id: *claim_id, ..Line::of(shown, Became::Known) });
            }
            Step::Propose(None) => {
                let twin = self.beside(file, note)?;
                if twin.is_some() || self.dry_run && self.was_added(file, note) {
                    return Ok(Line { claim_id: twin, ..Line::of(shown, Became::Known) });
                }
                None
            }
            Step::Propose(Some(old)) => Some(*old),
        };
        let owner = instead_of.and_then(|old| known.iter().find(|known| known.claim_id == old));
        let key = key_of(&file.path, note, instead_of, known);
        // Only its owner replaces a decision.
        let is_mine = |old: &Known| self.context.who().is_ok_and(|(me, _)| old.owner == me.as_str());
        let instead_of = owner
            .filter(|old| note.claim_type != ClaimType::Decision || is_mine(old))
            .map(|old| old.claim_id);
        if self.dry_run {
            let secrets = self.context.secrets();
            let texts = std::iter::once(&note.text).chain(&note.rationale);
            let is_clean = texts.map(|text| privacy::scan(text, &secrets)).all(|found| found.is_empty());
            return Ok(match is_clean {
                true => Line { instead_of, ..Line::of(shown, Became::Added) },
                false => Line::refused(shown, Code::PrivacyDenySensitive, "it holds a secret".to_owned()),
            });
        }
        let claim_id = ClaimId::from_uuid(system::new_id());
        let scopes = self.scopes(file, note);
        let made = match note.claim_type {
            ClaimType::Decision => self.decide(note, place, claim_id, (scopes, instead_of, key)),
            ClaimType::Fact | ClaimType::Hypothesis | ClaimType::Negative => {
                create(note, place, claim_id, (scopes, instead_of))
                    .and_then(|command| self.submit(command, Some(key)))
            }
        };
        Ok(match made {
            Ok(receipt) => {
                let became = match (receipt.state, receipt.duplicate) {
                    (Acceptance::Queued, _) => Became::Queued,
                    (Acceptance::Committed, true) => Became::Known,
                    (Acceptance::Committed, false) => Became::Added,
                };
                // The command of an earlier run made another claim.
                let claim_id = receipt.entity_id.map(ClaimId::from_uuid).or(Some(claim_id));
                let instead_of = instead_of.filter(|_| became != Became::Known);
                Line { claim_id, instead_of, ..Line::of(shown, became) }
            }
            Err(Failure::Rejected(refused)) => {
                let is = |codes: &[Code]| codes.contains(&refused.code);
                // These refuse the importer and not the note.
                if is(&[Code::Unavailable, Code::VersionMismatch, Code::AgentMismatch, Code::AgentRequired]) {
                    return Err(Failure::Rejected(refused));
                }
                if is(&[Code::DuplicateClaim, Code::IdempotencyConflict]) {
                    return Ok(Line::of(shown, Became::Known));
                }
                let why = privacy::redacted(&refused.message, &self.context.secrets());
                Line::refused(shown, refused.code, why)
            }
            Err(other) => return Err(other),
        })
    }

    /// Records a decision, and then ties its lines to it.
    fn decide(
        &self,
        note: &Note,
        place: &Place,
        claim_id: ClaimId,
        (scopes, old, key): (Vec<Scope>, Option<ClaimId>, IdempotencyKey),
    ) -> Result<Receipt, Failure> {
        let statement = note.text.parse().map_err(|problem| Rejection::invalid("statement", problem))?;
        let none = || format!("imported from {place}, which gives no rationale");
        let rationale = note.rationale.clone().unwrap_or_else(none);
        let command = RecordDecision {
            claim_id,
            statement: Some(statement),
            rationale: rationale.parse().map_err(|problem| Rejection::invalid("rationale", problem))?,
            context: None,
            target: None,
            scopes,
            alternatives: Vec::new(),
            supersedes: old.into_iter().collect(),
            mends: false,
            asks: Vec::new(),
            unless_objection_minutes: None,
            evidence_refs: Vec::new(),
            decided_at: None,
        };
        let receipt = self.submit(Command::RecordDecision(command), Some(key))?;
        if !receipt.duplicate {
            let evidence = AddEvidence {
                claim_id,
                evidence_ref: EvidenceName::At(place.clone()),
                relation: Relation::Supports,
                weight: Share::FULL,
                note: None,
            };
            self.submit(Command::AddEvidence(evidence), None)?;
        }
        Ok(receipt)
    }

    fn submit(&self, command: Command, key: Option<IdempotencyKey>) -> Result<Receipt, Failure> {
        let submission = self.context.submission(command, key)?;
        self.context.sent(&self.front, submission)
    }

    /// The files that a statement names and that are there, or else the file of notes; and the tag of that file.
    fn scopes(&self, file: &File, note: &Note) -> Vec<Scope> {
        let workspace = &self.context.workspace;
        let root = workspace.root();
        let texts = std::iter::once(note.text.as_str()).chain(note.links.iter().map(String::as_str));
        let named = Mentioned::in_texts(texts, &root.to_string_lossy()).into_places();
        let beside = root.join(file.path.as_str());
        let beside = beside.parent().unwrap_or(root);
        let is_there =
            |scope: &Scope| scope.is_path() && !scope.is_whole() && root.join(scope.as_str()).exists();
        let mut scopes: Vec<Scope> = Vec::new();
        for named in named.iter().filter(|named| named.is_path()) {
            // A link of a file is relative to its directory, a path in a sentence most often to the root.
            let there = [root, beside]
                .into_iter()
                .find_map(|from| workspace.scope_in(from, named.as_str()).ok().filter(is_there));
            scopes.extend(there.filter(|scope| !scopes.contains(scope) && scopes.len() < MAX_FILES));
        }
        if scopes.is_empty() {
            scopes.push(file.path.clone());
        }
        scopes.push(file.tag.clone());
        scopes
    }

    fn say(&self) -> Result<(), Failure> {
        let count = |became| self.lines.iter().filter(|line| line.became == became).count();
        let (added, known, refused) = (count(Became::Added), count(Became::Known), count(Became::Refused));
        let queued = count(Became::Queued);
        let to_add = if self.dry_run { "to add" } else { "added" };
        let mut text = String::new();
        for line in &self.lines {
            let said = |text: &str| clean::cut_line(text, SHOWN_CHARS);
            match (line.became, &line.why) {
                (Became::Refused, why) => {
                    let code = line.code.map_or("", Code::as_str);
                    text.push_str(&format!(
                        "refused: {}: {code}: {}\n",
                        line.place,
                        why.as_deref().unwrap_or_default()
                    ));
                }
                (became, _) if self.dry_run => {
                    let what = match (became, line.instead_of) {
                        (Became::Known, _) => "known".to_owned(),
                        (_, Some(old)) => format!("edited, instead of `{old}`"),
                        (_, None) => "new".to_owned(),
                    };
                    let kind = line.claim_type.map_or("", ClaimType::as_str);
                    let statement = said(line.statement.as_deref().unwrap_or_default());
                    text.push_str(&format!("{what}: {} ({kind}): {statement}\n", line.place));
                }
                _ => {}
            }
        }
        text.push_str(&format!("{added} {to_add}, {known} known, {refused} refused\n"));
        if queued > 0 {
            text.push_str(&format!("{queued} queued: the writer takes them when it starts\n"));
        }
        if !self.left_out.is_empty() {
            let places = self.left_out.join(", ");
            text.push_str(&format!(
                "left out, as tables, questions, and titles and items of one or two words: {places}\n"
            ));
        }
        let json = json!({
            "dry_run": self.dry_run, "added": added, "known": known, "queued": queued, "refused": refused,
            "left_out": self.left_out, "items": self.lines,
        });
        output::print(self.context.global.json, &output::fitted(&text), &json)
    }
}

/// The claim of a fact.
fn create(
    note: &Note,
    place: &Place,
    claim_id: ClaimId,
    (scopes, supersedes): (Vec<Scope>, Option<ClaimId>),
) -> Result<Command, Failure> {
    Ok(Command::CreateClaim(CreateClaim {
        event_type: None,
        mends: false,
        claim_id,
        statement: note.text.parse().map_err(|problem| Rejection::invalid("statement", problem))?,
        claim_type: note.claim_type,
        scopes,
        confidence: Share::default(),
        supersedes,
        ttl_hours: None,
        evidence_refs: vec![EvidenceName::At(place.clone())],
        trigger: None,
        origin_task_id: None,
        asks: Vec::new(),
        tells: Vec::new(),
        unless_objection_minutes: None,
    }))
}

/// The same for the same statement of the same file. A statement that comes back after an edit has another one.
fn key_of(file: &Scope, note: &Note, instead_of: Option<ClaimId>, known: &[Known]) -> IdempotencyKey {
    let text = folded(&note.text);
    let earlier = known.iter().filter(|known| known.is_superseded && folded(&known.statement) == text);
    let [instead_of, earlier] = [instead_of, earlier.map(|known| known.claim_id).max()]
        .map(|old| old.map(|old| old.to_string()).unwrap_or_default());
    let said = [file.as_str(), &text, &instead_of, &earlier].join("\0");
    let key = format!("notes:{}", hex::encode(Sha256::digest(said)));
    key.parse().expect("a hash is a short line")
}
