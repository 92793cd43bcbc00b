//! Guards: their projection, their outcomes, and the guards that an action meets.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use super::rows::{Json, bound, json, malformed, only};
use super::{Myself, Reader, StoreError};
use crate::domain::action::{self, Kind};
use crate::domain::claim::Position;
use crate::domain::event::{Event, Guard, GuardAccepted, GuardFired, GuardMuted, PositionTaken, Recorded};
use crate::domain::experiment::ProfileName;
use crate::domain::guard::{
    self, Condition, Counts, ESCALATES_AFTER, Effect, Firing, Mute, Outcome, Rule, Subject, Unmet,
};
use crate::domain::ids::{ClaimId, GuardId, SessionId};
use crate::domain::text::CommandLine;
use crate::domain::time::Timestamp;

/// Maximum number of guards to compare for one action, newest first.
const MAX_CANDIDATES: usize = 1_000;

pub(super) fn accepted(db: &Connection, at: &Recorded, body: &GuardAccepted) -> Result<(), StoreError> {
    let id = body.guard_id.to_string();
    db.prepare_cached(
        "INSERT INTO guards (id, condition, action, text, claim_id, until, accepted_by, accepted_at, seq, profile) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        id,
        Json(&body.condition),
        body.action.as_str(),
        body.text.as_str(),
        body.source_claim,
        body.until,
        at.agent,
        at.at,
        at.seq,
        body.profile.as_ref().map(ProfileName::as_str)
    ])?;
    let mut keys: Vec<(String, String)> =
        body.condition.keys().into_iter().map(|(kind, key)| (kind.to_string(), key)).collect();
    if keys.is_empty() {
        keys.push(Default::default());
    }
    let mut add =
        db.prepare_cached("INSERT OR IGNORE INTO guard_keys (kind, key, guard_id) VALUES (?1, ?2, ?3)")?;
    for (kind, key) in keys {
        add.execute(params![kind, key, id])?;
    }
    Ok(())
}

pub(super) fn muted(db: &Connection, at: &Recorded, body: &GuardMuted) -> Result<(), StoreError> {
    let id = body.guard.uuid().to_string();
    db.prepare_cached(
        "INSERT INTO guard_mutes (guard, seq, scope, until, agent, at, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![id, at.seq, body.scope, body.until, at.agent, at.at, body.reason])?;
    settled(db, &id)
}

/// An agent has looked at a guard: it asks for nothing until its outcomes do so again.
pub(super) fn settled(db: &Connection, guard: &str) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE guard_counts SET asks = 0, escalated_at = NULL, ignored_in_row = 0, wrong_in_row = 0 \
         WHERE guard = ?1",
    )?
    .execute([guard])?;
    Ok(())
}

/// A challenge of a claim settles what was asked of its guards.
pub(super) fn challenged(db: &Connection, body: &PositionTaken) -> Result<(), StoreError> {
    if body.position != Position::Challenge {
        return Ok(());
    }
    over(db, body.claim_id)
}

/// A claim is challenged or over.
pub(super) fn over(db: &Connection, claim: ClaimId) -> Result<(), StoreError> {
    settled(db, &claim.to_string())?;
    let mut of_claim = db.prepare_cached("SELECT id FROM guards WHERE claim_id = ?1")?;
    let guards: Vec<String> = of_claim.query_map([claim], only)?.collect::<Result<_, _>>()?;
    guards.iter().try_for_each(|guard| settled(db, guard))
}

/// Counts a firing that will get an outcome.
pub(super) fn fired(db: &Connection, at: &Recorded, body: &GuardFired) -> Result<(), StoreError> {
    if body.did.is_none() || !matches!(body.guard, Guard::Claim(_) | Guard::Rule(_)) {
        return Ok(());
    }
    let id = body.guard.uuid().to_string();
    let (mut counts, escalated) = counts_of(db, &id)?.unwrap_or_default();
    counts.fired += 1;
    let effect: Option<String> =
        db.prepare_cached("SELECT action FROM guards WHERE id = ?1")?.query_row([&id], only).optional()?;
    let escalates = effect.as_deref() == Some(Effect::Escalate.as_str());
    write(db, at, &id, &counts, escalated.or(escalates.then_some(at.at.ms())))
}

/// Gives the open firings of a session the outcome that an event decides.
pub(super) fn observed(db: &Connection, at: &Recorded, event: &Event) -> Result<(), StoreError> {
    let Some(session) = at.session.as_ref().map(SessionId::as_str).filter(|_| guard::decides(event)) else {
        return Ok(());
    };
    let mut open = db.prepare_cached(
        "SELECT guard, seq, kind, did, outcome IS NOT NULL AS is_unclear FROM firings \
         WHERE session = ?1 AND did IS NOT NULL AND outcome_seq IS NULL",
    )?;
    type Open<D> = (String, u64, String, bool, D);
    let open: Vec<Open<CommandLine>> = open
        .query_map([session], |row| {
            let did: String = row.get("did")?;
            Ok((row.get("guard")?, row.get("seq")?, row.get("kind")?, row.get("is_unclear")?, did))
        })?
        .filter_map(Result::ok)
        .filter_map(|(guard, seq, kind, is_unclear, did)| {
            Some((guard, seq, kind, is_unclear, did.parse().ok()?))
        })
        .collect();
    for (id, seq, kind, is_unclear, did) in open {
        let kind: Kind = kind.parse().map_err(malformed)?;
        let (advice, places) = if kind == Kind::Error {
            (advice_of(db, &id)?, places_of(db, session, did.as_str(), seq)?)
        } else {
            Default::default()
        };
        let Some(mut outcome) = guard::outcome(&Firing { kind, did, advice, places }, event) else {
            continue;
        };
        // What may have run was not left alone. A later run may show more, until the turn ends.
        let is_open = outcome == Outcome::Unclear;
        if is_unclear && outcome == Outcome::Followed {
            outcome = Outcome::Unclear;
        }
        if outcome == Outcome::ProvedWrong && !claims(db, &id)? {
            outcome = Outcome::Ignored;
        }
        db.prepare_cached(
            "UPDATE firings SET outcome = ?4, outcome_seq = ?5 WHERE session = ?1 AND guard = ?2 AND seq = ?3",
        )?
        .execute(params![session, id, seq, outcome.as_str(), (!is_open).then_some(at.seq)])?;
        let (mut counts, mut escalated) = counts_of(db, &id)?.unwrap_or_default();
        counts.add(outcome);
        if outcome.escalates() && times_ignored(db, session, &id)? == ESCALATES_AFTER {
            escalated = Some(at.at.ms());
        }
        write(db, at, &id, &counts, escalated)?;
    }
    Ok(())
}

/// What a guard or a dead end says.
fn advice_of(db: &Connection, guard: &str) -> Result<String, StoreError> {
    let mut says = db.prepare_cached(
        "SELECT text FROM guards WHERE id = ?1 UNION ALL SELECT statement FROM claims WHERE id = ?1 LIMIT 1",
    )?;
    Ok(says.query_row([guard], only).optional()?.unwrap_or_default())
}

/// The places of the last command of a session that failed with an error before a ledger position.
fn places_of(db: &Connection, session: &str, error: &str, before: u64) -> Result<Vec<String>, StoreError> {
    let mut failed = db.prepare_cached(
        "SELECT action FROM observations WHERE error = ?1 AND session = ?2 AND seq < ?3 AND kind = 'command' \
         ORDER BY n DESC LIMIT 1",
    )?;
    let found = failed.query_row(params![error, session, bound(before)], |row| json(row, "action"));
    let lines: Vec<CommandLine> = found.optional()?.unwrap_or_default();
    Ok(action::targets_of(&lines))
}

/// Whether a guard rests on a claim, which a success may prove wrong. A plain text claims nothing.
fn claims(db: &Connection, guard: &str) -> Result<bool, StoreError> {
    let mut plain =
        db.prepare_cached("SELECT EXISTS (SELECT 1 FROM guards WHERE id = ?1 AND claim_id IS NULL)")?;
    Ok(!plain.query_row([guard], only::<bool>)?)
}

fn times_ignored(db: &Connection, session: &str, guard: &str) -> Result<u64, StoreError> {
    let mut count = db.prepare_cached(
        "SELECT count(*) FROM firings WHERE session = ?1 AND guard = ?2 AND outcome IN ('ignored', 'proved_right')",
    )?;
    Ok(count.query_row(params![session, guard], only)?)
}

const COUNTS: &str = "fired, followed, ignored, proved_wrong, proved_right, ignored_in_row, wrong_in_row";

fn counts(row: &Row<'_>) -> rusqlite::Result<Counts> {
    Ok(Counts {
        fired: row.get("fired")?,
        followed: row.get("followed")?,
        ignored: row.get("ignored")?,
        proved_wrong: row.get("proved_wrong")?,
        proved_right: row.get("proved_right")?,
        ignored_in_row: row.get("ignored_in_row")?,
        wrong_in_row: row.get("wrong_in_row")?,
    })
}

fn counts_of(db: &Connection, guard: &str) -> Result<Option<(Counts, Option<i64>)>, StoreError> {
    let sql = format!("SELECT {COUNTS}, escalated_at FROM guard_counts WHERE guard = ?1");
    let found =
        db.prepare_cached(&sql)?.query_row([guard], |row| Ok((counts(row)?, row.get("escalated_at")?)));
    Ok(found.optional()?)
}

fn write(
    db: &Connection,
    at: &Recorded,
    guard: &str,
    counts: &Counts,
    escalated: Option<i64>,
) -> Result<(), StoreError> {
    let asks = escalated.is_some() || counts.is_spent() || counts.is_doubted();
    db.prepare_cached(
        "INSERT INTO guard_counts (guard, fired, followed, ignored, proved_wrong, proved_right, ignored_in_row, \
         wrong_in_row, escalated_at, asks, asked_at, seq) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
         ON CONFLICT (guard) DO UPDATE SET fired = ?2, followed = ?3, ignored = ?4, proved_wrong = ?5, \
         proved_right = ?6, ignored_in_row = ?7, wrong_in_row = ?8, escalated_at = ?9, \
         asked_at = CASE WHEN asks = 1 THEN asked_at ELSE ?11 END, asks = ?10, seq = ?12",
    )?
    .execute(params![
        guard,
        counts.fired,
        counts.followed,
        counts.ignored,
        counts.proved_wrong,
        counts.proved_right,
        counts.ignored_in_row,
        counts.wrong_in_row,
        escalated,
        asks,
        at.at,
        at.seq
    ])?;
    Ok(())
}

fn profile_of(row: &Row<'_>) -> Result<Option<ProfileName>, StoreError> {
    let profile: Option<String> = row.get("profile")?;
    profile.map(|name| name.parse()).transpose().map_err(malformed)
}

/// A guard that was compared with a subject: its match, or the field that does not fit.
pub type LookedAt = (Rule, Result<(Kind, String), Unmet>);

/// A guard, or a dead end with a trigger, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GuardView {
    /// The id of the guard, or of the claim of a dead end.
    pub id: String,
    /// What it says.
    pub text: String,
    /// What it does.
    pub action: Effect,
    /// When it fires.
    pub condition: Condition,
    /// The symbols of a dead end's trigger.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<CommandLine>,
    /// The claim behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<ClaimId>,
    /// The agent that accepted the guard or reported the dead end.
    pub by: String,
    /// When that was, epoch ms.
    pub at: i64,
    /// When it ends, epoch ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// The profile whose run settles a contested claim that meets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileName>,
    /// Its silences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub muted: Vec<Mute>,
    /// Its outcomes.
    #[serde(flatten)]
    pub counts: Counts,
}

/// A firing of a guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FiringView {
    /// The session that was warned.
    pub session: String,
    /// Its agent.
    pub agent: String,
    /// The match.
    pub matched: String,
    /// When it was warned, epoch ms.
    pub at: i64,
    /// The outcome. None while it is open, and for firings of older releases.
    pub outcome: Option<String>,
}

/// A guard that asks for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskingGuard {
    /// The guard.
    pub guard: GuardView,
    /// The owner of its claim.
    pub owner: Option<String>,
    /// Whether it escalated.
    pub escalated: bool,
    /// Since when it asks, epoch ms.
    pub since: i64,
}

/// A suggested guard: a repeated error, or a decision with a failed outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The event behind it: the last failure, or the decision.
    pub id: String,
    /// The error.
    pub signature: Option<String>,
    /// The failed command, or the statement of the decision.
    pub what: String,
    /// How often it failed.
    pub failures: u64,
    /// The scopes of the decision.
    pub scopes: Vec<String>,
    /// Since when, epoch ms.
    pub since: i64,
}

impl Reader {
    /// The guards that may meet a subject, each with its match or the field that does not fit. Newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn guards_for(&self, subject: &Subject) -> Result<Vec<LookedAt>, StoreError> {
        let mut keys: Vec<(String, String)> =
            subject.action.keys().into_iter().map(|(kind, key)| (kind.to_string(), key)).collect();
        keys.push(Default::default());
        let sql = "SELECT DISTINCT g.id, g.condition, g.action, g.text, g.claim_id, g.until, g.seq, g.profile \
                   FROM json_each(?1) CROSS JOIN guard_keys k \
                   ON k.kind = json_each.value ->> 0 AND k.key = json_each.value ->> 1 \
                   CROSS JOIN guards g ON g.id = k.guard_id ORDER BY g.seq DESC LIMIT ?2";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query(params![Json(keys), bound(MAX_CANDIDATES)])?;
        let rules = self.kept_of(rows, |row| {
            let (id, action, text): (String, String, String) =
                (row.get("id")?, row.get("action")?, row.get("text")?);
            let until: Option<i64> = row.get("until")?;
            Ok::<_, StoreError>(Rule {
                id: id.parse::<GuardId>().map_err(malformed)?,
                condition: json(row, "condition")?,
                effect: action.parse().map_err(malformed)?,
                text: text.parse().map_err(malformed)?,
                claim_id: row.get("claim_id")?,
                until: until.map(Timestamp::from_ms),
                profile: profile_of(row)?,
            })
        })?;
        Ok(rules
            .into_iter()
            .map(|rule| {
                let met = rule.met(subject);
                (rule, met)
            })
            .collect())
    }

    /// Whether a guard is silent for a subject that it meets in this way.
    pub fn is_muted(
        &self,
        guard: &str,
        (kind, subject): (Kind, &Subject),
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        Ok(self.mutes(guard)?.iter().any(|mute| mute.silences(kind, subject, now)))
    }

    fn mutes(&self, guard: &str) -> Result<Vec<Mute>, StoreError> {
        let mut of_guard =
            self.db.prepare_cached("SELECT scope, until FROM guard_mutes WHERE guard = ?1 ORDER BY seq")?;
        self.kept_of(of_guard.query([guard])?, |row| {
            let (scope, until): (Option<String>, Option<i64>) = (row.get("scope")?, row.get("until")?);
            let scope = scope.map(|scope| scope.parse()).transpose().map_err(malformed)?;
            Ok::<_, StoreError>(Mute { scope, until: until.map(Timestamp::from_ms) })
        })
    }

    /// The number of guards and dead ends that spoke at an action in a session after a ledger position.
    pub fn guards_spoken(&self, session: &str, since: u64) -> Result<usize, StoreError> {
        let mut count = self.db.prepare_cached(
            "SELECT count(DISTINCT guard) FROM firings WHERE session = ?1 AND seq > ?2 AND did IS NOT NULL \
             AND kind <> 'write'",
        )?;
        Ok(count.query_row(params![session, bound(since)], only)?)
    }

    /// Whether a session knows a dead end: a receipt told it, or a hook did so after a ledger position.
    pub fn knows_dead_end(&self, me: Myself<'_>, claim: ClaimId, since: u64) -> Result<bool, StoreError> {
        let mut one = self.db.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM firings WHERE session = ?1 AND guard = ?2 AND agent = ?4 \
             AND (kind IS NULL OR kind = 'write' OR seq > ?3))",
        )?;
        Ok(one.query_row(params![me.session, claim, bound(since), me.agent], only)?)
    }

    /// All guards and dead ends with a trigger that are in force, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn guards(&self, limit: usize) -> Result<Vec<GuardView>, StoreError> {
        let mut all = self.rules("ORDER BY g.seq DESC LIMIT ?1", params![bound(limit)])?;
        let of_claims = "SELECT DISTINCT claim_id FROM triggers ORDER BY claim_id DESC LIMIT ?1";
        let mut claims = self.db.prepare_cached(of_claims)?;
        let claims: Vec<ClaimId> = self.kept_of(claims.query([bound(limit)])?, only)?;
        for claim in claims {
            all.extend(self.dead_end_guard(claim)?);
        }
        all.sort_by_key(|guard| std::cmp::Reverse(guard.at));
        all.truncate(limit);
        Ok(all)
    }

    /// One guard, or one dead end with a trigger.
    pub fn guard(&self, id: &str) -> Result<Option<GuardView>, StoreError> {
        match self.rules("WHERE g.id = ?1", params![id])?.pop() {
            Some(rule) => Ok(Some(rule)),
            None => id.parse().map_or(Ok(None), |claim| self.dead_end_guard(claim)),
        }
    }

    fn rules(&self, condition: &str, values: impl rusqlite::Params) -> Result<Vec<GuardView>, StoreError> {
        let sql = format!(
            "SELECT g.id, g.condition, g.action, g.text, g.claim_id, g.until, g.accepted_by, g.accepted_at, g.profile \
             FROM guards g {condition}"
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = self.kept_of(statement.query(values)?, |row| {
            let action: String = row.get("action")?;
            Ok::<_, StoreError>(GuardView {
                id: row.get("id")?,
                text: row.get("text")?,
                action: action.parse().map_err(malformed)?,
                condition: json(row, "condition")?,
                symbols: Vec::new(),
                claim_id: row.get("claim_id")?,
                by: row.get("accepted_by")?,
                at: row.get("accepted_at")?,
                until: row.get("until")?,
                profile: profile_of(row)?,
                muted: Vec::new(),
                counts: Counts::default(),
            })
        })?;
        rows.into_iter().map(|guard| self.counted(guard)).collect()
    }

    fn counted(&self, mut guard: GuardView) -> Result<GuardView, StoreError> {
        guard.muted = self.mutes(&guard.id)?;
        guard.counts = counts_of(&self.db, &guard.id)?.map(|(counts, _)| counts).unwrap_or_default();
        Ok(guard)
    }

    fn dead_end_guard(&self, claim: ClaimId) -> Result<Option<GuardView>, StoreError> {
        let mut one = self.db.prepare_cached(
            "SELECT id, statement, owner, created_at, trigger_when FROM claims \
             WHERE id = ?1 AND trigger_when IS NOT NULL AND status <> 'deprecated'",
        )?;
        let found = self.kept_one(one.query([claim])?, |row| {
            let trigger: crate::domain::claim::Trigger = json(row, "trigger_when")?;
            Ok::<_, StoreError>(GuardView {
                id: row.get("id")?,
                text: row.get("statement")?,
                action: Effect::Warn,
                condition: Condition {
                    paths: trigger.paths,
                    commands: trigger.commands,
                    error_signature: trigger.error_signature,
                    ..Condition::default()
                },
                symbols: trigger.symbols,
                claim_id: Some(claim),
                by: row.get("owner")?,
                at: row.get("created_at")?,
                until: None,
                profile: None,
                muted: Vec::new(),
                counts: Counts::default(),
            })
        })?;
        found.filter(|_| !self.is_expired(claim)).map(|guard| self.counted(guard)).transpose()
    }

    /// The last firings of a guard, newest first.
    pub fn firings_of(&self, guard: &str, limit: usize) -> Result<Vec<FiringView>, StoreError> {
        let mut of_guard = self.db.prepare_cached(
            "SELECT session, agent, matched, fired_at, outcome FROM firings WHERE guard = ?1 \
             ORDER BY seq DESC LIMIT ?2",
        )?;
        self.kept_of(of_guard.query(params![guard, bound(limit)])?, |row| {
            Ok::<_, StoreError>(FiringView {
                session: row.get("session")?,
                agent: row.get("agent")?,
                matched: row.get("matched")?,
                at: row.get("fired_at")?,
                outcome: row.get("outcome")?,
            })
        })
    }

    /// The guards that ask for an agent.
    pub fn asking_guards(&self, limit: usize) -> Result<Vec<AskingGuard>, StoreError> {
        let mut asking = self.db.prepare_cached(
            "SELECT guard, escalated_at, asked_at FROM guard_counts WHERE asks = 1 ORDER BY guard LIMIT ?1",
        )?;
        let asking: Vec<(String, Option<i64>, i64)> = self.kept_of(asking.query([bound(limit)])?, |row| {
            Ok::<_, StoreError>((row.get("guard")?, row.get("escalated_at")?, row.get("asked_at")?))
        })?;
        let mut guards = Vec::new();
        for (id, escalated, since) in asking {
            let Some(guard) = self.guard(&id)? else { continue };
            let owner = match guard.claim_id {
                Some(claim) => self
                    .db
                    .prepare_cached("SELECT owner FROM claims WHERE id = ?1 AND status <> 'deprecated'")?
                    .query_row([claim], only)
                    .optional()?,
                None => None,
            };
            guards.push(AskingGuard { guard, owner, escalated: escalated.is_some(), since });
        }
        Ok(guards)
    }

    /// The sums of all outcomes.
    pub fn guard_totals(&self) -> Result<Counts, StoreError> {
        let sql = "SELECT coalesce(sum(fired), 0) AS fired, coalesce(sum(followed), 0) AS followed, \
                   coalesce(sum(ignored), 0) AS ignored, coalesce(sum(proved_wrong), 0) AS proved_wrong, \
                   coalesce(sum(proved_right), 0) AS proved_right, 0 AS ignored_in_row, 0 AS wrong_in_row \
                   FROM guard_counts";
        Ok(self.db.prepare_cached(sql)?.query_row([], counts)?)
    }
}
