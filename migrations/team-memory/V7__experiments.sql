-- Runs of experiments. A run goes by the id of the event that queued or recorded it.
CREATE TABLE experiments (
  id            TEXT PRIMARY KEY,
  claim_id      TEXT,
  profile       TEXT,               -- none for what a human typed or recorded
  command       TEXT    NOT NULL,   -- for people
  requested_by  TEXT    NOT NULL,
  session       TEXT,
  status        TEXT    NOT NULL CHECK (status IN
    ('queued', 'running', 'succeeded', 'failed', 'timed_out', 'canceled', 'aborted')),
  relation      TEXT,
  blocking      INTEGER NOT NULL DEFAULT 0,
  args          TEXT    NOT NULL DEFAULT '{}',   -- JSON
  cwd           TEXT,
  timeout_ms    INTEGER,
  outcome       TEXT,               -- JSON: how it ended and what it left
  completed_ref TEXT,               -- the event that ended it: what evidence refers to
  created_at    INTEGER NOT NULL,   -- epoch_ms
  completed_at  INTEGER,            -- epoch_ms
  created_seq   INTEGER NOT NULL,
  seq           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX experiments_created ON experiments (created_seq);
CREATE INDEX experiments_claim ON experiments (claim_id, created_seq);
CREATE INDEX experiments_status ON experiments (status, created_seq);
CREATE INDEX experiments_profile ON experiments (profile, created_seq);
