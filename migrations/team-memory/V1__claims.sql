-- Read models folded from the ledger. Everything here can be dropped and rebuilt; `seq` is the event
-- that last changed the row.
CREATE TABLE projection (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  folded_seq  INTEGER NOT NULL,
  folded_hash BLOB    NOT NULL
) STRICT;

-- Few pages per event: the creation's position is the row's own key, and small tables hang on one tree.
CREATE TABLE claims (
  created_seq           INTEGER PRIMARY KEY,
  id                    TEXT    NOT NULL UNIQUE,
  statement             TEXT    NOT NULL,
  claim_type            TEXT    NOT NULL CHECK (claim_type IN ('fact', 'decision', 'hypothesis', 'negative')),
  owner                 TEXT    NOT NULL,
  status                TEXT    NOT NULL
    CHECK (status IN ('proposed', 'confirmed', 'contested', 'pending_proof', 'deprecated')),
  confidence            REAL    NOT NULL CHECK (confidence BETWEEN 0.0 AND 1.0),
  session               TEXT,
  ttl_hours             INTEGER,
  supersedes            TEXT,               -- in force
  superseded_by         TEXT,               -- in force
  proposes_to_supersede TEXT,               -- in force once this claim is confirmed
  trigger_when          TEXT,               -- JSON: when a negative claim warns
  scopes                TEXT    NOT NULL,   -- JSON: the same as in claim_scopes, for showing
  supports              INTEGER NOT NULL DEFAULT 0,   -- agents whose latest position it is
  challenges            INTEGER NOT NULL DEFAULT 0,
  evidence              INTEGER NOT NULL DEFAULT 0,   -- rows of claim_evidence
  created_at            INTEGER NOT NULL,   -- epoch_ms
  touched_at            INTEGER NOT NULL,   -- epoch_ms: created, positioned, given evidence, moved
  seq                   INTEGER NOT NULL
) STRICT;
CREATE INDEX claims_status ON claims (status);
CREATE INDEX claims_owner ON claims (owner);
CREATE INDEX claims_type ON claims (claim_type);
CREATE INDEX claims_session ON claims (session);

-- How many claims there are, so that nobody has to count them.
CREATE TABLE claim_counts (
  owner      TEXT    NOT NULL,
  claim_type TEXT    NOT NULL,
  status     TEXT    NOT NULL,
  claims     INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  PRIMARY KEY (owner, claim_type, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE claim_scopes (
  claim_id TEXT    NOT NULL,
  scope    TEXT    NOT NULL,
  seq      INTEGER NOT NULL,
  PRIMARY KEY (claim_id, scope)
) STRICT, WITHOUT ROWID;
CREATE INDEX claim_scopes_scope ON claim_scopes (scope, claim_id);

CREATE TABLE claim_evidence (
  claim_id     TEXT    NOT NULL,
  evidence_ref TEXT    NOT NULL,            -- an event id of the ledger
  relation     TEXT    NOT NULL CHECK (relation IN ('supports', 'contradicts', 'caused_by')),
  added_by     TEXT    NOT NULL,
  weight       REAL    NOT NULL CHECK (weight BETWEEN 0.0 AND 1.0),
  note         TEXT,
  created_at   INTEGER NOT NULL,
  seq          INTEGER NOT NULL,
  PRIMARY KEY (claim_id, evidence_ref, relation)
) STRICT, WITHOUT ROWID;

CREATE TABLE claim_status_history (
  claim_id   TEXT    NOT NULL,
  id         TEXT    NOT NULL,              -- the event that moved the claim
  old_status TEXT,
  new_status TEXT    NOT NULL,
  changed_by TEXT    NOT NULL,
  reason     TEXT,
  changed_at INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  PRIMARY KEY (claim_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE consensus (
  claim_id     TEXT    NOT NULL,
  agent        TEXT    NOT NULL,
  position     TEXT    NOT NULL CHECK (position IN ('support', 'challenge', 'abstain')),
  reason       TEXT,
  evidence_ref TEXT,
  created_at   INTEGER NOT NULL,
  seq          INTEGER NOT NULL,
  PRIMARY KEY (claim_id, agent)
) STRICT, WITHOUT ROWID;
CREATE INDEX consensus_agent ON consensus (agent, claim_id);

CREATE TABLE agents (
  agent        TEXT PRIMARY KEY,
  last_seen_at INTEGER NOT NULL,
  seq          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE rejected_commands (
  command_id  TEXT PRIMARY KEY,
  agent       TEXT    NOT NULL,
  kind        TEXT    NOT NULL,
  code        TEXT    NOT NULL,
  message     TEXT    NOT NULL,
  rejected_at INTEGER NOT NULL,
  seq         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE VIEW schema_migrations AS
  SELECT version, applied_on AS applied_at, name AS description FROM refinery_schema_history;
