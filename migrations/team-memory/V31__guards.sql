-- Accepted guards, and the keys by which an action finds them: '' for a guard that is compared with each action.
CREATE TABLE guards (
  id          TEXT PRIMARY KEY,
  condition   TEXT NOT NULL,
  action      TEXT NOT NULL,
  text        TEXT NOT NULL,
  claim_id    TEXT,
  until       INTEGER,
  accepted_by TEXT NOT NULL,
  accepted_at INTEGER NOT NULL,
  seq         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX guards_claim ON guards (claim_id) WHERE claim_id IS NOT NULL;
CREATE INDEX guards_seq ON guards (seq);

CREATE TABLE guard_keys (
  kind     TEXT NOT NULL,
  key      TEXT NOT NULL,
  guard_id TEXT NOT NULL,
  PRIMARY KEY (kind, key, guard_id)
) STRICT, WITHOUT ROWID;

-- The silences of guards and of dead ends.
CREATE TABLE guard_mutes (
  guard  TEXT NOT NULL,
  seq    INTEGER NOT NULL,
  scope  TEXT,
  until  INTEGER,
  agent  TEXT NOT NULL,
  at     INTEGER NOT NULL,
  reason TEXT,
  PRIMARY KEY (guard, seq)
) STRICT, WITHOUT ROWID;

-- The triggers of claims that are over, for the question why a guard is silent.
CREATE TABLE former_triggers (
  kind     TEXT NOT NULL,
  key      TEXT NOT NULL,
  claim_id TEXT NOT NULL,
  seq      INTEGER NOT NULL,
  PRIMARY KEY (kind, key, claim_id)
) STRICT, WITHOUT ROWID;

-- What a firing is about, and its outcome.
ALTER TABLE firings ADD COLUMN kind TEXT;
ALTER TABLE firings ADD COLUMN did TEXT;
ALTER TABLE firings ADD COLUMN outcome TEXT;
ALTER TABLE firings ADD COLUMN outcome_seq INTEGER;
CREATE INDEX firings_open ON firings (session) WHERE did IS NOT NULL AND outcome IS NULL;

-- The outcomes of each guard and dead end. `asks` is 1 where an agent must look at it.
CREATE TABLE guard_counts (
  guard          TEXT PRIMARY KEY,
  fired          INTEGER NOT NULL,
  followed       INTEGER NOT NULL,
  ignored        INTEGER NOT NULL,
  proved_wrong   INTEGER NOT NULL,
  proved_right   INTEGER NOT NULL,
  ignored_in_row INTEGER NOT NULL,
  wrong_in_row   INTEGER NOT NULL,
  escalated_at   INTEGER,
  asks           INTEGER NOT NULL,
  asked_at       INTEGER NOT NULL,
  seq            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX guard_counts_asks ON guard_counts (asks) WHERE asks = 1;

-- The last failure with an error on a file or of a command in each session, and the command that later succeeded there.
CREATE TABLE failures (
  signature   TEXT NOT NULL,
  target      TEXT NOT NULL,
  session     TEXT NOT NULL,
  seq         INTEGER NOT NULL,
  fix_seq     INTEGER,
  fix_id      TEXT,
  fix_agent   TEXT,
  fix_session TEXT,
  fix_command TEXT,
  fix_path    TEXT,
  fix_at      INTEGER,
  PRIMARY KEY (signature, target, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX failures_open ON failures (target) WHERE fix_seq IS NULL;
CREATE INDEX failures_fixed ON failures (signature, fix_seq) WHERE fix_seq IS NOT NULL;

-- Decisions whose last outcome is a failure.
CREATE TABLE failed_decisions (
  claim_id TEXT PRIMARY KEY,
  at       INTEGER NOT NULL,
  seq      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX failed_decisions_at ON failed_decisions (at);

-- How often commands failed with an error.
CREATE TABLE repeated_errors (
  signature TEXT PRIMARY KEY,
  failures  INTEGER NOT NULL,
  id        TEXT NOT NULL,
  command   TEXT NOT NULL,
  first_at  INTEGER NOT NULL,
  last_at   INTEGER NOT NULL,
  seq       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX repeated_errors_often ON repeated_errors (last_at) WHERE failures >= 3;
