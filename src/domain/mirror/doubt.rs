//! What the ledger knows against the status of a claim: later runs, both outcomes on one content, and agreement to older
//! content. No file of a work tree is read, so that a mirror is the same everywhere.

use std::collections::BTreeSet;

use super::{Page, Pages};
use crate::domain::claim::{Basis, ClaimType, Position, Relation, Status};
use crate::domain::event::{ExperimentCompleted, ExperimentQueued, Recorded};
use crate::domain::experiment::{Against, Finished, ProfileName, RunState, Word, failed_elsewhere};
use crate::domain::ids::{ClaimId, EventId, RunId};
use crate::domain::time::Timestamp;
use crate::domain::versions::differ;

/// A run, as far as it matters for the proofs of claims.
#[derive(Debug, Clone)]
pub(super) struct Run {
    name: String,
    queued: Option<ExperimentQueued>,
    profile: Option<ProfileName>,
    state: RunState,
    /// Its place in the ledger, once it is over.
    seq: u64,
    completed: Option<EventId>,
    /// None without a directory.
    finished: Option<Finished>,
    test: Option<String>,
    content: Option<String>,
    /// The digest of the files of its claim.
    own: Option<String>,
}

impl Run {
    fn claim(&self) -> Option<ClaimId> {
        self.queued.as_ref().and_then(|queued| queued.claim_id)
    }

    /// Whether both are runs of one profile with the same arguments and the same outcome.
    fn is_alike(&self, other: &Self) -> bool {
        let args = |run: &Self| run.queued.as_ref().map(|queued| queued.args.clone()).unwrap_or_default();
        let is_same = self.profile.is_some() && self.profile == other.profile;
        is_same && self.state == other.state && args(self) == args(other)
    }
}

/// What is doubted about a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Doubts {
    pub(super) before_change: bool,
    pub(super) edits_unseen: bool,
    pub(super) unstable_at: Option<Timestamp>,
    pub(super) against: Option<Against>,
}

impl Pages {
    pub(super) fn queue(&mut self, name: String, queued: &ExperimentQueued) {
        let run = Run {
            name,
            profile: queued.plan.profile.clone(),
            queued: Some(queued.clone()),
            state: RunState::Queued,
            seq: 0,
            completed: None,
            finished: None,
            test: None,
            content: None,
            own: None,
        };
        self.runs.insert(queued.run_id, run);
    }

    /// A run is over. Returns the claims about which something else is doubted than before.
    pub(super) fn end(
        &mut self,
        name: String,
        recorded: &Recorded,
        ended: &ExperimentCompleted,
    ) -> Vec<ClaimId> {
        let proved: Vec<ClaimId> =
            self.claims.iter().filter(|(_, page)| page.proof.is_some()).map(|(id, _)| *id).collect();
        let before: Vec<Doubts> = proved.iter().map(|id| self.doubts(&self.claims[id])).collect();
        let queued = self.runs.remove(&ended.run_id);
        let key = ended.key.as_ref();
        let test = key.map(|key| key.check.as_ref().map_or(&key.test, |check| &check.test).clone());
        let content = key.map(|key| key.check.as_ref().map_or(&key.content, |check| &check.content).clone());
        let name = queued.as_ref().map_or(name, |queued| queued.name.clone());
        let queued = queued.and_then(|run| run.queued);
        let git = ended.outcome.git.as_ref();
        let finished = queued.as_ref().map(|queued| {
            let (cwd, line) = (queued.plan.cwd.to_string_lossy(), queued.plan.command_line());
            let dir = git.and_then(|git| git.prefix.as_deref());
            Finished::of(&cwd, line.as_str(), dir, test.clone(), ended.outcome.state)
        });
        let run = Run {
            name,
            profile: queued.as_ref().map_or(&ended.profile, |queued| &queued.plan.profile).clone(),
            queued,
            state: ended.outcome.state,
            seq: recorded.seq,
            completed: Some(recorded.id),
            finished,
            test,
            content,
            own: git.and_then(|git| git.own.clone()),
        };
        self.runs.insert(ended.run_id, run);
        if ended.outcome.state.is_conclusive() && !ended.asserted {
            self.weigh(recorded, ended);
        }
        self.steady(recorded, ended);
        let doubted = proved.into_iter().zip(before);
        doubted.filter(|(id, before)| self.doubts(&self.claims[id]) != *before).map(|(id, _)| id).collect()
    }

    /// Marks the proofs that a run of another claim speaks against, or takes their marks.
    fn weigh(&mut self, recorded: &Recorded, ended: &ExperimentCompleted) {
        let seq = ended.restates.map_or(recorded.seq, |place| place.seq);
        let (runs, new) = (&self.runs, &self.runs[&ended.run_id]);
        let Some(finished) = &new.finished else { return };
        for (id, page) in &mut self.claims {
            let Some(proof) = page.proof.and_then(|proof| runs.get(&proof)) else { continue };
            let is_earlier = proof.seq < seq && page.state == Status::Confirmed;
            // What a decided run says about its own claim is evidence.
            let is_own = proof.state != new.state && new.claim() == Some(*id) && ended.undecided.is_none();
            let Some(proof) = proof.finished.as_ref().filter(|_| is_earlier && !is_own) else { continue };
            let failed = page.failed.and_then(|failed| runs.get(&failed)?.finished.as_ref());
            match finished.word_on(proof, failed, ended.unstable.is_some()) {
                Some(Word::Against)
                    if failed_elsewhere(&ended.outcome.failed_in, &page.created.scopes).is_some() => {}
                Some(Word::Against) => page.failed = Some(ended.run_id),
                Some(Word::Restored) => page.failed = None,
                None => {}
            }
        }
    }

    /// Marks the content on which a test passed and failed, or takes the marks of a test that is stable again.
    fn steady(&mut self, recorded: &Recorded, ended: &ExperimentCompleted) {
        let Some(key) = &ended.key else { return };
        let check = key.check.as_ref().map(|check| (&check.test, &check.content));
        for (test, content) in [Some((&key.test, &key.content)), check].into_iter().flatten() {
            if ended.unstable.is_some() {
                self.mark(&BTreeSet::from([content.clone()]), Some(recorded.at));
            } else if ended.stable_again {
                let of_test = || self.runs.values().filter(|run| run.test.as_ref() == Some(test));
                let run = &self.runs[&ended.run_id];
                // Where the claim's files held something else, the content stays one that passed and failed.
                let is_kept = |other: &&Run| {
                    let is_other = run.own.is_some() && other.own.is_some() && other.own != run.own;
                    run.claim().is_some() && other.claim() == run.claim() && is_other
                };
                let kept: BTreeSet<&String> =
                    of_test().filter(is_kept).filter_map(|run| run.content.as_ref()).collect();
                let contents = of_test().filter_map(|run| run.content.as_ref());
                let contents: BTreeSet<String> =
                    contents.filter(|content| !kept.contains(content)).cloned().collect();
                self.mark(&contents, None);
            }
        }
    }

    fn mark(&mut self, contents: &BTreeSet<String>, since: Option<Timestamp>) {
        let is_on = |run: &&Run| run.content.as_ref().is_some_and(|content| contents.contains(content));
        let on: BTreeSet<EventId> =
            self.runs.values().filter(is_on).filter_map(|run| run.completed).collect();
        for page in self.claims.values_mut() {
            for link in page.evidence.iter_mut().filter(|link| link.run.is_some()) {
                if on.contains(&link.event) {
                    link.is_unstable = since.is_some();
                }
            }
            if page.proof.and_then(|proof| self.runs.get(&proof)).is_some_and(|run| is_on(&run)) {
                page.unstable_at = since;
            }
        }
    }

    /// Writes down what is doubted about these claims, and tells whether that changed.
    pub(super) fn doubt(&mut self, claims: &[ClaimId]) -> bool {
        let mut is_changed = false;
        for id in claims {
            let Some(doubted) = self.claims.get(id).map(|page| self.doubted(page)) else { continue };
            if let Some(page) = self.claims.get_mut(id).filter(|page| page.doubted != doubted) {
                (page.doubted, is_changed) = (doubted, true);
            }
        }
        is_changed
    }

    /// What is doubted about a confirmed claim.
    pub(super) fn doubts(&self, page: &Page) -> Doubts {
        if page.state != Status::Confirmed {
            return Doubts::default();
        }
        Doubts {
            before_change: page.is_agreed_before(),
            edits_unseen: page.basis == Some(Basis::Proved) && page.has_unversioned(),
            unstable_at: page.unstable_at.filter(|_| page.proof.is_some()),
            against: self.against(page),
        }
    }

    /// The run that contradicts a claim: since its proof, or about the content that the team agreed to.
    fn against(&self, page: &Page) -> Option<Against> {
        let of_proof =
            page.evidence.iter().filter(|link| page.proof.is_some() && link.run_id() == page.proof);
        let since = if page.is_proven { of_proof.map(|link| link.seq).max() } else { Some(page.content_at) };
        let links = || page.evidence.iter().filter(|link| since.is_some_and(|since| link.seq > since));
        let is_over = |failed: &super::Link| {
            let profile = failed.run.as_ref().and_then(|run| run.profile.as_ref());
            links().any(|later| {
                later.seq > failed.seq
                    && later.relation == Relation::Supports
                    && !later.is_unstable
                    && profile.is_some()
                    && later.run.as_ref().and_then(|run| run.profile.as_ref()) == profile
            })
        };
        let is_alike = |run: RunId| {
            let both = self.runs.get(&run).zip(self.runs.get(&page.proof?));
            both.map(|(run, proof)| run.is_alike(proof))
        };
        let is_hidden = |link: &super::Link| link.is_unstable && page.is_proven && page.unstable_at.is_some();
        let against = links().filter(|link| link.relation == Relation::Contradicts && !is_hidden(link));
        let against = against.filter(|link| !is_over(link));
        let last = against.filter(|link| link.run_id().is_some_and(|run| is_alike(run) != Some(true)));
        let last = last.max_by_key(|link| link.seq).and_then(|link| Some((link.run_id()?, link.seq)));
        let of_another_claim =
            || page.failed.filter(|_| page.unstable_at.is_none()).map(|run| (run, u64::MAX));
        let (run, seq) = last.or_else(of_another_claim)?;
        let is_before = !page.is_proven && page.confirmed_at.is_some_and(|confirmed| seq <= confirmed);
        Some(Against { run, has_passed: self.has_passed(run), is_before })
    }

    /// The doubts in the words of lists, each after a comma.
    fn doubted(&self, page: &Page) -> String {
        let Doubts { before_change, edits_unseen, unstable_at, against } = self.doubts(page);
        let mut said = String::new();
        for (holds, words) in [
            (before_change, ", before the change"),
            (edits_unseen, ", later edits unseen"),
            (unstable_at.is_some(), ", unstable"),
        ] {
            said.push_str(if holds { words } else { "" });
        }
        let against =
            against.map(|against| format!(", {} ({})", against.words(), self.run_name(against.run)));
        said + &against.unwrap_or_default()
    }

    /// Whether a run met its expectation.
    pub(super) fn has_passed(&self, id: RunId) -> bool {
        self.runs.get(&id).is_some_and(|run| run.state == RunState::Succeeded)
    }

    /// The short name of a run, or its id.
    pub(super) fn run_name(&self, id: RunId) -> String {
        self.runs.get(&id).map_or_else(|| id.to_string(), |run| run.name.clone())
    }
}

impl Page {
    /// Whether the agents that agreed to it, or else the silence, did so before the content that it is about now.
    fn is_agreed_before(&self) -> bool {
        let is_goal = self.created.claim_type == ClaimType::Decision;
        let others = self
            .positions
            .iter()
            .filter(|(agent, held)| held.position == Position::Support && **agent != self.owner);
        let mut others = others.map(|(agent, _)| self.sights.is_before_change(agent)).peekable();
        match self.basis.filter(|_| !is_goal) {
            Some(Basis::Agreed | Basis::Silence) if others.peek().is_some() => {
                others.all(|is_before| is_before)
            }
            Some(Basis::Silence) => {
                self.silent_of.as_ref().is_some_and(|agreed| differ(agreed, self.sights.last_versions()))
            }
            Some(Basis::Agreed | Basis::Proved | Basis::Unchecked) | None => false,
        }
    }

    /// Whether a path of it has no version, so that later edits there are not seen.
    fn has_unversioned(&self) -> bool {
        let versions = self.sights.last_versions();
        self.created.scopes.iter().filter(|scope| scope.is_path()).any(|path| !versions.contains_key(path))
    }
}
