//! Queries about contradictions and about the names of targets.

use std::collections::BTreeSet;

use rusqlite::{Row, params};
use serde::Serialize;

use super::claims::basis;
use super::rows::{Columns, InOrder, bound, only};
use super::silence::agreed_by_silence;
use super::{Reader, StoreError};
use crate::domain::agent::AgentId;
use crate::domain::claim::{Basis, ClaimType, ContradictionKind, Resolution, Status, Tier};
use crate::domain::ids::{ClaimId, EventId};
use crate::domain::notes;
use crate::domain::scope::Scope;

/// One side of a contradiction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideView {
    /// The claim.
    pub claim_id: ClaimId,
    /// The owner of the claim. None after an erasure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The agent that holds this side: it owns or supports the claim, or challenges the claim of the other side.
    pub agent: String,
    /// The statement of the claim. None after an erasure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// The status of the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The type of the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_type: Option<ClaimType>,
    /// The basis of its confirmation. None for other statuses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// The scopes of the claim.
    pub scopes: Vec<String>,
    /// When it was made, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    /// The reason of the challenge, if both sides have the same claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenge: Option<String>,
    /// Whether the operator stands by the claim. Then only the operator can end it.
    #[serde(skip)]
    pub is_the_operators: bool,
    /// The decisions in force on its target, while the contradiction is open.
    #[serde(skip)]
    pub on_target: OnTarget,
}

/// All decisions in force on the target of one. Empty for a claim without such a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OnTarget {
    /// The decisions, oldest first.
    pub decisions: Vec<ClaimId>,
    /// Whether the operator stands by one of them. Then only the operator replaces them.
    pub is_the_operators: bool,
}

/// A contradiction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contradiction {
    /// Id of the event that reported it.
    pub id: EventId,
    /// Short name, such as `X3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The kind of the contradiction.
    pub kind: ContradictionKind,
    /// The certainty of the rules.
    pub tier: Tier,
    /// Whether one agent holds both sides.
    #[serde(rename = "self")]
    pub is_own: bool,
    /// The older side.
    pub left: SideView,
    /// The side that caused the contradiction.
    pub right: SideView,
    /// The reason of its end. None while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Resolution>,
    /// When it was detected, epoch ms.
    pub detected_at: i64,
    /// When it ended, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<i64>,
    /// Ledger position of its detection.
    pub seq: u64,
    /// Whether it is an open challenge of an agent against a claim that the operator stands by. It contests the claim no
    /// more, and needs no move until the operator takes the word back.
    #[serde(rename = "outvoted", skip_serializing_if = "std::ops::Not::not")]
    pub is_outvoted: bool,
}

impl Contradiction {
    /// The rule of [`Contradiction::is_outvoted`], once the sides are as they stand now.
    fn outvoted(&self) -> bool {
        let Self { kind, left, right, .. } = self;
        *kind == ContradictionKind::Position
            && self.cause.is_none()
            && left.is_the_operators
            && left.status != Some(Status::Contested)
            && right.agent != AgentId::operator().as_str()
    }
}

/// A filter for contradictions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContradictionFilter {
    /// Ended contradictions instead of open ones.
    pub resolved: bool,
    /// Weak contradictions instead of strong ones.
    pub weak: bool,
    /// Cursor: the `next` of the previous page.
    pub before: Option<u64>,
    /// Maximum count.
    pub limit: usize,
}

/// A page of contradictions, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ContradictionPage {
    /// The contradictions.
    pub contradictions: Vec<Contradiction>,
    /// The cursor of the next page. None on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

pub(super) const COLUMNS: &str = concat!(
    "x.id, x.kind, x.tier, x.cause, x.detected_at, x.resolved_at, x.created_seq, \
     x.left_claim, x.left_agent, l.owner AS left_owner, l.statement AS left_statement, l.status AS left_status, \
     l.claim_type AS left_type, l.scopes AS left_scopes, l.created_at AS left_created_at, l.proof AS left_proof, \
     ",
    agreed_by_silence!("l"),
    " AS left_silence, \
     x.right_claim, x.right_agent, r.owner AS right_owner, r.statement AS right_statement, r.status AS right_status, \
     r.claim_type AS right_type, r.scopes AS right_scopes, r.created_at AS right_created_at, r.proof AS right_proof, \
     ",
    agreed_by_silence!("r"),
    " AS right_silence, \
     coalesce(p.reason, (SELECT f.reason FROM former_positions f WHERE f.claim_id = x.right_claim \
     AND x.left_claim = x.right_claim AND f.agent = x.right_agent AND f.position = 'challenge' \
     AND (x.status = 'open' OR f.seq < x.seq) ORDER BY f.seq DESC LIMIT 1)) AS challenge, \
     (SELECT letter || number FROM names WHERE names.id = x.id) AS name \
     FROM belief_contradictions x \
     LEFT JOIN claims l ON l.id = x.left_claim LEFT JOIN claims r ON r.id = x.right_claim \
     LEFT JOIN consensus p ON p.claim_id = x.right_claim AND p.agent = x.right_agent \
     AND p.position = 'challenge' AND x.left_claim = x.right_claim AND (x.status = 'open' OR p.seq < x.seq)"
);

/// The columns of one side.
struct Side {
    claim: &'static str,
    agent: &'static str,
    owner: &'static str,
    statement: &'static str,
    status: &'static str,
    claim_type: &'static str,
    scopes: &'static str,
    created_at: &'static str,
    proof: &'static str,
    by_silence: &'static str,
}

macro_rules! side {
    ($side:literal) => {
        Side {
            claim: concat!($side, "_claim"),
            agent: concat!($side, "_agent"),
            owner: concat!($side, "_owner"),
            statement: concat!($side, "_statement"),
            status: concat!($side, "_status"),
            claim_type: concat!($side, "_type"),
            scopes: concat!($side, "_scopes"),
            created_at: concat!($side, "_created_at"),
            proof: concat!($side, "_proof"),
            by_silence: concat!($side, "_silence"),
        }
    };
}

const LEFT: Side = side!("left");
const RIGHT: Side = side!("right");

/// The condition for contradictions of status `?1`. `?2` is the list of expired claims: their contradictions are over.
fn has_status(has_expired: bool, resolved: bool) -> String {
    let is_expired = "(x.left_claim IN (SELECT value FROM json_each(?2)) \
                       OR x.right_claim IN (SELECT value FROM json_each(?2)))";
    match (has_expired, resolved) {
        (false, _) => "x.status = ?1 AND ?2 IS NULL".to_owned(),
        (true, false) => format!("x.status = ?1 AND NOT {is_expired}"),
        (true, true) => format!("(x.status = ?1 OR {is_expired})"),
    }
}

impl Reader {
    /// A page of contradictions, newest first.
    pub fn contradictions(&self, filter: &ContradictionFilter) -> Result<ContradictionPage, StoreError> {
        let status = if filter.resolved { "resolved" } else { "open" };
        let tier = if filter.weak { Tier::Weak } else { Tier::Strong };
        let before = bound(filter.before.unwrap_or(u64::MAX));
        let expired = self.expired_ids();
        let is_wanted = has_status(expired.is_some(), filter.resolved);
        let sql = format!(
            "SELECT {COLUMNS} WHERE {is_wanted} AND x.tier = ?3 AND x.created_seq < ?4 \
             ORDER BY x.created_seq DESC LIMIT ?5"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let most = bound(filter.limit.saturating_add(1));
        let rows = statement.query(params![status, expired, tier, before, most])?;
        let columns = Columns::default();
        let (contradictions, next) =
            self.page_of(rows, filter.limit, "created_seq", |row| self.contradiction_of(&columns.of(row)))?;
        Ok(ContradictionPage { contradictions: contradictions.into_iter().flatten().collect(), next })
    }

    /// The number of open contradictions, without weak ones and challenges that the operator outvotes.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the read models cannot be read.
    pub fn open_contradictions(&self) -> Result<u64, StoreError> {
        let expired = self.expired_ids();
        let is_wanted = has_status(expired.is_some(), false);
        let sql = format!("SELECT count(*) FROM belief_contradictions x WHERE {is_wanted} AND x.tier = ?3");
        let mut statement = self.db.prepare_cached(&sql)?;
        let all: u64 = statement.query_row(params!["open", expired, Tier::Strong], |row| row.get(0))?;
        // Few challenges are open against a claim that is not contested, and none is outvoted if the operator says nothing.
        // Indexes tell both, so that no claim is read for this.
        let sql = format!(
            "SELECT x.left_claim FROM belief_contradictions x JOIN claims c ON c.id = x.left_claim WHERE {is_wanted} \
             AND x.tier = ?3 AND x.kind = 'position' AND x.right_agent <> 'operator' \
             AND c.created_seq NOT IN (SELECT created_seq FROM claims WHERE status = 'contested') \
             AND (EXISTS (SELECT 1 FROM claim_counts WHERE owner = 'operator') \
             OR EXISTS (SELECT 1 FROM consensus WHERE agent = 'operator'))"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let settled: Vec<ClaimId> =
            self.kept_of(statement.query(params!["open", expired, Tier::Strong])?, only)?;
        let mut outvoted = 0;
        for claim in settled {
            outvoted += u64::from(self.is_the_operators(claim)?);
        }
        Ok(all.saturating_sub(outvoted))
    }

    /// A contradiction, open or ended.
    pub fn contradiction(&self, id: EventId) -> Result<Option<Contradiction>, StoreError> {
        let mut one = self.db.prepare_cached(&format!("SELECT {COLUMNS} WHERE x.id = ?1"))?;
        let columns = Columns::default();
        Ok(self.kept_one(one.query([id])?, |row| self.contradiction_of(&columns.of(row)))?.flatten())
    }

    /// Reads a contradiction from its row, with sides that may have expired. None if the claim of a side is unreadable.
    fn contradiction_of(&self, row: &InOrder<'_, '_>) -> Result<Option<Contradiction>, StoreError> {
        let mut both = match contradiction(row) {
            Ok(both) => both,
            Err(error) => return self.without_side(row.row, error),
        };
        let mut is_over = false;
        for side in [&mut both.left, &mut both.right] {
            is_over |= self.is_expired(side.claim_id);
            side.status = side.status.map(|stands| self.status_of(side.claim_id, stands));
            side.basis = side.basis.filter(|_| side.status == Some(Status::Confirmed));
            side.is_the_operators = self.is_the_operators(side.claim_id)?;
        }
        if is_over && both.cause.is_none() {
            both.cause = Some(Resolution::Expired);
        }
        if both.cause.is_none() {
            for side in [&mut both.left, &mut both.right] {
                side.on_target = self.on_target_of(side.claim_id, side.claim_type)?;
            }
        }
        both.is_outvoted = both.outvoted();
        Ok(Some(both))
    }

    /// Leaves out a contradiction with an unreadable claim. Any other error stays one.
    fn without_side(&self, row: &Row<'_>, error: StoreError) -> Result<Option<Contradiction>, StoreError> {
        for columns in [LEFT, RIGHT] {
            let side = columns.read(&Columns::default().of(row));
            if let (Ok(claim), Err(error)) = (row.get::<_, String>(columns.claim), side) {
                self.leave_out(super::key_of_id(claim.as_bytes()), &claim, error)?;
                return Ok(None);
            }
        }
        Err(error)
    }

    /// The decisions in force on the target of a claim.
    pub fn on_target_of(
        &self,
        claim: ClaimId,
        claim_type: Option<ClaimType>,
    ) -> Result<OnTarget, StoreError> {
        if claim_type != Some(ClaimType::Decision) {
            return Ok(OnTarget::default());
        }
        let sql =
            "SELECT o.canonical FROM decisions e JOIN targets o ON o.name = e.target WHERE e.claim_id = ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        let target: Option<String> = self.kept_one(statement.query([claim])?, only)?;
        target.map_or_else(|| Ok(OnTarget::default()), |target| self.on_target(&target))
    }

    /// The decisions in force on a target.
    pub fn on_target(&self, target: &str) -> Result<OnTarget, StoreError> {
        let sql = "SELECT d.claim_id FROM decisions d JOIN claims c ON c.id = d.claim_id \
                   JOIN targets t ON t.name = d.target WHERE c.status <> 'deprecated' AND t.canonical = \
                   (SELECT canonical FROM targets WHERE name = ?1) ORDER BY d.created_seq";
        let mut statement = self.db.prepare_cached(sql)?;
        let decisions: Vec<ClaimId> = self.kept_of(statement.query([target])?, only)?;
        let mut is_the_operators = false;
        for decision in &decisions {
            is_the_operators |= self.is_the_operators(*decision)?;
        }
        Ok(OnTarget { decisions, is_the_operators })
    }

    /// The other decisions in force on the target of a decision, in words: `C2 on target:db`. None without any.
    pub(super) fn rivals_of(&self, claim: ClaimId) -> Result<Option<String>, StoreError> {
        let sql = "SELECT o.claim_id AS id, t.canonical FROM decisions d JOIN targets t ON t.name = d.target \
                   JOIN targets s ON s.canonical = t.canonical JOIN decisions o ON o.target = s.name \
                   JOIN claims c ON c.id = o.claim_id WHERE d.claim_id = ?1 AND o.claim_id <> ?1 \
                   AND c.status <> 'deprecated' ORDER BY o.created_seq";
        let mut statement = self.db.prepare_cached(sql)?;
        let others = self.kept_of(statement.query([claim])?, |row| {
            Ok::<_, rusqlite::Error>((row.get::<_, ClaimId>("id")?, row.get::<_, String>("canonical")?))
        })?;
        let mut names = Vec::new();
        for (id, _) in others.iter().filter(|(id, _)| !self.is_expired(*id)) {
            names.push(self.name_given(*id)?.unwrap_or_else(|| id.to_string()));
        }
        let target = others.first().map(|(_, target)| target.as_str()).unwrap_or_default();
        Ok((!names.is_empty()).then(|| format!("{} on {target}", names.join(" and "))))
    }

    /// The confirmed claims that contradict another confirmed claim, without one that a run proved where the other is only
    /// agreed. Decisions on one target say so themselves.
    pub fn confirmed_opposites(&self) -> Result<BTreeSet<ClaimId>, StoreError> {
        let sql = "SELECT x.left_claim, x.right_claim, coalesce(l.proof_run, '') > '' AS left_proved, \
                   coalesce(r.proof_run, '') > '' AS right_proved FROM belief_contradictions x \
                   CROSS JOIN claims l ON l.id = x.left_claim CROSS JOIN claims r ON r.id = x.right_claim \
                   WHERE x.status = 'open' AND x.tier = 'strong' AND x.left_claim <> x.right_claim \
                   AND x.kind IN ('polarity', 'value', 'explicit') AND l.status = 'confirmed' AND r.status = 'confirmed'";
        let mut statement = self.db.prepare_cached(sql)?;
        let pairs = self.kept_of(statement.query([])?, |row| {
            let sides: [(ClaimId, bool); 2] = [
                (row.get("left_claim")?, row.get("left_proved")?),
                (row.get("right_claim")?, row.get("right_proved")?),
            ];
            Ok::<_, rusqlite::Error>(sides)
        })?;
        let in_dispute = |[left, right]: [(ClaimId, bool); 2]| {
            let sides = [(left, right.1), (right, left.1)];
            sides.into_iter().filter(|((_, own), other)| *other || !*own).map(|((id, _), _)| id)
        };
        Ok(pairs.into_iter().flat_map(in_dispute).collect())
    }

    /// Whether the operator owns or supports the claim, and the recorded policy protects it from agents.
    pub fn is_the_operators(&self, claim: ClaimId) -> Result<bool, StoreError> {
        Ok(self.has_operators_word(claim)? && !self.agents_may_override_operator()?)
    }

    /// Whether the operator owns or supports the claim. Notes that the operator imported are the words of a file.
    pub fn has_operators_word(&self, claim: ClaimId) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM claims WHERE id = ?1 AND owner = 'operator' AND NOT EXISTS \
                   (SELECT 1 FROM json_each(scopes) WHERE value LIKE ?2 || '%')) OR EXISTS \
                   (SELECT 1 FROM consensus WHERE claim_id = ?1 AND agent = 'operator' AND position = 'support')";
        Ok(self.db.prepare_cached(sql)?.query_row(params![claim, notes::TAG], only)?)
    }

    /// The contradictions of a claim, open and ended, oldest first.
    pub(super) fn contradictions_of(&self, claim: ClaimId) -> Result<Vec<Contradiction>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} WHERE x.id IN (SELECT id FROM belief_contradictions WHERE left_claim = ?1 \
             UNION SELECT id FROM belief_contradictions WHERE right_claim = ?1) ORDER BY x.created_seq"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let columns = Columns::default();
        let found = self.kept_of(statement.query([claim])?, |row| self.contradiction_of(&columns.of(row)))?;
        Ok(found.into_iter().flatten().collect())
    }

    /// All names of the target of a scope. Any other scope has one name.
    pub(super) fn names_of(&self, scope: &Scope) -> Result<Vec<String>, StoreError> {
        let mut names = vec![scope.to_string()];
        if scope.is_target() {
            let sql = "SELECT name FROM targets WHERE name <> ?1 AND \
                       canonical = (SELECT canonical FROM targets WHERE name = ?1) ORDER BY name";
            let mut statement = self.db.prepare_cached(sql)?;
            names.extend(self.kept_of(statement.query([scope])?, only)?);
        }
        Ok(names)
    }

    /// All targets with their aliases, sorted by name.
    pub fn targets(&self) -> Result<Vec<Target>, StoreError> {
        let sql = "SELECT canonical, name FROM targets ORDER BY canonical, name";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = self.kept_of(statement.query([])?, |row| {
            Ok::<(String, String), rusqlite::Error>((row.get("canonical")?, row.get("name")?))
        })?;
        let mut targets: Vec<Target> = Vec::new();
        for (target, name) in rows {
            if targets.last().is_none_or(|last| last.target != target) {
                targets.push(Target { target: target.clone(), aliases: Vec::new() });
            }
            if let Some(last) = targets.last_mut().filter(|_| name != target) {
                last.aliases.push(name);
            }
        }
        Ok(targets)
    }
}

/// A target of decisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Target {
    /// The canonical name.
    pub target: String,
    /// The aliases.
    pub aliases: Vec<String>,
}

pub(super) fn contradiction(row: &InOrder<'_, '_>) -> Result<Contradiction, StoreError> {
    let (id, kind, tier, cause) = (row.get("id")?, row.get("kind")?, row.get("tier")?, row.get("cause")?);
    let (detected_at, resolved_at) = (row.get("detected_at")?, row.get("resolved_at")?);
    let seq = row.get("created_seq")?;
    let left = LEFT.read(row)?;
    let right = RIGHT.read(row)?;
    Ok(Contradiction {
        id,
        kind,
        tier,
        is_own: left.agent == right.agent,
        left,
        right: SideView { challenge: row.get("challenge")?, ..right },
        name: row.get("name")?,
        cause,
        detected_at,
        resolved_at,
        seq,
        is_outvoted: false,
    })
}

impl Side {
    fn read(&self, row: &InOrder<'_, '_>) -> Result<SideView, StoreError> {
        let (claim_id, agent, owner) = (row.get(self.claim)?, row.get(self.agent)?, row.get(self.owner)?);
        let (statement, status) = (row.get(self.statement)?, row.get::<Option<Status>>(self.status)?);
        let claim_type = row.get(self.claim_type)?;
        let scopes = row.json::<Option<_>>(self.scopes)?.unwrap_or_default();
        let created_at = row.get(self.created_at)?;
        let (proof, by_silence): (_, Option<bool>) = (row.get(self.proof)?, row.get(self.by_silence)?);
        Ok(SideView {
            claim_id,
            owner,
            agent,
            statement,
            status,
            basis: status.and_then(|status| basis(status, proof, by_silence.unwrap_or_default())),
            claim_type,
            scopes,
            created_at,
            challenge: None,
            is_the_operators: false,
            on_target: OnTarget::default(),
        })
    }
}
