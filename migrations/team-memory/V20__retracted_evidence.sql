-- Evidence that was taken back: it counts nowhere, and a claim's page shows it with the reason.
CREATE TABLE retracted_evidence (
  claim_id     TEXT    NOT NULL,
  evidence_ref TEXT    NOT NULL,
  relation     TEXT    NOT NULL,
  added_by     TEXT    NOT NULL,
  weight       REAL    NOT NULL,
  note         TEXT,
  grade        TEXT    NOT NULL,
  added_at     INTEGER NOT NULL,   -- epoch_ms
  retracted_by TEXT    NOT NULL,
  reason       TEXT    NOT NULL,
  retracted_at INTEGER NOT NULL,   -- epoch_ms
  seq          INTEGER NOT NULL,   -- of the retraction
  PRIMARY KEY (claim_id, seq)
) STRICT, WITHOUT ROWID;
