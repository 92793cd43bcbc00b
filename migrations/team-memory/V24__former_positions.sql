-- Positions that another one of the same pane replaced: their reasons are part of the history.
CREATE TABLE former_positions (
  claim_id     TEXT    NOT NULL,
  agent        TEXT    NOT NULL,
  position     TEXT    NOT NULL,
  reason       TEXT,
  evidence_ref TEXT,
  created_at   INTEGER NOT NULL,   -- epoch_ms
  seq          INTEGER NOT NULL,   -- of the position
  ended_seq    INTEGER NOT NULL,   -- of the position in its place
  PRIMARY KEY (claim_id, seq)
) STRICT, WITHOUT ROWID;
