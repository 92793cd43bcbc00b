-- What was decided, why, instead of what, and what became of it. A decision goes by the id of its claim.
CREATE TABLE decisions (
  claim_id      TEXT PRIMARY KEY,
  decided_by    TEXT    NOT NULL,
  rationale     TEXT    NOT NULL,
  context       TEXT,
  target        TEXT,
  outcome       TEXT CHECK (outcome IN ('success', 'partial', 'failure', 'unknown')),
  outcome_notes TEXT,
  session       TEXT,
  created_at    INTEGER NOT NULL,   -- epoch_ms
  created_seq   INTEGER NOT NULL,
  seq           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX decisions_created ON decisions (created_seq);
CREATE INDEX decisions_target ON decisions (target, created_seq);

CREATE TABLE decision_alternatives (
  decision_id      TEXT    NOT NULL,
  alternative_id   TEXT    NOT NULL,   -- a claim
  rejection_reason TEXT    NOT NULL,
  seq              INTEGER NOT NULL,
  PRIMARY KEY (decision_id, alternative_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE decision_outcomes (
  decision_id TEXT    NOT NULL,
  outcome     TEXT    NOT NULL,
  notes       TEXT,
  recorded_by TEXT    NOT NULL,
  recorded_at INTEGER NOT NULL,        -- epoch_ms
  seq         INTEGER NOT NULL,
  PRIMARY KEY (decision_id, seq)
) STRICT, WITHOUT ROWID;
