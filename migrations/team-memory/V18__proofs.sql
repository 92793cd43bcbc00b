-- What a run was predicted to show, which runs are compared with it, and which claims rest on it.
-- Evidence may only mention a claim. The fold fills the table anew.
DROP TABLE claim_evidence;
CREATE TABLE claim_evidence (
  claim_id       TEXT    NOT NULL,
  evidence_ref   TEXT    NOT NULL,            -- an event id of the ledger
  relation       TEXT    NOT NULL CHECK (relation IN ('supports', 'contradicts', 'caused_by', 'mentions')),
  added_by       TEXT    NOT NULL,
  weight         REAL    NOT NULL CHECK (weight BETWEEN 0.0 AND 1.0),
  note           TEXT,
  created_at     INTEGER NOT NULL,
  seq            INTEGER NOT NULL,
  grade          TEXT    NOT NULL DEFAULT 'asserted' CHECK (grade IN ('asserted', 'observed', 'reproduced')),
  stale_seq      INTEGER,                     -- the edit that made it stale
  run_id         TEXT,                        -- the run behind it, judged by its prediction
  profile        TEXT,
  profile_sha256 TEXT,
  prediction     TEXT,
  unstable       TEXT,                        -- JSON: how the same run came out, both ways
  unstable_at    INTEGER,                     -- epoch_ms: when that was seen last
  PRIMARY KEY (claim_id, evidence_ref, relation)
) STRICT, WITHOUT ROWID;
CREATE INDEX claim_evidence_ref ON claim_evidence (evidence_ref);
CREATE INDEX claim_evidence_stale ON claim_evidence (stale_seq) WHERE stale_seq IS NOT NULL;

ALTER TABLE experiments ADD COLUMN prediction TEXT;       -- none without a claim, and of older releases
ALTER TABLE experiments ADD COLUMN profile_sha256 TEXT;
ALTER TABLE experiments ADD COLUMN series TEXT;           -- the first run of a request for several
ALTER TABLE experiments ADD COLUMN series_number INTEGER;
ALTER TABLE experiments ADD COLUMN series_of INTEGER;
ALTER TABLE experiments ADD COLUMN test_key TEXT;         -- equal for runs of the same test
ALTER TABLE experiments ADD COLUMN content_key TEXT;      -- equal where it ran on the same content too
ALTER TABLE experiments ADD COLUMN unstable TEXT;         -- JSON: how the same run came out, both ways
CREATE INDEX experiments_series ON experiments (series) WHERE series IS NOT NULL;
CREATE INDEX experiments_test ON experiments (test_key) WHERE test_key IS NOT NULL;
CREATE INDEX experiments_content ON experiments (content_key) WHERE content_key IS NOT NULL;

ALTER TABLE claims ADD COLUMN proof TEXT CHECK (proof IN ('proved', 'proof (unchecked)'));
ALTER TABLE claims ADD COLUMN proof_run TEXT;             -- the run that confirmed it
ALTER TABLE claims ADD COLUMN unstable_at INTEGER;        -- epoch_ms: when that run came out the other way
CREATE INDEX claims_proof ON claims (proof_run) WHERE proof_run IS NOT NULL;
