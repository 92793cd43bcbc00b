//! The element of one piece of news in a delta.

use std::collections::{BTreeMap, BTreeSet};

use super::super::items::{
    ANSWERED, MAX_ANCHOR_CHARS, MAX_WARNING_CHARS, avoid, contradiction_in, kind, question,
};
use super::super::xml::{Tag, chars, line, word_end};
use super::super::{Claim, DeadEnd, How, MAX_GLANCE_CHARS, MAX_NAME_CHARS, Side, beside, claim, lock};
use super::{Body, Form, GLANCE_CHARS, Moved, Names, News, SUPPORT_CHARS, WHY_CHARS, Waiting};
use crate::domain::claim::Status;
use crate::domain::commit::short;
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;

pub(super) fn written(news: &News, form: Form, now: Timestamp) -> String {
    let Waiting { was, paths, .. } = &news.waiting;
    match (&news.body, form) {
        (Body::Intent(intent), _) => Tag::open("trajectory").with("intent", intent).empty(),
        // A question is shown whole or not at all.
        (Body::Question(asked), _) => question(asked, now),
        (Body::Claim(it), Form::Full) if it.status != Status::Deprecated => {
            let text = line(&it.statement, MAX_WARNING_CHARS) + &line(&why(it), MAX_WARNING_CHARS);
            claim("claim", it, now).with_any("agreed_by", agreed_by(it)).with_any("was", *was).escaped(&text)
        }
        (Body::Claim(it), Form::Whole(max_chars)) if it.status != Status::Deprecated => claim_line(it, *was)
            .with("scope", glance(&it.scopes.join(" ")))
            .with("age", it.created_at.age(now))
            .text(&(whole(it, max_chars) + &beside(it) + &why(it))),
        (Body::Claim(it), _) => claim_line(it, *was).text(&glance(&it.statement)),
        (Body::Moved(it), _) => {
            let tag = Tag::open("claim").with("id", &it.id);
            let tag = match &it.by {
                Some(by) => {
                    let tag = tag.with_any("was", *was).with("status", it.status);
                    tag.with_any("doubt", it.doubt.as_deref()).with("by", by)
                }
                None => tag,
            };
            tag.text(&it.text())
        }
        (Body::DeadEnd(dead_end), Form::Full | Form::Whole(_)) => avoid(dead_end, now),
        (Body::DeadEnd(DeadEnd { claim: it, .. }), Form::Line) => Tag::open("avoid")
            .with("claim", &it.id)
            .with("scope", glance(&it.scopes.join(" ")))
            .with("by", &it.by)
            .text(&glance(&it.statement)),
        (Body::Contradiction(both), Form::Full) => contradiction_in(both, MAX_GLANCE_CHARS, now),
        (Body::Contradiction(both), Form::Whole(max_chars)) => contradiction_in(both, max_chars, now),
        (Body::Contradiction(both), Form::Line) => {
            let said = |Side { by, said, challenge, .. }: &Side| {
                let says = challenge.as_ref().or(said.as_ref().map(|(_, _, text)| text));
                let glance = says.map_or_else(|| "erased".to_owned(), |text| glance(text));
                format!("{}: {}", line_of(by, MAX_NAME_CHARS), glance.replace('|', "¦"))
            };
            let [left, right] = &both.sides;
            Tag::open("contradiction")
                .with("id", &both.id)
                .with("kind", both.kind)
                .with("a", &left.claim)
                .with_any("move", (!both.moves.is_empty()).then(|| both.moves.join(" or ")))
                .text(&format!("{} | {}", said(left), said(right)))
        }
        (Body::Run(run), form) => {
            let tag = Tag::open("run")
                .with("id", &run.id)
                .with("claim", &run.claim)
                .with("claim_status", run.claim_status)
                .with_any("doubt", run.doubt.as_deref())
                .with("by", &run.by)
                .with("ended", &run.ended)
                .with_any("says", run.says.as_ref());
            match form {
                Form::Line => tag.text(&glance(&run.statement)),
                Form::Full | Form::Whole(_) => {
                    tag.with("age", run.at.age(now)).escaped(&line(&run.statement, MAX_WARNING_CHARS))
                }
            }
        }
        (Body::Task(task), form) => {
            let tag = Tag::open("task")
                .with("id", &task.id)
                .with("status", &task.status)
                .with_any("to", task.to.as_ref())
                .with_any("for", task.meant_for.as_ref())
                .with_any("locks", (!task.locks.is_empty()).then(|| task.locks.join(" ")));
            match form {
                Form::Line => tag.text(&glance(&task.title)),
                Form::Full | Form::Whole(_) => tag.escaped(&line(&task.title, MAX_WARNING_CHARS)),
            }
        }
        (Body::Anchor(anchor), form) => {
            let space = anchor.is_users.then_some("user");
            let tag = Tag::open("anchor").with("key", &anchor.key).with_any("space", space);
            match form {
                Form::Line => tag.text(&glance(&anchor.value)),
                Form::Full | Form::Whole(_) => {
                    tag.with("age", anchor.set_at.age(now)).escaped(&line(&anchor.value, MAX_ANCHOR_CHARS))
                }
            }
        }
        (Body::Locks(locks), _) => locks.iter().map(lock).collect(),
        (Body::Unlocked { by, scopes }, _) => Tag::open("unlocked")
            .with("by", by)
            .with_any("n", Some(scopes.len()).filter(|number| *number > 1))
            .text(&line_of(&scopes.join(" "), MAX_WARNING_CHARS)),
        (Body::Peer(it), _) => Tag::open("peer").with("name", &it.agent).text(&glance(&it.wants)),
        (Body::Merged { by, worktree, branch }, _) => {
            let files = if paths.len() == 1 { "1 file".to_owned() } else { format!("{} files", paths.len()) };
            Tag::open("merged")
                .with("by", by)
                .with_any("worktree", worktree.as_ref())
                .text(&format!("merged {} ({files})", glance(branch)))
        }
        (Body::Commit { by, commit }, _) => {
            let files: Vec<&str> = paths.iter().map(Scope::as_str).collect();
            let subject = commit.subject.as_deref().unwrap_or("a commit without a message");
            Tag::open("commit")
                .with("sha", short(&commit.sha))
                .with_any("by", by.as_ref().or(commit.author.as_ref()))
                .with("files", glance(&files.join(" ")))
                .text(&glance(subject))
        }
        (Body::Edits { by, worktree, at }, form) => {
            let room = if matches!(form, Form::Line) { GLANCE_CHARS } else { MAX_WARNING_CHARS };
            let files: Vec<&str> = paths.iter().map(Scope::as_str).collect();
            Tag::open("edited")
                .with("by", by)
                .with_any("files", Some(files.len()).filter(|number| *number > 1))
                .with_any("worktree", worktree.as_ref())
                .with_any("age", at.map(|at| at.age(now)))
                .escaped(&line(&files.join(" "), room))
        }
    }
}

/// The texts of news, with one for all claims of the reader that the same agents confirmed for the same reason, and one for
/// those of others that the reader knows. A reason that stands above is told no second time.
pub(super) fn confirmed_together<'n>(
    news: impl Iterator<Item = (&'n News, &'n str)>,
    names: Names<'_>,
) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut groups: BTreeMap<String, (usize, Vec<&str>)> = BTreeMap::new();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let mut of_others: (usize, Vec<&Moved>) = (0, Vec::new());
    for (news, text) in news {
        if let (
            Body::Moved(moved @ Moved { status: Status::Confirmed, by: Some(_), why: None, doubt: None, .. }),
            Some(Status::Proposed),
        ) = (&news.body, news.waiting.was)
        {
            of_others.1.push(moved);
            match of_others.1.as_slice() {
                [_] => {
                    of_others.0 = texts.len();
                    texts.push(text.to_owned());
                }
                moved => {
                    let said = Tag::open("confirmed").with("n", moved.len()).text(&by_owner(moved));
                    texts[of_others.0] = names(&said);
                }
            }
            continue;
        }
        let Body::Moved(moved @ Moved { status: Status::Confirmed, by: None, .. }) = &news.body else {
            texts.push(text.to_owned());
            continue;
        };
        let why = moved.why_changed(&BTreeSet::new());
        let said_once = line_of(&why, SUPPORT_CHARS);
        let (place, ids) = groups.entry(why).or_insert_with(|| (texts.len(), Vec::new()));
        ids.push(&moved.id);
        match ids.as_slice() {
            [_] => {
                let said = moved.text_after(&told);
                told.extend(moved.reasons_in(&moved.text()));
                let is_shorter = said != moved.text();
                texts.push(match is_shorter {
                    true => names(&Tag::open("claim").with("id", &moved.id).text(&said)),
                    false => text.to_owned(),
                });
            }
            ids => {
                let said = format!("your {} are confirmed: {said_once}", ids.join(", "));
                texts[*place] = names(&Tag::open("confirmed").with("n", ids.len()).text(&said));
            }
        }
    }
    texts
}

/// The ids of claims by their owners: `C10, C5 of architect; C27 of claude-3`.
fn by_owner(moved: &[&Moved]) -> String {
    let mut owners: Vec<(&str, Vec<&str>)> = Vec::new();
    for it in moved {
        let owner = it.by.as_deref().unwrap_or_default();
        match owners.iter_mut().find(|(known, _)| *known == owner) {
            Some((_, ids)) => ids.push(&it.id),
            None => owners.push((owner, vec![&it.id])),
        }
    }
    let of = |(owner, ids): &(&str, Vec<&str>)| format!("{} of {owner}", ids.join(", "));
    owners.iter().map(of).collect::<Vec<_>>().join("; ")
}

/// The element of a claim in one line.
pub(super) fn claim_line(it: &Claim, was: Option<Status>) -> Tag {
    Tag::open("claim")
        .with("id", &it.id)
        .with_any("type", kind(it))
        .with_any("was", was)
        .with("status", it.status)
        .with_any("doubt", it.doubt.as_deref())
        .with_any("proved_by", it.proved_by.as_deref().filter(|_| it.answers_reader))
        .with_any("your_challenge", it.answers_reader.then_some(ANSWERED))
        .with("by", &it.by)
        .with_any("amends", amended(it))
        .with_any("agreed_by", agreed_by(it))
}

/// The id of the decision that a decision amends.
fn amended(claim: &Claim) -> Option<&str> {
    claim.replaced.as_ref().filter(|old| old.how == How::Amended).map(|old| old.id.as_str())
}

/// The agents that confirmed another agent's claim.
pub(super) fn agreed_by(claim: &Claim) -> Option<String> {
    (!claim.agreed_by.is_empty()).then(|| claim.agreed_by.join(" "))
}

/// The beginning of a text, on one line.
pub(super) fn glance(text: &str) -> String {
    line_of(text, GLANCE_CHARS)
}

/// Cuts a text to one line of at most `max_chars` characters before escaping, between two words.
pub(super) fn line_of(text: &str, max_chars: usize) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = line.char_indices().nth(max_chars) {
        line.truncate(cut);
        line.truncate(word_end(&line));
        line.push('…');
    }
    line
}

/// A statement on one line. A longer one is cut after a sentence, or between two words, and the command that shows the
/// rest follows.
fn whole(it: &Claim, max_chars: usize) -> String {
    let cut = line_of(&it.statement, max_chars);
    let Some(kept) = cut.strip_suffix('…').filter(|_| cut.chars().count() < chars_of(&it.statement)) else {
        return cut;
    };
    let ends = ['.', ';'].iter().filter_map(|end| kept.rfind(&format!("{end} ")));
    let sentence = ends.max().filter(|at| at * 3 >= kept.len() * 2);
    let kept = sentence.map_or(kept, |at| &kept[..=at]);
    format!("{kept} … (`hm claim show {}` shows the rest)", it.id)
}

/// The characters of a text on one line.
fn chars_of(text: &str) -> usize {
    text.split_whitespace().map(|word| chars(word) + 1).sum::<usize>().saturating_sub(1)
}

/// The reason of a claim that replaces another one.
fn why(it: &Claim) -> String {
    let why = it.digest.as_ref().and_then(|digest| digest.why.as_ref());
    why.map_or_else(String::new, |why| format!("; why: {}", line_of(why, WHY_CHARS)))
}
